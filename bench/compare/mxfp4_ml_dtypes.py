import numpy as np
from data import show, wide_data
from ml_dtypes import float4_e2m1fn, float8_e8m0fnu

blocks = wide_data().reshape(-1, 32)
amax = np.abs(blocks).max(axis=1, keepdims=True)
# The exponent of amax, less that of 6, the largest value.
scales = np.ldexp(np.float32(1), np.clip(np.frexp(amax)[1] - 1 - 2, -127, 127))
elements = (blocks / scales).astype(float4_e2m1fn)
show("codes", elements.view(np.uint8))
show("scales", scales.astype(float8_e8m0fnu).view(np.uint8))
show("values", (elements.astype(np.float32) * scales).view(np.uint32))
