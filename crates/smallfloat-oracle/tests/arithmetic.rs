//! Exact operations and one rounding: the arithmetic vectors, and comparison with the machine's
//! own.

use smallfloat_oracle::ops::{self, Outcome, Semantics};
use smallfloat_oracle::{Exact, Flags, OracleFormat, Rounding, Subnormals, Table, formats, preset};

const NEAREST: Rounding = Rounding::NearestEven;

// Rounds an outcome, joining the flags of the operation and of subnormal operands.
fn finish(
    to: &OracleFormat,
    policy: &str,
    outcome: &Outcome,
    operands: &[(OracleFormat, u64)],
) -> (u64, Flags) {
    let (code, mut flags) = Table::new(to).round(&outcome.0, &preset(policy, to));
    flags |= outcome.1;
    if operands.iter().any(|(format, code)| format.is_subnormal(*code)) {
        flags |= Flags::DENORMAL;
    }
    (code, flags)
}

#[test]
fn tesla_table() {
    let paper = formats::cfloat8_1_4_3(7);
    let gradual = OracleFormat { subnormals: Subnormals::Gradual, ..paper };
    // Operation, operands, then code and flags with the paper's subnormals and with gradual ones.
    for (op, x, y, [first, second]) in [
        ('*', 0x7F, 0x7F, [(0x7F, "O"), (0x7F, "O")]),
        ('*', 0x01, 0x38, [(0x01, "D"), (0x01, "D")]),
        ('*', 0x01, 0x30, [(0x00, "DU"), (0x00, "DU")]),
        ('*', 0x08, 0x30, [(0x07, "U"), (0x04, "-")]),
        ('-', 0x08, 0x07, [(0x07, "DU"), (0x01, "D")]),
        ('-', 0x0C, 0x08, [(0x07, "U"), (0x04, "-")]),
        ('+', 0x07, 0x01, [(0x07, "DU"), (0x08, "D")]),
        ('+', 0x07, 0x07, [(0x08, "DU"), (0x0E, "D")]),
        ('*', 0x03, 0x40, [(0x06, "D"), (0x06, "D")]),
        ('/', 0x00, 0x00, [(0x7F, "I"), (0x7F, "I")]),
        ('/', 0x38, 0x00, [(0x7F, "O"), (0x7F, "O")]),
        ('/', 0xB8, 0x00, [(0xFF, "O"), (0xFF, "O")]),
    ] {
        for (format, (code, letters)) in [(paper, first), (gradual, second)] {
            let (a, b) = (Exact::from(format.value(x)), Exact::from(format.value(y)));
            let outcome = match op {
                '+' => ops::add(&a, &b, NEAREST, Semantics::Ieee),
                '-' => ops::sub(&a, &b, NEAREST, Semantics::Ieee),
                '*' => ops::mul(&a, &b, Semantics::Ieee),
                _ => ops::div(&a, &b, Semantics::Ieee),
            };
            let (got, flags) = finish(&format, "tesla", &outcome, &[(format, x), (format, y)]);
            assert_eq!((got, flags.tesla()), (code, Flags::from_letters(letters)), "{x:02x} {op} {y:02x}");
        }
    }
    // One rounding, where a float32 in between would round twice (the talk's example): 160, not
    // 128.
    let talk = formats::cfloat8_1_5_2(16);
    let [a, b] = [0x1E, 0x7E].map(|code| Exact::from(talk.value(code)));
    let outcome = ops::fma(&a, &b, &Exact::from_f64((-17f64).exp2()), NEAREST, Semantics::Ieee);
    assert_eq!(finish(&talk, "tesla", &outcome, &[]).0, 0x5D);
}

#[test]
fn into_the_unsigned_half() {
    let round = |outcome: Outcome| finish(&formats::UHP, "tesla", &outcome, &[]);
    let of = |code: u64| Exact::from(formats::UHP.value(code));
    let (zero, inf, nan) = (of(0), of(0xFC00), of(0xFC01));
    let ieee = Semantics::Ieee;
    let invalid = (0xFE00, Flags::INVALID);
    assert_eq!(round(ops::div(&zero, &zero, ieee)), invalid);
    assert_eq!(round(ops::sub(&inf, &inf, NEAREST, ieee)), invalid);
    assert_eq!(round(ops::mul(&inf, &zero, ieee)), invalid);
    assert_eq!(round(ops::sqrt(&Exact::ratio(-1, 1), ieee)), invalid);
    assert_eq!(round(ops::add(&nan, &of(0x7C00), NEAREST, ieee)), invalid);
    assert_eq!(round(ops::sub(&zero, &of(0x7C00), NEAREST, ieee)), invalid);
    assert_eq!(round(ops::div(&of(0x7C00), &zero, ieee)), (0xFC00, Flags::DIVIDE_BY_ZERO));
    assert_eq!(round(ops::add(&inf, &of(0x7C00), NEAREST, ieee)), (0xFC00, Flags::NONE));
    let overflow = Flags::OVERFLOW | Flags::INEXACT;
    assert_eq!(round(ops::add(&of(0xFBFF), &of(0xFBFF), NEAREST, ieee)), (0xFC00, overflow));
    let flushed = Flags::UNDERFLOW | Flags::INEXACT;
    assert_eq!(round(ops::mul(&of(0x0400), &Exact::ratio(1, 2), ieee)), (0, flushed));
    assert_eq!(round(ops::sub(&of(0x7C00), &of(0x7C00), NEAREST, ieee)), (0, Flags::NONE));
}

#[test]
fn division_by_zero_by_semantics() {
    let format = formats::p3109(8, 4, true, true);
    let quotient = |x: i64| {
        let outcome = ops::div(&Exact::ratio(x, 1), &Exact::zero(false), Semantics::P3109);
        finish(&format, "p3109-satnone", &outcome, &[])
    };
    assert_eq!(quotient(1), (0x80, Flags::INVALID));
    assert_eq!(quotient(0), (0x80, Flags::INVALID));
    // Hypot(NaN, infinity): NaN in the draft, infinite in IEEE 754.
    let (nan, inf) = (Exact::NAN, Exact::Inf { negative: true });
    assert!(ops::hypot(&nan, &inf, Semantics::P3109).0.is_nan());
    assert!(matches!(ops::hypot(&nan, &inf, Semantics::Ieee).0, Exact::Inf { negative: false }));
    // No result of the draft is a negative zero.
    let product = ops::mul(&Exact::zero(false), &Exact::ratio(-1, 1), Semantics::P3109).0;
    assert!(product.is_zero() && !product.is_negative());
}

// A few thousand operands: the corners of the format and a scrambled walk through the rest.
fn f32_operands() -> impl Iterator<Item = f32> {
    let corners = [
        0,
        1,
        2,
        0x7F_FFFF,
        0x80_0000,
        0x80_0001,
        0x3F80_0000,
        0x3F80_0001,
        0x7F7F_FFFF,
        0x7F80_0000,
        0x7FC0_0000,
    ];
    let walk = (1..4000u32).map(|i| i.wrapping_mul(0x9E37_79B9));
    corners.into_iter().flat_map(|bits| [bits, bits | 1 << 31]).chain(walk).map(f32::from_bits)
}

#[test]
fn the_machine_agrees_in_binary32() {
    let single = Table::new(&formats::BINARY32);
    let policy = preset("ieee", &formats::BINARY32);
    let operands: Vec<f32> = f32_operands().collect();
    let check = |outcome: Outcome, machine: f32, what: &str| {
        let code = u32::try_from(single.round(&outcome.0, &policy).0).unwrap();
        if machine.is_nan() {
            assert_eq!(code, 0x7FC0_0000, "{what}");
        } else {
            assert_eq!(code, machine.to_bits(), "{what}");
        }
    };
    for (i, &x) in operands.iter().enumerate() {
        let (y, z) = (operands[i * 7 % operands.len()], operands[i * 31 % operands.len()]);
        let [a, b, c] = [x, y, z].map(Exact::from_f32);
        let what = format!("{x:e} {y:e} {z:e}");
        check(ops::add(&a, &b, NEAREST, Semantics::Ieee), x + y, &what);
        check(ops::sub(&a, &b, NEAREST, Semantics::Ieee), x - y, &what);
        check(ops::mul(&a, &b, Semantics::Ieee), x * y, &what);
        check(ops::div(&a, &b, Semantics::Ieee), x / y, &what);
        check(ops::fma(&a, &b, &c, NEAREST, Semantics::Ieee), x.mul_add(y, z), &what);
        check(ops::sqrt(&a, Semantics::Ieee), x.sqrt(), &what);
    }
}

#[test]
fn the_machine_narrows_alike() {
    let single = Table::new(&formats::BINARY32);
    let policy = preset("ieee", &formats::BINARY32);
    for i in 0..20_000u64 {
        // Exponents around the range of f32, so that all of its edges are met.
        let exponent = 1023 - 160 + i % 300;
        let x = f64::from_bits(exponent << 52 | i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 12 | i << 63);
        #[expect(clippy::cast_possible_truncation, reason = "the machine's narrowing is what is compared")]
        let machine = x as f32;
        assert_eq!(single.round(&Exact::from_f64(x), &policy).0, machine.to_bits().into(), "{x:e}");
    }
}

#[test]
fn roots_round_in_every_mode() {
    let format = formats::p3109(8, 4, true, true);
    let table = Table::new(&format);
    let policy = preset("p3109-satnone", &format);
    let root = |n: i64, d: i64, rounding| {
        let outcome = ops::sqrt(&Exact::ratio(n, d), Semantics::P3109);
        table.round(&outcome.0, &policy.with_rounding(rounding)).0
    };
    // 2.25 is a square, and its root 1.5 is 0x44; the root of 2 lies between 1.375 (0x43) and 1.5.
    for rounding in [NEAREST, Rounding::TowardPositive, Rounding::StochasticA { n: 4, r: 15 }] {
        assert_eq!(root(9, 4, rounding), 0x44);
    }
    assert_eq!(root(2, 1, NEAREST), 0x43);
    assert_eq!(root(2, 1, Rounding::TowardPositive), 0x44);
    assert_eq!(root(2, 1, Rounding::ToOdd), 0x43);
    // nu = 8 * (sqrt 2 - 1.375) = 0.3137...: of 16 values of R the last 5 go up, in all three ways.
    let ways: [fn(u64) -> Rounding; 3] = [
        |r| Rounding::StochasticA { n: 4, r },
        |r| Rounding::StochasticB { n: 4, r },
        |r| Rounding::StochasticC { n: 4, r },
    ];
    for way in ways {
        let up = (0..16).filter(|&r| root(2, 1, way(r)) == 0x44).count();
        assert_eq!(up, 5);
    }
    // A root half way between two codes: 1.4375 squared is 529/256, and 0x44 is the even one.
    assert_eq!((root(529, 256, NEAREST), root(529, 256, Rounding::NearestAway)), (0x44, 0x44));
    assert_eq!(root(529, 256, Rounding::TowardZero), 0x43);
}
