//! The commands on files of tensors, end to end: contract, messages, exit statuses, bytes. Expected
//! values are those of Tesla's tables and of the formats' definitions.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::slice;

use crate::common::{Place, f32s, numbers, words};
use safetensors::tensor::{Dtype, SafeTensors};
use serde_json::Value;

/// A checkpoint of two float tensors and one of integers.
fn model(place: &Place) {
    let ids = (0..4_i64).flat_map(i64::to_le_bytes).collect();
    place.tensors(
        "model.safetensors",
        &[
            ("big.weight", Dtype::F32, &[20, 30], f32s(&numbers(600, 1.0))),
            ("ids", Dtype::I64, &[4], ids),
            ("small.weight", Dtype::F32, &[300], f32s(&numbers(300, 1e-6))),
        ],
    );
}

#[test]
fn quantize_writes_the_codes_of_the_papers_formats() {
    let place = Place::new();
    // 1.1 rounds to 1.125 (0x39), 1e9 saturates at 480 (0x7f), −0.3 is −0.3125 (0xaa); −0 stays.
    let values = [1.0, 1.1, -0.3, 1e9, 0.0, -0.0];
    place.tensors("w.safetensors", &[("w", Dtype::F32, &[2, 3], f32s(&values))]);
    let report = place.json(&words(
        "quantize --tensors all w.safetensors -o q.safetensors --format CFloat8_1_4_3 --bias 7 --json",
    ));
    let bytes = place.read("q.safetensors");
    let file = SafeTensors::deserialize(&bytes).expect("the reference crate reads it");
    let codes = file.tensor("w").expect("codes");
    assert_eq!((codes.dtype(), codes.shape()), (Dtype::U8, &[2, 3, 1][..]));
    assert_eq!(codes.data(), [0x38, 0x39, 0xaa, 0x7f, 0x00, 0x80]);
    let bias = file.tensor("w_bias").expect("a bias");
    assert_eq!((bias.dtype(), bias.shape(), bias.data()), (Dtype::U8, &[][..], &[7][..]));
    // The dimension of 1 keeps codes from being taken for weights; the tensor has its own shape.
    assert_eq!(report["tensors"][0]["shape"], serde_json::json!([2, 3]));
    assert_eq!(
        place.json(&["inspect", "q.safetensors", "--json"])["tensors"][0]["shape"],
        report["tensors"][0]["shape"]
    );
    let text = place.run(&["inspect", "q.safetensors"]);
    assert!(text.contains("2×3") && !text.contains("2×3×1"), "{text}");
    let tensor = &report["tensors"][0];
    assert_eq!(
        (&tensor["saturated"], &tensor["zero"], &tensor["biases"][0]),
        (&1.into(), &2.into(), &7.into())
    );
    assert_eq!(report["bytes_out"], bytes.len());

    place.run(&["dequantize", "q.safetensors", "-o", "back.safetensors"]);
    let bytes = place.read("back.safetensors");
    let back = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    assert_eq!(back.names(), ["w"]);
    let back = back.tensor("w").expect("the tensor");
    assert_eq!((back.dtype(), back.data()), (Dtype::F32, &*f32s(&[1.0, 1.125, -0.3125, 480.0, 0.0, -0.0])));
}

#[test]
fn wide_codes_and_the_largest_bias() {
    let place = Place::new();
    // SHP has 10 significand bits; with bias 15 it is binary16 without specials: 1 = 0x3c00.
    place.tensors("w.safetensors", &[("w", Dtype::F32, &[2], f32s(&[1.0, -2.0]))]);
    place.run(&words("quantize --tensors all w.safetensors -o q.safetensors --format shp:bias=15"));
    let bytes = place.read("q.safetensors");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    assert_eq!(file.tensor("w").expect("codes").data(), [0x00, 0x3c, 0x00, 0xc0]);
    assert_eq!(file.tensor("w").expect("codes").dtype(), Dtype::U16);
    // The largest magnitude of cfloat8_1_4_3 is 1.875 · 2^(15 − bias), so 0.3 takes at most bias 17
    // (0.46875).
    place.tensors("a.safetensors", &[("w", Dtype::F32, &[2], f32s(&[0.3, -0.001]))]);
    let report =
        place.json(&words("quantize --tensors all a.safetensors -o a2.safetensors --bias amax --json"));
    assert_eq!(report["tensors"][0]["biases"], serde_json::json!([17]));
}

#[test]
fn formats_whose_bias_is_fixed_have_none_beside_their_codes() {
    let place = Place::new();
    place.tensors("w.safetensors", &[("w", Dtype::F32, &[2], f32s(&[1.0, 1e9]))]);
    // Overflow saturates at 448, although the format's preset would give NaN.
    place.run(&words("quantize --tensors all w.safetensors -o q.safetensors --format e4m3fn --bias 7"));
    let bytes = place.read("q.safetensors");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    assert_eq!((file.names(), file.tensor("w").expect("codes").data()), (vec!["w"], &[0x38, 0x7e][..]));
    let args =
        words("quantize --tensors all w.safetensors -o n.safetensors --format e4m3fn --saturation satnone");
    place.run(&args);
    let bytes = place.read("n.safetensors");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    assert_eq!(file.tensor("w").expect("codes").data(), [0x38, 0x7f]);
    let args = words("quantize --tensors all w.safetensors -o x.safetensors --format e4m3fn --bias auto");
    place.refuses(&args, &["--bias auto", "the bias of e4m3fn is always 7"]);
}

#[test]
fn the_report_has_the_keys_of_the_contract() {
    let place = Place::new();
    model(&place);
    let printed = place.json(&words(
        "quantize --tensors all model.safetensors -o q.safetensors --report r.json --plot p.svg --json",
    ));
    let written: Value = serde_json::from_slice(&place.read("r.json")).expect("JSON");
    assert_eq!(printed, written);
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&written), ["tensors", "totals", "seconds", "bytes_in", "bytes_out"]);
    let contract = [
        "name",
        "shape",
        "format",
        "biases",
        "amax",
        "sqnr_db",
        "saturated",
        "underflowed",
        "zero",
        "nan",
        "inf",
    ];
    let tensors = written["tensors"].as_array().expect("an array");
    for tensor in tensors {
        let keys = keys(tensor);
        assert_eq!(keys[..contract.len()], contract);
        let more = ["flags", "overflowed", "exponents", "bias_range"];
        assert!(keys[contract.len()..].iter().all(|key| more.contains(&&**key)), "{keys:?}");
    }
    let find = |name: &str| tensors.iter().find(|tensor| tensor["name"] == name).expect("the tensor");
    let copied = find("ids");
    assert_eq!(
        (&copied["format"], &copied["biases"], &copied["shape"]),
        (&Value::Null, &Value::Array(vec![]), &serde_json::json!([4]))
    );
    assert_eq!(find("big.weight")["format"], "cfloat8_1_4_3");
    // A scale of 10^6 is almost 20 binades.
    let bias = |name| find(name)["biases"][0].as_i64().expect("a bias");
    assert!((19..=21).contains(&(bias("small.weight") - bias("big.weight"))));
    assert!(find("small.weight")["sqnr_db"].as_f64().expect("a ratio") > 30.0);
    assert_eq!((&written["totals"]["quantized"], &written["totals"]["copied"]), (&2.into(), &1.into()));
    assert_eq!(written["bytes_in"], place.read("model.safetensors").len());
    // The histogram counts every finite non-zero element.
    let counts =
        find("big.weight")["exponents"].as_array().expect("a histogram").iter().map(|bin| bin[1].as_u64());
    let zeros = numbers(600, 1.0).iter().filter(|x| **x == 0.0).count() as u64;
    assert_eq!(counts.sum::<Option<u64>>(), Some(600 - zeros));
}

#[test]
fn the_sqnr_is_that_of_the_written_values() {
    let place = Place::new();
    model(&place);
    let args =
        words("quantize --tensors all model.safetensors -o q.safetensors --format cfloat8_1_5_2 --json");
    let report = place.json(&args);
    place.run(&["dequantize", "q.safetensors", "-o", "b.safetensors", "--dtype", "f64"]);
    let bytes = place.read("b.safetensors");
    let back = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let back: Vec<f64> = back
        .tensor("big.weight")
        .expect("the tensor")
        .data()
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        .collect();
    let (mut signal, mut noise) = (0.0, 0.0);
    for (x, q) in numbers(600, 1.0).into_iter().map(f64::from).zip(back) {
        signal += x * x;
        noise += (x - q) * (x - q);
    }
    let expected = 10.0 * (signal / noise).log10();
    let tensors = report["tensors"].as_array().expect("an array");
    let found = tensors.iter().find(|tensor| tensor["name"] == "big.weight").expect("the tensor");
    assert!((found["sqnr_db"].as_f64().expect("a ratio") - expected).abs() < 1e-9);
    let compared = place.json(&["compare", "model.safetensors", "q.safetensors", "--json"]);
    let tensors = compared["tensors"].as_array().expect("an array");
    for tensor in tensors {
        match tensor["name"].as_str() {
            Some("big.weight") => {
                assert!((tensor["sqnr_db"].as_f64().expect("a ratio") - expected).abs() < 1e-9);
                assert_eq!(tensor["equal"], false);
            }
            Some("ids") => assert_eq!(tensor["equal"], true),
            _ => {}
        }
    }
    assert_eq!((&compared["totals"]["tensors"], &compared["totals"]["equal"]), (&3.into(), &1.into()));
}

#[test]
fn folders_are_compared_as_files_are() {
    let place = Place::new();
    let (a, b) = (f32s(&numbers(64, 1.0)), f32s(&numbers(600, 0.1)));
    let (a, b) = (("a", Dtype::F32, &[64][..], a), ("b", Dtype::F32, &[600][..], b));
    fs::create_dir(place.path("in")).expect("a folder");
    place.tensors("in/1.safetensors", slice::from_ref(&a));
    place.tensors("in/2.safetensors", slice::from_ref(&b));
    place.tensors("whole.safetensors", &[a, b]);
    for (from, to) in [("in", "q"), ("whole.safetensors", "q.safetensors")] {
        place.run(&["quantize", "--tensors", "all", from, "-o", to, "--bias", "7"]);
    }
    let of_file = place.json(&["compare", "whole.safetensors", "q.safetensors", "--json"]);
    assert_eq!((&of_file["totals"]["tensors"], &of_file["totals"]["equal"]), (&2.into(), &0.into()));
    for (from, to) in [("in", "q"), ("in", "q.safetensors"), ("whole.safetensors", "q")] {
        assert_eq!(place.json(&["compare", from, to, "--json"]), of_file, "{from} {to}");
        let text = place.run(&["compare", from, to]);
        assert!(
            text.starts_with(&format!("{to} against {from}")) && text.contains("2 tensors, 0 equal"),
            "{text}"
        );
    }
    let several = place.json(&["compare", "in", "q", "q.safetensors", "--json"]);
    assert_eq!(several[0]["tensors"], several[1]["tensors"]);
    fs::create_dir(place.path("less")).expect("a folder");
    fs::copy(place.path("in/1.safetensors"), place.path("less/1.safetensors")).expect("a copy");
    for args in [["compare", "in", "less"], ["compare", "less", "in"]] {
        let output = place.command(&args).output().expect("the command runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{message}");
        assert!(message.contains("`b`") && message.contains("is not in `less"), "{message}");
    }
}

#[test]
fn threads_change_no_byte_and_seeds_do() {
    let place = Place::new();
    // Several blocks of 65,536 elements, so that there is work for several threads.
    let values = numbers(400_000, 0.05);
    place.tensors("m.safetensors", &[("w", Dtype::F32, &[400_000], f32s(&values))]);
    let run = |name: &str, more: &[&str]| {
        let mut args = vec!["quantize", "--tensors", "all", "m.safetensors", "-o", name];
        args.extend(more);
        place.run(&args);
        place.read(name)
    };
    assert!(run("a1", &["--threads", "1"]) == run("a3", &["--threads", "3"]));
    let one = run("s1", &["--threads", "1", "--rounding", "stochastic-a"]);
    let three = run("s3", &["--threads", "3", "--rounding", "stochastic-a", "--seed", "0x0"]);
    assert!(one == three, "the seed is 0 by default");
    assert!(one != run("s4", &["--rounding", "stochastic-a", "--seed", "2"]));
    let entry = &place.json(&["inspect", "s1", "--json"])["tensors"][0];
    assert_eq!((&entry["container"]["seed"], &entry["container"]["random_bits"]), (&0.into(), &32.into()));
    assert_eq!(
        (&entry["container"]["rounding"], &entry["elements"]),
        (&"stochastic-a".into(), &400_000.into())
    );
    assert!(place.run(&["inspect", "s1"]).contains("stochastic-a, 32 random bits of philox, seed 0"));
}

#[test]
fn include_and_exclude_choose_by_name() {
    let place = Place::new();
    model(&place);
    let formats = |args: &[&str]| {
        let mut all = words("quantize --tensors all model.safetensors -o q.safetensors --force --json");
        all.extend(args);
        let report = place.json(&all);
        let tensors = report["tensors"].as_array().expect("an array").clone();
        let chosen = tensors.into_iter().filter(|tensor| !tensor["format"].is_null());
        chosen.map(|tensor| tensor["name"].as_str().expect("a name").to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(formats(&[]).len(), 2);
    assert_eq!(formats(&["--include", "big*"]), ["big.weight".to_owned()].into());
    assert_eq!(formats(&["--include", "*", "--exclude", "big*"]), ["small.weight".to_owned()].into());
    assert_eq!(formats(&["--include", "big*", "--include", "small.*", "--include", "x.*"]).len(), 2);
    place.refuses(
        &["quantize", "--tensors", "all", "model.safetensors", "-o", "x.safetensors", "--include", "conv*"],
        &["--include", "no tensor", "`"],
    );
    place.refuses(
        &["quantize", "--tensors", "all", "model.safetensors", "-o", "x.safetensors", "--exclude", "[a"],
        &["--exclude", "[a"],
    );
}

#[test]
fn nan_infinity_and_negatives_are_refused_unless_a_rule_is_given() {
    let place = Place::new();
    let mut values = numbers(100, 1.0);
    values[37] = f32::NAN;
    values[60] = f32::INFINITY;
    place.tensors("n.safetensors", &[("layer.w", Dtype::F32, &[100], f32s(&values))]);
    let args = ["quantize", "--tensors", "all", "n.safetensors", "-o", "q.safetensors"];
    place.refuses(&args, &["n.safetensors", "tensor `layer.w`", "element 37 is NaN", "the preset's rule"]);
    let report = place.json(&[&args[..], &["--nonfinite", "preset", "--json"]].concat());
    assert_eq!((&report["totals"]["nan"], &report["totals"]["inf"]), (&1.into(), &1.into()));

    place.tensors("w.safetensors", &[("w", Dtype::F32, &[3], f32s(&[1.0, -1.0, 0.5]))]);
    let args = words("quantize --tensors all w.safetensors -o u.safetensors --format binary8p3ue --force");
    place.refuses(&args, &["tensor `w`", "element 1 is -1", "unsigned", "nan, zero or magnitude"]);
    // 1 is 0x80 and 1/2 is 0x7c: two significand bits, bias 32.
    for (rule, code) in [("zero", 0x00), ("magnitude", 0x80), ("nan", 0xff)] {
        place.run(&[&args[..], &["--negative", rule]].concat());
        let bytes = place.read("u.safetensors");
        let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
        assert_eq!(file.tensor("w").expect("codes").data(), [0x80, code, 0x7c], "{rule}");
    }
}

#[test]
fn outputs_that_exist_stay_as_they_are() {
    let place = Place::new();
    model(&place);
    fs::write(place.path("old"), "old").expect("a file");
    let base = ["quantize", "--tensors", "all", "model.safetensors", "-o"];
    place.refuses(&[&base[..], &["old"]].concat(), &["-o", "`old` exists", "--overwrite"]);
    place.refuses(&[&base[..], &["q", "--report", "old"]].concat(), &["--report", "`old` exists"]);
    place.refuses(&[&base[..], &["q", "--plot", "old"]].concat(), &["--plot", "`old` exists"]);
    place.refuses(&[&base[..], &["q", "--plot", "q"]].concat(), &["-o and --plot name the same file"]);
    place.refuses(&[&base[..], &["no/folder/q"]].concat(), &["no/folder", "does not exist"]);
    place.refuses(&[&base[..], &["w.npy"]].concat(), &["w.npy", ".safetensors"]);
    place.refuses(&[&base[..], &["-"]].concat(), &["name a file"]);
    // An error after the checks leaves the old file too.
    place.tensors("n.safetensors", &[("w", Dtype::F32, &[1], f32s(&[f32::NAN]))]);
    place.refuses(
        &["quantize", "--tensors", "all", "n.safetensors", "-o", "old", "--overwrite"],
        &["element 0 is NaN"],
    );
    place.run(&[&base[..], &["old", "--overwrite"]].concat());
    assert!(place.run(&["verify", "old"]).contains("verified"));
    place.refuses(&["dequantize", "old", "-o", "model.safetensors"], &["`model.safetensors` exists"]);
    // An input may be its own output.
    place.run(&words("quantize --tensors all model.safetensors -o model.safetensors --overwrite"));
    assert_eq!(place.read("model.safetensors"), place.read("old"));
}

#[test]
fn contradictions_and_what_is_not_built_are_refused() {
    let place = Place::new();
    model(&place);
    let refuses = |args: &[&str], parts: &[&str]| {
        place.refuses(
            &[&["quantize", "--tensors", "all", "model.safetensors", "-o", "q.safetensors"], args].concat(),
            parts,
        );
    };
    refuses(&["--format", "cfloat8_1_4_4"], &["--format", "cfloat8_1_4_3"]);
    refuses(&["--format", "cfloat8_1_4_3:bias=7", "--bias", "8"], &["--bias 8 contradicts the bias 7"]);
    refuses(&["--format", "cfloat8_1_4_3:bias=7", "--bias", "auto"], &["--bias auto contradicts the bias 7"]);
    refuses(&["--bias", "64"], &["--bias", "63"]);
    refuses(&["--bias", "percentile:101"], &["--bias", "percentile:P"]);
    refuses(&["--bias", "best"], &["--bias", "auto, amax"]);
    refuses(&["--format", "binary32"], &["32 bits", "at most 16"]);
    refuses(&["--seed", "1"], &["--rounding stochastic-a"]);
    refuses(&["--rounding", "stochastic-a", "--seed", "1", "--random-bits", "40"], &["--random-bits", "32"]);
    refuses(&["--granularity", "row"], &["--granularity", "block:RxC"]);
    refuses(&["--scheme", "fp8", "--granularity", "channel"], &["--granularity", "use tensor"]);
    refuses(&["--format", "e4m3fn", "--granularity", "channel"], &["scheme"]);
    refuses(&["--scale-rule", "floor"], &["--scale-rule floor", "--scheme"]);
    refuses(&["--scheme", "nvfp4", "--scale-rule", "ceil"], &["NVFP4", "amax"]);
    refuses(&["--scheme", "mxfp4", "--scale-format", "binary32"], &["--scale-format", "e8m0fnu"]);
    refuses(&["--scheme", "mxfp8-e4m3", "--nibble-order", "high"], &["--nibble-order", "4-bit"]);
    refuses(&["--scheme", "mxfp4-pack-quantized", "--nibble-order", "high"], &["take the low half first"]);
    refuses(&["--scheme", "mxfp4", "--container", "fp8"], &["--container fp8"]);
    refuses(&["--requantize"], &["--container fp8"]);
    refuses(&["--container", "fp8", "--format", "shp"], &["choose native or bf16"]);
    refuses(&["--share", "q_proj"], &["--share", "q_proj,k_proj,v_proj"]);
    // Wrong usage.
    for line in [
        "quantize --tensors all model.safetensors",
        "quantize --tensors all -o q",
        "quantize --tensors all model.safetensors -o q --threads 0",
        "quantize --tensors all model.safetensors -o q --negative abs",
        "quantize --tensors all model.safetensors -o q --scheme mxfp5",
        "quantize --tensors all model.safetensors -o q --scheme mxfp4 --format shp",
        "quantize --tensors all model.safetensors -o q --scale-rule nearest",
        "quantize --tensors all model.safetensors -o q --container gguf",
        "quantize --tensors all model.safetensors -o q --stochastic",
        "dequantize model.safetensors -o q --dtype i8",
        "--json verify model.safetensors",
    ] {
        place.command(&words(line)).assert().code(2);
    }
}

#[test]
fn broken_files_are_refused_by_every_command() {
    let place = Place::new();
    model(&place);
    place.run(&["quantize", "--tensors", "all", "model.safetensors", "-o", "q.safetensors"]);
    let good = place.read("q.safetensors");
    fs::write(place.path("short"), &good[..good.len() - 10]).expect("a file");
    fs::write(place.path("text"), "this is no tensor file, whatever its name").expect("a file");
    for file in ["short", "text", "nowhere"] {
        place.refuses(&["quantize", "--tensors", "all", file, "-o", "x"], &[file]);
        place.refuses(&["dequantize", file, "-o", "x"], &[file]);
        place.refuses(&["inspect", file], &[file]);
        place.refuses(&["verify", file], &[file]);
        place.refuses(&["compare", "model.safetensors", file], &[file]);
    }
    let excluded = ["quantize", "--tensors", "all", "q.safetensors", "-o", "x", "--exclude", "big*"];
    place.refuses(&excluded, &["q.safetensors", "`big.weight`", "quantized already"]);
    place.refuses(&["dequantize", "model.safetensors", "-o", "x"], &["no quantized file"]);
    place.refuses(&["verify", "model.safetensors"], &["no quantized file"]);
    place.tensors("other", &[("w", Dtype::F32, &[1], f32s(&[1.0]))]);
    place.refuses(&["compare", "model.safetensors", "other"], &["is not in `other"]);
}

#[test]
fn verify_finds_one_changed_byte() {
    let place = Place::new();
    model(&place);
    let args = ["quantize", "--tensors", "all", "model.safetensors", "-o", "q.safetensors"];
    place.run(&args);
    let text = place.run(&["verify", "q.safetensors"]);
    assert!(text.contains("2 tensors quantized, 1 copied") && text.contains("900 codes"), "{text}");
    let report = place.json(&["verify", "q.safetensors", "--json"]);
    let expected = serde_json::json!({
        "tensors": 2, "codes": 900, "digests": 2, "scales": 0, "copied": 1, "files": 1, "records": 1, "without_record": 0, "warnings": []
    });
    assert_eq!(report, expected);
    let good = place.read("q.safetensors");
    let file = SafeTensors::deserialize(&good).expect("a safetensors file");
    let codes = file.tensor("big.weight").expect("codes").data();
    let at = codes.as_ptr() as usize - good.as_ptr() as usize + 123;
    let mut bad = good.clone();
    bad[at] ^= 1;
    fs::write(place.path("bad"), bad).expect("a file");
    place.refuses(&["verify", "bad"], &["bad", "tensor `big.weight`", "SHA-256"]);
}

#[test]
fn a_file_without_floats_is_copied_and_says_so() {
    let place = Place::new();
    place.tensors("ids", &[("ids", Dtype::U8, &[3], vec![1, 2, 3])]);
    let assert = place
        .command(&["quantize", "--tensors", "all", "ids", "-o", "q", "--plot", "p.svg"])
        .assert()
        .success();
    let message = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(message.contains("no tensor was quantized"), "{message}");
    let bytes = place.read("q");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    assert_eq!(file.tensor("ids").expect("the tensor").data(), [1, 2, 3]);
    assert!(String::from_utf8(place.read("p.svg")).expect("text").contains("no tensor was quantized"));
}

#[test]
fn npy_files_come_and_go() {
    let place = Place::new();
    // NumPy's format, version 1.0, by hand.
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".to_owned();
    header += &" ".repeat(128 - 10 - 1 - header.len());
    header.push('\n');
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend(f32s(&[1.0, 2.0, -0.5, 1.5]));
    fs::write(place.path("layer.npy"), &npy).expect("a file");
    assert!(place.run(&["inspect", "layer.npy"]).contains("NumPy array"));
    let text = place.run(&["quantize", "--tensors", "all", "layer.npy", "-o", "q.safetensors"]);
    assert!(text.contains("exact"), "{text}");
    place.run(&["dequantize", "q.safetensors", "-o", "back.npy"]);
    assert_eq!(place.read("back.npy"), npy);
    let compared = place.json(&["compare", "layer.npy", "q.safetensors", "--json"]);
    assert_eq!(compared["tensors"][0]["equal"], true);
}

#[test]
fn a_hyphen_is_standard_input() {
    let place = Place::new();
    model(&place);
    place.run(&["quantize", "--tensors", "all", "model.safetensors", "-o", "a"]);
    let mut command = place.command(&["quantize", "--tensors", "all", "-", "-o", "b"]);
    command.write_stdin(place.read("model.safetensors")).assert().success();
    assert_eq!(place.read("a"), place.read("b"));
    let mut command = place.command(&["verify", "-"]);
    command.write_stdin(place.read("a")).assert().success();
}

#[test]
fn dequantizing_to_what_cannot_hold_the_values_needs_a_rounding() {
    let place = Place::new();
    // SHP's 11 significant bits don't fit bfloat16's 8.
    place.tensors("w", &[("w", Dtype::F32, &[1], f32s(&[1.0 + 1.0 / 1024.0]))]);
    place.run(&["quantize", "--tensors", "all", "w", "-o", "q", "--format", "shp:bias=15"]);
    place.refuses(&["dequantize", "q", "-o", "b", "--dtype", "bf16"], &["tensor `w`"]);
    place.run(&["dequantize", "q", "-o", "b", "--dtype", "BF16", "--rounding", "toward-positive"]);
    let bytes = place.read("b");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    // The next bfloat16 above 1.
    assert_eq!(file.tensor("w").expect("the tensor").data(), [0x81, 0x3f]);
}

#[test]
fn inspect_tells_ranges_from_metadata_alone() {
    let place = Place::new();
    place.tensors("w", &[("w", Dtype::F16, &[2, 2], vec![0; 8])]);
    place.run(&["quantize", "--tensors", "all", "w", "-o", "q", "--bias", "7"]);
    let object = place.json(&["inspect", "q", "--json"]);
    let tensor = &object["tensors"][0];
    // Tesla's table: the largest value at bias 7 is 480, the smallest denormal 2^−10.
    assert_eq!((&tensor["max"]["f64"], &tensor["min_positive"]["exact"]), (&480.0.into(), &"1p-10".into()));
    assert_eq!((&tensor["bias"], &tensor["container"]["source_dtype"]), (&7.into(), &"F16".into()));
    assert_eq!((&object["quantized"], &object["totals"]["elements"]), (&true.into(), &4.into()));
    let plain = place.json(&["inspect", "w", "--json"]);
    assert_eq!(
        (&plain["tensors"][0]["dtype"], &plain["tensors"][0]["format"]),
        (&"F16".into(), &Value::Null)
    );
}

#[test]
fn tables_fit_and_long_lists_are_cut() {
    let place = Place::new();
    let names: Vec<String> = (0..50)
        .map(|i| format!("a.very.long.name.of.a.layer.{i}.with\x1b[31m.many.parts.that.goes.on.weight"))
        .collect();
    let tensors: Vec<_> =
        names.iter().map(|name| (name.as_str(), Dtype::F32, &[3, 4][..], f32s(&numbers(12, 1.0)))).collect();
    place.tensors("m", &tensors);
    let text = place.run(&["quantize", "--tensors", "all", "m", "-o", "q", "--plot", "p.svg"]);
    assert!(text.contains("12 of 50 tensors") && text.contains("--json"), "{text}");
    assert!(text.contains("600 elements in 50 tensors") && text.contains("verified"), "{text}");
    for text in [text, place.run(&["inspect", "q"]), place.run(&["compare", "m", "q"]), place.run(&[])] {
        assert!(!text.contains('\x1b'), "escape sequences of names are shown, not sent");
        let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
    let svg = String::from_utf8(place.read("p.svg")).expect("text");
    well_formed(&svg);
    assert!(!svg.contains('\x1b'));
}

/// A small check of XML: tags nest, attributes are quoted, text is escaped.
fn well_formed(svg: &str) {
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a bare > in the text");
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') || tag.starts_with(['?', '!']) => {}
            None => open.push(tag.split_whitespace().next().unwrap_or_default()),
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && svg.contains("<svg"), "{open:?}");
}

#[test]
fn the_picture_escapes_names() {
    let place = Place::new();
    place.tensors("m", &[("a<b>&\"c\"", Dtype::F32, &[12], f32s(&numbers(12, 1.0)))]);
    place.run(&["quantize", "--tensors", "all", "m", "-o", "q", "--plot", "p.svg"]);
    let svg = String::from_utf8(place.read("p.svg")).expect("text");
    well_formed(&svg);
    assert!(svg.contains("a&lt;b&gt;&amp;"), "the name is there");
    assert!(svg.contains("cfloat8_1_4_3"));
}

#[test]
fn the_bare_command_runs_the_sample_and_leaves_nothing() {
    let place = Place::new();
    let temporary = Place::new();
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        let assert = command.env("TMPDIR", temporary.folder()).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).expect("output is text")
    };
    let text = run(&[]);
    for part in
        ["layers.0.router.weight", "exact", "copied", "verified", "smallfloat quantize model.safetensors"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let object: Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    let ratio = |job: &str, name: &str| {
        let tensors = object[job]["tensors"].as_array().expect("an array");
        tensors.iter().find(|tensor| tensor["name"] == name).expect("the tensor")["sqnr_db"].as_f64()
    };
    // Far below the smallest value at bias 7 everything becomes zero, so that the error is the
    // signal.
    assert_eq!(ratio("bias_7", "optimizer.gradient"), Some(0.0));
    assert!(ratio("auto", "optimizer.gradient") > Some(31.0));
    assert!(place.names().is_empty() && temporary.names().is_empty());
}

#[test]
fn a_closed_pipe_is_success() {
    let place = Place::new();
    let names: Vec<String> = (0..5000).map(|i| format!("layer.{i}")).collect();
    let tensors: Vec<_> =
        names.iter().map(|name| (name.as_str(), Dtype::F32, &[1][..], f32s(&[1.0]))).collect();
    place.tensors("m", &tensors);
    let mut child = Process::new(bin())
        .args(["inspect", "m"])
        .current_dir(place.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut start = [0; 10];
    stdout.read_exact(&mut start).expect("a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty());
}

fn bin() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_smallfloat"))
}

#[test]
fn vectors_are_copied_unless_all_tensors_are_asked_for() {
    let place = Place::new();
    let x = f32s(&[0.5, 1.0, 2.0, 3.0]);
    place.tensors(
        "m",
        &[
            ("embed.weight", Dtype::F32, &[2, 2], x.clone()),
            ("norm.weight", Dtype::F32, &[4], x.clone()),
            ("table", Dtype::F32, &[2, 2], x.clone()),
            ("up.weight", Dtype::F32, &[2, 2], x),
        ],
    );
    let copied = |more: &[&str]| {
        let base = ["quantize", "m", "-o", "q", "--json", "--overwrite"];
        let report = place.json(&[&base[..], more].concat());
        report["totals"]["copied"].as_u64().expect("a number")
    };
    assert_eq!(copied(&[]), 1);
    assert_eq!(copied(&["--tensors", "weights"]), 3);
    assert_eq!(copied(&["--tensors", "matrices", "--exclude", "up*"]), 2);
    assert_eq!(copied(&["--tensors", "all"]), 0);
    assert_eq!(copied(&["--scheme", "fp8"]), 3);
    assert_eq!(copied(&["--format", "mxfp4"]), 1);
    let text = place.run(&["quantize", "m", "-o", "q", "--overwrite", "--rounding", "stochastic-a"]);
    assert!(text.contains("stochastic-a with seed 0") && text.contains("1 copied"), "{text}");
    assert!(!text.contains("GB/s"), "{text}");
    let report =
        place.json(&["quantize", "m", "-o", "q", "--overwrite", "--json", "--rounding", "stochastic-a"]);
    assert_eq!(report["seed"], 0);
}

#[test]
fn several_files_are_compared_with_the_first() {
    let place = Place::new();
    // 1.1 is 1.125 with three bits after the point and 1 with two.
    for (name, x) in [("a", 1.1), ("b", 1.125), ("c", 1.0)] {
        place.tensors(name, &[("w", Dtype::F32, &[1], f32s(&[x]))]);
    }
    let objects = place.json(&["compare", "a", "b", "c", "a", "--json"]);
    let of = |i: usize| (objects[i]["file"].clone(), objects[i]["totals"]["equal"].clone());
    assert_eq!(
        [of(0), of(1), of(2)],
        [("b".into(), 0.into()), ("c".into(), 0.into()), ("a".into(), 1.into())]
    );
    // 20·log10(1.1 / 0.025) and 20·log10(1.1 / 0.1).
    let text = place.run(&["compare", "a", "b", "c", "a"]);
    assert!(
        text.contains("32.87") && text.contains("20.83") && text.contains("[3] a: 1 tensor, 1 equal"),
        "{text}"
    );
}

#[test]
fn options_that_moved_say_where() {
    let place = Place::new();
    model(&place);
    for (option, part) in [
        (&["--stochastic"][..], "write --rounding stochastic-a"),
        (&["--scheme", "e4m3fn"], "write --format e4m3fn"),
    ] {
        let args = [&["quantize", "model.safetensors", "-o", "q"], option].concat();
        let output = place.command(&args).output().expect("the command");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
    }
}

/// Standard input has findings as a file has, by its name.
#[test]
fn the_doctor_reads_standard_input() {
    let place = Place::new();
    let tensors = [
        ("fc.weight", Dtype::F8_E4M3, &[2, 32][..], vec![0x38; 64]),
        ("fc.weight_scale", Dtype::F32, &[], f32s(&[0.0])),
    ];
    place.tensors("zero.safetensors", &tensors);
    let mut command = place.command(&["doctor", "-"]);
    let output = command.write_stdin(place.read("zero.safetensors")).assert().failure();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.starts_with("standard input `fc.weight`: not-a-number"), "{text}");
    assert!(text.contains("smallfloat quantize SOURCE -o OUTPUT --overwrite --scheme fp8"), "{text}");
    let mut command = place.command(&["doctor", "-"]);
    command
        .write_stdin("no tensors")
        .assert()
        .failure()
        .stderr(predicates::str::contains("`standard input`"));
}

/// Tensors that the source has not are told of: of them `doctor` says less.
#[test]
fn the_doctor_tells_what_it_compares_with_nothing() {
    let place = Place::new();
    let matrix = || f32s(&numbers(64, 1.0));
    let tensors = ["a.weight", "b.weight", "c.weight"].map(|name| (name, Dtype::F32, &[8, 8][..], matrix()));
    place.tensors("three", &tensors);
    place.tensors("one", &tensors[..1]);
    place.run(&["quantize", "three", "-o", "q", "--format", "e4m3fn"]);
    for (source, told) in
        [("one", "not in the source, so compared with nothing: `b.weight` and 1 more"), ("three", "")]
    {
        let output = place.command(&["doctor", "q", "--source", source]).assert().success();
        let note = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(note.contains(told) && note.is_empty() == told.is_empty(), "{source}: {note}");
    }
}
