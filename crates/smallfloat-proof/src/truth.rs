//! Exact results as the lines of text whose digests `data/transcendental-digests.csv` holds (its
//! header has the form).

use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Datum, Exact, Format};
use smallfloat_oracle as oracle;

/// How many significant bits a line has.
const BITS: u32 = 120;

/// Leading exponents beyond this are only `huge` or `tiny`.
const LIMIT: i64 = 1 << 20;

/// What an operation does over the part of its domain that has results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// It rises everywhere.
    Rises,
    /// It falls everywhere.
    Falls,
    /// It does both, or has a pole.
    Turns,
}

/// The unary operations that the file covers.
pub const UNARY: [(&str, Course); 28] = [
    ("Sqrt", Course::Rises),
    ("Recip", Course::Turns),
    ("RSqrt", Course::Falls),
    ("Exp", Course::Rises),
    ("Exp2", Course::Rises),
    ("ExpMinusOne", Course::Rises),
    ("Log", Course::Rises),
    ("Log2", Course::Rises),
    ("LogOnePlus", Course::Rises),
    ("Softplus", Course::Rises),
    ("Sin", Course::Turns),
    ("Cos", Course::Turns),
    ("Tan", Course::Turns),
    ("ArcSin", Course::Rises),
    ("ArcCos", Course::Falls),
    ("ArcTan", Course::Rises),
    ("Sinh", Course::Rises),
    ("Cosh", Course::Turns),
    ("Tanh", Course::Rises),
    ("ArcSinh", Course::Rises),
    ("ArcCosh", Course::Rises),
    ("ArcTanh", Course::Rises),
    ("SinPi", Course::Turns),
    ("CosPi", Course::Turns),
    ("TanPi", Course::Turns),
    ("ArcSinPi", Course::Rises),
    ("ArcCosPi", Course::Falls),
    ("ArcTanPi", Course::Rises),
];

/// One row of the file.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The operation.
    pub operation: Operation,
    /// The format of its operands.
    pub format: Format,
    /// Every how many codes.
    pub stride: u64,
    /// How many results.
    pub count: u64,
    /// SHA-256 of their lines, in hexadecimal.
    pub digest: &'a str,
}

/// The rows of the file.
///
/// # Panics
/// If a row is not of the file's form, or names an operation that the core does not know.
pub fn rows(file: &str) -> Vec<Row<'_>> {
    file.lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [operation, format, stride, count, digest] = cells[..] else { panic!("not a row: {line}") };
            Row {
                operation: operation.parse().unwrap_or_else(|error| panic!("{operation}: {error}")),
                format: format.parse().unwrap_or_else(|error| panic!("{format}: {error}")),
                stride: stride.parse().expect("a stride"),
                count: count.parse().expect("a count"),
                digest,
            }
        })
        .collect()
}

impl Row<'_> {
    /// The core's results in the order of the row.
    ///
    /// # Panics
    /// If the stride does not fit this machine's addresses.
    pub fn results(&self) -> Vec<Exact> {
        let step = usize::try_from(self.stride).expect("a small stride");
        let data: Vec<Datum> =
            self.format.codes().step_by(step).map(|code| self.format.decode(code)).collect();
        let exact = |x, y| self.operation.exact([x, y, Datum::ZERO], Semantics::P3109).exact;
        if self.operation.arity() == 1 {
            return data.iter().map(|&x| exact(x, Datum::ZERO)).collect();
        }
        data.iter().flat_map(|&x| data.iter().map(move |&y| exact(x, y))).collect()
    }
}

/// The line of a result, without its line feed.
pub fn line(x: Exact) -> String {
    let sign = if x.is_negative() { "-" } else { "" };
    match x {
        Exact::Nan { .. } => "NaN".to_string(),
        Exact::Infinite { .. } => format!("{sign}Inf"),
        Exact::Cancelled | Exact::Finite { significand: 0, .. } => "0".to_string(),
        Exact::Finite { significand, exponent, sticky, .. } => {
            let zeros = significand.leading_zeros();
            if sticky && zeros > u128::BITS - BITS {
                return format!("only {} bits", u128::BITS - zeros);
            }
            let cut = u128::BITS - BITS;
            let aligned = significand << zeros;
            let exponent = i64::from(exponent) - i64::from(zeros) + i64::from(cut);
            let leading = exponent + i64::from(BITS) - 1;
            if leading >= LIMIT {
                return format!("{sign}huge");
            }
            if leading < -LIMIT {
                return format!("{sign}tiny");
            }
            let lost = sticky || aligned & ((1 << cut) - 1) != 0;
            format!("{sign}{:030x}p{exponent}{}", aligned >> cut, if lost { "+" } else { "" })
        }
    }
}

/// A number that every rounding treats as it would the one of a line: where bits were cut off, half
/// a unit of the last place stands for them; beyond 2^(±2^20) any number does.
///
/// # Panics
/// If the text is not a line.
pub fn stand_in(line: &str) -> oracle::Exact {
    let negative = line.starts_with('-');
    let finite = |x: oracle::Dyadic| {
        let magnitude = oracle::Real::Rational(oracle::Rational::from(&x));
        oracle::Exact::Finite { negative, magnitude }
    };
    match line.trim_start_matches('-') {
        "NaN" => oracle::Exact::NAN,
        "Inf" => oracle::Exact::Inf { negative },
        "0" => oracle::Exact::zero(false),
        "huge" => finite(oracle::Dyadic::new(3, LIMIT)),
        "tiny" => finite(oracle::Dyadic::new(3, -LIMIT - 2)),
        number => {
            let (number, cut) = number.strip_suffix('+').map_or((number, false), |n| (n, true));
            let (significand, exponent) = number.split_once('p').expect("a number");
            let significand = u128::from_str_radix(significand, 16).expect("hexadecimal digits");
            let exponent: i64 = exponent.parse().expect("an exponent");
            finite(oracle::Dyadic::new(2 * significand + u128::from(cut), exponent - 1))
        }
    }
}
