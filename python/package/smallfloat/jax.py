"""JAX: encode, decode and round as array operations, under `jit`, `vmap` and `grad`.

The integer arithmetic of the core (`smallfloat.kernel`), so the bits are the same on every device.

>>> import jax, jax.numpy as jnp, smallfloat.jax as sfj
>>> x = jnp.array([1.0, 1.1, 500.0])
>>> jax.jit(lambda x: sfj.fake_quantize(x, "e4m3fn", saturation="satfinite"))(x)
Array([  1.   ,   1.125, 448.   ], dtype=float32)
>>> jax.grad(lambda x: sfj.fake_quantize(x, "e4m3fn").sum())(x)
Array([1., 1., 1.], dtype=float32)
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import _bits
from ._core import Format
from .kernel import Kernel, checked_seed, kernel, words

__all__ = ["decode", "encode", "fake_quantize", "round"]

_EXACT_IN = {"float16": "binary16", "bfloat16": "bfloat16", "float32": "binary32", "float64": "binary64"}


class _Arrays:
    """What `_bits` needs of a library."""

    room = 32
    where = staticmethod(jnp.where)
    minimum = staticmethod(jnp.minimum)

    @staticmethod
    def int_to_float_bits(x: Any) -> Any:
        return lax.bitcast_convert_type(x.astype(jnp.float64 if x.dtype == jnp.int64 else jnp.float32), x.dtype)

    @staticmethod
    def unsigned(x: Any) -> Any:
        return jnp.asarray(x).astype(jnp.uint32)

    @staticmethod
    def complement(word: Any) -> Any:
        return ~word


class _WideArrays(_Arrays):
    """For float64, which needs 64 bits for words too."""

    room = 63

    @staticmethod
    def unsigned(x: Any) -> Any:
        return jnp.asarray(x).astype(jnp.int64)

    @staticmethod
    def complement(word: Any) -> Any:
        return word ^ 0xFFFFFFFF


def _multiply(constant: int, word: Any) -> tuple[Any, Any]:
    """Halves of a product of two words of 32 bits, from those of 16."""
    high, low = constant >> 16, constant & 0xFFFF
    word_high, word_low = word >> 16, word & 0xFFFF
    middle = word_high * jnp.uint32(low) + (word_low * jnp.uint32(low) >> 16)
    other = word_low * jnp.uint32(high) + (middle & 0xFFFF)
    return word_high * jnp.uint32(high) + (middle >> 16) + (other >> 16), word * jnp.uint32(constant)


def _random_words(count: int, key: Any, stream: Any, first_element: int) -> Any:
    begin, first_block = first_element % 4, first_element // 4
    blocks = (begin + count + 3) // 4
    low = jnp.arange(blocks, dtype=jnp.uint32) + jnp.uint32(first_block & 0xFFFFFFFF)
    carry = (low < jnp.uint32(first_block & 0xFFFFFFFF)).astype(jnp.uint32)
    high = carry + jnp.uint32(first_block >> 32 & 0xFFFFFFFF)
    rest = (jnp.full_like(low, jnp.uint32(half)) for half in stream)
    found = _bits.philox(_multiply, (low, high, *rest), key, jnp.uint32)
    return jnp.stack(found, axis=-1).reshape(-1)[begin : begin + count]


def _check(x: Any) -> Any:
    x = jnp.asarray(x)
    if x.dtype.name not in _EXACT_IN:
        raise TypeError(f"x has the dtype {x.dtype}: convert it to float16, bfloat16, float32 or float64")
    return x


def _integers(x: Any) -> tuple[Any, Any]:
    """The bits of floats as floats of 32 or 64 bits have them."""
    # Widened by bits where arithmetic may flush subnormal numbers.
    if x.dtype == jnp.float64:
        return lax.bitcast_convert_type(x, jnp.int64), _bits.F64
    if x.dtype == jnp.bfloat16:
        return lax.bitcast_convert_type(x, jnp.uint16).astype(jnp.int32) << 16, _bits.F32
    return lax.bitcast_convert_type(x.astype(jnp.float32), jnp.int32), _bits.F32


def _encode(k: Kernel, x: Any, word: Any) -> Any:
    bits, layout = _integers(x)
    lib = _WideArrays if layout is _bits.F64 else _Arrays
    word = word if word is None else lib.unsigned(word)
    return _bits.encode(lib, k, layout, bits < 0, bits & ~layout.sign, 0, word)


def _decode(k: Kernel, codes: Any, dtype: Any) -> Any:
    if dtype == jnp.float64:
        return lax.bitcast_convert_type(_bits.decode(_WideArrays, k, _bits.F64, codes.astype(jnp.int64)), jnp.float64)
    bits = _bits.decode(_Arrays, k, _bits.F32, codes.astype(jnp.int32))
    if dtype == jnp.bfloat16:
        return lax.bitcast_convert_type((bits >> 16).astype(jnp.uint16), jnp.bfloat16)
    return lax.bitcast_convert_type(bits, jnp.float32).astype(dtype)


def _words(k: Kernel, x: Any, seed: int | None, stream: Any, first_element: int) -> Any:
    seed = checked_seed(k, seed)
    if seed is None:
        return None
    return _random_words(x.size, *words(seed, stream, first_element)).reshape(x.shape)


def _check_exact(k: Kernel, dtype: Any) -> None:
    if not Format(k.name).fits_in(_EXACT_IN[jnp.dtype(dtype).name]):
        raise ValueError(f"{k.name} has values that {jnp.dtype(dtype).name} does not have: convert x to a wider dtype")


def encode(
    x: Any,
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    first_element: int = 0,
) -> jax.Array:
    """`smallfloat.encode` of an array: codes in uint8 or uint16.

    Parameters
    ----------
    x : array of float16, bfloat16, float32, or float64 where JAX has it
    fmt : Format or str
        Of up to 16 bits.
    preset, rounding, saturation, seed, stream, random_bits, first_element :
        As of `smallfloat.encode`; of the stochastic modes there is 'stochastic-a', with the words of Philox. Under `vmap` an
        element's index is that in its own example.
    """
    x = _check(x)
    k = kernel(fmt, preset=preset, rounding=rounding, saturation=saturation, random_bits=random_bits)
    codes = _encode(k, x, _words(k, x, seed, stream, first_element))
    return codes.astype(jnp.uint8 if k.width <= 8 else jnp.uint16)


def decode(codes: Any, fmt: Any, *, dtype: Any = jnp.float32) -> jax.Array:
    """`smallfloat.decode` of an array of codes; every value of the format must be exact in `dtype`."""
    k, dtype = kernel(fmt), jnp.dtype(dtype)
    _check_exact(k, dtype)
    return _decode(k, jnp.asarray(codes), dtype)


def round(
    x: Any,
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    first_element: int = 0,
) -> jax.Array:
    """`smallfloat.round` of an array: the values of the format that it rounds to, in `x`'s dtype. Parameters as of `encode`."""
    x = _check(x)
    k = kernel(fmt, preset=preset, rounding=rounding, saturation=saturation, random_bits=random_bits)
    _check_exact(k, x.dtype)
    return _decode(k, _encode(k, x, _words(k, x, seed, stream, first_element)), x.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _straight_through(x: Any, nonfinite: str, how: tuple[tuple[str, Any], ...]) -> Any:
    y = round(x, **dict(how))
    return jnp.where(jnp.isfinite(x), y, x) if nonfinite == "keep" else y


@_straight_through.defjvp
def _(nonfinite, how, primals, tangents):
    return _straight_through(primals[0], nonfinite, how), tangents[0]


def fake_quantize(x: Any, fmt: Any, *, nonfinite: str = "keep", **how: Any) -> jax.Array:
    """`round` with the gradient of the identity ("straight through").

    Parameters
    ----------
    x, fmt, **how :
        As of `round`.
    nonfinite : str
        'keep' (default): NaN and infinities stay what they are, also where the format has none. 'preset': what the format's
        preset makes of them.
    """
    if nonfinite not in ("keep", "preset"):
        raise ValueError(f"nonfinite={nonfinite!r} is not known: write 'keep' (the default) or 'preset'")
    return _straight_through(_check(x), nonfinite, (("fmt", str(fmt)), *sorted(how.items())))
