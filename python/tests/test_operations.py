"""Operations by name, against NumPy and ml_dtypes where these are exact before one rounding."""

import pickle

import gfloat
import ml_dtypes
import numpy as np
import pytest
from common import same_numbers
from gfloat import formats

import smallfloat as sf

ALL = np.arange(256, dtype=np.uint8)
X, Y = np.meshgrid(ALL, ALL)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3"])
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_all_pairs(name, operation):
    """Sums and products of these formats are exact in binary32, so ml_dtypes rounds once."""
    dtype = getattr(ml_dtypes, name)
    x, y = X.view(dtype).astype(np.float32), Y.view(dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = getattr(np, operation)(x, y).astype(dtype)
    ours = getattr(sf.ops, operation)(X, Y, name)
    assert same_numbers(sf.decode(ours, name), expected.astype(np.float32))
    with np.errstate(all="ignore"):
        wide = getattr(sf.ops, operation)(X, Y, name, to="binary32")
        assert same_numbers(wide, getattr(np, operation)(x, y))


@pytest.mark.parametrize("function", ["exp", "exp2", "log2", "tanh", "sin", "sqrt"])
def test_functions(function):
    """binary64 is far enough from the ties of an 8-bit format to be rounded again."""
    finite = ALL[np.isfinite(sf.decode(ALL, "binary8p4se"))]
    x = sf.decode(finite, "binary8p4se", dtype=np.float64)
    finite, x = (finite[x > 0], x[x > 0]) if function in ("log2", "sqrt") else (finite, x)
    with np.errstate(all="ignore"):
        exact = getattr(np, function)(x)
    info = formats.format_info_p3109(8, 3, gfloat.Signedness.Signed, gfloat.Domain.Extended)
    expected = gfloat.round_ndarray(info, exact, sat=True)
    ours = getattr(sf.ops, function)(finite, "binary8p4se", to="binary8p3se", saturation="satfinite")
    assert same_numbers(sf.decode(ours, "binary8p3se"), expected)


def test_fma_rounds_once():
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, 0x7B, 4000).astype(np.uint8) for _ in range(3))
    x, y, z = (sf.decode(v, "e5m2", dtype=np.float64) for v in (a, b, c))
    exact = [float(gfloat.round_float(formats.format_info_ocp_e5m2, v, sat=False)) for v in x * y + z]
    near = np.abs(np.log2(np.maximum(x * y, 1e-30) / np.maximum(z, 1e-30))) < 45  # x*y + z is exact in binary64
    ours = sf.decode(sf.ops.fma(a, b, c, "e5m2"), "e5m2")
    assert near.sum() > 3000 and same_numbers(ours[near], np.array(exact)[near])


def test_comparisons_and_classes():
    x, y = sf.decode(X, "e5m2"), sf.decode(Y, "e5m2")
    for name, ufunc in (("compare_less", np.less), ("compare_equal", np.equal), ("compare_greater_equal", np.greater_equal)):
        found = getattr(sf.ops, name)(X, Y, "e5m2")
        assert found.dtype == bool and np.array_equal(found, ufunc(x, y))
    assert np.array_equal(sf.ops.is_nan(ALL, "e5m2"), np.isnan(x[0]))
    classes = sf.Operation("Class<e5m2>")(np.array([[0, 0x7C], [1, 0x3C]], np.uint8))
    assert classes.shape == (2, 2) and len(set(classes.ravel())) == 4
    assert sf.Operation("PrecisionOf<e5m2>")() == 3


def test_broadcasting_and_dtypes():
    op = sf.Operation("Add<e4m3fn, binary32, binary16>")
    x = np.array([[0x38], [0x40]], np.uint8)
    y = np.array([1.0, 2.0, 0.1], np.float32)
    found = op(x, y)
    assert found.dtype == np.uint16 and found.shape == (2, 3)
    exact = np.array([[1.0], [2.0]]) + y.astype(np.float64)
    np.testing.assert_array_equal(found.view(np.float16), exact.astype(np.float16))
    assert isinstance(op(0x38, np.float32(1)), np.uint16)
    assert pickle.loads(pickle.dumps(op))(0x38, 1.0) == op(0x38, 1.0)
    assert sf.ops.add(X.view(ml_dtypes.float8_e5m2)[:2], 0x3C, "e5m2").shape == (2, 256)


def test_stochastic_operations_are_reproducible():
    how = {"rounding": "stochastic-a", "saturation": "satfinite", "seed": 4, "random_bits": 8}
    whole = sf.ops.add(X, Y, "e5m2", **how)
    assert np.array_equal(whole, sf.ops.add(X, Y, "e5m2", threads=1, **how))
    half = sf.ops.add(X.ravel()[1000:], Y.ravel()[1000:], "e5m2", first_element=1000, **how)
    assert np.array_equal(whole.ravel()[1000:], half)
    assert not np.array_equal(whole, sf.ops.add(X, Y, "e5m2", **{**how, "seed": 5}))


def test_scaled_operations_and_neighbours():
    op = sf.Operation("ScaledAdd<(e8m0fnu, e4m3fn), (e8m0fnu, e4m3fn), binary32>")
    # 2 * [1, 2] + 1 * 1; E8M0's code of 2^e is 127 + e.
    assert op(128, [0x38, 0x40], 127, 0x38).tolist() == [3.0, 5.0]
    up = sf.ops.next_greater_than(np.array([0x38, 0x80, 0x7D], np.uint8), "binary8p4sf")
    values = np.sort(sf.formats.binary8p4sf.values())
    for code, above in zip([0x38, 0x7D], [up[0], up[2]], strict=True):
        x = sf.formats.binary8p4sf.values()[code]
        assert sf.formats.binary8p4sf.values()[above] == values[np.searchsorted(values, x, side="right")]


def test_flags():
    _, flags = sf.ops.divide([0x38], [0], "e4m3", return_flags=True)
    assert sf.Flags.DIVISION_BY_ZERO in flags


def test_policies_for_flags():
    # What every x86 gives for these products of binary32: tiny before, not after rounding; a quiet
    # NaN raises nothing.
    x = np.array([0x3F7FFFFE], np.uint32).view(np.float32)
    y = np.array([0x00800001], np.uint32).view(np.float32)
    inexact = sf.Flags.INEXACT
    for policy, raised in (("x86", inexact), ("riscv", inexact), ("arm", inexact | sf.Flags.UNDERFLOW)):
        product, flags = sf.ops.multiply(x, y, "binary32", flags=policy, return_flags=True)
        assert (product.view(np.uint32), flags) == (0x00800000, raised), policy
    quiet = np.array([0xFFC00001], np.uint32).view(np.float32)
    for policy, result in (("x86", 0xFFC00001), ("arm", 0xFFC00001), ("riscv", 0x7FC00000)):
        product, flags = sf.ops.multiply(quiet, y, "binary32", flags=policy, return_flags=True)
        assert (product.view(np.uint32), flags) == (result, sf.Flags(0)), policy
    # Without a policy: Tesla's where a format is Tesla's. e5m2's 0x01 is subnormal.
    for fmt, flags in (("e5m2", sf.Flags(0)), ("cfloat8_1_5_2:bias=15", sf.Flags.DENORMAL)):
        assert sf.ops.add([0x01], [0x01], fmt, return_flags=True)[1] == flags, fmt
    operation = sf.Operation("Add<e5m2, e5m2, e5m2>", flags="arm,denormal=raised")
    assert operation.flags == "arm,denormal=raised" and sf.Operation("Add<e5m2, e5m2, e5m2>").flags == "ieee-before"
    again = pickle.loads(pickle.dumps(operation))
    assert (again.flags, repr(again)) == (operation.flags, repr(operation)) and "flags='arm" in repr(operation)
    # A processor's rules are IEEE 754's: 1 / 0 is infinite, and NaN in P3109's.
    quotient = {policy: int(sf.ops.divide([0x40], [0], "binary8p3se", flags=policy)[0]) for policy in (None, "riscv")}
    assert quotient == {None: 0x80, "riscv": 0x7F}


def test_operations_of_17_to_32_bits():
    # Products of 11-bit significands are exact in binary32, so one rounding is left.
    x, y = (np.random.default_rng(seed).integers(110 << 10, 140 << 10, 50_000).astype(np.uint32) for seed in (1, 2))
    product = sf.ops.multiply(x, y, "tf32")
    exact = (x << 13).view(np.float32) * (y << 13).view(np.float32)
    assert product.dtype == np.uint32 and np.array_equal(product, sf.encode(exact, "tf32"))
    assert np.array_equal(sf.ops.multiply(x, y, "tf32", to="binary32"), exact)
    assert sf.ops.compare_less([1], [2], "fp24").tolist() == [True]


def test_blocks():
    # The P3109 draft's own rounding of a block: [3, -1] is about 4 * [3/4, -1/4].
    to_block = sf.Operation(
        "ConvertToBlockMaxAbsFinite<2, Binary8p4se, Binary8p1uf, Binary4p2sf, (TowardPositive, SatNone), "
        "(NearestTiesToEven, SatNone)>"
    )
    scale, elements = to_block(np.array([0x4C, 0xC0], np.uint8))
    assert (int(scale), elements.tolist()) == (0x82, [0x03, 0x09])
    scales, elements = to_block(np.array([[0x4C, 0xC0]] * 3, np.uint8))
    assert scales.tolist() == [0x82] * 3 and elements.shape == (3, 2)
    dot = sf.Operation("BlockDotProduct<2, e8m0fnu, e4m3fn, e8m0fnu, e4m3fn, binary32>")
    x = (np.uint8(128), np.array([0x38, 0x40], np.uint8))  # 2 * [1, 2]
    assert dot(x, x) == 20.0
    with pytest.raises(ValueError, match="2 elements along its last axis"):
        dot((128, [0x38]), x)


@pytest.mark.parametrize(
    "error, says, call",
    [
        (ValueError, "unknown operation `Ad`", lambda: sf.Operation("Ad<e5m2, e5m2, e5m2>")),
        (TypeError, "Add takes 2 operands, 1 are given", lambda: sf.Operation("Add<e5m2, e5m2, e5m2>")(1)),
        (ValueError, "2 formats of operands", lambda: sf.ops.add(0, 0, ("e5m2",))),
        (TypeError, "Add takes 2 operands and their format", lambda: sf.ops.add(0, 0)),
        (TypeError, "does not round", lambda: sf.ops.is_zero(0, "e5m2", to="e5m2")),
        (ValueError, "needs a seed", lambda: sf.ops.add(0, 0, "e5m2", rounding="stochastic-a")),
        (ValueError, "can't hold exactly", lambda: sf.Operation("Negate<binary32, e5m2>")(np.float64(0.1))),
    ],
)
def test_errors(error, says, call):
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value), str(caught.value)


def test_kappa():
    exact = sf.kappa("Exp<e5m2, binary8p4se>", variant="exact")
    assert (exact["kappa"], exact["compared"], exact["worst"]) == (0, 256, None)
    codes = [[int(a) for a in X.ravel()], [int(b) for b in Y.ravel()]]
    right = [int(c) for c in sf.ops.add(X, Y, "e5m2").ravel()]
    assert sf.kappa("Add<e5m2, e5m2, e5m2>", operands=codes, given=right)["kappa"] == 0
    at = next(i for i, (a, b) in enumerate(zip(*codes)) if (a, b) == (0x3C, 0x3C))
    right[at] += 3
    found = sf.kappa("Add<e5m2, e5m2, e5m2>", operands=codes, given=right)
    assert found["kappa"] == 3 and found["worst"] == ([0x3C, 0x3C], [0x40], [0x43])


def test_kappa_of_sums():
    """1 + 2^-15 with 13 fraction bits is 1, and binary32 adds two products of E2M1 exactly."""
    one, tiny = 0x38, 0x01  # 1 and 2^-9
    sixty_fourth = 0x08  # 2^-6
    found = sf.kappa("Dot<2, e4m3fn, e4m3fn, exact>", operands=[[one], [tiny], [one], [sixty_fourth]], given=[0x3F80_0000])
    assert found["worst"] == ([one, tiny, one, sixty_fourth], [0x3F80_0100], [0x3F80_0000])
    assert found["kappa"] == 0x100
    exact = sf.kappa("Dot<2, e2m1fn, e2m1fn, exact>", variant="f32")
    assert (exact["kappa"], exact["compared"]) == (0, 1 << 16)
    hopper = sf.kappa("Dot<32, e4m3fn, e4m3fn, exact>", variant="hopper", random=100, seed=7)
    assert hopper["kappa"] >= 0x3FF and hopper["differing"] > 0
    assert hopper == sf.kappa("Dot<32, e4m3fn, e4m3fn, exact>", variant="hopper", level=1, random=100, seed=7)
    with pytest.raises(ValueError, match="begins at zero"):
        sf.kappa("Dot<32, e4m3fn, e4m3fn, hopper>", variant="f32")
    with pytest.raises(ValueError, match="level and random go with variant"):
        sf.kappa("Dot<1, e2m1fn, e2m1fn, exact>", operands=[[0], [0]], given=[0], level=1)
