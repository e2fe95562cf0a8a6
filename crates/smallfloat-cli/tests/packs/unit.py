"""OFP8's conversions and Binary8p3se's and Binary8p4se's arithmetic from their definitions, in
exact fractions and floats that are wide enough. MUTATION=truncate drops the rounding.
"""
import math
import os
from fractions import Fraction

TRUNCATE = os.environ.get("MUTATION") == "truncate"
# Exponent bits, mantissa bits, bias, largest finite magnitude, NaN, infinity (or None).
FORMATS = {
    "e4m3": (4, 3, 7, 0x7E, 0x7F, None),
    "e5m2": (5, 2, 15, 0x7B, 0x7E, 0x7C),
    "binary16": (5, 10, 15, 0x7BFF, 0x7E00, 0x7C00),
    "bfloat16": (8, 7, 127, 0x7F7F, 0x7FC0, 0x7F80),
    "binary32": (8, 23, 127, 0x7F7FFFFF, 0x7FC00000, 0x7F800000),
}


def decode(code, name):
    """The value of a code, an infinity, or a NaN."""
    e, m, bias, largest, _, infinity = FORMATS[name]
    sign = -1.0 if code >> (e + m) else 1.0
    code &= (1 << (e + m)) - 1
    if code == infinity:
        return sign * math.inf
    if code > largest:
        return math.nan
    exponent, significand = code >> m, code & ((1 << m) - 1)
    if exponent == 0:
        return sign * math.ldexp(significand, 1 - bias - m)
    return sign * math.ldexp(significand + (1 << m), exponent - bias - m)


def nearest(x):
    """An integer beside x ≥ 0: the nearest, of two the even one."""
    whole = math.floor(x)
    rest = x - whole
    if TRUNCATE:
        return whole
    return whole + (rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole % 2 == 1)


def encode(x, name, saturating):
    """The code of a float, to nearest even."""
    e, m, bias, largest, nan, infinity = FORMATS[name]
    if math.isnan(x):
        return nan
    sign = (1 << (e + m)) if math.copysign(1, x) < 0 else 0
    beyond = largest if saturating else nan if infinity is None else infinity
    if math.isinf(x):
        return sign | beyond
    x = abs(x)
    exponent = max(math.frexp(x)[1] - 1, 1 - bias) if x else 1 - bias
    # In units of the last place; a carry into the next binade is the next code all the same.
    code = nearest(math.ldexp(x, m - exponent)) + ((exponent + bias - 1) << m)
    return sign | (code if code <= largest else beyond)


def p3109(name, operands, precision):
    """Add, subtract or multiply: one zero, one NaN 0x80, ±infinity beside it."""
    bias = 1 << (7 - precision)

    def value(code):
        if code == 0x80:
            return None
        magnitude = code & 0x7F
        sign = -1 if code & 0x80 else 1
        if magnitude == 0x7F:
            return sign * math.inf
        exponent, significand = magnitude >> (precision - 1), magnitude & ((1 << (precision - 1)) - 1)
        if exponent:
            significand += 1 << (precision - 1)
        return sign * Fraction(significand) * Fraction(2) ** (max(exponent, 1) - bias - precision + 1)

    x, y = map(value, operands)
    if x is None or y is None:
        return 0x80
    if name == "subtract":
        y = -y
    if name == "multiply":
        if math.inf in (abs(x), abs(y)):
            return 0x80 if 0 in (x, y) else 0x7F if (x > 0) == (y > 0) else 0xFF
        exact = x * y
    else:
        if math.inf in (abs(x), abs(y)):
            both = abs(x) == abs(y)
            return 0x80 if both and x != y else 0x7F if (x if abs(x) == math.inf else y) > 0 else 0xFF
        exact = x + y
    sign, exact = 0x80 if exact < 0 else 0, abs(exact)
    if exact == 0:
        return 0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > exact
    exponent = max(exponent, 1 - bias)
    code = nearest(exact / Fraction(2) ** (exponent - precision + 1))
    code += (exponent + bias - 1) << (precision - 1)
    if code == 0:
        return 0
    return sign | (code if code <= 0x7E else 0x7F)


def unit(name, operands):
    operation, _, rest = name.partition("-")
    if rest in ("binary8p3se", "binary8p4se") and operation in ("add", "subtract", "multiply"):
        return [p3109(operation, operands, int(rest[8]))]
    source, _, target = name.partition("-to-")
    target, _, mode = target.partition("-")
    if source in FORMATS and target in FORMATS:
        return [encode(decode(operands[0], source), target, mode == "saturating")]
    return None
