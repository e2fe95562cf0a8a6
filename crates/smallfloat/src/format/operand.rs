//! [`Operand`]: a code of a format.

use crate::format::Format;
use crate::format::datum::Datum;

/// A code and the format it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand<'a> {
    /// The code; bits above the format's width are ignored.
    pub code: u64,
    /// Its format.
    pub format: &'a Format,
}

impl<'a> Operand<'a> {
    /// Returns a code of a format.
    pub const fn new(code: u64, format: &'a Format) -> Self {
        Self { code, format }
    }

    /// Returns what the code means.
    pub const fn datum(&self) -> Datum {
        self.format.decode(self.code)
    }
}

impl Format {
    /// Returns whether the sign of every datum, NaN included, is the code's highest bit.
    pub(crate) const fn sign_is_a_bit(&self) -> bool {
        self.has_negative_zero()
    }

    /// Returns whether codes of the other format mean the same in this one.
    pub(crate) const fn has_codes_of(&self, other: &Self) -> bool {
        self.width == other.width
            && self.precision == other.precision
            && self.bias == other.bias
            && self.signed == other.signed
            && self.specials as u8 == other.specials as u8
            && self.subnormals as u8 == other.subnormals as u8
    }
}
