"""Readers of every layout that `smallfloat quantize --scheme` writes, from the layouts' texts, with NumPy alone: bytes of files
to values, codes and scales. Nothing here uses smallfloat, or a package that reads the layout.

Values are binary64 numbers and exact: products of a code's value (at most 8 bits) and a scale (at most 24), where a divisor is a
power of two. Sources of the names are in docs/layouts.md.
"""

import json
import struct
from dataclasses import dataclass

import numpy as np

ITEM = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


@dataclass
class Stored:
    """A tensor of a file: its dtype in the file's words, its shape, its bytes."""

    dtype: str
    shape: list
    data: np.ndarray

    def numbers(self):
        """Its elements as binary64, where they are plain numbers."""
        if self.dtype == "BF16":
            return (self.data.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return self.data.view(ITEM[self.dtype]).astype(np.float64)

    def has_numbers(self):
        return self.dtype in ("F64", "F32", "F16", "BF16")


@dataclass
class Tensor:
    """A tensor's values, row by row, or the bytes of what is no number; where it is stored as codes also these and what they
    stand for."""

    shape: list
    values: np.ndarray
    codes: np.ndarray | None = None
    scales: np.ndarray | None = None
    table: np.ndarray | None = None


def minifloat(exponent, mantissa, bias, specials):
    """The values of a format's codes, by its definition: (-1)^s · 2^(e - bias) · (1 + m), and subnormals."""
    codes = np.arange(2 ** (1 + exponent + mantissa))
    sign = np.where(codes >> (exponent + mantissa), -1.0, 1.0)
    e, m = codes >> mantissa & (2**exponent - 1), (codes & (2**mantissa - 1)) / 2.0**mantissa
    values = sign * np.where(e == 0, np.ldexp(m, 1 - bias), np.ldexp(1 + m, e - bias))
    magnitude = codes & (2 ** (exponent + mantissa) - 1)
    top = 2**exponent - 1
    if specials == "nan":  # only all bits set
        values[magnitude == magnitude.max()] = np.nan
    elif specials == "ieee":
        values[e == top] = np.where(m[e == top] == 0, sign[e == top] * np.inf, np.nan)
    return values


E4M3 = minifloat(4, 3, 7, "nan")
E5M2 = minifloat(5, 2, 15, "ieee")
E2M1 = minifloat(2, 1, 1, None)
E2M3 = minifloat(2, 3, 1, None)
E3M2 = minifloat(3, 2, 3, None)
# Tesla's: every code is a number, and what has the exponent field 0 is 2^-bias · 0.m. Here at bias 0.
CFLOAT8 = minifloat(4, 3, 0, None)
CFLOAT8 = np.where(np.arange(256) & 0x78, CFLOAT8, CFLOAT8 / 2)
E8M0 = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan)


def read_file(path):
    """The tensors and the metadata of a safetensors file: a length, JSON, bytes."""
    data = np.fromfile(path, np.uint8)
    [length] = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + length].tobytes())
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        tensors[name] = Stored(entry["dtype"], entry["shape"], data[begin:end])
    return tensors, metadata


def read_folder(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= read_file(path)[0]
    return tensors


# How codes lie in bytes.


def plain(data):
    return data


def low_first(data):
    return np.stack([data & 15, data >> 4], axis=-1).reshape(-1)


def high_first(data):
    return np.stack([data >> 4, data & 15], axis=-1).reshape(-1)


def six_bits(data):
    three = data.reshape(-1, 3).astype(np.uint32)
    number = three[:, 0] | three[:, 1] << 8 | three[:, 2] << 16
    return np.stack([number >> shift & 63 for shift in (0, 6, 12, 18)], axis=-1).reshape(-1).astype(np.uint8)


# What bytes of scales stand for.


def of_f32(stored):
    return stored.data.view("<f4").astype(np.float64)


def of_biases(stored):
    return np.ldexp(1.0, -stored.data.astype(np.int32))


def of_powers(stored):
    return E8M0[stored.data]


def of_e4m3(stored):
    return E4M3[stored.data]


def untile(scales, rows, columns):
    """Scales in cuBLAS's order: tiles of 128 rows and 4 columns, in each 32 lines of 16, line r with rows r, r+32, r+64, r+96."""
    down, across = -(-rows // 128), -(-columns // 4)
    tiles = scales.reshape(down, across, 32, 4, 4)  # tile row, tile column, line, which of the four rows, column
    return tiles.transpose(0, 3, 2, 1, 4).reshape(down * 128, across * 4)[:rows, :columns]


@dataclass
class Layout:
    """A row of the table: how codes are called and packed, and what scales are."""

    table: np.ndarray
    unpack: object = plain
    codes: str = ""
    scale: str | None = "_scale"
    sibling: bool = False
    decode: object = of_f32
    block: tuple = (None, None)
    divisor: str | None = None
    factor: str | None = None
    tiled: bool = False

    def read(self, tensors):
        """Every tensor of a file, those in this layout decoded."""
        found, used = {}, set()
        for name, stored in tensors.items():
            own = name.removesuffix(self.codes)
            if not own.endswith("weight") or not name.endswith(self.codes):
                continue
            module = own.removesuffix("weight")
            scale = self.scale and (module + self.scale if self.sibling else own + self.scale)
            if scale is not None and scale not in tensors or scale is None and not stored.dtype.startswith("F8"):
                continue
            others = [scale, module + "comfy_quant"]
            global_scale = 1.0
            if self.divisor:
                global_scale = 1.0 / self.one(tensors[own + self.divisor])
                others.append(own + self.divisor)
            if self.factor:
                global_scale = self.one(tensors[own + self.factor])
                others.append(own + self.factor)
            found[own] = self.tensor(stored, scale and tensors[scale], global_scale)
            used |= {name, *others}
        for name, stored in tensors.items():
            if name not in used:
                found[name] = Tensor(stored.shape, stored.numbers() if stored.has_numbers() else stored.data)
        return found

    @staticmethod
    def one(stored):
        [value] = of_f32(stored)
        if np.frexp(value)[0] != 0.5:
            raise ValueError(f"a number of the tensor that is no power of two: {value}")
        return value

    def tensor(self, stored, scale, factor):
        rows = stored.shape[0]
        codes = self.unpack(stored.data).reshape(rows, -1)
        columns = codes.shape[1]
        scales = np.ones((1, 1))
        if scale is not None:
            down, across = (1 if size is None else -(-n // size) for n, size in zip((rows, columns), self.block))
            scales = self.decode(scale)
            scales = untile(scales, down, across) if self.tiled else scales.reshape(down, across)
        scales = scales * factor
        tall, wide = (n if size is None else size for n, size in zip((rows, columns), self.block))
        each = np.repeat(np.repeat(scales, tall, axis=0), wide, axis=1)[:rows, :columns]
        return Tensor([rows, columns], (self.table[codes] * each).reshape(-1), codes.reshape(-1), each.reshape(-1), self.table)


MX, NV = (1, 32), (1, 16)
POWERS = {"decode": of_powers, "block": MX}
FOURS = {"decode": of_e4m3, "block": NV}

LAYOUTS = {
    "cfloat8_1_4_3": Layout(CFLOAT8, scale="_bias", decode=of_biases),
    "mxfp8-e4m3": Layout(E4M3, **POWERS),
    "mxfp8-e5m2": Layout(E5M2, **POWERS),
    "mxfp6-e3m2": Layout(E3M2, six_bits, **POWERS),
    "mxfp6-e2m3": Layout(E2M3, six_bits, **POWERS),
    "mxfp4": Layout(E2M1, low_first, **POWERS),
    "nvfp4": Layout(E2M1, low_first, divisor="_global_scale", **FOURS),
    "fp8": Layout(E4M3),
    "fp8-e5m2": Layout(E5M2),
    "deepseek": Layout(E4M3, scale="_scale_inv", block=(128, 128)),
    "float-quantized": Layout(E4M3, block=(1, None)),
    "mxfp8-quantized": Layout(E4M3, **POWERS),
    "mxfp6-pack-quantized": Layout(E2M3, six_bits, codes="_packed", **POWERS),
    "mxfp4-pack-quantized": Layout(E2M1, low_first, codes="_packed", **POWERS),
    "nvfp4-pack-quantized": Layout(E2M1, low_first, codes="_packed", divisor="_global_scale", **FOURS),
    "plain-e4m3": Layout(E4M3, scale=None),
    "plain-e5m2": Layout(E5M2, scale=None),
    "deepseek-e8m0": Layout(E4M3, scale="_scale_inv", decode=of_powers, block=(128, 128)),
    "deepseek-v4": Layout(E4M3, scale="scale", sibling=True, decode=of_powers, block=(128, 128)),
    "mxfp4-typed": Layout(E2M1, low_first, **POWERS),
    "mxfp8-typed": Layout(E4M3, **POWERS),
    "modelopt-nvfp4": Layout(E2M1, low_first, factor="_scale_2", **FOURS),
    "modelopt-fp8": Layout(E4M3),
    "quark-mxfp4": Layout(E2M1, low_first, **POWERS),
    "comfy-fp8": Layout(E4M3),
    "comfy-mxfp8": Layout(E4M3, tiled=True, **POWERS),
    "comfy-nvfp4": Layout(E2M1, high_first, factor="_scale_2", tiled=True, **FOURS),
}


def wrongly_rounded(x, tensor):
    """How many codes are not those of the nearest value to x / scale, ties to the even code, the largest where x is beyond it.

    Exact: a midpoint has at most one bit more than the table's values, so that its product with a scale is a binary64 number.
    """
    finite = np.flatnonzero(np.isfinite(tensor.table))
    values = np.unique(tensor.table[finite])
    middles = (values[1:] + values[:-1]) / 2
    low, high = np.append(-np.inf, middles), np.append(middles, np.inf)
    rank = np.searchsorted(values, np.where(np.isfinite(tensor.table), tensor.table, 0))
    odd = np.arange(len(tensor.table)) % 2 == 1
    below, above = low[rank][tensor.codes], high[rank][tensor.codes]
    with np.errstate(invalid="ignore"):
        below, above = below * tensor.scales, above * tensor.scales
    ties = odd[tensor.codes] & ((x == below) | (x == above))
    signs = np.signbit(x) != np.signbit(tensor.table)[tensor.codes]
    nans = ~np.isfinite(tensor.table)[tensor.codes]
    return int(np.count_nonzero((x < below) | (x > above) | ties | signs | nans))
