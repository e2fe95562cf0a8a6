"""The kernel of exact squared errors, from which the bias with the least error follows
(`smallfloat.torch._least_error`).

Errors are in units of the last place of the number itself, so all of them are integers below 2**25.
Whether an element is normal, saturates or lies below the range depends on the bias, but what it
loses there depends on its distance from the range alone: each column of the table is one such case.
"""

# ruff: noqa: ANN
import triton
import triton.language as tl

from .bits import widened

#: Columns of the table: how many elements, their sum, their squares, errors in the normal range, in the highest binade, and from
#: here on in the first, second, … binade below the lowest one.
BELOW = 5


@triton.jit
def _distance(significand, rest, interval, is_odd):
    """What rounding to nearest even of a number `rest` above a value loses."""
    return tl.where(2 * rest + is_odd > interval, interval - rest, rest)


@triton.jit
def _add(table, column: tl.constexpr, row, error, which):
    square = error.to(tl.int64) * error.to(tl.int64)
    square = tl.where(which, square, 0)
    at = table + row + 2 * column
    tl.atomic_add(at, tl.sum(square & 0xFFFFFF, axis=0))
    tl.atomic_add(at + 1, tl.sum(square >> 24, axis=0))


@triton.jit
def _below(significand, TRAILING: tl.constexpr, CUT: tl.constexpr, HOLE: tl.constexpr):
    """What is lost below the lowest binade, where a step is 2**CUT last places of the number."""
    whole = significand >> CUT
    error = _distance(significand, significand - (whole << CUT), 1 << CUT, whole & 1)
    end: tl.constexpr = ((1 << TRAILING) - 1) << CUT
    if HOLE and end < (1 << 24):
        width: tl.constexpr = ((1 << TRAILING) + 1) << CUT
        rest = significand - end
        error = tl.where(rest >= 0, _distance(significand, rest, width, 1), error)
    return error


@triton.jit(do_not_specialize=["n"])
def error_table_kernel(
    x, table, n, FLOAT: tl.constexpr, TRAILING: tl.constexpr, HOLE: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr
):
    """Adds to a table [256 exponent fields, columns, 2] of int64 the lower 24 bits of squares and
    the rest."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    magnitude = widened(tl.load(x + at, mask=at < n, other=0), FLOAT) & 0x7FFFFFFF
    field = magnitude >> 23
    counts = (field < 255) & (magnitude > 0)
    significand = (magnitude & 0x7FFFFF) | tl.where(field == 0, 0, 0x800000)
    least = tl.min(tl.where(counts, field, 255), axis=0)
    most = tl.max(tl.where(counts, field, 0), axis=0)
    places: tl.constexpr = 23 - TRAILING
    low = significand & ((1 << places) - 1)
    normal = _distance(significand, low, 1 << places, (significand >> places) & 1)
    largest: tl.constexpr = ((2 << TRAILING) - 1) << places
    saturated = tl.where(significand > largest, significand - largest, normal)
    for f in range(least, most + 1):
        which = counts & (field == f)
        row = f * (2 * COLUMNS)
        tl.atomic_add(table + row, tl.sum(which.to(tl.int64), axis=0))
        tl.atomic_add(table + row + 2, tl.sum(tl.where(which, significand, 0).to(tl.int64), axis=0))
        _add(table, 2, row, significand, which)
        _add(table, 3, row, normal, which)
        _add(table, 4, row, saturated, which)
        for d in tl.static_range(1, COLUMNS - 4):
            _add(table, 4 + d, row, _below(significand, TRAILING, places + d - HOLE, HOLE), which)
