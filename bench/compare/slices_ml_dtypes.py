import numpy as np
from data import data, show
from ml_dtypes import float8_e4m3fn

x = data().astype(float8_e4m3fn)
back = x.astype(np.float32)
show("codes", x.view(np.uint8))
show("values", back.view(np.uint32))
