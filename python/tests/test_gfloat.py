"""Values equal to those of gfloat: rounding modes, saturation, and the three kinds of stochastic
rounding.

gfloat computes in binary64; its sources here are binary32, so its significands are exact. Known
differences:

* E8M0 is left out: gfloat's has no zero and no rule for numbers below its smallest.
* gfloat has no rounding to odd.
* gfloat raises where a format without NaN meets a NaN; only finite numbers are compared there.
"""

import gfloat
import numpy as np
import pytest
from common import random_bits, same_numbers
from gfloat import RoundMode, formats

import smallfloat as sf

MODES = {
    "nearest-even": RoundMode.TiesToEven,
    "nearest-away": RoundMode.TiesToAway,
    "toward-zero": RoundMode.TowardZero,
    "toward-positive": RoundMode.TowardPositive,
    "toward-negative": RoundMode.TowardNegative,
}
STOCHASTIC = {
    "stochastic-a": RoundMode.StochasticFastest,
    "stochastic-b": RoundMode.StochasticFast,
    "stochastic-c": RoundMode.Stochastic,
}


def pairs():
    yield "e4m3fn", formats.format_info_ocp_e4m3
    yield "e5m2", formats.format_info_ocp_e5m2
    yield "e3m2fn", formats.format_info_ocp_e3m2
    yield "e2m3fn", formats.format_info_ocp_e2m3
    yield "e2m1fn", formats.format_info_ocp_e2m1
    yield "binary16", formats.format_info_binary16
    yield "bfloat16", formats.format_info_bfloat16
    for k in (4, 6, 8):
        for p in sorted({1, 3, k - 1}):
            for domain, letter in ((gfloat.Domain.Finite, "f"), (gfloat.Domain.Extended, "e")):
                signed = gfloat.Signedness.Signed
                yield f"binary{k}p{p}s{letter}", formats.format_info_p3109(k, p, signed, domain)


PAIRS = list(pairs())


def numbers(info):
    """Random numbers of the format's range and around it, all its values, the midpoints between
    them."""
    codes = np.arange(2 ** min(info.k, 12))
    values = np.array([gfloat.decode_float(info, int(code)).fval for code in codes])
    values = np.unique(values[np.isfinite(values)])
    between = (values[1:] + values[:-1]) / 2
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(20000) * np.exp2(rng.uniform(-20, 20, 20000))
    edge = rng.uniform(0.9, 1.2, 2000) * np.max(values)
    x = np.concatenate([values, between, spread, edge, -edge, [0.0, -0.0]])
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    return x[np.isfinite(x)]


def check(name, info, x, theirs, saturation, **how):
    fmt = sf.Format(name)
    ours = sf.decode(sf.encode(x, fmt, saturation=saturation, **how), fmt, dtype=np.float64)
    assert same_numbers(ours, theirs), (name, how)


@pytest.mark.parametrize("name, info", PAIRS, ids=[name for name, _ in PAIRS])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sat", [True, False])
def test_rounding_modes(name, info, mode, sat):
    has_way_out = info.num_nans > 0 or info.domain == gfloat.Domain.Extended
    if not sat and not has_way_out:
        pytest.skip("a format of numbers only always saturates")
    x = numbers(info)
    if has_way_out:
        x = np.concatenate([x, np.array([np.inf, -np.inf], np.float32)])
    theirs = gfloat.round_ndarray(info, x.astype(np.float64), MODES[mode], sat)
    check(name, info, x, theirs, "satfinite" if sat else "satnone", rounding=mode)


def philox(seed, stream, count):
    """Philox4x32-10 of Salmon et al. (2011), in NumPy: the words of elements 0..count."""
    blocks = np.arange(-(-count // 4), dtype=np.uint64)
    low, mask = np.uint64(0xFFFFFFFF), 0xFFFFFFFF
    c = [blocks & low, blocks >> np.uint64(32)]
    c += [np.full_like(blocks, stream & mask), np.full_like(blocks, stream >> 32)]
    k = [seed & mask, seed >> 32]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]),
            p1 & low,
            (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]),
            p0 & low,
        ]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return np.stack(c, axis=1).reshape(-1)[:count].astype(np.int64)


@pytest.mark.parametrize("name, info", PAIRS, ids=[name for name, _ in PAIRS])
@pytest.mark.parametrize("mode", STOCHASTIC)
@pytest.mark.parametrize("bits", [1, 5, 16])
def test_stochastic_rounding(name, info, mode, bits):
    x = numbers(info)
    seed, stream = 0x1234567890ABCDEF, 0xFEDCBA0987654321
    words = philox(seed, stream, x.size) >> (32 - bits)
    theirs = gfloat.round_ndarray(info, x.astype(np.float64), STOCHASTIC[mode], True, words, bits)
    check(name, info, x, theirs, "satfinite", rounding=mode, seed=seed, stream=stream, random_bits=bits)


def test_philox_known_answer():
    # Random123's kat_vectors, philox 4x32-10 of zeros.
    assert philox(0, 0, 4).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("name, info", PAIRS, ids=[name for name, _ in PAIRS])
def test_decoding(name, info):
    fmt = sf.Format(name)
    theirs = [gfloat.decode_float(info, code).fval for code in range(fmt.max_code + 1)]
    assert same_numbers(fmt.values(), theirs)
