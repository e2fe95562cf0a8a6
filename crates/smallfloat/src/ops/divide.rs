//! Quotients, remainders and roots.

use crate::format::datum::Datum;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

/// Returns x / y.
///
/// In ieee semantics a finite non-zero x over 0 is ∞ and raises "division by zero", 0 / 0 and ∞ / ∞
/// are NaN. In p3109 semantics anything over 0 is NaN.
pub const fn divide(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    let (x, y) = (semantics.operand(x), semantics.operand(y));
    let negative = x.is_negative() != y.is_negative();
    match (x, y) {
        (Datum::Nan { negative }, _) | (_, Datum::Nan { negative }) => Outcome::new(Exact::Nan { negative }),
        (Datum::Infinite { .. }, Datum::Infinite { .. }) => Outcome::NAN,
        (Datum::Infinite { .. }, _) => match semantics {
            Semantics::P3109 if y.is_zero() => Outcome::NAN,
            _ => Outcome::infinity(negative),
        },
        (_, Datum::Infinite { .. }) => Outcome::zero(negative),
        (
            Datum::Finite { significand: a, exponent: p, .. },
            Datum::Finite { significand: b, exponent: q, .. },
        ) => match (a, b, semantics) {
            (0, 0, _) | (_, 0, Semantics::P3109) => Outcome::NAN,
            (_, 0, Semantics::Ieee) => {
                Outcome { flags: Flags::DIVISION_BY_ZERO, ..Outcome::infinity(negative) }
            }
            (0, _, _) => Outcome::zero(negative),
            _ => Outcome::new(quotient(negative, (a, p), (b, q))),
        },
    }
}

/// Returns 1 / x.
pub const fn recip(x: Datum, semantics: Semantics) -> Outcome {
    divide(Datum::finite(false, 1, 0), x, semantics)
}

/// a·2^p / b·2^q to 127 bits or more, by two digits of long division in base 2^64.
pub(crate) const fn quotient(negative: bool, (a, p): (u64, i32), (b, q): (u64, i32)) -> Exact {
    let (a_zeros, b_zeros) = (a.leading_zeros(), b.leading_zeros());
    let (a, b) = ((a << a_zeros) as u128, (b << b_zeros) as u128);
    // a / b < 2, so the first digit of (a / 2) / b fits in 64 bits.
    let (high, rest) = ((a << 63) / b, (a << 63) % b);
    let (low, rest) = ((rest << 64) / b, (rest << 64) % b);
    let exponent = p as i64 - q as i64 - a_zeros as i64 + b_zeros as i64 - 127;
    Exact::clamped(negative, high << 64 | low, exponent, rest != 0)
}

/// Returns IEEE 754's remainder: x − n·y for the integer n nearest x / y, even on a tie. Exact. A
/// zero result has x's sign.
pub const fn remainder(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    modulo(x, y, semantics, true)
}

/// Returns x − n·y for n = x / y truncated, as C's `fmod` and Rust's `%`. Exact. A zero result has
/// x's sign.
pub const fn fmod(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    modulo(x, y, semantics, false)
}

const fn modulo(x: Datum, y: Datum, semantics: Semantics, nearest: bool) -> Outcome {
    let (x, y) = (semantics.operand(x), semantics.operand(y));
    match (x, y) {
        (Datum::Nan { negative }, _) | (_, Datum::Nan { negative }) => Outcome::new(Exact::Nan { negative }),
        (Datum::Infinite { .. }, _) | (_, Datum::Finite { significand: 0, .. }) => Outcome::NAN,
        (_, Datum::Infinite { .. }) | (Datum::Finite { significand: 0, .. }, _) => Outcome::datum(x),
        (
            Datum::Finite { negative, significand: a, exponent: p },
            Datum::Finite { significand: b, exponent: q, .. },
        ) => {
            // A divisor more than twice as large leaves x.
            if y.leading_bit() > x.leading_bit() + 1 {
                return Outcome::datum(x);
            }
            // Both in units of the smaller exponent: the divisor has at most one bit more than x,
            // or its own 64.
            let unit = if p < q { p } else { q };
            let (dividend_shift, divisor_shift) = (p.abs_diff(unit), q.abs_diff(unit));
            let divisor = (b as u128) << divisor_shift;
            // Modulo twice the divisor: the quotient's last bit decides ties.
            let rest = shifted_modulo(a, dividend_shift, 2 * divisor);
            let (odd, rest) = if rest >= divisor { (true, rest - divisor) } else { (false, rest) };
            let up = nearest && (2 * rest > divisor || (2 * rest == divisor && odd));
            if up {
                return Outcome::new(Exact::finite(!negative, divisor - rest, unit));
            }
            Outcome::new(Exact::finite(negative, rest, unit))
        }
    }
}

/// a · 2^shift mod m, doubling and squaring. `m` has more than 64 bits only where the shift is 0.
const fn shifted_modulo(a: u64, shift: u32, m: u128) -> u128 {
    let mut result = a as u128 % m;
    let (mut power, mut left) = (2 % m, shift);
    while left > 0 {
        if left & 1 == 1 {
            result = multiply_modulo(result, power, m);
        }
        power = multiply_modulo(power, power, m);
        left >>= 1;
    }
    result
}

/// x · y mod m for x, y < m < 2^66: in two steps, since the product may need 132 bits.
const fn multiply_modulo(x: u128, y: u128, m: u128) -> u128 {
    const HALF: u32 = 33;
    let (high, low) = (y >> HALF, y & ((1 << HALF) - 1));
    (((x * high % m) << HALF) % m + x * low % m) % m
}

/// Returns √x. Negative x, but not −0, is NaN; √−0 = −0 in ieee semantics.
pub const fn sqrt(x: Datum, semantics: Semantics) -> Outcome {
    match semantics.operand(x) {
        Datum::Nan { negative } => Outcome::new(Exact::Nan { negative }),
        Datum::Finite { significand: 0, negative, .. } => Outcome::zero(negative),
        Datum::Infinite { negative: true } | Datum::Finite { negative: true, .. } => Outcome::NAN,
        Datum::Infinite { negative: false } => Outcome::infinity(false),
        Datum::Finite { significand, exponent, .. } => Outcome::new(root(significand, exponent)),
    }
}

/// √(a·2^p) to 120 bits, digit by digit.
const fn root(a: u64, p: i32) -> Exact {
    const BITS: u32 = 120;
    // An even exponent and the leading bit in the upper pair: a in [2^126, 2^128) · 2^p.
    let zeros = (a as u128).leading_zeros();
    let zeros = zeros - (zeros + p.unsigned_abs()) % 2;
    let (mut radicand, p) = ((a as u128) << zeros, p as i64 - zeros as i64);
    let (mut root, mut rest, mut digits) = (0_u128, 0_u128, 0);
    while digits < BITS {
        rest = rest << 2 | radicand >> 126;
        radicand <<= 2;
        let trial = root << 2 | 1;
        root <<= 1;
        if rest >= trial {
            rest -= trial;
            root |= 1;
        }
        digits += 1;
    }
    // 64 pairs of digits before the point of the radicand, `BITS` of the root: no digit of the
    // radicand is left.
    Exact::clamped(false, root, p / 2 + 64 - BITS as i64, rest != 0)
}
