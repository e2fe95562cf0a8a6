"""The kernels: one for every conversion of elements, one for blocks that share a scale, two of
statistics.

All numbers of a format, a rounding and a bias are arguments, so a kernel is compiled once for each
kind of rounding and grid, not for each format. Arguments `format_*` and so on are in the order of
`_launch.Constants.numbers`.
"""

# ruff: noqa: ANN
import triton
import triton.language as tl

from .bits import _INFINITY, decode_bits, encode_bits, narrowed, widened, words_of_blocks

#: Arguments that must not become part of what is compiled.
_NUMBERS = [
    "n", "key_low", "key_high", "stream_low", "stream_high", "block_low", "block_high", "begin",
    "trailing", "lowest", "highest", "largest", "first_normal", "lowest_index", "steps", "sign_bit", "zero", "overflow",
    "infinity", "nan", "random_bits", "last_index", "infinity_index", "index_mask",
    "overflow_flags", "infinity_flags", "nan_flags", "least_normal", "rows", "columns", "stored", "across", "groups",
    "exponent_of_max", "fraction_of_max",
]  # fmt: skip


@triton.jit(do_not_specialize=_NUMBERS)
def convert_kernel(
    x, y, counts, shift, words, n, key_low, key_high, stream_low, stream_high, block_low, block_high, begin,
    trailing, lowest, highest, largest, first_normal, lowest_index, steps, sign_bit, zero, overflow, infinity, nan, random_bits,
    last_index, infinity_index, index_mask, overflow_flags, infinity_flags, nan_flags, least_normal,
    OPERATION: tl.constexpr, FLOAT: tl.constexpr, ROUNDING: tl.constexpr, GRID: tl.constexpr, SIGNED: tl.constexpr,
    NO_NEGATIVE_ZERO: tl.constexpr, WIDE_IN: tl.constexpr, WIDE_OUT: tl.constexpr, SHIFTED: tl.constexpr,
    WORDS: tl.constexpr, KEEP: tl.constexpr, COUNTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Encodes ('encode'), decodes ('decode') or does both ('round'); the shift and the seed may be
    in memory."""
    by = 0
    if SHIFTED:
        by = tl.load(shift).to(tl.int32)
    start = tl.program_id(0).to(tl.int64) * BLOCK
    if ROUNDING == 6:
        # Four elements share a block of words.
        group = start // 4 + tl.arange(0, BLOCK // 4)
        if WORDS:
            key, stream, first = tl.load(words), tl.load(words + 1), tl.load(words + 2)
            key_low, key_high = key.to(tl.int32), (key >> 32).to(tl.int32)
            stream_low, stream_high = stream.to(tl.int32), (stream >> 32).to(tl.int32)
            begin = (first & 3).to(tl.int32)
            block = group + ((first >> 2) & 0x3FFFFFFFFFFFFFFF)
        else:
            low = block_low.to(tl.uint32, bitcast=True).to(tl.int64)
            block = group + ((block_high.to(tl.int64) << 32) | low)
        word = words_of_blocks(block, key_low, key_high, stream_low, stream_high)
        at = (group * 4)[:, None] + tl.arange(0, 4)[None, :] - begin
        inside = (at >= 0) & (at < n)
    else:
        word = 0
        at = start + tl.arange(0, BLOCK)
        inside = at < n
    given = tl.load(x + at, mask=inside, other=0)
    if OPERATION == "decode":
        code = given.to(tl.int32)
    else:
        bits = widened(given, FLOAT)
        code, lo, inexact, below, beyond = encode_bits(
            bits, by, word, trailing, lowest, highest, largest, first_normal, lowest_index, steps, sign_bit, zero, overflow,
            infinity, nan, random_bits, ROUNDING, GRID, SIGNED, WIDE_IN,
        )  # fmt: skip
    if OPERATION == "encode":
        tl.store(y + at, code.to(y.dtype.element_ty), mask=inside)
    else:
        value = decode_bits(
            code, by if OPERATION == "decode" else -by, trailing, lowest, last_index, infinity_index, index_mask, sign_bit,
            GRID, SIGNED, NO_NEGATIVE_ZERO, WIDE_OUT,
        )  # fmt: skip
        result = narrowed(value, FLOAT)
        if KEEP:
            result = tl.where((bits & 0x7FFFFFFF) >= _INFINITY, given, result)
        tl.store(y + at, result, mask=inside)
    if COUNTED:
        magnitude = bits & 0x7FFFFFFF
        negative = bits < 0
        is_nan = inside & (magnitude > _INFINITY)
        is_infinite = inside & (magnitude == _INFINITY)
        is_number = inside & (magnitude < _INFINITY) & (magnitude > 0)
        index = code & index_mask
        is_zero = inside & (index == 0) if GRID != 4 else inside & (index < 0)
        result_nan = inside & (index > last_index)
        if NO_NEGATIVE_ZERO:
            minus = (code & sign_bit) != 0
            result_nan = result_nan | (inside & minus & (index == 0))
            is_zero = is_zero & (minus == 0)
        became_zero = is_number & is_zero
        beyond = beyond & is_number
        flags = tl.where(negative, overflow_flags >> 16, overflow_flags & 0xFFFF)
        flags = tl.where(beyond, flags, 0)
        infinity_raises = tl.where(negative, infinity_flags >> 16, infinity_flags & 0xFFFF)
        nan_raises = tl.where(negative, nan_flags >> 16, nan_flags & 0xFFFF)
        flags = tl.where(is_infinite, infinity_raises, tl.where(is_nan, nan_raises, flags))
        inexact = is_number & (beyond == 0) & (inexact | became_zero)
        tiny = inexact & (below | (lo < first_normal))
        flags = flags | inexact.to(tl.int32) | (tiny.to(tl.int32) << 1)
        flags = flags | ((is_number & (magnitude < least_normal)).to(tl.int32) << 5)
        field = index >> trailing
        top = index_mask >> trailing
        _count(counts, 0, inside & ((flags & 4) != 0))
        _count(counts, 1, became_zero)
        _count(counts, 2, is_zero)
        _count(counts, 3, is_nan)
        _count(counts, 4, is_infinite)
        _count(counts, 5, result_nan)
        _count(counts, 6, inside & (field == top))
        _count(counts, 7, inside & (field == top - 1))
        for flag in tl.static_range(6):
            _count(counts, 8 + flag, inside & (((flags >> flag) & 1) != 0))


@triton.jit
def _count(counts, place, which):
    tl.atomic_add(counts + place, tl.sum(tl.ravel(which.to(tl.int32)), axis=0).to(tl.int64))


@triton.jit(do_not_specialize=_NUMBERS)
def amax_kernel(x, out, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    """The largest finite magnitude, as bits of binary32."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    magnitude = widened(tl.load(x + at, mask=at < n, other=0), FLOAT) & 0x7FFFFFFF
    tl.atomic_max(out, tl.max(tl.where(magnitude < _INFINITY, magnitude, 0), axis=0))
