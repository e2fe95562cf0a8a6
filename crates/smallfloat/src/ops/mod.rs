//! Exact operations: data in, one [`Exact`] out, rounded once by [`project`].
//!
//! Each function is the mathematical function with its special cases, for one of two [`Semantics`]; formats, rounding and
//! flags come in [`Operation::evaluate`], which decodes codes of any formats, computes, and projects once.
//!
//! Sources: IEEE 754-2019, sections 5.3–5.7, 6 and 9.6; the P3109 draft, section "Operations"; `docs/semantics.md` S1, S3.

mod add;
#[cfg(feature = "math")]
mod block;
#[cfg(feature = "math")]
mod block_exact;
#[cfg(feature = "math")]
mod block_fixed;
mod compare;
mod divide;
mod evaluate;
mod extrema;
#[cfg(feature = "alloc")]
mod function;
#[cfg(feature = "alloc")]
mod grammar;
#[cfg(feature = "math")]
mod minimum;
mod neighbours;
mod predicate;
#[cfg(feature = "alloc")]
mod query;
#[cfg(feature = "math")]
mod read;
mod sign;
#[cfg(feature = "alloc")]
mod specialization;
#[cfg(feature = "alloc")]
mod sum;
#[cfg(feature = "alloc")]
mod words;

pub use add::{add, add_add, fma, multiply, subtract};
#[cfg(feature = "math")]
pub use block::{Argument, Block, BlockResult, Sequence};
pub use compare::{Comparison, compare, is_total_ordered, total_cmp};
#[cfg(feature = "alloc")]
pub(crate) use divide::quotient;
pub use divide::{divide, fmod, recip, remainder, sqrt};
pub use evaluate::{Operand, Operation, OperationOptions};
pub use extrema::{Extremum, clamp, extremum};
#[cfg(feature = "math")]
pub use function::BlockFunction;
#[cfg(feature = "alloc")]
pub use function::{Function, Group};
#[cfg(feature = "math")]
pub use minimum::mandatory_minimum;
pub use neighbours::{next_down, next_greater_than, next_less_than, next_up};
pub use predicate::{Predicate, class_name};
#[cfg(feature = "alloc")]
pub use query::{FormatQuery, ProjectionQuery, Property};
pub use sign::{abs, copy_sign, negate};
#[cfg(feature = "alloc")]
pub use specialization::{Answer, Parameter, Specialization};
#[cfg(feature = "alloc")]
pub use sum::{Sum, dot};

use crate::{Datum, Exact, Flags};

#[cfg(doc)]
use crate::project;

/// Which special cases hold (`docs/semantics.md` S1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Semantics {
    /// IEEE 754's: zeros have signs, a pole gives an infinity and raises "division by zero".
    Ieee,
    /// The P3109 draft's: one zero, no −0 in results, a pole of division gives NaN.
    P3109,
}

/// An exact result and what the operation itself raised; rounding raises the rest.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The result before rounding.
    pub exact: Exact,
    /// [`Flags::DIVISION_BY_ZERO`] or none. An invalid operation gives NaN, which raises its flag when projected.
    pub flags: Flags,
}

impl Outcome {
    pub(crate) const fn new(exact: Exact) -> Self {
        Self { exact, flags: Flags::NONE }
    }

    pub(crate) const NAN: Self = Self::new(Exact::Nan { negative: false });

    pub(crate) const fn infinity(negative: bool) -> Self {
        Self::new(Exact::Infinite { negative })
    }

    pub(crate) const fn zero(negative: bool) -> Self {
        Self::new(Exact::finite(negative, 0, 0))
    }

    pub(crate) const fn datum(datum: Datum) -> Self {
        Self::new(Exact::from_datum(datum))
    }
}

impl Semantics {
    /// An operand as these semantics see it: P3109 has one zero.
    pub(crate) const fn operand(self, x: Datum) -> Datum {
        match self {
            Self::P3109 if x.is_zero() => Datum::ZERO,
            _ => x,
        }
    }
}
