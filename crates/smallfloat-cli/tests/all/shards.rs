//! `plan`, `apply` and `finalize` as a user runs them: by hand, as tasks of an array, and after
//! mistakes.

use std::fs;
use std::path::Path;

use crate::common::{command, refuses, run};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde_json::Value;

/// A checkpoint of two files with three matrices each, and its configuration.
fn checkpoint(folder: &Path) {
    fs::create_dir(folder.join("in")).expect("a folder");
    for file in 0..2_u8 {
        let bytes: Vec<Vec<u8>> = (0..3_u8)
            .map(|i| {
                let first = f32::from(file * 3 + i + 1);
                (0..64_u8).flat_map(|j| (first * (f32::from(j) - 31.5)).to_le_bytes()).collect()
            })
            .collect();
        let views = bytes.iter().enumerate().map(|(i, bytes)| {
            let name = format!("layers.{file}.{}.weight", ["q_proj", "k_proj", "out"][i]);
            (name, TensorView::new(Dtype::F32, vec![2, 32], bytes).expect("a tensor"))
        });
        let path = folder.join(format!("in/model-{}-of-00002.safetensors", file + 1));
        fs::write(path, serialize(views, None).expect("a file")).expect("the file can be written");
    }
    fs::write(folder.join("in/config.json"), r#"{"model_type": "llama"}"#).expect("a file");
    fs::write(folder.join("in/tokenizer.json"), "{}").expect("a file");
}

/// Names, types, shapes and bytes of all tensors in a folder's files.
fn tensors(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            let bytes = fs::read(path).expect("a file");
            let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
            all.extend(file.tensors().into_iter().map(|(name, tensor)| (name, format!("{tensor:?}"))));
        }
    }
    all.sort();
    all
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn three_commands_do_what_quantize_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    checkpoint(folder);
    for (name, recipe) in [
        ("fp8", &["--scheme", "fp8"][..]),
        (
            "stochastic",
            &[
                "--rounding",
                "stochastic-a",
                "--seed",
                "3",
                "--granularity",
                "channel",
                "--exclude",
                "*.out.*",
            ],
        ),
    ] {
        let [whole, parts, plan] = ["whole", "parts", "plan"].map(|kind| format!("{kind}-{name}"));
        let report = format!("report-{name}");
        let recipe = |args: &[&'static str]| [args, recipe].concat();
        let quantize = [&recipe(&["quantize", "in"])[..], &["-o", &whole, "--report", &report]].concat();
        run(folder, &quantize);
        let planned =
            run(folder, &[&recipe(&["shard", "plan", "in", "--shards", "3"])[..], &["-o", &parts]].concat());
        fs::write(folder.join(&plan), planned).expect("a file");
        // By number, as a task of an array, and with a number of threads.
        run(folder, &["shard", "apply", &plan, "--shard", "2", "--threads", "1"]);
        command(folder, &["shard", "apply", &plan]).env("SLURM_ARRAY_TASK_ID", "0").assert().success();
        refuses(folder, &["shard", "finalize", &plan], 1, &["1 of 3 shards", "(again): 1;", "cannot open"]);
        let applied = run(folder, &["shard", "apply", &plan, "--shard", "1", "--json"]);
        let applied: Value = serde_json::from_str(&applied).expect("JSON");
        assert_eq!(applied["tensors"].as_array().map(Vec::len), Some(if name == "fp8" { 1 } else { 2 }));
        assert!(run(folder, &["shard", "apply", &plan, "--shard", "1"]).contains("was complete"));
        let merged = format!("merged-{name}");
        let text = run(folder, &["shard", "finalize", &plan, "--report", &merged]);
        assert!(text.contains("every shard has the digest of its report"), "{text}");
        run(folder, &["shard", "finalize", &plan]);

        assert_eq!(tensors(&folder.join(&parts)), tensors(&folder.join(&whole)));
        let configs = [&whole, &parts].map(|output| json(&folder.join(output).join("config.json")));
        assert_eq!(configs[0], configs[1]);
        assert!(folder.join(&parts).join("tokenizer.json").exists());
        let index = json(&folder.join(&parts).join("model.safetensors.index.json"));
        let file = index["weight_map"]["layers.1.out.weight"].as_str().expect("a file");
        assert_eq!(file, "model-00003-of-00003.safetensors");
        let [report, merged] = [report, merged].map(|path| {
            let mut report = json(&folder.join(path));
            // Time, and the bytes of three headers instead of two.
            report["seconds"].take();
            report["bytes_out"].take();
            report
        });
        assert_eq!(report, merged);
    }
}

#[test]
fn a_picture_of_all_shards_is_that_of_quantize() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    checkpoint(folder);
    run(folder, &["quantize", "in", "-o", "out", "--plot", "whole.svg"]);
    fs::remove_dir_all(folder.join("out")).expect("the folder can be removed");
    run(folder, &["shard", "plan", "in", "-o", "out", "--histograms", "--plan", "p.json"]);
    for shard in ["0", "1"] {
        run(folder, &["shard", "apply", "p.json", "--shard", shard]);
    }
    run(folder, &["shard", "finalize", "p.json", "--plot", "parts.svg"]);
    let text = |name| fs::read_to_string(folder.join(name)).expect("a picture");
    // Their titles name what they are given: the input folder, and the output's.
    assert_eq!(text("whole.svg").replacen("in as", "out as", 1), text("parts.svg"));
    assert!(text("parts.svg").contains("layers.1.out.weight"));
    refuses(folder, &["shard", "finalize", "p.json", "--plot", "parts.svg"], 1, &["--plot", "--overwrite"]);
    run(folder, &["shard", "plan", "in", "-o", "out2", "--plan", "plain.json"]);
    refuses(folder, &["shard", "finalize", "plain.json", "--plot", "x.svg"], 1, &["--plot", "--histograms"]);
    let blocks = ["shard", "plan", "in", "-o", "out3", "--scheme", "mxfp4", "--histograms"];
    refuses(folder, &blocks, 1, &["--histograms", "leave it out"]);
}

#[test]
fn folders_are_inspected_verified_and_dequantized() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    checkpoint(folder);
    run(folder, &["quantize", "in", "-o", "q", "--scheme", "fp8"]);
    let text = run(folder, &["inspect", "q"]);
    assert!(text.contains("2 files") && text.contains("6 tensors, 6 of them quantized"), "{text}");
    let inspected: Value = serde_json::from_str(&run(folder, &["inspect", "q", "--json"])).expect("JSON");
    assert_eq!(inspected["files"][1]["file"], "model-2-of-00002.safetensors");
    assert_eq!(inspected["tensors"][5]["file"], "model-2-of-00002.safetensors");
    let verified: Value = serde_json::from_str(&run(folder, &["verify", "q", "--json"])).expect("JSON");
    assert_eq!((&verified["files"], &verified["tensors"]), (&2.into(), &6.into()));
    run(folder, &["dequantize", "q", "-o", "back", "--dtype", "bf16", "--rounding", "nearest-even"]);
    assert_eq!(tensors(&folder.join("back")).len(), 6);
    refuses(folder, &["dequantize", "q", "-o", "back"], 1, &["back", "exists already"]);
    refuses(folder, &["verify", "in"], 1, &["no file of this folder"]);
}

#[test]
fn plans_are_files_and_the_same_each_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    checkpoint(folder);
    let args = ["shard", "plan", "in", "-o", "out", "--shard-bytes", "1KiB"];
    let printed = run(folder, &args);
    assert_eq!(run(folder, &args), printed);
    run(folder, &[&args[..], &["--plan", "p.json"]].concat());
    assert_eq!(fs::read_to_string(folder.join("p.json")).expect("a file"), printed);
    assert!(!folder.join("out").exists());
    refuses(folder, &[&args[..], &["--plan", "p.json"]].concat(), 1, &["--plan", "--overwrite"]);
    let plan: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(plan["smallfloat_plan"], 1);
    // Six tensors of 64 codes and a bias.
    assert_eq!(plan["shards"][0]["bytes_out"], 6 * 65);
}

#[test]
fn mistakes_are_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path();
    checkpoint(folder);
    run(folder, &["shard", "plan", "in", "-o", "out", "--plan", "p.json"]);
    refuses(folder, &["shard", "apply", "p.json"], 1, &["--shard I", "SLURM_ARRAY_TASK_ID"]);
    refuses(folder, &["shard", "apply", "p.json", "--shard", "2"], 1, &["there is no shard 2", "0 to 1"]);
    refuses(folder, &["shard", "apply", "in/config.json", "--shard", "0"], 1, &["is no plan"]);
    refuses(folder, &["shard", "apply", "none.json", "--shard", "0"], 1, &["none.json"]);
    refuses(folder, &["shard", "plan", "in", "-o", "in"], 1, &["another folder"]);
    refuses(folder, &["shard", "plan", "-", "-o", "out"], 1, &["standard input is gone"]);
    refuses(folder, &["shard", "plan", "in", "-o", "out", "--include", "nothing"], 1, &["--include"]);
    for bad in
        [&["--shards", "0"][..], &["--shard-bytes", "5 parsecs"], &["--shards", "2", "--shard-bytes", "9"]]
    {
        refuses(folder, &[&["shard", "plan", "in", "-o", "out"], bad].concat(), 2, &["--shard"]);
    }
    let mut task = command(folder, &["shard", "apply", "p.json"]);
    let assert = task.env("SLURM_ARRAY_TASK_ID", "one").assert().code(1);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains("is `one`"));
    fs::write(folder.join("in/model-2-of-00002.safetensors"), "shorter").expect("a file");
    refuses(folder, &["shard", "apply", "p.json", "--shard", "0"], 1, &["model-2-of-00002.safetensors"]);
    fs::copy(folder.join("in/model-1-of-00002.safetensors"), folder.join("in/model-2-of-00002.safetensors"))
        .expect("a file");
    refuses(
        folder,
        &["shard", "apply", "p.json", "--shard", "0"],
        1,
        &["has changed since the plan was made"],
    );
}
