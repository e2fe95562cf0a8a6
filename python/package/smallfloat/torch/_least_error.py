"""The bias with the least squared error, exactly, in tensor operations that wait for nothing.

The squared error of a bias is a sum of integers, of which each belongs to a power of two: what an
element loses is an integer in units of its own last place. That integer does not depend on the bias
but on where the range lies beside the element's exponent: in the normal range, in the highest
binade (which may saturate), above it, or so many binades below. `error_table` has the sum of each
case for each exponent, `least_error` puts the sums of 64 biases together from it in integers of 600
bits, and compares these.
"""

from __future__ import annotations

from typing import Any

import torch

from ..kernel import Kernel
from ._device import has_float_kernels, register

#: Columns of the table before those of binades below the range.
_BELOW = 5
_RADIX = 24
_MASK = (1 << _RADIX) - 1
#: The position of the lowest bit of all: squares of the last place of binary32's subnormal numbers, 2**-298, and some.
_OFFSET = 300
_LIMBS = 28


def error_table(x: torch.Tensor, trailing: int, hole: bool) -> torch.Tensor:
    """For each of the 256 exponent fields of binary32: how many elements there are, their sum, the
    sum of their squares, and of the squared errors in each case; squares as their lower 24 bits and
    the rest."""
    if has_float_kernels(x):
        register()
        return torch.ops.smallfloat.device_error_table(x, trailing, hole)
    magnitude = (x.float().view(torch.int32) & 0x7FFFFFFF).reshape(-1).to(torch.int64)
    field = magnitude >> 23
    counts = (field < 255) & (magnitude > 0)
    s = torch.where(counts, (magnitude & 0x7FFFFF) | torch.where(field == 0, 0, 1 << 23), 0)
    places = 23 - trailing
    normal = _nearest(s, s & ((1 << places) - 1), 1 << places, (s >> places) & 1)
    largest = ((2 << trailing) - 1) << places
    errors = [s, normal, torch.where(s > largest, s - largest, normal)]
    for d in range(1, trailing + 3):
        cut = places + d - hole
        whole = s >> cut
        error = _nearest(s, s - (whole << cut), 1 << cut, whole & 1)
        if hole:
            rest = s - (((1 << trailing) - 1) << cut)
            error = torch.where(rest >= 0, _nearest(s, rest, ((1 << trailing) + 1) << cut, 1), error)
        errors.append(error)
    columns = [counts.to(torch.int64), torch.zeros_like(s), s, torch.zeros_like(s)]
    for error in errors:
        square = error * error
        columns += [square & _MASK, square >> _RADIX]
    table = torch.zeros((256, len(columns)), dtype=torch.int64, device=x.device)
    return table.index_add(0, field, torch.stack(columns, -1)).reshape(256, -1, 2)


def _nearest(s: torch.Tensor, rest: Any, interval: int, is_odd: Any) -> torch.Tensor:
    return torch.where(2 * rest + is_odd > interval, interval - rest, rest)


def _put(limbs: torch.Tensor, value: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """Adds integers of up to 60 bits times powers of two to sums in limbs."""
    for part in (value & _MASK, (value >> _RADIX) & _MASK, value >> (2 * _RADIX)):
        limbs = limbs.scatter_add(1, position // _RADIX, part << (position % _RADIX))
        position = position + _RADIX
    return limbs


def squared_errors(k: Kernel, table: torch.Tensor, biases: tuple[int, int]) -> torch.Tensor:
    """The squared error of each bias, as limbs of 24 bits in int64, the lowest first."""
    t, device = k.trailing, table.device
    bias = torch.arange(biases[0], biases[1] + 1, device=device)[:, None]
    field = torch.arange(256, device=device)[None, :]
    exponent = torch.where(field == 0, -126, field - 127)
    lowest, highest = k.lowest - bias, k.highest - bias
    below = lowest - exponent
    deepest = table.shape[1] - _BELOW
    column = torch.where(below > 0, torch.where(below > deepest, 2, 4 + below), torch.where(exponent == highest, 4, 3))
    column = torch.where(field == 0, 2, column)
    beyond = (exponent > highest) & (field > 0)
    column = torch.where(beyond, 2, column)
    unit = exponent - 23
    chosen = table[field, column]
    position = 2 * unit + _OFFSET + torch.zeros_like(bias)
    limbs = torch.zeros((bias.shape[0], _LIMBS), dtype=torch.int64, device=device)
    limbs = _put(limbs, chosen[..., 0], position)
    limbs = _put(limbs, chosen[..., 1], position + _RADIX)
    # Beyond the range, the square of x - max is multiplied out.
    largest, last = (2 << t) - 1, highest - t
    count, total = torch.where(beyond, table[:, 0, 0], 0), torch.where(beyond, table[:, 1, 0], 0)
    cross = unit + last + 1 + _OFFSET
    limbs = _put(limbs, -largest * (total & _MASK), cross)
    limbs = _put(limbs, -largest * (total >> _RADIX), cross + _RADIX)
    limbs = _put(limbs, largest * largest * count, 2 * last + _OFFSET + torch.zeros_like(unit))
    carried, carry = [], 0
    for i in range(_LIMBS):
        limb = limbs[:, i] + carry
        carry = limb >> _RADIX
        carried.append(limb & _MASK)
    return torch.stack(carried, -1)


def least_error(k: Kernel, x: torch.Tensor, biases: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the biases of a range the one with the least squared error, of equals the largest, and
    whether there is a finite magnitude.

    `k` is of the format at the bias 0. NaN and infinities don't count.
    """
    table = error_table(x, k.trailing, k.subnormals == "tesla")
    errors = squared_errors(k, table, biases)
    bias = torch.arange(biases[0], biases[1] + 1, device=x.device)
    remains = torch.ones_like(bias, dtype=torch.bool)
    for i in reversed(range(_LIMBS)):
        limb = torch.where(remains, errors[:, i], 1 << _RADIX)
        remains = remains & (limb == limb.amin())
    return torch.where(remains, bias, biases[0]).amax(), table[:, 0, 0].sum() > 0
