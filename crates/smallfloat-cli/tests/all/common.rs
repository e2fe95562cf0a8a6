//! What the command's tests share: the command in a folder, its output, and files of tensors made
//! by the reference crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::Value;
use tempfile::TempDir;

/// A command line as its words.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The command, wherever the tests run.
pub(crate) fn smallfloat(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.args(args);
    command
}

/// Its standard output, where it succeeds.
#[track_caller]
pub(crate) fn output(args: &[&str]) -> String {
    let assert = smallfloat(args).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("output is text")
}

/// The command in a folder.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.current_dir(folder).env_remove("SLURM_ARRAY_TASK_ID").args(args);
    command
}

/// Standard output of a run that succeeds.
#[track_caller]
pub(crate) fn run(folder: &Path, args: &[&str]) -> String {
    let assert = command(folder, args).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("output is text")
}

/// Standard output of a run that succeeds, as JSON.
#[track_caller]
pub(crate) fn object(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&run(folder, args)).expect("output is JSON")
}

/// A run that ends with this status, and a message that has all of `parts`.
#[track_caller]
pub(crate) fn refuses(folder: &Path, args: &[&str], code: i32, parts: &[&str]) {
    let assert = command(folder, args).assert().code(code);
    let message = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    for part in parts {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
}

/// A folder with files of tensors, and the command run in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file is there")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder can be listed");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    /// Writes a safetensors file with the reference crate.
    pub(crate) fn tensors(&self, name: &str, tensors: &[(&str, Dtype, &[usize], Vec<u8>)]) {
        let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
            (*name, TensorView::new(*dtype, shape.to_vec(), bytes).expect("a tensor"))
        });
        let bytes = serialize(views, None).expect("a safetensors file");
        fs::write(self.path(name), bytes).expect("the file can be written");
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(self.0.path(), args)
    }

    /// Standard output of a run that succeeds.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        run(self.0.path(), args)
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args)).expect("output is JSON")
    }

    /// Fails with status 1, nothing on standard output, one line that has all of `parts`; no file
    /// comes or changes.
    pub(crate) fn refuses(&self, args: &[&str], parts: &[&str]) {
        let state = || {
            let names = self.names();
            names.into_iter().map(|name| (self.read(&name), name)).collect::<Vec<_>>()
        };
        let before = state();
        let output = self.command(args).output().expect("the command runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {message}");
        assert!(output.stdout.is_empty() && message.starts_with("smallfloat: error: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in parts {
            assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
        }
        assert!(before == state(), "{args:?} changed a file");
    }
}

pub(crate) fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Numbers of both signs over some eight binades, none special: a multiplicative congruence.
pub(crate) fn numbers(n: usize, scale: f32) -> Vec<f32> {
    let mut state = 12345_u32;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let fraction = f32::from(u16::try_from(state >> 16).expect("16 bits")) / 32768.0 - 1.0;
            scale * fraction
        })
        .collect()
}

/// Builds the library that catches calls; none where there is no compiler.
pub(crate) fn fault_library(folder: &Path) -> Option<PathBuf> {
    let (source, library) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/trouble/shim.c"), folder.join("shim.so"));
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .output();
    match built {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(library)
        }
        Err(error) => {
            eprintln!("SKIPPED: no C compiler to build the fault library with: {error}");
            None
        }
    }
}

/// An .npy file of f32 values (NumPy's format 1.0).
pub(crate) fn npy(values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.len());
    // Magic, version and length take 10 bytes; the header ends in a line end at a multiple of 64.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(length).expect("a short header").to_le_bytes());
    bytes.extend(format!("{header:<0$}\n", length - 1).bytes());
    bytes.extend(f32s(values));
    bytes
}
