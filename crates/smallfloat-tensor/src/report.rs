//! [`Report`]: what quantizing did to each tensor and to all of them.

use serde::{Deserialize, Serialize};
use smallfloat_kernels::{ErrorSums, EventCounts};

use crate::layout::grid::Granularity;
use crate::scale::rule::ScaleSpec;

/// One tensor of a [`Report`]. Counts have the names of [`EventCounts`]; in JSON `zeros`, `nans`
/// and `infinities` are `zero`, `nan` and `inf`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TensorReport {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The format, without bias where that is data; `None` for a tensor that was copied.
    pub format: Option<String>,
    /// Its biases, row by row, the first 65,536; empty for a tensor that was copied or has scales.
    pub biases: Vec<i32>,
    /// Were errors weighed by activations?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrated: bool,
    /// What the elements are multiplied by, where there are scales and no biases. In a box, since
    /// there may be very many tensors without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scales: Option<Box<ScaleReport>>,
    /// Elements whose value changed when they were stored as FP8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded_again: Option<u64>,
    /// The largest finite magnitude.
    pub amax: Option<f64>,
    /// 10·log10(Σx² / Σ(x − q)²) over the finite elements; `None` if all are exact.
    pub sqnr_db: Option<f64>,
    /// Elements that raised the overflow flag and became the largest finite value.
    pub saturated: u64,
    /// Non-zero elements that became zero.
    pub underflowed: u64,
    /// Elements whose code is zero.
    #[serde(rename = "zero")]
    pub zeros: u64,
    /// Elements that were NaN.
    #[serde(rename = "nan")]
    pub nans: u64,
    /// Elements that were infinite.
    #[serde(rename = "inf")]
    pub infinities: u64,
    /// The flags that were raised, as letters.
    pub flags: String,
    /// Elements that raised the overflow flag, whatever they became: without saturation infinity or
    /// NaN.
    #[serde(default)]
    pub overflowed: u64,
    /// How many finite non-zero elements have each exponent ⌊log2 |x|⌋.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exponents: Vec<(i32, u64)>,
    /// How many biases there are and their range, where there are no scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias_range: Option<BiasRange>,
}

/// The biases of a tensor, all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BiasRange {
    /// How many there are.
    pub count: u64,
    /// The smallest.
    pub min: i32,
    /// The largest.
    pub max: i32,
}

impl BiasRange {
    /// Returns the range of biases, or `None` if there are none.
    pub(crate) fn of(biases: &[i32]) -> Option<Self> {
        let (min, max) = (*biases.iter().min()?, *biases.iter().max()?);
        Some(Self { count: biases.len() as u64, min, max })
    }

    /// Returns the range of these biases and others.
    pub(crate) fn with(self, other: Self) -> Self {
        Self { count: self.count + other.count, min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The scales of a tensor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScaleReport {
    /// Their format.
    pub format: String,
    /// The rule that chose them.
    pub rule: String,
    /// What shares one.
    pub granularity: String,
    /// How many there are.
    pub count: u64,
    /// The smallest; `None` if all are NaN.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl ScaleReport {
    pub(crate) fn new(scale: Option<&ScaleSpec>, granularity: Granularity) -> Self {
        let word = |spec: &ScaleSpec| (spec.format.to_string(), spec.rule.to_string());
        let (format, rule) = scale.map(word).unwrap_or_default();
        Self { format, rule, granularity: granularity.to_string(), count: 0, min: None, max: None }
    }

    pub(crate) fn add(&mut self, scales: &[f64]) {
        /// Scales that do not wait for each other.
        const LANES: usize = 8;
        self.count += scales.len() as u64;
        let (whole, rest) = scales.as_chunks::<LANES>();
        let mut last = [f64::NAN; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let (mut least, mut most) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        for scales in whole.iter().chain([&last]) {
            // Comparisons with NaN do not hold.
            for lane in 0..LANES {
                least[lane] = if scales[lane] < least[lane] { scales[lane] } else { least[lane] };
                most[lane] = if scales[lane] > most[lane] { scales[lane] } else { most[lane] };
            }
        }
        let least = least.into_iter().fold(f64::INFINITY, f64::min);
        let most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
        // Where all are NaN, none is in between.
        if least <= most {
            self.min = Some(self.min.map_or(least, |min| min.min(least)));
            self.max = Some(self.max.map_or(most, |max| max.max(most)));
        }
    }
}

/// Sums over the tensors of a [`Report`].
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Tensors that were quantized.
    pub quantized: u64,
    /// Tensors that were copied.
    pub copied: u64,
    /// Elements that were quantized.
    pub elements: u64,
    /// SQNR of all quantized elements together.
    pub sqnr_db: Option<f64>,
    /// Mean of the quantized tensors' SQNRs.
    pub mean_sqnr_db: Option<f64>,
    /// The worst of them.
    pub min_sqnr_db: Option<f64>,
    /// Elements that raised the overflow flag and became the largest finite value.
    pub saturated: u64,
    /// Non-zero elements that became zero.
    pub underflowed: u64,
    /// Elements whose code is zero.
    #[serde(rename = "zero")]
    pub zeros: u64,
    /// Elements that were NaN.
    #[serde(rename = "nan")]
    pub nans: u64,
    /// Elements that were infinite.
    #[serde(rename = "inf")]
    pub infinities: u64,
    /// Elements that raised the overflow flag, whatever they became.
    pub overflowed: u64,
}

/// The report of [`quantize`](crate::quantize).
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Every tensor of the input, in its order.
    pub tensors: Vec<TensorReport>,
    /// All of them.
    pub totals: Totals,
    /// How long it took.
    pub seconds: f64,
    /// Bytes of the input file.
    pub bytes_in: u64,
    /// Bytes of the output file.
    pub bytes_out: u64,
    /// The seed of a stochastic rounding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What `config.json` must say under `quantization_config`, where the readers of the layout ask
    /// for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization_config: Option<serde_json::Value>,
    /// What the input folder has and the output folder does not, sorted, each as a quoted name and
    /// the reason: hidden files, folders, links to nothing, other forms of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_copied: Vec<String>,
}

impl Report {
    /// The report of these tensors and their errors, with no time taken and no bytes moved yet.
    pub(crate) fn of(tensors: Vec<TensorReport>, sums: &[ErrorSums]) -> Self {
        let all = sums.iter().fold(ErrorSums::default(), |all, sums| all.then(*sums));
        Self {
            totals: Totals::of(&tensors, &all),
            tensors,
            seconds: 0.0,
            bytes_in: 0,
            bytes_out: 0,
            seed: None,
            quantization_config: None,
            not_copied: Vec::new(),
        }
    }
}

impl TensorReport {
    pub(crate) fn copied(name: &str, shape: &[u64]) -> Self {
        Self {
            name: name.to_owned(),
            shape: shape.to_vec(),
            format: None,
            biases: Vec::new(),
            bias_range: None,
            calibrated: false,
            scales: None,
            rounded_again: None,
            amax: None,
            sqnr_db: None,
            saturated: 0,
            overflowed: 0,
            underflowed: 0,
            zeros: 0,
            nans: 0,
            infinities: 0,
            flags: "-".to_owned(),
            exponents: Vec::new(),
        }
    }

    pub(crate) fn count(&mut self, events: &EventCounts, sums: &ErrorSums, saturates: bool) {
        self.amax = Some(sums.amax);
        self.sqnr_db = sums.sqnr_db();
        self.overflowed = events.overflowed;
        self.saturated = if saturates { events.overflowed } else { 0 };
        self.underflowed = events.underflowed;
        self.zeros = events.zeros;
        self.nans = events.nans;
        self.infinities = events.infinities;
        self.flags = events.flags.to_string();
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

impl Totals {
    /// The sums over tensors; `sums` are all their errors together.
    pub(crate) fn of(tensors: &[TensorReport], sums: &ErrorSums) -> Self {
        let quantized = || tensors.iter().filter(|tensor| tensor.format.is_some());
        let total = |field: fn(&TensorReport) -> u64| quantized().map(field).sum();
        let sqnrs: Vec<f64> = quantized().filter_map(|tensor| tensor.sqnr_db).collect();
        #[expect(clippy::cast_precision_loss, reason = "a mean over tensors")]
        let mean = (!sqnrs.is_empty()).then(|| sqnrs.iter().sum::<f64>() / sqnrs.len() as f64);
        Self {
            quantized: quantized().count() as u64,
            copied: (tensors.len() - quantized().count()) as u64,
            elements: total(TensorReport::elements),
            sqnr_db: sums.sqnr_db(),
            mean_sqnr_db: mean,
            min_sqnr_db: sqnrs.iter().copied().reduce(f64::min),
            saturated: total(|t| t.saturated),
            overflowed: total(|t| t.overflowed),
            underflowed: total(|t| t.underflowed),
            zeros: total(|t| t.zeros),
            nans: total(|t| t.nans),
            infinities: total(|t| t.infinities),
        }
    }
}
