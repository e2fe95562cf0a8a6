//! [`Working`]: arithmetic in one format, every operation rounded to nearest even, so that it is
//! the same everywhere.

use smallfloat::formats::BINARY64;
use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{Datum, Exact, Format, Projection, project};

use crate::error::Error;

#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    format: Format,
    projection: Projection,
}

impl Working {
    pub(super) fn new(format: &Format) -> Result<Self, Error> {
        if !(format.is_signed() && format.has_nan() && format.has_infinity()) {
            return Err(Error::WorkingFormat { format: *format });
        }
        Ok(Self { format: *format, projection: format.default_projection() })
    }

    pub(super) fn round(&self, x: impl Into<Exact>) -> u64 {
        project(x.into(), &self.format, &self.projection).value
    }

    pub(super) fn constant(&self, x: f64) -> u64 {
        self.round(BINARY64.decode(x.to_bits()))
    }

    pub(super) fn datum(&self, code: u64) -> Datum {
        self.format.decode(code)
    }

    /// The value in binary64, where the format's values all are.
    pub(super) fn value(&self, code: u64) -> f64 {
        self.format.decode_f64(code).value
    }

    pub(super) fn multiply(&self, x: u64, y: u64) -> u64 {
        self.apply(Operation::Multiply, &[x, y])
    }

    pub(super) fn subtract(&self, x: u64, y: u64) -> u64 {
        self.apply(Operation::Subtract, &[x, y])
    }

    /// x·y + z, rounded once.
    pub(super) fn fma(&self, x: u64, y: u64, z: u64) -> u64 {
        self.apply(Operation::Fma, &[x, y, z])
    }

    fn apply(&self, operation: Operation, codes: &[u64]) -> u64 {
        let mut operands = [Operand::new(0, &self.format); 3];
        for (operand, &code) in operands.iter_mut().zip(codes) {
            operand.code = code;
        }
        operation
            .evaluate(&operands[..codes.len()], &self.format, &self.projection, OperationOptions::IEEE)
            .value
    }
}

/// Whole and fractional part of a value below 2^62 in magnitude: ⌊x⌋ and (x − ⌊x⌋)·2^63, its last
/// place cut off.
pub(super) fn floor(x: Datum) -> (i64, u64) {
    let Datum::Finite { negative, significand, exponent } = x else { return (0, 0) };
    let shift = exponent + 63;
    let magnitude = if shift >= 0 {
        i128::from(significand) << shift.min(126)
    } else {
        i128::from(significand) >> (-shift).min(127)
    };
    let lost = shift < 0 && (shift <= -64 || significand & ((1 << -shift) - 1) != 0);
    let fixed = if negative { -magnitude - i128::from(lost) } else { magnitude };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^62; the low 63 bits"
    )]
    ((fixed >> 63) as i64, (fixed & ((1 << 63) - 1)) as u64)
}

/// The nearest integer of a value below 2^62 in magnitude, ties to even.
pub(super) fn nearest(x: Datum) -> i64 {
    let (whole, fraction) = floor(x);
    let up = fraction > 1 << 62 || (fraction == 1 << 62 && whole & 1 == 1);
    whole + i64::from(up)
}

/// The powers of two that matter for a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exponents {
    lowest: i64,
    highest: i64,
}

impl Exponents {
    pub(super) fn of(to: &Format) -> Self {
        let [lowest, highest] =
            [to.min_positive(), to.max_finite()].map(|end| end.exponent_of_leading_bit().into());
        Self { lowest, highest }
    }

    /// A power of two times a number from ½ to 2 that is surely beyond the results' range, as
    /// programs test before they compute: what an argument reduction of few bits gives there has no
    /// meaning.
    pub(super) fn beyond(self, k: i64) -> Option<Exact> {
        if k > self.highest + 1 {
            Some(extreme(false, true))
        } else if k < self.lowest - 2 {
            Some(extreme(false, false))
        } else {
            None
        }
    }
}

/// A finite magnitude beyond the range of every format, or below that of every format.
pub(super) fn extreme(negative: bool, huge: bool) -> Exact {
    Exact::finite(negative, 1, if huge { 1 << 20 } else { -(1 << 20) })
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY16, E4M3FN};

    use super::*;

    fn datum(x: f64) -> Datum {
        BINARY64.decode(x.to_bits())
    }

    #[test]
    fn wholes_and_fractions() {
        let cases = [
            0.0,
            1.0,
            -1.0,
            16.0,
            -96.0,
            1e15,
            0.75,
            -0.75,
            2.5,
            -2.5,
            1e9 + 0.25,
            0.499_999_999_999_999_94,
            -1e-3,
        ];
        for x in cases {
            let (whole, fraction) = floor(datum(x));
            #[expect(clippy::cast_precision_loss, reason = "small wholes and fractions of 53 bits")]
            let (whole_f, fraction_f) = (whole as f64, fraction as f64 / 2_f64.powi(63));
            assert_eq!((whole_f, fraction_f), (x.floor(), x - x.floor()), "{x}");
            #[expect(clippy::cast_possible_truncation, reason = "small")]
            let nearest_even = x.round_ties_even() as i64;
            assert_eq!(nearest(datum(x)), nearest_even, "{x}");
        }
        // A tiny negative value is just below 0.
        assert_eq!(floor(datum(-1e-300)), (-1, (1 << 63) - 1));
    }

    #[test]
    fn each_operation_rounds_once() -> Result<(), Error> {
        let w = Working::new(&BINARY16)?;
        let one = w.constant(1.0);
        // 1 + 2^−11 is a tie of binary16, which has 11 bits; 2^−11·2 + 1 is not rounded.
        let (tiny, two) = (w.constant(2_f64.powi(-11)), w.constant(2.0));
        assert_eq!((w.fma(tiny, one, one), w.fma(tiny, two, one)), (one, one + 1));
        assert_eq!((w.value(w.subtract(one, two)), w.value(w.multiply(two, two))), (-1.0, 4.0));
        assert!(matches!(Working::new(&E4M3FN), Err(Error::WorkingFormat { .. })));
        Ok(())
    }
}
