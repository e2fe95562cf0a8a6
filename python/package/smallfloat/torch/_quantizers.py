"""Quantizers whose biases and scales follow their tensors."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.distributed as dist

from .. import _core, formats, schemes
from .._config import Config
from .._core import BiasController, Format
from .._scales import split
from ..kernel import kernel
from . import _learning
from ._device import stays
from ._fake import check_nonfinite, is_plain, refuse_nonfinite, rounded, rounded_at, scaled, straight_through
from ._memory import array_of
from ._round import constant_kernel, round_by

_groups: dict[Any, Any] = {}


def of_all_ranks(numbers: list[Any], dtype: torch.dtype, by: Any) -> list[Any]:
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


# A controller's state as a tensor, so that it is saved, moved and compiled as every buffer is:
# bias, steps, changes, unused, the length of the history, the history.
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
    controller, kind, device, x = _read(state, fmt, policy), policy.split(":")[0], x.device, array_of(x)
    # Ranks talk only where all of them come by, which is in training.
    of_all = of_all_ranks if learn else lambda numbers, dtype, by: numbers

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
    return torch.tensor(bias, dtype=torch.int64, device=device)


@_learn_bias.register_fake
def _(x, state, fmt, policy, learn):
    return x.new_empty((), dtype=torch.int64)


def _bias_for(x: torch.Tensor, state: torch.Tensor, fmt: str, policy: str, learn: bool) -> torch.Tensor:
    """The bias for a tensor, learnt where the tensor is."""
    return (_learning.learn if stays(x) else _learn_bias)(x, state, fmt, policy, learn)


@torch.library.custom_op("smallfloat::quantize_gradient", mutates_args=())
def _quantize_gradient(
    x: torch.Tensor, state: torch.Tensor, fmt: str, policy: str, learn: bool, nonfinite: str
) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


@_quantize_gradient.register_fake
def _(x, state, fmt, policy, learn, nonfinite):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _remember(ctx, inputs, output):
    # Not by save_for_backward: the state may change between the two passes, and the newest is
    # wanted.
    _, ctx.state, ctx.fmt, ctx.policy, ctx.learn, ctx.nonfinite = inputs


def _on_the_way_back(ctx, grad):
    grad = grad.contiguous()
    bias = _bias_for(grad, ctx.state, ctx.fmt, ctx.policy, ctx.learn)
    return rounded_at(grad, ctx.fmt, bias, ctx.nonfinite), *[None] * 5


_quantize_gradient.register_autograd(_on_the_way_back, setup_context=_remember)


class Quantizer(torch.nn.Module):
    """Rounds the tensors of one kind to a format whose bias follows them: a `BiasController` and
    `fake_quantize` in one.

    It learns in training mode and keeps its bias in evaluation, except where the policy chooses for
    the tensor at hand. Before the first tensor, 'delayed' and 'flags' take the bias that holds it.
    Under ``torch.distributed`` what is learnt from are the tensors of all ranks: the largest
    magnitude, the sum of counts, for 'auto' and 'percentile' the smallest bias. The state is a
    buffer, so it is part of ``state_dict()``; one that lacks it, such as that of a plain model, can
    be loaded too.

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
        self.nonfinite = check_nonfinite(nonfinite)
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
        bias = _bias_for(x.detach(), self.state, self.fmt, self.policy, self.training)
        return straight_through(x, rounded_at(x.detach(), self.fmt, bias, self.nonfinite))

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


def _learn_scale_on_device(x: torch.Tensor, state: torch.Tensor, fmt: str, margin: int, learn: bool) -> torch.Tensor:
    """The exponent of a power of two for a tensor; `state` is how many tensors were seen, and the
    last largest magnitudes."""
    amax = x.abs().amax().to(torch.float64) if x.numel() else state.new_zeros(())
    if learn:
        amax = _largest_of_ranks(amax)
    known = torch.isfinite(amax) & (amax > 0)
    is_delayed = state.numel() > 1
    used = torch.where(state[0] > 0, state[1:].amax(), amax) if is_delayed else amax
    if learn and is_delayed:
        history = torch.where(known, torch.cat([amax.reshape(1), state[1:-1]]), state[1:])
        state.copy_(torch.cat([state[:1] + known, history]))
    return _least_exponent(torch.where(torch.isfinite(used), used, 0.0), fmt, margin)


_learn_scale = torch.library.custom_op("smallfloat::learn_scale", _learn_scale_on_device, mutates_args=("state",))


@_learn_scale.register_fake
def _(x, state, fmt, margin, learn):
    return x.new_empty((), dtype=torch.int32)


def _largest_of_ranks(amax: torch.Tensor) -> torch.Tensor:
    if stays(amax):
        return _learning.of_all_ranks(amax, "MAX")
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return amax
    return amax.new_tensor(of_all_ranks([float(amax)], torch.float64, dist.ReduceOp.MAX)[0])


@torch.compiler.assume_constant_result
def _top(fmt: str) -> tuple[int, int]:
    """The exponent and the fraction of a format's largest value."""
    return split(Format(fmt).max)


def _least_exponent(amax: torch.Tensor, fmt: str, margin: int) -> torch.Tensor:
    """The least exponent at which 2**margin times a magnitude is within 2**exponent times the
    format's range; 0 for zero."""
    exponent, fraction = (known := torch.where(amax > 0, amax, 1.0).view(torch.int64)) >> 52, known & ((1 << 52) - 1)
    top, top_fraction = _top(fmt)
    found = exponent - 1023 + margin - top + (fraction > top_fraction).to(torch.int64)
    return torch.where(amax > 0, found, 0).to(torch.int32)


@functools.lru_cache(maxsize=1024)
def _shifted(fmt: str, exponent: int) -> Format | None:
    """The format whose values are those of another one times 2**exponent."""
    made = Format(fmt)
    try:
        return Format.minifloat(
            made.width,
            made.precision,
            made.bias - exponent,
            signed=made.signed,
            specials=made.specials,
            subnormals=made.subnormals,
        )
    except ValueError:
        return None


_NUMPY = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64"}


def _rounded_at_exponent(x: torch.Tensor, fmt: str, exponent: torch.Tensor, nonfinite: str) -> torch.Tensor:
    """Rounded to a format's values times 2**exponent, saturating."""
    if is_plain(x):
        shifted = _shifted(fmt, int(exponent))
        if shifted is not None and shifted.fits_in(_NUMPY[x.dtype]):
            return rounded(x, shifted, nonfinite, preset=Format(fmt).default_preset, saturation="satfinite")
    x = refuse_nonfinite(x) if nonfinite == "refuse" else x
    return round_by(constant_kernel(fmt, None, None, "satfinite"), x, -exponent, keep=nonfinite == "keep")


class _GradientOfScale(torch.autograd.Function):
    """The tensor itself; its gradient is rounded by a `ScaleQuantizer`."""

    @staticmethod
    def forward(x: torch.Tensor, state: torch.Tensor, fmt: str, margin: int, learn: bool, fixed: int | None, nonfinite: str) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.state, *ctx.how = inputs

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return _by_scale(grad, ctx.state, *ctx.how), *[None] * 6


def _by_scale(
    x: torch.Tensor, state: torch.Tensor, fmt: str, margin: int, learn: bool, fixed: int | None, nonfinite: str
) -> torch.Tensor:
    if fixed is not None:
        exponent = torch.full((), fixed, dtype=torch.int32, device=x.device)
    else:
        exponent = (_learn_scale_on_device if stays(x) else _learn_scale)(x, state, fmt, margin, learn)
    return _rounded_at_exponent(x, fmt, exponent, nonfinite)


class ScaleQuantizer(torch.nn.Module):
    """Rounds the tensors of one kind to a format whose bias is fixed, times a power of two that
    follows them.

    The power of two is the least at which the largest magnitude is within the range; what is beyond
    saturates. Under ``torch.distributed`` the largest magnitude is that of all ranks.

    Parameters
    ----------
    fmt : str
        A signed format of up to 16 bits: 'e4m3fn', 'e5m2', 'e2m1fn', 'binary8p3se', …
    policy : str or int
        'delayed:history=16,margin=0': the largest magnitude of the last steps (default).
        'amax:margin=0': that of the tensor itself. A number: that exponent of two, so that 0 takes
        the format as it is.
    nonfinite : str
        As of `fake_quantize`.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> quantizer = sft.ScaleQuantizer("e2m1fn", "amax")
    >>> quantizer(torch.tensor([1.0, 30.0, -50.0]))
    tensor([  0.,  32., -48.])
    """

    def __init__(self, fmt: str, policy: str | int = "delayed", *, nonfinite: str = "keep", device: Any = None) -> None:
        super().__init__()
        made = Format(fmt)
        if not made.signed:
            raise ValueError(f"{made} has no negative values, which tensors in training have: take a signed format")
        self.fmt, self.nonfinite = made.name, check_nonfinite(nonfinite)
        self._fixed, self._margin, history, self.policy = _scale_policy(str(policy))
        # Makes errors of the format appear at once.
        kernel(made, saturation="satfinite")
        self.register_buffer("state", torch.zeros(1 + history, dtype=torch.float64, device=device))

    @property
    def exponent(self) -> int:
        """Of the next tensor's power of two; with 'amax' this is known only for the tensor at hand,
        and 0 is given."""
        if self._fixed is not None:
            return self._fixed
        amax = self.state[1:].amax() if len(self.state) > 1 else self.state[0]
        return int(_least_exponent(amax, self.fmt, self._margin))

    def _how(self) -> tuple[Any, ...]:
        return self.state, self.fmt, self._margin, self.training, self._fixed, self.nonfinite

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        # Magnitudes stay in float64 whatever the model's dtype is.
        kept = self.state
        super()._apply(fn, recurse)
        if self.state.dtype != kept.dtype:
            self.state = kept.to(self.state.device)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor on the format's grid; its gradient goes straight through."""
        return straight_through(x, _by_scale(x.detach(), *self._how()))

    def gradient(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor itself; its gradient is rounded on the way back."""
        return _GradientOfScale.apply(x, *self._how())

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        if prefix + "state" in state_dict:
            super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return f"{self.fmt!r}, {self.policy!r}"


def _scale_policy(policy: str) -> tuple[int | None, int, int, str]:
    """A fixed exponent, a margin, the length of a history, and the whole policy in words."""
    kind, _, rest = policy.partition(":")
    found = {"history": 16, "margin": 0}
    try:
        if not rest and kind not in ("delayed", "amax"):
            return int(kind), 0, 0, policy
        for word in filter(None, rest.split(",")):
            name, _, value = word.partition("=")
            found[name] = int(value)
        if kind not in ("delayed", "amax") or set(found) != {"history", "margin"} or found["history"] < 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"policy {policy!r} is not understood for a format whose bias is fixed: write 'delayed:history=16,margin=0', "
            "'amax:margin=0' or the exponent of a power of two"
        ) from None
    if kind == "amax":
        return None, found["margin"], 0, f"amax:margin={found['margin']}"
    return None, found["margin"], found["history"], f"delayed:history={found['history']},margin={found['margin']}"


class _GradientOfScheme(torch.autograd.Function):
    """The tensor itself; its gradient is quantized by a `Config`."""

    @staticmethod
    def forward(x: torch.Tensor, config: str, nonfinite: str) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.config, ctx.nonfinite = inputs

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return scaled(ctx.config, grad, ctx.nonfinite), None, None


class SchemeQuantizer(torch.nn.Module):
    """Rounds tensors by a scheme or a `Config`: scales or biases of tensors, channels or blocks,
    chosen for the tensor at hand.

    Blocks lie along the last dimension. There is no state.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> sft.SchemeQuantizer("mxfp8-e4m3")(torch.tensor([[1.0, 1.1, -3.3]]))
    tensor([[ 1.0000,  1.1250, -3.2500]])
    """

    def __init__(self, config: Any, *, nonfinite: str = "keep") -> None:
        super().__init__()
        self.config, self.nonfinite = Config(config), check_nonfinite(nonfinite)
        self._key = self.config.key()
        if self.nonfinite == "preset":
            raise ValueError("nonfinite='preset' is for formats without scales: write 'keep' or 'refuse'")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor's values by the scheme; its gradient goes straight through."""
        return straight_through(x, scaled(self._key, x.detach(), self.nonfinite))

    def gradient(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor itself; its gradient is rounded on the way back."""
        return _GradientOfScheme.apply(x, self._key, self.nonfinite)

    def extra_repr(self) -> str:
        return repr(self.config)


def quantizer(fmt: Any, policy: str | int = "delayed", *, nonfinite: str = "keep", device: Any = None) -> torch.nn.Module:
    """The quantizer for a format or scheme.

    A `Quantizer` where the bias is data, a `ScaleQuantizer` where it is fixed, a `SchemeQuantizer`
    for schemes and `Config`s, whose scales follow their own rule, so that they need no policy.
    """
    name = str(fmt)
    if isinstance(fmt, Config) or name in schemes:
        return SchemeQuantizer(fmt, nonfinite=nonfinite)
    if name.split(":")[0] in formats._FREE and "bias=" not in name:
        return Quantizer(name, policy, nonfinite=nonfinite, device=device)
    return ScaleQuantizer(name, policy, nonfinite=nonfinite, device=device)
