//! The command in trouble: every call that makes, writes, flushes or renames its output fails or is
//! the last thing the process does; it is killed at random times; disks and limits are too small.
//! Whatever happens, the output is the old file or the new one, whole; an error leaves no temporary
//! and says what happened; what a killed run leaves is found by the next.
//!
//! The calls are caught by a small library (`shim.c`) that stands before the C library. It
//! is built with the system's C compiler; without one these tests say so and pass.
//! `SMALLFLOAT_KILLS` is the number of random kills.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use safetensors::tensor::{Dtype, TensorView, serialize};
use smallfloat_tensor::leftovers;
use tempfile::TempDir;

use crate::common::fault_library;

const IN: &str = "in.safetensors";
const OUT: &str = "out.safetensors";
const OLD: &[u8] = b"what stood here before";

const NO_SPACE: i32 = 28;
const INPUT_OUTPUT: i32 = 5;
const INTERRUPTED: i32 = 4;

/// A folder with an input of three tensors, one of them more than a buffer long, and what it must
/// become.
struct Place {
    folder: TempDir,
    input: Vec<u8>,
    new: Vec<u8>,
}

impl Place {
    fn new(elements: usize) -> Self {
        let mut state = 1_u32;
        let bytes: Vec<u8> = (0..elements)
            .flat_map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // A float of either sign within a few binades of 1.
                ((state & 0x81ff_ffff) | 0x3e00_0000).to_le_bytes()
            })
            .collect();
        let views = [("big", Dtype::F32, elements), ("ids", Dtype::U8, 7), ("small", Dtype::F32, 100)].map(
            |(name, dtype, n)| {
                (name, TensorView::new(dtype, vec![1, n], &bytes[..n * dtype.bitsize() / 8]).unwrap())
            },
        );
        let input = serialize(views, None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(IN), &input).unwrap();
        let mut place = Self { folder, input, new: Vec::new() };
        let output = place.quantize(IN, OUT).output().unwrap();
        assert!(output.status.success(), "{}", message(&output));
        place.new = fs::read(place.path(OUT)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn quantize(&self, input: &str, output: &str) -> Command {
        self.command(
            "exec \"$0\" \"$@\"",
            &["quantize", input, "-o", output, "--overwrite", "--threads", "1", "--bias", "7"],
        )
    }

    /// The command, run by a line of shell.
    fn command(&self, line: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", line, env!("CARGO_BIN_EXE_smallfloat")])
            .args(args)
            .current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn put_old(&self) {
        fs::write(self.path(OUT), OLD).unwrap();
    }

    /// The output is whole; is it the new one?
    #[track_caller]
    fn is_new(&self, what: &str) -> bool {
        let found = fs::read(self.path(OUT)).unwrap();
        assert!(
            found == OLD || found == self.new,
            "{what}: the output is neither the old file nor the new one"
        );
        found == self.new
    }

    /// Checks that what lies in the folder beyond input and output is what `leftovers` finds, and
    /// removes it.
    #[track_caller]
    fn take_leftovers(&self, what: &str) -> Vec<PathBuf> {
        let found = leftovers(self.path(OUT)).unwrap();
        let strange: Vec<_> = self
            .names()
            .into_iter()
            .filter(|name| ![IN, OUT].contains(&&**name) && !found.contains(&self.path(name)))
            .collect();
        assert!(strange.is_empty(), "{what}: {strange:?}");
        for path in &found {
            fs::remove_file(path).unwrap();
        }
        found
    }

    /// Failed with status 1 and one line that has this part; old file, nothing else.
    #[track_caller]
    fn check_failed(&self, output: &Output, part: &str, what: &str) {
        let message = message(output);
        assert_eq!(output.status.code(), Some(1), "{what}: {message}");
        assert!(
            message.starts_with("smallfloat: error: ") && message.lines().count() == 1,
            "{what}: {message}"
        );
        assert!(message.contains(part) && message.contains(OUT), "{what}: `{part}` is not in: {message}");
        assert!(!self.is_new(what), "{what}: the old file is gone");
        assert_eq!(self.names(), [IN, OUT], "{what}");
    }
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The calls of a run, each by its number from 1.
struct Faults {
    place: Place,
    library: PathBuf,
    calls: Vec<String>,
    _build: TempDir,
}

impl Faults {
    fn new() -> Option<Self> {
        let build = tempfile::tempdir().unwrap();
        let library = fault_library(build.path())?;
        let log = build.path().join("log");
        let mut faults = Self { place: Place::new(600_000), library, calls: Vec::new(), _build: build };
        faults.place.put_old();
        let mut command = faults.place.quantize(IN, OUT);
        let output = command.env("LD_PRELOAD", &faults.library).env("FAULT_LOG", &log).output().unwrap();
        assert!(
            output.status.success() && faults.place.is_new("a run without faults"),
            "{}",
            message(&output)
        );
        faults.calls = fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect();
        Some(faults)
    }

    /// A run with the old file in place and this fault.
    fn run(&self, at: usize, action: &str) -> Output {
        self.place.put_old();
        let mut command = self.place.quantize(IN, OUT);
        command.env("LD_PRELOAD", &self.library).env("FAULT_AT", at.to_string()).env("FAULT_DO", action);
        command.output().unwrap()
    }
}

#[test]
fn the_file_is_flushed_before_the_rename_and_the_folder_after_it() {
    let Some(faults) = Faults::new() else { return };
    let calls: Vec<&str> = faults.calls.iter().map(String::as_str).collect();
    let writes = calls.iter().filter(|call| **call == "write").count();
    // Parts of 65,536 elements of the big tensor, one each of the others, two biases, the header's
    // length and its text.
    assert_eq!(writes, 10 + 1 + 1 + 2 + 2, "{calls:?}");
    assert_eq!(calls[..2], ["make", "set length"]);
    assert!(calls[2..2 + writes].iter().all(|call| *call == "write"), "{calls:?}");
    assert_eq!(calls[2 + writes..], ["change mode", "flush", "rename", "flush folder"]);
}

#[test]
fn every_call_that_fails_leaves_the_old_file_and_says_why() {
    let Some(faults) = Faults::new() else { return };
    for (i, call) in faults.calls.iter().enumerate() {
        for (errno, reason) in [(NO_SPACE, "No space left on device"), (INPUT_OUTPUT, "Input/output error")] {
            let what = format!("{call} (call {}) with error {errno}", i + 1);
            let output = faults.run(i + 1, &format!("errno:{errno}"));
            if call == "flush folder" {
                // The new file stands; only that it outlives a power cut is not certain.
                let message = message(&output);
                assert!(
                    output.status.code() == Some(1) && message.contains("the file itself is in place"),
                    "{message}"
                );
                assert!(faults.place.is_new(&what));
                assert_eq!(faults.place.names(), [IN, OUT]);
                continue;
            }
            faults.place.check_failed(&output, reason, &what);
            let action = match call.as_str() {
                _ if errno == NO_SPACE => "no room to write",
                "make" => "cannot make a temporary file beside",
                "set length" => "cannot set the length of",
                "write" => "cannot write",
                "change mode" => "cannot set the permissions of",
                "flush" => "cannot flush to disk",
                "rename" => "cannot rename the finished temporary file to",
                other => panic!("an unknown call {other}"),
            };
            assert!(message(&output).contains(action), "{what}: {}", message(&output));
        }
    }
}

#[test]
fn every_call_may_be_the_last() {
    let Some(faults) = Faults::new() else { return };
    let renamed = faults.calls.iter().position(|call| call == "rename").unwrap() + 1;
    for at in 1..=faults.calls.len() {
        for action in ["kill-before", "kill-after"] {
            let what = format!("{action} call {at}");
            let output = faults.run(at, action);
            assert_eq!(output.status.signal(), Some(9), "{what}: {}", message(&output));
            let done = at > renamed || (at == renamed && action == "kill-after");
            assert_eq!(faults.place.is_new(&what), done, "{what}");
            let made = at > 1 || action == "kill-after";
            let left = faults.place.take_leftovers(&what);
            assert_eq!(left.len(), usize::from(made && !done), "{what}: {left:?}");
        }
    }
}

#[test]
fn what_a_killed_run_leaves_is_reported_by_the_next() {
    let Some(faults) = Faults::new() else { return };
    faults.run(5, "kill-before");
    let left = leftovers(faults.place.path(OUT)).unwrap();
    let [left] = &left[..] else { panic!("{left:?}") };
    let name = left.file_name().unwrap().to_string_lossy();
    let output = faults.place.quantize(IN, OUT).output().unwrap();
    let message = message(&output);
    assert!(output.status.success() && message.lines().count() == 1, "{message}");
    assert!(message.starts_with("smallfloat: note: ") && message.contains(&*name), "{message}");
    // It is somebody's data, perhaps of value: it is reported, not removed.
    assert!(left.exists() && faults.place.is_new("the next run"));
}

#[test]
fn short_and_interrupted_writes_are_taken_up_again() {
    let Some(faults) = Faults::new() else { return };
    let output = faults.run(0, "short");
    assert!(output.status.success() && faults.place.is_new("short writes"), "{}", message(&output));
    for (i, call) in faults.calls.iter().enumerate() {
        if ["set length", "write", "flush", "flush folder"].contains(&&**call) {
            let output = faults.run(i + 1, &format!("errno:{INTERRUPTED}"));
            assert!(output.status.success() && faults.place.is_new(call), "{call}: {}", message(&output));
        }
    }
}

#[test]
fn an_input_that_is_its_own_output_is_never_lost() {
    let Some(faults) = Faults::new() else { return };
    let place = &faults.place;
    for (i, call) in faults.calls.iter().enumerate() {
        for action in ["errno:5", "kill-before", "kill-after"] {
            fs::write(place.path(OUT), &place.input).unwrap();
            let mut command = place.quantize(OUT, OUT);
            command
                .env("LD_PRELOAD", &faults.library)
                .env("FAULT_AT", (i + 1).to_string())
                .env("FAULT_DO", action);
            assert!(!command.output().unwrap().status.success());
            let found = fs::read(place.path(OUT)).unwrap();
            assert!(found == place.input || found == place.new, "{action} at {call}");
            place.take_leftovers(call);
        }
    }
}

#[test]
fn the_mode_is_the_old_files_or_what_the_umask_leaves() {
    let place = Place::new(1000);
    let mode = || fs::metadata(place.path(OUT)).unwrap().permissions().mode() & 0o7777;
    let args = ["quantize", IN, "-o", OUT, "--overwrite"];
    for (umask, expected) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        fs::remove_file(place.path(OUT)).unwrap();
        let line = format!("umask {umask}; exec \"$0\" \"$@\"");
        assert!(place.command(&line, &args).status().unwrap().success());
        assert_eq!(mode(), expected, "umask {umask}");
    }
    for bits in [0o640, 0o444, 0o755] {
        fs::set_permissions(place.path(OUT), fs::Permissions::from_mode(bits)).unwrap();
        assert!(place.command("umask 077; exec \"$0\" \"$@\"", &args).status().unwrap().success());
        assert_eq!(mode(), bits);
    }
}

/// The old file stays where a limit on file sizes ends the run, which without a handler would be by
/// a signal.
#[test]
fn a_limit_on_file_sizes_is_an_error_and_no_signal() {
    let place = Place::new(600_000);
    place.put_old();
    let args = ["quantize", IN, "-o", OUT, "--overwrite"];
    let output = place.command("ulimit -f 100; exec \"$0\" \"$@\"", &args).output().unwrap();
    place.check_failed(&output, "no room to write", "ulimit -f");
}

#[test]
fn a_full_file_system_leaves_the_old_file() {
    let place = Place::new(2_000_000);
    // The folder with the output is a file system of a megabyte in a name space of its own.
    fs::create_dir(place.path("small")).unwrap();
    let line = "unshare -rm true 2>/dev/null || exit 99
        exec unshare -rm sh -c 'mount -t tmpfs -o size=1m none small && cp old small/out.safetensors || exit 98
            \"$0\" \"$@\"; status=$?
            test \"$(ls -A small)\" = out.safetensors && cmp small/out.safetensors old || exit 97
            exit $status' \"$0\" \"$@\"";
    fs::write(place.path("old"), OLD).unwrap();
    let args = ["quantize", IN, "-o", "small/out.safetensors", "--overwrite"];
    let output = place.command(line, &args).output().unwrap();
    if output.status.code() == Some(99) {
        eprintln!("SKIPPED: the system does not allow to mount a small file system");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    assert!(message(&output).contains("no room to write `small/out.safetensors`"), "{}", message(&output));
}

#[test]
fn devices_and_full_standard_output() {
    let place = Place::new(1000);
    let output = place
        .command("exec \"$0\" \"$@\"", &["quantize", IN, "-o", "/dev/full", "--overwrite"])
        .output()
        .unwrap();
    assert!(
        output.status.code() == Some(1) && message(&output).contains("not a regular file"),
        "{}",
        message(&output)
    );
    for help in ["--help", "--version", "quantize --help"] {
        let args: Vec<_> = help.split(' ').collect();
        let output = place.command("exec \"$0\" \"$@\" >/dev/full", &args).output().unwrap();
        let expected = "smallfloat: error: standard output: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), &*message(&output)), (Some(1), expected), "{help}");
    }
    // The file is written before anything is said about it.
    place.put_old();
    let args = ["quantize", IN, "-o", OUT, "--overwrite", "--bias", "7"];
    let output = place.command("exec \"$0\" \"$@\" >/dev/full", &args).output().unwrap();
    let expected = "smallfloat: error: standard output: No space left on device (os error 28)\n";
    assert_eq!((output.status.code(), &*message(&output)), (Some(1), expected));
    assert!(place.is_new("/dev/full as standard output"));
}

#[test]
fn killed_at_random_times() {
    let kills: u32 =
        std::env::var("SMALLFLOAT_KILLS").map_or(200, |n| n.parse().expect("SMALLFLOAT_KILLS is a number"));
    let place = Place::new(600_000);
    random_kills(&place, kills, true);
    // The same where there is no file to be replaced, and no leave to replace one: another system
    // call makes the name.
    random_kills(&place, kills.div_ceil(2), false);
}

/// Kills runs over an old file, with leave to overwrite it, or runs that make a new one.
fn random_kills(place: &Place, kills: u32, overwrite: bool) {
    let prepare = || {
        let _ = fs::remove_file(place.path(OUT));
        if overwrite {
            place.put_old();
        }
    };
    let run = || {
        let args = ["quantize", IN, "-o", OUT, "--threads", "1", "--bias", "7", "--overwrite"];
        place.command("exec \"$0\" \"$@\"", &args[..args.len() - usize::from(!overwrite)])
    };
    let started = Instant::now();
    let rounds = 5;
    for _ in 0..rounds {
        prepare();
        assert!(run().status().unwrap().success());
    }
    // A little beyond the end, so that some runs are done.
    let longest = started.elapsed() * 12 / (10 * rounds);
    let (mut old, mut new, mut left) = (0, 0, 0);
    let mut fraction = 0_u32;
    for i in 0..kills {
        prepare();
        let child: Child = run().spawn().unwrap();
        // Steps of the golden ratio spread evenly over the time.
        fraction = fraction.wrapping_add(2_654_435_769);
        let wait = (longest.as_nanos() * u128::from(fraction)) >> 32;
        std::thread::sleep(Duration::from_nanos(u64::try_from(wait).unwrap()));
        kill(child);
        let what = format!("kill {i} after {wait} ns");
        if (overwrite || place.path(OUT).exists()) && place.is_new(&what) {
            new += 1;
        } else {
            old += 1;
        }
        left += place.take_leftovers(&what).len();
    }
    let before = if overwrite { "the old file" } else { "no file" };
    eprintln!("{kills} kills: {old} left {before}, {new} the new one, {left} a leftover");
    assert!(kills < 100 || (old > 0 && new > 0 && left > 0), "the kills miss the work: {old}, {new}, {left}");
}

fn kill(mut child: Child) {
    // It may be done already.
    let _ = child.kill();
    child.wait().unwrap();
}
