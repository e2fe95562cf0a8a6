//! What someone sees first: the help's groups, names that moved, completions, manual pages, and
//! output that nobody reads to its end.

use std::fs;
use std::io::pipe;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::common::{Place, refuses, words};

#[test]
fn the_help_has_every_command_under_a_heading() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    for heading in
        ["Look at formats:", "Compute:", "Quantize files:", "Test hardware:", "Options:", "Examples:"]
    {
        assert!(help.lines().any(|line| line == heading), "{heading}\n{help}");
    }
    assert!(!help.contains('\x1b'), "{help}");
    let shard = place.run(&["shard", "--help"]);
    for step in ["plan", "apply", "finalize"] {
        assert!(shard.contains(&format!("\n  {step} ")), "{shard}");
        let hint = format!("'shard {step}'");
        refuses(place.folder(), &[step, "x"], 2, &[&hint]);
    }
    refuses(place.folder(), &["gen"], 2, &["'vectors gen'"]);
    refuses(place.folder(), &["tabel"], 2, &["'table'"]);
}

#[test]
fn every_shell_gets_completions() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&["completions", shell]);
        for word in ["smallfloat", "quantize", "finalize", "overwrite"] {
            assert!(script.contains(word), "{shell} does not know `{word}`");
        }
    }
    refuses(place.folder(), &["completions", "sh"], 2, &["bash", "zsh"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    assert!(place.run(&["man", "pages/man1"]).ends_with("pages in pages/man1\n"));
    for name in ["smallfloat", "smallfloat-quantize", "smallfloat-shard-plan", "smallfloat-vectors-gen"] {
        let page = fs::read_to_string(place.path(&format!("pages/man1/{name}.1"))).expect("a page");
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Examples:"), "{name}");
    }
    refuses(place.folder(), &["man", "pages/man1"], 1, &["--overwrite"]);
    place.run(&["man", "pages/man1", "--overwrite"]);
}

/// Calls that print, every command's.
const PRINTING: &[&[&str]] = &[
    &[],
    &["--json"],
    &["--help"],
    &["--version"],
    &["formats"],
    &["formats", "--json"],
    &["table", "uhp"],
    &["table", "uhp", "--csv"],
    &["table", "uhp", "--json"],
    &["show", "e4m3fn", "code:0x39"],
    &["show", "e4m3fn", "code:0x39", "--json"],
    &["convert", "--to", "e5m2", "1"],
    &["convert", "--to", "e5m2", "--json", "1"],
    &["eval", "Add<e4m3fn, e4m3fn, e4m3fn>", "1", "2"],
    &["eval", "Add<e4m3fn, e4m3fn, e4m3fn>", "1", "2", "--json"],
    &["supports"],
    &["supports", "--json"],
    &["kappa"],
    &["vectors", "gen", "--op", "convert", "--from", "e4m3fn", "--to", "e5m2"],
    &["vectors", "check", "vectors.txt"],
    &["vectors", "check", "vectors.txt", "--json"],
    &["lab"],
    &["lab", "--json"],
    &["lab", "dot-saturation", "--trials", "2"],
    &["lab", "dot-saturation", "--trials", "2", "--json"],
    &["quantize", "x.npy", "-o", "small.safetensors", "--format", "e4m3fn", "--overwrite"],
    &["quantize", "x.npy", "-o", "small.safetensors", "--format", "e4m3fn", "--overwrite", "--json"],
    &["inspect", "q.safetensors"],
    &["inspect", "q.safetensors", "--json"],
    &["compare", "x.npy", "q.safetensors"],
    &["compare", "x.npy", "q.safetensors", "--json"],
    &["verify", "q.safetensors"],
    &["verify", "q.safetensors", "--json"],
    &["doctor", "q.safetensors"],
    &["doctor", "q.safetensors", "--json"],
    &["dequantize", "q.safetensors", "-o", "wide.safetensors", "--overwrite"],
    &["clean", "q.safetensors"],
    &["shard", "plan", "x.npy", "-o", "shards"],
    &["shard", "apply", "plan.json", "--shard", "0"],
    &["shard", "apply", "plan.json", "--shard", "0", "--json"],
    &["shard", "finalize", "plan.json"],
    &["shard", "finalize", "plan.json", "--json"],
    &["completions", "bash"],
    &["man", "pages"],
];

#[test]
fn a_closed_pipe_is_success_for_every_command() {
    let place = Place::new();
    fs::write(place.path("x.npy"), crate::common::npy(&crate::common::numbers(1000, 1.0)))
        .expect("the file is written");
    place.run(&["quantize", "x.npy", "-o", "q.safetensors", "--format", "e4m3fn"]);
    place.run(&["shard", "plan", "x.npy", "-o", "shards", "--plan", "plan.json"]);
    place.run(&words("vectors gen --op convert --from e4m3fn --to e5m2 -o vectors.txt"));
    let mut wrong = Vec::new();
    for args in PRINTING {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(cargo_bin("smallfloat"));
        let command = command.args(*args).current_dir(place.folder()).stdin(Stdio::null()).stdout(writer);
        let output = command.output().expect("the command runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        // What a plan is in words goes to standard error.
        let silent = errors.is_empty() || args.contains(&"plan") && !errors.contains("error");
        if !output.status.success() || !silent {
            wrong.push(format!("{args:?}: {:?}: {errors}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A message that nobody reads is no failure of its own.
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(cargo_bin("smallfloat"));
    let status = command.args(["table", "none"]).stderr(writer).status().expect("the command runs");
    assert_eq!(status.code(), Some(1));
}
