"""PyTorch. Run by `scripts/evidence/python-torch`, since torch takes gigabytes."""

import contextlib
import copy
import doctest
import functools
import importlib
import io
import os
import pathlib
import pickle
import socket

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import smallfloat as sf
import smallfloat.torch as sft

# Libraries of others warn.
pytestmark = pytest.mark.filterwarnings("default")
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


HERE = pathlib.Path(__file__).parent


def test_the_guide():
    docs = next(folder for folder in (HERE.parent / "docs", HERE.parents[1] / "docs") if folder.is_dir())
    failed, tried = doctest.testfile(str(docs / "how-to-pytorch.md"), module_relative=False)
    assert failed == 0 and tried > 20


def test_examples():
    tried = 0
    for name in ("", "._fake", "._layers", "._optimizer", "._quantize", "._quantizers", "._round", "._scaled"):
        failed, count = doctest.testmod(importlib.import_module(f"smallfloat.torch{name}"))
        assert failed == 0
        tried += count
    assert tried > 30


@pytest.mark.parametrize("dtype", FLOATS)
def test_tensors_in_tensors_out(dtype):
    x = torch.randn(7, 33, generator=torch.Generator().manual_seed(1)).to(dtype).T
    codes = sf.encode(x, "e5m2")
    assert codes.dtype == torch.uint8 and codes.shape == x.shape
    plain = sf.encode(x.double().numpy(), "e5m2")
    assert np.array_equal(codes.numpy(), plain)
    rounded = sf.round(x, "e5m2")
    assert rounded.dtype == dtype and torch.equal(rounded, sf.decode(codes, "e5m2", dtype=dtype))
    out = torch.empty(x.shape, dtype=dtype)
    assert sf.round(x, "e5m2", out=out) is out and torch.equal(out, rounded)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_the_float8_types_of_torch(name):
    dtype = getattr(torch, name)
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16)
    # Since 2.15 torch saturates finite overflow into e4m3fn; its other types overflow as ml_dtypes'
    # do.
    saturation = "satfinite" if name == "float8_e4m3fn" else None
    ours = sf.encode(every, dtype, preset="ml-dtypes", saturation=saturation)
    theirs = every.to(dtype).view(torch.uint8)
    finite = torch.isfinite(every)
    # torch gives all NaNs one code; numbers and infinities agree code for code.
    assert torch.equal(ours[finite], theirs[finite])
    codes = torch.arange(256).to(torch.uint8).view(dtype)
    back = sf.decode(codes, dtype)
    same = (back == codes.float()) | (back.isnan() & codes.float().isnan())
    assert bool(same.all()) and np.array_equal(back.numpy(), sf.decode(codes).numpy(), equal_nan=True)


def test_straight_through():
    x = torch.randn(100, requires_grad=True)
    y = sft.fake_quantize(x, "e4m3fn", rounding="stochastic-a", seed=2**63 + 1, stream="x")
    (y * torch.arange(100.0)).sum().backward()
    assert torch.equal(x.grad, torch.arange(100.0))
    assert torch.equal(y.detach(), sf.round(x, "e4m3fn", rounding="stochastic-a", seed=2**63 + 1, stream="x"))


def test_the_operators_are_sound():
    x = torch.randn(5, 4, requires_grad=True)
    torch.library.opcheck(torch.ops.smallfloat.refuse_nonfinite, (x.detach(),))
    torch.library.opcheck(torch.ops.smallfloat.simulate, (x.detach(), sft.Config("cfloat8_1_4_3").key(), "w"))
    state = sft.ScaleQuantizer("e5m2").state
    torch.library.opcheck(torch.ops.smallfloat.learn_scale, (x.detach(), state, "e5m2", 0, True))
    quantizer = sft.Quantizer("cfloat8_1_4_3", "delayed:history=2")
    how = (quantizer.fmt, quantizer.policy, True)
    torch.library.opcheck(torch.ops.smallfloat.learn_bias, (x.detach(), quantizer.state, *how))
    torch.library.opcheck(
        torch.ops.smallfloat.quantize_gradient,
        (x, quantizer.state, *how, "keep"),
        test_utils=("test_schema", "test_faketensor"),
    )


POLICIES = ["delayed", "delayed:history=2,margin=1", "flags", "amax", "auto", "percentile:99", "9", ("flags", "amax", "delayed")]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_linear_by_hand(policy):
    torch.manual_seed(0)
    layer = sft.Linear(16, 8, policy=policy)
    formats = "cfloat8_1_4_3", "cfloat8_1_4_3", "cfloat8_1_5_2"
    policies = policy if isinstance(policy, tuple) else (policy,) * 3
    controllers = None
    for step in range(8):
        x = (torch.randn(4, 16) * 2.0 ** (step % 3)).requires_grad_()
        g = torch.randn(4, 8) * 2.0 ** -(20 + step)
        layer.zero_grad()
        y = layer(x)
        y.backward(g)
        seen = x.detach(), layer.weight.detach(), g
        if controllers is None:
            start = [sf.choose_bias(t, fmt, "amax").bias for t, fmt in zip(seen, formats, strict=True)]
            controllers = [sf.BiasController(*how[:2], start=how[2]) for how in zip(formats, policies, start, strict=True)]
        qx, qw, qg = (sf.decode(*c.step(t)) for c, t in zip(controllers, seen, strict=True))
        torch.testing.assert_close(y, qx @ qw.T + layer.bias)
        torch.testing.assert_close(x.grad, qg @ qw)
        torch.testing.assert_close(layer.weight.grad, qg.T @ qx)
        torch.testing.assert_close(layer.bias.grad, qg.sum(0))
    quantizers = layer.inputs, layer.weights, layer.gradients
    # A bias chosen afresh is not counted as a change when the choice is made outside of the
    # controller.
    state = [{k: v for k, v in q.controller().state_dict().items() if k not in ("steps", "changes")} for q in quantizers]
    assert state == [{k: v for k, v in c.state_dict().items() if k not in ("steps", "changes")} for c in controllers]


def test_biases_rest_in_evaluation():
    layer, x = sft.Linear(16, 8, policy="delayed:history=3"), torch.randn(4, 16)
    layer.eval()
    y = layer(100 * x)
    assert layer.inputs.controller().steps == 0 and bool(y.isfinite().all())
    qx, qw = (sf.round(t, sf.choose_bias(t, "cfloat8_1_4_3", "amax")) for t in (100 * x, layer.weight.detach()))
    torch.testing.assert_close(y, qx @ qw.T + layer.bias)
    layer.train()(x)
    learnt = layer.inputs.controller()
    layer.eval()(100 * x)
    assert layer.inputs.controller() == learnt and learnt.steps == 1


def test_biases_are_part_of_the_state():
    layer, x = sft.Linear(16, 8, policy="delayed:history=3"), torch.randn(4, 16)
    for scale in (1, 40, 1, 1):
        layer(x * scale).sum().backward()
    twin = sft.Linear(16, 8, policy="delayed:history=3")
    twin.load_state_dict(layer.state_dict())
    assert twin.inputs.controller() == layer.inputs.controller() and twin.gradients.controller().steps == 4
    assert torch.equal(twin(x), layer(x))
    plain = torch.nn.Linear(16, 8)
    twin.load_state_dict(plain.state_dict())
    assert torch.equal(twin.weight, plain.weight)
    with pytest.raises(RuntimeError, match="size mismatch"):
        sft.Linear(16, 8, policy="flags").load_state_dict(layer.state_dict())
    wrong = layer.state_dict() | {"inputs.state": torch.full_like(layer.inputs.state, 99)}
    with pytest.raises(ValueError, match="bias"):
        twin.load_state_dict(wrong)
    with pytest.raises(ValueError, match="not understood"):
        sft.Linear(16, 8, policy="delayd")
    with pytest.raises(ValueError, match="slope"):
        sft.Quantizer("shp", "gradient")
    with pytest.raises(ValueError, match="three"):
        sft.Linear(16, 8, policy=("flags", "flags"))


def model(**how):
    torch.manual_seed(3)
    return sft.convert(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)), **how)


def grads(module, x, y):
    module.zero_grad()
    loss = torch.nn.functional.mse_loss(module(x), y)
    loss.backward()
    return loss.detach(), [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    plain, x, y = model(), torch.randn(64, 16), torch.randn(64, 4)
    compiled = torch.compile(copy.deepcopy(plain), backend=backend, fullgraph=True)
    for step in range(3):
        (a, ga), (b, gb) = grads(plain, x * (step + 1), y), grads(compiled, x * (step + 1), y)
        # Sums may come in another order, which may move a value over a tie.
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        for p, q in zip(ga, gb, strict=True):
            assert torch.linalg.norm(p - q) <= 0.02 * torch.linalg.norm(p)
    for m, n in zip(plain, compiled._orig_mod, strict=True):
        if isinstance(m, sft.Linear):
            assert m.inputs.controller() == n.inputs.controller() and m.inputs.controller().steps == 3
            assert n.gradients.controller().steps == 3


def train(steps=150, wrap=None, resume_at=None):
    """Losses, weights and optimizer of a small training; with `resume_at`, saved there and gone on
    with from what was saved."""

    def begin():
        torch.manual_seed(5)
        net = model()
        opt = torch.optim.Adam(net.parameters(), lr=3e-3)
        return net, wrap(opt) if wrap else opt

    net, opt = begin()
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(256, 16, generator=generator)
    target = torch.tanh(x[:, :4] + 0.5 * x[:, 4:8])
    losses = []
    for step in range(steps):
        if step == resume_at:
            file = io.BytesIO()
            opt.unpack()
            torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, file)
            file.seek(0)
            saved = torch.load(file, weights_only=True)
            net, opt = begin()
            net.load_state_dict(saved["net"])
            opt.load_state_dict(saved["opt"])
        opt.zero_grad()
        with opt.unpacked() if isinstance(opt, sft.SmallOptimizer) else contextlib.nullcontext():
            loss = torch.nn.functional.mse_loss(net(x), target)
            loss.backward()
            opt.step()
        losses.append(loss.item())
    return losses, net, opt


HELD = {
    "bfloat16, SHP": (6, {"weight_format": "bfloat16", "state_format": "shp"}),
    "SHP, SHP and UHP(sqrt v)": (6, {"weight_format": "shp"}),
    "CFloat8, SHP and UHP(sqrt v)": (5, {"weight_format": "cfloat8_1_4_3"}),
    "CFloat8, CFloat8_1_5_2": (3, {"weight_format": "cfloat8_1_4_3", "state_format": "cfloat8_1_5_2"}),
}


@functools.cache
def wide():
    """Losses with weights and state in binary32."""
    return train()[0]


def storage(tensors):
    return sum(t.untyped_storage().nbytes() for t in tensors)


@pytest.mark.parametrize("held", HELD)
def test_optimizer(held):
    bytes_each, how = HELD[held]
    small, net, opt = train(wrap=lambda o: sft.SmallOptimizer(o, seed=1, **how))
    resumed, twin, other = train(wrap=lambda o: sft.SmallOptimizer(o, seed=1, **how), resume_at=90)
    assert small == resumed
    assert small[:10] != train(10, lambda o: sft.SmallOptimizer(o, seed=2, **how))[0]
    elements = sum(held["codes"].numel() for _, name, held in opt.state_dict()["codes"] if name == "weight")
    # What is there between two steps: codes; everything else is empty, or a number for each tensor.
    codes = [held["codes"] for _, _, held in opt.state_dict()["codes"]]
    assert all(c.dtype in (torch.uint8, torch.uint16) for c in codes)
    assert storage(codes) == bytes_each * elements == opt.bytes_held()
    rest = [v for state in opt.optimizer.state.values() for v in state.values()] + list(net.parameters())
    assert storage(rest) <= 4 * len(list(net.parameters()))
    opt.unpack()
    other.unpack()
    for p, q, (_, _, state) in zip(net.parameters(), twin.parameters(), opt.state_dict()["codes"], strict=False):
        assert torch.equal(p, q)
        assert torch.equal(p, sf.decode(state["codes"], state["format"]))
    print(f"\nloss after 150 steps: f32 {wide()[-1]:.5f} at 12 bytes, {held} {small[-1]:.5f} at {opt.bytes_per_parameter():g}")
    if bytes_each > 3:
        assert small[-1] < 0.3 * small[0], (wide()[-1], small[-1])


def test_small_updates_are_not_lost():
    """The mean of many weights moves by the sum of updates of a 32nd of the format's step, to
    nearest not at all."""
    p = torch.nn.Parameter(torch.ones(20_000))
    opt = sft.SmallOptimizer(torch.optim.SGD([p], lr=1.0), weight_format="cfloat8_1_4_3:bias=7", state_format=None, seed=3)
    for _ in range(64):
        p.grad = torch.full_like(p, -(2.0**-8))
        opt.step()
    # 1.25 on average; a step is 1/8, so the mean of 20,000 has a standard deviation below 0.001.
    assert abs(p.mean().item() - 1.25) < 0.005
    assert torch.equal(sf.round(torch.tensor(1 + 2.0**-8), "cfloat8_1_4_3:bias=7"), torch.tensor(1.0))


def test_optimizer_errors():
    p = torch.nn.Parameter(torch.ones(4))
    with pytest.raises(ValueError, match="format"):
        sft.SmallOptimizer(torch.optim.SGD([p]), state_format="float7", seed=1)
    opt = sft.SmallOptimizer(torch.optim.SGD([p], lr=1.0), weight_format="cfloat8_1_4_3", seed=1)
    p.grad = torch.tensor([1.0, float("nan"), 0.0, 0.0])
    with pytest.raises(ValueError, match="weight of parameter 0, step 1: x has 1 NaN"):
        opt.step()


def test_unknown_keywords_name_no_other_function():
    for fmt in ("e5m2", "mxfp4"):
        with pytest.raises(TypeError, match="^unexpected keyword argument 'foo'"):
            sft.fake_quantize(torch.ones(1, 32), fmt, foo=1)


def test_outputs_with_a_gradient_are_refused():
    out = torch.zeros(3, requires_grad=True)
    with pytest.raises(ValueError, match="out.detach"):
        sf.round(torch.ones(3), "e5m2", out=out)
    sf.round(torch.ones(3), "e5m2", out=out.detach())
    assert out.tolist() == [1, 1, 1]


def pair():
    torch.manual_seed(3)
    layer = torch.nn.Linear(8, 4)
    return layer, sft.SmallOptimizer(torch.optim.Adam(layer.parameters(), lr=0.125), weight_format="cfloat8_1_4_3", seed=1)


def stepped(layer, opt, scaler=None):
    """A step; with a scaler the gradients are scaled by a power of two, and back."""
    opt.zero_grad()
    loss = (layer(torch.linspace(-1, 1, 40).reshape(5, 8)) ** 2).sum()
    if scaler is None:
        loss.backward()
        opt.step()
    else:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    return [p.detach().clone() for p in layer.parameters()]


def test_the_optimizer_is_one_of_torchs():
    """Schedulers and scalers of torch take it."""
    (a, one), (b, two) = pair(), pair()
    assert isinstance(one, torch.optim.Optimizer)
    rates = torch.optim.lr_scheduler.StepLR(one, 1, gamma=0.5), torch.optim.lr_scheduler.StepLR(two.optimizer, 1, gamma=0.5)
    scaler, calls = torch.amp.GradScaler("cpu"), []
    one.register_step_post_hook(lambda *_: calls.append(one.steps))
    for k in range(3):
        assert one.param_groups[0]["lr"] == two.param_groups[0]["lr"] == 0.125 * 0.5**k
        assert all(map(torch.equal, stepped(a, one, scaler), stepped(b, two)))
        for rate in rates:
            rate.step()
    assert calls == [1, 2, 3]
    extra = torch.nn.Parameter(torch.full((3,), 1.1))
    one.add_param_group({"params": [extra], "lr": 0.0})
    assert extra.tolist() == [1.125] * 3 and len(one.param_groups) == 2


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "torch.save"])
@pytest.mark.parametrize("packed", [False, True])
def test_copies_of_the_optimizer(way, packed):
    layer, opt = pair()
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 100)
    stepped(layer, opt)
    scheduler.step()
    if packed:
        opt.pack()
    if way == "deepcopy":
        copied = copy.deepcopy((layer, opt))
    elif way == "pickle":
        copied = pickle.loads(pickle.dumps((layer, opt)))
    else:
        torch.save((layer, opt), file := io.BytesIO())
        file.seek(0)
        copied = torch.load(file, weights_only=False)
    for each in (opt, copied[1]):
        each.unpack()
    for _ in range(2):
        assert all(map(torch.equal, stepped(layer, opt), stepped(*copied)))
    assert copied[1].bytes_per_parameter() == opt.bytes_per_parameter() == 5.0


def test_tensors_of_16_bits_are_pickled():
    q = sf.quantize(torch.linspace(-1, 1, 64), "shp")
    assert torch.equal(pickle.loads(pickle.dumps(q)).dequantize(), q.dequantize())


def test_formats_without_a_sign():
    p = torch.nn.Parameter(torch.ones(4))
    new = functools.partial(sft.SmallOptimizer, torch.optim.Adam([p]), seed=1)
    for how in (
        {"weight_format": "uhp"},
        {"weight_format": "sqrt(shp)"},
        {"state_format": {"exp_avg": "uhp"}},
        {"state_format": {"exp_avg": "sqrt(uhp)"}},
        {"state_format": {"momentum_buffer": "binary8p4ue"}},
    ):
        with pytest.raises(ValueError, match="signed format"):
            new(**how)
    opt = new(state_format="uhp")
    p.grad = torch.tensor([1.0, -1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="exp_avg of parameter 0, step 1: x has negative values, which uhp does not hold"):
        opt.step()
    with pytest.raises(ValueError):
        sft.Linear(4, 2, backward_format="uhp")


def test_nan_and_infinities_stay_visible():
    odd = torch.tensor([1.1, float("inf"), float("nan"), -float("inf")])
    kept = torch.tensor([1.125, float("inf"), float("nan"), -float("inf")])
    same = functools.partial(torch.testing.assert_close, rtol=0, atol=0, equal_nan=True)
    for fmt in ("e4m3fn", "cfloat8_1_4_3:bias=7"):
        same(sft.fake_quantize(odd, fmt, saturation="satfinite"), kept)
    same(sft.fake_quantize(odd, "cfloat8_1_4_3:bias=7", nonfinite="preset"), torch.tensor([1.125, 480.0, 480.0, -480.0]))
    with pytest.raises(ValueError, match="1 NaN and 2 infinite"):
        sft.fake_quantize(odd, "e4m3fn", nonfinite="refuse")
    with pytest.raises(ValueError, match="'keep'"):
        sft.fake_quantize(odd, "e4m3fn", nonfinite="drop")
    quantizer = sft.Quantizer("cfloat8_1_4_3", 7)
    same(quantizer(odd), kept)
    # On the way back too, and through a layer.
    x = torch.ones(4, requires_grad=True)
    quantizer.gradient(x).backward(odd)
    same(x.grad, kept)
    layer = sft.Linear(4, 2, policy=7)
    assert not bool(layer(odd[None]).isfinite().any())
    with pytest.raises(ValueError, match="1 NaN"):
        sft.Linear(4, 2, policy=7, nonfinite="refuse")(odd[None])


def test_out_on_another_device():
    out = torch.empty(2, dtype=torch.uint8, device="meta")
    with pytest.raises(ValueError, match="device meta"):
        sf.encode(torch.ones(2), "e5m2", out=out)


def rank_biases(policy, rank):
    net = model(policy=policy)
    # Without DDP's broadcast of buffers: the ranks must agree by themselves.
    ddp = DistributedDataParallel(net, broadcast_buffers=False)
    opt = sft.SmallOptimizer(torch.optim.Adam(ddp.parameters(), lr=0.01), weight_format="shp", state_format="shp", seed=4)
    biases = []
    for step in range(8):
        # The ranks see data of very different sizes, so alone they would choose different biases.
        x = torch.randn(32, 16, generator=torch.Generator().manual_seed(10 * step + rank)) * (1 + 60 * rank)
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(ddp(x), torch.zeros(32, 4))
        loss.backward()
        opt.step()
        quantizers = [m for m in net.modules() if isinstance(m, sft.Quantizer)]
        own = sf.choose_bias(x, "cfloat8_1_4_3", "amax").bias
        biases.append([own] + [q.bias for q in quantizers])
    return biases, net.state_dict(), opt.state_dict()


RANK_POLICIES = ["delayed", "flags", "amax", "auto"]


def worker(rank, port, folder):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.save({policy: rank_biases(policy, rank) for policy in RANK_POLICIES}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_ranks_agree(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(worker, (port, str(tmp_path)), nprocs=2)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    for policy in RANK_POLICIES:
        (a, sa, oa), (b, sb, ob) = (rank[policy] for rank in ranks)
        for one, other in zip(a, b, strict=True):
            assert one[1:] == other[1:] and one[0] != other[0]
            if policy == "amax":
                assert one[1] == min(one[0], other[0])
        assert all(torch.equal(sa[key], sb[key]) for key in sa)
        for one, other in zip(oa["codes"], ob["codes"], strict=True):
            assert torch.equal(one[2].pop("codes"), other[2].pop("codes")) and one == other
        print(f"\n{policy}: biases of both ranks in step 1: {a[0][1:]}; alone the inputs' would be {a[0][0]} and {b[0][0]}")


def test_views_with_the_negative_bit():
    x = torch.randn(4, 32)
    negative = torch._neg_view(x)
    for one in (sf.round, sft.round):
        assert torch.equal(one(negative, "e4m3fn"), one(-x, "e4m3fn"))
    assert torch.equal(sft.encode(negative, "e4m3fn"), sf.encode(-x, "e4m3fn"))
    assert torch.equal(sft.fake_quantize(negative, "mxfp4"), sft.fake_quantize(-x, "mxfp4"))
    assert torch.equal(sf.quantize(negative, "mxfp4").dequantize(), sf.quantize(-x, "mxfp4").dequantize())


def test_what_are_no_codes():
    for codes in (torch.tensor([1.0]), torch.tensor([True]), torch.tensor([1j])):
        with pytest.raises(TypeError, match="codes of e4m3fn are integers"):
            sft.decode(codes, "e4m3fn")
    with pytest.raises(TypeError, match="which is not e4m3fn"):
        sft.decode(torch.ones(1).to(torch.float8_e5m2), "e4m3fn")
    for codes, fmt in (([300], "e4m3fn"), ([-1], "e4m3fn"), ([16], "e2m1fn"), ([1 << 16], "bfloat16"), ([-(1 << 15) - 1], "bfloat16")):
        with pytest.raises(ValueError, match="codes"):
            sft.decode(torch.tensor(codes), fmt)
    assert sft.decode(torch.tensor([1.0]).to(torch.float8_e4m3fn), "e4m3fn").tolist() == [1.0]
    for dtype in (torch.int16, torch.int32, torch.int64, torch.uint16):
        codes = sft.encode(torch.tensor([-1.5, 1.5]), "bfloat16").view(torch.uint16 if dtype == torch.uint16 else torch.int16).to(dtype)
        assert sft.decode(codes, "bfloat16").tolist() == [-1.5, 1.5]


def test_saved_tensors_of_torch(tmp_path):
    sf.save(tmp_path / "a.safetensors", {"x": torch.ones(2, dtype=torch.bfloat16), "y": torch.ones(2, requires_grad=True)})
    assert sf.load_values(tmp_path / "a.safetensors")["x"].tolist() == [1.0, 1.0]


def test_products_of_quantized_tensors_are_tensors():
    x, weight = (torch.linspace(-3, 3, rows * 70, dtype=torch.float64).reshape(rows, 70) for rows in (4, 3))
    for scheme, how in (("mxfp6-e2m3", "blackwell"), ("nvfp4", "rtx-blackwell"), ("mxfp8-e4m3", "hopper")):
        here, there = (tuple(sf.quantize(one, scheme) for one in pair) for pair in ((x, weight), (x.numpy(), weight.numpy())))
        found = sf.linear(*here, accumulate=how)
        assert found.dtype == torch.float32 and found.device == x.device
        np.testing.assert_array_equal(found.numpy(), sf.linear(*there, accumulate=how))
        assert torch.is_tensor(sf.linear(there[0], here[1], accumulate=how))
    scales = dict(granularity="block:32", scale_format="bfloat16")
    x, weight = sf.quantize(x, "e4m3fn", **scales), sf.quantize(weight, "e4m3fn", **scales)
    assert x.scales.dtype == torch.bfloat16
    torch.testing.assert_close(sf.linear(x, weight), x.dequantize() @ weight.dequantize().T)


def test_rows_that_are_not_there():
    table = torch.nn.Embedding(10, 64)
    sft.quantize_(table, "bfloat16")
    assert torch.equal(table(torch.tensor([3])), table.weight[3:4])
    for row in (-1, 10):
        with pytest.raises(IndexError):
            table(torch.tensor([row]))


def test_round_takes_tensors():
    with pytest.raises(TypeError, match="x must be a tensor, not list: smallfloat without torch"):
        sft.round([1.0], "e4m3fn")
    assert not sft.round(torch.ones(2, requires_grad=True), "e4m3fn").requires_grad


def test_outputs_of_another_format():
    out = torch.zeros(1).to(torch.float8_e4m3fn)
    with pytest.raises(TypeError, match="out has the dtype torch.float8_e4m3fn, which is not e5m2"):
        sf.encode(torch.ones(1), "e5m2", out=out)
    assert sf.encode(torch.ones(1), "e4m3fn", out=out).float().tolist() == [1.0]


def test_tensors_without_numbers():
    """They are told where there is more than smallfloat's own functions can do."""
    x = torch.ones(2, 3)
    with pytest.raises(TypeError, match="no numbers at hand .* smallfloat.torch"):
        sf.encode(x.to("meta"), "e4m3fn")
    with pytest.raises(TypeError, match="no numbers at hand"):
        torch.vmap(lambda row: sf.round(row, "e4m3fn"))(x)
    with torch._subclasses.fake_tensor.FakeTensorMode(), pytest.raises(TypeError, match="no numbers at hand"):
        sf.encode(torch.empty(3), "e4m3fn")
