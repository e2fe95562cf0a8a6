"""What several tests share: formats under their names in other libraries, and arrays of difficult
numbers."""

import ml_dtypes
import numpy as np

# Every small format of ml_dtypes, as ml_dtypes calls it.
ML_DTYPES = [
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3b11fnuz",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e8m0fnu",
    "float6_e3m2fn",
    "float6_e2m3fn",
    "float4_e2m1fn",
]

KINDS = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}


def every_float16():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def every_bfloat16():
    return np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)


def random_bits(count, dtype, seed=1):
    """Floats of all magnitudes, NaNs and infinities among them."""
    dtype = np.dtype(dtype)
    raw = np.random.default_rng(seed).bytes(count * dtype.itemsize)
    return np.frombuffer(raw, dtype)


def same_numbers(a, b):
    """Equal as numbers: NaNs are alike, zeros have signs."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    nan = np.isnan(a)
    return bool(np.all((a == b) | nan) and np.all(nan == np.isnan(b)) and np.all((np.signbit(a) == np.signbit(b)) | nan))
