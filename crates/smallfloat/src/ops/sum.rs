//! Sums of any number of terms, exact whatever their order.

use crate::exact::Exact;
use crate::natural::Natural;
use crate::ops::{Outcome, Semantics};
use crate::{Datum, ops};

/// An exact sum of data and products: positive and negative terms as two integers of any size over one power of two.
///
/// Any order of additions gives the same sum. ∞ with −∞, 0 · ∞ and NaN give NaN.
///
/// ```
/// use smallfloat::{Datum, formats::BINARY32, ops::Sum, project};
/// let mut sum = Sum::new();
/// for x in [1.0_f32, f32::MAX, 1.0, -f32::MAX] {
///     sum.add(BINARY32.decode(u64::from(x.to_bits())));
/// }
/// let rounded = project(sum.exact(), &BINARY32, &BINARY32.default_projection());
/// assert_eq!(rounded.value, u64::from(2.0_f32.to_bits()));
/// ```
#[derive(Clone, Debug)]
pub struct Sum {
    positive: Natural,
    negative: Natural,
    /// The exponent of the integers' last place.
    unit: i32,
    nan: bool,
    infinite: [bool; 2],
    /// Was a term +0, was one −0?
    zeros: [bool; 2],
}

impl Default for Sum {
    fn default() -> Self {
        Self::new()
    }
}

impl Sum {
    /// The empty sum, +0.
    pub fn new() -> Self {
        Self {
            positive: Natural::new(0),
            negative: Natural::new(0),
            unit: 0,
            nan: false,
            infinite: [false; 2],
            zeros: [false; 2],
        }
    }

    /// Adds a datum.
    pub fn add(&mut self, x: Datum) {
        self.add_exact(Exact::from_datum(x));
    }

    /// Adds the product of two data, exactly.
    pub fn add_product(&mut self, x: Datum, y: Datum) {
        self.add_exact(ops::multiply(x, y, Semantics::Ieee).exact);
    }

    /// Adds an exact value.
    ///
    /// # Panics
    /// If the value was truncated (its sticky bit is set): it would not be exact.
    pub fn add_exact(&mut self, x: Exact) {
        match x {
            Exact::Nan { .. } => self.nan = true,
            Exact::Infinite { negative } => self.infinite[usize::from(negative)] = true,
            Exact::Cancelled => self.zeros = [true; 2],
            Exact::Finite { negative, significand: 0, .. } => self.zeros[usize::from(negative)] = true,
            Exact::Finite { negative, significand, exponent, sticky } => {
                assert!(!sticky, "a truncated value can't be summed exactly");
                if exponent < self.unit {
                    let shift = u64::from((self.unit - exponent).unsigned_abs());
                    self.positive.shift_left(shift);
                    self.negative.shift_left(shift);
                    self.unit = exponent;
                }
                let side = if negative { &mut self.negative } else { &mut self.positive };
                let mut term = Natural::from_u128(significand);
                term.shift_left(u64::from((exponent - self.unit).unsigned_abs()));
                side.add(&term);
            }
        }
    }

    /// The sum, exact or truncated toward zero to 128 bits and marked. Terms that are all −0 give −0, and
    /// +0 likewise; the zero of opposite terms is signed by the rounding mode.
    pub fn exact(&self) -> Exact {
        match (self.nan, self.infinite) {
            (true, _) | (_, [true, true]) => return Exact::Nan { negative: false },
            (_, [true, false]) => return Exact::Infinite { negative: false },
            (_, [false, true]) => return Exact::Infinite { negative: true },
            _ => {}
        }
        let negative = self.negative > self.positive;
        let (larger, smaller) =
            if negative { (&self.negative, &self.positive) } else { (&self.positive, &self.negative) };
        let mut difference = larger.clone();
        difference.subtract(smaller);
        if difference.is_zero() {
            let opposite = !self.positive.is_zero() || self.zeros == [true; 2];
            return if opposite { Exact::Cancelled } else { Exact::finite(self.zeros[1], 0, 0) };
        }
        let (significand, cut, sticky) = difference.leading();
        let exponent = self.unit.saturating_add(i32::try_from(cut).unwrap_or(i32::MAX));
        Exact::Finite { negative, significand, exponent, sticky }
    }
}

/// Σ xᵢ·yᵢ over pairs, exact until it is rounded once.
pub fn dot(pairs: impl IntoIterator<Item = (Datum, Datum)>) -> Outcome {
    let mut sum = Sum::new();
    for (x, y) in pairs {
        sum.add_product(x, y);
    }
    Outcome::new(sum.exact())
}
