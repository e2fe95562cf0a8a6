"""gfloat's own tests with this package's conversions in the place of gfloat's.

`round_float`, `round_ndarray`, `encode_float`, `encode_ndarray`, `decode_float` and
`decode_ndarray` are replaced before the tests are imported, in the package and in its modules, so
that blocks go through them too; the tests themselves are as they are.
"""

import sys

import gfloat
import numpy as np
from gfloat import Domain, FloatClass, FloatValue, RoundMode

import smallfloat as sf


class NoFormat(Exception):
    """A test asks for a format or a rounding that this package has not."""


_OCP = {
    "ocp_e5m2": "e5m2",
    "ocp_e4m3": "e4m3fn",
    "ocp_e2m3": "e2m3fn",
    "ocp_e3m2": "e3m2fn",
    "ocp_e2m1": "e2m1fn",
    "ocp_e8m0": "e8m0fnu",
}
_ROUNDINGS = {
    RoundMode.TowardZero: "toward-zero",
    RoundMode.TowardNegative: "toward-negative",
    RoundMode.TowardPositive: "toward-positive",
    RoundMode.TiesToEven: "nearest-even",
    RoundMode.TiesToAway: "nearest-away",
    RoundMode.Stochastic: "stochastic-c",
    RoundMode.StochasticFast: "stochastic-b",
    RoundMode.StochasticFastest: "stochastic-a",
}


def format_of(fi):
    """The format that a `FormatInfo` describes."""
    if fi.is_twos_complement:
        raise NoFormat("a format in two's complement")
    if fi.name.startswith("p3109_"):
        if fi.k < 3 or (fi.is_signed and fi.precision == fi.k):
            raise NoFormat("a format of two bits, or a signed one with P = K, which P3109 has not")
        return sf.Format.p3109(fi.k, fi.precision, signed=fi.is_signed, extended=fi.domain == Domain.Extended)
    return sf.Format(_OCP.get(fi.name, fi.name))


def _has_way_out(fi):
    return fi.domain == Domain.Extended or fi.num_nans > 0


def round_ndarray(fi, v, rnd=RoundMode.TiesToEven, sat=False, srbits=None, srnumbits=0):
    fmt = format_of(fi)
    if type(v).__module__.startswith("array_api_strict"):
        raise NoFormat("arrays of array_api_strict, of which no library computes")
    if rnd not in _ROUNDINGS:
        raise NoFormat("stochastic rounding whose first rounding is to odd")
    if fmt == sf.Format("binary64"):
        return v
    library = sf._interop.library(v)
    if library.__name__ == "jax.numpy":
        import smallfloat.jax as sfj

        return sfj.round(v, fmt, rounding=_ROUNDINGS[rnd], saturation="satfinite" if sat else None)
    is_nan, is_infinite = library.isnan(v), library.isinf(v)
    if library is np and not fi.num_nans and is_nan.any():
        raise ValueError(f"No NaN in format {fi}")
    if library is np and not sat and not _has_way_out(fi) and (is_infinite | (abs(v) > fmt.max)).any():
        raise ValueError(f"No Infs or NaNs in format {fi}, and sat=False")
    how = {"rounding": _ROUNDINGS[rnd], "saturation": "satfinite" if sat else "satnone"}
    if how["rounding"].startswith("stochastic"):
        how |= {"words": srbits, "random_bits": srnumbits}
    if library.__name__ == "torch" and "words" not in how:
        import smallfloat.torch as sft

        return sft.round(v, fmt, **how)
    return sf.round(v, fmt, **how)


def round_float(fi, v, rnd=RoundMode.TiesToEven, sat=False, srbits=-1, srnumbits=0):
    return float(round_ndarray(fi, np.asarray(v, np.float64), rnd, sat, np.asarray(srbits), srnumbits))


def encode_ndarray(fi, v):
    """Numbers of the format; others go toward zero, and beyond its range to infinity, NaN or the
    largest."""
    fmt = format_of(fi)
    if fi.k > 31:
        codes = np.asarray(v, fmt.dtype).view(f"u{fmt.dtype.itemsize}").astype(np.uint64)
        return np.where(np.isnan(v), np.uint64(fi.code_of_nan), codes)
    beyond = np.abs(v) > fmt.max if fi.is_signed else v > fmt.max
    saturation = "satnone" if _has_way_out(fi) else "satfinite"
    # What lies beyond is infinity in gfloat, whatever the rounding.
    x = np.where(beyond & np.isfinite(v), np.copysign(np.inf, v), v) if _has_way_out(fi) else v
    codes = sf.encode(x, fmt, rounding="toward-zero", saturation=saturation).astype(np.uint64)
    # There are several NaNs, and gfloat makes one of them.
    return np.where(np.isnan(sf.decode(codes, fmt, dtype=np.float64)), fi.code_of_nan, codes) if fi.num_nans else codes


def encode_float(fi, v):
    return int(encode_ndarray(fi, np.asarray([v], np.float64))[0])


def decode_ndarray(fi, codes, np=np):
    fmt = format_of(fi)
    codes = np.asarray(codes)
    if fi.k > 31:
        return codes.astype(f"u{fmt.dtype.itemsize}").view(fmt.dtype).astype(np.float64)
    return sf.decode(codes.astype(fmt.dtype), fmt, dtype=np.float64)


_CLASSES = {"subnormal": FloatClass.SUBNORMAL, "normal": FloatClass.NORMAL, "zero": FloatClass.ZERO, "infinity": FloatClass.INFINITE}


def decode_float(fi, i):
    """gfloat's record of a code, of which value and class are this package's."""
    assert isinstance(i, int)
    if not 0 <= i < 2**fi.k:
        raise ValueError(f"Code point {i} not in range [0, 2**{fi.k})")
    fmt = format_of(fi)
    theirs = _decode_float(fi, i)
    value = float(decode_ndarray(fi, np.asarray(i, np.uint64)))
    if fi.k > 31:
        return theirs.__class__(**{**vars(theirs), "fval": value})
    kind = next((kind for word, kind in _CLASSES.items() if fmt.classify(i).endswith(word)), FloatClass.NAN)
    return FloatValue(i, value, theirs.exp, theirs.expval, theirs.significand, theirs.fsignificand, theirs.signbit, kind)


_decode_float = gfloat.decode_float


def install():
    """From now on gfloat converts by this package."""
    for name in ("round_float", "round_ndarray", "encode_float", "encode_ndarray", "decode_float", "decode_ndarray"):
        theirs, ours = getattr(gfloat, name), globals()[name]
        for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "gfloat"]:
            if getattr(module, name, None) is theirs:
                setattr(module, name, ours)


REASONS = {}
IMPOSSIBLE = "ask for two's complement (OCP INT8), for stochastic rounding by way of round-to-odd, for arrays of array_api_strict, or for formats of two bits and signed ones with P = K, which P3109 has not"
SKIPPED = "skipped by gfloat"
