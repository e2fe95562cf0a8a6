//! Nearest-even results by the machine's own binary64 arithmetic, for sweeps of billions of
//! operands.
//!
//! The third separate writing of rounding beside [`Table::round`] and [`crate::fast`]: an exact
//! sum, product or quotient of short operands is first rounded to odd in binary64 (the rounded
//! result and the sign of its error give that), which keeps everything that a format of at most 51
//! bits of precision needs; then one search among the format's numbers, or one conversion to
//! binary32 by the machine.

#![expect(
    clippy::float_cmp,
    reason = "numbers here are exact, or rounded to odd so that they equal no boundary"
)]

use crate::{OracleFormat, Table, Value};

/// A signed format whose numbers, and their products, are far inside binary64's range.
#[derive(Clone, Debug)]
pub struct Hardware {
    format: OracleFormat,
    /// The numbers that are not negative, from below, and the one that continues the grid.
    points: Vec<f64>,
    codes: Vec<u64>,
    values: Vec<f64>,
}

impl Hardware {
    /// Tables for a format of at most 16 bits, or for binary32, which needs none.
    ///
    /// # Panics
    /// For an unsigned format's results, another wide format, and numbers that binary64 does not
    /// have.
    pub fn new(format: &OracleFormat) -> Self {
        if format.k == 32 {
            assert_eq!((format.p, format.bias), (24, 127), "binary32");
            return Self { format: *format, points: Vec::new(), codes: Vec::new(), values: Vec::new() };
        }
        let table = Table::new(format);
        let (points, codes): (Vec<f64>, Vec<u64>) = (0..table.len())
            .map(|i| table.point(i))
            .chain([(table.next().clone(), u64::MAX)])
            .map(|(x, code)| (f64_of(&Value::Finite(x, false)), code))
            .unzip();
        let values = (0..format.code_count()).map(|code| f64_of(&format.value(code))).collect();
        Self { format: *format, points, codes, values }
    }

    /// The number of a code; −0 is 0.
    ///
    /// # Panics
    /// If the format does not have the code.
    pub fn value(&self, code: u64) -> f64 {
        if self.points.is_empty() {
            return f64::from(f32::from_bits(u32::try_from(code).expect("32 bits"))) + 0.0;
        }
        self.values[usize::try_from(code).expect("16 bits")]
    }

    /// The code nearest to a number that was rounded to odd, ties to the even code, beyond the
    /// range as P3109's SatNone has it: an infinity, else NaN.
    ///
    /// # Panics
    /// For a result that is NaN, in a format without NaN; P3109's all have one.
    pub fn nearest(&self, x: f64) -> u64 {
        if x.is_nan() {
            return self.format.nan_code().expect("P3109's formats have a NaN");
        }
        // A result is never −0.
        if x == 0.0 {
            return 0;
        }
        if self.points.is_empty() {
            #[expect(clippy::cast_possible_truncation, reason = "the one rounding, to nearest even")]
            let rounded = x as f32;
            return if rounded == 0.0 { 0 } else { rounded.to_bits().into() };
        }
        let magnitude = x.abs();
        let above = self.points.partition_point(|&p| p <= magnitude);
        let code = if above == self.points.len() {
            u64::MAX
        } else {
            let (lo, hi) = (self.points[above - 1], self.points[above]);
            // Exact: the middle has one bit more than a number of the format.
            let middle = f64::midpoint(lo, hi);
            let even = self.codes[above - 1].is_multiple_of(2);
            let away = magnitude > middle || (magnitude == middle && !even);
            self.codes[if away { above } else { above - 1 }]
        };
        let negative = x < 0.0;
        match code {
            0 => 0,
            u64::MAX => {
                self.format.inf_code(negative).or(self.format.nan_code()).expect("P3109's formats have a NaN")
            }
            _ => code | if negative { self.format.sign_bit() } else { 0 },
        }
    }
}

fn f64_of(value: &Value) -> f64 {
    match value {
        Value::Nan { .. } => f64::NAN,
        Value::Inf { negative } => {
            if *negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        Value::Finite(x, _) if x.is_zero() => 0.0,
        Value::Finite(x, _) => {
            let mantissa = i64::try_from(&x.mantissa()).expect("a short mantissa");
            assert!(
                mantissa.unsigned_abs() >> 53 == 0 && x.exponent().abs() < 900,
                "a number inside binary64"
            );
            // 2^exponent is a normal number, so its bits are its exponent.
            let power = f64::from_bits((x.exponent() + 1023).cast_unsigned() << 52);
            #[expect(clippy::cast_precision_loss, reason = "at most 53 bits")]
            let mantissa = mantissa as f64;
            mantissa * power
        }
    }
}

/// x moved to the neighbour with an odd last bit if the exact result lies off it, on the side of
/// `error`.
fn to_odd(x: f64, error: f64) -> f64 {
    if error == 0.0 || !error.is_finite() || x.to_bits() & 1 == 1 {
        return x;
    }
    if error > 0.0 { x.next_up() } else { x.next_down() }
}

/// x + y, rounded to odd; both far inside the range.
pub fn sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    // Knuth's two-sum: the error of an addition is a number, and this is it.
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if sum.is_finite() { to_odd(sum, error) } else { sum }
}

/// x · y for operands whose product has at most 53 bits.
pub fn product(x: f64, y: f64) -> f64 {
    debug_assert!(x * y == 0.0 || !(x * y).is_finite() || x.mul_add(y, -(x * y)) == 0.0, "{x} {y}");
    x * y
}

/// 1 / x, rounded to odd; NaN for 0, as P3109 has it.
pub fn reciprocal(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NAN;
    }
    let quotient = 1.0 / x;
    if !x.is_finite() {
        return quotient;
    }
    // What the quotient leaves is a number; divided by x it has the sign of the error.
    let rest = (-quotient).mul_add(x, 1.0);
    to_odd(quotient, if rest == 0.0 { 0.0 } else { rest.signum() * x.signum() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exact, formats, ops, preset};

    /// Sums, products and quotients of this module against big integers.
    #[test]
    fn agrees_with_exact_arithmetic() {
        let p3109 = ops::Semantics::P3109;
        let sources = [formats::p3109(8, 3, true, true), formats::p3109(8, 4, true, true), formats::BINARY16];
        let targets = [
            formats::p3109(8, 3, true, true),
            formats::p3109(4, 2, true, false),
            formats::BINARY16,
            formats::BFLOAT16,
            formats::BINARY32,
        ];
        for source in &sources {
            let step = if source.k == 8 { 1 } else { 509 };
            let codes = (0..source.code_count()).step_by(step);
            let from = Hardware::new(source);
            for target in &targets {
                let (to, table) = (Hardware::new(target), Table::new(target));
                let policy = preset("p3109-satnone", target);
                let round = |x: &ops::Outcome| table.round(&x.0, &policy).0;
                for a in codes.clone() {
                    let (x, exact_x) = (from.value(a), Exact::from(source.value(a)));
                    let quotient = ops::div(&Exact::ratio(1, 1), &exact_x, p3109);
                    assert_eq!(to.nearest(reciprocal(x)), round(&quotient), "1/{x}");
                    for b in codes.clone().step_by(3) {
                        let (y, exact_y) = (from.value(b), Exact::from(source.value(b)));
                        let exact = ops::add(&exact_x, &exact_y, policy.rounding, p3109);
                        assert_eq!(to.nearest(sum(x, y)), round(&exact), "{x} + {y}");
                        let exact = ops::mul(&exact_x, &exact_y, p3109);
                        assert_eq!(to.nearest(product(x, y)), round(&exact), "{x} * {y}");
                    }
                }
            }
        }
    }

    /// Far apart terms: what the second adds is only its side.
    #[test]
    fn sums_keep_the_side_of_what_they_lose() {
        assert!(sum(1.0, 1e-200) > 1.0 && sum(1.0, -1e-200) < 1.0);
        assert!(sum(-1.0, 1e-200) > -1.0 && sum(1e-200, -1.0) > -1.0);
        // 2^53 + 1 lies between two doubles; the odd one of them is above.
        let big = 9_007_199_254_740_992.0;
        assert_eq!(sum(big, 1.0), big + 2.0);
        assert_eq!(sum(big + 2.0, 1.0), big + 2.0);
        assert!(sum(f64::INFINITY, f64::NEG_INFINITY).is_nan());
    }
}
