//! Names of the rules for what a format does not have.

use crate::format::named::by_name;
use crate::projection::{MissingNan, MissingZero, NanRule, NegativeRule, NegativeZero};

impl NanRule {
    /// All rules.
    pub const ALL: &'static [Self] = &[Self::Quiet, Self::QuietSigned, Self::AllOnes];

    /// Returns the name in a projection's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::QuietSigned => "quiet-signed",
            Self::AllOnes => "all-ones",
        }
    }
}

by_name!(NanRule, Self::ALL.iter().copied(), "nan", "quiet, quiet-signed or all-ones");

impl MissingNan {
    /// All rules.
    pub const ALL: &'static [Self] = &[Self::Max, Self::SignMax, Self::Zero, Self::OppositeZero];

    /// Returns the name in a projection's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::SignMax => "sign-max",
            Self::Zero => "zero",
            Self::OppositeZero => "opposite-zero",
        }
    }
}

by_name!(MissingNan, Self::ALL.iter().copied(), "missing-nan", "max, sign-max, zero or opposite-zero");

impl NegativeRule {
    /// All rules.
    pub const ALL: &'static [Self] = &[Self::BySaturation, Self::Nan, Self::Zero, Self::Magnitude];

    /// Returns the name in a projection's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BySaturation => "by-saturation",
            Self::Nan => "nan",
            Self::Zero => "zero",
            Self::Magnitude => "magnitude",
        }
    }
}

by_name!(NegativeRule, Self::ALL.iter().copied(), "negative", "by-saturation, nan, zero or magnitude");

impl MissingZero {
    /// All rules.
    pub const ALL: &'static [Self] = &[Self::Nan, Self::Min];

    /// Returns the name in a projection's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nan => "nan",
            Self::Min => "min",
        }
    }
}

by_name!(MissingZero, Self::ALL.iter().copied(), "missing-zero", "nan or min");

impl NegativeZero {
    /// All rules.
    pub const ALL: &'static [Self] = &[Self::Keep, Self::Positive];

    /// Returns the name in a projection's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Positive => "positive",
        }
    }
}

by_name!(NegativeZero, Self::ALL.iter().copied(), "negative-zero", "keep or positive");
