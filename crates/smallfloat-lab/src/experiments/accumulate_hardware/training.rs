//! What the accumulators of matrix units make of a training run, for the experiment
//! `accumulate-hardware`: the convolutional net, whose gradients of weights are sums of up to 2,048
//! products, one for each pixel of each image.

use rayon::prelude::*;
use smallfloat_train::Accumulation;

use crate::error::Error;
use crate::experiments::training::{Net, failed, preset_of};
use crate::instruments::findings::{Axis, Cell, FindingsTable, Mark, Plot, Series, row};

/// OCP's formats, which have the 13 bits on Hopper.
const PRESET: &str = "ocp-e4m3-e5m2";
/// The accumulator that others are compared with, two of a unit, and as Hopper's with fewer bits.
const ACCUMULATORS: [&str; 7] = [
    "f32",
    "hopper",
    "hopper:promote=128",
    "fused:k=32,fraction=7,output=e8m13",
    "fused:k=32,fraction=5,output=e8m13",
    "fused:k=32,fraction=4,output=e8m13",
    "fused:k=32,fraction=3,output=e8m13",
];
/// Steps of a run, and runs with each.
const STEPS: usize = 100;
const SEEDS: u64 = 3;

/// Runs that differ by their accumulators alone: at most [`STEPS`] steps and [`SEEDS`] seeds.
pub(super) fn trainings(length: usize, trials: u64, seed: u64) -> Result<(FindingsTable, Plot), Error> {
    let (steps, seeds) = (length.min(STEPS), trials.min(SEEDS));
    let net = Net::Convolutional;
    let runs: Vec<(Accumulation, u64)> = ACCUMULATORS
        .iter()
        .flat_map(|name| (0..seeds).map(move |trial| (name, seed.wrapping_add(trial))))
        .map(|(name, seed)| Ok((name.parse().map_err(failed)?, seed)))
        .collect::<Result<_, Error>>()?;
    let found: Vec<(f64, f64)> = runs
        .into_par_iter()
        .map(|(accumulate, seed)| {
            let mut trainer = net.trainer_with(preset_of(PRESET)?, accumulate, steps, seed)?;
            while trainer.step().map_err(failed)?.is_some() {}
            trainer.validate().map_err(failed)
        })
        .collect::<Result<_, _>>()?;
    let mut table = FindingsTable::new(
        format!("Training the {}, {steps} steps, {seeds} seeds from {seed} on", net.name()),
        ["accumulator", "loss", "above f32", "largest", "accuracy"],
    );
    let mut points = Vec::new();
    #[expect(clippy::cast_possible_truncation, reason = "at most three")]
    let each = found.chunks(seeds as usize);
    let plain = &found[..each.clone().next().map_or(0, <[_]>::len)];
    for (place, (name, found)) in (0_u32..).zip(ACCUMULATORS.iter().zip(each)) {
        #[expect(clippy::cast_precision_loss, reason = "at most three")]
        let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / found.len() as f64;
        let above = || found.iter().zip(plain).map(|((loss, _), (plain, _))| loss - plain);
        let largest = above().fold(f64::NEG_INFINITY, f64::max);
        let compared = |x: f64| if place == 0 { Cell::Empty } else { Cell::Measured(x) };
        table.rows.push(row![
            *name,
            Cell::Measured(mean(&mut found.iter().map(|(loss, _)| *loss))),
            compared(mean(&mut above())),
            compared(largest),
            Cell::Share(mean(&mut found.iter().map(|(_, accuracy)| *accuracy))),
        ]);
        if place > 0 {
            points.push([f64::from(place - 1), mean(&mut above())]);
        }
    }
    let short =
        |name: &&str| name.trim_start_matches("fused:k=32,").trim_end_matches(",output=e8m13").to_owned();
    let plot = Plot {
        title: format!("Validation loss above that of sums in f32, {steps} steps"),
        x: Axis::categories("accumulator", ACCUMULATORS[1..].iter().map(short)),
        y: Axis::linear("nats"),
        series: vec![Series::new(net.name(), Mark::Bars, points)],
    };
    Ok((table, plot))
}
