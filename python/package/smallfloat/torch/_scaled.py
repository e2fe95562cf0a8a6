"""Tensors with scales, biases or blocks, as tensor operations."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from typing import Any

import numpy as np
import torch

from .. import _core, _quantized, formats
from .._core import Format
from .._quantized import QuantizedTensor, recipe
from ..kernel import Kernel, kernel
from ._round import constant_kernel, decode_by, encode_by, words_of

_CAST = {torch.float16: "binary16", torch.bfloat16: "bfloat16"}
_POWER_RULES = ("floor", "ceil", "even", "rceil")


class Config:
    """How tensors are quantized: a format or a scheme, and the keyword arguments of `smallfloat.quantize`.

    Parameters
    ----------
    fmt : str, Format or Config
        'e4m3fn', 'binary8p3se', 'cfloat8_1_4_3', 'mxfp4', 'nvfp4', … as of `smallfloat.quantize`.
    **how :
        `granularity`, `bias`, `scale_format`, `scale_rule`, `rounding`, `seed`, … as of `smallfloat.quantize`.

    Examples
    --------
    >>> import smallfloat.torch as sft
    >>> sft.Config("cfloat8_1_4_3", granularity="channel")
    Config('cfloat8_1_4_3', granularity='channel')
    """

    def __init__(self, fmt: Any, **how: Any) -> None:
        if isinstance(fmt, Config):
            fmt, how = fmt.fmt, {**fmt.how, **how}
        self.fmt, self.how = str(fmt), how
        if "nonfinite" in how:
            raise ValueError("nonfinite is no part of a Config: weights are finite, and fake quantization has an argument for it")
        # Says at once what is wrong.
        self.entry((1, 1))

    def entry(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """What the native container says of a tensor of this shape."""
        return _entry(self, shape)

    def quantize(self, x: Any, name: str = "tensor") -> QuantizedTensor:
        """A tensor quantized by the core."""
        from .._quantized import quantize

        return quantize(x, self.fmt, name=name, **self.how)

    def key(self) -> str:
        """The same text for equal configurations."""
        return json.dumps([self.fmt, {name: str(value) if isinstance(value, Format) else value for name, value in sorted(self.how.items())}])

    @classmethod
    def of_key(cls, key: str) -> Config:
        """The configuration with a key."""
        fmt, how = json.loads(key)
        return cls(fmt, **how)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Config({', '.join([repr(self.fmt), *(f'{name}={value!r}' for name, value in self.how.items())])})"


@functools.lru_cache(maxsize=4096)
def _entry(config: Config, shape: tuple[int, ...]) -> dict[str, Any]:
    zeros = np.broadcast_to(np.float32(0), shape)
    how = recipe(config.fmt, native=True, **config.how)
    if math.prod(shape) > 1 << 16:
        # The entry depends on how many dimensions there are, and on no size.
        zeros = np.zeros((1,) * len(shape), np.float32)
    return json.loads(_core.quantize_array(zeros, "tensor", how, False, 1)[4])


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a tensor's codes and scales lie: the part of the native container's entry that reading needs."""

    shape: tuple[int, ...]
    format: str
    granularity: str
    packing: str
    scale: str | None

    @classmethod
    def of(cls, entry: dict[str, Any], shape: tuple[int, ...]) -> Layout:
        """The layout of a tensor of this shape."""
        packing = entry.get("packing") or "bytes"
        return cls(tuple(shape), _quantized._element_format(entry), entry["granularity"], packing, entry.get("scale"))


# Functions rather than methods, since `torch.compile` knows no methods of constants.


def block_of(granularity: str) -> tuple[int, int] | None:
    """Rows and columns that share a scale; None for tensor and channel."""
    if not granularity.startswith("block:"):
        return None
    words = granularity[6:].split("x")
    return (1 if len(words) == 1 else int(words[0])), int(words[-1])


def matrix_of(shape: tuple[int, ...], granularity: str) -> tuple[int, int]:
    """Rows and columns of a tensor."""
    if len(shape) < 2:
        return 1, math.prod(shape)
    columns = math.prod(shape[1:]) if granularity == "channel" else shape[-1]
    return (shape[0] if granularity == "channel" else math.prod(shape[:-1])), columns


def stored_columns(columns: int, packing: str) -> int:
    """Codes or bytes of a row."""
    if packing == "bytes":
        return columns
    return -(-columns // 4) * 3 if packing == "six-bit" else -(-columns // 2)


def scale_shape(shape: tuple[int, ...], granularity: str) -> tuple[int, ...]:
    """The shape of the scales."""
    rows, columns = matrix_of(shape, granularity)
    if granularity == "tensor":
        return ()
    block = block_of(granularity)
    return (rows, 1) if block is None else (-(-rows // block[0]), -(-columns // block[1]))


def rows_stand_alone(layout: Layout) -> bool:
    """Whether a row can be read without the others."""
    block = block_of(layout.granularity)
    return len(layout.shape) == 2 and (block is None or block[0] == 1)


def _unpacked(codes: torch.Tensor, shape: tuple[int, ...], layout: Layout) -> torch.Tensor:
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


def _spread(scales: torch.Tensor, shape: tuple[int, ...], granularity: str) -> torch.Tensor:
    """Numbers of groups in the shape of the matrix, or one that is broadcast to it."""
    rows, columns = matrix_of(shape, granularity)
    if granularity == "tensor":
        return scales.reshape(1, 1)
    block = block_of(granularity)
    if block is None:
        return scales.reshape(rows, 1)
    height, width = block
    across, down = -(-columns // width), -(-rows // height)
    # By indices: inductor (torch 2.15) reads the last group of a row wrongly where it is expanded and cut.
    spread = scales.reshape(down, across)[:, torch.arange(columns, device=scales.device) // width]
    return spread if height == 1 else spread[torch.arange(rows, device=scales.device) // height]


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of float64 in another dtype, rounded once; torch's own conversion to half precision rounds twice."""
    if dtype not in _CAST:
        return x.to(dtype)
    return encode_by(constant_kernel(_CAST[dtype]), x).to(torch.int32).to(torch.int16).view(dtype)


def dequantize(
    layout: Layout,
    codes: torch.Tensor,
    scales: torch.Tensor | None,
    over: torch.Tensor | None,
    dtype: torch.dtype,
    shape: tuple[int, ...] | None = None,
) -> torch.Tensor:
    """Values of a stored tensor in tensor operations, each rounded once to `dtype`.

    Parameters
    ----------
    codes : Tensor of uint8 or uint16
        Packed as the layout says; those of 16 bits also in int16.
    scales : Tensor or None
        Biases (uint8), or scales as codes or floats.
    over : Tensor or None
        The number that divides all scales.
    shape : tuple of int, optional
        Another shape than the layout's: of some of its rows.
    """
    shape = layout.shape if shape is None else shape
    is_biased = scales is not None and layout.scale is None
    k = constant_kernel(layout.format, None, None, None, 32, is_biased)
    matrix = _unpacked(codes, shape, layout)
    if scales is None:
        return decode_by(k, matrix, dtype).reshape(shape)
    if is_biased:
        return decode_by(k, matrix, dtype, _spread(-scales.to(torch.int32), shape, layout.granularity)).reshape(shape)
    if layout.scale == "e8m0fnu" and over is None:
        field = _spread(scales.to(torch.int32), shape, layout.granularity)
        values = decode_by(k, matrix, dtype, field - 127)
        return torch.where(field == 255, math.nan, values).reshape(shape)
    # Products of few bits are exact in float64, and so near to their quotients that rounding again is rounding once.
    unit = _spread(_scale_values(scales, layout.scale), shape, layout.granularity)
    values = decode_by(k, matrix, torch.float64) * unit
    if over is not None:
        values = values / over.to(torch.float64)
    return cast(values, dtype).reshape(shape)


def _scale_values(scales: torch.Tensor, fmt: str | None) -> torch.Tensor:
    if scales.is_floating_point():
        return scales.to(torch.float64)
    codes = scales.view(torch.int16) if scales.dtype == torch.uint16 else scales
    return decode_by(constant_kernel(fmt), codes.to(torch.int32) & 0xFFFF, torch.float64)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What a configuration means for tensors of so many dimensions, apart from tensors."""

    layout: Layout
    kernel: Kernel
    #: Whether `simulate` has it.
    is_expressible: bool
    is_biased: bool
    #: A bias, or None where it follows from the largest magnitude.
    bias: int | None
    margin: int
    bias_range: tuple[int, int]
    #: For tensors of zeros.
    default_bias: int
    rule: str | None
    #: The largest value of the elements, its exponent, and its fraction in 52 bits.
    largest: float
    top: tuple[int, int]
    #: The least fraction of a magnitude at which a power of two is one more than the difference of exponents.
    threshold: int
    global_rule: str | None
    largest_product: float
    top_product: tuple[int, int]
    scale_kernel: Kernel | None
    least_scale: float
    seed: int | None
    stream: Any


@functools.lru_cache(maxsize=1024)
def _plan(key: str, ndim: int) -> _Plan:
    config = Config.of_key(key)
    entry = config.entry((1,) * ndim)
    how, name, scale, rule = config.how, _quantized._element_format(entry), entry.get("scale"), entry.get("scale_rule")
    layout = Layout.of(entry, (1,) * ndim)
    is_biased = scale is None and entry["format"] in formats._FREE
    made = Format(name, bias=0) if is_biased else Format(name)
    rounding = how.get("rounding") or "nearest-even"
    policy = str(how.get("bias") or "auto")
    bias = int(policy) if policy.isdigit() else None
    if how.get("negative") is not None or made.width > 16 or rounding in ("stochastic-b", "stochastic-c"):
        is_expressible = False
    elif is_biased:
        # Choosing the best bias takes sums of all elements.
        is_expressible = bias is not None or policy == "amax" or policy.startswith("amax:margin=")
    elif scale is None:
        is_expressible = True
    else:
        powers = scale == "e8m0fnu" and rule in _POWER_RULES and not entry.get("global_scale")
        is_expressible = powers or (rule == "amax" and scale != "e8m0fnu" and not rounding.startswith("stochastic"))
    largest = made.max
    scale_max = 1.0 if scale is None else float(np.finfo(np.float32).max) if scale == "binary32" else Format(scale).max
    is_small = scale is not None and scale != "binary32"
    thresholds = {"ceil": 1, "even": (1 << 52) - (1 << (51 - made.trailing_bits)), "rceil": _split(largest)[1] + 1}
    return _Plan(
        layout=layout,
        kernel=kernel(
            made,
            preset=how.get("preset"),
            rounding=None if not is_expressible else how.get("rounding"),
            saturation=how.get("saturation") or "satfinite",
            random_bits=how.get("random_bits") or 32,
        ),
        is_expressible=is_expressible,
        is_biased=is_biased,
        bias=bias,
        margin=int(policy.partition("margin=")[2] or 0),
        bias_range=made.bias_range if is_biased and made.bias_range else (0, 0),
        default_bias=(1 << (made.exponent_bits - 1)) - 1,
        rule=rule,
        largest=largest,
        top=_split(largest),
        threshold=thresholds.get(rule or "", 1 << 52),
        global_rule=entry.get("global_scale") or None,
        largest_product=largest * scale_max,
        top_product=_split(min(largest * scale_max, float(np.finfo(np.float64).max))),
        scale_kernel=kernel(Format(scale), rounding="nearest-even", saturation="satfinite") if is_small else None,
        least_scale=Format(scale).smallest_positive if is_small else float(np.finfo(np.float32).tiny),
        seed=how.get("seed"),
        stream=how.get("stream"),
    )


@torch.compiler.assume_constant_result
def plan_of(key: str, ndim: int) -> _Plan:
    """The plan of a configuration."""
    return _plan(key, ndim)


@torch.compiler.assume_constant_result
def key_of(fmt: Any, how: tuple[tuple[str, Any], ...]) -> str:
    """The key of a configuration from its parts."""
    return Config(fmt, **dict(how)).key()


def _exponent(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of positive normal numbers of float64: the exponent, and the fraction in 52 bits."""
    bits = x.view(torch.int64)
    return (bits >> 52) - 1023, bits & ((1 << 52) - 1)


def _split(x: float) -> tuple[int, int]:
    bits = int(np.float64(x).view(np.int64))
    return (bits >> 52) - 1023, bits & ((1 << 52) - 1)


def _largest(x: torch.Tensor, shape: tuple[int, ...], granularity: str) -> torch.Tensor:
    """The largest magnitudes of groups, in float64, in the shape of the matrix or one that is broadcast to it."""
    rows, columns = matrix_of(shape, granularity)
    x = x.abs()
    if granularity == "tensor":
        return x.amax().reshape(1, 1).to(torch.float64)
    block = block_of(granularity)
    if block is None:
        return x.amax(dim=1, keepdim=True).to(torch.float64)
    height, width = block
    down, across = -(-rows // height), -(-columns // width)
    padded = torch.nn.functional.pad(x, (0, across * width - columns, 0, down * height - rows))
    groups = padded.reshape(down, height, across, width).amax(dim=(1, 3))
    return _spread(groups, shape, granularity).to(torch.float64)


def simulate(plan: _Plan, x: torch.Tensor, seed: int | None = None, stream: Any = None) -> torch.Tensor:
    """What quantizing and dequantizing makes of a finite tensor, in tensor operations."""
    if x.numel() == 0:
        return x
    k, shape, granularity = plan.kernel, tuple(x.shape), plan.layout.granularity
    seed = plan.seed if seed is None else seed
    word = words_of(k, x, seed, stream, 0)
    matrix = x.reshape(matrix_of(shape, granularity))
    word = None if word is None else word.reshape(matrix.shape)
    if not plan.is_biased and plan.layout.scale is None:
        return _through(k, matrix, 0, word).reshape(x.shape)
    if plan.bias is not None:
        return _through(k, matrix, plan.bias, word).reshape(x.shape)
    amax = _largest(matrix, shape, granularity)
    known = torch.where(amax > 0, amax, 1.0)
    exponent, fraction = _exponent(known)
    top, top_fraction = plan.top
    if plan.is_biased:
        # The largest bias at which 2**margin times the largest magnitude is in the range.
        bias = top - exponent - (fraction > top_fraction).to(torch.int64)
        bias = torch.clamp(torch.clamp(bias, *plan.bias_range) - plan.margin, *plan.bias_range)
        bias = torch.where(amax > 0, bias, plan.default_bias).to(torch.int32)
        return _through(k, matrix, bias, word).reshape(x.shape)
    if plan.rule in _POWER_RULES:
        scale = torch.clamp(exponent - top + (fraction >= plan.threshold).to(torch.int64), -127, 127)
        scale = torch.where(amax > 0, scale, -127).to(torch.int32)
        return _through(k, matrix, -scale, word).reshape(x.shape)
    # amax / max, rounded once to the format of the scales; float64 holds enough of these quotients.
    wide, over = matrix.to(torch.float64), None
    if plan.global_rule is not None:
        over = _global_scale(plan, wide.abs().amax())
        amax, wide = amax * over, wide * over
    unit = _nearest_scale(plan, torch.where(amax > 0, amax / plan.largest, 1.0))
    values = decode_by(k, encode_by(k, wide / unit), torch.float64) * unit
    return cast(values if over is None else values / over, x.dtype).reshape(x.shape)


def _through(k: Kernel, x: torch.Tensor, shift: Any, word: torch.Tensor | None) -> torch.Tensor:
    return decode_by(k, encode_by(k, x, shift, word), x.dtype, -shift)


def _global_scale(plan: _Plan, amax: torch.Tensor) -> torch.Tensor:
    """The number of float32 that divides all scales."""
    known = torch.where(amax > 0, amax, 1.0)
    if plan.global_rule == "amax":
        tiny, huge = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
        over = torch.clamp((plan.largest_product / known).to(torch.float32), tiny, huge).to(torch.float64)
    else:
        (exponent, fraction), (top, top_fraction) = _exponent(known), plan.top_product
        exponent = torch.clamp(top - exponent - (fraction > top_fraction).to(torch.int64), -126, 127)
        over = ((exponent + 1023) << 52).view(torch.float64)
    return torch.where(amax > 0, over, 1.0)


def _nearest_scale(plan: _Plan, wanted: torch.Tensor) -> torch.Tensor:
    """The scale of a format that is nearest to a positive one, at least its smallest."""
    k = plan.scale_kernel
    if k is None:
        return torch.clamp(wanted.to(torch.float32), plan.least_scale, torch.finfo(torch.float32).max).to(torch.float64)
    return torch.clamp(decode_by(k, encode_by(k, wanted), torch.float64), min=plan.least_scale)
