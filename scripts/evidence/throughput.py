"""The measurements of scripts/evidence/throughput: makes the inputs, times copies and runs in turns, prints a Markdown table."""

import array
import datetime
import json
import os
import platform
import random
import struct
import subprocess
import sys
import time

COMMAND, FOLDER, ROUNDS, MIB = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
PIECE = 2 << 20
SIDE = 4096  # a tensor is SIDE x SIDE

# What is timed: a name, the input, the arguments, and what the ratio should be at least (None: no goal is set).
GIVEN, CHOSEN = ["--bias", "11", "--no-verify"], ["--no-verify"]
ROWS = [
    ("cfloat8_1_4_3, bias 11", "f32", GIVEN, 0.8),
    ("cfloat8_1_4_3, bias auto", "f32", CHOSEN, 0.5),
    ("cfloat8_1_4_3, bias auto, verified", "f32", [], None),
    ("cfloat8_1_4_3, bias 11", "bf16", GIVEN, 0.8),
    ("cfloat8_1_4_3, bias auto", "bf16", CHOSEN, 0.5),
    ("shp, bias auto", "f32", ["--format", "shp", *CHOSEN], 0.5),
    ("cfloat8_1_4_3, bias auto a channel", "f32", ["--granularity", "channel", *CHOSEN], None),
    ("cfloat8_1_4_3, bias auto a block of 32", "f32", ["--granularity", "block:32", *CHOSEN], None),
    *[
        (scheme, "f32", ["--scheme", scheme, *CHOSEN], None)
        for scheme in ["fp8", "deepseek", "mxfp8-e4m3", "mxfp6-e3m2", "mxfp4", "nvfp4"]
    ],
]


def write_inputs():
    """Normal numbers, a quarter of a million of them over and over at another scale in each tensor."""
    generator = random.Random(1)
    normals = [generator.gauss(0.0, 0.02) for _ in range(1 << 18)]
    count = max(1, (MIB << 20) // (4 * SIDE * SIDE))
    for name, dtype, size in [("f32", "F32", 4), ("bf16", "BF16", 2)]:
        header, begin = {}, 0
        for i in range(count):
            end = begin + size * SIDE * SIDE
            header[f"layers.{i}.weight"] = {"dtype": dtype, "shape": [SIDE, SIDE], "data_offsets": [begin, end]}
            begin = end
        text = json.dumps(header).encode()
        with open(path(name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for i in range(count):
                values = array.array("f", (x * (1 + i / 8) for x in normals))
                if sys.byteorder != "little":
                    values.byteswap()
                data = values.tobytes()
                if size == 2:
                    halves = array.array("H", data)
                    data = halves[1::2].tobytes()
                for _ in range(SIDE * SIDE * size // len(data)):
                    file.write(data)
            file.flush()
            os.fsync(file.fileno())


def path(name):
    return os.path.join(FOLDER, name + ".safetensors")


def copy(source, target, size):
    """Reads all of the source and writes so many bytes, in proportion."""
    reader = os.open(source, os.O_RDONLY)
    writer = os.open(target + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    total, buffer, done, written = os.fstat(reader).st_size, bytearray(PIECE), 0, 0
    view = memoryview(buffer)
    while count := os.readv(reader, [buffer]):
        done += count
        until = size * done // total
        while written < until:
            written += os.write(writer, view[: min(until - written, PIECE)])
    os.fsync(writer)
    os.close(writer)
    os.rename(target + ".tmp", target)


def timed(job):
    """Wall seconds, and seconds of processors."""
    start, before = time.perf_counter(), os.times()
    job()
    wall, after = time.perf_counter() - start, os.times()
    return wall, sum(after[:4]) - sum(before[:4])


def measure(source, arguments):
    output, copied = path("out"), path("copy")

    def run():
        subprocess.run([COMMAND, "quantize", path(source), "-o", output, *arguments], check=True, stdout=subprocess.DEVNULL)

    runs, copies = [], []
    for _ in range(ROUNDS):
        for old in (output, copied):
            if os.path.exists(old):
                os.remove(old)
        runs.append(timed(run))
        size = os.path.getsize(output)
        copies.append(timed(lambda: copy(path(source), copied, size)))
    return min(runs), min(copies), min(seconds for _, seconds in runs), min(seconds for _, seconds in copies)


def main():
    write_inputs()
    size = os.path.getsize(path("f32"))
    print(f"{datetime.date.today()}, {os.cpu_count()} processors of {processor()}, load {os.getloadavg()[0]:.1f} at the")
    print(f"beginning; F32 input of {size / 1e9:.2f} GB, BF16 of half; fastest of {ROUNDS}. CPU is the least time of all")
    print("processors together.\n")
    print("| what | input | quantize | copy | ratio | goal | CPU quantize | CPU copy |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, source, arguments, goal in ROWS:
        (run, _), (copied, _), cpu, cpu_copy = measure(source, arguments)
        goal = "" if goal is None else f"{goal}"
        print(
            f"| {name} | {source} | {run:.2f} s | {copied:.2f} s | {copied / run:.2f} | {goal} | {cpu:.2f} s | {cpu_copy:.2f} s |",
            flush=True,
        )
    print(f"\nLoad at the end {os.getloadavg()[0]:.1f}.")


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.machine()


main()
