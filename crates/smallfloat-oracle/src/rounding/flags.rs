//! The six flags of a conversion or an operation.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of flags. The bit positions are this crate's own; compare through [`Flags::contains`] or
/// letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// I: a NaN operand, or no defined result.
    pub const INVALID: Self = Self(1);
    /// D: an operand that is subnormal in its format.
    pub const DENORMAL: Self = Self(2);
    /// O: beyond the range of the result format.
    pub const OVERFLOW: Self = Self(4);
    /// U: exact result non-zero and below the smallest normal number, and not representable.
    pub const UNDERFLOW: Self = Self(8);
    /// X: the result differs from the exact one.
    pub const INEXACT: Self = Self(16);
    /// Z: a finite non-zero number divided by zero.
    pub const DIVIDE_BY_ZERO: Self = Self(32);

    const LETTERS: [(char, Self); 6] = [
        ('I', Self::INVALID),
        ('D', Self::DENORMAL),
        ('O', Self::OVERFLOW),
        ('U', Self::UNDERFLOW),
        ('X', Self::INEXACT),
        ('Z', Self::DIVIDE_BY_ZERO),
    ];

    /// Whether every flag of `other` is in this set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set less the flags of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Only the four flags of Tesla's paper: I, D, O, U.
    #[must_use]
    pub fn tesla(self) -> Self {
        self.without(Self::INEXACT | Self::DIVIDE_BY_ZERO)
    }

    /// The set written as letters (`"DU"`); `"-"` and the empty string are the empty set.
    ///
    /// # Panics
    /// On a letter that names no flag.
    pub fn from_letters(letters: &str) -> Self {
        let mut flags = Self::NONE;
        for letter in letters.chars().filter(|&c| c != '-') {
            let found = Self::LETTERS.iter().find(|(name, _)| *name == letter);
            flags |= found.expect("one of the letters IDOUXZ").1;
        }
        flags
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The letters of the set in the order IDOUXZ, or `-`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("-");
        }
        for (letter, flag) in Self::LETTERS {
            if self.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}
