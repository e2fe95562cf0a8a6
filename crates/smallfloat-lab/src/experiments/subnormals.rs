//! The range that subnormals add (the talk, "On subnormals"): exponent field 0 as a subnormal
//! binade, and as an ordinary one.

use smallfloat::{Class, Format, Parameters, Subnormals};

use crate::error::Error;
use crate::experiments::{ExperimentOption, ExperimentOptions};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::float;

const FORMATS: [&str; 8] = [
    "binary8p4se",
    "binary8p2se",
    "binary8p3se",
    "binary8p5se",
    "binary8p6se",
    "binary8p7se",
    "e5m2",
    "e4m3fn",
];
/// The rows of the talk's columns.
const ROWS: u64 = 16;

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let formats = options.formats_or(&FORMATS)?;
    if let Some(plain) = formats.iter().find(|format| !format.has_subnormals()) {
        return Err(super::unfit(ExperimentOption::Format, plain, "a format with subnormals"));
    }
    let mut findings = Findings::new("subnormals");
    let first = formats[0];
    findings.tables.push(columns(&first, &with(&first, Subnormals::None)?));
    let mut table = FindingsTable::new(
        "Smallest positive values and ranges",
        ["format", "smallest", "without", "gain", "binades", "binades without"],
    );
    let mut lines: [Vec<[f64; 2]>; 2] = Default::default();
    for (format, place) in formats.iter().zip(0_u32..) {
        let without = with(format, Subnormals::None)?;
        let [low, high] = [format, &without].map(|format| float(format.min_positive()));
        let binades = |smallest: f64| libm::log2(float(format.max_finite()) / smallest);
        lines[0].push([f64::from(place), binades(low)]);
        lines[1].push([f64::from(place), binades(high)]);
        table.rows.push(row![
            format.to_string(),
            low,
            high,
            Cell::Measured(high / low),
            Cell::Measured(binades(low)),
            Cell::Measured(binades(high)),
        ]);
    }
    findings.tables.push(table);
    let [with, without] = lines;
    findings.plots.push(Plot {
        title: "Dynamic range with and without subnormals".into(),
        x: Axis::categories("format", &formats),
        y: Axis::linear("log2(largest / smallest)"),
        series: vec![
            Series::new("with subnormals", Mark::Bars, with),
            Series::new("without", Mark::Bars, without),
        ],
    });
    findings.note(
        "Without subnormals code 0 stays zero and the other codes with exponent field 0 get a hidden bit: 2^−bias × 1.m, so the \
         smallest is just above 2^−bias. The talk says that dynamic range grows more than fourfold at P = 4: it is 4.5 = 2^−7.83 / \
         2^−10.",
    );
    findings.note(
        "At P = 2 the gain is 1.5, at P = 7 it is 65/2 = 32.5: the more bits below the hidden one, the further subnormals reach.",
    );
    Ok(findings)
}

/// The format with another reading of exponent field 0.
fn with(format: &Format, subnormals: Subnormals) -> Result<Format, Error> {
    Ok(Format::minifloat(Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias(),
        signedness: format.signedness(),
        specials: format.specials(),
        subnormals,
    })?)
}

/// The talk's two columns: the first codes in both readings.
fn columns(with: &Format, without: &Format) -> FindingsTable {
    let mut table = FindingsTable::new(
        format!("The first codes of {with}"),
        ["code", "class", "with subnormals", "without"],
    );
    for code in 0..ROWS.min(with.max_code()) {
        let class =
            if with.classify(code) == Class::Zero { "zero".into() } else { with.classify(code).to_string() };
        table.rows.push(row![format!("0x{code:02x}"), class, with.decode(code), without.decode(code)]);
    }
    table
}
