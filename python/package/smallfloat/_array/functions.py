"""NumPy's functions on `Array`: those that move codes, those of order, and exact reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Format
from .._interop import is_array
from . import exact
from .values import is_strong, mixed, operand, order

_IMPLEMENTED: dict[Any, Callable[..., Any]] = {}


def _implements(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if (numpys := getattr(np, name, None)) is not None:
                _IMPLEMENTED[numpys] = function
        return function

    return register


def call(function: Any, args: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """`Array.__array_function__`."""
    if function in _MOVING:
        return _moved(function, args, how)
    if function not in _IMPLEMENTED:
        raise TypeError(
            f"numpy.{function.__name__} is not for an Array: take values, a.astype(np.float32), or codes, a.codes"
        )
    return _IMPLEMENTED[function](*args, **how)


def _wrap(codes: Any, fmt: Format) -> Any:
    from .array import Array

    return Array._of(codes, fmt)


# Functions that only move elements are called with the codes.

_MOVING = {
    getattr(np, name)
    for name in """
    concatenate stack vstack hstack dstack column_stack block split array_split vsplit hsplit dsplit unstack
    reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis expand_dims squeeze
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays repeat tile roll flip fliplr flipud rot90
    take take_along_axis compress extract choose delete append insert resize diag diagonal copy ascontiguousarray
    asfortranarray empty_like
    """.split()
    if hasattr(np, name)
}


def _formats(x: Any, found: list[Format]) -> list[Format]:
    if is_array(x):
        if found and found[0] != x.format:
            raise mixed(found[0], x.format)
        found.append(x.format)
    elif isinstance(x, (list, tuple)):
        for part in x:
            _formats(part, found)
    elif isinstance(x, dict):
        _formats(list(x.values()), found)
    return found


def _stripped(x: Any) -> Any:
    if is_array(x):
        return x.codes
    if isinstance(x, (list, tuple)):
        return type(x)(map(_stripped, x)) if not hasattr(x, "_fields") else x
    return x


#: Where functions that move elements take places or conditions, and by which name.
_PLACES = {
    np.choose: (0, "a"),
    np.compress: (0, "condition"),
    np.extract: (0, "condition"),
    np.take: (1, "indices"),
    np.take_along_axis: (1, "indices"),
    np.repeat: (1, "repeats"),
    np.delete: (1, "obj"),
    np.insert: (1, "obj"),
}
_JOINING = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block)
_OF_SEVERAL = (np.broadcast_arrays, np.atleast_1d, np.atleast_2d, np.atleast_3d)


def _joined(parts: Any, fmt: Format) -> Any:
    """Codes of what is joined, of which NumPy's own arrays would come in as codes."""
    if isinstance(parts, (list, tuple)):
        return [_joined(part, fmt) for part in parts]
    return operand(parts, fmt)


def _with_values_of_places(function: Any, args: tuple[Any, ...], how: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with values in the place of an Array that says where elements are."""
    if function not in _PLACES:
        return args, how
    at, name = _PLACES[function]
    given = args[at] if at < len(args) else how.get(name)
    if not is_array(given):
        return args, how
    values = np.not_equal(given, 0) if name == "condition" else given._values()
    if at < len(args):
        return (*args[:at], values, *args[at + 1 :]), how
    return args, {**how, name: values}


def _moved(function: Any, args: tuple[Any, ...], how: dict[str, Any]) -> Any:
    args, how = _with_values_of_places(function, args, how)
    formats = _formats((args, how), [])
    if not formats:
        return function(*args, **how)
    fmt = formats[0]
    if how.pop("dtype", None) is not None:
        raise TypeError(f"dtype: the result has the format {fmt}; convert it with astype")
    if function in (np.append, np.insert):
        at = 1 if function is np.append else 2
        args = tuple(operand(x, fmt, weak=True) if i == at else x for i, x in enumerate(args))
        how = {key: operand(value, fmt, weak=True) if key == "values" else value for key, value in how.items()}
    elif function in _JOINING:
        args = (_joined(args[0], fmt), *args[1:]) if args else args
        how = {key: _joined(value, fmt) if key in ("arrays", "tup") else value for key, value in how.items()}
    elif function in _OF_SEVERAL:
        args = tuple(operand(x, fmt) for x in args)
    elif function is np.choose and len(args) > 1:
        args = (args[0], [operand(x, fmt) for x in args[1]], *args[2:])
    out = how.get("out")
    if out is not None and not is_array(out):
        raise TypeError("out is an ndarray, which the results are not")
    result = function(*map(_stripped, args), **{key: _stripped(value) for key, value in how.items()})
    if out is not None:
        return out
    if isinstance(result, (list, tuple)):
        return type(result)([_wrap(part, fmt) for part in result])
    return _wrap(result, fmt)


def _adapted(names: str, adapt: Callable[[Any], Any]) -> None:
    """Functions that are called with something else in the place of each Array."""
    for name in names.split():
        function = getattr(np, name)

        def adapted(*args: Any, function: Any = function, **how: Any) -> Any:
            return function(*map(adapt, args), **{key: adapt(value) for key, value in how.items()})

        _IMPLEMENTED[function] = adapted


_adapted("shape ndim size may_share_memory shares_memory", _stripped)
_adapted("allclose isclose", lambda x: x._values() if is_array(x) else x)
_adapted(
    "nonzero flatnonzero argwhere count_nonzero any all", lambda x: np.not_equal(x, 0) if is_array(x) else x
)


def _filled(value: Any) -> Callable[..., Any]:
    def like(a: Any, *rest: Any, **how: Any) -> Any:
        if how.pop("dtype", None) is not None:
            raise TypeError(f"dtype: the result has the format {a.format}; convert it with astype")
        number = value if value is not None else rest[0] if rest else how.pop("fill_value")
        shape = how.get("shape")
        found = _wrap(np.empty(a.shape if shape is None else shape, a.format.dtype), a.format)
        found[...] = number
        return found

    return like


_IMPLEMENTED.update({np.zeros_like: _filled(0.0), np.ones_like: _filled(1.0), np.full_like: _filled(None)})


@_implements("where")
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return np.not_equal(condition, 0).nonzero()
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    truth = np.not_equal(condition, 0) if is_array(condition) else condition
    formats = _formats((x, y), [])
    if not formats:
        return np.where(truth, x, y)
    fmt = formats[0]
    return _wrap(np.where(truth, operand(x, fmt, weak=True), operand(y, fmt, weak=True)).astype(fmt.dtype), fmt)


@_implements("copyto")
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not is_array(dst):
        np.copyto(dst, src._values(), casting=casting, where=where)
    else:
        np.copyto(dst.codes, operand(src, dst.format, weak=True), where=where)


@_implements("put", "putmask", "place")
def _refused_put(*_: Any, **__: Any) -> None:
    raise TypeError("put, putmask and place are not for an Array: assign, a[where] = values")


@_implements("astype")
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, **how: Any) -> Any:
    return x.astype(dtype, **how)


# Order: NaNs come last, as in NumPy.


@_implements("argsort")
def _argsort(a: Any, axis: Any = -1, kind: Any = None, **how: Any) -> Any:
    return np.argsort(order(a.codes, a.format), axis=axis, kind=kind, **how)


@_implements("sort")
def _sort(a: Any, axis: Any = -1, kind: Any = None, **_: Any) -> Any:
    at = _argsort(a, axis, kind)
    return _wrap(a.codes.reshape(-1)[at] if axis is None else np.take_along_axis(a.codes, at, axis), a.format)


@_implements("argmax")
def _argmax(a: Any, axis: Any = None, out: Any = None, **how: Any) -> Any:
    return np.argmax(order(a.codes, a.format), axis, out, **how)


@_implements("argmin")
def _argmin(a: Any, axis: Any = None, out: Any = None, **how: Any) -> Any:
    return np.argmin(order(a.codes, a.format), axis, out, **how)


@_implements("searchsorted")
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    _formats((a, v), [])
    keys = [order(x.codes, x.format) if is_array(x) else x for x in (a, v)]
    return np.searchsorted(keys[0], keys[1], side, sorter)


@_implements("unique")
def _unique(a: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, **how: Any) -> Any:
    if how.get("axis") is not None:
        raise TypeError("axis is not for the unique elements of an Array: take values, a.astype(np.float32)")
    keys = order(a.codes, a.format)
    _, index, *rest = np.unique(keys, True, return_inverse, return_counts, **how)
    found = _wrap(a.codes.reshape(-1)[index], a.format)
    wanted = ([index] if return_index else []) + rest
    return (found, *wanted) if wanted else found


@_implements("max", "amax")
def _max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **how: Any) -> Any:
    return np.maximum.reduce(a, axis=axis, out=out, keepdims=keepdims, **how)


@_implements("min", "amin")
def _min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **how: Any) -> Any:
    return np.minimum.reduce(a, axis=axis, out=out, keepdims=keepdims, **how)


@_implements("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    found = a if low is None else np.maximum(a, low)
    found = found if high is None else np.minimum(found, high)
    return np.positive(found, out=out) if out is not None else found.copy() if found is a else found


@_implements("array_equal")
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a, b = (order(x.codes, x.format) if is_array(x) else np.asarray(x) for x in (a1, a2))
    _formats((a1, a2), [])
    return bool(np.array_equal(a, b, equal_nan=equal_nan))


# Reductions.


def _kept(keepdims: Any) -> bool:
    return keepdims is not np._NoValue and bool(keepdims)


@_implements("sum")
def _sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **how: Any) -> Any:
    return np.add.reduce(a, axis=axis, dtype=dtype, out=out, keepdims=_kept(keepdims), **how)


@_implements("prod")
def _prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **how: Any) -> Any:
    return np.multiply.reduce(a, axis=axis, dtype=dtype, out=out, keepdims=_kept(keepdims), **how)


@_implements("mean")
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    if dtype is not None or out is not None:
        raise TypeError("dtype and out are not for the mean of an Array")
    rows, shape = exact.rows(a.codes, axis, _kept(keepdims))
    return _wrap(exact.means(rows, a.format).reshape(shape), a.format)


@_implements("cumsum")
def _cumsum(a: Any, axis: Any = None, **how: Any) -> Any:
    return np.add.accumulate(a.reshape(-1) if axis is None else a, axis=0 if axis is None else axis, **how)


@_implements("dot")
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise TypeError("out is not for the dot product of Arrays")
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(a) > 1 and np.ndim(b) > 2:
        raise TypeError("numpy.dot of Arrays takes vectors and matrices: use matmul")
    return matmul(a, b)


def matmul(a: Any, b: Any) -> Any:
    """The matrix product, exact and rounded once."""
    from .._products import matmul as product

    fmt = _formats((a, b), [])[0]
    strong = [is_strong(x) for x in (a, b)]
    if any(strong):
        x, y = (x._values() if is_array(x) else x for x in (a, b))
        return np.matmul(x, y)
    a, b = (_wrap(operand(x, fmt), fmt) for x in (a, b))
    if fmt.width > 8:
        raise TypeError(f"exact matrix products are of formats of at most 8 bits, not {fmt}: multiply values, a.astype(np.float32)")
    return _wrap(product(a.codes, b.codes, fmt, to=fmt, accumulate="exact"), fmt)


# What would lose the format without a word.


@_implements("save", "savez", "savez_compressed", "savetxt")
def _save(*_: Any, **__: Any) -> None:
    raise TypeError(
        "NumPy's files don't keep the format: smallfloat.save(path, {'name': a}) does, or save a.codes and name the format yourself"
    )


@_implements("array_repr")
def _array_repr(arr: Any, *_: Any, **__: Any) -> str:
    return repr(arr)


@_implements("array_str")
def _array_str(a: Any, *_: Any, **__: Any) -> str:
    return str(a)


@_implements("array2string")
def _array2string(a: Any, *args: Any, **how: Any) -> str:
    return np.array2string(a._values_to_print(), *args, **how)


@_implements("iscomplexobj")
def _iscomplexobj(_: Any) -> bool:
    return False


@_implements("isrealobj")
def _isrealobj(_: Any) -> bool:
    return True

