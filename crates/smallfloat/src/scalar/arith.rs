//! Operators on values and references, comparisons, sums and products.

use core::cmp::Ordering;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

use crate::ops::operation::Operation;
use crate::projection::exact::Exact;
use crate::scalar::code::accumulate::Accumulator;
use crate::scalar::{code, for_each_scalar};

/// One binary operator and its assignment, for values and references.
macro_rules! binary {
    ($operator:ident $method:ident $assign:ident $assign_method:ident
        $name:ident $(<$bias:ident: $kind:ty>)?) => {
        impl $(<const $bias: $kind>)? $operator for super::$name $(<$bias>)? {
            type Output = Self;

            #[inline]
            fn $method(self, y: Self) -> Self {
                Self::compute(operation!($operator), self, y, y)
            }
        }

        binary!(@reference $operator $method [$(const $bias: $kind)?] super::$name $(<$bias>)?,
            &super::$name $(<$bias>)?, super::$name $(<$bias>)?);
        binary!(@reference $operator $method [$(const $bias: $kind)?] &super::$name $(<$bias>)?,
            super::$name $(<$bias>)?, super::$name $(<$bias>)?);
        binary!(@reference $operator $method [$(const $bias: $kind)?] &super::$name $(<$bias>)?,
            &super::$name $(<$bias>)?, super::$name $(<$bias>)?);

        impl $(<const $bias: $kind>)? $assign for super::$name $(<$bias>)? {
            #[inline]
            fn $assign_method(&mut self, y: Self) {
                *self = $operator::$method(*self, y);
            }
        }

        impl $(<const $bias: $kind>)? $assign<&Self> for super::$name $(<$bias>)? {
            #[inline]
            fn $assign_method(&mut self, y: &Self) {
                *self = $operator::$method(*self, *y);
            }
        }
    };
    (@reference $operator:ident $method:ident [$($generics:tt)*] $left:ty, $right:ty, $output:ty) => {
        impl<$($generics)*> $operator<$right> for $left {
            type Output = $output;

            #[inline]
            fn $method(self, y: $right) -> $output {
                $operator::$method(<$output>::clone(&self), <$output>::clone(&y))
            }
        }
    };
}

macro_rules! operation {
    (Add) => {
        Operation::Add
    };
    (Sub) => {
        Operation::Subtract
    };
    (Mul) => {
        Operation::Multiply
    };
    (Div) => {
        Operation::Divide
    };
    (Rem) => {
        Operation::Fmod
    };
}

/// Negation, which unsigned types don't have. A custom type of an unsigned format gives what its
/// default projection makes of −x.
macro_rules! negation {
    (unsigned $($rest:tt)*) => {};
    ($sign:ident $name:ident $(<$bias:ident: $kind:ty>)?) => {
        impl $(<const $bias: $kind>)? Neg for super::$name $(<$bias>)? {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                Self::from_code(code::negate(&Self::FORMAT, self.code()))
            }
        }

        impl $(<const $bias: $kind>)? Neg for &super::$name $(<$bias>)? {
            type Output = super::$name $(<$bias>)?;

            #[inline]
            fn neg(self) -> super::$name $(<$bias>)? {
                -*self
            }
        }
    };
}

/// Zero by default, where the format has it.
macro_rules! default {
    (nonzero $($rest:tt)*) => {};
    (zero $name:ident $(<$bias:ident: $kind:ty>)?) => {
        impl $(<const $bias: $kind>)? Default for super::$name $(<$bias>)? {
            /// 0.
            fn default() -> Self {
                Self::ZERO
            }
        }
    };
}

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $fill:ident, $sign:ident, $zero:ident)
        $($rest:tt)*) => {
        binary!(Add add AddAssign add_assign $name $(<$bias: $kind>)?);
        binary!(Sub sub SubAssign sub_assign $name $(<$bias: $kind>)?);
        binary!(Mul mul MulAssign mul_assign $name $(<$bias: $kind>)?);
        binary!(Div div DivAssign div_assign $name $(<$bias: $kind>)?);
        binary!(Rem rem RemAssign rem_assign $name $(<$bias: $kind>)?);
        negation!($sign $name $(<$bias: $kind>)?);
        default!($zero $name $(<$bias: $kind>)?);

        /// By value: NaN equals nothing, −0 equals 0.
        impl $(<const $bias: $kind>)? PartialEq for super::$name $(<$bias>)? {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                matches!(self.partial_cmp(other), Some(Ordering::Equal))
            }
        }

        /// By value: NaN compares with nothing.
        impl $(<const $bias: $kind>)? PartialOrd for super::$name $(<$bias>)? {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                code::compare(&Self::FORMAT, self.code(), other.code())
            }
        }

        /// Exact, and rounded once at the end.
        impl $(<const $bias: $kind>)? Sum for super::$name $(<$bias>)? {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                let mut sum = Accumulator::new();
                for x in terms {
                    sum.add(Exact::from_datum(x.to_datum()));
                }
                Self::from_exact(sum.exact())
            }
        }

        /// Exact, and rounded once at the end.
        impl<'a $(, const $bias: $kind)?> Sum<&'a Self> for super::$name $(<$bias>)? {
            fn sum<I: Iterator<Item = &'a Self>>(terms: I) -> Self {
                terms.copied().sum()
            }
        }

        /// From left to right, rounded after each factor. The empty product is 1, rounded to the
        /// format.
        impl $(<const $bias: $kind>)? Product for super::$name $(<$bias>)? {
            fn product<I: Iterator<Item = Self>>(factors: I) -> Self {
                factors.reduce(|x, y| x * y).unwrap_or(Self::from_i128(1))
            }
        }

        /// From left to right, rounded after each factor.
        impl<'a $(, const $bias: $kind)?> Product<&'a Self> for super::$name $(<$bias>)? {
            fn product<I: Iterator<Item = &'a Self>>(factors: I) -> Self {
                factors.copied().product()
            }
        }
    };
}

for_each_scalar!(implement);
