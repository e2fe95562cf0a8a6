//! [`Layout`]: how vectors stand in a file.

use std::str::FromStr;

use smallfloat::Flags;

use super::{Outcome, Unit};
use crate::Error;

/// A layout of vector files. All numbers are hexadecimal, in as many digits as their width needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// As TestFloat writes: operands, results and the flags byte, separated by blanks. `#` starts a comment.
    TestFloat,
    /// Verilog's `$readmemh`: one word a line, operands | results | flags from the top bit down, each in whole digits.
    /// `//` starts a comment.
    ReadMemH,
    /// Columns with a title each, numbers with `0x`. `#` starts a comment.
    Csv,
    /// A JSON object a line; the first is the header.
    JsonLines,
}

impl Layout {
    /// All layouts with their names.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("testfloat", Self::TestFloat),
        ("readmemh", Self::ReadMemH),
        ("csv", Self::Csv),
        ("jsonl", Self::JsonLines),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// What starts a comment; JSON has none.
    pub(super) fn comment(self) -> &'static str {
        match self {
            Self::ReadMemH => "//",
            _ => "#",
        }
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|row| row.1).ok_or_else(|| Error::Layout { text: text.to_owned() })
    }
}

/// Both digits of every byte.
static DIGITS: [[u8; 2]; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        digits[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    digits
};

/// Appends the lowest `digits` hexadecimal digits of a number, at most 16.
fn push_hex(out: &mut Vec<u8>, number: u64, digits: usize) {
    let mut text = [0; 16];
    let first = (16 - digits) / 2;
    let bytes = number.to_be_bytes();
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes).skip(first) {
        pair.copy_from_slice(&DIGITS[usize::from(byte)]);
    }
    out.extend_from_slice(&text[16 - digits..]);
}

/// What stands before each number of a line, and how many digits it has.
#[derive(Clone, Debug)]
pub(super) struct LineWriter {
    /// For operands, then results, then flags.
    pieces: Vec<(Vec<u8>, usize)>,
    end: &'static [u8],
    mask: Flags,
}

impl LineWriter {
    pub(super) fn new(unit: &Unit, layout: Layout, mask: Flags) -> Self {
        let operands = unit.operands().iter().map(|field| (field.digits(), true));
        let results = unit.results().iter().map(|field| (field.digits(), false));
        let mut pieces: Vec<_> = Vec::new();
        let mut before_result = false;
        for (i, (digits, is_operand)) in operands.chain(results).enumerate() {
            let is_first_result = !is_operand && !before_result;
            before_result = !is_operand;
            let lead = match layout {
                Layout::TestFloat => if i == 0 { "" } else { " " }.to_owned(),
                Layout::ReadMemH => String::new(),
                Layout::Csv => if i == 0 { "0x" } else { ",0x" }.to_owned(),
                Layout::JsonLines if i == 0 => "{\"operands\":[\"".to_owned(),
                Layout::JsonLines if is_first_result => "\"],\"results\":[\"".to_owned(),
                Layout::JsonLines => "\",\"".to_owned(),
            };
            pieces.push((lead.into_bytes(), digits));
        }
        let (lead, end): (&[u8], &[u8]) = match layout {
            Layout::TestFloat => (b" ", b"\n"),
            Layout::ReadMemH => (b"", b"\n"),
            Layout::Csv => (b",0x", b"\n"),
            Layout::JsonLines => (b"\"],\"flags\":\"", b"\"}\n"),
        };
        pieces.push((lead.to_vec(), 2));
        Self { pieces, end, mask }
    }

    /// Appends a line.
    pub(super) fn push(&self, out: &mut Vec<u8>, operands: &[u64], outcome: &Outcome) {
        let flags = u64::from((outcome.flags & self.mask).bits());
        let numbers = operands.iter().chain(outcome.results()).chain([&flags]);
        for ((lead, digits), &number) in self.pieces.iter().zip(numbers) {
            out.extend_from_slice(lead);
            push_hex(out, number, *digits);
        }
        out.extend_from_slice(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_of_their_width() {
        for (number, digits, text) in [
            (0x5, 1, "5"),
            (0xab, 2, "ab"),
            (0x1f, 3, "01f"),
            (0x3f80_0000, 8, "3f800000"),
            (u64::MAX, 15, "fffffffffffffff"),
            (0x0123_4567_89ab_cdef, 16, "0123456789abcdef"),
        ] {
            let mut out = b"x".to_vec();
            push_hex(&mut out, number, digits);
            assert_eq!(out, format!("x{text}").into_bytes());
        }
    }
}
