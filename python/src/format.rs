//! `Format`: a number format as Python sees it.

use numpy::{PyArray1, ToPyArray};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallfloat::formats::CATALOGUE;
use smallfloat::{
    Datum, Domain, Format, FormatSpec, Parameters, Preset, Signedness, Specials, Subnormals, text,
};
use smallfloat_kernels::Decoder;

use crate::array::{code_dtype, interop};
use crate::integers::{Bias, CodeOfValue, Precision, Width};
use crate::{policy, value_error};

/// A number format: a finite set of exact values and their codes.
///
/// Parameters
/// ----------
/// name : str
///     As ``smallfloat formats`` lists them: ``'e4m3fn'``, ``'cfloat8_1_4_3:bias=7'``,
///     ``'binary8p3se'``, ``'minifloat:k=8,p=4,bias=7'``, …; a dtype of ml_dtypes or torch that is a
///     small float will do.
/// bias : int, optional
///     For formats whose bias is data.
/// subnormals : str, optional
///     Of Tesla's formats, ``'tesla'`` or ``'gradual'``.
///
/// Examples
/// --------
/// >>> import smallfloat as sf
/// >>> f = sf.Format("cfloat8_1_4_3", bias=11)
/// >>> f
/// Format('cfloat8_1_4_3:bias=11')
/// >>> f.width, f.precision, f.max
/// (8, 4, 30.0)
/// >>> f == sf.formats.cfloat8_1_4_3(11)
/// True
#[pyclass(frozen, eq, hash, module = "smallfloat", name = "Format")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyFormat {
    pub(crate) format: Format,
}

/// A format from a `Format`, a name, or a dtype.
pub(crate) fn format_of(fmt: &Bound<'_, PyAny>) -> PyResult<Format> {
    if let Ok(format) = fmt.cast::<PyFormat>() {
        return Ok(format.get().format);
    }
    spec_of(fmt)?.format().map_err(value_error)
}

/// A format whose bias may be open.
pub(crate) fn spec_of(fmt: &Bound<'_, PyAny>) -> PyResult<FormatSpec> {
    if let Ok(format) = fmt.cast::<PyFormat>() {
        return Ok(format.get().format.into());
    }
    if let Ok(name) = fmt.cast::<PyString>() {
        return name.to_cow()?.parse().map_err(value_error);
    }
    // NumPy takes None for float64.
    let name: Option<String> = if fmt.is_none() {
        None
    } else {
        interop(fmt.py())?.call_method1("dtype_name", (fmt,))?.extract()?
    };
    match name {
        Some(name) => name.parse().map_err(value_error),
        None => Err(PyTypeError::new_err(format!(
            "fmt must be a Format, a name such as 'e4m3fn', or a dtype that is a small float, not {}",
            fmt.get_type().name()?
        ))),
    }
}

/// Returns the reading of subnormal codes with a name.
fn named_subnormals(name: &str) -> PyResult<Subnormals> {
    policy::named("subnormals", name, Subnormals::NAMED.iter().map(|&(_, s)| s), |s| s.name())
}

impl PyFormat {
    fn number(&self, what: &str, datum: Datum) -> PyResult<f64> {
        datum.to_f64().ok_or_else(|| {
            PyOverflowError::new_err(format!(
                "{what} of {} is {datum}, which a float can't hold",
                self.format
            ))
        })
    }

    fn code(&self, CodeOfValue(code): CodeOfValue) -> PyResult<u64> {
        self.format.check_code(code).map_err(value_error)
    }
}

#[pymethods]
impl PyFormat {
    #[new]
    #[pyo3(signature = (name, *, bias=None, subnormals=None))]
    fn new(name: &Bound<'_, PyAny>, bias: Option<Bias>, subnormals: Option<&str>) -> PyResult<Self> {
        let spec = spec_of(name)?;
        let format = match bias {
            Some(Bias(bias)) => spec.with_bias(bias),
            None => spec.format(),
        };
        let format = format.map_err(value_error)?;
        if let Ok(named) = spec.format()
            && named.bias() != format.bias()
        {
            return Err(contradiction(&named, "bias", &format.bias().to_string()));
        }
        let Some(subnormals) = subnormals else { return Ok(Self { format }) };
        let wanted = Self { format }.with_subnormals(subnormals)?;
        let is_said = name.cast::<PyString>().is_ok_and(|name| name.to_string().contains("subnormals="));
        if is_said && wanted.format.subnormals() != format.subnormals() {
            return Err(contradiction(&format, "subnormals", &format!("'{}'", wanted.subnormals())));
        }
        Ok(wanted)
    }

    /// The P3109 draft's Binary{k, p, Σ, Δ}: 3 <= k <= 16, 1 <= p < k (p <= k if unsigned).
    #[staticmethod]
    #[pyo3(signature = (k, p, *, signed=true, extended=true))]
    fn p3109(k: Width, p: Precision, signed: bool, extended: bool) -> PyResult<Self> {
        let domain = if extended { Domain::Extended } else { Domain::Finite };
        let format = Format::p3109(k.0, p.0, signedness(signed), domain).map_err(value_error)?;
        Ok(Self { format })
    }

    /// A format after IEEE 754's model: 4 <= k <= 16, 2 <= p <= k - 2.
    #[staticmethod]
    fn ieee(k: Width, p: Precision) -> PyResult<Self> {
        Ok(Self { format: Format::ieee(k.0, p.0).map_err(value_error)? })
    }

    /// A format from its parameters: 2 <= k <= 16; `docs/semantics.md` S6 lists the names of
    /// specials and subnormals.
    #[staticmethod]
    #[pyo3(signature = (k, p, bias, *, signed=true, specials="finite", subnormals="gradual"))]
    fn minifloat(
        k: Width,
        p: Precision,
        bias: Bias,
        signed: bool,
        specials: &str,
        subnormals: &str,
    ) -> PyResult<Self> {
        let parameters = Parameters {
            width: k.0,
            precision: p.0,
            bias: bias.0,
            signedness: signedness(signed),
            specials: policy::named("specials", specials, Specials::NAMED.iter().map(|&(_, s)| s), |s| {
                s.name()
            })?,
            subnormals: named_subnormals(subnormals)?,
        };
        Ok(Self { format: Format::minifloat(parameters).map_err(value_error)? })
    }

    /// Return the format with another bias.
    fn with_bias(&self, bias: Bias) -> PyResult<Self> {
        Ok(Self { format: self.format.with_bias(bias.0).map_err(value_error)? })
    }

    /// Return the format with another reading of its subnormal codes: 'tesla' or 'gradual' for
    /// Tesla's, any for minifloat.
    fn with_subnormals(&self, subnormals: &str) -> PyResult<Self> {
        let subnormals = named_subnormals(subnormals)?;
        Ok(Self { format: self.format.with_subnormals(subnormals).map_err(value_error)? })
    }

    /// The canonical name.
    #[getter]
    fn name(&self) -> String {
        self.format.to_string()
    }

    /// Width of a code in bits.
    #[getter]
    fn width(&self) -> u32 {
        self.format.width()
    }

    /// Precision in bits, hidden bit included.
    #[getter]
    fn precision(&self) -> u32 {
        self.format.precision()
    }

    /// Exponent bias: a normal value is 2**(e - bias) * 1.m.
    #[getter]
    fn bias(&self) -> i32 {
        self.format.bias()
    }

    /// Width of the exponent field in bits.
    #[getter]
    fn exponent_bits(&self) -> u32 {
        self.format.exponent_bits()
    }

    /// Width of the trailing significand field in bits.
    #[getter]
    fn trailing_bits(&self) -> u32 {
        self.format.trailing_bits()
    }

    /// Returns whether the format has a sign bit.
    #[getter]
    fn signed(&self) -> bool {
        self.format.is_signed()
    }

    /// Which codes are not finite numbers: 'finite', 'ieee', 'nan-allones', …
    #[getter]
    fn specials(&self) -> &'static str {
        self.format.specials().name()
    }

    /// What exponent field 0 means: 'gradual', 'tesla', 'flush' or 'none'.
    #[getter]
    fn subnormals(&self) -> &'static str {
        self.format.subnormals().name()
    }

    /// Which standards it comes from: 'tesla', 'ieee', 'p3109', 'ml-dtypes' or 'minifloat'.
    #[getter]
    fn family(&self) -> &'static str {
        self.format.family().name()
    }

    /// The preset that holds where none is named.
    #[getter]
    fn default_preset(&self) -> &'static str {
        Preset::default_for(&self.format).name()
    }

    /// The biases that `with_bias` takes, as (lowest, highest), or None where the standard fixes
    /// the bias.
    #[getter]
    fn bias_range(&self) -> Option<(i32, i32)> {
        self.format.bias_range()
    }

    /// The largest code, 2**width - 1.
    #[getter]
    fn max_code(&self) -> u64 {
        self.format.max_code()
    }

    /// The largest finite value.
    #[getter]
    fn max(&self) -> PyResult<f64> {
        self.number("max", self.format.max_finite())
    }

    /// The smallest (most negative) finite value.
    #[getter]
    fn min(&self) -> PyResult<f64> {
        self.number("min", self.format.min_finite())
    }

    /// The smallest positive normal value.
    #[getter]
    fn smallest_normal(&self) -> PyResult<f64> {
        self.number("smallest_normal", self.format.min_normal())
    }

    /// The smallest positive value.
    #[getter]
    fn smallest_positive(&self) -> PyResult<f64> {
        self.number("smallest_positive", self.format.min_positive())
    }

    /// The distance from 1 to the next larger value with unbounded exponent, 2**(1 - precision).
    #[getter]
    fn eps(&self) -> f64 {
        f64::powi(0.5, self.format.trailing_bits().cast_signed())
    }

    /// Exponents of the smallest normal and of the largest finite value.
    #[getter]
    fn exponent_range(&self) -> (i32, i32) {
        self.format.exponent_range()
    }

    #[getter]
    fn has_zero(&self) -> bool {
        self.format.has_zero()
    }

    #[getter]
    fn has_negative_zero(&self) -> bool {
        self.format.has_negative_zero()
    }

    #[getter]
    fn has_infinity(&self) -> bool {
        self.format.has_infinity()
    }

    #[getter]
    fn has_nan(&self) -> bool {
        self.format.has_nan()
    }

    #[getter]
    fn has_subnormals(&self) -> bool {
        self.format.has_subnormals()
    }

    /// The dtype of codes in arrays: uint8, uint16 or uint32; float32 and float64 for these two.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        code_dtype(py, &self.format).into_any()
    }

    /// The dtype of ml_dtypes that arrays of codes may be viewed as; None if there is none, or
    /// ml_dtypes is not installed.
    #[getter]
    fn ml_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        interop(py)?.call_method1("ml_dtype", (self.format.to_string(),))
    }

    /// The values of all codes, in the codes' order, as float64.
    ///
    /// >>> import smallfloat as sf
    /// >>> sf.formats.e2m1fn.values()[:8]
    /// array([0. , 0.5, 1. , 1.5, 2. , 3. , 4. , 6. ])
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let decoder = Decoder::<f64>::new(&self.format, None).map_err(value_error)?;
        let values: Vec<f64> = (0..=self.format.max_code())
            .map(|code| decoder.value(usize::try_from(code).expect("a code has 16 bits at most")))
            .collect();
        Ok(values.to_pyarray(py))
    }

    /// 'nan', 'infinite', 'zero', 'subnormal' or 'normal'.
    fn classify(&self, code: CodeOfValue) -> PyResult<String> {
        Ok(self.format.classify(self.code(code)?).to_string())
    }

    /// The exact value of a code: 'NaN', 'Inf', '-Inf', '0', '-0', or '3p-1' for 3 * 2**-1.
    fn exact(&self, code: CodeOfValue) -> PyResult<String> {
        Ok(self.format.decode(self.code(code)?).to_string())
    }

    /// A code's value as text: the shortest decimal that reads back as the same float, or '3p-16385'
    /// where no float has the value.
    ///
    /// >>> import smallfloat as sf
    /// >>> sf.formats.e4m3fn.text(0x7e)
    /// '448'
    fn text(&self, code: CodeOfValue) -> PyResult<String> {
        Ok(self.format.decode_text(self.code(code)?))
    }

    /// The shortest decimal that rounds to nearest even to a code's value, within the format.
    ///
    /// >>> import smallfloat as sf
    /// >>> sf.formats.e4m3fn.shortest(0x7e)
    /// '450'
    fn shortest(&self, code: CodeOfValue) -> PyResult<String> {
        Ok(self.format.shortest(self.code(code)?).to_string())
    }

    /// The code of a number in text (decimal, hexadecimal, '3p-4'), rounded once.
    ///
    /// >>> import smallfloat as sf
    /// >>> hex(sf.formats.e4m3fn.parse("1.8131605"))
    /// '0x3f'
    #[pyo3(signature = (text, *, preset=None, rounding=None, saturation=None))]
    fn parse(
        &self,
        text: &str,
        preset: Option<&str>,
        rounding: Option<&str>,
        saturation: Option<&str>,
    ) -> PyResult<u64> {
        let rounding = rounding.map(|text| policy::rounding(text, 32)).transpose()?;
        let projection = policy::projection(&self.format, preset, rounding, saturation)?;
        policy::words(projection.rounding, None, None, "philox", 0)?;
        let exact = text::parse(text).map_err(value_error)?;
        Ok(smallfloat::project(exact, &self.format, &projection).value)
    }

    /// Returns whether every finite value of this format is exact in `other`.
    fn fits_in(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.format.fits_in(&format_of(other)?))
    }

    fn __repr__(&self) -> String {
        format!("Format('{}')", self.format)
    }

    fn __str__(&self) -> String {
        self.format.to_string()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().format.to_string(),))
    }
}

/// The error of a keyword that says something else than the name.
fn contradiction(named: &Format, keyword: &str, said: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{keyword}={said} contradicts {named}: leave one out, or write Format('{named}').with_{keyword}({said})"
    ))
}

fn signedness(signed: bool) -> Signedness {
    if signed { Signedness::Signed } else { Signedness::Unsigned }
}

/// The catalogue: name, other spellings, whether the bias is data, source.
#[pyfunction]
pub(crate) fn catalogue() -> Vec<(&'static str, Vec<&'static str>, bool, &'static str)> {
    CATALOGUE
        .iter()
        .map(|row| (row.name, row.aliases.to_vec(), row.format.has_free_bias(), row.source))
        .collect()
}
