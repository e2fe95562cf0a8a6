//! Classification, and the operations that are not operators.

use core::cmp::Ordering;
use core::num::FpCategory;

use crate::format::datum::Datum;
use crate::ops;
use crate::ops::extrema::Extremum;
use crate::ops::operation::Operation;
use crate::projection::Projection;
use crate::projection::flags::Rounded;
use crate::scalar::{code, for_each_scalar};

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        /// Classification.
        impl $(<const $bias: $kind>)? super::$name $(<$bias>)? {
            /// Returns what kind of number this is.
            pub const fn classify(self) -> FpCategory {
                code::category(&Self::FORMAT, self.code())
            }

            /// Returns whether it is NaN.
            pub const fn is_nan(self) -> bool {
                self.to_datum().is_nan()
            }

            /// Returns whether it is +∞ or −∞.
            pub const fn is_infinite(self) -> bool {
                matches!(self.to_datum(), Datum::Infinite { .. })
            }

            /// Returns whether it is neither infinite nor NaN.
            pub const fn is_finite(self) -> bool {
                self.to_datum().is_finite()
            }

            /// Returns whether it is neither zero, subnormal, infinite nor NaN.
            pub const fn is_normal(self) -> bool {
                matches!(self.classify(), FpCategory::Normal)
            }

            /// Returns whether it is subnormal.
            pub const fn is_subnormal(self) -> bool {
                matches!(self.classify(), FpCategory::Subnormal)
            }

            /// Returns whether it has a negative sign: also −0, and NaN where the format has NaNs
            /// of both signs.
            pub const fn is_sign_negative(self) -> bool {
                self.to_datum().is_negative()
            }

            /// Returns whether it has no negative sign.
            pub const fn is_sign_positive(self) -> bool {
                !self.is_sign_negative()
            }
        }

        /// Operations, exact and rounded once.
        impl $(<const $bias: $kind>)? super::$name $(<$bias>)? {
            /// Evaluates any operation on up to three operands, with a projection of the caller's
            /// and flags.
            ///
            /// # Panics
            /// If the number of operands is not the operation's arity.
            pub fn evaluate(operation: Operation, operands: &[Self], projection: &Projection) -> Rounded<Self> {
                let mut codes = [0; 3];
                for (slot, x) in codes.iter_mut().zip(operands) {
                    *slot = x.code();
                }
                Self::rounded(code::evaluate(operation, &Self::FORMAT, codes, operands.len(), projection))
            }

            const fn basic(operation: Operation, operands: &[Self], projection: &Projection) -> Rounded<Self> {
                let mut codes = [0; 3];
                let mut i = 0;
                while i < operands.len() {
                    codes[i] = operands[i].code();
                    i += 1;
                }
                Self::rounded(code::evaluate_basic(operation, &Self::FORMAT, codes, i, projection))
            }

            /// Returns x + y, with a projection of the caller's and flags.
            pub const fn add_with(self, y: Self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Add, &[self, y], projection)
            }

            /// Returns x − y, with a projection of the caller's and flags.
            pub const fn sub_with(self, y: Self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Subtract, &[self, y], projection)
            }

            /// Returns x · y, with a projection of the caller's and flags.
            pub const fn mul_with(self, y: Self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Multiply, &[self, y], projection)
            }

            /// Returns x / y, with a projection of the caller's and flags.
            pub const fn div_with(self, y: Self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Divide, &[self, y], projection)
            }

            /// Returns x · y + z, with a projection of the caller's and flags.
            pub const fn mul_add_with(self, y: Self, z: Self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Fma, &[self, y, z], projection)
            }

            /// Returns √x, with a projection of the caller's and flags.
            pub const fn sqrt_with(self, projection: &Projection) -> Rounded<Self> {
                Self::basic(Operation::Sqrt, &[self], projection)
            }

            /// Returns x · y + z, rounded once.
            #[must_use]
            pub const fn mul_add(self, y: Self, z: Self) -> Self {
                Self::compute(Operation::Fma, self, y, z)
            }

            /// Returns √x; of a negative value NaN, or what the format has instead.
            #[must_use]
            pub const fn sqrt(self) -> Self {
                Self::compute(Operation::Sqrt, self, self, self)
            }

            /// Returns 1 / x.
            #[must_use]
            pub const fn recip(self) -> Self {
                Self::compute(Operation::Recip, self, self, self)
            }

            /// Returns IEEE 754's remainder: x − n·y for the integer n nearest x / y, even on a
            /// tie. `%` truncates n instead.
            #[must_use]
            pub const fn remainder(self, y: Self) -> Self {
                Self::compute(Operation::Remainder, self, y, y)
            }

            /// Returns |x|.
            #[must_use]
            pub const fn abs(self) -> Self {
                Self::from_code(code::abs(&Self::FORMAT, self.code()))
            }

            /// Returns 1 with x's sign, rounded to the format; NaN of NaN.
            #[must_use]
            pub const fn signum(self) -> Self {
                Self::from_code(code::signum(&Self::FORMAT, self.code()))
            }

            /// Returns x with the sign of `sign`.
            #[must_use]
            pub const fn copysign(self, sign: Self) -> Self {
                Self::from_code(code::copy_sign(&Self::FORMAT, self.code(), sign.code()))
            }

            /// Returns the smaller value; of a number and NaN the number.
            #[must_use]
            pub const fn min(self, y: Self) -> Self {
                Self::compute(Operation::Extremum(Extremum::MinimumNumber), self, y, y)
            }

            /// Returns the larger value; of a number and NaN the number.
            #[must_use]
            pub const fn max(self, y: Self) -> Self {
                Self::compute(Operation::Extremum(Extremum::MaximumNumber), self, y, y)
            }

            /// Returns the smaller value; NaN if either is.
            #[must_use]
            pub const fn minimum(self, y: Self) -> Self {
                Self::compute(Operation::Extremum(Extremum::Minimum), self, y, y)
            }

            /// Returns the larger value; NaN if either is.
            #[must_use]
            pub const fn maximum(self, y: Self) -> Self {
                Self::compute(Operation::Extremum(Extremum::Maximum), self, y, y)
            }

            /// Returns the nearest value within `min..=max`; NaN of NaN.
            ///
            /// # Panics
            /// If `min > max` or either is NaN.
            #[must_use]
            pub const fn clamp(self, min: Self, max: Self) -> Self {
                Self::from_code(code::clamp(&Self::FORMAT, self.code(), min.code(), max.code()))
            }

            /// Returns IEEE 754's totalOrder: −NaN < −∞ < … < −0 < +0 < … < +∞ < NaN.
            pub const fn total_cmp(&self, y: &Self) -> Ordering {
                code::total_cmp(&Self::FORMAT, self.code(), y.code())
            }

            /// Returns the least value above x. NaN and +∞ stay; above the largest value of a
            /// format without infinity lies its NaN, or nothing: then x stays.
            #[must_use]
            pub const fn next_up(self) -> Self {
                Self::from_code(ops::next_up(&Self::FORMAT, self.code()))
            }

            /// Returns the greatest value below x, the mirror of [`next_up`](Self::next_up).
            #[must_use]
            pub const fn next_down(self) -> Self {
                Self::from_code(ops::next_down(&Self::FORMAT, self.code()))
            }
        }
    };
}

for_each_scalar!(implement);
