"""The rounds of scripts/bench/operations: our process does one, then each peer does one; best of
all rounds."""

import json
import subprocess
import sys
import time
import warnings

import gfloat
import ml_dtypes
import numpy as np
from gfloat.formats import format_info_p3109

ROUNDS = 15
LENGTH = 1 << 18

warnings.simplefilter("ignore")
np.seterr(all="ignore")
info = format_info_p3109(8, 3)
rng = np.random.default_rng(1)
codes = [rng.integers(0, 256, LENGTH).astype(np.uint8) for _ in range(3)]
x, y, z = (gfloat.decode_ndarray(info, c) for c in codes)
e5m2 = [c.view(ml_dtypes.float8_e5m2) for c in codes]


def rounded(exact):
    """gfloat's rounding of a float64 result to codes' values."""
    return gfloat.round_ndarray(info, exact, gfloat.RoundMode.TiesToEven, True)


peers = {
    "gfloat": {
        "Add": lambda: rounded(x + y),
        "Multiply": lambda: rounded(x * y),
        "FMA": lambda: rounded(x * y + z),
        "Exp": lambda: rounded(np.exp(x)),
    },
    "ml_dtypes (e5m2)": {
        "Add": lambda: e5m2[0] + e5m2[1],
        "Multiply": lambda: e5m2[0] * e5m2[1],
        "FMA": lambda: e5m2[0] * e5m2[1] + e5m2[2],
        "Exp": lambda: np.exp(e5m2[0]),
    },
}

ours = subprocess.Popen(
    [sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"RAYON_NUM_THREADS": "1"}
)
first_use = json.loads(ours.stdout.readline())
best = {"smallfloat": {}, **{name: {} for name in peers}}
for _ in range(ROUNDS):
    print("round", file=ours.stdin, flush=True)
    for operation, ns in json.loads(ours.stdout.readline()).items():
        best["smallfloat"][operation] = min(ns, best["smallfloat"].get(operation, ns))
    for name, operations in peers.items():
        for operation, run in operations.items():
            start = time.perf_counter()
            run()
            ns = (time.perf_counter() - start) * 1e9 / LENGTH
            best[name][operation] = min(ns, best[name].get(operation, ns))
ours.stdin.close()

print("| operation | smallfloat, Melem/s |" + "".join(f" × {name} |" for name in peers))
print("| --- | --- |" + " --- |" * len(peers))
for operation, ns in best["smallfloat"].items():
    ratios = "".join(f" {best[name][operation] / ns:.0f} |" for name in peers)
    print(f"| {operation} | {1e3 / ns:.0f} |{ratios}")
slowest = max(first_use, key=first_use.get)
print(
    f"\nFirst use of a unary function on an 8-bit format, all 256 codes: at most {first_use[slowest]:.1f} ms ({slowest}), "
    f"{len(first_use)} functions."
)
