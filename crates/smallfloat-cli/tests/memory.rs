//! Peak memory of the command, as the system measured it: at most 64 MiB and 8 MiB a thread,
//! however long the file. The inputs are sparse files, so that their size costs no disk. With
//! `SMALLFLOAT_EXTENSIVE=1` a gibibyte goes through every command that reads all of a file, and
//! eight of them through quantize, verify and dequantize.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
        format!(r#""w{i}":{{"dtype":"F32","shape":[1,{}],"data_offsets":{offsets}}}"#, bytes / 4)
    };
    let entries: Vec<_> = sizes.iter().enumerate().map(entry).collect();
    write_sparse(path, &entries.join(","), begin);
}

/// Writes a sparse file of matrices with names.
fn sparse_matrices(path: &Path, matrices: &[(&str, [u64; 2])]) {
    let mut begin = 0;
    let entry = |(name, [rows, columns]): &(&str, [u64; 2])| {
        let end = begin + 4 * rows * columns;
        let offsets = format!("[{begin},{end}]");
        begin = end;
        format!(r#""{name}.weight":{{"dtype":"F32","shape":[{rows},{columns}],"data_offsets":{offsets}}}"#)
    };
    let entries: Vec<_> = matrices.iter().map(entry).collect();
    write_sparse(path, &entries.join(","), begin);
}

fn write_sparse(path: &Path, entries: &str, data: u64) {
    let header = format!("{{{entries}}}");
    let start = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    fs::write(path, &start).unwrap();
    File::options().write(true).open(path).unwrap().set_len(start.len() as u64 + data).unwrap();
}

/// Runs the command within the limit; gives its standard output.
#[track_caller]
fn run(folder: &TempDir, args: &[&str]) -> String {
    let (output, peak) = peak_of(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(peak <= LIMIT, "{args:?} took {} MiB", peak / MIB);
    eprintln!("{} MiB at most up to {args:?}", peak / MIB);
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the command; gives its output and the highest resident memory of all children so far.
fn peak_of(folder: &TempDir, args: &[&str]) -> (Output, u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_smallfloat"))
        .args(args)
        .current_dir(folder.path())
        .env("RAYON_NUM_THREADS", THREADS.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let peak = u64::try_from(getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()).unwrap() * 1024;
    (output, peak)
}

/// Runs `test` in a process of its own, since the system tells the highest peak of all children of
/// one: runs this program again for the test of this name.
fn alone(name: &str, test: fn(&TempDir)) {
    const ALONE: &str = "SMALLFLOAT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test(&tempfile::tempdir().unwrap());
    }
    let program = std::env::current_exe().unwrap();
    let output =
        Command::new(program).args(["--exact", name, "--nocapture"]).env(ALONE, "").output().unwrap();
    let [text, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
    eprint!("{errors}");
}

#[test]
fn memory_is_bounded_whatever_the_size() {
    alone("memory_is_bounded_whatever_the_size", long_files);
}

#[test]
fn memory_is_bounded_for_many_tensors() {
    alone("memory_is_bounded_for_many_tensors", many_small_tensors);
}

#[test]
fn memory_is_bounded_for_the_longest_headers() {
    alone("memory_is_bounded_for_the_longest_headers", the_longest_headers);
}

fn long_files(folder: &TempDir) {
    sparse(&folder.path().join("huge.safetensors"), &[2 * GIB; 50]);
    let text = run(folder, &["inspect", "huge.safetensors"]);
    assert!(text.contains("26,843,545,600 elements"), "{text}");
    run(folder, &["inspect", "huge.safetensors", "--json"]);
    // A hundred gibibytes and one of 64 MiB: planned, and the small shard written.
    sparse(&folder.path().join("pair.safetensors"), &[100 * GIB, 64 * MIB]);
    run(
        folder,
        &["shard", "plan", "pair.safetensors", "-o", "shards", "--shards", "2", "--plan", "plan.json"],
    );
    run(folder, &["shard", "apply", "plan.json", "--shard", "1"]);
    let shard = folder.path().join("shards/model-00002-of-00002.safetensors");
    assert_eq!(fs::metadata(shard).unwrap().len() / MIB, 16);

    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let size = if extensive { GIB } else { 128 * MIB };
    // Scales a block, a channel, a tensor; rows of more than a tile; biases of small groups.
    let matrices = [("w0", [4096, size / 4 / 4096]), ("w1", [2, 1 << 20])];
    sparse_matrices(&folder.path().join("matrices.safetensors"), &matrices);
    for way in [
        &["--scheme", "mxfp4"][..],
        &["--scheme", "nvfp4"],
        &["--scheme", "fp8", "--include", "*"],
        &["--scheme", "deepseek", "--include", "*"],
        &["--granularity", "channel", "--bias", "amax"],
        &["--granularity", "block:128x128"],
    ] {
        let args = ["quantize", "matrices.safetensors", "-o", "blocks.safetensors", "--overwrite", "--json"];
        run(folder, &[&args[..], way].concat());
    }
    run(folder, &["verify", "blocks.safetensors"]);
    run(folder, &["dequantize", "blocks.safetensors", "-o", "blocks.f32.safetensors"]);
    if extensive {
        sparse(&folder.path().join("in.safetensors"), &[5 * GIB, 3 * GIB]);
        run(folder, &["quantize", "in.safetensors", "-o", "q.safetensors", "--json"]);
        run(folder, &["verify", "q.safetensors"]);
        run(folder, &["dequantize", "q.safetensors", "-o", "b.safetensors"]);
        fs::remove_file(folder.path().join("q.safetensors")).unwrap();
        fs::remove_file(folder.path().join("b.safetensors")).unwrap();
    }
    sparse(&folder.path().join("in.safetensors"), &[size]);
    run(folder, &["quantize", "in.safetensors", "-o", "q.safetensors", "--json"]);
    run(
        folder,
        &["quantize", "in.safetensors", "-o", "wide.safetensors", "--format", "shp", "--plot", "p.svg"],
    );
    run(folder, &["verify", "q.safetensors"]);
    run(folder, &["dequantize", "q.safetensors", "-o", "b.safetensors"]);
    run(folder, &["compare", "in.safetensors", "b.safetensors"]);
    run(folder, &["compare", "in.safetensors", "q.safetensors"]);
    assert_eq!(fs::metadata(folder.path().join("b.safetensors")).unwrap().len() / MIB, size / MIB);
}

/// A hundred thousand empty tensors: forty times their header for whatever is done with them, also
/// where the file of codes has a longer one.
fn many_small_tensors(folder: &TempDir) {
    let entry = |i: u64| format!(r#""{i:x}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#);
    let entries = (0..100_000).map(entry).collect::<Vec<_>>().join(",");
    let length = entries.len() as u64;
    write_sparse(&folder.path().join("many.safetensors"), &entries, 0);
    let quantize =
        &["quantize", "many.safetensors", "-o", "codes.safetensors", "--tensors", "all", "--bias", "7"][..];
    let (mut lines, again) = (Vec::new(), &["--overwrite", "--report", "many.json"][..]);
    for (args, also) in [
        (&["inspect", "many.safetensors"][..], &[][..]),
        (&["inspect", "many.safetensors", "--json"], &[]),
        (&["verify", "many.safetensors"], &[]),
        (quantize, &["--no-verify"]),
        (&["verify", "codes.safetensors"], &[]),
        (&["verify", "codes.safetensors", "--source", "many.safetensors"], &[]),
        (&["dequantize", "codes.safetensors", "-o", "decoded.safetensors"], &[]),
        (&["inspect", "codes.safetensors"], &[]),
        (&["inspect", "codes.safetensors", "--json"], &[]),
        (&["compare", "many.safetensors", "codes.safetensors"], &[]),
        (&["compare", "many.safetensors", "codes.safetensors", "--json"], &[]),
        (&["doctor", "codes.safetensors"], &[]),
        (quantize, &["--overwrite"]),
        (quantize, again),
    ] {
        let args = [args, also].concat();
        let (output, peak) = peak_of(folder, &args);
        assert!(output.status.code().is_some_and(|code| code <= 1), "{args:?}");
        assert!(peak <= 40 * length, "{args:?} took {} MiB of {}", peak / MIB, 40 * length / MIB);
        lines.push(format!("{} MiB at most up to {}", peak / MIB, args.join(" ")));
    }
    eprintln!("{}\n{} MiB are allowed", lines.join("\n"), 40 * length / MIB);
    let header = fs::metadata(folder.path().join("codes.safetensors")).unwrap().len();
    assert!(header > 7 * length, "an entry for every tensor");
}

/// The longest header there may be, a hundred megabytes of the smallest entries there are: the
/// bound of forty times its length, for the process as the system measures it, and for a file that
/// is refused at the header's very end.
fn the_longest_headers(folder: &TempDir) {
    const LONGEST: usize = 100_000_000;
    let path = folder.path().join("long.safetensors");
    for broken in [false, true] {
        let mut header = String::with_capacity(LONGEST);
        let mut i = 0_u64;
        while header.len() < LONGEST - 100 {
            let comma = if i == 0 { '{' } else { ',' };
            write!(header, r#"{comma}"{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#).unwrap();
            i += 1;
        }
        // The fault is behind everything else.
        header.push_str(if broken { ",}" } else { "}" });
        let padding = LONGEST - header.len();
        header.push_str(&" ".repeat(padding));
        fs::write(&path, [&(LONGEST as u64).to_le_bytes(), header.as_bytes()].concat()).unwrap();
        drop(header);
        let (output, peak) = peak_of(folder, &["verify", "long.safetensors"]);
        let message = String::from_utf8_lossy(&output.stderr);
        let part = if broken { "bad header" } else { "is no quantized file" };
        assert!(output.status.code() == Some(1) && message.contains(part), "{message}");
        assert!(peak <= 40 * LONGEST as u64, "{} MiB for {i} tensors", peak / MIB);
        eprintln!("{} MiB at most up to a header of 100 MB, {i} tensors, broken: {broken}", peak / MIB);
    }
}
