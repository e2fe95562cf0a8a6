"""Codes and scales as they are stored, as tensors."""

from __future__ import annotations

import torch

from .._config import Layout, block_of, matrix_of, stored_columns


def unpacked(codes: torch.Tensor, shape: tuple[int, ...], layout: Layout) -> torch.Tensor:
    """Codes as a matrix of int32."""
    rows, columns = matrix_of(shape, layout.granularity)
    width = stored_columns(columns, layout.packing)
    stored = (codes.view(torch.int16) if codes.dtype == torch.uint16 else codes).reshape(rows, width)
    stored = stored.to(torch.int32)
    if layout.packing == "bytes":
        return stored if codes.dtype == torch.uint8 else stored & 0xFFFF
    if layout.packing == "six-bit":
        word = stored[:, 0::3] | stored[:, 1::3] << 8 | stored[:, 2::3] << 16
        parts = [word >> 6 * j & 63 for j in range(4)]
    else:
        parts = [stored & 15, stored >> 4]
        if layout.packing == "nibbles-high":
            parts.reverse()
    return torch.stack(parts, dim=-1).reshape(rows, width * len(parts) // (3 if len(parts) == 4 else 1))[:, :columns]


def spread(scales: torch.Tensor, shape: tuple[int, ...], granularity: str) -> torch.Tensor:
    """Numbers of groups in the shape of the matrix, or one that is broadcast to it."""
    rows, columns = matrix_of(shape, granularity)
    if granularity == "tensor":
        return scales.reshape(1, 1)
    block = block_of(granularity)
    if block is None:
        return scales.reshape(rows, 1)
    height, width = block
    across, down = -(-columns // width), -(-rows // height)
    # By indices: inductor (torch 2.15) reads the last group of a row wrongly where it is expanded
    # and cut.
    found = scales.reshape(down, across)[:, torch.arange(columns, device=scales.device) // width]
    return found if height == 1 else found[torch.arange(rows, device=scales.device) // height]


def packed(codes: torch.Tensor, packing: str, width: int) -> torch.Tensor:
    """A matrix of codes of so many bits as it is stored, in bytes or in int16."""
    if packing == "bytes":
        return codes.to(torch.uint8 if width <= 8 else torch.int16)
    rows, columns = codes.shape
    count = 4 if packing == "six-bit" else 2
    codes = torch.nn.functional.pad(codes, (0, -columns % count)).reshape(rows, -1, count).to(torch.int32)
    if count == 2:
        first, second = codes.unbind(-1)
        low, high = (first, second) if packing == "nibbles-low" else (second, first)
        return (low | high << 4).to(torch.uint8)
    word = codes[..., 0] | codes[..., 1] << 6 | codes[..., 2] << 12 | codes[..., 3] << 18
    return torch.stack([word >> 8 * i & 255 for i in range(3)], -1).reshape(rows, -1).to(torch.uint8)
