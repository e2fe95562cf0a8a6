"""What some programs do with whole groups of elements before they are quantized."""

from __future__ import annotations

import numpy as np

from ._config import Config, block_of, matrix_of
from ._core import Format
from ._interop import behaved, numbers
from ._scales import POWER_RULES, scale_plan


def _matrix(x: np.ndarray, granularity: str) -> np.ndarray:
    x = x if x.dtype.name in ("float16", "bfloat16", "float32", "float64") else numbers(x, "x")
    return behaved(x).reshape(matrix_of(x.shape, granularity))


def _largest(matrix: np.ndarray, granularity: str) -> np.ndarray:
    """The largest magnitudes of groups in float64, as a matrix; of a group with a NaN it is NaN."""
    magnitudes = np.abs(matrix.astype(np.float64))
    if granularity == "tensor":
        return magnitudes.max(initial=0, keepdims=True)
    block = block_of(granularity)
    if block is None:
        return magnitudes.max(axis=1, initial=0, keepdims=True)
    for axis, size in enumerate(block):
        starts = np.arange(0, matrix.shape[axis], size)
        magnitudes = np.maximum.reduceat(magnitudes, starts, axis) if starts.size else magnitudes
    return magnitudes


def flushed(x: np.ndarray, config: Config, flush: str | None) -> np.ndarray:
    """`x` with zeros in groups that have subnormal numbers of float32 alone."""
    if flush is None:
        return x
    if flush != "groups":
        raise ValueError(f"flush={flush!r} is not known: write 'groups', or leave it out")
    granularity = config.entry((1,) * x.ndim)["granularity"]
    matrix, block = _matrix(x, granularity), block_of(granularity)
    kept = _largest(matrix, granularity) >= np.finfo(np.float32).tiny
    kept |= np.isnan(_largest(matrix, granularity))
    if block is not None:
        kept = np.repeat(np.repeat(kept, block[1], axis=1)[:, : matrix.shape[1]], block[0], axis=0)[: matrix.shape[0]]
    return np.where(kept, matrix, matrix.dtype.type(0)).reshape(x.shape)


def overflowing(x: np.ndarray, config: Config, scale_overflow: str) -> np.ndarray | None:
    """Of each group, whether its scale is beyond the largest of the scales' format, or an element
    is not finite."""
    if scale_overflow == "saturate":
        return None
    if scale_overflow != "nan":
        raise ValueError(f"scale_overflow={scale_overflow!r} is not known: write 'saturate' (the default) or 'nan'")
    plan = scale_plan(config.key(), x.ndim)
    if plan.layout.scale is None or plan.rule not in POWER_RULES:
        raise ValueError(f"scale_overflow='nan' is for scales by the rules {', '.join(POWER_RULES)}")
    scale = Format(plan.layout.scale)
    if not scale.has_nan:
        raise ValueError(f"scale_overflow='nan': {scale} has no NaN")
    amax = _largest(_matrix(x, plan.layout.granularity), plan.layout.granularity)
    finite = np.isfinite(amax)
    bits = np.where(finite & (amax > 0), amax, 1.0).view(np.int64)
    exponent, fraction = (bits >> 52) - 1023, bits & ((1 << 52) - 1)
    wanted = np.where(amax > 0, exponent - plan.top[0] + (fraction >= plan.threshold), -1 << 12)
    return (wanted > int(np.floor(np.log2(scale.max)))) | ~finite
