import sys

import ml_dtypes  # NumPy's bfloat16, which the reader looks for
import numpy as np
from data import show
from safetensors import safe_open

with safe_open(sys.argv[1], framework="numpy") as file:
    x = file.get_tensor("layer.weight").astype(np.float64)
show("values", x.view(np.uint64))
