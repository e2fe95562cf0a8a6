//! `smallfloat quantize`: the tensors of a file into a small format.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use globset::{Glob, GlobSet, GlobSetBuilder};
use smallfloat::{FormatSpec, NegativeRule, RandomBits, Rounding};
use smallfloat_tensor::{
    BiasPolicy, Granularity, Layout, Negative, Nonfinite, Options, Report, View, quantize, write_file_durably,
};

use crate::files::{Input, check_outputs};
use crate::options::ProjectionArgs;
use crate::output::Output;
use crate::picture::Picture;
use crate::progress::Bar;
use crate::schemes::SchemeArgs;
use crate::{report, words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat quantize model.safetensors -o model.cf8.safetensors
  smallfloat quantize model.safetensors -o out.safetensors --format cfloat8_1_5_2 \\
      --include '*.weight' --exclude '*norm*' --report report.json --plot report.svg
  smallfloat quantize w.npy -o w.safetensors --format e4m3fn --rounding toward-zero
  smallfloat quantize model.safetensors -o out.safetensors --stochastic --seed 1
  smallfloat quantize model.safetensors -o out.safetensors --granularity channel
  smallfloat quantize checkpoint/ -o checkpoint-mxfp4/ --scheme mxfp4-pack-quantized

F64, F32, F16 and BF16 tensors are quantized, and those that are quantized already, which
are decoded first; all others are copied. The output is a safetensors file of codes with a
bias or scales beside each tensor; it is read back and verified, then it appears under its
name as a whole. The same input and options give the same bytes, whatever the number of
threads. A checkpoint folder becomes a folder with config.json and index.

Schemes with scales quantize tensors of two and more dimensions. Those of other programs
take matrices named *.weight, and without --include no embeddings and no output head.

With --bias auto each tensor gets the bias with the least squared error; amax: the largest
at which nothing saturates; percentile:P: the same for P % of the elements; N: this one.";

/// Quantize the tensors of a .safetensors or .npy file, or of a checkpoint folder.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "a switch is a bool")]
pub(crate) struct Args {
    /// The file with the tensors, or a folder with .safetensors files; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The safetensors file to write, or the folder for a folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// The format; a bias in its name is the same as --bias. The name of a scheme is the same as --scheme
    #[arg(long, default_value = "cfloat8_1_4_3")]
    format: String,

    /// auto, amax, percentile:P or a number [default: auto, where the format leaves a choice]
    #[arg(long, value_name = "BIAS", allow_hyphen_values = true)]
    bias: Option<String>,

    /// Stochastic rounding: the same as --rounding stochastic-a
    #[arg(long, conflicts_with = "rounding")]
    stochastic: bool,

    /// Quantize only tensors whose name matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,

    /// Copy tensors whose name matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Infinities and NaN: `preset` gives them what the preset says [default: refuse them]
    #[arg(long, value_name = "RULE", value_parser = ["preset"])]
    nonfinite: Option<String>,

    /// Negative values in an unsigned format: nan, zero or magnitude [default: refuse them]
    #[arg(long, value_name = "RULE", value_parser = ["nan", "zero", "magnitude"])]
    negative: Option<String>,

    /// Where random words come from: philox
    #[arg(long, value_name = "NAME", default_value = "philox")]
    generator: String,

    /// How many threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Write the report as JSON
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,

    /// Draw error and exponents of every tensor
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Don't read the output back
    #[arg(long)]
    no_verify: bool,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    scheme: SchemeArgs,

    #[command(flatten)]
    projection: ProjectionArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let options = options(args)?;
    let selection = Selection::new(args, &options)?;
    if args.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
        bail!(
            "-o {}: an .npy file has no room for biases and formats; write a .safetensors file",
            args.output.display()
        );
    }
    let is_folder = args.input.is_dir();
    let output = (!is_folder).then_some(&*args.output);
    let outputs = [("-o", output), ("--report", args.report.as_deref()), ("--plot", args.plot.as_deref())];
    check_outputs(&outputs, args.overwrite)?;
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().context("--threads")?;
    }
    let input = Input::open(&args.input)?;
    selection.check(input.path())?;

    let report = {
        let bar = Bar::new();
        let select = |name: &str| selection.selects(name);
        quantize(input.path(), &args.output, &options, &select, &mut |progress| bar.update(progress))?
    };
    write_extras(args, &options, &report)?;
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        let (format, bias) = (args.scheme.name(&args.format), bias_in_words(&options));
        writeln!(out, "{}\n", out.bold(format!("{} as {format}{bias}", args.input.display())))?;
        report::tensors(&report, out)?;
        writeln!(out)?;
        report::totals(&report, options.verify, out)?;
    }
    if report.totals.quantized == 0 {
        eprintln!("smallfloat: note: no tensor was quantized (F64, F32, F16 and BF16 are), all were copied");
    } else if report.quantization_config.is_some() && !args.input.is_dir() {
        eprintln!(
            "smallfloat: note: readers need the quantization_config of --json in the model's config.json"
        );
    }
    Ok(())
}

fn bias_in_words(options: &Options) -> String {
    match options.bias {
        _ if !options.format.has_free_bias() => String::new(),
        BiasPolicy::Fixed(_) if options.format.bias().is_some() => String::new(),
        bias => format!(", bias {bias}"),
    }
}

/// The report and the picture.
fn write_extras(args: &Args, options: &Options, report: &Report) -> Result<()> {
    if let Some(path) = &args.report {
        let mut text = serde_json::to_vec_pretty(report)?;
        text.push(b'\n');
        write_file_durably(path, &text, args.overwrite).context("--report")?;
    }
    if let Some(path) = &args.plot {
        let name = args.input.file_name().unwrap_or(args.input.as_os_str()).to_string_lossy().into_owned();
        let title = format!("{} as {}{}", words::tensor_name(&name, 60), args.format, bias_in_words(options));
        let svg = Picture::new(title, report, &options.format)?.svg()?;
        write_file_durably(path, svg.as_bytes(), args.overwrite).context("--plot")?;
    }
    Ok(())
}

fn options(args: &Args) -> Result<Options> {
    built("--generator", &args.generator, "philox")?;
    let mut options = args.scheme.options(&args.format)?;
    options.bias = bias(args, &options.format)?;
    options.rounding = rounding(args)?;
    options.seed = args.projection.seed;
    options.saturation = args.projection.saturation;
    options.preset = args.projection.preset;
    if args.nonfinite.is_some() {
        options.nonfinite = Nonfinite::Preset;
    }
    options.negative = match args.negative.as_deref() {
        Some("nan") => Negative::Apply(NegativeRule::Nan),
        Some("zero") => Negative::Apply(NegativeRule::Zero),
        Some(_) => Negative::Apply(NegativeRule::Magnitude),
        None => Negative::Refuse,
    };
    options.overwrite = args.overwrite;
    options.verify = !args.no_verify;
    options.histograms = args.plot.is_some();
    ensure!(
        args.plot.is_none() || (options.scale.is_none() && options.granularity == Granularity::Tensor),
        "--plot draws tensors with one bias each; leave it out for channels, blocks and scales"
    );
    Ok(options)
}

fn built(option: &str, value: &str, only: &str) -> Result<()> {
    ensure!(value == only, "{option} {value} is not built yet; `{only}` is");
    Ok(())
}

/// The policy that --bias and the format's name agree on.
fn bias(args: &Args, format: &FormatSpec) -> Result<BiasPolicy> {
    let named = format.bias();
    let Some(text) = &args.bias else {
        return Ok(named.map_or(BiasPolicy::LeastError, BiasPolicy::Fixed));
    };
    let policy: BiasPolicy = text.parse().context("--bias")?;
    match (policy, named) {
        (BiasPolicy::Fixed(bias), Some(named)) if bias == named => {}
        (BiasPolicy::Fixed(bias), None) => {
            format.with_bias(bias).context("--bias")?;
        }
        (_, None) => {}
        (policy, Some(named)) if format.has_free_bias() => {
            bail!(
                "--bias {policy} contradicts the bias {named} of --format {}; give one of them",
                args.format
            )
        }
        (policy, Some(named)) => {
            bail!("--bias {policy}: the bias of {} is always {named}; leave the option out", args.format)
        }
    }
    Ok(policy)
}

fn rounding(args: &Args) -> Result<Option<Rounding>> {
    let how = &args.projection;
    let first = RandomBits::new(1, 0)?;
    let rounding = if args.stochastic { Some(Rounding::StochasticA(first)) } else { how.rounding };
    let Some(stochastic) = rounding.filter(|rounding| rounding.is_stochastic()) else {
        ensure!(how.seed.is_none(), "--seed is for stochastic rounding; add --stochastic");
        return Ok(rounding);
    };
    ensure!(how.seed.is_some(), "stochastic rounding needs --seed S, so that it can be reproduced");
    let bits = RandomBits::from_word32(how.random_bits, 0).context("--random-bits")?;
    Ok(Some(stochastic.with_random_bits(bits)))
}

/// Which tensors are quantized, by name.
struct Selection {
    include: Option<GlobSet>,
    exclude: GlobSet,
    layout: Layout,
}

impl Selection {
    fn new(args: &Args, options: &Options) -> Result<Self> {
        let include = (!args.include.is_empty()).then(|| globs("--include", &args.include)).transpose()?;
        // CFloat8 codes take every tensor, whatever they are stored as.
        Ok(Self { include, exclude: globs("--exclude", &args.exclude)?, layout: options.layout })
    }

    fn selects(&self, name: &str) -> bool {
        let expected = || self.layout.expects(name);
        self.include.as_ref().map_or_else(expected, |globs| globs.is_match(name))
            && !self.exclude.is_match(name)
    }

    /// A pattern that matches nothing is a mistake.
    fn check(&self, input: &Path) -> Result<()> {
        let Some(include) = &self.include else { return Ok(()) };
        let mut names = Vec::new();
        for file in files(input)? {
            names.extend(View::open(file)?.tensors().iter().map(|tensor| tensor.info.name.clone()));
        }
        let mut names = names.iter();
        if names.clone().any(|name| include.is_match(name)) {
            return Ok(());
        }
        let first = names.next().map(|name| words::tensor_name(name, 60)).unwrap_or_default();
        bail!("--include: no tensor of {} matches; the first is named `{first}`", input.display())
    }
}

fn globs(option: &'static str, patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).context(option)?);
    }
    set.build().context(option)
}

/// The files with tensors: the input, or those of the folder that it is.
fn files(input: &Path) -> Result<Vec<PathBuf>> {
    if !input.is_dir() {
        return Ok(vec![input.to_path_buf()]);
    }
    let entries = fs::read_dir(input).with_context(|| format!("cannot list `{}`", input.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "safetensors")).collect())
}
