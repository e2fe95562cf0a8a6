"""Models whose weights are codes."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize

from .. import _core, _quantized, formats
from .._config import Config, Layout, dequantizer, patterns, rows_stand_alone, scale_shape, width_of
from ._fake import is_plain, scaled, straight_through
from ._memory import array_of, bytes_of, tensor_of
from ._scaled import dequantize, parts_of, plan_for

_ATTENTION = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
_KINDS = (nn.Linear, nn.Bilinear, nn.Embedding, nn.EmbeddingBag, nn.modules.conv._ConvNd)
_SOURCES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64"}
_SUFFIXES = ("_bias", "_scale", "_global_scale")


class Row(NamedTuple):
    """A parameter in a report."""

    name: str
    kind: str
    shape: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    #: What it was quantized to, or why it was left alone.
    what: str


@dataclasses.dataclass
class Report:
    """What `quantize_` did: every parameter of the model, once."""

    quantized: list[Row]
    left: list[Row]

    @property
    def bytes_before(self) -> int:
        """Bytes of all parameters before."""
        return sum(row.bytes_before for row in self.quantized + self.left)

    @property
    def bytes_after(self) -> int:
        """Bytes of all parameters, codes and scales after."""
        return sum(row.bytes_after for row in self.quantized + self.left)

    def __str__(self) -> str:
        rows = [("parameter", "layer", "shape", "bytes", "what")]
        for row in self.quantized + self.left:
            change = f"{row.bytes_before:,} -> {row.bytes_after:,}" if row in self.quantized else f"{row.bytes_before:,}"
            rows.append((row.name, row.kind, str(list(row.shape)), change, row.what))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, f"{self.bytes_before:,} bytes became {self.bytes_after:,}"])


def _is_transposed(module: nn.Module) -> bool:
    """Whether it is the linear layer of GPT-2, whose weight is (inputs, outputs)."""
    return type(module).__name__ == "Conv1D" and hasattr(module, "nf")


def _base(module: nn.Module) -> type[nn.Module]:
    """The class that a module had before."""
    return type(module)._base if isinstance(module, _Changed) else type(module)


def _weights(module: nn.Module) -> list[str]:
    """The parameters of a module that can be quantized."""
    if isinstance(module, nn.MultiheadAttention):
        names: Sequence[str] = _ATTENTION
    elif isinstance(module, _KINDS) or _is_transposed(module):
        names = ("weight",)
    else:
        return []
    return [name for name in names if module._parameters.get(name) is not None]


def _refusal(module: nn.Module, name: str) -> str | None:
    """Why a parameter is left alone."""
    if isinstance(module, nn.RNNBase):
        return "a recurrent layer keeps pointers to its weights"
    if name not in _weights(module):
        return "no weight of a linear, convolutional, embedding or attention layer"
    if isinstance(module, _Stored):
        return "it is quantized already"
    if parametrize.is_parametrized(module):
        return "it has a parametrization"
    if not isinstance(module, _Changed) and any(hasattr(module, f"{name}_{part}") for part in ("orig", "g", "v")):
        return "a hook computes it"
    if getattr(module, "max_norm", None) is not None:
        return "max_norm changes it in every pass"
    parameter = module._parameters[name]
    if not parameter.is_floating_point():
        return f"its dtype is {parameter.dtype}"
    if parameter.device.type == "meta":
        return "it is on the device meta"
    return None


def _fitted(config: Config, module: nn.Module, shape: tuple[int, ...]) -> tuple[Config, tuple[int, ...]]:
    """The configuration for a layer's weight, and the shape to quantize it in: blocks and channels
    lie along the sum of its products."""
    granularity = config.entry(shape if len(shape) > 1 else (1, 1))["granularity"]
    if _is_transposed(module):
        if granularity == "channel":
            return Config(config, granularity=f"block:{shape[0]}x1"), shape
        if granularity.startswith("block:"):
            rows, _, columns = granularity[6:].rpartition("x")
            return Config(config, granularity=f"block:{columns}x{rows or 1}"), shape
    if isinstance(module, nn.modules.conv._ConvNd) and granularity.startswith("block:"):
        return config, (shape[0], int(np.prod(shape[1:])))
    return config, shape


class _Changed:
    """A module of another class, of which some parameters are seen through a property."""

    _base: type[nn.Module]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restored, (type(self)._kind, self._base, tuple(sorted(self._seen))), self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]


def _new(cls: type[nn.Module]) -> nn.Module:
    return cls.__new__(cls)


def _restored(kind: str, base: type[nn.Module], names: tuple[str, ...]) -> nn.Module:
    return _new(_changed_class(_KINDS_OF_CHANGE[kind], base, names))


class _Stored(_Changed):
    """Weights are codes: a parameter without gradient has the weight's name, and its scales are
    buffers."""

    _kind = "stored"

    def _stored(self, name: str) -> tuple[Layout, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        layout = self._layouts[name]
        scales = self._buffers.get(name + ("_bias" if layout.scale is None else "_scale"))
        return layout, self._parameters[name], scales, self._buffers.get(f"{name}_global_scale")

    def _value(self, name: str) -> torch.Tensor:
        """A weight, in the dtype that the module computes in; where FSDP holds a part of the codes,
        that part as it is."""
        if hasattr(self._parameters[name], "device_mesh"):
            return self._parameters[name]
        values = _values(*self._stored(name), self._dtypes[name])
        return values.reshape(self._shapes[name])

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        # The scales keep their dtypes: only what they are multiplied to follows `to(dtype)`.
        kept = {name: self._buffers[name] for name in self._scale_names() if self._buffers[name].is_floating_point()}
        super()._apply(fn, recurse)  # type: ignore[misc]
        for name, scale in kept.items():
            moved = self._buffers[name]
            self._buffers[name] = moved if moved.dtype == scale.dtype else scale.to(moved.device)
        self._dtypes = {name: fn(torch.empty(0, dtype=dtype)).dtype for name, dtype in self._dtypes.items()}
        return self

    def _scale_names(self) -> list[str]:
        return [name + suffix for name in self._layouts for suffix in _SUFFIXES if name + suffix in self._buffers]

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        # Assignments of parameters come here, too.
        if name in self._layouts and param is not None and param.is_floating_point():
            raise TypeError(
                f"{name} is stored as codes ({describe(self._layouts[name])}), and a parameter of {param.dtype} has none: "
                "assign it before quantize_, or to a layer that is not quantized, and quantize_ that"
            )
        super().register_parameter(name, param)  # type: ignore[misc]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        # Beside the tensors, where torch has the versions of modules.
        if (metadata := getattr(destination, "_metadata", None)) is not None:
            facts = {name: dataclasses.asdict(layout) for name, layout in self._layouts.items()}
            metadata.setdefault(prefix[:-1], {})["layouts"] = facts

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing: Any, unexpected: Any, errors: list[str]
    ) -> None:
        known, wrong = local_metadata.get("layouts", {}), []
        for name, layout in self._layouts.items():
            if name in known and (other := Layout(**known[name])) != layout:
                ours, theirs = (f"{describe(one)}, {one.packing}, {list(one.shape)}" for one in (layout, other))
                wrong.append(f"{prefix}{name} is stored as {ours}, and in the state as {theirs}")
        errors += wrong
        if not wrong:
            super()._load_from_state_dict(  # type: ignore[misc]
                state_dict, prefix, local_metadata, strict, missing, unexpected, errors
            )

    def extra_repr(self) -> str:
        """The layer's own, and what its weights are stored as."""
        own = super().extra_repr()  # type: ignore[misc]
        stored = [f"{name}: {describe(layout)}" for name, layout in self._layouts.items()]
        return ", ".join(filter(None, [own, *stored]))


class _Faked(_Changed):
    """Weights are rounded in every pass, with the gradient of the identity."""

    _kind = "faked"

    def _value(self, name: str) -> torch.Tensor:
        parameter = self._parameters[name]
        key, shape = self._configs[name]
        x = parameter.reshape(shape)
        return straight_through(x, scaled(key, x.detach(), self._nonfinite, name)).reshape(parameter.shape)


_KINDS_OF_CHANGE: dict[str, type[_Changed]] = {"stored": _Stored, "faked": _Faked}


class _StoredEmbedding(_Stored):
    """Only the rows that are looked up are decoded."""

    def __setattr__(self, name: str, value: Any) -> None:
        # transformers writes into the weight, of which it has a copy, and then this.
        if name == "num_embeddings" and value != self.num_embeddings:
            raise ValueError(f"an embedding of codes keeps its {self.num_embeddings} rows, and can't have {value}: resize it before it is quantized")
        super().__setattr__(name, value)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        layout, codes, scales, over = self._stored("weight")
        if not rows_stand_alone(layout):
            return super().forward(input)  # type: ignore[misc]
        rows = input.reshape(-1)
        codes = F.embedding(rows, codes.reshape(layout.shape[0], -1))
        if scales is not None and layout.granularity != "tensor":
            scales = scales[rows]
        found = dequantize(layout, codes, scales, over, self._dtypes["weight"], (rows.shape[0], layout.shape[1]))
        return found.reshape(*input.shape, layout.shape[1])


@functools.lru_cache(maxsize=None)
def _changed_class(kind: type[_Changed], base: type[nn.Module], names: tuple[str, ...]) -> type[nn.Module]:
    """A subclass in which some parameters are properties; `isinstance(module, base)` stays true."""
    if kind is _Stored and issubclass(base, nn.Embedding) and base.forward is nn.Embedding.forward:
        kind = _StoredEmbedding
    properties = {name: property(functools.partial(_get, name)) for name in names}
    body = {"_base": base, "_seen": frozenset(names), "__module__": base.__module__, **properties}
    return type(f"{kind._kind.title()}{base.__name__}", (kind, base), body)


def _get(name: str, module: Any) -> torch.Tensor:
    return module._value(name)


def values_of(q: _quantized.QuantizedTensor, dtype: torch.dtype, threads: int | None = None) -> torch.Tensor:
    """The values of a quantized tensor whose arrays are tensors."""
    layout, scales = Layout.of(q._entry, q.shape), q.scales if q.biases is None else q.biases
    return _values(layout, q._parts[""], scales, q._parts.get("_global_scale"), dtype, threads)


def _values(
    layout: Layout, codes: torch.Tensor, scales: Any, over: Any, dtype: torch.dtype, threads: int | None = None
) -> torch.Tensor:
    if not is_plain(codes):
        return dequantize(layout, codes, scales, over, dtype)
    # By the compiled part.
    raw = np.empty(0, np.uint8) if scales is None else bytes_of(scales)
    by = 1.0 if over is None else float(over)
    made = dequantizer(layout.format, layout.scale, layout.granularity, layout.packing)
    return tensor_of(made.values(bytes_of(codes), raw, by, layout.shape, dtype, threads))


def _codes_array(x: torch.Tensor) -> np.ndarray:
    """Codes or scales as the native container has them."""
    array = array_of(x)
    return array.view(np.uint16) if array.dtype == np.int16 else array


def describe(layout: Layout) -> str:
    """A layout in a few words."""
    scales = "" if layout.scale is None else f", scales in {layout.scale}"
    return f"{layout.format}, {layout.granularity}{scales}"


class _Chosen(NamedTuple):
    module: nn.Module
    prefix: str
    name: str
    config: Config
    shape: tuple[int, ...]

    @property
    def path(self) -> str:
        """The parameter's name in the model."""
        return f"{self.prefix}{self.name}"


def _matches(path: str, prefix: str, wanted: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(prefix.rstrip("."), pattern) for pattern in wanted)


def _choose(
    model: nn.Module, config: Config, include: Any, exclude: Any
) -> tuple[list[_Chosen], list[tuple[str, nn.Module, str, str]]]:
    """The parameters to quantize, and those that are left, with reasons."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}: smallfloat.quantize takes tensors")
    include, exclude = patterns(include, "include"), patterns(exclude, "exclude")
    chosen, left, found = [], [], set()
    for prefix, module in model.named_modules():
        prefix = f"{prefix}." if prefix else ""
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            path, reason = prefix + name, _refusal(module, name)
            if reason is None and include and not _matches(path, prefix, include):
                reason = "not included"
            if reason is None and _matches(path, prefix, exclude):
                reason = "excluded"
            found |= {pattern for pattern in [*include, *exclude] if _matches(path, prefix, [pattern])}
            if reason is None:
                chosen.append(_Chosen(module, prefix, name, *_fitted(config, module, tuple(parameter.shape))))
            else:
                left.append((path, module, name, reason))
    missing = [pattern for pattern in [*include, *exclude] if pattern not in found]
    if missing:
        raise ValueError(f"the pattern {missing[0]!r} fits no parameter and no layer of the model")
    return chosen, left


def _size(x: torch.Tensor) -> int:
    return x.numel() * x.element_size()


def quantize_(
    model: nn.Module, config: Any, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Report:
    """Stores the weights of a model as codes, in place.

    Weights of `torch.nn.Linear`, `Bilinear`, `Embedding`, `EmbeddingBag`, convolutions,
    `MultiheadAttention` and of the `Conv1D` of transformers, and of subclasses, become parameters
    of uint8 (int16 for formats of more than 8 bits) without gradient, of the shape that the native
    container has for them; biases or scales become buffers beside them (`weight_bias`,
    `weight_scale`, `weight_global_scale`). A layer keeps its class (a subclass of it) and its
    `forward`: where that reads `self.weight` it gets values, decoded for this pass and rounded once
    to the dtype that the weight had, or `model.to(dtype)` gave. What is written into these values
    is lost: the codes stay. `state_dict()` has the codes, and `load_state_dict` refuses those of
    another format, where the state still has what `state_dict` told of them (`torch.save` keeps
    it).

    Parameters
    ----------
    model : torch.nn.Module
    config : str, Format or Config
        A format or a scheme, or a `Config` with more.
    include, exclude : list of str
        Patterns (`fnmatch`) of names of parameters or of layers. By default all.

    Returns
    -------
    Report
        What was quantized and what was left alone, and why.

    Raises
    ------
    ValueError
        For weights that are not finite, and patterns that fit nothing. The model is then as it was.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64))
    >>> report = sft.quantize_(model, "mxfp8-e4m3")
    >>> report.bytes_before, report.bytes_after
    (17152, 4992)
    >>> model[0].weight.dtype, model.state_dict()["0.weight"].dtype
    (torch.float32, torch.uint8)
    """
    config = Config(config)
    chosen, left = _choose(model, config, include, exclude)
    done: dict[Any, tuple[Layout, dict[str, Any], dict[str, torch.Tensor]]] = {}
    results, refused = [], []
    for one in chosen:
        parameter = one.module._parameters[one.name]
        key = (id(parameter), one.config.key(), one.shape)
        if key not in done:
            x = parameter.detach().reshape(one.shape)
            if (plan := plan_for(one.config, x)) is not None:
                entry = {**one.config.entry(one.shape), "source_dtype": _SOURCES[x.dtype]}
                parts = parts_of(plan, entry, x, one.path)
                refused.append((one.path, torch.stack([~torch.isfinite(x).all(), (x < 0).any() & (not plan.kernel.signed)])))
            else:
                entry, parts = _by_core(one, x)
            done[key] = Layout.of(entry, one.shape), {**entry, "shape": list(one.shape)}, parts
            parts[""] = nn.Parameter(parts[""], requires_grad=False)
        results.append((one, *done[key]))
    _check(refused)
    rows, seen = [], set()
    for one, layout, _, parts in results:
        parameter = one.module._parameters[one.name]
        size = 0 if id(parameter) in seen else sum(map(_size, parts.values()))
        before = 0 if id(parameter) in seen else _size(parameter)
        seen.add(id(parameter))
        rows.append(Row(one.path, _base(one.module).__name__, tuple(parameter.shape), before, size, describe(layout)))
    for one, layout, entry, parts in results:
        _install(one.module, one.name, layout, entry, parts)
    others = []
    for path, module, name, reason in left:
        parameter = module._parameters[name]
        size = 0 if id(parameter) in seen else _size(parameter)
        seen.add(id(parameter))
        others.append(Row(path, _base(module).__name__, tuple(parameter.shape), size, size, reason))
    return Report(rows, others)


def _by_core(one: _Chosen, x: torch.Tensor) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """A weight's entry and parts, by the compiled part."""
    try:
        stored = one.config.quantize(array_of(x), one.path)
    except ValueError as error:
        raise ValueError(f"{one.path}: {error}") from None
    return stored._entry, {suffix: tensor_of(part).to(x.device) for suffix, part in stored._parts.items()}


def _check(refused: list[tuple[str, torch.Tensor]]) -> None:
    """Refuses weights that are not finite, and negative ones where a format has none: one look at
    all devices, when all is done."""
    if not refused:
        return
    found = torch.stack([flags.to(refused[0][1].device) for _, flags in refused]).tolist()
    for (path, _), (not_finite, negative) in zip(refused, found, strict=True):
        if not_finite:
            raise ValueError(f"{path}: it has NaN or infinite elements, which weights must not have")
        if negative:
            raise ValueError(f"{path}: it has negative elements, which the format does not have")


def _weight_of(module: nn.Module, name: str) -> tuple[torch.dtype, tuple[int, ...]]:
    """The dtype and the shape of a weight for its layer, also where it is stored as codes."""
    if isinstance(module, _Stored) and name in module._layouts:
        return module._dtypes[name], module._shapes[name]
    parameter = module._parameters[name]
    return parameter.dtype, tuple(parameter.shape)


def _install(
    module: nn.Module, name: str, layout: Layout, entry: Mapping[str, Any], parts: Mapping[str, torch.Tensor]
) -> None:
    """Puts codes and scales into a module in the place of a weight."""
    (dtype, shape), base = _weight_of(module, name), _base(module)
    seen = {name} | (set(module._seen) if isinstance(module, _Stored) else set())
    if not isinstance(module, _Stored):
        for fact in ("_configs", "_nonfinite"):
            module.__dict__.pop(fact, None)
        module._layouts, module._entries, module._dtypes, module._shapes = {}, {}, {}, {}
    module._layouts[name], module._entries[name] = layout, dict(entry)
    module._dtypes[name], module._shapes[name] = dtype, shape
    module._parameters[name] = parts[""]
    for suffix in _SUFFIXES:
        if suffix in parts:
            module._buffers[name + suffix] = parts[suffix]
        else:
            module._buffers.pop(name + suffix, None)
    module.__class__ = _changed_class(_Stored, base, tuple(sorted(seen)))


def fake_quantize_(
    model: nn.Module, config: Any, *, include: Sequence[str] = (), exclude: Sequence[str] = (), nonfinite: str = "keep"
) -> Report:
    """Rounds the weights of a model in every pass, with straight-through gradients: training that
    knows of the quantization.

    The same layers as `quantize_`, which may follow when training is done. Parameters,
    `state_dict()` and optimizers stay what they are. Arguments as of `quantize_`, and `nonfinite`
    as of `fake_quantize`.

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 64))
    >>> _ = sft.fake_quantize_(model, "nvfp4")
    >>> model(torch.ones(1, 64)).sum().backward()
    >>> model[0]._parameters["weight"].grad.shape
    torch.Size([64, 64])
    """
    config = Config(config)
    chosen, left = _choose(model, config, include, exclude)
    rows = []
    for one in chosen:
        module, base = one.module, _base(one.module)
        size = _size(module._parameters[one.name])
        rows.append(Row(one.path, base.__name__, tuple(module._parameters[one.name].shape), size, size, repr(one.config)))
        if not isinstance(module, _Faked):
            module._configs = {}
        module._configs[one.name], module._nonfinite = (one.config.key(), one.shape), nonfinite
        module.__class__ = _changed_class(_Faked, base, tuple(sorted(module._configs)))
    sizes = [(path, module, name, reason, _size(module._parameters[name])) for path, module, name, reason in left]
    others = [Row(p, _base(m).__name__, tuple(m._parameters[n].shape), size, size, why) for p, m, n, why, size in sizes]
    return Report(rows, others)


def entries(model: nn.Module) -> dict[str, dict[str, Any]]:
    """How the quantized weights of a model lie, as plain values, by their names: the native
    container's metadata, and the dtype and the shape that each weight has for its layer. What a
    configuration file needs for `prepare_`."""
    found = {}
    for prefix, module in model.named_modules():
        if isinstance(module, _Stored):
            for name, entry in module._entries.items():
                more = {"dtype": str(module._dtypes[name]), "weight": list(module._shapes[name])}
                found[f"{prefix}.{name}" if prefix else name] = {**entry, **more}
    return found


def prepare_(model: nn.Module, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Gives a model room for the codes and scales of `entries`, for `load_state_dict`; it may be on
    the device meta."""
    for path, entry in entries.items():
        prefix, _, name = path.rpartition(".")
        module = model.get_submodule(prefix)
        if name not in _weights(module):
            raise ValueError(f"{path} is not a weight of this model that can be quantized")
        if missing := [key for key in ("format", "granularity", "shape") if key not in entry]:
            raise ValueError(f"{path}: what is said of it lacks {missing[0]!r}")
        shape, device = list(_weight_of(module, name)[1]), module._parameters[name].device
        if "weight" in entry and shape != list(entry["weight"]):
            raise ValueError(f"{path} has the shape {shape}, the stored weight {list(entry['weight'])}")
        if math.prod(shape) != math.prod(entry["shape"]):
            raise ValueError(f"{path} has the shape {shape}, the stored tensor {list(entry['shape'])}")
        layout = Layout.of(dict(entry), tuple(entry["shape"]))
        try:
            dequantizer(layout.format, layout.scale, layout.granularity, layout.packing)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None
        parts = {suffix: x.to(device) for suffix, x in _empty(layout, entry).items()}
        parts[""] = nn.Parameter(parts[""], requires_grad=False)
        _install(module, name, layout, {key: entry[key] for key in entry if key not in ("dtype", "weight")}, parts)
        if "dtype" in entry:
            module._dtypes[name] = getattr(torch, entry["dtype"].removeprefix("torch."))


def hide(model: nn.Module) -> None:
    """Gives modules of codes their old classes for a while, in which `weight` is the codes: for
    loaders that compare shapes."""
    for module in model.modules():
        if isinstance(module, _Stored):
            module.__class__ = module._base


def show(model: nn.Module) -> None:
    """Undoes `hide`. Weights that were tied meanwhile share their scales too, which files hold
    once."""
    owners: dict[int, dict[str, torch.Tensor]] = {}
    for module in model.modules():
        if "_layouts" not in module.__dict__ or isinstance(module, _Stored):
            continue
        for name in module._layouts:
            scales = {s: module._buffers[name + s] for s in _SUFFIXES if name + s in module._buffers}
            for suffix, scale in owners.setdefault(id(module._parameters[name]), scales).items():
                module._buffers[name + suffix] = scale
        module.__class__ = _changed_class(_Stored, type(module), tuple(sorted(module._layouts)))


def _empty(layout: Layout, entry: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Codes and scales of zeros."""
    is_biased = layout.scale is None and layout.format.split(":")[0] in formats._FREE
    width = width_of(layout.format, is_biased)
    shape = _quantized._native_shape(entry, layout.shape)
    parts = {"": torch.zeros(shape, dtype=torch.uint8 if width <= 8 else torch.int16)}
    if is_biased:
        parts["_bias"] = torch.zeros(scale_shape(layout.shape, layout.granularity), dtype=torch.uint8)
    elif layout.scale is not None:
        dtype = np.dtype(_quantized._scale_dtype(layout.scale)).name.replace("uint16", "int16")
        parts["_scale"] = torch.zeros(scale_shape(layout.shape, layout.granularity), dtype=getattr(torch, dtype))
    if entry.get("global_scale"):
        parts["_global_scale"] = torch.ones((), dtype=torch.float32)
    return parts


def save(model: nn.Module, path: Any, *, overwrite: bool = False) -> None:
    """Writes a model's state into a safetensors file: the native container, which
    ``smallfloat verify`` and ``dequantize`` read.

    Weights of convolutions in blocks are matrices there. The file is whole or absent.
    """
    state = model.state_dict()
    quantized = entries(model)
    tensors: dict[str, Any] = {}
    for name, value in state.items():
        owner = next((name[: -len(s)] for s in _SUFFIXES if name.endswith(s) and name[: -len(s)] in quantized), None)
        if name in quantized:
            entry = {key: fact for key, fact in quantized[name].items() if key not in ("dtype", "weight")}
            parts = {s: _codes_array(state[name + s]) for s in ("", *_SUFFIXES) if s == "" or name + s in state}
            tensors[name] = _quantized.QuantizedTensor(parts, entry)
        elif owner is None:
            tensors[name] = array_of(value)
    _quantized.save(path, tensors, overwrite=overwrite)


def load_(model: nn.Module, path: Any) -> None:
    """Loads what `save` or ``smallfloat quantize`` wrote into a model, whose weights become codes
    where the file has codes.

    Raises
    ------
    ValueError, RuntimeError
        For a file whose tensors are not the model's; of other tensors than its weights nothing is
        checked before.
    """
    told, raw = _quantized.container(path)
    found = told or {}
    arrays = {name: _quantized._array(dtype, shape, data) for name, dtype, shape, data in raw}
    parts = {name + suffix for name in found for suffix in ("", *_SUFFIXES)}
    for name, array in arrays.items():
        if array.dtype == np.uint16 and name not in parts:
            raise ValueError(f"{os.fsdecode(path)}: {name} has the dtype uint16, and is no part of a quantized weight")
    state = {name: tensor_of(array.copy()) for name, array in arrays.items()}
    known = {name for prefix, module in model.named_modules() for name in (f"{prefix}.{n}" if prefix else n for n in _weights(module))}
    for name in found:
        if name not in known:
            raise ValueError(f"{os.fsdecode(path)}: {name} is quantized there, and is no weight of this model that can be")
    whole = {name: {"shape": list(state[name].shape), **entry} for name, entry in found.items()}
    prepare_(model, whole)
    model.load_state_dict(state)
