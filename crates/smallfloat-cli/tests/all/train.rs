//! `smallfloat train`: runs, reports, pictures, checkpoints that outlive a kill, and what it
//! refuses.
#![cfg(feature = "train")]

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

fn train(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("train").args(args);
    command
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON")
}

#[test]
fn a_run_with_report_and_picture() {
    let folder = tempfile::tempdir().unwrap();
    let [report, picture] = ["run.json", "run.svg"].map(|name| folder.path().join(name));
    let outputs = ["--report", report.to_str().unwrap(), "--plot", picture.to_str().unwrap()];
    train(&["--steps", "60", "--preset", "flag-driven"]).args(outputs).assert().success().stdout(
        contains("flag-driven").and(contains("8.00")).and(contains("after 60 steps of 67,338 parameters")),
    );
    let found = json(&report);
    assert_eq!((&found["preset"], &found["steps"]), (&"flag-driven".into(), &60.into()));
    for key in ["train_loss", "validation_loss", "seconds", "bytes_per_parameter"] {
        assert!(found[key].as_f64().is_some_and(f64::is_finite), "{key}");
    }
    assert_eq!(found["losses"].as_array().map(Vec::len), Some(60));
    let biases = found["biases"].as_array().unwrap();
    // Four layers with three operands each.
    assert_eq!(biases.len(), 12);
    for bias in biases {
        // Each change begins where the one before ended, and the last leads to the bias that the
        // report names.
        let mut now = bias["first"].as_i64().unwrap();
        for change in bias["changes"].as_array().unwrap() {
            assert_eq!(change["from"].as_i64().unwrap(), now);
            now = change["to"].as_i64().unwrap();
            assert_eq!((now - change["from"].as_i64().unwrap()).abs(), 1, "flags move by one");
        }
        assert_eq!(bias["bias"].as_i64().unwrap(), now, "{}", bias["tensor"]);
    }
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("linear2.gradients") && svg.contains("flag-driven"));
    // Nothing is replaced unasked.
    train(&["--steps", "1"]).args(outputs).assert().code(1).stderr(contains("exists already"));
}

#[test]
fn runs_compared() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    fs::write(&text, "a small text that is read again and again. ".repeat(40)).unwrap();
    let page = folder.path().join("runs.html");
    let output =
        train(&["--data", text.to_str().unwrap(), "--batch", "2", "--steps", "3", "--seeds", "2", "--json"])
            .args(["--plot", page.to_str().unwrap(), "--compare", "f32", "five-bytes"])
            .assert()
            .success();
    let found: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let runs = found["runs"].as_array().unwrap();
    let named: Vec<_> =
        runs.iter().map(|run| (run["preset"].as_str().unwrap(), run["seed"].as_u64().unwrap())).collect();
    assert_eq!(named, [("f32", 0), ("f32", 1), ("five-bytes", 0), ("five-bytes", 1)]);
    assert!(runs[2]["bytes_per_parameter"].as_f64().unwrap() < 5.01);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_run_that_diverges_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.json");
    let hot = ["--steps", "20", "--rate", "300", "--report", file.to_str().unwrap(), "--compare", "f32"];
    // Weights that saturate stay finite.
    let told = contains("f32, seed 0: step 5: loss has").and(contains("1 of 2 runs have diverged"));
    train(&hot).arg("cfloat8").assert().code(1).stdout(contains("cfloat8")).stderr(told);
    let found = json(&file);
    let names = |of: &str| found[of].as_array().unwrap().iter().map(|run| run["preset"].clone()).collect();
    let (runs, diverged): (Vec<Value>, Vec<Value>) = (names("runs"), names("diverged"));
    assert_eq!((runs, diverged), (vec!["cfloat8".into()], vec!["f32".into()]));
    assert!(found["diverged"][0]["error"].as_str().unwrap().contains("NaN or infinite"));
    // Nothing is written where no run has a result.
    fs::remove_file(&file).unwrap();
    train(&hot)
        .arg("mxfp8")
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("all runs have diverged; the first"));
    assert!(!file.exists());
}

#[test]
fn configurations_are_printed_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let printed = train(&["--preset", "all-dojo", "--print-config"]).assert().success();
    fs::write(&path, &printed.get_output().stdout).unwrap();
    let again = train(&["--config", path.to_str().unwrap(), "--print-config"]).assert().success();
    assert_eq!(again.get_output().stdout, printed.get_output().stdout);
    fs::write(&path, "[weights]\nformat = \"cfloat8_1_4_3\"\n").unwrap();
    train(&["--config", path.to_str().unwrap()]).assert().code(1).stderr(contains("needs a bias"));
    train(&["--preset", "nonsense"]).assert().code(1).stderr(contains("flag-driven"));
    train(&["--preset", "f32", "--accumulate", "exact"]).assert().code(1).stderr(contains("f32"));
    train(&["--data", "/no/such/text"]).assert().code(1).stderr(contains("/no/such/text"));
    train(&["--model", "char-transformer"]).assert().code(1).stderr(contains("--data"));
    train(&["--help"])
        .assert()
        .success()
        .stdout(contains("Examples:\n  smallfloat").and(contains("five-bytes")));
}

#[test]
fn biases_are_numbers_and_errors_name_their_class() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let config = path.to_str().unwrap();
    // A number is a number, in quotes or not.
    fs::write(&path, "[activations]\nformat = \"cfloat8_1_4_3\"\nbias = 12\n").unwrap();
    train(&["--config", config, "--print-config"]).assert().success().stdout(contains("bias = \"12\""));
    for (text, parts) in [
        ("format = \"cfloat8_1_4_3\"\nbias = 1.5", ["a whole number", "activations.bias"]),
        ("format = \"cfloat8_1_4_3\"\nbias = 64", ["activations: bias = 64", "0..=63"]),
        ("format = \"e4m3fn\"\nbias = 61", ["activations: scale 2^61", "-60 to 60"]),
        ("format = \"e4m3fn\"\nbias = \"flags\"", ["activations: bias flags", "take amax"]),
        ("format = \"cfloat8_1_4_3\"\nbias = 7\nstart = 5", ["activations: `start = 5`", "leave it out"]),
        ("format = \"cfloat9\"", ["cfloat8_1_4_3", "for key `activations.format`"]),
    ] {
        fs::write(&path, format!("\n\n[activations]\n{text}\n")).unwrap();
        let refused =
            train(&["--config", config]).assert().code(1).stderr(contains("`").and(contains("mine.toml")));
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(
            parts.iter().all(|part| error.contains(part)) && !error.contains("line 1"),
            "{text}: {error}"
        );
    }
}

/// What is wrong with any run is told before the first one begins.
#[test]
fn options_that_contradict_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], part: &str| {
        train(args).assert().code(1).stdout("").stderr(contains(part));
    };
    refused(&["--compare", "f32", "F32"], "--compare names f32 twice");
    refused(&["--print-config", "--compare", "f32", "bf16"], "prints one configuration");
    refused(&["--seed", "18446744073709551615", "--seeds", "2"], "beyond 2^64");
    let runs = folder.path().join("runs");
    let runs = runs.to_str().unwrap();
    train(&["--steps", "1", "--preset", "bf16", "--checkpoint", runs]).assert().success();
    let saved = || fs::read_dir(runs).unwrap().count();
    refused(
        &["--steps", "1", "--compare", "f32", "bf16", "--checkpoint", runs],
        "bf16-0.safetensors` exists",
    );
    assert_eq!(saved(), 1, "f32 was not run");
    refused(
        &["--steps", "1", "--compare", "cfloat8", "mxfp4", "--accumulate", "exact", "--checkpoint", runs],
        "mxfp4",
    );
    assert_eq!(saved(), 1, "cfloat8 was not run");
    refused(
        &["--steps", "2", "--rate", "0.5", "--preset", "bf16", "--checkpoint", runs, "--resume"],
        "with other options (--steps 1, not 2, --rate 0.05, not 0.5)",
    );
}

/// An IDX file of unsigned bytes.
fn idx(shape: &[u32], data: &[u8]) -> Vec<u8> {
    let head = [0, 0, 8, u8::try_from(shape.len()).unwrap()].into_iter();
    head.chain(shape.iter().flat_map(|n| n.to_be_bytes())).chain(data.iter().copied()).collect()
}

#[test]
fn data_that_no_run_can_learn_from_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for part in ["train", "t10k"] {
        write(&format!("{part}-images-idx3-ubyte"), &idx(&[2, 0, 0], &[]));
        write(&format!("{part}-labels-idx1-ubyte"), &idx(&[2], &[0, 1]));
    }
    train(&["--data", data, "--steps", "1"])
        .assert()
        .code(1)
        .stderr(contains("train-images-idx3-ubyte").and(contains("dimensions [2, 0, 0]")));
    for part in ["train", "t10k"] {
        write(&format!("{part}-images-idx3-ubyte"), &idx(&[2, 1, 2], &[0, 255, 255, 0]));
    }
    train(&["--data", data, "--steps", "1"]).assert().success();
    train(&["--data", data, "--batch", "3"]).assert().code(1).stderr(contains("has 2 images"));
    train(&["--batch", "1000000000"]).assert().code(1).stderr(contains("1437 images"));
    train(&["--memory-limit", "1"]).assert().code(1).stderr(contains("limit of 1 MiB"));
    #[cfg(unix)]
    {
        train(&["--data", "/dev/zero"]).assert().code(1).stderr(contains("not a regular file"));
        train(&["--config", "/dev/zero"]).assert().code(1).stderr(contains("not a regular file"));
    }
}

/// The tensors and the state of a checkpoint, without the seconds that the run took.
fn without_seconds(path: &Path) -> (Vec<u8>, Value) {
    let bytes = fs::read(path).unwrap();
    let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let text = header["__metadata__"]["smallfloat.train.2"].as_str().unwrap();
    let mut state: Value = serde_json::from_str(text).unwrap();
    state["seconds"] = 0.into();
    (bytes[8 + length..].to_vec(), state)
}

#[test]
fn a_killed_run_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, killed] = ["whole", "killed"].map(|name| folder.path().join(name));
    let arguments = |folder: &Path, threads: &str| {
        let folder = folder.to_str().unwrap();
        ["--preset", "five-bytes", "--accumulate", "exact", "--steps", "40", "--every", "1", "--batch", "16"]
            .into_iter()
            .chain(["--threads", threads, "--resume", "--checkpoint", folder])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let file = killed.join("five-bytes-0.safetensors");
    let mut child = Process::new(assert_cmd::cargo::cargo_bin!("smallfloat"))
        .arg("train")
        .args(arguments(&killed, "2"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !file.exists() && began.elapsed() < Duration::from_secs(50) {
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = without_seconds(&file).1["done"].as_u64().unwrap();
    assert!(done >= 1);
    let run = |folder, threads| {
        Command::cargo_bin("smallfloat")
            .unwrap()
            .arg("train")
            .args(arguments(folder, threads))
            .assert()
            .success();
    };
    run(&killed, "7");
    run(&whole, "1");
    assert!(
        without_seconds(&file) == without_seconds(&whole.join("five-bytes-0.safetensors")),
        "killed after step {done}"
    );
    train(&["--preset", "five-bytes", "--steps", "41", "--resume", "--checkpoint", killed.to_str().unwrap()])
        .assert()
        .code(1)
        .stderr(contains("other options"));
}

/// A name of another kind of picture promises what is not written.
#[test]
fn pictures_are_svg() {
    let folder = tempfile::tempdir().unwrap();
    let picture = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["a.png", "a.PDF"] {
        let path = picture(name);
        train(&["--steps", "1", "--plot", &path])
            .assert()
            .code(1)
            .stderr(contains("pictures are written as SVG").and(contains(name)));
        assert!(!Path::new(&path).exists(), "{name}");
    }
    for (name, beginning) in [("a.svg", "<svg"), ("a", "<svg"), ("a.html", "<!doctype html>")] {
        let path = picture(name);
        train(&["--steps", "1", "--plot", &path]).assert().success();
        assert!(fs::read_to_string(path).unwrap().starts_with(beginning), "{name}");
    }
}

/// The perceptron's momentum has no second moment; the net's Adam has one.
#[test]
fn a_second_moment_that_no_run_keeps_is_told() {
    let told = || contains("note: all-dojo, uhp-v: ").and(contains("state.second_moment is not used"));
    train(&["--steps", "1", "--compare", "f32", "all-dojo", "uhp-v"]).assert().success().stderr(told());
    for other in [["--model", "cnn", "--preset", "all-dojo"], ["--model", "mlp", "--preset", "cfloat8"]] {
        let quiet = contains("second_moment").not();
        train(&["--steps", "1", "--batch", "2"]).args(other).assert().success().stderr(quiet);
    }
}

#[test]
fn a_folder_without_images_is_told() {
    let folder = tempfile::tempdir().unwrap();
    train(&["--data", folder.path().to_str().unwrap()])
        .assert()
        .code(1)
        .stderr(contains("neither `train-images-idx3-ubyte` nor `train-images-idx3-ubyte.gz`"));
}
