//! [`Encoder`]: wide floats → codes.

use std::marker::PhantomData;

use smallfloat::random::Philox;
use smallfloat::{Class, Datum, Flags, Format, Projection, RandomBits, Rounded, convert};

use crate::events::{Counter, bit};
use crate::key::{BATCH, Keys};
use crate::{Code, Element, Error, Events, parallel};

/// Where the words of a stochastic rounding come from: word of element i = Philox(seed, stream)(i), so that neither
/// chunks nor threads change a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random {
    /// The generator.
    pub philox: Philox,
    /// The index of the slice's first element in the whole tensor.
    pub first_element: u64,
}

/// Converts slices of `T` into codes of one format under one projection.
///
/// Building one costs as much as encoding the table's classes one by one: some 4,000 for an 8-bit format, some 500,000
/// for SHP. So keep it, and say with [`for_length`](Self::for_length) if it is for little data. For deterministic rounding it is a
/// table over rounding classes, filled by [`smallfloat::convert`]: the same bits by construction, and the same time for
/// any data. Stochastic rounding goes through the core element by element.
#[derive(Clone, Debug)]
pub struct Encoder<T> {
    format: Format,
    how: Projection,
    keys: Keys,
    /// For each class: the code, and above it flags and counted events. Empty where there would be too many classes.
    table: Vec<u32>,
    element: PhantomData<T>,
}

/// Tables larger than this would not stay in a cache.
const MAX_CLASSES: usize = 1 << 21;

impl<T: Element> Encoder<T> {
    /// An encoder for a format of at most 16 bits.
    ///
    /// # Errors
    /// A wider format, or a stochastic rounding that asks for more than 32 random bits.
    pub fn new(format: &Format, how: &Projection) -> Result<Self, Error> {
        Self::for_length(format, how, usize::MAX)
    }

    /// An encoder for about this many elements: few of them go through the core one by one, to the same codes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_length(format: &Format, how: &Projection, length: usize) -> Result<Self, Error> {
        if format.is_wide() {
            return Err(Error::TooWide { format: *format });
        }
        if let Some(bits) = how.rounding.random_bits() {
            RandomBits::from_word32(bits.count(), 0).map_err(Error::RandomBits)?;
        }
        let keys = Keys::new(&T::FORMAT, format);
        let classes = 2 * keys.magnitudes();
        let by_core = how.rounding.is_stochastic() || classes > MAX_CLASSES.min(length);
        let classes = if by_core { 0 } else { classes };
        let table = (0..classes).map(|class| entry::<T>(keys.representative(class), format, how)).collect();
        Ok(Self { format: *format, how: *how, keys, table, element: PhantomData })
    }

    /// The format encoded into.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Encodes a slice with a deterministic rounding mode; counts what happened.
    ///
    /// # Panics
    /// If the slices differ in length, the code type is too narrow, or the rounding mode is stochastic.
    pub fn encode<C: Code>(&self, source: &[T], codes: &mut [C]) -> Events {
        assert!(!self.how.rounding.is_stochastic(), "stochastic rounding needs random words: encode_random");
        self.check(source, codes);
        parallel::zip(source, codes, |_, source, codes| {
            if self.table.is_empty() { self.by_core(source, codes) } else { self.by_table(source, codes) }
        })
    }

    /// Encodes a slice with a stochastic rounding mode (a deterministic one ignores the words).
    ///
    /// # Panics
    /// If the slices differ in length or the code type is too narrow.
    pub fn encode_random<C: Code>(&self, source: &[T], codes: &mut [C], random: Random) -> Events {
        if !self.how.rounding.is_stochastic() {
            return self.encode(source, codes);
        }
        self.check(source, codes);
        parallel::zip(source, codes, |start, source, codes| {
            self.by_words(source, codes, random.philox, random.first_element + start as u64)
        })
    }

    fn check<C: Code>(&self, source: &[T], codes: &[C]) {
        assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
        assert!(self.format.width() <= C::BITS, "{} needs codes wider than {} bits", self.format, C::BITS);
    }

    fn by_table<C: Code>(&self, source: &[T], codes: &mut [C]) -> Events {
        let mut classes = [0; BATCH];
        let (mut counter, mut denormal) = (Counter::default(), false);
        for (source, codes) in source.chunks(BATCH).zip(codes.chunks_mut(BATCH)) {
            denormal |= T::classify(source, &self.keys, &mut classes, None).denormal;
            for (class, code) in classes.iter().zip(codes) {
                let entry = self.table[*class as usize];
                counter.add(entry);
                *code = C::from_code(entry);
            }
            counter.empty_lanes();
        }
        counter.finish(source.len(), denormal)
    }

    /// The twin of every faster way: the core, element by element.
    fn by_core<C: Code>(&self, source: &[T], codes: &mut [C]) -> Events {
        self.element_by_element(source, codes, |_| self.how)
    }

    fn by_words<C: Code>(&self, source: &[T], codes: &mut [C], philox: Philox, first: u64) -> Events {
        let count = self.how.rounding.random_bits().map_or(0, RandomBits::count);
        let (mut block, mut words) = (first / 4, philox.block(first / 4));
        self.element_by_element(source, codes, |i| {
            let element = first + i as u64;
            if element / 4 != block {
                (block, words) = (element / 4, philox.block(element / 4));
            }
            let word = words[(element % 4) as usize];
            // `new` has checked that 32 bits are enough.
            match RandomBits::from_word32(count, word) {
                Ok(bits) => self.how.with_rounding(self.how.rounding.with_random_bits(bits)),
                Err(_) => self.how,
            }
        })
    }

    fn element_by_element<C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        mut how: impl FnMut(usize) -> Projection,
    ) -> Events {
        let (mut counter, mut denormal) = (Counter::default(), false);
        for (i, (x, code)) in source.iter().zip(codes).enumerate() {
            let entry = entry::<T>(x.bits(), &self.format, &how(i));
            denormal |= T::FORMAT.classify(x.bits()) == Class::Subnormal;
            counter.add(entry);
            if i % BATCH == BATCH - 1 {
                counter.empty_lanes();
            }
            *code = C::from_code(entry);
        }
        counter.finish(source.len(), denormal)
    }
}

/// Code, flags and events of one element, by the core.
fn entry<T: Element>(bits: u64, format: &Format, how: &Projection) -> u32 {
    let Rounded { value, flags } = convert(bits, &T::FORMAT, format, how);
    let source = T::FORMAT.decode(bits);
    let zero = format.classify(value) == Class::Zero;
    let events = u32::from(flags.contains(Flags::OVERFLOW)) << bit::SATURATED
        | u32::from(zero && source.is_finite() && !source.is_zero()) << bit::UNDERFLOWED
        | u32::from(zero) << bit::ZERO
        | u32::from(source.is_nan()) << bit::NAN
        | u32::from(matches!(source, Datum::Infinite { .. })) << bit::INFINITE;
    // The denormal flag is the element's own: classes join subnormals with their neighbours.
    let flags = flags.bits() & !Flags::DENORMAL.bits();
    #[expect(clippy::cast_possible_truncation, reason = "codes have at most 16 bits")]
    let code = value as u32;
    code | u32::from(flags) << bit::FLAGS | events << bit::COUNTED
}
