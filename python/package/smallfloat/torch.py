"""PyTorch: simulated quantization with a straight-through gradient, a linear layer and an optimizer in small formats.

Thin Python over the kernels, registered as custom operators, so that ``torch.compile`` takes them as they are. Under
``torch.distributed`` all ranks agree on every bias: the smallest that one of them needs.

>>> import torch, smallfloat.torch as sft
>>> x = torch.tensor([1.0, 1.1, 500.0], requires_grad=True)
>>> y = sft.fake_quantize(x, "e4m3fn", saturation="satfinite")
>>> y.detach()
tensor([  1.0000,   1.1250, 448.0000])
>>> y.sum().backward(); x.grad
tensor([1., 1., 1.])
"""

from __future__ import annotations

from typing import Any, Iterable

import torch
import torch.distributed as dist
import torch.nn.functional as F

from . import _core
from ._core import Format

__all__ = ["Linear", "SmallOptimizer", "convert", "fake_quantize", "quantize", "quantize_gradient"]


@torch.library.custom_op("smallfloat::round", mutates_args=())
def _round(
    x: torch.Tensor,
    fmt: str,
    preset: str | None,
    rounding: str | None,
    saturation: str | None,
    seed: int | None,
    stream: str | None,
    random_bits: int,
) -> torch.Tensor:
    how: dict[str, Any] = {"preset": preset, "rounding": rounding, "saturation": saturation}
    if seed is not None:
        # The operator's integers have a sign.
        how |= {"seed": seed % 2**64, "stream": stream, "random_bits": random_bits}
    return _core.round(x, fmt, **how).reshape(x.shape)


@_round.register_fake
def _(x, fmt, preset, rounding, saturation, seed, stream, random_bits):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


_round.register_autograd(lambda ctx, grad: (grad, *[None] * 7))


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
) -> torch.Tensor:
    """`smallfloat.round` of a tensor, with the gradient of the identity ("straight through").

    Parameters
    ----------
    x : Tensor of float16, bfloat16, float32 or float64
    fmt, preset, rounding, saturation, seed, random_bits :
        As of `smallfloat.encode`.
    stream : str, optional
        The name of a stream of random words.

    Returns
    -------
    Tensor of ``x``'s shape and dtype
    """
    if seed is not None and seed >= 2**63:
        seed -= 2**64
    return _round(x, str(fmt), preset, rounding, saturation, seed, stream, random_bits)


_groups: dict[Any, Any] = {}


def _agreed(bias: int, fmt: str) -> int:
    """The bias for which nobody saturates: the smallest of all ranks'."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return bias
    # A group of its own: these small reductions must not mix with those of the gradients.
    world = dist.group.WORLD
    if world not in _groups:
        _groups.clear()
        _groups[world] = dist.new_group(backend="gloo")
    found = torch.tensor(bias, dtype=torch.int64)
    dist.all_reduce(found, op=dist.ReduceOp.MIN, group=_groups[world])
    return int(found)


@torch.library.custom_op("smallfloat::quantize", mutates_args=())
def _quantize(x: torch.Tensor, fmt: str, policy: str) -> tuple[torch.Tensor, torch.Tensor]:
    bias = _agreed(_core.choose_bias(x, fmt, policy).bias, fmt)
    rounded = _core.round(x, Format(fmt, bias=bias)).reshape(x.shape)
    return rounded, torch.tensor(bias, dtype=torch.int64, device=x.device)


@_quantize.register_fake
def _(x, fmt, policy):
    rounded = torch.empty_like(x, memory_format=torch.contiguous_format)
    return rounded, x.new_empty((), dtype=torch.int64)


_quantize.register_autograd(lambda ctx, grad, _: (grad, None, None))


def quantize(x: torch.Tensor, fmt: str = "cfloat8_1_4_3", policy: str = "amax") -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor on the grid of a format whose bias is chosen for it, and the bias; the gradient goes straight through.

    Under ``torch.distributed`` the bias is the smallest of those that all ranks choose for their tensors.

    Parameters
    ----------
    x : Tensor
    fmt : str
        'cfloat8_1_4_3', 'cfloat8_1_5_2' or 'shp'.
    policy : str
        As of `smallfloat.choose_bias`.

    Returns
    -------
    rounded : Tensor of ``x``'s shape and dtype
    bias : Tensor of int64, without dimensions
    """
    return _quantize(x, fmt, str(policy))


@torch.library.custom_op("smallfloat::quantize_gradient", mutates_args=())
def _quantize_gradient(x: torch.Tensor, fmt: str, policy: str) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


@_quantize_gradient.register_fake
def _(x, fmt, policy):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _remember(ctx, inputs, output):
    _, ctx.fmt, ctx.policy = inputs


_quantize_gradient.register_autograd(
    lambda ctx, grad: (_quantize(grad.contiguous(), ctx.fmt, ctx.policy)[0], None, None), setup_context=_remember
)


def quantize_gradient(x: torch.Tensor, fmt: str = "cfloat8_1_5_2", policy: str = "amax") -> torch.Tensor:
    """The tensor itself; its gradient is quantized as by `quantize` on the way back."""
    return _quantize_gradient(x, fmt, str(policy))


class Linear(torch.nn.Linear):
    """`torch.nn.Linear` with inputs, weights and gradients in CFloat8, sums in the tensors' own dtype.

    Forward both operands are rounded to `forward_format`, backward the gradient of the output to `backward_format`, each
    with a bias of its own, chosen for the tensor at hand. The weights themselves stay in their dtype.

    Parameters
    ----------
    in_features, out_features, bias, device, dtype :
        As of `torch.nn.Linear`.
    forward_format, backward_format : str
        'cfloat8_1_4_3', 'cfloat8_1_5_2' or 'shp'.
    policy : str
        As of `smallfloat.choose_bias`: 'amax', 'auto', 'percentile:99.9' or a number.

    Attributes
    ----------
    input_bias, weight_bias : Tensor of int64
        The biases of the last call.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> layer = sft.Linear(4, 2)
    >>> layer(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> int(layer.input_bias)  # 1 is 2**0, and 480 * 2**(7 - 15) is the largest value
    15
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        forward_format: str = "cfloat8_1_4_3",
        backward_format: str = "cfloat8_1_5_2",
        policy: str | int = "amax",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.forward_format, self.backward_format, self.policy = forward_format, backward_format, str(policy)
        for name in ("input_bias", "weight_bias"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64, device=device), persistent=False)

    @classmethod
    def of(cls, layer: torch.nn.Linear, **how: Any) -> Linear:
        """A layer with the parameters of another one, which are shared."""
        new = cls(layer.in_features, layer.out_features, layer.bias is not None, **how)
        new.weight, new.bias = layer.weight, layer.bias
        return new

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, input_bias = quantize(x, self.forward_format, self.policy)
        weight, weight_bias = quantize(self.weight, self.forward_format, self.policy)
        with torch.no_grad():
            self.input_bias.copy_(input_bias)
            self.weight_bias.copy_(weight_bias)
        return quantize_gradient(F.linear(x, weight, self.bias), self.backward_format, self.policy)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.forward_format} forward, {self.backward_format} backward, {self.policy}"


def convert(module: torch.nn.Module, **how: Any) -> torch.nn.Module:
    """Replaces every `torch.nn.Linear` inside a module by `Linear`; keyword arguments go there. Returns the module."""
    for name, child in module.named_children():
        if type(child) is torch.nn.Linear:
            setattr(module, name, Linear.of(child, **how))
        else:
            convert(child, **how)
    return module


class _Codes:
    """A tensor between two steps: codes, and the format they are of."""

    def __init__(self, x: torch.Tensor, fmt: str, policy: str, how: dict[str, Any]) -> None:
        self.dtype = x.dtype
        chosen = _core.choose_bias(x, fmt, policy) if _is_open(fmt) else Format(fmt)
        self.format = chosen
        self.codes = _core.encode(x, chosen, saturation="satfinite", **how)

    def tensor(self) -> torch.Tensor:
        return _core.decode(self.codes, self.format, dtype=self.dtype)


def _is_open(fmt: str) -> bool:
    """Is this a format whose bias is data, named without one?"""
    return fmt.split(":")[0] in ("cfloat8_1_4_3", "cfloat8_1_5_2", "shp") and "bias=" not in fmt


class SmallOptimizer:
    """Holds an optimizer's state, and the values of its weights, in small formats with stochastic rounding.

    Between two steps the state's tensors are codes: a byte an element instead of four. Weights stay tensors in their dtype, on
    the grid of `weight_format`; each step rounds them stochastically, so that small updates are not lost on average.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
    state_format : str or None
        Format of floating-point state; with its bias chosen for each tensor where it is data. None leaves it as it is.
    weight_format : str or None
        The same for weights.
    policy : str
        How biases are chosen, as of `smallfloat.choose_bias`.
    seed : int
        Of all random words; their streams follow from step, parameter and name.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> w = torch.nn.Parameter(torch.ones(8))
    >>> opt = sft.SmallOptimizer(torch.optim.Adam([w], lr=0.01), state_format="shp", weight_format="bfloat16", seed=1)
    >>> (w**2).sum().backward(); opt.step(); opt.zero_grad()
    >>> opt.state_bytes()  # two moments of eight elements, two bytes each
    32
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        state_format: str | None = "shp",
        weight_format: str | None = None,
        policy: str = "amax",
        seed: int,
    ) -> None:
        self.optimizer, self.seed, self.policy = optimizer, seed, policy
        self.state_format = None if state_format is None else str(state_format)
        self.weight_format = None if weight_format is None else str(weight_format)
        self.steps = 0
        self._codes: dict[tuple[int, str], _Codes] = {}

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.optimizer.param_groups

    def _parameters(self) -> Iterable[tuple[int, torch.Tensor]]:
        return enumerate(p for group in self.optimizer.param_groups for p in group["params"])

    def _how(self, index: int, name: str) -> dict[str, Any]:
        stream = f"{self.steps}/{index}/{name}"
        return {"rounding": "stochastic-a", "seed": self.seed, "stream": stream}

    def _unpack(self) -> None:
        parameters = dict(self._parameters())
        for (index, name), codes in self._codes.items():
            self.optimizer.state[parameters[index]][name] = codes.tensor()
        self._codes.clear()

    def _pack(self, how: Any) -> None:
        if self.state_format is None:
            return
        for index, p in self._parameters():
            state = self.optimizer.state.get(p, {})
            for name, value in state.items():
                if isinstance(value, torch.Tensor) and value.is_floating_point() and value.shape == p.shape and value.ndim:
                    self._codes[index, name] = _Codes(value, self.state_format, self.policy, how(index, name))
                    state[name] = value.new_empty(0)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step of the optimizer, then everything is rounded."""
        self._unpack()
        loss = self.optimizer.step(closure)
        self.steps += 1
        if self.weight_format is not None:
            for index, p in self._parameters():
                if p.is_floating_point():
                    fmt = self.weight_format
                    chosen = _core.choose_bias(p, fmt, self.policy) if _is_open(fmt) else Format(fmt)
                    rounded = _core.round(p, chosen, saturation="satfinite", **self._how(index, "weight"))
                    p.copy_(rounded.reshape(p.shape))
        self._pack(self._how)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def state_bytes(self) -> int:
        """Bytes of the state's codes."""
        return sum(codes.codes.numel() * codes.codes.element_size() for codes in self._codes.values())

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimizer's state, decoded, and the count of steps."""
        self._unpack()
        state = self.optimizer.state_dict()
        # The inner dicts are the optimizer's own, and codes take the tensors' places in them.
        state["state"] = {index: dict(values) for index, values in state["state"].items()}
        found = {"optimizer": state, "steps": self.steps}
        self._pack(lambda index, name: {})
        return found

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes what `state_dict` gave: values that are on the grid, so that encoding them loses nothing."""
        self._codes.clear()
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps = state["steps"]
        self._pack(lambda index, name: {})
