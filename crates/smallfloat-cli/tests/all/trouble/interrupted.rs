//! Folders in trouble: runs over an old checkpoint folder are killed at random times, every call
//! that makes, writes, flushes, renames or removes a file fails or is the last thing the process
//! does, and signals ask runs to stop. Whatever happens, `verify` passes only on the old checkpoint
//! or the new one, whole.
//!
//! `SMALLFLOAT_KILLS` is the number of random kills. What is counted is printed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Place, f32s, fault_library, numbers};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use safetensors::tensor::Dtype;
use smallfloat_tensor::leftovers;

const MARKER: &str = "smallfloat.incomplete";

type Contents = BTreeMap<String, Vec<u8>>;

fn contents(folder: &Path) -> Contents {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let named = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.map(|path| (named(&path), fs::read(&path).unwrap())).collect()
}

/// An input of three shards, an old output of two, and what the output must become.
struct Folders {
    place: Place,
    /// How the input is quantized.
    way: &'static [&'static str],
    old: Contents,
    new: Contents,
}

/// What became of the output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Old,
    New,
    Incomplete,
}

impl Folders {
    fn new(elements: usize, way: &'static [&'static str]) -> Self {
        // gpt-oss's layout is that of experts, which have three dimensions.
        let of_experts = way.contains(&"gpt-oss");
        let place = Place::new();
        for (folder, shards) in [("in", 3), ("before", 2)] {
            fs::create_dir(place.path(folder)).unwrap();
            let mut map = BTreeMap::new();
            for shard in 1..=shards {
                let name = format!("model-{shard:05}-of-{shards:05}.safetensors");
                let (tensor, shape) = if of_experts {
                    (format!("l.{shard}.experts.down_proj"), vec![2, 64, elements / 128])
                } else {
                    (format!("l.{shard}.weight"), vec![elements / 32, 32])
                };
                let tensors = [(&*tensor, Dtype::F32, &shape[..], f32s(&numbers(elements, 0.5)))];
                place.tensors(&format!("{folder}/{name}"), &tensors);
                map.insert(tensor, name);
            }
            let index = serde_json::json!({ "metadata": {}, "weight_map": map });
            fs::write(place.path(folder).join("model.safetensors.index.json"), index.to_string()).unwrap();
            fs::write(place.path(folder).join("config.json"), "{\"hidden_size\": 8}").unwrap();
        }
        let all = ["--include", "*"];
        place.run(
            &[&["quantize", "before", "-o", "old", "--format", "cfloat8_1_5_2", "--bias", "9"][..], &all]
                .concat(),
        );
        let mut folders = Self { old: contents(&place.path("old")), place, way, new: Contents::new() };
        assert!(folders.quantize().status().unwrap().success());
        folders.new = contents(&folders.place.path("out"));
        assert!(folders.new != folders.old && folders.new.len() == 5);
        folders
    }

    fn quantize(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smallfloat"));
        let args = ["quantize", "in", "-o", "out", "--overwrite", "--threads", "1"];
        command
            .args(args)
            .args(self.way)
            .current_dir(self.place.folder())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    fn put_old(&self) {
        let out = self.place.path("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        for (name, bytes) in &self.old {
            fs::write(out.join(name), bytes).unwrap();
        }
    }

    /// Removes what a killed run left, and tells what the folder is; panics where a mixture is
    /// called verified.
    fn outcome(&self, what: &str) -> (Outcome, usize) {
        let out = self.place.path("out");
        let left = leftovers(&out).unwrap();
        for path in &left {
            fs::remove_file(path).unwrap();
        }
        let found = contents(&out);
        let verified = self.place.command(&["verify", "out"]).output().unwrap();
        let outcome = match verified.status.code() {
            Some(0) if found == self.new => Outcome::New,
            Some(0) if found == self.old => Outcome::Old,
            Some(1) => {
                let message = String::from_utf8_lossy(&verified.stderr).into_owned();
                assert!(message.contains("incomplete"), "{what}: {message}");
                // Where loaders find a configuration, only the marker is too much: nothing has been
                // changed yet, or everything.
                let mut files = found;
                files.remove(MARKER);
                let is_whole = files == self.old || files == self.new;
                let loads = files.contains_key("config.json");
                assert!(!loads || is_whole, "{what}: loaders would take it for whole");
                Outcome::Incomplete
            }
            status => panic!("{what}: {status:?}, {:?}", found.keys()),
        };
        (outcome, left.len())
    }
}

/// Outcomes with their numbers, in words.
fn counted(outcomes: &BTreeMap<Outcome, u32>) -> String {
    let words = |(outcome, count): (&Outcome, &u32)| match outcome {
        Outcome::Old => format!("{count} the old checkpoint"),
        Outcome::New => format!("{count} the new one"),
        Outcome::Incomplete => format!("{count} incomplete and refused"),
    };
    outcomes.iter().map(words).collect::<Vec<_>>().join(", ")
}

const NATIVE: &[&str] = &["--bias", "7"];
/// Layouts of other programs; in ComfyUI's a tensor of the first file is for all of them.
const OTHERS: [&[&str]; 4] = [
    &["--scheme", "bnb-nf4"],
    &["--scheme", "comfy-scaled-fp8"],
    &["--scheme", "gpt-oss"],
    &["--scheme", "deepseek-v4-experts"],
];

fn kills() -> u32 {
    std::env::var("SMALLFLOAT_KILLS").map_or(100, |n| n.parse().expect("SMALLFLOAT_KILLS is a number"))
}

/// Runs a command three times, and tells a little more than how long it takes.
fn longest(run: impl Fn()) -> Duration {
    let started = Instant::now();
    (0..3).for_each(|_| run());
    started.elapsed() * 12 / 30
}

/// Kills a run after the next part of its time; the parts fill it evenly.
fn kill_after(mut child: Child, longest: Duration, fraction: &mut u32) -> u128 {
    *fraction = fraction.wrapping_add(2_654_435_769);
    let wait = (longest.as_nanos() * u128::from(*fraction)) >> 32;
    sleep(Duration::from_nanos(u64::try_from(wait).unwrap()));
    let _ = child.kill();
    child.wait().unwrap();
    wait
}

#[test]
fn killed_at_random_times() {
    let kills = kills();
    let ways = std::iter::once(NATIVE).chain(OTHERS).map(|way| {
        let folders = Folders::new(204_800, way);
        let longest = longest(|| {
            folders.put_old();
            assert!(folders.quantize().status().unwrap().success());
        });
        (folders, longest)
    });
    let ways: Vec<_> = ways.collect();
    let (mut outcomes, mut left, mut fraction) = (BTreeMap::new(), 0, 0_u32);
    for (i, (folders, longest)) in (0..kills).zip(ways.iter().cycle()) {
        folders.put_old();
        let wait = kill_after(folders.quantize().spawn().unwrap(), *longest, &mut fraction);
        let (outcome, files) = folders.outcome(&format!("kill {i} after {wait} ns"));
        *outcomes.entry(outcome).or_insert(0) += 1;
        left += usize::from(files > 0);
    }
    eprintln!("{kills} kills of a folder run: {}; {left} left temporary files", counted(&outcomes));
    assert!(kills < 50 || outcomes.contains_key(&Outcome::Old), "{outcomes:?}");
}

/// One file for a whole folder.
#[test]
fn killed_while_a_gguf_file_is_written() {
    let (kills, folders) = (kills(), Folders::new(204_800, NATIVE));
    let place = &folders.place;
    let quantize = |scheme: &str, output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smallfloat"));
        command.args(["quantize", "in", "-o", output, "--overwrite", "--threads", "1", "--scheme", scheme]);
        command.current_dir(place.folder()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    assert!(quantize("gguf-mxfp4", "old.gguf").status().unwrap().success());
    let longest = longest(|| assert!(quantize("gguf-q8_0", "new.gguf").status().unwrap().success()));
    let [old, new] = ["old.gguf", "new.gguf"].map(|name| fs::read(place.path(name)).unwrap());
    let (output, mut outcomes, mut left, mut fraction) = (place.path("out.gguf"), BTreeMap::new(), 0, 0_u32);
    for i in 0..kills {
        fs::write(&output, &old).unwrap();
        let wait = kill_after(quantize("gguf-q8_0", "out.gguf").spawn().unwrap(), longest, &mut fraction);
        let files = leftovers(&output).unwrap();
        left += usize::from(!files.is_empty());
        for path in &files {
            fs::remove_file(path).unwrap();
        }
        let found = fs::read(&output).unwrap();
        assert!(found == old || found == new, "kill {i} after {wait} ns");
        place.run(&["verify", "out.gguf"]);
        *outcomes.entry(if found == old { Outcome::Old } else { Outcome::New }).or_insert(0) += 1;
    }
    eprintln!(
        "{kills} kills of a run into a GGUF file: {}; {left} left temporary files",
        counted(&outcomes).replace("checkpoint", "file")
    );
    assert!(kills < 50 || outcomes.contains_key(&Outcome::Old), "{outcomes:?}");
}

#[test]
fn every_call_may_fail_or_be_the_last() {
    for (way, what) in [(NATIVE, ""), (OTHERS[1], " into another layout")] {
        calls_that_fail(&Folders::new(4096, way), what);
    }
}

fn calls_that_fail(folders: &Folders, run_into: &str) {
    let build = tempfile::tempdir().unwrap();
    let Some(library) = fault_library(build.path()) else { return };
    let log = build.path().join("log");
    folders.put_old();
    let run = |settings: &[(&str, &str)]| {
        let mut command = folders.quantize();
        command.env("LD_PRELOAD", &library);
        for (name, value) in settings {
            command.env(name, value);
        }
        command.output().unwrap()
    };
    assert!(run(&[("FAULT_LOG", log.to_str().unwrap())]).status.success());
    let calls = fs::read_to_string(&log).unwrap().lines().count();
    assert!(calls > 40, "{calls} calls");
    let mut outcomes = BTreeMap::new();
    for action in ["errno:5", "errno:28", "kill-before", "kill-after"] {
        for at in 1..=calls {
            folders.put_old();
            let output = run(&[("FAULT_AT", &at.to_string()), ("FAULT_DO", action)]);
            let what = format!("{action} at call {at}");
            let (outcome, left) = folders.outcome(&what);
            *outcomes.entry(outcome).or_insert(0) += 1;
            if action.starts_with("errno") {
                let message = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.code() == Some(0) || !message.is_empty(), "{what}");
                assert_eq!(left, 0, "{what}: {message}");
            }
            if output.status.success() {
                assert_eq!(outcome, Outcome::New, "{what}");
            }
        }
    }
    eprintln!("{calls} calls of a folder run{run_into}, four faults at each: {}", counted(&outcomes));
}

#[test]
fn a_run_that_is_told_to_stop_leaves_nothing() {
    let place = Place::new();
    let elements = 1 << 22;
    place.tensors("in.safetensors", &[("w", Dtype::F32, &[elements], f32s(&numbers(elements, 1.0)))]);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (mut stopped, mut seen) = (0, 0);
        for _ in 0..50 {
            // Whoever runs the tests in the background may have them ignore signals.
            let mut child = Command::new("env")
                .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_smallfloat")])
                .args(["quantize", "in.safetensors", "-o", "out.safetensors", "--threads", "1"])
                .current_dir(place.folder())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let began = Instant::now();
            let working = || place.names().iter().any(|name| name.contains(".smallfloat-"));
            while !working() && child.try_wait().unwrap().is_none() && began.elapsed().as_secs() < 20 {
                sleep(Duration::from_micros(200));
            }
            seen += usize::from(working());
            kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
            let status = child.wait().unwrap();
            assert!(!working(), "{signal}: {:?}", place.names());
            if status.signal() == Some(signal as i32) {
                stopped += 1;
                assert!(!place.path("out.safetensors").exists());
            }
            let _ = fs::remove_file(place.path("out.safetensors"));
            if stopped >= 3 {
                break;
            }
        }
        assert!(stopped >= 3 && seen >= 3, "{signal} came too late: {stopped} of {seen}");
    }
}

/// Yosys has children of its own, and none of them may go on with a proof that nobody waits for.
#[test]
fn a_proof_that_is_told_to_stop_leaves_no_tool_and_no_folder() {
    if Command::new("yosys").arg("-V").output().is_err() {
        eprintln!("LEFT OUT: no yosys");
        return;
    }
    let place = Place::new();
    let temporary = place.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let converter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rtl/f32_to_cfloat8.sv");
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut child = Command::new("env")
            .args([
                "--default-signal=INT,TERM,HUP",
                env!("CARGO_BIN_EXE_smallfloat"),
                "prove",
                "--dut",
                converter,
            ])
            .args(["--top", "f32_to_cfloat8", "--ports", "x=f32,result=code", "--tie", "gradual=0"])
            .args(["--op", "convert", "--from", "binary32", "--to", "cfloat8_1_4_3"])
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let solves = || {
            let folders = fs::read_dir(&temporary).unwrap();
            folders.flatten().any(|folder| folder.path().join("prove.ys").exists())
        };
        while !solves() && child.try_wait().unwrap().is_none() && began.elapsed().as_secs() < 60 {
            sleep(Duration::from_millis(5));
        }
        assert!(solves(), "{signal}: no proof was begun");
        // By then Yosys reads its script.
        sleep(Duration::from_millis(300));
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal as i32));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(contents_are_gone(&temporary), "{signal}: {:?}", fs::read_dir(&temporary));
    }
}

/// Returns whether a folder is empty and no process works in it; one that was killed may take a
/// moment.
fn contents_are_gone(folder: &Path) -> bool {
    let works_there = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    (0..200).any(|_| {
        sleep(Duration::from_millis(10));
        fs::read_dir(folder).unwrap().next().is_none()
            && !fs::read_dir("/proc").unwrap().flatten().any(|process| works_there(&process))
    })
}

#[test]
fn more_shards_than_a_process_may_open_by_default() {
    let place = Place::new();
    fs::create_dir(place.path("in")).unwrap();
    let mut map = BTreeMap::new();
    for shard in 1..=40 {
        let name = format!("model-{shard:05}-of-00040.safetensors");
        let tensor = format!("l.{shard}.weight");
        place.tensors(&format!("in/{name}"), &[(&tensor, Dtype::F32, &[2, 8], f32s(&numbers(16, 0.5)))]);
        map.insert(tensor, name);
    }
    let index = serde_json::json!({ "metadata": {}, "weight_map": map });
    fs::write(place.path("in/model.safetensors.index.json"), index.to_string()).unwrap();
    // The shell lowers what the process begins with, and not what it may have.
    let run = place.command(&[]).get_program().to_owned();
    let line = "ulimit -Sn 48; exec \"$0\" quantize in -o out --bias 7";
    let output = Command::new("sh").args(["-c", line]).arg(run).current_dir(place.folder()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(contents(&place.path("out")).len(), 41);
}

#[test]
fn what_kills_left_is_listed_and_removed() {
    let place = Place::new();
    fs::create_dir(place.path("out")).unwrap();
    for name in [".w.safetensors.smallfloat-aB3x9Q.tmp", "out/.m.safetensors.smallfloat-zz11aa.tmp"] {
        fs::write(place.path(name), [0; 1000]).unwrap();
    }
    for name in [".other.smallfloat-aB3x9Q.tmp", ".w.safetensors.smallfloat-a.b.tmp", "out/notes.txt"] {
        fs::write(place.path(name), "mine").unwrap();
    }
    let listed = place.run(&["clean", "w.safetensors", "out", "--dry-run"]);
    assert!(listed.ends_with("2 files that killed runs left, 2.00 kB\n"), "{listed}");
    let removed = place.run(&["clean", "w.safetensors", "out"]);
    assert!(removed.ends_with("2 files removed, 2.00 kB\n"), "{removed}");
    assert_eq!(place.names().len(), 3);
    assert_eq!(contents(&place.path("out")).len(), 1);
    assert!(place.run(&["clean", "w.safetensors"]).starts_with("0 files removed"));
}
