//! A checkpoint folder in, a checkpoint folder out: every `.safetensors` file, `config.json`, the
//! index, and the rest.
//!
//! The output folder is new. Each file in it appears whole under its name; `config.json` and the
//! index come last, so that a folder that has its configuration is complete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::file::durable::{DurableFile, write_file_durably};
use crate::file::input::CHUNK_BYTES;
use crate::file::source::Source;
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::checkpoint::Checkpoint;
use crate::quantize::config::quantization_config;
use crate::report::Report;
use crate::stored::open::{CONFIG, INDEX, Opened, read_json};

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
    /// Whether an index is wanted even for one file.
    pub(crate) index: bool,
    /// Whether the input's `config.json`, if there is one, is written too.
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
    let extra_files = opened.extra_files.as_ref();
    let ending = Ending {
        input,
        output,
        files: &opened.files,
        others: extra_files.map_or(&[], |extra_files| &extra_files.others),
        index: extra_files.is_some_and(|extra_files| extra_files.has_index),
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
