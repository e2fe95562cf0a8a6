//! The shape in which native codes are stored: one dimension more than the tensor has, so that no
//! program takes them for weights; and the files of before, which have the tensor's own shape.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{File, Fixture, Tensor, native_shape, options};
use safetensors::Dtype::F32;
use serde_json::{Value, json};
use smallfloat_tensor::{
    Dtype, Granularity, Options, QuantizedAs, Scheme, Sharding, View, apply, compare, dequantize, finalize,
    plan, quantize, verify, verify_against,
};

/// Numbers that E2M1 has at the scale 1, and so has every other format here.
const EXACT: [f64; 8] = [0.5, -1.0, 1.5, -2.0, 3.0, -4.0, 6.0, 0.0];

fn numbers(count: usize) -> Vec<f64> {
    EXACT.iter().copied().cycle().take(count).collect()
}

fn tensor(shape: &[usize]) -> Tensor {
    Tensor::of(F32, &numbers(shape.iter().product())).shaped(shape)
}

fn scheme(name: &str) -> Options {
    name.parse::<Scheme>().unwrap().options()
}

/// Every way to store native codes.
fn native() -> Vec<(&'static str, Options)> {
    let with = |granularity: &str| Options {
        granularity: granularity.parse::<Granularity>().unwrap(),
        ..options("cfloat8_1_4_3")
    };
    let channels = |name: &str| Options { granularity: Granularity::Channel, ..scheme(name) };
    vec![
        ("a bias a tensor", options("cfloat8_1_4_3:bias=7")),
        ("two bytes a code", options("shp:bias=20")),
        ("no bias", options("e4m3fn")),
        ("four bits in a byte", options("e2m1fn")),
        ("a bias a channel", with("channel")),
        ("a bias a block", with("block:2x3")),
        ("mxfp8-e4m3", scheme("mxfp8-e4m3")),
        ("mxfp6-e2m3", scheme("mxfp6-e2m3")),
        ("mxfp4", scheme("mxfp4")),
        ("four bits by channel", channels("mxfp4")),
        ("six bits by channel", channels("mxfp6-e2m3")),
        ("nvfp4", scheme("nvfp4")),
    ]
}

#[test]
fn no_native_codes_have_a_shape_that_a_model_asks_for() {
    // One column of packed codes is a byte, so that packing alone would not tell.
    // Rows of channels are packed across dimensions.
    let shapes: [&[usize]; 9] =
        [&[4, 32], &[3, 7], &[9, 1], &[1, 1], &[5], &[2, 3, 16], &[2, 3, 1], &[0, 8], &[]];
    for (what, options) in native() {
        for shape in shapes {
            let fixture = Fixture::new(&File::of([("m.weight", tensor(shape))]));
            fixture.quantize(&options).unwrap();
            let file = File::read(&fixture.output);
            let stored = &file.tensors["m.weight"];
            if options.scale.is_some() && shape.len() < 2 {
                assert_eq!((stored.dtype, &stored.shape[..]), (F32, shape), "{what}");
                continue;
            }
            assert_eq!(
                (stored.shape.len(), stored.shape.last()),
                (shape.len().max(1) + 1, Some(&1)),
                "{what}"
            );
            assert_eq!(file.entries()["m.weight"]["shape"], json!(shape), "{what}");
            if options.packing == smallfloat_tensor::Packing::Bytes {
                assert_eq!(stored.shape, native_shape(shape), "{what}");
            }
            // All of ours see the tensor's own shape.
            let view = View::open(&fixture.output).unwrap();
            let own: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
            assert_eq!(view.tensor("m.weight").unwrap().info.shape, own, "{what}");
            verify(&fixture.output).unwrap();
            let back = fixture.folder.path().join("back.safetensors");
            dequantize(&fixture.output, &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
            assert_eq!(File::read(&back).tensors["m.weight"].shape, shape, "{what}");
            let compared = compare(&View::open(&fixture.input).unwrap(), &view).unwrap();
            assert_eq!(compared[0].shape, own, "{what}");
            // Quantized again, it is the same as from the original.
            let again = fixture.folder.path().join("again.safetensors");
            quantize(&fixture.output, &again, &options, &|_| true, &mut |_| ()).unwrap();
            let again = File::read(&again);
            assert_eq!(again.tensors["m.weight"].shape, stored.shape, "{what}");
            assert!(again.tensors["m.weight"].bytes == stored.bytes, "{what}, {shape:?}");
        }
    }
}

/// A folder with a model of one matrix.
fn checkpoint(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let file = File::of([("m.weight", tensor(&[4, 32])), ("norm.weight", tensor(&[32]))]);
    file.write(&folder.join("model.safetensors"));
    fs::write(folder.join("config.json"), r#"{"model_type": "llama"}"#).unwrap();
}

fn quantization_config(folder: &Path) -> Value {
    let config: Value = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    config["quantization_config"].clone()
}

#[test]
fn the_configuration_of_a_native_folder_names_us() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    checkpoint(&folder("in"));
    let ours = json!({ "quant_method": "smallfloat", "version": "1" });
    // A single file describes itself.
    let (file, alone) = (folder("in/model.safetensors"), folder("alone.safetensors"));
    let report = quantize(&file, &alone, &options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap();
    assert_eq!(report.quantization_config, None);
    for (i, (what, options)) in native().into_iter().enumerate() {
        let (whole, parts) = (folder(&format!("{i}")), folder(&format!("{i}-shards")));
        let report = quantize(folder("in"), &whole, &options, &|_| true, &mut |_| ()).unwrap();
        assert_eq!(report.quantization_config.as_ref(), Some(&ours), "{what}");
        assert_eq!(quantization_config(&whole), ours, "{what}");
        let plan = plan(folder("in"), &parts, &options, &|_| true, Sharding::Files).unwrap();
        apply(&plan, 0, true, &mut |_| ()).unwrap();
        finalize(&plan, true, &mut |_| ()).unwrap();
        for name in ["config.json", "model.safetensors"] {
            let [a, b] = [&whole, &parts].map(|folder| fs::read(folder.join(name)).unwrap());
            assert!(a == b, "{what}: {name}");
        }
        let back = folder(&format!("{i}-back"));
        dequantize(&whole, &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
        assert_eq!(quantization_config(&back), Value::Null, "{what}");
    }
    // Values are for everyone.
    let bf16 = Options { container: smallfloat_tensor::Container::Bf16, ..options("cfloat8_1_4_3") };
    quantize(folder("in"), folder("bf16"), &bf16, &|_| true, &mut |_| ()).unwrap();
    assert_eq!(quantization_config(&folder("bf16")), Value::Null);
    let file = File::read(&folder("bf16/model.safetensors"));
    assert_eq!(file.tensors["m.weight"].shape, [4, 32]);
}

/// Files that the program wrote before codes had a dimension more, of `numbers`: `w` [4, 32], and
/// with biases `b` [5] and the scalar `s`, which schemes copy.
const BEFORE: [(&str, [&[usize]; 3]); 2] =
    [("before-bias.safetensors", [&[4, 32], &[5], &[]]), ("before-mxfp4.safetensors", [&[4, 16], &[5], &[]])];

fn before(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn files_of_before_are_read() {
    let source = File::of([("w", tensor(&[4, 32])), ("b", tensor(&[5])), ("s", tensor(&[]))]);
    for (name, shapes) in BEFORE {
        let path = before(name);
        let old = File::read(&path);
        assert_eq!(["w", "b", "s"].map(|name| &old.tensors[name].shape[..]), shapes, "{name}");
        let quantized = if name.contains("bias") { 3 } else { 1 };
        let verified = verify(&path).unwrap();
        assert_eq!(
            (verified.tensors, verified.records, verified.digests),
            (quantized, 1, quantized),
            "{name}"
        );
        assert!(verified.warnings.is_empty(), "{:?}", verified.warnings);

        let fixture = Fixture::new(&source);
        let agreement = verify_against(&path, &fixture.input, &QuantizedAs::default(), &mut |_| ()).unwrap();
        assert!(agreement.disagreements.is_empty(), "{agreement:?}");
        let back = fixture.folder.path().join("back.safetensors");
        dequantize(&path, &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
        assert_eq!(File::read(&back).tensors, source.tensors, "{name}");

        // Quantized again, it has the new shapes and the same codes.
        let options = if name.contains("bias") { options("cfloat8_1_4_3:bias=7") } else { scheme("mxfp4") };
        quantize(
            &path,
            &fixture.output,
            &options,
            &|name| options.scale.is_none() || name == "w",
            &mut |_| (),
        )
        .unwrap();
        let new = File::read(&fixture.output);
        assert_eq!(new.tensors["w"].shape, native_shape(&old.tensors["w"].shape));
        assert!(new.tensors["w"].bytes == old.tensors["w"].bytes, "{name}");
        verify(&fixture.output).unwrap();
    }
}

#[test]
fn codes_of_another_shape_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    for (what, options) in native() {
        let fixture = Fixture::new(&File::of([("m.weight", tensor(&[4, 32]))]));
        fixture.quantize(&options).unwrap();
        let good = File::read(&fixture.output);
        let stored = good.tensors["m.weight"].shape.clone();
        let [rows, columns, 1] = stored[..] else { panic!("{what}: {stored:?}") };
        for shape in [
            vec![rows * columns],
            vec![rows * columns, 1],
            vec![columns, rows],
            vec![columns, rows, 1],
            vec![1, rows, columns],
            vec![rows, columns, 1, 1],
        ] {
            let mut file = good.clone();
            file.tensors.get_mut("m.weight").unwrap().shape.clone_from(&shape);
            file.write(&path);
            for error in [
                verify(&path).unwrap_err(),
                View::open(&path).unwrap_err(),
                dequantize(&path, folder.path().join("back"), Dtype::F32, None, false, &mut |_| ())
                    .unwrap_err(),
            ] {
                let part =
                    format!("its codes have the shape {shape:?}; those of a tensor of shape [4, 32] have");
                assert!(error.is_refused() && error.to_string().contains(&part), "{what}: {error}");
                assert_eq!(error.tensor(), Some("m.weight"), "{what}");
            }
        }
        // The metadata that names another shape of as many elements.
        let mut file = good.clone();
        let mut entries = file.entries();
        entries["m.weight"]["shape"] = json!([32, 4]);
        file.set_entries(&entries);
        file.write(&path);
        assert!(View::open(&path).unwrap_err().is_refused(), "{what}");
    }
}
