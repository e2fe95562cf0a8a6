"""Dot and matrix products of codes, with the manners of `numpy.dot` and `numpy.matmul`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._core import Format, row_products
from ._interop import codes, codes_of, enter, is_array, is_masked, typed


def matmul(
    a: Any,
    b: Any,
    fmt: Any = None,
    fmt_b: Any = None,
    *,
    to: Any = "binary32",
    accumulate: Any = "f32",
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    threads: int | None = None,
) -> Any:
    """Matrix product of two arrays of codes.

    Parameters
    ----------
    a, b : array_like of codes, (..., n, k) and (..., k, m)
        As `numpy.matmul` takes them: vectors are rows or columns, leading axes broadcast.
    fmt, fmt_b : Format or str
        Formats of at most 8 bits, for matrix units of at most 16; `fmt_b` is `fmt` if left out. An
        `Array` has its own.
    to : Format or str
        The format of the results; binary32 and binary64 give floats, others codes, or an `Array` if
        an operand is one.
    accumulate : str or Format
        'f32': 32 partial sums in binary32, in an order that no machine changes. 'exact': without
        rounding, so there is one rounding in all. The name of a GPU: the bits of its matrix unit
        ('volta', 'turing', 'ampere', 'ada', 'hopper', 'blackwell', 'rtx-blackwell', 'cdna1',
        'cdna2', 'cdna3'; also 'hopper:output=f16', 'hopper:promote=128'), or of one with other
        parameters ('fused:k=32,fraction=13,output=e8m13'). A format: every sum is rounded to
        nearest in it, from left to right; for studies, slow.
    preset, rounding, saturation : str, optional
        How sums become results, as of `smallfloat.encode`; deterministic.
    threads : int, optional
        At most so many.

    Returns
    -------
    array of shape (..., n, m)

    Examples
    --------
    >>> import numpy as np, smallfloat as sf
    >>> a = sf.encode([[1.0, 2.0], [3.0, 4.0]], "e4m3fn")
    >>> sf.matmul(a, a, "e4m3fn")
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    >>> sf.matmul(a, a, "e4m3fn", to="e5m2", accumulate="exact")
    array([[71, 73],
           [76, 78]], dtype=uint8)
    >>> x = sf.encode([[16.0] + [0.125] * 31], "e4m3fn")
    >>> [float(sf.matmul(x, x.T, "e4m3fn", accumulate=how)[0, 0]) for how in ("exact", "blackwell", "hopper")]
    [256.484375, 256.484375, 256.0]
    """
    fmt_b = b.format if fmt_b is None and is_array(b) else fmt if fmt_b is None else fmt_b
    fmt = a.format if fmt is None and is_array(a) else fmt
    if fmt is None or fmt_b is None:
        raise TypeError("fmt is missing: name the format of codes, or give Arrays")
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    fmt_b = fmt_b if isinstance(fmt_b, Format) else Format(fmt_b)
    to = to if isinstance(to, Format) else Format(to)
    (a, leave), (b, leave_b) = _enter(a, fmt, to), _enter(b, fmt_b, to)
    leave = leave or leave_b or (lambda result: result)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul needs at least one axis each; multiply by a scalar with smallfloat.ops.multiply")
    row, column = a.ndim == 1, b.ndim == 1
    a = a[np.newaxis] if row else a
    b = b[:, np.newaxis] if column else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the last axis of a has {a.shape[-1]} elements, the last but one of b has {b.shape[-2]}")
    how = (to, accumulate, preset, rounding, saturation, threads)
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows = np.swapaxes(b, -1, -2)
    if not leading:
        result = row_products(a, rows, (fmt, fmt_b), *how)
    else:
        count = math.prod(leading)
        a = np.broadcast_to(a, (*leading, *a.shape[-2:])).reshape(count, *a.shape[-2:])
        rows = np.broadcast_to(rows, (*leading, *rows.shape[-2:])).reshape(count, *rows.shape[-2:])
        parts = [row_products(x, y, (fmt, fmt_b), *how) for x, y in zip(a, rows, strict=True)]
        nothing = np.empty((0, a.shape[-1]), np.uint8)
        empty = row_products(nothing.astype(a.dtype), nothing.astype(rows.dtype), (fmt, fmt_b), *how)
        result = np.array(parts, empty.dtype).reshape(*leading, a.shape[-2], rows.shape[-2])
    if row:
        result = result[..., 0, :]
    if column:
        result = result[..., 0]
    return leave(result[()])


def _enter(x: Any, fmt: Format, to: Format) -> tuple[Any, Any]:
    """Codes of an operand, and what makes the caller's kind of array of results."""
    if is_array(x):
        return codes_of(x, fmt), (lambda result: typed(result, to)) if to.dtype.kind == "u" else None
    if is_masked(x):
        raise TypeError("an operand is a masked array, and products have no mask: take filled codes")
    array, leave = enter(x)
    return codes(array, fmt), leave


def dot(a: Any, b: Any, fmt: Any = None, fmt_b: Any = None, **how: Any) -> Any:
    """Dot product of two vectors of codes; keyword arguments as of `matmul`.

    Examples
    --------
    >>> import smallfloat as sf
    >>> x = sf.encode([1.0, 2.0, 3.0], "e5m2")
    >>> float(sf.dot(x, x, "e5m2"))
    14.0
    """
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise ValueError("dot takes two vectors; use matmul for matrices")
    return matmul(a, b, fmt, fmt_b, **how)
