//! Projections, rounding modes with their random bits, and flags as text.

use core::fmt;
use core::str::FromStr;

use crate::format::error::{Error, ErrorKind, Snippet};
use crate::format::name::bad_value;
use crate::projection::flags::Flags;
use crate::projection::rounding::{RandomBits, Rounding};
use crate::projection::{Projection, Unrepresentable};

/// A rounding mode with all of its data: the name, and for stochastic modes the number of random
/// bits and, unless it is 0, the word: `stochastic-a:16`, `stochastic-a:16:37`.
pub(crate) struct RoundingText(pub(crate) Rounding);

impl fmt::Display for RoundingText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())?;
        match self.0.random_bits() {
            Some(bits) if bits.word() == 0 => write!(f, ":{}", bits.count()),
            Some(bits) => write!(f, ":{}:{}", bits.count(), bits.word()),
            None => Ok(()),
        }
    }
}

/// What [`Rounding`]'s parser takes.
const MODES: &str = "nearest-even, nearest-away, toward-positive, toward-negative, toward-zero, to-odd, or \
                     stochastic-a, stochastic-b or stochastic-c with its number of random bits, as \
                     stochastic-a:16";

/// By name; stochastic modes with the number of their random bits and perhaps the word:
/// `stochastic-a:16`, `stochastic-a:16:37`. Case and surrounding white space are ignored.
impl FromStr for Rounding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let not_understood = || bad_value("rounding", text, MODES);
        let mut parts = text.trim().split(':');
        let name = parts.next().unwrap_or_default();
        let numbers = [parts.next(), parts.next()];
        if parts.next().is_some() {
            return Err(not_understood());
        }
        let is = |mode: &Self| mode.name().eq_ignore_ascii_case(name);
        let [Some(count), word] = numbers else {
            return Self::DETERMINISTIC.iter().copied().find(is).ok_or_else(not_understood);
        };
        let count = count.parse().map_err(|_| not_understood())?;
        let word = word.map_or(Ok(0), str::parse).map_err(|_| not_understood())?;
        let bits = RandomBits::new(count, word)?;
        let modes = [Self::StochasticA(bits), Self::StochasticB(bits), Self::StochasticC(bits)];
        modes.into_iter().find(is).ok_or_else(not_understood)
    }
}

/// The rounding mode, the saturation mode, and each rule with its key.
impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unrepresentable { nan, missing_nan, negative, missing_zero, negative_zero } =
            self.unrepresentable;
        let (rounding, saturation) = (RoundingText(self.rounding), self.saturation);
        write!(f, "{rounding},{saturation},nan={nan},missing-nan={missing_nan},negative={negative},")?;
        write!(f, "missing-zero={missing_zero},negative-zero={negative_zero}")
    }
}

/// What `Display` writes: the rounding and the saturation mode first, then all rules in any order.
impl FromStr for Projection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const KEYS: &str = "nan, missing-nan, negative, missing-zero and negative-zero";
        let mut parts = text.split(',').map(str::trim);
        let rounding = parts.next().unwrap_or_default().parse()?;
        let saturation = parts.next().unwrap_or_default().parse()?;
        let (mut nan, mut missing_nan, mut negative, mut missing_zero, mut negative_zero) =
            (None, None, None, None, None);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.trim() {
                "nan" => once(&mut nan, key, value)?,
                "missing-nan" => once(&mut missing_nan, key, value)?,
                "negative" => once(&mut negative, key, value)?,
                "missing-zero" => once(&mut missing_zero, key, value)?,
                "negative-zero" => once(&mut negative_zero, key, value)?,
                key => return Err(Error::new(ErrorKind::UnknownKey { key: Snippet::new(key), keys: KEYS })),
            }
        }
        let missing = |key, example| Error::new(ErrorKind::MissingKey { key, example });
        let unrepresentable = Unrepresentable {
            nan: nan.ok_or_else(|| missing("nan", "nan=quiet"))?,
            missing_nan: missing_nan.ok_or_else(|| missing("missing-nan", "missing-nan=max"))?,
            negative: negative.ok_or_else(|| missing("negative", "negative=nan"))?,
            missing_zero: missing_zero.ok_or_else(|| missing("missing-zero", "missing-zero=min"))?,
            negative_zero: negative_zero.ok_or_else(|| missing("negative-zero", "negative-zero=keep"))?,
        };
        Ok(Self { rounding, saturation, unrepresentable })
    }
}

/// Reads the value of a key that has none yet.
fn once<T: FromStr<Err = Error>>(rule: &mut Option<T>, key: &str, value: &str) -> Result<(), Error> {
    if rule.is_some() {
        return Err(bad_value(key, value, "each key once"));
    }
    *rule = Some(value.parse()?);
    Ok(())
}

/// The letters `I D O U X Z` in any order, as `Display` writes them; `-` for no flag.
impl FromStr for Flags {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let not_understood = || bad_value("flags", text, "letters of I, D, O, U, X and Z, or -");
        let letters = text.trim();
        if letters.is_empty() {
            return Err(not_understood());
        }
        if letters == "-" {
            return Ok(Self::NONE);
        }
        letters.chars().try_fold(Self::NONE, |flags, letter| {
            let row = Self::LETTERS.iter().find(|(_, known)| known.eq_ignore_ascii_case(&letter));
            row.map(|(flag, _)| flags.union(*flag)).ok_or_else(not_understood)
        })
    }
}
