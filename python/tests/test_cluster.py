"""Plans, and Dask with a cluster of processes on the loopback interface."""

import doctest
import hashlib
import os
import pathlib
import signal
import sys
import threading
import time
import types

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import smallfloat as sf
import smallfloat.dask as sfd

pytestmark = pytest.mark.filterwarnings("default")
HOW = {"rounding": "stochastic-a", "seed": 3}


def checkpoint(folder, count, elements):
    folder.mkdir()
    rng = np.random.default_rng(2)
    for i in range(count):
        x = rng.standard_normal((elements // 256, 256), np.float32)
        sf.save(folder / f"model-{i + 1:05}-of-{count:05}.safetensors", {f"layers.{i}.weight": x})
    return folder


def digests(folder):
    files = pathlib.Path(folder).glob("*.safetensors")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_plan(tmp_path):
    source = checkpoint(tmp_path / "in", 3, 1 << 14)
    plan = sf.plan(source, tmp_path / "out", "cfloat8_1_4_3", **HOW)
    size = sum(file.stat().st_size for file in source.iterdir())
    assert (plan.shards, plan.tensors, plan.bytes_in) == (3, 3, size)
    plan.write(tmp_path / "plan.json")
    again = sf.Plan.read(tmp_path / "plan.json")
    with pytest.raises(ValueError, match="shard"):
        again.finalize()
    assert [again.apply(i)["was_complete"] for i in (2, 0, 1, 0)] == [False, False, False, True]
    report = again.finalize()
    assert report["totals"]["quantized"] == 3
    sf.quantize_file(source, tmp_path / "whole", "cfloat8_1_4_3", **HOW)
    assert digests(tmp_path / "whole") == digests(tmp_path / "out")
    with pytest.raises(ValueError, match="there is no shard 3"):
        again.apply(3)


def test_a_killed_worker_costs_a_retry_and_not_a_byte(tmp_path):
    source = checkpoint(tmp_path / "in", 12, 1 << 21)
    sf.quantize_file(source, tmp_path / "whole", "cfloat8_1_4_3", **HOW)
    plan = sf.plan(source, tmp_path / "out", "cfloat8_1_4_3", **HOW)
    killed = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())

        def kill():
            deadline = time.monotonic() + 60
            while not digests(tmp_path / "out") and time.monotonic() < deadline:
                time.sleep(0.01)
            killed.append((len(digests(tmp_path / "out")), workers[0]))
            os.kill(workers[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        report = sfd.quantize_checkpoint(plan, client)
        killer.join()
        after = list(client.run(os.getpid).values())
    done, pid = killed[0]
    assert 0 < done < 12 and pid not in after, "the worker must die in mid-job"
    assert report["totals"]["quantized"] == 12
    assert digests(tmp_path / "whole") == digests(tmp_path / "out")


def test_arrays():
    x = np.random.default_rng(1).standard_normal((100, 7, 5)).astype(np.float32)
    for chunks in ((100, 7, 5), (13, 7, 5), (30, 2, 4)):
        lazy = da.from_array(x, chunks=chunks)
        codes = sfd.encode(lazy, "cfloat8_1_4_3:bias=9")
        assert codes.dtype == np.uint8 and codes.chunks == lazy.chunks
        expected = sf.encode(x, "cfloat8_1_4_3:bias=9")
        assert np.array_equal(codes.compute(), expected)
        back = sfd.decode(codes, "cfloat8_1_4_3:bias=9", dtype=np.float64)
        assert np.array_equal(back.compute(), sf.decode(expected, "cfloat8_1_4_3:bias=9", dtype=np.float64))
        if chunks[1:] == (7, 5):
            rounded = sfd.round(lazy, "e5m2", **HOW, stream="w").compute()
            assert np.array_equal(rounded, sf.round(x, "e5m2", **HOW, stream="w"))
        else:
            with pytest.raises(ValueError, match="rechunk"):
                sfd.round(lazy, "e5m2", **HOW)
    with pytest.raises(TypeError, match="return_flags"):
        sfd.encode(lazy, "e5m2", return_flags=True)


def test_parts_and_biases():
    x = np.random.default_rng(2).standard_normal((96, 64)).astype(np.float32)
    lazy = da.from_array(x, chunks=(32, 64))
    for fmt, how in (("mxfp8-e4m3", {}), ("cfloat8_1_4_3", {"granularity": "channel"}), ("e4m3fn", {})):
        parts = sfd.quantize(lazy, fmt, **how)
        assert all(hasattr(part, "compute") for part in parts)
        parts = [part.compute() for part in parts]
        whole = sf.quantize(x, fmt, **how)
        assert np.array_equal(np.concatenate([part.codes for part in parts]), whole.codes)
        for name in ("scales", "biases"):
            if getattr(whole, name) is not None:
                assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))
    for fmt in ("cfloat8_1_4_3", "nvfp4"):
        with pytest.raises(ValueError, match="one chunk"):
            sfd.quantize(lazy, fmt)
    assert [part.compute().shape for part in sfd.quantize(lazy, "mxfp4", rows=48)] == [(48, 64), (48, 64)]
    for policy in ("amax", "amax:margin=1", 9):
        assert sfd.choose_bias(lazy, "cfloat8_1_4_3", policy).compute() == sf.choose_bias(x, "cfloat8_1_4_3", policy)
    with pytest.raises(ValueError, match="all elements at once"):
        sfd.choose_bias(lazy, "cfloat8_1_4_3", "auto")
    # Nothing is loaded without a word.
    for call in (sf.encode, sf.round, sf.quantize):
        with pytest.raises(TypeError, match="smallfloat.dask"):
            call(lazy, "e5m2")


def test_plans_and_clients_of_another_kind_are_refused(tmp_path):
    plan = sf.plan(checkpoint(tmp_path / "in", 1, 1 << 8), tmp_path / "out", "e4m3fn")
    asynchronous = types.SimpleNamespace(gather=None, asynchronous=True)
    for given, client, what in ((plan.json, None, "not str: Plan.read"), (plan, None, "not NoneType"), (plan, asynchronous, "is asynchronous")):
        with pytest.raises(TypeError, match=what):
            sfd.quantize_checkpoint(given, client)


def test_what_is_wrong_is_said_before_anything_is_computed():
    x = np.random.default_rng(3).standard_normal((8, 64)).astype(np.float32)
    lazy = da.from_array(x, chunks=(4, 64))
    for call, what in (
        (lambda: sfd.encode(lazy, "e4m3fn", foo=1), "foo"),
        (lambda: sfd.round(lazy, "e4m3fn", rounding="stochastic-a"), "needs a seed"),
        (lambda: sfd.round(lazy, "e4m3fn", threads=2), "threads is not for Dask"),
        (lambda: sfd.quantize(lazy, "mxfp4", threads=2), "threads is not for Dask"),
        (lambda: sfd.encode(lazy.astype(complex), "e4m3fn"), "complex128"),
        (lambda: sfd.decode(lazy, "e4m3fn"), "are uint8"),
        (lambda: sfd.choose_bias(lazy, "e4m3fn"), "whose bias is data"),
        (lambda: sfd.quantize(lazy, "mxfp4", rows=0), "at least 1, not 0"),
        (lambda: sfd.round(lazy[lazy[:, 0] > 0], "e5m2", **HOW), "compute_chunk_sizes"),
        *((lambda f=f: f(x, "e5m2"), "must be a Dask array, not ndarray") for f in (sfd.encode, sfd.quantize, sfd.choose_bias)),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            call()


def test_dtypes_and_masks_are_those_of_the_blocks():
    whole = np.arange(12).reshape(6, 2)
    rounded = sfd.round(da.from_array(whole, chunks=(3, 2)), "e4m3fn")
    assert rounded.dtype == rounded.compute().dtype == sf.round(whole, "e4m3fn").dtype == np.float64
    masked = sfd.encode(da.ma.masked_greater(da.from_array(whole * 1.0, chunks=(3, 2)), 4), "e4m3fn").compute()
    assert np.array_equal(np.ma.getmaskarray(masked), whole > 4)


def test_parts_that_would_not_be_the_whole_are_refused():
    x = np.random.default_rng(4).standard_normal(96).astype(np.float32)
    rows = da.from_array(np.tile(x, (48, 1)), chunks=(24, 96))
    with pytest.raises(TypeError, match="share random words"):
        sfd.quantize(rows, sf.Config("mxfp4", **HOW))
    with pytest.raises(ValueError, match="divide the blocks of block:16x16: .* a multiple of 16"):
        sfd.quantize(rows, "mxfp8-e4m3", granularity="block:16x16")
    with pytest.raises(ValueError, match="a multiple of 4"):
        sfd.quantize(rows.reshape(12, 4, 96).rechunk((6, 4, 96)), "mxfp8-e4m3", granularity="block:16x16")
    with pytest.raises(ValueError, match="a multiple of 32"):
        sfd.quantize(da.from_array(x, chunks=48), "mxfp8-e4m3")
    with pytest.raises(ValueError, match="is one row"):
        sfd.quantize(da.from_array(x, chunks=48), "cfloat8_1_4_3", granularity="channel")
    for lazy, how in ((da.from_array(x, chunks=64), {}), (rows, {"granularity": "block:8x16"})):
        parts = [part.compute().dequantize() for part in sfd.quantize(lazy, "mxfp8-e4m3", **how)]
        assert len(parts) == 2
        assert np.array_equal(np.concatenate(parts), sf.quantize(lazy.compute(), "mxfp8-e4m3", **how).dequantize())


def test_examples():
    failed, tried = doctest.testmod(sfd)
    assert failed == 0 and tried >= 2


def test_ray_by_a_stand_in(tmp_path, monkeypatch):
    """Ray is large and not installed here: what is asked of it is recorded, and run at once."""
    asked = []

    def remote(**options):
        asked.append(options)
        return lambda function: types.SimpleNamespace(remote=lambda *args: function(*args))

    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(remote=remote, get=list))
    import smallfloat.ray as sfr

    source = checkpoint(tmp_path / "in", 2, 1 << 12)
    plan = sf.plan(source, tmp_path / "out", "e4m3fn")
    assert sfr.quantize_checkpoint(plan, retries=2)["totals"]["quantized"] == 2
    with pytest.raises(TypeError, match="not str: Plan.read"):
        sfr.quantize_checkpoint(plan.json)
    assert asked == [{"num_cpus": 1, "max_retries": 2, "retry_exceptions": True}]
