//! The infinite loss of an untrained network (the talk, "Summary: Numerics of AI"): two layers with
//! weights of standard deviation 1 on 784 inputs give scores of some hundreds, and
//! −log(softmax(y)\[l\]) is infinite in binary32.
//!
//! The network runs in the format: every product-and-add, exponential, quotient and logarithm is
//! rounded once.

use rayon::prelude::*;
use smallfloat::Datum;
use smallfloat::formats::BINARY32;
use smallfloat::math::Elementary;

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::Random;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{ArithmeticUnit, Overflow, datum, float};
use crate::named::by_name;

/// The talk's sizes: inputs, hidden units, classes.
const INPUTS: u64 = 28 * 28;
const HIDDEN: u64 = 512;
const CLASSES: usize = 10;
/// The talk's label.
const LABEL: usize = 2;
const TRIALS: u64 = 16;
/// Formats that hold the scores, softmax and loss; the layers' sums are in binary32.
const FORMATS: [&str; 4] = ["bfloat16", "binary16", "binary8p3se", "binary8p4se"];

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let trials = options.trials.unwrap_or(TRIALS);
    let mut formats = vec![BINARY32];
    formats.extend(options.formats_or(&FORMATS)?);
    let mut findings = Findings::new("softmax-loss")
        .set("--trials", trials.to_string())
        .set("--seed", options.key().to_string());
    let scores: Vec<[Vec<Datum>; 2]> = (0..trials)
        .into_par_iter()
        .map(|trial| {
            let scores = |scaled| network(options.key(), trial, scaled);
            [scores(false), scores(true)]
        })
        .collect();

    let mut first = FindingsTable::new(
        format!("The first network's loss, label {LABEL}"),
        ["format", "weights", "exp / Σ exp, then log", "max subtracted first", "log-softmax"],
    );
    let mut table = FindingsTable::new(
        format!("Losses that are not finite, {trials} networks × {CLASSES} labels"),
        ["format", "weights", "exp / Σ exp, then log", "max subtracted first", "log-softmax"],
    );
    let mut bars: Vec<Vec<[f64; 2]>> = vec![Vec::new(); WEIGHTS.len() * LossForm::ALL.len()];
    for (format, place) in formats.iter().zip(0_u32..) {
        let unit = ArithmeticUnit::new(format, Overflow::Infinity);
        for (which, weights) in WEIGHTS.iter().enumerate() {
            let mut example = row![format.to_string(), *weights];
            let mut shares = row![format.to_string(), *weights];
            for (loss, name) in LossForm::ALL.iter().zip(0..) {
                let losses = |trial: &[Vec<Datum>; 2]| -> Vec<f64> {
                    let scores: Vec<Datum> = trial[which].iter().map(|score| unit.round(*score)).collect();
                    (0..CLASSES).map(|label| loss.of(&unit, &scores, label)).collect()
                };
                let all: Vec<Vec<f64>> = scores.par_iter().map(losses).collect();
                let bad = all.iter().flatten().filter(|loss| !loss.is_finite()).count() as u64;
                let share = Cell::share(bad, trials * CLASSES as u64);
                let height = share.number().expect("there are trials and classes");
                bars[which * LossForm::ALL.len() + name].push([f64::from(place), height]);
                shares.push(share);
                example.push(Cell::Measured(all[0][LABEL]));
            }
            first.rows.push(example);
            table.rows.push(shares);
        }
    }
    findings.tables = vec![first, table];
    let names = WEIGHTS.iter().flat_map(|weights| LossForm::ALL.map(|loss| format!("{weights}: {loss}")));
    findings.plots.push(Plot {
        title: "Share of losses that are infinite or NaN".into(),
        x: Axis::categories("format of scores, softmax and loss", &formats),
        y: Axis::linear("share"),
        series: names.zip(bars).map(|(name, bars)| Series::new(name, Mark::Bars, bars)).collect(),
    });
    for note in [
        "The talk prints inf for its one run in binary32, and so it is here: the scores lie hundreds apart, so the label's \
         probability underflows to 0 unless its score is near the largest.",
        "log-softmax, y[l] − max − log Σ exp(y − max), never leaves the scores' own size. Weights divided by the root of the \
         number of inputs keep the scores near 1, and every form is finite where the format has the range.",
        "Scores are sums in binary32, rounded to the format. In 8-bit formats Σ exp is held in the format too, and scores of \
         hundreds may themselves overflow: an infinite score makes NaN of all forms.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

const WEIGHTS: [&str; 2] = ["σ = 1", "σ = 1/√n"];

/// The scores of the talk's network with random weights and a random input in [0, 1).
#[expect(clippy::cast_precision_loss, reason = "small sizes")]
fn network(seed: u64, trial: u64, scaled: bool) -> Vec<Datum> {
    let unit = ArithmeticUnit::new(&BINARY32, Overflow::Infinity);
    let [w1, w2, x] = [1, 2, 3].map(|part| Random::new(seed, part << 32 | trial));
    let sigma = |inputs: u64| if scaled { 1.0 / (inputs as f64).sqrt() } else { 1.0 };
    let layer = |weights: &Random, inputs: &[Datum], outputs: u64| -> Vec<Datum> {
        let count = inputs.len() as u64;
        let sum = |output: u64| {
            let row = (output * count..).map(|i| unit.number(sigma(count) * weights.normal(i)));
            inputs.iter().zip(row).fold(Datum::ZERO, |sum, (&x, w)| unit.fma(w, x, sum))
        };
        (0..outputs).map(sum).collect()
    };
    let input: Vec<Datum> = (0..INPUTS).map(|i| unit.number(x.uniform(i))).collect();
    let mut hidden = layer(&w1, &input, HIDDEN);
    for unit in &mut hidden {
        if unit.is_negative() {
            *unit = Datum::ZERO;
        }
    }
    layer(&w2, &hidden, CLASSES as u64)
}

/// A way to compute −log(softmax(y)\[l\]).
#[derive(Clone, Copy, PartialEq, Eq)]
enum LossForm {
    Naive,
    Shifted,
    LogSoftmax,
}

impl LossForm {
    const ALL: [Self; 3] = [Self::Naive, Self::Shifted, Self::LogSoftmax];

    const NAMED: [(&'static str, Self); 3] =
        [("exp / Σ exp", Self::Naive), ("max subtracted", Self::Shifted), ("log-softmax", Self::LogSoftmax)];

    fn of(self, unit: &ArithmeticUnit, scores: &[Datum], label: usize) -> f64 {
        let most = scores.iter().copied().map(float).fold(f64::NEG_INFINITY, f64::max);
        let shift = if matches!(self, Self::Naive) { Datum::ZERO } else { datum(most) };
        let shifted: Vec<Datum> = scores.iter().map(|&score| unit.subtract(score, shift)).collect();
        let terms: Vec<Datum> = shifted.iter().map(|&x| unit.function(Elementary::Exp, x)).collect();
        let sum = terms.iter().fold(Datum::ZERO, |sum, &term| unit.add(sum, term));
        let log = |x: Datum| unit.function(Elementary::Log, x);
        float(match self {
            Self::Naive | Self::Shifted => log(unit.divide(terms[label], sum)).negated(),
            Self::LogSoftmax => unit.subtract(log(sum), shifted[label]),
        })
    }
}

by_name!(LossForm);

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "results of one rounding are exact")]
mod tests {
    use super::*;

    /// softmax([0, 0]) = 1/2 exactly, so the loss is ln 2 rounded to binary32.
    #[test]
    fn two_equal_scores() {
        let unit = ArithmeticUnit::new(&BINARY32, Overflow::Infinity);
        for loss in LossForm::ALL {
            let found = loss.of(&unit, &[Datum::ZERO, Datum::ZERO], 0);
            assert_eq!(found, f64::from(std::f32::consts::LN_2), "{loss}");
        }
    }

    /// e^100 is beyond binary32, e^−200 below it.
    #[test]
    fn forms_differ_where_exponentials_leave_the_range() {
        let unit = ArithmeticUnit::new(&BINARY32, Overflow::Infinity);
        let scores = [datum(100.0), datum(-100.0)];
        assert!(LossForm::Naive.of(&unit, &scores, 0).is_nan());
        assert_eq!(LossForm::Shifted.of(&unit, &scores, 1), f64::INFINITY);
        assert_eq!(LossForm::LogSoftmax.of(&unit, &scores, 1), 200.0);
    }
}
