//! Exact operations: data in, one [`Exact`] out, rounded once by [`project`].
//!
//! Each function is the mathematical function with its special cases, for one of two [`Semantics`];
//! formats, rounding and flags come in [`Operation::evaluate`], which decodes codes of any formats,
//! computes, and projects once.
//!
//! Sources: IEEE 754-2019, sections 5.3–5.7, 6 and 9.6; the P3109 draft, section "Operations";
//! [semantics](crate::semantics) S1, S3.

pub(crate) mod add;
pub(crate) mod compare;
pub(crate) mod divide;
#[cfg(feature = "math")]
pub(crate) mod elementary;
pub(crate) mod extrema;
pub(crate) mod integer;
pub(crate) mod neighbours;
pub(crate) mod operation;
pub(crate) mod predicate;
pub(crate) mod sign;
#[cfg(feature = "alloc")]
pub(crate) mod sum;

pub use add::{add, add_add, fma, multiply, subtract};
pub use compare::{Comparison, compare, is_total_ordered, total_cmp};
pub use divide::{divide, fmod, recip, remainder, sqrt};
pub use extrema::{Extremum, clamp, extremum};
pub use integer::Integer;
pub use neighbours::{next_down, next_greater_than, next_less_than, next_up};
pub use operation::{Operand, Operation, OperationOptions};
pub use predicate::{Predicate, class_name};
pub use sign::{abs, copy_sign, negate};
#[cfg(feature = "alloc")]
pub use sum::{Sum, dot};

use crate::format::datum::Datum;
use crate::format::named::by_name;
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

#[cfg(doc)]
use crate::projection::project;

/// Which special cases hold ([semantics](crate::semantics) S1).
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
    /// [`Flags::DIVISION_BY_ZERO`] or none. An invalid operation gives NaN, which raises its flag
    /// when projected.
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
    /// Both semantics.
    pub const ALL: &'static [Self] = &[Self::Ieee, Self::P3109];

    /// Returns the name: `ieee` or `p3109`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ieee => "ieee",
            Self::P3109 => "p3109",
        }
    }

    /// An operand as these semantics see it: P3109 has one zero.
    pub(crate) const fn operand(self, x: Datum) -> Datum {
        match self {
            Self::P3109 if x.is_zero() => Datum::ZERO,
            _ => x,
        }
    }
}

by_name!(Semantics, Self::ALL.iter().copied(), "semantics", "ieee or p3109");
