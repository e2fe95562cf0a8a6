"""What pytest tells of a peer's tests, written to the file that OUTCOMES names; a plugin, made by
`watch`."""

import json
import os
import pathlib
import types

import pytest


def watch(*impossible):
    """A plugin that names the tests which raise one of these exceptions apart from failures."""
    outcomes = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        report = outcome.get_result()
        if call.excinfo is not None and impossible and call.excinfo.errisinstance(impossible):
            report.outcome, report.longrepr = "skipped", ("", 0, f"Skipped: {call.excinfo.value}")
            report.impossible = True

    def pytest_runtest_logreport(report):
        if report.when == "call" or report.outcome != "passed":
            kind = "impossible" if getattr(report, "impossible", False) else report.outcome
            # The worst of its subtests is the test's.
            order = ("passed", "skipped", "impossible", "failed")
            outcomes[report.nodeid] = max(kind, outcomes.get(report.nodeid, "passed"), key=order.index)

    def pytest_sessionfinish(session):
        pathlib.Path(os.environ["OUTCOMES"]).write_text(json.dumps(outcomes), encoding="utf-8")

    hooks = (pytest_runtest_makereport, pytest_runtest_logreport, pytest_sessionfinish)
    return types.SimpleNamespace(**{hook.__name__: hook for hook in hooks})
