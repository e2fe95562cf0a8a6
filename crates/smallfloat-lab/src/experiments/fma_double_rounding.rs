//! x·y + z through a wider format (the talk, "Incorrect rounding under float32"): rounded to the
//! wider format first and then to the result, against rounded once. All triples of finite operands
//! are tried, grouped by equal products.

use std::collections::HashMap;

use rayon::prelude::*;
use smallfloat::formats::BINARY32;
use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Datum, Exact, Flags, Format, project};

use crate::error::Error;
use crate::experiments::{ExperimentOption, ExperimentOptions};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{ArithmeticUnit, Overflow};

const FORMATS: [&str; 6] =
    ["binary8p2se", "binary8p3se", "binary8p4se", "e5m2", "e4m3fn", "cfloat8_1_5_2:bias=15"];
/// All triples of wider formats would be too many.
const MAX_WIDTH: u32 = 8;
/// The talk's operands: 3/1024, 49152 and 2^−17, in Binary8p3se.
const TALK: [Datum; 3] =
    [Datum::finite(false, 3, -10), Datum::finite(false, 3, 14), Datum::finite(false, 1, -17)];

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let formats = options.formats_or(&FORMATS)?;
    if let Some(wide) = formats.iter().find(|format| format.width() > MAX_WIDTH) {
        return Err(super::unfit(ExperimentOption::Format, wide, "a format of at most 8 bits"));
    }
    let through = options.accumulator_or(BINARY32)?;
    let mut findings = Findings::new("fma-double-rounding").set("--accumulator", through.to_string());
    findings.tables.push(talk(&through));
    let counts: Vec<Vec<TripleCounts>> =
        formats.par_iter().map(|operands| count(operands, &formats, &through)).collect();
    let mut table = FindingsTable::new(
        format!("All finite x, y, z: x·y + z through {through}, then to the result"),
        ["operands", "result", "triples", "inexact in between", "results that differ", "share"],
    );
    let mut bars: Vec<Vec<[f64; 2]>> = vec![Vec::new(); formats.len()];
    for ((operands, counts), place) in formats.iter().zip(&counts).zip(0_u32..) {
        for ((result, count), bars) in formats.iter().zip(counts).zip(&mut bars) {
            let share = Cell::share(count.different, count.triples);
            bars.push([f64::from(place), share.number().unwrap_or(0.0)]);
            table.rows.push(row![
                operands.to_string(),
                result.to_string(),
                count.triples,
                count.inexact,
                count.different,
                share,
            ]);
        }
    }
    findings.tables.push(table);
    findings.plots.push(Plot {
        title: format!("Share of all x·y + z whose result differs when it passes through {through}"),
        x: Axis::categories("format of x, y and z", &formats),
        y: Axis::linear("share of triples"),
        series: (formats.iter().zip(bars))
            .map(|(format, bars)| Series::new(format!("to {format}"), Mark::Bars, bars))
            .collect(),
    });
    findings.note(
        "Rounding to nearest even both times, into the result with saturation. A sum that is exact in the wider format is rounded \
         once in both ways, so only sums of terms of very different size can differ, and of these those that the wider format \
         rounds onto the middle between two results.",
    );
    Ok(findings)
}

/// The talk's example, step by step.
fn talk(through: &Format) -> FindingsTable {
    let format: Format = "binary8p3se".parse().expect("a format of P3109");
    let (narrow, wide) =
        (ArithmeticUnit::new(&format, Overflow::Saturate), ArithmeticUnit::new(through, Overflow::Infinity));
    let [x, y, z] = TALK;
    let between = wide.fma(x, y, z);
    let mut table = FindingsTable::new("The talk's example in Binary8p3se", ["", "value"]);
    table.rows = vec![
        row!["x", x],
        row!["y", y],
        row!["z", z],
        row!["x·y + z", ArithmeticUnit::reference().fma(x, y, z)],
        row![format!("in {through}"), between],
        row!["then in Binary8p3se", narrow.round(between)],
        row!["rounded once", narrow.fma(x, y, z)],
    ];
    table
}

#[derive(Clone, Copy, Default)]
struct TripleCounts {
    triples: u64,
    inexact: u64,
    different: u64,
}

/// For each result format, what becomes of all triples of operands.
fn count(operands: &Format, results: &[Format], through: &Format) -> Vec<TripleCounts> {
    let values: Vec<Datum> =
        (0..=operands.max_code()).map(|code| operands.decode(code)).filter(Datum::is_finite).collect();
    let mut products: HashMap<Datum, u64> = HashMap::new();
    for (i, &x) in values.iter().enumerate() {
        for (j, &y) in values.iter().enumerate().skip(i) {
            let Exact::Finite { negative, significand, exponent, .. } =
                Operation::Multiply.exact([x, y, Datum::ZERO], Semantics::Ieee).exact
            else {
                continue;
            };
            let significand = u64::try_from(significand).expect("factors of at most 8 bits");
            let product = Datum::finite(negative, significand, exponent);
            *products.entry(product).or_default() += if i == j { 1 } else { 2 };
        }
    }
    let wide = through.default_projection();
    let units: Vec<ArithmeticUnit> =
        results.iter().map(|format| ArithmeticUnit::new(format, Overflow::Saturate)).collect();
    let mut counts = vec![TripleCounts::default(); results.len()];
    for (&product, &times) in &products {
        for &z in &values {
            let exact = Operation::Add.exact([product, z, Datum::ZERO], Semantics::Ieee).exact;
            let between = project(exact, through, &wide);
            let is_inexact = between.flags.contains(Flags::INEXACT);
            for (count, unit) in counts.iter_mut().zip(&units) {
                count.triples += times;
                if is_inexact {
                    count.inexact += times;
                    let twice = unit.round(through.decode(between.value));
                    let once = unit.round(exact);
                    count.different += if twice == once { 0 } else { times };
                }
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 2-bit significands, everything is exact in binary32 over a range of a few binades.
    #[test]
    fn narrow_ranges_never_differ() {
        let format: Format = "e2m1fn".parse().expect("a name");
        let [count] = count(&format, &[format], &BINARY32)[..] else { panic!("one result") };
        // 16 codes, all finite.
        assert_eq!((count.triples, count.inexact, count.different), (4096, 0, 0));
        let talk = talk(&BINARY32);
        assert_eq!(talk.rows[5][1].number(), Some(128.0));
    }
}
