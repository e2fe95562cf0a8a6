//! [`SmallFloat`]: what generic code may ask of a scalar.

use core::cmp::Ordering;
use core::fmt::{Debug, Display};
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Rem, RemAssign, Sub, SubAssign};

use crate::format::Format;
use crate::format::datum::Datum;
use crate::ops::Operand;
use crate::ops::operation::{Operation, OperationOptions};
use crate::projection::Projection;
use crate::projection::exact::Exact;
use crate::projection::flags::Rounded;
use crate::scalar::for_each_scalar;

mod sealed {
    pub trait Sealed {}
}

/// A typed scalar: its format, its codes, and the operations that every one has.
///
/// The types have all this and more as inherent methods, most of them `const`. The trait is sealed,
/// and each type that has it is `#[repr(transparent)]` over its [`Bits`](Self::Bits). Parsing needs
/// the feature `alloc` and is a bound of its own, `T: FromStr<Err = Error>`; zero is
/// `T::from_f32(0.0)`, since a format of powers of two has none.
///
/// ```
/// use smallfloat::{Datum, E4M3Fn, SmallFloat, Uhp};
///
/// /// The Euclidean norm, with two roundings: of the exact sum of squares, and of its root.
/// fn norm<T: SmallFloat>(xs: &[T]) -> T {
///     T::dot(xs.iter().map(|&x| (x, x))).sqrt()
/// }
///
/// assert_eq!(norm(&[3.0, 4.0].map(E4M3Fn::from_f32)).to_f32(), 5.0);
/// assert_eq!(norm(&[3.0, 4.0].map(Uhp::from_f32)).to_f32(), 5.0);
/// // E4M3FN has a NaN and no infinity.
/// assert!(E4M3Fn::from_datum(Datum::Infinite { negative: false }).is_none());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no typed scalar",
    label = "not a type of `smallfloat`, such as `E4M3Fn`",
    note = "`f32` and `f64` become scalars by `from_f32` and `from_f64`, `half`'s types by `into()` with the feature `half`",
    note = "`define_format!` makes a type of a format of at most 16 bits"
)]
pub trait SmallFloat:
    Copy
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
    + Sum
    + Product
    + Into<f32>
    + Into<f64>
    + Send
    + Sync
    + sealed::Sealed
    + 'static
{
    /// The integer that holds a code, `u8` or `u16`.
    type Bits: Copy + Into<u64> + TryFrom<u64>;

    /// The format.
    const FORMAT: Format;

    /// The value of a code; bits above the format's width are dropped.
    #[must_use]
    fn from_bits(bits: Self::Bits) -> Self;

    /// The code.
    fn to_bits(self) -> Self::Bits;

    /// The value of a code, whatever integer holds it; bits above the format's width are dropped.
    ///
    /// ```
    /// use smallfloat::{E2M1Fn, SmallFloat};
    /// assert_eq!(E2M1Fn::from_code(0x7).to_f32(), 6.0);
    /// ```
    #[must_use]
    fn from_code(code: u64) -> Self;

    /// The finite values from the smallest to the largest, each once; a signed zero counts as 0.
    ///
    /// ```
    /// use smallfloat::{E4M3Fn, SmallFloat};
    /// assert_eq!(E4M3Fn::values().count(), 253);
    /// assert_eq!(E4M3Fn::values().next_back(), Some(E4M3Fn::MAX));
    /// ```
    ///
    /// # Panics
    /// Never: a format has its own values.
    fn values() -> impl DoubleEndedIterator<Item = Self> + Clone {
        Self::FORMAT.values().map(|value| Self::from_datum(value).expect("a format has its own values"))
    }

    /// The code as the functions of [`Format`] take it.
    fn code(self) -> u64;

    /// The value of a datum, if the format has it.
    #[must_use]
    fn from_datum(datum: Datum) -> Option<Self>;

    /// The exact value as data.
    fn to_datum(self) -> Datum {
        Self::FORMAT.decode(self.code())
    }

    /// Rounds an exact result by the format's default projection.
    #[must_use]
    fn from_exact(x: Exact) -> Self;

    /// Rounds an `f32` by the format's default projection.
    #[must_use]
    fn from_f32(x: f32) -> Self;

    /// Rounds an `f64` by the format's default projection.
    #[must_use]
    fn from_f64(x: f64) -> Self;

    /// Rounds an `f64` by a projection of the caller's, with flags.
    ///
    /// ```
    /// use smallfloat::{E5M2, Flags, Preset, Rounding, SmallFloat};
    /// let up = Preset::Ieee.projection(&E5M2::FORMAT).with_rounding(Rounding::TowardPositive);
    /// let r = E5M2::from_f64_with(1.0001, &up);
    /// assert_eq!((r.value.to_f32(), r.flags), (1.25, Flags::INEXACT));
    /// ```
    fn from_f64_with(x: f64, projection: &Projection) -> Rounded<Self>;

    /// The value as `f32`, exactly.
    fn to_f32(self) -> f32 {
        self.into()
    }

    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64 {
        self.into()
    }

    /// The value in another type, rounded by that type's default projection. For the result of an
    /// operation this is a second rounding: see [`evaluate_to`](Self::evaluate_to).
    ///
    /// ```
    /// use smallfloat::{E4M3Fn, E5M2, SmallFloat};
    /// assert_eq!(E4M3Fn::MAX.convert::<E5M2>().to_f32(), 448.0);
    /// ```
    fn convert<T: SmallFloat>(self) -> T {
        let projection = T::FORMAT.default_projection();
        T::from_code(
            crate::projection::convert::convert(self.code(), &Self::FORMAT, &T::FORMAT, &projection).value,
        )
    }

    /// Any operation, with a projection of the caller's and flags.
    ///
    /// ```
    /// use smallfloat::{E4M3Fn, Flags, Preset, SmallFloat, ops::Operation};
    /// let clamp = Preset::OcpSaturate.projection(&E4M3Fn::FORMAT);
    /// let r = E4M3Fn::evaluate(Operation::Add, &[E4M3Fn::MAX, E4M3Fn::MAX], &clamp);
    /// assert_eq!((r.value, r.flags), (E4M3Fn::MAX, Flags::OVERFLOW | Flags::INEXACT));
    /// assert!((E4M3Fn::MAX + E4M3Fn::MAX).is_nan()); // the default
    /// ```
    ///
    /// # Panics
    /// If the number of operands is not the operation's arity.
    fn evaluate(operation: Operation, operands: &[Self], projection: &Projection) -> Rounded<Self>;

    /// Any operation with its result in another type, rounded once, with flags. An operation in
    /// this type and [`convert`](Self::convert) after it round twice.
    ///
    /// ```
    /// use smallfloat::{Bf16, E5M2, SmallFloat, ops::Operation};
    /// let x = [Bf16::from_f32(1.125), Bf16::from_f32(1.0 / 512.0)];
    /// let to_e5m2 = E5M2::FORMAT.default_projection();
    /// let sum = Bf16::evaluate_to::<E5M2>(Operation::Add, &x, &to_e5m2).value;
    /// assert_eq!(sum.to_f32(), 1.25);
    /// // 1.125 + 1/512 is 1.125 in bfloat16, halfway between E5M2's 1 and 1.25.
    /// assert_eq!((x[0] + x[1]).convert::<E5M2>().to_f32(), 1.0);
    /// ```
    ///
    /// # Panics
    /// If the number of operands is not the operation's arity.
    fn evaluate_to<T: SmallFloat>(
        operation: Operation,
        operands: &[Self],
        projection: &Projection,
    ) -> Rounded<T> {
        super::code::check_arity(operation, operands.len());
        let mut codes = [Operand::new(0, &Self::FORMAT); 3];
        for (slot, x) in codes.iter_mut().zip(operands) {
            *slot = Operand::new(x.code(), &Self::FORMAT);
        }
        let arithmetic = OperationOptions::default_for([&Self::FORMAT, &T::FORMAT]);
        operation.evaluate(&codes[..operands.len()], &T::FORMAT, projection, arithmetic).map(T::from_code)
    }

    /// Σ xᵢ·yᵢ, exact until it is rounded once; in any order the same.
    ///
    /// ```
    /// use smallfloat::{E5M2, SmallFloat};
    /// let [big, one] = [57344.0, 1.0].map(E5M2::from_f32);
    /// assert_eq!(E5M2::dot([(big, big), (one, one), (big, -big)]), one);
    /// ```
    #[must_use]
    fn dot(pairs: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let mut sum = super::code::accumulate::Accumulator::new();
        for (x, y) in pairs {
            sum.add(crate::ops::add::multiply(x.to_datum(), y.to_datum(), crate::ops::Semantics::Ieee).exact);
        }
        Self::from_exact(sum.exact())
    }

    /// x · y + z, rounded once.
    #[must_use]
    fn mul_add(self, y: Self, z: Self) -> Self;

    /// √x.
    #[must_use]
    fn sqrt(self) -> Self;

    /// |x|.
    #[must_use]
    fn abs(self) -> Self;

    /// Returns whether it is NaN.
    fn is_nan(self) -> bool {
        self.to_datum().is_nan()
    }

    /// Returns whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        self.to_datum().is_finite()
    }

    /// IEEE 754's totalOrder of the codes.
    ///
    /// ```
    /// use smallfloat::{E5M2, SmallFloat};
    /// let mut xs = [E5M2::NAN, E5M2::ONE, E5M2::NEG_ZERO, E5M2::ZERO];
    /// xs.sort_by(SmallFloat::total_cmp);
    /// assert_eq!(xs.map(E5M2::to_bits), [0x80, 0x00, 0x3c, 0x7e]);
    /// ```
    fn total_cmp(&self, other: &Self) -> Ordering {
        crate::ops::compare::total_cmp(&Self::FORMAT, self.code(), other.code())
    }
}

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $($row:tt)*) $($rest:tt)*) => {
        impl $(<const $bias: $kind>)? sealed::Sealed for super::$name $(<$bias>)? {}

        impl $(<const $bias: $kind>)? SmallFloat for super::$name $(<$bias>)? {
            type Bits = $bits;
            const FORMAT: Format = Self::FORMAT;

            #[inline]
            fn from_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }
            #[inline]
            fn to_bits(self) -> $bits {
                self.to_bits()
            }
            #[inline]
            fn from_code(code: u64) -> Self {
                Self::from_code(code & Self::FORMAT.max_code())
            }
            #[inline]
            fn code(self) -> u64 {
                self.code()
            }
            fn from_datum(datum: Datum) -> Option<Self> {
                Self::from_datum(datum)
            }
            fn from_exact(x: Exact) -> Self {
                Self::from_exact(x)
            }
            fn from_f32(x: f32) -> Self {
                Self::from_f32(x)
            }
            fn from_f64(x: f64) -> Self {
                Self::from_f64(x)
            }
            fn from_f64_with(x: f64, projection: &Projection) -> Rounded<Self> {
                Self::from_f64_with(x, projection)
            }
            fn evaluate(operation: Operation, operands: &[Self], projection: &Projection) -> Rounded<Self> {
                Self::evaluate(operation, operands, projection)
            }
            fn mul_add(self, y: Self, z: Self) -> Self {
                self.mul_add(y, z)
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn abs(self) -> Self {
                self.abs()
            }
        }
    };
}

for_each_scalar!(implement);
