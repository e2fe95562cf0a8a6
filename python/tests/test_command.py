"""The command that the package brings: the entry point, the module, signals."""

import os
import pathlib
import signal
import subprocess
import sys
import sysconfig
import time

import numpy as np
import pytest

import smallfloat as sf

SCRIPT = pathlib.Path(sysconfig.get_path("scripts")) / "smallfloat"
WAYS = {"entry point": [str(SCRIPT)], "module": [sys.executable, "-m", "smallfloat"]}


def run(way, *arguments, **keywords):
    return subprocess.run([*WAYS[way], *arguments], capture_output=True, text=True, timeout=300, **keywords)


@pytest.mark.parametrize("way", WAYS)
def test_answers_and_exit_statuses(way, tmp_path):
    version = run(way, "--version")
    assert (version.returncode, version.stdout) == (0, f"smallfloat {sf.__version__}\n")
    shown = run(way, "table", "e4m3fn", "--csv")
    assert shown.returncode == 0 and "0x7e,7p6,448,normal" in shown.stdout.splitlines()
    failed = run(way, "table", "e4m3fm")
    assert failed.returncode == 1 and failed.stderr.startswith("smallfloat: error: ")
    wrong = run(way, "tabel")
    assert wrong.returncode == 2 and "Usage: smallfloat " in wrong.stderr
    # Names of files that are no text arrive as they are.
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 100, dtype=np.float32))
    name = os.fsdecode(b"\xff.npy")
    os.rename(tmp_path / "x.npy", tmp_path / name)
    done = run(way, "quantize", name, "-o", "q.safetensors", "--format", "e4m3fn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_signal_ends_it_and_removes_its_temporary(way, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(100_000_000, np.float32))
    child = subprocess.Popen(
        [*WAYS[way], "quantize", "x.npy", "-o", "q.safetensors", "--format", "e4m3fn"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Where tests run in the background, the signal is ignored, and so are children told to.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while set(os.listdir(tmp_path)) == {"x.npy"} and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == -signal.SIGINT
    assert os.listdir(tmp_path) == ["x.npy"]
