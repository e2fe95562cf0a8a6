//! [`RoundingClasses`]: which bits of a wide float decide what it rounds to.
//!
//! Every place where a small format's rounding changes — its values, and the midpoints between
//! them, the midpoint of the hole of Tesla's denormals included — has at most P + 1 significant
//! bits. So the exponent, the first P bits after the leading one, and whether anything follows
//! ("sticky") decide, in every deterministic rounding mode. Keys number these classes from below
//! the smallest midpoint to above the largest finite value.

use smallfloat::{Datum, Format, Subnormals};

/// The numbering of rounding classes of one source format for one destination precision and range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundingClasses {
    /// Magnitude bits of the smallest and largest class.
    low: u64,
    high: u64,
    /// How many trailing bits only count as sticky.
    shift: u32,
    /// Magnitude bits of the source's ∞.
    infinity: u64,
    /// Magnitude bits of the source's smallest normal value.
    min_normal: u64,
    sign: u32,
}

/// The numbers of [`RoundingClasses`] for sources of at most 32 bits.
#[allow(dead_code, reason = "a machine without kernels reads none of these")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct NarrowClasses {
    /// All bits but the sign.
    pub(crate) magnitude: u32,
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) shift: u32,
    pub(crate) infinity: u32,
}

/// Elements classified at once: enough to keep vector units busy, few enough for the event
/// counters' bytes.
pub(crate) const BATCH: usize = 255;

impl RoundingClasses {
    /// The classes that tell apart everything that `to` rounds differently.
    pub(crate) fn new(from: &Format, to: &Format) -> Self {
        let (lowest, highest) = to.exponent_range();
        let tesla = i32::from(to.subnormals() == Subnormals::Tesla);
        let smallest = match to.max_subnormal() {
            Some(_) => lowest - to.trailing_bits().cast_signed() - tesla,
            None => lowest,
        };
        // Below half the smallest value, flushed ones included, nothing changes; nor above twice
        // the largest.
        let low = smallest - 2 - to.trailing_bits().cast_signed();
        Self::covering(from, to.precision(), lowest - tesla, low, highest + 2)
    }

    /// Classes of `precision` bits after the leading one for magnitudes 2^low..2^high. In the
    /// source's own subnormals bits have a fixed place; `fine_from` is the exponent down to which
    /// classes must be that fine even so.
    pub(crate) fn covering(from: &Format, precision: u32, fine_from: i32, low: i32, high: i32) -> Self {
        let (source_lowest, _) = from.exponent_range();
        let deficit = (source_lowest - fine_from).max(0).unsigned_abs();
        let shift = from.trailing_bits().saturating_sub(precision + deficit);
        let bits = |exponent: i32| from.encode(Datum::finite(false, 1, exponent));
        let aligned = |bits: u64| (bits >> shift) << shift;
        let low = bits(low).map_or(0, aligned);
        let high = match bits(high) {
            Some(bits) => aligned(bits),
            // Beyond the source's range: above it, or so far below that all its values are "above".
            None if high > 0 => from.encode(from.max_finite()).expect("a format has its own largest value"),
            None => low,
        };
        let infinity = from.encode(Datum::Infinite { negative: false }).expect("wide floats have infinities");
        let min_normal = from.encode(from.min_normal()).expect("wide floats have normal values");
        Self { low, high, shift, infinity, min_normal, sign: from.width() - 1 }
    }

    /// The largest finite class: zero is 0, the ranges follow, then come ∞ and NaN.
    fn last_finite(&self) -> u64 {
        let sticky = u64::from(self.high & ((1 << self.shift) - 1) != 0);
        2 * ((self.high - self.low) >> self.shift) + sticky + 1
    }

    /// The number of classes of one sign; where no memory holds tables of them, a number that large
    /// of which small multiples still fit.
    pub(crate) fn magnitudes(&self) -> usize {
        usize::try_from(self.last_finite() + 3).unwrap_or(usize::MAX).min(usize::MAX / 16)
    }

    /// The class of +∞.
    pub(crate) fn infinite(&self) -> usize {
        index(self.last_finite() + 1)
    }

    /// A source code of a class; classes of negative codes follow those of positive ones.
    pub(crate) fn representative(&self, class: usize) -> u64 {
        let (negative, class) = (class / self.magnitudes(), class % self.magnitudes());
        let (class, infinite) = (class as u64, self.last_finite() + 1);
        let magnitude = match class {
            0 => 0,
            // The lowest class stands for everything non-zero below it too.
            _ if class < infinite => (self.low + (((class - 1) / 2) << self.shift) + (class - 1) % 2).max(1),
            _ => self.infinity + class - infinite,
        };
        magnitude | (negative as u64) << self.sign
    }

    /// Returns these boundaries in 32 bits, if they fit.
    pub(crate) fn narrow(&self) -> Option<NarrowClasses> {
        let narrow = |bits: u64| u32::try_from(bits).ok();
        let (low, high, infinity) = (narrow(self.low)?, narrow(self.high)?, narrow(self.infinity)?);
        Some(NarrowClasses {
            magnitude: narrow((1 << self.sign) - 1)?,
            low,
            high,
            shift: self.shift,
            infinity,
        })
    }

    /// Returns whether a source code is subnormal.
    #[inline(always)]
    pub(crate) fn is_subnormal(&self, code: u64) -> bool {
        let magnitude = code & ((1 << self.sign) - 1);
        magnitude != 0 && magnitude < self.min_normal
    }

    /// The bits of a magnitude that only count as sticky.
    pub(crate) fn trailing(&self, magnitude: u64) -> u64 {
        magnitude & ((1 << self.shift) - 1)
    }
}

/// Classes are counted in memory.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "memory is indexed by usize")]
fn index(n: u64) -> usize {
    n as usize
}

/// Properties of a batch that [`classify`](Classify::classify) saw beside the classes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    /// A subnormal element.
    pub(crate) denormal: bool,
    /// A non-zero element with its sign bit set.
    pub(crate) negative: bool,
    /// The largest finite magnitude's bits.
    pub(crate) amax: u64,
}

/// Classes of a batch, in straight-line integer code that compilers turn into vector instructions.
pub trait Classify: Copy {
    /// For each element its class and, of its magnitude, the bits below the class's first value.
    #[doc(hidden)]
    fn classify(
        values: &[Self],
        rounding_classes: &RoundingClasses,
        classes: &mut [u32; BATCH],
        trailing: Option<&mut [u64; BATCH]>,
    ) -> Seen;
}

macro_rules! classify {
    ($type:ty, $lane:ty) => {
        impl Classify for $type {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                clippy::cast_lossless,
                reason = "lanes hold every magnitude as a non-negative number, and classes are below 2^31"
            )]
            fn classify(
                values: &[Self],
                rounding_classes: &RoundingClasses,
                classes: &mut [u32; BATCH],
                trailing: Option<&mut [u64; BATCH]>,
            ) -> Seen {
                type Lane = $lane;
                let magnitude_mask = ((1_u64 << rounding_classes.sign) - 1) as Lane;
                let (low, high, shift) =
                    (rounding_classes.low as Lane, rounding_classes.high as Lane, rounding_classes.shift);
                let (infinity, min_normal) =
                    (rounding_classes.infinity as Lane, rounding_classes.min_normal as Lane);
                let trailing_mask = ((1_u64 << shift) - 1) as Lane;
                let negatives = rounding_classes.magnitudes() as Lane;
                let (mut denormal, mut negative, mut amax) = (0, 0, 0);
                for (x, class) in values.iter().zip(classes.iter_mut()) {
                    let bits = x.to_bits() as Lane;
                    let magnitude = bits & magnitude_mask;
                    let sign = Lane::from(bits != magnitude);
                    let clamped = magnitude.max(low).min(high);
                    let sticky = Lane::from(clamped & trailing_mask != 0);
                    let range = 2 * ((clamped - low) >> shift) + sticky + Lane::from(magnitude != 0);
                    let special = Lane::from(magnitude >= infinity) + Lane::from(magnitude > infinity);
                    *class = (range + special + sign * negatives) as u32;
                    denormal |= Lane::from(magnitude < min_normal) & Lane::from(magnitude != 0);
                    negative |= sign & Lane::from(magnitude != 0);
                    amax = amax.max(if magnitude < infinity { magnitude } else { 0 });
                }
                if let Some(trailing) = trailing {
                    for (x, trailing) in values.iter().zip(trailing) {
                        let magnitude = x.to_bits() as Lane & magnitude_mask;
                        *trailing = (magnitude.max(low).min(high) & trailing_mask) as u64;
                    }
                }
                Seen { denormal: denormal != 0, negative: negative != 0, amax: amax as u64 }
            }
        }
    };
}

classify!(f32, i32);
classify!(f64, i64);
classify!(smallfloat::F16, i32);
classify!(smallfloat::Bf16, i32);
#[cfg(feature = "half")]
classify!(half::f16, i32);
#[cfg(feature = "half")]
classify!(half::bf16, i32);

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY16, BINARY32, BINARY64, E4M3FN, E5M2};
    use smallfloat::{Bf16, F16};

    use super::{BATCH, Datum, Format, RoundingClasses, index};
    use crate::element::Element;

    /// The class of one code.
    fn class<T: Element>(rounding_classes: &RoundingClasses, code: u64) -> usize {
        let (mut classes, mut trailing) = ([0; BATCH], [0; BATCH]);
        T::classify(&[T::from_bits(code)], rounding_classes, &mut classes, Some(&mut trailing));
        index(classes[0].into())
    }

    #[test]
    fn every_class_has_a_code_of_its_own() {
        fn check<T: Element>(to: &Format) {
            let rounding_classes = RoundingClasses::new(&T::FORMAT, to);
            for number in 0..2 * rounding_classes.magnitudes() {
                let code = rounding_classes.representative(number);
                if rounding_classes.low == 0 && number % rounding_classes.magnitudes() == 1 {
                    // Nothing but zero lies on the lowest place, and that has a class of its own.
                    continue;
                }
                assert_eq!(class::<T>(&rounding_classes, code), number, "{} {to} {code:#x}", T::FORMAT);
            }
            check_ends::<T>(to);
        }
        fn check_ends<T: Element>(to: &Format) {
            let rounding_classes = RoundingClasses::new(&T::FORMAT, to);
            let sign = 1 << (T::FORMAT.width() - 1);
            let infinity = T::FORMAT.encode(Datum::Infinite { negative: false }).expect("it has one");
            let last = rounding_classes.magnitudes() - 1;
            let of =
                |code: u64| [class::<T>(&rounding_classes, code), class::<T>(&rounding_classes, code | sign)];
            assert_eq!(of(infinity), [last - 1, last - 1 + rounding_classes.magnitudes()]);
            assert_eq!(of(infinity + 1), [last, last + rounding_classes.magnitudes()]);
            let largest = of(infinity - 1)[0];
            assert!(largest <= last - 2, "finite values come before infinity");
        }
        for to in [E4M3FN, E5M2, "cfloat8_1_4_3:bias=63".parse().expect("a format")] {
            check::<f32>(&to);
            check::<f64>(&to);
            check::<F16>(&to);
            check::<Bf16>(&to);
        }
        check::<f32>(&BINARY16);
        // As precise as the source and beyond its range: no class lies between two codes, and the
        // last is the largest.
        check_ends::<F16>(&"ieee:k=16,p=10".parse().expect("a format"));
    }

    /// Their number, counted by hand: two for each of 2^P ranges of a binade, one more at the last,
    /// zero, ∞ and NaN.
    #[test]
    fn as_many_classes_as_are_told_apart() {
        // From 2^(-9 - 2 - 3) to 2^(8 + 2).
        let rounding_classes = RoundingClasses::new(&BINARY32, &E4M3FN);
        assert_eq!((rounding_classes.magnitudes(), rounding_classes.shift), (1 + 24 * 16 * 2 + 1 + 2, 19));
        assert_eq!(RoundingClasses::new(&BINARY64, &E4M3FN).magnitudes(), rounding_classes.magnitudes());
        // As far as binary16 goes: at 2^-14 it has its own places, and the format's lowest binade
        // begins there too.
        let rounding_classes = RoundingClasses::new(&BINARY16, &E5M2);
        assert_eq!((rounding_classes.shift, rounding_classes.sign), (7, 15));
        // Places of binary16's subnormals are fixed, so those for a binade at 2^-20 are finer by
        // six bits.
        let fine = |fine_from: i32| RoundingClasses::covering(&BINARY16, 3, fine_from, -24, 15).shift;
        assert_eq!([fine(-10), fine(-14), fine(-15), fine(-20), fine(-30)], [7, 7, 6, 1, 0]);
    }

    /// A range that the source does not reach has one class of finite values, or all that it has.
    #[test]
    fn ranges_beyond_the_source() {
        let below = RoundingClasses::covering(&BINARY16, 3, -14, -80, -50);
        assert_eq!((below.low, below.high), (0, 0));
        let above = RoundingClasses::covering(&BINARY16, 3, -14, -5, 40);
        assert_eq!(above.high, 0x7bff);
        let at_one = RoundingClasses::covering(&BINARY16, 3, -14, -5, 0);
        assert_eq!((at_one.low, at_one.high), (0x2800, 0x3c00));
    }

    #[test]
    fn keys_of_binary32_fit_in_words() {
        let narrow = RoundingClasses::new(&BINARY32, &E4M3FN).narrow().expect("they fit");
        assert_eq!((narrow.magnitude, narrow.infinity, narrow.shift), (0x7fff_ffff, 0x7f80_0000, 19));
        assert_eq!((narrow.low, narrow.high), ((127 - 14) << 23, (127 + 10) << 23));
        assert!(RoundingClasses::new(&BINARY64, &E4M3FN).narrow().is_none());
    }
}
