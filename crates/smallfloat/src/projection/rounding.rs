//! The nine rounding modes of the P3109 draft (section "Rounding"), on grids that need not be even.

use crate::format::error::{Error, ErrorKind};

/// The rounding of a value between two neighbours of a format.
///
/// With `lo` and `hi` the neighbouring magnitudes and ν = (|x| − lo) / (hi − lo), a mode decides
/// whether the result moves away from zero to `hi`. "Even" is the parity of `lo`'s code. Stochastic
/// modes work on the magnitude, so they are symmetric in sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Rounding {
    /// To the nearest; a tie goes to the neighbour with the even code.
    NearestEven,
    /// To the nearest; a tie goes away from zero.
    NearestAway,
    /// Toward +∞.
    TowardPositive,
    /// Toward −∞.
    TowardNegative,
    /// Toward zero.
    TowardZero,
    /// An inexact result takes the neighbour with the odd code.
    ToOdd,
    /// Away iff ⌊ν·2^N⌋ + R ≥ 2^N.
    StochasticA(RandomBits),
    /// Away iff ⌊ν·2^(N+1)⌋ + (2R + 1) ≥ 2^(N+1).
    StochasticB(RandomBits),
    /// Away iff RNITE(ν·2^N) + R ≥ 2^N, where RNITE rounds to the nearest integer, ties to even.
    StochasticC(RandomBits),
}

/// The N random bits of a stochastic rounding: a count and a word R with 0 ≤ R < 2^N.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RandomBits {
    count: u8,
    word: u64,
}

impl RandomBits {
    /// The largest number of random bits.
    pub const MAX_COUNT: u32 = 60;

    /// Returns `count` random bits, 1..=60, with the value `word`, below 2^count.
    ///
    /// # Errors
    /// A count or a word outside its range.
    pub const fn new(count: u32, word: u64) -> Result<Self, Error> {
        if count < 1 || count > Self::MAX_COUNT {
            return Err(Error::range("random bits", count as i64, 1, Self::MAX_COUNT as i64));
        }
        if word >> count != 0 {
            return Err(Error::new(ErrorKind::RandomWord { word, count }));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 60")]
        Ok(Self { count: count as u8, word })
    }

    /// Returns `count` random bits taken from the top of a 32-bit word of a generator, 1..=32.
    ///
    /// # Errors
    /// A count outside its range.
    pub const fn from_word32(count: u32, word: u32) -> Result<Self, Error> {
        if count < 1 || count > 32 {
            return Err(Error::range("random bits of a 32-bit word", count as i64, 1, 32));
        }
        Self::new(count, (word >> (32 - count)) as u64)
    }

    /// Returns the number of bits, N.
    pub const fn count(self) -> u32 {
        self.count as u32
    }

    /// Returns the word, R.
    pub const fn word(self) -> u64 {
        self.word
    }
}

/// A position between two neighbours: ν = (fraction + δ) / (steps · 2^(N+1)), where 0 ≤ δ < 1 and δ
/// > 0 iff `sticky`.
///
/// `steps` is hi − lo in units of the local step: 1 everywhere but in the hole of Tesla's
/// denormals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) fraction: u128,
    pub(crate) sticky: bool,
    pub(crate) steps: u128,
    pub(crate) lo_is_even: bool,
}

impl Position {
    pub(crate) const fn is_exact(&self) -> bool {
        self.fraction == 0 && !self.sticky
    }

    /// ν > ½, for deterministic modes (N = 0).
    pub(crate) const fn is_above_half(&self) -> bool {
        self.fraction > self.steps || (self.fraction == self.steps && self.sticky)
    }

    /// ν = ½, for deterministic modes (N = 0).
    pub(crate) const fn is_half(&self) -> bool {
        self.fraction == self.steps && !self.sticky
    }

    /// Quotient and remainder of the fraction by `factor` intervals. Only the hole needs a
    /// division.
    const fn divided(&self, factor: u128) -> (u128, u128) {
        match self.steps * factor {
            1 => (self.fraction, 0),
            2 => (self.fraction >> 1, self.fraction & 1),
            divisor => (self.fraction / divisor, self.fraction % divisor),
        }
    }
}

impl Rounding {
    /// The modes that need no random bits.
    pub const DETERMINISTIC: &'static [Self] = &[
        Self::NearestEven,
        Self::NearestAway,
        Self::TowardPositive,
        Self::TowardNegative,
        Self::TowardZero,
        Self::ToOdd,
    ];

    /// Returns StochasticA with N = `count` random bits, 1..=60, for those who get their words
    /// elsewhere: encoders from a generator, vectors from a column. Its own word is 0.
    ///
    /// ```
    /// use smallfloat::{RandomBits, Rounding};
    /// let mode = Rounding::stochastic_a(16)?;
    /// assert_eq!(mode, Rounding::StochasticA(RandomBits::new(16, 0)?));
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    ///
    /// # Errors
    /// A count outside its range.
    pub const fn stochastic_a(count: u32) -> Result<Self, Error> {
        match RandomBits::new(count, 0) {
            Ok(bits) => Ok(Self::StochasticA(bits)),
            Err(error) => Err(error),
        }
    }

    /// Returns StochasticB, as [`stochastic_a`](Self::stochastic_a).
    ///
    /// # Errors
    /// A count outside its range.
    pub const fn stochastic_b(count: u32) -> Result<Self, Error> {
        match RandomBits::new(count, 0) {
            Ok(bits) => Ok(Self::StochasticB(bits)),
            Err(error) => Err(error),
        }
    }

    /// Returns StochasticC, as [`stochastic_a`](Self::stochastic_a).
    ///
    /// # Errors
    /// A count outside its range.
    pub const fn stochastic_c(count: u32) -> Result<Self, Error> {
        match RandomBits::new(count, 0) {
            Ok(bits) => Ok(Self::StochasticC(bits)),
            Err(error) => Err(error),
        }
    }

    /// Returns whether this is one of the three stochastic modes.
    pub const fn is_stochastic(self) -> bool {
        self.random_bits().is_some()
    }

    /// Returns the random bits of a stochastic mode.
    pub const fn random_bits(self) -> Option<RandomBits> {
        match self {
            Self::StochasticA(r) | Self::StochasticB(r) | Self::StochasticC(r) => Some(r),
            _ => None,
        }
    }

    /// Returns the mode with other random bits; a deterministic mode stays as it is.
    #[must_use]
    pub const fn with_random_bits(self, bits: RandomBits) -> Self {
        match self {
            Self::StochasticA(_) => Self::StochasticA(bits),
            Self::StochasticB(_) => Self::StochasticB(bits),
            Self::StochasticC(_) => Self::StochasticC(bits),
            other => other,
        }
    }

    /// Returns the mode's name on the command line: `nearest-even`, `stochastic-a`, …
    pub const fn name(self) -> &'static str {
        match self {
            Self::NearestEven => "nearest-even",
            Self::NearestAway => "nearest-away",
            Self::TowardPositive => "toward-positive",
            Self::TowardNegative => "toward-negative",
            Self::TowardZero => "toward-zero",
            Self::ToOdd => "to-odd",
            Self::StochasticA(_) => "stochastic-a",
            Self::StochasticB(_) => "stochastic-b",
            Self::StochasticC(_) => "stochastic-c",
        }
    }

    /// N for [`Position`]: how many bits below the rounding point a decision may look at, less one.
    pub(crate) const fn bits_needed(self) -> u32 {
        match self.random_bits() {
            Some(r) => r.count(),
            None => 0,
        }
    }

    /// Never away for values of this sign? Then an overflow stops at the largest finite value.
    pub(crate) const fn stops_at_largest(self, negative: bool) -> bool {
        match self {
            Self::TowardZero => true,
            Self::TowardNegative => !negative,
            Self::TowardPositive => negative,
            _ => false,
        }
    }

    /// Returns whether a value at this position moves away from zero.
    pub(crate) const fn moves_away(self, at: &Position, negative: bool) -> bool {
        if at.is_exact() {
            return false;
        }
        // `fraction` counts in 2^-(N+1) of a step; a whole interval is `steps << (N+1)`.
        match self {
            Self::NearestEven => at.is_above_half() || (at.is_half() && !at.lo_is_even),
            Self::NearestAway => at.is_above_half() || at.is_half(),
            Self::TowardPositive => !negative,
            Self::TowardNegative => negative,
            Self::TowardZero => false,
            Self::ToOdd => at.lo_is_even,
            Self::StochasticA(r) => {
                let t = at.divided(2).0;
                t + r.word as u128 >= 1 << r.count
            }
            Self::StochasticB(r) => {
                let t = at.divided(1).0;
                t + (2 * r.word as u128 + 1) >= 2 << r.count
            }
            Self::StochasticC(r) => {
                let (t, rest) = at.divided(2);
                let up = rest > at.steps || (rest == at.steps && (at.sticky || t % 2 == 1));
                t + up as u128 + r.word as u128 >= 1 << r.count
            }
        }
    }
}

/// The name; a stochastic mode's without its random bits.
impl core::fmt::Display for Rounding {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}
