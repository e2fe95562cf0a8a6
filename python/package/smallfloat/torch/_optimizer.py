"""An optimizer whose weights and state are codes of small formats."""

from __future__ import annotations

import contextlib
import math
from typing import Any, Iterator

import torch

from .. import _core, _interop, formats
from .._core import Format
from . import _learning
from ._device import convert, has_float_kernels, stays
from ._quantizers import of_all_ranks
from ._round import constant_kernel, decode_by, encode_by, numbers_of_words, words_of

_WEIGHT = "weight"
# State of torch's optimizers that has a sign; further names show theirs in a step.
_SIGNED = ("exp_avg", "momentum_buffer", "grad_avg")
# Of torch's optimizers. Second moments have twice the binades of gradients, and one that became
# zero would make a step of any size, so their roots are held.
_STATE = {"exp_avg": "shp", "exp_avg_sq": "sqrt(uhp)", "momentum_buffer": "shp"}


# What a pickled optimizer has; a scheduler's own wrapper of `step`, and hooks, stay behind.
_KEPT = ("optimizer", "seed", "policy", "steps", "_weight", "_state", "_codes", "_refused")


# Larger than every bias.
_NO_BIAS = 64


def _shard(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    """This rank's part of a tensor, and the index of its first element in the whole."""
    if not hasattr(x, "device_mesh"):
        return x, 0
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    if not all(placement == Shard(0) or placement.is_replicate() for placement in x.placements):
        raise TypeError(f"tensors are sharded by rows (Shard(0)) or not at all, not by {x.placements}")
    _, offset = compute_local_shape_and_global_offset(x.shape, x.device_mesh, x.placements)
    return x.to_local(), offset[0] * math.prod(x.shape[1:]) if x.ndim else 0


def _sharded(local: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A rank's part as a tensor that is sharded as another one."""
    if not hasattr(like, "device_mesh"):
        return local
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        local, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
    )


class _Spelling:
    """How a tensor is held: a format, and whether it is of the square root."""

    def __init__(self, text: Any) -> None:
        text = str(text)
        self.root = text.startswith("sqrt(") and text.endswith(")")
        self.name = text[5:-1] if self.root else text
        self.is_open = self.name.split(":")[0] in formats._FREE and "bias=" not in self.name
        if not self.is_open:
            self.name = str(Format(self.name))
        self.signed = self.is_open or Format(self.name).signed

    def check_sign(self, what: str) -> None:
        """Refuses a format without negative values, and roots, for what has them."""
        if self.root or not self.signed:
            raise ValueError(f"{what} has negative values, which {self} does not hold: take a signed format")

    def __str__(self) -> str:
        return f"sqrt({self.name})" if self.root else self.name


class _Codes:
    """A tensor as codes; of a sharded tensor (DTensor, as FSDP2 has them) those of this rank's
    rows, as a sharded tensor."""

    def __init__(
        self, codes: torch.Tensor, fmt: Format, root: bool, dtype: torch.dtype, bias: torch.Tensor | None = None
    ) -> None:
        #: Where codes stay on a device, so does the bias, and the format's is 0.
        self.codes, self._fmt, self.root, self.dtype, self.bias = codes, fmt, root, dtype, bias

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "codes": _interop.to_pickle(self.codes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, codes=_interop.from_pickle(*state["codes"]))

    @property
    def fmt(self) -> Format:
        """The format, for which a bias on a device is waited for."""
        return self._fmt if self.bias is None else self._fmt.with_bias(int(self.bias))

    @classmethod
    def of(
        cls, x: torch.Tensor, spelling: _Spelling, policy: str, how: dict[str, Any], refused: list[torch.Tensor] | None = None
    ) -> _Codes:
        local, first = _shard(x)
        if stays(local):
            return cls._on_device(x, local, first, spelling, policy, how, refused)
        if (spelling.root or not spelling.signed) and bool((local < 0).any()):
            spelling.check_sign("x")
        y = local.sqrt() if spelling.root else local
        fmt = Format(spelling.name) if not spelling.is_open else cls._chosen(y, spelling.name, policy, local is not x)
        if "seed" in how:
            how = {**how, "first_element": first}
        codes = _core.encode(y, fmt, saturation="satfinite", nonfinite="refuse", **how).reshape(local.shape)
        return cls(_sharded(codes, x), fmt, spelling.root, x.dtype)

    @classmethod
    def _on_device(
        cls, x: torch.Tensor, local: torch.Tensor, first: int, spelling: _Spelling, policy: str, how: dict[str, Any], refused: Any
    ) -> _Codes:
        """The same in tensor operations or by kernels; what would be refused is noted."""
        y = local.sqrt() if spelling.root else local
        bad = ~torch.isfinite(local).all()
        if spelling.root or not spelling.signed:
            bad = bad | (local < 0).any()
        if refused is not None:
            refused.append(bad)
        fmt = Format(spelling.name, bias=0) if spelling.is_open else Format(spelling.name)
        bias = cls._bias(y, spelling.name, policy, local is not x) if spelling.is_open else None
        k = constant_kernel(fmt, None, how["rounding"], "satfinite")
        words, dtype = (how.get("seed"), how.get("stream"), first), torch.uint8 if fmt.width <= 8 else torch.int16
        if has_float_kernels(y):
            codes = convert("encode", k, y, dtype, shift=bias, words=numbers_of_words(k, *words))
        else:
            codes = encode_by(k, y, 0 if bias is None else bias, words_of(k, y, *words)).to(dtype)
        return cls(_sharded(codes, x), fmt, spelling.root, x.dtype, bias)

    @staticmethod
    def _bias(y: torch.Tensor, name: str, policy: str, is_shard: bool) -> torch.Tensor:
        """A bias that stays on the device, which is that of all ranks where they have a part
        each."""
        if policy.isdigit():
            return torch.full((), int(policy), dtype=torch.int32, device=y.device)
        if not is_shard:
            return _learning.tensor_bias(y, name, policy).to(torch.int32)
        own, is_known = _learning.choose_bias(y, name, policy)
        least = _learning.of_all_ranks(torch.where(is_known, own, _NO_BIAS), "MIN")
        return torch.where(least < _NO_BIAS, least, _learning.tensor_bias(torch.zeros_like(y[:1]), name, "amax")).to(torch.int32)

    @staticmethod
    def _chosen(y: torch.Tensor, name: str, policy: str, is_shard: bool) -> Format:
        """The format with a bias, which is that of all ranks where they have a part each."""
        if not is_shard:
            return _core.choose_bias(y, name, policy)
        own = _core.choose_bias(y, name, policy).bias if _core.amax(y) > 0 else _NO_BIAS
        least = of_all_ranks([own], torch.int64, torch.distributed.ReduceOp.MIN)[0]
        return Format(name, bias=least) if least < _NO_BIAS else _core.choose_bias(y, name, policy)

    def tensor(self) -> torch.Tensor:
        local = _shard(self.codes)[0]
        if self.bias is not None or stays(local):
            y = self._decoded(local)
        else:
            y = _core.decode(local, self._fmt, dtype=self.dtype)
        return _sharded(y.square() if self.root else y, self.codes)

    def _decoded(self, local: torch.Tensor) -> torch.Tensor:
        k, codes = constant_kernel(self._fmt), local.view(torch.int16) if local.dtype == torch.uint16 else local
        shift = 0 if self.bias is None else -self.bias
        if has_float_kernels(codes.new_empty(0, dtype=self.dtype)):
            return convert("decode", k, codes, self.dtype, shift=shift)
        return decode_by(k, codes.to(torch.int32) & ((1 << k.width) - 1), self.dtype, shift)

    def bytes(self) -> int:
        """Bytes that this rank holds."""
        local = _shard(self.codes)[0]
        return local.numel() * local.element_size()

    def state(self) -> dict[str, Any]:
        return {"codes": self.codes, "format": str(self.fmt), "root": self.root, "dtype": str(self.dtype)}

    @classmethod
    def of_state(cls, state: dict[str, Any], device: torch.device) -> _Codes:
        dtype = getattr(torch, state["dtype"].removeprefix("torch."))
        codes = state["codes"] if hasattr(state["codes"], "device_mesh") else state["codes"].to(device)
        fmt, local = Format(state["format"]), _shard(codes)[0]
        if stays(local) and fmt.bias_range:
            bias = torch.full((), fmt.bias, dtype=torch.int32, device=local.device)
            return cls(codes, fmt.with_bias(0), state["root"], dtype, bias)
        return cls(codes, fmt, state["root"], dtype)


class SmallOptimizer(torch.optim.Optimizer):
    """Holds an optimizer's weights and state as codes of small formats, rounded stochastically in
    every step.

    Parameters that FSDP2 shards (DTensor, by rows) are encoded rank by rank, with the random words
    of the whole tensor and with biases that all ranks agree on, so that with one bias per tensor by
    'amax' the codes are those of one process.

    A step decodes the state, lets the optimizer do its work, and encodes what came out. Stochastic
    rounding keeps updates that are smaller than a step of the format, on average. The words follow
    from seed, step, parameter and name, so the same run gives the same bits, also one that was
    stopped, saved and resumed.

    After a step the weights' tensors have the values of their codes, in their dtype, for the next
    pass through the model. `pack` gives that memory back too, so that only codes are left, and
    `unpack` brings the values again.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Learning-rate schedulers take either.
    weight_format : str or None
        Of floating-point weights; with its bias chosen for each tensor where it is data. None
        leaves them as they are.
    state_format : dict, str or None
        Of state of a weight's shape, by its name; other state stays as it is. ``'sqrt(uhp)'`` holds
        square roots. By default 'shp' for 'exp_avg' and 'momentum_buffer', 'sqrt(uhp)' for
        'exp_avg_sq'. A str is for all state, None for none.
    policy : str
        How biases are chosen, as of `smallfloat.choose_bias`.
    seed : int
        Of all random words.

    Raises
    ------
    ValueError
        For a format without negative values where weights or state have them: of weights and the
        usual state at once, of other state in a step. In a step that makes a weight or state NaN or
        infinite, which small formats may not have.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> w = torch.nn.Parameter(torch.ones(8))
    >>> opt = sft.SmallOptimizer(torch.optim.Adam([w]), weight_format="cfloat8_1_4_3", seed=1)
    >>> (w**2).sum().backward(); opt.step(); opt.zero_grad()
    >>> opt.bytes_per_parameter()  # one for the weight, two for each moment
    5.0
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        weight_format: str | None = None,
        state_format: dict[str, str] | str | None = _STATE,
        policy: str = "amax",
        seed: int,
    ) -> None:
        # Groups and state are the optimizer's own, so the base class makes none: only its hooks.
        self.optimizer, self.seed, self.policy, self.steps = optimizer, seed, policy, 0
        super().__setstate__({})
        self._weight = None if weight_format is None else _Spelling(weight_format)
        if isinstance(state_format, dict):
            self._state: Any = {name: _Spelling(fmt) for name, fmt in state_format.items()}
        else:
            self._state = None if state_format is None else _Spelling(state_format)
        if self._weight is not None:
            self._weight.check_sign("a weight")
        if isinstance(self._state, dict):
            for name in _SIGNED:
                if name in self._state:
                    self._state[name].check_sign(name)
        self._codes: dict[tuple[int, str], _Codes] = {}
        self._refused: dict[str, torch.Tensor] = {}
        self._encode_weights({"rounding": "nearest-even"})

    @property
    def param_groups(self) -> list[dict[str, Any]]:  # type: ignore[override]
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optimizer.state

    @property
    def defaults(self) -> dict[str, Any]:  # type: ignore[override]
        return self.optimizer.defaults

    def __getstate__(self) -> dict[str, Any]:
        self.check()
        return {name: value for name, value in vars(self).items() if name in _KEPT}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters to the optimizer; their weights become codes at once."""
        known = sum(1 for _ in self._parameters())
        self.optimizer.add_param_group(param_group)
        self._encode_weights({"rounding": "nearest-even"}, known)

    def _parameters(self) -> Iterator[tuple[int, torch.Tensor]]:
        return enumerate(p for group in self.optimizer.param_groups for p in group["params"])

    def _encode(self, index: int, name: str, x: torch.Tensor, spelling: _Spelling, how: dict[str, Any] | None) -> _Codes:
        if how is None:
            stream = f"{self.steps}/{index}/{name}"
            how = {"rounding": "stochastic-a", "seed": self.seed, "stream": stream}
        try:
            refused: list[torch.Tensor] = []
            held = _Codes.of(x, spelling, self.policy, how, refused)
            self._note(refused, f"{name} of parameter {index}")
        except ValueError as error:
            raise ValueError(f"{name} of parameter {index}, step {self.steps}: {error}") from None
        self._codes[index, name] = held
        return held

    def _note(self, refused: list[torch.Tensor], what: str) -> None:
        """Remembers what a device found, without waiting for it."""
        for found in refused:
            self._refused[what] = self._refused[what] | found if what in self._refused else found

    def check(self) -> None:
        """Raises a ValueError if a step made a weight or state NaN or infinite, or negative where
        the format has no sign.

        On the CPU steps themselves raise it. Other devices are not waited for in a step, but here
        and in `state_dict`.
        """
        bad = [what for what, found in self._refused.items() if bool(found)]
        if bad:
            raise ValueError(
                f"{bad[0]}, by step {self.steps}: it has elements that are NaN, infinite or without a place in the format"
            )

    @torch.no_grad()
    def _encode_weights(self, how: dict[str, Any] | None = None, first: int = 0) -> None:
        if self._weight is not None:
            for index, p in self._parameters():
                if index >= first and p.is_floating_point():
                    p.copy_(self._encode(index, _WEIGHT, p.detach(), self._weight, how).tensor())

    def _encode_state(self) -> None:
        for index, p in self._parameters():
            state = self.optimizer.state.get(p, {})
            for name, value in state.items():
                spelling = self._state.get(name) if isinstance(self._state, dict) else self._state
                if spelling is None or not isinstance(value, torch.Tensor):
                    continue
                if value.is_floating_point() and value.ndim and value.shape == p.shape:
                    self._encode(index, name, value, spelling, None)
                    state[name] = torch.empty(0, dtype=value.dtype)

    def _decode_state(self) -> None:
        parameters = dict(self._parameters())
        for (index, name), held in self._codes.items():
            if name != _WEIGHT:
                self.optimizer.state[parameters[index]][name] = held.tensor()

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step of the optimizer; then everything is rounded."""
        self.unpack()
        self._decode_state()
        loss = self.optimizer.step(closure)
        self.steps += 1
        self._encode_weights()
        self._encode_state()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def _held_weights(self) -> Iterator[tuple[torch.Tensor, _Codes]]:
        for index, p in self._parameters():
            if (index, _WEIGHT) in self._codes:
                yield p, self._codes[index, _WEIGHT]

    def pack(self) -> None:
        """Leaves only the codes of weights; their tensors are empty until `unpack`. Gradients are
        not touched."""
        for p, held in self._held_weights():
            if hasattr(p, "device_mesh"):
                raise TypeError("weights that FSDP shards are not packed: FSDP keeps their memory")
            if p.shape == held.codes.shape:
                p.data = p.data.new_empty(0)

    def unpack(self) -> None:
        """Gives weights that were packed their values again."""
        for p, held in self._held_weights():
            if p.shape != held.codes.shape:
                p.data = held.tensor()

    @contextlib.contextmanager
    def unpacked(self) -> Iterator[None]:
        """Weights have values inside, and are packed again behind:
        ``with opt.unpacked(): …backward(); opt.step()``."""
        self.unpack()
        try:
            yield
        finally:
            self.pack()

    def bytes_held(self) -> int:
        """Bytes of all codes."""
        return sum(held.bytes() for held in self._codes.values())

    def bytes_per_parameter(self) -> float:
        """The same for each element of the weights."""
        counts = {index: held.codes.numel() for (index, _), held in self._codes.items()}
        return self.bytes_held() / max(1, sum(counts.values()))

    def state_dict(self) -> dict[str, Any]:
        """The codes, their formats, what the optimizer has besides, and the count of steps. Tensors
        and plain values only."""
        self.check()
        codes = [(index, name, held.state()) for (index, name), held in self._codes.items()]
        return {"optimizer": self.optimizer.state_dict(), "codes": codes, "steps": self.steps, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes what `state_dict` gave, and the weights with it."""
        parameters = dict(self._parameters())
        for index, name, held in state["codes"]:
            if name == _WEIGHT and index in parameters:
                known = self._codes.get((index, name))
                ours = parameters[index].shape if known is None else known.codes.shape
                if ours != held["codes"].shape:
                    raise ValueError(
                        f"weight of parameter {index} has the shape {list(ours)}, and {list(held['codes'].shape)} in the state"
                    )
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps, self.seed = state["steps"], state["seed"]
        self._codes = {
            (index, name): _Codes.of_state(held, parameters[index].device) for index, name, held in state["codes"]
        }
        for p, held in self._held_weights():
            if p.shape == held.codes.shape:
                with torch.no_grad():
                    p.copy_(held.tensor())
            else:
                p.data = held.tensor().to(p.dtype)
