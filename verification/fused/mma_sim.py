#!/usr/bin/env python3
"""Results of MMA-Sim's models of matrix units, as digests for
`crates/smallfloat-proof/tests/all/kernels/fused.rs`.

  verification/fused/mma_sim.py CHECKOUT                        write crates/smallfloat-proof/data/fused-digests.csv
  verification/fused/mma_sim.py CHECKOUT --products 10000000    at least so many products for each instruction
  verification/fused/mma_sim.py CHECKOUT --only hopper          add or replace the rows of one GPU, or of one instruction
  verification/fused/mma_sim.py CHECKOUT --check                a few results through unchanged tensors as well

CHECKOUT is a copy of https://github.com/microsoft/MMA-Sim (arXiv 2511.10909), which this script
does not fetch. Needs torch and NumPy.

MMA-Sim's classes and functions run as they are. Only what they read is cheaper than a tensor:
operands are small objects with the methods that the models call, and significands and exponents of
operands are remembered after its own function has given them once. MMA-Sim's model of CDNA1 and
CDNA2 converts nothing to float32 before a function that asks for float32; here that is done,
exactly.
"""

import argparse
import csv
import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import torch

from operands import FIELDS, SHORT, TYPES, batch

FILE = Path(__file__).resolve().parents[2] / "crates/smallfloat-proof/data/fused-digests.csv"
OURS = {"e5m2": "e5m2", "e4m3": "e4m3fn", "e2m1": "e2m1fn", "f16": "binary16", "bf16": "bfloat16", "tf32": "tf32", "f32": "binary32",
        "fp8": "e4m3fnuz", "bf8": "e5m2fnuz", "xf32": "tf32", "ue8m0": "e8m0fnu", "ue4m3": "e4m3fn"}


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
INTEGERS = {8: (np.uint8, torch.uint8), 16: (np.int16, torch.int16), 32: (np.int32, torch.int32)}


def tensor(kind, codes):
    """Codes as torch's type of them; e2m1 as float32, whose values it has."""
    if kind == "e2m1fn":
        return torch.from_numpy(FP4[codes])
    width, _, _, name, _ = TYPES[kind]
    unsigned = codes.astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[width])
    return torch.from_numpy(unsigned.view(INTEGERS[width][0])).view(getattr(torch, name))


# ---- what MMA-Sim's models read ----

class Scalar:
    __slots__ = ("value", "dtype")

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class Vector:
    """Some operands of a row: floats and the same as a tensor of float64."""

    __slots__ = ("values", "wide", "dtype")

    def __init__(self, values, wide, dtype):
        self.values, self.wide, self.dtype = values, wide, dtype

    def double(self):
        return self.wide

    def numel(self):
        return len(self.values)

    def item(self):
        (value,) = self.values
        return value

    def __getitem__(self, i):
        if isinstance(i, slice):
            return Vector(self.values[i], self.wide[i], self.dtype)
        return Scalar(self.values[i], self.dtype)


class Matrix:
    """A matrix of one row or one column."""

    def __init__(self, values, wide, dtype, shape, inner):
        self.vector, self.dtype, self.shape = Vector(values, wide, inner), dtype, shape

    def cpu(self):
        return self

    def __getitem__(self, place):
        (i,) = [i for i in place if i != 0 or len(self.vector.values) == 1 and i is place[-1]] or [0]
        if isinstance(i, slice):
            return self.vector[i]
        return torch.tensor(self.vector.values[i], dtype=self.vector.dtype)


def prepare(checkout):
    sys.path.insert(0, str(checkout))
    from mmasim.simulator import amd, arithmetic, nv_ptx

    original, kept = arithmetic.extract_significand_exponent, {}

    def extract(x, dtype=None):
        if type(x) is Scalar:
            key = (x.value, x.dtype)
            found = kept.get(key)
            if found is None:
                found = original(x.value, x.dtype)
                if len(kept) < 1 << 20:
                    kept[key] = found
            return found
        return original(x, dtype)

    arithmetic.extract_significand_exponent = extract
    whole = lambda function: lambda x, **options: x if isinstance(x, Matrix) else function(x, **options)
    amd.flush_denormal, amd.truncate_to_tf32 = whole(arithmetic.flush_denormal), whole(arithmetic.truncate_to_tf32)
    nv_ptx.truncate_to_tf32 = whole(arithmetic.truncate_to_tf32)
    return amd, nv_ptx, arithmetic


NVIDIA = {
    "Volta": ["m8n8k4.f32.f16.f16.f32", "m8n8k4.f16.f16.f16.f16"],
    "Turing": ["m16n8k8.f32.f16.f16.f32", "m16n8k8.f16.f16.f16.f16"],
    "Ampere": ["m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32"],
    "Ada Lovelace": ["m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32"]
    + [f"m16n8k32.{d}.{a}.{b}.{d}" for d in ("f32", "f16") for a in ("e5m2", "e4m3") for b in ("e5m2", "e4m3")],
    "RTX Blackwell": ["m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32"]
    + [f"m16n8k32.{d}.{a}.{b}.{d}" for d in ("f32", "f16") for a in ("e5m2", "e4m3") for b in ("e5m2", "e4m3")],
}
HALVES = ["m64n8k16.f32.f16.f16", "m64n8k16.f16.f16.f16", "m64n8k16.f32.bf16.bf16", "m64n8k8.f32.tf32.tf32"]
BYTES = [f"m64n8k32.{d}.{a}.{b}" for d in ("f32", "f16") for a in ("e5m2", "e4m3") for b in ("e5m2", "e4m3")]
SCALED = [f"m128n8k32.block32.f32.{a}.{b}.ue8m0" for a in ("e5m2", "e4m3") for b in ("e5m2", "e4m3")] + [
    "m128n8k64.block32.f32.e2m1.e2m1.ue8m0", "m128n8k64.block16.f32.e2m1.e2m1.ue8m0", "m128n8k64.block16.f32.e2m1.e2m1.ue4m3"]
RTX_SCALED = [q.replace("m128", "m16").replace(".ue", ".f32.ue") for q in SCALED] + ["m16n8k64.block32.f32.e2m1.e2m1.f32.ue4m3"]
AMD = {
    "CDNA1": ["f32_32x32x8f16", "f32_32x32x4bf16", "f32_32x32x2f32"],
    "CDNA2": ["f32_32x32x8f16", "f32_32x32x8bf16_1k", "f32_32x32x4bf16", "f32_32x32x2f32"],
    "CDNA3": ["f32_32x32x8_f16", "f32_32x32x8_bf16", "f32_32x32x4_xf32", "f32_32x32x2_f32"]
    + [f"f32_16x16x32_{a}_{b}" for a in ("bf8", "fp8") for b in ("bf8", "fp8")],
}


def cases(amd, nv):
    """All instructions: the models and the names of their types."""
    listed = []

    def nvidia(unit, name, model, qualifier):
        parts = qualifier.split(".")
        scaled = parts[1].startswith("block")
        types = parts[3:5] if scaled else parts[2:4]
        listed.append({
            "unit": unit, "instruction": f"{name}.{qualifier}", "model": model, "x": OURS[types[0]], "y": OURS[types[1]],
            "c": {torch.float32: "binary32", torch.float16: "binary16"}[model.c_type], "k": model.k,
            "scales": OURS[parts[-1]] if scaled else "", "count": model.k // model.block_size if scaled else 0})

    for arch, qualifiers in NVIDIA.items():
        unit = {"Ada Lovelace": "ada", "RTX Blackwell": "rtx-blackwell"}.get(arch, arch.lower())
        for qualifier in qualifiers:
            nvidia(unit, "mma", nv.mma(arch, qualifier), qualifier)
    for qualifier in HALVES + BYTES:
        nvidia("hopper", "wgmma", nv.wgmma("Hopper", qualifier), qualifier)
        nvidia("blackwell", "tcgen05.mma", nv.tcgen05mma("Blackwell", qualifier), qualifier)
    for qualifier in ("m64n8k16.f32.f16.bf16", "m64n8k16.f32.bf16.f16"):
        nvidia("blackwell", "tcgen05.mma", nv.tcgen05mma("Blackwell", qualifier), qualifier)
    for qualifier in SCALED:
        nvidia("blackwell", "tcgen05.mma", nv.tcgen05mma_block_scale("Blackwell", qualifier), qualifier)
    for qualifier in RTX_SCALED:
        nvidia("rtx-blackwell", "mma", nv.mma_block_scale("RTX Blackwell", qualifier), qualifier)
    for arch, qualifiers in AMD.items():
        for qualifier in qualifiers:
            model = amd.mfma(arch, qualifier)
            types = [{torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float8_e4m3fnuz: "e4m3fnuz",
                      torch.float8_e5m2fnuz: "e5m2fnuz", torch.float32: "tf32" if "xf32" in qualifier else "binary32"}[t]
                     for t in (model.a_type, model.b_type)]
            if qualifier.startswith("f32_16x16x32_"):
                types = [OURS[t] for t in qualifier.split("_")[-2:]]
            listed.append({"unit": arch.lower(), "instruction": f"mfma.{qualifier}", "model": model, "x": types[0], "y": types[1],
                           "c": "binary32", "k": model.k, "scales": "", "count": 0})
    return listed


def simulate(case, arithmetic, first, count, plain=False):
    """Bits of the results of some dot products, every NaN as one."""
    model, k = case["model"], case["k"]
    a, b, c, scales = batch(case, first, count)
    xt, yt, ct = tensor(case["x"], a), tensor(case["y"], b), tensor(case["c"], c)
    if case["unit"] == "cdna2" and case["x"] in ("binary16", "bfloat16"):
        xt, yt = arithmetic.flush_denormal(xt), arithmetic.flush_denormal(yt)
    if case["x"] == "tf32":
        xt, yt = arithmetic.truncate_to_tf32(xt), arithmetic.truncate_to_tf32(yt)
    packed = case["scales"] and k == 64
    pairwise = getattr(model, "operation_type", "") == "pairwise"
    model.m = model.n = 1
    results = []
    if not packed:
        x64, y64 = xt.double(), yt.double()
        x_rows, y_rows = x64.tolist(), y64.tolist()
        x_inner = torch.float32 if pairwise else xt.dtype
        y_inner = torch.float32 if pairwise else yt.dtype
    for i in range(count):
        C = ct[i : i + 1].clone().reshape(1, 1)
        if packed:
            pack = lambda row: torch.tensor(row[0::2] | row[1::2] << 4, dtype=torch.uint8)
            A, B = pack(a[i]).reshape(1, -1), pack(b[i]).reshape(-1, 1)
        elif plain:
            A, B = xt[i : i + 1], yt[i : i + 1].T
        else:
            A = Matrix(x_rows[i], x64[i], model.a_type, (1, k), x_inner)
            B = Matrix(y_rows[i], y64[i], model.b_type, (k, 1), y_inner)
        if scales is None:
            D = model(A, B, C)
        else:
            s = [torch.tensor(side[i], dtype=torch.uint8).view(model.s_type) for side in scales]
            D = model(A, B, C, s[0].reshape(1, -1), s[1].reshape(-1, 1))
        results.append(D.reshape(1))
    D = torch.cat(results)
    half = D.dtype == torch.float16
    bits = D.view(torch.int16 if half else torch.int32).numpy().view(np.uint16 if half else np.uint32).copy()
    bits[torch.isnan(D).numpy()] = 0x7FFF if half else 0x7FFF_FFFF
    return bits.astype("<u2" if half else "<u4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--products", type=int, default=300_000)
    parser.add_argument("--file", type=Path, default=FILE, help="the file to write")
    parser.add_argument("--only", default="", help="a part of `unit instruction`")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dump", action="store_true", help="print the results of --only, the first 4096")
    options = parser.parse_args()
    torch.set_num_threads(1)
    amd, nv, arithmetic = prepare(options.checkout)
    kept = {}
    if options.file.exists():
        with options.file.open(encoding="utf-8", newline="") as file:
            lines = (line for line in file if not line.startswith("#"))
            for row in csv.DictReader(lines):
                kept[row["unit"], row["instruction"], int(row["dots"])] = row
    for case in cases(amd, nv):
        if options.only not in f"{case['unit']} {case['instruction']}":
            continue
        start = time.monotonic()
        if options.dump:
            for bits in simulate(case, arithmetic, 0, SHORT):
                print(f"{bits:x}")
            continue
        if options.check:
            if getattr(case["model"], "operation_type", "") == "pairwise" or case["k"] == 64:
                print(f"{case['unit']} {case['instruction']}: only one way")
                continue
            one, other = (simulate(case, arithmetic, 0, 300, plain) for plain in (False, True))
            print(f"{case['unit']} {case['instruction']}: {'the same' if (one == other).all() else 'DIFFERENT'}", flush=True)
            continue
        total = max(SHORT, -(-options.products // case["k"]))
        digest, done = hashlib.sha256(), 0
        fields = {key: case[key] for key in ("unit", "instruction", "x", "y", "scales", "k")} | {"output": case["c"]}
        for old in [key for key in kept if key[:2] == (case["unit"], case["instruction"])]:
            del kept[old]
        while done < total:
            count = min(SHORT, total - done)
            digest.update(simulate(case, arithmetic, done, count).tobytes())
            done += count
            if done in (SHORT, total):
                kept[case["unit"], case["instruction"], done] = fields | {"dots": done, "sha256": digest.copy().hexdigest()}
        print(f"{case['unit']} {case['instruction']}: {done} dots in {time.monotonic() - start:.1f} s", flush=True)
        with options.file.open("w", encoding="utf-8", newline="") as file:
            file.write("# Digests of MMA-Sim's results, by verification/fused/mma_sim.py; little-endian bits, every NaN as 0x7fff(ffff).\n")
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept.values())


if __name__ == "__main__":
    main()
