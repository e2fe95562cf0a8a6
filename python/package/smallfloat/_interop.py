"""What goes in and comes out beside plain NumPy arrays: scalars, lists, other dtypes, other
libraries' tensors.

The compiled part calls these functions when an argument is not an array that it can use where it
lies.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

import numpy as np

from ._core import Format

# Dtypes of which every value is exact in binary64, and those for which it depends.
_EXACT_INTEGERS = "?bBhHiI"
_SMALL_FLOATS = ("float8_", "float6_", "float4_")


def is_torch(x: Any) -> bool:
    """Whether this is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_jax(x: Any) -> bool:
    """Whether this is an array of JAX, or stands for one while it is traced."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def library(x: Any) -> Any:
    """The module with the functions of an array: NumPy, torch or jax.numpy."""
    return sys.modules["torch" if is_torch(x) else "jax.numpy" if is_jax(x) else "numpy"]


def is_array(x: Any) -> bool:
    """Whether this is our `Array`, of codes that know their format."""
    module = sys.modules.get("smallfloat._array.array")
    return module is not None and isinstance(x, module.Array)


def typed(codes: Any, fmt: Any) -> Any:
    """An `Array` of codes."""
    from ._array.array import Array

    return Array._of(codes, fmt if isinstance(fmt, Format) else Format(fmt))


def codes_of(x: Any, fmt: Format) -> np.ndarray:
    """The codes of an `Array` of this format."""
    from ._array.values import mixed

    if x.format != fmt:
        raise mixed(fmt, x.format)
    return x.codes


def is_masked(x: Any) -> bool:
    """Whether this is a masked array."""
    # NumPy imports this module when it is first used.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(x, masked.MaskedArray)


def _is_dask(x: Any) -> bool:
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(x, dask.Array)


def enter(x: Any) -> tuple[np.ndarray, Callable[[Any], Any] | None]:
    """An array with the elements of `x`, and what makes `x`'s kind of tensor from a result."""
    if is_masked(x):
        return np.ma.getdata(x), lambda result: np.ma.MaskedArray(result, np.ma.getmask(x))
    if isinstance(x, np.ndarray):
        return np.asarray(x), None
    if _is_dask(x):
        raise TypeError(
            "this is a Dask array: smallfloat.dask has encode, decode, round, choose_bias and quantize, which stay lazy; "
            "x.compute() loads the whole"
        )
    if is_array(x):
        return x._values(), None
    if is_torch(x):
        return _from_torch(x), lambda result: _to_torch(result, x.device)
    if is_jax(x):
        if isinstance(x, sys.modules["jax"].core.Tracer):
            raise TypeError(
                "this array has no numbers at hand, since JAX traces it: smallfloat.jax has encode, decode, round, "
                "quantize and fake_quantize, which work under jit, vmap and grad"
            )
        # DLPack has no bfloat16 for NumPy.
        return np.asarray(x), None
    if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        return np.from_dlpack(x), None
    return np.asarray(x), None


def _from_torch(x: Any) -> np.ndarray:
    import torch

    try:
        return _strided(x.detach().resolve_neg().cpu())
    except (RuntimeError, NotImplementedError) as error:
        if x.is_meta or type(x) not in (torch.Tensor, torch.nn.Parameter) or torch._C._functorch.is_functorch_wrapped_tensor(x):
            raise TypeError(
                "this tensor has no numbers at hand (it is on the device meta, or stands for another in vmap or while "
                "it is traced): take the functions of smallfloat.torch"
            ) from error
        raise


def _strided(x: Any) -> Any:
    """The array in a tensor's memory."""
    import torch

    if x.dtype == torch.bfloat16:
        ml_dtypes = sys.modules.get("ml_dtypes") or _ml_dtypes("torch.bfloat16 tensors")
        return x.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    if x.dtype.is_floating_point and x.dtype.itemsize == 1:
        name = str(x.dtype).removeprefix("torch.")
        ml_dtypes = _ml_dtypes(f"torch.{name} tensors")
        return x.view(torch.uint8).numpy().view(getattr(ml_dtypes, name))
    return x.numpy()


def to_pickle(x: Any) -> tuple[Any, Any]:
    """An array that pickle can read again, which is no tensor of uint16, and its dtype."""
    torch = sys.modules.get("torch")
    return (x.view(torch.int16) if is_torch(x) and x.dtype == torch.uint16 else x), x.dtype


def from_pickle(x: Any, dtype: Any) -> Any:
    """The array of which `to_pickle` made that."""
    return x if x.dtype == dtype else x.view(dtype)


def _to_torch(result: Any, device: Any) -> Any:
    import torch

    result = np.asarray(result)
    if result.dtype.name == "bfloat16":
        return torch.from_numpy(result.view(np.uint16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(result).to(device)


def _ml_dtypes(what: str) -> Any:
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(f"{what} need the package ml_dtypes: pip install ml_dtypes") from error
    return ml_dtypes


def numbers(x: np.ndarray, name: str) -> np.ndarray:
    """`x` in a dtype of which the kernels have one: without rounding, or not at all."""
    dtype = x.dtype
    if dtype.char in _EXACT_INTEGERS:
        return x.astype(np.float64)
    if dtype.kind in "iu":
        if x.size and (x.max() > 2**53 or x.min() < -(2**53)):
            # Without the zeros at their ends they have at most 53 bits, or are not exact.
            odd = x // np.where(x == 0, x.dtype.type(1), x & -x)
            if odd.max() > 2**53 or odd.min() < -(2**53):
                raise ValueError(
                    f"{name} has integers beyond 2**53, which float64 can't hold exactly: convert them to floats yourself"
                )
        return x.astype(np.float64)
    if dtype.name.startswith(_SMALL_FLOATS):
        return x.astype(np.float32)
    raise TypeError(
        f"{name} has the dtype {dtype}: convert it to float16, float32, float64 or ml_dtypes.bfloat16"
    )


def flushed(x: np.ndarray, fmt: Any) -> np.ndarray:
    """`x` with zeros, of their signs, for numbers below the smallest normal one of a format."""
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    # Signalling NaNs among them raise NumPy's flag.
    with np.errstate(invalid="ignore"):
        is_below = np.abs(x.astype(np.float64)) < fmt.smallest_normal
    return np.where(is_below, np.copysign(x.dtype.type(0), x), x)


def behaved(x: np.ndarray) -> np.ndarray:
    """A contiguous, aligned copy in the machine's byte order."""
    return np.require(x, x.dtype.newbyteorder("="), ["C", "A"])


def codes(x: np.ndarray, fmt: Any) -> np.ndarray:
    """`x` as unsigned integers of the width that codes of `fmt` have."""
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    wanted = fmt.dtype
    dtype = x.dtype
    own = dtype_name(dtype) if dtype.itemsize <= 2 else None
    if wanted.kind != "u":
        raise TypeError(f"{fmt} has no codes here: its numbers are NumPy's own arrays of {wanted}")
    if x.size == 0 and dtype == np.float64:
        # What NumPy makes of an empty list.
        return x.astype(wanted)
    if own is not None:
        if Format(own) != fmt:
            raise TypeError(f"the codes' dtype is {dtype}, which is not {fmt}")
        x = x if dtype.isnative else x.astype(dtype.newbyteorder("="))
        return x.view(np.uint8 if dtype.itemsize == 1 else np.uint16)
    if dtype.kind not in "iu" or dtype.kind == "b":
        raise TypeError(f"codes of {fmt} are {wanted} (or any integers in 0..={fmt.max_code}), not {dtype}")
    if x.size and (x.min() < 0 or x.max() > fmt.max_code):
        raise ValueError(f"codes of {fmt} are 0..={fmt.max_code:#x}, the array has {x.min()}..={x.max()}")
    return x.astype(wanted)


def dtype_name(dtype: Any) -> str | None:
    """The name of a dtype that is a small float: of ml_dtypes, torch, or float16."""
    if type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype":
        name = str(dtype).removeprefix("torch.")
        return name if _names_format(name) else None
    try:
        name = np.dtype(dtype).name
    except TypeError:
        return None
    return name if _names_format(name) else None


def ml_dtype(name: str) -> np.dtype | None:
    """The dtype of a format's name, as ml_dtypes has it."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    for prefix in ("", *_SMALL_FLOATS):
        if hasattr(ml_dtypes, prefix + name) and not name.startswith("_"):
            found = getattr(ml_dtypes, prefix + name)
            return np.dtype(found) if isinstance(found, type) and issubclass(found, np.generic) else None
    return np.dtype(np.float16) if name == "binary16" else None


def _names_format(name: str) -> bool:
    return name.startswith(_SMALL_FLOATS) or name in ("float16", "bfloat16", "float32", "float64")


def words(given: Any, shape: list[int], bits: int) -> np.ndarray:
    """Random words of elements, as unsigned integers of 64 bits."""
    array = np.asarray(enter(given)[0])
    if array.dtype.kind not in "iu":
        raise TypeError(f"words must be unsigned integers, not {array.dtype}")
    if array.size and (array.min() < 0 or int(array.max()) >> bits):
        raise ValueError(f"words have {bits} random bits, 0..{2**bits}, the array has {array.min()}..={array.max()}")
    try:
        array = np.broadcast_to(array, tuple(shape))
    except ValueError:
        raise ValueError(f"words have the shape {array.shape}, the elements {tuple(shape)}") from None
    return np.require(array, np.uint64, ["C", "A"])


def format_of_codes(x: Any) -> Any:
    """The format that an array has, or that its dtype is."""
    if is_array(x):
        return x.format
    name = dtype_name(getattr(x, "dtype", None)) if getattr(x, "dtype", None) is not None else None
    if name is None:
        raise TypeError("fmt is missing: the codes' dtype does not say what they mean")
    return name


def number_dtype(dtype: Any) -> np.dtype:
    """A dtype of numbers, by NumPy's, ml_dtypes' or torch's name for it."""
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    if isinstance(dtype, str) and dtype == "bfloat16":
        dtype = _ml_dtypes("bfloat16 arrays").bfloat16
    return np.dtype(dtype)


def torch_dtype(dtype: Any) -> Any:
    """torch's dtype of numbers, by any library's name for it."""
    import torch

    return dtype if isinstance(dtype, torch.dtype) else getattr(torch, number_dtype(dtype).name)


def output(out: Any, dtype: np.dtype) -> np.ndarray:
    """`out` as an array that shares its memory."""
    if is_torch(out) and out.device.type != "cpu":
        raise ValueError(f"out is on the device {out.device}, results are written on the CPU: leave out out, or give a tensor there")
    if is_torch(out) and out.requires_grad:
        raise ValueError("out requires a gradient, and results have none: leave out out, or give out.detach()")
    array = _from_torch(out) if is_torch(out) else out
    if not isinstance(array, np.ndarray):
        raise TypeError(f"out must be an array of dtype {dtype}, not {type(out).__name__}")
    if array.dtype == dtype:
        return array
    if dtype.kind == "u" and array.dtype.itemsize == dtype.itemsize and dtype_name(array.dtype) is not None:
        return array.view(dtype)
    raise TypeError(f"out must have the dtype {dtype}, not {array.dtype}")


def check_typed_output(out: Any, fmt: Any) -> None:
    """Refuses an array whose dtype is another format: its numbers would not be the results."""
    fmt = fmt if isinstance(fmt, Format) else Format(fmt)
    dtype = getattr(out, "dtype", None)
    name = dtype_name(dtype) if dtype is not None and dtype.itemsize == fmt.dtype.itemsize else None
    if name is not None and Format(name) != fmt:
        raise TypeError(f"out has the dtype {dtype}, which is not {fmt}: give an array of {fmt.dtype}")


def copy_into(out: np.ndarray, result: np.ndarray) -> None:
    """Copies a result into an array that does not lie well, or that the input shares."""
    np.copyto(out, result)


def _bits(x: np.ndarray, fmt: Format) -> np.ndarray:
    """Codes of any format; those of binary32 and binary64 are written as floats."""
    if fmt.dtype.kind == "u":
        return codes(x, fmt)
    wide, unsigned = (np.float32, np.uint32) if fmt.width == 32 else (np.float64, np.uint64)
    if x.dtype.newbyteorder("=") == unsigned:
        return x
    exact = x.astype(wide)
    if not np.array_equal(exact.astype(np.float64), x.astype(np.float64), equal_nan=True):
        raise ValueError(f"an operand of {fmt} has values that {fmt} can't hold exactly: round it yourself")
    return np.asarray(exact).view(unsigned)


def operands(
    xs: tuple[Any, ...], fmts: list[Format], result: Format | None
) -> tuple[list[np.ndarray], Callable[[Any], Any] | None]:
    """Operands as unsigned integers of one dtype and one shape, and what makes the caller's kind of
    array of results."""
    arrays, leave = [], None
    for x, fmt in zip(xs, fmts, strict=True):
        if is_array(x):
            arrays.append(codes_of(x, fmt))
            if result is not None and result.dtype.kind == "u":
                leave = leave or (lambda codes: typed(codes, result))
            continue
        array, back = enter(x)
        leave = leave or back
        arrays.append(_bits(array, fmt))
    if any(map(is_masked, xs)):
        mask = functools.reduce(np.ma.mask_or, [np.ma.getmask(x) for x in xs])
        leave = functools.partial(np.ma.MaskedArray, mask=mask)
    if any(array.shape != arrays[0].shape for array in arrays):
        arrays = list(np.broadcast_arrays(*arrays))
    widest = max(array.dtype.itemsize for array in arrays)
    dtype = np.dtype(f"u{widest if widest < 4 else 8}")
    return [np.require(array, dtype, ["C", "A"]) for array in arrays], leave


def names(found: list[str], shape: list[int]) -> Any:
    """The classes of codes."""
    array = np.array(found, dtype=np.str_).reshape(shape)
    return array if array.ndim else array[()]


def block_operands(
    xs: tuple[Any, ...], kinds: list[str], fmts: list[Format], length: int
) -> tuple[list[list[int]], list[int]]:
    """Lists of codes of all blocks, one after another, and the shape of the leading axes."""
    fmts, parts = list(fmts), []
    for position, (x, kind) in enumerate(zip(xs, kinds, strict=True), 1):
        pieces = [(x, kind != "code")]
        if kind == "block":
            if not isinstance(x, tuple) or len(x) != 2:
                raise TypeError(f"operand {position} must be a block: a pair (scales, elements)")
            pieces = [(x[0], False), (x[1], True)]
        for piece, is_sequence in pieces:
            array = _bits(enter(piece)[0], fmts.pop(0))
            if is_sequence and (array.ndim == 0 or array.shape[-1] != length):
                raise ValueError(
                    f"operand {position} must have {length} elements along its last axis, it has the shape {array.shape}"
                )
            parts.append((array, is_sequence))
    shape = np.broadcast_shapes(*(a.shape[:-1] if s else a.shape for a, s in parts))
    lists = [np.broadcast_to(a, (*shape, length) if s else shape).reshape(-1).tolist() for a, s in parts]
    return lists, list(shape)


def block_result(
    scales: list[int], scale_fmt: Format | None, elements: list[int], fmt: Format, shape: list[int], length: int
) -> Any:
    """Arrays of the results of functions of blocks."""

    def array(found: list[int], fmt: Format, shape: list[int]) -> Any:
        if fmt.dtype.kind == "u":
            return np.array(found, fmt.dtype).reshape(shape)[()]
        return np.array(found, f"u{fmt.dtype.itemsize}").view(fmt.dtype).reshape(shape)[()]

    if not elements:
        return array(scales, fmt, shape)
    sequence = array(elements, fmt, [*shape, length])
    return sequence if scale_fmt is None else (array(scales, scale_fmt, shape), sequence)
