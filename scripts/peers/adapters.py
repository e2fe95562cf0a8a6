"""What other libraries compute, for peers.py and packs.py.

A class for each library; `LIBRARIES` has the ways in which each of them can be asked. An instance
imports its library, and `compute(operation, formats, operands)` takes arrays of codes (uint64), one
per operand, and returns an array of the results' codes, in which -1 stands for what the library
refuses or what is no code. `Lacks` says that the library does not have the operation. Formats are
those of the operands and, last, of the result; operations are Convert, Add and Multiply.
"""

import contextlib
import ctypes
import functools
import os
import pathlib
import subprocess
import tomllib
from importlib import metadata

import numpy as np

SMALL = "e4m3fn e5m2 e4m3fnuz e5m2fnuz e4m3b11fnuz e4m3 e3m4 e3m2fn e2m3fn e2m1fn e8m0fnu".split()
FORMATS = [*SMALL, "binary16", "bfloat16"]
WIDTHS = {"binary64": 64, "binary32": 32, "binary16": 16, "bfloat16": 16, "e8m0fnu": 8, "e2m1fn": 4, "e3m2fn": 6, "e2m3fn": 6,
          "binary4p2sf": 4}


# Torch, Paddle and the like read codes as signed integers.
SIGNED = {np.uint64: np.int64, np.uint32: np.int32, np.uint16: np.int16, np.uint8: np.uint8}


class Lacks(Exception):
    """The library does not have the operation."""


def width(format):
    return WIDTHS.get(format, 8)


def unsigned(format):
    """NumPy's type for the codes of a format."""
    return {64: np.uint64, 32: np.uint32, 16: np.uint16}.get(width(format), np.uint8)


def have(names, formats):
    """A library's own names of formats, all of which it must have."""
    if not all(format in names for format in formats):
        raise Lacks
    return [names[format] for format in formats]


def values(format, codes):
    """The values of codes of a format that NumPy has, or of bfloat16, in binary64."""
    if format == "bfloat16":
        return values("binary32", codes << np.uint64(16))
    types = {"binary64": np.float64, "binary32": np.float32, "binary16": np.float16}
    [numbers] = have(types, [format])
    with np.errstate(invalid="ignore"):
        return codes.astype(unsigned(format)).view(numbers).astype(np.float64)


@contextlib.contextmanager
def lacking(*errors):
    """A library's own errors, all of which say that it lacks the operation."""
    try:
        yield
    except errors as error:
        raise Lacks from error


class MlDtypes:
    package = "ml_dtypes"
    FUNCTIONS = {"Add": np.add, "Multiply": np.multiply}

    def __init__(self):
        import ml_dtypes

        names = {"bfloat16": "bfloat16", "e3m2fn": "float6_e3m2fn", "e2m3fn": "float6_e2m3fn", "e2m1fn": "float4_e2m1fn"}
        self.types = {f: getattr(ml_dtypes, names.get(f, f"float8_{f}")) for f in [*SMALL, "bfloat16"]}
        self.types |= {"binary16": np.float16, "binary32": np.float32, "binary64": np.float64}

    def arrays(self, formats, operands):
        types = have(self.types, formats)
        return [codes.astype(unsigned(f)).view(t) for f, codes, t in zip(formats, operands, types)], types[-1]

    def compute(self, operation, formats, operands):
        x, to = self.arrays(formats, operands)
        with np.errstate(all="ignore"):
            result = x[0].astype(to) if operation == "Convert" else self.FUNCTIONS[operation](*x)
        if result.dtype != to:
            raise Lacks
        return result.view(unsigned(formats[-1]))


class Jax(MlDtypes):
    """XLA's conversions, compiled for the processor."""

    package = "jax"

    def __init__(self):
        super().__init__()
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax

    def compute(self, operation, formats, operands):
        x, to = self.arrays(formats, operands)
        functions = {"Convert": lambda a: a.astype(to), "Add": lambda a, b: a + b, "Multiply": lambda a, b: a * b}
        with lacking(TypeError, ValueError, NotImplementedError, RuntimeError):
            result = np.asarray(self.jax.jit(functions[operation])(*x))
        if result.dtype != to:
            raise Lacks
        return result.view(unsigned(formats[-1]))


class Torch:
    package = "torch"
    NAMES = {"e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz",
             "e8m0fnu": "float8_e8m0fnu", "binary16": "float16", "bfloat16": "bfloat16", "binary32": "float32",
             "binary64": "float64"}

    def __init__(self):
        import torch

        self.torch = torch
        self.types = {format: getattr(torch, name) for format, name in self.NAMES.items() if hasattr(torch, name)}

    def tensor(self, format, codes):
        signed = SIGNED[unsigned(format)]
        return self.torch.from_numpy(codes.astype(unsigned(format)).view(signed)).view(self.types[format])

    def compute(self, operation, formats, operands):
        have(self.types, formats)
        x = [self.tensor(f, codes) for f, codes in zip(formats, operands)]
        with lacking(RuntimeError, NotImplementedError):
            functions = {"Add": self.torch.add, "Multiply": self.torch.mul}
            result = x[0].to(self.types[formats[-1]]) if operation == "Convert" else functions[operation](*x)
        to = unsigned(formats[-1])
        return result.view(getattr(self.torch, np.dtype(SIGNED[to]).name)).numpy().view(to)


class Torchao(Torch):
    """Elements of four and six bits, one per byte, and blocks of them."""

    package = "torchao"

    def __init__(self):
        super().__init__()
        from torchao.prototype.mx_formats import kernels, mx_tensor

        self.narrow = {"e2m1fn": kernels.f32_to_f4_unpacked, "e2m3fn": kernels.f32_to_f6_e2m3_unpacked,
                       "e3m2fn": kernels.f32_to_f6_e3m2_unpacked}
        self.wide = {"e2m1fn": kernels.f4_unpacked_to_f32, "e2m3fn": kernels.f6_e2m3_unpacked_to_f32,
                     "e3m2fn": kernels.f6_e3m2_unpacked_to_f32}
        self.to_dtype = mx_tensor.to_dtype

    def compute(self, operation, formats, operands):
        if operation != "Convert" or "binary32" not in formats or not {*formats} & {*self.narrow}:
            raise Lacks
        if formats[0] == "binary32":
            return self.narrow[formats[-1]](self.tensor("binary32", operands[0])).numpy()
        return self.wide[formats[0]](self.torch.from_numpy(operands[0].astype(np.uint8))).numpy().view(np.uint32)

    def block(self, element, scales, codes):
        kinds = {"e2m1fn": self.torch.float4_e2m1fn_x2, "e4m3fn": self.torch.float8_e4m3fn, "e5m2": self.torch.float8_e5m2}
        [kind] = have(kinds, [element])
        data = codes.astype(np.uint8)
        data = data[:, 0::2] | data[:, 1::2] << np.uint8(4) if element == "e2m1fn" else data
        data = self.torch.from_numpy(np.ascontiguousarray(data))
        data = data if element == "e2m1fn" else data.view(kind)
        scales = self.tensor("e8m0fnu", scales).reshape(-1, 1)
        return self.to_dtype(data, scales, kind, codes.shape[1], self.torch.float32).numpy().view(np.uint32)


class Gfloat:
    package = "gfloat"
    NAMES = {"e4m3fn": "ocp_e4m3", "e5m2": "ocp_e5m2", "e3m2fn": "ocp_e3m2", "e2m3fn": "ocp_e2m3", "e2m1fn": "ocp_e2m1",
             "e8m0fnu": "ocp_e8m0", "binary16": "binary16", "bfloat16": "bfloat16"}

    def __init__(self, saturate=False):
        import gfloat
        import gfloat.formats

        self.gfloat, self.saturate = gfloat, saturate
        self.types = {f: getattr(gfloat.formats, "format_info_" + name) for f, name in self.NAMES.items()}
        domain, sign = gfloat.Domain, gfloat.Signedness.Signed
        self.types |= {f"binary8p{p}se": gfloat.formats.format_info_p3109(8, p, sign, domain.Extended) for p in (3, 4)}
        self.types["binary4p2sf"] = gfloat.formats.format_info_p3109(4, 2, sign, domain.Finite)

    def encode(self, format, x):
        return self.gfloat.encode_ndarray(format, self.gfloat.round_ndarray(format, x, sat=self.saturate)).astype(np.int64)

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        source, to = formats
        with np.errstate(all="ignore"):
            if source in self.types:
                x = self.gfloat.decode_ndarray(self.types[source], operands[0].astype(np.int64)).astype(np.float64)
            elif source == "binary32":
                x = values(source, operands[0])
            else:
                raise Lacks
            if to == "binary32":
                return x.astype(np.float32).view(np.uint32)
            [to] = have(self.types, [to])
            try:
                return self.encode(to, x)
            except Exception:
                # What it refuses, it refuses for the whole array: leave NaN and the infinities out.
                result = np.full(x.shape, -1)
                with lacking(Exception):
                    result[np.isfinite(x)] = self.encode(to, x[np.isfinite(x)])
                return result

    def block(self, element, scales, codes):
        format = self.gfloat.BlockFormatInfo("block", self.types[element], codes.shape[1], self.types["e8m0fnu"])
        blocks = (list(self.gfloat.decode_block(format, [int(s), *map(int, c)])) for s, c in zip(scales, codes))
        with np.errstate(all="ignore"):
            return np.array([*blocks], np.float64).astype(np.float32).view(np.uint32)


class Numkong:
    package = "numkong"
    NAMES = {"e4m3fn": "e4m3", "e5m2": "e5m2", "e3m2fn": "e3m2", "e2m3fn": "e2m3", "binary16": "float16",
             "bfloat16": "bfloat16", "binary32": "float32"}

    def __init__(self):
        import numkong

        self.numkong = numkong

    def compute(self, operation, formats, operands):
        source, to = have(self.NAMES, (formats[0], formats[-1]))
        if operation != "Convert" or to == source:
            raise Lacks
        x = operands[0].astype(unsigned(formats[0]))
        with lacking(TypeError, ValueError, AttributeError, RuntimeError):
            known = {"float32": np.float32, "float16": np.float16}
            tensor = self.numkong.Tensor(x.view(known[source])) if source in known else self.numkong.Tensor(x).view(source)
            result = self.numkong.astype(tensor, to)
            return np.frombuffer(memoryview(result).tobytes(), unsigned(formats[-1]))


class Crate:
    """A Rust crate, by the program `vectors` of the benchmarks."""

    def __init__(self, name):
        self.name = name

    def compute(self, operation, formats, operands):
        if operation == "Convert" and formats[0] == "binary32":
            which, format = "encode", formats[-1]
        elif operation == "Convert" and formats[-1] == "binary32":
            which, format = "decode", formats[0]
        elif operation != "Convert":
            which, format = operation, formats[0]
        else:
            raise Lacks
        lines = "\n".join(" ".join(f"{code:x}" for code in line) for line in zip(*(o.tolist() for o in operands))) + "\n"
        run = subprocess.run([os.environ["SMALLFLOAT_PEERS"], self.name, which, format], input=lines, capture_output=True, text=True)
        if run.returncode == 3:
            raise Lacks
        if run.returncode:
            raise RuntimeError(f"{self.name} {which} {format}: {run.stderr}")
        return np.array([int(line.rsplit(" ", 1)[1], 16) for line in run.stdout.splitlines()], np.uint64)


class OnnxRuntime:
    package = "onnxruntime"
    NAMES = {"e4m3fn": "FLOAT8E4M3FN", "e5m2": "FLOAT8E5M2", "e4m3fnuz": "FLOAT8E4M3FNUZ", "e5m2fnuz": "FLOAT8E5M2FNUZ",
             "e8m0fnu": "FLOAT8E8M0", "binary16": "FLOAT16", "bfloat16": "BFLOAT16", "binary32": "FLOAT", "binary64": "DOUBLE"}

    def __init__(self, saturate=1):
        import onnx
        import onnxruntime

        self.helper, self.runtime, self.saturate = onnx.helper, onnxruntime, saturate
        self.types = {format: getattr(onnx.TensorProto, name) for format, name in self.NAMES.items()}

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        source, to = have(self.types, formats)
        how = {"saturate": self.saturate} if formats[-1] in SMALL else {}
        about = [[self.helper.make_tensor_value_info(name, type, [None])] for name, type in (("x", source), ("y", to))]
        graph = self.helper.make_graph([self.helper.make_node("Cast", ["x"], ["y"], to=to, **how)], "cast", *about)
        model = self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 24)], ir_version=11)
        codes = operands[0].astype(unsigned(formats[0]))
        known = {"binary64": np.float64, "binary32": np.float32, "binary16": np.float16}
        with lacking(Exception):
            session = self.runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            value = self.runtime.OrtValue
            x = value.ortvalue_from_numpy(codes.view(known[formats[0]])) if formats[0] in known else \
                value.ortvalue_from_numpy_with_onnx_type(codes, source)
            y = session.run_with_ort_values(None, {"x": x})[0]
        # NumPy has no types for these, so the results are read where they are.
        to = unsigned(formats[-1])
        memory = (ctypes.c_uint8 * (y.shape()[0] * np.dtype(to).itemsize)).from_address(y.data_ptr())
        return np.frombuffer(memory, to).copy()


class OpenVino:
    package = "openvino"
    NAMES = {"e4m3fn": "f8e4m3", "e5m2": "f8e5m2", "e8m0fnu": "f8e8m0", "binary16": "f16", "bfloat16": "bf16", "binary32": "f32",
             "binary64": "f64"}

    def __init__(self):
        import openvino

        self.ov = openvino

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        source, to = have(self.NAMES, formats)
        type = getattr(self.ov.Type, source)
        with lacking(RuntimeError):
            x = self.ov.opset13.parameter([-1], type)
            model = self.ov.Model([self.ov.opset13.convert(x, to)], [x])
            compiled = self.ov.Core().compile_model(model, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})
            codes = operands[0].astype(unsigned(formats[0]))
            result = compiled([self.ov.Tensor(codes, list(codes.shape), type)])[0]
        return np.frombuffer(result.tobytes(), unsigned(formats[-1]))


class Mlx:
    package = "mlx"
    NAMES = {"binary16": "float16", "bfloat16": "bfloat16", "binary32": "float32"}

    def __init__(self):
        import mlx.core

        self.mx = mlx.core
        self.types = {format: getattr(self.mx, name) for format, name in self.NAMES.items()}

    def compute(self, operation, formats, operands):
        source, to = formats[0], formats[-1]
        if operation != "Convert" or source == to:
            raise Lacks
        have(self.types | {"e4m3fn": None}, formats)
        x = self.mx.array(operands[0].astype(unsigned(source)))
        if source == "e4m3fn":
            y = self.mx.from_fp8(x, dtype=self.types[to])
        elif to == "e4m3fn":
            return np.array(self.mx.to_fp8(x.view(self.types[source])))
        else:
            y = x.view(self.types[source]).astype(self.types[to])
        return np.array(y.view({16: self.mx.uint16, 32: self.mx.uint32}[width(to)]))

    def block(self, element, scales, codes):
        # Its groups have 32 elements, so a block is repeated in one.
        [(mode, bits)] = have({"e2m1fn": ("mxfp4", 4), "e4m3fn": ("mxfp8", 8)}, [element])
        rows, length = codes.shape
        lanes = np.tile(codes, (1, 32 // length)).reshape(rows, -1, 32 // bits).astype(np.uint32)
        words = self.mx.array(np.bitwise_or.reduce(lanes << (np.arange(32 // bits, dtype=np.uint32) * bits), axis=2))
        scales = self.mx.array(scales.astype(np.uint8).reshape(-1, 1))
        numbers = self.mx.dequantize(words, scales, group_size=32, bits=bits, mode=mode, dtype=self.mx.float32)
        return np.array(numbers).view(np.uint32)[:, :length]


class Paddle:
    package = "paddlepaddle"
    NAMES = {"e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2", "binary16": "float16", "bfloat16": "bfloat16",
             "binary32": "float32", "binary64": "float64"}

    def __init__(self):
        import paddle

        self.paddle = paddle

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        source, to = have(self.NAMES, formats)
        signed = [SIGNED[unsigned(format)] for format in formats]
        with lacking(Exception):
            x = self.paddle.to_tensor(operands[0].astype(unsigned(formats[0])).view(signed[0])).view(source)
            return x.astype(to).view(np.dtype(signed[1]).name).numpy().view(unsigned(formats[1]))


class Tinygrad:
    """Its conversions of one number at a time, in Python."""

    package = "tinygrad"
    NAMES = {"e4m3fn": "fp8e4m3", "e5m2": "fp8e5m2", "e4m3fnuz": "fp8e4m3fnuz", "e5m2fnuz": "fp8e5m2fnuz"}

    def __init__(self):
        from tinygrad import dtype

        self.functions = dtype

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        dtypes = self.functions.dtypes
        if formats[0] in self.NAMES and formats[-1] == "binary32":
            of = getattr(dtypes, self.NAMES[formats[0]])
            return np.array([self.functions.fp8_to_float(int(c), of) for c in operands[0]], np.float32).view(np.uint32)
        [name] = have(self.NAMES, formats[-1:])
        to = getattr(dtypes, name)
        return np.array([self.functions.float_to_fp8(x, to) for x in values(formats[0], operands[0]).tolist()], np.int64)


class Apytypes:
    package = "apytypes"
    SHAPES = {"e5m2": (5, 2), "e4m3": (4, 3), "e3m4": (3, 4), "binary16": (5, 10), "bfloat16": (8, 7), "binary32": (8, 23),
              "binary64": (11, 52)}

    def __init__(self):
        import apytypes

        self.apytypes = apytypes

    def compute(self, operation, formats, operands):
        shapes = have(self.SHAPES, formats)
        x = [self.apytypes.APyFloatArray.from_bits(codes.tolist(), *shape) for codes, shape in zip(operands, shapes)]
        even = self.apytypes.QuantizationMode.TIES_EVEN
        with self.apytypes.APyFloatQuantizationContext(even):
            result = x[0].cast(*shapes[-1], quantization=even) if operation == "Convert" else \
                x[0] + x[1] if operation == "Add" else x[0] * x[1]
        return np.array(result.to_bits(), np.uint64)


class Fpy:
    """FPy, by its exact numbers and rounding contexts."""

    package = "fpy2"
    NAMES = {"e4m3fn": "MX_E4M3", "e5m2": "MX_E5M2", "e4m3fnuz": "S1E4M3", "e5m2fnuz": "S1E5M2", "e3m2fn": "MX_E3M2",
             "e2m3fn": "MX_E2M3", "e2m1fn": "MX_E2M1", "e8m0fnu": "MX_E8M0", "binary16": "FP16", "bfloat16": "BF16",
             "binary32": "FP32", "binary64": "FP64", "binary8p3se": "FP8P3", "binary8p4se": "FP8P4"}
    FUNCTIONS = {"Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "div", "Sqrt": "sqrt", "Exp": "exp",
                 "Exp2": "exp2", "Log": "log", "Log2": "log2", "Tanh": "tanh", "Abs": "fabs", "Negate": "neg", "FMA": "fma"}

    def __init__(self, overflow="OVERFLOW"):
        import fpy2

        self.fpy, self.overflow = fpy2, getattr(fpy2.OV, overflow)
        self.types = {format: getattr(fpy2, name) for format, name in self.NAMES.items()}

    def compute(self, operation, formats, operands, rounding="RNE"):
        to = have(self.types, formats)[-1]
        with contextlib.suppress(TypeError, ValueError):
            to = to.with_params(rm=getattr(self.fpy.RM, rounding), overflow=self.overflow)
        if operation == "Convert":
            function = to.round
        else:
            [name] = have(self.FUNCTIONS, [operation])
            function = functools.partial(getattr(self.fpy, name), ctx=to)

        def one(*codes):
            try:
                return to.encode(function(*(self.types[f].decode(int(c)) for f, c in zip(formats, codes))))
            except (ValueError, OverflowError, NotImplementedError, ArithmeticError):
                return -1

        return np.array([*map(one, *operands)], np.int64 if width(formats[-1]) < 64 else np.uint64)


class Pychop:
    """P3109's formats; what lies between conversions is the host's arithmetic."""

    package = "pychop"

    def __init__(self, saturate="none"):
        import pychop

        self.pychop, self.saturate = pychop, saturate
        self.types = {f"binary8p{p}se": pychop.P3109Format(8, p, True, "extended") for p in (3, 4)}
        self.types["binary4p2sf"] = pychop.P3109Format(4, 2, True, "finite")

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        if formats[0] in self.types and formats[-1] == "binary32":
            with np.errstate(all="ignore"):
                x = np.asarray(self.pychop.p3109_decode(operands[0].astype(np.int64), self.types[formats[0]]))
                return x.astype(np.float32).view(np.uint32)
        [to] = have(self.types, formats[-1:])
        return np.asarray(self.pychop.p3109_encode(values(formats[0], operands[0]), to, saturate=self.saturate)).astype(np.int64)


class Native:
    """A shared library with a function `convert`, which numbers formats by its own list."""

    def __init__(self, path, formats):
        self.library, self.formats = ctypes.CDLL(path), formats

    def call(self, formats, saturating, arrays, outputs):
        source, to = have({f: i for i, f in enumerate(self.formats) if f}, formats)
        arrays = [np.ascontiguousarray(a, np.uint64) for a in arrays]
        results = [np.zeros(len(arrays[0]), np.uint64) for _ in range(outputs)]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in [*arrays, *results]]
        if self.library.convert(source, to, int(saturating), *pointers, ctypes.c_size_t(len(arrays[0]))):
            raise Lacks
        return results


class Cuda(Native):
    """The code for processors in CUDA's headers."""

    package = "nvidia-cuda-runtime"

    def __init__(self, saturate=True):
        self.saturate = saturate
        super().__init__(os.environ["SMALLFLOAT_PEERS_CUDA"], ["binary64", "binary32", "binary16", "bfloat16", "e4m3fn", "e5m2",
                                                               "e3m2fn", "e2m3fn", "e2m1fn", "e8m0fnu"])

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        return self.call(formats, self.saturate, operands, 1)[0]


class Spike(Native):
    """The SoftFloat of RISC-V's reference simulator, which also gives flags."""

    def __init__(self, saturate=False):
        self.saturate = saturate
        super().__init__(os.environ["SMALLFLOAT_PEERS_SPIKE"], [None, "binary32", "binary16", "bfloat16", "e4m3fn", "e5m2"])

    def compute(self, operation, formats, operands):
        if operation != "Convert":
            raise Lacks
        return self.flagged(formats, self.saturate, np.zeros_like(operands[0]), operands[0])[0]

    def flagged(self, formats, saturate, modes, codes):
        """Codes and flags as in fflags; modes are numbered as in frm."""
        return self.call(formats, saturate, [modes, codes], 2)


CRATES = ["half", "float8", "minifloat", "microfloat"]

# Each way of asking a library: its name and what makes it.
LIBRARIES = {
    "ml_dtypes": MlDtypes,
    "torch": Torch,
    "jax": Jax,
    "onnxruntime": OnnxRuntime,
    "onnxruntime, saturate=0": functools.partial(OnnxRuntime, 0),
    "openvino": OpenVino,
    "mlx": Mlx,
    "paddle": Paddle,
    "tinygrad": Tinygrad,
    "torchao": Torchao,
    "CUDA's headers": Cuda,
    "CUDA's headers, NOSAT": functools.partial(Cuda, False),
    "Spike": Spike,
    "Spike, sat": functools.partial(Spike, True),
    "gfloat": Gfloat,
    "gfloat, sat=True": functools.partial(Gfloat, True),
    "fpy2": Fpy,
    "fpy2, SATURATE": functools.partial(Fpy, "SATURATE"),
    "apytypes": Apytypes,
    "pychop": Pychop,
    "numkong": Numkong,
    **{name: functools.partial(Crate, name) for name in CRATES},
}


def library(way):
    """The name of the library of a way of asking it."""
    return way.split(",")[0]


def versions():
    """The version of each library."""
    lock = tomllib.loads(pathlib.Path("bench/Cargo.lock").read_text())
    found = {p["name"]: p["version"] for p in lock["package"] if p["name"] in CRATES}
    for way, made in LIBRARIES.items():
        package = getattr(getattr(made, "func", made), "package", None)
        if package:
            found[library(way)] = metadata.version(package)
    return found | {"Spike": os.environ["SMALLFLOAT_PEERS_SPIKE_VERSION"]}
