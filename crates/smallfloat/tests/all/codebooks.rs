//! Codebooks: values against their sources, and nearest values against integers.
#![expect(clippy::float_cmp, clippy::cast_possible_truncation, reason = "values are exact")]

use smallfloat::{Codebook, Exact, Format, codebook::Ties};

/// 24-bit numbers as multiples of 2^−40.
fn units(x: f32) -> i128 {
    let scaled = f64::from(x) * 2_f64.powi(40);
    assert_eq!(scaled.fract().to_bits() << 1, 0, "{x}");
    scaled as i128
}

/// What bitsandbytes 0.50's `get_4bit_type` gives, as bits of binary32.
const BITSANDBYTES: [(&str, &str); 2] = [
    (
        "nf4",
        "bf800000 bf3239b1 bf066b30 beca32a0 be91a24d be3d353f bdba7871 00000000 \
         3da2faff 3e24cae3 3e7c04dd 3ead033a 3ee1a4b8 3f1007ab 3f3913b3 3f800000",
    ),
    (
        "bnb-fp4",
        "00000000 3baaaaab 3f2aaaab 3f800000 3eaaaaab 3f000000 3e2aaaab 3e800000 \
         00000000 bbaaaaab bf2aaaab bf800000 beaaaaab bf000000 be2aaaab be800000",
    ),
];

#[test]
fn values_are_those_of_their_sources() {
    for (name, bits) in BITSANDBYTES {
        let codebook: Codebook = name.parse().unwrap();
        let found: Vec<_> = (0..16).map(|code| format!("{:08x}", codebook.value(code).to_bits())).collect();
        assert_eq!(found.join(" "), bits, "{name}");
    }
    // The paper's table has three digits.
    let paper = [
        -1.0, -0.628, -0.455, -0.334, -0.237, -0.153, -0.075, 0.0, 0.066, 0.133, 0.205, 0.284, 0.376, 0.491,
        0.657, 1.0,
    ];
    let sf4: Codebook = "SF4".parse().unwrap();
    for (code, expected) in (0..).zip(paper) {
        assert!((f64::from(sf4.value(code)) - expected).abs() <= 0.000_5, "{code}");
    }
    let int4: Codebook = "int4".parse().unwrap();
    assert_eq!([0, 7, 8, 15].map(|code| int4.value(code)), [0.0, 7.0, -8.0, -1.0]);
    let mxint8: Codebook = "mxint8".parse().unwrap();
    assert_eq!(
        [0x7f, 0x40, 0x01, 0x80, 0x81].map(|code| mxint8.value(code)),
        [127.0 / 64.0, 1.0, 1.0 / 64.0, -2.0, -127.0 / 64.0]
    );
    assert_eq!((mxint8.largest(), int4.largest(), sf4.largest()), (127.0 / 64.0, 7.0, 1.0));
    assert!("nf5".parse::<Codebook>().unwrap_err().to_string().contains("nf4, sf4"));
}

#[test]
fn midpoints_lie_between_neighbours() {
    for &codebook in Codebook::ALL {
        for rank in 0..codebook.len() - 1 {
            let [low, high] = [rank, rank + 1].map(|rank| units(codebook.value(codebook.code_at(rank))));
            let middle = codebook.midpoint(rank).to_f64().unwrap() * 2_f64.powi(41);
            assert_eq!(middle as i128, low + high, "{codebook} {rank}");
        }
    }
}

#[test]
fn codes_in_order() {
    for &codebook in Codebook::ALL {
        let values: Vec<f32> = codebook.ascending().map(|code| codebook.value(code)).collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{codebook}");
        // Every value of a code is there, but for the lowest of MXINT8.
        for code in 0..=codebook.max_code() {
            let has = values.contains(&codebook.value(code));
            assert_eq!(has, (codebook.name(), code) != ("mxint8", 0x80), "{codebook} {code}");
        }
        assert_eq!(codebook.to_string().parse::<Codebook>(), Ok(codebook));
    }
}

/// At each middle and beside it, and at many numbers: the least distance in integers.
#[test]
fn nearest_values() {
    for &codebook in Codebook::ALL {
        let values: Vec<(i128, u32)> =
            codebook.ascending().map(|code| (units(codebook.value(code)), code)).collect();
        // In halves of the unit, so that middles are integers.
        let nearest = |x: i128| {
            let distance = |&(value, _): &(i128, u32)| (x - 2 * value).abs();
            let least = values.iter().map(distance).min().unwrap();
            let found: Vec<_> = values.iter().filter(|value| distance(value) == least).collect();
            match (&found[..], codebook.ties()) {
                ([(_, code)], _) | ([(_, code), _], Ties::Lower) => *code,
                ([(_, a), (_, b)], Ties::Even) => {
                    if a % 2 == 0 {
                        *a
                    } else {
                        *b
                    }
                }
                ([(x, a), (y, b)], Ties::TowardZero) => {
                    if x.abs() < y.abs() {
                        *a
                    } else {
                        *b
                    }
                }
                _ => panic!("{found:?}"),
            }
        };
        let middles = values.windows(2).map(|pair| pair[0].0 + pair[1].0);
        let mut numbers: Vec<i128> = middles.flat_map(|middle| [middle - 1, middle, middle + 1]).collect();
        numbers.extend(values.iter().flat_map(|&(value, _)| [2 * value - 1, 2 * value, 2 * value + 1]));
        let mut word = 1_u64;
        for _ in 0..100_000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let top = 2 * values[values.len() - 1].0 + 1000;
            numbers.push(i128::from(word >> 8) % (2 * top) - top);
        }
        for x in numbers {
            let exact = |sticky| Exact::Finite {
                negative: x < 0,
                significand: x.unsigned_abs() << 8,
                exponent: -49,
                sticky: sticky && x != 0,
            };
            assert_eq!(codebook.encode(exact(false)), Some(nearest(x)), "{codebook} {x}");
            // A little more than it, away from zero.
            let beyond = if x < 0 { 4 * x - 1 } else { 4 * x + 1 };
            let finer: Vec<_> =
                values.iter().map(|&(value, code)| ((beyond - 8 * value).abs(), code)).collect();
            let (_, code) = finer.iter().min_by_key(|(distance, _)| *distance).unwrap();
            if x != 0 {
                assert_eq!(codebook.encode(exact(true)), Some(*code), "{codebook} {x}+");
            }
            #[expect(clippy::cast_precision_loss, reason = "where it is exact")]
            let float = x as f64;
            if float as i128 == x {
                assert_eq!(codebook.encode_f64(float * 2_f64.powi(-41)), Some(nearest(x)), "{codebook} {x}");
            }
        }
        let ends = [0, codebook.len() - 1].map(|rank| Some(codebook.code_at(rank)));
        assert_eq!([f64::NEG_INFINITY, f64::INFINITY].map(|x| codebook.encode_f64(x)), ends);
        assert_eq!([-1e300, 1e300].map(|x| codebook.encode_f64(x)), ends);
        assert_eq!(codebook.encode_f64(f64::NAN), None);
        assert_eq!(codebook.value(codebook.encode(Exact::Cancelled).unwrap()), 0.0);
    }
}

/// Where a format is asked for, a list's name is refused as one.
#[test]
fn lists_are_no_formats() {
    for codebook in Codebook::ALL {
        let message = codebook.name().parse::<Format>().unwrap_err().to_string();
        assert!(message.contains("is no format here: it is a list of values"), "{message}");
    }
}
