"""ml_dtypes' own tests with `smallfloat.Array` in the place of its scalars and arrays.

What Python lets a library define is used as it is. Three things are NumPy's dtypes' alone, so the
tests' source is rewritten where it uses them: `x.astype(T)`, `x.view(T)`, `x.dtype` and `type(x)`
with one of the types become calls of functions here, and `np` is NumPy with `array`, `arange` and a
few others taking the types. Nothing is caught or compared otherwise than the tests do it.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import sys
import types

import numpy

import smallfloat as sf


class NoDtype(Exception):
    """A test asks for something that only a registered dtype of NumPy's has."""


class FloatType:
    """A format in the place of one of ml_dtypes' types."""

    def __init__(self, name):
        self.__name__, self.__module__ = name, "ml_dtypes"
        self.format = sf.Format(name)
        self.dtype = self
        self.name, self.type = name, self

    @property
    def itemsize(self):
        return self.format.dtype.itemsize

    def __call__(self, value=0):
        if isinstance(value, str):
            return sf.Array(numpy.asarray(self.format.parse(value.lstrip("-") if "nan" in value else value), self.format.dtype), self.format)
        if isinstance(value, sf.Array):
            return value.astype(self.format)
        return sf.array(value, self.format)

    def __eq__(self, other):
        return isinstance(other, FloatType) and other.format == self.format

    def __hash__(self):
        return hash(self.format)

    def __repr__(self):
        return self.__name__


TYPES = {
    name: FloatType(name)
    for name in """
    bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    """.split()
}
_BY_FORMAT = {kind.format: kind for kind in TYPES.values()}


def _kind(dtype):
    return dtype if isinstance(dtype, FloatType) else None


def _values(x):
    """Lists of scalars, and arrays, as what NumPy knows."""
    if isinstance(x, sf.Array):
        return numpy.asarray(x)[()]
    return type(x)(map(_values, x)) if type(x) in (list, tuple) else x


class _Testing:
    """numpy.testing, which knows ndarrays alone: it is given values."""

    def __getattr__(self, name):
        function = getattr(numpy.testing, name)

        def checked(*args, **how):
            return function(*map(_values, args), **{key: _values(value) for key, value in how.items()})

        return checked


class _Numpy(types.ModuleType):
    testing = _Testing()

    def __getattr__(self, name):
        return getattr(numpy, name)

    @staticmethod
    def array(values, dtype=None, **how):
        kind = _kind(dtype)
        return numpy.array(_values(values), dtype, **how) if kind is None else kind(numpy.array(_values(values), **how))

    @staticmethod
    def arange(*args, dtype=None):
        kind = _kind(dtype)
        return numpy.arange(*args, dtype=dtype) if kind is None else kind(numpy.arange(*args))

    @staticmethod
    def zeros(shape, dtype=float):
        kind = _kind(dtype)
        return numpy.zeros(shape, dtype) if kind is None else kind(numpy.zeros(shape))

    @staticmethod
    def dtype(dtype):
        if isinstance(dtype, (FloatType, str)) or dtype is None:
            raise NoDtype("a registered dtype of NumPy's")
        return numpy.dtype(dtype)

    @staticmethod
    def issubdtype(a, b):
        if _kind(a):
            raise NoDtype("numpy.issubdtype")
        return numpy.issubdtype(a, b)

    @staticmethod
    def can_cast(a, b):
        if _kind(a) or _kind(b):
            raise NoDtype("numpy.can_cast")
        return numpy.can_cast(a, b)


class _Finfo:
    """Whose limits are scalars of the type, as ml_dtypes' are."""

    _NUMBERS = ("eps", "epsneg", "max", "min", "smallest_normal", "tiny", "smallest_subnormal")

    def __call__(self, dtype):
        kind = _kind(dtype)
        if kind is None:
            return numpy.finfo(dtype)
        found = sf.finfo(kind.format)
        numbers = {name: kind(getattr(found, name)) for name in self._NUMBERS}
        return types.SimpleNamespace(**{**vars(found), **numbers})


def astype(x, dtype, *args, **how):
    kind = _kind(dtype)
    if kind is None:
        return x.astype(dtype, *args, **how)
    return x.astype(kind.format) if isinstance(x, sf.Array) else kind(x)


def view(x, dtype):
    kind = _kind(dtype)
    if kind is None:
        return x.view(dtype)
    return sf.Array(x, kind.format)


def dtype_of(x):
    return _BY_FORMAT[x.format] if isinstance(x, sf.Array) else x.dtype


def type_of(x):
    return _BY_FORMAT[x.format] if isinstance(x, sf.Array) else type(x)


class _Rewrite(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("astype", "view"):
            shim = ast.Attribute(ast.Name("_shim", ast.Load()), node.func.attr, ast.Load())
            return ast.Call(shim, [node.func.value, *node.args], node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1:
            return ast.Call(ast.Attribute(ast.Name("_shim", ast.Load()), "type_of", ast.Load()), node.args, [])
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr == "dtype" and isinstance(node.ctx, ast.Load) and not (isinstance(node.value, ast.Name) and node.value.id == "np"):
            return ast.Call(ast.Attribute(ast.Name("_shim", ast.Load()), "dtype_of", ast.Load()), [node.value], [])
        return node


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the tests' modules rewritten."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name.endswith("_test") and (self.folder / f"{name}.py").exists():
            return importlib.util.spec_from_file_location(name, self.folder / f"{name}.py", loader=self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        source = (self.folder / f"{module.__name__}.py").read_text(encoding="utf-8")
        tree = ast.fix_missing_locations(_Rewrite().visit(ast.parse(source)))
        module.__dict__["_shim"] = sys.modules[__name__]
        fake = types.ModuleType("ml_dtypes")
        fake.__dict__.update(TYPES, finfo=_Finfo())
        before = {name: sys.modules.get(name) for name in ("ml_dtypes", "numpy")}
        sys.modules["ml_dtypes"], sys.modules["numpy"] = fake, _Numpy("numpy")
        try:
            exec(compile(tree, module.__spec__.origin, "exec"), module.__dict__)
        finally:
            for name, old in before.items():
                if old is None:
                    sys.modules.pop(name)
                else:
                    sys.modules[name] = old


# What does not pass, and why; a test that is listed and passes is a mistake too.
REASONS = {
    r"testStr|testRepr|testArray_": "numbers print as NumPy prints floats (`1.0`, `[[1. 2. 4.]]`), with all their digits",
    r"testConformNumpyComplex": "numbers with an imaginary part are refused, which NumPy drops with a warning",
    r"testCasts": "an array of uint8 may be codes, so it is refused beside an Array, also in a comparison",
    r"testByteSwap": "codes are in the machine's byte order; swapped ones are no numbers",
}
IMPOSSIBLE = "ask for a dtype registered with NumPy, which an `Array` has not"
SKIPPED = "skipped by ml_dtypes for the type"


def install(folder):
    """From now on the tests of a folder are imported rewritten."""
    sys.meta_path.insert(0, _Finder(folder))
