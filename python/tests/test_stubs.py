"""The stubs say what is there."""

import ast
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import smallfloat as sf
from smallfloat import _core

TREE = ast.parse((pathlib.Path(sf.__file__).parent / "_core.pyi").read_text())


NOTHING = inspect.Parameter.empty


def parameters(function):
    """Names and defaults, as the stub has them."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(positional) - len(a.defaults)) + a.defaults + a.kw_defaults
    values = [NOTHING if default is None else ast.literal_eval(default) for default in defaults]
    return dict(zip([arg.arg for arg in (*positional, *a.kwonlyargs)], values, strict=True))


def real_parameters(function):
    found = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def test_every_name_is_typed_and_every_type_has_a_name():
    stubs = {node.name for node in TREE.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert stubs == {name for name in dir(_core) if not name.startswith("_")}


def test_parameters():
    for node in TREE.body:
        if isinstance(node, ast.FunctionDef):
            found, real = parameters(node), real_parameters(getattr(_core, node.name))
            if node.name in ("encode", "round") and found["return_flags"] is NOTHING:
                found["return_flags"] = False  # one of the overloads says it
            assert found == real, node.name


def test_members():
    for node in TREE.body:
        if isinstance(node, ast.ClassDef):
            kind = getattr(_core, node.name)
            methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
            real = {name for name in vars(kind) if not name.startswith("__")}
            assert {name for name in methods if not name.startswith("__")} == real
            for name in real:
                if callable(member := getattr(kind, name)):
                    found = parameters(methods[name])
                    found.pop("self", None)
                    given = real_parameters(member)
                    given.pop("self", None)
                    assert found == given, f"{node.name}.{name}"
            if "__new__" in methods:
                found = parameters(methods["__new__"])
                found.pop("cls")
                assert found == real_parameters(kind), node.name


def test_typed():
    assert (pathlib.Path(sf.__file__).parent / "py.typed").exists()


def test_operations():
    stub = ast.parse((pathlib.Path(sf.__file__).parent / "ops.pyi").read_text())
    assert {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)} == set(sf.ops.__all__) - {"class"}  # a keyword


SAMPLE = '''
from typing import Any

import numpy as np
import numpy.typing as npt
import smallfloat as sf

x = np.linspace(-1, 1, 8, dtype=np.float32)
codes = sf.encode(x, "e4m3fn", rounding="stochastic-a", seed=1, random_bits=5)
reveal_type(codes)
codes, events = sf.encode(x, sf.formats.e5m2, return_flags=True)
reveal_type(events)
codes, each = sf.encode(x, "e5m2", return_flags="each", flags="riscv")
reveal_type(each)
reveal_type(sf.round(x, "e4m3fn", flush="before-rounding"))
a: sf.Array = sf.array(x, "e4m3fn")
reveal_type(sf.decode(a))
reveal_type(a[0])
reveal_type(a.sum())
reveal_type(a.format.max)
config = sf.Config("mxfp8-e4m3", granularity="block:16")
reveal_type(sf.quantize(x, config))
reveal_type(sf.quantize(x).array)
total = sf.ops.add(a, a, semantics="ieee", return_flags="each")
product = sf.matmul(a.codes, a.codes, "e4m3fn")
bias = sf.choose_bias(x, "cfloat8_1_4_3", "amax").bias
'''
#: What mypy and pyright find, however they spell it.
TYPES = "ndarray EventCounts uint8|_8Bit float32|_32Bit ndarray Array Array float QuantizedTensor Array".split()
# `scripts/python-test` puts the documentation beside the tests.
HERE = pathlib.Path(__file__).parent
EXAMPLES = next(folder for folder in (HERE.parent / "docs", HERE.parents[1] / "docs") if folder.is_dir()) / "python"


def programs(folder):
    """The sample and the documentation's scripts, in a folder."""
    (folder / "sample.py").write_text(SAMPLE)
    for script in EXAMPLES.glob("*.py"):
        (folder / script.name).write_text(script.read_text())
    return sorted(path.name for path in folder.glob("*.py"))


def checked(command, folder, told):
    """Runs a checker of types, which is to find nothing wrong and these types."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if told in line]
    assert len(found) == len(TYPES), done.stdout
    for line, kind in zip(found, TYPES, strict=True):
        assert re.search(kind, line), line


def test_types_by_mypy(tmp_path):
    """`mypy --strict` takes the programs."""
    pytest.importorskip("mypy")
    names = programs(tmp_path)
    checked([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *names], tmp_path, "Revealed type")


def test_types_by_pyright(tmp_path):
    """pyright takes the programs, and knows the type of every public name."""
    pyright = os.environ.get("PYRIGHT") or shutil.which("pyright")
    if pyright is None:
        pytest.skip("PYRIGHT NOT RUN: npm install pyright, and PYRIGHT=node_modules/.bin/pyright")
    names = programs(tmp_path)
    checked([pyright, "--pythonpath", sys.executable, *names], tmp_path, "information: Type of")


def test_stubs_by_stubtest(tmp_path):
    """stubtest, which imports the modules, finds nothing that the stubs lack or have too much."""
    pytest.importorskip("mypy")
    # No stub can have a function called `class`; the lists of names follow from the modules.
    (tmp_path / "allowed").write_text("smallfloat._core.__all__\nsmallfloat.ops.__all__\nsmallfloat.ops.class\n")
    command = [sys.executable, "-m", "mypy.stubtest", "smallfloat._core", "smallfloat.ops", "--allowlist", "allowed"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
