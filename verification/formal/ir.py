"""LLVM IR (text) of functions without loops -> z3 terms.

A value is a list of lanes (one for a scalar), each a bit vector and the condition under which it is
poison. Blocks are visited in an order in which every predecessor comes first; a block's condition
is the disjunction of its edges'. What the language leaves undefined becomes an obligation: a branch
on poison, a division by zero, a call that does not come back, a poisoned result. An instruction, a
flag, a type or an intrinsic that is not known here is an error.
"""

import re

import z3


class Unknown(Exception):
    """IR that this translator has no meaning for."""


class Lane:
    """Bits, and when they are poison."""

    __slots__ = ("bits", "poison")

    def __init__(self, bits, poison=None):
        self.bits = bits
        self.poison = z3.BoolVal(False) if poison is None else poison


def any_of(*conditions):
    """Their disjunction, constants folded."""
    rest = [c for c in conditions if not z3.is_false(c)]
    if any(z3.is_true(c) for c in rest):
        return z3.BoolVal(True)
    return z3.BoolVal(False) if not rest else rest[0] if len(rest) == 1 else z3.Or(*rest)


def all_of(*conditions):
    """Their conjunction, constants folded."""
    rest = [c for c in conditions if not z3.is_true(c)]
    if any(z3.is_false(c) for c in rest):
        return z3.BoolVal(False)
    return z3.BoolVal(True) if not rest else rest[0] if len(rest) == 1 else z3.And(*rest)


def outside(bits, width, low, high):
    """Is a number outside low..high (the end excluded), which may wrap around zero?"""
    low, high = z3.BitVecVal(low, width), z3.BitVecVal(high, width)
    return z3.Not(z3.ULT(bits - low, high - low))


# ---------------------------------------------------------------- text

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[%@][\w.$-]+|[%@]"[^"]*"|![\w.]*|#\d+|[\w.$-]+|\.\.\.|[(){}\[\]<>,=*|])')


def tokens(line):
    """The tokens of a line, comments left out."""
    found, at, line = [], 0, line.split(";")[0].rstrip()
    while at < len(line):
        match = TOKEN.match(line, at)
        if not match:
            raise Unknown(f"text: {line[at:]}")
        found.append(match.group(1))
        at = match.end()
    return found


class Function:
    """A function's text: parameters as (name, type), blocks as (label, lines of tokens) in order,
    and what is promised of the result (width, first, and the one past the last)."""

    def __init__(self, name, parameters, blocks, promise=None):
        self.name, self.parameters, self.blocks, self.promise = name, parameters, blocks, promise


def functions(path, wanted):
    """The functions of a file whose mangled names hold one of the wanted words with its length, by
    that word."""
    found, lines = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("define "):
                head = line
                word = next((w for w in wanted if f"{len(w)}{w}17h" in line), None)
                lines = [] if word else None
            elif lines is not None and line.startswith("}"):
                found[word] = parse(word, head, lines)
                lines = None
            elif lines is not None:
                lines.append(line)
    missing = set(wanted) - set(found)
    if missing:
        raise Unknown(f"no function {sorted(missing)} in {path}")
    return found


def parse(word, head, lines):
    """A function from its text."""
    at = head.index("@")
    promise = re.search(r"range\(i(\d+) (-?\d+), (-?\d+)\)", head[:at])
    inside = head[head.index("(", at) + 1 :]
    depth, text = 1, ""
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            break
        text += letter
    parameters = []
    for part in re.split(r",(?![^()]*\))", text):
        kind, name = part.split()[0], part.split()[-1]
        parameters.append((name, kind))
    blocks, label, body = [], "start", []
    for line in lines:
        line = line.rstrip("\n")
        match = re.match(r'^("[^"]*"|[\w.$-]+):', line)
        if match:
            if body or blocks:
                blocks.append((label, body))
            label, body = match.group(1).strip('"'), []
        elif line.strip() and not line.strip().startswith(";"):
            body.append(tokens(re.sub(r", ![\w.]+ !\d+", "", line)))
    blocks.append((label, body))
    return Function(word, parameters, [b for b in blocks if b[1]], promise and [int(n) for n in promise.groups()])


# ---------------------------------------------------------------- types

def shape(words):
    """(lanes, width, rest of the tokens) of an integer or float type, or a vector of them."""
    if words[0] == "<":
        count, close = int(words[1]), words.index(">")
        _, width, _ = shape(words[3:close])
        return count, width, words[close + 1 :]
    if words[0] in ("float", "double"):
        return 1, {"float": 32, "double": 64}[words[0]], words[1:]
    match = re.fullmatch(r"i(\d+)", words[0])
    if not match:
        raise Unknown(f"type {words[0]}")
    return 1, int(match.group(1)), words[1:]


FLAGS = {"nuw", "nsw", "exact", "disjoint", "nneg", "samesign"}
BINARY = {"add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "urem"}
CASTS = {"zext", "sext", "trunc", "bitcast"}
SIGNED = {"slt": lambda a, b: a < b, "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b}
PREDICATES = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ult": z3.ULT,
    "ule": z3.ULE,
    "ugt": z3.UGT,
    "uge": z3.UGE,
    **SIGNED,
}
ATTRIBUTES = {"noundef", "nonnull", "tail", "musttail", "notail", "fastcc"}


class Machine:
    """One function's meaning for given arguments.

    `result` holds the lanes of what it returns, `memory` what it stored through pointers (by
    parameter and byte), `obligations` what must not happen.
    """

    def __init__(self, function, arguments, loads=None):
        self.values, self.memory, self.loads = {}, {}, loads or {}
        self.obligations, self.result = [], None
        for (name, kind), argument in zip(function.parameters, arguments, strict=True):
            self.values[name] = (name, 0) if kind == "ptr" else [Lane(argument)]
        self.blocks = dict(function.blocks)
        self.reached = {label: [] for label in self.blocks}
        self.reached[function.blocks[0][0]] = [(None, z3.BoolVal(True))]
        returned = []
        for label in self.order(function):
            self.label = label
            self.condition = any_of(*(c for _, c in self.reached[label]))
            for line in self.blocks[label]:
                answer = self.step(line)
                if answer is not None:
                    returned.append((self.condition, answer))
        if returned and returned[0][1]:
            self.result = returned[-1][1]
            for condition, value in reversed(returned[:-1]):
                self.result = [self.choose(condition, a, b) for a, b in zip(value, self.result, strict=True)]
            self.must_not(any_of(*(lane.poison for lane in self.result)), z3.BoolVal(True))
        if function.promise:
            width, low, high = function.promise
            self.must_not(outside(self.result[0].bits, width, low, high), z3.BoolVal(True))

    def order(self, function):
        """Blocks, predecessors first."""
        done, open_blocks, order = set(), set(), []

        def visit(label):
            if label in done:
                return
            if label in open_blocks:
                raise Unknown("a loop")
            open_blocks.add(label)
            last = self.blocks[label][-1]
            for at, token in enumerate(last):
                if token == "label":
                    visit(last[at + 1][1:].strip('"'))
            done.add(label)
            order.append(label)

        visit(function.blocks[0][0])
        return reversed(order)

    def must_not(self, condition, where=None):
        self.obligations.append(all_of(self.condition if where is None else where, condition))

    @staticmethod
    def choose(condition, a, b):
        """One lane or the other."""
        poison = b.poison if a.poison is b.poison else z3.If(condition, a.poison, b.poison)
        return Lane(z3.If(condition, a.bits, b.bits), z3.simplify(poison))

    def operand(self, words, count, width):
        """(lanes, rest of the tokens) of an operand of a known type."""
        word, rest = words[0], words[1:]
        if word.startswith("%"):
            return self.values[word], rest
        fixed = {"true": 1, "false": 0, "zeroinitializer": 0}
        if word in fixed:
            return [Lane(z3.BitVecVal(fixed[word], width)) for _ in range(count)], rest
        if word in ("poison", "undef"):
            return [Lane(z3.BitVecVal(0, width), z3.BoolVal(True)) for _ in range(count)], rest
        if word == "splat":
            _, width, inner = shape(rest[1:])
            lane, inner = self.operand(inner, 1, width)
            return lane * count, inner[1:]
        if word == "<":
            lanes, rest = [], ["," ] + rest
            while rest[0] == ",":
                _, width, rest = shape(rest[1:])
                lane, rest = self.operand(rest, 1, width)
                lanes += lane
            return lanes, rest[1:]
        if re.fullmatch(r"-?\d+", word):
            return [Lane(z3.BitVecVal(int(word), width)) for _ in range(count)], rest
        raise Unknown(f"operand {word}")

    def typed(self, words):
        """(lanes, width, rest) of a type and an operand."""
        count, width, rest = shape(words)
        lanes, rest = self.operand(rest, count, width)
        return lanes, width, rest

    def step(self, line):
        if line[1:2] == ["="]:
            self.values[line[0]] = self.compute(line[2:])
            return None
        operation = line[0]
        if operation == "ret":
            return [] if line[1] == "void" else self.typed(line[1:])[0]
        if operation == "br":
            if line[1] == "label":
                self.edge(line[2], z3.BoolVal(True))
            else:
                lane = self.operand(line[2:], 1, 1)[0][0]
                self.must_not(lane.poison)
                self.edge(line[5], lane.bits == 1)
                self.edge(line[8], lane.bits == 0)
        elif operation == "switch":
            lanes, width, rest = self.typed(line[1:])
            self.must_not(lanes[0].poison)
            cases = re.findall(r"(i\d+) (-?\d+) , label (%\S+)", " ".join(rest[rest.index("[") :]))
            taken = [lanes[0].bits == z3.BitVecVal(int(value), width) for _, value, _ in cases]
            for condition, (_, _, label) in zip(taken, cases, strict=True):
                self.edge(label, condition)
            self.edge(rest[2], z3.Not(any_of(*taken)))
        elif operation == "unreachable":
            self.must_not(z3.BoolVal(True))
        elif operation == "store":
            lanes, width, rest = self.typed(line[1:])
            base, offset = self.values[rest[2]]
            for i, lane in enumerate(lanes):
                self.must_not(lane.poison)
                self.memory[base, offset + i * width // 8] = lane.bits
        elif "@llvm.assume" in line:
            at = line.index("@llvm.assume")
            self.must_not(self.operand(line[at + 3 :], 1, 1)[0][0].bits == 0)
        elif operation in ("call", "tail") and any("panic" in word for word in line):
            pass  # What follows is unreachable, and an obligation.
        else:
            raise Unknown(" ".join(line))
        return None

    def edge(self, label, condition):
        self.reached[label[1:].strip('"')].append((self.label, all_of(self.condition, condition)))

    def compute(self, words):
        operation, rest = words[0], words[1:]
        flags = set()
        while rest[0] in FLAGS:
            flags.add(rest[0])
            rest = rest[1:]
        if operation in BINARY:
            a, width, rest = self.typed(rest)
            b, _ = self.operand(rest[1:], len(a), width)
            return [self.binary(operation, flags, x, y, width) for x, y in zip(a, b, strict=True)]
        if operation == "icmp":
            predicate = rest[0]
            a, width, rest = self.typed(rest[1:])
            b, _ = self.operand(rest[1:], len(a), width)
            return [self.compare(predicate, flags, x, y, width) for x, y in zip(a, b, strict=True)]
        if operation in CASTS:
            a, width, rest = self.typed(rest)
            count, to, _ = shape(rest[1:])
            return self.cast(operation, flags, a, width, count, to)
        if flags:
            raise Unknown(f"{operation} with {flags}")
        if operation == "select":
            condition, _, rest = self.typed(rest)
            a, _, rest = self.typed(rest[1:])
            b, _, _ = self.typed(rest[1:])
            condition = condition * (len(a) if len(condition) == 1 else 1)
            chosen = [self.choose(c.bits == 1, x, y) for c, x, y in zip(condition, a, b, strict=True)]
            return [Lane(lane.bits, any_of(c.poison, lane.poison)) for c, lane in zip(condition, chosen, strict=True)]
        if operation == "phi":
            return self.phi(rest)
        if operation == "freeze":
            a, width, _ = self.typed(rest)
            fresh = [z3.FreshConst(z3.BitVecSort(width), "frozen") for _ in a]
            return [x if z3.is_false(x.poison) else Lane(z3.If(x.poison, f, x.bits)) for x, f in zip(a, fresh, strict=True)]
        if operation == "shufflevector":
            a, _, rest = self.typed(rest)
            b, _, rest = self.typed(rest[1:])
            places, _, _ = self.typed(rest[1:])
            both = a + b
            return [both[z3.simplify(p.bits).as_long()] for p in places]
        if operation == "getelementptr":
            return self.address(rest)
        if operation == "load":
            count, width, rest = shape(rest)
            base, offset = self.values[rest[2]]
            memory = self.loads[base]
            return [Lane(z3.Extract(8 * offset + (i + 1) * width - 1, 8 * offset + i * width, memory)) for i in range(count)]
        if operation in ("call", "tail"):
            return self.call(words)
        raise Unknown(" ".join(words))

    def address(self, rest):
        rest = [word for word in rest if word not in ("inbounds", "nuw")]
        if rest[:3] != ["i8", ",", "ptr"] or not rest[6].isdigit():
            raise Unknown("getelementptr " + " ".join(rest))
        base, offset = self.values[rest[3]]
        return base, offset + int(rest[6])

    def phi(self, rest):
        count, width, rest = shape(rest)
        incoming = {}
        while rest:
            value, rest = self.operand(rest[1:], count, width)
            incoming[rest[1][1:].strip('"')] = value
            rest = rest[3:]
            rest = rest[1:] if rest[:1] == [","] else rest
        edges = [(c, incoming[label]) for label, c in self.reached[self.label]]
        lanes = edges[-1][1]
        for condition, value in reversed(edges[:-1]):
            lanes = [self.choose(condition, a, b) for a, b in zip(value, lanes, strict=True)]
        return lanes

    def binary(self, operation, flags, x, y, width):
        a, b, poison = x.bits, y.bits, [x.poison, y.poison]
        if operation in ("shl", "lshr", "ashr"):
            poison.append(z3.UGE(b, width))
        if operation in ("udiv", "urem"):
            self.must_not(any_of(y.poison, b == 0))
        result = {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "and": lambda: a & b,
            "or": lambda: a | b,
            "xor": lambda: a ^ b,
            "shl": lambda: a << b,
            "lshr": lambda: z3.LShR(a, b),
            "ashr": lambda: a >> b,
            "udiv": lambda: z3.UDiv(a, b),
            "urem": lambda: z3.URem(a, b),
        }[operation]()
        for flag in flags:
            poison.append(self.broken(operation, flag, a, b, result))
        return Lane(result, any_of(*(z3.simplify(p) for p in poison)))

    @staticmethod
    def broken(operation, flag, a, b, result):
        """When an operation's flag lies."""
        rules = {
            ("add", "nuw"): lambda: z3.ULT(result, a),
            ("sub", "nuw"): lambda: z3.ULT(a, b),
            ("add", "nsw"): lambda: z3.And((a < 0) == (b < 0), (result < 0) != (a < 0)),
            ("sub", "nsw"): lambda: z3.And((a < 0) != (b < 0), (result < 0) != (a < 0)),
            ("shl", "nuw"): lambda: z3.LShR(result, b) != a,
            ("shl", "nsw"): lambda: (result >> b) != a,
            ("lshr", "exact"): lambda: (result << b) != a,
            ("ashr", "exact"): lambda: (result << b) != a,
            ("or", "disjoint"): lambda: (a & b) != 0,
        }
        if (operation, flag) not in rules:
            raise Unknown(f"{operation} {flag}")
        return rules[operation, flag]()

    @staticmethod
    def compare(predicate, flags, x, y, width):
        holds = PREDICATES[predicate](x.bits, y.bits)
        poison = [x.poison, y.poison]
        if "samesign" in flags:
            poison.append(z3.simplify((x.bits < 0) != (y.bits < 0)))
        return Lane(z3.If(holds, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), any_of(*poison))

    @staticmethod
    def cast(operation, flags, lanes, width, count, to):
        if operation == "bitcast":
            if width * len(lanes) != to * count:
                raise Unknown("bitcast of another size")
            poison = any_of(*(lane.poison for lane in lanes))
            if to == width:
                return lanes
            if to < width:
                parts = width // to
                cut = lambda lane, i: z3.Extract((i + 1) * to - 1, i * to, lane.bits)
                return [Lane(cut(lane, i), lane.poison) for lane in lanes for i in range(parts)]
            parts = to // width
            groups = [lanes[i * parts : (i + 1) * parts] for i in range(count)]
            del poison
            joined = lambda group: z3.Concat(*(lane.bits for lane in reversed(group)))
            return [Lane(joined(group), any_of(*(lane.poison for lane in group))) for group in groups]
        results = []
        for lane in lanes:
            poison = [lane.poison]
            if operation == "zext":
                bits = z3.ZeroExt(to - width, lane.bits)
            elif operation == "sext":
                bits = z3.SignExt(to - width, lane.bits)
            else:
                bits = z3.Extract(to - 1, 0, lane.bits)
            for flag in flags:
                if (operation, flag) == ("zext", "nneg"):
                    poison.append(lane.bits < 0)
                elif (operation, flag) == ("trunc", "nuw"):
                    poison.append(z3.ZeroExt(width - to, bits) != lane.bits)
                elif (operation, flag) == ("trunc", "nsw"):
                    poison.append(z3.SignExt(width - to, bits) != lane.bits)
                else:
                    raise Unknown(f"{operation} {flag}")
            results.append(Lane(bits, any_of(*(z3.simplify(p) for p in poison))))
        return results

    def argument(self, words):
        """(lanes, rest) of an argument with its attributes; outside a promised range it is
        poison."""
        count, width, rest = shape(words)
        promise = None
        while rest[0] in ATTRIBUTES or rest[0] == "range":
            if rest[0] == "range":
                promise, rest = (int(rest[3]), int(rest[5])), rest[6:]
            rest = rest[1:]
        lanes, rest = self.operand(rest, count, width)
        if promise:
            lanes = [Lane(x.bits, any_of(x.poison, outside(x.bits, width, *promise))) for x in lanes]
        return lanes, rest

    def call(self, words):
        at = next(i for i, word in enumerate(words) if word.startswith("@"))
        match = re.fullmatch(r"@llvm\.(umin|umax|smin|smax)\.\w+", words[at])
        if not match:
            raise Unknown(f"call {words[at]}")
        a, rest = self.argument(words[at + 2 :])
        b, _ = self.argument(rest[1:])
        less = {"umin": z3.ULT, "umax": z3.UGT, "smin": SIGNED["slt"], "smax": SIGNED["sgt"]}[match.group(1)]
        pick = lambda x, y: Lane(z3.If(less(x.bits, y.bits), x.bits, y.bits), any_of(x.poison, y.poison))
        lanes = [pick(x, y) for x, y in zip(a, b, strict=True)]
        if "range" in words[:at]:
            # A promise about the result, which may wrap around zero: outside it the result is
            # poison.
            start = words.index("range")
            width = int(words[start + 2][1:])
            low, high = (int(words[start + i]) for i in (3, 5))
            for lane in lanes:
                lane.poison = any_of(lane.poison, outside(lane.bits, width, low, high))
        return lanes
