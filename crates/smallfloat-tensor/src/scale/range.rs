//! [`MagnitudeRange`]: the least and the greatest magnitude of some elements, which alone decide
//! the bias of most groups.
//!
//! Loops have lanes that do not wait for each other: compilers turn them into vectors.

use std::convert::identity;

use smallfloat::F16;
use smallfloat_kernels::{Element, largest_bits};

/// Elements looked at side by side.
const LANES: usize = 8;

/// Elements that can be looked at.
pub(crate) trait Scan: Element {
    /// The least magnitude other than zero, and the greatest finite one; ∞ and zero where there is
    /// none.
    fn range(values: &[Self]) -> MagnitudeRange;

    /// Returns whether any magnitude is below a limit that the type holds. Zeros are.
    fn any_below(values: &[Self], limit: f64) -> bool;

    /// The smallest magnitude without zeros.
    fn any_positive_below(values: &[Self], limit: f64) -> bool;

    /// Whether none is NaN or infinite.
    fn all_finite(values: &[Self]) -> bool;

    /// The greatest magnitude, if none is NaN or infinite.
    fn greatest_if_finite(values: &[Self]) -> Option<f64> {
        Self::all_finite(values).then(|| Self::range(values).greatest)
    }
}

/// What bounds the magnitudes of the finite elements that are not zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MagnitudeRange {
    /// The least of them; ∞ if there is none.
    pub(crate) least: f64,
    /// The greatest of them; zero if there is none.
    pub(crate) greatest: f64,
}

impl MagnitudeRange {
    /// Of no elements.
    pub(crate) const NONE: Self = Self { least: f64::INFINITY, greatest: 0.0 };

    /// Of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            least: if other.least < self.least { other.least } else { self.least },
            greatest: if other.greatest > self.greatest { other.greatest } else { self.greatest },
        }
    }
}

/// By lanes of a type that holds every element, and how an element becomes one.
macro_rules! look {
    ($type:ty, $lane:ident, $short:expr $(, $more:item)?) => {
        #[allow(
            clippy::cast_possible_truncation,
            trivial_numeric_casts,
            reason = "limits are numbers of the lanes' type"
        )]
        impl Scan for $type {
            fn range(values: &[Self]) -> MagnitudeRange {
                let mut least = [$lane::INFINITY; LANES];
                let mut greatest = [0.0; LANES];
                let mut add = |lanes: &[Self]| {
                    for ((&x, least), greatest) in lanes.iter().zip(&mut least).zip(&mut greatest) {
                        let magnitude: $lane = $short(x).abs();
                        // Comparisons with NaN do not hold.
                        let low = if magnitude > 0.0 { magnitude } else { $lane::INFINITY };
                        let high = if magnitude < $lane::INFINITY { magnitude } else { 0.0 };
                        *least = if low < *least { low } else { *least };
                        *greatest = if high > *greatest { high } else { *greatest };
                    }
                };
                let (whole, rest) = values.as_chunks::<LANES>();
                for lanes in whole {
                    add(lanes);
                }
                add(rest);
                // None is NaN here.
                let lower = |a: $lane, b: $lane| if b < a { b } else { a };
                let higher = |a: $lane, b: $lane| if b > a { b } else { a };
                MagnitudeRange {
                    least: least.into_iter().fold($lane::INFINITY, lower).into(),
                    greatest: greatest.into_iter().fold(0.0, higher).into(),
                }
            }

            fn any_below(values: &[Self], limit: f64) -> bool {
                let limit = limit as $lane;
                values.iter().fold(false, |any, &x| any | ($short(x).abs() < limit))
            }

            #[inline(always)]
            fn any_positive_below(values: &[Self], limit: f64) -> bool {
                let limit = limit as $lane;
                values.iter().map(|&x| $short(x).abs()).fold(false, |any, x| any | ((x > 0.0) & (x < limit)))
            }

            #[inline(always)]
            fn all_finite(values: &[Self]) -> bool {
                values.iter().fold(true, |all, x| all & x.is_finite())
            }

            $($more)?
        }
    };
}

look!(
    f32,
    f32,
    identity,
    /// In one pass: bits of magnitudes are in the order of the numbers, and the rest above them.
    #[inline(always)]
    fn greatest_if_finite(values: &[Self]) -> Option<f64> {
        let greatest = Self::from_bits(largest_bits(values));
        greatest.is_finite().then_some(greatest.into())
    }
);
look!(
    f64,
    f64,
    identity,
    /// In one pass, as of f32.
    #[inline(always)]
    fn greatest_if_finite(values: &[Self]) -> Option<f64> {
        let mut lanes = [0; LANES];
        let magnitude = |x: &Self| x.to_bits() & !(1 << 63);
        let (whole, rest) = values.as_chunks::<LANES>();
        for values in whole {
            // Signed comparisons are what vectors have.
            for (lane, x) in lanes.iter_mut().zip(values) {
                *lane = magnitude(x).cast_signed().max(*lane);
            }
        }
        let greatest = lanes.into_iter().fold(0, i64::max).cast_unsigned();
        let greatest = rest.iter().fold(greatest, |greatest, x| magnitude(x).max(greatest));
        let greatest = Self::from_bits(greatest);
        greatest.is_finite().then_some(greatest)
    }
);
look!(F16, f32, F16::to_f32);

/// Appends the magnitudes below a limit that the type holds, zeros left out.
pub(crate) fn gather_below<T: Scan>(values: &[T], limit: f64, found: &mut Vec<f64>) {
    /// So many elements are skipped at once: those that count are few.
    const SKIPPED: usize = 32;
    for some in values.chunks(SKIPPED).filter(|some| T::any_below(some, limit)) {
        let magnitudes = some.iter().map(|x| x.to_f64().abs());
        found.extend(magnitudes.filter(|magnitude| *magnitude > 0.0 && *magnitude < limit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_of_finite_elements_that_are_not_zero() {
        let some = [0.0, -3.0, f32::NAN, 1e-40, f32::NEG_INFINITY, 2.5, -0.0, 7.0, -0.25, f32::INFINITY];
        for length in 0..=some.len() {
            let counting = some[..length].iter().map(|x| f64::from(x.abs()));
            let counting: Vec<f64> = counting.filter(|x| x.is_finite() && *x > 0.0).collect();
            let range = MagnitudeRange {
                least: counting.iter().copied().fold(f64::INFINITY, f64::min),
                greatest: counting.iter().copied().fold(0.0, f64::max),
            };
            assert_eq!(<f32 as Scan>::range(&some[..length]), range, "{length}");
            let narrow: Vec<F16> = some[..length].iter().map(|&x| F16::from_f32(x)).collect();
            if !range.least.is_finite() || range.least > 0.1 {
                assert_eq!(F16::range(&narrow), range, "{length}");
            }
            let wide: Vec<f64> = some[..length].iter().map(|&x| x.into()).collect();
            assert_eq!(<f64 as Scan>::range(&wide), range, "{length}");
            let finite = some[..length].iter().all(|x| x.is_finite()).then_some(range.greatest);
            assert_eq!(<f32 as Scan>::greatest_if_finite(&some[..length]), finite, "{length}");
            assert_eq!(f64::greatest_if_finite(&wide), finite, "{length}");
        }
        for length in 0..40 {
            for at in 0..length {
                for x in [-7.0, f64::MAX, -f64::INFINITY, f64::NAN] {
                    let mut values = vec![5e-324; length];
                    values[at] = x;
                    let greatest = x.is_finite().then_some(x.abs());
                    assert_eq!(f64::greatest_if_finite(&values), greatest, "{length} {at} {x}");
                }
            }
        }
        assert_eq!(<f64 as Scan>::range(&[]), MagnitudeRange::NONE);
    }

    #[test]
    fn magnitudes_below_a_limit() {
        let mut values = vec![4.0_f32; 100];
        for (i, x) in [(3, -0.5), (40, 0.0), (41, 2.0), (98, 1.0), (99, f32::NAN)] {
            values[i] = x;
        }
        let mut found = vec![9.0];
        gather_below(&values, 2.0, &mut found);
        assert_eq!(found, [9.0, 0.5, 1.0]);
    }
}
