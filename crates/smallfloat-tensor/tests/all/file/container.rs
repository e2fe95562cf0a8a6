//! The native container (`docs/semantics.md` S8): its layout, what `verify` refuses and warns of,
//! and the ways back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{File, Fixture, Random, Tensor, WIDE, native_shape, options, quantized, sha256};
use safetensors::Dtype::{BF16, F16, F32, F64, I64, U8, U16};
use serde_json::{Value, json};
use smallfloat::{Format, Rounding};
use smallfloat_tensor::{
    CHUNK_BYTES, Dtype, Scheme, Source, Stored, View, compare, dequantize, quantize, verify,
};

fn model() -> File {
    let mut random = Random(1);
    let mut file =
        File::of(WIDE.map(|dtype| {
            (format!("w.{dtype}"), Tensor::of(dtype, &random.normals(24, 0.1)).shaped(&[2, 3, 4]))
        }));
    file.tensors.insert("scale".into(), Tensor::of(F32, &[0.3]).shaped(&[]));
    file.tensors.insert("ids".into(), Tensor::new(I64, &[2], (0..16).collect()));
    file.metadata.insert("format".into(), "pt".into());
    file
}

#[test]
fn the_layout_is_that_of_the_specification() {
    let input = model();
    for (name, format, subnormals, code, has_bias) in [
        ("cfloat8_1_4_3", "cfloat8_1_4_3", "tesla", U8, true),
        ("cfloat8_1_5_2:subnormals=gradual", "cfloat8_1_5_2", "gradual", U8, true),
        ("shp:bias=20", "shp", "tesla", U16, true),
        ("e4m3fn", "e4m3fn", "gradual", U8, false),
        ("e2m1fn", "e2m1fn", "gradual", U8, false),
        ("binary16p11se", "binary16p11se", "gradual", U16, false),
    ] {
        let (report, output) = quantized(&input, &options(name));
        let mut expected: BTreeSet<String> = input.tensors.keys().cloned().collect();
        if has_bias {
            let biases =
                input.tensors.keys().filter(|name| *name != "ids").map(|name| format!("{name}_bias"));
            expected.extend(biases.collect::<Vec<_>>());
        }
        assert_eq!(output.tensors.keys().cloned().collect::<BTreeSet<_>>(), expected, "{name}");
        let keys: BTreeSet<&str> = output.metadata.keys().map(String::as_str).collect();
        let expected = ["format", "smallfloat.record", "smallfloat.tensors", "smallfloat.version"];
        assert_eq!(keys, BTreeSet::from(expected));
        let lines = output.tensors.iter().map(|(name, tensor)| {
            json!([name, format!("{:?}", tensor.dtype), tensor.shape, sha256(&tensor.bytes)]).to_string()
        });
        let of = |key: &str| json!([key, output.metadata[key]]).to_string();
        let lines = lines.chain([of("smallfloat.version"), of("smallfloat.tensors")]);
        let all: String = lines.map(|line| line + "\n").collect();
        assert_eq!(output.metadata["smallfloat.record"], format!("1:{}", sha256(all.as_bytes())));
        assert_eq!((&*output.metadata["format"], &*output.metadata["smallfloat.version"]), ("pt", "1"));
        let mut entries = serde_json::Map::new();
        for (tensor, source) in input.tensors.iter().filter(|(name, _)| *name != "ids") {
            let codes = &output.tensors[tensor];
            assert_eq!((codes.dtype, &codes.shape), (code, &native_shape(&source.shape)));
            let entry = json!({
                "format": format,
                "subnormals": subnormals,
                "source_dtype": source.dtype.to_string(),
                "granularity": "tensor",
                "shape": source.shape,
                "rounding": "nearest-even",
                "random_bits": null,
                "seed": null,
                "generator": null,
                "sha256": sha256(&codes.bytes),
            });
            entries.insert(tensor.clone(), entry);
            if has_bias {
                let of = report.tensors.iter().find(|t| t.name == *tensor).unwrap();
                let bias = Tensor::new(U8, &[], vec![u8::try_from(of.biases[0]).unwrap()]);
                assert_eq!(output.tensors[&format!("{tensor}_bias")], bias);
            }
        }
        assert_eq!(output.entries(), Value::Object(entries), "{name}");
        assert_eq!(output.tensors["ids"], input.tensors["ids"]);
    }
}

/// A container on disk that tests may spoil.
struct Spoiled {
    folder: tempfile::TempDir,
    good: File,
}

impl Spoiled {
    fn new(format: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), good: quantized(&model(), &options(format)).1 }
    }

    fn write(&self, change: impl FnOnce(&mut File)) -> PathBuf {
        let mut file = self.good.clone();
        change(&mut file);
        let path = self.folder.path().join("c.safetensors");
        file.write(&path);
        path
    }

    /// `verify` refuses the changed file, and says this.
    #[track_caller]
    fn refused(&self, tensor: Option<&str>, part: &str, change: impl FnOnce(&mut File)) {
        let path = self.write(change);
        let error = verify(&path).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
        assert_eq!((error.tensor(), error.path()), (tensor, Some(path.as_path())), "{error}");
    }
}

fn entry(file: &mut File, tensor: &str, key: &str, value: impl Into<Value>) {
    let mut entries = file.entries();
    entries[tensor][key] = value.into();
    file.set_entries(&entries);
}

#[test]
fn verify_accepts_what_quantize_writes() {
    for format in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp", "e4m3fn", "e2m1fn", "binary16p11se", "e5m2"] {
        let spoiled = Spoiled::new(format);
        let verified = verify(spoiled.write(|_| ())).unwrap();
        assert_eq!((verified.tensors, verified.codes, verified.copied), (5, 4 * 24 + 1, 1));
        assert!(verified.warnings.is_empty(), "{format}: {:?}", verified.warnings);
    }
    // A wide float that was copied is no code.
    let fixture = Fixture::new(&model());
    quantize(&fixture.input, &fixture.output, &options("e5m2"), &|name| name == "w.F32", &mut |_| ())
        .unwrap();
    let verified = verify(&fixture.output).unwrap();
    assert_eq!((verified.tensors, verified.codes, verified.copied), (1, 24, 5));
}

#[test]
fn verify_refuses_codes_that_were_changed() {
    for format in ["cfloat8_1_4_3", "shp"] {
        let spoiled = Spoiled::new(format);
        for at in [0, 23] {
            spoiled.refused(Some("w.F32"), "its codes have the SHA-256", |file| {
                file.tensors.get_mut("w.F32").unwrap().bytes[at] ^= 1;
            });
        }
        spoiled.refused(Some("w.F32"), "the metadata says 00", |file| {
            entry(file, "w.F32", "sha256", "0".repeat(64));
        });
    }
}

#[test]
fn verify_refuses_codes_beyond_a_narrow_format() {
    for (format, largest) in [("e2m1fn", 0x0f), ("e3m2fn", 0x3f)] {
        let spoiled = Spoiled::new(format);
        spoiled.refused(Some("w.BF16"), &format!("the largest of {format} is {largest:#x}"), |file| {
            let tensor = file.tensors.get_mut("w.BF16").unwrap();
            tensor.bytes[5] = largest + 1;
            let digest = sha256(&tensor.bytes);
            entry(file, "w.BF16", "sha256", digest);
        });
    }
}

#[test]
fn verify_refuses_biases_that_can_not_be() {
    let spoiled = Spoiled::new("cfloat8_1_4_3");
    let name = Some("w.F64");
    let set = |tensor: Tensor| {
        move |file: &mut File| {
            file.tensors.insert("w.F64_bias".into(), tensor);
        }
    };
    spoiled.refused(name, "its bias `w.F64_bias` is missing", |file| {
        file.tensors.remove("w.F64_bias");
    });
    spoiled.refused(name, "0..=63", set(Tensor::new(U8, &[], vec![64])));
    spoiled.refused(name, "0..=63", set(Tensor::new(U8, &[], vec![255])));
    for tensor in [
        Tensor::new(U16, &[], vec![7, 0]),
        Tensor::of(F32, &[7.0]).shaped(&[]),
        Tensor::new(U8, &[2], vec![7, 7]),
        Tensor::new(U8, &[1], vec![7]),
        Tensor::new(U8, &[0], vec![]),
    ] {
        let part =
            format!("is {} of shape {:?}, a tensor's bias is a U8 of shape []", tensor.dtype, tensor.shape);
        spoiled.refused(name, &part, set(tensor));
    }
}

/// What is said of how codes were made is one of the things that can be, and its parts go together.
#[test]
fn verify_refuses_words_that_mean_nothing() {
    let spoiled = Spoiled::new("e4m3fn");
    let said = |part: &str, pairs: &[(&str, Value)]| {
        spoiled.refused(Some("w.F16"), part, |file| {
            file.metadata.remove("smallfloat.record");
            for (key, value) in pairs {
                entry(file, "w.F16", key, value.clone());
            }
        });
    };
    said("its rounding `nearest` is not known", &[("rounding", json!("nearest"))]);
    said("its rounding `\\u{1b}[2J` is not known", &[("rounding", json!("\u{1b}[2J"))]);
    let stochastic = ("rounding", json!("stochastic-a"));
    said("does not go with", std::slice::from_ref(&stochastic));
    said("does not go with", &[stochastic.clone(), ("random_bits", json!(8))]);
    for (key, value) in [("random_bits", json!(8)), ("seed", json!(1)), ("generator", json!("philox"))] {
        said("does not go with", &[(key, value)]);
    }
    let drawn = |bits: u32, generator: &str| {
        [
            stochastic.clone(),
            ("random_bits", json!(bits)),
            ("seed", json!(1)),
            ("generator", json!(generator)),
        ]
    };
    said("does not go with", &drawn(8, "mt19937"));
    said("random bits", &drawn(99, "philox"));
    verify(spoiled.write(|file| {
        file.metadata.remove("smallfloat.record");
        for (key, value) in drawn(8, "philox") {
            entry(file, "w.F16", key, value);
        }
    }))
    .unwrap();
    for dtype in ["", "I8", "F8_E4M3", "f16", "F16 "] {
        said("is no wide float", &[("source_dtype", json!(dtype))]);
    }
    let digits = "`sha256` is not 64 hexadecimal digits";
    for digest in [String::new(), "0".repeat(63), "A".repeat(64), "é".repeat(32)] {
        spoiled.refused(None, digits, |file| entry(file, "w.F16", "sha256", digest));
    }
}

#[test]
fn verify_refuses_metadata_that_does_not_fit() {
    let spoiled = Spoiled::new("cfloat8_1_4_3");
    let name = Some("w.F16");
    let change = |key: &'static str, value: Value| move |file: &mut File| entry(file, "w.F16", key, value);
    spoiled.refused(name, "cfloat8_1_4_3", change("format", "cfloat8_1_4_4".into()));
    spoiled.refused(name, "", change("format", "cfloat8_1_4_3:bias=7".into()));
    spoiled.refused(name, "", change("subnormals", "sometimes".into()));
    spoiled.refused(name, "codes of shp:bias=", change("format", "shp".into()));
    spoiled.refused(
        name,
        "its scales `w.F16_bias` have the shape []",
        change("granularity", "block:1".into()),
    );
    spoiled.refused(name, "write tensor, channel, block:N", change("granularity", "row".into()));
    spoiled.refused(name, "the subnormals of e4m3fn are `gradual`", change("format", "e4m3fn".into()));
    for wide in ["f32", "binary64"] {
        spoiled.refused(name, "bits, codes in tensors have at most 16", |file| {
            file.tensors.insert("w.F16".into(), Tensor::new(U16, &[2], vec![0; 4]));
            entry(file, "w.F16", "format", wide);
            entry(file, "w.F16", "subnormals", "gradual");
        });
    }
    spoiled.refused(name, "codes of cfloat8_1_4_3:bias=", |file| {
        let codes = file.tensors.get_mut("w.F16").unwrap();
        *codes = Tensor::new(safetensors::Dtype::I8, &codes.shape, codes.bytes.clone());
    });
    spoiled.refused(None, "metadata `smallfloat.tensors`:", |file| {
        file.metadata.insert("smallfloat.tensors".into(), "{\"w.F16\": ".into());
    });
    spoiled.refused(None, "missing field `sha256`", |file| {
        file.metadata.insert(
            "smallfloat.tensors".into(),
            json!({"w.F16": {
                "format": "e4m3fn", "subnormals": "gradual", "source_dtype": "F32", "granularity": "tensor",
                "rounding": "nearest-even", "random_bits": null, "seed": null, "generator": null,
            }})
            .to_string(),
        );
    });
    spoiled.refused(None, "unknown field `codebook`", change("codebook", 1.into()));
    spoiled.refused(None, "invalid type", change("format", 8.into()));
    spoiled.refused(None, "and no `smallfloat.tensors`", |file| {
        file.metadata.remove("smallfloat.tensors");
    });
    for version in ["2", "1.0", ""] {
        let part = format!("container version `{version}` is not known, this program reads version 1");
        spoiled.refused(None, &part, |file| {
            file.metadata.insert("smallfloat.version".into(), version.into());
        });
    }
    spoiled.refused(None, "keys of a container and no `smallfloat.version`", |file| {
        file.metadata.remove("smallfloat.version");
    });
    spoiled.refused(name, "is in the container's metadata and not in the file", |file| {
        file.tensors.remove("w.F16");
    });
}

/// A container made by hand: one tensor of UHP codes.
fn uhp(folder: &Path, codes: &[u16]) -> PathBuf {
    let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
    let digest = sha256(&bytes);
    let mut file = File::of([("w", Tensor::new(U16, &[codes.len()], bytes))]);
    file.metadata.insert("smallfloat.version".into(), "1".into());
    file.set_entries(&json!({"w": {
        "format": "uhp", "subnormals": "flush", "source_dtype": "F32", "granularity": "tensor",
        "rounding": "nearest-even", "random_bits": null, "seed": null, "generator": null, "sha256": digest,
    }}));
    let path = folder.join("uhp.safetensors");
    file.write(&path);
    path
}

#[test]
fn verify_warns_of_codes_that_no_encoder_writes() {
    let dir = tempfile::tempdir().unwrap();
    for (codes, warning) in [
        (&[0, 0x0400, 0x7c00, 0xfbff, 0xfc00, 0xfe00][..], None),
        (&[0x7c00, 0x0001], Some("1 codes that no encoder writes")),
        (&[0x7c00, 0x03ff, 0xfc01, 0xffff, 0xfe01], Some("4 codes that no encoder writes")),
    ] {
        let verified = verify(uhp(dir.path(), codes)).unwrap();
        assert_eq!((verified.tensors, verified.codes), (1, codes.len() as u64));
        match warning {
            None => assert!(verified.warnings.is_empty(), "{:?}", verified.warnings),
            Some(warning) => {
                let [text] = &verified.warnings[..] else { panic!("{:?}", verified.warnings) };
                assert!(
                    text.contains(warning) && text.contains("`w`") && text.ends_with("element 1"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_view_shows_numbers_and_hides_biases() {
    let input = model();
    let fixture = Fixture::new(&input);
    let report = fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    let view = View::open(&fixture.output).unwrap();
    assert!(view.is_container());
    assert_eq!(view.tensors().len(), input.tensors.len());
    for tensor in view.tensors() {
        let of = report.tensors.iter().find(|t| t.name == tensor.info.name).unwrap();
        assert_eq!(tensor.format().map(Format::bias), of.biases.first().copied());
        let source = &input.tensors[&tensor.info.name].dtype;
        assert_eq!(
            tensor.entry().map(|e| e.encoding.source_dtype.clone()),
            tensor.format().map(|_| source.to_string())
        );
    }
    assert!(view.tensor("w.F32_bias").is_none());
    assert_eq!(view.tensor("ids").unwrap().stored, Stored::Other);
    let plain = View::open(&fixture.input).unwrap();
    assert!(!plain.is_container());
    assert_eq!(plain.tensor("w.F32").unwrap().stored, Stored::Wide);
    // The comparison tells what the report tells.
    for (a, b) in compare(&plain, &view).unwrap().iter().zip(&report.tensors) {
        assert_eq!((&a.name, a.equal), (&b.name, b.format.is_none()));
        crate::common::close(a.sqnr_db, b.sqnr_db);
        assert_eq!(b.amax.unwrap_or(0.0).to_bits(), a.amax.to_bits());
        assert!(a.max_error <= 0.07 * a.amax && a.not_finite == 0);
    }
}

#[test]
fn comparing_finds_every_difference() {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str, file: &File| {
        let path = dir.path().join(name);
        file.write(&path);
        View::open(path).unwrap()
    };
    let of = |tensor: Tensor| File::of([("t", tensor)]);
    let a = open("a", &of(Tensor::f32(&[1.0, f32::NAN, f32::INFINITY, -2.0])));
    let b = open("b", &of(Tensor::f32(&[1.0, f32::NAN, f32::INFINITY, -2.5])));
    let [same] = &compare(&a, &a).unwrap()[..] else { panic!() };
    assert_eq!((same.equal, same.sqnr_db, same.not_finite, same.max_error.to_bits()), (true, None, 2, 0));
    let [differs] = &compare(&a, &b).unwrap()[..] else { panic!() };
    assert_eq!((differs.equal, differs.not_finite), (false, 2));
    assert_eq!((differs.amax.to_bits(), differs.max_error.to_bits()), (2.0_f64.to_bits(), 0.5_f64.to_bits()));
    crate::common::close(differs.sqnr_db, Some(10.0 * 20.0_f64.log10()));
    let refused = |b: &View, part: &str| {
        let error = compare(&a, b).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
    };
    refused(
        &open("c", &of(Tensor::f32(&[1.0; 4]).shaped(&[2, 2]))),
        "has the shape [2, 2], the reference has [4]",
    );
    refused(&open("d", &File::of([("u", Tensor::f32(&[1.0]))])), "tensor `t`: is not in");
    refused(&open("e", &of(Tensor::new(I64, &[4], vec![0; 32]))), "is I64, the reference is F32");
    // Small types fill less than a byte; the second chunk is compared with the second chunk.
    for (dtype, per_byte) in [(safetensors::Dtype::F4, 2), (U8, 1)] {
        let mut bytes: Vec<u8> = (0..CHUNK_BYTES + 4096).map(|i| (i * i / 7).to_le_bytes()[0]).collect();
        let shape = [bytes.len() * per_byte];
        let x = open("x", &of(Tensor::new(dtype, &shape, bytes.clone())));
        assert!(compare(&x, &x).unwrap()[0].equal, "{dtype}");
        *bytes.last_mut().unwrap() ^= 1;
        let y = open("y", &of(Tensor::new(dtype, &shape, bytes)));
        assert!(!compare(&x, &y).unwrap()[0].equal, "{dtype}");
    }
}

fn back(
    input: &Path,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
) -> smallfloat_tensor::Result<smallfloat_tensor::Dequantized> {
    dequantize(input, output, dtype, rounding, true, &mut |_| ())
}

/// The format of each tensor, as the file says.
fn format_of(file: &File, tensor: &str) -> Format {
    let entry = &file.entries()[tensor];
    let name = entry["format"].as_str().unwrap();
    match file.tensors.get(&format!("{tensor}_bias")) {
        Some(bias) => {
            format!("{name}:bias={},subnormals={}", bias.bytes[0], entry["subnormals"].as_str().unwrap())
                .parse()
                .unwrap()
        }
        None => name.parse().unwrap(),
    }
}

#[test]
fn dequantized_values_are_the_core_s() {
    let input = model();
    let dtypes = [(Dtype::F64, F64), (Dtype::F32, F32), (Dtype::BF16, BF16), (Dtype::F16, F16)];
    for format in ["cfloat8_1_4_3", "cfloat8_1_5_2:subnormals=gradual", "e4m3fn", "shp", "e2m1fn"] {
        let fixture = Fixture::new(&input);
        fixture.quantize(&options(format)).unwrap();
        let codes = File::read(&fixture.output);
        let wide = fixture.folder.path().join("wide.safetensors");
        for (dtype, theirs) in dtypes {
            // Some values are not exact there: allowed with a rounding.
            let exact = View::open(&fixture.output).unwrap().tensors().iter().all(|tensor| {
                tensor.format().is_none_or(|format| format.fits_in(&crate::common::wide_format(theirs)))
            });
            let without = back(&fixture.output, &wide, dtype, None);
            assert_eq!(without.is_ok(), exact, "{format} to {dtype}: {without:?}");
            let len = back(&fixture.output, &wide, dtype, Some(Rounding::NearestEven)).unwrap().bytes;
            assert_eq!(len, std::fs::metadata(&wide).unwrap().len());
            let wide = File::read(&wide);
            assert_eq!(wide.metadata, input.metadata);
            assert_eq!(wide.tensors.len(), input.tensors.len());
            assert_eq!(wide.tensors["ids"], input.tensors["ids"]);
            for (name, tensor) in wide.tensors.iter().filter(|(name, _)| *name != "ids") {
                let format = format_of(&codes, name);
                let values: Vec<f64> =
                    codes.tensors[name].bits().iter().map(|&code| format.decode_f64(code).value).collect();
                let expected = Tensor::of(theirs, &values).shaped(&input.tensors[name].shape);
                assert_eq!(*tensor, expected, "{format} to {dtype}, tensor {name}");
            }
        }
    }
}

#[test]
fn values_that_do_not_fit_need_a_rounding() {
    let fixture = Fixture::new(&model());
    let wide = fixture.folder.path().join("wide.safetensors");
    fixture.quantize(&options("shp")).unwrap();
    let error = back(&fixture.output, &wide, Dtype::BF16, None).unwrap_err();
    assert!(
        error.is_refused() && error.to_string().contains("can't hold exactly: give a rounding"),
        "{error}"
    );
    assert!(error.tensor().is_some() && !wide.exists());
    back(&fixture.output, &wide, Dtype::BF16, Some(Rounding::TowardZero)).unwrap();
    let (a, b) = (View::open(&fixture.output).unwrap(), View::open(&wide).unwrap());
    for tensor in compare(&a, &b).unwrap().iter().filter(|tensor| tensor.name != "ids") {
        assert!(tensor.sqnr_db.is_none_or(|db| db > 35.0), "{tensor:?}");
    }
    let error = back(&fixture.output, &wide, Dtype::I64, None).unwrap_err();
    assert!(error.to_string().contains("choose F64, F32, F16 or BF16"), "{error}");
    let error = back(&fixture.input, &wide, Dtype::F32, None).unwrap_err();
    assert!(error.to_string().contains("is no quantized file"), "{error}");
    let error = dequantize(&fixture.output, &wide, Dtype::F32, None, false, &mut |_| ()).unwrap_err();
    assert!(error.is_exists(), "{error}");
}

#[test]
fn quantizing_what_was_dequantized_gives_the_same_codes() {
    let fixture = Fixture::new(&model());
    for format in ["cfloat8_1_4_3:bias=9", "shp:bias=15", "e4m3fn"] {
        fixture.quantize(&options(format)).unwrap();
        let wide = fixture.folder.path().join("wide.safetensors");
        back(&fixture.output, &wide, Dtype::F32, None).unwrap();
        let again = fixture.folder.path().join("again.safetensors");
        quantize(&wide, &again, &options(format), &|_| true, &mut |_| ()).unwrap();
        assert_eq!(File::read(&again).tensors, File::read(&fixture.output).tensors, "{format}");
    }
}

#[test]
fn one_tensor_goes_into_a_numpy_array() {
    let file = File::of([("w", Tensor::of(F32, &[0.5, -0.75, 3.0, 0.0]).shaped(&[2, 2]))]);
    let fixture = Fixture::new(&file);
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    let array = fixture.folder.path().join("w.NPY");
    back(&fixture.output, &array, Dtype::F32, None).unwrap();
    let source = Source::open(&array).unwrap();
    assert_eq!(source.kind(), smallfloat_tensor::SourceKind::Npy);
    let tensor = &source.tensors()[0];
    assert_eq!((tensor.dtype, &tensor.shape[..]), (Dtype::F32, &[2, 2][..]));
    assert_eq!(source.read_all(tensor).unwrap(), file.tensors["w"].bytes);
    // What was only copied keeps its type there too.
    let ids = Tensor::new(safetensors::Dtype::I32, &[2], vec![1, 0, 0, 0, 2, 0, 0, 0]);
    let other = Fixture::new(&File::of([("ids", ids.clone())]));
    other.quantize(&options("cfloat8_1_4_3")).unwrap();
    let array = other.folder.path().join("ids.npy");
    back(&other.output, &array, Dtype::F32, None).unwrap();
    let source = Source::open(&array).unwrap();
    assert_eq!(source.tensors()[0].dtype, Dtype::I32);
    assert_eq!(source.read_all(&source.tensors()[0]).unwrap(), ids.bytes);
    // And several tensors do not fit into one array.
    let several = Fixture::new(&model());
    several.quantize(&options("cfloat8_1_4_3")).unwrap();
    let error = back(&several.output, &several.folder.path().join("x.npy"), Dtype::F32, None).unwrap_err();
    assert!(error.to_string().contains("one array, this container has 6"), "{error}");
}

#[test]
fn what_is_quantized_already_is_decoded_first() {
    let fixture = Fixture::new(&model());
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    let (again, wide) = (fixture.folder.path().join("again"), fixture.folder.path().join("wide"));
    quantize(&fixture.output, &again, &options("cfloat8_1_5_2"), &|_| true, &mut |_| ()).unwrap();
    back(&fixture.output, &wide, Dtype::F32, None).unwrap();
    let direct = fixture.folder.path().join("direct");
    quantize(&wide, &direct, &options("cfloat8_1_5_2"), &|_| true, &mut |_| ()).unwrap();
    assert_eq!(File::read(&again).tensors, File::read(&direct).tensors);
    // What it was quantized from at first is remembered.
    assert_eq!(File::read(&again).entries()["w.F16"]["source_dtype"], "F16");
}

/// Changes the entries of a container under its record, which is written anew: what is left to be
/// checked is whether the entries fit the tensors.
fn with_entries(path: &std::path::Path, change: impl Fn(&mut serde_json::Value)) {
    let mut file = File::read(path);
    file.metadata.remove("smallfloat.record");
    let mut entries = file.entries();
    change(&mut entries);
    file.set_entries(&entries);
    file.write(path);
}

#[test]
fn what_is_verified_can_be_dequantized_to_as_many_elements() {
    let numbers: Vec<f64> = (0..4096).map(|i| f64::from(i % 97) * 0.03 - 1.0).collect();
    let file = File::of([("w", Tensor::of(F32, &numbers).shaped(&[64, 64]))]);
    let shapes = [
        json!([]),
        json!([64]),
        json!([128, 64]),
        json!([32, 64]),
        json!([64, 32]),
        json!([4096]),
        json!([64, 64, 2]),
        json!([0, 64]),
        json!([u64::MAX, u64::MAX]),
    ];
    for packed in [false, true] {
        for shape in &shapes {
            let fixture = Fixture::new(&file);
            let options =
                if packed { "mxfp4".parse::<Scheme>().unwrap().options() } else { options("cfloat8_1_4_3") };
            fixture.quantize(&options).unwrap();
            with_entries(&fixture.output, |entries| entries["w"]["shape"] = shape.clone());
            let wide = fixture.folder.path().join("wide.safetensors");
            let verified = verify(&fixture.output);
            if verified.is_ok() {
                back(&fixture.output, &wide, Dtype::F32, None).unwrap();
                let elements: usize = File::read(&wide).tensors["w"].shape.iter().product();
                assert_eq!(elements, 4096, "{shape}, packed: {packed}");
                // A vector of as many codes is another packing of the same bytes; it has its own
                // groups of 32.
                assert!(packed && *shape == json!([4096]), "{shape} is not the tensor's, packed: {packed}");
            } else {
                back(&fixture.output, &wide, Dtype::F32, None).unwrap_err();
                View::open(&fixture.output).unwrap_err();
            }
        }
    }
}

#[test]
fn keys_of_a_container_are_all_there_and_no_others() {
    let fixture = Fixture::new(&model());
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    let whole = File::read(&fixture.output);
    assert_eq!(verify(&fixture.output).unwrap().without_record, 0);
    for key in ["smallfloat.version", "smallfloat.tensors", "smallfloat.record"] {
        for bit in 0..8 * key.len() {
            let mut changed = key.as_bytes().to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            let Ok(changed) = String::from_utf8(changed) else { continue };
            let mut file = whole.clone();
            let value = file.metadata.remove(key).unwrap();
            file.metadata.insert(changed.clone(), value);
            file.write(&fixture.output);
            match verify(&fixture.output) {
                // A key that is not ours at all: the file says that it has no record.
                Ok(verified) => assert_eq!(
                    (key, verified.records, verified.without_record),
                    ("smallfloat.record", 0, 1),
                    "{changed}"
                ),
                Err(error) => assert!(error.is_refused() || error.is_malformed(), "{changed}: {error}"),
            }
        }
    }
}

/// The number that divides all scales of a tensor, and the dtypes of its parts.
#[test]
fn parts_of_scaled_tensors_are_held_to_their_dtypes() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    File::of([("w", Tensor::f32(&[0.5; 64]).shaped(&[2, 32]))]).write(&input);
    let options = "nvfp4".parse::<Scheme>().unwrap().options();
    quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
    let whole = File::read(&output);
    let is_global = |name: &String| whole.tensors[name].dtype == F32;
    let global = whole.tensors.keys().find(|name| is_global(name)).unwrap();
    let refused = |name: &str, tensor: Tensor, part: &str| {
        let mut file = whole.clone();
        file.tensors.insert(name.to_owned(), tensor);
        file.write(&output);
        let error = View::open(&output).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    };
    let one = 1_f32.to_le_bytes().to_vec();
    for other in [
        Tensor::new(safetensors::Dtype::I32, &[1], one.clone()),
        Tensor::new(F32, &[2], [one.clone(), one].concat()),
        Tensor::f32(&[0.0]),
        Tensor::f32(&[-1.0]),
        Tensor::f32(&[f32::INFINITY]),
        Tensor::f32(&[f32::NAN]),
    ] {
        refused(global, other, "is not one positive F32");
    }
    for name in ["w", "w_scale"] {
        let tensor = whole.tensors[name].clone();
        let dtype = if tensor.dtype == U8 { safetensors::Dtype::I8 } else { U8 };
        refused(name, Tensor { dtype, ..tensor }, "its codes and scales are");
    }
}

/// Without a record the digests of tensors tell of codes that were changed, in rows or not.
#[test]
fn digests_of_scaled_tensors_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    File::of([("w", Tensor::f32(&[0.5; 64]).shaped(&[2, 32]))]).write(&input);
    for scheme in ["mxfp4", "nf4"] {
        let options = scheme.parse::<Scheme>().unwrap().options();
        let output = output.with_extension(scheme);
        quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
        let mut file = File::read(&output);
        file.metadata.remove("smallfloat.record").unwrap();
        file.write(&output);
        assert_eq!(verify(&output).unwrap().without_record, 1);
        file.tensors.get_mut("w").unwrap().bytes[3] ^= 1;
        file.write(&output);
        let error = verify(&output).unwrap_err().to_string();
        assert!(error.contains("its codes have the SHA-256"), "{error}");
    }
}
