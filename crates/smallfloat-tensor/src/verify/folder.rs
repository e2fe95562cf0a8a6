//! Whether the files of a quantized checkpoint folder belong together: shards, index and
//! configuration.
//!
//! A run that is stopped leaves a marker that every reader sees. The checks here also find folders
//! of programs that leave none: shards of two checkpoints, an index that knows nothing of a file, a
//! configuration of another quantization.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::file::folder::{CONFIG, INDEX, incomplete, shard_number};
use crate::file::side::read_json;
use crate::stored::view::View;
use crate::verify::config::agrees;
use crate::verify::split;

/// Checks the folder of these files.
///
/// # Errors
/// What is missing, left over, or said otherwise by the configuration.
pub(crate) fn check(folder: &Path, views: &[View]) -> Result<()> {
    let names: Vec<&str> =
        views.iter().filter_map(|view| view.source().path().file_name()?.to_str()).collect();
    if views.iter().any(|view| view.source().gguf().is_some()) {
        return split::check_together(folder, views);
    }
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
