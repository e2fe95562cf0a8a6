//! The neighbours of a value in a format, whether or not the format has the value itself.

use crate::cast::signed;
use crate::format::datum::Datum;
use crate::format::{Format, Subnormals};
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;
use crate::projection::preset::Preset;
use crate::projection::rounding::Rounding;
use crate::projection::{NegativeRule, Projection, Unrepresentable, project};

impl Format {
    /// Returns the code of the smallest value above `x`, +∞ included; `None` where there is none or
    /// `x` is NaN.
    ///
    /// Between 0 and a negative value lies nothing, so the value above the largest negative one is
    /// zero: −0 in formats that have it.
    ///
    /// ```
    /// use smallfloat::{formats::E4M3FN, text};
    /// let x = text::parse("1.1")?;
    /// assert_eq!((E4M3FN.next_below(x), E4M3FN.next_above(x)), (Some(0x38), Some(0x39)));
    /// assert_eq!(E4M3FN.next_above(E4M3FN.max_finite().into()), None); // no infinity
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn next_above(&self, x: Exact) -> Option<u64> {
        self.adjacent(x, true)
    }

    /// Returns the code of the largest value below `x`, −∞ included; `None` where there is none or
    /// `x` is NaN.
    pub const fn next_below(&self, x: Exact) -> Option<u64> {
        self.adjacent(x, false)
    }

    /// Moves `x` by less than any spacing of the grid, then rounds on in the same direction.
    const fn adjacent(&self, x: Exact, up: bool) -> Option<u64> {
        let (negative, significand, exponent, sticky) = match x {
            Exact::Infinite { negative } if negative == up => {
                return self.encode(if up { self.min_finite() } else { self.max_finite() });
            }
            Exact::Nan { .. } | Exact::Infinite { .. } => return None,
            Exact::Cancelled | Exact::Finite { significand: 0, .. } => (!up, 1, -(1 << 29), true),
            Exact::Finite { negative, significand, exponent, sticky } => {
                let spare = significand.leading_zeros();
                (negative, significand << spare, exponent.saturating_sub(signed(spare)), sticky)
            }
        };
        let outward = negative != up;
        if negative && outward && !self.is_signed() {
            return None;
        }
        // An exact value moved inward lies above the next lower significand; any other above its
        // own.
        let significand = significand - (!outward && !sticky) as u128;
        let nudged = Exact::Finite { negative, significand, exponent, sticky: true };

        let rounding = if up { Rounding::TowardPositive } else { Rounding::TowardNegative };
        let Projection { saturation, unrepresentable, .. } = Preset::Ieee.projection(self);
        let unrepresentable = Unrepresentable { negative: NegativeRule::Zero, ..unrepresentable };
        let result = project(nudged, self, &Projection { rounding, saturation, unrepresentable });
        let datum = self.decode(result.value);

        // Beyond the largest value comes its infinity or nothing, whatever an overflow gives.
        let beyond =
            outward && result.flags.contains(Flags::OVERFLOW) && !matches!(datum, Datum::Infinite { .. });
        // Nothing lies below the smallest value of a format without zero.
        let below_smallest = !up && !self.has_zero() && result.flags.contains(Flags::UNDERFLOW);
        if beyond || below_smallest {
            return None;
        }
        // The subnormals were flushed: the smallest normal value is next.
        if outward && matches!(self.subnormals(), Subnormals::Flush) && datum.is_zero() {
            let normal = self.min_normal();
            return self.encode(if up { normal } else { normal.negated() });
        }
        Some(result.value)
    }
}

#[cfg(test)]
mod tests {
    use core::cmp::Ordering;
    use std::vec::Vec;

    use super::*;
    use crate::format::formats::{CATALOGUE, E4M3, E8M0FNU, UHP};

    /// Every format of up to 16 bits, and one of 19, against a search through all its codes.
    #[test]
    fn neighbours_are_the_nearest_codes_on_either_side() {
        let p3109 = ["binary8p3se", "binary8p1uf", "binary5p5uf", "binary6p5sf", "binary16p1se"];
        let minifloat =
            ["minifloat:k=6,p=3,bias=3,subnormals=none", "cfloat8_1_4_3:bias=7,subnormals=gradual"];
        let formats = CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= 19);
        let named = p3109.into_iter().chain(minifloat).map(|name| name.parse().expect("a format's name"));
        for format in formats.chain(named) {
            let mut values: Vec<Datum> = format.codes().map(|c| format.decode(c)).collect();
            values.retain(|v| !v.is_nan());
            values.sort_by(|a, b| a.compare(b).expect("no NaN"));
            values.dedup_by(|a, b| a.compare(b).is_some_and(Ordering::is_eq));
            let same = |code: Option<u64>, value: Option<&Datum>| match (code, value) {
                (Some(code), Some(value)) => format.decode(code).compare(value).is_some_and(Ordering::is_eq),
                (None, None) => true,
                _ => false,
            };
            for (at, &value) in values.iter().enumerate() {
                let x = Exact::from(value);
                assert!(same(format.next_above(x), values.get(at + 1)), "above {value} in {format}");
                let below = at.checked_sub(1).and_then(|below| values.get(below));
                assert!(same(format.next_below(x), below), "below {value} in {format}");
            }
        }
    }

    #[test]
    fn values_that_the_format_lacks_have_neighbours_too() {
        let third =
            Exact::Finite { negative: false, significand: u128::MAX / 3, exponent: -128, sticky: true };
        // 1/3 lies between 1.25 and 1.375 times 2^−2.
        assert_eq!((E4M3.next_below(third), E4M3.next_above(third)), (Some(0x2a), Some(0x2b)));
        // Beyond the largest value: ±∞ outside, the largest inside.
        let huge = Exact::finite(true, 1, 100);
        assert_eq!((E4M3.next_below(huge), E4M3.next_above(huge)), (Some(0xf8), Some(0xf7)));
        // Unsigned: only zero, or the smallest scale, lies above a negative value.
        assert_eq!((UHP.next_below(huge), UHP.next_above(huge)), (None, Some(0)));
        assert_eq!((E8M0FNU.next_below(huge), E8M0FNU.next_above(huge)), (None, Some(0)));
        // UHP's smallest positive result is its smallest normal value.
        assert_eq!(UHP.next_above(Exact::finite(false, 0, 0)), Some(0x0400));
        assert_eq!(UHP.next_above(Exact::Nan { negative: false }), None);
    }
}
