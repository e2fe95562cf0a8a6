//! [`Dynamic`]: a scalar whose format is known at run time.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::format::Format;
use crate::format::datum::Datum;
use crate::format::error::Error;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::projection::Projection;
use crate::projection::flags::Rounded;
use crate::scalar::code;
use crate::scalar::traits::SmallFloat;
use crate::text;

/// A code together with its format: for formats whose bias is data, and for any other.
///
/// Operators want operands of one format and round to it. [`evaluate`](Self::evaluate) takes
/// operands of any formats and rounds to any. Comparisons are by value, whatever the formats.
///
/// ```
/// use smallfloat::{Dynamic, Format};
/// let format = Format::cfloat8_1_4_3(11)?; // a bias read from a file, say
/// let x = Dynamic::from_f32(0.3, format);
/// assert_eq!(x.to_string(), "0.3125");
/// assert_eq!((x.to_bits(), (x + x).to_bits()), (0x4a, 0x52));
/// // To a format with another bias, where the value is the same.
/// let y = x.convert(Format::cfloat8_1_4_3(7)?);
/// assert!(y == x && y.to_bits() != x.to_bits());
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Dynamic {
    code: u64,
    format: Format,
}

impl Dynamic {
    /// Returns the value of a code; bits above the format's width are dropped.
    pub const fn from_bits(code: u64, format: Format) -> Self {
        Self { code: code & format.max_code(), format }
    }

    /// Returns the value of a code.
    ///
    /// # Errors
    /// A code with bits above the format's width.
    pub const fn try_from_bits(code: u64, format: Format) -> Result<Self, Error> {
        match format.check_code(code) {
            Ok(code) => Ok(Self { code, format }),
            Err(error) => Err(error),
        }
    }

    /// Rounds an `f32` by the format's default projection.
    pub const fn from_f32(x: f32, format: Format) -> Self {
        Self { code: format.encode_f32(x, &format.default_projection()).value, format }
    }

    /// Rounds an `f64` by the format's default projection.
    pub const fn from_f64(x: f64, format: Format) -> Self {
        Self { code: format.encode_f64(x, &format.default_projection()).value, format }
    }

    /// Rounds an `f64` by a projection of the caller's, with flags.
    pub const fn from_f64_with(x: f64, format: Format, projection: &Projection) -> Rounded<Self> {
        let Rounded { value: code, flags } = format.encode_f64(x, projection);
        Rounded { value: Self { code, format }, flags }
    }

    /// Rounds a number given as text by the format's default projection.
    ///
    /// # Errors
    /// Text that is not a number; [`text::parse`](crate::text::parse) says what is one.
    #[cfg(feature = "alloc")]
    pub fn from_text(text: &str, format: Format) -> Result<Self, Error> {
        Ok(Self { code: text::nearest(text, &format)?, format })
    }

    /// Returns the value of a datum, if the format has it.
    pub const fn from_datum(datum: Datum, format: Format) -> Option<Self> {
        match format.encode(datum) {
            Some(code) => Some(Self { code, format }),
            None => None,
        }
    }

    /// Returns the code.
    pub const fn to_bits(self) -> u64 {
        self.code
    }

    /// Returns the format.
    pub const fn format(self) -> Format {
        self.format
    }

    /// Returns the exact value as data.
    pub const fn to_datum(self) -> Datum {
        self.format.decode(self.code)
    }

    /// Returns the value as `f32`, rounded to nearest even where `f32` can't hold it.
    pub const fn to_f32(self) -> f32 {
        self.format.decode_f32(self.code).value
    }

    /// Returns the value as `f64`, rounded to nearest even where `f64` can't hold it.
    pub const fn to_f64(self) -> f64 {
        self.format.decode_f64(self.code).value
    }

    /// Returns the shortest decimal that rounds to this value within its format, for printing.
    #[cfg(feature = "alloc")]
    pub const fn shortest(self) -> text::Shortest {
        self.format.shortest(self.code)
    }

    /// Returns the value in another format, rounded by that format's default projection.
    #[must_use]
    pub const fn convert(self, to: Format) -> Self {
        self.convert_with(to, &to.default_projection()).value
    }

    /// Returns the value in another format, rounded by a projection of the caller's, with flags.
    pub const fn convert_with(self, to: Format, projection: &Projection) -> Rounded<Self> {
        let Rounded { value: code, flags } =
            crate::projection::convert::convert(self.code, &self.format, &to, projection);
        Rounded { value: Self { code, format: to }, flags }
    }

    /// Returns the value as a typed scalar, if that has the very format.
    pub fn to_scalar<T: SmallFloat>(self) -> Option<T> {
        (T::FORMAT == self.format).then(|| T::from_code(self.code))
    }

    /// Evaluates any operation: operands of any formats, a result of any other, rounded once by a
    /// projection of the caller's.
    ///
    /// ```
    /// use smallfloat::{Dynamic, Format, formats::{BINARY16, E5M2}, ops::Operation};
    /// let x = Dynamic::from_f32(3.0, E5M2);
    /// let y = Dynamic::from_f32(0.7, Format::cfloat8_1_4_3(7)?);
    /// let how = BINARY16.default_projection();
    /// let product = Dynamic::evaluate(Operation::Multiply, &[x, y], BINARY16, &how);
    /// assert_eq!(product.value.to_f32(), 3.0 * 0.6875);
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the number of operands is not the operation's arity.
    pub fn evaluate(
        operation: Operation,
        operands: &[Self],
        to: Format,
        projection: &Projection,
    ) -> Rounded<Self> {
        code::check_arity(operation, operands.len());
        let formats = operands.iter().map(|x| &x.format).chain([&to]);
        let arithmetic = OperationOptions::default_for(formats);
        let mut codes = [Operand::new(0, &to); 3];
        for (slot, x) in codes.iter_mut().zip(operands) {
            *slot = Operand::new(x.code, &x.format);
        }
        let codes = &codes[..operands.len()];
        operation.evaluate(codes, &to, projection, arithmetic).map(|code| Self { code, format: to })
    }

    pub(super) fn same_format(operation: Operation, operands: &[Self]) -> Self {
        let format = operands[0].format;
        for operand in operands {
            assert!(operand.format == format, "operands of {format} and {}: convert one", operand.format);
        }
        Self::evaluate(operation, operands, format, &format.default_projection()).value
    }

    /// Returns x · y + z, rounded once to their common format.
    ///
    /// # Panics
    /// If the formats differ.
    #[must_use]
    pub fn mul_add(self, y: Self, z: Self) -> Self {
        Self::same_format(Operation::Fma, &[self, y, z])
    }

    /// Returns √x.
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self::same_format(Operation::Sqrt, &[self])
    }

    /// Returns |x|.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self { code: code::abs(&self.format, self.code), ..self }
    }

    /// Returns whether it is NaN.
    pub const fn is_nan(self) -> bool {
        self.to_datum().is_nan()
    }

    /// Returns whether it is neither infinite nor NaN.
    pub const fn is_finite(self) -> bool {
        self.to_datum().is_finite()
    }

    /// Returns what kind of number this is.
    pub const fn classify(self) -> core::num::FpCategory {
        code::category(&self.format, self.code)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $operation:ident;)*) => {
        $(
            /// Rounded once to the common format.
            ///
            /// # Panics
            /// If the formats differ.
            impl $operator for Dynamic {
                type Output = Self;

                fn $method(self, y: Self) -> Self {
                    Self::same_format(Operation::$operation, &[self, y])
                }
            }
        )*
    };
}

operators! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
    Rem rem Fmod;
}

/// −x; an unsigned format gives what its default projection makes of it.
impl Neg for Dynamic {
    type Output = Self;

    fn neg(self) -> Self {
        Self { code: code::negate(&self.format, self.code), ..self }
    }
}

/// By value, whatever the formats: NaN equals nothing, −0 equals 0.
impl PartialEq for Dynamic {
    fn eq(&self, other: &Self) -> bool {
        matches!(self.partial_cmp(other), Some(Ordering::Equal))
    }
}

/// By value, whatever the formats: NaN compares with nothing.
impl PartialOrd for Dynamic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_datum().compare(&other.to_datum())
    }
}

impl<T: SmallFloat> From<T> for Dynamic {
    fn from(x: T) -> Self {
        Self { code: x.code(), format: T::FORMAT }
    }
}

/// The code, the format and the value.
impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = text::Decimal::from(self.to_datum());
        write!(f, "Dynamic({:#x}, {}, {value:?})", self.code, self.format)
    }
}

macro_rules! print {
    ($($style:ident)*) => {$(
        /// The value, as [`text::Decimal`](crate::text::Decimal) prints it; infinities as `inf`.
        impl fmt::$style for Dynamic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                text::print(self.to_datum(), text::Style::$style, f)
            }
        }
    )*};
}

print!(Display LowerExp UpperExp);

impl fmt::LowerHex for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.code, f)
    }
}
