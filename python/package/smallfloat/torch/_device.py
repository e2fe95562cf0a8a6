"""Where tensors are worked on: the compiled part, tensor operations, or kernels in Triton.

A tensor that is not on the CPU stays where it is. Where Triton compiles for its device (CUDA and
ROCm), its kernels do what tensor operations would: `convert`, `amax`, blocks and errors below are
operators (`torch.library.triton_op`) that `torch.compile` sees through, and that CUDA graphs hold,
since nothing waits for the host. With TRITON_INTERPRET=1 the same kernels run on the CPU, in NumPy.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

import torch
from torch.utils import _python_dispatch

from ..kernel import Kernel

_KERNEL_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
#: For tests: whether tensors on the CPU are treated as those of other devices are.
FORCED = False


def interprets() -> bool:
    """Whether Triton's interpreter was asked for."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None and hasattr(torch.library, "triton_op")


def stays(x: torch.Tensor) -> bool:
    """Whether a tensor is on a device that it must not leave."""
    return x.device.type != "cpu" or FORCED or interprets()


def is_plain(x: torch.Tensor) -> bool:
    """Whether the compiled part may look at a tensor's memory: nothing traces or transforms it, and
    it is on the CPU."""
    if torch.compiler.is_compiling() or type(x) not in (torch.Tensor, torch.nn.Parameter) or stays(x):
        return False
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(x)
    return not wrapped and _python_dispatch._get_current_dispatch_mode() is None


def has_kernels(x: torch.Tensor) -> bool:
    """Whether kernels in Triton serve a tensor's device."""
    if not (x.device.type == "cuda" or (x.device.type == "cpu" and interprets())) or not _has_triton():
        return False
    # An exported program runs without this package.
    return not torch.compiler.is_exporting()


def has_float_kernels(x: torch.Tensor) -> bool:
    """The same for floats: those of 64 bits are left to tensor operations."""
    return x.dtype in _KERNEL_FLOATS and has_kernels(x)


@torch.compiler.assume_constant_result
def key_of(k: Kernel) -> str:
    """A kernel as an argument of operators, which are registered when there is one."""
    from . import _operators

    return _operators.key_of(k)


@torch.compiler.assume_constant_result
def register() -> bool:
    """Registers the operators."""
    from . import _operators

    return _operators is not None


def convert(
    operation: str,
    k: Kernel,
    x: torch.Tensor,
    dtype: torch.dtype,
    *,
    shift: Any = None,
    words: Any = None,
    keep: bool = False,
) -> torch.Tensor:
    """`_triton.launch.convert` as an operator."""
    held = words if isinstance(words, torch.Tensor) else None
    numbers = [] if words is None or held is not None else [*words[0], *words[1], words[2]]
    if isinstance(shift, int):
        shift = None if shift == 0 else torch.full((1,), shift, dtype=torch.int32, device=x.device)
    elif shift is not None:
        shift = shift.to(torch.int32).reshape(1)
    key = key_of(k)
    return torch.ops.smallfloat.device_convert(operation, key, x, dtype, shift, numbers, held, keep)


def count_events(k: Kernel, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Counts of `_operators.EVENTS` and of flags, of encoding a tensor times 2**shift."""
    key = key_of(k)
    return torch.ops.smallfloat.device_counts(key, x, shift.to(torch.int32).reshape(1), [], None)[1]


def finite_amax(x: torch.Tensor) -> torch.Tensor:
    """The largest finite magnitude of a tensor, in float64; zero if there is none."""
    if x.numel() == 0:
        return x.new_zeros((), dtype=torch.float64)
    if has_float_kernels(x):
        register()
        return torch.ops.smallfloat.device_amax(x).to(torch.float64)
    magnitude = x.abs()
    return torch.where(torch.isfinite(magnitude), magnitude, 0).amax().to(torch.float64)
