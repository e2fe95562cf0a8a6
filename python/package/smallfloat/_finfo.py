"""Limits of a format, under the names of `numpy.finfo`."""

from __future__ import annotations

import math
from typing import Any

from ._core import Format


class finfo:
    """Machine limits of a format, as `numpy.finfo` and `ml_dtypes.finfo` name them.

    Parameters
    ----------
    fmt : Format or str

    Attributes
    ----------
    bits, nexp, nmant, iexp : int
        Width of a code, of its exponent field and of its trailing significand field; `iexp` is
        `nexp`.
    eps, epsneg : float
        Distance from 1 to the next larger value, with unbounded exponent, and to the next smaller
        one.
    machep, negep : int
        Their exponents.
    max, min, smallest_normal, tiny, smallest_subnormal : float
        Largest and smallest finite value; smallest normal value (`tiny` is the same); smallest
        positive value.
    maxexp, minexp : int
        The smallest power of two that overflows; the exponent of the smallest normal value.
    precision : int
        How many decimal digits are kept.
    resolution : float
        10 ** -precision.
    dtype : numpy.dtype
        Of codes.

    Examples
    --------
    >>> import smallfloat as sf
    >>> sf.finfo("e5m2").max
    57344.0
    >>> sf.finfo("binary8p3se").smallest_subnormal == 2.0**-17
    True
    """

    def __init__(self, fmt: Any) -> None:
        fmt = fmt if isinstance(fmt, Format) else Format(fmt)
        self.format = fmt
        self.dtype = fmt.dtype
        self.bits = fmt.width
        self.nexp = self.iexp = fmt.exponent_bits
        self.nmant = fmt.trailing_bits
        self.eps = fmt.eps
        # Below 1 there may be no normal value.
        gradual = fmt.subnormals == "gradual" and fmt.has_subnormals
        self.epsneg = max(fmt.eps / 2, fmt.smallest_positive) if gradual and fmt.smallest_positive < 1 else fmt.eps / 2
        self.machep, self.negep = math.frexp(self.eps)[1] - 1, math.frexp(self.epsneg)[1] - 1
        self.max, self.min = fmt.max, fmt.min
        self.smallest_normal = self.tiny = fmt.smallest_normal
        self.smallest_subnormal = fmt.smallest_positive
        self.minexp = fmt.exponent_range[0]
        self.maxexp = fmt.exponent_range[1] + 1
        self.precision = int(fmt.trailing_bits * math.log10(2))
        self.resolution = 10.0**-self.precision

    def __repr__(self) -> str:
        return (
            f"finfo({self.format}: bits={self.bits}, max={self.max}, min={self.min}, eps={self.eps}, "
            f"smallest_normal={self.smallest_normal}, smallest_subnormal={self.smallest_subnormal})"
        )
