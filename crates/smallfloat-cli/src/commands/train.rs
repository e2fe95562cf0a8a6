//! `smallfloat train`: training with every class of tensors in a small format of its own.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use smallfloat_tensor::write_file_durably;
use smallfloat_train::data::{DataSource, Dataset, Images, Text, digits, read_idx_folder};
use smallfloat_train::{
    Accumulation, Architecture, Config, ModelKind, Optimizer, PRESETS, RunOptions, RunReport, Step, Tally,
    Trainer, preset,
};

use crate::arguments::files::check_outputs;
use crate::arguments::quantize::ThreadArgs;
use crate::charts::train::{Shift, TrainPicture};
use crate::render::output::{Message, Output, message};
use crate::render::progress::Ticker;
use crate::render::{output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat train --steps 200
  smallfloat train --data input.txt --preset flag-driven --report run.json --plot run.svg
  smallfloat train --data input.txt --compare f32 cfloat8 weights-143-sr weights-143-rne --seeds 3
  smallfloat train --data input.txt --preset five-bytes --accumulate exact --checkpoint runs \\
      --resume
  smallfloat train --data /usr/share/datasets/fashion-mnist --steps 2345 --preset weights-143-sr
  smallfloat train --preset cfloat8 --print-config > mine.toml; smallfloat train --config mine.toml

A text trains a character transformer: 2 layers, 128 channels, 4 heads, windows of 64 characters;
its last tenth is the validation. A folder of IDX files (MNIST, Fashion-MNIST) and the built-in
`digits` train a perceptron, or with --model cnn a convolutional net.

The same options and data give the same run, whatever the number of threads. With --accumulate
exact quantized products are exact sums, rounded once. With --checkpoint a run is saved every
--every steps and at its end; --resume goes on from there with the steps it would have taken.
";

/// Train a model with weights, gradients and state in small formats.
#[derive(clap::Args)]
#[command(after_help = after_help())]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is there or not")]
pub(crate) struct Args {
    /// A UTF-8 text, a folder with IDX files (.gz or not), or `digits`
    #[arg(long, value_name = "PATH", default_value = "digits")]
    data: DataSource,

    /// The model [default: char-transformer for a text, mlp for images]
    #[arg(long, value_name = "NAME", value_parser = named::<ModelKind>(ModelKind::ALL.iter().map(|kind| kind.name())))]
    model: Option<ModelKind>,

    /// A configuration by name
    #[arg(long, value_name = "NAME", default_value = "cfloat8", group = "what")]
    preset: String,

    /// A configuration in a file
    #[arg(long, value_name = "FILE.toml", group = "what")]
    config: Option<PathBuf>,

    /// Several configurations, one run after the other; differences are to the first. A run that
    /// diverges leaves the others their results
    #[arg(long, value_name = "PRESET", num_args = 1.., group = "what")]
    compare: Vec<String>,

    /// Print the configuration as TOML and end
    #[arg(long)]
    print_config: bool,

    /// Steps
    #[arg(long, value_name = "N", default_value_t = 500)]
    steps: u64,

    /// Sequences or images of a step [default: 32 sequences, 128 images or all where they are
    /// fewer]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// The largest learning rate [default: 0.002 for the transformer and the net with Adam, 0.05
    /// for the perceptron with momentum]
    #[arg(long, value_name = "RATE")]
    rate: Option<f32>,

    /// What random numbers derive from
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// So many runs of each configuration, with seeds from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// How quantized products accumulate: f32, exact, a GPU's matrix unit (hopper,
    /// hopper:promote=128, …) or its parameters (fused:k=32,fraction=13,output=e8m13)
    #[arg(long, value_name = "HOW", default_value = "f32")]
    accumulate: Accumulation,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Refuse a run that needs more memory, by an estimate made before it begins, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    memory_limit: u64,

    /// Save runs into this folder, a file each
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,

    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..), requires = "checkpoint")]
    every: u64,

    /// Go on from the checkpoints in the folder
    #[arg(long, requires = "checkpoint")]
    resume: bool,

    /// Write the report as JSON
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,

    /// Draw losses, biases over time and exponents against ranges
    #[arg(long, value_name = "FILE.svg|html")]
    plot: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

fn after_help() -> String {
    let width = PRESETS.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let lines: Vec<_> =
        PRESETS.iter().map(|preset| format!("  {:width$}  {}", preset.name, preset.about)).collect();
    format!("{AFTER_HELP}\nPresets:\n{}", lines.join("\n"))
}

/// Takes the names of an enum, and lists them in the help.
fn named<T>(names: impl Iterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = smallfloat_train::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Data of either kind; each run gets its own copy.
enum Loaded {
    Text(Text),
    Images(Images),
}

impl Loaded {
    fn read(source: &DataSource) -> Result<Self> {
        let path = match source {
            DataSource::Digits => return Ok(Self::Images(digits()?)),
            DataSource::Path(path) => path,
        };
        if path.is_dir() {
            return Ok(Self::Images(read_idx_folder(path)?));
        }
        let Architecture::CharTransformer { context, .. } = Architecture::CHAR_TRANSFORMER else {
            bail!("no length of windows");
        };
        Ok(Self::Text(Text::read(path, context)?))
    }

    fn dataset(&self) -> &dyn Dataset {
        match self {
            Self::Text(text) => text,
            Self::Images(images) => images,
        }
    }

    fn data(&self) -> Box<dyn Dataset> {
        match self {
            Self::Text(text) => Box::new(text.clone()),
            Self::Images(images) => Box::new(images.clone()),
        }
    }

    /// Options of a run with the defaults of the model.
    fn options(&self, model: Option<ModelKind>, config: Config) -> Result<RunOptions> {
        let images = |data: &Images, architecture, optimizer, rate| RunOptions {
            batch: data.len().min(128),
            optimizer,
            rate,
            ..RunOptions::new(architecture, config.clone())
        };
        Ok(match (self, model) {
            (Self::Text(_), None | Some(ModelKind::CharTransformer)) => {
                RunOptions::new(Architecture::CHAR_TRANSFORMER, config)
            }
            (Self::Images(data), None | Some(ModelKind::Mlp)) => {
                let [height, width] = data.size();
                images(data, Architecture::Mlp { inputs: height * width }, Optimizer::MOMENTUM, 0.05)
            }
            (Self::Images(data), Some(ModelKind::Cnn)) => {
                let [height, width] = data.size();
                images(data, Architecture::Cnn { height, width }, Optimizer::ADAM, 2e-3)
            }
            (Self::Text(_), _) => {
                bail!("--model: a text trains a char-transformer; give --data with images")
            }
            (Self::Images(_), _) => {
                bail!("--model: images train mlp or cnn; give --data with a text")
            }
        })
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let configs = configurations(args)?;
    if args.print_config {
        let [(_, config)] = &*configs else {
            bail!("--print-config prints one configuration: give --compare one preset, or --preset");
        };
        write!(out, "{config}")?;
        return Ok(());
    }
    let last_seed = args.seed.checked_add(args.seeds - 1).with_context(|| {
        format!(
            "--seeds: {} seeds from {} on go beyond 2^64 − 1: take a smaller --seed",
            args.seeds, args.seed
        )
    })?;
    let outputs = [("--report", args.report.as_deref()), ("--plot", args.plot.as_deref())];
    let data = match &args.data {
        DataSource::Digits => None,
        DataSource::Path(path) => Some(&**path),
    };
    let inputs = [data, args.config.as_deref(), args.checkpoint.as_deref()];
    check_outputs(&outputs, inputs.into_iter().flatten(), args.overwrite)?;
    args.threads.take()?;
    let loaded = Loaded::read(&args.data).context("--data")?;
    if let Some(folder) = &args.checkpoint {
        fs::create_dir_all(folder).with_context(|| format!("--checkpoint `{}`", folder.display()))?;
    }
    // What is wrong with a later run is told before the first one begins.
    let mut runs = Vec::new();
    for (name, config) in &configs {
        for seed in args.seed..=last_seed {
            let mut options = loaded.options(args.model, config.clone())?;
            name.clone_into(&mut options.name);
            (options.steps, options.seed) = (args.steps, seed);
            options.warm_up = options.warm_up.min(args.steps / 10);
            options.batch = args.batch.unwrap_or(options.batch);
            options.rate = args.rate.unwrap_or(options.rate);
            options.memory_limit = args.memory_limit << 20;
            options.accumulate = args.accumulate;
            let checked = options.check(loaded.dataset());
            match &args.config {
                Some(path) => checked.with_context(|| format!("--config: `{}`", path.display()))?,
                None => checked?,
            }
            check_checkpoint(args, &options)?;
            runs.push(options);
        }
    }
    note_unused_state(&runs);
    let results = train_all(args, &loaded, runs)?;
    write_results(args, &results)?;
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &results.json())?;
        writeln!(out)?;
    } else {
        print(out, &results.reports)?;
    }
    let (diverged, all) = (results.diverged.len(), results.diverged.len() + results.reports.len());
    ensure!(diverged == 0, "{diverged} of {all} runs have diverged, as told above");
    Ok(())
}

/// Tells of configurations whose second moment no run keeps.
fn note_unused_state(runs: &[RunOptions]) {
    let unused =
        |run: &&RunOptions| !run.optimizer.has_second_moment() && !run.config.state.second_moment.is_plain();
    let mut names: Vec<&str> = runs.iter().filter(unused).map(|run| &*run.name).collect();
    names.dedup();
    if !names.is_empty() {
        let names = names.join(", ");
        let what = "the perceptron trains with momentum, which has no second moment: \
                    state.second_moment is not used; --model cnn trains with Adam";
        message(Message::Note, &format!("{names}: {what}"));
    }
}

/// What became of all runs.
struct Results {
    reports: Vec<RunReport>,
    /// Runs without a report, where others have one.
    diverged: Vec<Diverged>,
}

/// A run that was compared with others, and met a NaN or an infinity.
#[derive(serde::Serialize)]
struct Diverged {
    preset: String,
    seed: u64,
    error: String,
}

impl Results {
    fn json(&self) -> serde_json::Value {
        match (&*self.reports, &*self.diverged) {
            ([report], []) => json!(report),
            (reports, diverged) => json!({ "runs": reports, "diverged": diverged }),
        }
    }
}

/// Trains one run after the other. A run that diverges says so, and the others go on.
fn train_all(args: &Args, loaded: &Loaded, runs: Vec<RunOptions>) -> Result<Results> {
    let is_alone = runs.len() == 1;
    let mut results = Results { reports: Vec::new(), diverged: Vec::new() };
    let mut first = None;
    for options in runs {
        let (preset, seed) = (options.name.clone(), options.seed);
        match train(args, loaded, options) {
            Ok(report) => results.reports.push(report),
            Err(error) if !is_alone && has_diverged(&error) => {
                output::message(Message::Error, &format!("{preset}, seed {seed}: {error:#}"));
                results.diverged.push(Diverged { preset, seed, error: format!("{error:#}") });
                first = first.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if results.reports.is_empty() => Err(error.context("all runs have diverged; the first")),
        _ => Ok(results),
    }
}

fn has_diverged(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<smallfloat_train::Error>());
    causes.any(|cause| matches!(cause, smallfloat_train::Error::Nonfinite { .. }))
}

fn configurations(args: &Args) -> Result<Vec<(String, Config)>> {
    if let Some(path) = &args.config {
        let config = Config::read(path).context("--config")?;
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        return Ok(vec![(name, config)]);
    }
    let names = if args.compare.is_empty() { std::slice::from_ref(&args.preset) } else { &args.compare };
    let configs: Vec<_> =
        names.iter().map(|name| Ok((name.to_lowercase(), preset(name)?))).collect::<Result<_>>()?;
    for (i, (name, _)) in configs.iter().enumerate() {
        let is_new = configs[..i].iter().all(|(other, _)| other != name);
        ensure!(is_new, "--compare names {name} twice; --seeds N makes N runs of it");
    }
    Ok(configs)
}

/// The checkpoint of a run.
fn checkpoint(args: &Args, options: &RunOptions) -> Option<PathBuf> {
    let folder = args.checkpoint.as_ref()?;
    Some(folder.join(format!("{}-{}.safetensors", options.name, options.seed)))
}

/// Refuses to replace a checkpoint unasked.
fn check_checkpoint(args: &Args, options: &RunOptions) -> Result<()> {
    match checkpoint(args, options) {
        Some(file) if !args.resume && !args.overwrite && file.exists() => {
            bail!("`{}` exists already: go on from it (--resume) or replace it (--overwrite)", file.display())
        }
        _ => Ok(()),
    }
}

/// One run, from its beginning or from its checkpoint.
fn train(args: &Args, loaded: &Loaded, options: RunOptions) -> Result<RunReport> {
    let file = checkpoint(args, &options);
    let mut trainer = match &file {
        Some(file) if args.resume && file.exists() => {
            let trainer = Trainer::resume(file, loaded.data(), options.memory_limit)?;
            let other = differing(trainer.options(), &options);
            ensure!(
                other.is_empty(),
                "`{}` is a run with other options ({}); leave --resume out to begin anew",
                file.display(),
                other.join(", ")
            );
            trainer
        }
        _ => Trainer::new(options, loaded.data())?,
    };
    let ticker = Ticker::new(trainer.options().steps, trainer.done());
    let began = Instant::now();
    let mut elements = 0;
    while let Some(step) = trainer.step()? {
        elements += step.elements;
        ticker.update(step.number, &step_message(trainer.options(), &step, elements, began));
        if let Some(file) = &file
            && (step.number.is_multiple_of(args.every) || step.number == trainer.options().steps)
        {
            trainer.save(file)?;
        }
    }
    drop(ticker);
    Ok(trainer.report()?)
}

/// The options that are not those of a checkpoint, with what they are there.
fn differing(saved: &RunOptions, options: &RunOptions) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |option: &str, saved: &dyn ToString, given: &dyn ToString| {
        let (saved, given) = (saved.to_string(), given.to_string());
        if saved != given {
            found.push(format!("{option} {saved}, not {given}"));
        }
    };
    compare("--model", &saved.architecture.kind(), &options.architecture.kind());
    compare("--steps", &saved.steps, &options.steps);
    compare("--batch", &saved.batch, &options.batch);
    compare("--rate", &saved.rate, &options.rate);
    compare("--seed", &saved.seed, &options.seed);
    compare("--accumulate", &saved.accumulate, &options.accumulate);
    if saved.config != options.config {
        found.push("another configuration".into());
    }
    // What follows from others, such as the warm-up.
    if found.is_empty() && saved != options {
        found.push("of another model or optimizer".into());
    }
    found
}

fn step_message(options: &RunOptions, step: &Step, elements: usize, began: Instant) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = elements as f64 / began.elapsed().as_secs_f64().max(1e-9);
    let what = if matches!(options.architecture, Architecture::CharTransformer { .. }) {
        "tokens"
    } else {
        "images"
    };
    let Tally { elements, overflowed, nans, underflowed } = step.operands;
    let rates = if elements == 0 {
        String::new()
    } else {
        let nans = if nans == 0 { String::new() } else { format!("  NaN {}", share(nans, elements)) };
        format!("  over {}  under {}{nans}", share(overflowed, elements), share(underflowed, elements))
    };
    format!("{}  loss {:.3}  {rate:.0} {what}/s{rates}", options.name, step.loss)
}

/// A part of a whole in percent.
fn share(part: u64, whole: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    if part == 0 { "0 %".into() } else { format!("{percent:.2} %") }
}

fn write_results(args: &Args, results: &Results) -> Result<()> {
    if let Some(path) = &args.report {
        let text = serde_json::to_string_pretty(&results.json())? + "\n";
        write_file_durably(path, text.as_bytes(), args.overwrite).context("--report")?;
    }
    if let Some(path) = &args.plot {
        let svg = TrainPicture::new(&results.reports)?.svg()?;
        let is_page = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html"));
        let text = if is_page {
            format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>smallfloat train</title>\n{svg}\n")
        } else {
            svg
        };
        write_file_durably(path, text.as_bytes(), args.overwrite).context("--plot")?;
    }
    Ok(())
}

/// A row for each configuration, with the mean and the range of its seeds.
fn print(out: &mut Output, reports: &[RunReport]) -> Result<()> {
    let shift = match Shift::of(reports.iter().flat_map(|report| &report.biases)) {
        Shift::Biases => "biases",
        Shift::Scales => "scales",
        Shift::Both => "biases/scales",
    };
    let header =
        ["preset", "seeds", "loss", "range", "Δ loss", "accuracy", "s/step", "B/param", shift, "changes"];
    let mut table = output::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut first = None;
    for group in reports.chunk_by(|a, b| a.preset == b.preset) {
        #[expect(clippy::cast_precision_loss, reason = "few seeds")]
        let mean = |of: &dyn Fn(&RunReport) -> f64| group.iter().map(of).sum::<f64>() / group.len() as f64;
        let losses = || group.iter().map(|report| report.validation_loss);
        let loss = mean(&|report| report.validation_loss);
        let range = losses().fold(f64::NEG_INFINITY, f64::max) - losses().fold(f64::INFINITY, f64::min);
        let difference = loss - *first.get_or_insert(loss);
        #[expect(clippy::cast_precision_loss, reason = "few steps")]
        let seconds = mean(&|report| report.seconds / report.steps.max(1) as f64);
        let changes: usize = group.iter().flat_map(|r| &r.biases).map(|bias| bias.changes.len()).sum();
        table.add_row([
            group[0].preset.clone(),
            group.len().to_string(),
            format!("{loss:.3}"),
            if group.len() > 1 { format!("{range:.3}") } else { String::new() },
            format!("{difference:+.3}"),
            format!("{:.1} %", 100.0 * mean(&|report| report.validation_accuracy)),
            format!("{seconds:.3}"),
            format!("{:.2}", group[0].bytes_per_parameter),
            group.iter().map(|report| report.distinct_biases).max().unwrap_or(0).to_string(),
            (changes / group.len()).to_string(),
        ]);
    }
    out.rows(&table)?;
    if let Some(report) = reports.first() {
        writeln!(
            out,
            "\nLoss and accuracy on the validation part of {}, loss in nats, after {} steps of {} parameters; \
             Δ loss is to the first row.",
            report.data,
            report.steps,
            words::count(report.parameters as u64),
        )?;
        let memory = report.memory;
        // A run that was finished before has made no step in which anything was kept.
        if memory.activations_as_f32 > 0 {
            writeln!(
                out,
                "The first run keeps {} of activations for the way back ({} in f32) and {} of gradients.",
                words::bytes(memory.activations as u64),
                words::bytes(memory.activations_as_f32 as u64),
                words::bytes(memory.gradients as u64),
            )?;
        }
    }
    Ok(())
}
