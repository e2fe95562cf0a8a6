"""The portable algorithm (`smallfloat_kernels::KernelConstants`) as functions of Triton.

Numbers are bits in int32, random words uint32, and no type of the language smaller than that takes
part, nor floating-point arithmetic: the only floats are integers made floats, whose exponent says
where the leading bit is.

`GRID` says what lies below the smallest normal value (`_launch.GRIDS`), `WIDE` whether binary32's
own subnormal numbers matter.
"""

# Kernels are compiled from their source, which has no types and few branches.
# ruff: noqa: ANN
import triton
import triton.language as tl
from triton.language.random import philox_impl

_FLOAT32 = tl.constexpr(0)
_BFLOAT16 = tl.constexpr(1)
_GRADUAL = tl.constexpr(0)
_TESLA = tl.constexpr(1)
_FLUSH = tl.constexpr(2)
_NONE = tl.constexpr(3)
_E8M0 = tl.constexpr(4)
_INFINITY = tl.constexpr(0x7F800000)


@triton.jit
def widened(x, FLOAT: tl.constexpr):
    """Bits of a number of any type as bits of binary32."""
    if FLOAT == _FLOAT32:
        return x
    elif FLOAT == _BFLOAT16:
        return x.to(tl.int32) << 16
    else:
        return x.to(tl.float16, bitcast=True).to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def narrowed(bits, FLOAT: tl.constexpr):
    """Bits of binary32 as bits of another type, rounded to nearest even."""
    if FLOAT == _FLOAT32:
        return bits
    elif FLOAT == _BFLOAT16:
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to(tl.int16)
    else:
        half = bits.to(tl.float32, bitcast=True).to(tl.float16).to(tl.int16, bitcast=True)
        # Devices differ in their NaN.
        return tl.where((bits & 0x7FFFFFFF) > _INFINITY, 0x7E00, half).to(tl.int16)


@triton.jit
def _either(negative, pair):
    """The lower half of a pair, or the upper one."""
    return tl.where(negative, (pair >> 16) & 0xFFFF, pair & 0xFFFF)


@triton.jit
def encode_bits(
    bits, shift, word, trailing, lowest, highest, largest, first_normal, lowest_index, steps, sign_bit, zero, overflow, infinity,
    nan, random_bits, ROUNDING: tl.constexpr, GRID: tl.constexpr, SIGNED: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Codes of binary32 numbers times 2**shift; then the index below, what lies above it, and
    whether that is below the range."""
    negative = bits < 0
    magnitude = bits & 0x7FFFFFFF
    field = magnitude >> 23
    fraction = magnitude & 0x7FFFFF
    significand = fraction | 0x800000
    leading = field - 127
    if WIDE:
        normal = fraction.to(tl.float32).to(tl.int32, bitcast=True)
        significand = tl.where(field == 0, (normal & 0x7FFFFF) | 0x800000, significand)
        leading = tl.where(field == 0, (normal >> 23) - 276, leading)
    leading += shift

    distance = tl.maximum(lowest - leading, 0)
    below = distance > 0
    places = 23 - trailing + distance
    if GRID == _TESLA:
        places -= below.to(tl.int32)
    cut = tl.minimum(places, 25)
    whole = significand >> cut
    binade = tl.minimum(leading, highest + 2) - lowest + distance
    lo = (binade << trailing) + whole + (lowest_index - (1 << trailing))
    interval = 1 << cut
    rest = significand - (whole << cut)
    gap = below
    if GRID == _TESLA or GRID == _NONE:
        gap_lo = 0
        if GRID == _TESLA:
            gap_lo = (1 << trailing) - 1
            gap = below & (whole >= gap_lo)
        else:
            gap = below | (lo == 0)
        rest = tl.where(gap, significand - (gap_lo << cut), rest)
        interval = tl.where(gap, steps << tl.minimum(cut, 25 - trailing), interval)
        lo = tl.where(gap, gap_lo, lo)

    inexact = rest != 0
    if ROUNDING == 0:
        away = 2 * rest + (lo & 1) > interval
    elif ROUNDING == 1:
        away = 2 * rest >= interval
    elif ROUNDING == 2:
        away = inexact & (bits >= 0)
    elif ROUNDING == 3:
        away = inexact & negative
    elif ROUNDING == 4:
        away = inexact & (rest == 0)
    elif ROUNDING == 5:
        away = inexact & ((lo & 1) == 0)
    else:
        drop = (32 - random_bits).to(tl.uint32)
        bound = (word ^ 0xFFFFFFFF) >> drop
        kept = tl.minimum(places, 32)
        part = (rest.to(tl.uint32) << (32 - kept).to(tl.uint32)) >> tl.minimum(places - kept, 31).to(tl.uint32)
        away = (part >> drop) > bound
        if GRID == _TESLA or GRID == _NONE:
            # rest * 2**32 >= least * 2**(32 - room) * interval, in words of 32 bits.
            least = bound + 1
            room = tl.maximum(random_bits - (places - tl.minimum(places, 25 - trailing)), 0)
            up = tl.maximum(room, 1).to(tl.uint32)
            factor = least << tl.minimum(32 - up, 31)
            step = interval.to(tl.uint32)
            high = tl.umulhi(factor, step) + ((factor * step) != 0).to(tl.uint32)
            fits = (least != 0) & (room > 0) & (((least >> (up - 1)) >> 1) == 0)
            away = tl.where(gap, fits & (rest.to(tl.uint32) >= high), away)
    index = lo + away.to(tl.int32)
    if GRID == _FLUSH:
        index = tl.where(index < first_normal, 0, index)
    if GRID == _E8M0:
        index = tl.where(below, 0, index)

    is_zero = magnitude == 0
    beyond = index > largest
    if SIGNED:
        code = index | tl.where(negative, sign_bit, 0)
    else:
        code = index
        if GRID == _E8M0:
            beyond = beyond | negative
        else:
            beyond = beyond | (negative & (index > 0))
    code = tl.where(beyond, _either(negative, overflow), code)
    if GRID != _E8M0:
        is_zero = is_zero | (index == 0)
    code = tl.where(is_zero, _either(negative, zero), code)
    special = tl.where(magnitude > _INFINITY, _either(negative, nan), _either(negative, infinity))
    code = tl.where(magnitude >= _INFINITY, special, code)
    return code, lo, inexact, below, beyond


@triton.jit
def decode_bits(
    code, shift, trailing, lowest, last_index, infinity_index, index_mask, sign_bit,
    GRID: tl.constexpr, SIGNED: tl.constexpr, NO_NEGATIVE_ZERO: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Bits of the values of codes times 2**shift in binary32."""
    index = code & index_mask
    field = index >> trailing
    tail = index & ((1 << trailing) - 1)
    significand = tail | (1 << trailing)
    last = field + (lowest - trailing) + shift
    if GRID == _NONE:
        significand = tl.where(index == 0, 0, significand)
    elif GRID != _E8M0:
        is_low = field == 0
        significand = tl.where(is_low, 0 if GRID == _FLUSH else tail, significand)
        last -= 1
        if GRID != _TESLA:
            last += is_low.to(tl.int32)
    normal = significand.to(tl.float32).to(tl.int32, bitcast=True)
    if WIDE:
        exponent = (normal >> 23) + last
        fraction = normal & 0x7FFFFF
        places = tl.minimum(1 - tl.minimum(exponent, 1), 25)
        kept = fraction | 0x800000
        low = kept >> places
        rest = kept - (low << places)
        interval = 1 << places
        low += (2 * rest + (low & 1) > interval).to(tl.int32)
        bits = (tl.minimum(exponent, 254) << 23) | fraction
        bits = tl.where(exponent < 1, low, tl.where(exponent > 254, _INFINITY, bits))
    else:
        bits = normal + (last << 23)
    bits = tl.where(significand == 0, 0, bits)
    bits = tl.where(index == infinity_index, _INFINITY, bits)
    is_nan = index > last_index
    if SIGNED:
        negative = (code & sign_bit) != 0
        if NO_NEGATIVE_ZERO:
            is_nan = is_nan | (negative & (index == 0))
            negative = negative & (significand != 0)
        bits = tl.where(negative, bits | -0x80000000, bits)
    return tl.where(is_nan, 0x7FC00000, bits)


@triton.jit
def words_of_blocks(block, key_low, key_high, stream_low, stream_high):
    """Four random words for each number of a block, in the order of elements: one more dimension of
    4."""
    low = block.to(tl.uint32)
    high = (block >> 32).to(tl.uint32)
    zero = low & 0
    c = zero + stream_low.to(tl.uint32, bitcast=True)
    d = zero + stream_high.to(tl.uint32, bitcast=True)
    key = key_low.to(tl.uint32, bitcast=True), key_high.to(tl.uint32, bitcast=True)
    a, b, c, d = philox_impl(low, high, c, d, zero + key[0], zero + key[1], 10)
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (block.shape[0], 4))
