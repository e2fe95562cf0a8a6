//! [`LineLayout`]: how vectors stand in a file.

use std::ops::Range;

use smallfloat::{FlagOrder, Flags};

use crate::named::by_name;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::outcome::CallOutcome;

/// A layout of vector files. All numbers are hexadecimal, in as many digits as their width needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineLayout {
    /// As TestFloat writes: operands, results and the flags byte, separated by blanks. `#` starts a
    /// comment.
    TestFloat,
    /// Verilog's `$readmemh`: one word per line, operands | results | flags from the top bit down,
    /// each in whole digits. `//` starts a comment.
    ReadMemH,
    /// Columns with a title each, numbers with `0x`. `#` starts a comment.
    Csv,
    /// A JSON object a line; the first is the header.
    JsonLines,
}

impl LineLayout {
    /// All layouts with their names.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("testfloat", Self::TestFloat),
        ("readmemh", Self::ReadMemH),
        ("csv", Self::Csv),
        ("jsonl", Self::JsonLines),
    ];

    /// What starts a comment; JSON has none.
    pub(super) fn comment(self) -> &'static str {
        match self {
            Self::ReadMemH => "//",
            _ => "#",
        }
    }
}

by_name!(LineLayout, Layout);

/// The lowest eight hexadecimal digits of a number as text: its nibbles spread over bytes, then all
/// made digits at once.
fn hex8(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let x = u64::from(number);
    let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    let x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    let x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Six more carry a nibble above 9 into the high half of its byte.
    let letters = (x + 6 * ONES) >> 4 & ONES;
    (x + letters * u64::from(b'a' - b'0' - 10) + ONES * u64::from(b'0')).to_be_bytes()
}

/// The lowest hexadecimal digit.
fn digit(number: u64) -> u8 {
    b"0123456789abcdef"[(number % 16) as usize]
}

/// Writes as many of the lowest hexadecimal digits of a number as there is room for, at most 16.
fn put_hex(place: &mut [u8], number: u64) {
    // One digit or two are looked up, other usual widths copied in one instruction.
    match place {
        [low] => *low = digit(number),
        [high, low] => (*high, *low) = (digit(number >> 4), digit(number)),
        _ => {
            let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
            let low = hex8(u32::from_be_bytes([e, f, g, h]));
            match place.len() {
                4 => place.copy_from_slice(&low[4..]),
                8 => place.copy_from_slice(&low),
                digits @ ..8 => place.copy_from_slice(&low[8 - digits..]),
                digits => {
                    let high = hex8(u32::from_be_bytes([a, b, c, d]));
                    let (first, last) = place.split_at_mut(digits - 8);
                    first.copy_from_slice(&high[16 - digits..]);
                    last.copy_from_slice(&low);
                }
            }
        }
    }
}

/// All lines of a file have one length and differ only in their digits.
#[derive(Clone, Debug)]
pub(super) struct LineWriter {
    /// A line whose digits are zeros.
    blank: Vec<u8>,
    /// Where digits stand: of operands, then results, then flags.
    places: Vec<Range<usize>>,
    mask: Flags,
    order: FlagOrder,
}

impl LineWriter {
    pub(super) fn new(unit: &VectorUnit, layout: LineLayout, mask: Flags, order: FlagOrder) -> Self {
        let (mut blank, mut places) = (Vec::new(), Vec::new());
        let mut push = |lead: &str, digits: usize| {
            blank.extend_from_slice(lead.as_bytes());
            places.push(blank.len()..blank.len() + digits);
            blank.resize(blank.len() + digits, b'0');
        };
        let operands = unit.operands().iter().map(|field| (field.digits(), true));
        let results = unit.results().iter().map(|field| (field.digits(), false));
        let mut before_result = false;
        for (i, (digits, is_operand)) in operands.chain(results).enumerate() {
            let is_first_result = !is_operand && !before_result;
            before_result = !is_operand;
            let lead = match layout {
                LineLayout::ReadMemH => "",
                LineLayout::TestFloat if i == 0 => "",
                LineLayout::TestFloat => " ",
                LineLayout::Csv if i == 0 => "0x",
                LineLayout::Csv => ",0x",
                LineLayout::JsonLines if i == 0 => "{\"operands\":[\"",
                LineLayout::JsonLines if is_first_result => "\"],\"results\":[\"",
                LineLayout::JsonLines => "\",\"",
            };
            push(lead, digits);
        }
        let (lead, end): (&str, &[u8]) = match layout {
            LineLayout::TestFloat => (" ", b"\n"),
            LineLayout::ReadMemH => ("", b"\n"),
            LineLayout::Csv => (",0x", b"\n"),
            LineLayout::JsonLines => ("\"],\"flags\":\"", b"\"}\n"),
        };
        push(lead, 2);
        blank.extend_from_slice(end);
        Self { blank, places, mask, order }
    }

    /// The bytes of a line.
    pub(super) fn length(&self) -> usize {
        self.blank.len()
    }

    /// So many lines to be filled.
    pub(super) fn blank(&self, lines: usize) -> Vec<u8> {
        self.blank.repeat(lines)
    }

    /// Fills a blank line.
    pub(super) fn fill(&self, line: &mut [u8], operands: &[u64], outcome: &CallOutcome) {
        let flags = u64::from((outcome.flags & self.mask).bits_in(self.order));
        let (of_operands, rest) = self.places.split_at(operands.len());
        let (of_results, of_flags) = rest.split_at(outcome.results().len());
        let numbers = [(of_operands, operands), (of_results, outcome.results()), (of_flags, &[flags])];
        for (places, numbers) in numbers {
            for (place, &number) in places.iter().zip(numbers) {
                put_hex(&mut line[place.clone()], number);
            }
        }
    }

    /// Appends a line.
    pub(super) fn push(&self, out: &mut Vec<u8>, operands: &[u64], outcome: &CallOutcome) {
        let start = out.len();
        out.extend_from_slice(&self.blank);
        self.fill(&mut out[start..], operands, outcome);
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
            (0x7fab, 4, "7fab"),
            (0x3f80_0000, 8, "3f800000"),
            (0x9abc_def0, 8, "9abcdef0"),
            (0x1_2345_6789, 9, "123456789"),
            (u64::MAX, 15, "fffffffffffffff"),
            (0x0123_4567_89ab_cdef, 16, "0123456789abcdef"),
        ] {
            let mut place = vec![b'x'; digits];
            put_hex(&mut place, number);
            assert_eq!(String::from_utf8(place).as_deref(), Ok(text));
        }
    }
}
