#!/usr/bin/env python3
"""Sums of matrix units by a second model, in NumPy's integers of 64 bits, many dot products at a
time.

  verification/fused/second_model.py                        compare the first 4096 dot products with MMA-Sim's digests
  verification/fused/second_model.py --products 10000000    and write digests of at least so many products for each instruction
  verification/fused/second_model.py --only hopper          of one GPU, or of one instruction

Written from the description in docs/tensor-cores.md; shares no code with smallfloat's kernels or
with MMA-Sim. Chains and trees use NumPy's binary32; a fused multiply-add is a sum in binary64
rounded to odd, then to binary32. Needs NumPy.
"""

import argparse
import csv
import hashlib
import sys
import time
from pathlib import Path

import numpy as np

from operands import FIELDS, SHORT, TYPES, batch

DATA = Path(__file__).resolve().parents[2] / "crates/smallfloat-proof/data"
BATCH = 1 << 13  # dot products at a time
ZERO = -126  # the exponent of zeros


def rules(unit, x, output):
    """How a GPU adds products of a type: the kind of sum, the products of a group, fraction
    bits."""
    eight = x in ("e4m3fn", "e5m2")
    if unit in ("volta", "turing", "ampere", "ada"):
        if eight:
            return "aligned", 16, 13
        group = {"volta": 4, "turing": 8}.get(unit, 4 if x == "tf32" else 8)
        return "aligned", group, 23 if unit == "volta" else 24
    if unit in ("hopper", "blackwell", "rtx-blackwell"):
        if eight:
            return "aligned", 32, 13 if unit == "hopper" else 25
        return "aligned", 8 if x == "tf32" else 16, 25
    if x == "binary32":
        return "chain", 1, 0
    if unit == "cdna3":
        if x in ("e4m3fnuz", "e5m2fnuz"):
            return "halves", 16, 24
        return "down", 4 if x == "tf32" else 8, 24
    return "tree", 4, 0


# ---- numbers ----

class Numbers:
    """Codes as significands (integers with signs), exponents by which they are aligned, and values
    of binary64."""

    def __init__(self, kind, codes):
        width, t, field, _, specials = TYPES[kind]
        if kind == "tf32":
            codes = codes & ~np.int64(0x1FFF)
        bias = (1 << (field - 1)) - 1 + (specials == "zero")
        magnitude = codes & ((1 << (width - 1)) - 1)
        exponent, rest = magnitude >> t, magnitude & ((1 << t) - 1)
        significand = np.where(exponent > 0, rest + (1 << t), rest)
        negative = codes >> (width - 1) != 0
        self.fraction = t
        self.lowest = 1 - bias
        self.significand = np.where(negative, -significand, significand)
        aligned = np.maximum(exponent, 1) - bias
        self.exponent = np.where(significand == 0, ZERO, aligned)
        value = np.ldexp(significand.astype(np.float64), (aligned - t).astype(np.int32))
        if specials == "field":
            top = exponent == (1 << field) - 1
            value = np.where(top, np.where(rest == 0, np.inf, np.nan), value)
        elif specials == "top":
            value = np.where(magnitude == (1 << (width - 1)) - 1, np.nan, value)
        elif specials == "zero":
            value = np.where(codes == 1 << (width - 1), np.nan, value)
        self.value = np.where(negative, -value, value)


def bits_of(values, output):
    """Codes of the accumulator's format, which has the values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if output == "binary16":
            return values.astype(np.float16).view(np.uint16).astype(np.int64)
        return values.astype(np.float32).view(np.uint32).astype(np.int64)


def shifted(x, by):
    """x · 2^by, cut toward zero."""
    magnitude = np.abs(x)
    left = magnitude << np.clip(by, 0, 62)
    right = magnitude >> np.clip(-by, 0, 63)
    return np.sign(x) * np.where(by >= 0, left, right)


def floor(x, by):
    """x · 2^by, cut toward −∞."""
    return np.where(by >= 0, x << np.clip(by, 0, 62), x >> np.clip(-by, 0, 63))


def length(x):
    """The number of bits of integers below 2^62."""
    x = x.copy()
    bits = np.zeros_like(x)
    for step in (32, 16, 8, 4, 2, 1):
        high = x >> step
        more = high > 0
        bits = np.where(more, bits + step, bits)
        x = np.where(more, high, x)
    return np.where(x > 0, bits + 1, bits)


def rounded(total, unit, fraction, lowest, nearest):
    """total · 2^unit as a value with so many fraction bits: cut toward zero, or to nearest even."""
    exponent = np.maximum(length(np.abs(total)) - 1 + unit, lowest)
    by = unit - (exponent - fraction)
    kept = shifted(total, by)
    if nearest:
        lost = np.abs(total) - shifted(np.abs(kept), -by)
        half = np.where(by < 0, np.int64(1) << np.clip(-by - 1, 0, 62), np.int64(1 << 62))
        up = (lost > half) | ((lost == half) & (kept & 1 == 1))
        up &= by < 0
        kept = kept + np.sign(total) * up
    return np.ldexp(kept.astype(np.float64), (exponent - fraction).astype(np.int32))


def specials(products, c):
    """The sum where a term is NaN or infinite, and whether one is."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = products.sum(axis=1) + c
    return total, ~np.isfinite(total)


# ---- groups ----

def aligned(significands, exponents, fractions, bits):
    """The sum of terms that are cut to `bits` fraction bits below the largest exponent, and that
    exponent."""
    largest = exponents[0].max(axis=1)
    for exponent in exponents[1:]:
        largest = np.maximum(largest, exponent.max(axis=1))
    total = np.zeros_like(largest)
    for significand, exponent, fraction in zip(significands, exponents, fractions):
        total = total + shifted(significand, exponent - largest[:, None] + bits - fraction).sum(axis=1)
    return total, largest


def nvidia(x, y, part, c_code, output, bits, narrow, extra=0):
    c = Numbers(output, c_code)
    products = x.significand[:, part] * y.significand[:, part]
    exponents = x.exponent[:, part] + y.exponent[:, part] + extra
    total, largest = aligned(
        [products, c.significand[:, None]], [exponents, c.exponent[:, None]], [x.fraction + y.fraction, c.fraction], bits)
    fraction, lowest = (10, -14) if output == "binary16" else (13 if narrow else 23, -126)
    value = rounded(total, largest - bits, fraction, lowest, output == "binary16")
    with np.errstate(invalid="ignore"):
        special, is_special = specials(x.value[:, part] * y.value[:, part], c.value)
    return bits_of(np.where(is_special, special, value + 0.0), output)


def amd(x, y, part, c_code, halves):
    c = Numbers("binary32", c_code)
    products = x.significand[:, part] * y.significand[:, part]
    exponents = x.exponent[:, part] + y.exponent[:, part]
    fraction = x.fraction + y.fraction
    with np.errstate(invalid="ignore"):
        values = x.value[:, part] * y.value[:, part]
    # Products from 2^128 on are infinities; as terms they are left out.
    over = np.abs(values) >= 2.0**128
    products = np.where(over, 0, products)
    exponents = np.where(over, -(1 << 20), exponents)
    if halves:
        even, e0 = aligned([products[:, 0::2]], [exponents[:, 0::2]], [fraction], 24)
        odd, e1 = aligned([products[:, 1::2]], [exponents[:, 1::2]], [fraction], 24)
        largest = np.maximum(e0, e1)
        total = floor(even, e0 - largest) + floor(odd, e1 - largest)
    else:
        total, largest = aligned([products], [exponents], [fraction], 24)
    both = np.maximum(largest, c.exponent)
    total = floor(total, 7 + largest - both)
    addend = floor(c.significand, 24 - c.fraction + c.exponent - both)
    if halves:
        addend = np.where(c.exponent >= both - 25, addend, 0)
    value = np.ldexp((total + (addend << 7)).astype(np.float64), (both - 31).astype(np.int32))
    positive, negative = (over & (values > 0)).any(axis=1), (over & (values < 0)).any(axis=1)
    value = np.where(positive & negative, np.nan, np.where(positive, np.inf, np.where(negative, -np.inf, value)))
    special, is_special = specials(values, c.value)
    return bits_of(np.where(is_special, special, value + 0.0), "binary32")


def single(values):
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32)


def flushed(values):
    return np.where(np.abs(values) < 2.0**-126, np.copysign(np.float32(0), values), values)


def tree(x, y, part, c_code, flush):
    def values(kind, numbers):
        wide = numbers.value[:, part]
        tiny = np.abs(wide) < 2.0**numbers.lowest
        return np.where(tiny, 0.0, wide) if flush else wide

    c = c_code.astype(np.uint32).view(np.float32)
    if flush:
        c = np.where(np.abs(c) < 2.0**-126, np.float32(0), c)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = single(values("x", x) * values("y", y) + 0.0)
        sums = flushed(sums) if flush else sums
        while sums.shape[1] > 1:
            half = sums.shape[1] // 2
            # Neighbours first: each half of the group is a sum.
            sums = sums[:, 0::2] + sums[:, 1::2]
            sums = flushed(sums) if flush else sums
            assert sums.shape[1] == half
        total = c + sums[:, 0]
    return bits_of(flushed(total) if flush else total, "binary32")


def chain(x, y, part, c_code):
    """x·y + c, rounded once: the product is exact in binary64, and the sum is rounded to odd
    there."""
    c = c_code.astype(np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        p = (x.value[:, part] * y.value[:, part])[:, 0]
        total = p + c
        late = total - p
        error = (p - (total - late)) + (c - late)
        odd = total.view(np.int64) & 1 == 1
        away = np.where(error > 0, np.inf, -np.inf)
        inexact = np.isfinite(total) & (error != 0) & ~odd
        total = np.where(inexact, np.nextafter(total, away), total)
    return bits_of(single(total), "binary32")


def blocks_of_e2m1(x, y, c_code, scales, kind, block):
    """Sums of sixteen products are exact; these, times their scales, and the accumulator are
    aligned with 35 fraction bits."""
    c = Numbers("binary32", c_code)
    products = x.significand * y.significand
    # Products of significands have different exponents; in quarters all are integers.
    quarters = products << (x.exponent + y.exponent).clip(0)
    quarters = np.where(products == 0, 0, quarters)
    sums = quarters.reshape(len(c_code), -1, 16).sum(axis=2)
    at = np.arange(sums.shape[1]) * 16 // block
    s, t = (scale_numbers(kind, side) for side in scales)
    significand = sums * s[0][:, at] * t[0][:, at]
    exponent = s[1][:, at] + t[1][:, at]
    total, largest = aligned([significand, c.significand[:, None]], [exponent, c.exponent[:, None]], [2 + 2 * s[2], c.fraction], 35)
    value = rounded(total, largest - 35, 23, -126, False) + 0.0
    is_nan = s[3].any(axis=1) | t[3].any(axis=1) | np.isnan(c.value)
    return bits_of(np.where(is_nan, np.nan, value), "binary32")


def scale_numbers(kind, codes):
    """Significands, exponents, fraction bits, and which are NaN."""
    if kind == "e8m0fnu":
        return np.ones_like(codes), codes - 127, 0, codes == 255
    numbers = Numbers("e4m3fn", codes & 127)
    return numbers.significand, numbers.exponent, 3, codes & 127 == 127


# ---- dot products ----

def simulate(case, first, count):
    unit, output, k = case["unit"], case["output"], int(case["k"])
    given = {"unit": unit, "instruction": case["instruction"], "x": case["x"], "y": case["y"], "c": output, "k": k,
             "scales": case["scales"], "count": 0}
    block = 16 if "block16" in case["instruction"] else 32
    if case["scales"]:
        given["count"] = k // block
    a, b, c, scales = batch(given, first, count)
    x, y = Numbers(case["x"], a), Numbers(case["y"], b)
    if case["scales"] and k == 64:
        codes = blocks_of_e2m1(x, y, c, scales, case["scales"], block)
    elif case["scales"]:
        s, t = (side[:, :1] for side in scales)
        codes = nvidia(x, y, slice(None), c, output, 25, False, s + t - 254)
        codes = np.where(((s == 255) | (t == 255))[:, 0], 0x7FFF_FFFF, codes)
    else:
        kind, group, bits = rules(unit, case["x"], output)
        if unit in ("cdna1", "cdna2") and case["x"] == "bfloat16":
            group = 4 if case["instruction"].endswith("_1k") else 2
        codes = c
        for start in range(0, k, group):
            part = slice(start, start + group)
            if kind == "aligned":
                codes = nvidia(x, y, part, codes, output, bits, bits == 13)
            elif kind == "chain":
                codes = chain(x, y, part, codes)
            elif kind == "tree":
                codes = tree(x, y, part, codes, unit == "cdna2")
            else:
                codes = amd(x, y, part, codes, kind == "halves")
    width, t, field, _, _ = TYPES[output]
    # Every NaN as one.
    nan = codes & ((1 << (width - 1)) - 1) > ((1 << field) - 1) << t
    return np.where(nan, (1 << (width - 1)) - 1, codes).astype("<u2" if width == 16 else "<u4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=0, help="products for each instruction whose digests are written")
    parser.add_argument("--file", type=Path, default=DATA / "fused-second-digests.csv", help="the file to write")
    parser.add_argument("--keep", action="store_true", help="leave rows of the file that have so many products")
    parser.add_argument("--only", default="", help="a part of `unit instruction`")
    options = parser.parse_args()

    def read(path):
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    rows = [row for row in read(DATA / "fused-digests.csv") if int(row["dots"]) == SHORT]
    kept = {(row["unit"], row["instruction"]): row for row in (read(options.file) if options.file.exists() else [])}
    differ = 0
    for row in rows:
        name = f"{row['unit']} {row['instruction']}"
        if options.only not in name:
            continue
        known = kept.get((row["unit"], row["instruction"]))
        if options.keep and known and int(known["dots"]) * int(known["k"]) >= options.products:
            continue
        start = time.monotonic()
        first = simulate(row, 0, SHORT).tobytes()
        same = hashlib.sha256(first).hexdigest() == row["sha256"]
        differ += not same
        text = "MMA-Sim's" if same else "NOT MMA-Sim's"
        if options.products and same:
            total = -(-options.products // int(row["k"]))
            digest, done = hashlib.sha256(), 0
            while done < total:
                count = min(BATCH, total - done)
                digest.update(simulate(row, done, count).tobytes())
                done += count
            kept[row["unit"], row["instruction"]] = row | {"dots": done, "sha256": digest.hexdigest()}
            with options.file.open("w", encoding="utf-8", newline="") as file:
                file.write("# Digests of verification/fused/second_model.py; little-endian bits, every NaN as 0x7fff(ffff).\n")
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(kept.values())
            text += f", {done} dot products written"
        print(f"{name}: {text}, {time.monotonic() - start:.1f} s", flush=True)
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
