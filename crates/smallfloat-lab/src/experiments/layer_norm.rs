//! A norm whose sum of squares overflows (the talk, "Example: batch/layer normalization").
//!
//! M holds N numbers uniform in (0, 1), times 128, in an 8-bit format with the largest value F. ν =
//! √Σ mᵢ² is about 128 · √(N/3); where the sum saturates at F it is √F whatever N is: 15.49 for F =
//! 240, a plausible number.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32};
use smallfloat::ops::{Operation, Sum};
use smallfloat::{Datum, Format};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Random, binade, scaled};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{ArithmeticUnit, Overflow, float};

const LENGTHS: [u64; 5] = [16, 64, 256, 1024, 4096];

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let format = options.format_or("binary8p4sf")?;
    let accumulators = match options.accumulator {
        Some(_) => vec![options.accumulator_or(BINARY16)?],
        None => vec![format, BINARY16, BFLOAT16, BINARY32],
    };
    // 128 where the largest value is 240: one binade below the top, so that M uses the range and
    // does not saturate.
    let scale = scaled(1.0, binade(float(format.max_finite())));
    let mut findings = Findings::new("layer-norm")
        .set("--format", format.to_string())
        .set("--seed", options.key().to_string())
        .set("M", format!("{scale} × uniform(0, 1), rounded to {format}"));
    let mut table = FindingsTable::new(
        "√Σ m², the sum held in the accumulator",
        ["N", "exact norm", "accumulator", "OvSAT", "OvINF", "OvNAN"],
    );
    let mut lines: Vec<Vec<[f64; 2]>> = vec![Vec::new(); accumulators.len() + 1];
    for length in LENGTHS {
        let values = vector(&format, scale, options.key(), length);
        let exact = exact_norm(&values);
        #[expect(clippy::cast_precision_loss, reason = "small lengths")]
        let n = length as f64;
        lines[0].push([n, exact]);
        for (accumulator, line) in accumulators.iter().zip(&mut lines[1..]) {
            let norms =
                Overflow::ALL.map(|rule| float(norm(&values, &ArithmeticUnit::new(accumulator, rule))));
            line.push([n, norms[0]]);
            let [saturate, infinity, nan] = norms.map(Cell::Measured);
            table.rows.push(row![
                length,
                Cell::Measured(exact),
                accumulator.to_string(),
                saturate,
                infinity,
                nan
            ]);
        }
    }
    findings.tables.push(table);
    let names = accumulators.iter().map(|accumulator| format!("in {accumulator}, OvSAT"));
    let names = std::iter::once("exact".to_owned()).chain(names);
    let marks = std::iter::once(Mark::Dashes).chain(std::iter::repeat(Mark::Line));
    findings.plots.push(Plot {
        title: format!("Norm of N numbers below {scale} in {format}"),
        x: Axis::log("N"),
        y: Axis::log("√Σ m²"),
        series: names
            .zip(marks)
            .zip(lines)
            .map(|((name, mark), line)| Series::new(name, mark, line))
            .collect(),
    });
    findings.note(format!(
        "A saturated sum gives √{} = {:.2} for every N: no NaN, no infinity, and the vector is scaled by far too much. The talk \
         says ≈ 16.",
        float(format.max_finite()),
        float(saturated_norm(&format)),
    ));
    findings.note(
        "The root is rounded to binary64. Sums held in few bits also stop growing before they overflow: a square below half a \
         last place of the sum is lost, as the lines of bfloat16 show.",
    );
    Ok(findings)
}

/// N numbers uniform in (0, scale), rounded to the format.
fn vector(format: &Format, scale: f64, seed: u64, length: u64) -> Vec<Datum> {
    let (unit, random) = (ArithmeticUnit::new(format, Overflow::Saturate), Random::new(seed, length));
    (0..length).map(|i| unit.number(scale * random.uniform(i))).collect()
}

fn norm(values: &[Datum], unit: &ArithmeticUnit) -> Datum {
    let sum = values.iter().fold(unit.round(Datum::ZERO), |sum, &x| unit.fma(x, x, sum));
    ArithmeticUnit::reference().call(Operation::Sqrt, &[sum])
}

fn exact_norm(values: &[Datum]) -> f64 {
    let mut sum = Sum::new();
    for &x in values {
        sum.add_product(x, x);
    }
    let unit = ArithmeticUnit::reference();
    float(unit.call(Operation::Sqrt, &[unit.round(sum.exact())]))
}

fn saturated_norm(format: &Format) -> Datum {
    ArithmeticUnit::reference().call(Operation::Sqrt, &[format.max_finite()])
}
