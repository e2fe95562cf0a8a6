//! Sums and products, and both at once.

use crate::format::datum::Datum;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;

/// Returns x + y.
///
/// ∞ + −∞ is NaN. In ieee semantics an exact zero sum of opposite terms is +0, or −0 when rounding
/// toward negative, which [`Exact::Cancelled`] leaves to the projection.
pub const fn add(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    let (x, y) = (semantics.operand(x), semantics.operand(y));
    Outcome::new(add_exact(Exact::from_datum(x), Exact::from_datum(y)))
}

/// Returns x − y, which is x + (−y); a NaN y keeps its sign.
pub const fn subtract(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    let y = semantics.operand(y);
    add(x, if y.is_nan() { y } else { y.negated() }, semantics)
}

/// Returns x · y. 0 · ∞ is NaN.
#[inline]
pub const fn multiply(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    // An exponent that fits lies as far beyond every format as one that does not.
    Outcome::new(multiply_exact(semantics.operand(x), semantics.operand(y)).0)
}

/// Returns x · y + z, rounded once.
pub const fn fma(x: Datum, y: Datum, z: Datum, semantics: Semantics) -> Outcome {
    let (product, scale) = multiply_exact(semantics.operand(x), semantics.operand(y));
    Outcome::new(add_scaled(product, scale, Exact::from_datum(semantics.operand(z))))
}

/// Returns x + y + z, rounded once (P3109's FAA).
pub const fn add_add(x: Datum, y: Datum, z: Datum, semantics: Semantics) -> Outcome {
    let (x, y, z) = (semantics.operand(x), semantics.operand(y), semantics.operand(z));
    // From large to small: what is far below the largest term can be cut off and marked.
    let (x, y) = if has_lower_leading_bit(&x, &y) { (y, x) } else { (x, y) };
    let (y, z) = if has_lower_leading_bit(&y, &z) { (z, y) } else { (y, z) };
    let (x, y) = if has_lower_leading_bit(&x, &y) { (y, x) } else { (x, y) };
    let far = all_finite(&x, &y, &z) && !y.is_zero() && x.leading_bit() - y.leading_bit() > FAR;
    let [x, y, z] = [Exact::from_datum(x), Exact::from_datum(y), Exact::from_datum(z)];
    Outcome::new(if far { add_exact(x, add_exact(y, z)) } else { add_exact(add_exact(x, y), z) })
}

/// Two significands of 64 bits whose leading bits lie no farther apart than this have an exact sum
/// in 127 bits.
const FAR: i64 = 60;

const fn all_finite(x: &Datum, y: &Datum, z: &Datum) -> bool {
    x.is_finite() && y.is_finite() && z.is_finite()
}

const fn has_lower_leading_bit(x: &Datum, y: &Datum) -> bool {
    if y.is_zero() || !x.is_finite() {
        return false;
    }
    x.is_zero() || !y.is_finite() || x.leading_bit() < y.leading_bit()
}

/// Returns x · y over 2^scale, and the scale: 0 but where the product's exponent does not fit.
#[inline]
pub(crate) const fn multiply_exact(x: Datum, y: Datum) -> (Exact, i32) {
    let negative = x.is_negative() != y.is_negative();
    let product = match (x, y) {
        (Datum::Nan { negative }, _) | (_, Datum::Nan { negative }) => Exact::Nan { negative },
        (Datum::Infinite { .. }, other) | (other, Datum::Infinite { .. }) => {
            if other.is_zero() {
                Exact::Nan { negative: false }
            } else {
                Exact::Infinite { negative }
            }
        }
        (
            Datum::Finite { significand: a, exponent: p, .. },
            Datum::Finite { significand: b, exponent: q, .. },
        ) => {
            let exponent = p.saturating_add(q);
            return (Exact::finite(negative, a as u128 * b as u128, exponent), q - (exponent - p));
        }
    };
    (product, 0)
}

/// The sum of two exact values, the smaller of which may carry a sticky bit. It is exact, or
/// truncated toward zero to at least 125 bits and marked.
const fn add_exact(x: Exact, y: Exact) -> Exact {
    add_scaled(x, 0, y)
}

/// x · 2^scale + y.
const fn add_scaled(x: Exact, scale: i32, y: Exact) -> Exact {
    let (x_negative, a, p, x_sticky) = match (x, y) {
        (Exact::Nan { negative }, _) | (_, Exact::Nan { negative }) => {
            return Exact::Nan { negative };
        }
        (Exact::Infinite { negative: s }, Exact::Infinite { negative: t }) if s != t => {
            return Exact::Nan { negative: false };
        }
        (Exact::Infinite { negative }, _) | (_, Exact::Infinite { negative }) => {
            return Exact::Infinite { negative };
        }
        (Exact::Cancelled, other) if !other.is_zero() => return other,
        (Exact::Cancelled, _) => return Exact::Cancelled,
        (Exact::Finite { negative, significand, exponent, sticky }, _) => {
            (negative, significand, exponent as i64 + scale as i64, sticky)
        }
    };
    let Exact::Finite { negative: y_negative, significand: b, exponent: q, sticky: y_sticky } = y else {
        return if a == 0 { Exact::Cancelled } else { x.scaled(scale) };
    };
    if a == 0 || b == 0 {
        return match (a == 0, b == 0) {
            (true, true) if x_negative != y_negative => Exact::Cancelled,
            (true, _) => y,
            (false, _) => x.scaled(scale),
        };
    }
    let q = q as i64;
    let subtracts = x_negative != y_negative;
    if (a | b) >> 64 == 0 && !x_sticky && !y_sticky && p.abs_diff(q) <= 62 {
        // Near terms: integers in the smaller unit, of at most 126 bits.
        let unit = if p < q { p } else { q };
        let (a, b) = (a << p.abs_diff(unit), b << q.abs_diff(unit));
        return match (subtracts, a >= b) {
            (false, _) => Exact::clamped(x_negative, a + b, unit, false),
            (true, _) if a == b => Exact::Cancelled,
            (true, true) => Exact::clamped(x_negative, a - b, unit, false),
            (true, false) => Exact::clamped(y_negative, b - a, unit, false),
        };
    }
    // Leading bits at 126, so that a sum can't overflow.
    let (a, p) = normalized(a, p);
    let (b, q) = normalized(b, q);
    let swap = q > p || (q == p && b > a);
    let (negative, a, p, b, q) = if swap { (y_negative, b, q, a, p) } else { (x_negative, a, p, b, q) };

    let distance = p.abs_diff(q);
    let (aligned, lost) =
        if distance >= 128 { (0, true) } else { (b >> distance, (b >> distance) << distance != b) };
    let sticky = lost || x_sticky || y_sticky;
    let significand = match (subtracts, sticky) {
        (false, _) => a + aligned,
        (true, false) => a - aligned,
        // The smaller term is a little more than `aligned`.
        (true, true) => a - aligned - 1,
    };
    if significand == 0 && !sticky {
        return Exact::Cancelled;
    }
    Exact::clamped(negative, significand, p, sticky)
}

/// Returns the value with its leading bit at 126.
const fn normalized(significand: u128, exponent: i64) -> (u128, i64) {
    let leading = significand.leading_zeros();
    if leading == 0 {
        // Only sums have 128 bits, and their last place is then far below any destination's.
        return (significand >> 1 | significand & 1, exponent + 1);
    }
    (significand << (leading - 1), exponent - (leading - 1) as i64)
}
