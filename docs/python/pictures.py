"""The pictures of the pages for NumPy and PyTorch: `python docs/python/pictures.py FOLDER` writes
them, the same bytes each time.

Needs matplotlib.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import smallfloat as sf

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "smallfloat", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
from matplotlib import pyplot as plt  # noqa: E402

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")


def save(name: str) -> None:
    """Writes the current picture without a date."""
    plt.tight_layout()
    plt.savefig(folder / name, metadata={"Date": None})
    plt.close()
    print(folder / name)


# 1. How far numbers are moved, relative to them: fine in the normal range, coarse among subnormal
#    numbers, all beyond the ends.
x = np.exp2(np.linspace(-18, 18, 1500)).astype(np.float32)
plt.figure(figsize=(7, 3))
for fmt in ("e5m2", "e4m3fn", "cfloat8_1_4_3:bias=11", "binary8p5se"):
    error = np.abs(sf.round(x, fmt, saturation="satfinite") - x) / x
    # The largest error within a binade, since single ones jump.
    plt.step(x.reshape(-1, 25)[:, 0], error.reshape(-1, 25).max(axis=1), where="post", label=fmt)
plt.xscale("log", base=2)
plt.yscale("log", base=2)
plt.ylim(2.0**-6.5, 1.2)
plt.xlabel("number")
plt.ylabel("largest relative error")
plt.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=4, frameon=False)
save("rounding-error.svg")

# 2. What a weight costs and what it keeps, with rows of different sizes and a few outliers, as
#    layers have them.
rng = np.random.default_rng(0)
weight = rng.standard_t(4, (256, 512)) * np.exp2(rng.uniform(-3, 3, (256, 1)))
weight = weight.astype(np.float32)
plt.figure(figsize=(7, 3))
schemes = ("mxfp4", "nvfp4", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp8-e5m2", "cfloat8_1_5_2", "mxfp8-e4m3", "fp8", "cfloat8_1_4_3")
quantized = {scheme: sf.quantize(weight, scheme, report=True) for scheme in schemes}
names = [f"{scheme}, {8 * q.nbytes / weight.size:.2f} bits" for scheme, q in quantized.items()]
plt.barh(names[::-1], [q.report["sqnr_db"] for q in quantized.values()][::-1])
plt.xlabel("signal to error, dB")
save("bits-and-error.svg")
