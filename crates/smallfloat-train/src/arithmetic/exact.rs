//! Exact products of matrices at the speed of binary64 products.
//!
//! The values of a small format are integers times its smallest step. Where the integers of both
//! sides have so few bits that a whole sum fits binary64's 53, binary64 arithmetic makes no error,
//! and any library's product is exact in any order. Where they have more, a matrix is the sum of a
//! few, each with the elements of some binades, and the parts' products, each exact, add up as
//! integers. One rounding follows.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;
use smallfloat::formats::BINARY32;
use smallfloat::{Exact, Format, project};

use crate::arithmetic::operand::{MatrixOperand, view};
use crate::error::{Error, Result};
use crate::matrix::ROWS;

/// Bits of a binary64 significand.
const SIGNIFICAND: u32 = 53;
/// The shortest piece of a sum that is worth a product.
const SHORTEST: u32 = 8;

/// The finite values of a format as integers.
#[derive(Clone, Copy)]
struct Span {
    /// The exponent of the smallest step.
    unit: i32,
    /// Bits of the largest integer.
    bits: u32,
    precision: u32,
}

impl Span {
    fn new(format: &Format) -> Self {
        let precision = format.precision();
        let lowest = format.min_positive().exponent_of_leading_bit();
        // Without subnormals the smallest value has all its bits.
        let unit = if format.has_subnormals() { lowest } else { lowest + 1 - precision.cast_signed() };
        let highest = format.max_finite().exponent_of_leading_bit();
        Self { unit, bits: (highest + 1 - unit).unsigned_abs(), precision }
    }

    /// Binades in each of so many parts.
    fn binades(self, parts: u32) -> u32 {
        self.bits.div_ceil(parts)
    }

    /// Bits of the integers of so many parts: values of a part have `precision` bits below their
    /// leading ones.
    fn width(self, parts: u32) -> u32 {
        if parts == 1 { self.bits } else { self.binades(parts) + self.precision - 1 }
    }
}

/// How a product is divided.
struct Plan {
    spans: [Span; 2],
    parts: [u32; 2],
    /// Products that binary64 can add up.
    depth: usize,
}

impl Plan {
    /// The fewest products of parts whose sums, or long pieces of them, fit.
    fn new(a: Span, b: Span) -> Option<Self> {
        if a.bits + b.bits + 32 > 127 {
            return None;
        }
        let counts = (1..=8).flat_map(|x| (1..=8).map(move |y| [x, y]));
        let room = |[x, y]: [u32; 2]| SIGNIFICAND.checked_sub(a.width(x) + b.width(y));
        let parts = counts.filter(|&parts| room(parts) >= Some(SHORTEST)).min_by_key(|[x, y]| x * y)?;
        Some(Self { spans: [a, b], parts, depth: 1 << room(parts)?.min(30) })
    }
}

/// Returns whether products of these formats can be exact.
///
/// # Errors
/// No: their values' products span more than 95 bits, as those of bfloat16 do.
pub(crate) fn check(a: &Format, b: &Format) -> Result<()> {
    match Plan::new(Span::new(a), Span::new(b)) {
        Some(_) => Ok(()),
        None => Err(Error::config(format!(
            "exact sums of products of {a} and {b} would be too wide: take formats of 8 bits or SHP, or accumulate in f32"
        ))),
    }
}

/// One part of a matrix: integers, the exponent of their unit above the format's, in the matrix's
/// own order.
struct Part {
    integers: Vec<f64>,
    shift: u32,
}

fn parts(values: &[f32], span: Span, count: u32) -> Vec<Part> {
    let binades = span.binades(count);
    let integer = |value: f32| f64::from(value) * libm::ldexp(1.0, -span.unit);
    (0..count)
        .map(|number| {
            let [low, high] =
                [number, number + 1].map(|n| f64::from(2.0_f32).powi((n * binades).cast_signed()));
            let low = if number == 0 { 0.0 } else { low };
            let shift = (number * binades).saturating_sub(span.precision - 1);
            let unit = libm::ldexp(1.0, -shift.cast_signed());
            let mut integers = vec![0.0; values.len()];
            let pieces = integers.par_chunks_mut(1 << 14).zip(values.par_chunks(1 << 14));
            pieces.for_each(|(integers, values)| {
                for (to, value) in integers.iter_mut().zip(values) {
                    let integer = integer(*value);
                    let magnitude = integer.abs();
                    // ∞ and NaN go into the last part and come out of every sum they are in.
                    let beyond = magnitude >= high || magnitude.is_nan();
                    let here = magnitude >= low && magnitude < high || number + 1 == count && beyond;
                    *to = if here { integer * unit } else { 0.0 };
                }
            });
            Part { integers, shift }
        })
        .collect()
}

/// A·B, exact but for one rounding to nearest even.
pub(crate) fn product(a: &MatrixOperand<'_>, b: &MatrixOperand<'_>, result: &mut [f32]) -> Result<()> {
    let (Some(left), Some(right)) = (a.format(), b.format()) else {
        return Err(Error::config(
            "exact sums need formats on both sides: f32 has no bounded range of integers",
        ));
    };
    check(left, right)?;
    let Some(plan) = Plan::new(Span::new(left), Span::new(right)) else { return Ok(()) };
    let ([_, depth], [_, columns]) = (a.shape(), b.shape());
    let unit = plan.spans[0].unit + plan.spans[1].unit - a.exponent() - b.exponent();
    let [(a_values, a_columns), (b_values, b_columns)] = [a.stored(), b.stored()];
    let a_parts = parts(a_values, plan.spans[0], plan.parts[0]);
    let b_parts = parts(b_values, plan.spans[1], plan.parts[1]);
    result.par_chunks_mut(ROWS * columns).enumerate().for_each(|(number, part)| {
        let height = part.len() / columns;
        let rows = number * ROWS..number * ROWS + height;
        let mut sums = vec![0_i128; part.len()];
        let mut piece = vec![0.0; part.len()];
        let mut lost = vec![false; part.len()];
        for (x, y) in a_parts.iter().flat_map(|x| b_parts.iter().map(move |y| (x, y))) {
            let left = view(&x.integers, a_columns, a.is_transposed());
            let left = left.slice_axis(Axis(0), Slice::from(rows.clone()));
            let right = view(&y.integers, b_columns, b.is_transposed());
            for first in (0..depth).step_by(plan.depth) {
                let inner = first..(first + plan.depth).min(depth);
                let mut to =
                    ArrayViewMut2::from_shape((height, columns), &mut piece[..]).expect("whole rows");
                general_mat_mul(
                    1.0,
                    &left.slice_axis(Axis(1), Slice::from(inner.clone())),
                    &right.slice_axis(Axis(0), Slice::from(inner)),
                    0.0,
                    &mut to,
                );
                for ((sum, lost), &piece) in sums.iter_mut().zip(&mut lost).zip(&piece) {
                    *lost |= !piece.is_finite();
                    #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53")]
                    let integer = piece as i64;
                    *sum += i128::from(integer) << (x.shift + y.shift);
                }
            }
        }
        for ((to, sum), lost) in part.iter_mut().zip(sums).zip(lost) {
            *to = if lost { f32::NAN } else { rounded(sum, unit) };
        }
    });
    Ok(())
}

/// sum·2^unit in binary32, to nearest even.
fn rounded(sum: i128, unit: i32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "this is the rounding")]
    let significand = sum as f32;
    let wide = libm::ldexp(f64::from(significand), unit);
    if wide == 0.0 || (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&wide.abs()) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "exact: 24 bits within binary32's normal range"
        )]
        return wide as f32;
    }
    // Below the normal range the first rounding was one too many.
    let once = project(Exact::from_i128(sum).scaled(unit), &BINARY32, &BINARY32.default_projection());
    let [a, b, c, d, ..] = once.value.to_le_bytes();
    f32::from_le_bytes([a, b, c, d])
}
