//! [`Blocks`]: codes with their scales before them, in one tensor, as GGUF has them.
//!
//! Source: the `gguf` package 0.19 (`quants.py`) and ggml (`ggml-common.h`).

use crate::file::formats::gguf::BlockType;

/// The low halves of eight bytes, which are taken at once.
const LOW_HALVES: u64 = 0x0f0f_0f0f_0f0f_0f0f;

/// How the blocks of a type lie in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    pub(crate) elements: u64,
    pub(crate) bytes: u64,
    /// Elements with one scale.
    pub(crate) group: u64,
    /// Bytes before the codes: those of the scales, one after the other.
    pub(crate) codes_at: u64,
    /// Of codes of four bits: so many low halves of bytes come first, then as many high halves of
    /// the same bytes; a multiple of eight. 0 where each code is a byte.
    pub(crate) half: u64,
    /// Whether scales are without their sign, and all bits set are 0.
    pub(crate) unsigned: bool,
}

impl Blocks {
    pub(crate) const fn of(kind: BlockType) -> Self {
        let (elements, bytes) = kind.size();
        let (group, codes_at, half) = match kind {
            BlockType::Mxfp4 => (32, 1, 16),
            BlockType::Nvfp4 => (16, 4, 8),
            BlockType::Q8_0 => (32, 2, 0),
        };
        Self { elements, bytes, group, codes_at, half, unsigned: matches!(kind, BlockType::Nvfp4) }
    }

    /// Puts the codes of whole blocks into place, one byte each.
    pub(crate) fn take_apart(&self, bytes: &[u8], codes: &mut [u8]) {
        let size = |n: u64| usize::try_from(n).expect("a block is small");
        let blocks = bytes.chunks_exact(size(self.bytes)).zip(codes.chunks_exact_mut(size(self.elements)));
        for (bytes, codes) in blocks {
            let bytes = &bytes[size(self.codes_at)..];
            if self.half == 0 {
                codes.copy_from_slice(bytes);
                continue;
            }
            let half = size(self.half);
            for (bytes, run) in bytes.chunks_exact(half).zip(codes.chunks_exact_mut(2 * half)) {
                let (low, high) = run.split_at_mut(half);
                let halves = low.as_chunks_mut().0.iter_mut().zip(high.as_chunks_mut().0);
                for (bytes, (low, high)) in bytes.as_chunks().0.iter().zip(halves) {
                    let bytes = u64::from_le_bytes(*bytes);
                    *low = (bytes & LOW_HALVES).to_le_bytes();
                    *high = (bytes >> 4 & LOW_HALVES).to_le_bytes();
                }
            }
        }
    }

    /// Puts the bytes of the scales of whole blocks into place.
    pub(crate) fn take_scales(&self, bytes: &[u8], scales: &mut [u8]) {
        match self.codes_at {
            1 => self.take_first::<1>(bytes, scales),
            2 => self.take_first::<2>(bytes, scales),
            4 => self.take_first::<4>(bytes, scales),
            other => unreachable!("no block has {other} bytes of scales"),
        }
    }

    /// A loop of a known length is no call for every block.
    fn take_first<const N: usize>(&self, bytes: &[u8], scales: &mut [u8]) {
        let blocks = bytes.chunks_exact(usize::try_from(self.bytes).expect("a block is small"));
        for (block, scales) in blocks.zip(scales.as_chunks_mut::<N>().0) {
            scales.copy_from_slice(&block[..N]);
        }
    }

    /// Returns whole blocks of codes, one byte each, and of the bytes of their scales.
    pub(crate) fn assemble(&self, codes: &[u8], scales: &[u8]) -> Vec<u8> {
        let size = |n: u64| usize::try_from(n).expect("a block is small");
        let mut bytes = Vec::with_capacity(codes.len() / size(self.elements) * size(self.bytes));
        let blocks = codes.chunks_exact(size(self.elements)).zip(scales.chunks_exact(size(self.codes_at)));
        for (codes, scales) in blocks {
            bytes.extend_from_slice(scales);
            if self.half == 0 {
                bytes.extend_from_slice(codes);
                continue;
            }
            for run in codes.chunks_exact(2 * size(self.half)) {
                let (low, high) = run.split_at(size(self.half));
                for (low, high) in low.as_chunks().0.iter().zip(high.as_chunks().0) {
                    let high = u64::from_le_bytes(*high) & LOW_HALVES;
                    bytes.extend_from_slice(&(u64::from_le_bytes(*low) | high << 4).to_le_bytes());
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The byte within a block that has the code of an element of it, and how far to shift it.
    fn of_element(blocks: &Blocks, element: u64) -> (u64, u32) {
        if blocks.half == 0 {
            return (blocks.codes_at + element, 0);
        }
        let (run, within) = (element / (2 * blocks.half), element % (2 * blocks.half));
        let shift = if within < blocks.half { 0 } else { 4 };
        (blocks.codes_at + run * blocks.half + within % blocks.half, shift)
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "blocks are small")]
    fn elements_are_where_they_were_put() {
        for kind in [BlockType::Mxfp4, BlockType::Nvfp4, BlockType::Q8_0] {
            let blocks = Blocks::of(kind);
            let mask = if blocks.half == 0 { 0xff } else { 0x0f };
            let codes: Vec<u8> = (0..2 * blocks.elements).map(|i| (i * 37 % 251) as u8 & mask).collect();
            let scales: Vec<u8> = (0..2 * blocks.codes_at).map(|i| 200 + i as u8).collect();
            let bytes = blocks.assemble(&codes, &scales);
            assert_eq!(bytes.len() as u64, 2 * blocks.bytes);
            let mut apart = vec![0; codes.len()];
            blocks.take_apart(&bytes, &mut apart);
            assert_eq!(apart, codes);
            let mut apart = vec![0; scales.len()];
            blocks.take_scales(&bytes, &mut apart);
            assert_eq!(apart, scales);
            for (i, block) in bytes.chunks_exact(blocks.bytes as usize).enumerate() {
                let (first, at) = (i * blocks.elements as usize, blocks.codes_at as usize);
                assert_eq!(block[..at], scales[i * at..][..at]);
                for element in 0..blocks.elements {
                    let (byte, shift) = of_element(&blocks, element);
                    assert_eq!(block[byte as usize] >> shift & mask, codes[first + element as usize]);
                }
            }
        }
    }
}
