//! Minima and maxima in all their kinds.

use core::cmp::Ordering;

use crate::format::datum::Datum;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;

/// Which extremum: of values or magnitudes, and what becomes of NaN and infinities.
///
/// | name | one NaN | two NaN | one infinity | magnitudes equal |
/// | --- | --- | --- | --- | --- |
/// | `Minimum`, `Maximum` | NaN | NaN | as the order says | – |
/// | `…Number` | the other operand | NaN | as the order says | – |
/// | `…Magnitude` | NaN | NaN | the largest magnitude | by value: the minimum is the lower, the maximum the higher |
/// | `…MagnitudeNumber` | the other operand | NaN | the largest magnitude | by value |
/// | `…Finite` | the other operand | NaN | the finite operand | – |
///
/// In ieee semantics −0 < +0. Sources: IEEE 754-2019, section 9.6; P3109, ωMinimum to
/// ωMaximumFinite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the standards' own")]
pub enum Extremum {
    Minimum,
    Maximum,
    MinimumNumber,
    MaximumNumber,
    MinimumMagnitude,
    MaximumMagnitude,
    MinimumMagnitudeNumber,
    MaximumMagnitudeNumber,
    MinimumFinite,
    MaximumFinite,
}

impl Extremum {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Minimum,
        Self::Maximum,
        Self::MinimumNumber,
        Self::MaximumNumber,
        Self::MinimumMagnitude,
        Self::MaximumMagnitude,
        Self::MinimumMagnitudeNumber,
        Self::MaximumMagnitudeNumber,
        Self::MinimumFinite,
        Self::MaximumFinite,
    ];

    const fn is_minimum(self) -> bool {
        matches!(
            self,
            Self::Minimum
                | Self::MinimumNumber
                | Self::MinimumMagnitude
                | Self::MinimumMagnitudeNumber
                | Self::MinimumFinite
        )
    }

    const fn is_of_magnitudes(self) -> bool {
        matches!(
            self,
            Self::MinimumMagnitude
                | Self::MaximumMagnitude
                | Self::MinimumMagnitudeNumber
                | Self::MaximumMagnitudeNumber
        )
    }

    const fn passes_nan_over(self) -> bool {
        !matches!(self, Self::Minimum | Self::Maximum | Self::MinimumMagnitude | Self::MaximumMagnitude)
    }
}

/// Returns the smaller or larger of two data.
pub const fn extremum(which: Extremum, x: Datum, y: Datum, semantics: Semantics) -> Outcome {
    let (x, y) = (semantics.operand(x), semantics.operand(y));
    if x.is_nan() || y.is_nan() {
        let other = if x.is_nan() { y } else { x };
        let nan = if x.is_nan() { x } else { y };
        return Outcome::datum(if which.passes_nan_over() { other } else { nan });
    }
    let by_finiteness = matches!(which, Extremum::MinimumFinite | Extremum::MaximumFinite);
    if by_finiteness && x.is_finite() != y.is_finite() {
        return Outcome::datum(if x.is_finite() { x } else { y });
    }
    let order = if which.is_of_magnitudes() {
        match signed_order(magnitude(x), magnitude(y)) {
            Ordering::Equal => signed_order(x, y),
            order => order,
        }
    } else {
        signed_order(x, y)
    };
    let takes_x = match order {
        Ordering::Less => which.is_minimum(),
        Ordering::Greater => !which.is_minimum(),
        Ordering::Equal => true,
    };
    Outcome::datum(if takes_x { x } else { y })
}

/// Returns min(max(x, lo), hi) (P3109's Clamp); NaN if any operand is NaN or lo > hi.
pub const fn clamp(x: Datum, lo: Datum, hi: Datum, semantics: Semantics) -> Outcome {
    let (x, lo, hi) = (semantics.operand(x), semantics.operand(lo), semantics.operand(hi));
    if x.is_nan() || lo.is_nan() || hi.is_nan() || matches!(lo.compare(&hi), Some(Ordering::Greater)) {
        return Outcome::new(Exact::Nan { negative: false });
    }
    let above = if matches!(signed_order(x, lo), Ordering::Less) { lo } else { x };
    Outcome::datum(if matches!(signed_order(above, hi), Ordering::Greater) { hi } else { above })
}

const fn magnitude(x: Datum) -> Datum {
    if x.is_negative() { x.negated() } else { x }
}

/// The order of the extended reals with −0 below +0, neither operand being NaN.
const fn signed_order(x: Datum, y: Datum) -> Ordering {
    match x.compare(&y) {
        Some(Ordering::Equal) | None => match (x.is_negative(), y.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => Ordering::Equal,
        },
        Some(order) => order,
    }
}
