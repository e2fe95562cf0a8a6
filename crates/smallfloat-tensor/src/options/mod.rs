//! [`Options`]: how tensors are quantized.

pub(crate) mod patterns;
pub(crate) mod recipe;
pub(crate) mod tensors;

use std::sync::Arc;

use smallfloat::formats::{E2M1FN, E4M3FN};
use smallfloat::{
    Codebook, Exact, FormatSpec, NegativeRule, Preset, Projection, Rounding, Saturation, project,
};

use crate::error::{Error, Result, by_name, refuse};
use crate::file::stream::TensorDigest;
use crate::layout::codebook::carrier;
use crate::layout::container::{Encoding, Entry, GENERATOR};
use crate::layout::convention::Direction;
use crate::layout::fp8_remap::Fp8Remap;
use crate::layout::grid::Granularity;
use crate::layout::packing::Packing;
use crate::layout::scheme::{Layout, NATIVE, Scheme};
use crate::layout::share::Share;
use crate::layout::stored_shape::StoredShape;
use crate::options::tensors::Tensors;
use crate::scale::bias::policy::BiasPolicy;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec, ScaledElement};
use crate::stored::calibration::Calibration;

/// The treatment of NaN and infinities in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Nonfinite {
    /// Refuse the tensor, naming the first.
    Refuse,
    /// Give them what the preset says, and count them.
    Preset,
}

/// The treatment of negative values where the format is unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Negative {
    /// Refuse the tensor, naming the first.
    #[default]
    Refuse,
    /// Apply a rule.
    Apply(NegativeRule),
}

/// In what form codes are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Container {
    /// As they are.
    #[default]
    Native,
    /// CFloat8 codes as OCP FP8 codes of the same values with an F32 scale, for readers who know
    /// only those.
    Fp8 {
        /// Round a group again where FP8 lacks some of its values, instead of refusing it.
        requantize: bool,
    },
    /// Their values as bfloat16, which must be exact.
    Bf16,
}

impl Nonfinite {
    const ALL: [Self; 2] = [Self::Refuse, Self::Preset];

    /// Returns the name: `refuse` or `preset`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Preset => "preset",
        }
    }
}

impl Negative {
    const ALL: [Self; 5] = [
        Self::Refuse,
        Self::Apply(NegativeRule::BySaturation),
        Self::Apply(NegativeRule::Nan),
        Self::Apply(NegativeRule::Zero),
        Self::Apply(NegativeRule::Magnitude),
    ];

    /// Returns the name: `refuse`, `by-saturation`, `nan`, `zero` or `magnitude`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Apply(rule) => rule.name(),
        }
    }
}

impl Container {
    const ALL: [Self; 4] =
        [Self::Native, Self::Fp8 { requantize: false }, Self::Fp8 { requantize: true }, Self::Bf16];

    /// Returns the name: `native`, `fp8`, `fp8-requantize` or `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Fp8 { requantize: false } => "fp8",
            Self::Fp8 { requantize: true } => "fp8-requantize",
            Self::Bf16 => "bf16",
        }
    }
}

by_name!(Nonfinite, Self::ALL, "rule for non-finite values");
by_name!(Negative, Self::ALL, "rule for negative values");
by_name!(Container, Self::ALL, "container");

/// The options of quantizing.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub struct Options {
    /// The format; its bias is left open where each tensor gets its own.
    pub format: FormatSpec,
    /// The values of codes, where these are a list; `format` then tells how many bits they have,
    /// and no more.
    pub codebook: Option<Codebook>,
    /// How biases are chosen.
    pub bias: BiasPolicy,
    /// Activations by which errors weigh in the choice of least error.
    pub calibration: Option<Arc<Calibration>>,
    /// What shares a bias or a scale.
    pub granularity: Granularity,
    /// The scales; `None` for formats whose bias is the scale, and for plain codes.
    pub scale: Option<ScaleSpec>,
    /// How codes lie in bytes.
    pub packing: Packing,
    /// Names and types of the tensors that are written.
    pub layout: Layout,
    /// In what form codes are stored.
    pub container: Container,
    /// Which tensors are quantized, of those that the caller's names select.
    pub tensors: Tensors,
    /// Which tensors share one scale.
    pub share: Share,
    /// The rounding mode; stochastic ones need a seed.
    pub rounding: Option<Rounding>,
    /// The saturation mode; by default finite overflow saturates, and infinities are what the
    /// preset makes them.
    pub saturation: Option<Saturation>,
    /// The preset; by default the format's own.
    pub preset: Option<Preset>,
    /// The seed of stochastic rounding.
    pub seed: Option<u64>,
    /// NaN and infinities.
    pub nonfinite: Nonfinite,
    /// Negative values in an unsigned format.
    pub negative: Negative,
    /// Replace an output that exists.
    pub overwrite: bool,
    /// Read the result back and check digests and codes before it appears under its name.
    pub verify: bool,
    /// Refuse the output if any value of a tensor would change.
    pub lossless: bool,
    /// Collect exponent histograms, which costs a pass over the data where the bias is fixed.
    pub histograms: bool,
}

impl Options {
    /// Returns the defaults for a format: its preset, saturating, biases by least error or as
    /// named, verified.
    pub fn new(format: FormatSpec) -> Self {
        Self {
            format,
            codebook: None,
            bias: format.bias().map_or(BiasPolicy::LeastError, BiasPolicy::Fixed),
            calibration: None,
            granularity: Granularity::Tensor,
            scale: None,
            packing: Packing::Bytes,
            layout: NATIVE,
            container: Container::Native,
            tensors: Tensors::All,
            share: Share::default(),
            rounding: None,
            saturation: None,
            preset: None,
            seed: None,
            nonfinite: Nonfinite::Refuse,
            negative: Negative::Refuse,
            overwrite: false,
            verify: true,
            lossless: false,
            histograms: false,
        }
    }

    /// Returns the defaults for a list of values. Its codes need [`scale`](Self::scale)s, too.
    pub fn of_codebook(codebook: Codebook) -> Self {
        Self { codebook: Some(codebook), ..Self::new(carrier(codebook).into()) }
    }

    /// Returns whether finite values beyond the range become the largest one.
    pub(crate) fn saturates(&self) -> bool {
        // Its bias does not matter.
        let format = self.layout().expect("options are checked before a tensor is encoded");
        match self.projection(&format).saturation {
            Saturation::SatFinite | Saturation::SatPropagate => true,
            Saturation::SatNoneV40 => !format.has_infinity(),
            _ => false,
        }
    }

    pub(crate) fn projection(&self, format: &smallfloat::Format) -> Projection {
        let projection = self.preset(format);
        // Finite values saturate; an infinity stays one, if the preset does not clamp it.
        let default = match projection.saturation {
            Saturation::SatFinite => Saturation::SatFinite,
            _ => Saturation::SatPropagate,
        };
        let projection = projection.with_saturation(self.saturation.unwrap_or(default));
        let mut projection = self.rounding.map_or(projection, |rounding| projection.with_rounding(rounding));
        if let Negative::Apply(rule) = self.negative {
            projection.unrepresentable.negative = rule;
        }
        projection
    }

    fn preset(&self, format: &smallfloat::Format) -> Projection {
        self.preset.unwrap_or(Preset::default_for(format)).projection(format)
    }

    /// The codes of +∞ and −∞ where the preset makes them NaN although finite values saturate.
    pub(crate) fn infinities(&self, format: &smallfloat::Format) -> Option<[u32; 2]> {
        let preset = self.preset(format);
        let by_nan = preset.saturation == Saturation::SatNone && !format.has_infinity() && format.has_nan();
        (self.saturation.is_none() && by_nan).then(|| {
            let projection = self.projection(format).with_saturation(preset.saturation);
            #[expect(clippy::cast_possible_truncation, reason = "codes have at most 16 bits")]
            [false, true]
                .map(|negative| project(Exact::Infinite { negative }, format, &projection).value as u32)
        })
    }

    /// Returns whether random words are asked for.
    pub(crate) fn rounds_randomly(&self) -> bool {
        self.rounding.is_some_and(Rounding::is_stochastic)
    }

    /// Refuses contradictions before anything is read.
    pub(crate) fn check(&self) -> Result<()> {
        let refused = |what: String| Err(Error::option(what));
        if self.rounds_randomly() && self.seed.is_none() {
            return refused("stochastic rounding needs a seed, so that it can be reproduced".to_owned());
        }
        self.check_scales()?;
        if self.bias.is_for_training() {
            // Says so.
            return self.bias.choose(&self.format, None).map(|_| ());
        }
        self.bias.check()?;
        if self.calibration.is_some() && !self.weighs_errors() {
            return refused(
                "activations weigh errors: they go with the bias policy auto of a format whose bias is free, or with the scale \
                 rule least-error"
                    .to_owned(),
            );
        }
        let BiasPolicy::Fixed(bias) = self.bias else { return Ok(()) };
        match self.format.bias() {
            Some(named) if named != bias => {
                refused(format!("the format {} has the bias {named}, {bias} was asked for", self.format))
            }
            _ => self.format.with_bias(bias).map(|_| ()).map_err(refuse),
        }
    }

    /// Returns whether anything depends on how much an error weighs.
    fn weighs_errors(&self) -> bool {
        match &self.scale {
            Some(scale) => matches!(scale.rule, ScaleRule::LeastError | ScaleRule::FourOverSix),
            None => self.bias == BiasPolicy::LeastError && self.format.has_free_bias(),
        }
    }

    /// How much errors in the columns of a tensor, its last dimension, weigh; `None` if all weigh
    /// the same.
    pub(crate) fn weights(&self, name: &str, shape: &[u64]) -> Result<Option<Arc<[u32]>>> {
        self.calibration.as_ref().map_or(Ok(None), |calibration| calibration.weights(name, shape))
    }

    /// Granularity, scales, packing and container must make sense together.
    fn check_scales(&self) -> Result<()> {
        let refused = |what: String| Err(Error::option(what));
        let layout = self.layout()?;
        if layout.is_wide() {
            return refused(format!(
                "{layout} has {} bits, codes in tensors have at most 16",
                layout.width()
            ));
        }
        if !self.packing.suits(&layout) {
            return refused(format!("codes of {layout} can't be packed as {}", self.packing.name()));
        }
        if self.scale.is_none() && self.packing != Packing::Bytes {
            return refused(format!("packing as {} is for codes with scales", self.packing.name()));
        }
        let free = self.format.has_free_bias();
        if let Some(codebook) = self.codebook {
            self.check_codebook(codebook)?;
        }
        let four_over_six = self.scale.filter(|scale| scale.rule == ScaleRule::FourOverSix);
        if four_over_six.is_some_and(|scale| scale.format != E4M3FN || layout != E2M1FN) {
            return refused("the rule four-over-six is for elements of E2M1 with scales of E4M3".to_owned());
        }
        match &self.scale {
            Some(_) if free => {
                return refused(format!(
                    "the bias of {layout} is its scale: leave the scale format and rule out"
                ));
            }
            Some(scale) => scale.check()?,
            None if !free && self.granularity != Granularity::Tensor => {
                return refused(format!(
                    "{layout} has no bias, so there is nothing to share by {}: name a scale format and rule, or a scheme",
                    self.granularity
                ));
            }
            None => {}
        }
        if self.layout.direction == Direction::Multiplies
            && self.scale.is_some_and(|scale| scale.global == Some(GlobalScale::Amax))
        {
            return refused(format!(
                "readers of {} multiply by the F32 number of a tensor; with --global-scale power-of-two its inverse is exact",
                self.layout.name()
            ));
        }
        let (unit, _) = self.packing.unit(&layout);
        if let Granularity::Block { columns, .. } = self.granularity
            && !columns.is_multiple_of(unit)
        {
            return refused(format!(
                "blocks of {columns} columns of packed codes: take a multiple of {unit}"
            ));
        }
        if matches!(self.container, Container::Fp8 { .. }) {
            Fp8Remap::target(&layout)?;
        }
        Ok(())
    }

    /// Refuses what has no meaning for values in a list.
    fn check_codebook(&self, codebook: Codebook) -> Result<()> {
        let refused = |what: String| Err(Error::option(format!("{codebook}: {what}")));
        let Some(scale) = &self.scale else {
            return refused("codes of a list of values need scales".to_owned());
        };
        if self.rounding.is_some() || self.saturation.is_some() || self.preset.is_some() {
            return refused("there is one way to round to a list of values, to the nearest one".to_owned());
        }
        if self.nonfinite != Nonfinite::Refuse {
            return refused("a list of values has none for NaN and infinities".to_owned());
        }
        if matches!(scale.rule, ScaleRule::Even | ScaleRule::LeastError | ScaleRule::FourOverSix) {
            return refused(format!("the scale rule {} is for formats", scale.rule));
        }
        if self.container != Container::Native {
            return refused(format!("the container {} is for codes of a format", self.container));
        }
        Ok(())
    }

    /// What of the elements decides scales; `element` is their format.
    pub(crate) fn scaled_element(&self, element: &smallfloat::Format) -> ScaledElement {
        self.codebook.map_or_else(|| ScaledElement::new(element), ScaledElement::of_codebook)
    }

    /// The name of the elements' format without a bias that is data, or of the list of their
    /// values.
    pub(crate) fn element_name(&self) -> Result<String> {
        Ok(match self.codebook {
            Some(codebook) => codebook.to_string(),
            None => Encoding::format_name(&self.layout()?),
        })
    }

    /// The format at some legal bias: all of them have the same layout.
    pub(crate) fn layout(&self) -> Result<smallfloat::Format> {
        self.format.with_bias(self.format.bias().unwrap_or(0)).map_err(refuse)
    }
}

impl Options {
    /// Returns whether a tensor has something that is decided for all of its elements.
    pub(crate) fn decides_whole(&self) -> bool {
        self.granularity == Granularity::Tensor || self.scale.is_some_and(|scale| scale.global.is_some())
    }

    /// Returns whether every tensor gets a look before it is encoded.
    pub(crate) fn needs_scan(&self) -> bool {
        let free = self.format.has_free_bias() && self.bias.needs_statistics();
        free || self.histograms
    }

    /// The shape of a tensor's codes in the file.
    pub(crate) fn stored_shape(&self, element: &smallfloat::Format, shape: &[u64]) -> Vec<u64> {
        let (packing, granularity) = (self.packing, self.granularity);
        let stored =
            StoredShape { element, packing, granularity, tensor: &self.layout.order.of_elements(shape) };
        match self.layout.code_dtype(element, self.packing) {
            _ if self.layout.is_native() => stored.native(),
            // Dtypes below a byte count elements.
            dtype if dtype.bits() < 8 => shape.to_vec(),
            _ => self.layout.codes_shape(stored.packed(), self.granularity),
        }
    }

    /// Returns what a native container says of a tensor whose numbers were of this dtype. The
    /// digest is that of nothing, zeros, until there are codes.
    ///
    /// # Errors
    /// A format that is none of codes.
    pub fn entry(&self, shape: &[u64], source_dtype: &str) -> Result<Entry> {
        let layout = self.layout()?;
        let rounding = self.projection(&layout).rounding;
        let random_bits = rounding.random_bits().map(smallfloat::RandomBits::count);
        let encoding = Encoding {
            format: self.element_name()?,
            subnormals: layout.subnormals().name().to_owned(),
            source_dtype: source_dtype.to_owned(),
            granularity: self.granularity.to_string(),
            scale: self.scale.map(|scale| scale.format.to_string()),
            scale_rule: self.scale.map(|scale| scale.rule.to_string()),
            global_scale: self.scale.is_some_and(|scale| scale.global.is_some()),
            packing: (self.packing != Packing::Bytes).then(|| self.packing.name().to_owned()),
            rounding: rounding.name().to_owned(),
            random_bits,
            seed: random_bits.and(self.seed),
            generator: random_bits.map(|_| GENERATOR.to_owned()),
        };
        Ok(Entry {
            encoding: Arc::new(encoding),
            shape: (self.stored_shape(&layout, shape) != shape).then(|| shape.to_vec()),
            // The digest's room; its value is known when the codes are.
            sha256: Some(TensorDigest([0; 32])),
        })
    }
}

impl Scheme {
    /// Returns the options for quantizing into this scheme.
    pub fn options(&self) -> Options {
        Options {
            codebook: self.codebook,
            granularity: self.granularity,
            scale: self.scale,
            packing: self.packing,
            layout: self.layout,
            ..Options::new(FormatSpec::from(self.element))
        }
    }
}
