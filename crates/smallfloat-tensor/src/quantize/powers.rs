//! The scales of E8M0 for elements of f32, in integers: the everyday case of MX formats.
//!
//! With amax = 2^e · (1 + f) the rules give 2^(e − e(max)), or twice that where f reaches a
//! threshold ([`ScaleSpec::choose`] has them all), which is how [`PowerScales`] has it. Subnormal
//! amax and zero get the smallest scale, as they do by the rules.

use smallfloat_kernels::{Level, PowerScales, largest_bits};

use crate::layout::grid::{Grid, Tile};
use crate::scale::rule::{ScaleSpec, ScaledElement};

/// How codes of scales follow from the largest magnitudes; `None` where scales are others.
pub(crate) fn power_scales(spec: &ScaleSpec, element: &ScaledElement) -> Option<PowerScales> {
    let (exponent, threshold) = spec.power_rule(element)?;
    PowerScales::new(exponent, threshold)
}

/// The codes of the scales of a tile's groups; `None` if an element is not finite.
pub(crate) fn power_codes(
    powers: PowerScales,
    grid: &Grid,
    tiles: (&Tile, &Tile),
    count: usize,
    values: &[f32],
) -> Option<Vec<u8>> {
    let largest = largest_of_groups(grid, tiles, count, values)?;
    Some(largest.iter().map(|amax| powers.code(amax.to_bits())).collect())
}

/// The largest magnitudes of a tile's groups; `None` if an element is not finite.
pub(crate) fn largest_of_groups(
    grid: &Grid,
    (tile, groups): (&Tile, &Tile),
    count: usize,
    values: &[f32],
) -> Option<Vec<f32>> {
    let mut largest = vec![0.0_f32; count];
    if let Some(length) = grid.group_length(tile) {
        let finite = smallfloat_kernels::largest_of_groups(Level::detected(), length, values, &mut largest);
        return finite.then_some(largest);
    }
    Level::detected().vectorize(
        #[inline(always)]
        || {
            grid.each_group(
                tile,
                groups,
                #[inline(always)]
                |group, range| {
                    let bits = largest_bits(&values[range]).max(largest[group].to_bits());
                    largest[group] = f32::from_bits(bits);
                },
            );
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
    use smallfloat::Rounding;
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
                let Some(powers) = power_scales(&spec, &element) else {
                    assert!(matches!(
                        rule,
                        ScaleRule::Amax
                            | ScaleRule::MaxAbsFinite
                            | ScaleRule::FourOverSix
                            | ScaleRule::LeastError
                    ));
                    continue;
                };
                let codes = power_codes(powers, &grid, (&tile, &tile), values.len(), &values).unwrap();
                for (&x, code) in values.iter().zip(codes) {
                    let scale = spec.choose(&element, &Extent::of(&[x]), 1.0);
                    assert_eq!(u64::from(code), scale.code, "{format} {rule} {x:e}");
                    let mut q = [0.0];
                    PowerScales::divide(code, Rounding::TowardZero, &[x], &mut q);
                    let exact = f64::from(x) / scale.value;
                    assert!(f64::from(q[0]).to_bits() == exact.to_bits() || exact < 2.0_f64.powi(-126));
                }
                let mut odd = values.clone();
                odd[7] = f32::NAN;
                assert_eq!(power_codes(powers, &grid, (&tile, &tile), values.len(), &odd), None);
            }
        }
    }
}
