"""Kernels in Triton as operators of torch, which `torch.compile` sees through. Imported where a
device has Triton."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any, Optional

import torch

from ..kernel import Kernel
from ._triton import launch
from ._triton.launch import Blocks

#: What `counts` counts, in order; the last six are elements that raised each flag.
EVENTS = ("overflowed", "underflowed", "zeros", "nans", "infinities", "nan_results", "topmost", "second")
_FLAGS = 6


@functools.lru_cache(maxsize=4096)
def key_of(k: Kernel) -> str:
    """A kernel as text, since operators take no other constants."""
    return json.dumps(dataclasses.asdict(k))


@functools.lru_cache(maxsize=4096)
def _kernel_of(key: str) -> Kernel:
    fields = json.loads(key)
    pairs = {name: tuple(fields[name]) for name in ("zero", "overflow", "infinity", "nan")}
    return Kernel(**{**fields, **pairs, "flags": tuple(map(tuple, fields["flags"]))})


def _operator(name: str) -> Any:
    """Registers a function that launches kernels, also for the interpreter."""

    def register(fn: Any) -> Any:
        op = torch.library.triton_op(f"smallfloat::{name}", fn, mutates_args=())
        op.register_kernel("cpu")(fn)
        return op

    return register


def _words(numbers: list[int], held: torch.Tensor | None) -> Any:
    if held is not None or not numbers:
        return held
    return tuple(numbers[:2]), tuple(numbers[2:4]), numbers[4]


@_operator("device_convert")
def convert(
    operation: str,
    key: str,
    x: torch.Tensor,
    dtype: torch.dtype,
    shift: Optional[torch.Tensor],
    numbers: list[int],
    held: Optional[torch.Tensor],
    keep: bool,
) -> torch.Tensor:
    """Encodes, decodes or rounds; random words follow from five numbers or from three in memory."""
    return launch.convert(operation, _kernel_of(key), x, dtype, shift=shift, words=_words(numbers, held), keep=keep)


@convert.register_vmap
def _(info, in_dims, operation, key, x, dtype, shift, numbers, held, keep):
    if in_dims[2] is not None and in_dims[4] is None and not numbers and held is None:
        return torch.ops.smallfloat.device_convert(operation, key, x, dtype, shift, numbers, held, keep), in_dims[2]
    # A random word belongs to an element's index in its own example.
    xs = [x] * info.batch_size if in_dims[2] is None else x.unbind(in_dims[2])
    shifts = [shift] * info.batch_size if in_dims[4] is None else shift.unbind(in_dims[4])
    each = [
        torch.ops.smallfloat.device_convert(operation, key, one, dtype, by, numbers, held, keep)
        for one, by in zip(xs, shifts, strict=True)
    ]
    return torch.stack(each), 0


@_operator("device_counts")
def counts(
    key: str, x: torch.Tensor, shift: Optional[torch.Tensor], numbers: list[int], held: Optional[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes, and counts of `EVENTS` and flags in int64."""
    k = _kernel_of(key)
    found = torch.zeros(len(EVENTS) + _FLAGS, dtype=torch.int64, device=x.device)
    dtype = torch.uint8 if k.width <= 8 else torch.int16
    return launch.convert("encode", k, x, dtype, shift=shift, words=_words(numbers, held), counts=found), found


@_operator("device_amax")
def amax(x: torch.Tensor) -> torch.Tensor:
    """The largest finite magnitude, in float32."""
    return launch.amax_bits(x).view(torch.float32).reshape(())


@_operator("device_error_table")
def error_table(x: torch.Tensor, trailing: int, hole: bool) -> torch.Tensor:
    """`_least_error.error_table`."""
    return launch.error_table(x, trailing, hole)


def _blocks(lengths: list[int], words: str) -> Blocks:
    packing, scale, scale_format = words.split()
    return Blocks(*lengths[:3], packing, lengths[3], scale, scale_format)


@_operator("device_quantize_blocks")
def quantize_blocks(
    key: str,
    x: torch.Tensor,
    over: Optional[torch.Tensor],
    lengths: list[int],
    words: str,
    values: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of a matrix in blocks, or its values by these. `lengths` are the numbers of
    `Blocks`, then those of the rule for powers of two; `words` its other fields, with spaces
    between."""
    blocks = _blocks(lengths, words)
    return launch.quantize_blocks(_kernel_of(key), x, blocks, (lengths[4], lengths[5]), lengths[6], over, values)


@_operator("device_dequantize_blocks")
def dequantize_blocks(
    key: str,
    codes: torch.Tensor,
    scales: torch.Tensor,
    over: Optional[torch.Tensor],
    lengths: list[int],
    words: str,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Values of codes and scales, as a matrix."""
    blocks = _blocks(lengths, words)
    return launch.dequantize_blocks(_kernel_of(key), codes, scales, blocks, over, dtype)
