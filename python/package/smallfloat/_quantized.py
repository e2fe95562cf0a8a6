"""Quantized tensors in memory, and checkpoints in files."""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _interop, formats
from ._array import Array
from ._config import LISTS, Config, dequantizer, element_format, entry_of_array, patterns, quantizer, recipe, width_of
from ._core import Format
from ._interop import is_masked, number_dtype, torch_dtype

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "U8": "uint8",
    "U16": "uint16",
    "BOOL": "bool",
    **{f"{letter}{bits}": f"{word}{bits}" for letter, word in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)},
}
_NOTHING = np.empty(0, np.uint8)
NAMES = {value: key for key, value in _DTYPES.items()}


def _array(dtype: str, shape: Sequence[int], data: bytes) -> np.ndarray:
    return np.frombuffer(data, number_dtype(_DTYPES[dtype]) if dtype == "BF16" else _DTYPES[dtype]).reshape(shape)


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, in order, without a copy where they lie so."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _raw(name: str, array: Any) -> tuple[str, str, list[int], bytes]:
    if not isinstance(name, str):
        raise TypeError(f"names of tensors are words, not {type(name).__name__}")
    if is_masked(array):
        raise TypeError(f"{name!r} is a masked array, and files have no masks: take x.filled(0)")
    array = _interop.enter(array)[0]
    if array.dtype.name not in NAMES:
        raise TypeError(f"{name!r} has the dtype {array.dtype}, and files hold {', '.join(NAMES)}; `Array` and `quantize` make tensors of codes")
    # Files are little-endian, as are all machines that this runs on.
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return name, NAMES[array.dtype.name], list(array.shape), np.ascontiguousarray(array).tobytes()


def _columns(shape: Sequence[int], granularity: str) -> int:
    """The codes of a row, which packing fills up to whole bytes."""
    if len(shape) < 2:
        return math.prod(shape)
    return math.prod(shape[1:]) if granularity == "channel" else shape[-1]


def _packed_shape(entry: Mapping[str, Any], shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a tensor's codes, the last dimension in bytes where they are packed."""
    packing = entry.get("packing") or "bytes"
    if packing == "bytes":
        return tuple(shape)
    unit, size = (4, 3) if packing == "six-bit" else (2, 1)
    columns = _columns(shape, entry["granularity"])
    row = -(-columns // unit) * size
    rows = shape[:-1] if not shape or shape[-1] == columns else shape[:1]
    return (*rows, row)


def _native_shape(entry: Mapping[str, Any], shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of codes in a container: with dimensions of 1 at the end there is one more than the
    tensor has, so that no program takes them for its weights."""
    packed = _packed_shape(entry, shape)
    return packed + (1,) * (max(len(packed), len(shape), 1) + 1 - len(packed))


class QuantizedTensor:
    """A tensor of codes with its format and its scales, as it is stored in the native container.

    `quantize` and `load` make it.

    Attributes
    ----------
    shape : tuple of int
    format : str
        The elements' format, without its bias where that is stored beside the codes; or the list
        of their values, one of `smallfloat.value_lists`.
    codes : array of uint8 or uint16
        One code an element; an array of the library that the numbers came from, as all arrays here.
    scales : array or None
        The codes of the scales, in `scale_format`: of shape (), (channels, 1) or (block rows, block
        columns).
    biases : array of uint8 or None
        Biases in the place of scales, of the same shapes.
    scale_format : str or None
    global_scale : float
        What divides all scales; 1 where there is none.
    granularity : str
        'tensor', 'channel', 'block:N' or 'block:RxC'.
    report : dict or None
        What quantizing found, if that was asked for: error, saturated elements, ….
    """

    def __init__(self, parts: Mapping[str, Any], entry: Mapping[str, Any], report: Any = None) -> None:
        self._parts, self._entry, self.report = dict(parts), dict(entry), report
        shape = entry.get("shape")
        self.shape = tuple(self._parts[""].shape if shape is None else shape)
        self.format: str = element_format(entry)
        self.granularity: str = entry["granularity"]
        self.scale_format: str | None = entry.get("scale")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_parts": {name: _interop.to_pickle(part) for name, part in self._parts.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = {name: _interop.from_pickle(*part) for name, part in state["_parts"].items()}
        self.__dict__.update(state, _parts=parts)

    @property
    def scales(self) -> Any:
        return self._parts.get("_scale")

    @property
    def biases(self) -> Any:
        return self._parts.get("_bias")

    @property
    def global_scale(self) -> float:
        return float(self._parts.get("_global_scale", 1))

    @property
    def nbytes(self) -> int:
        """Bytes of codes and scales."""
        return sum(part.nbytes for part in self._parts.values())

    @property
    def codes(self) -> Any:
        packing, stored = self._entry.get("packing") or "bytes", self._parts[""]
        stored = stored.reshape(_packed_shape(self._entry, self.shape))
        if packing == "bytes":
            return stored
        columns = _columns(self.shape, self.granularity)
        if packing == "six-bit":
            a, b, c = (stored[..., i::3] for i in range(3))
            parts = [a & 63, (a >> 6 | b << 2) & 63, (b >> 4 | c << 4) & 63, c >> 2]
        else:
            parts = [stored & 15, stored >> 4]
            if packing == "nibbles-high":
                parts.reverse()
        codes = _interop.library(stored).stack(parts, -1)
        codes = codes.reshape((*stored.shape[:-1], math.prod(codes.shape[-2:])))
        return codes[..., :columns].reshape(self.shape)

    @property
    def array(self) -> Array:
        """The codes as an `Array`, for a tensor without scales whose elements share one bias, or
        have none."""
        if self.format in LISTS:
            raise ValueError(f"{self.format} is a list of values and no format: dequantize() gives values ({self!r})")
        if self.scales is not None or self.granularity != "tensor":
            raise ValueError(f"a tensor with scales, or with several biases, is no Array: dequantize() gives values ({self!r})")
        return Array(_interop.enter(self.codes)[0], self._element())

    @property
    def has_global_scale(self) -> bool:
        """Whether one more scale, of the whole tensor, divides those of the blocks."""
        return "_global_scale" in self._parts

    def _element(self) -> Format:
        """The format of elements that share one bias, or have none."""
        bias = None if self.biases is None else int(self.biases)
        # The reading of subnormals, where the name of the format leaves it open.
        subnormals = self._entry.get("subnormals") if bias is not None else None
        return Format(self.format, bias=bias, subnormals=subnormals)

    def dequantize(self, dtype: Any = np.float32, *, threads: int | None = None) -> Any:
        """The elements' values: code times scale, rounded once to nearest even where `dtype` does
        not have it.

        Parameters
        ----------
        dtype : dtype
            float16, float32 (the default), float64 or bfloat16: NumPy's, ml_dtypes' or torch's, or
            their name.
        threads : int, optional
            Of arrays on the CPU.

        Returns
        -------
        array of `shape`, of the library and on the device that the codes are on
        """
        stored = self._parts[""]
        scales = self.scales if self.biases is None else self.biases
        if _interop.is_torch(stored):
            from .torch._quantize import values_of

            return values_of(self, torch_dtype(dtype), threads)
        if _interop.is_jax(stored):
            from .jax import dequantize

            return dequantize(self, dtype)
        made = dequantizer(self.format, self.scale_format, self.granularity, self._entry.get("packing") or "bytes")
        raw = _NOTHING if scales is None else _bytes(scales)
        return made.values(_bytes(stored), raw, self.global_scale, self.shape, dtype, threads)

    def map(self, function: Callable[[Any], Any]) -> QuantizedTensor:
        """The tensor with a function of each of its arrays in their place: another library's, or on
        another device.

        Examples
        --------
        >>> import numpy as np, smallfloat as sf
        >>> q = sf.quantize(np.ones((2, 32), np.float32), "mxfp4")
        >>> q.map(np.copy).dequantize().sum()
        np.float32(64.0)
        """
        return QuantizedTensor({name: function(part) for name, part in self._parts.items()}, self._entry, self.report)

    def save(self, path: Any, name: str = "tensor", *, overwrite: bool = False) -> None:
        """Writes a safetensors file with this tensor; the file is whole or absent."""
        save(path, {name: self}, overwrite=overwrite)

    @classmethod
    def load(cls, path: Any, name: str | None = None) -> QuantizedTensor:
        """The tensor of this name, or the only one, of a native container."""
        tensors = load(path)
        if name is None and len(tensors) == 1:
            return next(iter(tensors.values()))
        if name not in tensors:
            raise ValueError(f"there is no quantized tensor {name!r}; the file has {', '.join(map(repr, tensors))}")
        return tensors[name]

    def __repr__(self) -> str:
        scales = f", scales in {self.scale_format}" if self.scale_format else ""
        # Its leaves in a tree of JAX's may be shapes, or anything.
        known = all(hasattr(part, "nbytes") for part in self._parts.values())
        size = f", {self.nbytes} bytes" if known else ""
        return f"QuantizedTensor({self.shape}, {self.format}, {self.granularity}{scales}{size})"


def quantize(
    x: Any,
    fmt: Any = "cfloat8_1_4_3",
    *,
    name: str = "tensor",
    report: bool = False,
    flush: str | None = None,
    scale_overflow: str = "saturate",
    threads: int | None = None,
    **how: Any,
) -> QuantizedTensor:
    """A tensor as codes of a small format, with the bias or the scales that suit it: as
    ``smallfloat quantize`` does it.

    Parameters
    ----------
    x : array_like
        float16, float32, float64 or bfloat16, finite unless `nonfinite` is given. A torch tensor
        gives tensors, on its device.
    fmt : str, Format or Config
        A format, or a scheme: `smallfloat.schemes` lists 'mxfp8-e4m3', 'nvfp4', 'nf4', … An array
        without dimensions, or with one, is a row.
    name : str
        The tensor's name, from which stochastic rounding takes its stream.
    report : bool
        Measure errors and count events too: `QuantizedTensor.report`. This takes about as long as
        the codes.
    bias : str or int
        Of formats whose bias is data: 'auto' (default), 'amax', 'percentile:99.9', or a number.
    granularity : str
        What shares a bias or a scale: 'tensor', 'channel', 'block:32', 'block:128x128'; blocks of
        any size.
    scale_format, scale_rule : str
        Scales of formats whose bias is fixed, and how they follow from the largest magnitude.
    rounding, random_bits, seed, saturation, preset : optional
        As of `encode`; finite overflow saturates by default.
    nonfinite : str
        'refuse' (default) or 'preset'.
    negative : str
        In an unsigned format: 'refuse' (default), 'nan', 'zero' or 'magnitude'.
    flush : str, optional
        'groups': a group whose largest magnitude is below 2**-126, a subnormal number of float32,
        becomes zeros, as microxcaling's ``mx_flush_fp32_subnorms``.
    scale_overflow : str
        'saturate' (default): a scale beyond the largest of its format is the largest. 'nan': it is
        NaN, and so is its group; also where an element is not finite. For the rules of powers of
        two, as microxcaling does it.
    threads : int, optional

    Returns
    -------
    QuantizedTensor

    Examples
    --------
    >>> import numpy as np, smallfloat as sf
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
    >>> q = sf.quantize(x, "cfloat8_1_4_3", granularity="channel")
    >>> q.biases.reshape(-1)
    array([15, 16, 16, 15], dtype=uint8)
    >>> bool(np.abs(q.dequantize() - x).max() < 0.04)
    True
    """
    if is_masked(x):
        raise TypeError("x is a masked array, and what is masked would move the scales: take x.filled(0)")
    if isinstance(fmt, Config):
        fmt, how = fmt.fmt, {**fmt.how, **how}
    x, leave = _interop.enter(x)
    overflows = None
    if flush is not None or scale_overflow != "saturate":
        from ._groups import flushed, overflowing

        config = Config(fmt, **{key: value for key, value in how.items() if key != "nonfinite"})
        x, overflows = flushed(x, config, flush), overflowing(x, config, scale_overflow)
        if overflows is not None:
            how = {"nonfinite": "preset", **how}
    made = quantizer(fmt, how)
    codes, scales, shape, global_scale, dtype, found = made.quantize(x, name, report, threads)
    entry = entry_of_array(made, np.shape(x), dtype)
    # There are neither biases nor scales in some formats, and none at all in some shapes.
    biased = entry.get("scale") is None and (scales.size > 0 or 0 in shape)
    codes = codes.view(np.uint16) if width_of(entry["format"], biased) > 8 else codes
    parts = {"": codes.reshape(_native_shape(entry, np.shape(x)))}
    if biased:
        parts["_bias"] = scales.reshape(shape)
    elif entry.get("scale") is not None:
        parts["_scale"] = scales.view(_scale_dtype(entry["scale"])).reshape(shape)
    if overflows is not None:
        scale = parts["_scale"]
        parts["_scale"] = np.where(overflows.reshape(shape), _core.encode(np.float32(np.nan), entry["scale"]), scale)
    if entry.get("global_scale"):
        parts["_global_scale"] = np.array(global_scale, np.float32)
    done = QuantizedTensor(parts, entry, None if found is None else json.loads(found))
    return done if leave is None else done.map(leave)


@functools.lru_cache(maxsize=64)
def _scale_dtype(fmt: str) -> Any:
    """The dtype of scales in a container."""
    if fmt in ("binary32", "bfloat16"):
        return number_dtype("float32" if fmt == "binary32" else fmt)
    return np.uint16 if Format(fmt).width > 8 else np.uint8


def load(path: Any) -> dict[str, QuantizedTensor]:
    """The quantized tensors of a native container, by name. Where the file has no record of them
    there may be one in `config.json` beside it, as transformers writes it."""
    entries, tensors = container(path)
    if entries is None:
        raise ValueError(
            f"{os.fsdecode(path)} has no tensors quantized by smallfloat: load_values reads the numbers of other programs' files"
        )
    # PyTorch has codes of 16 bits as I16.
    tensors = [(name, "U16" if name in entries and dtype == "I16" else dtype, *rest) for name, dtype, *rest in tensors]
    arrays = {name: _array(dtype, shape, data) for name, dtype, shape, data in tensors if dtype in _DTYPES}
    suffixes = ("", "_bias", "_scale", "_global_scale")
    return {
        name: QuantizedTensor({s: arrays[name + s] for s in suffixes if name + s in arrays}, entry)
        for name, entry in entries.items()
    }


def container(path: Any) -> tuple[dict[str, Any] | None, list[Any]]:
    """How the quantized tensors of a native container lie, and all its tensors; None for the former
    where it is no container."""
    entries, tensors = _core.read_container(path)
    return None if entries is None else {name: json.loads(entry) for name, entry in entries}, tensors


def load_values(
    path: Any, dtype: Any = np.float32, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """The numbers of a file or a checkpoint folder, by name, whatever their layout: floats as they
    are, codes times their scales.

    Parameters
    ----------
    path : path
        A .safetensors, .npy or .gguf file, or a folder of .safetensors files. Its content tells the
        layout: ours, or that of vLLM, ModelOpt, compressed-tensors, DeepSeek, gpt-oss, Quark,
        ComfyUI, bitsandbytes or GGUF.
    dtype : dtype
        float64, float32, float16 or ml_dtypes.bfloat16. Values are rounded once, to nearest even.
    include, exclude : list of str
        Patterns of names, such as 'layers.*.weight'. By default all tensors of numbers; one that is
        named and holds none is an error.

    Returns
    -------
    dict of str to numpy.ndarray

    Examples
    --------
    >>> import numpy as np, os, smallfloat as sf, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = [os.path.join(folder, name) for name in ("model.safetensors", "small.gguf")]
    ...     sf.save(path[0], {"w": np.ones((2, 32), np.float32)})
    ...     report = sf.quantize_file(path[0], path[1], "gguf-mxfp4")
    ...     sf.load_values(path[1])["w"].sum()
    np.float32(64.0)
    """
    found = _core.read_values(path, dtype, patterns(include, "include"), patterns(exclude, "exclude"))
    return dict(found)


def _of_array(name: str, array: Array) -> QuantizedTensor:
    """A tensor in the container with an array's codes and format."""
    fmt = array.format
    if fmt.width > 16:
        raise ValueError(f"{name!r}: the container has formats of at most 16 bits, not {fmt}: save its codes")
    open_name = str(fmt).partition(":")[0] if fmt.family == "tesla" and fmt.bias_range is not None else str(fmt)
    entry = {
        "format": open_name,
        "subnormals": fmt.subnormals,
        "source_dtype": "F32",
        "granularity": "tensor",
        "shape": list(array.shape),
        "rounding": "nearest-even",
        "random_bits": None,
        "seed": None,
        "generator": None,
        "sha256": "0" * 64,
    }
    parts = {"": array.codes.reshape(_native_shape(entry, array.shape))}
    if open_name != str(fmt):
        parts["_bias"] = np.array(fmt.bias, np.uint8)
    return QuantizedTensor(parts, entry)


def save(path: Any, tensors: Mapping[str, QuantizedTensor | Array | np.ndarray], *, overwrite: bool = False) -> None:
    """Writes quantized tensors and arrays into one safetensors file; the file is whole or absent.

    An `Array` keeps its format: ``load(path)[name].array`` gives it back.

    Examples
    --------
    >>> import numpy as np, os, smallfloat as sf, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "small.safetensors")
    ...     sf.save(path, {"w": sf.quantize(np.ones(8, np.float32)), "step": np.array([7])})
    ...     sf.load(path)["w"].dequantize()
    array([1., 1., 1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    raw, entries = [], {}
    for name, tensor in tensors.items():
        if isinstance(tensor, Array):
            tensor = _of_array(name, tensor)
        if isinstance(tensor, QuantizedTensor):
            raw += [_raw(name + suffix, part) for suffix, part in tensor._parts.items()]
            digest = hashlib.sha256(_bytes(_interop.enter(tensor._parts[""])[0])).hexdigest()
            entries[name] = {**tensor._entry, "sha256": digest}
        else:
            raw.append(_raw(name, tensor))
    metadata = [("smallfloat.version", "1"), ("smallfloat.tensors", json.dumps(entries))] if entries else []
    _core.write_tensors(_output(path), raw, metadata, overwrite)


def _output(path: Any) -> str:
    """A path to write to, in a folder that is there."""
    path = os.fsdecode(path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist, make it first", folder)
    return path


def quantize_file(source: Any, target: Any, fmt: Any = "cfloat8_1_4_3", *, threads: int | None = None, **how: Any) -> Any:
    """Quantizes a .safetensors or .npy file, or a checkpoint folder, as ``smallfloat quantize``
    does.

    Keyword arguments are those of `quantize`, and `tensors` ("weights", "matrices" or "all"; by
    default matrices, and weights for the schemes of other programs), `include` and `exclude` (lists
    of patterns of names), `overwrite` and `verify`. Returns the report as a dict.
    """
    how = recipe(fmt, **how)
    return json.loads(_core.quantize_path(source, _output(target), how, threads))


def dequantize_file(
    source: Any, target: Any, dtype: Any = np.float32, *, rounding: str | None = None, overwrite: bool = False
) -> int:
    """Writes a quantized file's tensors as floats; returns how many bytes that are."""
    name = NAMES[number_dtype(dtype).name]
    return _core.dequantize_path(source, _output(target), name, rounding, overwrite, None)
