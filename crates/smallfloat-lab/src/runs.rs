//! [`Runs`]: a monotone function into a small format, as runs of operands with one result each. The runs' ends are found by
//! bisection.

use smallfloat::{Datum, Format, NegativeRule, Projection};

use crate::Error;

/// Functions of one operand that are defined everywhere but at zero and monotone on either side of it.
const TOTAL: [&str; 14] = [
    "Convert",
    "Negate",
    "Abs",
    "Recip",
    "Exp",
    "Exp2",
    "ExpMinusOne",
    "Softplus",
    "ArcTan",
    "ArcTanPi",
    "Sinh",
    "Cosh",
    "Tanh",
    "ArcSinh",
];

/// Functions that are monotone where they are defined, and not defined at the far or the near end of a side. A format
/// without NaN has a number there, which can be that of the other end: then the ends don't tell what lies between.
const PARTIAL: [&str; 11] = [
    "Sqrt",
    "RSqrt",
    "Log",
    "Log2",
    "LogOnePlus",
    "ArcSin",
    "ArcSinPi",
    "ArcCos",
    "ArcCosPi",
    "ArcCosh",
    "ArcTanh",
];

/// Is the operation, rounded into a format of at most 16 bits, monotone on either side of zero?
pub(crate) fn is_monotone(name: &str, to: &Format, how: &Projection) -> bool {
    // The magnitude of a negative result falls where the result rises.
    let keeps_order =
        how.unrepresentable.negative != NegativeRule::Magnitude && !how.rounding.is_stochastic();
    let monotone = TOTAL.contains(&name) || (PARTIAL.contains(&name) && to.has_nan());
    monotone && !to.is_wide() && keeps_order
}

#[derive(Clone, Debug)]
pub(crate) struct Runs {
    operand: Format,
    /// Ascending places of the operand (see [`place`]), each the first of a run, and the run's result. NaNs lie at both
    /// ends; where a format has its NaN on the code of −0, that place is theirs.
    starts: Vec<(i64, u64)>,
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

impl Runs {
    /// The runs of a function from codes of a format to codes that is monotone on either side of zero.
    ///
    /// # Errors
    /// Those of the function.
    pub(crate) fn new(
        operand: &Format,
        result_of: impl Fn(u64) -> Result<u64, Error>,
    ) -> Result<Self, Error> {
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
            let result = |place| result_of(code_at(place, operand));
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
                *result = result_of(code)?;
            }
        }
        starts.insert(0, (i64::MIN, nan[1]));
        starts.push((place_of(Datum::Infinite { negative: false }).unwrap_or(last) + 1, nan[0]));
        Ok(Self { operand: *operand, starts })
    }

    pub(crate) fn operand(&self) -> &Format {
        &self.operand
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The function's result.
    pub(crate) fn code(&self, operand: u64) -> u64 {
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
