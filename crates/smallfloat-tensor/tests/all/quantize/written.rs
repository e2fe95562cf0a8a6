//! Quantized files: their codes are the core's, element by element, and their reports tell the
//! truth.

use std::fs;

use crate::common::{
    Expected, File, Fixture, Random, Tensor, WIDE, native_shape, options, quantized, sha256,
};
use safetensors::Dtype::F32;
use smallfloat::random::Philox;
use smallfloat::{Format, FormatSpec, NegativeRule, Preset, RandomBits, Rounding, Saturation, formats};
use smallfloat_tensor::{
    BiasPolicy, CHUNK_BYTES, Dtype, Negative, Nonfinite, NpyWriter, Options, Progress, quantize,
    stream_of_name,
};

/// Values of every kind that is finite: both zeros, subnormals, powers of two, ties, large ones.
fn varied(random: &mut Random, count: usize) -> Vec<f64> {
    let mut values = vec![0.0, -0.0, 1.0, -1.0, 1.0625, 1.1875, 1e-7, -6e-8, 1e-45, 5e-324, 480.0, -496.0];
    while values.len() < count {
        let exponent = 40.0 * random.uniform() - 30.0;
        values.push(random.normal() * exponent.exp2());
    }
    values
}

fn every_wide_type(random: &mut Random, count: usize) -> File {
    let tensors = WIDE.map(|dtype| {
        let values: Vec<f64> = varied(random, count).iter().map(|x| x.clamp(-6e4, 6e4)).collect();
        (format!("layer.{dtype}"), Tensor::of(dtype, &values))
    });
    File::of(tensors)
}

/// The projection that quantizing means by default, where infinities do not matter.
fn saturating(format: &Format) -> smallfloat::Projection {
    format.default_projection().with_saturation(Saturation::SatPropagate)
}

/// Returns whether a file holds the core's codes, and whether the report's figures follow.
fn check(input: &File, options: &Options) {
    let (report, output) = quantized(input, options);
    let (mut signal, mut noise, mut elements) = (0.0, 0.0, 0);
    assert_eq!(report.tensors.len(), input.tensors.len());
    for tensor in &report.tensors {
        let (name, source) = (&tensor.name, &input.tensors[&tensor.name]);
        let format = options.format.with_bias(tensor.biases[0]).unwrap();
        let expected = Expected::of(source, &format, |_| saturating(&format));
        let codes = &output.tensors[name];
        assert_eq!(codes.shape, native_shape(&source.shape));
        assert!(codes.bytes == expected.bytes, "{format}, tensor {name}");
        expected.check(tensor);
        (signal, noise) = (signal + expected.signal, noise + expected.noise);
        elements += source.bits().len() as u64;
        if format.has_free_bias() {
            let bias = &output.tensors[&format!("{name}_bias")];
            assert_eq!(bias.bytes, [u8::try_from(tensor.biases[0]).unwrap()]);
        }
    }
    let totals = &report.totals;
    assert_eq!((totals.quantized, totals.copied), (input.tensors.len() as u64, 0));
    assert_eq!(totals.elements, elements);
    let sum = |field: fn(&smallfloat_tensor::TensorReport) -> u64| report.tensors.iter().map(field).sum();
    assert_eq!(
        (totals.saturated, totals.underflowed, totals.zeros),
        (sum(|t| t.saturated), sum(|t| t.underflowed), sum(|t| t.zeros))
    );
    crate::common::close(totals.sqnr_db, (noise > 0.0).then(|| 10.0 * (signal / noise).log10()));
    let sqnrs: Vec<f64> = report.tensors.iter().filter_map(|t| t.sqnr_db).collect();
    crate::common::close(totals.min_sqnr_db, sqnrs.iter().copied().reduce(f64::min));
    #[expect(clippy::cast_precision_loss, reason = "a mean of a few")]
    let mean = sqnrs.iter().sum::<f64>() / sqnrs.len() as f64;
    crate::common::close(totals.mean_sqnr_db, (!sqnrs.is_empty()).then_some(mean));
}

#[test]
fn codes_and_figures_are_the_core_s() {
    let file = every_wide_type(&mut Random(1), 1500);
    for format in [
        "cfloat8_1_4_3",
        "cfloat8_1_4_3:bias=7,subnormals=gradual",
        "cfloat8_1_5_2",
        "shp",
        "e4m3fn",
        "e5m2",
        "e4m3fnuz",
        "e2m1fn",
        "e3m2fn",
        "binary8p4se",
        "binary16p11se",
        "bfloat16",
        "ieee:k=6,p=3",
    ] {
        check(&file, &options(format));
    }
}

#[test]
fn codes_of_an_unsigned_format_are_the_core_s() {
    let mut file = every_wide_type(&mut Random(2), 1500);
    for (name, tensor) in &mut file.tensors {
        let magnitudes: Vec<f64> = tensor.numbers().iter().map(|x| x.abs()).collect();
        assert!(!magnitudes.is_empty(), "{name}");
        *tensor = Tensor::of(tensor.dtype, &magnitudes);
    }
    for format in ["uhp", "binary8p3uf"] {
        check(&file, &options(format));
    }
}

#[test]
fn exact_tensors_have_no_sqnr() {
    let file = File::of([("w", Tensor::f32(&[1.0, -0.5, 0.0]))]);
    let (report, _) = quantized(&file, &options("cfloat8_1_4_3"));
    assert_eq!(
        (report.tensors[0].sqnr_db, report.totals.sqnr_db, report.totals.mean_sqnr_db),
        (None, None, None)
    );
    assert!(serde_json::to_value(&report).unwrap()["tensors"][0]["sqnr_db"].is_null());
}

#[test]
fn other_types_and_free_text_are_copied() {
    let mut file = File::of([("w", Tensor::f32(&[1.0, 2.5]))]);
    let bytes: Vec<u8> = (0..48).collect();
    for dtype in [safetensors::Dtype::I64, safetensors::Dtype::BOOL, safetensors::Dtype::U16] {
        let elements = bytes.len() * 8 / dtype.bitsize();
        file.tensors.insert(dtype.to_string(), Tensor::new(dtype, &[elements / 2, 2], bytes.clone()));
    }
    file.metadata.insert("format".into(), "pt".into());
    file.metadata.insert("note".into(), "zwölf \"x\"\n".into());
    let (report, output) = quantized(&file, &options("cfloat8_1_4_3"));
    for (name, tensor) in file.tensors.iter().filter(|(name, _)| *name != "w") {
        assert_eq!(&output.tensors[name], tensor);
        let of = report.tensors.iter().find(|t| t.name == *name).unwrap();
        assert_eq!((&of.format, of.biases.len(), of.sqnr_db), (&None, 0, None), "{name}");
    }
    for (key, value) in &file.metadata {
        assert_eq!(&output.metadata[key], value);
    }
    assert_eq!((report.totals.quantized, report.totals.copied), (1, 3));
}

/// Types of fewer than 16 bits are numbers; where rows do not end with a byte, elements follow each
/// other without a gap.
#[test]
fn narrow_types_are_numbers() {
    let bytes: Vec<u8> = (0..48).map(|i| i * 5).collect();
    let mut file = File::of([] as [(&str, Tensor); 0]);
    let types = [(safetensors::Dtype::F4, formats::E2M1FN), (safetensors::Dtype::F6_E2M3, formats::E2M3FN)];
    for (dtype, _) in types {
        let elements = bytes.len() * 8 / dtype.bitsize();
        file.tensors.insert(dtype.to_string(), Tensor::new(dtype, &[elements / 2, 2], bytes.clone()));
    }
    let (report, output) = quantized(&file, &options("cfloat8_1_4_3"));
    for (dtype, format) in types {
        let name = dtype.to_string();
        let of = report.tensors.iter().find(|t| t.name == name).unwrap();
        let to = Format::cfloat8_1_4_3(of.biases[0]).unwrap();
        for (i, &code) in output.tensors[&name].bytes.iter().enumerate() {
            // The lowest bits first.
            let (bits, at) = (dtype.bitsize(), dtype.bitsize() * i);
            let pair = u16::from_le_bytes([bytes[at / 8], *bytes.get(at / 8 + 1).unwrap_or(&0)]);
            let value = format.decode(u64::from(pair >> (at % 8) & (0xff >> (8 - bits))));
            assert_eq!(to.decode(code.into()).to_f64(), value.to_f64(), "{name}, element {i}");
        }
    }
}

#[test]
fn only_what_is_selected_is_quantized() {
    let file = every_wide_type(&mut Random(3), 40);
    let fixture = Fixture::new(&file);
    let mut seen = Vec::new();
    let select = |name: &str| name.contains("F32") || name.contains("BF16");
    let report =
        quantize(&fixture.input, &fixture.output, &options("cfloat8_1_5_2"), &select, &mut |progress| {
            seen.push(format!("{progress:?}"));
        })
        .unwrap();
    let output = File::read(&fixture.output);
    assert_eq!(output.tensors.len(), 6);
    for (name, tensor) in &file.tensors {
        assert_eq!(output.tensors[name] == *tensor, !select(name), "{name}");
    }
    assert_eq!(report.totals.quantized, 2);
    assert!(seen[0].starts_with("Start") && seen.last().unwrap() == "Verify", "{seen:?}");
}

#[test]
fn progress_adds_up() {
    let mut file = every_wide_type(&mut Random(4), 200);
    file.tensors.insert("ids".into(), Tensor::new(safetensors::Dtype::I64, &[3], vec![1; 24]));
    let fixture = Fixture::new(&file);
    for (format, histograms) in [("cfloat8_1_4_3", false), ("e5m2", false), ("e5m2", true)] {
        let (mut start, mut bytes) = (0, 0);
        let options = Options { histograms, ..options(format) };
        let report =
            quantize(&fixture.input, &fixture.output, &options, &|_| true, &mut |progress| match progress {
                Progress::Start(all) => start = all,
                Progress::Bytes(more) => bytes += more,
                _ => (),
            })
            .unwrap();
        assert_eq!(start, bytes, "{format}");
        for tensor in &report.tensors {
            let source = &file.tensors[&tensor.name];
            if !histograms || tensor.format.is_none() {
                assert!(tensor.exponents.is_empty());
                continue;
            }
            let numbers = source.numbers();
            let count =
                |low: f64| numbers.iter().filter(|x| (low..2.0 * low).contains(&x.abs())).count() as u64;
            let inside: Vec<(i32, u64)> =
                (-20..15).map(|e| (e, count(f64::from(e).exp2()))).filter(|(_, n)| *n > 0).collect();
            let found: Vec<(i32, u64)> =
                tensor.exponents.iter().copied().filter(|(e, _)| (-20..15).contains(e)).collect();
            assert_eq!(found, inside, "{}", tensor.name);
            let nonzero = numbers.iter().filter(|x| **x != 0.0).count() as u64;
            assert_eq!(tensor.exponents.iter().map(|(_, n)| n).sum::<u64>(), nonzero);
        }
    }
}

#[test]
fn tensors_larger_than_a_chunk_empty_ones_and_scalars() {
    let mut random = Random(5);
    let mut file = File::of([] as [(&str, Tensor); 0]);
    for (dtype, size) in [(F32, 4), (safetensors::Dtype::BF16, 2), (safetensors::Dtype::F64, 8)] {
        let count = CHUNK_BYTES / size + 3333;
        let values = random.normals(count, 0.02);
        file.tensors.insert(format!("large.{dtype}"), Tensor::of(dtype, &values).shaped(&[count / 3, 3]));
        let tensor = file.tensors.get_mut(&format!("large.{dtype}")).unwrap();
        tensor.bytes.truncate(tensor.shape.iter().product::<usize>() * size);
    }
    file.tensors.insert("empty".into(), Tensor::of(F32, &[]).shaped(&[3, 0, 2]));
    file.tensors.insert("scalar".into(), Tensor::of(F32, &[0.7]).shaped(&[]));
    check(&file, &options("cfloat8_1_4_3"));
    let (report, _) = quantized(&file, &options("e4m3fn"));
    let empty = report.tensors.iter().find(|t| t.name == "empty").unwrap();
    assert_eq!(
        (empty.elements(), empty.sqnr_db, empty.amax, empty.flags.as_str()),
        (0, None, Some(0.0), "-")
    );
}

fn stochastic(bits: u32, seed: u64) -> Options {
    Options {
        rounding: Some(Rounding::stochastic_a(bits).unwrap()),
        seed: Some(seed),
        ..options("cfloat8_1_4_3")
    }
}

#[test]
fn threads_change_nothing() {
    let mut random = Random(6);
    let mut file = File::of([] as [(&str, Tensor); 0]);
    for (name, count) in [("a", CHUNK_BYTES / 4 + 77_777), ("b", 70_001), ("c", 9)] {
        file.tensors.insert(name.into(), Tensor::of(F32, &random.normals(count, 0.3)));
    }
    let half = random.normals(CHUNK_BYTES / 2 + 5, 0.3);
    file.tensors.insert("half".into(), Tensor::of(safetensors::Dtype::F16, &half));
    let fixture = Fixture::new(&file);
    for options in [options("cfloat8_1_4_3"), stochastic(32, 9)] {
        let mut results = Vec::new();
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let report = pool.install(|| fixture.quantize(&options)).unwrap();
            results.push((fs::read(&fixture.output).unwrap(), report.tensors, report.totals));
        }
        assert!(results.iter().all(|result| *result == results[0]));
    }
}

#[test]
fn stochastic_codes_follow_from_seed_name_and_index() {
    let mut random = Random(7);
    let count = CHUNK_BYTES / 4 + 1001;
    let mut values = random.normals(count, 0.05);
    // Some in the hole.
    values.iter_mut().step_by(7).for_each(|x| *x *= 2.0_f64.powi(-12));
    let mut file = File::of([("encoder.0.weight", Tensor::of(F32, &values).shaped(&[count]))]);
    file.tensors.insert("ünï".into(), Tensor::of(safetensors::Dtype::BF16, &values[..1000]));
    for (bits, seed) in [(32, 1), (8, u64::MAX - 5)] {
        let options = stochastic(bits, seed);
        let (report, output) = quantized(&file, &options);
        for tensor in &report.tensors {
            let (name, source) = (&tensor.name, &file.tensors[&tensor.name]);
            let stream = u64::from_str_radix(&sha256(name.as_bytes())[..16], 16).unwrap().swap_bytes();
            assert_eq!(stream, stream_of_name(name));
            let philox = Philox { seed, stream };
            let format = options.format.with_bias(tensor.biases[0]).unwrap();
            let expected = Expected::of(source, &format, |element| {
                let word = u64::from(philox.word(element) >> (32 - bits));
                saturating(&format).with_rounding(Rounding::StochasticA(RandomBits::new(bits, word).unwrap()))
            });
            assert!(output.tensors[name].bytes == expected.bytes, "{name}");
            expected.check(tensor);
        }
        let entry = &output.entries()["ünï"];
        assert_eq!(entry["rounding"], "stochastic-a");
        assert_eq!((&entry["random_bits"], &entry["seed"]), (&bits.into(), &seed.into()));
        assert_eq!(entry["generator"], "philox");
    }
    assert_eq!(
        stream_of_name("abc"),
        u64::from_le_bytes([0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]),
        "the known answer of SHA-256"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    let file = File::of([("w", Tensor::of(F32, &Random(8).normals(1000, 1.0)))]);
    let fixture = Fixture::new(&file);
    let bytes = |options: &Options| {
        fixture.quantize(options).unwrap();
        fs::read(&fixture.output).unwrap()
    };
    assert_eq!(bytes(&stochastic(32, 1)), bytes(&stochastic(32, 1)));
    let codes = |options: &Options| quantized(&file, options).1.tensors["w"].bytes.clone();
    assert_ne!(codes(&stochastic(32, 1)), codes(&stochastic(32, 2)));
    assert_ne!(codes(&stochastic(32, 1)), codes(&options("cfloat8_1_4_3")));
    assert_eq!(bytes(&options("e5m2")), bytes(&options("e5m2")));
}

#[test]
fn finite_overflow_saturates_unless_told_otherwise() {
    let file = File::of([("w", Tensor::f32(&[1e9, -1e9, 1.0]))]);
    let codes = |format: &str, saturation| {
        let options = Options { saturation, ..options(format) };
        let (report, output) = quantized(&file, &options);
        assert_eq!((report.tensors[0].overflowed, report.tensors[0].amax), (2, Some(1e9)), "{format}");
        output.tensors["w"].bytes.clone()
    };
    let none = Some(Saturation::SatNone);
    assert_eq!(codes("e5m2", None), [0x7b, 0xfb, 0x3c]); // 57344
    assert_eq!(codes("e5m2", none), [0x7c, 0xfc, 0x3c]); // ∞
    assert_eq!(codes("e4m3fn", None), [0x7e, 0xfe, 0x38]); // 448
    assert_eq!(codes("e4m3fn", none), [0x7f, 0xff, 0x38]); // NaN
    assert_eq!(codes("binary8p4se", None), [0x7e, 0xfe, 0x40]);
    assert_eq!(codes("binary8p4se", none), [0x7f, 0xff, 0x40]);
    assert_eq!(codes("cfloat8_1_4_3:bias=7", None), [0x7f, 0xff, 0x38]);
    assert_eq!(codes("cfloat8_1_4_3:bias=7", none), [0x7f, 0xff, 0x38]);
}

#[test]
fn nan_and_infinities_are_refused_by_tensor_and_index() {
    let mut values = vec![0.25; CHUNK_BYTES / 4 + 10];
    for (at, x, text) in [
        (0, f32::NAN, "element 0 is NaN"),
        (5, f32::INFINITY, "element 5 is inf"),
        (CHUNK_BYTES / 4 + 7, f32::NEG_INFINITY, "element 524295 is -inf"),
    ] {
        let old = std::mem::replace(&mut values[at], x);
        *values.last_mut().unwrap() = f32::NAN;
        let file = File::of([("bad", Tensor::f32(&values)), ("good", Tensor::f32(&[1.0]))]);
        for format in ["cfloat8_1_4_3", "e5m2"] {
            let fixture = Fixture::new(&file);
            let error = fixture.quantize(&options(format)).unwrap_err();
            assert_eq!((error.tensor(), error.path()), (Some("bad"), Some(fixture.input.as_path())));
            assert!(error.is_refused() && error.to_string().contains(text), "{error}");
            assert_eq!(crate::common::names(fixture.folder.path()), ["in.safetensors"]);
        }
        values[at] = old;
    }
}

#[test]
fn nan_and_infinities_follow_the_preset_when_asked() {
    // Not by arithmetic, which may give a NaN any sign.
    let nan = |sign: f64| f64::NAN.copysign(sign);
    let x = [nan(1.0), nan(-1.0), f64::INFINITY, f64::NEG_INFINITY, 1e9, 1.0];
    let mut file = File::of(WIDE.map(|dtype| (dtype.to_string(), Tensor::of(dtype, &x))));
    file.tensors.remove("F16"); // 1e9 would be infinite.
    let codes = |format: &str, preset| {
        let options = Options { preset, nonfinite: Nonfinite::Preset, ..options(format) };
        let (report, output) = quantized(&file, &options);
        for tensor in &report.tensors {
            // 1e9 as BF16 is rounded.
            let amax = if tensor.name == "BF16" { 998_244_352.0 } else { 1e9 };
            assert_eq!((tensor.nans, tensor.infinities, tensor.amax), (2, 2, Some(amax)), "{format}");
            assert!(tensor.flags.contains('I'), "{format}: {}", tensor.flags);
        }
        let codes: Vec<Vec<u64>> = report.tensors.iter().map(|t| output.tensors[&t.name].bits()).collect();
        assert!(codes.iter().all(|c| *c == codes[0]), "{format}: {codes:x?}");
        codes[0].clone()
    };
    assert_eq!(codes("cfloat8_1_4_3:bias=7", None), [0x7f, 0x7f, 0x7f, 0xff, 0x7f, 0x38]);
    assert_eq!(codes("shp:bias=15", None), [0x7fff, 0x7fff, 0x7fff, 0xffff, 0x7fff, 0x3c00]);
    // ml_dtypes: no infinity in E4M3FN, so NaN; finite overflow saturates all the same.
    assert_eq!(codes("e4m3fn", None), [0x7f, 0xff, 0x7f, 0xff, 0x7e, 0x38]);
    assert_eq!(codes("e4m3fnuz", None), [0x80, 0x80, 0x80, 0x80, 0x7f, 0x40]);
    assert_eq!(codes("e5m2", None), [0x7e, 0xfe, 0x7c, 0xfc, 0x7b, 0x3c]);
    assert_eq!(codes("e5m2", Some(Preset::OcpSaturate)), [0x7f, 0x7f, 0x7b, 0xfb, 0x7b, 0x3c]);
    assert_eq!(codes("e4m3fn", Some(Preset::OcpSaturate)), [0x7f, 0x7f, 0x7e, 0xfe, 0x7e, 0x38]);
    assert_eq!(codes("e4m3fn", Some(Preset::OcpNoSaturate)), [0x7f, 0x7f, 0x7f, 0x7f, 0x7e, 0x38]);
    assert_eq!(codes("binary8p4se", None), [0x80, 0x80, 0x7f, 0xff, 0x7e, 0x40]);
    assert_eq!(codes("binary8p4se", Some(Preset::P3109SatFinite)), [0x80, 0x80, 0x7e, 0xfe, 0x7e, 0x40]);
}

#[test]
fn statistics_leave_out_what_is_not_finite() {
    let file = File::of([("w", Tensor::f32(&[0.3, f32::INFINITY, f32::NAN, -0.1]))]);
    for bias in [BiasPolicy::Amax { margin: 0 }, BiasPolicy::LeastError, BiasPolicy::Percentile(100.0)] {
        let options = Options { bias, nonfinite: Nonfinite::Preset, ..options("cfloat8_1_4_3") };
        let report = quantized(&file, &options).0;
        let finite = File::of([("w", Tensor::f32(&[0.3, -0.1]))]);
        let alone = quantized(&finite, &Options { nonfinite: Nonfinite::Refuse, ..options }).0;
        assert_eq!(report.tensors[0].biases, alone.tensors[0].biases);
        crate::common::close(report.tensors[0].sqnr_db, alone.tensors[0].sqnr_db);
    }
}

#[test]
fn negatives_into_an_unsigned_format_need_a_rule() {
    let file = File::of([("w", Tensor::f32(&[1.0, -0.0, -1.0, -1e-12]))]);
    let fixture = Fixture::new(&file);
    let error = fixture.quantize(&options("uhp")).unwrap_err();
    assert_eq!(error.tensor(), Some("w"));
    assert!(error.to_string().contains("element 2 is -1: uhp is unsigned; choose a rule"), "{error}");
    assert!(!fixture.output.exists());
    for (rule, expected) in
        [(NegativeRule::Nan, 0xfe00), (NegativeRule::Zero, 0x0000), (NegativeRule::Magnitude, 0x7c00)]
    {
        let options = Options { negative: Negative::Apply(rule), ..options("uhp") };
        let codes = quantized(&file, &options).1.tensors["w"].bits();
        assert_eq!(codes, [0x7c00, 0, expected, 0], "{rule:?}");
    }
    // A signed format needs none.
    quantized(&file, &options("shp"));
}

#[test]
fn numpy_arrays_are_read() {
    let file = every_wide_type(&mut Random(9), 60);
    for (dtype, name) in [(Dtype::F64, "F64"), (Dtype::F32, "F32"), (Dtype::F16, "F16")] {
        let fixture = Fixture::new(&file);
        let input = fixture.folder.path().join("layer.0.npy");
        let source = file.tensors[&format!("layer.{name}")].clone().shaped(&[4, 15]);
        let mut writer = NpyWriter::create(&input, dtype, &[4, 15], false).unwrap();
        writer.append(&source.bytes).unwrap();
        writer.finish().unwrap();
        let options = options("cfloat8_1_4_3");
        let report = quantize(&input, &fixture.output, &options, &|_| true, &mut |_| ()).unwrap();
        let output = File::read(&fixture.output);
        assert_eq!(output.tensors.keys().collect::<Vec<_>>(), ["layer.0", "layer.0_bias"]);
        let format = options.format.with_bias(report.tensors[0].biases[0]).unwrap();
        let expected = Expected::of(&source, &format, |_| saturating(&format));
        assert_eq!(output.tensors["layer.0"].bytes, expected.bytes);
        assert_eq!(output.tensors["layer.0"].shape, [4, 15, 1]);
        expected.check(&report.tensors[0]);
    }
}

#[test]
fn the_output_may_replace_the_input() {
    let file = every_wide_type(&mut Random(10), 300);
    let elsewhere = Fixture::new(&file);
    let report = elsewhere.quantize(&options("cfloat8_1_4_3")).unwrap();
    let here = Fixture::new(&file);
    let again =
        quantize(&here.input, &here.input, &options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap();
    assert_eq!(fs::read(&here.input).unwrap(), fs::read(&elsewhere.output).unwrap());
    assert_eq!((report.tensors, report.bytes_in), (again.tensors, again.bytes_in));
    assert_eq!(again.bytes_out, fs::metadata(&here.input).unwrap().len());
    assert_eq!(crate::common::names(here.folder.path()), ["in.safetensors"]);
}

#[test]
fn the_spec_decides_where_biases_come_from() {
    let named: FormatSpec = "cfloat8_1_4_3:bias=9".parse().unwrap();
    let open: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
    assert_eq!(Options::new(named).bias, BiasPolicy::Fixed(9));
    assert_eq!(Options::new(open).bias, BiasPolicy::LeastError);
    assert!(Options::new(open).verify && !Options::new(open).overwrite);
}

#[test]
fn what_became_nan_is_not_called_saturated() {
    let fixture = Fixture::new(&File::of([("w", Tensor::f32(&[1e9, -1e9, 0.5, 300.0]))]));
    for (format, saturation, counts) in [
        // Without saturation E4M3FN has a NaN for what is beyond 448, E5M2 infinities beyond 57344.
        ("e4m3fn", Saturation::SatNone, (0, 2)),
        ("e5m2", Saturation::SatNone, (0, 2)),
        ("e4m3fn", Saturation::SatFinite, (2, 2)),
        ("e5m2", Saturation::SatPropagate, (2, 2)),
    ] {
        let options = Options { saturation: Some(saturation), overwrite: true, ..options(format) };
        let totals = fixture.quantize(&options).unwrap().totals;
        assert_eq!((totals.saturated, totals.overflowed), counts, "{format} {saturation:?}");
    }
}
