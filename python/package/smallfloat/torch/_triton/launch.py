"""From a `smallfloat.kernel.Kernel` to the arguments of kernels, and how these are launched."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
import triton

from ...kernel import ROUNDINGS, Kernel, kernel
from . import blocks as _blocks
from . import convert as _kernels
from . import statistics as _statistics

#: Whether kernels run in Triton's interpreter, on the CPU (TRITON_INTERPRET=1).
IS_INTERPRETED = not isinstance(_kernels.convert_kernel, triton.runtime.jit.JITFunction)
#: What lies below the smallest normal value, as kernels have it.
GRIDS = {"gradual": 0, "tesla": 1, "flush": 2, "none": 3, "e8m0": 4}
_FLOATS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
_BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
_LEAST_NORMAL = {0: 0x00800000, 1: 0x00800000, 2: 0x38800000}


def _pair(numbers: tuple[int, int]) -> int:
    packed = numbers[0] | numbers[1] << 16
    return packed - (1 << 32) if packed >> 31 else packed


class Constants(NamedTuple):
    """The arguments of a conversion: numbers, and what kernels are compiled for."""

    encode: tuple[int, ...]
    decode: tuple[int, ...]
    flags: tuple[int, ...]
    rounding: int
    grid: int
    signed: bool
    no_negative_zero: bool
    #: Whether subnormal numbers of binary32 are told apart from zero, and whether values are such numbers or beyond the range.
    wide_in: bool
    wide_out: bool


@functools.lru_cache(maxsize=4096)
def constants(k: Kernel) -> Constants:
    """The arguments for a conversion."""
    if not k.has_zero:
        grid = GRIDS["e8m0"]
    elif k.subnormals == "none" and not k.has_gap:
        grid = GRIDS["gradual"]
    else:
        grid = GRIDS[k.subnormals]
    sign_bit = 1 << (k.width - 1) if k.signed else 0
    lowest_step = k.lowest - k.trailing - (grid == GRIDS["tesla"])
    is_random = k.rounding == "stochastic-a"
    encode = (
        k.trailing, k.lowest, k.highest, k.largest, k.first_normal, k.lowest_index, k.steps, sign_bit, _pair(k.zero),
        _pair(k.overflow), _pair(k.infinity), _pair(k.nan), k.random_bits,
    )  # fmt: skip
    index_mask = (1 << (k.width - k.signed)) - 1
    return Constants(
        encode=encode,
        decode=(max(k.largest, k.infinity_index), k.infinity_index, index_mask),
        flags=tuple(map(_pair, k.flags)),
        rounding=ROUNDINGS.index(k.rounding),
        grid=grid,
        signed=k.signed,
        no_negative_zero=k.nan_is_negative_zero,
        wide_in=lowest_step - 1 < -126 + (33 if is_random else 0),
        wide_out=lowest_step < -126 or k.highest > 127,
    )


def float_of(dtype: torch.dtype) -> int:
    """The number that kernels have for a type."""
    return _FLOATS[dtype]


def bits_of(x: torch.Tensor) -> torch.Tensor:
    """A tensor's bits: no type of the language smaller than binary32 is safe."""
    return x.contiguous().view(_BITS[x.dtype])


def block_size(count: int, usual: int) -> int:
    """Elements of a program; in the interpreter, which is NumPy, many."""
    if not IS_INTERPRETED:
        return usual
    return max(usual, min(1 << 16, triton.next_power_of_2(max(count, 1))))


def launch(fn: Any) -> Any:
    """A kernel as the compiler of torch sees it; interpreted kernels are called directly, since
    that refuses them."""
    return fn if IS_INTERPRETED else torch.library.wrap_triton(fn)


_ENCODE, _DECODE, _ROUND = "encode", "decode", "round"


def convert(
    operation: str,
    k: Kernel,
    x: torch.Tensor,
    dtype: torch.dtype,
    *,
    shift: torch.Tensor | None = None,
    words: tuple[Any, Any, int] | torch.Tensor | None = None,
    keep: bool = False,
    counts: torch.Tensor | None = None,
) -> torch.Tensor:
    """Runs `convert_kernel`.

    Parameters
    ----------
    operation : 'encode', 'decode' or 'round'
    x, dtype : Tensor, dtype
        Floats or codes, and the type of what comes out.
    shift : Tensor of one integer, optional
        Elements are multiplied by 2**shift before they are encoded or after they are decoded;
        rounding does both.
    words : tuple or Tensor
        For stochastic rounding: (key, stream, first element) as of `smallfloat.kernel.words`, or
        three int64 (seed, stream, first element).
    keep : bool
        NaN and infinities stay as they are.
    counts : Tensor of 14 int64, optional
        To which events are added.
    """
    c, n = constants(k), x.numel()
    floats = dtype if operation == _DECODE else x.dtype
    given = x.contiguous() if operation == _DECODE else bits_of(x)
    out = torch.empty_like(given, dtype=_BITS[dtype] if dtype in _BITS else dtype)
    rounding = c.rounding if operation != _DECODE else 0
    numbers, begin = (0,) * 6, 0
    if rounding == 6 and isinstance(words, torch.Tensor):
        begin = 3
    elif rounding == 6:
        key, stream, first = words
        begin, block = first % 4, first // 4
        halves = (*key, *stream, block & 0xFFFFFFFF, block >> 32)
        numbers = tuple(half - (1 << 32) if half >> 31 else half for half in halves)
    if n:
        size = block_size(n + begin, 1024)
        launch(_kernels.convert_kernel)[(triton.cdiv(n + begin, size),)](
            given, out, counts, shift, words if isinstance(words, torch.Tensor) else None, n, *numbers, begin,
            *c.encode, *c.decode, *c.flags, _LEAST_NORMAL[_FLOATS[floats]] if floats in _FLOATS else 0,
            OPERATION=operation, FLOAT=_FLOATS[floats], ROUNDING=rounding, GRID=c.grid, SIGNED=c.signed,
            NO_NEGATIVE_ZERO=c.no_negative_zero, WIDE_IN=c.wide_in or shift is not None, WIDE_OUT=c.wide_out or shift is not None,
            SHIFTED=shift is not None, WORDS=isinstance(words, torch.Tensor), KEEP=keep, COUNTED=counts is not None, BLOCK=size,
        )  # fmt: skip
    return out.view(dtype)


def amax_bits(x: torch.Tensor) -> torch.Tensor:
    """The largest finite magnitude, as bits of binary32 in one int32."""
    out = torch.zeros(1, dtype=torch.int32, device=x.device)
    if x.numel():
        size = block_size(x.numel(), 2048)
        grid = (triton.cdiv(x.numel(), size),)
        launch(_kernels.amax_kernel)[grid](bits_of(x), out, x.numel(), FLOAT=_FLOATS[x.dtype], BLOCK=size)
    return out


class Blocks(NamedTuple):
    """How blocks along rows lie."""

    rows: int
    columns: int
    #: Elements of a block, a power of two.
    block: int
    packing: str
    #: Bytes or codes of a row.
    stored: int
    #: 'power', 'bias' or 'number'.
    scale: str
    #: A format of scales by name.
    scale_format: str | None

    @property
    def across(self) -> int:
        """Blocks of a row."""
        return -(-self.columns // self.block)


def _rows_of_program(groups: int, block: int) -> int:
    return max(1, block_size(groups * block, 2048) // block)


def _scale_constants(blocks: Blocks) -> Constants:
    name = blocks.scale_format if blocks.scale == "number" else "e8m0fnu"
    return constants(kernel(name, rounding="nearest-even", saturation="satfinite"))


def quantize_blocks(
    k: Kernel, x: torch.Tensor, blocks: Blocks, top: tuple[int, int], threshold: int, over: torch.Tensor | None, values: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Runs `quantize_blocks_kernel`.

    Parameters
    ----------
    top : (int, int)
        Exponent and fraction (52 bits) of the largest value of the elements' format.
    threshold : int
        The least fraction of a magnitude (52 bits) at which a power of two is one more than the
        difference of exponents.
    over : Tensor of one float64, optional
        The number of the whole tensor that divides all scales.
    values : bool
        Whether values are wanted, of `x`'s dtype, rather than codes.
    """
    c, s, groups = constants(k), _scale_constants(blocks), blocks.rows * blocks.across
    given = bits_of(x)
    if values:
        out = torch.empty_like(given)
    else:
        dtype = torch.uint8 if k.width <= 8 else torch.int16
        out = torch.empty((blocks.rows, blocks.stored), dtype=dtype, device=x.device)
    scales = torch.empty((blocks.rows, blocks.across), dtype=torch.uint8, device=x.device)
    if groups:
        rows = _rows_of_program(groups, blocks.block)
        launch(_blocks.quantize_blocks_kernel)[(triton.cdiv(groups, rows),)](
            given, out, scales, over, groups, blocks.across, blocks.columns, blocks.stored, top[0], top[1] >> 32,
            -(-threshold >> 29), *c.encode, *c.decode, *s.encode[:-1], *s.decode,
            SCALE=blocks.scale, DIVIDED=over is not None, VALUES=values, PACKING=blocks.packing, FLOAT=_FLOATS[x.dtype],
            ROUNDING=c.rounding, GRID=c.grid, SIGNED=c.signed, NO_NEGATIVE_ZERO=c.no_negative_zero, SCALE_GRID=s.grid,
            SCALE_SIGNED=s.signed, SCALE_NO_NEGATIVE_ZERO=s.no_negative_zero, BLOCK=blocks.block, ROWS=rows,
        )  # fmt: skip
    return out.view(x.dtype) if values else out, scales


def dequantize_blocks(
    k: Kernel, codes: torch.Tensor, scales: torch.Tensor, blocks: Blocks, over: torch.Tensor | None, dtype: torch.dtype
) -> torch.Tensor:
    """Runs `dequantize_blocks_kernel`."""
    c, s, groups = constants(k), _scale_constants(blocks), blocks.rows * blocks.across
    out = torch.empty((blocks.rows, blocks.columns), dtype=_BITS[dtype], device=codes.device)
    if groups:
        rows = _rows_of_program(groups, blocks.block)
        launch(_blocks.dequantize_blocks_kernel)[(triton.cdiv(groups, rows),)](
            codes.contiguous(), scales.contiguous(), over, out, groups, blocks.across, blocks.columns, blocks.stored,
            *c.encode[:2], *c.decode, c.encode[7], *s.encode[:2], *s.decode, s.encode[7],
            SCALE=blocks.scale, DIVIDED=over is not None, PACKING=blocks.packing, FLOAT=_FLOATS[dtype], GRID=c.grid,
            SIGNED=c.signed, NO_NEGATIVE_ZERO=c.no_negative_zero, SCALE_GRID=s.grid, SCALE_SIGNED=s.signed,
            SCALE_NO_NEGATIVE_ZERO=s.no_negative_zero, BLOCK=blocks.block, ROWS=rows,
        )  # fmt: skip
    return out.view(dtype)


def error_table(x: torch.Tensor, trailing: int, hole: bool) -> torch.Tensor:
    """Runs `error_table_kernel`: a table [256, columns, 2]."""
    columns = _statistics.BELOW + trailing + 2
    table = torch.zeros((256, columns, 2), dtype=torch.int64, device=x.device)
    if x.numel():
        size = block_size(x.numel(), 4096)
        launch(_statistics.error_table_kernel)[(triton.cdiv(x.numel(), size),)](
            bits_of(x), table, x.numel(), FLOAT=_FLOATS[x.dtype], TRAILING=trailing, HOLE=int(hole), COLUMNS=columns, BLOCK=size
        )
    return table
