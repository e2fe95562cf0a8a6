//! [`Config`]: which format, rounding and bias policy every class of tensors has, as one readable
//! TOML text.

pub(crate) mod named;
pub(crate) mod presets;
pub(crate) mod scheme;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use smallfloat::formats::BINARY32;
use smallfloat::{Format, FormatSpec, Projection, Rounding, Saturation};
use smallfloat_tensor::{BiasPolicy, Quantizer, ScaleRule};

use crate::config::named::named;
use crate::config::scheme::BlockScheme;
use crate::data::file::DataFile;
use crate::error::{Error, Result};

/// A format's name in a configuration, with or without its bias.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Spec(pub FormatSpec);

impl Default for Spec {
    fn default() -> Self {
        Self(BINARY32.into())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_plain() { f.write_str("f32") } else { self.0.fmt(f) }
    }
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let spec: FormatSpec = text.parse()?;
        let any = Self(spec).at_some_bias()?;
        if any.is_wide() && any != BINARY32 {
            let what =
                format!("format {text} is wider than 16 bits: take a smaller one, or f32 for no rounding");
            return Err(Error::config(what));
        }
        Ok(Self(spec))
    }
}

impl TryFrom<String> for Spec {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}

impl Spec {
    /// Returns the format, at some bias where it names none.
    ///
    /// # Errors
    /// Never for a format that was read.
    pub fn at_some_bias(&self) -> Result<Format> {
        Ok(self.0.format().or_else(|_| self.0.with_bias(15))?)
    }

    /// Returns whether it is binary32, which rounds nothing here.
    pub fn is_plain(&self) -> bool {
        self.0.format().is_ok_and(|format| format == BINARY32)
    }
}

/// The rounding of the elements of a class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Round {
    /// To the nearest, ties to even.
    #[default]
    NearestEven,
    /// P3109's StochasticA with 32 random bits; words by Philox4x32-10 from the run's seed, the
    /// tensor's name, and the step.
    StochasticA,
}

named! { Round, "rounding mode": NearestEven = "nearest-even", StochasticA = "stochastic-a", }

/// The effect of a NaN or an infinity in a tensor on a run. Small formats may have neither, so that
/// encoding would hide that a run has diverged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnNonfinite {
    /// Stops the run with [`Error::Nonfinite`], which names step and tensor.
    #[default]
    Refuse,
    /// Becomes what the projection makes of it: infinities clamp, a NaN becomes the format's, or
    /// what its preset says where it has none.
    Preset,
}

named! { OnNonfinite, "policy for NaN and infinities": Refuse = "refuse", Preset = "preset", }

impl Round {
    /// Returns the projection into a format: finite overflow clamps, infinities too where they come
    /// so far ([`OnNonfinite`]).
    ///
    /// # Errors
    /// Never for the modes there are; the number of random bits is checked where it is made.
    pub fn projection(self, format: &Format) -> Result<Projection> {
        let rounding = match self {
            Self::NearestEven => Rounding::NearestEven,
            Self::StochasticA => Rounding::stochastic_a(32)?,
        };
        Ok(format.default_projection().with_rounding(rounding).with_saturation(Saturation::SatFinite))
    }
}

/// The format, rounding and bias policy of a class of tensors.
///
/// Formats with a fixed bias (OCP's, P3109's) get a power-of-two scale 2^s for each tensor instead,
/// and the policy chooses s: the same thing by another name. UHP, bfloat16 and f32 take neither.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassConfig {
    /// The format; `f32` leaves the tensors as they are.
    pub format: Spec,
    /// A scheme with a scale for each block, instead of a format. The blocks lie along the sums of
    /// each product, so a matrix that is an operand of two is encoded twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<BlockScheme>,
    /// The rule for the scheme's scales, instead of its own.
    #[serde(skip_serializing_if = "Option::is_none", with = "scheme::scale_rule")]
    pub scale_rule: Option<ScaleRule>,
    /// The rounding mode.
    pub rounding: Round,
    /// Who chooses biases, spelled as [`BiasPolicy`] is; without one the format's own bias stands.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "policy_or_number")]
    pub bias: Option<BiasPolicy>,
    /// The bias to begin with, or the exponent s of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i32>,
    /// Keep the square root. For the second moment alone: √v has half of v's exponents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub root: bool,
}

/// Reads a policy from its text, and a bias from a number too.
fn policy_or_number<'de, D: Deserializer<'de>>(given: D) -> Result<Option<BiasPolicy>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a bias is a whole number, or the name of a policy in quotes")]
    enum Given {
        Number(i32),
        Text(String),
    }
    match Given::deserialize(given)? {
        Given::Number(bias) => Ok(Some(BiasPolicy::Fixed(bias))),
        Given::Text(policy) => policy.parse().map(Some).map_err(D::Error::custom),
    }
}

impl ClassConfig {
    /// Returns whether it goes together, for the operands of products. The name is for the error.
    ///
    /// # Errors
    /// A free bias that nobody chooses, `f32` with a bias or a rounding mode, a scheme beside a
    /// format or a bias, roots.
    pub fn check(&self, name: &str) -> Result<()> {
        if self.root {
            return refuse(name, "`root` is for state.second_moment alone");
        }
        self.check_format(name)
    }

    /// Returns whether tensors are left as they are.
    pub fn is_plain(&self) -> bool {
        self.scheme.is_none() && self.format.is_plain()
    }

    /// Refuses a format without a sign, for tensors that are negative half of the time.
    pub(crate) fn check_sign(&self, name: &str) -> Result<()> {
        let signed = match &self.scheme {
            Some(scheme) => scheme.scheme().element.is_signed(),
            None => self.format.at_some_bias()?.is_signed(),
        };
        if signed {
            return Ok(());
        }
        let what = format!(
            "{} has no negative values, which {name} have: take a signed format; only state.second_moment, \
             and the activations of mlp and cnn, are never negative",
            self.format
        );
        refuse(name, &what)
    }

    fn check_format(&self, name: &str) -> Result<()> {
        if let Some(scheme) = self.scheme {
            if self.format.is_plain() && self.bias.is_none() && self.start.is_none() {
                let quantizer = Quantizer::new(scheme.options(None, self.scale_rule));
                return quantizer.map(|_| ()).or_else(|e| refuse(name, &e.to_string()));
            }
            let what =
                format!("scheme {scheme} has its own elements and scales: leave format, bias and start out");
            return refuse(name, &what);
        }
        if let Some(rule) = self.scale_rule {
            let what = format!("scale_rule {rule} is for the scales of a scheme: name one");
            return refuse(name, &what);
        }
        if self.format.0.has_free_bias() && self.bias.is_none() && self.format.0.bias().is_none() {
            let what = format!(
                "{} needs a bias: `bias = \"amax\"` or another policy, or `format = \"{}:bias=N\"`",
                self.format, self.format
            );
            return refuse(name, &what);
        }
        if self.format.is_plain() && (self.bias.is_some() || self.rounding != Round::NearestEven) {
            return refuse(name, "f32 is not rounded here: leave bias and rounding out, or name a format");
        }
        if let (Some(start), None | Some(BiasPolicy::Fixed(_))) = (self.start, self.bias) {
            let what =
                format!("`start = {start}` is for a bias that changes: give a policy, or leave it out");
            return refuse(name, &what);
        }
        Ok(())
    }

    /// Checks the settings of a tensor that is kept between steps.
    fn check_kept(&self, name: &str) -> Result<()> {
        if let Some(scheme) = self.scheme {
            let what = format!(
                "scheme {scheme} is for operands of products, which are activations, weights and gradients: take a format"
            );
            return refuse(name, &what);
        }
        if let Some(policy) = self.bias.filter(|policy| policy.is_for_training()) {
            let what = format!(
                "bias {policy} learns from the step before; tensors that are kept need one that looks at what is stored: amax, \
                 auto, percentile:P or a number"
            );
            return refuse(name, &what);
        }
        self.check_format(name)
    }
}

fn refuse(name: &str, what: &str) -> Result<()> {
    Err(Error::config(format!("{name}: {what}")))
}

/// The state that is kept between steps.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateConfig {
    /// The parameters themselves. There is no other copy.
    pub weights: ClassConfig,
    /// Adam's first moment, or the momentum.
    pub first_moment: ClassConfig,
    /// Adam's second moment.
    pub second_moment: ClassConfig,
}

/// The treatment of a run's tensors.
///
/// ```
/// use smallfloat_train::Config;
/// let config: Config = r#"
///     [activations]
///     format = "cfloat8_1_4_3"
///     bias = "delayed"
///     [state.second_moment]
///     format = "uhp"
///     rounding = "stochastic-a"
///     root = true
/// "#.parse()?;
/// assert_eq!(config.activations.format.to_string(), "cfloat8_1_4_3");
/// assert!(config.gradients.format.is_plain());
/// assert!("[activations]\nformat = \"cfloat9\"".parse::<Config>().is_err());
/// # Ok::<(), smallfloat_train::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What a NaN or an infinity in a tensor does.
    pub nonfinite: OnNonfinite,
    /// The inputs of linear layers and convolutions.
    pub activations: ClassConfig,
    /// Their weights, as operands of products. Where the format is that of `state.weights`, the
    /// stored codes are the operand and nothing is rounded again.
    pub weights: ClassConfig,
    /// The gradients of their outputs.
    pub gradients: ClassConfig,
    /// What is kept between steps.
    pub state: StateConfig,
    /// What the loss is multiplied by, and gradients divided by before the optimizer; a power of
    /// two from 1 to 2^24.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f32>,
}

/// As TOML.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&basic_toml::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Config {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let config: Self = basic_toml::from_str(text).map_err(|error| {
            // The place of what is no error of syntax is not known; then this one is named.
            let error = error.to_string();
            Error::config(error.strip_suffix(" at line 1 column 1").unwrap_or(&error))
        })?;
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// Reads a TOML file of at most 1 MiB.
    ///
    /// # Errors
    /// What is no regular file or can't be read, and a text that is no configuration.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = DataFile::read_text(path, 1 << 20)?;
        text.parse().map_err(|e: Error| Error::data(path, e.to_string()))
    }

    /// Returns the classes with the names they have in the text.
    pub fn classes(&self) -> [(&'static str, &ClassConfig); 6] {
        let StateConfig { weights, first_moment, second_moment } = &self.state;
        [
            ("activations", &self.activations),
            ("weights", &self.weights),
            ("gradients", &self.gradients),
            ("state.weights", weights),
            ("state.first_moment", first_moment),
            ("state.second_moment", second_moment),
        ]
    }

    /// Returns whether stored codes are the operands of products.
    pub fn stored_operands(&self) -> bool {
        !self.weights.is_plain()
            && self.weights.scheme.is_none()
            && self.weights.format == self.state.weights.format
    }

    /// Returns whether the classes go together.
    ///
    /// # Errors
    /// What is wrong with a class, by its name: a format without a sign for tensors that have one,
    /// a bias that nobody chooses or a policy that learns from what the class does not have, a loss
    /// scale that is no power of two.
    pub fn check(&self) -> Result<()> {
        if matches!(self.gradients.bias, Some(BiasPolicy::Gradient { .. })) {
            let what = "a bias learns by gradient what it does to the loss, which gradients do not enter: take delayed, flags, \
                        amax, auto or a number";
            return refuse("gradients", what);
        }
        for (name, class) in self.classes() {
            if !matches!(name, "activations" | "state.second_moment") {
                class.check_sign(name)?;
            }
            match name {
                "state.second_moment" => class.check_kept(name)?,
                _ if name.starts_with("state") => class.check(name).and_then(|()| class.check_kept(name))?,
                _ => class.check(name)?,
            }
        }
        if let Some(scale) = self.loss_scale {
            let is_power = scale.to_bits().trailing_zeros() >= 23;
            if !(is_power && (1.0..=16_777_216.0).contains(&scale)) {
                return Err(Error::config(format!("loss_scale {scale}: take a power of two from 1 to 2^24")));
            }
        }
        Ok(())
    }
}
