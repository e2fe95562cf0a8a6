"""Parses and elaborates the covergroup of `smallfloat vectors cover --systemverilog` with slang,
and counts in a file of `--samples` what a simulator would count.

  python3 covergroup.py COVERAGE.sv SAMPLES.hex     prints reached and all bins
"""

import re
import sys

import pyslang

path, samples = sys.argv[1:]
tree = (getattr(pyslang, "syntax", pyslang)).SyntaxTree.fromFile(path)
compilation = (getattr(pyslang, "ast", pyslang)).Compilation()
compilation.addSyntaxTree(tree)
found = list(compilation.getAllDiagnostics())
if found:
    sys.exit(f"{path}: {len(found)} diagnostics, the first {found[0].code}")

bins, low, width = set(), 0, 0
for line in open(path, encoding="utf-8"):
    if match := re.search(r"coverpoint reached\[(\d+):(\d+)\]", line):
        low, width = int(match[2]), int(match[1]) - int(match[2]) + 1
    elif match := re.search(r"bins \w+ = \{\d+'d(\d+)\};", line):
        bins.add((low, width, int(match[1])))
places = {(low, width) for low, width, _ in bins}
reached = set()
for word in open(samples, encoding="ascii"):
    reached |= {(low, width, int(word, 16) >> low & (1 << width) - 1) for low, width in places}
print(len(reached & bins), len(bins))
