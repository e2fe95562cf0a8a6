"""The conversion of floats to and from codes, in integer operations on tensors of any library.

What `smallfloat::project` does for one value, for whole tensors, without branches: significand and
exponent, the index below, how far the value lies above it, whether that moves it to the next index,
and what becomes of what the format lacks. Constants come from `smallfloat.kernel`.

A library is given by a class with `where`, `minimum`, `int_to_float_bits` (the bits of an integer
as a float, whose exponent says where the integer's leading bit is), `unsigned` (integers in a type
where 32 bits are not negative), `room` (how many bits that type has) and `complement` (of words of
32 bits in it).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .kernel import Kernel


class Layout(NamedTuple):
    """A type of floats: bits of the significand behind the hidden one, the bias, and the sign in a
    signed integer."""

    fraction: int
    bias: int
    sign: int

    @property
    def field(self) -> int:
        """The exponent field of infinities and NaN."""
        return 2 * self.bias + 1


F32, F64 = Layout(23, 127, -(1 << 31)), Layout(52, 1023, -(1 << 63))


def split(lib: Any, layout: Layout, bits: Any) -> tuple[Any, Any]:
    """The exponents of positive floats, and their significands with the leading bit, both of
    subnormal floats too."""
    hidden = 1 << layout.fraction
    field, fraction = bits >> layout.fraction, bits & (hidden - 1)
    # A subnormal float is normalized by making a float of its significand.
    normalized = lib.int_to_float_bits(fraction)
    is_subnormal = field == 0
    significand = lib.where(is_subnormal, normalized & (hidden - 1), fraction) | hidden
    field = lib.where(is_subnormal, (normalized >> layout.fraction) - (layout.bias + layout.fraction - 1), field)
    return field - layout.bias, significand


def encode(lib: Any, k: Kernel, layout: Layout, negative: Any, bits: Any, shift: Any = 0, word: Any = None) -> Any:
    """Codes of floats.

    Parameters
    ----------
    negative, bits :
        The sign, and the bits without it, as integers.
    shift : integer or tensor of them
        What is encoded is the float times 2**shift.
    word :
        Random words of 32 bits for stochastic rounding, as `lib.unsigned` has them.
    """
    where, t, w = lib.where, k.trailing, layout.fraction + 1
    one = bits * 0 + 1
    leading, significand = split(lib, layout, bits)
    leading = leading + shift

    # The local step is significand >> places; far below the range the places don't matter but to
    # stochastic rounding.
    below = leading < k.lowest
    lowest_step = k.lowest - t - (k.subnormals == "tesla")
    places = where(below, lib.minimum(lowest_step - leading + (w - 1), w + 40), w - 1 - t)
    cut = lib.minimum(places, w + 1)
    whole = significand >> cut
    binade = lib.minimum(leading, k.highest + 2) - k.lowest
    lo = where(below, whole, (binade << t) + whole - (1 << t) + k.lowest_index)
    rest = significand - (whole << cut)
    interval = one << cut
    gap = None
    if k.has_gap:
        gap_lo = (1 << t) - 1 if k.subnormals == "tesla" else 0
        gap = below & (whole >= gap_lo) if k.subnormals == "tesla" else below | (lo == 0)
        narrow = lib.minimum(cut, w + 1 - t)
        lo = where(gap, gap_lo, lo)
        rest = where(gap, significand - (gap_lo << cut if k.subnormals == "tesla" else 0), rest)
        interval = where(gap, k.steps << narrow, interval)

    away = _moves_away(lib, k, w, negative, lo, rest, interval, places, gap, word)
    index = lo + where(away, one, one * 0)
    if k.subnormals == "flush":
        index = where(index < k.first_normal, 0, index)
    if not k.has_zero:
        index = where(below, 0, index)

    if k.signed:
        sign = where(negative, 1 << (k.width - 1), one * 0)
        code = where(index > k.largest, _either(where, negative, k.overflow, one), index | sign)
        if k.has_zero:
            code = where(index == 0, _either(where, negative, k.zero, one), code)
    else:
        code = where(index > k.largest, k.overflow[0], index)
        code = where(negative & (index > 0) if k.has_zero else negative, k.overflow[1], code)
    code = where(bits == 0, _either(where, negative, k.zero, one), code)
    infinite = layout.field << layout.fraction
    code = where(bits == infinite, _either(where, negative, k.infinity, one), code)
    return where(bits > infinite, _either(where, negative, k.nan, one), code)


def _either(where: Any, negative: Any, pair: tuple[int, int], one: Any) -> Any:
    return one * pair[0] if pair[0] == pair[1] else where(negative, one * pair[1], one * pair[0])


def _moves_away(
    lib: Any, k: Kernel, w: int, negative: Any, lo: Any, rest: Any, interval: Any, places: Any, gap: Any, word: Any
) -> Any:
    """Whether a magnitude that lies `rest` of an `interval` above an index moves to the next
    one."""
    inexact = rest != 0
    if k.rounding == "nearest-even":
        return (2 * rest > interval) | ((2 * rest == interval) & ((lo & 1) == 1))
    if k.rounding == "nearest-away":
        return 2 * rest >= interval
    if k.rounding == "toward-positive":
        return inexact & ~negative
    if k.rounding == "toward-negative":
        return inexact & negative
    if k.rounding == "toward-zero":
        return inexact & ~inexact
    if k.rounding == "to-odd":
        return inexact & ((lo & 1) == 0)
    # Stochastic: how much of the interval it is, times 2**32, the integer below.
    u, n = lib.unsigned, k.random_bits
    left = 32 - lib.minimum(places, 32)
    right = lib.minimum(places - lib.minimum(places, 32), lib.room - 1)
    part = (u(rest) << u(left)) >> u(right)
    if gap is not None:
        # Long division, as many bits at once as there is room for.
        remainder, quotient, divisor = u(rest), u(rest * 0), u(lib.where(gap, interval, 1))
        at_once, done = lib.room - (w + 3), 0
        while done < 32:
            count = min(at_once, 32 - done)
            remainder = remainder << count
            digit = remainder // divisor
            quotient, remainder, done = (quotient << count) | digit, remainder - digit * divisor, done + count
        beyond = lib.minimum(places - lib.minimum(places, w + 1 - k.trailing), 31)
        part = lib.where(gap, quotient >> u(beyond), part)
    return (part >> (32 - n)) > (lib.complement(word) >> (32 - n))


def decode(lib: Any, k: Kernel, layout: Layout, codes: Any, shift: Any = 0) -> Any:
    """The bits of floats times 2**shift, rounded to nearest even where they are subnormal floats
    that don't hold the value."""
    where, t = lib.where, k.trailing
    index = codes & ((1 << (k.width - k.signed)) - 1)
    field, tail = index >> t, index & ((1 << t) - 1)
    has_subnormals = k.lowest_index > 0
    # The exponent of the significand's last bit.
    last = field + (k.lowest - t - has_subnormals) + shift
    significand = tail | (1 << t)
    if has_subnormals:
        significand = where(field == 0, tail, significand)
        if k.subnormals != "tesla":
            last = last + where(field == 0, field * 0 + 1, field * 0)
        if k.subnormals == "flush":
            significand = where(field == 0, significand * 0, significand)
    elif k.has_zero:
        significand = where(index == 0, significand * 0, significand)

    normal = lib.int_to_float_bits(significand)
    exponent = (normal >> layout.fraction) + last
    hidden = 1 << layout.fraction
    # Beyond the float's normal range: infinity above, fewer bits below.
    places = lib.minimum(1 - lib.minimum(exponent, 1), layout.fraction + 2)
    kept = (normal & (hidden - 1)) | hidden
    low = kept >> places
    cut = kept - (low << places)
    half = ((cut * 0 + 1) << places) >> 1
    low = low + where((cut > half) | ((cut == half) & (places > 0) & ((low & 1) == 1)), cut * 0 + 1, cut * 0)
    infinite = layout.field << layout.fraction
    in_range = (lib.minimum(exponent, layout.field - 1) << layout.fraction) | (normal & (hidden - 1))
    bits = where(exponent < 1, low, where(exponent >= layout.field, infinite, in_range))
    bits = where(significand == 0, significand * 0, bits)
    if k.infinity_index >= 0:
        bits = where(index == k.infinity_index, infinite, bits)
    is_nan = index > max(k.largest, k.infinity_index)
    nan = infinite | (hidden >> 1)
    if not k.signed:
        return where(is_nan, nan, bits)
    negative = (codes >> (k.width - 1)) != 0
    if k.nan_is_negative_zero:
        is_nan = is_nan | (negative & (index == 0))
        # Flushed codes have no sign, since there is no -0.
        negative = negative & (significand != 0)
    signed = where(negative, bits | layout.sign, bits)
    return where(is_nan, nan, signed)


#: Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


def philox(
    multiply: Any, counter: tuple[Any, Any, Any, Any], key: tuple[int, int], word: Any = int
) -> tuple[Any, Any, Any, Any]:
    """Ten rounds; `multiply` gives the high and the low half of a constant times a word, `word`
    makes one of an integer."""
    a, b, c, d = counter
    for i in range(10):
        k0, k1 = (word((half + i * step) & 0xFFFFFFFF) for half, step in zip(key, KEY_STEPS, strict=True))
        (p_high, p_low), (q_high, q_low) = multiply(MULTIPLIERS[0], a), multiply(MULTIPLIERS[1], c)
        a, b, c, d = q_high ^ b ^ k0, q_low, p_high ^ d ^ k1, p_low
    return a, b, c, d
