"""Formats: names, attributes, pickling, the catalogue."""

import copy
import pickle

import ml_dtypes
import numpy as np

import smallfloat as sf


def test_attributes():
    f = sf.formats.e4m3fn
    assert (f.name, f.width, f.precision, f.bias, f.exponent_bits, f.trailing_bits) == ("e4m3fn", 8, 4, 7, 4, 3)
    # OCP 8-bit floating point 1.0, table 1.
    assert (f.max, f.min, f.smallest_normal, f.smallest_positive) == (448.0, -448.0, 2.0**-6, 2.0**-9)
    assert (f.has_nan, f.has_infinity, f.has_zero, f.has_negative_zero, f.signed) == (True, False, True, True, True)
    assert f.dtype == np.uint8 and sf.Format("shp:bias=15").dtype == np.uint16
    assert (f.family, f.default_preset, f.bias_range) == ("ml-dtypes", "ml-dtypes", None)
    assert sf.formats.shp(15).bias_range == (0, 63)


def test_identity():
    for f in (sf.formats.e5m2, sf.formats.cfloat8_1_5_2(17, "gradual"), sf.Format("minifloat:k=7,p=3,bias=-4")):
        again = pickle.loads(pickle.dumps(f))
        assert again == f and hash(again) == hash(f) and copy.deepcopy(f) == f and sf.Format(str(f)) == f
        assert f"{f!r}" == f"Format('{f}')"
    # The same values by another standard.
    assert sf.Format("e5m2") != sf.Format.ieee(8, 3)
    assert np.array_equal(sf.Format("e5m2").values(), sf.Format.ieee(8, 3).values(), equal_nan=True)


def test_constructors():
    assert sf.Format.p3109(8, 4, signed=False, extended=False) == sf.Format("binary8p4uf")
    assert sf.Format.minifloat(8, 4, 11, specials="nan-negzero").max == 30.0
    assert sf.formats.cfloat8_1_4_3(7, "gradual").subnormals == "gradual"
    assert sf.formats.cfloat8_1_4_3(7).with_bias(9).bias == 9
    assert sf.Format(ml_dtypes.float8_e4m3fnuz) == sf.formats.e4m3fnuz
    assert sf.Format(np.dtype(ml_dtypes.float4_e2m1fn)) == sf.formats.e2m1fn
    assert sf.Format(np.float16) == sf.formats.binary16
    assert sf.formats.e2m1fn.fits_in("e4m3fn") and not sf.formats.e5m2.fits_in("e4m3fn")


def test_catalogue():
    assert "e4m3b11fnuz" in dir(sf.formats)
    for name in dir(sf.formats):
        one = getattr(sf.formats, name)
        assert callable(one) or isinstance(one, sf.Format)


def test_one_code():
    f = sf.formats.cfloat8_1_4_3(7)
    assert [f.classify(code) for code in (0, 1, 8, 0x7F)] == ["zero", "subnormal", "normal", "normal"]
    # Tesla's paper: no infinities, no NaNs; a denormal is 2^-bias * 0.m.
    assert f.exact(1) == "1p-10" and f.values()[1] == 2.0**-10
    assert f.text(0x7F) == "480" and f.parse("480") == 0x7F
    assert f.parse("1.8131605", rounding="toward-zero") == f.parse("1.75")
