//! Files and folders that say two things, or lack a part: each is refused, or read as what decides
//! in the programs that it is for. What codes stand for is computed here from the formats' texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{File, Random, Tensor};
use crate::layout::layouts::{FromBytes as _, gguf};
use safetensors::Dtype as T;
use serde_json::{Value, json};
use smallfloat_tensor::{
    Dtype, Options, Scheme, Sharding, View, apply, dequantize, examine, finalize, open_checkpoint, plan,
    quantize, verify,
};

fn u8s(shape: &[usize], bytes: Vec<u8>) -> Tensor {
    Tensor::new(T::U8, shape, bytes)
}

fn text(text: &str) -> Tensor {
    u8s(&[text.len()], text.as_bytes().to_vec())
}

fn f32s(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::f32(values).shaped(shape)
}

/// Neither verified nor healthy.
fn refused(path: &Path, part: &str) {
    let error = verify(path).unwrap_err().to_string();
    assert!(error.contains(part), "{part}: {error}");
    let found = examine(&[path], None, &mut |_| ()).unwrap();
    assert!(!found.is_empty(), "{part}: the doctor finds nothing");
}

/// Two matrices of ones and twos in a folder, quantized.
fn quantized(folder: &Path, scheme: &str) -> PathBuf {
    let (input, output) = (folder.join("in"), folder.join(scheme));
    if !input.exists() {
        fs::create_dir(&input).unwrap();
        let (shards, mut map) = (["model-00001-of-00002", "model-00002-of-00002"], serde_json::Map::new());
        for (i, shard) in shards.iter().enumerate() {
            let (name, shard) = (format!("model.layers.{i}.q.weight"), format!("{shard}.safetensors"));
            let values: Vec<f32> = (0..64 * 256).map(|i| [1.0, 2.0, 1.5, -6.0][i % 4]).collect();
            File::of([(name.clone(), f32s(&values, &[64, 256]))]).write(&input.join(&shard));
            map.insert(name, shard.into());
        }
        let index = json!({ "metadata": {}, "weight_map": map });
        fs::write(input.join("model.safetensors.index.json"), index.to_string()).unwrap();
        fs::write(input.join("config.json"), json!({ "model_type": "llama" }).to_string()).unwrap();
    }
    let options = Options { overwrite: true, ..scheme.parse::<Scheme>().unwrap().options() };
    quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
    verify(&output).unwrap();
    output
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Quark's FP6 is one of two formats of six bits, which bytes do not tell: E2M3 with the bias 1, or
/// E3M2 with the bias 3 (OCP Microscaling Formats 1.0, section 5.3.2).
#[test]
fn quark_says_which_fp6_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let output = tempfile::tempdir().unwrap();
    let (path, wide) = (folder.path().join("model.safetensors"), output.path().join("wide.safetensors"));
    // Codes 0x15 and 0x2a, then zeros; scales 1 and 2.
    let mut codes = vec![0; 48];
    codes[..2].copy_from_slice(&(0x15_u16 | 0x2a << 6).to_le_bytes());
    (codes[24], codes[25]) = (codes[0], codes[1]);
    File::of([("a.q.weight", u8s(&[2, 24], codes)), ("a.q.weight_scale", u8s(&[2, 1], vec![127, 128]))])
        .write(&path);
    // E2M3: exponent 2, significand 1.625; exponent 1, 1.25. E3M2: exponent 5, 1.25; 2, 1.5.
    let of = |dtype| match dtype {
        "fp6_e2m3" => [3.25, -1.25],
        _ => [5.0, -0.75],
    };
    let config = |quantization: Value| {
        let text = json!({ "quantization_config": quantization }).to_string();
        fs::write(folder.path().join("config.json"), text).unwrap();
    };
    let weight = |dtype: &str| json!({ "weight": { "dtype": dtype, "group_size": 32 } });
    for dtype in ["fp6_e2m3", "fp6_e3m2"] {
        let other = if dtype == "fp6_e2m3" { "fp6_e3m2" } else { "fp6_e2m3" };
        for said in [
            json!({ "quant_method": "quark", "global_quant_config": weight(dtype) }),
            json!({ "quant_method": "quark", "global_quant_config": weight(other),
                "layer_quant_config": { "b.*": weight(other), "a.?": weight(dtype) } }),
        ] {
            config(said);
            verify(folder.path()).unwrap();
            let values = View::open(&path).unwrap().values("a.q.weight").unwrap();
            let [a, b] = of(dtype);
            assert_eq!((&values[..3], &values[32..35]), (&[a, b, 0.0][..], &[2.0 * a, 2.0 * b, 0.0][..]));
            dequantize(&path, &wide, Dtype::F32, None, true, &mut |_| ()).unwrap();
            assert_eq!(File::read(&wide).tensors["a.q.weight"].numbers(), values);
        }
    }
    for said in [
        json!({ "quant_method": "quark" }),
        json!({ "quant_method": "quark", "global_quant_config": weight("int6") }),
        json!({ "quant_method": "quark", "global_quant_config": { "weight": [] } }),
        Value::Null,
    ] {
        config(said);
        refused(&path, "its codes may be of e2m3fn or e3m2fn");
    }
    fs::remove_file(folder.path().join("config.json")).unwrap();
    refused(&path, "its codes may be of e2m3fn or e3m2fn");
}

/// What a configuration says of codes and blocks is held against every layout that it goes with.
#[test]
fn configurations_of_other_codes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let group = "/quantization_config/config_groups/group_0";
    let weights = |key: &str| format!("{group}/weights/{key}");
    let quark = |key: &str| format!("/quantization_config/global_quant_config/weight/{key}");
    let of_all = |key: &str| format!("/quantization_config/{key}");
    for (scheme, key, value, part) in [
        ("modelopt-fp8", of_all("quant_algo"), json!("NVFP4"), "has codes of 8 bits, and"),
        ("modelopt-nvfp4", of_all("quant_algo"), json!("FP8"), "has codes of 4 bits, and"),
        ("modelopt-nvfp4", of_all("group_size"), json!(32), "has the group_size 16, and"),
        ("quark-mxfp4", quark("dtype"), json!("fp8_e4m3"), "has codes of e2m1fn, and"),
        ("quark-mxfp4", quark("dtype"), json!("int4"), "has codes of e2m1fn, and"),
        ("quark-mxfp4", quark("group_size"), json!(16), "has the group_size 32, and"),
        ("bnb-nf4", of_all("bnb_4bit_quant_type"), json!("fp4"), "has codes of NF4 (bitsandbytes), and"),
        ("bnb-fp4", of_all("bnb_4bit_quant_type"), json!("nf4"), "has codes of FP4 (bitsandbytes), and"),
        ("nvfp4-pack-quantized", of_all("quant_method"), json!("modelopt"), "`quant_method` is `modelopt`"),
        ("mxfp6-pack-quantized", of_all("quant_method"), json!("fp8"), "`quant_method` is `fp8`"),
        ("deepseek", of_all("fmt"), json!("e5m2"), "has codes of e4m3fn, and"),
        ("float-quantized", weights("type"), json!("int"), "has codes of the type float, and"),
        ("float-quantized", weights("num_bits"), json!(4), "has the num_bits 8, and"),
        ("float-quantized", weights("strategy"), json!("tensor"), "has scales of channel, and"),
        ("mxfp8-quantized", weights("group_size"), json!(64), "has scales of block:32, and"),
        ("mxfp6-pack-quantized", weights("strategy"), json!("channel"), "has scales of block:32, and"),
        ("nvfp4-pack-quantized", weights("group_size"), json!(32), "has scales of block:16, and"),
        (
            "nvfp4-pack-quantized",
            format!("{group}/format"),
            json!("mxfp4-pack-quantized"),
            "is in the format nvfp4-pack-quantized, and",
        ),
        (
            "mxfp4-pack-quantized",
            format!("{group}/format"),
            json!("nvfp4-pack-quantized"),
            "is in the format mxfp4-pack-quantized, and",
        ),
    ] {
        let output = quantized(folder.path(), scheme);
        edit(&output.join("config.json"), |config| {
            *config.pointer_mut(&key).unwrap_or_else(|| panic!("{key}")) = value;
        });
        refused(&output, part);
    }
    let output = quantized(folder.path(), "bnb-nf4");
    edit(&output.join("config.json"), |config| {
        let said = &mut config["quantization_config"];
        (said["load_in_4bit"], said["load_in_8bit"]) = (json!(false), json!(true));
    });
    refused(&output, "says `load_in_8bit`");
    // Codes that no method is known for, and codes without scales.
    let said = json!({ "quant_method": "fp8", "weight_block_size": [128, 128] });
    let output = quantized(folder.path(), "mxfp4-typed");
    edit(&output.join("config.json"), |config| config["quantization_config"] = said.clone());
    refused(&output, "has codes of 4 bits, and `config.json` says `fp8`");
    let output = quantized(folder.path(), "plain-e4m3");
    edit(&output.join("config.json"), |config| config["quantization_config"] = said);
    verify(&output).unwrap();
    // One group of several is enough, and what is not known says nothing.
    let output = quantized(folder.path(), "nvfp4-pack-quantized");
    edit(&output.join("config.json"), |config| {
        let groups = &mut config["quantization_config"]["config_groups"];
        groups["group_1"] = json!({ "format": "float-quantized",
            "weights": { "num_bits": 8, "type": "float", "strategy": "channel" } });
    });
    verify(&output).unwrap();
    let output = quantized(folder.path(), "modelopt-nvfp4");
    edit(&output.join("config.json"), |config| {
        config["quantization_config"]["quant_algo"] = json!("MIXED_PRECISION");
    });
    verify(&output).unwrap();
}

/// Numbers of FP8 that are not of a quantized module are what their dtype says; where the
/// configuration says that the module is quantized, they are other codes than it tells.
#[test]
fn fp8_numbers_of_other_modules_contradict_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    fs::create_dir(&input).unwrap();
    let values: Vec<f32> = (0..64 * 256).map(|i| [1.0, 2.0, 1.5, -6.0][i % 4]).collect();
    let fp8 = || Tensor::new(T::F8_E4M3, &[8, 64], vec![0x38; 8 * 64]);
    let tensors = [("a.q.weight", f32s(&values, &[64, 256])), ("a.o.weight", fp8()), ("a.k_cache", fp8())];
    File::of(tensors).write(&input.join("model.safetensors"));
    fs::write(input.join("config.json"), json!({ "model_type": "llama" }).to_string()).unwrap();
    let output = |scheme: &str| {
        let output = folder.path().join(scheme);
        let options = scheme.parse::<Scheme>().unwrap().options();
        quantize(&input, &output, &options, &|name| name == "a.q.weight", &mut |_| ()).unwrap();
        output
    };
    for scheme in ["nvfp4-pack-quantized", "modelopt-nvfp4", "quark-mxfp4", "bnb-nf4", "deepseek"] {
        let output = output(scheme);
        verify(&output).unwrap();
        assert_eq!(examine(&[output], None, &mut |_| ()).unwrap(), [], "{scheme}");
    }
    let output = output("mxfp4-pack-quantized");
    verify(&output).unwrap();
    edit(&output.join("config.json"), |config| config["quantization_config"]["ignore"] = json!([]));
    refused(&output, "tensor `a.o.weight`: has the num_bits 8, and `config.json` says 4");
}

/// Moves tensors from the first shard of a folder of two to the second, in the index too.
fn moved(output: &Path, suffixes: &[&str]) -> [PathBuf; 2] {
    let files = [1, 2].map(|i| output.join(format!("model-0000{i}-of-00002.safetensors")));
    let [mut one, mut two] = files.each_ref().map(|path| File::read(path));
    let moved = |name: &String| suffixes.iter().any(|suffix| name.ends_with(suffix));
    let names: Vec<String> = one.tensors.keys().filter(|name| moved(name)).cloned().collect();
    assert_eq!(names.len(), suffixes.len(), "{suffixes:?}");
    for name in &names {
        two.tensors.insert(name.clone(), one.tensors.remove(name).unwrap());
    }
    one.write(&files[0]);
    two.write(&files[1]);
    edit(&output.join("model.safetensors.index.json"), |index| {
        for name in names {
            index["weight_map"][name] = json!("model-00002-of-00002.safetensors");
        }
    });
    files
}

/// The tensors of a folder.
fn tensors(folder: &Path) -> BTreeMap<String, Tensor> {
    let files = ["model-00001-of-00002", "model-00002-of-00002"];
    files.iter().flat_map(|file| File::read(&folder.join(format!("{file}.safetensors"))).tensors).collect()
}

/// Codes may have their scales in another file of the checkpoint; without it they are other
/// numbers.
#[test]
fn scales_in_another_file_are_read() {
    for (scheme, suffixes) in [
        ("fp8", &["_scale"][..]),
        ("deepseek", &["_scale_inv"]),
        ("deepseek-v4", &[".scale"]),
        ("gpt-oss", &["_scales"]),
        ("quark-mxfp4", &["_scale"]),
        ("modelopt-nvfp4", &["_scale", "_scale_2"]),
        ("modelopt-nvfp4", &["_scale_2"]),
        ("nvfp4-pack-quantized", &["_scale", "_global_scale"]),
        ("comfy-scaled-fp8", &[".scale_weight"]),
        ("comfy-mxfp8", &["_scale"]),
        ("mxfp4-typed", &["_scale"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = quantized(folder.path(), scheme);
        let [wide, wide_moved, again] = ["wide", "moved", "again"].map(|name| folder.path().join(name));
        let widen = |wide: &Path| dequantize(&output, wide, Dtype::F64, None, true, &mut |_| ()).unwrap();
        let (whole, counts) = (widen(&wide), verify(&output).unwrap());
        let files = moved(&output, suffixes);
        assert_eq!(verify(&output).unwrap(), counts, "{scheme}");
        let found = examine(&[&output], None, &mut |_| ()).unwrap();
        assert_eq!(found, [], "{scheme}");
        assert_eq!(widen(&wide_moved).rounded, whole.rounded, "{scheme}");
        assert_eq!(tensors(&wide_moved), tensors(&wide), "{scheme}");
        let views = open_checkpoint(&output).unwrap();
        assert_eq!(views.iter().map(|view| view.tensors().len()).sum::<usize>(), 2, "{scheme}");
        // Quantized again, at once and in shards: all of it is written as if it had been in place.
        let options = Options { overwrite: true, ..Options::new("e4m3fn".parse().unwrap()) };
        quantize(&output, &again, &options, &|_| true, &mut |_| ()).unwrap();
        verify(&again).unwrap();
        let plan =
            plan(&output, folder.path().join("planned"), &options, &|_| true, Sharding::Files).unwrap();
        for shard in 0..2 {
            apply(&plan, shard, true, &mut |_| ()).unwrap();
        }
        finalize(&plan, true, &mut |_| ()).unwrap();
        assert_eq!(tensors(&folder.path().join("planned")), tensors(&again), "{scheme}");
        // A file alone.
        let named = "are in `model-00002-of-00002.safetensors` by the index: name the folder";
        refused(&files[0], if scheme == "comfy-mxfp8" { "its scales are not those of it" } else { named });
        // The index of another file says nothing of this one.
        let alone = folder.path().join("alone.safetensors");
        fs::copy(&files[0], &alone).unwrap();
        drop(View::open(&alone));
        // Scales of another shape, or of a dtype that no reader knows.
        let two = File::read(&files[1]);
        for change in
            [|tensor: &mut Tensor| tensor.dtype = T::BOOL, |tensor: &mut Tensor| tensor.shape.push(0)]
        {
            let mut file = two.clone();
            let tensor =
                file.tensors.iter_mut().find(|(name, _)| name.starts_with("model.layers.0")).unwrap().1;
            change(tensor);
            let bits = tensor.dtype.bitsize() / 8;
            tensor.bytes.resize(tensor.shape.iter().product::<usize>() * bits, 0);
            file.write(&files[1]);
            assert!(verify(&output).is_err(), "{scheme}");
        }
    }
}

/// Shards are counted from 1, or from 0, and all are there.
#[test]
fn the_last_shard_is_missed() {
    for (numbers, count, missing) in
        [([1, 2], 2, None), ([0, 1], 2, None), ([1, 2], 3, Some(3)), ([0, 1], 3, Some(2))]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = quantized(folder.path(), "fp8");
        let name = |number: u32, count: u32| format!("model-{number:05}-of-{count:05}.safetensors");
        // The later first, so that none takes the place of another.
        let moves = if numbers[0] == 0 {
            [(1, numbers[0]), (2, numbers[1])]
        } else {
            [(2, numbers[1]), (1, numbers[0])]
        };
        for (from, to) in moves {
            fs::rename(output.join(name(from, 2)), output.join(name(to, count))).unwrap();
        }
        edit(&output.join("model.safetensors.index.json"), |index| {
            for file in index["weight_map"].as_object_mut().unwrap().values_mut() {
                let number = if *file == json!(name(1, 2)) { numbers[0] } else { numbers[1] };
                *file = json!(name(number, count));
            }
        });
        match missing {
            None => drop(verify(&output).unwrap()),
            Some(number) => refused(&output, &format!("of its {count} shards number {number} is missing")),
        }
    }
}

/// A file of a matrix that is read, so that something is verified, and of these tensors.
fn with_others(path: &Path, others: &[(&str, Tensor)]) {
    let whole = [
        ("z.weight", Tensor::new(T::F8_E4M3, &[1, 2], vec![0x38; 2])),
        ("z.weight_scale", f32s(&[2.0], &[1])),
    ];
    File::of(whole.into_iter().chain(others.iter().cloned())).write(path);
}

#[test]
fn parts_without_the_others_are_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let (codes, e4m3s) = (u8s(&[2, 16], vec![0; 32]), Tensor::new(T::F8_E4M3, &[2, 2], vec![0x38; 4]));
    let fp8 = Tensor::new(T::F8_E4M3, &[2, 2], vec![0x38; 4]);
    let (one, sixteen) = (f32s(&[1.0], &[1]), f32s(&[0.5; 16], &[16]));
    let no_layout = "and no layout that is read has such codes";
    for (others, part) in [
        (vec![("m.weight", codes.clone())], no_layout),
        (
            vec![("m.weight", Tensor::new(T::I8, &[2, 2], vec![1; 4])), ("m.weight_scale", one.clone())],
            "`m.weight",
        ),
        (vec![("m.weight_packed", codes.clone())], no_layout),
        (vec![("m_blocks", u8s(&[2, 1, 16], vec![0; 32]))], no_layout),
        (vec![("m.weight", codes.clone()), ("m.weight_scale", e4m3s.clone())], "`m.weight"),
        (vec![("m.weight", codes.clone()), ("m.weight.absmax", one.clone())], "bitsandbytes"),
        (vec![("m.weight.quant_map", sixteen.clone())], "bitsandbytes"),
        (vec![("m.weight.nested_absmax", one.clone())], "bitsandbytes"),
        (vec![("m.weight.nested_quant_map", sixteen)], "bitsandbytes"),
        (vec![("m.weight.quant_state.bitsandbytes__int8", text("{}"))], "bitsandbytes"),
        (vec![("m.weight_scale", e4m3s.clone())], "belongs to `m.weight` by its name"),
        (vec![("m.weight_scale_inv", one.clone())], "belongs to `m.weight` by its name"),
        (vec![("m.weight_scale_2", one.clone())], "belongs to `m.weight` by its name"),
        (vec![("m.weight_global_scale", one.clone())], "belongs to `m.weight` by its name"),
        (
            vec![
                ("m.weight", fp8.clone()),
                ("m.weight_scale", one.clone()),
                ("m.weight_scale_inv", one.clone()),
            ],
            "belongs to `m.weight` by its name",
        ),
        (
            vec![("m.weight", Tensor::new(T::I32, &[1, 2], vec![1; 8])), ("m.weight_scale", one.clone())],
            "belongs to `m.weight` by its name",
        ),
    ] {
        with_others(&path, &others);
        refused(&path, part);
    }
    // Numbers may be called anything, and scales of activations and caches are no part of weights.
    let wide = f32s(&[0.03, -0.7], &[1, 2]);
    with_others(
        &path,
        &[
            ("m.weight", wide.clone()),
            ("m.weight_scale", wide.clone()),
            ("m.scale", wide),
            ("m.input_scale", one.clone()),
            ("m.input_global_scale", one.clone()),
            ("m.k_scale", one.clone()),
            ("logit_scale", one),
            ("m.bias", Tensor::new(T::U8, &[2], vec![1; 2])),
        ],
    );
    verify(&path).unwrap();
    assert_eq!(examine(&[&path], None, &mut |_| ()).unwrap(), []);
}

/// ComfyUI's marker, its metadata and the dtype of a weight are of one format.
#[test]
fn markers_of_other_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let weight = ("m.weight", Tensor::new(T::F8_E4M3, &[2, 32], vec![0x38; 64]));
    let scale = ("m.weight_scale", f32s(&[1.0], &[1]));
    let marker = |format: &str| ("m.comfy_quant", text(&json!({ "format": format }).to_string()));
    let metadata = |layers: Value| json!({ "format_version": "1.0", "layers": layers }).to_string();
    let write = |tensors: &[(&str, Tensor)], said: Option<String>| {
        let mut file = File::of(tensors.iter().cloned());
        file.metadata.extend(said.map(|said| ("_quantization_metadata".to_owned(), said)));
        file.write(&path);
    };
    for format in ["float8_e5m2", "nvfp4", "mxfp8", "int8_tensorwise"] {
        write(&[weight.clone(), scale.clone(), marker(format)], None);
        refused(&path, &format!("ComfyUI's marker says that it is `{format}`"));
        write(&[weight.clone(), scale.clone()], Some(metadata(json!({ "m": { "format": format } }))));
        refused(&path, &format!("ComfyUI's marker says that it is `{format}`"));
        let both = [weight.clone(), scale.clone(), marker("float8_e4m3fn")];
        write(&both, Some(metadata(json!({ "m": { "format": format } }))));
        refused(&path, "its marker says that its weight is `float8_e4m3fn`, metadata");
    }
    let whole = [weight.clone(), scale.clone(), marker("float8_e4m3fn")];
    for (said, part) in [
        (
            json!({ "n": { "format": "float8_e4m3fn" } }),
            "names the layer `n`, and the file has no `n.weight`",
        ),
        (json!({ "m": {} }), "its layer `m` has no `format`"),
        (json!([1]), "its `layers` are no object"),
    ] {
        write(&whole, Some(metadata(said)));
        refused(&path, part);
    }
    write(&[("n.comfy_quant", marker("nvfp4").1), weight, scale], None);
    refused(&path, "names the layer `n`, and the file has no `n.weight`");
    write(&whole, Some(metadata(json!({ "m": { "format": "float8_e4m3fn" } }))));
    verify(&path).unwrap();
    // A marker of numbers.
    let wide = ("w.weight", f32s(&[1.0; 4], &[2, 2]));
    write(&[whole.as_slice(), &[wide, ("w.comfy_quant", marker("nvfp4").1)]].concat(), None);
    refused(&path, "is ComfyUI's marker of a weight of codes, and the weight is not");
}

/// The values of bitsandbytes' codes go by the type in their state.
#[test]
fn states_of_two_types_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let state = |kind: &str| {
        text(&json!({ "quant_type": kind, "blocksize": 64, "dtype": "float16", "shape": [128] }).to_string())
    };
    let of = |map: &[f32], absmax: &[f32], states: &[(&str, &str)]| {
        let parts = [
            ("w".to_owned(), u8s(&[64, 1], (0..64).collect())),
            ("w.absmax".to_owned(), f32s(absmax, &[2])),
            ("w.quant_map".to_owned(), f32s(map, &[16])),
        ];
        let states = states
            .iter()
            .map(|(suffix, kind)| (format!("w.quant_state.bitsandbytes__{suffix}"), state(kind)));
        File::of(parts.into_iter().chain(states)).write(&path);
    };
    let map: Vec<f32> = (0..16_u8).map(|i| f32::from(i) / 8.0 - 1.0).collect();
    of(&map, &[1.0, 2.0], &[("nf4", "fp4")]);
    refused(&path, "says that its `quant_type` is `fp4`");
    of(&map, &[1.0, 2.0], &[("nf4", "nf4"), ("fp4", "fp4")]);
    refused(&path, "has two states of its quantization");
    // Legal and odd.
    of(&map, &[0.0, 2.0], &[("nf4", "nf4")]);
    let warnings = verify(&path).unwrap().warnings;
    assert_eq!(warnings, ["tensor `w`: its list of values is not that of NF4 (bitsandbytes)"]);
    of(&map, &[f32::NAN, -2.0], &[("nf4", "nf4")]);
    let warnings = verify(&path).unwrap().warnings;
    assert_eq!(warnings[0], "tensor `w`: 2 scales that are NaN, infinite, or negative");
}

/// The native container is one of safetensors files: its keys in GGUF are keys like others.
#[test]
fn a_gguf_file_is_no_container() {
    let file = gguf(&[("w", 39, &[2, 32], vec![127; 34])]);
    // Other keys between the counts and the description of the tensor, which has 41 bytes.
    let string = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let pair = |key: &str, value: &str| [string(key), 8_u32.to_le_bytes().to_vec(), string(value)].concat();
    let keys = [pair("smallfloat.version", "1"), pair("smallfloat.tensors", "{}")].concat();
    let end = file.windows(9).position(|window| window == string("w")).unwrap();
    let mut changed = [&file[..24], &keys, &file[end..end + 41]].concat();
    changed.resize(changed.len().next_multiple_of(32), 0);
    changed.extend(&file[file.len() - 34..]);
    let view = View::from_source_bytes(&changed).unwrap();
    assert!(!view.is_container());
    let tensor = view.tensor("w").unwrap();
    assert_eq!(
        (tensor.info.shape.as_slice(), tensor.scaled().unwrap().layout()),
        (&[2, 32][..], Some("GGUF MXFP4"))
    );
}

/// ComfyUI takes the dtype of `scaled_fp8` for that of all weights of a file, or of a part of it.
#[test]
fn weights_of_another_dtype_than_the_file_s() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let write = |weight: T, sign: &str, dtype: T, length: usize| {
        let bytes = vec![0; length * if dtype == T::F32 { 4 } else { 1 }];
        File::of([
            ("model.m.weight", Tensor::new(weight, &[2, 32], vec![0x38; 64])),
            ("model.m.scale_weight", f32s(&[0.5], &[1])),
            (sign, Tensor::new(dtype, &[length], bytes)),
        ])
        .write(&path);
    };
    let value = |dtype: T| if dtype == T::F8_E4M3 { 0.5 } else { 0.25 };
    for (weight, dtype, length, agrees) in [
        (T::F8_E4M3, T::F8_E4M3, 0, true),
        (T::F8_E4M3, T::F8_E4M3, 2, true),
        (T::F8_E4M3, T::F32, 0, true),
        (T::F8_E5M2, T::F8_E5M2, 0, true),
        (T::F8_E4M3, T::F8_E5M2, 0, false),
        (T::F8_E5M2, T::F8_E4M3, 2, false),
        (T::F8_E5M2, T::F32, 0, false),
    ] {
        for sign in ["scaled_fp8", "model.scaled_fp8"] {
            write(weight, sign, dtype, length);
            if !agrees {
                refused(&path, &format!("`{sign}` says to ComfyUI that the weights of the file are F8_E"));
                continue;
            }
            verify(&path).unwrap();
            let view = View::open(&path).unwrap();
            assert_eq!(view.tensors().len(), 1, "{sign}");
            assert_eq!(view.values("model.m.weight").unwrap(), [value(weight); 64]);
        }
        // That of another part of the model.
        write(weight, "text.scaled_fp8", dtype, length);
        verify(&path).unwrap();
    }
}

/// What is written whole is healthy, whatever the scheme.
#[test]
fn the_doctor_finds_nothing_in_our_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (input, random) = (folder.path().join("in"), &mut Random(1));
    fs::create_dir(&input).unwrap();
    for name in ["model.layers.0.q.weight", "model.layers.1.k.weight"] {
        let values: Vec<f64> = (0..64 * 256).map(|_| 0.02 * random.normal()).collect();
        File::of([(name, Tensor::of(T::BF16, &values).shaped(&[64, 256]))])
            .write(&input.join("model.safetensors"));
    }
    for scheme in Scheme::all().iter().filter(|scheme| !scheme.layout.is_gguf()) {
        let output = quantized(folder.path(), scheme.name);
        let found = examine(&[&output], None, &mut |_| ()).unwrap();
        assert_eq!(found, [], "{}", scheme.name);
    }
}

/// A configuration or an index that is no JSON is told, whatever else is found.
#[test]
fn side_files_that_can_not_be_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = quantized(folder.path(), "fp8");
    let shard = |i: u32| output.join(format!("model-0000{i}-of-00002.safetensors"));
    let found = |path: &Path| examine(&[path], None, &mut |_| ()).unwrap();
    let tells = |path: &Path, name: &str| {
        found(path).iter().any(|finding| finding.what.contains(name) && finding.what.contains("EOF while"))
    };
    for name in ["config.json", "model.safetensors.index.json"] {
        let text = fs::read(output.join(name)).unwrap();
        fs::write(output.join(name), "{\"a\": ").unwrap();
        assert!(tells(&output, name), "{name}");
        assert_eq!(tells(&shard(1), name), name == "config.json", "{name}");
        assert_eq!(found(&output).len(), 1, "{name}: {:?}", found(&output));
        // A file that is found to be wrong, and one that is refused, beside it.
        let files = [1, 2].map(|i| fs::read(shard(i)).unwrap());
        let mut file = File::read(&shard(1));
        file.tensors.get_mut("model.layers.0.q.weight_scale").unwrap().bytes = vec![0, 0, 0x80, 0x7f];
        file.write(&shard(1));
        File::of([("x_blocks", u8s(&[2, 3, 16], vec![0; 96])), ("x_scales", u8s(&[2, 2], vec![0; 4]))])
            .write(&shard(2));
        assert!(tells(&output, name), "{name}");
        // Without the configuration a file whose scales it divides is not looked at.
        let others = found(&output).into_iter().filter(|finding| !finding.what.contains(name)).count();
        assert_eq!(others, if name == "config.json" { 1 } else { 2 }, "{name}: {:?}", found(&output));
        files.iter().zip(1..).for_each(|(file, i)| fs::write(shard(i), file).unwrap());
        fs::write(output.join(name), text).unwrap();
    }
    assert_eq!(found(&output), []);
}
