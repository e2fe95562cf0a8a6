//! Vectors of units that compute in one way: conversions of lists of values, against integers that
//! share no code with them.

mod published;

use std::fmt::Write as _;

use smallfloat::Format;
use smallfloat_conformance::diagnosis::diagnose;
use smallfloat_conformance::vectors::{
    CheckOptions, CheckReport, CoverageLevel, FixedUnit, FlagSet, LineLayout, Selection, VectorPlan,
    VectorSet, check,
};

use published::NF4;

fn set(unit: &str, level: Option<CoverageLevel>, random: Option<u64>) -> VectorSet {
    let unit: FixedUnit = unit.parse().expect(unit);
    let plan = VectorPlan::new(unit.clone(), level, 5, random).expect("a plan");
    VectorSet::new(unit, plan, None)
}

fn text(set: &VectorSet, layout: LineLayout) -> String {
    let mut text = Vec::new();
    set.write(layout, &mut text).expect("memory takes all");
    String::from_utf8(text).expect("text")
}

fn checked(text: &str) -> CheckReport {
    check(text.as_bytes(), &CheckOptions { show: 5, ..CheckOptions::default() }).expect("vectors")
}

/// The numbers of each line.
fn vectors(text: &str) -> Vec<Vec<u64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let numbers =
        lines.map(|line| line.split(' ').map(|word| u64::from_str_radix(word, 16).expect("hexadecimal")));
    numbers.map(Iterator::collect).collect()
}

/// A binary32 number as a multiple of 2^−60; `None` where it is none, or beyond 2^50.
fn scaled(x: f32) -> Option<i128> {
    let (bits, sign) = (x.to_bits() & 0x7fff_ffff, if x.is_sign_negative() { -1 } else { 1 });
    let (exponent, fraction) = ((bits >> 23).cast_signed(), i128::from(bits & 0x007f_ffff));
    let (significand, exponent) =
        if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent - 150) };
    let shift = exponent + 60;
    if shift >= 0 {
        return (exponent < 27).then(|| sign * (significand << shift));
    }
    let cut = significand.checked_shr(shift.unsigned_abs()).unwrap_or(0);
    (cut << shift.unsigned_abs().min(127) == significand).then_some(sign * cut)
}

/// The nearest of the values, the lower of two that are as near, and whether it is another number.
fn nearest(x: f32, values: &[f32]) -> Option<(usize, bool)> {
    if x.is_infinite() {
        return Some((if x > 0.0 { values.len() - 1 } else { 0 }, true));
    }
    let x = scaled(x)?;
    let distance = |value: &f32| (scaled(*value).expect("in range") - x).abs();
    let best = values.iter().map(distance).min()?;
    let code = values.iter().position(|value| distance(value) == best)?;
    Some((code, best != 0))
}

fn from_binary16(code: u64) -> f32 {
    let bits = u16::try_from(code & 0x7fff).expect("15 bits");
    let (exponent, fraction) = (i32::from(bits >> 10), f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f32.powi(exponent - 15),
    };
    if code >> 15 == 1 { -magnitude } else { magnitude }
}

/// Every binary16 number but the NaNs, which have no result.
#[test]
fn all_operands_of_a_list() {
    let set = set("Convert<binary16, nf4>", None, None);
    assert_eq!(set.plan().to_string(), "all operands 63490");
    let text = text(&set, LineLayout::TestFloat);
    assert!(text.contains("# operation: Convert<binary16, nf4>\n# format: binary16 = "), "{text}");
    assert!(text.contains("# list: nf4 = -1 -0.6961928 "), "{text}");
    let vectors = vectors(&text);
    assert_eq!(vectors.len(), 65536 - 2046);
    let mut inexact = 0;
    for line in &vectors {
        let (code, is_inexact) = nearest(from_binary16(line[0]), &NF4).expect("a binary16 number");
        assert_eq!(line[1..], [code as u64, u64::from(is_inexact)], "{:04x}", line[0]);
        inexact += u64::from(is_inexact);
    }
    // −1, ±0 and 1 are values of the list.
    assert_eq!(inexact, vectors.len() as u64 - 4);
    assert!(checked(&text).passes());
}

/// The level's lines of a wide format are those where a comparator with one bit less is wrong.
#[test]
fn lines_lie_on_the_middles() {
    for level in [CoverageLevel::One, CoverageLevel::Two] {
        let set = set("Convert<binary32, nf4>", Some(level), Some(5000));
        let text = text(&set, LineLayout::TestFloat);
        let (mut judged, mut given) = (0, String::new());
        for line in vectors(&text) {
            let x = f32::from_bits(u32::try_from(line[0]).expect("32 bits"));
            assert!(!x.is_nan());
            if let Some((code, is_inexact)) = nearest(x, &NF4) {
                assert_eq!(line[1..], [code as u64, u64::from(is_inexact)], "{x:e}");
                judged += 1;
            }
            // Middles in binary32, as a table of thresholds has them, where some are rounded.
            let middle = |rank: usize| f32::midpoint(NF4[rank], NF4[rank + 1]);
            let code = (0..15).filter(|rank| x >= middle(*rank)).count();
            writeln!(given, "{:08x} {code:x} {:02x}", line[0], line[2]).expect("a string takes all");
        }
        assert!(judged > 3000, "{judged}");
        let given = format!("# operation: Convert<binary32, nf4>\n# flags: iouxz\n{given}");
        let report = checked(&given);
        assert!(report.mismatches > 0 && report.flags_only == 0, "{}", report.mismatches);
        let first = &report.first[0];
        assert!(report.unit.place(&first.operands).is_some());
        // The middles are values of binary32 but for a few, so that it is ties that go up.
        let diagnosis = diagnose(&report);
        let nearest = &diagnosis.values.expect("wrong results").hypotheses;
        assert!(
            nearest.iter().any(|h| h.mistake.to_string() == "ties go to the higher value"),
            "{nearest:?}"
        );
    }
}

/// Out of lists: the values, which binary32 holds, and bfloat16 as the nearest ones.
#[test]
fn values_of_lists() {
    let all = vectors(&text(&set("Convert<nf4, binary32>", None, None), LineLayout::TestFloat));
    let expected: Vec<Vec<u64>> =
        (0_u64..).zip(NF4).map(|(code, value)| vec![code, value.to_bits().into(), 0]).collect();
    assert_eq!(all, expected);
    for line in
        vectors(&text(&set("Convert<sf4, bfloat16>", None, None), LineLayout::TestFloat)).iter().take(8)
    {
        // SF4's table has six digits.
        let sf4 = [-1.0, -0.627_781, -0.454_736, -0.334_331, -0.237_434, -0.152_899, -0.074_982, 0.0_f32];
        let bits = sf4[usize::try_from(line[0]).expect("a code")].to_bits();
        let rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        assert_eq!(line[1..], [rounded.into(), u64::from(bits & 0xffff != 0)]);
    }
    // From list to list, with a tie: −1 · 64 is beyond MXINT8 only of −2.
    let all = vectors(&text(&set("Convert<int4, mxint8>", None, None), LineLayout::TestFloat));
    let (mut clamped, mut exact) = (0, 0);
    for line in &all {
        let integer = (line[0].cast_signed() ^ 8) - 8;
        let code = (integer * 64).clamp(-127, 127);
        assert_eq!(line[1], (code & 0xff).cast_unsigned(), "{integer}");
        assert_eq!(line[2], u64::from(code != integer * 64));
        clamped += u64::from(code.abs() == 127);
        exact += u64::from(line[2] == 0);
    }
    assert_eq!((clamped, exact), (13, 3));
}

/// What vectors of lists have in common with all others: layouts, seeds, parts, wrong results.
#[test]
fn files_are_as_of_other_units() {
    let whole = set("Convert<bfloat16, bnb-fp4>", Some(CoverageLevel::One), Some(400));
    let digest = whole.digest().expect("a digest");
    for layout in [LineLayout::TestFloat, LineLayout::ReadMemH, LineLayout::Csv, LineLayout::JsonLines] {
        let text = text(&whole, layout);
        let report = checked(&text);
        assert!(report.passes() && report.sha256 == digest, "{layout}");
        assert_eq!(report.unit.to_string(), "Convert<bfloat16, bnb-fp4>");
    }
    let other: FixedUnit = "Convert<bfloat16, bnb-fp4>".parse().expect("a unit");
    let plan = VectorPlan::new(other.clone(), Some(CoverageLevel::One), 6, Some(400)).expect("a plan");
    assert_ne!(VectorSet::new(other.clone(), plan, None).digest().expect("a digest"), digest);
    let few = Selection { count: Some(9), ..Selection::default() };
    let plan = VectorPlan::with_selection(other, Some(CoverageLevel::One), 5, few).expect("a plan");
    assert_eq!(plan.lines(), 9);
    // 0.1 is nearest to 1/6, 6, and 1/192, 1, is a mistake.
    let report = checked("# operation: Convert<bfloat16, bnb-fp4>\n# flags: none\n3dcd 6\n3dcd 1\n");
    assert_eq!((report.vectors, report.mismatches, report.flags), (2, 1, FlagSet::None));
    let place = report.unit.place(&[0x3dcd]).expect("it is no value");
    assert_eq!((place.below, place.above), (Some(1), Some(6)));
    for (wrong, words) in [
        ("# operation: Convert<bfloat16, nf4>\n7fc0 0 10\n", "nf4 has no NaN"),
        ("# operation: Convert<bfloat16, nf4>\n3f80 10 00\n", "`10` is too large, 0..=f"),
        ("# operation: Convert<bfloat16, nf4, (TowardZero)>\n3f80 f 00\n", "computed in one way"),
        ("# operation: Convert<bfloat16, nf4>\n# ports: rounding\n3f80 f 00\n", "computed in one way"),
        ("# operation: Convert<bfloat, nf4>\n3f80 f 00\n", "bfloat"),
    ] {
        let error = check(wrong.as_bytes(), &CheckOptions::default()).expect_err(words).to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// What counts as NaN in formats of every kind: all other codes are tried, each once.
#[test]
fn no_code_but_nan_is_left_out() {
    for name in [
        "e4m3fn",
        "e5m2",
        "e4m3fnuz",
        "e8m0fnu",
        "e2m1fn",
        "binary8p3se",
        "binary8p4uf",
        "cfloat8_1_4_3:bias=7",
    ] {
        let format: Format = name.parse().expect(name);
        let lines = vectors(&text(&set(&format!("Convert<{name}, nf4>"), None, None), LineLayout::TestFloat));
        let codes: Vec<u64> = lines.iter().map(|line| line[0]).collect();
        let expected: Vec<u64> = format.codes().filter(|code| !format.decode(*code).is_nan()).collect();
        assert_eq!(codes, expected, "{name}");
    }
}

/// The mistakes of comparators and tables are named.
#[test]
fn mistakes_of_lists_have_names() {
    let cause = |operation: &str, lines: &str| {
        let report = checked(&format!("# operation: {operation}\n# flags: iouxz\n{lines}"));
        let diagnosis = diagnose(&report);
        diagnosis.cause().unwrap_or_else(|| panic!("{diagnosis:#?}")).mistake.to_string()
    };
    // −3.5 lies between −4, c, and −3, d, and 2.5 between 2 and 3: ties go to even codes.
    let int4 = "Convert<bfloat16, int4>";
    assert_eq!(cause(int4, "c060 d 01\n4020 3 01\n4028 3 01\n3f80 1 00\n"), "ties go to the higher value");
    assert_eq!(cause(int4, "c060 d 01\n4020 2 01\n4038 2 01\n3f80 1 00\n"), "truncates: rounds toward zero");
    assert_eq!(
        cause(int4, "c060 c 00\n4020 2 00\n4038 3 00\n3f80 1 00\n"),
        "the inexact flag is never raised"
    );
    // 0.5 is 5; of the sorted values it is the thirteenth.
    let fp4 = "Convert<bfloat16, bnb-fp4>";
    assert_eq!(cause(fp4, "3f00 c 00\nbf80 0 00\n0000 7 00\n"), "numbers the values from the lowest on");
    assert_eq!(cause("Convert<nf4, binary32>", "f 3f800000 00\n1 bf20b641 00\n"), "has the values of sf4");
}
