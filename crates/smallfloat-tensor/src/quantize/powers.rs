//! [`PowerScales`]: the scales of E8M0 for elements of f32, in integers: the everyday case of
//! MX formats, many groups a microsecond.
//!
//! With amax = 2^e · (1 + f) the rules give 2^(e − e(max)), or twice that where f reaches a
//! threshold ([`ScaleSpec::choose`] has them all). So a code is the exponent field of amax, plus
//! one if adding 1 − threshold to its fraction carries, minus e(max), kept in range. Subnormal
//! amax and zero get the smallest scale, as they do by the rules.

use smallfloat::Rounding;
use smallfloat_kernels::Level;

use crate::layout::grid::{Grid, Tile};
use crate::scale::range::largest_bits;
use crate::scale::rule::{ScaleSpec, ScaledElement};

/// How codes of scales follow from the largest magnitudes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerScales {
    /// ⌊log2 max⌋ of the element format.
    exponent: u32,
    /// What carries from fractions at which the scale is the next one.
    carry: u32,
    /// Whether quotients are rounded to nearest.
    is_nearest: bool,
}

impl PowerScales {
    /// `None` where scales are others.
    pub(crate) fn new(spec: &ScaleSpec, element: &ScaledElement, rounding: Rounding) -> Option<Self> {
        let (exponent, threshold) = spec.power_rule(element)?;
        // From 4 on, no scale is beyond E8M0 and no inverse is subnormal.
        let exponent = u32::try_from(exponent).ok().filter(|exponent| (2..64).contains(exponent))?;
        let is_nearest = matches!(rounding, Rounding::NearestEven | Rounding::NearestAway);
        Some(Self { exponent, carry: (1 << 23) - threshold, is_nearest })
    }

    /// The codes of the scales of a tile's groups; `None` if an element is not finite.
    pub(crate) fn codes(
        self,
        grid: &Grid,
        tiles: (&Tile, &Tile),
        count: usize,
        values: &[f32],
    ) -> Option<Vec<u8>> {
        let largest = largest_of_groups(grid, tiles, count, values)?;
        Some(largest.iter().map(|amax| self.code(amax.to_bits())).collect())
    }

    /// Puts the quotients of a group by its scale into place: exact, or where they underflow on the
    /// side of zero that they are on. None is beyond the element's next binade.
    #[inline(always)]
    pub(crate) fn divide(self, code: u8, values: &[f32], quotients: &mut [f32]) {
        let inverse = f32::from_bits((254 - u32::from(code)) << 23);
        if self.is_nearest {
            // What underflows is next to zero even so, and has its sign.
            return by_lanes(values, quotients, |x| x * inverse);
        }
        by_lanes(values, quotients, |x| {
            let product = x * inverse;
            let tiny = product.abs() < f32::MIN_POSITIVE && x != 0.0;
            if tiny { f32::MIN_POSITIVE.copysign(x) } else { product }
        });
    }

    /// Chooses the scales of groups of this length, which follow each other, and divides them.
    /// Returns false if an element is not finite; scales and quotients are then anything.
    #[inline(always)]
    pub(crate) fn divide_groups(
        self,
        length: usize,
        values: &[f32],
        scales: &mut [u8],
        quotients: &mut [f32],
    ) -> bool {
        match length {
            // Loops of a known length stay in registers.
            16 => self.divide_all(arrays::<16>(values), scales, arrays_mut::<16>(quotients)),
            32 => self.divide_all(arrays::<32>(values), scales, arrays_mut::<32>(quotients)),
            _ => self.divide_all(values.chunks_exact(length), scales, quotients.chunks_exact_mut(length)),
        }
    }

    #[inline(always)]
    fn divide_all(
        self,
        groups: impl Iterator<Item: AsRef<[f32]>>,
        scales: &mut [u8],
        quotients: impl Iterator<Item: AsMut<[f32]>>,
    ) -> bool {
        let mut largest = 0;
        for ((values, mut quotients), scale) in groups.zip(quotients).zip(scales) {
            let amax = largest_bits(values.as_ref());
            *scale = self.code(amax);
            self.divide(*scale, values.as_ref(), quotients.as_mut());
            largest = amax.max(largest);
        }
        largest < f32::INFINITY.to_bits()
    }

    /// The code of the scale for the largest magnitude, which these are the bits of.
    #[inline(always)]
    fn code(self, amax: u32) -> u8 {
        // NaN and infinities are refused by their magnitude.
        let field = amax.wrapping_add(self.carry) >> 23;
        field.saturating_sub(self.exponent).to_le_bytes()[0]
    }
}

#[inline(always)]
fn largest_of_all(groups: impl Iterator<Item: AsRef<[f32]>>, largest: &mut [f32]) {
    for (group, largest) in groups.zip(largest) {
        *largest = f32::from_bits(largest_bits(group.as_ref()));
    }
}

/// Puts a function of each value into place, a vector at once.
#[inline(always)]
fn by_lanes(values: &[f32], results: &mut [f32], f: impl Fn(f32) -> f32) {
    const LANES: usize = 8;
    let ((values, rest), (results, others)) = (values.as_chunks::<LANES>(), results.as_chunks_mut());
    for (results, values) in results.iter_mut().zip(values) {
        *results = values.map(&f);
    }
    for (result, &x) in others.iter_mut().zip(rest) {
        *result = f(x);
    }
}

#[inline(always)]
fn arrays<const N: usize>(values: &[f32]) -> impl Iterator<Item = &[f32; N]> {
    values.as_chunks().0.iter()
}

#[inline(always)]
fn arrays_mut<const N: usize>(values: &mut [f32]) -> impl Iterator<Item = &mut [f32; N]> {
    values.as_chunks_mut().0.iter_mut()
}

/// The largest magnitudes of a tile's groups; `None` if an element is not finite.
pub(crate) fn largest_of_groups(
    grid: &Grid,
    (tile, groups): (&Tile, &Tile),
    count: usize,
    values: &[f32],
) -> Option<Vec<f32>> {
    let mut largest = vec![0.0_f32; count];
    Level::detected().vectorize(
        #[inline(always)]
        || match grid.group_length(tile) {
            // Loops of a known length stay in registers.
            Some(16) => largest_of_all(arrays::<16>(values), &mut largest),
            Some(length) => largest_of_all(values.chunks_exact(length), &mut largest),
            None => grid.each_group(
                tile,
                groups,
                #[inline(always)]
                |group, range| {
                    let bits = largest_bits(&values[range]).max(largest[group].to_bits());
                    largest[group] = f32::from_bits(bits);
                },
            ),
        },
    );
    // NaN and infinities are above all others in the order of bits.
    let all = largest.iter().fold(0, |all, amax| amax.to_bits().max(all));
    (all < f32::INFINITY.to_bits()).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::grid::Granularity;
    use crate::scale::rule::{Extent, ScaleRule};
    use smallfloat::formats::{E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2, E8M0FNU};

    /// Around every power of two, and where fractions decide.
    #[test]
    fn codes_are_those_of_the_rules() {
        let mut values = vec![0.0, f32::from_bits(1), f32::MAX, f32::MIN_POSITIVE];
        for exponent in 1..255_u32 {
            for fraction in
                [0, 1, 0x40_0000, 0x5f_ffff, 0x60_0000, 0x60_0001, 0x70_0000, 0x78_0000, 0x7f_ffff]
            {
                values.push(f32::from_bits(exponent << 23 | fraction));
            }
        }
        let grid = Grid::new(&[values.len() as u64], Granularity::Block { rows: 1, columns: 1 });
        let tile = Tile { row: 0, rows: 1, column: 0, columns: values.len() as u64 };
        for &rule in ScaleRule::ALL {
            let spec = ScaleSpec { format: E8M0FNU, rule, global: None };
            for format in [E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2] {
                let element = ScaledElement::new(&format);
                let Some(powers) = PowerScales::new(&spec, &element, Rounding::TowardZero) else {
                    assert!(matches!(
                        rule,
                        ScaleRule::Amax
                            | ScaleRule::MaxAbsFinite
                            | ScaleRule::FourOverSix
                            | ScaleRule::LeastError
                    ));
                    continue;
                };
                let codes = powers.codes(&grid, (&tile, &tile), values.len(), &values).unwrap();
                for (&x, code) in values.iter().zip(codes) {
                    let scale = spec.choose(&element, &Extent::of(&[x]), 1.0);
                    assert_eq!(u64::from(code), scale.code, "{format} {rule} {x:e}");
                    let mut q = [0.0];
                    powers.divide(code, &[x], &mut q);
                    let exact = f64::from(x) / scale.value;
                    assert!(f64::from(q[0]).to_bits() == exact.to_bits() || exact < 2.0_f64.powi(-126));
                }
                let mut odd = values.clone();
                odd[7] = f32::NAN;
                assert_eq!(powers.codes(&grid, (&tile, &tile), values.len(), &odd), None);
            }
        }
    }
}
