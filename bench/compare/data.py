"""What `src/lib.rs` is for Rust: inputs, and how results are printed."""

import numpy as np


def data():
    number = np.arange(4096, dtype=np.uint64) * np.uint64(2_654_435_761) % np.uint64(1 << 32)
    magnitude = 0.5 + (number >> np.uint64(12)).astype(np.float32) / np.float32(262_144)
    return np.where(number & np.uint64(0x800), -magnitude, magnitude).astype(np.float32)


def wide_data():
    return np.ldexp(data(), np.arange(4096) % 25 - 12).astype(np.float32)


def show(name, numbers):
    print(name)
    for number in np.ravel(numbers):
        print(f"{int(number):x}")
