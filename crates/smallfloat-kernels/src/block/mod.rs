//! Blocks: f32 in groups of one length that follow each other → a scale for each group, and the
//! codes of the quotients; and codes → products with the groups' factors.

pub(crate) mod steps;

use smallfloat::Rounding;

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::decode::Decoder;
use crate::element::{Code, Codes, check_lengths, check_operand};
use crate::encode::Encoder;
use crate::plan::blocks::PowerScales;

/// Elements whose quotients are held at once: they stay in the first cache.
const PIECE: usize = 1 << 10;

impl Encoder<f32> {
    /// Encodes groups of `length` elements, which follow each other: the codes of their scales, and
    /// those of the elements over them, with the one rounding of the exact quotient. Returns
    /// `false` if an element is not finite; codes and scales are then anything.
    ///
    /// ```
    /// use smallfloat::formats::E2M1FN;
    /// use smallfloat_kernels::{Encoder, PowerScales};
    ///
    /// // MXFP4: 2^(⌊log2 amax⌋ − 2), as E2M1's largest value is 6 = 1.5 · 2^2.
    /// let scales = PowerScales::new(2, 1 << 23).expect("an exponent in range");
    /// let encoder = Encoder::new(&E2M1FN, &E2M1FN.default_projection())?;
    /// let (mut codes, mut of_scales) = ([0_u8; 64], [0; 2]);
    /// let mut x = [0.25_f32; 64];
    /// x[40] = -3.0;
    /// assert!(encoder.encode_blocks(scales, 32, &x, &mut of_scales, &mut codes));
    /// // Scales 2^-4 and 2^-1: 0.25 is 4 and 0.5, and −3 is −6.
    /// assert_eq!(of_scales, [123, 126]);
    /// assert_eq!((codes[0], codes[32], codes[40]), (0x6, 0x1, 0xf));
    /// # Ok::<(), smallfloat_kernels::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the slices' lengths don't belong together, the code type is too narrow, or the rounding
    /// is stochastic.
    pub fn encode_blocks<C: Code>(
        &self,
        rule: PowerScales,
        length: usize,
        values: &[f32],
        scales: &mut [u8],
        codes: &mut [C],
    ) -> bool {
        check_groups(length, values.len(), scales.len());
        self.check(values, codes);
        let rounding = self.projection().rounding;
        assert!(!rounding.is_stochastic(), "blocks are encoded in deterministic modes");
        if let Some(fast) = self.simd()
            && let Some(all_finite) = fast.encode_blocks(rule, length, values, scales, codes)
        {
            return all_finite;
        }
        let level = self.level();
        let groups = (PIECE / length).max(1);
        let mut room = vec![0.0; (groups * length).min(values.len())];
        let mut largest = vec![0.0; groups.min(scales.len())];
        let pieces = values.chunks(groups * length).zip(codes.chunks_mut(groups * length));
        for ((values, codes), scales) in pieces.zip(scales.chunks_mut(groups)) {
            let (quotients, largest) = (&mut room[..values.len()], &mut largest[..scales.len()]);
            if !largest_of_groups(level, length, values, largest) {
                return false;
            }
            level.vectorize(
                #[inline(always)]
                || {
                    for (scale, amax) in scales.iter_mut().zip(largest) {
                        *scale = rule.code(amax.to_bits());
                    }
                    match length {
                        // Loops of a known length stay in registers.
                        16 => divide_groups(
                            rounding,
                            arrays::<16>(values),
                            scales,
                            quotients.as_chunks_mut::<16>().0.iter_mut(),
                        ),
                        32 => divide_groups(
                            rounding,
                            arrays::<32>(values),
                            scales,
                            quotients.as_chunks_mut::<32>().0.iter_mut(),
                        ),
                        _ => divide_groups(
                            rounding,
                            values.chunks_exact(length),
                            scales,
                            quotients.chunks_exact_mut(length),
                        ),
                    }
                },
            );
            self.encode_uncounted(quotients, codes);
        }
        true
    }
}

impl Decoder<f32> {
    /// Decodes groups of `length` codes, which follow each other, to the products of their values
    /// and their groups' factors, rounded to nearest even.
    ///
    /// ```
    /// use smallfloat::formats::E2M1FN;
    /// use smallfloat_kernels::Decoder;
    ///
    /// let mut values = [0.0; 4];
    /// Decoder::new(&E2M1FN, None)?.decode_blocks(2, &[0.25, 8.0], &[0x7_u8, 0x2, 0x9, 0x0], &mut values);
    /// assert_eq!(values, [1.5, 0.25, -4.0, 0.0]);
    /// # Ok::<(), smallfloat_kernels::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the slices' lengths don't belong together, or the codes are scalars of another format.
    pub fn decode_blocks<C: Code>(&self, length: usize, factors: &[f32], codes: &[C], values: &mut [f32]) {
        check_groups(length, values.len(), factors.len());
        check_lengths((codes.len(), "codes"), (values.len(), "values"));
        check_operand::<C>(self.format());
        if let (Some(machine), Some(plan), Codes::Bytes(codes)) =
            (Machine::new(self.level()), self.plan(), C::as_codes(codes))
            && machine.decode_blocks(plan, length, factors, codes, values).is_some()
        {
            return;
        }
        // What is decoded is still in the first cache when it is multiplied.
        let groups = (PIECE / length).max(1);
        let pieces = codes.chunks(groups * length).zip(values.chunks_mut(groups * length));
        for ((codes, values), factors) in pieces.zip(factors.chunks(groups)) {
            self.decode(codes, values);
            self.level().vectorize(
                #[inline(always)]
                || match length {
                    // Loops of a known length stay in registers.
                    16 => multiply_groups(values.as_chunks_mut::<16>().0.iter_mut(), factors),
                    32 => multiply_groups(values.as_chunks_mut::<32>().0.iter_mut(), factors),
                    _ => multiply_groups(values.chunks_exact_mut(length), factors),
                },
            );
        }
    }
}

#[inline(always)]
fn multiply_groups(groups: impl Iterator<Item: AsMut<[f32]>>, factors: &[f32]) {
    for (mut values, factor) in groups.zip(factors) {
        values.as_mut().iter_mut().for_each(|x| *x *= factor);
    }
}

/// Panics unless there is a scale for each of the groups that elements make up.
#[track_caller]
fn check_groups(length: usize, elements: usize, scales: usize) {
    assert!(
        length > 0 && elements.is_multiple_of(length),
        "{elements} elements are no whole groups of {length}"
    );
    check_lengths((elements / length, "groups"), (scales, "scales"));
}

/// Fills in the largest magnitudes of groups of `length` elements, which follow each other, and
/// returns `false` if one of them is not finite.
///
/// # Panics
/// If the slices' lengths don't belong together.
pub fn largest_of_groups(level: Level, length: usize, values: &[f32], largest: &mut [f32]) -> bool {
    check_groups(length, values.len(), largest.len());
    let filled = Machine::new(level).and_then(|machine| machine.largest_of_groups(length, values, largest));
    // NaN and infinities are above all others in the order of bits.
    f32::INFINITY.to_bits()
        > filled.unwrap_or_else(|| {
            level.vectorize(
                #[inline(always)]
                || {
                    match length {
                        // Loops of a known length stay in registers.
                        16 => fill_largest(arrays::<16>(values), largest),
                        _ => fill_largest(values.chunks_exact(length), largest),
                    }
                    largest_bits(largest)
                },
            )
        })
}

#[inline(always)]
fn fill_largest(groups: impl Iterator<Item: AsRef<[f32]>>, largest: &mut [f32]) {
    for (group, largest) in groups.zip(largest) {
        *largest = f32::from_bits(largest_bits(group.as_ref()));
    }
}

/// Returns the bits of the largest magnitude; those of numbers that are not finite are above all
/// others.
#[inline(always)]
pub fn largest_bits(values: &[f32]) -> u32 {
    const LANES: usize = 16;
    let magnitude = |x: &f32| x.to_bits() & !(1 << 31);
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0; LANES];
    for values in whole {
        lanes.iter_mut().zip(values).for_each(|(lane, x)| *lane = magnitude(x).max(*lane));
    }
    // Halves of vectors: a chain of lanes would be put together from several groups.
    let lanes: [u32; 8] = std::array::from_fn(|i| lanes[i].max(lanes[i + 8]));
    let lanes: [u32; 4] = std::array::from_fn(|i| lanes[i].max(lanes[i + 4]));
    let largest = lanes[0].max(lanes[2]).max(lanes[1].max(lanes[3]));
    // The rest apart, so that lanes stay in registers: most groups have none.
    rest.iter().fold(largest, |largest, x| magnitude(x).max(largest))
}

/// Divides groups by their scales.
#[inline(always)]
fn divide_groups(
    rounding: Rounding,
    groups: impl Iterator<Item: AsRef<[f32]>>,
    scales: &[u8],
    quotients: impl Iterator<Item: AsMut<[f32]>>,
) {
    for ((values, mut quotients), &scale) in groups.zip(quotients).zip(scales) {
        PowerScales::divide(scale, rounding, values.as_ref(), quotients.as_mut());
    }
}

#[inline(always)]
fn arrays<const N: usize>(values: &[f32]) -> impl Iterator<Item = &[f32; N]> {
    values.as_chunks().0.iter()
}
