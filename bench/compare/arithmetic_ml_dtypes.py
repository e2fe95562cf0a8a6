import numpy as np
from data import data, show
from ml_dtypes import float8_e4m3fn

x = data().astype(float8_e4m3fn)
y = (x[:-1] + x[1:]) / x[1:] * x[:-1] - x[1:]
show("results", y.view(np.uint8))
