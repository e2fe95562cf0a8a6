"""What arrays and arguments of odd kinds give: the right result or an error, and nothing else."""

import copy
import math
import operator
import pickle
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import smallfloat as sf

A = sf.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]], "e4m3fn")
#: Formats as wide as float64.
WIDE = "ieee:k=32,p=21"


# Bytes in another order.


@pytest.mark.parametrize("fmt, dtype", [("binary16", ">f2"), ("bfloat16", ">u2"), ("tf32", ">u4")])
def test_codes_in_another_byte_order(fmt, dtype):
    codes = np.array([0x3C00, 0x3E01, 0x3D55], np.uint16).astype(f"u{np.dtype(dtype).itemsize}")
    other = codes.astype(codes.dtype.newbyteorder(">")).view(dtype)
    assert np.array_equal(sf.decode(other, fmt), sf.decode(codes, fmt))
    assert np.array_equal(sf.Array(other, fmt).codes, codes)


def test_operands_in_another_byte_order():
    x = np.array([1.5, -2.0, 1e30], np.float32).view(np.uint32)
    assert np.array_equal(sf.ops.add(x.astype(">u4"), x.astype(">u4"), "binary32"), 2 * x.view(np.float32))


def test_saved_in_another_byte_order(tmp_path):
    path = tmp_path / "a.safetensors"
    sf.save(path, {"x": np.array([[1.5, 2.0], [3.0, -4.0]], ">f4"), "n": np.array([1, 2], ">i8"), "h": np.array(1.5, ">f2")})
    assert sf.load_values(path)["x"].tolist() == [[1.5, 2.0], [3.0, -4.0]] and sf.load_values(path)["h"] == 1.5


@pytest.mark.parametrize("value", [None, np.zeros(2, complex), np.zeros(2, ml_dtypes.float8_e4m3fn), np.array(["a"])], ids=repr)
def test_what_files_do_not_hold(tmp_path, value):
    with pytest.raises(TypeError, match="'w' has the dtype"):
        sf.save(tmp_path / "a.safetensors", {"w": value})
    with pytest.raises(TypeError, match="words, not int"):
        sf.save(tmp_path / "a.safetensors", {1: np.ones(2)})


# Shapes without elements.


@pytest.mark.parametrize("accumulate", ["f32", "exact", "hopper", "bfloat16"])
@pytest.mark.parametrize("to", ["binary32", "e4m3fn"])
def test_products_of_nothing_are_zero(accumulate, to):
    a, b = np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.uint8)
    found = sf.matmul(a, b, "e4m3fn", accumulate=accumulate, to=to)
    assert found.shape == (2, 3) and not found.any()
    assert sf.dot(a[0], b[:, 0], "e4m3fn", accumulate=accumulate) == 0
    assert sf.matmul(np.zeros((4, 2, 0), np.uint8), b, "e4m3fn", accumulate=accumulate).shape == (4, 2, 3)
    assert (sf.array(np.zeros((2, 0)), "e4m3fn") @ sf.array(np.zeros((0, 3)), "e4m3fn")).tolist() == [[0.0] * 3] * 2


def test_codes_of_an_empty_list():
    assert sf.decode([], "e4m3fn").shape == (0,) and sf.encode([], "e4m3fn").shape == (0,)


# Numbers beside an Array are compared as they are.


@pytest.mark.parametrize("fmt", ["e5m2", "bfloat16", "tf32", WIDE])
def test_numbers_beyond_float64s_integers(fmt):
    top = float(sf.Format(fmt).max)
    a = sf.array([-np.inf, -top, -1.0, 0.0, 1.0, top, np.inf], fmt)
    exact = [-np.inf, *map(Fraction, a.tolist()[1:-1]), np.inf]
    near = int(top) if math.isfinite(top) else 2**1023
    numbers = [near + d for d in (-1, 0, 1)] + [float(near), 2**60 + 1, -(2**60) - 1, 10**400, -(10**400), 1e300, -1e300, float("inf")]
    numbers += [2**53 + 1, float(2**60 + 2**10), math.nextafter(1.0, 2.0), True]
    for number in numbers:
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            compare = getattr(operator, name)
            assert compare(a, number).tolist() == [compare(x, number) for x in exact], (name, number)
    assert (a == math.nan).tolist() == [False] * 7 and (a != math.nan).all()


# Sums and products as large as float64.


def test_sums_and_products_at_the_end_of_float64():
    big = 1.5 * 2.0**1023
    for values, expected in ([[big, big], math.inf], [[big, big, -big], big], [[-big, -big], -math.inf]):
        assert sf.array(values, WIDE).sum().item() == expected
    assert sf.array([big, big], WIDE).mean().item() == big
    for values in ([2.0**1005, 1.0], [2.0**-1005, 1.0], [2.0**600, 2.0**410], [2.0**-600, 2.0**-420], [-(2.0**1005), 1.0]):
        assert sf.array(values, WIDE).prod().item() == math.prod(values)
    assert sf.array([2.0**600, 2.0**600, -1.0], WIDE).prod().item() == -math.inf
    assert sf.array([2.0**-600, 2.0**-600], WIDE).prod().item() == 0.0


def test_long_products():
    x = sf.array(np.resize([1.5, -2.0, 3.0], 3001), "e4m3fn")
    assert sf.array([1.5] * 5000, "e4m3fn", preset="ocp-saturate").prod().codes == sf.encode(1e9, "e4m3fn")
    assert np.isnan(x.prod().item()) == np.isnan(sf.decode(sf.encode(-1e9, "e4m3fn"), "e4m3fn"))
    assert sf.array([0.75] * 5000, "e4m3fn").prod().item() == 0.0
    assert sf.array([-1.0] * 5001, "e4m3fn").prod().item() == -1.0


# NumPy's functions by keyword, and what would be silently wrong.


def test_arguments_by_keyword():
    assert np.any(a=A) and np.allclose(A, b=A) and np.shape(a=A) == (3, 2) and np.count_nonzero(a=A) == 6
    assert np.array_equal(np.vstack(tup=[A, A]), np.vstack([A, A])) and np.stack(arrays=[A, A]).shape == (2, 3, 2)
    assert np.append(A, values=[4.0]).tolist() == [1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 4.0]
    assert np.sum(A, axis=1, keepdims=1).shape == np.mean(A, axis=1, keepdims=np.True_).shape == (3, 1)
    assert np.prod(A, axis=0, keepdims=0).shape == (2,) and A.item(3) == 2.0 and A.item(2, 0) == 3.0


def test_unique_rows_are_refused():
    with pytest.raises(TypeError, match="axis"):
        np.unique(A, axis=0)
    assert np.unique(A, axis=None).tolist() == [1.0, 2.0, 3.0]


def test_conditions_and_places_are_values():
    zeros = sf.array([0.0, -0.0, 1.0], "e5m2")
    assert np.compress(zeros, A, axis=0).tolist() == [[3.0, 1.0]]
    assert np.extract(zeros, sf.array([1.0, 2.0, 3.0], "e4m3fn")).tolist() == [3.0]
    assert np.compress(zeros, np.arange(3)).tolist() == [2] and np.extract(condition=zeros, arr=A[:, 0]).tolist() == [3.0]
    for call in (lambda x: np.take(A, x), lambda x: np.choose(x, [A[:, 0], A[:, 1], A[:, 0]]), lambda x: np.delete(A, x)):
        with pytest.raises((TypeError, IndexError)):
            call(zeros)


def test_results_do_not_go_into_other_arrays():
    for dtype in (np.uint8, np.float32):
        for call in (
            lambda out: np.concatenate([A, A], out=out),
            lambda out: np.stack([A[:, 0], A[:, 0]], out=out),
            lambda out: np.take(A, [0], out=out),
        ):
            with pytest.raises(TypeError, match="out is an ndarray"):
                call(np.zeros((6, 2), dtype))
    out = sf.array(np.zeros((6, 2)), "e4m3fn")
    assert np.concatenate([A, A], out=out) is out and out.tolist() == A.tolist() * 2


def test_codes_and_other_formats_beside_an_array():
    codes, other = A.codes, np.asarray(A).astype(ml_dtypes.float8_e5m2)
    for call in (
        lambda x: A.T @ x,
        lambda x: np.dot(A.T, x),
        lambda x: np.block([[A], [x]]),
        lambda x: np.broadcast_arrays(A, x),
        lambda x: np.atleast_2d(A, x),
        lambda x: np.choose([0, 1], [A[0], x[0]]),
    ):
        for x in (codes, other):
            with pytest.raises(TypeError, match="may be codes|don't mix|not the format"):
                call(x)
    typed = A.view(ml_dtypes.float8_e4m3fn)
    assert (A.T @ typed).tolist() == (typed.T @ A).tolist() == (A.T @ A).tolist() and (A.T @ typed).format == A.format
    assert np.block([[A], [typed]]).tolist() == A.tolist() * 2
    assert isinstance(A.T @ np.ones(3, np.float32), np.ndarray)


def test_an_array_of_an_array():
    assert np.array_equal(sf.Array(A, "e4m3fn").codes, A.codes)
    with pytest.raises(TypeError, match="don't mix"):
        sf.Array(A, "e5m2")


def test_masks_are_not_lost():
    with pytest.raises(TypeError, match="mask"):
        sf.array(np.ma.array([1.0, 2.0], mask=[False, True]), "e4m3fn")
    with pytest.raises(TypeError, match="masked array"):
        sf.matmul(np.ma.array(np.ones((2, 2), np.uint8), mask=np.eye(2)), np.ones((2, 2), np.uint8), "e4m3fn")


# Arguments.


def test_slips_of_arguments(tmp_path):
    sf.save(tmp_path / "a.safetensors", {"weight": np.ones((2, 2), np.float32)})
    for call in (
        lambda: sf.quantize_file(tmp_path / "a.safetensors", tmp_path / "b.safetensors", exclude="*weight*"),
        lambda: sf.load_values(tmp_path / "a.safetensors", include="weight"),
    ):
        with pytest.raises(TypeError, match=r"write \['.*weight"):
            call()
    for fmt in (None, np.zeros(1)):
        for call in (sf.encode, sf.quantize, sf.Array):
            with pytest.raises(TypeError, match="fmt must be a Format"):
                call(np.zeros(2, np.uint8), fmt)
    for how, says in (({"seed": -1}, "seed must be an integer"), ({"seed": 2**64}, "seed must be an integer"), ({"granularity": 32}, "granularity is a word")):
        with pytest.raises((ValueError, TypeError), match=says):
            sf.quantize(np.ones(2), "mxfp4", rounding="stochastic-a", **how)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sead': .*smallfloat.quantize"):
        sf.quantize(np.ones(2), "mxfp4", sead=1)
    with pytest.raises(TypeError, match="binary32 has no codes"):
        sf.decode(np.ones(2, np.float32))


def test_round_says_what_helps():
    for rounding in (None, "toward-zero"):
        with pytest.raises(ValueError, match="convert x to a wider one"):
            sf.round(np.float16(1.1), "bfloat16", rounding=rounding)


def test_far_too_many_threads():
    x = np.ones(1 << 20, np.float32)
    assert (sf.encode(x, "e4m3fn", threads=10**6) == 0x38).all()


# Axes as NumPy has them.


@pytest.mark.parametrize("axis", [5, -3, (0, 0), (0, -2), (1, 7)])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min"])
def test_axes_that_are_none(name, axis):
    with pytest.raises(ValueError, match="axis") as expected:
        getattr(np.ones((2, 3)), name)(axis=axis)
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        getattr(np, name)(A[:2], axis=axis)


def test_counts_can_be_copied():
    x = [1.1, 1e9, 1e-9, 0.0, np.nan, np.inf, -np.inf, 2.0]
    _, events = sf.encode(x, "e4m3fn", preset="ocp-nosaturate", return_flags=True)
    copies = [copy.copy(events), copy.deepcopy([events])[0], *(pickle.loads(pickle.dumps(events, p)) for p in range(6))]
    for same in copies:
        assert same == events and repr(same) == repr(events) and same.nan_results == 4
