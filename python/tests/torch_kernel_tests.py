"""`smallfloat.torch.round`, `encode` and `decode` as tensor operations, which other devices have,
and by the compiled part on the CPU. Run by `scripts/evidence/python-torch`."""

import functools

import numpy as np
import pytest
import torch
from kernels import BF16, FORMATS, MODES, boundaries

import smallfloat as sf
import smallfloat.torch as sft
from smallfloat.torch import _device

pytestmark = pytest.mark.filterwarnings("default")
EVERY = torch.from_numpy(BF16.copy()).to(torch.bfloat16)


def same(a, b):
    """Equal bit for bit."""
    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return a.dtype == b.dtype and torch.equal(a.view(integers), b.view(integers))


def as_stored(codes):
    return codes.view(torch.int16) if codes.dtype == torch.uint16 else codes


@pytest.fixture(autouse=True)
def tensor_operations(monkeypatch):
    """On the CPU, too."""
    monkeypatch.setattr(_device, "FORCED", True)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 5)], ids=str)
def test_the_compiled_part_gives_the_same(fmt, shape, monkeypatch):
    how = {"rounding": "stochastic-a", "seed": 5, "stream": "a", "random_bits": 9, "first_element": 7}
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = (torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3).to(dtype).requires_grad_()

        def results():
            codes = sft.encode(x, fmt, saturation="satfinite")
            yield codes
            yield sft.encode(x, fmt, **how)
            yield sft.encode(x.mT if x.ndim > 1 else x, fmt, rounding="toward-zero")
            if fmt.fits_in({torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32"}.get(dtype, "binary64")):
                integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
                yield sft.round(x, fmt).view(integers)
                for stored in (codes, codes.to(torch.int64)):
                    yield sft.decode(stored, fmt, dtype=dtype).view(integers)

        by_operations = [result.detach() for result in results()]
        monkeypatch.setattr(_device, "FORCED", False)
        for one, other in zip(results(), by_operations, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape) and torch.equal(one, other)
            assert not one.requires_grad
        monkeypatch.setattr(_device, "FORCED", True)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_every_bfloat16_and_every_boundary(fmt):
    x = torch.from_numpy(boundaries(fmt))
    for mode in MODES:
        for numbers in (EVERY, x, x.double()) if mode == "nearest-even" else (EVERY, x):
            assert torch.equal(sft.encode(numbers, fmt, rounding=mode), as_stored(sf.encode(numbers, fmt, rounding=mode)))
        if fmt.fits_in("bfloat16"):
            assert same(sft.round(EVERY, fmt, rounding=mode), sf.round(EVERY, fmt, rounding=mode))
        if fmt.fits_in("binary32"):
            assert same(sft.round(x, fmt, rounding=mode), sf.round(x, fmt, rounding=mode))
    for how in [{"saturation": s} for s in sf.saturations] + [{"preset": p} for p in sf.presets]:
        assert torch.equal(sft.encode(x, fmt, **how), as_stored(sf.encode(x, fmt, **how)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_other_floats(dtype):
    every = torch.arange(1 << 16).to(torch.int16).view(torch.float16).to(dtype)
    for fmt in FORMATS:
        assert torch.equal(sft.encode(every, fmt), as_stored(sf.encode(every, fmt)))
        if fmt.fits_in({torch.float16: "binary16", torch.float64: "binary64"}[dtype]):
            assert same(sft.round(every, fmt), sf.round(every, fmt))


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_stochastic_rounding(fmt):
    x = torch.from_numpy(boundaries(fmt)[:20000])
    for n, first in ((32, 0), (7, 3), (1, 2**35 + 1)):
        how = {"rounding": "stochastic-a", "seed": 2**64 - 3, "stream": "layer.weight", "random_bits": n, "first_element": first}
        for numbers in (x, EVERY, x.double()):
            assert torch.equal(sft.encode(numbers, fmt, **how), as_stored(sf.encode(numbers, fmt, **how)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_every_code(dtype):
    name = {torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32", torch.float64: "binary64"}[dtype]
    for fmt in FORMATS:
        codes = torch.from_numpy(np.arange(fmt.max_code + 1, dtype=fmt.dtype))
        if fmt.fits_in(name):
            assert same(sft.decode(codes, fmt, dtype=dtype), sf.decode(codes, fmt, dtype=dtype))
        else:
            with pytest.raises(ValueError, match="does not have"):
                sft.decode(codes, fmt, dtype=dtype)


COMPILED = ["e4m3fn", "cfloat8_1_4_3:bias=7", "e2m1fn", "shp:bias=15", "binary8p3se", "uhp"]


@pytest.mark.parametrize("fmt", COMPILED)
def test_compiled_and_exported(fmt):
    x = torch.from_numpy(boundaries(sf.Format(fmt))[:30000])
    torch._dynamo.reset()
    # The C++ compiler takes its time.
    backend = "inductor" if fmt.startswith("cfloat8") else "aot_eager"
    compile = functools.partial(torch.compile, fullgraph=True, backend=backend)
    compiled = compile(lambda x: sft.round(x, fmt, rounding="toward-zero"))
    assert same(compiled(x), sf.round(x, fmt, rounding="toward-zero"))
    how = {"rounding": "stochastic-a", "seed": 5, "stream": "x"}
    compiled = compile(lambda x: sft.fake_quantize(x, fmt, nonfinite="preset", **how))
    assert same(compiled(x), sf.round(x, fmt, **how))

    class Rounds(torch.nn.Module):
        def forward(self, x):
            return sft.fake_quantize(x, fmt)

    program = torch.export.export(Rounds(), (x,))
    # No operator of ours: the program runs without this package.
    assert not [node for node in program.graph.nodes if "smallfloat" in str(node.target)]
    assert same(program.module()(x), sft.fake_quantize(x, fmt))


def test_transforms():
    x = torch.randn(6, 7, generator=torch.Generator().manual_seed(1))
    each = torch.func.vmap(lambda row: sft.fake_quantize(row, "e4m3fn"))(x)
    assert same(each, sf.round(x, "e4m3fn"))
    columns = torch.func.vmap(lambda c: sft.fake_quantize(c, "e2m1fn"), in_dims=1, out_dims=1)(x)
    assert same(columns, sf.round(x, "e2m1fn"))

    def loss(w, row):
        return (sft.fake_quantize(w, "e5m2") * row).sum()

    assert same(torch.func.grad(loss)(x[0], x[1]), x[1])
    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(x[0], x)
    assert same(per_sample, x)
    value, tangent = torch.func.jvp(lambda w: sft.fake_quantize(w, "e5m2"), (x,), (x + 1,))
    assert same(value, sf.round(x, "e5m2")) and same(tangent, x + 1)
    # Blocks belong to each example.
    mx = torch.func.vmap(lambda row: sft.fake_quantize(row, "mxfp4", granularity="block:3"))(x)
    assert same(mx, torch.stack([sft.fake_quantize(row, "mxfp4", granularity="block:3") for row in x]))


def test_what_is_refused():
    with pytest.raises(TypeError, match="int64"):
        sft.round(torch.arange(3), "e5m2")
    with pytest.raises(ValueError, match="needs a seed"):
        sft.round(torch.ones(3), "e5m2", rounding="stochastic-a")
    with pytest.raises(ValueError, match="leave it out"):
        sft.round(torch.ones(3), "e5m2", seed=1)
    with pytest.raises(ValueError, match="does not have"):
        sft.round(torch.ones(3, dtype=torch.float16), "bfloat16")
    assert sft.round(torch.ones(3, device="meta"), "e5m2").shape == (3,)
