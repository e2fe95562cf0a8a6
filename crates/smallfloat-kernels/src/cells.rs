//! [`Cells`]: one pass of statistics from which the exact squared error of every bias follows.
//!
//! A format whose bias varies always rounds at places of P + 1 significant bits, so all values of one rounding class
//! (see `key.rs`) share their quantized value q, whatever the bias. With the count n, Σx and Σx² of a class,
//! Σ(x − q)² = Σx² − 2q·Σx + n·q² exactly. Sums are integers, so they add up in any order.

use std::marker::PhantomData;

use smallfloat::{Datum, Format};

use crate::key::{BATCH, Keys};
use crate::{Element, parallel};

/// Exponents beyond which no bias makes a difference: every format with a free bias lies well inside. f64 values
/// outside count as 2^LOWEST and 2^HIGHEST; the other types have none.
const LOWEST: i32 = -150;
const HIGHEST: i32 = 128;
/// No format with a free bias rounds smaller magnitudes to anything but zero.
const FINE_FROM: i32 = -80;

#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    count: u64,
    /// Σ of the trailing bits below the class's first value, and of their squares, in the source's last place.
    trailing: u128,
    trailing_squared: u128,
}

/// Counts and exact sums of a tensor's magnitudes for each rounding class of a precision.
#[derive(Clone, Debug)]
pub struct Cells<T> {
    keys: Keys,
    sums: Vec<Sums>,
    /// The index of the first element that is not finite.
    first_not_finite: Option<u64>,
    negative: bool,
    amax_bits: u64,
    elements: u64,
    element: PhantomData<T>,
}

/// One class that occurs: its elements are (first + trailing) · 2^exponent.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
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

impl<T: Element> Cells<T> {
    /// Empty statistics for formats with this precision, in bits.
    pub fn new(precision: u32) -> Self {
        let keys = Keys::covering(&T::FORMAT, precision, FINE_FROM, LOWEST, HIGHEST);
        Self {
            keys,
            sums: vec![Sums::default(); keys.magnitudes()],
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
        let parts = parallel::in_parts(values, 8 * self.sums.len(), |_, piece| {
            let mut part = Self { sums: vec![Sums::default(); self.sums.len()], ..Self::empty(self.keys) };
            part.add_piece(piece);
            part
        });
        match parts {
            Some(parts) => parts.iter().for_each(|part| self.merge(part)),
            None => self.add_piece(values),
        }
    }

    fn empty(keys: Keys) -> Self {
        Self {
            keys,
            sums: Vec::new(),
            first_not_finite: None,
            negative: false,
            amax_bits: 0,
            elements: 0,
            element: PhantomData,
        }
    }

    /// These elements followed by others, counted for the same precision.
    ///
    /// # Panics
    /// If the precisions differ.
    #[must_use]
    pub fn joined(mut self, later: &Self) -> Self {
        assert_eq!(self.keys, later.keys, "statistics must be of one precision");
        self.merge(later);
        self
    }

    fn merge(&mut self, later: &Self) {
        for (sum, other) in self.sums.iter_mut().zip(&later.sums) {
            sum.count += other.count;
            sum.trailing += other.trailing;
            sum.trailing_squared += other.trailing_squared;
        }
        let first_later = later.first_not_finite.map(|first| self.elements + first);
        self.first_not_finite = self.first_not_finite.or(first_later);
        self.negative |= later.negative;
        self.amax_bits = self.amax_bits.max(later.amax_bits);
        self.elements += later.elements;
    }

    fn add_piece(&mut self, values: &[T]) {
        let (mut classes, mut trailing) = ([0; BATCH], [0; BATCH]);
        let magnitudes = u32::try_from(self.keys.magnitudes()).unwrap_or(u32::MAX);
        for batch in values.chunks(BATCH) {
            let seen = T::classify(batch, &self.keys, &mut classes, Some(&mut trailing));
            self.negative |= seen.negative;
            self.amax_bits = self.amax_bits.max(seen.amax);
            let not_finite = self.nans() + self.infinities();
            for (class, &trailing) in classes[..batch.len()].iter().zip(&trailing) {
                // Errors are symmetric in sign: negative classes join the positive ones.
                let class = if *class >= magnitudes { class - magnitudes } else { *class };
                let sums = &mut self.sums[class as usize];
                sums.count += 1;
                sums.trailing += u128::from(trailing);
                sums.trailing_squared += u128::from(trailing) * u128::from(trailing);
            }
            if self.nans() + self.infinities() > not_finite && self.first_not_finite.is_none() {
                let first = batch.iter().position(|x| !x.to_f64().is_finite()).unwrap_or(0);
                self.first_not_finite = Some(self.elements + first as u64);
            }
            self.elements += batch.len() as u64;
        }
    }

    /// The classes that occur, from small to large magnitudes.
    pub fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        let finite = &self.sums[..self.keys.infinite()];
        finite.iter().enumerate().skip(1).filter(|(_, sums)| sums.count > 0).map(|(class, sums)| {
            let bits = self.keys.representative(class);
            let first_bits = bits - self.keys.trailing(bits);
            let (first, exponent) = significand_and_exponent(&T::FORMAT, first_bits);
            Cell {
                representative: T::FORMAT.decode(bits),
                count: sums.count,
                first,
                sum: sums.trailing,
                sum_of_squares: sums.trailing_squared,
                exponent,
            }
        })
    }

    /// The length of the table: how many classes there are, whether they occur or not. Each takes 48 bytes.
    pub fn classes(&self) -> usize {
        self.sums.len()
    }

    /// How many elements were seen.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// How many are ±0.
    pub fn zeros(&self) -> u64 {
        self.sums[0].count
    }

    /// How many are NaN.
    pub fn nans(&self) -> u64 {
        self.sums[self.keys.infinite() + 1].count
    }

    /// How many are infinite.
    pub fn infinities(&self) -> u64 {
        self.sums[self.keys.infinite()].count
    }

    /// The index of the first element that is NaN or infinite.
    pub fn first_not_finite(&self) -> Option<u64> {
        self.first_not_finite
    }

    /// Is any element below zero?
    pub fn has_negative(&self) -> bool {
        self.negative
    }

    /// The largest finite magnitude, exactly; zero for a tensor of zeros.
    pub fn amax(&self) -> Datum {
        T::FORMAT.decode(self.amax_bits)
    }

    /// How many finite non-zero elements have each binary exponent ⌊log2 |x|⌋, in ascending order.
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
