//! The biases of channels, blocks and large tensors (`docs/semantics.md` S7), against brute force
//! in integers over the formats' definitions: nothing of the library has a part in the expected
//! biases.
//!
//! Tesla's formats at bias b, with M stored bits: (1 + f / 2^M) · 2^(e − b) for exponent fields e >
//! 0, and for e = 0 f / 2^M · 2^(1 − b) as IEEE 754 has it (gradual), or f / 2^M · 2^(−b) as the
//! text has it (tesla).

use crate::common::{File, Random, Tensor, options, quantized};
use safetensors::Dtype::{F32, F64};
use smallfloat_tensor::{BiasPolicy, Granularity, Options};

/// Elements are multiples of 2^−UNIT.
const UNIT: i32 = 62;
/// Larger biases are not tried: elements are so large that they would clip the largest almost
/// whole.
const MOST: i32 = 50;

/// A format by its definition: name, exponent bits, stored bits, the place of subnormals under that
/// of IEEE 754.
#[derive(Clone, Copy)]
struct Definition(&'static str, u32, u32, i32);

const FORMATS: [Definition; 6] = [
    Definition("cfloat8_1_4_3", 4, 3, 1),
    Definition("cfloat8_1_4_3:subnormals=gradual", 4, 3, 0),
    Definition("cfloat8_1_5_2", 5, 2, 1),
    Definition("cfloat8_1_5_2:subnormals=gradual", 5, 2, 0),
    Definition("shp", 5, 10, 1),
    Definition("shp:subnormals=gradual", 5, 10, 0),
];

impl Definition {
    /// The magnitudes at bias 0 in units of 2^(−M − 1), ascending.
    fn magnitudes(self) -> Vec<u128> {
        let Self(_, exponent_bits, stored, lower) = self;
        let mut magnitudes = Vec::new();
        for field in 0..1_u32 << exponent_bits {
            for fraction in 0..1_u128 << stored {
                // 2^(1 − lower) · f / 2^M for field 0.
                magnitudes.push(match field {
                    0 => fraction << (2 - lower),
                    _ => ((1 << stored) + fraction) << (field + 1),
                });
            }
        }
        magnitudes
    }

    /// Of all biases the one with the least Σ (x − q)², of equals the largest. Elements are in
    /// units of 2^−UNIT.
    fn best(self, magnitudes: &[u128], elements: &[u128]) -> u8 {
        let unit = UNIT - 1 - self.2.cast_signed();
        let error = |bias: i32| {
            let shift = unit - bias;
            let squared = |&x: &u128| {
                let above = magnitudes.partition_point(|q| q << shift < x);
                let near = magnitudes[above.saturating_sub(1)..].iter().take(2);
                let distance = near.map(|q| (q << shift).abs_diff(x)).min().unwrap();
                distance * distance
            };
            elements.iter().map(squared).sum::<u128>()
        };
        let errors: Vec<u128> = (0..=MOST).map(error).collect();
        let least = *errors.iter().min().unwrap();
        let best = errors.iter().rposition(|error| *error == least).unwrap();
        assert!(
            least < elements.iter().map(|x| x * x).sum::<u128>() >> 4,
            "not worse than a bias that clips all"
        );
        u8::try_from(best).unwrap()
    }
}

/// A number that must be a multiple of 2^−UNIT and below 1, in such units.
fn units(x: f64) -> u128 {
    let scaled = x.abs() * 2.0_f64.powi(UNIT);
    assert!(scaled.fract() == 0.0 && x.abs() < 1.0, "{x:e}");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let units = scaled as u128;
    units
}

fn with(format: &str, granularity: Granularity) -> Options {
    Options { granularity, bias: BiasPolicy::LeastError, verify: false, ..options(format) }
}

/// Quantizes groups of one size, as blocks of one row, and holds their biases against brute force.
#[track_caller]
fn check(dtype: safetensors::Dtype, formats: &[Definition], size: usize, groups: &[Vec<f64>]) {
    let all: Vec<f64> = groups.concat();
    let file = File::of([("w", Tensor::of(dtype, &all).shaped(&[groups.len(), size]))]);
    for format in formats {
        let channels = quantized(&file, &with(format.0, Granularity::Channel)).1;
        let block = Granularity::Block { rows: 1, columns: size as u64 };
        let blocks = quantized(&file, &with(format.0, block)).1;
        let magnitudes = format.magnitudes();
        for (i, group) in groups.iter().enumerate() {
            let elements: Vec<u128> = group.iter().map(|&x| units(x)).collect();
            let best = format.best(&magnitudes, &elements);
            assert_eq!(channels.tensors["w_bias"].bytes[i], best, "{} {group:?}", format.0);
            assert_eq!(blocks.tensors["w_bias"].bytes[i], best, "{} {group:?}", format.0);
        }
    }
}

/// Large elements just at, above and below the places where the next larger bias begins to be as
/// good.
const LARGE: [f64; 7] = [0.5, 0.875, 0.937_5, 0.968_75, 0.968_75 + 1.0 / 4096.0, 0.999_755_859_375, 0.6];

/// The elements beside a large one that are subnormal, normal, or in the hole at biases that hold
/// it: all of five stored bits in eight binades, around the format's lowest.
fn small(format: Definition) -> impl Iterator<Item = f64> {
    let lowest = -(1 << format.1);
    (lowest - 3..lowest + 5).flat_map(|exponent| {
        (32..64).map(move |significand| f64::from(significand) * 2.0_f64.powi(exponent - 5))
    })
}

#[test]
fn all_pairs_of_a_large_and_a_small_element() {
    for format in FORMATS {
        let pairs = LARGE.iter().flat_map(|&large| small(format).map(move |x| vec![large, -x]));
        let pairs: Vec<Vec<f64>> = pairs.collect();
        check(if format.2 == 3 { F64 } else { F32 }, &[format], 2, &pairs);
    }
}

#[test]
fn many_triples_and_zeros() {
    for format in FORMATS {
        let mut random = Random(11);
        let small: Vec<f64> = small(format).collect();
        let mut any = || {
            let i = random.next() % small.len() as u64;
            small[usize::try_from(i).unwrap()]
        };
        let triples: Vec<Vec<f64>> = (0..700)
            .map(|i| vec![any(), 0.0, if i % 3 == 0 { LARGE[i % 7] } else { any() }, -any()])
            .collect();
        // Without a large element the best bias may be beyond those that are tried.
        let scaled = |group: Vec<f64>| -> Vec<f64> {
            let largest = group.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let up = if largest < 0.25 { 2.0_f64.powf(-2.0 - largest.log2().ceil()) } else { 1.0 };
            group.into_iter().map(|x| x * up).collect()
        };
        let triples: Vec<Vec<f64>> = triples.into_iter().map(scaled).collect();
        check(F32, &[format], 4, &triples);
    }
}

/// Normal numbers as F32 holds them, a few of them large.
fn normals(random: &mut Random, count: usize, outliers: bool) -> Vec<f64> {
    let mut values = random.normals(count, 0.01);
    if outliers {
        values[count / 2] *= 6.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "what F32 holds")]
    let rounded =
        values.into_iter().map(|x| f64::from((x * 2.0_f64.powi(32)).round() as f32) * 2.0_f64.powi(-32));
    rounded.collect()
}

#[test]
fn groups_of_normal_numbers() {
    let mut random = Random(12);
    for (size, count) in [(32, 200), (1000, 8), (9000, 3)] {
        let groups: Vec<Vec<f64>> = (0..count).map(|i| normals(&mut random, size, i % 3 == 0)).collect();
        check(F32, &FORMATS[..5], size, &groups);
    }
}

/// Tensors whose statistics would be a large table: nothing is low, or little, or much, or what is
/// low is a value at many biases.
#[test]
fn tensors_of_many_elements() {
    for format in &FORMATS[4..] {
        let mut random = Random(13);
        for (low, step, dtype) in
            [(0, 1, F32), (0, 1, F64), (3, 1, F32), (40, 1, F64), (9000, 1, F32), (9, 0, F32)]
        {
            let mut values = normals(&mut random, 20_000, true);
            for i in 0..low {
                let significand = 32_768 + u32::try_from(i * 1021 % 30_011 * step).unwrap();
                values[2 * i + 1] = f64::from(significand) * 2.0_f64.powi(-51);
            }
            let file = File::of([("w", Tensor::of(dtype, &values))]);
            let (_, output) = quantized(&file, &with(format.0, Granularity::Tensor));
            let elements: Vec<u128> = values.iter().map(|&x| units(x)).collect();
            let best = format.best(&format.magnitudes(), &elements);
            assert_eq!(output.tensors["w_bias"].bytes, [best], "{} {low} {dtype:?}", format.0);
        }
    }
}
