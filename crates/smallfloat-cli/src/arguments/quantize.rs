//! What decides the bytes that `quantize` and `shard plan` ask for: format, bias, rounding, scheme,
//! and which tensors.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use smallfloat::{FormatSpec, RandomBits, Rounding};
use smallfloat_tensor::{
    BiasPolicy, Calibration, Granularity, NamePatterns, Negative, Options, ScaleRule, Tensors, View, certify,
    open_checkpoint, write_json_durably,
};

use crate::arguments::rounding::{ProjectionArgs, SEED};
use crate::arguments::schemes::SchemeArgs;
use crate::render::output::{Message, message};
use crate::render::progress::Bar;
use crate::render::text as words;

/// Format, bias, rounding, storing, and which tensors.
#[derive(clap::Args)]
pub(crate) struct RecipeArgs {
    /// The format; a bias in its name is the same as --bias. The name of a scheme is the same as
    /// --scheme
    #[arg(long, default_value = "cfloat8_1_4_3")]
    pub(crate) format: String,

    /// auto, amax, amax:margin=M, percentile:P or a number [default: auto, where the format leaves
    /// a choice]
    #[arg(long, value_name = "BIAS", allow_hyphen_values = true)]
    bias: Option<String>,

    /// Activations by which errors weigh in --bias auto and --scale-rule least-error: .safetensors
    /// with tensors named as those that are quantized or as their modules, samples × input
    /// channels, or .npy for all with as many columns
    #[arg(long, visible_alias = "calibrate", value_name = "FILE")]
    calibration: Option<PathBuf>,

    /// Was another spelling of --rounding stochastic-a
    #[arg(long, hide = true, num_args = 0, default_missing_value = "", value_parser = removed_stochastic)]
    stochastic: Option<Infallible>,

    /// Which tensors are quantized, by shape and name; see below [default: matrices; schemes of
    /// other programs: weights]
    #[arg(long, value_name = "WHICH", value_parser = PossibleValuesParser::new(Tensors::ALL.iter().map(|which| which.name())))]
    tensors: Option<String>,

    /// Quantize only tensors whose name matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,

    /// Copy tensors whose name matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Infinities and NaN: refuse the tensor, or give them what the preset says
    #[arg(long, value_name = "RULE", default_value = "refuse", value_parser = ["refuse", "preset"])]
    nonfinite: String,

    /// Negative values in an unsigned format: nan, zero or magnitude [default: refuse them]
    #[arg(long, value_name = "RULE", value_parser = NEGATIVE)]
    negative: Option<String>,

    #[command(flatten)]
    scheme: SchemeArgs,

    #[command(flatten)]
    projection: ProjectionArgs,
}

impl RecipeArgs {
    /// The file with activations.
    pub(crate) fn calibration(&self) -> Option<&Path> {
        self.calibration.as_deref()
    }

    /// What the result is called.
    pub(crate) fn name(&self) -> &str {
        self.scheme.name(&self.format)
    }

    /// Asks for an output of which no value changes.
    pub(crate) fn keep_all(&self, options: &mut Options) {
        options.lossless = true;
        // The least power of two at which nothing saturates keeps all that some power of two keeps.
        if let (None, Some(scale)) = (&self.scheme.scale_rule, &mut options.scale)
            && scale.rule == ScaleRule::Floor
        {
            scale.rule = ScaleRule::Rceil;
        }
    }

    /// The options; whether to overwrite and to verify is left at the defaults.
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = self.scheme.options(&self.format)?;
        options.bias = bias(self, &options.format)?;
        let calibration = self.calibration.as_deref().map(Calibration::open).transpose();
        options.calibration = calibration.context("--calibration")?.map(Arc::new);
        options.tensors = self.tensors(&options);
        (options.rounding, options.seed) = rounding(&self.projection)?;
        options.saturation = self.projection.saturation;
        options.preset = self.projection.preset;
        options.nonfinite = self.nonfinite.parse().context("--nonfinite")?;
        options.negative = self.negative.as_deref().map_or(Negative::Refuse, negative);
        Ok(options)
    }

    fn tensors(&self, options: &Options) -> Tensors {
        match &self.tensors {
            Some(word) => word.parse().expect("the parser of arguments lets no other word pass"),
            None if options.layout.is_native() || !self.include.is_empty() => Tensors::Matrices,
            // What their readers expect.
            None => Tensors::Weights,
        }
    }

    /// The tensors that the patterns take.
    pub(crate) fn patterns(&self) -> Result<NamePatterns> {
        NamePatterns::new(&self.include, &self.exclude).context("--include or --exclude")
    }
}

/// Writes what became of every tensor of a source.
pub(crate) fn write_certificate(
    (source, output): (&Path, &Path),
    path: &Path,
    overwrite: bool,
) -> smallfloat_tensor::Result<()> {
    let bar = Bar::new();
    let certificate = certify(source, output, &mut |progress| bar.update(progress))?;
    write_json_durably(path, &certificate, overwrite)
}

/// What becomes of negative values, by the words of --negative.
pub(crate) const NEGATIVE: [&str; 3] = ["nan", "zero", "magnitude"];

/// The rule of one of these words.
pub(crate) fn negative(word: &str) -> Negative {
    word.parse().expect("the parser of arguments lets no other word pass")
}

/// How many threads there are.
#[derive(clap::Args, Debug)]
pub(crate) struct ThreadArgs {
    /// How many threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ThreadArgs {
    /// Takes so many from now on.
    pub(crate) fn take(&self) -> Result<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().context("--threads")
    }
}

/// Returns whether tensors have one bias each, so that pictures show their exponents beside its
/// range; others show the range of scales or biases.
pub(crate) fn has_histograms(options: &Options) -> bool {
    options.scale.is_none() && options.granularity == Granularity::Tensor
}

pub(crate) fn bias_in_words(options: &Options) -> String {
    match options.bias {
        _ if !options.format.has_free_bias() => String::new(),
        BiasPolicy::Fixed(_) if options.format.bias().is_some() => String::new(),
        bias => format!(", bias {bias}"),
    }
}

/// The stochastic rounding and its seed, if any, as they follow the format's name.
pub(crate) fn rounding_in_words(options: &Options) -> String {
    match (options.rounding, options.seed) {
        (Some(rounding), Some(seed)) if rounding.is_stochastic() => {
            format!(", {} with seed {seed}", rounding.name())
        }
        _ => String::new(),
    }
}

fn removed_stochastic(_: &str) -> Result<Infallible, String> {
    Err("write --rounding stochastic-a".into())
}

/// The policy that --bias and the format's name agree on.
fn bias(args: &RecipeArgs, format: &FormatSpec) -> Result<BiasPolicy> {
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
            bail!("--bias {policy}: the bias of {format} is always {named}; leave the option out")
        }
    }
    Ok(policy)
}

/// The rounding mode, and the seed of a stochastic one.
fn rounding(projection: &ProjectionArgs) -> Result<(Option<Rounding>, Option<u64>)> {
    let Some(stochastic) = projection.rounding.filter(|rounding| rounding.is_stochastic()) else {
        projection.check_seed()?;
        return Ok((projection.rounding, None));
    };
    let bits = RandomBits::from_word32(projection.random_bits, 0).context("--random-bits")?;
    Ok((Some(stochastic.with_random_bits(bits)), Some(projection.seed.unwrap_or(SEED))))
}

/// Refuses patterns of --include that match no tensor of a file or folder, and notes those of
/// --exclude.
pub(crate) fn check_patterns(patterns: &NamePatterns, input: &Path) -> Result<()> {
    let views = open_checkpoint(input)?;
    let tensors = views.iter().flat_map(View::tensors);
    let names: Vec<&str> = tensors.map(|tensor| &*tensor.info.name).collect();
    for pattern in patterns.check(&names).context("--include")? {
        message(Message::Note, &format!("--exclude: no tensor's name matches `{}`", words::excerpt(pattern)));
    }
    Ok(())
}
