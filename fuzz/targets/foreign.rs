//! Safetensors files in layouts of other programs: what is opened is read, and what is verified is
//! dequantized to the same numbers.
//!
//! The input chooses tensors as each layout has them, their sizes, what is wrong with some of them,
//! and the texts beside them: markers, states, metadata, configuration.
#![no_main]

mod reading;

use libfuzzer_sys::fuzz_target;
use reading::{Choices, again, check, folder};
use serde_json::json;

struct Tensor {
    name: String,
    dtype: &'static str,
    bits: u64,
    shape: Vec<u64>,
    /// Instead of bytes that are chosen.
    data: Option<Vec<u8>>,
}

const DTYPES: [(&str, u64); 22] = [
    ("F32", 32),
    ("U8", 8),
    ("F8_E4M3", 8),
    ("F8_E8M0", 8),
    ("F8_E5M2", 8),
    ("I8", 8),
    ("F4", 4),
    ("BF16", 16),
    ("F16", 16),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("F8_E4M3FNUZ", 8),
    ("F8_E5M2FNUZ", 8),
    ("F64", 64),
    ("BOOL", 8),
    ("I16", 16),
    ("U16", 16),
    ("I32", 32),
    ("U32", 32),
    ("C64", 64),
    ("I64", 64),
    ("U64", 64),
];
const SIZES: [u64; 24] = [
    64,
    32,
    2,
    1,
    0,
    3,
    4,
    16,
    128,
    5,
    31,
    33,
    48,
    96,
    129,
    256,
    7,
    1 << 31,
    1 << 32,
    1 << 58,
    1 << 60,
    1 << 63,
    u64::MAX - 31,
    u64::MAX,
];
const STEMS: [&str; 6] = ["m.weight", "n.weight", "m.up", "weight", "m.experts.w", ""];
const NUMBERS: [f32; 10] = [1.0, 0.5, 0.3, 3e4, 0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, 1e-42];

fn numbers(choices: &mut Choices<'_>, count: u64) -> Option<Vec<u8>> {
    let count = usize::try_from(count).ok().filter(|&count| count < 1 << 14)?;
    let some: Vec<f32> = (0..count.min(8)).map(|_| choices.of(&NUMBERS)).collect();
    Some((0..count).flat_map(|i| some[i % some.len()].to_le_bytes()).collect())
}

fn sibling(name: &str, last: &str) -> String {
    format!("{}{last}", &name[..name.rfind('.').map_or(0, |dot| dot + 1)])
}

/// The tensors of a layout: of a matrix, or of several.
fn layout(choices: &mut Choices<'_>, tensors: &mut Vec<Tensor>, metadata: &mut Vec<(String, String)>) {
    let stem = choices.of(&STEMS);
    let (rows, columns) = (choices.of(&SIZES), choices.of(&SIZES));
    let mut add = |name: String, dtype: &'static str, shape: &[u64], data: Option<Vec<u8>>| {
        let (dtype, bits) = DTYPES.into_iter().find(|(name, _)| *name == dtype).expect("a dtype");
        tensors.push(Tensor { name, dtype, bits, shape: shape.to_vec(), data });
    };
    let marker = |format: &str| json!({ "format": format }).to_string().into_bytes();
    let whole = |n: u64, size: u64| n.checked_next_multiple_of(size).unwrap_or(n);
    let named = |last: &str| format!("{stem}{last}");
    let number = |choices: &mut Choices<'_>| numbers(choices, 1);
    match choices.byte() % 16 {
        0 => {
            let scale = choices.of(&["F32", "BF16", "F16", "F8_E8M0", "U8"]);
            let (r, c) = (choices.of(&[1, 128, 32, 1, 3]), choices.of(&[128, 32, 1, 16, u64::MAX]));
            let shape = match choices.byte() % 4 {
                0 => vec![],
                1 => vec![1],
                _ => vec![rows.div_ceil(r), columns.div_ceil(c)],
            };
            let codes = choices.of(&["F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"]);
            let count = shape.iter().fold(1, |n: u64, &d| n.saturating_mul(d));
            let data = (scale == "F32").then(|| numbers(choices, count)).flatten();
            add(named(choices.of(&["_scale", "_scale_inv"])), scale, &shape, data);
            add(stem.to_owned(), codes, &[rows, columns], None);
        }
        1 => {
            add(named("_packed"), "U8", &[rows, columns / 2], None);
            add(named("_scale"), "F8_E4M3", &[rows, columns / 16], None);
            add(named("_global_scale"), "F32", &[1], number(choices));
        }
        2 => {
            let bytes = if choices.byte() < 128 { columns / 2 } else { columns / 4 * 3 };
            add(named("_packed"), "U8", &[rows, bytes], None);
            add(named("_scale"), "U8", &[rows, columns / 32], None);
        }
        3 => {
            let experts = choices.of(&[2, 1, 0, 3]);
            add(named("_blocks"), "U8", &[experts, rows, columns / 32, 16], None);
            add(named("_scales"), choices.of(&["U8", "F8_E8M0"]), &[experts, rows, columns / 32], None);
        }
        4 => {
            add(stem.to_owned(), "U8", &[rows, columns / 2], None);
            add(named("_scale"), "F8_E4M3", &[whole(rows, 128), whole(columns / 16, 4)], None);
            add(named("_scale_2"), "F32", &[], number(choices));
            add(sibling(stem, "comfy_quant"), "U8", &[], Some(marker("nvfp4")));
        }
        5 => {
            add(stem.to_owned(), "F8_E4M3", &[rows, columns], None);
            add(named("_scale"), "U8", &[whole(rows, 128), whole(columns.div_ceil(32), 4)], None);
            add(sibling(stem, "comfy_quant"), "U8", &[], Some(marker("mxfp8")));
        }
        6 => {
            let (codes, name) =
                choices.of(&[("F8_E4M3", "float8_e4m3fn"), ("F8_E5M2", "float8_e5m2"), ("F8_E4M3", "nvfp4")]);
            add(stem.to_owned(), codes, &[rows, columns], None);
            add(named("_scale"), "F32", &[], number(choices));
            add(sibling(stem, "comfy_quant"), "U8", &[], Some(marker(name)));
        }
        7 => {
            add(stem.to_owned(), choices.of(&["F8_E4M3", "F8_E5M2"]), &[rows, columns], None);
            add(sibling(stem, "scale_weight"), "F32", &[1], number(choices));
            add("scaled_fp8".to_owned(), "F8_E4M3", &[2], None);
        }
        8 => {
            add(stem.to_owned(), "U8", &[rows, columns / 2], None);
            add(named("_scale"), "F8_E4M3", &[rows, columns / 16], None);
            add(named("_scale_2"), "F32", &[], number(choices));
        }
        9 => {
            add(stem.to_owned(), "U8", &[rows, columns / 2], None);
            add(named("_scale"), choices.of(&["U8", "F8_E8M0"]), &[rows, columns / 32], None);
        }
        10 => {
            add(stem.to_owned(), choices.of(&["F8_E4M3", "I8", "U8"]), &[rows, columns], None);
            let (r, c) = choices.of(&[(128, 128), (1, 16), (1, 32)]);
            add(
                sibling(stem, "scale"),
                choices.of(&["F8_E8M0", "F32"]),
                &[rows.div_ceil(r), columns.div_ceil(c)],
                None,
            );
        }
        11 => {
            let codes = choices.of(&["F4", "F6_E2M3", "F6_E3M2"]);
            add(stem.to_owned(), codes, &[rows, columns], None);
            if choices.byte() < 200 {
                let name = if choices.byte() < 128 { named("_scale") } else { sibling(stem, "scale") };
                add(name, choices.of(&["F8_E8M0", "U8", "F32"]), &[rows, columns.div_ceil(32)], None);
            }
        }
        12 => {
            add(stem.to_owned(), choices.of(&["F8_E4M3", "F8_E5M2", "F4", "F6_E2M3"]), &[rows, columns], None)
        }
        13 => {
            let block = choices.of(&[64, 32, 1, 4096, u64::MAX, 0]);
            let inner = choices.of(&[4, 256, 1, 0]);
            let count = rows.saturating_mul(columns);
            let scales = count.div_ceil(block.max(1));
            let nested = choices.byte() < 128;
            add(stem.to_owned(), "U8", &[count.div_ceil(2), 1], None);
            if nested {
                add(named(".absmax"), "U8", &[scales], None);
                let outer = scales.div_ceil(inner.max(1));
                add(named(".nested_absmax"), "F32", &[outer], numbers(choices, outer));
                add(named(".nested_quant_map"), "F32", &[256], numbers(choices, 256));
            } else {
                add(named(".absmax"), "F32", &[scales], numbers(choices, scales));
            }
            add(named(".quant_map"), "F32", &[16], numbers(choices, 16));
            let offset = choices.of(&[0.1, 0.0, -1e300, 1e300]);
            let state = json!({
                "quant_type": "nf4", "blocksize": block, "dtype": "float16", "shape": [rows, columns],
                "nested_blocksize": inner, "nested_offset": offset, "nested_dtype": "float32",
            });
            let kind = choices.of(&[".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"]);
            add(named(kind), "U8", &[], Some(state.to_string().into_bytes()));
        }
        14 => {
            let format = choices.of(&["nvfp4", "mxfp8", "float8_e4m3fn", "none"]);
            let layer = stem.rsplit_once('.').map_or("", |(layer, _)| layer);
            let text = json!({ "format_version": "1.0", "layers": { layer: { "format": format } } });
            metadata.push(("_quantization_metadata".to_owned(), text.to_string()));
        }
        _ => {
            let (dtype, bits) = choices.of(&DTYPES);
            let last = choices.of(&[
                "",
                "_scale",
                ".absmax",
                "_packed",
                "_blocks",
                "_scales",
                "_scale_2",
                ".quant_map",
            ]);
            let shape: Vec<u64> = (0..choices.byte() % 5).map(|_| choices.of(&SIZES)).collect();
            tensors.push(Tensor { name: named(last), dtype, bits, shape, data: None });
        }
    }
}

/// Makes something wrong.
fn spoil(choices: &mut Choices<'_>, tensors: &mut Vec<Tensor>) {
    if tensors.is_empty() {
        return;
    }
    let place = usize::from(choices.byte()) % tensors.len();
    match choices.byte() % 6 {
        0 => (tensors[place].dtype, tensors[place].bits) = choices.of(&DTYPES),
        1 => {
            let shape = &mut tensors[place].shape;
            let dimension = usize::from(choices.byte()) % (shape.len() + 1);
            match shape.get_mut(dimension) {
                Some(size) => *size = choices.of(&SIZES),
                None => shape.push(choices.of(&SIZES)),
            }
        }
        2 => drop(tensors.remove(place)),
        3 => {
            tensors[place].shape.pop();
        }
        4 => {
            let length = usize::from(choices.byte());
            tensors[place].data = Some(choices.some(length));
        }
        _ => {
            tensors[place].name =
                choices.of(&["scaled_fp8", "m.comfy_quant", "m.scale", "m.weight_scale"]).to_owned()
        }
    }
}

/// The bytes of a shape, if a file may have them.
fn length(tensor: &Tensor) -> Option<usize> {
    let some = tensor.shape.iter().filter(|&&d| d > 0).try_fold(1_u64, |n, &d| n.checked_mul(d))?;
    let bits = if tensor.shape.contains(&0) { 0 } else { some.checked_mul(tensor.bits)? };
    usize::try_from(bits / 8).ok().filter(|&bytes| bits % 8 == 0 && bytes < 1 << 15)
}

fn file(choices: &mut Choices<'_>) -> Vec<u8> {
    let (mut tensors, mut metadata) = (Vec::new(), Vec::new());
    for _ in 0..choices.byte() % 3 + 1 {
        layout(choices, &mut tensors, &mut metadata);
    }
    for _ in 0..choices.of(&[0, 0, 1, 2]) {
        spoil(choices, &mut tensors);
    }
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for mut tensor in tensors {
        if let Some(bytes) = tensor.data.as_ref().filter(|bytes| length(&tensor) != Some(bytes.len())) {
            // Texts are as long as they are.
            (tensor.dtype, tensor.bits, tensor.shape) = ("U8", 8, vec![bytes.len() as u64]);
        }
        let Some(length) = length(&tensor).filter(|_| !header.contains_key(&tensor.name)) else { continue };
        let begin = data.len();
        data.extend(tensor.data.unwrap_or_else(|| choices.data(length)));
        let place = [begin, data.len()];
        let entry = json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": place });
        header.insert(tensor.name, entry);
    }
    let text: serde_json::Map<_, _> = metadata.into_iter().map(|(key, text)| (key, text.into())).collect();
    if !text.is_empty() {
        header.insert("__metadata__".to_owned(), text.into());
    }
    let header = serde_json::Value::from(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(data);
    file
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices(data);
    let (config, then) = (choices.byte(), choices.byte());
    let path = folder("foreign").join("config.json");
    if config >= 192 {
        let (r, c) =
            (choices.of(&[1_u64, 128, 64, 2, u64::MAX]), choices.of(&[32_u64, 128, 16, 1, u64::MAX]));
        let text = match config % 4 {
            0 => json!({ "quantization_config": { "quant_method": "fp8", "weight_block_size": [r, c] } }),
            1 => {
                json!({ "quantization_config": { "config_groups": { "group_0": { "weights": { "group_size": c } } } } })
            }
            2 => json!({ "quantization_config": {
                "config_groups": { "group_0": { "weights": { "block_structure": [r, c] } } } } }),
            _ => String::from_utf8_lossy(&choices.some(60)).into_owned().into(),
        };
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        std::fs::write(&path, text).expect("a file");
    }
    match then {
        _ if !check("foreign", &file(&mut choices)) => {}
        255 => again("foreign", "mxfp4"),
        254 => again("foreign", "int8"),
        253 => again("foreign", "nvfp4"),
        _ => {}
    }
    if config >= 192 {
        std::fs::remove_file(&path).expect("it was written");
    }
});
