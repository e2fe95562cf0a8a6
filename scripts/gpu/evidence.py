"""The section `gpu` of docs/evidence/correctness.md, from what the parts of `scripts/gpu-test`
printed.

    python evidence.py COMPILED TENSORS INTERPRETED MEASURED
"""

import datetime
import platform
import re
import sys
from pathlib import Path

import torch
import triton


def passed(text):
    found = re.search(r"(\d+) passed", text)
    assert found and not re.search(r"\d+ (failed|error)", text), "evidence is of tests that pass"
    return found[1]


def main():
    compiled, tensors, interpreted, measured = (Path(name) for name in sys.argv[1:])
    device = passed(measured.read_text()) if measured.exists() else None
    print(f"""`scripts/gpu-test`, {datetime.date.today()}: {passed(interpreted.read_text())} tests of kernels in Triton's interpreter and
{passed(tensors.read_text())} of the devices' path in tensor operations passed. Python {platform.python_version()}, torch {torch.__version__}, triton {triton.__version__}.

| what | held against |
| --- | --- |
| encode, all 2^16 bfloat16 numbers, 51 formats, six modes, in Triton's interpreter | SHA-256 of the core's codes, of those in Rust by the same constants (`KernelConstants`), and of `smallfloat vectors gen` for 40 formats and two modes |
| binary32 at every third boundary of a format, all binary16 numbers, all presets and saturation modes | the core's codes |
| stochastic-a with 1, 7 and 32 bits, from element 2^35 + 1 too; seed and stream in memory | SHA-256 of the core's codes |
| decode and round into three types, every code | the core's values, bit for bit |
| events and all six flags, 11 formats, three types | `EventCounts` of the core |
| blocks: codes, packed codes, scales, values; eight configurations, ragged rows | the compiled part's, byte for byte |
| exact squared errors | exact fractions in Python |
| bias by least error, percentile, largest magnitude; controllers, step by step with NaN and steps of zeros | `choose_bias`, `BiasController` |
| eight steps of `SmallOptimizer` and `Linear`; `quantize_` | the CPU's weights, codes and state, bit for bit |
| 26 tasks on tensors of a fake CUDA device | no operation that waits for a device or leaves it, no opaque operator |
| the same with `torch.compile(fullgraph=True)` | uncompiled, bit for bit |
| the algorithm in Rust: more than 500 formats, six modes, random words, shifts | the core (`tests/all/portable_constants.rs`) |

Compiled ahead of time, without a device; cases for each target:

{compiled.read_text().strip()}
""")
    if device is None:
        print("On a device: not measured.")
        return
    print(f"On {torch.cuda.get_device_name()}: {device} of the same tests passed.\n")
    print(measured.read_text().split("seconds", 1)[-1].split("\n", 1)[-1].strip())


if __name__ == "__main__":
    main()
