"""The picture of the page for JAX: `python docs/python/jax/training.py FOLDER` writes it.

Weights that are kept in e4m3fn lose small updates when they are rounded to nearest; stochastic
rounding keeps them on average. Needs jax and matplotlib.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

import smallfloat.jax as sfj

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "smallfloat", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
from matplotlib import pyplot as plt  # noqa: E402

STEPS, RATE = 300, 0.02
rng = np.random.default_rng(0)
x = jnp.asarray(rng.standard_normal((256, 32)), jnp.float32)
y = x @ jnp.asarray(rng.standard_normal(32), jnp.float32)


def loss(w: jax.Array) -> jax.Array:
    """The mean squared error of a linear model."""
    return jnp.mean((x @ w - y) ** 2)


def train(**how: object) -> list[float]:
    """The losses of training with weights of e4m3fn, or of float32 without a rounding."""
    w, losses = jnp.zeros(32), []
    step = jax.jit(jax.value_and_grad(loss))
    for i in range(STEPS):
        value, gradient = step(w)
        losses.append(float(value))
        w = w - RATE * gradient
        if how:
            # Each step draws words of its own.
            more = {"stream": f"step {i}"} if "seed" in how else {}
            w = sfj.round(w, "e4m3fn", **how, **more)
    return losses


plt.figure(figsize=(7, 3))
runs = {"float32": {}, "e4m3fn, to nearest": {"rounding": "nearest-even"}, "e4m3fn, stochastic": {"rounding": "stochastic-a", "seed": 1}}
for label, how in runs.items():
    losses = train(**how)
    plt.plot(losses, label=label)
    print(f"{label}: {np.mean(losses[-50:]):.2g}")
plt.yscale("log")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=3, frameon=False)
plt.tight_layout()
path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "jax-training.svg"
plt.savefig(path, metadata={"Date": None})
print(path)
