"""The rounds of scripts/python-bench: the Rust kernel does one, then each Python package does one;
best of all rounds."""

import subprocess
import sys
import time
import timeit
import warnings

import gfloat
import ml_dtypes
import numpy as np
from gfloat.formats import format_info_ocp_e4m3

import smallfloat as sf

warnings.simplefilter("ignore")
np.seterr(all="ignore")

# Elements, rounds, and calls in a row in each round: the first ones find the others' data in the
# caches.
SIZES = {"1 MiB": (1 << 18, 12, 8), "256 MiB": (1 << 26, 3, 1)}
# Slower than this many times the kernel on the small array: only the small one is worth the wait.
PATIENCE = 100.0
SLOW = {("round e4m3fn", "gfloat 0.5"), ("round e4m3fn", "pychop")}

rust = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def kernel(what, fmt, length):
    print(what, fmt, length, file=rust.stdin, flush=True)
    return float(rust.stdout.readline())


def peers(x, codes, out, back):
    """What each package does: (task, package) -> a call."""
    f, c = sf.formats.e4m3fn, sf.formats.cfloat8_1_4_3(7)
    typed = codes.view(ml_dtypes.float8_e4m3fn)
    how = {"rounding": "stochastic-a", "seed": 1, "threads": 1}
    rows = x.reshape(-1, 4096)
    blocks = sf.quantize(rows, "mxfp8-e4m3", threads=1)
    found = {
        ("encode e4m3fn", "smallfloat, out="): lambda: sf.encode(x, f, out=out, threads=1),
        ("encode e4m3fn", "smallfloat"): lambda: sf.encode(x, f, threads=1),
        ("encode e4m3fn", "ml_dtypes 0.6"): lambda: x.astype(ml_dtypes.float8_e4m3fn),
        ("encode cfloat8_1_4_3", "smallfloat, out="): lambda: sf.encode(x, c, out=out, threads=1),
        ("decode e4m3fn", "smallfloat, out="): lambda: sf.decode(codes, f, out=back, threads=1),
        ("decode e4m3fn", "smallfloat"): lambda: sf.decode(codes, f, threads=1),
        ("decode e4m3fn", "ml_dtypes 0.6"): lambda: typed.astype(np.float32),
        ("stochastic e4m3fn", "smallfloat, out="): lambda: sf.encode(x, f, out=out, **how),
        ("quantize mxfp8-e4m3", "smallfloat"): lambda: sf.quantize(rows, "mxfp8-e4m3", threads=1),
        ("dequantize mxfp8-e4m3", "smallfloat"): lambda: blocks.dequantize(threads=1),
        ("round e4m3fn", "smallfloat, out="): lambda: sf.round(x, f, out=back, threads=1),
        ("round e4m3fn", "gfloat 0.5"): lambda: gfloat.round_ndarray(format_info_ocp_e4m3, x, sat=True),
    }
    try:
        import numkong

        small = numkong.astype(x, "e4m3")
        found["encode e4m3fn", "numkong 7"] = lambda: numkong.astype(x, "e4m3")
        found["decode e4m3fn", "numkong 7"] = lambda: numkong.astype(small, "f32")
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"numkong left out: {error}", file=sys.stderr)
    try:
        import pychop

        chop = pychop.Chop(exp_bits=4, sig_bits=3, rmode=1)
        chop(x[:16])
        found["round e4m3fn", "pychop"] = lambda: chop(x)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"pychop left out: {error}", file=sys.stderr)
    try:
        import torch

        torch.set_num_threads(1)
        tx, tc = torch.from_numpy(x), torch.from_numpy(codes).view(torch.float8_e4m3fn)
        found["encode e4m3fn", f"torch {torch.__version__}"] = lambda: tx.to(torch.float8_e4m3fn)
        found["decode e4m3fn", f"torch {torch.__version__}"] = lambda: tc.to(torch.float32)
    except ImportError:
        print("torch is not installed and left out", file=sys.stderr)
    return found


KERNELS = {
    "encode e4m3fn": ("encode", "e4m3fn"),
    "encode cfloat8_1_4_3": ("encode", "cfloat8_1_4_3:bias=7"),
    "decode e4m3fn": ("decode", "e4m3fn"),
    "stochastic e4m3fn": ("stochastic", "e4m3fn"),
    # Codes alone, without scales.
    "quantize mxfp8-e4m3": ("encode", "e4m3fn"),
    "dequantize mxfp8-e4m3": ("decode", "e4m3fn"),
}


def measure(length, rounds, calls_in_a_row, skip):
    rng = np.random.default_rng(1)
    x = (rng.random(length, np.float32) - 0.5) * 8
    codes = sf.encode(x, "e4m3fn")
    calls = peers(x, codes, np.empty(length, np.uint8), np.empty(length, np.float32))
    calls = {key: call for key, call in calls.items() if key not in skip}
    best = {}
    for _ in range(rounds):
        for task, (what, fmt) in KERNELS.items():
            key = task, "Rust kernel"
            for _ in range(calls_in_a_row):
                best[key] = min(best.get(key, np.inf), kernel(what, fmt, length))
        for key, call in calls.items():
            for _ in range(calls_in_a_row if key not in SLOW else 1):
                start = time.perf_counter()
                call()
                best[key] = min(best.get(key, np.inf), time.perf_counter() - start)
    return {key: length / seconds / 1e9 for key, seconds in best.items()}


def overhead():
    x, codes, f = np.zeros(16, np.float32), np.zeros(16, np.uint8), sf.formats.e4m3fn
    calls = {
        "np.add(x, x)": lambda: np.add(x, x),
        "sf.encode(x, fmt)": lambda: sf.encode(x, f),
        "sf.encode(x, 'e4m3fn')": lambda: sf.encode(x, "e4m3fn"),
        "sf.decode(codes, fmt)": lambda: sf.decode(codes, f),
        "sf.round(x, fmt)": lambda: sf.round(x, f),
        "sf.encode(x, fmt, rounding='stochastic-a', seed=1)": lambda: sf.encode(x, f, rounding="stochastic-a", seed=1),
        "x.astype(ml_dtypes.float8_e4m3fn)": lambda: x.astype(ml_dtypes.float8_e4m3fn),
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(15):
        for name, call in calls.items():
            best[name] = min(best[name], timeit.timeit(call, number=5000) / 5000 * 1e9)
    return best


def main():
    tables = {}
    for size, (length, rounds, calls_in_a_row) in SIZES.items():
        small = tables.get("1 MiB", {})
        speed = lambda key: small.get((key[0], "Rust kernel")) or small.get((key[0], "smallfloat, out="))
        slow = {key for key, rate in small.items() if rate * PATIENCE < speed(key)}
        tables[size] = measure(length, rounds, calls_in_a_row, slow)
    print("| task | package | " + " | ".join(f"{size}: Gelem/s | of the kernel" for size in SIZES) + " |")
    print("| --- | --- |" + " ---: | ---: |" * len(SIZES))
    for task, package in tables["1 MiB"]:
        cells = []
        for table in tables.values():
            rate = table.get((task, package))
            base = table.get((task, "Rust kernel")) or table[task, "smallfloat, out="]
            cells += [f"{rate:.3g}", f"{rate / base:.3g}"] if rate else ["–", "–"]
        print(f"| {task} | {package} | " + " | ".join(cells) + " |")
    print("\n| call on 16 elements | ns | of np.add |\n| --- | ---: | ---: |")
    times = overhead()
    for name, ns in times.items():
        print(f"| `{name}` | {ns:.0f} | {ns / times['np.add(x, x)']:.2f} |")


main()
