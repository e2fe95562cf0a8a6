//! NumPy arrays as slices, in and out.
//!
//! An array that is contiguous, aligned and in the machine's byte order is used where it lies;
//! everything else is copied by `package/smallfloat/_interop.py`, which also takes lists, scalars
//! and other libraries' tensors.

use std::sync::atomic::{AtomicI32, Ordering};

use numpy::npyffi::{
    NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NPY_TYPES, NpyTypes, PY_ARRAY_API,
    get_type_object, npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use smallfloat::formats::BINARY32;
use smallfloat::{Flags, Format};

/// The types of numbers that kernels take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    F16,
    Bf16,
    F32,
    F64,
}

/// Runs code with the Rust type of a [`Kind`].
macro_rules! with_kind {
    ($kind:expr, $type:ident => $body:expr) => {
        match $kind {
            $crate::array::Kind::F16 => {
                type $type = smallfloat_kernels::F16;
                $body
            }
            $crate::array::Kind::Bf16 => {
                type $type = smallfloat_kernels::Bf16;
                $body
            }
            $crate::array::Kind::F32 => {
                type $type = f32;
                $body
            }
            $crate::array::Kind::F64 => {
                type $type = f64;
                $body
            }
        }
    };
}
pub(crate) use with_kind;

const UINT8: i32 = NPY_TYPES::NPY_UBYTE as i32;
const UINT16: i32 = NPY_TYPES::NPY_USHORT as i32;
const UINT32: i32 = NPY_TYPES::NPY_UINT as i32;
const FLOAT16: i32 = NPY_TYPES::NPY_HALF as i32;
const FLOAT32: i32 = NPY_TYPES::NPY_FLOAT as i32;
const FLOAT64: i32 = NPY_TYPES::NPY_DOUBLE as i32;

/// The number that NumPy gave the type bfloat16 of ml_dtypes in this process, once it was seen.
static BFLOAT16: AtomicI32 = AtomicI32::new(i32::MIN);

impl Kind {
    /// The name in files.
    pub(crate) fn dtype(self) -> smallfloat_tensor::Dtype {
        match self {
            Self::F16 => smallfloat_tensor::Dtype::F16,
            Self::Bf16 => smallfloat_tensor::Dtype::BF16,
            Self::F32 => smallfloat_tensor::Dtype::F32,
            Self::F64 => smallfloat_tensor::Dtype::F64,
        }
    }

    /// The kind of a dtype, byte order aside.
    pub(crate) fn of(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<Option<Self>> {
        let number = dtype.num();
        Ok(match number {
            FLOAT16 => Some(Self::F16),
            FLOAT32 => Some(Self::F32),
            FLOAT64 => Some(Self::F64),
            _ if number == BFLOAT16.load(Ordering::Relaxed) => Some(Self::Bf16),
            _ if dtype.itemsize() == 2 && is_bfloat16(dtype)? => {
                BFLOAT16.store(number, Ordering::Relaxed);
                Some(Self::Bf16)
            }
            _ => None,
        })
    }
}

/// Returns whether this is the dtype of ml_dtypes.
fn is_bfloat16(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<bool> {
    Ok(dtype.num() > 255 && dtype.getattr(intern!(dtype.py(), "name"))?.extract::<String>()? == "bfloat16")
}

/// The Python part of this module.
pub(crate) fn interop(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    MODULE
        .get_or_try_init(py, || Ok(py.import("smallfloat._interop")?.unbind()))
        .map(|module| module.bind(py))
}

/// Returns whether this is the Python class `Array`, of codes that know their format.
pub(crate) fn is_typed(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    if x.is_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    interop(x.py())?.call_method1(intern!(x.py(), "is_array"), (x,))?.extract()
}

fn flags(array: &Bound<'_, PyUntypedArray>) -> i32 {
    // SAFETY: an array's object is alive as long as `array`, and we are attached to the
    // interpreter.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

fn data(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: as in `flags`.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// Returns whether the array can be used where it lies.
fn lies_well(array: &Bound<'_, PyUntypedArray>) -> bool {
    const WELL: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    flags(array) & WELL == WELL && matches!(array.dtype().byteorder(), b'=' | b'|')
}

/// An array that can be read as a slice, and how to turn results into what the caller gave.
pub(crate) struct Input<'py> {
    pub(crate) array: Bound<'py, PyUntypedArray>,
    /// Makes a tensor of the caller's library from an array; `None` for NumPy's own.
    leave: Option<Bound<'py, PyAny>>,
}

impl<'py> Input<'py> {
    /// An array from which `_interop` has made what is needed.
    pub(crate) fn new(array: Bound<'py, PyUntypedArray>, leave: &Bound<'py, PyAny>) -> Self {
        Self { array, leave: (!leave.is_none()).then(|| leave.clone()) }
    }

    /// An array as it is, everything else by way of `_interop.enter`.
    fn enter(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = x.py();
        // SAFETY: NumPy's type object of arrays lives as long as the process.
        let exact = unsafe { get_type_object(py, NpyTypes::PyArray_Type) };
        if x.get_type().as_type_ptr() == exact {
            return Ok(Self { array: x.cast::<PyUntypedArray>()?.clone(), leave: None });
        }
        let entered = interop(py)?.call_method1(intern!(py, "enter"), (x,))?;
        let (array, leave): (Bound<'py, PyAny>, Bound<'py, PyAny>) = entered.extract()?;
        let leave = (!leave.is_none()).then_some(leave);
        Ok(Self { array: array.cast_into::<PyUntypedArray>()?, leave })
    }

    /// The array that a function of `_interop` makes of this one.
    fn replaced_by(&mut self, function: &str, more: Option<&Bound<'py, PyAny>>) -> PyResult<()> {
        let interop = interop(self.array.py())?;
        let array = match more {
            None => interop.call_method1(function, (&self.array,)),
            Some(more) => interop.call_method1(function, (&self.array, more)),
        };
        self.array = array?.cast_into::<PyUntypedArray>()?;
        Ok(())
    }

    fn behaved(mut self) -> PyResult<Self> {
        if !lies_well(&self.array) {
            self.replaced_by("behaved", None)?;
        }
        Ok(self)
    }

    /// Numbers. Integers become binary64 if that is exact.
    pub(crate) fn numbers(x: &Bound<'py, PyAny>, name: &str) -> PyResult<(Self, Kind)> {
        let mut input = Self::enter(x)?;
        let mut kind = Kind::of(&input.array.dtype())?;
        if kind.is_none() {
            input.replaced_by("numbers", Some(PyString::new(x.py(), name).as_any()))?;
            kind = Kind::of(&input.array.dtype())?;
        }
        let kind = kind.ok_or_else(|| PyTypeError::new_err(format!("{name} must be an array of floats")))?;
        Ok((input.behaved()?, kind))
    }

    /// The numbers with zeros for those below a format's smallest normal one.
    pub(crate) fn flushed(mut self, fmt: &Bound<'py, PyAny>) -> PyResult<Self> {
        self.replaced_by("flushed", Some(fmt))?;
        self.behaved()
    }

    /// Codes of a format of so many bits, as unsigned integers as wide as it needs; dtypes of
    /// ml_dtypes are codes too.
    pub(crate) fn codes(x: &Bound<'py, PyAny>, fmt: &Bound<'py, PyAny>, width: u32) -> PyResult<Self> {
        if is_typed(x)? {
            let codes = interop(x.py())?.call_method1(intern!(x.py(), "codes_of"), (x, fmt))?;
            return Self { array: codes.cast_into::<PyUntypedArray>()?, leave: None }.behaved();
        }
        let mut input = Self::enter(x)?;
        let dtype = match width {
            ..=8 => UINT8,
            9..=16 => UINT16,
            _ => UINT32,
        };
        if input.array.dtype().num() != dtype {
            input.replaced_by("codes", Some(fmt))?;
        }
        input.behaved()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    /// The size of an element in bytes.
    pub(crate) fn itemsize(&self) -> usize {
        self.array.dtype().itemsize()
    }

    /// Bytes.
    pub(crate) fn bytes(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::enter(x)?.behaved()
    }

    /// Random words as `_interop.words` takes them, of the shape of `like`.
    pub(crate) fn words(words: &Bound<'py, PyAny>, like: &Self, bits: u32) -> PyResult<Self> {
        let array = interop(words.py())?.call_method1("words", (words, like.shape().to_vec(), bits))?;
        Ok(Self { array: array.cast_into::<PyUntypedArray>()?, leave: None })
    }

    /// Codes of any width.
    pub(crate) fn codes_as_u64(&self) -> PyResult<Vec<u64>> {
        Ok(match self.itemsize() {
            1 => self.slice::<u8>()?.iter().map(|&code| code.into()).collect(),
            2 => self.slice::<u16>()?.iter().map(|&code| code.into()).collect(),
            4 => self.slice::<u32>()?.iter().map(|&code| code.into()).collect(),
            _ => self.slice::<u64>()?.to_vec(),
        })
    }

    /// The elements.
    pub(crate) fn slice<T>(&self) -> PyResult<&[T]> {
        slice::<T>(&self.array).map(|(start, length)| {
            // SAFETY: `slice` has checked the array's layout and the size of its elements; every
            // bit pattern is a `T`. The array is kept alive by `self`. Others may write to it
            // meanwhile, as in all of NumPy: the results are then those of either value, and
            // kernels only load each element and compute.
            unsafe { std::slice::from_raw_parts(start.cast_const(), length) }
        })
    }

    /// Results in the caller's kind of arrays.
    pub(crate) fn leave(&self, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match &self.leave {
            None => Ok(result),
            Some(leave) => leave.call1((result,)),
        }
    }
}

/// The start and the length of a well-lying array of elements of this size.
fn slice<T>(array: &Bound<'_, PyUntypedArray>) -> PyResult<(*mut T, usize)> {
    if !lies_well(array) || array.dtype().itemsize() != size_of::<T>() {
        return Err(PyTypeError::new_err(
            "an array must be contiguous, aligned and of the expected type here",
        ));
    }
    let (start, length) = (data(array).cast::<T>(), array.len());
    Ok(if length == 0 { (std::ptr::NonNull::dangling().as_ptr(), 0) } else { (start, length) })
}

/// Where results go: a new array, or one that the caller gave.
pub(crate) struct Output<'py> {
    array: Bound<'py, PyUntypedArray>,
    /// The caller's array, and the same as NumPy sees it if the results must be copied into it.
    given: Option<(Bound<'py, PyAny>, Option<Bound<'py, PyUntypedArray>>)>,
}

/// The dtype of a format's codes; floats where it is binary32 or binary64.
pub(crate) fn code_dtype<'py>(py: Python<'py>, format: &Format) -> Bound<'py, PyArrayDescr> {
    match format.width() {
        _ if *format == BINARY32 => numpy::dtype::<f32>(py),
        ..=8 => numpy::dtype::<u8>(py),
        9..=16 => numpy::dtype::<u16>(py),
        17..=32 => numpy::dtype::<u32>(py),
        _ => numpy::dtype::<f64>(py),
    }
}

/// The dtype of results: that of a format's codes, bools for `None`.
pub(crate) fn result_dtype<'py>(py: Python<'py>, format: Option<&Format>) -> Bound<'py, PyArrayDescr> {
    format.map_or_else(|| numpy::dtype::<bool>(py), |format| code_dtype(py, format))
}

/// A new array with elements of any value; a large one on memory that is kept for the next.
fn empty<'py>(
    py: Python<'py>,
    shape: &[usize],
    dtype: Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    #[cfg(target_os = "linux")]
    {
        let bytes = shape.iter().try_fold(dtype.itemsize(), |bytes, &n| bytes.checked_mul(n));
        if let Some(memory) = bytes.and_then(crate::pool::Memory::new) {
            let memory = Bound::new(py, memory)?;
            let array = create(py, shape, dtype, memory.get().start())?;
            // SAFETY: the array has no base object yet; NumPy takes over the reference, and keeps the
            // memory alive as long as the array.
            let kept =
                unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_array_ptr(), memory.into_ptr()) };
            return if kept < 0 { Err(PyErr::fetch(py)) } else { Ok(array) };
        }
    }
    create(py, shape, dtype, std::ptr::null_mut())
}

/// A new array on memory of NumPy's, or on memory that begins at `start` and has enough bytes.
fn create<'py>(
    py: Python<'py>,
    shape: &[usize],
    dtype: Bound<'py, PyArrayDescr>,
    start: *mut u8,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    const PLAIN: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    let dimensions = i32::try_from(shape.len()).map_err(|_| PyValueError::new_err("too many dimensions"))?;
    // SAFETY: NumPy reads so many dimensions and takes over the dtype; it returns a new array, or
    // null with an exception set. It writes nothing through the pointer to the shape, and sizes of
    // arrays fit in both types. Memory that is given begins at a page.
    unsafe {
        let new = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            dtype.into_dtype_ptr(),
            dimensions,
            shape.as_ptr().cast::<npy_intp>().cast_mut(),
            std::ptr::null_mut(),
            start.cast(),
            if start.is_null() { 0 } else { PLAIN },
            std::ptr::null_mut(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked())
    }
}

impl<'py> Output<'py> {
    /// An array for results: a new one, or `out` if it fits.
    pub(crate) fn new(
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        shape: &[usize],
        dtype: Bound<'py, PyArrayDescr>,
        inputs: &[&Input<'py>],
    ) -> PyResult<Self> {
        let Some(given) = out else {
            return Ok(Self { array: empty(py, shape, dtype)?, given: None });
        };
        let array = interop(py)?.call_method1(intern!(py, "output"), (given, &dtype))?;
        let array = array.cast_into::<PyUntypedArray>()?;
        if array.shape() != shape {
            return Err(PyValueError::new_err(format!(
                "out has the shape {:?}, the result has {shape:?}",
                array.shape()
            )));
        }
        if flags(&array) & NPY_ARRAY_WRITEABLE == 0 {
            return Err(PyValueError::new_err("out is read-only"));
        }
        // What an input shares with the output would change while it is read.
        let overlaps = inputs.iter().any(|input| overlap(&input.array, &array));
        if lies_well(&array) && !overlaps {
            return Ok(Self { array, given: Some((given.clone(), None)) });
        }
        Ok(Self { array: empty(py, shape, dtype)?, given: Some((given.clone(), Some(array))) })
    }

    /// The elements, to be written.
    pub(crate) fn slice<T>(&mut self) -> PyResult<&mut [T]> {
        slice(&self.array).map(|(start, length)| {
            // SAFETY: `slice` has checked the layout; the array is new, or the caller's own and no
            // input lies in it. It is kept alive by `self`, which is borrowed as long as the slice.
            // Every bit pattern is a `T`.
            unsafe { std::slice::from_raw_parts_mut(start, length) }
        })
    }

    /// The new array as it is.
    pub(crate) fn into_array(self) -> Bound<'py, PyUntypedArray> {
        self.array
    }

    /// What the caller gets: the array given, a scalar instead of an array without dimensions, or
    /// an array like the input.
    pub(crate) fn finish(self, like: &Input<'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.array.py();
        match self.given {
            Some((given, None)) => Ok(given),
            Some((given, Some(array))) => {
                interop(py)?.call_method1(intern!(py, "copy_into"), (array, self.array))?;
                Ok(given)
            }
            None if self.array.ndim() > 0 => like.leave(self.array.into_any()),
            None => {
                // SAFETY: the call takes over the reference and returns an owned one, or null with
                // an exception set.
                let scalar = unsafe {
                    let scalar = PY_ARRAY_API.PyArray_Return(py, self.array.into_ptr().cast());
                    Bound::from_owned_ptr_or_err(py, scalar)?
                };
                like.leave(scalar)
            }
        }
    }
}

/// The flags of each element as an array of uint8.
pub(crate) fn flags_of_each<'py>(
    py: Python<'py>,
    shape: &[usize],
    each: &[Flags],
) -> PyResult<Bound<'py, PyAny>> {
    let mut output = Output::new(py, None, shape, numpy::dtype::<u8>(py), &[])?;
    for (byte, flags) in output.slice::<u8>()?.iter_mut().zip(each) {
        *byte = flags.bits();
    }
    Ok(output.into_array().into_any())
}

/// Returns whether two arrays may have a byte in common.
fn overlap(x: &Bound<'_, PyUntypedArray>, y: &Bound<'_, PyUntypedArray>) -> bool {
    let bounds = |array: &Bound<'_, PyUntypedArray>| {
        let (mut low, mut high) = (data(array) as isize, data(array) as isize);
        for (&length, &stride) in array.shape().iter().zip(array.strides()) {
            let reach = stride * length.saturating_sub(1).cast_signed();
            low += reach.min(0);
            high += reach.max(0);
        }
        (low, high + array.dtype().itemsize().cast_signed())
    };
    let ((a, b), (c, d)) = (bounds(x), bounds(y));
    !x.is_empty() && !y.is_empty() && a < d && c < b
}
