//! Tables of papers: what `docs/lab/papers.md` says, against closed forms and sums of the tests'
//! own.

use smallfloat_lab::experiments::{Cell, Experiment, ExperimentOptions, Findings, FindingsTable};

fn run(name: &str, options: &ExperimentOptions) -> Findings {
    let found = name.parse::<&Experiment>().and_then(|experiment| experiment.run(options));
    found.unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn number(table: &FindingsTable, beginning: &[&str], column: &str) -> f64 {
    let cell = table.cell(beginning, column).unwrap_or_else(|| panic!("{beginning:?}, {column}"));
    cell.number().unwrap_or_else(|| panic!("{cell:?}"))
}

/// The values of 8 bits with so many exponent bits from 0 on, the largest given: 2^E binades of
/// 2^M values, the lowest of which goes down to 0.
fn values(exponent_bits: i32, largest: f64) -> Vec<f64> {
    let mantissa = 7 - exponent_bits;
    let count = 2.0_f64.powi(mantissa);
    let mut all: Vec<f64> = (0..2_i32.pow(mantissa.unsigned_abs())).map(|m| f64::from(m) / count).collect();
    for e in 1..2_i32.pow(exponent_bits.unsigned_abs()) {
        all.extend(
            (0..2_i32.pow(mantissa.unsigned_abs()))
                .map(|m| (1.0 + f64::from(m) / count) * 2.0_f64.powi(e - 1)),
        );
    }
    let last = all[all.len() - 1];
    all.into_iter().map(|x| x / last * largest).collect()
}

fn rounded(values: &[f64], x: f64) -> f64 {
    let above = values.partition_point(|value| *value < x);
    match (above.checked_sub(1).map(|i| values[i]), values.get(above)) {
        (Some(below), Some(above)) => {
            if x - below <= above - x {
                below
            } else {
                *above
            }
        }
        (below, above) => above.copied().or(below).expect("values"),
    }
}

/// Twice ∫ (x − q(x))² p(x) dx from 0 to a limit by midpoints of small steps, and what is beyond.
fn error(values: &[f64], density: impl Fn(f64) -> f64, limit: f64, beyond: f64) -> f64 {
    let steps = 4_000_000_u32;
    let step = limit / f64::from(steps);
    let sum: f64 = (0..steps)
        .map(|i| {
            let x = (f64::from(i) + 0.5) * step;
            let error = x - rounded(values, x);
            error * error * density(x) * step
        })
        .sum();
    let last = limit - rounded(values, limit);
    2.0 * (sum + beyond * last * last)
}

/// The expected errors at the largest values that the table names, by sums of four million terms;
/// and no larger or smaller value of a grid around it is better.
#[test]
fn expected_errors_are_those_of_plain_sums() {
    let findings = run("exponent-bits", &ExperimentOptions::default());
    let table = &findings.tables[0];
    let normal = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    // Γ(9/2) / (√(8π)·Γ(4)) = 105√π/16 / (6·√(8π)).
    let student = |x: f64| 105.0 / (96.0 * 8.0_f64.sqrt()) * (1.0 + x * x / 8.0).powf(-4.5);
    for bits in 2..=5 {
        let name = format!("{bits}E{}M", 7 - bits);
        for distribution in ["uniform", "normal", "Student's t"] {
            let largest = number(table, &[distribution, &name], "largest value");
            let found = 1e-4 * number(table, &[distribution, &name], "MSE, 1e-4");
            let printed = 1e-4 * number(table, &[distribution, &name], "the authors' program");
            assert_eq!(format!("{found:.2e}"), format!("{printed:.2e}"), "{name}, {distribution}");
            let plain = |largest: f64| {
                let values = values(bits, largest);
                match distribution {
                    "uniform" => error(&values, |_| 0.5, 1.0, 0.0),
                    "normal" => error(&values, normal, 10.0, 0.0),
                    // Beyond 100 lie 1.6e-11 or less.
                    _ => error(&values, student, 100.0, 0.0),
                }
            };
            let expected = plain(largest);
            assert!((found / expected - 1.0).abs() < 2e-4, "{name}, {distribution}: {found}, {expected}");
            for factor in [0.9, 0.98, 1.02, 1.1] {
                let other = plain(largest * factor);
                assert!(other > found * 0.9998, "{name}, {distribution}, ·{factor}: {other} < {found}");
            }
            // An integer bias is never better than a real one, and at most 1.5 dB worse.
            let [real, integer] =
                ["MSE, 1e-4", "its MSE, 1e-4"].map(|column| number(table, &[distribution, &name], column));
            assert!(integer >= real * (1.0 - 1e-9), "{name}, {distribution}");
            assert!(integer / real < 1.5, "{name}, {distribution}: {integer} {real}");
        }
    }
    // INT8 on [−1, 1]: steps of about 1/127.5, of which h²/12 remain.
    let found = 1e-4 * number(table, &["uniform", "0E7M"], "MSE, 1e-4");
    assert!((found * 12.0 * 127.5 * 127.5 - 1.0).abs() < 0.02, "{found}");
}

/// The paper's conclusion: the heavier the tails, the more exponent bits.
#[test]
fn outliers_ask_for_exponent_bits() {
    let table = &run("exponent-bits", &ExperimentOptions::default()).tables[0];
    let best = |distribution: &str| {
        let row = table.rows.iter().find(|row| {
            row[0].text() == Some(distribution) && row.last().and_then(Cell::number) == Some(1.0)
        });
        row.and_then(|row| row[1].text()).expect("one is the best").to_owned()
    };
    let order = ["0E7M", "1E6M", "2E5M", "3E4M", "4E3M", "5E2M"];
    let place = |name: String| order.iter().position(|other| *other == name).expect("a format");
    let [uniform, normal, student] = ["uniform", "normal", "Student's t"].map(|name| place(best(name)));
    assert!(uniform < normal && normal <= student, "{table:?}");
}

/// All 2^D inputs and 2^N words in integers: A adds the word below the last kept bit, B a half more
/// of a word, and C first rounds to N bits, to nearest even.
#[test]
fn biases_of_few_bits_are_those_of_integers() {
    let findings = run("few-bits", &ExperimentOptions::default());
    for row in &findings.tables[0].rows {
        let [d, n] = [&row[0], &row[1]].map(|cell| cell.number().expect("bits"));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small integers")]
        let (d, n) = (d as u32, n as u32);
        let (inputs, words) = (1_i64 << d, 1_i64 << n);
        let mut sums = [0_i64; 3];
        let mut largest = [0_i64; 3];
        for i in 0..inputs {
            // In units of 2^−(D + N + 1) of the spacing.
            let unit = 1_i64 << (d + n + 1);
            let x = i << (n + 1);
            // The input in words, to nearest even.
            let word = 1_i64 << (d + 1);
            let (whole, rest) = (x / word, x % word);
            let up = 2 * rest > word || (2 * rest == word && whole % 2 == 1);
            let near = (whole + i64::from(up)) * word;
            let counts = [
                (0..words).filter(|r| x + r * word >= unit).count(),
                (0..words).filter(|r| x > 0 && x + r * word + word / 2 >= unit).count(),
                (0..words).filter(|r| near + r * word >= unit).count(),
            ];
            for (mode, count) in counts.into_iter().enumerate() {
                // Σ over words of (up − x), times 2^N·2^D.
                let bias = (i64::try_from(count).expect("few") << d) - (i << n);
                sums[mode] += bias;
                if bias.abs() > largest[mode].abs() {
                    largest[mode] = bias;
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "below 2^30")]
        let as_share = |x: i64, bits: u32| x as f64 / 2.0_f64.powi(bits.cast_signed());
        for (mode, column) in [(0, 2), (1, 5), (2, 6)] {
            let found = row[column].number().expect("a mean");
            assert!((found - as_share(sums[mode], 2 * d + n)).abs() < 1e-15, "D {d}, N {n}, {mode}: {found}");
            let found = row[7 + mode].number().expect("a bias");
            assert!(
                (found.abs() - as_share(largest[mode], d + n).abs()).abs() < 1e-15,
                "D {d}, N {n}, {mode}"
            );
        }
        // The authors' closed form, where it holds.
        if n <= d {
            let found = row[4].number().expect("a difference");
            assert!(found.abs() < 1e-15, "D {d}, N {n}: {found}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let options = ExperimentOptions {
        formats: vec!["binary8p1se".parse().expect("a format")],
        ..ExperimentOptions::default()
    };
    let found = "few-bits".parse::<&Experiment>().and_then(|experiment| experiment.run(&options));
    let error = found.expect_err("it is refused").to_string();
    assert!(error.contains("2 bits of precision"), "{error}");
}
