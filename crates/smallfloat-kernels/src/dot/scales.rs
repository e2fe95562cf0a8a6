//! [`Scales`]: the factors of a matrix's values.

/// The factors of a matrix's values, for [`Dot::matmul_f32`](crate::Dot::matmul_f32).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Scales<'a> {
    /// One number for all.
    Tensor(f32),
    /// One for each row.
    Rows(&'a [f32]),
    /// One for each block of so many elements of a row, row by row; the last block of a row may be
    /// shorter.
    Blocks(usize, &'a [f32]),
}

impl Scales<'_> {
    pub(super) fn of(&self, row: usize, block: usize, blocks: usize) -> f32 {
        match self {
            Self::Tensor(scale) => *scale,
            Self::Rows(scales) => scales[row],
            Self::Blocks(_, scales) => scales[row * blocks + block],
        }
    }

    /// The scales of a block of rows that follow each other.
    pub(super) fn of_rows(&self, first: usize, block: usize, blocks: usize, scales: &mut [f32]) {
        for (i, scale) in scales.iter_mut().enumerate() {
            *scale = self.of(first + i, block, blocks);
        }
    }

    pub(super) fn block(&self) -> Option<usize> {
        if let Self::Blocks(block, _) = self { Some(*block) } else { None }
    }

    pub(super) fn check(&self, rows: usize, length: usize) {
        let (expected, found) = match self {
            Self::Tensor(_) => return,
            Self::Rows(scales) => (rows, scales.len()),
            Self::Blocks(block, scales) => {
                assert!(*block > 0, "blocks of scales must have elements");
                (rows * length.div_ceil(*block), scales.len())
            }
        };
        assert!(
            found == expected,
            "{found} scales where {expected} are needed: one scale for each row, or each block of each row"
        );
    }
}
