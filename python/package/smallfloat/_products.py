"""Dot and matrix products of codes, with the manners of `numpy.dot` and `numpy.matmul`, and of
quantized tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._config import LISTS, block_of, scale_shape
from ._core import Format, row_products
from ._interop import codes, codes_of, enter, is_array, is_masked, typed
from ._quantized import QuantizedTensor


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


def linear(x: QuantizedTensor, weight: QuantizedTensor, *, accumulate: Any = "f32", threads: int | None = None) -> Any:
    """``x @ weight.T`` of quantized tensors, as `torch.nn.functional.linear` has it: from codes and
    scales, without dequantizing first.

    Parameters
    ----------
    x : QuantizedTensor, (..., k)
    weight : QuantizedTensor, (n, k)
        What `quantize` makes, with scales of any granularity or none. Blocks of both have the same
        columns.
    accumulate : str or Format
        As of `matmul`. 'blackwell' and 'rtx-blackwell' take block scales into the unit: in e8m0fnu
        for 32 elements of E4M3, E5M2, E3M2, E2M3 or E2M1, and for E2M1 on both sides in e8m0fnu or
        e4m3fn for 16 or 32. With all others each block's sum, in float32, is multiplied by the
        scale of x and then by that of the weight, and the blocks' products add up from left to
        right; every step is rounded to nearest in float32. Scales for rows or whole tensors
        multiply whole sums so. Global scales, as NVFP4 has them, divide the result.
    threads : int, optional
        At most so many.

    Returns
    -------
    array of float32, (..., n)

    Examples
    --------
    >>> import numpy as np, smallfloat as sf
    >>> x = sf.quantize(np.array([[16.0] + [0.125] * 31, [1.0] * 32]), "mxfp8-e4m3")
    >>> sf.linear(x, x).tolist()
    [[256.484375, 19.875], [19.875, 32.0]]
    >>> sf.linear(x, x, accumulate="blackwell").tolist()
    [[256.484375, 19.875], [19.875, 32.0]]
    >>> sf.linear(x, x, accumulate="hopper").tolist()
    [[256.0, 19.875], [19.875, 32.0]]
    """
    (a, scales, leave), (b, scales_b, leave_b) = _scaled("x", x), _scaled("weight", weight)
    if len(weight.shape) != 2:
        raise ValueError(f"weight has the shape {weight.shape}, and it must have two axes, (n, k)")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"rows of x have {a.shape[1]} elements, rows of weight {b.shape[1]}: both last axes are summed over")
    if None not in (scales[2], scales_b[2]) and scales[2] != scales_b[2]:
        raise ValueError(f"x has scales for {scales[2]} elements of a row, weight for {scales_b[2]}: quantize both with blocks of one size")
    how = ("binary32", accumulate, None, None, None, threads)
    result = row_products(a, b, (x._element(), weight._element()), *how, (scales, scales_b))
    result = result.reshape(*x.shape[:-1], len(b))
    leave = leave or leave_b
    return result if leave is None else leave(result)


def _scaled(name: str, tensor: Any) -> tuple[np.ndarray, tuple[Any, str, int | None, float], Any]:
    """A tensor's codes in rows, what multiplies them, and what makes the caller's kind of array of
    results."""
    if not isinstance(tensor, QuantizedTensor):
        raise TypeError(f"{name} must be a QuantizedTensor, as quantize makes it, not {type(tensor).__name__}; matmul multiplies codes")
    if tensor.format in LISTS:
        raise ValueError(f"{name} has codes of {tensor.format}, a list of values and no format: multiply its dequantize()")
    shape, granularity, scales = tensor.shape, tensor.granularity, tensor.scales
    if not shape:
        raise ValueError(f"{name} has no axis, and the last one is summed over")
    if tensor.biases is not None and granularity != "tensor":
        raise ValueError(
            f"{name} has biases for {granularity}, and a product takes one format: quantize with granularity='tensor', "
            "or a format with a scale_format"
        )
    found, leave = enter(tensor.codes)
    rows, block = math.prod(shape[:-1]), None
    found = found.reshape(rows, shape[-1])
    if scales is None:
        return found, (np.ones((), np.float32), "binary32", None, 1.0), leave
    scales = enter(scales)[0]
    if scales.shape != scale_shape(shape, granularity):
        raise ValueError(f"{name} has scales of the shape {scales.shape}, and {granularity} of {shape} needs {scale_shape(shape, granularity)}")
    if granularity == "channel":
        scales = np.repeat(scales[:, 0], rows // max(len(scales), 1))
    elif granularity != "tensor":
        high, block = block_of(granularity)
        scales = np.repeat(scales, min(high, rows), axis=0)[:rows]
    return found, (scales, tensor.scale_format, block, tensor.global_scale), leave
