//! Which bins can be reached, with operands that do.
//!
//! Units with operands of up to 24 bits together are tried with all of them. Of wider ones operands
//! are searched for. A bin that no search reached is unreachable if there is a proof, else it is
//! not known to be reachable.

use std::sync::Arc;

use smallfloat_kernels::parallel_fold;

use crate::coverage::model::search::Search;
use crate::coverage::model::subject::Subject;
use crate::error::Error;
use crate::vectors::{CoverageLevel, VectorPlan};

/// Operand bits that are tried exhaustively.
const EXHAUSTIVE_BITS: u32 = 24;
/// Lines that a thread takes at once.
const CHUNK: u64 = 1 << 14;

/// What is known of a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Operands that reach it are known.
    Reachable,
    /// It is proved that none do.
    Unreachable,
    /// None are known, and no proof that there are none.
    Unknown,
}

/// Operands for each bin of each cross.
#[derive(Clone, Debug)]
pub(crate) struct Witnesses {
    pub(crate) of: Vec<Vec<Option<Arc<[u64]>>>>,
}

/// What is known of all bins.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) witnesses: Witnesses,
    pub(crate) status: Vec<Vec<Reach>>,
    /// Whether all operands were tried.
    pub(crate) is_exhaustive: bool,
}

impl Reached {
    pub(crate) fn new(subject: &dyn Subject) -> Result<Self, Error> {
        let bits = subject.unit().operands().iter().fold(0_u32, |sum, field| sum.saturating_add(field.bits));
        let is_exhaustive = bits <= EXHAUSTIVE_BITS;
        let witnesses = if is_exhaustive {
            exhaustive(subject)?
        } else {
            let mut search = Search::new(subject);
            subject.search(&mut search)?;
            search.into_found()
        };
        let possible = (!is_exhaustive).then(|| subject.possible(&witnesses));
        let status = witnesses
            .of
            .iter()
            .enumerate()
            .map(|(at, witnesses)| {
                let reach = |(bin, witness): (usize, &Option<Arc<[u64]>>)| match (&possible, witness) {
                    (_, Some(_)) => Reach::Reachable,
                    (Some(possible), None) if possible(at, bin) => Reach::Unknown,
                    _ => Reach::Unreachable,
                };
                witnesses.iter().enumerate().map(reach).collect()
            })
            .collect();
        drop(possible);
        Ok(Self { witnesses, status, is_exhaustive })
    }
}

/// The first operands that reach each bin, of all operands.
fn exhaustive(subject: &dyn Subject) -> Result<Witnesses, Error> {
    let plan = VectorPlan::new(subject.unit(), Some(CoverageLevel::Exhaustive), 0, None)?;
    let width = subject.width();
    let chunk = |mut first: Vec<Vec<u64>>, chunk: u64| {
        let lines = chunk * CHUNK..plan.lines().min((chunk + 1) * CHUNK);
        let count = usize::try_from(lines.end - lines.start).expect("a chunk");
        let mut operands = vec![0; count * width];
        plan.fill(lines.clone(), &mut operands);
        let mut values = Vec::new();
        for (operands, line) in operands.chunks_exact(width).zip(lines) {
            subject.bins(operands, &mut values, |at, bin| first[at][bin] = first[at][bin].min(line));
        }
        first
    };
    let least = |mut a: Vec<Vec<u64>>, b: Vec<Vec<u64>>| {
        for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
            *a = (*a).min(*b);
        }
        a
    };
    let chunks = plan.lines().div_ceil(CHUNK);
    let first = parallel_fold(chunks, || subject.counts(u64::MAX), chunk, least);
    let operands = |line: u64| {
        let mut operands = vec![0; width];
        plan.fill(line..line + 1, &mut operands);
        operands.into()
    };
    let witness = |line: &u64| (*line != u64::MAX).then(|| operands(*line));
    Ok(Witnesses { of: first.iter().map(|first| first.iter().map(witness).collect()).collect() })
}
