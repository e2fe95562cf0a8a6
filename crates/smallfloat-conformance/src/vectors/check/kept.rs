//! The vectors of a file that are kept for its diagnosis.

use crate::vectors::outcome::CallOutcome;

/// Vectors that agree and are kept, at most.
const AGREEING: usize = 1 << 18;
/// Numbers of vectors of a kind, at most: blocks and sums have many.
const NUMBERS: usize = 1 << 22;
/// Vectors that differ and are kept, at most.
const FAILING: usize = 1 << 17;

/// A number of a vector by which samples are drawn: the same vectors, whatever came before and on
/// however many threads.
fn lot(operands: &[u64]) -> u64 {
    let mix = |sum: u64, operand: &u64| (sum ^ operand).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    operands.iter().fold(1, mix).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Of each kind of vectors, those are kept whose lot has none of these bits.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Thinning {
    agreeing: u64,
    failing: u64,
}

/// A vector that differs.
#[derive(Clone, Debug)]
pub(crate) struct FailingVector {
    pub(crate) operands: Vec<u64>,
    /// What was given; nothing where it has unknown digits.
    pub(crate) given: Option<CallOutcome>,
}

/// All vectors of a file, or of a large one as many as there is room for, drawn by their operands.
#[derive(Clone, Default, Debug)]
pub(crate) struct KeptVectors {
    /// How many operands a vector has.
    width: usize,
    /// The operands of those that agree, one after the other.
    agreeing: Vec<u64>,
    failing: Vec<FailingVector>,
    thinning: Thinning,
}

impl KeptVectors {
    pub(super) fn new(width: usize, thinning: Thinning) -> Self {
        Self { width, thinning, ..Self::default() }
    }

    pub(super) fn thinning(&self) -> Thinning {
        self.thinning
    }

    pub(super) fn push_agreeing(&mut self, operands: &[u64]) {
        if lot(operands) & self.thinning.agreeing == 0 {
            self.agreeing.extend_from_slice(operands);
        }
    }

    pub(super) fn push_failing(&mut self, operands: &[u64], given: Option<&CallOutcome>) {
        if lot(operands) & self.thinning.failing == 0 {
            self.failing.push(FailingVector { operands: operands.to_vec(), given: given.cloned() });
        }
    }

    /// Adds vectors that were drawn with the same thinning or less.
    pub(super) fn add(&mut self, other: Self) {
        let width = self.width.max(1);
        let is_thinned = self.thinning.agreeing > other.thinning.agreeing;
        for operands in other.agreeing.chunks_exact(width) {
            if !is_thinned || lot(operands) & self.thinning.agreeing == 0 {
                self.agreeing.extend_from_slice(operands);
            }
        }
        let thin = self.thinning.failing;
        self.failing.extend(other.failing.into_iter().filter(|vector| lot(&vector.operands) & thin == 0));
        let limit = AGREEING.min(NUMBERS / width) * width;
        while self.agreeing.len() > limit && self.thinning.agreeing < u64::from(u32::MAX) {
            let thin = 2 * self.thinning.agreeing + 1;
            self.thinning.agreeing = thin;
            let kept = self.agreeing.chunks_exact(width).filter(|operands| lot(operands) & thin == 0);
            self.agreeing = kept.flatten().copied().collect();
        }
        while self.failing.len() > FAILING.min(NUMBERS / width) && self.thinning.failing < u64::from(u32::MAX)
        {
            let thin = 2 * self.thinning.failing + 1;
            self.thinning.failing = thin;
            self.failing.retain(|vector| lot(&vector.operands) & thin == 0);
        }
    }

    /// The operands of vectors that agree.
    pub(crate) fn agreeing(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.agreeing.chunks_exact(self.width.max(1))
    }

    /// The vectors that differ.
    pub(crate) fn failing(&self) -> &[FailingVector] {
        &self.failing
    }
}
