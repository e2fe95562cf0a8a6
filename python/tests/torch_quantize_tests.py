"""`quantize_`, `fake_quantize_` and scaled fake quantization. Run by
`scripts/evidence/python-torch`."""

import copy
import io
import json
import pickle

import numpy as np
import pytest
import torch
from configs import BY_CORE_ALONE, CONFIGS, LISTS
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import smallfloat as sf
import smallfloat.torch as sft
from smallfloat import _config
from smallfloat.torch import _memory, _scaled

pytestmark = pytest.mark.filterwarnings("default")

COMPILED = [CONFIGS[0], CONFIGS[1], CONFIGS[2], CONFIGS[8], CONFIGS[14], CONFIGS[22], BY_CORE_ALONE[1]]
DTYPES = [torch.float16, torch.bfloat16, torch.float32]


def numbers(shape, seed=0, dtype=torch.float32):
    """Numbers whose rows and columns differ in size, with zeros and whole blocks of them."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * torch.exp2(torch.randint(-9, 3, shape[:1] + (1,) * (len(shape) - 1), generator=generator))
    x = x * torch.exp2(torch.randint(-3, 3, shape, generator=generator))
    x[torch.rand(shape, generator=generator) < 0.1] = 0.0
    if len(shape) > 1:
        x[0, : min(40, shape[1])] = 0.0
        x[-1] *= 2.0**-60
    return x.to(dtype)


def same(a, b):
    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.contiguous().view(integers), b.contiguous().view(integers))


def by_core(config, x, dtype=None, name="tensor"):
    found = config.quantize(_memory.array_of(x), name).dequantize({torch.bfloat16: "bfloat16", torch.float16: np.float16}.get(dtype or x.dtype, np.float32))
    return torch.from_numpy(found.view(np.int16)).view(torch.bfloat16) if found.dtype.name == "bfloat16" else torch.from_numpy(found)


@pytest.mark.parametrize("config", [*CONFIGS, *LISTS], ids=str)
def test_tensor_operations_have_the_bits_of_the_core(config):
    for shape in ((48, 64), (33, 50), (3, 5, 2, 11), (70,), (1, 1)):
        if len(shape) < 2 and _config.entry_of(config, (1, 1)).get("scale") is not None:
            continue
        for dtype in DTYPES:
            x = numbers(shape, sum(shape), dtype)
            stored = config.quantize(_memory.array_of(x), "w")
            layout = _config.Layout.of(stored._entry, shape)
            parts = {suffix: _memory.tensor_of(part) for suffix, part in stored._parts.items()}
            scales = parts.get("_bias", parts.get("_scale"))
            for target in DTYPES:
                values = _scaled.dequantize(layout, parts[""], scales, parts.get("_global_scale"), target)
                assert same(values, by_core(config, x, target, "w")), (shape, dtype, target)
            if config.is_list:
                continue
            plan = _scaled.plan_of(config.key(), len(shape))
            if plan.is_expressible:
                assert same(_scaled.simulate(plan, x, stream="w"), by_core(config, x, name="w")), (shape, dtype)
            else:
                assert config.how.get("bias") is None and stored.biases is not None


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_tensor_gives_tensors(config, tmp_path):
    """`smallfloat.quantize` keeps the library; the bits are those of an array."""
    x = numbers((33, 50), 5, torch.bfloat16)
    q, plain = config.quantize(x), config.quantize(_memory.array_of(x))
    assert q.shape == (33, 50) and torch.equal(q.codes, torch.from_numpy(plain.codes)) and q.nbytes == plain.nbytes
    for part, array in (("scales", plain.scales), ("biases", plain.biases)):
        assert array is None if getattr(q, part) is None else isinstance(getattr(q, part), torch.Tensor)
    assert q.dequantize().dtype == torch.float32
    for dtype, name in ((torch.float32, np.float32), (torch.float16, "float16"), (torch.float64, np.float64), (torch.bfloat16, "bfloat16")):
        expected = torch.from_numpy(plain.dequantize(name).view(np.int16)).view(dtype) if name == "bfloat16" else torch.from_numpy(plain.dequantize(name))
        assert same(q.dequantize(dtype), expected) and same(q.dequantize(name), expected)
    q.save(tmp_path / "q.safetensors")
    assert np.array_equal(sf.load(tmp_path / "q.safetensors")["tensor"].codes, plain.codes)
    there = plain.map(lambda part: torch.from_numpy(part.view(np.int16)).view(torch.bfloat16) if part.dtype.name == "bfloat16" else torch.from_numpy(part))
    assert same(there.dequantize(), q.dequantize())
    # No memory to look at: tensor operations, on the tensor's device.
    assert q.map(lambda part: part.to("meta")).dequantize(torch.bfloat16).device.type == "meta"


@pytest.mark.parametrize("config", [*CONFIGS, *BY_CORE_ALONE, *LISTS], ids=str)
def test_fake_quantization(config):
    x = numbers((24, 40), 3).requires_grad_()
    y = sft.fake_quantize(x, config)
    assert same(y.detach(), by_core(config, x.detach()))
    weight = numbers((24, 40), 4)
    (y * weight).sum().backward()
    assert same(x.grad, weight)
    if config in COMPILED:
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: sft.fake_quantize(x, config), fullgraph=True, backend="aot_eager")
        assert same(compiled(x).detach(), y.detach())
    # What is not finite stays, and does not count for the scales.
    odd = x.detach().clone()
    odd[3, 5], odd[3, 6] = float("nan"), -float("inf")
    clean = odd.clone()
    clean[3, 5] = clean[3, 6] = 0.0
    expected = torch.where(odd.isfinite(), sft.fake_quantize(clean, config), odd)
    assert torch.equal(sft.fake_quantize(odd, config).nan_to_num(nan=77.0), expected.nan_to_num(nan=77.0))
    with pytest.raises(ValueError, match="1 NaN and 1 infinite"):
        sft.fake_quantize(odd, config, nonfinite="refuse")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(32, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(32, 4, kdim=16, vdim=24, batch_first=True)

    def forward(self, x):
        return self.mha(x, x, x, need_weights=False)[0] + self.cross(x, x[..., :16], x[..., :24], need_weights=False)[0]


class Conv1D(nn.Module):
    """The linear layer of GPT-2 as transformers has it."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight, self.bias = nn.Parameter(torch.randn(nx, nf)), nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.nf)


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.embedding = nn.Embedding(50, 32, padding_idx=0)
        self.attention = Attention()
        self.conv2 = nn.Conv2d(1, 4, 3, padding=1)
        self.conv1 = nn.Conv1d(16, 16, 3, padding=1, groups=2)
        self.gpt2 = Conv1D(32, 32)
        self.linear = Scaled(32, 32)
        self.norm = nn.LayerNorm(32)
        self.recurrent = nn.GRU(32, 32, batch_first=True)
        self.limited = nn.Embedding(50, 32, max_norm=1.0)
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.attention(self.embedding(tokens) + self.limited(tokens))
        x = self.conv2(x[:, None]).mean(1)
        x = self.conv1(x)
        x = self.norm(self.recurrent(self.linear(self.gpt2(x)))[0])
        return self.head(x)


def split(name):
    return name.rpartition(".")


TOKENS = torch.arange(32).reshape(2, 16)


def with_values(model, quantized):
    """A plain model with the values that a quantized one computes with."""
    plain = copy.deepcopy(model)
    named = dict(quantized.named_modules())
    for prefix, module in plain.named_modules():
        for name in module._parameters:
            other = getattr(named[prefix], name)
            if other is not None and not isinstance(other, nn.Parameter):
                module._parameters[name] = nn.Parameter(other.detach().clone())
    return plain


@pytest.mark.parametrize("config", [*(c for c in CONFIGS if not c.how.get("seed")), *LISTS], ids=str)
def test_a_whole_model(config, tmp_path):
    model = Whole().eval()
    quantized = copy.deepcopy(model)
    report = sft.quantize_(quantized, config)
    names = {row.name for row in report.quantized}
    assert names == {
        "embedding.weight",
        "attention.mha.in_proj_weight",
        "attention.mha.out_proj.weight",
        "attention.cross.q_proj_weight",
        "attention.cross.k_proj_weight",
        "attention.cross.v_proj_weight",
        "attention.cross.out_proj.weight",
        "conv2.weight",
        "conv1.weight",
        "gpt2.weight",
        "linear.weight",
        "head.weight",
    }
    reasons = {row.name: row.what for row in report.left}
    assert reasons["limited.weight"].startswith("max_norm") and reasons["recurrent.weight_ih_l0"].startswith("a recurrent")
    assert names | set(reasons) == {name for name, _ in model.named_parameters(remove_duplicate=False)}
    # What is held is what was reported.
    held = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in (*quantized.parameters(), *quantized.buffers())}
    assert sum(held.values()) == report.bytes_after < report.bytes_before
    assert report.bytes_before == sum(p.numel() * p.element_size() for p in model.parameters())
    assert isinstance(quantized.linear, Scaled) and isinstance(quantized.head, nn.Linear) and str(report) and repr(quantized)

    plain = with_values(model, quantized)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        expected = plain(TOKENS)
        # Sums may come in another order, as memory is aligned.
        torch.testing.assert_close(quantized(TOKENS), expected, rtol=1e-4, atol=1e-4)
    # The values are the core's, in blocks along the sums of products.
    weight = model.linear.weight.detach()
    assert same(quantized.linear.weight, by_core(config, weight))
    by_columns = by_core(config, model.gpt2.weight.detach().T.contiguous()).T
    assert same(quantized.gpt2.weight, by_columns)
    assert quantized.head._parameters["weight"] is quantized.embedding._parameters["weight"]

    # Back by torch.save, by pickle, by deepcopy, into an equal model, and as a native container.
    file = io.BytesIO()
    torch.save(quantized.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    again = Whole().eval()
    sft.prepare_(again, json.loads(json.dumps(sft.entries(quantized))))
    again.load_state_dict(state)
    sft.save(quantized, tmp_path / "model.safetensors")
    loaded = Whole().eval()
    sft.load_(loaded, tmp_path / "model.safetensors")
    others = [again, loaded, copy.deepcopy(quantized), pickle.loads(pickle.dumps(quantized))]
    for other in others:
        assert list(other.state_dict()) == list(quantized.state_dict())
        for one, two in zip(other.state_dict().values(), quantized.state_dict().values(), strict=True):
            assert torch.equal(one.view(torch.uint8) if one.ndim else one, two.view(torch.uint8) if two.ndim else two)
        assert all(same(getattr(other.get_submodule(m), n), getattr(quantized.get_submodule(m), n)) for m, _, n in map(split, names))
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            torch.testing.assert_close(other(TOKENS), expected, rtol=1e-4, atol=1e-4)
    # The container is the command's too.
    whole, incomplete, broken, _ = sf.verify(str(tmp_path / "model.safetensors"))
    assert (incomplete, broken) == (0, 0) or whole > 0
    held = sf.load(tmp_path / "model.safetensors")
    assert np.array_equal(held["linear.weight"].dequantize(), quantized.linear.weight.numpy())


def test_gradients_go_through_quantized_layers():
    model = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))
    plain = copy.deepcopy(model)
    sft.quantize_(model, "mxfp8-e4m3")
    for one, two in zip(plain, model, strict=True):
        if isinstance(one, nn.Linear):
            one.weight.data = two.weight
    x = torch.randn(5, 16)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    plain(a).square().sum().backward()
    model(b).square().sum().backward()
    assert same(a.grad, b.grad) and same(plain[0].bias.grad, model[0].bias.grad)
    assert not any(p.requires_grad for p in model.parameters() if p.dtype == torch.uint8)


@pytest.mark.parametrize("config", ["mxfp4", "cfloat8_1_4_3", "nvfp4", "fp8", "mxfp6-e3m2", "nf4", "mxint8"])
def test_quantized_models_compile_and_export(config):
    model = nn.Sequential(nn.Embedding(50, 32), nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 8)).eval()
    sft.quantize_(model, config)
    tokens = torch.arange(20).reshape(4, 5)
    with torch.no_grad():
        expected = model(tokens)
        torch._dynamo.reset()
        backend = "inductor" if config == "mxfp4" else "aot_eager"
        torch.testing.assert_close(torch.compile(model, fullgraph=True, backend=backend)(tokens), expected, rtol=1e-5, atol=1e-6)
        program = torch.export.export(model, (tokens,))
        torch.testing.assert_close(program.module()(tokens), expected, rtol=1e-5, atol=1e-6)
    assert not [node for node in program.graph.nodes if "smallfloat" in str(node.target)]
    # Codes, not values, are what the program holds.
    assert program.state_dict["1.weight"].dtype == torch.uint8
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert torch.equal(torch.export.load(file).module()(tokens), program.module()(tokens))


def test_dtypes_follow_and_scales_do_not():
    model = nn.Sequential(nn.Linear(32, 32))
    weight = model[0].weight.detach().clone()
    sft.quantize_(model, "fp8")
    scale = model[0].weight_scale.clone()
    model.to(torch.bfloat16)
    assert model[0].weight_scale.dtype == torch.float32 and torch.equal(model[0].weight_scale, scale)
    assert same(model[0].weight, by_core(sft.Config("fp8"), weight, torch.bfloat16))
    assert model(torch.ones(1, 32, dtype=torch.bfloat16)).dtype == torch.bfloat16
    model.float()
    with torch.autocast("cpu", torch.bfloat16):
        assert model(torch.ones(1, 32)).dtype == torch.bfloat16
    moved = model.to("meta")
    assert moved[0].weight_scale.device.type == "meta" and moved[0].weight.shape == (32, 32)


def test_include_exclude_and_errors():
    def new():
        torch.manual_seed(0)
        return nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8), "c": nn.Sequential(nn.Linear(8, 8))})

    model = new()
    report = sft.quantize_(model, "mxfp8-e4m3", include=["a", "c.*"], exclude=["*.0.weight"])
    assert [row.name for row in report.quantized] == ["a.weight"]
    assert {row.name: row.what for row in report.left}["b.weight"] == "not included"
    assert {row.name: row.what for row in report.left}["c.0.weight"] == "excluded"
    again = sft.quantize_(model, "nvfp4")
    assert {row.name: row.what for row in again.left}["a.weight"] == "it is quantized already"
    with pytest.raises(ValueError, match="'d' fits no parameter"):
        sft.quantize_(new(), "nvfp4", include=["d"])
    with pytest.raises(TypeError, match="list of patterns"):
        sft.quantize_(new(), "nvfp4", include="a")
    broken = new()
    broken["c"][0].weight.data[0, 0] = float("nan")
    with pytest.raises(ValueError, match=r"c\.0\.weight: .*NaN"):
        sft.quantize_(broken, "mxfp4")
    # The model is as it was.
    assert all(type(m) is not None and "Stored" not in type(m).__name__ for m in broken.modules())
    with pytest.raises(ValueError, match="mxfp5"):
        sft.quantize_(new(), "mxfp5")
    with pytest.raises(ValueError, match="is not a weight"):
        sft.prepare_(nn.Sequential(nn.LayerNorm(8)), {"0.weight": {}})
    other = new()
    with pytest.raises(ValueError, match="has the shape"):
        sft.prepare_(nn.ModuleDict({"a": nn.Linear(9, 8)}), {"a.weight": sft.entries(model)["a.weight"]})
    assert other["a"].weight.dtype == torch.float32


@pytest.mark.parametrize("config", ["mxfp4", "nvfp4", "cfloat8_1_4_3", "e4m3fn", "binary8p3se", "fp8"])
def test_quantization_aware_training(config):
    model = Whole().train()
    sft.quantize_(copy.deepcopy(model), config)
    before = list(model.state_dict())
    report = sft.fake_quantize_(model, config)
    assert len(report.quantized) == 12 and list(model.state_dict()) == before
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model(TOKENS).square().mean().backward()
    assert all(p.grad is not None for name, p in model.named_parameters() if "bias_" not in name)
    optimizer.step()
    values = model.linear.weight.detach()
    assert same(values, by_core(sft.Config(config), model.linear._parameters["weight"].detach()))
    copied = pickle.loads(pickle.dumps(model))
    assert same(copied.linear.weight.detach(), values)
    sft.quantize_(model, config)
    assert same(model.linear.weight, values) and model.linear._parameters["weight"].dtype == torch.uint8


def test_the_command_writes_what_is_loaded(tmp_path):
    from safetensors.torch import save_file

    model = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 64))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    sf.quantize_file(tmp_path / "model.safetensors", tmp_path / "small.safetensors", "mxfp4")
    direct = copy.deepcopy(model)
    sft.quantize_(direct, "mxfp4")
    sft.load_(model, tmp_path / "small.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), direct.state_dict().values(), strict=True))
    x = torch.randn(3, 64)
    assert torch.equal(model(x), direct(x))


@pytest.mark.parametrize("config", [sf.Config(c) for c in ("mxfp8-e4m3", "mxfp4", "nvfp4", "nf4", "cfloat8_1_4_3", "fp8")], ids=str)
def test_flushing_of_subnormal_numbers_changes_nothing(config):
    x = numbers((64, 256), 5).numpy() * np.float32(2.0**-120)
    expected = config.quantize(x)
    values = expected.dequantize()
    assert torch.set_flush_denormal(True)
    try:
        found = config.quantize(x)
        back = found.dequantize()
    finally:
        torch.set_flush_denormal(False)
    assert all(np.asarray(part).tobytes() == np.asarray(expected._parts[name]).tobytes() for name, part in found._parts.items())
    assert back.tobytes() == values.tobytes()


def stored(config, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 8))
    sft.quantize_(model, config)
    return model


OTHERS = [
    (sf.Config("e3m2fn", granularity="block:32", scale_format="e8m0fnu"), "e3m2fn, block:32"),
    (sf.Config("e2m3fn", granularity="block:32", scale_format="e4m3fn"), "e2m3fn, block:32, scales in e4m3fn"),
]


@pytest.mark.parametrize("other, what", OTHERS, ids=str)
def test_codes_of_another_format_are_refused(other, what):
    config = sf.Config("e2m3fn", granularity="block:32", scale_format="e8m0fnu")
    model, file = stored(config), io.BytesIO()
    kept = model[0].weight.clone()
    torch.save(stored(other, 1).state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert [x.shape for x in state.values()] == [x.shape for x in model.state_dict().values()]
    for strict in (True, False):
        with pytest.raises(RuntimeError, match=f"0.weight is stored as e2m3fn, block:32.* in the state as {what}"):
            model.load_state_dict(state, strict=strict)
    assert torch.equal(model[0].weight, kept)
    # Equal formats load, and so do states of tensors alone, as files of them are.
    for same_format in (stored(config, 1), nn.ModuleList([stored(config, 1)])[0]):
        again = stored(config)
        again.load_state_dict(same_format.state_dict())
        assert torch.equal(again[0].weight, same_format[0].weight)
        again = stored(config)
        again.load_state_dict(dict(same_format.state_dict()))
        assert torch.equal(again[0].weight, same_format[0].weight)
    assert all(isinstance(value, torch.Tensor) for value in model.state_dict().values())


def test_a_parameter_of_numbers_is_no_codes():
    model = stored("mxfp8-e4m3")
    kept = model[0].weight.clone()
    with pytest.raises(TypeError, match=r"weight is stored as codes \(e4m3fn, block:32, .*torch.float32.*before quantize_"):
        model[0].weight = nn.Parameter(torch.ones(8, 64))
    assert torch.equal(model[0].weight, kept)
    model[0].weight = nn.Parameter(model[0]._parameters["weight"].clone(), requires_grad=False)
    model[0].bias = nn.Parameter(torch.ones(8))
    assert torch.equal(model[0].weight, kept) and model[0].bias.sum() == 8


@pytest.mark.parametrize("before", ["mxfp8-e4m3", "mxfp4", "e5m2", "bfloat16", "nvfp4"])
@pytest.mark.parametrize("scheme", ["mxfp8-e4m3", "mxfp4", "e5m2", "nvfp4"])
def test_files_go_into_quantized_models(tmp_path, before, scheme):
    """Whatever the model's weights were stored as, they are the file's then."""
    written, read = (torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Linear(32, 8)).to(dtype) for dtype in (torch.float32, torch.bfloat16))
    sft.quantize_(written, scheme)
    sft.save(written, tmp_path / "a.safetensors")
    sft.quantize_(read, before)
    sft.load_(read, tmp_path / "a.safetensors")
    for one, other in zip(written, read, strict=True):
        assert other.weight.dtype == torch.bfloat16 and torch.equal(other.weight, one.weight.bfloat16())
    assert list(read.state_dict()) == list(written.state_dict())
    x = torch.randn(3, 64)
    read.load_state_dict(written.state_dict())
    assert torch.equal(read.bfloat16()(x.bfloat16()), written.bfloat16()(x.bfloat16()))


def test_what_is_no_model_and_no_tensor():
    for function in (sft.quantize_, sft.fake_quantize_):
        with pytest.raises(TypeError, match="model must be a torch.nn.Module, not Tensor: smallfloat.quantize"):
            function(torch.ones(2, 32), "mxfp4")
    with pytest.raises(TypeError, match="x must be a tensor, not list"):
        sft.fake_quantize([1.0], "mxfp4")
