//! [`Magnitudes`]: what the choice of a bias needs to know of a tensor, from one pass over its
//! elements.

use dashu_int::UBig;
use smallfloat::{Datum, Format, FormatSpec};
use smallfloat_kernels::{ClassSum, ClassSums, Element};

/// Magnitudes beyond these make no difference to any bias and count as these.
pub(crate) const SMALLEST: f64 = f64::from_bits((1023 - 150) << 52);
pub(crate) const LARGEST: f64 = f64::from_bits((1023 + 128) << 52);
/// The binades between them, both ends included.
const BINADES: usize = 150 + 128 + 1;

/// Slices of more elements than this are worth a table of their classes.
pub(crate) const MANY: usize = 1 << 13;

/// Elements that round alike at every bias of a format: (first + trailing) · 2^exponent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    /// A value of the class.
    pub(super) representative: Datum,
    /// How many elements, or Σ of their weights.
    pub(super) weight: u128,
    /// The class's smallest value in units of 2^exponent.
    pub(super) first: u64,
    /// Σ of weight · trailing.
    pub(super) sum: u128,
    /// Σ of weight · trailing², in 256 bits.
    pub(super) sum_of_squares: Long,
    /// The exponent of the source's last place in this class.
    pub(super) exponent: i32,
}

/// An unsigned integer low + high · 2^128.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Long {
    pub(super) low: u128,
    pub(super) high: u64,
}

impl Long {
    pub(crate) fn add(&mut self, term: u128) {
        let (low, carry) = self.low.overflowing_add(term);
        (self.low, self.high) = (low, self.high + u64::from(carry));
    }

    /// Adds a product of a number below 2^84 and one below 2^52, which may have 136 bits.
    fn add_product(&mut self, a: u128, b: u128) {
        let (high, low) = ((a >> 64) * b, (a & u128::from(u64::MAX)) * b);
        self.add(low);
        self.add(high << 64);
        self.high += u64::try_from(high >> 64).expect("below 2^20 · 2^52 / 2^64");
    }
}

impl From<Long> for UBig {
    fn from(x: Long) -> Self {
        (Self::from(x.high) << 128) + x.low
    }
}

impl From<ClassSum> for Class {
    fn from(cell: ClassSum) -> Self {
        Self {
            representative: cell.representative,
            weight: cell.count.into(),
            first: cell.first,
            sum: cell.sum,
            sum_of_squares: Long { low: cell.sum_of_squares, high: 0 },
            exponent: cell.exponent,
        }
    }
}

/// Statistics of finite elements, from which every policy's choice and every bias's squared error
/// follow exactly. NaN and infinities don't count.
#[derive(Clone, Debug)]
pub struct Magnitudes {
    /// From small to large magnitudes.
    pub(super) classes: Vec<Class>,
    zeros: u64,
    amax: Datum,
}

impl<T: Element> From<&ClassSums<T>> for Magnitudes {
    /// For formats of the precision that the cells were made for.
    fn from(cells: &ClassSums<T>) -> Self {
        Self { classes: cells.iter().map(Class::from).collect(), zeros: cells.zeros(), amax: cells.amax() }
    }
}

impl Magnitudes {
    /// Returns the magnitudes of a slice, for formats of this precision, in bits.
    pub fn of<T: Element>(values: &[T], precision: u32) -> Self {
        if values.len() > MANY {
            let mut cells = ClassSums::<T>::new(precision);
            cells.add(values);
            return Self::from(&cells);
        }
        Self::of_few(values.iter().map(|x| (x.to_f64(), 1)))
    }

    /// A class for each element: right for so few that they would not fill the table of
    /// [`ClassSums`]. The second numbers are weights.
    pub(crate) fn of_few(elements: impl Iterator<Item = (f64, u32)>) -> Self {
        let (mut zeros, mut magnitudes) = (0, Vec::new());
        for (x, weight) in elements.filter(|(x, _)| x.is_finite()) {
            if x == 0.0 {
                zeros += 1;
            } else {
                magnitudes.push((x.abs().clamp(SMALLEST, LARGEST), weight));
            }
        }
        magnitudes.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        let largest = magnitudes.last().map_or(0.0, |(x, _)| *x);
        let class = |(x, weight): (f64, u32)| {
            let representative = f64::FORMAT.decode(x.to_bits());
            let Datum::Finite { significand: first, exponent, .. } = representative else {
                return None;
            };
            let weight = u128::from(weight);
            Some(Class { representative, weight, first, sum: 0, sum_of_squares: Long::default(), exponent })
        };
        Self {
            classes: magnitudes.into_iter().filter_map(class).collect(),
            zeros,
            amax: f64::FORMAT.decode(largest.to_bits()),
        }
    }

    /// Returns whether there is no finite element but zeros.
    pub fn is_zero(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the largest finite magnitude.
    pub fn amax(&self) -> Datum {
        self.amax
    }

    /// Returns Σ x², weighted, rounded to `f64`.
    #[expect(clippy::cast_precision_loss, reason = "terms of one sign, rounded by design")]
    pub fn signal(&self) -> f64 {
        let term = |class: &Class| {
            let (first, unit) = (class.first as f64, 2.0_f64.powi(class.exponent));
            let squares =
                class.sum_of_squares.low as f64 + class.sum_of_squares.high as f64 * 2.0_f64.powi(128);
            (class.weight as f64 * first * first + 2.0 * first * class.sum as f64 + squares) * unit * unit
        };
        self.classes.iter().map(term).sum()
    }

    /// Returns Σ (x − q)², weighted, rounded to `f64`, for any bias of a format of the precision
    /// that the statistics were made for; elements are rounded to nearest even and saturate.
    pub fn squared_error(&self, format: &Format) -> f64 {
        self.classes.iter().map(|class| crate::scale::bias::least_error::term(class, format)).sum()
    }

    /// Returns the squared error at every legal bias of a format, ascending.
    pub(crate) fn squared_errors(&self, spec: &FormatSpec) -> Vec<(i32, f64)> {
        crate::scale::bias::least_error::of_all(&crate::scale::bias::policy::candidates(spec), &self.classes)
    }

    /// How many finite elements other than zero there are, or Σ of their weights.
    #[expect(clippy::cast_precision_loss, reason = "a count, rounded by design")]
    pub(crate) fn weight_of_all(&self) -> f64 {
        self.classes.iter().map(|class| class.weight).sum::<u128>() as f64
    }

    pub(super) fn percentile(&self, percent: f64) -> Datum {
        let finite = u128::from(self.zeros) + self.classes.iter().map(|class| class.weight).sum::<u128>();
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let wanted = finite as f64 * percent / 100.0;
        let mut seen = u128::from(self.zeros);
        for class in &self.classes {
            seen += class.weight;
            #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
            if seen as f64 >= wanted {
                return class.representative;
            }
        }
        self.amax
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    weight: u128,
    trailing: u128,
    trailing_squared: Long,
}

/// Exact weighted sums for each class of a precision, as [`ClassSums`] has them without weights.
/// Binades that do not occur take no memory.
#[derive(Debug)]
pub(crate) struct WeightedClassSums {
    precision: u32,
    /// For each binade from 2^−150 on its classes: by leading bits, values that have no other bits
    /// and the rest apart.
    binades: Vec<Option<Box<[Sums]>>>,
    zeros: u64,
    largest: f64,
}

impl WeightedClassSums {
    /// Empty statistics for formats of this precision, in bits.
    pub(crate) fn new(precision: u32) -> Self {
        Self { precision, binades: vec![None; BINADES], zeros: 0, largest: 0.0 }
    }

    /// Adds an element; NaN and infinities don't count.
    pub(crate) fn add(&mut self, x: f64, weight: u32) {
        if !x.is_finite() || x == 0.0 {
            self.zeros += u64::from(x == 0.0);
            return;
        }
        let x = x.abs().clamp(SMALLEST, LARGEST);
        self.largest = self.largest.max(x);
        let shift = 52 - self.precision;
        let bits = x.to_bits();
        let (binade, fraction) = ((bits >> 52) - (1023 - 150), bits & ((1 << 52) - 1));
        let trailing = fraction & ((1 << shift) - 1);
        let class = 2 * (fraction >> shift) + u64::from(trailing != 0);
        let classes = self.binades[index(binade)]
            .get_or_insert_with(|| vec![Sums::default(); 2 << self.precision].into_boxed_slice());
        let sums = &mut classes[index(class)];
        let (weight, trailing) = (u128::from(weight), u128::from(trailing));
        sums.weight += weight;
        sums.trailing += weight * trailing;
        sums.trailing_squared.add_product(weight * trailing, trailing);
    }

    /// What the choice needs to know.
    pub(crate) fn magnitudes(&self) -> Magnitudes {
        let shift = 52 - self.precision;
        let mut classes = Vec::new();
        for (binade, sums) in self.binades.iter().enumerate() {
            let exponent = i32::try_from(binade).expect("a binade of f64") - 150 - 52;
            let occurring = sums.iter().flat_map(|sums| sums.iter().enumerate());
            for (class, sums) in occurring.filter(|(_, sums)| sums.weight > 0) {
                let first = 1 << 52 | (class as u64 / 2) << shift;
                classes.push(Class {
                    representative: Datum::finite(false, first + class as u64 % 2, exponent),
                    weight: sums.weight,
                    first,
                    sum: sums.trailing,
                    sum_of_squares: sums.trailing_squared,
                    exponent,
                });
            }
        }
        Magnitudes { classes, zeros: self.zeros, amax: f64::FORMAT.decode(self.largest.to_bits()) }
    }
}

/// Binades and classes are counted in memory.
fn index(n: u64) -> usize {
    usize::try_from(n).expect("counts of things held in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_squares_are_exact_beyond_128_bits() {
        let mut sums = WeightedClassSums::new(1);
        let (mut expected, mut x) = (UBig::ZERO, 1.0_f64);
        for weight in [u32::MAX, 1, u32::MAX - 1, 12_345] {
            x = f64::from_bits(x.to_bits() | ((1 << 51) - 1) ^ u64::from(weight & 7));
            let trailing = UBig::from(x.to_bits() & ((1 << 51) - 1));
            expected += &trailing * &trailing * weight;
            sums.add(x, weight);
        }
        assert!(dashu_base::BitTest::bit_len(&expected) > 128);
        let found: Vec<UBig> =
            sums.magnitudes().classes.iter().map(|class| UBig::from(class.sum_of_squares)).collect();
        assert_eq!(found, [expected]);
    }
}
