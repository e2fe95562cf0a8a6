"""Kernels in Triton: the portable algorithm of `smallfloat.kernel`, one for all formats of up to 16
bits.

Nothing of this is imported before a tensor on a device that Triton compiles for needs it
(`smallfloat.torch._device`).
"""
