//! Folders as a model's own `save_pretrained` writes them: how codes lie stands in `config.json`
//! alone.

use std::fs;
use std::path::Path;

use crate::common::{File, Random, Tensor};
use safetensors::Dtype::{BF16, F32, I16, U8, U16};
use serde_json::{Value, json};
use smallfloat_tensor::{
    Dtype, Scheme, Sharding, View, apply, compare_checkpoints, dequantize, examine, finalize,
    open_checkpoint, plan, quantize, verify,
};

/// An entry as transformers writes it: with a digest of zeros, and what its layer needs.
fn entry(format: &str, shape: &[u64], more: Value) -> Value {
    let subnormals = if format.starts_with("cfloat8") { "tesla" } else { "gradual" };
    let mut entry = json!({
        "dtype": "torch.float32",
        "format": format,
        "generator": null,
        "granularity": "tensor",
        "random_bits": null,
        "rounding": "nearest-even",
        "seed": null,
        "sha256": "0".repeat(64),
        "shape": shape,
        "source_dtype": "F32",
        "subnormals": subnormals,
        "weight": shape,
    });
    if let Value::Object(more) = more {
        entry.as_object_mut().unwrap().extend(more);
    }
    entry
}

fn config(tensors: &Value) -> Value {
    json!({
        "model_type": "llama",
        "quantization_config": { "quant_method": "smallfloat", "version": "1", "tensors": tensors },
    })
}

fn write(folder: &Path, file: &str, tensors: Vec<(&str, Tensor)>) {
    let mut file_of = File::of(tensors);
    file_of.metadata.insert("format".to_owned(), "pt".to_owned());
    file_of.write(&folder.join(file));
}

fn write_config(folder: &Path, config: &Value) {
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

/// What E2M1 codes stand for.
const E2M1: [f64; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// Two weights of known values: MXFP4 with the scales 2 and 1/4, and CFloat8_1_4_3 of bias 9; a
/// tied one, which is in no file; floats.
fn known(folder: &Path) -> [(&'static str, Vec<f64>); 3] {
    let bytes: Vec<u8> = (0..32).map(|i| (i % 16) << 4 | (i * 7 % 16)).collect();
    let halves = |byte: &u8| [byte & 15, byte >> 4];
    let scale = |i: usize| if i < 32 { 2.0 } else { 0.25 };
    let fours = bytes.iter().flat_map(halves).enumerate();
    let fours = fours.map(|(i, code)| E2M1[usize::from(code)] * scale(i)).collect();
    // 1 + m/8 times a power of two, and the least exponent field has none before the point.
    let eights = [0x00_u8, 0x48, 0x4c, 0xc9, 0x07, 0x7f];
    let values = vec![0.0, 1.0, 1.5, -1.125, 7.0 / 8.0 / 512.0, 1.875 * 64.0];
    write(
        folder,
        "model.safetensors",
        vec![
            ("four.weight", Tensor::new(U8, &[2, 16, 1], bytes)),
            ("four.weight_scale", Tensor::new(U8, &[2, 1], vec![128, 125])),
            ("eight.weight", Tensor::new(U8, &[2, 3, 1], eights.to_vec())),
            ("eight.weight_bias", Tensor::new(U8, &[], vec![9])),
            ("norm.weight", Tensor::f32(&[1.0, 0.5])),
        ],
    );
    let mx = json!({
        "granularity": "block:32", "scale": "e8m0fnu", "scale_rule": "floor", "packing": "nibbles-low",
    });
    write_config(
        folder,
        &config(&json!({
            "eight.weight": entry("cfloat8_1_4_3", &[2, 3], json!({})),
            "four.weight": entry("e2m1fn", &[2, 32], mx.clone()),
            "tied.weight": entry("e2m1fn", &[2, 32], mx),
        })),
    );
    [("four.weight", fours), ("eight.weight", values), ("norm.weight", vec![1.0, 0.5])]
}

#[test]
fn codes_are_read_as_the_configuration_says() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let folder = place("in");
    fs::create_dir(&folder).unwrap();
    let expected = known(&folder);
    for path in [folder.clone(), folder.join("model.safetensors")] {
        let views = open_checkpoint(&path).unwrap();
        assert!(views[0].is_container() && views[0].is_quantized());
        assert_eq!(views[0].tensors().len(), 3);
        for (name, values) in &expected {
            assert_eq!(&views[0].values(name).unwrap(), values, "{name}");
        }
        let verified = verify(&path).unwrap();
        assert_eq!((verified.tensors, verified.digests, verified.copied), (2, 0, 1));
        assert_eq!((verified.records, verified.without_record, verified.scales), (0, 1, 2));
        assert_eq!(examine(&[&path], None, &mut |_| ()).unwrap(), []);
    }

    dequantize(&folder, place("wide"), Dtype::F32, None, false, &mut |_| ()).unwrap();
    let wide = File::read(&place("wide/model.safetensors"));
    for (name, values) in &expected {
        assert_eq!(&wide.tensors[*name].numbers(), values, "{name}");
    }
    assert_eq!(wide.tensors["four.weight"].shape, [2, 32]);
    let config: Value = serde_json::from_slice(&fs::read(place("wide/config.json")).unwrap()).unwrap();
    assert_eq!(config, json!({ "model_type": "llama" }));

    // Into layouts of other programs and back into ours, whole and in parts.
    let mut without = File::read(&folder.join("model.safetensors"));
    without.tensors.retain(|name, _| !name.starts_with("eight"));
    without.write(&folder.join("model.safetensors"));
    for scheme in ["mxfp4-pack-quantized", "mxfp4", "gguf-bf16"] {
        let options = scheme.parse::<Scheme>().unwrap().options();
        let name = if scheme.starts_with("gguf") { "out.gguf" } else { scheme };
        let (from, to) = (folder.clone(), place(name));
        quantize(&from, &to, &options, &|name| name == "four.weight", &mut |_| ()).unwrap();
        let (a, b) = (open_checkpoint(&from).unwrap(), open_checkpoint(&to).unwrap());
        let found = compare_checkpoints(&a, &b).unwrap();
        assert!(found.len() == 2 && found.iter().all(|tensor| tensor.equal), "{scheme}: {found:?}");
    }
    let options = "mxfp4".parse::<Scheme>().unwrap().options();
    let planned =
        plan(&folder, place("parts"), &options, &|name| name == "four.weight", Sharding::Files).unwrap();
    for shard in 0..planned.shards() {
        apply(&planned, shard, true, &mut |_| ()).unwrap();
    }
    finalize(&planned, true, &mut |_| ()).unwrap();
    assert_eq!(File::read(&place("parts/model.safetensors")), File::read(&place("mxfp4/model.safetensors")));
}

/// Whatever a scheme writes is read alike with its record and with a configuration in its place,
/// in one file and in several.
#[test]
fn a_record_and_a_configuration_say_the_same() {
    let mut random = Random(43);
    for scheme in ["cfloat8_1_4_3", "shp", "mxfp4", "mxfp6-e2m3", "mxfp8-e4m3", "nvfp4", "nf4"] {
        let root = tempfile::tempdir().unwrap();
        let place = |name: &str| root.path().join(name);
        for name in ["in", "saved"] {
            fs::create_dir(place(name)).unwrap();
        }
        let mut map = serde_json::Map::new();
        let files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
        for file in files {
            let name = format!("l.{}.weight", map.len());
            let values = Tensor::of(BF16, &random.normals(3 * 64, 0.3)).shaped(&[3, 64]);
            File::of([(name.clone(), values)]).write(&place("in").join(file));
            map.insert(name, file.into());
        }
        let index = json!({ "metadata": {}, "weight_map": map }).to_string();
        fs::write(place("in/model.safetensors.index.json"), &index).unwrap();
        let options = match scheme.parse::<Scheme>() {
            Ok(scheme) => scheme.options(),
            Err(_) => crate::common::options(scheme),
        };
        quantize(place("in"), place("q"), &options, &|_| true, &mut |_| ()).unwrap();
        let mut entries = serde_json::Map::new();
        let mut map = serde_json::Map::new();
        for name in files {
            let mut file = File::read(&place("q").join(name));
            for (tensor, entry) in file.entries().as_object().unwrap() {
                let mut entry = entry.clone();
                entry["dtype"] = json!("torch.float32");
                entries.insert(tensor.clone(), entry);
            }
            map.extend(file.tensors.keys().map(|tensor| (tensor.clone(), name.into())));
            // So it is in models of PyTorch.
            for tensor in file.tensors.values_mut().filter(|tensor| tensor.dtype == U16) {
                tensor.dtype = I16;
            }
            file.metadata = [("format".to_owned(), "pt".to_owned())].into();
            file.write(&place("saved").join(name));
        }
        let index = json!({ "metadata": {}, "weight_map": map }).to_string();
        fs::write(place("saved/model.safetensors.index.json"), index).unwrap();
        write_config(&place("saved"), &config(&Value::Object(entries)));
        let (told, saved) = (open_checkpoint(place("q")).unwrap(), open_checkpoint(place("saved")).unwrap());
        for (told, saved) in told.iter().zip(&saved) {
            for tensor in told.tensors() {
                let name = &tensor.info.name;
                assert_eq!(told.values(name).unwrap(), saved.values(name).unwrap(), "{scheme} {name}");
                assert_eq!(told.tensor(name).unwrap().shape(), saved.tensor(name).unwrap().shape());
            }
        }
        let verified = verify(place("saved")).unwrap();
        assert_eq!((verified.tensors, verified.digests, verified.files), (2, 0, 2), "{scheme}");
        assert_eq!(examine(&[place("saved")], None, &mut |_| ()).unwrap(), [], "{scheme}");
    }
}

#[test]
fn configurations_that_can_not_be() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    known(folder);
    let good: Value = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    let file = folder.join("model.safetensors");
    let refused = |edit: &dyn Fn(&mut Value), part: &str| {
        let mut config = good.clone();
        edit(&mut config["quantization_config"]);
        write_config(folder, &config);
        let error = View::open(&file).unwrap_err().to_string();
        assert!(error.contains(part), "{part:?}: {error}");
    };
    refused(&|said| said["version"] = json!("2"), "version `2`");
    refused(&|said| said["version"] = json!(1), "no `version`");
    refused(&|said| said["tensors"] = json!([1]), "no object");
    refused(&|said| said["tensors"]["four.weight"] = json!("mxfp4"), "`four.weight`");
    refused(&|said| said["tensors"]["four.weight"]["format"] = json!("e9m9"), "e9m9");
    refused(&|said| said["tensors"]["four.weight"]["shape"] = json!([2, 48]), "32 bytes of codes");
    refused(&|said| said["tensors"]["four.weight"]["scale"] = json!("binary32"), "U8");
    refused(&|said| said["tensors"]["four.weight"]["surprise"] = json!(1), "surprise");
    refused(&|said| said["tensors"]["four.weight"]["subnormals"] = json!("tesla"), "subnormals");
    fs::write(folder.join("config.json"), "{").unwrap();
    let error = View::open(&file).unwrap_err().to_string();
    assert!(error.contains("config.json") && error.contains("EOF"), "{error}");

    // What is none of ours is left alone, and so are files without codes.
    for said in
        [json!(null), json!({"quant_method": "fp8", "tensors": {}}), json!({"quant_method": "smallfloat"})]
    {
        write_config(folder, &json!({ "quantization_config": said }));
        assert!(!View::open(&file).unwrap().is_quantized());
        assert!(verify(folder).unwrap_err().to_string().contains("no file of this folder"));
    }
    write_config(folder, &good);
    let floats = folder.join("floats.safetensors");
    File::of([("four.weight", Tensor::of(F32, &[0.5; 64]).shaped(&[2, 32]))]).write(&floats);
    assert_eq!(View::open(&floats).unwrap().values("four.weight").unwrap(), [0.5; 64]);
    fs::write(folder.join("config.json"), "{").unwrap();
    View::open(&floats).unwrap();
    // In memory nothing lies beside it.
    let source =
        smallfloat_tensor::Source::from_bytes("model.safetensors", fs::read(&file).unwrap()).unwrap();
    assert!(!View::from_source(source).unwrap().is_quantized());
}
