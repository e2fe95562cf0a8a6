"""The stubs say what is there."""

import ast
import inspect
import pathlib

import smallfloat as sf
from smallfloat import _core

TREE = ast.parse((pathlib.Path(sf.__file__).parent / "_core.pyi").read_text())


def parameters(function):
    a = function.args
    return [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def test_every_name_is_typed_and_every_type_has_a_name():
    stubs = {node.name for node in TREE.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert stubs == {name for name in dir(_core) if not name.startswith("_")}


def test_parameters():
    for node in TREE.body:
        if isinstance(node, ast.FunctionDef):
            real = list(inspect.signature(getattr(_core, node.name)).parameters)
            assert parameters(node) == real, node.name


def test_members():
    for node in TREE.body:
        if isinstance(node, ast.ClassDef):
            stubs = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            real = {name for name in vars(getattr(_core, node.name)) if not name.startswith("__")}
            assert {name for name in stubs if not name.startswith("__")} == real


def test_typed():
    assert (pathlib.Path(sf.__file__).parent / "py.typed").exists()
