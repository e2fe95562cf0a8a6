//! Functions that are rarely exact: roots, exponentials, logarithms, trigonometric and hyperbolic
//! functions, all correctly rounded; and every numeric operation on numbers of any size.
//!
//! They are operations like the others: [`Operation::Elementary`] with an [`Elementary`],
//! [`Operation::RSqrt`], [`Operation::Hypot`], [`Operation::ArcTan2`] and [`Operation::ArcTan2Pi`],
//! whose documentation has their special cases. The typed scalars and [`Dynamic`](crate::Dynamic)
//! have methods with the standard library's names.
//!
//! ```
//! use smallfloat::{E4M3Fn, Format, math::Elementary, ops::{OperationOptions, Operand, Operation}};
//! assert_eq!(E4M3Fn::from_f32(2.0).ln().to_f32(), 0.6875);
//!
//! // Any formats: e^1 from an 8-bit format into binary64.
//! let (from, to): (Format, Format) = ("binary8p3se".parse()?, "binary64".parse()?);
//! let one = from.encode_f32(1.0, &from.default_projection()).value;
//! let exp = Operation::Elementary(Elementary::Exp);
//! let e = exp.evaluate(&[Operand::new(one, &from)], &to, &to.default_projection(), OperationOptions::P3109);
//! assert_eq!(f64::from_bits(e.value), core::f64::consts::E);
//! # Ok::<(), smallfloat::Error>(())
//! ```
//!
//! # How a result is found
//!
//! A result is exact, or truncated toward zero with a mark, as [`Exact`](crate::Exact) is, so that
//! [`project`](crate::project) is still the only function that rounds.
//!
//! 1. Special cases, from a table.
//! 2. Values that are dyadic numbers, which [`Elementary`] lists, and square roots and quotients,
//!    by integers.
//! 3. Values beside a dyadic number, such as sin x for tiny x, 1 − tanh x for large x, or e^x
//!    beyond every format: a bound on the first term left out gives the truncation without
//!    computing that term.
//! 4. All others by interval arithmetic on integers: every operation returns a ball that contains
//!    the result, series come with a bound on what they leave out, and digits are taken only where
//!    the whole ball agrees on them; else the precision grows. It ends because the values left are
//!    no dyadic numbers.
//!
//! Arguments up to 2^131072 and down to its inverse take milliseconds at most, but for sin, cos and
//! tan of such large arguments, which need as many bits of π: tens of milliseconds.

pub(crate) mod ball;
pub(crate) mod exponential;
pub(crate) mod functions;
pub(crate) mod hyperbolic;
#[cfg(all(feature = "num-traits", feature = "std"))]
pub(crate) mod powers;
pub(crate) mod real;
pub(crate) mod rows;
pub(crate) mod series;
pub(crate) mod special;
#[cfg(test)]
mod tests;
pub(crate) mod trigonometric;
pub(crate) mod wide;

pub use crate::ops::elementary::Elementary;
use wide::{Wide, WideOutcome};

use crate::ops::Semantics;
use crate::ops::operation::Operation;
use real::Real;

/// The result of an operation on exact operands of any size; operands beyond the operation's own
/// are ignored.
///
/// In p3109 semantics a zero is +0. The result is exact where it is not marked, else truncated
/// toward zero with at least `bits` significant bits.
pub(crate) fn evaluate(
    operation: Operation,
    operands: &[Wide; 3],
    semantics: Semantics,
    bits: u32,
) -> WideOutcome {
    let operands = operands.each_ref().map(|x| x.as_operand(semantics));
    let [x, y, _] = &operands;
    let outcome = match operation {
        Operation::RSqrt => special::reciprocal_sqrt(x, semantics, bits),
        Operation::Hypot => special::hypot(x, y, semantics, bits),
        Operation::ArcTan2 => special::arctan2(x, y, false, semantics, bits),
        Operation::ArcTan2Pi => special::arctan2(x, y, true, semantics, bits),
        Operation::Elementary(which) => special::elementary(which, x, bits),
        basic => {
            let operands = &operands[..basic.arity()];
            rows::row(basic, operands, semantics).unwrap_or_else(|| compute(basic, operands, bits).into())
        }
    };
    WideOutcome { value: outcome.value.as_operand(semantics), ..outcome }
}

/// The result where no special case decides.
fn compute(operation: Operation, operands: &[Wide], bits: u32) -> Wide {
    let real = |i: usize| operands[i].real().expect("infinities and NaNs are special cases");
    let (x, y, z) = (|| real(0), || real(1), || real(2));
    match operation {
        Operation::Add => sum([x(), y()], bits),
        Operation::Subtract => {
            let y = y();
            let y_negative = !y.negative;
            sum([x(), y.with_sign(y_negative)], bits)
        }
        Operation::Multiply => real::multiply(&x(), &y()).into(),
        Operation::Fma => sum([real::multiply(&x(), &y()), z()], bits),
        Operation::Faa => sum([x(), y(), z()], bits),
        Operation::Divide => real::divide(&x(), &y(), bits).into(),
        Operation::Recip => real::divide(&Real::small(1, 0), &x(), bits).into(),
        Operation::Remainder => real::modulo(&x(), &y(), true).into(),
        Operation::Fmod => real::modulo(&x(), &y(), false).into(),
        Operation::Sqrt => real::sqrt(&x(), bits).into(),
        _ => unreachable!("{} is nothing but special cases", operation.name()),
    }
}

/// The sum of two or three exact terms. Zeros of one sign give that zero; other sums that vanish
/// have no sign yet.
fn sum<const N: usize>(terms: [Real; N], bits: u32) -> Wide {
    let negative = terms[0].negative;
    if terms.iter().all(|term| term.is_zero() && term.negative == negative) {
        return Wide::zero(negative);
    }
    let mut three = [const { Real::exact(false, dashu_int::UBig::ZERO, 0) }; 3];
    for (slot, term) in three.iter_mut().zip(terms) {
        *slot = term;
    }
    let total = real::add_three(three, bits);
    if total.is_zero() { Wide::Cancelled } else { total.into() }
}
