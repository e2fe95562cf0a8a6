"""Which tensors the kernels of blocks serve, and their calls."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .._config import Layout, block_of, matrix_of, stored_columns
from .._core import Format
from ..kernel import Kernel
from ._device import has_float_kernels, has_kernels, key_of

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@torch.compiler.assume_constant_result
def _kind(granularity: str, scale: str | None) -> tuple[int, str] | None:
    """The length of blocks along rows and what their scales are, where kernels have that."""
    return _cached_kind(granularity, scale)


@functools.lru_cache(maxsize=1024)
def _cached_kind(granularity: str, scale: str | None) -> tuple[int, str] | None:
    height, width = block_of(granularity) or (0, 0)
    if height != 1 or width & (width - 1) or not 4 <= width <= 4096:
        return None
    if scale is None:
        return width, "bias"
    if scale == "binary32" or Format(scale).width > 8:
        return None
    return width, "power" if scale == "e8m0fnu" else "number"


def serves(layout: Layout, codes: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether a kernel reads a stored tensor."""
    is_there = has_kernels(codes) and dtype in _FLOATS and codes.numel() > 0
    return is_there and _kind(layout.granularity, layout.scale) is not None


def quantizes(plan: Any, x: torch.Tensor) -> bool:
    """Whether a kernel quantizes a tensor."""
    layout = plan.layout
    if layout.scale is None or plan.kernel.rounding == "stochastic-a" or x.numel() == 0 or not has_float_kernels(x):
        return False
    found = _kind(layout.granularity, layout.scale)
    # A power of two that is not among the rules for such is a quotient, which tensor operations
    # take.
    return found is not None and (found[1] == "number") == (plan.rule == "amax")


def _arguments(layout: Layout, rows: int, columns: int) -> tuple[list[int], list[str]]:
    width, scale = _kind(layout.granularity, layout.scale)
    lengths = [rows, columns, width, stored_columns(columns, layout.packing)]
    return lengths, [layout.packing, scale, layout.scale or "-"]


def quantize(plan: Any, matrix: torch.Tensor, over: torch.Tensor | None, values: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of a matrix, or its values and scales."""
    lengths, words = _arguments(plan.layout, *matrix.shape)
    over = None if over is None else over.to(torch.float64).reshape(1)
    key = key_of(plan.kernel)
    lengths += [*plan.top, plan.threshold]
    return torch.ops.smallfloat.device_quantize_blocks(key, matrix.detach(), over, lengths, " ".join(words), values)


def dequantize(
    layout: Layout,
    k: Kernel,
    codes: torch.Tensor,
    scales: torch.Tensor,
    over: torch.Tensor | None,
    dtype: torch.dtype,
    shape: tuple[int, ...],
) -> torch.Tensor:
    """Values of a stored tensor."""
    lengths, words = _arguments(layout, *matrix_of(shape, layout.granularity))
    if over is not None:
        words[1] = "number"
        over = over.to(torch.float64).reshape(1)
    codes = codes.view(torch.int16) if codes.dtype == torch.uint16 else codes
    key = key_of(k)
    return torch.ops.smallfloat.device_dequantize_blocks(key, codes, scales, over, lengths, " ".join(words), dtype).reshape(shape)
