//! Conversions to and from integers.
//!
//! Sources: IEEE 754-2019, section 5.8; the RISC-V manual, table "Domains of float-to-integer
//! conversions and behavior for invalid inputs"; Arm's `FPToFixed`; Intel's manual, "integer
//! indefinite".

use crate::cast::signed;
use crate::format::Format;
use crate::format::datum::Datum;
use crate::format::named::by_name;
use crate::projection::exact::Exact;
use crate::projection::flag_policy::{DenormalRule, FlagPolicy, NanResult};
use crate::projection::flags::{Flags, Rounded};
use crate::projection::rounding::{Position, Rounding};
use crate::projection::{Projection, project, shift_with_sticky};

/// A type of integers of 8, 16, 32 or 64 bits; those with a sign are in two's complement.
///
/// ```
/// use smallfloat::{FlagPolicy, Flags, Rounding, formats::E5M2, ops::Integer};
/// let int8: Integer = "int8".parse()?;
/// let r = int8.from_code(0x42, &E5M2, Rounding::TowardZero, FlagPolicy::RISCV); // 3
/// assert_eq!((r.value, r.flags), (3, Flags::NONE));
/// // 57344 is too large: invalid, and RISC-V gives the largest integer.
/// let r = int8.from_code(0x7b, &E5M2, Rounding::TowardZero, FlagPolicy::RISCV);
/// assert_eq!((r.value, r.flags), (127, Flags::INVALID));
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names say width and sign")]
pub enum Integer {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

impl Integer {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
    ];

    /// Returns the name: `int8`, `uint64`, …
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        }
    }

    /// Returns the width in bits: 8, 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Int8 | Self::Uint8 => 8,
            Self::Int16 | Self::Uint16 => 16,
            Self::Int32 | Self::Uint32 => 32,
            Self::Int64 | Self::Uint64 => 64,
        }
    }

    /// Returns whether there are negative integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Returns the word with all bits set, which is the largest one too.
    pub const fn max_word(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the name of the conversion to these integers: `ConvertToInt8`, …
    pub const fn convert_to_name(self) -> &'static str {
        match self {
            Self::Int8 => "ConvertToInt8",
            Self::Int16 => "ConvertToInt16",
            Self::Int32 => "ConvertToInt32",
            Self::Int64 => "ConvertToInt64",
            Self::Uint8 => "ConvertToUint8",
            Self::Uint16 => "ConvertToUint16",
            Self::Uint32 => "ConvertToUint32",
            Self::Uint64 => "ConvertToUint64",
        }
    }

    /// Returns the name of the conversion from these integers: `ConvertFromInt8`, …
    pub const fn convert_from_name(self) -> &'static str {
        match self {
            Self::Int8 => "ConvertFromInt8",
            Self::Int16 => "ConvertFromInt16",
            Self::Int32 => "ConvertFromInt32",
            Self::Int64 => "ConvertFromInt64",
            Self::Uint8 => "ConvertFromUint8",
            Self::Uint16 => "ConvertFromUint16",
            Self::Uint32 => "ConvertFromUint32",
            Self::Uint64 => "ConvertFromUint64",
        }
    }

    /// Returns the number that a word is; bits above the type's are ignored.
    pub const fn value(self, word: u64) -> i128 {
        let word = word & self.max_word();
        let is_negative = self.is_signed() && word >> (self.bits() - 1) == 1;
        word as i128 - if is_negative { 1 << self.bits() } else { 0 }
    }

    /// Returns the word of a number, `None` where it is out of range.
    pub const fn word_of(self, value: i128) -> Option<u64> {
        let negative = value < 0;
        let magnitude = value.unsigned_abs();
        if magnitude > self.limit(negative) { None } else { Some(self.word(magnitude, negative)) }
    }

    /// Returns the word of an exact number, `None` where it is no integer, or out of range.
    pub const fn word_of_exact(self, x: Exact) -> Option<u64> {
        let Exact::Finite { negative, significand, exponent, sticky: false } = x else { return None };
        if significand == 0 {
            return Some(0);
        }
        let (zeros, length) = (significand.trailing_zeros(), 128 - significand.leading_zeros());
        let is_integer = exponent >= -signed(zeros);
        if !is_integer || exponent > 64 - signed(length) {
            return None;
        }
        let magnitude = shift_with_sticky(significand, exponent, false).0;
        if magnitude > self.limit(negative) { None } else { Some(self.word(magnitude, negative)) }
    }

    /// The largest magnitude of this sign.
    const fn limit(self, negative: bool) -> u128 {
        match (self.is_signed(), negative) {
            (true, true) => 1 << (self.bits() - 1),
            (true, false) => (1 << (self.bits() - 1)) - 1,
            (false, true) => 0,
            (false, false) => (1 << self.bits()) - 1,
        }
    }

    /// The word of a magnitude that is in range.
    #[expect(clippy::cast_possible_truncation, reason = "two's complement, cut to the width")]
    const fn word(self, magnitude: u128, negative: bool) -> u64 {
        let word = magnitude as u64;
        (if negative { word.wrapping_neg() } else { word }) & self.max_word()
    }

    /// Converts a code to an integer, rounded once; the result is its word.
    ///
    /// A NaN, an infinity and what rounds to an integer out of range raise "invalid" alone, and
    /// give what the policy's units give: its rule for NaN results decides. `x86` gives the
    /// smallest signed and the largest unsigned integer; all others the integer that is nearest,
    /// and for a NaN `arm` 0 and the others the largest. An inexact result raises "inexact". A
    /// subnormal operand raises "denormal" where the policy raises it always; x86's instructions
    /// do not.
    pub const fn from_code(
        self,
        code: u64,
        from: &Format,
        rounding: Rounding,
        policy: FlagPolicy,
    ) -> Rounded<u64> {
        let denormal = match policy.denormal {
            DenormalRule::Raised => from.denormal_flag(code),
            _ => Flags::NONE,
        };
        let (negative, significand, exponent) = match from.decode(code) {
            Datum::Nan { .. } => return self.invalid(None, policy, denormal),
            Datum::Infinite { negative } => return self.invalid(Some(negative), policy, denormal),
            Datum::Finite { significand: 0, .. } => return Rounded { value: 0, flags: denormal },
            Datum::Finite { negative, significand, exponent } => (negative, significand, exponent),
        };
        // Beyond all integers, rounded or not.
        if exponent >= 65 - signed(significand.ilog2()) {
            return self.invalid(Some(negative), policy, denormal);
        }
        let spare = rounding.bits_needed() + 1;
        let shift = exponent + signed(spare);
        let (scaled, sticky) = shift_with_sticky(significand as u128, shift, false);
        let whole = scaled >> spare;
        let fraction = scaled - (whole << spare);
        let position = Position { fraction, sticky, steps: 1, lo_is_even: whole % 2 == 0 };
        let rounded = whole + rounding.moves_away(&position, negative) as u128;
        if rounded > self.limit(negative) {
            return self.invalid(Some(negative), policy, denormal);
        }
        let inexact = if position.is_exact() { Flags::NONE } else { Flags::INEXACT };
        Rounded { value: self.word(rounded, negative), flags: inexact.union(denormal) }
    }

    /// What a unit gives for a NaN, or for what is out of range on this side.
    const fn invalid(self, negative: Option<bool>, policy: FlagPolicy, denormal: Flags) -> Rounded<u64> {
        let value = match (policy.nan, negative) {
            (NanResult::X86, _) if self.is_signed() => 1 << (self.bits() - 1),
            (NanResult::X86, _) => self.max_word(),
            (_, Some(negative)) => self.word(self.limit(negative), negative),
            (NanResult::Arm, None) => 0,
            (_, None) => self.word(self.limit(false), false),
        };
        Rounded { value, flags: Flags::INVALID.union(denormal) }
    }

    /// Converts an integer's word to a format's code, rounded once by the projection; bits above
    /// the type's are ignored.
    ///
    /// ```
    /// use smallfloat::{FlagPolicy, Preset, formats::E4M3FN, ops::Integer};
    /// let saturate = Preset::OcpSaturate.projection(&E4M3FN);
    /// let r = Integer::Int16.to_code(0xfc18, &E4M3FN, &saturate, FlagPolicy::RISCV); // -1000
    /// assert_eq!((r.value, r.flags.to_string().as_str()), (0xfe, "OX")); // -448
    /// ```
    pub const fn to_code(
        self,
        word: u64,
        to: &Format,
        projection: &Projection,
        policy: FlagPolicy,
    ) -> Rounded<u64> {
        let value = self.value(word);
        let exact = Exact::Finite {
            negative: value < 0,
            significand: value.unsigned_abs(),
            exponent: 0,
            sticky: false,
        };
        let Rounded { value, flags } = project(exact, to, projection);
        let flags = policy.raise(Flags::NONE, &exact, flags, to, projection.rounding);
        Rounded { value, flags }
    }
}

by_name!(
    Integer,
    Self::ALL.iter().copied(),
    "type of integers",
    "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"
);
