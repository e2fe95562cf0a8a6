"""The documentation: its examples and its scripts."""

import doctest
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
# `scripts/python-test` puts the documentation beside the tests.
DOCS = next(folder for folder in (HERE.parent / "docs", HERE.parents[1] / "docs") if folder.is_dir())


@pytest.mark.parametrize("page, least", [("how-to-python.md", 25), ("how-to-numpy.md", 25), ("how-to-dask.md", 12)])
def test_how_to(page, least):
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False)
    assert failed == 0 and tried > least


SCRIPTS = [path for pattern in ("*.py", "dask/*.py") for path in sorted((DOCS / "python").glob(pattern))]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
