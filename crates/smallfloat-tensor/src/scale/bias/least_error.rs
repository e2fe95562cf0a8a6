//! The bias of the least squared error, and what each bias costs.
//!
//! All elements of a class have one quantized value q, so that its Σ (x − q)² follows from three
//! exact sums. Errors are compared in floating point first; near ties are settled with exact
//! integers.

use dashu_base::BitTest as _;
use dashu_int::{IBig, UBig};
use smallfloat::{Datum, Format, Rounded, project};

use crate::scale::bias::magnitudes::{Class, Long, Magnitudes};
use crate::scale::bias::policy::largest_holding;
use crate::scale::rule::magnitude;

/// Of candidates in ascending order of their bias the one with the least error, of equals the
/// largest.
pub(super) fn least_error(candidates: &[Format], magnitudes: &Magnitudes) -> Format {
    // From large to small magnitudes, and from the likeliest bias outwards: others soon exceed the
    // best so far.
    let classes: Vec<&Class> = magnitudes.classes.iter().rev().collect();
    let (top, bottom) = (classes[0], classes[classes.len() - 1]);
    let likely = largest_holding(candidates, &top.representative, 0).bias();
    let mut order: Vec<Format> = candidates.to_vec();
    order.sort_by_key(|format| (format.bias() - likely).abs());
    let mut normal = vec![None; classes.len()];
    let (mut least, mut errors) = (f64::INFINITY, Vec::new());
    #[expect(clippy::cast_precision_loss, reason = "a bound, far from exact")]
    let (largest, weight) = (top.first as f64 * 2.0_f64.powi(top.exponent), top.weight as f64);
    for format in order {
        // What the largest elements alone lose by saturation already decides against most high
        // biases.
        let beyond = (largest - magnitude(&format)).max(0.0);
        if beyond * beyond * weight > least * NEAR {
            continue;
        }
        let error = bounded(&classes, &format, &mut normal, least * NEAR);
        least = least.min(error);
        errors.push((format, error));
    }
    // Each term is off by a few parts in 2^53 at most, so only near ties need exact sums.
    let close = errors.iter().filter(|(_, error)| *error <= least * NEAR).map(|(format, _)| *format);
    let mut close: Vec<Format> = close.collect();
    if let [only] = close[..] {
        return only;
    }
    // Of equals the largest bias: `min_by` keeps the first, so the largest comes first.
    close.sort_by_key(|format| -format.bias());
    // Where all elements are in the normal range of several biases, they round alike in all of
    // these.
    let exponents = [top, bottom].map(|class| class.representative.exponent_of_leading_bit());
    let mut alike = close.iter().filter(|format| exponents.iter().all(|e| is_normal(format, *e)));
    let first = alike.next().map(Format::bias);
    close.retain(|format| first == Some(format.bias()) || !exponents.iter().all(|e| is_normal(format, *e)));
    if let [only] = close[..] {
        return only;
    }
    let exact = close.iter().map(|format| (exact(&classes, format), *format));
    exact.min_by(|(a, _), (b, _)| a.cmp(b)).map_or(candidates[0], |(_, format)| format)
}

/// Sums this close may be equal.
const NEAR: f64 = 1.0 + 1e-6;

/// The squared error of one bias, or infinity once it exceeds `limit`. Values in the normal range
/// of two biases round alike, so their terms are kept in `normal`.
fn bounded(classes: &[&Class], format: &Format, normal: &mut [Option<f64>], limit: f64) -> f64 {
    let mut sum = 0.0;
    for (class, normal) in classes.iter().zip(normal) {
        let is_normal = is_normal(format, class.representative.exponent_of_leading_bit());
        sum += match normal {
            Some(term) if is_normal => *term,
            None if is_normal => *normal.insert(term(class, format)),
            _ => term(class, format),
        };
        if sum > limit {
            return f64::INFINITY;
        }
    }
    sum
}

/// The squared error of each of these biases.
pub(super) fn of_all(candidates: &[Format], classes: &[Class]) -> Vec<(i32, f64)> {
    let classes: Vec<&Class> = classes.iter().collect();
    let mut normal = vec![None; classes.len()];
    let mut error = |format: &Format| bounded(&classes, format, &mut normal, f64::INFINITY);
    candidates.iter().map(|format| (format.bias(), error(format))).collect()
}

/// Returns whether values of this exponent are normal and safe from saturation. The highest binade
/// may saturate.
fn is_normal(format: &Format, exponent: i32) -> bool {
    let (lowest, highest) = format.exponent_range();
    (lowest..highest).contains(&exponent)
}

/// The magnitude that all elements of a class round to.
fn quantized(class: &Class, format: &Format) -> (u64, i32) {
    let projection = format.default_projection();
    let Rounded { value, .. } = project(class.representative.into(), format, &projection);
    match format.decode(value) {
        Datum::Finite { significand, exponent, .. } => (significand, exponent),
        // Formats with a free bias have finite codes only.
        _ => (0, 0),
    }
}

/// Σ (x − q)² of one class: an exact integer where terms may cancel, rounded to `f64` once.
#[expect(clippy::cast_precision_loss, reason = "approximate by design; near ties are settled exactly")]
pub(super) fn term(class: &Class, format: &Format) -> f64 {
    let (significand, exponent) = quantized(class, format);
    let unit = 2.0_f64.powi(class.exponent);
    let shift = exponent - class.exponent;
    let in_units = if (0..=60).contains(&shift) {
        let distance = i128::from(class.first) - (i128::from(significand) << shift);
        narrow(class, distance).map_or_else(|| rounded(&wide(class, &distance.into())), |sum| sum as f64)
    } else {
        // The value is far larger than q, or finer than it: nothing cancels.
        let distance = class.first as f64 - significand as f64 * 2.0_f64.powi(shift);
        class.weight as f64 * distance * distance
            + 2.0 * distance * class.sum as f64
            + rounded(&long(class.sum_of_squares))
    };
    in_units * unit * unit
}

/// weight · d² + 2d · sum + sum of squares, if 128 bits hold all of it: almost always.
fn narrow(class: &Class, distance: i128) -> Option<i128> {
    let weight = i128::try_from(class.weight).ok()?;
    let squares = Some(class.sum_of_squares).filter(|squares| squares.high == 0)?.low;
    let square = distance.checked_mul(distance)?.checked_mul(weight)?;
    let cross = distance.checked_mul(i128::try_from(class.sum.checked_mul(2)?).ok()?)?;
    square.checked_add(cross)?.checked_add(i128::try_from(squares).ok()?)
}

/// The error in integers of any size.
fn wide(class: &Class, distance: &IBig) -> IBig {
    distance * distance * class.weight + ((distance * class.sum) << 1) + long(class.sum_of_squares)
}

fn long(x: Long) -> IBig {
    UBig::from(x).into()
}

/// An integer that is not negative, in `f64` but for its last place.
#[expect(clippy::cast_precision_loss, reason = "rounded by design")]
fn rounded(x: &IBig) -> f64 {
    let beyond = x.bit_len().saturating_sub(64);
    let top = u64::try_from(x >> beyond).expect("64 bits of a number that is not negative");
    top as f64 * 2.0_f64.powi(i32::try_from(beyond).expect("sums of squares have some thousand bits"))
}

/// The sum over all classes exactly, in units of 2^(2 · UNIT), below every class's and every
/// format's last place.
fn exact(classes: &[&Class], format: &Format) -> IBig {
    const UNIT: i32 = -256;
    let above = |exponent: i32| usize::try_from(exponent - UNIT).expect("no last place is lower");
    let mut total = IBig::ZERO;
    for class in classes {
        let (significand, exponent) = quantized(class, format);
        let scale = above(class.exponent);
        let distance = (IBig::from(class.first) << scale) - (IBig::from(significand) << above(exponent));
        total += &distance * &distance * class.weight
            + ((&distance * class.sum * 2_u8) << scale)
            + (long(class.sum_of_squares) << (2 * scale));
    }
    total
}
