//! `BiasController`: the bias of one kind of tensor through a training run.

use std::sync::Mutex;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallfloat_kernels::Element;
use smallfloat_tensor::{BiasController, BiasPolicy, CodeUse, Magnitudes, Observation};

use crate::array::{Input, with_kind};
use crate::cache::lock;
use crate::convert::detached;
use crate::events::EventCounts;
use crate::format::{PyFormat, spec_of};
use crate::integers::{Amax, Bias, CodeUses, Slope};
use crate::numerics::Policy;
use crate::value_error;

/// How codes use their range: elements that overflowed, codes in the topmost binade, codes in the
/// binade below it, elements that were not zero.
type Counts = (u64, u64, u64, u64);

/// A bias that follows the data of one kind of tensor, such as the gradients of a layer, step by
/// step.
///
/// Equal observations in equal order give equal biases. A step without a finite magnitude
/// other than zero leaves the bias as it is.
///
/// Parameters
/// ----------
/// fmt : str or Format
///     A format whose bias is data: ``'cfloat8_1_4_3'``, ``'cfloat8_1_5_2'`` or ``'shp'``.
/// policy : str or int
///     What the bias follows:
///
///     * ``'delayed:history=16,margin=0'`` (``'delayed'`` for short): the largest bias that held
///       the largest magnitude of the last steps, with so many binades to spare;
///     * ``'flags:patience=16'``: overflow flags and unused binades of the codes; no look at wide data;
///     * ``'gradient:patience=4'``: the loss's slope along the bias, which ``observe`` is told: a lead of so many votes for one
///       direction moves the bias by one;
///     * ``'amax'``, ``'amax:margin=1'``, ``'auto'``, ``'percentile:99.9'``: the tensor to be encoded, as in `choose_bias`;
///     * a number: nothing.
/// start : int, optional
///     The first bias, 0..=63. By default that in ``fmt``, or that of IEEE 754's formats with as many
///     exponent bits.
///
/// Attributes
/// ----------
/// bias : int
///     For the next tensor.
/// format : Format
///     The format with that bias.
/// policy : str
/// steps, changes : int
///     How many observations there were, and how many of them changed the bias.
///
/// Examples
/// --------
/// >>> import numpy as np, smallfloat as sf
/// >>> bias = sf.BiasController("cfloat8_1_4_3", "delayed:history=2")
/// >>> [bias.observe(amax=x) for x in (0.3, 5.0, 0.3, 0.3)]  # 1.875 * 2**(15 - bias) is the largest value
/// [17, 13, 13, 17]
/// >>> codes, fmt = bias.step(np.array([0.2, -0.1], np.float32))
/// >>> fmt
/// Format('cfloat8_1_4_3:bias=17')
/// >>> bias.state_dict()["history"]
/// [17, 18]
#[pyclass(frozen, name = "BiasController", module = "smallfloat")]
pub(crate) struct PyBiasController(Mutex<BiasController>);

#[pymethods]
impl PyBiasController {
    #[new]
    #[pyo3(signature = (fmt, policy="delayed".to_owned().into(), *, start=None),
        text_signature = "(fmt, policy='delayed', *, start=None)")]
    fn new(fmt: &Bound<'_, PyAny>, policy: Policy, start: Option<Bias>) -> PyResult<Self> {
        let controller = BiasController::new(policy.parse()?, spec_of(fmt)?, start.map(|Bias(bias)| bias))
            .map_err(value_error)?;
        Ok(Self(Mutex::new(controller)))
    }

    #[getter]
    fn bias(&self) -> i32 {
        lock(&self.0).bias()
    }

    #[getter]
    fn format(&self) -> PyFormat {
        PyFormat { format: *lock(&self.0).format() }
    }

    #[getter]
    fn policy(&self) -> String {
        lock(&self.0).policy().to_string()
    }

    #[getter]
    fn steps(&self) -> u64 {
        lock(&self.0).steps()
    }

    #[getter]
    fn changes(&self) -> u64 {
        lock(&self.0).changes()
    }

    /// Learns from a step, and returns the bias from now on.
    ///
    /// Parameters
    /// ----------
    /// x : array_like, optional
    ///     The step's tensor; not for 'flags', which learns from codes.
    /// amax : float, optional
    ///     Instead of ``x``, its largest finite magnitude: enough for 'amax' and 'delayed'.
    /// code_use : tuple of four ints, optional
    ///     Instead of ``x``, for 'flags', what `code_use` gave. Those of parts of a tensor add up.
    /// slope : float, optional
    ///     Instead of ``x``, for 'gradient', the derivative of the loss by the bias, of which the sign
    ///     counts: with the loss's gradient ``g`` by the rounded tensor ``y``, ``-sum(g * (y - x))``, where
    ///     ``y - x`` becomes ``y`` for elements that were clamped.
    #[pyo3(signature = (x=None, *, amax=None, code_use=None, slope=None))]
    fn observe<'py>(
        &self,
        py: Python<'py>,
        x: Option<&Bound<'py, PyAny>>,
        amax: Option<Amax>,
        code_use: Option<CodeUses>,
        slope: Option<Slope>,
    ) -> PyResult<i32> {
        match (x, amax.map(|amax| amax.0), code_use.map(|uses| uses.0), slope.map(|slope| slope.0)) {
            (None, Some(amax), None, None) if amax.is_nan() || amax < 0.0 => Err(PyValueError::new_err(
                format!("amax is the largest finite magnitude, at least zero, not {amax}"),
            )),
            (None, Some(amax), None, None) => self.learn(Observation::Amax(amax)),
            (None, None, None, Some(slope)) => self.learn(Observation::Slope(slope)),
            (None, None, Some((overflowed, topmost, second, nonzero)), None) => {
                self.learn(Observation::Codes(CodeUse { overflowed, topmost, second, nonzero }))
            }
            (Some(x), None, None, None) => self.observe_values(py, x),
            _ => Err(PyTypeError::new_err("observe takes one of x, amax, code_use and slope")),
        }
    }

    /// Encodes a tensor, and learns from it: before, where the policy chooses for the tensor at
    /// hand; after, where it learns for the next one. 'gradient' waits for the slope, which
    /// ``observe`` takes.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of floats
    /// **how :
    ///     As of `smallfloat.encode`, without ``return_flags``.
    ///
    /// Returns
    /// -------
    /// codes : array of ``x``'s shape
    /// fmt : Format
    ///     What the codes are of.
    #[pyo3(signature = (x, **projection))]
    fn step<'py>(
        slf: &Bound<'py, Self>,
        x: &Bound<'py, PyAny>,
        projection: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, PyFormat)> {
        let (py, this) = (slf.py(), slf.get());
        let projection = projection.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        if projection.contains(intern!(py, "return_flags"))? {
            return Err(PyTypeError::new_err("step needs the flags itself: leave out return_flags"));
        }
        projection.set_item(intern!(py, "return_flags"), true)?;
        let policy = lock(&this.0).policy();
        if policy.needs_statistics() {
            this.observe_values(py, x)?;
        }
        let format = this.format();
        let encode = py.import(intern!(py, "smallfloat._core"))?.getattr(intern!(py, "encode"))?;
        let (codes, events): (Bound<'py, PyAny>, Bound<'py, EventCounts>) =
            encode.call((x, format), Some(&projection))?.extract()?;
        match policy {
            BiasPolicy::Flags { .. } => {
                let (overflowed, topmost, second, nonzero) = this.code_use(&codes, &events)?;
                this.learn(Observation::Codes(CodeUse { overflowed, topmost, second, nonzero }))?;
            }
            BiasPolicy::Gradient { .. } => (),
            _ if policy.needs_statistics() => (),
            _ => drop(this.observe_values(py, x)?),
        }
        Ok((codes, format))
    }

    /// How codes use the range of the controller's format, for `observe`.
    ///
    /// Parameters
    /// ----------
    /// codes : array_like of unsigned integers
    /// events : EventCounts
    ///     Of encoding them.
    ///
    /// Returns
    /// -------
    /// overflowed, topmost, second, nonzero : int
    ///     Elements that overflowed, codes in the topmost binade, codes in the one below it, elements
    ///     that were not zero.
    fn code_use(&self, codes: &Bound<'_, PyAny>, events: &Bound<'_, EventCounts>) -> PyResult<Counts> {
        let format = self.format();
        let (format, wide, events) = (format.format, format.format.width() > 8, &events.get().0.events);
        let codes =
            Input::codes(codes, PyFormat { format }.into_pyobject(codes.py())?.as_any(), format.width())?;
        let used = if wide {
            CodeUse::of(&format, events, codes.slice::<u16>()?)
        } else {
            CodeUse::of(&format, events, codes.slice::<u8>()?)
        };
        Ok((used.overflowed, used.topmost, used.second, used.nonzero))
    }

    /// The state as a dict of words and integers, which JSON, pickle and torch can store.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let text = serde_json::to_string(&*lock(&self.0)).map_err(value_error)?;
        Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into()?)
    }

    /// Takes a state that `state_dict` gave of a controller of the same format; its policy, too.
    fn load_state_dict(&self, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let text: String = state.py().import("json")?.call_method1("dumps", (state,))?.extract()?;
        let read: BiasController = serde_json::from_str(&text)
            .map_err(|error| PyValueError::new_err(format!("state is not of a BiasController: {error}")))?;
        let mut own = lock(&self.0);
        if own.format().with_bias(read.bias()).as_ref() != Ok(read.format()) {
            return Err(PyValueError::new_err(format!(
                "state is of {}, and this BiasController of {}: formats must be equal but for the bias",
                read.format(),
                own.format()
            )));
        }
        *own = read;
        Ok(())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let state = slf.get().state_dict(py)?;
        let arguments = (state.get_item("format")?, state.get_item("policy")?);
        Ok((slf.get_type(), arguments, state).into_pyobject(py)?.into_any())
    }

    fn __setstate__(&self, state: &Bound<'_, PyDict>) -> PyResult<()> {
        self.load_state_dict(state)
    }

    fn __eq__(&self, other: &Self) -> bool {
        let other = lock(&other.0).clone();
        *lock(&self.0) == other
    }

    fn __repr__(&self) -> String {
        let this = lock(&self.0);
        format!("BiasController('{}', '{}', {} steps)", this.format(), this.policy(), this.steps())
    }
}

impl PyBiasController {
    fn learn(&self, observation: Observation<'_>) -> PyResult<i32> {
        lock(&self.0).observe(observation).map_err(value_error)
    }

    /// Learns from a tensor: what is cheapest of what the policy takes.
    fn observe_values<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<i32> {
        let (policy, format) = {
            let this = lock(&self.0);
            (this.policy(), *this.format())
        };
        if matches!(policy, BiasPolicy::Amax { .. } | BiasPolicy::Delayed { .. } | BiasPolicy::Fixed(_)) {
            return self.learn(Observation::Amax(amax(py, x)?));
        }
        let (x, kind) = Input::numbers(x, "x")?;
        let magnitudes = with_kind!(kind, T => {
            let x = x.slice::<T>()?;
            detached(py, None, x.len(), || Magnitudes::of(x, format.precision()))?
        });
        self.learn(Observation::Magnitudes(&magnitudes))
    }
}

/// The largest finite magnitude; zero if there is none.
#[pyfunction]
pub(crate) fn amax<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<f64> {
    fn of<T: Element>(x: &[T]) -> f64 {
        let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
        x.iter().fold(0.0, |most: f64, x| most.max(finite(x.to_f64().abs())))
    }
    let (x, kind) = Input::numbers(x, "x")?;
    with_kind!(kind, T => {
        let x = x.slice::<T>()?;
        detached(py, None, x.len(), || of(x))
    })
}
