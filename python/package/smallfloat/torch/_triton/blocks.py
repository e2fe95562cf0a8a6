"""The kernels of blocks along rows that share a scale: MX, NVFP4 and every layout like these,
packed or not.

A scale is a power of two (`SCALE` 'power'), a bias ('bias', read only) or a number of a small
format ('number'), perhaps divided by one number of the whole tensor. Powers of two are added to
exponents. Quotients and products of other scales are taken in float64, whose bits of them are more
than any format here is decided by, and whose last bit is made sticky, so that each result is
rounded once.
"""

# ruff: noqa: ANN
import triton
import triton.language as tl

from .bits import _FLOAT32, _INFINITY, decode_bits, encode_bits, narrowed, widened
from .convert import _NUMBERS

_SCALE_NUMBERS = ["scale_" + name for name in _NUMBERS]


@triton.jit
def _odd(x):
    """Bits of binary32 of numbers of float64, rounded to odd, saturating: what decides every
    rounding to fewer bits."""
    bits = x.to(tl.int64, bitcast=True)
    magnitude = bits & 0x7FFFFFFFFFFFFFFF
    exponent = (magnitude >> 52).to(tl.int32) - 1023
    fraction = ((magnitude >> 29) & 0x7FFFFF).to(tl.int32)
    sticky = ((magnitude & 0x1FFFFFFF) != 0).to(tl.int32)
    found = ((exponent + 127) << 23) | fraction | sticky
    found = tl.where(exponent > 127, 0x7F7FFFFF, tl.where(exponent < -126, 1, found))
    found = tl.where(magnitude == 0, 0, found)
    return tl.where(bits < 0, found | -0x80000000, found)


@triton.jit
def _places(groups, across, rows_of_program: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0).to(tl.int64) * rows_of_program + tl.arange(0, rows_of_program)
    row = group // across
    block = group - row * across
    column = (block * BLOCK)[:, None] + tl.arange(0, BLOCK)[None, :]
    return group, row, block, column


@triton.jit(do_not_specialize=_NUMBERS + _SCALE_NUMBERS)
def quantize_blocks_kernel(
    x, codes, scales, over, groups, across, columns, stored, exponent_of_max, fraction_of_max, threshold,
    trailing, lowest, highest, largest, first_normal, lowest_index, steps, sign_bit, zero, overflow, infinity, nan, random_bits,
    last_index, infinity_index, index_mask,
    scale_trailing, scale_lowest, scale_highest, scale_largest, scale_first_normal, scale_lowest_index, scale_steps,
    scale_sign_bit, scale_zero, scale_overflow, scale_infinity, scale_nan, scale_last_index, scale_infinity_index,
    scale_index_mask,
    SCALE: tl.constexpr, DIVIDED: tl.constexpr, VALUES: tl.constexpr, PACKING: tl.constexpr, FLOAT: tl.constexpr,
    ROUNDING: tl.constexpr, GRID: tl.constexpr, SIGNED: tl.constexpr, NO_NEGATIVE_ZERO: tl.constexpr,
    SCALE_GRID: tl.constexpr, SCALE_SIGNED: tl.constexpr, SCALE_NO_NEGATIVE_ZERO: tl.constexpr, BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Codes and scales of blocks, or with `VALUES` what these mean; numbers that are not finite
    count as zeros, and stay."""
    group, row, block, column = _places(groups, across, ROWS, BLOCK)
    is_group = group < groups
    inside = is_group[:, None] & (column < columns)
    given = tl.load(x + row[:, None] * columns + column, mask=inside, other=0)
    bits = widened(given, FLOAT)
    is_finite = (bits & 0x7FFFFFFF) < _INFINITY
    bits = tl.where(is_finite, bits, 0)
    amax = tl.max(bits & 0x7FFFFFFF, axis=1)
    if SCALE == "power":
        field, fraction = amax >> 23, amax & 0x7FFFFF
        normal = fraction.to(tl.float32).to(tl.int32, bitcast=True)
        exponent = tl.where(field == 0, (normal >> 23) - 276, field - 127)
        fraction = tl.where(field == 0, normal & 0x7FFFFF, fraction)
        power = exponent - exponent_of_max + (fraction >= threshold).to(tl.int32)
        power = tl.where(amax > 0, tl.minimum(tl.maximum(power, -127), 127), -127)
        by = -power[:, None]
        scale_code = power + 127
    else:
        by = 0
        largest_value = ((((exponent_of_max + 1023) << 20) | fraction_of_max).to(tl.int64) << 32).to(tl.float64, bitcast=True)
        wide = bits.to(tl.float32, bitcast=True).to(tl.float64)
        most = amax.to(tl.float32, bitcast=True).to(tl.float64)
        if DIVIDED:
            factor = tl.load(over)
            wide = wide * factor
            most = most * factor
        wanted = _odd(tl.where(amax > 0, most / largest_value, 1.0))
        scale_code, lo, inexact, below, beyond = encode_bits(
            wanted, 0, 0, scale_trailing, scale_lowest, scale_highest, scale_largest, scale_first_normal, scale_lowest_index,
            scale_steps, scale_sign_bit, scale_zero, scale_overflow, scale_infinity, scale_nan, 0, 0, SCALE_GRID, SCALE_SIGNED,
            True,
        )  # fmt: skip
        if SCALE_GRID != 4:
            scale_code = tl.maximum(scale_code, 1)
        unit = decode_bits(
            scale_code, 0, scale_trailing, scale_lowest, scale_last_index, scale_infinity_index, scale_index_mask, scale_sign_bit,
            SCALE_GRID, SCALE_SIGNED, SCALE_NO_NEGATIVE_ZERO, True,
        )  # fmt: skip
        unit = unit.to(tl.float32, bitcast=True).to(tl.float64)[:, None]
        bits = _odd(wide / unit)
    code, lo, inexact, below, beyond = encode_bits(
        bits, by, 0, trailing, lowest, highest, largest, first_normal, lowest_index, steps, sign_bit, zero, overflow, infinity, nan,
        random_bits, ROUNDING, GRID, SIGNED, True,
    )  # fmt: skip
    if VALUES:
        value = decode_bits(
            code, -by, trailing, lowest, last_index, infinity_index, index_mask, sign_bit, GRID, SIGNED, NO_NEGATIVE_ZERO, True
        )
        if SCALE == "number":
            exact = value.to(tl.float32, bitcast=True).to(tl.float64) * unit
            if DIVIDED:
                exact = exact / factor
            value = _rounded_once(exact, FLOAT)
        result = tl.where(is_finite, narrowed(value, FLOAT), given)
        tl.store(codes + row[:, None] * columns + column, result, mask=inside)
    else:
        tl.store(scales + group, scale_code.to(scales.dtype.element_ty), mask=is_group)
        _store_packed(codes, code, row, block, column, is_group, columns, stored, PACKING, BLOCK, ROWS)


@triton.jit
def _rounded_once(exact, FLOAT: tl.constexpr):
    """Bits of binary32 of numbers of float64 on their way to a type, of which the last is sticky if
    more follow."""
    if FLOAT == _FLOAT32:
        return exact.to(tl.float32).to(tl.int32, bitcast=True)
    else:
        return _odd(exact)


@triton.jit
def _store_packed(
    codes, code, row, block, column, is_group, columns, stored, PACKING: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    start = codes + row[:, None] * stored
    if PACKING == "bytes":
        tl.store(start + column, code.to(codes.dtype.element_ty), mask=is_group[:, None] & (column < columns))
    elif PACKING == "six-bit":
        even, odd = tl.split(tl.reshape(code, (ROWS, BLOCK // 4, 2, 2)))
        first, third = tl.split(even)
        second, fourth = tl.split(odd)
        word = first | (second << 6) | (third << 12) | (fourth << 18)
        at = (block * (BLOCK // 4 * 3))[:, None] + 3 * tl.arange(0, BLOCK // 4)[None, :]
        inside = is_group[:, None] & (at < stored)
        tl.store(start + at, (word & 255).to(tl.uint8), mask=inside)
        tl.store(start + at + 1, ((word >> 8) & 255).to(tl.uint8), mask=inside)
        tl.store(start + at + 2, ((word >> 16) & 255).to(tl.uint8), mask=inside)
    else:
        first, second = tl.split(tl.reshape(code, (ROWS, BLOCK // 2, 2)))
        byte = (first | (second << 4)) if PACKING == "nibbles-low" else ((first << 4) | second)
        at = (block * (BLOCK // 2))[:, None] + tl.arange(0, BLOCK // 2)[None, :]
        tl.store(start + at, byte.to(tl.uint8), mask=is_group[:, None] & (at < stored))


@triton.jit(do_not_specialize=_NUMBERS + _SCALE_NUMBERS)
def dequantize_blocks_kernel(
    codes, scales, over, y, groups, across, columns, stored,
    trailing, lowest, last_index, infinity_index, index_mask, sign_bit,
    scale_trailing, scale_lowest, scale_last_index, scale_infinity_index, scale_index_mask, scale_sign_bit,
    SCALE: tl.constexpr, DIVIDED: tl.constexpr, PACKING: tl.constexpr, FLOAT: tl.constexpr, GRID: tl.constexpr,
    SIGNED: tl.constexpr, NO_NEGATIVE_ZERO: tl.constexpr, SCALE_GRID: tl.constexpr, SCALE_SIGNED: tl.constexpr,
    SCALE_NO_NEGATIVE_ZERO: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Values of codes and scales, each rounded once."""
    group, row, block, column = _places(groups, across, ROWS, BLOCK)
    is_group = group < groups
    inside = is_group[:, None] & (column < columns)
    start = codes + row[:, None] * stored
    if PACKING == "bytes":
        code = tl.load(start + column, mask=inside, other=0).to(tl.int32)
    elif PACKING == "six-bit":
        place = (column & 3).to(tl.int32) * 6
        at = (column >> 2) * 3 + (place >> 3)
        low = tl.load(start + at, mask=inside, other=0).to(tl.int32)
        high = tl.load(start + at + 1, mask=inside & (at + 1 < stored), other=0).to(tl.int32)
        code = ((low | (high << 8)) >> (place & 7)) & 63
    else:
        byte = tl.load(start + (column >> 1), mask=inside, other=0).to(tl.int32)
        place = (column & 1).to(tl.int32) * 4
        code = (byte >> (place if PACKING == "nibbles-low" else 4 - place)) & 15
    scale = tl.load(scales + group, mask=is_group, other=0).to(tl.int32)
    by = 0
    if SCALE == "power":
        by = (scale - 127)[:, None]
    elif SCALE == "bias":
        by = -scale[:, None]
    value = decode_bits(
        code, by, trailing, lowest, last_index, infinity_index, index_mask, sign_bit, GRID, SIGNED, NO_NEGATIVE_ZERO, True
    )
    if SCALE == "power":
        value = tl.where((scale == 255)[:, None], 0x7FC00000, value)
    elif SCALE == "number":
        unit = decode_bits(
            scale, 0, scale_trailing, scale_lowest, scale_last_index, scale_infinity_index, scale_index_mask, scale_sign_bit,
            SCALE_GRID, SCALE_SIGNED, SCALE_NO_NEGATIVE_ZERO, True,
        )  # fmt: skip
        is_nan = ((value & 0x7FFFFFFF) > _INFINITY) | ((unit & 0x7FFFFFFF) > _INFINITY)[:, None]
        exact = value.to(tl.float32, bitcast=True).to(tl.float64) * unit.to(tl.float32, bitcast=True).to(tl.float64)[:, None]
        if DIVIDED:
            exact = exact / tl.load(over)
        value = tl.where(is_nan, 0x7FC00000, _rounded_once(exact, FLOAT))
    tl.store(y + row[:, None] * columns + column, narrowed(value, FLOAT), mask=inside)
