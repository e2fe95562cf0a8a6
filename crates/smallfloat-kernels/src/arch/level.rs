//! [`Level`]: which instructions the kernels use.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use smallfloat::Snippet;

use crate::arch::{Kernels, Machine};
use crate::error::Error;

/// A set of instructions. Results are the same at every level, bit for bit; only the speed differs.
///
/// The level is found once; the environment variable `SMALLFLOAT_LEVEL` (`portable`, `neon`, `avx2`
/// or `avx512`) names another one. Encoders and decoders keep the level they were built with, so a
/// call dispatches once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Level {
    /// Rust without intrinsics: tables over rounding classes, and the core. The reference for all
    /// others.
    Portable,
    /// AArch64 with NEON, which all of them have; with AES's instructions if they are there.
    Neon,
    /// x86-64 with AVX2, F16C, POPCNT and AES-NI.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL, VBMI and VNNI, VAES, FMA, and all of AVX2's level: Intel
    /// from Ice Lake on, AMD from Zen 4 on.
    Avx512,
}

impl Level {
    /// All levels, from low to high.
    pub const ALL: &'static [Self] = &[Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The environment variable that names a level.
    pub const VARIABLE: &'static str = "SMALLFLOAT_LEVEL";

    /// Returns the level's name: `portable`, `neon`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Runs a loop of plain Rust compiled for the level's instructions, as far as all of it is
    /// `#[inline(always)]`: compilers make wider vectors of it. Results do not depend on it.
    #[inline(always)]
    pub fn vectorize<R>(self, run: impl FnOnce() -> R) -> R {
        match Machine::new(self) {
            Some(machine) => machine.vectorize(run),
            None => run(),
        }
    }

    /// Returns whether this machine can run the level.
    pub fn is_available(self) -> bool {
        self == Self::Portable || Machine::supports(self)
    }

    /// Returns the levels this machine can run, from low to high.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|level| level.is_available())
    }

    /// The lowest level with kernels that this machine can run.
    #[cfg(test)]
    pub(crate) fn with_kernels() -> Option<Self> {
        Self::available().find(|&level| level != Self::Portable)
    }

    /// This level, or the highest the machine can run below it.
    pub(crate) fn at_most_available(self) -> Self {
        Self::available().filter(|&level| level <= self).max().unwrap_or(Self::Portable)
    }

    /// Returns the level used unless another is asked for: the highest available one, or the one
    /// that the environment names.
    ///
    /// A name that is unknown or that the machine can't run gives the portable level, which any
    /// machine can.
    pub fn detected() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| match std::env::var(Self::VARIABLE) {
            Ok(name) => {
                name.parse().ok().filter(|level: &Self| level.is_available()).unwrap_or(Self::Portable)
            }
            Err(_) => Self::Avx512.at_most_available(),
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By name, case ignored.
impl FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = |level: &Self| level.name().eq_ignore_ascii_case(text);
        Self::ALL.iter().copied().find(named).ok_or_else(|| Error::Level { name: Snippet::new(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn names_come_back() {
        for &level in Level::ALL {
            assert_eq!(level.name().parse::<Level>().ok(), Some(level));
        }
        assert_eq!("Neon".parse::<Level>().ok(), Some(Level::Neon));
        assert_eq!("AVX2".parse::<Level>().ok(), Some(Level::Avx2));
        assert_eq!("Avx512".parse::<Level>().ok(), Some(Level::Avx512));
        let unknown = "avx9".parse::<Level>().map_err(|error| error.to_string());
        assert_eq!(unknown, Err("unknown level `avx9`: write portable, neon, avx2 or avx512".to_owned()));
    }

    #[test]
    fn levels_that_are_not_there_are_lower_ones() {
        for level in Level::available() {
            assert_eq!(level.at_most_available(), level);
        }
        assert_eq!(Level::Avx512.at_most_available(), Level::available().max().expect("the portable level"));
    }

    #[test]
    fn portable_is_everywhere() {
        assert!(Level::available().any(|level| level == Level::Portable));
        assert!(Level::detected().is_available());
    }
}
