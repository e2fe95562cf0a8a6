"""The class `Array`, and `array`, which makes one from numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from .._core import Format, decode, encode
from .._interop import codes as as_codes
from .._interop import codes_of, dtype_name, enter, is_masked, number_dtype
from .values import float_dtype, format_of, operand


class Array(NDArrayOperatorsMixin):
    """An array of numbers of a small format: codes, and the `Format` that says what they mean.

    `array` makes one from numbers; this constructor takes codes. NumPy's ufuncs and operators
    compute in the format, each result rounded once from its exact value by the format's own preset,
    special cases as IEEE 754 has them, in P3109's formats as P3109 has them; sums, means, products
    and matrix products are exact before that rounding. `smallfloat.ops` has the same operations
    with ``rounding=``, ``saturation=``, ``semantics=``, ``flags=`` and ``return_flags=``.

    An operand of another format, or of another bias, is a TypeError that names both. A Python
    number is rounded to the format, except in comparisons, which are of exact values. NumPy's
    arrays of floats and signed integers are numbers: the result is NumPy's, in float32 or wider.
    Arrays of unsigned integers are refused, since they may be codes.

    Parameters
    ----------
    codes : array of unsigned integers, or of a dtype of ml_dtypes that is the format
        Not copied where they have the format's dtype.
    format : Format or str

    Attributes
    ----------
    codes : ndarray
        The codes themselves, uint8, uint16 or uint32; writing to them writes to the array.
    format : Format

    Examples
    --------
    >>> import numpy as np, smallfloat as sf
    >>> a = sf.array([1.0, 1.1, -0.3, 9.7], "cfloat8_1_4_3:bias=7")
    >>> a
    array([ 1.    ,  1.125 , -0.3125, 10.    ], format='cfloat8_1_4_3:bias=7')
    >>> a + a[0]
    array([ 2.    ,  2.    ,  0.6875, 11.    ], format='cfloat8_1_4_3:bias=7')
    >>> np.sort(a).codes
    array([170,  56,  57,  82], dtype=uint8)
    >>> a + sf.array([1.0], "e5m2")
    Traceback (most recent call last):
    TypeError: an array of cfloat8_1_4_3:bias=7 and one of e5m2 don't mix: convert one with astype, or use smallfloat.ops, whose operands may differ
    """

    __slots__ = ("_codes", "_format")
    __array_priority__ = 1000.0

    def __init__(self, codes: npt.ArrayLike, format: Format | str) -> None:
        fmt = format_of(format)
        found = codes_of(codes, fmt) if isinstance(codes, Array) else np.asarray(codes)
        if found.dtype != fmt.dtype:
            found = as_codes(found, fmt)
        elif fmt.width < 8 * found.dtype.itemsize and found.size and found.max() > fmt.max_code:
            raise ValueError(f"codes of {fmt} are 0..={fmt.max_code:#x}, the array has {int(found.max()):#x}")
        self._codes, self._format = found, fmt

    @classmethod
    def _of(cls, codes: Any, fmt: Format) -> Array:
        """From codes that are known to be the format's, scalars too."""
        new = object.__new__(cls)
        new._codes, new._format = np.asarray(codes), fmt
        return new

    # What it is made of.

    @property
    def codes(self) -> npt.NDArray[Any]:
        return self._codes

    @property
    def format(self) -> Format:
        return self._format

    @property
    def shape(self) -> tuple[int, ...]:
        return self._codes.shape

    @property
    def ndim(self) -> int:
        return self._codes.ndim

    @property
    def size(self) -> int:
        return self._codes.size

    @property
    def itemsize(self) -> int:
        return self._codes.itemsize

    @property
    def nbytes(self) -> int:
        return self._codes.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self._codes.strides

    @property
    def T(self) -> Array:  # noqa: N802
        return self._of(self._codes.T, self._format)

    @property
    def flat(self) -> Iterator[Array]:
        return iter(self.reshape(-1))

    # Conversions.

    def astype(self, dtype: Any, **how: Any) -> Any:
        """The same numbers in another format or dtype, each rounded once.

        Parameters
        ----------
        dtype : Format, str or dtype
            A format gives an `Array`, NumPy's and ml_dtypes' floats, integers and bool give an
            ndarray. ``np.float32`` and ``"float32"`` are NumPy's.
        **how :
            To a format: keyword arguments of `smallfloat.encode`, among them ``preset``,
            ``rounding``, ``saturation``, ``seed`` and ``return_flags``. To floats: ``rounding``,
            which is 'nearest-even' where values need one.

        Examples
        --------
        >>> import numpy as np, smallfloat as sf
        >>> a = sf.array([1.0, 1.125, 448.0], "e4m3fn")
        >>> a.astype("e5m2")
        array([  1.,   1., 448.], format='e5m2')
        >>> a.astype(np.float16)
        array([  1.   ,   1.125, 448.   ], dtype=float16)
        """
        target = _numpy_dtype(dtype)
        if target is None:
            return self._to_format(format_of(dtype), how)
        if target.kind in "fV" and target.name != "longdouble" and target.itemsize <= 8:
            if float_dtype(self._format) is None or not self._format.fits_in(_BINARY[target.name]):
                how = {"rounding": "nearest-even", **how}
            found = np.asarray(decode(self._codes, self._format, dtype=target.newbyteorder("="), **how))
            return found.astype(target, copy=False)
        if how:
            raise TypeError(f"{', '.join(how)}: no such argument where the dtype is {target}")
        return self._values().astype(target)

    def _to_format(self, fmt: Format, how: dict[str, Any]) -> Any:
        if fmt == self._format and not how:
            return self.copy()
        result = encode(self._values(), fmt, **how)
        if how.get("return_flags"):
            return self._of(result[0], fmt), result[1]
        return self._of(result, fmt)

    def view(self, dtype: Any) -> npt.NDArray[Any]:
        """The same memory as codes (``np.uint8``, …), or as the dtype of ml_dtypes that the format
        is."""
        wanted = np.dtype(dtype)
        if wanted not in (self._codes.dtype, self._format.ml_dtype):
            raise TypeError(
                f"an array of {self._format} can be viewed as {self._codes.dtype}"
                + (f" or {self._format.ml_dtype}" if self._format.ml_dtype is not None else "")
                + f", not as {wanted}: astype converts"
            )
        return self._codes.view(wanted)

    def _values(self) -> npt.NDArray[Any]:
        """Exact values in float32, or in float64 where that is needed."""
        dtype = float_dtype(self._format)
        if dtype is None:
            raise TypeError(
                f"values of {self._format} are not all exact in float64: astype('float64') rounds them, "
                "smallfloat.ops computes with them"
            )
        return np.asarray(decode(self._codes, self._format, dtype=dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("values of an Array are always computed: take copy=None, or its codes")
        return self._values() if dtype is None else np.asarray(self.astype(np.dtype(dtype)))

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError(
            f"DLPack has no word for {self._format}: hand over the codes (a.codes) and name the format there, "
            "or the values (a.astype(np.float32))"
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def item(self, *where: SupportsIndex) -> float:
        """One element as a Python float."""
        at = tuple(map(operator.index, where))
        # One number counts along all axes, as NumPy's.
        found = self.ravel()[at] if len(at) == 1 else self[at] if at else self
        found = np.asarray(found._values())
        return float(found.item())

    def tolist(self) -> Any:
        """Values as nested lists of Python floats."""
        return self._values().tolist()

    def tobytes(self) -> bytes:
        """The codes' bytes."""
        return self._codes.tobytes()

    def __float__(self) -> float:
        return self.item()

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self._values())

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"an Array with dimensions has no format {spec!r}: format its elements, or a.tolist()")
        return str(self)

    def __hash__(self) -> int:  # type: ignore[override]
        if self.ndim:
            raise TypeError("an Array with dimensions has no hash")
        number = self.item()
        return hash(number) if number == number else object.__hash__(self)

    # A sequence.

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Array]:
        return (self._of(part, self._format) for part in self._codes)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __getitem__(self, where: Any) -> Array:
        return self._of(self._codes[_index(where)], self._format)

    def __setitem__(self, where: Any, value: Any) -> None:
        self._codes[_index(where)] = operand(value, self._format, weak=True)

    # Copies.

    def copy(self) -> Array:
        return self._of(self._codes.copy(), self._format)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._codes, self._format)

    # NumPy.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        from .ufuncs import call

        return call(ufunc, method, inputs, how)

    def __array_function__(self, function: Any, types: Any, args: Any, how: Any) -> Any:
        from .functions import call

        return call(function, args, how)

    def __eq__(self, other: object) -> Any:
        return np.equal(self, other) if _is_numeric(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return np.not_equal(self, other) if _is_numeric(other) else NotImplemented

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return np.divmod(self, other)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        values = np.array2string(self._values_to_print(), separator=", ", prefix="array(", suffix=",")
        label = f"format='{self._format}'"
        if values == "[]" and self.shape != (0,):
            label = f"shape={self.shape}, {label}"
        last = len(values) - (values.rfind("\n") + 1) + (0 if "\n" in values else len("array("))
        between = " " if last + len(label) + 3 <= np.get_printoptions()["linewidth"] else "\n" + " " * len("array(")
        return f"array({values},{between}{label})"

    def __str__(self) -> str:
        return str(self._values_to_print()[()])

    def _values_to_print(self) -> npt.NDArray[Any]:
        if float_dtype(self._format) is not None:
            return self._values()
        texts = [self._format.text(int(code)) for code in self._codes.reshape(-1)]
        return np.array(texts, dtype=object).reshape(self.shape)

    # Methods of ndarray: those that move codes, and those of values.

    def reshape(self, *shape: Any, order: Any = "C") -> Array:
        return self._of(self._codes.reshape(*shape, order=order), self._format)

    def ravel(self, order: Any = "C") -> Array:
        return self._of(self._codes.ravel(order), self._format)

    def flatten(self, order: Any = "C") -> Array:
        return self._of(self._codes.flatten(order), self._format)

    def transpose(self, *axes: Any) -> Array:
        return self._of(self._codes.transpose(*axes), self._format)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        return self._of(self._codes.swapaxes(axis1, axis2), self._format)

    def squeeze(self, axis: Any = None) -> Array:
        return self._of(self._codes.squeeze(axis), self._format)

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        return self._of(self._codes.repeat(repeats, axis), self._format)

    def take(self, indices: Any, axis: int | None = None) -> Array:
        return self._of(self._codes.take(indices, axis), self._format)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        """Sorts in place; NaNs come last."""
        self._codes[...] = np.sort(self, axis=axis)._codes  # type: ignore[attr-defined]

    def argsort(self, axis: int | None = -1, **how: Any) -> npt.NDArray[np.intp]:
        return np.argsort(self, axis=axis, **how)

    def argmax(self, axis: int | None = None, **how: Any) -> Any:
        return np.argmax(self, axis=axis, **how)

    def argmin(self, axis: int | None = None, **how: Any) -> Any:
        return np.argmin(self, axis=axis, **how)

    def max(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
        return np.maximum.reduce(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def min(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
        return np.minimum.reduce(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def sum(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
        """The exact sum, rounded once."""
        return np.add.reduce(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def prod(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
        """The exact product, rounded once."""
        return np.multiply.reduce(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def mean(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Array:
        """The exact mean, rounded once."""
        return np.mean(self, axis=axis, keepdims=keepdims)  # type: ignore[return-value, call-overload]

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        return np.any(self._codes_as_bool(), axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        return np.all(self._codes_as_bool(), axis=axis, keepdims=keepdims)

    def _codes_as_bool(self) -> npt.NDArray[np.bool_]:
        return np.not_equal(self, 0)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)

    def clip(self, min: Any = None, max: Any = None) -> Array:
        return np.clip(self, min, max)  # type: ignore[no-any-return]


#: How names of dtypes begin that no format has.
_NUMPYS = ("int", "uint", "<", ">", "=", "|")
#: The format that every value of a dtype of NumPy's is in.
_BINARY = {"float16": "binary16", "bfloat16": "bfloat16", "float32": "binary32", "float64": "binary64"}


def _numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    """A dtype of numbers that NumPy or ml_dtypes computes with; None for formats, ml_dtypes' among
    them."""
    if isinstance(dtype, Format):
        return None
    if isinstance(dtype, str) and dtype not in (*_BINARY, "bool", "longdouble") and not dtype.startswith(_NUMPYS):
        return None
    found = number_dtype(dtype)
    name = dtype_name(found)
    return found if name is None or name in _BINARY else None


def _index(where: Any) -> Any:
    return tuple(map(_index, where)) if isinstance(where, tuple) else where._values() if isinstance(where, Array) else where


def _is_numeric(x: Any) -> bool:
    """Whether elements can be compared with it."""
    if x is None or isinstance(x, (str, bytes, dict, set)):
        return False
    if isinstance(x, (Array, int, float, complex, Fraction, Decimal, np.ndarray, np.generic)):
        return True
    return np.asarray(x).dtype.kind in "biufc" if isinstance(x, (list, tuple)) else hasattr(x, "__array__")


def array(values: Any, format: Format | str | None = None, *, copy: bool = True, **how: Any) -> Any:
    """An `Array` of numbers, each rounded once.

    Parameters
    ----------
    values : array_like, or an array of ml_dtypes, or an `Array`
        Numbers as `smallfloat.encode` takes them; torch tensors too.
    format : Format or str, optional
        May be left out for arrays of ml_dtypes and for an `Array`, which have one.
    copy : bool
        Copy codes that are there already, from an `Array` or ml_dtypes; else share them.
    **how :
        Keyword arguments of `smallfloat.encode`; with ``return_flags=True`` the result is a pair.

    Examples
    --------
    >>> import ml_dtypes, numpy as np, smallfloat as sf
    >>> sf.array([[1.0, 1.1], [2.2, 3.3]], "e4m3fn", rounding="toward-zero")
    array([[1.  , 1.  ],
           [2.  , 3.25]], format='e4m3fn')
    >>> sf.array(np.array([0.5, 6.0], ml_dtypes.float4_e2m1fn))
    array([0.5, 6. ], format='e2m1fn')
    """
    if is_masked(values):
        raise TypeError("values are a masked array, and an Array has no mask: take values.filled(0)")
    if isinstance(values, Array):
        if format is not None and (how or format_of(format) != values.format):
            return values.astype(format_of(format), **how)
        return values.copy() if copy else values
    name = dtype_name(getattr(values, "dtype", None)) if hasattr(values, "dtype") else None
    if name is not None and name not in ("float32", "float64"):
        own = Format(name)
        if (format is None and name != "float16") or (format is not None and format_of(format) == own and not how):
            found = as_codes(enter(values)[0], own)
            return Array._of(found.copy() if copy else found, own)
    if format is None:
        raise TypeError("format is missing: the values' dtype does not name one, as ml_dtypes' and Arrays do")
    fmt = format_of(format)
    result: Any = encode(_numbers(values), fmt, **how)
    if how.get("return_flags"):
        return Array._of(result[0], fmt), result[1]
    return Array._of(result, fmt)


def _numbers(values: Any) -> Any:
    """Numbers that NumPy or torch has; results are NumPy's."""
    if isinstance(values, (list, tuple)):
        values = [v._values() if isinstance(v, Array) else v for v in values]
    found = enter(values)[0]
    if found.dtype.kind == "c":
        if np.any(found.imag != 0):
            raise TypeError("values are complex: take their real parts, or two arrays")
        found = found.real
    return _to_odd(found) if found.dtype.char == "g" else found


def _to_odd(x: Any) -> Any:
    """The float64s of which every format makes what it makes of the longdoubles themselves."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.asarray(np.where(np.isfinite(x), np.clip(x, -largest, largest), x).astype(np.float64))
        rest = np.where(np.isfinite(x), x - near, 0)
    even = (near.view(np.uint64) & 1) == 0
    return np.where((rest != 0) & even, np.nextafter(near, np.where(rest > 0, np.inf, -np.inf)), near)
