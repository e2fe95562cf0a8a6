//! Blocks and scaled operations: the P3109 draft's golden vectors (D1 revised, September 2026), the
//! special rows of block projection, random sequences, and what is refused. Expected codes were
//! found by exact rational arithmetic by hand.

use smallfloat::p3109::{Answer, Argument, Block, Function, Specialization};
use smallfloat::{Flags, RandomBits};

fn parse(text: &str) -> Specialization {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A call's result as text: `82 [03 09]`, `[03 09]`, `5e`.
fn call(spec: &Specialization, arguments: &[Argument<'_>], words: &[u64]) -> String {
    let answer = spec.call_blocks(arguments, words).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let codes = |codes: &[u64]| {
        let codes: Vec<String> = codes.iter().map(|code| format!("{code:02x}")).collect();
        format!("[{}]", codes.join(" "))
    };
    match answer {
        Answer::Code(r) => format!("{:02x}", r.value),
        Answer::Sequence(sequence) => codes(&sequence.codes),
        Answer::Block(r) => format!("{:02x} {}", r.scale.value, codes(&r.elements.codes)),
        other => panic!("{spec}: {other:?}"),
    }
}

fn refused(spec: &Specialization, arguments: &[Argument<'_>], words: &[u64]) -> String {
    spec.call_blocks(arguments, words).expect_err("refused").to_string()
}

fn block(scale: u64, elements: &[u64]) -> Argument<'_> {
    Argument::Block(Block { scale, elements })
}

const P4SE_NAN: u64 = 0x80;
const P4SE_INF: u64 = 0x7f;
const P4SE_MINUS_INF: u64 = 0xff;

/// 8 · 1.5 + 0.5 · 3 = 13.5.
#[test]
fn golden_scaled_add() {
    for (to, code) in [("Binary8p4se", 0x5e), ("Binary8p3se", 0x4f)] {
        let pair = "(Binary8p1uf, Binary4p2sf)";
        let spec = parse(&format!("ScaledAdd<{pair}, {pair}, {to}, (NearestTiesToEven, SatNone)>"));
        // 1.5 is 05 and 3 is 07 in Binary4p2sf.
        let Answer::Code(r) = spec.call(&[0x83, 0x05, 0x7f, 0x07]).unwrap() else { panic!("a code") };
        assert_eq!(r.value, code, "{spec}");
        assert_eq!(r.flags, Flags::INEXACT);
    }
}

/// Source elements in Binary8p4se: 3 = 4c, −1 = c0, 0 = 00.
#[test]
fn golden_convert_to_block_max_abs_finite() {
    let run = |scale: &str, projections: &str, elements: &[u64]| {
        let length = elements.len();
        let spec = parse(&format!(
            "ConvertToBlockMaxAbsFinite<{length}, Binary8p4se, {scale}, Binary4p2sf, {projections}>"
        ));
        call(&spec, &[Argument::Sequence(elements)], &[])
    };
    let none = "(TowardPositive, SatNone), (NearestTiesToEven, SatNone)";
    let finite = "(TowardPositive, SatNone), (NearestTiesToEven, SatFinite)";
    let (inf, minus_inf, nan) = (P4SE_INF, P4SE_MINUS_INF, P4SE_NAN);
    assert_eq!(run("Binary8p1uf", none, &[0x4c, 0xc0]), "82 [03 09]");
    assert_eq!(run("Binary8p1uf", none, &[0x4c, inf, nan]), "82 [03 08 08]");
    assert_eq!(run("Binary8p1uf", finite, &[0x4c, inf, minus_inf, nan]), "82 [03 07 0f 08]");
    assert_eq!(run("Binary8p1uf", none, &[inf, minus_inf]), "ff [08 08]");
    assert_eq!(run("Binary8p1ue", none, &[inf, minus_inf]), "fe [04 0c]");
    assert_eq!(run("Binary8p1uf", none, &[0, nan]), "00 [00 08]");
    assert_eq!(run("Binary8p1uf", none, &[nan, nan]), "ff [08 08]");
    // An infinite maximum that the scale clamps: the element stays infinite, against the draft's
    // note.
    let spec = parse(
        "ConvertToBlockMaxAbsFinite<1, Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatFinite), \
         (NearestTiesToEven, SatNone)>",
    );
    assert_eq!(call(&spec, &[Argument::Sequence(&[inf])], &[]), "7e [7f]");
}

/// Block projection's rows: NaN scale, zero scale, infinite scale, in both signs, against every
/// class of element.
#[test]
fn scales_that_are_not_ordinary() {
    let spec =
        parse("ConvertToBlock<6, Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatNone)>");
    // 3, −1, 0, ∞, −∞, NaN.
    let elements = [0x4c, 0xc0, 0x00, P4SE_INF, P4SE_MINUS_INF, P4SE_NAN];
    let run = |scale| call(&spec, &[Argument::Sequence(&elements), Argument::Code(scale)], &[]);
    assert_eq!(run(P4SE_NAN), "80 [80 80 80 80 80 80]");
    assert_eq!(run(0), "00 [00 00 00 00 00 80]");
    assert_eq!(run(P4SE_INF), "7f [40 c0 00 40 c0 80]");
    assert_eq!(run(P4SE_MINUS_INF), "ff [c0 40 00 c0 40 80]");
    // −2 = c8: 3/−2 = −1.5 = c4, −1/−2 = ½ = 38.
    assert_eq!(run(0xc8), "c8 [c4 38 00 ff 7f 80]");
    // 3 = 4c: 1, −1/3 → b3 (between b2 and b3, nearest b3).
    assert_eq!(run(0x4c), "4c [40 b3 00 7f ff 80]");
}

/// Block decoding: 0 · ∞ is NaN, and a NaN scale makes all elements NaN.
#[test]
fn decoding_special_blocks() {
    let spec = parse("ConvertFromBlock<4, Binary8p4se, Binary8p4se, binary16>");
    let run = |scale, elements: [u64; 4]| call(&spec, &[block(scale, &elements)], &[]);
    let ordinary = [0x4c, 0x00, P4SE_INF, P4SE_NAN];
    assert_eq!(run(0x48, ordinary), "[4600 00 7c00 7e00]");
    assert_eq!(run(0x00, ordinary), "[00 00 7e00 7e00]");
    assert_eq!(run(P4SE_INF, ordinary), "[7c00 7e00 7c00 7e00]");
    assert_eq!(run(P4SE_MINUS_INF, ordinary), "[fc00 7e00 fc00 7e00]");
    assert_eq!(run(P4SE_NAN, ordinary), "[7e00 7e00 7e00 7e00]");
}

/// An operation on NaN, on infinities of both signs and on zeros, whatever the result scale.
#[test]
fn special_elements_of_block_operations() {
    let b = "(Binary8p1uf, Binary8p4se)";
    let spec = parse(&format!("BlockAdd<5, {b}, {b}, Binary8p1uf, Binary8p4se>"));
    let (inf, minus_inf, nan) = (P4SE_INF, P4SE_MINUS_INF, P4SE_NAN);
    let x = [inf, inf, nan, 0x40, 0x00];
    let y = [minus_inf, 0x40, 0x40, 0xc0, 0x00];
    // 2 · x + 1 · y over 4: ∞ − ∞, ∞, NaN, (2 − 1)/4 = 30, 0.
    let run = |scale| call(&spec, &[block(0x81, &x), block(0x80, &y), Argument::Code(scale)], &[]);
    assert_eq!(run(0x82), "82 [80 7f 80 30 00]");
    // A zero scale gives zeros, also of ∞.
    assert_eq!(run(0x00), "00 [80 00 80 00 00]");
    assert_eq!(run(0xff), "ff [80 80 80 80 80]");
}

#[test]
fn reductions() {
    let p4 = "Binary8p1uf, Binary8p4se";
    let sum = parse(&format!("BlockReduceAdd<4, {p4}, Binary8p4se, (NearestTiesToEven, SatNone)>"));
    let product = parse(&format!("BlockReduceMultiply<4, {p4}, Binary8p4se, (NearestTiesToEven, SatNone)>"));
    let dot = parse(
        "BlockDotProduct<2, Binary8p1uf, Binary8p4se, Binary8p1uf, Binary8p4se, binary32, (NearestTiesToEven, SatNone)>",
    );
    let (inf, minus_inf, nan) = (P4SE_INF, P4SE_MINUS_INF, P4SE_NAN);
    // 4 · (1 + 1 + 1 − ½) = 10 = 5a; with scale 1 the product of 1, 1, −½, 3 is −1.5 = c4.
    assert_eq!(call(&sum, &[block(0x82, &[0x40, 0x40, 0x40, 0xb8])], &[]), "5a");
    assert_eq!(call(&product, &[block(0x80, &[0x40, 0x40, 0xb8, 0x4c])], &[]), "c4");
    // The largest values cancel: 224 − 224 + 2^-10 is one smallest value, though it is far below
    // their last place.
    assert_eq!(call(&sum, &[block(0x80, &[0x7e, 0x01, 0xfe, 0x00])], &[]), "01");
    for (elements, expected_sum, expected_product) in [
        ([inf, 0x40, 0x40, 0x40], "7f", "7f"),
        ([inf, minus_inf, 0x40, 0x40], "80", "ff"),
        ([inf, 0x00, 0x40, 0x40], "7f", "80"),
        ([0x00, 0x40, inf, 0x40], "7f", "80"),
        ([nan, 0x40, 0x40, 0x40], "80", "80"),
        ([0x00, 0xc0, 0x40, 0x40], "40", "00"),
        // −1 twice and three times.
        ([0xc0, 0xc0, 0x40, 0x40], "00", "40"),
        ([0xc0, 0xc0, 0xc0, 0x40], "c8", "c0"),
    ] {
        assert_eq!(call(&sum, &[block(0x80, &elements)], &[]), expected_sum, "{elements:x?}");
        assert_eq!(call(&product, &[block(0x80, &elements)], &[]), expected_product, "{elements:x?}");
    }
    // 2·(3·1) + 2·(−1·½) = 5, in binary32 40a00000.
    assert_eq!(call(&dot, &[block(0x81, &[0x4c, 0xc0]), block(0x80, &[0x40, 0x38])], &[]), "40a00000");
    assert_eq!(call(&dot, &[block(0x81, &[inf, 0xc0]), block(0x80, &[0x00, 0x38])], &[]), "7fc00000");
}

/// 2^100 · 2^100 · … in a format with a wide range, and a product whose exact value has thousands
/// of bits: (2^24 − 1)^64 is just below 2^1536, so scaled by the smallest values it rounds to the
/// power of two.
#[test]
fn long_products_are_exact() {
    let spec = parse("BlockReduceMultiply<64, binary32, binary32, binary64, (TowardZero, SatNone)>");
    let elements = [0x4b7f_ffff_u64; 64]; // 2^24 − 1
    let scale = 0x3380_0000; // 2^-24
    // ((2^24 − 1) / 2^24)^64 = 1 − 64·2^-24 + 2016·2^-48 − 41664·2^-72 + …: below 1, in steps of
    // 2^-53 2^53 · that = 2^53 − 2^35 + 64512 − 41664·2^-19 + …
    let significand = (1_u64 << 53) - (1 << 35) + 64512 - 1;
    let expected = (1022_u64 << 52) | (significand & ((1 << 52) - 1));
    assert_eq!(call(&spec, &[block(scale, &elements)], &[]), format!("{expected:02x}"));
}

/// 21/16 lies 5/8 of the way from 04 to 05 of Binary4p2sf; N = 2: A, C 04 04 05 05, B 04 05 05 05.
#[test]
fn a_random_word_an_element() {
    for (mode, expected) in [("A", "[04 04 05 05]"), ("B", "[04 05 05 05]"), ("C", "[04 04 05 05]")] {
        let spec = parse(&format!(
            "ConvertFromBlock<4, Binary8p1uf, binary32, Binary4p2sf, (Stochastic{mode}<2>, SatNone)>"
        ));
        // 2 · 21/32
        let elements = [0x3f28_0000; 4];
        assert_eq!(call(&spec, &[block(0x81, &elements)], &[0, 1, 2, 3]), expected);
        assert_eq!(spec.random_words(), 4);
        assert!(refused(&spec, &[block(0x81, &elements)], &[]).contains("4 random words"));
        assert!(refused(&spec, &[block(0x81, &elements)], &[0, 1, 2, 4]).contains("below 2^2"));
    }
    // A reduction takes one word, a scale another than the elements.
    let sum = parse("BlockReduceAdd<2, Binary8p1uf, binary32, Binary4p2sf, (StochasticA<2>, SatNone)>");
    let pair = [0x3f80_0000, 0x3ea0_0000]; // 1 + 5/16
    for (word, expected) in [(0, "04"), (1, "04"), (2, "05"), (3, "05")] {
        let sum = sum.clone().with_random_bits(RandomBits::new(2, word).unwrap());
        assert_eq!(call(&sum, &[block(0x80, &pair)], &[]), expected);
        assert!(refused(&sum, &[block(0x80, &pair)], &[0, 1]).contains("no sequence of random words"));
    }
    let mut to_block = parse(
        "ConvertToBlockMaxAbsFinite<1, binary32, Binary8p1uf, Binary4p2sf, (StochasticA<1>, SatNone), \
         (StochasticA<2>, SatNone)>",
    );
    // 1.5 lies halfway between the scales 1 and 2; then 1.5/1 = 05 and 1.5/2 = ¾ = 03 are exact.
    for (word, expected) in [(0, "80 [05]"), (1, "81 [03]")] {
        to_block.set_scale_random_bits(RandomBits::new(1, word).unwrap());
        assert_eq!(call(&to_block, &[Argument::Sequence(&[0x3fc0_0000])], &[3]), expected);
    }
}

/// OCP's microscaling by the same functions: E8M0 scales, E2M1 elements, IEEE semantics.
#[test]
fn any_format_anywhere() {
    let spec = parse("BlockMultiply<2, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e2m1fn>");
    // 2·[1.5, −6] × 4·[2, 0.5] over 8: [3, −3].
    let x = [0x3, 0xf];
    let y = [0x4, 0x1];
    assert_eq!(call(&spec, &[block(0x80, &x), block(0x81, &y), Argument::Code(0x82)], &[]), "82 [05 0d]");
    // A sum of two double products of 212 bits each that cancel but for the last.
    let dot = parse("BlockDotProduct<2, binary64, binary64, binary64, binary64, binary64>");
    let near_one = 1.0_f64.to_bits() + 1;
    let (minus, one) = ((-1.0_f64).to_bits(), 1.0_f64.to_bits());
    let x = [near_one, minus];
    let y = [near_one, one];
    // (1 + u)^4 − (1 + u)² with u = 2^-52 is 2u · (1 + 2.5u + 2u² + …), just above the tie between
    // 2 and 3 last places.
    let expected = (2.0 * f64::EPSILON).to_bits() + 3;
    let answer = call(&dot, &[block(near_one, &x), block(near_one, &y)], &[]);
    assert_eq!(answer, format!("{expected:x}"));
}

#[test]
fn bad_operands_are_named() {
    let spec = parse(
        "BlockAdd<2, (Binary8p1uf, Binary8p4se), (Binary8p1uf, Binary8p4se), Binary8p1uf, Binary8p4se>",
    );
    let good = block(0x80, &[0x40, 0x40]);
    let scale = Argument::Code(0x80);
    let cases: [(&[Argument<'_>], &str); 8] = [
        (&[good, good], "3 operands, 2"),
        (&[good, good, good], "operand 3 of BlockAdd must be a code"),
        (&[good, scale, scale], "operand 2 of BlockAdd must be a block"),
        (&[good, Argument::Sequence(&[1, 2]), scale], "operand 2 of BlockAdd must be a block"),
        (&[good, block(0x80, &[0x40]), scale], "operand 2 of BlockAdd has 1 element, the block length is 2"),
        (&[block(0x80, &[]), good, scale], "operand 1 of BlockAdd has 0 elements"),
        (
            &[good, block(0x80, &[0x40, 0x100]), scale],
            "operand 2, element 2: code 0x100 does not fit in 8 bits",
        ),
        (&[good, good, Argument::Code(0x1ff)], "operand 3: code 0x1ff"),
    ];
    for (arguments, word) in cases {
        let error = refused(&spec, arguments, &[]);
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
    // The scale of a block, a sequence, and codes where there are no blocks.
    let convert = parse("ConvertToBlock<2, Binary8p4se, Binary8p1uf, Binary4p2sf>");
    let add = parse("Add<Binary8p4se, Binary8p4se, Binary8p4se>");
    for (spec, arguments, word) in [
        (&spec, &[good, block(0x100, &[0x40, 0x40]), scale][..], "operand 2: code 0x100"),
        (&convert, &[scale, scale], "operand 1 of ConvertToBlock must be a sequence"),
        (&convert, &[Argument::Sequence(&[1, 0x100]), scale], "operand 1, element 2: code 0x100"),
        (&convert, &[Argument::Sequence(&[1, 2]), good], "operand 2 of ConvertToBlock must be a code"),
        (&add, &[scale, good], "operand 2 of Add must be a code"),
        (&add, &[good, scale], "operand 1 of Add must be a code"),
    ] {
        let error = refused(spec, arguments, &[]);
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
    let error = spec.call(&[0; 5]).unwrap_err().to_string();
    assert!(error.contains("operand 1 of BlockAdd must be a sequence or a block"), "{error}");
    assert!(matches!(spec.function(), Function::Block(_)));
}
