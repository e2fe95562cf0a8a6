"""Threads, processes, memory."""

import concurrent.futures
import multiprocessing
import os
import resource
import threading
import time

import numpy as np
import pytest
from common import random_bits

import smallfloat as sf

X = random_bits(500_000, np.float32)
HOW = {"rounding": "stochastic-a", "seed": 9}


def job(seed):
    return sf.encode(X, "e4m3fn", **HOW).tobytes(), sf.round(X[:seed], "e5m2").tobytes()


def test_threads_at_once_give_the_same_bytes():
    expected = [job(i) for i in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(job, range(8))) == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads(threads):
    for fmt in ("e4m3fn", "cfloat8_1_4_3:bias=3", "shp:bias=31"):
        assert np.array_equal(sf.encode(X, fmt), sf.encode(X, fmt, threads=threads))
        assert np.array_equal(sf.encode(X, fmt, **HOW), sf.encode(X, fmt, threads=threads, **HOW))
        a, b = sf.round(X, fmt, return_flags=True), sf.round(X, fmt, return_flags=True, threads=threads)
        assert np.array_equal(a[0].view(np.uint32), b[0].view(np.uint32)) and a[1] == b[1]


def test_the_interpreter_is_released():
    x = np.zeros(1 << 22, np.float32)
    out = np.empty(x.shape, np.uint8)
    done, ticks = threading.Event(), 0

    def work():
        for _ in range(4):
            sf.encode(x, "e4m3fn", rounding="stochastic-c", seed=1, out=out)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0)
    thread.join()
    assert ticks > 100


def in_child(queue):
    queue.put(job(3))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_works():
    expected = job(3)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(60)
    assert child.exitcode == 0


def test_nothing_leaks():
    small = np.ones(64, np.float32)
    codes = sf.encode(small, "e4m3fn")
    bias = sf.BiasController("cfloat8_1_4_3", "flags")

    def calls(count):
        for i in range(count):
            sf.encode(small, "e4m3fn", return_flags=True)
            sf.decode(codes, "e4m3fn")
            sf.round(small[::2], "e4m3fn")
            sf.encode(small, sf.formats.cfloat8_1_4_3(i % 64), **HOW)
            bias.step(small)
            with pytest.raises(ValueError):
                sf.encode(small, "e4m3fn", seed=1)

    calls(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(20_000)  # more than 10^5 calls
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 8 << 10, f"{grown} KiB more after 120,000 calls"
