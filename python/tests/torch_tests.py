"""PyTorch. Run by `scripts/python-torch`, since torch takes gigabytes."""

import copy
import doctest
import os
import socket

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import smallfloat as sf
import smallfloat.torch as sft

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def test_examples():
    failed, tried = doctest.testmod(sft)
    assert (failed, tried > 10) == (0, True)


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
    # Since 2.15 torch saturates finite overflow into e4m3fn; its other types overflow as ml_dtypes' do.
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
    torch.library.opcheck(torch.ops.smallfloat.round, (x, "e5m2", None, None, None, None, None, 32))
    torch.library.opcheck(torch.ops.smallfloat.quantize, (x, "cfloat8_1_4_3", "amax"))
    torch.library.opcheck(
        torch.ops.smallfloat.quantize_gradient, (x, "cfloat8_1_5_2", "amax"), test_utils=("test_schema", "test_faketensor")
    )


def test_linear_by_hand():
    torch.manual_seed(0)
    layer = sft.Linear(16, 8)
    x = torch.randn(4, 16, requires_grad=True)
    y = layer(x)
    fx, fw = sf.choose_bias(x, "cfloat8_1_4_3", "amax"), sf.choose_bias(layer.weight, "cfloat8_1_4_3", "amax")
    assert (int(layer.input_bias), int(layer.weight_bias)) == (fx.bias, fw.bias)
    qx, qw = sf.round(x, fx), sf.round(layer.weight, fw)
    torch.testing.assert_close(y, qx @ qw.T + layer.bias)
    g = torch.randn(4, 8)
    y.backward(g)
    qg = sf.round(g, sf.choose_bias(g, "cfloat8_1_5_2", "amax"))
    torch.testing.assert_close(x.grad, qg @ qw)
    torch.testing.assert_close(layer.weight.grad, qg.T @ qx)
    torch.testing.assert_close(layer.bias.grad, qg.sum(0))


def model():
    torch.manual_seed(3)
    return sft.convert(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)))


def grads(module, x, y):
    module.zero_grad()
    loss = torch.nn.functional.mse_loss(module(x), y)
    loss.backward()
    return loss.detach(), [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    plain, x, y = model(), torch.randn(64, 16), torch.randn(64, 4)
    compiled = torch.compile(copy.deepcopy(plain), backend=backend, fullgraph=True)
    (a, ga), (b, gb) = grads(plain, x, y), grads(compiled, x, y)
    # Sums may come in another order, which may move a value over a tie.
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    for p, q in zip(ga, gb, strict=True):
        assert torch.linalg.norm(p - q) <= 0.02 * torch.linalg.norm(p)


def train(steps=200, wrap=None):
    torch.manual_seed(5)
    net = model()
    x = torch.randn(256, 16)
    target = torch.tanh(x[:, :4] + 0.5 * x[:, 4:8])
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    opt = wrap(opt) if wrap else opt
    losses = []
    for _ in range(steps):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), target)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, net, opt


def test_optimizer():
    wide, _, _ = train()
    small, net, opt = train(wrap=lambda o: sft.SmallOptimizer(o, state_format="shp", weight_format="bfloat16", seed=1))
    again, _, _ = train(wrap=lambda o: sft.SmallOptimizer(o, state_format="shp", weight_format="bfloat16", seed=1))
    assert small == again
    assert small[-1] < 0.2 * small[0] and small[-1] < 2 * wide[-1] + 0.01, (wide[-1], small[-1])
    elements = sum(p.numel() for p in net.parameters())
    assert opt.state_bytes() == 2 * 2 * elements
    for p in net.parameters():
        assert torch.equal(p, p.bfloat16().float())
    print(f"\nloss after 200 steps: f32 weights and state {wide[-1]:.5f}, bfloat16 weights and SHP state {small[-1]:.5f}")


def test_optimizer_state_can_be_saved():
    _, net, opt = train(20, lambda o: sft.SmallOptimizer(o, state_format="cfloat8_1_5_2", weight_format="bfloat16", seed=1))
    saved, twin = copy.deepcopy(opt.state_dict()), copy.deepcopy(net)
    other = sft.SmallOptimizer(
        torch.optim.Adam(twin.parameters(), lr=3e-3), state_format="cfloat8_1_5_2", weight_format="bfloat16", seed=1
    )
    other.load_state_dict(saved)
    for module, optimizer in ((net, opt), (twin, other)):
        grads(module, torch.ones(8, 16), torch.zeros(8, 4))
        optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), twin.parameters(), strict=True))


def worker(rank, port, folder):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    net = model()
    ddp = DistributedDataParallel(net)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.05)
    biases = []
    for step in range(5):
        # The ranks see data of very different sizes, so alone they would choose different biases.
        x = torch.randn(32, 16, generator=torch.Generator().manual_seed(10 * step + rank)) * (1 + 60 * rank)
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(ddp(x), torch.zeros(32, 4))
        loss.backward()
        opt.step()
        layers = [m for m in net.modules() if isinstance(m, sft.Linear)]
        own = sf.choose_bias(x, "cfloat8_1_4_3", "amax").bias
        biases.append([own] + [int(b) for layer in layers for b in (layer.input_bias, layer.weight_bias)])
    torch.save((biases, net.state_dict()), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_ranks_agree(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(worker, (port, str(tmp_path)), nprocs=2)
    (a, sa), (b, sb) = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    for one, other in zip(a, b, strict=True):
        assert one[1:] == other[1:] and one[0] != other[0]
        assert one[1] == min(one[0], other[0])
    assert all(torch.equal(sa[key], sb[key]) for key in sa)
    print(f"\nbiases of both ranks in step 1: {a[0][1:]}; alone the inputs' would be {a[0][0]} and {b[0][0]}")
