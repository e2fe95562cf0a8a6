//! Whether the files of a quantized checkpoint folder belong together: shards, index and
//! configuration.
//!
//! A run that is stopped leaves a marker that every reader sees. The checks here also find folders
//! of programs that leave none: shards of two checkpoints, an index that knows nothing of a file, a
//! configuration of another quantization.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{Error, Result, quoted};
use crate::file::folder::{CONFIG, INDEX, incomplete, shard_number};
use crate::file::side::read_json;
use crate::layout::convention::CONVENTIONS;
use crate::layout::grid::{Granularity, Grid};
use crate::stored::view::{TensorView, View};

/// Checks the folder of these files.
///
/// # Errors
/// What is missing, left over, or said otherwise by the configuration.
pub(crate) fn check(folder: &Path, views: &[View]) -> Result<()> {
    let names: Vec<&str> =
        views.iter().filter_map(|view| view.source().path().file_name()?.to_str()).collect();
    check_numbers(folder, &names)?;
    check_index(folder, views)?;
    let path = folder.join(CONFIG);
    let Some(config) = read_json(&path)? else { return Ok(()) };
    check_config(&path, &config, views)
}

/// Shards that are numbered must all be there, and be of one checkpoint.
fn check_numbers(folder: &Path, names: &[&str]) -> Result<()> {
    let numbered: Vec<(u64, u64)> = names.iter().filter_map(|name| shard_number(name)).collect();
    let Some(&(_, count)) = numbered.first() else { return Ok(()) };
    if let Some((_, other)) = numbered.iter().find(|(_, of)| *of != count) {
        return Err(incomplete(folder, &format!("it has shards of {count} and of {other} files")));
    }
    let present: BTreeSet<u64> = numbered.iter().map(|(number, _)| *number).collect();
    // Some programs count from 0.
    let first = u64::from(!present.contains(&0));
    match (first..first + count).find(|number| !present.contains(number)) {
        None => Ok(()),
        Some(number) => Err(incomplete(folder, &format!("of its {count} shards number {number} is missing"))),
    }
}

/// The index must name every tensor of the files; that it names no others was checked when the
/// folder was opened.
fn check_index(folder: &Path, views: &[View]) -> Result<()> {
    let Some(index) = read_json(&folder.join(INDEX))? else {
        if views.len() < 2 {
            return Ok(());
        }
        let what =
            format!("it has {} files of tensors and no `{INDEX}` that says which belong to it", views.len());
        return Err(incomplete(folder, &what));
    };
    let map = index.get("weight_map").and_then(Value::as_object);
    let named = |name: &str| map.is_some_and(|map| map.contains_key(name));
    for view in views {
        if let Some(tensor) = view.source().tensors().iter().find(|tensor| !named(&tensor.name)) {
            let what = "is not in the index: the file is left over from another checkpoint, or the index is";
            return Err(Error::refused(Some(view.source().path()), Some(&tensor.name), what));
        }
    }
    Ok(())
}

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

/// What `config.json` says of the quantization must be what the files say.
fn check_config(path: &Path, config: &Map<String, Value>, views: &[View]) -> Result<()> {
    let said = config.get("quantization_config").filter(|said| !said.is_null());
    if said.is_some_and(|said| !said.is_object()) {
        return Err(Error::malformed(path, None, "its `quantization_config` is no object"));
    }
    let method = said.and_then(|said| said.get("quant_method")).filter(|method| !method.is_null());
    if method.is_some_and(|method| !method.is_string()) {
        return Err(Error::malformed(path, None, "its `quant_method` is no text"));
    }
    let method = method.and_then(Value::as_str);
    for view in views {
        for tensor in view.tensors() {
            let Err(what) = agrees(view, tensor, method, said) else { continue };
            let what = format!("{what}; `{CONFIG}` or the file is of another checkpoint");
            return Err(Error::refused(Some(view.source().path()), Some(&tensor.info.name), what));
        }
    }
    Ok(())
}

/// Returns whether a `quant_method` is one whose layout is known not to be another one's.
fn is_method(method: &str) -> bool {
    let layouts = CONVENTIONS.iter().filter_map(|row| methods(row.name)).flatten();
    OTHER_METHODS.iter().chain(layouts).any(|&known| known == method)
}

/// Holds one tensor against the configuration.
fn agrees(
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
    let groups = |rows: &Value, columns: &Value| {
        Some(Granularity::Block { rows: rows.as_u64()?, columns: columns.as_u64()? })
    };
    match method {
        NATIVE => Err(format!("is not in the native layout, and `{CONFIG}` says that it is")),
        "fp8" if bits != 8 => Err(format!("has codes of {bits} bits, and `{CONFIG}` says `fp8`")),
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
        "compressed-tensors" => {
            let groups = said.and_then(|said| said.get("config_groups")).and_then(Value::as_object);
            let numbers = |key: &str| -> Vec<u64> {
                let groups = groups.into_iter().flat_map(Map::values);
                groups.filter_map(|group| group.get("weights")?.get(key)?.as_u64()).collect()
            };
            let differs = |key: &str, found: u64| {
                let said = numbers(key);
                let other = said.first().filter(|_| !said.contains(&found));
                other.map_or(Ok(()), |other| {
                    Err(format!("has the {key} {found}, and `{CONFIG}` says {other}"))
                })
            };
            differs("num_bits", bits.into())?;
            match scaled.granularity {
                Granularity::Block { rows: 1, columns } => differs("group_size", columns),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
