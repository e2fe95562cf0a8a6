//! Sums of any number of terms, exact whatever their order.

use crate::format::datum::Datum;
use crate::natural::Natural;
use crate::ops::Outcome;
use crate::ops::add::multiply_exact;
use crate::projection::exact::Exact;

/// An exact sum of data and products: positive and negative terms as two integers of any size over
/// one power of two.
///
/// Any order of additions gives the same sum. ∞ with −∞, 0 · ∞ and NaN give NaN. It takes as many
/// bits of memory as lie between the leading bit of the largest term and the last of the smallest.
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
    /// The positive and the negative terms while both fit in a word: most sums need no more, and no
    /// memory. Then nothing is in the integers below.
    words: Option<[u128; 2]>,
    positive: Natural,
    negative: Natural,
    /// The exponent of the last place of all of them.
    unit: i64,
    nan: bool,
    infinite: [bool; 2],
    /// Whether a term was +0, and whether one was −0.
    zeros: [bool; 2],
}

impl Default for Sum {
    fn default() -> Self {
        Self::new()
    }
}

impl Sum {
    /// Returns the empty sum, +0.
    pub fn new() -> Self {
        Self {
            words: Some([0; 2]),
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
        let (product, scale) = multiply_exact(x, y);
        self.add_scaled(product, scale);
    }

    /// Adds an exact value.
    ///
    /// # Panics
    /// If the value was truncated (its sticky bit is set): it would not be exact.
    #[inline]
    pub fn add_exact(&mut self, x: Exact) {
        self.add_scaled(x, 0);
    }

    /// Adds an exact value times 2^scale.
    #[inline]
    fn add_scaled(&mut self, x: Exact, scale: i32) {
        match x {
            Exact::Nan { .. } => self.nan = true,
            Exact::Infinite { negative } => self.infinite[usize::from(negative)] = true,
            Exact::Cancelled => self.zeros = [true; 2],
            Exact::Finite { negative, significand: 0, .. } => self.zeros[usize::from(negative)] = true,
            Exact::Finite { negative, significand, exponent, sticky } => {
                assert!(!sticky, "a truncated value can't be summed exactly");
                let exponent = i64::from(exponent) + i64::from(scale);
                if !self.add_word(negative, significand, exponent) {
                    self.add_natural(negative, significand, exponent);
                }
            }
        }
    }

    /// Adds a term to the integers, where the words' sum goes first.
    fn add_natural(&mut self, negative: bool, significand: u128, exponent: i64) {
        if let Some([positive, negative]) = self.words.take() {
            self.positive = Natural::from_u128(positive);
            self.negative = Natural::from_u128(negative);
        }
        if exponent < self.unit {
            let shift = self.unit.abs_diff(exponent);
            self.positive.shift_left(shift);
            self.negative.shift_left(shift);
            self.unit = exponent;
        }
        let side = if negative { &mut self.negative } else { &mut self.positive };
        let mut term = Natural::from_u128(significand);
        term.shift_left(exponent.abs_diff(self.unit));
        side.add(&term);
    }

    /// Adds a term to the words, if the sum and the term's last place fit there.
    #[inline]
    fn add_word(&mut self, negative: bool, significand: u128, exponent: i64) -> bool {
        let Some([positive, negative_sum]) = self.words else { return false };
        if positive | negative_sum == 0 {
            self.unit = exponent;
        }
        let distance = exponent.abs_diff(self.unit);
        // One side or the other comes to the lower of both units.
        let (sums, term, unit) = if exponent < self.unit {
            ([shifted(positive, distance), shifted(negative_sum, distance)], Some(significand), exponent)
        } else {
            ([Some(positive), Some(negative_sum)], shifted(significand, distance), self.unit)
        };
        let ([Some(mut positive), Some(mut negative_sum)], Some(term)) = (sums, term) else {
            return false;
        };
        let side = if negative { &mut negative_sum } else { &mut positive };
        let Some(sum) = side.checked_add(term) else { return false };
        *side = sum;
        self.words = Some([positive, negative_sum]);
        self.unit = unit;
        true
    }

    /// Returns the sum, exact or truncated toward zero to 128 bits and marked. Terms that are all
    /// −0 give −0, and +0 likewise; the zero of opposite terms is signed by the rounding mode.
    pub fn exact(&self) -> Exact {
        match (self.nan, self.infinite) {
            (true, _) | (_, [true, true]) => return Exact::Nan { negative: false },
            (_, [true, false]) => return Exact::Infinite { negative: false },
            (_, [false, true]) => return Exact::Infinite { negative: true },
            _ => {}
        }
        if let Some([positive, negative]) = self.words {
            return match positive.abs_diff(negative) {
                0 => self.zero(positive != 0),
                significand => Exact::clamped(negative > positive, significand, self.unit, false),
            };
        }
        let negative = self.negative > self.positive;
        let (larger, smaller) =
            if negative { (&self.negative, &self.positive) } else { (&self.positive, &self.negative) };
        let mut difference = larger.clone();
        difference.subtract(smaller);
        if difference.is_zero() {
            return self.zero(!self.positive.is_zero());
        }
        let (significand, cut, sticky) = difference.leading();
        Exact::clamped(negative, significand, self.unit.saturating_add_unsigned(cut), sticky)
    }

    /// The sum that is zero: of terms that cancel, or of zeros.
    fn zero(&self, cancelled: bool) -> Exact {
        if cancelled || self.zeros == [true; 2] {
            Exact::Cancelled
        } else {
            Exact::finite(self.zeros[1], 0, 0)
        }
    }
}

/// x · 2^distance, if it fits.
#[inline]
fn shifted(x: u128, distance: u64) -> Option<u128> {
    if x == 0 {
        return Some(0);
    }
    let distance = u32::try_from(distance).ok()?;
    (distance <= x.leading_zeros()).then(|| x << distance)
}

/// Returns Σ xᵢ·yᵢ over pairs, exact until it is rounded once.
pub fn dot(pairs: impl IntoIterator<Item = (Datum, Datum)>) -> Outcome {
    let mut sum = Sum::new();
    for (x, y) in pairs {
        sum.add_product(x, y);
    }
    Outcome::new(sum.exact())
}
