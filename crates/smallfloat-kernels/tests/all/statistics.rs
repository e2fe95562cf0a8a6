//! Statistics by vectors against the portable ones, and against integers of their own.

use std::collections::BTreeMap;
use std::hint::black_box;

use crate::common::{CLASSES, data};
use smallfloat::Datum;
use smallfloat_kernels::{Bf16, ClassSums, Element, ErrorSums, F16, Level, ScaledErrors, amax};

/// All that cells tell.
fn contents<T: Element>(cells: &ClassSums<T>) -> String {
    let list: Vec<_> = cells.iter().collect();
    let counts = (cells.elements(), cells.zeros(), cells.nans(), cells.infinities());
    let rest = (cells.first_not_finite(), cells.has_negative(), cells.amax(), cells.exponents());
    format!("{list:?} {counts:?} {rest:?}")
}

fn cells<T: Element>(values: &[T], precision: u32, level: Level, piece: usize) -> ClassSums<T> {
    let mut cells = ClassSums::<T>::new(precision).with_level(level);
    values.chunks(piece.max(1)).for_each(|piece| cells.add(piece));
    cells
}

fn levels_agree<T: Element>() {
    let target = "cfloat8_1_4_3:bias=7".parse().unwrap();
    for level in Level::available() {
        for class in CLASSES {
            let values: Vec<T> = data(class, &target, 300, 21);
            for (precision, lengths) in [(4, 0..=257), (3, 250..=257), (11, 100..=101)] {
                for length in lengths.step_by(if class == "random bits" { 1 } else { 7 }) {
                    let x = &values[length % 7..length % 7 + length];
                    let found = contents(&cells(x, precision, level, x.len()));
                    let expected = contents(&cells(x, precision, Level::Portable, x.len()));
                    assert_eq!(
                        found, expected,
                        "{level:?}, {class}, precision {precision}, {length} elements"
                    );
                    assert_eq!(amax(x, level).bits(), amax(x, Level::Portable).bits(), "{level:?}, {class}");
                }
            }
            let whole = contents(&cells(&values, 4, level, 300));
            assert_eq!(contents(&cells(&values, 4, level, 41)), whole, "{level:?}, {class}, in pieces");
        }
    }
}

#[test]
fn levels_agree_f32() {
    levels_agree::<f32>();
}

#[test]
fn levels_agree_f16() {
    levels_agree::<F16>();
}

#[test]
fn levels_agree_bf16() {
    levels_agree::<Bf16>();
}

/// Σ(x − q)² of a bias from cells, in units of 2^(2·unit), by integers that `i128` holds for these
/// data.
fn from_cells(cells: &ClassSums<f32>, nearest: impl Fn(i64) -> i64, unit: i32) -> i128 {
    cells
        .iter()
        .map(|cell| {
            let scale = u32::try_from(cell.exponent - unit).unwrap();
            let Datum::Finite { significand, exponent, .. } = cell.representative else { panic!("finite") };
            // The representative is on the grid of the source, and so of the unit.
            let value = i64::try_from(significand).unwrap() << (exponent - unit);
            let distance = i128::from(cell.first) * (1 << scale) - i128::from(nearest(value));
            let (sum, squares) =
                (i128::try_from(cell.sum).unwrap(), i128::try_from(cell.sum_of_squares).unwrap());
            i128::from(cell.count) * distance * distance
                + 2 * distance * (sum << scale)
                + (squares << (2 * scale))
        })
        .sum()
}

/// The exact squared error of every bias, against the elements one by one. The format is 1-4-3 with
/// gradual subnormals, whose rounding is spelt out here in integers.
#[test]
fn every_bias_s_error_is_exact() {
    // Elements are integers below 2^27 with 24 bits at most; all is counted in units of 2^−24.
    let mut state = 77;
    let values: Vec<f32> = (0..5000)
        .map(|_| {
            let word = crate::common::scramble(&mut state);
            let integer = u32::try_from(word & 0xff_ffff).unwrap() >> (word >> 24 & 15);
            #[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
            let value = (integer << (word >> 28 & 3)) as f32;
            if word & 1 << 31 == 0 { value } else { -value }
        })
        .collect();
    for level in Level::available() {
        let cells = cells(&values, 4, level, 999);
        let total: u64 = cells.exponents().iter().map(|(_, count)| count).sum();
        assert_eq!(total + cells.zeros(), 5000);
        let biases: BTreeMap<u32, i128> = (24..44)
            .map(|lowest| {
                // Magnitudes are multiples of 2^lowest up to the first 16 of them, then of
                // 2^(lowest + 1), and so on.
                let nearest = |magnitude: i64| {
                    let leading = 63 - (magnitude | 1).leading_zeros();
                    let step = lowest.max(leading.saturating_sub(3));
                    let (quotient, rest) = (magnitude >> step, magnitude & ((1 << step) - 1));
                    let half = if step == 0 { 1 } else { 1 << (step - 1) };
                    let up = rest > half || (step > 0 && rest == half && quotient & 1 == 1);
                    ((quotient + i64::from(up)) << step).min(15 << (lowest + 14))
                };
                let one_by_one: i128 = values
                    .iter()
                    .map(|x| {
                        #[expect(clippy::cast_possible_truncation, reason = "integers")]
                        let magnitude = (x.abs() as i64) << 24;
                        let error = i128::from(magnitude - nearest(magnitude));
                        error * error
                    })
                    .sum();
                let found = from_cells(&cells, nearest, -24);
                assert_eq!(found, one_by_one, "{level:?}, lowest step 2^({lowest} − 24)");
                (lowest, found)
            })
            .collect();
        assert!(biases.values().any(|error| *error != biases[&24]), "biases differ");
    }
}

/// More elements than 64-bit sums hold, all alike and with the widest remainder.
#[test]
fn sums_that_are_emptied_in_time() {
    let x = vec![f32::from_bits(0x3f87_ffff); (1 << 21) + 5];
    for level in Level::available() {
        let cells = cells(&x, 4, level, x.len());
        let [cell] = cells.iter().collect::<Vec<_>>()[..] else { panic!("one class") };
        let (count, t) = (x.len() as u128, u128::from(0x7_ffff_u32));
        assert_eq!(u128::from(cell.count), count);
        assert_eq!((cell.sum, cell.sum_of_squares), (count * t, count * t * t), "{level:?}");
    }
}

/// Signal and error by integers: elements and codes are small integers, whose squares add up
/// exactly in any order.
#[test]
fn error_sums_are_exact_where_sums_are() {
    let mut state = 5;
    for length in (0..40).chain([1 << 16, (1 << 16) + 13, 200_001]) {
        let mut integer = |bits: u32| {
            let word = crate::common::scramble(&mut state);
            let magnitude = (word >> 32) as i32 & ((1 << bits) - 1);
            if word & 1 == 0 { magnitude } else { -magnitude }
        };
        let (mut x, mut q) = (Vec::<f32>::new(), Vec::<f64>::new());
        let (mut signal, mut noise, mut amax, mut most, mut left_out) = (0_i64, 0_i64, 0, 0, 0);
        for i in 0..length {
            let (value, error) = (integer(10), integer(6));
            #[expect(clippy::cast_precision_loss, reason = "eleven bits")]
            let (value_of, code_of) = (value as f32, f64::from(value - error));
            let strange = [(f32::NAN, 1.0), (2.0, f64::INFINITY), (f32::NEG_INFINITY, f64::NEG_INFINITY)];
            if i % 29 == 28 {
                let (value_of, code_of) = strange[i % 3];
                x.push(value_of);
                q.push(code_of);
                left_out += 1;
                continue;
            }
            x.push(value_of);
            q.push(code_of);
            signal += i64::from(value * value);
            noise += i64::from(error * error);
            (amax, most) = (amax.max(value.abs()), most.max(error.abs()));
        }
        let sums = ErrorSums::of(&x, &q);
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let expected = ErrorSums {
            elements: length as u64 - left_out,
            not_finite: left_out,
            signal: signal as f64,
            noise: noise as f64,
            amax: amax.into(),
            max_error: most.into(),
        };
        assert_eq!(sums, expected, "{length} elements");
    }
}

/// The order of the sums is that of the documentation, whatever adds them up.
#[test]
fn error_sums_go_by_eight_lanes() {
    let mut state = 6;
    let values: Vec<f32> = (0..70_001)
        .map(|_| {
            let word = crate::common::scramble(&mut state);
            #[expect(clippy::cast_possible_truncation, reason = "random bits")]
            let value = f32::from_bits(word as u32);
            value
        })
        .collect();
    let quantized: Vec<f32> = values.iter().map(|x| x * 1.01).collect();
    let (mut signal, mut noise) = (0.0_f64, 0.0_f64);
    for (x, q) in values.chunks(1 << 14).zip(quantized.chunks(1 << 14)) {
        let (mut lanes, mut errors) = ([0.0_f64; 8], [0.0_f64; 8]);
        for (i, (x, q)) in x.iter().zip(q).enumerate().filter(|(_, (x, q))| x.is_finite() && q.is_finite()) {
            // QEMU 7.2 misreads s390x's product of two binary32 in binary64 (MDEBR), which
            // compilers make of less.
            let (x, q) = (black_box(f64::from(*x)), black_box(f64::from(*q)));
            lanes[i % 8] += x * x;
            errors[i % 8] += (x - q) * (x - q);
        }
        signal += lanes.into_iter().fold(0.0, |sum, lane| sum + lane);
        noise += errors.into_iter().fold(0.0, |sum, lane| sum + lane);
    }
    let sums = ErrorSums::of(&values, &quantized);
    assert_eq!((sums.signal.to_bits(), sums.noise.to_bits()), (signal.to_bits(), noise.to_bits()));
}

/// Of a block in groups the sums are those of the documentation, element by element; where a number
/// is not finite there are none.
#[test]
fn errors_of_products_with_scales() {
    let mut state = 9;
    let mut random = || crate::common::scramble(&mut state);
    for (elements, group) in [(1 << 14, 32), (1 << 14, 1 << 14), (808, 8), (4992, 208), (0, 8)] {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let x: Vec<f64> = (0..elements).map(|_| (random() >> 12) as f64 / 1e15 - 2.0).collect();
        #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
        let values: Vec<f32> = (0..elements).map(|_| (random() >> 40) as f32 / 8e6 - 1.0).collect();
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let scales: Vec<f64> = (0..elements / group).map(|_| (random() >> 32) as f64 / 1e9).collect();
        let (mut signal, mut noise, mut amax, mut max_error) = ([0.0_f64; 8], [0.0_f64; 8], 0.0_f64, 0.0_f64);
        for (i, (x, value)) in x.iter().zip(&values).enumerate() {
            let error = x - f64::from(*value) * scales[i / group];
            signal[i % 8] += x * x;
            noise[i % 8] += error * error;
            amax = amax.max(x.abs());
            max_error = max_error.max(error.abs());
        }
        let sum = |lanes: [f64; 8]| lanes.into_iter().fold(0.0, |sum, lane| sum + lane);
        let expected = ErrorSums {
            elements: elements as u64,
            not_finite: 0,
            signal: sum(signal),
            noise: sum(noise),
            amax,
            max_error,
        };
        let sums = |x: &[f64], values: &[f32], scales: &[f64]| {
            let mut sums = ScaledErrors::default();
            for ((x, values), &scale) in x.chunks(group).zip(values.chunks(group)).zip(scales) {
                sums.add(x, values, scale);
            }
            sums.total()
        };
        assert_eq!(sums(&x, &values, &scales), Some(expected), "{elements} in groups of {group}");
        let products: Vec<f64> =
            values.iter().enumerate().map(|(i, value)| f64::from(*value) * scales[i / group]).collect();
        assert_eq!(ErrorSums::of(&x, &products), expected, "{elements} in groups of {group}");
        if elements == 0 {
            continue;
        }
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let with = |at: usize| {
                let mut x = x.clone();
                x[at] = odd;
                x
            };
            assert_eq!(sums(&with(0), &values, &scales), None);
            assert_eq!(sums(&with(elements - 1), &values, &scales), None);
            let mut scales = scales.clone();
            scales[elements / group - 1] = odd;
            assert_eq!(sums(&x, &values, &scales), None);
        }
    }
}

/// Sums, largest values and ratios with values typed in: whole lanes, a rest, and pairs that are
/// not finite.
#[test]
fn errors_of_a_few_values() {
    let x = [3.0_f32, -4.0, 1.0, f32::NAN, 2.0, 0.0, f32::INFINITY, -1.0, 0.5, -0.25, 8.0];
    let q = [3.5_f32, -4.0, 0.25, 1.0, f32::NEG_INFINITY, 0.0, 1.0, -1.0, 0.5, 0.25, 8.0];
    let sums = ErrorSums::of(&x, &q);
    assert_eq!((sums.elements, sums.not_finite), (8, 3));
    assert_eq!(
        (sums.signal, sums.noise),
        (9.0 + 16.0 + 1.0 + 1.0 + 0.25 + 0.0625 + 64.0, 0.25 + 0.5625 + 0.25)
    );
    assert_eq!((sums.amax, sums.max_error), (8.0, 0.75));
    let ratio = sums.sqnr_db().expect("an error");
    assert!((ratio - 10.0 * (91.3125_f64 / 1.0625).log10()).abs() < 1e-12, "{ratio}");
    assert_eq!(ErrorSums::of(&x[..1], &x[..1]).sqnr_db(), None);
    let hundred = ErrorSums { elements: 1, signal: 100.0, noise: 1.0, ..ErrorSums::default() };
    assert_eq!((hundred.sqnr_db(), hundred.then(hundred).sqnr_db()), (Some(20.0), Some(20.0)));
    let both = sums.then(ErrorSums::of(&[9.0_f32], &[10.5_f32]));
    assert_eq!((both.elements, both.amax, both.max_error), (9, 9.0, 1.5));
    // The largest at each place of a lane, and in the rest.
    for at in 0..19 {
        let mut values = [1.0_f64; 19];
        values[at] = -5.0;
        let sums = ErrorSums::of(&values, &[0.0_f64; 19]);
        assert_eq!((sums.amax, sums.max_error, sums.signal, sums.noise), (5.0, 5.0, 43.0, 43.0));
    }
}

/// All that cells tell of a few values, at once and in two parts, at every level.
#[test]
fn cells_of_a_few_values() {
    let strange = [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, f32::NAN, f32::INFINITY];
    let values = [&[0.0_f32, -0.0, 1.0, 1.5, 1.5, -3.0, f32::NAN, 0.25][..], &strange[1..]].concat();
    for level in Level::available() {
        let of = |values: &[f32]| {
            let mut cells = ClassSums::<f32>::new(3).with_level(level);
            cells.add(values);
            cells
        };
        for cells in
            [of(&values), of(&values[..4]).joined(of(&values[4..])), of(&values[..0]).joined(of(&values))]
        {
            assert_eq!((cells.elements(), cells.zeros(), cells.nans(), cells.infinities()), (12, 2, 2, 3));
            assert_eq!((cells.first_not_finite(), cells.has_negative()), (Some(6), true));
            assert_eq!(cells.amax(), Datum::finite(false, 3, 0));
            assert_eq!(cells.exponents(), [(-2, 1), (0, 3), (1, 1)]);
            let counts: Vec<_> =
                cells.iter().map(|cell| (cell.representative.to_f64(), cell.count)).collect();
            assert_eq!(counts, [(Some(0.25), 1), (Some(1.0), 1), (Some(1.5), 2), (Some(3.0), 1)]);
            // Zero, infinity and NaN have classes too, and each binade eight of three bits and as
            // many between.
            assert!(cells.classes() > 254 * 16, "{}", cells.classes());
            let total: f64 = cells
                .iter()
                .map(|cell| {
                    let units = u128::from(cell.count) * u128::from(cell.first) + cell.sum;
                    u32::try_from(units >> 8).map_or(f64::NAN, f64::from) * 2_f64.powi(cell.exponent + 8)
                })
                .sum();
            assert_eq!(total.to_bits(), 7.25_f64.to_bits());
        }
        // The first that is not finite lies in the second block, or in the second slice.
        let mut long = vec![1.0; (1 << 14) + 3];
        long[(1 << 14) + 2] = f32::INFINITY;
        let (mut twice, first) = (of(&long), Some((1 << 14) + 2));
        twice.add(&strange);
        assert_eq!(
            (twice.first_not_finite(), of(&long[..5]).joined(of(&long)).first_not_finite()),
            (first, first.map(|at| at + 5))
        );
        assert_eq!((twice.nans(), twice.infinities()), (2, 4));
        let positive = of(&[0.0, -0.0, 2.0]);
        assert_eq!(
            (positive.first_not_finite(), positive.has_negative(), positive.zeros()),
            (None, false, 2)
        );
        assert_eq!(amax(&values, level).to_bits(), 3.0_f32.to_bits());
    }
}

/// Subnormals of the source have no hidden bit.
#[test]
fn cells_of_subnormals() {
    for level in Level::available() {
        let mut cells = ClassSums::<F16>::new(3).with_level(level);
        cells.add(&[0x0001, 0x8003, 0x0180, 0x0400, 0x0600].map(F16::from_bits));
        let found: Vec<_> =
            cells.iter().map(|cell| (u128::from(cell.first) + cell.sum, cell.exponent)).collect();
        assert_eq!(found, [(1, -24), (3, -24), (0x180, -24), (0x400, -24), (0x600, -24)], "{level:?}");
    }
}

/// binary64 has values beyond all formats: they count at the ends of what any bias reaches.
#[test]
fn cells_of_binary64() {
    let mut cells = ClassSums::<f64>::new(3);
    cells.add(&[0.25, -1.5, 1.5, 2_f64.powi(-1000), 0.0, 2_f64.powi(1000)]);
    let counts: Vec<_> = cells.iter().map(|cell| (cell.representative.to_f64(), cell.count)).collect();
    let [(low, 1), (Some(0.25), 1), (Some(1.5), 2), (high, 1)] = counts[..] else { panic!("{counts:?}") };
    assert!(low.is_some_and(|x| x <= 2_f64.powi(-149)) && high.is_some_and(|x| x >= 2_f64.powi(127)));
    assert_eq!(
        (cells.zeros(), cells.first_not_finite(), cells.amax().to_f64()),
        (1, None, Some(2_f64.powi(1000)))
    );
}
