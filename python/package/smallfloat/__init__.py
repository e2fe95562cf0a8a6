"""The small floating-point formats of machine learning, exactly.

>>> import numpy as np, smallfloat as sf
>>> x = np.array([1.0, 1.1, -0.3, 1e9], np.float32)
>>> codes = sf.encode(x, "cfloat8_1_4_3:bias=7")
>>> codes
array([ 56,  57, 170, 127], dtype=uint8)
>>> sf.decode(codes, "cfloat8_1_4_3:bias=7")
array([ 1.000e+00,  1.125e+00, -3.125e-01,  4.800e+02], dtype=float32)

Codes are arrays of uint8, uint16 or uint32; what they mean is a `Format`. Every result is rounded
once, from the exact value.

What is here, each with its own help:

* numbers to codes and back: `encode`, `decode`, `round` (both in one step);
* `Array`, codes that know their format, made by `array`: NumPy's ufuncs, functions and operators;

  >>> a = sf.array([1.0, 1.1], "e4m3fn")
  >>> a + a
  array([2.  , 2.25], format='e4m3fn')

* formats: `Format`, the module `formats`, `finfo`; `choose_bias` and `BiasController` for Tesla's
  formats;
* operations on codes: the module `ops`, `Operation` by P3109's spelling, `dot`, `matmul`;
* tensors with scales: `quantize`, `Config` and `QuantizedTensor`, products by `linear`; files:
  `save`, `load`, `load_values`, `quantize_file`, `dequantize_file`, `verify`;
* checkpoints in shards: `plan` and `Plan`, carried out by the modules `smallfloat.dask` and
  `smallfloat.ray`;
* PyTorch and JAX: the modules `smallfloat.torch`, `smallfloat.transformers` and `smallfloat.jax`.

The lists `presets`, `roundings`, `saturations`, `flag_policies` and `generators`, and the dicts
`schemes` and `variants`, have the words that keywords take; `value_lists` has the values of codes
of 'nf4', 'int4', ….
"""

import os as _os

import numpy as _np

from . import _core, formats, ops
from ._array import Array, array
from ._config import LISTS as _LISTS, Config, forget_quantizers as _forget_quantizers
from ._core import BiasController, EventCounts, Format, Operation, choose_bias, decode, encode, kappa, round, verify
from ._finfo import finfo
from ._flags import Flags
from ._plan import Plan, plan
from ._products import dot, linear, matmul
from ._quantized import QuantizedTensor, dequantize_file, load, load_values, quantize, quantize_file, save

__version__: str = _core.__version__

#: The names of the presets, rounding modes, saturation modes, policies for flags and generators of random words.
presets: list[str] = _core.presets()
roundings: list[str] = _core.roundings()
saturations: list[str] = _core.saturations()
flag_policies: list[str] = _core.flag_policies()
generators: list[str] = _core.generators()
#: Schemes of scaled tensors, and approximate implementations for `kappa`, with what they are.
schemes: dict[str, str] = dict(_core.schemes())
variants: dict[str, str] = dict(_core.variants())
#: Lists of values that codes of a scheme can stand for ('nf4', 'int4', …): values by code, in float32.
value_lists: dict[str, _np.ndarray] = {name: values for name, (_, values) in _LISTS.items()}

__all__ = [
    "Array",
    "BiasController",
    "Config",
    "EventCounts",
    "Flags",
    "Format",
    "Operation",
    "Plan",
    "QuantizedTensor",
    "array",
    "choose_bias",
    "decode",
    "dequantize_file",
    "dot",
    "encode",
    "finfo",
    "formats",
    "flag_policies",
    "generators",
    "kappa",
    "linear",
    "load",
    "load_values",
    "matmul",
    "ops",
    "plan",
    "presets",
    "quantize",
    "quantize_file",
    "round",
    "roundings",
    "saturations",
    "save",
    "schemes",
    "value_lists",
    "variants",
    "verify",
]

# A forked child has none of its parent's threads.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core.forget_after_fork)
    _os.register_at_fork(after_in_child=_forget_quantizers)
