//! Folders compared with folders and with files, however their tensors are parted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{File, Random, Tensor};
use safetensors::Dtype::{BF16, F8_E4M3, F32};
use serde_json::json;
use smallfloat_tensor::{Scheme, TensorComparison, compare_checkpoints, open_checkpoint, quantize};

/// A folder of files with an index.
fn folder(path: &Path, files: &[&[(&str, &Tensor)]]) {
    fs::create_dir(path).unwrap();
    let mut map = BTreeMap::new();
    for (i, tensors) in files.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", i + 1, files.len());
        File::of(tensors.iter().map(|&(name, tensor)| (name, tensor.clone()))).write(&path.join(&name));
        map.extend(tensors.iter().map(|&(tensor, _)| (tensor, name.clone())));
    }
    let index = json!({ "metadata": {}, "weight_map": map });
    fs::write(path.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

fn compared(a: &Path, b: &Path) -> Result<Vec<TensorComparison>, String> {
    let open = |path| open_checkpoint(path).map_err(|e| e.to_string());
    compare_checkpoints(&open(a)?, &open(b)?).map_err(|e| e.to_string())
}

/// The codes of 1.0 and 1.5 in E4M3, times a scale in another file than they: all figures are
/// known.
#[test]
fn figures_do_not_depend_on_which_file_has_what() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let values = [2.0, 3.0, 2.0, 3.0];
    let plain = Tensor::of(F32, &values).shaped(&[2, 2]);
    let other = Tensor::of(BF16, &[2.0, 3.0, 2.0, 3.5]).shaped(&[2, 2]);
    let (norm, moved) = (Tensor::f32(&[1.0, 0.5]), Tensor::f32(&[1.0, 0.25]));
    let codes = Tensor::new(F8_E4M3, &[2, 2], vec![0x38, 0x3c, 0x38, 0x3c]);
    let scale = Tensor::of(F32, &[2.0]).shaped(&[]);
    folder(&place("a"), &[&[("x.weight", &plain)], &[("norm", &norm)]]);
    folder(&place("b"), &[&[("norm", &moved)], &[("x.weight", &other)]]);
    folder(&place("scaled"), &[&[("x.weight", &codes), ("norm", &norm)], &[("x.weight_scale", &scale)]]);
    File::of([("norm", norm.clone()), ("x.weight", plain.clone())]).write(&place("a.safetensors"));

    let figures = compared(&place("a"), &place("b")).unwrap();
    let names: Vec<&str> = figures.iter().map(|tensor| &*tensor.name).collect();
    assert_eq!(names, ["x.weight", "norm"], "the order of the reference");
    // Squares: 4 + 9 + 4 + 9 and 0.5²; 1 + 0.25 and 0.25².
    for (tensor, (signal, noise, amax, error)) in
        figures.iter().zip([(26.0_f64, 0.25, 3.0, 0.5), (1.25, 0.0625, 1.0, 0.25)])
    {
        assert!(!tensor.equal);
        assert_eq!((tensor.amax, tensor.max_error), (amax, error), "{}", tensor.name);
        let db = 10.0 * (signal / noise).log10();
        assert!((tensor.sqnr_db.unwrap() - db).abs() < 1e-9, "{}: {db}", tensor.name);
    }
    for (a, b) in [("a", "scaled"), ("scaled", "a"), ("a", "a.safetensors"), ("scaled", "a.safetensors")] {
        let figures = compared(&place(a), &place(b)).unwrap();
        assert!(figures.len() == 2 && figures.iter().all(|tensor| tensor.equal), "{a}, {b}: {figures:?}");
    }
    let swapped = compared(&place("a.safetensors"), &place("b")).unwrap();
    assert_eq!(swapped[0], figures[1]);
    assert_eq!(swapped[1], figures[0]);

    folder(&place("less"), &[&[("x.weight", &plain)]]);
    for (a, b, missing) in [("a", "less", "less"), ("less", "a", "less"), ("b", "less", "less")] {
        let error = compared(&place(a), &place(b)).unwrap_err();
        assert!(error.contains("norm") && error.contains(missing), "{error}");
    }
    folder(&place("turned"), &[&[("x.weight", &plain.clone().shaped(&[4]))], &[("norm", &norm)]]);
    let error = compared(&place("a"), &place("turned")).unwrap_err();
    assert!(error.contains("[4]") && error.contains("x.weight"), "{error}");
}

/// What the folder's files give one by one is what the folders give.
#[test]
fn quantized_folders_compare_as_their_files_do() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let mut random = Random(41);
    let tensors: Vec<Tensor> =
        (0..3).map(|_| Tensor::of(BF16, &random.normals(64 * 64, 0.2)).shaped(&[64, 64])).collect();
    let named = [("a.weight", &tensors[0]), ("b.weight", &tensors[1]), ("c.weight", &tensors[2])];
    folder(&place("in"), &[&named[..1], &named[1..]]);
    for scheme in ["mxfp4", "modelopt-nvfp4", "deepseek"] {
        let options = scheme.parse::<Scheme>().unwrap().options();
        quantize(place("in"), place(scheme), &options, &|_| true, &mut |_| ()).unwrap();
        let whole = compared(&place("in"), &place(scheme)).unwrap();
        let mut parts = Vec::new();
        for i in 1..=2 {
            let file = format!("model-{i:05}-of-00002.safetensors");
            parts.extend(compared(&place("in").join(&file), &place(scheme).join(&file)).unwrap());
        }
        assert!(whole.len() == 3 && whole.iter().all(|tensor| !tensor.equal));
        assert_eq!(whole, parts, "{scheme}");
    }
}
