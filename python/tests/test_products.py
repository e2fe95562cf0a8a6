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


def test_matrix_units():
    # 256 and 31 products of 2^-6: 13 fraction bits after 2^8 end at 2^-5, 25 hold them.
    x = sf.encode([16.0] + [0.125] * 31, "e4m3fn")
    sums = {"hopper": 256.0, "fused:k=32,fraction=14": 256.484375, "blackwell": 256.484375, "ada": 256.0, "volta": 256.484375}
    for how, expected in sums.items():
        assert sf.dot(x, x, "e4m3fn", accumulate=how) == expected, how
    # One rounding more, into the result.
    assert sf.decode(sf.dot(x, x, "e4m3fn", to="e5m2", accumulate="hopper"), "e5m2") == 256.0
    a, b = (sf.encode(RNG.standard_normal(shape), "bfloat16") for shape in [(3, 40), (40, 9)])
    product = sf.matmul(a, b, "bfloat16", accumulate="cdna3")
    np.testing.assert_allclose(product, sf.decode(a, "bfloat16") @ sf.decode(b, "bfloat16"), rtol=1e-4, atol=1e-5)
    for i, j in np.ndindex(product.shape):
        assert product[i, j] == sf.dot(a[i], b[:, j], "bfloat16", accumulate="cdna3")
    mixed = sf.matmul(a, sf.encode(np.ones((40, 1)), "e4m3fn"), "bfloat16", "e4m3fn", accumulate="blackwell")
    assert mixed.shape == (3, 1)
    with pytest.raises(ValueError, match="rtx-blackwell, cdna1"):
        sf.dot(x, x, "e4m3fn", accumulate="pascal")
    for name, message in [
        ("hoper", "unknown accumulator `hoper`, did you mean `hopper`"),
        ("pascal", "unknown accumulator `pascal`: write f32"),
        ("shp", "`shp` needs a bias"),
        ("e3m2", "`e3m2` is ambiguous"),
    ]:
        with pytest.raises(ValueError, match=message):
            sf.matmul(a, b, "bfloat16", accumulate=name)
    with pytest.raises(ValueError, match="no instruction"):
        sf.matmul(a, b, "bfloat16", accumulate="volta")
    with pytest.raises(ValueError, match="multiple of k"):
        sf.dot(x, x, "e4m3fn", accumulate="hopper:promote=100")


def test_errors():
    with pytest.raises(ValueError, match="at most 8"):
        sf.matmul(np.zeros((2, 2), np.uint16), np.zeros((2, 2), np.uint16), "binary16")
    with pytest.raises(ValueError, match="last axis of a has 3"):
        sf.matmul(codes(2, 3), codes(2, 3), "e4m3fn")
    with pytest.raises(ValueError, match="at least one axis"):
        sf.matmul(np.uint8(1), codes(2, 3), "e4m3fn")
    with pytest.raises(ValueError, match="use matmul"):
        sf.dot(codes(2, 3), codes(3), "e4m3fn")
