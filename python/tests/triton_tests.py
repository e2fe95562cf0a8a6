"""Kernels in Triton, in its interpreter on the CPU, bit for bit against the core, the twin in Rust
and the vectors of the command.

Run by `scripts/gpu-test` with TRITON_INTERPRET=1. Where there is a device, the same tests run on it
with SMALLFLOAT_TEST_DEVICE=cuda and without the interpreter.
"""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from kernels import BF16, FORMATS, MODES, boundaries

import smallfloat as sf
import smallfloat.torch as sft
from smallfloat import _config, _core
from smallfloat.kernel import kernel
from smallfloat.torch import _device, _learning, _least_error, _scaled
from smallfloat.torch._memory import array_of, tensor_of
from torch_device_tests import CONFIGS, FREE, data, same

pytestmark = pytest.mark.filterwarnings("default")
DEVICE = os.environ.get("SMALLFLOAT_TEST_DEVICE", "cpu")
EVERY = torch.arange(1 << 16).to(torch.int16).view(torch.bfloat16)
HALVES = torch.arange(1 << 16).to(torch.int16).view(torch.float16)


@pytest.fixture(autouse=True)
def kernels_run():
    """A test of kernels must not pass by tensor operations."""
    assert _device.has_float_kernels(EVERY.to(DEVICE)), "kernels do not run here: set TRITON_INTERPRET=1, or take a device"


def as_stored(codes):
    return codes.view(torch.int16) if codes.dtype == torch.uint16 else codes


def digest(codes):
    codes = codes.cpu().numpy() if isinstance(codes, torch.Tensor) else codes
    return hashlib.sha256(np.ascontiguousarray(codes).astype("<u2", copy=False).tobytes()).hexdigest()


def encoded(x, fmt, **how):
    return sft.encode(x.to(DEVICE), fmt, **how).cpu()


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_bfloat16_in_every_mode(fmt):
    bits = BF16.view(np.uint32)
    for mode in MODES:
        found = digest(encoded(EVERY, fmt, rounding=mode).to(torch.int32) & 0xFFFF)
        assert found == digest(sf.encode(BF16, fmt, rounding=mode)), mode
        assert found == digest(_core.KernelConstants(fmt, rounding=mode).encode(bits)), mode


@pytest.mark.parametrize("fmt", FORMATS[:40], ids=str)
def test_the_vectors_of_the_command(fmt):
    command = [sys.executable, "-m", "smallfloat", "vectors", "gen", "--op", "convert", "--from", "bfloat16", "--to", str(fmt)]
    for mode in MODES[:: len(MODES) - 1]:
        text = subprocess.run([*command, "--rounding", mode], capture_output=True, check=True, text=True).stdout
        lines = [line.split() for line in text.splitlines() if line[0] != "#"]
        operands = torch.tensor([int(line[0], 16) for line in lines], dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
        # Between formats with IEEE 754's special values vectors keep the payload of a NaN, which
        # slices do not.
        results = np.array([int(line[1], 16) for line in lines])
        assert len(lines) == 1 << 16
        codes = (encoded(operands, fmt, rounding=mode).to(torch.int32) & 0xFFFF).numpy()
        numbers = ~operands.isnan().numpy()
        assert digest(codes[numbers]) == digest(results[numbers]), mode


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_other_floats_and_policies(fmt):
    x = torch.from_numpy(boundaries(fmt))[::3]
    assert torch.equal(encoded(x, fmt), as_stored(sf.encode(x, fmt)))
    assert torch.equal(encoded(HALVES, fmt), as_stored(sf.encode(HALVES, fmt)))
    for how in [{"saturation": s, "rounding": "to-odd"} for s in sf.saturations] + [{"preset": p} for p in sf.presets]:
        assert torch.equal(encoded(x, fmt, **how), as_stored(sf.encode(x, fmt, **how))), how


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_values(fmt):
    codes = torch.from_numpy(np.arange(fmt.max_code + 1, dtype=fmt.dtype))
    numbers = {torch.float16: HALVES, torch.bfloat16: EVERY, torch.float32: torch.from_numpy(boundaries(fmt))[::3]}
    for dtype, name in ((torch.float16, "binary16"), (torch.bfloat16, "bfloat16"), (torch.float32, "binary32")):
        if fmt.fits_in(name):
            assert same(sft.decode(codes.to(DEVICE), fmt, dtype=dtype).cpu(), sf.decode(codes, fmt, dtype=dtype)), dtype
            assert same(sft.round(numbers[dtype].to(DEVICE), fmt).cpu(), sf.round(numbers[dtype], fmt)), dtype


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_stochastic_rounding_has_the_words_of_the_core(fmt):
    x = torch.from_numpy(boundaries(fmt)[:10000])
    for n, first in ((32, 0), (7, 3), (1, 2**35 + 1)):
        how = {"rounding": "stochastic-a", "seed": 2**64 - 3, "stream": "layer.weight", "random_bits": n, "first_element": first}
        for numbers in (x, EVERY):
            found, expected = encoded(numbers, fmt, **how), as_stored(sf.encode(numbers, fmt, **how))
            assert digest(found.to(torch.int32) & 0xFFFF) == digest(expected.to(torch.int32) & 0xFFFF), how


def test_words_from_memory():
    """A seed, a stream and a first element that a graph may be given anew."""
    k, x = kernel("e5m2", rounding="stochastic-a"), EVERY.to(DEVICE)
    for seed, stream, first in ((5, 7, 0), (2**63 - 1, 2**40, 2**33 + 3)):
        held = torch.tensor([seed, stream, first], device=DEVICE)
        found = _device.convert("encode", k, x, torch.uint8, words=held).cpu()
        how = {"rounding": "stochastic-a", "seed": seed, "stream": stream, "first_element": first}
        assert torch.equal(found, sf.encode(EVERY, "e5m2", **how))


@pytest.mark.parametrize("fmt", "cfloat8_1_4_3:bias=7 cfloat8_1_5_2:bias=15 shp:bias=15 uhp e4m3fn e5m2 e4m3fnuz binary8p3se binary8p4ue e2m1fn bfloat16".split())
def test_events_and_flags(fmt):
    for dtype in (torch.bfloat16, torch.float32, torch.float16):
        x = torch.cat([data(3000, 6, dtype), torch.tensor([0.0, -0.0, 1e-40, 6e-8, 65504.0, *map(float, ("inf", "-inf", "nan"))], dtype=dtype)])
        for saturation in (None, "satfinite"):
            k = kernel(fmt, rounding="nearest-even", saturation=saturation)
            key = _device.key_of(k)
            codes, counts = torch.ops.smallfloat.device_counts(key, x.to(DEVICE), None, [], None)
            how = {"rounding": "nearest-even", "saturation": saturation, "return_flags": True, "flags": "tesla"}
            expected, events = sf.encode(x, fmt, **how)
            counts = counts.tolist()
            assert torch.equal(codes.cpu(), as_stored(expected))
            names = ("overflowed", "underflowed", "zeros", "nans", "infinities", "nan_results")
            assert counts[:6] == [getattr(events, name) for name in names]
            assert sum(1 << i for i in range(6) if counts[8 + i]) == events.flags.value


def test_magnitudes_and_errors():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        x = torch.cat([data(700, 4, dtype), torch.tensor([float("inf"), float("nan"), 0.0], dtype=dtype)])
        assert float(_learning.finite_amax(x.to(DEVICE))) == _core.amax(x)
    for trailing, hole, count in ((3, True, 200), (3, False, 100), (10, True, 20)):
        x = data(count, 1)
        found = _least_error.error_table(x.to(DEVICE), trailing, hole).cpu()
        # In integers of Python.
        expected = [[[0, 0] for _ in range(found.shape[1])] for _ in range(256)]
        for number in x.tolist():
            for field, column, parts in python_errors(number, trailing, hole):
                expected[field][column] = [a + b for a, b in zip(expected[field][column], parts, strict=True)]
        assert found.tolist() == expected
    for fmt in FREE[:2]:
        x = data(500, 1, torch.bfloat16)
        assert int(_learning.tensor_bias(x.to(DEVICE), fmt, "auto")) == sf.choose_bias(x, fmt, "auto").bias


def python_errors(number, trailing, hole):
    """What one element adds to the table: rounded by exact fractions, in units of its last
    place."""
    from fractions import Fraction

    bits = int(np.float32(abs(number)).view(np.uint32))
    field, significand = bits >> 23, bits & 0x7FFFFF | (0 if bits >> 23 == 0 else 1 << 23)
    if bits == 0 or field == 255:
        return
    yield field, 0, (1, 0)
    yield field, 1, (significand, 0)

    def loss(grid):
        """The distance to the nearest of ascending values, of ties to the one of even index."""
        index = min(range(len(grid)), key=lambda i: (abs(grid[i] - significand), i % 2))
        square = (grid[index] - significand) ** 2
        assert square.denominator == 1
        return int(square) & 0xFFFFFF, int(square) >> 24

    step, count = Fraction(1 << 23, 1 << trailing), 1 << trailing
    binade = [(count + i) * step for i in range(count + 1)]
    yield field, 2, (significand**2 & 0xFFFFFF, significand**2 >> 24)
    yield field, 3, loss(binade)
    yield field, 4, loss(binade[:-1])
    for d in range(1, trailing + 3):
        # The lowest binade begins 2**d above the number's own.
        place = step * 2**d
        below = [i * place / (2 if hole else 1) for i in range(count)]
        yield field, 4 + d, loss(below + [(count + i) * place for i in range(2)])


@pytest.mark.parametrize(("fmt", "how"), CONFIGS[:7] + CONFIGS[-1:], ids=lambda part: str(part))
def test_blocks(fmt, how):
    config = sft.Config(fmt, **how)
    for shape, dtype in (((8, 64), torch.float32), ((5, 50), torch.bfloat16), ((3, 7), torch.float16)):
        x = data(shape, 3 if dtype == torch.float16 else 4, dtype)
        x[0] = 0
        plan, expected = _scaled.plan_for(config, x.to(DEVICE)), config.quantize(array_of(x), "w")
        found = _scaled.parts_of(plan, config.entry(shape), x.to(DEVICE), "w")
        for suffix, part in expected._parts.items():
            assert same(found[suffix].cpu(), tensor_of(part.copy())), (suffix, shape)
        values = tensor_of(expected.dequantize(array_of(x).dtype))
        layout = _config.Layout.of(config.entry(shape), shape)
        stored = found[""], found.get("_bias", found.get("_scale")), found.get("_global_scale")
        assert same(_scaled.dequantize(layout, *stored, dtype).cpu(), values.reshape(shape))
        assert same(_scaled.simulate(plan, x.to(DEVICE), stream="w").cpu(), values.reshape(shape))


def test_training_step_is_that_of_the_core():
    """Fake quantization forward and its gradient, NaN and infinities kept."""
    x = torch.tensor([1.0, 1.1, 500.0, float("inf"), float("nan")], device=DEVICE, requires_grad=True)
    y = sft.fake_quantize(x, "e4m3fn", saturation="satfinite")
    assert y[:4].tolist() == [1.0, 1.125, 448.0, float("inf")] and y[4].isnan()
    y[:4].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
