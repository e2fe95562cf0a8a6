//! [`bias_costs`]: what each choice of a bias would cost a tensor.

use serde::Serialize;
use smallfloat::FormatSpec;
use smallfloat_kernels::ClassSums;

use crate::error::{Error, Result, refuse};
use crate::progress::{Progress, share_of};
use crate::scale::bias::magnitudes::{Magnitudes, WeightedClassSums};
use crate::scale::bias::policy::BiasPolicy;
use crate::stored::calibration::Calibration;
use crate::stored::view::{Stored, TensorView, View};

/// Elements at once.
const PIECE: usize = 1 << 18;

/// A tensor under every bias of a format.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BiasReport {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The largest finite magnitude.
    pub amax: f64,
    /// Elements that are NaN or infinite; they count nowhere else.
    pub not_finite: u64,
    /// Were errors weighed by activations?
    pub calibrated: bool,
    /// What each policy would choose, in the order asked for.
    pub choices: Vec<BiasChoice>,
    /// The legal biases and what each of them costs, ascending.
    pub biases: Vec<BiasCost>,
    /// How many finite non-zero elements have each exponent ⌊log2 |x|⌋, ascending.
    pub exponents: Vec<(i32, u64)>,
}

/// A policy's choice.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BiasChoice {
    /// The policy.
    pub policy: BiasPolicy,
    /// What it costs.
    #[serde(flatten)]
    pub cost: BiasCost,
}

/// The error of rounding to nearest even at one bias, saturating, over finite elements; weighed
/// where there are activations.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BiasCost {
    /// The bias.
    pub bias: i32,
    /// Σ (x − q)², with activations relative to the total weight.
    pub squared_error: f64,
    /// 10·log10(Σx² / Σ(x − q)²); `None` if all elements are exact.
    pub sqnr_db: Option<f64>,
}

/// Returns what each bias of a format would cost the selected tensors of a file, or of the files of
/// a checkpoint folder ([`open_checkpoint`](crate::open_checkpoint)), and what each policy would
/// choose. Reads all of their data once and writes nothing.
///
/// # Errors
/// A format whose bias is not free, policies for training, activations that do not fit, a file that
/// can't be read.
pub fn bias_costs(
    views: &[View],
    spec: &FormatSpec,
    policies: &[BiasPolicy],
    calibration: Option<&Calibration>,
    select: &dyn Fn(&TensorView) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<BiasReport>> {
    if !spec.has_free_bias() {
        return Err(refuse(format!("{spec} has no bias to choose: take a CFloat8 format or SHP")));
    }
    let all = views.iter().flat_map(|view| view.tensors().iter().map(move |tensor| (view, tensor)));
    let chosen: Vec<(&View, &TensorView)> =
        all.filter(|(_, tensor)| tensor.stored != Stored::Other && select(tensor)).collect();
    let bytes = chosen.iter().map(|(_, tensor)| tensor.info.len);
    progress(Progress::Start(bytes.fold(0, u64::saturating_add)));
    let costs = chosen.into_iter();
    costs.map(|(view, tensor)| of_tensor(view, tensor, spec, policies, calibration, progress)).collect()
}

fn of_tensor(
    view: &View,
    tensor: &TensorView,
    spec: &FormatSpec,
    policies: &[BiasPolicy],
    calibration: Option<&Calibration>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<BiasReport> {
    let info = &tensor.info;
    progress(Progress::Tensor(&info.name));
    let precision = spec.with_bias(0).map_err(refuse)?.precision();
    let weights = calibration.map_or(Ok(None), |calibration| calibration.weights(&info.name, &info.shape))?;
    let mut cells = ClassSums::<f64>::new(precision);
    let mut weighted = weights.as_ref().map(|_| WeightedClassSums::new(precision));
    let mut columns = weights.iter().flat_map(|weights| weights.iter()).cycle();
    let reader = view.reader(tensor)?;
    let mut values = vec![0.0; PIECE];
    let (mut first, elements) = (0, info.elements());
    while first < elements {
        let count = usize::try_from(elements - first).unwrap_or(PIECE).min(PIECE);
        let values = &mut values[..count];
        reader.read(first, values)?;
        cells.add(values);
        if let Some(weighted) = &mut weighted {
            values.iter().zip(&mut columns).for_each(|(&x, &weight)| weighted.add(x, weight));
        }
        progress(Progress::Bytes(share_of(info, count as u64)));
        first += count as u64;
    }
    let counted = Magnitudes::from(&cells);
    let weighed = weighted.map(|cells| cells.magnitudes());
    let errors = weighed.as_ref().unwrap_or(&counted);
    // Weights of 32 bits and more would make sums that mean nothing to anybody.
    let unit = errors.weight_of_all().max(1.0) / counted.weight_of_all().max(1.0);
    let signal = errors.signal();
    let biases: Vec<BiasCost> = errors
        .squared_errors(spec)
        .into_iter()
        .map(|(bias, error)| BiasCost {
            bias,
            squared_error: error / unit,
            sqnr_db: (error > 0.0).then(|| 10.0 * (signal / error).log10()),
        })
        .collect();
    let choice = |&policy: &BiasPolicy| {
        let magnitudes = if policy == BiasPolicy::LeastError { errors } else { &counted };
        let bias = policy.choose(spec, Some(magnitudes))?.bias();
        let cost = biases.iter().find(|cost| cost.bias == bias).copied();
        let cost = cost.ok_or_else(|| refuse(format!("bias {bias} is not legal for {spec}")))?;
        Ok(BiasChoice { policy, cost })
    };
    let choices = policies.iter().map(choice).collect::<Result<Vec<_>>>();
    Ok(BiasReport {
        name: info.name.clone(),
        shape: info.shape.clone(),
        amax: cells.amax().to_f64().unwrap_or(f64::MAX),
        not_finite: cells.nans() + cells.infinities(),
        calibrated: weights.is_some(),
        choices: choices
            .map_err(|e| Error::refused(Some(view.source().path()), Some(&info.name), e.to_string()))?,
        biases,
        exponents: cells.exponents(),
    })
}
