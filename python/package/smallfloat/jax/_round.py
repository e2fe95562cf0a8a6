"""Encode, decode and round as array operations."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import _bits
from .._config import told
from .._core import Format
from .._interop import dtype_name
from ..kernel import Kernel, checked_seed, kernel, words

EXACT_IN = {"float16": "binary16", "bfloat16": "bfloat16", "float32": "binary32", "float64": "binary64"}


class Arrays:
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


class WideArrays(Arrays):
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


def check(x: Any) -> Any:
    x = jnp.asarray(x)
    if x.dtype.name not in EXACT_IN:
        raise TypeError(f"x has the dtype {x.dtype}: convert it to float16, bfloat16, float32 or float64")
    return x


def check_dtype(dtype: Any) -> Any:
    """The dtype of values."""
    dtype = jnp.dtype(dtype)
    if dtype.name not in EXACT_IN:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64, not {dtype}")
    if dtype == jnp.float64 and not jax.config.jax_enable_x64:
        raise ValueError("JAX has no float64 here: enable jax_enable_x64, or take float32")
    return dtype


def _integers_of_codes(codes: Any, fmt: str) -> Any:
    """Codes as integers, also of JAX's own small floats; what is traced has no values to check."""
    # JAX may cut NumPy's integers to 32 bits: they are checked before.
    codes = codes if isinstance(codes, (np.ndarray, np.generic)) else jnp.asarray(codes)
    if (own := dtype_name(codes.dtype)) is not None and codes.dtype.itemsize <= 2:
        if Format(own) != Format(fmt):
            raise TypeError(f"the codes' dtype is {codes.dtype}, which is not {fmt}")
        return lax.bitcast_convert_type(codes, jnp.uint8 if codes.dtype.itemsize == 1 else jnp.uint16)
    check_codes(codes, Format(fmt).max_code, f"codes of {fmt}")
    return jnp.asarray(codes)


def check_codes(codes: Any, largest: int, what: str) -> None:
    """Refuses what are no integers from 0 to the largest; what is traced has no values to check."""
    if not jnp.issubdtype(codes.dtype, jnp.integer):
        raise TypeError(f"{what} are integers, not {codes.dtype}")
    limits = jnp.iinfo(codes.dtype)
    if not isinstance(codes, jax.core.Tracer) and codes.size and (limits.min < 0 or limits.max > largest):
        # What is constant under jit has numbers too.
        with jax.ensure_compile_time_eval():
            least, most = int(codes.min()), int(codes.max())
        if least < 0 or most > largest:
            raise ValueError(f"{what} are 0..={largest:#x}, the array has {least}..={most}")


def integers(x: Any) -> tuple[Any, Any]:
    """The bits of floats as floats of 32 or 64 bits have them."""
    # Widened by bits where arithmetic may flush subnormal numbers.
    if x.dtype == jnp.float64:
        return lax.bitcast_convert_type(x, jnp.int64), _bits.F64
    if x.dtype == jnp.bfloat16:
        return lax.bitcast_convert_type(x, jnp.uint16).astype(jnp.int32) << 16, _bits.F32
    return lax.bitcast_convert_type(x.astype(jnp.float32), jnp.int32), _bits.F32


def library_of(layout: _bits.Layout) -> type[Arrays]:
    """The operations for floats of 32 or 64 bits."""
    return WideArrays if layout is _bits.F64 else Arrays


def encode_by(k: Kernel, x: Any, word: Any = None, shift: Any = 0) -> Any:
    """Codes of floats times 2**shift, in integers as wide as the floats or wider."""
    bits, layout = integers(x)
    lib = library_of(layout)
    word = word if word is None else lib.unsigned(word)
    return _bits.encode(lib, k, layout, bits < 0, bits & ~layout.sign, shift, word)


def decode_by(k: Kernel, codes: Any, dtype: Any, shift: Any = 0) -> Any:
    """Values of codes times 2**shift, rounded to nearest even if the dtype does not have them."""
    if dtype == jnp.float64:
        return lax.bitcast_convert_type(_bits.decode(WideArrays, k, _bits.F64, codes.astype(jnp.int64), shift), jnp.float64)
    bits = _bits.decode(Arrays, k, _bits.F32, codes.astype(jnp.int32), shift)
    if dtype == jnp.bfloat16:
        return lax.bitcast_convert_type(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(jnp.uint16), jnp.bfloat16)
    return lax.bitcast_convert_type(bits, jnp.float32).astype(dtype)


def words_of(k: Kernel, x: Any, seed: int | None, stream: Any, first_element: int) -> Any:
    first_element = _integer("first_element", first_element)
    seed = checked_seed(k, seed)
    if seed is None:
        return None
    stream = stream if stream is None or isinstance(stream, str) else _integer("stream", stream)
    return _random_words(x.size, *words(_integer("seed", seed), stream, first_element)).reshape(x.shape)


def _integer(name: str, value: Any) -> int:
    """An argument that must be known where an array is traced."""
    try:
        number = operator.index(value)
    except TypeError as error:
        hint = ", which is traced: name it in static_argnames" if isinstance(value, jax.core.Tracer) else ""
        raise TypeError(f"{name} must be an integer in 0..2**64, not {value!r}{hint}") from error
    if not 0 <= number < 2**64:
        raise ValueError(f"{name} must be an integer in 0..2**64, not {told(number)}")
    return number


def _check_exact(k: Kernel, dtype: Any) -> None:
    if not Format(k.name).fits_in(EXACT_IN[jnp.dtype(dtype).name]):
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
        As of `smallfloat.encode`; of the stochastic modes there is 'stochastic-a', with the words
        of Philox. Under `vmap` an element's index is that in its own example.
    """
    x = check(x)
    k = kernel(fmt, preset=preset, rounding=rounding, saturation=saturation, random_bits=random_bits)
    codes = encode_by(k, x, words_of(k, x, seed, stream, first_element))
    return codes.astype(jnp.uint8 if k.width <= 8 else jnp.uint16)


def decode(codes: Any, fmt: Any, *, dtype: Any = jnp.float32) -> jax.Array:
    """`smallfloat.decode` of an array of codes; every value of the format must be exact in
    `dtype`."""
    k, dtype = kernel(fmt), check_dtype(dtype)
    _check_exact(k, dtype)
    return decode_by(k, _integers_of_codes(codes, k.name), dtype)


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
    """`smallfloat.round` of an array: the values of the format that it rounds to, in `x`'s dtype.
    Parameters as of `encode`."""
    x = check(x)
    k = kernel(fmt, preset=preset, rounding=rounding, saturation=saturation, random_bits=random_bits)
    _check_exact(k, x.dtype)
    return decode_by(k, encode_by(k, x, words_of(k, x, seed, stream, first_element)), x.dtype)
