//! What `cargo mutants --list --json` lists.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;

/// A change of the source in one place.
#[derive(Clone, Deserialize)]
pub(crate) struct Mutant {
    /// Its number, from 1 in the order of the lists.
    #[serde(skip)]
    pub(crate) id: u32,
    /// The words by which cargo-mutants names it: place, change and function.
    pub(crate) name: String,
    /// Its file, relative to the root of the tree.
    pub(crate) file: String,
    /// What kind of place is changed.
    pub(crate) genre: Genre,
    /// What stands there then; nothing where something is deleted.
    pub(crate) replacement: String,
    /// The place.
    pub(crate) span: Span,
}

/// The kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Genre {
    /// A function returns a constant.
    FnValue,
    /// Another operator between two operands.
    BinaryOperator,
    /// A sign or a negation is gone.
    UnaryOperator,
    /// An arm of a match is gone.
    MatchArm,
    /// The guard of an arm is a constant.
    MatchArmGuard,
    /// A field of a struct comes from its base.
    StructField,
}

/// A stretch of a file.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Span {
    /// Where it begins.
    pub(crate) start: Position,
    /// Where it has ended.
    pub(crate) end: Position,
}

/// A place in a file; lines and columns begin at 1.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// The byte of `source` at this place.
    pub(crate) fn offset(self, source: &str) -> usize {
        let start: usize = source.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        let characters = source[start..].char_indices().map(|(at, _)| start + at);
        characters.chain([source.len()]).nth(self.column - 1).unwrap_or(source.len())
    }
}

/// Reads lists and numbers their mutants.
pub(crate) fn read(paths: &[impl AsRef<Path>]) -> Result<Vec<Mutant>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        mutants.append(
            &mut serde_json::from_slice(&text).with_context(|| format!("{} is no list", path.display()))?,
        );
    }
    for (id, mutant) in (1..).zip(&mut mutants) {
        mutant.id = id;
    }
    Ok(mutants)
}
