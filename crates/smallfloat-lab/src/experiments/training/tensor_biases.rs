//! The best biases of real tensors (R41 of `docs/tesla.md`): of each tensor the bias with the least
//! squared error, by role.

use rayon::prelude::*;
use smallfloat::FormatSpec;
use smallfloat_tensor::Magnitudes;

use super::gradient_formats::span;
use super::{Net, Recorded, STEPS, at_best_bias, precision, record};
use crate::error::Error;
use crate::experiments::{ExperimentOption, ExperimentOptions};
use crate::instruments::data::{Role, read};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};

/// Formats, and the bias that IEEE 754's rule gives so many exponent bits.
const FORMATS: [(&str, i32); 3] = [("cfloat8_1_4_3", 7), ("cfloat8_1_5_2", 15), ("shp", 15)];
/// How many steps of a run are recorded.
const RECORDED: usize = 10;

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let specs: Vec<FormatSpec> = if options.formats.is_empty() {
        FORMATS.iter().map(|(name, _)| name.parse()).collect::<Result<_, _>>()?
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
    let steps = options.length.unwrap_or(STEPS);
    let mut findings = Findings::new("tensor-biases");
    let sources: Vec<(String, Vec<Recorded>)> = if let Some(path) = &options.input {
        let tensors = read(path)?;
        #[expect(clippy::cast_possible_truncation, reason = "elements are those of small floats or binary32")]
        let narrow = |tensor: crate::instruments::data::Tensor| Recorded {
            role: tensor.role,
            row: tensor.row,
            values: tensor.values.iter().map(|x| *x as f32).collect(),
        };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        findings = findings.set("tensors", &name);
        vec![(name, tensors.into_iter().map(narrow).collect())]
    } else {
        findings = findings.set("--length", steps.to_string()).set("--seed", options.key().to_string());
        let recorded = recorded_steps(steps);
        let of = |net: Net| Ok((net.name().to_owned(), record(net, &recorded, steps, options.key())?));
        Net::ALL.into_iter().map(of).collect::<Result<_, Error>>()?
    };
    let mut table = FindingsTable::new(
        "Best biases, one of each tensor and step",
        ["model", "tensors", "format", "count", "lowest…highest", "median", "above default", "amax, median"],
    );
    let mut series = Vec::new();
    for (name, tensors) in &sources {
        for (_, role) in Role::NAMED {
            let chosen: Vec<&Recorded> = tensors.iter().filter(|tensor| tensor.role == role).collect();
            for (place, spec) in specs.iter().enumerate() {
                let Some(found) = Biases::of(&chosen, spec)? else { continue };
                table.rows.push(found.row(name, role, spec)?);
                if place == 0 {
                    series.push(Series::new(format!("{name}, {role}"), Mark::Line, found.histogram()));
                }
            }
        }
    }
    findings.tables.push(table);
    findings.plots.push(Plot {
        title: format!("Best biases for {}", specs[0]),
        x: Axis::linear("bias"),
        y: Axis::linear("share of tensors, %"),
        series,
    });
    findings.note(
        "The bias with the least squared error, over all 64. Above default: the share of tensors whose best bias is above 7 for \
         four exponent bits and 15 for five, so that they use a range of smaller values than IEEE 754's rule for biases gives. \
         amax, median: the median of the tensors' largest magnitudes, as a power of two.",
    );
    if options.input.is_none() {
        findings.note(format!(
            "Operands of the products of linear layers and convolutions, recorded at {RECORDED} steps of training in binary32 at \
             most, evenly spread over {steps}."
        ));
    }
    Ok(findings)
}

/// Steps that are evenly spread over a run, its last among them.
fn recorded_steps(steps: usize) -> Vec<usize> {
    let mut at: Vec<usize> = (1..=RECORDED).map(|i| (steps * i).div_ceil(RECORDED)).collect();
    at.dedup();
    at
}

/// The best biases of some tensors, ascending, and their largest magnitudes.
struct Biases {
    best: Vec<i32>,
    largest: Vec<f32>,
}

impl Biases {
    /// `None` where no tensor has an element other than zero.
    fn of(tensors: &[&Recorded], spec: &FormatSpec) -> Result<Option<Self>, Error> {
        let precision = precision(spec)?;
        let each = tensors.par_iter().map(|tensor| -> Result<Option<(i32, f32)>, Error> {
            let magnitudes = Magnitudes::of(&tensor.values, precision);
            if magnitudes.is_zero() {
                return Ok(None);
            }
            let finite = tensor.values.iter().filter(|x| x.is_finite());
            let largest = finite.fold(0.0, |most: f32, x| most.max(x.abs()));
            Ok(Some((at_best_bias(spec, &magnitudes)?.bias(), largest)))
        });
        let each: Vec<Option<(i32, f32)>> = each.collect::<Result<_, _>>()?;
        let (mut best, mut largest): (Vec<i32>, Vec<f32>) = each.into_iter().flatten().unzip();
        best.sort_unstable();
        largest.sort_unstable_by(f32::total_cmp);
        Ok((!best.is_empty()).then_some(Self { best, largest }))
    }

    fn row(&self, model: &str, role: Role, spec: &FormatSpec) -> Result<Vec<Cell>, Error> {
        let count = self.best.len();
        let exponent_bits = spec.with_bias(0)?.exponent_bits();
        let default = (1 << (exponent_bits - 1)) - 1;
        let above = self.best.iter().filter(|bias| **bias > default).count();
        let largest = self.largest[count / 2];
        Ok(row![
            model,
            role.to_string(),
            spec.to_string(),
            count,
            span(&self.best),
            self.best[count / 2],
            Cell::share(above as u64, count as u64),
            format!("2^{:.1}", libm::log2(f64::from(largest))),
        ])
    }

    /// The share of tensors at each bias, in percent, from one below the lowest to one above the
    /// highest.
    fn histogram(&self) -> Vec<[f64; 2]> {
        let (low, high) = (self.best[0], self.best[self.best.len() - 1]);
        let count = |bias: i32| self.best.iter().filter(|best| **best == bias).count() as u64;
        let share = |bias| 100.0 * crate::instruments::findings::ratio(count(bias), self.best.len() as u64);
        (low - 1..=high + 1).map(|bias| [f64::from(bias), share(bias)]).collect()
    }
}
