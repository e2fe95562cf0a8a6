//! Exact operations on extended numbers. Rounding the result once is the caller's step.

use num_bigint::BigInt;

use crate::{Dyadic, Exact, Flags, Rational, Real, Rounding};

/// Which table of special cases applies (`docs/semantics.md` S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// IEEE 754: signed zeros, x/0 is an infinity.
    Ieee,
    /// The P3109 draft: one zero, x/0 is NaN.
    P3109,
}

/// An exact result and the flags that the operation itself sets: I and Z. Rounding adds the others.
pub type Outcome = (Exact, Flags);

const INVALID: Outcome = (Exact::NAN, Flags::INVALID);

fn exact(x: Exact) -> Outcome {
    (x, Flags::NONE)
}

fn inf(negative: bool) -> Outcome {
    exact(Exact::Inf { negative })
}

fn zero(negative: bool, semantics: Semantics) -> Outcome {
    exact(Exact::zero(negative && semantics == Semantics::Ieee))
}

// A finite operand with its sign. Roots are results only: nothing here takes them apart again.
fn rational(x: &Exact) -> Rational {
    match x {
        Exact::Finite { negative, magnitude: Real::Rational(x) } => {
            if *negative {
                -x
            } else {
                x.clone()
            }
        }
        other => panic!("not a finite rational operand: {other:?}"),
    }
}

/// −x, also of zero and NaN.
#[must_use]
pub fn negate(x: &Exact) -> Exact {
    match x {
        Exact::Nan { negative } => Exact::Nan { negative: !negative },
        Exact::Inf { negative } => Exact::Inf { negative: !negative },
        Exact::Finite { negative, magnitude } => {
            Exact::Finite { negative: !negative, magnitude: magnitude.clone() }
        }
    }
}

/// x + y. The rounding mode decides the sign of an exact zero sum.
///
/// # Panics
/// If an operand is a root.
pub fn add(x: &Exact, y: &Exact, rounding: Rounding, semantics: Semantics) -> Outcome {
    match (x, y) {
        (Exact::Nan { .. }, _) | (_, Exact::Nan { .. }) => INVALID,
        (Exact::Inf { negative: a }, Exact::Inf { negative: b }) if a != b => INVALID,
        (Exact::Inf { negative }, _) | (_, Exact::Inf { negative }) => inf(*negative),
        (Exact::Finite { negative: a, .. }, Exact::Finite { negative: b, .. }) => {
            let sum = &rational(x) + &rational(y);
            if !sum.is_zero() {
                return exact(Exact::from_rational(&sum));
            }
            // Zeros of one sign keep it; everything else that cancels is +0, or −0 rounding down.
            let both_zero = x.is_zero() && y.is_zero();
            let negative = if both_zero && a == b { *a } else { rounding == Rounding::TowardNegative };
            zero(negative, semantics)
        }
    }
}

/// x − y.
///
/// # Panics
/// If an operand is a root.
pub fn sub(x: &Exact, y: &Exact, rounding: Rounding, semantics: Semantics) -> Outcome {
    add(x, &negate(y), rounding, semantics)
}

/// x · y.
///
/// # Panics
/// If an operand is a root.
pub fn mul(x: &Exact, y: &Exact, semantics: Semantics) -> Outcome {
    let negative = x.is_negative() != y.is_negative();
    if x.is_nan() || y.is_nan() {
        return INVALID;
    }
    match (x.is_finite() && y.is_finite(), x.is_zero() || y.is_zero()) {
        (true, true) => zero(negative, semantics),
        (true, false) => exact(Exact::from_rational(&(&rational(x) * &rational(y)))),
        (false, true) => INVALID,
        (false, false) => inf(negative),
    }
}

/// x · y + z, rounded nowhere in between.
///
/// # Panics
/// If an operand is a root.
pub fn fma(x: &Exact, y: &Exact, z: &Exact, rounding: Rounding, semantics: Semantics) -> Outcome {
    // A NaN z with 0 · ∞ is invalid either way, so the order of the checks does not show.
    let (product, flags) = mul(x, y, semantics);
    if flags != Flags::NONE {
        return INVALID;
    }
    add(&product, z, rounding, semantics)
}

/// x / y.
///
/// # Panics
/// If an operand is a root.
pub fn div(x: &Exact, y: &Exact, semantics: Semantics) -> Outcome {
    let negative = x.is_negative() != y.is_negative();
    if x.is_nan() || y.is_nan() {
        return INVALID;
    }
    match (x.is_finite(), y.is_finite()) {
        (false, false) => INVALID,
        (true, false) => zero(negative, semantics),
        // The draft divides nothing by zero, not even an infinity.
        (_, true) if y.is_zero() && (x.is_zero() || semantics == Semantics::P3109) => INVALID,
        // Z is for the infinity made from finite operands; ∞/0 is an infinity without it.
        (false, true) => inf(negative),
        (true, true) if y.is_zero() => (Exact::Inf { negative }, Flags::DIVIDE_BY_ZERO),
        (true, true) if x.is_zero() => zero(negative, semantics),
        (true, true) => exact(Exact::from_rational(&(&rational(x) / &rational(y)))),
    }
}

/// √x.
///
/// # Panics
/// If the operand is a root itself.
pub fn sqrt(x: &Exact, semantics: Semantics) -> Outcome {
    match x {
        Exact::Finite { negative, .. } if x.is_zero() => zero(*negative, semantics),
        Exact::Nan { .. } | Exact::Inf { negative: true } | Exact::Finite { negative: true, .. } => INVALID,
        Exact::Inf { negative: false } => inf(false),
        Exact::Finite { .. } => exact(Exact::Finite { negative: false, magnitude: Real::Root(rational(x)) }),
    }
}

/// √(x² + y²).
///
/// # Panics
/// If an operand is a root.
pub fn hypot(x: &Exact, y: &Exact, semantics: Semantics) -> Outcome {
    let any_nan = x.is_nan() || y.is_nan();
    let any_infinite = matches!(x, Exact::Inf { .. }) || matches!(y, Exact::Inf { .. });
    if any_nan && any_infinite && semantics == Semantics::Ieee {
        // IEEE 754 gives +∞ here; a NaN operand is invalid by our flags all the same.
        return (Exact::Inf { negative: false }, Flags::INVALID);
    }
    if any_nan {
        return INVALID;
    }
    if any_infinite {
        return inf(false);
    }
    let (a, b) = (rational(x), rational(y));
    exact(Exact::Finite { negative: false, magnitude: Real::Root(&(&a * &a) + &(&b * &b)) })
}

/// x + y + z, rounded nowhere in between.
///
/// # Panics
/// If an operand is a root.
pub fn faa(x: &Exact, y: &Exact, z: &Exact, rounding: Rounding, semantics: Semantics) -> Outcome {
    let all = [x, y, z];
    let has_infinity = |sign| all.iter().any(|v| matches!(v, Exact::Inf { negative } if *negative == sign));
    if all.iter().any(|v| v.is_nan()) || (has_infinity(false) && has_infinity(true)) {
        return INVALID;
    }
    if has_infinity(false) || has_infinity(true) {
        return inf(has_infinity(true));
    }
    let sum = &(&rational(x) + &rational(y)) + &rational(z);
    if !sum.is_zero() {
        return exact(Exact::from_rational(&sum));
    }
    // Three zeros of one sign keep it; any other zero sum is +0, or −0 rounding down.
    let zeros = all.iter().all(|v| v.is_zero());
    let one_sign = all.iter().all(|v| v.is_negative() == x.is_negative());
    let negative = if zeros && one_sign { x.is_negative() } else { rounding == Rounding::TowardNegative };
    zero(negative, semantics)
}

/// x − n·y for the integer n nearest x / y (ties to even), or x / y truncated.
///
/// # Panics
/// If an operand is a root.
pub fn remainder(x: &Exact, y: &Exact, nearest: bool, semantics: Semantics) -> Outcome {
    if x.is_nan() || y.is_nan() || !x.is_finite() || y.is_zero() {
        return INVALID;
    }
    if x.is_zero() {
        return zero(x.is_negative(), semantics);
    }
    if !y.is_finite() {
        return exact(x.clone());
    }
    let (a, b) = (rational(x).abs(), rational(y).abs());
    let n = (&a / &b).floor();
    let odd = n.bit(0);
    let product = &Rational::from(&Dyadic::new(BigInt::from(n), 0)) * &b;
    let mut rest = &a - &product;
    let twice = rest.scale(1);
    if nearest && (twice > b || (twice == b && odd)) {
        rest = &rest - &b;
    }
    if rest.is_zero() {
        return zero(x.is_negative(), semantics);
    }
    exact(Exact::from_rational(&if x.is_negative() { -&rest } else { rest }))
}

/// An outcome times 2^shift, exactly.
#[must_use]
pub fn scaled((x, flags): Outcome, shift: i64) -> Outcome {
    let x = match x {
        Exact::Finite { negative, magnitude } => {
            let magnitude = match magnitude {
                Real::Rational(x) => Real::Rational(x.scale(shift)),
                // √x · 2^s = √(x · 2^2s).
                Real::Root(x) => Real::Root(x.scale(2 * shift)),
            };
            Exact::Finite { negative, magnitude }
        }
        other => other,
    };
    (x, flags)
}
