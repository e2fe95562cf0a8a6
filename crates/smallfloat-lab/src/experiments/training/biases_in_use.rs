//! How many biases a run uses at a time: distinct pairs of format and bias over all tensors of a
//! step, and how often and how far the bias of a tensor changes.

use std::collections::BTreeSet;

use smallfloat_train::{BiasChange, Config};

use super::{Net, STEPS, failed, preset_of};
use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};

/// Presets of the training crate that choose biases, and one that has the best bias at every step.
const POLICIES: [(&str, &str); 4] = [
    ("cfloat8", "amax of 16 steps"),
    ("flag-driven", "overflow flags"),
    ("gradients-shp", "amax of 16 steps, gradients in SHP"),
    ("cfloat8", "least error at every step"),
];

/// Steps of a run that are drawn at most.
const DRAWN: usize = 50;

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let steps = options.length.unwrap_or(STEPS);
    let mut findings = Findings::new("biases-in-use")
        .set("--length", steps.to_string())
        .set("--seed", options.key().to_string());
    let mut table = FindingsTable::new(
        "Distinct pairs of format and bias in a step",
        [
            "model",
            "biases by",
            "tensors",
            "fewest",
            "mean",
            "most",
            "in the run",
            "changes",
            "from step 100",
            "largest",
        ],
    );
    for net in Net::ALL {
        let mut series = Vec::new();
        for (place, (preset, name)) in POLICIES.into_iter().enumerate() {
            let mut config = preset_of(preset)?;
            if place == POLICIES.len() - 1 {
                each_step(&mut config);
            }
            let course = Course::of(net, config, steps, options.key())?;
            table.rows.push(course.row(net, name));
            #[expect(clippy::cast_precision_loss, reason = "at most 2^20")]
            let points = course.distinct.iter().enumerate().map(|(i, n)| [(i + 1) as f64, *n as f64]);
            let points = points.step_by(steps.div_ceil(DRAWN));
            series.push(Series::new(name, Mark::Line, points));
        }
        findings.plots.push(Plot {
            title: format!("Distinct pairs of format and bias, {}", net.name()),
            x: Axis::linear("step"),
            y: Axis::linear("pairs in use"),
            series,
        });
    }
    findings.tables.push(table);
    for note in [
        "Tensors: inputs, weights and gradients of each linear layer and convolution, CFloat8_1_4_3 forward, and CFloat8_1_5_2 or \
         SHP backward. All could differ: as many pairs as tensors, of 64 biases for each format.",
        "Changes: per tensor and 100 steps, in the whole run and from step 100 on; largest: by how much a bias changed at once. \
         Neither counts the first step, which takes tensors from the bias of the configuration to their own.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// The bias with the least squared error, of every tensor at every step.
fn each_step(config: &mut Config) {
    for class in [&mut config.activations, &mut config.weights, &mut config.gradients] {
        class.bias = Some(smallfloat_tensor::BiasPolicy::LeastError);
    }
}

/// What happened to the biases of a run.
struct Course {
    tensors: usize,
    steps: usize,
    /// Step by step.
    distinct: Vec<usize>,
    /// Of the whole run.
    all: usize,
    changes: Vec<BiasChange>,
}

impl Course {
    fn of(net: Net, config: Config, steps: usize, seed: u64) -> Result<Self, Error> {
        let mut trainer = net.trainer(config, steps, seed)?;
        let (mut distinct, mut all) = (Vec::new(), BTreeSet::new());
        while trainer.step().map_err(failed)?.is_some() {
            let quantizers = trainer.quantizers();
            let pairs: BTreeSet<(String, i32)> = quantizers
                .iter()
                .filter_map(|quantizer| Some((quantizer.spec().to_string(), quantizer.bias()?)))
                .collect();
            distinct.push(pairs.len());
            all.extend(pairs);
        }
        let quantizers = trainer.quantizers();
        Ok(Self {
            tensors: quantizers.len(),
            steps,
            distinct,
            all: all.len(),
            changes: quantizers
                .iter()
                .flat_map(|quantizer| quantizer.changes().to_vec())
                .filter(|change| change.step > 1)
                .collect(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn row(&self, net: Net, name: &str) -> Vec<Cell> {
        let mean = self.distinct.iter().sum::<usize>() as f64 / self.distinct.len() as f64;
        let places = (self.tensors * self.steps) as f64 / 100.0;
        let largest = self.changes.iter().map(|change| change.from.abs_diff(change.to)).max();
        let late = self.changes.iter().filter(|change| change.step >= 100).count();
        let later = self.tensors * (self.steps + 1).saturating_sub(100);
        row![
            net.name(),
            name,
            self.tensors,
            self.distinct.iter().min().copied(),
            Cell::Measured(mean),
            self.distinct.iter().max().copied(),
            self.all,
            Cell::Measured(self.changes.len() as f64 / places),
            if later == 0 { Cell::Empty } else { Cell::Measured(100.0 * late as f64 / later as f64) },
            largest,
        ]
    }
}
