//! [`Point`]: an exact magnitude, as formats and the middles between their values have them.

use std::cmp::Ordering;

use smallfloat::formats::BINARY64;
use smallfloat::{Datum, Exact, Format, Subnormals};

/// A positive number significand · 2^exponent, or 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) significand: u128,
    pub(super) exponent: i32,
}

impl Point {
    pub(super) const ZERO: Self = Self { significand: 0, exponent: 0 };

    /// A number whose significand is odd, or 0.
    pub(super) fn new(significand: u128, exponent: i32) -> Self {
        if significand == 0 {
            return Self::ZERO;
        }
        let spare = significand.trailing_zeros();
        Self { significand: significand >> spare, exponent: exponent + spare.cast_signed() }
    }

    pub(super) fn of(datum: &Datum) -> Self {
        match *datum {
            Datum::Finite { significand, exponent, .. } => Self::new(u128::from(significand), exponent),
            _ => unreachable!("only finite data are asked for"),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.significand == 0
    }

    /// The exponent of the leading bit of a number that is not 0.
    pub(super) fn leading(&self) -> i32 {
        self.exponent + self.significand.ilog2().cast_signed()
    }

    pub(super) fn scaled(self, by: i32) -> Self {
        if self.is_zero() { self } else { Self { exponent: self.exponent + by, ..self } }
    }

    /// The sum of two numbers whose bits lie within 127 places.
    pub(super) fn plus(self, other: Self) -> Self {
        let unit = if self.is_zero() {
            other.exponent
        } else if other.is_zero() {
            self.exponent
        } else {
            self.exponent.min(other.exponent)
        };
        let in_units = |x: Self| if x.is_zero() { 0 } else { x.significand << (x.exponent - unit) };
        Self::new(in_units(self) + in_units(other), unit)
    }

    /// The difference from a smaller number, within 127 places.
    pub(super) fn minus(self, other: Self) -> Self {
        let unit = self.exponent.min(other.exponent);
        let in_units = |x: Self| x.significand << (x.exponent - unit);
        Self::new(in_units(self) - in_units(other), unit)
    }

    pub(super) fn half(self) -> Self {
        self.scaled(-1)
    }

    pub(super) fn exact(self, negative: bool) -> Exact {
        Exact::finite(negative, self.significand, self.exponent)
    }

    /// Significand and exponent of the number, its leading bit at bit 119, with room below.
    fn spread(self) -> (u128, i32) {
        let shift = 119 - self.significand.ilog2();
        (self.significand << shift, self.exponent - shift.cast_signed())
    }

    /// A number above by less than any step.
    pub(super) fn just_above(self, negative: bool) -> Exact {
        let (significand, exponent) = self.spread();
        Exact::Finite { negative, significand, exponent, sticky: true }
    }

    /// A number below by less than any step.
    pub(super) fn just_below(self, negative: bool) -> Exact {
        let (significand, exponent) = self.spread();
        Exact::Finite { negative, significand: significand - 1, exponent, sticky: true }
    }

    /// The number as text: a decimal where that is short, else with a power of two.
    pub(super) fn text(self) -> String {
        match u64::try_from(self.significand) {
            Ok(significand) => match Datum::finite(false, significand, self.exponent).to_f64() {
                Some(value) => BINARY64.decode_text(value.to_bits()),
                None => format!("{significand}p{}", self.exponent),
            },
            Err(_) => format!("{}p{}", self.significand, self.exponent),
        }
    }
}

impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Point {}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => {
                let normal = |x: &Self| x.significand << x.significand.leading_zeros();
                self.leading().cmp(&other.leading()).then_with(|| normal(self).cmp(&normal(other)))
            }
        }
    }
}

/// What the codes of a format look like: the sign, and below it the index, which sorts as
/// magnitudes do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    /// The bits of a code without its sign.
    pub(super) index_bits: u32,
    /// The index of the largest finite value.
    pub(super) max_index: u64,
    /// The index of the smallest normal value.
    pub(super) first_normal: u64,
}

impl Layout {
    pub(super) fn new(format: &Format) -> Self {
        let index_bits = format.width() - u32::from(format.is_signed());
        // Of both signs, but for a zero without its own −0.
        let codes = format.finite_codes();
        let max_index = if format.is_signed() { codes.div_ceil(2) - 1 } else { codes - 1 };
        let layout = Self { format: *format, index_bits, max_index, first_normal: 0 };
        let least = Point::of(&format.min_normal());
        Self { first_normal: layout.first(|index| layout.value(index) >= least), ..layout }
    }

    /// The first index for which this holds, of those up to one above the largest finite value's,
    /// for a condition that holds from some index on.
    pub(super) fn first(&self, holds: impl Fn(u64) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.max_index + 1);
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The magnitude of an index as operands have it.
    pub(super) fn value(&self, index: u64) -> Point {
        Point::of(&self.format.decode(index))
    }

    /// The magnitude of an index as results are rounded: codes that are flushed keep their place on
    /// the grid, and the grid goes on one step above the largest finite value.
    pub(super) fn grid(&self, index: u64) -> Point {
        let t = self.format.trailing_bits();
        if index > self.max_index {
            let Point { significand, exponent } = self.value(self.max_index);
            let spare = t - significand.ilog2();
            return Point::new((significand << spare) + 1, exponent - spare.cast_signed());
        }
        if matches!(self.format.subnormals(), Subnormals::Flush) && index < self.first_normal {
            return Point::new(u128::from(index), 1 - self.format.bias() - t.cast_signed());
        }
        self.value(index)
    }
}
