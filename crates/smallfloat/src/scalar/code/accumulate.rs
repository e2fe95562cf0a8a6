//! An exact sum without an allocator, for the terms that typed scalars and their products can be.
//!
//! A fixed-point number wide enough for every term at once (Kulisch, "Computer Arithmetic and
//! Validity"): any order of additions gives the same bits. [`ops::Sum`](crate::ops::sum::Sum) is
//! the one without limits.

use crate::projection::exact::Exact;

/// The exponent of the last place. The smallest product of two scalars is 2^−266 (bfloat16).
const UNIT: i32 = -300;
/// 640 bits: products go up to 2^256, which leaves room for 2^80 terms.
const LIMBS: usize = 10;

/// A sum in two's complement, least significant limb first.
pub(crate) struct Accumulator {
    limbs: [u64; LIMBS],
    nan: bool,
    infinite: [bool; 2],
    only_negative_zeros: Option<bool>,
    any_finite: bool,
}

impl Accumulator {
    pub(crate) const fn new() -> Self {
        Self {
            limbs: [0; LIMBS],
            nan: false,
            infinite: [false; 2],
            only_negative_zeros: None,
            any_finite: false,
        }
    }

    /// Adds an exact value whose significand has at most 64 bits.
    pub(crate) fn add(&mut self, x: Exact) {
        let negative_zero = matches!(x, Exact::Finite { negative: true, significand: 0, .. });
        self.only_negative_zeros = Some(negative_zero && self.only_negative_zeros.unwrap_or(true));
        match x {
            Exact::Nan { .. } => self.nan = true,
            Exact::Infinite { negative } => self.infinite[usize::from(negative)] = true,
            Exact::Cancelled | Exact::Finite { significand: 0, .. } => {}
            Exact::Finite { negative, significand, exponent, .. } => {
                self.any_finite = true;
                let place = (exponent - UNIT).unsigned_abs();
                self.add_limbs(negative, significand << (place % 64), (place / 64) as usize);
            }
        }
    }

    /// Adds or subtracts `term` from limb `at` on.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    fn add_limbs(&mut self, negative: bool, term: u128, at: usize) {
        let parts = [term as u64, (term >> 64) as u64];
        let mut carry = false;
        for (i, limb) in self.limbs[at..].iter_mut().enumerate() {
            let part = parts.get(i).copied().unwrap_or(0);
            let (partial, a) = if negative { limb.overflowing_sub(part) } else { limb.overflowing_add(part) };
            let carried = u64::from(carry);
            let (total, b) =
                if negative { partial.overflowing_sub(carried) } else { partial.overflowing_add(carried) };
            *limb = total;
            carry = a || b;
        }
    }

    /// The sum, exact or truncated toward zero to more than 64 bits and marked. A sum of nothing
    /// but −0 is −0.
    pub(crate) fn exact(mut self) -> Exact {
        match (self.nan, self.infinite) {
            (true, _) | (_, [true, true]) => return Exact::Nan { negative: false },
            (_, [true, false]) => return Exact::Infinite { negative: false },
            (_, [false, true]) => return Exact::Infinite { negative: true },
            _ => {}
        }
        let negative = self.limbs[LIMBS - 1] >> 63 == 1;
        if negative {
            let mut carry = true;
            for limb in &mut self.limbs {
                (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
            }
        }
        let Some(top) = self.limbs.iter().rposition(|&limb| limb != 0) else {
            let negative_zero = self.only_negative_zeros == Some(true);
            return if self.any_finite { Exact::Cancelled } else { Exact::finite(negative_zero, 0, 0) };
        };
        let low = top.saturating_sub(1);
        let significand = match top {
            0 => u128::from(self.limbs[0]),
            _ => u128::from(self.limbs[top]) << 64 | u128::from(self.limbs[low]),
        };
        let sticky = self.limbs[..low].iter().any(|&limb| limb != 0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "fewer than 10 limbs"
        )]
        let exponent = UNIT + 64 * low as i32;
        Exact::Finite { negative, significand, exponent, sticky }
    }
}
