"""How tensors are quantized, and how their codes and scales lie."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, formats
from ._core import Format

if TYPE_CHECKING:
    from ._quantized import QuantizedTensor


def recipe(
    fmt: Any,
    *,
    bias: str | int | None = None,
    granularity: str | None = None,
    scale_format: Any = None,
    scale_rule: str | None = None,
    rounding: str | None = None,
    random_bits: int = 32,
    seed: int | None = None,
    saturation: str | None = None,
    preset: str | None = None,
    nonfinite: str | None = None,
    negative: str | None = None,
    tensors: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    overwrite: bool = False,
    verify: bool = True,
    native: bool = False,
    **unknown: Any,
) -> dict[str, Any]:
    """What decides the bytes of quantized tensors, as the compiled part takes it."""
    found = dict(locals())
    refuse_unknown(found.pop("unknown"))
    for word in ("granularity", "scale_rule", "rounding", "saturation", "preset", "nonfinite", "negative", "tensors"):
        if not isinstance(found[word], (str, type(None))):
            raise TypeError(f"{word} is a word, not {found[word]!r}")
    for word, numbers, said in (("seed", range(2**64), "0..2**64"), ("random_bits", range(1, 33), "1..=32")):
        if found[word] is not None and not hasattr(found[word], "__index__"):
            raise TypeError(f"{word} must be an integer in {said}, not {found[word]!r}")
        if found[word] is not None and operator.index(found[word]) not in numbers:
            raise ValueError(f"{word} must be an integer in {said}, not {told(found[word])}")
    found["bias"] = None if bias is None else told(bias)
    found["scale_format"] = None if scale_format is None else str(scale_format)
    found["include"], found["exclude"] = patterns(include, "include"), patterns(exclude, "exclude")
    return found


def told(value: Any) -> str:
    """The text of a value. Python makes none of an integer of thousands of digits."""
    try:
        return str(value)
    except ValueError:
        return f"an integer of {value.bit_length()} bits"


def refuse_unknown(keywords: Iterable[str]) -> None:
    """Refuses keyword arguments that no quantization has, whichever function they were given to."""
    for name in keywords:
        raise TypeError(f"unexpected keyword argument {name!r}: help(smallfloat.quantize) tells those that there are")


def patterns(given: Any, what: str) -> list[str]:
    """Patterns of names as a list; a string would be taken for those of its letters."""
    if isinstance(given, str):
        raise TypeError(f"{what} is a list of patterns, not a string: write [{given!r}]")
    return list(given)


@functools.lru_cache(maxsize=256, typed=True)
def _kept_quantizer(fmt: Any, how: tuple[tuple[str, Any, type], ...]) -> _core.Quantizer:
    return _core.Quantizer(recipe(fmt, native=True, **{name: value for name, value, _ in how}))


def quantizer(fmt: Any, how: Mapping[str, Any]) -> _core.Quantizer:
    """The compiled part's quantizer of arrays, which is kept for the next call."""
    try:
        return _kept_quantizer(fmt, tuple((name, value, type(value)) for name, value in how.items()))
    except TypeError:
        # What has no hash is no key; every other mistake is made again.
        return _core.Quantizer(recipe(fmt, native=True, **how))


#: The compiled part's maker of values, which is kept for the next call.
dequantizer = functools.lru_cache(maxsize=256)(_core.Dequantizer)


@functools.lru_cache(maxsize=1024)
def entry_of_array(quantizer: _core.Quantizer, shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
    """The native container's entry of a tensor; not to be changed."""
    return json.loads(quantizer.entry(shape, dtype))


def forget_quantizers() -> None:
    """Drops what is kept, which another thread may have been making when this process was
    forked."""
    for kept in (_kept_quantizer, dequantizer, entry_of_array):
        kept.cache_clear()


def _constant(values: list[float]) -> np.ndarray:
    array = np.array(values, np.float32)
    array.flags.writeable = False
    return array


#: Lists of values by name: the bits of a code, and the values by code in float32.
LISTS: dict[str, tuple[int, np.ndarray]] = {name: (width, _constant(values)) for name, width, values in _core.value_lists()}


@functools.lru_cache(maxsize=256)
def width_of(name: str, is_biased: bool) -> int:
    """The bits of a code of a container's format, or of a list of values."""
    if name in LISTS:
        return LISTS[name][0]
    return (Format(name, bias=0) if is_biased else Format(name)).width


def element_format(entry: Mapping[str, Any]) -> str:
    """The format of a container's entry, without its bias: the reading of subnormals is told beside
    Tesla's names."""
    name, subnormals = entry["format"], entry.get("subnormals")
    return f"{name}:subnormals={subnormals}" if name in formats._FREE and subnormals == "gradual" else name


def _plain(value: Any) -> str | int:
    """A format or an integer of NumPy's, as JSON has it."""
    return str(value) if isinstance(value, Format) else operator.index(value)


class Config:
    """How tensors are quantized: a format or a scheme, and the keyword arguments of
    `smallfloat.quantize`.

    Parameters
    ----------
    fmt : str, Format or Config
        'e4m3fn', 'binary8p3se', 'cfloat8_1_4_3', 'mxfp4', 'nvfp4', … as of `smallfloat.quantize`.
    **how :
        `granularity`, `bias`, `scale_format`, `scale_rule`, `rounding`, `seed`, … as of
        `smallfloat.quantize`.

    Examples
    --------
    >>> import smallfloat as sf
    >>> sf.Config("cfloat8_1_4_3", granularity="channel")
    Config('cfloat8_1_4_3', granularity='channel')
    """

    def __init__(self, fmt: Any, **how: Any) -> None:
        if isinstance(fmt, Config):
            fmt, how = fmt.fmt, {**fmt.how, **how}
        self.fmt, self.how = str(fmt), how
        if "nonfinite" in how:
            raise ValueError("nonfinite is no part of a Config: weights are finite, and fake quantization has an argument for it")
        # Says at once what is wrong, the quantizer also of what has no key.
        quantizer(self.fmt, how)
        self.entry((1, 1))

    def entry(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """What the native container says of a tensor of this shape."""
        return entry_of(self, shape)

    def quantize(self, x: Any, name: str = "tensor") -> QuantizedTensor:
        """A tensor quantized by the core."""
        from ._quantized import quantize

        return quantize(x, self.fmt, name=name, **self.how)

    @property
    def is_list(self) -> bool:
        """Whether elements are codes of a list of values, which the compiled part alone encodes."""
        return self.entry((1, 1))["format"] in LISTS

    def key(self) -> str:
        """The same text for equal configurations."""
        return json.dumps([self.fmt, dict(sorted(self.how.items()))], default=_plain)

    @classmethod
    def of_key(cls, key: str) -> Config:
        """The configuration with a key."""
        fmt, how = json.loads(key)
        return cls(fmt, **how)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Config({', '.join([repr(self.fmt), *(f'{name}={value!r}' for name, value in self.how.items())])})"


@functools.lru_cache(maxsize=4096)
def entry_of(config: Config, shape: tuple[int, ...]) -> dict[str, Any]:
    made = quantizer(config.fmt, config.how)
    # Says what is wrong with a shape.
    made.quantize(np.zeros(shape if math.prod(shape) <= 1 << 16 else (1,) * len(shape), np.float32), "tensor", False, 1)
    return json.loads(made.entry(shape, "F32"))


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a tensor's codes and scales lie: the part of the native container's entry that reading
    needs."""

    shape: tuple[int, ...]
    format: str
    granularity: str
    packing: str
    scale: str | None

    @classmethod
    def of(cls, entry: dict[str, Any], shape: tuple[int, ...]) -> Layout:
        """The layout of a tensor of this shape."""
        packing = entry.get("packing") or "bytes"
        return cls(tuple(shape), element_format(entry), entry["granularity"], packing, entry.get("scale"))


# Functions rather than methods, since `torch.compile` knows no methods of constants.


def block_of(granularity: str) -> tuple[int, int] | None:
    """Rows and columns that share a scale; None for tensor and channel."""
    if not granularity.startswith("block:"):
        return None
    words = granularity[6:].split("x")
    return (1 if len(words) == 1 else int(words[0])), int(words[-1])


def matrix_of(shape: tuple[int, ...], granularity: str) -> tuple[int, int]:
    """Rows and columns of a tensor."""
    if len(shape) < 2:
        return 1, math.prod(shape)
    columns = math.prod(shape[1:]) if granularity == "channel" else shape[-1]
    return (shape[0] if granularity == "channel" else math.prod(shape[:-1])), columns


def stored_columns(columns: int, packing: str) -> int:
    """Codes or bytes of a row."""
    if packing == "bytes":
        return columns
    return -(-columns // 4) * 3 if packing == "six-bit" else -(-columns // 2)


def scale_shape(shape: tuple[int, ...], granularity: str) -> tuple[int, ...]:
    """The shape of the scales."""
    rows, columns = matrix_of(shape, granularity)
    if granularity == "tensor":
        return ()
    block = block_of(granularity)
    return (rows, 1) if block is None else (-(-rows // block[0]), -(-columns // block[1]))


def rows_stand_alone(layout: Layout) -> bool:
    """Whether a row can be read without the others."""
    block = block_of(layout.granularity)
    return len(layout.shape) == 2 and (block is None or block[0] == 1)
