//! A checkpoint folder in, a checkpoint folder out: every `.safetensors` file, `config.json`, the index, and the rest.
//!
//! The output folder is new. Each file in it appears whole under its name; `config.json` and the index come last, so that
//! a folder that has its configuration is complete.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::config::quantization_config;
use crate::error::quoted;
use crate::quantize::{Checkpoint, Progress};
use crate::report::Report;
use crate::{CHUNK_BYTES, DurableFile, Error, Options, Result, Source, View, write_file_durably};

pub(crate) const INDEX: &str = "model.safetensors.index.json";
pub(crate) const CONFIG: &str = "config.json";
/// Of whole models kept beside the shards in other forms, none is a faithful copy of the output.
const STALE: [&str; 6] = ["bin", "pt", "pth", "gguf", "h5", "msgpack"];

/// A file or a checkpoint folder, opened.
pub(crate) struct Opened {
    /// The folder with the files.
    pub(crate) folder: PathBuf,
    /// The names of the files with tensors, sorted.
    pub(crate) files: Vec<String>,
    pub(crate) views: Vec<View>,
    /// What else a checkpoint folder has; `None` for a file.
    pub(crate) beside: Option<Beside>,
}

/// What a checkpoint folder has beside tensors.
pub(crate) struct Beside {
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
                beside: None,
            });
        }
        let Listing { shards, others } = list(input)?;
        let views = shards.iter().map(|shard| View::open(input.join(shard))).collect::<Result<Vec<_>>>()?;
        check_index(input, &shards, &views)?;
        // What can't be read is refused before the work begins.
        read_json(&input.join(CONFIG))?;
        let has_index = input.join(INDEX).exists();
        let beside = Some(Beside { others, has_index });
        Ok(Self { folder: input.to_path_buf(), files: shards, views, beside })
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

/// Opens a file, or all `.safetensors` files of a checkpoint folder, sorted by name: as its index says, if it has one, and
/// with names that are unique in all of them.
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
struct Listing {
    shards: Vec<String>,
    others: Vec<String>,
}

fn list(folder: &Path) -> Result<Listing> {
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

fn read_json(path: &Path) -> Result<Option<Map<String, Value>>> {
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
fn check_index(folder: &Path, shards: &[String], views: &[View]) -> Result<()> {
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

/// Refuses a folder that has something in it, unless it may be overwritten.
pub(crate) fn check_empty(output: &Path, overwrite: bool) -> Result<()> {
    match fs::read_dir(output) {
        Ok(mut entries) => match entries.next() {
            Some(_) if !overwrite => Err(Error::exists(output)),
            _ => Ok(()),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("write into", output, e)),
    }
}

/// Makes the folder unless it is there; another process may make it at the same time.
pub(crate) fn make_folder(output: &Path) -> Result<()> {
    match fs::create_dir(output) {
        Err(_) if output.is_dir() => Ok(()),
        made => made.map_err(|e| Error::io("make the folder", output, e)),
    }
}

fn copy(from: &Path, to: PathBuf, overwrite: bool) -> Result<()> {
    let mut source = File::open(from).map_err(|e| Error::io("open", from, e))?;
    let mut target = DurableFile::create(to, overwrite)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut buffer).map_err(|e| Error::io("read from", from, e))? {
            0 => return target.commit(),
            count => target.append(&buffer[..count])?,
        }
    }
}

/// What makes a folder of written files a checkpoint.
pub(crate) struct Ending<'a> {
    /// The folder of the input.
    pub(crate) input: &'a Path,
    pub(crate) output: &'a Path,
    /// The files with tensors in the output.
    pub(crate) files: &'a [String],
    /// The files of the input to be copied.
    pub(crate) others: &'a [String],
    /// Is an index wanted even for one file?
    pub(crate) index: bool,
    /// Is the input's `config.json`, if there is one, written too?
    pub(crate) config: bool,
    pub(crate) quantization_config: Option<&'a Value>,
    pub(crate) overwrite: bool,
}

impl Ending<'_> {
    /// Writes it: copies, then the index, then the configuration.
    pub(crate) fn write(&self) -> Result<()> {
        for name in self.others {
            copy(&self.input.join(name), self.output.join(name), self.overwrite)?;
        }
        if self.files.len() > 1 || self.index {
            self.write_json(INDEX, &self.index()?)?;
        }
        let config = if self.config { read_json(&self.input.join(CONFIG))? } else { None };
        if let Some(mut config) = config {
            // What it said of the input is not true of the output.
            config.shift_remove("quantization_config");
            if let Some(quantization) = self.quantization_config {
                config.insert("quantization_config".to_owned(), quantization.clone());
            }
            self.write_json(CONFIG, &Value::Object(config))?;
        }
        Ok(())
    }

    /// The index, from the headers of what was written.
    fn index(&self) -> Result<Value> {
        let (mut total, mut weight_map) = (0_u64, BTreeMap::new());
        for file in self.files {
            for tensor in Source::open(self.output.join(file))?.tensors() {
                total = total.saturating_add(tensor.len);
                weight_map.insert(tensor.name.clone(), file);
            }
        }
        Ok(json!({ "metadata": { "total_size": total }, "weight_map": weight_map }))
    }

    fn write_json(&self, name: &str, value: &Value) -> Result<()> {
        write_file_durably(self.output.join(name), &json_text(value)?, self.overwrite)
    }
}

/// Indented JSON with a line end.
pub(crate) fn json_text(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| Error::refused(None, None, e.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn quantize(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let start = Instant::now();
    let opened = Opened::new(input)?;
    opened.check_output(output)?;
    let mut checkpoint = Checkpoint::new(&opened.views, options, select)?;
    checkpoint.check_names(&opened.files)?;
    check_empty(output, options.overwrite)?;
    make_folder(output)?;
    progress(Progress::Start(checkpoint.bytes(&checkpoint.places())));
    let (mut reports, mut sums, mut bytes_out) = (Vec::new(), Vec::new(), 0);
    for (file, name) in opened.files.iter().enumerate() {
        let places = checkpoint.places_of(file);
        let (part, sealed) = checkpoint.write(&[file], &places, &output.join(name), progress)?;
        sealed.commit()?;
        reports.extend(part.reports);
        sums.extend(part.sums);
        bytes_out += part.bytes_out;
    }
    let mut report = Report::of(reports, &sums);
    report.quantization_config = quantization_config(options, &checkpoint.layout, &checkpoint.ignored());
    let beside = opened.beside.as_ref();
    let ending = Ending {
        input,
        output,
        files: &opened.files,
        others: beside.map_or(&[], |beside| &beside.others),
        index: beside.is_some_and(|beside| beside.has_index),
        config: true,
        quantization_config: report.quantization_config.as_ref(),
        overwrite: options.overwrite,
    };
    ending.write()?;
    report.bytes_in = opened.views.iter().map(|view| view.source().file_len()).sum();
    report.bytes_out = bytes_out;
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
