//! Files as arguments: `-` as standard input, outputs that may not exist yet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use smallfloat_tensor::{check_output, leftovers};
use tempfile::TempDir;

use crate::render::text::tensor_name;

/// An input file; `-` is standard input, kept in a temporary file because tensors are read at
/// positions.
pub(crate) struct Input {
    path: PathBuf,
    /// Removed with the input.
    _spool: Option<TempDir>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path != Path::new("-") {
            return Ok(Self { path: path.to_path_buf(), _spool: None });
        }
        let spool = tempfile::tempdir().context("a temporary folder for standard input")?;
        let path = spool.path().join("stdin");
        let mut file = File::create(&path).context("a temporary file for standard input")?;
        io::copy(&mut io::stdin().lock(), &mut file).context("standard input")?;
        Ok(Self { path, _spool: Some(spool) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Characters of a path in a note.
const LONGEST_PATH: usize = 1000;

/// Refuses outputs that can't be written, before any work is done, and tells what killed runs left
/// beside them.
pub(crate) fn check_outputs(outputs: &[(&str, Option<&Path>)], overwrite: bool) -> Result<()> {
    let outputs: Vec<_> =
        outputs.iter().filter_map(|(option, path)| path.map(|path| (option, path))).collect();
    for (i, (option, path)) in outputs.iter().enumerate() {
        if let Some((other, _)) = outputs[..i].iter().find(|(_, other)| other == path) {
            bail!("{other} and {option} name the same file, `{}`", path.display());
        }
        ensure!(*path != Path::new("-"), "{option}: a result is written as a whole; name a file, not `-`");
        if let Err(error) = check_output(path, overwrite) {
            let hint = if error.is_exists() { " (--overwrite)" } else { "" };
            bail!("{option}: {error}{hint}");
        }
        note_leftovers(path);
    }
    Ok(())
}

/// Tells what killed runs left beside an output.
pub(crate) fn note_leftovers(path: &Path) {
    // What can't be listed is no reason to stop: writing will tell.
    for leftover in leftovers(path).unwrap_or_default() {
        let name = tensor_name(&leftover.display().to_string(), LONGEST_PATH);
        eprintln!("smallfloat: note: a run that was killed left `{name}`; it may be removed");
    }
}
