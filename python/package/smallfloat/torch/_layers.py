"""A linear layer that trains in small formats."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ._quantizers import quantizer

class Linear(torch.nn.Linear):
    """`torch.nn.Linear` with inputs, weights and gradients in small formats, sums in the tensors'
    own dtype.

    Forward both operands are rounded to `forward_format`, backward the gradient of the output to
    `backward_format`, each by a `quantizer` of its own. The weights themselves stay in their dtype.

    Parameters
    ----------
    in_features, out_features, bias, device, dtype :
        As of `torch.nn.Linear`.
    forward_format, backward_format : str, Format or Config
        A format whose bias is data ('cfloat8_1_4_3', 'cfloat8_1_5_2', 'shp'), any other signed
        format, which gets a power of two for each tensor ('e4m3fn', 'binary8p3se', …), or a scheme
        or `Config`, whose scales follow their own rule ('mxfp8-e4m3', 'nvfp4', …).
    policy : str, int, or three of them
        How biases and powers of two are found: of `Quantizer` 'delayed' (of the last 16 steps),
        'flags', 'amax', 'auto', 'percentile:99.9' or a number; of `ScaleQuantizer` 'delayed',
        'amax' or a number. One for all, or one each for inputs, weights and gradients.
    nonfinite : str
        What becomes of NaN and infinities in all three, as of `fake_quantize`: 'keep' (default),
        'refuse' or 'preset'.

    Attributes
    ----------
    inputs, weights, gradients : Quantizer, ScaleQuantizer or SchemeQuantizer

    Examples
    --------
    >>> import torch, smallfloat.torch as sft
    >>> layer = sft.Linear(4, 2)
    >>> layer(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> layer.inputs.bias  # 1 is 2**0, and 480 * 2**(7 - 15) is the largest value
    15
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        forward_format: Any = "cfloat8_1_4_3",
        backward_format: Any = "cfloat8_1_5_2",
        policy: str | int | tuple[str | int, str | int, str | int] = "delayed",
        nonfinite: str = "keep",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        policies = policy if isinstance(policy, (tuple, list)) else (policy,) * 3
        if len(policies) != 3:
            raise ValueError(f"policy takes one policy, or three for inputs, weights and gradients, not {len(policies)}")
        self.inputs = quantizer(forward_format, policies[0], nonfinite=nonfinite, device=device)
        self.weights = quantizer(forward_format, policies[1], nonfinite=nonfinite, device=device)
        self.gradients = quantizer(backward_format, policies[2], nonfinite=nonfinite, device=device)

    @classmethod
    def of(cls, layer: torch.nn.Linear, **how: Any) -> Linear:
        """A layer with the parameters of another one, which are shared."""
        like = {"device": layer.weight.device, "dtype": layer.weight.dtype}
        new = cls(layer.in_features, layer.out_features, layer.bias is not None, **{**like, **how})
        new.weight, new.bias = layer.weight, layer.bias
        return new.train(layer.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gradients.gradient(F.linear(self.inputs(x), self.weights(self.weight), self.bias))


def convert(module: torch.nn.Module, **how: Any) -> torch.nn.Module:
    """Replaces every `torch.nn.Linear` inside a module by `Linear`; keyword arguments go there.

    Returns the module, or the layer in its place if the module is itself a `torch.nn.Linear`.
    """
    if type(module) is torch.nn.Linear:
        return Linear.of(module, **how)
    for name, child in module.named_children():
        setattr(module, name, convert(child, **how))
    return module
