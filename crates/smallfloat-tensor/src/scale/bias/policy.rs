//! [`BiasPolicy`]: which bias a tensor gets. A bias is a power-of-two scale, so this is the choice
//! of a scale.
//!
//! One type for files, where a tensor is seen once and whole, and for training, where tensors of
//! one kind come by step after step and a [`BiasController`] learns from each. What a policy learns
//! from:
//!
//! | policy | spelling | learns from | source |
//! | --- | --- | --- | --- |
//! | [`Fixed`](BiasPolicy::Fixed) | `7` | nothing | |
//! | [`Amax`](BiasPolicy::Amax) | `amax`, `amax:margin=1` | the tensor to be encoded | "current scaling" of NVIDIA's Transformer Engine (`Float8CurrentScaling`), in powers of two |
//! | [`Percentile`](BiasPolicy::Percentile) | `percentile:99.9` | the tensor to be encoded | |
//! | [`LeastError`](BiasPolicy::LeastError) | `auto` | the tensor to be encoded | Kuzmin et al., "FP8 Quantization: The Power of the Exponent" (arXiv 2208.09225), section 4, with exact sums over all integer biases |
//! | [`Delayed`](BiasPolicy::Delayed) | `delayed:history=16,margin=0` | the largest magnitudes of earlier steps | "delayed scaling" of Transformer Engine (`DelayedScaling`, `amax_compute_algo="max"`), in powers of two |
//! | [`Gradient`](BiasPolicy::Gradient) | `gradient:patience=4` | the loss's slope along the bias in earlier steps | Jain et al., "Trained Quantization Thresholds" (arXiv 1903.08066), section 3: power-of-two scales by straight-through gradients; by signs here |
//! | [`Flags`](BiasPolicy::Flags) | `flags:patience=16` | overflows and codes of earlier steps | Tesla's paper on CFloat formats: biases "learnt during the training" (formats), the overflow flag (exceptions and status flags) |
//!
//! Rules for tensors of a file: [semantics](smallfloat::semantics) S7.

use std::cmp::Ordering;
use std::fmt;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallfloat::{Datum, Format, FormatSpec};

use crate::error::{Error, Result};
use crate::scale::bias::least_error::least_error;
use crate::scale::bias::magnitudes::Magnitudes;

/// The rule by which the bias of a tensor is chosen.
///
/// ```
/// use smallfloat_tensor::BiasPolicy;
/// assert_eq!("auto".parse::<BiasPolicy>()?, BiasPolicy::LeastError);
/// assert_eq!("percentile:99.9".parse::<BiasPolicy>()?, BiasPolicy::Percentile(99.9));
/// assert_eq!("delayed:margin=1".parse::<BiasPolicy>()?, BiasPolicy::Delayed { history: 16, margin: 1 });
/// assert_eq!(BiasPolicy::Amax { margin: 0 }.to_string(), "amax");
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum BiasPolicy {
    /// The bias with the least squared error, exactly, over all legal ones; of equals the largest.
    LeastError,
    /// The largest bias at which the largest magnitude, times 2^margin, does not exceed the
    /// format's.
    Amax {
        /// Binades kept free above the largest magnitude, 0 to 63.
        margin: u32,
    },
    /// The largest bias that holds the magnitude which this percentage of the finite elements does
    /// not exceed.
    Percentile(f64),
    /// This bias for every tensor.
    Fixed(i32),
    /// [`Amax`](Self::Amax) of the largest magnitude of the last steps. For training only.
    Delayed {
        /// How many steps are remembered, 1 to 65,536.
        history: u32,
        /// Binades kept free above the largest magnitude, 0 to 63.
        margin: u32,
    },
    /// From overflow flags and from how many codes lie in the two topmost binades, without any
    /// reduction over wide data: an overflow lowers the bias by one; two unused binades, or one for
    /// some steps in a row, raise it by one. For training only.
    Flags {
        /// So many steps in a row the topmost binade alone must stay unused, 1 to 65,536.
        patience: u32,
    },
    /// Down the slope of the loss: each step votes for the direction in which the loss falls, and a
    /// majority moves the bias by one. For training only, and for tensors that the loss depends on:
    /// operands, not gradients.
    Gradient {
        /// By so many votes one direction must lead, 1 to 65,536. Then votes are counted anew.
        patience: u32,
    },
}

/// The largest margin: more would leave no bias.
const MAX_MARGIN: u32 = 63;
/// The most steps that are remembered.
const MAX_STEPS: u32 = 1 << 16;
/// What `delayed` and `flags` mean without numbers.
const STEPS: u32 = 16;
/// What `gradient` means without a number.
const VOTES: u32 = 4;

impl FromStr for BiasPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            // As the formats say it of other numbers.
            let is_far = |error: ParseIntError| {
                matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow)
            };
            if text.parse::<i32>().is_err_and(is_far) {
                return Error::option(format!("bias = {text} is out of range, bias must be 0..=63"));
            }
            let what = format!(
                "bias `{text}` is not understood: write auto, amax, percentile:P (0 < P <= 100) or a number; amax takes \
                 :margin=M (0 to {MAX_MARGIN}); in training also delayed:history=N,margin=M, flags:patience=N and \
                 gradient:patience=N (N from 1 to {MAX_STEPS})"
            );
            Error::option(what)
        })
    }
}

fn parse(text: &str) -> Option<BiasPolicy> {
    let (name, settings) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let margin = || ("margin", 0, 0..=MAX_MARGIN);
    let steps = |name, default| (name, default, 1..=MAX_STEPS);
    match (name, settings) {
        ("auto" | "mse", None) => Some(BiasPolicy::LeastError),
        ("percentile", Some(percent)) => {
            let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
            (percent > 0.0).then_some(BiasPolicy::Percentile(percent))
        }
        ("amax", settings) => {
            let [margin] = numbers(settings, &[margin()])?;
            Some(BiasPolicy::Amax { margin })
        }
        ("delayed", settings) => {
            let [history, margin] = numbers(settings, &[steps("history", STEPS), margin()])?;
            Some(BiasPolicy::Delayed { history, margin })
        }
        ("flags", settings) => {
            let [patience] = numbers(settings, &[steps("patience", STEPS)])?;
            Some(BiasPolicy::Flags { patience })
        }
        ("gradient", settings) => {
            let [patience] = numbers(settings, &[steps("patience", VOTES)])?;
            Some(BiasPolicy::Gradient { patience })
        }
        _ => text.parse().ok().map(BiasPolicy::Fixed),
    }
}

/// `key=number,…` in any order; keys that are left out have their defaults.
fn numbers<const N: usize>(
    settings: Option<&str>,
    known: &[(&str, u32, std::ops::RangeInclusive<u32>); N],
) -> Option<[u32; N]> {
    let mut values = known.each_ref().map(|(_, default, _)| *default);
    let mut seen = [false; N];
    for setting in settings.iter().flat_map(|settings| settings.split(',')) {
        let (key, value) = setting.split_once('=')?;
        let place = known.iter().position(|(name, ..)| *name == key)?;
        let value = value.parse().ok().filter(|value| known[place].2.contains(value))?;
        if std::mem::replace(&mut seen[place], true) {
            return None;
        }
        values[place] = value;
    }
    Some(values)
}

impl fmt::Display for BiasPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeastError => f.write_str("auto"),
            Self::Amax { margin: 0 } => f.write_str("amax"),
            Self::Amax { margin } => write!(f, "amax:margin={margin}"),
            Self::Percentile(percent) => write!(f, "percentile:{percent}"),
            Self::Fixed(bias) => write!(f, "{bias}"),
            Self::Delayed { history, margin } => {
                write!(f, "delayed:history={history},margin={margin}")
            }
            Self::Flags { patience } => write!(f, "flags:patience={patience}"),
            Self::Gradient { patience } => write!(f, "gradient:patience={patience}"),
        }
    }
}

impl TryFrom<String> for BiasPolicy {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BiasPolicy> for String {
    fn from(policy: BiasPolicy) -> Self {
        policy.to_string()
    }
}

impl BiasPolicy {
    /// Returns whether the policy learns from one step for the next, so that it has no answer for a
    /// tensor that is seen once.
    pub fn is_for_training(self) -> bool {
        matches!(self, Self::Delayed { .. } | Self::Flags { .. } | Self::Gradient { .. })
    }

    /// Returns whether the choice needs a look at the data that will be encoded.
    pub fn needs_statistics(self) -> bool {
        matches!(self, Self::LeastError | Self::Amax { .. } | Self::Percentile(_))
    }

    /// Refuses numbers that can't be spelled.
    pub(crate) fn check(self) -> Result<()> {
        match self.to_string().parse::<Self>() {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the format with the bias for data with these statistics, which only
    /// [`Fixed`](Self::Fixed) does without. A tensor without a magnitude gets the bias of IEEE
    /// 754's formats with as many exponent bits.
    ///
    /// # Errors
    /// A bias outside the format's range, missing statistics, and policies [for
    /// training](Self::is_for_training).
    pub fn choose(self, spec: &FormatSpec, magnitudes: Option<&Magnitudes>) -> Result<Format> {
        if self.is_for_training() {
            let what = format!(
                "bias {self} learns from step to step, in training; for tensors of a file take auto, amax, percentile:P \
                 or a number"
            );
            return Err(Error::option(what));
        }
        if let Self::Fixed(bias) = self {
            return spec.with_bias(bias).map_err(|e| Error::option(e.to_string()));
        }
        let candidates = candidates(spec);
        let (Some(magnitudes), Some(&last)) = (magnitudes, candidates.last()) else {
            let what = format!("bias {self} needs the data's statistics and a format whose bias is free");
            return Err(Error::option(what));
        };
        if magnitudes.is_zero() {
            return Ok(default_bias(last));
        }
        Ok(self.of_magnitudes(&candidates, magnitudes))
    }

    /// The choice for data that has a magnitude; `candidates` are not empty.
    fn of_magnitudes(self, candidates: &[Format], magnitudes: &Magnitudes) -> Format {
        match self {
            Self::LeastError => least_error(candidates, magnitudes),
            Self::Percentile(percent) => largest_holding(candidates, &magnitudes.percentile(percent), 0),
            Self::Amax { margin } => largest_holding(candidates, &magnitudes.amax(), margin),
            // `choose` has answered for these.
            Self::Fixed(_) | Self::Delayed { .. } | Self::Flags { .. } | Self::Gradient { .. } => {
                candidates[0]
            }
        }
    }
}

/// The format at every legal bias, ascending.
pub(crate) fn candidates(spec: &FormatSpec) -> Vec<Format> {
    let free = spec.has_free_bias();
    (0..=63).filter(|_| free).filter_map(|bias| spec.with_bias(bias).ok()).collect()
}

/// For a tensor of zeros: the bias of IEEE 754's formats with as many exponent bits (7, 15, 15).
pub(crate) fn default_bias(format: Format) -> Format {
    let bias = (1 << (format.exponent_bits() - 1)) - 1;
    format.with_bias(bias).unwrap_or(format)
}

/// Of candidates in ascending order of their bias, the one with the largest that holds this
/// magnitude times 2^margin; the first if none does.
pub(crate) fn largest_holding(candidates: &[Format], magnitude: &Datum, margin: u32) -> Format {
    let first = candidates[0];
    let steps = headroom(&first, magnitude).saturating_sub_unsigned(margin);
    candidates[usize::try_from(steps).unwrap_or(0).min(candidates.len() - 1)]
}

/// Returns the largest power of two by which this magnitude, which is not zero, may be multiplied
/// without exceeding the format's largest value, as its exponent: by how much a bias may grow.
/// Below zero if it exceeds that value already.
pub fn headroom(format: &Format, magnitude: &Datum) -> i32 {
    let (Datum::Finite { significand, exponent, .. }, max) = (*magnitude, format.max_finite()) else {
        return 0;
    };
    let binades = max.exponent_of_leading_bit() - magnitude.exponent_of_leading_bit();
    let moved = Datum::finite(false, significand, exponent + binades);
    binades - i32::from(moved.compare(&max) == Some(Ordering::Greater))
}
