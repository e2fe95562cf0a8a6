"""transformers: models whose weights are codes, by `from_pretrained` and `save_pretrained`.

Importing this module registers the quantization method 'smallfloat'. Then a model's own
`from_pretrained` loads what `save_pretrained` wrote, and folders of ``smallfloat quantize``, into
codes, and takes a `SmallfloatConfig` for a checkpoint of floats. The functions `from_pretrained`
and `save_pretrained` of this module read and write the layouts of other programs.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, PreTrainedModel
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from . import _core
from ._quantized import _raw, load_values, quantize_file
from .torch import Config, Report, entries, prepare_
from .torch import quantize_ as _quantize_
from .torch._quantize import hide, show

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
        self.quant_method, self.version = quant_method, version
        config = None if fmt is None else Config(fmt, **how)
        self.fmt, self.how = (None, {}) if config is None else (config.fmt, config.how)
        self.include, self.exclude, self.tensors = list(include), list(exclude), tensors

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

    def _process_model_before_weight_loading(self, model: PreTrainedModel, checkpoint_files: Any = None, **_: Any) -> Any:
        if not self.pre_quantized:
            return model
        tensors = self.quantization_config.tensors
        if tensors is None:
            tensors = _fitted(_of_files(checkpoint_files or ()), model)
        # The model's own dtype, which `from_pretrained(dtype=...)` says, is that of values.
        prepare_(model, {name: {key: entry[key] for key in entry if key != "dtype"} for name, entry in tensors.items()})
        hide(model)
        return model

    def _process_model_after_weight_loading(self, model: PreTrainedModel, **_: Any) -> Any:
        wanted = self.quantization_config
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


def _fitted(tensors: Mapping[str, Any], model: PreTrainedModel) -> dict[str, Any]:
    """With the names that a model with another head, or with none, has for them."""
    names, prefix = {name for name, _ in model.named_parameters()}, f"{model.base_model_prefix}."
    found = {}
    for name, entry in tensors.items():
        other = name.removeprefix(prefix) if name.startswith(prefix) else prefix + name
        found[name if name in names else other] = entry
    return {name: entry for name, entry in found.items() if name in names}


def quantize_(model: PreTrainedModel, config: Any, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Report:
    """`smallfloat.torch.quantize_` for a model that `save_pretrained` is to write."""
    report = _quantize_(model, config, include=include, exclude=exclude)
    kept = SmallfloatConfig(tensors=entries(model))
    model.hf_quantizer, model.is_quantized = SmallfloatQuantizer(kept, pre_quantized=True), True
    model.quantization_method = _METHOD
    model.config.quantization_config = kept
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
    folder = os.fsdecode(folder)
    config = how.pop("config", None) or AutoConfig.from_pretrained(folder)
    # What other programs say of their codes, which are read here.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    numbers = load_values(folder, _numpy_dtype(dtype))
    state = {name: _tensor(array, dtype) for name, array in numbers.items()}
    if not issubclass(model, PreTrainedModel):
        # An `AutoModel…` chooses by the configuration, and takes no weights without a folder.
        with torch.device("meta"):
            model = type(model.from_config(config))
    return model.from_pretrained(None, config=config, state_dict=state, dtype=dtype, **how)


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
    folder = os.fsdecode(folder)
    if layout is None:
        model.save_pretrained(folder, **how)
        _tell_files(folder, entries(model))
        return None
    stored = entries(model)
    # Readers of these layouts expect floats there.
    tables = {f"{name}.weight": module for name, module in model.named_modules() if isinstance(module, torch.nn.Embedding)}
    wide = {name: tables[name].weight.detach() for name in stored.keys() & tables.keys()}
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
    parts = {name + suffix for name in wide for suffix in ("", "_bias", "_scale", "_global_scale")}
    for path in sorted(Path(folder).glob("*.safetensors")):
        metadata, tensors = _core.read_tensors(str(path))
        floats = [_raw(name, wide[name].cpu()) for name, *_ in tensors if name in wide]
        tensors = [tensor for tensor in tensors if tensor[0] not in parts] + floats
        said = {}
        for name, _, _, data in tensors:
            if name in stored and name not in wide:
                entry = {key: value for key, value in stored[name].items() if key not in ("dtype", "weight")}
                said[name] = {**entry, "sha256": hashlib.sha256(data).hexdigest()}
        if said or floats:
            own = [("smallfloat.version", "1"), ("smallfloat.tensors", json.dumps(said))]
            _core.write_tensors(str(path), tensors, [*metadata, *own], True)


def _numpy_dtype(dtype: torch.dtype) -> Any:
    """The dtype of NumPy arrays that hold these numbers."""
    name = str(dtype).removeprefix("torch.")
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(name)


def _tensor(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """An array as a tensor of the same bits; torch does not know ml_dtypes."""
    return torch.from_numpy(array.view(np.uint16)).view(dtype) if dtype == torch.bfloat16 else torch.from_numpy(array)
