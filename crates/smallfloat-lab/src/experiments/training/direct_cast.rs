//! Direct casts to MX formats (Darvish Rouhani et al., "Microscaling Data Formats for Deep
//! Learning", arXiv 2310.10537): what blocks with shared scales do to normal numbers, to recorded
//! tensors, and to trained models whose weights, or weights and activations, are cast without
//! training them again.

use rayon::prelude::*;
use smallfloat_tensor::{Quantizer, Scheme};
use smallfloat_train::{ClassConfig, Config};

use super::{Net, Recorded, STEPS, failed, preset_of, record, weights};
use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Random, Role};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};

/// The paper's formats, and NVIDIA's.
const SCHEMES: [&str; 7] =
    ["mxint8", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "nvfp4"];
/// Rows and columns of normal numbers.
const ROWS: usize = 256;
const COLUMNS: usize = 256;
const ROLES: [Role; 3] = [Role::Weights, Role::Activations, Role::Gradients];

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let steps = options.length.unwrap_or(STEPS);
    let seed = options.key();
    let quantizers: Vec<(&str, Quantizer)> = SCHEMES
        .iter()
        .map(|name| {
            let scheme: Scheme = name.parse().map_err(failed)?;
            Ok((*name, Quantizer::new(scheme.options()).map_err(failed)?))
        })
        .collect::<Result<_, Error>>()?;
    let mut findings =
        Findings::new("direct-cast").set("--length", steps.to_string()).set("--seed", seed.to_string());
    findings.tables.push(ratios(&quantizers, steps, seed)?);
    let (table, plot) = casts(&quantizers, steps, seed)?;
    findings.tables.push(table);
    findings.plots.push(plot);
    for note in [
        "Blocks of 32 elements (NVFP4: 16) along a tensor's rows, which are the direction of the forward product's sums; scales by \
         the rule of the specification, 2^(⌊log2 amax⌋ − e_max), elements to nearest even.",
        "Cast are the weights of linear layers and convolutions, and as both, which is the paper's cast, their inputs too. Sums and \
         all else stay binary32, attention's own two products among it.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// Losses of trained models whose weights are cast, and whose weights and activations are.
fn casts(quantizers: &[(&str, Quantizer)], steps: usize, seed: u64) -> Result<(FindingsTable, Plot), Error> {
    let columns = ["loss", "above f32", "accuracy"];
    let of = |cast| columns.map(|column| format!("{cast}: {column}"));
    let names = ["model".to_owned(), "format".into()].into_iter().chain(of("weights")).chain(of("both"));
    let mut table = FindingsTable::new(format!("Models trained in binary32 for {steps} steps, cast"), names);
    let mut series = Vec::new();
    for net in Net::ALL {
        let mut trainer = net.trainer(preset_of("f32")?, steps, seed)?;
        while trainer.step().map_err(failed)?.is_some() {}
        let plain = trainer.validate().map_err(failed)?;
        let cells = |(loss, accuracy): (f64, f64)| {
            row![Cell::Measured(loss), Cell::Measured(loss - plain.0), Cell::Share(accuracy)]
        };
        let uncast = || row![Cell::Measured(plain.0), Cell::Empty, Cell::Share(plain.1)];
        table.rows.push([row![net.name(), "f32"], uncast(), uncast()].concat());
        let trained = weights(&mut trainer);
        let list = &trainer.parameters().list;
        let all: Vec<_> = list.iter().map(|one| (one.name.clone(), one.weights.values())).collect();
        let [mut alone, mut together] = [Vec::new(), Vec::new()];
        for (place, (name, quantizer)) in (0_u32..).zip(quantizers) {
            for (weight, shape, values) in &trained {
                let cast = cast(quantizer, weight, shape[1], values)?;
                trainer.store_weights(weight, cast).map_err(failed)?;
            }
            let weights = trainer.validate().map_err(failed)?;
            let both = both(net, name, &all, steps, seed)?;
            table.rows.push([row![net.name(), *name], cells(weights), cells(both)].concat());
            alone.push([f64::from(place), weights.0 - plain.0]);
            together.push([f64::from(place), both.0 - plain.0]);
        }
        series.push(Series::new(format!("{}, weights", net.name()), Mark::Bars, alone));
        series.push(Series::new(format!("{}, both", net.name()), Mark::Bars, together));
    }
    let plot = Plot {
        title: "Validation loss above that of binary32".into(),
        x: Axis::categories("cast to", SCHEMES),
        y: Axis::linear("nats"),
        series,
    };
    Ok((table, plot))
}

/// Loss and accuracy of a model with these parameters, where products take weights and inputs by a
/// scheme.
fn both(
    net: Net,
    scheme: &str,
    parameters: &[(String, Vec<f32>)],
    steps: usize,
    seed: u64,
) -> Result<(f64, f64), Error> {
    let class = ClassConfig { scheme: Some(scheme.parse().map_err(failed)?), ..ClassConfig::default() };
    let config = Config { activations: class.clone(), weights: class, ..Config::default() };
    let mut trainer = net.trainer(config, steps, seed)?;
    for (name, values) in parameters {
        trainer.store_weights(name, values.clone()).map_err(failed)?;
    }
    trainer.validate().map_err(failed)
}

/// What the codes and scales of a tensor mean.
fn cast(quantizer: &Quantizer, name: &str, row: usize, values: &[f32]) -> Result<Vec<f32>, Error> {
    let shape = [(values.len() / row) as u64, row as u64];
    Ok(quantizer.quantize(name, &shape, values).map_err(failed)?.to_vec())
}

/// SQNR of normal numbers, and the mean over recorded tensors.
fn ratios(quantizers: &[(&str, Quantizer)], steps: usize, seed: u64) -> Result<FindingsTable, Error> {
    let columns = ["format".to_owned(), "normal numbers".into()];
    let nets = Net::ALL.iter().flat_map(|net| ROLES.map(|role| format!("{}, {role}", net.name())));
    let mut table = FindingsTable::new(
        format!("SQNR in dB: normal numbers, and means over tensors of step {steps}"),
        columns.into_iter().chain(nets),
    );
    let random = Random::new(seed, 0);
    #[expect(clippy::cast_possible_truncation, reason = "rounded to binary32")]
    let normal = (0..(ROWS * COLUMNS) as u64).map(|i| random.normal(i) as f32).collect();
    let normal = Recorded { role: Role::File, row: COLUMNS, values: normal };
    let recorded: Vec<Vec<Recorded>> =
        Net::ALL.iter().map(|net| record(*net, &[steps], steps, seed)).collect::<Result<_, _>>()?;
    for (name, quantizer) in quantizers {
        let mean = |tensors: &[&Recorded]| -> Result<Cell, Error> {
            let ratios: Vec<f64> = tensors
                .par_iter()
                .map(|tensor| {
                    Ok(ratio(&tensor.values, &cast(quantizer, "tensor", tensor.row, &tensor.values)?))
                })
                .collect::<Result<_, Error>>()?;
            #[expect(clippy::cast_precision_loss, reason = "models have few layers")]
            let count = ratios.len() as f64;
            Ok(Cell::Measured(ratios.iter().sum::<f64>() / count))
        };
        let mut cells = vec![Cell::from(*name), mean(&[&normal])?];
        for tensors in &recorded {
            for role in ROLES {
                let chosen: Vec<&Recorded> = tensors.iter().filter(|tensor| tensor.role == role).collect();
                cells.push(mean(&chosen)?);
            }
        }
        table.rows.push(cells);
    }
    Ok(table)
}

/// Σ x² over Σ (x − q)², in dB; at most 200.
fn ratio(values: &[f32], cast: &[f32]) -> f64 {
    let sum = |term: &dyn Fn(f64, f64) -> f64| {
        values.iter().zip(cast).map(|(x, q)| term(f64::from(*x), f64::from(*q))).sum::<f64>()
    };
    let (signal, error) = (sum(&|x, _| x * x), sum(&|x, q| (x - q) * (x - q)));
    (10.0 * libm::log10(signal / error)).min(200.0)
}
