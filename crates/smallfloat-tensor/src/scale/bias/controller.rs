//! [`BiasController`]: the bias of one kind of tensor through a training run.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smallfloat::{Format, FormatSpec};
use smallfloat_kernels::{Code, Element, EventCounts};

use crate::error::{Error, Result};
use crate::scale::bias::magnitudes::Magnitudes;
use crate::scale::bias::policy::{BiasPolicy, candidates, default_bias, headroom};

/// The observation of a step that a [`BiasController`] is given.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// The largest finite magnitude; zero if there is none. Enough for `amax` and `delayed`.
    Amax(f64),
    /// Statistics of a tensor, made for the format's precision. Enough for all policies but `flags`
    /// and `gradient`.
    Magnitudes(&'a Magnitudes),
    /// What encoding the tensor at the present bias gave. For `flags`.
    Codes(CodeUse),
    /// The derivative of the loss by the bias, of which the sign counts: below zero, a larger bias
    /// is better. For `gradient`. With x̂ the value that x was rounded to and g the loss's
    /// derivative by x̂, straight through the rounding it is −ln 2 · Σ g·(x̂ − x), where x̂ − x
    /// becomes x̂ for an x that was clamped.
    Slope(f64),
}

/// The use that the codes of a tensor make of their range. Parts of a tensor add up, in any order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodeUse {
    /// Elements that raised the overflow flag.
    pub overflowed: u64,
    /// Codes in the topmost binade.
    pub topmost: u64,
    /// Codes in the binade below it.
    pub second: u64,
    /// Elements that were not zero before they were encoded.
    pub nonzero: u64,
}

impl CodeUse {
    /// Counts the codes of a format whose codes are all finite, and the events of encoding them.
    pub fn of<C: Code>(format: &Format, events: &EventCounts, codes: &[C]) -> Self {
        let (shift, mask) = (format.trailing_bits(), (1 << format.exponent_bits()) - 1);
        let (mut topmost, mut second) = (0_u64, 0_u64);
        for code in codes {
            let field = (code.widen() >> shift) & mask;
            topmost += u64::from(field == mask);
            second += u64::from(field == mask - 1);
        }
        let zeros = events.zeros.saturating_sub(events.underflowed);
        let nonzero = events.elements.saturating_sub(zeros);
        Self { overflowed: events.overflowed, topmost, second, nonzero }
    }

    /// Returns the counts of both together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            overflowed: self.overflowed + other.overflowed,
            topmost: self.topmost + other.topmost,
            second: self.second + other.second,
            nonzero: self.nonzero + other.nonzero,
        }
    }
}

/// A bias that follows the data of one kind of tensor (the weights of a layer, its activations, its
/// gradients) step by step. The same observations in the same order give the same biases; nothing
/// else has any influence.
///
/// Policies that [need statistics](BiasPolicy::needs_statistics) are told of a tensor before it is
/// encoded; `delayed` and `flags` after, `gradient` when the loss's gradient is known. A step
/// without a finite magnitude other than zero leaves the bias as it is, and so does an amax that is
/// NaN or infinite, which is not remembered either (Transformer Engine keeps its scale too).
///
/// The state can be stored and read back (serde), so that a training run resumes where it was: it
/// is made of words and integers, and what does not fit together is refused.
///
/// ```
/// use smallfloat_tensor::{BiasController, BiasPolicy, Observation};
///
/// let policy = BiasPolicy::Delayed { history: 2, margin: 0 };
/// let mut bias = BiasController::new(policy, "cfloat8_1_4_3".parse()?, None)?;
/// // The largest value is 1.875 · 2^(15 − bias): 0.3 fits up to 17, 5.0 up to 13.
/// assert_eq!(bias.observe(Observation::Amax(0.3))?, 17);
/// assert_eq!(bias.observe(Observation::Amax(5.0))?, 13);
/// assert_eq!(bias.observe(Observation::Amax(0.3))?, 13);
/// assert_eq!(bias.observe(Observation::Amax(0.3))?, 17);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct BiasController {
    policy: BiasPolicy,
    spec: FormatSpec,
    format: Format,
    /// Of the last steps, the largest bias that held the largest magnitude, beyond the legal range
    /// too; `None` for a step without one.
    history: VecDeque<Option<i32>>,
    /// Steps in a row whose codes left the topmost binade unused.
    unused: u32,
    /// Votes of `gradient` for a larger bias, less those for a smaller one.
    votes: i32,
    steps: u64,
    changes: u64,
}

impl BiasController {
    /// Returns a controller for a format whose bias is free, beginning at this bias; without one,
    /// at that in the format's name, or at that of IEEE 754's formats with as many exponent bits. A
    /// fixed bias begins as itself.
    ///
    /// # Errors
    /// A format whose bias is not free, a bias outside its range, numbers of the policy outside
    /// theirs.
    pub fn new(policy: BiasPolicy, spec: FormatSpec, start: Option<i32>) -> Result<Self> {
        policy.check()?;
        let Some(&any) = candidates(&spec).first() else {
            return Err(refused(format!("{spec} has no bias to choose: take a CFloat8 format or SHP")));
        };
        let start = match policy {
            BiasPolicy::Fixed(bias) => bias,
            _ => start.or(spec.bias()).unwrap_or_else(|| default_bias(any).bias()),
        };
        let format = spec.with_bias(start).map_err(|e| refused(e.to_string()))?;
        Ok(Self { policy, spec, format, history: VecDeque::new(), unused: 0, votes: 0, steps: 0, changes: 0 })
    }

    /// Returns the policy.
    pub fn policy(&self) -> BiasPolicy {
        self.policy
    }

    /// Returns the format at the present bias.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns the present bias.
    pub fn bias(&self) -> i32 {
        self.format.bias()
    }

    /// Returns how many observations there were.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns how many of them changed the bias.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Learns from a step, and gives the bias from now on.
    ///
    /// # Errors
    /// An observation of another kind than the policy learns from; it is forgotten.
    pub fn observe(&mut self, observation: Observation<'_>) -> Result<i32> {
        let wanted = match (self.policy, observation) {
            (BiasPolicy::Fixed(_), _) => None,
            (BiasPolicy::Flags { patience }, Observation::Codes(codes)) => self.step(codes, patience),
            (BiasPolicy::Gradient { patience }, Observation::Slope(slope)) => self.vote(slope, patience),
            (BiasPolicy::Flags { .. } | BiasPolicy::Gradient { .. }, _)
            | (_, Observation::Codes(_) | Observation::Slope(_)) => {
                return Err(self.misfit(observation));
            }
            (BiasPolicy::Delayed { history, margin }, seen) => self.remember(amax(seen), history, margin),
            (BiasPolicy::Amax { margin }, seen) => {
                amax(seen).map(|amax| self.holding(&amax).saturating_sub_unsigned(margin))
            }
            (_, Observation::Amax(_)) => return Err(self.misfit(observation)),
            (policy, Observation::Magnitudes(magnitudes)) => (!magnitudes.is_zero())
                .then(|| policy.choose(&self.spec, Some(magnitudes)).map(|format| format.bias()))
                .transpose()?,
        };
        self.steps = self.steps.saturating_add(1);
        if let Some(bias) = wanted {
            self.move_to(bias);
        }
        Ok(self.bias())
    }

    fn misfit(&self, observation: Observation<'_>) -> Error {
        let given = match observation {
            Observation::Amax(_) => "an amax alone",
            Observation::Magnitudes(_) => "magnitudes",
            Observation::Codes(_) => "codes",
            Observation::Slope(_) => "a slope",
        };
        let wants = match self.policy {
            BiasPolicy::Flags { .. } => "Codes",
            BiasPolicy::Gradient { .. } => "Slope",
            BiasPolicy::Amax { .. } | BiasPolicy::Delayed { .. } => "Amax or Magnitudes",
            _ => "Magnitudes",
        };
        refused(format!("bias {} learns nothing from {given}: give it {wants}", self.policy))
    }

    /// Takes this bias, or the nearest legal one.
    fn move_to(&mut self, bias: i32) {
        let (low, high) = self.format.bias_range().unwrap_or((0, 63));
        if let Ok(format) = self.spec.with_bias(bias.clamp(low, high)) {
            self.changes = self.changes.saturating_add(u64::from(format.bias() != self.bias()));
            self.format = format;
        }
    }

    /// The largest bias that holds a magnitude, beyond the legal range too.
    fn holding(&self, magnitude: &smallfloat::Datum) -> i32 {
        self.bias() + headroom(&self.format, magnitude)
    }

    /// `delayed`: the least of the biases that held the last steps.
    fn remember(&mut self, amax: Seen, history: u32, margin: u32) -> Option<i32> {
        let holding = match amax {
            Seen::Nothing => return None,
            Seen::Zero => None,
            Seen::Magnitude(amax) => Some(self.holding(&amax)),
        };
        while self.history.len() >= usize::try_from(history).expect("usize has 32 bits") {
            self.history.pop_front();
        }
        self.history.push_back(holding);
        let least = self.history.iter().flatten().min()?;
        Some(least.saturating_sub_unsigned(margin))
    }

    /// `flags`: a step down at an overflow, up where the range has room.
    fn step(&mut self, codes: CodeUse, patience: u32) -> Option<i32> {
        if codes.nonzero == 0 && codes.overflowed == 0 {
            return None;
        }
        let up = match codes {
            CodeUse { overflowed: 1.., .. } => false,
            CodeUse { topmost: 0, second: 0, .. } => true,
            CodeUse { topmost: 0, .. } => self.unused + 1 >= patience,
            _ => false,
        };
        self.unused = if codes.overflowed > 0 || codes.topmost > 0 || up { 0 } else { self.unused + 1 };
        if up {
            return Some(self.bias() + 1);
        }
        (codes.overflowed > 0).then(|| self.bias() - 1)
    }

    /// `gradient`: a step where the votes of one direction lead.
    fn vote(&mut self, slope: f64, patience: u32) -> Option<i32> {
        self.votes += match slope {
            slope if slope < 0.0 => 1,
            slope if slope > 0.0 => -1,
            _ => 0,
        };
        if self.votes.unsigned_abs() < patience {
            return None;
        }
        Some(self.bias() + std::mem::take(&mut self.votes).signum())
    }
}

/// An amax.
#[derive(Clone, Copy)]
enum Seen {
    Magnitude(smallfloat::Datum),
    Zero,
    /// Not a finite number.
    Nothing,
}

impl Seen {
    fn map<T>(self, f: impl FnOnce(smallfloat::Datum) -> T) -> Option<T> {
        match self {
            Self::Magnitude(amax) => Some(f(amax)),
            Self::Zero | Self::Nothing => None,
        }
    }
}

fn amax(observation: Observation<'_>) -> Seen {
    let datum = match observation {
        Observation::Amax(x) => f64::FORMAT.decode(x.abs().to_bits()),
        Observation::Magnitudes(magnitudes) => magnitudes.amax(),
        Observation::Codes(_) | Observation::Slope(_) => return Seen::Nothing,
    };
    match datum {
        _ if !datum.is_finite() => Seen::Nothing,
        _ if datum.is_zero() => Seen::Zero,
        _ => Seen::Magnitude(datum),
    }
}

fn refused(what: String) -> Error {
    Error::option(what)
}

/// The state in words and integers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    policy: BiasPolicy,
    format: String,
    bias: i32,
    history: VecDeque<Option<i32>>,
    unused: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    votes: i32,
    steps: u64,
    changes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(votes: &i32) -> bool {
    *votes == 0
}

impl From<BiasController> for Stored {
    fn from(controller: BiasController) -> Self {
        let BiasController { policy, spec, format, history, unused, votes, steps, changes } = controller;
        Self { policy, format: spec.to_string(), bias: format.bias(), history, unused, votes, steps, changes }
    }
}

impl TryFrom<Stored> for BiasController {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let spec: FormatSpec =
            stored.format.parse().map_err(|e: smallfloat::Error| refused(e.to_string()))?;
        let fresh = Self::new(stored.policy, spec, Some(stored.bias))?;
        let (history, unused, votes) = match stored.policy {
            BiasPolicy::Delayed { history, .. } => (history, 1, 1),
            BiasPolicy::Flags { patience } => (0, patience, 1),
            BiasPolicy::Gradient { patience } => (0, 1, patience),
            _ => (0, 1, 1),
        };
        let remembered = u32::try_from(stored.history.len()).unwrap_or(u32::MAX);
        let contradicts =
            remembered > history || stored.unused >= unused || stored.votes.unsigned_abs() >= votes;
        if fresh.bias() != stored.bias || contradicts {
            return Err(refused(format!("the state of bias {} contradicts itself", stored.policy)));
        }
        Ok(Self {
            history: stored.history,
            unused: stored.unused,
            votes: stored.votes,
            steps: stored.steps,
            changes: stored.changes,
            ..fresh
        })
    }
}
