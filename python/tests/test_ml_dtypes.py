"""Codes equal to those of ml_dtypes, for all its formats.

Known differences, each tested for what it is:

* E8M0 from bfloat16 and binary32 between 2^-127 and 1.5 * 2^-127, where both have subnormals:
  ml_dtypes gives 2^-126, the nearest power of two is 2^-127.
* From binary64 ml_dtypes rounds to binary32 first, so twice.
"""

import ml_dtypes
import numpy as np
import pytest
from common import ML_DTYPES, every_bfloat16, every_float16, random_bits

import smallfloat as sf


def theirs(x, name):
    with np.errstate(all="ignore"):
        return x.astype(getattr(ml_dtypes, name)).view(np.uint8)


def agree(x, name):
    ours, other = sf.encode(x, name, preset="ml-dtypes"), theirs(x, name)
    differ = ours != other
    if name == "float8_e8m0fnu":
        with np.errstate(invalid="ignore"):
            wrong = (x > 2.0**-127) & (x < 1.5 * 2.0**-127)
        assert np.all(ours[wrong] == 0) and np.all(other[wrong] == 1)
        differ &= ~wrong
    assert not differ.any(), (x[differ][:5], ours[differ][:5], other[differ][:5])


@pytest.mark.parametrize("name", ML_DTYPES)
def test_every_binary16_and_bfloat16(name):
    agree(every_float16(), name)
    agree(every_bfloat16(), name)


@pytest.mark.parametrize("name", ML_DTYPES)
def test_random_binary32(name):
    for seed in range(4):
        agree(random_bits(1 << 22, np.float32, seed), name)


@pytest.mark.parametrize("name", ML_DTYPES)
def test_decoding(name):
    fmt = sf.Format(name)
    codes = np.arange(fmt.max_code + 1, dtype=np.uint8)
    view = codes.view(getattr(ml_dtypes, name))
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        ours, expected = sf.decode(codes, fmt, dtype=dtype), view.astype(dtype)
        np.testing.assert_array_equal(ours.astype(np.float64), expected.astype(np.float64))
        assert np.array_equal(np.signbit(ours), np.signbit(expected) & ~np.isnan(expected))
        # The codes' dtype says what they are.
        assert np.array_equal(sf.decode(view, dtype=dtype).view(np.uint8), ours.view(np.uint8))


@pytest.mark.parametrize("name", ML_DTYPES)
def test_views(name):
    x = random_bits(1000, np.float32)
    fmt = sf.Format(name)
    codes = sf.encode(x, fmt)
    assert fmt.ml_dtype == np.dtype(getattr(ml_dtypes, name))
    assert np.array_equal(codes.view(fmt.ml_dtype).view(np.uint8), codes)
    out = np.empty(x.shape, fmt.ml_dtype)
    assert sf.encode(x, fmt, out=out) is out
    assert np.array_equal(out.view(np.uint8), codes)


def test_binary64_is_rounded_once():
    # 1 + 2^-4 is the tie between 1 and 1.125; a little more than it is not, and vanishes in
    # binary32.
    x = np.array([1 + 2.0**-4 + 2.0**-40])
    assert sf.decode(sf.encode(x, "e4m3fn"), "e4m3fn") == 1.125
    assert x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32) == 1.0


@pytest.mark.parametrize("name", ML_DTYPES)
def test_finfo(name):
    expected, ours = ml_dtypes.finfo(getattr(ml_dtypes, name)), sf.finfo(name)
    fields = "bits max min smallest_normal smallest_subnormal nmant nexp iexp".split()
    # E8M0 has neither sign nor subnormals; ml_dtypes counts its fields in another way.
    for field in fields if name != "float8_e8m0fnu" else ("bits", "max", "smallest_normal"):
        assert float(getattr(expected, field)) == getattr(ours, field), field
