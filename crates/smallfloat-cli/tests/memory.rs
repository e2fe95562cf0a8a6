//! Peak memory of the command, as the system measured it: at most 64 MiB and 8 MiB a thread, however long the file. The
//! inputs are sparse files, so that their size costs no disk. With `SMALLFLOAT_EXTENSIVE=1` a gibibyte goes through every
//! command that reads all of a file.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const THREADS: u64 = 2;
const LIMIT: u64 = (64 + 8 * THREADS) * MIB;

/// A safetensors file of tensors of zeros with these many bytes each.
fn sparse(path: &Path, sizes: &[u64]) {
    let mut begin = 0;
    let entry = |(i, bytes): (usize, &u64)| {
        let end = begin + bytes;
        let offsets = format!("[{begin},{end}]");
        begin = end;
        format!(r#""w{i}":{{"dtype":"F32","shape":[{}],"data_offsets":{offsets}}}"#, bytes / 4)
    };
    let entries: Vec<_> = sizes.iter().enumerate().map(entry).collect();
    let header = format!("{{{}}}", entries.join(","));
    let start = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    fs::write(path, &start).unwrap();
    File::options().write(true).open(path).unwrap().set_len(start.len() as u64 + begin).unwrap();
}

/// Runs the command; gives its standard output. The peak of all children so far stays within the limit.
#[track_caller]
fn run(folder: &TempDir, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_smallfloat"))
        .args(args)
        .current_dir(folder.path())
        .env("RAYON_NUM_THREADS", THREADS.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let peak = u64::try_from(getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()).unwrap() * 1024;
    assert!(peak <= LIMIT, "{args:?} took {} MiB", peak / MIB);
    eprintln!("{} MiB at most up to {args:?}", peak / MIB);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn memory_is_bounded_whatever_the_size() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("huge.safetensors"), &[2 * GIB; 50]);
    let text = run(&folder, &["inspect", "huge.safetensors"]);
    assert!(text.contains("26,843,545,600 elements"), "{text}");
    run(&folder, &["inspect", "huge.safetensors", "--json"]);
    // A hundred gibibytes and one of 64 MiB: planned, and the small shard written.
    sparse(&folder.path().join("pair.safetensors"), &[100 * GIB, 64 * MIB]);
    run(&folder, &["plan", "pair.safetensors", "-o", "shards", "--shards", "2", "--plan", "plan.json"]);
    run(&folder, &["apply", "plan.json", "--shard", "1"]);
    let shard = folder.path().join("shards/model-00002-of-00002.safetensors");
    assert_eq!(fs::metadata(shard).unwrap().len() / MIB, 16);

    let size = if std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some() { GIB } else { 128 * MIB };
    sparse(&folder.path().join("in.safetensors"), &[size]);
    run(&folder, &["quantize", "in.safetensors", "-o", "q.safetensors", "--json"]);
    run(
        &folder,
        &["quantize", "in.safetensors", "-o", "wide.safetensors", "--format", "shp", "--plot", "p.svg"],
    );
    run(&folder, &["verify", "q.safetensors"]);
    run(&folder, &["dequantize", "q.safetensors", "-o", "b.safetensors"]);
    run(&folder, &["compare", "in.safetensors", "b.safetensors"]);
    run(&folder, &["compare", "in.safetensors", "q.safetensors"]);
    assert_eq!(fs::metadata(folder.path().join("b.safetensors")).unwrap().len() / MIB, size / MIB);
}
