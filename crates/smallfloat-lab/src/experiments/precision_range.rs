//! Error against dynamic range (the talk, "What precision?": "Higher P => lower dynamic range"; "4
//! is good for weights and activations, 3 for gradients"): Binary8p1se to Binary8p7se on given
//! tensors.
//!
//! A tensor may have a power of two of its own, or all tensors share one. The first asks for
//! precision alone; the second asks for range too, since tensors differ in size.

use rayon::prelude::*;
use smallfloat::{Domain, Format, Parameters, Signedness, Specials, Subnormals};
use smallfloat_tensor::Magnitudes;

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Role, Tensor, binade};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::float;

const WIDTH: u32 = 8;
const PRECISIONS: std::ops::RangeInclusive<u32> = 1..=7;
/// How tensors are scaled: each, all alike, not at all.
const SCALES: [&str; 3] = ["own scale", "one scale", "no scale"];
/// Scales tried around the one that brings the largest element into the top binade.
const BELOW: i32 = 1;
const ABOVE: i32 = 4;

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let (tensors, source) = options.tensors()?;
    let mut roles: Vec<Role> = tensors.iter().map(|tensor| tensor.role).collect();
    roles.dedup();
    let mut findings = Findings::new("precision-range").set("tensors", &source);
    let mut names = Vec::new();
    let mut best = FindingsTable::new("The best precision", ["tensors", "scale", "format", "SQNR, dB"]);
    let mut lines = Vec::new();
    for role in &roles {
        let chosen: Vec<&Tensor> = tensors.iter().filter(|tensor| tensor.role == *role).collect();
        let mut table = FindingsTable::new(
            format!("{role}, mean SQNR in dB over {} tensors of {source}", chosen.len()),
            ["format", "range, binades", "own scale", "one scale", "worst at one scale", "no scale"],
        );
        let mut curves: [Vec<[f64; 2]>; SCALES.len()] = Default::default();
        names.clear();
        for (precision, place) in PRECISIONS.zip(0_u32..) {
            let format = Format::p3109(WIDTH, precision, Signedness::Signed, Domain::Extended)?;
            let range = float(format.max_finite()) / float(format.min_positive());
            let range = (libm::log2(range) + 1.0).floor();
            names.push(format!("P = {precision}, {range} binades"));
            let found = Ratios::of(&chosen, &format)?;
            for (curve, ratio) in curves.iter_mut().zip([found.own, found.one, found.none]) {
                curve.push([f64::from(place), ratio]);
            }
            let mut row = row![format.to_string(), range];
            row.extend([found.own, found.one, found.worst, found.none].map(Cell::Measured));
            table.rows.push(row);
        }
        for (scale, curve) in SCALES.iter().zip(&curves) {
            if let Some((row, ratio)) = table
                .rows
                .iter()
                .zip(curve)
                .max_by(|a, b| a.1[1].total_cmp(&b.1[1]))
                .map(|(row, p)| (row, p[1]))
            {
                best.rows.push(vec![
                    role.to_string().into(),
                    (*scale).into(),
                    row[0].clone(),
                    Cell::Measured(ratio),
                ]);
            }
        }
        findings.tables.push(table);
        lines.extend(curves);
    }
    findings.tables.push(best);
    let names_of = roles.iter().flat_map(|role| SCALES.map(|scale| format!("{role}, {scale}")));
    let curves = names_of.zip(lines).filter(|(name, _)| !name.ends_with(SCALES[1]));
    findings.plots.push(Plot {
        title: format!("Mean SQNR of 8-bit formats by precision, {source}"),
        x: Axis::categories("precision P and dynamic range", names),
        y: Axis::linear("SQNR, dB"),
        series: curves
            .map(|(name, line)| {
                let mark = if name.ends_with(SCALES[0]) { Mark::Dashes } else { Mark::Line };
                Series::new(name, mark, line)
            })
            .collect(),
    });
    for note in [
        "SQNR is 10·log10(Σx² / Σ(x − q)²) of a tensor; the mean over tensors gives each the same say, and one that is lost \
         altogether counts 0 dB. Own scale: for each tensor the power of two with the least error. One scale: for all tensors \
         of a kind the power of two with the best mean. No scale: tensors as they are.",
        "The talk quotes research for its 4 and 3; no number of it is claimed here. What is best follows from the data: the more \
         tensors of a kind differ in size, the more range is worth. SQNR is ruled by the large elements of a tensor; where small \
         ones matter too, range is worth more than it shows.",
    ] {
        findings.note(note);
    }
    if options.input.is_none() {
        findings.note(
            "The built-in sample's spreads are made up: layers of weights and activations differ by a factor of up to 4, of \
             gradients by 2^14. Give --input for tensors of your own.",
        );
    }
    Ok(findings)
}

/// Signal-to-noise ratios in dB of the tensors of one kind.
struct Ratios {
    own: f64,
    one: f64,
    /// Of the worst tensor at one scale.
    worst: f64,
    none: f64,
}

impl Ratios {
    fn of(tensors: &[&Tensor], format: &Format) -> Result<Self, Error> {
        let top = binade(float(format.max_finite()));
        let measured: Vec<(Magnitudes, i32)> = tensors
            .par_iter()
            .filter(|tensor| tensor.amax() > 0.0)
            .map(|tensor| (Magnitudes::of(&tensor.values, format.precision()), top - binade(tensor.amax())))
            .collect();
        let (Some(first), Some(last)) =
            (measured.iter().map(|(_, e)| e).min(), measured.iter().map(|(_, e)| e).max())
        else {
            return Ok(Self { own: f64::NAN, one: f64::NAN, worst: f64::NAN, none: f64::NAN });
        };
        let formats: Vec<Format> =
            (first - BELOW..=last + ABOVE).map(|e| at_scale(format, e)).collect::<Result<_, Error>>()?;
        // For each tensor, by scale.
        let ratios: Vec<Vec<f64>> = measured
            .par_iter()
            .map(|(magnitudes, _)| formats.iter().map(|format| sqnr(magnitudes, format)).collect())
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a number of tensors")]
        let count = ratios.len() as f64;
        let own =
            ratios.iter().map(|by_scale| by_scale.iter().copied().fold(0.0, f64::max)).sum::<f64>() / count;
        let mean = |scale: usize| ratios.iter().map(|by_scale| by_scale[scale]).sum::<f64>() / count;
        let best = (0..formats.len()).max_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        let best = best.expect("BELOW + ABOVE scales at least");
        let worst = ratios.iter().map(|by_scale| by_scale[best]).fold(f64::INFINITY, f64::min);
        let none = measured.iter().map(|(magnitudes, _)| sqnr(magnitudes, format)).sum::<f64>() / count;
        Ok(Self { own, one: mean(best), worst, none })
    }
}

/// The format with all its values times 2^−e, which rounds as the format does after a
/// multiplication by 2^e.
fn at_scale(format: &Format, e: i32) -> Result<Format, Error> {
    Ok(Format::minifloat(Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias() + e,
        signedness: Signedness::Signed,
        specials: Specials::P3109Extended,
        subnormals: Subnormals::Gradual,
    })?)
}

fn sqnr(magnitudes: &Magnitudes, format: &Format) -> f64 {
    let ratio = magnitudes.signal() / magnitudes.squared_error(format);
    // A tensor that is exact has no noise; no 8-bit format is better than this on anything else.
    (10.0 * libm::log10(ratio)).clamp(0.0, 200.0)
}
