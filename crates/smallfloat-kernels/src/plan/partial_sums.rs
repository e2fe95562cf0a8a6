//! Partial sums of an element of a matrix product, in binary32, and tiles of products with scales.

/// Partial sums of one element.
pub(crate) const LANES: usize = 8;
/// One element's partial sums.
pub(crate) type Partial = [f32; LANES];

/// The sum of the partial sums.
pub(crate) fn total(partial: &Partial) -> f32 {
    let four = [0, 1, 2, 3].map(|j| partial[j] + partial[j + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Rows of A by some rows of B, over whole blocks of their elements, each of which has a scale.
#[derive(Clone, Copy)]
pub(crate) struct ScaledTile<'a> {
    /// Rows of A, `stride` apart, from the first of these blocks on.
    pub(crate) a: &'a [f32],
    pub(crate) stride: usize,
    /// The first elements of all rows of B, then the second ones, and so on.
    pub(crate) b: &'a [f32],
    /// Elements of a block, a multiple of eight; the last block may have fewer, also a multiple.
    pub(crate) room: usize,
    /// The scales of A's rows in the first block, then those in the second, and so on.
    pub(crate) x: &'a [f32],
    /// Those of B's rows.
    pub(crate) y: &'a [f32],
}

/// A vector and as many codes from the start of each row, over blocks of their elements, each of
/// which has a scale.
#[derive(Clone, Copy)]
pub(crate) struct ScaledRows<'a> {
    pub(crate) vector: &'a [f32],
    /// Rows of codes, from one row to the next.
    pub(crate) rows: &'a [u8],
    pub(crate) stride: usize,
    /// Elements of a block; the last one may have fewer.
    pub(crate) size: usize,
    /// The vector's scales.
    pub(crate) x: &'a [f32],
    /// The rows' scales in the first block, then those in the second, and so on.
    pub(crate) y: &'a [f32],
}
