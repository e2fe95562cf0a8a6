"""Ray: checkpoints over a cluster, as `smallfloat.dask` does it."""

from __future__ import annotations

from typing import Any

import ray

from ._plan import Plan

__all__ = ["quantize_checkpoint"]


def quantize_checkpoint(
    plan: Plan, *, retries: int = 5, verify: bool = True, threads: int = 1, **options: Any
) -> dict[str, Any]:
    """Carries out a plan on the cluster that `ray.init` has joined and returns the report of the
    whole.

    Parameters
    ----------
    plan : Plan
        Of `smallfloat.plan`; all machines must see its folders under the same names.
    retries : int
        How often a shard is tried again, after errors too.
    verify : bool
        Read each shard back before it appears.
    threads : int
        Threads, and so CPUs, of a task.
    **options :
        More options of ``ray.remote``.
    """

    Plan.check(plan)

    def apply(shard: int, plan: str) -> int:
        Plan(plan).apply(shard, verify=verify, threads=threads)
        return shard

    options = {"num_cpus": threads, "max_retries": retries, "retry_exceptions": True, **options}
    task = ray.remote(**options)(apply)
    ray.get([task.remote(shard, plan.json) for shard in range(plan.shards)])
    return plan.finalize()
