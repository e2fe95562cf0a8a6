"""`Array`: bits against ml_dtypes for its formats, against exact fractions for others; NumPy's
protocols; refusals."""

import copy
import itertools
import pickle
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from common import ML_DTYPES, same_numbers

import smallfloat as sf

RNG = np.random.default_rng(5)
# A format of each kind of special codes, Tesla's, P3109's, one wider than a byte, one beyond 16
# bits.
FORMATS = [
    "e4m3fn",
    "e5m2",
    "e4m3fnuz",
    "e8m0fnu",
    "e2m1fn",
    "cfloat8_1_4_3:bias=7",
    "cfloat8_1_5_2:bias=20",
    "binary8p3se",
    "binary6p2uf",
    "bfloat16",
    "shp:bias=31",
    "tf32",
]


def all_codes(fmt):
    """Every code, or enough of a wide format."""
    if fmt.width <= 8:
        return np.arange(fmt.max_code + 1, dtype=fmt.dtype)
    return RNG.integers(0, fmt.max_code, 400, endpoint=True).astype(fmt.dtype)


def everything(name):
    fmt = sf.Format(name)
    return sf.Array(all_codes(fmt), fmt)


def exact(a):
    """Values as fractions, by the format's own text of each code: None where it is no finite
    number."""
    found = []
    for code in a.codes.reshape(-1):
        text = a.format.exact(int(code))
        if text in ("NaN", "Inf", "-Inf"):
            found.append(None)
        else:
            mantissa, _, exponent = text.partition("p")
            found.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent or 0))
    return found


def nearest(fraction, fmt):
    """The code nearest to a fraction, even on a tie, found among all codes of the format; the
    fraction is in range."""
    values = [(abs(value - fraction), code & 1, code) for value, code in zip(exact(everything(fmt)), range(fmt.max_code + 1)) if value is not None]
    least = min(distance for distance, *_ in values)
    ties = [code for distance, odd, code in values if distance == least]
    signless = (fmt.max_code + 1) // 2 if fmt.signed else fmt.max_code + 1
    return min(ties, key=lambda code: (code % signless) & 1)


@pytest.mark.parametrize("name", ML_DTYPES)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.fmin, np.fmod])
def test_all_pairs_as_ml_dtypes(name, ufunc):
    """ml_dtypes computes in float32 and rounds again; quotients of 8-bit formats are never near
    enough to a tie to matter."""
    a = everything(name.removeprefix("float8_").removeprefix("float6_").removeprefix("float4_"))
    x, y = a.reshape(-1, 1), a.reshape(1, -1)
    theirs = a.view(getattr(ml_dtypes, name))
    if name == "float8_e8m0fnu" and ufunc in (np.subtract, np.fmod):
        pytest.skip("numbers below 2^-127 and zero, which the format lacks, are ml_dtypes' own")
    with np.errstate(all="ignore"):
        computed = ufunc(theirs.reshape(-1, 1).astype(np.float32), theirs.reshape(1, -1).astype(np.float32))
        expected = computed.astype(theirs.dtype).astype(np.float32)
    ours = ufunc(x, y)
    assert isinstance(ours, sf.Array) and ours.format == a.format
    if name == "float8_e8m0fnu":  # products below its least: ml_dtypes' binary32 has no such numbers
        tiny = np.asarray(ours) < 2.0**-125
        assert same_numbers(np.asarray(ours)[~tiny], expected[~tiny])
        return
    # NaN in a format without one is a number whose sign NumPy does not define.
    defined = ~np.isnan(computed) | a.format.has_nan
    got, wanted = np.asarray(ours)[defined], expected[defined]
    # NumPy leaves open which zero is the smaller one.
    assert same_numbers(got, wanted) if ufunc not in (np.maximum, np.fmin) else np.array_equal(got, wanted, equal_nan=True)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_operators_are_exact(name, operation):
    """Sums and products of pairs, as fractions, looked up among all values of the format."""
    fmt = sf.Format(name)
    if fmt.width > 8 or fmt.precision == 1:
        pytest.skip("looked up in the formats of a byte; powers of two have a rule of their own for ties")
    a = everything(name)
    values = exact(a)
    finite = [i for i, value in enumerate(values) if value is not None]
    largest, least = Fraction(fmt.max), Fraction(fmt.min)
    python = {"add": Fraction.__add__, "subtract": Fraction.__sub__, "multiply": Fraction.__mul__}[operation]
    picked = [(int(RNG.choice(finite)), int(RNG.choice(finite))) for _ in range(300)]
    ours = getattr(np, operation)(a[[i for i, _ in picked]], a[[j for _, j in picked]])
    tried = 0
    for (i, j), code in zip(picked, ours.codes.tolist(), strict=True):
        result = python(values[i], values[j])
        if not least <= result <= largest or abs(result) < Fraction(fmt.smallest_normal):
            continue  # what the presets do there has tests of its own
        tried += 1
        assert values[code] == values[nearest(result, fmt)], (values[i], values[j])
    assert tried > 60


@pytest.mark.parametrize("name", FORMATS)
def test_sums_products_and_means_are_exact(name):
    """Against sums of fractions, which `Format.parse` rounds once."""
    fmt = sf.Format(name)
    a = everything(name)
    finite = sf.Array(a.codes[np.isfinite(np.asarray(a))], fmt)
    for count in (1, 3, 50):
        picked = finite[RNG.integers(0, len(finite), (4, count))]
        for axis in (None, 1):
            rows = [picked.reshape(-1)] if axis is None else list(picked)
            for function, result in (
                (np.sum, lambda row: sum(row, Fraction(0))),
                (np.mean, lambda row: sum(row, Fraction(0)) / len(row)),
            ):
                ours = np.atleast_1d(function(picked, axis=axis))
                for row, one in zip(rows, ours, strict=True):
                    total = result(exact(row))
                    # A decimal of 400 digits tells any such fraction from a tie of the format.
                    expected = fmt.parse(decimal(total))
                    assert one.codes == expected or same_numbers(one, sf.Array(expected, fmt)), (function, row)
    few = finite[RNG.integers(0, len(finite), (6, 3))]
    for row, one in zip(few, few.prod(axis=1), strict=True):
        a, b, c = exact(row)
        assert np.array_equal(one, sf.Array(fmt.parse(decimal(a * b * c)), fmt), equal_nan=True), row


def decimal(fraction):
    """Digits that end in a 1 where the fraction does not end."""
    scale = 10**400
    number = abs(fraction.numerator) * scale
    digits, rest = divmod(number, fraction.denominator)
    text = f"{'-' if fraction < 0 else ''}{digits}{'1' if rest else '0'}e-401"
    return text


@pytest.mark.parametrize("name", ["e4m3fn", "e5m2", "binary8p3se", "bfloat16"])
@pytest.mark.parametrize("function", ["cbrt", "log10", "deg2rad", "rad2deg"])
def test_functions_beyond_the_kernels(name, function):
    """binary64 with 2^-50 of error decides nearly everywhere; where it does not, 60 digits do."""
    a = everything(name)
    x = np.asarray(a, np.float64)
    with np.errstate(all="ignore"):
        near = getattr(np, function)(x)
        low, high = (sf.array(near * (1 + e), a.format) for e in (-(2.0**-40), 2.0**-40))
    ours = getattr(np, function)(a)
    decided = low.codes == high.codes
    assert decided.mean() > 0.6
    assert same_numbers(np.asarray(ours)[decided], np.asarray(low)[decided])
    between = ~decided
    assert np.all((ours.codes[between] == low.codes[between]) | (ours.codes[between] == high.codes[between]))
    if function == "cbrt":
        cubes = sf.array([-27.0, -8.0, 0.125, 1.0, 8.0, 64.0], name)
        assert np.cbrt(cubes).tolist() == [-3.0, -2.0, 0.5, 1.0, 2.0, 4.0]


def test_powers_on_ties():
    # 1.125^2 = 1.265625 is between 1.25 and 1.375; 1.25^2 = 1.5625, a tie of 1.5 and 1.625 that
    # goes to even.
    x = sf.array([1.125, 1.25, 2.0, 9.0], "e4m3fn")
    assert np.power(x, sf.array([2.0, 2.0, -3.0, 0.5], "e4m3fn")).tolist() == [1.25, 1.5, 0.125, 3.0]
    assert (x**2).tolist() == [1.25, 1.5, 4.0, 80.0]


@pytest.mark.parametrize("name", FORMATS)
def test_order(name):
    a = everything(name)
    values = np.asarray(a, np.float64)
    rows = RNG.permutation(len(a))
    shuffled, x = a[rows], values[rows]
    assert np.array_equal(np.asarray(np.sort(shuffled)), np.sort(x), equal_nan=True)
    assert np.array_equal(np.argsort(shuffled, kind="stable"), np.argsort(x, kind="stable"))
    finite = shuffled[np.isfinite(x)]
    assert float(finite.max()) == x[np.isfinite(x)].max() and float(finite.min()) == x[np.isfinite(x)].min()
    assert np.argmax(shuffled) == np.argmax(x) and np.argmin(shuffled) == np.argmin(x)
    for compare in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        assert np.array_equal(compare(a.reshape(-1, 1), a), compare(values.reshape(-1, 1), values))
        # Numbers are compared without rounding them.
        assert np.array_equal(compare(a, 0.3), compare(values, 0.3))
    for predicate in (np.isnan, np.isinf, np.isfinite, np.signbit):
        assert np.array_equal(predicate(a), predicate(values))
    if np.isnan(x).any():
        assert np.isnan(shuffled.max()) and np.isnan(shuffled.min())
    found, counts = np.unique(np.concatenate([finite, finite]), return_counts=True)
    theirs, numbers = np.unique(np.concatenate([np.asarray(finite)] * 2), return_counts=True)
    assert same_numbers(np.abs(np.asarray(found)), np.abs(theirs)) and np.array_equal(counts, numbers)
    assert np.array_equal(np.searchsorted(np.sort(finite), finite), np.searchsorted(np.sort(np.asarray(finite)), np.asarray(finite)))


def test_wider_than_any_float():
    """Values from 2^-32768 on: in order, added, printed and converted, but never as floats by
    accident."""
    a = sf.Array(np.array([0x0001, 0x4000, 0x7FFE], np.uint16), "binary16p1se")
    assert a[np.argsort(a)[::-1]].codes.tolist() == [0x7FFE, 0x4000, 0x0001]
    assert (a < a[1]).tolist() == [True, False, False] and np.max(a).codes == 0x7FFE
    assert np.add(a[1], a[1]).codes == 0x4001
    with pytest.raises(TypeError, match="not all exact in float64"):
        np.asarray(a)
    with pytest.raises(TypeError, match="not all exact in float64"):
        a < 1.0
    assert "p" in str(a)


@pytest.mark.parametrize("name", FORMATS)
def test_moving_elements(name):
    a = everything(name)[:36].reshape(6, 6) if sf.Format(name).width > 4 else everything(name).reshape(4, 4)
    codes = a.codes
    moves = [
        lambda x: x.T,
        lambda x: x[1:, ::2],
        lambda x: x[[0, 2], :],
        lambda x: x[..., None],
        lambda x: x.reshape(2, -1),
        lambda x: x.ravel(),
        lambda x: x.repeat(2, axis=0),
        lambda x: x.take([1, 0], axis=1),
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.stack([x, x]),
        lambda x: np.vstack([x, x]),
        lambda x: np.flip(x, 0),
        lambda x: np.roll(x, 1),
        lambda x: np.tile(x, 2),
        lambda x: np.broadcast_to(x, (3, *x.shape)),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: np.diagonal(x),
        lambda x: np.delete(x, 0, axis=0),
        lambda x: np.split(x, 2)[1],
        lambda x: np.block([[x, x], [x, x]]),
        lambda x: np.take_along_axis(x, np.zeros((1, x.shape[1]), np.intp), 0),
    ]
    for move in moves:
        moved = move(a)
        assert isinstance(moved, sf.Array) and moved.format == a.format
        assert np.array_equal(moved.codes, move(codes))
    assert [row.codes.tolist() for row in a] == codes.tolist()
    assert len(a) == len(codes) and np.shape(a) == codes.shape and np.size(a) == codes.size
    shared = a[0]
    shared[0] = 1.0
    assert a.codes[0, 0] == shared.codes[0]


def test_assignment_rounds_and_refuses():
    a = sf.array(np.zeros(4), "e4m3fn")
    a[0] = 1.1
    a[1:3] = [2.2, 1e9]
    a[3] = sf.array(-3.3, "e4m3fn")
    expected = np.array([1.1, 2.2, 1e9, -3.25], np.float32).astype(ml_dtypes.float8_e4m3fn)
    assert np.array_equal(a.codes, expected.view(np.uint8))
    a[:2] = expected[2:]
    assert np.array_equal(a.codes[:2], expected.view(np.uint8)[2:])
    for other, says in (
        (sf.array([1.0], "e5m2"), "e4m3fn and one of e5m2 don't mix"),
        (np.ones(1, ml_dtypes.float8_e5m2), "e4m3fn and one of float8_e5m2 don't mix"),
        (np.ones(1, np.uint8), "may be codes or numbers"),
    ):
        with pytest.raises(TypeError, match=says):
            a[:1] = other


MIXED = [
    (sf.array([1.0], "e4m3fn"), sf.array([1.0], "e5m2")),
    (sf.array([1.0], "cfloat8_1_4_3:bias=7"), sf.array([1.0], "cfloat8_1_4_3:bias=8")),
    (sf.array([1.0], "e5m2"), sf.array([1.0], "ieee:k=8,p=3")),
]


@pytest.mark.parametrize("a, b", MIXED)
@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a + b,
        lambda a, b: a < b,
        lambda a, b: a == b,
        lambda a, b: a @ b,
        lambda a, b: np.concatenate([a, b]),
        lambda a, b: np.where([True], a, b),
        lambda a, b: np.maximum(a, b),
        lambda a, b: np.array_equal(a, b),
        lambda a, b: np.add(a, a, out=b),
        lambda a, b: np.copyto(a, b),
        lambda a, b: np.append(a, b),
        lambda a, b: sf.decode(a, b.format),
    ],
)
def test_formats_do_not_mix(a, b, call):
    with pytest.raises(TypeError) as caught:
        call(a, b)
    assert str(a.format) in str(caught.value) and str(b.format) in str(caught.value)


def test_numbers_beside_arrays():
    a = sf.array([1.0, 2.5], "e4m3fn")
    assert (a + 1).format == a.format and (a + 1).tolist() == [2.0, 3.5]
    assert (0.3 * a).codes.tolist() == np.multiply(a, sf.array(0.3, "e4m3fn")).codes.tolist()
    for dtype in (np.float16, np.float32, np.float64, np.int32):
        b = np.array([1, 3], dtype)
        result = a * b
        assert isinstance(result, np.ndarray) and result.dtype == np.result_type(np.float32, dtype)
        assert result.tolist() == [1.0, 7.5]
    typed = np.array([1.0, 2.5], ml_dtypes.float8_e4m3fn)
    assert (a + typed).tolist() == (typed + a).tolist() == [2.0, 5.0]
    with pytest.raises(TypeError, match="may be codes or numbers"):
        a + a.codes
    assert (a == "x") is False and (a != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        a < "x"


def test_copies_and_files(tmp_path):
    a = sf.array(RNG.standard_normal((3, 4)), "cfloat8_1_4_3:bias=11")
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy(), np.copy(a), sf.array(a)):
        assert other.format == a.format and np.array_equal(other.codes, a.codes)
        other[0] = 0.0
        assert not np.array_equal(other.codes, a.codes)
    for name in ("save", "savez"):
        with pytest.raises(TypeError, match="smallfloat.save"):
            getattr(np, name)(tmp_path / "a.npy", a)
    wide = sf.array([1.0, 3.0], "shp:bias=31")
    plain = sf.array([0.5], "e2m1fn")
    sf.save(tmp_path / "a.safetensors", {"a": a, "wide": wide, "plain": plain, "zero": a[0, 0]})
    back = sf.load(tmp_path / "a.safetensors")
    for name, one in (("a", a), ("wide", wide), ("plain", plain), ("zero", a[0, 0])):
        found = back[name].array
        assert found.format == one.format and np.array_equal(found.codes, one.codes) and found.shape == one.shape
        assert np.array_equal(back[name].dequantize(), np.asarray(one))
    with pytest.raises(ValueError, match="'wide'.*tf32"):
        sf.save(tmp_path / "b.safetensors", {"wide": sf.array([1.0], "tf32")})
    with pytest.raises(BufferError, match="DLPack"):
        np.from_dlpack(a)


def test_conversions():
    a = everything("e4m3fn")
    for dtype in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        assert same_numbers(a.astype(dtype).astype(np.float64), a.view(ml_dtypes.float8_e4m3fn).astype(np.float64))
        assert a.astype(dtype).dtype == dtype
    for name in ML_DTYPES:
        if name not in ("float8_e8m0fnu", "float8_e4m3fn"):  # zero is 2^-127 in the first; NaNs keep their codes in the second
            with np.errstate(all="ignore"):
                theirs = np.asarray(a).astype(getattr(ml_dtypes, name)).view(np.uint8)
            assert np.array_equal(a.astype(name).codes, theirs), name
            assert np.array_equal(a.astype(getattr(ml_dtypes, name)).codes, theirs)
    assert np.array_equal(a.astype("e5m2", rounding="toward-zero").codes, sf.encode(np.asarray(a), "e5m2", rounding="toward-zero"))
    codes, events = a.astype("e2m1fn", return_flags=True)
    assert isinstance(codes, sf.Array) and events.elements == 256
    assert a[56:58].astype(np.int32).tolist() == [1, 1] and a[:2].astype(bool).tolist() == [False, True]
    # binary32 values need a rounding in float16: nearest.
    assert sf.array([1 + 2.0**-7], "bfloat16").astype("float16").tolist() == [1 + 2.0**-7]
    assert np.asarray(a, np.float64).dtype == np.float64 and np.array(a).dtype == np.float32
    with pytest.raises(TypeError, match="viewed as uint8 or float8_e4m3fn, not as float8_e5m2"):
        a.view(ml_dtypes.float8_e5m2)
    assert np.shares_memory(a.view(ml_dtypes.float8_e4m3fn), a.codes)
    shared = sf.array(a.view(ml_dtypes.float8_e4m3fn), copy=False)
    assert np.shares_memory(shared.codes, a.codes) and shared.format == a.format


def test_printing():
    a = sf.array([1.0, 1.1, -0.3], "e4m3fn")
    assert repr(a) == "array([ 1.    ,  1.125 , -0.3125], format='e4m3fn')"
    assert str(a) == "[ 1.      1.125  -0.3125]" and str(a[1]) == "1.125" and f"{a[1]:.1f}" == "1.1"
    again = eval(repr(a), {"array": sf.array})
    assert np.array_equal(again.codes, a.codes)
    long = repr(sf.array(np.arange(3000), "bfloat16"))
    assert "..." in long and long.endswith("format='bfloat16')")
    assert repr(a[:0]) == "array([], format='e4m3fn')"
    assert repr(sf.array(np.empty((0, 3)), "e4m3fn")) == "array([], shape=(0, 3), format='e4m3fn')"


def test_functions_of_codes_take_arrays():
    a, b = sf.array([1.0, 1.125], "e4m3fn"), sf.array([0.25, 448.0], "e4m3fn")
    assert np.array_equal(sf.decode(a), np.asarray(a))
    assert sf.encode(a, "e5m2").format == sf.Format("e5m2")
    total, flags = sf.ops.add(a, b, return_flags="each", rounding="toward-zero")
    assert total.format == a.format and flags.dtype == np.uint8
    assert [sf.Flags(int(f)) for f in flags] == [sf.Flags(0), sf.Flags.INEXACT]
    assert sf.ops.compare_less(a, b).tolist() == [False, True]
    zero = sf.array([0.0], "e5m2")
    assert np.isinf(sf.ops.divide(sf.array([1.0], "e5m2"), zero))
    assert np.isnan(sf.ops.divide(sf.array([1.0], "e5m2"), zero, semantics="p3109"))
    assert sf.matmul(a, b, to="e5m2", accumulate="exact").format == sf.Format("e5m2")
    assert sf.matmul(a, b).dtype == np.float32
    assert (a @ b).codes == sf.matmul(a.codes, b.codes, "e4m3fn", to="e4m3fn", accumulate="exact")
    with pytest.raises(TypeError, match="astype"):
        sf.round(a, "e5m2")


def test_words_and_flags_of_each_element():
    x = RNG.standard_normal(500).astype(np.float32) * 1000
    for bits in (1, 5, 32):
        words = RNG.integers(0, 2**bits, 500, dtype=np.uint64)
        ours = sf.encode(x, "e5m2", rounding="stochastic-c", words=words, random_bits=bits)
        # One by one, by the core's own spelling.
        assert len(set(ours.tolist())) > 20
        back = sf.round(x, "e5m2", rounding="stochastic-c", words=words, random_bits=bits)
        assert np.array_equal(back, sf.decode(ours, "e5m2"))
    codes, each = sf.encode(x, "e4m3fn", return_flags="each")
    again, events = sf.encode(x, "e4m3fn", return_flags=True)
    assert np.array_equal(codes, again) and int(np.bitwise_or.reduce(each)) == int(events.flags)
    assert np.count_nonzero(each & sf.Flags.OVERFLOW) == events.overflowed
    inexact = np.asarray(sf.decode(codes, "e4m3fn") != x)
    assert np.array_equal((each & sf.Flags.INEXACT) > 0, inexact)
    for how, says in (
        ({"words": [9], "random_bits": 3}, "0..8"),
        ({"words": np.zeros(3, int)}, "shape"),
        ({"words": [0], "seed": 1}, "exclude"),
        ({"words": [0.5]}, None),
    ):
        with pytest.raises(TypeError if says is None else ValueError, match=says):
            sf.encode(x, "e5m2", rounding="stochastic-a", **how)
    with pytest.raises(ValueError, match="stochastic"):
        sf.encode(x, "e5m2", words=[0])
    with pytest.raises(ValueError, match="'each'"):
        sf.encode(x, "e5m2", return_flags="all")


@pytest.mark.parametrize("call", [np.linalg.norm, np.fft.fft, np.std, np.bitwise_not, np.cov])
def test_what_is_not_offered_says_so(call):
    with pytest.raises(TypeError, match="astype"):
        call(sf.array([1.0, 2.0], "e4m3fn"))


def test_out_and_where():
    a = sf.array([1.0, 2.0, 3.0], "e5m2")
    out = sf.array(np.zeros(3), "e5m2")
    assert np.add(a, a, out=out) is out and out.tolist() == [2.0, 4.0, 6.0]
    np.multiply(a, a, out=out, where=[True, False, True])
    assert out.tolist() == [1.0, 4.0, 8.0]  # 9 is a tie of 8 and 10
    truth = np.zeros(3, bool)
    assert np.less(a, 2, out=truth) is truth and truth.tolist() == [True, False, False]
    a += 1
    assert a.tolist() == [2.0, 3.0, 4.0] and isinstance(a, sf.Array)


def test_spacing_and_neighbours():
    for name in ("e4m3fn", "e5m2", "bfloat16", "cfloat8_1_4_3:bias=7"):
        a = everything(name)
        finite = sf.Array(np.sort(a[np.isfinite(np.asarray(a))]).codes, name)
        values = np.asarray(finite)
        if a.format.width == 8:
            up = np.nextafter(finite[:-1], finite[-1])
            distinct = np.unique(values)
            expected = distinct[np.searchsorted(distinct, values[:-1], side="right").clip(max=len(distinct) - 1)]
            assert np.array_equal(np.asarray(up), expected)
    one = sf.array(1.0, "e4m3fn")
    assert float(np.spacing(one)) == 0.125 and float(np.nextafter(one, sf.array(0.0, "e4m3fn"))) == 1 - 2.0**-4


def test_large_arrays_reuse_memory():
    """Results of some MiB lie on memory of ours; what one array held never shows through in
    another."""
    x = np.full(1 << 23, 1.5, np.float32)
    for value in (1.5, 2.0, 3.0):
        x[:] = value
        codes = sf.encode(x, "e4m3fn")
        assert codes.flags.writeable and codes.flags.c_contiguous and codes.shape == x.shape
        kept = codes[::2]
        del codes
        other = sf.encode(x + 1, "e4m3fn")
        assert np.all(sf.decode(kept, "e4m3fn") == value) and np.all(sf.decode(other, "e4m3fn") == value + 1)


def test_pairs_of_everything():
    """Every ufunc of every format gives the format's codes, never codes of no value."""
    for name, ufunc in itertools.product(["e2m1fn", "binary6p2uf", "e4m3fnuz"], [np.add, np.divide, np.remainder, np.power, np.heaviside]):
        a = everything(name)
        result = ufunc(a.reshape(-1, 1), a)
        assert result.shape == (len(a), len(a)) and int(result.codes.max()) <= a.format.max_code


def test_masked_arrays_keep_their_mask():
    x = np.ma.array([1.0, 1.1, np.nan, 1e9], mask=[False, True, True, False])
    codes = sf.encode(x, "e4m3fn")
    assert isinstance(codes, np.ma.MaskedArray) and codes.mask.tolist() == x.mask.tolist()
    back = sf.decode(codes, "e4m3fn")
    assert isinstance(back, np.ma.MaskedArray) and back.mask.tolist() == x.mask.tolist() and back[0] == 1.0
    assert sf.round(x, "e4m3fn").mask.tolist() == x.mask.tolist()
    total = sf.ops.add(codes, codes, "e4m3fn")
    assert isinstance(total, np.ma.MaskedArray) and total.mask.tolist() == x.mask.tolist()
    other = np.ma.array(codes.data, mask=[True, False, False, False])
    assert sf.ops.add(codes, other, "e4m3fn").mask.tolist() == [True, True, True, False]


def test_other_kinds_of_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4,))
    mapped[:] = [1.0, 1.1, 2.0, 3.0]
    codes = sf.encode(mapped, "e4m3fn")
    assert type(codes) is np.ndarray and codes.tolist() == sf.encode(np.array(mapped), "e4m3fn").tolist()


def test_masked_arrays_have_no_scales():
    x = np.ma.array([1.0, 1e9], mask=[False, True])
    with pytest.raises(TypeError, match="filled"):
        sf.quantize(x, "mxfp8-e4m3")
