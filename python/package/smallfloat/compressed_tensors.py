"""compressed-tensors: a converter that quantizes checkpoints, each weight rounded once from its
exact value.

`SmallfloatConverter` goes into compressed-tensors' `convert_checkpoint` and llm-compressor's
`model_free_ptq`, alone or after a converter that dequantizes. What it writes is what
``smallfloat quantize --scheme`` writes, and compressed-tensors, transformers and vLLM load it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from compressed_tensors.entrypoints.convert import Converter
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme, QuantizationStatus
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.utils.match import match_quantizable_tensors

from . import _core
from ._config import patterns, recipe
from .torch._memory import array_of, tensor_of

__all__ = ["SmallfloatConverter"]

# How a format calls the codes, and their dtype, that of the scales, elements a byte and elements a
# scale; its preset.
_FORMATS = {
    "float-quantized": ("weight", torch.float8_e4m3fn, torch.float32, (1, 1), None, None),
    "mxfp8-quantized": ("weight", torch.float8_e4m3fn, torch.uint8, (1, 1), 32, "MXFP8A16"),
    "mxfp6-pack-quantized": ("weight_packed", torch.uint8, torch.uint8, (4, 3), 32, "MXFP6A16"),
    "mxfp4-pack-quantized": ("weight_packed", torch.uint8, torch.uint8, (2, 1), 32, "MXFP4A16"),
    "nvfp4-pack-quantized": ("weight_packed", torch.uint8, torch.float8_e4m3fn, (2, 1), 16, "NVFP4A16"),
}
# Engines join these into one matrix, which has one number; the command knows the same.
_JOINED = (
    ("q_proj", "k_proj", "v_proj"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
    ("query", "key", "value"),
    ("q", "k", "v"),
    ("wq", "wk", "wv"),
    ("q_lin", "k_lin", "v_lin"),
)


class SmallfloatConverter(Converter):
    """Quantizes matrices of wide floats.

    Parameters
    ----------
    scheme : str
        'float-quantized' (a scale for each row), 'mxfp8-quantized', 'mxfp6-pack-quantized',
        'mxfp4-pack-quantized' or 'nvfp4-pack-quantized'.
    ignore, targets : iterable of str
        Names of modules that stay as they are, and of those that are quantized ('Linear': all), as
        compressed-tensors matches them: whole names, or 're:' and a regular expression.
    scale_rule : str, optional
        As of `smallfloat.quantize`, for formats whose scales are powers of two.

    Raises
    ------
    ValueError
        A scheme of another name; a weight that is quantized already, whose rows are no whole
        blocks, or that is not finite.

    Notes
    -----
    Query, key and value, and gate and up, under the names of the usual architectures, share NVFP4's
    number of the tensor where they lie in one file.
    """

    def __init__(
        self,
        scheme: str,
        *,
        ignore: Iterable[str] = ("lm_head", "re:.*embed.*"),
        targets: Iterable[str] = ("Linear",),
        scale_rule: str | None = None,
    ) -> None:
        if scheme not in _FORMATS:
            raise ValueError(f"scheme {scheme!r} is none of compressed-tensors' float formats: one of {', '.join(_FORMATS)}")
        self.scheme, self.ignore, self.targets = scheme, patterns(ignore, "ignore"), patterns(targets, "targets")
        self._recipe = recipe(scheme, scale_rule=scale_rule)
        # Says at once what is wrong.
        _core.Quantizer(self._recipe)

    def process(self, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The tensors with codes and scales in the place of weights."""
        for modules in self._together(tensors):
            weights = [tensors.pop(f"{module}.weight") for module in modules]
            for module, stored in zip(modules, self._quantized(modules[0], weights)):
                tensors |= {f"{module}.{name}": tensor for name, tensor in stored.items()}
        return tensors

    def validate(self, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """What `process` would give, without numbers: for tensors on the device 'meta'."""
        codes, dtype, scale, (unit, size), block, _ = _FORMATS[self.scheme]
        for modules in self._together(tensors):
            for module in modules:
                rows, columns = tensors.pop(f"{module}.weight").shape
                groups = columns // block if block else 1
                tensors[f"{module}.{codes}"] = torch.empty(rows, columns // unit * size, dtype=dtype, device="meta")
                tensors[f"{module}.weight_scale"] = torch.empty(rows, groups, dtype=scale, device="meta")
                if self.scheme.startswith("nvfp4"):
                    tensors[f"{module}.weight_global_scale"] = torch.empty(1, device="meta")
        return tensors

    def update_config(self, config: QuantizationConfig | None) -> QuantizationConfig:
        """What config.json says of it, added to what others have said."""
        preset = _FORMATS[self.scheme][5]
        if preset is None:
            weights = QuantizationArgs(num_bits=8, type="float", strategy="channel", symmetric=True, dynamic=False)
            group = QuantizationScheme(targets=self.targets, weights=weights)
        else:
            group = preset_name_to_scheme(preset, self.targets)
        group.format = self.scheme
        made = QuantizationConfig(
            config_groups={"group_0": group},
            ignore=self.ignore,
            format=self.scheme,
            quantization_status=QuantizationStatus.COMPRESSED,
        )
        if config is None:
            return made
        config.merge(made)
        return config

    def get_dependencies(self, weight_name: str) -> set[str]:
        """None: each weight is quantized by itself."""
        return set()

    def _together(self, tensors: Mapping[str, torch.Tensor]) -> list[list[str]]:
        """Modules to quantize, those that share a number of the tensor together."""
        found: dict[str, list[str]] = {}
        for module, name in match_quantizable_tensors(tensors, self.ignore, self.targets):
            weight = tensors[name]
            if weight.ndim != 2:
                continue
            if weight.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
                raise ValueError(
                    f"{name}: is {weight.dtype}, and only wide floats are quantized: put a converter that dequantizes before this one"
                )
            block = _FORMATS[self.scheme][4]
            if block and weight.shape[1] % block:
                raise ValueError(f"{name}: has rows of {weight.shape[1]} elements, and {self.scheme} has whole blocks of {block}: ignore it")
            joined = _joined(module) if self.scheme.startswith("nvfp4") else None
            key = f"{joined} {weight.shape[1]} {weight.dtype}" if joined else module
            found.setdefault(key, []).append(module)
        return list(found.values())

    def _quantized(self, name: str, weights: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        """Codes and scales of matrices with as many columns, which are quantized as one."""
        codes_name, dtype, scale_dtype, (unit, size), _, _ = _FORMATS[self.scheme]
        all_of_them = weights[0] if len(weights) == 1 else torch.cat(weights)
        quantizer = _core.Quantizer(self._recipe)
        parts = quantizer.quantize(array_of(all_of_them.cpu()), f"{name}.weight", False, None)
        rows, columns = all_of_them.shape
        codes = tensor_of(parts[0]).view(dtype).reshape(rows, columns // unit * size)
        scales = tensor_of(parts[1]).view(scale_dtype).reshape(parts[2])
        found, at, device = [], 0, weights[0].device
        for weight in weights:
            here = slice(at, at + weight.shape[0])
            stored = {codes_name: codes[here].clone(), "weight_scale": scales[here].clone()}
            if self.scheme.startswith("nvfp4"):
                stored["weight_global_scale"] = torch.tensor([parts[3]])
            found.append({key: tensor.to(device) for key, tensor in stored.items()})
            at += weight.shape[0]
        return found


def _joined(module: str) -> str | None:
    """What the names of modules that are joined have in common."""
    parts = module.split(".")
    for i, part in enumerate(parts):
        for names in _JOINED:
            if part in names:
                return ".".join([*parts[:i], ",".join(names), *parts[i + 1 :]])
    return None
