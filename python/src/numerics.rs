//! Which bias data get, and κ.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallfloat::FormatSpec;
use smallfloat_conformance::implementation::{NAMED, Variant};
use smallfloat_conformance::kappa::{Defined, Gauge, GaugeOptions, Kappa, MeasuredOperation, measure};
use smallfloat_conformance::vectors::CoverageLevel;
use smallfloat_kernels::Element;
use smallfloat_tensor::BiasPolicy;

use crate::array::{Input, with_kind};
use crate::convert::detached;
use crate::format::{PyFormat, spec_of};
use crate::integers::{RandomOperands, Seed, told};
use crate::value_error;

/// The format with the bias that suits data.
///
/// Parameters
/// ----------
/// x : array_like
///     Finite and infinite numbers and NaN; those that are not finite don't count.
/// fmt : str or Format
///     A format whose bias is data, with or without one: ``'cfloat8_1_4_3'``.
/// policy : str or int
///     ``'auto'``: the bias with the least squared error, exactly, over all; of equals the largest.
///     ``'amax'``: the largest bias at which the largest magnitude does not exceed the format's.
///     ``'percentile:99.9'``: the same for that percentile. A number: that bias.
///
/// Returns
/// -------
/// Format
///
/// Examples
/// --------
/// >>> import numpy as np, smallfloat as sf
/// >>> sf.choose_bias(np.linspace(-1, 1, 1001), "cfloat8_1_4_3", "amax")
/// Format('cfloat8_1_4_3:bias=15')
#[pyfunction]
#[pyo3(signature = (x, fmt, policy="auto".to_owned().into()), text_signature = "(x, fmt, policy='auto')")]
pub(crate) fn choose_bias<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    fmt: &Bound<'py, PyAny>,
    policy: Policy,
) -> PyResult<PyFormat> {
    let (spec, policy) = (spec_of(fmt)?, policy.parse()?);
    if !spec.has_free_bias() {
        return Err(PyValueError::new_err(
            "fmt must be a format whose bias is data: cfloat8_1_4_3, cfloat8_1_5_2 or shp",
        ));
    }
    let (x, kind) = Input::numbers(x, "x")?;
    with_kind!(kind, T => {
        let x = x.slice::<T>()?;
        detached(py, None, x.len(), || choose(policy, &spec, x))?
    })
}

fn choose<T: Element>(policy: BiasPolicy, spec: &FormatSpec, x: &[T]) -> PyResult<PyFormat> {
    Ok(PyFormat { format: policy.choose_for(spec, x).map_err(value_error)? })
}

/// A bias policy: text, or a number.
pub(crate) struct Policy(String);

impl Policy {
    pub(crate) fn parse(&self) -> PyResult<BiasPolicy> {
        self.0.parse().map_err(value_error)
    }
}

impl From<String> for Policy {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<'py> FromPyObject<'_, 'py> for Policy {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(told(value, value.str())?))
    }
}

/// How much is tried: the text of a string or number.
pub(crate) struct Level(CoverageLevel);

impl<'py> FromPyObject<'_, 'py> for Level {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(told(value, value.str())?.parse().map_err(value_error)?))
    }
}

/// κ of an implementation of an operation: the largest number of steps from value to value between
/// the defined and the given result, over all operands or over those given.
///
/// Parameters
/// ----------
/// operation : str
///     As `Operation` takes it, with a number for its result; or a sum of products as an
///     accumulator adds them, ``'Dot<32, e4m3fn, e4m3fn, exact>'``.
/// variant : str, optional
///     How the implementation computes, as ``smallfloat kappa --help`` lists it:
///     ``'f32-libm,flush=zero'``; of a sum another accumulator, ``'hopper'``. All operands are
///     tried, up to 2^32; of more, those of test vectors at level 1.
/// operands : sequence of sequences of int, optional
///     The operands' codes, a list for each operand.
/// given : sequence of int, optional
///     The results' codes that the implementation gave for these operands.
/// level : {'exhaustive', 1, 2}, optional
///     How much is tried of a variant.
/// random : int, optional
///     How many random operands at level 1 or 2; by default 10,000 or 1,000,000.
/// seed : int
///     The seed of the random operands.
///
/// Returns
/// -------
/// dict
///     ``kappa`` (an int; inf if an infinity does not match, nan if a NaN does not), ``compared``,
///     ``differing``, ``nan_mismatches``, ``infinity_mismatches``, ``largest_steps``, ``histogram``
///     (steps from, to, count) and ``worst``: the first of the worst cases as (operands, defined,
///     given), or None.
///
/// Examples
/// --------
/// >>> import smallfloat as sf
/// >>> sf.kappa("Exp<e5m2, binary8p4se>", variant="f32-libm")["kappa"]
/// 0
/// >>> sf.kappa("Add<e5m2, e5m2, e5m2>", operands=[[0x3c, 0x3c], [0x3c, 0x40]], given=[0x40, 0x41])["worst"]
/// ([60, 64], [66], [65])
#[pyfunction]
#[pyo3(signature = (operation, *, variant=None, operands=None, given=None, level=None, random=None, seed=Seed(0)),
    text_signature = "(operation, *, variant=None, operands=None, given=None, level=None, random=None, seed=0)")]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn kappa<'py>(
    py: Python<'py>,
    operation: &str,
    variant: Option<&str>,
    operands: Option<Vec<Vec<u64>>>,
    given: Option<Vec<u64>>,
    level: Option<Level>,
    random: Option<RandomOperands>,
    seed: Seed,
) -> PyResult<Bound<'py, PyDict>> {
    let operation: MeasuredOperation = operation.parse().map_err(value_error)?;
    let gauge = match (variant, operands, given) {
        (Some(variant), None, None) => {
            let variant = Variant::new(variant, &operation).map_err(value_error)?;
            let level = level.map(|Level(level)| level);
            let plan = operation.plan(level, seed.0, random.map(|random| random.0)).map_err(value_error)?;
            let given = |codes: &[u64]| variant.call(codes);
            let all = || measure(&operation, plan.as_ref(), given, GaugeOptions::default(), &|_| ());
            detached(py, None, usize::MAX, all)?.map_err(value_error)?
        }
        (None, Some(_), Some(_)) if level.is_some() || random.is_some() => {
            return Err(PyValueError::new_err("level and random go with variant: operands are given here"));
        }
        (None, Some(operands), Some(given)) => compared(&operation, &operands, &given)?,
        _ => return Err(PyValueError::new_err("give either variant, or both operands and given")),
    };
    let total = gauge.total();
    let findings = PyDict::new(py);
    match total.kappa() {
        Kappa::Steps(steps) => findings.set_item("kappa", steps)?,
        Kappa::Infinite => findings.set_item("kappa", f64::INFINITY)?,
        Kappa::Nan => findings.set_item("kappa", f64::NAN)?,
    }
    findings.set_item("compared", total.compared())?;
    findings.set_item("differing", total.differing())?;
    findings.set_item("nan_mismatches", total.nan_mismatches())?;
    findings.set_item("infinity_mismatches", total.infinity_mismatches())?;
    findings.set_item("largest_steps", total.largest_steps())?;
    let bars: Vec<_> = total.histogram().map(|bar| (bar.from, bar.to, bar.count)).collect();
    findings.set_item("histogram", bars)?;
    let worst = total.worst().map(|case| (case.operands.clone(), case.defined.clone(), case.given.clone()));
    findings.set_item("worst", worst)?;
    Ok(findings)
}

fn compared(operation: &MeasuredOperation, operands: &[Vec<u64>], given: &[u64]) -> PyResult<Gauge> {
    let mut gauge = Gauge::for_operation(operation, GaugeOptions::default()).map_err(value_error)?;
    let defined = Defined::one_by_one(operation);
    if operands.iter().any(|codes| codes.len() != given.len()) {
        return Err(PyValueError::new_err(
            "every operand must have as many codes as there are given results",
        ));
    }
    for (i, &given) in given.iter().enumerate() {
        let codes: Vec<u64> = operands.iter().map(|codes| codes[i]).collect();
        let defined = defined.code(&codes).map_err(value_error)?;
        gauge.add(&codes, &[defined], &[given]).map_err(value_error)?;
    }
    Ok(gauge)
}

/// The words that variants are made of, and what they are.
#[pyfunction]
pub(crate) fn variants() -> Vec<(&'static str, &'static str)> {
    NAMED.iter().map(|variant| (variant.name, variant.about)).collect()
}
