"""Readers of every layout that `smallfloat quantize --scheme` writes, from the layouts' texts, with
NumPy alone: bytes of files to values, codes and scales. Nothing here uses smallfloat, or a package
that reads the layout.

Values are binary64 numbers and exact: products of a code's value (at most 8 bits, in lists 24) and
a scale (at most 24), where a divisor is a power of two. Sources of the names are in
docs/layouts.md.
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
    """A tensor's values, row by row, or the bytes of what is no number; where it is stored as codes
    also these and what they stand for; codes that rounding never gives stand for NaN. `ties` is
    what a number in the middle becomes: the "even" code, the "lower" value or that nearer to
    "zero"; lists have no zero with a sign."""

    shape: list
    values: np.ndarray
    codes: np.ndarray | None = None
    scales: np.ndarray | None = None
    table: np.ndarray | None = None
    ties: str = "even"
    is_list: bool = False


def minifloat(exponent, mantissa, bias, specials):
    """The values of a format's codes, by its definition: (-1)^s · 2^(e - bias) · (1 + m), and
    subnormals."""
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
# Tesla's: every code is a number, and what has the exponent field 0 is 2^-bias · 0.m. Here at bias
# 0.
CFLOAT8 = minifloat(4, 3, 0, None)
CFLOAT8 = np.where(np.arange(256) & 0x78, CFLOAT8, CFLOAT8 / 2)
E8M0 = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan)


def binary32(*values):
    return np.array(values, np.float32).astype(np.float64)


# Appendix E of arXiv 2305.14314, with the digits of bitsandbytes 0.50.
NF4 = binary32(
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0)
# Of arXiv 2405.03103: quantiles of Student's t-distribution of five degrees of freedom, eight from
# 0.9677083 and seven below a half, over the largest, in six digits.
SF4 = binary32(
    -1, -0.627781, -0.454736, -0.334331, -0.237434, -0.152899, -0.074982, 0, 0.065513, 0.132965, 0.204661, 0.283835, 0.375805,
    0.491076, 0.656781, 1)
INT4, INT8 = (np.where(codes >> bits - 1, codes - 2.0**bits, codes) for bits, codes in ((4, np.arange(16)), (8, np.arange(256))))
# What rounding never gives: −2, which has no opposite, and a second zero.
MINUS_TWO, SECOND_ZERO = 128, 8


def but(table, code):
    table = table.copy()
    table[code] = np.nan
    return table


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


GGUF_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Types of tensors: a name, elements of a block and its bytes.
GGUF_TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 8: ("Q8_0", 32, 34), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 30: ("BF16", 1, 2),
              39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36)}


def read_gguf(path):
    """The tensors of a GGUF file: a magic, counts, keys with values, tensors' names and places,
    bytes from a multiple of 32 on."""
    data, at = np.fromfile(path, np.uint8), 0

    def take(format_):
        nonlocal at
        values = struct.unpack_from("<" + format_, data, at)
        at += struct.calcsize("<" + format_)
        return values

    def text():
        nonlocal at
        [length] = take("Q")
        at += length
        return data[at - length : at].tobytes().decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            kind, count = take("IQ")
            return [value(kind) for _ in range(count)]
        return take(GGUF_NUMBERS[kind])[0]

    magic, _, tensors, keys = take("4sIQQ")
    if magic != b"GGUF":
        raise ValueError(f"{path} is no GGUF file")
    told = {text(): value(*take("I")) for _ in range(keys)}
    places = []
    for _ in range(tensors):
        name, [count] = text(), take("I")
        shape = list(take(f"{count}Q"))[::-1]
        places.append((name, shape, *take("IQ")))
    alignment = told.get("general.alignment", 32)
    begin, found = -(-at // alignment) * alignment, {}
    for name, shape, kind, offset in places:
        dtype, elements, size = GGUF_TYPES[kind]
        length = int(np.prod(shape)) // elements * size
        found[name] = Stored(dtype, shape, data[begin + offset : begin + offset + length])
    return found


def files_of(path):
    """The files with tensors of a file or folder."""
    return sorted(path.glob("*.safetensors")) if path.is_dir() else [path]


def read_all(path):
    if path.suffix == ".gguf":
        return read_gguf(path)
    return {name: tensor for file in files_of(path) for name, tensor in read_file(file)[0].items()}


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
    """Scales in cuBLAS's order: tiles of 128 rows and 4 columns, in each 32 lines of 16, line r
    with rows r, r+32, r+64, r+96."""
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
    ties: str = "even"
    is_list: bool = False
    never: int | None = None

    def read(self, tensors):
        """Every tensor of a file, those in this layout decoded."""
        found, used = {}, {"scaled_fp8"}
        for name, stored in tensors.items():
            own = name.removesuffix(self.codes)
            if not name.endswith(self.codes):
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
        # The native container has a dimension of 1 at the end.
        native = len(stored.shape) > 2
        rows = int(np.prod(stored.shape[: -2 if native else -1]))
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
        shape = [*stored.shape[: -2 if native else -1], columns]
        values = (self.table[codes] * each).reshape(-1)
        table = self.table if self.never is None else but(self.table, self.never)
        return Tensor(shape, values, codes.reshape(-1), each.reshape(-1), table, self.ties, self.is_list)


class BitsAndBytes:
    """Bytes of two codes, the first in the high half; blocks of 64 elements whatever the rows;
    `quant_map` has the values of codes, and bytes of JSON the shape."""

    codes, scale = "weight", ".absmax"

    def __init__(self, kind, ties, never=None):
        self.state, self.ties, self.never = f".quant_state.bitsandbytes__{kind}", ties, never

    def read(self, tensors):
        found, parts = {}, (self.scale, ".quant_map", self.state)
        for name, stored in tensors.items():
            if any(name.endswith(part) and name.removesuffix(part) + self.state in tensors for part in parts):
                continue
            if name + self.state not in tensors:
                found[name] = Tensor(stored.shape, stored.numbers() if stored.has_numbers() else stored.data)
                continue
            state = json.loads(tensors[name + self.state].data.tobytes())
            count, block = int(np.prod(state["shape"])), state["blocksize"]
            codes = high_first(stored.data)[:count]
            scales = np.repeat(of_f32(tensors[name + self.scale]), block)[:count]
            table = of_f32(tensors[name + ".quant_map"])
            targets = table if self.never is None else but(table, self.never)
            found[name] = Tensor(state["shape"], table[codes] * scales, codes, scales, targets, self.ties, True)
        return found


with np.errstate(invalid="ignore"):
    BFLOAT16 = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
    BINARY16 = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
# Scales of GGUF's NVFP4 have no sign, and all bits set are 0.
UE4M3 = np.append(E4M3[:127], 0.0)


class Gguf:
    """Tensors whose blocks have their scales in them, or 16-bit floats."""

    codes, scale = "", None

    def __init__(self, dtype):
        self.dtype = dtype

    def read(self, tensors):
        found = {}
        for name, stored in tensors.items():
            factor = tensors.get(name.removesuffix("weight") + "scale")
            if self.dtype == "NVFP4" and name.endswith("scale") and name.removesuffix("scale") + "weight" in tensors:
                continue
            if stored.dtype != self.dtype:
                found[name] = Tensor(stored.shape, stored.numbers() if stored.has_numbers() else stored.data)
                continue
            codes, scales, table = getattr(self, stored.dtype.lower())(stored.data, 1.0 if factor is None else Layout.one(factor))
            found[name] = Tensor(stored.shape, table[codes] * scales, codes, scales, table, is_list=table is INT8)
        return found

    @staticmethod
    def mxfp4(data, _):
        """A power of two, then 16 bytes: low halves are elements 0 to 15."""
        blocks = data.reshape(-1, 17)
        codes = np.concatenate([blocks[:, 1:] & 15, blocks[:, 1:] >> 4], axis=1)
        return codes.reshape(-1), np.repeat(E8M0[blocks[:, 0]], 32), E2M1

    @staticmethod
    def nvfp4(data, factor):
        """Four scales, then for each 8 bytes: low halves are elements 0 to 7."""
        blocks = data.reshape(-1, 36)
        parts = blocks[:, 4:].reshape(-1, 4, 8)
        codes = np.concatenate([parts & 15, parts >> 4], axis=2)
        return codes.reshape(-1), np.repeat(UE4M3[blocks[:, :4] & 127].reshape(-1) * factor, 16), E2M1

    @staticmethod
    def q8_0(data, _):
        """An F16, then 32 integers."""
        blocks = data.reshape(-1, 34)
        scales = blocks[:, :2].copy().view("<f2").astype(np.float64)
        return blocks[:, 2:].reshape(-1), np.repeat(scales, 32), INT8

    @staticmethod
    def bf16(data, _):
        return data.view("<u2"), np.ones(len(data) // 2), BFLOAT16

    @staticmethod
    def f16(data, _):
        return data.view("<u2"), np.ones(len(data) // 2), BINARY16


class GptOss:
    """`_blocks` [experts, out, groups, 16] and `_scales`; what the model calls its weight is
    [experts, in, out]."""

    codes, scale = "_blocks", "_scales"

    @staticmethod
    def read(tensors):
        found = {}
        for name, stored in tensors.items():
            own = name.removesuffix("_blocks")
            if name.endswith("_scales") and name.removesuffix("_scales") + "_blocks" in tensors:
                continue
            if own == name:
                found[name] = Tensor(stored.shape, stored.numbers() if stored.has_numbers() else stored.data)
                continue
            experts, out, groups, _ = stored.shape
            codes = low_first(stored.data).reshape(experts, out, -1)
            scales = np.repeat(E8M0[tensors[own + "_scales"].data], 32).reshape(codes.shape)
            codes, scales = codes.transpose(0, 2, 1).reshape(-1), scales.transpose(0, 2, 1).reshape(-1)
            found[own] = Tensor([experts, 32 * groups, out], E2M1[codes] * scales, codes, scales, E2M1)
        return found


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
    "deepseek-v4-experts": Layout(E2M1, low_first, scale="scale", sibling=True, **POWERS),
    "mxfp4-typed": Layout(E2M1, low_first, **POWERS),
    "mxfp8-typed": Layout(E4M3, **POWERS),
    "modelopt-nvfp4": Layout(E2M1, low_first, factor="_scale_2", **FOURS),
    "modelopt-fp8": Layout(E4M3),
    "quark-mxfp4": Layout(E2M1, low_first, **POWERS),
    "comfy-fp8": Layout(E4M3),
    "comfy-scaled-fp8": Layout(E4M3, scale="scale_weight", sibling=True),
    "comfy-mxfp8": Layout(E4M3, tiled=True, **POWERS),
    "comfy-nvfp4": Layout(E2M1, high_first, factor="_scale_2", tiled=True, **FOURS),
    "gpt-oss": GptOss,
    "gguf-mxfp4": Gguf("MXFP4"),
    "gguf-nvfp4": Gguf("NVFP4"),
    "gguf-bf16": Gguf("BF16"),
    "gguf-f16": Gguf("F16"),
    "gguf-q8_0": Gguf("Q8_0"),
    "bnb-nf4": BitsAndBytes("nf4", "lower"),
    "bnb-fp4": BitsAndBytes("fp4", "zero", SECOND_ZERO),
    "nf4": Layout(NF4, low_first, block=(1, 64), ties="lower", is_list=True),
    "sf4": Layout(SF4, low_first, block=(1, 64), ties="lower", is_list=True),
    "int4": Layout(INT4, low_first, block=(1, 64), is_list=True),
    "int8": Layout(INT8, block=(1, None), is_list=True),
    "mxint8": Layout(INT8 / 64, is_list=True, never=MINUS_TWO, **POWERS),
}


def wrongly_rounded(x, tensor):
    """How many codes are not those of the nearest value to x / scale, ties by the layout's rule,
    the largest where x is beyond it.

    Exact: a midpoint has at most one bit more than the table's values, of lists at most 30, so that
    its product with a scale is a number of binary64 or of 64 bits.
    """
    finite = np.flatnonzero(np.isfinite(tensor.table))
    values = np.unique(tensor.table[finite])
    middles = (values[1:] + values[:-1]) / 2
    middles = middles.astype(np.longdouble) if tensor.is_list else middles
    low, high = np.append(-np.inf, middles), np.append(middles, np.inf)
    rank = np.searchsorted(values, np.where(np.isfinite(tensor.table), tensor.table, 0))
    odd = np.arange(len(tensor.table)) % 2 == 1
    below, above = low[rank][tensor.codes], high[rank][tensor.codes]
    with np.errstate(invalid="ignore"):
        below, above = below * tensor.scales, above * tensor.scales
    own = tensor.table[tensor.codes]
    match tensor.ties:
        case "even":
            ties = odd[tensor.codes] & ((x == below) | (x == above))
        case "lower":
            ties = x == below
        case "zero":
            ties = (x == below) & (own > 0) | (x == above) & (own < 0)
    signs = np.signbit(x) != np.signbit(own)
    if tensor.is_list:
        signs &= own != 0
    nans = ~np.isfinite(tensor.table)[tensor.codes]
    return int(np.count_nonzero((x < below) | (x > above) | ties | signs | nans))
