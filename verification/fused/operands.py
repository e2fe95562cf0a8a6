"""Operands of the dot products that digests are of: the same words in Rust
(crates/smallfloat-proof/tests/fused.rs)."""

import numpy as np

FIELDS = ["unit", "instruction", "x", "y", "scales", "k", "output", "dots", "sha256"]
SHORT = 1 << 12  # dot products of the rows that the gate takes

# name: width, bits after the point, bits of the exponent field, the name of torch's type, the codes
# that are no numbers.
TYPES = {
    "e2m1fn": (4, 1, 2, None, "none"),
    "e4m3fn": (8, 3, 4, "float8_e4m3fn", "top"),
    "e5m2": (8, 2, 5, "float8_e5m2", "field"),
    "e4m3fnuz": (8, 3, 4, "float8_e4m3fnuz", "zero"),
    "e5m2fnuz": (8, 2, 5, "float8_e5m2fnuz", "zero"),
    "binary16": (16, 10, 5, "float16", "field"),
    "bfloat16": (16, 7, 8, "bfloat16", "field"),
    "tf32": (32, 23, 8, "float32", "field"),
    "binary32": (32, 23, 8, "float32", "field"),
}


def words(seed, first, count):
    """SplitMix64 by counter."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def seed_of(name):
    """FNV-1a of 64 bits."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def finite(kind, codes):
    width, t, field, _, specials = TYPES[kind]
    magnitude = codes & ((1 << (width - 1)) - 1)
    ones = ((1 << field) - 1) << t
    bad = {
        "none": np.zeros_like(codes, bool),
        "top": magnitude == (1 << (width - 1)) - 1,
        "field": magnitude >= ones,
        "zero": codes == 1 << (width - 1),
    }[specials]
    return np.where(bad, codes ^ (1 << (width - 2)), codes)


def near(kind, codes):
    """Exponents around zero, for the formats that have many."""
    _, t, field, _, _ = TYPES[kind]
    if field < 8:
        return codes
    return (codes & ~np.int64(255 << t)) | ((112 + (codes >> t & 31)) << t)


def operands(kind, raw, decide, classes, close):
    """Codes by the class of their dot product; arrays of dots by k."""
    width, t, _, _, specials = TYPES[kind]
    sign = np.int64(1) << (width - 1)
    codes = (raw & np.uint64((1 << width) - 1)).astype(np.int64)
    ordinary = finite(kind, codes)
    ordinary = np.where(close[:, None], near(kind, ordinary), ordinary)
    zero = np.zeros_like(codes) if specials == "zero" else codes & sign
    small = finite(kind, codes & (sign | ((1 << (t + 1)) - 1)))
    large = finite(kind, codes | (3 << (width - 3)))
    sparse = np.where((decide >> np.uint64(40)) % np.uint64(4) == 0, ordinary, zero)
    c = classes[:, None]
    return np.select([c == 0, c == 3, c == 4, c == 5], [codes, small, large, sparse], ordinary)


def batch(case, first, count):
    """Operands of some dot products: codes of x and y, bits of c, codes of the scales."""
    k, x, y, output = case["k"], case["x"], case["y"], case["c"]
    stride = 4 + 2 * k
    w = words(seed_of(case["unit"] + " " + case["instruction"]), first * stride, count * stride).reshape(count, stride)
    control = w[:, 0]
    classes = (control % np.uint64(6)).astype(np.int64)
    close = (control >> np.uint64(16)) % np.uint64(4) != 0
    xw, yw = w[:, 4::2], w[:, 5::2]
    a = operands(x, xw, xw, classes, close)
    b = operands(y, yw, yw, classes, close)
    # Cancelling: the second half is the first one negated, but for a last bit here and there.
    half = k // 2
    if half:
        cancelling = (classes == 2)[:, None]
        a[:, half:] = np.where(cancelling, a[:, : k - half], a[:, half:])
        flip = ((yw[:, half:] >> np.uint64(40)) % np.uint64(8) == 0).astype(np.int64)
        opposite = b[:, : k - half] ^ (1 << (TYPES[y][0] - 1)) ^ flip
        b[:, half:] = np.where(cancelling, finite(y, opposite), b[:, half:])
    # The accumulator.
    width, t, field, _, _ = TYPES[output]
    raw = (w[:, 1] & np.uint64((1 << width) - 1)).astype(np.int64)
    sign = np.int64(1) << (width - 1)
    mode = ((control >> np.uint64(8)) % np.uint64(4)).astype(np.int64)
    any_bits = np.where(classes == 0, raw, finite(output, raw))
    middle = finite(output, raw)
    if field == 8:
        middle = (raw & ~np.int64(255 << t)) | ((107 + (raw >> t & 255) % 40) << t)
    small = raw & (sign | ((1 << (t + 1)) - 1))
    c = np.select([mode == 0, mode == 1, mode == 2], [raw & sign, any_bits, middle], small)
    if case["scales"] and k == 64:
        c = np.where((c & ~sign) == 255 << t, finite(output, c), c)  # MMA-Sim has no answer for infinities here
    scales = None
    if case["scales"]:
        scales = [np.stack([(w[:, 2 + i] >> np.uint64(8 * j) & np.uint64(255)).astype(np.int64) for j in range(case["count"])], 1) for i in range(2)]
        for i, s in enumerate(scales):
            if case["scales"] == "e8m0fnu":
                ordinary = np.where(close[:, None], 111 + s % 32, np.where(s == 255, 127, s))
            else:
                ordinary = finite("e4m3fn", s)
            scales[i] = np.where((classes == 0)[:, None], s, ordinary)
    return a, b, c, scales
