"""Products of quantized tensors, against integers and fractions that share nothing with the
package."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import smallfloat as sf

RNG = np.random.default_rng(8)
#: Formats as their fields lie: bits of exponent and of fraction.
FIELDS = {"e4m3fn": (4, 3), "e5m2": (5, 2), "e3m2fn": (3, 2), "e2m3fn": (2, 3), "e2m1fn": (2, 1), "bfloat16": (8, 7)}
SCHEMES = {"mxfp8-e4m3": "e4m3fn", "mxfp8-e5m2": "e5m2", "mxfp6-e3m2": "e3m2fn", "mxfp6-e2m3": "e2m3fn", "mxfp4": "e2m1fn"}


def fields(code, fmt):
    """The value of a finite code, and the exponent by which it is aligned."""
    exponent_bits, fraction_bits = FIELDS[fmt]
    field, fraction = code >> fraction_bits & ((1 << exponent_bits) - 1), code & ((1 << fraction_bits) - 1)
    significand = fraction + (1 << fraction_bits) * (field > 0)
    exponent = max(field, 1) - (1 << (exponent_bits - 1)) + 1
    sign = -1 if code >> (exponent_bits + fraction_bits) & 1 else 1
    value = sign * significand * Fraction(2) ** (exponent - fraction_bits)
    return value, exponent if significand else -126


def log2(x):
    """⌊log2 |x|⌋ of a fraction; that of zeros and of what is below 2^-126 is -126."""
    if abs(x) < Fraction(2) ** -126:
        return -126
    guess = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    return guess - (abs(x) < Fraction(2) ** guess)


def cut(x, exponent):
    """`x` as a multiple of 2^exponent, toward zero."""
    return int(x / Fraction(2) ** exponent) * Fraction(2) ** exponent


def aligned(c, terms, fraction_bits, precision=24):
    """Terms (value, exponent) and an accumulator, aligned and cut, and their sum, cut."""
    largest = max([log2(c), *(exponent for _, exponent in terms)])
    total = sum(cut(x, largest - fraction_bits) for x in [c, *(x for x, _ in terms)])
    return cut(total, max(log2(total) - precision + 1, -149))


def hopper(x, y, fmt):
    """Σ x·y of codes in groups of 32, 13 fraction bits after the largest exponent."""
    c = Fraction(0)
    for i in range(0, len(x), 32):
        pairs = [(fields(a, fmt), fields(b, fmt)) for a, b in zip(x[i : i + 32], y[i : i + 32], strict=True)]
        c = aligned(c, [(p * q, e + f) for (p, e), (q, f) in pairs], 13, 14)
    return np.float32(float(c))


def blackwell(x, y, fmts, scales, block):
    """Σ x·y of codes with block scales: each a value and an exponent."""
    c = Fraction(0)
    both_e2m1 = fmts == ("e2m1fn", "e2m1fn")
    k = 64 if both_e2m1 else 32
    for start in range(0, len(x), k):
        terms = []
        places = range(start, min(start + k, len(x)))
        if both_e2m1:
            for first in places[::16]:
                some = [(fields(x[i], fmts[0])[0], fields(y[i], fmts[1])[0]) for i in places if first <= i < first + 16]
                (s, e), (t, f) = (of[first // block] for of in scales)
                terms.append((sum(p * q for p, q in some) * s * t, e + f))
        else:
            (s, e), (t, f) = (of[start // block] for of in scales)
            for i in places:
                (p, g), (q, h) = fields(x[i], fmts[0]), fields(y[i], fmts[1])
                terms.append((p * q * s * t, g + h + e + f))
        c = aligned(c, terms, 35 if both_e2m1 else 25)
    return c


def e8m0(code):
    return Fraction(2) ** (int(code) - 127), int(code) - 127


def rows_of(q):
    return q.codes.reshape(-1, q.shape[-1]).tolist()


def spread(*shape):
    """Numbers of many sizes, also from block to block, some of them zero."""
    blocks = np.repeat(RNG.integers(-12, 12, (*shape[:-1], -(-shape[-1] // 16))), 16, axis=-1)[..., : shape[-1]]
    x = RNG.standard_normal(shape) * 2.0 ** (RNG.integers(-9, 9, shape) + blocks)
    return (x * (RNG.random(shape) > 0.1)).astype(np.float32)


@pytest.mark.parametrize("schemes", list(itertools.product(SCHEMES, SCHEMES)), ids=" ".join)
def test_mx_on_blackwell(schemes):
    x, w = sf.quantize(spread(2, 3, 70), schemes[0]), sf.quantize(spread(5, 70), schemes[1])
    fmts = tuple(SCHEMES[scheme] for scheme in schemes)
    found = sf.linear(x, w, accumulate="blackwell")
    assert found.shape == (2, 3, 5) and found.dtype == np.float32
    expected = np.empty((6, 5), np.float32)
    for (i, a), (j, b) in itertools.product(enumerate(rows_of(x)), enumerate(rows_of(w))):
        scales = [[e8m0(code) for code in q.scales[row]] for q, row in ((x, i), (w, j))]
        expected[i, j] = float(blackwell(a, b, fmts, scales, 32))
    np.testing.assert_array_equal(found.reshape(6, 5), expected)
    np.testing.assert_array_equal(sf.linear(x, w, accumulate="rtx-blackwell", threads=1), found)


def test_nvfp4_on_blackwell():
    x, w = sf.quantize(spread(4, 100), "nvfp4"), sf.quantize(spread(3, 100), "nvfp4")
    # Other programs have global scales that are no powers of two.
    x, w = (q.map(lambda part: np.float32(scale) if part.ndim == 0 else part) for q, scale in ((x, 300.7), (w, 0.3)))
    assert x.has_global_scale and x.global_scale == np.float32(300.7)
    found = sf.linear(x, w, accumulate="blackwell")
    for i, j in np.ndindex(4, 3):
        scales = [[fields(int(code), "e4m3fn") for code in q.scales[row]] for q, row in ((x, i), (w, j))]
        total = blackwell(rows_of(x)[i], rows_of(w)[j], ("e2m1fn", "e2m1fn"), scales, 16)
        # Binary64 has the product of the global scales; a quotient is rounded to it, then to
        # binary32.
        assert found[i, j] == np.float32(float(total) / (float(x.global_scale) * float(w.global_scale)))
    # The other accumulators are near.
    exact = x.dequantize(np.float64) @ w.dequantize(np.float64).T
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(sf.linear(x, w), exact, rtol=1e-5, atol=1e-4)


def summed(x, y):
    """Eight partial sums in binary32, then in halves."""
    partial = np.zeros(8, np.float32)
    for i, (p, q) in enumerate(zip(x.astype(np.float32), y.astype(np.float32), strict=True)):
        partial[i % 8] += p * q
    for half in (4, 2, 1):
        partial = partial[:half] + partial[half : 2 * half]
    return partial[0]


def exactly(x, y):
    """Few such products add up in binary64 without rounding."""
    return np.float32(math.fsum(x * y))


def outside(sums, x, y, s, t, block):
    """Each block's sum times its scales, all in binary32, from left to right."""
    total = None
    for number, start in enumerate(range(0, len(x), block)):
        part = slice(start, start + block)
        product = np.float32(sums(x[part], y[part])) * np.float32(s[number]) * np.float32(t[number])
        total = product if total is None else total + product
    return total


def elements(q):
    return np.array([[float(fields(code, q.format)[0]) for code in row] for row in rows_of(q)])


@pytest.mark.parametrize("how, sums", [("f32", summed), ("exact", exactly)])
@pytest.mark.parametrize("scale_format", ["e8m0fnu", "binary32", "bfloat16"])
def test_blocks_outside_of_the_unit(how, sums, scale_format):
    config = {"granularity": "block:24", "scale_format": scale_format}
    x, w = sf.quantize(spread(6, 100), "e4m3fn", **config), sf.quantize(spread(9, 100), "e5m2", **config)
    found = sf.linear(x, w, accumulate=how)
    decoded = [[[float(e8m0(code)[0]) for code in row] for row in q.scales] if scale_format == "e8m0fnu" else q.scales for q in (x, w)]
    a, b = elements(x), elements(w)
    for i, j in np.ndindex(6, 9):
        assert found[i, j] == outside(sums, a[i], b[j], decoded[0][i], decoded[1][j], 24)
    np.testing.assert_allclose(found, x.dequantize(np.float64) @ w.dequantize(np.float64).T, rtol=1e-4, atol=1e-2)
    for q in (x, w):
        assert str(q.scales.dtype) == {"e8m0fnu": "uint8", "binary32": "float32", "bfloat16": "bfloat16"}[scale_format]


def test_deepseek_on_hopper():
    """Activations with a scale for 128 elements, weights with one for squares."""
    x = sf.quantize(spread(3, 300), "e4m3fn", granularity="block:128", scale_format="binary32")
    w = sf.quantize(spread(140, 300), "e4m3fn", granularity="block:128x128", scale_format="binary32")
    found = sf.linear(x, w, accumulate="hopper")
    for i, j in itertools.product(range(3), (0, 77, 127, 128, 139)):
        total = None
        for number, start in enumerate(range(0, 300, 128)):
            part = slice(start, start + 128)
            sum = hopper(rows_of(x)[i][part], rows_of(w)[j][part], "e4m3fn")
            product = sum * x.scales[i, number] * w.scales[j // 128, number]
            total = product if total is None else total + product
        assert found[i, j] == total


@pytest.mark.parametrize("granularities", [("channel", "channel"), ("tensor", "channel"), ("block:32", "tensor")])
def test_scales_of_rows_and_tensors(granularities):
    x = sf.quantize(spread(2, 40), "e4m3fn", granularity=granularities[0], scale_format="binary32")
    w = sf.quantize(spread(5, 40), "e4m3fn", granularity=granularities[1], scale_format="binary32")
    found = sf.linear(x, w, accumulate="exact")
    a, b = elements(x), elements(w)
    size = 32 if granularities[0] == "block:32" else 40
    s, t = (np.broadcast_to(q.scales, (q.shape[0], -(-40 // size))) for q in (x, w))
    for i, j in np.ndindex(2, 5):
        assert found[i, j] == outside(exactly, a[i], b[j], s[i], t[j], size)


def test_shapes_and_channels():
    """A channel of three axes is a matrix of rows; a vector is one row."""
    x = sf.quantize(spread(2, 3, 8), "e4m3fn", granularity="channel", scale_format="binary32")
    w = sf.quantize(spread(4, 8), "e4m3fn", granularity="channel", scale_format="binary32")
    found = sf.linear(x, w, accumulate="exact")
    assert found.shape == (2, 3, 4)
    a, b = elements(x).reshape(2, 3, 8), elements(w)
    for i, j, k in np.ndindex(2, 3, 4):
        assert found[i, j, k] == exactly(a[i, j], b[k]) * x.scales[i, 0] * w.scales[k, 0]
    row = sf.quantize(spread(8), "mxfp4")
    matrix = sf.quantize(spread(4, 8), "mxfp4")
    for how in ("f32", "blackwell"):
        assert sf.linear(row, matrix, accumulate=how).shape == (4,)
    for shape, rows in (((0, 8), 4), ((3, 0), 4), ((3, 8), 0), ((2, 0, 8), 1)):
        for scheme, how in (("mxfp4", "f32"), ("mxfp4", "blackwell"), ("nvfp4", "blackwell"), ("mxfp8-e4m3", "hopper")):
            x = sf.quantize(np.zeros(shape, np.float32), scheme)
            w = sf.quantize(np.zeros((rows, shape[-1]), np.float32), scheme)
            found = sf.linear(x, w, accumulate=how)
            assert found.shape == (*shape[:-1], rows) and not found.any()


def test_formats_without_scales():
    """One bias, or none; formats of 16 bits, which units take."""
    x, w = spread(3, 20), spread(2, 20)
    p, q = sf.quantize(x, "cfloat8_1_4_3"), sf.quantize(w, "cfloat8_1_5_2", bias=20)
    # Products of such codes are multiples of a number that 2^53 of them reach beyond.
    expected = np.float32([[math.fsum(a * b) for b in q.dequantize(np.float64)] for a in p.dequantize(np.float64)])
    np.testing.assert_array_equal(sf.linear(p, q, accumulate="exact"), expected)
    p, q = (sf.quantize(values.astype(ml_dtypes.bfloat16), "bfloat16") for values in (x, w))
    found = sf.linear(p, q, accumulate="hopper")
    for i, j in np.ndindex(3, 2):
        c = Fraction(0)
        for start in (0, 16):
            pairs = zip(rows_of(p)[i][start : start + 16], rows_of(q)[j][start : start + 16], strict=True)
            terms = [(fields(a, "bfloat16"), fields(b, "bfloat16")) for a, b in pairs]
            c = aligned(c, [(u * v, e + f) for (u, e), (v, f) in terms], 25)
        assert found[i, j] == float(c)


def test_what_does_not_go_is_refused():
    def q(shape, fmt="mxfp8-e4m3", **how):
        return sf.quantize(np.ones(shape, np.float32), fmt, **how)

    x, w = q((2, 64)), q((3, 64))
    with pytest.raises(TypeError, match="weight must be a QuantizedTensor, as quantize makes it, not ndarray"):
        sf.linear(x, np.ones((3, 64)))
    with pytest.raises(TypeError, match="x must be a QuantizedTensor"):
        sf.linear(sf.array([1.0], "e4m3fn"), w)
    for a, b, how, text in [
        (x, q((3, 32)), "f32", "rows of x have 64 elements, rows of weight 32"),
        (x, q((64,)), "f32", r"weight has the shape \(64,\)"),
        (q(()), w, "f32", "x has no axis"),
        (x, q((3, 64), "nf4"), "f32", "weight has codes of nf4, a list of values"),
        (q((2, 64), "cfloat8_1_4_3", granularity="channel"), w, "f32", "x has biases for channel"),
        (x, q((3, 64), granularity="block:16"), "f32", "x has scales for 32 elements of a row, weight for 16"),
        (q((2, 64), granularity="block:16"), q((3, 64), granularity="block:16"), "blackwell", "block scales go with two of e4m3fn.*fused:k=32"),
        (x, q((3, 64), "e4m3fn", granularity="tensor", scale_format="binary32"), "blackwell", "one kind of block scales on both sides"),
        (q((2, 64), "nvfp4"), q((3, 64), "mxfp4", granularity="block:16"), "blackwell", "one kind of block scales"),
        (x, q((3, 64), "e4m3fn", granularity="block:32", scale_format="binary16p1se"), "f32", "scales in binary16p1se have values that float32 can't hold"),
        (x, w, "blackwell:output=f16", "which add in f32"),
        (x, w, "pascal", "rtx-blackwell, cdna1"),
        (q((2, 64), "bfloat16"), q((3, 64), "bfloat16"), "f32", "at most 8"),
        (x, w.map(lambda part: part[:2] if part.shape == (3, 2) else part), "f32", "scales of the shape"),
    ]:
        with pytest.raises(ValueError, match=text):
            sf.linear(a, b, accumulate=how)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        sf.linear(x, w, threads=0)
