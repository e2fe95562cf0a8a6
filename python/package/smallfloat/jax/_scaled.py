"""Tensors with scales, biases or blocks, as array operations."""

from __future__ import annotations

import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import _bits, _quantized
from .._config import LISTS, Config, Layout, block_of, matrix_of, scale_shape, stored_columns, width_of
from .._core import Format
from .._quantized import QuantizedTensor
from .._scales import POWER_RULES, ScalePlan, scale_plan
from ..kernel import kernel
from ._round import check, check_codes, check_dtype, decode_by, encode_by, integers, library_of, words_of

_CAST = {"float16": "binary16", "bfloat16": "bfloat16"}
_F32 = np.finfo(np.float32)


def _flatten(q: QuantizedTensor) -> tuple[list[Any], tuple[tuple[str, ...], str]]:
    return list(q._parts.values()), (tuple(q._parts), json.dumps(q._entry))


def _unflatten(names: tuple[tuple[str, ...], str], parts: list[Any]) -> QuantizedTensor:
    return QuantizedTensor(dict(zip(names[0], parts, strict=True)), json.loads(names[1]))


jax.tree_util.register_pytree_node(QuantizedTensor, _flatten, _unflatten)


def quantize(x: Any, fmt: Any = "cfloat8_1_4_3", *, name: str = "tensor", **how: Any) -> QuantizedTensor:
    """`smallfloat.quantize` of an array, also under `jit` and `vmap`: the same bits, in JAX's
    arrays.

    Parameters
    ----------
    x : array of float16, bfloat16, float32, or float64 where JAX has it
        Finite, or with `nonfinite="preset"`; what is traced can't be refused and is taken as by
        that.
    fmt : str, Format or Config
    name, **how :
        As of `smallfloat.quantize`, which alone has `report`, `flush`, `scale_overflow` and
        `threads`.

    Returns
    -------
    QuantizedTensor
        A pytree, whose leaves are codes and scales. Under `vmap` it is that of each example.

    Notes
    -----
    On other devices than the CPU, and where it is traced, it is array operations. What only the
    compiled part has (biases of least error, `scale_rule="least-error"`, stochastic-b and -c,
    quotients of float64 or rounded stochastically) is a callback there, which copies to the CPU.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, smallfloat.jax as sfj
    >>> x = jnp.linspace(-1, 1, 64, dtype=jnp.bfloat16).reshape(2, 32)
    >>> q = jax.jit(lambda x: sfj.quantize(x, "mxfp4"))(x)
    >>> q.scales.ravel(), sfj.dequantize(q, jnp.bfloat16)[0, :4]
    (Array([125, 125], dtype=uint8), Array([-1, -1, -1, -1], dtype=bfloat16))
    """
    x = check(x)
    config = Config(fmt, **{key: value for key, value in how.items() if key != "nonfinite"})
    if not isinstance(x, jax.core.Tracer) and all(device.platform == "cpu" for device in x.devices()):
        return _quantized.quantize(x, config, name=name, **how).map(jnp.asarray)
    if (nonfinite := how.get("nonfinite", "preset")) not in ("refuse", "preset"):
        raise ValueError(f"nonfinite={nonfinite!r} is not known: write 'refuse' or 'preset'")
    entry = {**config.entry(x.shape), "shape": list(x.shape), "source_dtype": _quantized.NAMES[x.dtype.name]}
    if config.is_list:
        return QuantizedTensor(_parts_by_core(config, entry, x, name), entry)
    plan = scale_plan(config.key(), x.ndim)
    if plan.is_expressible and (x.dtype != jnp.float64 or plan.rule != "amax"):
        return QuantizedTensor(_parts(plan, x, name), entry)
    return QuantizedTensor(_parts_by_core(config, entry, x, name), entry)


def dequantize(q: QuantizedTensor, dtype: Any = jnp.float32) -> jax.Array:
    """The values of a quantized tensor, each rounded once to `dtype`, also under `jit`; its arrays
    may be NumPy's.

    Parameters
    ----------
    q : QuantizedTensor
    dtype : dtype
        float16, bfloat16, float32, or float64 where JAX has it.
    """
    dtype = check_dtype(dtype)
    layout, parts = Layout.of(q._entry, q.shape), {name: jnp.asarray(part) for name, part in q._parts.items()}
    if parts[""].size != math.prod(stored := _quantized._native_shape(q._entry, q.shape)):
        raise ValueError(
            f"the codes have the shape {parts[''].shape} where a tensor of the shape {q.shape} has {stored}: "
            "take jax.vmap(dequantize) of what vmap made"
        )
    scales = parts.get("_bias" if layout.scale is None else "_scale")
    is_biased = scales is not None and layout.scale is None
    is_list = layout.format in LISTS
    width = width_of(layout.format, is_biased)
    check_codes(parts[""], (1 << width) - 1 if layout.packing == "bytes" else 255, f"codes of {layout.format}")
    if is_biased:
        check_codes(scales, 63, "biases")
    elif scales is not None and not jnp.issubdtype(scales.dtype, jnp.floating):
        check_codes(scales, Format(layout.scale).max_code, f"codes of {layout.scale}")
    matrix, shape = _unpacked(parts[""], layout), layout.shape
    k = None if is_list else kernel(Format(layout.format, bias=0) if is_biased else layout.format)
    if scales is None:
        return decode_by(k, matrix, dtype).reshape(shape)
    if is_biased:
        return decode_by(k, matrix, dtype, _spread(-scales.astype(jnp.int32), layout)).reshape(shape)
    over = parts.get("_global_scale")
    if layout.scale == "e8m0fnu" and over is None and not is_list:
        field = _spread(scales.astype(jnp.int32), layout)
        return jnp.where(field == 255, jnp.asarray(math.nan, dtype), decode_by(k, matrix, dtype, field - 127)).reshape(shape)
    # Products of few bits are exact in float64, and so near to their quotients that rounding again
    # is rounding once.
    with jax.enable_x64(True):
        unit = _wide(scales) if jnp.issubdtype(scales.dtype, jnp.floating) else decode_by(kernel(layout.scale), scales, jnp.float64)
        elements = jnp.asarray(LISTS[layout.format][1], jnp.float64)[matrix] if is_list else decode_by(k, matrix, jnp.float64)
        values = elements * _spread(unit, layout)
        return _cast(values if over is None else values / _wide(over), dtype).reshape(shape)


def _wide(x: Any) -> jax.Array:
    """Numbers in float64; those of float32 that are subnormal by their bits, since arithmetic may
    flush them."""
    if x.dtype == jnp.float64:
        return x
    bits, _ = integers(x)
    tiny = (bits & 0x7FFFFF).astype(jnp.float64) * 2.0**-149
    is_tiny = (bits & 0x7F800000) == 0
    return jnp.where(is_tiny, jnp.where(bits < 0, -tiny, tiny), lax.bitcast_convert_type(bits, jnp.float32).astype(jnp.float64))


def _cast(x: jax.Array, dtype: Any) -> jax.Array:
    """Numbers of float64 in another dtype, rounded once."""
    if dtype.name in _CAST:
        return lax.bitcast_convert_type(encode_by(kernel(_CAST[dtype.name]), x).astype(jnp.uint16), dtype)
    if dtype == jnp.float64:
        return x
    # By bits where arithmetic may flush subnormal numbers.
    bits = lax.bitcast_convert_type(x, jnp.int64)
    magnitude = jnp.abs(x)
    tiny = jnp.round(magnitude * 2.0**149).astype(jnp.int32) | jnp.where(bits < 0, jnp.int32(-(1 << 31)), jnp.int32(0))
    return jnp.where(magnitude < 2.0**-126, lax.bitcast_convert_type(tiny, jnp.float32), x.astype(jnp.float32))


def _spread(groups: Any, layout: Layout) -> Any:
    """Numbers of groups in the shape of the matrix, or one that is broadcast to it."""
    rows, columns = matrix_of(layout.shape, layout.granularity)
    block = block_of(layout.granularity)
    if layout.granularity == "tensor":
        return groups.reshape(1, 1)
    if block is None:
        return groups.reshape(rows, 1)
    groups = groups.reshape(-(-rows // block[0]), -(-columns // block[1]))
    return jnp.repeat(jnp.repeat(groups, block[1], axis=1)[:, :columns], block[0], axis=0)[:rows]


def _largest(magnitudes: Any, layout: Layout) -> Any:
    """The largest of the integers of each group, in the shape of the scales as a matrix."""
    block = block_of(layout.granularity)
    if layout.granularity == "tensor":
        return jnp.max(magnitudes, keepdims=True, initial=0)
    if block is None:
        return jnp.max(magnitudes, axis=1, keepdims=True, initial=0)
    (rows, columns), (height, width) = magnitudes.shape, block
    down, across = -(-rows // height), -(-columns // width)
    padded = jnp.pad(magnitudes, ((0, down * height - rows), (0, across * width - columns)))
    return jnp.max(padded.reshape(down, height, across, width), axis=(1, 3))


def _unpacked(codes: Any, layout: Layout) -> Any:
    """Codes as a matrix of int32."""
    rows, columns = matrix_of(layout.shape, layout.granularity)
    stored = codes.reshape(rows, stored_columns(columns, layout.packing)).astype(jnp.int32)
    if layout.packing == "bytes":
        return stored
    if layout.packing == "six-bit":
        word = stored[:, 0::3] | stored[:, 1::3] << 8 | stored[:, 2::3] << 16
        parts = [word >> 6 * j & 63 for j in range(4)]
    else:
        parts = [stored & 15, stored >> 4]
        if layout.packing == "nibbles-high":
            parts.reverse()
    matrix = jnp.stack(parts, axis=-1)
    return matrix.reshape(rows, matrix.shape[1] * len(parts))[:, :columns]


def _packed(matrix: Any, layout: Layout) -> Any:
    """A matrix of codes as it is stored."""
    if layout.packing == "bytes":
        return matrix
    unit = 4 if layout.packing == "six-bit" else 2
    matrix = jnp.pad(matrix.astype(jnp.int32), ((0, 0), (0, -matrix.shape[1] % unit)))
    parts = [matrix[:, i::unit] for i in range(unit)]
    if unit == 2:
        low, high = parts if layout.packing == "nibbles-low" else reversed(parts)
        return low | high << 4
    word = parts[0] | parts[1] << 6 | parts[2] << 12 | parts[3] << 18
    stored = jnp.stack([word >> 8 * j & 255 for j in range(3)], axis=-1)
    return stored.reshape(matrix.shape[0], stored.shape[1] * 3)


def _parts(plan: ScalePlan, x: Any, name: str) -> dict[str, Any]:
    """Codes and scales as a container has them, in array operations."""
    k, layout = plan.kernel, Layout(x.shape, plan.layout.format, plan.layout.granularity, plan.layout.packing, plan.layout.scale)
    word = words_of(k, x, plan.seed, name, 0)
    matrix = x.reshape(matrix_of(x.shape, layout.granularity))
    word = None if word is None else word.reshape(matrix.shape)
    scales, over = None, None
    if plan.is_biased or layout.scale is not None:
        scales, over = _chosen(plan, matrix, layout)
    if scales is None:
        codes = encode_by(k, matrix, word)
    elif plan.is_biased:
        codes = encode_by(k, matrix, word, _spread(scales, layout))
    elif plan.rule in POWER_RULES:
        # Where a scale is NaN, codes are those of the largest one.
        codes = encode_by(k, matrix, word, _spread(127 - jnp.minimum(scales, 254), layout))
    else:
        with jax.enable_x64(True):
            wide = _wide(matrix) if over is None else _wide(matrix) * _wide(over)
            unit = _wide(scales) if plan.scale_kernel is None else decode_by(plan.scale_kernel, scales, jnp.float64)
            codes = encode_by(k, wide / _spread(unit, layout))
    stored = _packed(codes, layout).astype(jnp.uint8 if k.width <= 8 else jnp.uint16)
    entry = {"shape": x.shape, "packing": layout.packing, "granularity": layout.granularity}
    parts = {"": stored.reshape(_quantized._native_shape(entry, x.shape))}
    if scales is not None:
        dtype = jnp.dtype(jnp.uint8) if plan.is_biased else jnp.dtype(_quantized._scale_dtype(layout.scale or ""))
        of_bits = dtype.kind not in "iu" and scales.dtype != dtype
        scales = lax.bitcast_convert_type(scales.astype(jnp.uint16), dtype) if of_bits else scales.astype(dtype)
        parts["_bias" if plan.is_biased else "_scale"] = scales.reshape(scale_shape(x.shape, layout.granularity))
    if over is not None:
        parts["_global_scale"] = over.reshape(())
    return parts


def _chosen(plan: ScalePlan, matrix: Any, layout: Layout) -> tuple[Any, Any]:
    """Biases or codes of scales of groups, those of binary32 as floats; and what divides them."""
    bits, floats = integers(matrix)
    lib, magnitudes = library_of(floats), bits & ~floats.sign
    infinite = floats.field << floats.fraction
    finite = jnp.where(magnitudes < infinite, magnitudes, 0)
    if plan.bias is not None:
        return jnp.full(scale_shape(layout.shape, layout.granularity), plan.bias, jnp.int32), None
    amax = _largest(finite, layout)
    exponent, significand = _bits.split(lib, floats, amax)
    fraction, lost = significand & ((1 << floats.fraction) - 1), 52 - floats.fraction
    top, top_fraction = plan.top
    if plan.is_biased:
        # The largest bias at which 2**margin times the largest magnitude is in the range.
        bias = top - exponent - (fraction > top_fraction >> lost).astype(exponent.dtype)
        bias = jnp.clip(bias - plan.margin, *plan.bias_range)
        return jnp.where(amax > 0, bias, plan.default_bias).astype(jnp.int32), None
    # Elements that can't say NaN leave it to their group.
    leaves_nan = Format(layout.scale).has_nan and not Format(layout.format).has_nan
    is_nan = (_largest(magnitudes, layout) >= infinite) & leaves_nan
    if plan.rule in POWER_RULES:
        scale = exponent - top + (fraction >= -(-plan.threshold >> lost)).astype(exponent.dtype)
        scale = jnp.where(amax > 0, jnp.clip(scale, -127, 127), -127).astype(jnp.int32) + 127
        return jnp.where(is_nan, 255, scale), None
    # amax / max, rounded once to the format of the scales; float64 holds enough of these quotients.
    with jax.enable_x64(True):
        largest, over = _wide(lax.bitcast_convert_type(amax, jnp.float32)), None
        if plan.global_rule is not None:
            over = _global_scale(plan, jnp.max(largest, initial=0.0))
            largest = largest * _wide(over)
        wanted = jnp.where(is_nan, math.nan, jnp.where(largest > 0, largest / plan.largest, 1.0))
        if plan.scale_kernel is None:
            scale = _cast(jnp.clip(wanted, plan.least_scale, float(_F32.max)), jnp.dtype(jnp.float32))
            return scale, over
        return encode_by(plan.scale_kernel, jnp.maximum(wanted, plan.least_scale)).astype(jnp.int32), over


def _global_scale(plan: ScalePlan, amax: Any) -> Any:
    """The number of float32 that divides all scales."""
    known = jnp.where(amax > 0, amax, 1.0)
    if plan.global_rule == "amax":
        over = jnp.clip(_cast(plan.largest_product / known, jnp.dtype(jnp.float32)), float(_F32.tiny), float(_F32.max))
    else:
        bits = lax.bitcast_convert_type(known, jnp.int64)
        exponent, fraction = (bits >> 52) - 1023, bits & ((1 << 52) - 1)
        top, top_fraction = plan.top_product
        exponent = jnp.clip(top - exponent - (fraction > top_fraction).astype(jnp.int64), -126, 127)
        over = lax.bitcast_convert_type(((exponent + 127) << 23).astype(jnp.int32), jnp.float32)
    return jnp.where(amax > 0, over, jnp.float32(1))


def _parts_by_core(config: Config, entry: dict[str, Any], x: Any, name: str) -> dict[str, Any]:
    """Codes and scales by the compiled part, on the CPU."""
    # A list of values has none for what is not finite: that is refused.
    how: dict[str, Any] = {"name": name, "threads": 1, **({} if config.is_list else {"nonfinite": "preset"})}
    found = _quantized.quantize(np.zeros(x.shape, np.float32), config, **how)._parts

    def on_cpu(bits: Any) -> dict[str, Any]:
        return _quantized.quantize(np.asarray(bits).view(x.dtype), config, **how)._parts

    shapes = {part: jax.ShapeDtypeStruct(array.shape, array.dtype) for part, array in found.items()}
    # As integers, since subnormal numbers may become zeros on the way.
    bits = lax.bitcast_convert_type(x, jnp.dtype(f"uint{8 * x.dtype.itemsize}"))
    return jax.pure_callback(on_cpu, shapes, bits, vmap_method="sequential")
