"""Fake quantization: values of small formats, with the gradient of the identity."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .._config import Config
from .._core import Format
from ._device import is_plain
from ._memory import array_of, tensor_of
from ._round import by_kernels, check_exact, check_float, constant_kernel, round_by
from ._scaled import is_list, is_served, key_of, plan_of, simulate

_NONFINITE = ("keep", "refuse", "preset")


def check_nonfinite(nonfinite: str) -> str:
    """Refuses words that mean nothing."""
    if nonfinite not in _NONFINITE:
        raise ValueError(f"nonfinite={nonfinite!r} is not known: write 'keep' (the default), 'refuse' or 'preset'")
    return nonfinite


class _StraightThrough(torch.autograd.Function):
    """The second tensor, with the gradient of the first."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y.view_as(y)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return grad, None


class _WithTangents(_StraightThrough):
    """The same with forward-mode gradients, which `torch.compile` refuses."""

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _: Any) -> torch.Tensor:
        return tangent


def straight_through(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`y`, with `x`'s gradient."""
    return (_StraightThrough if torch.compiler.is_compiling() else _WithTangents).apply(x, y)


@torch.library.custom_op("smallfloat::refuse_nonfinite", mutates_args=())
def refuse_nonfinite(x: torch.Tensor) -> torch.Tensor:
    nans, infinite = int(x.isnan().sum()), int(x.isinf().sum())
    if nans or infinite:
        raise ValueError(f"x has {nans} NaN and {infinite} infinite elements, which nonfinite='refuse' refuses")
    return x.clone(memory_format=torch.contiguous_format)


@refuse_nonfinite.register_fake
def _(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("smallfloat::simulate", mutates_args=())
def _simulate_by_core(x: torch.Tensor, config: str, stream: str) -> torch.Tensor:
    """What only the core does: biases of least error, roundings of quotients."""
    return by_core(Config.of_key(config), x, stream)


@_simulate_by_core.register_fake
def _(x, config, stream):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def by_core(config: Config, x: torch.Tensor, stream: str) -> torch.Tensor:
    """Quantized and dequantized by the compiled part."""
    found = config.quantize(array_of(x), stream).dequantize(x.dtype)
    return tensor_of(found).reshape(x.shape).to(x.device)


def scaled(key: str, x: torch.Tensor, nonfinite: str, stream: str = "tensor") -> torch.Tensor:
    """The values of a tensor quantized by the configuration with a key; elements that are not
    finite do not count for scales."""
    check_float(x)
    if nonfinite == "refuse":
        x = refuse_nonfinite(x)
    finite = torch.isfinite(x)
    clean = torch.where(finite, x, torch.zeros_like(x))
    if is_plain(x):
        y = by_core(Config.of_key(key), clean, stream)
    else:
        plan = None if is_list(key) else plan_of(key, x.ndim)
        if plan is not None and is_served(plan, x):
            y = simulate(plan, clean, stream=stream)
        else:
            y = _simulate_by_core(clean, key, stream)
    return torch.where(finite, y, x)


def rounded(
    x: torch.Tensor, fmt: Any, nonfinite: str, preset: Any = None, rounding: Any = None, saturation: Any = None, **words: Any
) -> torch.Tensor:
    """`smallfloat.round`, with what becomes of NaN and infinities."""
    if is_plain(x):
        nonfinite_there = "refuse" if nonfinite == "refuse" else "preset"
        how = {"preset": preset, "rounding": rounding, "saturation": saturation, "nonfinite": nonfinite_there, **words}
        y = by_kernels(_core.round, x, fmt, **how)
    else:
        check_float(x)
        k = constant_kernel(fmt, preset, rounding, saturation, words.get("random_bits", 32))
        check_exact(k, x.dtype)
        x = refuse_nonfinite(x) if nonfinite == "refuse" else x
        return round_by(k, x, seed=words.get("seed"), stream=words.get("stream"), keep=nonfinite == "keep")
    return torch.where(torch.isfinite(x), y, x) if nonfinite == "keep" else y


def rounded_at(x: torch.Tensor, fmt: str, bias: torch.Tensor, nonfinite: str) -> torch.Tensor:
    """The same at a bias that a tensor holds."""
    if is_plain(x):
        return rounded(x, Format(fmt, bias=int(bias)), nonfinite)
    x = refuse_nonfinite(x) if nonfinite == "refuse" else x
    return round_by(constant_kernel(fmt, is_biased=True), x, bias.to(torch.int32), keep=nonfinite == "keep")


def fake_quantize(
    x: torch.Tensor,
    fmt: Any,
    *,
    preset: str | None = None,
    rounding: str | None = None,
    saturation: str | None = None,
    seed: int | None = None,
    stream: str | None = None,
    random_bits: int = 32,
    nonfinite: str = "keep",
    **scales: Any,
) -> torch.Tensor:
    """A tensor on the grid of a format or scheme, with the gradient of the identity ("straight
    through").

    Parameters
    ----------
    x : Tensor of float16, bfloat16, float32 or float64
    fmt : str, Format or Config
        A format, which is rounded to as it is (`smallfloat.round`); or a scheme ('mxfp4', 'nvfp4',
        …), a `Config`, a format with `granularity`, `bias`, `scale_format` or `scale_rule`, or a
        format whose bias is open, where biases or scales are chosen for the tensor at hand
        (`smallfloat.quantize`).
    preset, rounding, saturation, seed, random_bits :
        As of `smallfloat.encode`; with scales as of `smallfloat.quantize`, where finite overflow
        saturates.
    stream : str, optional
        The name of a stream of random words.
    nonfinite : str
        'keep' (default): NaN and infinities stay what they are, also where the format has none, so
        that a run that diverges is seen to. 'refuse': a ValueError. 'preset': what the format's
        preset makes of them, the largest value perhaps; for formats without scales.

    Returns
    -------
    Tensor of ``x``'s shape and dtype

    Notes
    -----
    On the CPU the compiled part does it. On other devices, and within `torch.compile`,
    `torch.export` and `torch.func`, it is tensor operations or kernels with the same bits. What
    only the compiled part has (biases of least error for channels and blocks, stochastic-b and -c,
    quotients rounded stochastically, scales of float64) is an opaque operator there, which copies
    to the CPU. Under `vmap` a random word belongs to an element's index in its own example.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> sft.fake_quantize(torch.tensor([[1.0, 1.1, 300.0, 0.01]]), "mxfp4", granularity="block:2")
    tensor([[  1.,   1., 256.,   0.]])
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x must be a tensor, not {type(x).__name__}")
    check_nonfinite(nonfinite)
    how: dict[str, Any] = {"preset": preset, "rounding": rounding, "saturation": saturation}
    if not scales and _is_format(fmt):
        if seed is not None:
            how |= {"seed": seed, "stream": stream, "random_bits": random_bits}
        if rounding in ("stochastic-b", "stochastic-c") and not is_plain(x):
            raise ValueError(f"rounding={rounding!r} is done by the compiled part alone, on the CPU and outside of torch.compile")
        return straight_through(x, rounded(x.detach(), fmt, nonfinite, **how))
    if nonfinite == "preset":
        raise ValueError("nonfinite='preset' is for formats without scales: write 'keep' or 'refuse'")
    given = {name: value for name, value in how.items() if value is not None}
    if seed is not None:
        given |= {"seed": seed, "random_bits": random_bits}
    key = key_of(fmt, tuple({**given, **scales}.items()))
    return straight_through(x, scaled(key, x.detach(), nonfinite, stream or "tensor"))


@torch.compiler.assume_constant_result
def _is_format(name: Any) -> bool:
    """Whether it is a format whose bias is known, and no scheme."""
    if isinstance(name, Format):
        return True
    if isinstance(name, Config):
        return False
    name = str(name)
    try:
        Format(name)
    except ValueError:
        return False
    return True
