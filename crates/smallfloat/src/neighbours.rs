//! The neighbours of a value in a format, whether or not the format has the value itself.

use crate::cast::signed;
use crate::preset::Preset;
use crate::projection::{NegativeRule, Projection, project};
use crate::{Exact, Flags, Format, Rounding, Subnormals};

impl Format {
    /// The code of the smallest value above `x`, +∞ included; `None` where there is none or `x` is NaN.
    ///
    /// Between 0 and a negative value lies nothing, so the value above the largest negative one is zero: −0 in formats
    /// that have it.
    ///
    /// ```
    /// use smallfloat::{formats::E4M3FN, text};
    /// let x = text::parse("1.1")?;
    /// assert_eq!((E4M3FN.next_below(x), E4M3FN.next_above(x)), (Some(0x38), Some(0x39)));
    /// assert_eq!(E4M3FN.next_above(E4M3FN.max_finite().into()), None); // no infinity
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn next_above(&self, x: Exact) -> Option<u64> {
        self.adjacent(x, Rounding::TowardPositive)
    }

    /// The code of the largest value below `x`, −∞ included; `None` where there is none or `x` is NaN.
    pub const fn next_below(&self, x: Exact) -> Option<u64> {
        self.adjacent(x, Rounding::TowardNegative)
    }

    /// Moves `x` by less than any spacing of the grid, then rounds on in the same direction.
    const fn adjacent(&self, x: Exact, direction: Rounding) -> Option<u64> {
        let up = matches!(direction, Rounding::TowardPositive);
        let (negative, significand, exponent, sticky) = match x {
            Exact::Nan { .. } => return None,
            Exact::Infinite { negative } if negative == up => {
                let extreme = if up { self.min_finite() } else { self.max_finite() };
                return self.encode(extreme);
            }
            Exact::Infinite { .. } => return None,
            Exact::Finite { negative, significand, exponent, sticky } => {
                (negative, significand, exponent, sticky)
            }
        };
        let nudged = if significand == 0 {
            Exact::Finite { negative: !up, significand: 1, exponent: -(1 << 29), sticky: true }
        } else {
            let spare = significand.leading_zeros();
            let (significand, exponent) = (significand << spare, exponent - signed(spare));
            // Toward zero from an exact value: just below it; in every other case the truncated significand will do.
            let inward = (negative == up && !sticky) as u128;
            Exact::Finite { negative, significand: significand - inward, exponent, sticky: true }
        };
        let to_negative = significand != 0 && negative || significand == 0 && !up;
        if to_negative && !up && !self.is_signed() {
            return None;
        }
        let policy = Preset::Ieee.projection(self);
        let unrepresentable = crate::Unrepresentable { negative: NegativeRule::Zero, ..policy.unrepresentable };
        let how = Projection { rounding: direction, unrepresentable, ..policy };
        let result = project(nudged, self, &how);
        let datum = self.decode(result.value);
        if datum.is_nan() {
            return None;
        }
        // Clamped in a format without zero, infinity or NaN: there is nothing further.
        let clamped = result.flags.contains(Flags::OVERFLOW) && datum.is_finite() && to_negative != up;
        let nothing_below = !self.has_zero() && !up && result.flags.contains(Flags::UNDERFLOW);
        if (clamped && self.is_outward(x, up)) || nothing_below {
            return None;
        }
        // Flushed back to zero on the way out: the smallest normal value is the next.
        let outward = to_negative != up;
        if matches!(self.subnormals(), Subnormals::Flush) && datum.is_zero() && outward {
            let normal = self.min_normal();
            return self.encode(if up { normal } else { normal.negated() });
        }
        Some(result.value)
    }
}
