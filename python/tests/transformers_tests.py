"""transformers. Run by `scripts/evidence/python-torch`."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

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


def test_an_older_transformers_is_named():
    program = "import transformers; transformers.__version__ = '4.57.1'; import smallfloat.transformers"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == "ImportError: smallfloat.transformers needs transformers 5 or later, and this is 4.57.1"


TOKENS = torch.arange(24).reshape(2, 12)


def out(model):
    with torch.no_grad():
        return model(TOKENS)[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_codes_are_loaded_for_another_dtype(dtype, tmp_path):
    model = bert()
    sftr.quantize_(model, "mxfp8-e4m3", exclude=["*embeddings*"])
    sftr.save_pretrained(model, tmp_path)
    again = transformers.BertModel.from_pretrained(tmp_path, dtype=dtype)
    weight, old = (m.encoder.layer[0].output.dense.weight for m in (again, model))
    assert weight.dtype == dtype and torch.equal(weight, old.to(dtype)) and out(again).dtype == dtype


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


@pytest.mark.parametrize("layout", ["fp8", "deepseek", "modelopt-nvfp4", "mxfp4-pack-quantized", "quark-mxfp4", "float-quantized"])
@pytest.mark.parametrize("codes", [None, "mxfp8-e4m3"])
def test_layouts_of_other_programs(layout, codes, tmp_path):
    model = bert()
    if codes is not None:
        sftr.quantize_(model, codes)
    report = sftr.save_pretrained(model, tmp_path / layout, layout)
    assert len(report["tensors"]) >= 8
    again = sftr.from_pretrained(transformers.AutoModel, tmp_path / layout)
    assert type(again) is type(model) and not hasattr(again.config, "quantization_config")
    wide = sf.load_values(tmp_path / layout)
    for name, weight in again.state_dict().items():
        assert torch.equal(weight, torch.from_numpy(wide[name]))
    error = (out(again) - out(bert())).abs().mean() / out(bert()).abs().mean()
    assert 0 < error < (0.1 if "p8" in layout or layout in ("deepseek", "float-quantized") else 0.5), error
    half = sftr.from_pretrained(transformers.BertModel, tmp_path / layout, dtype=torch.bfloat16)
    for name, weight in half.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name].to(torch.bfloat16))
    small = sftr.from_pretrained(transformers.BertModel, tmp_path / layout, quantization_config=sftr.SmallfloatConfig("mxfp4"))
    assert len(sft.entries(small)) >= 8


@pytest.mark.parametrize("config", ["mxfp8-e4m3", "mxfp4", "cfloat8_1_4_3", "nvfp4", "nf4"])
def test_commands_know_the_codes(config, tmp_path):
    model = bert()
    sftr.quantize_(model, config)
    sftr.save_pretrained(model, tmp_path / "small", max_shard_size="40KB")
    assert len(list((tmp_path / "small").glob("*.safetensors"))) > 1
    weights = {name for name in sft.entries(model)}
    for path in (tmp_path / "small").glob("*.safetensors"):
        tensors, _, digests, _ = sf.verify(path)
        assert tensors and digests
    values = sf.load_values(tmp_path / "small")
    for name in weights:
        module, _, weight = name.rpartition(".")
        assert torch.equal(getattr(model.get_submodule(module), weight), torch.from_numpy(values[name]))
    # And transformers as before.
    again = transformers.BertModel.from_pretrained(tmp_path / "small")
    torch.testing.assert_close(out(again), out(model), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", ["mxfp4", "cfloat8_1_4_3", "nvfp4", "shp", "nf4"])
@pytest.mark.parametrize("make", [bert, gpt2])
def test_folders_of_a_models_own_save_pretrained_are_read(make, config, tmp_path):
    model = make()
    sftr.quantize_(model, config)
    model.save_pretrained(tmp_path / "small", max_shard_size="60KB")
    files = sorted((tmp_path / "small").glob("*.safetensors"))
    assert all("smallfloat.tensors" not in safe_open(file, "pt").metadata() for file in files)
    assert sum(sf.verify(file)[0] for file in files if sf.load_values(file)) >= 8
    values = sf.load_values(tmp_path / "small")
    told = {name for name in sft.entries(model) if name in values}
    assert len(told) >= 8
    for name in told:
        module, _, weight = name.rpartition(".")
        assert torch.equal(getattr(model.get_submodule(module), weight), torch.from_numpy(values[name]))
    with_codes = [file for file in files if told & set(safe_open(file, "pt").keys())]
    held = {name: tensor for file in with_codes for name, tensor in sf.load(file).items()}
    assert held.keys() == told
    assert all(np.array_equal(tensor.dequantize(), values[name]) for name, tensor in held.items())
    sf.quantize_file(tmp_path / "small", tmp_path / "other", "mxfp8-e4m3")
    loaded = transformers.AutoModel.from_pretrained(tmp_path / "other")
    assert len(sft.entries(loaded)) >= 8


def test_a_file_of_a_models_own_save_pretrained_is_loaded_into_a_model(tmp_path):
    model = bert()
    sftr.quantize_(model, "mxfp4")
    model.save_pretrained(tmp_path)
    other = bert()
    sft.load_(other, tmp_path / "model.safetensors")
    stored = sft.entries(model)
    assert sft.entries(other).keys() == stored.keys() and len(stored) >= 8
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


@pytest.mark.parametrize(
    ("config", "what"),
    [("{", "config.json`: is broken, it is no JSON: EOF"), ({"tensors": [1]}, "`tensors` are no object"), ({"tensors": {"w": 3}}, "its entry of `w`"),
     ({"tensors": {"w": {}}, "version": "9"}, "reads version 1"), ({"tensors": {"w": {"format": "e4m3fn"}}}, "missing field `subnormals`")],
)  # fmt: skip
def test_a_configuration_that_cannot_be_read_is_refused(config, what, tmp_path):
    save_file({"w": torch.zeros(2, 2, 1, dtype=torch.uint8)}, tmp_path / "model.safetensors")
    said = {"quant_method": "smallfloat", "version": "1"}
    text = config if isinstance(config, str) else json.dumps({"quantization_config": said | config})
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=what):
        sf.load(tmp_path / "model.safetensors")


def test_weights_of_another_layout_are_the_products_in_its_file(tmp_path):
    from safetensors.torch import load_file

    sftr.save_pretrained(bert(), tmp_path / "fp8", "fp8")
    stored = load_file(tmp_path / "fp8" / "model.safetensors")
    again = sftr.from_pretrained(transformers.BertModel, tmp_path / "fp8").state_dict()
    scaled = [name for name in stored if f"{name}_scale" in stored]
    assert len(scaled) >= 8
    for name in scaled:
        assert stored[name].dtype == torch.float8_e4m3fn
        assert torch.equal(again[name], stored[name].float() * stored[f"{name}_scale"])


def llama(tied=False):
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=120, hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96, tie_word_embeddings=tied
    )
    return transformers.LlamaForCausalLM(config).eval()


def llava():
    vision = transformers.CLIPVisionConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=8
    )
    config = transformers.LlavaConfig(vision_config=vision, text_config=llama().config, image_token_index=119)
    return transformers.LlavaForConditionalGeneration(config).eval()


def same_state(model, other):
    old, new = model.state_dict(), other.state_dict()
    return old.keys() == new.keys() and all(torch.equal(old[name], new[name]) for name in old)


@pytest.mark.parametrize("by", [sftr.save_pretrained, lambda model, folder: model.save_pretrained(folder)])
def test_a_models_names_may_differ_from_those_in_its_files(by, tmp_path):
    model = llava()
    sftr.quantize_(model, "mxfp4")
    by(model, tmp_path / "small")
    held = sf.load(tmp_path / "small" / "model.safetensors")
    assert len(held) == len(sft.entries(model)) and "language_model.lm_head.weight" in held
    assert same_state(model, type(model).from_pretrained(tmp_path / "small"))
    wide = sftr.from_pretrained(type(model), tmp_path / "small")
    for name, weight in wide.named_parameters():
        module, _, last = name.rpartition(".")
        assert torch.equal(weight, getattr(model.get_submodule(module), last)), name
    # Layouts of other programs have floats where there are more dimensions than two.
    sftr.save_pretrained(model, tmp_path / "other", "mxfp4-pack-quantized")
    assert torch.equal(out(sftr.from_pretrained(type(model), tmp_path / "other")), out(wide))
    # And the command's folders of such models.
    llava().save_pretrained(tmp_path / "float")
    sf.quantize_file(tmp_path / "float", tmp_path / "command", "mxfp4", include=["*.q_proj.weight"])
    assert len(sft.entries(type(model).from_pretrained(tmp_path / "command"))) == 3


@pytest.mark.parametrize("by", [sftr.save_pretrained, lambda model, folder: model.save_pretrained(folder)])
def test_codes_are_loaded_into_models_with_other_heads(by, tmp_path):
    model = llama()
    sftr.quantize_(model, "mxfp4")
    by(model, tmp_path)
    base = transformers.AutoModel.from_pretrained(tmp_path)
    assert same_state(model.model, base)
    scored = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert same_state(model.model, scored.model) and scored.score.weight.dtype == torch.float32
    base.save_pretrained(tmp_path / "base")
    assert same_state(base, transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base").model)


@pytest.mark.parametrize("fmt", ["mxfp4", "nvfp4", "cfloat8_1_4_3"])
def test_scales_of_tied_weights_are_in_files_once(fmt, tmp_path):
    model = llama(tied=True)
    sftr.quantize_(model, fmt)
    model.save_pretrained(tmp_path)
    again, found = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not found["missing_keys"] and same_state(model, again)


@pytest.mark.parametrize("by", [sftr.save_pretrained, lambda model, folder: model.save_pretrained(folder)])
def test_a_model_is_saved_as_it_is_then(by, tmp_path):
    model = llama()
    if by is sftr.save_pretrained:
        sft.quantize_(model, "mxfp4", exclude=["lm_head"])
    else:
        sftr.quantize_(model, "mxfp4", exclude=["lm_head"])
    sft.quantize_(model, "mxfp8-e4m3", include=["lm_head"])
    model.model.layers[0].mlp.up_proj = torch.nn.Linear(64, 96, bias=False)
    by(model, tmp_path)
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    assert same_state(model, again) and sft.entries(model) == sft.entries(again)


@pytest.mark.parametrize("part", ["", "_scale"])
def test_files_that_lack_codes_or_scales_are_refused(part, tmp_path):
    from safetensors.torch import load_file

    model = llama()
    sftr.quantize_(model, "mxfp4")
    model.save_pretrained(tmp_path)
    path, name = tmp_path / "model.safetensors", f"model.layers.0.mlp.up_proj.weight{part}"
    save_file({key: tensor for key, tensor in load_file(path).items() if key != name}, path, {"format": "pt"})
    with pytest.raises(ValueError, match=f"have no {name}, which"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path)


def test_weights_that_are_not_in_memory_are_refused(tmp_path):
    llama().save_pretrained(tmp_path / "float")
    sf.quantize_file(tmp_path / "float", tmp_path / "small", "mxfp4")
    places = {"model.embed_tokens": "cpu", "model.layers.0": "disk", "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "cpu"}
    for folder, how in (("float", {"quantization_config": sftr.SmallfloatConfig("mxfp4")}), ("small", {})):
        with pytest.raises(ValueError, match=r"layers\.0.* is not in memory"):
            transformers.AutoModelForCausalLM.from_pretrained(
                tmp_path / folder, device_map=places, offload_folder=tmp_path / "away", **how
            )


def test_weights_that_a_model_joins_are_refused_as_codes(tmp_path):
    config = transformers.MixtralConfig(
        vocab_size=120, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4,
        num_local_experts=2,
    )  # fmt: skip
    model = transformers.MixtralForCausalLM(config).eval()
    model.save_pretrained(tmp_path / "float")
    sf.quantize_file(tmp_path / "float", tmp_path / "small", "mxfp8-e4m3")
    with pytest.raises(ValueError, match=r"experts\.0\.w1\.weight is quantized, and .* loads the folder as floats"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "small")
    values = sf.load_values(tmp_path / "small")
    loaded = sftr.from_pretrained(transformers.AutoModelForCausalLM, tmp_path / "small").state_dict()
    first = [torch.from_numpy(values[f"model.layers.0.block_sparse_moe.experts.0.{part}.weight"]) for part in ("w1", "w3")]
    assert torch.equal(loaded["model.layers.0.mlp.experts.gate_up_proj"][0], torch.cat(first))


def test_an_embedding_of_codes_is_not_resized():
    model = llama()
    sftr.quantize_(model, "mxfp4")
    with pytest.raises(ValueError, match="keeps its 120 rows, and can't have 130"):
        model.resize_token_embeddings(130)
    assert model.get_input_embeddings().num_embeddings == model.config.vocab_size == 120


def test_what_a_configuration_says():
    config = sftr.SmallfloatConfig("e4m3fn", scale_format=sf.Format("bfloat16"), granularity="channel", rounding="stochastic-a", seed=np.int64(3))
    told = json.loads(config.to_json_string())
    assert told["scale_format"] == "bfloat16" and told["seed"] == 3
    assert sftr.SmallfloatConfig.from_dict(told).to_dict() == told
    with pytest.raises(TypeError, match=r"write \['lm_head'\]"):
        sftr.SmallfloatConfig("mxfp4", exclude="lm_head")
    for tensors in ([1], {"w": 3}):
        with pytest.raises(ValueError, match="an object for each quantized weight"):
            sftr.SmallfloatConfig(tensors=tensors)
    good = {"format": "e2m1fn", "granularity": "block:32", "shape": [4, 4], "scale": "e8m0fnu", "packing": "nibbles-low"}
    for wrong, what in (({"granularity": "block:x"}, "write tensor, channel"), ({"packing": "x"}, "packing `x` is not known"), ({}, "lacks")):
        with pytest.raises(ValueError, match=f"^0.weight: .*{what}"):
            sft.prepare_(torch.nn.Sequential(torch.nn.Linear(4, 4)), {"0.weight": {**good, **wrong} if wrong else {}})


def test_a_folder_of_another_layout_has_more_than_weights(tmp_path):
    model = llama()
    model.generation_config.max_new_tokens = 7
    sftr.save_pretrained(model, tmp_path / "fp8", "fp8")
    loaded = sftr.from_pretrained(transformers.AutoModelForCausalLM, tmp_path / "fp8", dtype="bfloat16")
    assert loaded.dtype == torch.bfloat16 and loaded.generation_config.max_new_tokens == 7
    assert loaded.config.name_or_path == str(tmp_path / "fp8")
    with pytest.raises(NotADirectoryError, match="a folder on this machine"):
        sftr.from_pretrained(transformers.AutoModelForCausalLM, tmp_path / "none")
    with pytest.raises(TypeError, match="write dtype"):
        sftr.from_pretrained(transformers.AutoModelForCausalLM, tmp_path / "fp8", torch_dtype=torch.float16)
    with pytest.raises(FileNotFoundError, match="the folder does not exist, make it first"):
        sftr.save_pretrained(model, tmp_path / "none" / "fp8", "fp8")


def test_codes_and_their_scales_are_in_one_file(tmp_path):
    model = llama()
    sftr.quantize_(model, "nvfp4")
    for size in range(6, 24):
        folder = tmp_path / str(size)
        sftr.save_pretrained(model, folder, max_shard_size=f"{size}KB")
        values = sf.load_values(folder)
        for name in sft.entries(model):
            module, _, weight = name.rpartition(".")
            assert torch.equal(getattr(model.get_submodule(module), weight), torch.from_numpy(values[name]))
        index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
        held = {name: path.name for path in folder.glob("*.safetensors") for name in safe_open(path, "pt").keys()}
        assert index == held and same_state(model, transformers.AutoModelForCausalLM.from_pretrained(folder))


def test_models_of_other_classes_are_refused(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(4, 4))
    for call in (lambda: sftr.quantize_(net, "mxfp4"), lambda: sftr.save_pretrained(net, tmp_path / "small")):
        with pytest.raises(TypeError, match="a PreTrainedModel of transformers, not Sequential"):
            call()
    assert not sft.entries(net)
