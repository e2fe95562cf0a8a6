"""transformers: models whose weights are codes, by `from_pretrained` and `save_pretrained`.

Importing this module registers the quantization method 'smallfloat'. Then a model's own
`from_pretrained` loads what `save_pretrained` wrote, and folders of ``smallfloat quantize``, into
codes, and takes a `SmallfloatConfig` for a checkpoint of floats. The functions `from_pretrained`
and `save_pretrained` of this module read and write the layouts of other programs.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

if int(transformers.__version__.split(".")[0]) < 5:
    raise ImportError(f"smallfloat.transformers needs transformers 5 or later, and this is {transformers.__version__}")

from transformers import AutoConfig, GenerationConfig, PreTrainedModel
from transformers.core_model_loading import revert_weight_conversion
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from . import _core
from ._config import patterns
from ._interop import number_dtype, torch_dtype
from ._quantized import _output, _raw, load_values, quantize_file
from .torch import Config, Report, entries, prepare_
from .torch import quantize_ as _quantize_
from .torch._quantize import _SUFFIXES, _weights, hide, show

__all__ = ["SmallfloatConfig", "SmallfloatQuantizer", "from_pretrained", "quantize_", "save_pretrained"]

_METHOD = "smallfloat"


@register_quantization_config(_METHOD)
class SmallfloatConfig(QuantizationConfigMixin):
    """What `config.json` says of a quantized model.

    Parameters
    ----------
    fmt : str, Format or Config, optional
        What to quantize to, as of `smallfloat.torch.quantize_`; None for what is quantized already.
    include, exclude : list of str
        As of `smallfloat.torch.quantize_`.
    tensors : dict, optional
        How quantized weights lie, which `save_pretrained` writes.
    **how :
        As of `smallfloat.torch.Config`.
    """

    def __init__(
        self,
        fmt: Any = None,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tensors: Mapping[str, Any] | None = None,
        version: str = "1",
        quant_method: str = _METHOD,
        **how: Any,
    ) -> None:
        if version != "1":
            raise ValueError(f"quantization_config has version {version!r}: this smallfloat knows version '1'")
        is_told = tensors is None or isinstance(tensors, Mapping) and all(isinstance(entry, Mapping) for entry in tensors.values())
        if not is_told:
            raise ValueError("quantization_config: its `tensors` must be an object with an object for each quantized weight")
        self.quant_method, self.version = quant_method, version
        # Plain values, as `config.json` has them.
        self.fmt, self.how = (None, {}) if fmt is None else json.loads(Config(fmt, **how).key())
        self.include, self.exclude = patterns(include, "include"), patterns(exclude, "exclude")
        self.tensors = tensors

    def config(self) -> Config | None:
        """What to quantize to."""
        return None if self.fmt is None else Config(self.fmt, **self.how)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {"quant_method": self.quant_method, "version": self.version}
        if self.tensors is not None:
            found["tensors"] = json.loads(json.dumps(self.tensors))
        elif self.fmt is not None:
            found |= {"fmt": self.fmt, "include": self.include, "exclude": self.exclude, **self.how}
        return found

    def to_diff_dict(self) -> dict[str, Any]:
        """The same."""
        return self.to_dict()


@register_quantizer(_METHOD)
class SmallfloatQuantizer(HfQuantizer):
    """Makes room for codes before a checkpoint is loaded, or quantizes after."""

    quantization_config: SmallfloatConfig
    is_trainable = False
    is_compileable = True

    def is_serializable(self, **_: Any) -> bool:
        """Codes are tensors as all others."""
        return True

    def get_state_dict_and_metadata(self, model: PreTrainedModel) -> tuple[None, dict[str, str]]:
        """Lets `config.json` tell how codes lie when they are saved, by their names in files."""
        names = _names_in_files(model)[0]
        self.quantization_config.tensors = {names.get(name, name): entry for name, entry in entries(model).items()}
        model.config.quantization_config = self.quantization_config
        return None, {}

    def _process_model_before_weight_loading(self, model: PreTrainedModel, checkpoint_files: Any = None, **_: Any) -> Any:
        if not self.pre_quantized:
            return model
        tensors = self.quantization_config.tensors
        if tensors is None:
            tensors = _of_files(checkpoint_files or ())
        tensors, names = _placed(tensors, model)
        # The model's own dtype, which `from_pretrained(dtype=...)` says, is that of values.
        prepare_(model, {name: {key: entry[key] for key in entry if key != "dtype"} for name, entry in tensors.items()})
        tied = {*model.all_tied_weights_keys.keys(), *model.all_tied_weights_keys.values()}
        _check_files(checkpoint_files or (), model, {name: names[name] for name in tensors if name not in tied})
        hide(model)
        # Files have the scales of tied weights once.
        scales = [f"^{re.escape(name + suffix)}$" for name in tied & tensors.keys() for suffix in _SUFFIXES]
        model._keys_to_ignore_on_load_missing = [*(model._keys_to_ignore_on_load_missing or ()), *scales]
        for name in tensors:
            # Nothing random is put into those that are not in memory, which are refused below.
            model.get_parameter(name)._is_hf_initialized = True
        return model

    def _process_model_after_weight_loading(self, model: PreTrainedModel, **_: Any) -> Any:
        wanted, parameters = self.quantization_config, dict(model.named_parameters())
        away = [name for name, parameter in parameters.items() if parameter.is_meta]
        # A model that is on the device meta as a whole has no numbers, and may have room for codes.
        if away and not (self.pre_quantized and len(away) == len(parameters)):
            raise ValueError(f"{away[0]} is not in memory, where codes are made and kept: load with device_map='cpu', or onto devices that hold the model")
        if self.pre_quantized:
            _share_scales(model)
        show(model)
        if not self.pre_quantized:
            config = wanted.config()
            if config is None:
                raise ValueError("SmallfloatConfig names no format, and the checkpoint is not quantized: write SmallfloatConfig('mxfp8-e4m3')")
            _quantize_(model, config, include=wanted.include, exclude=wanted.exclude)
        wanted.tensors = entries(model)
        return model


def _of_files(paths: Iterable[str]) -> dict[str, Any]:
    """What native containers say of their tensors."""
    from safetensors import safe_open

    found: dict[str, Any] = {}
    for path in paths:
        with safe_open(path, framework="pt") as file:
            named = json.loads((file.metadata() or {}).get("smallfloat.tensors", "{}"))
            # Older files tell a shape only of packed codes.
            found |= {name: {"shape": file.get_slice(name).get_shape(), **entry} for name, entry in named.items()}
    if not found:
        raise ValueError("config.json says that the checkpoint is smallfloat's, and its files have no quantized tensors")
    return found


def _names_in_files(model: PreTrainedModel) -> tuple[dict[str, str], set[str]]:
    """The names in files of the tensors that are the same there, by their names in the model; and
    all names in files. Some models join tensors of their files into one."""
    state = {name: tensor.to("meta") for name, tensor in model.state_dict().items() if isinstance(tensor, torch.Tensor)}
    own = {id(tensor): name for name, tensor in state.items()}
    stored = revert_weight_conversion(model, dict(state))
    return {own[id(tensor)]: name for name, tensor in stored.items() if id(tensor) in own}, set(stored)


def _placed(tensors: Mapping[str, Any], model: PreTrainedModel) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Tensors by the names that a model has for them, also one with another head, or with none; and
    the names that files may have for them."""
    by_name, stored = _names_in_files(model)
    by_file, prefix = {file: name for name, file in by_name.items()}, f"{model.base_model_prefix}."
    known = {name for at, module in model.named_modules() for name in (f"{at}.{n}" for n in _weights(module))}
    found, names = {}, {}
    for name, entry in tensors.items():
        other = name.removeprefix(prefix) if name.startswith(prefix) else prefix + name
        at = next((at for at in (by_file.get(name), name, by_file.get(other), other) if at in known), None)
        if at is not None:
            found[at], names[at] = entry, [name, by_name.get(at, at), at]
        elif {name, other} & (stored | by_name.keys()):
            raise ValueError(
                f"{name} is quantized, and this model has no weight of a linear or an embedding layer for it: "
                "smallfloat.transformers.from_pretrained loads the folder as floats"
            )
    return found, names


def _check_files(paths: Iterable[str], model: PreTrainedModel, names: Mapping[str, Sequence[str]]) -> None:
    """Refuses files that lack codes or scales, in whose place there would be numbers by chance."""
    held = {name for path in paths for name in _tensors_of(path)}
    for name, candidates in names.items() if held else ():
        stem = next((candidate for candidate in candidates if candidate in held), None)
        module, _, weight = name.rpartition(".")
        parts = ["", *(suffix for suffix in _SUFFIXES if weight + suffix in model.get_submodule(module)._buffers)]
        lacking = [part for part in parts if f"{stem}{part}" not in held]
        if lacking:
            raise ValueError(f"the files of the checkpoint have no {stem or candidates[0]}{lacking[0]}, which config.json says are there")


def _share_scales(model: PreTrainedModel) -> None:
    """Gives tied weights the scales that were loaded for one of them."""
    groups: dict[tuple[int, str], list[torch.nn.Module]] = {}
    for module in model.modules():
        for name in module.__dict__.get("_layouts", ()):
            for part in [name + suffix for suffix in _SUFFIXES if name + suffix in module._buffers]:
                groups.setdefault((id(module._parameters[name]), part), []).append(module)
    for (_, part), modules in groups.items():
        held = [module._buffers[part] for module in modules]
        scale = next((x for x in held if getattr(x, "_is_hf_initialized", False)), held[0])
        for module in modules:
            module._buffers[part] = scale


def _check(model: Any) -> None:
    """Refuses what has no `save_pretrained` and no configuration."""
    if not isinstance(model, PreTrainedModel):
        raise TypeError(f"model must be a PreTrainedModel of transformers, not {type(model).__name__}: smallfloat.torch takes others")


def _describe(model: PreTrainedModel) -> None:
    """Lets `save_pretrained` tell that weights are codes."""
    if not isinstance(getattr(model, "hf_quantizer", None), SmallfloatQuantizer):
        model.hf_quantizer, model.is_quantized = SmallfloatQuantizer(SmallfloatConfig(), pre_quantized=True), True
        model.quantization_method = _METHOD
    model.hf_quantizer.get_state_dict_and_metadata(model)


def quantize_(model: PreTrainedModel, config: Any, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Report:
    """`smallfloat.torch.quantize_` for a model that `save_pretrained` is to write."""
    _check(model)
    report = _quantize_(model, config, include=include, exclude=exclude)
    _describe(model)
    return report


def from_pretrained(model: type[Any], folder: Any, *, dtype: torch.dtype = torch.float32, **how: Any) -> Any:
    """A model from a folder whose weights lie in any layout that `smallfloat.load_values` reads,
    without the package that wrote them.

    Parameters
    ----------
    model : type
        A class of transformers, such as `AutoModelForCausalLM`.
    folder : path
        `config.json` and .safetensors files.
    dtype : torch.dtype
        float32 (default), float16, bfloat16 or float64: what weights become, with one rounding.
    **how :
        As of the class's own `from_pretrained`. With `quantization_config=SmallfloatConfig(...)`
        weights become codes again.

    Returns
    -------
    PreTrainedModel
    """
    folder, dtype = os.fsdecode(folder), torch_dtype(dtype)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "the checkpoint must be a folder on this machine", folder)
    if "torch_dtype" in how:
        raise TypeError("torch_dtype is not an argument: write dtype")
    config = how.pop("config", None) or AutoConfig.from_pretrained(folder)
    # What other programs say of their codes, which are read here.
    said = config.__dict__.pop("quantization_config", {})
    numbers = load_values(folder, number_dtype(dtype))
    state = {name: _tensor(array, dtype) for name, array in numbers.items()}
    # Weights of convolutions are matrices in files.
    told = said.get("tensors") if isinstance(said, Mapping) and said.get("quant_method") == _METHOD else None
    for name in state.keys() & (told or {}).keys():
        state[name] = state[name].reshape(told[name].get("weight", state[name].shape))
    if not issubclass(model, PreTrainedModel):
        # An `AutoModel…` chooses by the configuration, and takes no weights without a folder.
        with torch.device("meta"):
            model = type(model.from_config(config))
    loaded = model.from_pretrained(None, config=config, state_dict=state, dtype=dtype, **how)
    loaded.name_or_path = loaded.config.name_or_path = folder
    if loaded.can_generate() and "generation_config" not in how and os.path.exists(os.path.join(folder, "generation_config.json")):
        loaded.generation_config = GenerationConfig.from_pretrained(folder)
    return loaded


def save_pretrained(model: PreTrainedModel, folder: Any, layout: str | None = None, **how: Any) -> Any:
    """Writes a model's folder with digests of its codes, which ``smallfloat verify`` checks, or in
    a layout of other programs.

    A model's own `save_pretrained` says in `config.json` alone how codes lie. That is read as well,
    and has no digests.

    Parameters
    ----------
    model : PreTrainedModel
        With weights of codes or of floats.
    folder : path
        A new folder.
    layout : str, optional
        A scheme, such as 'modelopt-nvfp4', 'deepseek' or 'mxfp4-pack-quantized'. Codes are
        converted with one rounding, and not at all where the layout holds the same values. By
        default codes stay what they are.
    **how :
        With a layout those of `smallfloat.quantize_file`, whose report is returned; else those of
        the model's own `save_pretrained`.
    """
    _check(model)
    folder, stored = os.fsdecode(folder), entries(model)
    if stored:
        _describe(model)
    names = {} if how.get("save_original_format") is False else _names_in_files(model)[0]
    stored = {names.get(name, name): entry for name, entry in stored.items()}
    if layout is None:
        model.save_pretrained(folder, **how)
        _tell_files(folder, stored)
        return None
    folder = _output(folder)
    # Readers of these layouts expect floats in tables, and in tensors of more dimensions than two.
    wide = {}
    for name in entries(model):
        module, _, weight = name.rpartition(".")
        owner = model.get_submodule(module)
        if isinstance(owner, torch.nn.Embedding) or len(stored[names.get(name, name)]["weight"]) != 2:
            wide[names.get(name, name)] = getattr(owner, weight).detach()
    if len(wide) < len(stored):
        how.setdefault("include", sorted(stored.keys() - wide.keys()))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(folder))) as own:
        model.save_pretrained(own)
        _tell_files(own, stored, wide)
        return quantize_file(own, folder, layout, **how)


def _tell_files(folder: Any, stored: Mapping[str, Mapping[str, Any]], wide: Mapping[str, torch.Tensor] | None = None) -> None:
    """Writes into the files of a folder how the codes in them lie, with their digests, as native
    containers have it, and floats in the place of those in `wide`."""
    wide = wide or {}
    parts = {name + suffix for name in wide for suffix in ("", *_SUFFIXES)}
    paths = sorted(Path(folder).glob("*.safetensors"))
    at = {name: path.name for path in paths for name in _tensors_of(path)}
    # Where transformers began a file between codes and their scales, these go to the codes.
    whole = {name + suffix: at[name] for name in stored.keys() & at.keys() for suffix in _SUFFIXES if name + suffix in at}
    stray = {name: file for name, file in whole.items() if at[name] != file}
    sources = [path for path in paths if path.name in {at[name] for name in stray}]
    moved = [tensor for path in sources for tensor in _core.read_tensors(str(path))[1] if tensor[0] in stray.keys() - parts]
    for path in paths:
        metadata, held = _core.read_tensors(str(path))
        tensors = [tensor for tensor in held if tensor[0] not in parts | stray.keys()]
        tensors += [_raw(name, wide[name].cpu()) for name, *_ in held if name in wide]
        tensors += [tensor for tensor in moved if stray[tensor[0]] == path.name]
        said = {}
        for name, _, _, data in tensors:
            if name in stored and name not in wide:
                entry = {key: value for key, value in stored[name].items() if key not in ("dtype", "weight")}
                said[name] = {**entry, "sha256": hashlib.sha256(data).hexdigest()}
        own = [("smallfloat.version", "1"), ("smallfloat.tensors", json.dumps(said))] if said else []
        if said or tensors != held:
            _core.write_tensors(str(path), tensors, [*metadata, *own], True)
    for path in Path(folder).glob("*.safetensors.index*.json") if stray or wide else ():
        index = json.loads(path.read_text(encoding="utf-8"))
        files = {name: stray.get(name, file) for name, file in index["weight_map"].items() if name in wide or name not in parts}
        path.write_text(json.dumps({**index, "weight_map": files}, indent=2) + "\n", encoding="utf-8")


def _tensors_of(path: Any) -> list[str]:
    """The names of the tensors in a file."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return list(file.keys())


def _tensor(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """An array as a tensor of the same bits; torch does not know ml_dtypes."""
    return torch.from_numpy(array.view(np.uint16)).view(dtype) if dtype == torch.bfloat16 else torch.from_numpy(array)
