"""transformers. Run by `scripts/evidence/python-torch`."""

import json

import pytest
import torch

import smallfloat as sf

transformers = pytest.importorskip("transformers", reason="TRANSFORMERS NOT TESTED: pip install transformers")

import smallfloat.torch as sft  # noqa: E402
import smallfloat.transformers as sftr  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def bert():
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=120, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=32
    )
    return transformers.BertModel(config).eval()


def gpt2():
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=120, n_embd=64, n_layer=2, n_head=4, n_positions=32)
    return transformers.GPT2LMHeadModel(config).eval()


TOKENS = torch.arange(24).reshape(2, 12)


def out(model):
    with torch.no_grad():
        return model(TOKENS)[0]


@pytest.mark.parametrize("config", ["mxfp4", "cfloat8_1_4_3", "nvfp4", "fp8", "shp"])
@pytest.mark.parametrize("make", [bert, gpt2])
def test_codes_are_saved_and_loaded(make, config, tmp_path):
    model = make()
    report = sftr.quantize_(model, config)
    assert len(report.quantized) >= 8
    if make is gpt2:
        assert {"Conv1D", "Embedding"} <= {row.kind for row in report.quantized}
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["quantization_config"]["quant_method"] == "smallfloat"
    again = type(model).from_pretrained(tmp_path)
    old, new = model.state_dict(), again.state_dict()
    assert old.keys() == new.keys() and all(torch.equal(old[name], new[name]) for name in old)
    torch.testing.assert_close(out(again), out(model), rtol=1e-5, atol=1e-5)
    # The file has the bytes of the codes.
    assert (tmp_path / "model.safetensors").stat().st_size < 1.1 * report.bytes_after + 20_000


def test_a_checkpoint_of_floats_is_quantized_on_the_way(tmp_path):
    model = bert()
    model.save_pretrained(tmp_path / "float")
    wanted = sftr.SmallfloatConfig("mxfp8-e4m3", exclude=["*embeddings*"])
    loaded = transformers.BertModel.from_pretrained(tmp_path / "float", quantization_config=wanted)
    sft.quantize_(model, "mxfp8-e4m3", exclude=["*embeddings*"])
    torch.testing.assert_close(out(loaded), out(model), rtol=1e-5, atol=1e-5)
    loaded.save_pretrained(tmp_path / "small")
    again = transformers.BertModel.from_pretrained(tmp_path / "small")
    torch.testing.assert_close(out(again), out(model), rtol=1e-5, atol=1e-5)


def test_folders_of_the_command_load_as_codes(tmp_path):
    model = bert()
    model.save_pretrained(tmp_path / "float")
    sf.quantize_file(tmp_path / "float", tmp_path / "small", "mxfp4")
    loaded = transformers.BertModel.from_pretrained(tmp_path / "small")
    stored = sf.load(tmp_path / "small" / "model.safetensors")
    assert stored.keys() == sft.entries(loaded).keys()
    for name, tensor in stored.items():
        module, _, weight = name.rpartition(".")
        assert torch.equal(getattr(loaded.get_submodule(module), weight), torch.from_numpy(tensor.dequantize()))
    assert bool(out(loaded).isfinite().all())
