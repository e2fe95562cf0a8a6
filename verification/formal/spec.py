"""What the encoders must give, as z3 terms written from the formats' definitions and from nothing
else.

A source word of IEEE 754 is |x| = significand · 2^(field − offset) with field at least 1. A
destination with trailing field t, bias b and exponent fields F has the magnitudes

    index = F · 2^t + m:   2^(F − b) · (1 + m / 2^t) for F > 0;   m · 2^(1 − b − t) for F = 0 (gradual), m · 2^(−b − t) (tesla)

(Tesla, "Dojo technology", tables of CFloat8 and CFloat16; IEEE 754, section 3.4). Everything is
multiplied by 2^b, so that the destination's numbers are constants and the bias stands with the
source's exponent, where it may be symbolic.

Magnitudes are integers of units 2^-(t + 3), whose lowest bit says whether anything was cut off
below: everything compared with is a multiple of two units, so comparisons with it are those of the
exact numbers.
"""

import z3


class Source:
    """binary32 or binary64."""

    def __init__(self, name, width, stored):
        self.name, self.width, self.stored = name, width, stored
        self.fields = width - 1 - stored
        self.bias = (1 << (self.fields - 1)) - 1

    def parts(self, word):
        """sign, exponent field, significand with its hidden bit (one bit more than stored)."""
        sign = z3.Extract(self.width - 1, self.width - 1, word) == 1
        field = z3.Extract(self.width - 2, self.stored, word)
        fraction = z3.Extract(self.stored - 1, 0, word)
        hidden = z3.If(field == 0, z3.BitVecVal(0, 1), z3.BitVecVal(1, 1))
        return sign, field, z3.Concat(hidden, fraction)

    def exponent(self, word):
        """The exponent field in 16 bits, 1 for subnormals: what the number is multiplied by."""
        _, field, _ = self.parts(word)
        return z3.ZeroExt(16 - self.fields, z3.If(field == 0, z3.BitVecVal(1, self.fields), field))

    def magnitude(self, word):
        return z3.Extract(self.width - 2, 0, word)

    @property
    def infinity(self):
        return z3.BitVecVal(((1 << self.fields) - 1) << self.stored, self.width - 1)


F32, F64 = Source("f32", 32, 23), Source("f64", 64, 52)


class Target:
    """A destination: t trailing bits, exponent fields up to `fields`, the index of its largest
    finite number."""

    def __init__(self, name, reading, t, fields, top, width, signed=True, bias=None):
        self.name, self.reading, self.t, self.fields, self.top = name, reading, t, fields, top
        self.width, self.signed, self.bias = width, signed, bias
        # Twice the number past the largest, in units, with room for a sum of two.
        self.bits = (1 << fields) + 2 + t + 3 + 3

    def number(self, index):
        """The number of an index (as wide as `bits`) on the grid continued past the largest."""
        t = self.t
        field = z3.LShR(index, t)
        m = index & ((1 << t) - 1)
        low = m << (3 if self.reading == "tesla" else 4)
        return z3.If(field == 0, low, (m | (1 << t)) << (field + 3))

    def exact(self, source, word, bias, known=None):
        """(magnitude in units with its lowest bit sticky, whether it is beyond twice the largest
        number). `known` is the sum of exponent and bias, if that is a number; that it is the sum is
        for the caller to show."""
        _, _, significand = source.parts(word)
        room = 16
        total = source.exponent(word) + bias if known is None else z3.BitVecVal(known, room)
        # |x| · 2^b = significand · 2^(exponent − offset + b), and a unit is 2^-(t + 3).
        up = z3.simplify(total - (source.bias + source.stored) + (self.t + 3))
        wide = source.stored + 1 + self.bits
        long = z3.ZeroExt(wide - source.stored - 1, significand)
        down = -up
        huge = z3.And(significand != 0, up > self.bits - 1)
        left = long << z3.ZeroExt(wide - room, up)
        # Beyond this nothing but "something was cut off" is left.
        down = z3.If(down > source.stored + 1, z3.BitVecVal(source.stored + 1, room), down)
        right = z3.LShR(long, z3.ZeroExt(wide - room, down))
        lost = (right << z3.ZeroExt(wide - room, down)) != long
        right = right | z3.If(lost, z3.BitVecVal(1, wide), z3.BitVecVal(0, wide))
        shifted = z3.If(up >= 0, left, right)
        beyond = z3.Or(huge, z3.UGE(shifted, z3.BitVecVal(1 << (self.bits - 2), wide)))
        return z3.Extract(self.bits - 1, 0, shifted), beyond

    def nearest_even(self, source, word, bias, code, known=None):
        """Is this 64-bit answer the code of the nearest number, ties to the even code, and all ones
        exactly where that is for a policy to say: NaN, infinity, what rounds past the largest
        number, and any minus sign in an unsigned format?"""
        sign, _, _ = source.parts(word)
        x, beyond = self.exact(source, word, bias, known)
        bits, last = self.bits, self.number(z3.BitVecVal(self.top, self.bits))
        after = self.number(z3.BitVecVal(self.top + 1, bits))
        twice = x << 1
        over = z3.UGT(twice, last + after)
        if self.top % 2 == 1:
            over = z3.Or(over, twice == last + after)
        special = z3.UGE(source.magnitude(word), source.infinity)
        refused = z3.Or(special, beyond, over)
        if not self.signed:
            refused = z3.Or(refused, sign)
        mask = (1 << (self.width - 1 if self.signed else self.width)) - 1
        index = z3.Extract(bits - 1, 0, z3.ZeroExt(max(bits - 64, 0), code)) & mask if bits >= 64 else z3.Extract(
            bits - 1, 0, code
        ) & mask
        here, below, above = self.number(index), self.number(index - 1), self.number(index + 1)
        even = (index & 1) == 0
        not_below = z3.Or(index == 0, z3.UGT(twice, here + below), z3.And(even, twice == here + below))
        not_above = z3.Or(z3.ULT(twice, here + above), z3.And(even, twice == here + above))
        right = z3.And(not_below, not_above)
        if self.reading == "flush":
            first = 1 << self.t
            edge = self.number(z3.BitVecVal(first - 1, bits)) + self.number(z3.BitVecVal(first, bits))
            right = z3.If(index == 0, z3.ULT(twice, edge), z3.And(z3.UGE(index, z3.BitVecVal(first, bits)), right))
        sign_bit = z3.If(sign, z3.BitVecVal(1 << (self.width - 1), 64), z3.BitVecVal(0, 64)) if self.signed else z3.BitVecVal(0, 64)
        right = z3.And(right, z3.ULE(index, self.top), (code & ~z3.BitVecVal(mask, 64)) == sign_bit)
        return z3.If(refused, code == z3.BitVecVal((1 << 64) - 1, 64), right)

    def places(self, source, bias, x, y, index, known=None):
        """Do two words lie alike to the number of an index and to the middle between it and the
        next: both below, both on it, both above? With that for every index all deterministic
        roundings, all saturations and all flags of x and y agree."""
        (a, a_beyond), (b, b_beyond) = (self.exact(source, word, bias, known) for word in (x, y))
        here = self.number(index)
        same = []
        for cut in (here << 1, here + self.number(index + 1)):
            for relation in (z3.ULT, lambda p, q: p == q):
                below = z3.And(z3.Not(a_beyond), relation(a << 1, cut))
                same.append(below == z3.And(z3.Not(b_beyond), relation(b << 1, cut)))
        return z3.And(*same)


def target(name, reading):
    """The formats that the proofs are about."""
    rows = {
        # name: t, exponent field's width, largest index, width, signed, bias
        "cfloat8_1_4_3": (3, 4, 0x7F, 8, True, None),
        "cfloat8_1_5_2": (2, 5, 0x7F, 8, True, None),
        "shp": (10, 5, 0x7FFF, 16, True, None),
        # Six exponent bits and no sign; field 63 is for infinity and NaN, as in IEEE 754; bias 31.
        "uhp": (10, 6, 0xFBFF, 16, False, 31),
    }
    t, fields, top, width, signed, bias = rows[name]
    return Target(name, reading, t, fields, top, width, signed, bias)
