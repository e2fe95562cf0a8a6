//! A checkpoint folder in, a checkpoint folder out: every `.safetensors` file, `config.json`, the index, and the rest.
//!
//! The output folder is new. Each file in it appears whole under its name; `config.json` and the index come last, so that
//! a folder that has its configuration is complete.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value, json};
use smallfloat_kernels::ErrorSums;

use crate::config::quantization_config;
use crate::quantize::{Checkpoint, Progress};
use crate::report::Report;
use crate::{CHUNK_BYTES, DurableFile, Error, Options, Result, View, write_file_durably};

const INDEX: &str = "model.safetensors.index.json";
const CONFIG: &str = "config.json";
/// Of whole models kept beside the shards in other forms, none is a faithful copy of the output.
const STALE: [&str; 6] = ["bin", "pt", "pth", "gguf", "h5", "msgpack"];

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
fn check_index(folder: &Path, listing: &Listing, views: &[View]) -> Result<()> {
    let path = folder.join(INDEX);
    let Some(index) = read_json(&path)? else { return Ok(()) };
    let wrong = |what: String| Err(Error::malformed(&path, None, what));
    let Some(map) = index.get("weight_map").and_then(Value::as_object) else {
        return wrong("has no object `weight_map`".to_owned());
    };
    let mut missing: BTreeMap<&str, &str> =
        map.iter().map(|(name, file)| (&**name, file.as_str().unwrap_or_default())).collect();
    for (shard, view) in listing.shards.iter().zip(views) {
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

fn make_folder(output: &Path, overwrite: bool) -> Result<()> {
    match fs::read_dir(output) {
        Ok(mut entries) => {
            if entries.next().is_some() && !overwrite {
                Err(Error::exists(output))
            } else {
                Ok(())
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir(output).map_err(|e| Error::io("make the folder", output, e))
        }
        Err(e) => Err(Error::io("write into", output, e)),
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

pub(crate) fn quantize(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let start = Instant::now();
    let same = fs::canonicalize(input).ok().zip(fs::canonicalize(output).ok()).is_some_and(|(a, b)| a == b);
    if same {
        let what = "is the input too; a checkpoint is written into another folder";
        return Err(Error::refused(Some(output), None, what));
    }
    let listing = list(input)?;
    let views =
        listing.shards.iter().map(|shard| View::open(input.join(shard))).collect::<Result<Vec<_>>>()?;
    check_index(input, &listing, &views)?;
    let config = read_json(&input.join(CONFIG))?;
    let mut checkpoint = Checkpoint::new(&views, options, select)?;
    make_folder(output, options.overwrite)?;
    progress(Progress::Start((0..views.len()).map(|file| checkpoint.bytes(file)).sum()));
    let (mut reports, mut sums, mut total) = (Vec::new(), ErrorSums::default(), 0);
    let (mut bytes_out, mut weight_map) = (0, BTreeMap::new());
    for (file, shard) in listing.shards.iter().enumerate() {
        let part = checkpoint.quantize(file, &output.join(shard), progress)?;
        reports.extend(part.reports);
        sums = sums.then(part.sums);
        bytes_out += part.bytes_out;
        for (name, bytes) in part.written {
            total += bytes;
            if let Some(other) = weight_map.insert(name.clone(), shard.clone()) {
                let what = format!("is written to {other} and to {shard}; names are unique in a checkpoint");
                return Err(Error::refused(Some(output), Some(&name), what));
            }
        }
    }
    for name in &listing.others {
        copy(&input.join(name), output.join(name), options.overwrite)?;
    }
    let mut report = Report::of(&reports, &sums);
    report.quantization_config = quantization_config(options, &checkpoint.layout, &checkpoint.ignored());
    let write = |name: &str, value: &Value| {
        let mut text =
            serde_json::to_vec_pretty(value).map_err(|e| Error::refused(None, None, e.to_string()))?;
        text.push(b'\n');
        write_file_durably(output.join(name), &text, options.overwrite)
    };
    if listing.shards.len() > 1 || input.join(INDEX).exists() {
        write(INDEX, &json!({ "metadata": { "total_size": total }, "weight_map": weight_map }))?;
    }
    if let Some(mut config) = config {
        // What it said of the input is not true of the output.
        config.shift_remove("quantization_config");
        if let Some(quantization) = &report.quantization_config {
            config.insert("quantization_config".to_owned(), quantization.clone());
        }
        write(CONFIG, &Value::Object(config))?;
    }
    report.bytes_in = views.iter().map(|view| view.source().file_len()).sum();
    report.bytes_out = bytes_out;
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
