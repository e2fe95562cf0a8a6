"""The frozen packs of vectors through other libraries: a table of who passes what, for
docs/peers.md. Called by scripts/peers/run.

A file of a pack is one operation. A library is held to a file if it has the operation with the
file's rounding and saturation. Of two files that differ in saturation alone, a library that has one
conversion is held to the one that it follows. Any NaN is right where the pack says so, and flags
count where the library gives them.
"""

import collections
import datetime
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys

import numpy as np

from adapters import LIBRARIES, Lacks, library, versions
from peers import SMALLFLOAT, WORK, example, mistake

DEFINITIONS = pathlib.Path("crates/smallfloat-cli/packs")
PACKS = ["ofp8", "mx", "p3109", "riscv-fp8"]
# Roundings and saturations of P3109 as FPy has them.
ROUNDINGS = {"toward-zero": "RTZ", "toward-positive": "RTP"}
SATURATIONS = {"fpy2": "satnone", "fpy2, SATURATE": "satfinite"}

File = collections.namedtuple("File", "pack name options nan operands results flags")
Verdict = collections.namedtuple("Verdict", "file way differ of finding")


def files(pack):
    """The files of a pack with their columns: operands, results and flags."""
    folder = WORK / pack
    if not folder.exists():
        subprocess.run([SMALLFLOAT, "vectors", "pack", pack, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    rows = (line.split() for line in (DEFINITIONS / f"{pack}.txt").read_text().splitlines() if not line.startswith("#"))
    for name, nan, flags, *options in rows:
        header = [line for line in (folder / f"{name}.txt").read_text().splitlines() if line.startswith("# fields:")]
        fields = [field.split(":")[0] for field in header[0].split()[2:]]
        count = sum(not field.startswith(("result", "flags")) for field in fields)
        stored = folder / f"{name}.npy"
        if not stored.exists():
            text = (line for line in (folder / f"{name}.txt").read_text().splitlines() if not line.startswith("#"))
            np.save(stored, np.array([[int(field, 16) for field in line.split()] for line in text], np.uint64).T)
        columns = np.load(stored)
        yield File(pack, name, dict(zip(options[::2], options[1::2])), None if nan == "-" else int(nan, 16),
                   columns[:count], columns[count:-1], columns[-1] if flags == "flags" else None)


def computed(way, made, file):
    """Results, a row for each column, and flags or None."""
    options = file.options
    saturating = options.get("--preset") == "ocp-saturate"
    if file.flags is not None:
        if way != "Spike":
            raise Lacks
        modes, codes = [np.zeros_like(file.operands[0]), *file.operands][-2:]
        result, flags = made.flagged((options["--from"], options["--to"]), saturating, modes, codes)
        return [result], flags
    if "--from" in options:
        return [made.compute("Convert", (options["--from"], options["--to"]), list(file.operands))], None
    name, _, inner = options["--op"].rstrip(">").partition("<")
    if name == "ConvertFromBlock":
        if not hasattr(made, "block"):
            raise Lacks
        return made.block(inner.split(",")[2], file.operands[0], file.operands[1:].T).T, None
    formats = inner.split(",") if inner else [options["--format"]] * (len(file.operands) + 1)
    if name == "Convert":
        return [made.compute(name, tuple(formats), list(file.operands))], None
    if SATURATIONS.get(way) != options.get("--saturation", "satnone"):
        raise Lacks
    return [made.compute(name, tuple(formats), list(file.operands), ROUNDINGS.get(options.get("--rounding"), "RNE"))], None


def differing(file, results, flags):
    """Which vectors differ."""
    wrong = np.zeros(file.operands.shape[1], bool)
    digits = 4 * ((int(file.results.max()).bit_length() + 3) // 4)
    magnitude = np.uint64((1 << (digits - 1)) - 1)
    for found, wanted in zip(results, file.results, strict=True):
        signed = np.asarray(found)
        none = signed == -1 if signed.dtype.kind == "i" else np.zeros(len(signed), bool)
        codes = signed.astype(np.uint64)
        same = codes == wanted
        if file.nan is not None:
            same |= ((codes & magnitude) > file.nan) & ((wanted & magnitude) > file.nan)
        wrong |= ~same | none
    return wrong if flags is None else wrong | (flags != file.flags)


def explained(file, results, flags):
    """What `vectors check` finds in results that differ."""
    flags = file.flags if flags is None else flags
    columns = [*file.operands, *results, *([] if flags is None else [flags])]
    text = [["x" if code < 0 else f"{code:x}" for code in np.asarray(column).tolist()] for column in columns]
    path = WORK / f"given-{os.getpid()}.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in zip(*text)))
    options = {k: v for k, v in file.options.items() if k not in ("--level", "--count")}
    arguments = [argument for option in options.items() for argument in option]
    run = subprocess.run([SMALLFLOAT, "vectors", "check", path, *arguments, *(["--any-nan"] if file.nan is not None else []),
                          "--layout", "testfloat", "--show", "1", "--json"], capture_output=True, text=True)
    if not run.stdout:
        raise RuntimeError(run.stderr)
    return json.loads(run.stdout)


def verdicts(way):
    made = LIBRARIES[way]()
    found = []
    for pack in PACKS:
        for file in files(pack):
            try:
                results, flags = computed(way, made, file)
            except Lacks:
                continue
            wrong = differing(file, results, flags)
            finding = explained(file, results, flags) if wrong.any() else None
            found.append(Verdict(file._replace(operands=None, results=None, flags=None), way, int(wrong.sum()), len(wrong), finding))
    print(f"packs, {way}: {len(found)} files", file=sys.stderr)
    return found


def best(all_verdicts):
    """Of all ways of a library, the one that a file agrees with most; and where a library has one
    way only, a conversion's files of one saturation."""
    chosen, follows = {}, {}
    for verdict in all_verdicts:
        key = verdict.file.pack, verdict.file.name
        if key not in chosen or verdict.differ < chosen[key].differ:
            chosen[key] = verdict
    if len({verdict.way for verdict in all_verdicts}) > 1:
        return [*chosen.values()]
    conversion = lambda file: (file.options.get("--from"), file.options.get("--to"))
    for verdict in sorted(chosen.values(), key=lambda verdict: verdict.differ):
        if verdict.file.flags is None:
            follows.setdefault(conversion(verdict.file), verdict.file.options.get("--preset"))
    return [verdict for verdict in chosen.values()
            if follows.get(conversion(verdict.file)) in (None, verdict.file.options.get("--preset"))]


def main():
    # Read once, before libraries are tried side by side.
    sizes = {pack: sum(1 for _ in files(pack)) for pack in PACKS}
    with multiprocessing.get_context("fork").Pool(os.cpu_count() + 1, maxtasksperchild=1) as pool:
        every = [verdict for found in pool.map(verdicts, LIBRARIES, chunksize=1) for verdict in found]
    version, date = versions(), datetime.datetime.now(datetime.timezone.utc).date()
    print(f"Written by `scripts/peers/run`, {date}.\n")
    rows = {name: best([v for v in every if library(v.way) == name]) for name in dict.fromkeys(map(library, LIBRARIES))}
    print("| library | " + " | ".join(f"{pack}: {count} files" for pack, count in sizes.items()) + " |")
    print("| --- |" + " ---: |" * len(sizes))
    for name, found in rows.items():
        cells = []
        for pack in PACKS:
            mine = [verdict for verdict in found if verdict.file.pack == pack]
            cells.append(f"{sum(v.differ == 0 for v in mine)} of {len(mine)}" if mine else "")
        if found:
            print(f"| {name} {version[name]} | {' | '.join(cells)} |")
    print("\nWhat differs, with the mistake that explains all differences, or explains them and would change others:\n")
    print("| library | pack | files | what it does | differ | of | for example | gives | right |")
    print("| --- | --- | --- | --- | ---: | ---: | --- | --- | --- |")
    groups = {}
    for name, found in rows.items():
        for verdict in found:
            if verdict.differ:
                groups.setdefault((name, verdict.file.pack, mistake(verdict.finding)), []).append(verdict)
    for (name, pack, why), group in groups.items():
        operands, given, right = example(group[0].finding)
        print(f"| {name} | {pack} | {', '.join(v.file.name for v in group)} | {why} | {sum(v.differ for v in group):,} "
              f"| {sum(v.of for v in group):,} | {operands} | {given} | {right} |")


if __name__ == "__main__":
    main()
