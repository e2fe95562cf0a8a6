"""Checkpoint folders in the layouts of compressed-tensors, decompressed by that library itself.

    schemes-compressed-tensors.py SMALLFLOAT CHECKPOINT_FOLDER WORK_FOLDER

For each format: quantize the folder with the command, let the library read `quantization_config`
from config.json and decompress every module, and compare with what `smallfloat dequantize` gives
for the same file.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import compressed_tensors
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from safetensors.torch import load_file

COMMAND, MODEL, WORK = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
WORK.mkdir(parents=True, exist_ok=True)


def run(*args):
    subprocess.run([COMMAND, *map(str, args)], check=True, stdout=subprocess.DEVNULL)


CASES = [("float-quantized", granularity) for granularity in ("tensor", "channel", "block:64", "block:128x128")]
CASES += [(name, None) for name in ("mxfp8-quantized", "mxfp6-pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized")]

print(f"torch {torch.__version__}, compressed-tensors {compressed_tensors.__version__}")
wrong = 0
for scheme, granularity in CASES:
    folder = WORK / "checkpoint"
    shutil.rmtree(folder, ignore_errors=True)
    run("quantize", MODEL, "-o", folder, "--scheme", scheme, *(["--granularity", granularity] if granularity else []))
    told = json.loads((folder / "config.json").read_text())["quantization_config"]
    config = QuantizationConfig.model_validate(told)
    [group] = config.config_groups.values()
    compressor = BaseCompressor.get_value_from_registry(config.format)
    modules = elements = 0
    for shard in sorted(folder.glob("*.safetensors")):
        run("dequantize", shard, "-o", WORK / "back.safetensors", "--overwrite")
        stored, back = load_file(shard), load_file(WORK / "back.safetensors")
        names = {name.removesuffix("weight_scale") for name in stored if name.endswith("weight_scale")}
        for module in sorted(names):
            local = {name.removeprefix(module): t for name, t in stored.items() if name.startswith(module)}
            local = {name: t for name, t in local.items() if name.startswith("weight")}
            theirs = compressor.decompress(local, group)["weight"]
            ours = back[module + "weight"]
            if not torch.equal(theirs.to(torch.float64), ours.to(torch.float64)):
                wrong += 1
                off = (theirs.to(torch.float64) - ours.to(torch.float64)).abs().max()
                print(f"WRONG: {scheme} {granularity or ''} {module}weight, off by up to {off:g}")
            modules, elements = modules + 1, elements + ours.numel()
    if modules == 0:
        wrong += 1
    print(f"{scheme:<22} {granularity or '':<14} {modules:3} modules {elements:12,} elements, {len(config.ignore)} ignored")
print(f"{wrong} wrong")
sys.exit(wrong != 0)
