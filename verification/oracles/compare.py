"""The library beside other implementations, on the same inputs (`run` calls this).

    compare.py ANSWERS APFLOAT WORK [--quick] --llvm VERSION

ANSWERS and APFLOAT are programs that take jobs (`smallfloat-proof`'s `answers`, `apfloat.cpp`);
WORK is a folder for their files. A difference counts as known where a row of known-differences.csv
says why; exit status 1 if any is not known, or a row is never met. NaNs are equal to each other:
which one is given is a policy. Rows go to WORK/oracles.csv.
"""

import argparse
import csv
import datetime
import hashlib
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import gfloat
import gmpy2
import ml_dtypes
import numpy as np
from gfloat.formats import (
    format_info_bfloat16, format_info_binary16, format_info_ocp_e2m1, format_info_ocp_e2m3, format_info_ocp_e3m2,
    format_info_ocp_e4m3, format_info_ocp_e5m2,
)
from gmpy2 import mpfr

from formats import Format

HERE = Path(__file__).parent
MODES = ["nearest-even", "nearest-away", "toward-zero", "toward-positive", "toward-negative"]
IEEE_LIKE = ["e5m2", "e4m3", "e3m4", "e4m3fn", "e5m2fnuz", "e4m3fnuz", "e4m3b11fnuz", "e3m2fn", "e2m3fn", "e2m1fn"]
OPERATIONS = {"add": "Add", "subtract": "Subtract", "multiply": "Multiply", "divide": "Divide"}


class Library:
    """The library's answers, many jobs at a time."""

    def __init__(self, program, work):
        self.program, self.work, self.jobs, self.count = program, work, [], 0

    def ask(self, *words):
        """Queues a job; the path of its answer."""
        self.count += 1
        path = self.work / f"{Path(self.program).name}-{self.count}.bin"
        self.jobs.append(" ".join(map(str, [*words, path])))
        return path

    def run(self):
        subprocess.run([self.program], input="\n".join(self.jobs) + "\n", text=True, check=True)
        self.jobs = []


class Comparison:
    """Rows of counts, and what is known."""

    def __init__(self, work, tools):
        self.file, self.tools = open(work / "oracles.csv", "w", encoding="utf-8"), tools
        self.date = datetime.datetime.now(datetime.timezone.utc).date()
        print("oracle,what,format,rounding,compared,differences,known,seconds,digest,tools,date", file=self.file)
        with open(HERE / "known-differences.csv", encoding="utf-8") as file:
            self.known = list(csv.DictReader(line for line in file if not line.startswith("#")))
        for row in self.known:
            row["met"] = 0
        self.unknown, self.compared, self.start = 0, 0, time.process_time()

    def check(self, oracle, what, format_, rounding, ours, theirs, facts):
        """Compares two arrays of codes; `facts` maps names of conditions to masks."""
        ours, theirs = np.asarray(ours).astype(np.int64), np.asarray(theirs).astype(np.int64)
        nans = np.isin(ours, format_.nans) & np.isin(theirs, format_.nans)
        different = (ours != theirs) & ~nans
        facts = {"any": np.ones(len(ours), bool), **facts}
        left = different.copy()
        for row in self.known:
            same = [row["oracle"] == oracle, row["what"] in (what, "*"), row["format"] in (format_.name, "*")]
            if not all(same) or row["rounding"] not in (rounding, "*"):
                continue
            mask = np.ones(len(ours), bool)
            for word in row["where"].split("&"):
                mask &= facts[word] if word in facts else False
            row["met"] += int((left & mask).sum())
            left &= ~mask
        now = time.process_time()
        digest = hashlib.sha256(ours.astype("<u2").tobytes()).hexdigest()[:16]
        known = int(different.sum() - left.sum())
        cells = [oracle, what, f'"{format_.name}"', rounding, len(ours), int(different.sum()), known, f"{now - self.start:.1f}", digest]
        cells += [self.tools[oracle], self.date]
        self.start = now
        print(",".join(map(str, cells)), file=self.file, flush=True)
        self.compared += len(ours)
        if left.any():
            self.unknown += int(left.sum())
            at = np.flatnonzero(left)
            shown = [f"{facts['input'][i]:#x}: ours {ours[i]:#x}, theirs {theirs[i]:#x}" for i in at[:5]]
            print(f"UNKNOWN {oracle} {what} {format_.name} {rounding}: {len(at)}: {'; '.join(shown)}", flush=True)


def floats(words, bits):
    """Words as numbers."""
    return words.view(np.float32 if bits == 32 else np.float64)


def half_way(x):
    """Numbers in the middle between two powers of two."""
    with np.errstate(all="ignore"):
        return np.frexp(np.abs(x))[0] == 0.75


def about(words, bits):
    """Conditions that known differences are stated with."""
    with np.errstate(all="ignore"):
        x = floats(words, bits).astype(np.float64)
        narrow = x.astype(np.float32).astype(np.float64)
    return {
        "input": words,
        "nan": np.isnan(x),
        "negative-nan": np.isnan(x) & np.signbit(x),
        "infinite": np.isinf(x),
        "zero": x == 0,
        "negative": (x < 0) | (np.signbit(x) & (x == 0)),
        "not-binary32": (narrow != x) & ~np.isnan(x),
        "tie": half_way(x),
        "below-2^-126": (x > 0) & (x < 2.0**-126),
    }


def read(path):
    return np.fromfile(path, "<u2")


def inputs(library, name, count):
    """Words of both widths for a format."""
    paths = {bits: library.ask("inputs", name, bits, count) for bits in (32, 64)}
    library.run()
    return {bits: np.fromfile(path, "<u4" if bits == 32 else "<u8") for bits, path in paths.items()}


def files(work, name, words):
    paths = {}
    for bits, array in words.items():
        paths[bits] = work / f"words-{name.split(':')[0]}-{bits}.bin"
        array.tofile(paths[bits])
    return paths


def apfloat(library, oracle, comparison, count, step):
    """LLVM's APFloat: conversions, and arithmetic on all pairs."""
    for name in [*IEEE_LIKE, "e8m0fnu", "binary16", "bfloat16"]:
        words = inputs(library, name, count)
        paths = files(library.work, name, words)
        jobs = []
        for mode in MODES:
            for bits in (32, 64):
                ours = library.ask("convert", name, mode, "satnone", bits, paths[bits])
                theirs = oracle.ask("convert", name, mode, bits, paths[bits])
                jobs.append((f"from binary{bits}", mode, ours, theirs, about(words[bits], bits)))
            if Format(name).width > 8 or name == "e8m0fnu":
                continue
            for theirs_name, our_name in OPERATIONS.items():
                ours = library.ask("pairs", our_name, name, mode, "satnone")
                theirs = oracle.ask("pairs", theirs_name, name, mode)
                jobs.append((theirs_name, mode, ours, theirs, pair_facts(name)))
            if mode == "nearest-even":
                ours = library.ask("triples", name, mode, "satnone", step)
                theirs = oracle.ask("triples", name, mode, step)
                jobs.append(("fma", mode, ours, theirs, triple_facts(name, step)))
        library.run()
        oracle.run()
        for what, mode, ours, theirs, facts in jobs:
            comparison.check("APFloat", what, Format(name), mode, read(ours), read(theirs), facts)


def operand_facts(name, codes):
    """Conditions on operands: NaN, zero, infinite in any place."""
    form = Format(name)
    is_nan = np.zeros(len(codes[0]), bool)
    is_infinite, is_zero = is_nan.copy(), is_nan.copy()
    for code in codes:
        magnitude = code & ~form.sign
        nan = np.isin(code, form.nans)
        is_nan |= nan
        is_infinite |= magnitude == (form.infinity if form.infinity is not None else -1)
        is_zero |= (magnitude == 0) & ~nan
    return {"nan": is_nan, "infinite": is_infinite, "zero": is_zero}


def pair_facts(name):
    count = 1 << Format(name).width
    x, y = np.repeat(np.arange(count), count), np.tile(np.arange(count), count)
    zero = lambda code: (code & ~Format(name).sign) == 0
    facts = {"zero-divisor": zero(y), "both-zero": zero(x) & zero(y)}
    return {"input": x << 16 | y, **facts, **operand_facts(name, [x, y])}


def triple_facts(name, step):
    count = 1 << Format(name).width
    z = np.repeat(np.arange(0, count, step), count * count)
    xy = np.tile(np.arange(count * count), len(range(0, count, step)))
    x, y = xy // count, xy % count
    return {"input": z << 32 | x << 16 | y, **operand_facts(name, [x, y, z])}


ML_DTYPES = {
    "e5m2": "float8_e5m2", "e4m3": "float8_e4m3", "e3m4": "float8_e3m4", "e4m3fn": "float8_e4m3fn",
    "e5m2fnuz": "float8_e5m2fnuz", "e4m3fnuz": "float8_e4m3fnuz", "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e3m2fn": "float6_e3m2fn", "e2m3fn": "float6_e2m3fn", "e2m1fn": "float4_e2m1fn", "e8m0fnu": "float8_e8m0fnu",
    "bfloat16": "bfloat16",
}


def numpy_like(library, comparison, count):
    """ml_dtypes, and NumPy's own float16: conversions to nearest even, and arithmetic on all
    pairs."""
    for name in [*ML_DTYPES, "binary16"]:
        oracle = "NumPy" if name == "binary16" else "ml_dtypes"
        dtype = np.float16 if name == "binary16" else getattr(ml_dtypes, ML_DTYPES[name])
        form = Format(name)
        saturation = "satfinite" if name in ("e3m2fn", "e2m3fn", "e2m1fn") else "satnone"
        # Ties of E8M0 go up there.
        mode = "nearest-away" if name == "e8m0fnu" else "nearest-even"
        unsigned = np.uint8 if form.width <= 8 else np.uint16
        words = inputs(library, name, count)
        paths = files(library.work, name, words)
        ours = {b: library.ask("convert", name, mode, saturation, b, paths[b]) for b in (32, 64)}
        pairs = {} if form.width > 8 or name == "e8m0fnu" else {
            o: library.ask("pairs", n, name, "nearest-even", saturation) for o, n in OPERATIONS.items()
        }
        library.run()
        with np.errstate(all="ignore"):
            for bits in (32, 64):
                x = floats(words[bits], bits)
                theirs = x.astype(dtype).view(unsigned)
                twice = theirs == x.astype(np.float32).astype(dtype).view(unsigned)
                facts = {**about(words[bits], bits), "rounded-twice": twice & (bits == 64)}
                comparison.check(oracle, f"from binary{bits}", form, mode, read(ours[bits]), theirs, facts)
            codes = np.arange(1 << form.width, dtype=np.uint16).astype(unsigned)
            for operation, path in pairs.items():
                x, y = codes[:, None].view(dtype), codes[None, :].view(dtype)
                theirs = getattr(np, operation)(x, y).view(unsigned).ravel()
                comparison.check(oracle, operation, form, "nearest-even", read(path), theirs, pair_facts(name))


GFLOAT = {
    "e5m2": format_info_ocp_e5m2, "e4m3fn": format_info_ocp_e4m3, "e3m2fn": format_info_ocp_e3m2, "e2m3fn": format_info_ocp_e2m3,
    "e2m1fn": format_info_ocp_e2m1, "binary16": format_info_binary16, "bfloat16": format_info_bfloat16,
}
GFLOAT_MODES = {
    "nearest-even": gfloat.RoundMode.TiesToEven, "nearest-away": gfloat.RoundMode.TiesToAway,
    "toward-zero": gfloat.RoundMode.TowardZero, "toward-positive": gfloat.RoundMode.TowardPositive,
    "toward-negative": gfloat.RoundMode.TowardNegative,
}


def by_gfloat(library, comparison, count):
    """gfloat: conversions in five roundings, saturating."""
    for name, info in GFLOAT.items():
        form = Format(name)
        words = inputs(library, name, count)
        paths = files(library.work, name, words)
        jobs = [(m, b, library.ask("convert", name, m, "satfinite", b, paths[b])) for m in MODES for b in (32, 64)]
        library.run()
        for mode, bits, path in jobs:
            with np.errstate(all="ignore"):
                ours, x = read(path), floats(words[bits], bits).astype(np.float64)
            # It raises where a format without NaN meets one.
            numbers = ~np.isnan(x) if not form.nans else np.ones(len(x), bool)
            with np.errstate(all="ignore"):
                rounded = gfloat.round_ndarray(info, x[numbers], GFLOAT_MODES[mode], True)
            theirs = gfloat.encode_ndarray(info, rounded)
            facts = {k: v[numbers] for k, v in about(words[bits], bits).items()}
            comparison.check("gfloat", f"from binary{bits}", form, mode, ours[numbers], theirs, facts)


MPFR_MODES = {
    "nearest-even": gmpy2.RoundToNearest, "toward-zero": gmpy2.RoundToZero, "toward-positive": gmpy2.RoundUp,
    "toward-negative": gmpy2.RoundDown,
}
MPFR = [
    "cfloat8_1_4_3:bias=7,subnormals=gradual", "cfloat8_1_5_2:bias=31,subnormals=gradual", "e4m3fn", "e5m2", "e3m2fn",
    "binary8p3se", "binary8p4se", "shp:bias=15,subnormals=gradual", "binary16", "bfloat16",
]
# All pairs take seconds for a format and a mode.
MPFR_PAIRS = ["cfloat8_1_4_3:bias=7,subnormals=gradual", "cfloat8_1_5_2:bias=31,subnormals=gradual", "e5m2"]


def by_mpfr(library, comparison, count, wanted=""):
    """MPFR with the format's precision and range: conversions, and arithmetic on all pairs; finite
    operands, saturating."""
    for name in (name for name in MPFR if wanted in name):
        form = Format(name)
        by_value = {}
        for code in range(1 << form.width):
            if (value := form.value(code)) is not None and not (value == 0 and code & form.sign):
                by_value[value] = code
        largest = form.value(form.top)
        operands = [form.value(code) for code in range(1 << form.width)]
        # A hundred thousand results take seconds: of 16-bit formats every 16th input.
        words = {b: w[:: 16 if form.width > 8 else 1] for b, w in inputs(library, name, count).items()}
        paths = files(library.work, name, words)
        arithmetic = name in MPFR_PAIRS
        for mode, mpfr_mode in MPFR_MODES.items():
            context = gmpy2.context(
                precision=form.stored + 1, emin=form.least_exponent + 1, emax=gmpy2.get_emax_max(), subnormalize=True, round=mpfr_mode
            )

            def coded(results):
                out = np.empty(len(results), np.int64)
                for i, result in enumerate(results):
                    number = min(max(result, -largest), largest)
                    code = by_value[gmpy2.mpq(number)] if number else 0
                    out[i] = code | (form.sign if number == 0 and gmpy2.is_signed(number) and form.sign not in form.nans else 0)
                return out

            limit = mpfr(gmpy2.mpq(largest), 200)
            jobs = {f"from binary{b}": library.ask("convert", name, mode, "satfinite", b, paths[b]) for b in (32, 64)}
            if arithmetic and mode in ("nearest-even", "toward-negative"):
                jobs |= {o: library.ask("pairs", n, name, mode, "satfinite") for o, n in OPERATIONS.items()}
            library.run()
            largest = limit
            for what, path in jobs.items():
                ours = read(path)
                if what.startswith("from"):
                    bits = int(what[-2:])
                    with np.errstate(all="ignore"):
                        x = floats(words[bits], bits).astype(np.float64)
                    keep = np.isfinite(x)
                    facts = {k: v[keep] for k, v in about(words[bits], bits).items()}
                    exact = [mpfr(float(v), 53) for v in x[keep]]
                    with gmpy2.context(context):
                        theirs = coded([+v for v in exact])
                    comparison.check("MPFR", what, form, mode, ours[keep], theirs, facts)
                    continue
                facts = pair_facts(name)
                finite = np.array([v is not None for v in operands])
                x, y = facts["input"] >> 16, facts["input"] & 0xFFFF
                keep = finite[x] & finite[y] & (~facts["zero-divisor"] if what == "divide" else True)
                # No zero whose sign a rule for zeros decides: MPFR has IEEE 754's, and P3109 has
                # one zero.
                signed_zero = lambda c: mpfr("-0") if c & form.sign else mpfr(0)
                exact = [None if v is None else mpfr(gmpy2.mpq(v), 60) if v else signed_zero(c) for c, v in enumerate(operands)]
                function = {"add": context.add, "subtract": context.sub, "multiply": context.mul, "divide": context.div}[what]
                theirs = coded([function(exact[a], exact[b]) for a, b in zip(x[keep], y[keep], strict=True)])
                comparison.check("MPFR", what, form, mode, ours[keep], theirs, {k: v[keep] for k, v in facts.items()})
            largest = form.value(form.top)


def versions(llvm):
    """What each oracle is, with its version."""
    mpfr_version = gmpy2.mpfr_version().replace("MPFR ", "")
    return {
        "APFloat": f"LLVM {llvm}",
        "ml_dtypes": f"ml_dtypes {ml_dtypes.__version__}",
        "NumPy": f"NumPy {np.__version__}",
        "gfloat": f"gfloat {metadata.version('gfloat')}",
        "MPFR": f"MPFR {mpfr_version}; gmpy2 {gmpy2.version()}",
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("answers")
    parser.add_argument("apfloat")
    parser.add_argument("work", type=Path)
    parser.add_argument("--llvm", required=True, help="the version of LLVM that APFLOAT has, for the rows")
    parser.add_argument("--quick", action="store_true", help="fewer inputs between the places that decide")
    parser.add_argument("--only", default="apfloat numpy gfloat mpfr")
    parser.add_argument("--format", default="", help="of MPFR, the formats whose names hold this")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    count, step = (500, 64) if options.quick else (20_000, 8)
    library, oracle = Library(options.answers, options.work), Library(options.apfloat, options.work)
    comparison = Comparison(options.work, versions(options.llvm))
    if "apfloat" in options.only:
        apfloat(library, oracle, comparison, count, step)
    if "numpy" in options.only:
        numpy_like(library, comparison, count)
    if "gfloat" in options.only:
        by_gfloat(library, comparison, count)
    if "mpfr" in options.only:
        by_mpfr(library, comparison, count // 10, options.format)
    stale = [row for row in comparison.known if row["met"] == 0]
    for row in comparison.known:
        print(f"known: {row['met']} of {row['oracle']} {row['what']} {row['format']} {row['rounding']} {row['where']}")
    print(f"{comparison.compared} compared, {comparison.unknown} unknown differences, {len(stale)} rows never met")
    print(", ".join(comparison.tools.values()))
    return 1 if comparison.unknown or (stale and options.only == parser.get_default("only")) else 0


if __name__ == "__main__":
    sys.exit(main())
