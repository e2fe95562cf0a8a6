"""A conversion to or from a format as plain constants, for kernels outside of the compiled part.

The constants are those of `smallfloat_kernels::KernelConstants`. `kernel` turns a `Format` and a
rounding into a `Kernel`: integers that one integer algorithm takes, whatever the format. The
functions of `smallfloat.torch` and `smallfloat.jax` are that algorithm (`smallfloat._bits`) in
tensors of either library, and a kernel in any other language can take the same constants.

>>> from smallfloat.kernel import kernel
>>> k = kernel("e4m3fn")
>>> k.trailing, k.lowest, k.highest, hex(k.largest), k.nan
(3, -6, 8, '0x7e', (127, 255))
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from . import _core
from ._core import Format

#: Rounding modes that kernels have.
ROUNDINGS = (
    "nearest-even",
    "nearest-away",
    "toward-positive",
    "toward-negative",
    "toward-zero",
    "to-odd",
    "stochastic-a",
)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What a kernel needs to know of a format of up to 16 bits and of a projection.

    An *index* is a code without its sign. Indices go on past the largest finite value as the grid
    does with unbounded exponent. Pairs are for a positive and a negative operand.

    Attributes
    ----------
    name : str
        The format.
    width : int
        Bits of a code; the sign, if there is one, is the highest.
    trailing : int
        Bits of the significand behind the hidden one, t: the significand of a float of w bits is
        shifted by w - 1 - t.
    lowest, highest : int
        Exponents of the lowest and the highest binade.
    largest : int
        The index of the largest finite value.
    first_normal : int
        The index of the smallest normal value.
    lowest_index : int
        The index of 2**lowest, whether or not that is a value.
    signed, has_zero : bool
    subnormals : str
        'gradual', 'tesla' (half the spacing, and a hole below the smallest normal value), 'flush'
        or 'none'.
    infinity_index : int
        The index of infinity, -1 if there is none. Larger indices are NaN.
    nan_is_negative_zero : bool
        Whether the code of -0 is NaN.
    rounding : str
        One of `ROUNDINGS`.
    random_bits : int
        N of stochastic rounding.
    zero, overflow, infinity, nan : (int, int)
        The codes of zeros, of finite values beyond the range, of infinities and of NaNs. In
        unsigned formats the second of `overflow` is that of all negative values that do not round
        to zero.
    flags : three pairs of int
        The bits of `smallfloat.Flags` that overflow, infinities and NaNs raise by Tesla's rules.
    has_gap : bool
        Whether two neighbours are more than a step apart: below the smallest normal value, or above
        zero.
    steps : int
        The width of that gap in steps; 1 where there is none.
    """

    name: str
    width: int
    trailing: int
    lowest: int
    highest: int
    largest: int
    first_normal: int
    lowest_index: int
    signed: bool
    has_zero: bool
    subnormals: str
    infinity_index: int
    nan_is_negative_zero: bool
    rounding: str
    random_bits: int
    zero: tuple[int, int]
    overflow: tuple[int, int]
    infinity: tuple[int, int]
    nan: tuple[int, int]
    flags: tuple[tuple[int, int], ...]
    has_gap: bool
    steps: int


@functools.lru_cache(maxsize=1024)
def _kernel(
    fmt: Format, preset: str | None, rounding: str | None, saturation: str | None, random_bits: int
) -> Kernel:
    if fmt.width > 16:
        raise ValueError(f"{fmt} has {fmt.width} bits: kernels have formats of up to 16 bits")
    rounding = rounding or _default_rounding(fmt, preset)
    if rounding not in ROUNDINGS:
        named = ", ".join(map(repr, ROUNDINGS))
        raise ValueError(f"rounding={rounding!r} is not one that kernels have: write one of {named}")
    parameters = _core.KernelConstants(fmt, preset, rounding, saturation, random_bits).parameters()
    return Kernel(name=fmt.name, random_bits=random_bits, **{**parameters, "flags": tuple(parameters["flags"])})


def _default_rounding(fmt: Format, preset: str | None) -> str:
    """To nearest even, except where ml_dtypes rounds a scale."""
    e8m0 = fmt.specials == "e8m0" and (preset or fmt.default_preset) == "ml-dtypes"
    return "nearest-away" if e8m0 else "nearest-even"


def kernel(
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    random_bits: int = 32,
) -> Kernel:
    """The constants of a conversion.

    Parameters
    ----------
    fmt : Format or str
        Of up to 16 bits.
    preset, rounding, saturation, random_bits :
        As of `smallfloat.encode`; stochastic-b and -c are not among the roundings.
    """
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    return _kernel(fmt, preset, rounding, saturation, random_bits)


def checked_seed(k: Kernel, seed: int | None) -> int | None:
    """The seed, or None where the rounding takes no random words; one that is missing or unused is
    refused."""
    if k.rounding != "stochastic-a" and seed is not None:
        raise ValueError(f"seed is for stochastic rounding, and this rounding is {k.rounding!r}: leave it out")
    if k.rounding == "stochastic-a" and seed is None:
        raise ValueError("rounding='stochastic-a' needs a seed, an integer in 0..2**64")
    return seed


def words(seed: int, stream: int | str | None, first_element: int = 0) -> tuple[tuple[int, int], tuple[int, int], int]:
    """The key and the stream of Philox4x32-10 as pairs of 32 bits, low half first, and the first
    element."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is an integer in 0..2**64, not {seed}")
    if isinstance(stream, str):
        import hashlib

        stream = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")
    stream = stream or 0
    if not 0 <= stream < 2**64:
        raise ValueError(f"stream is an integer in 0..2**64 or the name of a tensor, not {stream}")
    halves = [(number & 0xFFFFFFFF, number >> 32) for number in (seed, stream)]
    return halves[0], halves[1], first_element
