"""Formats at a glance: the range and the precision of small formats, as a table and as a picture.

Run it: python docs/python/formats_at_a_glance.py [PICTURE.svg]
"""

import sys

import matplotlib
import numpy as np

import smallfloat as sf

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

NAMES = ["e4m3fn", "e5m2", "e4m3fnuz", "e3m2fn", "e2m1fn", "cfloat8_1_4_3:bias=7", "binary8p3se", "binary8p4se", "bfloat16"]

print(f"{'format':24}{'bits':>5}{'p':>4}{'smallest':>12}{'normal from':>13}{'largest':>12}  specials")
for name in NAMES:
    f = sf.Format(name)
    specials = " ".join(w for w, has in (("inf", f.has_infinity), ("nan", f.has_nan)) if has) or "none"
    print(
        f"{name:24}{f.width:5}{f.precision:4}{f.smallest_positive:12.3g}{f.smallest_normal:13.3g}{f.max:12.6g}  {specials}"
    )

# Where a number lies decides how well it is kept: the error of rounding, relative to the number.
x = np.exp2(np.linspace(-20, 18, 4000))
figure, axes = plt.subplots(figsize=(9, 5))
for name in NAMES:
    f = sf.Format(name)
    inside = x[(x >= f.smallest_positive) & (x <= f.max)]
    error = np.abs(sf.round(inside, f) - inside) / inside
    # The worst error in every half binade.
    bins = np.floor(2 * np.log2(inside))
    worst = [error[bins == b].max() for b in np.unique(bins)]
    axes.plot(np.exp2(np.unique(bins) / 2), worst, label=name)
    # A normal number is at most half a unit in the last place away, and never more than 2^-p of
    # itself.
    normal = (inside >= f.smallest_normal) & (inside < f.max)
    assert error[normal].max() <= 2.0**-f.precision
axes.set(xscale="log", yscale="log", xlabel="magnitude", ylabel="largest relative error of rounding")
axes.set_xscale("log", base=2)
axes.legend(fontsize=8)
axes.grid(alpha=0.3)
picture = sys.argv[1] if len(sys.argv) > 1 else "formats.svg"
figure.savefig(picture)
print(f"\npicture: {picture}")
