//! A machine in plain Rust with a few kernels, for tests of the door itself: it shows what a new
//! instruction set has to bring, and that kernels it lacks fall back to the portable paths.

use smallfloat::random::Philox;

use crate::arch::kernels::Kernels;
use crate::arch::level::Level;
use crate::plan::nibbles::Nibbles;
use crate::plan::partial_sums::{Partial, total};

/// The proof of nothing: any machine runs it at the level `avx2` and above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine(());

impl Kernels for Machine {
    fn new(level: Level) -> Option<Self> {
        (level >= Level::Avx2).then_some(Self(()))
    }

    fn supports(level: Level) -> bool {
        level == Level::Avx2
    }

    fn pack4<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
        let (pairs, rest) = codes.as_chunks::<2>();
        let (packed, rest_bytes) = bytes.split_at_mut(pairs.len());
        for (byte, [first, second]) in packed.iter_mut().zip(pairs) {
            *byte = match order {
                Nibbles::LowFirst => first & 15 | second << 4,
                Nibbles::HighFirst => first << 4 | second & 15,
            };
        }
        (rest, rest_bytes)
    }

    fn fill_philox(self, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) -> Option<()> {
        for (words, number) in blocks.iter_mut().zip(first..) {
            *words = philox.block(number);
        }
        Some(())
    }

    fn totals(self, partial: &[Partial], sums: &mut [f32]) -> Option<()> {
        for (partial, sum) in partial.iter().zip(sums) {
            *sum = total(partial);
        }
        Some(())
    }
}
