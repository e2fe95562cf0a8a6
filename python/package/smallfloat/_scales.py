"""What a configuration means for tensors of so many dimensions, as tensor operations need it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from . import formats
from ._config import LISTS, Config, Layout, element_format
from ._core import Format
from .kernel import Kernel, kernel

POWER_RULES = ("floor", "ceil", "even", "rceil")


@dataclasses.dataclass(frozen=True)
class ScalePlan:
    """What a configuration means for tensors of so many dimensions, apart from tensors."""

    layout: Layout
    kernel: Kernel
    #: Whether `simulate` has it.
    is_expressible: bool
    is_biased: bool
    #: A bias, or None where it follows from the tensor.
    bias: int | None
    #: 'auto' or 'percentile:…', where that alone keeps `simulate` from it: whole tensors, whose biases devices can find.
    chosen_by: str | None
    #: The format with an open bias.
    free_format: str
    margin: int
    bias_range: tuple[int, int]
    #: For tensors of zeros.
    default_bias: int
    rule: str | None
    #: The largest value of the elements, its exponent, and its fraction in 52 bits.
    largest: float
    top: tuple[int, int]
    #: The least fraction of a magnitude at which a power of two is one more than the difference of exponents.
    threshold: int
    global_rule: str | None
    largest_product: float
    top_product: tuple[int, int]
    scale_kernel: Kernel | None
    least_scale: float
    seed: int | None
    stream: Any


@functools.lru_cache(maxsize=1024)
def scale_plan(key: str, ndim: int) -> ScalePlan:
    config = Config.of_key(key)
    entry = config.entry((1,) * ndim)
    how, name, scale, rule = config.how, element_format(entry), entry.get("scale"), entry.get("scale_rule")
    if name in LISTS:
        raise ValueError(f"scale_overflow='nan' is for formats, and {name} is a list of values")
    layout = Layout.of(entry, (1,) * ndim)
    is_biased = scale is None and entry["format"] in formats._FREE
    made = Format(name, bias=0) if is_biased else Format(name)
    rounding = how.get("rounding") or "nearest-even"
    policy = str(how.get("bias") or "auto")
    bias = int(policy) if policy.isdigit() else None
    chosen_by = None
    if how.get("negative") is not None or made.width > 16 or rounding in ("stochastic-b", "stochastic-c"):
        is_expressible = False
    elif is_biased:
        # Choosing the best bias takes sums of all elements.
        is_expressible = bias is not None or policy == "amax" or policy.startswith("amax:margin=")
        chosen_by = policy if not is_expressible and layout.granularity == "tensor" else None
    elif scale is None:
        is_expressible = True
    else:
        powers = scale == "e8m0fnu" and rule in POWER_RULES and not entry.get("global_scale")
        is_expressible = powers or (rule == "amax" and scale != "e8m0fnu" and not rounding.startswith("stochastic"))
    largest = made.max
    scale_max = 1.0 if scale is None else float(np.finfo(np.float32).max) if scale == "binary32" else Format(scale).max
    is_small = scale is not None and scale != "binary32"
    thresholds = {"ceil": 1, "even": (1 << 52) - (1 << (51 - made.trailing_bits)), "rceil": split(largest)[1] + 1}
    elements = kernel(
        made,
        preset=how.get("preset"),
        rounding=how.get("rounding") if is_expressible or chosen_by else None,
        saturation=how.get("saturation") or "satfinite",
        random_bits=how.get("random_bits") or 32,
    )
    if how.get("saturation") is None:
        # What is finite saturates, and infinities are what the preset makes them.
        elements = dataclasses.replace(elements, infinity=kernel(made, preset=how.get("preset")).infinity)
    return ScalePlan(
        layout=layout,
        kernel=elements,
        is_expressible=is_expressible,
        is_biased=is_biased,
        bias=bias,
        chosen_by=chosen_by,
        free_format=name,
        margin=int(policy.partition("margin=")[2] or 0),
        bias_range=made.bias_range if is_biased and made.bias_range else (0, 0),
        default_bias=(1 << (made.exponent_bits - 1)) - 1,
        rule=rule,
        largest=largest,
        top=split(largest),
        threshold=thresholds.get(rule or "", 1 << 52),
        global_rule=entry.get("global_scale") or None,
        largest_product=largest * scale_max,
        top_product=split(min(largest * scale_max, float(np.finfo(np.float64).max))),
        scale_kernel=kernel(Format(scale), rounding="nearest-even", saturation="satfinite") if is_small else None,
        least_scale=Format(scale).smallest_positive if is_small else float(np.finfo(np.float32).tiny),
        seed=how.get("seed"),
        stream=how.get("stream"),
    )


def split(x: float) -> tuple[int, int]:
    bits = int(np.float64(x).view(np.int64))
    return (bits >> 52) - 1023, bits & ((1 << 52) - 1)
