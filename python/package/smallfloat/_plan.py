"""A quantization in shards, for clusters and schedulers."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _core
from ._quantized import recipe


class Plan:
    """A quantization in shards, as JSON that any number of machines can carry out.

    `plan` makes it, `Plan.read` reads it from a file that this class or ``smallfloat shard plan``
    wrote.

    Attributes
    ----------
    json : str
    shards, tensors, bytes_in : int
        How many shards and tensors it has, and how many bytes the inputs.
    output : str
        The folder of the outputs.
    """

    def __init__(self, json: str) -> None:
        self.json = json
        self.shards, self.tensors, self.bytes_in, output = _core.plan_summary(json)
        self.output = os.fspath(output)

    @classmethod
    def read(cls, path: Any) -> Plan:
        """A plan from a file."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def write(self, path: Any) -> None:
        """Writes the JSON."""
        with open(path, "x", encoding="utf-8") as file:
            file.write(self.json)

    def apply(self, shard: int, *, verify: bool = True, threads: int | None = None) -> dict[str, Any]:
        """Quantizes one shard, 0..shards, on any machine, in any order, as often as it takes;
        returns its report.

        The shard's file appears whole or not at all; one that is complete is left as it is. Its
        bytes never depend on machine, order or threads. The report has `was_complete` beside the
        usual.
        """
        report, was_complete = _core.apply_shard(self.json, shard, verify, threads)
        return {**json.loads(report), "was_complete": was_complete}

    def finalize(self, *, digests: bool = True) -> dict[str, Any]:
        """Checks that all shards are there and writes what makes the folder a checkpoint; returns
        the whole report."""
        return json.loads(_core.finalize_plan(self.json, digests))

    @staticmethod
    def check(plan: Any) -> None:
        """Refuses what is no plan."""
        if not isinstance(plan, Plan):
            raise TypeError(f"plan must be a Plan of smallfloat.plan, not {type(plan).__name__}: Plan.read reads one from a file")

    def __repr__(self) -> str:
        return f"Plan({self.tensors} tensors in {self.shards} shards, to {self.output!r})"


def plan(
    source: Any,
    target: Any,
    fmt: Any = "cfloat8_1_4_3",
    *,
    shards: int | None = None,
    shard_bytes: int | None = None,
    **how: Any,
) -> Plan:
    """Plans what `quantize_file` does in shards; only headers are read.

    Parameters
    ----------
    source : path
        A .safetensors or .npy file, or a checkpoint folder.
    target : path
        The folder of the outputs. All machines must see both under the same names.
    fmt, **how :
        As of `quantize_file`.
    shards, shard_bytes : int, optional
        How many shards, or how many bytes of tensors one may have; by default one for each file of
        the input.
    """
    made = _core.plan_path(source, target, recipe(fmt, **how), shards, shard_bytes)
    return Plan(made)
