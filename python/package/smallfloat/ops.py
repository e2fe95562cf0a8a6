"""Operations of the P3109 draft by name, as functions of arrays of codes.

Every operation on scalars has a function here, in lower case with underscores: `add`, `fma`,
`minimum_magnitude_number`, `exp2`, `compare_less`, `is_finite`, … They take an array of codes per
operand, then the formats; an `Array` brings its own, and the result is one. `help(sf.ops.add)`
tells the rest. `Operation` takes P3109's spelling, mixed projections and blocks too.

>>> import numpy as np, smallfloat as sf
>>> sf.ops.add(np.array([0x38, 0x39], np.uint8), np.uint8(0x38), "e4m3fn")
array([64, 64], dtype=uint8)
>>> sf.ops.add(np.array([0x38, 0x39], np.uint8), np.uint8(0x38), "e4m3fn", to="binary32")
array([2.   , 2.125], dtype=float32)
>>> sf.ops.is_subnormal([0, 1, 8], "e4m3fn")
array([False,  True, False])
>>> sf.ops.add(sf.array([1.0, 1.125], "e4m3fn"), sf.array([0.25, 0.25], "e5m2"), rounding="toward-zero")
array([1.25, 1.25], format='e5m2')
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable

from ._core import Format, Operation, operation_names, operation_shape
from ._interop import is_array

#: P3109's names of the modes, by ours.
_ROUNDINGS = {
    "nearest-even": "NearestTiesToEven",
    "nearest-away": "NearestTiesToAway",
    "toward-positive": "TowardPositive",
    "toward-negative": "TowardNegative",
    "toward-zero": "TowardZero",
    "to-odd": "ToOdd",
    "stochastic-a": "StochasticA<{}>",
    "stochastic-b": "StochasticB<{}>",
    "stochastic-c": "StochasticC<{}>",
}
_SEMANTICS = {"ieee": "ieee", "p3109": "p3109"}
_SATURATIONS = {
    "satfinite": "SatFinite",
    "satpropagate": "SatPropagate",
    "satnone": "SatNone",
    "satnone-v40": "SatNone-V40",
}


@functools.lru_cache(maxsize=256)
def _operation(text: str, flags: str | None) -> Operation:
    return Operation(text, flags)


def _word(what: str, given: str, words: dict[str, str]) -> str:
    if given not in words:
        raise ValueError(f"{what}='{given}' is not known: write one of {', '.join(map(repr, words))}")
    return words[given]


def _spelling(
    name: str,
    arity: int,
    rounds: bool,
    fmt: Any,
    to: Any,
    rounding: str | None,
    saturation: str | None,
    semantics: str | None,
    bits: int,
) -> str:
    fmts = list(fmt) if isinstance(fmt, (tuple, list)) else [fmt] * arity
    if len(fmts) != arity:
        raise ValueError(f"{name} takes {arity} formats of operands, or one for all; {len(fmts)} are given")
    fmts = [one if isinstance(one, Format) else Format(one) for one in fmts]
    parts = [str(one) for one in fmts]
    if rounds:
        result = fmts[-1] if to is None else to if isinstance(to, Format) else Format(to)
        parts.append(str(result))
        if rounding is not None or saturation is not None:
            rounding = _word("rounding", rounding or "nearest-even", _ROUNDINGS).format(bits)
            saturation = _word("saturation", saturation or "satnone", _SATURATIONS)
            parts.append(f"({rounding}, {saturation})")
        if semantics is not None:
            parts.append(f"semantics={_word('semantics', semantics, _SEMANTICS)}")
    elif to is not None or rounding is not None or saturation is not None or semantics is not None:
        raise TypeError(f"{name} does not round: leave out to, rounding, saturation and semantics")
    return f"{name}<{', '.join(parts)}>"


def _function(name: str, rounds: bool, arity: int) -> Callable[..., Any]:
    def operation(
        *operands: Any,
        to: Any = None,
        rounding: str | None = None,
        saturation: str | None = None,
        semantics: str | None = None,
        random_bits: int = 32,
        flags: str | None = None,
        **call: Any,
    ) -> Any:
        if len(operands) == arity and all(map(is_array, operands)):
            codes, fmt = list(operands), tuple(x.format for x in operands)
        elif len(operands) == arity + 1:
            *codes, fmt = operands
        else:
            raise TypeError(
                f"{name} takes {arity} operands and their format, or {arity} Arrays; {len(operands)} arguments are given"
            )
        text = _spelling(name, arity, rounds, fmt, to, rounding, saturation, semantics, random_bits)
        return _operation(text, flags)(*codes, **call)

    listed = ", ".join("xyz"[:arity])
    operation.__name__ = operation.__qualname__ = _python_name(name)
    more = (
        """
    to : Format or str, optional
        The result's format; by default that of the last operand.
    rounding, saturation : str, optional
        As of `smallfloat.encode`; 'nearest-even' and 'satnone' beside the other. By default the format's own.
    semantics : str, optional
        'ieee' or 'p3109': whose special cases hold; by default P3109's where all formats are P3109's or IEEE 754's.
    random_bits, seed, stream, generator, first_element :
        Of stochastic rounding, as of `smallfloat.encode`."""
        if rounds
        else ""
    )
    operation.__doc__ = f"""P3109's {name}.

    Parameters
    ----------
    {listed} : array_like of codes, or Array
        Broadcast against each other; float32 and float64 for binary32 and binary64.
    fmt : Format or str, or a tuple of them
        The format of all operands, or one of each; left out where all operands are Arrays.{more}
    flags : str, optional
        Whose rules decide when flags are raised and which NaN a result is: one of `smallfloat.flag_policies`. By
        default 'tesla' if a format is Tesla's, else 'ieee-before'.
    return_flags : bool or 'each'
        Return the `Flags` that were raised too; with 'each' an array of uint8, those of each element.
    threads : int, optional
        At most so many.
    """
    return operation


def _python_name(name: str) -> str:
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("NaN", "Nan"))
    return name.lower()


__all__: list[str] = []
for _name in operation_names():
    _scalar, _rounds, _arity = operation_shape(_name)
    if _scalar:
        globals()[_python_name(_name)] = _function(_name, _rounds, _arity)
        __all__.append(_python_name(_name))
del _name, _scalar, _rounds, _arity
