"""Every example in every docstring."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import smallfloat as sf

# These import what is not everywhere; their own tests run their examples.
OPTIONAL = {f"smallfloat.{name}" for name in ("torch", "transformers", "compressed_tensors", "jax", "dask", "ray")}


def modules():
    yield sf
    for found in pkgutil.iter_modules(sf.__path__, "smallfloat."):
        if found.name not in OPTIONAL and not found.name.endswith("_core"):
            yield importlib.import_module(found.name)


def examples():
    parser, seen = doctest.DocTestParser(), set()
    for module in modules():
        things = {module.__name__: module}
        for name, value in vars(module).items():
            if getattr(value, "__module__", "").startswith("smallfloat"):
                things[f"{module.__name__}.{name}"] = value
        for name, thing in list(things.items()):
            if inspect.isclass(thing):
                things.update({f"{name}.{part}": value for part, value in vars(thing).items()})
        for name, thing in things.items():
            text = getattr(thing, "__doc__", None)
            if isinstance(text, str) and ">>>" in text and text not in seen:
                seen.add(text)
                yield parser.get_doctest(text, {}, name, None, None)


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failures = []
    runner.run(example, out=failures.append)
    assert runner.failures == 0, "".join(failures)


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


def test_everything_public_is_documented():
    for name in sf.__all__:
        thing = getattr(sf, name)
        if not isinstance(thing, list):
            assert inspect.getdoc(thing), name
