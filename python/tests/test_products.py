"""Dot and matrix products."""

import math

import numpy as np
import pytest

import smallfloat as sf

RNG = np.random.default_rng(5)


def codes(*shape, fmt="e4m3fn"):
    return sf.encode(RNG.standard_normal(shape), fmt)


@pytest.mark.parametrize("shapes", [((5, 7), (7, 3)), ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((2, 1, 5, 7), (4, 7, 3))])
def test_matmul_has_numpys_manners(shapes):
    a, b = codes(*shapes[0]), codes(*shapes[1], fmt="e5m2")
    x, y = sf.decode(a, "e4m3fn", dtype=np.float64), sf.decode(b, "e5m2", dtype=np.float64)
    # Sums of few products of such formats are exact in binary64.
    expected = x @ y
    exact = sf.matmul(a, b, "e4m3fn", "e5m2", to="binary64", accumulate="exact")
    assert np.shape(exact) == np.shape(expected)
    np.testing.assert_array_equal(exact, expected)
    rounded = sf.matmul(a, b, "e4m3fn", "e5m2", to="bfloat16", accumulate="exact")
    np.testing.assert_array_equal(rounded, sf.encode(expected, "bfloat16"))
    assert np.allclose(sf.matmul(a, b, "e4m3fn", "e5m2"), expected, rtol=1e-5)


def test_strided_operands():
    a, b = codes(12, 14)[::2, ::2], codes(9, 7).T
    expected = sf.decode(a, "e4m3fn", dtype=np.float64) @ sf.decode(b, "e4m3fn", dtype=np.float64)
    np.testing.assert_array_equal(sf.matmul(a, b, "e4m3fn", to="binary64", accumulate="exact"), expected)


def test_accumulators():
    x = sf.encode(np.full(4096, 1.0), "e4m3fn")
    assert sf.dot(x, x, "e4m3fn") == 4096
    # A narrow accumulator stops growing at 2^p: 1 more is half a step, and ties go to even.
    assert sf.dot(x, x, "e4m3fn", accumulate="bfloat16") == 256
    y = codes(1000)
    v = sf.decode(y, "e4m3fn", dtype=np.float64)
    assert sf.dot(y, y, "e4m3fn", to="binary64", accumulate="exact") == math.fsum(v * v)


def test_errors():
    with pytest.raises(ValueError, match="at most 8"):
        sf.matmul(np.zeros((2, 2), np.uint16), np.zeros((2, 2), np.uint16), "binary16")
    with pytest.raises(ValueError, match="last axis of a has 3"):
        sf.matmul(codes(2, 3), codes(2, 3), "e4m3fn")
    with pytest.raises(ValueError, match="at least one axis"):
        sf.matmul(np.uint8(1), codes(2, 3), "e4m3fn")
    with pytest.raises(ValueError, match="use matmul"):
        sf.dot(codes(2, 3), codes(3), "e4m3fn")
