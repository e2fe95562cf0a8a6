"""Runs vectors through peers and prints docs/peers.md. Called by scripts/peers/run."""

import datetime
import functools
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tomllib
from importlib import metadata

import gfloat
import gfloat.formats
import ml_dtypes
import numkong
import numpy as np
import torch

SMALLFLOAT, PEERS = os.environ["SMALLFLOAT"], os.environ["SMALLFLOAT_PEERS"]
WORK = pathlib.Path(sys.argv[1])
BINARY = ["Add", "Multiply"]
FORMATS = "e4m3fn e5m2 e4m3fnuz e5m2fnuz e4m3b11fnuz e4m3 e3m4 e3m2fn e2m3fn e2m1fn e8m0fnu binary16 bfloat16".split()
# Policies by which a library may be right; the one with the fewest differences is reported.
POLICIES = {"ml_dtypes": ["ml-dtypes"], "float8": ["ocp-saturate", "ml-dtypes"], "half": ["ieee"],
            "gfloat, sat=True": ["ocp-saturate", "p3109-satpropagate"]}
WIDTHS = {"binary64": 64, "binary32": 32, "binary16": 16, "bfloat16": 16, "e8m0fnu": 8, "e2m1fn": 4, "e3m2fn": 6, "e2m3fn": 6}


def unsigned(format):
    width = WIDTHS.get(format, 8)
    return {64: np.uint64, 32: np.uint32, 16: np.uint16}.get(width, np.uint8)


ML = {f: getattr(ml_dtypes, {"bfloat16": "bfloat16", "e3m2fn": "float6_e3m2fn", "e2m3fn": "float6_e2m3fn",
                             "e2m1fn": "float4_e2m1fn"}.get(f, f"float8_{f}"), None) for f in FORMATS}
ML |= {"binary16": np.float16, "binary32": np.float32, "binary64": np.float64}
TORCH = {"e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz",
         "e8m0fnu": "float8_e8m0fnu", "binary16": "float16", "bfloat16": "bfloat16", "binary32": "float32",
         "binary64": "float64"}
TORCH = {name: getattr(torch, t) for name, t in TORCH.items() if hasattr(torch, t)}
GFLOAT = {"e4m3fn": "ocp_e4m3", "e5m2": "ocp_e5m2", "e3m2fn": "ocp_e3m2", "e2m3fn": "ocp_e2m3", "e2m1fn": "ocp_e2m1",
          "e8m0fnu": "ocp_e8m0", "binary16": "binary16", "bfloat16": "bfloat16"}
GFLOAT = {name: getattr(gfloat.formats, "format_info_" + t) for name, t in GFLOAT.items()}
NUMKONG = {"e4m3fn": "e4m3", "e5m2": "e5m2", "e3m2fn": "e3m2", "e2m3fn": "e2m3", "binary16": "float16", "bfloat16": "bfloat16"}


class Lacks(Exception):
    """The peer does not have it."""


def numpy_codes(format, codes):
    return codes.astype(unsigned(format)).view(ML[format])


def from_ml_dtypes(operation, formats, operands):
    if any(ML[f] is None for f in formats):
        raise Lacks
    x = [numpy_codes(f, codes) for f, codes in zip(formats, operands)]
    with np.errstate(all="ignore"):
        if operation == "Convert":
            return x[0].astype(ML[formats[-1]]).view(unsigned(formats[-1]))
        ufunc = {"Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Divide": np.divide}[operation]
        result = ufunc(*x)
        if result.dtype != ML[formats[-1]]:
            raise Lacks
        return result.view(unsigned(formats[-1]))


def from_torch(operation, formats, operands):
    if any(f not in TORCH for f in formats):
        raise Lacks
    signed = {np.uint64: np.int64, np.uint32: np.int32, np.uint16: np.int16, np.uint8: np.uint8}
    x = [torch.from_numpy(codes.astype(unsigned(f)).view(signed[unsigned(f)])).view(TORCH[f])
         for f, codes in zip(formats, operands)]
    try:
        if operation == "Convert":
            result = x[0].to(TORCH[formats[-1]])
        else:
            result = getattr(torch, {"Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "div"}[operation])(*x)
    except (RuntimeError, NotImplementedError) as error:
        raise Lacks from error
    to = signed[unsigned(formats[-1])]
    return result.view(getattr(torch, np.dtype(to).name)).numpy().view(unsigned(formats[-1]))


def from_gfloat(operation, formats, operands, saturate):
    source, to = formats[0], formats[-1]
    if operation != "Convert" or not (source in GFLOAT or source == "binary32") or not (to in GFLOAT or to == "binary32"):
        raise Lacks
    with np.errstate(all="ignore"):
        if source in GFLOAT:
            values = gfloat.decode_ndarray(GFLOAT[source], operands[0].astype(np.int64)).astype(np.float64)
        else:
            values = operands[0].astype(np.uint32).view(np.float32).astype(np.float64)
        if to == "binary32":
            return values.astype(np.float32).view(np.uint32)
        try:
            return gfloat.encode_ndarray(GFLOAT[to], gfloat.round_ndarray(GFLOAT[to], values, sat=saturate))
        except Exception as error:
            # What it refuses, it refuses for the whole array: leave NaN and the infinities out.
            keep = np.isfinite(values)
            try:
                rounded = gfloat.round_ndarray(GFLOAT[to], values[keep], sat=saturate)
                return gfloat.encode_ndarray(GFLOAT[to], rounded), keep, type(error).__name__
            except Exception:
                raise Lacks from error


def from_numkong(operation, formats, operands):
    source, to = formats[0], formats[-1]
    names = NUMKONG | {"binary32": "float32"}
    if operation != "Convert" or source not in names or to not in names or to == source:
        raise Lacks
    x = operands[0].astype(unsigned(source))
    try:
        tensor = numkong.Tensor(x.view(ML[source]) if source in ("binary32", "binary16") else x)
        if source not in ("binary32", "binary16"):
            tensor = tensor.view(names[source])
        result = numkong.astype(tensor, names[to])
        return np.frombuffer(memoryview(result).tobytes(), unsigned(to))
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise Lacks from error


def from_crate(name, operation, formats, operands):
    if operation == "Convert" and formats[0] == "binary32":
        which, format = "encode", formats[-1]
    elif operation == "Convert" and formats[-1] == "binary32":
        which, format = "decode", formats[0]
    elif operation != "Convert":
        which, format = operation, formats[0]
    else:
        raise Lacks
    lines = "\n".join(" ".join(f"{code:x}" for code in line) for line in zip(*(o.tolist() for o in operands))) + "\n"
    run = subprocess.run([PEERS, name, which, format], input=lines, capture_output=True, text=True)
    if run.returncode == 3:
        raise Lacks
    if run.returncode:
        raise RuntimeError(f"{name} {which} {format}: {run.stderr}")
    return np.array([int(line.rsplit(" ", 1)[1], 16) for line in run.stdout.splitlines()], np.uint64)


LIBRARIES = {
    "ml_dtypes": from_ml_dtypes,
    "torch": from_torch,
    "gfloat": functools.partial(from_gfloat, saturate=False),
    "gfloat, sat=True": functools.partial(from_gfloat, saturate=True),
    "numkong": from_numkong,
    **{name: functools.partial(from_crate, name) for name in ["half", "float8", "minifloat", "microfloat"]},
}


def versions():
    found = {name: metadata.version(name) for name in ["ml_dtypes", "torch", "gfloat", "numkong"]}
    lock = tomllib.loads(pathlib.Path("bench/Cargo.lock").read_text())
    found |= {p["name"]: p["version"] for p in lock["package"] if p["name"] in ("half", "float8", "minifloat", "microfloat")}
    return found


def random_lines(formats):
    """Exhaustive sets need none."""
    return ["--random", "2000"] if formats[0] in ("binary32", "binary64") else []


def vectors(operation, formats):
    """The arguments that name the unit, and the operands, a column each. Libraries share the
    files."""
    convert = ["--op", "convert", "--from", formats[0], "--to", formats[-1]]
    unit = convert if operation == "Convert" else ["--op", f"{operation}<{', '.join(formats)}>"]
    path = WORK / f"{operation}-{'-'.join(formats)}.npy"
    if not path.exists():
        text = subprocess.run([SMALLFLOAT, "vectors", "gen", *unit, *random_lines(formats)], check=True,
                              capture_output=True, text=True).stdout
        lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
        columns = np.array([[int(line[i], 16) for line in lines] for i in range(len(formats) - 1)], np.uint64)
        mine = path.with_suffix(f".{os.getpid()}.npy")
        np.save(mine, columns)
        mine.rename(path)
    return unit, list(np.load(path))


LAST = {}


def unit_result(unit):
    """The result's format."""
    return unit[-1].rstrip(">").rsplit(", ", 1)[-1]


def judge(library, unit, operands, results):
    """The finding under the policy that the results follow best; that of the library's last case is
    tried first."""
    path = WORK / f"given-{os.getpid()}.txt"
    columns = [o.tolist() for o in operands] + [np.asarray(results).tolist()]
    # What is no code of the format at all counts as unknown.
    largest = (1 << WIDTHS.get(unit_result(unit), 8)) - 1
    columns[-1] = [f"{c:x}" if 0 <= c <= largest else "x" for c in columns[-1]]
    columns[:-1] = [[f"{c:x}" for c in column] for column in columns[:-1]]
    path.write_text("".join(" ".join(line) + "\n" for line in zip(*columns)))
    findings = []
    policies = POLICIES.get(library, ["ml-dtypes", "ocp-saturate", "ocp-nosaturate"])
    if unit_result(unit) == "binary32":
        # What saturates in a small format does not here.
        policies = [*policies, "ieee"]
    for policy in sorted(policies, key=lambda policy: policy != LAST.get(library)):
        run = subprocess.run([SMALLFLOAT, "vectors", "check", path, *unit, "--preset", policy, "--flags", "none", "--any-nan",
                              "--layout", "testfloat", "--show", "1", "--json"], capture_output=True, text=True)
        if not run.stdout:
            raise RuntimeError(run.stderr)
        findings.append((json.loads(run.stdout), policy))
        if findings[-1][0]["mismatches"] == 0:
            break
    best = min(findings, key=lambda finding: finding[0]["mismatches"])
    LAST[library] = best[1]
    return best


def cases():
    for format in FORMATS:
        for source in ["binary64", "binary32", "bfloat16"]:
            if source != format:
                yield "Convert", (source, format)
        yield "Convert", (format, "binary32")
        if WIDTHS.get(format, 8) == 8 and format != "e8m0fnu":
            for operation in BINARY:
                yield operation, (format, format, format)


def example(finding):
    """The first difference in words: operands, given, right."""
    first = finding["first"][0]
    text = lambda number: f"{number['value']} (`{number['code']}`)"
    operands = ", ".join(map(text, first["operands"]))
    given = text(first["given"]["results"][0]) if first["given"] else "no code of the format"
    return operands, given, text(first["right"]["results"][0])


def cause(finding):
    """What would explain the differences: one mistake, or the likeliest ones with what each
    explains."""
    one = finding["cause"]
    if one:
        return one["mistake"]
    if finding["unknown"] == finding["mismatches"]:
        return "refuses, or gives what is no code of the format"
    likely = ((finding["values"] or finding["flags"])["hypotheses"])[:2]
    if not likely:
        return "no known mistake"
    shares = [f"{s['mistake']} ({s['explained']:,} of {finding['mismatches']:,}, and {s['contradicted']:,} that agree speak against it)" for s in likely]
    return "no single mistake; nearest: " + "; ".join(shares)


def spelled(operation, formats):
    """An operation as it is written."""
    sign = {"Convert": "→", "Add": "+", "Multiply": "×"}[operation]
    return f"{formats[0]} {sign} {formats[1]}"


def survey(library):
    """What a library has: a row (operation, preset, note, finding) for each operation."""
    rows = []
    for operation, formats in cases():
        unit, operands = vectors(operation, formats)
        note = ""
        try:
            results = LIBRARIES[library](operation, formats, operands)
        except Lacks:
            continue
        if isinstance(results, tuple):
            results, keep, refused = results
            operands = [o[keep] for o in operands]
            note = f"; it refuses NaN and infinities ({refused}), which are left out"
        finding, policy = judge(library, unit, operands, results)
        rows.append((spelled(operation, formats), policy, note, finding))
    print(f"{library}: {total(rows):,} vectors", file=sys.stderr)
    return rows


def total(rows):
    return sum(finding["vectors"] for *_, finding in rows)


def main():
    # Side by side: most of the time goes to processes that each library waits for.
    with multiprocessing.get_context("fork").Pool(len(LIBRARIES)) as pool:
        found = dict(zip(LIBRARIES, pool.map(survey, LIBRARIES, chunksize=1)))
    render(found)


INTRODUCTION = """\
# Other libraries on our test vectors

Written by `scripts/peers/run`, which gives each library the operands of `smallfloat vectors gen` (all of them up to 2^24, level 1 with
2,000 random lines for binary32 and binary64) and has `smallfloat vectors check` judge the results ([how](how-to-vectors.md)).

Libraries differ by design in what overflow, infinities and NaN become, so each is held to the preset of [semantics.md](semantics.md),
S2, that fits it best of those that make sense for it (`POLICIES` in `scripts/peers/peers.py`). What differs even so is listed with one input
each: a wrong number, or a NaN where a number belongs. Which of its codes a NaN has is nobody's mistake and is counted apart. What a
library does not have is not listed. `→` converts; `+` and `×` take and give one format. "What it does" is the mistake that explains all
differences of a row, or the nearest ones with how many each explains.
"""


def render(found):
    version = versions()
    print(INTRODUCTION)
    date = datetime.datetime.now(datetime.timezone.utc).date()
    print(f"{date}; {sum(map(total, found.values())):,} vectors.\n")
    print("| library | operations | agree to the bit | but for the code of NaN | differ |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for library, rows in found.items():
        same, nan, wrong = parted(rows)
        name = library.split(",")[0]
        title = library.replace(name, f"{name} {version[name]}")
        print(f"| {title} | {len(rows)} | {len(same)} | {len(nan)} | {len(wrong)} |")
    print("\n## Who differs where\n")
    print("| library | preset | what it does | where | differ | of | for example | gives | right |")
    print("| --- | --- | --- | --- | ---: | ---: | --- | --- | --- |")
    for library, rows in found.items():
        groups = {}
        for row in parted(rows)[2]:
            groups.setdefault((row[1], cause(row[3]) + row[2]), []).append(row)
        for (preset, why), group in groups.items():
            differ = sum(finding["mismatches"] for *_, finding in group)
            operands, given, right = example(group[0][3])
            print(f"| {library} | {preset} | {why} | {names(group)} | {differ:,} | {total(group):,} "
                  f"| {group[0][0]}: {operands} | {given} | {right} |")
    print("\n## Who gives another NaN\n")
    print("These agree but for the code of some NaN results.\n")
    table(found, 1, "NaNs", lambda rows: sum(finding["other_nan"] for *_, finding in rows))
    print("\n## Who agrees to the bit\n")
    table(found, 0, "vectors", total)


def names(rows):
    return ", ".join(name for name, *_ in rows)


def parted(rows):
    """Rows that agree, that agree but for the code of NaN, and that differ."""
    parts = [], [], []
    for row in rows:
        finding = row[3]
        parts[2 if finding["mismatches"] else 1 if finding["other_nan"] else 0].append(row)
    return parts


def table(found, part, title, count):
    """Operations of one part by library and preset, with a number."""
    print(f"| library | preset | operations | {title} |")
    print("| --- | --- | --- | ---: |")
    for library, rows in found.items():
        groups = {}
        for row in parted(rows)[part]:
            groups.setdefault(row[1] + row[2], []).append(row)
        for preset, group in groups.items():
            print(f"| {library} | {preset} | {names(group)} | {count(group):,} |")


if __name__ == "__main__":
    main()
