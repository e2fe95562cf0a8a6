//! What the command says when it is called wrongly: `errors.txt` has calls, exit statuses and
//! standard error, all of them to be read side by side. `BLESS=1` writes the file anew.
#![cfg(unix)]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Place, f32s, npy, numbers};
use assert_cmd::cargo::cargo_bin;
use safetensors::tensor::Dtype;

/// The calls stand in this file, behind `$ `; the rest of it is compared.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/errors.txt");

/// Designs that `prove` refuses, and one that it proves: their ports after x, and what they do.
const DESIGNS: [(&str, &str, &str); 8] = [
    ("negate.sv", "    output wire [7:0] result", "assign result = x ^ 8'h80;"),
    (
        "mode.sv",
        "    input  wire mode,\n    output wire [7:0] result",
        "assign result = mode ? x : x ^ 8'h80;",
    ),
    (
        "register.sv",
        "    input  wire clk,\n    output reg  [7:0] result",
        "always @(posedge clk) result <= x ^ 8'h80;",
    ),
    (
        "edges.sv",
        "    input  wire clock,\n    output reg  [7:0] result",
        "reg [7:0] a;\n    always @(posedge clock) a <= x;\n    always @(negedge clock) result <= a ^ 8'h80;",
    ),
    ("latch.sv", "    output reg  [7:0] result", "always @* if (x[0]) result = x ^ 8'h80;"),
    ("part.sv", "    output wire [7:0] result", "flip part (.x(x), .y(result));"),
    ("syntax.sv", "    output wire [7:0] result", "assign result = x ^ 8'h80"),
    ("class.sv", "    output wire [7:0] result", "class flip; endclass\n    assign result = x ^ 8'h80;"),
];

/// The Yosys whose words `errors.txt` quotes.
const YOSYS: &str = "Yosys 0.23 ";

/// Returns whether this Yosys is the one in the PATH.
fn has_yosys() -> bool {
    let run = Command::new("yosys").arg("-V").output();
    run.is_ok_and(|run| String::from_utf8_lossy(&run.stdout).starts_with(YOSYS))
}

/// The files that the calls name.
fn files() -> Place {
    let place = Place::new();
    let fc = f32s(&numbers(4096, 0.1));
    let ids = (0..4_i64).flat_map(i64::to_le_bytes).collect();
    place.tensors(
        "model.safetensors",
        &[("fc.weight", Dtype::F32, &[64, 64], fc.clone()), ("ids", Dtype::I64, &[4], ids)],
    );
    place.tensors("nan.safetensors", &[("fc.weight", Dtype::F32, &[1, 2], f32s(&[1.0, f32::NAN]))]);
    place.tensors("ids.safetensors", &[("ids", Dtype::I64, &[1], vec![0; 8])]);
    place.tensors("other.safetensors", &[("gc.weight", Dtype::F32, &[64, 64], fc)]);
    place.tensors(
        "alone.safetensors",
        &[
            ("fc.weight_scale", Dtype::F32, &[1], f32s(&[0.5])),
            ("gc.weight", Dtype::F8_E4M3, &[1, 2], vec![0x38, 0x40]),
        ],
    );
    let model = place.read("model.safetensors");
    let folder = |name: &str| fs::create_dir(place.path(name)).expect("a folder");
    folder("checkpoint");
    folder("empty");
    // As transformers writes models of codes.
    let said = br#"{"quantization_config": {"quant_method": "smallfloat", "version": "2", "tensors": {}}}"#;
    let entry = br#"{"quantization_config": {"quant_method": "smallfloat", "version": "1", "tensors": {"w": {"format": "e4m3fn"}}}}"#;
    for (name, config) in [("said", &said[..]), ("entry", &entry[..])] {
        folder(name);
        place
            .tensors(&format!("{name}/model.safetensors"), &[("w", Dtype::U8, &[1, 2, 1], vec![0x38, 0x40])]);
        fs::write(place.path(name).join("config.json"), config).expect("the file is written");
    }
    let vectors = "# smallfloat vectors 1\n# operation: Convert<binary32, e5m2>\n";
    for (name, bytes) in [
        ("x.npy", npy(&[1.0, 2.0])),
        ("cut.safetensors", model[..model.len() - 5].to_vec()),
        ("notes.txt", b"not tensors\n".to_vec()),
        ("nan-for-list.txt", "# operation: Convert<binary16, nf4>\n# flags: none\n3c00 f\n7e00 f\n".into()),
        ("no-lines.txt", vectors.into()),
        ("wrong-line.txt", format!("{vectors}3f800000 3q 00\n").into()),
        ("other-version.txt", b"# smallfloat vectors 2\n".to_vec()),
        ("other-version.jsonl", b"{\"title\":\"smallfloat vectors 2\"}\n".to_vec()),
        ("byte-order-mark.txt", format!("\u{feff}{vectors}").into()),
        ("wrong-result.txt", format!("{vectors}3f800000 3d 00\n").into()),
        ("plan.json", b"{}".to_vec()),
        ("config.toml", b"[weights]\nformat = \"fp4\"\n".to_vec()),
        ("scheme.toml", b"[weights]\nscheme = \"gguf-bf16\"\n".to_vec()),
        ("data.txt", b"a short text\n".to_vec()),
        ("checkpoint/config.json", br#"{"model_type": "llama"}"#.to_vec()),
        ("checkpoint/model.safetensors", model),
    ] {
        fs::write(place.path(name), bytes).expect("the file is written");
    }
    for (name, ports, body) in DESIGNS {
        let text = format!("module negate (\n    input  wire [7:0] x,\n{ports}\n);\n    {body}\nendmodule\n");
        fs::write(place.path(name), text).expect("the file is written");
    }
    place.run(&["quantize", "model.safetensors", "-o", "small.safetensors"]);
    place.run(&["shard", "plan", "checkpoint", "-o", "shards", "--plan", "shards.json"]);
    let mut broken = place.read("small.safetensors");
    *broken.last_mut().expect("tensors") ^= 0xff;
    fs::write(place.path("broken.safetensors"), broken).expect("the file is written");
    place
}

/// The call and what became of it.
fn entry(call: &str, place: &Place) -> String {
    // Outputs, should one have been written.
    let _ = (fs::remove_file(place.path("a.safetensors")), fs::remove_dir_all(place.path("a")));
    let binary = cargo_bin("smallfloat");
    let path = std::env::var("PATH").expect("there is one");
    let output = Command::new("sh")
        .args(["-c", call])
        .current_dir(place.folder())
        .env("PATH", format!("{}:{path}", binary.parent().expect("a folder").display()))
        .env_remove("SLURM_ARRAY_TASK_ID")
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    let status = output.status.code().expect("it ends by itself");
    let error = String::from_utf8(output.stderr).expect("text");
    // Paths within the folder may be printed whole.
    let folder = place.folder().canonicalize().expect("a folder");
    let error = error.replace(&format!("{}/", folder.display()), "");
    let mut text = format!("$ {call}\n[{status}]\n");
    for line in error.lines() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

#[test]
fn errors_are_as_they_were_read() {
    let known = fs::read_to_string(FILE).expect("the file is there");
    let place = files();
    let calls: Vec<&str> = known.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let entries: Vec<String> = calls.iter().map(|call| entry(call, &place)).collect();
    let now = entries.join("\n");
    if std::env::var_os("BLESS").is_some() {
        fs::write(FILE, &now).expect("the file is written");
        return;
    }
    assert!(calls.len() >= 60, "only {} calls", calls.len());
    let needs_yosys = |entry: &str| entry.starts_with("$ smallfloat prove");
    let has_yosys = has_yosys();
    if !has_yosys {
        eprintln!("LEFT OUT: what `prove` says of designs, without {YOSYS}");
    }
    let compared = |entry: &str| has_yosys || !needs_yosys(entry);
    for entry in entries.iter().filter(|entry| compared(entry)) {
        assert!(!entry.contains("\n[0]\n"), "is no error:\n{entry}");
        let error = entry.lines().nth(2).unwrap_or_default();
        assert!(error.starts_with("smallfloat: error: "), "another style:\n{entry}");
        let known = format!("\n{known}\n").contains(&format!("\n{entry}\n"));
        assert!(known, "BLESS=1 writes tests/errors.txt anew; now it is\n{entry}");
    }
    if has_yosys {
        assert_eq!(now, known, "BLESS=1 writes tests/errors.txt anew");
    }
}
