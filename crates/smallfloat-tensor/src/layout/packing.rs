//! [`Packing`]: how codes lie in bytes.
//!
//! ```text
//! bytes        one code per byte (two bytes, little-endian, above 8 bits)
//! nibbles-low  byte i of a row = code 2i in bits 3..0, code 2i+1 in bits 7..4
//! nibbles-high byte i of a row = code 2i in bits 7..4, code 2i+1 in bits 3..0
//! six-bit      bytes 3i..3i+2 of a row, as a little-endian number of 24 bits: code 4i+j in bits 6j+5..6j
//! ```
//!
//! `nibbles-low` and `six-bit` are what compressed-tensors packs (`pack_fp4_to_uint8`,
//! `pack_fp6_to_uint8`, version 0.20). Rows are packed one by one; the last byte or bytes of a row
//! are filled up with zeros.

use smallfloat::Format;
use smallfloat_kernels::{Level, Nibbles, pack4, pack6, unpack4, unpack6};

use crate::error::{Result, by_name, refuse};
use crate::file::stream::StoredCode;

/// The packing of codes into bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Packing {
    /// One byte per code, or two for formats above 8 bits.
    #[default]
    Bytes,
    /// Two 4-bit codes per byte, the first in the low half.
    NibblesLow,
    /// Two 4-bit codes per byte, the first in the high half.
    NibblesHigh,
    /// Four 6-bit codes in three bytes, the first in the lowest bits.
    SixBit,
}

impl Packing {
    const ALL: [Self; 4] = [Self::Bytes, Self::NibblesLow, Self::NibblesHigh, Self::SixBit];

    /// Returns the name in a container's metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::NibblesLow => "nibbles-low",
            Self::NibblesHigh => "nibbles-high",
            Self::SixBit => "six-bit",
        }
    }

    /// Returns whether a format's codes fit the packing exactly.
    pub(crate) fn suits(self, format: &Format) -> bool {
        match self {
            Self::Bytes => true,
            Self::NibblesLow | Self::NibblesHigh => format.width() == 4,
            Self::SixBit => format.width() == 6,
        }
    }

    /// The fewest codes that fill whole bytes, and their bytes.
    pub(crate) const fn unit(self, format: &Format) -> (u64, u64) {
        match self {
            Self::Bytes if format.width() > 8 => (1, 2),
            Self::Bytes => (1, 1),
            Self::NibblesLow | Self::NibblesHigh => (2, 1),
            Self::SixBit => (4, 3),
        }
    }

    /// The bytes of this many codes of a row; [`u64::MAX`], which no file has, where 64 bits can't
    /// count them.
    pub(crate) const fn row_bytes(self, format: &Format, codes: u64) -> u64 {
        let (unit, bytes) = self.unit(format);
        codes.div_ceil(unit).saturating_mul(bytes)
    }

    /// Refuses a format whose codes do not fit the packing.
    pub(crate) fn check(self, format: &Format) -> Result<()> {
        if self.suits(format) {
            return Ok(());
        }
        Err(refuse(format!("codes of {format} can't be packed as {}", self.name())))
    }

    /// Appends the bytes of codes that begin at a whole byte of a row.
    pub(crate) fn pack<C: StoredCode>(self, codes: &[C], bytes: &mut Vec<u8>) {
        if self == Self::Bytes {
            return C::append(codes, bytes);
        }
        let (begin, (unit, size)) = (bytes.len(), if self == Self::SixBit { (4, 3) } else { (2, 1) });
        bytes.resize(begin + codes.len().div_ceil(unit) * size, 0);
        self.pack_into(codes, &mut bytes[begin..]);
    }

    /// Fills in the bytes of codes that begin at a whole byte of a row.
    pub(crate) fn pack_into<C: StoredCode>(self, codes: &[C], bytes: &mut [u8]) {
        let (level, codes) = (Level::detected(), C::bytes(codes).expect("packed codes are bytes"));
        match self {
            Self::Bytes => bytes.copy_from_slice(codes),
            Self::SixBit => pack6(level, codes, bytes),
            Self::NibblesHigh => pack4(level, codes, bytes, Nibbles::HighFirst),
            Self::NibblesLow => pack4(level, codes, bytes, Nibbles::LowFirst),
        }
    }

    /// Fills in the codes that a row was packed of.
    pub(crate) fn unpack_row(self, bytes: &[u8], codes: &mut [u8]) {
        let level = Level::detected();
        match self {
            Self::Bytes => codes.copy_from_slice(bytes),
            Self::NibblesLow => unpack4(level, bytes, codes, Nibbles::LowFirst),
            Self::NibblesHigh => unpack4(level, bytes, codes, Nibbles::HighFirst),
            Self::SixBit => unpack6(level, bytes, codes),
        }
    }

    /// Returns a code of rows that fill whole bytes and follow each other.
    pub(crate) fn code(self, bytes: &[u8], place: usize) -> u8 {
        match self {
            Self::Bytes => bytes[place],
            Self::NibblesLow => bytes[place / 2] >> (place % 2 * 4) & 15,
            Self::NibblesHigh => bytes[place / 2] >> (4 - place % 2 * 4) & 15,
            Self::SixBit => {
                let three = &bytes[place / 4 * 3..][..3];
                let word = u32::from_le_bytes([three[0], three[1], three[2], 0]);
                (word >> (place % 4 * 6) & 63).to_le_bytes()[0]
            }
        }
    }

    /// Appends the codes of whole bytes, fillings included.
    pub(crate) fn unpack(self, format: &Format, bytes: &[u8], codes: &mut Vec<u16>) {
        match self {
            Self::Bytes if format.width() > 8 => {
                codes.extend(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])));
            }
            Self::Bytes => codes.extend(bytes.iter().map(|&byte| u16::from(byte))),
            Self::NibblesLow | Self::NibblesHigh => {
                let begin = codes.len();
                codes.resize(begin + 2 * bytes.len(), 0);
                for (pair, &byte) in codes[begin..].as_chunks_mut().0.iter_mut().zip(bytes) {
                    let (low, high) = (u16::from(byte & 15), u16::from(byte >> 4));
                    *pair = if self == Self::NibblesLow { [low, high] } else { [high, low] };
                }
            }
            Self::SixBit => codes.extend(bytes.chunks_exact(3).flat_map(|three| {
                let word = u32::from_le_bytes([three[0], three[1], three[2], 0]);
                [0, 6, 12, 18].map(|shift| (word >> shift & 63) as u16)
            })),
        }
    }
}

by_name!(Packing, Self::ALL, "packing");

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{BFLOAT16, E2M1FN, E2M3FN, E4M3FN};

    #[test]
    fn bytes_are_as_the_picture_says() {
        let packed = |packing: Packing, format: &Format, codes: &[u16]| {
            let mut bytes = Vec::new();
            if format.width() > 8 {
                packing.pack(codes, &mut bytes);
            } else {
                packing.pack(&codes.iter().map(|code| code.to_le_bytes()[0]).collect::<Vec<_>>(), &mut bytes);
            }
            let mut back = Vec::new();
            packing.unpack(format, &bytes, &mut back);
            assert_eq!(back[..codes.len()], *codes);
            assert!(back[codes.len()..].iter().all(|&filling| filling == 0));
            assert_eq!(bytes.len() as u64, packing.row_bytes(format, codes.len() as u64));
            if format.width() <= 8 {
                let each: Vec<u16> = (0..codes.len()).map(|i| packing.code(&bytes, i).into()).collect();
                assert_eq!(each, codes);
            }
            bytes
        };
        assert_eq!(packed(Packing::Bytes, &E4M3FN, &[0x38, 0xff]), [0x38, 0xff]);
        assert_eq!(packed(Packing::Bytes, &BFLOAT16, &[0x3f80]), [0x80, 0x3f]);
        assert_eq!(packed(Packing::NibblesLow, &E2M1FN, &[0x1, 0xe, 0x7]), [0xe1, 0x07]);
        assert_eq!(packed(Packing::NibblesHigh, &E2M1FN, &[0x1, 0xe, 0x7]), [0x1e, 0x70]);
        // 0x01 | 0x02 << 6 | 0x3f << 12 | 0x20 << 18 = 0x83f081
        assert_eq!(packed(Packing::SixBit, &E2M3FN, &[0x01, 0x02, 0x3f, 0x20]), [0x81, 0xf0, 0x83]);
        assert_eq!(packed(Packing::SixBit, &E2M3FN, &[0x3f]), [0x3f, 0, 0]);
    }

    #[test]
    fn codes_fill_their_packing() {
        for (packing, widths) in [
            (Packing::Bytes, [true, true, true, true]),
            (Packing::NibblesLow, [true, false, false, false]),
            (Packing::NibblesHigh, [true, false, false, false]),
            (Packing::SixBit, [false, true, false, false]),
        ] {
            for (format, suits) in [E2M1FN, E2M3FN, E4M3FN, BFLOAT16].iter().zip(widths) {
                assert_eq!(packing.suits(format), suits, "{packing} {format}");
                assert_eq!(packing.check(format).is_ok(), suits, "{packing} {format}");
            }
        }
    }

    /// A row of odd length, whose last byte is filled up, and one of whole bytes.
    #[test]
    fn rows_are_unpacked() {
        for (packing, bytes, codes) in [
            (Packing::Bytes, &[0x12, 0x34][..], &[0x12, 0x34][..]),
            (Packing::NibblesLow, &[0x21, 0x03], &[1, 2, 3]),
            (Packing::NibblesHigh, &[0x12, 0x30], &[1, 2, 3]),
            (Packing::SixBit, &[0x81, 0xf0, 0x83], &[0x01, 0x02, 0x3f, 0x20]),
        ] {
            let mut row = vec![0xff; codes.len()];
            packing.unpack_row(bytes, &mut row);
            assert_eq!(row, codes, "{packing}");
        }
    }

    #[test]
    fn names_are_unique() {
        for packing in Packing::ALL {
            assert_eq!(packing.name().parse::<Packing>().ok(), Some(packing));
        }
        assert_eq!("nibbles".parse::<Packing>().ok(), None);
    }
}
