"""The picture of the page for Dask: `python docs/python/dask/biases.py FOLDER` writes it, the same
bytes each time.

What bias each row of an array gets, chunk by chunk: embeddings of frequent words are longer. Needs
dask and matplotlib.
"""

import sys
from pathlib import Path

import dask
import dask.array as da
import matplotlib
import numpy as np

import smallfloat.dask as sfd

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "smallfloat", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
from matplotlib import pyplot as plt  # noqa: E402

rng = np.random.default_rng(0)
length = np.exp2(-np.log2(1 + np.arange(4096)) / 3)[:, None]
rows = da.from_array((rng.standard_normal((4096, 64)) * length).astype(np.float32), chunks=(512, 64))
parts = dask.compute(*sfd.quantize(rows, "cfloat8_1_4_3", granularity="channel"))
biases = np.concatenate([part.biases.ravel() for part in parts])

plt.figure(figsize=(7, 3))
plt.hist(biases, np.arange(biases.min(), biases.max() + 2) - 0.5, rwidth=0.8)
plt.xticks(np.unique(biases))
plt.yscale("log")
plt.xlabel("bias")
plt.ylabel("rows")
plt.tight_layout()
path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "biases-of-rows.svg"
plt.savefig(path, metadata={"Date": None})
print(path)
