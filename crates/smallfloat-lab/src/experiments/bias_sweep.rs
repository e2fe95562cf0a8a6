//! The error of Tesla's configurable formats at every bias (`docs/tesla.md`): how much a tensor's
//! own bias is worth against one for all, how wide the best range of biases is, and what the two
//! readings of denormals cost.

use rayon::prelude::*;
use smallfloat::FormatSpec;
use smallfloat_tensor::{BiasPolicy, Magnitudes};

use crate::error::Error;
use crate::experiments::{ExperimentOption, ExperimentOptions};
use crate::instruments::data::{Role, Tensor};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};

const FORMATS: [&str; 4] = [
    "cfloat8_1_4_3",
    "cfloat8_1_4_3:subnormals=gradual",
    "cfloat8_1_5_2",
    "cfloat8_1_5_2:subnormals=gradual",
];
const BIASES: std::ops::RangeInclusive<i32> = 0..=63;

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let specs: Vec<FormatSpec> = if options.formats.is_empty() {
        FORMATS.iter().map(|name| name.parse()).collect::<Result<_, _>>()?
    } else {
        options.formats.clone()
    };
    if let Some(fixed) = specs.iter().find(|spec| !spec.has_free_bias() || spec.bias().is_some()) {
        return Err(Error::OptionRange {
            option: ExperimentOption::Format.name(),
            given: fixed.to_string(),
            expected: "a format of Tesla's whose bias is not given: cfloat8_1_4_3, cfloat8_1_5_2, shp".into(),
        });
    }
    let (tensors, source) = options.tensors()?;
    let mut roles: Vec<Role> = tensors.iter().map(|tensor| tensor.role).collect();
    roles.dedup();
    let mut findings = Findings::new("bias-sweep").set("tensors", &source);
    let mut series = Vec::new();
    for role in &roles {
        let mut table = FindingsTable::new(
            format!("{role}, mean SQNR in dB over the tensors of {source}"),
            [
                "format",
                "best biases",
                "own bias",
                "bias by amax",
                "best one",
                "with it",
                "worst with it",
                "within 1 dB",
            ],
        );
        let chosen: Vec<&Tensor> = tensors.iter().filter(|tensor| tensor.role == *role).collect();
        for (place, spec) in specs.iter().enumerate() {
            let sweep = Sweep::of(&chosen, spec)?;
            table.rows.push(sweep.row(spec));
            // The gradual reading differs at the lower end only.
            if place % 2 == 0 || !options.formats.is_empty() {
                let points =
                    BIASES.zip(&sweep.means).map(|(bias, mean)| [f64::from(bias), *mean]).collect::<Vec<_>>();
                series.push(Series::new(format!("{role}, {spec}"), Mark::Line, points));
            }
        }
        findings.tables.push(table);
    }
    findings.plots.push(Plot {
        title: format!("Mean SQNR with one bias for all tensors, {source}"),
        x: Axis::linear("bias"),
        y: Axis::linear("SQNR, dB"),
        series,
    });
    for note in [
        "Exact errors, rounded to nearest even and saturating. Own bias: of each tensor the bias with the least squared error. \
         By amax: the largest bias at which no element saturates. Within 1 dB: at how many biases a tensor is within 1 dB of its \
         best, on average.",
        "A bias beyond the best saturates the largest elements, and the error rises fast; a bias below it wastes range, which costs \
         little until elements underflow.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// All tensors of a kind at all biases.
struct Sweep {
    /// The best bias of each tensor.
    best: Vec<i32>,
    /// Mean ratios: of each tensor's best bias, of the bias by amax.
    own: f64,
    amax: f64,
    /// By bias, for all tensors: the mean and the worst.
    means: Vec<f64>,
    worst: Vec<f64>,
    /// Biases of a tensor within 1 dB of its best, on average.
    plateau: f64,
}

impl Sweep {
    fn of(tensors: &[&Tensor], spec: &FormatSpec) -> Result<Self, Error> {
        let precision = spec.with_bias(0)?.precision();
        let found: Vec<(Vec<f64>, f64)> = tensors
            .par_iter()
            .filter(|tensor| tensor.amax() > 0.0)
            .map(|tensor| {
                let magnitudes = Magnitudes::of(&tensor.values, precision);
                let ratio = |format| sqnr(&magnitudes, &format);
                let all: Result<Vec<f64>, Error> =
                    BIASES.map(|bias| Ok(ratio(spec.with_bias(bias)?))).collect();
                let amax = BiasPolicy::Amax { margin: 0 }
                    .choose(spec, Some(&magnitudes))
                    .map_err(|e| Error::Step { step: "choosing a bias", cause: e.to_string() })?;
                Ok((all?, ratio(amax)))
            })
            .collect::<Result<_, Error>>()?;
        let best_of = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
            sum / count
        };
        let best = found.iter().map(|(ratios, _)| {
            let most = best_of(ratios);
            let best = BIASES.zip(ratios).filter(|(_, ratio)| **ratio >= most).map(|(bias, _)| bias).last();
            best.expect("one of the ratios is the largest")
        });
        let by_bias = |i: usize| found.iter().map(move |(ratios, _)| ratios[i]);
        let near = |ratios: &[f64]| ratios.iter().filter(|ratio| **ratio > best_of(ratios) - 1.0).count();
        #[expect(clippy::cast_precision_loss, reason = "at most 64")]
        let plateau = mean(&mut found.iter().map(|(ratios, _)| near(ratios) as f64));
        let count = BIASES.count();
        Ok(Self {
            best: best.collect(),
            own: mean(&mut found.iter().map(|(ratios, _)| best_of(ratios))),
            amax: mean(&mut found.iter().map(|(_, amax)| *amax)),
            means: (0..count).map(|i| mean(&mut by_bias(i))).collect(),
            worst: (0..count).map(|i| by_bias(i).fold(f64::INFINITY, f64::min)).collect(),
            plateau,
        })
    }

    fn row(&self, spec: &FormatSpec) -> Vec<Cell> {
        let (low, high) = (self.best.iter().min(), self.best.iter().max());
        let best = match (low, high) {
            (Some(low), Some(high)) if low != high => format!("{low}…{high}"),
            (Some(low), _) => low.to_string(),
            _ => String::new(),
        };
        let one = (0..self.means.len()).max_by(|&a, &b| self.means[a].total_cmp(&self.means[b]));
        let one = one.expect("there are biases");
        row![
            spec.to_string(),
            best,
            Cell::Measured(self.own),
            Cell::Measured(self.amax),
            one,
            Cell::Measured(self.means[one]),
            Cell::Measured(self.worst[one]),
            Cell::Measured(self.plateau),
        ]
    }
}

fn sqnr(magnitudes: &Magnitudes, format: &smallfloat::Format) -> f64 {
    (10.0 * libm::log10(magnitudes.signal() / magnitudes.squared_error(format))).clamp(0.0, 200.0)
}
