"""transformers: models whose weights are codes, by `from_pretrained` and `save_pretrained`.

Importing this module registers the quantization method 'smallfloat'. Then `from_pretrained` loads
what `save_pretrained` wrote, and folders of ``smallfloat quantize``, into codes, and takes a
`SmallfloatConfig` for a checkpoint of floats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformers import PreTrainedModel
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from .torch import Config, Report, entries, prepare_
from .torch import quantize_ as _quantize_
from .torch._quantize import hide, show

__all__ = ["SmallfloatConfig", "SmallfloatQuantizer", "quantize_"]

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
        prepare_(model, tensors)
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
