//! [`Key`]: the integers that stand for magnitudes in a specification.

use dashu_base::BitTest;
use dashu_int::UBig;

use super::point::{Layout, Point};

/// An integer that sorts as the magnitude does that it stands for.
#[derive(Clone, Debug)]
pub(super) enum Key {
    /// The code of a number without its sign, with so many zeros before it; its value is multiplied
    /// by 2^scale.
    Index { layout: Layout, scale: i32, spare: u32 },
    /// A number of so many bits in units of 2^unit.
    Fixed { bits: u32, unit: i32 },
}

impl Key {
    pub(super) fn bits(&self) -> u32 {
        match self {
            Self::Index { layout, spare, .. } => layout.index_bits + spare,
            Self::Fixed { bits, .. } => *bits,
        }
    }

    /// The smallest key whose magnitude is not below a number; `None` where no finite one is so
    /// large.
    pub(super) fn at_least(&self, point: Point) -> Option<UBig> {
        match self {
            Self::Index { layout, scale, .. } => {
                let point = point.scaled(-scale);
                let index = layout.first(|index| layout.value(index) >= point);
                (index <= layout.max_index).then(|| UBig::from(index))
            }
            Self::Fixed { bits, unit } => {
                let (whole, rest) = in_units(point, *unit);
                let key = if rest { whole + UBig::ONE } else { whole };
                (key.bit_len() <= *bits as usize).then_some(key)
            }
        }
    }

    /// The smallest key whose magnitude is above a number.
    pub(super) fn above(&self, point: Point) -> Option<UBig> {
        match self {
            Self::Index { layout, scale, .. } => {
                let point = point.scaled(-scale);
                let index = layout.first(|index| layout.value(index) > point);
                (index <= layout.max_index).then(|| UBig::from(index))
            }
            Self::Fixed { bits, unit } => {
                let key = in_units(point, *unit).0 + UBig::ONE;
                (key.bit_len() <= *bits as usize).then_some(key)
            }
        }
    }

    /// The key of this very number, if it has one. Of several zeros the first.
    pub(super) fn exactly(&self, point: Point) -> Option<UBig> {
        match self {
            Self::Index { layout, scale, .. } => {
                let point = point.scaled(-scale);
                let index = layout.first(|index| layout.value(index) >= point);
                (index <= layout.max_index && layout.value(index) == point).then(|| UBig::from(index))
            }
            Self::Fixed { bits, unit } => {
                let (whole, rest) = in_units(point, *unit);
                (!rest && whole.bit_len() <= *bits as usize).then_some(whole)
            }
        }
    }
}

/// A number in units of 2^unit, cut to an integer, and whether anything was cut.
fn in_units(point: Point, unit: i32) -> (UBig, bool) {
    let significand = UBig::from(point.significand);
    if point.is_zero() {
        return (significand, false);
    }
    let shift = point.exponent - unit;
    let places = shift.unsigned_abs() as usize;
    if shift >= 0 {
        (significand << places, false)
    } else {
        // An odd significand leaves a rest.
        (significand >> places, true)
    }
}
