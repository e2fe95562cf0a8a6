"""compressed-tensors. Run by `scripts/evidence/python-torch`."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import smallfloat as sf

pytest.importorskip("compressed_tensors", reason="COMPRESSED-TENSORS NOT TESTED: pip install compressed-tensors accelerate")

from compressed_tensors.compressors import BaseCompressor  # noqa: E402
from compressed_tensors.entrypoints.convert import convert_checkpoint  # noqa: E402
from compressed_tensors.quantization import QuantizationConfig  # noqa: E402

from smallfloat.compressed_tensors import SmallfloatConverter  # noqa: E402

SCHEMES = ["float-quantized", "mxfp8-quantized", "mxfp6-pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized"]
PARTS = {"q_proj": 64, "k_proj": 32, "v_proj": 32, "gate_proj": 96, "up_proj": 96, "w1": 32, "w2": 64, "w3": 32, "query": 32, "value": 32}


def checkpoint(folder):
    """A folder of one layer in two files."""
    folder.mkdir()
    torch.manual_seed(3)
    shards = {"model-00001-of-00002.safetensors": {}, "model-00002-of-00002.safetensors": {}}
    first, second = shards.values()
    for i, (part, rows) in enumerate(PARTS.items()):
        first[f"model.layers.0.x.{part}.weight"] = (torch.randn(rows, 64) * 0.02 * 3 ** (i % 5)).to(torch.bfloat16)
    first["model.layers.0.input_layernorm.weight"] = torch.ones(64, dtype=torch.bfloat16)
    second["model.embed_tokens.weight"] = torch.randn(128, 64).to(torch.bfloat16)
    second["model.layers.0.x.o_proj.weight"] = torch.randn(64, 64).to(torch.bfloat16)
    for name, tensors in shards.items():
        save_file(tensors, folder / name)
    index = {"metadata": {}, "weight_map": {tensor: name for name, tensors in shards.items() for tensor in tensors}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return {**first, **second}


def stored(folder):
    return {name: tensor for shard in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(shard).items()}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_folder_is_converted_as_the_command_does_it(scheme, tmp_path):
    before = checkpoint(tmp_path / "in")
    convert_checkpoint(tmp_path / "in", tmp_path / "out", SmallfloatConverter(scheme), device="cpu")
    sf.quantize_file(tmp_path / "in", tmp_path / "ours", scheme)
    made, ours = stored(tmp_path / "out"), stored(tmp_path / "ours")
    assert made.keys() == ours.keys()
    for name, tensor in made.items():
        other = ours[name]
        assert tensor.dtype == other.dtype and tensor.shape == other.shape, name
        assert torch.equal(tensor.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8)), name
    # And compressed-tensors itself reads it, by the configuration that it wrote.
    told = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    config = QuantizationConfig.model_validate({key: value for key, value in told.items() if key != "version"})
    [group] = config.config_groups.values()
    compressor = BaseCompressor.get_value_from_registry(config.format)
    for part in PARTS:
        module = f"model.layers.0.x.{part}."
        local = {name.removeprefix(module): tensor for name, tensor in made.items() if name.startswith(module)}
        read = compressor.decompress(local, group)["weight"].double()
        error = (read - before[module + "weight"].double()).square().sum() / before[module + "weight"].double().square().sum()
        assert error < 0.02, (module, error)


def test_after_a_converter_that_dequantizes(tmp_path):
    from compressed_tensors.entrypoints.convert.converters import CompressedTensorsDequantizer

    checkpoint(tmp_path / "in")
    convert_checkpoint(tmp_path / "in", tmp_path / "eight", SmallfloatConverter("mxfp8-quantized"), device="cpu")
    others = ["re:.*norm", "re:.*embed.*"]
    again = [CompressedTensorsDequantizer(tmp_path / "eight", ignore=others), SmallfloatConverter("nvfp4-pack-quantized")]
    convert_checkpoint(tmp_path / "eight", tmp_path / "four", again, device="cpu")
    assert stored(tmp_path / "four")["model.layers.0.x.q_proj.weight_packed"].dtype == torch.uint8


def test_what_is_refused():
    with pytest.raises(ValueError, match="none of compressed-tensors' float formats"):
        SmallfloatConverter("mxfp4")
    with pytest.raises(ValueError, match="whole blocks of 32: ignore it"):
        SmallfloatConverter("mxfp4-pack-quantized").process({"a.weight": torch.zeros(4, 40)})
    with pytest.raises(ValueError, match="only wide floats are quantized"):
        SmallfloatConverter("float-quantized").process({"a.weight": torch.zeros(4, 32, dtype=torch.uint8)})
    for how in ({"ignore": "lm_head"}, {"targets": "Linear"}):
        with pytest.raises(TypeError, match=r"is a list of patterns, not a string: write \["):
            SmallfloatConverter("float-quantized", **how)
    with pytest.raises(ValueError, match="`nearest`"):
        SmallfloatConverter("mxfp4-pack-quantized", scale_rule="nearest")
