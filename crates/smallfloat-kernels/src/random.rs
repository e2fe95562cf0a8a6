//! [`Generator`] and [`RandomWords`]: where stochastic rounding takes its random words from.
//!
//! Both generators are functions of a key (the seed), a counter (four elements share a block) and
//! nothing else, so chunks, threads and machines never change a word. Element i takes word i mod 4
//! of block ⌊i/4⌋ ([semantics](smallfloat::semantics) S5).

use smallfloat::random::Philox;

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::ars5::Ars5;

/// A counter-based generator of random words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Generator {
    /// Philox4x32-10, the default.
    Philox(Philox),
    /// [`Ars5`], faster where the machine has AES instructions.
    Ars5(Ars5),
}

impl From<Philox> for Generator {
    fn from(philox: Philox) -> Self {
        Self::Philox(philox)
    }
}

/// [`Philox`] with this seed, stream 0.
impl From<u64> for Generator {
    fn from(seed: u64) -> Self {
        Philox::new(seed).into()
    }
}

impl From<Ars5> for Generator {
    fn from(ars5: Ars5) -> Self {
        Self::Ars5(ars5)
    }
}

impl Generator {
    /// Returns the generator's name, to be stored with results: `philox4x32-10` or `ars5`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Philox(_) => "philox4x32-10",
            Self::Ars5(_) => "ars5",
        }
    }

    /// Returns the four words of elements `4 · block .. 4 · block + 4`.
    pub fn block(&self, block: u64) -> [u32; 4] {
        match self {
            Self::Philox(philox) => philox.block(block),
            Self::Ars5(ars5) => ars5.block(block),
        }
    }

    /// The words of blocks from `first` on, with the instructions of a level. The same at every
    /// level.
    pub fn fill_blocks(&self, level: Level, first: u64, blocks: &mut [[u32; 4]]) {
        let filled = Machine::new(level).and_then(|machine| match self {
            Self::Philox(philox) => machine.fill_philox(philox, first, blocks),
            Self::Ars5(ars5) => machine.fill_ars5(ars5, first, blocks),
        });
        if filled.is_some() {
            return;
        }
        for (words, number) in blocks.iter_mut().zip(first..) {
            *words = self.block(number);
        }
    }
}

/// The words of one element after another.
pub(crate) struct WordByWord {
    generator: Generator,
    element: u64,
    block: [u32; 4],
}

impl WordByWord {
    pub(crate) fn new(generator: Generator, first_element: u64) -> Self {
        let begins_block = first_element.is_multiple_of(4);
        let block = if begins_block { [0; 4] } else { generator.block(first_element / 4) };
        Self { generator, element: first_element, block }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        let place = (self.element % 4) as usize;
        if place == 0 {
            self.block = self.generator.block(self.element / 4);
        }
        self.element = self.element.wrapping_add(1);
        self.block[place]
    }
}

/// The words of a slice of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomWords {
    /// The generator.
    pub generator: Generator,
    /// The index of the slice's first element in the whole tensor.
    pub first_element: u64,
}

#[cfg(test)]
mod tests {
    use super::{Ars5, Generator, Philox, WordByWord};

    #[test]
    fn generators_have_names() {
        assert_eq!(Generator::Philox(Philox { seed: 1, stream: 2 }).name(), "philox4x32-10");
        assert_eq!(Generator::Ars5(Ars5 { seed: 1, stream: 2 }).name(), "ars5");
    }

    #[test]
    fn a_seed_is_philox_on_stream_0() {
        assert_eq!(Generator::from(5), Generator::Philox(Philox { seed: 5, stream: 0 }));
        assert_eq!(Philox::from(5), Philox { seed: 5, stream: 0 });
    }

    /// From any element on, to the last and around to the first.
    #[test]
    fn words_one_by_one() {
        let generator = Generator::Philox(Philox { seed: 1, stream: 2 });
        for first in [0, 1, 3, 4, 7, u64::MAX - 2] {
            let mut words = WordByWord::new(generator, first);
            for i in 0..9 {
                let element = first.wrapping_add(i);
                let block = generator.block(element / 4);
                assert_eq!(
                    words.next(),
                    block[usize::try_from(element % 4).expect("one of four")],
                    "{first} + {i}"
                );
            }
        }
    }
}
