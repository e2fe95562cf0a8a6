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
use crate::layout::grid::Granularity;
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
    let Some(config) = read_json(&folder.join(CONFIG))? else { return Ok(()) };
    check_config(&config, views)
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

/// What `config.json` says of the quantization must be what the files say.
fn check_config(config: &Map<String, Value>, views: &[View]) -> Result<()> {
    let said = config.get("quantization_config").filter(|said| !said.is_null());
    let method = said.and_then(|said| said.get("quant_method")).and_then(Value::as_str);
    for view in views {
        for tensor in view.tensors() {
            let Err(what) = agrees(view, tensor, method, said) else { continue };
            let what = format!("{what}; `{CONFIG}` or the file is of another checkpoint");
            return Err(Error::refused(Some(view.source().path()), Some(&tensor.info.name), what));
        }
    }
    Ok(())
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
            match (block, scaled.granularity) {
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
