"""Quantized tensors in memory, and checkpoints in files."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._core import Format
from ._interop import enter, number_dtype, numbers

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
_NAMES = {value: key for key, value in _DTYPES.items()}


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
) -> dict[str, Any]:
    """What decides the bytes of quantized tensors, as the compiled part takes it."""
    found = dict(locals())
    found["bias"] = None if bias is None else str(bias)
    found["scale_format"] = None if scale_format is None else str(scale_format)
    found["include"], found["exclude"] = list(include), list(exclude)
    return found


def _scratch(size: int) -> tempfile.TemporaryDirectory[str]:
    """A folder for files of so many bytes together, in memory where the system has the room."""
    memory = "/dev/shm"
    fits = os.path.isdir(memory) and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= size
    return tempfile.TemporaryDirectory(prefix="smallfloat-", dir=memory if fits else None)


def _array(dtype: str, shape: Sequence[int], data: bytes) -> np.ndarray:
    return np.frombuffer(data, number_dtype(_DTYPES[dtype]) if dtype == "BF16" else _DTYPES[dtype]).reshape(shape)


def _raw(name: str, array: np.ndarray) -> tuple[str, str, list[int], bytes]:
    return name, _NAMES[array.dtype.name], list(array.shape), np.ascontiguousarray(array).tobytes()


def _columns(shape: Sequence[int], granularity: str) -> int:
    """The codes of a row, which packing fills up to whole bytes."""
    return math.prod(shape[1:]) if granularity == "channel" else shape[-1] if shape else 1


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


def _check_shape(codes: np.ndarray, entry: Mapping[str, Any], place: str) -> None:
    """Refuses codes of another shape than the container's: with dimensions of 1 at the end there is one more than the
    tensor has, so that no program takes them for its weights. Files from before that have none."""
    shape = entry.get("shape")
    before = _packed_shape(entry, codes.shape if shape is None else shape)
    now = before if shape is None else before + (1,) * (max(len(before), len(shape), 1) + 1 - len(before))
    if codes.shape not in (before, now):
        raise ValueError(f"{place}: codes of a tensor of shape {shape} have the shape {now}, these have {codes.shape}")


class QuantizedTensor:
    """A tensor of codes with its format and its scales, as it is stored in the native container.

    `quantize` and `load` make it.

    Attributes
    ----------
    shape : tuple of int
    format : str
        The elements' format, without its bias where that is stored beside the codes.
    codes : array of uint8 or uint16
        One code an element.
    scales : array or None
        The codes of the scales, in `scale_format`: of shape (), (channels, 1) or (block rows, block columns).
    biases : array of uint8 or None
        Biases in the place of scales, of the same shapes.
    scale_format : str or None
    global_scale : float
        What divides all scales; 1 where there is none.
    granularity : str
        'tensor', 'channel', 'block:N' or 'block:RxC'.
    report : dict or None
        What quantizing found: error, saturated elements, ….
    """

    def __init__(self, parts: Mapping[str, np.ndarray], entry: Mapping[str, Any], report: Any = None) -> None:
        self._parts, self._entry, self.report = dict(parts), dict(entry), report
        stored = self._parts[""]
        shape = entry.get("shape")
        self.shape = tuple(stored.shape if shape is None else shape)
        self.format: str = entry["format"]
        self.granularity: str = entry["granularity"]
        self.scale_format: str | None = entry.get("scale")
        self.scales = self._parts.get("_scale")
        self.biases = self._parts.get("_bias")
        self.global_scale = float(self._parts.get("_global_scale", np.float32(1)))

    @property
    def nbytes(self) -> int:
        """Bytes of codes and scales."""
        return sum(part.nbytes for part in self._parts.values())

    @property
    def codes(self) -> np.ndarray:
        packing, stored = self._entry.get("packing") or "bytes", self._parts[""]
        stored = stored.reshape(_packed_shape(self._entry, self.shape))
        if packing == "bytes":
            return stored
        columns = _columns(self.shape, self.granularity)
        if packing == "six-bit":
            a, b, c = (stored[..., i::3].astype(np.uint32) for i in range(3))
            word = a | b << 8 | c << 16
            codes = np.stack([word >> 6 * j & 63 for j in range(4)], axis=-1)
        else:
            low, high = stored & 15, stored >> 4
            codes = np.stack([low, high] if packing == "nibbles-low" else [high, low], axis=-1)
        codes = codes.astype(np.uint8).reshape(*stored.shape[:-1], math.prod(codes.shape[-2:]))
        return codes[..., :columns].reshape(self.shape)

    def _factors(self) -> Any:
        """What elements are multiplied by, in binary64."""
        if self.biases is not None:
            return np.ldexp(1.0, -self.biases.astype(np.int32))
        if self.scales is None:
            return np.float64(1)
        if self.scale_format == "binary32":
            scales = self.scales.astype(np.float64)
        else:
            scales = self.scales.view(np.uint16) if self.scales.dtype.itemsize == 2 else self.scales
            scales = _core.decode(scales, self.scale_format, dtype=np.float64)
        return scales / self.global_scale

    def _element_format(self) -> Format:
        # A bias beside the codes is a scale of elements at bias 0.
        return Format(self.format) if self.biases is None else Format(self.format, bias=0)

    def dequantize(self, dtype: Any = np.float32) -> np.ndarray:
        """The elements' values: code times scale, rounded once to nearest even where `dtype` does not have it.

        Parameters
        ----------
        dtype : dtype
            float16, float32, float64 or ml_dtypes.bfloat16.
        """
        dtype = number_dtype(dtype)
        values = np.asarray(_core.decode(self.codes, self._element_format(), dtype=np.float64))
        factors = np.asarray(self._factors())
        if self.granularity == "channel":
            rows = self.shape[0] if self.shape else 1
            values = (values.reshape(rows, _columns(self.shape, self.granularity)) * factors).reshape(self.shape)
        elif self.granularity.startswith("block:"):
            size = [int(part) for part in self.granularity[6:].split("x")]
            rows, columns = size if len(size) == 2 else (1, size[0])
            flat = values.reshape(-1, self.shape[-1] if self.shape else 1)
            spread = factors.repeat(rows, axis=0)[: flat.shape[0]].repeat(columns, axis=1)[:, : flat.shape[1]]
            values = (flat * spread).reshape(self.shape)
        else:
            values = values * factors.reshape(())
        if dtype == np.float64:
            return values
        if dtype.name == "bfloat16":
            # A cast from binary64 would round to binary32 first.
            return np.asarray(_core.encode(values, "bfloat16", preset="ieee")).view(dtype)
        with np.errstate(over="ignore"):
            return values.astype(dtype)

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
        return f"QuantizedTensor({self.shape}, {self.format}, {self.granularity}{scales}, {self.nbytes} bytes)"


def quantize(x: Any, fmt: Any = "cfloat8_1_4_3", *, name: str = "tensor", threads: int | None = None, **how: Any) -> Any:
    """A tensor as codes of a small format, with the bias or the scales that suit it: as ``smallfloat quantize`` does it.

    Parameters
    ----------
    x : array_like
        float16, float32, float64 or ml_dtypes.bfloat16, finite unless `nonfinite` is given.
    fmt : str or Format
        A format, or a scheme: `smallfloat.schemes` lists 'mxfp8-e4m3', 'nvfp4', … Scales need two dimensions at least.
    name : str
        The tensor's name, from which stochastic rounding takes its stream.
    bias : str or int
        Of formats whose bias is data: 'auto' (default), 'amax', 'percentile:99.9', or a number.
    granularity : str
        What shares a bias or a scale: 'tensor', 'channel', 'block:32', 'block:128x128'.
    scale_format, scale_rule : str
        Scales of formats whose bias is fixed, and how they follow from the largest magnitude.
    rounding, random_bits, seed, saturation, preset : optional
        As of `encode`; finite overflow saturates by default.
    nonfinite : str
        'refuse' (default) or 'preset'.
    negative : str
        In an unsigned format: 'refuse' (default), 'nan', 'zero' or 'magnitude'.
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
    x = enter(x)[0]
    if x.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        x = numbers(x, "x")
    x = np.asarray(x, x.dtype.newbyteorder("="))
    how = recipe(fmt, native=True, verify=False, tensors="all", **how)
    # The tensor, its codes with their scales, and half as much again for what others write meanwhile.
    with _scratch(3 * x.nbytes + 2**20) as folder:
        source, result = os.path.join(folder, "x.safetensors"), os.path.join(folder, "q.safetensors")
        _core.write_tensors(source, [_raw(name, x)], [], False)
        report = json.loads(_core.quantize_path(source, result, how, threads))
        if report["tensors"][0]["format"] is None:
            raise ValueError(
                f"x has the shape {x.shape}: scales of {fmt} need two dimensions at least; reshape it, for example to (1, {x.size})"
            )
        found = load(result)[name]
    found.report = report["tensors"][0]
    return found


def load(path: Any) -> dict[str, QuantizedTensor]:
    """The quantized tensors of a native container, by name."""
    metadata, tensors = _core.read_tensors(os.fspath(path))
    entries = json.loads(dict(metadata).get("smallfloat.tensors", "null"))
    if entries is None:
        raise ValueError(f"{path} has no tensors quantized by smallfloat")
    arrays = {name: _array(dtype, shape, data) for name, dtype, shape, data in tensors if dtype in _DTYPES}
    suffixes = ("", "_bias", "_scale", "_global_scale")
    for name, entry in entries.items():
        _check_shape(arrays[name], entry, f"{path}, {name!r}")
    return {
        name: QuantizedTensor({s: arrays[name + s] for s in suffixes if name + s in arrays}, entry)
        for name, entry in entries.items()
    }


def save(path: Any, tensors: Mapping[str, QuantizedTensor | np.ndarray], *, overwrite: bool = False) -> None:
    """Writes quantized tensors and arrays into one safetensors file; the file is whole or absent.

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
        if isinstance(tensor, QuantizedTensor):
            entries[name] = tensor._entry
            raw += [_raw(name + suffix, part) for suffix, part in tensor._parts.items()]
        else:
            raw.append(_raw(name, np.asarray(tensor)))
    metadata = [("smallfloat.version", "1"), ("smallfloat.tensors", json.dumps(entries))] if entries else []
    _core.write_tensors(os.fspath(path), raw, metadata, overwrite)


def quantize_file(source: Any, target: Any, fmt: Any = "cfloat8_1_4_3", *, threads: int | None = None, **how: Any) -> Any:
    """Quantizes a .safetensors or .npy file, or a checkpoint folder, as ``smallfloat quantize`` does.

    Keyword arguments are those of `quantize`, and `tensors` ("weights", "matrices" or "all"; by default matrices, and
    weights for the schemes of other programs), `include` and `exclude` (lists of patterns of names), `overwrite` and
    `verify`. Returns the report as a dict.
    """
    how = recipe(fmt, **how)
    return json.loads(_core.quantize_path(os.fspath(source), os.fspath(target), how, threads))


def dequantize_file(
    source: Any, target: Any, dtype: Any = np.float32, *, rounding: str | None = None, overwrite: bool = False
) -> int:
    """Writes a quantized file's tensors as floats; returns how many bytes that are."""
    name = _NAMES[number_dtype(dtype).name]
    return _core.dequantize_path(os.fspath(source), os.fspath(target), name, rounding, overwrite, None)
