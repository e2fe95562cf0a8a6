//! e^x and 2^x as small libraries compute them: reduction to |r| ≤ ½·ln 2, a polynomial by Horner's
//! rule, a shift of the exponent. Every operation is rounded in the working format.

use std::f64::consts::{LN_2, LOG2_E};

use smallfloat::{Datum, Exact, Format};

use crate::error::Error;
use crate::implementation::working::{Exponents, Working, extreme, nearest};

pub(super) const NAMES: [&str; 2] = ["Exp", "Exp2"];

/// Beyond this magnitude results are beyond the range of every format: 2^±32768 is the widest.
const RANGE: f64 = 32_768.0;

#[derive(Clone, Debug)]
pub(super) struct Taylor {
    w: Working,
    exponents: Exponents,
    /// Of e^x: log2 e, and ln 2 as a sum of two working numbers. Of 2^x nothing.
    natural: Option<Natural>,
    /// From the highest power to the constant.
    coefficients: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Natural {
    log2_e: u64,
    high: u64,
    low: u64,
}

impl Taylor {
    /// For results in the format `to`; `None` for a function that it does not compute.
    pub(super) fn new(name: &str, degree: u32, working: &Format, to: &Format) -> Result<Option<Self>, Error> {
        let w = Working::new(working)?;
        let high = w.constant(LN_2);
        let natural = Natural { log2_e: w.constant(LOG2_E), high, low: w.constant(LN_2 - w.value(high)) };
        let (natural, base) = match name {
            "Exp" => (Some(natural), 1.0),
            "Exp2" => (None, LN_2),
            _ => return Ok(None),
        };
        let mut coefficients = vec![w.constant(1.0)];
        let mut coefficient = 1.0;
        for i in 1..=degree {
            coefficient = coefficient * base / f64::from(i);
            coefficients.push(w.constant(coefficient));
        }
        coefficients.reverse();
        Ok(Some(Self { w, exponents: Exponents::of(to), natural, coefficients }))
    }

    /// The value before the last rounding; `None` for operands that hardware treats apart.
    pub(super) fn value(&self, x: Datum) -> Option<Exact> {
        let w = &self.w;
        if !x.is_finite() {
            return None;
        }
        let x = w.round(x);
        if w.value(x).abs() >= RANGE {
            return Some(extreme(false, w.value(x) > 0.0));
        }
        let scaled = self.natural.map_or(x, |natural| w.multiply(x, natural.log2_e));
        let k = nearest(w.datum(scaled));
        if let Some(extreme) = self.exponents.beyond(k) {
            return Some(extreme);
        }
        let whole = w.round(Exact::from_i128((-k).into()));
        let r = match self.natural {
            Some(natural) => w.fma(whole, natural.low, w.fma(whole, natural.high, x)),
            None => w.subtract(x, w.round(Exact::from_i128(k.into()))),
        };
        let sum = self.coefficients.iter().copied().reduce(|sum, next| w.fma(sum, r, next));
        let sum = w.datum(sum.expect("there is a constant"));
        Some(Exact::from_datum(sum).scaled(i32::try_from(k).expect("within the range of exponents")))
    }
}
