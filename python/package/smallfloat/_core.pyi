"""Types of the compiled part."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from ._array import Array
from ._flags import Flags

#: What `os.fsdecode` takes.
_Path: TypeAlias = str | bytes | PathLike[Any]

_A = TypeVar("_A", bound=npt.NDArray[Any])

_Format = Format | str | npt.DTypeLike
_Preset = Literal[
    "tesla",
    "ieee",
    "ocp-saturate",
    "ocp-nosaturate",
    "ml-dtypes",
    "p3109-satfinite",
    "p3109-satpropagate",
    "p3109-satnone",
    "p3109-satnone-v40",
]
_Rounding = Literal[
    "nearest-even",
    "nearest-away",
    "toward-positive",
    "toward-negative",
    "toward-zero",
    "to-odd",
    "stochastic-a",
    "stochastic-b",
    "stochastic-c",
]
_Saturation = Literal["satfinite", "satpropagate", "satnone", "satnone-v40"]
_Generator = Literal["philox", "ars5"]

__version__: str

@final
class Format:
    def __new__(cls, name: _Format, *, bias: int | None = None, subnormals: str | None = None) -> Self: ...
    @staticmethod
    def p3109(k: int, p: int, *, signed: bool = True, extended: bool = True) -> Format: ...
    @staticmethod
    def ieee(k: int, p: int) -> Format: ...
    @staticmethod
    def minifloat(
        k: int, p: int, bias: int, *, signed: bool = True, specials: str = "finite", subnormals: str = "gradual"
    ) -> Format: ...
    def with_bias(self, bias: int) -> Format: ...
    def with_subnormals(self, subnormals: str) -> Format: ...
    @property
    def name(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def precision(self) -> int: ...
    @property
    def bias(self) -> int: ...
    @property
    def exponent_bits(self) -> int: ...
    @property
    def trailing_bits(self) -> int: ...
    @property
    def signed(self) -> bool: ...
    @property
    def specials(self) -> str: ...
    @property
    def subnormals(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def default_preset(self) -> _Preset: ...
    @property
    def bias_range(self) -> tuple[int, int] | None: ...
    @property
    def max_code(self) -> int: ...
    @property
    def max(self) -> float: ...
    @property
    def min(self) -> float: ...
    @property
    def smallest_normal(self) -> float: ...
    @property
    def smallest_positive(self) -> float: ...
    @property
    def eps(self) -> float: ...
    @property
    def exponent_range(self) -> tuple[int, int]: ...
    @property
    def has_zero(self) -> bool: ...
    @property
    def has_negative_zero(self) -> bool: ...
    @property
    def has_infinity(self) -> bool: ...
    @property
    def has_nan(self) -> bool: ...
    @property
    def has_subnormals(self) -> bool: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ml_dtype(self) -> np.dtype[Any] | None: ...
    def values(self) -> npt.NDArray[np.float64]: ...
    def classify(self, code: int) -> str: ...
    def exact(self, code: int) -> str: ...
    def text(self, code: int) -> str: ...
    def shortest(self, code: int) -> str: ...
    def parse(
        self,
        text: str,
        *,
        preset: _Preset | None = None,
        rounding: _Rounding | None = None,
        saturation: _Saturation | None = None,
    ) -> int: ...
    def fits_in(self, other: _Format) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class EventCounts:
    def __new__(cls, flags: int, counts: Sequence[int]) -> Self: ...
    @property
    def flags(self) -> Flags: ...
    @property
    def elements(self) -> int: ...
    @property
    def overflowed(self) -> int: ...
    @property
    def underflowed(self) -> int: ...
    @property
    def zeros(self) -> int: ...
    @property
    def nans(self) -> int: ...
    @property
    def infinities(self) -> int: ...
    @property
    def nan_results(self) -> int: ...

@final
class Operation:
    def __new__(cls, text: str, flags: str | None = None) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def operands(self) -> list[Format]: ...
    @property
    def result(self) -> Format | None: ...
    @property
    def flags(self) -> str: ...
    def __call__(
        self,
        *operands: Any,
        seed: int | None = None,
        stream: int | str | None = None,
        generator: _Generator = "philox",
        first_element: int = 0,
        return_flags: bool | Literal["each"] = False,
        threads: int | None = None,
    ) -> Any: ...

@final
class BiasController:
    def __new__(cls, fmt: _Format, policy: str | int = "delayed", *, start: int | None = None) -> Self: ...
    @property
    def bias(self) -> int: ...
    @property
    def format(self) -> Format: ...
    @property
    def policy(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def changes(self) -> int: ...
    def observe(
        self,
        x: npt.ArrayLike | None = None,
        *,
        amax: float | None = None,
        code_use: tuple[int, int, int, int] | None = None,
        slope: float | None = None,
    ) -> int: ...
    def step(self, x: npt.ArrayLike, **how: Any) -> tuple[Any, Format]: ...
    def code_use(self, codes: npt.ArrayLike, events: EventCounts) -> tuple[int, int, int, int]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...

@overload
def encode(
    x: npt.NDArray[Any],
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[False] = False,
    out: Any = None,
    threads: int | None = None,
) -> npt.NDArray[Any]: ...
@overload
def encode(
    x: npt.NDArray[Any],
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[True],
    out: Any = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[Any], EventCounts]: ...
@overload
def encode(
    x: npt.NDArray[Any],
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal["each"],
    out: Any = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]: ...
@overload
def encode(
    x: Array,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[False] = False,
    out: Any = None,
    threads: int | None = None,
) -> Array: ...
@overload
def encode(
    x: Array,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[True],
    out: Any = None,
    threads: int | None = None,
) -> tuple[Array, EventCounts]: ...
@overload
def encode(
    x: Array,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal["each"],
    out: Any = None,
    threads: int | None = None,
) -> tuple[Array, npt.NDArray[np.uint8]]: ...
@overload
def encode(
    x: npt.ArrayLike,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[False] = False,
    out: Any = None,
    threads: int | None = None,
) -> Any: ...
@overload
def encode(
    x: npt.ArrayLike,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[True],
    out: Any = None,
    threads: int | None = None,
) -> tuple[Any, EventCounts]: ...
@overload
def encode(
    x: npt.ArrayLike,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal["each"],
    out: Any = None,
    threads: int | None = None,
) -> tuple[Any, npt.NDArray[np.uint8]]: ...
@overload
def round(
    x: _A,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[False] = False,
    out: Any = None,
    threads: int | None = None,
) -> _A: ...
@overload
def round(
    x: _A,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[True],
    out: Any = None,
    threads: int | None = None,
) -> tuple[_A, EventCounts]: ...
@overload
def round(
    x: npt.ArrayLike,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[False] = False,
    out: Any = None,
    threads: int | None = None,
) -> Any: ...
@overload
def round(
    x: npt.ArrayLike,
    fmt: _Format,
    *,
    preset: _Preset | None = None,
    rounding: _Rounding | None = None,
    saturation: _Saturation | None = None,
    seed: int | None = None,
    stream: int | str | None = None,
    random_bits: int = 32,
    words: npt.ArrayLike | None = None,
    generator: _Generator = "philox",
    first_element: int = 0,
    nonfinite: Literal["preset", "refuse"] | None = None,
    flush: Literal["before-rounding"] | None = None,
    flags: str | None = None,
    return_flags: Literal[True],
    out: Any = None,
    threads: int | None = None,
) -> tuple[Any, EventCounts]: ...
@overload
def decode(
    codes: npt.NDArray[Any] | Array,
    fmt: _Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    rounding: _Rounding | None = None,
    out: Any = None,
    threads: int | None = None,
) -> npt.NDArray[Any]: ...
@overload
def decode(
    codes: npt.ArrayLike,
    fmt: _Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    rounding: _Rounding | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any: ...
def amax(x: npt.ArrayLike) -> float: ...
def choose_bias(x: npt.ArrayLike, fmt: _Format, policy: str | int = "auto") -> Format: ...
def kappa(
    operation: str,
    *,
    variant: str | None = None,
    operands: list[list[int]] | None = None,
    given: list[int] | None = None,
    level: str | int | None = None,
    random: int | None = None,
    seed: int = 0,
) -> dict[str, Any]: ...
def verify(path: _Path) -> tuple[int, int, int, list[str]]: ...
def presets() -> list[str]: ...
def roundings() -> list[str]: ...
def saturations() -> list[str]: ...
def flag_policies() -> list[str]: ...
def generators() -> list[str]: ...
def schemes() -> list[tuple[str, str]]: ...
def value_lists() -> list[tuple[str, int, list[float]]]: ...
def variants() -> list[tuple[str, str]]: ...
def catalogue() -> list[tuple[str, list[str], bool, str]]: ...
def operation_names() -> list[str]: ...
def operation_shape(name: str) -> tuple[bool, bool, int]: ...
# Codes of scales, their format, the elements of a row that share one, and what divides all of them.
_Scales: TypeAlias = tuple[Any, _Format, int | None, float]

def row_products(
    a: Any,
    b: Any,
    formats: tuple[Format, Format],
    to: _Format,
    accumulate: Any,
    preset: str | None,
    rounding: str | None,
    saturation: str | None,
    threads: int | None,
    scales: tuple[_Scales, _Scales] | None = None,
) -> Any: ...
@final
class Quantizer:
    def __new__(cls, recipe: dict[str, Any]) -> Self: ...
    def entry(self, shape: Sequence[int], dtype: str) -> str: ...
    def quantize(
        self, x: Any, name: str, report: bool, threads: int | None
    ) -> tuple[np.ndarray, np.ndarray, list[int], float, str, str | None]: ...

@final
class Dequantizer:
    def __new__(cls, fmt: Any, scale_format: str | None, granularity: str, packing: str) -> Self: ...
    def values(
        self,
        codes: np.ndarray,
        scales: np.ndarray,
        global_scale: float,
        shape: Sequence[int],
        dtype: Any,
        threads: int | None,
    ) -> np.ndarray: ...

def quantize_path(input: _Path, output: _Path, recipe: dict[str, Any], threads: int | None) -> str: ...
def dequantize_path(
    input: _Path, output: _Path, dtype: str, rounding: str | None, overwrite: bool, threads: int | None
) -> int: ...
def plan_path(
    input: _Path, output: _Path, recipe: dict[str, Any], shards: int | None, shard_bytes: int | None
) -> str: ...
def plan_summary(plan: str) -> tuple[int, int, int, str]: ...
def apply_shard(plan: str, shard: int, verify: bool, threads: int | None) -> tuple[str, bool]: ...
def finalize_plan(plan: str, digests: bool) -> str: ...
def read_container(
    path: _Path,
) -> tuple[list[tuple[str, str]] | None, list[tuple[str, str, list[int], bytes]]]: ...
def read_tensors(path: _Path) -> tuple[list[tuple[str, str]], list[tuple[str, str, list[int], bytes]]]: ...
def read_values(
    path: _Path, dtype: npt.DTypeLike | None, include: Sequence[str], exclude: Sequence[str]
) -> list[tuple[str, np.ndarray]]: ...
def write_tensors(
    path: _Path,
    tensors: list[tuple[str, str, list[int], bytes]],
    metadata: list[tuple[str, str]],
    overwrite: bool,
) -> None: ...
def forget_after_fork() -> None: ...
def run_command(arguments: Sequence[str]) -> int: ...

@final
class KernelConstants:
    def __new__(
        cls,
        fmt: _Format,
        preset: str | None = None,
        rounding: str | None = None,
        saturation: str | None = None,
        random_bits: int = 32,
    ) -> Self: ...
    def parameters(self) -> dict[str, Any]: ...
    def encode(
        self, bits: npt.NDArray[np.uint32], shift: int = 0, words: npt.NDArray[np.uint32] | None = None
    ) -> npt.NDArray[np.uint32]: ...
    def decode(self, codes: npt.NDArray[np.uint32], shift: int = 0) -> npt.NDArray[np.uint32]: ...
