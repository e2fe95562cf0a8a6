"""Scaled checkpoints against arithmetic of their own: NumPy, the safetensors reader, ml_dtypes'
value tables.

    schemes-check.py SMALLFLOAT MODEL.safetensors WORK_FOLDER

For every scheme, granularity and scale rule below: quantize MODEL with the command, read the file
with the `safetensors` package, compute scales and codes again from the definitions (exact in
binary64), decode, and compare with what `smallfloat dequantize` gives. All comparisons are of bits.
Nothing here uses smallfloat's own arithmetic.
"""

import json
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import safetensors

COMMAND, MODEL, WORK = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
WORK.mkdir(parents=True, exist_ok=True)
wrong = checked = 0


class Element:
    """A format as the list of its values, by ml_dtypes; rounding to nearest even by midpoints,
    saturating."""

    def __init__(self, dtype, bits):
        self.values = np.arange(2**bits, dtype=np.uint8).view(dtype).astype(np.float64)
        positive = self.values[: 2 ** (bits - 1)]
        self.magnitudes = positive[np.isfinite(positive)]
        self.middles = (self.magnitudes[1:] + self.magnitudes[:-1]) / 2
        self.max, self.bits = self.magnitudes[-1], bits
        # Stored significand bits, from the distance of the two values next to 1.
        self.stored = -int(np.log2(self.magnitudes[self.magnitudes > 1][0] - 1))

    def codes(self, x):
        magnitude = np.abs(x)
        code = np.searchsorted(self.middles, magnitude, side="left")
        # A value on a middle belongs to the even of its neighbours; `left` has taken the lower.
        at = np.minimum(code, len(self.middles) - 1)
        tie = (code < len(self.middles)) & (self.middles[at] == magnitude) & (code % 2 == 1)
        code = (code + tie).astype(np.uint8)
        return code | (np.signbit(x).astype(np.uint8) << (self.bits - 1))


E4M3 = Element(ml_dtypes.float8_e4m3fn, 8)
E5M2 = Element(ml_dtypes.float8_e5m2, 8)
E3M2 = Element(ml_dtypes.float6_e3m2fn, 6)
E2M3 = Element(ml_dtypes.float6_e2m3fn, 6)
E2M1 = Element(ml_dtypes.float4_e2m1fn, 4)
E8M0 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)


def unpack(raw, element, columns, high):
    """Codes of rows of packed bytes, bit by bit."""
    if element.bits == 8:
        return raw
    bits = np.unpackbits(raw, axis=1, bitorder="little").reshape(len(raw), -1, element.bits)
    codes = bits @ (1 << np.arange(element.bits, dtype=np.uint8))
    if high:
        codes = codes.reshape(len(raw), -1, 2)[:, :, ::-1].reshape(len(raw), -1)
    return codes[:, :columns].astype(np.uint8)


def power_of_two_scale(rule, amax, element):
    """The E8M0 code of each block."""
    fraction, exponent = np.frexp(amax)  # in [1/2, 1)
    exponent, fraction = exponent - 1, fraction * 2
    top_fraction, top = np.frexp(element.max)
    top, top_fraction = top - 1, top_fraction * 2
    if rule == "floor":
        e = exponent - top
    elif rule == "ceil":
        e = exponent + (fraction > 1) - top
    elif rule == "rceil":
        e = exponent - top + (fraction > top_fraction)
    else:  # even
        e = exponent + (fraction + 2.0 ** -(element.stored + 1) >= 2) - top
    e = np.where(amax == 0, -127, np.clip(e, -127, 127))
    return (e + 127).astype(np.uint8)


def read(path):
    return dict(safetensors.deserialize(path.read_bytes()))


def array(tensor, dtype):
    return np.frombuffer(bytes(tensor["data"]), dtype=dtype).reshape(tensor["shape"])


def expand(scales, rows, columns, block):
    """A scale for each element."""
    return np.repeat(np.repeat(scales, block[0], axis=0), block[1], axis=1)[:rows, :columns]


def amax_of(x, block):
    rows, columns = x.shape
    padded = np.pad(np.abs(x), ((0, -rows % block[0]), (0, -columns % block[1])))
    return padded.reshape(padded.shape[0] // block[0], block[0], -1, block[1]).max(axis=(1, 3))


def run(*args):
    subprocess.run([COMMAND, *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compare(what, name, ours, theirs):
    global wrong, checked
    checked += ours.size
    same = ours.shape == theirs.shape and np.array_equal(ours.view(np.uint8), theirs.view(np.uint8))
    if not same:
        wrong += 1
        print(f"WRONG: {what} of {name}")
    return same


def check(label, element, block, scale_kind, rule, names, options, high=False):
    """One scheme over all tensors that it took."""
    global wrong
    path, back = WORK / "out.safetensors", WORK / "back.safetensors"
    run("quantize", MODEL, "-o", path, "--overwrite", *options)
    run("verify", path)
    run("dequantize", path, "-o", back, "--overwrite")
    source, stored, decoded = read(MODEL), read(path), read(back)
    suffix, scale_suffix = names
    count = elements = 0
    for name, tensor in source.items():
        if name + scale_suffix not in stored:
            if bytes(tensor["data"]) != bytes(stored[name]["data"]):
                wrong += 1
                print(f"WRONG: {name} is no copy in {label}")
            continue
        x = array(tensor, np.float32).astype(np.float64)
        x = x.reshape(-1, x.shape[-1])
        rows, columns = x.shape
        size = (block[0] or rows, block[1] or columns)
        amax = amax_of(x, size)
        raw_scale = stored[name + scale_suffix]
        divisor = 1.0
        if scale_kind == "e8m0":
            expected = power_of_two_scale(rule, amax, element)
            scales = array(raw_scale, np.uint8).reshape(amax.shape)
            values = E8M0[scales]
        elif scale_kind == "f32":
            expected = np.where(amax == 0, 1, amax / element.max).astype(np.float32)
            scales = array(raw_scale, np.float32).reshape(amax.shape)
            values = scales.astype(np.float64)
        else:  # E4M3 divided by the largest power of two that keeps the largest block in range
            divisor = float(array(stored[name + "_global_scale"], np.float32).reshape(-1)[0])
            if np.log2(divisor) % 1 or not amax.max() * divisor <= 448 * element.max < 2 * amax.max() * divisor:
                shared = any(part in name for part in ("query", "key", "value"))
                if not shared:
                    wrong += 1
                    print(f"WRONG: global scale {divisor} of {name}")
            expected = E4M3.codes(np.where(amax == 0, 1, np.maximum(amax * divisor / element.max, 2.0**-9)))
            scales = array(raw_scale, np.uint8).reshape(amax.shape)
            values = E4M3.values[scales] / divisor
        shared = scale_kind == "f32" and block == (None, None)
        if shared:
            values = scales.astype(np.float64)
            together = [n for n in source if n.replace("query", "*").replace("key", "*").replace("value", "*")
                        == name.replace("query", "*").replace("key", "*").replace("value", "*")]
            largest = max(np.abs(array(source[n], np.float32)).max() for n in together)
            expected = (np.float64(largest) / element.max).astype(np.float32).reshape(1, 1)
        compare(f"{label}: scales", name, expected, scales)
        raw = stored[name + suffix]
        codes = unpack(array(raw, np.uint8).reshape(rows, -1), element, columns, high)
        each = expand(values, rows, columns, size)
        # Quotients of F32 numbers in binary64 are on the right side of every middle: they have
        # 2^-36 to spare.
        compare(f"{label}: codes", name, element.codes(x / each), codes)
        value = (element.values[codes] * each).astype(np.float32)
        compare(f"{label}: values", name, value, array(decoded[name], np.float32).reshape(rows, columns))
        count, elements = count + 1, elements + x.size
    if count == 0:
        wrong += 1
        print(f"WRONG: {label} quantized nothing")
    print(f"{label:<44} {count:3} tensors {elements:12,} elements")


OWN, FLOAT, PACKED = ("", "_scale"), ("", "_scale"), ("_packed", "_scale")
print("scheme")
for name, element in [("mxfp8-e4m3", E4M3), ("mxfp8-e5m2", E5M2), ("mxfp6-e3m2", E3M2), ("mxfp6-e2m3", E2M3), ("mxfp4", E2M1)]:
    for rule in ["floor", "ceil", "even", "rceil"]:
        check(f"{name} {rule}", element, (1, 32), "e8m0", rule, OWN, ["--scheme", name, "--scale-rule", rule])
check("mxfp4 floor, high nibble first", E2M1, (1, 32), "e8m0", "floor", OWN, ["--scheme", "mxfp4", "--nibble-order", "high"], True)
check("mxfp8-e4m3 blocks of 8×40", E4M3, (8, 40), "e8m0", "floor", OWN, ["--scheme", "mxfp8-e4m3", "--granularity", "block:8x40"])
check("nvfp4", E2M1, (1, 16), "e4m3", None, OWN, ["--scheme", "nvfp4"])
check("fp8", E4M3, (None, None), "f32", None, FLOAT, ["--scheme", "fp8"])
check("fp8-e5m2", E5M2, (None, None), "f32", None, FLOAT, ["--scheme", "fp8-e5m2"])
check("deepseek", E4M3, (128, 128), "f32", None, ("", "_scale_inv"), ["--scheme", "deepseek"])
for granularity, block in [("tensor", (None, None)), ("channel", (1, None)), ("block:64", (1, 64)), ("block:128x128", (128, 128))]:
    check(f"float-quantized {granularity}", E4M3, block, "f32", None, FLOAT, ["--scheme", "float-quantized", "--granularity", granularity])
check("mxfp8-quantized", E4M3, (1, 32), "e8m0", "floor", FLOAT, ["--scheme", "mxfp8-quantized"])
check("mxfp6-pack-quantized", E2M3, (1, 32), "e8m0", "floor", PACKED, ["--scheme", "mxfp6-pack-quantized"])
check("mxfp4-pack-quantized", E2M1, (1, 32), "e8m0", "floor", PACKED, ["--scheme", "mxfp4-pack-quantized"])
check("nvfp4-pack-quantized", E2M1, (1, 16), "e4m3", None, PACKED, ["--scheme", "nvfp4-pack-quantized"])
print(f"{checked:,} scales, codes and values compared; {wrong} wrong")
sys.exit(wrong != 0)
