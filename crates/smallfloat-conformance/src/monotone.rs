//! [`Runs`]: a monotone function into a small format, as runs of operands with one result each. The
//! runs' ends are found by bisection.

use smallfloat::math::Elementary;
use smallfloat::ops::Operation;
use smallfloat::{Datum, Format, NegativeRule, Projection};

use crate::error::Error;

/// Returns whether the operation has one operand and, on each of the [`sides`] of an operand's
/// values, is defined nowhere or everywhere, monotone, and of one sign. So of the two ends of a
/// side at most one overflows: where both have one result, so has all between.
fn is_monotone_on_sides(operation: Operation) -> bool {
    use Elementary as E;
    match operation {
        Operation::Convert
        | Operation::Negate
        | Operation::Abs
        | Operation::Sqrt
        | Operation::Recip
        | Operation::RSqrt => true,
        Operation::Elementary(function) => matches!(
            function,
            E::Exp
                | E::Exp2
                | E::ExpMinusOne
                | E::Log
                | E::Log2
                | E::LogOnePlus
                | E::Softplus
                | E::ArcSin
                | E::ArcSinPi
                | E::ArcCos
                | E::ArcCosPi
                | E::ArcTan
                | E::ArcTanPi
                | E::Sinh
                | E::Cosh
                | E::Tanh
                | E::ArcSinh
                | E::ArcCosh
                | E::ArcTanh
        ),
        _ => false,
    }
}

/// Returns whether the operation, rounded into a format, has runs: at most 16 bits, monotone.
pub(crate) fn is_monotone(operation: Operation, to: &Format, projection: &Projection) -> bool {
    // The magnitude of a negative result falls where the result rises.
    let keeps_order = projection.unrepresentable.negative != NegativeRule::Magnitude
        && !projection.rounding.is_stochastic();
    is_monotone_on_sides(operation) && !to.is_wide() && keeps_order
}

#[derive(Clone, Debug)]
pub(crate) struct Runs {
    operand: Format,
    /// Ascending places of the operand (see [`place`]), each the first of a run, and the run's
    /// result. NaNs lie at both ends; where a format has its NaN on the code of −0, that place is
    /// theirs.
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

/// The place of the largest magnitude, an infinity where there is one.
fn last(operand: &Format) -> i64 {
    let ends = [Datum::Infinite { negative: false }, operand.max_finite()];
    let code = ends.into_iter().find_map(|end| operand.encode(end));
    place(code.expect("every format has its largest value"), operand)
}

/// The ends of runs of places, in ascending order: −∞, (−∞, −1), −1, (−1, 0), −0, 0, (0, 1), 1, (1,
/// ∞), ∞.
///
/// Infinities are apart since they can be clamped as finite values are not, −0 since some formats
/// have NaN there, 0 and ±1 since functions have their poles, zeros and ends there, which in some
/// formats become NaN.
fn sides(operand: &Format) -> Vec<(i64, i64)> {
    let top = operand.encode(operand.max_finite()).expect("every format has its largest value");
    let top = place(top, operand);
    let one = Datum::finite(false, 1, 0);
    let (one, after_one) = if let Some(code) = operand.encode(one) {
        (place(code, operand), place(code, operand) + 1)
    } else {
        let above = operand.next_above(one.into()).map_or(top + 1, |code| place(code, operand));
        (above, above)
    };
    let positive = [(0, 0), (1, one - 1), (one, after_one - 1), (after_one, top), (top + 1, last(operand))];
    let negative = positive.iter().rev().map(|(low, high)| (-1 - high, -1 - low));
    let negative = negative.filter(|_| operand.is_signed());
    negative.chain(positive).filter(|(low, high)| low <= high).collect()
}

impl Runs {
    /// The runs of a function from codes of a format to codes that is as [`is_monotone_on_sides`]
    /// says on each of the [`sides`].
    ///
    /// # Errors
    /// Those of the function.
    pub(crate) fn new(
        operand: &Format,
        result_of: impl Fn(u64) -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        let mut starts = Vec::new();
        for (low, high) in sides(operand) {
            let result = |place| result_of(code_at(place, operand));
            let (at_low, at_high) = (result(low)?, result(high)?);
            starts.push((low, at_low));
            split((low, at_low), (high, at_high), &result, &mut starts)?;
        }
        // A result depends on a NaN's sign and on nothing else of it; every format with NaN has one
        // of these.
        let candidates = [operand.max_code() >> 1, operand.max_code(), 1 << (operand.width() - 1)];
        let mut nan = [0; 2];
        for (result, negative) in nan.iter_mut().zip([false, true]) {
            let found = candidates.into_iter().find(|&code| operand.decode(code) == Datum::Nan { negative });
            if let Some(code) = found {
                *result = result_of(code)?;
            }
        }
        starts.insert(0, (i64::MIN, nan[1]));
        starts.push((last(operand) + 1, nan[0]));
        Ok(Self { operand: *operand, starts })
    }

    pub(crate) fn operand(&self) -> &Format {
        &self.operand
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The operands at both ends of every run, NaNs left out.
    pub(crate) fn edges(&self) -> impl Iterator<Item = u64> {
        let (first, end) = (-1 - last(&self.operand), last(&self.operand));
        let within =
            move |place: &i64| *place <= end && *place >= if self.operand.is_signed() { first } else { 0 };
        let places = self.starts.iter().flat_map(|(start, _)| [start.saturating_sub(1), *start]);
        places.filter(within).map(|place| code_at(place, &self.operand))
    }

    /// The function's result.
    pub(crate) fn code(&self, operand: u64) -> u64 {
        let at = place(operand, &self.operand);
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        // The first run starts below every place.
        self.starts[after - 1].1
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
