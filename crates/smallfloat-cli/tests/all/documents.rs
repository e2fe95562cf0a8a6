//! The commands that the documents show are run: each block marked `sh` or `console`, in a folder
//! with small files under the names that documents use. What a `console` block shows as output is
//! compared; a line `…` stands for any lines.
//!
//! The guide's programs in Rust are the text of the crates' examples.
//!
//! A comment directly above a block excuses it: `<!-- not run: WHY -->` all of it,
//! `<!-- output not compared: WHY -->` the output.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::common::{Place, f32s, numbers};
use assert_cmd::cargo::cargo_bin;
use safetensors::tensor::Dtype;

/// A fenced block of a document.
struct Block {
    /// The line of its fence, from 1.
    line: usize,
    language: String,
    lines: Vec<String>,
    /// The last line of text above it.
    above: String,
}

/// A command of a block, and the lines that follow it in a `console` block.
struct Call {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// What was done with a document's blocks.
#[derive(Default)]
struct Count {
    blocks: usize,
    commands: usize,
    excused: usize,
    wrong: Vec<String>,
}

/// What a command may begin with: ours, and the programs of [`tools`].
const RUNNABLE: [&str; 3] = ["smallfloat", "my-simulator", "my-unit"];

/// A command that ends when it is told to; `explore.rs` tests it.
const ENDLESS: &str = "smallfloat explore";

fn blocks(text: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let (mut inside, mut above) = (false, String::new());
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(language) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                let (language, above) = (language.to_owned(), std::mem::take(&mut above));
                all.push(Block { line: number, language, lines: Vec::new(), above });
            }
        } else if inside {
            all.last_mut().expect("a fence opened it").lines.push(line.to_owned());
        } else if !line.is_empty() {
            line.clone_into(&mut above);
        }
    }
    all
}

/// The commands of a block, joined where a line ends within quotes, with `\` or with `|`.
fn calls(block: &Block) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    let mut open = false;
    for (number, line) in (block.line + 1..).zip(&block.lines) {
        let is_console = block.language == "console";
        let start = if is_console { line.strip_prefix("$ ") } else { Some(line.as_str()) };
        match (start, all.last_mut()) {
            (_, Some(call)) if open => call.command = format!("{}\n{line}", call.command),
            (Some(text), _) if !text.is_empty() && !text.starts_with('#') => {
                all.push(Call { line: number, command: text.to_owned(), output: Vec::new() });
            }
            (None, Some(call)) => {
                call.output.push(line.clone());
                continue;
            }
            _ => continue,
        }
        let command = &all.last().expect("one was found").command;
        open = command.ends_with(['\\', '|']) || command.matches('\'').count() % 2 == 1;
    }
    all
}

/// Whether lines are as shown; `…` in a line of its own stands for any lines.
fn is_as_shown(shown: &[String], lines: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return lines.is_empty() };
    if first.trim() == "…" {
        return (0..=lines.len()).any(|skipped| is_as_shown(rest, &lines[skipped..]));
    }
    lines.split_first().is_some_and(|(line, others)| line == first && is_as_shown(rest, others))
}

/// The files that documents name.
fn files() -> Place {
    let place = Place::new();
    let ids = (0..4_i64).flat_map(i64::to_le_bytes).collect();
    place.tensors(
        "model.safetensors",
        &[
            ("embeddings.position_ids", Dtype::I64, &[4], ids),
            ("embeddings.word.weight", Dtype::F32, &[16, 128], f32s(&numbers(2048, 2.0))),
            ("layers.0.fc.bias", Dtype::F32, &[128], f32s(&numbers(128, 0.5))),
            ("layers.0.fc.weight", Dtype::F32, &[128, 128], f32s(&numbers(16384, 0.1))),
        ],
    );
    let activations = f32s(&numbers(4 * 128, 3.0));
    place.tensors("activations.safetensors", &[("layers.0.fc", Dtype::F32, &[4, 128], activations)]);
    fs::create_dir(place.path("checkpoint")).expect("a folder");
    fs::copy(place.path("model.safetensors"), place.path("checkpoint/model.safetensors")).expect("a copy");
    fs::write(place.path("checkpoint/config.json"), r#"{"model_type": "llama"}"#).expect("a file");
    let converter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rtl/f32_to_cfloat8.sv");
    fs::copy(converter, place.path("f32_to_cfloat8.sv")).expect("a copy");
    let convert = ["--op", "convert", "--from", "binary32", "--to", "e4m3fn", "--preset", "ocp-saturate"];
    let file = ["--flags", "none", "-o", "results.txt"];
    place.run(&[&["vectors", "gen"], &convert[..], &file].concat());
    place
}

/// A folder with the programs of the reader, that documents call `my-…`: a simulator that gives the
/// right results, and a unit with e^0 = 1.
fn tools() -> Place {
    let place = Place::new();
    for (name, script) in
        [("my-simulator", "#!/bin/sh\ncat \"$1\"\n"), ("my-unit", "#!/bin/sh\necho 0000 40\n")]
    {
        fs::write(place.path(name), script).expect("a script");
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).expect("permission");
    }
    place
}

/// Removes what the command is going to write, so that documents need not say `--overwrite`.
fn remove_outputs(folder: &Path, command: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    for pair in words.windows(2).filter(|pair| ["-o", "--plot", "--report", "--plan"].contains(&pair[0])) {
        let path = folder.join(pair[1].trim_matches('\''));
        assert!(path.starts_with(folder) && !pair[1].contains(".."), "{command}");
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

/// Runs a command and returns what is wrong with it.
fn wrong(call: &Call, folder: &Path, path: &str, compare: bool) -> Option<String> {
    remove_outputs(folder, &call.command);
    let output = Command::new("sh")
        .args(["-c", &call.command])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("SLURM_ARRAY_TASK_ID")
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    // sh's status for a program that it does not find.
    if output.status.code() == Some(127) && call.command.contains("python3 ") {
        eprintln!("SKIPPED: no python3 to run `{}` with", call.command);
        return None;
    }
    if output.status.code() == Some(3)
        && String::from_utf8_lossy(&output.stderr).contains("`yosys` can't be run")
    {
        eprintln!("SKIPPED: no yosys to run `{}` with", call.command);
        return None;
    }
    if !output.status.success() {
        return Some(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    (compare && !is_as_shown(&call.output, &lines)).then(|| format!("prints\n{text}"))
}

/// Runs the blocks of a document, all in one folder.
fn run(document: &Path) -> Count {
    let text = fs::read_to_string(document).expect("a document");
    let (place, tools, mut count) = (files(), tools(), Count::default());
    let binary = cargo_bin("smallfloat");
    let folders = [tools.folder(), binary.parent().expect("a folder")].map(|f| f.display().to_string());
    let path = format!("{}:{}", folders.join(":"), std::env::var("PATH").expect("there is one"));
    for block in blocks(&text) {
        let at = |line: usize| format!("{}:{line}", document.display());
        if !["sh", "console"].contains(&block.language.as_str()) {
            let is_command = |line: &String| line.starts_with("$ ") || line.starts_with("smallfloat ");
            if block.lines.iter().any(is_command) {
                count.wrong.push(format!("{}: has commands; mark it `sh` or `console`", at(block.line)));
            }
            continue;
        }
        if block.above.starts_with("<!-- not run: ") {
            count.excused += 1;
            continue;
        }
        count.blocks += 1;
        let compare = block.language == "console" && !block.above.starts_with("<!-- output not compared: ");
        for call in calls(&block) {
            if call.command.starts_with(ENDLESS) {
                continue;
            }
            count.commands += 1;
            let first = call.command.split_whitespace().next();
            if !first.is_some_and(|first| RUNNABLE.contains(&first)) {
                let hint = "can't be run here; write `<!-- not run: WHY -->` above the block";
                count.wrong.push(format!("{}: `{}` {hint}", at(call.line), call.command));
            } else if let Some(what) = wrong(&call, place.folder(), &path, compare) {
                count.wrong.push(format!("{}: `{}`\n{what}", at(call.line), call.command));
            }
        }
    }
    count
}

#[test]
fn commands_in_documents_do_what_they_show() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut documents: BTreeSet<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "python/README.md"].map(|name| root.join(name)).into();
    for entry in fs::read_dir(root.join("docs")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.insert(path);
        }
    }
    let counts: Vec<Count> = thread::scope(|scope| {
        let runs: Vec<_> = documents.iter().map(|document| scope.spawn(|| run(document))).collect();
        runs.into_iter().map(|run| run.join().expect("the document is read")).collect()
    });
    let total = |part: fn(&Count) -> usize| counts.iter().map(part).sum::<usize>();
    let (ran, commands, excused) = (total(|c| c.blocks), total(|c| c.commands), total(|c| c.excused));
    println!(
        "{} documents: {ran} blocks, {commands} commands run; {excused} blocks not run",
        documents.len()
    );
    let wrong: Vec<String> = counts.into_iter().flat_map(|count| count.wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(commands > 30, "only {commands} commands were found");
}

/// The programs of the guide are the examples that the lines above them link to, from `use` on.
#[test]
fn programs_of_the_guide_are_the_examples() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let guide = fs::read_to_string(folder.join("how-to-rust.md")).expect("the guide");
    let mut shown = 0;
    for block in blocks(&guide).iter().filter(|block| block.language == "rust") {
        let link = block.above.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
        let path = link.unwrap_or_else(|| panic!("line {}: no link above the block", block.line)).0;
        let example = fs::read_to_string(folder.join(path)).expect(path);
        let start = example.find("\nuse ").expect("an example uses its crate") + 1;
        assert_eq!(block.lines.join("\n"), example[start..].trim_end(), "line {} and {path}", block.line);
        shown += 1;
    }
    assert_eq!(shown, 8, "tasks");
}

#[test]
fn blocks_and_outputs_are_told_apart() {
    let text = "a\n\n```console\n$ x 'a\n  b' \\\n  c\nout\n…\nend\n$ y\n```\n";
    let [block] = &blocks(text)[..] else { panic!("one block") };
    assert_eq!((block.line, block.above.as_str()), (3, "a"));
    let [x, y] = &calls(block)[..] else { panic!("two commands") };
    assert_eq!((x.command.as_str(), y.line, y.output.len()), ("x 'a\n  b' \\\n  c", 10, 0));
    assert!(is_as_shown(&x.output, &["out", "1", "2", "end"]) && is_as_shown(&x.output, &["out", "end"]));
    assert!(!is_as_shown(&x.output, &["out", "end", "more"]) && !is_as_shown(&x.output, &["end"]));
}
