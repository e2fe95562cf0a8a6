//! [`Quantize`]: how tensors of one kind are rounded, with a bias that follows them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::{DType, Error, Result};
use smallfloat::random::Philox;
use smallfloat::{Format, Projection};
use smallfloat_kernels::RandomWords;
use smallfloat_tensor::{BiasPolicy, stream_of_name};
use smallfloat_train::{
    BiasChange, ClassConfig, Coders, EncodedTensor, Moment, OnNonfinite, QuantizerState, Tally,
    TensorQuantizer,
};

use crate::elements::holds;

/// The gradient of rounding.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Gradient {
    /// The gradient of the result as it is: dx = dy (Bengio et al., arXiv 1308.3432, section 4: the
    /// straight-through estimator).
    #[default]
    Through,
    /// The slope of clamping: dx = dy for elements within the format's finite range at its present
    /// bias (and scale), both ends included, and 0 beyond them. A NaN lies beyond neither end.
    ZeroWhereClamped,
}

/// The rounding of tensors of one kind: the inputs of a layer, say. Clones share bias, counts and
/// random words.
///
/// A class names the format, the rounding mode and the bias policy. `amax` and `auto` choose the
/// bias for the very tensor that is rounded; `delayed` and `flags` for the next one, and `delayed`
/// for the very first too. The state lies behind a lock: tensors of several threads are rounded one
/// after the other, each by all threads of rayon's pool. So a task of that pool must not round with
/// a quantizer that its siblings use too: waiting inside, a thread may take up such a sibling and
/// wait for its own lock.
#[derive(Clone, Debug)]
pub struct Quantize {
    state: Arc<Mutex<State>>,
    gradient: Gradient,
}

#[derive(Debug)]
struct State {
    quantizer: TensorQuantizer,
    coders: Coders,
    learning: bool,
    tensors: u64,
    random: Philox,
    words: u64,
    /// The last format, scale and type of tensors that were seen to go together.
    held: Option<(Format, i32, DType)>,
}

/// The state of a [`Quantize`], for checkpoints.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantizeState {
    quantizer: QuantizerState,
    tensors: u64,
    words: u64,
}

impl Quantize {
    /// Returns a quantizer for tensors of a class. The name is for errors, reports and random
    /// words.
    ///
    /// # Errors
    /// A class that does not go together ([`ClassConfig::check`]), a scheme, a bias or policy that
    /// the format does not take, `gradient`.
    pub fn new(name: impl Into<String>, class: &ClassConfig) -> Result<Self> {
        let name = name.into();
        class.check(&name).map_err(Error::wrap)?;
        if let Some(scheme) = class.scheme {
            candle_core::bail!("{name}: scheme {scheme} has blocks along sums, which are not made here: take a format");
        }
        if let Some(policy @ BiasPolicy::Gradient { .. }) = class.bias {
            candle_core::bail!(
                "{name}: bias {policy} is not learnt here: take delayed, flags, amax, auto or a number"
            );
        }
        let state = State {
            random: Philox { seed: 0, stream: stream_of_name(&name) },
            // Tensors have what the projection makes of a NaN; the caller's loss tells.
            quantizer: TensorQuantizer::new(name, class)
                .map_err(Error::wrap)?
                .with_nonfinite(OnNonfinite::Preset),
            coders: Coders::default(),
            learning: true,
            tensors: 0,
            words: 0,
            held: None,
        };
        Ok(Self { state: Arc::new(Mutex::new(state)), gradient: Gradient::default() })
    }

    /// Returns this with any projection in the place of the class's, which is the format's own with
    /// the class's rounding and finite saturation.
    ///
    /// # Errors
    /// Stochastic rounding by more than 32 random bits.
    pub fn with_projection(self, projection: Projection) -> Result<Self> {
        {
            let mut state = self.lock();
            let quantizer = state.quantizer.clone().with_projection(projection);
            if !quantizer.is_plain() {
                let format = quantizer.format().map_err(Error::wrap)?;
                state.coders.get(&format, &projection).map_err(Error::wrap)?;
            }
            state.quantizer = quantizer;
        }
        Ok(self)
    }

    /// Returns this with random words of another seed than 0 (`docs/semantics.md` S5;
    /// Philox4x32-10). The stream is that of the name, and the n-th element that is rounded while
    /// it learns takes the n-th word.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.lock().random.seed = seed;
        self
    }

    /// Returns this with another gradient than [`Gradient::Through`].
    #[must_use]
    pub fn with_gradient(mut self, gradient: Gradient) -> Self {
        self.gradient = gradient;
        self
    }

    /// Returns which gradient it has.
    pub fn gradient(&self) -> Gradient {
        self.gradient
    }

    /// Shall bias, counts and random words follow the tensors, as they do at first? In an
    /// evaluation they should not; then every tensor leaves them as they are.
    pub fn set_learning(&self, learning: bool) {
        self.lock().learning = learning;
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        self.lock().quantizer.name.clone()
    }

    /// Returns the present bias, or the exponent s of the scale 2^s where the format's bias is
    /// fixed; `None` where nothing is chosen.
    pub fn bias(&self) -> Option<i32> {
        self.lock().quantizer.bias()
    }

    /// Returns all changes of the bias. A tensor's number counts those that were learnt from, from
    /// 1 on.
    pub fn changes(&self) -> Vec<BiasChange> {
        self.lock().quantizer.changes().to_vec()
    }

    /// Returns what happened to all tensors that were learnt from.
    pub fn tally(&self) -> Tally {
        self.lock().quantizer.tally()
    }

    /// Returns the state, for a checkpoint.
    pub fn state(&self) -> QuantizeState {
        let State { quantizer, tensors, words, .. } = &*self.lock();
        QuantizeState { quantizer: quantizer.state(), tensors: *tensors, words: *words }
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A state of another name, format or policy.
    pub fn restore(&self, saved: QuantizeState) -> Result<()> {
        let mut state = self.lock();
        state.quantizer.restore(saved.quantizer).map_err(Error::wrap)?;
        (state.tensors, state.words) = (saved.tensors, saved.words);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves at worst one tensor uncounted.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The codes of a tensor whose values go back into one of this type.
    pub(crate) fn encode(&self, values: Cow<'_, [f32]>, dtype: DType) -> Result<EncodedTensor> {
        let mut state = self.lock();
        let State { quantizer, coders, learning, tensors, random, words, held } = &mut *state;
        let count = values.len() as u64;
        let moment = Moment { step: *tensors + 1, learning: *learning, counting: false };
        let random = RandomWords { generator: (*random).into(), first_element: *words };
        let codes = quantizer.encode(coders, values, moment, Some(random)).map_err(Error::wrap)?;
        if *learning {
            *tensors += 1;
            *words = words.wrapping_add(count);
        }
        if let Some(coder) = &codes.coder {
            let present = Some((coder.format, codes.exponent, dtype));
            if *held != present {
                if !holds(dtype, &codes) {
                    candle_core::bail!(
                        "{}: {} has values that {} has not, and two roundings are no rounding: take f32",
                        quantizer.name,
                        coder.format,
                        dtype.as_str()
                    );
                }
                *held = present;
            }
        }
        Ok(codes)
    }
}
