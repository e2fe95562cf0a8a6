#!/usr/bin/env python3
"""Results of MMA-Sim's models of matrix units, as digests for `crates/smallfloat-proof/tests/all/kernels/fused.rs`.

  verification/fused/mma_sim.py CHECKOUT                        write crates/smallfloat-proof/data/fused-digests.csv
  verification/fused/mma_sim.py CHECKOUT --products 10000000    at least so many products for each instruction
  verification/fused/mma_sim.py CHECKOUT --only hopper          add or replace the rows of one GPU, or of one instruction
  verification/fused/mma_sim.py CHECKOUT --check                a few results through unchanged tensors as well

CHECKOUT is a copy of https://github.com/microsoft/MMA-Sim (arXiv 2511.10909), which this script does not fetch. Needs torch and NumPy.

MMA-Sim's classes and functions run as they are. Only what they read is cheaper than a tensor: operands are small objects with the
methods that the models call, and significands and exponents of operands are remembered after its own function has given them once.
MMA-Sim's model of CDNA1 and CDNA2 converts nothing to float32 before a function that asks for float32; here that is done, exactly.
"""

import argparse
import csv
import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import torch

FILE = Path(__file__).resolve().parents[2] / "crates/smallfloat-proof/data/fused-digests.csv"
SHORT = 1 << 12  # dot products of the rows that the gate takes
FIELDS = ["unit", "instruction", "x", "y", "scales", "k", "output", "dots", "sha256"]

# name: width, bits after the point, bits of the exponent field, torch's type, the codes that are no numbers.
TYPES = {
    "e2m1fn": (4, 1, 2, None, "none"),
    "e4m3fn": (8, 3, 4, torch.float8_e4m3fn, "top"),
    "e5m2": (8, 2, 5, torch.float8_e5m2, "field"),
    "e4m3fnuz": (8, 3, 4, torch.float8_e4m3fnuz, "zero"),
    "e5m2fnuz": (8, 2, 5, torch.float8_e5m2fnuz, "zero"),
    "binary16": (16, 10, 5, torch.float16, "field"),
    "bfloat16": (16, 7, 8, torch.bfloat16, "field"),
    "tf32": (32, 23, 8, torch.float32, "field"),
    "binary32": (32, 23, 8, torch.float32, "field"),
}
OURS = {"e5m2": "e5m2", "e4m3": "e4m3fn", "e2m1": "e2m1fn", "f16": "binary16", "bf16": "bfloat16", "tf32": "tf32", "f32": "binary32",
        "fp8": "e4m3fnuz", "bf8": "e5m2fnuz", "xf32": "tf32", "ue8m0": "e8m0fnu", "ue4m3": "e4m3fn"}


# ---- operands: the same words in Rust (crates/smallfloat-proof/src/fused.rs) ----

def words(seed, first, count):
    """SplitMix64 by counter."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def seed_of(name):
    """FNV-1a of 64 bits."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def finite(kind, codes):
    width, t, field, _, specials = TYPES[kind]
    magnitude = codes & ((1 << (width - 1)) - 1)
    ones = ((1 << field) - 1) << t
    bad = {
        "none": np.zeros_like(codes, bool),
        "top": magnitude == (1 << (width - 1)) - 1,
        "field": magnitude >= ones,
        "zero": codes == 1 << (width - 1),
    }[specials]
    return np.where(bad, codes ^ (1 << (width - 2)), codes)


def near(kind, codes):
    """Exponents around zero, for the formats that have many."""
    _, t, field, _, _ = TYPES[kind]
    if field < 8:
        return codes
    return (codes & ~np.int64(255 << t)) | ((112 + (codes >> t & 31)) << t)


def operands(kind, raw, decide, classes, close):
    """Codes by the class of their dot product; arrays of dots by k."""
    width, t, _, _, specials = TYPES[kind]
    sign = np.int64(1) << (width - 1)
    codes = (raw & np.uint64((1 << width) - 1)).astype(np.int64)
    ordinary = finite(kind, codes)
    ordinary = np.where(close[:, None], near(kind, ordinary), ordinary)
    zero = np.zeros_like(codes) if specials == "zero" else codes & sign
    small = finite(kind, codes & (sign | ((1 << (t + 1)) - 1)))
    large = finite(kind, codes | (3 << (width - 3)))
    sparse = np.where((decide >> np.uint64(40)) % np.uint64(4) == 0, ordinary, zero)
    c = classes[:, None]
    return np.select([c == 0, c == 3, c == 4, c == 5], [codes, small, large, sparse], ordinary)


def batch(case, first, count):
    """Operands of some dot products: codes of x and y, bits of c, codes of the scales."""
    k, x, y, output = case["k"], case["x"], case["y"], case["c"]
    stride = 4 + 2 * k
    w = words(seed_of(case["unit"] + " " + case["instruction"]), first * stride, count * stride).reshape(count, stride)
    control = w[:, 0]
    classes = (control % np.uint64(6)).astype(np.int64)
    close = (control >> np.uint64(16)) % np.uint64(4) != 0
    xw, yw = w[:, 4::2], w[:, 5::2]
    a = operands(x, xw, xw, classes, close)
    b = operands(y, yw, yw, classes, close)
    # Cancelling: the second half is the first one negated, but for a last bit here and there.
    half = k // 2
    if half:
        cancelling = (classes == 2)[:, None]
        a[:, half:] = np.where(cancelling, a[:, : k - half], a[:, half:])
        flip = ((yw[:, half:] >> np.uint64(40)) % np.uint64(8) == 0).astype(np.int64)
        opposite = b[:, : k - half] ^ (1 << (TYPES[y][0] - 1)) ^ flip
        b[:, half:] = np.where(cancelling, finite(y, opposite), b[:, half:])
    # The accumulator.
    width, t, field, _, _ = TYPES[output]
    raw = (w[:, 1] & np.uint64((1 << width) - 1)).astype(np.int64)
    sign = np.int64(1) << (width - 1)
    mode = ((control >> np.uint64(8)) % np.uint64(4)).astype(np.int64)
    any_bits = np.where(classes == 0, raw, finite(output, raw))
    middle = finite(output, raw)
    if field == 8:
        middle = (raw & ~np.int64(255 << t)) | ((107 + (raw >> t & 255) % 40) << t)
    small = raw & (sign | ((1 << (t + 1)) - 1))
    c = np.select([mode == 0, mode == 1, mode == 2], [raw & sign, any_bits, middle], small)
    if case["scales"] and k == 64:
        c = np.where((c & ~sign) == 255 << t, finite(output, c), c)  # MMA-Sim has no answer for infinities here
    scales = None
    if case["scales"]:
        scales = [np.stack([(w[:, 2 + i] >> np.uint64(8 * j) & np.uint64(255)).astype(np.int64) for j in range(case["count"])], 1) for i in range(2)]
        for i, s in enumerate(scales):
            if case["scales"] == "e8m0fnu":
                ordinary = np.where(close[:, None], 111 + s % 32, np.where(s == 255, 127, s))
            else:
                ordinary = finite("e4m3fn", s)
            scales[i] = np.where((classes == 0)[:, None], s, ordinary)
    return a, b, c, scales


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
INTEGERS = {8: (np.uint8, torch.uint8), 16: (np.int16, torch.int16), 32: (np.int32, torch.int32)}


def tensor(kind, codes):
    """Codes as torch's type of them; e2m1 as float32, whose values it has."""
    if kind == "e2m1fn":
        return torch.from_numpy(FP4[codes])
    width, _, _, dtype, _ = TYPES[kind]
    unsigned = codes.astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[width])
    return torch.from_numpy(unsigned.view(INTEGERS[width][0])).view(dtype)


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
