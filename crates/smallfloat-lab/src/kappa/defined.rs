//! [`Defined`]: defined results of many calls of one operation.
//!
//! A monotone function of one operand has few results of a small format: each holds for a run of operands. The runs' ends are
//! found by bisection with the exact operation, so that 2^32 operands cost some thousands of exact evaluations.

use smallfloat::ops::{Answer, Specialization};
use smallfloat::{Datum, Format, NegativeRule};

use crate::Error;

/// Functions of one operand that are monotone on either side of zero. Where one is not defined, it is so at the far or the
/// near end of a side. (ArcCos and ArcCosh are not here: in a format without NaN both ends of a side can be the largest value
/// and what lies between them smaller.)
const MONOTONE: [&str; 22] = [
    "Convert",
    "Negate",
    "Abs",
    "Sqrt",
    "Recip",
    "RSqrt",
    "Exp",
    "Exp2",
    "ExpMinusOne",
    "Log",
    "Log2",
    "LogOnePlus",
    "Softplus",
    "ArcSin",
    "ArcTan",
    "ArcSinPi",
    "ArcTanPi",
    "Sinh",
    "Cosh",
    "Tanh",
    "ArcSinh",
    "ArcTanh",
];

/// Defined results of an operation: computed call by call, or looked up in runs of operands.
#[derive(Clone, Debug)]
pub struct Defined<'a> {
    operation: &'a Specialization,
    runs: Option<Runs>,
}

#[derive(Clone, Debug)]
struct Runs {
    operand: Format,
    /// Ascending places of the operand (see [`place`]), each the first of a run, and the run's result.
    starts: Vec<(i64, u64)>,
    /// The results of NaNs, by sign.
    nan: [u64; 2],
}

/// Sorts a format's codes by value: magnitudes, and on the negative side −1 for the sign bit alone.
#[expect(
    clippy::cast_possible_wrap,
    reason = "magnitudes have at most 63 bits, those of unsigned formats 16"
)]
fn place(code: u64, format: &Format) -> i64 {
    let magnitude = (code & (format.max_code() >> u32::from(format.is_signed()))) as i64;
    if format.sign_bit(code) { -1 - magnitude } else { magnitude }
}

/// The code at a place.
#[expect(clippy::cast_sign_loss, reason = "either branch is not negative")]
fn code_at(place: i64, format: &Format) -> u64 {
    if place < 0 { (-1 - place) as u64 | 1 << (format.width() - 1) } else { place as u64 }
}

impl<'a> Defined<'a> {
    /// Defined results of an operation; runs where the function is monotone, the operand wider than 8 bits, and the
    /// result not wider than 16.
    ///
    /// # Errors
    /// What the operation refuses.
    pub fn new(operation: &'a Specialization) -> Result<Self, Error> {
        let narrow = operation.result().is_some_and(|format| !format.is_wide());
        let rules = operation.projection().map(|how| how.unrepresentable.negative);
        let monotone = MONOTONE.contains(&operation.function().name())
            // The magnitude of a negative result falls where the result rises.
            && rules.is_some_and(|rule| rule != NegativeRule::Magnitude);
        let runs = match operation.operands() {
            [operand] if monotone && narrow && operand.width() > 8 => Some(Runs::new(operation, operand)?),
            _ => None,
        };
        Ok(Self { operation, runs })
    }

    /// Defined results, each computed by itself.
    pub fn one_by_one(operation: &'a Specialization) -> Self {
        Self { operation, runs: None }
    }

    /// The code of the defined result.
    ///
    /// # Errors
    /// What the operation refuses: another number of operands, codes that their formats do not have.
    pub fn code(&self, operands: &[u64]) -> Result<u64, Error> {
        match (&self.runs, operands) {
            (Some(runs), &[operand]) => Ok(runs.code(runs.operand.check_code(operand)?)),
            _ => call(self.operation, operands),
        }
    }

    /// How many runs there are, if results are looked up.
    pub fn runs(&self) -> Option<usize> {
        self.runs.as_ref().map(|runs| runs.starts.len())
    }
}

fn call(operation: &Specialization, operands: &[u64]) -> Result<u64, Error> {
    match operation.call(operands)? {
        Answer::Code(result) => Ok(result.value),
        _ => Err(Error::NotNumeric { name: operation.function().name().to_owned() }),
    }
}

impl Runs {
    fn new(operation: &Specialization, operand: &Format) -> Result<Self, Error> {
        let place_of = |datum| operand.encode(datum).map(|code| place(code, operand));
        let last = place_of(operand.max_finite()).unwrap_or(0);
        let mut sides = vec![(0, last)];
        if operand.is_signed() {
            // −0 is a side of its own: some formats have NaN there.
            sides = vec![(-1 - last, -2), (-1, -1), (0, last)];
        }
        // So is each infinity: it may be clamped as finite values are not.
        if let Some(infinity) = place_of(Datum::Infinite { negative: false }) {
            sides.push((infinity, infinity));
            if operand.is_signed() {
                sides.insert(0, (-1 - infinity, -1 - infinity));
            }
        }
        let mut starts = Vec::new();
        for (low, high) in sides.into_iter().filter(|(low, high)| low <= high) {
            let result = |place| call(operation, &[code_at(place, operand)]);
            let (at_low, at_high) = (result(low)?, result(high)?);
            starts.push((low, at_low));
            split((low, at_low), (high, at_high), &result, &mut starts)?;
        }
        // A result depends on a NaN's sign and on nothing else of it; every format with NaN has one of these.
        let candidates = [operand.max_code() >> 1, operand.max_code(), 1 << (operand.width() - 1)];
        let mut nan = [0; 2];
        for (result, negative) in nan.iter_mut().zip([false, true]) {
            let found = candidates.into_iter().find(|&code| operand.decode(code) == Datum::Nan { negative });
            if let Some(code) = found {
                *result = call(operation, &[code])?;
            }
        }
        Ok(Self { operand: *operand, starts, nan })
    }

    fn code(&self, operand: u64) -> u64 {
        if let Datum::Nan { negative } = self.operand.decode(operand) {
            return self.nan[usize::from(negative)];
        }
        let at = place(operand, &self.operand);
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts[after.saturating_sub(1)].1
    }
}

/// Adds the starts of all runs after the one at `low`, up to the one at `high`.
fn split(
    low: (i64, u64),
    high: (i64, u64),
    result: &dyn Fn(i64) -> Result<u64, Error>,
    starts: &mut Vec<(i64, u64)>,
) -> Result<(), Error> {
    if low.1 == high.1 {
        return Ok(());
    }
    if high.0 - low.0 <= 1 {
        starts.push(high);
        return Ok(());
    }
    let middle = low.0 + (high.0 - low.0) / 2;
    let middle = (middle, result(middle)?);
    split(low, middle, result, starts)?;
    split(middle, high, result, starts)
}
