//! Sums of products, against the core and against sums made another way.

use crate::common::scramble;
use smallfloat::ops::Sum;
use smallfloat::{Format, Rounding, formats::BINARY32, project};
use smallfloat_kernels::{Accumulate, Dot, Level};

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

#[test]
fn wide_formats_are_refused() {
    let (f, wide) = (format("e5m2"), format("shp:bias=15"));
    let message = Dot::new(&wide, &f, Accumulate::Exact).unwrap_err().to_string();
    assert!(message.ends_with("has 16 bits, operations on slices take at most 8"), "{message}");
}

/// Exact sums are the core's, whose integers have any size; also with ∞, NaN and zeros among the
/// terms.
#[test]
fn exact_sums_are_the_core_s() {
    let mut state = 6;
    let names = ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=40", "e4m3fn", "e5m2", "binary8p3se", "e2m1fn"];
    for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (format(a), format(b)))) {
        let dot = Dot::new(&a, &b, Accumulate::Exact).unwrap();
        for length in [0, 1, 2, 3, 100, 5000] {
            for mask in [0xff, 0x3f, 0x80] {
                let mut random = || -> Vec<u8> {
                    (0..length).map(|_| scramble(&mut state).to_le_bytes()[3] & mask).collect()
                };
                let (x, y) = (random(), random());
                let mut sum = Sum::new();
                for (x, y) in x.iter().zip(&y) {
                    sum.add_product(a.decode(u64::from(*x)), b.decode(u64::from(*y)));
                }
                let projection = BINARY32.default_projection();
                let expected = project(sum.exact(), &BINARY32, &projection);
                assert_eq!(dot.dot(&x, &y, &BINARY32, &projection), expected, "{a} · {b}, {length}");
            }
        }
    }
}

/// Sums without a value of their own: zeros of either sign, opposite terms, ∞, NaN; short and long.
#[test]
fn zeros_and_specials_are_the_core_s() {
    let mut state = 5;
    for name in ["e5m2", "e4m3fn", "e4m3fnuz", "binary8p3se", "cfloat8_1_4_3:bias=7", "e2m1fn"] {
        let f = format(name);
        let code = |x: f32| f.encode_f32(x, &f.default_projection()).value.to_le_bytes()[0];
        let (one, zero) = ([code(1.0), code(-1.0)], [code(0.0), code(-0.0)]);
        let other = [code(f32::INFINITY), code(f32::NEG_INFINITY), code(f32::NAN)];
        let pools = [
            vec![zero[0]],
            vec![zero[1]],
            zero.to_vec(),
            [one, zero].concat(),
            [&one[..1], &zero, &other[..1]].concat(),
            [&one[..1], &other[..2]].concat(),
            [&one, &zero[..1], &other[..]].concat(),
        ];
        let dot = Dot::new(&f, &f, Accumulate::Exact).unwrap();
        for (pool, length) in pools.iter().flat_map(|pool| [1, 2, 31, 32, 64, 100].map(|n| (pool, n))) {
            for _ in 0..8 {
                let mut some = || -> Vec<u8> {
                    (0..length)
                        .map(|_| pool[usize::from(scramble(&mut state).to_le_bytes()[2]) % pool.len()])
                        .collect()
                };
                let (mut x, y) = (some(), some());
                // Opposite halves: a sum of zero.
                if length % 2 == 0 && pool.contains(&one[1]) {
                    x = vec![one[0]; length];
                    x[length / 2..].fill(one[1]);
                }
                let mut sum = Sum::new();
                for (x, y) in x.iter().zip(&y) {
                    sum.add_product(f.decode(u64::from(*x)), f.decode(u64::from(*y)));
                }
                for level in Level::available() {
                    let dot = dot.clone().with_level(level);
                    // Only the mode knows the sign of a zero of opposite terms.
                    for rounding in [Rounding::NearestEven, Rounding::TowardNegative] {
                        let projection = BINARY32.default_projection().with_rounding(rounding);
                        let expected = project(sum.exact(), &BINARY32, &projection);
                        let found = dot.dot(&x, &y, &BINARY32, &projection);
                        assert_eq!(found, expected, "{name}, {x:x?}, {y:x?}, {level:?}");
                    }
                }
            }
        }
    }
}

/// The documented order, spelt out with f32 arithmetic on values from the core.
#[test]
fn f32_sums_have_the_documented_order() {
    let mut state = 8;
    let f = format("e4m3fn");
    let dot = Dot::new(&f, &f, Accumulate::F32).unwrap();
    let value = |code: u8| f.decode(u64::from(code)).to_f32().unwrap_or(f32::NAN);
    for length in [0, 1, 31, 33, 1000, 3000] {
        let mut random =
            || -> Vec<u8> { (0..length).map(|_| scramble(&mut state).to_le_bytes()[3] & 0xfe).collect() };
        let (x, y) = (random(), random());
        let mut sums = [0_f32; 32];
        for i in 0..length {
            sums[i % 32] += value(x[i]) * value(y[i]);
        }
        for half in [16, 8, 4, 2, 1] {
            for j in 0..half {
                sums[j] += sums[j + half];
            }
        }
        let projection = BINARY32.default_projection();
        for level in Level::available() {
            let dot = dot.clone().with_level(level);
            let found = dot.dot(&x, &y, &BINARY32, &projection).value;
            assert_eq!(found, u64::from(sums[0].to_bits()), "{level:?}, {length}");
        }
    }
}

/// The P3109 talk's example: ±224 · 224 summed in binary16, saturating at every step (a slide of
/// dot products by order).
#[test]
fn rounded_sums_go_left_to_right() {
    let (f, wide) = (format("e4m3fn"), format("binary16"));
    let code = |x: f32| f.encode_f32(x, &f.default_projection()).value.to_le_bytes()[0];
    let (plus, minus) = (code(224.0), code(-224.0));
    let saturating = wide.default_projection().with_saturation(smallfloat::Saturation::SatFinite);
    let dot = Dot::new(&f, &f, Accumulate::Rounded(wide, saturating)).unwrap();
    let projection = BINARY32.default_projection();
    let sum = |signs: [u8; 4]| {
        let value = dot.dot(&signs, &[plus; 4], &BINARY32, &projection).value;
        f32::from_bits(u32::try_from(value).unwrap()).to_string()
    };
    assert_eq!(sum([plus, minus, plus, minus]), "0");
    assert_eq!(sum([minus, minus, plus, plus]), "34848");
    assert_eq!(sum([plus, plus, minus, minus]), "-34848");
}

/// Integers by vectors: every length, data with and without specials, and as many products as add
/// up at once.
#[test]
fn exact_sums_are_the_same_at_every_level() {
    let mut state = 10;
    for names in
        [["cfloat8_1_4_3:bias=7"; 2], ["e4m3fn"; 2], ["e4m3fn", "e2m3fn"], ["binary8p4se", "e8m0fnu"]]
    {
        let [a, b] = names.map(format);
        let dot = Dot::new(&a, &b, Accumulate::Exact).unwrap();
        let portable = dot.clone().with_level(Level::Portable);
        for length in (0..=257).chain([5000, 300_000]) {
            for mask in [0xff, 0x3f] {
                let mut random = || -> Vec<u8> {
                    (0..length).map(|_| scramble(&mut state).to_le_bytes()[3] & mask).collect()
                };
                let (x, y) = (random(), random());
                for level in Level::available() {
                    let found = dot.clone().with_level(level).sum(&x, &y);
                    assert_eq!(found, portable.sum(&x, &y), "{a} · {b}, {level:?}, {length}");
                }
            }
        }
    }
}

/// ∞ among the terms, of one sign, of both, and with NaN; zeros of one sign and of both.
#[test]
fn sums_without_a_value() {
    // Products of the first need integers of more than 62 bits; those of the second do not.
    for (name, codes) in [("e5m2", [0x3c, 0x7c, 0x00, 0x7e]), ("e4m3", [0x38, 0x78, 0x00, 0x7c])] {
        check_sums_without_a_value(&format(name), codes);
    }
}

fn check_sums_without_a_value(f: &Format, [one, infinity, zero, nan]: [u8; 4]) {
    let dot = Dot::new(f, f, Accumulate::Exact).unwrap();
    let projection = BINARY32.default_projection();
    let minus_one = one | 0x80;
    let sum = |x: &[u8], y: &[u8]| dot.dot(x, y, &BINARY32, &projection).value;
    let bits = |x: f32| u64::from(x.to_bits());
    let is_nan = |x: &[u8], y: &[u8]| BINARY32.decode(sum(x, y)).is_nan();
    assert_eq!(sum(&[one, infinity, one], &[one, one, minus_one]), bits(f32::INFINITY));
    assert_eq!(sum(&[one, infinity, one], &[one, minus_one, one]), bits(f32::NEG_INFINITY));
    assert_eq!(sum(&[infinity, infinity], &[one, infinity]), bits(f32::INFINITY));
    assert!(is_nan(&[infinity, infinity], &[one, minus_one]));
    assert!(is_nan(&[infinity, one], &[zero, one]) && is_nan(&[infinity, nan], &[one, one]));
    for (x, y, expected) in [
        ([zero, zero], [one, one], 0),
        ([0x80, zero], [one, minus_one], 1 << 31),
        ([0x80, zero], [one, one], 0),
        ([one, minus_one], [one, one], 0),
        ([0x80, 0x80], [0x80, one], 0),
    ] {
        assert_eq!(sum(&x, &y), expected, "{x:x?} {y:x?}");
    }
}
