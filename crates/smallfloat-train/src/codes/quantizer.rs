//! [`TensorQuantizer`]: tensors of one kind to codes, step after step, with a bias that follows
//! them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use smallfloat::random::Philox;
use smallfloat::{Flags, Format, FormatSpec, Projection};
use smallfloat_kernels::{EventCounts, Level, RandomWords, amax};
use smallfloat_tensor::{
    BiasController, BiasPolicy, CodeUse, Magnitudes, Observation, ScaleRule, stream_of_name,
};

use crate::codes::blocks::BlockEncoder;
use crate::codes::coder::{Coders, Elements, EncodedTensor};
use crate::codes::scale::ScaleController;
use crate::codes::slope::slope;
use crate::config::scheme::BlockScheme;
use crate::config::{ClassConfig, OnNonfinite, Round};
use crate::error::{Error, Result};

/// Who chooses the bias.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Chooser {
    /// Nobody: the format has its own.
    Nobody,
    Bias(BiasController),
    Scale(ScaleController),
    /// A scheme has a scale for each block.
    Scheme(BlockScheme),
}

/// Counts of what encoding did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Elements encoded.
    pub elements: u64,
    /// Elements beyond the largest value that became it or an infinity.
    pub overflowed: u64,
    /// Elements that became NaN.
    pub nans: u64,
    /// Elements that became zero and had not been.
    pub underflowed: u64,
}

impl Tally {
    /// Returns the counts of both together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            overflowed: self.overflowed + other.overflowed,
            nans: self.nans + other.nans,
            underflowed: self.underflowed + other.underflowed,
        }
    }

    /// Returns what happened since an earlier tally of the same tensors.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            elements: self.elements - earlier.elements,
            overflowed: self.overflowed - earlier.overflowed,
            nans: self.nans - earlier.nans,
            underflowed: self.underflowed - earlier.underflowed,
        }
    }

    /// Of a tensor of an evaluation or a step: what the kernels counted, less what overflowed to
    /// NaN.
    fn of(events: &EventCounts, codes: &EncodedTensor, values: impl Fn(usize) -> f32) -> Self {
        let mut tally = Self {
            elements: events.elements,
            overflowed: events.overflowed,
            nans: 0,
            underflowed: events.underflowed,
        };
        let Some(format) = codes.coder.as_ref().map(|coder| coder.format) else { return tally };
        // Every element that becomes NaN raises one of them.
        let raised = [Flags::INVALID, Flags::OVERFLOW].into_iter().any(|flag| events.flags.contains(flag));
        if !(raised && format.has_nan()) {
            return tally;
        }
        let mut count = |i: usize, code: u64| {
            if format.decode(code).is_nan() {
                tally.nans += 1;
                let value = values(i);
                // Negative numbers in an unsigned format are invalid instead.
                let overflowed = value > 0.0 || value < 0.0 && format.is_signed();
                tally.overflowed -= u64::from(overflowed);
            }
        };
        match &codes.data {
            Elements::Bytes(codes) => codes.iter().enumerate().for_each(|(i, &code)| count(i, code.into())),
            Elements::Halves(codes) => codes.iter().enumerate().for_each(|(i, &code)| count(i, code.into())),
            Elements::Plain(_) | Elements::Blocks(_) => {}
        }
        tally
    }
}

/// A change of a bias, or of a scale's exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BiasChange {
    /// The step whose tensor was the last with the old bias.
    pub step: u64,
    /// The old one.
    pub from: i32,
    /// The new one.
    pub to: i32,
}

/// The number of values with each of binary32's exponent fields; the first counts zeros and
/// subnormals.
pub type Exponents = Vec<u64>;

/// Encodes tensors of one kind: the inputs of a layer, say.
#[derive(Clone, Debug)]
pub struct TensorQuantizer {
    /// Where the tensors are: the layer's name and the class.
    pub name: String,
    round: Round,
    /// For the scales of a scheme, instead of its own.
    scale_rule: Option<ScaleRule>,
    /// One that takes the place of the class's.
    projection: Option<Projection>,
    spec: FormatSpec,
    nonfinite: OnNonfinite,
    /// None leaves tensors as they are.
    chooser: Option<Chooser>,
    first_bias: Option<i32>,
    changes: Vec<BiasChange>,
    tally: Tally,
    exponents: Option<Exponents>,
    /// The last tensor before it was rounded, for a bias that learns by gradient.
    unrounded: Option<Vec<f32>>,
    /// The last tensor before it was rounded, where someone asked for it.
    recorded: Option<Vec<f32>>,
}

/// The present step, as a quantizer must know it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The number of the step.
    pub step: u64,
    /// Whether biases learn; they stay as they are in an evaluation.
    pub learning: bool,
    /// Whether exponents are counted.
    pub counting: bool,
}

/// A quantizer's state, for checkpoints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantizerState {
    name: String,
    chooser: Option<Chooser>,
    first_bias: Option<i32>,
    changes: Vec<BiasChange>,
    total: Tally,
}

impl TensorQuantizer {
    /// Returns a quantizer for tensors of a class.
    ///
    /// # Errors
    /// A bias or policy that the format does not take.
    pub fn new(name: impl Into<String>, class: &ClassConfig) -> Result<Self> {
        let spec = class.scheme.map_or(class.format.0, |scheme| scheme.scheme().element.into());
        let own = || spec.bias().filter(|_| spec.has_free_bias()).map(BiasPolicy::Fixed);
        let chooser = match (class.scheme, class.bias.or_else(own)) {
            _ if class.is_plain() => None,
            (Some(scheme), _) => Some(Chooser::Scheme(scheme)),
            (None, Some(policy)) if spec.has_free_bias() => {
                Some(Chooser::Bias(BiasController::new(policy, spec, class.start)?))
            }
            (None, Some(policy)) => Some(Chooser::Scale(ScaleController::new(policy, class.start)?)),
            (None, None) => Some(Chooser::Nobody),
        };
        let mut quantizer = Self {
            name: name.into(),
            round: class.rounding,
            scale_rule: class.scale_rule,
            projection: None,
            spec,
            nonfinite: OnNonfinite::default(),
            chooser,
            first_bias: None,
            changes: Vec::new(),
            tally: Tally::default(),
            exponents: None,
            unrounded: None,
            recorded: None,
        };
        quantizer.first_bias = quantizer.bias();
        Ok(quantizer)
    }

    /// Sets the policy for NaN and infinities; without it they are refused.
    #[must_use]
    pub fn with_nonfinite(mut self, nonfinite: OnNonfinite) -> Self {
        self.nonfinite = nonfinite;
        self
    }

    /// Sets another projection than the class's, which is the format's own with its
    /// rounding and finite saturation.
    #[must_use]
    pub fn with_projection(mut self, projection: Projection) -> Self {
        self.projection = Some(projection);
        self
    }

    /// Returns the projection into the present format.
    ///
    /// # Errors
    /// Never for a quantizer that was built.
    pub fn projection(&self) -> Result<Projection> {
        self.projection.map_or_else(|| self.round.projection(&self.format()?), Ok)
    }

    /// Returns the format as it is named, without the bias that a controller chooses; `f32` if
    /// nothing is encoded.
    pub fn spec(&self) -> &FormatSpec {
        &self.spec
    }

    /// Returns the scheme, where a class has one; [`spec`](Self::spec) is that of its elements
    /// then.
    pub fn scheme(&self) -> Option<BlockScheme> {
        match self.chooser {
            Some(Chooser::Scheme(scheme)) => Some(scheme),
            _ => None,
        }
    }

    /// Returns whether it leaves tensors as they are.
    pub fn is_plain(&self) -> bool {
        self.chooser.is_none()
    }

    /// Returns the present format.
    ///
    /// # Errors
    /// Never for a quantizer that was built.
    pub fn format(&self) -> Result<Format> {
        match &self.chooser {
            Some(Chooser::Bias(controller)) => Ok(*controller.format()),
            _ => Ok(self.spec.format()?),
        }
    }

    /// Returns the present bias of a format whose bias is free, or the exponent of the scale;
    /// `None` where nobody chooses.
    pub fn bias(&self) -> Option<i32> {
        match self.chooser.as_ref()? {
            Chooser::Nobody | Chooser::Scheme(_) => None,
            Chooser::Bias(controller) => Some(controller.bias()),
            Chooser::Scale(controller) => Some(controller.exponent()),
        }
    }

    /// Returns the bias at the beginning; `None` as of [`bias`](Self::bias).
    pub fn first_bias(&self) -> Option<i32> {
        self.first_bias
    }

    /// Returns all changes of the bias.
    pub fn changes(&self) -> &[BiasChange] {
        &self.changes
    }

    /// Returns what happened to all tensors of learning steps.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Returns the exponents of the last tensor whose exponents were counted.
    pub fn exponents(&self) -> Option<&Exponents> {
        self.exponents.as_ref()
    }

    /// Begins or ends to keep the last tensor of learning steps as it was before it was rounded.
    pub fn record(&mut self, on: bool) {
        self.recorded = on.then(Vec::new);
    }

    /// Returns the last tensor before it was rounded, in C order; `None` where
    /// [`record`](Self::record) did not begin, empty where no step was taken since.
    pub fn recorded(&self) -> Option<&[f32]> {
        self.recorded.as_deref()
    }

    /// Returns the random words for the tensor of a step, of so many elements: that of element i is
    /// element step·length + i of the sequence with the quantizer's name under the run's seed.
    /// `None` where the class rounds to nearest.
    pub fn random_words(&self, seed: u64, step: u64, length: usize) -> Option<RandomWords> {
        let generator = Philox { seed, stream: stream_of_name(&self.name) }.into();
        let first_element = step.wrapping_mul(length as u64);
        (self.round == Round::StochasticA).then_some(RandomWords { generator, first_element })
    }

    /// Returns the codes of a matrix with rows of this length, rounded stochastically by the
    /// [`random_words`](Self::random_words) of a seed. A scheme's are those of the streams
    /// `NAME:STEP:rows` and `NAME:STEP:columns`, element by element, since a matrix is encoded with
    /// blocks along its rows and along its columns.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_matrix<'a>(
        &mut self,
        coders: &mut Coders,
        values: impl Into<Cow<'a, [f32]>>,
        columns: usize,
        moment: Moment,
        seed: u64,
    ) -> Result<EncodedTensor> {
        let values = values.into();
        let Some(scheme) = self.scheme() else {
            let words = self.random_words(seed, moment.step, values.len());
            return self.encode(coders, values, moment, words);
        };
        self.look_at(&values, moment)?;
        let encoder = BlockEncoder { scheme, rule: self.scale_rule, round: self.round };
        let place = (&self.name[..], moment.step, seed);
        let (blocks, tally) = encoder.encode(&values, columns, place, self.nonfinite)?;
        if moment.learning {
            self.tally = self.tally.merge(tally);
        }
        Ok(EncodedTensor { coder: None, exponent: 0, data: Elements::Blocks(Box::new(blocks)) })
    }

    /// Returns the codes of a tensor. A stochastic rounding needs
    /// [`random_words`](Self::random_words), or other ones.
    ///
    /// # Errors
    /// A NaN or an infinity, unless the policy lets them through; a class with a scheme, which
    /// needs [rows](Self::encode_matrix).
    ///
    /// # Panics
    /// If the rounding is stochastic and there are no words.
    pub fn encode<'a>(
        &mut self,
        coders: &mut Coders,
        values: impl Into<Cow<'a, [f32]>>,
        moment: Moment,
        words: Option<RandomWords>,
    ) -> Result<EncodedTensor> {
        let values = values.into();
        if let Some(scheme) = self.scheme() {
            let what = format!(
                "{}: scheme {scheme} has blocks of rows, which a tensor without rows lacks",
                self.name
            );
            return Err(Error::config(what));
        }
        self.look_at(&values, moment)?;
        if self.chooser.is_none() {
            return Ok(EncodedTensor::plain(values.into_owned()));
        }
        let before = self.bias();
        // An evaluation must leave no trace, though some policies look at each tensor.
        let memory = (!moment.learning).then(|| self.chooser.clone());
        self.observe_input(&values)?;
        let format = self.format()?;
        let coder = coders.get(&format, &self.projection()?)?;
        let exponent = self.exponent();
        if self.learns_by_gradient() && moment.learning {
            self.unrounded = Some(values.to_vec());
        }
        let amax = self.learns_amax_after().then(|| amax(&values, Level::detected()));
        let (codes, events) = EncodedTensor::encode(coder, &values, exponent, words);
        if let Some(chooser) = memory {
            self.chooser = chooser;
            return Ok(codes);
        }
        self.observe_result(amax, &format, &codes, &events)?;
        self.tally = self.tally.merge(Tally::of(&events, &codes, |i| values[i]));
        self.note(before, moment.step);
        Ok(codes)
    }

    /// Refuses what is not finite, counts and records.
    fn look_at(&mut self, values: &[f32], moment: Moment) -> Result<()> {
        if self.nonfinite == OnNonfinite::Refuse {
            check_finite(values, &self.name, moment.step)?;
        }
        if moment.counting {
            self.exponents = Some(count_exponents(values));
        }
        if let Some(recorded) = self.recorded.as_mut().filter(|_| moment.learning) {
            recorded.clear();
            recorded.extend_from_slice(values);
        }
        Ok(())
    }

    /// Learns from the loss's gradient by the values that the last tensor's codes mean. Policies
    /// other than `gradient` learn nothing from it.
    ///
    /// # Errors
    /// Never for a quantizer that was built.
    ///
    /// # Panics
    /// Never: formats whose bias is free lie within binary32's range.
    pub fn learn(&mut self, codes: &EncodedTensor, gradient: &[f32], moment: Moment) -> Result<()> {
        let Some(values) = self.unrounded.take() else { return Ok(()) };
        let before = self.bias();
        if let Some(Chooser::Bias(controller)) = self.chooser.as_mut() {
            let largest = controller.format().max_finite().to_f32();
            let largest = largest.expect("formats whose bias is free lie within binary32");
            let slope = slope(&values, &codes.values(), gradient, largest);
            controller.observe(Observation::Slope(slope))?;
        }
        self.note(before, moment.step);
        Ok(())
    }

    /// Returns whether [`learn`](Self::learn) wants a gradient.
    pub fn learns_by_gradient(&self) -> bool {
        matches!(&self.chooser, Some(Chooser::Bias(controller)) if matches!(controller.policy(), BiasPolicy::Gradient { .. }))
    }

    /// Returns the bytes that are kept until [`learn`](Self::learn) is called.
    pub fn unrounded_bytes(&self) -> usize {
        self.unrounded.as_ref().map_or(0, |values| size_of_val(&values[..]))
    }

    /// Logs a change of the bias.
    fn note(&mut self, before: Option<i32>, step: u64) {
        if let (Some(from), Some(to)) = (before, self.bias())
            && from != to
        {
            self.changes.push(BiasChange { step, from, to });
        }
    }

    /// Policies that choose for the very tensor look at it, and `delayed` at the first one, which
    /// it has no history for.
    fn observe_input(&mut self, values: &[f32]) -> Result<()> {
        match self.chooser.as_mut() {
            Some(Chooser::Bias(controller)) => match controller.policy() {
                BiasPolicy::Amax { .. } => observe_amax(controller, amax(values, Level::detected())),
                BiasPolicy::Delayed { .. } if controller.steps() == 0 => {
                    observe_amax(controller, amax(values, Level::detected()))
                }
                policy if policy.needs_statistics() => {
                    let magnitudes = Magnitudes::of(values, controller.format().precision());
                    controller.observe(Observation::Magnitudes(&magnitudes)).map(|_| ()).map_err(Error::from)
                }
                _ => Ok(()),
            },
            Some(Chooser::Scale(controller)) => {
                let first =
                    matches!(controller.policy(), BiasPolicy::Delayed { .. }) && controller.steps() == 0;
                if first || matches!(controller.policy(), BiasPolicy::Amax { .. }) {
                    controller.observe(amax(values, Level::detected()), &self.spec.format()?);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn learns_amax_after(&self) -> bool {
        let policy = match &self.chooser {
            Some(Chooser::Bias(controller)) => controller.policy(),
            Some(Chooser::Scale(controller)) => controller.policy(),
            _ => return false,
        };
        matches!(policy, BiasPolicy::Delayed { .. })
    }

    fn observe_result(
        &mut self,
        amax: Option<f32>,
        format: &Format,
        codes: &EncodedTensor,
        events: &EventCounts,
    ) -> Result<()> {
        match (self.chooser.as_mut(), amax) {
            (Some(Chooser::Bias(controller)), Some(amax)) => observe_amax(controller, amax),
            (Some(Chooser::Scale(controller)), Some(amax)) => {
                controller.observe(amax, format);
                Ok(())
            }
            (Some(Chooser::Bias(controller)), None)
                if matches!(controller.policy(), BiasPolicy::Flags { .. }) =>
            {
                let used = match &codes.data {
                    Elements::Bytes(codes) => CodeUse::of(format, events, codes),
                    Elements::Halves(codes) => CodeUse::of(format, events, codes),
                    Elements::Plain(_) | Elements::Blocks(_) => return Ok(()),
                };
                controller.observe(Observation::Codes(used))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Codes that were written at the present bias.
    pub(crate) fn adopt(&self, coders: &mut Coders, data: Elements) -> Result<EncodedTensor> {
        if self.is_plain() {
            return Ok(EncodedTensor { coder: None, exponent: 0, data });
        }
        let coder = coders.get(&self.format()?, &self.projection()?)?;
        Ok(EncodedTensor { coder: Some(coder), exponent: self.exponent(), data })
    }

    /// The exponent of the scale.
    fn exponent(&self) -> i32 {
        match &self.chooser {
            Some(Chooser::Scale(controller)) => controller.exponent(),
            _ => 0,
        }
    }

    /// Returns the state, for a checkpoint.
    pub fn state(&self) -> QuantizerState {
        QuantizerState {
            name: self.name.clone(),
            chooser: self.chooser.clone(),
            first_bias: self.first_bias,
            changes: self.changes.clone(),
            total: self.tally,
        }
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A state of another quantizer.
    pub fn restore(&mut self, state: QuantizerState) -> Result<()> {
        let fits = match (&self.chooser, &state.chooser) {
            (Some(Chooser::Bias(mine)), Some(Chooser::Bias(other))) => {
                mine.policy() == other.policy()
                    && mine.format().with_bias(other.bias()) == Ok(*other.format())
            }
            (Some(Chooser::Scale(mine)), Some(Chooser::Scale(other))) => mine.policy() == other.policy(),
            (mine, other) => mine == other,
        };
        if state.name != self.name || !fits {
            let what = format!("the state of {} is not one of {} as it is configured", state.name, self.name);
            return Err(Error::config(what));
        }
        self.chooser = state.chooser;
        self.first_bias = state.first_bias;
        self.changes = state.changes;
        self.tally = state.total;
        Ok(())
    }
}

fn observe_amax(controller: &mut BiasController, amax: f32) -> Result<()> {
    controller.observe(Observation::Amax(f64::from(amax)))?;
    Ok(())
}

/// Refuses a tensor with a NaN or an infinity.
fn check_finite(values: &[f32], tensor: &str, step: u64) -> Result<()> {
    // The largest magnitude's bits: a loop without branches.
    const INFINITY: u32 = 0xff << 23;
    let largest = values.iter().fold(0, |most: u32, x| most.max(x.to_bits() & u32::MAX >> 1));
    if largest < INFINITY {
        return Ok(());
    }
    let mut odd = values.iter().enumerate().filter(|(_, x)| !x.is_finite());
    let (index, value) = odd.next().expect("the largest is one");
    Err(Error::Nonfinite {
        step,
        tensor: tensor.into(),
        count: 1 + odd.count(),
        elements: values.len(),
        value: *value,
        index,
    })
}

fn count_exponents(values: &[f32]) -> Exponents {
    let mut counts = vec![0; 256];
    for value in values {
        counts[(value.to_bits() >> 23 & 255) as usize] += 1;
    }
    counts
}
