"""Exact values of codes, and operands of any kind as codes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .._core import Format, decode, encode
from .._interop import codes as as_codes
from .._interop import dtype_name, is_array


def format_of(fmt: Any) -> Format:
    """A format whose elements are codes."""
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    if fmt.dtype.kind != "u":
        raise ValueError(f"{fmt} has no codes here: its numbers are NumPy's own arrays of {fmt.dtype}")
    return fmt


@functools.lru_cache(maxsize=1024)
def float_dtype(fmt: Format) -> np.dtype[Any] | None:
    """The smaller of float32 and float64 in which all values are exact."""
    for name, dtype in (("binary32", np.float32), ("binary64", np.float64)):
        if fmt.fits_in(name):
            return np.dtype(dtype)
    return None


def mixed(one: Any, other: Any) -> TypeError:
    return TypeError(
        f"an array of {one} and one of {other} don't mix: convert one with astype, or use smallfloat.ops, "
        "whose operands may differ"
    )


def is_strong(x: Any) -> bool:
    """Whether an operand is NumPy's, so that NumPy computes with values, in its own dtypes."""
    if is_array(x) or isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        return False
    dtype = x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x).dtype
    if dtype.kind == "u":
        raise TypeError(
            f"an operand is {dtype}, and may be codes or numbers: write smallfloat.Array(codes, format), "
            "or convert numbers to floats"
        )
    if dtype.kind not in "bifc" and dtype_name(dtype) is None:
        raise TypeError(f"an operand has the dtype {dtype}, which is no number")
    return dtype_name(dtype) in (None, "float16", "float32", "float64")


def operand(x: Any, fmt: Format, weak: bool = False) -> Any:
    """Codes of `fmt`: of an array of this format, or of numbers, which are rounded.

    NumPy's arrays are numbers only where `weak` is given: where they are assigned.
    """
    if is_array(x):
        if x.format != fmt:
            raise mixed(fmt, x.format)
        return x.codes
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        if isinstance(x, int) and abs(x) > 2**53:
            from .exact import number

            x = number(x)
        return encode(x, fmt)
    found = x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)
    name = dtype_name(found.dtype)
    if name is not None and name not in ("float16", "float32", "float64"):
        if Format(name) != fmt:
            raise mixed(fmt, name)
        return as_codes(np.asarray(found), fmt)
    if not weak:
        raise TypeError(f"an operand has the dtype {found.dtype}, not the format {fmt}")
    is_strong(found)
    return encode(found, fmt)


def order(codes: Any, fmt: Format) -> Any:
    """Floats that stand in the order of the values, NaN for NaN: the values where a float can hold
    them, else ranks."""
    dtype = float_dtype(fmt)
    return np.asarray(decode(codes, fmt, dtype=dtype)) if dtype is not None else _ranks(fmt)[codes]


@functools.lru_cache(maxsize=16)
def _ranks(fmt: Format) -> Any:
    """For each code its rank among all values; zeros are equal."""
    sign = (fmt.max_code + 1) // 2 if fmt.signed else fmt.max_code + 1
    ranks = np.array([code if code < sign else -float(code - sign) for code in range(fmt.max_code + 1)], np.float64)
    ranks[[fmt.classify(code) == "nan" for code in range(fmt.max_code + 1)]] = np.nan
    return ranks
