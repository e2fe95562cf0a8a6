//! Checkpoint folders through verify and dequantize, and the record that holds a file together.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{File, Fixture, Random, Tensor, names, options};
use safetensors::Dtype::F32;
use serde_json::{Value, json};
use smallfloat_tensor::{
    Dtype, Options, Progress, Scheme, View, compare, dequantize, open_checkpoint, quantize, verify,
    verify_with,
};

/// Two files, of which the second has only what schemes for matrices copy.
fn checkpoint(folder: &Path) {
    let mut random = Random(31);
    let mut matrix = |rows: usize| Tensor::of(F32, &random.normals(rows * 64, 0.1)).shaped(&[rows, 64]);
    let files = [
        ("a.safetensors", File::of([("l.0.weight", matrix(32)), ("l.1.weight", matrix(64))])),
        ("b.safetensors", File::of([("norm.bias", Tensor::f32(&[1.0, 0.5])), ("ids", Tensor::f32(&[3.0]))])),
    ];
    let mut map = BTreeMap::new();
    for (name, file) in &files {
        file.write(&folder.join(name));
        map.extend(file.tensors.keys().map(|tensor| (tensor.clone(), *name)));
    }
    let index = json!({ "metadata": {}, "weight_map": map });
    fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
    fs::write(folder.join("config.json"), r#"{"hidden_size": 64}"#).unwrap();
    fs::write(folder.join("vocab.txt"), "a\nb\n").unwrap();
}

#[test]
fn a_folder_is_verified_and_comes_back() {
    for scheme in ["fp8", "mxfp4-pack-quantized", "mxfp8-e4m3"] {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().join(name);
        fs::create_dir(folder("in")).unwrap();
        checkpoint(&folder("in"));
        let scheme = scheme.parse::<Scheme>().unwrap().options();
        quantize(folder("in"), folder("q"), &scheme, &|name| name.starts_with("l."), &mut |_| ()).unwrap();
        let (mut announced, mut told, mut tensors) = (0, 0, Vec::new());
        let mut watch = |progress: Progress<'_>| match progress {
            Progress::Start(bytes) => announced += bytes,
            Progress::Bytes(bytes) => told += bytes,
            Progress::Tensor(name) => tensors.push(name.to_owned()),
            _ => panic!("it is nothing else"),
        };
        let verified = verify_with(folder("q"), &mut watch).unwrap();
        assert!(told == announced && told >= 96 * 64 / 2, "{told} of {announced}");
        assert_eq!(tensors.len(), 4);
        assert_eq!(verified, verify(folder("q")).unwrap());
        assert_eq!((verified.files, verified.tensors, verified.copied), (2, 2, 2));
        assert_eq!(
            (verified.records, verified.digests),
            if scheme.layout.is_native() { (2, 2) } else { (0, 0) }
        );

        let bytes =
            dequantize(folder("q"), folder("back"), Dtype::F32, None, false, &mut |_| ()).unwrap().bytes;
        assert_eq!(
            names(&folder("back")),
            ["a.safetensors", "b.safetensors", "config.json", "model.safetensors.index.json", "vocab.txt"]
        );
        let lengths = ["a.safetensors", "b.safetensors"]
            .map(|name| fs::metadata(folder("back").join(name)).unwrap().len());
        assert_eq!(lengths.iter().sum::<u64>(), bytes);
        let config: Value = serde_json::from_slice(&fs::read(folder("back/config.json")).unwrap()).unwrap();
        assert_eq!(config, json!({ "hidden_size": 64 }));
        let index: Value =
            serde_json::from_slice(&fs::read(folder("back/model.safetensors.index.json")).unwrap()).unwrap();
        assert_eq!(index["weight_map"]["norm.bias"], "b.safetensors");
        // Products with scales that are no powers of two are rounded to F32; all others are the
        // same numbers. The original is met up to the error of the elements.
        for (quantized, back) in
            open_checkpoint(folder("q")).unwrap().iter().zip(open_checkpoint(folder("back")).unwrap())
        {
            let tensors = compare(quantized, &back).unwrap();
            assert!(tensors.iter().all(|tensor| tensor.sqnr_db.is_none_or(|db| db > 140.0)), "{tensors:?}");
        }
        let original = View::open(folder("in/a.safetensors")).unwrap();
        let comparison = compare(&original, &View::open(folder("back/a.safetensors")).unwrap()).unwrap();
        assert!(comparison.iter().all(|tensor| tensor.sqnr_db.is_some_and(|db| db > 15.0)), "{comparison:?}");

        let error =
            dequantize(folder("q"), folder("back"), Dtype::F32, None, false, &mut |_| ()).unwrap_err();
        assert!(error.is_exists(), "{error}");
        let error = dequantize(folder("q"), folder("q"), Dtype::F32, None, true, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("folder of the input"), "{error}");
    }
}

#[test]
fn folders_that_do_not_hold_together() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    fs::create_dir(folder("in")).unwrap();
    checkpoint(&folder("in"));
    for error in [
        verify(folder("in")).unwrap_err(),
        dequantize(folder("in"), folder("out"), Dtype::F32, None, false, &mut |_| ()).unwrap_err(),
    ] {
        assert!(error.to_string().contains("no file of this folder"), "{error}");
    }
    assert!(!folder("out").exists());
    let native = Options { overwrite: true, ..options("cfloat8_1_4_3") };
    quantize(folder("in"), folder("q"), &native, &|_| true, &mut |_| ()).unwrap();
    // A file under a second name has every tensor twice.
    fs::remove_file(folder("q/model.safetensors.index.json")).unwrap();
    fs::copy(folder("q/b.safetensors"), folder("q/c.safetensors")).unwrap();
    let error = verify(folder("q")).unwrap_err();
    assert!(error.to_string().contains("is in `b.safetensors` and in `c.safetensors`"), "{error}");
    fs::remove_file(folder("q/c.safetensors")).unwrap();
    let error = verify(folder("q")).unwrap_err();
    assert!(error.to_string().contains("incomplete: it has 2 files of tensors and no"), "{error}");
    let index = json!({ "weight_map": { "l.0.weight": "b.safetensors" } });
    fs::write(folder("q/model.safetensors.index.json"), index.to_string()).unwrap();
    assert!(verify(folder("q")).unwrap_err().to_string().contains("the index says otherwise"));
}

/// What is changed, and how.
type Change = (&'static str, Box<dyn Fn(&mut File)>);

/// A container with two quantized tensors of one shape and two copies.
fn container() -> (Fixture, File) {
    let mut random = Random(37);
    let mut matrix = || Tensor::of(F32, &random.normals(64, 0.1)).shaped(&[8, 8]);
    let mut file = File::of([("a", matrix()), ("b", matrix())]);
    file.tensors.insert("c".into(), Tensor::new(safetensors::Dtype::I32, &[2, 2], vec![1; 16]));
    file.metadata.insert("note".into(), "kept".into());
    let fixture = Fixture::new(&file);
    fixture.quantize(&options("cfloat8_1_4_3:bias=9")).unwrap();
    let written = File::read(&fixture.output);
    (fixture, written)
}

#[test]
fn what_the_digests_of_codes_do_not_see_the_record_sees() {
    let (fixture, written) = container();
    let verified = verify(&fixture.output).unwrap();
    assert_eq!((verified.records, verified.files, verified.digests, verified.copied), (1, 1, 2, 1));
    let swap = |file: &mut File, a: &str, b: &str| {
        let (one, other) = (file.tensors[a].clone(), file.tensors[b].clone());
        file.tensors.insert(a.into(), other);
        file.tensors.insert(b.into(), one);
    };
    let changes: Vec<Change> = vec![
        (
            "a copy renamed",
            Box::new(|file| {
                let copy = file.tensors.remove("c").unwrap();
                file.tensors.insert("d".into(), copy);
            }),
        ),
        ("a copy's data", Box::new(|file| file.tensors.get_mut("c").unwrap().bytes[5] = 2)),
        ("a copy's shape", Box::new(|file| file.tensors.get_mut("c").unwrap().shape = vec![4])),
        (
            "a copy's dtype",
            Box::new(|file| file.tensors.get_mut("c").unwrap().dtype = safetensors::Dtype::U32),
        ),
        ("a legal bias", Box::new(|file| file.tensors.get_mut("a_bias").unwrap().bytes[0] = 8)),
        ("the shape of codes", Box::new(|file| file.tensors.get_mut("a").unwrap().shape = vec![8, 8])),
        (
            "two quantized tensors swapped, entries too",
            Box::new(move |file| {
                swap(file, "a", "b");
                let mut entries = file.entries();
                let (a, b) = (entries["a"].clone(), entries["b"].clone());
                (entries["a"], entries["b"]) = (b, a);
                file.set_entries(&entries);
            }),
        ),
        (
            "where it came from",
            Box::new(|file| {
                let text = file.metadata["smallfloat.tensors"].replacen("F32", "F64", 1);
                file.metadata.insert("smallfloat.tensors".into(), text);
            }),
        ),
        (
            "a tensor more",
            Box::new(|file| {
                file.tensors.insert("z".into(), Tensor::f32(&[1.0]));
            }),
        ),
    ];
    for (name, change) in changes {
        let mut file = written.clone();
        change(&mut file);
        assert!(file != written, "{name}");
        file.write(&fixture.output);
        let error = verify(&fixture.output).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains("smallfloat.record"), "{name}: {error}");
    }
    // Free text is its owner's, and the order of tensors in the file means nothing.
    let mut file = written.clone();
    file.metadata.insert("note".into(), "changed".into());
    file.write(&fixture.output);
    assert_eq!(verify(&fixture.output).unwrap(), verified);
}

#[test]
fn files_from_before_there_were_records_are_read() {
    let (fixture, mut file) = container();
    let record = file.metadata.remove("smallfloat.record").unwrap();
    assert!(record.starts_with("1:") && record.len() == 66, "{record}");
    file.write(&fixture.output);
    let verified = verify(&fixture.output).unwrap();
    assert_eq!((verified.records, verified.digests), (0, 2));
    file.metadata.insert("smallfloat.record".into(), format!("2{}", &record[1..]));
    file.write(&fixture.output);
    let error = verify(&fixture.output).unwrap_err();
    assert!(error.to_string().contains("of no version that this program knows"), "{error}");
    // What is dequantized is no container any more.
    let back = fixture.folder.path().join("back.safetensors");
    dequantize(&fixture.output, &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
    assert_eq!(File::read(&back).metadata.keys().collect::<Vec<_>>(), ["note"]);
}
