//! Sums as matrix units compute them: at every level, in matrix products and on any number of
//! threads the bits of the reference in integers. (`smallfloat-proof`'s `fused` holds the reference
//! to MMA-Sim.)

#![expect(clippy::float_cmp, reason = "sums are compared bit by bit, or exact")]

use crate::common::scramble;
use smallfloat::formats::{
    BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E4M3FNUZ, E5M2, E8M0FNU, TF32,
};
use smallfloat::{Bf16, F16, Format};
use smallfloat_kernels::{
    Accumulate, Decoder, Dot, Fused, FusedDot, Gpu, GroupSum, Level, MatrixUnit, Output, ScaledDot, Scales,
    Target, on_this_thread,
};

/// Every kind of sum, with formats that reach its corners.
fn sums() -> Vec<FusedDot> {
    let mut all = Vec::new();
    for gpu in Gpu::ALL {
        for (x, y) in
            [(&BINARY16, &BINARY16), (&BFLOAT16, &BFLOAT16), (&E4M3FN, &E5M2), (&E4M3FNUZ, &E4M3FNUZ)]
        {
            for half in [false, true] {
                all.extend(MatrixUnit { gpu: *gpu, half, promote: None }.dot(x, y));
            }
        }
        all.extend(MatrixUnit::new(*gpu).dot(&TF32, &TF32));
    }
    for text in [
        "fused:k=3,fraction=40",
        "fused:k=256,fraction=1,output=e8m13",
        "fused:k=5,fraction=20,output=f16,rounding=toward-zero,promote=10",
        "fused:k=7,sum=down,fraction=33,rounding=nearest-even",
        "fused:k=1,sum=down-in-halves,fraction=9,output=f16",
        "fused:k=256,sum=pairwise,flush",
        "fused:k=1,sum=sequential,promote=9",
    ] {
        all.extend(FusedDot::new(&BFLOAT16, &E5M2, text.parse().unwrap()));
    }
    assert!(all.len() > 50, "{}", all.len());
    all
}

/// Values of a format: of few exponents, of all, or with infinities and NaN.
fn values(format: &Format, count: usize, kind: u32, state: &mut u64) -> Vec<f32> {
    let decoder = Decoder::<f32>::for_length(format, None, usize::MAX);
    (0..count)
        .map(|_| {
            let word = scramble(state).to_le_bytes();
            let code = usize::from(u16::from_le_bytes([word[1], word[2]]));
            let value = match &decoder {
                Ok(decoder) => decoder.value(code & ((1 << format.width()) - 1)),
                Err(_) => f32::from_bits(u32::from_le_bytes([word[1], word[2], word[3], word[4]])),
            };
            match kind {
                0 if !(1e-3..1e3).contains(&value.abs()) => 0.0,
                0 | 1 if !value.is_finite() => 1.0,
                _ if word[0] < 40 => 0.0,
                _ => value,
            }
        })
        .collect()
}

fn same(x: f32, y: f32) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

#[test]
fn lanes_are_the_integers() {
    let mut state = 1;
    for dot in sums() {
        for length in [1, 16, 33, 129] {
            for kind in 0..3 {
                let [x, y] = dot.types().map(|format| values(&format, length, kind, &mut state));
                let output = dot.fused().output.format();
                for c in [-0.0, -3e4, f32::INFINITY, f32::MIN_POSITIVE / 8.0] {
                    let c = output
                        .decode(output.encode_f32(c, &output.default_projection()).value)
                        .to_f32()
                        .unwrap();
                    let expected = dot.add_in_integers(c, &x, &y);
                    for level in Level::available() {
                        let found = dot.with_level(level).add(c, &x, &y);
                        assert!(
                            same(found, expected),
                            "{} {level:?} {c:e} {x:?} {y:?}: {found:e}, {expected:e}",
                            dot.fused()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn matrix_products_are_their_sums() {
    let mut state = 2;
    for dot in sums() {
        for [rows, columns, length] in [[1, 1, 5], [3, 8, 40], [70, 9, 33]] {
            for kind in [0, 2] {
                let [x, y] = dot.types().map(|format| values(&format, 70 * 64, kind, &mut state));
                let (a, b) = (&x[..rows * length], &y[..columns * length]);
                let mut sums = vec![0.5; rows * columns];
                dot.add_matmul([a, b], length, &mut sums);
                let mut alone = vec![0.5; rows * columns];
                on_this_thread(|| dot.with_level(Level::Portable).add_matmul([a, b], length, &mut alone));
                for (i, (sum, alone)) in sums.iter().zip(&alone).enumerate() {
                    let row = |matrix: &'_ [f32], i: usize| matrix[i * length..][..length].to_vec();
                    let expected = dot.add(0.5, &row(a, i / columns), &row(b, i % columns));
                    assert!(
                        same(*sum, expected) && same(*alone, expected),
                        "{} {i}: {sum:e} {expected:e}",
                        dot.fused()
                    );
                }
            }
        }
    }
}

/// Codes of 8 and 16 bits, typed scalars, and scales.
#[test]
fn codes_are_their_values() {
    let mut state = 3;
    let ones = Scales::Tensor(1.0);
    for (x, y, name) in [
        (E4M3FN, E5M2, "hopper"),
        (E4M3FN, E4M3FN, "fused:k=32,fraction=13,output=e8m13,promote=128"),
        (BINARY16, BINARY16, "volta:output=f16"),
        (BFLOAT16, BFLOAT16, "cdna3"),
        (BFLOAT16, E4M3FN, "blackwell"),
    ] {
        let accumulate: Accumulate = name.parse().unwrap();
        assert_eq!(accumulate.to_string(), name);
        let dot = Dot::new(&x, &y, accumulate).unwrap();
        let sums = match accumulate {
            Accumulate::Unit(unit) => unit.dot(&x, &y).unwrap(),
            Accumulate::Fused(fused) => FusedDot::new(&x, &y, fused).unwrap(),
            _ => unreachable!("these are units"),
        };
        let (rows, columns, length) = (3, 10, 300);
        let mut codes = |format: &Format, count: usize| -> Vec<u16> {
            let mask = u16::try_from(format.max_code()).unwrap();
            (0..count)
                .map(|_| {
                    u16::from_le_bytes(scramble(&mut state).to_le_bytes()[3..5].try_into().unwrap()) & mask
                })
                .collect()
        };
        let (a, b) = (codes(&x, rows * length), codes(&y, columns * length));
        let decode = |format: &Format, codes: &[u16]| {
            let mut values = vec![0.0; codes.len()];
            Decoder::<f32>::for_length(format, None, usize::MAX).unwrap().decode(codes, &mut values);
            values
        };
        let mut expected = vec![0.0; rows * columns];
        sums.add_matmul([&decode(&x, &a), &decode(&y, &b)], length, &mut expected);
        let mut found = vec![0.0; rows * columns];
        dot.matmul_f32([&a, &b], length, [ones; 2], &mut found);
        let mut half = vec![0; rows * columns];
        let target = Target { format: &BFLOAT16, projection: &BFLOAT16.default_projection() };
        dot.matmul([&a, &b], length, target, &mut half);
        let one = dot.dot(&a[..length], &b[..length], &BINARY32, &BINARY32.default_projection()).value;
        assert!(same(f32::from_bits(u32::try_from(one).unwrap()), found[0]));
        for ((found, expected), half) in found.iter().zip(&expected).zip(half) {
            assert!(same(*found, *expected), "{name}");
            assert!(same(Bf16::from_bits(half).to_f32(), Bf16::from_f32(*expected).to_f32()), "{name}");
        }
    }
    let dot = Dot::between::<F16, F16>("ampere".parse().unwrap()).unwrap();
    let x = [1.0_f32, 2.0, 3.0].map(F16::from_f32);
    let (sum, flags) = dot.sum(&x, &x);
    assert_eq!((sum, flags.is_empty()), (smallfloat::Exact::finite(false, 7, 1), true));
}

/// What the parameters mean, in numbers that a reader can check.
#[test]
fn sums_by_hand() {
    let sum = |text: &str, c: f32, x: &[f32], y: &[f32]| {
        FusedDot::new(&BFLOAT16, &BFLOAT16, text.parse().unwrap()).unwrap().add(c, x, y)
    };
    // 2^13 + 1.5: with 13 fraction bits halves are lost, of sums toward zero.
    assert_eq!(sum("fused:k=2,fraction=13", 0.0, &[8192.0, 1.5], &[1.0, 1.0]), 8193.0);
    assert_eq!(sum("fused:k=2,fraction=13", 0.0, &[-8192.0, -1.5], &[1.0, 1.0]), -8193.0);
    assert_eq!(sum("fused:k=2,fraction=14", 0.0, &[8192.0, 1.5], &[1.0, 1.0]), 8193.5);
    // One product at a time, each half is lost; a zero keeps no place.
    assert_eq!(sum("fused:k=1,fraction=13", 8192.0, &[0.5, 0.5], &[1.0, 1.0]), 8192.0);
    assert_eq!(sum("fused:k=2,fraction=13", 0.0, &[0.0, 0.5], &[1024.0, 0.25]), 0.125);
    // Down: the accumulator is cut toward −∞.
    let down = "fused:k=1,sum=down,fraction=24,rounding=nearest-even";
    assert_eq!(sum(down, -1.0, &[16_777_216.0], &[2.0]), 33_554_430.0);
    // A product of 1.5 · 1.5 has exponent 0, so its place is that of 1.
    assert_eq!(sum("fused:k=1,fraction=1", 0.0, &[1.5], &[1.5]), 2.0);
    // Promoted after two products each.
    let halves = [1.0, 2.0_f32.powi(-14), 1.0, 2.0_f32.powi(-14)];
    assert_eq!(sum("fused:k=1,fraction=13,promote=2", 0.0, &halves, &[1.0; 4]), 2.0);
    assert_eq!(sum("fused:k=1,fraction=14,promote=2", 0.0, &halves, &[1.0; 4]), 2.0 + 2.0_f32.powi(-13));
    // Overflow is infinite, whatever the rounding.
    assert_eq!(sum("fused:k=1,fraction=24", 0.0, &[1.0e38], &[4.0]), f32::INFINITY);
}

#[test]
fn what_does_not_go_is_refused() {
    let error =
        |x: &Format, y: &Format, text: &str| Dot::new(x, y, text.parse().unwrap()).unwrap_err().to_string();
    let message =
        "volta has no instruction that takes all values of bfloat16 and binary16 and accumulates in binary32";
    assert_eq!(error(&BFLOAT16, &BINARY16, "volta"), message);
    assert!(error(&BFLOAT16, &BFLOAT16, "hopper:output=f16").ends_with("accumulates in binary16"));
    assert!(error(&E4M3FN, &E4M3FN, "hopper:promote=48").contains("multiple of k"));
    assert!(error(&BINARY32, &BINARY32, "cdna3").contains("at most 16"));
    let fused = Fused { rounding: smallfloat::Rounding::ToOdd, ..Fused::aligned(4, 20, Output::Binary32) };
    assert!(FusedDot::new(&E5M2, &E5M2, fused).is_err());
    assert!(FusedDot::new(&E5M2, &E5M2, Fused::nearest(3, GroupSum::Pairwise)).is_err());
    let error = |text: &str| text.parse::<Accumulate>().unwrap_err().to_string();
    let unknown = error("pascal");
    assert!(unknown.starts_with("unknown accumulator `pascal`: write f32, exact, a format"), "{unknown}");
    assert!(unknown.contains("rtx-blackwell, cdna1, cdna2, cdna3"), "{unknown}");
    for (text, message) in [
        ("hoper", "unknown accumulator `hoper`, did you mean `hopper`?"),
        ("hoper:promote=128", "unknown accumulator `hoper`, did you mean `hopper`?"),
        ("fp32", "unknown accumulator `fp32`, did you mean `f32`?"),
        ("binary61", "unknown accumulator `binary61`, did you mean `binary64`?"),
        ("shp", "`shp` needs a bias, 0..=63: write `shp:bias=7`"),
    ] {
        assert_eq!(error(text), message);
    }
}

/// Sums with block scales.
fn scaled_sums() -> Vec<(Format, Format, ScaledDot)> {
    let mut all = Vec::new();
    for gpu in [Gpu::Blackwell, Gpu::RtxBlackwell] {
        for (x, y, scales, block) in [
            (E4M3FN, E4M3FN, E8M0FNU, 32),
            (E5M2, E4M3FN, E8M0FNU, 32),
            (E3M2FN, E3M2FN, E8M0FNU, 32),
            (E2M3FN, E5M2, E8M0FNU, 32),
            (E4M3FN, E2M1FN, E8M0FNU, 32),
            (E2M1FN, E2M3FN, E8M0FNU, 32),
            (E2M1FN, E2M1FN, E8M0FNU, 32),
            (E2M1FN, E2M1FN, E8M0FNU, 16),
            (E2M1FN, E2M1FN, E4M3FN, 16),
        ] {
            all.push((x, y, MatrixUnit::new(gpu).scaled_dot(&x, &y, &scales, block).unwrap()));
        }
    }
    all
}

/// Codes of scales near one, of all sizes, or with NaN.
fn scales(count: usize, kind: u32, state: &mut u64) -> Vec<u8> {
    let near = |byte: u8| 0x28 + byte % 32;
    let code = |byte: u8| match kind {
        0 => near(byte) + 0x50 * (byte % 2),
        1 if byte & 0x7f == 0x7f => 0,
        _ => byte,
    };
    (0..count).map(|_| code(scramble(state).to_le_bytes()[3])).collect()
}

#[test]
fn lanes_with_block_scales_are_the_integers() {
    let mut state = 5;
    for (x_format, y_format, dot) in scaled_sums() {
        for length in [1, 15, 16, 33, 64, 129, 200] {
            for kind in [0, 0, 0, 1, 1, 1, 2] {
                let x = values(&x_format, length, kind, &mut state);
                let y = values(&y_format, length, kind, &mut state);
                let blocks = length.div_ceil(dot.block());
                let [s, t] = [0; 2].map(|_| scales(blocks, kind, &mut state));
                for c in [-0.0, -3e4, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE / 8.0] {
                    let expected = dot.add_in_integers(c, [&x, &y], [&s, &t]);
                    for level in Level::available() {
                        let found = dot.with_level(level).add(c, [&x, &y], [&s, &t]);
                        assert!(
                            same(found, expected),
                            "{dot:?} {level:?} {c:e} {x:?} {y:?} {s:?} {t:?}: {found:e}, {expected:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn matrix_products_with_block_scales_are_their_sums() {
    let mut state = 6;
    for (x_format, y_format, dot) in scaled_sums() {
        for [rows, columns, length] in [[1, 1, 5], [3, 8, 40], [130, 9, 100]] {
            for kind in [0, 2] {
                let a = values(&x_format, rows * length, kind, &mut state);
                let b = values(&y_format, columns * length, kind, &mut state);
                let blocks = length.div_ceil(dot.block());
                let s = scales(rows * blocks, kind, &mut state);
                let t = scales(columns * blocks, kind, &mut state);
                let mut sums = vec![0.5; rows * columns];
                dot.add_matmul([&a, &b], length, [&s, &t], &mut sums);
                let mut alone = vec![0.5; rows * columns];
                on_this_thread(|| dot.add_matmul([&a, &b], length, [&s, &t], &mut alone));
                for (i, (sum, alone)) in sums.iter().zip(&alone).enumerate() {
                    let [row, column] = [i / columns, i % columns];
                    let sides = [&a[row * length..][..length], &b[column * length..][..length]];
                    let of = [&s[row * blocks..][..blocks], &t[column * blocks..][..blocks]];
                    let expected = dot.add_in_integers(0.5, sides, of);
                    assert!(
                        same(*sum, expected) && same(*alone, expected),
                        "{dot:?} {i}: {sum:e} {alone:e} {expected:e}"
                    );
                }
            }
        }
    }
}

/// A format as its fields lie: bits of exponent and of fraction.
type Fields = (Format, u32, u32);

const EIGHT_SIX_FOUR: [Fields; 5] =
    [(E4M3FN, 4, 3), (E5M2, 5, 2), (E3M2FN, 3, 2), (E2M3FN, 2, 3), (E2M1FN, 2, 1)];

/// x · 2^unit, and the exponent by which it is aligned.
#[derive(Clone, Copy)]
struct Term {
    x: i128,
    unit: i32,
    exponent: i32,
}

impl Term {
    /// A finite code by its fields.
    fn of_code(code: u8, (_, exponent_bits, fraction_bits): Fields) -> Self {
        let fraction = i128::from(code) & ((1 << fraction_bits) - 1);
        let field = i32::from(code) >> fraction_bits & ((1 << exponent_bits) - 1);
        let magnitude = if field == 0 { fraction } else { fraction + (1 << fraction_bits) };
        if magnitude == 0 {
            return Self { x: 0, unit: -126, exponent: -126 };
        }
        let exponent = field.max(1) - ((1 << (exponent_bits - 1)) - 1);
        let negative = code >> (exponent_bits + fraction_bits) & 1 == 1;
        Self {
            x: if negative { -magnitude } else { magnitude },
            unit: exponent - fraction_bits.cast_signed(),
            exponent,
        }
    }

    fn of_accumulator(c: f32) -> Self {
        let exponent = (c.to_bits() >> 23 & 255).cast_signed().max(1) - 127;
        let magnitude = i128::from(c.to_bits() & 0x7f_ffff | u32::from(c.is_normal()) << 23);
        Self { x: if c < 0.0 { -magnitude } else { magnitude }, unit: exponent - 23, exponent }
    }

    fn product(self, other: Self, scale: i32) -> Self {
        let exponent = self.exponent + other.exponent + scale;
        Self { x: self.x * other.x, unit: self.unit + other.unit + scale, exponent }
    }
}

/// x · 2^exponent, cut toward zero.
fn cut(x: i128, exponent: i32) -> i128 {
    if exponent >= 0 { x << exponent } else { x / (1 << exponent.unsigned_abs().min(100)) }
}

/// c + Σ x·y·2^scale of a block: all terms cut to 25 fraction bits, their sum cut into binary32.
fn block_of_32(c: f32, products: impl Iterator<Item = Term>) -> f32 {
    if !c.is_finite() {
        return c;
    }
    let terms: Vec<Term> = products.chain([Term::of_accumulator(c)]).collect();
    let unit = terms.iter().map(|term| term.exponent).max().unwrap() - 25;
    let sum: i128 = terms.iter().map(|term| cut(term.x, term.unit - unit)).sum();
    let leading = 127 - sum.unsigned_abs().max(1).leading_zeros().cast_signed() + unit;
    if leading > 127 {
        return f32::INFINITY.copysign(if sum < 0 { -1.0 } else { 1.0 });
    }
    let step = (leading - 23).max(-149);
    // At most 24 bits, so binary64 and binary32 have this number, and its digits tell it.
    let exact = f64::from(i32::try_from(cut(sum, unit - step)).unwrap()) * 2.0_f64.powi(step);
    format!("{exact:e}").parse().unwrap()
}

/// All pairs of formats that kind::mxf8f6f4 takes, by integers that share nothing with the kernels.
#[test]
fn mixed_pairs_with_block_scales_are_sums_of_integers() {
    let mut state = 11;
    for (x_fields, y_fields) in EIGHT_SIX_FOUR.iter().flat_map(|x| EIGHT_SIX_FOUR.map(|y| (*x, y))) {
        if [x_fields.0, y_fields.0] == [E2M1FN; 2] {
            continue;
        }
        let dot = ScaledDot::new(&x_fields.0, &y_fields.0, &E8M0FNU, 32).unwrap();
        for (length, kind) in [(32_usize, 0), (75, 0), (33, 1), (200, 1), (32, 2), (64, 2), (75, 3), (31, 3)]
        {
            let mut word = || scramble(&mut state).to_le_bytes()[5];
            let mut codes = |(format, ..): Fields| -> Vec<u8> {
                let sign = 1 << (format.width() - 1);
                // All finite ones, or zeros and the smallest.
                let mask = if kind % 2 == 0 { sign | (sign - 1) } else { sign | 3 };
                let code = |_| match word() & mask {
                    code if format.decode(code.into()).is_finite() => code,
                    _ => 0,
                };
                (0..length).map(code).collect()
            };
            let (x, y) = (codes(x_fields), codes(y_fields));
            // Scales near one, or of all sizes.
            let mut scale = |_: usize| if kind < 2 { 120 + word() % 16 } else { word() % 255 };
            let [s, t] = [0; 2].map(|_| (0..length.div_ceil(32)).map(&mut scale).collect::<Vec<u8>>());
            let value = |format: Format, codes: &[u8]| -> Vec<f32> {
                codes.iter().map(|code| format.decode((*code).into()).to_f32().unwrap()).collect()
            };
            let values = [value(x_fields.0, &x), value(y_fields.0, &y)];
            for c in [0.0, -3e4, 1e-40, 1.25e38] {
                let blocks = x.chunks(32).zip(y.chunks(32)).zip(s.iter().zip(&t));
                let expected = blocks.fold(c, |c, ((x, y), (s, t))| {
                    let scale = i32::from(*s) + i32::from(*t) - 254;
                    let of = |(x, y): (&u8, &u8)| {
                        Term::of_code(*x, x_fields).product(Term::of_code(*y, y_fields), scale)
                    };
                    block_of_32(c, x.iter().zip(y).map(of))
                });
                let found = dot.add(c, [&values[0], &values[1]], [&s, &t]);
                assert!(
                    same(found, expected),
                    "{} {} {c:e} {x:?} {y:?} {s:?} {t:?}: {found:e}, {expected:e}",
                    x_fields.0,
                    y_fields.0
                );
            }
        }
    }
}

/// Codes are their values, sums begin at zero, and bits above a format's width are ignored.
#[test]
fn products_of_codes_with_block_scales() {
    let mut state = 12;
    for (x_format, y_format, dot) in scaled_sums() {
        let (rows, columns, length) = (3, 5, 70);
        let mut codes =
            |count: usize| -> Vec<u8> { (0..count).map(|_| scramble(&mut state).to_le_bytes()[4]).collect() };
        let (a, b) = (codes(rows * length), codes(columns * length));
        let blocks = length.div_ceil(dot.block());
        let (s, t) = (codes(rows * blocks), codes(columns * blocks));
        let value = |format: &Format, codes: &[u8]| -> Vec<f32> {
            let value = |code: &u8| format.decode(u64::from(*code) & format.max_code()).to_f32();
            codes.iter().map(|code| value(code).unwrap_or(f32::NAN)).collect()
        };
        let mut expected = vec![0.0; rows * columns];
        dot.add_matmul([&value(&x_format, &a), &value(&y_format, &b)], length, [&s, &t], &mut expected);
        for level in Level::available() {
            let mut found = vec![7.0; rows * columns];
            dot.with_level(level).matmul([&a, &b], length, [&s, &t], &mut found);
            assert!(
                found.iter().zip(&expected).all(|(x, y)| same(*x, *y)),
                "{x_format} {y_format} {level:?}"
            );
        }
    }
}

#[test]
fn other_units_have_no_block_scales() {
    let unit = |text: &str| text.parse::<MatrixUnit>().unwrap();
    for text in ["hopper", "cdna3", "blackwell:output=f16", "blackwell:promote=128"] {
        let error = unit(text).scaled_dot(&E4M3FN, &E4M3FN, &E8M0FNU, 32).unwrap_err();
        assert!(error.to_string().contains("block scales go with blackwell"), "{text}: {error}");
    }
    for (x, y, scales, block) in [
        (E4M3FN, E4M3FN, E8M0FNU, 16),
        (E4M3FN, E2M1FN, E8M0FNU, 16),
        (E2M3FN, E3M2FN, E4M3FN, 32),
        (E4M3FN, BINARY16, E8M0FNU, 32),
        (E2M1FN, E2M1FN, E5M2, 16),
    ] {
        let error = unit("blackwell").scaled_dot(&x, &y, &scales, block).unwrap_err();
        assert!(error.to_string().contains("blocks of 32"), "{x} {y}: {error}");
    }
}
