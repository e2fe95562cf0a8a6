//! Schemes through the command: files, folders, messages. Expected values follow from the formats'
//! definitions.

use std::fs;
use std::path::Path;

use crate::common::{command, object, run};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde_json::{Value, json};

/// A tensor of a report, by name.
fn named<'a>(report: &'a Value, name: &str) -> &'a Value {
    let tensors = report["tensors"].as_array().expect("tensors");
    tensors.iter().find(|tensor| tensor["name"] == name).expect("the tensor")
}

/// A matrix with one row of these values and zeros up to 32 columns, and a vector.
fn write(path: &Path, name: &str, values: &[f32]) {
    let mut row = values.to_vec();
    row.resize(32, 0.0);
    let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
    let views = [
        (name, TensorView::new(Dtype::F32, vec![1, 32], &bytes).expect("a tensor")),
        ("norm.bias", TensorView::new(Dtype::F32, vec![32], &bytes).expect("a tensor")),
    ];
    fs::write(path, serialize(views, None).expect("a file")).expect("the file can be written");
}

#[test]
fn from_floats_to_mxfp4_and_on_to_fp8_and_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    // amax 6: scale 1; 6, 1, −0.5 are the codes 7, 2, 9.
    write(&folder.join("m"), "a.weight", &[6.0, 1.0, -0.5]);
    let text = run(folder, &["quantize", "m", "-o", "mx", "--format", "MXFP4"]);
    assert!(text.contains("1 scale") && text.contains("copied") && text.contains("verified"), "{text}");
    let bytes = fs::read(folder.join("mx")).expect("a file");
    let file = SafeTensors::deserialize(&bytes).expect("the reference crate reads it");
    assert_eq!(file.tensor("a.weight").expect("codes").data()[..2], [0x27, 0x09]);
    assert_eq!(file.tensor("a.weight_scale").expect("scales").data(), [127]);
    assert_eq!(file.tensor("norm.bias").expect("a copy").dtype(), Dtype::F32);

    let report = object(folder, &["quantize", "mx", "-o", "fp8", "--scheme", "fp8", "--json"]);
    assert_eq!(report["quantization_config"]["quant_method"], "fp8");
    assert_eq!(named(&report, "a.weight")["scales"]["format"], "binary32");
    let text = run(folder, &["verify", "fp8"]);
    assert!(text.contains("none: the file is in a layout that has none"), "{text}");
    let text = run(folder, &["inspect", "fp8"]);
    assert!(text.contains("binary32, one per tensor; codes as bytes") && text.contains("e4m3fn"), "{text}");
    let inspected = object(folder, &["inspect", "mx", "--json"]);
    let scales = &named(&inspected, "a.weight")["scales"];
    assert_eq!(
        (&scales["granularity"], &scales["packing"], &scales["shape"]),
        (&"block:32".into(), &"nibbles-low".into(), &json!([1, 1]))
    );
    run(folder, &["dequantize", "fp8", "-o", "back"]);
    let compared = object(folder, &["compare", "mx", "back", "--json"]);
    // 1 / (6 / 448) lies between 72 and 80; 6 and 0 are exact.
    assert_eq!(compared["totals"]["equal"], 1);
    assert!(compared["totals"]["min_sqnr_db"].as_f64().expect("a ratio") > 30.0);
}

#[test]
fn a_checkpoint_folder_through_the_command() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    fs::create_dir(folder.join("in")).expect("a folder");
    write(&folder.join("in/model.safetensors"), "layer.q_proj.weight", &[448.0]);
    fs::write(folder.join("in/config.json"), r#"{"model_type": "llama"}"#).expect("a file");
    fs::write(folder.join("in/vocab.txt"), "a\nb\n").expect("a file");
    run(folder, &["quantize", "in", "-o", "out", "--scheme", "mxfp4-pack-quantized", "--report", "r.json"]);
    let config: Value =
        serde_json::from_slice(&fs::read(folder.join("out/config.json")).expect("a file")).expect("JSON");
    assert_eq!(config["quantization_config"]["format"], "mxfp4-pack-quantized");
    assert_eq!(config["quantization_config"]["config_groups"]["group_0"]["weights"]["group_size"], 32);
    assert_eq!(fs::read(folder.join("out/vocab.txt")).expect("a file"), b"a\nb\n");
    run(folder, &["verify", "out/model.safetensors"]);
    // A folder that has something in it stays as it is.
    let assert = command(folder, &["quantize", "in", "-o", "out"]).assert().code(1);
    let message = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(message.contains("`out` exists already"), "{message}");
    let assert = command(folder, &["quantize", "in", "-o", "in", "--overwrite"]).assert().code(1);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains("another folder"));
}

#[test]
fn embeddings_are_taken_only_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    write(&folder.join("m"), "model.embed_tokens.weight", &[1.0]);
    let quantized = |args: &[&str]| {
        let base = ["quantize", "m", "-o", "q", "--overwrite", "--json"];
        object(folder, &[&base[..], args].concat())["totals"]["quantized"].clone()
    };
    assert_eq!(quantized(&["--scheme", "fp8"]), 0);
    assert_eq!(quantized(&["--scheme", "fp8", "--include", "*embed*"]), 1);
    assert_eq!(quantized(&["--scheme", "mxfp8-e4m3"]), 1);
    assert_eq!(quantized(&["--granularity", "channel"]), 1);
}

/// Two matrices with halves of 1 and 2^−8: at amax their biases are 15 and 23 (the largest value of
/// CFloat8_1_4_3 is 1.875·2^(15−B)), their scales to E4M3 2^−8 and 2^−16.
#[test]
fn every_scheme_and_granularity_is_drawn() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    let row = [[1.0_f32; 128], [0.003_906_25; 128]].concat();
    let bytes: Vec<u8> = row.repeat(2).iter().flat_map(|x| x.to_le_bytes()).collect();
    let matrix = || TensorView::new(Dtype::F32, vec![2, 256], &bytes).expect("a tensor");
    let file = serialize([("up.weight", matrix()), ("down.weight", matrix())], None).expect("a file");
    fs::write(folder.join("m"), file).expect("the file can be written");
    let (exponents, biases, scales) =
        ("elements by exponent", "biases, from the smallest", "scales, from the smallest");
    for (way, drawn, label) in [
        (&["--bias", "amax"][..], exponents, "m as cfloat8_1_4_3"),
        (&["--bias", "amax", "--granularity", "channel"], biases, "by channel"),
        (&["--bias", "amax", "--granularity", "block:32"], biases, "by block:32"),
        (&["--container", "fp8", "--requantize"], biases, "m as cfloat8_1_4_3"),
        (&["--scheme", "mxfp8-e4m3"], scales, "2^-16"),
        (&["--scheme", "mxfp4"], scales, "m as mxfp4"),
        (&["--scheme", "nvfp4"], scales, "m as nvfp4"),
        (&["--scheme", "fp8"], scales, "m as fp8"),
        (&["--scheme", "deepseek"], scales, "m as deepseek"),
        (&["--scheme", "float-quantized"], scales, "m as float-quantized"),
    ] {
        let base = ["quantize", "m", "-o", "q", "--overwrite", "--plot", "p.svg", "--json"];
        let report = object(folder, &[&base[..], way].concat());
        let svg = fs::read_to_string(folder.join("p.svg")).expect("a picture");
        for part in [drawn, label, "up.weight", "down.weight", "SQNR, dB"] {
            assert!(svg.contains(part), "{way:?}: {part}");
        }
        assert_eq!([exponents, biases, scales].iter().filter(|what| svg.contains(**what)).count(), 1);
        if way.contains(&"block:32") {
            let range = &named(&report, "up.weight")["bias_range"];
            assert_eq!(range, &json!({ "count": 16, "min": 15, "max": 23 }));
        }
        if way.contains(&"mxfp8-e4m3") {
            let found = &named(&report, "up.weight")["scales"];
            assert_eq!((&found["count"], &found["min"]), (&json!(16), &json!(0.000_015_258_789_062_5)));
        }
    }
    let plan = ["shard", "plan", "m", "-o", "out", "--scheme", "mxfp4", "--plan", "p.json"];
    run(folder, &plan);
    run(folder, &["shard", "apply", "p.json", "--shard", "0"]);
    run(folder, &["shard", "finalize", "p.json", "--plot", "shards.svg"]);
    assert!(fs::read_to_string(folder.join("shards.svg")).expect("a picture").contains(scales));
}

#[test]
fn the_help_lists_schemes_and_rules() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = run(dir.path(), &["quantize", "--help"]);
    for word in
        ["nvfp4-pack-quantized", "deepseek", "rceil", "max-abs-finite", "--nibble-order", "--requantize"]
    {
        assert!(text.contains(word), "{word}");
    }
}
