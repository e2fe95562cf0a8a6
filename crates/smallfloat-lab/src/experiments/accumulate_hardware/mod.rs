//! Long sums of products in the accumulators of matrix units ([`smallfloat_kernels::Fused`]), and
//! training with such sums.
//!
//! A unit cuts the products of a group and its accumulator to a fixed number of fraction bits below
//! the largest of them. So a product that is small beside the accumulator loses its low bits, and
//! then all of them: errors grow with the length of the sum, where the terms have one sign fastest.

#[cfg(feature = "training")]
mod training;

use rayon::prelude::*;
use smallfloat::{Exact, Format, Preset, Rounding, project};
use smallfloat_kernels::{Accumulate, Code, Dot};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::Random;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{datum, float};

/// Twice as many ones as 13 fraction bits can count.
const LENGTH: usize = 1 << 15;
const TRIALS: u64 = 64;
/// The shortest sum.
const SHORTEST: usize = 32;
/// Accumulators; those that have no instruction for a format are left out.
const UNITS: [&str; 6] = ["f32", "hopper", "hopper:promote=128", "ada", "blackwell", "cdna3"];

/// What the terms of a sum are like.
#[derive(Clone, Copy)]
enum Terms {
    /// Elements of a matrix product of normal numbers.
    BothSigns,
    /// Magnitudes of such elements.
    Positive,
}

impl Terms {
    const ALL: [Self; 2] = [Self::BothSigns, Self::Positive];

    const fn name(self) -> &'static str {
        match self {
            Self::BothSigns => "elements of a product of normal matrices",
            Self::Positive => "sums of positive products",
        }
    }
}

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let format = options.format_or("e4m3fn")?;
    let (length, trials) = (options.length.unwrap_or(LENGTH), options.trials.unwrap_or(TRIALS));
    let dots: Vec<(&str, Dot)> = UNITS
        .iter()
        .filter_map(|name| {
            let accumulate: Accumulate = name.parse().expect("the name of a unit");
            Some((*name, Dot::new(&format, &format, accumulate).ok()?))
        })
        .collect();
    let mut findings = Findings::new("accumulate-hardware")
        .set("--format", format.to_string())
        .set("--length", length.to_string())
        .set("--trials", trials.to_string())
        .set("--seed", options.key().to_string());
    findings.tables.push(ones(&format, &dots, length));
    let lengths: Vec<usize> =
        std::iter::successors(Some(SHORTEST), |n| Some(4 * n)).take_while(|n| *n < length).collect();
    let lengths: Vec<usize> = lengths.into_iter().chain([length]).collect();
    for terms in Terms::ALL {
        let (table, plot) = errors(options.key(), &format, &dots, terms, &lengths, trials);
        findings.tables.push(table);
        findings.plots.push(plot);
    }
    for note in [
        "Errors are against the exact sum of the same codes: the root mean square of all errors over that of all sums, \
         and the largest error over the same.",
        "f32 is the order of additions that smallfloat documents, in binary32; the others have the bits of MMA-Sim's \
         models of the units. hopper:promote=128 adds to a sum in binary32 after 128 products, as DeepSeek-V3 does.",
    ] {
        findings.note(note);
    }
    #[cfg(feature = "training")]
    if options.formats.is_empty() {
        let (table, plot) = training::trainings(length, trials, options.key())?;
        findings.tables.push(table);
        findings.plots.push(plot);
        findings.note(
            "Training is part of it where --format is not given, as here: E4M3 forward, E5M2 backward, scales by amax of \
             the last 16 steps; at most --length steps and --trials seeds. Runs of one seed differ by the accumulator of \
             all products alone; largest is the difference of the worst seed. The longest sums, of 2,048 products, are \
             over pixels and images and give the gradients of weights.",
        );
    }
    Ok(findings)
}

/// Sums of ones, which stand still where one is less than the last bit that is kept.
fn ones(format: &Format, dots: &[(&str, Dot)], length: usize) -> FindingsTable {
    let one = code(format, 1.0);
    let mut table =
        FindingsTable::new(format!("{length} × 1·1"), ["accumulator", "parameters", "sum", "sum / exact"]);
    for (name, dot) in dots {
        let sum = sum(format, dot, &vec![one; length], &vec![one; length]);
        #[expect(clippy::cast_precision_loss, reason = "lengths are at most 2^20")]
        let share = sum / length as f64;
        table.rows.push(row![*name, parameters(format, dot), Cell::Measured(sum), Cell::Measured(share)]);
    }
    table
}

/// The parameters that a unit's name stands for.
fn parameters(format: &Format, dot: &Dot) -> String {
    match dot.accumulate() {
        Accumulate::Unit(unit) => unit.dot(format, format).map(|dot| dot.fused().to_string()),
        other => Ok(other.to_string()),
    }
    .expect("the unit has an instruction for the format")
}

/// Of each accumulator and length, the errors of some sums.
fn errors(
    seed: u64,
    format: &Format,
    dots: &[(&str, Dot)],
    terms: Terms,
    lengths: &[usize],
    trials: u64,
) -> (FindingsTable, Plot) {
    let longest = *lengths.last().expect("there is one");
    // Of each trial, of each length: the exact sum, then the sums of the accumulators.
    let sums: Vec<Vec<Vec<f64>>> = (0..trials)
        .into_par_iter()
        .map(|trial| {
            let [x, y] =
                [1, 2].map(|side| vector(format, terms, &Random::new(seed, side << 56 | trial), longest));
            let exact = |n: usize| {
                x[..n].iter().zip(&y[..n]).map(|(x, y)| value(format, *x) * value(format, *y)).sum()
            };
            let of_length = |n: &usize| {
                let dots = dots.iter().map(|(_, dot)| sum(format, dot, &x[..*n], &y[..*n]));
                std::iter::once(exact(*n)).chain(dots).collect()
            };
            lengths.iter().map(of_length).collect()
        })
        .collect();
    let mut table = FindingsTable::new(
        format!("Errors of {}, {trials} each", terms.name()),
        ["terms", "accumulator", "rms error / rms sum", "largest / rms sum"],
    );
    let mut series: Vec<Series> =
        dots.iter().map(|(name, _)| Series::new(*name, Mark::Line, Vec::new())).collect();
    for (at, length) in lengths.iter().enumerate() {
        let squares: f64 = sums.iter().map(|sums| sums[at][0] * sums[at][0]).sum();
        for (i, (name, _)) in dots.iter().enumerate() {
            let errors = || sums.iter().map(|sums| sums[at][i + 1] - sums[at][0]);
            let rms = (errors().map(|error| error * error).sum::<f64>() / squares).sqrt();
            #[expect(clippy::cast_precision_loss, reason = "trials and lengths are at most 2^20")]
            let (count, x) = (trials as f64, *length as f64);
            let largest =
                errors().fold(0.0, |most: f64, error| most.max(error.abs())) / (squares / count).sqrt();
            table.rows.push(row![length.to_string(), *name, Cell::Measured(rms), Cell::Measured(largest)]);
            if rms > 0.0 {
                series[i].points.push([x, rms]);
            }
        }
    }
    let plot = Plot {
        title: format!("Errors of {} in {format}", terms.name()),
        x: Axis::log("terms"),
        y: Axis::log("rms error / rms sum"),
        series,
    };
    (table, plot)
}

/// Normal numbers as codes.
fn vector(format: &Format, terms: Terms, random: &Random, length: usize) -> Vec<u16> {
    let normal = (0..length as u64).map(|i| random.normal(i));
    let signed = normal.map(|x| match terms {
        Terms::BothSigns => x,
        Terms::Positive => x.abs(),
    });
    signed.map(|x| code(format, x)).collect()
}

fn code(format: &Format, x: f64) -> u16 {
    let projection = Preset::OcpSaturate.projection(format).with_rounding(Rounding::NearestEven);
    let exact = Exact::from_datum(datum(x));
    u16::try_from(project(exact, format, &projection).value).expect("formats here have at most 16 bits")
}

fn value(format: &Format, code: u16) -> f64 {
    float(format.decode(code.into()))
}

/// The sum of the products of codes.
fn sum(format: &Format, dot: &Dot, x: &[u16], y: &[u16]) -> f64 {
    fn of<C: Code>(dot: &Dot, x: &[C], y: &[C]) -> f64 {
        float(dot.sum(x, y).0)
    }
    let bytes = |codes: &[u16]| codes.iter().map(|code| u8::try_from(*code)).collect::<Result<Vec<u8>, _>>();
    if format.width() > 8 {
        return of(dot, x, y);
    }
    let [x, y] = [x, y].map(|codes| bytes(codes).expect("a code of 8 bits"));
    of(dot, &x, &y)
}
