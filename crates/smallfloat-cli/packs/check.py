#!/usr/bin/env python3
"""Checks an implementation against the vectors of this folder.

    python3 check.py UNIT.py [NAME ...]

UNIT.py has a function unit(name, operands). It gets the name of a file of vectors, without `.txt`,
and a list of codes, and returns a list of result codes, or these and the flags as bits (0 inexact,
1 underflow, 2 overflow, 3 division by zero, 4 invalid); or None, from the first vector on, for a
name that it does not implement. Names given on the command line are the only ones that are checked.

The exit status is 0 if all results agree, 1 if some differ, and 2 if a file is damaged or nothing
was checked. pack.txt says of each file: its SHA-256 without comments, how many lines, operands and
results it has, whether flags count, and the largest magnitude of a result that is no NaN, in
hexadecimal: beyond it any NaN is as good as another. A `-` there asks for equal codes.
"""
import hashlib
import importlib.util
import sys
from pathlib import Path

SHOWN = 5  # differences per file


def lines(path, sha256, count):
    """The vectors of a file, which must be those that were frozen."""
    data = [line for line in path.read_bytes().splitlines(keepends=True) if not line.startswith(b"#")]
    if len(data) != count or hashlib.sha256(b"".join(data)).hexdigest() != sha256:
        raise ValueError(f"{path.name}: not the {count} vectors that pack.txt names")
    return data


def agree(found, wanted, digits, nan):
    """Whether two result codes are the same, or both NaN where any NaN will do."""
    mask = (1 << (4 * digits - 1)) - 1
    is_code = 0 <= found < 1 << (4 * digits)
    return found == wanted or nan is not None and is_code and (found & mask) > nan and (wanted & mask) > nan


def check(unit, name, row):
    """Returns how many vectors were checked and how many differ; None for what has no unit."""
    sha256, count, operands, results, has_flags, nan = row
    count, operands, results = int(count), int(operands), int(results)
    nan = None if nan == "-" else int(nan, 16)
    wrong = 0
    for number, line in enumerate(lines(Path(name + ".txt"), sha256, count)):
        fields = line.decode().split()
        given = [int(field, 16) for field in fields[:operands]]
        answer = unit(name, given)
        if answer is None:
            if number == 0:
                return None
            answer = []  # it implements the name, and so has to answer
        found, flags = answer if isinstance(answer, tuple) else (answer, None)
        wanted = fields[operands:operands + results]
        same = len(found) == results and all(
            agree(code, int(field, 16), len(field), nan) for code, field in zip(found, wanted))
        if has_flags == "flags":
            same = same and flags == int(fields[-1], 16)
        if not same:
            wrong += 1
            if wrong <= SHOWN:
                shown = " ".join(f"{code:x}" for code in found)
                print(f"{name}: {line.decode().strip()}: found {shown} flags {flags}")
    return count, wrong


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    spec = importlib.util.spec_from_file_location("unit_under_test", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = {}
    for line in Path("pack.txt").read_text().splitlines():
        if not line.startswith("#"):
            *row, name = line.split()
            rows[name] = row
    unknown = [name for name in sys.argv[2:] if name not in rows]
    if unknown:
        print(f"pack.txt has no {unknown[0]}; it has {', '.join(rows)}", file=sys.stderr)
        return 2
    total = different = 0
    for name in sys.argv[2:] or rows:
        try:
            found = check(module.unit, name, rows[name])
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
        if found is None:
            print(f"{name}: not implemented")
            continue
        total, different = total + found[0], different + found[1]
        print(f"{name}: {found[0]} vectors, {found[1]} differ")
    print(f"{total} vectors, {different} differ")
    return 2 if total == 0 else int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
