"""JAX. Run by `scripts/evidence/python-torch`, since jax is large too."""

import doctest
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from kernels import BF16, FORMATS, MODES, boundaries

import smallfloat as sf

jax = pytest.importorskip("jax", reason="JAX NOT TESTED: pip install jax")
import jax.numpy as jnp  # noqa: E402

import smallfloat.jax as sfj  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


HERE = pathlib.Path(__file__).parent


def test_the_guide():
    docs = next(folder for folder in (HERE.parent / "docs", HERE.parents[1] / "docs") if folder.is_dir())
    failed, tried = doctest.testfile(str(docs / "how-to-jax.md"), module_relative=False)
    assert failed == 0 and tried > 10


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="PICTURE NOT MADE: pip install matplotlib")
    docs = next(folder for folder in (HERE.parent / "docs", HERE.parents[1] / "docs") if folder.is_dir())
    script = docs / "python" / "jax" / "training.py"
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # What the page says of the three runs.
    float32, nearest, stochastic = (float(line.rpartition(": ")[2]) for line in done.stdout.splitlines()[:3])
    assert float32 < 1e-3 < stochastic < 0.2 and nearest > 5
    assert (tmp_path / "jax-training.svg").read_bytes().startswith(b"<?xml")


def test_examples():
    failed, tried = doctest.testmod(sfj)
    assert (failed, tried >= 4) == (0, True)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_bfloat16_and_every_boundary(fmt):
    # As bits, since making them from float32 may lose subnormal numbers and NaNs; in arrays of one
    # size, for which JAX compiles once.
    every = jax.lax.bitcast_convert_type(jnp.arange(1 << 16, dtype=jnp.uint16), jnp.bfloat16)
    ours = np.arange(1 << 16, dtype=np.uint16).view(every.dtype)
    places = np.resize(boundaries(fmt), -(-boundaries(fmt).size // 65536) * 65536).reshape(-1, 1 << 16)
    pairs = [(every, ours)] + [(jax.lax.bitcast_convert_type(jnp.asarray(x.view(np.uint32)), jnp.float32), x) for x in places]
    for mode in MODES:
        for there, here in pairs:
            assert same(sfj.encode(there, fmt, rounding=mode), sf.encode(here, fmt, rounding=mode)), mode
            if fmt.fits_in("bfloat16" if here is ours else "binary32"):
                assert same(sfj.round(there, fmt, rounding=mode), sf.round(here, fmt, rounding=mode)), mode


@pytest.mark.parametrize("fmt", FORMATS[::4], ids=str)
def test_under_jit(fmt):
    x = boundaries(fmt)
    there = jax.lax.bitcast_convert_type(jnp.asarray(x.view(np.uint32)), jnp.float32)
    assert same(jax.jit(lambda x: sfj.encode(x, fmt))(there), sf.encode(x, fmt))
    if fmt.fits_in("binary32"):
        assert same(jax.jit(lambda x: sfj.round(x, fmt))(there), sf.round(x, fmt))


@pytest.mark.parametrize("fmt", FORMATS[::3], ids=str)
def test_half_precision_codes_and_words(fmt):
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert same(sfj.encode(jnp.asarray(every), fmt), sf.encode(every, fmt))
    codes = np.arange(fmt.max_code + 1, dtype=fmt.dtype)
    for dtype, name in ((np.float16, "binary16"), (jnp.bfloat16, "bfloat16"), (np.float32, "binary32")):
        if fmt.fits_in(name):
            assert same(sfj.decode(codes, fmt, dtype=dtype), sf.decode(codes, fmt, dtype=dtype))
    for n, first in ((32, 0), (9, 3), (1, 2**34 - 2)):
        how = {"rounding": "stochastic-a", "seed": 2**63 + 9, "stream": "w", "random_bits": n, "first_element": first}
        x = boundaries(fmt)[:30000]
        assert same(sfj.encode(jnp.asarray(x), fmt, **how), sf.encode(x, fmt, **how))


def test_float64():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).standard_normal(10_000) * 2.0 ** np.arange(-50, 50).repeat(100)
        for fmt in FORMATS[:30]:
            assert same(sfj.encode(jnp.asarray(x), fmt), sf.encode(x, fmt))
            if fmt.fits_in("binary64"):
                assert same(sfj.round(jnp.asarray(x), fmt), sf.round(x, fmt))
        how = {"rounding": "stochastic-a", "seed": 3}
        assert same(sfj.encode(jnp.asarray(x), "cfloat8_1_4_3:bias=7", **how), sf.encode(x, "cfloat8_1_4_3:bias=7", **how))


def test_transforms():
    x = np.random.default_rng(0).standard_normal((6, 7)).astype(np.float32)
    rounded = sf.round(x, "e4m3fn")
    assert same(jax.vmap(lambda row: sfj.fake_quantize(row, "e4m3fn"))(x), rounded)
    assert same(jax.jit(jax.vmap(lambda c: sfj.fake_quantize(c, "e4m3fn"), 1, 1))(x), rounded)

    def loss(w, row):
        return (sfj.fake_quantize(w, "e5m2") * row).sum()

    assert same(jax.grad(loss)(x[0], x[1]), x[1])
    assert same(jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(x[0], x), x)
    value, tangent = jax.jvp(lambda w: sfj.fake_quantize(w, "e5m2"), (x,), (x + 1,))
    assert same(value, sf.round(x, "e5m2")) and same(tangent, x + 1)
    odd = jnp.array([1.1, jnp.inf, jnp.nan], jnp.bfloat16)
    kept = sfj.fake_quantize(odd, "cfloat8_1_4_3:bias=7")
    assert kept.dtype == jnp.bfloat16 and float(kept[0]) == 1.125 and jnp.isinf(kept[1]) and jnp.isnan(kept[2])
    assert float(sfj.fake_quantize(odd, "cfloat8_1_4_3:bias=7", nonfinite="preset")[1]) == 480


def test_training():
    """A regression whose weights and activations are rounded learns, beside one in float32."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((256, 16)).astype(np.float32)
    y = np.tanh(x[:, :4] + 0.5 * x[:, 4:8])
    first = {"a": rng.standard_normal((16, 64)) / 4, "b": rng.standard_normal((64, 4)) / 8}

    def loss(weights, quantize):
        hidden = jnp.tanh(quantize(x) @ quantize(weights["a"]))
        return jnp.mean((quantize(hidden) @ quantize(weights["b"]) - y) ** 2)

    def train(quantize):
        weights = {name: jnp.asarray(w, jnp.float32) for name, w in first.items()}
        step = jax.jit(jax.value_and_grad(lambda w: loss(w, quantize)))
        for _ in range(200):
            value, gradient = step(weights)
            weights = {name: w - 0.3 * gradient[name] for name, w in weights.items()}
        return float(value)

    wide = train(lambda x: x)
    for fmt in ("e4m3fn", "cfloat8_1_4_3:bias=9", "binary8p4se", "shp:bias=20", "e3m2fn"):
        small = train(lambda x, fmt=fmt: sfj.fake_quantize(x, fmt))
        print(f"\nloss after 200 steps in JAX: {fmt}: {small:.5f}, in float32 {wide:.5f}")
        assert small < 1.5 * wide + 0.01


def test_what_is_refused():
    with pytest.raises(TypeError, match="int32"):
        sfj.round(jnp.arange(3), "e5m2")
    with pytest.raises(ValueError, match="needs a seed"):
        sfj.round(jnp.ones(3), "e5m2", rounding="stochastic-a")
    with pytest.raises(ValueError, match="leave it out"):
        sfj.round(jnp.ones(3), "e5m2", seed=1)
    for how in ({"seed": 1.5}, {"seed": 1, "first_element": 0.5}, {"seed": 1, "stream": 2.0}):
        with pytest.raises(TypeError, match=r"must be an integer in 0\.\.2\*\*64"):
            sfj.round(jnp.ones(3), "e5m2", rounding="stochastic-a", **how)
    for how in ({"seed": -1}, {"seed": 2**64}, {"seed": 1, "first_element": -1}):
        with pytest.raises(ValueError, match=r"must be an integer in 0\.\.2\*\*64"):
            sfj.round(jnp.ones(3), "e5m2", rounding="stochastic-a", **how)
    with pytest.raises(TypeError, match="seed .* static_argnames"):
        jax.jit(lambda seed: sfj.round(jnp.ones(3), "e5m2", rounding="stochastic-a", seed=seed))(1)
    one = sf.round(np.ones(3, np.float32) + np.float32(0.1), "e5m2", rounding="stochastic-a", seed=1)
    assert same(sfj.round(jnp.ones(3) + 0.1, "e5m2", rounding="stochastic-a", seed=jnp.int32(1)), one)
    with pytest.raises(ValueError, match="does not have"):
        sfj.round(jnp.ones(3, jnp.float16), "bfloat16")
    with pytest.raises(ValueError, match="24 bits"):
        sfj.round(jnp.ones(3), "fp24")
    with pytest.raises(ValueError, match="'keep'"):
        sfj.fake_quantize(jnp.ones(3), "e5m2", nonfinite="refuse")
    for fmt in ("e5m2", "mxfp4"):
        with pytest.raises(TypeError, match="^unexpected keyword argument 'foo'"):
            sfj.fake_quantize(jnp.ones((1, 32)), fmt, foo=1)
    for codes in (jnp.ones(3), jnp.ones(3, jnp.float8_e4m3fn)):
        with pytest.raises(TypeError, match="codes"):
            sfj.decode(codes, "e5m2")
    # As NumPy's front says it, where there are numbers; what is traced has none.
    for codes, fmt, message in [
        (jnp.array([1, 300]), "e4m3fn", "0..=0xff, the array has 1..=300"),
        (jnp.array([1, -1], jnp.int8), "e4m3fn", "0..=0xff, the array has -1..=1"),
        (jnp.array([[3], [16]], jnp.uint8), "e2m1fn", "0..=0xf, the array has 3..=16"),
        (np.array([2**32 + 5]), "e4m3fn", "0..=0xff, the array has 4294967301..=4294967301"),
        (np.int64(65536), "bfloat16", "0..=0xffff, the array has 65536..=65536"),
    ]:
        for call in (sfj.decode, lambda codes, fmt: jax.jit(lambda: sfj.decode(codes, fmt))()):
            with pytest.raises(ValueError, match=rf"^codes of {fmt} are {message}\b"):
                call(codes, fmt)
    assert jax.jit(lambda codes: sfj.decode(codes, "e4m3fn"))(jnp.array([0x38, 300])).shape == (2,)
    assert sfj.decode(jnp.array([0, 255]), "e4m3fn").shape == (2,) and sfj.decode(jnp.zeros(0, jnp.int32), "e4m3fn").size == 0
    q = sfj.quantize(jnp.ones((1, 32)), "mxfp4")
    for call in (lambda dtype: sfj.decode(jnp.zeros(3, jnp.uint8), "e5m2", dtype=dtype), q.dequantize):
        with pytest.raises(TypeError, match="not int32"):
            call(jnp.int32)
        with pytest.raises(ValueError, match="jax_enable_x64"):
            call(jnp.float64)


def test_small_floats_of_jax_are_codes():
    codes = jnp.arange(256, dtype=jnp.uint8)
    own = jax.lax.bitcast_convert_type(codes, jnp.float8_e5m2)
    found, expected = np.asarray(sfj.decode(own, "e5m2")), np.asarray(own.astype(jnp.float32))
    is_nan = np.isnan(expected)
    assert is_nan.sum() == 6 and np.isnan(found[is_nan]).all() and same(found[~is_nan], expected[~is_nan])
