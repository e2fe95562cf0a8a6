//! Files of other programs, made by hand with the reference crate: what is read out of them, and
//! what is refused.

use std::fs;
use std::path::Path;

use crate::common::{File, Tensor, names, options};
use safetensors::Dtype as T;
use serde_json::{Value, json};
use smallfloat_tensor::{Dtype, Granularity, Options, Scheme, Share, View, dequantize, quantize, verify};

fn values(file: &File, folder: &Path, name: &str) -> Vec<f64> {
    let (input, output) = (folder.join("in.safetensors"), folder.join("out.safetensors"));
    file.write(&input);
    verify(&input).unwrap();
    dequantize(&input, &output, Dtype::F32, None, true, &mut |_| ()).unwrap();
    File::read(&output).tensors[name].numbers()
}

fn f32s(values: &[f64], shape: &[usize]) -> Tensor {
    Tensor::of(T::F32, values).shaped(shape)
}

/// E4M3 codes: 0x38 is 1, 0xb8 is −1, 0x40 is 2, 0x7e is 448.
fn e4m3(shape: &[usize], codes: &[u8]) -> Tensor {
    Tensor::new(T::F8_E4M3, shape, codes.to_vec())
}

#[test]
fn fp8_with_scales_of_every_shape() {
    let dir = tempfile::tempdir().unwrap();
    let codes = e4m3(&[2, 4], &[0x38, 0xb8, 0x40, 0x7e, 0x38, 0x38, 0x38, 0x00]);
    let third = f64::from(0.1_f32);
    for (scale, shape, expected) in [
        (&[3.0][..], &[][..], [3.0, -3.0, 6.0, 1344.0, 3.0, 3.0, 3.0, 0.0]),
        (&[3.0], &[1], [3.0, -3.0, 6.0, 1344.0, 3.0, 3.0, 3.0, 0.0]),
        (&[0.5, third], &[2, 1], [0.5, -0.5, 1.0, 224.0, third, third, third, 0.0]),
        (&[0.5, 4.0], &[2], [0.5, -0.5, 1.0, 224.0, 4.0, 4.0, 4.0, 0.0]),
        (&[1.0, 2.0, 3.0, 4.0], &[2, 2], [1.0, -1.0, 4.0, 896.0, 3.0, 3.0, 4.0, 0.0]),
        (&[1.0, 2.0], &[1, 2], [1.0, -1.0, 4.0, 896.0, 1.0, 1.0, 2.0, 0.0]),
    ] {
        for suffix in ["_scale", "_scale_inv"] {
            let file = File::of([
                ("m.weight".to_owned(), codes.clone()),
                (format!("m.weight{suffix}"), f32s(scale, shape)),
            ]);
            assert_eq!(values(&file, dir.path(), "m.weight"), expected, "{shape:?}");
        }
    }
    // bfloat16 scales, E5M2 codes (0x3c is 1), and what is no part of a pair is copied.
    let file = File::of([
        ("m.weight", Tensor::new(T::F8_E5M2, &[1, 2], vec![0x3c, 0xbc])),
        ("m.weight_scale", Tensor::of(T::BF16, &[1.5])),
        ("m.input_scale", f32s(&[7.0], &[1])),
    ]);
    assert_eq!(values(&file, dir.path(), "m.weight"), [1.5, -1.5]);
    assert_eq!(values(&file, dir.path(), "m.input_scale"), [7.0]);
}

#[test]
fn products_are_rounded_once_to_nearest() {
    let dir = tempfile::tempdir().unwrap();
    // 1.875 · (1 + 2^−23) = 1.875 + 1.875 · 2^−23: between two F32, nearer to the upper.
    let scale = 1.0 + 2_f64.powi(-23);
    let file = File::of([("w", e4m3(&[1, 1], &[0x3f])), ("w_scale", f32s(&[scale], &[1]))]);
    assert_eq!(values(&file, dir.path(), "w"), [1.875 + 2_f64.powi(-22)]);
}

#[test]
fn packed_codes_with_scales_of_blocks() {
    let dir = tempfile::tempdir().unwrap();
    // E2M1: 0x7 is 6, 0x9 is −0.5; scale 2^(128 − 127).
    let mut codes = vec![0; 16];
    codes[0] = 0x97;
    let file = File::of([
        ("m.weight_packed", Tensor::new(T::U8, &[1, 16], codes.clone())),
        ("m.weight_scale", Tensor::new(T::U8, &[1, 1], vec![128])),
    ]);
    assert_eq!(values(&file, dir.path(), "m.weight")[..3], [12.0, -1.0, 0.0]);
    // NVFP4: E4M3 scales 1 and 2, divided by 4.
    codes[8] = 0x97;
    let file = File::of([
        ("m.weight_packed", Tensor::new(T::U8, &[1, 16], codes)),
        ("m.weight_scale", e4m3(&[1, 2], &[0x38, 0x40])),
        ("m.weight_global_scale", f32s(&[4.0], &[1])),
    ]);
    let found = values(&file, dir.path(), "m.weight");
    assert_eq!((&found[..2], &found[16..18]), (&[1.5, -0.125][..], &[3.0, -0.25][..]));
    // FP6 E2M3: 0x08 is 1, 0x28 is −1: word 0x08 | 0x28 << 6.
    let mut codes = vec![0; 24];
    (codes[0], codes[1]) = (0x08, 0x0a);
    let file = File::of([
        ("m.weight_packed", Tensor::new(T::U8, &[1, 24], codes)),
        ("m.weight_scale", Tensor::new(T::U8, &[1, 1], vec![126])),
    ]);
    assert_eq!(values(&file, dir.path(), "m.weight")[..3], [0.5, -0.5, 0.0]);
}

#[test]
fn block_sizes_that_shapes_do_not_tell() {
    let dir = tempfile::tempdir().unwrap();
    let scales = |count: usize| {
        f32s(&(0..count).map(|i| f64::from(u32::try_from(i).unwrap())).collect::<Vec<_>>(), &[1, count])
    };
    // 300 columns in 3 blocks: of 128, as is the custom, or of 100; rows of one block are groups.
    let open = [("w.weight", e4m3(&[2, 300], &[0x38; 600])), ("w.weight_scale_inv", scales(3))];
    let file = File::of(open.clone());
    let path = dir.path().join("in.safetensors");
    let refusal = |file: &File| {
        file.write(&path);
        View::open(&path).unwrap_err().to_string()
    };
    let error = refusal(&file);
    assert!(error.contains("block:128x128 or block:2x100") && error.contains("weight_block_size"), "{error}");
    // Another tensor of the file decides if only one of the sizes fits it: 150 columns in 2 blocks
    // are no blocks of 100 columns and 2 rows in 4, and 400 in 4 are not of 128.
    let with = |shape: &[usize], count: usize, scales: Tensor| {
        let codes = e4m3(shape, &vec![0x38; count]);
        File::of(open.iter().cloned().chain([("v.weight", codes), ("v.weight_scale_inv", scales)]))
    };
    let found = values(&with(&[4, 150], 600, scales(2)), dir.path(), "w.weight");
    assert_eq!((found[99], found[127], found[128], found[299]), (0.0, 0.0, 1.0, 2.0));
    let tall = f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[3, 3]);
    let found = values(&with(&[6, 300], 1800, tall), dir.path(), "w.weight");
    assert_eq!((found[99], found[100], found[299]), (0.0, 1.0, 2.0));
    // It does not if both fit, or if its own size is none of them.
    assert!(refusal(&with(&[2, 200], 400, scales(2))).contains("block:128x128 or block:2x100"));
    assert!(refusal(&with(&[2, 300], 600, scales(6))).contains("block:128x128 or block:2x100"));
    let config = json!({"quantization_config": {"weight_block_size": [2, 100]}});
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    let found = values(&file, dir.path(), "w.weight");
    assert_eq!((found[99], found[100], found[299]), (0.0, 1.0, 2.0));
    let view = View::open(dir.path().join("in.safetensors")).unwrap();
    let scaled = view.tensor("w.weight").unwrap().scaled().unwrap();
    assert_eq!(scaled.granularity, Granularity::Block { rows: 2, columns: 100 });
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.safetensors");
    let refused = |tensors: &[(&str, Tensor)], part: &str| {
        File::of(tensors.iter().cloned()).write(&path);
        let error = View::open(&path).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let codes = e4m3(&[2, 4], &[0; 8]);
    refused(&[("w", codes.clone()), ("w_scale", f32s(&[1.0; 3], &[3, 1]))], "the block size can't be told");
    refused(
        &[("w", codes.clone()), ("w_scale", f32s(&[1.0; 4], &[1, 2, 2]))],
        "the block size can't be told",
    );
    refused(&[("w", codes), ("w_scale", Tensor::new(T::I8, &[1], vec![1]))], "which no reader knows");
    let packed = |bytes: usize| ("w_packed", Tensor::new(T::U8, &[1, bytes], vec![0; bytes]));
    let byte = |count: usize| ("w_scale", Tensor::new(T::U8, &[1, count], vec![127; count]));
    refused(&[packed(17), byte(1)], "neither FP4 in groups of 32 nor FP6");
    for (global, part) in
        [(f32s(&[0.0], &[1]), "zero, negative"), (f32s(&[1.0; 2], &[2]), "not one positive F32")]
    {
        let scales = ("w_scale", e4m3(&[1, 2], &[0x38, 0x38]));
        refused(&[packed(16), scales, ("w_global_scale", global)], part);
    }
}

#[test]
fn odd_scales_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd.safetensors");
    let scales = f32s(&[0.0, f64::NAN, -1.0, 1.0], &[4, 1]);
    File::of([("w", e4m3(&[4, 1], &[0x38; 4])), ("w_scale", scales)]).write(&path);
    let verified = verify(&path).unwrap();
    assert_eq!((verified.tensors, verified.codes, verified.scales, verified.digests), (1, 4, 4, 0));
    assert!(
        verified.warnings[0].contains("3 scales that are NaN, infinite, zero or negative"),
        "{verified:?}"
    );
}

/// A checkpoint in two files: one layer's projections apart, an embedding, a norm.
fn checkpoint(folder: &Path) {
    let weight = |largest: f64| f32s(&[largest, 1.0], &[1, 2]);
    fs::create_dir(folder).unwrap();
    let one = File::of([
        ("model.embed_tokens.weight", weight(3.0)),
        ("model.layers.0.self_attn.q_proj.weight", weight(448.0)),
        ("model.layers.0.norm.weight", f32s(&[1.0], &[1])),
    ]);
    let two = File::of([
        ("model.layers.0.self_attn.k_proj.weight", weight(896.0)),
        ("model.layers.0.mlp.down_proj.weight", weight(224.0)),
    ]);
    let mut map = serde_json::Map::new();
    for (file, name) in
        [(&one, "model-00001-of-00002.safetensors"), (&two, "model-00002-of-00002.safetensors")]
    {
        file.write(&folder.join(name));
        map.extend(file.tensors.keys().map(|tensor| (tensor.clone(), json!(name))));
    }
    let index = json!({"metadata": {"total_size": 36}, "weight_map": map});
    fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
    let config = json!({"model_type": "llama", "hidden_size": 2, "quantization_config": {"quant_method": "old"}, "tail": 1});
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("tokenizer.json"), "{}").unwrap();
    fs::write(folder.join("pytorch_model.bin"), "stale").unwrap();
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_folder_becomes_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    checkpoint(&input);
    let fp8 = "fp8".parse::<Scheme>().unwrap();
    let options = Options { share: Share::known(), ..fp8.options() };
    let select = |name: &str| fp8.layout.expects(name);
    let report = quantize(&input, &output, &options, &select, &mut |_| ()).unwrap();
    assert_eq!((report.totals.quantized, report.totals.copied), (3, 2));
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let expected = ["config.json", shards[0], shards[1], "model.safetensors.index.json", "tokenizer.json"];
    assert_eq!(names(&output), expected);
    let [one, two] = shards.map(|shard| File::read(&output.join(shard)));
    // Query and key lie in different files and share 896 / 448.
    assert_eq!(one.tensors["model.layers.0.self_attn.q_proj.weight_scale"].numbers(), [2.0]);
    assert_eq!(two.tensors["model.layers.0.self_attn.k_proj.weight_scale"].numbers(), [2.0]);
    assert_eq!(two.tensors["model.layers.0.mlp.down_proj.weight_scale"].numbers(), [0.5]);
    let index = json_of(&output.join("model.safetensors.index.json"));
    let map = index["weight_map"].as_object().unwrap();
    assert_eq!(map.len(), one.tensors.len() + two.tensors.len());
    for (file, shard) in [(&one, shards[0]), (&two, shards[1])] {
        assert!(file.tensors.keys().all(|name| map[name] == shard));
    }
    // Two codes and an F32 each for three matrices, 8 bytes of embedding, 4 of norm.
    assert_eq!(index["metadata"]["total_size"], 3 * 6 + 8 + 4);
    let config = json_of(&output.join("config.json"));
    assert_eq!(
        config.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["model_type", "hidden_size", "tail", "quantization_config"]
    );
    assert_eq!(config["quantization_config"]["ignored_layers"], json!(["model.embed_tokens"]));
    assert_eq!(Some(&config["quantization_config"]), report.quantization_config.as_ref());

    // From there into another scheme; and a native container needs no configuration.
    let (again, native) = (dir.path().join("again"), dir.path().join("native"));
    let deepseek = "deepseek".parse::<Scheme>().unwrap().options();
    quantize(&output, &again, &deepseek, &select, &mut |_| ()).unwrap();
    let config = json_of(&again.join("config.json"));
    assert_eq!(config["quantization_config"]["weight_block_size"], json!([128, 128]));
    quantize(&input, &native, &crate::common::options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap();
    let config = json_of(&native.join("config.json"));
    assert_eq!(config["quantization_config"], json!({ "quant_method": "smallfloat", "version": "1" }));
    assert_eq!(verify(native.join(shards[0])).unwrap().tensors, 3);
}

#[test]
fn folders_that_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    checkpoint(&input);
    let refused = |input: &Path, output: &Path, part: &str| {
        let plain = Options { overwrite: false, ..options("cfloat8_1_4_3") };
        let error = quantize(input, output, &plain, &|_| true, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&input, &input, "into another folder");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    refused(&empty, &output, "has no .safetensors files");
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("x"), "").unwrap();
    refused(&input, &full, "exists already");
    fs::write(input.join("config.json"), "[]").unwrap();
    refused(&input, &output, "is no JSON object");
    fs::remove_file(input.join("config.json")).unwrap();
    fs::rename(input.join("model-00002-of-00002.safetensors"), dir.path().join("away")).unwrap();
    refused(&input, &output, "is in no file of the folder");
    fs::write(input.join("model.safetensors.index.json"), "{}").unwrap();
    refused(&input, &output, "has no object `weight_map`");
    assert!(!output.exists());
}
