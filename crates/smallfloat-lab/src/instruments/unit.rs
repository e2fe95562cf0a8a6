//! [`ArithmeticUnit`]: arithmetic in one format, rounded once after every operation, with a named
//! rule for overflow.

use smallfloat::formats::BINARY64;
use smallfloat::math::Elementary;
use smallfloat::ops::{Operation, OperationOptions, Semantics};
use smallfloat::{Datum, Exact, Flags, Format, Projection, Rounding, Saturation, project};

use crate::named::by_name;

/// The treatment of a finite result beyond the range: the talk's three rules ("On Saturation").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// The largest finite value with the result's sign: SatFinite.
    Saturate,
    /// Infinity with the result's sign, or NaN where the format has none: SatNone.
    Infinity,
    /// NaN, whatever the format's own rules are.
    Nan,
}

impl Overflow {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Saturate, Self::Infinity, Self::Nan];

    /// All three by the talk's names.
    pub const NAMED: [(&'static str, Self); 3] =
        [("OvSAT", Self::Saturate), ("OvINF", Self::Infinity), ("OvNAN", Self::Nan)];
}

by_name!(Overflow, "overflow");

/// A unit that computes in one format: exact inside, one rounding to nearest even for every result.
#[derive(Clone, Copy, Debug)]
pub struct ArithmeticUnit {
    format: Format,
    projection: Projection,
    semantics: Semantics,
    overflow: Overflow,
}

impl ArithmeticUnit {
    /// Returns a unit for a format. Special cases are those of the format's semantics
    /// ([semantics](smallfloat::semantics), S1).
    pub fn new(format: &Format, overflow: Overflow) -> Self {
        let saturation = match overflow {
            Overflow::Saturate => Saturation::SatFinite,
            Overflow::Infinity | Overflow::Nan => Saturation::SatNone,
        };
        let projection =
            format.default_projection().with_rounding(Rounding::NearestEven).with_saturation(saturation);
        Self {
            format: *format,
            projection,
            semantics: OperationOptions::default_for([format]).semantics,
            overflow,
        }
    }

    /// Returns a unit for binary64, in which reference values are computed.
    pub fn reference() -> Self {
        Self::new(&BINARY64, Overflow::Infinity)
    }

    /// Returns the format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// How results are rounded, but for OvNAN's NaN.
    pub(crate) fn projection(&self) -> Projection {
        self.projection
    }

    /// Rounds an exact result and applies the rule for overflow.
    pub fn round(&self, x: impl Into<Exact>) -> Datum {
        let x = x.into();
        let result = project(x, &self.format, &self.projection);
        let is_finite = !matches!(x, Exact::Infinite { .. } | Exact::Nan { .. });
        if self.overflow == Overflow::Nan && is_finite && result.flags.contains(Flags::OVERFLOW) {
            return Datum::Nan { negative: false };
        }
        self.format.decode(result.value)
    }

    /// Rounds a number.
    pub fn number(&self, x: f64) -> Datum {
        self.round(datum(x))
    }

    /// Returns the result of an operation on up to three data of any formats.
    pub fn call(&self, operation: Operation, operands: &[Datum]) -> Datum {
        let mut data = [Datum::ZERO; 3];
        for (slot, operand) in data.iter_mut().zip(operands) {
            *slot = *operand;
        }
        self.round(operation.exact(data, self.semantics).exact)
    }

    /// Returns x + y.
    pub fn add(&self, x: Datum, y: Datum) -> Datum {
        self.call(Operation::Add, &[x, y])
    }

    /// Returns x − y.
    pub fn subtract(&self, x: Datum, y: Datum) -> Datum {
        self.call(Operation::Subtract, &[x, y])
    }

    /// Returns x · y + z, rounded once.
    pub fn fma(&self, x: Datum, y: Datum, z: Datum) -> Datum {
        self.call(Operation::Fma, &[x, y, z])
    }

    /// Returns x / y.
    pub fn divide(&self, x: Datum, y: Datum) -> Datum {
        self.call(Operation::Divide, &[x, y])
    }

    /// Returns the result of a function of one operand.
    pub fn function(&self, function: Elementary, x: Datum) -> Datum {
        self.call(Operation::Elementary(function), &[x])
    }
}

/// Returns an `f64` as exact data.
pub fn datum(x: f64) -> Datum {
    BINARY64.decode(x.to_bits())
}

/// Returns a datum as `f64`, rounded to nearest where `f64` does not hold it.
pub fn float(x: impl Into<Exact>) -> f64 {
    f64::from_bits(project(x.into(), &BINARY64, &BINARY64.default_projection()).value)
}
