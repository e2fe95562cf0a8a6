//! The special cases of the basic operations, taken from where they stand: the functions on data in
//! [`ops`](crate::ops).
//!
//! What happens to NaN, infinities and zeros, and which operand an extremum gives, depends on
//! classes, signs and the order of magnitudes, not on the numbers. So wide operands are replaced by
//! small integers in the same order, the operation on data decides, and a small integer in its
//! answer stands for the operand it replaced.

use core::cmp::Ordering;

use crate::format::datum::Datum;
use crate::math::wide::{Wide, WideOutcome};
use crate::ops::operation::Operation;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;

/// The outcome, where it is special or one of the operands; nothing where it must be computed.
pub(super) fn row(operation: Operation, operands: &[Wide], semantics: Semantics) -> Option<WideOutcome> {
    if !is_row(operation, operands) {
        return None;
    }
    let mut data = [Datum::ZERO; 3];
    for (slot, operand) in data.iter_mut().zip(operands) {
        *slot = stand_in(operand, operands);
    }
    let Outcome { exact, flags } = operation.basic(data, semantics)?;
    let value = match exact {
        Exact::Finite { negative, significand, .. } if significand != 0 => operands
            .iter()
            .find(|x| u128::from(rank(x, operands)) == significand)?
            .clone()
            .with_sign(negative),
        special => special.into(),
    };
    Some(WideOutcome { value, flags })
}

/// Returns whether the result is special, or one of the operands but for its sign.
fn is_row(operation: Operation, operands: &[Wide]) -> bool {
    let zero = operands.iter().any(Wide::is_zero);
    let infinite_or_nan = operands.iter().any(|x| !x.is_finite());
    match operation {
        Operation::Convert
        | Operation::Negate
        | Operation::Abs
        | Operation::CopySign
        | Operation::Extremum(_)
        | Operation::Clamp => true,
        Operation::Divide | Operation::Recip | Operation::Remainder | Operation::Fmod => {
            infinite_or_nan || zero
        }
        Operation::Sqrt => infinite_or_nan || zero || operands.iter().any(Wide::is_negative),
        _ => infinite_or_nan,
    }
}

/// A datum of the same class and sign, in the same order among the operands.
fn stand_in(x: &Wide, operands: &[Wide]) -> Datum {
    match *x {
        Wide::Nan { negative } => Datum::Nan { negative },
        Wide::Infinite { negative } => Datum::Infinite { negative },
        _ if x.is_zero() => Datum::finite(x.is_negative(), 0, 0),
        // 2·rank + 1 is odd as data are.
        _ => Datum::finite(x.is_negative(), rank(x, operands), 0),
    }
}

/// An odd number for a finite magnitude, the same for equal ones and in their order.
fn rank(x: &Wide, operands: &[Wide]) -> u64 {
    let smaller = operands.iter().filter(|y| y.compare_magnitude(x) == Ordering::Less);
    smaller.fold(1, |rank, _| rank + 2)
}
