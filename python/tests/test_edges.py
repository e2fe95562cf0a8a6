"""What a newcomer tries with `Array` and files at their edges: results as NumPy defines them, or a
word of why not."""

from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from common import same_numbers

import smallfloat as sf


@pytest.mark.parametrize("name", ["e5m2", "bfloat16", "binary8p3se", "cfloat8_1_4_3:bias=7"])
def test_extremes_beside_nan_and_infinities(name):
    """fmax and fmin pass over NaN, also where what is left is infinite."""
    inf = np.inf if sf.Format(name).has_infinity else sf.Format(name).max
    nan = np.nan if sf.Format(name).has_nan else 0.0
    rows = [[nan, -inf], [-inf, nan], [nan, inf], [inf, nan], [nan, nan], [inf, -inf], [1.0, nan]]
    a = sf.array(rows, name)
    for ufunc in (np.fmax, np.fmin, np.maximum, np.minimum):
        assert same_numbers(np.asarray(ufunc.reduce(a, axis=1)), ufunc.reduce(np.asarray(a), axis=1))


@pytest.mark.parametrize("name", ["e5m2", "e4m3fn", "minifloat:k=16,p=2,bias=7"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extremes_of_two_zeros(name, ufunc):
    """A reduction and the ufunc agree: -0 is below +0."""
    fmt = sf.Format(name)
    zeros = sf.Array([0, (fmt.max_code + 1) // 2], fmt)
    for a in (zeros, zeros[::-1]):
        assert ufunc.reduce(a).codes == ufunc(a[0], a[1]).codes == (0 if ufunc in (np.maximum, np.fmax) else zeros.codes[1])


@pytest.mark.parametrize("axis", [None, 0, -1, 1, (), (0,)])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"])
def test_reductions_without_dimensions(name, axis):
    """A scalar has no axis; some of NumPy's functions take its first one, others refuse it."""

    def reduced(x):
        try:
            return float(getattr(x, name)(axis=axis))
        except (TypeError, np.exceptions.AxisError) as error:
            return type(error)

    assert reduced(sf.array(1.5, "e4m3fn")) == reduced(np.array(1.5))


def test_outer_rounds_numbers():
    """A Python number is rounded to the format there too."""
    a = sf.array([1.0, 3.0], "e4m3fn")
    for found in (np.multiply.outer(a, 1.1), np.multiply.outer(1.1, a)):
        assert found.format == a.format and found.tolist() == [1.125, 3.5]
    assert np.less.outer(a, 2).tolist() == [True, False]
    assert np.multiply.outer(a, a).tolist() == [[1.0, 3.0], [3.0, 9.0]]
    assert np.multiply.outer(a[0], np.ones(2)).tolist() == [1.0, 1.0]


def test_accumulated_conditions():
    a = sf.array([1.0, 0.0, 2.0], "e4m3fn")
    for ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        assert ufunc.accumulate(a).tolist() == ufunc.accumulate(np.asarray(a)).tolist()
    with pytest.raises(TypeError, match=r"less\.accumulate is not for an Array"):
        np.less.accumulate(a)


def test_what_results_go_into():
    a = sf.array([[1.0, 2.0]] * 3, "e4m3fn")
    for call in (np.add.reduce, np.sum, np.add.accumulate, np.maximum.reduce):
        out = sf.array(np.zeros((4, 2)), "e4m3fn")
        with pytest.raises(ValueError, match=r"out has the shape \(4, 2\), the result has"):
            call(a, axis=0, out=out)
        assert not out.codes.any()
    with pytest.raises(TypeError, match="NumPy's float32, as an operand is: round them"):
        a += np.float32(1)
    with pytest.raises(TypeError, match="signature=dd->d: results have the operands' format"):
        np.add(a, a, signature="dd->d")


def test_exact_numbers_of_python():
    """Fractions and decimals are compared as they are; integers of any size are rounded."""
    a = sf.array([0.5, 1.0, np.nan, np.inf], "e5m2")
    third = Fraction(1, 2) + Fraction(1, 10**40)
    assert (a == Fraction(1, 2)).tolist() == [True, False, False, False]
    assert (a != Fraction(1, 2)).tolist() == [False, True, True, True]
    assert (a < third).tolist() == [True, False, False, False] and not (a == third).any()
    assert (Decimal(1) <= a).tolist() == [False, True, False, True]
    assert (a == Decimal("Infinity")).tolist() == [False, False, False, True]
    wide = sf.array([1.0], "bfloat16")
    tie = 2**60 + 2**52
    for number, expected in ((tie, 2.0**60), (tie + 1, 2.0**60 + 2.0**53), (-tie - 1, -(2.0**60 + 2.0**53)), (10**400, np.inf)):
        assert (wide + number).tolist() == [expected]
        wide[0] = number
        assert wide.tolist() == [expected]
        wide[0] = 1.0


def test_formats_of_printing():
    a = sf.array([1.0, 2.0], "e4m3fn")
    assert f"{a}" == "[1. 2.]" and f"{a[0]:.2f}" == "1.00"
    with pytest.raises(TypeError, match=r"no format '\.2f'"):
        f"{a:.2f}"


def test_dtypes_in_another_byte_order():
    a = sf.array([1.0, 1.5], "e4m3fn")
    for dtype in (">f4", np.dtype(">f8"), ">f2", "<f4", ">i4"):
        found = a.astype(dtype)
        assert found.dtype == np.dtype(dtype) and found.tolist() == np.array([1.0, 1.5]).astype(dtype).tolist()
    assert np.asarray(a, ">f4").dtype == np.dtype(">f4")


def test_where_takes_both():
    a = sf.array([1.0, 2.0], "e4m3fn")
    with pytest.raises(ValueError, match="both or neither"):
        np.where(a > 1, a)


def test_masks_do_not_go_into_files(tmp_path):
    with pytest.raises(TypeError, match="'x' is a masked array"):
        sf.save(tmp_path / "a.safetensors", {"x": np.ma.array([1.0, 2.0], mask=[True, False])})
    assert not list(tmp_path.iterdir())


def test_outputs_of_another_format():
    """Codes never go into an array whose dtype gives them another meaning."""
    x = np.array([0.5, 1.1], np.float32)
    for fmt, dtype in (("e5m2", ml_dtypes.float8_e4m3fn), ("shp:bias=20", np.float16), ("bfloat16", np.float16), ("e2m3fn", ml_dtypes.float6_e3m2fn)):
        out = np.zeros(2, dtype)
        with pytest.raises(TypeError, match=f"out has the dtype {np.dtype(dtype)}, which is not {fmt}"):
            sf.encode(x, fmt, out=out)
        assert not out.astype(np.float32).any()
    for fmt, dtype in (("e5m2", ml_dtypes.float8_e5m2), ("binary16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        out = np.zeros(2, dtype)
        assert sf.encode(x, fmt, out=out) is out and same_numbers(out.astype(np.float32), x.astype(dtype).astype(np.float32))


def test_products_of_vectors_are_scalars():
    x = sf.encode([1.0, 2.0, 3.0], "e5m2")
    for product in (sf.dot, sf.matmul):
        assert isinstance(product(x, x, "e5m2"), np.float32) and product(x, x, "e5m2") == 14
        assert isinstance(product(x, x, "e5m2", to="e5m2"), np.uint8)
        assert product(sf.Array(x, "e5m2"), sf.Array(x, "e5m2"), to="e5m2").shape == ()
