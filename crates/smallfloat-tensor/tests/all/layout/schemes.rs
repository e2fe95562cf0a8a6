//! Scaled tensors, scheme by scheme: bytes worked out by hand from the formats' definitions, and
//! what readers get back.

use std::path::Path;

use crate::common::{File, Fixture, Random, Tensor, options, quantized};
use safetensors::Dtype::{F32, U8};
use smallfloat::{Format, Rounding, Saturation};
use smallfloat_tensor::{
    Container, Dtype, Error, GlobalScale, Granularity, Nonfinite, Options, Packing, ScaleRule, ScaleSpec,
    Scheme, Share, View, compare, dequantize, quantize, verify,
};

fn scheme(name: &str) -> Options {
    Options { overwrite: true, ..name.parse::<Scheme>().unwrap().options() }
}

fn block(rows: u64, columns: u64) -> Granularity {
    Granularity::Block { rows, columns }
}

/// A matrix whose rows begin with these values and go on with zeros.
fn rows(columns: usize, rows: &[&[f64]]) -> File {
    let mut values = Vec::new();
    for row in rows {
        values.extend_from_slice(row);
        values.resize(values.len() + columns - row.len(), 0.0);
    }
    File::of([("a.weight", Tensor::of(F32, &values).shaped(&[rows.len(), columns]))])
}

fn back(path: &Path) -> File {
    let wide = path.with_extension("wide");
    dequantize(path, &wide, Dtype::F32, None, true, &mut |_| ()).unwrap();
    File::read(&wide)
}

/// Quantizes, verifies, dequantizes: the file and the values that came back.
fn through(file: &File, options: &Options) -> (File, Vec<f64>) {
    let fixture = Fixture::new(file);
    let report = fixture.quantize(options).unwrap();
    // Ragged blocks are told by the configuration that goes with the file.
    let config = serde_json::json!({ "quantization_config": report.quantization_config });
    std::fs::write(fixture.folder.path().join("config.json"), config.to_string()).unwrap();
    verify(&fixture.output).unwrap();
    let values = back(&fixture.output).tensors["a.weight"].numbers();
    (File::read(&fixture.output), values)
}

fn starts(values: &[f64], expected: &[f64]) {
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&values[..expected.len()]), bits(expected));
    assert!(values[expected.len()..].iter().all(|&x| x == 0.0));
}

/// 7 is beyond E2M1's 6, 0.25 and 5 lie on middles.
const ROW: [f64; 6] = [7.0, 1.0, -0.5, 0.25, 0.75, 5.0];

#[test]
fn mxfp4_in_both_nibble_orders() {
    // Scale 2^(2 − 2): 6, 1, −0.5, 0 (even), 1 (even), 4 (even) are the codes 7 2 9 0 2 6.
    let (file, values) = through(&rows(32, &[&ROW]), &scheme("mxfp4"));
    let codes = &file.tensors["a.weight"];
    assert_eq!(
        (codes.dtype, &codes.shape[..], &codes.bytes[..4]),
        (U8, &[1, 16, 1][..], &[0x27, 0x09, 0x62, 0][..])
    );
    let scales = &file.tensors["a.weight_scale"];
    assert_eq!((scales.dtype, &scales.shape[..], &scales.bytes[..]), (U8, &[1, 1][..], &[127][..]));
    starts(&values, &[6.0, 1.0, -0.5, 0.0, 1.0, 4.0]);
    let entry = &file.entries()["a.weight"];
    assert_eq!(
        (&entry["granularity"], &entry["scale"], &entry["scale_rule"]),
        (&"block:32".into(), &"e8m0fnu".into(), &"floor".into())
    );
    assert_eq!((&entry["packing"], &entry["shape"]), (&"nibbles-low".into(), &serde_json::json!([1, 32])));

    let (file, again) =
        through(&rows(32, &[&ROW]), &Options { packing: Packing::NibblesHigh, ..scheme("mxfp4") });
    assert_eq!(file.tensors["a.weight"].bytes[..4], [0x72, 0x90, 0x26, 0]);
    assert_eq!(again, values);
}

#[test]
fn mxfp4_without_saturation() {
    // rceil: 7 / 6 needs 2; 3.5 → 4 (even), 0.5, −0.25 → −0, 0.125 → 0, 0.375 → 0.5, 2.5 → 2
    // (even).
    let mut options = scheme("mxfp4");
    options.scale.as_mut().unwrap().rule = ScaleRule::Rceil;
    let (file, values) = through(&rows(32, &[&ROW]), &options);
    assert_eq!(file.tensors["a.weight"].bytes[..4], [0x16, 0x08, 0x41, 0]);
    assert_eq!(file.tensors["a.weight_scale"].bytes, [128]);
    starts(&values, &[8.0, 1.0, -0.0, 0.0, 1.0, 4.0]);
}

#[test]
fn mxfp6_four_codes_in_three_bytes() {
    // E2M3: 7 is 1.75 · 2^2 = 0x1e, 1 is 0x08, −0.5 is 0.5 = 4/8 → 0x24, 0.25 is 0x02, 0.75 is
    // 0x06, 5 is 0x1a.
    let (file, values) = through(&rows(32, &[&ROW]), &scheme("mxfp6-e2m3"));
    let word = |codes: [u32; 4]| {
        codes.iter().rev().fold(0, |word, code| word << 6 | code).to_le_bytes()[..3].to_vec()
    };
    let expected = [word([0x1e, 0x08, 0x24, 0x02]), word([0x06, 0x1a, 0, 0])].concat();
    let codes = &file.tensors["a.weight"];
    assert_eq!((&codes.shape[..], &codes.bytes[..6]), (&[1, 24, 1][..], &expected[..]));
    starts(&values, &ROW);
    // E3M2: exponent 2 − 4, so that elements are four times as large: 28 = 0x1f, 4 = 0x14.
    let (file, values) = through(&rows(32, &[&ROW]), &scheme("mxfp6-e3m2"));
    assert_eq!(file.tensors["a.weight_scale"].bytes, [125]);
    assert_eq!(file.tensors["a.weight"].bytes[..3], word([0x1f, 0x14, 0x30, 0x0c]));
    starts(&values, &ROW);
}

#[test]
fn mxfp8_and_rows_that_end_early() {
    // Two blocks of 32 and 3: 2^(8 − 8) and 2^(0 − 8).
    let mut row = [0.0; 35];
    (row[0], row[1], row[32]) = (448.0, -1.0, 1.5);
    let (file, values) = through(&rows(35, &[&row]), &scheme("mxfp8-e4m3"));
    let codes = &file.tensors["a.weight"];
    assert_eq!(
        (&codes.shape[..], codes.bytes[0], codes.bytes[1], codes.bytes[32]),
        (&[1, 35, 1][..], 0x7e, 0xb8, 0x7c)
    );
    assert_eq!(file.tensors["a.weight_scale"].bytes, [127, 119]);
    starts(&values, &row);
    // A row of packed codes is filled up with zeros; rows stay apart.
    let (file, values) = through(&rows(35, &[&row, &row]), &scheme("mxfp4"));
    assert_eq!(file.tensors["a.weight"].shape, [2, 18, 1]);
    assert_eq!(values[..35], values[35..]);
    // 448 / 64 saturates at 6, −1 / 64 is −0; 1.5 in the second block is 6 / 4.
    (row[0], row[1]) = (384.0, -0.0);
    starts(&values[..35], &row);
    let (file, _) = through(&rows(35, &[&row, &row]), &scheme("mxfp6-e2m3"));
    assert_eq!(file.tensors["a.weight"].shape, [2, 27, 1]);
}

#[test]
fn nvfp4_has_two_scales() {
    // amax 6 = 1.5 · 2^2: the divisor is 2^8 (2688 / 6 = 448). Block 1: 256 · 6 / 6 = 256 → code
    // 0x78, scale 1. Block 2 has 0.75: 256 · 0.75 / 6 = 32 → code 0x60, scale 1/8: 6 and 2.
    let mut row = [0.0; 32];
    (row[0], row[1], row[16], row[17]) = (6.0, -1.5, 0.75, 0.25);
    let (file, values) = through(&rows(32, &[&row]), &scheme("nvfp4"));
    assert_eq!(file.tensors["a.weight_global_scale"].numbers(), [256.0]);
    assert_eq!(file.tensors["a.weight_scale"].bytes, [0x78, 0x60]);
    let codes = &file.tensors["a.weight"].bytes;
    assert_eq!((codes[0], codes[8]), (0xb7, 0x47));
    starts(&values, &row);
}

/// The divisor as NVIDIA defines it: 2688 / 5 in F32, blocks of 448 and 224 · e/6.
#[test]
fn nvfp4_by_nvidia_s_recipe() {
    let mut nvidia = scheme("nvfp4");
    nvidia.scale.as_mut().unwrap().global = Some(GlobalScale::Amax);
    let mut row = [0.0; 32];
    (row[0], row[1], row[16], row[17]) = (5.0, -1.25, 2.5, 0.5);
    let file = rows(32, &[&row]);
    let (stored, values) = through(&file, &nvidia);
    let global = f64::from(f32::from_bits(0x4406_6666));
    assert_eq!(stored.tensors["a.weight_global_scale"].numbers(), [global]);
    assert_eq!(stored.tensors["a.weight_scale"].bytes, [0x7e, 0x76]);
    // 5 / (448 / global) = 6 − a little, −1.25 likewise −1.5; 0.5 / (224 / global) = 1.2 → 1.
    let codes = &stored.tensors["a.weight"].bytes;
    assert_eq!((codes[0], codes[8]), (0xb7, 0x27));
    // Readers get quotients, in F32 to nearest.
    #[expect(clippy::cast_possible_truncation, reason = "F32 was asked for")]
    let nearest = |product: f64| f64::from((product / global) as f32);
    let mut expected = [0.0; 32];
    (expected[0], expected[1]) = (nearest(6.0 * 448.0), nearest(-1.5 * 448.0));
    (expected[16], expected[17]) = (nearest(6.0 * 224.0), nearest(224.0));
    starts(&values, &expected);

    // On into MXFP8 in one rounding, and from there everything is exact.
    let fixture = Fixture::new(&file);
    fixture.quantize(&nvidia).unwrap();
    let mx = fixture.folder.path().join("mx");
    quantize(&fixture.output, &mx, &scheme("mxfp8-e4m3"), &|_| true, &mut |_| ()).unwrap();
    // 6 · 448 / global = 5 + a little: the scale is 2^(2 − 8), 5 is 320 there; 1.25 is 80, 2.5 is
    // 160, 224 / global is 0.41667 = 26.67 units, 26 or 28 in E4M3: 26.
    assert_eq!(&back(&mx).tensors["a.weight"].numbers()[..2], [5.0, -1.25]);
    assert_eq!(&back(&mx).tensors["a.weight"].numbers()[16..18], [2.5, 26.0 / 64.0]);
}

/// 6 · 448 / global as F64: neither it nor the other quotients are numbers there, and the report
/// says so.
#[test]
fn quotients_as_f64_are_rounded_once_and_counted() {
    let mut nvidia = scheme("nvfp4");
    nvidia.scale.as_mut().unwrap().global = Some(GlobalScale::Amax);
    let fixture = Fixture::new(&rows(32, &[&[5.0, -1.25]]));
    fixture.quantize(&nvidia).unwrap();
    let wide = fixture.folder.path().join("wide");
    let first = |dtype: Dtype, rounding: Option<Rounding>| {
        let done = dequantize(&fixture.output, &wide, dtype, rounding, true, &mut |_| ()).unwrap();
        assert_eq!(done.rounded, 2, "zeros are exact");
        File::read(&wide).tensors["a.weight"].numbers()[0]
    };
    // 2688 / (0x866666 · 2^−14) lies in [4, 8), so that its 53 bits are the integer part of 2688 ·
    // 2^64 / 0x866666, which is the quotient times 2^50.
    let (dividend, divisor) = (2688_u128 << 64, 0x86_6666_u128);
    let (below, rest) = (dividend / divisor, dividend % divisor);
    assert!((1 << 52..1 << 53).contains(&below) && rest > 0);
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let number = |units: u128| (units as f64 * 2.0_f64.powi(-50)).to_bits();
    let nearest = below + u128::from(2 * rest > divisor);
    for (rounding, units) in [
        (None, nearest),
        (Some(Rounding::NearestEven), nearest),
        (Some(Rounding::TowardZero), below),
        (Some(Rounding::TowardPositive), below + 1),
        (Some(Rounding::ToOdd), below | 1),
    ] {
        assert_eq!(first(Dtype::F64, rounding).to_bits(), number(units), "{rounding:?}");
    }
    // In F32 the 29 bits below are cut off.
    let above = (below >> 29) + 1;
    assert_eq!(first(Dtype::F32, Some(Rounding::TowardPositive)).to_bits(), number(above << 29));
}

#[test]
fn fp8_as_inference_engines_read_it() {
    // 1344 / 448 = 3; 1 / 3 is 1.375 · 2^−2 in E4M3, 0x2b.
    let file = rows(4, &[&[1344.0, 1.0, -3.0]]);
    let (stored, values) = through(&file, &scheme("fp8"));
    let codes = &stored.tensors["a.weight"];
    assert_eq!((codes.dtype, &codes.bytes[..]), (safetensors::Dtype::F8_E4M3, &[0x7e, 0x2b, 0xb8, 0][..]));
    let scale = &stored.tensors["a.weight_scale"];
    assert_eq!((scale.dtype, &scale.shape[..], scale.numbers()), (F32, &[1][..], vec![3.0]));
    starts(&values, &[1344.0, 1.03125, -3.0]);
    assert_eq!(stored.metadata["format"], "pt");
    let (report, _) = quantized(&file, &scheme("fp8"));
    let config = report.quantization_config.unwrap();
    assert_eq!((&config["quant_method"], &config["activation_scheme"]), (&"fp8".into(), &"dynamic".into()));

    let (stored, _) = through(&rows(4, &[&[3.0 * 57344.0, 3.0]]), &scheme("fp8-e5m2"));
    let codes = &stored.tensors["a.weight"];
    assert_eq!((codes.dtype, &codes.bytes[..]), (safetensors::Dtype::F8_E5M2, &[0x7b, 0x3c, 0, 0][..]));
}

#[test]
fn scales_of_channels_groups_and_blocks() {
    let file = rows(4, &[&[448.0, 1.0, 224.0], &[896.0, 1.0, 0.0, 4.0], &[0.0]]);
    let with = |granularity| Options { granularity, ..scheme("float-quantized") };
    let scales = |granularity, expected: &[f64], shape: &[usize]| {
        let (stored, _) = through(&file, &with(granularity));
        let scales = &stored.tensors["a.weight_scale"];
        assert_eq!((scales.numbers(), &scales.shape[..]), (expected.to_vec(), shape));
        let (report, _) = quantized(&file, &with(granularity));
        report.quantization_config.unwrap()["config_groups"]["group_0"]["weights"].clone()
    };
    assert_eq!(scales(Granularity::Tensor, &[2.0], &[1])["strategy"], "tensor");
    assert_eq!(scales(Granularity::Channel, &[1.0, 2.0, 1.0], &[3, 1])["strategy"], "channel");
    let fourth = f64::from(4.0_f32 / 448.0);
    let group = scales(block(1, 2), &[1.0, 0.5, 2.0, fourth, 1.0, 1.0], &[3, 2]);
    assert_eq!((&group["strategy"], &group["group_size"]), (&"group".into(), &2.into()));
    let structure = scales(block(2, 3), &[2.0, fourth, 1.0, 1.0], &[2, 2]);
    assert_eq!(structure["block_structure"], serde_json::json!([2, 3]));
    let (stored, _) = through(&file, &Options { granularity: block(2, 3), ..scheme("deepseek") });
    assert_eq!(stored.tensors["a.weight_scale_inv"].shape, [2, 2]);
}

#[test]
fn biases_of_channels_and_blocks() {
    // 0.3 fits at bias 17 (0.46875), 100 at bias 9 (120): 1.875 · 2^(15 − bias).
    let file = rows(4, &[&[0.3, 0.0, 100.0, 2.0], &[100.0, 0.3, -0.001, 0.0]]);
    let mut options = options("cfloat8_1_4_3");
    options.bias = smallfloat_tensor::BiasPolicy::Amax { margin: 0 };
    for (granularity, biases, shape) in [
        (Granularity::Channel, &[9, 9][..], &[2, 1][..]),
        // 0.001 fits at bias 25 (1.875 · 2^−10 = 0.00183), 2 at bias 14 (3.75).
        (block(1, 2), &[17, 9, 9, 25], &[2, 2]),
        (block(2, 3), &[9, 14], &[1, 2]),
    ] {
        options.granularity = granularity;
        let (stored, values) = through(&file, &options);
        let found = &stored.tensors["a.weight_bias"];
        assert_eq!(
            (found.dtype, &found.shape[..], &found.bytes),
            (U8, shape, &biases.to_vec()),
            "{granularity}"
        );
        // The core at each group's bias.
        let (high, wide) = match granularity {
            Granularity::Block { rows, columns } => {
                [rows, columns].map(|n| usize::try_from(n).unwrap()).into()
            }
            _ => (1, 4),
        };
        for (i, (x, q)) in file.tensors["a.weight"].numbers().into_iter().zip(values).enumerate() {
            let group = i / 4 / high * shape[1] + i % 4 / wide;
            let format = Format::cfloat8_1_4_3(biases[group].into()).unwrap();
            let code = format.encode_f64(x, &format.default_projection()).value;
            assert_eq!(format.decode_f64(code).value.to_bits(), q.to_bits(), "{granularity}, element {i}");
        }
    }
}

/// One bias over a block that is the tensor: the same codes as one bias per tensor, from other
/// code, for every policy.
#[test]
fn a_block_as_large_as_the_tensor_is_the_tensor() {
    let mut random = Random(11);
    let values: Vec<f64> = random.normals(48, 0.02).into_iter().chain(random.normals(48, 1e-7)).collect();
    for dtype in crate::common::WIDE {
        let file = File::of([("a.weight", Tensor::of(dtype, &values).shaped(&[8, 12]))]);
        for format in ["cfloat8_1_4_3", "cfloat8_1_5_2:subnormals=gradual", "shp"] {
            for bias in ["auto", "amax", "percentile:90", "20"] {
                let tensor = Options { bias: bias.parse().unwrap(), ..options(format) };
                let (report, one) = quantized(&file, &tensor);
                let (again, two) = quantized(&file, &Options { granularity: block(8, 12), ..tensor.clone() });
                assert_eq!(one.tensors["a.weight"], two.tensors["a.weight"], "{dtype} {format} {bias}");
                assert_eq!(one.tensors["a.weight_bias"].bytes, two.tensors["a.weight_bias"].bytes);
                let figures = |r: &smallfloat_tensor::Report| {
                    let t = &r.tensors[0];
                    (t.biases.clone(), t.saturated, t.underflowed, t.zeros, t.flags.clone(), t.amax)
                };
                assert_eq!(figures(&report), figures(&again), "{dtype} {format} {bias}");
                crate::common::close(report.tensors[0].sqnr_db, again.tensors[0].sqnr_db);
            }
        }
        // Random words belong to elements, not to blocks.
        let mut random = options("cfloat8_1_4_3:bias=20");
        (random.rounding, random.seed) = (Some(smallfloat::Rounding::stochastic_a(32).unwrap()), Some(5));
        let (_, one) = quantized(&file, &random);
        for granularity in [block(8, 12), block(3, 5), Granularity::Channel] {
            let (_, two) = quantized(&file, &Options { granularity, ..random.clone() });
            assert_eq!(one.tensors["a.weight"], two.tensors["a.weight"], "{granularity}");
        }
    }
}

#[test]
fn blocks_of_p3109() {
    // The draft's rule: the scale is the maximum itself, here 3 → 4 (even), so that elements are
    // 3/4 and −1/4.
    let mut p3109 = options("binary4p2sf");
    p3109.scale = Some(ScaleSpec {
        format: "binary8p1uf".parse().unwrap(),
        rule: ScaleRule::MaxAbsFinite,
        global: None,
    });
    (p3109.granularity, p3109.packing) = (block(1, 2), Packing::NibblesLow);
    let (file, values) = through(&rows(4, &[&[3.0, -1.0]]), &p3109);
    assert_eq!(file.tensors["a.weight"].bytes, [0x93, 0x00]);
    assert_eq!(file.tensors["a.weight_scale"].bytes[0], 0x82);
    starts(&values, &[3.0, -1.0]);
}

#[test]
fn nan_and_infinities_are_refused_or_said() {
    let file = rows(32, &[&[1.0, f64::NAN, 2.0]]);
    let fixture = Fixture::new(&file);
    let error = fixture.quantize(&scheme("mxfp4")).unwrap_err();
    assert!(error.to_string().contains("element 1 is NaN"), "{error}");
    let (stored, values) = through(&file, &Options { nonfinite: Nonfinite::Preset, ..scheme("mxfp4") });
    assert_eq!(stored.tensors["a.weight_scale"].bytes, [255]);
    // The report tells of it, although no code of FP4 is NaN.
    let lenient = Options { nonfinite: Nonfinite::Preset, ..scheme("mxfp4") };
    assert_eq!(fixture.quantize(&lenient).unwrap().tensors[0].nans, 1);
    assert!(values.iter().all(|x| x.is_nan()));
    let (stored, values) = through(&file, &Options { nonfinite: Nonfinite::Preset, ..scheme("mxfp8-e4m3") });
    assert_eq!(stored.tensors["a.weight_scale"].bytes, [120]);
    assert!(values[1].is_nan() && values[0].to_bits() == 1_f64.to_bits());
}

#[test]
fn the_bf16_container_has_the_codes_values() {
    let mut random = Random(3);
    let file = File::of([("a.weight", Tensor::of(F32, &random.normals(96, 0.3)).shaped(&[4, 24]))]);
    for granularity in [Granularity::Tensor, block(2, 6)] {
        let native = Options { granularity, ..options("cfloat8_1_4_3") };
        let (_, values) = through(&file, &native);
        let (report, bf16) = quantized(&file, &Options { container: Container::Bf16, ..native });
        let stored = &bf16.tensors["a.weight"];
        assert_eq!((bf16.tensors.len(), stored.dtype), (1, safetensors::Dtype::BF16));
        assert_eq!(stored.numbers(), values);
        assert!(report.tensors[0].sqnr_db.unwrap() > 25.0);
    }
    // SHP has three bits more than bfloat16.
    let error =
        Fixture::new(&file).quantize(&Options { container: Container::Bf16, ..options("shp") }).unwrap_err();
    assert!(error.to_string().contains("is not exact in bfloat16"), "{error}");
}

#[test]
fn the_fp8_container_has_the_codes_values_or_refuses() {
    let fp8 =
        |format: &str, requantize| Options { container: Container::Fp8 { requantize }, ..options(format) };
    // Codes 0x01 and 0x76 at bias 7 with Tesla's denormals: 2^−10 and 1.75 · 2^7, exact at scale
    // 1/2.
    let file = rows(4, &[&[power(-10), 224.0, -1.0]]);
    let (stored, values) = through(&file, &fp8("cfloat8_1_4_3:bias=7", false));
    let codes = &stored.tensors["a.weight"];
    assert_eq!((codes.dtype, &codes.bytes[..]), (safetensors::Dtype::F8_E4M3, &[0x01, 0x7e, 0xc0, 0][..]));
    assert_eq!(stored.tensors["a.weight_scale"].numbers(), [0.5]);
    starts(&values, &[power(-10), 224.0, -1.0]);
    // 0x77 needs the other scale.
    let file = rows(4, &[&[240.0, -1.0]]);
    let (stored, _) = through(&file, &fp8("cfloat8_1_4_3:bias=7", false));
    assert_eq!(stored.tensors["a.weight"].bytes, [0x77, 0xb8, 0, 0]);
    // Both together fit neither; a group for each does.
    let file = rows(4, &[&[power(-10), 1.0, 240.0, 1.0]]);
    let error = Fixture::new(&file).quantize(&fp8("cfloat8_1_4_3:bias=7", false)).unwrap_err();
    assert!(
        error.to_string().contains("1 elements of the group in block row 0")
            && error.to_string().contains("`requantize`"),
        "{error}"
    );
    let (report, _) = quantized(&file, &fp8("cfloat8_1_4_3:bias=7", true));
    assert_eq!(report.tensors[0].rounded_again, Some(1));
    let (stored, values) =
        through(&file, &Options { granularity: block(1, 2), ..fp8("cfloat8_1_4_3:bias=7", false) });
    assert_eq!(stored.tensors["a.weight_scale"].numbers(), [0.5, 1.0]);
    starts(&values, &[power(-10), 1.0, 240.0, 1.0]);
    let (stored, _) = through(&rows(4, &[&[1.0]]), &fp8("cfloat8_1_5_2:bias=15", false));
    assert_eq!(stored.tensors["a.weight"].dtype, safetensors::Dtype::F8_E5M2);
    let error = Fixture::new(&file).quantize(&fp8("shp", false)).unwrap_err();
    assert!(error.to_string().contains("choose native or bf16"), "{error}");
}

fn power(exponent: i32) -> f64 {
    2_f64.powi(exponent)
}

#[test]
fn one_scheme_into_another_goes_through_the_values() {
    let mut random = Random(17);
    let file = File::of([("a.weight", Tensor::of(F32, &random.normals(256, 0.1)).shaped(&[4, 64]))]);
    let names = [
        "mxfp4",
        "nvfp4",
        "fp8",
        "deepseek",
        "mxfp6-pack-quantized",
        "nvfp4-pack-quantized",
        "mxfp8-quantized",
    ];
    for first in names {
        let fixture = Fixture::new(&file);
        fixture.quantize(&scheme(first)).unwrap();
        let wide = fixture.folder.path().join("wide.safetensors");
        dequantize(&fixture.output, &wide, Dtype::F64, None, false, &mut |_| ()).unwrap();
        for second in names {
            let (direct, by_values) =
                (fixture.folder.path().join("direct"), fixture.folder.path().join("by-values"));
            for (input, output) in [(&fixture.output, &direct), (&wide, &by_values)] {
                quantize(input, output, &scheme(second), &|_| true, &mut |_| ()).unwrap();
            }
            assert_eq!(File::read(&direct).tensors, File::read(&by_values).tensors, "{first} into {second}");
            let comparison = compare(&View::open(&wide).unwrap(), &View::open(&direct).unwrap()).unwrap();
            assert!(
                comparison[0].sqnr_db.is_none_or(|db| db > 15.0),
                "{first} into {second}: {comparison:?}"
            );
        }
    }
    let fixture = Fixture::new(&file);
    fixture.quantize(&scheme("mxfp4")).unwrap();
    let output = fixture.folder.path().join("x");
    let error = quantize(&fixture.output, &output, &scheme("fp8"), &|_| false, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("quantized already and was not selected"), "{error}");
}

#[test]
fn tensors_that_are_joined_share_a_scale() {
    let weight = |largest: f64| Tensor::of(F32, &[largest, 1.0]).shaped(&[1, 2]);
    let names = ["l.0.q_proj.weight", "l.0.k_proj.weight", "l.0.o_proj.weight", "l.1.k_proj.weight"];
    let file =
        File::of(names.into_iter().zip([448.0, 896.0, 224.0, 224.0]).map(|(name, x)| (name, weight(x))));
    let scales = |share: Share| {
        let (_, stored) = quantized(&file, &Options { share, ..scheme("fp8") });
        names.map(|name| stored.tensors[&format!("{name}_scale")].numbers()[0]).to_vec()
    };
    assert_eq!(scales(Share::none()), [1.0, 2.0, 0.5, 0.5]);
    assert_eq!(scales(Share::known()), [2.0, 2.0, 0.5, 0.5]);
    assert_eq!(scales(Share::none().with_set("q_proj,k_proj,o_proj").unwrap()), [2.0, 2.0, 2.0, 0.5]);
    // The same for biases, by the statistics of all.
    let amax = Options {
        bias: smallfloat_tensor::BiasPolicy::Amax { margin: 0 },
        share: Share::known(),
        ..options("cfloat8_1_4_3")
    };
    let (_, stored) = quantized(&file, &amax);
    // 448 fits at bias 7 (480), 896 at 6, 224 at 8 (240).
    assert_eq!(names.map(|name| stored.tensors[&format!("{name}_bias")].bytes[0]), [6, 6, 8, 8]);
}

#[test]
fn tensors_that_are_no_matrices_are_copied() {
    let mut file = rows(32, &[&ROW]);
    file.tensors.insert("a.bias".into(), Tensor::f32(&[1.0, 2.0]));
    file.tensors.insert("stack".into(), Tensor::of(F32, &[1.0; 64]).shaped(&[2, 1, 32]));
    file.tensors.insert("empty.weight".into(), Tensor::new(F32, &[0, 32], vec![]));
    let (report, stored) = quantized(&file, &scheme("mxfp4-pack-quantized"));
    assert_eq!(stored.tensors["stack"], file.tensors["stack"]);
    assert_eq!(
        (stored.tensors["a.bias"].dtype, &stored.tensors["empty.weight_packed"].shape[..]),
        (F32, &[0, 16][..])
    );
    assert_eq!((report.totals.quantized, report.totals.copied), (2, 2));
    let (_, stored) = quantized(&file, &scheme("mxfp4"));
    assert_eq!(
        (&stored.tensors["stack"].shape[..], stored.tensors["a.bias"].dtype),
        (&[2, 1, 16, 1][..], F32)
    );
    let (_, stored) =
        quantized(&file, &Options { granularity: Granularity::Channel, ..options("cfloat8_1_4_3") });
    assert_eq!(
        (&stored.tensors["stack_bias"].shape[..], &stored.tensors["a.bias_bias"].shape[..]),
        (&[2, 1][..], &[1, 1][..])
    );
}

#[test]
fn options_that_make_no_sense() {
    let file = rows(32, &[&ROW]);
    let refused = |options: Options, part: &str| {
        let error: Error = Fixture::new(&file).quantize(&options).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(
        Options { granularity: Granularity::Channel, ..options("e4m3fn") },
        "name a scale format and rule, or a scheme",
    );
    refused(Options { granularity: block(1, 3), ..scheme("mxfp4") }, "take a multiple of 2");
    for (name, columns) in
        [("mxfp4-pack-quantized", 32), ("mxfp6-pack-quantized", 32), ("nvfp4-pack-quantized", 16)]
    {
        let error =
            Fixture::new(&rows(columns + 8, &[&ROW])).quantize(&scheme(name)).unwrap_err().to_string();
        assert!(
            error.contains(&format!("whole blocks of {columns} only")) && error.contains("a.weight"),
            "{error}"
        );
    }
    refused(Options { packing: Packing::SixBit, ..options("e4m3fn") }, "can't be packed as six-bit");
    refused(Options { packing: Packing::NibblesLow, ..options("e2m1fn") }, "is for codes with scales");
    refused(Options { scale: scheme("mxfp4").scale, ..options("cfloat8_1_4_3") }, "is its scale");
    refused(
        Options { container: Container::Fp8 { requantize: false }, ..options("e4m3fn") },
        "choose native or bf16",
    );
    let wide = ScaleSpec { format: "binary64".parse().unwrap(), rule: ScaleRule::Amax, global: None };
    refused(
        Options { scale: Some(wide), ..options("e4m3fn") },
        "choose a format of at most 16 bits or binary32",
    );
}

/// Saturation is by the options here too: without it 500 at scale 1 is NaN in E4M3.
#[test]
fn saturation_can_be_asked_for() {
    let file = rows(32, &[&[500.0]]);
    let (_, stored) =
        quantized(&file, &Options { saturation: Some(Saturation::SatNone), ..scheme("mxfp8-e4m3") });
    assert_eq!(stored.tensors["a.weight"].bytes[0], 0x7f);
}
