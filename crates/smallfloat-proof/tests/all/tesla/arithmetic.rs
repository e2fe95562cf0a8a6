//! Tesla's paper, the requirements on arithmetic (R30, R31, and the arithmetic part of R18, R34 to
//! R37), in P3109's spelling. Expected values are worked out by hand from the formats' formulas.

use smallfloat::p3109::{Answer, Specialization};

/// Calls with their operands' codes, the result's code and the paper's flags.
fn check(rows: &[(&str, &[u64], u64, &str)]) {
    for &(call, operands, expected, flags) in rows {
        let parsed: Specialization = call.parse().unwrap_or_else(|error| panic!("{call}: {error}"));
        let Ok(Answer::Code(r)) = parsed.call(operands) else { panic!("{call} gives a code") };
        assert_eq!(
            (r.value, r.flags.tesla().to_string().as_str()),
            (expected, flags),
            "{call} {operands:x?} gave {:#x}",
            r.value
        );
    }
}

/// Mixed precision: operands stored narrow, results in a wider type, exact here.
#[test]
fn r30_narrow_operands_wide_results() {
    check(&[
        // 1 · 1.75
        ("Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_5_2:bias=15, binary32>", &[0x38, 0x3F], 0x3FE0_0000, "-"),
        // 480 · 480 = 230400, beyond both operands' range and exact
        ("Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, binary32>", &[0x7F, 0x7F], 0x4861_0000, "-"),
        // 1 + 2^−24 of SHP at bias 39: 0x3C00 is 2^(15−39)
        ("Add<shp:bias=15, shp:bias=39, binary64>", &[0x3C00, 0x3C00], 0x3FF0_0000_1000_0000, "-"),
    ]);
}

/// Every operation of our minimum, with Tesla's formats on both sides, rounded once.
#[test]
fn r31_the_minimum_of_operations() {
    check(&[
        ("Add<cfloat8_1_4_3:bias=7, shp:bias=15, uhp>", &[0x38, 0x3C00], 0x8000, "-"),
        ("Subtract<uhp, uhp, cfloat8_1_5_2:bias=15>", &[0x7C00, 0x8000], 0xBC, "-"),
        (
            "Divide<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0x38, 0x44],
            0x2B,
            "-",
        ),
        (
            "FMA<cfloat8_1_5_2:bias=16, cfloat8_1_5_2:bias=16, cfloat8_1_5_2:bias=16, cfloat8_1_5_2:bias=16>",
            &[0x1E, 0x7E, 0x02],
            0x5D,
            "D",
        ),
        ("Sqrt<uhp, shp:bias=15>", &[0x8000], 0x3DA8, "-"),
        ("Recip<cfloat8_1_4_3:bias=7, binary32>", &[0x40], 0x3F00_0000, "-"),
    ]);
}

/// A subnormal operand raises "denormal", also where the result is ordinary.
#[test]
fn r34_denormal_operands_of_operations() {
    check(&[
        (
            "Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0x01, 0x38],
            0x01,
            "D",
        ),
        ("Add<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>", &[0x38, 0x07], 0x38, "D"),
        ("Add<uhp, uhp, uhp>", &[0x0001, 0x0000], 0x0000, "D"),
    ]);
}

/// NaN operands and undefined results are invalid; UHP delivers its canonical NaN, the others
/// clamp.
#[test]
fn r35_invalid_operations() {
    check(&[
        (
            "Divide<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0x00, 0x00],
            0x7F,
            "I",
        ),
        ("Divide<uhp, uhp, uhp>", &[0x0000, 0x0000], 0xFE00, "I"),
        ("Subtract<uhp, uhp, uhp>", &[0xFC00, 0xFC00], 0xFE00, "I"),
        ("Multiply<uhp, uhp, uhp>", &[0xFC00, 0x0000], 0xFE00, "I"),
        ("Sqrt<cfloat8_1_4_3:bias=7, uhp>", &[0xB8], 0xFE00, "I"),
        ("Add<uhp, uhp, shp:bias=15>", &[0xFC01, 0x7C00], 0x7FFF, "I"),
    ]);
}

/// Overflow and underflow of results.
#[test]
fn r36_r37_overflow_and_underflow_of_operations() {
    check(&[
        (
            "Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0x7F, 0xFF],
            0xFF,
            "O",
        ),
        ("Add<uhp, uhp, uhp>", &[0xFBFF, 0xFBFF], 0xFC00, "O"),
        (
            "Divide<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0xB8, 0x00],
            0xFF,
            "O",
        ),
        // Half the smallest normal value falls into the hole.
        (
            "Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>",
            &[0x08, 0x30],
            0x07,
            "U",
        ),
        ("Multiply<uhp, shp:bias=15, uhp>", &[0x0400, 0x3800], 0x0000, "U"),
    ]);
}
