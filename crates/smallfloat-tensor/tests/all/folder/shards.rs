//! Plans: whatever the partition, the order, the threads and the accidents, the tensors are those
//! of `quantize`.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::common::{File, Random, Tensor, names, sha256};
use safetensors::Dtype::{BF16, F32};
use serde_json::{Value, json};
use smallfloat::{RandomBits, Rounding};
use smallfloat_tensor::{
    Options, Plan, Scheme, Sharding, Share, apply, finalize, leftovers, plan, quantize, verify,
};

/// A checkpoint of three files. Query, key and value of a layer lie in different files, and so do
/// gate and up.
fn checkpoint(folder: &Path) -> PathBuf {
    let input = folder.join("in");
    fs::create_dir(&input).unwrap();
    let mut random = Random(7);
    let mut matrix = |dtype, scale: f64, rows: usize| {
        Tensor::of(dtype, &random.normals(rows * 64, scale)).shaped(&[rows, 64])
    };
    let files = [
        vec![
            ("layers.0.q_proj.weight", matrix(F32, 1.0, 32)),
            ("layers.0.mlp.gate_proj.weight", matrix(BF16, 0.3, 48)),
            ("layers.0.norm.weight", Tensor::f32(&[1.0, 0.5, 2.0])),
            ("positions", Tensor::new(safetensors::Dtype::I64, &[2], vec![9; 16])),
        ],
        vec![
            ("layers.0.k_proj.weight", matrix(F32, 30.0, 32)),
            ("layers.0.mlp.up_proj.weight", matrix(F32, 9.0, 48)),
            ("layers.1.q_proj.weight", matrix(BF16, 0.02, 32)),
        ],
        vec![
            ("layers.0.v_proj.weight", matrix(F32, 0.1, 32)),
            ("layers.1.k_proj.weight", matrix(F32, 0.5, 32)),
            ("layers.1.v_proj.weight", matrix(F32, 0.7, 32)),
            ("lm_head.weight", matrix(F32, 3.0, 1200)),
        ],
    ];
    let mut map = BTreeMap::new();
    for (i, tensors) in files.into_iter().enumerate() {
        let name = format!("model-{:05}-of-00003.safetensors", i + 1);
        map.extend(tensors.iter().map(|(tensor, _)| ((*tensor).to_owned(), name.clone())));
        let mut file = File::of(tensors);
        file.metadata.insert("format".to_owned(), "pt".to_owned());
        file.write(&input.join(name));
    }
    let index = json!({ "metadata": {}, "weight_map": map });
    fs::write(input.join("model.safetensors.index.json"), index.to_string()).unwrap();
    fs::write(input.join("config.json"), r#"{"model_type": "llama", "hidden_size": 64}"#).unwrap();
    fs::write(input.join("vocab.txt"), "a\nb\n").unwrap();
    input
}

/// Ways of quantizing that could notice a partition: biases of tensors, random words, shared
/// scales, blocks.
fn ways() -> Vec<Options> {
    let cfloat = Options::new("cfloat8_1_4_3".parse().unwrap());
    let bits = RandomBits::from_word32(32, 0).unwrap();
    let scheme = |name: &str, share| Options { share, ..name.parse::<Scheme>().unwrap().options() };
    vec![
        Options { rounding: Some(Rounding::StochasticA(bits)), seed: Some(5), ..cfloat.clone() },
        Options { share: Share::known(), histograms: true, ..cfloat },
        scheme("fp8", Share::known()),
        scheme("mxfp4", Share::none()),
        scheme("nvfp4-pack-quantized", Share::known()),
    ]
}

fn count(n: u64) -> Sharding {
    Sharding::Count(NonZeroU64::new(n).unwrap())
}

/// Every tensor in a folder's files, and the entries that describe them.
fn everything(folder: &Path) -> (BTreeMap<String, Tensor>, BTreeMap<String, Value>) {
    let (mut tensors, mut entries) = (BTreeMap::new(), BTreeMap::new());
    for name in names(folder).iter().filter(|name| name.ends_with(".safetensors")) {
        let file = File::read(&folder.join(name));
        assert_eq!(file.metadata["format"], "pt");
        if file.metadata.contains_key("smallfloat.tensors") {
            entries.extend(file.entries().as_object().unwrap().clone());
        }
        for (tensor, data) in file.tensors {
            assert!(tensors.insert(tensor, data).is_none(), "each tensor is written once");
        }
    }
    (tensors, entries)
}

/// A report without what may differ: time, and bytes of headers.
fn plain(report: &impl serde::Serialize) -> Value {
    let mut report = serde_json::to_value(report).unwrap();
    report["seconds"].take();
    report["bytes_out"].take();
    report
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The numbers below `n` in some order.
fn shuffled(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|_| random.next());
    order
}

#[test]
fn every_partition_and_number_of_threads_gives_the_same_tensors() {
    let dir = tempfile::tempdir().unwrap();
    let input = checkpoint(dir.path());
    let mut random = Random(1);
    for (way, options) in ways().into_iter().enumerate() {
        let whole = dir.path().join(format!("whole-{way}"));
        let report = quantize(&input, &whole, &options, &|_| true, &mut |_| ()).unwrap();
        let expected = everything(&whole);
        for shards in [1, 2, 3, 7, 16] {
            for threads in [1, 2, 3] {
                let output = dir.path().join(format!("{way}-{shards}-{threads}"));
                let plan = plan(&input, &output, &options, &|_| true, count(shards)).unwrap();
                assert!(plan.shards() as u64 <= shards && (plan.shards() > 1 || shards == 1));
                let plan = Plan::from_json(&plan.to_json().unwrap(), "plan").unwrap();
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for shard in shuffled(plan.shards(), &mut random) {
                    pool.install(|| apply(&plan, shard, true, &mut |_| ()).unwrap());
                }
                let merged = finalize(&plan, true, &mut |_| ()).unwrap();
                assert_eq!(everything(&output), expected, "way {way}, {shards} shards, {threads} threads");
                assert_eq!(plain(&merged), plain(&report));
                assert_eq!(json_of(&output.join("config.json")), json_of(&whole.join("config.json")));
                assert_eq!(fs::read(output.join("vocab.txt")).unwrap(), b"a\nb\n");
                check_index(&output, &expected.0);
            }
        }
    }
}

/// The index names every tensor in the file that has it, and the bytes of all of them.
fn check_index(folder: &Path, tensors: &BTreeMap<String, Tensor>) {
    let index = json_of(&folder.join("model.safetensors.index.json"));
    let map = index["weight_map"].as_object().unwrap();
    assert_eq!(map.len(), tensors.len());
    for (name, file) in map {
        assert!(File::read(&folder.join(file.as_str().unwrap())).tensors.contains_key(name));
    }
    let bytes: usize = tensors.values().map(|tensor| tensor.bytes.len()).sum();
    assert_eq!(index["metadata"]["total_size"], bytes);
}

#[test]
fn shards_by_files_are_the_files_of_quantize() {
    let dir = tempfile::tempdir().unwrap();
    let input = checkpoint(dir.path());
    for (way, options) in ways().into_iter().enumerate() {
        let [whole, output] = ["whole", "shards"].map(|name| dir.path().join(format!("{name}-{way}")));
        quantize(&input, &whole, &options, &|_| true, &mut |_| ()).unwrap();
        let plan = plan(&input, &output, &options, &|_| true, Sharding::Files).unwrap();
        for shard in [2, 0, 1] {
            apply(&plan, shard, true, &mut |_| ()).unwrap();
        }
        finalize(&plan, true, &mut |_| ()).unwrap();
        for name in names(&whole) {
            let digest = |folder: &Path| sha256(&fs::read(folder.join(&name)).unwrap());
            assert_eq!(digest(&output), digest(&whole), "{name}");
        }
        let reports = (1..=3).map(|i| format!("model-{i:05}-of-00003.report.json"));
        let more: Vec<String> = names(&output).into_iter().filter(|n| !names(&whole).contains(n)).collect();
        assert_eq!(more, reports.collect::<Vec<_>>());
    }
}

#[test]
fn sizes_bound_shards_and_groups_stay_whole() {
    let dir = tempfile::tempdir().unwrap();
    let input = checkpoint(dir.path());
    let output = dir.path().join("out");
    let options = &ways()[2];
    let limit = 8000;
    let plan = plan(
        &input,
        &output,
        options,
        &|name| name != "lm_head.weight",
        Sharding::Bytes(NonZeroU64::new(limit).unwrap()),
    )
    .unwrap();
    let json: Value = serde_json::from_slice(&plan.to_json().unwrap()).unwrap();
    let shard_of = |name: &str| {
        let tensors = json["tensors"].as_array().unwrap();
        tensors.iter().find(|tensor| tensor["name"] == name).unwrap()["shard"].as_u64().unwrap()
    };
    for layer in 0..2 {
        let shards = ["q", "k", "v"].map(|part| shard_of(&format!("layers.{layer}.{part}_proj.weight")));
        assert!(shards.iter().all(|&shard| shard == shards[0]));
    }
    // Three codes matrices of 2048 bytes and scales of 4 are below the limit, with the 6144 of gate
    // and up they are not.
    assert_ne!(shard_of("layers.0.q_proj.weight"), shard_of("layers.0.mlp.gate_proj.weight"));
    // 1200 × 64 × 4 bytes, copied: a tensor is not cut.
    let bytes: Vec<u64> = plan.shard_bytes().collect();
    assert_eq!(bytes.iter().filter(|&&bytes| bytes > limit).collect::<Vec<_>>(), [&(1200 * 64 * 4)]);
    // With the positions and the norm, which are first in the file and copied.
    assert_eq!(bytes[0], 2 * 8 + 3 * 4 + 3 * (2048 + 4));
}

/// A plan of seven shards of the checkpoint.
fn seven(folder: &Path) -> (PathBuf, Plan) {
    let input = checkpoint(folder);
    let plan = plan(&input, folder.join("out"), &ways()[0], &|_| true, count(7)).unwrap();
    (input, plan)
}

#[test]
fn applying_again_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, plan) = seven(dir.path());
    for shard in [3, 0, 1, 6, 2, 5, 4] {
        assert!(!apply(&plan, shard, true, &mut |_| ()).unwrap().was_complete);
    }
    let report = finalize(&plan, true, &mut |_| ()).unwrap();
    let bytes = |name: &String| fs::read(plan.output().join(name)).unwrap();
    let before: Vec<_> = names(plan.output()).iter().map(bytes).collect();
    for shard in 0..7 {
        let again = apply(&plan, shard, true, &mut |_| ()).unwrap();
        assert!(again.was_complete && !again.report.tensors.is_empty());
    }
    assert_eq!(finalize(&plan, true, &mut |_| ()).unwrap(), report);
    assert_eq!(names(plan.output()).iter().map(bytes).collect::<Vec<_>>(), before);
}

#[test]
fn a_plan_is_the_same_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let (input, first) = seven(dir.path());
    let second = plan(&input, first.output(), &ways()[0], &|_| true, count(7)).unwrap();
    assert_eq!(first.to_json().unwrap(), second.to_json().unwrap());
    assert!(!first.output().exists());
    let lengths = (1..=3).map(|i| fs::metadata(input.join(format!("model-0000{i}-of-00003.safetensors"))));
    assert_eq!(first.bytes_in(), lengths.map(|file| file.unwrap().len()).sum::<u64>());
    // One shard has the name of a model in one file.
    let one = plan(&input, first.output(), &ways()[0], &|_| true, count(1)).unwrap();
    let text = String::from_utf8_lossy(&one.to_json().unwrap()).into_owned();
    assert!(text.contains("\"model.safetensors\"") && !text.contains("-of-00001"), "{text}");
}

/// Shards of another plan are none of this one, though their names and tensors are the same.
#[test]
fn shards_of_another_plan_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let (input, first) = seven(dir.path());
    let other = Options { seed: Some(6), ..ways()[0].clone() };
    let other = plan(&input, first.output(), &other, &|_| true, count(7)).unwrap();
    for shard in 0..7 {
        apply(&first, shard, true, &mut |_| ()).unwrap();
    }
    let error = finalize(&other, true, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("7 of 7 shards"), "{error}");
    finalize(&first, true, &mut |_| ()).unwrap();
}

#[test]
fn missing_and_corrupted_shards_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_, plan) = seven(dir.path());
    let incomplete = |digests| finalize(&plan, digests, &mut |_| ()).unwrap_err().to_string();
    assert!(incomplete(true).contains("7 of 7 shards"), "{}", incomplete(true));
    for shard in [0, 1, 3, 4, 6] {
        apply(&plan, shard, true, &mut |_| ()).unwrap();
    }
    let message = incomplete(true);
    assert!(message.contains("2 of 7 shards") && message.contains("(again): 2,5; shard 2: cannot open"));
    assert!(!plan.output().join("config.json").exists());
    for shard in [2, 5] {
        apply(&plan, shard, false, &mut |_| ()).unwrap();
    }
    // One bit of the data.
    let path = plan.shard_path(4).unwrap();
    let good = fs::read(&path).unwrap();
    let mut bytes = good.clone();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(incomplete(true).contains("(again): 4; shard 4"), "{}", incomplete(true));
    assert!(incomplete(true).contains("has the SHA-256"));
    // Lengths alone don't tell.
    finalize(&plan, false, &mut |_| ()).unwrap();
    fs::write(&path, &bytes[1..]).unwrap();
    assert!(incomplete(false).contains("its report"), "{}", incomplete(false));
    assert!(!apply(&plan, 4, true, &mut |_| ()).unwrap().was_complete);
    assert_eq!(fs::read(&path).unwrap(), good);
    fs::write(plan.report_path(1).unwrap(), "{}").unwrap();
    assert!(incomplete(true).contains("is no report of a shard"));
    fs::copy(plan.report_path(0).unwrap(), plan.report_path(1).unwrap()).unwrap();
    assert!(incomplete(true).contains("another plan or shard"));
    apply(&plan, 1, true, &mut |_| ()).unwrap();
    finalize(&plan, true, &mut |_| ()).unwrap();
}

#[test]
fn inputs_that_changed_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (input, plan) = seven(dir.path());
    let refused = |part: &str| {
        let error = apply(&plan, 0, true, &mut |_| ()).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
        assert!(!plan.output().exists());
    };
    let path = input.join("model-00002-of-00003.safetensors");
    let good = fs::read(&path).unwrap();
    let mut file = File::read(&path);
    file.tensors.insert("more".to_owned(), Tensor::f32(&[1.0]));
    file.write(&path);
    refused("`: has changed since the plan was made: it had");
    // A name of the same length.
    let from = b"layers.1.q_proj";
    let at = good.windows(from.len()).position(|part| part == from).unwrap();
    let mut bytes = good.clone();
    bytes[at + 7] = b'7';
    fs::write(&path, bytes).unwrap();
    refused("its header is another one");
    fs::write(&path, good).unwrap();
    fs::write(input.join("config.json"), "{}").unwrap();
    refused("config.json`: has changed");
    assert!(
        finalize(&plan, true, &mut |_| ()).unwrap_err().to_string().contains("config.json`: has changed")
    );
}

#[test]
fn what_a_killed_run_left_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let (_, plan) = seven(dir.path());
    let output = plan.shard_path(0).unwrap();
    fs::create_dir(plan.output()).unwrap();
    // Half a file under its temporary name, and one that came to its place without a report.
    let name = output.file_name().unwrap().to_str().unwrap();
    let temporary = plan.output().join(format!(".{name}.smallfloat-abc123.tmp"));
    fs::write(&temporary, "half").unwrap();
    fs::write(&output, "other").unwrap();
    assert!(!apply(&plan, 0, true, &mut |_| ()).unwrap().was_complete);
    verify(&output).unwrap();
    assert_eq!(leftovers(&output).unwrap(), [temporary]);
    assert!(apply(&plan, 0, true, &mut |_| ()).unwrap().was_complete);
}

/// What is done to the JSON of a good plan.
type Change<'a> = &'a dyn Fn(&mut Value);

#[test]
fn plans_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let (_, plan) = seven(dir.path());
    let good: Value = serde_json::from_slice(&plan.to_json().unwrap()).unwrap();
    let message = |change: Change<'_>| {
        let mut json = good.clone();
        change(&mut json);
        Plan::from_json(json.to_string().as_bytes(), "p.json").unwrap_err().to_string()
    };
    let newer = message(&|json| *json = json!({ "smallfloat_plan": 2, "other": 1 }));
    assert!(newer.contains("`p.json`: is a plan of version 2, this program reads version 1"), "{newer}");
    let cases: [(Change<'_>, &str); 9] = [
        (&|json| *json = json!([]), "no number `smallfloat_plan`"),
        (&|json| json["more"] = json!(1), "unknown field `more`"),
        (&|json| json["shards"][0]["output"] = json!("../x.safetensors"), "`../x.safetensors` is no name"),
        (&|json| json["shards"][1]["output"] = json!("MODEL-00001-of-00007.safetensors"), "written twice"),
        (&|json| json["copies"][0] = json!("config.json"), "written twice"),
        (&|json| json["inputs"][0]["name"] = json!("/etc/passwd"), "is no name"),
        (&|json| json["tensors"][0]["shard"] = json!(7), "of no input or shard"),
        (&|json| json["shards"][0]["inputs"] = json!([3]), "an input that is not there"),
        (&|json| json["recipe"]["format"] = json!("e9m9"), "e9m9"),
    ];
    for (change, part) in cases {
        assert!(message(change).contains(part), "{}", message(change));
    }
    // What can't be quantized, and what lies elsewhere.
    for (name, field, value) in
        [("positions", "quantized", json!(true)), ("layers.0.norm.weight", "input", json!(1))]
    {
        let mut edited = good.clone();
        let tensors = edited["tensors"].as_array_mut().unwrap();
        tensors.iter_mut().find(|tensor| tensor["name"] == name).unwrap()[field] = value;
        let edited = Plan::from_json(edited.to_string().as_bytes(), "p").unwrap();
        let error = apply(&edited, 0, true, &mut |_| ()).unwrap_err();
        assert_eq!(error.tensor(), Some(name), "{error}");
        assert!(error.to_string().contains("not in the plan as it is"), "{error}");
    }
    let beyond = apply(&plan, 7, true, &mut |_| ()).unwrap_err().to_string();
    assert!(beyond.contains("there is no shard 7: the plan has 7, 0 to 6"), "{beyond}");
}

#[test]
fn folders_that_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let input = checkpoint(dir.path());
    let options = Options::new("e4m3fn".parse().unwrap());
    let made = |input: &Path, output: &Path, options: &Options| {
        plan(input, output, options, &|_| true, Sharding::Files).map(|plan| plan.shards())
    };
    let message = |input: &Path, output: &Path| made(input, output, &options).unwrap_err().to_string();
    assert!(message(&input, &input).contains("into another folder"));
    let file = input.join("model-00001-of-00003.safetensors");
    assert!(message(&file, &input).contains("into another folder"));
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/x"), "").unwrap();
    assert!(message(&input, &dir.path().join("full")).contains("exists already"));
    let overwrite = Options { overwrite: true, ..options.clone() };
    assert_eq!(made(&input, &dir.path().join("full"), &overwrite).unwrap(), 3);
    fs::copy(&file, input.join("copy.safetensors")).unwrap();
    fs::remove_file(input.join("model.safetensors.index.json")).unwrap();
    assert!(message(&input, &dir.path().join("out")).contains("names are unique in a checkpoint"));
}

#[test]
fn a_file_without_tensors_and_an_array() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = File::default();
    file.metadata.insert("format".to_owned(), "pt".to_owned());
    file.write(&dir.path().join("empty.safetensors"));
    let options = Options::new("e4m3fn".parse().unwrap());
    for (i, sharding) in [Sharding::Files, count(3)].into_iter().enumerate() {
        let output = dir.path().join(format!("out-{i}"));
        let plan =
            plan(dir.path().join("empty.safetensors"), &output, &options, &|_| true, sharding).unwrap();
        assert_eq!(plan.shards(), 1);
        apply(&plan, 0, true, &mut |_| ()).unwrap();
        assert_eq!(finalize(&plan, true, &mut |_| ()).unwrap().tensors.len(), 0);
        assert_eq!(File::read(&plan.shard_path(0).unwrap()).metadata["format"], "pt");
    }
    let array = dir.path().join("w.npy");
    let mut writer =
        smallfloat_tensor::NpyWriter::create(&array, smallfloat_tensor::Dtype::F32, &[2], false).unwrap();
    writer.append(&[0, 0, 128, 63, 0, 0, 0, 64]).unwrap();
    writer.finish().unwrap();
    let plan = plan(&array, dir.path().join("array"), &options, &|_| true, Sharding::Files).unwrap();
    apply(&plan, 0, true, &mut |_| ()).unwrap();
    finalize(&plan, true, &mut |_| ()).unwrap();
    assert_eq!(names(plan.output()), ["w.report.json", "w.safetensors"]);
    // 1 and 2 in E4M3FN, whose bias is 7.
    assert_eq!(File::read(&plan.shard_path(0).unwrap()).tensors["w"].bytes, [0b0_0111_000, 0b0_1000_000]);
}
