//! `smallfloat --version` and `smallfloat --licences`.

use std::io::Write as _;

use anyhow::Result;

use crate::render::output::Output;

/// Written by `scripts/notices`.
const NOTICES: &str = include_str!("../../../THIRD-PARTY.txt");

/// Prints the name and the version.
pub(crate) fn version(out: &mut Output) -> Result<()> {
    Ok(writeln!(out, "smallfloat {}", env!("CARGO_PKG_VERSION"))?)
}

/// Prints the version, our own licence, and the notices of others.
pub(crate) fn licences(out: &mut Output) -> Result<()> {
    version(out)?;
    writeln!(out, "\n{}", include_str!("../../../LICENSE-MIT"))?;
    Ok(write!(out, "{NOTICES}")?)
}
