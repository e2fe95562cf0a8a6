//! The scales of E8M0 for elements of f32, in integers: the everyday case of MX formats.
//!
//! With amax = 2^e · (1 + f) the rules give 2^(e − e(max)), or twice that where f reaches a
//! threshold ([`ScaleSpec::choose`] has them all), which is how [`PowerScales`] has it. Subnormal
//! amax and zero get the smallest scale, as they do by the rules.

use smallfloat_kernels::{Level, PowerScales, largest_bits, to_odd};

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

/// The codes of scales by largest magnitudes of f64; `None` beyond f32's range. What is rounded to
/// odd has the same exponent, and is on the same side of the fractions that rules ask for.
pub(crate) fn power_codes_of_long(powers: PowerScales, largest: &[f64]) -> Option<Vec<u8>> {
    let all = largest.iter().fold(0.0, |all, &amax| if amax > all { amax } else { all });
    let code = |&amax: &f64| powers.code(to_odd(amax).to_bits());
    (all <= f64::from(f32::MAX)).then(|| largest.iter().map(code).collect())
}

/// As [`largest_of_groups`], for elements of f64.
pub(crate) fn largest_of_long_groups(
    grid: &Grid,
    (tile, groups): (&Tile, &Tile),
    count: usize,
    values: &[f64],
) -> Option<Vec<f64>> {
    let mut largest = vec![0; count];
    Level::detected().vectorize(
        #[inline(always)]
        || match grid.group_length(tile) {
            // Loops of a known length stay in registers.
            Some(16) => fill_largest(values.as_chunks::<16>().0.iter(), &mut largest),
            Some(32) => fill_largest(values.as_chunks::<32>().0.iter(), &mut largest),
            Some(length) => fill_largest(values.chunks_exact(length), &mut largest),
            None => grid.each_group(
                tile,
                groups,
                #[inline(always)]
                |group, range| largest[group] = largest[group].max(largest_bits_of_long(&values[range])),
            ),
        },
    );
    let all = largest.iter().fold(0, |all, &bits| bits.max(all));
    let finite = all < f64::INFINITY.to_bits();
    finite.then(|| largest.into_iter().map(f64::from_bits).collect())
}

#[inline(always)]
fn fill_largest(groups: impl Iterator<Item: AsRef<[f64]>>, largest: &mut [u64]) {
    for (group, largest) in groups.zip(largest) {
        *largest = largest_bits_of_long(group.as_ref());
    }
}

/// The bits of the largest magnitude; those of numbers that are not finite are above all others.
#[inline(always)]
fn largest_bits_of_long(values: &[f64]) -> u64 {
    const LANES: usize = 8;
    let magnitude = |x: &f64| (x.to_bits() & !(1 << 63)).cast_signed();
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0; LANES];
    for values in whole {
        // Signed comparisons are what vectors have.
        for (lane, x) in lanes.iter_mut().zip(values) {
            *lane = magnitude(x).max(*lane);
        }
    }
    // Halves of vectors: a chain of lanes would be put together from several groups.
    let lanes: [i64; 4] = std::array::from_fn(|i| lanes[i].max(lanes[i + 4]));
    let largest = lanes[0].max(lanes[2]).max(lanes[1].max(lanes[3]));
    rest.iter().fold(largest, |largest, x| magnitude(x).max(largest)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::grid::{Granularity, index};
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
                // Of f64 also what lies between numbers of f32, and below them.
                let mut long: Vec<f64> = values.iter().map(|&x| x.into()).collect();
                long.extend(values.iter().flat_map(|&x| [f64::from(x).next_down(), f64::from(x).next_up()]));
                long.retain(|x| (0.0..=f64::from(f32::MAX)).contains(x));
                long.extend([1e-300, 5e-324]);
                let codes = power_codes_of_long(powers, &long).unwrap();
                for (&x, code) in long.iter().zip(codes) {
                    let scale = spec.choose(&element, &Extent::of(&[x]), 1.0);
                    assert_eq!(u64::from(code), scale.code, "{format} {rule} {x:e}");
                }
                assert_eq!(power_codes_of_long(powers, &[1.0, f64::from(f32::MAX).next_up()]), None);
                let mut odd = values.clone();
                odd[7] = f32::NAN;
                assert_eq!(power_codes(powers, &grid, (&tile, &tile), values.len(), &odd), None);
            }
        }
    }

    /// Of groups in rows, of known lengths and others, and of squares.
    #[test]
    fn largest_magnitudes_of_f64() {
        let mut values: Vec<f64> = (0..64 * 96).map(|i| f64::from(i * 7919 % 6007 - 3000) / 7.0).collect();
        values[5] = -1e300;
        values[700] = 5e-324;
        for (rows, columns) in [(1, 16), (1, 32), (1, 24), (1, 3), (1, 96), (8, 8), (64, 96), (7, 40)] {
            let grid = Grid::new(&[64, 96], Granularity::Block { rows, columns });
            let tile = Tile { row: 0, rows: 64, column: 0, columns: 96 };
            let groups = grid.groups_of(&tile);
            let mut expected = vec![0.0; 64_usize.div_ceil(index(rows)) * 96_usize.div_ceil(index(columns))];
            for (i, x) in values.iter().enumerate() {
                let (row, column) = (i / 96 / index(rows), i % 96 / index(columns));
                let place: &mut f64 = &mut expected[row * 96_usize.div_ceil(index(columns)) + column];
                *place = place.max(x.abs());
            }
            let found = largest_of_long_groups(&grid, (&tile, &groups), expected.len(), &values);
            assert_eq!(found, Some(expected.clone()), "{rows} {columns}");
            for (at, x) in [(0, f64::NAN), (64 * 96 - 1, f64::INFINITY), (1000, f64::NEG_INFINITY)] {
                let mut values = values.clone();
                values[at] = x;
                assert_eq!(largest_of_long_groups(&grid, (&tile, &groups), expected.len(), &values), None);
            }
        }
    }
}
