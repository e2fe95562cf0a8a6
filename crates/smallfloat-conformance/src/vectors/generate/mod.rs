//! [`generate`]: the lines of a plan, computed on all threads and delivered in order.

pub(crate) mod directed;
mod dots;
mod lists;
mod plan;
pub(crate) mod pools;
mod random;
mod scales;
pub(crate) mod terms;

use std::io::{self, Write};
use std::ops::Range;

use sha2::{Digest, Sha256};
use smallfloat::FlagOrder;
use smallfloat_kernels::{meanwhile, parallel_map, threads};

pub use self::plan::{LineKind, Section, Selection, Shard, VectorPlan};
use crate::error::Error;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::header;
use crate::vectors::header::{Facts, FlagSet};
use crate::vectors::layout::{LineLayout, LineWriter};

/// Lines that a thread makes at once.
const CHUNK: u64 = 1 << 13;
/// Lines whose operands are made at once: few, since those of long blocks are many.
const LINES: usize = 256;
/// Chunks that are made before they are handed on, per thread.
const CHUNKS: usize = 8;
/// The layout and the order of flags that digests are made of.
pub(super) const CANONICAL: (LineLayout, FlagOrder) = (LineLayout::TestFloat, FlagOrder::Fflags);

/// A unit, its operands and its flags: all that determines a file of vectors.
#[derive(Clone, Debug)]
pub struct VectorSet {
    unit: VectorUnit,
    plan: VectorPlan,
    flags: FlagSet,
    order: FlagOrder,
}

/// The step at which generating stopped.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The unit refuses its operands.
    #[error(transparent)]
    UnitUnderTest(#[from] Error),
    /// The lines could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl VectorSet {
    /// Returns the vectors of a unit for a plan; without flags given, those that units with its
    /// policy have.
    pub fn new(unit: impl Into<VectorUnit>, plan: VectorPlan, flags: Option<FlagSet>) -> Self {
        let unit = unit.into();
        let flags = flags.unwrap_or(unit.flags());
        Self { unit, plan, flags, order: FlagOrder::Fflags }
    }

    /// Returns the set with the flags' bits in another order.
    #[must_use]
    pub fn with_order(self, order: FlagOrder) -> Self {
        Self { order, ..self }
    }

    /// Returns the unit.
    pub fn unit(&self) -> &VectorUnit {
        &self.unit
    }

    /// Returns the plan.
    pub fn plan(&self) -> &VectorPlan {
        &self.plan
    }

    /// Returns the flags in each line.
    pub fn flags(&self) -> FlagSet {
        self.flags
    }

    /// Returns SHA-256 of the lines in the testfloat layout with the order `fflags`, in
    /// hexadecimal: the same for every layout and order.
    ///
    /// # Errors
    /// None for a plan of this unit.
    pub fn digest(&self) -> Result<String, WriteError> {
        let mut digest = Sha256::new();
        pieces(self, [CANONICAL], |[lines]| {
            digest.update(lines);
            Ok(())
        })?;
        Ok(hex(&digest.finalize()))
    }

    /// Returns the header of a file in this layout; it says that the digest stands in the last
    /// line.
    pub fn header(&self, layout: LineLayout) -> Vec<u8> {
        let facts = Facts {
            layout,
            flags: self.flags,
            order: self.order,
            level: self.plan.level(),
            seed: self.plan.seed(),
            lines: self.plan.lines(),
            models: self.plan.to_string(),
            part: self.plan.shard().map(|shard| {
                let lines = self.plan.range();
                format!("{shard}, lines {} to {} of {}", lines.start + 1, lines.end, self.plan.all_lines())
            }),
        };
        header::write(&self.unit, &facts)
    }

    /// Writes the header, the lines as they are computed, and the digest of all of them in a last
    /// line.
    ///
    /// # Errors
    /// What the output refuses.
    pub fn write(&self, layout: LineLayout, out: &mut dyn Write) -> Result<(), WriteError> {
        out.write_all(&self.header(layout))?;
        let mut digest = Sha256::new();
        if (layout, self.order) == CANONICAL {
            pieces(self, [CANONICAL], |[lines]| {
                digest.update(&lines);
                out.write_all(&lines)
            })?;
        } else {
            pieces(self, [(layout, self.order), CANONICAL], |[lines, canonical]| {
                digest.update(&canonical);
                out.write_all(&lines)
            })?;
        }
        Ok(out.write_all(header::trailer(layout, &hex(&digest.finalize())).as_bytes())?)
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

/// Delivers all lines of a set in order, piece by piece. Lines are made on other threads while
/// earlier ones are delivered on the caller's.
///
/// # Errors
/// The first error of a call or of the output; nothing is delivered after it.
pub fn generate(
    set: &VectorSet,
    layout: LineLayout,
    mut deliver: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), WriteError> {
    pieces(set, [(layout, set.order)], |[lines]| deliver(&lines))
}

/// [`generate`] in several layouts at once: of each piece, its lines in every one.
fn pieces<const N: usize>(
    set: &VectorSet,
    layouts: [(LineLayout, FlagOrder); N],
    mut deliver: impl FnMut([Vec<u8>; N]) -> io::Result<()>,
) -> Result<(), WriteError> {
    let writers = layouts.map(|(layout, order)| LineWriter::new(&set.unit, layout, set.flags.mask(), order));
    let lines = set.plan.lines();
    let (chunks, at_once) = (lines.div_ceil(CHUNK), CHUNKS * threads());
    let batch = |first: u64| -> Vec<Result<[Vec<u8>; N], Error>> {
        let numbers: Vec<u64> = (first..chunks.min(first + at_once as u64)).collect();
        let lines = |chunk: u64| chunk * CHUNK..lines.min((chunk + 1) * CHUNK);
        parallel_map(numbers.len(), |at| piece(set, &writers, lines(numbers[at])))
    };
    let mut deliver_all = |batch: Vec<Result<[Vec<u8>; N], Error>>| -> Result<(), WriteError> {
        batch.into_iter().try_for_each(|piece| Ok(deliver(piece?)?))
    };
    let (mut first, mut ready) = (0, batch(0));
    while first < chunks {
        first += at_once as u64;
        let (next, delivered) = meanwhile(|| batch(first), || deliver_all(ready));
        delivered?;
        ready = next;
    }
    Ok(())
}

/// Lines `range` as bytes of each layout.
fn piece<const N: usize>(
    set: &VectorSet,
    writers: &[LineWriter; N],
    range: Range<u64>,
) -> Result<[Vec<u8>; N], Error> {
    let width = set.plan.width();
    let count = |lines: &Range<u64>| usize::try_from(lines.end - lines.start).expect("few");
    let mut out = writers.each_ref().map(|writer| writer.blank(count(&range)));
    let (mut operands, mut at) = (vec![0; LINES * width], 0);
    for first in range.clone().step_by(LINES) {
        let lines = first..range.end.min(first + LINES as u64);
        let operands = &mut operands[..count(&lines) * width];
        set.plan.fill(lines, operands);
        for operands in operands.chunks_exact(width) {
            let outcome = set.unit.evaluate(operands)?;
            for (writer, out) in writers.iter().zip(&mut out) {
                let length = writer.length();
                writer.fill(&mut out[at * length..(at + 1) * length], operands, &outcome);
            }
            at += 1;
        }
    }
    Ok(out)
}
