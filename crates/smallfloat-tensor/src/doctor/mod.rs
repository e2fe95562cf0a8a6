//! [`examine`]: was a quantized file written by one convention and named by another?
//!
//! Readers of checkpoints go by names and shapes, and a file that breaks their convention loads
//! without a word. What a healthy file looks like is known: block scales put the largest element of
//! a block near the end of its format, numbers of weights are far below 1000, exponents are bytes.
//! Each finding says which of these is broken, where, and how sure that is. Of each tensor a part
//! of at most [`SAMPLE`] elements is read.

mod headers;
mod source;
mod tensors;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result, quoted_path};
use crate::file::folder::{CONFIG, INDEX};
use crate::file::formats::source::Source;
use crate::file::side::read_json;
use crate::progress::Progress;
use crate::stored::open::{list_shards, open_checkpoint};
use crate::stored::together::{Neighbours, open_together};
use crate::stored::view::View;
use crate::verify::{folder, parts};

/// The most elements of a tensor that are looked at.
pub(crate) const SAMPLE: u64 = 1 << 20;

/// The certainty of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sure {
    /// Nothing else explains it.
    Certain,
    /// Weights that would explain it are unusual.
    Likely,
}

/// A fault found in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileFinding {
    /// What it is, in a word: one of [`KINDS`].
    pub kind: &'static str,
    /// The file or folder.
    pub file: PathBuf,
    /// The tensor, where it is one.
    pub tensor: Option<String>,
    /// What was found.
    pub what: String,
    /// How sure that is.
    pub sure: Sure,
    /// The scheme that writes files of this layout, where it is known: writing the file anew from
    /// what it was made from mends it.
    pub scheme: Option<&'static str>,
}

/// Every kind of finding and what it says.
pub const KINDS: &[(&str, &str)] = &[
    ("global-scale-inverted", "the F32 number of a tensor multiplies where it should divide, or the reverse"),
    ("global-scale-missing", "block scales are relative to an F32 number that is not there, or is 1"),
    ("exponents-as-numbers", "scales are the codes of powers of two, stored as numbers of another format"),
    ("scales-transposed", "scales lie by column and row"),
    ("scales-misplaced", "scales are those of other blocks"),
    ("elements-swapped", "codes of a byte, or of the halves of a block, lie in the other order"),
    ("codes-as-numbers", "codes are stored as if they were the numbers they stand for"),
    ("scale-missing", "there are codes and no scales"),
    ("wrong-block-length", "there are too many or too few scales for the format"),
    ("unrounded-scale", "elements were divided by a scale that was rounded only when it was stored"),
    ("contradiction", "names, configuration, index or files say different things"),
    ("underflow", "numbers of the source are too small for the format at the scales of the file"),
    ("not-a-number", "codes or scales are NaN, infinite, zero or negative"),
];

/// Looks for a wrong convention in files and checkpoint folders, alone or against what they were
/// made from.
///
/// # Errors
/// Files that can't be opened as files of tensors.
pub fn examine(
    paths: &[impl AsRef<Path>],
    source: Option<&Path>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<FileFinding>> {
    examine_paths(&paths.iter().map(AsRef::as_ref).collect::<Vec<_>>(), source, progress)
}

fn examine_paths(
    paths: &[&Path],
    source: Option<&Path>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<FileFinding>> {
    let sources = source.map(open_checkpoint).transpose()?;
    let mut findings = Vec::new();
    for &path in paths {
        let before = findings.len();
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let config = side_file(path, &folder.join(CONFIG), &mut findings);
        if path.is_dir() {
            side_file(path, &folder.join(INDEX), &mut findings);
        }
        let files = if path.is_dir() { list_shards(path)? } else { vec![path.to_path_buf()] };
        // What is no file of tensors is an error, not a finding.
        let opened = files.iter().map(|file| Source::open(file).map(Arc::new));
        let opened = opened.collect::<Result<Vec<_>>>()?;
        let neighbours = Neighbours::of(&opened);
        let mut views = Vec::new();
        for ((file, source), view) in files.iter().zip(&opened).zip(open_together(&opened, &neighbours)) {
            headers::check(file, source, &neighbours, &mut findings);
            match view {
                Ok(view) => views.push(view),
                // What is already told, of this file or one beside it, may be the reason.
                Err(error) if !tells(&findings[before..], file, &error) => {
                    findings.push(refused(file, error.to_string()));
                }
                Err(_) => {}
            }
        }
        if let (Some(sources), Some(source)) = (&sources, source) {
            has_some_of(&views, sources, path, source)?;
        }
        for view in &views {
            for tensor in view.tensors() {
                progress(Progress::Tensor(&tensor.info.name));
                tensors::check(view, tensor, &mut findings)?;
                if let Some(sources) = &sources {
                    source::check(view, tensor, sources, &mut findings)?;
                }
            }
        }
        for view in &views {
            let file = view.source().path();
            let told =
                findings[before..].iter().any(|finding| finding.file == file && finding.tensor.is_some());
            if !told && let Err(error) = parts::check(view, file) {
                findings.push(contradiction(file, error.tensor(), error.to_string()));
            }
        }
        if views.len() == files.len() {
            if path.is_dir()
                && let Err(error) = open_checkpoint(path).and_then(|views| folder::check(path, &views))
                && !tells(&findings[before..], path, &error)
            {
                findings.push(contradiction(path, None, error.to_string()));
            }
            headers::check_together(path, config.as_ref(), &views, &mut findings);
        }
    }
    // One fault may show in several ways: of each tensor the first is told.
    let mut told = std::collections::HashSet::new();
    findings.retain(|finding| {
        finding.tensor.is_none() || told.insert((finding.file.clone(), finding.tensor.clone()))
    });
    Ok(findings)
}

/// Refuses a source without any of the tensors: nothing would be compared with it.
fn has_some_of(views: &[View], sources: &[View], path: &Path, source: &Path) -> Result<()> {
    let mut names = views.iter().flat_map(View::tensors).map(|tensor| &tensor.info.name).peekable();
    let Some(first) = names.peek().copied() else { return Ok(()) };
    if names.any(|name| sources.iter().any(|source| source.tensor(name).is_some())) {
        return Ok(());
    }
    let what = format!(
        "is not in {}, and no other tensor of the file is: name what it was made from",
        quoted_path(source)
    );
    Err(Error::refused(Some(path), Some(first), what))
}

/// The JSON object of a file beside the tensors; one that can't be read is a finding of `path`.
fn side_file(path: &Path, file: &Path, findings: &mut Vec<FileFinding>) -> Option<Map<String, Value>> {
    match read_json(file) {
        Ok(object) => object,
        Err(error) => {
            let what = format!(
                "a file beside the tensors can't be read, so that what it says is not looked at: {error}"
            );
            findings.push(contradiction(path, None, what));
            None
        }
    }
}

/// Returns whether findings tell what an error does: of the same file, or in the same words.
fn tells(findings: &[FileFinding], file: &Path, error: &Error) -> bool {
    let words = error.to_string();
    findings
        .iter()
        .any(|finding| finding.file == file && finding.tensor.is_some() || finding.what.contains(&words))
}

/// A file that the readers refuse.
fn refused(file: &Path, what: String) -> FileFinding {
    contradiction(file, None, what)
}

fn contradiction(file: &Path, tensor: Option<&str>, what: String) -> FileFinding {
    FileFinding {
        kind: "contradiction",
        file: file.to_path_buf(),
        tensor: tensor.map(str::to_owned),
        what,
        sure: Sure::Certain,
        scheme: None,
    }
}
