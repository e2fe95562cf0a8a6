from fractions import Fraction

import numpy as np
from data import data, show, wide_data
from ml_dtypes import float8_e5m2

x, y = (x.astype(float8_e5m2).astype(float) for x in (wide_data(), data()))
products = (Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist()))
# Rounds twice: to binary64, then to binary32.
total = np.float32(float(sum(products)))
show("sum", total.view(np.uint32))
