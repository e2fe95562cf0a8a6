"""Tensors and arrays that share memory."""

from __future__ import annotations

import numpy as np
import torch

from .._interop import number_dtype


def array_of(x: torch.Tensor) -> np.ndarray:
    """A tensor's elements as an array that is to be read.

    By DLPack, since `Tensor.numpy` would make the memory fixed for good, and FSDP frees that of
    parameters by resizing it.
    """
    x = x.detach().cpu().resolve_neg()
    if x.dtype == torch.bfloat16:
        return np.from_dlpack(x.view(torch.int16)).view(number_dtype("bfloat16"))
    return np.from_dlpack(x)


def bytes_of(x: torch.Tensor) -> np.ndarray:
    """A tensor's bytes, in order."""
    return array_of(x.detach().contiguous().reshape(-1).view(torch.uint8))


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """A tensor of an array's memory; codes of 16 bits in int16, which torch has more operations
    for."""
    array = np.require(array, requirements=["C", "W"])
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array.view(np.int16) if array.dtype == np.uint16 else array)
