//! A mask of the largest finite value in place of −∞ (the talk, "Example: Attention masking in
//! transformers").
//!
//! logsumexp(v) = logsumexp(v − max v) + max v. Where the scores that count are near −max already,
//! a masked position of −max keeps weight. Sums, exponentials and logarithms are those of binary64,
//! each correctly rounded.

use smallfloat::math::Elementary;
use smallfloat::{Datum, Format};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::Random;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{ArithmeticUnit, Overflow, datum, float};

const FORMATS: [&str; 6] = ["binary8p4sf", "e4m3fnuz", "binary8p4se", "e4m3fn", "e5m2", "binary8p3se"];
const TEMPERATURES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// Positions of a row of scores: the first half counts, the second is masked.
const POSITIONS: u64 = 64;
/// Rows of random scores.
const ROWS: u64 = 32;

#[expect(clippy::float_cmp, reason = "steps are exact")]
pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let formats = options.formats_or(&FORMATS)?;
    let temperatures =
        if options.temperatures.is_empty() { TEMPERATURES.to_vec() } else { options.temperatures.clone() };
    let mut findings = Findings::new("attention-mask").set("--seed", options.key().to_string());
    let mut low = FindingsTable::new(
        "One low score and one masked position",
        ["format", "score", "mask", "τ", "lse with −∞", "lse with −max", "masked weight"],
    );
    let mut random = FindingsTable::new(
        format!("Normal scores, σ = max / 4, {ROWS} rows of {POSITIONS}, half of each masked"),
        ["format", "τ", "mean weight on masked", "most", "rows above 1 %"],
    );
    // Formats with the same step at the top have the same line.
    let mut lines: Vec<(f64, Vec<String>, Vec<[f64; 2]>)> = Vec::new();
    for format in &formats {
        for &temperature in &temperatures {
            let case = LowScore::new(format, temperature);
            low.rows.push(row![
                format.to_string(),
                case.score,
                case.mask,
                temperature,
                Cell::Measured(case.exact),
                Cell::Measured(case.masked),
                Cell::Measured(case.weight),
            ]);
            let weights: Vec<f64> =
                (0..ROWS).map(|row| leak(format, temperature, options.key(), row)).collect();
            #[expect(clippy::cast_precision_loss, reason = "a few rows")]
            let mean = weights.iter().sum::<f64>() / ROWS as f64;
            let most = weights.iter().copied().fold(0.0, f64::max);
            let above = weights.iter().filter(|weight| **weight > 0.01).count();
            random.rows.push(row![
                format.to_string(),
                temperature,
                Cell::Measured(mean),
                Cell::Measured(most),
                Cell::share(above as u64, ROWS),
            ]);
        }
        let case = LowScore::new(format, 1.0);
        let step = float(case.score) - float(case.mask);
        if let Some(line) = lines.iter_mut().find(|line| line.0 == step) {
            line.1.push(format.to_string());
        } else {
            // Finer than the table's rows.
            let temperatures = (-40..=0_i32).map(|i| libm::exp2(f64::from(i) / 5.0));
            let leaks = temperatures.map(|factor| [factor, LowScore::new(format, factor).weight]);
            lines.push((step, vec![format.to_string()], leaks.collect()));
        }
    }
    findings.tables = vec![low, random];
    findings.plots.push(Plot {
        title: "Weight of a position masked by −max, beside the next larger score".into(),
        x: Axis::log("temperature factor τ"),
        y: Axis::linear("weight of the masked position"),
        series: lines
            .into_iter()
            .map(|(step, names, line)| {
                Series::new(format!("step {step}: {}", names.join(", ")), Mark::Line, line)
            })
            .collect(),
    });
    for note in [
        "The talk: τ = 0.1, score −224, mask −240 = −FLT_MAX (that of E4M3FNUZ and Binary8p4sf): lse([0, −1.6]) is 0.1839, \
         against 0 with −∞; the masked position has 16.8 % of the weight.",
        "The score is the value next to −max, the worst case. With a mask of −∞ a masked position never has weight.",
        "Random scores: score + mask is rounded and saturates in the format, as in the talk's code, where the mask is added. \
         Scores near the middle of the range leak nothing at τ = 0.1; how low the largest score of a row is decides.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// The talk's example: a score next to −max, and a mask of −max.
struct LowScore {
    score: Datum,
    mask: Datum,
    /// logsumexp relative to the score, masked by −∞ and by −max.
    exact: f64,
    masked: f64,
    weight: f64,
}

impl LowScore {
    fn new(format: &Format, temperature: f64) -> Self {
        let unit = ArithmeticUnit::reference();
        let mask = format.max_finite().negated();
        // One above −max: the neighbour toward zero.
        let lowest = format.encode(mask).map_or(0, |code| smallfloat::ops::next_up(format, code));
        let score = format.decode(lowest);
        let gap = unit.subtract(mask, score);
        let x = unit.call(smallfloat::ops::Operation::Multiply, &[datum(temperature), gap]);
        let e = unit.function(Elementary::Exp, x);
        let infinite = unit.function(Elementary::Exp, Datum::Infinite { negative: true });
        let lse = |e: Datum| float(unit.function(Elementary::LogOnePlus, e));
        let weight = float(unit.divide(e, unit.add(datum(1.0), e)));
        Self { score, mask, exact: lse(infinite), masked: lse(e), weight }
    }
}

/// The weight of the masked half of a row of random scores, the mask added in the format.
fn leak(format: &Format, temperature: f64, seed: u64, row: u64) -> f64 {
    let (narrow, wide) = (ArithmeticUnit::new(format, Overflow::Saturate), ArithmeticUnit::reference());
    let random = Random::new(seed, row);
    let (sigma, mask) = (float(format.max_finite()) / 4.0, format.max_finite().negated());
    let scores: Vec<Datum> = (0..POSITIONS)
        .map(|i| {
            let score = narrow.number(sigma * random.normal(i));
            if i < POSITIONS / 2 { score } else { narrow.add(score, mask) }
        })
        .collect();
    let most = scores.iter().map(|score| float(*score)).fold(f64::NEG_INFINITY, f64::max);
    let terms = scores.iter().map(|score| {
        let x = wide.subtract(*score, datum(most));
        let x = wide.call(smallfloat::ops::Operation::Multiply, &[datum(temperature), x]);
        wide.function(Elementary::Exp, x)
    });
    let (mut all, mut masked) = (datum(0.0), datum(0.0));
    for (i, term) in (0..POSITIONS).zip(terms) {
        all = wide.add(all, term);
        if i >= POSITIONS / 2 {
            masked = wide.add(masked, term);
        }
    }
    float(wide.divide(masked, all))
}
