"""Do the quantizers of other libraries give what their own texts say? Called by
scripts/peers/quantizers; prints the section.

    quantizers.py > section.md

Each writer below is given the same tensors, and each number it gives is held against what its own
documentation, docstring or the standard that it names asks for: a scale that follows from the
largest magnitude by a rule, and of each element the nearest value at that scale, ties to even.
Expected results are exact: binary64 holds every product that is compared, so that nothing is
rounded here. The two halves are judged apart: codes are held against the scale that the writer
itself stored.
"""

import datetime
import importlib.metadata
import pathlib
import sys
import textwrap
import warnings
from dataclasses import dataclass

warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "evidence" / "layouts"))

import numpy as np
import text
import torch
from bitsandbytes import functional as bnb
from comfy_kitchen.backends import eager
from comfy_kitchen.float_utils import from_blocked
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import quantize as ct_quantize
from compressed_tensors.quantization.quant_scheme import MXFP4, MXFP8, NVFP4
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from gguf import quants
from modelopt.torch.quantization.qtensor import FP8QTensor, MXFP4QTensor, MXFP8QTensor, NVFP4QTensor
from torchao.prototype.mx_formats import mx_tensor
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
from torchao.quantization.quant_primitives import _choose_scale_float8, _quantize_affine_float8
from transformers.integrations.finegrained_fp8 import Fp8Quantize

F32, FP8, FP4 = torch.float32, torch.float8_e4m3fn, torch.float4_e2m1fn_x2
INTEGERS = np.where(np.arange(256) < 128, np.arange(256), np.arange(256) - 256).astype(float)
BFLOAT16 = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
STORED = {"e4m3": 3, "e5m2": 2, "e2m1": 1, "e2m3": 3}
TABLES = {"e4m3": text.E4M3, "e5m2": text.E5M2, "e2m1": text.E2M1, "e2m3": text.E2M3}


@dataclass
class Given:
    """What a writer gave for rows of elements: the codes, what they stand for, and a scale for each
    element.

    The value of a code is table[code] · scales / divisor. Of the scales `expected` has those that
    are and those that should be; where they are codes themselves, `rounded` has what they should be
    the nearest to, their table, the codes and their scale.
    """

    table: np.ndarray
    codes: np.ndarray
    scales: np.ndarray
    divisor: float = 1.0
    rounded: tuple | None = None
    expected: tuple | None = None


def numpy(tensor):
    """A tensor's numbers, or its bytes."""
    if tensor.dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu):
        tensor = tensor.view(torch.uint8)
    return tensor.detach().float().numpy().astype(np.float64) if tensor.is_floating_point() else tensor.numpy()


def amax(x, block):
    return np.abs(x.double().numpy()).reshape(len(x), -1, block).max(axis=-1)


def power(rule, largest, element):
    """The exponent byte that a rule gives for the largest magnitude of a block, exactly
    (docs/schemes.md has the sources)."""
    table, stored = TABLES[element], STORED[element]
    top_fraction, top = np.frexp(np.nanmax(table[np.isfinite(table)]))
    fraction, exponent = np.frexp(largest)
    if rule == "floor":
        e = exponent - top
    elif rule == "ceil":
        e = exponent - (fraction == 0.5) - top + 1
    elif rule == "rceil":
        e = exponent - top + (fraction > top_fraction)
    else:  # even: half of the last bit that the element keeps is added
        e = exponent - top + (fraction + 2.0 ** -(stored + 2) >= 1)
    return np.where(largest == 0, 0, np.clip(e + 127, 0, 254)).astype(np.int64)


def low_first(packed):
    return text.low_first(numpy(packed).astype(np.uint8).reshape(-1))


def powers(x, table, codes, bytes_, rule, element, block=32):
    """What writers of MX give."""
    found = numpy(bytes_).astype(np.int64).reshape(-1)
    scales = np.repeat(text.E8M0[found], block)
    return Given(table, codes, scales, expected=(found, power(rule, amax(x, block), element).reshape(-1)))


# The writers. Each takes a matrix of torch, F32 or BF16.


def gguf_mxfp4(x):
    blocks = quants.MXFP4.quantize_blocks(x.float().numpy().reshape(-1, 32))
    codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1).reshape(-1)
    return powers(x, text.E2M1, codes, torch.from_numpy(blocks[:, 0].copy()), "floor", "e2m1")


def gguf_q8_0(stored):
    def write(x):
        blocks = quants.Q8_0.quantize_blocks(x.float().numpy().reshape(-1, 32))
        halves = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float64).reshape(-1)
        before = (amax(x, 32).reshape(-1) / 127).astype(np.float32)
        expected = before.astype(np.float16).astype(np.float64)
        scales = halves if stored else before.astype(np.float64)
        return Given(INTEGERS, blocks[:, 2:].reshape(-1), np.repeat(scales, 32), expected=(halves, expected))

    return write


def gguf_bf16(x):
    codes = np.ascontiguousarray(quants.BF16.quantize_blocks(x.float().numpy().reshape(-1, 32))).view(np.uint16)
    return Given(BFLOAT16, codes.reshape(-1).astype(np.int64), np.ones(x.numel()))


def gguf_ue4m3(x):
    """The scale of NVFP4 blocks, of which the package has no writer: magnitudes as they are."""
    codes = quants.NVFP4.fp32_to_ue4m3(x.float().abs().numpy().reshape(-1))
    return Given(np.where(np.arange(256) < 127, text.E4M3, np.nan), codes.astype(np.int64), np.ones(x.numel()))


def modelopt_fp8(x):
    tensor, scale = FP8QTensor.quantize(x)
    codes = numpy(tensor._quantized_data).reshape(-1)
    given = numpy(scale).reshape(-1)
    expected = quotient(x.reshape(1, -1), x.numel(), scale)
    return Given(text.E4M3, codes, np.full(x.numel(), given[0]), expected=(given, expected))


def quotient(x, block, scale):
    """amax / 448 rounded once to the type of a scale."""
    largest = amax(x, block).reshape(-1).astype(np.float32) / np.float32(448)
    if scale.dtype == torch.bfloat16:
        # An exact quotient is a midpoint of BF16 if the one in F32 is: 448 has three bits, and amax
        # eight.
        return torch.from_numpy(largest).to(torch.bfloat16).double().numpy()
    return largest.astype(np.float64)


def modelopt_mxfp8(x):
    tensor, scales = MXFP8QTensor.quantize(x)
    return powers(x, text.E4M3, numpy(tensor._quantized_data).reshape(-1), scales, "rceil", "e4m3")


def modelopt_mxfp4(x):
    tensor, scales = MXFP4QTensor.quantize(x, 32)
    return powers(x, text.E2M1, low_first(tensor._quantized_data), scales, "rceil", "e2m1")


def fours(x, codes, scales, multiplier=1.0, divisor=1.0):
    """What writers of NVFP4 give: E4M3 scales of amax / 6 over the number of the tensor."""
    bytes_ = numpy(scales).astype(np.uint8).reshape(-1)
    # A scale is the nearest E4M3 number to amax · divisor / (6 · multiplier), or the least above 0.
    rounded = (amax(x, 16).reshape(-1) * divisor, text.E4M3, bytes_.astype(np.int64), np.full(len(bytes_), 6 * multiplier))
    return Given(text.E2M1, codes, np.repeat(text.E4M3[bytes_] * multiplier, 16), divisor, rounded=rounded)


def modelopt_nvfp4(x):
    tensor, scales, number = NVFP4QTensor.quantize(x, 16)
    return fours(x, low_first(tensor._quantized_data), scales, multiplier=float(number))


def compressed(x, arguments, codes_of, global_scale=None):
    """Through `calculate_qparams` and the compressor, as llm-compressor calls them."""
    blocks = x.reshape(len(x), -1, arguments.group_size or x.shape[1])
    scale, zero = calculate_qparams(blocks.amin(-1), blocks.amax(-1), arguments, global_scale=global_scale)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
    state = {"weight": x, "weight_scale": scale, "weight_zero_point": zero}
    if global_scale is not None:
        state["weight_global_scale"] = global_scale
    return codes_of(scheme, state)


def ct_mxfp4(x):
    state = compressed(x, MXFP4["weights"], BaseCompressor.get_value_from_registry("mxfp4-pack-quantized").compress_with)
    return powers(x, text.E2M1, low_first(state["weight_packed"]), state["weight_scale"], "even", "e2m1")


def ct_mxfp8(x):
    state = compressed(x, MXFP8["weights"], BaseCompressor.get_value_from_registry("mxfp8-quantized").compress_with)
    # Its own text: amax is rounded as for E2M1 whatever the element, then 2^8 is taken out.
    largest = amax(x, 32)
    expected = np.clip(power("even", largest, "e2m1") + 2 - 8, 0, 254)
    found = numpy(state["weight_scale"]).astype(np.int64).reshape(-1)
    codes = numpy(state["weight"]).reshape(-1)
    return Given(text.E4M3, codes, np.repeat(text.E8M0[found], 32), expected=(found, expected.reshape(-1)))


def ct_nvfp4(x):
    number = generate_gparam(x.amin(), x.amax())
    compress = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized").compress_with
    state = compressed(x, NVFP4["weights"], compress, number)
    return fours(x, low_first(state["weight_packed"]), state["weight_scale"], divisor=float(number))


def ct_fp8(x):
    arguments = QuantizationArgs(num_bits=8, type="float", strategy="channel", symmetric=True)
    scale, zero = calculate_qparams(x.amin(-1, keepdim=True), x.amax(-1, keepdim=True), arguments)
    codes = ct_quantize(x, scale, zero, arguments, dtype=FP8)
    found = numpy(scale).reshape(-1)
    expected = quotient(x, x.shape[1], scale)
    return Given(text.E4M3, numpy(codes).reshape(-1), np.repeat(found, x.shape[1]), expected=(found, expected))


def torchao_mx(element, rule):
    table = TABLES[element]

    def write(x):
        dtype = FP4 if element == "e2m1" else FP8
        scales, codes = mx_tensor.to_mx(x, dtype, 32, getattr(ScaleCalculationMode, rule.upper()))
        codes = low_first(codes) if element == "e2m1" else numpy(codes).reshape(-1)
        return powers(x, table, codes, scales, rule, element)

    return write


def torchao_nvfp4(x):
    number = per_tensor_amax_to_scale(x.abs().max().float())
    tensor = NVFP4Tensor.to_nvfp4(x, per_tensor_scale=number)
    return fours(x, low_first(tensor.qdata), tensor.scale, multiplier=float(number))


def torchao_fp8(x):
    scale = _choose_scale_float8(x, [1, x.shape[1]])
    codes = numpy(_quantize_affine_float8(x, scale, FP8)).reshape(-1)
    found = numpy(scale).reshape(-1)
    expected = quotient(x, x.shape[1], scale)
    return Given(text.E4M3, codes, np.repeat(found, x.shape[1]), expected=(found, expected))


def bitsandbytes_4bit(kind):
    def write(x):
        packed, state = bnb.quantize_4bit(x, blocksize=64, quant_type=kind)
        codes = text.high_first(packed.numpy().reshape(-1))
        found = numpy(state.absmax)
        return Given(numpy(state.code), codes, np.repeat(found, 64), expected=(found, amax(x, 64).reshape(-1)))

    return write


def comfy_fp8(x):
    scale = (x.abs().max() / 448).float()
    codes = numpy(eager.quantize_per_tensor_fp8(x, scale)).reshape(-1)
    return Given(text.E4M3, codes, np.full(x.numel(), float(scale)))


def comfy_mxfp8(x):
    codes, scales = eager.quantize_mxfp8(x)
    scales = from_blocked(scales.view(torch.uint8), num_rows=len(x), num_cols=x.shape[1] // 32)
    return powers(x, text.E4M3, numpy(codes).reshape(-1), scales, "rceil", "e4m3")


def comfy_nvfp4(x):
    number = (x.abs().max() / (448 * 6)).float()
    packed, scales = eager.quantize_nvfp4(x, number)
    scales = from_blocked(scales.view(torch.uint8), num_rows=len(x), num_cols=x.shape[1] // 16)
    return fours(x, text.high_first(packed.numpy().reshape(-1)), scales, multiplier=float(number))


class Settings:
    """What transformers' operation asks of its quantizer."""

    def __init__(self, scale_fmt):
        self.quantization_config = self
        self.weight_block_size, self.scale_fmt = (128, 128), scale_fmt


def transformers_fp8(scale_fmt):
    def write(x):
        made = Fp8Quantize(Settings(scale_fmt))._quantize_one("weight", x)
        codes, scales = numpy(made["weight"]).reshape(-1), made["weight_scale_inv"]
        tiles = np.abs(x.double().numpy()).reshape(len(x) // 128, 128, -1, 128).max(axis=(1, 3))
        if scale_fmt is None:
            found = numpy(scales)
            expected = (found, (tiles.astype(np.float32) / np.float32(448)).astype(np.float64))
        else:
            exponents = numpy(scales).astype(np.int64)
            found, expected = text.E8M0[exponents], (exponents, power("rceil", tiles, "e4m3"))
        each = np.repeat(np.repeat(found, 128, axis=0), 128, axis=1).reshape(-1)
        return Given(text.E4M3, codes, each, expected=tuple(part.reshape(-1) for part in expected))

    return write


OCP = "OCP MX 1.0, 6.3, which it names"
WRITERS = [
    ("gguf", "MXFP4", gguf_mxfp4, OCP),
    ("gguf", "NVFP4's UE4M3", gguf_ue4m3, "ggml_fp32_to_ue4m3, which it names: E4M3"),
    ("gguf", "Q8_0", gguf_q8_0(False), "ggml-quants.c: x over amax / 127 in F32, ties away"),
    ("gguf", "Q8_0, at the scale that is stored", gguf_q8_0(True), "none: the F16 is made after"),
    ("gguf", "BF16", gguf_bf16, "`round to nearest even`"),
    ("nvidia-modelopt", "FP8", modelopt_fp8, "amax / 448"),
    ("nvidia-modelopt", "MXFP8", modelopt_mxfp8, "`2^ceil(log2(amax / E4M3_max))`"),
    ("nvidia-modelopt", "MXFP4", modelopt_mxfp4, "the same with 6"),
    ("nvidia-modelopt", "NVFP4", modelopt_nvfp4, "amax / 6 / (amax of the tensor / 2688)"),
    ("compressed-tensors", "float-quantized", ct_fp8, "amax / 448 of a row"),
    ("compressed-tensors", "MXFP8", ct_mxfp8, "`round to the closest power of 2`, of E2M1"),
    ("compressed-tensors", "MXFP4", ct_mxfp4, "`round to the closest power of 2`"),
    ("compressed-tensors", "NVFP4", ct_nvfp4, "amax / 6 · (2688 / amax of the tensor)"),
    *[("torchao", f"MX {element.upper()}, {rule.upper()}", torchao_mx(element, rule), f"`ScaleCalculationMode.{rule.upper()}`")
      for element in ("e4m3", "e2m1") for rule in ("floor", "rceil", "ceil", "even")],
    ("torchao", "NVFP4", torchao_nvfp4, "amax / 6 / (amax of the tensor / 2688)"),
    ("torchao", "Float8 by row", torchao_fp8, "amax / 448 of a row"),
    ("bitsandbytes", "NF4", bitsandbytes_4bit("nf4"), "the nearest of 16 values, over amax of 64"),
    ("bitsandbytes", "FP4", bitsandbytes_4bit("fp4"), "the nearest of 16 values, over amax of 64"),
    ("comfy-kitchen", "FP8", comfy_fp8, "(the caller's scale)"),
    ("comfy-kitchen", "MXFP8", comfy_mxfp8, "`round up to ensure values fit`: amax / 448"),
    ("comfy-kitchen", "NVFP4", comfy_nvfp4, "amax / 6 / the caller's scale"),
    ("transformers", "fine-grained FP8", transformers_fp8(None), "amax / 448 of 128 × 128"),
    ("transformers", "fine-grained FP8, ue8m0", transformers_fp8("ue8m0"), "`ceil(log2)` of amax / 448 of 128 × 128"),
]


def inputs():
    """The tensors: weights as trained models have them, and blocks that ask every question of
    rounding."""
    random = np.random.Generator(np.random.PCG64(1))
    shape = (512, 1024)
    spread = np.exp(0.5 * random.standard_normal(shape[1])) * np.exp(0.4 * random.standard_normal((shape[0], 1)))
    weights = torch.from_numpy((0.02 * spread * random.standard_normal(shape)).astype(np.float32))
    yield "weights, F32", weights
    yield "weights, BF16", weights.to(torch.bfloat16)
    # The largest element of each block of 16 is a power of two, six or 448 times one, or a
    # neighbour; others are midpoints of E2M1 or E4M3, their neighbours, and anything.
    edges = np.zeros(shape, np.float32).reshape(-1, 16)
    largest = np.float32(random.choice([1, 1.5, 1.75, 1.9375], len(edges))) * np.exp2(random.integers(-6, 6, len(edges))).astype(np.float32)
    step = random.integers(-1, 2, len(edges)).astype(np.int32)
    largest = (largest.view(np.int32) + step).view(np.float32)
    of_fours = (text.E2M1[:7] + text.E2M1[1:8]) / 2
    of_eights = (text.E4M3[:126] + text.E4M3[1:127]) / 2
    middles = np.where(random.random(edges.shape) < 0.5, random.choice(of_fours, edges.shape), random.choice(of_eights[32:], edges.shape))
    middles = (middles * np.exp2(np.floor(np.log2(largest)) - 2)[:, None]).astype(np.float32)
    middles = (middles.view(np.int32) + random.integers(-1, 2, edges.shape).astype(np.int32)).view(np.float32)
    edges[:] = np.where(middles < largest[:, None], middles, largest[:, None] * random.random(edges.shape, np.float32))
    edges[:, 0] = largest
    edges *= random.choice(np.float32([-1, 1]), edges.shape)
    yield "edges, F32", torch.from_numpy(edges.reshape(shape))


def judged(x, table, codes, scales, divisor=1.0):
    """Of codes: which are not a nearest value, and which lie on a tie and are the odd of its
    neighbours."""
    values = np.unique(table[np.isfinite(table)])
    middles = (values[1:] + values[:-1]) / 2
    rank = np.searchsorted(values, np.where(np.isfinite(table), table, 0))[codes]
    x = x * divisor
    below, above = np.append(-np.inf, middles)[rank], np.append(middles, np.inf)[rank]
    with np.errstate(invalid="ignore"):
        below, above = below * scales, above * scales
    far = (x < below) | (x > above) | ~np.isfinite(table)[codes]
    ties = ~far & ((x == below) | (x == above))
    return far, ties & (codes % 2 == 1), ties


def judge(write, x):
    given = write(x)
    elements = x.double().numpy().reshape(-1)
    if write is gguf_ue4m3:
        elements = np.abs(elements)
    far, odd, ties = judged(elements, given.table, given.codes, given.scales, given.divisor)
    if given.rounded is not None:
        wanted, table, codes, scales = given.rounded
        wrong, odd_scales, _ = judged(wanted, table, codes, scales)
        scale = int((wrong | odd_scales).sum()), len(codes)
    elif given.expected is not None:
        scale = int((given.expected[0] != given.expected[1]).sum()), len(given.expected[0])
    else:
        scale = None
    example = ""
    if far.any():
        at = int(np.flatnonzero(far)[0])
        example = f"{elements[at]:.9g} at scale {given.scales[at] / given.divisor:.9g} became {given.table[given.codes[at]]:g}"
    return scale, int(far.sum()), int(odd.sum()), int(ties.sum()), len(elements), example


def main():
    # The compressor's own entry is a class method with a signature of its own.
    BaseCompressor.compress_with = classmethod(lambda cls, scheme, state: cls.compress(state, scheme))
    packages = dict.fromkeys(package for package, *_ in WRITERS)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*packages, "torch"))
    tensors = [x for _, x in inputs()]
    words = f"{datetime.date.today()}: {versions}; on a CPU, {tensors[0].numel():,} elements of each kind."
    print(textwrap.fill(words, 100, break_on_hyphens=False), end="\n\n")
    print("| library | writes | its own text | scales that differ | codes that are not the nearest | ties to odd codes | for example |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |")
    for package, what, write, source in WRITERS:
        results = [judge(write, x) for x in tensors]
        scales = [scale and scale[0] for scale, *_ in results]
        of = results[0][0] and results[0][0][1]
        example = next((result[-1] for result in results if result[-1]), "")
        cells = [package, what, source, "" if of is None else f"{told(scales)} of {of:,}"]
        cells += [told([result[1] for result in results]), told([result[2] for result in results]), example]
        print("| " + " | ".join(cells) + " |", flush=True)


def told(counts):
    """A number for each kind of input, or one 0."""
    return " / ".join(f"{count:,}" for count in counts) if any(counts) else "0"


if __name__ == "__main__":
    main()
