"""Readers of layouts that are the packages of those who made them, on a CPU: each takes the tensors
of one module, as the `safetensors` package gives them, and returns its weight in the widest type
that the package computes in.

    READERS[layout](local) -> torch.Tensor      local: names after the module's, `weight`, `weight_scale`, …

A layout without an entry has no reader of others that runs on a CPU; text.py reads it.
"""

import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from bitsandbytes.functional import QuantState, dequantize_4bit
from comfy_kitchen.backends import eager
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from gguf import GGUFReader
from gguf.quants import dequantize
from modelopt.torch.quantization.qtensor import FP8QTensor, NVFP4QTensor
from torchao.prototype.mx_formats import mx_tensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

F32 = torch.float32
FP4 = torch.float4_e2m1fn_x2


def two_dimensions(tensor):
    """A tensor as a matrix, without the dimension of 1 that keeps other programs away from the
    native container."""
    return tensor.reshape(-1, tensor.shape[-2 if tensor.ndim > 2 else -1])


def by_torch(local, _):
    """Elements that stand for themselves: PyTorch's own conversion."""
    return local["weight"].to(F32)


def by_compressed_tensors(local, config):
    told = QuantizationConfig.model_validate(config["quantization_config"])
    [group] = told.config_groups.values()
    return BaseCompressor.get_value_from_registry(told.format).decompress(local, group)["weight"]


def by_transformers(scale):
    def read(local, _):
        return Fp8Dequantize(None)._dequantize_one(local["weight"], local[scale], output_dtype=F32)

    return read


def by_torchao(element):
    def read(local, _):
        codes = two_dimensions(local["weight"]).view(torch.uint8)
        codes = codes if element is FP4 else codes.view(element)
        scales = local["weight_scale"].view(torch.float8_e8m0fnu)
        return mx_tensor.to_dtype(codes, scales, element, 32, F32)

    return read


def nvfp4_by_torchao(local, _):
    codes, scales = two_dimensions(local["weight"]), local["weight_scale"].view(torch.float8_e4m3fn)
    scales = scales.reshape(len(codes), -1)
    tensor = NVFP4Tensor(codes, scales, 16, F32, per_tensor_scale=1 / local["weight_global_scale"])
    return tensor.dequantize(F32)


def nvfp4_by_modelopt(local, _):
    codes = local["weight"]
    tensor = NVFP4QTensor(torch.Size([codes.shape[0], 2 * codes.shape[1]]), F32, codes)
    return tensor.dequantize(F32, scale=local["weight_scale"], double_scale=local["weight_scale_2"], block_sizes={-1: 16})


def fp8_by_modelopt(local, _):
    codes = local["weight"]
    return FP8QTensor(codes.shape, F32, codes).dequantize(F32, scale=local["weight_scale"])


def fp8_by_comfy(local, _):
    scale = local["weight_scale"] if "weight_scale" in local else local["scale_weight"]
    return eager.dequantize_per_tensor_fp8(local["weight"], scale, F32)


def mxfp8_by_comfy(local, _):
    return eager.dequantize_mxfp8(local["weight"], local["weight_scale"].view(torch.float8_e8m0fnu), F32)


def nvfp4_by_comfy(local, _):
    return eager.dequantize_nvfp4(local["weight"], local["weight_scale_2"], local["weight_scale"], F32)


def by_transformers_of_gpt_oss(local, _):
    return convert_moe_packed_tensors(local["weight_blocks"], local["weight_scales"], dtype=F32)


def by_bitsandbytes(local, _):
    state = QuantState.from_dict({name: tensor for name, tensor in local.items() if name != "weight"}, torch.device("cpu"))
    state.dtype = F32
    return dequantize_4bit(local["weight"], state)


def by_gguf(path):
    """Tensors of a GGUF file that the `gguf` package dequantizes; the number of the tensor it
    leaves to the model."""
    tensors = {tensor.name: tensor for tensor in GGUFReader(path).tensors}
    found = {}
    for name, tensor in tensors.items():
        if tensor.tensor_type.name not in ("MXFP4", "NVFP4", "BF16", "F16", "Q8_0"):
            continue
        values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        factor = tensors.get(name.removesuffix("weight") + "scale")
        if factor is not None and name.endswith("weight") and tensor.tensor_type.name == "NVFP4":
            values = values * float(factor.data[0])
        found[name] = values
    return found


READERS = {
    "mxfp8-e4m3": ("torchao", by_torchao(torch.float8_e4m3fn)),
    "mxfp8-e5m2": ("torchao", by_torchao(torch.float8_e5m2)),
    "mxfp4": ("torchao", by_torchao(FP4)),
    "nvfp4": ("torchao", nvfp4_by_torchao),
    "deepseek": ("transformers", by_transformers("weight_scale_inv")),
    "float-quantized": ("compressed-tensors", by_compressed_tensors),
    "mxfp8-quantized": ("compressed-tensors", by_compressed_tensors),
    "mxfp6-pack-quantized": ("compressed-tensors", by_compressed_tensors),
    "mxfp4-pack-quantized": ("compressed-tensors", by_compressed_tensors),
    "nvfp4-pack-quantized": ("compressed-tensors", by_compressed_tensors),
    "plain-e4m3": ("torch", by_torch),
    "plain-e5m2": ("torch", by_torch),
    "deepseek-e8m0": ("transformers", by_transformers("weight_scale_inv")),
    "deepseek-v4": ("transformers", by_transformers("scale")),
    "deepseek-v4-experts": ("transformers", by_transformers("scale")),
    "mxfp4-typed": ("torchao", by_torchao(FP4)),
    "mxfp8-typed": ("torchao", by_torchao(torch.float8_e4m3fn)),
    "modelopt-nvfp4": ("modelopt", nvfp4_by_modelopt),
    "modelopt-fp8": ("modelopt", fp8_by_modelopt),
    "quark-mxfp4": ("torchao", by_torchao(FP4)),
    "comfy-fp8": ("comfy-kitchen", fp8_by_comfy),
    "comfy-scaled-fp8": ("comfy-kitchen", fp8_by_comfy),
    "comfy-mxfp8": ("comfy-kitchen", mxfp8_by_comfy),
    "comfy-nvfp4": ("comfy-kitchen", nvfp4_by_comfy),
    "gpt-oss": ("transformers", by_transformers_of_gpt_oss),
    **{name: ("gguf", by_gguf) for name in ("gguf-mxfp4", "gguf-nvfp4", "gguf-bf16", "gguf-f16", "gguf-q8_0")},
    "bnb-nf4": ("bitsandbytes", by_bitsandbytes),
    "bnb-fp4": ("bitsandbytes", by_bitsandbytes),
}
