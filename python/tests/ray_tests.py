"""Ray itself, with a cluster of processes on this machine. Run by `scripts/evidence/python-torch`,
since it is large."""

import hashlib
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest
import ray

import smallfloat as sf
import smallfloat.ray as sfr

HOW = {"rounding": "stochastic-a", "seed": 3}
SHARDS = 12


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def checkpoint(folder):
    folder.mkdir()
    rng = np.random.default_rng(2)
    for i in range(SHARDS):
        x = rng.standard_normal((1 << 13, 256), np.float32)
        sf.save(folder / f"model-{i + 1:05}-of-{SHARDS:05}.safetensors", {f"layers.{i}.weight": x})
    return folder


def digests(folder):
    files = pathlib.Path(folder).glob("*.safetensors")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def our_tasks():
    """The processes below this one that carry out a shard at the moment; Ray names them after the
    function."""
    parents, tasks = {}, []
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                name, status = (process / "cmdline").read_bytes(), (process / "stat").read_text()
            except OSError:
                continue
            parents[int(process.name)] = int(status.rpartition(")")[2].split()[1])
            if name.startswith(b"ray::") and b"apply" in name:
                tasks.append(int(process.name))

    def is_ours(pid):
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid in tasks if is_ours(pid)]


def test_a_killed_worker_costs_a_retry_and_not_a_byte(cluster, tmp_path):
    source = checkpoint(tmp_path / "in")
    sf.quantize_file(source, tmp_path / "whole", "cfloat8_1_4_3", **HOW)
    plan = sf.plan(source, tmp_path / "out", "cfloat8_1_4_3", **HOW)
    killed = []

    def kill():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not killed:
            done = len(digests(tmp_path / "out"))
            for pid in our_tasks()[:1] if done else []:
                os.kill(pid, signal.SIGKILL)
                killed.append(done)
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    report = sfr.quantize_checkpoint(plan)
    killer.join()
    assert killed and 0 < killed[0] < SHARDS, "a worker must die in mid-job"
    assert report["totals"]["quantized"] == SHARDS
    assert digests(tmp_path / "whole") == digests(tmp_path / "out")
    print(f"\nray {ray.__version__}: a worker killed after {killed[0]} of {SHARDS} shards, and the bytes are those of one process")


def test_an_error_reaches_the_caller(cluster, tmp_path):
    source = checkpoint(tmp_path / "in")
    plan = sf.plan(source, tmp_path / "out", "cfloat8_1_4_3")
    (source / f"model-00003-of-{SHARDS:05}.safetensors").write_bytes(b"?")
    with pytest.raises(Exception, match="model-00003"):
        sfr.quantize_checkpoint(plan, retries=1)
