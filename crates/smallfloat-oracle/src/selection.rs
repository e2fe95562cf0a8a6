//! Operations that choose among their operands: minima and maxima, clamp, comparison, sign.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::ops::Semantics;
use crate::{Exact, Rational, Real};

/// What happens to NaN and to infinities in a minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Losers {
    /// NaN wins.
    None,
    /// NaN loses against anything.
    Nan,
    /// NaN loses against anything, an infinity against a number.
    NanAndInfinity,
}

/// One of the ten minima and maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extremum {
    /// Or minimum.
    pub maximum: bool,
    /// By magnitude; equal magnitudes by value.
    pub magnitude: bool,
    /// NaN and infinities.
    pub losers: Losers,
}

impl fmt::Display for Extremum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(_, extremum)| extremum == self);
        f.pad(named.map_or("an extremum that no standard has", |(name, _)| *name))
    }
}

/// By the standards' name, as in `MinimumMagnitudeNumber`; the error lists the names.
impl FromStr for Extremum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::NAMED.iter().find(|(name, _)| *name == text);
        named.map(|(_, extremum)| *extremum).ok_or_else(|| {
            format!("`{text}` is no extremum, expected {}", Self::NAMED.map(|(name, _)| name).join(", "))
        })
    }
}

impl Extremum {
    /// All ten by the standards' names.
    pub const NAMED: [(&'static str, Self); 10] = [
        ("Minimum", Self::new(false, false, Losers::None)),
        ("Maximum", Self::new(true, false, Losers::None)),
        ("MinimumNumber", Self::new(false, false, Losers::Nan)),
        ("MaximumNumber", Self::new(true, false, Losers::Nan)),
        ("MinimumMagnitude", Self::new(false, true, Losers::None)),
        ("MaximumMagnitude", Self::new(true, true, Losers::None)),
        ("MinimumMagnitudeNumber", Self::new(false, true, Losers::Nan)),
        ("MaximumMagnitudeNumber", Self::new(true, true, Losers::Nan)),
        ("MinimumFinite", Self::new(false, false, Losers::NanAndInfinity)),
        ("MaximumFinite", Self::MAXIMUM_FINITE),
    ];

    /// The one of which ConvertToBlockMaxAbsFinite makes its scale.
    pub(crate) const MAXIMUM_FINITE: Self = Self::new(true, false, Losers::NanAndInfinity);

    const fn new(maximum: bool, magnitude: bool, losers: Losers) -> Self {
        Self { maximum, magnitude, losers }
    }

    /// Whether the second operand is the result, given the orders of the values (−0 below +0) and
    /// of the magnitudes. Which of two NaNs is chosen has no meaning.
    pub fn takes_second(self, x: &Exact, y: &Exact, values: Ordering, magnitudes: Ordering) -> bool {
        match (x.is_nan(), y.is_nan(), self.losers) {
            (true, _, Losers::None) | (_, true, Losers::Nan | Losers::NanAndInfinity) => {
                return false;
            }
            (_, true, Losers::None) | (true, _, _) => return true,
            _ => {}
        }
        if self.losers == Losers::NanAndInfinity && x.is_finite() != y.is_finite() {
            return y.is_finite();
        }
        let order = if self.magnitude { magnitudes.then(values) } else { values };
        order == if self.maximum { Ordering::Less } else { Ordering::Greater }
    }

    /// The chosen operand.
    ///
    /// # Panics
    /// If an operand is a root.
    pub fn choose<'a>(self, x: &'a Exact, y: &'a Exact) -> &'a Exact {
        if x.is_nan() || y.is_nan() {
            let any = Ordering::Equal;
            return if self.takes_second(x, y, any, any) { y } else { x };
        }
        let magnitudes = compare(&absolute(x), &absolute(y)).expect("no NaN");
        if self.takes_second(x, y, signed_order(x, y), magnitudes) { y } else { x }
    }
}

/// The magnitude, also of NaN.
#[must_use]
pub fn absolute(x: &Exact) -> Exact {
    with_sign(x, false)
}

/// The magnitude with a sign, also of NaN.
#[must_use]
pub fn with_sign(x: &Exact, negative: bool) -> Exact {
    match x {
        Exact::Nan { .. } => Exact::Nan { negative },
        Exact::Inf { .. } => Exact::Inf { negative },
        Exact::Finite { magnitude, .. } => Exact::Finite { negative, magnitude: magnitude.clone() },
    }
}

/// x with y's sign. P3109: NaN if either is, and zero counts as positive.
#[must_use]
pub fn copy_sign(x: &Exact, y: &Exact, semantics: Semantics) -> Exact {
    match semantics {
        Semantics::P3109 if x.is_nan() || y.is_nan() => Exact::NAN,
        Semantics::P3109 => with_sign(x, y.is_negative() && !y.is_zero()),
        Semantics::Ieee => with_sign(x, y.is_negative()),
    }
}

/// The order of the extended reals, −0 equal to 0; none with NaN.
///
/// # Panics
/// If an operand is a root.
pub fn compare(x: &Exact, y: &Exact) -> Option<Ordering> {
    // −∞, numbers, +∞.
    let rank = |v: &Exact| match v {
        Exact::Inf { negative: true } => 0,
        Exact::Inf { negative: false } => 2,
        _ => 1,
    };
    if x.is_nan() || y.is_nan() {
        return None;
    }
    Some(rank(x).cmp(&rank(y)).then_with(|| match (rank(x), rank(y)) {
        (1, 1) => number(x).cmp(&number(y)),
        _ => Ordering::Equal,
    }))
}

/// The order with −0 below +0.
///
/// # Panics
/// If an operand is NaN or a root.
pub fn signed_order(x: &Exact, y: &Exact) -> Ordering {
    compare(x, y).expect("no NaN").then_with(|| y.is_negative().cmp(&x.is_negative()))
}

/// min(max(x, lo), hi); NaN with any NaN, or if lo is above hi.
///
/// # Panics
/// If an operand is a root.
#[must_use]
pub fn clamp(x: &Exact, lo: &Exact, hi: &Exact) -> Exact {
    if x.is_nan() || lo.is_nan() || hi.is_nan() || compare(lo, hi) == Some(Ordering::Greater) {
        return Exact::NAN;
    }
    let above = if signed_order(x, lo) == Ordering::Less { lo } else { x };
    if signed_order(above, hi) == Ordering::Greater { hi.clone() } else { above.clone() }
}

fn number(x: &Exact) -> Rational {
    match x {
        Exact::Finite { negative: true, magnitude: Real::Rational(m) } => -m,
        Exact::Finite { negative: false, magnitude: Real::Rational(m) } => m.clone(),
        _ => panic!("not a rational number"),
    }
}
