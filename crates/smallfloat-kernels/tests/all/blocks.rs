//! Blocks at every level against scales in integers and the core's rounding of exact quotients.

use smallfloat::formats::{E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2};
use smallfloat::{Format, Rounding, Saturation};
use smallfloat_kernels::{
    Decoder, Encoder, Level, PowerScales, StepTable, largest_of_groups, quotients_to_odd,
};

const LENGTHS: [usize; 8] = [1, 5, 16, 32, 48, 64, 100, 5000];

fn exponent_of_max(format: &Format) -> i32 {
    format.exponent_range().1
}

/// The code of a group's scale, from exponent and fraction of its largest magnitude.
fn scale_code(group: &[f32], exponent: i32, threshold: u32) -> u8 {
    let amax = group.iter().fold(0.0_f32, |amax, x| amax.max(x.abs()));
    let (field, fraction) = (amax.to_bits() >> 23, amax.to_bits() & 0x7f_ffff);
    let up = u32::from(fraction >= threshold);
    u8::try_from(i64::from(field + up) - i64::from(exponent)).unwrap_or(0)
}

fn expected(
    format: &Format,
    rounding: Rounding,
    length: usize,
    threshold: u32,
    values: &[f32],
) -> (Vec<u8>, Vec<u8>) {
    let projection = format.default_projection().with_rounding(rounding);
    let projection = projection.with_saturation(Saturation::SatFinite);
    let (mut scales, mut codes) = (vec![], vec![]);
    for group in values.chunks(length) {
        let code = scale_code(group, exponent_of_max(format), threshold);
        scales.push(code);
        // Exact: an f32 times a power of two within the range of f64.
        let inverse = 2.0_f64.powi(127 - i32::from(code));
        codes.extend(group.iter().map(|&x| {
            let code = format.encode_f64(f64::from(x) * inverse, &projection).value;
            u8::try_from(code).expect("a byte")
        }));
    }
    (scales, codes)
}

fn check(format: &Format, rounding: Rounding, length: usize, threshold: u32, values: &[f32]) {
    let projection = format.default_projection().with_rounding(rounding);
    let encoder =
        Encoder::<f32>::for_length(format, &projection.with_saturation(Saturation::SatFinite), usize::MAX)
            .unwrap();
    let rule = PowerScales::new(exponent_of_max(format), threshold).unwrap();
    let (of_groups, of_elements) = expected(format, rounding, length, threshold, values);
    for level in Level::available() {
        let encoder = encoder.clone().with_level(level);
        let (mut scales, mut codes) = (vec![0xaa; of_groups.len()], vec![0xaa_u8; values.len()]);
        assert!(encoder.encode_blocks(rule, length, values, &mut scales, &mut codes));
        let case = format!("{format}, {rounding:?}, groups of {length}, from {threshold:#x} on, {level}");
        assert_eq!(scales, of_groups, "{case}");
        let first = codes.iter().zip(&of_elements).position(|(code, expected)| code != expected);
        assert_eq!(first.map(|i| (i, values[i], codes[i], of_elements[i])), None, "{case}");
        let mut wide = vec![0xaaaa_u16; values.len()];
        assert!(encoder.encode_blocks(rule, length, values, &mut scales, &mut wide));
        assert!(wide.iter().zip(&of_elements).all(|(&wide, &code)| wide == u16::from(code)), "{case}");
    }
}

/// Every magnitude at which a rounding may change and its neighbours, in both signs, under every
/// scale, with a group's largest magnitude at either end of its binade.
#[test]
fn places_under_every_scale() {
    for format in [E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2] {
        let mut places = vec![0.0];
        for code in 0..=format.max_code() / 2 {
            let value = format.decode_f64(code).value;
            if value.is_finite() {
                places.extend([value, value * 1.0625, value * 1.125, value * 1.25, value * 1.5]);
            }
        }
        for (length, step) in [(16, 1), (32, 1), (64, 3), (7, 50)] {
            for threshold in [1, 0x40_0000, 0x60_0001, 0x70_0000, 1 << 23] {
                let mut values = vec![];
                for exponent in (0..=254_u32).step_by(step) {
                    for amax in [exponent << 23, exponent << 23 | 0x7f_ffff].map(f32::from_bits) {
                        let code = scale_code(&[amax], exponent_of_max(&format), threshold);
                        let scale = 2.0_f64.powi(i32::from(code) - 127);
                        for at in &places {
                            #[expect(clippy::cast_possible_truncation, reason = "an f32 near a place")]
                            let x = (at * scale) as f32;
                            for x in [x.next_down(), x, x.next_up()].map(|x| x.clamp(-amax, amax)) {
                                // Each group begins with its largest magnitude.
                                if values.len() % length == 0 {
                                    values.push(amax);
                                }
                                values.push(if values.len() % 3 == 0 { -x } else { x });
                            }
                        }
                        // The next amax begins a group.
                        values.resize(values.len().next_multiple_of(length), -0.0);
                    }
                }
                check(&format, Rounding::NearestEven, length, threshold, &values);
            }
        }
    }
}

/// Groups of zeros, subnormals, the largest numbers and every exponent side by side, of all lengths
/// and in every mode.
#[test]
fn groups_of_all_kinds() {
    let mut state = 1_u64;
    let mut bits = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        u32::try_from(state >> 32).expect("32 bits")
    };
    for length in LENGTHS {
        for groups in [0, 1, 2, 3, 4, 5, 127, 128, 129, 300] {
            let groups = if length > 100 { groups.min(3) } else { groups };
            let values: Vec<f32> = (0..groups)
                .flat_map(|group| {
                    let kind = bits() % 6;
                    (0..length)
                        .map(|i| {
                            let x = bits();
                            let x = match kind {
                                0 => x & 1 << 31,
                                1 => x & 0x807f_ffff,
                                2 => x & 0x80ff_ffff,
                                3 => x & 0x007f_ffff | 0x7e80_0000 | (x & 1) << 31,
                                4 => x & 0x83ff_ffff | 0x3d00_0000,
                                _ => x,
                            };
                            let x = f32::from_bits(x);
                            if x.is_finite() { x } else { [0.0, 1.5, 1e-3][(group + i) % 3] }
                        })
                        .collect::<Vec<_>>()
                })
                .collect();
            for format in [E2M1FN, E4M3FN, E5M2] {
                for &rounding in Rounding::DETERMINISTIC {
                    check(&format, rounding, length, 0x60_0001, &values);
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_told() {
    let rule = PowerScales::new(8, 1 << 23).unwrap();
    for level in Level::available() {
        let encoder = Encoder::<f32>::for_length(&E4M3FN, &E4M3FN.default_projection(), usize::MAX)
            .unwrap()
            .with_level(level);
        for length in [16, 24, 32, 64] {
            let values = vec![1.0_f32; 200 * length];
            let (mut scales, mut codes) = (vec![0; 200], vec![0_u8; values.len()]);
            let mut largest = vec![0.0; 200];
            for place in [0, 15, 63, 64, 130 * length + 3, values.len() - 1] {
                for x in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut values = values.clone();
                    values[place] = x;
                    assert!(!encoder.encode_blocks(rule, length, &values, &mut scales, &mut codes));
                    assert!(!largest_of_groups(level, length, &values, &mut largest));
                }
            }
            assert!(largest_of_groups(level, length, &values, &mut largest));
        }
    }
}

#[test]
fn largest_magnitudes() {
    for level in Level::available() {
        for length in LENGTHS {
            for groups in [0, 1, 2, 5, 17] {
                let values: Vec<f32> = (0..groups * length)
                    .map(|i| (f32::from(u16::try_from(i * 7919 % 1009).expect("below 1009")) - 504.0) * 1e-40)
                    .collect();
                let mut largest = vec![-1.0; groups];
                assert!(largest_of_groups(level, length, &values, &mut largest));
                let expected: Vec<f32> =
                    values.chunks(length).map(|x| x.iter().fold(0.0, |a, x| x.abs().max(a))).collect();
                assert_eq!(largest, expected, "{length} {groups} {level}");
            }
        }
    }
}

/// Codes are how many places magnitudes reach, by counting.
#[test]
fn steps_are_counted() {
    let rows: Vec<[f32; 7]> = (1..=200_u32)
        .map(|i| {
            let unit = f32::from_bits(i << 23);
            let places = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0].map(|place| place * unit);
            if i % 5 == 0 {
                [f32::from_bits(1), unit, unit, unit, f32::MAX, f32::INFINITY, f32::INFINITY]
            } else {
                places
            }
        })
        .collect();
    for sign in [2, 3] {
        // Three bits have three magnitudes other than zero.
        let most = if sign == 2 { 3 } else { 7 };
        let rows: Vec<[f32; 7]> = rows
            .iter()
            .map(|row| std::array::from_fn(|i| if i < most { row[i] } else { f32::INFINITY }))
            .collect();
        let table = StepTable::new(rows.iter().copied(), sign);
        for length in LENGTHS {
            let groups = if length > 100 { 3 } else { 203 };
            let scales: Vec<u8> = (0..groups).map(|i| u8::try_from(i * 37 % 203).expect("a byte")).collect();
            let values: Vec<f32> = (0..groups * length)
                .map(|i| {
                    let row = rows.get(usize::from(scales[i / length])).unwrap_or(&rows[0]);
                    let place = row[i % 7];
                    let x = [place.next_down(), place, place.next_up(), 0.0][i / 7 % 4].min(f32::MAX);
                    if i % 3 == 0 { -x } else { x }
                })
                .collect();
            let expected: Vec<u8> = values
                .iter()
                .enumerate()
                .map(|(i, x)| {
                    let row = rows.get(usize::from(scales[i / length]));
                    let reached = row.map_or(0, |row| row.iter().filter(|&&place| x.abs() >= place).count());
                    u8::try_from(reached).expect("at most 7") | u8::from(x.is_sign_negative()) << sign
                })
                .collect();
            for level in Level::available() {
                let mut codes = vec![0xaa_u8; values.len()];
                table.encode(level, length, &scales, &values, &mut codes);
                assert_eq!(codes, expected, "{length} {level}");
                let mut wide = vec![0xaaaa_u16; values.len()];
                table.encode(level, length, &scales, &values, &mut wide);
                assert!(wide.iter().zip(&expected).all(|(&wide, &code)| wide == u16::from(code)));
            }
        }
    }
}

/// Of the f32 numbers around a quotient the one with an odd last bit, unless it is one itself.
#[test]
fn quotients_are_rounded_to_odd() {
    for (over, unit) in [(1.0, 6.0), (814.5, 6.0), (f64::from(f32::MAX), 6.0), (1e-38, 448.0), (1.0, 1.0)] {
        let values: Vec<f32> = (0..=255_u32)
            .flat_map(|field| {
                [0, 1, 0x2a_aaab, 0x40_0000, 0x7f_ffff].map(|low| f32::from_bits(field << 23 | low))
            })
            .filter(|x| x.is_finite())
            .collect();
        for level in Level::available() {
            let mut quotients = vec![0.0; values.len()];
            quotients_to_odd(level, over, unit, &values, &mut quotients);
            for (&x, &q) in values.iter().zip(&quotients) {
                let exact = f64::from(x) * over / unit;
                let is_exact = f64::from(q).to_bits() == exact.to_bits();
                let is_odd = q.to_bits() & 1 == 1;
                let around =
                    f64::from(q.next_down()) < exact && (exact < f64::from(q.next_up()) || q >= f32::MAX);
                assert!(is_exact || is_odd && around, "{x:e} · {over:e} / {unit}: {q:e} {level}");
            }
        }
    }
}

/// Every code under factors of every exponent, odd ones and those that are no numbers: the core's
/// value times the factor, bit by bit.
#[test]
fn products_with_factors() {
    let unsigned: Format = "binary8p3ue".parse().unwrap();
    let fnuz: Format = "e4m3fnuz".parse().unwrap();
    for format in [E2M1FN, E2M3FN, E4M3FN, E5M2, unsigned, fnuz] {
        let decoder = Decoder::<f32>::for_length(&format, None, usize::MAX).unwrap();
        for length in LENGTHS {
            for groups in [0, 1, 2, 3, 4, 5, 127, 300] {
                let groups = if length > 100 { groups.min(3) } else { groups };
                let factors: Vec<f32> = (0..groups)
                    .map(|i: u32| match i % 8 {
                        5 => [f32::NAN, f32::INFINITY, 0.0, -0.0, f32::MAX][(i / 8 % 5) as usize],
                        6 => f32::from_bits(i.wrapping_mul(0x9e37_79b9) & 0x7f7f_ffff),
                        _ => f32::from_bits((i * 37 % 255) << 23),
                    })
                    .collect();
                let codes: Vec<u8> = (0..factors.len() * length)
                    .map(|i| (i * 101 % (usize::try_from(format.max_code()).unwrap() + 1)).to_le_bytes()[0])
                    .collect();
                let expected: Vec<u32> = codes
                    .iter()
                    .enumerate()
                    .map(|(i, &code)| {
                        #[expect(clippy::cast_possible_truncation, reason = "a number of a few bits")]
                        let value = format.decode_f64(code.into()).value as f32;
                        (value * factors[i / length]).to_bits()
                    })
                    .collect();
                let wide: Vec<u16> = codes.iter().copied().map(u16::from).collect();
                for level in Level::available() {
                    let decoder = decoder.clone().with_level(level);
                    let mut values = vec![-1.0; codes.len()];
                    decoder.decode_blocks(length, &factors, &codes, &mut values);
                    let equal = |(x, &bits): (&f32, &u32)| {
                        x.to_bits() == bits || x.is_nan() && f32::from_bits(bits).is_nan()
                    };
                    assert!(values.iter().zip(&expected).all(equal), "{format} {length} {groups} {level}");
                    values.fill(-1.0);
                    decoder.decode_blocks(length, &factors, &wide, &mut values);
                    assert!(values.iter().zip(&expected).all(equal), "{format} {length} {groups} {level}");
                }
            }
        }
    }
}
