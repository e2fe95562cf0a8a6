"""PyTorch: simulated quantization with a straight-through gradient, a linear layer and an optimizer in small formats.

Thin Python over the kernels, registered as custom operators, so that ``torch.compile`` takes them as they are. Under
``torch.distributed`` all ranks agree on every bias, because they learn from the data of all.

>>> import torch, smallfloat.torch as sft
>>> x = torch.tensor([1.0, 1.1, 500.0], requires_grad=True)
>>> y = sft.fake_quantize(x, "e4m3fn", saturation="satfinite")
>>> y.detach()
tensor([  1.0000,   1.1250, 448.0000])
>>> y.sum().backward(); x.grad
tensor([1., 1., 1.])
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F

from . import _core
from ._core import BiasController, Format
from ._optimizer import SmallOptimizer

__all__ = ["Linear", "Quantizer", "SmallOptimizer", "convert", "fake_quantize"]


_NONFINITE = ("keep", "refuse", "preset")


def _check_nonfinite(nonfinite: str) -> str:
    if nonfinite not in _NONFINITE:
        raise ValueError(f"nonfinite={nonfinite!r} is not known: write 'keep' (the default), 'refuse' or 'preset'")
    return nonfinite


def _rounded(x: torch.Tensor, fmt: Any, nonfinite: str, how: dict[str, Any]) -> torch.Tensor:
    """`smallfloat.round`, with what becomes of NaN and infinities."""
    y = _core.round(x, fmt, nonfinite="refuse" if nonfinite == "refuse" else "preset", **how).reshape(x.shape)
    return torch.where(torch.isfinite(x), y, x) if nonfinite == "keep" else y


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
    nonfinite: str,
) -> torch.Tensor:
    how: dict[str, Any] = {"preset": preset, "rounding": rounding, "saturation": saturation}
    if seed is not None:
        # The operator's integers have a sign.
        how |= {"seed": seed % 2**64, "stream": stream, "random_bits": random_bits}
    return _rounded(x, fmt, nonfinite, how)


@_round.register_fake
def _(x, fmt, preset, rounding, saturation, seed, stream, random_bits, nonfinite):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


_round.register_autograd(lambda ctx, grad: (grad, *[None] * 8))


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
) -> torch.Tensor:
    """`smallfloat.round` of a tensor, with the gradient of the identity ("straight through").

    Parameters
    ----------
    x : Tensor of float16, bfloat16, float32 or float64
    fmt, preset, rounding, saturation, seed, random_bits :
        As of `smallfloat.encode`.
    stream : str, optional
        The name of a stream of random words.
    nonfinite : str
        'keep' (default): NaN and infinities stay what they are, also where the format has none, so that a run that diverges
        is seen to. 'refuse': a ValueError. 'preset': what the format's preset makes of them, the largest value perhaps.

    Returns
    -------
    Tensor of ``x``'s shape and dtype
    """
    if seed is not None and seed >= 2**63:
        seed -= 2**64
    return _round(x, str(fmt), preset, rounding, saturation, seed, stream, random_bits, _check_nonfinite(nonfinite))


_groups: dict[Any, Any] = {}


def _of_all_ranks(numbers: list[Any], dtype: torch.dtype, by: Any) -> list[Any]:
    """Numbers of this rank, reduced over all ranks."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return numbers
    # A group of its own: these small reductions must not mix with those of the gradients.
    world = dist.group.WORLD
    if world not in _groups:
        _groups.clear()
        _groups[world] = dist.new_group(backend="gloo")
    found = torch.tensor(numbers, dtype=dtype)
    dist.all_reduce(found, op=by, group=_groups[world])
    return found.tolist()


# A controller's state as a tensor, so that it is saved, moved and compiled as every buffer is: bias, steps, changes, unused,
# the length of the history, the history.
_FIXED_PART = 5
_NOTHING = torch.iinfo(torch.int64).min


@functools.lru_cache(maxsize=64)
def _blank(fmt: str, policy: str) -> dict[str, Any]:
    """The state of a controller that has seen nothing."""
    return BiasController(fmt, policy).state_dict()


def _read(state: torch.Tensor, fmt: str, policy: str) -> BiasController:
    bias, steps, changes, unused, length, *history = state.tolist()
    past = [None if held == _NOTHING else held for held in history[:length]]
    words = {"bias": bias, "steps": steps, "changes": changes, "unused": unused, "history": past}
    controller = BiasController(fmt, policy)
    controller.load_state_dict({**_blank(fmt, policy), **words})
    return controller


def _write(state: torch.Tensor, controller: BiasController) -> None:
    words = controller.state_dict()
    history = [_NOTHING if held is None else held for held in words["history"]]
    fixed = [words["bias"], words["steps"], words["changes"], words["unused"], len(history)]
    rest = [_NOTHING] * (len(state) - _FIXED_PART - len(history))
    state.copy_(torch.tensor(fixed + history + rest, dtype=torch.int64))


def _moved(controller: BiasController, bias: int) -> BiasController:
    """The controller with another bias."""
    controller.load_state_dict({**controller.state_dict(), "bias": bias})
    return controller


@torch.library.custom_op("smallfloat::learn_bias", mutates_args=("state",))
def _learn_bias(x: torch.Tensor, state: torch.Tensor, fmt: str, policy: str, learn: bool) -> torch.Tensor:
    controller, kind = _read(state, fmt, policy), policy.split(":")[0]
    # Ranks talk only where all of them come by, which is in training.
    of_all = _of_all_ranks if learn else lambda numbers, dtype, by: numbers

    def amax() -> float:
        return of_all([_core.amax(x)], torch.float64, dist.ReduceOp.MAX)[0]

    if kind in ("delayed", "flags"):
        if controller.steps == 0:
            _moved(controller, BiasController(fmt, "amax").observe(amax=amax()))
        bias = controller.bias
        if learn and kind == "delayed":
            controller.observe(amax=amax())
        elif learn:
            use = controller.code_use(*_core.encode(x, controller.format, return_flags=True))
            controller.observe(code_use=tuple(of_all(list(use), torch.int64, dist.ReduceOp.SUM)))
    else:
        if kind == "amax":
            controller.observe(amax=amax())
        elif kind in ("auto", "mse", "percentile"):
            # A rank without a magnitude has no opinion.
            own = _core.choose_bias(x, fmt, policy).bias if _core.amax(x) > 0 else 64
            least = of_all([own], torch.int64, dist.ReduceOp.MIN)[0]
            if least < 64:
                _moved(controller, least)
        bias = controller.bias
    if learn:
        _write(state, controller)
    return torch.tensor(bias, dtype=torch.int64, device=x.device)


@_learn_bias.register_fake
def _(x, state, fmt, policy, learn):
    return x.new_empty((), dtype=torch.int64)


@torch.library.custom_op("smallfloat::round_at", mutates_args=())
def _round_at(x: torch.Tensor, fmt: str, bias: torch.Tensor, nonfinite: str) -> torch.Tensor:
    return _rounded(x, Format(fmt, bias=int(bias)), nonfinite, {})


@_round_at.register_fake
def _(x, fmt, bias, nonfinite):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


_round_at.register_autograd(lambda ctx, grad: (grad, None, None, None))


@torch.library.custom_op("smallfloat::quantize_gradient", mutates_args=())
def _quantize_gradient(
    x: torch.Tensor, state: torch.Tensor, fmt: str, policy: str, learn: bool, nonfinite: str
) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


@_quantize_gradient.register_fake
def _(x, state, fmt, policy, learn, nonfinite):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _remember(ctx, inputs, output):
    # Not by save_for_backward: the state may change between the two passes, and the newest is wanted.
    _, ctx.state, ctx.fmt, ctx.policy, ctx.learn, ctx.nonfinite = inputs


def _on_the_way_back(ctx, grad):
    grad = grad.contiguous()
    bias = _learn_bias(grad, ctx.state, ctx.fmt, ctx.policy, ctx.learn)
    return _round_at(grad, ctx.fmt, bias, ctx.nonfinite), *[None] * 5


_quantize_gradient.register_autograd(_on_the_way_back, setup_context=_remember)


class Quantizer(torch.nn.Module):
    """Rounds the tensors of one kind to a format whose bias follows them: a `BiasController` and `fake_quantize` in one.

    It learns in training mode and keeps its bias in evaluation, except where the policy chooses for the tensor at hand. Before
    the first tensor, 'delayed' and 'flags' take the bias that holds it. Under ``torch.distributed`` what is learnt from are the
    tensors of all ranks: the largest magnitude, the sum of counts, for 'auto' and 'percentile' the smallest bias. The state is a
    buffer, so it is part of ``state_dict()``; one that lacks it, such as that of a plain model, can be loaded too.

    Parameters
    ----------
    fmt : str
        'cfloat8_1_4_3', 'cfloat8_1_5_2' or 'shp'.
    policy : str or int
        As of `smallfloat.BiasController`.
    nonfinite : str
        As of `fake_quantize`: 'keep' (default), 'refuse' or 'preset'.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> quantizer = sft.Quantizer("cfloat8_1_4_3", "delayed:history=4")
    >>> quantizer(torch.tensor([1.0, 1.1, -3.3]))
    tensor([ 1.0000,  1.1250, -3.2500])
    >>> quantizer.bias  # 1.875 * 2**(15 - 14) is the largest value that is needed
    14
    """

    def __init__(
        self, fmt: str, policy: str | int = "delayed", *, nonfinite: str = "keep", device: Any = None
    ) -> None:
        super().__init__()
        self.nonfinite = _check_nonfinite(nonfinite)
        controller = BiasController(str(fmt), str(policy))
        self.fmt, self.policy = str(fmt), controller.policy
        if self.policy.startswith("gradient"):
            raise ValueError(
                f"policy {self.policy!r}: a module sees its tensors, not what they do to the loss; give a BiasController "
                "the slope by observe(slope=...), or take 'delayed', 'flags', 'amax', 'auto' or a number"
            )
        history = 0
        if self.policy.startswith("delayed:"):
            history = int(self.policy.partition("history=")[2].split(",")[0])
        state = torch.empty(_FIXED_PART + history, dtype=torch.int64)
        _write(state, controller)
        self.register_buffer("state", state.to(device))

    @property
    def bias(self) -> int:
        """For the next tensor; of the last one where the policy chooses for the tensor at hand."""
        return int(self.state[0])

    def controller(self) -> BiasController:
        """A controller in the present state."""
        return _read(self.state, self.fmt, self.policy)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor on the format's grid; its gradient goes straight through."""
        bias = _learn_bias(x.detach(), self.state, self.fmt, self.policy, self.training)
        return _round_at(x, self.fmt, bias, self.nonfinite)

    def gradient(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor itself; its gradient is rounded on the way back."""
        return _quantize_gradient(x, self.state, self.fmt, self.policy, self.training, self.nonfinite)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        key = prefix + "state"
        if key in state_dict:
            if state_dict[key].shape == self.state.shape:
                _read(state_dict[key], self.fmt, self.policy)
            super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return f"{self.fmt!r}, {self.policy!r}"


class Linear(torch.nn.Linear):
    """`torch.nn.Linear` with inputs, weights and gradients in CFloat8, sums in the tensors' own dtype.

    Forward both operands are rounded to `forward_format`, backward the gradient of the output to `backward_format`, each
    by a `Quantizer` of its own. The weights themselves stay in their dtype.

    Parameters
    ----------
    in_features, out_features, bias, device, dtype :
        As of `torch.nn.Linear`.
    forward_format, backward_format : str
        'cfloat8_1_4_3', 'cfloat8_1_5_2' or 'shp'.
    policy : str, int, or three of them
        How biases are found, as of `smallfloat.BiasController`: 'delayed' (of the last 16 steps), 'flags', 'amax', 'auto',
        'percentile:99.9' or a number; one for all, or one each for inputs, weights and gradients.
    nonfinite : str
        What becomes of NaN and infinities in all three, as of `fake_quantize`: 'keep' (default), 'refuse' or 'preset'.

    Attributes
    ----------
    inputs, weights, gradients : Quantizer

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> layer = sft.Linear(4, 2)
    >>> layer(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> layer.inputs.bias  # 1 is 2**0, and 480 * 2**(7 - 15) is the largest value
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
        policy: str | int | tuple[str | int, str | int, str | int] = "delayed",
        nonfinite: str = "keep",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        policies = policy if isinstance(policy, (tuple, list)) else (policy,) * 3
        if len(policies) != 3:
            raise ValueError(f"policy takes one policy, or three for inputs, weights and gradients, not {len(policies)}")
        self.inputs = Quantizer(forward_format, policies[0], nonfinite=nonfinite, device=device)
        self.weights = Quantizer(forward_format, policies[1], nonfinite=nonfinite, device=device)
        self.gradients = Quantizer(backward_format, policies[2], nonfinite=nonfinite, device=device)

    @classmethod
    def of(cls, layer: torch.nn.Linear, **how: Any) -> Linear:
        """A layer with the parameters of another one, which are shared."""
        like = {"device": layer.weight.device, "dtype": layer.weight.dtype}
        new = cls(layer.in_features, layer.out_features, layer.bias is not None, **{**like, **how})
        new.weight, new.bias = layer.weight, layer.bias
        return new.train(layer.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gradients.gradient(F.linear(self.inputs(x), self.weights(self.weight), self.bias))


def convert(module: torch.nn.Module, **how: Any) -> torch.nn.Module:
    """Replaces every `torch.nn.Linear` inside a module by `Linear`; keyword arguments go there.

    Returns the module, or the layer in its place if the module is itself a `torch.nn.Linear`.
    """
    if type(module) is torch.nn.Linear:
        return Linear.of(module, **how)
    for name, child in module.named_children():
        setattr(module, name, convert(child, **how))
    return module
