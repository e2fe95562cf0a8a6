//! Many tiny updates ([semantics](smallfloat::semantics), S5; Fitzgibbon and Felix, "On stochastic
//! rounding with few random bits"): a number at 1 to which the same small step is added again and
//! again, under nearest and stochastic rounding.
//!
//! Expected values are exact up to `f64` sums: a stochastic rounding has two results and the number
//! of random words that give each, so the distribution after every step follows from the one
//! before.

use std::collections::BTreeMap;

use rayon::prelude::*;
use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Datum, Format, Projection, RandomBits, Rounding, Saturation, project};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::Random;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{datum, float};

const LENGTH: usize = 256;
/// 5/32 of the spacing at 1: there four bits of mode B keep three of sixteen words, of A and C two.
/// Beyond 4 it is less than a sixteenth and more than a thirty-second: A stands still.
const UPDATE: f64 = 5.0 / 256.0;
const TRIALS: u64 = 200;
/// Numbers of random bits.
const BITS: [u32; 8] = [1, 2, 3, 4, 5, 6, 8, 16];
/// Those whose course is drawn.
const DRAWN: [(StochasticMode, u32); 4] =
    [(StochasticMode::A, 4), (StochasticMode::B, 4), (StochasticMode::C, 4), (StochasticMode::A, 8)];
/// Sums of shares in `f64` leave less.
const NOISE: f64 = 1e-12;

/// A stochastic mode of the P3109 draft, without its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StochasticMode {
    A,
    B,
    C,
}

impl StochasticMode {
    const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    fn rounding(self, bits: RandomBits) -> Rounding {
        match self {
            Self::A => Rounding::StochasticA(bits),
            Self::B => Rounding::StochasticB(bits),
            Self::C => Rounding::StochasticC(bits),
        }
    }
}

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let format = options.format_or("cfloat8_1_4_3:bias=7")?;
    let update = options.update.unwrap_or(UPDATE);
    let (steps, trials) = (options.length.unwrap_or(LENGTH), options.trials.unwrap_or(TRIALS));
    let adder = Adder { format, update: datum(update) };
    #[expect(clippy::cast_precision_loss, reason = "at most 2^20 steps")]
    let exact = |step: usize| 1.0 + update * step as f64;
    let mut findings = Findings::new("accumulate")
        .set("--format", format.to_string())
        .set("--update", format!("{update:?}"))
        .set("--length", steps.to_string())
        .set("--trials", trials.to_string())
        .set("--seed", options.key().to_string());
    let mut table = FindingsTable::new(
        format!("1 + {steps} × {update:?} = {:?} in {format}", exact(steps)),
        [
            "rounding",
            "bits",
            "expected",
            "expected − exact",
            "standard deviation",
            "mean of the trials",
            "its standard error",
        ],
    );
    let nearest = adder.nearest(steps);
    let ended = *nearest.last().expect("the start at least");
    table.rows.push(row![
        "nearest-even",
        "",
        Cell::Measured(ended),
        Cell::Measured(ended - exact(steps)),
        0.0,
        Cell::Measured(ended),
        0.0,
    ]);
    let rows: Vec<(StochasticMode, u32)> =
        StochasticMode::ALL.into_iter().flat_map(|mode| BITS.map(|bits| (mode, bits))).collect();
    let courses: Vec<Course> = rows
        .par_iter()
        .map(|&(mode, bits)| adder.course(mode, bits, steps))
        .collect::<Result<_, smallfloat::Error>>()?;
    let mut biases: Vec<Vec<[f64; 2]>> = vec![Vec::new(); StochasticMode::ALL.len()];
    for ((mode, bits), course) in rows.iter().zip(&courses) {
        let ends: Vec<f64> = (0..trials)
            .into_par_iter()
            .map(|trial| adder.path(*mode, *bits, steps, &Random::new(options.key(), trial)))
            .collect::<Result<_, smallfloat::Error>>()?;
        let (mean, error) = mean_and_error(&ends);
        let expected = *course.means.last().expect("the start at least");
        let bias = expected - exact(steps);
        let bias = if bias.abs() < NOISE { 0.0 } else { bias };
        biases[*mode as usize].push([f64::from(*bits), bias]);
        table.rows.push(row![
            format!("stochastic {mode:?}"),
            *bits,
            Cell::Measured(expected),
            Cell::Measured(bias),
            Cell::Measured(course.deviation),
            Cell::Measured(mean),
            Cell::Measured(error),
        ]);
    }
    findings.tables.push(table);

    let line = (0..=steps).map(exact).collect::<Vec<_>>();
    let mut series = vec![
        Series::new("exact", Mark::Dashes, by_step(&line)),
        Series::new("nearest-even", Mark::Line, by_step(&nearest)),
    ];
    for ((mode, bits), found) in rows.iter().zip(&courses).filter(|(row, _)| DRAWN.contains(row)) {
        series.push(Series::new(
            format!("stochastic {mode:?}, {bits} bits"),
            Mark::Line,
            by_step(&found.means),
        ));
    }
    findings.plots.push(Plot {
        title: format!("Expected value after each step of {update:?} in {format}"),
        x: Axis::linear("steps"),
        y: Axis::linear("expected value"),
        series,
    });
    findings.plots.push(Plot {
        title: format!("Expected − exact after {steps} steps"),
        x: Axis::linear("random bits"),
        y: Axis::linear("expected − exact"),
        series: (StochasticMode::ALL.iter().zip(biases))
            .map(|(mode, points)| Series::new(format!("stochastic {mode:?}"), Mark::Line, points))
            .collect(),
    });
    for note in [
        "Expected values and standard deviations are computed from the distribution, not sampled; the trials are there to show \
         that the generator's words do the same. About one mean in twenty lies more than two of its standard errors off.",
        "A cuts off what the bits do not reach, so it drifts down; B and C round it, and may drift either way: with few bits a \
         step far below 2^−N of the spacing is lost, or counted as 2^−N.",
        "One run scatters by the standard deviation: an unbiased mode is right on average, not each time.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// Values after 0, 1, 2, … steps as points.
fn by_step(means: &[f64]) -> Vec<[f64; 2]> {
    (0_u32..).zip(means).map(|(step, mean)| [f64::from(step), *mean]).collect()
}

/// A register of a format to which the same number is added.
struct Adder {
    format: Format,
    update: Datum,
}

/// Expected values after 0, 1, 2, … steps, and the last standard deviation.
struct Course {
    means: Vec<f64>,
    deviation: f64,
}

impl Adder {
    fn projection(&self, rounding: Rounding) -> Projection {
        self.format.default_projection().with_rounding(rounding).with_saturation(Saturation::SatFinite)
    }

    /// The code after one step.
    fn step(&self, code: u64, rounding: Rounding) -> u64 {
        let terms = [self.format.decode(code), self.update, Datum::ZERO];
        let sum = Operation::Add.exact(terms, Semantics::Ieee).exact;
        project(sum, &self.format, &self.projection(rounding)).value
    }

    /// The code of 1.
    fn start(&self) -> u64 {
        project(datum(1.0).into(), &self.format, &self.projection(Rounding::NearestEven)).value
    }

    fn value(&self, code: u64) -> f64 {
        float(self.format.decode(code))
    }

    fn nearest(&self, steps: usize) -> Vec<f64> {
        let next = |code: &u64| Some(self.step(*code, Rounding::NearestEven));
        std::iter::successors(Some(self.start()), next).take(steps + 1).map(|code| self.value(code)).collect()
    }

    /// The two results of a step and the share of the 2^N words that give the second.
    fn branches(
        &self,
        code: u64,
        mode: StochasticMode,
        bits: u32,
    ) -> Result<(u64, u64, f64), smallfloat::Error> {
        let at = |word: u64| {
            Ok::<_, smallfloat::Error>(self.step(code, mode.rounding(RandomBits::new(bits, word)?)))
        };
        let most = (1_u64 << bits) - 1;
        let (low, high) = (at(0)?, at(most)?);
        if low == high {
            return Ok((low, high, 0.0));
        }
        // All modes move away from zero from some word on: the first that does lies in (below,
        // first].
        let (mut below, mut first) = (0, most);
        while first - below > 1 {
            let middle = u64::midpoint(below, first);
            *(if at(middle)? == high { &mut first } else { &mut below }) = middle;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 16 bits")]
        Ok((low, high, (most + 1 - first) as f64 / (most + 1) as f64))
    }

    fn course(&self, mode: StochasticMode, bits: u32, steps: usize) -> Result<Course, smallfloat::Error> {
        let mut branches = BTreeMap::new();
        let mut distribution = BTreeMap::from([(self.start(), 1.0)]);
        let moment = |distribution: &BTreeMap<u64, f64>, about: f64, power: i32| -> f64 {
            distribution.iter().map(|(&code, share)| share * (self.value(code) - about).powi(power)).sum()
        };
        let mut means = vec![moment(&distribution, 0.0, 1)];
        for _ in 0..steps {
            let mut next = BTreeMap::new();
            for (&code, &share) in &distribution {
                let found = match branches.get(&code) {
                    Some(found) => *found,
                    None => *branches.entry(code).or_insert(self.branches(code, mode, bits)?),
                };
                let (low, high, away) = found;
                *next.entry(low).or_insert(0.0) += share * (1.0 - away);
                *next.entry(high).or_insert(0.0) += share * away;
            }
            // Codes that are out of reach in practice.
            next.retain(|_, share| *share > 1e-30);
            distribution = next;
            means.push(moment(&distribution, 0.0, 1));
        }
        let mean = *means.last().expect("the start at least");
        Ok(Course { deviation: moment(&distribution, mean, 2).sqrt(), means })
    }

    /// One run with the generator's words.
    fn path(
        &self,
        mode: StochasticMode,
        bits: u32,
        steps: usize,
        random: &Random,
    ) -> Result<f64, smallfloat::Error> {
        let mut code = self.start();
        for i in 0..steps as u64 {
            code = self.step(code, mode.rounding(RandomBits::from_word32(bits, random.word(i))?));
        }
        Ok(self.value(code))
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1 the spacing is 1/8, so a step of 2^−8 has ν = 1/32: A gives ⌊2^N/32⌋ of 2^N words, B
    /// rounds half up, C half to even.
    #[test]
    fn branches_count_words() {
        let format: Format = "cfloat8_1_4_3:bias=7".parse().expect("a name");
        let adder = Adder { format, update: datum(1.0 / 256.0) };
        let away = |mode, bits| adder.branches(adder.start(), mode, bits).expect("legal bits").2;
        assert_eq!(
            (away(StochasticMode::A, 4), away(StochasticMode::B, 4), away(StochasticMode::C, 4)),
            (0.0, 1.0 / 16.0, 0.0)
        );
        assert_eq!(
            (away(StochasticMode::A, 5), away(StochasticMode::B, 5), away(StochasticMode::C, 5)),
            (1.0 / 32.0, 1.0 / 32.0, 1.0 / 32.0)
        );
        assert_eq!((away(StochasticMode::A, 3), away(StochasticMode::B, 3)), (0.0, 0.0));
        let course = adder.course(StochasticMode::A, 16, 1).expect("legal bits");
        assert!((course.means[1] - (1.0 + 1.0 / 256.0)).abs() < 1e-15);
    }
}
