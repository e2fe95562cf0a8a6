//! [`Operands`]: the codes of an operation's operands, of any integer type.

use std::ops::Range;

use crate::element::{Code, Codes};

/// Slices of codes, as many as the operation has operands, and where each stands in the index of a
/// table: its codes' mask and the bits below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands<'a> {
    codes: [Codes<'a>; 3],
    masks: [u64; 3],
    shifts: [u32; 3],
}

/// Calls a function with a slice of codes, whatever their type.
macro_rules! with_codes {
    ($codes:expr, |$slice:ident| $call:expr) => {
        match $codes {
            Codes::Bytes($slice) => $call,
            Codes::Halves($slice) => $call,
            Codes::Words($slice) => $call,
            Codes::Longs($slice) => $call,
        }
    };
}

impl<'a> Operands<'a> {
    /// Masks and shifts of operands that are not there are not looked at; their slices are empty.
    pub(super) fn new(codes: [Codes<'a>; 3], masks: [u64; 3], shifts: [u32; 3]) -> Self {
        Self { codes, masks, shifts }
    }

    /// The operands as bytes, if all of them are.
    pub(super) fn bytes(&self) -> Option<[&'a [u8]; 3]> {
        let [Some(x), Some(y), Some(z)] = self.codes.map(Codes::bytes) else { return None };
        Some([x, y, z])
    }

    /// Puts the codes of the first `count` operands side by side, the first one lowest. The indices
    /// are as many as the range has elements.
    pub(super) fn join(&self, at: Range<usize>, count: usize, indices: &mut [u16]) {
        #[inline]
        fn add<C: Code>(indices: &mut [u16], codes: &[C], mask: u16, shift: u32) {
            for (index, code) in indices.iter_mut().zip(codes) {
                *index |= (half(code.widen()) & mask) << shift;
            }
        }
        let [x_mask, y_mask, _] = self.masks.map(half);
        let mut joined = 0;
        if let ([Codes::Bytes(x), Codes::Bytes(y), _], 2..) = (&self.codes, count) {
            // The usual two are joined in one pass.
            let pairs = x[at.clone()].iter().zip(&y[at.clone()]);
            for (index, (&x, &y)) in indices.iter_mut().zip(pairs) {
                *index = u16::from(x) & x_mask | (u16::from(y) & y_mask) << self.shifts[1];
            }
            joined = 2;
        } else {
            indices.fill(0);
        }
        for operand in joined..count {
            let (mask, shift) = (half(self.masks[operand]), self.shifts[operand]);
            with_codes!(self.codes[operand], |slice| add(indices, &slice[at.clone()], mask, shift));
        }
    }

    /// The codes of the third operand, which has at most 32 bits.
    pub(super) fn third(&self, at: Range<usize>, thirds: &mut [u32]) {
        #[inline]
        fn copy<C: Code>(thirds: &mut [u32], codes: &[C], mask: u32) {
            for (third, code) in thirds.iter_mut().zip(codes) {
                *third = word(code.widen()) & mask;
            }
        }
        with_codes!(self.codes[2], |slice| copy(thirds, &slice[at], word(self.masks[2])));
    }

    /// The operands' codes of each element; 0 for operands that are not there.
    pub(super) fn each(&self, at: Range<usize>, elements: &mut [[u64; 3]]) {
        for (operand, (&codes, &mask)) in self.codes.iter().zip(&self.masks).enumerate() {
            with_codes!(codes, |slice| {
                for (element, code) in elements.iter_mut().zip(slice.get(at.clone()).unwrap_or_default()) {
                    element[operand] = code.widen() & mask;
                }
            });
        }
    }
}

/// The low bits, which are all that an index of 16 bits has room for.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are asked for")]
#[inline]
fn half(code: u64) -> u16 {
    code as u16
}

#[expect(clippy::cast_possible_truncation, reason = "as above, for 32 bits")]
#[inline]
fn word(code: u64) -> u32 {
    code as u32
}

#[cfg(test)]
mod tests {
    use super::{Codes, Operands};

    #[test]
    fn side_by_side_whatever_the_types() {
        let codes =
            [Codes::Bytes(&[0xff, 0x12, 0x03]), Codes::Words(&[0, 0xf2, 0x1e]), Codes::Longs(&[7, 8, 9])];
        let operands = Operands::new(codes, [0x1f, 0x0f, 0xff], [0, 5, 9]);
        let mut indices = [1; 2];
        operands.join(1..3, 2, &mut indices);
        assert_eq!(indices, [0x12 | 2 << 5, 0x03 | 0xe << 5]);
        operands.join(1..3, 3, &mut indices);
        assert_eq!(indices, [0x12 | 2 << 5 | 8 << 9, 0x03 | 0xe << 5 | 9 << 9]);
        let mut thirds = [0; 3];
        operands.third(0..3, &mut thirds);
        assert_eq!(thirds, [7, 8, 9]);
        let mut elements = [[0; 3]; 2];
        operands.each(0..2, &mut elements);
        assert_eq!(elements, [[0x1f, 0, 7], [0x12, 2, 8]]);
        assert!(operands.bytes().is_none());
    }

    #[test]
    fn operands_that_are_not_there() {
        let codes = [Codes::Halves(&[0x1234, 0xff]), Codes::Bytes(&[]), Codes::Bytes(&[])];
        let mut elements = [[0; 3]; 2];
        Operands::new(codes, [0xffff, 0, 0], [0, 16, 16]).each(0..2, &mut elements);
        assert_eq!(elements, [[0x1234, 0, 0], [0xff, 0, 0]]);
    }

    #[test]
    fn bytes_if_all_are() {
        let bytes: &[u8] = &[1, 2];
        let of = |codes| Operands::new(codes, [0; 3], [0; 3]).bytes();
        assert_eq!(of([Codes::Bytes(bytes); 3]), Some([bytes; 3]));
        for i in 0..3 {
            let mut some = [Codes::Bytes(bytes); 3];
            some[i] = Codes::Halves(&[1, 2]);
            assert_eq!(of(some), None);
        }
    }
}
