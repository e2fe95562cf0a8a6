"""Exact sums, products and means of rows of codes, and functions that the kernels lack, each
rounded once."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .._core import Format, decode, encode
from .values import float_dtype


def values(codes: Any, fmt: Format) -> Any:
    """Values in float64, exactly."""
    if float_dtype(fmt) is None:
        raise TypeError(f"values of {fmt} are not all exact in float64: smallfloat.ops computes with them")
    return np.asarray(decode(codes, fmt, dtype=np.float64))


def rows(codes: Any, axis: Any, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """What is reduced as the rows of a matrix, and the shape of the results."""
    axes = range(codes.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    # For NumPy's errors about axes.
    np.empty((0,) * codes.ndim, bool).any(axis=tuple(axes))
    axes = sorted({range(codes.ndim)[a] for a in axes})
    kept = [a for a in range(codes.ndim) if a not in axes]
    length = math.prod(codes.shape[a] for a in axes)
    count = math.prod(codes.shape[a] for a in kept)
    shape = tuple(1 if a in axes else n for a, n in enumerate(codes.shape)) if keepdims else tuple(codes.shape[a] for a in kept)
    return np.ascontiguousarray(codes.transpose(*kept, *axes)).reshape(count, length), shape


_LARGEST = float(np.finfo(np.float64).max)


def number(x: float | Fraction | decimal.Decimal) -> np.float64:
    """A float64 that is to every value of a format what a Python number is to it."""
    if isinstance(x, decimal.Decimal) and not x.is_finite():
        x = float(x)
    return np.float64(x if isinstance(x, float) else _to_odd(Fraction(x)))


def _to_odd(exact: Fraction) -> float:
    """The float64 of which every format of at most 50 bits of precision makes what it makes of the
    number itself."""
    try:
        near = float(exact)
    except OverflowError:
        # Its last bit is odd, and no format's value is so near to the end of float64's range.
        return _LARGEST if exact > 0 else -_LARGEST
    difference = exact - Fraction(near)
    if difference and not _is_odd(near):
        near = math.nextafter(near, math.inf if difference > 0 else -math.inf)
    return near


def _is_odd(x: float) -> bool:
    return bool(int(np.float64(x).view(np.uint64)) & 1)


def _sum_to_odd(x: list[float]) -> float:
    """The sum of floats, rounded to odd, as `_to_odd` has it."""
    try:
        near = math.fsum(x)
        rest = math.fsum([*x, -near])
    except OverflowError:
        return _to_odd(sum(map(Fraction, x), Fraction(0)))
    if rest and not _is_odd(near):
        near = math.nextafter(near, math.inf if rest > 0 else -math.inf)
    return near


def _grid_bits(fmt: Format) -> int:
    """How many bits an integer needs that counts the largest value in units of the smallest."""
    return math.frexp(max(fmt.max, -fmt.min))[1] - math.frexp(fmt.smallest_positive)[1] + fmt.precision + 1


def _special(x: Any, result: Callable[[Any], float]) -> float:
    """Sums of rows with NaN or infinities are NumPy's; of finite numbers, `result`'s."""
    if np.isfinite(x).all():
        return result(x)
    with np.errstate(invalid="ignore"):
        return float(x[~np.isfinite(x)].sum())


def sums(codes: Any, fmt: Format) -> Any:
    """Of each row."""
    x = values(codes, fmt)
    if _grid_bits(fmt) + max(x.shape[1], 1).bit_length() <= 53:
        # Every partial sum is exact in float64.
        with np.errstate(invalid="ignore"):
            return encode(x.sum(axis=1), fmt)
    found = [_special(row, lambda row: _sum_to_odd(row.tolist())) for row in x]
    return encode(np.array(found, np.float64), fmt)


def means(codes: Any, fmt: Format) -> Any:
    """Of each row."""
    x = values(codes, fmt)
    if not x.shape[1]:
        raise ValueError("the mean of no elements has no value")
    found = [_special(row, lambda row: _to_odd(_exact_sum(row, fmt) / len(row))) for row in x]
    return encode(np.array(found, np.float64), fmt)


def _exact_sum(x: Any, fmt: Format) -> Fraction:
    if _grid_bits(fmt) + len(x).bit_length() <= 53:
        return Fraction(float(x.sum()))
    distinct, counts = np.unique(x, return_counts=True)
    return sum((Fraction(v) * c for v, c in zip(distinct.tolist(), counts.tolist(), strict=True)), Fraction(0))


def products(codes: Any, fmt: Format) -> Any:
    """Of each row."""
    found = []
    for row in values(codes, fmt):
        if np.isfinite(row).all() and row.all():
            mantissas, exponents = np.frexp(row)
            integers = (mantissas * 2.0**fmt.precision).astype(np.int64).tolist()
            found.append(_power_of_two_times(math.prod(integers), int(exponents.sum()) - fmt.precision * len(row)))
        else:
            with np.errstate(invalid="ignore"):
                found.append(float(np.prod(np.where(np.isfinite(row) & (row != 0), np.sign(row), row))))
    return encode(np.array(found, np.float64), fmt)


def _power_of_two_times(integer: int, exponent: int) -> float:
    """integer * 2**exponent to odd; beyond float64's range the largest or the smallest float, which
    round as it does."""
    top = abs(integer).bit_length() + exponent
    if top > 1024 or top < -1100:
        return math.copysign(_LARGEST if top > 0 else math.ulp(0.0), 1 if integer > 0 else -1)
    return _to_odd(Fraction(integer) * Fraction(2) ** exponent)


# Functions without an exact version in the kernels. NumPy computes them in float64; where its
# result is so close to a place where rounding changes that its error could matter, 60 decimal
# digits decide.

_DIGITS = decimal.Context(prec=60, Emin=-999999, Emax=999999, traps=[])
_PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
#: NumPy's documented errors are 4 units in the last place, 2^-50.
_MARGIN = 2.0**-47


def _cube_root(x: decimal.Decimal) -> decimal.Decimal:
    if not x:
        return x
    root = _DIGITS.power(abs(x), _DIGITS.divide(decimal.Decimal(1), decimal.Decimal(3)))
    short = decimal.Context(prec=40).plus(root)
    return (short if _DIGITS.power(short, 3) == abs(x) else root).copy_sign(x)


def _log_of_sum(x: decimal.Decimal, y: decimal.Decimal) -> decimal.Decimal:
    high, low = max(x, y), min(x, y)
    return _DIGITS.add(high, _DIGITS.ln(_DIGITS.add(decimal.Decimal(1), _DIGITS.exp(_DIGITS.subtract(low, high)))))


def _log2_of_sum(x: decimal.Decimal, y: decimal.Decimal) -> decimal.Decimal:
    two = _DIGITS.ln(decimal.Decimal(2))
    high, low = max(x, y), min(x, y)
    power = _DIGITS.exp(_DIGITS.multiply(_DIGITS.subtract(low, high), two))
    return _DIGITS.add(high, _DIGITS.divide(_DIGITS.ln(_DIGITS.add(decimal.Decimal(1), power)), two))


FUNCTIONS: dict[Any, Callable[..., decimal.Decimal]] = {
    np.cbrt: _cube_root,
    np.log10: lambda x: _DIGITS.log10(x),
    np.deg2rad: lambda x: _DIGITS.divide(_DIGITS.multiply(x, _PI), decimal.Decimal(180)),
    np.radians: lambda x: _DIGITS.divide(_DIGITS.multiply(x, _PI), decimal.Decimal(180)),
    np.rad2deg: lambda x: _DIGITS.divide(_DIGITS.multiply(x, decimal.Decimal(180)), _PI),
    np.degrees: lambda x: _DIGITS.divide(_DIGITS.multiply(x, decimal.Decimal(180)), _PI),
    np.logaddexp: _log_of_sum,
    np.logaddexp2: _log2_of_sum,
    np.power: lambda x, y: _DIGITS.power(x, y),
    np.float_power: lambda x, y: _DIGITS.power(x, y),
}


def rounded(ufunc: Any, codes: list[Any], fmt: Format) -> Any:
    """A function of `FUNCTIONS`, rounded once."""
    operands = np.broadcast_arrays(*[values(c, fmt) for c in codes])
    with np.errstate(all="ignore"):
        near = np.asarray(ufunc(*operands))
        low, high = encode(near * (1 - _MARGIN), fmt), encode(near * (1 + _MARGIN), fmt)
    result = np.asarray(encode(near, fmt))
    # Near zero a float64 may have lost digits that the format has, but no format of a float64's
    # range is so fine.
    open_ = np.isfinite(near) & (near != 0) & (np.asarray(low) != np.asarray(high))
    for at in np.argwhere(open_):
        where = tuple(at)
        number = FUNCTIONS[ufunc](*[decimal.Decimal(float(x[where])) for x in operands])
        result[where] = fmt.parse(f"{number:e}")
    return result
