//! Checkpoints: quantize, dequantize, read and verify files; plan, apply and finalize in shards.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smallfloat::formats::E8M0FNU;
use smallfloat::{Codebook, ErrorKind, Family, Format, FormatSpec, Preset, Rounding, Saturation};
use smallfloat_tensor::{
    self as tensor, BiasPolicy, Dtype, NamePatterns, Negative, Nonfinite, Options, Packing, Plan, ScaleRule,
    ScaleSpec, Scheme, Sharding, Share, Sink, SinkOptions, Source, TensorInfo, TensorSpec, TensorView,
    Tensors, View,
};

use crate::array::{Output, with_kind};
use crate::convert::{detached, number_dtype};
use crate::format::spec_of;
use crate::integers::{RandomBitCount, Seed, Shard, ShardBytes, Shards, Threads};
use crate::{policy, value_error};

/// A path as Python's `os` takes them: text, bytes, or an object that stands for one of these.
fn any_path(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    value.py().import("os")?.call_method1("fsdecode", (value,))?.extract()
}

/// The number of "file exists", which is the same on every system.
const EEXIST: i32 = 17;

/// An error about files: an `OSError` with errno and filename where it is the operating system's or
/// the output exists, such as `FileNotFoundError` and `FileExistsError`; else a `ValueError`.
pub(crate) fn file_error(error: &tensor::Error) -> PyErr {
    let mut text = error.to_string();
    let cause = error.io_error();
    if !error.is_io() && !error.is_exists() {
        return PyValueError::new_err(text);
    }
    // Python shows the number itself.
    if let (Some(_), Some(end)) = (cause, text.rfind(" (os error")) {
        text.truncate(end);
    }
    let number = if error.is_exists() { Some(EEXIST) } else { cause.and_then(io::Error::raw_os_error) };
    match (number, error.path()) {
        // Python chooses the class by the number.
        (Some(number), Some(path)) => PyOSError::new_err((number, text, path.as_os_str().to_owned())),
        _ => PyOSError::new_err(text),
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(value_error)
}

/// The value that a keyword names, or its default.
fn word<T: FromStr<Err = smallfloat_tensor::Error>>(
    keyword: &str,
    text: Option<&str>,
    default: T,
) -> PyResult<T> {
    let parsed = text.map_or(Ok(default), str::parse);
    parsed.map_err(|e| PyValueError::new_err(format!("{keyword}: {e}")))
}

/// Returns whether a name is near to a scheme's, and to no format's, or has `_` for its `-`.
fn is_scheme(name: &str) -> bool {
    if name.replace('_', "-").parse::<Scheme>().is_ok() {
        return true;
    }
    let error = name.parse::<FormatSpec>().map_err(|error| error.kind());
    matches!(error, Err(ErrorKind::UnknownFormat { suggestion: None, .. })) && Scheme::nearest(name).is_some()
}

/// What decides the bytes of a quantized file, as keyword arguments of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct QuantizeKeywords<'py> {
    fmt: Bound<'py, PyAny>,
    bias: Option<String>,
    granularity: Option<String>,
    scale_format: Option<String>,
    scale_rule: Option<String>,
    rounding: Option<String>,
    random_bits: RandomBitCount,
    seed: Option<Seed>,
    saturation: Option<String>,
    preset: Option<String>,
    nonfinite: Option<String>,
    negative: Option<String>,
    tensors: Option<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    overwrite: bool,
    verify: bool,
    /// Whether the native container's names of tensors take the place of the scheme's.
    native: bool,
}

/// The rule that goes with a scale format where none is named, as in the command.
fn customary(format: &Format) -> ScaleRule {
    if *format == E8M0FNU {
        ScaleRule::Floor
    } else if format.family() == Family::P3109 {
        ScaleRule::MaxAbsFinite
    } else {
        ScaleRule::Amax
    }
}

impl QuantizeKeywords<'_> {
    pub(crate) fn options(&self) -> PyResult<Options> {
        let refused = |e: tensor::Error| file_error(&e);
        let name: Option<String> = self.fmt.extract().ok();
        let scheme = match name.as_deref().map(|name| (name, name.parse::<Scheme>())) {
            Some((_, Ok(scheme))) => Some(scheme),
            // `mxfp8` is the beginning of schemes, not a format misspelt; `mxfp5` a scheme misspelt.
            Some((name, Err(unknown))) if Scheme::variants(name).next().is_some() || is_scheme(name) => {
                return Err(refused(unknown));
            }
            _ => None,
        };
        let mut options = match scheme {
            Some(scheme) => scheme.options(),
            None => Options::new(spec_of(&self.fmt)?),
        };
        if let Some(bias) = &self.bias {
            options.bias = bias.parse::<BiasPolicy>().map_err(refused)?;
        }
        if let Some(granularity) = &self.granularity {
            options.granularity = granularity.parse().map_err(refused)?;
            // Tensors in memory have no readers.
            if let Some(scheme) = scheme.filter(|_| !self.native) {
                scheme.check_granularity(options.granularity).map_err(refused)?;
            }
        }
        if let Some(format) = &self.scale_format {
            if scheme.is_some() {
                return Err(PyValueError::new_err("scale_format: a scheme has its own; leave it out"));
            }
            let format: Format = format.parse().map_err(value_error)?;
            options.scale = Some(ScaleSpec { format, rule: customary(&format), global: None });
            options.packing = match options.format.format().map_err(value_error)?.width() {
                4 => Packing::NibblesLow,
                6 => Packing::SixBit,
                _ => Packing::Bytes,
            };
        }
        if let Some(rule) = &self.scale_rule {
            let rule = rule.parse::<ScaleRule>().map_err(refused)?;
            match &mut options.scale {
                Some(scale) => scale.rule = rule,
                None => {
                    return Err(PyValueError::new_err(
                        "scale_rule: there are no scales; give a scale_format",
                    ));
                }
            }
        }
        if self.native {
            options.layout = Options::new(options.format).layout;
        }
        let fused = !options.layout.is_native() || options.scale.is_some_and(|scale| scale.global.is_some());
        options.share = if fused { Share::known() } else { Share::none() };
        // Readers of foreign layouts expect no others.
        let foreign = self.include.is_empty() && !options.layout.is_native();
        let tensors = if foreign { Tensors::Weights } else { Tensors::Matrices };
        options.tensors = word("tensors", self.tensors.as_deref(), tensors)?;
        self.policies(&mut options)?;
        options.overwrite = self.overwrite;
        options.verify = self.verify;
        Ok(options)
    }

    fn policies(&self, options: &mut Options) -> PyResult<()> {
        let rounding = self.rounding.as_deref().map(|text| policy::rounding(text, self.random_bits.0));
        options.rounding = rounding.transpose()?;
        let seed = self.seed.map(|seed| seed.0);
        policy::words(options.rounding.unwrap_or(Rounding::NearestEven), seed, None, "philox", 0)?;
        options.seed = seed;
        let saturation =
            |text| policy::named("saturation", text, Saturation::ALL.iter().copied(), |s| s.name());
        options.saturation = self.saturation.as_deref().map(saturation).transpose()?;
        let preset = |text| policy::named("preset", text, Preset::ALL.iter().copied(), |p| p.name());
        options.preset = self.preset.as_deref().map(preset).transpose()?;
        options.nonfinite = word("nonfinite", self.nonfinite.as_deref(), Nonfinite::Refuse)?;
        options.negative = word("negative", self.negative.as_deref(), Negative::Refuse)?;
        Ok(())
    }

    /// The tensors to be quantized, by name; names that match nothing are a mistake.
    fn patterns(&self, input: &Path) -> PyResult<NamePatterns> {
        let patterns = NamePatterns::new(&self.include, &self.exclude).map_err(value_error)?;
        let views = tensor::open_checkpoint(input).map_err(|e| file_error(&e))?;
        let tensors = views.iter().flat_map(View::tensors);
        let names: Vec<&str> = tensors.map(|tensor| &*tensor.info.name).collect();
        patterns.check(&names).map_err(value_error)?;
        Ok(patterns)
    }
}

/// Runs work on files without the interpreter, in our own pool of threads.
fn work<R: Send>(
    py: Python<'_>,
    threads: Option<Threads>,
    run: impl FnOnce() -> tensor::Result<R> + Send,
) -> PyResult<R> {
    detached(py, Threads::check(threads)?, usize::MAX, run)?.map_err(|e| file_error(&e))
}

/// Quantizes a file or a folder; the report is JSON.
#[pyfunction]
pub(crate) fn quantize_path(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] input: PathBuf,
    #[pyo3(from_py_with = any_path)] output: PathBuf,
    recipe: QuantizeKeywords<'_>,
    threads: Option<Threads>,
) -> PyResult<String> {
    let options = recipe.options()?;
    let patterns = recipe.patterns(&input)?;
    let report = work(py, threads, move || {
        tensor::quantize(&input, &output, &options, &|name| patterns.select(name), &mut |_| ())
    })?;
    json(&report)
}

/// Writes a quantized file's tensors as wide floats; how many bytes that are.
#[pyfunction]
pub(crate) fn dequantize_path(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] input: PathBuf,
    #[pyo3(from_py_with = any_path)] output: PathBuf,
    dtype: &str,
    rounding: Option<&str>,
    overwrite: bool,
    threads: Option<Threads>,
) -> PyResult<u64> {
    let dtype = dtype
        .parse::<Dtype>()
        .ok()
        .ok_or_else(|| PyValueError::new_err("dtype must be F64, F32, F16 or BF16"))?;
    let rounding = rounding.map(|text| policy::rounding(text, 32)).transpose()?;
    let done = work(py, threads, move || {
        tensor::dequantize(&input, &output, dtype, rounding, overwrite, &mut |_| ())
    })?;
    Ok(done.bytes)
}

/// Checks a quantized file: structure, digests, every code legal.
///
/// Returns
/// -------
/// tuple
///     How many tensors, codes and digests were checked, and what deserves a warning.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] path: PathBuf,
) -> PyResult<(u64, u64, u64, Vec<String>)> {
    let verified = work(py, None, move || tensor::verify(&path))?;
    Ok((verified.tensors, verified.codes, verified.digests, verified.warnings))
}

/// The plan of a quantization in shards, as JSON.
#[pyfunction]
pub(crate) fn plan_path(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] input: PathBuf,
    #[pyo3(from_py_with = any_path)] output: PathBuf,
    recipe: QuantizeKeywords<'_>,
    shards: Option<Shards>,
    shard_bytes: Option<ShardBytes>,
) -> PyResult<String> {
    let options = recipe.options()?;
    let patterns = recipe.patterns(&input)?;
    let sharding = match (shards, shard_bytes) {
        (None, None) => Sharding::Files,
        (Some(Shards(count)), None) => Sharding::Count(count),
        (None, Some(ShardBytes(bytes))) => Sharding::Bytes(bytes),
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err("give shards or shard_bytes, not both"));
        }
    };
    let json = work(py, None, move || {
        tensor::plan(&input, &output, &options, &|name| patterns.select(name), sharding)
            .and_then(|plan| plan.to_json())
    })?;
    String::from_utf8(json).map_err(value_error)
}

fn read_plan(json: &str) -> PyResult<Plan> {
    Plan::from_json(json.as_bytes(), "plan").map_err(|e| file_error(&e))
}

/// How many shards a plan has, and its output folder.
#[pyfunction]
pub(crate) fn plan_summary(plan: &str) -> PyResult<(usize, usize, u64, PathBuf)> {
    let plan = read_plan(plan)?;
    Ok((plan.shards(), plan.tensors(), plan.bytes_in(), plan.output().to_path_buf()))
}

/// Quantizes one shard of a plan: its report as JSON, and whether it was there already.
#[pyfunction]
pub(crate) fn apply_shard(
    py: Python<'_>,
    plan: &str,
    shard: Shard,
    verify: bool,
    threads: Option<Threads>,
) -> PyResult<(String, bool)> {
    let plan = read_plan(plan)?;
    let applied = work(py, threads, move || tensor::apply(&plan, shard.0, verify, &mut |_| ()))?;
    Ok((json(&applied.report)?, applied.was_complete))
}

/// Checks all shards of a plan and writes what goes with them; the report is JSON.
#[pyfunction]
pub(crate) fn finalize_plan(py: Python<'_>, plan: &str, digests: bool) -> PyResult<String> {
    let plan = read_plan(plan)?;
    json(&work(py, None, move || tensor::finalize(&plan, digests, &mut |_| ()))?)
}

/// Name, dtype, shape and bytes of a tensor.
type Raw<'py> = (String, &'static str, Vec<u64>, Bound<'py, PyBytes>);

/// The metadata and the tensors of a safetensors or `.npy` file, as they are stored.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a pair of lists")]
pub(crate) fn read_tensors(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] path: PathBuf,
) -> PyResult<(Vec<(String, String)>, Vec<Raw<'_>>)> {
    let source = work(py, None, move || Source::open(path))?;
    Ok((source.metadata().to_vec(), raw(py, &source)?))
}

fn raw<'py>(py: Python<'py>, source: &Source) -> PyResult<Vec<Raw<'py>>> {
    let read = |info: &TensorInfo| {
        let bytes = work(py, None, || source.read_all(info))?;
        Ok((info.name.clone(), info.dtype.name(), info.shape.clone(), PyBytes::new(py, &bytes)))
    };
    source.tensors().iter().map(read).collect()
}

/// How the quantized tensors of a native container lie, by name in JSON, and all tensors as they
/// are stored; none of the former where the file is no container.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a pair of lists")]
pub(crate) fn read_container(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] path: PathBuf,
) -> PyResult<(Option<Vec<(String, String)>>, Vec<Raw<'_>>)> {
    let view = work(py, None, move || View::open(path))?;
    let of = |tensor: &TensorView| Some(json(tensor.entry()?).map(|entry| (tensor.info.name.clone(), entry)));
    let entries = view.is_container().then(|| view.tensors().iter().filter_map(of).collect()).transpose()?;
    Ok((entries, raw(py, view.source())?))
}

/// The numbers of a file or a folder in any layout, by name.
#[pyfunction]
pub(crate) fn read_values<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = any_path)] path: PathBuf,
    dtype: Option<&Bound<'py, PyAny>>,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<Vec<(String, Bound<'py, PyUntypedArray>)>> {
    let patterns = NamePatterns::new(&include, &exclude).map_err(value_error)?;
    let views = work(py, None, move || tensor::open_checkpoint(path))?;
    let names: Vec<&str> = views.iter().flat_map(View::tensors).map(|tensor| &*tensor.info.name).collect();
    patterns.check(&names).map_err(value_error)?;
    let (dtype, kind) = number_dtype(py, dtype)?;
    let mut found = Vec::new();
    for view in &views {
        // A tensor that is asked for and holds no numbers is an error.
        let is_meant = |tensor: &&TensorView| {
            patterns.select(&tensor.info.name) && (tensor.has_numbers() || !include.is_empty())
        };
        for tensor in view.tensors().iter().filter(is_meant) {
            let sizes: Result<Vec<_>, _> = tensor.info.shape.iter().map(|&n| usize::try_from(n)).collect();
            let sizes = sizes.map_err(value_error)?;
            let mut output = Output::new(py, None, &sizes, dtype.clone(), &[])?;
            with_kind!(kind, T => {
                let values = output.slice::<T>()?;
                work(py, None, || view.read_as(tensor, values))?;
            });
            found.push((tensor.info.name.clone(), output.into_array()));
        }
    }
    Ok(found)
}

/// Writes a safetensors file, whole or not at all: name, dtype, shape and bytes of each tensor.
#[pyfunction]
pub(crate) fn write_tensors(
    py: Python<'_>,
    #[pyo3(from_py_with = any_path)] path: PathBuf,
    tensors: Vec<(String, String, Vec<u64>, Bound<'_, PyBytes>)>,
    metadata: Vec<(String, String)>,
    overwrite: bool,
) -> PyResult<()> {
    let mut specs = Vec::new();
    for (name, dtype, shape, _) in &tensors {
        let dtype = dtype
            .parse::<Dtype>()
            .ok()
            .ok_or_else(|| PyValueError::new_err(format!("`{dtype}` is no dtype of safetensors files")))?;
        specs.push(TensorSpec::new(name, dtype, shape.clone()));
    }
    let data: Vec<&[u8]> = tensors.iter().map(|(.., bytes)| bytes.as_bytes()).collect();
    work(py, None, move || {
        let options = SinkOptions { overwrite, digests: false, ..SinkOptions::default() };
        let sink = Sink::create(&path, specs, metadata, options)?;
        for (slot, bytes) in data.into_iter().enumerate() {
            sink.append(slot, bytes)?;
        }
        sink.finish()
    })
}

/// The lists of values that codes can stand for: name, bits of a code, and values by code.
#[pyfunction]
pub(crate) fn value_lists() -> Vec<(&'static str, u32, Vec<f32>)> {
    let values = |list: &Codebook| (0..=list.max_code()).map(|code| list.value(code)).collect();
    Codebook::ALL.iter().map(|list| (list.name(), list.width(), values(list))).collect()
}

/// The schemes that `quantize` knows by name, and what they are.
#[pyfunction]
pub(crate) fn schemes() -> Vec<(&'static str, &'static str)> {
    Scheme::all().iter().map(|scheme| (scheme.name, scheme.what)).collect()
}
