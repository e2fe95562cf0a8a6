"""Arrays of JAX with scales. Run by `scripts/evidence/python-torch`."""

import functools

import ml_dtypes
import numpy as np
import pytest
from configs import BY_CORE_ALONE, CONFIGS, LISTS

import smallfloat as sf

jax = pytest.importorskip("jax", reason="JAX NOT TESTED: pip install jax")
import jax.numpy as jnp  # noqa: E402

import smallfloat.jax as sfj  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]


def numbers(shape, seed=0, dtype=np.float32):
    """Numbers of all magnitudes, with zeros, whole blocks of them, and a row of subnormal numbers
    of float32."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-9, 3, shape[:1] + (1,) * (len(shape) - 1)))
    x = x * np.exp2(rng.integers(-3, 3, shape))
    x[rng.random(shape) < 0.1] = 0
    if len(shape) > 1:
        x[0, :40] = 0
        x[-1] *= 2.0**-135
    return x.astype(dtype)


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def same_parts(found, expected):
    assert found._entry == expected._entry
    assert found._parts.keys() == expected._parts.keys()
    return all(same(part, expected._parts[name]) for name, part in found._parts.items())


@pytest.mark.parametrize("config", [*CONFIGS, *BY_CORE_ALONE, *LISTS], ids=str)
def test_array_operations_have_the_bits_of_the_core(config):
    # One dtype a shape: JAX compiles for each.
    for shape, dtype in zip([(33, 50), (3, 5, 2, 11), (70,)], DTYPES, strict=True):
        x = numbers(shape, sum(shape), dtype)
        expected = config.quantize(x, "w")
        plain = sfj.quantize(jnp.asarray(x), config, name="w")
        traced = jax.jit(lambda x: sfj.quantize(x, config, name="w"))(x)
        assert all(isinstance(part, jax.Array) for part in plain._parts.values())
        assert same_parts(plain, expected) and same_parts(traced, expected), dtype
        assert same(traced.codes, expected.codes)
        values = jax.jit(lambda q: [sfj.dequantize(q, target) for target in DTYPES])(traced)
        for target, found in zip(DTYPES, values, strict=True):
            assert same(found, expected.dequantize(target)), (dtype, target)


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8-e4m3", "mxfp6-e2m3", "nvfp4", "fp8"])
def test_what_is_not_finite(fmt):
    x = numbers((8, 64), 2)
    x[2, 3], x[4, 40], x[5, 5] = np.nan, np.inf, -np.inf
    with pytest.raises(ValueError, match="(?i)nan"):
        sfj.quantize(jnp.asarray(x), fmt)
    expected = sf.quantize(x, fmt, nonfinite="preset")
    traced = jax.jit(lambda x: sfj.quantize(x, fmt))(x)
    assert same_parts(sfj.quantize(jnp.asarray(x), fmt, nonfinite="preset"), expected)
    # Codes under a scale that is NaN mean nothing.
    assert same(traced.scales, expected.scales)
    assert np.array_equal(traced.dequantize(), expected.dequantize(), equal_nan=True)
    kept = np.asarray(sfj.fake_quantize(jnp.asarray(x), fmt))
    clean = np.where(np.isfinite(x), x, np.float32(0))
    assert same(kept, np.where(np.isfinite(x), sf.quantize(clean, fmt).dequantize(), x))


@pytest.mark.parametrize("config", [*CONFIGS, *BY_CORE_ALONE], ids=str)
def test_fake_quantization_and_its_gradient(config):
    x, weight = numbers((24, 40), 3), np.random.default_rng(4).standard_normal((24, 40)).astype(np.float32)
    expected = config.quantize(x).dequantize()

    def loss(x):
        return (sfj.fake_quantize(x, config) * weight).sum()

    if config.how.get("seed") is None:
        assert same(sfj.fake_quantize(jnp.asarray(x), config), expected)
        assert same(jax.jit(lambda x: sfj.fake_quantize(x, config))(x), expected)
    assert same(jax.grad(loss)(x), weight) and same(jax.jit(jax.grad(loss))(x), weight)
    value, tangent = jax.jvp(lambda x: sfj.fake_quantize(x, config), (x,), (x + 1,))
    assert same(tangent, x + 1)


@pytest.mark.parametrize("config", [CONFIGS[1], CONFIGS[8], CONFIGS[14]], ids=str)
def test_each_example_has_its_own_scales(config):
    x = numbers((4, 6, 32), 7)
    each = jax.vmap(lambda x: sfj.fake_quantize(x, config))(x)
    assert same(each, np.stack([config.quantize(part).dequantize() for part in x]))
    stored = jax.vmap(lambda x: sfj.quantize(x, config))(x)
    assert same(jax.vmap(sfj.dequantize)(stored), each)


def test_a_pytree():
    q = sf.quantize(numbers((8, 64), 1), "nvfp4")
    there = jax.device_put(q)
    assert isinstance(there, sf.QuantizedTensor) and all(isinstance(part, jax.Array) for part in jax.tree.leaves(there))
    assert same(sfj.dequantize(q), q.dequantize()) and there.nbytes == q.nbytes
    assert np.array_equal(jax.jit(lambda q, x: sfj.dequantize(q) @ x)(there, np.eye(64, dtype=np.float32)), q.dequantize())
    assert "nvfp4" not in repr(there) and repr(there) == repr(q)


def test_saved(tmp_path):
    q = sfj.quantize(jnp.asarray(numbers((8, 64), 1)), "mxfp6-e3m2")
    q.save(tmp_path / "q.safetensors")
    sf.verify(tmp_path / "q.safetensors")
    found = sf.load(tmp_path / "q.safetensors")["tensor"]
    assert all(same(part, found._parts[name]) for name, part in q._parts.items()) and same(found.dequantize(), q.dequantize())


def test_float64():
    with jax.enable_x64(True):
        x = numbers((9, 70), 5, np.float64) * 2.0**100
        for config in (*CONFIGS, *BY_CORE_ALONE):
            expected = config.quantize(x, "w")
            assert same_parts(jax.jit(lambda x, config=config: sfj.quantize(x, config, name="w"))(x), expected), config
            assert same(sfj.dequantize(expected, np.float64), expected.dequantize(np.float64)), config
    with pytest.raises(ValueError, match="no float64"):
        sfj.dequantize(expected, np.float64)


def test_subnormal_numbers_in_callbacks():
    """XLA's threads flush them; codes are the same even so."""
    x = (np.arange(1, 65, dtype=np.float32) * np.float32(2.0**-146)).reshape(2, 32)
    for config in [sf.Config("mxint8"), sf.Config("mxfp4", scale_rule="least-error"), sf.Config("nf4")]:
        expected = config.quantize(x)
        assert same_parts(jax.jit(lambda x: sfj.quantize(x, config))(x), expected)  # noqa: B023


def test_nothing_at_all():
    for config in ("mxfp4", "nvfp4", "cfloat8_1_4_3", sf.Config("e4m3fn", granularity="channel", scale_format="binary32")):
        for shape in ((0, 32), (2, 0), (0,)):
            x = np.zeros(shape, np.float32)
            expected = sf.quantize(x, config)
            assert same_parts(jax.jit(lambda x, config=config: sfj.quantize(x, config))(x), expected), (config, shape)
            assert same(sfj.dequantize(expected), x)


def test_what_is_refused():
    x = jnp.ones((4, 2, 32))
    with pytest.raises(ValueError, match="nonfinite='keep' is not known"):
        jax.jit(lambda x: sfj.quantize(x, "mxfp4", nonfinite="keep"))(x)
    with pytest.raises(ValueError, match="not an integer of 16610 bits"):
        sfj.round(x, "e5m2", rounding="stochastic-a", seed=10**5000)
    batch = jax.vmap(lambda x: sfj.quantize(x, "mxfp4"))(x)
    with pytest.raises(ValueError, match="vmap"):
        sfj.dequantize(batch)
    for call in (sf.quantize, sf.encode, sf.round):
        with pytest.raises(TypeError, match=r"smallfloat\.jax has"):
            jax.jit(lambda x, call=call: call(x, "e4m3fn"))(x)


def test_codes_that_there_are_not():
    x = np.ones((2, 4), np.float32)
    narrow = sf.Config("e2m3fn", granularity="channel", scale_format="ue4m3")
    for config, part, number, says in [
        ("e2m1fn", "", 16, "codes of e2m1fn are 0..=0xf, the array has 16..=16"),
        ("shp", "_bias", 64, "biases are 0..=0x3f, the array has 64..=64"),
        (narrow, "_scale", 128, "codes of ue4m3 are 0..=0x7f, the array has 128..=128"),
    ]:
        q = sf.quantize(x, config)
        parts = {name: np.full_like(array, number) if name == part else array for name, array in q._parts.items()}
        q = sf.QuantizedTensor(parts, q._entry)
        for given in (q, q.map(jnp.asarray)):
            with pytest.raises(ValueError, match=says):
                sfj.dequantize(given)
        # What is traced has no values to check.
        assert jax.jit(sfj.dequantize)(q.map(jnp.asarray)).shape == x.shape


def test_shapes_of_a_tree_print():
    q = sfj.quantize(jnp.ones((2, 32)), "mxfp4")
    shapes = jax.eval_shape(lambda: sfj.quantize(jnp.ones((2, 32)), "mxfp4"))
    for tree in (shapes, jax.tree.map(np.shape, q)):
        assert repr(tree).startswith("QuantizedTensor((2, 32), e2m1fn, ")
