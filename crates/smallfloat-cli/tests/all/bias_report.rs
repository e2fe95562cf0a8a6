//! What biases would cost, and activations that weigh errors, through the command. Expected values
//! follow from the formats' definitions.

use std::fs;
use std::path::Path;

use crate::common::{object, refuses, run};
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};

/// One matrix of two columns.
fn write(path: &Path, name: &str, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, vec![values.len() / 2, 2], &bytes).expect("a tensor");
    fs::write(path, serialize([(name, view)], None).expect("a file")).expect("the file can be written");
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    write(&dir.path().join("m"), "fc.weight", &[1.0, 1.0625]);
    dir
}

fn close(value: &Value, expected: f64) {
    let number = value.as_f64().expect("a number");
    assert!((number / expected - 1.0).abs() < 1e-9, "{number}, not {expected}");
}

/// The tensors of all files of a folder, in the order of the files.
#[test]
fn a_checkpoint_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let model = dir.path().join("model");
    fs::create_dir(&model).expect("a folder");
    write(&model.join("b.safetensors"), "fc2.weight", &[1.0, 1.0625]);
    write(&model.join("a.safetensors"), "fc1.weight", &[4.0, 4.25]);
    let args = ["inspect", "model", "--bias-report", "--json", "--bias", "amax", "--plot", "biases.svg"];
    let report = object(dir.path(), &args);
    let choice = |i: usize| (&report["tensors"][i]["name"], &report["tensors"][i]["choices"][0]["bias"]);
    // 1.875 · 2^(15 − bias) holds 4.25 up to 13 and 1.0625 up to 15.
    assert_eq!(choice(0), (&json!("fc1.weight"), &json!(13)));
    assert_eq!(choice(1), (&json!("fc2.weight"), &json!(15)));
    assert_eq!(report["totals"][0]["biases"], 2);
    let picture = fs::read_to_string(dir.path().join("biases.svg")).expect("a picture");
    assert!(picture.contains("fc1.weight") && picture.contains("fc2.weight"));
}

#[test]
fn every_bias_and_every_choice() {
    let dir = folder();
    let report = object(dir.path(), &["inspect", "m", "--bias-report", "--json"]);
    assert_eq!(report["format"], "cfloat8_1_4_3");
    let tensor = &report["tensors"][0];
    assert_eq!((&tensor["name"], &tensor["amax"]), (&json!("fc.weight"), &json!(1.0625)));
    assert_eq!((&tensor["exponents"], &tensor["calibrated"]), (&json!([[0, 2]]), &json!(false)));
    let biases = tensor["biases"].as_array().expect("biases");
    assert_eq!(biases.len(), 64);
    for (i, cost) in biases.iter().enumerate() {
        assert_eq!(cost["bias"], i);
    }
    // 1.0625 lies between 1 and 1.125 and goes to even, 2^−4 away. From bias 1 to 15 both are
    // normal.
    let noise = 2.0_f64.powi(-8);
    for cost in &biases[1..=15] {
        close(&cost["squared_error"], noise);
        close(&cost["sqnr_db"], 10.0 * ((1.0 + 1.0625 * 1.0625) / noise).log10());
    }
    // At bias 0 they are in the hole and go to 0.875, at 16 both saturate to 0.9375.
    close(&biases[0]["squared_error"], 0.125 * 0.125 + 0.1875 * 0.1875);
    close(&biases[16]["squared_error"], 0.0625 * 0.0625 + 0.125 * 0.125);
    let choices = tensor["choices"].as_array().expect("choices");
    let chosen: Vec<_> = choices.iter().map(|choice| (&choice["policy"], &choice["bias"])).collect();
    let expected = [("auto", 15), ("amax", 15), ("percentile:99.9", 15), ("7", 7)];
    let expected = expected.map(|(policy, bias)| (json!(policy), json!(bias)));
    assert_eq!(chosen, expected.iter().map(|(policy, bias)| (policy, bias)).collect::<Vec<_>>());
    close(&report["totals"][3]["mean_sqnr_db"], 10.0 * ((1.0 + 1.0625 * 1.0625) / noise).log10());

    let text = run(dir.path(), &["inspect", "m", "--bias-report", "--bias", "amax:margin=2", "--bias", "16"]);
    assert!(
        text.contains("amax:margin=2") && text.contains("13: 27.3") && text.contains("always 16"),
        "{text}"
    );
}

#[test]
fn pictures_have_curves_and_ranges() {
    let dir = folder();
    run(dir.path(), &["inspect", "m", "--bias-report", "--plot", "p.svg"]);
    let svg = fs::read_to_string(dir.path().join("p.svg")).expect("a picture");
    for part in ["fc.weight", "<polyline", "auto, amax, percentile:99.9", "bias 15", "subnormal range"] {
        assert!(svg.contains(part), "{part}");
    }
    refuses(dir.path(), &["inspect", "m", "--bias-report", "--plot", "p.svg"], 1, &["exists"]);
    run(dir.path(), &["inspect", "m", "--bias-report", "--plot", "p.svg", "--overwrite"]);
}

#[test]
fn activations_weigh_errors() {
    let dir = folder();
    // Only the second column is ever used: weights 1 and 2^32 − 1.
    write(&dir.path().join("x"), "fc", &[0.0, 1.0, 0.0, -3.0]);
    let args = ["inspect", "m", "--bias-report", "--json", "--calibrate", "x"];
    let tensor = &object(dir.path(), &args)["tensors"][0];
    assert_eq!(tensor["calibrated"], true);
    // Twice the squared error of the second element, but for the other's 2^−32.
    close(&tensor["biases"][15]["squared_error"], 2.0 * 2.0_f64.powi(-8));
    close(&tensor["biases"][0]["squared_error"], 2.0 * 0.1875 * 0.1875);

    // 3·2^−19 is 1.5 times the smallest value at bias 15, the largest that holds 1, and three times
    // that at bias 16.
    write(&dir.path().join("w"), "fc.weight", &[1.0, 3.0 * 2.0_f32.powi(-19)]);
    let bias = |options: &[&str]| {
        let args = [&["quantize", "w", "-o", "o", "--json", "--overwrite"], options].concat();
        let report = object(dir.path(), &args);
        (report["tensors"][0]["biases"][0].clone(), report["tensors"][0]["calibrated"].clone())
    };
    assert_eq!(bias(&[]), (json!(15), Value::Null));
    let (weighed, calibrated) = bias(&["--calibration", "x"]);
    assert_eq!(calibrated, true);
    // Bias 15 costs 2^−38 · (2^32 − 1) in the second column, bias 16 costs 2^−8 in the first.
    assert_eq!(weighed, 16);

    write(&dir.path().join("other"), "fd", &[1.0, 1.0]);
    for (args, part) in [
        (&["quantize", "m", "-o", "n", "--calibration", "other"][..], "activations for none of the tensors"),
        (&["quantize", "m", "-o", "n", "--calibration", "x", "--bias", "7"], "bias policy auto"),
        (&["quantize", "m", "-o", "n", "--calibration", "missing"], "--calibration"),
        (&["quantize", "m", "-o", "n", "--bias", "delayed"], "learns from step to step"),
        (&["inspect", "m", "--bias-report", "--format", "e4m3fn"], "no bias to choose"),
        (&["inspect", "m", "--format", "shp"], "--bias-report"),
        (&["quantize", "m", "-o", "n", "--scheme", "mxfp4", "--global-scale", "amax"], "only NVFP4 has one"),
    ] {
        // Options that ask for another one are wrong usage.
        let code = if part == "--bias-report" { 2 } else { 1 };
        refuses(dir.path(), args, code, &[part]);
    }
}

/// Elements that count nowhere are told.
#[test]
fn elements_that_are_not_finite() {
    let dir = folder();
    let args = ["inspect", "m", "--bias-report"];
    assert!(!run(dir.path(), &args).contains("infinities"));
    write(&dir.path().join("m"), "fc.weight", &[1.0, f32::NAN, f32::INFINITY, 1.0625]);
    let told = "NaN and infinities count nowhere above: 2 elements of 1 tensor.";
    assert!(run(dir.path(), &args).contains(told));
}
