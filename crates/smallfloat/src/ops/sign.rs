//! Operations on the sign alone.

use crate::format::datum::Datum;
use crate::ops::{Outcome, Semantics};

/// Returns −x.
pub const fn negate(x: Datum, semantics: Semantics) -> Outcome {
    Outcome::datum(semantics.operand(semantics.operand(x).negated()))
}

/// Returns |x|.
pub const fn abs(x: Datum, semantics: Semantics) -> Outcome {
    let x = semantics.operand(x);
    Outcome::datum(if x.is_negative() { x.negated() } else { x })
}

/// Returns x with y's sign. In p3109 semantics NaN gives NaN, and zero counts as positive.
pub const fn copy_sign(x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    let (x, y) = (semantics.operand(x), semantics.operand(y));
    if let (Semantics::P3109, Datum::Nan { .. }) = (semantics, y) {
        return Outcome::datum(y);
    }
    let x = if x.is_negative() == y.is_negative() { x } else { x.negated() };
    Outcome::datum(semantics.operand(x))
}
