//! `examine`: corruptions of files that are otherwise healthy are named, and healthy files are left
//! alone. What is corrupted follows the threads that docs/layouts.md links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{File, Random, Tensor};
use safetensors::Dtype as T;
use serde_json::{Value, json};
use smallfloat_tensor::{FileFinding, Nonfinite, Options, Scheme, examine, quantize, verify};

const ROWS: usize = 96;
const COLUMNS: usize = 256;
const WEIGHT: &str = "model.layers.0.mlp.down_proj.weight";
const MODULE: &str = "model.layers.0.mlp.down_proj";

/// A weight with the spread of trained ones: rows and columns of different size.
fn weights(seed: u64, size: f64, rows: usize) -> Tensor {
    let random = &mut Random(seed);
    let across: Vec<f64> = (0..COLUMNS).map(|_| (0.6 * random.normal()).exp()).collect();
    let values = (0..rows).flat_map(|_| {
        let row = (0.5 * random.normal()).exp();
        across.iter().map(|column| row * column * size * random.normal()).collect::<Vec<f64>>()
    });
    Tensor::of(T::BF16, &values.collect::<Vec<f64>>()).shaped(&[rows, COLUMNS])
}

struct Bench {
    _folder: tempfile::TempDir,
    source: PathBuf,
    file: PathBuf,
}

impl Bench {
    fn new(scheme: &str, seed: u64, size: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Comfy's squares are of 16 or 32.
        let (source, file) = (folder.path().join("source"), folder.path().join("file"));
        let norm = Tensor::of(T::BF16, &[1.0, 0.25]);
        File::of([(WEIGHT, weights(seed, size, ROWS)), ("model.norm.weight", norm)]).write(&source);
        let options = Options { overwrite: true, ..scheme.parse::<Scheme>().unwrap().options() };
        quantize(&source, &file, &options, &|name| name == WEIGHT, &mut |_| ()).unwrap();
        Self { _folder: folder, source, file }
    }

    fn corrupt(&self, change: impl FnOnce(&mut BTreeMap<String, Tensor>)) {
        let mut file = File::read(&self.file);
        change(&mut file.tensors);
        file.write(&self.file);
    }

    fn found(&self, with_source: bool) -> Vec<FileFinding> {
        found(&self.file, with_source.then_some(&*self.source))
    }
}

fn found(path: &Path, source: Option<&Path>) -> Vec<FileFinding> {
    examine(&[path.to_path_buf()], source, &mut |_| ()).unwrap()
}

fn tensor<'a>(tensors: &'a mut BTreeMap<String, Tensor>, suffix: &str) -> &'a mut Tensor {
    tensors.get_mut(&format!("{MODULE}{suffix}")).unwrap_or_else(|| panic!("no {suffix}"))
}

fn f32_of(tensor: &Tensor) -> f32 {
    f32::from_le_bytes(tensor.bytes[..4].try_into().unwrap())
}

fn set_f32(tensor: &mut Tensor, value: f32) {
    tensor.bytes = value.to_le_bytes().to_vec();
}

fn transpose(bytes: &[u8], size: usize, [rows, columns]: [usize; 2]) -> Vec<u8> {
    let at = |i: usize| &bytes[i * size..][..size];
    (0..columns).flat_map(|j| (0..rows).flat_map(move |i| at(i * columns + j).to_vec())).collect()
}

type Change = Box<dyn Fn(&mut BTreeMap<String, Tensor>)>;

/// A file that is made wrong, as somebody met it.
struct Case {
    /// The thread, of those that docs/doctor.md links.
    thread: &'static str,
    scheme: &'static str,
    /// What it has to be called.
    kind: &'static str,
    /// Whether only the source tells.
    with_source: bool,
    change: Change,
}

/// Collects cases.
#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    /// Found from the file alone.
    fn alone(
        &mut self,
        thread: &'static str,
        scheme: &'static str,
        kind: &'static str,
        change: impl Fn(&mut BTreeMap<String, Tensor>) + 'static,
    ) {
        self.0.push(Case { thread, scheme, kind, with_source: false, change: Box::new(change) });
    }

    /// Found with the source.
    fn beside_source(
        &mut self,
        thread: &'static str,
        scheme: &'static str,
        kind: &'static str,
        change: impl Fn(&mut BTreeMap<String, Tensor>) + 'static,
    ) {
        self.0.push(Case { thread, scheme, kind, with_source: true, change: Box::new(change) });
    }
}

/// The F32 number of NVFP4.
fn numbers_of_tensors(cases: &mut Cases) {
    for (thread, scheme, suffix) in [
        ("modular/modular/issues/6600", "nvfp4-pack-quantized", ".weight_global_scale"),
        ("modular/modular/pull/6699", "modelopt-nvfp4", ".weight_scale_2"),
        ("kekzl/imp/pull/113", "comfy-nvfp4", ".weight_scale_2"),
    ] {
        cases.alone(thread, scheme, "global-scale-inverted", move |tensors| {
            let global = tensor(tensors, suffix);
            let value = f32_of(global);
            set_f32(global, 1.0 / value);
        });
        cases.alone("charlie12345/ROCmFPX/issues/85", scheme, "global-scale-missing", move |tensors| {
            set_f32(tensor(tensors, suffix), 1.0);
        });
        // The number of another tensor, or of another maximum.
        cases.beside_source(thread, scheme, "global-scale-inverted", move |tensors| {
            let global = tensor(tensors, suffix);
            let value = f32_of(global);
            set_f32(global, value * if suffix.ends_with('2') { 16.0 } else { 1.0 / 16.0 });
        });
    }
    for (thread, scheme, from, to) in [
        ("modular/modular/pull/6699", "nvfp4-pack-quantized", ".weight_global_scale", ".weight_scale_2"),
        ("modular/modular/pull/6699", "modelopt-nvfp4", ".weight_scale_2", ".weight_global_scale"),
        ("ggml-org/llama.cpp/issues/22858", "nvfp4-pack-quantized", ".weight_global_scale", ".global"),
        ("ggml-org/llama.cpp/issues/22858", "modelopt-nvfp4", ".weight_scale_2", ".global"),
    ] {
        cases.alone(thread, scheme, "global-scale-missing", move |tensors| {
            let global = tensors.remove(&format!("{MODULE}{from}")).unwrap();
            tensors.insert(format!("{MODULE}{to}"), global);
        });
    }
    // FNUZ made of FN twice: scales are doubled once too often.
    for (scheme, suffix) in [("fp8", ".weight_scale"), ("deepseek", ".weight_scale_inv")] {
        let thread = "vllm-project/vllm/pull/31713";
        cases.beside_source(thread, scheme, "global-scale-inverted", move |tensors| {
            let scales = tensor(tensors, suffix);
            let twice = |x: &[u8]| (4.0 * f32::from_le_bytes(x.try_into().unwrap())).to_le_bytes();
            scales.bytes = scales.bytes.chunks_exact(4).flat_map(twice).collect();
        });
    }
    // Exponents with the bias 125.
    for (scheme, suffix) in [
        ("mxfp4-pack-quantized", ".weight_scale"),
        ("mxfp6-pack-quantized", ".weight_scale"),
        ("mxfp8-quantized", ".weight_scale"),
        ("quark-mxfp4", ".weight_scale"),
        ("mxfp4-typed", ".weight_scale"),
        ("deepseek-v4", ".scale"),
    ] {
        let thread = "vllm-project/compressed-tensors/pull/538";
        cases.beside_source(thread, scheme, "global-scale-inverted", move |tensors| {
            tensor(tensors, suffix).bytes.iter_mut().for_each(|byte| *byte -= 2);
        });
    }
}

/// Bytes of E8M0 as numbers, or as bits, of F32.
fn exponents(cases: &mut Cases) {
    for (scheme, suffix) in [
        ("deepseek-e8m0", ".weight_scale_inv"),
        ("deepseek-v4", ".scale"),
        ("mxfp8-quantized", ".weight_scale"),
        ("mxfp8-typed", ".weight_scale"),
    ] {
        for (thread, as_bits) in
            [("vllm-project/vllm/issues/51946", false), ("sgl-project/sglang/pull/26701", true)]
        {
            cases.alone(thread, scheme, "exponents-as-numbers", move |tensors| {
                let scales = tensor(tensors, suffix);
                let number = |&byte: &u8| {
                    if as_bits { u32::from(byte).to_le_bytes() } else { f32::from(byte).to_le_bytes() }
                };
                scales.bytes = scales.bytes.iter().flat_map(number).collect();
                scales.dtype = T::F32;
            });
        }
        let thread = "vllm-project/vllm-xpu-kernels/pull/553";
        cases.alone(thread, scheme, "exponents-as-numbers", move |tensors| {
            tensor(tensors, suffix).dtype = T::F8_E4M3;
        });
    }
}

/// Scales by column and row, of other rows, in tiles.
fn places_of_scales(cases: &mut Cases) {
    for (scheme, suffix, size) in [
        ("nvfp4-pack-quantized", ".weight_scale", 1),
        ("modelopt-nvfp4", ".weight_scale", 1),
        ("mxfp4-pack-quantized", ".weight_scale", 1),
        ("quark-mxfp4", ".weight_scale", 1),
        ("mxfp8-quantized", ".weight_scale", 1),
        ("mxfp8-typed", ".weight_scale", 1),
        ("deepseek", ".weight_scale_inv", 4),
    ] {
        let transposed = move |tensors: &mut BTreeMap<String, Tensor>| {
            let scales = tensor(tensors, suffix);
            let shape = [scales.shape[0], scales.shape[1]];
            scales.bytes = transpose(&scales.bytes, size, shape);
        };
        cases.alone("vllm-project/vllm/pull/50204", scheme, "scales-transposed", move |tensors| {
            transposed(tensors);
            tensor(tensors, suffix).shape.reverse();
        });
        if scheme != "deepseek" {
            cases.beside_source("vllm-project/vllm/pull/47116", scheme, "scales-misplaced", transposed);
        }
    }
    // Rows of codes sorted by head, their scales not.
    for (scheme, row) in
        [("float-quantized", 4), ("mxfp8-quantized", 8), ("nvfp4-pack-quantized", 16), ("mxfp8-typed", 8)]
    {
        cases.beside_source("sgl-project/sglang/pull/35703", scheme, "scales-misplaced", move |tensors| {
            tensor(tensors, ".weight_scale").bytes.rotate_left(row * ROWS / 3);
        });
    }
    // Tiles where rows are read, and rows where tiles are read.
    for (scheme, columns) in [("nvfp4-pack-quantized", 16), ("modelopt-nvfp4", 16)] {
        let thread = "NVIDIA/Model-Optimizer/pull/2038";
        cases.beside_source(thread, scheme, "scales-misplaced", move |tensors| {
            let scales = tensor(tensors, ".weight_scale");
            let mut places: Vec<usize> = (0..scales.bytes.len()).collect();
            places.sort_by_key(|i| {
                let (row, column) = (i / columns, i % columns);
                (row / 128, column / 4, row % 32, row / 32 % 4, column % 4)
            });
            scales.bytes = places.into_iter().map(|i| scales.bytes[i]).collect();
        });
    }
    for (thread, scheme) in [
        ("comfyanonymous/ComfyUI/issues/11502", "comfy-nvfp4"),
        ("comfyanonymous/ComfyUI/issues/11502", "comfy-mxfp8"),
    ] {
        cases.beside_source(thread, scheme, "scales-misplaced", |tensors| {
            tensor(tensors, ".weight_scale").bytes.rotate_left(16);
        });
    }
}

/// Halves of bytes, and of blocks.
fn orders(cases: &mut Cases) {
    for (thread, scheme, suffix) in [
        ("Comfy-Org/comfy-kitchen/pull/41", "nvfp4-pack-quantized", ".weight_packed"),
        ("triton-lang/triton/pull/5197", "mxfp4-pack-quantized", ".weight_packed"),
        ("Comfy-Org/comfy-kitchen/pull/41", "modelopt-nvfp4", ".weight"),
        ("triton-lang/triton/pull/5197", "quark-mxfp4", ".weight"),
        ("Comfy-Org/comfy-kitchen/pull/41", "comfy-nvfp4", ".weight"),
        ("triton-lang/triton/pull/5197", "mxfp4-typed", ".weight"),
    ] {
        cases.beside_source(thread, scheme, "elements-swapped", move |tensors| {
            tensor(tensors, suffix).bytes.iter_mut().for_each(|byte| *byte = byte.rotate_left(4));
        });
    }
    for (scheme, suffix) in
        [("mxfp4-pack-quantized", ".weight_packed"), ("quark-mxfp4", ".weight"), ("mxfp4-typed", ".weight")]
    {
        cases.beside_source("kekzl/imp/pull/567", scheme, "elements-swapped", move |tensors| {
            for block in tensor(tensors, suffix).bytes.chunks_exact_mut(16) {
                let code = |i: usize| block[i / 2] >> (4 * (i % 2)) & 15;
                let codes: Vec<u8> = (0..32).map(code).collect();
                (0..16).for_each(|i| block[i] = codes[i] | codes[i + 16] << 4);
            }
        });
    }
}

/// Codes as numbers, codes without their scales, scales of another number of elements.
fn codes_and_blocks(cases: &mut Cases) {
    for (thread, scheme) in [
        ("huggingface/candle/issues/2875", "fp8"),
        ("huggingface/candle/issues/2875", "float-quantized"),
        ("ml-explore/mlx-lm/pull/1192", "deepseek"),
        ("ml-explore/mlx-lm/pull/1192", "deepseek-v4"),
        ("ml-explore/mlx-lm/pull/1192", "mxfp8-quantized"),
    ] {
        cases.alone(thread, scheme, "codes-as-numbers", |tensors| {
            let weight = tensor(tensors, ".weight");
            let values: Vec<f64> = weight.bytes.iter().map(|&byte| f64::from(byte)).collect();
            *weight = Tensor::of(T::BF16, &values).shaped(&[ROWS, COLUMNS]);
        });
    }
    for (thread, scheme, suffix) in [
        ("leejet/stable-diffusion.cpp/pull/1898", "fp8", ".weight_scale"),
        ("leejet/stable-diffusion.cpp/pull/1898", "modelopt-fp8", ".weight_scale"),
        ("unslothai/unsloth/pull/6978", "deepseek", ".weight_scale_inv"),
        ("kekzl/imp/pull/1450", "float-quantized", ".weight_scale"),
        ("vllm-project/vllm/pull/54722", "fp8-e5m2", ".weight_scale"),
        ("wuwangzhang1216/abliterix/pull/93", "deepseek-v4", ".scale"),
        ("wuwangzhang1216/abliterix/pull/93", "quark-mxfp4", ".weight_scale"),
    ] {
        cases.alone(thread, scheme, "scale-missing", move |tensors| {
            tensors.remove(&format!("{MODULE}{suffix}")).unwrap();
            if scheme == "deepseek-v4" {
                // Its scales leave room for rounding up: the reader's output had the largest
                // number.
                tensor(tensors, ".weight").bytes[5] = 0x7e;
            }
        });
    }
    for scheme in ["nvfp4-pack-quantized", "modelopt-nvfp4", "mxfp4-pack-quantized", "quark-mxfp4"] {
        cases.alone("NVIDIA/TensorRT-LLM/pull/19091", scheme, "wrong-block-length", |tensors| {
            let scales = tensor(tensors, ".weight_scale");
            scales.bytes = scales.bytes.iter().copied().step_by(2).collect();
            scales.shape[1] /= 2;
        });
        cases.alone("Noumena-Network/nmoe/issues/15", scheme, "wrong-block-length", |tensors| {
            let scales = tensor(tensors, ".weight_scale");
            scales.bytes = scales.bytes.iter().flat_map(|&byte| [byte; 2]).collect();
            scales.shape[1] *= 2;
        });
    }
}

/// NaN and zero among scales and codes: mostly what becomes of blocks of zeros.
fn no_numbers(cases: &mut Cases) {
    for (thread, scheme, suffix, bytes) in [
        ("pytorch/ao/issues/4713", "fp8", ".weight_scale", 0_f32.to_le_bytes()),
        ("THUDM/slime/pull/2256", "deepseek", ".weight_scale_inv", f32::NAN.to_le_bytes()),
        ("kekzl/imp/pull/113", "float-quantized", ".weight_scale", (-1_f32).to_le_bytes()),
        ("THUDM/slime/pull/2256", "fp8", ".weight", [0x7f; 4]),
        ("ml-explore/mlx/issues/4135", "mxfp8-quantized", ".weight", [0xff; 4]),
        ("ml-explore/mlx/issues/4135", "comfy-fp8", ".weight", [0x7f; 4]),
        ("intel/auto-round/issues/1908", "mxfp8-quantized", ".weight_scale", [0xff; 4]),
        ("NVIDIA/Model-Optimizer/issues/1633", "modelopt-nvfp4", ".weight_scale", [0x7f; 4]),
        ("NVIDIA/Model-Optimizer/pull/1397", "nvfp4-pack-quantized", ".weight_scale", [0x7f; 4]),
        ("NVIDIA/Model-Optimizer/pull/1397", "comfy-nvfp4", ".weight_scale", [0x7f; 4]),
        ("dropbox/gemlite/issues/39", "modelopt-nvfp4", ".weight_scale", [0; 4]),
        ("dropbox/gemlite/issues/39", "nvfp4-pack-quantized", ".weight_scale", [0; 4]),
    ] {
        cases.alone(thread, scheme, "not-a-number", move |tensors| {
            tensor(tensors, suffix).bytes[..4].copy_from_slice(&bytes);
        });
    }
}

#[test]
fn corruptions_are_named() {
    let mut cases = Cases::default();
    for add in [numbers_of_tensors, exponents, places_of_scales, orders, codes_and_blocks, no_numbers] {
        add(&mut cases);
    }
    let page = include_str!("../../../../../docs/doctor.md");
    let (mut wrong, mut threads) = (Vec::new(), BTreeSet::new());
    for (i, case) in cases.0.iter().enumerate() {
        let Case { thread, scheme, kind, with_source, change } = case;
        let bench = Bench::new(scheme, 100 + i as u64, 0.03);
        bench.corrupt(|tensors| change(tensors));
        let found = bench.found(*with_source);
        if !matches!(&found[..], [only] if only.kind == *kind && only.tensor.is_some()) {
            wrong.push(format!("case {i}, {thread}, {scheme}, {kind}: {found:#?}"));
        }
        assert!(page.contains(&format!("https://github.com/{thread})")), "{thread} is not linked");
        threads.insert(thread);
    }
    let count = cases.0.len();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 90 && threads.len() >= 25, "{count} cases of {} threads", threads.len());
}

/// transformers #46763: elements divided by amax / 448 while the power of two is stored.
#[test]
fn scales_that_were_rounded_too_late() {
    for (scheme, suffix, max) in
        [("mxfp8-quantized", ".weight_scale", 448.0), ("deepseek-e8m0", ".weight_scale_inv", 448.0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let (rows, columns) = (1024, 2048);
        let random = &mut Random(7);
        let block = if scheme == "deepseek-e8m0" { (128, 128) } else { (1, 32) };
        let values = random.normals(rows * columns, 0.02);
        let (down, across) = (rows / block.0, columns / block.1);
        let mut amax = vec![0.0_f64; down * across];
        let group = |i: usize| i / columns / block.0 * across + i % columns / block.1;
        values.iter().enumerate().for_each(|(i, x)| amax[group(i)] = amax[group(i)].max(x.abs()));
        let nearest = |x: f64| {
            let code =
                smallfloat::formats::E4M3FN.encode_f64(x, &smallfloat::formats::E4M3FN.default_projection());
            code.value.to_le_bytes()[0]
        };
        let codes: Vec<u8> =
            values.iter().enumerate().map(|(i, x)| nearest(x / (amax[group(i)] / max))).collect();
        let powers: Vec<u8> = amax
            .iter()
            .map(|amax| {
                let exponent = ((amax / max).to_bits() >> 52) as i32 - 1023 + 1;
                u8::try_from(exponent + 127).unwrap()
            })
            .collect();
        let dtype = if scheme == "deepseek-e8m0" { T::F8_E8M0 } else { T::U8 };
        File::of([
            (WEIGHT.to_owned(), Tensor::new(T::F8_E4M3, &[rows, columns], codes)),
            (format!("{MODULE}{suffix}"), Tensor::new(dtype, &[down, across], powers)),
        ])
        .write(&file);
        let found = found(&file, None);
        assert!(matches!(&found[..], [only] if only.kind == "unrounded-scale"), "{scheme}: {found:#?}");
    }
}

const SHARDS: [&str; 2] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

/// A checkpoint of two files, and what is made of it.
struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        let input = folders.input();
        fs::create_dir(&input).unwrap();
        let mut map = serde_json::Map::new();
        for (i, shard) in SHARDS.iter().enumerate() {
            let name = format!("model.layers.{i}.mlp.down_proj.weight");
            File::of([(name.clone(), weights(i as u64, 0.03, ROWS))]).write(&input.join(shard));
            map.insert(name, json!(shard));
        }
        let index = json!({"metadata": {"total_size": 4 * ROWS * COLUMNS}, "weight_map": map});
        fs::write(input.join("model.safetensors.index.json"), index.to_string()).unwrap();
        fs::write(input.join("config.json"), json!({"model_type": "llama"}).to_string()).unwrap();
        folders
    }

    fn input(&self) -> PathBuf {
        self.0.path().join("in")
    }

    fn made(&self, scheme: &str, name: &str) -> PathBuf {
        let output = self.0.path().join(name);
        let options = Options { overwrite: true, ..scheme.parse::<Scheme>().unwrap().options() };
        quantize(self.input(), &output, &options, &|_| true, &mut |_| ()).unwrap();
        assert_eq!(found(&output, Some(&self.input())), [], "{scheme}");
        output
    }
}

fn edit(path: &Path, change: &dyn Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn contradicted(path: &Path, part: &str) {
    let found = found(path, None);
    let told = found.iter().any(|finding| finding.kind == "contradiction" && finding.what.contains(part));
    assert!(told, "{part}: {found:#?}");
}

/// What `verify` refuses too: one scale for a matrix of several blocks, blocks of nothing, and what
/// is said of another layout or can't be understood.
#[test]
fn configurations_of_something_else_are_not_verified() {
    let folders = Folders::new();
    let made = |scheme: &str, name: &str| folders.made(scheme, name);
    for (scheme, key, value, part) in [
        (
            "fp8",
            "weight_block_size",
            json!([16, 16]),
            "has scales of tensor, and `config.json` says block:16x16",
        ),
        ("fp8", "weight_block_size", json!([0, 16]), "which has a 0"),
        ("fp8", "quant_method", json!("gptq"), "says that `quant_method` is `gptq`"),
        ("deepseek", "quant_method", json!("mxfp4"), "says that `quant_method` is `mxfp4`"),
        ("deepseek", "quant_method", json!(8), "its `quant_method` is no text"),
        ("deepseek", "", json!("fp8"), "its `quantization_config` is no object"),
    ] {
        let output = made(scheme, "said");
        verify(&output).unwrap();
        edit(&output.join("config.json"), &|config| {
            let said = &mut config["quantization_config"];
            if key.is_empty() { *said = value.clone() } else { said[key] = value.clone() }
        });
        let error = verify(&output).unwrap_err().to_string();
        assert!(error.contains(part), "{scheme} {key}: {error}");
        contradicted(&output, part);
    }
    // A method that is not known may go with any layout, and one block has one scale.
    let output = made("fp8", "unknown");
    edit(&output.join("config.json"), &|config| {
        config["quantization_config"] = json!({"quant_method": "ptpc", "weight_block_size": [ROWS, COLUMNS]});
    });
    verify(&output).unwrap();
}

/// Folders: a configuration of another layout, shards of different runs, an index of other files.
#[test]
fn folders_that_contradict_themselves() {
    let folders = Folders::new();
    let (input, shards) = (folders.input(), SHARDS);
    let made = |scheme: &str, name: &str| folders.made(scheme, name);
    for (scheme, method) in
        [("quark-mxfp4", "compressed-tensors"), ("deepseek", "bitsandbytes"), ("modelopt-nvfp4", "fp8")]
    {
        let output = made(scheme, scheme);
        edit(&output.join("config.json"), &|config| {
            config["quantization_config"]["quant_method"] = json!(method);
        });
        contradicted(&output, method);
        edit(&output.join("config.json"), &|config| {
            drop(config.as_object_mut().unwrap().remove("quantization_config"));
        });
        contradicted(&output, "says nothing of a quantization");
    }
    // Models of text and images may say it of their part for text alone.
    let output = made("deepseek", "inner");
    assert_eq!(found(&output, None), []);
    edit(&output.join("config.json"), &|config| {
        let said = config.as_object_mut().unwrap().remove("quantization_config").unwrap();
        config["text_config"] = json!({"quantization_config": said});
    });
    assert_eq!(found(&output, None), []);
    let output = made("deepseek", "blocks");
    edit(&output.join("config.json"), &|config| {
        config["quantization_config"]["weight_block_size"] = json!([64, 64]);
    });
    contradicted(&output, "says block:64x64");
    let output = made("deepseek", "ignored");
    edit(&output.join("config.json"), &|config| {
        config["quantization_config"]["modules_to_not_convert"] = json!(["model.layers.1.mlp.down_proj"]);
    });
    contradicted(&output, "among those that are not");
    let output = made("deepseek", "size");
    edit(&output.join("model.safetensors.index.json"), &|index| index["metadata"]["total_size"] = json!(7));
    contradicted(&output, "says that its tensors have 7 bytes");
    // A tensor that is said to lie in another file, a file that is not there, one that is left
    // over.
    let index = "model.safetensors.index.json";
    let first = "model.layers.0.mlp.down_proj.weight";
    let output = made("deepseek", "elsewhere");
    edit(&output.join(index), &|index| index["weight_map"][first] = json!(shards[1]));
    contradicted(&output, first);
    let output = made("deepseek", "lost");
    fs::remove_file(output.join(shards[1])).unwrap();
    contradicted(&output, shards[1]);
    let output = made("deepseek", "stray");
    fs::copy(made("fp8", "of-another").join(shards[0]), output.join("model.safetensors")).unwrap();
    contradicted(&output, "model.safetensors");
    let (one, two) = (made("fp8", "one"), made("deepseek", "two"));
    fs::copy(two.join(shards[1]), one.join(shards[1])).unwrap();
    contradicted(&one, "shards of different runs");
    // What is not quantized at all.
    fs::write(input.join("config.json"), json!({"quantization_config": {"quant_method": "fp8"}}).to_string())
        .unwrap();
    contradicted(&input, "nothing is quantized");
}

/// A configuration that can't be read is told of, beside a file as in a folder.
#[test]
fn a_configuration_that_can_not_be_read() {
    for scheme in ["quark-mxfp4", "gguf-nvfp4", "nvfp4", "nvfp4-pack-quantized"] {
        let bench = Bench::new(scheme, 3, 0.02);
        assert_eq!(bench.found(false), []);
        let folder = tempfile::tempdir().unwrap();
        let (file, config) = (folder.path().join("model.safetensors"), folder.path().join("config.json"));
        fs::copy(&bench.file, &file).unwrap();
        for (text, part) in [("{\"quantization_config\": {", "EOF"), ("[]", "no JSON object")] {
            fs::write(&config, text).unwrap();
            for path in [&*file, folder.path()] {
                let found = found(path, None);
                assert!(matches!(&found[..], [one] if one.what.contains(part)), "{scheme}: {found:#?}");
            }
        }
    }
}

/// 200 and more healthy files of every layout, with their sources and without.
#[test]
fn healthy_files_are_left_alone() {
    let (mut files, mut invented) = (0, Vec::new());
    for scheme in Scheme::all() {
        for (seed, size) in
            [(1, 0.02), (2, 0.3), (3, 1e-3), (4, 1.5), (5, 0.02), (6, 0.1), (7, 6e-5), (8, 0.05)]
        {
            let bench = Bench::new(scheme.name, seed, size);
            // What F8_E4M3 without scales makes of such small numbers is not healthy.
            let with_source = !(scheme.name == "plain-e4m3" && size < 0.01);
            let found = bench.found(with_source);
            if !found.is_empty() {
                invented.push(format!("{scheme} {size}: {found:#?}"));
            }
            files += 1;
        }
    }
    assert!(invented.is_empty(), "{} of {files}:\n{}", invented.len(), invented.join("\n"));
    assert!(files >= 200, "{files}");
}

/// Weights of −a, 0 and a, as some models are trained to have, reach the end of their format in
/// every block.
#[test]
fn weights_of_one_magnitude_are_healthy() {
    for (scheme, size) in [("mxfp4-pack-quantized", 1.5), ("mxfp4-typed", 1.625), ("mxfp8-quantized", 1.75)] {
        let folder = tempfile::tempdir().unwrap();
        let (source, file) = (folder.path().join("source"), folder.path().join("file"));
        let random = &mut Random(3);
        let values = (0..ROWS * COLUMNS).map(|_| size / 64.0 * random.normal().clamp(-1.0, 1.0).round());
        let weight = Tensor::of(T::BF16, &values.collect::<Vec<f64>>()).shaped(&[ROWS, COLUMNS]);
        File::of([(WEIGHT, weight)]).write(&source);
        let options = scheme.parse::<Scheme>().unwrap().options();
        quantize(&source, &file, &options, &|_| true, &mut |_| ()).unwrap();
        assert_eq!(found(&file, Some(&source)), [], "{scheme}");
    }
}

/// Numbers that a format has not at its scale are gone, by the right scheme and in the right order;
/// so are those of a block in which something is NaN.
#[test]
fn what_is_lost_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("source"), folder.path().join("file"));
    // Multiples of 2^-149 lie below all products of E4M3 and a power of two that F8_E8M0 has.
    let below: Vec<f64> = (0..64 * 64).map(|i| f64::from(i % 7 + 1) * 0.5_f64.powi(149)).collect();
    // 2^-10 is half of the least E4M3; 1 is exact.
    let half: Vec<f64> = (0..64 * 64).map(|i| if i == 5 { 1.0 / 64.0 } else { 0.5_f64.powi(11) }).collect();
    let mut nan = vec![1.0; 64 * 64];
    nan[40] = f64::NAN;
    for (scheme, values, kind, part) in [
        // What `plain-e4m3` loses below is whole with a scale.
        ("fp8", &half, "", ""),
        ("mxfp8-e4m3", &below, "underflow", "4096 of 4096 elements lie below"),
        ("fp8", &below, "underflow", "4096 of 4096 elements lie below"),
        ("bnb-nf4", &below, "underflow", "4096 of 4096 elements lie below"),
        ("cfloat8_1_4_3", &below, "underflow", "and 4096 of these became 0"),
        ("plain-e4m3", &half, "underflow", "4095 of 4096 elements lie below"),
        ("mxfp4", &nan, "not-a-number", "31 elements are NaN, the first of them 32, that are numbers"),
        // The NaN itself is the source's.
        ("plain-e4m3", &nan, "", ""),
    ] {
        let tensor = Tensor::of(T::F32, values).shaped(&[64, 64]);
        File::of([(WEIGHT, tensor)]).write(&source);
        let base = match scheme.parse::<Scheme>() {
            Ok(scheme) => scheme.options(),
            Err(_) => Options::new(scheme.parse().unwrap()),
        };
        let has_nan = values.iter().any(|x| x.is_nan());
        let nonfinite = if has_nan { Nonfinite::Preset } else { Nonfinite::Refuse };
        let options = Options { overwrite: true, nonfinite, ..base };
        quantize(&source, &file, &options, &|_| true, &mut |_| ()).unwrap();
        let found = found(&file, Some(&source));
        match &found[..] {
            [] if kind.is_empty() => {}
            [only] if only.kind == kind && only.what.contains(part) => {
                // The same scheme would lose them again.
                let mends = (scheme == "plain-e4m3").then_some("fp8");
                assert!(kind != "underflow" || only.scheme == mends, "{scheme}: {only:?}");
            }
            _ => panic!("{scheme}: {found:#?}"),
        }
    }
}

/// A source that has nothing of the file, or something of another shape, is not passed over.
#[test]
fn sources_of_something_else() {
    let bench = Bench::new("fp8", 1, 0.03);
    File::of([("other.weight", weights(1, 0.03, ROWS))]).write(&bench.source);
    let error = examine(&[&bench.file], Some(&bench.source), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("and no other tensor of the file is"), "{error}");
    File::of([(WEIGHT, weights(1, 0.03, 2 * ROWS))]).write(&bench.source);
    let found = bench.found(true);
    assert!(
        matches!(&found[..], [only] if only.kind == "contradiction"
            && only.what.contains("has the shape [96, 256], in the source [192, 256]")),
        "{found:#?}"
    );
}

/// The scheme that a finding names writes tensors of the file's names and dtypes.
#[test]
fn schemes_that_mend_write_the_same_names() {
    for scheme in Scheme::all().iter().filter(|scheme| !scheme.name.starts_with("gguf")) {
        let bench = Bench::new(scheme.name, 9, 0.03);
        let parts = |path: &Path| -> Vec<(String, T, Vec<usize>)> {
            let tensors = File::read(path).tensors;
            tensors.into_iter().map(|(name, tensor)| (name, tensor.dtype, tensor.shape)).collect()
        };
        let before = parts(&bench.file);
        // Another model, so that something is found.
        let norm = Tensor::of(T::BF16, &[1.0, 0.25]);
        File::of([(WEIGHT, weights(10, 0.03, ROWS)), ("model.norm.weight", norm)]).write(&bench.source);
        let found = bench.found(true);
        let [only] = &found[..] else { panic!("{scheme}: {found:#?}") };
        let Some(named) = only.scheme else { continue };
        let options = Options { overwrite: true, ..named.parse::<Scheme>().unwrap().options() };
        quantize(&bench.source, &bench.file, &options, &|name| name == WEIGHT, &mut |_| ()).unwrap();
        assert_eq!(parts(&bench.file), before, "{scheme} is mended by {named}");
    }
}
