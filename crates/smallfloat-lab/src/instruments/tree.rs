//! [`Order`] and [`Tree`]: in which order terms are taken and how they are added up.

use std::fmt;
use std::str::FromStr;

use smallfloat::Datum;

use crate::error::Error;
use crate::instruments::unit::{ArithmeticUnit, float};
use crate::named::by_name;

/// In which order the terms of a sum are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As they come.
    #[default]
    Forward,
    /// The last first.
    Reverse,
    /// By the magnitude of the products, the smallest first.
    Increasing,
    /// The largest first.
    Decreasing,
}

impl Order {
    /// All orders, by name.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("forward", Self::Forward),
        ("reverse", Self::Reverse),
        ("increasing", Self::Increasing),
        ("decreasing", Self::Decreasing),
    ];

    /// Puts pairs of factors in this order; equal magnitudes stay as they were.
    pub fn arrange(self, pairs: &mut [(Datum, Datum)]) {
        // Products of two small floats are exact in f64, or order as their roundings do.
        let magnitude = |&(x, y): &(Datum, Datum)| (float(x) * float(y)).abs();
        match self {
            Self::Forward => {}
            Self::Reverse => pairs.reverse(),
            Self::Increasing => pairs.sort_by(|a, b| magnitude(a).total_cmp(&magnitude(b))),
            Self::Decreasing => pairs.sort_by(|a, b| magnitude(b).total_cmp(&magnitude(a))),
        }
    }
}

by_name!(Order, "--order");

/// The order in which terms are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tree {
    /// Each product is added to the sum so far.
    Sequential,
    /// Products are added up so in runs of this many, then the runs' sums one after the other.
    Chunks(usize),
    /// Neighbours are added, then neighbouring sums, and so on.
    Pairwise,
}

impl Tree {
    /// Returns Σ xᵢ·yᵢ in a unit. Products enter exactly; every addition is rounded and can
    /// overflow.
    pub fn dot(self, unit: &ArithmeticUnit, pairs: &[(Datum, Datum)]) -> Datum {
        let run = |pairs: &[(Datum, Datum)]| {
            pairs.iter().fold(unit.round(Datum::ZERO), |sum, &(x, y)| unit.fma(x, y, sum))
        };
        match self {
            Self::Sequential => run(pairs),
            Self::Chunks(length) => {
                let sums = pairs.chunks(length.max(1)).map(run);
                sums.reduce(|x, y| unit.add(x, y)).unwrap_or(Datum::ZERO)
            }
            Self::Pairwise => {
                let mut level: Vec<Datum> = pairs.chunks(2).map(run).collect();
                while level.len() > 1 {
                    let sum = |pair: &[Datum]| match *pair {
                        [x, y] => unit.add(x, y),
                        _ => pair[0],
                    };
                    level = level.chunks(2).map(sum).collect();
                }
                level.first().copied().unwrap_or(Datum::ZERO)
            }
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.pad("sequential"),
            Self::Chunks(length) => f.pad(&format!("chunks:{length}")),
            Self::Pairwise => f.pad("pairwise"),
        }
    }
}

impl FromStr for Tree {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lower = text.to_ascii_lowercase();
        let length = lower.strip_prefix("chunks:").and_then(|n| n.parse().ok()).filter(|&n| n > 0);
        match (&*lower, length) {
            ("sequential", _) => Ok(Self::Sequential),
            ("pairwise", _) => Ok(Self::Pairwise),
            (_, Some(length)) => Ok(Self::Chunks(length)),
            _ => Err(Error::OptionRange {
                option: "--tree",
                given: format!("`{text}`"),
                expected: "sequential, pairwise, or chunks:N with N of at least 1".into(),
            }),
        }
    }
}
