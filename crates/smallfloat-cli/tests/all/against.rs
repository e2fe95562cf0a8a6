//! `verify --source` as a user runs it: files, folders and shards that are right, one number that
//! is not, and how it is told.

use std::fs;
use std::path::Path;

use crate::common::command;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::Value;

/// Standard output and standard error of a command with this exit status.
#[track_caller]
fn run(folder: &Path, status: i32, args: &[&str]) -> (String, String) {
    let output = command(folder, args).assert().code(status).get_output().clone();
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).into()
}

/// A matrix and a vector that is no float; element 5 of the matrix as given.
fn write(path: &Path, name: &str, fifth: f32) {
    let mut values: Vec<f32> = (0..32_u8).map(|i| f32::from(i) * 0.11 - 1.0).collect();
    values[5] = fifth;
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let ids = [7_u8; 8];
    let views = [
        (format!("{name}.weight"), TensorView::new(Dtype::F32, vec![4, 8], &bytes).expect("a tensor")),
        (format!("{name}.ids"), TensorView::new(Dtype::I64, vec![1], &ids).expect("a tensor")),
    ];
    fs::write(path, serialize(views, None).expect("a file")).expect("the file can be written");
}

#[test]
fn a_file_is_held_against_its_source() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    write(&folder.join("in.safetensors"), "a", 1.0);
    write(&folder.join("other.safetensors"), "a", 1.3);
    run(folder, 0, &["quantize", "in.safetensors", "-o", "q.safetensors", "--bias", "7"]);

    let (text, _) = run(folder, 0, &["verify", "q.safetensors", "--source", "in.safetensors"]);
    assert!(text.starts_with("q.safetensors: verified\n"), "{text}");
    assert!(text.contains("  source     32 codes are those that in.safetensors gives\n"), "{text}");

    let (text, error) = run(folder, 1, &["verify", "q.safetensors", "--source", "other.safetensors"]);
    assert!(text.starts_with("q.safetensors: not what its source gives\n"), "{text}");
    assert!(text.contains("  source     31 of 32 codes are those"), "{text}");
    // 1.3 lies between 0x3a = 1.25 and 0x3b = 1.375.
    let told = "tensor `a.weight`: 1 wrong code: element 5 is 1.2999999523162842e0 in the source and has the code 0x38, \
                which is 1e0; right would be 0x3a, which is 1.25e0";
    assert!(text.contains(told), "{text}");
    let line = "smallfloat: error: `q.safetensors` is not what `other.safetensors` gives: 1 wrong code in 1 tensor, the first \
                of which is `a.weight`\n";
    assert_eq!(error, line);

    let (text, _) = run(folder, 1, &["verify", "q.safetensors", "--source", "other.safetensors", "--json"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let found = &json["source"]["disagreements"][0];
    assert_eq!(
        (&json["source"]["wrong_codes"], &found["kind"], &found["element"]),
        (&1.into(), &"code".into(), &5.into())
    );
    assert_eq!((&found["code"], &found["right"]), (&0x38.into(), &serde_json::json!([0x3a])));
}

#[test]
fn folders_and_files_that_do_not_say_their_rounding() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    for name in ["in", "other"] {
        fs::create_dir(folder.join(name)).expect("a folder");
        write(&folder.join(name).join("model-1.safetensors"), "a", 1.0);
        write(&folder.join(name).join("model-2.safetensors"), "b", if name == "in" { 1.0 } else { -0.77 });
    }
    let args = ["in", "-o", "out", "--scheme", "fp8", "--rounding", "toward-zero"];
    run(folder, 0, &[&["quantize"], &args[..]].concat());
    let checked = ["verify", "out", "--source"];
    run(folder, 0, &[&checked[..], &["in", "--rounding", "toward-zero"]].concat());
    let (text, _) = run(folder, 1, &[&checked[..], &["in"]].concat());
    assert!(text.contains("tensor `a.weight`"), "{text}");
    let (text, error) = run(folder, 1, &[&checked[..], &["other", "--rounding", "toward-zero"]].concat());
    assert!(
        text.contains("tensor `b.weight`: 1 wrong code: element 5 ") && error.contains("in 1 tensor, "),
        "{text}{error}"
    );

    let (_, error) = run(folder, 1, &["verify", "out", "--rounding", "toward-zero"]);
    assert!(error.contains("name it with --source"), "{error}");
    run(folder, 2, &["verify", "out", "--format", "cfloat8_1_4_3"]);
}
