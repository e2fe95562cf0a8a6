//! [`Search`]: operands for the bins of units that have too many to try all.

use std::collections::HashSet;
use std::sync::Arc;

use smallfloat_kernels::parallel_map;

use crate::coverage::model::reach::Witnesses;
use crate::coverage::model::subject::Subject;
use crate::error::Error;
use crate::vectors::generate::pools::sample;
use crate::vectors::{CoverageLevel, Field, VectorPlan};

/// Lines that are tried before what they reached is taken in, and their operands together.
const BATCH: usize = 1 << 15;
const NUMBERS: usize = 1 << 22;
/// Lines that a thread takes at once.
const CHUNK: usize = 1 << 10;
/// Changes of one witness in a round.
const CHANGES: usize = 24;
/// Rounds of changes, and after how many without anything new the search ends.
const ROUNDS: usize = 60;
const PATIENCE: usize = 4;
/// Numbers that are evaluated in the rounds at most, counted in operands.
const EFFORT: usize = 8_000_000;
/// Witnesses that are changed in a round.
const CHANGED: usize = 2048;

/// A search for operands of as many bins as it can find; it always finds the same ones.
pub(crate) struct Search<'a> {
    subject: &'a dyn Subject,
    found: Witnesses,
    /// Lines that reached something new since they were last changed.
    news: Vec<Arc<[u64]>>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(subject: &'a dyn Subject) -> Self {
        Self { subject, found: Witnesses { of: subject.counts(None) }, news: Vec::new() }
    }

    /// What was found.
    pub(crate) fn into_found(self) -> Witnesses {
        self.found
    }

    /// Returns whether operands for a bin were found.
    pub(crate) fn has(&self, at: usize, bin: usize) -> bool {
        self.found.of[at][bin].is_some()
    }

    /// Lines that are tried before what they reached is taken in.
    fn batch(&self) -> usize {
        (NUMBERS / self.subject.width()).clamp(1, BATCH)
    }

    /// Tries the vectors of level 1.
    ///
    /// # Errors
    /// What planning them refuses.
    pub(crate) fn take_level_one(&mut self) -> Result<(), Error> {
        let plan = VectorPlan::new(self.subject.unit(), Some(CoverageLevel::One), 0, None)?;
        let (lines, batch, width) = (plan.lines(), self.batch(), self.subject.width());
        for first in (0..lines).step_by(batch) {
            let range = first..lines.min(first + batch as u64);
            let mut operands = vec![0; usize::try_from(range.end - range.start).expect("a batch") * width];
            plan.fill(range, &mut operands);
            self.take(&operands);
        }
        Ok(())
    }

    /// Tries lines; returns whether one reached a bin that none had reached.
    pub(crate) fn take(&mut self, lines: &[u64]) -> bool {
        let (subject, width) = (self.subject, self.subject.width());
        let mut is_new = false;
        for batch in lines.chunks(self.batch() * width) {
            let found = &self.found;
            let chunks: Vec<&[u64]> = batch.chunks(CHUNK * width).collect();
            let news = parallel_map(chunks.len(), |chunk| {
                let (mut news, mut seen, mut values) = (Vec::new(), HashSet::new(), Vec::new());
                for operands in chunks[chunk].chunks_exact(width) {
                    subject.bins(operands, &mut values, |at, bin| {
                        if found.of[at][bin].is_none() && seen.insert((at, bin)) {
                            news.push((at, bin, operands));
                        }
                    });
                }
                news
            });
            for (at, bin, operands) in news.into_iter().flatten() {
                let witness = &mut self.found.of[at][bin];
                if witness.is_none() {
                    if self.news.last().is_none_or(|last| **last != *operands) {
                        self.news.push(operands.into());
                    }
                    *witness = self.news.last().cloned();
                    is_new = true;
                }
            }
        }
        is_new
    }

    /// Changes what reached something new, until nothing new comes.
    pub(crate) fn changes(&mut self) {
        let fields = self.subject.unit().operands();
        let width = fields.len();
        let (mut random, mut effort, mut patience) = (Random(0x736d_616c_6c66_6c6f), EFFORT, PATIENCE);
        for _ in 0..ROUNDS {
            let mut witnesses = std::mem::take(&mut self.news);
            if witnesses.is_empty() {
                // All of them once more, changed otherwise.
                let all: HashSet<&Arc<[u64]>> = self.found.of.iter().flatten().flatten().collect();
                let mut all: Vec<&Arc<[u64]>> = all.into_iter().collect();
                all.sort_unstable();
                witnesses = sample(&all, CHANGED).into_iter().cloned().collect();
            }
            witnesses.truncate(CHANGED);
            let mut lines = Vec::with_capacity(witnesses.len() * CHANGES * width);
            for witness in &witnesses {
                for _ in 0..CHANGES {
                    let start = lines.len();
                    lines.extend_from_slice(witness);
                    for _ in 0..=random.below(2) {
                        change(fields, &mut lines[start..], &mut random);
                    }
                }
            }
            patience = if self.take(&lines) { PATIENCE } else { patience - 1 };
            effort = effort.saturating_sub(lines.len());
            if patience == 0 || effort == 0 {
                return;
            }
        }
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).expect("below a usize")
    }
}

/// Changes one field of a line.
fn change(fields: &[Field], line: &mut [u64], random: &mut Random) {
    let at = random.below(fields.len());
    let (field, other) = (&fields[at], random.below(fields.len()));
    let max = field.max();
    let code = line[at];
    let trailing = field.format.map_or(0, |format| format.trailing_bits());
    let low = (1_u64 << trailing) - 1;
    line[at] = max
        & match random.below(9) {
            0 => code.wrapping_add(1),
            1 => code.wrapping_sub(1),
            2 => code ^ 1 << (field.bits - 1),
            3 => code ^ 1 << random.below(field.bits as usize),
            // Another exponent: a few binades away, or any.
            4 => code.wrapping_add((random.next() % 9).wrapping_sub(4) << trailing),
            5 => code & !(max >> 1 ^ low) | random.next() & (max >> 1 ^ low),
            // Another significand: ones, zeros, or any.
            6 => match random.below(3) {
                0 => code | low,
                1 => code & !low,
                _ => code & !low | random.next() & low,
            },
            // What stands elsewhere, with either sign.
            7 => line[other] ^ (random.next() & 1) << (field.bits - 1),
            _ => random.next(),
        };
}
