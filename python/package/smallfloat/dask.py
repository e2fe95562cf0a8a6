"""Dask: checkpoints over a cluster, and arrays block by block.

>>> import dask.array as da, numpy as np, smallfloat.dask as sfd
>>> x = da.ones((4, 6), chunks=(2, 6), dtype=np.float32)
>>> sfd.encode(x, "e4m3fn").compute()[0]
array([56, 56, 56, 56, 56, 56], dtype=uint8)
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from . import _core
from ._core import Format
from ._interop import number_dtype
from ._plan import Plan

__all__ = ["decode", "encode", "quantize_checkpoint", "round"]


def _apply(shard: int, plan: str, verify: bool, threads: int | None) -> int:
    Plan(plan).apply(shard, verify=verify, threads=threads)
    return shard


def quantize_checkpoint(
    plan: Plan, client: Any, *, retries: int = 5, verify: bool = True, threads: int | None = 1
) -> dict[str, Any]:
    """Carries out a plan on a cluster and returns the report of the whole.

    Every shard is a task. A worker that dies costs a retry and not a byte: a shard appears whole or not at all, one that is
    complete is left as it is, and bytes never depend on who wrote them.

    Parameters
    ----------
    plan : Plan
        Of `smallfloat.plan`; workers must see its folders under the same names.
    client : distributed.Client
    retries : int
        How often the failure of a shard is forgiven. (Deaths of workers have a limit of their own, Dask's
        ``distributed.scheduler.allowed-failures``.)
    verify : bool
        Read each shard back before it appears.
    threads : int, optional
        Threads of a task; one, since Dask runs as many tasks as there are threads.
    """
    futures = client.map(
        _apply,
        range(plan.shards),
        plan=plan.json,
        verify=verify,
        threads=threads,
        retries=retries,
        # Outputs are files, so results may not be taken from an earlier run.
        pure=False,
    )
    client.gather(futures)
    return plan.finalize()


def _first_element(block_info: Any, shape: tuple[int, ...]) -> int:
    """The row-major index of a block's first element; blocks are whole along all axes but the first."""
    rows = block_info[0]["array-location"][0][0] if shape else 0
    return rows * math.prod(shape[1:])


def _by_blocks(function: Callable[..., Any], x: Any, fmt: Any, dtype: Any, how: dict[str, Any]) -> Any:
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    if "return_flags" in how or "out" in how:
        raise TypeError("return_flags and out are not for Dask arrays, whose blocks come one by one")
    stochastic = how.get("seed") is not None
    if stochastic and any(len(chunks) > 1 for chunks in x.chunks[1:]):
        raise ValueError(
            "stochastic rounding of a Dask array needs chunks that are whole along all axes but the first: "
            "rechunk it with x.rechunk({0: 'auto', **{axis: -1 for axis in range(1, x.ndim)}})"
        )
    start, shape = how.pop("first_element", 0), x.shape

    def block(values: Any, block_info: Any = None) -> Any:
        place = {"first_element": start + _first_element(block_info, shape)} if stochastic else {}
        return np.asarray(function(values, fmt, threads=1, **how, **place))

    return x.map_blocks(block, dtype=dtype, meta=np.empty((0,) * x.ndim, dtype))


def encode(x: Any, fmt: Any, **how: Any) -> Any:
    """`smallfloat.encode` of a Dask array, block by block: the codes of the whole, whatever the blocks."""
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    return _by_blocks(_core.encode, x, fmt, fmt.dtype, how)


def round(x: Any, fmt: Any, **how: Any) -> Any:
    """`smallfloat.round` of a Dask array, block by block."""
    return _by_blocks(_core.round, x, fmt, x.dtype, how)


def decode(codes: Any, fmt: Any, *, dtype: Any = np.float32, **how: Any) -> Any:
    """`smallfloat.decode` of a Dask array, block by block."""
    dtype = number_dtype(dtype)
    return _by_blocks(_core.decode, codes, fmt, dtype, {**how, "dtype": dtype})
