"""`smallfloat.kernel` and the integer algorithm of `smallfloat._bits`, in NumPy, against the
core."""

import numpy as np
import pytest
from kernels import BF16, FORMATS, MODES, boundaries

import smallfloat as sf
from smallfloat import _bits
from smallfloat.kernel import kernel, words


class Arrays:
    """NumPy as a library of `_bits`; words of 32 bits are in uint32, as on devices without wider
    integers."""

    room = 32
    where = staticmethod(np.where)
    minimum = staticmethod(np.minimum)

    @staticmethod
    def int_to_float_bits(x):
        return x.astype(np.float64).view(np.int64) if x.dtype == np.int64 else x.astype(np.float32).view(np.int32)

    @staticmethod
    def unsigned(x):
        return np.asarray(x).astype(np.uint32)

    @staticmethod
    def complement(word):
        return ~word


class WideArrays(Arrays):
    room = 63

    @staticmethod
    def unsigned(x):
        return np.asarray(x).astype(np.int64)

    @staticmethod
    def complement(word):
        return word ^ 0xFFFFFFFF


def wide(x):
    """As float64; NaNs that signal become quiet ones, of which NumPy warns."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def encode(x, k, word=None):
    lib, layout = (WideArrays, _bits.F64) if x.dtype == np.float64 else (Arrays, _bits.F32)
    bits = x.view(np.int64 if x.dtype == np.float64 else np.int32)
    with np.errstate(over="ignore"):
        return _bits.encode(lib, k, layout, bits < 0, bits & ~layout.sign, 0, word)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_bfloat16_and_every_boundary(fmt):
    x = np.concatenate([BF16, boundaries(fmt)])
    for mode in MODES:
        k = kernel(fmt, rounding=mode)
        expected = sf.encode(x, fmt, rounding=mode)
        found = encode(x, k)
        wrong = found != expected
        assert not wrong.any(), (mode, x[wrong][:3], found[wrong][:3], expected[wrong][:3])
        assert np.array_equal(encode(wide(x), k), expected)
    for saturation in sf.saturations:
        how = {"saturation": saturation, "rounding": "to-odd"}
        assert np.array_equal(encode(x, kernel(fmt, **how)), sf.encode(x, fmt, **how))
    for preset in sf.presets:
        assert np.array_equal(encode(x, kernel(fmt, preset=preset)), sf.encode(x, fmt, preset=preset))


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_code(fmt):
    codes = np.arange(fmt.max_code + 1, dtype=np.int64)
    k = kernel(fmt)
    for layout, floats, integers in ((_bits.F32, np.float32, np.int32), (_bits.F64, np.float64, np.int64)):
        found = _bits.decode(WideArrays, k, layout, codes.astype(integers)).astype(integers)
        expected = sf.decode(codes.astype(fmt.dtype), fmt, dtype=floats, rounding="nearest-even")
        assert np.array_equal(found.view(floats).view(integers), expected.view(integers))


def philox(count, seed, stream, first=0):
    """Philox by hand, in NumPy."""
    key, halves, first = words(seed, stream, first)
    block = np.arange(first // 4, (first + count + 3) // 4, dtype=np.uint64)
    counter = [block & np.uint64(0xFFFFFFFF), block >> np.uint64(32)]
    counter += [np.full_like(block, half) for half in halves]

    def multiply(constant, word):
        product = word * np.uint64(constant)
        return product >> np.uint64(32), product & np.uint64(0xFFFFFFFF)

    found = _bits.philox(multiply, counter, key, np.uint64)
    return np.stack(found, -1).reshape(-1)[first % 4 :][:count].astype(np.uint32)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_stochastic_rounding_has_the_words_of_the_core(fmt):
    rng = np.random.default_rng(0)
    x = np.concatenate([BF16, boundaries(fmt)[:20000]])
    mixed = (x.view(np.uint32) ^ rng.integers(0, 1 << 16, x.size).astype(np.uint32)).view(np.float32)
    for n, first, floats in ((32, 0, x), (32, 5, mixed), (7, 2**40 + 3, mixed), (1, 2, x)):
        how = {"rounding": "stochastic-a", "random_bits": n}
        expected = sf.encode(floats, fmt, seed=2**63 + 5, stream="w", first_element=first, **how)
        word = philox(floats.size, 2**63 + 5, "w", first)
        assert np.array_equal(encode(floats, kernel(fmt, **how), word), expected)
        assert np.array_equal(encode(wide(floats), kernel(fmt, **how), word.astype(np.int64)), expected)


def test_float64_is_rounded_once():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(200_000) * np.exp2(rng.uniform(-30, 30, 200_000))).astype(np.float64)
    for fmt in FORMATS[:40]:
        assert np.array_equal(encode(x, kernel(fmt)), sf.encode(x, fmt))


def test_what_kernels_lack_is_refused():
    with pytest.raises(ValueError, match="24 bits"):
        kernel("fp24")
    with pytest.raises(ValueError, match="stochastic-b"):
        kernel("e5m2", rounding="stochastic-b")
    with pytest.raises(ValueError, match="seed is an integer"):
        words(2**64, 0)
    with pytest.raises(ValueError, match="stream is an integer"):
        words(0, -1)
