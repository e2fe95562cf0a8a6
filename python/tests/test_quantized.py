"""Bias choice, scales, quantized tensors and files."""

import errno
import json
import os
import re
import tempfile
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open

import smallfloat as sf

RNG = np.random.default_rng(11)
X = (RNG.standard_normal((48, 70)) * np.exp2(RNG.uniform(-6, 3, (48, 1)))).astype(np.float32)


@pytest.mark.parametrize("fmt", ["cfloat8_1_4_3", "cfloat8_1_5_2"])
def test_choice_of_the_bias(fmt):
    chosen = sf.choose_bias(X, fmt)
    errors = [np.sum((X - sf.round(X, sf.Format(fmt, bias=b))).astype(np.float64) ** 2) for b in range(64)]
    assert errors[chosen.bias] == min(errors)
    amax = sf.choose_bias(X, fmt, "amax")
    assert sf.Format(fmt, bias=amax.bias).max >= np.abs(X).max() > sf.Format(fmt, bias=amax.bias + 1).max
    assert sf.choose_bias(X, fmt, 5).bias == 5
    with pytest.raises(ValueError, match="auto, amax"):
        sf.choose_bias(X, fmt, "best")
    with pytest.raises(ValueError, match="whose bias is data"):
        sf.choose_bias(X, "e4m3fn")


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8-e4m3", "nvfp4"])
def test_one_dimension_is_a_row(tmp_path, fmt):
    x = RNG.standard_normal(71).astype(np.float32)
    row, q = sf.quantize(x[None], fmt), sf.quantize(x, fmt)
    assert np.array_equal(row.codes[0], q.codes) and np.array_equal(row.scales, q.scales)
    assert np.array_equal(row.dequantize()[0], q.dequantize())
    q.save(tmp_path / "q.safetensors", "x")
    sf.verify(tmp_path / "q.safetensors")
    assert np.array_equal(sf.load(tmp_path / "q.safetensors")["x"].dequantize(), q.dequantize())
    assert sf.quantize(np.float32(3), fmt).dequantize() == 3
    # Blocks of any length: the limits of layouts are those of files.
    assert sf.quantize(x, "mxfp4-pack-quantized", granularity="block:7").scales.shape == (1, 11)


def test_no_files_and_little_memory(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    x = RNG.standard_normal((1024, 512)).astype(np.float32)
    for fmt in ("mxfp8-e4m3", "nvfp4", "cfloat8_1_4_3", "shp"):
        q = sf.quantize(x, fmt, threads=1)
        tracemalloc.start()
        sf.quantize(x, fmt, threads=1)
        # What NumPy has allocated: the result.
        assert tracemalloc.get_traced_memory()[1] < 1.2 * q.codes.nbytes
        tracemalloc.stop()


def test_errors_of_files_have_numbers(tmp_path):
    missing = tmp_path / "missing.safetensors"
    for call in (
        lambda: sf.load(missing),
        lambda: sf.verify(missing),
        lambda: sf.quantize_file(missing, tmp_path / "new.safetensors"),
        lambda: sf.dequantize_file(missing, tmp_path / "new.safetensors"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(missing))
    for call in (
        lambda: sf.save(tmp_path / "no" / "x.safetensors", {"x": X}),
        lambda: sf.quantize_file(missing, tmp_path / "no" / "x.safetensors"),
        lambda: sf.dequantize_file(missing, tmp_path / "no" / "x.safetensors"),
    ):
        with pytest.raises(FileNotFoundError, match="folder does not exist") as caught:
            call()
        assert caught.value.filename == str(tmp_path / "no")
    there = tmp_path / "there.safetensors"
    sf.save(there, {"x": np.ones(2, np.float32)})
    with pytest.raises(FileExistsError) as caught:
        sf.save(there, {"x": np.ones(2, np.float32)})
    assert (caught.value.errno, caught.value.filename) == (errno.EEXIST, str(there))
    with pytest.raises(NotADirectoryError) as caught:
        sf.load(there / "below")
    assert caught.value.errno == errno.ENOTDIR


CASES = [
    {"fmt": "cfloat8_1_4_3"},
    {"fmt": "cfloat8_1_5_2", "granularity": "channel", "bias": "amax"},
    {"fmt": "cfloat8_1_4_3", "granularity": "block:7x32", "rounding": "stochastic-a", "seed": 3},
    {"fmt": "shp", "bias": 40},
    {"fmt": "e4m3fn", "granularity": "channel", "scale_format": "binary32"},
    {"fmt": "e2m3fn", "granularity": "block:32", "scale_format": "e8m0fnu"},
    {"fmt": "mxfp4"},
    {"fmt": "mxfp8-e4m3"},
    {"fmt": "nvfp4"},
    {"fmt": "binary8p3se"},
    {"fmt": "nf4"},
    {"fmt": "sf4", "granularity": "channel"},
    {"fmt": "int4", "granularity": "block:10"},
    {"fmt": "int8"},
    {"fmt": "mxint8"},
]


@pytest.mark.parametrize("how", CASES, ids=lambda how: how["fmt"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_in_memory_as_in_files(tmp_path, how, dtype):
    if how["fmt"] not in sf.schemes and not _is_format(how["fmt"]):
        pytest.fail(f"{how['fmt']} is neither a format nor a scheme: {list(sf.schemes)}")
    q = sf.quantize(X, name="w", **how)
    assert q.shape == q.codes.shape == X.shape
    path = tmp_path / "q.safetensors"
    q.save(path, "w")
    sf.verify(path)
    sf.dequantize_file(path, tmp_path / "back.safetensors", dtype, rounding="nearest-even")
    expected = _tensor(tmp_path / "back.safetensors", "w", dtype)
    ours = q.dequantize(getattr(ml_dtypes, dtype, dtype))
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours.astype(np.float64), expected.astype(np.float64))
    again = sf.QuantizedTensor.load(path)
    assert np.array_equal(again.codes, q.codes) and again.format == q.format


def _is_format(name):
    return name.startswith(("cfloat", "shp", "e", "binary"))


def _tensor(path, name, dtype):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[name]
        file.seek(8 + size + entry["data_offsets"][0])
        data = file.read(entry["data_offsets"][1] - entry["data_offsets"][0])
    return np.frombuffer(data, getattr(ml_dtypes, dtype, dtype)).reshape(entry["shape"])


def test_mx_by_numpy():
    """OCP Microscaling Formats 1.0, section 6.3, from its text."""
    x = X[:, :64]
    q = sf.quantize(x, "mxfp8-e4m3")
    blocks = x.reshape(48, 2, 32).astype(np.float64)
    exponent = np.floor(np.log2(np.abs(blocks).max(axis=-1))) - 8
    assert np.array_equal(q.scales.reshape(48, 2), (exponent + 127).astype(np.uint8))
    elements = np.clip(blocks / np.exp2(exponent)[..., None], -448, 448).astype(np.float32)
    assert np.array_equal(q.codes.reshape(48, 2, 32), elements.astype(ml_dtypes.float8_e4m3fn).view(np.uint8))


def test_report_and_refusals():
    assert sf.quantize(X).report is None
    q = sf.quantize(X, report=True)
    error = X - q.dequantize()
    sqnr = 10 * np.log10(np.sum(X.astype(np.float64) ** 2) / np.sum(error.astype(np.float64) ** 2))
    assert q.report["sqnr_db"] == pytest.approx(sqnr, abs=1e-6)
    with pytest.raises(ValueError, match="(?i)nan"):
        sf.quantize(np.array([1.0, np.nan]))
    assert sf.quantize(np.array([1.0, np.nan]), nonfinite="preset").codes.shape == (2,)
    with pytest.raises(ValueError, match="there are no scales"):
        sf.quantize(X, scale_rule="amax")
    with pytest.raises(TypeError, match="granularty"):
        sf.quantize(X, granularty="channel")
    for shape in ((), (5,), (0, 3), (2, 3, 4)):
        x = RNG.standard_normal(shape).astype(np.float16)
        assert sf.quantize(x).dequantize(np.float32).shape == shape


@pytest.mark.parametrize("shape", [(3, 7), (9, 1), (5,), (2, 3, 4), (0, 3), ()])
@pytest.mark.parametrize("how", [*CASES, {"fmt": "e2m1fn", "granularity": "channel", "scale_format": "binary32"}], ids=str)
def test_codes_are_stored_as_no_model_has_them(tmp_path, how, shape):
    x, path = RNG.standard_normal(shape).astype(np.float32), tmp_path / "q.safetensors"
    q = sf.quantize(x, name="w", **how)
    assert q.shape == q.codes.shape == q.dequantize().shape == shape
    q.save(path, "w")
    with safe_open(path, "np") as file:
        stored = file.get_tensor("w")
    assert stored.ndim == max(len(shape), 1) + 1 and stored.shape[-1] == 1 and stored.shape != shape
    sf.dequantize_file(path, tmp_path / "back.safetensors", np.float32, rounding="nearest-even")
    assert np.array_equal(_tensor(tmp_path / "back.safetensors", "w", "float32"), q.dequantize())
    # Without dimensions of 1, as in files of before, it is read; in another shape it is not. Rows
    # of channels that are packed across dimensions have two of them.
    scalar = not shape and "packing" not in q._entry
    before = () if scalar else {(2, 6, 1, 1): (2, 6)}.get(stored.shape, stored.shape[:-1])
    q._parts[""] = stored.reshape(before)
    q.save(path, "w", overwrite=True)
    assert np.array_equal(sf.load(path)["w"].dequantize(), q.dequantize())
    q._parts[""] = stored.reshape(1, *stored.shape)
    q.save(path, "w", overwrite=True)
    with pytest.raises(ValueError, match="have the shape"):
        sf.load(path)


def test_groups_that_are_flushed_and_scales_that_overflow():
    """microxcaling's options, from its text: blocks of which the largest is subnormal, and scales
    beyond their format."""
    x = np.zeros((6, 32), np.float32)
    x[:, :2] = np.array([1.5 * 2.0**-127, 2.0**-126, 2.0**-140, 3.0, 0, 1.0])[:, None]
    x[3, 5], x[5, 7] = np.inf, np.nan
    plain = sf.quantize(x[:3], "mxfp8-e5m2").dequantize()
    flushed = sf.quantize(x[:3], "mxfp8-e5m2", flush="groups").dequantize()
    assert plain[0, 0] > 0 and not flushed[[0, 2]].any() and np.array_equal(flushed[1], plain[1])
    tensor = sf.quantize(x[:3], "mxfp8-e5m2", flush="groups", granularity="tensor").dequantize()
    assert tensor[0, 0] > 0
    q = sf.quantize(x, "mxfp4", scale_overflow="nan")
    assert np.isnan(q.dequantize()).all(axis=1).tolist() == [False, False, False, True, False, True]
    # Scales of five bits: 2**-15 to 2**15, and elements up to 2**2 times 1.5.
    narrow = sf.Format.minifloat(5, 1, 15, signed=False, specials="e8m0", subnormals="none")
    y = np.zeros((5, 8), np.float32)
    y[:, 0] = [2.0**17, 1.75 * 2.0**17, 2.0**18, 2.0**40, -(2.0**18)]
    for how, overflows in (({"scale_overflow": "nan"}, [0, 0, 1, 1, 1]), ({}, [0] * 5)):
        q = sf.quantize(y, "e2m1fn", granularity="block:8", scale_format=narrow, scale_rule="floor", **how)
        assert np.isnan(q.dequantize()).all(axis=1).tolist() == overflows
    assert q.dequantize()[3, 0] == 6 * 2.0**15
    with pytest.raises(ValueError, match="'groups'"):
        sf.quantize(x, "mxfp4", flush="blocks")
    with pytest.raises(ValueError, match="'saturate'"):
        sf.quantize(x, "mxfp4", scale_overflow="inf")
    with pytest.raises(ValueError, match="for scales by the rules"):
        sf.quantize(x, "nvfp4", scale_overflow="nan")


def test_files(tmp_path):
    source, target = tmp_path / "x.safetensors", tmp_path / "q.safetensors"
    sf.save(source, {"a.weight": X, "b.weight": X[:3], "step": np.arange(4)})
    report = sf.quantize_file(source, target, "cfloat8_1_4_3", exclude=["b.*"])
    assert report["totals"]["quantized"] == 1 and report["totals"]["copied"] == 2
    with pytest.raises(FileExistsError):
        sf.quantize_file(source, target)
    with safe_open(target, "np") as file:
        assert set(file.keys()) == {"a.weight", "a.weight_bias", "b.weight", "step"}
        assert np.array_equal(file.get_tensor("b.weight"), X[:3])
    assert np.array_equal(sf.load(target)["a.weight"].codes, sf.quantize(X, name="a.weight").codes)
    with pytest.raises(OSError):
        sf.quantize_file(tmp_path / "none.safetensors", target)
    with pytest.raises(ValueError, match="no tensors quantized"):
        sf.load(source)


def test_the_reading_of_subnormals_is_kept(tmp_path):
    """Codes quantized with gradual subnormals are decoded so, not by Tesla's formula."""
    x = np.float32(2.0) ** np.arange(-12, 1, dtype=np.float32)[None]
    fmt = sf.Format("cfloat8_1_4_3", bias=7, subnormals="gradual")
    for config in ({"fmt": fmt}, {"fmt": "cfloat8_1_4_3:subnormals=gradual", "bias": 7, "granularity": "channel"}):
        q = sf.quantize(x, **config)
        assert np.array_equal(q.dequantize(), sf.round(x, fmt))
        q.save(tmp_path / "q.safetensors", overwrite=True)
        assert np.array_equal(sf.load(tmp_path / "q.safetensors")["tensor"].dequantize(), sf.round(x, fmt))


def test_lists_of_values():
    """Ends of NF4, NumPy's integers, and codes by the least distance in float64."""
    nf4 = sf.value_lists["nf4"]
    assert nf4.dtype == np.float32 and not nf4.flags.writeable and nf4[[0, 7, 15]].tolist() == [-1, 0, 1]
    assert np.array_equal(sf.value_lists["int8"], np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32))
    for fmt, block in [("nf4", 64), ("sf4", 64), ("int4", 64), ("nf4", 10)]:
        x = RNG.standard_normal((6, 640)).astype(np.float32)
        q = sf.quantize(x, fmt, granularity=f"block:{block}")
        assert q.format == fmt and q.scale_format == "binary32" and q.nbytes == x.size // 2 + x.size // block * 4
        values, groups = sf.value_lists[fmt].astype(np.float64), x.reshape(-1, block).astype(np.float64)
        largest = min(-values.min(), values.max())
        scales = (np.abs(groups).max(1) / largest).astype(np.float32)
        assert np.array_equal(q.scales.reshape(-1), scales)
        distances = np.abs((groups / scales[:, None].astype(np.float64))[..., None] - values)
        assert np.array_equal(q.codes.reshape(-1, block), distances.argmin(-1))
        expected = (values[q.codes.reshape(-1, block)] * scales[:, None].astype(np.float64)).astype(np.float32)
        assert np.array_equal(q.dequantize().reshape(-1, block), expected)
    with pytest.raises(ValueError, match="nf4 is a list of values"):
        sf.quantize(X, "nf4").array
    with pytest.raises(ValueError, match="one way to round"):
        sf.quantize(X, "nf4", rounding="toward-zero")
    assert not sf.quantize(X * np.float32(2.0**-140), "mxint8", flush="groups").codes.any()
    with pytest.raises(ValueError, match="scale_overflow='nan' is for formats"):
        sf.quantize(X, "mxint8", scale_overflow="nan")


def test_values_of_files_in_every_layout(tmp_path):
    model = {"a.weight": RNG.standard_normal((128, 256)), "a.bias": RNG.standard_normal(128), "step": np.arange(3)}
    source = tmp_path / "model.safetensors"
    sf.save(source, {name: x.astype(np.float32) if name != "step" else x for name, x in model.items()})
    read = sf.load_values(source)
    assert list(read) == ["a.weight", "a.bias"] and np.array_equal(read["a.bias"], model["a.bias"].astype(np.float32))
    with pytest.raises(ValueError, match="step"):
        sf.load_values(source, include=["step"])
    with pytest.raises(ValueError, match="b.\\*"):
        sf.load_values(source, include=["b.*"])
    sf.quantize_file(source, tmp_path / "half.gguf", "gguf-f16")
    assert np.array_equal(sf.load_values(tmp_path / "half.gguf", np.float16)["a.weight"], read["a.weight"].astype(np.float16))
    # These are of tensors with three dimensions, and hold floats.
    others = ("gpt-oss", "deepseek-v4-experts", "gguf-f16", "gguf-bf16")
    layouts = [name for name in sf.schemes if name not in others]
    assert len(layouts) > 35
    for scheme in layouts:
        small, wide = tmp_path / f"{scheme}.{'gguf' if 'gguf' in scheme else 'safetensors'}", tmp_path / "wide.safetensors"
        sf.quantize_file(source, small, scheme, overwrite=True, include=["a.weight"])
        for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
            values = sf.load_values(small, dtype, include=["a.weight"])["a.weight"]
            assert values.dtype == dtype and values.shape == (128, 256)
            # Another way to the same numbers; other packages' readers judge the layouts themselves.
            sf.dequantize_file(small, wide, dtype, rounding="nearest-even", overwrite=True)
            with open(wide, "rb") as file:
                head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                start, end = head["a.weight"]["data_offsets"]
                expected = np.frombuffer(file.read()[start:end], dtype).reshape(128, 256)
            assert np.array_equal(values, expected), (scheme, dtype)
    with pytest.raises(ValueError, match="load_values"):
        sf.load(tmp_path / "modelopt-nvfp4.safetensors")


def test_paths_of_bytes(tmp_path):
    """As everywhere in Python: also names that are no UTF-8."""
    names = [os.fsencode(tmp_path / name) for name in ("a.safetensors", "b.safetensors", "c.safetensors")]
    if os.name == "posix":
        names[1] = names[1].replace(b"/b", b"/\xff")
    wide, small, back = names
    sf.save(wide, {"w": X})
    sf.quantize_file(wide, small, "mxfp4")
    assert sf.load(small)["w"].format == "e2m1fn" and sf._core.verify(small)[0] == 1
    assert sf.dequantize_file(small, back) == os.stat(back).st_size
    assert np.array_equal(sf.load_values(back)["w"], sf.quantize(X, "mxfp4").dequantize())
    assert sf.plan(wide, os.fsencode(tmp_path / "out"), "mxfp4").output == str(tmp_path / "out")
    with pytest.raises(ValueError, match=f"^{re.escape(os.fsdecode(wide))} has no tensors quantized"):
        sf.load(wide)
    with pytest.raises(TypeError, match="not int"):
        sf.load(3)


def test_a_broken_configuration(tmp_path):
    (tmp_path / "in").mkdir()
    sf.save(tmp_path / "in" / "model.safetensors", {"w": X})
    (tmp_path / "in" / "config.json").write_text('{"a":', "utf-8")
    with pytest.raises(ValueError, match=r"config.json`: is broken, it is no JSON: EOF .* line 1 column 5"):
        sf.quantize_file(tmp_path / "in", tmp_path / "out", "mxfp4")
