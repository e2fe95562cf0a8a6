"""Fake quantization: values of small formats, with the gradient of the identity."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from .._config import Config, refuse_unknown
from .._core import Format
from ._round import check, round
from ._scaled import dequantize, quantize


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _straight_through(x: Any, nonfinite: str, how: tuple[tuple[str, Any], ...]) -> Any:
    y = round(x, **dict(how))
    return jnp.where(jnp.isfinite(x), y, x) if nonfinite == "keep" else y


@_straight_through.defjvp
def _(nonfinite, how, primals, tangents):
    return _straight_through(primals[0], nonfinite, how), tangents[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _straight_through_scaled(x: Any, key: str, name: str) -> Any:
    # What is not finite does not count for scales.
    finite = jnp.isfinite(x)
    q = quantize(jnp.where(finite, x, jnp.zeros_like(x)), Config.of_key(key), name=name)
    return jnp.where(finite, dequantize(q, x.dtype), x)


@_straight_through_scaled.defjvp
def _(key, name, primals, tangents):
    return _straight_through_scaled(primals[0], key, name), tangents[0]


def fake_quantize(x: Any, fmt: Any, *, nonfinite: str = "keep", stream: Any = None, **how: Any) -> jax.Array:
    """An array on the grid of a format or scheme, with the gradient of the identity ("straight
    through").

    Parameters
    ----------
    x : array of float16, bfloat16, float32, or float64 where JAX has it
    fmt : str, Format or Config
        A format, which is rounded to as it is (`round`); or a scheme ('mxfp4', 'nvfp4', …), a
        `Config`, a format with `granularity`, `bias`, `scale_format` or `scale_rule`, or a format
        whose bias is open, where biases or scales are chosen for the array at hand (`quantize`).
    nonfinite : str
        'keep' (default): NaN and infinities stay what they are, also where the format has none.
        'preset': what the format's preset makes of them; for formats without scales.
    stream : int or str, optional
        Of random words; with scales a name.
    **how :
        As of `round` or `quantize`.
    """
    if nonfinite not in ("keep", "preset"):
        raise ValueError(f"nonfinite={nonfinite!r} is not known: write 'keep' (the default) or 'preset'")
    x = check(x)
    if _is_format(fmt) and not {"granularity", "bias", "scale_format", "scale_rule"} & how.keys():
        refuse_unknown(how.keys() - round.__kwdefaults__.keys())
        return _straight_through(x, nonfinite, (("fmt", str(fmt)), ("stream", stream), *sorted(how.items())))
    if nonfinite == "preset":
        raise ValueError("nonfinite='preset' is for formats without scales: leave it out")
    return _straight_through_scaled(x, Config(fmt, **how).key(), stream or "tensor")


def _is_format(name: Any) -> bool:
    """Whether it is a format whose bias is known, and no scheme."""
    if isinstance(name, Config):
        return False
    try:
        Format(name)
    except ValueError:
        return False
    return True
