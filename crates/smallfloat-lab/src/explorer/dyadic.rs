//! [`Dyadic`]: differences and ratios of exact values, which neither a code nor an `f64` can always
//! hold.

use dashu_base::{Abs as _, BitTest as _, Sign};
use dashu_int::{IBig, UBig};
use smallfloat::formats::BINARY64;
use smallfloat::text::Decimal;
use smallfloat::{Datum, Exact, project};

use crate::describe;

/// integer · 2^exponent, exactly.
#[derive(Clone, Debug)]
pub(super) struct Dyadic {
    integer: IBig,
    exponent: i64,
}

/// Values whose last places lie farther apart are not subtracted: no format reaches as far.
const FARTHEST: u64 = 1 << 18;

/// Longer integers are not spelt out.
const MOST_BITS: usize = 128;

impl Dyadic {
    /// A finite value; of one that was cut off, what is left.
    pub(super) fn of(exact: Exact) -> Option<Self> {
        let (negative, significand, exponent) = match exact {
            Exact::Finite { negative, significand, exponent, .. } => (negative, significand, exponent),
            Exact::Cancelled => (false, 0, 0),
            Exact::Nan { .. } | Exact::Infinite { .. } => return None,
        };
        let integer = IBig::from_parts(Sign::from(negative), UBig::from(significand));
        Some(Self { integer, exponent: exponent.into() }.canonical())
    }

    /// A finite datum.
    pub(super) fn of_datum(datum: Datum) -> Option<Self> {
        Self::of(datum.into())
    }

    fn canonical(self) -> Self {
        match self.integer.trailing_zeros() {
            None => Self { integer: IBig::ZERO, exponent: 0 },
            Some(zeros) => Self {
                integer: self.integer >> zeros,
                exponent: self.exponent.saturating_add_unsigned(zeros as u64),
            },
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.integer.is_zero()
    }

    /// self − other; nothing where they lie too far apart.
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return Some(self.clone());
        }
        if self.is_zero() {
            return Some(Self { integer: -&other.integer, exponent: other.exponent });
        }
        let exponent = self.exponent.min(other.exponent);
        let distance = self.exponent.abs_diff(other.exponent);
        if distance > FARTHEST {
            return None;
        }
        let at = |x: &Self| {
            &x.integer << usize::try_from(x.exponent.abs_diff(exponent)).expect("at most FARTHEST")
        };
        Some(Self { integer: at(self) - at(other), exponent }.canonical())
    }

    pub(super) fn magnitude(&self) -> Self {
        Self { integer: self.integer.clone().abs(), exponent: self.exponent }
    }

    /// n where the value is 2^n.
    pub(super) fn power_of_two(&self) -> Option<i64> {
        (self.integer.clone().abs() == IBig::ONE).then_some(self.exponent)
    }

    /// self / other as a picture needs it, and none for a divisor of zero or an overflow.
    pub(super) fn ratio(&self, other: &Self) -> Option<f64> {
        let quotient = self.leading().0 / other.leading().0;
        let power = self.leading().1.saturating_sub(other.leading().1);
        let ratio = quotient * 2.0_f64.powi(i32::try_from(power).ok()?);
        ratio.is_finite().then_some(ratio)
    }

    /// The first 64 bits, and the power of two that they count in.
    #[expect(clippy::cast_precision_loss, reason = "a picture needs less")]
    fn leading(&self) -> (f64, i64) {
        let (sign, magnitude) = self.integer.clone().into_parts();
        let cut = magnitude.bit_len().saturating_sub(64);
        let top = u64::try_from(magnitude >> cut).expect("64 bits are left") as f64;
        let signed = if sign == Sign::Negative { -top } else { top };
        (signed, self.exponent.saturating_add_unsigned(cut as u64))
    }

    /// `9p-3` for 9/8, the form that [`Datum`] has; nothing for integers too long to read.
    pub(super) fn exact(&self) -> Option<String> {
        if self.is_zero() {
            return Some("0".into());
        }
        (self.integer.bit_len() <= MOST_BITS).then(|| format!("{}p{}", self.integer, self.exponent))
    }

    /// The value in decimal, as [`decimal`] has it.
    pub(super) fn decimal(&self) -> String {
        let (sign, magnitude) = self.integer.clone().into_parts();
        let cut = magnitude.bit_len().saturating_sub(127);
        let top = &magnitude >> cut;
        let sticky = (&top << cut) != magnitude;
        let exact = Exact::Finite {
            negative: sign == Sign::Negative,
            significand: u128::try_from(top).expect("127 bits are left"),
            exponent: i32::try_from(self.exponent.saturating_add_unsigned(cut as u64))
                .expect("far below 2^31"),
            sticky,
        };
        decimal(exact)
    }
}

/// An exact value as [`Decimal`](smallfloat::text::Decimal) prints it, `≈` in front of what is
/// rounded.
pub(super) fn decimal(exact: Exact) -> String {
    let datum = describe::canonical(exact);
    let x = match datum.map(|datum| (datum, datum.to_f64())) {
        Some((datum, Some(x))) => match describe::exact_decimal(datum) {
            Some(text) => return text,
            None if datum.is_finite() => x,
            None => return Decimal::from(datum).to_string(),
        },
        _ => f64::from_bits(project(exact, &BINARY64, &BINARY64.default_projection()).value),
    };
    if let (Exact::Finite { negative, significand, exponent, .. }, true) =
        (exact, x.is_infinite() || x == 0.0)
    {
        let leading = i64::from(exponent) + i64::from(significand.ilog2());
        let sign = if negative { "-" } else { "" };
        return datum.map_or_else(|| format!("≈{sign}2^{leading}"), |datum| datum.to_string());
    }
    format!("≈{}", describe::number(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::text;

    fn dyadic(text: &str) -> Dyadic {
        Dyadic::of(text::parse(text).expect("a number")).expect("finite")
    }

    #[test]
    fn differences_are_exact() {
        let difference = dyadic("1.125").minus(&dyadic("0x1.8p-40")).expect("near");
        assert_eq!(difference.exact().as_deref(), Some("2473901162493p-41"));
        assert_eq!(dyadic("3").minus(&dyadic("3")).expect("near").exact().as_deref(), Some("0"));
        assert!(dyadic("1p300000").minus(&dyadic("1")).is_none());
        assert_eq!(dyadic("0").minus(&dyadic("0.25")).expect("near").exact().as_deref(), Some("-1p-2"));
    }

    #[test]
    fn ratios_are_near() {
        assert_eq!(dyadic("1").ratio(&dyadic("-8")), Some(-0.125));
        assert_eq!(dyadic("1p40000").ratio(&dyadic("1p39999")), Some(2.0));
        assert_eq!(dyadic("1").ratio(&dyadic("0")), None);
        assert_eq!((dyadic("0.125").power_of_two(), dyadic("3").power_of_two()), (Some(-3), None));
    }

    #[test]
    fn decimals_say_when_they_are_not_exact() {
        assert_eq!(dyadic("1.125").decimal(), "1.125");
        assert_eq!(decimal(text::parse("0.1").expect("a number")), "≈0.1");
        assert_eq!(decimal(text::parse("-1p-20000").expect("a number")), "-1p-20000");
        assert_eq!(decimal(text::parse("1e-20000").expect("a number")), "≈2^-66439");
        assert_eq!(decimal(text::parse("1p-28").expect("a number")), "≈3.725290298461914e-9");
        assert_eq!(decimal(text::parse("-inf").expect("an infinity")), "-Inf");
        assert_eq!(decimal(text::parse("-0").expect("a number")), "-0");
        assert_eq!(dyadic("-1p70000").decimal(), "-1p70000");
    }
}
