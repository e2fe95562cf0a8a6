"""Dask: checkpoints over a cluster, and arrays block by block.

>>> import dask.array as da, numpy as np, smallfloat.dask as sfd
>>> x = da.ones((4, 6), chunks=(2, 6), dtype=np.float32)
>>> sfd.encode(x, "e4m3fn").compute()[0]
array([56, 56, 56, 56, 56, 56], dtype=uint8)
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

import numpy as np

from . import _core, _quantized
from ._config import Config, block_of
from ._core import Format
from ._interop import number_dtype
from ._plan import Plan
from ._quantized import QuantizedTensor

__all__ = ["choose_bias", "decode", "encode", "quantize", "quantize_checkpoint", "round"]


def _apply(shard: int, plan: str, verify: bool, threads: int | None) -> int:
    Plan(plan).apply(shard, verify=verify, threads=threads)
    return shard


def quantize_checkpoint(
    plan: Plan, client: Any, *, retries: int = 5, verify: bool = True, threads: int | None = 1
) -> dict[str, Any]:
    """Carries out a plan on a cluster and returns the report of the whole.

    Every shard is a task. A worker that dies costs a retry and not a byte: a shard appears whole or
    not at all, one that is complete is left as it is, and bytes never depend on who wrote them.

    Parameters
    ----------
    plan : Plan
        Of `smallfloat.plan`; workers must see its folders under the same names.
    client : distributed.Client
    retries : int
        How often the failure of a shard is forgiven. (Deaths of workers have a limit of their own,
        Dask's ``distributed.scheduler.allowed-failures``.)
    verify : bool
        Read each shard back before it appears.
    threads : int, optional
        Threads of a task; one, since Dask runs as many tasks as there are threads.
    """
    Plan.check(plan)
    if not hasattr(client, "gather"):
        raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}")
    if client.asynchronous:
        raise TypeError("client is asynchronous, and this function waits for the shards: give Client(address)")
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
    """The row-major index of a block's first element; blocks are whole along all axes but the
    first."""
    rows = block_info[0]["array-location"][0][0] if shape else 0
    return rows * math.prod(shape[1:])


def _check(x: Any, how: dict[str, Any]) -> None:
    """Refuses what is no Dask array, and what is chosen here."""
    import dask.array

    if not isinstance(x, dask.array.Array):
        raise TypeError(f"x must be a Dask array, not {type(x).__name__}: the function of this name in smallfloat takes others")
    if "threads" in how:
        raise TypeError("threads is not for Dask arrays: each block takes one thread, and Dask as many blocks as it has")


def _by_blocks(function: Callable[..., Any], x: Any, fmt: Any, how: dict[str, Any]) -> Any:
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    _check(x, how)
    if "return_flags" in how or "out" in how:
        raise TypeError("return_flags and out are not for Dask arrays, whose blocks come one by one")
    if how.get("words") is not None:
        raise TypeError("words are not for Dask arrays: give a seed, of which every element has its own word")
    stochastic = how.get("seed") is not None
    if stochastic and any(len(chunks) > 1 for chunks in x.chunks[1:]):
        raise ValueError(
            "stochastic rounding of a Dask array needs chunks that are whole along all axes but the first: "
            "rechunk it with x.rechunk({0: 'auto', **{axis: -1 for axis in range(1, x.ndim)}})"
        )
    if stochastic and any(math.isnan(rows) for rows in x.shape):
        raise ValueError("stochastic rounding of a Dask array needs to know how large its chunks are: x.compute_chunk_sizes() finds out")
    # Says at once what is wrong, and what becomes of the dtype; masked arrays stay masked.
    made = np.asanyarray(function(np.zeros_like(x._meta), fmt, threads=1, **how))
    start, shape = how.pop("first_element", 0), x.shape

    def block(values: Any, block_info: Any = None) -> Any:
        place = {"first_element": start + _first_element(block_info, shape)} if stochastic else {}
        return np.asanyarray(function(values, fmt, threads=1, **how, **place))

    return x.map_blocks(block, dtype=made.dtype, meta=made)


def encode(x: Any, fmt: Any, **how: Any) -> Any:
    """`smallfloat.encode` of a Dask array, block by block: the codes of the whole, whatever the
    blocks."""
    return _by_blocks(_core.encode, x, fmt, how)


def round(x: Any, fmt: Any, **how: Any) -> Any:
    """`smallfloat.round` of a Dask array, block by block."""
    return _by_blocks(_core.round, x, fmt, how)


def decode(codes: Any, fmt: Any, *, dtype: Any = np.float32, **how: Any) -> Any:
    """`smallfloat.decode` of a Dask array, block by block."""
    return _by_blocks(_core.decode, codes, fmt, {**how, "dtype": number_dtype(dtype)})


def choose_bias(x: Any, fmt: Any, policy: str | int = "amax") -> Any:
    """`smallfloat.choose_bias` of a Dask array: a Dask scalar that computes to a `Format`.

    Only the largest magnitude is kept of each block, so the policy is 'amax' or a number; others
    need all elements at once, as ``smallfloat.choose_bias(x.compute(), fmt, policy)`` has them.

    Examples
    --------
    >>> import dask.array as da, numpy as np, smallfloat.dask as sfd
    >>> x = da.from_array(np.linspace(-1, 1, 1001), chunks=100)
    >>> sfd.choose_bias(x, "cfloat8_1_4_3").compute()
    Format('cfloat8_1_4_3:bias=15')
    """
    import dask

    _check(x, {})
    if isinstance(policy, str) and policy.partition(":")[0] != "amax":
        raise ValueError(
            f"policy={policy!r} needs all elements at once: take 'amax' or a number, or smallfloat.choose_bias(x.compute(), ...)"
        )

    # Says at once what is wrong.
    _core.choose_bias(np.zeros(1), fmt, policy)

    @dask.delayed(pure=True)  # type: ignore[untyped-decorator]
    def largest(block: Any) -> float:
        return float(_core.amax(block))

    @dask.delayed(pure=True)  # type: ignore[untyped-decorator]
    def chosen(magnitudes: list[float]) -> Format:
        return _core.choose_bias(np.array([max(magnitudes, default=0.0)]), fmt, policy)

    return chosen([largest(block) for block in x.to_delayed().reshape(-1).tolist()])


def quantize(x: Any, fmt: Any = "cfloat8_1_4_3", *, rows: int | None = None, **how: Any) -> list[Any]:
    """`smallfloat.quantize` of a Dask array in parts of whole rows, lazily.

    Each part is what `smallfloat.quantize` makes of these rows: scales and biases never reach over
    the border of a part. For schemes with blocks along rows or a scale per channel the parts
    together are therefore the quantized whole; a bias or a scale of a whole tensor is that of the
    part, so it is refused unless there is one part; so are parts that divide blocks.

    Parameters
    ----------
    x : dask.array of floats
        Chunks must be whole along all axes but the first; ``rows`` rechunks.
    fmt, **how :
        As of `smallfloat.quantize`; not stochastic.
    rows : int, optional
        Rows of a part.

    Returns
    -------
    list of dask.delayed.Delayed
        Each computes to a `QuantizedTensor`.

    Examples
    --------
    >>> import dask, dask.array as da, numpy as np, smallfloat.dask as sfd
    >>> x = da.ones((4, 64), chunks=(2, 64), dtype=np.float32)
    >>> [part.shape for part in dask.compute(*sfd.quantize(x, "mxfp8-e4m3"))]
    [(2, 64), (2, 64)]
    """
    import dask

    _check(x, how)
    if isinstance(fmt, Config):
        fmt, how = fmt.fmt, {**fmt.how, **how}
    if how.get("seed") is not None:
        raise TypeError("parts of a tensor would share random words: seed is not for dask.quantize")
    if rows is not None and operator.index(rows) < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    if rows is not None:
        x = x.rechunk((rows, *x.shape[1:]))
    if any(len(chunks) > 1 for chunks in x.chunks[1:]):
        raise ValueError("quantize needs chunks that are whole along all axes but the first: give rows, how many a part has")
    parts = x.to_delayed().reshape(-1).tolist()
    # What shares a scale is decided by the recipe: asked of a part of the same width.
    probe = _quantized.quantize(np.ones((1, *x.shape[1:])[: x.ndim], x.dtype), fmt, **how)
    if len(parts) > 1 and (probe.granularity == "tensor" and (probe.scales is not None or probe.biases is not None)):
        raise ValueError(
            f"{fmt} with granularity 'tensor' has one scale or bias for all rows: take one with 'channel' or blocks, "
            "or one chunk"
        )
    if len(parts) > 1 and probe.has_global_scale:
        raise ValueError(f"{fmt} has a scale that all rows share: take one chunk")
    if len(parts) > 1 and x.ndim == 1 and probe.granularity == "channel":
        raise ValueError("an array with one dimension is one row, which has one scale or bias: take blocks, or one chunk")
    # An array with one dimension is divided along its row.
    height, width = block_of(probe.granularity) or (1, 1)
    unit, inner = (width, 1) if x.ndim == 1 else (height, math.prod(x.shape[1:-1]))
    if unit > 1 and any(chunk * inner % unit for chunk in x.chunks[0][:-1]):
        raise ValueError(
            f"parts would divide the blocks of {probe.granularity}: chunks along the first axis need a multiple of {unit // math.gcd(unit, inner)}"
        )

    @dask.delayed(pure=True)  # type: ignore[untyped-decorator]
    def part(block: Any) -> QuantizedTensor:
        return _quantized.quantize(block, fmt, threads=1, **how)

    return [part(block) for block in parts]
