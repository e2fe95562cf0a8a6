"""Shapes, strides, dtypes, scalars, `out`: the manners of NumPy's ufuncs."""

import ml_dtypes
import numpy as np
import pytest
from common import KINDS, random_bits, same_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import smallfloat as sf

FMT = sf.formats.cfloat8_1_4_3(9)


def reference(x):
    """Element by element, as scalars."""
    flat = [sf.encode(v, FMT) for v in np.asarray(x).reshape(-1)]
    return np.array(flat, np.uint8).reshape(np.shape(x))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_any_layout(data):
    kind = data.draw(st.sampled_from([np.float16, np.float32, np.float64, ">f4", "<f8"]))
    x = data.draw(hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -2]))) for _ in range(x.ndim))
    axes = data.draw(st.permutations(range(x.ndim)))
    view = x[steps].transpose(axes)
    codes = sf.encode(view, FMT)
    assert np.shape(codes) == view.shape
    np.testing.assert_array_equal(codes, reference(view))
    back = sf.decode(np.asarray(codes).T, FMT)
    np.testing.assert_array_equal(sf.round(back, FMT), back)
    np.testing.assert_array_equal(sf.encode(back, FMT), np.asarray(codes).T)
    strided = np.zeros((*view.shape, 2), np.uint8)[..., 0]
    sf.encode(view, FMT, out=strided)
    np.testing.assert_array_equal(strided, codes)


def test_misaligned():
    raw = np.zeros(41, np.uint8)
    x = raw[1:].view(np.float32)
    x[:] = np.arange(10)
    assert not x.flags.aligned
    np.testing.assert_array_equal(sf.encode(x, FMT), reference(np.arange(10)))


def test_scalars_and_0d():
    for x in (1.5, np.float32(1.5), np.array(1.5), np.float16(1.5), ml_dtypes.bfloat16(1.5), 3, True, np.int8(-3)):
        code = sf.encode(x, FMT)
        assert isinstance(code, np.uint8)
        value = sf.decode(code, FMT)
        assert isinstance(value, np.float32) and value == float(x)
    assert isinstance(sf.round(np.float16(1.1), FMT), np.float16)
    assert sf.round(ml_dtypes.bfloat16(1.1), FMT).dtype == ml_dtypes.bfloat16
    assert sf.decode(0x38, "e4m3fn") == 1.0
    out = np.empty((), np.uint8)
    assert sf.encode(1.0, FMT, out=out) is out


def test_empty():
    for shape in ((0,), (3, 0), (0, 2, 5)):
        assert sf.encode(np.zeros(shape), FMT).shape == shape
        assert sf.decode(np.zeros(shape, np.uint8), FMT).shape == shape
        assert sf.round(np.zeros(shape, np.float32), FMT).shape == shape


def test_lists_and_integers():
    assert sf.encode([[1, 2], [3, 4]], "e4m3fn").tolist() == [[0x38, 0x40], [0x44, 0x48]]
    assert sf.encode(np.array([2**53], np.int64), "bfloat16") == sf.encode(2.0**53, "bfloat16")
    exact = np.array([2**60, -3 * 2**55, 0, -(2**63), 2**53 - 1])
    assert np.array_equal(sf.encode(exact, "bfloat16"), sf.encode(exact.astype(np.float64), "bfloat16"))
    assert sf.encode(np.array(2**63 + 2**62, np.uint64), "bfloat16") == sf.encode(1.5 * 2.0**63, "bfloat16")
    assert sf.decode([0, 1, 2], "e2m1fn").tolist() == [0.0, 0.5, 1.0]


def test_round_in_place(dtype):
    x = random_bits(100_000, dtype).copy()
    expected = sf.round(x, FMT)
    assert expected.dtype == dtype
    assert sf.round(x, FMT, out=x) is x
    assert np.array_equal(x.view(np.uint8), expected.view(np.uint8))
    # Parts that overlap without being the same.
    y = random_bits(1000, np.float32).copy()
    expected = sf.round(y[:-1], FMT)
    sf.round(y[:-1], FMT, out=y[1:])
    assert np.array_equal(y[1:].view(np.uint32), expected.view(np.uint32))


def test_round_is_encode_and_decode(dtype):
    x = random_bits(200_000, dtype)
    for how in (
        {},
        {"rounding": "toward-zero", "saturation": "satfinite"},
        {"rounding": "stochastic-a", "seed": 5, "stream": 3, "first_element": 77},
        {"rounding": "stochastic-c", "seed": 5, "random_bits": 7},
    ):
        both = sf.decode(sf.encode(x, "e5m2", **how), "e5m2", dtype=dtype)
        assert np.array_equal(sf.round(x, "e5m2", **how).view(np.uint8), both.view(np.uint8)), how


def test_all_dtypes_agree():
    # What all four types hold exactly.
    x = random_bits(1 << 14, np.uint16) % 256 * np.exp2(np.arange(1 << 14) % 20 - 12)
    codes = [sf.encode(x.astype(kind), FMT) for kind in KINDS.values()]
    assert all(np.array_equal(codes[0], other) for other in codes)


def test_pieces_of_a_stochastic_rounding_are_the_whole():
    x = np.random.default_rng(3).standard_normal(300_001).astype(np.float32)
    for generator in sf.generators:
        how = {"rounding": "stochastic-a", "seed": 11, "stream": "layers.0.weight", "generator": generator}
        whole = sf.encode(x, FMT, **how)
        cuts = [0, 1, 70_000, 70_003, 200_000, x.size]
        parts = [sf.encode(x[a:b], FMT, first_element=a, **how) for a, b in zip(cuts, cuts[1:])]
        assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("size", [1, 70_000])
def test_what_became_nan_is_counted_apart(size):
    # 448 is the largest value of e4m3fn, 464 ties to it; 57344 is e5m2's.
    x = np.tile(np.array([448, 464, 465, -1e9, np.inf, np.nan, 1.0], np.float32), size)
    for function in (sf.encode, sf.round):
        for fmt, preset, overflowed, nan_results in (
            ("e4m3fn", "ocp-nosaturate", 3, 4),
            ("e4m3fn", "ocp-saturate", 3, 1),
            ("e5m2", "ocp-nosaturate", 1, 1),
            ("cfloat8_1_4_3:bias=7", "tesla", 2, 0),
        ):
            _, events = function(x, fmt, preset=preset, return_flags=True)
            assert (events.overflowed, events.nan_results) == (overflowed * size, nan_results * size), (fmt, preset)
            assert (events.nans, events.infinities) == (size, size)
    # A negative number in an unsigned format is invalid, and no overflow.
    _, events = sf.encode(np.array([-1.0, 1.0], np.float32), "binary8p4ue", return_flags=True)
    assert (events.overflowed, events.nan_results) == (0, 1)


def test_flags_and_counts():
    x = np.array([1.0, 1e9, 1e-9, 0.0, np.nan, np.inf, 1.1], np.float32)
    codes, events = sf.encode(x, "e4m3fn", saturation="satfinite", return_flags=True)
    assert (events.elements, events.overflowed, events.underflowed) == (7, 2, 1)
    assert (events.zeros, events.nans, events.infinities) == (2, 1, 1)
    assert events.nan_results == 1 and type(events) is sf.EventCounts
    # A quiet NaN stays one: by IEEE 754's rules, not by Tesla's, it raises nothing.
    assert events.flags == sf.Flags.OVERFLOW | sf.Flags.UNDERFLOW | sf.Flags.INEXACT
    _, tesla = sf.encode(x, "e4m3fn", saturation="satfinite", flags="tesla", return_flags=True)
    assert tesla.flags == events.flags | sf.Flags.INVALID
    rounded, again = sf.round(x, "e4m3fn", saturation="satfinite", return_flags=True)
    assert again == events
    assert sf.encode([1.0, 2.0], "e4m3fn", return_flags=True)[1].flags == sf.Flags(0)


def flags_of(bits, fmt, **how):
    """The flags and the code of one binary32, given as its bits."""
    code, events = sf.encode(np.array([bits], np.uint32).view(np.float32), fmt, return_flags=True, **how)
    return events.flags, int(code[0])


def test_policies_for_flags():
    inexact, tiny, invalid = sf.Flags.INEXACT, sf.Flags.UNDERFLOW, sf.Flags.INVALID
    assert sf.flag_policies == ["tesla", "ieee-before", "ieee-after", "riscv", "arm", "x86"]
    # Just below e5m2's smallest normal number, 2**-14, to which it rounds: tiny before rounding
    # alone.
    below = int(np.float32(6.103e-5).view(np.uint32))
    for policy, flags in {
        None: tiny | inexact,
        "arm": tiny | inexact,
        "tesla": tiny | inexact,
        "ieee-after": inexact,
        "riscv": inexact,
        "x86": inexact,
        "arm,tininess=after": inexact,
    }.items():
        assert flags_of(below, "e5m2", flags=policy) == (flags, 0x04), policy
    # A quiet and a signaling NaN with their sign set; the payload's upper bits are 0 and 1.
    for bits, by_ieee in ((0xFFC00000, sf.Flags(0)), (0xFFA00000, invalid)):
        for policy, flags, code in (
            ("tesla", invalid, 0xFE),
            ("ieee-before", by_ieee, 0xFE),
            ("riscv", by_ieee, 0x7E),
            ("arm", by_ieee, 0xFE if bits == 0xFFC00000 else 0xFF),
            ("x86", by_ieee, 0xFE if bits == 0xFFC00000 else 0xFF),
        ):
            assert flags_of(bits, "e5m2", flags=policy) == (flags, code), (policy, hex(bits))
    # A subnormal operand, and an infinity that clamps.
    assert flags_of(1, "e5m2", flags="x86")[0] == sf.Flags.DENORMAL | tiny | inexact
    assert flags_of(1, "e5m2")[0] == tiny | inexact
    lost = {"preset": "ocp-saturate"}
    assert flags_of(0x7F800000, "e4m3fn", **lost) == (sf.Flags.OVERFLOW | inexact, 0x7E)
    assert flags_of(0x7F800000, "e4m3fn", flags="riscv", **lost) == (sf.Flags(0), 0x7E)
    # Tesla's formats have Tesla's rules where nothing is said.
    assert flags_of(0x7FC00000, "cfloat8_1_4_3:bias=7")[0] == invalid
    with pytest.raises(ValueError, match="ieee-before"):
        sf.encode([1.0], "e5m2", flags="ieee")


@pytest.mark.parametrize("policy", ["riscv", "x86"])
def test_other_policies_give_the_same_codes_and_counts(policy):
    x = random_bits(150_000, np.float32)
    x = x[~np.isnan(x)]
    for how in ({}, {"rounding": "stochastic-a", "seed": 3, "first_element": 77}):
        for fmt in ("e5m2", "e4m3fn", "binary16"):
            codes, events = sf.encode(x, fmt, flags="tesla", return_flags=True, **how)
            others, again = sf.encode(x, fmt, flags=policy, return_flags=True, **how)
            assert np.array_equal(codes, others)
            for count in ("elements", "underflowed", "zeros", "nans", "infinities", "nan_results"):
                assert getattr(events, count) == getattr(again, count), count


def test_formats_of_17_to_32_bits():
    x = random_bits(100_000, np.float32)
    x = x[~np.isnan(x)]
    codes = sf.encode(x, "tf32")
    assert codes.dtype == np.uint32 == sf.formats.tf32.dtype
    # binary32 without its last 13 bits, to nearest even; the carry runs into the exponent as it
    # should.
    bits = x.view(np.uint32).astype(np.uint64)
    assert np.array_equal(codes, (bits + 0xFFF + (bits >> 13 & 1)) >> 13)
    toward_zero = sf.encode(x, "tf32", rounding="toward-zero")
    finite = np.isfinite(x)
    assert np.array_equal(toward_zero[finite], bits[finite] >> 13)
    back = sf.decode(codes, "tf32")
    assert back.dtype == np.float32 and np.array_equal(back.view(np.uint32), codes << 13)
    assert np.array_equal(sf.round(x, "tf32"), back)
    assert isinstance(sf.encode(1.5, "fp24"), np.uint32)
    # fp24 has 16 bits behind the point and exponents from -62 to 63.
    y = np.random.default_rng(5).uniform(1, 2, 10_000) * 2.0 ** np.random.default_rng(6).integers(-62, 63, 10_000)
    _, exponent = np.frexp(y)
    step = np.ldexp(1.0, exponent - 17)
    assert np.array_equal(sf.decode(sf.encode(y, "fp24"), "fp24", dtype=np.float64), np.rint(y / step) * step)
    # P3109 with 32 bits: 1 is 2**30, one step more the next code.
    assert list(sf.encode([1.0, 1 + 2.0**-20, np.nan], "binary32p21se")) == [1 << 30, (1 << 30) + 1, 1 << 31]
    with pytest.raises(ValueError, match="exact"):
        sf.decode(codes, "tf32", dtype=np.float16)
    with pytest.raises(ValueError, match="at most 16"):
        sf.formats.tf32.values()
    with pytest.raises(ValueError, match="no codes here"):
        sf.encode(x, "binary32")
    with pytest.raises(ValueError, match="at most 11"):
        sf.Format.p3109(20, 4)


def test_wide_codes():
    x = random_bits(100_000, np.float32)
    assert sf.encode(x, "binary16").dtype == np.uint16
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
    ours = sf.encode(x, "binary16")
    assert np.array_equal(ours[~np.isnan(x)], half.view(np.uint16)[~np.isnan(x)])
    np.testing.assert_array_equal(sf.decode(ours, "binary16"), half.astype(np.float32))


def test_dlpack():
    class Foreign:
        """Another library's array: nothing but the protocol."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    codes = sf.encode(Foreign(x), FMT)
    assert np.array_equal(codes, sf.encode(x, FMT))
    assert np.array_equal(np.from_dlpack(codes), codes)
    assert np.array_equal(sf.decode(Foreign(codes), FMT), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_flushed_before_rounding(dtype):
    """What is below the smallest normal number is zero of its sign; the rest is as it was."""
    x = random_bits(40_000, KINDS[dtype], 3)
    for fmt in ("e4m3fn", "e5m2", "cfloat8_1_4_3:bias=7", "binary16", "binary8p3se"):
        fmt = sf.Format(fmt)
        with np.errstate(invalid="ignore"):
            wide = x.astype(np.float64)
        expected = sf.encode(np.where(np.abs(wide) < fmt.smallest_normal, np.copysign(0, wide), wide), fmt, nonfinite="preset")
        assert np.array_equal(sf.encode(x, fmt, flush="before-rounding"), expected)
    below = np.float32(0.99 * 2.0**-6)
    assert sf.round(below, "e4m3fn") == np.float32(2.0**-6) and sf.round(below, "e4m3fn", flush="before-rounding") == 0


@pytest.mark.parametrize("mode", ["nearest-even", "toward-zero", "toward-positive", "toward-negative"])
def test_binary32_in_every_mode(mode):
    x = random_bits(20_000, np.float64, 5)
    x = np.concatenate([x, np.random.default_rng(0).standard_normal(20_000), [2.0**-149, 2.0**-150, 2.0**128]])
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = x.astype(np.float32)
    exact = nearest.astype(np.float64)
    expected = exact
    if mode != "nearest-even":
        up = {"toward-positive": True, "toward-negative": False}.get(mode, np.signbit(x))
        step = np.nextafter(nearest, np.where(up, np.float32(np.inf), np.float32(-np.inf)))
        expected = np.where(np.where(up, exact < x, exact > x), step.astype(np.float64), exact)
    assert same_numbers(sf.round(x, "binary32", rounding=mode), expected)
    assert same_numbers(sf.round(nearest, "binary32", rounding=mode), nearest)
