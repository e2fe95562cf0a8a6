//! Where a value lies on a format's grid: what rounding decides by.

use crate::format::Format;
use crate::projection::Located;
use crate::projection::exact::Exact;
use crate::projection::raise;
use crate::projection::rounding::Rounding;

/// The distance of a magnitude above the value of a format at or below it, compared with the next
/// one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Remainder {
    /// It is that value.
    Exact,
    /// It is nearer to that value.
    BelowHalf,
    /// It is as near to both.
    Half,
    /// It is nearer to the next one.
    AboveHalf,
}

/// The position of a finite magnitude other than 0 on a format's grid.
///
/// Magnitudes are given as indices: an index is a code without its sign, and indices go on past the
/// largest finite value as the grid does with unbounded exponent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GridPosition {
    /// The index of the largest value of the grid that is not above the magnitude.
    pub below: u64,
    /// Where between this and the next one it lies.
    pub remainder: Remainder,
    /// Whether it is below the smallest normal value.
    pub is_tiny: bool,
}

impl Format {
    /// Returns where the magnitude of a finite value other than 0 lies on the grid, before a
    /// negative one finds no code in an unsigned format, and before subnormals are flushed. `None`
    /// for other values, and beyond the largest finite value by a step of the grid or more.
    ///
    /// ```
    /// use smallfloat::{Remainder, formats::E4M3FN, text};
    /// let at = E4M3FN.grid_position(text::parse("1.0625")?).expect("a number in the range");
    /// assert_eq!((at.below, at.remainder), (0x38, Remainder::Half)); // between 1 and 1.125
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn grid_position(&self, x: Exact) -> Option<GridPosition> {
        let Exact::Finite { significand: significand @ 1.., exponent, sticky, .. } = x else { return None };
        let at = Located::new(significand, exponent, sticky, self, Rounding::NearestEven);
        if at.lo > self.max_index() {
            return None;
        }
        let position = &at.position;
        let remainder = if position.is_exact() {
            Remainder::Exact
        } else if position.is_above_half() {
            Remainder::AboveHalf
        } else if position.is_half() {
            Remainder::Half
        } else {
            Remainder::BelowHalf
        };
        Some(GridPosition { below: at.lo, remainder, is_tiny: at.tiny })
    }

    /// Returns whether a value below the smallest normal one rounds to it or above, as if the
    /// exponent were unbounded: then it is tiny before rounding and not after it (IEEE 754, section
    /// 7.5).
    pub const fn rounds_to_normal(&self, x: Exact, rounding: Rounding) -> bool {
        raise::rounds_to_normal(&x, self, rounding)
    }
}
