//! Units of every policy for flags and every scalar operation, in the host's binary64.
//!
//! Sums, products and remainders of 8-bit numbers are exact in binary64; of quotients, roots and
//! transcendental functions it keeps so many more digits than the 8-bit format that neither the
//! rounding nor an exact case is in doubt. Results are packed by the [`Datapath`].

#![expect(clippy::float_cmp, reason = "all of these numbers are exact")]

use std::f64::consts::PI;

use super::cases;
use super::datapath::{D, Datapath, Denormal, FlagRules, I, NanKind, Signals, Z};

/// An operation of IEEE 754's semantics.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// A number to be rounded, of NaN operands too.
    Rounded(fn(&[f64]) -> f64),
    /// The sign bit alone is set.
    Sign(fn(&[bool]) -> bool),
    /// A truth value; whether quiet NaNs are invalid.
    Truth(fn(&[f64]) -> bool, bool),
    /// A function of codes that raises nothing.
    Code(fn(&[u64]) -> u64),
}

use Meaning::{Code, Rounded, Sign, Truth};

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) operands: usize,
    pub(crate) meaning: Meaning,
}

/// Zeros, the smallest and the largest subnormal and normal values, 1, infinity and NaNs.
const SPECIAL: [u64; 10] = [0, 1, 7, 8, 0x38, 0x77, 0x78, 0x79, 0x7c, 0x7f];

impl Row {
    /// Operands: all codes, all pairs or one in 16, some triples, and all combinations of special
    /// codes.
    pub(crate) fn vectors(&self, all: bool) -> Vec<Vec<u64>> {
        let special = || SPECIAL.iter().flat_map(|code| [*code, *code | 0x80]);
        let codes = || 0..256_u64;
        match self.operands {
            1 => codes().map(|x| vec![x]).collect(),
            2 => {
                let is_taken = move |x: u64, y: u64| all || (x * 7 + y * 11 + y / 16).is_multiple_of(16);
                let pairs =
                    codes().flat_map(|x| codes().filter(move |y| is_taken(x, *y)).map(move |y| vec![x, y]));
                let specials = special().flat_map(|x| special().map(move |y| vec![x, y]));
                pairs.chain(specials).collect()
            }
            _ => {
                let count = if all { 1 << 16 } else { 1 << 12 };
                let word = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let triples = (0..count).map(|i| word(i) ^ word(i) >> 13);
                let triples = triples.map(|word| vec![word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff]);
                let pairs = special().flat_map(|x| special().map(move |y| (x, y)));
                let specials = pairs.flat_map(|(x, y)| special().map(move |z| vec![x, y, z]));
                triples.chain(specials).collect()
            }
        }
    }
}

const fn row(name: &'static str, operands: usize, meaning: Meaning) -> Row {
    Row { name, operands, meaning }
}

pub(crate) const ROWS: &[Row] = &[
    row("Convert", 1, Rounded(|x| x[0])),
    row("Negate", 1, Sign(|s| !s[0])),
    row("Abs", 1, Sign(|_| false)),
    row("CopySign", 2, Sign(|s| s[1])),
    row("Add", 2, Rounded(|x| x[0] + x[1])),
    row("Subtract", 2, Rounded(|x| x[0] - x[1])),
    row("Multiply", 2, Rounded(|x| x[0] * x[1])),
    row("Divide", 2, Rounded(|x| x[0] / x[1])),
    row("Remainder", 2, Rounded(|x| remainder(x[0], x[1]))),
    row("Fmod", 2, Rounded(|x| x[0] % x[1])),
    row("FMA", 3, Rounded(|x| x[0].mul_add(x[1], x[2]))),
    row("FAA", 3, Rounded(|x| x[0] + x[1] + x[2])),
    row("Sqrt", 1, Rounded(|x| x[0].sqrt())),
    row("Recip", 1, Rounded(|x| x[0].recip())),
    row("RSqrt", 1, Rounded(|x| x[0].sqrt().recip())),
    row("Hypot", 2, Rounded(|x| x[0].hypot(x[1]))),
    row("Clamp", 3, Rounded(|x| clamp(x[0], x[1], x[2]))),
    row("Minimum", 2, Rounded(|x| either_nan(x, lower(x[0], x[1])))),
    row("Maximum", 2, Rounded(|x| either_nan(x, higher(x[0], x[1])))),
    row("MinimumNumber", 2, Rounded(|x| number(x, lower))),
    row("MaximumNumber", 2, Rounded(|x| number(x, higher))),
    row("MinimumMagnitude", 2, Rounded(|x| either_nan(x, nearer(x[0], x[1])))),
    row("MaximumMagnitude", 2, Rounded(|x| either_nan(x, farther(x[0], x[1])))),
    row("MinimumMagnitudeNumber", 2, Rounded(|x| number(x, nearer))),
    row("MaximumMagnitudeNumber", 2, Rounded(|x| number(x, farther))),
    row("MinimumFinite", 2, Rounded(|x| finite(x, lower))),
    row("MaximumFinite", 2, Rounded(|x| finite(x, higher))),
    row("Exp", 1, Rounded(|x| x[0].exp())),
    row("Exp2", 1, Rounded(|x| x[0].exp2())),
    row("ExpMinusOne", 1, Rounded(|x| inward(x[0].exp_m1(), x[0].is_finite() && x[0] < -30.0))),
    row("Log", 1, Rounded(|x| x[0].ln())),
    row("Log2", 1, Rounded(|x| x[0].log2())),
    row("LogOnePlus", 1, Rounded(|x| x[0].ln_1p())),
    row("Softplus", 1, Rounded(|x| softplus(x[0]))),
    row("Sin", 1, Rounded(|x| x[0].sin())),
    row("Cos", 1, Rounded(|x| x[0].cos())),
    row("Tan", 1, Rounded(|x| x[0].tan())),
    row("ArcSin", 1, Rounded(|x| x[0].asin())),
    row("ArcCos", 1, Rounded(|x| x[0].acos())),
    row("ArcTan", 1, Rounded(|x| x[0].atan())),
    row("ArcTan2", 2, Rounded(|x| x[0].atan2(x[1]))),
    row("Sinh", 1, Rounded(|x| x[0].sinh())),
    row("Cosh", 1, Rounded(|x| x[0].cosh())),
    row("Tanh", 1, Rounded(|x| inward(x[0].tanh(), x[0].is_finite() && x[0].abs() > 15.0))),
    row("ArcSinh", 1, Rounded(|x| x[0].asinh())),
    row("ArcCosh", 1, Rounded(|x| x[0].acosh())),
    row("ArcTanh", 1, Rounded(|x| x[0].atanh())),
    row("SinPi", 1, Rounded(|x| sin_pi(x[0]))),
    row("CosPi", 1, Rounded(|x| cos_pi(x[0]))),
    row("TanPi", 1, Rounded(|x| tan_pi(x[0]))),
    row("ArcSinPi", 1, Rounded(|x| x[0].asin() / PI)),
    row("ArcCosPi", 1, Rounded(|x| x[0].acos() / PI)),
    row("ArcTanPi", 1, Rounded(|x| x[0].atan() / PI)),
    row("ArcTan2Pi", 2, Rounded(|x| turns(x[0], x[1]))),
    row("CompareLess", 2, Truth(|x| x[0] < x[1], true)),
    row("CompareLessEqual", 2, Truth(|x| x[0] <= x[1], true)),
    row("CompareEqual", 2, Truth(|x| x[0] == x[1], false)),
    row("CompareGreater", 2, Truth(|x| x[0] > x[1], true)),
    row("CompareGreaterEqual", 2, Truth(|x| x[0] >= x[1], true)),
    row("IsZero", 1, Code(|x| u64::from(value(x[0]) == 0.0))),
    row("IsOne", 1, Code(|x| u64::from(x[0] == 0x38))),
    row("IsNaN", 1, Code(|x| u64::from(x[0] & 0x7f > 0x78))),
    row("IsInfinite", 1, Code(|x| u64::from(x[0] & 0x7f == 0x78))),
    row("IsFinite", 1, Code(|x| u64::from(x[0] & 0x7f < 0x78))),
    row("IsSignMinus", 1, Code(|x| x[0] >> 7)),
    row("IsNormal", 1, Code(|x| u64::from((8..0x78).contains(&(x[0] & 0x7f))))),
    row("IsSubnormal", 1, Code(|x| u64::from((1..8).contains(&(x[0] & 0x7f))))),
    row("TotalOrder", 2, Code(|x| u64::from(is_nan(x[0]) || value(x[0]) <= value(x[1])))),
    row("Class", 1, Code(|x| class(x[0]))),
    row("NextGreaterThan", 1, Code(next)),
    row("NextLessThan", 1, Code(|x| next(&[x[0] ^ 0x80]) ^ 0x80)),
];

fn is_nan(code: u64) -> bool {
    code & 0x7f > 0x78
}

/// The place among P3109's classes, from NaN by value.
fn class(code: u64) -> u64 {
    let above_zero = match code & 0x7f {
        0 => return 4,
        1..=7 => 1,
        8..=0x77 => 2,
        0x78 => 3,
        _ => return 0,
    };
    if code >> 7 == 1 { 4 - above_zero } else { 4 + above_zero }
}

/// IEEE 754's nextUp: −0 lies above the negative numbers, and infinity stays.
fn next(codes: &[u64]) -> u64 {
    match codes[0] {
        code if is_nan(code) => code,
        0x78 => 0x78,
        0x80 => 1,
        code if code >> 7 == 1 => code - 1,
        code => code + 1,
    }
}

/// Where NaN operands give NaN.
fn either_nan(x: &[f64], result: f64) -> f64 {
    if x.iter().any(|x| x.is_nan()) { f64::NAN } else { result }
}

/// The other operand of a NaN.
fn number(x: &[f64], of_numbers: fn(f64, f64) -> f64) -> f64 {
    match (x[0].is_nan(), x[1].is_nan()) {
        (true, _) => x[1],
        (_, true) => x[0],
        _ => of_numbers(x[0], x[1]),
    }
}

/// A finite operand where the other is not.
fn finite(x: &[f64], of_numbers: fn(f64, f64) -> f64) -> f64 {
    match (x[0].is_finite(), x[1].is_finite()) {
        (true, false) => x[0],
        (false, true) => x[1],
        _ => number(x, of_numbers),
    }
}

/// −0 is below 0.
fn lower(x: f64, y: f64) -> f64 {
    if x < y || x == y && x.is_sign_negative() { x } else { y }
}

fn higher(x: f64, y: f64) -> f64 {
    -lower(-x, -y)
}

fn nearer(x: f64, y: f64) -> f64 {
    match (x.abs() < y.abs(), y.abs() < x.abs()) {
        (true, _) => x,
        (_, true) => y,
        _ => lower(x, y),
    }
}

fn farther(x: f64, y: f64) -> f64 {
    match (x.abs() > y.abs(), y.abs() > x.abs()) {
        (true, _) => x,
        (_, true) => y,
        _ => higher(x, y),
    }
}

fn clamp(x: f64, low: f64, high: f64) -> f64 {
    if x.is_nan() || low.is_nan() || high.is_nan() || low > high {
        return f64::NAN;
    }
    lower(higher(x, low), high)
}

/// x − y·n for the integer n next to x/y, the even one of two.
fn remainder(x: f64, y: f64) -> f64 {
    if !x.is_finite() || y.is_nan() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    let rest = x - y * (x / y).round_ties_even();
    if rest == 0.0 { 0.0_f64.copysign(x) } else { rest }
}

/// A result that binary64 rounded to a number of the 8-bit format, a little nearer to 0.
fn inward(x: f64, is_inexact: bool) -> f64 {
    if is_inexact { x * (1.0 - f64::EPSILON) } else { x }
}

fn softplus(x: f64) -> f64 {
    if x.is_finite() && x > 20.0 { x * (1.0 + f64::EPSILON) } else { x.exp().ln_1p() }
}

/// IEEE 754, section 9.2.1: the sign of zeros is x's.
fn sin_pi(x: f64) -> f64 {
    let part = x % 2.0;
    match part.abs() {
        0.0 | 1.0 => 0.0_f64.copysign(x),
        0.5 => 1.0_f64.copysign(x),
        1.5 => -1.0_f64.copysign(x),
        _ => (part * PI).sin(),
    }
}

fn cos_pi(x: f64) -> f64 {
    let part = (x % 2.0).abs();
    match part {
        0.0 => 1.0,
        1.0 => -1.0,
        0.5 | 1.5 => 0.0,
        _ => (part * PI).cos(),
    }
}

fn tan_pi(x: f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    let part = (x % 2.0).abs();
    let magnitude = match part {
        0.0 => 0.0,
        0.25 | 1.25 => 1.0,
        0.5 => f64::INFINITY,
        0.75 | 1.75 => -1.0,
        1.0 => -0.0,
        1.5 => f64::NEG_INFINITY,
        _ => (part * PI).tan(),
    };
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// The angle of a point in half turns: exact on the axes and on the diagonals.
fn turns(y: f64, x: f64) -> f64 {
    let quarters = y.atan2(x) / PI * 4.0;
    let is_exact = (quarters - quarters.round()).abs() < 1e-12;
    (if is_exact { quarters.round().copysign(quarters) } else { quarters }) / 4.0
}

/// A unit of a bundle, whose format is that of [`cases::E4M3`].
pub(crate) struct Bundle {
    datapath: Datapath,
    /// 0 · ∞ beside a quiet NaN is not invalid.
    passes_product: bool,
}

impl Bundle {
    pub(crate) fn new(rules: FlagRules, nan: NanKind) -> Self {
        let datapath = Datapath { nan, rules, ..cases::Base::Multiply8.datapath() };
        Self { datapath, passes_product: nan == NanKind::X86 }
    }

    /// Result and flags of an operation.
    pub(crate) fn run(&self, row: &Row, codes: &[u64]) -> (u64, u32) {
        let rules = self.datapath.rules;
        let values: Vec<f64> = codes.iter().map(|code| value(*code)).collect();
        let has_nan = values.iter().any(|x| x.is_nan());
        let signals = |code: &u64| matches!(code & 0x7f, 0x79..=0x7b);
        let raises = has_nan && rules.any_nan || codes.iter().any(signals);
        let mut flags = if raises { I } else { 0 };
        let code = match row.meaning {
            Sign(rule) => {
                let signs: Vec<bool> = codes.iter().map(|code| code >> 7 == 1).collect();
                return (codes[0] & 0x7f | u64::from(rule(&signs)) << 7, 0);
            }
            Code(result) => return (result(codes), 0),
            Truth(result, orders) => {
                if has_nan && orders {
                    flags |= I;
                }
                u64::from(result(&values))
            }
            Rounded(result) => {
                let open = |x: f64, y: f64| x == 0.0 && y.is_infinite();
                let is_open = row.name == "FMA" && (open(values[0], values[1]) || open(values[1], values[0]));
                let result = result(&values);
                if result.is_nan() && (!has_nan || is_open && !self.passes_product) {
                    flags |= I;
                }
                let negative = result.is_sign_negative();
                let sign = u64::from(negative) << 7;
                match () {
                    () if result.is_nan() => self.nan(codes, row.operands == 3, flags & I != 0),
                    () if result.is_infinite() => {
                        if values.iter().all(|x| x.is_finite()) {
                            flags |= Z;
                        }
                        sign | 0x78
                    }
                    () if result == 0.0 => sign,
                    () => {
                        let bits = result.abs().to_bits();
                        let significand = bits & ((1 << 52) - 1) | 1 << 52;
                        let exponent = i32::try_from(bits >> 52).expect("11 bits") - 1075;
                        let mut wires = Signals::default();
                        let (code, more) =
                            self.datapath.round(negative, significand.into(), exponent, &mut wires);
                        flags |= more;
                        code
                    }
                }
            }
        };
        let has_subnormal = codes.iter().any(|code| (1..8).contains(&(code & 0x7f)));
        let is_raised = match rules.denormal {
            Denormal::Never => false,
            Denormal::Raised => true,
            Denormal::X86 => !has_nan && flags & (I | Z) == 0,
        };
        if has_subnormal && is_raised {
            flags |= D;
        }
        (code, flags)
    }

    /// The NaN that a result is.
    fn nan(&self, codes: &[u64], addend_first: bool, is_invalid: bool) -> u64 {
        let mut order: Vec<u64> = codes.to_vec();
        if addend_first && self.datapath.nan == NanKind::Arm {
            order.rotate_right(1);
        }
        let first = |is_meant: &dyn Fn(u64) -> bool| order.iter().copied().find(|code| is_meant(*code));
        let quiet = |code: u64| code | 4;
        let any = |code: u64| code & 0x7f > 0x78;
        match self.datapath.nan {
            NanKind::Canonical => 0x7c,
            NanKind::X86 => first(&any).map_or(0xfc, quiet),
            NanKind::Arm => match first(&|code| any(code) && code & 4 == 0) {
                Some(signaling) => quiet(signaling),
                None if is_invalid => 0x7c,
                None => first(&any).map_or(0x7c, quiet),
            },
        }
    }
}

/// What a code of 1 sign, 4 exponent and 3 significand bits means.
fn value(code: u64) -> f64 {
    let magnitude = i32::try_from(code & 0x7f).expect("7 bits");
    let (field, trailing) = (magnitude >> 3, f64::from(magnitude & 7));
    let magnitude = match (field, magnitude & 7) {
        (15, 0) => f64::INFINITY,
        (15, _) => f64::NAN,
        (0, _) => trailing * 2.0_f64.powi(-9),
        _ => (8.0 + trailing) * 2.0_f64.powi(field - 10),
    };
    if code >> 7 == 1 { -magnitude } else { magnitude }
}
