//! Values and codes as a page shows them.

use serde::Serialize;
use smallfloat::{Class, Datum, Exact, Format};

use crate::describe;
use crate::explorer::dyadic;
use crate::explorer::dyadic::Dyadic;

/// A number in the two forms that people read.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Value {
    /// `9p-3` for 9/8; none where the value was cut off or is too long.
    pub exact: Option<String>,
    /// In decimal; `≈` in front of what is rounded.
    pub decimal: String,
}

impl Value {
    pub(super) fn of(exact: Exact) -> Self {
        let is_whole = !matches!(exact, Exact::Finite { sticky: true, .. });
        let spelt = match Dyadic::of(exact) {
            Some(_) if exact.is_zero() => Some(dyadic::decimal(exact)),
            Some(dyadic) => dyadic.exact(),
            None => Some(dyadic::decimal(exact)),
        };
        Self { exact: spelt.filter(|_| is_whole), decimal: dyadic::decimal(exact) }
    }

    pub(super) fn of_datum(datum: Datum) -> Self {
        Self::of(datum.into())
    }

    pub(super) fn of_dyadic(dyadic: &Dyadic) -> Self {
        Self { exact: dyadic.exact(), decimal: if dyadic.is_zero() { "0".into() } else { dyadic.decimal() } }
    }

    /// a − b, where both are finite.
    pub(super) fn difference(a: Datum, b: Datum) -> Option<Self> {
        let difference = Dyadic::of_datum(a)?.minus(&Dyadic::of_datum(b)?)?;
        Some(Self::of_dyadic(&difference))
    }
}

/// A code and what it means.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DecodedCode {
    /// The code as a number.
    pub code: u64,
    /// `0x39`.
    pub hex: String,
    /// Its bits by field, `0_0111_001`.
    pub bits: String,
    /// Its class: `nan`, `infinite`, `zero`, `subnormal`, `normal`.
    pub class: &'static str,
    /// Whether its sign bit is set.
    pub negative: bool,
    /// The exact value, `9p-3`.
    pub exact: String,
    /// The value in decimal; `≈` in front of what is rounded.
    pub decimal: String,
    /// The shortest decimal that rounds to this code.
    pub shortest: String,
}

impl DecodedCode {
    /// `= 1.125`, or `≈ 9.313225746154785e-10` where the decimal is rounded.
    pub(super) fn equals(&self) -> String {
        match self.decimal.strip_prefix('≈') {
            Some(rounded) => format!("≈ {rounded}"),
            None => format!("= {}", self.decimal),
        }
    }
}

/// A code explained.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Neighbourhood {
    /// The format's name.
    pub format: String,
    /// The code.
    pub at: DecodedCode,
    /// The exponent field.
    pub exponent_field: u64,
    /// The trailing significand field.
    pub significand_field: u64,
    /// How the fields spell the value: `2^(7−7) × 1.001b`.
    pub formula: Option<String>,
    /// The next lower value.
    pub below: Option<DecodedCode>,
    /// The next higher value.
    pub above: Option<DecodedCode>,
    /// How far it is to the lower one, if that is finite.
    pub gap_below: Option<Value>,
    /// How far it is to the higher one, if that is finite.
    pub gap_above: Option<Value>,
}

/// The name of a class.
pub(super) const fn class(class: Class) -> &'static str {
    match class {
        Class::Nan => "nan",
        Class::Infinite => "infinite",
        Class::Zero => "zero",
        Class::Subnormal => "subnormal",
        Class::Normal => "normal",
    }
}

/// What a code means.
pub(super) fn code(format: &Format, code: u64) -> DecodedCode {
    let datum = format.decode(code);
    DecodedCode {
        code,
        hex: describe::code(format, code),
        bits: describe::bits(format, code),
        class: class(format.classify(code)),
        negative: format.sign_bit(code),
        exact: datum.to_string(),
        decimal: dyadic::decimal(datum.into()),
        shortest: format.shortest(code).to_string(),
    }
}

/// A code and its neighbours.
pub(super) fn neighbourhood(format: &Format, at: u64) -> Neighbourhood {
    let datum = format.decode(at);
    let (exponent_field, significand_field) = describe::fields(format, at);
    let (below, above) = (format.next_below(datum.into()), format.next_above(datum.into()));
    let finite = |code: Option<u64>| code.map(|code| format.decode(code)).filter(Datum::is_finite);
    Neighbourhood {
        format: format.to_string(),
        at: code(format, at),
        exponent_field,
        significand_field,
        formula: describe::formula(format, at),
        below: below.map(|below| code(format, below)),
        above: above.map(|above| code(format, above)),
        gap_below: finite(below).and_then(|below| Value::difference(datum, below)),
        gap_above: finite(above).and_then(|above| Value::difference(above, datum)),
    }
}
