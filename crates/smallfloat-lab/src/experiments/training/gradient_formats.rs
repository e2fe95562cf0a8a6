//! Which formats hold gradients (R40 of `docs/tesla.md`): how much of recorded gradients is lost in
//! each format, at the best bias of each tensor or at one for all, and what training makes of it.

use rayon::prelude::*;
use smallfloat::{FormatSpec, Rounding, Saturation};
use smallfloat_kernels::Encoder;
use smallfloat_tensor::{BiasPolicy, Magnitudes};
use smallfloat_train::{ClassConfig, Config, Spec};

use super::{Net, Recorded, STEPS, at_best_bias, failed, precision, preset_of, record};
use crate::error::Error;
use crate::experiments::{ExperimentOption, ExperimentOptions, unfit};
use crate::instruments::data::Role;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, ratio, row};

const FORMATS: [&str; 8] = [
    "cfloat8_1_4_3",
    "cfloat8_1_5_2",
    "shp",
    "cfloat8_1_4_3:bias=7",
    "cfloat8_1_5_2:bias=15",
    "shp:bias=15",
    "binary16",
    "bfloat16",
];
const TRIALS: u64 = 3;
/// Binades of the picture.
const LOWEST: i32 = -40;
const HIGHEST: i32 = 0;

pub(super) fn check(spec: &FormatSpec) -> Result<(), Error> {
    let format = spec.format().or_else(|_| spec.with_bias(15))?;
    if !format.is_signed() {
        let expected = "a signed format: gradients are negative half of the time, which it has no codes for";
        return Err(unfit(ExperimentOption::Format, &format, expected));
    }
    crate::experiments::narrow(ExperimentOption::Format, &format)
}

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let specs: Vec<FormatSpec> = if options.formats.is_empty() {
        FORMATS.iter().map(|name| name.parse()).collect::<Result<_, _>>()?
    } else {
        options.formats.clone()
    };
    specs.iter().try_for_each(check)?;
    let steps = options.length.unwrap_or(STEPS);
    let trials = options.trials.unwrap_or(TRIALS);
    let mut findings = Findings::new("gradient-formats")
        .set("--length", steps.to_string())
        .set("--trials", trials.to_string())
        .set("--seed", options.key().to_string());
    let mut lost = FindingsTable::new(
        format!("Gradients of step {steps} of training in binary32"),
        ["model", "format", "biases", "become 0", "clamped", "subnormal", "SQNR, dB", "worst tensor"],
    );
    let mut histograms = Vec::new();
    for net in Net::ALL {
        let mut tensors = record(net, &[steps], steps, options.key())?;
        tensors.retain(|tensor| tensor.role == Role::Gradients);
        for spec in &specs {
            lost.rows.push(Losses::of(&tensors, spec)?.row(net, spec));
        }
        histograms.push(Series::new(net.name(), Mark::Line, histogram(&tensors)));
    }
    findings.tables.push(lost);
    findings.plots.push(Plot {
        title: format!("Magnitudes of gradients, step {steps}"),
        x: Axis::linear("binade: ⌊log2 of the magnitude⌋"),
        y: Axis::linear("share of elements, %"),
        series: histograms,
    });
    let (table, plot) = trainings(&specs, steps, trials, options.key())?;
    findings.tables.push(table);
    findings.plots.push(plot);
    for note in [
        "Gradients are those of the outputs of linear layers and convolutions. Where a row names no bias, each tensor has the \
         bias with the least squared error in the first table, and one by amax of the last 16 steps in the second. Become 0: of \
         those that were not. Subnormal: below the smallest normal value, and not 0 after rounding.",
        "Training: inputs and weights of products in cfloat8_1_4_3 with biases by amax of the last 16 steps, gradients as the row \
         says, all else binary32; no loss scale. The loss is that of images, or places, which are not learnt from; above f32 is \
         the mean difference from the run of the same seed whose gradients are not rounded, and largest that of the worst seed.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// What a format does to some tensors.
#[derive(Default)]
struct Losses {
    biases: Vec<i32>,
    elements: u64,
    zeroed: u64,
    clamped: u64,
    subnormal: u64,
    ratios: Vec<f64>,
}

impl Losses {
    fn of(tensors: &[Recorded], spec: &FormatSpec) -> Result<Self, Error> {
        let precision = precision(spec)?;
        let each = tensors.par_iter().map(|tensor| -> Result<Option<Self>, Error> {
            let magnitudes = Magnitudes::of(&tensor.values, precision);
            if magnitudes.is_zero() {
                return Ok(None);
            }
            let format = at_best_bias(spec, &magnitudes)?;
            let projection = format
                .default_projection()
                .with_rounding(Rounding::NearestEven)
                .with_saturation(Saturation::SatFinite);
            let mut codes = vec![0_u16; tensor.values.len()];
            let events =
                Encoder::<f32>::new(&format, &projection).map_err(failed)?.encode(&tensor.values, &mut codes);
            let least = format.min_normal().to_f64().expect("formats of 16 bits lie within binary64");
            let small = |x: &f32| *x != 0.0 && f64::from(x.abs()) < least;
            let below = tensor.values.iter().filter(|x| small(x)).count() as u64;
            let error = magnitudes.squared_error(&format);
            Ok(Some(Self {
                biases: spec.has_free_bias().then_some(format.bias()).into_iter().collect(),
                elements: tensor.values.iter().filter(|x| **x != 0.0).count() as u64,
                zeroed: events.underflowed,
                clamped: events.overflowed,
                subnormal: below - events.underflowed,
                ratios: vec![(10.0 * libm::log10(magnitudes.signal() / error)).min(200.0)],
            }))
        });
        let each: Vec<Option<Self>> = each.collect::<Result<_, _>>()?;
        Ok(each.into_iter().flatten().fold(Self::default(), |mut sum, one| {
            sum.biases.extend(one.biases);
            sum.elements += one.elements;
            sum.zeroed += one.zeroed;
            sum.clamped += one.clamped;
            sum.subnormal += one.subnormal;
            sum.ratios.extend(one.ratios);
            sum
        }))
    }

    fn row(&self, net: Net, spec: &FormatSpec) -> Vec<Cell> {
        let share = |count| Cell::share(count, self.elements);
        #[expect(clippy::cast_precision_loss, reason = "models have few layers")]
        let mean = self.ratios.iter().sum::<f64>() / self.ratios.len() as f64;
        let worst = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        row![
            net.name(),
            spec.to_string(),
            span(&self.biases),
            share(self.zeroed),
            share(self.clamped),
            share(self.subnormal),
            Cell::Measured(mean),
            Cell::Measured(worst),
        ]
    }
}

/// The lowest and the highest.
pub(super) fn span(biases: &[i32]) -> String {
    match (biases.iter().min(), biases.iter().max()) {
        (Some(low), Some(high)) if low != high => format!("{low}…{high}"),
        (Some(low), _) => low.to_string(),
        _ => String::new(),
    }
}

/// The share of non-zero elements in each binade, in percent.
fn histogram(tensors: &[Recorded]) -> Vec<[f64; 2]> {
    let values = || tensors.iter().flat_map(|tensor| &tensor.values).filter(|x| **x != 0.0);
    let mut counts = vec![0_u64; usize::try_from(HIGHEST - LOWEST + 1).expect("a few binades")];
    for x in values() {
        let binade = crate::instruments::data::binade(f64::from(*x)).clamp(LOWEST, HIGHEST);
        counts[usize::try_from(binade - LOWEST).expect("at least the lowest")] += 1;
    }
    let all = values().count() as u64;
    (LOWEST..=HIGHEST).zip(counts).map(|(e, count)| [f64::from(e), 100.0 * ratio(count, all)]).collect()
}

/// Validation loss and accuracy, and the shares of gradients that became zero and that overflowed.
#[derive(Clone, Copy)]
struct Outcome {
    loss: f64,
    accuracy: f64,
    zeroed: f64,
    clamped: f64,
}

fn trainings(
    specs: &[FormatSpec],
    steps: usize,
    trials: u64,
    seed: u64,
) -> Result<(FindingsTable, Plot), Error> {
    let mut table = FindingsTable::new(
        format!("Training, {steps} steps, {trials} seeds from {seed} on"),
        ["model", "gradients in", "loss", "accuracy", "above f32", "largest", "became 0", "clamped"],
    );
    let mut series = Vec::new();
    for net in Net::ALL {
        let seeds: Vec<u64> = (0..trials).map(|trial| seed.wrapping_add(trial)).collect();
        let runs = |spec: Option<&FormatSpec>| -> Result<Vec<Outcome>, Error> {
            seeds.par_iter().map(|seed| train(net, spec, steps, *seed)).collect()
        };
        let plain = runs(None)?;
        #[expect(clippy::cast_precision_loss, reason = "at most a million")]
        let mean = |of: &dyn Fn(usize) -> f64| (0..seeds.len()).map(of).sum::<f64>() / seeds.len() as f64;
        let mut points = Vec::new();
        for (place, spec) in std::iter::once(None).chain(specs.iter().map(Some)).enumerate() {
            let found = if spec.is_none() { plain.clone() } else { runs(spec)? };
            let above = |i: usize| found[i].loss - plain[i].loss;
            let largest = (0..seeds.len()).map(above).fold(f64::NEG_INFINITY, f64::max);
            if place > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a few formats")]
                points.push([(place - 1) as f64, mean(&above)]);
            }
            let compared = |x: f64| if spec.is_some() { Cell::Measured(x) } else { Cell::Empty };
            let counted = |x: f64| if spec.is_some() { Cell::Share(x) } else { Cell::Empty };
            table.rows.push(row![
                net.name(),
                spec.map_or("f32".to_owned(), ToString::to_string),
                Cell::Measured(mean(&|i| found[i].loss)),
                Cell::Share(mean(&|i| found[i].accuracy)),
                compared(mean(&above)),
                compared(largest),
                counted(mean(&|i| found[i].zeroed)),
                counted(mean(&|i| found[i].clamped)),
            ]);
        }
        series.push(Series::new(net.name(), Mark::Bars, points));
    }
    let plot = Plot {
        title: format!("Validation loss above that of gradients in f32, {steps} steps"),
        x: Axis::categories("gradients in", specs),
        y: Axis::linear("nats"),
        series,
    };
    Ok((table, plot))
}

fn train(net: Net, spec: Option<&FormatSpec>, steps: usize, seed: u64) -> Result<Outcome, Error> {
    let gradients = spec.map_or_else(ClassConfig::default, |spec| ClassConfig {
        format: Spec(*spec),
        bias: (spec.has_free_bias() && spec.bias().is_none())
            .then_some(BiasPolicy::Delayed { history: 16, margin: 0 }),
        ..ClassConfig::default()
    });
    let config = Config { gradients, ..preset_of("cfloat8")? };
    let mut trainer = net.trainer(config, steps, seed)?;
    while trainer.step().map_err(failed)?.is_some() {}
    let (loss, accuracy) = trainer.validate().map_err(failed)?;
    let tally = trainer
        .quantizers()
        .iter()
        .filter(|quantizer| quantizer.name.ends_with(".gradients"))
        .fold(smallfloat_train::Tally::default(), |sum, quantizer| sum.merge(quantizer.tally()));
    let share = |count| if tally.elements == 0 { 0.0 } else { ratio(count, tally.elements) };
    Ok(Outcome { loss, accuracy, zeroed: share(tally.underflowed), clamped: share(tally.overflowed) })
}
