//! [`generate`]: the lines of a plan, computed on all threads and delivered in order.

use std::io::{self, Write};
use std::sync::mpsc::sync_channel;
use std::thread;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::header::{self, Facts};
use super::layout::LineWriter;
use super::{FlagSet, Layout, Plan, Unit};
use crate::Error;

/// Lines that a thread makes at once.
const CHUNK: u64 = 1 << 13;
/// Chunks that are made before they are handed on, per thread.
const CHUNKS: u64 = 8;

/// A unit, its operands and its flags: all that determines a file of vectors.
#[derive(Clone, Debug)]
pub struct VectorSet {
    unit: Unit,
    plan: Plan,
    flags: FlagSet,
}

/// Where generating stopped.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The unit refuses its operands.
    #[error(transparent)]
    Unit(#[from] Error),
    /// The lines could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl VectorSet {
    /// The vectors of a unit for a plan; without flags given, those of [`FlagSet::default_for`].
    pub fn new(unit: Unit, plan: Plan, flags: Option<FlagSet>) -> Self {
        let flags = flags.unwrap_or(FlagSet::default_for(&unit));
        Self { unit, plan, flags }
    }

    /// The unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The flags in each line.
    pub fn flags(&self) -> FlagSet {
        self.flags
    }

    /// SHA-256 of the lines in the testfloat layout, in hexadecimal: the same for every layout.
    ///
    /// # Errors
    /// None for a plan of this unit.
    pub fn digest(&self) -> Result<String, WriteError> {
        let mut digest = Sha256::new();
        generate(self, Layout::TestFloat, |lines| {
            digest.update(lines);
            Ok(())
        })?;
        Ok(hex(&digest.finalize()))
    }

    /// The header of a file in this layout with this digest; its length does not depend on the digest's digits.
    pub fn header(&self, layout: Layout, sha256: &str) -> Vec<u8> {
        let facts = Facts {
            layout,
            flags: self.flags,
            level: self.plan.level().name(),
            seed: self.plan.seed(),
            lines: self.plan.lines(),
            models: self.plan.to_string(),
            sha256,
        };
        header::write(&self.unit, &facts)
    }

    /// Writes header and lines. The digest stands before the lines, so these are computed twice.
    ///
    /// # Errors
    /// What the output refuses.
    pub fn write(&self, layout: Layout, out: &mut dyn Write) -> Result<(), WriteError> {
        out.write_all(&self.header(layout, &self.digest()?))?;
        generate(self, layout, |lines| out.write_all(lines))
    }

    /// Writes a header without a digest, then the lines, and gives the header that belongs in its place: computed
    /// once, for outputs that can be written at any position.
    ///
    /// # Errors
    /// What the output refuses.
    pub fn write_lines(
        &self,
        layout: Layout,
        mut out: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Vec<u8>, WriteError> {
        out(&self.header(layout, &"0".repeat(64)))?;
        if layout != Layout::TestFloat {
            let digest = self.digest()?;
            generate(self, layout, out)?;
            return Ok(self.header(layout, &digest));
        }
        let mut digest = Sha256::new();
        generate(self, layout, |lines| {
            digest.update(lines);
            out(lines)
        })?;
        Ok(self.header(layout, &hex(&digest.finalize())))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Delivers all lines of a set in order, piece by piece. Lines are made on rayon's threads while earlier ones are
/// delivered on the caller's.
///
/// # Errors
/// The first error of a call or of the output; nothing is delivered after it.
pub fn generate(
    set: &VectorSet,
    layout: Layout,
    mut deliver: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), WriteError> {
    let writer = LineWriter::new(&set.unit, layout, set.flags.mask());
    let lines = set.plan.lines();
    let at_once = CHUNKS * rayon::current_num_threads() as u64;
    let (sender, receiver) = sync_channel(1);
    thread::scope(|scope| {
        let writer = &writer;
        scope.spawn(move || {
            let chunks = lines.div_ceil(CHUNK);
            for first in (0..chunks).step_by(usize::try_from(at_once).unwrap_or(1)) {
                let batch: Vec<Result<Vec<u8>, Error>> = (first..chunks.min(first + at_once))
                    .into_par_iter()
                    .map(|chunk| piece(set, writer, chunk * CHUNK..lines.min((chunk + 1) * CHUNK)))
                    .collect();
                // Nobody listens any more after an error.
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        for batch in receiver {
            for piece in batch {
                deliver(&piece?)?;
            }
        }
        Ok(())
    })
}

/// Lines `range` as bytes.
fn piece(set: &VectorSet, writer: &LineWriter, range: std::ops::Range<u64>) -> Result<Vec<u8>, Error> {
    let mut operands = vec![0; set.plan.width()];
    let mut out = Vec::new();
    for i in range.clone() {
        set.plan.fill(i, &mut operands);
        let outcome = set.unit.evaluate(&operands)?;
        writer.push(&mut out, &operands, &outcome);
        if i == range.start {
            // All lines are as long as the first.
            out.reserve(out.len() * usize::try_from(range.end - i).unwrap_or(0));
        }
    }
    Ok(out)
}
