//! [`Encoder`]: wide floats → codes.

pub(crate) mod recode;
pub(crate) mod simd;
pub(crate) mod stochastic_table;

use std::marker::PhantomData;
use std::sync::OnceLock;

use smallfloat::{Class, Datum, FlagPolicy, Flags, Format, Projection, RandomBits, Rounded, convert_with};

use crate::arch::level::Level;
use crate::break_even::BreakEven;
use crate::element::classes::{BATCH, RoundingClasses};
use crate::element::{Code, Element, check_code, check_lengths};
use crate::encode::simd::SimdEncoder;
use crate::encode::stochastic_table::StochasticTable;
use crate::error::Error;
use crate::event_counts::{Counter, EventCounts, bit};
use crate::parallel;
use crate::random::{Generator, RandomWords, WordByWord};

/// Converts slices of `T` into codes of one format under one projection.
///
/// For deterministic rounding it is a table over rounding classes, filled by
/// [`smallfloat::convert`]: the same bits by construction, and the same time for any data. Vector
/// kernels do the same for most formats; for the stochastic roundings where 32 bits of ν decide:
/// StochasticA from up to 32 random bits, StochasticB from 31, StochasticC from 8 (from f32 or f64;
/// more from narrower sources, none into Tesla's formats). Otherwise these go by tables, or through
/// the core element by element.
///
/// Building one costs little. Where there is no vector kernel, the table is made once a quarter as
/// many elements as it has classes (some 4,000 for an 8-bit format, some 500,000 for SHP) have gone
/// through the core, so keep the encoder; [`for_length`](Self::for_length) decides at once.
#[derive(Clone, Debug)]
pub struct Encoder<T> {
    format: Format,
    projection: Projection,
    rounding_classes: RoundingClasses,
    level: Level,
    fast: Option<SimdEncoder>,
    /// For each class: the code, and above it flags and counted events. Filled when it is first
    /// needed, which a vector kernel may save; empty where there would be too many classes.
    table: OnceLock<Vec<u32>>,
    /// How many classes the table has.
    classes: usize,
    /// Two codes and their probability for each class, for StochasticA.
    chances: OnceLock<Option<StochasticTable>>,
    /// For about how many elements the tables are.
    length: usize,
    /// When the table of classes is made, where nobody has said for how many elements.
    waiting: Option<BreakEven>,
    /// The words of a stochastic rounding, where calls bring none.
    words: Option<RandomWords>,
    element: PhantomData<T>,
}

/// Returns whether these slices, one read and one written, push everything else out of the caches.
/// Kernels then write past them.
pub(crate) const fn streams<A, B>(read: &[A], written: &[B]) -> bool {
    size_of_val(read) + size_of_val(written) >= 64 << 20
}

/// Tables larger than this would not stay in a cache.
const MAX_CLASSES: usize = 1 << 21;

impl<T: Element> Encoder<T> {
    /// Returns an encoder for a format of at most 16 bits, with a deterministic rounding.
    ///
    /// # Errors
    /// A wider format, or a stochastic rounding, which [`seeded`](Self::seeded) takes.
    pub fn new(format: &Format, projection: &Projection) -> Result<Self, Error> {
        if projection.rounding.is_stochastic() {
            return Err(Error::NoRandomWords { mode: projection.rounding.name() });
        }
        let encoder = Self::for_length(format, projection, usize::MAX)?;
        Ok(Self { waiting: Some(BreakEven::default()), ..encoder })
    }

    /// Returns an encoder with a stochastic rounding, whose i-th element takes the generator's i-th
    /// word (a deterministic rounding ignores the words).
    ///
    /// ```
    /// use smallfloat::{Rounding, formats::E4M3FN, random::Philox};
    /// use smallfloat_kernels::Encoder;
    /// let projection = E4M3FN.default_projection().with_rounding(Rounding::stochastic_a(16)?);
    /// let encoder = Encoder::<f32>::seeded(&E4M3FN, &projection, Philox::new(7))?;
    /// let mut codes = [0_u8; 1000];
    /// encoder.encode(&[1.03125; 1000], &mut codes);
    /// // A quarter of the way from 1 to 1.125.
    /// let up = codes.iter().filter(|&&code| code == 0x39).count();
    /// assert!(codes.iter().all(|code| [0x38, 0x39].contains(code)) && (200..300).contains(&up));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A wider format, or a stochastic rounding that asks for more than 32 random bits.
    pub fn seeded(
        format: &Format,
        projection: &Projection,
        generator: impl Into<Generator>,
    ) -> Result<Self, Error> {
        Self::for_length(format, projection, usize::MAX)
            .map(|encoder| encoder.with_words(RandomWords { generator: generator.into(), first_element: 0 }))
    }

    /// Returns an encoder for about this many elements: few of them go through the core one by one,
    /// to the same codes. With a stochastic rounding it is for
    /// [`encode_random`](Self::encode_random), or [`with_words`](Self::with_words) gives it words.
    ///
    /// # Errors
    /// A wider format, or a stochastic rounding that asks for more than 32 random bits.
    pub fn for_length(format: &Format, projection: &Projection, length: usize) -> Result<Self, Error> {
        if format.is_wide() {
            return Err(Error::TooWide { format: *format });
        }
        if let Some(bits) = projection.rounding.random_bits() {
            RandomBits::from_word32(bits.count(), 0)?;
        }
        let rounding_classes = RoundingClasses::new(&T::FORMAT, format);
        let classes = 2 * rounding_classes.magnitudes();
        let by_core = projection.rounding.is_stochastic() || classes > MAX_CLASSES.min(length);
        let classes = if by_core { 0 } else { classes };
        let encoder = Self {
            format: *format,
            projection: *projection,
            rounding_classes,
            level: Level::Portable,
            fast: None,
            table: OnceLock::new(),
            classes,
            chances: OnceLock::new(),
            length,
            waiting: None,
            words: None,
            element: PhantomData,
        };
        Ok(encoder.with_level(Level::detected()))
    }

    /// Returns this encoder with the words that a stochastic rounding takes where a call brings
    /// none.
    #[must_use]
    pub fn with_words(mut self, words: RandomWords) -> Self {
        self.words = Some(words);
        self
    }

    /// Returns this encoder with the kernels of another level; of a level that the machine can't
    /// run, with those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        self.fast = SimdEncoder::new(self.level, &T::FORMAT, &self.format, &self.projection);
        self
    }

    /// Returns the level of the kernels this encoder uses.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the format encoded into.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Encodes a slice and counts what happened. Typed scalars take codes of their own format.
    ///
    /// # Panics
    /// If the slices differ in length, the code type is too narrow or a scalar of another format,
    /// or the rounding mode is stochastic and the encoder has no words.
    pub fn encode<C: Code>(&self, source: &[T], codes: &mut [C]) -> EventCounts {
        if let Some(words) = self.needed_words() {
            return self.encode_random(source, codes, words);
        }
        self.check(source, codes);
        let stream = streams(source, codes);
        parallel::zip(source, codes, &|_, source, codes| {
            if let Some(events) = self.fast.and_then(|fast| fast.encode(source, codes, stream)) {
                return events;
            }
            self.portable(source, codes)
        })
    }

    /// Like [`encode`](Self::encode), with the flags of each element, which are those of
    /// [`smallfloat::convert_with`] by [`FlagPolicy::TESLA`], whatever the formats.
    ///
    /// ```
    /// use smallfloat::{Flags, formats::E5M2};
    /// use smallfloat_kernels::Encoder;
    /// let encoder = Encoder::<f32>::new(&E5M2, &E5M2.default_projection())?;
    /// let (mut codes, mut flags) = ([0_u8; 3], [Flags::NONE; 3]);
    /// encoder.encode_with_flags(&[1.0, 1.1, 1e9], &mut codes, &mut flags);
    /// assert_eq!(codes, [0x3c, 0x3c, 0x7c]);
    /// assert_eq!(flags, [Flags::NONE, Flags::INEXACT, Flags::OVERFLOW | Flags::INEXACT]);
    /// # Ok::<(), smallfloat_kernels::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_with_flags<C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        flags: &mut [Flags],
    ) -> EventCounts {
        self.check(source, codes);
        check_lengths((source.len(), "elements"), (flags.len(), "flags"));
        let words = self.needed_words();
        parallel::zip_two(source, codes, flags, &|start, source, codes, flags| {
            let mut each = source.iter().zip(flags);
            let seen = |entry: u32| {
                let (x, flags) = each.next().expect("an entry per element");
                let [raised, ..] = (entry >> bit::FLAGS).to_le_bytes();
                let denormal =
                    if self.rounding_classes.is_subnormal(x.bits()) { Flags::DENORMAL } else { Flags::NONE };
                *flags = Flags::from_bits_truncate(raised).union(denormal);
            };
            match words {
                Some(words) => {
                    let first = words.first_element.wrapping_add(start as u64);
                    self.by_words(source, codes, &words.generator, first, seen)
                }
                None => match self.table(source.len()) {
                    Some(table) => self.by_table(table, source, codes, seen),
                    None => self.element_by_element(source, codes, |_| self.projection, seen),
                },
            }
        })
    }

    /// The words of a stochastic rounding; `None` with a deterministic one.
    fn needed_words(&self) -> Option<RandomWords> {
        if !self.projection.rounding.is_stochastic() {
            return None;
        }
        let words = self.words;
        assert!(words.is_some(), "stochastic rounding needs random words: Encoder::seeded or encode_random");
        words
    }

    /// As [`encode`](Self::encode), but tells nothing about what happened: some kernels are faster
    /// for it.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_uncounted<C: Code>(&self, source: &[T], codes: &mut [C]) {
        if let Some(words) = self.needed_words() {
            self.encode_random(source, codes, words);
            return;
        }
        self.check(source, codes);
        let stream = streams(source, codes);
        parallel::zip(source, codes, &|_, source, codes| {
            if self.fast.and_then(|fast| fast.encode_only(source, codes, stream)).is_some() {
                return EventCounts::default();
            }
            self.portable(source, codes)
        });
    }

    /// The portable way: the table, or the core where there is none.
    fn portable<C: Code>(&self, source: &[T], codes: &mut [C]) -> EventCounts {
        match self.table(source.len()) {
            Some(table) => self.by_table(table, source, codes, |_| {}),
            None => self.element_by_element(source, codes, |_| self.projection, |_| {}),
        }
    }

    /// Encodes a slice with a stochastic rounding mode (a deterministic one ignores the words).
    ///
    /// # Panics
    /// If the slices differ in length, or the code type is too narrow or a scalar of another
    /// format.
    pub fn encode_random<C: Code>(&self, source: &[T], codes: &mut [C], words: RandomWords) -> EventCounts {
        if !self.projection.rounding.is_stochastic() {
            return self.encode(source, codes);
        }
        let RandomWords { generator, first_element } = words;
        self.check(source, codes);
        let count = self.projection.rounding.random_bits().map_or(0, RandomBits::count);
        parallel::zip(source, codes, &|start, source, codes| {
            let first = first_element.wrapping_add(start as u64);
            // Vectors count blocks of words upward; the last element's word is followed by the
            // first.
            let wraps = first.checked_add(source.len() as u64).is_none();
            let fast = self
                .fast
                .filter(|_| !wraps)
                .and_then(|fast| fast.encode_random(source, codes, (&generator, self.level), first, count));
            fast.unwrap_or_else(|| self.by_words(source, codes, &generator, first, |_| {}))
        })
    }

    /// The vector kernels, where there are some for the format.
    pub(crate) fn simd(&self) -> Option<SimdEncoder> {
        self.fast
    }

    /// The projection.
    pub(crate) fn projection(&self) -> &Projection {
        &self.projection
    }

    pub(crate) fn check<C: Code>(&self, source: &[T], codes: &[C]) {
        check_lengths((source.len(), "elements"), (codes.len(), "codes"));
        check_code::<C>(&self.format);
    }

    /// The entries of all classes, if there may be such a table, and so many more elements are
    /// enough for it.
    #[inline(never)]
    fn table(&self, elements: usize) -> Option<&[u32]> {
        let is_early = |waiting: &BreakEven| !waiting.is_reached(elements, self.classes);
        let is_without = || self.classes == 0 || self.waiting.as_ref().is_some_and(is_early);
        if self.table.get().is_none() && is_without() {
            return None;
        }
        let code = |class| {
            entry(self.rounding_classes.representative(class), &T::FORMAT, &self.format, &self.projection)
        };
        Some(self.table.get_or_init(|| (0..self.classes).map(code).collect()))
    }

    /// By the table of all classes; `seen` gets the entry of each element.
    fn by_table<C: Code>(
        &self,
        table: &[u32],
        source: &[T],
        codes: &mut [C],
        mut seen: impl FnMut(u32),
    ) -> EventCounts {
        let mut classes = [0; BATCH];
        let (mut counter, mut denormal) = (Counter::default(), false);
        for (source, codes) in source.chunks(BATCH).zip(codes.chunks_mut(BATCH)) {
            denormal |= T::classify(source, &self.rounding_classes, &mut classes, None).denormal;
            for (class, code) in classes.iter().zip(codes) {
                let entry = table[*class as usize];
                counter.add(entry);
                seen(entry);
                *code = C::from_code(entry & CODE);
            }
            counter.empty_lanes();
        }
        counter.finish(source.len(), denormal)
    }

    fn by_words<C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        generator: &Generator,
        first: u64,
        seen: impl FnMut(u32),
    ) -> EventCounts {
        let count = self.projection.rounding.random_bits().map_or(0, RandomBits::count);
        let mut words = WordByWord::new(*generator, first);
        let chances = self
            .chances
            .get_or_init(|| StochasticTable::new(&T::FORMAT, &self.format, &self.projection, self.length));
        if let Some(chances) = chances {
            return chances.encode(source, codes, || words.next(), seen);
        }
        let drawn = |_| {
            let bits =
                RandomBits::from_word32(count, words.next()).expect("the constructor checked the count");
            self.projection.with_rounding(self.projection.rounding.with_random_bits(bits))
        };
        self.element_by_element(source, codes, drawn, seen)
    }

    /// The reference of every faster path: the core, element by element.
    fn element_by_element<C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        mut projection: impl FnMut(usize) -> Projection,
        mut seen: impl FnMut(u32),
    ) -> EventCounts {
        let (mut counter, mut denormal) = (Counter::default(), false);
        for (i, (x, code)) in source.iter().zip(codes).enumerate() {
            let entry = entry(x.bits(), &T::FORMAT, &self.format, &projection(i));
            denormal |= T::FORMAT.classify(x.bits()) == Class::Subnormal;
            counter.add(entry);
            seen(entry);
            if i % BATCH == BATCH - 1 {
                counter.empty_lanes();
            }
            *code = C::from_code(entry & CODE);
        }
        counter.finish(source.len(), denormal)
    }
}

/// The code in a table's entry.
pub(crate) const CODE: u32 = (1 << bit::FLAGS) - 1;

/// Code, flags by Tesla's rules (but for the denormal one) and events of one element, by the core.
pub(crate) fn entry(bits: u64, from: &Format, format: &Format, projection: &Projection) -> u32 {
    let Rounded { value, flags } = convert_with(bits, from, format, projection, FlagPolicy::TESLA);
    let source = from.decode(bits);
    let zero = format.classify(value) == Class::Zero;
    let events = u32::from(flags.contains(Flags::OVERFLOW)) << bit::OVERFLOWED
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

#[cfg(test)]
mod tests {
    use smallfloat::Rounding;
    use smallfloat::formats::{BFLOAT16, E4M3FN};

    use super::{Element, Encoder, Format, MAX_CLASSES, RandomBits, streams};

    #[test]
    fn long_slices_stream() {
        let (bytes, halves) = (vec![0_u8; 32 << 20], vec![0_u16; 16 << 20]);
        assert!(streams(&bytes, &bytes) && streams(&bytes, &halves) && streams(&halves, &bytes));
        assert!(!streams(&bytes, &bytes[1..]) && !streams(&halves[1..], &bytes));
        assert!(!streams(&bytes, &bytes[..1]) && !streams::<u8, u8>(&[], &[]));
    }

    /// Tables are made where they are not larger than the data, nor than a cache.
    /// A table is made when a quarter as many elements have gone by the core; codes and events are
    /// the same before, on the way and after.
    #[test]
    fn tables_wait_for_elements() {
        let format: Format = "e8m0fnu".parse().expect("a format");
        let projection = format.default_projection();
        let waiting = Encoder::<f32>::new(&format, &projection).expect("an encoder");
        let at_once = Encoder::<f32>::for_length(&format, &projection, usize::MAX).expect("an encoder");
        let x: Vec<f32> =
            (0..100_u16).map(|i| (f32::from(i) - 3.0) * 1e-40_f32.powi(i32::from(i % 3))).collect();
        let mut encoded = 0;
        while encoded < waiting.classes / 4 {
            assert!(waiting.table.get().is_none(), "{encoded}");
            let (mut codes, mut expected) = ([0_u8; 100], [0_u8; 100]);
            let events = waiting.encode(&x, &mut codes);
            assert_eq!((events, codes), (at_once.encode(&x, &mut expected), expected));
            encoded += x.len();
        }
        assert!(waiting.table.get().is_some() && at_once.table.get().is_some());
    }

    #[test]
    fn when_there_is_a_table() {
        fn classes<T: Element>(format: &Format, length: usize) -> usize {
            Encoder::<T>::for_length(format, &format.default_projection(), length)
                .expect("an encoder")
                .classes
        }
        // Of each sign, zero, two for each of 24 · 16 ranges, one after the last, ∞ and NaN.
        let all = 2 * (1 + 24 * 16 * 2 + 1 + 2);
        for (length, expected) in [(usize::MAX, all), (all, all), (all - 1, 0), (0, 0)] {
            assert_eq!(classes::<f32>(&E4M3FN, length), expected, "{length}");
        }
        let large = |name: &str| classes::<f64>(&name.parse().expect("a format"), usize::MAX);
        assert!((1..=MAX_CLASSES).contains(&large("binary16p13se")));
        assert_eq!((large("binary16p15se"), MAX_CLASSES), (0, 2_097_152));
        assert!(classes::<f64>(&BFLOAT16, usize::MAX) > 100_000);
        let bits = RandomBits::new(8, 0).expect("eight bits");
        let projection = E4M3FN.default_projection().with_rounding(Rounding::StochasticA(bits));
        assert_eq!(
            Encoder::<f32>::for_length(&E4M3FN, &projection, usize::MAX).expect("an encoder").classes,
            0
        );
    }
}
