"""Mutants of a function: one small change of one instruction each, the same ones every time."""

import copy
import re

SWAPS = {
    "add": ["sub", "or"],
    "sub": ["add", "xor"],
    "and": ["or", "xor"],
    "or": ["and", "xor"],
    "xor": ["or", "and"],
    "shl": ["lshr"],
    "lshr": ["ashr", "shl"],
    "ashr": ["lshr"],
    "udiv": ["urem"],
    "urem": ["udiv"],
    "zext": ["sext"],
    "sext": ["zext"],
    "eq": ["ne"],
    "ne": ["eq"],
    "ult": ["ule", "slt"],
    "ule": ["ult"],
    "ugt": ["uge", "sgt"],
    "uge": ["ugt"],
    "slt": ["sle", "ult"],
    "sle": ["slt"],
    "sgt": ["sge", "ugt"],
    "sge": ["sgt"],
}
FLAGS = ("nuw", "nsw", "exact", "disjoint", "nneg", "samesign")
INTRINSICS = {"umin": "umax", "umax": "umin", "smin": "smax", "smax": "smin"}


def changes(line):
    """(what, new tokens) for every change of one instruction. Flags go with the old operation."""
    start = 2 if line[1:2] == ["="] else 0
    plain = [w for w in line if w not in FLAGS] if start else line
    operation = plain[start]
    if operation in ("store", "call", "tail", "br") and "@llvm.assume" in line:
        return
    for at, word in enumerate(plain):
        if start and word in SWAPS and at in (start, start + 1):
            for other in SWAPS[word]:
                yield f"{word} -> {other}", plain[:at] + [other] + plain[at + 1 :]
        match = re.match(r"@llvm\.(umin|umax|smin|smax)\.", word)
        if match:
            other = word.replace(match.group(1), INTRINSICS[match.group(1)])
            head = plain[: at]
            if "range" in head:
                cut = head.index("range")
                head = head[:cut] + head[cut + 7 :]
            yield f"{match.group(1)} -> {INTRINSICS[match.group(1)]}", head + [other] + plain[at + 1 :]
        constant = re.fullmatch(r"-?\d+", word) and plain[at - 1] in (",", "]") or (
            re.fullmatch(r"-?\d+", word) and re.fullmatch(r"i\d+", plain[at - 1])
        )
        # What LLVM knows of a value's range is no part of what is computed.
        promise = "range" in plain[max(at - 5, 0) : at]
        if start and constant and not promise and operation not in ("getelementptr", "load", "shufflevector"):
            for step in (1, -1):
                yield f"{word} -> {int(word) + step}", plain[:at] + [str(int(word) + step)] + plain[at + 1 :]
    if operation == "select":
        cut = [i for i, w in enumerate(plain) if w == ","]
        if len(cut) == 2:
            arms = plain[cut[0] + 1 : cut[1]], plain[cut[1] + 1 :]
            yield "arms exchanged", plain[: cut[0] + 1] + arms[1] + [","] + arms[0]
    if operation == "br" and line[1] == "i1":
        yield "branches exchanged", line[:5] + [line[8]] + line[6:8] + [line[5]]


def mutants(function, count):
    """At least `count` mutants if there are as many, spread evenly over all."""
    everything = []
    for b, (label, lines) in enumerate(function.blocks):
        for i, line in enumerate(lines):
            for what, new in changes(line):
                everything.append((b, i, f"{label}: {' '.join(line[:1])} {what}", new))
    step = max(len(everything) / count, 1)
    chosen = [everything[int(k * step)] for k in range(min(count, len(everything)))]
    for b, i, what, new in chosen:
        mutant = copy.deepcopy(function)
        mutant.blocks[b][1][i] = new
        yield what, mutant
