//! Rounding and saturation modes in the P3109 draft's words.
//!
//! The draft writes stochastic modes as StochasticA with indices N and R and leaves their spelling
//! in strings open. Here the mode names N alone, `StochasticA<8>`, and R comes with each call.
//! `SatNone-V40` is version 4.0's SatNone.

use core::fmt;

use crate::format::error::{Error, ErrorKind, Snippet};
use crate::projection::Saturation;
use crate::projection::rounding::{RandomBits, Rounding};

const FIXED: [(&str, Rounding); 6] = [
    ("NearestTiesToEven", Rounding::NearestEven),
    ("NearestTiesToAway", Rounding::NearestAway),
    ("TowardPositive", Rounding::TowardPositive),
    ("TowardNegative", Rounding::TowardNegative),
    ("TowardZero", Rounding::TowardZero),
    ("ToOdd", Rounding::ToOdd),
];

type Stochastic = (&'static str, fn(RandomBits) -> Rounding);

const STOCHASTIC: [Stochastic; 3] = [
    ("StochasticA", Rounding::StochasticA),
    ("StochasticB", Rounding::StochasticB),
    ("StochasticC", Rounding::StochasticC),
];

/// A rounding mode, case ignored; a stochastic one with its number of bits and the word 0. `None`
/// if it is no such name.
pub(super) fn rounding(word: &str) -> Result<Option<Rounding>, Error> {
    if let Some((_, mode)) = FIXED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Ok(Some(*mode));
    }
    let Some((name, count)) = word.strip_suffix('>').and_then(|w| w.split_once('<')) else {
        return Ok(None);
    };
    let Some((_, mode)) = STOCHASTIC.iter().find(|row| row.0.eq_ignore_ascii_case(name.trim())) else {
        return Ok(None);
    };
    let count = count.trim().parse().map_err(|_| {
        let expected = "the number of random bits, 1..=60";
        Error::new(ErrorKind::Specialization { part: Snippet::new(count), expected })
    })?;
    RandomBits::new(count, 0).map(|bits| Some(mode(bits)))
}

/// Prints a rounding mode.
pub(super) struct Round(pub(super) Rounding);

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0.random_bits() {
            None => FIXED.iter().find(|row| row.1 == self.0).map_or("", |row| row.0),
            Some(bits) => STOCHASTIC.iter().find(|row| row.1(bits) == self.0).map_or("", |row| row.0),
        };
        match self.0.random_bits() {
            None => f.write_str(name),
            Some(bits) => write!(f, "{name}<{}>", bits.count()),
        }
    }
}

pub(super) const fn saturation(mode: Saturation) -> &'static str {
    match mode {
        Saturation::SatFinite => "SatFinite",
        Saturation::SatPropagate => "SatPropagate",
        Saturation::SatNone => "SatNone",
        Saturation::SatNoneV40 => "SatNone-V40",
    }
}
