"""JAX: encode, decode and round as array operations, under `jit`, `vmap` and `grad`.

The integer arithmetic of the core (`smallfloat.kernel`), so the bits are the same on every device.

>>> import jax, jax.numpy as jnp, smallfloat.jax as sfj
>>> x = jnp.array([1.0, 1.1, 500.0])
>>> jax.jit(lambda x: sfj.fake_quantize(x, "e4m3fn", saturation="satfinite"))(x)
Array([  1.   ,   1.125, 448.   ], dtype=float32)
>>> jax.grad(lambda x: sfj.fake_quantize(x, "e4m3fn").sum())(x)
Array([1., 1., 1.], dtype=float32)
"""

from ._fake import fake_quantize
from ._round import decode, encode, round
from ._scaled import dequantize, quantize

__all__ = ["decode", "dequantize", "encode", "fake_quantize", "quantize", "round"]
