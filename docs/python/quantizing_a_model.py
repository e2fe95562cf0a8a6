"""Quantizing a model: what formats, biases and scales do to its weights and to its answers.

The model is a regression on random features of a known function, fitted here, so that nothing has
to be fetched. Run it: python docs/python/quantizing_a_model.py
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import smallfloat as sf

rng = np.random.default_rng(0)
u = rng.uniform(-1, 1, (4000, 8))
y = np.sin(3 * u[:, 0] + u[:, 1]) + 0.5 * np.cos(2 * u[:, 2])
# Inputs in large units make for small weights; rows of the first layer differ in size, as channels
# of real layers do.
x = (1000 * u).astype(np.float32)
hidden = (rng.standard_normal((256, 8)) * np.exp2(rng.uniform(-4, 0, (256, 1))) / 1000).astype(np.float32)
shift = rng.uniform(0, 2 * np.pi, 256).astype(np.float32)


def features(weights: npt.NDArray[Any]) -> Any:
    return np.cos(x @ weights.T + shift)


train = slice(0, 3000)
f = features(hidden)[train].astype(np.float64)
# A ridge keeps the weights of the last layer moderate.
output = np.linalg.solve(f.T @ f + 3 * np.eye(256), f.T @ y[train]).astype(np.float32)[None]


def error(first: npt.NDArray[Any], last: npt.NDArray[Any]) -> float:
    """Root of the mean squared error on data that was not fitted."""
    return float(np.sqrt(np.mean((features(first)[3000:] @ last[0] - y[3000:]) ** 2)))


recipes: dict[str, dict[str, Any]] = {
    "e4m3fn, as it is": {"fmt": "e4m3fn"},
    "cfloat8_1_4_3, a bias a tensor": {"fmt": "cfloat8_1_4_3"},
    "cfloat8_1_4_3, a bias a channel": {"fmt": "cfloat8_1_4_3", "granularity": "channel"},
    "mxfp8-e4m3: a scale for 32": {"fmt": "mxfp8-e4m3"},
    "mxfp4: 4 bits, a scale for 32": {"fmt": "mxfp4"},
    "shp, 16 bits": {"fmt": "shp"},
}
print(f"{'recipe':34}{'bytes':>8}{'SQNR dB':>10}{'error':>9}   (error in float32: {error(hidden, output):.4f})")
errors = {}
for name, how in recipes.items():
    first, last = (sf.quantize(x, name=name, report=True, **how) for x, name in ((hidden, "hidden"), (output, "output")))
    errors[name] = error(first.dequantize(), last.dequantize())
    sqnr = np.mean([q.report["sqnr_db"] for q in (first, last)])
    print(f"{name:34}{first.nbytes + last.nbytes:8}{sqnr:10.2f}{errors[name]:9.4f}")

# More bits, and biases that suit their data, help.
assert errors["shp, 16 bits"] < errors["cfloat8_1_4_3, a bias a channel"] < errors["e4m3fn, as it is"]
assert errors["mxfp8-e4m3: a scale for 32"] < errors["mxfp4: 4 bits, a scale for 32"]

# Files: the same bytes as `smallfloat quantize` writes.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "model.safetensors")
    sf.save(path, {"hidden": hidden, "output": output})
    report = sf.quantize_file(path, Path(folder, "small.safetensors"), "cfloat8_1_4_3")
    small = sf.load(Path(folder, "small.safetensors"))
    assert np.array_equal(small["hidden"].codes, sf.quantize(hidden, name="hidden").codes)
    print(f"\n{report['bytes_in']} bytes became {report['bytes_out']}; {small['hidden']}")
