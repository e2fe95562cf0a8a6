"""What `smallfloat.torch` does on other devices than the CPU, without one: the same bits by tensor
operations as by the compiled part, no operation that waits for the device, and whole graphs. Run by
`scripts/evidence/python-torch` and `scripts/gpu-test`."""

import itertools
import types

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import smallfloat as sf
import smallfloat.torch as sft
from smallfloat import _config
from smallfloat.torch import _device, _learning, _quantizers, _scaled
from smallfloat.torch._memory import array_of, tensor_of

pytestmark = pytest.mark.filterwarnings("default")
FREE = ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp", "cfloat8_1_4_3:subnormals=gradual", "shp:subnormals=gradual"]
CONFIGS = [
    ("mxfp4", {}), ("mxfp8-e4m3", {}), ("mxfp6-e2m3", {}), ("nvfp4", {}), ("mxfp4", {"rounding": "toward-zero"}),
    ("e4m3fn", {"granularity": "block:16", "scale_format": "e4m3fn", "scale_rule": "amax"}),
    ("e2m1fn", {"granularity": "block:32", "scale_format": "e8m0fnu", "scale_rule": "even"}),
    ("e4m3fn", {"granularity": "channel", "scale_format": "binary32", "scale_rule": "amax"}), ("deepseek", {}), ("e5m2", {}),
    ("cfloat8_1_4_3", {}), ("shp", {"bias": "percentile:99"}), ("cfloat8_1_4_3", {"bias": 9, "granularity": "channel"}),
    ("cfloat8_1_4_3", {"bias": "amax", "granularity": "channel"}),
    ("cfloat8_1_5_2", {"bias": "amax:margin=1", "granularity": "block:32"}),
]  # fmt: skip


@pytest.fixture
def forced(monkeypatch):
    """Tensors on the CPU are treated as those of other devices."""
    monkeypatch.setattr(_device, "FORCED", True)


def same(a, b):
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.view(integers), b.view(integers))


def data(shape, spread, dtype=torch.float32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * torch.exp2(torch.randn(shape, generator=generator) * spread)).to(dtype)


@pytest.mark.parametrize("fmt", FREE)
def test_biases_are_those_of_the_core(forced, fmt):
    for spread, scale, policy in itertools.product(
        (0, 2, 9), (1.0, 2.0**7, 2.0**-58), ("auto", "percentile:99", "percentile:0.1", "amax", "amax:margin=2")
    ):
        x = data(1500, spread, torch.bfloat16 if spread == 0 else torch.float32) * scale
        assert int(_learning.tensor_bias(x, fmt, policy)) == sf.choose_bias(x, fmt, policy).bias, (spread, scale, policy)


def test_biases_of_few_elements(forced):
    for numbers in ([0.0], [float("nan"), 1.5, float("inf")], [1.0] * 9, [1.75, 1.75, 0.0, 0.0], [2.0**-60, 2.0**60]):
        x = torch.tensor(numbers)
        for policy in ("auto", "percentile:99", "percentile:20", "amax"):
            expected = sf.choose_bias(x, "cfloat8_1_4_3", policy).bias
            assert int(_learning.tensor_bias(x, "cfloat8_1_4_3", policy)) == expected, (numbers, policy)


POLICIES = ["delayed:history=3,margin=1", "delayed:history=2", "flags:patience=2", "amax:margin=1", "auto", "percentile:99", "9"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("fmt", FREE[:3])
def test_controllers_learn_what_the_core_learns(monkeypatch, fmt, policy):
    # Magnitudes go up and down, and there are steps without any.
    tensors = [data(200, 1, seed=i) * 2.0**k for i, k in enumerate((0, 9, 0, -5, -5, -6, -30, 3))]
    tensors += [torch.zeros(4), torch.tensor([float("inf"), 1.0]), torch.tensor([float("nan")] * 2), data(50, 2)]
    here, there = sft.Quantizer(fmt, policy), sft.Quantizer(fmt, policy)
    for step, x in enumerate(tensors):
        for module in (here, there):
            module.train(step % 5 != 3)
        expected = here(x)
        monkeypatch.setattr(_device, "FORCED", True)
        found = there(x)
        monkeypatch.setattr(_device, "FORCED", False)
        assert same(found, expected) and torch.equal(there.state, here.state), (step, there.state, here.state)


@pytest.mark.parametrize(("fmt", "how"), CONFIGS, ids=lambda part: str(part))
def test_quantized_where_it_is(forced, fmt, how):
    config = sft.Config(fmt, **how)
    for shape, dtype in itertools.product(((8, 64), (5, 50), (3, 7)), (torch.float32, torch.bfloat16)):
        x = data(shape, 4, dtype)
        x[0] = 0
        plan, expected = _scaled.plan_for(config, x), config.quantize(array_of(x), "w")
        found = _scaled.parts_of(plan, config.entry(shape), x, "w")
        parts = {suffix: tensor_of(part.copy()) for suffix, part in expected._parts.items()}
        assert parts.keys() == found.keys()
        assert all(same(found[suffix], parts[suffix]) for suffix in parts), (shape, dtype)
        values = tensor_of(expected.dequantize(array_of(x).dtype))
        assert same(_scaled.simulate(plan, x, stream="w"), values.reshape(shape))
        layout = _config.Layout.of(config.entry(shape), shape)
        stored = found[""], found.get("_bias", found.get("_scale")), found.get("_global_scale")
        assert same(_scaled.dequantize(layout, *stored, dtype), values.reshape(shape))


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))


def test_models_and_optimizers(monkeypatch):
    """Eight steps with codes as weights and state, and the model stored as codes: bit for bit what
    the CPU has."""

    def run():
        model = sft.convert(net(), policy=("delayed", "amax", "flags"))
        options = {"weight_format": "cfloat8_1_4_3", "policy": "auto", "seed": 5}
        optimizer = sft.SmallOptimizer(torch.optim.Adam(model.parameters(), lr=1e-2), **options)
        for i in range(8):
            x = data((16, 32), 1, seed=i)
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        state = optimizer.state_dict()
        stored = net()
        sft.quantize_(stored, "nvfp4")
        return [p.detach() for p in model.parameters()], [codes for *_, codes in state["codes"]], stored.state_dict(), state

    expected = run()
    monkeypatch.setattr(_device, "FORCED", True)
    found = run()
    assert all(same(a, b) for a, b in zip(found[0], expected[0], strict=True))
    for a, b in zip(found[1], expected[1], strict=True):
        assert a["format"] == b["format"] and torch.equal(a["codes"].view(b["codes"].dtype), b["codes"])
    assert all(same(found[2][name], part) for name, part in expected[2].items())
    # A state of the CPU goes on elsewhere.
    optimizer = sft.SmallOptimizer(torch.optim.Adam(net().parameters(), lr=1e-2), weight_format="cfloat8_1_4_3", seed=0)
    optimizer.load_state_dict(expected[3])
    for held in optimizer._codes.values():
        assert torch.isfinite(held.tensor()).all()


def test_errors_wait_for_a_look(forced):
    model = net()
    with torch.no_grad():
        model[2].weight[3, 4] = float("nan")
    with pytest.raises(ValueError, match=r"2\.weight: it has NaN"):
        sft.quantize_(model, "mxfp4")
    assert type(model[0]) is nn.Linear and model[0].weight.dtype == torch.float32
    optimizer = sft.SmallOptimizer(torch.optim.SGD([nn.Parameter(torch.ones(4))], lr=1.0), weight_format="cfloat8_1_4_3", seed=1)
    optimizer.check()
    optimizer.param_groups[0]["params"][0].grad = torch.full((4,), float("inf"))
    optimizer.step()
    with pytest.raises(ValueError, match="weight of parameter 0"):
        optimizer.check()


#: What makes the host wait for a device, or gives a shape that depends on data.
WAITS = ("_local_scalar_dense", "nonzero", "equal", "is_nonzero", "item", "masked_select", "unique", "bincount", "_unique2")


class NeverWaits(TorchDispatchMode):
    """Refuses what waits for a device, copies between devices, and operators of ours that would
    leave it."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func).split(".")[1] if "." in str(func) else str(func)
        assert name not in WAITS, f"{func} waits for the device"
        # The forward pass of `quantize_gradient` is a copy.
        assert func.namespace != "smallfloat" or name.startswith("device_") or name == "quantize_gradient", f"{func} is opaque"
        out = func(*args, **kwargs)
        tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        results = [x for x in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(x, torch.Tensor)]
        if tensors and any(x.device.type == "cuda" for x in tensors) and func.namespace == "aten":
            assert all(x.device.type == "cuda" for x in results), f"{func} leaves the device"
        return out


def tasks():
    """What one does with tensors of a device."""
    yield "round", lambda x: sft.round(x, "e4m3fn")
    yield "stochastic", lambda x: sft.fake_quantize(x, "e5m2", rounding="stochastic-a", seed=1, stream="x")
    yield "encode and decode", lambda x: sft.decode(sft.encode(x, "binary8p3se"), "binary8p3se")
    for fmt, how in CONFIGS:
        yield f"{fmt} {how}", lambda x, config=sft.Config(fmt, **how): sft.fake_quantize(x, config)
    for policy in POLICIES:
        yield policy, sft.Quantizer("cfloat8_1_4_3", policy, device="cuda")
    yield "e4m3fn", sft.ScaleQuantizer("e4m3fn", device="cuda")


def test_nothing_waits_for_a_device():
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.empty(64, 96, device="cuda", dtype=torch.bfloat16)
        assert x.device.type == "cuda"
        for name, task in tasks():
            with NeverWaits():
                y = task(x)
            assert y.shape == x.shape and y.device.type == "cuda", name
        layer = sft.Linear(96, 32, device="cuda", dtype=torch.bfloat16, policy=("delayed", "auto", "flags"))
        optimizer = sft.SmallOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9), weight_format="shp", seed=1)
        grad = torch.empty(64, 32, device="cuda", dtype=torch.bfloat16)
        # Without a device autograd has no thread for it, so the backward pass of gradients is
        # called by hand.
        ctx = types.SimpleNamespace(state=layer.gradients.state, fmt="cfloat8_1_5_2", policy="flags:patience=16", learn=True)
        ctx.nonfinite = "keep"
        with NeverWaits():
            layer(x)
            assert _quantizers._on_the_way_back(ctx, grad)[0].shape == grad.shape
            for p in layer.parameters():
                p.grad = torch.empty_like(p)
            optimizer.step()


@pytest.mark.parametrize("name", ["stochastic", "nvfp4 {}", "cfloat8_1_4_3 {}", *POLICIES])
def test_whole_graphs(forced, name):
    """`torch.compile` sees all of it, with the same bits."""
    torch._dynamo.reset()
    compiled, plain = (dict((key, task) for key, task in on_the_cpu())[name] for _ in range(2))
    run = torch.compile(compiled, fullgraph=True, backend="aot_eager")
    for i in range(3):
        x = data((4, 64), 2, seed=i)
        assert same(run(x), plain(x))
    if isinstance(plain, nn.Module):
        assert torch.equal(compiled.state, plain.state)


def on_the_cpu():
    yield "stochastic", lambda x: sft.fake_quantize(x, "e5m2", rounding="stochastic-a", seed=1, stream="x")
    for fmt in ("nvfp4", "cfloat8_1_4_3"):
        yield f"{fmt} {{}}", lambda x, config=sft.Config(fmt): sft.fake_quantize(x, config)
    for policy in POLICIES:
        yield policy, sft.Quantizer("cfloat8_1_4_3", policy)
