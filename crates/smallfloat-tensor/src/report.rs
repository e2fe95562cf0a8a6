//! [`Report`]: what quantizing did to each tensor and to all of them.

use serde::Serialize;
use smallfloat_kernels::{ErrorSums, Events};

/// One tensor of a [`Report`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TensorReport {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The format, without bias where that is data; `None` for a tensor that was copied.
    pub format: Option<String>,
    /// Its biases, row by row; empty for a tensor that was copied.
    pub biases: Vec<i32>,
    /// The largest finite magnitude.
    pub amax: Option<f64>,
    /// 10·log10(Σx² / Σ(x − q)²) over the finite elements; `None` if all are exact.
    pub sqnr_db: Option<f64>,
    /// Elements that raised the overflow flag.
    pub saturated: u64,
    /// Non-zero elements that became zero.
    pub underflowed: u64,
    /// Elements whose code is zero.
    pub zero: u64,
    /// Elements that were NaN.
    pub nan: u64,
    /// Elements that were infinite.
    pub inf: u64,
    /// The flags that were raised, as letters.
    pub flags: String,
    /// How many finite non-zero elements have each exponent ⌊log2 |x|⌋.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exponents: Vec<(i32, u64)>,
}

/// Sums over the tensors of a [`Report`].
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
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
    /// Elements that raised the overflow flag.
    pub saturated: u64,
    /// Non-zero elements that became zero.
    pub underflowed: u64,
    /// Elements whose code is zero.
    pub zero: u64,
    /// Elements that were NaN.
    pub nan: u64,
    /// Elements that were infinite.
    pub inf: u64,
}

/// What [`quantize`](crate::quantize) did.
#[derive(Clone, PartialEq, Debug, Serialize)]
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
}

impl TensorReport {
    pub(crate) fn copied(name: &str, shape: &[u64]) -> Self {
        Self {
            name: name.to_owned(),
            shape: shape.to_vec(),
            format: None,
            biases: Vec::new(),
            amax: None,
            sqnr_db: None,
            saturated: 0,
            underflowed: 0,
            zero: 0,
            nan: 0,
            inf: 0,
            flags: "-".to_owned(),
            exponents: Vec::new(),
        }
    }

    pub(crate) fn count(&mut self, events: &Events, sums: &ErrorSums) {
        self.amax = Some(sums.amax);
        self.sqnr_db = sums.sqnr_db();
        self.saturated = events.saturated;
        self.underflowed = events.underflowed;
        self.zero = events.zeros;
        self.nan = events.nans;
        self.inf = events.infinities;
        self.flags = events.flags.to_string();
    }

    /// The number of elements.
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
            underflowed: total(|t| t.underflowed),
            zero: total(|t| t.zero),
            nan: total(|t| t.nan),
            inf: total(|t| t.inf),
        }
    }
}
