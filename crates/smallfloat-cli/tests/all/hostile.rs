//! Inputs that were made to mislead: control characters in every text of every file, streams that
//! never end, side files that are pipes or devices, reports that would replace what they are about.

use std::fs;
use std::io::Write as _;
use std::process::{Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Place, f32s, numbers, refuses};
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};

/// Clears the screen, rings, goes back, reorders, hides, and begins a line of its own.
const HOSTILE: &str = "a\x1b[2J\x07\r\u{7f}\u{9b}31m\u{202e}\u{2066}\u{200b}\nFORGED: verified\n";

/// Holds everything that a run prints: nothing that a terminal acts on, and no line that the text
/// of a file began.
#[track_caller]
fn harmless(output: &Output, what: &str) {
    for stream in [&output.stdout, &output.stderr] {
        let text = str::from_utf8(stream).unwrap_or_else(|_| panic!("{what}: not text"));
        let acts = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(acts), "{what}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{what}: {text}");
    }
    assert!(output.status.code().is_some_and(|code| code <= 2), "{what}: {:?}", output.status);
}

fn check(place: &Place, args: &[&str]) -> Output {
    let output = place.command(args).output().expect("the command runs");
    harmless(&output, &format!("{args:?}"));
    output
}

/// Every text in a JSON value, one after the other, replaced by hostile text: keys too.
fn spoiled(value: &Value) -> Vec<Value> {
    match value {
        Value::String(_) => vec![json!(HOSTILE)],
        Value::Array(items) => {
            let spoil = |i: usize| {
                spoiled(&items[i]).into_iter().map(move |bad| {
                    let mut items = items.clone();
                    items[i] = bad;
                    Value::Array(items)
                })
            };
            (0..items.len()).flat_map(spoil).collect()
        }
        Value::Object(fields) => {
            let mut all = Vec::new();
            for (key, field) in fields {
                for bad in spoiled(field) {
                    let mut fields = fields.clone();
                    fields[key] = bad;
                    all.push(Value::Object(fields));
                }
                let mut fields = fields.clone();
                let field = fields.remove(key).expect("it is there");
                fields.insert(HOSTILE.to_owned(), field);
                all.push(Value::Object(fields));
            }
            all
        }
        _ => Vec::new(),
    }
}

fn safetensors(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn header_of(bytes: &[u8]) -> (Value, Vec<u8>) {
    let len = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("eight"))).expect("short");
    (serde_json::from_slice(&bytes[8..8 + len]).expect("JSON"), bytes[8 + len..].to_vec())
}

#[test]
fn text_of_tensor_files_reaches_no_terminal_raw() {
    let place = Place::new();
    let values = f32s(&numbers(64, 1.0));
    let view = || TensorView::new(Dtype::F32, vec![2, 32], &values).expect("a tensor");
    let names = [format!("{HOSTILE}.weight"), "plain.weight".to_owned()];
    let text = std::collections::HashMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    let bytes = serialize(names.map(|name| (name, view())), Some(text)).expect("a file");
    fs::write(place.path("in.safetensors"), bytes).expect("a file");
    for args in [
        &["inspect", "in.safetensors"][..],
        &["inspect", "in.safetensors", "--json"],
        &["inspect", "in.safetensors", "--bias-report"],
        &["quantize", "in.safetensors", "-o", "q.safetensors", "--json", "--overwrite"],
        &["quantize", "in.safetensors", "-o", "q.safetensors", "--overwrite"],
        &["quantize", "in.safetensors", "-o", "mx.safetensors", "--scheme", "mxfp4"],
        &["inspect", "q.safetensors"],
        &["verify", "q.safetensors"],
        &["verify", "q.safetensors", "--source", "in.safetensors"],
        &["compare", "in.safetensors", "q.safetensors"],
        &["dequantize", "q.safetensors", "-o", "f.safetensors"],
        &["shard", "plan", "in.safetensors", "-o", "shards", "--plan", "plan.json"],
        &["shard", "apply", "plan.json", "--shard", "0"],
        &["shard", "finalize", "plan.json"],
    ] {
        assert!(check(&place, args).status.success(), "{args:?}");
    }
    for args in [
        &["verify", "in.safetensors"][..],
        &["quantize", "in.safetensors", "-o", "x.safetensors", "--format", "uint"],
        &["quantize", "in.safetensors", "-o", "x.safetensors", "--include", "none"],
    ] {
        check(&place, args);
    }
    // Every text in the headers of a file of floats and of a container, with its entries.
    let mut count = 0;
    for file in ["in.safetensors", "q.safetensors", "mx.safetensors"] {
        let (header, data) = header_of(&place.read(file));
        let mut headers = spoiled(&header);
        if let Some(entries) = header["__metadata__"].get("smallfloat.tensors") {
            let entries: Value = serde_json::from_str(entries.as_str().expect("text")).expect("JSON");
            headers.extend(spoiled(&entries).into_iter().map(|entries| {
                let mut header = header.clone();
                header["__metadata__"]["smallfloat.tensors"] = json!(entries.to_string());
                header
            }));
        }
        for header in headers {
            fs::write(place.path("bad.safetensors"), safetensors(&header, &data)).expect("a file");
            check(&place, &["verify", "bad.safetensors"]);
            check(&place, &["inspect", "bad.safetensors"]);
            count += 1;
        }
    }
    assert!(count > 60, "{count} files");
}

#[test]
fn text_of_side_files_reaches_no_terminal_raw() {
    let place = Place::new();
    fs::create_dir(place.path("in")).expect("a folder");
    for shard in 1..=2 {
        let name = format!("in/model-{shard:05}-of-00002.safetensors");
        place.tensors(&name, &[(&format!("{shard}.weight"), Dtype::F32, &[2, 32], f32s(&numbers(64, 1.0)))]);
    }
    let index = json!({ "metadata": {}, "weight_map": {
        "1.weight": "model-00001-of-00002.safetensors", "2.weight": "model-00002-of-00002.safetensors",
    } });
    fs::write(place.path("in/model.safetensors.index.json"), index.to_string()).expect("a file");
    fs::write(place.path("in/config.json"), "{}").expect("a file");
    fs::write(place.path("in").join(format!("{HOSTILE}.txt")), "").expect("a file");
    fs::create_dir(place.path("in").join(HOSTILE)).expect("a folder");
    place.run(&["quantize", "in", "-o", "q", "--scheme", "mxfp4-pack-quantized"]);
    let plan = ["shard", "plan", "in", "-o", "shards", "--plan", "plan.json", "--overwrite"];
    place.run(&plan);
    check(&place, &plan);
    let mut count = 0;
    for (path, command) in [
        ("q/config.json", &["verify", "q"][..]),
        ("q/model.safetensors.index.json", &["verify", "q"]),
        ("in/model.safetensors.index.json", &["inspect", "in"]),
        ("plan.json", &["shard", "apply", "plan.json", "--shard", "0"]),
        ("plan.json", &["shard", "finalize", "plan.json"]),
    ] {
        let whole = place.read(path);
        for bad in spoiled(&serde_json::from_slice(&whole).expect("JSON")) {
            fs::write(place.path(path), bad.to_string()).expect("a file");
            check(&place, command);
            count += 1;
        }
        fs::write(place.path(path), &whole).expect("a file");
    }
    assert!(count > 60, "{count} files");
    check(&place, &["quantize", "in", "-o", "again"]);
}

#[test]
fn lines_and_settings_reach_no_terminal_raw() {
    let place = Place::new();
    let vectors = place.run(&["vectors", "gen", "--op", "Add", "--format", "e2m1fn"]);
    let lines: Vec<&str> = vectors.lines().take(12).collect();
    for i in 0..lines.len() {
        for bad in [HOSTILE.to_owned(), format!("{} {HOSTILE}", lines[i]), lines[i].replace(' ', "\x1b")] {
            let mut lines: Vec<&str> = lines.clone();
            lines[i] = &bad;
            fs::write(place.path("bad.txt"), lines.join("\n")).expect("a file");
            check(&place, &["vectors", "check", "bad.txt"]);
        }
    }
    for text in [
        format!("batch = \"{}\"", HOSTILE.escape_default()),
        format!(
            "\"{}\" = 1",
            HOSTILE.replace('\n', "\\n").replace('\r', "\\r").replace(['\x1b', '\x07', '\x7f'], "\\u001b")
        ),
        HOSTILE.to_owned(),
    ] {
        fs::write(place.path("run.toml"), text).expect("a file");
        check(&place, &["train", "digits", "--config", "run.toml"]);
    }
    for input in [HOSTILE.to_owned(), HOSTILE.replace('\n', " ")] {
        for args in [&["convert", "e4m3fn"][..], &["show", "e4m3fn"], &["eval", "Add<e4m3fn,e4m3fn,e4m3fn>"]]
        {
            let output = place.command(args).write_stdin(input.clone()).output().expect("the command runs");
            harmless(&output, &format!("{args:?} of a hostile line"));
        }
    }
}

#[test]
fn reports_never_replace_what_they_are_about() {
    let place = Place::new();
    place.tensors("in.safetensors", &[("w", Dtype::F32, &[8], f32s(&numbers(8, 1.0)))]);
    fs::create_dir(place.path("folder")).expect("a folder");
    fs::copy(place.path("in.safetensors"), place.path("folder/model.safetensors")).expect("a copy");
    for (input, report) in [
        ("in.safetensors", "in.safetensors"),
        ("in.safetensors", "./in.safetensors"),
        ("in.safetensors", "folder/../in.safetensors"),
        ("folder", "folder/model.safetensors"),
    ] {
        for option in ["--report", "--plot"] {
            let args = ["quantize", input, "-o", "out", option, report, "--overwrite", "--bias", "7"];
            refuses(place.folder(), &args, 1, &["is an input"]);
        }
    }
    let same = ["quantize", "in.safetensors", "-o", "out", "--report", "./out"];
    refuses(place.folder(), &same, 1, &["name the same file"]);
    assert!(!place.path("out").exists());
}

/// Runs the command on a stream that never ends, and tells how it failed and how long it took.
fn endless(place: &Place, args: &[&str], begin: &[u8]) -> (String, Duration) {
    let began = Instant::now();
    let mut child = Process::new(env!("CARGO_BIN_EXE_smallfloat"))
        .args(args)
        .current_dir(place.folder())
        .env("TMPDIR", place.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(begin);
    let zeros = vec![0; 1 << 16];
    let mut sent = begin.len();
    while stdin.write_all(&zeros).is_ok() {
        sent += zeros.len();
        assert!(sent < 1 << 28, "{args:?} takes what never ends");
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    (String::from_utf8(output.stderr).expect("text"), began.elapsed())
}

#[test]
fn standard_input_is_judged_by_its_header_and_named() {
    let place = Place::new();
    let header = json!({ "w": { "dtype": "U8", "shape": [4], "data_offsets": [0, 4] } });
    let whole = safetensors(&header, &[1, 2, 3, 4]);
    for (begin, part) in
        [(&b""[..], "too short"), (&whole, "goes on after the"), (b"GGUF\x03\0\0\0", "a GGUF file")]
    {
        for args in [&["inspect", "-"][..], &["verify", "-"], &["quantize", "-", "-o", "out"]] {
            let (message, _) = endless(&place, args, begin);
            assert!(message.contains(part) && message.contains("`standard input`"), "{args:?}: {message}");
            assert!(!message.contains("stdin"), "{message}");
        }
    }
    let output = place.command(&["verify", "-"]).write_stdin(whole).output().expect("the command runs");
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("`standard input`: is no quantized file"), "{message}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}
