//! Checkpoints: a run in a safetensors file, as small as it is in memory, whole or not there.
//!
//! Codes lie in the file as they lie in memory; the header's text has the options, the state of
//! every bias and the losses, and a digest covers it and the tensors. A run that goes on from a
//! checkpoint takes the very steps it would have taken: random numbers need no state.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smallfloat_tensor::{Dtype, Sink, SinkOptions, Source, TensorSpec};

use crate::codes::coder::Elements;
use crate::codes::quantizer::QuantizerState;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::run::trainer::{RunOptions, Trainer};

/// The key of the header's text, with the version of its layout.
const KEY: &str = "smallfloat.train.2";
/// The key of the [`Digest`] of everything else in the file.
const DIGEST_KEY: &str = "smallfloat.train.sha256";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    options: RunOptions,
    data: DataIdentity,
    done: u64,
    seconds: f64,
    losses: Vec<f64>,
    operands: Vec<QuantizerState>,
    kept: Vec<QuantizerState>,
}

/// SHA-256 of the header's text and of all tensors' names, types, shapes and bytes, by name, each
/// with its length before it.
#[derive(Default)]
struct Digest(Sha256);

impl Digest {
    fn of_text(text: &str) -> Self {
        let mut digest = Self::default();
        digest.add(text.as_bytes());
        digest
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn add_tensor(&mut self, name: &str, dtype: Dtype, shape: &[u64], bytes: &[u8]) {
        self.add(name.as_bytes());
        self.add(dtype.name().as_bytes());
        self.add(&shape.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>());
        self.add(bytes);
    }

    /// The digest in lower-case hexadecimal digits.
    fn text(self) -> String {
        let bytes: [u8; 32] = self.0.finalize().into();
        let [high, low] = [0, 16].map(|at| u128::from_be_bytes(*bytes[at..].first_chunk().expect("half")));
        format!("{high:032x}{low:032x}")
    }
}

/// What tells one data set from another.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataIdentity {
    name: String,
    classes: usize,
    digest: String,
}

impl DataIdentity {
    fn of(data: &dyn Dataset) -> Self {
        Self {
            name: data.name().to_owned(),
            classes: data.classes(),
            digest: format!("{:016x}", data.digest()),
        }
    }
}

/// Little-endian bytes.
fn bytes(elements: &Elements) -> (Dtype, Vec<u8>) {
    match elements {
        Elements::Bytes(codes) => (Dtype::U8, codes.clone()),
        Elements::Halves(codes) => (Dtype::U16, codes.iter().flat_map(|code| code.to_le_bytes()).collect()),
        Elements::Plain(values) => {
            (Dtype::F32, values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Elements::Blocks(_) => unreachable!("tensors that are kept have no scheme"),
    }
}

fn elements(dtype: Dtype, bytes: Vec<u8>) -> Option<Elements> {
    Some(match dtype {
        Dtype::U8 => Elements::Bytes(bytes),
        Dtype::U16 => {
            Elements::Halves(bytes.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect())
        }
        Dtype::F32 => {
            Elements::Plain(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
        }
        _ => return None,
    })
}

impl Trainer {
    /// Writes the run as it is. A file that is there is replaced at the very end, in one step.
    ///
    /// # Errors
    /// What writing refuses.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref())
    }

    fn write(&mut self, path: &Path) -> Result<()> {
        let (mut specs, mut contents, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let shapes: Vec<Vec<u64>> =
            self.parameters().list.iter().map(|p| p.shape.iter().map(|&n| n as u64).collect()).collect();
        for (parameter, shape) in self.parameters().list.iter().zip(shapes) {
            for tensor in
                [Some(&parameter.weights), Some(&parameter.first_moment), parameter.second_moment.as_ref()]
                    .into_iter()
                    .flatten()
            {
                let (dtype, bytes) = bytes(&tensor.codes().data);
                specs.push(TensorSpec::new(&tensor.quantizer().name, dtype, shape.clone()));
                contents.push(bytes);
                kept.push(tensor.quantizer().state());
            }
        }
        let text = Text {
            data: DataIdentity::of(self.data()),
            options: self.options().clone(),
            done: self.done(),
            seconds: self.seconds(),
            losses: self.losses().to_vec(),
            operands: self.quantizers().into_iter().map(|quantizer| quantizer.state()).collect(),
            kept,
        };
        let text = serde_json::to_string(&text).map_err(|e| Error::config(e.to_string()))?;
        let mut digest = Digest::of_text(&text);
        let mut tensors: Vec<_> = specs.iter().zip(&contents).collect();
        tensors.sort_by_key(|(spec, _)| &spec.name);
        for (spec, bytes) in tensors {
            digest.add_tensor(&spec.name, spec.dtype, &spec.shape, bytes);
        }
        let metadata = vec![(KEY.into(), text), (DIGEST_KEY.into(), digest.text())];
        let options = SinkOptions { overwrite: true, ..SinkOptions::default() };
        let sink = Sink::create(path, specs, metadata, options)?;
        for (i, bytes) in contents.iter().enumerate() {
            sink.append(i, bytes)?;
        }
        Ok(sink.finish()?)
    }

    /// Resumes from a checkpoint with the data it was made with, within a limit of memory as
    /// [`RunOptions`] has it.
    ///
    /// # Errors
    /// A file that is no checkpoint, one that was changed, other data, or a run that needs more
    /// memory.
    pub fn resume(path: impl AsRef<Path>, data: Box<dyn Dataset>, memory_limit: u64) -> Result<Self> {
        Self::read(path.as_ref(), data, memory_limit)
    }

    fn read(path: &Path, data: Box<dyn Dataset>, memory_limit: u64) -> Result<Self> {
        let source = Source::open(path)?;
        let [(key, text), (digest_key, expected)] = source.metadata() else {
            return Err(no_checkpoint(path));
        };
        if (&**key, &**digest_key) != (KEY, DIGEST_KEY) {
            return Err(no_checkpoint(path));
        }
        // Before anything in the file is believed.
        let mut digest = Digest::of_text(text);
        let mut tensors: Vec<_> = source.tensors().iter().collect();
        tensors.sort_by_key(|tensor| &tensor.name);
        for tensor in tensors {
            digest.add_tensor(&tensor.name, tensor.dtype, &tensor.shape, &source.read_all(tensor)?);
        }
        let found = digest.text();
        if found != *expected {
            let what = format!("changed since it was written: its digest is {found}, not {expected}");
            return Err(Error::data(path, what));
        }
        let text: Text =
            serde_json::from_str(text).map_err(|e| Error::data(path, format!("its text: {e}")))?;
        let identity = DataIdentity::of(data.as_ref());
        if identity != text.data {
            let what = format!("made with the data {}, not with these: {}", text.data.name, identity.name);
            return Err(Error::data(path, what));
        }
        let mut trainer = Self::new(RunOptions { memory_limit, ..text.options }, data)?;
        let misfit = |what: &str| Error::data(path, format!("{what} are not those of the run it describes"));
        let mut states = text.kept.into_iter();
        trainer.parameters_mut().restore(|name, count| {
            let tensor = source.tensor(name).ok_or_else(|| misfit("its tensors"))?;
            let elements =
                elements(tensor.dtype, source.read_all(tensor)?).filter(|elements| elements.len() == count);
            Ok((
                states.next().ok_or_else(|| misfit("its states"))?,
                elements.ok_or_else(|| misfit("its tensors"))?,
            ))
        })?;
        let mut quantizers = trainer.quantizers();
        if quantizers.len() != text.operands.len() {
            return Err(misfit("its biases"));
        }
        for (quantizer, state) in quantizers.iter_mut().zip(text.operands) {
            quantizer.restore(state)?;
        }
        drop(quantizers);
        trainer.go_on_from(text.done, text.seconds, text.losses);
        Ok(trainer)
    }
}

fn no_checkpoint(path: &Path) -> Error {
    let what = format!("no checkpoint of a training run: its text must have the keys {KEY} and {DIGEST_KEY}");
    Error::data(path, what)
}
