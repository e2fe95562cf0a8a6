//! Dot products whose sums overflow (the talk, "On Saturation").
//!
//! First the talk's table: the same terms in three orders and a tree, under each rule for overflow.
//! Then its three questions on random or real vectors: how large errors are, whether infinities
//! replaced by half the largest value err less, and how often a reduction under OvINF gives NaN.

use rayon::prelude::*;
use smallfloat::formats::BINARY16;
use smallfloat::ops::Sum;
use smallfloat::{Datum, Format};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Random, Tensor, binade, scaled};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, ratio, row};
use crate::instruments::tree::{Order, Tree};
use crate::instruments::unit::{ArithmeticUnit, Overflow, float};

/// The standard deviation of the exact dot products, relative to the accumulator's largest value.
const LOADS: [f64; 5] = [0.125, 0.25, 0.5, 1.0, 2.0];
/// The load whose errors are drawn.
const DRAWN: usize = 2;
const LENGTH: usize = 256;
const TRIALS: u64 = 1000;

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let format = options.format_or("binary8p4se")?;
    let accumulator = options.accumulator_or(BINARY16)?;
    let order = options.order.unwrap_or_default();
    let (length, trials) = (options.length.unwrap_or(LENGTH), options.trials.unwrap_or(TRIALS));
    let trees = match options.tree {
        Some(tree) => vec![tree],
        None => vec![Tree::Sequential, Tree::Chunks(32), Tree::Pairwise],
    };
    let weights = options.input.is_some().then(|| options.tensors()).transpose()?;
    let (weights, source) = weights.unzip();
    let source = source.unwrap_or_else(|| "normal".into());

    let mut findings = Findings::new("dot-saturation")
        .set("--format", format.to_string())
        .set("--accumulator", accumulator.to_string())
        .set("--order", order.to_string())
        .set("--length", length.to_string())
        .set("--trials", trials.to_string())
        .set("--seed", options.key().to_string())
        .set("vectors", &source);
    findings.tables.push(talk(&format, &accumulator, options.tree));
    if format.max_finite().to_f64() == Some(224.0) && accumulator == BINARY16 {
        findings.note(
            "Erratum of the talk: it prints Inf for [−f −f f f] and −Inf for [f f −f −f]. The first two terms decide \
             the sign, so it is the other way round; no order and no tree gives what is printed.",
        );
    }

    let setup =
        Setup { format, order, length, seed: options.key(), weights: weights.as_deref(), accumulator };
    let mut table = FindingsTable::new(
        format!("Errors of dot products of {length} terms against the exact sum, {trials} each"),
        [
            "σ / max",
            "reduction",
            "OvNAN NaN",
            "OvSAT rms",
            "OvSAT max",
            "OvINF rms",
            "OvINF max",
            "OvINF ±Inf",
            "OvINF NaN",
        ],
    );
    let mut rates: Vec<Vec<[f64; 2]>> = vec![Vec::new(); trees.len()];
    let mut errors = Vec::new();
    for (i, load) in LOADS.into_iter().enumerate() {
        for ((stream, tree), rates) in (0..).zip(&trees).zip(&mut rates) {
            let runs: Vec<[DotOutcome; 3]> = (0..trials)
                .into_par_iter()
                .map(|trial| setup.trial(load, *tree, (i as u64) << 32 | trial))
                .collect();
            let row = SaturationCounts::of(&runs, &accumulator);
            rates.push([load, ratio(row.nan, row.overflowed.max(1))]);
            table.rows.push(row.cells(load, *tree, trials));
            if i == DRAWN && stream == 0 {
                errors = runs;
            }
        }
    }
    findings.tables.push(table);
    findings.plots.push(histogram(&errors, &accumulator, trees[0]));
    findings.plots.push(Plot {
        title: "Of the dot products that overflow under OvINF, how many end as NaN".into(),
        x: Axis::log("standard deviation of the exact dot product / largest value of the accumulator"),
        y: Axis::linear("share"),
        series: (trees.iter().zip(rates))
            .map(|(tree, points)| Series::new(tree.to_string(), Mark::Line, points))
            .collect(),
    });
    for note in [
        "As in the talk, ±Inf counts as ± half the accumulator's largest value; NaN is counted apart and has no error. \
         So OvINF is scored on other dot products than OvSAT where there are NaNs.",
        "The talk reports rms 19705.81 and maximum 111032.35 for OvSAT, 19781.70 and 108611.63 for OvINF, without its \
         setup. They are quoted here, not reproduced.",
        "Vectors are independent and centred on 0; activations after a ReLU are neither, and overflow more at equal σ.",
    ] {
        findings.note(note);
    }
    if options.input.is_some() {
        findings.note(
            "Weights are runs of elements of the file's tensors, times a power of two; activations are generated.",
        );
    }
    Ok(findings)
}

/// The talk's table for f = the format's largest value.
fn talk(format: &Format, accumulator: &Format, tree: Option<Tree>) -> FindingsTable {
    let f = format.max_finite();
    let rows: [(&str, [bool; 4], Tree, [&str; 3]); 4] = [
        ("[ f −f  f −f]·[f f f f]", [false, true, false, true], Tree::Sequential, ["0", "0", "0"]),
        ("[−f −f  f  f]·[f f f f]", [true, true, false, false], Tree::Sequential, ["34848.0", "Inf", "NaN"]),
        (
            "[ f  f −f −f]·[f f f f]",
            [false, false, true, true],
            Tree::Sequential,
            ["-34848.0", "-Inf", "NaN"],
        ),
        ("[f f]·[f f] + [−f −f]·[f f]", [false, false, true, true], Tree::Chunks(2), ["0", "NaN", "NaN"]),
    ];
    let is_talks = f.to_f64() == Some(224.0) && *accumulator == BINARY16;
    let mut columns: Vec<String> = vec![format!("f = {}", float(f))];
    columns.extend(Overflow::ALL.map(|rule| rule.to_string()));
    if is_talks {
        columns.push("the talk prints".into());
    }
    let mut table =
        FindingsTable::new(format!("Dot products that are 0, accumulated in {accumulator}"), columns);
    let mut add = |name: &str, signs: [bool; 4], tree: Tree, printed: Option<[&str; 3]>| {
        let pairs = signs.map(|negative| (if negative { f.negated() } else { f }, f));
        let mut row = row![name];
        row.extend(
            Overflow::ALL.map(|rule| Cell::from(tree.dot(&ArithmeticUnit::new(accumulator, rule), &pairs))),
        );
        row.extend(printed.map(|printed| Cell::from(printed.join(" / "))));
        table.rows.push(row);
    };
    for (name, signs, tree, printed) in rows {
        add(name, signs, tree, is_talks.then_some(printed));
    }
    if let Some(tree) = tree {
        for (name, signs, ..) in &rows[..3] {
            add(&format!("{name}, {tree}"), *signs, tree, is_talks.then_some(["", "", ""]));
        }
    }
    table
}

/// The end of one dot product under one rule.
#[derive(Clone, Copy)]
struct DotOutcome {
    result: Datum,
    /// The exact dot product.
    exact: f64,
}

struct Setup<'a> {
    format: Format,
    accumulator: Format,
    order: Order,
    length: usize,
    seed: u64,
    weights: Option<&'a [Tensor]>,
}

impl Setup<'_> {
    /// One dot product under the three rules; the same vectors for all trees.
    fn trial(&self, load: f64, tree: Tree, stream: u64) -> [DotOutcome; 3] {
        let mut pairs = self.vectors(load, stream);
        self.order.arrange(&mut pairs);
        let mut sum = Sum::new();
        for &(x, y) in &pairs {
            sum.add_product(x, y);
        }
        let exact = float(sum.exact());
        Overflow::ALL.map(|rule| DotOutcome {
            result: tree.dot(&ArithmeticUnit::new(&self.accumulator, rule), &pairs),
            exact,
        })
    }

    /// Weights and activations in the format. The dot product's standard deviation is load × the
    /// accumulator's largest value.
    #[expect(clippy::cast_precision_loss, reason = "lengths are below 2^20")]
    fn vectors(&self, load: f64, stream: u64) -> Vec<(Datum, Datum)> {
        let unit = ArithmeticUnit::new(&self.format, Overflow::Saturate);
        // σ_w · σ_x · √n
        let product = load * float(self.accumulator.max_finite()) / (self.length as f64).sqrt();
        let [w, x] = [1, 2].map(|part| Random::new(self.seed, part << 56 | stream));
        let weights = self.weights.and_then(|tensors| real_weights(tensors, self.length, &w));
        let weights = weights.filter(|(_, rms)| *rms > 0.0);
        let (weights, scale) = if let Some((values, rms)) = weights {
            // Both factors use the format's range alike.
            let e = binade(product.sqrt()) - binade(rms);
            (values.iter().map(|value| scaled(*value, e)).collect(), product / scaled(rms, e))
        } else {
            let normal = (0..self.length as u64).map(|i| product.sqrt() * w.normal(i));
            (normal.collect::<Vec<_>>(), product.sqrt())
        };
        let activations = (0..).map(|i| scale * x.normal(i));
        weights.into_iter().zip(activations).map(|(w, x)| (unit.number(w), unit.number(x))).collect()
    }
}

/// A run of elements of a tensor drawn by chance, the larger tensors more often, and the tensor's
/// root mean square.
fn real_weights(tensors: &[Tensor], length: usize, random: &Random) -> Option<(Vec<f64>, f64)> {
    let runs = |tensor: &Tensor| (tensor.values.len() / length) as u64;
    let all: u64 = tensors.iter().map(runs).sum();
    let mut place = (u64::from(random.word(0)) << 32 | u64::from(random.word(1))).checked_rem(all)?;
    for tensor in tensors {
        if place < runs(tensor) {
            let start = usize::try_from(place).ok()? * length;
            return Some((tensor.values[start..start + length].to_vec(), tensor.rms()));
        }
        place -= runs(tensor);
    }
    None
}

/// What became of many dot products.
struct SaturationCounts {
    overflowed: u64,
    infinite: u64,
    nan: u64,
    saturated: Errors,
    halved: Errors,
}

#[derive(Default)]
struct Errors {
    squares: f64,
    count: f64,
    most: f64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.squares += error * error;
        self.count += 1.0;
        self.most = self.most.max(error.abs());
    }

    fn rms(&self) -> Cell {
        if self.count > 0.0 { Cell::Measured((self.squares / self.count).sqrt()) } else { Cell::Empty }
    }
}

impl SaturationCounts {
    fn of(runs: &[[DotOutcome; 3]], accumulator: &Format) -> Self {
        let half = float(accumulator.max_finite()) / 2.0;
        let mut tally = Self {
            overflowed: 0,
            infinite: 0,
            nan: 0,
            saturated: Errors::default(),
            halved: Errors::default(),
        };
        for [saturate, infinity, nan] in runs {
            tally.overflowed += u64::from(nan.result.is_nan());
            tally.saturated.add(float(saturate.result) - saturate.exact);
            match infinity.result {
                Datum::Nan { .. } => tally.nan += 1,
                Datum::Infinite { negative } => {
                    tally.infinite += 1;
                    tally.halved.add(if negative { -half } else { half } - infinity.exact);
                }
                Datum::Finite { .. } => tally.halved.add(float(infinity.result) - infinity.exact),
            }
        }
        tally
    }

    fn cells(&self, load: f64, tree: Tree, trials: u64) -> Vec<Cell> {
        let share = |n| Cell::share(n, trials);
        row![
            load,
            tree.to_string(),
            share(self.overflowed),
            self.saturated.rms(),
            Cell::Measured(self.saturated.most),
            self.halved.rms(),
            Cell::Measured(self.halved.most),
            share(self.infinite),
            share(self.nan),
        ]
    }
}

/// Errors of the dot products that overflowed, in units of the accumulator's largest value.
fn histogram(runs: &[[DotOutcome; 3]], accumulator: &Format, tree: Tree) -> Plot {
    const BINS: usize = 32;
    const REACH: f64 = 2.0;
    let most = float(accumulator.max_finite());
    let overflowed = || runs.iter().filter(|[.., nan]| nan.result.is_nan());
    let all = overflowed().count() as u64;
    let bars = |error: &dyn Fn(&[DotOutcome; 3]) -> Option<f64>| {
        let mut counts = [0_u64; BINS];
        for place in overflowed().filter_map(error).map(|error| f64::midpoint(error / most / REACH, 1.0)) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a bin"
            )]
            let bin = (place * BINS as f64).clamp(0.0, BINS as f64 - 1.0) as usize;
            counts[bin] += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few bins")]
        let middle = |bin: usize| ((bin as f64 + 0.5) / BINS as f64 * 2.0 - 1.0) * REACH;
        (0..BINS).map(move |bin| [middle(bin), ratio(counts[bin], all.max(1))]).collect::<Vec<_>>()
    };
    let saturate = bars(&|[run, ..]| Some(float(run.result) - run.exact));
    let infinity = bars(&|[_, run, _]| match run.result {
        Datum::Nan { .. } => None,
        Datum::Infinite { negative } => Some(if negative { -most } else { most } / 2.0 - run.exact),
        Datum::Finite { .. } => Some(float(run.result) - run.exact),
    });
    Plot {
        title: format!(
            "Errors of the {all} of {} dot products that overflow at σ / max = {}, {tree}",
            runs.len(),
            LOADS[DRAWN]
        ),
        x: Axis::linear("error / largest value of the accumulator"),
        y: Axis::linear("share"),
        series: vec![
            Series::new("OvSAT", Mark::Bars, saturate),
            Series::new("OvINF, ±Inf as ±max/2, without NaN", Mark::Bars, infinity),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::data::Role;
    use crate::instruments::unit::datum;

    #[test]
    fn real_weights_are_runs_of_the_file() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let tensor = Tensor { name: "w".into(), role: Role::File, row: 5, values };
        let (run, rms) = real_weights(&[tensor], 4, &Random::new(1, 2)).expect("ten elements hold two runs");
        assert!(run == [0.0, 1.0, 2.0, 3.0] || run == [4.0, 5.0, 6.0, 7.0], "{run:?}");
        assert!((rms - 28.5_f64.sqrt()).abs() < 1e-12, "{rms}");
        assert_eq!(datum(rms).exponent_of_leading_bit(), 2);
    }
}
