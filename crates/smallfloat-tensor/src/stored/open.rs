//! [`open_checkpoint`]: a file, or a folder with its shards, index and configuration, opened and
//! checked against each other.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{Error, Result, quoted};
use crate::stored::view::View;

pub(crate) const INDEX: &str = "model.safetensors.index.json";

pub(crate) const CONFIG: &str = "config.json";

/// Of whole models kept beside the shards in other forms, none is a faithful copy of the output.
pub(crate) const STALE: [&str; 6] = ["bin", "pt", "pth", "gguf", "h5", "msgpack"];

/// A file or a checkpoint folder, opened.
pub(crate) struct Opened {
    /// The folder with the files.
    pub(crate) folder: PathBuf,
    /// The names of the files with tensors, sorted.
    pub(crate) files: Vec<String>,
    pub(crate) views: Vec<View>,
    /// What else a checkpoint folder has; `None` for a file.
    pub(crate) extra_files: Option<ExtraFiles>,
}

/// What a checkpoint folder has beside tensors.
pub(crate) struct ExtraFiles {
    /// Files to be copied, sorted.
    pub(crate) others: Vec<String>,
    pub(crate) has_index: bool,
}

impl Opened {
    pub(crate) fn new(input: &Path) -> Result<Self> {
        if !input.is_dir() {
            let view = View::open(input)?;
            let Some(name) = input.file_name().and_then(|name| name.to_str()) else {
                return Err(Error::unsupported(input, "the name of the file is not Unicode text"));
            };
            let folder = input.parent().filter(|folder| !folder.as_os_str().is_empty());
            return Ok(Self {
                folder: folder.unwrap_or(Path::new(".")).to_path_buf(),
                files: vec![name.to_owned()],
                views: vec![view],
                extra_files: None,
            });
        }
        let Listing { shards, others } = list(input)?;
        let views = shards.iter().map(|shard| View::open(input.join(shard))).collect::<Result<Vec<_>>>()?;
        check_index(input, &shards, &views)?;
        // What can't be read is refused before the work begins.
        read_json(&input.join(CONFIG))?;
        let has_index = input.join(INDEX).exists();
        let extra_files = Some(ExtraFiles { others, has_index });
        Ok(Self { folder: input.to_path_buf(), files: shards, views, extra_files })
    }

    /// Refuses an output folder that is the folder of the input.
    pub(crate) fn check_output(&self, output: &Path) -> Result<()> {
        let canonical = (fs::canonicalize(&self.folder).ok(), fs::canonicalize(output).ok());
        match canonical {
            (Some(a), Some(b)) if a == b => {
                let what = "is the folder of the input too; a checkpoint is written into another folder";
                Err(Error::refused(Some(output), None, what))
            }
            _ => Ok(()),
        }
    }
}

/// Opens a file, or all `.safetensors` files of a checkpoint folder, sorted by name: as its index
/// says, if it has one, and with names that are unique in all of them.
///
/// # Errors
/// What [`View::open`] refuses, an index that says something else, a name in two files.
pub fn open_checkpoint(path: &Path) -> Result<Vec<View>> {
    if !path.is_dir() {
        return Ok(vec![View::open(path)?]);
    }
    let Opened { files, views, .. } = Opened::new(path)?;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (file, view) in views.iter().enumerate() {
        for tensor in view.source().tensors() {
            if let Some(other) = seen.insert(&tensor.name, file) {
                let what = format!(
                    "is in {} and in {}; names are unique in a checkpoint",
                    quoted(&files[other]),
                    quoted(&files[file])
                );
                return Err(Error::refused(Some(path), Some(&tensor.name), what));
            }
        }
    }
    Ok(views)
}

/// The files of a folder by kind, sorted by name.
pub(crate) struct Listing {
    shards: Vec<String>,
    others: Vec<String>,
}

pub(crate) fn list(folder: &Path) -> Result<Listing> {
    let io = |e| Error::io("list", folder, e);
    let (mut shards, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_file = entry.path().is_file();
        let extension = Path::new(&name).extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if !is_file || name.starts_with('.') || name == INDEX || name == CONFIG || STALE.contains(&extension)
        {
            continue;
        }
        if extension == "safetensors" { shards.push(name) } else { others.push(name) }
    }
    shards.sort();
    others.sort();
    if shards.is_empty() {
        return Err(Error::unsupported(folder, "this folder has no .safetensors files"));
    }
    Ok(Listing { shards, others })
}

pub(crate) fn read_json(path: &Path) -> Result<Option<Map<String, Value>>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("read", path, e)),
    };
    match serde_json::from_slice(&text) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err(Error::malformed(path, None, "is no JSON object")),
        Err(e) => Err(Error::malformed(path, None, e.to_string())),
    }
}

/// The shards must be those that the index names, tensor by tensor.
pub(crate) fn check_index(folder: &Path, shards: &[String], views: &[View]) -> Result<()> {
    let path = folder.join(INDEX);
    let Some(index) = read_json(&path)? else { return Ok(()) };
    let wrong = |what: String| Err(Error::malformed(&path, None, what));
    let Some(map) = index.get("weight_map").and_then(Value::as_object) else {
        return wrong("has no object `weight_map`".to_owned());
    };
    let mut missing: BTreeMap<&str, &str> =
        map.iter().map(|(name, file)| (&**name, file.as_str().unwrap_or_default())).collect();
    for (shard, view) in shards.iter().zip(views) {
        for tensor in view.source().tensors() {
            if missing.remove(&*tensor.name).is_some_and(|named| named != shard) {
                return wrong(format!("tensor `{}` is in {shard}, the index says otherwise", tensor.name));
            }
        }
    }
    match missing.first_key_value() {
        Some((name, file)) => {
            wrong(format!("tensor `{name}` should be in {file} and is in no file of the folder"))
        }
        None => Ok(()),
    }
}
