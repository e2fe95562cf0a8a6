"""Types of the operations by name, which `operation_names` lists."""

from typing import Any, Literal, Protocol

class _Rounds(Protocol):
    def __call__(
        self,
        *operands: Any,
        to: Any = None,
        rounding: str | None = None,
        saturation: str | None = None,
        semantics: Literal["ieee", "p3109"] | None = None,
        random_bits: int = 32,
        flags: str | None = None,
        seed: int | None = None,
        stream: int | str | None = None,
        generator: Literal["philox", "ars5"] = "philox",
        first_element: int = 0,
        return_flags: bool | Literal["each"] = False,
        threads: int | None = None,
    ) -> Any: ...

class _Tells(Protocol):
    def __call__(
        self,
        *operands: Any,
        flags: str | None = None,
        return_flags: bool | Literal["each"] = False,
        threads: int | None = None,
    ) -> Any: ...

convert: _Rounds
negate: _Rounds
abs: _Rounds
copy_sign: _Rounds
add: _Rounds
subtract: _Rounds
multiply: _Rounds
divide: _Rounds
remainder: _Rounds
fmod: _Rounds
fma: _Rounds
faa: _Rounds
sqrt: _Rounds
recip: _Rounds
clamp: _Rounds
minimum: _Rounds
maximum: _Rounds
minimum_number: _Rounds
maximum_number: _Rounds
minimum_magnitude: _Rounds
maximum_magnitude: _Rounds
minimum_magnitude_number: _Rounds
maximum_magnitude_number: _Rounds
minimum_finite: _Rounds
maximum_finite: _Rounds
rsqrt: _Rounds
hypot: _Rounds
arc_tan2: _Rounds
arc_tan2_pi: _Rounds
exp: _Rounds
exp2: _Rounds
exp_minus_one: _Rounds
log: _Rounds
log2: _Rounds
log_one_plus: _Rounds
softplus: _Rounds
sin: _Rounds
cos: _Rounds
tan: _Rounds
arc_sin: _Rounds
arc_cos: _Rounds
arc_tan: _Rounds
sinh: _Rounds
cosh: _Rounds
tanh: _Rounds
arc_sinh: _Rounds
arc_cosh: _Rounds
arc_tanh: _Rounds
sin_pi: _Rounds
cos_pi: _Rounds
tan_pi: _Rounds
arc_sin_pi: _Rounds
arc_cos_pi: _Rounds
arc_tan_pi: _Rounds
compare_less: _Tells
compare_less_equal: _Tells
compare_equal: _Tells
compare_greater: _Tells
compare_greater_equal: _Tells
is_zero: _Tells
is_one: _Tells
is_nan: _Tells
is_infinite: _Tells
is_finite: _Tells
is_sign_minus: _Tells
is_normal: _Tells
is_subnormal: _Tells
total_order: _Tells
next_greater_than: _Tells
next_less_than: _Tells
