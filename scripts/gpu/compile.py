"""Compiles every kernel for NVIDIA's and AMD's devices, without one, and prints a table of what
came out.

    python compile.py
"""

import itertools
import re
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from smallfloat.torch._triton import blocks, convert, statistics

TARGETS = {"CUDA, compute capability 9.0": GPUTarget("cuda", 90, 32), "HIP, gfx942": GPUTarget("hip", "gfx942", 64)}
FLOATS = ("*i32", "*i16", "*i16")


def converting(operation, rounding, grid, floats, counted=False, held=False):
    """A case of `convert_kernel`: names of pointers, and constants."""
    given, codes = FLOATS[floats], "*u8"
    pointers = {"x": codes if operation == "decode" else given, "y": codes if operation == "encode" else given}
    constants = {
        "OPERATION": operation, "FLOAT": floats, "ROUNDING": rounding, "GRID": grid, "SIGNED": True, "NO_NEGATIVE_ZERO": grid == 0,
        "WIDE_IN": held, "WIDE_OUT": held, "SHIFTED": held, "WORDS": held and rounding == 6, "KEEP": operation == "round",
        "COUNTED": counted, "BLOCK": 1024,
    }  # fmt: skip
    for name, is_there, kind in (("counts", counted, "*i64"), ("shift", held, "*i32"), ("words", held and rounding == 6, "*i64")):
        if is_there:
            pointers[name] = kind
        else:
            constants[name] = None
    return convert.convert_kernel, pointers, constants


def of_blocks(scale, packing, floats, values=None):
    """A case of the kernels of blocks: quantizing where `values` is given."""
    constants = {
        "SCALE": scale, "DIVIDED": scale == "number", "PACKING": packing, "FLOAT": floats, "GRID": 0, "SIGNED": True,
        "NO_NEGATIVE_ZERO": False, "SCALE_GRID": 0 if scale == "number" else 4, "SCALE_SIGNED": scale == "number",
        "SCALE_NO_NEGATIVE_ZERO": False, "BLOCK": 16 if scale == "number" else 32, "ROWS": 64,
    }  # fmt: skip
    pointers = {"scales": "*u8", "codes": "*u8"}
    if scale == "number":
        pointers["over"] = "*fp64"
    else:
        constants["over"] = None
    if values is None:
        return blocks.dequantize_blocks_kernel, {**pointers, "y": FLOATS[floats]}, constants
    pointers |= {"x": FLOATS[floats], "codes": FLOATS[floats] if values else "*u8"}
    return blocks.quantize_blocks_kernel, pointers, {**constants, "VALUES": values, "ROUNDING": 0}


def cases():
    """Every value of every constant that kernels are compiled for, and the pairs of rounding and
    grid."""
    for rounding, grid in itertools.product(range(7), range(5)):
        yield "encode: 7 roundings, 5 grids", converting("encode", rounding, grid, 1)
    for operation, floats in itertools.product(("encode", "decode", "round"), range(3)):
        yield "encode, decode and round: 3 types", converting(operation, 0, 1, floats)
    for rounding in (0, 6):
        yield "counts of events; bias, seed and stream in memory", converting("encode", rounding, 1, 1, True, True)
    for packing, scale in itertools.product(("bytes", "nibbles-low", "nibbles-high", "six-bit"), ("power", "number")):
        yield "blocks: quantize, 4 packings, 2 kinds of scales", of_blocks(scale, packing, 1, False)
    for packing, scale in itertools.product(("bytes", "nibbles-low", "six-bit"), ("power", "number", "bias")):
        yield "blocks: dequantize, 3 packings, 3 kinds of scales", of_blocks(scale, packing, 1)
    for scale, floats in itertools.product(("power", "number"), range(3)):
        yield "blocks: fake quantization, 3 types, 2 kinds of scales", of_blocks(scale, "bytes", floats, True)
    yield "largest magnitude", (convert.amax_kernel, {"x": "*i16", "out": "*i32"}, {"FLOAT": 1, "BLOCK": 2048})
    for trailing, hole in ((2, 1), (3, 0), (3, 1), (10, 1)):
        constants = {"FLOAT": 1, "TRAILING": trailing, "HOLE": hole, "COLUMNS": trailing + 7, "BLOCK": 4096}
        yield "exact squared errors, 4 formats", (statistics.error_table_kernel, {"x": "*i16", "table": "*i64"}, constants)


def compiled(case, target):
    kernel, pointers, constants = case
    signature = {name: "constexpr" if name in constants else pointers.get(name, "i32") for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    return triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=places), target=target)


def instructions(program):
    """How many instructions the machine code has, or None where there is no disassembler."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    if not (tool.exists() or (tool := shutil.which("nvdisasm"))):
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(program.asm["cubin"])
        file.flush()
        text = subprocess.run([str(tool), "-c", file.name], capture_output=True, text=True, check=True).stdout
    # The program ends with a jump to itself and padding.
    lines = [line for line in text.splitlines() if re.search(r"/\*[0-9a-f]{4,}\*/ +[^ ].*;", line)]
    return sum(not re.search(r"\bNOP\b", line) for line in lines)


def main():
    warnings.simplefilter("ignore")
    counts = {}
    for what, case in cases():
        for name, target in TARGETS.items():
            program = compiled(case, target)
            binary = program.asm["cubin" if target.backend == "cuda" else "hsaco"]
            assert len(binary) > 0
            counts[what, name] = counts.get((what, name), 0) + 1
    print("| kernel | " + " | ".join(TARGETS) + " |\n| --- |" + " ---: |" * len(TARGETS))
    for what in dict.fromkeys(what for what, _ in counts):
        print(f"| {what} | " + " | ".join(str(counts[what, name]) for name in TARGETS) + " |")
    print("\n| one program of 1,024 elements in 128 threads, CUDA 9.0 | instructions per thread | per element |\n| --- | ---: | ---: |")
    for what, case in (
        ("encode bfloat16 to a format with gradual subnormals, nearest-even", converting("encode", 0, 0, 1)),
        ("encode binary32 to the same", converting("encode", 0, 0, 0)),
        ("encode bfloat16 to CFloat8 (hole), nearest-even", converting("encode", 0, 1, 1)),
        ("decode to bfloat16", converting("decode", 0, 0, 1)),
        ("round bfloat16", converting("round", 0, 0, 1)),
        ("encode bfloat16, stochastic-a", converting("encode", 6, 0, 1)),
    ):
        count = instructions(compiled(case, TARGETS["CUDA, compute capability 9.0"]))
        if count is not None:
            print(f"| {what} | {count} | {count / 8:.1f} |")


if __name__ == "__main__":
    main()
