//! Exact sums of products against integers of this file: one for each exponent.

use crate::common::{narrow_formats, scramble};
use smallfloat::formats::BINARY64;
use smallfloat::{Datum, Exact, Format, project};
use smallfloat_kernels::{Accumulate, Dot, Level};

/// The exponent of the lowest integer.
const LOWEST: i32 = -1024;

/// Returns whether a sum is that of the products, whose codes are numbers.
fn is_sum(found: Exact, formats: [&Format; 2], codes: [&[u8]; 2]) -> bool {
    let (negative, significand, exponent, is_cut) = match found {
        Exact::Finite { negative, significand, exponent, sticky } if significand > 0 => {
            (negative, significand, exponent, sticky)
        }
        found => {
            assert!(found.is_zero(), "{found:?}");
            (false, 0, 0, false)
        }
    };
    // The products less the sum, if it is negative with the opposite sign.
    let mut integers = vec![0_i128; 2048];
    let place = |exponent: i32| (exponent - LOWEST).unsigned_abs() as usize;
    let tables = formats.map(|format| (0..=255).map(|code| format.decode(code)).collect::<Vec<_>>());
    for (&x, &y) in codes[0].iter().zip(codes[1]) {
        let (
            Datum::Finite { negative: x_negative, significand: x, exponent: x_exponent },
            Datum::Finite { negative: y_negative, significand: y, exponent: y_exponent },
        ) = (tables[0][usize::from(x)], tables[1][usize::from(y)])
        else {
            panic!("no numbers: {x:#x}, {y:#x}")
        };
        let product = i128::from(x * y);
        integers[place(x_exponent + y_exponent)] +=
            if x_negative ^ y_negative ^ negative { -product } else { product };
    }
    integers[place(exponent)] -= (significand & u128::from(u64::MAX)).cast_signed();
    integers[place(exponent + 64)] -= (significand >> 64).cast_signed();
    let (mut carry, mut rest) = (0, Vec::new());
    for integer in integers {
        carry += integer;
        rest.push(carry & 1 != 0);
        carry >>= 1;
    }
    let (below, above) = rest.split_at(place(exponent));
    carry == 0 && !above.contains(&true) && below.contains(&true) == is_cut
}

/// Codes of numbers: all that are not zero, the largest and smallest of each sign.
fn pools(format: &Format) -> [Vec<u8>; 2] {
    let is_number = |code: &u64| match format.decode(*code) {
        Datum::Finite { significand, .. } => significand > 0,
        _ => false,
    };
    let all: Vec<u64> = format.codes().filter(is_number).collect();
    let ends = [format.max_finite(), format.min_positive()].map(|end| [end, end.negated()]);
    let ends: Vec<u64> =
        all.iter().copied().filter(|code| ends.as_flattened().contains(&format.decode(*code))).collect();
    [all, ends].map(|pool| pool.into_iter().map(|code| code.to_le_bytes()[0]).collect())
}

/// Every format with itself and with two others, at every level: random numbers, and those whose
/// products are the largest and the smallest, in an order that goes far up before it comes down.
#[test]
fn sums_of_every_format() {
    let (formats, mut state) = (narrow_formats(), 11);
    let pools: Vec<_> = formats.iter().map(pools).collect();
    let mut integers = 0;
    for (i, a) in formats.iter().enumerate() {
        for j in [i, (i + 1) % formats.len(), (i * 5 + 17) % formats.len()] {
            let b = &formats[j];
            if pools[i][0].is_empty() || pools[j][0].is_empty() {
                continue;
            }
            let dot = Dot::new(a, b, Accumulate::Exact).unwrap();
            for (length, kind) in [(31, 0), (97, 1), (700, 0), (5000, 0), (5000, 1), (2100, 2), (4000, 3)] {
                let mut random = |pool: &[Vec<u8>; 2], i: usize| {
                    let pool = &pool[usize::from(kind > 0)];
                    match kind {
                        0 | 1 => pool[usize::from(scramble(&mut state).to_le_bytes()[3]) % pool.len()],
                        // One code after the other, each many times.
                        2 => pool[i * pool.len() / length],
                        _ => pool[pool.len() / 2 * (i % 2)],
                    }
                };
                let x: Vec<u8> = (0..length).map(|place| random(&pools[i], place)).collect();
                let y: Vec<u8> = (0..length).map(|place| random(&pools[j], place)).collect();
                for level in Level::available() {
                    let (found, _) = dot.clone().with_level(level).sum(&x, &y);
                    assert!(is_sum(found, [a, b], [&x, &y]), "{a} · {b}, {length}, {kind}, {level:?}");
                    integers += 1;
                }
            }
        }
    }
    assert!(integers > 1000 / crate::common::sample());
}

/// As many products of the largest numbers as vectors add up at once, and more; with the smallest
/// ones between them.
#[test]
fn long_sums() {
    for names in
        [["e4m3fn"; 2], ["cfloat8_1_4_3:bias=7"; 2], ["e5m2"; 2], ["e5m2", "e4m3fn"], ["e2m1fn", "e3m4"]]
    {
        let [a, b] = names.map(|name| name.parse::<Format>().unwrap());
        let dot = Dot::new(&a, &b, Accumulate::Exact).unwrap();
        let code = |f: &Format, datum: Datum| f.encode(datum).unwrap().to_le_bytes()[0];
        let length = 1_500_007;
        for between in [false, true] {
            let codes = [&a, &b].map(|f| -> Vec<u8> {
                let [large, small] = [f.max_finite(), f.min_positive()].map(|datum| code(f, datum));
                (0..length).map(|i| if between && i % 3 != 0 { small } else { large }).collect()
            });
            for level in Level::available() {
                let (found, _) = dot.clone().with_level(level).sum(&codes[0], &codes[1]);
                assert!(is_sum(found, [&a, &b], [&codes[0], &codes[1]]), "{names:?}, {level:?}");
            }
        }
    }
}

/// Every product of two codes, alone and among zeros.
#[test]
fn products_of_all_codes() {
    let names =
        ["e2m1fn", "e2m3fn", "e3m2fn", "e3m4", "e4m3fn", "e4m3fnuz", "cfloat8_1_4_3:bias=7", "e5m2", "ue4m3"];
    for (a, b) in names.iter().zip(names.iter().cycle().skip(1)).chain(names.iter().zip(&names)) {
        let formats = [a, b].map(|name| name.parse::<Format>().unwrap());
        let dot = Dot::new(&formats[0], &formats[1], Accumulate::Exact).unwrap();
        // Products have 8 bits, and f64 has all of them.
        let values = |f: &Format| f.codes().map(|code| f.decode_f64(code).value).collect::<Vec<_>>();
        let [x_values, y_values] = [values(&formats[0]), values(&formats[1])];
        let dots: Vec<_> = Level::available().map(|level| (level, dot.clone().with_level(level))).collect();
        for (i, x) in x_values.iter().enumerate() {
            for (j, y) in y_values.iter().enumerate().filter(|(_, y)| (*x * **y).is_finite()) {
                let (mut xs, mut ys) = ([0; 64], [0; 64]);
                let place = (i * 5 + j) % 64;
                (xs[place], ys[place]) = (i.to_le_bytes()[0], j.to_le_bytes()[0]);
                for (level, dot) in &dots {
                    for part in [place..place + 1, 0..64] {
                        let (sum, _) = dot.sum(&xs[part.clone()], &ys[part]);
                        let found = project(sum, &BINARY64, &BINARY64.default_projection()).value;
                        // The sign of a zero is another test's.
                        let expected = if x * y == 0.0 { found & 1 << 63 } else { (x * y).to_bits() };
                        assert_eq!(found, expected, "{a} {i:#x}, {b} {j:#x}, {level:?}");
                    }
                }
            }
        }
    }
}

/// What is no number is found at every place of either operand, whatever follows.
#[test]
fn others_are_found_everywhere() {
    for name in ["e4m3fn", "e4m3fnuz", "e5m2", "binary8p4se", "binary6p3se", "e3m2fn"] {
        let f: Format = name.parse().unwrap();
        let others: Vec<u8> =
            f.codes().filter(|code| !f.decode(*code).is_finite()).map(|code| code.to_le_bytes()[0]).collect();
        assert_eq!(others.is_empty(), name == "e3m2fn", "{name}");
        let one = f.encode(Datum::finite(false, 1, 0)).unwrap().to_le_bytes()[0];
        for level in Level::available() {
            let dot = Dot::new(&f, &f, Accumulate::Exact).unwrap().with_level(level);
            for (length, other) in
                [1, 63, 64, 65, 200].into_iter().flat_map(|n| others.iter().map(move |o| (n, o)))
            {
                let ones = vec![one; length];
                let mut codes = ones.clone();
                for place in 0..length {
                    codes[place] = *other;
                    for [x, y] in [[&codes, &ones], [&ones, &codes]] {
                        let (sum, _) = dot.sum(x, y);
                        let is_number = matches!(sum, Exact::Finite { .. } | Exact::Cancelled);
                        assert!(!is_number, "{name}, {level:?}, {length}, {place}, {other:#x}");
                    }
                    codes[place] = one;
                }
                assert!(is_sum(dot.sum(&codes, &ones).0, [&f; 2], [&codes, &ones]), "{name}, {level:?}");
            }
        }
    }
}

/// Sums that are wrong by the least are told.
#[test]
fn sums_are_looked_at() {
    let f: Format = "e4m3fn".parse().unwrap();
    // 448 · 448 + 2^-9 · 2^-9, in units of 2^-18.
    let codes: [&[u8]; 2] = [&[0x7e, 1], &[0x7e, 1]];
    let sum = ((448 * 448) << 18) + 1;
    let exact = |sum, exponent| Exact::from_i128(sum).scaled(exponent);
    assert!(is_sum(exact(sum, -18), [&f; 2], codes));
    for wrong in [exact(sum - 1, -18), exact(sum + 1, -18), exact(-sum, -18), exact(sum, -17), exact(0, 0)] {
        assert!(!is_sum(wrong, [&f; 2], codes), "{wrong:?}");
    }
    let cut =
        |negative, significand, exponent| Exact::Finite { negative, significand, exponent, sticky: true };
    assert!(is_sum(cut(false, 448 * 448, 0), [&f; 2], codes));
    assert!(!is_sum(cut(false, 448 * 448 - 1, 0), [&f; 2], codes));
    assert!(is_sum(cut(true, 448 * 448, 0), [&f; 2], [&[0xfe, 0x81], &[0x7e, 1]]));
}
