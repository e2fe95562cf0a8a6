//! [`open_checkpoint`]: a file, or a folder with its shards, index and configuration, opened and
//! checked against each other.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result, quoted};
use crate::file::folder::{
    CONFIG, INDEX, SAFETENSORS, check_complete, incomplete, indexed_files, shard_number,
};
use crate::file::side::read_json;
use crate::stored::together::open_files;
use crate::stored::view::View;

/// Of whole models kept beside the shards in other forms, none is a faithful copy of the output.
pub(crate) const STALE: [&str; 6] = ["bin", "pt", "pth", GGUF, "h5", "msgpack"];
const GGUF: &str = "gguf";
const ANOTHER_FORM: &str = "the model in another form";

/// Files with configurations of the quantization that are not `config.json`.
const OTHER_QUANTIZATION: [&str; 2] = ["hf_quant_config.json", "quantization_config.json"];

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
    /// What else is there, each with the reason why it is not copied.
    pub(crate) not_copied: Vec<String>,
}

impl Opened {
    /// Opens what is to be written in another form.
    ///
    /// # Errors
    /// As [`open_checkpoint`], and a folder of GGUF files.
    pub(crate) fn new(input: &Path) -> Result<Self> {
        let opened = Self::any(input)?;
        if opened.extra_files.is_some() && opened.views.iter().any(|view| view.source().gguf().is_some()) {
            let what = "this folder has GGUF files and no .safetensors files: GGUF files are read one by one, name a file";
            return Err(Error::unsupported(input, what));
        }
        Ok(opened)
    }

    fn any(input: &Path) -> Result<Self> {
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
        let Listing { shards, others, not_copied } = list(input)?;
        let views = open_files(shards.iter().map(|shard| input.join(shard)))?;
        check_index(input, &shards, &views)?;
        // What can't be read is refused before the work begins.
        read_json(&input.join(CONFIG))?;
        let has_index = input.join(INDEX).exists();
        let extra_files = Some(ExtraFiles { others, has_index, not_copied });
        Ok(Self { folder: input.to_path_buf(), files: shards, views, extra_files })
    }

    /// What a folder has that no output gets.
    pub(crate) fn not_copied(&self) -> &[String] {
        self.extra_files.as_ref().map_or(&[], |extra_files| &extra_files.not_copied)
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
/// says, if it has one, and with names that are unique in all of them. Where there are none, the
/// `.gguf` files are opened.
///
/// # Errors
/// What [`View::open`] refuses, an index that says something else, a name in two files.
pub fn open_checkpoint(path: impl AsRef<Path>) -> Result<Vec<View>> {
    open_all(path.as_ref())
}

fn open_all(path: &Path) -> Result<Vec<View>> {
    if !path.is_dir() {
        return Ok(vec![View::open(path)?]);
    }
    let Opened { files, views, .. } = Opened::any(path)?;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (file, view) in views.iter().enumerate() {
        for tensor in view.source().tensors() {
            if let Some(other) = seen.insert(&tensor.name, file) {
                let what = format!(
                    "is in {} and in {}; names are unique in a checkpoint: move one of the files away, or name one of them",
                    quoted(&files[other]),
                    quoted(&files[file])
                );
                return Err(Error::refused(Some(path), Some(&tensor.name), what));
            }
        }
    }
    Ok(views)
}

/// The files of tensors of a folder, sorted by name.
pub(crate) fn list_shards(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(list(folder)?.shards.iter().map(|shard| folder.join(shard)).collect())
}

/// The files of a folder by kind, sorted by name.
pub(crate) struct Listing {
    shards: Vec<String>,
    others: Vec<String>,
    /// What is left alone, each with the reason.
    not_copied: Vec<String>,
}

impl Listing {
    /// Leaves alone what is named as Mistral names the model under its own names of tensors, where
    /// that lies beside the model under the names of transformers.
    fn set_aside_consolidated(&mut self, folder: &Path) {
        let is_model = |name: &String| {
            name == "model.safetensors" || name.starts_with("model-") && shard_number(name).is_some()
        };
        let is_consolidated = |name: &str| name.starts_with("consolidated") && name.contains(SAFETENSORS);
        let is_indexed = indexed_files(folder).iter().any(|name| is_consolidated(name));
        if !is_indexed && self.shards.iter().any(is_model) {
            let shards = self.shards.extract_if(.., |name| is_consolidated(name));
            let others = self.others.extract_if(.., |name| is_consolidated(name));
            let aside = shards.chain(others).map(|name| format!("{} ({ANOTHER_FORM})", quoted(&name)));
            self.not_copied.extend(aside);
        }
    }
}

/// Lists a checkpoint folder.
///
/// # Errors
/// A folder that is incomplete or has no files of tensors, and a file of tensors that can't be one:
/// a dangling link, a pipe, a folder, a name that is not Unicode text.
pub(crate) fn list(folder: &Path) -> Result<Listing> {
    check_complete(folder)?;
    let io = |e| Error::io("list", folder, e);
    let mut listing = Listing { shards: Vec::new(), others: Vec::new(), not_copied: Vec::new() };
    let mut gguf = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().expect("an entry of a folder has a name").to_string_lossy().into_owned();
        if name == CONFIG || name == INDEX {
            continue;
        }
        let extension = Path::new(&name).extension().and_then(|extension| extension.to_str()).unwrap_or("");
        let is_shard = extension == "safetensors" && !name.starts_with('.');
        let kind = fs::metadata(&path);
        let why = match &kind {
            _ if path.file_name().and_then(|name| name.to_str()).is_none() => "its name is not Unicode text",
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => "a link to nothing",
            Err(_) => "can't be looked at",
            Ok(kind) if kind.is_dir() => "a folder",
            Ok(kind) if !kind.is_file() => "not a regular file",
            _ if name.starts_with('.') => "hidden",
            _ if extension == GGUF => {
                gguf.push(name);
                continue;
            }
            _ if STALE.contains(&extension) => ANOTHER_FORM,
            _ if OTHER_QUANTIZATION.contains(&&*name) => "says how the input is quantized",
            _ if is_shard => {
                listing.shards.push(name);
                continue;
            }
            _ => {
                listing.others.push(name);
                continue;
            }
        };
        if is_shard {
            let what = format!("is named as a file of tensors, and can't be read as one: {why}");
            return Err(Error::refused(Some(&path), None, what));
        }
        listing.not_copied.push(format!("{} ({why})", quoted(&name)));
    }
    listing.set_aside_consolidated(folder);
    if listing.shards.is_empty() {
        listing.shards = gguf;
    } else {
        listing.not_copied.extend(gguf.iter().map(|name| format!("{} ({ANOTHER_FORM})", quoted(name))));
    }
    listing.shards.sort();
    listing.others.sort();
    listing.not_copied.sort();
    if listing.shards.is_empty() {
        return Err(Error::unsupported(folder, "this folder has no .safetensors files"));
    }
    Ok(listing)
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
        map.iter().map(|(name, file)| Some((&**name, file.as_str()?))).collect::<Option<_>>().ok_or_else(
            || Error::malformed(&path, None, "its `weight_map` has a value that is not the name of a file"),
        )?;
    for (shard, view) in shards.iter().zip(views) {
        for tensor in view.source().tensors() {
            if missing.remove(&*tensor.name).is_some_and(|named| named != shard) {
                let (name, shard) = (quoted(&tensor.name), quoted(shard));
                return wrong(format!("tensor {name} is in {shard}, the index says otherwise"));
            }
        }
    }
    match missing.first_key_value() {
        Some((name, file)) => {
            let what = format!(
                "tensor {} should be in {} by the index, and is in no file of the folder",
                quoted(name),
                quoted(file)
            );
            Err(incomplete(folder, &what))
        }
        None => Ok(()),
    }
}
