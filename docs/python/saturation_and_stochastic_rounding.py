"""Why saturation and stochastic rounding matter: two experiments that fit on a page.

Run it: python docs/python/saturation_and_stochastic_rounding.py
"""

from typing import Any

import numpy as np

import smallfloat as sf

# 1. One large number. E4M3FN has no infinity: without saturation what overflows becomes NaN, and a
#    sum with it is lost.
rng = np.random.default_rng(1)
activations = rng.standard_normal(4096).astype(np.float32) * 30
activations[7] = 600.0
print("sum of 4096 activations, one of them 600:")
for preset in ("ocp-nosaturate", "ocp-saturate"):
    rounded, events = sf.round(activations, "e4m3fn", preset=preset, return_flags=True)
    print(f"  {preset:16} {rounded.sum():10.1f}   ({events.overflowed} beyond the range)")
print(f"  {'float32':16} {activations.sum():10.1f}")
assert np.isnan(sf.round(activations, "e4m3fn", preset="ocp-nosaturate").sum())
assert abs(sf.round(activations, "e4m3fn", preset="ocp-saturate").sum() - activations.sum()) < 400

# 2. Many small updates. A weight of 1 in bfloat16 has neighbours 1/128 apart (above) and 1/256
# (below): to nearest, updates of 1/1000 vanish, all of them. Stochastic rounding keeps them on
# average.
steps, update = 2000, np.float32(1e-3)
weights: dict[Any, np.ndarray[Any, Any]] = {"nearest-even": np.ones(1000, np.float32), "stochastic-a": np.ones(1000, np.float32)}
for step in range(steps):
    for rounding, w in weights.items():
        seeded: dict[str, Any] = {} if rounding == "nearest-even" else {"seed": 5, "stream": step}
        sf.round(w - update, "bfloat16", rounding=rounding, out=w, **seeded)
print(f"\n1 - {steps} updates of {update}: exactly {1 - steps * float(update):.3f}")
for rounding, w in weights.items():
    print(f"  {rounding:14} mean {w.mean():8.4f}, spread {w.std():.4f}")
assert np.all(weights["nearest-even"] == 1.0)
assert abs(weights["stochastic-a"].mean() - (1 - steps * float(update))) < 0.02

# The same seed gives the same bits, on every machine, with any number of threads, whole or in
# pieces.
x = rng.standard_normal(100_000).astype(np.float32)
how: dict[str, Any] = {"rounding": "stochastic-a", "seed": 5, "stream": "layer.weight"}
whole = sf.encode(x, "e5m2", **how)
pieces = [sf.encode(x[i : i + 30_000], "e5m2", first_element=i, threads=1, **how) for i in range(0, x.size, 30_000)]
assert np.array_equal(whole, np.concatenate(pieces))
