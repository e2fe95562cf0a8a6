"""NumPy's ufuncs on `Array`: which operation of the kernels each one is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._core import Format, Operation, encode, operation_shape
from .._interop import is_array
from . import exact
from .values import is_strong, mixed, operand, order

#: Ufuncs that are operations of the kernels.
_OPERATIONS: dict[Any, str] = {
    np.negative: "Negate",
    np.absolute: "Abs",
    np.fabs: "Abs",
    np.copysign: "CopySign",
    np.add: "Add",
    np.subtract: "Subtract",
    np.multiply: "Multiply",
    np.divide: "Divide",
    np.fmod: "Fmod",
    np.sqrt: "Sqrt",
    np.reciprocal: "Recip",
    np.minimum: "Minimum",
    np.maximum: "Maximum",
    np.fmin: "MinimumNumber",
    np.fmax: "MaximumNumber",
    np.hypot: "Hypot",
    np.arctan2: "ArcTan2",
    np.exp: "Exp",
    np.exp2: "Exp2",
    np.expm1: "ExpMinusOne",
    np.log: "Log",
    np.log2: "Log2",
    np.log1p: "LogOnePlus",
    np.sin: "Sin",
    np.cos: "Cos",
    np.tan: "Tan",
    np.arcsin: "ArcSin",
    np.arccos: "ArcCos",
    np.arctan: "ArcTan",
    np.sinh: "Sinh",
    np.cosh: "Cosh",
    np.tanh: "Tanh",
    np.arcsinh: "ArcSinh",
    np.arccosh: "ArcCosh",
    np.arctanh: "ArcTanh",
}

#: Ufuncs whose results are exact in binary64, or so close to exact that the one rounding is the right one (`exact`).
_BY_FLOATS = {
    np.rint,
    np.floor,
    np.ceil,
    np.trunc,
    np.sign,
    np.remainder,
    np.floor_divide,
    np.divmod,
    np.modf,
    np.heaviside,
    np.ldexp,
    np.frexp,
}

_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
_PREDICATES = {np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.logical_and, np.logical_or, np.logical_xor}


@functools.lru_cache(maxsize=1024)
def operation(name: str, fmt: Format) -> Operation:
    """An operation within one format, rounded by the format's own preset; special cases are P3109's
    in P3109's formats."""
    _, rounds, arity = operation_shape(name)
    options = ["semantics=ieee"] if rounds and fmt.family != "p3109" else []
    return Operation(f"{name}<{', '.join([str(fmt)] * (arity + rounds) + options)}>")


def _next(name: str, fmt: Format) -> Callable[[Any], Any]:
    return Operation(f"{name}<{fmt}>")


def _spacing(codes: Any, fmt: Format) -> Any:
    magnitude = operation("Abs", fmt)(codes)
    step = operation("Subtract", fmt)(_next("NextGreaterThan", fmt)(magnitude), magnitude)
    return operation("CopySign", fmt)(step, codes) if fmt.signed else step


def _nextafter(x: Any, toward: Any, fmt: Format) -> Any:
    x, toward = np.broadcast_arrays(x, toward)
    a, b = order(x, fmt), order(toward, fmt)
    up, down = _next("NextGreaterThan", fmt)(x), _next("NextLessThan", fmt)(x)
    found = np.where(a < b, up, np.where(a > b, down, toward))
    nan = np.isnan(a) | np.isnan(b)
    return np.where(nan, np.where(np.isnan(a), x, toward), found).astype(fmt.dtype)


def _computed(ufunc: Any, codes: list[Any], fmt: Format, wrap: Callable[[Any], Any]) -> Any:
    """The results of a ufunc that gives numbers."""
    if ufunc in _OPERATIONS:
        return wrap(operation(_OPERATIONS[ufunc], fmt)(*codes))
    if ufunc in (np.positive, np.conjugate):
        return wrap(np.array(codes[0]))
    if ufunc is np.square:
        return wrap(operation("Multiply", fmt)(codes[0], codes[0]))
    if ufunc is np.nextafter:
        return wrap(_nextafter(*codes, fmt))
    if ufunc is np.spacing:
        return wrap(_spacing(codes[0], fmt))
    if ufunc is np.frexp:
        mantissa, exponent = np.frexp(exact.values(codes[0], fmt))
        return wrap(encode(mantissa, fmt)), exponent
    if ufunc is np.ldexp:
        return wrap(encode(np.ldexp(exact.values(codes[0], fmt), codes[1]), fmt))
    if ufunc in _BY_FLOATS:
        with np.errstate(all="ignore"):
            found = ufunc(*[exact.values(c, fmt) for c in codes])
        return tuple(wrap(encode(part, fmt)) for part in found) if isinstance(found, tuple) else wrap(encode(found, fmt))
    if ufunc in exact.FUNCTIONS:
        return wrap(exact.rounded(ufunc, codes, fmt))
    raise TypeError(
        f"numpy.{ufunc.__name__} has no exact version for {fmt}: compute with values, a.astype(np.float32), and round the result"
    )


def _is_plain(x: Any) -> bool:
    """Whether this is a number of Python's."""
    return isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)


def _as_floats(x: Any) -> Any:
    return order(x.codes, x.format) if is_array(x) else x


def _compared(ufunc: Any, inputs: tuple[Any, ...], fmt: Format) -> Any:
    """Comparisons and predicates; numbers are compared as they are, without rounding."""
    parts = []
    for x in inputs:
        plain = _is_plain(x) or isinstance(x, (Fraction, Decimal))
        if not plain and not is_strong(x):
            x = _wrap(operand(x, fmt), fmt)
        if plain or not is_array(x):
            exact.values(np.zeros(0, fmt.dtype), fmt)  # refuses formats of which no float holds the values
        parts.append(exact.number(x) if plain else _as_floats(x))
    with np.errstate(invalid="ignore"):
        return ufunc(*parts)


def _wrap(codes: Any, fmt: Format) -> Any:
    from .array import Array

    return Array._of(codes, fmt)


def _fill(out: Any, result: Any, where: Any) -> Any:
    """Results in the array that the caller gave."""
    if is_array(out) != is_array(result):
        if is_array(out) and getattr(result, "dtype", np.dtype(bool)).kind != "b":
            raise TypeError(
                f"out is an Array, and the results are NumPy's {result.dtype}, as an operand is: round them, "
                "out[...] = results, or give a Python number or an Array as the operand"
            )
        raise TypeError(f"out is {'an Array' if is_array(out) else 'an ndarray'}, which the results are not")
    if is_array(out):
        if out.format != result.format:
            raise mixed(out.format, result.format)
        np.copyto(out.codes, result.codes, where=where)
    else:
        np.copyto(out, result, where=where)
    return out


def call(ufunc: Any, method: str, inputs: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """`Array.__array_ufunc__`."""
    out, where = how.pop("out", None), how.pop("where", True)
    axes = {key: how.pop(key) for key in ("axis", "keepdims", "axes", "initial", "indices") if key in how}
    for name in ("dtype", "signature", "sig"):
        if how.get(name) is not None:
            raise TypeError(f"{name}={how[name]}: results have the operands' format; convert them with astype")
    arrays = [x for x in inputs if is_array(x)]
    if not arrays:
        raise TypeError(f"out is an Array of {next(o.format for o in out if is_array(o))}, the operands are not: round them yourself")
    fmt = arrays[0].format
    for other in arrays:
        if other.format != fmt:
            raise mixed(fmt, other.format)
    if method == "outer":
        x, y = (part if is_array(part) or _is_plain(part) else np.asarray(part) for part in inputs)
        x = x if _is_plain(x) else x.reshape(x.shape + (1,) * np.ndim(y))
        result = call(ufunc, "__call__", (x, y), {})
    elif method == "reduce":
        if axes.pop("initial", None) is not None or where is not True:
            raise TypeError("initial and where are not for reductions of an Array")
        result = _reduced(ufunc, inputs[0], axes.get("axis", 0), bool(axes.get("keepdims", False)))
    elif method == "accumulate":
        result = _accumulated(ufunc, inputs[0], axes.get("axis", 0))
    elif method != "__call__":
        raise TypeError(f"numpy.{ufunc.__name__}.{method} is not for an Array")
    else:
        result = _called(ufunc, inputs, fmt)
    if out is not None:
        results = result if isinstance(result, tuple) else (result,)
        if method in ("reduce", "accumulate") and (o := out[0]) is not None and np.shape(o) != np.shape(result):
            raise ValueError(f"out has the shape {np.shape(o)}, the result has {np.shape(result)}")
        filled = tuple(r if o is None else _fill(o, r, where) for o, r in zip(out, results, strict=True))
        return filled if isinstance(result, tuple) else filled[0]
    if where is not True:
        raise TypeError("where= needs out=, an Array that has the other elements")
    return result


def _called(ufunc: Any, inputs: tuple[Any, ...], fmt: Format) -> Any:
    if ufunc in _COMPARISONS or ufunc in _PREDICATES:
        return _compared(ufunc, inputs, fmt)
    if ufunc is np.matmul:
        from .functions import matmul

        return matmul(*inputs)
    if ufunc is not np.ldexp and any(is_strong(x) for x in inputs):
        # NumPy's own arrays: numbers, in NumPy's own arithmetic.
        return ufunc(*[x._values() if is_array(x) else x for x in inputs])
    codes = [operand(x, fmt) for x in inputs[:1]] + [inputs[1]] if ufunc is np.ldexp else [operand(x, fmt) for x in inputs]
    return _computed(ufunc, codes, fmt, functools.partial(_wrap, fmt=fmt))


def _reduced(ufunc: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    fmt, codes = x.format, x.codes
    if ufunc in (np.logical_and, np.logical_or):
        return ufunc.reduce(np.not_equal(x, 0), axis=axis, keepdims=keepdims)
    if ufunc not in (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin):
        raise TypeError(f"numpy.{ufunc.__name__}.reduce is not for an Array")
    # As NumPy's reductions: a scalar has no axis, and takes the first and the last all the same.
    axis = None if codes.ndim == 0 and isinstance(axis, int) and axis in (0, -1) else axis
    rows, shape = exact.rows(codes, axis, keepdims)
    if ufunc in (np.add, np.multiply):
        found = exact.sums(rows, fmt) if ufunc is np.add else exact.products(rows, fmt)
        return _wrap(found.reshape(shape), fmt)
    if not rows.shape[1]:
        raise ValueError(f"numpy.{ufunc.__name__}.reduce of no elements has no value")
    keys = order(rows, fmt)
    with np.errstate(invalid="ignore"):
        extreme = ufunc.reduce(keys, axis=1, keepdims=True)
    found = (keys == extreme) | np.isnan(keys) & np.isnan(extreme)
    # Of two zeros the positive one is the larger, as it is to the ufunc itself.
    better = found & (np.signbit(keys) == (ufunc in (np.minimum, np.fmin)))
    at = np.where(better.any(axis=1), better.argmax(axis=1), found.argmax(axis=1))
    return _wrap(rows[np.arange(len(rows)), at].reshape(shape), fmt)


def _accumulated(ufunc: Any, x: Any, axis: int) -> Any:
    """Step by step, each result rounded, as NumPy's accumulate is defined."""
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        return ufunc.accumulate(np.not_equal(x, 0), axis=axis)
    if ufunc in _COMPARISONS or ufunc.nin != 2 or ufunc.nout != 1:
        raise TypeError(f"numpy.{ufunc.__name__}.accumulate is not for an Array")
    codes = np.moveaxis(x.codes, axis, 0)
    found = np.array(codes)
    for i in range(1, len(found)):
        found[i] = _called(ufunc, (_wrap(found[i - 1], x.format), _wrap(codes[i], x.format)), x.format).codes
    return _wrap(np.moveaxis(found, 0, axis), x.format)
