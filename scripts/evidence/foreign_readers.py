"""Checkpoint folders of `smallfloat quantize` in the hands of other programs; called by
scripts/evidence/foreign-readers.

    foreign_readers.py SMALLFLOAT WORK_FOLDER SECTION.md

For every layout and reader below: quantize the folder of a tiny model with the command, load it,
and compare weights and logits with those of the folder that `smallfloat dequantize` gives, loaded
by the same reader. A reader may refuse a folder, or have its values; exits with 1 if one is
silently wrong. A folder in the native layout of before (codes in the shape of the model) is the
control: it must be found wrong.
"""

import contextlib
import datetime
import gc
import io
import json
import logging
import pathlib
import platform
import shutil
import subprocess
import sys
import textwrap
import warnings

import compressed_tensors
import safetensors
import torch
import torchao
import transformers
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from safetensors.torch import load_file, save_file
from torchao.quantization import Int8WeightOnlyConfig
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, TorchAoConfig

COMMAND, WORK, SECTION = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
MODEL, BEFORE = WORK / "model", "the native layout of before"
TOKENS = torch.arange(64).reshape(2, 32) * 7 % 256
# What bfloat16 may cost: weights are rounded to it once by us and once by them, and logits are sums
# of such.
WEIGHTS_OFF, LOGITS_OFF = 2.0**-7, 0.05

NATIVE = {
    "cfloat8_1_4_3": [],
    "cfloat8_1_4_3, linear layers only": ["--include", "*proj.weight"],
    "cfloat8_1_4_3 by channel": ["--granularity", "channel"],
    "cfloat8_1_5_2 by block:128x128": ["--format", "cfloat8_1_5_2", "--granularity", "block:128x128"],
    "shp (16 bits)": ["--format", "shp"],
    "e4m3fn": ["--format", "e4m3fn"],
    **{name: ["--scheme", name] for name in ("mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4", "nvfp4")},
}
OTHERS = {
    "--container bf16": ["--container", "bf16"],
    "--container fp8": ["--container", "fp8", "--requantize", "--include", "*proj.weight"],
    "--container fp8 by channel": ["--container", "fp8", "--requantize", "--granularity", "channel", "--include", "*proj.weight"],
    **{name: ["--scheme", name] for name in ("fp8", "fp8-e5m2", "deepseek", "float-quantized")},
    "float-quantized by tensor": ["--scheme", "float-quantized", "--granularity", "tensor"],
    "float-quantized by block:128x128": ["--scheme", "float-quantized", "--granularity", "block:128x128"],
    **{name: ["--scheme", name] for name in (
        "mxfp8-quantized", "mxfp6-pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized")},
}


class Refused(Exception):
    """A reader that does not take a folder."""


def run(*args):
    subprocess.run([COMMAND, *map(str, args)], check=True, stdout=subprocess.DEVNULL)


def make_model():
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=256, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.06, tie_word_embeddings=False)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.to(torch.bfloat16).save_pretrained(MODEL)


def as_before(source, target):
    """The folder as it was written before codes had a dimension more and `config.json` a
    `quant_method`."""
    shutil.copytree(source, target)
    for shard in target.glob("*.safetensors"):
        entries = metadata(shard)["smallfloat.tensors"]
        tensors = load_file(shard)
        for name, entry in json.loads(entries).items():
            tensors[name] = tensors[name].reshape(entry["shape"])
        save_file(tensors, shard, {"format": "pt"})
    config = json.loads((target / "config.json").read_text())
    del config["quantization_config"]
    (target / "config.json").write_text(json.dumps(config))


def metadata(shard):
    with safetensors.safe_open(shard, "pt") as file:
        return file.metadata()


def state(folder):
    return {name: tensor for shard in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(shard).items()}


def numbers(folder):
    """A plain folder's weights, and no logits."""
    return {name: tensor.float() for name, tensor in state(folder).items()}, None


def answers(model):
    """Weights as numbers, where they are plain, and logits. A model that can't compute has
    refused."""
    with torch.no_grad():
        logits = model(TOKENS).logits.float()
    plain = {}
    for name, parameter in model.named_parameters():
        # Scales are left in some modules beside the weights that were made with them.
        is_plain = type(parameter) is torch.nn.Parameter and parameter.dtype in (torch.float32, torch.bfloat16)
        if is_plain and name.endswith(("weight", "bias")):
            plain[name] = parameter.detach().float()
    return plain, logits


def by_transformers(dtype, **more):
    def read(folder):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True, **more)
        return answers(model.eval())

    return read


def on_the_fly(folder):
    return by_transformers(torch.bfloat16, quantization_config=TorchAoConfig(Int8WeightOnlyConfig()))(folder)


def by_load_state_dict(strict):
    def read(folder):
        model = LlamaForCausalLM(LlamaConfig.from_pretrained(MODEL)).float().eval()
        model.load_state_dict(state(folder), strict=strict)
        return answers(model)

    return read


def by_compressed_tensors(folder):
    """What the library itself makes of every module that the configuration names; no logits."""
    told = json.loads((folder / "config.json").read_text()).get("quantization_config")
    if told is None:
        raise Refused("there is no quantization_config")
    tensors = state(folder)
    config = QuantizationConfig.model_validate(told)
    [group] = config.config_groups.values()
    compressor = BaseCompressor.get_value_from_registry(config.format)
    modules = sorted(name.removesuffix("weight_scale") for name in tensors if name.endswith("weight_scale"))
    plain = {name: tensor.float() for name, tensor in tensors.items() if not name.startswith(tuple(modules))}
    for module in modules:
        local = {name.removeprefix(module): tensor for name, tensor in tensors.items() if name.startswith(module)}
        plain[module + "weight"] = compressor.decompress(local, group)["weight"].float()
    return plain, None


READERS = {
    "transformers, float32": by_transformers(torch.float32),
    "transformers, bfloat16": by_transformers(torch.bfloat16),
    "transformers, to int8 by torchao": on_the_fly,
    "compressed-tensors": by_compressed_tensors,
    "`load_state_dict`": by_load_state_dict(True),
    "`load_state_dict`, not strict": by_load_state_dict(False),
}
# Without strictness PyTorch leaves scales out that it does not know, of every layout whose codes
# have the model's shape.
NATIVE_ONLY = {"`load_state_dict`, not strict"}


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def read(reader, folder):
    try:
        with quiet():
            return READERS[reader](folder)
    except Refused:
        raise
    except Exception as error:  # whatever a reader raises is a refusal
        line = next((line for line in str(error).splitlines() if line.strip()), "").strip()
        raise Refused(f"`{type(error).__name__}`: {line.split('. ')[0][:120]}") from error
    finally:
        gc.collect()


def off(found, expected):
    """By how much, beside the largest of its row; infinite for NaN."""
    scale = expected.abs().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
    worst = ((found - expected).abs() / scale).max()
    return float("inf") if torch.isnan(worst) else worst.item()


def judge(reader, folder, reference):
    """A word for the cell, and how many weights were compared."""
    weights, logits = read(reader, folder)
    expected, expected_logits = reference
    if set(weights) - set(expected):
        return f"WRONG: it has {sorted(set(weights) - set(expected))[:3]} besides", 0
    if not weights and logits is None:
        return "WRONG: it read nothing", 0
    count = sum(tensor.numel() for tensor in weights.values())
    shapes = [name for name, tensor in weights.items() if tensor.shape != expected[name].shape]
    if shapes:
        return f"WRONG: the shape of {shapes[0]}", count
    of_weights = max((off(tensor, expected[name]) for name, tensor in weights.items()), default=0.0)
    of_logits = off(logits, expected_logits) if logits is not None else 0.0
    if of_weights > WEIGHTS_OFF or of_logits > LOGITS_OFF:
        return f"WRONG: weights are off by {of_weights:.2g}, logits by {of_logits:.2g}", count
    if of_weights == of_logits == 0:
        return "same", count
    return f"within {max(of_weights, of_logits):.1g}", count


def main():
    logging.disable(logging.CRITICAL)
    transformers.logging.set_verbosity(logging.CRITICAL)
    make_model()
    rows, refusals, wrong, cells, compared = [], {}, [], 0, 0
    layouts = {**NATIVE, **OTHERS}
    for number, (layout, options) in enumerate([*layouts.items(), (BEFORE, None)]):
        folder, back = WORK / f"{number}", WORK / f"{number}-back"
        if options is None:
            as_before(WORK / "0", folder)
            back = WORK / "0-back"
        else:
            run("quantize", MODEL, "-o", folder, *options)
            if layout == "--container bf16":
                # Values of the first row's format and biases: there is nothing to dequantize.
                back = WORK / "0-back"
            else:
                run("verify", folder)
                run("dequantize", folder, "-o", back, "--dtype", "f32")
        native = layout in NATIVE or options is None
        cell = {}
        for reader in READERS:
            if reader in NATIVE_ONLY and not native:
                cell[reader] = "—"
                continue
            # What can't read plain folders proves nothing by refusing others.
            reference = numbers(back) if reader == "compressed-tensors" else read(reader, back)
            try:
                word, count = judge(reader, folder, reference)
                compared += count
            except Refused as error:
                word = "refused"
                refusals.setdefault(reader, {}).setdefault(str(error), []).append(layout)
            cells += options is not None
            if word.startswith("WRONG"):
                wrong.append((layout, reader, word))
                word = "**wrong**"
            cell[reader] = word
        rows.append((layout, cell))
        print(f"{layout:<36}", *(f"{word:<14}" for word in cell.values()), flush=True)
    for reader, texts in refusals.items():
        for text, layouts_of in texts.items():
            print(f"{reader} refused {len(layouts_of)}: {text}")
    for what in wrong:
        print("WRONG:", *what)
    controls = [what for what in wrong if what[0] == BEFORE]
    failures = [what for what in wrong if what[0] != BEFORE]
    if not any(reader.startswith("transformers") for _, reader, _ in controls):
        failures.append((BEFORE, "transformers", "the control was not found wrong, so that this check proves nothing"))
        print("WRONG:", *failures[-1])
    print(f"{cells} cells, {len(failures)} silently wrong; {compared:,} weights compared")
    if not failures:
        SECTION.write_text(section(rows, refusals, cells, compared), encoding="utf-8")
    sys.exit(bool(failures))


def section(rows, refusals, cells, compared):
    versions = ", ".join(
        f"{module.__name__.replace('_', '-')} {module.__version__}"
        for module in (torch, transformers, compressed_tensors, safetensors, torchao))
    refused = sum(word == "refused" for layout, cell in rows for word in cell.values() if layout != BEFORE)
    lines = [
        paragraph(
            f"`scripts/evidence/foreign-readers --evidence` on {datetime.date.today()}, on a CPU ({platform.machine()}), Python "
            f"{platform.python_version()}, {versions}. A Llama of two layers with random weights, written by transformers, went "
            "through `smallfloat quantize` in every layout; the readers' weights and logits are held against those of the folder "
            f"that `smallfloat dequantize` gives. {cells} pairs of layout and reader: {refused} refused with an exception, "
            f"{cells - refused} read with the right values ({compared:,} weights compared, and logits), none silently wrong."),
        "",
        paragraph(
            "`same`: equal bits. `within`: the largest difference beside the largest of its row, which bfloat16 accounts for "
            f"(weights at most 2^−7, logits {LOGITS_OFF}). The last row is the control: codes in the model's own shape, as "
            "smallfloat wrote them before, are loaded without a word and are garbage."),
        "",
        "| layout | " + " | ".join(READERS) + " |",
        "| --- |" + " --- |" * len(READERS),
    ]
    for layout, cell in rows:
        lines.append(f"| {layout} | " + " | ".join(cell.values()) + " |")
    lines += [
        "",
        paragraph(
            "transformers loads `fp8`, `fp8-e5m2` and `--container fp8` and raises at the first product: it looks for "
            "`weight_scale_inv` and leaves `weight_scale` out, with a note. vLLM, for which they are, was not run: it wants a "
            "GPU. What transformers reads in bfloat16 alone it decodes into that type."),
        "",
        "How they refuse, and how many layouts:",
        "",
    ]
    for reader, texts in refusals.items():
        for text, layouts in sorted(texts.items(), key=lambda item: -len(item[1])):
            lines.append(paragraph(f"* {reader}, {len(layouts)}: {text}", "  "))
    return "\n".join(lines)


def paragraph(text, indent=""):
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
