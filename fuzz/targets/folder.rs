//! Checkpoint folders: configurations, indexes and plans that are mutated make errors, never a
//! panic, and a plan that is read is written as it was read.
//!
//! The first byte chooses the file; the rest is its text. The folder has two shards of a scheme
//! whose blocks `config.json` names.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use smallfloat_tensor::{
    Options, Plan, Scheme, Sharding, Sink, SinkOptions, TensorSpec, open_checkpoint, plan, quantize, verify,
};

/// A quantized folder and the files that a case replaces.
struct Folder {
    path: PathBuf,
    config: Vec<u8>,
    index: Vec<u8>,
}

fn options() -> Options {
    "mxfp4-pack-quantized".parse::<Scheme>().expect("a scheme").options()
}

fn folder() -> &'static Folder {
    static FOLDER: OnceLock<Folder> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("smallfloat-fuzz-folder-{}", std::process::id()));
        let (input, path) = (root.join("in"), root.join("q"));
        std::fs::create_dir_all(&input).expect("a temporary folder");
        for shard in 1..=2 {
            let name = format!("model-0000{shard}-of-00002.safetensors");
            let spec = TensorSpec::new(format!("l.{shard}.weight"), smallfloat_tensor::Dtype::F32, [2, 64]);
            let options = SinkOptions { overwrite: true, ..SinkOptions::default() };
            let sink = Sink::create(input.join(name), vec![spec], Vec::new(), options).expect("a file");
            let bytes: Vec<u8> = (0..128_u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
            sink.append(0, &bytes).expect("room");
            sink.finish().expect("a whole file");
        }
        std::fs::write(input.join("config.json"), "{}").expect("a file");
        let options = Options { overwrite: true, ..options() };
        quantize(&input, &path, &options, &|_| true, &mut |_| ()).expect("a checkpoint");
        let read = |name: &str| std::fs::read(path.join(name)).expect("it is written");
        Folder { config: read("config.json"), index: read("model.safetensors.index.json"), path }
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let folder = folder();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path.join(name), bytes).expect("a file");
    match choice % 3 {
        0 => put("config.json", text),
        1 => put("model.safetensors.index.json", text),
        _ => {
            if let Ok(plan) = Plan::from_json(text, "plan.json") {
                let again = plan.to_json().expect("a plan that was read can be written");
                assert_eq!(Plan::from_json(&again, "plan.json").expect("and read again"), plan);
            }
            return;
        }
    }
    if let Ok(verified) = verify(&folder.path) {
        assert_eq!((verified.files, verified.tensors), (2, 2));
    }
    let _ = open_checkpoint(&folder.path);
    let out = folder.path.with_extension("out");
    let _ = plan(
        &folder.path,
        &out,
        &Options::new("e4m3fn".parse().expect("a format")),
        &|_| true,
        Sharding::Files,
    );
    put("config.json", &folder.config);
    put("model.safetensors.index.json", &folder.index);
});
