//! `Operation`: a function of the P3109 draft by its spelling, over arrays of codes.

use std::sync::OnceLock;

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use rayon::prelude::*;
use smallfloat::p3109::{Answer, Argument, Block, Function, Parameter, Specialization};
use smallfloat::{FlagPolicy, Flags, Format, RandomBits, Rounded};
use smallfloat_conformance::vectors::under;
use smallfloat_kernels::{Code, Elementwise, RandomWords};

use crate::array::{Input, Output, flags_of_each, interop, result_dtype};
use crate::convert::detached;
use crate::events::{Wanted, flags};
use crate::format::PyFormat;
use crate::integers::{FirstElement, Seed, Threads};
use crate::{policy, value_error};

/// Calls on so few elements go through the core one by one; more are worth a table.
const SHORT: usize = 1 << 12;

/// A function of the P3109 draft, by its spelling, over arrays of codes.
///
/// Parameters
/// ----------
/// text : str
///     ``'Add<binary8p3se, e5m2, binary32, (NearestTiesToEven, SatFinite)>'``: the operands' formats,
///     the result's, and how it is rounded; any format may stand anywhere. `docs/p3109.md` has the
///     grammar, `smallfloat.ops` functions for the usual.
/// flags : str, optional
///     Whose rules decide when flags are raised and which NaN a result is: one of
///     `smallfloat.flag_policies`, perhaps with changes, as ``'arm,nan=canonical'``. By default
///     ``'tesla'`` if a format is Tesla's, else ``'ieee-before'``. A processor's policy means IEEE
///     754's special cases, unless the text names semantics.
///
/// Calling it takes an array of codes an operand, broadcast against each other. Operands of
/// binary32 and binary64 are arrays of float32 and float64, of other formats of more than 16 bits of
/// uint32; so are results. Comparisons and
/// predicates give bools, Class gives names. A block is a pair (scales, elements), with the
/// elements along the last axis; queries take nothing.
///
/// Examples
/// --------
/// >>> import numpy as np, smallfloat as sf
/// >>> fma = sf.Operation("FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>")
/// >>> fma(np.array([0x1e, 0x40], np.uint8), np.uint8(0x7e), np.uint8(0x01))
/// array([ 93, 126], dtype=uint8)
/// >>> sf.Operation("CompareLess<e4m3fn, e5m2>")([0x38, 0x40], 0x3d)
/// array([ True, False])
/// >>> sf.Operation("Multiply<tf32, tf32, tf32>", flags="riscv")([0x00001], [0x1fbff], return_flags=True)
/// (array([1], dtype=uint32), <Flags.INEXACT|UNDERFLOW: 3>)
#[pyclass(frozen, module = "smallfloat", name = "Operation")]
pub(crate) struct PyOperation {
    specialization: Specialization,
    /// The policy that was asked for.
    asked: Option<FlagPolicy>,
    /// The policy that holds.
    policy: FlagPolicy,
    /// For codes alone and for codes with flags, of few elements and of many.
    kernels: [[OnceLock<Elementwise>; 2]; 2],
}

/// The names of all functions.
#[pyfunction]
pub(crate) fn operation_names() -> Vec<&'static str> {
    Function::names().collect()
}

/// How many formats of operands and of a result, and how many operands a function takes.
#[pyfunction]
pub(crate) fn operation_shape(name: &str) -> PyResult<(bool, bool, usize)> {
    let function = name
        .parse::<Function>()
        .ok()
        .ok_or_else(|| PyValueError::new_err(format!("there is no operation {name}")))?;
    let rounds = matches!(function, Function::Numeric(_));
    let scalar = !matches!(
        function,
        Function::Block(_)
            | Function::Scaled(_)
            | Function::FormatQuery(_)
            | Function::ProjectionQuery(_)
            | Function::ToInteger(_)
            | Function::FromInteger(_)
    );
    Ok((scalar, rounds, function.arity()))
}

/// Keyword arguments of a call.
struct Call {
    words: Option<RandomWords>,
    threads: Option<usize>,
    wanted: Wanted,
}

#[pymethods]
impl PyOperation {
    #[new]
    #[pyo3(signature = (text, flags=None))]
    fn new(text: &str, flags: Option<&str>) -> PyResult<Self> {
        let specialization: Specialization = text.parse().map_err(value_error)?;
        if specialization.integer().is_some() {
            let name = specialization.function().name();
            let message = format!("{name} is not for arrays: decode to float64 and convert with astype");
            return Err(PyValueError::new_err(message));
        }
        let asked = flags.map(policy::flags).transpose()?;
        let (operands, results) = (
            specialization.operands().iter(),
            specialization.result_scale().into_iter().chain(specialization.result()),
        );
        let policy = asked.unwrap_or_else(|| FlagPolicy::default_for(operands.chain(results)));
        let keeps_semantics = asked.is_none() || text.contains("semantics=");
        let arithmetic = under(specialization.arithmetic(), policy, keeps_semantics);
        let specialization = specialization.with_arithmetic(arithmetic);
        Ok(Self { specialization, asked, policy, kernels: Default::default() })
    }

    /// The function's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.specialization.function().name()
    }

    /// The formats of the operands, a block's scale before its elements.
    #[getter]
    fn operands(&self) -> Vec<PyFormat> {
        self.specialization.operands().iter().map(|&format| PyFormat { format }).collect()
    }

    /// The format of the result or of its elements; None if it is no number.
    #[getter]
    fn result(&self) -> Option<PyFormat> {
        self.specialization.result().map(|&format| PyFormat { format })
    }

    /// Whose rules decide when flags are raised and which NaN a result is.
    #[getter]
    fn flags(&self) -> String {
        self.policy.to_string()
    }

    fn __repr__(&self) -> String {
        let flags = self.asked.map(|policy| format!(", flags='{policy}'")).unwrap_or_default();
        format!("Operation('{}'{flags})", self.specialization)
    }

    fn __str__(&self) -> String {
        self.specialization.to_string()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String, Option<String>)) {
        let this = slf.get();
        let flags = this.asked.map(|policy| policy.to_string());
        (slf.get_type().into_any(), (this.specialization.to_string(), flags))
    }

    #[pyo3(signature = (*operands, seed=None, stream=None, generator="philox", first_element=FirstElement(0), return_flags=None,
        threads=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        operands: &Bound<'py, PyTuple>,
        seed: Option<Seed>,
        stream: Option<&Bound<'py, PyAny>>,
        generator: &str,
        first_element: FirstElement,
        return_flags: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let words = match self.specialization.projection() {
            Some(projection) => policy::words(
                projection.rounding,
                seed.map(|seed| seed.0),
                stream,
                generator,
                first_element.0,
            )?,
            None => None,
        };
        let call = Call { words, threads: Threads::check(threads)?, wanted: Wanted::of(return_flags)? };
        let arity = self.specialization.function().arity();
        if operands.len() != arity {
            return Err(PyTypeError::new_err(format!(
                "{} takes {arity} operands, {} are given",
                self.name(),
                operands.len()
            )));
        }
        match self.specialization.function() {
            Function::FormatQuery(_) | Function::ProjectionQuery(_) => self.query(py),
            Function::Block(_) => self.blocks(py, operands, &call),
            _ => self.scalars(py, operands, &call),
        }
    }
}

impl PyOperation {
    fn query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.specialization.call(&[]).map_err(value_error)? {
            Answer::Code(Rounded { value, .. }) => Ok(value.into_pyobject(py)?.into_any()),
            Answer::Property(smallfloat::p3109::Property::Integer(n)) => Ok(n.into_pyobject(py)?.into_any()),
            Answer::Property(property) => Ok(PyString::new(py, &property.to_string()).into_any()),
            other => Err(PyTypeError::new_err(format!("{other:?} is no answer of a query"))),
        }
    }

    fn elementwise(&self, length: usize, wants_flags: bool) -> PyResult<&Elementwise> {
        // Where a NaN result is the projection's matter, codes depend on no policy, and Tesla's has
        // vectors.
        let by_policy = wants_flags || self.policy.is_of_hardware();
        let length = if length <= SHORT { SHORT } else { usize::MAX };
        let cell = &self.kernels[usize::from(by_policy)][usize::from(length > SHORT)];
        if let Some(ready) = cell.get() {
            return Ok(ready);
        }
        let built = Elementwise::for_length(&self.specialization, length).map_err(value_error)?;
        let built = if by_policy { built.with_policy(self.policy) } else { built };
        Ok(cell.get_or_init(|| built))
    }

    /// Operations on scalars, element by element.
    fn scalars<'py>(
        &self,
        py: Python<'py>,
        operands: &Bound<'py, PyTuple>,
        call: &Call,
    ) -> PyResult<Bound<'py, PyAny>> {
        let prepared =
            interop(py)?.call_method1(intern!(py, "operands"), (operands, self.operands(), self.result()))?;
        let (arrays, leave): (Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>) = prepared.extract()?;
        let arrays = arrays
            .into_iter()
            .map(|array| Ok(Input::new(array.cast_into::<PyUntypedArray>()?, &leave)))
            .collect::<PyResult<Vec<_>>>()?;
        let first = arrays.first().ok_or_else(|| PyTypeError::new_err("an operation needs operands"))?;
        if self.specialization.function() == Function::Class {
            let names = self.by_call(py, &arrays, call, |answer| match answer {
                Answer::Class(name) => Some((name, Flags::NONE)),
                _ => None,
            })?;
            let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
            return interop(py)?.call_method1("names", (names, first.shape().to_vec()));
        }
        let dtype = result_dtype(py, self.specialization.result());
        let mut output = Output::new(py, None, first.shape(), dtype, &[])?;
        let mut each = vec![Flags::NONE; if call.wanted == Wanted::Each { first.len() } else { 0 }];
        let seen = match self.specialization.result().map_or(8, Format::width) {
            ..=8 => self.fill::<u8>(py, &arrays, &mut output, &mut each, call),
            9..=16 => self.fill::<u16>(py, &arrays, &mut output, &mut each, call),
            17..=32 => self.fill::<u32>(py, &arrays, &mut output, &mut each, call),
            _ => self.fill::<u64>(py, &arrays, &mut output, &mut each, call),
        }?;
        let result = output.finish(first)?;
        let raised = match call.wanted {
            Wanted::Nothing => return Ok(result),
            Wanted::Together => flags(py, seen)?,
            Wanted::Each => flags_of_each(py, first.shape(), &each)?,
        };
        Ok((result, raised).into_pyobject(py)?.into_any())
    }

    fn fill<R: Code>(
        &self,
        py: Python<'_>,
        operands: &[Input<'_>],
        output: &mut Output<'_>,
        each: &mut [Flags],
        call: &Call,
    ) -> PyResult<Flags> {
        if matches!(self.specialization.function(), Function::Numeric(_)) {
            return match operands[0].itemsize() {
                1 => self.numeric::<u8, R>(py, operands, output, each, call),
                2 => self.numeric::<u16, R>(py, operands, output, each, call),
                _ => self.numeric::<u64, R>(py, operands, output, each, call),
            };
        }
        let answers = self.by_call(py, operands, call, |answer| match answer {
            Answer::Code(Rounded { value, flags }) => Some((value, flags)),
            Answer::Truth(Rounded { value, flags }) => Some((u64::from(value), flags)),
            _ => None,
        })?;
        let mut seen = Flags::NONE;
        for (i, (result, (value, flags))) in output.slice::<R>()?.iter_mut().zip(answers).enumerate() {
            *result = R::truncate(value);
            seen |= flags;
            if let Some(own) = each.get_mut(i) {
                *own = flags;
            }
        }
        Ok(seen)
    }

    fn numeric<X: Code, R: Code>(
        &self,
        py: Python<'_>,
        operands: &[Input<'_>],
        output: &mut Output<'_>,
        each: &mut [Flags],
        call: &Call,
    ) -> PyResult<Flags> {
        let results = output.slice::<R>()?;
        let length = results.len();
        let kernel = self.elementwise(length, call.wanted != Wanted::Nothing)?;
        let slices = operands.iter().map(Input::slice::<X>).collect::<PyResult<Vec<_>>>()?;
        let words = call.words;
        if call.wanted == Wanted::Each {
            return detached(py, call.threads, length, || match slices[..] {
                [x] => kernel.unary_with_flags(x, results, each, words),
                [x, y] => kernel.binary_with_flags(x, y, results, each, words),
                [x, y, z] => kernel.ternary_with_flags(x, y, z, results, each, words),
                _ => unreachable!("a numeric operation has one to three operands"),
            });
        }
        detached(py, call.threads, length, || match slices[..] {
            [x] => kernel.unary(x, results, words),
            [x, y] => kernel.binary(x, y, results, words),
            [x, y, z] => kernel.ternary(x, y, z, results, words),
            _ => Flags::NONE,
        })
    }

    /// Every element by a call of the core.
    fn by_call<T: Send>(
        &self,
        py: Python<'_>,
        operands: &[Input<'_>],
        call: &Call,
        take: impl Fn(Answer) -> Option<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let codes = operands.iter().map(Input::codes_as_u64).collect::<PyResult<Vec<_>>>()?;
        let length = operands[0].len();
        let answer = |i: usize| {
            let codes: Vec<u64> = codes.iter().map(|codes| codes[i]).collect();
            let answer = match call.words {
                None => self.specialization.call(&codes),
                Some(words) => {
                    self.specialization.clone().with_random_bits(self.bits(words, i as u64)?).call(&codes)
                }
            };
            take(answer.map_err(value_error)?)
                .ok_or_else(|| PyTypeError::new_err(format!("{} has no such answer", self.name())))
        };
        detached(py, call.threads, length, || (0..length).into_par_iter().map(answer).collect())?
    }

    /// The random bits of an element.
    fn bits(&self, words: RandomWords, element: u64) -> PyResult<RandomBits> {
        let element = words.first_element.wrapping_add(element);
        let count = self.specialization.projection().and_then(|projection| projection.rounding.random_bits());
        let block = words.generator.block(element / 4);
        let word = block[(element % 4) as usize];
        RandomBits::from_word32(count.map_or(1, RandomBits::count), word).map_err(value_error)
    }

    /// Functions of blocks, one call for each block along the leading axes.
    fn blocks<'py>(
        &self,
        py: Python<'py>,
        operands: &Bound<'py, PyTuple>,
        call: &Call,
    ) -> PyResult<Bound<'py, PyAny>> {
        let length = self.specialization.length().expect("a function of blocks has their length");
        let kinds: Vec<_> = self.specialization.parameters().iter().map(kind).collect();
        if self.specialization.projections().len() == 2
            && self.specialization.projections()[0].rounding.is_stochastic()
        {
            return Err(PyValueError::new_err("the scale's rounding can't be stochastic here"));
        }
        let prepared =
            interop(py)?.call_method1("block_operands", (operands, kinds, self.operands(), length))?;
        let (lists, shape): (Vec<Vec<u64>>, Vec<usize>) = prepared.extract()?;
        let count = shape.iter().product();
        let answers = (0..count).map(|block| self.block(&lists, block, length, call));
        let answers = answers.collect::<PyResult<Vec<_>>>()?;
        let (mut scales, mut codes, mut seen) = (Vec::new(), Vec::new(), Flags::NONE);
        for answer in answers {
            match answer {
                Answer::Code(Rounded { value, flags }) => {
                    scales.push(value);
                    seen |= flags;
                }
                Answer::Sequence(sequence) => {
                    codes.extend(sequence.codes);
                    seen = sequence.flags.into_iter().fold(seen, Flags::union);
                }
                Answer::Block(block) => {
                    scales.push(block.scale.value);
                    codes.extend(block.elements.codes);
                    seen = block.elements.flags.into_iter().fold(seen | block.scale.flags, Flags::union);
                }
                other => return Err(PyTypeError::new_err(format!("{other:?} is no block"))),
            }
        }
        let scale_format = self.specialization.result_scale().map(|&format| PyFormat { format });
        let result = (scales, scale_format, codes, self.result(), shape, length);
        let result = interop(py)?.call_method1("block_result", result)?;
        match call.wanted {
            Wanted::Nothing => Ok(result),
            Wanted::Together => Ok((result, flags(py, seen)?).into_pyobject(py)?.into_any()),
            Wanted::Each => {
                Err(PyValueError::new_err("return_flags='each' is for operations on scalars, not on blocks"))
            }
        }
    }

    fn block(&self, lists: &[Vec<u64>], block: usize, length: usize, call: &Call) -> PyResult<Answer> {
        let mut lists = lists.iter();
        let mut next = |width: usize| {
            let list = lists.next().expect("as many lists as parameters");
            list.get(block * width..(block + 1) * width).expect("a list for all blocks")
        };
        let arguments: Vec<_> = self
            .specialization
            .parameters()
            .iter()
            .map(|parameter| match parameter {
                Parameter::Code(_) | Parameter::Integer(_) => Argument::Code(next(1)[0]),
                Parameter::Sequence(_) => Argument::Sequence(next(length)),
                Parameter::Block { .. } => {
                    let scale = next(1)[0];
                    Argument::Block(Block { scale, elements: next(length) })
                }
            })
            .collect();
        let random = self.specialization.random_words();
        let Some(words) = call.words else {
            return self.specialization.call_blocks(&arguments, &[]).map_err(value_error);
        };
        if random == 0 {
            let single = self.specialization.clone().with_random_bits(self.bits(words, block as u64)?);
            return single.call_blocks(&arguments, &[]).map_err(value_error);
        }
        let start = (block * length) as u64;
        let random = (start..start + random as u64).map(|i| Ok(self.bits(words, i)?.word()));
        let random = random.collect::<PyResult<Vec<_>>>()?;
        self.specialization.call_blocks(&arguments, &random).map_err(value_error)
    }
}

fn kind(parameter: &Parameter) -> &'static str {
    match parameter {
        Parameter::Code(_) => "code",
        Parameter::Integer(_) => "integer",
        Parameter::Sequence(_) => "sequence",
        Parameter::Block { .. } => "block",
    }
}
