"""The catalogue: formats as attributes, those whose bias is data as functions of it.

>>> from smallfloat import formats
>>> formats.e4m3fn.max
448.0
>>> formats.cfloat8_1_4_3(bias=11).max
30.0
>>> formats.binary8p3se
Format('binary8p3se')
"""

from __future__ import annotations

from typing import Any, Iterator

from ._core import Format, catalogue

_FREE = {name for name, _, free, _ in catalogue() if free}
_FIXED = {name: Format(name) for name, _, free, _ in catalogue() if not free}


def cfloat8_1_4_3(bias: int, subnormals: str = "tesla") -> Format:
    """Tesla's CFloat8 with 4 exponent and 3 mantissa bits; bias 0..=63."""
    return Format("cfloat8_1_4_3", bias=bias, subnormals=subnormals)


def cfloat8_1_5_2(bias: int, subnormals: str = "tesla") -> Format:
    """Tesla's CFloat8 with 5 exponent and 2 mantissa bits; bias 0..=63."""
    return Format("cfloat8_1_5_2", bias=bias, subnormals=subnormals)


def shp(bias: int, subnormals: str = "tesla") -> Format:
    """Tesla's signed half precision; bias 0..=63."""
    return Format("shp", bias=bias, subnormals=subnormals)


def p3109() -> Iterator[Format]:
    """All 504 formats of the P3109 draft.

    >>> from smallfloat import formats
    >>> sum(1 for _ in formats.p3109())
    504
    """
    for k in range(3, 17):
        for signed in (True, False):
            for p in range(1, k if signed else k + 1):
                for extended in (True, False):
                    yield Format.p3109(k, p, signed=signed, extended=extended)


def __getattr__(name: str) -> Format:
    if name in _FIXED:
        return _FIXED[name]
    if not name.startswith("_"):
        try:
            return Format(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None
    raise AttributeError(f"module 'smallfloat.formats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_FIXED, *_FREE, "p3109"])
