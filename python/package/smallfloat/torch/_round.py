"""Encode, decode and round: by the compiled part on the CPU, by kernels where a device has them,
and as tensor operations everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import _bits, _core
from .._core import Format
from .._interop import number_dtype
from ..kernel import Kernel, checked_seed, kernel, words
from ._device import convert, has_float_kernels, has_kernels, is_plain
from ._memory import array_of, tensor_of

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_EXACT_IN = {torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32", torch.float64: "binary64"}


@torch.compiler.assume_constant_result
def constant_kernel(
    fmt: Any,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    random_bits: int = 32,
    is_biased: bool = False,
) -> Kernel:
    """A kernel, which `torch.compile` takes for a constant; of the format at the bias 0 where
    biases are data."""
    made = Format(fmt, bias=0) if is_biased else fmt
    return kernel(made, preset=preset, rounding=rounding, saturation=saturation, random_bits=random_bits)


@torch.compiler.assume_constant_result
def _constant_words(seed: int, stream: Any, first_element: int) -> Any:
    return words(seed, stream, first_element)


@torch.compiler.assume_constant_result
def _fits(name: str, other: str) -> bool:
    return Format(name).fits_in(other)


@torch.compiler.assume_constant_result
def _is_named(dtype: str, name: str) -> bool:
    return Format(dtype.removeprefix("torch.")).name == name


class _Tensors:
    """What `_bits` needs of a library."""

    #: Words of 32 bits are held in int64.
    room = 63
    where = staticmethod(torch.where)

    @staticmethod
    def minimum(a: Any, b: int) -> Any:
        return torch.clamp(a, max=b) if isinstance(a, torch.Tensor) else min(a, b)

    @staticmethod
    def int_to_float_bits(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float64).view(x.dtype) if x.dtype == torch.int64 else x.to(torch.float32).view(x.dtype)

    @staticmethod
    def unsigned(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.int64)

    @staticmethod
    def complement(word: torch.Tensor) -> torch.Tensor:
        return word ^ 0xFFFFFFFF


def _multiply(constant: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    # The product of 64 bits wraps; its halves are right.
    product = word * constant
    return (product >> 32) & 0xFFFFFFFF, product & 0xFFFFFFFF


def random_words(count: int, key: Any, stream: Any, first_element: int, device: Any) -> torch.Tensor:
    """The words of elements, in int64."""
    begin = first_element % 4
    blocks = torch.arange((begin + count + 3) // 4, dtype=torch.int64, device=device) + first_element // 4
    counter = (blocks & 0xFFFFFFFF, (blocks >> 32) & 0xFFFFFFFF, torch.full_like(blocks, stream[0]), torch.full_like(blocks, stream[1]))
    block_words = torch.stack(_bits.philox(_multiply, counter, key), dim=-1)
    return block_words.reshape(-1)[begin : begin + count]


def check_float(x: torch.Tensor) -> None:
    """Refuses what is no tensor, and tensors of other dtypes."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x must be a tensor, not {type(x).__name__}: smallfloat without torch takes arrays and lists")
    if x.dtype not in FLOATS:
        raise TypeError(f"x has the dtype {x.dtype}: convert it to float16, bfloat16, float32 or float64")


def encode_by(k: Kernel, x: torch.Tensor, shift: Any = 0, word: torch.Tensor | None = None) -> torch.Tensor:
    """Codes, in integers as wide as the floats or wider."""
    wide, layout = (x.view(torch.int64), _bits.F64) if x.dtype == torch.float64 else (x.float().view(torch.int32), _bits.F32)
    return _bits.encode(_Tensors, k, layout, wide < 0, wide & ~layout.sign, shift, word)


def decode_by(k: Kernel, codes: torch.Tensor, dtype: torch.dtype, shift: Any = 0) -> torch.Tensor:
    """Values of codes times 2**shift, rounded to nearest even if the dtype does not have them."""
    if dtype == torch.float64:
        return _bits.decode(_Tensors, k, _bits.F64, codes.to(torch.int64), shift).view(torch.float64)
    bits = _bits.decode(_Tensors, k, _bits.F32, codes.to(torch.int32), shift)
    if dtype == torch.bfloat16:
        # By bits, since torch has two NaNs.
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to(torch.int16).view(dtype)
    # Values of 16 bits are exact in float32, but for those so small that they are zero in float16.
    return bits.view(torch.float32).to(dtype)


def words_of(k: Kernel, x: torch.Tensor, seed: int | None, stream: Any, first_element: int) -> torch.Tensor | None:
    """The random words of a tensor's elements, or None where the rounding needs none."""
    seed = checked_seed(k, seed)
    if seed is None:
        return None
    return random_words(x.numel(), *_constant_words(seed, stream, first_element), x.device).reshape(x.shape)


def numbers_of_words(k: Kernel, seed: int | None, stream: Any, first_element: int) -> Any:
    """Key, stream and first element of the random words, or None where the rounding needs none."""
    seed = checked_seed(k, seed)
    return None if seed is None else _constant_words(seed, stream, first_element)


def _of_words(k: Kernel, seed: int | None, stream: Any, random_bits: int, first_element: int) -> dict[str, Any]:
    """What the compiled part is told of random words: nothing where the rounding needs none."""
    if checked_seed(k, seed) is None:
        return {}
    return {"seed": seed, "stream": stream, "random_bits": random_bits, "first_element": first_element}


def _stored(k: Kernel) -> torch.dtype:
    """The dtype of a tensor of codes."""
    return torch.uint8 if k.width <= 8 else torch.int16


def check_exact(k: Kernel, dtype: torch.dtype) -> None:
    """Refuses formats with values that a dtype does not have."""
    if not _fits(k.name, _EXACT_IN[dtype]):
        raise ValueError(f"{k.name} has values that {dtype} does not have: convert x to a wider dtype")


def by_kernels(operation: Any, x: torch.Tensor, fmt: Any, **how: Any) -> torch.Tensor:
    """What an operation of the compiled part makes of a tensor's elements."""
    return tensor_of(np.asarray(operation(array_of(x), fmt, **how))).reshape(x.shape)


def encode(
    x: torch.Tensor,
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    first_element: int = 0,
) -> torch.Tensor:
    """`smallfloat.encode` of tensors: codes in uint8, or int16 for formats of more than 8 bits.

    On any device, and within `torch.compile`, `torch.export` and `torch.func`. Codes above 2**15
    are negative in int16, which `.view(torch.uint16)` undoes.
    """
    check_float(x)
    k = constant_kernel(fmt, preset, rounding, saturation, random_bits)
    dtype = _stored(k)
    if is_plain(x):
        how = {"preset": preset, "rounding": rounding, "saturation": saturation}
        return by_kernels(_core.encode, x, fmt, **how, **_of_words(k, seed, stream, random_bits, first_element))
    if has_float_kernels(x):
        return convert("encode", k, x.detach(), dtype, words=numbers_of_words(k, seed, stream, first_element))
    return encode_by(k, x, word=words_of(k, x, seed, stream, first_element)).to(dtype)


def decode(codes: torch.Tensor, fmt: Any, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """`smallfloat.decode` of tensors; codes are integers of any dtype, those of int16 as `encode`
    gives them."""
    k = constant_kernel(fmt)
    check_exact(k, dtype)
    if codes.is_floating_point() and codes.dtype.itemsize == 1:
        if not _is_named(str(codes.dtype), k.name):
            raise TypeError(f"the codes' dtype is {codes.dtype}, which is not {k.name}")
        codes = codes.view(torch.uint8)
    if codes.is_floating_point() or codes.is_complex() or codes.dtype == torch.bool:
        raise TypeError(f"codes of {k.name} are integers, not {codes.dtype}")
    if codes.dtype == torch.uint16:
        codes = codes.view(torch.int16)
    if is_plain(codes):
        array = array_of(codes)
        if codes.dtype in (torch.int8, torch.int16):
            array = array.view(np.uint8 if codes.dtype == torch.int8 else np.uint16)
        elif k.width == 16 and codes.dtype in (torch.int32, torch.int64):
            # Codes that were int16 before.
            array = np.where((array < 0) & (array >= -(1 << 15)), array + (1 << 16), array)
        return tensor_of(np.asarray(_core.decode(array, fmt, dtype=number_dtype(dtype)))).reshape(codes.shape)
    if has_kernels(codes) and dtype != torch.float64:
        return convert("decode", k, codes, dtype)
    return decode_by(k, codes.to(torch.int32) & ((1 << k.width) - 1), dtype)


def round_by(
    k: Kernel, x: torch.Tensor, shift: Any = 0, *, seed: int | None = None, stream: Any = None, first_element: int = 0, keep: bool = False
) -> torch.Tensor:
    """The values that codes of `x` times 2**shift have, times 2**-shift; with `keep` NaN and
    infinities stay."""
    if has_float_kernels(x):
        words = numbers_of_words(k, seed, stream, first_element)
        return convert("round", k, x.detach(), x.dtype, shift=shift, words=words, keep=keep)
    word = words_of(k, x, seed, stream, first_element)
    y = decode_by(k, encode_by(k, x, shift, word), x.dtype, -shift)
    return torch.where(torch.isfinite(x), y, x) if keep else y


def round(
    x: torch.Tensor,
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    first_element: int = 0,
) -> torch.Tensor:
    """`smallfloat.round` of tensors, with the same bits on any device and within `torch.compile`;
    results have no gradient (`requires_grad` is False): `fake_quantize` has one.

    Parameters
    ----------
    x : Tensor of float16, bfloat16, float32 or float64
    fmt : Format or str
        Of up to 16 bits, with values that `x`'s dtype has.
    preset, rounding, saturation, seed, stream, random_bits, first_element :
        As of `smallfloat.encode`; of the stochastic modes there is 'stochastic-a', with the words
        of Philox.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> sft.round(torch.tensor([1.0, 1.1, 1e9]), "e4m3fn", preset="ocp-saturate")
    tensor([  1.0000,   1.1250, 448.0000])
    """
    check_float(x)
    k = constant_kernel(fmt, preset, rounding, saturation, random_bits)
    check_exact(k, x.dtype)
    if is_plain(x):
        how = {"preset": preset, "rounding": rounding, "saturation": saturation}
        return by_kernels(_core.round, x, fmt, **how, **_of_words(k, seed, stream, random_bits, first_element))
    return round_by(k, x, seed=seed, stream=stream, first_element=first_element)
