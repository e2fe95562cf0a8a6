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
    /// A code of a format.
    pub const fn new(code: u64, format: &'a Format) -> Self {
        Self { code, format }
    }

    /// What the code means.
    pub const fn datum(&self) -> Datum {
        self.format.decode(self.code)
    }
}
