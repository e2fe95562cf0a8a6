"""On a CUDA device: digests of all 2^32 binary32 numbers for 20 formats, shares of the memory
bandwidth, a training step in a graph.

    python device.py

Prints tables. Stops with an error where a digest differs from the CPU's.
"""

import copy
import hashlib

import torch
from kernels import FORMATS
from torch import nn

import smallfloat as sf
import smallfloat.torch as sft

PIECE = 1 << 28
DEVICE = torch.device("cuda")


def digests():
    """SHA-256 of the codes of every binary32 number, of the device and of the CPU."""
    print("| format | SHA-256 of the codes of all 2^32 binary32 numbers |\n| --- | --- |")
    for fmt in FORMATS[:20]:
        here, there = hashlib.sha256(), hashlib.sha256()
        for start in range(0, 1 << 32, PIECE):
            bits = torch.arange(start, start + PIECE, device=DEVICE).to(torch.int32)
            x = bits.view(torch.float32)
            there.update(sft.encode(x, fmt).cpu().numpy())
            codes = sf.encode(x.cpu().numpy(), fmt)
            here.update(codes.view("<i2") if codes.dtype.itemsize == 2 else codes)
        assert here.digest() == there.digest(), f"{fmt}: the device has other codes than the CPU"
        print(f"| {fmt} | {there.hexdigest()} |")


def seconds(task, repeats=20):
    """The median time of a task."""
    for _ in range(3):
        task()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        task()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1000)
    return sorted(times)[repeats // 2]


def bandwidth():
    """Bytes read and written in a second, beside a copy's."""
    count = 1 << 28
    wide = torch.randn(count, device=DEVICE)
    x, target = wide.to(torch.bfloat16), torch.empty_like(wide)
    matrix = x.reshape(-1, 4096)
    limit = 8 * count / seconds(lambda: target.copy_(wide))
    print(f"\nA copy moves {limit / 1e12:.2f} TB/s on this device ({torch.cuda.get_device_name()}).\n")
    print("| task | bytes per element | of a copy's bandwidth |\n| --- | ---: | ---: |")
    codes = sft.encode(x, "e4m3fn")
    stochastic = {"rounding": "stochastic-a", "seed": 1}
    mx, nv = sft.Config("mxfp4"), sft.Config("nvfp4")
    tasks = [
        ("encode bfloat16, e4m3fn", 3, lambda: sft.encode(x, "e4m3fn")),
        ("encode bfloat16, cfloat8_1_4_3:bias=7", 3, lambda: sft.encode(x, "cfloat8_1_4_3:bias=7")),
        ("encode binary32, e4m3fn", 5, lambda: sft.encode(wide, "e4m3fn")),
        ("decode to bfloat16, e4m3fn", 3, lambda: sft.decode(codes, "e4m3fn", dtype=torch.bfloat16)),
        ("round bfloat16, e4m3fn", 4, lambda: sft.round(x, "e4m3fn")),
        ("encode bfloat16, e4m3fn, stochastic-a", 3, lambda: sft.encode(x, "e4m3fn", **stochastic)),
        ("fake quantization, mxfp4", 4, lambda: sft.fake_quantize(matrix, mx)),
        ("fake quantization, nvfp4", 6, lambda: sft.fake_quantize(matrix, nv)),
        ("torch's cast bfloat16 to float8_e4m3fn", 3, lambda: x.to(torch.float8_e4m3fn)),
    ]
    for what, size, task in tasks + list(others(matrix)):
        print(f"| {what} | {size} | {size * count / seconds(task) / limit:.2f} |")


def others(matrix):
    """Other libraries' quantizers to MXFP8, where they are installed."""
    try:
        from torchao.prototype.mx_formats.mx_tensor import to_mx
    except ImportError:
        pass
    else:
        yield "torchao, mxfp8", 3 + 1 / 32, lambda: to_mx(matrix, torch.float8_e4m3fn, 32)
    try:
        import transformer_engine.pytorch as te
        import transformer_engine_torch as tex
    except ImportError:
        return
    quantizer = te.MXFP8Quantizer(fp8_dtype=tex.DType.kFloat8E4M3, rowwise=True, columnwise=False)
    yield "TransformerEngine, mxfp8", 3 + 1 / 32, lambda: quantizer(matrix)


def transformer(width=768, depth=12):
    """About 100 million parameters, without biases that attention would keep."""
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(16384, width), nn.TransformerEncoder(layer, depth, enable_nested_tensor=False), nn.Linear(width, 16384))
    return model.to(DEVICE, torch.bfloat16)


def step():
    """A training step of a transformer of 100 million parameters, CFloat8 beside bfloat16, both
    compiled."""
    torch.manual_seed(0)
    plain = transformer()
    small = sft.convert(copy.deepcopy(plain))
    tokens = torch.randint(16384, (8, 512), device=DEVICE)

    def run(model):
        compiled = torch.compile(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def task():
            loss = nn.functional.cross_entropy(compiled(tokens).flatten(0, 1).float(), tokens.flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return seconds(task, 10)

    count = sum(p.numel() for p in plain.parameters())
    base, ours = run(plain), run(small)
    print(f"\nA training step of {count / 1e6:.0f} million parameters: {base * 1e3:.1f} ms in bfloat16, {ours * 1e3:.1f} ms with CFloat8 "
          f"fake quantization, {ours / base:.2f} times as long.")


def graph():
    """A CUDA graph holds a layer, and gives its bits again."""
    layer = sft.Linear(256, 256, device=DEVICE, dtype=torch.bfloat16).eval()
    x = torch.randn(64, 256, device=DEVICE, dtype=torch.bfloat16)
    with torch.no_grad():
        expected = layer(x)
        torch.cuda.synchronize()
        held = torch.cuda.CUDAGraph()
        with torch.cuda.graph(held):
            y = layer(x)
        y.zero_()
        held.replay()
    assert torch.equal(y, expected)
    print("\nA CUDA graph of a layer gives the bits of the layer.")


if __name__ == "__main__":
    torch.cuda.set_sync_debug_mode("error")
    graph_layer = sft.Linear(64, 64, device=DEVICE)
    graph_layer(torch.randn(8, 64, device=DEVICE)).sum().backward()
    torch.cuda.set_sync_debug_mode("default")
    graph()
    digests()
    bandwidth()
    step()
