"""Tensors of PyTorch and JAX: quantizing, dequantizing, rounding and layers beside torchao,
microxcaling, gfloat, ml_dtypes and the casts of both, one thread.

Prints a table in Markdown. Seconds are the processor's, so that what else the machine does counts
for little; every round measures both sides, and a ratio is the median of the rounds' ratios. A
package that is missing is left out, and said to be. MICROXCALING names a folder with microxcaling's
`mx`.
"""

import os
import statistics
import sys
import time

import ml_dtypes
import numpy as np
import torch

import smallfloat as sf
import smallfloat.torch as sft

ROUNDS = 9
# 1,024 rows of 4,096.
SHAPE = (1024, 4096)


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def with_torchao(x):
    from torchao.prototype.mx_formats import mx_tensor
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
    from torchao.quantization import Float8WeightOnlyConfig, quantize_

    floor, name = ScaleCalculationMode.FLOOR, "torchao"
    for scheme, dtype in (("mxfp8-e4m3", torch.float8_e4m3fn), ("mxfp4", torch.float4_e2m1fn_x2)):
        ours, theirs = sf.quantize(x, scheme, threads=1), mx_tensor.MXTensor.to_mx(x, dtype, 32, floor)
        yield (
            f"quantize to {scheme}",
            name,
            lambda scheme=scheme: sf.quantize(x, scheme, threads=1),
            lambda dtype=dtype: mx_tensor.MXTensor.to_mx(x, dtype, 32, floor),
        )
        yield (
            f"dequantize {scheme}",
            name,
            lambda ours=ours: ours.dequantize(threads=1),
            lambda theirs=theirs: theirs.dequantize(torch.float32),
        )
    yield (
        "quantize to nvfp4",
        name,
        lambda: sf.quantize(x, "nvfp4", threads=1),
        lambda: NVFP4Tensor.to_nvfp4(x, per_tensor_scale=x.abs().max() / (448 * 6)),
    )

    def model():
        return torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4)))

    yield (
        "`quantize_` four layers to 8 bits, a scale a row",
        name,
        lambda: sft.quantize_(model(), sft.Config("e4m3fn", granularity="channel", scale_format="binary32")),
        lambda: quantize_(model(), Float8WeightOnlyConfig()),
    )


def with_microxcaling(x):
    sys.path.insert(0, os.environ["MICROXCALING"])
    from mx.mx_ops import quantize_mx_op
    from mx.specs import MxSpecs

    for scheme, element in (("mxfp8-e4m3", "fp8_e4m3"), ("mxfp4", "fp4_e2m1")):
        specs = MxSpecs(scale_bits=8, w_elem_format=element, block_size=32, custom_cuda=False)
        simulate = sft.quantizer(scheme)
        yield (
            f"round to {scheme}",
            "microxcaling",
            lambda simulate=simulate: simulate(x),
            lambda specs=specs, element=element: quantize_mx_op(x, specs, elem_format=element, axes=[-1]),
        )


def with_gfloat(x):
    import gfloat
    from gfloat.formats import format_info_ocp_e4m3

    array = x.numpy()
    yield (
        "round an array to e4m3fn",
        "gfloat",
        lambda: sf.round(array, "e4m3fn", threads=1),
        lambda: gfloat.round_ndarray(format_info_ocp_e4m3, array, sat=True),
    )


def with_ml_dtypes(x):
    array = x.numpy()
    typed = sf.array(array, "e4m3fn")
    cast = array.astype(ml_dtypes.float8_e4m3fn)
    yield (
        "cast an array to e4m3fn",
        "ml_dtypes",
        lambda: sf.array(array, "e4m3fn"),
        lambda: array.astype(ml_dtypes.float8_e4m3fn),
    )
    yield (
        "cast an array from e4m3fn",
        "ml_dtypes",
        lambda: typed.astype(np.float32),
        lambda: cast.astype(np.float32),
    )


def with_torch(x):
    yield (
        "round to e4m3fn",
        "torch's casts",
        lambda: sft.round(x, "e4m3fn"),
        lambda: x.to(torch.float8_e4m3fn).to(torch.float32),
    )


def with_jax(x):
    import jax
    import jax.numpy as jnp

    import smallfloat.jax as sfj

    array = jnp.asarray(x.numpy())
    ours = jax.jit(lambda x: sfj.round(x, "e4m3fn"))
    theirs = jax.jit(lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32))
    yield (
        "round to e4m3fn under `jit`",
        "JAX's casts",
        lambda: ours(array).block_until_ready(),
        lambda: theirs(array).block_until_ready(),
    )


def main():
    torch.set_num_threads(1)
    x = torch.from_numpy(((np.random.default_rng(1).random(SHAPE, np.float32) - 0.5) * 8))
    print("| task | beside | our speed / theirs |")
    print("| --- | --- | ---: |")
    for pairs in (with_torch, with_torchao, with_microxcaling, with_gfloat, with_ml_dtypes, with_jax):
        try:
            for task, peer, ours, theirs in pairs(x):
                ours(), theirs()
                ratio = statistics.median(1 / (seconds(ours) / seconds(theirs)) for _ in range(ROUNDS))
                print(f"| {task} | {peer} | {ratio:.3g} |", flush=True)
        except (ImportError, KeyError) as error:
            print(f"{pairs.__name__.removeprefix('with_')} left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
