//! Vectors with ports: what is written is read back, mistakes are named with the port that they are
//! of, and coverage is counted at every setting.

use std::fmt::Write as _;

use smallfloat::{Flags, Rounding, Saturation};
use smallfloat_conformance::Error;
use smallfloat_conformance::coverage::{Coverage, UnitCoverage};
use smallfloat_conformance::diagnosis::{Diagnosis, diagnose};
use smallfloat_conformance::vectors::{
    CallOutcome, CheckOptions, CheckReport, CoverageLevel, FlagSet, LineLayout, Ports, Selection,
    UnitUnderTest, VectorPlan, VectorSet, check,
};

/// A conversion whose bias and modes are ports.
fn converter(ports: &str) -> UnitUnderTest {
    let to = "cfloat8_1_4_3:bias=0".parse().expect("a format");
    let unit = UnitUnderTest::convert(&"binary16".parse().expect("a format"), &to, None, None, None);
    unit.expect("a conversion").with_ports(&ports.parse().expect(ports)).expect(ports)
}

fn text(set: &VectorSet, layout: LineLayout) -> String {
    let mut text = Vec::new();
    set.write(layout, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("text")
}

fn set(unit: UnitUnderTest, count: u64) -> VectorSet {
    let selection = Selection { count: Some(count), ..Selection::default() };
    let plan = VectorPlan::with_selection(&unit, Some(CoverageLevel::One), 1, selection).expect("a plan");
    VectorSet::new(unit, plan, None)
}

fn run(text: &str) -> Result<CheckReport, Error> {
    check(text.as_bytes(), &CheckOptions { show: 3, ..CheckOptions::default() })
}

/// What a unit gives that computes each line as `wrong` says.
fn given_by(right: &VectorSet, wrong: impl Fn(&[u64]) -> CallOutcome) -> String {
    let lines = text(right, LineLayout::TestFloat);
    let width = right.unit().operands().len();
    let mut given = String::new();
    for line in lines.lines() {
        if line.starts_with('#') {
            writeln!(given, "{line}").expect("a string takes all");
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let numbers = words.iter().map(|word| u64::from_str_radix(word, 16).expect("a number"));
        let outcome = wrong(&numbers.take(width).collect::<Vec<_>>());
        let flags = (outcome.flags & right.flags().mask()).bits_in(smallfloat::FlagOrder::Fflags);
        let operands = words[..width].join(" ");
        writeln!(given, "{operands} {:02x} {flags:02x}", outcome.results()[0]).expect("a string takes all");
    }
    given
}

fn diagnosed(right: &VectorSet, wrong: impl Fn(&[u64]) -> CallOutcome) -> Diagnosis {
    let report = run(&given_by(right, wrong)).expect("lines of the set");
    assert!(report.mismatches > 0 && report.digest_matches() == Some(true));
    diagnose(&report)
}

#[test]
fn every_layout_passes_and_has_one_digest() {
    let set = set(converter("saturation,bias=63/0-2,rounding"), 20_000);
    let digest = set.digest().expect("a digest");
    for &(_, layout) in LineLayout::NAMED {
        let text = text(&set, layout);
        let report = run(&text).unwrap_or_else(|error| panic!("{layout}: {error}"));
        assert!(report.passes() && report.vectors == set.plan().lines(), "{layout}: {report:?}");
        assert_eq!(report.sha256, digest, "{layout}");
        assert!(text.contains(&digest), "{layout}");
    }
    let text = text(&set, LineLayout::ReadMemH);
    let all = "saturation=satfinite/satpropagate/satnone, bias=63/0-2, rounding=nearest-even/toward-zero/\
               toward-negative/toward-positive/nearest-away/to-odd";
    assert!(text.contains(&format!("// ports: {all}\n")), "{}", &text[..600]);
    let fields = "saturation[47:44] bias[43:36] rounding[35:32] x[31:16] result[15:8] flags[7:0]";
    assert!(text.contains(&format!("// fields: {fields}\n")));
}

/// All numbers of a port stand in their columns, the last port's fastest.
#[test]
fn settings_follow_each_other() {
    let unit = converter("bias=9/3,rounding=to-odd/toward-zero");
    let plan = VectorPlan::new(&unit, Some(CoverageLevel::Exhaustive), 0, None).expect("a plan");
    assert_eq!((plan.lines(), plan.to_string()), (4 << 16, "all operands 262144".into()));
    let mut line = [0; 3];
    for (at, expected) in [
        (0, [9, 5, 0]),
        (0xffff, [9, 5, 0xffff]),
        (0x1_0007, [9, 1, 7]),
        (0x2_0000, [3, 5, 0]),
        (0x3_1234, [3, 1, 0x1234]),
    ] {
        plan.fill(at..at + 1, &mut line);
        assert_eq!(line, expected);
    }
    for of in [3, 1000] {
        let shard = |i: u64| plan.clone().with_shard(format!("{i}/{of}").parse().expect("a shard"));
        let lines: u64 = (1..=of).map(|i| shard(i).lines()).sum();
        assert_eq!(lines, plan.lines());
    }
}

/// Files of one setting each, one after the other, are read as one.
#[test]
fn files_follow_each_other() {
    let [one, other] = ["bias=7", "bias=60"].map(|ports| text(&set(converter(ports), 1000), LineLayout::Csv));
    let report = run(&format!("{one}{other}")).expect("two files");
    assert_eq!(report.mismatches, 0);
    assert!(!report.passes() && report.vectors == 2 * run(&one).expect("a file").vectors);
    // 1.0 is 0x38 at bias 7, and too large at bias 60.
    let head = "# operation: Convert<binary16, cfloat8_1_4_3:bias=0, semantics=ieee>\n# ports: bias=7\n";
    let report = run(&format!("{head}07 3c00 38 00\n3c 3c00 7f 04\n")).expect("two lines");
    assert_eq!((report.vectors, report.mismatches), (2, 0));
    let error = run(&format!("{head}40 3c00 38 00\n")).expect_err("7 bits").to_string();
    assert!(error.contains("bias: `40` is too large, 0..=3f"), "{error}");
    let head = head.replace("bias=7", "rounding");
    let error = run(&format!("{head}6 3c00 38 00\n")).expect_err("no mode").to_string();
    assert!(error.contains("line 3: `6 3c00 38 00`: rounding: 6 is none of 0, 1, 2, 3, 4, 5"), "{error}");
}

/// What a wrong unit gives for a line.
type Wrong<'a> = &'a dyn Fn(&[u64]) -> CallOutcome;

#[test]
fn ports_are_named_where_they_fail() {
    let right = set(converter("bias,rounding=nearest-even/toward-zero/toward-positive"), 19_200);
    let unit = right.unit();
    let at = |bias, rounding, line: &[u64]| unit.evaluate(&[bias, rounding, line[2]]).expect("a setting");
    let causes: [(Wrong<'_>, &str); 7] = [
        (&|line| at(line[0], 0, line), "ignores the port rounding: nearest-even always"),
        (&|line| at(15, line[1], line), "ignores the port bias: 15 always"),
        (&|line| at(line[0] & 31, line[1], line), "ignores bit 5 of the port bias"),
        (
            &|line| at(line[0], if line[1] == 1 { 3 } else { line[1] }, line),
            "takes rounding toward-zero for toward-positive",
        ),
        (
            &|line| {
                let wrong = format!("cfloat8_1_4_3:bias={},subnormals=gradual", line[0]);
                let rounding = match line[1] {
                    0 => Rounding::NearestEven,
                    1 => Rounding::TowardZero,
                    _ => Rounding::TowardPositive,
                };
                let [from, to] = ["binary16", &wrong].map(|name| name.parse().expect(name));
                let wrong = UnitUnderTest::convert(&from, &to, None, Some(rounding), None);
                wrong.expect("a conversion").evaluate(&line[2..]).expect("operands")
            },
            "the result's format has gradual subnormals (2^(1−bias) × 0.m)",
        ),
        (
            &|line| {
                let zero = at(line[0], line[1], line);
                let is_small = zero.results()[0] & 0x78 == 0;
                if is_small { CallOutcome::one(zero.results()[0] & 0x80, zero.flags) } else { zero }
            },
            "flushes subnormal results to zero",
        ),
        (&|line| at(line[0], line[1], line).with_flags(Flags::NONE), "no flag is ever raised"),
    ];
    for (wrong, name) in causes {
        let found = diagnosed(&right, wrong);
        let cause = found.cause().unwrap_or_else(|| panic!("{name}: {found:#?}"));
        assert_eq!((cause.mistake.to_string().as_str(), cause.contradicted), (name, 0));
    }
    // Two mistakes at once.
    let two = diagnosed(&right, |line| {
        let outcome = at(line[0], if line[1] == 3 { 1 } else { line[1] }, line);
        outcome.with_flags(Flags::NONE)
    });
    let values = two.values.expect("results differ").causes[0].mistake.to_string();
    assert_eq!(values, "takes rounding toward-positive for toward-zero");
}

/// Where there is no known mistake, the port is the place.
#[test]
fn the_place_of_an_unknown_mistake_is_a_port() {
    let right = set(converter("bias=3/7,rounding=nearest-even/toward-zero"), 8000);
    let unit = right.unit();
    let conditions = [(1, 1, "rounding = toward-zero"), (1, 0, "rounding = nearest-even"), (0, 7, "bias 7")];
    for (port, code, expected) in conditions {
        let found = diagnosed(&right, |line| {
            let outcome = unit.evaluate(line).expect("a setting");
            // A code that no mistake gives.
            let result = if line[port] == code { outcome.results()[0] ^ 0x2a } else { outcome.results()[0] };
            CallOutcome::one(result, outcome.flags)
        });
        assert!(found.cause().is_none(), "{found:#?}");
        let condition = found.values.expect("results differ").condition.expect("a place");
        assert_eq!((condition.to_string().as_str(), condition.agreeing), (expected, 0));
    }
}

#[test]
fn coverage_is_of_every_setting() {
    let ports = "bias=0/40,saturation=satfinite/satnone";
    let unit = converter(ports);
    let mut coverage = UnitCoverage::new(unit.clone()).expect("a unit");
    let options = CheckOptions { flags: Some(FlagSet::None), ..CheckOptions::default() };
    coverage.read("28 2 3c00 00\n".as_bytes(), &options).expect("a line");
    let (hit, all) = coverage.total();
    // The bins of each setting are those of its own unit.
    let alone = |bias: u32, saturation: Saturation| {
        let to = format!("cfloat8_1_4_3:bias={bias}").parse().expect("a format");
        let from = "binary16".parse().expect("a format");
        let unit = UnitUnderTest::convert(&from, &to, None, None, Some(saturation)).expect("a conversion");
        Coverage::new(unit).expect("a unit").total().1
    };
    let (finite, none) = (Saturation::SatFinite, Saturation::SatNone);
    let each = [alone(0, finite), alone(0, none), alone(40, finite), alone(40, none)];
    assert_eq!(all, each.iter().sum::<usize>());
    assert!(hit > 0 && hit < all);
    let hits: Vec<(Vec<u64>, u64)> = coverage.settings().map(|(codes, of)| (codes, of.vectors())).collect();
    assert_eq!(hits, [(vec![0, 0], 0), (vec![0, 2], 0), (vec![40, 0], 0), (vec![40, 2], 1)]);
    // What is missing is solved for, and the JSON of both runs together is everything.
    let plan = coverage.closing_plan().expect("most is missing");
    let missing = text(&VectorSet::new(unit.clone(), plan, None), LineLayout::JsonLines);
    let mut rest = UnitCoverage::of_vectors(missing.as_bytes(), &CheckOptions::default()).expect("vectors");
    assert!(rest.percent() < 100.0);
    let json = serde_json::from_str(&coverage.to_json().to_string()).expect("JSON");
    rest.merge_json(&json).expect("of the same unit");
    assert_eq!((rest.percent(), rest.total().1), (100.0, all));
    assert!(rest.closing_plan().is_none());
    let again = UnitCoverage::of_json(&rest.to_json()).expect("its own JSON");
    assert_eq!(again.to_json(), rest.to_json());
    // Others are refused.
    let other = UnitCoverage::new(converter("bias=0/40")).expect("a unit").to_json();
    assert!(rest.merge_json(&other).expect_err("other ports").to_string().contains("ports"));
    assert!(rest.single().is_err() && Coverage::new(unit).is_err());
    let wrong = coverage.read("29 2 3c00 00\n".as_bytes(), &options).expect_err("bias 41").to_string();
    assert!(wrong.contains("bias: 29 is none of 0, 28"), "{wrong}");
}

#[test]
fn ports_that_make_no_sense_are_refused() {
    for (text, words) in [
        ("", "`` is none of bias, x_bias"),
        ("clock", "`clock` is none of"),
        ("bias=64", "`64` is no bias or range of biases from 0 to 63"),
        ("bias=9-3", "no bias or range"),
        ("bias=-1", "no bias or range"),
        ("bias=1/1", "1 is named twice"),
        ("bias,x_bias", "x_bias and bias choose the same"),
        ("rounding,rounding", "choose the same"),
        ("rounding=stochastic-a", "none of nearest-even, toward-zero"),
        ("saturation=", "`` is none of satfinite"),
    ] {
        let error = text.parse::<Ports>().expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    let all = "rounding = TOWARD-ZERO / to-odd , bias = all";
    assert_eq!(all.parse::<Ports>().expect(all).to_string(), "rounding=toward-zero/to-odd, bias=0-63");
    let with = |operation: &str, ports: &str| {
        let unit = UnitUnderTest::new(operation.parse().expect(operation), None).expect(operation);
        unit.with_ports(&ports.parse().expect(ports)).map(|_| ()).expect_err(ports).to_string()
    };
    assert!(with("Add<e4m3fn>", "bias").contains("no format here has a bias that a port can choose"));
    let shp = "Add<shp:bias=1>";
    assert!(with(shp, "z_bias").contains("no format of z"));
    assert!(with(shp, "x_bias,y_bias,rounding").contains("24576 settings, at most 4096"));
    assert!(with("CompareLess<e4m3fn>", "rounding").contains("rounds nothing"));
}
