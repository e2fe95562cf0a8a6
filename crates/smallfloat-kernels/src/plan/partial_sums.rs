//! Partial sums of an element of a matrix product, in binary32.

/// Partial sums of one element.
pub(crate) const LANES: usize = 8;
/// One element's partial sums.
pub(crate) type Partial = [f32; LANES];

/// The sum of the partial sums.
pub(crate) fn total(partial: &Partial) -> f32 {
    let four = [0, 1, 2, 3].map(|j| partial[j] + partial[j + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
