//! Small files of every layout, made from the text of its format and not by our writers, and what
//! is read out of them: each element against numbers computed here from the bytes.

use std::fs;
use std::path::Path;

use crate::common::{File, Random, Tensor};
use safetensors::Dtype as T;
use serde_json::json;
use smallfloat_tensor::{Dtype, View, dequantize, verify};

/// OCP Microscaling Formats 1.0, section 5.3.3.
fn e2m1(code: u8) -> f64 {
    let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)];
    if code & 8 == 0 { magnitude } else { -magnitude }
}

/// OCP 8-bit Floating Point Specification 1.0, table 1; NaN is not asked for.
fn e4m3(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f64::from(code & 7));
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(-9),
        _ => (1.0 + mantissa / 8.0) * 2_f64.powi(exponent - 7),
    };
    if code & 128 == 0 { magnitude } else { -magnitude }
}

fn e5m2(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 2 & 31), f64::from(code & 3));
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(-16),
        _ => (1.0 + mantissa / 4.0) * 2_f64.powi(exponent - 15),
    };
    if code & 128 == 0 { magnitude } else { -magnitude }
}

fn e8m0(code: u8) -> f64 {
    2_f64.powi(i32::from(code) - 127)
}

fn low(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 2] >> (4 * (i % 2)) & 15
}

fn high(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 2] >> (4 - 4 * (i % 2)) & 15
}

/// Bytes, none of which is a NaN of E4M3 or E5M2 where `mask` keeps the exponent from being full.
fn bytes(random: &mut Random, count: usize, mask: u8, least: u8) -> Vec<u8> {
    (0..count).map(|_| (random.next().to_le_bytes()[0] & mask).max(least)).collect()
}

fn f32s(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::new(T::F32, shape, values.iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// Writes a file, verifies it, and holds the values of a tensor against those of `expected`; what
/// belongs to codes is no tensor of its own.
fn check(
    file: &File,
    layout: &str,
    (name, shape): (&str, &[u64]),
    expected: impl Fn(usize) -> f64,
    tensors: usize,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.safetensors");
    file.write(&path);
    check_at(&path, layout, (name, shape), expected, tensors);
}

#[expect(clippy::cast_possible_truncation, reason = "the machine rounds to nearest even")]
fn check_at(
    path: &Path,
    layout: &str,
    (name, shape): (&str, &[u64]),
    expected: impl Fn(usize) -> f64,
    tensors: usize,
) {
    let view = View::open(path).unwrap();
    let tensor =
        view.tensor(name).unwrap_or_else(|| panic!("{layout}: no {name} among {:?}", view.tensors()));
    let scaled = tensor.scaled().unwrap_or_else(|| panic!("{layout} is not known"));
    assert_eq!(scaled.layout(), Some(layout));
    assert_eq!(tensor.info.shape, shape, "{layout}");
    assert_eq!(view.tensors().len(), tensors, "{layout}: {:?}", view.tensors());
    let values = view.values(name).unwrap();
    assert_eq!(values.len() as u64, shape.iter().product::<u64>());
    for (i, value) in values.iter().enumerate() {
        assert_eq!(
            value.to_bits(),
            expected(i).to_bits(),
            "{layout}: element {i} is {value}, not {}",
            expected(i)
        );
    }
    // From the middle on, as threads read.
    let mut some = vec![0.0; values.len().min(40)];
    let first = values.len() - some.len();
    view.read(tensor, first as u64, &mut some).unwrap();
    assert!(some.iter().zip(&values[first..]).all(|(a, b)| a.to_bits() == b.to_bits()), "{layout}");
    let mut narrow = vec![0.0_f32; values.len()];
    view.read_as(tensor, &mut narrow).unwrap();
    for (i, value) in narrow.iter().enumerate() {
        assert_eq!(value.to_bits(), (expected(i) as f32).to_bits(), "{layout}: element {i} in binary32");
    }
    let error = view.read_as(tensor, &mut narrow[1..]).unwrap_err().to_string();
    assert!(error.contains("there is room for"), "{error}");
    verify(path).unwrap();
    let output = path.with_extension("out");
    dequantize(path, &output, Dtype::F64, None, true, &mut |_| ()).unwrap();
    let read = File::read(&output);
    assert_eq!(read.tensors.len(), tensors, "{layout}");
    assert_eq!(read.tensors[name].numbers(), values, "{layout}");
}

#[test]
fn plain_codes() {
    let random = &mut Random(1);
    let codes = bytes(random, 12, 0xbf, 0);
    let file = File::of([("a.weight", Tensor::new(T::F8_E4M3, &[3, 4], codes.clone()))]);
    check(&file, "plain FP8", ("a.weight", &[3, 4]), |i| e4m3(codes[i]), 1);
    let file = File::of([("a.weight", Tensor::new(T::F8_E5M2, &[12], codes.clone()))]);
    check(&file, "plain FP8", ("a.weight", &[12]), |i| e5m2(codes[i]), 1);
    let file = File::of([("a.weight", Tensor::new(T::F4, &[3, 8], codes.clone()))]);
    check(&file, "plain FP4 and FP6", ("a.weight", &[3, 8]), |i| e2m1(low(&codes, i)), 1);
}

#[test]
fn fp8_with_scales() {
    let random = &mut Random(2);
    // vLLM: one F32 for the tensor.
    let codes = bytes(random, 12, 0xbf, 0);
    let weight = || ("m.weight", Tensor::new(T::F8_E4M3, &[3, 4], codes.clone()));
    let file =
        File::of([weight(), ("m.weight_scale", f32s(&[0.3], &[])), ("m.input_scale", f32s(&[2.0], &[]))]);
    check(&file, "FP8 with scales", ("m.weight", &[3, 4]), |i| e4m3(codes[i]) * f64::from(0.3_f32), 2);
    // ComfyUI's scaled FP8.
    let sign = ("scaled_fp8", Tensor::new(T::F8_E4M3, &[0], Vec::new()));
    let file = File::of([weight(), ("m.scale_weight", f32s(&[0.3], &[1])), sign]);
    check(&file, "ComfyUI scaled fp8", ("m.weight", &[3, 4]), |i| e4m3(codes[i]) * f64::from(0.3_f32), 1);
    // With a marker.
    let marker = Tensor::new(T::U8, &[27], br#"{"format": "float8_e4m3fn"}"#.to_vec());
    let file = File::of([weight(), ("m.weight_scale", f32s(&[0.3], &[])), ("m.comfy_quant", marker)]);
    check(&file, "ComfyUI fp8", ("m.weight", &[3, 4]), |i| e4m3(codes[i]) * f64::from(0.3_f32), 1);
    // Metadata that can't be read might have said something else.
    let mut file = File::of([weight(), ("m.weight_scale", f32s(&[0.3], &[]))]);
    file.metadata.insert("_quantization_metadata".into(), r#"{"layers": "#.into());
    let folder = tempfile::tempdir().unwrap();
    file.write(&folder.path().join("in.safetensors"));
    let error = View::open(folder.path().join("in.safetensors")).unwrap_err().to_string();
    assert!(error.contains("_quantization_metadata") && error.contains("JSON"), "{error}");
    // DeepSeek V3: blocks of 128 × 128, of F32 and of powers of two; V4: another name.
    let codes = bytes(random, 130 * 260, 0xbf, 0);
    let of_block = |i: usize| i / 260 / 128 * 3 + i % 260 / 128;
    let weight = || ("m.weight", Tensor::new(T::F8_E4M3, &[130, 260], codes.clone()));
    let scales = [0.1, 0.2, 3.0, 4e-3, 5.0, 6.0_f32];
    let file = File::of([weight(), ("m.weight_scale_inv", f32s(&scales, &[2, 3]))]);
    let value = |i: usize| e4m3(codes[i]) * f64::from(scales[of_block(i)]);
    check(&file, "FP8 with scales", ("m.weight", &[130, 260]), value, 1);
    let powers = [120, 121, 122, 127, 130, 131];
    for (name, layout) in [("m.weight_scale_inv", "FP8 with scales"), ("m.scale", "DeepSeek V4")] {
        let file = File::of([weight(), (name, Tensor::new(T::F8_E8M0, &[2, 3], powers.to_vec()))]);
        let value = |i: usize| e4m3(codes[i]) * e8m0(powers[of_block(i)]);
        check(&file, layout, ("m.weight", &[130, 260]), value, 1);
    }
}

#[test]
fn fp4_with_powers_of_two() {
    let random = &mut Random(3);
    let (codes, powers) = (bytes(random, 3 * 32, 0xff, 0), bytes(random, 3 * 2, 0x0f, 0));
    let powers: Vec<u8> = powers.iter().map(|power| power + 118).collect();
    let value = |i: usize| e2m1(low(&codes, i)) * e8m0(powers[i / 32]);
    let dtyped = |dtype| Tensor::new(dtype, &[3, 32], codes.clone());
    let scales = |dtype| Tensor::new(dtype, &[3, 2], powers.clone());
    for (name, dtype, scale_name, scale_dtype, layout) in [
        ("m.weight", T::U8, "m.weight_scale", T::U8, "Quark MXFP"),
        ("m.weight", T::I8, "m.scale", T::F8_E8M0, "DeepSeek V4 FP4"),
        ("m.weight_packed", T::U8, "m.weight_scale", T::U8, "compressed-tensors mxfp-pack-quantized"),
    ] {
        let file = File::of([(name, dtyped(dtype)), (scale_name, scales(scale_dtype))]);
        check(&file, layout, ("m.weight", &[3, 64]), value, 1);
    }
    let native = Tensor::new(T::F4, &[3, 64], codes.clone());
    let file = File::of([("m.weight", native), ("m.weight_scale", scales(T::F8_E8M0))]);
    check(&file, "FP4 and FP6 with scales", ("m.weight", &[3, 64]), value, 1);
    // FP6 in groups of 32: four codes in three bytes.
    let six = bytes(random, 2 * 24, 0xff, 0);
    let e2m3 = |code: u8| {
        let (exponent, mantissa) = (i32::from(code >> 3 & 3), f64::from(code & 7) / 8.0);
        let magnitude = if exponent == 0 { mantissa } else { (1.0 + mantissa) * 2_f64.powi(exponent - 1) };
        if code & 32 == 0 { magnitude } else { -magnitude }
    };
    let code = |i: usize| {
        let word = u32::from_le_bytes([six[i / 4 * 3], six[i / 4 * 3 + 1], six[i / 4 * 3 + 2], 0]);
        (word >> (6 * (i % 4)) & 63).to_le_bytes()[0]
    };
    let powers = [130, 126];
    let file = File::of([
        ("m.weight_packed", Tensor::new(T::U8, &[2, 24], six.clone())),
        ("m.weight_scale", Tensor::new(T::U8, &[2, 1], powers.to_vec())),
    ]);
    let value = |i: usize| e2m3(code(i)) * e8m0(powers[i / 32]);
    check(&file, "compressed-tensors mxfp-pack-quantized", ("m.weight", &[2, 32]), value, 1);
}

/// gpt-oss: `[experts, out, groups, 16]`; what the model calls NAME is `[experts, in, out]`.
#[test]
fn gpt_oss_is_transposed() {
    let random = &mut Random(4);
    let (experts, out, groups) = (2, 5, 3);
    let codes = bytes(random, experts * out * groups * 16, 0xff, 0);
    let powers: Vec<u8> = bytes(random, experts * out * groups, 0x0f, 0).iter().map(|x| x + 118).collect();
    let name = "model.layers.0.mlp.experts.gate_up_proj";
    let file = File::of([
        (format!("{name}_blocks"), Tensor::new(T::U8, &[experts, out, groups, 16], codes.clone())),
        (format!("{name}_scales"), Tensor::new(T::U8, &[experts, out, groups], powers.clone())),
        (format!("{name}_bias"), f32s(&[0.0; 10], &[2, 5])),
    ]);
    let width = groups * 32;
    let value = |i: usize| {
        let (expert, column, row) = (i / (width * out), i / out % width, i % out);
        let group = (expert * out + row) * groups + column / 32;
        e2m1(low(&codes[group * 16..], column % 32)) * e8m0(powers[group])
    };
    check(&file, "gpt-oss MXFP4", (name, &[2, 96, 5]), value, 2);
}

#[test]
fn nvfp4_by_direction() {
    let random = &mut Random(5);
    let (codes, scales) = (bytes(random, 3 * 16, 0xff, 0), bytes(random, 6, 0x7e, 1));
    let packed = || Tensor::new(T::U8, &[3, 16], codes.clone());
    let typed = || Tensor::new(T::F8_E4M3, &[3, 2], scales.clone());
    // compressed-tensors: the F32 divides.
    let file = File::of([
        ("m.weight_packed", packed()),
        ("m.weight_scale", typed()),
        ("m.weight_global_scale", f32s(&[4096.0], &[1])),
    ]);
    let value = |i: usize| e2m1(low(&codes, i)) * e4m3(scales[i / 16]) / 4096.0;
    check(&file, "compressed-tensors nvfp4-pack-quantized", ("m.weight", &[3, 32]), value, 1);
    // ModelOpt: it multiplies, and need be no power of two.
    let file = File::of([
        ("m.weight", packed()),
        ("m.weight_scale", typed()),
        ("m.weight_scale_2", f32s(&[0.000_3], &[])),
        ("m.input_scale", f32s(&[0.5], &[])),
    ]);
    let value = |i: usize| e2m1(low(&codes, i)) * e4m3(scales[i / 16]) * f64::from(0.000_3_f32);
    check(&file, "ModelOpt NVFP4", ("m.weight", &[3, 32]), value, 2);
}

/// Scales in cuBLAS's tiles: the rows of a tile are those of 32 × 4 × 4, as `to_blocked` permutes
/// them.
fn tiled(scales: &[u8], rows: usize, columns: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for tile_row in 0..rows.div_ceil(128) {
        for tile_column in 0..columns.div_ceil(4) {
            for i in 0..32 {
                for j in 0..4 {
                    for k in 0..4 {
                        let (row, column) = (tile_row * 128 + 32 * j + i, tile_column * 4 + k);
                        let inside = row < rows && column < columns;
                        all.push(if inside { scales[row * columns + column] } else { 0 });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn comfy_ui_in_tiles() {
    let random = &mut Random(6);
    let (rows, groups) = (144, 6);
    let (codes, scales) = (bytes(random, rows * groups * 8, 0xff, 0), bytes(random, rows * groups, 0x7e, 1));
    let tensors = [
        ("m.weight", Tensor::new(T::U8, &[rows, groups * 8], codes.clone())),
        ("m.weight_scale", Tensor::new(T::F8_E4M3, &[256, 8], tiled(&scales, rows, groups))),
        ("m.weight_scale_2", f32s(&[0.7], &[])),
        ("m.bias", f32s(&[1.0], &[1])),
    ];
    let value = |i: usize| e2m1(high(&codes, i)) * e4m3(scales[i / 16]) * f64::from(0.7_f32);
    let marker = Tensor::new(T::U8, &[19], br#"{"format": "nvfp4"}"#.to_vec());
    let file = File::of(tensors.iter().cloned().chain([("m.comfy_quant", marker)]));
    check(&file, "ComfyUI NVFP4", ("m.weight", &[144, 96]), value, 2);
    // The format in the metadata.
    let mut file = File::of(tensors);
    let text = json!({"format_version": "1.0", "layers": {"m": {"format": "nvfp4"}}}).to_string();
    file.metadata.insert("_quantization_metadata".to_owned(), text);
    check(&file, "ComfyUI NVFP4", ("m.weight", &[144, 96]), value, 2);

    let (rows, groups) = (32, 5);
    let codes = bytes(random, rows * groups * 32, 0xbf, 0);
    let powers: Vec<u8> = bytes(random, rows * groups, 0x0f, 0).iter().map(|x| x + 118).collect();
    let marker = Tensor::new(T::U8, &[19], br#"{"format": "mxfp8"}"#.to_vec());
    let file = File::of([
        ("m.weight", Tensor::new(T::F8_E4M3, &[rows, groups * 32], codes.clone())),
        ("m.weight_scale", Tensor::new(T::U8, &[128, 8], tiled(&powers, rows, groups))),
        ("m.comfy_quant", marker),
    ]);
    let value = |i: usize| e4m3(codes[i]) * e8m0(powers[i / 32]);
    check(&file, "ComfyUI MXFP8", ("m.weight", &[32, 160]), value, 1);
}

/// bitsandbytes: the values are in the file; blocks of 64 go over the ends of rows.
#[test]
fn bitsandbytes_has_its_values_with_it() {
    let random = &mut Random(7);
    let codes = bytes(random, 3 * 50 / 2, 0xff, 0);
    let values: Vec<f32> = (0..16_u8).map(|i| (f32::from(i) - 7.3) / 8.7).collect();
    let absmax = [0.3_f32, 1.5, 7e-3];
    let state =
        json!({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 50]}).to_string();
    let bytes_of = |text: &str| Tensor::new(T::U8, &[text.len()], text.as_bytes().to_vec());
    let file = File::of([
        ("m.weight", Tensor::new(T::U8, &[75, 1], codes.clone())),
        ("m.weight.absmax", f32s(&absmax, &[3])),
        ("m.weight.quant_map", f32s(&values, &[16])),
        ("m.weight.quant_state.bitsandbytes__nf4", bytes_of(&state)),
    ]);
    let value = |i: usize| f64::from(values[usize::from(high(&codes, i))]) * f64::from(absmax[i / 64]);
    check(&file, "bitsandbytes", ("m.weight", &[3, 50]), value, 1);
    // Scales that are codes: value · outer + offset in F32.
    let (map, offset, outer): (Vec<f32>, f32, f32) =
        ((0..=255_u8).map(|i| f32::from(i) / 255.0 - 0.5).collect(), 0.625, 0.37);
    let state = json!({"quant_type": "fp4", "blocksize": 64, "dtype": "float16", "shape": [3, 50],
        "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": offset})
    .to_string();
    let nested = [3, 200, 117];
    let file = File::of([
        ("m.weight", Tensor::new(T::U8, &[75, 1], codes.clone())),
        ("m.weight.absmax", Tensor::new(T::U8, &[3], nested.to_vec())),
        ("m.weight.quant_map", f32s(&values, &[16])),
        ("m.weight.nested_absmax", f32s(&[outer], &[1])),
        ("m.weight.nested_quant_map", f32s(&map, &[256])),
        ("m.weight.quant_state.bitsandbytes__fp4", bytes_of(&state)),
    ]);
    let scale = |i: usize| map[usize::from(nested[i / 64])] * outer + offset;
    let value = |i: usize| f64::from(values[usize::from(high(&codes, i))]) * f64::from(scale(i));
    check(&file, "bitsandbytes", ("m.weight", &[3, 50]), value, 1);
}

/// A GGUF file: version 3, keys, descriptions, data from a multiple of 32 on.
pub(super) fn gguf(tensors: &[(&str, u32, &[u64], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    let string = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend(2_u64.to_le_bytes());
    string(&mut file, "general.name");
    file.extend(8_u32.to_le_bytes());
    string(&mut file, "tiny");
    string(&mut file, "tokens");
    file.extend([9_u32, 8].map(u32::to_le_bytes).concat());
    file.extend(2_u64.to_le_bytes());
    string(&mut file, "<s>");
    string(&mut file, "a");
    let mut offset = 0_u64;
    for (name, kind, shape, bytes) in tensors {
        string(&mut file, name);
        file.extend(u32::try_from(shape.len()).unwrap().to_le_bytes());
        shape.iter().rev().for_each(|n| file.extend(n.to_le_bytes()));
        file.extend(kind.to_le_bytes());
        file.extend(offset.to_le_bytes());
        offset += (bytes.len() as u64).next_multiple_of(32);
    }
    for (.., bytes) in tensors {
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(bytes);
    }
    file
}

#[test]
fn gguf_in_blocks() {
    let random = &mut Random(8);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.gguf");
    // MXFP4: a power of two, then the low halves of 16 bytes, then the high ones.
    let mx: Vec<Vec<u8>> = (0..6).map(|i| [vec![120 + i], bytes(random, 16, 0xff, 0)].concat()).collect();
    let norm = Tensor::of(T::F32, &[1.0, 2.0, 3.0]);
    let tensors = |weight: (u32, &'static [u64], Vec<u8>)| {
        gguf(&[
            ("blk.0.attn_q.weight", weight.0, weight.1, weight.2),
            ("blk.0.attn_norm.weight", 0, &[3], norm.bytes.clone()),
            ("blk.0.attn_q.scale", 0, &[1], 0.3_f32.to_le_bytes().to_vec()),
        ])
    };
    fs::write(&path, tensors((39, &[3, 64], mx.concat()))).unwrap();
    let half = |bytes: &[u8], i: usize, half: usize| bytes[i % half] >> (4 * (i / half)) & 15;
    // The F32 beside a weight of any type multiplies it.
    let factor = f64::from(0.3_f32);
    let value = |i: usize| {
        let block = &mx[i / 32];
        e2m1(half(&block[1..], i % 32, 16)) * (e8m0(block[0]) * factor)
    };
    check_at(&path, "GGUF MXFP4", ("blk.0.attn_q.weight", &[3, 64]), value, 2);
    let view = View::open(&path).unwrap();
    assert_eq!(view.values("blk.0.attn_norm.weight").unwrap(), [1.0, 2.0, 3.0]);
    let expected = [("general.name", "tiny"), ("tokens", r#"["<s>","a"]"#)];
    let metadata: Vec<_> = view.source().metadata().iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(metadata, expected);
    // NVFP4: four scales, then each 16 elements in 8 bytes. 0x7f is 0.
    let mut nv: Vec<Vec<u8>> =
        (0..3).map(|_| [bytes(random, 4, 0x7e, 1), bytes(random, 32, 0xff, 0)].concat()).collect();
    nv[1][2] = 0x7f;
    fs::write(&path, tensors((40, &[3, 64], nv.concat()))).unwrap();
    let value = |i: usize| {
        let (block, i) = (&nv[i / 64], i % 64);
        let scale = if block[i / 16] == 0x7f { 0.0 } else { e4m3(block[i / 16]) };
        e2m1(half(&block[4 + i / 16 * 8..], i % 16, 8)) * (scale * factor)
    };
    check_at(&path, "GGUF NVFP4", ("blk.0.attn_q.weight", &[3, 64]), value, 2);
    // Q8_0: an F16, here 1.5 and 2^-14, then integers.
    let q8: Vec<Vec<u8>> = [[0x00, 0x3e], [0x00, 0x04]]
        .map(|scale: [u8; 2]| [scale.to_vec(), bytes(random, 32, 0xff, 0)].concat())
        .into();
    fs::write(&path, tensors((8, &[2, 32], q8.concat()))).unwrap();
    let value = |i: usize| {
        f64::from(q8[i / 32][2 + i % 32].cast_signed()) * ([1.5, 2_f64.powi(-14)][i / 32] * factor)
    };
    check_at(&path, "GGUF Q8_0", ("blk.0.attn_q.weight", &[2, 32]), value, 2);
    // Without one, and with one for each expert, which is not read.
    let q8 = ("blk.0.ffn_up_exps.weight", 8, &[2, 32][..], q8.concat());
    fs::write(&path, gguf(std::slice::from_ref(&q8))).unwrap();
    let plain = |i: usize| value(i) / factor;
    check_at(&path, "GGUF Q8_0", ("blk.0.ffn_up_exps.weight", &[2, 32]), plain, 1);
    for (shape, kind, scale) in [
        (&[2][..], 0, vec![0; 8]),
        (&[1], 1, vec![0, 0x3c]),
        (&[1], 0, vec![0; 4]),
        (&[1], 0, vec![0, 0, 0x80, 0x7f]),
    ] {
        fs::write(&path, gguf(&[q8.clone(), ("blk.0.ffn_up_exps.scale", kind, shape, scale)])).unwrap();
        let error = View::open(&path).unwrap_err().to_string();
        assert!(error.contains("read is one positive F32 for the tensor"), "{error}");
    }
    // A type without numbers here is named.
    fs::write(&path, gguf(&[("w", 12, &[256], vec![0; 144])])).unwrap();
    let error = View::open(&path).unwrap_err().to_string();
    assert!(error.contains("is of Q4_K, which is not read"), "{error}");
}

/// Every prefix of a file is refused, and every byte of a header may be anything.
#[test]
fn gguf_headers_that_lie() {
    // No elements, in rows of more bytes than can be counted.
    let rows = gguf(&[("w", 8, &[0, u64::MAX - 31], vec![])]);
    let error = View::from_source_bytes(&rows).unwrap_err().to_string();
    assert!(error.contains("of more bytes than 64 bits can count"), "{error}");
    let file = gguf(&[("w", 39, &[2, 32], vec![127; 34]), ("v", 0, &[2], vec![0; 8])]);
    for end in 0..file.len() {
        assert!(View::from_source_bytes(&file[..end]).is_err(), "{end}");
    }
    for place in 4..file.len() - 42 {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut file = file.clone();
            file[place] = byte;
            if let Ok(view) = View::from_source_bytes(&file) {
                view.tensors().iter().for_each(|tensor| drop(view.values(&tensor.info.name)));
            }
        }
    }
}

pub(super) trait FromBytes: Sized {
    fn from_source_bytes(bytes: &[u8]) -> smallfloat_tensor::Result<Self>;
}

impl FromBytes for View {
    fn from_source_bytes(bytes: &[u8]) -> smallfloat_tensor::Result<Self> {
        Self::from_source(smallfloat_tensor::Source::from_bytes("in.gguf", bytes.to_vec())?)
    }
}

/// What does not fit is refused with its name, or is no tensor of a layout.
#[test]
fn misfits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.safetensors");
    let refused = |tensors: &[(&str, Tensor)], part: &str| {
        File::of(tensors.iter().cloned()).write(&path);
        let error = View::open(&path).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let u8s = |shape: &[usize]| Tensor::new(T::U8, shape, vec![0x38; shape.iter().product()]);
    let e4m3s = |shape: &[usize]| Tensor::new(T::F8_E4M3, shape, vec![0x38; shape.iter().product()]);
    refused(&[("x_blocks", u8s(&[2, 3, 16])), ("x_scales", u8s(&[2, 2]))], "neither FP4 in groups of 32");
    let marker = |text: &str| ("m.comfy_quant", Tensor::new(T::U8, &[text.len()], text.as_bytes().to_vec()));
    let weight = ("m.weight", u8s(&[16, 8]));
    refused(&[weight.clone(), marker("{")], "as ComfyUI writes it");
    refused(&[weight.clone(), marker(r#"{"format": "nvfp4"}"#)], "ComfyUI's marker says that it is `nvfp4`");
    let tiles = ("m.weight_scale", e4m3s(&[16, 4]));
    let scale = |value| ("m.weight_scale_2", f32s(&[value], &[]));
    let nvfp4 = marker(r#"{"format": "nvfp4"}"#);
    refused(
        &[weight.clone(), tiles.clone(), scale(1.0), nvfp4],
        "its scales `m.weight_scale` have the shape",
    );
    let scales = ("m.weight_scale", e4m3s(&[16, 1]));
    refused(&[weight.clone(), scales.clone(), scale(-1.0)], "zero, negative or not finite");
    let state = r#"{"blocksize": 64, "shape": [128]}"#;
    let state =
        ("w.quant_state.bitsandbytes__nf4", Tensor::new(T::U8, &[state.len()], state.as_bytes().to_vec()));
    refused(&[("w", u8s(&[64, 1])), state.clone()], "its `w.absmax` is missing");
    let map = ("w.quant_map", f32s(&[0.0; 16], &[16]));
    let absmax = ("w.absmax", f32s(&[1.0; 3], &[3]));
    refused(&[("w", u8s(&[64, 1])), state, map, absmax], "its scales `w.absmax` have the shape");
    // Bytes with bytes beside them are no codes unless their numbers fit.
    File::of([("m.weight", u8s(&[4, 8])), ("m.weight_scale", u8s(&[4, 3]))]).write(&path);
    assert!(!View::open(&path).unwrap().is_quantized());
}
