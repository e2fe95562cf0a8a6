"""The formats as the oracles need them: NaN codes, and the numbers of codes as exact fractions,
from the formats' definitions."""

from fractions import Fraction

# name: width, stored bits, bias, largest magnitude code, infinity's code, NaN codes as a function
# of the code without sign
ROWS = {
    "e5m2": (8, 2, 15, 0x7B, 0x7C, lambda m, s: m > 0x7C),
    "e4m3": (8, 3, 7, 0x77, 0x78, lambda m, s: m > 0x78),
    "e3m4": (8, 4, 3, 0x6F, 0x70, lambda m, s: m > 0x70),
    "e4m3fn": (8, 3, 7, 0x7E, None, lambda m, s: m == 0x7F),
    "e5m2fnuz": (8, 2, 16, 0x7F, None, lambda m, s: s and m == 0),
    "e4m3fnuz": (8, 3, 8, 0x7F, None, lambda m, s: s and m == 0),
    "e4m3b11fnuz": (8, 3, 11, 0x7F, None, lambda m, s: s and m == 0),
    "e3m2fn": (6, 2, 3, 0x1F, None, lambda m, s: False),
    "e2m3fn": (6, 3, 1, 0x1F, None, lambda m, s: False),
    "e2m1fn": (4, 1, 1, 0x7, None, lambda m, s: False),
    "binary16": (16, 10, 15, 0x7BFF, 0x7C00, lambda m, s: m > 0x7C00),
    "bfloat16": (16, 7, 127, 0x7F7F, 0x7F80, lambda m, s: m > 0x7F80),
    "cfloat8_1_4_3:bias=7,subnormals=gradual": (8, 3, 7, 0x7F, None, lambda m, s: False),
    "cfloat8_1_5_2:bias=31,subnormals=gradual": (8, 2, 31, 0x7F, None, lambda m, s: False),
    "shp:bias=15,subnormals=gradual": (16, 10, 15, 0x7FFF, None, lambda m, s: False),
    "binary8p3se": (8, 2, 16, 0x7E, 0x7F, lambda m, s: s and m == 0),
    "binary8p4se": (8, 3, 8, 0x7E, 0x7F, lambda m, s: s and m == 0),
    # Codes are exponents; 255 is NaN; no sign and no zero.
    "e8m0fnu": (8, 0, 127, 0xFE, None, lambda m, s: m == 0xFF),
}


class Format:
    """One row."""

    def __init__(self, name):
        self.name = name
        self.width, self.stored, self.bias, self.top, self.infinity, self._nan = ROWS[name]
        self.signed = name != "e8m0fnu"
        self.sign = 1 << (self.width - 1) if self.signed else 0
        self.nans = [c for c in range(1 << self.width) if self._nan(c & ~self.sign, bool(c & self.sign))]

    def value(self, code):
        """The number of a code, None for NaN and infinities."""
        magnitude, negative = code & ~self.sign, bool(code & self.sign)
        if self._nan(magnitude, negative) or magnitude > self.top:
            return None
        if not self.signed:
            return Fraction(2) ** (magnitude - self.bias)
        field, rest = magnitude >> self.stored, magnitude & ((1 << self.stored) - 1)
        significand = rest if field == 0 else rest | 1 << self.stored
        number = significand * Fraction(2) ** (max(field, 1) - self.bias - self.stored)
        return -number if negative else number

    @property
    def least_exponent(self):
        """The exponent of the smallest step."""
        return 1 - self.bias - self.stored
