//! Exception flags, as values.
//!
//! Tesla's standard names four (section "Exception Status Flags"): invalid, denormal, overflow,
//! underflow. Inexact and division by zero complete IEEE 754's five. When they are raised is a
//! matter of the caller's [`FlagPolicy`](crate::FlagPolicy) ([semantics](crate::semantics) S3).

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of exception flags, returned by every operation; nothing is kept in global state.
///
/// ```
/// use smallfloat::Flags;
/// let flags = Flags::OVERFLOW | Flags::INEXACT;
/// assert!(flags.contains(Flags::OVERFLOW));
/// assert_eq!(flags.tesla().to_string(), "O");
/// assert_eq!(Flags::NONE.to_string(), "-");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The result differs from the exact value.
    pub const INEXACT: Self = Self(1);
    /// A non-zero value below the smallest normal one, before or after rounding, whose result is
    /// inexact.
    pub const UNDERFLOW: Self = Self(1 << 1);
    /// A finite value beyond the range after rounding, or an infinity that the result could not
    /// keep.
    pub const OVERFLOW: Self = Self(1 << 2);
    /// An infinite result from finite operands (a pole).
    pub const DIVISION_BY_ZERO: Self = Self(1 << 3);
    /// No useful definable result, a signaling NaN operand, or by Tesla's rules any NaN operand.
    pub const INVALID: Self = Self(1 << 4);
    /// A subnormal operand.
    pub const DENORMAL: Self = Self(1 << 5);
    /// Every flag.
    pub const ALL: Self = Self(0x3f);
    /// A fact that a policy makes flags of: a signaling NaN operand. No result has it.
    pub(crate) const SIGNALING_OPERAND: Self = Self(1 << 6);
    /// A fact that a policy makes flags of: a NaN operand. No result has it.
    pub(crate) const NAN_OPERAND: Self = Self(1 << 7);

    /// The flags in the order of their letters, `I D O U X Z`.
    pub const LETTERS: &'static [(Self, char)] = &[
        (Self::INVALID, 'I'),
        (Self::DENORMAL, 'D'),
        (Self::OVERFLOW, 'O'),
        (Self::UNDERFLOW, 'U'),
        (Self::INEXACT, 'X'),
        (Self::DIVISION_BY_ZERO, 'Z'),
    ];

    /// Returns the set as six bits: inexact 1, underflow 2, overflow 4, division by zero 8, invalid
    /// 16, denormal 32.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the set of the given six bits; higher bits are ignored.
    pub const fn from_bits_truncate(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags that both sets have.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the flags that `other` does not have.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the view of Tesla's standard: invalid, denormal, overflow and underflow.
    #[must_use]
    pub const fn tesla(self) -> Self {
        Self(self.0 & (Self::INVALID.0 | Self::DENORMAL.0 | Self::OVERFLOW.0 | Self::UNDERFLOW.0))
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitAnd for Flags {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.intersection(other)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}

/// The letters of the flags that are set, in the order `I D O U X Z`, or `-`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        for &(flag, letter) in Self::LETTERS {
            if self.contains(flag) {
                fmt::Write::write_char(f, letter)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

/// A result together with the flags it raised.
#[must_use = "the flags say what rounding did; take `.value` to drop them"]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rounded<T> {
    /// The rounded result, a code of the destination format.
    pub value: T,
    /// What happened on the way.
    pub flags: Flags,
}

impl<T> Rounded<T> {
    /// Returns the flags with another form of the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Rounded<U> {
        Rounded { value: f(self.value), flags: self.flags }
    }
}
