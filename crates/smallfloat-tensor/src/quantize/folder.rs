//! A checkpoint folder in, a checkpoint folder out: every `.safetensors` file, `config.json`, the
//! index, and the rest.
//!
//! The output folder becomes the new checkpoint when all of it is written, as
//! [`OutputFolder`] says.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::file::durable::DurableFile;
use crate::file::folder::{CONFIG, INDEX, OutputFolder};
use crate::file::formats::source::Source;
use crate::file::input::CHUNK_BYTES;
use crate::file::side::{open_regular, read_json, with_numbers};
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::checkpoint::Checkpoint;
use crate::quantize::config::quantization_config;
use crate::report::Report;
use crate::stored::open::Opened;

/// A copy of a file, under a temporary name.
fn copy(from: &Path, to: PathBuf, overwrite: bool) -> Result<DurableFile> {
    let (mut source, _) = open_regular(from)?;
    let mut target = DurableFile::create(to, overwrite)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut buffer).map_err(|e| Error::io("read from", from, e))? {
            0 => return Ok(target),
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

impl Opened {
    /// How a folder with the files of this one ends.
    pub(crate) fn ending<'a>(
        &'a self,
        output: &'a Path,
        quantization_config: Option<&'a Value>,
        overwrite: bool,
    ) -> Ending<'a> {
        let extra_files = self.extra_files.as_ref();
        Ending {
            input: &self.folder,
            output,
            files: &self.files,
            others: extra_files.map_or(&[], |extra_files| &extra_files.others),
            index: extra_files.is_some_and(|extra_files| extra_files.has_index),
            config: true,
            quantization_config,
            overwrite,
        }
    }
}

impl Ending<'_> {
    /// Makes a folder of finished files a checkpoint: copies, the index and the configuration are
    /// written beside them, then all take the places of what was there. Without `finished` files
    /// those with tensors are in place already.
    pub(crate) fn publish(&self, folder: OutputFolder, finished: Vec<DurableFile>) -> Result<()> {
        let mut all = finished;
        let index = if self.files.len() > 1 || self.index {
            Some(index_of(self.output, self.files, &all)?)
        } else {
            None
        };
        for name in self.others {
            all.push(copy(&self.input.join(name), self.output.join(name), self.overwrite)?);
        }
        if let Some(index) = index {
            all.push(self.text(INDEX, &json_text(&index)?)?);
        }
        let config = if self.config { read_json(&self.input.join(CONFIG))? } else { None };
        if let Some(mut config) = config {
            // What it said of the input is not true of the output.
            config.shift_remove("quantization_config");
            if let Some(inner) = config.get_mut("text_config").and_then(Value::as_object_mut) {
                inner.shift_remove("quantization_config");
            }
            if let Some(quantization) = self.quantization_config {
                config.insert("quantization_config".to_owned(), quantization.clone());
            }
            let text = String::from_utf8(json_text(&config)?).expect("JSON is UTF-8");
            all.push(self.text(CONFIG, with_numbers(&text).as_bytes())?);
        }
        folder.publish(self.files, all)
    }

    fn text(&self, name: &str, text: &[u8]) -> Result<DurableFile> {
        let mut file = DurableFile::create(self.output.join(name), self.overwrite)?;
        file.append(text)?;
        Ok(file)
    }
}

/// The index, from the headers of what was written: the first of the finished files are those with
/// tensors, unless they are in place already.
fn index_of(output: &Path, files: &[String], finished: &[DurableFile]) -> Result<Value> {
    let (mut total, mut weight_map) = (0_u64, BTreeMap::new());
    for (i, file) in files.iter().enumerate() {
        let path =
            finished.get(i).map_or_else(|| output.join(file), |file| file.temporary_path().to_path_buf());
        for tensor in Source::open(path)?.tensors() {
            total = total.saturating_add(tensor.len);
            weight_map.insert(tensor.name.clone(), file);
        }
    }
    Ok(json!({ "metadata": { "total_size": total }, "weight_map": weight_map }))
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
    let folder = OutputFolder::create(output, &opened.files, options.overwrite)?;
    progress(Progress::Start(checkpoint.bytes(&checkpoint.places())));
    let (mut reports, mut sums, mut bytes_out, mut finished) = (Vec::new(), Vec::new(), 0, Vec::new());
    for (file, name) in opened.files.iter().enumerate() {
        let places = checkpoint.places_of(file);
        let (part, sealed) = checkpoint.write(&[file], &places, &output.join(name), progress)?;
        finished.push(sealed.into_file());
        reports.extend(part.reports);
        sums.extend(part.sums);
        bytes_out += part.bytes_out;
    }
    let mut report = Report::of(reports, &sums);
    report.seed = options.seed;
    report.quantization_config = quantization_config(options, &checkpoint.layout, &checkpoint.ignored());
    let ending = opened.ending(output, report.quantization_config.as_ref(), options.overwrite);
    ending.publish(folder, finished)?;
    report.bytes_in = opened.views.iter().map(|view| view.source().file_len()).sum();
    report.bytes_out = bytes_out;
    report.not_copied = opened.not_copied().to_vec();
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
