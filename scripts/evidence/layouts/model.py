"""A small model with the names and shapes of Llama, in two shards with an index and a
configuration; its weights are seeded and spread as those of trained models are, rows and columns of
different size.

    write(FOLDER)
    write_experts(FOLDER)
    part_of_minilm(FOLDER_OF_MINILM, FOLDER, LAYERS)
"""

import json
import struct

import numpy as np
from safetensors.numpy import load_file, save_file

HIDDEN, INNER, VOCABULARY, LAYERS, HEADS = 256, 768, 512, 2, 4


def bfloat16(x):
    """Bytes of the nearest BF16 numbers, ties to even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


def tensors():
    random = np.random.Generator(np.random.PCG64(27))

    def matrix(rows, columns):
        across = np.exp(0.5 * random.standard_normal(columns))
        down = np.exp(0.4 * random.standard_normal((rows, 1)))
        return 0.03 * down * across * random.standard_normal((rows, columns))

    def norm():
        return 1 + 0.1 * random.standard_normal(HIDDEN)

    yield "model.embed_tokens.weight", matrix(VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", norm()
        for part, rows in [("q", HIDDEN), ("k", HIDDEN // 2), ("v", HIDDEN // 2), ("o", HIDDEN)]:
            yield f"{name}self_attn.{part}_proj.weight", matrix(rows, HIDDEN)
        yield name + "post_attention_layernorm.weight", norm()
        for part in ("gate", "up"):
            yield f"{name}mlp.{part}_proj.weight", matrix(INNER, HIDDEN)
        yield name + "mlp.down_proj.weight", matrix(HIDDEN, INNER)
    yield "model.norm.weight", norm()
    yield "lm_head.weight", matrix(VOCABULARY, HIDDEN)


def write_file(path, entries):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in entries:
        begin, data = len(data), data + bfloat16(values)
        header[name] = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return len(data)


def write(folder):
    folder.mkdir(parents=True)
    everything = list(tensors())
    half = next(i for i, (name, _) in enumerate(everything) if name.startswith("model.layers.1."))
    shards = {"model-00001-of-00002.safetensors": everything[:half], "model-00002-of-00002.safetensors": everything[half:]}
    total = sum(write_file(folder / name, entries) for name, entries in shards.items())
    where = {name: shard for shard, entries in shards.items() for name, _ in entries}
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS // 2,
        "vocab_size": VOCABULARY, "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def write_experts(folder):
    """Two weights of four experts each, as gpt-oss calls them: [experts, in, out]."""
    folder.mkdir(parents=True)
    random = np.random.Generator(np.random.PCG64(28))
    shapes = {"gate_up_proj": (4, 128, 320), "down_proj": (4, 160, 128)}
    entries = [(f"model.layers.0.mlp.experts.{name}", 0.05 * random.standard_normal(shape)) for name, shape in shapes.items()]
    write_file(folder / "model.safetensors", entries)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt_oss", "num_local_experts": 4}))


def part_of_minilm(source, target, layers):
    """The first encoder layers and all that is no layer, but for the word embeddings: half of the
    model, and copied by all."""
    target.mkdir(parents=True)
    everything = load_file(source / "model.safetensors")
    dropped = ["word_embeddings", *(f"encoder.layer.{layer}." for layer in range(layers, 6))]
    kept = {name: x for name, x in everything.items() if not any(part in name for part in dropped)}
    save_file(kept, target / "model.safetensors", {"format": "pt"})
    (target / "config.json").write_bytes((source / "config.json").read_bytes())
