"""The theorems: what must hold of each kernel, as z3 terms of its IR and of `spec.py`.

Most are split by the sum of the source's exponent and the bias. Where it is a number the
specification's shifts are by constants, which takes z3 a fraction of a second; where the sum itself
is out of range everything is below or above what decides. The word and the bias stay symbolic in
each case.
"""

import random
import struct

import z3

import ir
import spec


class Theorem:
    """What must hold of the functions `kernels`: `statement(functions)` reads their IR and gives a
    claim, `claim(known)` gives (assumptions, conclusion, obligations). `known` is the sum of
    exponent and bias where a case has it as a number, else None; what is concluded may then be more
    than the theorem says, so that an answer other than "proved" is none.
    """

    def __init__(self, name, kernels, statement, words, split=None):
        self.name, self.kernels, self.statement, self.words = name, kernels, statement, words
        # The sum of exponent and bias as a term, and the first and the last number that are cases
        # of their own.
        self.split = split

    def cases(self, functions):
        """Formulas of which one is satisfiable if the theorem fails; the first is the theorem
        undivided."""
        claim = self.statement(functions)
        yield violation(claim(None))
        if self.split:
            total, first, last = self.split
            yield z3.And(z3.ULT(total, first), violation(claim(None)))
            yield z3.And(z3.UGT(total, last), violation(claim(None)))
            for known in range(first, last + 1):
                yield z3.And(total == known, violation(claim(known)))


def violation(claim):
    """A formula that is satisfiable exactly where a claim fails."""
    assumptions, conclusion, obligations = claim
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
    """The core's short conversion gives the nearest code, or leaves exactly what it should to the
    projection."""
    target = spec.target(name, reading)
    kernel = f"core_{source.name}_{name}" + ("" if name == "uhp" else f"_{reading}")
    x, bias = z3.BitVec("x", source.width), z3.BitVec("bias", 6)

    def statement(functions):
        arguments = [z3.ZeroExt(64 - source.width, x) if source.width < 64 else x]
        if target.bias is None:
            arguments.append(z3.ZeroExt(26, bias))
        machine = ir.Machine(functions[kernel], arguments)
        code = machine.result[0].bits
        return lambda known: ([], target.nearest_even(source, x, bias_term(target, bias), code, known), machine.obligations)

    biases = random.Random(1)
    words = [{x: w, bias: biases.randrange(64)} for w in interesting(source, 400, kernel)]
    # From below half the smallest number to above the largest; formats of 8 bits need no cases.
    total = source.exponent(x) + bias_term(target, bias)
    split = (total, source.bias - target.t - 3, source.bias + (1 << target.fields) + 2) if target.width > 8 else None
    return Theorem(kernel, [kernel], statement, words, split)


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
    """The representative of a word's class lies like the word, to every number and every middle;
    and the class is in the table."""
    target = spec.target(name, reading)
    kernels = [f"class_{source.name}", f"representative_{source.name}"]
    rows = keys[source.name, name, reading]
    known = [(spec_infinity(source)), 1 << source.stored, source.width - 1]
    if any(row[3:] != known for row in rows.values()):
        raise ir.Unknown(f"the numbers of {source.name} are others than IEEE 754's")
    x, bias = z3.BitVec("x", source.width), z3.BitVec("bias", 6)
    index = z3.BitVec("index", target.bits)
    biased = bias_term(target, bias)
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
        total = source.exponent(y) + biased
        infinity = source.infinity
        kinds = [
            clean,
            source.parts(x)[0] == source.parts(y)[0],
            z3.UGT(a, infinity) == z3.UGT(b, infinity),
            (a == infinity) == (b == infinity),
            (a == 0) == (b == 0),
            z3.ULT(number, by_bias(count, bias)),
        ]
        assumptions = [z3.ULE(index, target.top + 1)]
        if target.bias is not None:
            assumptions.append(bias == 0)

        def claim(known):
            places = target.places(source, biased, x, y, index, known)
            # Within the range of classes a word and its representative have one exponent.
            shared = z3.BoolVal(True) if known is None else total == known
            alike = z3.Implies(z3.ULT(a, infinity), z3.And(places, shared))
            return assumptions, z3.And(*kinds, alike), cut.obligations + back.obligations

        return claim

    pick = random.Random(2)
    words = []
    for w in interesting(source, 400, name):
        b = 0 if target.bias is not None else pick.randrange(64)
        words.append({x: w, bias: b, index: near_index(source, target, w, b, pick)})
    first, past = ((rows[0][i] >> source.stored) + (target.bias or 0) for i in range(2))
    split = source.exponent(x) + biased, first, past - 1
    return Theorem(f"{source.name} classes of {name} {reading}", kernels, statement, words, split)


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
        # The same number as a word of binary64: 29 more stored bits, and the difference of the
        # biases.
        same = (z3.ZeroExt(32, cut) << 29) + z3.BitVecVal((1023 - 127) << 52, 63)
        alike = z3.And(z3.ULT(a, same) == z3.ULT(w, cut), (a == same) == (w == cut))
        kinds = [
            z3.Extract(31, 31, word) == z3.Extract(63, 63, x),
            z3.UGT(a, infinity64) == z3.UGT(w, infinity32),
            (a == infinity64) == (w == infinity32),
            (a == 0) == (w == 0),
            z3.And(a != 0, z3.ULT(a, z3.BitVecVal(1 << 52, 63))) == (w == 1),
        ]
        # What decides has fewer bits than binary32, and none is above the first number past a
        # format's largest, which has at most 14 bits and an exponent of at most 127 (`plan.rs`,
        # `through_binary32`).
        normal = z3.And(
            z3.UGE(cut, z3.BitVecVal(1 << 23, 31)), z3.ULE(cut, z3.BitVecVal(0x7F7FFC00, 31)), z3.Extract(0, 0, cut) == 0
        )
        finite = z3.ULT(a, infinity64)
        conclusion = z3.And(*kinds, z3.Implies(z3.And(finite, normal), alike))
        return lambda _: ([], conclusion, machine.obligations)

    words = []
    for w in interesting(spec.F64, 400, lane):
        near = min(max((w % (1 << 63) >> 29) - (896 << 23), 1 << 23), 0x7F7FFC00)
        words.append({x: w, cut: near & ~1})
    return Theorem(f"f64 rounded to odd lane {lane}", ["odd_f64"], statement, words)


# The largest values of OCP's element formats and their stored bits (OCP Microscaling Formats 1.0,
# tables 1 to 5).
ELEMENTS = {"e4m3": (448.0, 3), "e5m2": (57344.0, 2), "e3m2": (28.0, 2), "e2m3": (7.5, 3), "e2m1": (6.0, 1)}


def scale_theorem(rule, element):
    """The MX scale rules: the power of two 2^k that a rule's definition names, for every normal f64
    whose scale is one too."""
    largest, stored = ELEMENTS[element]
    top = struct.unpack("<Q", struct.pack("<d", largest))[0]
    top_field = (top >> 52) - 1023
    amax = z3.BitVec("amax", 64)

    def statement(functions):
        machine = ir.Machine(functions[f"scale_{rule}"], [amax, z3.BitVecVal(top, 64), z3.BitVecVal(stored, 32)])
        scale = machine.result[0].bits
        k = z3.LShR(scale, 52) - 1023
        # Words of positive numbers are in the order of the numbers. 2^(k + step) in multiples of
        # the largest value's power of two.
        power = lambda step: (k + (top_field + 1023 + step)) << 52
        # The least number that rounds up to a power of two where ties go up: half a place of the
        # element below it.
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
        return lambda _: ([inside], z3.And(right, z3.Extract(51, 0, scale) == 0), machine.obligations)

    pick = random.Random(rule + element)
    words = []
    for _ in range(300):
        edge = pick.choice([top % (1 << 52), 0, (1 << 52) - (1 << (51 - stored)), pick.getrandbits(52)])
        words.append({amax: max((pick.randrange(24, 2022) << 52) + edge + pick.randrange(-1, 2), 24 << 52)})
    return Theorem(f"scale {rule} of {element}", [f"scale_{rule}"], statement, words)


def all_theorems(keys):
    """Every theorem; `keys` are the numbers of the classes."""
    pairs = [(n, r) for n in ("cfloat8_1_4_3", "cfloat8_1_5_2", "shp") for r in ("tesla", "gradual")]
    pairs.append(("uhp", "flush"))
    theorems = []
    for source in (spec.F32, spec.F64):
        theorems += [core_theorem(source, n, r) for n, r in pairs]
        theorems += [class_theorem(source, n, r, keys) for n, r in pairs]
    theorems += [odd_theorem(lane) for lane in range(8)]
    theorems += [scale_theorem(rule, e) for rule in ("floor", "ceil", "even", "rceil") for e in ELEMENTS]
    return theorems
