//! `smallfloat lab`: the list, tables, JSON, pictures, real tensors, what it refuses, and the pages
//! of `docs/lab`.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;
use smallfloat_lab::experiments::EXPERIMENTS;
use smallfloat_tensor::{Dtype, NpyWriter};

fn lab(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("lab").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = lab(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(args: &[&str]) -> Value {
    let args = [args, &["--json"]].concat();
    serde_json::from_str(&stdout(&args)).expect("JSON")
}

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").join("docs/lab")
}

#[test]
fn experiments_are_listed() {
    let text = stdout(&[]);
    for experiment in EXPERIMENTS {
        assert!(text.contains(experiment.name), "{text}");
    }
    let rows = json(&[]);
    assert_eq!(rows.as_array().map(Vec::len), Some(EXPERIMENTS.len()));
    assert_eq!(rows[0]["options"][0], "--format");
}

/// Infinities and NaN are words in JSON, and the erratum is told.
#[test]
fn the_talks_table() {
    let found = json(&["dot-saturation", "--trials", "1", "--length", "2"]);
    let row = &found["tables"][0]["rows"][1];
    assert_eq!((&row[1], &row[2], &row[3]), (&34848.0.into(), &"-Inf".into(), &"NaN".into()));
    assert!(found["notes"][0].as_str().is_some_and(|note| note.starts_with("Erratum")));
    lab(&["dot-saturation", "--trials", "1", "--length", "2"])
        .assert()
        .success()
        .stdout(contains("34848.0 / Inf / NaN").and(contains("-Inf")));
}

/// Of four non-zero numbers two are at most 2^−11, half of Binary8p4se's smallest value.
#[test]
fn real_tensors_pictures_and_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut writer = NpyWriter::create(path("x.npy"), Dtype::F32, &[2, 3], false).expect("a writer");
    for x in [1.0_f32, -0.000_488_281_25, 0.0, 0.000_1, -0.0, 0.001] {
        writer.append(&x.to_le_bytes()).expect("an element");
    }
    writer.finish().expect("a file");

    let (svg, report) = (path("x.svg"), path("x.json"));
    let args = [
        "underflow",
        "--format",
        "binary8p4se",
        "--input",
        &path("x.npy"),
        "--plot",
        &svg,
        "--report",
        &report,
    ];
    let text = stdout(&args);
    assert!(text.contains("50.00 %"), "{text}");
    let found: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(found["tables"][0]["rows"][0][2], 4);
    assert_eq!(found["tables"][0]["rows"][0][3], 0.5);
    let svg = fs::read_to_string(&svg).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains("binary8p4se"), "{svg}");
    lab(&args).assert().code(1).stderr(contains("--overwrite"));

    let found = json(&["negative-zero", "--format", "binary8p4se", "--input", &path("x.npy")]);
    let row = &found["tables"][1]["rows"][0];
    assert_eq!([2, 3, 5].map(|column| row[column].as_u64()), [Some(6), Some(1), Some(2)], "{row}");
}

#[test]
fn wrong_usage_is_refused() {
    lab(&["dot"]).assert().code(1).stderr(contains("dot-saturation").and(contains("`dot`")));
    lab(&["decisions", "--seed", "1"]).assert().code(1).stderr(contains("it takes --format"));
    lab(&["dot-saturation", "--tree", "chunks:0"]).assert().code(2).stderr(contains("chunks:N"));
    lab(&["accumulate", "--length", "0"]).assert().code(1).stderr(contains("2^20"));
    for option in [["--format", "e4m3fn"], ["--plot", "x.svg"], ["--seed", "1"]] {
        lab(&option).assert().code(1).stdout("").stderr(contains("which experiment?"));
    }
    lab(&["underflow", "--input", "no.safetensors"]).assert().code(1).stderr(contains("no.safetensors"));
}

/// Every experiment has a section with its picture and command; those that take no time are what
/// the page says.
#[test]
fn pages_are_up_to_date() {
    let read = |name: &str| fs::read_to_string(pages().join(name)).expect("a page");
    let all = ["sums.md", "networks.md", "formats.md", "training.md", "papers.md"].map(read).concat();
    let index = read("README.md");
    for experiment in EXPERIMENTS {
        let name = experiment.name;
        assert!(all.contains(&format!("smallfloat lab {name} ")), "{name}: no command");
        assert!(all.contains(&format!("({name}.svg)")), "{name}: no picture");
        assert!(index.contains(&format!("[{name}](")), "{name} is not in the index");
        if ["decisions", "subnormals", "layer-norm", "few-bits", "exponent-bits"].contains(&name) {
            assert!(all.contains(stdout(&[name]).trim_end()), "{name}: run `just lab`");
        }
    }
}

/// Far numbers are shown with their exponents, not with hundreds of zeros.
#[test]
fn far_updates() {
    let text = stdout(&["accumulate", "--update", "1e300", "--length", "100", "--trials", "1"]);
    assert!(text.contains("--update 1e300") && text.contains("1 + 100 × 1e300 = 1e302 in"), "{text}");
    lab(&["accumulate", "--update=-1e300"])
        .assert()
        .code(1)
        .stderr(contains("--update -1e300: expected a positive number"));
}
