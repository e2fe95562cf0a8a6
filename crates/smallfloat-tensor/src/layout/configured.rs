//! [`ConfiguredEntries`]: what `config.json` says of codes whose file has no record of them.
//!
//! transformers writes the tensors of a model, and into their file only `"format": "pt"`; how codes
//! lie stands in `quantization_config.tensors` of the configuration. What a file says of itself
//! goes before that.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use crate::error::{Error, Result, quoted};
use crate::file::dtype::Dtype;
use crate::file::folder::CONFIG;
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::file::side::read_json;
use crate::layout::container::{Entry, VERSION, entries_of_config};

/// The entries of the configurations of folders, each read once.
#[derive(Default)]
pub(crate) struct ConfiguredEntries(RefCell<HashMap<PathBuf, Rc<HashMap<String, Entry>>>>);

impl ConfiguredEntries {
    /// Returns the entries of the tensors of a file, in its order.
    ///
    /// # Errors
    /// A configuration that can't be read, or whose entries can't be.
    pub(crate) fn of(&self, source: &Source) -> Result<Vec<(String, Entry)>> {
        let path = source.path();
        // Other files have no codes, and what lies in memory has nothing beside it.
        if source.gguf().is_some() || !source.tensors().iter().any(may_be_codes) || !path.is_file() {
            return Ok(Vec::new());
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let known = self.0.borrow().get(folder).cloned();
        let entries = if let Some(entries) = known {
            entries
        } else {
            let entries = Rc::new(read(&folder.join(CONFIG))?);
            self.0.borrow_mut().insert(folder.to_path_buf(), Rc::clone(&entries));
            entries
        };
        let named = |info: &TensorInfo| Some((info.name.clone(), entries.get(&info.name)?.clone()));
        Ok(source.tensors().iter().filter(|info| may_be_codes(info)).filter_map(named).collect())
    }
}

/// Returns whether a tensor may be native codes: a configuration may be that of another file, which
/// has floats of the same names, or codes of another layout.
fn may_be_codes(info: &TensorInfo) -> bool {
    matches!(info.dtype, Dtype::U8 | Dtype::U16 | Dtype::I16)
        && info.shape.len() > 1
        && info.shape.last() == Some(&1)
}

/// The entries of one configuration. Those of tied weights are of no tensor of their own.
fn read(path: &Path) -> Result<HashMap<String, Entry>> {
    let said = read_json(path)?.and_then(|mut config| config.remove("quantization_config"));
    let Some(Value::Object(mut said)) = said else { return Ok(HashMap::new()) };
    let ours = said.get("quant_method").and_then(Value::as_str) == Some("smallfloat");
    let Some(tensors) = said.remove("tensors").filter(|tensors| ours && !tensors.is_null()) else {
        return Ok(HashMap::new());
    };
    let wrong = |what: String| Error::refused(Some(path), None, format!("its `quantization_config`: {what}"));
    match said.get("version").and_then(Value::as_str) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(wrong(format!(
                "version {} is not known, this program reads version {VERSION}",
                quoted(other)
            )));
        }
        None => return Err(wrong("has `tensors` and no `version`".to_owned())),
    }
    let Value::Object(tensors) = tensors else {
        return Err(wrong("its `tensors` are no object that maps names to what they are".to_owned()));
    };
    entries_of_config(tensors).map_err(wrong)
}
