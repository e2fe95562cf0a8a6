"""PyTorch: simulated quantization with a straight-through gradient, a linear layer and an optimizer
in small formats.

Thin Python over the kernels, registered as custom operators, so that ``torch.compile`` takes them
as they are. Under ``torch.distributed`` all ranks agree on every bias, because they learn from the
data of all.

>>> import torch, smallfloat.torch as sft
>>> x = torch.tensor([1.0, 1.1, 500.0], requires_grad=True)
>>> y = sft.fake_quantize(x, "e4m3fn", saturation="satfinite")
>>> y.detach()
tensor([  1.0000,   1.1250, 448.0000])
>>> y.sum().backward(); x.grad
tensor([1., 1., 1.])
"""

from .._config import Config
from ._fake import fake_quantize
from ._layers import Linear, convert
from ._optimizer import SmallOptimizer
from ._quantize import Report, entries, fake_quantize_, load_, prepare_, quantize_, save
from ._quantizers import Quantizer, ScaleQuantizer, SchemeQuantizer, quantizer
from ._round import decode, encode, round

__all__ = [
    "Config",
    "Linear",
    "Quantizer",
    "Report",
    "ScaleQuantizer",
    "SchemeQuantizer",
    "SmallOptimizer",
    "convert",
    "decode",
    "encode",
    "entries",
    "fake_quantize",
    "fake_quantize_",
    "load_",
    "prepare_",
    "quantize_",
    "quantizer",
    "round",
    "save",
]
