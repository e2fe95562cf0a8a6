//! What `quantization_config` of `config.json` says of tensors, and whether they are stored so.
//!
//! Sources: the configurations of transformers 5.23 (`fp8`, `bitsandbytes`), compressed-tensors
//! 0.20, and vLLM's loaders `modelopt` and `quark`.

use serde_json::{Map, Value};

use crate::error::quoted;
use crate::file::folder::CONFIG;
use crate::layout::convention::CONVENTIONS;
use crate::layout::grid::{Granularity, Grid};
use crate::layout::quark::{quark_format, quark_weight};
use crate::stored::scaled::Scaled;
use crate::stored::view::{TensorView, View};

/// The `quant_method` that goes with a layout; `None` where any or none may be.
pub(crate) fn methods(layout: &str) -> Option<&'static [&'static str]> {
    Some(match layout {
        "compressed-tensors nvfp4-pack-quantized" | "compressed-tensors mxfp-pack-quantized" => {
            &["compressed-tensors"]
        }
        "ModelOpt NVFP4" => &["modelopt", "modelopt_fp4"],
        "Quark MXFP" => &["quark"],
        "gpt-oss MXFP4" => &["mxfp4"],
        "bitsandbytes" => &["bitsandbytes"],
        "FP8 with scales" | "DeepSeek V4" => {
            &["fp8", "compressed-tensors", "modelopt", "fbgemm_fp8", "quark"]
        }
        _ => return None,
    })
}

/// Other values of `quant_method`, of layouts that are not read.
const OTHER_METHODS: [&str; 8] = ["aqlm", "awq", "eetq", "gptq", "higgs", "hqq", "quanto", "vptq"];

/// Returns whether a `quant_method` is one whose layout is known not to be another one's.
fn is_method(method: &str) -> bool {
    let layouts = CONVENTIONS.iter().filter_map(|row| methods(row.name)).flatten();
    OTHER_METHODS.iter().chain(layouts).any(|&known| known == method)
}
/// Holds one tensor against the configuration.
pub(crate) fn agrees(
    view: &View,
    tensor: &TensorView,
    method: Option<&str>,
    said: Option<&Value>,
) -> Result<(), String> {
    const NATIVE: &str = "smallfloat";
    if view.is_container() {
        return match method {
            Some(method) if tensor.format().is_some() && method != NATIVE => Err(format!(
                "is in the native layout, and `{CONFIG}` says that `quant_method` is {}",
                quoted(method)
            )),
            _ => Ok(()),
        };
    }
    let (Some(scaled), Some(method)) = (tensor.scaled(), method) else { return Ok(()) };
    // Codes without scales are numbers of their dtype, unless a quantized module has them.
    let name = &tensor.info.name;
    if !scaled.has_scales() && (!name.ends_with(".weight") || is_ignored(said, name)) {
        return Ok(());
    }
    if let (Some(layout), Some(methods)) = (scaled.layout(), scaled.layout().and_then(methods))
        && !methods.contains(&method)
        && is_method(method)
    {
        return Err(format!(
            "is in the layout {layout}, and `{CONFIG}` says that `quant_method` is {}",
            quoted(method)
        ));
    }
    let bits = scaled.element.width();
    let fmt = said.and_then(|said| said.get("fmt")?.as_str()).filter(|fmt| ["e4m3", "e5m2"].contains(fmt));
    let groups = |rows: &Value, columns: &Value| {
        Some(Granularity::Block { rows: rows.as_u64()?, columns: columns.as_u64()? })
    };
    match method {
        NATIVE => Err(format!("is not in the native layout, and `{CONFIG}` says that it is")),
        "fp8" if bits != 8 => Err(format!("has codes of {bits} bits, and `{CONFIG}` says `fp8`")),
        "fp8" if fmt.is_some_and(|fmt| !scaled.element.to_string().starts_with(fmt)) => {
            let (found, fmt) = (&scaled.element, quoted(fmt.unwrap_or_default()));
            Err(format!("has codes of {found}, and `{CONFIG}` says {fmt}"))
        }
        "fp8" => {
            let block = said.and_then(|said| said.get("weight_block_size")).and_then(Value::as_array);
            let block = block.and_then(|block| groups(block.first()?, block.get(1)?));
            let Grid { group_rows, group_columns, .. } = scaled.grid;
            match (block, scaled.granularity) {
                (Some(Granularity::Block { rows: 0, .. } | Granularity::Block { columns: 0, .. }), _) => {
                    Err(format!("can't have the `weight_block_size` of `{CONFIG}`, which has a 0"))
                }
                // One scale is that of a block only where there is one block.
                (Some(block), found) if tensor.info.shape.len() == 2 && scaled.has_scales() => {
                    let grid = Grid::new(&tensor.info.shape, block);
                    if (grid.group_rows, grid.group_columns) == (group_rows, group_columns) {
                        return Ok(());
                    }
                    Err(format!("has scales of {found}, and `{CONFIG}` says {block}"))
                }
                (Some(block), found) if found != block && matches!(found, Granularity::Block { .. }) => {
                    Err(format!("has scales of {found}, and `{CONFIG}` says {block}"))
                }
                (None, found @ Granularity::Block { .. }) => {
                    Err(format!("has scales of {found}, and `{CONFIG}` names no `weight_block_size`"))
                }
                _ => Ok(()),
            }
        }
        "compressed-tensors" => compressed(said, scaled, tensor),
        "modelopt" | "modelopt_fp4" => modelopt(said, scaled),
        "quark" => quark(said, scaled, name),
        "bitsandbytes" => bitsandbytes(said, scaled),
        _ => Ok(()),
    }
}

/// Returns whether a configuration lists the module of a tensor among those that are not quantized.
pub(crate) fn is_ignored(said: Option<&Value>, tensor: &str) -> bool {
    let module = tensor.strip_suffix(".weight").unwrap_or(tensor);
    let lists = ["ignored_layers", "modules_to_not_convert", "ignore", "exclude", "llm_int8_skip_modules"];
    let listed = lists.iter().filter_map(|list| said?.get(list)?.as_array()).flatten();
    listed.filter_map(Value::as_str).any(|listed| listed == module)
}

/// What compressed-tensors says of its groups of modules: each has a strategy and a format. Which
/// modules a group is for is not looked at, so that one that fits is enough.
fn compressed(said: Option<&Value>, scaled: &Scaled, tensor: &TensorView) -> Result<(), String> {
    let groups = said.and_then(|said| said.get("config_groups")).and_then(Value::as_object);
    let groups: Vec<&Value> = groups.into_iter().flat_map(Map::values).collect();
    let weights = || groups.iter().filter_map(|group| group.get("weights"));
    let texts = |key: &str| weights().filter_map(|weights| weights.get(key)?.as_str()).collect::<Vec<_>>();
    let bits = u64::from(scaled.element.width());
    let numbers: Vec<u64> = weights().filter_map(|weights| weights.get("num_bits")?.as_u64()).collect();
    if let Some(other) = numbers.first().filter(|_| !numbers.contains(&bits)) {
        return Err(format!("has the num_bits {bits}, and `{CONFIG}` says {other}"));
    }
    let types = texts("type");
    if let Some(other) = types.first().filter(|_| !types.contains(&"float")) {
        return Err(format!("has codes of the type float, and `{CONFIG}` says {}", quoted(other)));
    }
    // A group's format goes before that of all.
    let formats: Vec<&str> = groups.iter().filter_map(|group| group.get("format")?.as_str()).collect();
    let formats = if formats.is_empty() {
        said.and_then(|said| said.get("format")?.as_str()).into_iter().collect()
    } else {
        formats
    };
    let own = formats_of(scaled);
    let known = |format: &str| COMPRESSED_FORMATS.contains(&format);
    if let Some(format) = formats.first()
        && !own.is_empty()
        && formats.iter().all(|format| known(format) && !own.contains(format))
    {
        let own = own.join(" or ");
        return Err(format!("is in the format {own}, and `{CONFIG}` says {}", quoted(format)));
    }
    if !scaled.has_scales() {
        return Ok(());
    }
    let grids: Option<Vec<Granularity>> = weights().map(strategy).collect();
    let has = |granularity: &Granularity| same_groups(&tensor.info.shape, *granularity, &scaled.grid);
    match grids.as_deref() {
        Some(grids @ [first, ..]) if !grids.iter().any(has) => {
            Err(format!("has scales of {}, and `{CONFIG}` says {first}", scaled.granularity))
        }
        _ => Ok(()),
    }
}

/// The formats of compressed-tensors that are told apart.
const COMPRESSED_FORMATS: [&str; 8] = [
    "float-quantized",
    "naive-quantized",
    "mxfp8-quantized",
    "mxfp6-pack-quantized",
    "mxfp4-pack-quantized",
    "nvfp4-pack-quantized",
    "int-quantized",
    "pack-quantized",
];

/// Which of them a tensor may be in.
fn formats_of(scaled: &Scaled) -> &'static [&'static str] {
    match (scaled.layout(), scaled.element.width()) {
        (Some("compressed-tensors nvfp4-pack-quantized"), _) => &["nvfp4-pack-quantized"],
        (Some("compressed-tensors mxfp-pack-quantized"), 4) => &["mxfp4-pack-quantized"],
        (Some("compressed-tensors mxfp-pack-quantized"), 6) => &["mxfp6-pack-quantized"],
        (Some("FP8 with scales"), _) => &["float-quantized", "naive-quantized", "mxfp8-quantized"],
        _ => &[],
    }
}

/// What shares a scale by the strategy of a group, where that is known.
fn strategy(weights: &Value) -> Option<Granularity> {
    let size = |value: Option<&Value>| value?.as_u64().filter(|&size| size > 0);
    Some(match weights.get("strategy")?.as_str()? {
        "tensor" => Granularity::Tensor,
        "channel" => Granularity::Channel,
        "group" | "tensor_group" => Granularity::Block { rows: 1, columns: size(weights.get("group_size"))? },
        "block" => {
            let block = weights.get("block_structure")?.as_array()?;
            Granularity::Block { rows: size(block.first())?, columns: size(block.get(1))? }
        }
        _ => return None,
    })
}

/// Returns whether a granularity divides a shape into the groups of a grid; true for shapes of
/// which readers make matrices by rules of their own.
fn same_groups(shape: &[u64], granularity: Granularity, found: &Grid) -> bool {
    let grid = Grid::new(shape, granularity);
    shape.len() != 2 || (grid.group_rows, grid.group_columns) == (found.group_rows, found.group_columns)
}

/// ModelOpt names an algorithm, by which codes have four bits or eight.
fn modelopt(said: Option<&Value>, scaled: &Scaled) -> Result<(), String> {
    let Some(algorithm) = said.and_then(|said| said.get("quant_algo")) else { return Ok(()) };
    let algorithm = algorithm.as_str().unwrap_or_default();
    let bits = match algorithm {
        _ if algorithm.contains("FP4") => 4,
        _ if algorithm.contains("FP8") => 8,
        _ => return Ok(()),
    };
    let found = scaled.element.width();
    if found != bits {
        return Err(format!("has codes of {found} bits, and `{CONFIG}` says {}", quoted(algorithm)));
    }
    let size = said.and_then(|said| said.get("group_size")?.as_u64());
    match (scaled.granularity, size) {
        (Granularity::Block { rows: 1, columns }, Some(size)) if columns != size => {
            Err(format!("has the group_size {columns}, and `{CONFIG}` says {size}"))
        }
        _ => Ok(()),
    }
}

/// Quark says of every module what its codes are.
fn quark(said: Option<&Value>, scaled: &Scaled, name: &str) -> Result<(), String> {
    let Some(weight) = said.and_then(|said| quark_weight(said, name)) else { return Ok(()) };
    let found = &scaled.element;
    if let Some(dtype) = weight.get("dtype").and_then(Value::as_str)
        && quark_format(dtype).as_ref() != Some(found)
    {
        return Err(format!("has codes of {found}, and `{CONFIG}` says {}", quoted(dtype)));
    }
    let size = weight.get("group_size").and_then(Value::as_u64);
    match (scaled.granularity, size) {
        (Granularity::Block { rows: 1, columns }, Some(size)) if columns != size && size > 0 => {
            Err(format!("has the group_size {columns}, and `{CONFIG}` says {size}"))
        }
        _ => Ok(()),
    }
}

/// bitsandbytes says which list of values codes of four bits are of.
fn bitsandbytes(said: Option<&Value>, scaled: &Scaled) -> Result<(), String> {
    let flag = |key: &str| said.and_then(|said| said.get(key)?.as_bool());
    if flag("load_in_8bit") == Some(true) && flag("load_in_4bit") != Some(true) {
        return Err(format!("has codes of 4 bits, and `{CONFIG}` says `load_in_8bit`"));
    }
    let kind = said.and_then(|said| said.get("bnb_4bit_quant_type")?.as_str());
    let found = scaled.element_name();
    match kind.filter(|kind| !found.to_lowercase().starts_with(kind)) {
        Some(kind) => Err(format!("has codes of {found}, and `{CONFIG}` says {}", quoted(kind))),
        None => Ok(()),
    }
}
