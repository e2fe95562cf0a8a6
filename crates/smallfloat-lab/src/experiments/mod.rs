//! The experiments of the P3109 working group's talk ("Report from IEEE WG P3109: Arithmetic
//! Formats for Machine Learning"), tables of papers, and experiments on real training, as functions
//! that anyone can run again and vary.
//!
//! Each takes [`ExperimentOptions`] and gives [`Findings`]. Numbers that a format holds are rounded
//! by the core, once per operation; statistics over them are sums in `f64`. Random numbers come
//! from Philox with the seed, so findings are the same on every machine and for any number of
//! threads.
//!
//! ```
//! use smallfloat_lab::experiments::{Experiment, ExperimentOptions};
//!
//! let findings = "subnormals".parse::<&Experiment>()?.run(&ExperimentOptions::default())?;
//! assert!(!findings.tables.is_empty());
//! # Ok::<(), smallfloat_lab::Error>(())
//! ```

mod accumulate;
mod accumulate_hardware;
mod attention_mask;
mod bias_sweep;
mod decisions;
mod dot_saturation;
mod fma_double_rounding;
mod layer_norm;
mod negative_zero;
mod papers;
mod precision_range;
mod softmax_loss;
mod subnormals;
#[cfg(feature = "training")]
mod training;
mod underflow;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use smallfloat::{Format, FormatSpec};

use crate::error::Error;
use crate::named::by_name;

pub use crate::instruments::data::{Random, Role, Tensor, read, sample};
pub use crate::instruments::findings::{
    Axis, AxisScale, Cell, Findings, FindingsTable, Mark, Plot, Series, special,
};
pub use crate::instruments::tree::{Order, Tree};
pub use crate::instruments::unit::{ArithmeticUnit, Overflow, datum, float};

/// Something that experiments can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExperimentOption {
    /// [`ExperimentOptions::formats`].
    Format,
    /// [`ExperimentOptions::accumulator`].
    Accumulator,
    /// [`ExperimentOptions::input`].
    Input,
    /// [`ExperimentOptions::seed`].
    Seed,
    /// [`ExperimentOptions::length`].
    Length,
    /// [`ExperimentOptions::trials`].
    Trials,
    /// [`ExperimentOptions::tree`].
    Tree,
    /// [`ExperimentOptions::order`].
    Order,
    /// [`ExperimentOptions::temperatures`].
    Temperature,
    /// [`ExperimentOptions::update`].
    Update,
}

impl ExperimentOption {
    /// All options by their names on the command line.
    pub const NAMED: [(&'static str, Self); 10] = [
        ("--format", Self::Format),
        ("--accumulator", Self::Accumulator),
        ("--input", Self::Input),
        ("--seed", Self::Seed),
        ("--length", Self::Length),
        ("--trials", Self::Trials),
        ("--tree", Self::Tree),
        ("--order", Self::Order),
        ("--temperature", Self::Temperature),
        ("--update", Self::Update),
    ];

    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, option)| *option == self).expect("every option has a name").0
    }
}

by_name!(ExperimentOption, "option");

/// The options of an experiment; those left out have the experiment's defaults.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExperimentOptions {
    /// The formats that are compared, or the one that is examined.
    pub formats: Vec<FormatSpec>,
    /// The format that sums are held in, or that results pass through.
    pub accumulator: Option<Format>,
    /// A `.safetensors` or `.npy` file of real tensors.
    pub input: Option<PathBuf>,
    /// The key of all random numbers; 0 unless given.
    pub seed: Option<u64>,
    /// The length of vectors, or the number of steps; 1 to 2^20.
    pub length: Option<usize>,
    /// How often a random experiment is repeated; 1 to 10^6.
    pub trials: Option<u64>,
    /// How terms are added up.
    pub tree: Option<Tree>,
    /// In which order.
    pub order: Option<Order>,
    /// Factors of a softmax's scores; positive.
    pub temperatures: Vec<f64>,
    /// What is added at every step; finite and positive.
    pub update: Option<f64>,
}

/// Longer vectors would take hours.
const MAX_LENGTH: usize = 1 << 20;
const MAX_TRIALS: u64 = 1_000_000;

impl ExperimentOptions {
    /// The knobs that are turned.
    fn given(&self) -> impl Iterator<Item = ExperimentOption> {
        [
            (ExperimentOption::Format, !self.formats.is_empty()),
            (ExperimentOption::Accumulator, self.accumulator.is_some()),
            (ExperimentOption::Input, self.input.is_some()),
            (ExperimentOption::Seed, self.seed.is_some()),
            (ExperimentOption::Length, self.length.is_some()),
            (ExperimentOption::Trials, self.trials.is_some()),
            (ExperimentOption::Tree, self.tree.is_some()),
            (ExperimentOption::Order, self.order.is_some()),
            (ExperimentOption::Temperature, !self.temperatures.is_empty()),
            (ExperimentOption::Update, self.update.is_some()),
        ]
        .into_iter()
        .filter_map(|(knob, given)| given.then_some(knob))
    }

    fn check(&self) -> Result<(), Error> {
        let range = |knob: ExperimentOption, legal: bool, given: String, expected: &str| {
            let error = Error::OptionRange { option: knob.name(), given, expected: expected.to_owned() };
            if legal { Ok(()) } else { Err(error) }
        };
        if let Some(n) = self.length {
            range(
                ExperimentOption::Length,
                (1..=MAX_LENGTH).contains(&n),
                n.to_string(),
                "an integer from 1 to 2^20",
            )?;
        }
        if let Some(n) = self.trials {
            let legal = (1..=MAX_TRIALS).contains(&n);
            range(ExperimentOption::Trials, legal, n.to_string(), "an integer from 1 to 1000000")?;
        }
        let positive = |x: f64| x.is_finite() && x > 0.0;
        for &x in &self.temperatures {
            range(ExperimentOption::Temperature, positive(x), format!("{x:?}"), "a positive number")?;
        }
        if let Some(x) = self.update {
            range(ExperimentOption::Update, positive(x), format!("{x:?}"), "a positive number")?;
        }
        Ok(())
    }

    fn key(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The formats given, complete and signed, or those of these names.
    fn formats_or(&self, defaults: &[&str]) -> Result<Vec<Format>, Error> {
        let formats: Vec<Format> = if self.formats.is_empty() {
            defaults.iter().map(|name| name.parse()).collect::<Result<_, _>>()?
        } else {
            self.formats.iter().map(FormatSpec::format).collect::<Result<_, _>>()?
        };
        formats.iter().try_for_each(|format| narrow(ExperimentOption::Format, format))?;
        Ok(formats)
    }

    /// The only format given, or the one of this name.
    fn format_or(&self, default: &str) -> Result<Format, Error> {
        match self.formats_or(&[default])?.as_slice() {
            [format] => Ok(*format),
            many => Err(Error::OptionRange {
                option: ExperimentOption::Format.name(),
                given: format!("{} formats", many.len()),
                expected: "one format".into(),
            }),
        }
    }

    /// The accumulator given, or this format; sums need a sign.
    fn accumulator_or(&self, default: Format) -> Result<Format, Error> {
        let format = self.accumulator.unwrap_or(default);
        if format.is_signed() {
            Ok(format)
        } else {
            Err(unfit(ExperimentOption::Accumulator, &format, "a signed format"))
        }
    }

    /// The tensors of the file, or the built-in sample, and what they are called.
    fn tensors(&self) -> Result<(Vec<Tensor>, String), Error> {
        match &self.input {
            Some(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                Ok((read(path)?, name))
            }
            None => Ok((sample(self.key()), format!("built-in sample, seed {}", self.key()))),
        }
    }
}

/// Experiments take signed formats of at most 16 bits with a zero as what they examine.
fn narrow(knob: ExperimentOption, format: &Format) -> Result<(), Error> {
    if format.is_signed() && !format.is_wide() && format.has_zero() {
        Ok(())
    } else {
        Err(unfit(knob, format, "a signed format of at most 16 bits"))
    }
}

fn unfit(knob: ExperimentOption, format: &Format, expected: &str) -> Error {
    Error::OptionRange { option: knob.name(), given: format.to_string(), expected: expected.to_owned() }
}

/// An experiment: its name, what it shows, and which options it takes.
#[derive(Debug)]
pub struct Experiment {
    /// The name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// The options that mean something to it.
    pub knobs: &'static [ExperimentOption],
    run: fn(&ExperimentOptions) -> Result<Findings, Error>,
}

impl Experiment {
    /// Returns whether formats without a bias are right, because it chooses biases for them.
    pub fn chooses_biases(&self) -> bool {
        ["bias-sweep", "gradient-formats", "tensor-biases"].contains(&self.name)
    }

    /// Runs the experiment.
    ///
    /// # Errors
    /// An option that it does not take or whose value is outside its range, an unknown format, a
    /// file that can't be read.
    pub fn run(&self, options: &ExperimentOptions) -> Result<Findings, Error> {
        options.check()?;
        if let Some(knob) = options.given().find(|knob| !self.knobs.contains(knob)) {
            let names: Vec<_> = self.knobs.iter().map(ToString::to_string).collect();
            return Err(Error::NotTaken {
                experiment: self.name,
                option: knob.name(),
                taken: names.join(", "),
            });
        }
        (self.run)(options)
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// The experiment of a name; the error lists all names.
impl FromStr for &'static Experiment {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        EXPERIMENTS.iter().find(|experiment| experiment.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
            Error::NoSuchExperiment { name: name.to_owned(), names: names.join(", ") }
        })
    }
}

macro_rules! experiments {
    ($($(#[$when:meta])? $name:literal $($module:ident)::+ $about:literal [$($knob:ident)*];)*) => {
        /// All experiments.
        pub const EXPERIMENTS: &[Experiment] = &[$($(#[$when])? Experiment {
            name: $name,
            about: $about,
            knobs: &[$(ExperimentOption::$knob),*],
            run: $($module)::+::run,
        }),*];
    };
}

experiments! {
    "dot-saturation" dot_saturation
        "dot products whose sums overflow: saturate, infinity or NaN, in any order and tree"
        [Format Accumulator Tree Order Length Trials Seed Input];
    "attention-mask" attention_mask
        "a mask of the largest value in place of −∞: how much weight leaks past it"
        [Format Temperature Seed];
    "layer-norm" layer_norm
        "a norm whose sum of squares overflows silently"
        [Format Accumulator Seed];
    "softmax-loss" softmax_loss
        "the infinite loss of an untrained network, and what scaling or log-softmax does"
        [Format Trials Seed];
    "fma-double-rounding" fma_double_rounding
        "x·y + z through a wider format: every triple whose result differs from one rounding"
        [Format Accumulator];
    "negative-zero" negative_zero
        "−0 kept, made 0 or made NaN when a network is converted, and 1/(1/−∞)"
        [Format Input Seed];
    "underflow" underflow
        "what of a network becomes 0 or subnormal, with and without scales and subnormals"
        [Format Input Seed];
    "accumulate" accumulate
        "many tiny updates under nearest and stochastic rounding with few random bits"
        [Format Update Length Trials Seed];
    "accumulate-hardware" accumulate_hardware
        "long sums, matrix products and training in the accumulators of GPUs' matrix units"
        [Format Length Trials Seed];
    "precision-range" precision_range
        "error against dynamic range for P = 1 to 7 bits of precision"
        [Input Seed];
    "bias-sweep" bias_sweep
        "the error of CFloat8 at every bias"
        [Format Input Seed];
    "exponent-bits" papers::exponent_bits
        "Kuzmin et al.: exponent bits and bias of 8 bits on three distributions and on tensors"
        [Input Seed];
    "few-bits" papers::few_bits
        "Fitzgibbon and Felix: the bias of stochastic rounding with few random bits"
        [Format];
    #[cfg(feature = "training")]
    "gradient-formats" training::gradient_formats
        "gradients of real training in CFloat8, SHP and others: what is lost, and what training makes of it"
        [Format Length Trials Seed];
    #[cfg(feature = "training")]
    "tensor-biases" training::tensor_biases
        "the best biases of real weights, activations and gradients"
        [Format Length Input Seed];
    #[cfg(feature = "training")]
    "biases-in-use" training::biases_in_use
        "how many biases a training run uses at a time, and how often they change"
        [Length Seed];
    #[cfg(feature = "training")]
    "direct-cast" training::direct_cast
        "Microscaling: MX formats on recorded tensors, and trained models cast to them"
        [Length Seed];
    "decisions" decisions
        "the talk's comparison of 8-bit formats, computed from the catalogue"
        [Format];
    "subnormals" subnormals
        "the range that subnormals add"
        [Format];
}
