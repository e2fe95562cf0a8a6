"""What `smallfloat.BiasController` does, in tensor operations on the device of the tensors it
learns from.

The state is the tensor that `Quantizer` holds: bias, steps, changes, unused, the length of the
history, the history. Nothing here waits for the device: decisions are selections.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from .._core import Format
from ..kernel import Kernel
from ._device import count_events, finite_amax, has_float_kernels
from ._least_error import least_error
from ._round import constant_kernel, encode_by

FIXED_PART = 5
NOTHING = torch.iinfo(torch.int64).min
#: Larger than every bias.
_NO_BIAS = 64


def of_all_ranks(x: torch.Tensor, by: str) -> torch.Tensor:
    """A tensor reduced over all ranks, by the group's own backend of the tensor's device."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return x
    x = x.clone()
    dist.all_reduce(x, op=getattr(dist.ReduceOp, by))
    return x


@torch.compiler.assume_constant_result
def _facts(fmt: str) -> tuple[int, int, int]:
    """The least and the largest bias of a format, and that for tensors of zeros."""
    made = Format(fmt, bias=0)
    return (*made.bias_range, (1 << (made.exponent_bits - 1)) - 1)


def holding(k: Kernel, amax: torch.Tensor) -> torch.Tensor:
    """The largest biases that hold magnitudes of float64, beyond the legal range too; any for
    zeros."""
    bits = torch.where(amax > 0, amax, 1.0).view(torch.int64)
    exponent, fraction = (bits >> 52) - 1023, bits & ((1 << 52) - 1)
    # The largest value has all bits of its significand.
    return k.highest - exponent - (fraction > (((1 << k.trailing) - 1) << (52 - k.trailing))).to(torch.int64)


def _percentile(k: Kernel, x: torch.Tensor, percent: float) -> torch.Tensor:
    """`holding` of the magnitude that this percentage of the finite elements does not exceed."""
    magnitude = x.reshape(-1).to(torch.float64).abs()
    finite, nonzero = torch.isfinite(magnitude), torch.isfinite(magnitude) & (magnitude > 0)
    places = (holding(k, magnitude.clamp(2.0**-150, 2.0**128)) + 256).clamp(0, 511)
    counts = torch.zeros(512, dtype=torch.int64, device=x.device).scatter_add(0, places, nonzero.to(torch.int64))
    total = finite.sum()
    seen = (total - nonzero.sum()) + counts.flip(0).cumsum(0)
    reached = (seen.to(torch.float64) >= total.to(torch.float64) * percent / 100.0) & (counts.flip(0) > 0)
    # Small magnitudes, which large biases hold, come first.
    return 511 - reached.to(torch.int32).argmax() - 256


def choose_bias(x: torch.Tensor, fmt: str, policy: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The bias for a tensor by 'auto', 'percentile', 'amax' or a number, and whether the tensor has
    a magnitude to choose it by."""
    k, (low, high, _) = constant_kernel(fmt, is_biased=True), _facts(fmt)
    kind, _, rest = policy.partition(":")
    if kind in ("auto", "mse"):
        return least_error(k, x, (low, high))
    amax = finite_amax(x)
    if kind == "percentile":
        return _percentile(k, x, float(rest)).clamp(low, high), amax > 0
    return (holding(k, amax) - _margin(rest)).clamp(low, high), amax > 0


def _margin(settings: str) -> int:
    return int(settings.partition("margin=")[2].split(",")[0] or 0)


def tensor_bias(x: torch.Tensor, fmt: str, policy: str) -> torch.Tensor:
    """The bias for a tensor, that of IEEE 754's formats with as many exponent bits for zeros."""
    bias, is_known = choose_bias(x, fmt, policy)
    return torch.where(is_known, bias, _facts(fmt)[2])


def learn(x: torch.Tensor, state: torch.Tensor, fmt: str, policy: str, learns: bool) -> torch.Tensor:
    """The bias for a tensor; the state is changed where it learns."""
    k, (low, high, _) = constant_kernel(fmt, is_biased=True), _facts(fmt)
    kind, _, rest = policy.partition(":")
    # Ranks talk only where all of them come by, which is in training.
    of_all = of_all_ranks if learns else lambda x, by: x
    bias, steps, changes, unused, length = state[:FIXED_PART].unbind()
    history = state[FIXED_PART:]

    def moved(wanted: torch.Tensor, when: Any) -> torch.Tensor:
        return torch.where(when, wanted.clamp(low, high), bias)

    if kind == "delayed":
        amax = of_all(finite_amax(x), "MAX")
        held, has_magnitude = holding(k, amax), amax > 0
        bias = used = torch.where(steps == 0, moved(held, has_magnitude), bias)
        if not learns:
            return used
        count = history.shape[0]
        place = torch.arange(count, device=x.device)
        shifted = torch.where(length == count, history.roll(-1), history)
        history = torch.where(place == length.clamp(max=count - 1), torch.where(has_magnitude, held, NOTHING), shifted)
        length = (length + 1).clamp(max=count)
        known = history != NOTHING
        least = torch.where(known, history, torch.iinfo(torch.int64).max).amin()
        bias = moved(torch.where(known.any(), least, 0) - _margin(rest), known.any())
    elif kind == "flags":
        amax = of_all(finite_amax(x), "MAX")
        bias = used = torch.where(steps == 0, moved(holding(k, amax), amax > 0), bias)
        if not learns:
            return used
        overflowed, topmost, second, nonzero = of_all(code_use(k, x, bias), "SUM").unbind()
        patience = int(rest.partition("=")[2])
        is_used = (nonzero > 0) | (overflowed > 0)
        up = (overflowed == 0) & (topmost == 0) & ((second == 0) | (unused + 1 >= patience))
        more = torch.where((overflowed > 0) | (topmost > 0) | up, 0, unused + 1)
        unused = torch.where(is_used, more, unused)
        bias = moved(bias + up.to(torch.int64) - (overflowed > 0).to(torch.int64), is_used)
    elif kind == "amax":
        amax = of_all(finite_amax(x), "MAX")
        bias = used = moved(holding(k, amax) - _margin(rest), amax > 0)
    elif kind in ("auto", "mse", "percentile"):
        chosen, is_known = choose_bias(x, fmt, policy)
        least = of_all(torch.where(is_known, chosen, _NO_BIAS), "MIN")
        bias = used = torch.where(least < _NO_BIAS, least, bias)
    else:
        used = bias
    if not learns:
        return used
    if kind in ("delayed", "flags", "amax"):
        changes = changes + (bias != (used if kind != "amax" else state[0])).to(torch.int64)
        steps = steps + 1
    state.copy_(torch.cat([torch.stack([bias, steps, changes, unused, length]), history]))
    return used


def code_use(k: Kernel, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Elements that overflow, codes in the topmost binade and in the one below it, elements that
    are not zero."""
    if has_float_kernels(x):
        counts = count_events(k, x, bias)
        elements = x.numel()
        return torch.stack([counts[0], counts[6], counts[7], elements - (counts[2] - counts[1])])
    wide = x.reshape(-1).to(torch.float64)
    codes = encode_by(k, x.reshape(-1), bias.to(torch.int32))
    field = (codes >> k.trailing) & ((1 << (k.width - k.signed - k.trailing)) - 1)
    top = k.largest >> k.trailing
    # Halfway between the largest value and what would follow it goes up, since its significand is
    # all ones.
    bits = wide.abs().view(torch.int64)
    exponent, fraction = (bits >> 52) - 1023 + bias, bits & ((1 << 52) - 1)
    half = ((2 << k.trailing) - 1) << (51 - k.trailing)
    beyond = (exponent > k.highest) | ((exponent == k.highest) & (fraction >= half))
    beyond = (beyond & torch.isfinite(wide)) | (torch.isinf(wide) & bool(k.flags[1][0] & 4))
    return torch.stack([each.sum() for each in (beyond, field == top, field == top - 1, wide != 0)])
