//! The edges of what the readers of other programs' layouts take: the last that is read, and the
//! first that is refused or is no tensor of a layout.

use std::fs;

use crate::common::{File, Tensor, options};
use crate::layout::layouts::{FromBytes as _, gguf};
use safetensors::Dtype as T;
use serde_json::json;
use smallfloat_tensor::{CHUNK_BYTES, Granularity, Options, Scheme, View, quantize, verify};

fn u8s(shape: &[usize]) -> Tensor {
    Tensor::new(T::U8, shape, vec![0x38; shape.iter().product()])
}

fn e4m3s(shape: &[usize]) -> Tensor {
    Tensor::new(T::F8_E4M3, shape, vec![0x38; shape.iter().product()])
}

fn powers(shape: &[usize], first: u8) -> Tensor {
    let bytes = (first..).take(shape.iter().product()).collect();
    Tensor::new(T::F8_E8M0, shape, bytes)
}

fn f32s(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::f32(values).shaped(shape)
}

fn text(text: &str) -> Tensor {
    Tensor::new(T::U8, &[text.len()], text.as_bytes().to_vec())
}

/// A folder with a file, and perhaps a configuration.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn view(&self, tensors: &[(&str, Tensor)]) -> smallfloat_tensor::Result<View> {
        let path = self.0.path().join("in.safetensors");
        File::of(tensors.iter().cloned()).write(&path);
        View::open(path)
    }

    fn refused(&self, tensors: &[(&str, Tensor)], part: &str) {
        let error = self.view(tensors).map(|view| format!("{view:?}")).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }

    fn config(&self, quantization: &serde_json::Value) {
        let text = json!({ "quantization_config": quantization }).to_string();
        fs::write(self.0.path().join("config.json"), text).unwrap();
    }
}

#[test]
fn shapes_of_codes_and_scales() {
    let place = Place::new();
    let neither = "neither FP4 in groups of 32 nor FP6";
    let packed = |shape: &[usize]| ("w_packed", u8s(shape));
    for (codes, scales) in [
        // Bytes that are no whole codes of six bits, and rows that are not those of the scales.
        (packed(&[1, 25]), u8s(&[1, 1])),
        (packed(&[2, 16]), u8s(&[1, 1])),
        (packed(&[2, 16]), u8s(&[4, 1])),
        (packed(&[1, 16]), u8s(&[1, 2])),
    ] {
        place.refused(&[codes, ("w_scale", scales)], neither);
    }
    place.refused(&[("w_packed", u8s(&[])), ("w_scale", u8s(&[1]))], "need dimensions");
    place.refused(&[packed(&[16]), ("w_scale", u8s(&[]))], "need dimensions");
    place.refused(&[("x_blocks", u8s(&[16])), ("x_scales", u8s(&[1]))], "are neither FP4 in groups of 32");
    // A vector of codes has a vector of scales.
    let view = place.view(&[packed(&[32]), ("w_scale", u8s(&[2]))]).unwrap();
    assert_eq!(view.tensor("w").unwrap().info.shape, [64]);
    // Bytes whose number does not tell of codes are no codes.
    let bytes = |shape: &[usize]| ("m.weight", Tensor::new(T::I8, shape, vec![1; shape.iter().product()]));
    let view = place.view(&[bytes(&[4, 8]), ("m.scale", powers(&[4, 3], 120))]).unwrap();
    assert!(!view.is_quantized());
    let view = place.view(&[bytes(&[4, 16]), ("m.scale", powers(&[4, 1], 120))]).unwrap();
    assert!(view.is_quantized());
}

/// Rows of codes of four bits may end within a byte: 1, 2, 3 and 4, 5, 6.
#[test]
fn narrow_codes_that_share_a_byte_with_the_next_row() {
    let place = Place::new();
    let codes = || Tensor::new(T::F4, &[2, 3], vec![0x21, 0x43, 0x65]);
    let view = place.view(&[("w", codes())]).unwrap();
    // E2M1: 0.5, 1, 1.5, 2, 3, 4.
    assert_eq!(view.values("w").unwrap(), [0.5, 1.0, 1.5, 2.0, 3.0, 4.0]);
    verify(place.0.path().join("in.safetensors")).unwrap();
    place.refused(&[("w", codes()), ("w_scale", powers(&[2, 1], 127))], "3 bytes of codes don't hold [2, 3]");
}

#[test]
fn scales_of_tensors_with_three_dimensions() {
    let place = Place::new();
    for shape in [&[2, 2, 2][..], &[4, 2]] {
        let view = place.view(&[("w", e4m3s(&[2, 2, 64])), ("w_scale", powers(shape, 127))]).unwrap();
        let values = view.values("w").unwrap();
        for (i, group) in values.chunks(32).enumerate() {
            assert_eq!(group, vec![f64::from(1 << i); 32], "{shape:?} {i}");
        }
    }
    place.refused(
        &[("w", e4m3s(&[2, 2, 64])), ("w_scale", powers(&[1, 1, 4, 2], 127))],
        "the block size can't be told",
    );
}

/// 300 columns in three blocks are of 100 columns unless a configuration says 128.
#[test]
fn sizes_of_blocks_in_configurations() {
    let place = Place::new();
    let tensors = [("w.weight", e4m3s(&[1, 300])), ("w.weight_scale", f32s(&[1.0, 2.0, 4.0], &[1, 3]))];
    let groups =
        |weights: serde_json::Value| json!({ "config_groups": { "group_0": { "weights": weights } } });
    for (said, columns) in [
        (json!({}), 100),
        (json!({ "weight_block_size": [0, 128] }), 100),
        (json!({ "weight_block_size": [1, 0] }), 100),
        (json!({ "weight_block_size": [1] }), 100),
        (json!({ "weight_block_size": [1, 128] }), 128),
        (groups(json!({ "group_size": 128 })), 128),
        (groups(json!({ "group_size": -128 })), 100),
        (groups(json!({ "block_structure": [1, 128] })), 128),
    ] {
        place.config(&said);
        let view = place.view(&tensors).unwrap();
        let values = view.values("w.weight").unwrap();
        let expected: Vec<f64> = (0..300).map(|i| f64::from(1 << (i / columns))).collect();
        assert_eq!(values, expected, "{said}");
    }
    // Nothing has blocks of no columns.
    place.config(&groups(json!({ "group_size": 0 })));
    let view = place
        .view(&[("w.weight", e4m3s(&[1, 3])), ("w.weight_scale", f32s(&[1.0, 2.0, 4.0], &[1, 3]))])
        .unwrap();
    let scaled = view.tensor("w.weight").unwrap().scaled().unwrap();
    assert_eq!(scaled.granularity, Granularity::Block { rows: 1, columns: 1 });
}

/// What is written is read back with the blocks that were asked for, also where shapes don't tell.
#[test]
fn an_output_of_open_shape_is_verified() {
    let place = Place::new();
    let values: Vec<f32> = (0..600_u16).map(|i| f32::from(i % 7) - 3.0).collect();
    File::of([("w.weight", f32s(&values, &[2, 300]))]).write(&place.0.path().join("in.safetensors"));
    let options = "deepseek".parse::<Scheme>().unwrap().options();
    let output = place.0.path().join("out.safetensors");
    quantize(place.0.path().join("in.safetensors"), &output, &options, &|_| true, &mut |_| ()).unwrap();
    let error = View::open(&output).unwrap_err().to_string();
    assert!(error.contains("block:128x128 or block:2x100"), "{error}");
}

#[test]
fn numbers_of_tensors_are_one_positive_f32() {
    let place = Place::new();
    let good = 0x3f80_0000_u32.to_le_bytes().to_vec();
    for (global, part) in [
        (Tensor::new(T::I32, &[1], good.clone()), "is I32 of shape [1]"),
        (Tensor::new(T::F32, &[2], [good.clone(), good.clone()].concat()), "is F32 of shape [2]"),
        (f32s(&[0.0], &[1]), "zero, negative or not finite"),
        (f32s(&[-1.0], &[1]), "zero, negative or not finite"),
        (f32s(&[f32::INFINITY], &[1]), "zero, negative or not finite"),
        (f32s(&[f32::NAN], &[1]), "zero, negative or not finite"),
    ] {
        place.refused(
            &[("m.weight", u8s(&[2, 16])), ("m.weight_scale", e4m3s(&[2, 2])), ("m.weight_scale_2", global)],
            part,
        );
    }
    // Types of GGUF: F32 is 0, F16 is 1, I32 is 26.
    let with = |kind: u32, shape: &'static [u64], bytes: Vec<u8>| {
        let file = gguf(&[("m.weight", 40, &[1, 64], vec![0x38; 36]), ("m.scale", kind, shape, bytes)]);
        View::from_source_bytes(&file)
    };
    with(0, &[1], good.clone()).unwrap();
    with(0, &[], good.clone()).unwrap();
    for (kind, shape, bytes) in [
        (26, &[1][..], good.clone()),
        (1, &[1], vec![0x00, 0x3c]),
        (0, &[2], [good.clone(), good].concat()),
        (0, &[1], 0_f32.to_le_bytes().to_vec()),
        (0, &[1], (-1_f32).to_le_bytes().to_vec()),
        (0, &[1], f32::INFINITY.to_le_bytes().to_vec()),
        (0, &[1], f32::NAN.to_le_bytes().to_vec()),
    ] {
        let error = with(kind, shape, bytes).unwrap_err().to_string();
        assert!(error.contains("read is one positive F32 for the tensor"), "{error}");
    }
}

#[test]
fn markers_and_states_of_odd_dtypes_and_lengths() {
    let place = Place::new();
    // What ends so and is no module's own, or is not bytes, is no marker.
    let weight = ("m.weight", e4m3s(&[2, 2]));
    for (name, marker) in [("m.xcomfy_quant", text("no JSON")), ("m.comfy_quant", f32s(&[1.0], &[1]))] {
        place.view(&[weight.clone(), (name, marker)]).unwrap();
    }
    let long = |length: usize| {
        let text = json!({ "quant_type": "nf4", "blocksize": 64, "shape": [128] }).to_string();
        format!("{text}{}", " ".repeat(length - text.len()))
    };
    let with = |state: Tensor| {
        [
            ("w", u8s(&[64, 1])),
            ("w.absmax", f32s(&[1.0; 2], &[2])),
            ("w.quant_map", f32s(&[0.5; 16], &[16])),
            ("w.quant_state.bitsandbytes__nf4", state),
        ]
    };
    let view = place.view(&with(text(&long(1 << 16)))).unwrap();
    assert_eq!(view.tensor("w").unwrap().info.shape, [128]);
    place.refused(&with(text(&long((1 << 16) + 1))), "is no JSON in bytes");
    let bytes = long(100).into_bytes();
    place.refused(&with(Tensor::new(T::I8, &[100], bytes)), "is no JSON in bytes");
    let state = |blocksize: u64, shape: &[u64]| {
        text(&json!({ "quant_type": "nf4", "blocksize": blocksize, "shape": shape }).to_string())
    };
    place.refused(&with(state(0, &[128])), "has no positive `blocksize`");
    let ones = [vec![128], vec![1; 64]].concat();
    place.view(&with(state(64, &ones[..64]))).unwrap();
    place.refused(&with(state(64, &ones)), "has no `shape`");
    place.refused(&with(state(64, &[1 << 63, 4])), "has no `shape`");
}

/// Where a value has no more bits than its code, the conversion of a tensor can be exact.
#[test]
fn scales_that_are_powers_of_two() {
    let place = Place::new();
    let is_power = |tensors: &[(&str, Tensor)]| {
        let view = place.view(tensors).unwrap();
        let scaled = view.tensors().iter().find_map(|tensor| tensor.scaled()).unwrap();
        scaled.has_power_of_two_scales()
    };
    let nvfp4 = |factor: f32| {
        [
            ("m.weight", u8s(&[2, 16])),
            ("m.weight_scale", e4m3s(&[2, 2])),
            ("m.weight_scale_2", f32s(&[factor], &[1])),
        ]
    };
    assert!(is_power(&[("w", e4m3s(&[2, 32]))]));
    assert!(is_power(&[("w", e4m3s(&[2, 32])), ("w_scale", powers(&[2, 1], 120))]));
    assert!(!is_power(&[("w", e4m3s(&[2, 32])), ("w_scale", f32s(&[0.5], &[1]))]));
    assert!(!is_power(&nvfp4(0.5)));
    assert!(!is_power(&nvfp4(0.3)));
}

/// Any stretch of a tensor is that of the whole, where codes share bytes and rows end within one.
#[test]
fn any_stretch_is_that_of_the_whole() {
    let place = Place::new();
    let numbers = |count: usize| -> Vec<f32> {
        (0..count).map(|i| [0.5, -1.0, 3.0, 6.0, 0.0, -2.0, 1.5][i * i % 7] * [1.0, 4.0][i / 9 % 2]).collect()
    };
    let input = place.0.path().join("numbers.safetensors");
    for (scheme, shape) in [
        ("mxfp4", [3, 33]),
        ("mxfp6-e2m3", [3, 35]),
        ("nf4", [3, 5]),
        ("nvfp4", [4, 17]),
        ("mxfp4-pack-quantized", [2, 64]),
        ("mxfp6-pack-quantized", [2, 64]),
        ("comfy-nvfp4", [16, 32]),
        ("bnb-nf4", [3, 7]),
        ("gguf-mxfp4", [2, 64]),
        ("gguf-nvfp4", [2, 64]),
        ("gguf-q8_0", [2, 64]),
        ("gpt-oss", [64, 3]),
    ] {
        let values = numbers(shape[0] * shape[1]);
        File::of([("m.weight", f32s(&values, &shape))]).write(&input);
        let output =
            place.0.path().join(if scheme.starts_with("gguf") { "out.gguf" } else { "out.safetensors" });
        let options = Options { overwrite: true, ..scheme.parse::<Scheme>().unwrap().options() };
        quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
        let view = View::open(&output).unwrap();
        let (tensor, whole) = (view.tensor("m.weight").unwrap(), view.values("m.weight").unwrap());
        assert!(tensor.scaled().is_some() && whole.len() == values.len(), "{scheme}");
        for first in 0..whole.len() {
            for length in [1, 2, 3, 5, 31, whole.len() - first] {
                let mut some = vec![0.0; length.min(whole.len() - first)];
                view.read(tensor, first as u64, &mut some).unwrap();
                assert_eq!(some, whole[first..][..some.len()], "{scheme} {first} {length}");
            }
        }
    }
}

/// Scales of bitsandbytes that are codes have numbers of their own, two of them each here: value ·
/// number + offset.
#[test]
fn nested_scales_from_the_middle_on() {
    let place = Place::new();
    let (outer, offset) = ([0.5_f32, 2.0, 8.0], 0.25_f32);
    let map: Vec<f32> = (0..=255_u8).map(|i| f32::from(i) / 256.0).collect();
    let state = json!({ "quant_type": "nf4", "blocksize": 64, "shape": [320], "nested_blocksize": 2,
        "nested_offset": offset });
    let values: Vec<f32> = (0..16_u8).map(|i| f32::from(i) - 8.0).collect();
    let view = place
        .view(&[
            ("w", Tensor::new(T::U8, &[160, 1], vec![0x9a; 160])),
            ("w.absmax", Tensor::new(T::U8, &[5], vec![16, 32, 64, 128, 192])),
            ("w.quant_map", f32s(&values, &[16])),
            ("w.nested_absmax", f32s(&outer, &[3])),
            ("w.nested_quant_map", f32s(&map, &[256])),
            ("w.quant_state.bitsandbytes__nf4", text(&state.to_string())),
        ])
        .unwrap();
    let scales = [0.0625, 0.125, 0.25, 0.5, 0.75];
    let expected: Vec<f64> = (0..320)
        .map(|i| {
            let scale = scales[i / 64] * f64::from(outer[i / 128]) + f64::from(offset);
            [1.0, 2.0][i % 2] * scale
        })
        .collect();
    let tensor = view.tensor("w").unwrap();
    for first in 0..320 {
        for length in [1, 65, 320 - first] {
            let mut some = vec![0.0; length.min(320 - first)];
            view.read(tensor, first as u64, &mut some).unwrap();
            assert_eq!(some, expected[first..][..some.len()], "{first} {length}");
        }
    }
    // A number for every two scales and one for the last.
    verify(place.0.path().join("in.safetensors")).unwrap();
}

/// More codes than are read at once: rows of 33 codes of six bits, each filled up to 36.
#[test]
fn filled_up_rows_beyond_the_first_piece() {
    let place = Place::new();
    let (rows, columns) = (CHUNK_BYTES / 27 + 100, 33);
    let (input, output) =
        (place.0.path().join("numbers.safetensors"), place.0.path().join("out.safetensors"));
    File::of([("m.weight", f32s(&vec![1.0; rows * columns], &[rows, columns]))]).write(&input);
    let options = "mxfp6-e2m3".parse::<Scheme>().unwrap().options();
    quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
    assert_eq!(verify(&output).unwrap().codes, (rows * columns) as u64);
    // The last of four codes is the upper six bits of three bytes.
    let mut file = File::read(&output);
    *file.tensors.get_mut("m.weight").unwrap().bytes.last_mut().unwrap() |= 4;
    file.write(&output);
    let error = verify(&output).unwrap_err().to_string();
    assert!(error.contains(&format!("row {} is filled up with the code 0x1", rows - 1)), "{error}");
}

#[test]
fn codes_and_scales_are_counted_and_named() {
    let place = Place::new();
    let path = place.0.path().join("in.safetensors");
    // A code beyond its format.
    let input = place.0.path().join("numbers.safetensors");
    File::of([("m.weight", f32s(&[1.0; 8], &[1, 8]))]).write(&input);
    quantize(&input, &path, &options("e2m1fn"), &|_| true, &mut |_| ()).unwrap();
    let mut file = File::read(&path);
    file.tensors.get_mut("m.weight").unwrap().bytes[5] = 0x1f;
    file.write(&path);
    let error = verify(&path).unwrap_err().to_string();
    assert!(error.contains("element 5 has the code 0x1f"), "{error}");
    // A scale for every element, more than are read at once.
    let count = 70_000;
    let scales = f32s(&vec![0.5; count], &[1, count]);
    place.view(&[("w", e4m3s(&[1, count])), ("w_scale", scales)]).unwrap();
    let verified = verify(&path).unwrap();
    assert_eq!((verified.codes, verified.scales, verified.warnings.len()), (70_000, 70_000, 0));
    // Any NaN of E5M2 is as good as another, and bitsandbytes' filling is anything.
    let nans = Tensor::new(T::F8_E5M2, &[1, 4], vec![0x7d, 0x7e, 0x7f, 0xfd]);
    place.view(&[("w", nans), ("w_scale", f32s(&[1.0], &[1]))]).unwrap();
    assert_eq!(verify(&path).unwrap().warnings, [""; 0]);
    let state = text(&json!({ "quant_type": "nf4", "blocksize": 64, "shape": [3] }).to_string());
    place
        .view(&[
            ("w", Tensor::new(T::U8, &[2, 1], vec![0x12, 0x3f])),
            ("w.absmax", f32s(&[1.0], &[1])),
            ("w.quant_map", f32s(&[0.5; 16], &[16])),
            ("w.quant_state.bitsandbytes__nf4", state),
        ])
        .unwrap();
    assert_eq!(verify(&path).unwrap().codes, 3);
    let view = View::open(&path).unwrap();
    assert_eq!(view.tensors()[0].format_name().unwrap(), "NF4 (bitsandbytes)");
    for format in ["cfloat8_1_4_3", "nf4"] {
        let scheme = Options { overwrite: true, ..options("cfloat8_1_4_3") };
        let scheme = if format == "nf4" { "nf4".parse::<Scheme>().unwrap().options() } else { scheme };
        quantize(&input, place.0.path().join(format), &scheme, &|_| true, &mut |_| ()).unwrap();
        let view = View::open(place.0.path().join(format)).unwrap();
        assert_eq!(view.tensors()[0].format_name().unwrap(), format);
    }
    // Blocks of zeros have no scale in GGUF's NVFP4; NaN is odd everywhere.
    let blocks = |scale: u8| Tensor::new(T::U8, &[2, 1], vec![127, scale]);
    for (scale, warnings) in
        [(130, &[][..]), (255, &["tensor `x_blocks`: 1 scales that are NaN, infinite, zero or negative"])]
    {
        place.view(&[("x_blocks", u8s(&[2, 1, 16])), ("x_scales", blocks(scale))]).unwrap();
        assert_eq!(verify(&path).unwrap().warnings, warnings);
    }
    let path = place.0.path().join("in.gguf");
    for (kind, first, warnings) in [
        (40, 0, &[][..]),
        (39, 0, &[]),
        (39, 255, &["tensor `w`: 1 scales that are NaN, infinite, or negative"]),
    ] {
        let (columns, bytes) = if kind == 40 { (64, 36) } else { (32, 17) };
        let data = [vec![first], vec![0x38; bytes - 1]].concat();
        fs::write(&path, gguf(&[("w", kind, &[1, columns], data)])).unwrap();
        assert_eq!(verify(&path).unwrap().warnings, warnings, "{kind} {first}");
    }
}
