"""`BiasController` against its rules on plain integers, and what it tells of codes against a count
by hand."""

import collections
import json
import math
import pickle
import threading

import numpy as np
import pytest

import smallfloat as sf

RNG = np.random.default_rng(8)


def holding(amax, highest=15, precision=4):
    """The largest bias at which (2 - 2**(1 - precision)) * 2**(highest - bias) is not below the
    magnitude."""
    fraction, exponent = math.frexp(amax)  # 0.5 <= fraction < 1
    return highest - (exponent - 1) - (2 * fraction > 2 - 2.0 ** (1 - precision))


def tensors(count):
    """Tensors whose magnitudes drift over 40 binades, with steps of zeros, NaN and infinities
    between them."""
    for step in range(count):
        x = RNG.standard_normal(50).astype(np.float32) * 2.0 ** (10 - step % 40)
        if step % 7 == 3:
            x[:] = 0
        if step % 11 == 5:
            x[:3] = np.nan, np.inf, -np.inf
        yield x.astype(np.float32)


def finite_amax(x):
    return float(np.max(np.abs(x), where=np.isfinite(x), initial=0))


@pytest.mark.parametrize("margin", [0, 2])
@pytest.mark.parametrize("history", [1, 3, 16])
def test_delayed(history, margin):
    bias = sf.BiasController("cfloat8_1_4_3", f"delayed:history={history},margin={margin}", start=20)
    past, expected = collections.deque(maxlen=history), 20
    for x in tensors(90):
        codes, fmt = bias.step(x, saturation="satfinite")
        # The tensor is encoded at the bias that the steps before it left.
        assert fmt.bias == expected and np.array_equal(codes, sf.encode(x, sf.formats.cfloat8_1_4_3(expected)))
        past.append(finite_amax(x))
        if max(past) > 0:
            expected = min(63, max(0, holding(max(past)) - margin))
        assert (bias.bias, bias.format.bias) == (expected, expected)
    assert bias.steps == 90 and 0 < bias.changes < 90


@pytest.mark.parametrize("policy", ["amax", "auto", "percentile:90"])
def test_policies_that_choose_for_the_tensor_at_hand(policy, dtype):
    bias = sf.BiasController("shp", policy)
    expected = 15
    for x in (x.astype(dtype) for x in tensors(40)):
        if finite_amax(x.astype(np.float64)) > 0:
            expected = sf.choose_bias(x, "shp", policy).bias
        codes, fmt = bias.step(x)
        assert (fmt.bias, bias.bias) == (expected, expected)
        assert np.array_equal(codes, sf.encode(x, fmt))


def test_flags():
    bias, patience = sf.BiasController("cfloat8_1_5_2", "flags:patience=3", start=30), 3
    expected, unused = 30, 0
    for x in tensors(200):
        codes, fmt = bias.step(x)
        assert fmt.bias == expected
        field = (codes >> 2) & 31
        largest = 1.75 * 2.0 ** (31 - expected)
        # Halfway to the next value and beyond is an overflow, an infinity too; NaN is none.
        overflowed = int(np.sum(np.abs(x) >= largest * (2 - 2**-3) / 1.75))
        use = (overflowed, int(np.sum(field == 31)), int(np.sum(field == 30)), int(np.sum(x != 0)))
        again = sf.encode(x, fmt, return_flags=True)
        probe = sf.BiasController("cfloat8_1_5_2", "flags", start=expected)
        assert probe.code_use(*again) == use
        if overflowed:
            expected, unused = max(0, expected - 1), 0
        elif np.any(x != 0):
            unused = 0 if use[1] else unused + 1
            if unused and (use[2] == 0 or unused == patience):
                expected, unused = min(63, expected + 1), 0
        assert bias.bias == expected


def test_fixed():
    bias = sf.BiasController("cfloat8_1_4_3", 9)
    assert bias.observe(np.float32(1e9)) == 9 and bias.step([1.0])[1] == sf.Format("cfloat8_1_4_3:bias=9")
    assert (bias.policy, bias.steps, bias.changes) == ("9", 2, 0)


@pytest.mark.parametrize("policy", ["delayed:history=4,margin=1", "flags:patience=2", "auto", "7"])
def test_the_state_can_be_stored(policy):
    bias = sf.BiasController("cfloat8_1_4_3:subnormals=gradual", policy)
    for x in tensors(20):
        bias.step(x)
    copies = [pickle.loads(pickle.dumps(bias)), sf.BiasController("cfloat8_1_4_3:subnormals=gradual", "amax")]
    copies[1].load_state_dict(json.loads(json.dumps(bias.state_dict())))
    for x in tensors(20):
        expected = bias.step(x)
        for copy in copies:
            codes, fmt = copy.step(x)
            assert fmt == expected[1] and np.array_equal(codes, expected[0])
    assert copies[0] == bias == copies[1] and repr(copies[1]) == repr(bias)
    bias.step([1.0])
    assert copies[0] != bias


def test_threads():
    bias = sf.BiasController("cfloat8_1_4_3", "amax")
    x = RNG.standard_normal(3000)
    threads = [threading.Thread(target=lambda: [bias.step(x) for _ in range(50)]) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert (bias.steps, bias.bias) == (200, sf.choose_bias(x, "cfloat8_1_4_3", "amax").bias)


@pytest.mark.parametrize("patience", [1, 3])
def test_gradient(patience):
    bias = sf.BiasController("cfloat8_1_4_3", f"gradient:patience={patience}", start=30)
    votes, expected = 0, 30
    for slope in [*map(float, RNG.standard_normal(60)), 0.0, math.nan, *[-1.0] * 120, *[2.0] * 220]:
        codes, fmt = bias.step([1.0, 0.5])
        assert fmt.bias == expected and np.array_equal(codes, sf.encode([1.0, 0.5], fmt))
        votes += (slope < 0) - (slope > 0)
        if abs(votes) == patience:
            expected, votes = min(63, max(0, expected + (1 if votes > 0 else -1))), 0
        assert bias.observe(slope=slope) == expected
        again = sf.BiasController("cfloat8_1_4_3", f"gradient:patience={patience}", start=0)
        again.load_state_dict(json.loads(json.dumps(bias.state_dict())))
        assert again == bias
    assert bias.bias == 0


def test_errors():
    for fmt, policy, start, words in [
        ("e4m3fn", "delayed", None, "no bias to choose"),
        ("shp", "delayed:history=0", None, "not understood"),
        ("shp", "amax", 64, "0..=63"),
    ]:
        with pytest.raises(ValueError, match=words):
            sf.BiasController(fmt, policy, start=start)
    flags, auto = sf.BiasController("shp", "flags"), sf.BiasController("shp", "auto")
    for controller, kind, how in [
        (flags, ValueError, {"amax": 1.0}),
        (auto, ValueError, {"amax": 1.0}),
        (auto, ValueError, {"code_use": (1, 2, 3, 4)}),
        (auto, ValueError, {"slope": 1.0}),
        (sf.BiasController("shp", "gradient"), ValueError, {"x": [1.0]}),
        (auto, TypeError, {"slope": 1.0, "amax": 1.0}),
        (auto, TypeError, {}),
        (auto, TypeError, {"x": [1.0], "amax": 1.0}),
    ]:
        with pytest.raises(kind, match="give it|one of x"):
            controller.observe(**how)
    with pytest.raises(TypeError, match="leave out return_flags"):
        auto.step([1.0], return_flags=True)
    state = auto.state_dict()
    for key, value in [("bias", 64), ("history", [1]), ("unused", 5), ("policy", "x"), ("more", 1)]:
        with pytest.raises(ValueError, match="state|bias|policy"):
            auto.load_state_dict({**state, key: value})
    assert auto == sf.BiasController("shp", "auto")
    other = sf.BiasController("cfloat8_1_5_2", "auto", start=9)
    with pytest.raises(ValueError, match="state is of cfloat8_1_5_2:bias=9, and this BiasController of shp"):
        auto.load_state_dict(other.state_dict())
    assert auto == sf.BiasController("shp", "auto")
    amax = sf.BiasController("shp", "amax")
    for wrong in (math.nan, -1.0, -math.inf):
        with pytest.raises(ValueError, match="amax is the largest finite magnitude, at least zero, not "):
            amax.observe(amax=wrong)
    assert amax.steps == 0 and amax.observe(amax=math.inf) == amax.bias
