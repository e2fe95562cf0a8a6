"""Digests of exact results over all codes of the P3109 draft's formats; see
`verification/transcendental-digests`.

Formats are decoded here from the draft's section "Decode" and IEEE 754's layout, with no help from
this project's code.
"""

import argparse
import hashlib
import itertools
import multiprocessing
import platform
import re
import sys
import time
from pathlib import Path

import flint
import gmpy2

from p3109_truth import BINARY, INF, NAN, NINF, UNARY, both

FILE = Path("crates/smallfloat-proof/data/transcendental-digests.csv")
EXTERNAL = {"binary16": (16, 11, 15), "bfloat16": (16, 8, 127)}
STRIDE = 64  # of the short rows of 16-bit formats
PAIRS_BEYOND_6_BITS = ["Binary8p3se", "Binary8p4se", "Binary8p1ue", "Binary8p5sf"]


def normal(m, e):
    """(m, e) with m odd, or (0, 0): equal numbers are equal pairs."""
    if m == 0:
        return (0, 0)
    zeros = (m & -m).bit_length() - 1
    return (m >> zeros, e + zeros)


def decode(name, code):
    """What a code of a format means: NAN, INF, NINF or a pair."""
    if name in EXTERNAL:
        k, p, bias = EXTERNAL[name]
        field, t = (code >> (p - 1)) & ((1 << (k - p)) - 1), code & ((1 << (p - 1)) - 1)
        sign = -1 if code >> (k - 1) else 1
        if field == (1 << (k - p)) - 1:
            return NAN if t else (INF if sign > 0 else NINF)
        return normal(sign * t, 2 - p - bias) if field == 0 else normal(sign * (t + (1 << (p - 1))), field + 1 - p - bias)
    k, p, signed, extended = parse(name)
    if code == (1 << (k - 1) if signed else (1 << k) - 1):
        return NAN
    if extended:
        if code == ((1 << (k - 1)) - 1 if signed else (1 << k) - 2):
            return INF
        if signed and code == (1 << k) - 1:
            return NINF
    if signed and code > 1 << (k - 1):
        m, e = decode(name, code - (1 << (k - 1)))
        return (-m, e)
    bias = 1 << (k - p - 1 if signed else k - p)
    field, t = divmod(code, 1 << (p - 1))
    return normal(t, 2 - p - bias) if field == 0 else normal((1 << (p - 1)) + t, field + 1 - p - bias)


def parse(name):
    k, p, sign, domain = re.fullmatch(r"Binary(\d+)p(\d+)([su])([ef])", name).groups()
    return int(k), int(p), sign == "s", domain == "e"


def width(name):
    return 16 if name in EXTERNAL else parse(name)[0]


def formats(widths):
    return [
        f"Binary{k}p{p}{s}{d}"
        for k in widths
        for s in "su"
        for p in range(1, k + (s == "u"))
        for d in "fe"
    ]


def rows(op):
    """(format, stride) of every row of an operation."""
    if op in BINARY:
        return [(name, 1) for name in formats(range(3, 7)) + PAIRS_BEYOND_6_BITS]
    wide = ["Binary16p11se", "bfloat16"]
    every = [(name, 1) for name in formats(range(3, 9)) + ["Binary12p1ue"] + wide]
    return every + [(name, STRIDE) for name in wide]


def digest_rows(op):
    """The rows of one operation, how many different results there were, and the disagreements."""
    found, rejected, double = {}, [], 0
    lines = []
    for name, stride in rows(op):
        values = [decode(name, code) for code in range(0, 1 << width(name), stride)]
        tuples = itertools.product(values, repeat=2) if op in BINARY else ((x,) for x in values)
        hasher, count = hashlib.sha256(), 0
        for operands in tuples:
            result = found.get(operands)
            if result is None:
                result, other = both(op, operands)
                double += other is not None
                if other is not None and other != result:
                    rejected.append(f"{op}{operands}: MPFR {result}, other {other}")
                found[operands] = result
            hasher.update(result.encode() + b"\n")
            count += 1
        lines.append(f"{op},{name},{stride},{count},{hasher.hexdigest()}")
    return op, lines, len(found), double, rejected


def header(totals):
    return [
        "# SHA-256 digests of exact results of the P3109 draft's operations; written by verification/transcendental-digests.",
        f"# By gmpy2 {gmpy2.version()} ({gmpy2.mpfr_version()}) and, beside it, Arb of python-flint {flint.__version__}"
        f" (FLINT {flint.__FLINT_VERSION__}) or Python's integers.",
        f"# {totals[0]} different operations on values; {totals[1]} of them by both oracles; {totals[2]} disagreements.",
        "# A row: operation, format, stride of the codes, number of results, digest. Codes (for two operands: pairs, the",
        "# first operand slowest) ascend from 0. Each result is a line of ASCII text ending in a line feed: NaN, Inf, -Inf, 0,",
        "# [-]huge (magnitude 2^(2^20) or more), [-]tiny (below 2^(-2^20)), or [-]SpE with the magnitude cut toward zero to",
        "# 120 bits, S * 2^E: S 30 hexadecimal digits, its top bit set, E decimal; a final + says that something was cut.",
        "operation,format,stride,count,sha256",
    ]


def everything():
    start = time.time()
    # The slowest first.
    jobs = BINARY[1:] + UNARY[::-1] + BINARY[:1]
    results = {}
    with multiprocessing.Pool() as pool:
        for op, lines, distinct, double, rejected in pool.imap_unordered(digest_rows, jobs):
            results[op] = (lines, distinct, double, rejected)
            done = f"{len(results)}/{len(jobs)}"
            print(f"{done} {op}: {len(lines)} rows, {distinct} values, {double} twice, {time.time() - start:.0f} s", flush=True)
            for text in rejected[:10]:
                print(f"  DISAGREEMENT {text}", flush=True)
    totals = [sum(r[1] for r in results.values()), sum(r[2] for r in results.values()), sum(len(r[3]) for r in results.values())]
    lines = [line for op in UNARY + BINARY for line in results[op][0]]
    print(f"{totals[0]} different operations on values, {totals[1]} by both oracles, {totals[2]} disagreements")
    return "\n".join(header(totals) + lines) + "\n", totals[2]


def show(op, name, *codes):
    operands = tuple(decode(name, int(code, 0)) for code in codes)
    first, second = both(op, operands)
    print("operands:", *operands)
    if second is None:
        print("special case:", first)
    else:
        print("MPFR:            ", first)
        print("Arb or integers: ", second)


def print_lines(op, name, stride="1"):
    """The lines that go into a digest."""
    values = [decode(name, code) for code in range(0, 1 << width(name), int(stride))]
    for operands in itertools.product(values, repeat=2 if op in BINARY else 1):
        print(both(op, operands)[0])


def main():
    parser = argparse.ArgumentParser(description="Digests of exact results from MPFR and Arb.")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    parser.add_argument("--show", nargs="+", metavar=("OP", "FORMAT CODE"), help="print one result")
    parser.add_argument("--lines", nargs="+", metavar=("OP", "FORMAT STRIDE"), help="print the lines of one digest")
    arguments = parser.parse_args()
    if arguments.show:
        return show(*arguments.show)
    if arguments.lines:
        return print_lines(*arguments.lines)
    print(f"Python {platform.python_version()}, {gmpy2.mpfr_version()}, FLINT {flint.__FLINT_VERSION__}")
    text, disagreements = everything()
    if disagreements:
        return "the oracles disagree: nothing written"
    if arguments.check:
        return None if FILE.read_text() == text else f"{FILE} differs"
    FILE.write_text(text)
    print(f"wrote {FILE}")
    return None


if __name__ == "__main__":
    sys.exit(main())
