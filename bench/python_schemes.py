"""Quantizing and dequantizing arrays in Python beside encoding and decoding as many elements, one
thread.

Prints a table in Markdown. Seconds are the processor's, so that what else the machine does counts
for little; every round measures all sides, and a ratio is the median of the rounds' ratios.
"""

import statistics
import time

import numpy as np

import smallfloat as sf

ROUNDS = 15
SCHEMES = {"mxfp8-e4m3": "e4m3fn", "mxfp8-e5m2": "e5m2", "mxfp6-e2m3": "e2m3fn", "mxfp4": "e2m1fn", "nvfp4": "e2m1fn"}


def seconds(call, repeats):
    start = time.process_time()
    for _ in range(repeats):
        call()
    return time.process_time() - start


def ratios(scheme, name, elements):
    """Speeds of `quantize` as a share of `encode`'s, and of `dequantize` as shares of `encode`'s
    and `decode`'s."""
    x = ((np.random.default_rng(1).random(elements, np.float32) - 0.5) * 8).reshape(-1, 4096)
    fmt = getattr(sf.formats, name)
    codes = sf.encode(x, fmt)
    tensor = sf.quantize(x, scheme, threads=1)
    calls = [
        lambda: sf.encode(x, fmt, threads=1),
        lambda: sf.decode(codes, fmt, threads=1),
        lambda: sf.quantize(x, scheme, threads=1),
        lambda: tensor.dequantize(threads=1),
    ]
    rounds = []
    for _ in range(ROUNDS):
        encode, decode, quantize, dequantize = (seconds(call, max(1, (1 << 22) // elements)) for call in calls)
        rounds.append((encode / quantize, encode / dequantize, decode / dequantize))
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    print("| scheme | elements | quantize / encode | dequantize / encode | dequantize / decode |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for scheme, name in SCHEMES.items():
        for elements in (1 << 18, 1 << 22):
            cells = " | ".join(f"{ratio:.2f}" for ratio in ratios(scheme, name, elements))
            print(f"| `{scheme}` | {elements:,} | {cells} |")


if __name__ == "__main__":
    main()
