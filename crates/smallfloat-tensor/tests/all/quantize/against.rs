//! `verify_against`: one legal code that is wrong, with digests and record made right again, is
//! found in every layout; what was written as declared is never complained of.

use std::fs;
use std::path::Path;

use crate::common::{File, Fixture, Random, Tensor, options, sha256};
use safetensors::Dtype::{BF16, F16, F32, F64};
use serde_json::json;
use smallfloat::{FormatSpec, NegativeRule, RandomBits, Rounding, Saturation};
use smallfloat_tensor::{
    Agreement, Container, Negative, Nonfinite, Options, QuantizedAs, Scheme, Sharding, apply, finalize, plan,
    quantize, verify, verify_against,
};

/// Matrices of every type: everyday numbers, zeros of both signs, ties, and numbers beyond every
/// range.
fn model() -> File {
    let mut random = Random(11);
    let mut matrix = |dtype, rows: usize, columns: usize, scale: f64| {
        let mut values = random.normals(rows * columns, scale);
        for (i, x) in values.iter_mut().enumerate() {
            match i % 97 {
                3 => *x = 0.0,
                5 => *x = -0.0,
                7 => *x = 1.0625 * scale,
                11 => *x *= 1e4,
                13 => *x *= 1e-4,
                _ => {}
            }
        }
        Tensor::of(dtype, &values).shaped(&[rows, columns])
    };
    File::of([
        ("a.weight", matrix(F32, 40, 96, 0.02)),
        ("b.weight", matrix(BF16, 9, 288, 1.0)),
        ("c.weight", matrix(F16, 130, 128, 0.5)),
        ("d.weight", matrix(F64, 3, 96, 3.0)),
        ("e.weight", matrix(F32, 2, 33_024, 0.1)),
        ("norm", Tensor::new(safetensors::Dtype::I64, &[2], vec![9; 16])),
    ])
}

fn against(fixture: &Fixture, declared: &QuantizedAs) -> Agreement {
    verify_against(&fixture.output, &fixture.input, declared, &mut |_| ()).unwrap()
}

#[track_caller]
fn agrees(fixture: &Fixture, declared: &QuantizedAs) -> Agreement {
    let found = against(fixture, declared);
    assert_eq!((&found.disagreements[..], found.wrong_codes), (&[][..], 0));
    assert!(found.tensors > 0 && found.elements > 0);
    found
}

/// Turns over the lowest bit of the code of one element and mends digest and record, by the
/// specification's words.
fn corrupt(path: &Path, codes: &str, byte: usize, bit: u8) {
    let mut file = File::read(path);
    file.tensors.get_mut(codes).unwrap().bytes[byte] ^= bit;
    if file.metadata.contains_key("smallfloat.tensors") {
        let mut entries = file.entries();
        entries[codes]["sha256"] = sha256(&file.tensors[codes].bytes).into();
        file.set_entries(&entries);
        let lines = file.tensors.iter().map(|(name, tensor)| {
            json!([name, format!("{:?}", tensor.dtype), tensor.shape, sha256(&tensor.bytes)]).to_string()
        });
        let of = |key: &str| json!([key, file.metadata[key]]).to_string();
        let lines = lines.chain([of("smallfloat.version"), of("smallfloat.tensors")]);
        let all: String = lines.map(|line| line + "\n").collect();
        file.metadata.insert("smallfloat.record".to_owned(), format!("1:{}", sha256(all.as_bytes())));
    }
    file.write(path);
}

/// Every way of storing, and what must be declared to judge it.
fn ways() -> Vec<(&'static str, Options, QuantizedAs)> {
    let none = QuantizedAs::default;
    let base = options("cfloat8_1_4_3");
    let bits = RandomBits::from_word32(16, 0).unwrap();
    let stochastic =
        |options: Options| Options { rounding: Some(Rounding::StochasticA(bits)), seed: Some(3), ..options };
    let scheme = |name: &str| Options { overwrite: true, ..name.parse::<Scheme>().unwrap().options() };
    let mut ways = vec![
        ("channel", Options { granularity: "channel".parse().unwrap(), ..base.clone() }, none()),
        ("block", Options { granularity: "block:7x40".parse().unwrap(), ..options("shp") }, none()),
        ("toward zero", Options { rounding: Some(Rounding::TowardZero), ..base.clone() }, none()),
        ("stochastic", stochastic(base.clone()), none()),
        (
            "stochastic block",
            stochastic(Options { granularity: "block:16".parse().unwrap(), ..base.clone() }),
            none(),
        ),
        (
            "stochastic fp8",
            stochastic(scheme("fp8")),
            QuantizedAs { rounding: Some(Rounding::StochasticA(bits)), seed: Some(3), ..none() },
        ),
        (
            "not saturating",
            Options { saturation: Some(Saturation::SatNone), ..options("e4m3fn") },
            QuantizedAs { saturation: Some(Saturation::SatNone), ..none() },
        ),
    ];
    for name in [
        "cfloat8_1_4_3:bias=7",
        "cfloat8_1_5_2:subnormals=gradual",
        "shp",
        "uhp",
        "e5m2",
        "binary8p3se",
        "e8m0fnu",
    ] {
        let mut way = options(name);
        let mut declared = none();
        if name == "e8m0fnu" || name == "uhp" {
            way.negative = Negative::Apply(NegativeRule::Magnitude);
            declared.negative = Negative::Apply(NegativeRule::Magnitude);
        }
        ways.push((name, way, declared));
    }
    for granularity in ["tensor", "channel", "block:64"] {
        for format in ["cfloat8_1_4_3", "cfloat8_1_5_2:subnormals=gradual"] {
            let way = Options {
                granularity: granularity.parse().unwrap(),
                container: Container::Fp8 { requantize: true },
                ..options(format)
            };
            ways.push((
                "container fp8",
                way,
                QuantizedAs { format: Some(format.parse::<FormatSpec>().unwrap()), ..none() },
            ));
        }
    }
    // Tiles of scales are for whole squares, experts have three dimensions, GGUF files are others:
    // conversions.rs.
    let others = ["comfy-mxfp8", "comfy-nvfp4", "gpt-oss"];
    let rows = Scheme::all().iter().filter(|row| !others.contains(&row.name) && !row.layout.is_gguf());
    ways.extend(rows.map(|row| (row.name, scheme(row.name), none())));
    ways
}

#[test]
fn one_wrong_code_is_found_in_every_layout() {
    let fixture = Fixture::new(&model());
    for (name, way, declared) in ways() {
        let report = fixture.quantize(&way).unwrap_or_else(|e| panic!("{name}: {e}"));
        // Block sizes that shapes leave open are in the configuration.
        let config = json!({ "quantization_config": report.quantization_config });
        fs::write(fixture.folder.path().join("config.json"), config.to_string()).unwrap();
        let found = agrees(&fixture, &declared);
        assert_eq!((found.tensors, found.copied), (5, 1), "{name}");
        let whole = File::read(&fixture.output);
        for tensor in ["a.weight", "b.weight", "c.weight", "d.weight", "e.weight"] {
            let codes = if whole.tensors.contains_key(tensor) {
                tensor.to_owned()
            } else {
                format!("{tensor}_packed")
            };
            let bytes = whole.tensors[&codes].bytes.len();
            // Two places of everyday numbers: bytes in the middle that are neither zero nor one of
            // the largest codes.
            let inner = |byte: &usize| !matches!(whole.tensors[&codes].bytes[*byte] & 0x7f, 0..=8 | 0x70..);
            for byte in (bytes / 2..bytes).filter(inner).take(2) {
                whole.write(&fixture.output);
                // The low byte of a 16-bit code, and in packed codes a bit of one code alone.
                let byte =
                    if whole.tensors[&codes].dtype == safetensors::Dtype::U16 { byte / 2 * 2 } else { byte };
                corrupt(&fixture.output, &codes, byte, 1);
                verify(&fixture.output)
                    .unwrap_or_else(|e| panic!("{name} {tensor}: only the source can tell: {e}"));
                let found = against(&fixture, &declared);
                assert_eq!(found.wrong_codes, 1, "{name} {tensor} byte {byte}");
                let [one] = &found.disagreements[..] else { panic!("{name}: {found:?}") };
                assert_eq!((&*one.tensor, one.kind, one.count), (tensor, "code", 1));
                assert!(one.code.is_some_and(|code| !one.expected.contains(&code)), "{one:?}");
                assert!(one.what.contains("right would be"), "{one:?}");
            }
        }
    }
}

/// The element and the codes of the message are right: computed here from the input alone.
#[test]
fn a_wrong_code_is_told_with_what_would_be_right() {
    let values = [1.0_f32, 1.3, -0.7, 500.0, 0.0];
    let fixture = Fixture::new(&File::of([("w", Tensor::f32(&values))]));
    fixture.quantize(&options("cfloat8_1_4_3:bias=7")).unwrap();
    corrupt(&fixture.output, "w", 1, 1);
    let found = against(&fixture, &QuantizedAs::default());
    let [one] = &found.disagreements[..] else { panic!("{found:?}") };
    // 1.3 is between 1.25 (0x3a) and 1.375 (0x3b).
    assert_eq!((one.element, one.code, &one.expected[..]), (Some(1), Some(0x3b), &[0x3a][..]));
    assert_eq!(one.value, Some(f64::from(1.3_f32)));
    assert!(
        one.what.contains("0x3b, which is 1.375e0; right would be 0x3a, which is 1.25e0"),
        "{}",
        one.what
    );
    // Another rounding, saturation or sign would have given something else for 500 and 0.
    for (byte, bit) in [(3, 1), (3, 0x80), (4, 0x80), (4, 1)] {
        fixture.quantize(&options("cfloat8_1_4_3:bias=7")).unwrap();
        corrupt(&fixture.output, "w", byte, bit);
        assert_eq!(against(&fixture, &QuantizedAs::default()).wrong_codes, 1, "{byte} {bit}");
    }
}

#[test]
fn infinities_and_nans_are_judged_by_the_preset() {
    let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0, 1e30, -1e-30, 0.3, 0.4];
    for format in ["cfloat8_1_4_3", "e4m3fn", "e5m2", "e2m1fn", "binary8p3se", "binary8p3sf"] {
        let fixture = Fixture::new(&File::of([("w", Tensor::f32(&values).shaped(&[2, 4]))]));
        fixture.quantize(&Options { nonfinite: Nonfinite::Preset, ..options(format) }).unwrap();
        agrees(&fixture, &QuantizedAs::default());
        corrupt(&fixture.output, "w", 1, 1);
        assert_eq!(against(&fixture, &QuantizedAs::default()).wrong_codes, 1, "{format}");
    }
    for scheme in ["mxfp8-e4m3", "mxfp4", "nvfp4", "fp8", "deepseek"] {
        let fixture = Fixture::new(&File::of([("w.weight", Tensor::f32(&values).shaped(&[2, 4]))]));
        let options = Options { nonfinite: Nonfinite::Preset, ..scheme.parse::<Scheme>().unwrap().options() };
        fixture.quantize(&options).unwrap();
        agrees(&fixture, &QuantizedAs::default());
    }
}

/// Without a seed a stochastic code is one of two neighbours.
#[test]
fn random_words_that_are_not_known_leave_two_neighbours() {
    let bits = RandomBits::from_word32(32, 0).unwrap();
    let rounding = Some(Rounding::StochasticA(bits));
    let fixture =
        Fixture::new(&File::of([("w.weight", Tensor::f32(&[1.0, 1.3, 448.0, 2.0]).shaped(&[2, 2]))]));
    let fp8 = "fp8".parse::<Scheme>().unwrap().options();
    fixture.quantize(&Options { rounding, seed: Some(9), overwrite: true, ..fp8 }).unwrap();
    let declared = QuantizedAs { rounding, ..QuantizedAs::default() };
    agrees(&fixture, &declared);
    let whole = File::read(&fixture.output);
    let wrong = [0x39, 0x3a, 0x3b, 0x3c].map(|code| {
        let mut file = whole.clone();
        file.tensors.get_mut("w.weight").unwrap().bytes[1] = code;
        file.write(&fixture.output);
        against(&fixture, &declared).wrong_codes
    });
    assert_eq!(wrong, [1, 0, 0, 1]);
    whole.write(&fixture.output);
    let nearest = against(&fixture, &QuantizedAs::default());
    assert!(nearest.wrong_codes <= 1, "three of four numbers are exact: {nearest:?}");
}

#[test]
fn tensors_that_are_missing_new_or_changed() {
    let fixture = Fixture::new(&model());
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    let mut source = model();
    source.tensors.get_mut("norm").unwrap().bytes[3] ^= 1;
    source.tensors.insert("z".to_owned(), Tensor::f32(&[1.0]));
    source.tensors.remove("b.weight");
    let a = source.tensors.get_mut("a.weight").unwrap();
    a.shape = vec![96, 40];
    source.write(&fixture.input);
    let found = against(&fixture, &QuantizedAs::default());
    let kinds: Vec<_> = found.disagreements.iter().map(|one| (&*one.tensor, one.kind, one.element)).collect();
    let expected = [
        ("a.weight", "shape", None),
        ("b.weight", "extra", None),
        ("norm", "data", Some(3)),
        ("z", "missing", None),
    ];
    let mut sorted = kinds.clone();
    sorted.sort();
    assert_eq!((sorted, found.wrong_codes), (expected.to_vec(), 0));
}

/// A folder in shards against the file that it was made from, and one scheme made from another.
#[test]
fn other_partitions_and_quantized_sources() {
    let fixture = Fixture::new(&model());
    let folder = fixture.folder.path().join("shards");
    let plan = plan(
        &fixture.input,
        &folder,
        &options("cfloat8_1_4_3"),
        &|_| true,
        Sharding::Count(std::num::NonZeroU64::new(3).unwrap()),
    )
    .unwrap();
    for shard in 0..plan.shards() {
        apply(&plan, shard, false, &mut |_| ()).unwrap();
    }
    finalize(&plan, true, &mut |_| ()).unwrap();
    let found = verify_against(&folder, &fixture.input, &QuantizedAs::default(), &mut |_| ()).unwrap();
    assert_eq!((found.disagreements, found.tensors), (Vec::new(), 5));

    // Two scales for 130 rows may be of 128 or of 65 each.
    let config = r#"{"quantization_config": {"weight_block_size": [128, 128]}}"#;
    std::fs::write(fixture.folder.path().join("config.json"), config).unwrap();
    for (first, second) in [("nvfp4", "mxfp8-e4m3"), ("fp8", "mxfp4"), ("mxfp6-e3m2", "deepseek")] {
        let way = |name: &str| Options { overwrite: true, ..name.parse::<Scheme>().unwrap().options() };
        fixture.quantize(&way(first)).unwrap();
        let next = fixture.folder.path().join("next.safetensors");
        quantize(&fixture.output, &next, &way(second), &|_| true, &mut |_| ()).unwrap();
        let found = verify_against(&next, &fixture.output, &QuantizedAs::default(), &mut |_| ()).unwrap();
        assert_eq!((found.disagreements, found.tensors), (Vec::new(), 5), "{first} to {second}");
    }
}

#[test]
fn what_can_not_be_judged_is_refused() {
    let fixture = Fixture::new(&model());
    let error = |declared: &QuantizedAs| {
        verify_against(&fixture.output, &fixture.input, declared, &mut |_| ()).unwrap_err().to_string()
    };
    fixture.quantize(&Options { container: Container::Bf16, ..options("cfloat8_1_4_3") }).unwrap();
    assert!(error(&QuantizedAs::default()).contains("no codes with scales"));
    let fp8 = Options { container: Container::Fp8 { requantize: true }, ..options("cfloat8_1_4_3") };
    fixture.quantize(&fp8).unwrap();
    let declared = |name: &str| QuantizedAs { format: Some(name.parse().unwrap()), ..QuantizedAs::default() };
    assert!(error(&declared("cfloat8_1_5_2")).contains("e4m3fn"));
    assert!(error(&declared("shp")).contains("choose native"));
    // Without the format its largest and its subnormal values are not those that E4M3 would give.
    assert!(against(&fixture, &QuantizedAs::default()).wrong_codes > 0);
    fs::remove_file(&fixture.input).unwrap();
    assert!(error(&QuantizedAs::default()).contains("in.safetensors"));
}
