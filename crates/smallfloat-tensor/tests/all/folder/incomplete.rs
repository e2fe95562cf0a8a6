//! Folders whose files do not belong together, on the way in and on the way out: nothing of the old
//! checkpoint is lost before the new one is written, and what is not whole is never called
//! verified.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::common::{File, Random, Tensor, names, options};
use serde_json::{Value, json};
use smallfloat_tensor::{
    Dtype, Error, Options, Plan, Scheme, Sharding, apply, dequantize, finalize, open_checkpoint, plan,
    quantize, verify,
};

const INDEX: &str = "model.safetensors.index.json";
const MARKER: &str = "smallfloat.incomplete";

/// A checkpoint of so many shards of one matrix each.
fn checkpoint(folder: &Path, shards: usize) {
    fs::create_dir(folder).unwrap();
    let (mut random, mut map) = (Random(53), BTreeMap::new());
    for shard in 1..=shards {
        let name = if shards == 1 {
            "model.safetensors".to_owned()
        } else {
            format!("model-{shard:05}-of-{shards:05}.safetensors")
        };
        let tensor = format!("l.{shard}.weight");
        let matrix = Tensor::of(safetensors::Dtype::F32, &random.normals(64 * 64, 0.1)).shaped(&[64, 64]);
        File::of([(tensor.clone(), matrix)]).write(&folder.join(&name));
        map.insert(tensor, name);
    }
    if shards > 1 {
        fs::write(folder.join(INDEX), json!({ "metadata": {}, "weight_map": map }).to_string()).unwrap();
    }
    fs::write(folder.join("config.json"), r#"{"hidden_size": 64}"#).unwrap();
}

struct Folders(tempfile::TempDir);

impl Folders {
    fn new(shards: usize) -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        checkpoint(&folders.path("in"), shards);
        folders
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn quantize(&self, options: &Options) -> Result<(), Error> {
        let options = Options { overwrite: true, ..options.clone() };
        quantize(self.path("in"), self.path("q"), &options, &|_| true, &mut |_| ()).map(drop)
    }
}

fn scheme(name: &str) -> Options {
    name.parse::<Scheme>().unwrap().options()
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

#[track_caller]
fn refuses<T: std::fmt::Debug>(result: Result<T, Error>, part: &str) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_new_checkpoint_leaves_nothing_of_the_old_one_but_the_owner_s_files() {
    let folders = Folders::new(3);
    folders.quantize(&scheme("fp8")).unwrap();
    fs::write(folders.path("q").join("notes.txt"), "mine").unwrap();
    fs::remove_dir_all(folders.path("in")).unwrap();
    checkpoint(&folders.path("in"), 1);
    folders.quantize(&options("cfloat8_1_4_3")).unwrap();
    assert_eq!(names(&folders.path("q")), ["config.json", "model.safetensors", "notes.txt"]);
    let config: Value = serde_json::from_slice(&fs::read(folders.path("q/config.json")).unwrap()).unwrap();
    assert_ne!(config["quantization_config"]["quant_method"], "fp8");
    assert_eq!(verify(folders.path("q")).unwrap().tensors, 1);
    // Files of tensors that are no part of a checkpoint are not ours to remove.
    fs::copy(folders.path("in/model.safetensors"), folders.path("q/adapter.safetensors")).unwrap();
    let before = contents(&folders.path("q"));
    refuses(folders.quantize(&scheme("fp8")), "has `adapter.safetensors`, which is no part");
    assert_eq!(contents(&folders.path("q")), before);
}

#[test]
fn a_run_that_fails_leaves_the_old_folder_and_no_new_one() {
    let folders = Folders::new(3);
    folders.quantize(&options("cfloat8_1_4_3")).unwrap();
    let before = contents(&folders.path("q"));
    // The last shard has a NaN, which is refused when all others are written.
    let last = folders.path("in/model-00003-of-00003.safetensors");
    let mut file = File::read(&last);
    file.tensors.get_mut("l.3.weight").unwrap().bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    file.write(&last);
    refuses(folders.quantize(&options("cfloat8_1_5_2")), "NaN");
    assert_eq!(contents(&folders.path("q")), before);
    fs::remove_dir_all(folders.path("q")).unwrap();
    refuses(folders.quantize(&options("cfloat8_1_5_2")), "NaN");
    assert!(!folders.path("q").exists());
}

#[test]
fn a_marked_folder_is_incomplete_to_every_reader() {
    let folders = Folders::new(2);
    folders.quantize(&options("cfloat8_1_4_3")).unwrap();
    verify(folders.path("q")).unwrap();
    fs::write(folders.path("q").join(MARKER), "").unwrap();
    let (q, out) = (folders.path("q"), folders.path("out"));
    refuses(verify(&q), "incomplete");
    refuses(dequantize(&q, &out, Dtype::F32, None, false, &mut |_| ()), "incomplete");
    refuses(quantize(&q, &out, &options("e4m3fn"), &|_| true, &mut |_| ()), "incomplete");
    refuses(plan(&q, &out, &options("e4m3fn"), &|_| true, Sharding::Files), "incomplete");
    assert!(!out.exists());
    // Writing it again heals it.
    folders.quantize(&options("cfloat8_1_4_3")).unwrap();
    verify(&q).unwrap();
}

#[test]
fn shards_of_two_checkpoints_are_told_apart() {
    let folders = Folders::new(3);
    folders.quantize(&options("cfloat8_1_4_3")).unwrap();
    let q = folders.path("q");
    let whole = contents(&q);
    let restore = || {
        for name in names(&q) {
            fs::remove_file(q.join(name)).unwrap();
        }
        for (name, bytes) in &whole {
            fs::write(q.join(name), bytes).unwrap();
        }
    };
    fs::remove_file(q.join("model-00002-of-00003.safetensors")).unwrap();
    refuses(verify(&q), "incomplete: tensor `l.2.weight` should be in `model-00002-of-00003.safetensors`");
    fs::remove_file(q.join(INDEX)).unwrap();
    refuses(verify(&q), "incomplete: of its 3 shards number 2 is missing");
    restore();
    let one = fs::read(q.join("model-00001-of-00003.safetensors")).unwrap();
    for extra in ["model-00004-of-00004.safetensors", "extra.safetensors"] {
        let mut file = File::read(&q.join("model-00001-of-00003.safetensors"));
        file.tensors = BTreeMap::from([("other".to_owned(), Tensor::f32(&[1.0]))]);
        file.metadata.clear();
        file.write(&q.join(extra));
        verify(&q).unwrap_err();
        restore();
    }
    assert_eq!(fs::read(q.join("model-00001-of-00003.safetensors")).unwrap(), one);
    verify(&q).unwrap();
}

#[test]
fn a_configuration_of_another_quantization_is_refused() {
    let folders = Folders::new(2);
    let config_of = |options: &Options| {
        folders.quantize(options).unwrap();
        verify(folders.path("q")).unwrap();
        fs::read(folders.path("q/config.json")).unwrap()
    };
    let schemes = ["fp8", "mxfp4-pack-quantized", "nvfp4-pack-quantized"];
    let mut all: Vec<_> = schemes.map(scheme).into();
    all.push(options("cfloat8_1_4_3"));
    let configs: Vec<_> = all.iter().map(config_of).collect();
    for (of, options) in all.iter().enumerate() {
        for (with, config) in configs.iter().enumerate() {
            folders.quantize(options).unwrap();
            fs::write(folders.path("q/config.json"), config).unwrap();
            let verified = verify(folders.path("q"));
            // MXFP4 and NVFP4 differ in the size of groups, which foreign files take from there.
            let says_nothing = !String::from_utf8_lossy(config).contains("quantization_config");
            match verified {
                Ok(_) => assert!(of == with || says_nothing, "{of} with the configuration of {with}"),
                Err(error) => assert_ne!(of, with, "{error}"),
            }
        }
    }
}

#[test]
fn a_plan_is_incomplete_until_it_is_finalized() {
    let folders = Folders::new(3);
    folders.quantize(&scheme("fp8")).unwrap();
    let q = folders.path("q");
    let options = Options { overwrite: true, ..options("cfloat8_1_4_3") };
    let sharding = Sharding::Count(NonZeroU64::new(2).unwrap());
    let plan: Plan = plan(folders.path("in"), &q, &options, &|_| true, sharding).unwrap();
    verify(&q).unwrap();
    for shard in 0..plan.shards() {
        apply(&plan, shard, true, &mut |_| ()).unwrap();
        refuses(verify(&q), "incomplete");
        assert!(!q.join("config.json").exists() && !q.join(INDEX).exists());
    }
    finalize(&plan, true, &mut |_| ()).unwrap();
    assert_eq!(verify(&q).unwrap().files, 2);
    let left: Vec<_> = names(&q).into_iter().filter(|name| name.contains("-of-00003")).collect();
    assert!(left.is_empty(), "{left:?}");
    // Both may be repeated.
    assert!(apply(&plan, 0, true, &mut |_| ()).unwrap().was_complete);
    finalize(&plan, true, &mut |_| ()).unwrap();
    verify(&q).unwrap();
}

#[cfg(unix)]
mod odd_entries {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn files_of_tensors_that_cannot_be_read_are_errors() {
        let folders = Folders::new(2);
        for why in ["a link to nothing", "not a regular file", "a folder"] {
            let path = folders.path("in/model-00009-of-00009.safetensors");
            match why {
                "a folder" => fs::create_dir(&path).unwrap(),
                "not a regular file" => pipe(&path),
                _ => symlink("nowhere", &path).unwrap(),
            }
            refuses(folders.quantize(&options("cfloat8_1_4_3")), why);
            assert!(!folders.path("q").exists());
            if path.is_dir() { fs::remove_dir(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        let path = folders.path("in").join(OsStr::from_bytes(b"mod\xffel.safetensors"));
        fs::copy(folders.path("in/model-00001-of-00002.safetensors"), path).unwrap();
        refuses(folders.quantize(&options("cfloat8_1_4_3")), "not Unicode text");
    }

    #[test]
    fn what_is_not_copied_is_listed() {
        let folders = Folders::new(1);
        let input = folders.path("in");
        fs::write(input.join("tokenizer.json"), "{}").unwrap();
        fs::write(input.join(".hidden"), "").unwrap();
        fs::write(input.join("pytorch_model.bin"), "").unwrap();
        fs::write(input.join("hf_quant_config.json"), "{}").unwrap();
        fs::create_dir(input.join("onnx")).unwrap();
        symlink("nowhere", input.join("vocab.txt")).unwrap();
        fs::write(input.join(OsStr::from_bytes(b"caf\xe9.txt")), "").unwrap();
        pipe(&input.join("pipe"));
        let report =
            quantize(&input, folders.path("q"), &options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap();
        assert_eq!(
            report.not_copied,
            [
                "`.hidden` (hidden)",
                "`caf\u{fffd}.txt` (its name is not Unicode text)",
                "`hf_quant_config.json` (says how the input is quantized)",
                "`onnx` (a folder)",
                "`pipe` (not a regular file)",
                "`pytorch_model.bin` (the model in another form)",
                "`vocab.txt` (a link to nothing)",
            ]
        );
        assert_eq!(names(&folders.path("q")), ["config.json", "model.safetensors", "tokenizer.json"]);
        let back = folders.path("back");
        fs::write(folders.path("q/.hidden"), "").unwrap();
        let dequantized = dequantize(folders.path("q"), &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
        assert_eq!(dequantized.not_copied, ["`.hidden` (hidden)"]);
    }

    /// Mistral's folders have the model twice: a second time under its own names of tensors.
    #[test]
    fn a_consolidated_model_beside_the_shards_is_left_alone() {
        let folders = Folders::new(1);
        let input = folders.path("in");
        let (model, consolidated) = (input.join("model.safetensors"), input.join("consolidated.safetensors"));
        let other_index = "consolidated.safetensors.index.json";
        fs::copy(&model, &consolidated).unwrap();
        fs::write(input.join(other_index), "{}").unwrap();
        let report =
            quantize(&input, folders.path("q"), &options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap();
        let another = |name: &str| format!("`{name}` (the model in another form)");
        assert_eq!(report.not_copied, [another(other_index), another("consolidated.safetensors")]);
        assert_eq!(names(&folders.path("q")), ["config.json", "model.safetensors"]);
        verify(folders.path("q")).unwrap();
        // An index that names it makes it the model's; alone it is the model.
        let map = json!({ "weight_map": { "l.1.weight": "consolidated.safetensors" } });
        fs::write(input.join(INDEX), map.to_string()).unwrap();
        refuses(
            open_checkpoint(&input).map(|views| views.len()),
            "names are unique in a checkpoint: move one of the files away",
        );
        fs::remove_file(input.join(INDEX)).unwrap();
        fs::remove_file(&model).unwrap();
        assert_eq!(open_checkpoint(&input).unwrap().len(), 1);
    }

    #[test]
    fn side_files_that_never_end_are_refused_at_once() {
        let folders = Folders::new(2);
        folders.quantize(&scheme("fp8")).unwrap();
        let plan_path = folders.path("plan.json");
        for name in ["config.json", INDEX] {
            for endless in [true, false] {
                for folder in ["in", "q"] {
                    let path = folders.path(folder).join(name);
                    let text = fs::read(&path).unwrap();
                    fs::remove_file(&path).unwrap();
                    if endless {
                        symlink("/dev/zero", &path).unwrap();
                    } else {
                        pipe(&path);
                    }
                    if folder == "q" {
                        refuses(verify(folders.path("q")), "not a regular file");
                    } else {
                        refuses(folders.quantize(&scheme("fp8")), "not a regular file");
                    }
                    fs::remove_file(&path).unwrap();
                    fs::write(&path, text).unwrap();
                }
            }
        }
        pipe(&plan_path);
        refuses(Plan::read(&plan_path), "not a regular file");
        fs::remove_file(&plan_path).unwrap();
        symlink("/dev/zero", &plan_path).unwrap();
        refuses(Plan::read(&plan_path), "not a regular file");
        verify(folders.path("q")).unwrap();
    }
}

/// `Infinity`, as Python writes it, comes through.
#[test]
fn configurations_with_numbers_of_python() {
    let folders = Folders::new(1);
    fs::write(folders.path("in/config.json"), r#"{"time_step_limit": [0.0, Infinity]}"#).unwrap();
    folders.quantize(&scheme("float-quantized")).unwrap();
    let text = |name: &str| fs::read_to_string(folders.path(name).join("config.json")).unwrap();
    let limit = "\"time_step_limit\": [\n    0.0,\n    Infinity\n  ]";
    assert!(text("q").contains(limit) && text("q").contains("quantization_config"), "{}", text("q"));
    verify(folders.path("q")).unwrap();
    dequantize(folders.path("q"), folders.path("back"), Dtype::F32, None, false, &mut |_| ()).unwrap();
    assert_eq!(text("back"), format!("{{\n  {limit}\n}}\n"));
}

/// What an input said of its quantization goes, in `text_config` too; integers of any size stay.
#[test]
fn configurations_of_models_of_text_and_images() {
    let folders = Folders::new(1);
    let config = r#"{"big": 123456789012345678901234567890, "text_config": {"layers": 2,
        "quantization_config": {"quant_method": "fp8"}}, "quantization_config": {"quant_method": "fp8"}}"#;
    fs::write(folders.path("in/config.json"), config).unwrap();
    folders.quantize(&scheme("float-quantized")).unwrap();
    let text = |name: &str| fs::read_to_string(folders.path(name).join("config.json")).unwrap();
    let kept = "{\n  \"big\": 123456789012345678901234567890,\n  \"text_config\": {\n    \"layers\": 2\n  }";
    assert!(text("q").starts_with(&format!("{kept},\n  \"quantization_config\"")), "{}", text("q"));
    dequantize(folders.path("q"), folders.path("back"), Dtype::F32, None, false, &mut |_| ()).unwrap();
    assert_eq!(text("back"), format!("{kept}\n}}\n"));
}
