//! Test vectors: what is generated is right and complete in every layout, and what is wrong is
//! found and named.
//!
//! Expected values are Tesla's paper's digest and arithmetic by hand, never what the generator
//! printed.

use std::collections::HashSet;

use rayon::prelude::*;
use smallfloat::{FlagOrder, FlagPolicy, Flags, Format, Preset, RandomBits, Rounding};
use smallfloat_conformance::Error;
use smallfloat_conformance::diagnosis::{Hypothesis, diagnose};
use smallfloat_conformance::vectors::{
    CheckOptions, CheckReport, CoverageLevel, FlagSet, LineLayout, Nearer, UnitUnderTest, VectorPlan,
    VectorSet, check,
};

fn unit(operation: &str) -> UnitUnderTest {
    UnitUnderTest::new(operation.parse().expect(operation), None).expect(operation)
}

fn tesla(rounding: Option<Rounding>) -> UnitUnderTest {
    let from: Format = "binary32".parse().expect("a format");
    let to: Format = "cfloat8_1_4_3:bias=7".parse().expect("a format");
    UnitUnderTest::convert(&from, &to, None, rounding, None).expect("a conversion")
}

fn set(unit: UnitUnderTest, level: Option<CoverageLevel>, random: u64) -> VectorSet {
    let plan = VectorPlan::new(&unit, level, 1, Some(random)).expect("a plan");
    VectorSet::new(unit, plan, None)
}

fn text(set: &VectorSet, layout: LineLayout) -> String {
    let mut text = Vec::new();
    set.write(layout, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("text")
}

fn run(text: &str) -> Result<CheckReport, Error> {
    check(text.as_bytes(), &CheckOptions { show: 5, ..CheckOptions::default() })
}

fn cause(report: &CheckReport) -> String {
    let diagnosis = diagnose(report);
    let cause = diagnosis.cause().unwrap_or_else(|| panic!("one mistake explains all: {diagnosis:#?}"));
    assert_eq!(cause.contradicted, 0, "{}", cause.mistake);
    cause.mistake.to_string()
}

/// The paper's digest, Table 4: binary32, code, flags (bit 1 underflow, 2 overflow, 4 invalid, 5
/// denormal).
const TESLA: [&str; 24] = [
    "00000000 00 00",
    "80000000 80 00",
    "00000001 00 22",
    "807fffff 80 22",
    "3a000000 00 02",
    "3a000001 01 02",
    "39ffffff 00 02",
    "3a800000 01 00",
    "3ac00000 02 02",
    "3b200000 02 02",
    "3be00001 07 02",
    "3c000000 07 02",
    "3c37ffff 07 02",
    "3c380000 08 02",
    "3c380001 08 02",
    "3c7fffff 08 02",
    "3c800000 08 00",
    "3c880000 08 00",
    "43f00001 7f 00",
    "43f7ffff 7f 00",
    "43f80000 7f 04",
    "7f7fffff 7f 04",
    "ff800000 ff 04",
    "7fc00000 7f 10",
];

#[test]
fn known_lines_are_right_and_among_the_generated() {
    let known = format!("{}\n", TESLA.join("\n"));
    let options = CheckOptions { unit: Some(tesla(None).into()), show: 5, ..CheckOptions::default() };
    let report = check(known.as_bytes(), &options).expect("24 lines");
    assert_eq!((report.vectors, report.mismatches), (24, 0));
    let generated = text(&set(tesla(None), Some(CoverageLevel::One), 100), LineLayout::TestFloat);
    let generated: HashSet<&str> = generated.lines().collect();
    for line in TESLA.iter().filter(|line| !line.starts_with("807f")) {
        assert!(generated.contains(line), "level 1 has no `{line}`");
    }
}

#[test]
fn every_layout_passes_and_has_one_digest() {
    for operation in [
        "Negate<e2m1fn, e2m1fn>",
        "Add<e2m3fn, e2m1fn, binary16>",
        "CompareLess<e2m1fn, e2m1fn>",
        "Class<binary6p3se>",
        "NextGreaterThan<binary5p3sf>",
        "Convert<e3m2fn, e2m1fn, (StochasticB<3>, SatFinite)>",
        "ScaledAdd<(e2m1fn, e2m1fn), (e2m1fn, e2m1fn), e4m3fn>",
        // As many operands as any function has.
        "ScaledFMA<(binary3p2se, e2m1fn), (e2m1fn, binary3p2se), (e2m1fn, e2m1fn), e4m3fn, (StochasticA<4>, SatFinite)>",
        "BlockFMA<1, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e4m3fn>",
        "BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>",
        "BlockAdd<2, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e4m3fn, (StochasticA<4>, SatFinite)>",
        "ConvertToBlockMaxAbsFinite<2, binary16, binary8p1uf, binary4p2sf, (TowardPositive, SatNone), \
         (NearestTiesToEven, SatNone)>",
    ] {
        let unit = unit(operation);
        let level = VectorPlan::new(&unit, None, 1, None).expect(operation).level();
        let random = if level == Some(CoverageLevel::Exhaustive) { 0 } else { 500 };
        let set = set(unit, None, random);
        let digest = set.digest().expect(operation);
        for &(name, layout) in LineLayout::NAMED {
            let text = text(&set, layout);
            assert!(text.contains(&digest), "{operation} {name}");
            let report = run(&text).unwrap_or_else(|error| panic!("{operation} {name}: {error}"));
            assert!(report.passes(), "{operation} {name}");
            assert_eq!((report.vectors, &report.sha256), (set.plan().lines(), &digest), "{operation} {name}");
        }
    }
}

/// Digests of files that others may have: a change of any line is a change of the format.
#[test]
fn digests_are_stable() {
    let digest = |set: VectorSet| set.digest().expect("a digest");
    let negate = "0 8 00\n1 9 00\n2 a 00\n3 b 00\n4 c 00\n5 d 00\n6 e 00\n7 f 00\n8 0 00\n9 1 00\na 2 00\nb 3 00\n\
                  c 4 00\nd 5 00\ne 6 00\nf 7 00\n";
    let all = text(&set(unit("Negate<e2m1fn, e2m1fn>"), None, 0), LineLayout::TestFloat);
    // Subnormal operands raise nothing where only the sign changes.
    assert!(all.ends_with(&format!("{negate}# sha256: {NEGATE}\n")), "{all}");
    // printf of these 16 lines | sha256sum
    assert_eq!(digest(set(unit("Negate<e2m1fn, e2m1fn>"), None, 0)), NEGATE);
    // With random lines, as they were when they were first made.
    for (operation, expected) in [
        (
            "FMA<e4m3fn, e4m3fn, binary32, e4m3fn>",
            "d0960ae9e16a4d5ef6bbfabc7a93f9d0102a286eb3ef319c1222dd01bb8a1f6d",
        ),
        (
            "BlockAdd<2, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e4m3fn, (StochasticA<4>, SatFinite)>",
            "d192828589108ecb4c68aa9b793e9c909c0c4c694cf1998b192a1a93b4249e51",
        ),
    ] {
        let unit = unit(operation);
        let plan = VectorPlan::new(&unit, Some(CoverageLevel::One), 7, Some(3000)).expect("a plan");
        // By the rules for flags that there were.
        let unit = unit.with_flag_policy(FlagPolicy::TESLA, true);
        assert_eq!(digest(VectorSet::new(unit, plan, Some(FlagSet::All))), expected, "{operation}");
    }
}
const NEGATE: &str = "5d4c9bca08a7fb585fb040d33dbb73143390c2039c0242e8d7e7452dcfa57dda";

#[test]
fn threads_and_seeds() {
    let set = |seed| {
        let plan =
            VectorPlan::new(tesla(None), Some(CoverageLevel::One), seed, Some(40_000)).expect("a plan");
        VectorSet::new(tesla(None), plan, None).digest().expect("a digest")
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    assert_eq!(one.install(|| set(1)), set(1));
    assert_ne!(set(1), set(2));
}

/// All threads of the pool write vectors, whose lines are made on threads of the same pool.
#[test]
fn every_thread_of_the_pool_may_write() {
    let set = set(unit("Add<binary8p3se>"), Some(CoverageLevel::Exhaustive), 0);
    let expected = text(&set, LineLayout::TestFloat);
    assert!(expected.lines().count() > 1 << 16);
    let texts = |_| text(&set, LineLayout::TestFloat);
    let written: Vec<String> = (0..3 * rayon::current_num_threads()).into_par_iter().map(texts).collect();
    assert!(written.iter().all(|text| *text == expected));
}

#[test]
fn too_much_is_refused() {
    let plan = |operation: &str| VectorPlan::new(unit(operation), Some(CoverageLevel::Exhaustive), 0, None);
    assert!(matches!(plan("Add<binary32, e4m3fn, e4m3fn>"), Err(Error::TooManyVectors { bits: 40, .. })));
    assert_eq!(plan("FMA<e4m3fn, e4m3fn, e4m3fn, e4m3fn>").expect("2^24").lines(), 1 << 24);
    let none = UnitUnderTest::new("MaxFiniteOf<e4m3fn>".parse().expect("a query"), None);
    assert!(matches!(none, Err(Error::NoVectors { .. })));
}

/// Random words turn a result somewhere: both words beside that place are among the lines.
#[test]
fn stochastic_lines_have_the_words_that_decide() {
    let bits = RandomBits::new(8, 0).expect("8 bits");
    let lines = text(
        &set(tesla(Some(Rounding::StochasticA(bits))), Some(CoverageLevel::One), 0),
        LineLayout::TestFloat,
    );
    // 1.0625 = 1 + ½ ulp: away iff 128 + R ≥ 256.
    for line in ["3f880000 7f 38 00", "3f880000 80 39 00"] {
        assert!(lines.lines().any(|found| found == line), "no `{line}`");
    }
}

/// The lines of a unit with results of another, as a mistaken implementation prints them.
fn given_by(right: &VectorSet, wrong: UnitUnderTest) -> String {
    let header = right.header(LineLayout::TestFloat);
    let wrong = VectorSet::new(wrong, right.plan().clone(), Some(right.flags()));
    let lines = text(&wrong, LineLayout::TestFloat);
    let lines = lines.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n"));
    let digest = right.digest().expect("a digest");
    String::from_utf8(header).expect("text") + &lines.collect::<String>() + &format!("# sha256: {digest}\n")
}

#[test]
fn common_mistakes_are_named() {
    let right = set(tesla(None), Some(CoverageLevel::One), 2000);
    let to = |name: &str| {
        let from: Format = "binary32".parse().expect("a format");
        let to: Format = name.parse().expect(name);
        UnitUnderTest::convert(&from, &to, None, None, None).expect(name)
    };
    for (wrong, words) in [
        (tesla(Some(Rounding::TowardZero)), "truncates"),
        (tesla(Some(Rounding::NearestAway)), "ties go away from zero"),
        (tesla(Some(Rounding::ToOdd)), "rounds to odd"),
        (to("cfloat8_1_4_3:bias=8"), "a bias one too large (8)"),
        (to("cfloat8_1_4_3:bias=6"), "a bias one too small (6)"),
        (to("cfloat8_1_4_3:bias=7,subnormals=gradual"), "gradual subnormals"),
    ] {
        let report = run(&given_by(&right, wrong)).expect(words);
        assert!(
            report.mismatches > 0
                && !report.passes()
                && report.is_complete()
                && report.digest_matches() == Some(true)
        );
        assert!(cause(&report).contains(words), "{words}: {}", cause(&report));
    }
    let infinities = UnitUnderTest::convert(
        &"binary32".parse().expect("a format"),
        &"e5m2".parse().expect("a format"),
        Some(Preset::OcpSaturate),
        None,
        None,
    );
    let right = set(infinities.expect("a conversion"), Some(CoverageLevel::One), 0);
    let wrong = right.unit().function().expect("a function").clone().with_policy(
        None,
        None,
        Some(smallfloat::Saturation::SatNone),
    );
    let report = run(&given_by(&right, wrong.expect("a policy"))).expect("overflow");
    assert!(cause(&report).contains("overflow gives infinity"), "{}", cause(&report));
}

/// Mistakes that are no other unit: by hand.
#[test]
fn more_mistakes_are_named() {
    // 1.0625 is half way from 1 to 1.125, 1.1875 from 1.125 to 1.25. A little more rounds up,
    // unless a narrower format drops the little first: then 1.0625 goes to 1, and 1.1875 to 1.25
    // all the same, which tells it from truncation.
    let convert = |lines: &str| {
        run(&format!("# operation: Convert<binary32, e4m3fn, semantics=ieee>\n{lines}")).expect(lines)
    };
    let twice = convert("# flags: none\n3f980001 3a\n3f880001 38\n3f8801ff 38\n");
    assert_eq!((twice.mismatches, cause(&twice).as_str()), (2, "rounds twice: first to binary16"));
    // 1.0625 + 2^−10 is a binary16 and no bfloat16.
    let twice = convert("# flags: none\n3f980001 3a\n3f882000 38\n");
    assert_eq!((twice.mismatches, cause(&twice).as_str()), (1, "rounds twice: first to bfloat16"));
    // −0 lost, a flag forgotten.
    let lost = convert("3f800000 38 00\n80000000 00 00\n00000000 00 00\nbf800000 b8 00\n");
    assert_eq!(cause(&lost), "zeros have no sign: −0 becomes +0");
    let flag = convert("3f880001 39 00\n3f800000 38 00\n3f880002 39 00\n");
    assert_eq!((flag.mismatches, flag.flags_only), (2, 2));
    assert_eq!(cause(&flag), "the inexact flag is never raised");
}

/// A block's scale and its elements are rounded each in its own way, and each can be wrong.
#[test]
fn scale_and_elements_are_told_apart() {
    let block = |scale: &str, elements: &str| {
        unit(&format!(
            "ConvertToBlockMaxAbsFinite<2, e3m2fn, e8m0fnu, e2m1fn, ({scale}, SatFinite), ({elements}, SatFinite)>"
        ))
    };
    let right = set(block("TowardPositive", "NearestTiesToEven"), None, 0);
    for (scale, elements, words) in [
        ("TowardPositive", "TowardZero", "elements: truncates: rounds toward zero"),
        ("TowardNegative", "NearestTiesToEven", "scale: rounds toward −∞"),
    ] {
        let report = run(&given_by(&right, block(scale, elements))).expect(words);
        let values = diagnose(&report).values.expect(words);
        assert!(values.causes.iter().any(|cause| cause.mistake.to_string() == words), "{words}");
    }
}

/// Mistakes about what a format does not have, in E4M3FN and E3M2FN, whose largest values are 448
/// (0x7e) and 28 (0x1f).
#[test]
fn mistakes_beyond_the_range_are_named() {
    let judged = |to: &str, any_nan: bool, lines: &str| {
        let (from, to): (Format, Format) = ("binary32".parse().expect("a format"), to.parse().expect(to));
        let unit =
            UnitUnderTest::convert(&from, &to, Some(Preset::OcpSaturate), None, None).expect("a conversion");
        let flags = Some(FlagSet::None);
        let options = CheckOptions { unit: Some(unit.into()), any_nan, flags, ..CheckOptions::default() };
        check(lines.as_bytes(), &options).expect(lines)
    };
    // 512 = 2^9 has exponent field 16, 1024 field 17; of these four bits stay, 0 and 1.
    let wrapped = judged("e4m3fn", false, "43e00000 7e\n44000000 00\nc4800000 88\n");
    assert_eq!((wrapped.mismatches, cause(&wrapped).as_str()), (2, WRAPS));
    // NaN of either sign for overflow is the same mistake where any NaN is as good as another.
    let lines = "44000000 7f\nc4000000 ff\n";
    let unclamped = "overflow gives infinity, or NaN where there is none, and does not clamp";
    assert_eq!(cause(&judged("e4m3fn", true, lines)), unclamped);
    // Values that round past the largest one became NaN, infinities did not.
    let halfway = judged("e4m3fn", false, "44000000 7f\n7f800000 7e\n");
    let values = diagnose(&halfway).values.expect("a wrong result");
    assert!(values.causes.is_empty(), "{values:#?}");
    assert_eq!(
        (values.symptoms[0].name, values.symptoms[0].count),
        ("the largest value became NaN or infinity: overflow is not clamped", 1)
    );
    let signed = judged("e3m2fn", false, "7fc00000 1f\nffc00000 3f\n3f800000 0c\n");
    assert_eq!(cause(&signed), "NaN becomes the largest value with the NaN's sign");
}
const WRAPS: &str = "overflow wraps around: the exponent's highest bits are lost";

/// A mistake that is not made everywhere is said to be so, on however many threads.
#[test]
fn what_agrees_speaks_against_a_mistake() {
    let right = text(&set(tesla(None), Some(CoverageLevel::One), 20_000), LineLayout::TestFloat);
    // One tie of many goes the wrong way.
    let wrong = right.replacen("\n3f880000 38 00\n", "\n3f880000 39 00\n", 1);
    let report = run(&wrong).expect("vectors");
    let values = |report: &CheckReport| diagnose(report).values.expect("a wrong result");
    let away = |report: &CheckReport| {
        let found = values(report);
        let name = |hypothesis: &&Hypothesis| hypothesis.mistake.to_string() == "ties go away from zero";
        let hypothesis = found.hypotheses.iter().find(name).expect("it explains the line");
        (found.agreeing, hypothesis.explained, hypothesis.contradicted)
    };
    assert_eq!(report.mismatches, 1);
    assert!(diagnose(&report).cause().is_none());
    let found = away(&report);
    assert!(found.0 == report.vectors - 1 && found.1 == 1 && found.2 > 15, "{found:?}");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    assert_eq!(one.install(|| away(&run(&wrong).expect("vectors"))), found);
}

#[test]
fn places_are_explained() {
    let unit = tesla(None);
    let nearer = |code| unit.place(&[code]).and_then(|place| place.nearer);
    assert_eq!(nearer(0x3f80_0000), None);
    assert_eq!(nearer(0x3f88_0000), Some(Nearer::Tie));
    assert_eq!(nearer(0x3f88_0001), Some(Nearer::Above));
    assert_eq!(nearer(0xbf88_0001), Some(Nearer::Below));
    // The middle of Tesla's hole, 1.4375 · 2^−7.
    assert_eq!(nearer(0x3c38_0000), Some(Nearer::Tie));
    let beyond = unit.place(&[0x4400_0000]).expect("beyond 480");
    assert_eq!((beyond.below, beyond.above, beyond.nearer), (Some(0x7f), None, None));
}

#[test]
fn tampered_and_broken_files() {
    let whole = text(&set(unit("Add<e2m1fn, e2m1fn, e4m3fn>"), None, 0), LineLayout::TestFloat);
    let lines: Vec<&str> = whole.lines().collect();
    let last = lines.len() - 1;
    // A line less, the digest less, two lines swapped, an operand changed.
    let without = |line: usize| [&lines[..line], &lines[line + 1..]].concat().join("\n") + "\n";
    let report = run(&without(last - 1)).expect("255 lines");
    assert!(!report.passes() && !report.is_complete() && report.mismatches == 0);
    let report = run(&without(last)).expect("256 lines");
    assert!(report.vectors == 256 && report.lacks_trailer() && !report.is_complete() && !report.passes());
    // The digest before the lines, as older files have it, and as copied comments do.
    let copied = lines.iter().filter(|line| line.starts_with('#'));
    let copied: Vec<&str> =
        copied.chain(lines.iter().filter(|line| !line.starts_with('#'))).copied().collect();
    for digest_first in [copied.join("\n"), copied.join("\n").replace("# digest: in the last line\n", "")] {
        assert!(run(&(digest_first + "\n")).expect("256 lines").passes());
    }
    let mut swapped = lines.clone();
    swapped.swap(last - 1, last - 2);
    let report = run(&(swapped.join("\n") + "\n")).expect("256 lines");
    assert!(report.is_complete() && report.digest_matches() == Some(false) && !report.passes());
    // 1 + 1 = 2 is 0x40; 2.25 is 0x41.
    let report = run(&whole.replace("\n2 2 40 00\n", "\n2 2 41 00\n")).expect("256 lines");
    assert_eq!((report.mismatches, report.first[0].given.as_ref().map(|given| given[0])), (1, Some(0x41)));
    assert!(lines[usize::try_from(report.first[0].line).expect("a line") - 1].starts_with("2 2 "));
    // Broken lines have their numbers.
    for (broken, words) in [
        (whole.replace("\nf f ", "\nf g "), format!("line {last}: ")),
        (whole[..whole.len() - 2].to_owned(), format!("line {}: ", last + 1)),
        (
            lines[..last].join("\n")[..whole.len() - lines[last].len() - 4].to_owned(),
            format!("line {last}: "),
        ),
        (format!("{whole}1 2\n"), format!("line {}: ", last + 2)),
        ("# operation: Ad<e5m2>\n0 0 0\n".into(), "did you mean".into()),
        ("0 0 0\n".into(), "no header".into()),
        ("# lines: many\n".into(), "line 1: ".into()),
        (lines[..10].join("\n"), "no vector".into()),
        (String::new(), "no header".into()),
    ] {
        let error = run(&broken).expect_err(&words).to_string();
        assert!(error.contains(&words), "{words}: {error}");
    }
    assert!(run("# operation: Negate<e2m1fn, e2m1fn>\n\u{7}\n").is_err());
    assert!(
        check(
            &b"# operation: Negate<e2m1fn, e2m1fn>\n\xff 1 00\n"[..],
            &CheckOptions { flags: Some(FlagSet::None), show: 1, ..CheckOptions::default() }
        )
        .is_err()
    );
}

#[test]
fn another_nan_is_no_difference_where_that_is_asked_for() {
    // 0 × NaN in E5M2: the second NaN code, 0x7d, is as much a NaN as 0x7e; infinity is not.
    let header = "# operation: Multiply<e5m2, e5m2, e5m2>\n# flags: none\n";
    let given =
        |codes: [&str; 3]| format!("{header}00 7e {}\n00 7d {}\n3c 3c {}\n", codes[0], codes[1], codes[2]);
    let tried = |text: &str, any_nan: bool| {
        let unit = Some(unit("Multiply<e5m2, e5m2, e5m2>").into());
        let options = CheckOptions { unit, any_nan, flags: Some(FlagSet::None), ..CheckOptions::default() };
        let report = check(text.as_bytes(), &options).expect("vectors");
        (report.mismatches, report.other_nan)
    };
    let other = given(["7d", "ff", "3c"]);
    assert_eq!(tried(&other, false).1, 0);
    assert!(tried(&other, false).0 > 0);
    assert_eq!(tried(&other, true).0, 0);
    assert!(tried(&other, true).1 > 0);
    assert_eq!(tried(&given(["7c", "7e", "7e"]), true).0, 2);
}

/// Units of every policy agree with vectors of their own, in every order of flags; by other rules
/// they differ in flags or in the codes of NaNs.
#[test]
fn vectors_have_a_policy() {
    let operation = "Multiply<e5m2, semantics=ieee>";
    let plan =
        |unit: &UnitUnderTest| VectorPlan::new(unit, Some(CoverageLevel::One), 3, Some(500)).expect("a plan");
    let mut digests = Vec::new();
    for &(name, policy) in FlagPolicy::NAMED {
        let unit = unit(operation).with_flag_policy(policy, true);
        let set = VectorSet::new(unit.clone(), plan(&unit), None);
        let digest = set.digest().expect("a digest");
        for &order in FlagOrder::ALL {
            let text = text(&set.clone().with_order(order), LineLayout::TestFloat);
            assert!(text.contains(&format!("# flag policy: {name}\n# flags: ")), "{text}");
            let report = run(&text).expect(name);
            assert!(report.passes(), "{name} {order}");
            assert_eq!((report.unit.flag_policy(), &report.sha256), (Some(policy), &digest));
        }
        // Tesla's rules, where no header names others.
        let is_kept =
            |line: &&str| !["# flag policy", "# flags", "# sha256"].iter().any(|key| line.starts_with(key));
        let own = text(&set, LineLayout::TestFloat);
        let without = own.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
        let report = run(&without).expect(name);
        let agrees = name == "tesla";
        assert_eq!(report.unit.flag_policy(), Some(FlagPolicy::TESLA));
        assert!(report.mismatches > 0 || agrees, "{name}");
        let by_own = CheckOptions { policy: Some(policy), ..CheckOptions::default() };
        let report = check(without.as_bytes(), &by_own).expect(name);
        assert_eq!((report.mismatches, report.flags), (0, FlagSet::of(policy)), "{name}");
        digests.push(digest);
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), FlagPolicy::NAMED.len());
}

/// A processor's policy means ieee semantics, unless others are asked for.
#[test]
fn processors_divide_by_zero() {
    let quotient = |operation: &str, keeps: bool| {
        let unit = unit(operation).with_flag_policy(FlagPolicy::RISCV, keeps);
        let outcome = unit.evaluate(&[0x3f80_0000, 0]).expect("a quotient");
        (outcome[0], outcome.flags)
    };
    assert_eq!(quotient("Divide<binary32>", false), (0x7f80_0000, Flags::DIVISION_BY_ZERO));
    assert_eq!(quotient("Divide<binary32, semantics=p3109>", true), (0x7fc0_0000, Flags::INVALID));
}

/// A unit whose results are those of Rust's casts, which truncate, saturate, and give 0 for a NaN
/// as Arm's do.
#[test]
fn conversions_to_integers_are_judged_by_policy() {
    let unit = |policy: &str| {
        let operation = "ConvertToInt16<binary32, (TowardZero)>".parse().expect("an operation");
        let unit = UnitUnderTest::new(operation, None).expect("a unit");
        unit.with_flag_policy(policy.parse().expect(policy), false)
    };
    let plan = VectorPlan::new(unit("arm"), Some(CoverageLevel::One), 0, None).expect("a plan");
    let lines = text(&VectorSet::new(unit("arm"), plan, None), LineLayout::TestFloat);
    let mut given = String::new();
    let (mut inexact, mut invalid) = (0, 0);
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let code = line.split(' ').next().expect("an operand");
        let x = f32::from_bits(u32::from_str_radix(code, 16).expect("hexadecimal"));
        #[expect(clippy::cast_possible_truncation, reason = "the cast under test saturates")]
        let result = x as i16;
        let is_in_range = x > -32769.0 && x < 32768.0;
        let flags = match (is_in_range, x.fract() == 0.0) {
            (false, _) => 0x10,
            (true, true) => 0,
            (true, false) => 1,
        };
        inexact += u32::from(flags == 1);
        invalid += u32::from(flags == 0x10);
        given += &[code, &format!("{:04x}", result.cast_unsigned()), &format!("{flags:02x}\n")].join(" ");
    }
    assert!(inexact > 1000 && invalid > 1000, "{inexact} inexact, {invalid} invalid");
    let check_as = |policy: &str| {
        let options = CheckOptions { unit: Some(unit(policy).into()), ..CheckOptions::default() };
        check(given.as_bytes(), &options).expect("vectors")
    };
    assert_eq!(check_as("arm").mismatches, 0);
    // RISC-V gives the largest integer for a NaN.
    let report = check_as("riscv");
    assert!(report.mismatches > 0);
    let diagnosis = diagnose(&report);
    let rules: Vec<_> = diagnosis.rules.iter().map(|rule| rule.mistake.to_string()).collect();
    assert!(rules.iter().any(|rule| rule.contains("arm")), "{rules:?}");
}
