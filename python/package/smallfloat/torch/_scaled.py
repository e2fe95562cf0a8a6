"""Tensors with scales, biases or blocks, as tensor operations."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from .. import _quantized
from .._config import LISTS, Config, Layout, block_of, matrix_of, scale_shape
from .._scales import POWER_RULES, ScalePlan, scale_plan
from . import _blocks, _learning
from ._device import stays
from ._layout import packed, spread, unpacked
from ._round import constant_kernel, decode_by, encode_by, round_by, words_of

_CAST = {torch.float16: "binary16", torch.bfloat16: "bfloat16"}


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of float64 in another dtype, rounded once; torch's own conversion to half precision
    rounds twice."""
    if dtype not in _CAST:
        return x.to(dtype)
    return encode_by(constant_kernel(_CAST[dtype]), x).to(torch.int32).to(torch.int16).view(dtype)


def dequantize(
    layout: Layout,
    codes: torch.Tensor,
    scales: torch.Tensor | None,
    over: torch.Tensor | None,
    dtype: torch.dtype,
    shape: tuple[int, ...] | None = None,
) -> torch.Tensor:
    """Values of a stored tensor in tensor operations, each rounded once to `dtype`.

    Parameters
    ----------
    codes : Tensor of uint8 or uint16
        Packed as the layout says; those of 16 bits also in int16.
    scales : Tensor or None
        Biases (uint8), or scales as codes or floats.
    over : Tensor or None
        The number that divides all scales.
    shape : tuple of int, optional
        Another shape than the layout's: of some of its rows.
    """
    shape = layout.shape if shape is None else shape
    is_biased = scales is not None and layout.scale is None
    if layout.format in LISTS:
        values = torch.tensor(_list_values(layout.format), dtype=torch.float64, device=codes.device)
        return _product(values[unpacked(codes, shape, layout).long()], layout, scales, over, dtype, shape)
    k = constant_kernel(layout.format, None, None, None, 32, is_biased)
    if scales is not None and _blocks.serves(layout, codes, dtype):
        return _blocks.dequantize(layout, k, codes, scales, over, dtype, shape)
    matrix = unpacked(codes, shape, layout)
    if scales is None:
        return decode_by(k, matrix, dtype).reshape(shape)
    if is_biased:
        return decode_by(k, matrix, dtype, spread(-scales.to(torch.int32), shape, layout.granularity)).reshape(shape)
    if layout.scale == "e8m0fnu" and over is None:
        field = spread(scales.to(torch.int32), shape, layout.granularity)
        values = decode_by(k, matrix, dtype, field - 127)
        return torch.where(field == 255, math.nan, values).reshape(shape)
    return _product(decode_by(k, matrix, torch.float64), layout, scales, over, dtype, shape)


def _product(
    values: torch.Tensor, layout: Layout, scales: Any, over: torch.Tensor | None, dtype: torch.dtype, shape: tuple[int, ...]
) -> torch.Tensor:
    """Elements in float64 times their scales, rounded once: products of few bits are exact there,
    and so near to their quotients that rounding again is rounding once."""
    values = values * spread(_scale_values(scales, layout.scale), shape, layout.granularity)
    if over is not None:
        values = values / over.to(torch.float64)
    return cast(values, dtype).reshape(shape)


def _scale_values(scales: torch.Tensor, fmt: str | None) -> torch.Tensor:
    if scales.is_floating_point():
        return scales.to(torch.float64)
    codes = scales.view(torch.int16) if scales.dtype == torch.uint16 else scales
    return decode_by(constant_kernel(fmt), codes.to(torch.int32) & 0xFFFF, torch.float64)


@torch.compiler.assume_constant_result
def plan_of(key: str, ndim: int) -> ScalePlan:
    """The plan of a configuration."""
    return scale_plan(key, ndim)


@torch.compiler.assume_constant_result
def _list_values(name: str) -> list[float]:
    return LISTS[name][1].tolist()


@torch.compiler.assume_constant_result
def is_list(key: str) -> bool:
    """Whether a configuration is for codes of a list of values."""
    return Config.of_key(key).is_list


@torch.compiler.assume_constant_result
def key_of(fmt: Any, how: tuple[tuple[str, Any], ...]) -> str:
    """The key of a configuration from its parts."""
    return Config(fmt, **dict(how)).key()


def _exponent(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of positive normal numbers of float64: the exponent, and the fraction in 52 bits."""
    bits = x.view(torch.int64)
    return (bits >> 52) - 1023, bits & ((1 << 52) - 1)


def _largest(x: torch.Tensor, granularity: str) -> torch.Tensor:
    """The largest magnitudes of a matrix's groups, in float64, one for each scale."""
    x = x.abs()
    if granularity == "tensor":
        return x.amax().reshape(1, 1).to(torch.float64)
    block = block_of(granularity)
    if block is None:
        return x.amax(dim=1, keepdim=True).to(torch.float64)
    (rows, columns), (height, width) = x.shape, block
    down, across = -(-rows // height), -(-columns // width)
    padded = torch.nn.functional.pad(x, (0, across * width - columns, 0, down * height - rows))
    return padded.reshape(down, height, across, width).amax(dim=(1, 3)).to(torch.float64)


class _Grouped(NamedTuple):
    """A tensor as codes (a matrix of integers) and what groups share: biases or exponents of powers
    of two (int32) or numbers (float64), and the number that divides all of these."""

    codes: torch.Tensor
    scales: torch.Tensor | None
    over: torch.Tensor | None


def _grouped(plan: ScalePlan, x: torch.Tensor, seed: int | None, stream: Any) -> _Grouped:
    """A finite tensor, quantized."""
    k, shape, granularity = plan.kernel, tuple(x.shape), plan.layout.granularity
    word = words_of(k, x, seed, stream, 0)
    matrix = x.reshape(matrix_of(shape, granularity))
    word = None if word is None else word.reshape(matrix.shape)
    if not plan.is_biased and plan.layout.scale is None:
        return _Grouped(encode_by(k, matrix, 0, word), None, None)
    if plan.is_biased:
        bias = _biases(plan, matrix)
        return _Grouped(encode_by(k, matrix, spread(bias, shape, granularity), word), bias, None)
    amax = _largest(matrix, granularity)
    known = torch.where(amax > 0, amax, 1.0)
    if plan.rule in POWER_RULES:
        exponent, fraction = _exponent(known)
        scale = torch.clamp(exponent - plan.top[0] + (fraction >= plan.threshold).to(torch.int64), -127, 127)
        scale = torch.where(amax > 0, scale, -127).to(torch.int32)
        return _Grouped(encode_by(k, matrix, spread(-scale, shape, granularity), word), scale, None)
    # amax / max, rounded once to the format of the scales; float64 holds enough of these quotients.
    wide, over = matrix.to(torch.float64), None
    if plan.global_rule is not None:
        over = _global_scale(plan, wide.abs().amax())
        amax, wide = amax * over, wide * over
    unit = _nearest_scale(plan, torch.where(amax > 0, amax / plan.largest, 1.0))
    return _Grouped(encode_by(k, wide / spread(unit, shape, granularity)), unit, over)


def _biases(plan: ScalePlan, matrix: torch.Tensor) -> torch.Tensor:
    """The biases of a matrix's groups."""
    granularity = plan.layout.granularity
    if plan.bias is not None:
        count = scale_shape(tuple(matrix.shape), granularity)
        return torch.full(count or (1, 1), plan.bias, dtype=torch.int32, device=matrix.device)
    if plan.chosen_by is not None:
        return _learning.tensor_bias(matrix, plan.free_format, plan.chosen_by).to(torch.int32).reshape(1, 1)
    # The largest bias at which 2**margin times the largest magnitude is in the range.
    amax = _learning.finite_amax(matrix).reshape(1, 1) if granularity == "tensor" else _largest(matrix, granularity)
    bias = torch.clamp(_learning.holding(plan.kernel, amax) - plan.margin, *plan.bias_range)
    return torch.where(amax > 0, bias, plan.default_bias).to(torch.int32)


def _in_blocks(plan: ScalePlan, x: torch.Tensor, values: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Values and scales, or packed codes and scales, by a kernel; and the number that divides the
    scales."""
    over = None if plan.global_rule is None else _global_scale(plan, _learning.finite_amax(x))
    matrix = x.reshape(matrix_of(tuple(x.shape), plan.layout.granularity))
    return *_blocks.quantize(plan, matrix, over, values), over


def simulate(plan: ScalePlan, x: torch.Tensor, seed: int | None = None, stream: Any = None) -> torch.Tensor:
    """What quantizing and dequantizing makes of a finite tensor, in tensor operations or by
    kernels."""
    if x.numel() == 0:
        return x
    k, shape, granularity = plan.kernel, tuple(x.shape), plan.layout.granularity
    seed = plan.seed if seed is None else seed
    # One bias, or none: a conversion of elements.
    if plan.layout.scale is None and (not plan.is_biased or plan.bias is not None):
        return round_by(k, x, plan.bias or 0, seed=seed, stream=stream)
    if plan.is_biased and granularity == "tensor":
        bias = _biases(plan, x.reshape(matrix_of(shape, granularity)))
        return round_by(k, x, bias.reshape(()), seed=seed, stream=stream)
    if _blocks.quantizes(plan, x):
        return _in_blocks(plan, x, values=True)[0].reshape(shape)
    codes, scales, over = _grouped(plan, x, seed, stream)
    if plan.is_biased or plan.rule in POWER_RULES:
        shift = spread(-scales if plan.is_biased else scales, shape, granularity)
        return decode_by(k, codes, x.dtype, shift).reshape(shape)
    values = decode_by(k, codes, torch.float64) * spread(scales, shape, granularity)
    return cast(values if over is None else values / over, x.dtype).reshape(shape)


def is_served(plan: ScalePlan, x: torch.Tensor) -> bool:
    """Whether `simulate` and `parts_of` have a plan for a tensor; sums of float64's errors are
    longer than theirs."""
    if x.dtype == torch.float64 and (plan.rule == "amax" or plan.chosen_by is not None):
        return False
    return plan.is_expressible or plan.chosen_by is not None


def plan_for(config: Config, x: torch.Tensor) -> ScalePlan | None:
    """The plan of a configuration if a tensor is to be quantized where it is, and can be."""
    if not stays(x) or config.is_list:
        return None
    plan = plan_of(config.key(), x.ndim)
    return plan if is_served(plan, x) and x.numel() else None


def parts_of(plan: ScalePlan, entry: dict[str, Any], x: torch.Tensor, name: str) -> dict[str, torch.Tensor]:
    """The codes and scales of a finite tensor as the native container has them, by the suffixes of
    their names, on its device."""
    shape = tuple(x.shape)
    if _blocks.quantizes(plan, x):
        codes, scales, over = _in_blocks(plan, x, values=False)
    else:
        codes, scales, over = _grouped(plan, x, plan.seed, plan.stream or name)
        codes = packed(codes, plan.layout.packing, plan.kernel.width)
        if plan.is_biased:
            scales = scales.to(torch.uint8)
        elif plan.rule in POWER_RULES:
            scales = (scales + 127).to(torch.uint8)
        elif scales is not None and plan.scale_kernel is None:
            scales = scales.to(torch.float32)
        elif scales is not None:
            scales = encode_by(plan.scale_kernel, scales)
            scales = scales.to(torch.uint8 if plan.scale_kernel.width <= 8 else torch.int16)
    parts = {"": codes.reshape(_quantized._native_shape(entry, shape))}
    if scales is not None:
        parts["_bias" if plan.is_biased else "_scale"] = scales.reshape(scale_shape(shape, plan.layout.granularity))
    if over is not None:
        parts["_global_scale"] = over.to(torch.float32).reshape(())
    return parts


def _global_scale(plan: ScalePlan, amax: torch.Tensor) -> torch.Tensor:
    """The number of float32 that divides all scales."""
    known = torch.where(amax > 0, amax, 1.0)
    if plan.global_rule == "amax":
        tiny, huge = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
        over = torch.clamp((plan.largest_product / known).to(torch.float32), tiny, huge).to(torch.float64)
    else:
        (exponent, fraction), (top, top_fraction) = _exponent(known), plan.top_product
        exponent = torch.clamp(top - exponent - (fraction > top_fraction).to(torch.int64), -126, 127)
        over = ((exponent + 1023) << 52).view(torch.float64)
    return torch.where(amax > 0, over, 1.0)


def _nearest_scale(plan: ScalePlan, wanted: torch.Tensor) -> torch.Tensor:
    """The scale of a format that is nearest to a positive one, at least its smallest."""
    k = plan.scale_kernel
    if k is None:
        return torch.clamp(wanted.to(torch.float32), plan.least_scale, torch.finfo(torch.float32).max).to(torch.float64)
    return torch.clamp(decode_by(k, encode_by(k, wanted), torch.float64), min=plan.least_scale)
