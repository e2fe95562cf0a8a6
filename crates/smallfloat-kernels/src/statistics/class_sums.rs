//! [`ClassSums`]: one pass of statistics from which the exact squared error of every bias follows.
//!
//! A format whose bias varies always rounds at places of P + 1 significant bits, so all values of
//! one rounding class (see `key.rs`) share their quantized value q, whatever the bias. With the
//! count n, Σx and Σx² of a class, Σ(x − q)² = Σx² − 2q·Σx + n·q² exactly. Sums are integers, so
//! they add up in any order.

use std::marker::PhantomData;

use smallfloat::{Datum, Format};

use crate::arch::level::Level;
use crate::element::Element;
use crate::element::classes::{BATCH, RoundingClasses, Seen};
use crate::parallel;
use crate::statistics::accumulator;
use crate::statistics::accumulator::{ClassAccumulator, Sums};

/// Exponents beyond which no bias makes a difference: every format with a free bias lies well
/// inside. f64 values outside count as 2^LOWEST and 2^HIGHEST; the other types have none.
const LOWEST: i32 = -150;
const HIGHEST: i32 = 128;
/// No format with a free bias rounds smaller magnitudes to anything but zero.
const FINE_FROM: i32 = -80;

/// Counts and exact sums of a tensor's magnitudes for each rounding class of a precision.
#[derive(Clone, Debug)]
pub struct ClassSums<T> {
    rounding_classes: RoundingClasses,
    level: Level,
    /// Sums of each class; none before any were needed.
    sums: Vec<Sums>,
    /// Sums of the latest elements, where vectors add them up.
    recent: Option<ClassAccumulator>,
    /// The index of the first element that is not finite.
    first_not_finite: Option<u64>,
    negative: bool,
    amax_bits: u64,
    elements: u64,
    element: PhantomData<T>,
}

/// One class that occurs: its elements are (first + trailing) · 2^exponent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClassSum {
    /// A value of the class: all of them round alike.
    pub representative: Datum,
    /// How many elements.
    pub count: u64,
    /// The class's smallest value in units of 2^exponent.
    pub first: u64,
    /// Σ (x − first), in units of 2^exponent.
    pub sum: u128,
    /// Σ (x − first)², in units of 2^(2·exponent).
    pub sum_of_squares: u128,
    /// The exponent of the source's last place in this class.
    pub exponent: i32,
}

impl<T: Element> ClassSums<T> {
    /// Returns empty statistics for formats with this precision, in bits.
    pub fn new(precision: u32) -> Self {
        let rounding_classes = RoundingClasses::covering(&T::FORMAT, precision, FINE_FROM, LOWEST, HIGHEST);
        Self::empty(rounding_classes, Level::detected())
    }

    /// Returns this with the kernels of another level; of a level that the machine can't run, with
    /// those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.settle();
        self.level = level.at_most_available();
        self.recent = ClassAccumulator::new::<T>(self.level, &self.rounding_classes);
        self
    }

    fn empty(rounding_classes: RoundingClasses, level: Level) -> Self {
        Self {
            rounding_classes,
            level,
            sums: Vec::new(),
            recent: ClassAccumulator::new::<T>(level, &rounding_classes),
            first_not_finite: None,
            negative: false,
            amax_bits: 0,
            elements: 0,
            element: PhantomData,
        }
    }

    /// Adds a slice's elements after those seen before.
    pub fn add(&mut self, values: &[T]) {
        // Each part has sums of its own: worth it only if there are far more elements.
        let parts = parallel::in_parts(values, 8 * self.rounding_classes.magnitudes(), |_, piece| {
            let mut part = Self::empty(self.rounding_classes, self.level);
            part.add_piece(piece);
            part
        });
        match parts {
            Some(parts) => parts.into_iter().for_each(|part| self.merge(part)),
            None => self.add_piece(values),
        }
    }

    /// Returns the statistics of these elements followed by others, counted for the same precision.
    ///
    /// # Panics
    /// If the precisions differ.
    #[must_use]
    pub fn joined(mut self, later: Self) -> Self {
        assert!(self.rounding_classes == later.rounding_classes, "statistics must be of one precision");
        self.merge(later);
        self
    }

    fn merge(&mut self, mut later: Self) {
        later.settle();
        for (sums, other) in self.all_sums().iter_mut().zip(&later.sums) {
            add_sums(sums, *other);
        }
        let first_later = later.first_not_finite.map(|first| self.elements + first);
        self.first_not_finite = self.first_not_finite.or(first_later);
        self.negative |= later.negative;
        self.amax_bits = self.amax_bits.max(later.amax_bits);
        self.elements += later.elements;
    }

    /// The sums of all classes but recent ones.
    fn all_sums(&mut self) -> &mut [Sums] {
        if self.sums.is_empty() {
            self.sums = vec![[0; 3]; self.rounding_classes.magnitudes()];
        }
        &mut self.sums
    }

    /// Joins recent sums to the others.
    fn settle(&mut self) {
        let Some(mut recent) = self.recent.take() else { return };
        for (class, sums) in self.all_sums().iter_mut().enumerate() {
            add_sums(sums, recent.of(class));
        }
        recent.clear();
        self.recent = Some(recent);
    }

    fn of(&self, class: usize) -> Sums {
        let mut sums = self.sums.get(class).copied().unwrap_or_default();
        if let Some(recent) = &self.recent {
            add_sums(&mut sums, recent.of(class));
        }
        sums
    }

    fn add_piece(&mut self, values: &[T]) {
        /// Elements of a vector kernel's call.
        const BLOCK: usize = 1 << 14;
        let length = if self.recent.is_some() { BLOCK } else { BATCH };
        for batch in values.chunks(length) {
            if self.recent.as_ref().is_some_and(|recent| !recent.has_room(batch.len())) {
                self.settle();
            }
            let seen = match &mut self.recent {
                Some(recent) => recent.add(batch),
                None => self.add_batch(batch),
            };
            self.negative |= seen.negative;
            self.amax_bits = self.amax_bits.max(seen.amax);
            if self.first_not_finite.is_none() && self.nans() + self.infinities() > 0 {
                let first =
                    batch.iter().position(|x| !x.to_f64().is_finite()).expect("this batch has the first");
                self.first_not_finite = Some(self.elements + first as u64);
            }
            self.elements += batch.len() as u64;
        }
    }

    /// The portable of the vector kernels, for at most [`BATCH`] elements.
    fn add_batch(&mut self, values: &[T]) -> Seen {
        let (mut classes, mut trailing) = ([0; BATCH], [0; BATCH]);
        let seen = T::classify(values, &self.rounding_classes, &mut classes, Some(&mut trailing));
        let magnitudes =
            u32::try_from(self.rounding_classes.magnitudes()).expect("classes are numbered by 32 bits");
        let sums = self.all_sums();
        for (class, &trailing) in classes[..values.len()].iter().zip(&trailing) {
            // Errors are symmetric in sign: negative classes join the positive ones.
            let class = if *class >= magnitudes { class - magnitudes } else { *class };
            let trailing = u128::from(trailing);
            add_sums(&mut sums[class as usize], [1, trailing, trailing * trailing]);
        }
        seen
    }

    /// Returns the classes that occur, from small to large magnitudes.
    pub fn iter(&self) -> impl Iterator<Item = ClassSum> + '_ {
        let finite = (1..self.rounding_classes.infinite()).map(|class| (class, self.of(class)));
        finite.filter(|(_, [count, ..])| *count > 0).map(|(class, [count, sum, sum_of_squares])| {
            let bits = self.rounding_classes.representative(class);
            let first_bits = bits - self.rounding_classes.trailing(bits);
            let (first, exponent) = significand_and_exponent(&T::FORMAT, first_bits);
            ClassSum {
                representative: T::FORMAT.decode(bits),
                count: whole(count),
                first,
                sum,
                sum_of_squares,
                exponent,
            }
        })
    }

    /// Returns the length of the table: how many classes there are, whether they occur or not. Each
    /// takes at most 80 bytes.
    pub fn classes(&self) -> usize {
        self.rounding_classes.magnitudes()
    }

    /// Returns how many elements were seen.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns how many are ±0.
    pub fn zeros(&self) -> u64 {
        whole(self.of(0)[0])
    }

    /// Returns how many are NaN.
    pub fn nans(&self) -> u64 {
        whole(self.of(self.rounding_classes.infinite() + 1)[0])
    }

    /// Returns how many are infinite.
    pub fn infinities(&self) -> u64 {
        whole(self.of(self.rounding_classes.infinite())[0])
    }

    /// Returns the index of the first element that is NaN or infinite.
    pub fn first_not_finite(&self) -> Option<u64> {
        self.first_not_finite
    }

    /// Returns whether any element is below zero.
    pub fn has_negative(&self) -> bool {
        self.negative
    }

    /// Returns the largest finite magnitude, exactly; zero for a tensor of zeros.
    pub fn amax(&self) -> Datum {
        T::FORMAT.decode(self.amax_bits)
    }

    /// Returns how many finite non-zero elements have each binary exponent ⌊log2 |x|⌋, in ascending
    /// order.
    pub fn exponents(&self) -> Vec<(i32, u64)> {
        let mut counts: Vec<(i32, u64)> = Vec::new();
        for cell in self.iter() {
            let exponent = cell.representative.exponent_of_leading_bit();
            match counts.last_mut() {
                Some((last, count)) if *last == exponent => *count += cell.count,
                _ => counts.push((exponent, cell.count)),
            }
        }
        counts
    }
}

/// Returns the largest finite magnitude of a slice, exactly: NaN and infinities are passed over,
/// and where nothing else is left it is zero. [`ClassSums`] says how many there are. Neither level
/// nor threads change a bit.
///
/// ```
/// use smallfloat_kernels::{Level, amax};
/// assert_eq!(amax(&[1.0_f32, -3.5, f32::NAN, f32::NEG_INFINITY], Level::detected()), 3.5);
/// ```
pub fn amax<T: Element>(values: &[T], level: Level) -> T {
    /// Elements a thread takes at once.
    const BLOCK: usize = 1 << 16;
    let rounding_classes = RoundingClasses::covering(&T::FORMAT, 1, FINE_FROM, LOWEST, HIGHEST);
    let portable = |values: &[T]| {
        let mut classes = [0; BATCH];
        let batches = values.chunks(BATCH);
        batches.map(|batch| T::classify(batch, &rounding_classes, &mut classes, None).amax).max().unwrap_or(0)
    };
    let of_block = |_, values: &[T]| {
        accumulator::largest(level, &rounding_classes, values).unwrap_or_else(|| portable(values))
    };
    T::from_bits(parallel::map_blocks(BLOCK, values, of_block).into_iter().max().unwrap_or(0))
}

fn add_sums(sums: &mut Sums, other: Sums) {
    for (sum, other) in sums.iter_mut().zip(other) {
        *sum += other;
    }
}

/// A count of elements, which are never more than memory holds.
fn whole(count: u128) -> u64 {
    u64::try_from(count).expect("memory holds fewer than 2^64 elements")
}

/// Magnitude bits as an integer significand and the exponent of its last place.
fn significand_and_exponent(format: &Format, magnitude: u64) -> (u64, i32) {
    let stored = format.trailing_bits();
    let (lowest, _) = format.exponent_range();
    let (field, trailing) = (magnitude >> stored, magnitude & ((1 << stored) - 1));
    #[expect(clippy::cast_possible_truncation, reason = "exponent fields have 11 bits")]
    let above = field.saturating_sub(1) as i32;
    let hidden = u64::from(field > 0) << stored;
    (hidden | trailing, lowest + above - stored.cast_signed())
}
