//! Single bits flipped in containers, folders, plans and files in layouts of other programs: what
//! `verify`, or a certificate, passes still has every tensor with the numbers that it had, and no
//! plan finishes what another one began.
//!
//! `SMALLFLOAT_FLIPS` is the number of flips of each kind. What is counted is printed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::common::{File, Random, Tensor, names, options};
use serde_json::json;
use smallfloat_tensor::{
    Options, Plan, Scheme, Sharding, apply, certify, check_certificate, examine, finalize, open_checkpoint,
    plan, quantize, verify,
};

fn flips() -> u64 {
    std::env::var("SMALLFLOAT_FLIPS").map_or(1500, |n| n.parse().expect("SMALLFLOAT_FLIPS is a number"))
}

fn checkpoint(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let (mut random, mut map) = (Random(61), BTreeMap::new());
    for shard in 1..=2 {
        let name = format!("model-{shard:05}-of-00002.safetensors");
        let matrix = Tensor::of(safetensors::Dtype::F32, &random.normals(4 * 32, 0.1)).shaped(&[4, 32]);
        let ids = Tensor::new(safetensors::Dtype::I32, &[3], vec![shard; 12]);
        let tensors = [(format!("l.{shard}.weight"), matrix), (format!("ids.{shard}"), ids)];
        map.extend(tensors.iter().map(|(tensor, _)| (tensor.clone(), name.clone())));
        File::of(tensors).write(&folder.join(name));
    }
    let index = json!({ "metadata": {}, "weight_map": map });
    fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
    fs::write(folder.join("config.json"), r#"{"hidden_size": 32}"#).unwrap();
}

/// Every tensor of a file or folder: its shape, and its numbers as bits or its bytes.
fn meaning(path: &Path) -> BTreeMap<String, (Vec<u64>, Vec<u64>)> {
    let mut all = BTreeMap::new();
    for view in open_checkpoint(path).unwrap() {
        for tensor in view.tensors() {
            let bits = if tensor.format().is_some() {
                let mut values = vec![0.0; usize::try_from(tensor.info.elements()).unwrap()];
                view.read(tensor, 0, &mut values).unwrap();
                values.into_iter().map(f64::to_bits).collect()
            } else {
                view.source().read_all(&tensor.info).unwrap().into_iter().map(u64::from).collect()
            };
            all.insert(tensor.info.name.clone(), (tensor.info.shape.clone(), bits));
        }
    }
    all
}

/// Flips one bit after the other, so many, spread over all files; `path` is what is checked. Tells
/// how many flips were found.
fn flip(path: &Path, files: &[PathBuf], flips: u64, is_found: &dyn Fn() -> bool) -> (u64, u64) {
    let right = meaning(path);
    assert!(!is_found());
    let whole: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let total: u64 = whole.iter().map(|bytes| 8 * bytes.len() as u64).sum();
    let (count, mut found) = (flips.min(total), 0);
    for i in 0..count {
        let mut bit = u64::try_from(u128::from(i) * u128::from(total) / u128::from(count)).unwrap();
        let file = whole.iter().position(|bytes| {
            let here = bit < 8 * bytes.len() as u64;
            bit -= if here { 0 } else { 8 * bytes.len() as u64 };
            here
        });
        let file = file.unwrap();
        let right_byte = whole[file][usize::try_from(bit / 8).unwrap()];
        put(&files[file], bit / 8, right_byte ^ 1 << (bit % 8));
        if is_found() {
            found += 1;
        } else {
            assert!(
                meaning(path) == right,
                "bit {bit} of {} changes what is verified",
                files[file].display()
            );
        }
        put(&files[file], bit / 8, right_byte);
    }
    let is_whole = |(file, bytes): (&PathBuf, &Vec<u8>)| fs::read(file).unwrap() == *bytes;
    assert!(files.iter().zip(&whole).all(is_whole), "every flip is undone");
    (count, found)
}

/// Puts one byte in its place: file systems flush a file that is cut and written again, which takes
/// much longer.
fn put(file: &Path, at: u64, byte: u8) {
    let mut file = fs::File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte]).unwrap();
}

fn ways() -> Vec<Options> {
    ["mxfp4", "mxfp8-e4m3", "nvfp4", "nf4", "sf4", "int4", "int8"]
        .map(|name| name.parse::<Scheme>().unwrap().options())
        .into_iter()
        .chain([options("cfloat8_1_4_3"), options("shp")])
        .collect()
}

#[test]
fn of_containers() {
    let (mut count, mut found) = (0, 0);
    for options in ways() {
        let dir = tempfile::tempdir().unwrap();
        checkpoint(&dir.path().join("in"));
        let (input, output) = (dir.path().join("in/model-00001-of-00002.safetensors"), dir.path().join("q"));
        quantize(&input, &output, &options, &|_| true, &mut |_| ()).unwrap();
        let (flips, told) =
            flip(&output, std::slice::from_ref(&output), flips(), &|| verify(&output).is_err());
        (count, found) = (count + flips, found + told);
    }
    eprintln!("{count} bits flipped in containers: {found} found by verify, the others change no number");
    assert!(found * 10 > count * 9, "{found} of {count}");
}

#[test]
fn of_folders() {
    let (mut count, mut found) = (0, 0);
    for options in ways() {
        let dir = tempfile::tempdir().unwrap();
        checkpoint(&dir.path().join("in"));
        let output = dir.path().join("q");
        quantize(dir.path().join("in"), &output, &options, &|_| true, &mut |_| ()).unwrap();
        let files: Vec<PathBuf> = names(&output).into_iter().map(|name| output.join(name)).collect();
        let (flips, told) = flip(&output, &files, flips(), &|| verify(&output).is_err());
        (count, found) = (count + flips, found + told);
    }
    eprintln!("{count} bits flipped in folders: {found} found by verify, the others change no number");
}

/// Layouts of other programs have no digests of their own: certificates do. The doctor looks at
/// every file too, and has an answer.
#[test]
fn of_other_layouts() {
    let (mut count, mut found, mut examined) = (0, 0, 0);
    for scheme in Scheme::all().iter().filter(|scheme| !scheme.layout.is_native()) {
        let dir = tempfile::tempdir().unwrap();
        let is_gguf = scheme.layout.is_gguf();
        let (input, output) = (dir.path().join("in"), dir.path().join(if is_gguf { "q.gguf" } else { "q" }));
        // What gpt-oss takes has three dimensions.
        let of_experts = scheme.name == "gpt-oss";
        let (name, shape): (_, &[usize]) =
            if of_experts { ("l.experts.up_proj", &[2, 64, 32]) } else { ("l.up.weight", &[64, 64]) };
        let values = Random(62).normals(64 * 64, 0.1);
        let norm = Tensor::of(safetensors::Dtype::F32, &[1.0, 0.5]);
        let matrix = Tensor::of(safetensors::Dtype::F32, &values).shaped(shape);
        File::of([(name, matrix), ("l.norm.weight", norm)]).write(&input);
        quantize(&input, &output, &scheme.options(), &|it| it == name, &mut |_| ()).unwrap();
        let certificate = certify(&input, &output, &mut |_| ()).unwrap();
        let told = std::cell::Cell::new(0_u64);
        let is_found = || {
            told.set(
                told.get() + u64::from(examine(std::slice::from_ref(&output), None, &mut |_| ()).is_ok()),
            );
            check_certificate(&certificate, &output, None, &mut |_| ()).is_err()
        };
        let (flips, caught) = flip(&output, std::slice::from_ref(&output), flips() / 4, &is_found);
        (count, found, examined) = (count + flips, found + caught, examined + told.get());
    }
    eprintln!(
        "{count} bits flipped in files of other layouts: {found} found by their certificate, the others change no number"
    );
    assert!(found * 10 > count * 8 && examined * 10 > count * 8, "{found} and {examined} of {count}");
}

#[test]
fn of_plans() {
    let dir = tempfile::tempdir().unwrap();
    checkpoint(&dir.path().join("in"));
    let (input, output) = (dir.path().join("in"), dir.path().join("q"));
    let made = plan(&input, &output, &options("cfloat8_1_4_3"), &|_| true, Sharding::Files).unwrap();
    for shard in 0..made.shards() {
        apply(&made, shard, true, &mut |_| ()).unwrap();
    }
    finalize(&made, true, &mut |_| ()).unwrap();
    let (right, whole) = (meaning(&output), made.to_json().unwrap());
    let (total, path) = (8 * whole.len() as u64, dir.path().join("plan.json"));
    let (count, mut found) = (flips().min(total), 0);
    for i in 0..count {
        let bit = i * total / count;
        let mut bytes = whole.clone();
        bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
        let finished = Plan::from_json(&bytes, &path).and_then(|plan| {
            // A plan for another folder finishes nothing here.
            if plan.output() == output { finalize(&plan, true, &mut |_| ()).map(drop) } else { Ok(()) }
        });
        found += u64::from(finished.is_err());
        assert!(meaning(&output) == right, "bit {bit} of the plan changes the folder");
        verify(&output).unwrap();
    }
    eprintln!("{count} bits flipped in a plan: {found} found, the others change no tensor");
    assert!(found * 10 > count * 9, "{found} of {count}");
}
