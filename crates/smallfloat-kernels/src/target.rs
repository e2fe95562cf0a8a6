//! [`Target`]: where results go.

use smallfloat::{Format, Projection};

/// A format of results and how they are brought into it.
///
/// ```
/// use smallfloat::formats::{BFLOAT16, E4M3FN};
/// use smallfloat_kernels::{Accumulate, Dot, Target};
///
/// let dot = Dot::new(&E4M3FN, &E4M3FN, Accumulate::Exact)?;
/// let to = Target { format: &BFLOAT16, projection: &BFLOAT16.default_projection() };
/// // (1, 2) · (2, 2) = 6.
/// let mut codes = [0];
/// dot.matmul([&[0x38_u8, 0x40], &[0x40, 0x40]], 2, to, &mut codes);
/// assert_eq!(codes, [0x40c0]);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The format.
    pub format: &'a Format,
    /// The rounding, and what becomes of values that the format lacks.
    pub projection: &'a Projection,
}
