"""Runs vectors through other libraries and prints who differs where, for docs/peers.md. Called by
scripts/peers/run."""

import datetime
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys

import numpy as np

from adapters import FORMATS, LIBRARIES, Lacks, library, values, versions, width

SMALLFLOAT, WORK = os.environ["SMALLFLOAT"], pathlib.Path(os.environ["SMALLFLOAT_PEERS_WORK"])
BINARY = ["Add", "Multiply"]
# Policies by which a library may be right; the one with the fewest differences is reported.
POLICIES = {"ml_dtypes": ["ml-dtypes"], "float8": ["ocp-saturate", "ml-dtypes"], "half": ["ieee"],
            "gfloat, sat=True": ["ocp-saturate", "p3109-satpropagate"]}


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


def judge(way, unit, operands, results):
    """The finding under the policy that the results follow best; that of the library's last case is
    tried first."""
    path = WORK / f"given-{os.getpid()}.txt"
    columns = [o.tolist() for o in operands] + [np.asarray(results).tolist()]
    # What is no code of the format at all counts as unknown.
    largest = (1 << width(unit_result(unit))) - 1
    columns[-1] = [f"{c:x}" if 0 <= c <= largest else "x" for c in columns[-1]]
    columns[:-1] = [[f"{c:x}" for c in column] for column in columns[:-1]]
    path.write_text("".join(" ".join(line) + "\n" for line in zip(*columns)))
    findings = []
    policies = POLICIES.get(way, ["ml-dtypes", "ocp-saturate", "ocp-nosaturate"])
    if unit_result(unit) == "binary32":
        # What saturates in a small format does not here.
        policies = [*policies, "ieee"]
    for policy in sorted(policies, key=lambda policy: policy != LAST.get(way)):
        run = subprocess.run([SMALLFLOAT, "vectors", "check", path, *unit, "--preset", policy, "--flags", "none", "--any-nan",
                              "--layout", "testfloat", "--show", "1", "--json"], capture_output=True, text=True)
        if not run.stdout:
            raise RuntimeError(run.stderr)
        findings.append((json.loads(run.stdout), policy))
        if findings[-1][0]["mismatches"] == 0:
            break
    best = min(findings, key=lambda finding: finding[0]["mismatches"])
    LAST[way] = best[1]
    return best


def cases():
    for format in FORMATS:
        for source in ["binary64", "binary32", "bfloat16"]:
            if source != format:
                yield "Convert", (source, format)
        yield "Convert", (format, "binary32")
        if width(format) == 8 and format != "e8m0fnu":
            for operation in BINARY:
                yield operation, (format, format, format)


def example(finding):
    """The first difference in words: operands, and the first result that differs as given and as
    right."""
    first = finding["first"][0]
    text = lambda number: f"{number['value']} (`{number['code']}`)"
    operands = ", ".join(map(text, first["operands"]))
    right = first["right"]["results"]
    if not first["given"]:
        return operands, "no code of the format", text(right[0])
    pairs = [*zip(first["given"]["results"], right)]
    given, right = next((pair for pair in pairs if pair[0]["value"] != pair[1]["value"]), pairs[0])
    return operands, text(given), text(right)


def mistake(finding):
    """The mistake that explains all differences, or else the likeliest one that does, though
    vectors that agree speak against it; nothing if there is none."""
    if finding["cause"]:
        return finding["cause"]["mistake"]
    if finding["unknown"] == finding["mismatches"]:
        return "refuses, or gives what is no code of the format"
    likely = (finding["values"] or finding["flags"])["hypotheses"][:1]
    return "".join(f"nearest: {s['mistake']}" for s in likely if s["explained"] == finding["mismatches"])


def spelled(operation, formats):
    """An operation as it is written."""
    sign = {"Convert": "→", "Add": "+", "Multiply": "×"}[operation]
    return f"{formats[0]} {sign} {formats[1]}"


def refused(formats, operands, results):
    """Which operands a conversion refuses, if these are all NaN or infinities."""
    none = np.asarray(results) == -1
    if none.any() and formats[0] in ("binary64", "binary32", "binary16", "bfloat16"):
        with np.errstate(invalid="ignore"):
            if not np.isfinite(values(formats[0], operands[0][none])).any():
                return none
    return np.zeros_like(none)


def survey(way):
    """What a library has: a row (operation, preset, note, finding) for each operation."""
    rows = []
    made = LIBRARIES[way]()
    for operation, formats in cases():
        unit, operands = vectors(operation, formats)
        try:
            results = made.compute(operation, formats, operands)
        except Lacks:
            continue
        leave = refused(formats, operands, results)
        note = "; it refuses NaN and infinities, which are left out" if leave.any() else ""
        finding, policy = judge(way, unit, [o[~leave] for o in operands], np.asarray(results)[~leave])
        rows.append((spelled(operation, formats), policy, note, finding))
    print(f"{way}: {total(rows):,} vectors", file=sys.stderr)
    return rows


def total(rows):
    return sum(finding["vectors"] for *_, finding in rows)


def main():
    # Side by side: most of the time goes to processes that each library waits for.
    with multiprocessing.get_context("fork").Pool(os.cpu_count() + 1, maxtasksperchild=1) as pool:
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
differences of a row; the nearest one explains them, but vectors that agree speak against it.
"""


def render(found):
    version = versions()
    print(INTRODUCTION)
    date = datetime.datetime.now(datetime.timezone.utc).date()
    print(f"{date}; {sum(map(total, found.values())):,} vectors.\n")
    print("| library | operations | agree to the bit | but for the code of NaN | differ |")
    print("| --- | ---: | ---: | ---: | ---: |")
    found = {way: rows for way, rows in found.items() if rows}
    for way, rows in found.items():
        same, nan, wrong = parted(rows)
        title = way.replace(library(way), f"{library(way)} {version[library(way)]}")
        print(f"| {title} | {len(rows)} | {len(same)} | {len(nan)} | {len(wrong)} |")
    print("\n## Who differs where\n")
    print("| library | preset | what it does | where | differ | of | for example | gives | right |")
    print("| --- | --- | --- | --- | ---: | ---: | --- | --- | --- |")
    for way, rows in found.items():
        groups = {}
        for row in parted(rows)[2]:
            groups.setdefault((row[1], mistake(row[3]) + row[2]), []).append(row)
        for (preset, why), group in groups.items():
            differ = sum(finding["mismatches"] for *_, finding in group)
            operands, given, right = example(group[0][3])
            print(f"| {way} | {preset} | {why} | {names(group)} | {differ:,} | {total(group):,} "
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
    for way, rows in found.items():
        groups = {}
        for row in parted(rows)[part]:
            groups.setdefault(row[1] + row[2], []).append(row)
        for preset, group in groups.items():
            print(f"| {way} | {preset} | {names(group)} | {count(group):,} |")


if __name__ == "__main__":
    main()
