"""Proves the encoders' LLVM IR equal to `spec.py`, then breaks the IR and sees that the proof fails (`run` calls this).

    prove.py FOLDER [--only WORD] [--part theorems|mutants] [--mutants N] [--csv FILE]

FOLDER holds what `build` made. Prints a row for each theorem and a line for each mutant that turned out equivalent; exit status 1 if a
theorem is refuted or undecided, or a mutant undecided.
"""

import argparse
import random
import struct
import sys
import time

import z3

import ir
import mutants
import spec

ALL_ONES = (1 << 64) - 1


class Theorem:
    """What must hold of a kernel: `statement(functions)` gives (inputs, assumptions, conclusion), obligations among them."""

    def __init__(self, name, kernels, inputs, statement, words):
        self.name, self.kernels, self.inputs, self.statement, self.words = name, kernels, inputs, statement, words

    def violation(self, functions):
        """A formula that is satisfiable exactly where the theorem fails."""
        assumptions, conclusion, obligations = self.statement(functions)
        return z3.And(*assumptions, z3.Or(z3.Not(conclusion), *obligations))


def bias_term(target, bias):
    return z3.BitVecVal(target.bias, 16) if target.bias is not None else z3.ZeroExt(10, bias)


def interesting(source, count, seed):
    """Words near every place where something happens, and any."""
    pick = random.Random(seed)
    infinity = spec_infinity(source)
    ends = [0, 1, (1 << source.stored) - 1, 1 << source.stored, infinity - 1, infinity, infinity + 1]
    words = [sign << (source.width - 1) | end for end in ends for sign in (0, 1)]
    for _ in range(count):
        field = pick.randrange(1 << source.fields)
        near = source.bias + pick.randrange(-80, 40)
        field = pick.choice([near, near, near, near, 0, (1 << source.fields) - 1, field])
        keep = pick.randrange(source.stored + 1)
        fraction = pick.getrandbits(source.stored) >> keep << keep
        fraction = pick.choice([fraction, fraction, fraction + 1, fraction - 1, 0]) % (1 << source.stored)
        words.append(pick.randrange(2) << (source.width - 1) | field << source.stored | fraction)
    return words


def core_theorem(source, name, reading):
    """The core's short conversion gives the nearest code, or leaves exactly what it should to the projection."""
    target = spec.target(name, reading)
    kernel = f"core_{source.name}_{name}" + ("" if name == "uhp" else f"_{reading}")
    x, bias = z3.BitVec("x", source.width), z3.BitVec("bias", 6)

    def statement(functions):
        arguments = [z3.ZeroExt(64 - source.width, x) if source.width < 64 else x]
        if target.bias is None:
            arguments.append(z3.ZeroExt(26, bias))
        machine = ir.Machine(functions[kernel], arguments)
        right = target.nearest_even(source, x, bias_term(target, bias), machine.result[0].bits)
        return [], right, machine.obligations

    biases = random.Random(1)
    words = [{x: w, bias: biases.randrange(64)} for w in interesting(source, 400, kernel)]
    return Theorem(kernel, [kernel], [x, bias], statement, words)


def read_keys(path):
    """(source, name, reading) -> for each bias the six numbers."""
    keys = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            source, name, reading, bias, *numbers = line.split()
            keys.setdefault((source, name, reading), {})[int(bias)] = [int(n) for n in numbers]
    return keys


def by_bias(values, bias):
    """A number for each bias as a term: first + step · bias if it is that, else a table."""
    first, step = values[0], values[1] - values[0] if len(values) > 1 else 0
    wide = z3.ZeroExt(58, bias)
    if all(v == first + step * b for b, v in values.items()):
        return z3.BitVecVal(first, 64) + z3.BitVecVal(step, 64) * wide
    term = z3.BitVecVal(values[0], 64)
    for b, v in values.items():
        term = z3.If(bias == b, z3.BitVecVal(v, 64), term)
    return term


def class_theorem(source, name, reading, keys):
    """The representative of a word's class lies like the word, to every number and every middle; and the class is in the table."""
    target = spec.target(name, reading)
    kernels = [f"class_{source.name}", f"representative_{source.name}"]
    rows = keys[source.name, name, reading]
    known = [(spec_infinity(source)), 1 << source.stored, source.width - 1]
    if any(row[3:] != known for row in rows.values()):
        raise ir.Unknown(f"the numbers of {source.name} are others than IEEE 754's")
    x, bias = z3.BitVec("x", source.width), z3.BitVec("bias", 6)
    index = z3.BitVec("index", target.bits)
    low, high, shift = (by_bias({b: row[i] for b, row in rows.items()}, bias) for i in range(3))
    count = {b: 2 * (2 * ((r[1] - r[0]) >> r[2]) + (r[1] & ((1 << r[2]) - 1) != 0) + 4) for b, r in rows.items()}

    def statement(functions):
        word = z3.ZeroExt(64 - source.width, x) if source.width < 64 else x
        numbers = [low, high, z3.Extract(31, 0, shift)]
        cut = ir.Machine(functions[kernels[0]], [word, *numbers])
        number = z3.ZeroExt(32, cut.result[0].bits)
        back = ir.Machine(functions[kernels[1]], [number, *numbers])
        y = z3.Extract(source.width - 1, 0, back.result[0].bits)
        clean = z3.Extract(63, source.width, back.result[0].bits) == 0 if source.width < 64 else z3.BoolVal(True)
        a, b = source.magnitude(x), source.magnitude(y)
        infinity = source.infinity
        kinds = [
            clean,
            source.parts(x)[0] == source.parts(y)[0],
            z3.UGT(a, infinity) == z3.UGT(b, infinity),
            (a == infinity) == (b == infinity),
            (a == 0) == (b == 0),
            z3.ULT(number, by_bias(count, bias)),
        ]
        finite = z3.ULT(a, infinity)
        places = target.places(source, bias_term(target, bias), x, y, index)
        conclusion = z3.And(*kinds, z3.Implies(finite, places))
        assumptions = [z3.ULE(index, target.top + 1)]
        if target.bias is not None:
            assumptions.append(bias == 0)
        return assumptions, conclusion, cut.obligations + back.obligations

    pick = random.Random(2)
    words = []
    for w in interesting(source, 400, name):
        b = 0 if target.bias is not None else pick.randrange(64)
        words.append({x: w, bias: b, index: near_index(source, target, w, b, pick)})
    return Theorem(f"{source.name} classes of {name} {reading}", kernels, [x, bias, index], statement, words)


def spec_infinity(source):
    return ((1 << source.fields) - 1) << source.stored


def near_index(source, target, word, bias, pick):
    """An index near a word's, so that a comparison with it says something."""
    field = (word >> source.stored) % (1 << source.fields) - source.bias + (target.bias or bias)
    leading = (word >> (source.stored - target.t)) % (1 << target.t)
    guess = (field << target.t) + leading + pick.randrange(-1, 2)
    return min(max(guess, 0), target.top + 1)


def odd_theorem(lane):
    """f64 -> the word of binary32 rounded to odd, in the vector kernels' loads."""
    x, cut = z3.BitVec("x", 64), z3.BitVec("cut", 31)

    def statement(functions):
        memory = z3.Concat(*(x if i == lane else z3.BitVec(f"other{i}", 64) for i in reversed(range(32))))
        function = functions["odd_f64"]
        source, out = (name for name, _ in function.parameters)
        machine = ir.Machine(function, [None, None], {source: memory})
        word = machine.memory[out, 4 * lane]
        a, w = spec.F64.magnitude(x), spec.F32.magnitude(word)
        infinity64, infinity32 = spec.F64.infinity, spec.F32.infinity
        # The same number as a word of binary64: 29 more stored bits, and the difference of the biases.
        same = (z3.ZeroExt(32, cut) << 29) + z3.BitVecVal((1023 - 127) << 52, 63)
        alike = z3.And(z3.ULT(a, same) == z3.ULT(w, cut), (a == same) == (w == cut))
        kinds = [
            z3.Extract(31, 31, word) == z3.Extract(63, 63, x),
            z3.UGT(a, infinity64) == z3.UGT(w, infinity32),
            (a == infinity64) == (w == infinity32),
            (a == 0) == (w == 0),
            z3.And(a != 0, z3.ULT(a, z3.BitVecVal(1 << 52, 63))) == (w == 1),
        ]
        # What decides has fewer bits than binary32, and none is above the first number past a format's largest, which has at most
        # 14 bits and an exponent of at most 127 (`plan.rs`, `through_binary32`).
        normal = z3.And(
            z3.UGE(cut, z3.BitVecVal(1 << 23, 31)), z3.ULE(cut, z3.BitVecVal(0x7F7FFC00, 31)), z3.Extract(0, 0, cut) == 0
        )
        finite = z3.ULT(a, infinity64)
        return [], z3.And(*kinds, z3.Implies(z3.And(finite, normal), alike)), machine.obligations

    words = []
    for w in interesting(spec.F64, 400, lane):
        near = min(max((w % (1 << 63) >> 29) - (896 << 23), 1 << 23), 0x7F7FFC00)
        words.append({x: w, cut: near & ~1})
    return Theorem(f"f64 rounded to odd lane {lane}", ["odd_f64"], [x, cut], statement, words)


# The largest values of OCP's element formats and their stored bits (OCP Microscaling Formats 1.0, tables 1 to 5).
ELEMENTS = {"e4m3": (448.0, 3), "e5m2": (57344.0, 2), "e3m2": (28.0, 2), "e2m3": (7.5, 3), "e2m1": (6.0, 1)}


def scale_theorem(rule, element):
    """The MX scale rules: the power of two 2^k that a rule's definition names, for every normal f64 whose scale is one too."""
    largest, stored = ELEMENTS[element]
    top = struct.unpack("<Q", struct.pack("<d", largest))[0]
    top_field = (top >> 52) - 1023
    amax = z3.BitVec("amax", 64)

    def statement(functions):
        machine = ir.Machine(functions[f"scale_{rule}"], [amax, z3.BitVecVal(top, 64), z3.BitVecVal(stored, 32)])
        scale = machine.result[0].bits
        k = z3.LShR(scale, 52) - 1023
        # Words of positive numbers are in the order of the numbers. 2^(k + step) in multiples of the largest value's power of two.
        power = lambda step: (k + (top_field + 1023 + step)) << 52
        # The least number that rounds up to a power of two where ties go up: half a place of the element below it.
        rounds_to = lambda step: power(step) - (1 << (51 - stored))
        times_top = lambda step: z3.BitVecVal(top, 64) + ((k + step) << 52)
        right = {
            "floor": lambda: z3.And(z3.ULE(power(0), amax), z3.ULT(amax, power(1))),
            "ceil": lambda: z3.And(z3.ULT(power(-1), amax), z3.ULE(amax, power(0))),
            "even": lambda: z3.And(z3.ULE(rounds_to(0), amax), z3.ULT(amax, rounds_to(1))),
            "rceil": lambda: z3.And(z3.ULT(times_top(-1), amax), z3.ULE(amax, times_top(0))),
        }[rule]()
        # From 2^-1000 to 2^1000, so that nothing is clamped: E8M0's scales go from 2^-127 to 2^127.
        inside = z3.And(z3.UGE(amax, z3.BitVecVal(23 << 52, 64)), z3.ULT(amax, z3.BitVecVal(2023 << 52, 64)))
        return [inside], z3.And(right, z3.Extract(51, 0, scale) == 0), machine.obligations

    pick = random.Random(rule + element)
    words = []
    for _ in range(300):
        edge = pick.choice([top % (1 << 52), 0, (1 << 52) - (1 << (51 - stored)), pick.getrandbits(52)])
        words.append({amax: max((pick.randrange(24, 2022) << 52) + edge + pick.randrange(-1, 2), 24 << 52)})
    return Theorem(f"scale {rule} of {element}", [f"scale_{rule}"], [amax], statement, words)


def decide(formula, seconds):
    """("sat", "unsat" or "unknown"; a model) of a formula."""
    solver = z3.SolverFor("QF_BV")
    solver.set("timeout", int(seconds * 1000))
    solver.add(formula)
    answer = str(solver.check())
    return answer, solver.model() if answer == "sat" else None


def refuted_by_example(formula, words):
    """Does one of the example inputs already show the violation?"""
    for example in words:
        values = [(v, z3.BitVecVal(n, v.size())) for v, n in example.items()]
        if z3.is_true(z3.simplify(z3.substitute(formula, *values))):
            return True
    return False


def judge(theorem, functions, seconds):
    """Whether a mutant breaks a theorem: refuted, equivalent or undecided."""
    try:
        formula = theorem.violation(functions)
    except ir.Unknown:
        return "not IR"
    if refuted_by_example(formula, theorem.words):
        return "refuted"
    answer, _ = decide(formula, seconds)
    return {"sat": "refuted", "unsat": "equivalent"}.get(answer, "undecided")


# Which file a function stands in, by the first word of its name.
FILES = {"core": "core.ll", "scale": "scale.ll"}


class Report:
    """Rows to standard output and to a file."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None
        self.bad = 0

    def row(self, *cells):
        line = ",".join(str(c) for c in cells)
        print(line, flush=True)
        if self.file:
            print(line, file=self.file, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", choices=["theorems", "mutants"])
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--csv")
    options = parser.parse_args()
    keys = read_keys(f"{options.folder}/keys.txt")
    theorems = []
    pairs = [(n, r) for n in ("cfloat8_1_4_3", "cfloat8_1_5_2", "shp") for r in ("tesla", "gradual")]
    pairs.append(("uhp", "flush"))
    for source in (spec.F32, spec.F64):
        theorems += [core_theorem(source, n, r) for n, r in pairs]
        theorems += [class_theorem(source, n, r, keys) for n, r in pairs]
    theorems += [odd_theorem(lane) for lane in range(8)]
    theorems += [scale_theorem(rule, e) for rule in ("floor", "ceil", "even", "rceil") for e in ELEMENTS]
    theorems = [t for t in theorems if options.only in t.name]
    wanted = sorted({k for t in theorems for k in t.kernels})
    functions = {}
    for file in ("core.ll", "scale.ll", "kernels.ll"):
        here = [k for k in wanted if FILES.get(k.split("_")[0], "kernels.ll") == file]
        functions.update(ir.functions(f"{options.folder}/{file}", here))
    report = Report(options.csv)
    report.row("kind", "name", "verdict", "seconds", "detail")
    for theorem in theorems if options.part != "mutants" else []:
        start = time.process_time()
        answer, model = decide(theorem.violation(functions), options.timeout)
        verdict = {"unsat": "proved", "sat": "REFUTED"}.get(answer, "UNDECIDED")
        detail = "" if model is None else " ".join(f"{d.name()}={model[d]}" for d in model.decls())
        report.bad += verdict != "proved"
        report.row("theorem", theorem.name, verdict, f"{time.process_time() - start:.1f}", detail)
    for kernel in sorted({k for t in theorems for k in t.kernels}) if options.part != "theorems" else []:
        start = time.process_time()
        # Classes of 16-bit formats take ten times as long: the mutants of their kernels are judged by the 8-bit ones.
        about = [t for t in theorems if kernel in t.kernels][:4]
        tally = {}
        for what, mutant in mutants.mutants(functions[kernel], options.mutants):
            broken = {**functions, kernel: mutant}
            verdict = "equivalent"
            for theorem in about:
                one = judge(theorem, broken, options.timeout)
                if one != "equivalent":
                    verdict = one
                    break
            tally[verdict] = tally.get(verdict, 0) + 1
            if verdict != "refuted":
                report.row("mutant", kernel, verdict, "", what.replace(",", ";"))
        report.bad += tally.get("undecided", 0)
        counts = " ".join(f"{n} {v}" for v, n in sorted(tally.items()))
        report.row("mutants", kernel, counts, f"{time.process_time() - start:.1f}", sum(tally.values()))
    return 1 if report.bad else 0


if __name__ == "__main__":
    sys.exit(main())
