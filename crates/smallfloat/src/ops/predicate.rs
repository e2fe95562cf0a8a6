//! Classification of codes.

use crate::format::Format;
use crate::format::datum::{Class, Datum};
use crate::ops::Semantics;

/// The eight predicates of IEEE 754 (section 5.7.2) and the P3109 draft.
///
/// | | NaN | ±∞ | 0 | finite |
/// | --- | --- | --- | --- | --- |
/// | `IsZero` | no | no | yes | no |
/// | `IsOne` | no | no | no | = 1 |
/// | `IsNaN` | yes | no | no | no |
/// | `IsInfinite` | no | yes | no | no |
/// | `IsFinite` | no | no | yes | yes |
/// | `IsSignMinus` | p3109: no; ieee: the sign bit | −∞ | p3109: no; ieee: the sign bit | < 0 |
/// | `IsNormal` | no | no | no | from the smallest normal magnitude on |
/// | `IsSubnormal` | no | no | no | below the smallest normal magnitude |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the standards' own")]
pub enum Predicate {
    IsZero,
    IsOne,
    IsNaN,
    IsInfinite,
    IsFinite,
    IsSignMinus,
    IsNormal,
    IsSubnormal,
}

impl Predicate {
    /// All predicates with their names.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("IsZero", Self::IsZero),
        ("IsOne", Self::IsOne),
        ("IsNaN", Self::IsNaN),
        ("IsInfinite", Self::IsInfinite),
        ("IsFinite", Self::IsFinite),
        ("IsSignMinus", Self::IsSignMinus),
        ("IsNormal", Self::IsNormal),
        ("IsSubnormal", Self::IsSubnormal),
    ];

    /// Returns whether the predicate holds for a code. `IsSignMinus` is the sign bit in ieee
    /// semantics, and "below zero" in p3109 semantics.
    pub const fn holds(self, format: &Format, code: u64, semantics: Semantics) -> bool {
        let datum = format.decode(code);
        let class = format.classify(code);
        match self {
            Self::IsZero => matches!(class, Class::Zero) || datum.is_zero(),
            Self::IsOne => {
                matches!(datum, Datum::Finite { negative: false, significand: 1, exponent: 0 })
            }
            Self::IsNaN => datum.is_nan(),
            Self::IsInfinite => matches!(class, Class::Infinite),
            Self::IsFinite => datum.is_finite(),
            Self::IsSignMinus => match semantics {
                Semantics::Ieee => datum.is_negative(),
                Semantics::P3109 => datum.is_negative() && !datum.is_nan() && !datum.is_zero(),
            },
            Self::IsNormal => matches!(class, Class::Normal),
            Self::IsSubnormal => matches!(class, Class::Subnormal),
        }
    }
}

/// Returns the P3109 draft's name of a code's class: `ClsNegativeNormal`, `ClsZero`, …
pub const fn class_name(format: &Format, code: u64) -> &'static str {
    let negative = format.decode(code).is_negative();
    match (format.classify(code), negative) {
        (Class::Nan, _) => "ClsNaN",
        (Class::Infinite, true) => "ClsNegativeInfinity",
        (Class::Infinite, false) => "ClsPositiveInfinity",
        (Class::Zero, _) => "ClsZero",
        (Class::Subnormal, true) => "ClsNegativeSubnormal",
        (Class::Subnormal, false) => "ClsPositiveSubnormal",
        (Class::Normal, true) => "ClsNegativeNormal",
        (Class::Normal, false) => "ClsPositiveNormal",
    }
}
