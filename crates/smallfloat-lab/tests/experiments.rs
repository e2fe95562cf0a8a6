//! The experiments against the talk's numbers and arithmetic of the tests' own: integers in fixed
//! point, and `f64` where it is exact or good enough.
#![expect(clippy::float_cmp, reason = "values that formats hold are exact")]

use smallfloat::formats::BINARY16;
use smallfloat::{Datum, Format, FormatSpec};
use smallfloat_lab::Error;
use smallfloat_lab::experiments::{
    ArithmeticUnit, Cell, EXPERIMENTS, Experiment, ExperimentOptions, Findings, FindingsTable, Order,
    Overflow, Random, Tree, datum, float,
};

fn run(name: &str, options: &ExperimentOptions) -> Findings {
    let found = name.parse::<&Experiment>().and_then(|experiment| experiment.run(options));
    found.unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn formats(names: &[&str]) -> Vec<FormatSpec> {
    names.iter().map(|name| name.parse().expect("a format")).collect()
}

fn number(table: &FindingsTable, beginning: &[&str], column: &str) -> f64 {
    let cell = table.cell(beginning, column).unwrap_or_else(|| panic!("{beginning:?}, {column}"));
    cell.number().unwrap_or_else(|| panic!("{cell:?}"))
}

/// Rounds |x|, an integer of units, to `bits` significant bits, at least a multiple of `lowest`
/// bits; ties to even.
fn round(x: i128, bits: u32, lowest: u32) -> i128 {
    let magnitude = x.unsigned_abs();
    let length = 128 - magnitude.leading_zeros();
    let cut = length.saturating_sub(bits).max(lowest);
    if cut == 0 {
        return x;
    }
    let (whole, rest, half) = (magnitude >> cut, magnitude & ((1 << cut) - 1), 1_u128 << (cut - 1));
    let up = rest > half || (rest == half && whole % 2 == 1);
    let rounded = i128::try_from((whole + u128::from(up)) << cut).expect("far from the end");
    if x < 0 { -rounded } else { rounded }
}

/// The talk's table for f = 224 in binary16. 224² = 50176 is a value of binary16; 100352 is beyond
/// 65504.
#[test]
fn dot_products_of_the_talk() {
    let options = ExperimentOptions { trials: Some(1), length: Some(4), ..ExperimentOptions::default() };
    let table = &run("dot-saturation", &options).tables[0];
    let inf = f64::INFINITY;
    let expected = [
        ([0.0, 0.0, 0.0], "0 / 0 / 0"),
        // −50176 − 50176 → −65504; + 50176 → −15328; + 50176 = 34848.
        ([34848.0, -inf, f64::NAN], "34848.0 / Inf / NaN"),
        ([-34848.0, inf, f64::NAN], "-34848.0 / -Inf / NaN"),
        ([0.0, f64::NAN, f64::NAN], "0 / NaN / NaN"),
    ];
    assert_eq!(table.rows.len(), expected.len());
    for (row, (values, printed)) in table.rows.iter().zip(expected) {
        for (cell, value) in row[1..4].iter().zip(values) {
            let found = cell.number().expect("a number");
            assert!(found == value || (found.is_nan() && value.is_nan()), "{row:?}");
        }
        assert_eq!(row[4].text(), Some(printed));
    }
    // An accumulator of the same 8 bits: 0 + 50176 → 224, 224 − 50176 → −224, and so on; the last
    // two terms' sign wins.
    let narrow = ExperimentOptions { accumulator: Some("binary8p4se".parse().expect("a format")), ..options };
    let table = &run("dot-saturation", &narrow).tables[0];
    let saturated: Vec<_> = table.rows.iter().filter_map(|row| row[1].number()).collect();
    assert_eq!(saturated, [-224.0, 224.0, -224.0, 0.0]);
}

/// Sums in binary16 in units of 2^−24, its smallest value: 11 bits, 65504 the largest value, 65520
/// the first that overflows.
#[test]
fn sums_are_those_of_fixed_point() {
    const MAX: i128 = 65504 << 24;
    const OVERFLOW: i128 = 65520 << 24;
    let random = Random::new(7, 7);
    let mut seen = [0; 2];
    for trial in 0..400_u64 {
        // Multiples of 2^−8 up to 256 in magnitude: products are multiples of 2^−16.
        let integer = |i: u64| i128::from(random.word(1000 * trial + i) % 131_072) - 65_536;
        let terms: Vec<(i128, i128)> = (0..48).map(|i| (integer(2 * i), integer(2 * i + 1))).collect();
        let factor = |x: i128| datum(i32::try_from(x).map(f64::from).expect("17 bits") / 256.0);
        let pairs: Vec<(Datum, Datum)> = terms.iter().map(|&(x, y)| (factor(x), factor(y))).collect();
        let step = |sum: i128, term: i128, seen: &mut i32| {
            let exact = round(sum + term, 11, 0);
            *seen += i32::from(exact.abs() >= OVERFLOW);
            exact.clamp(-MAX, MAX)
        };
        let product = |&(x, y): &(i128, i128)| x * y * 256;
        let chunk = |terms: &[(i128, i128)], seen: &mut i32| {
            terms.iter().fold(0, |sum, pair| step(sum, product(pair), seen))
        };
        let sequential = chunk(&terms, &mut seen[0]);
        let sums: Vec<i128> = terms.chunks(16).map(|terms| chunk(terms, &mut seen[1])).collect();
        let chunks = sums[1..].iter().fold(sums[0], |sum, &term| step(sum, term, &mut seen[1]));
        let saturating = ArithmeticUnit::new(&BINARY16, Overflow::Saturate);
        for (tree, expected) in [(Tree::Sequential, sequential), (Tree::Chunks(16), chunks)] {
            #[expect(clippy::cast_precision_loss, reason = "11 bits")]
            let expected = expected as f64 / 2.0_f64.powi(24);
            assert_eq!(float(tree.dot(&saturating, &pairs)), expected, "trial {trial}, {tree}");
        }
    }
    assert!(seen.iter().all(|overflows| (100..15_000).contains(overflows)), "{seen:?}");
}

#[test]
fn orders_and_trees() {
    let unit = ArithmeticUnit::new(&BINARY16, Overflow::Infinity);
    let mut pairs: Vec<_> = [3.0, -1.0, 2.0, 5.0].map(|x| (datum(x), datum(1.0))).to_vec();
    let values = |pairs: &[(Datum, Datum)]| pairs.iter().map(|(x, _)| float(*x)).collect::<Vec<_>>();
    Order::Increasing.arrange(&mut pairs);
    assert_eq!(values(&pairs), [-1.0, 2.0, 3.0, 5.0]);
    Order::Decreasing.arrange(&mut pairs);
    assert_eq!(values(&pairs), [5.0, 3.0, 2.0, -1.0]);
    for text in ["sequential", "pairwise", "chunks:3"] {
        let tree: Tree = text.parse().expect("a tree");
        assert_eq!(tree.to_string(), text);
        assert_eq!(float(tree.dot(&unit, &pairs)), 9.0);
    }
    assert!("chunks:0".parse::<Tree>().is_err() && "sorted".parse::<Order>().is_err());
    // (65504 + 65504) + (−65504 − 65504): pairs of neighbours overflow, in order the sum is Inf.
    let f = BINARY16.max_finite();
    let terms = [f, f, f.negated(), f.negated()].map(|x| (x, datum(1.0)));
    assert!(Tree::Pairwise.dot(&unit, &terms).is_nan());
    assert_eq!(float(Tree::Sequential.dot(&unit, &terms)), f64::INFINITY);
}

/// lse([0, −1.6]) = ln(1 + e^−1.6) and e^−1.6 / (1 + e^−1.6).
#[test]
fn masks_of_the_talk() {
    let options = ExperimentOptions {
        formats: formats(&["binary8p4sf", "e4m3fnuz"]),
        temperatures: vec![0.1],
        ..ExperimentOptions::default()
    };
    let low = &run("attention-mask", &options).tables[0];
    let e = (-1.6_f64).exp();
    for row in &low.rows {
        let values: Vec<f64> = row[1..].iter().filter_map(Cell::number).collect();
        assert_eq!(values[..4], [-224.0, -240.0, 0.1, 0.0]);
        assert!((values[4] - e.ln_1p()).abs() < 1e-15 && (values[4] - 0.18390).abs() < 5e-6, "{row:?}");
        assert!((values[5] - e / (1.0 + e)).abs() < 1e-15 && (values[5] - 0.16798).abs() < 5e-6, "{row:?}");
    }
}

/// √240 whatever N is, where the sum is held in 8 bits; about 128·√(N/3) in truth.
#[test]
fn norms_of_the_talk() {
    let table = &run("layer-norm", &ExperimentOptions::default()).tables[0];
    let rows =
        |accumulator: &'static str| table.rows.iter().filter(move |row| row[2].text() == Some(accumulator));
    for row in rows("binary8p4sf") {
        let values: Vec<f64> = row.iter().filter_map(Cell::number).collect();
        let [n, exact, saturated] = values[..3] else { panic!("{row:?}") };
        assert!((saturated - 240_f64.sqrt()).abs() < 1e-12, "{row:?}");
        assert!((saturated - 15.49).abs() < 0.005, "{row:?}");
        // The mean of N squares has a standard deviation of 0.89/√N of itself, the root half of
        // that.
        assert!((exact / (128.0 * (n / 3.0).sqrt()) - 1.0).abs() < 2.0 / n.sqrt(), "{row:?}");
        // Binary8p4sf has no infinity, so both other rules give NaN.
        assert!(values[3].is_nan() && values[4].is_nan(), "{row:?}");
    }
    for row in rows("binary32") {
        let values: Vec<f64> = row.iter().filter_map(Cell::number).collect();
        assert!((values[2] / values[1] - 1.0).abs() < 1e-5, "{row:?}");
    }
}

/// Every triple of Binary8p3se in units of 2^−34: products are below 2^66, so `i128` holds all
/// sums.
#[test]
fn double_rounding_of_all_triples() {
    let findings = run(
        "fma-double-rounding",
        &ExperimentOptions { formats: formats(&["binary8p3se"]), ..ExperimentOptions::default() },
    );
    let talk: Vec<f64> = findings.tables[0].rows.iter().filter_map(|row| row[1].number()).collect();
    let z = 1.0 / 131_072.0;
    assert_eq!(talk, [3.0 / 1024.0, 49152.0, z, 144.000_007_629_394_53, 144.0, 128.0, 160.0]);

    // Significand and exponent field by hand: code 4·e + m; the smallest value is 2^−17.
    let values: Vec<i128> =
        (0..127).map(|code: i128| if code < 4 { code } else { (4 + code % 4) << (code / 4 - 1) }).collect();
    let max = values[126] << 17;
    assert_eq!(max, 49152_i128 << 34);
    let to_result = |x: i128| round(x, 3, 17).clamp(-max, max);
    let mut different = 0_u64;
    for &x in &values[1..] {
        for &y in &values[1..] {
            for z in values.iter().map(|z| z << 17).chain(values[1..].iter().map(|z| -(z << 17))) {
                let exact = x * y + z;
                let between = round(exact, 24, 0);
                different += u64::from(between != exact && to_result(between) != to_result(exact));
            }
        }
    }
    let table = &findings.tables[1];
    let beginning = ["binary8p3se", "binary8p3se"];
    assert_eq!(number(table, &beginning, "triples"), 253_f64.powi(3));
    // Signs of x and y: four ways to the same, by symmetry.
    #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
    let expected = (4 * different) as f64;
    assert!(different > 0);
    assert_eq!(number(table, &beginning, "results that differ"), expected);
}

/// What the slide prints, but for Tesla's −0; and 63 codes on either side of 1.
#[test]
fn decisions_of_the_talk() {
    let findings = run("decisions", &ExperimentOptions::default());
    let slide = [
        ["yes", "yes", "no", "no", "yes", "yes", "yes", "yes"],
        ["yes", "yes", "no", "no", "yes", "yes", "no", "no"],
        ["yes"; 8],
        ["yes", "yes", "no", "yes", "no", "no", "no", "no"],
        ["yes", "yes", "no", "no", "yes", "yes", "no (yes)", "no (yes)"],
        ["yes", "yes", "no", "no", "yes", "yes", "n/a", "n/a"],
    ];
    for (row, expected) in findings.tables[0].rows.iter().zip(slide) {
        let found: Vec<_> = row[1..].iter().filter_map(Cell::text).collect();
        assert_eq!(found, expected, "{row:?}");
    }
    for name in ["binary8p4se", "binary8p3se"] {
        let behind = &findings.tables[1];
        assert_eq!([number(behind, &[name], "below 1"), number(behind, &[name], "from 1 on")], [63.0, 63.0]);
    }
    let all: Vec<String> = (1..=7).map(|p| format!("binary8p{p}se")).collect();
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    let behind =
        run("decisions", &ExperimentOptions { formats: formats(&names), ..ExperimentOptions::default() });
    for name in names {
        let found = ["below 1", "from 1 on"].map(|column| number(&behind.tables[0], &[name], column));
        assert_eq!(found, [63.0, 63.0], "{name}");
    }
}

/// The two columns: c·2^−10, and 2^−8·(1 + c/8) for exponent field 0.
#[test]
fn subnormals_of_the_talk() {
    let findings = run("subnormals", &ExperimentOptions::default());
    for (code, row) in (0..16_u32).zip(&findings.tables[0].rows) {
        let c = f64::from(code);
        let normal = (8.0 + c - 8.0) / 8.0 * 2.0_f64.powi(-7);
        let without = match code {
            0 => 0.0,
            1..8 => (1.0 + c / 8.0) * 2.0_f64.powi(-8),
            _ => normal,
        };
        assert_eq!(row[2..], [Cell::Value(c * 2.0_f64.powi(-10)), Cell::Value(without)], "{code}");
    }
    // (1 + 2^(1−P)) · 2^(P−2)
    for (name, p) in [("binary8p4se", 4), ("binary8p2se", 2), ("binary8p7se", 7)] {
        let gain = (1.0 + 2.0_f64.powi(1 - p)) * 2.0_f64.powi(p - 2);
        assert_eq!(number(&findings.tables[1], &[name], "gain"), gain, "{name}");
    }
}

/// Updates far below half the spacing: lost to nearest even, on average kept by stochastic rounding
/// with enough bits.
#[test]
fn updates_are_lost_and_kept() {
    let options = ExperimentOptions {
        update: Some(1.0 / 256.0),
        length: Some(512),
        trials: Some(2),
        ..ExperimentOptions::default()
    };
    let table = &run("accumulate", &options).tables[0];
    assert_eq!(number(table, &["nearest-even"], "expected"), 1.0);
    let row = |mode: &str, bits: u64| {
        let found = table.rows.iter().find(|row| row[0].text() == Some(mode) && row[1] == Cell::Count(bits));
        found.expect("a row").iter().filter_map(Cell::number).collect::<Vec<_>>()
    };
    for mode in ["stochastic A", "stochastic B", "stochastic C"] {
        // 1 + 512 / 256.
        let exact = row(mode, 16);
        assert!((exact[1] - 3.0).abs() < 1e-9 && exact[2].abs() < 1e-9, "{exact:?}");
        assert!(exact[3] > 0.1, "one run scatters: {exact:?}");
    }
    // ν = 1/32 is below 2^−4: A and C lose all of it.
    assert_eq!((row("stochastic A", 4)[1], row("stochastic C", 4)[1]), (1.0, 1.0));
    assert!(row("stochastic B", 4)[1] > 1.9);

    let update = ExperimentOptions {
        formats: formats(&["bfloat16"]),
        update: Some(0.001),
        length: Some(1000),
        trials: Some(50),
        ..ExperimentOptions::default()
    };
    let table = &run("accumulate", &update).tables[0];
    assert_eq!(number(table, &["nearest-even"], "expected"), 1.0);
    let last = table.rows.last().expect("stochastic C, 16 bits");
    let values: Vec<f64> = last.iter().filter_map(Cell::number).collect();
    let [_, expected, bias, _, mean, error] = values[..] else { panic!("{last:?}") };
    assert!((expected - 2.0).abs() < 1e-3 && bias.abs() < 1e-3, "{last:?}");
    assert!((mean - expected).abs() < 5.0 * error, "{last:?}");
}

/// With 13 fraction bits ones beside 2^14 are cut to nothing; 25 bits, and a sum in binary32 to
/// which 128 products go at a time, keep them. Errors of sums of one sign grow with their length.
#[test]
fn accumulators_of_hardware_stand_still() {
    let options = ExperimentOptions {
        formats: formats(&["e4m3fn"]),
        length: Some(1 << 15),
        trials: Some(4),
        ..ExperimentOptions::default()
    };
    let findings = run("accumulate-hardware", &options);
    let [ones, both, positive] = &findings.tables[..] else { panic!("three tables") };
    for (unit, sum) in [
        ("f32", 32768.0),
        ("hopper", 16384.0),
        ("hopper:promote=128", 32768.0),
        ("ada", 16384.0),
        ("blackwell", 32768.0),
        ("cdna3", 32768.0),
    ] {
        assert_eq!(number(ones, &[unit], "sum"), sum, "{unit}");
    }
    assert_eq!(
        ones.cell(&["hopper"], "parameters").and_then(Cell::text),
        Some("fused:k=32,fraction=13,output=e8m13")
    );
    for table in [both, positive] {
        let rms = |terms: &str, unit: &str| number(table, &[terms, unit], "rms error / rms sum");
        assert!(rms("32768", "hopper") > 1000.0 * rms("32768", "f32"), "{table:?}");
        assert!(rms("32768", "hopper") > 3.0 * rms("32768", "hopper:promote=128"), "{table:?}");
    }
    let rms = |terms: &str| number(positive, &[terms, "hopper"], "rms error / rms sum");
    assert!(rms("32768") > 3.0 * rms("2048") && rms("2048") > 3.0 * rms("32"), "{positive:?}");
    // A format of 16 bits has other instructions, and no sums in binary32 here.
    let half = ExperimentOptions { formats: formats(&["bfloat16"]), trials: Some(2), ..options };
    let ones = &run("accumulate-hardware", &half).tables[0];
    assert_eq!(number(ones, &["hopper"], "sum"), 32768.0);
    assert!(ones.cell(&["f32"], "sum").is_none());
}

/// By default a step is 5/32 of the spacing at 1: of sixteen words A and C keep two, B three. From
/// 4 on it is 5/128, of sixteen words 0.625: A keeps none, B and C one.
#[test]
fn modes_of_stochastic_rounding_differ_by_default() {
    let options = ExperimentOptions { trials: Some(2), ..ExperimentOptions::default() };
    let findings = run("accumulate", &options);
    let course = |name: &str| -> Vec<f64> {
        let series = findings.plots[0].series.iter().find(|series| series.name == name);
        series.expect("a curve").points.iter().map(|point| point[1]).collect()
    };
    let [a, b, c] = ["A", "B", "C"].map(|mode| course(&format!("stochastic {mode}, 4 bits")));
    let firsts = [a[1], b[1], c[1]];
    assert_eq!(firsts, [1.0 + 2.0 / 128.0, 1.0 + 3.0 / 128.0, 1.0 + 2.0 / 128.0]);
    let [a, b, c] = [a, b, c].map(|course| *course.last().expect("the start at least"));
    assert!(a <= 4.0 && c > a + 0.25 && b > c + 0.25, "{a} {b} {c}");
}

/// Within the normal range the ratio is 6.02·(P − 1) + 13.5 dB for normal data, measured by others
/// for E4M3 and E5M2.
#[test]
fn ratios_follow_the_rule_of_thumb() {
    let findings = run("precision-range", &ExperimentOptions::default());
    for (name, expected) in [("binary8p3se", 25.6), ("binary8p4se", 31.6)] {
        let found = number(&findings.tables[0], &[name], "own scale");
        assert!((found - expected).abs() < 0.7, "{name}: {found}");
    }
    let biases = run(
        "bias-sweep",
        &ExperimentOptions { formats: formats(&["cfloat8_1_4_3"]), ..ExperimentOptions::default() },
    );
    let found = number(&biases.tables[0], &["cfloat8_1_4_3"], "own bias");
    assert!((found - 31.6).abs() < 0.7, "{found}");
}

/// An untrained network in binary32: log-softmax is always finite, the talk's form hardly ever,
/// scaled weights always.
#[test]
fn losses_of_untrained_networks() {
    let options = ExperimentOptions {
        trials: Some(2),
        formats: formats(&["binary16"]),
        ..ExperimentOptions::default()
    };
    let findings = run("softmax-loss", &options);
    let share = |weights: &str, column: &str| number(&findings.tables[1], &["binary32", weights], column);
    assert!(share("σ = 1", "max subtracted first") > 0.5);
    assert_eq!(share("σ = 1", "log-softmax"), 0.0);
    for column in ["exp / Σ exp, then log", "max subtracted first", "log-softmax"] {
        assert_eq!(share("σ = 1/√n", column), 0.0, "{column}");
    }
    assert_eq!(number(&findings.tables[0], &["binary32", "σ = 1"], "max subtracted first"), f64::INFINITY);
}

/// 1/(1/−∞): −∞ where −0 is kept, +∞ or NaN where it is 0, NaN at once where it is NaN.
#[test]
fn reciprocals_of_reciprocals() {
    let table = &run("negative-zero", &ExperimentOptions::default()).tables[0];
    let rows: Vec<Vec<&str>> =
        table.rows.iter().map(|row| row.iter().filter_map(Cell::text).collect()).collect();
    let expected = [
        ["keep", "∞ (IEEE 754)", "-0", "-Inf"],
        ["zero", "∞ (IEEE 754)", "0", "Inf"],
        ["NaN", "∞ (IEEE 754)", "NaN", "NaN"],
        ["zero", "NaN (P3109)", "0", "NaN"],
        ["NaN", "NaN (P3109)", "NaN", "NaN"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn findings_do_not_depend_on_threads() {
    let options = ExperimentOptions {
        trials: Some(40),
        length: Some(32),
        seed: Some(5),
        ..ExperimentOptions::default()
    };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| run("dot-saturation", &options))
    };
    assert_eq!(format!("{:?}", with(1)), format!("{:?}", with(3)));
}

#[test]
fn what_means_nothing_is_refused() {
    let refused = |name: &str, options: ExperimentOptions| {
        let error = name.parse::<&Experiment>().and_then(|experiment| experiment.run(&options));
        error.expect_err("it is refused").to_string()
    };
    let text = refused("subnormals", ExperimentOptions { seed: Some(1), ..ExperimentOptions::default() });
    assert_eq!(text, "--seed: subnormals does not take it; it takes --format");
    let text =
        refused("dot-saturation", ExperimentOptions { length: Some(0), ..ExperimentOptions::default() });
    assert!(text.contains("--length 0") && text.contains("2^20"), "{text}");
    let text =
        refused("accumulate", ExperimentOptions { update: Some(f64::NAN), ..ExperimentOptions::default() });
    assert!(text.contains("a positive number"), "{text}");
    let text = refused(
        "layer-norm",
        ExperimentOptions { formats: formats(&["uhp"]), ..ExperimentOptions::default() },
    );
    assert!(text.contains("signed format"), "{text}");
    let text = refused(
        "bias-sweep",
        ExperimentOptions { formats: formats(&["e4m3fn"]), ..ExperimentOptions::default() },
    );
    assert!(text.contains("cfloat8_1_4_3"), "{text}");
    let text = refused(
        "underflow",
        ExperimentOptions { input: Some("no/such/file.npy".into()), ..ExperimentOptions::default() },
    );
    assert!(text.contains("no/such/file.npy"), "{text}");
    assert!(matches!("dot".parse::<&Experiment>(), Err(Error::NoSuchExperiment { .. })));
    assert!(EXPERIMENTS.len() == 19 && "binary8p4se".parse::<Format>().is_ok());
}
