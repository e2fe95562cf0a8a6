"""Tensors with scales, biases or blocks, as tensor operations."""

from __future__ import annotations

import math
from typing import Any

import torch

from .._config import Config, Layout, block_of, matrix_of, stored_columns
from .._scales import POWER_RULES, ScalePlan, scale_plan
from ..kernel import Kernel
from ._round import constant_kernel, decode_by, encode_by, words_of

_CAST = {torch.float16: "binary16", torch.bfloat16: "bfloat16"}


def _unpacked(codes: torch.Tensor, shape: tuple[int, ...], layout: Layout) -> torch.Tensor:
    """Codes as a matrix of int32."""
    rows, columns = matrix_of(shape, layout.granularity)
    width = stored_columns(columns, layout.packing)
    stored = (codes.view(torch.int16) if codes.dtype == torch.uint16 else codes).reshape(rows, width)
    stored = stored.to(torch.int32)
    if layout.packing == "bytes":
        return stored if codes.dtype == torch.uint8 else stored & 0xFFFF
    if layout.packing == "six-bit":
        word = stored[:, 0::3] | stored[:, 1::3] << 8 | stored[:, 2::3] << 16
        parts = [word >> 6 * j & 63 for j in range(4)]
    else:
        parts = [stored & 15, stored >> 4]
        if layout.packing == "nibbles-high":
            parts.reverse()
    return torch.stack(parts, dim=-1).reshape(rows, width * len(parts) // (3 if len(parts) == 4 else 1))[:, :columns]


def _spread(scales: torch.Tensor, shape: tuple[int, ...], granularity: str) -> torch.Tensor:
    """Numbers of groups in the shape of the matrix, or one that is broadcast to it."""
    rows, columns = matrix_of(shape, granularity)
    if granularity == "tensor":
        return scales.reshape(1, 1)
    block = block_of(granularity)
    if block is None:
        return scales.reshape(rows, 1)
    height, width = block
    across, down = -(-columns // width), -(-rows // height)
    # By indices: inductor (torch 2.15) reads the last group of a row wrongly where it is expanded and cut.
    spread = scales.reshape(down, across)[:, torch.arange(columns, device=scales.device) // width]
    return spread if height == 1 else spread[torch.arange(rows, device=scales.device) // height]


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of float64 in another dtype, rounded once; torch's own conversion to half precision rounds twice."""
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
    k = constant_kernel(layout.format, None, None, None, 32, is_biased)
    matrix = _unpacked(codes, shape, layout)
    if scales is None:
        return decode_by(k, matrix, dtype).reshape(shape)
    if is_biased:
        return decode_by(k, matrix, dtype, _spread(-scales.to(torch.int32), shape, layout.granularity)).reshape(shape)
    if layout.scale == "e8m0fnu" and over is None:
        field = _spread(scales.to(torch.int32), shape, layout.granularity)
        values = decode_by(k, matrix, dtype, field - 127)
        return torch.where(field == 255, math.nan, values).reshape(shape)
    # Products of few bits are exact in float64, and so near to their quotients that rounding again is rounding once.
    unit = _spread(_scale_values(scales, layout.scale), shape, layout.granularity)
    values = decode_by(k, matrix, torch.float64) * unit
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
def key_of(fmt: Any, how: tuple[tuple[str, Any], ...]) -> str:
    """The key of a configuration from its parts."""
    return Config(fmt, **dict(how)).key()


def _exponent(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of positive normal numbers of float64: the exponent, and the fraction in 52 bits."""
    bits = x.view(torch.int64)
    return (bits >> 52) - 1023, bits & ((1 << 52) - 1)


def _largest(x: torch.Tensor, shape: tuple[int, ...], granularity: str) -> torch.Tensor:
    """The largest magnitudes of groups, in float64, in the shape of the matrix or one that is broadcast to it."""
    rows, columns = matrix_of(shape, granularity)
    x = x.abs()
    if granularity == "tensor":
        return x.amax().reshape(1, 1).to(torch.float64)
    block = block_of(granularity)
    if block is None:
        return x.amax(dim=1, keepdim=True).to(torch.float64)
    height, width = block
    down, across = -(-rows // height), -(-columns // width)
    padded = torch.nn.functional.pad(x, (0, across * width - columns, 0, down * height - rows))
    groups = padded.reshape(down, height, across, width).amax(dim=(1, 3))
    return _spread(groups, shape, granularity).to(torch.float64)


def simulate(plan: ScalePlan, x: torch.Tensor, seed: int | None = None, stream: Any = None) -> torch.Tensor:
    """What quantizing and dequantizing makes of a finite tensor, in tensor operations."""
    if x.numel() == 0:
        return x
    k, shape, granularity = plan.kernel, tuple(x.shape), plan.layout.granularity
    seed = plan.seed if seed is None else seed
    word = words_of(k, x, seed, stream, 0)
    matrix = x.reshape(matrix_of(shape, granularity))
    word = None if word is None else word.reshape(matrix.shape)
    if not plan.is_biased and plan.layout.scale is None:
        return _through(k, matrix, 0, word).reshape(x.shape)
    if plan.bias is not None:
        return _through(k, matrix, plan.bias, word).reshape(x.shape)
    amax = _largest(matrix, shape, granularity)
    known = torch.where(amax > 0, amax, 1.0)
    exponent, fraction = _exponent(known)
    top, top_fraction = plan.top
    if plan.is_biased:
        # The largest bias at which 2**margin times the largest magnitude is in the range.
        bias = top - exponent - (fraction > top_fraction).to(torch.int64)
        bias = torch.clamp(bias - plan.margin, *plan.bias_range)
        bias = torch.where(amax > 0, bias, plan.default_bias).to(torch.int32)
        return _through(k, matrix, bias, word).reshape(x.shape)
    if plan.rule in POWER_RULES:
        scale = torch.clamp(exponent - top + (fraction >= plan.threshold).to(torch.int64), -127, 127)
        scale = torch.where(amax > 0, scale, -127).to(torch.int32)
        return _through(k, matrix, -scale, word).reshape(x.shape)
    # amax / max, rounded once to the format of the scales; float64 holds enough of these quotients.
    wide, over = matrix.to(torch.float64), None
    if plan.global_rule is not None:
        over = _global_scale(plan, wide.abs().amax())
        amax, wide = amax * over, wide * over
    unit = _nearest_scale(plan, torch.where(amax > 0, amax / plan.largest, 1.0))
    values = decode_by(k, encode_by(k, wide / unit), torch.float64) * unit
    return cast(values if over is None else values / over, x.dtype).reshape(x.shape)


def _through(k: Kernel, x: torch.Tensor, shift: Any, word: torch.Tensor | None) -> torch.Tensor:
    return decode_by(k, encode_by(k, x, shift, word), x.dtype, -shift)


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
