"""Proves the encoders' LLVM IR equal to `spec.py`, then breaks the IR and sees that the proof fails
(`run` calls this).

    prove.py FOLDER [--only WORD] [--part theorems|mutants] [--mutants N] [--csv FILE]

FOLDER holds what `build` made. Prints a row for each theorem and a line for each mutant that turned
out equivalent; exit status 1 if a theorem is refuted or undecided, or a mutant undecided.
"""

import argparse
import sys
import time

import z3

import ir
import mutants
import theorems


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


def settle(theorem, functions, seconds):
    """("sat", "unsat" or "unknown"; a model) of a theorem's violation, case by case, each within a
    time limit."""
    whole, *cases = theorem.cases(functions)
    for formula in cases or [whole]:
        answer, model = decide(formula, seconds)
        if answer == "unsat":
            continue
        if answer == "sat" and cases:
            # A case may claim more than the theorem does: only what breaks the theorem counts.
            inputs = [v == model.eval(v, model_completion=True) for v in theorem.words[0]]
            answer, model = decide(z3.And(whole, *inputs), seconds)
            if answer == "unsat":
                return decide(whole, seconds)
        return answer, model
    return "unsat", None


def judge(theorem, functions, seconds):
    """Whether a mutant breaks a theorem: refuted, equivalent or undecided."""
    try:
        whole = next(theorem.cases(functions))
    except ir.Unknown:
        return "not IR"
    if refuted_by_example(whole, theorem.words):
        return "refuted"
    answer, _ = settle(theorem, functions, seconds)
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
    every = theorems.all_theorems(theorems.read_keys(f"{options.folder}/keys.txt"))
    chosen = [t for t in every if options.only in t.name]
    wanted = sorted({k for t in chosen for k in t.kernels})
    functions = {}
    for file in ("core.ll", "scale.ll", "kernels.ll"):
        here = [k for k in wanted if FILES.get(k.split("_")[0], "kernels.ll") == file]
        functions.update(ir.functions(f"{options.folder}/{file}", here))
    report = Report(options.csv)
    report.row("kind", "name", "verdict", "seconds", "detail")
    for theorem in chosen if options.part != "mutants" else []:
        start = time.process_time()
        answer, model = settle(theorem, functions, options.timeout)
        verdict = {"unsat": "proved", "sat": "REFUTED"}.get(answer, "UNDECIDED")
        detail = "" if model is None else " ".join(f"{d.name()}={model[d]}" for d in model.decls())
        report.bad += verdict != "proved"
        report.row("theorem", theorem.name, verdict, f"{time.process_time() - start:.1f}", detail)
    for kernel in sorted({k for t in chosen for k in t.kernels}) if options.part != "theorems" else []:
        start = time.process_time()
        # Classes of 16-bit formats take ten times as long: the mutants of their kernels are judged
        # by the 8-bit ones.
        about = [t for t in chosen if kernel in t.kernels][:4]
        tally = {}
        for what, mutant in mutants.mutants(functions[kernel], options.mutants):
            broken = {**functions, kernel: mutant}
            verdict = "equivalent"
            for theorem in about:
                one = judge(theorem, broken, options.timeout)
                if one != "equivalent":
                    verdict = one
                if one in ("refuted", "not IR"):
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
