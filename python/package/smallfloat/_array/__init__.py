"""`Array`: codes that know their format, with NumPy's protocols."""

from .array import Array, array

__all__ = ["Array", "array"]
