//! [`View`]: a file's tensors as numbers, whether they are stored as wide floats or as codes of a native container.

use std::path::Path;

use smallfloat::Format;
use smallfloat_kernels::{Decoder, Element};

use crate::container::{Entry, GRANULARITY, bias_name, code_dtype, read_entries};
use crate::stream::{code_at, with_element};
use crate::{Dtype, Error, Result, Source, TensorInfo};

/// How a tensor is stored.
#[derive(Clone, PartialEq, Debug)]
pub enum Stored {
    /// As wide floats.
    Wide,
    /// As codes of a small format, bias included.
    Codes(Box<(Format, Entry)>),
    /// As something else, which is left alone.
    Other,
}

/// One tensor of a [`View`].
#[derive(Clone, Debug)]
pub struct TensorView {
    /// Name, shape and place in the file.
    pub info: TensorInfo,
    /// How it is stored.
    pub stored: Stored,
}

impl TensorView {
    /// The format of the codes, if there are codes.
    pub fn format(&self) -> Option<&Format> {
        match &self.stored {
            Stored::Codes(codes) => Some(&codes.0),
            _ => None,
        }
    }

    /// The container's entry, if there are codes.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.stored {
            Stored::Codes(codes) => Some(&codes.1),
            _ => None,
        }
    }
}

/// An opened file with the meaning of its tensors; biases are read, data is not.
#[derive(Debug)]
pub struct View {
    source: Source,
    tensors: Vec<TensorView>,
    is_container: bool,
}

impl View {
    /// Opens a file and checks the container's structure, if it is one: every entry has its codes and its bias.
    ///
    /// # Errors
    /// What [`Source::open`] refuses, and entries that do not fit the tensors.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let source = Source::open(path)?;
        let Some(mut entries) = read_entries(&source)? else {
            let tensors =
                source.tensors().iter().map(|info| TensorView { info: info.clone(), stored: plain(info) });
            return Ok(Self { tensors: tensors.collect(), source, is_container: false });
        };
        let biased: Vec<String> = entries
            .iter()
            .filter(|(_, entry)| entry.spec().is_ok_and(|spec| spec.has_free_bias()))
            .map(|(name, _)| bias_name(name))
            .collect();
        let mut tensors = Vec::new();
        for info in source.tensors() {
            let stored = match entries.remove(&info.name) {
                Some(entry) => Stored::Codes(Box::new((codes_format(&source, info, &entry)?, entry))),
                None if biased.contains(&info.name) => continue,
                None => plain(info),
            };
            tensors.push(TensorView { info: info.clone(), stored });
        }
        if let Some((name, _)) = entries.first_key_value() {
            let what = "is in the container's metadata and not in the file";
            return Err(Error::refused(Some(source.path()), Some(name), what));
        }
        Ok(Self { source, tensors, is_container: true })
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The tensors; biases of containers are part of what they belong to.
    pub fn tensors(&self) -> &[TensorView] {
        &self.tensors
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorView> {
        self.tensors.iter().find(|tensor| tensor.info.name == name)
    }

    /// Is the file a native container?
    pub fn is_container(&self) -> bool {
        self.is_container
    }

    /// Reads elements `first..first + values.len()` of a tensor as numbers.
    pub(crate) fn read_f64(&self, tensor: &TensorView, first: u64, values: &mut [f64]) -> Result<()> {
        match &tensor.stored {
            Stored::Wide => {
                with_element!(tensor.info.dtype, T => {
                    let mut bytes = vec![0; values.len() * T::SIZE];
                    self.source.read_range(&tensor.info, first, &mut bytes)?;
                    for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
                        *value = T::from_le_slice(bytes).to_f64();
                    }
                    Ok(())
                }, else Ok(()))
            }
            Stored::Codes(codes) => {
                let size = usize::from(codes.0.width() > 8) + 1;
                let mut bytes = vec![0; values.len() * size];
                self.source.read_range(&tensor.info, first, &mut bytes)?;
                let decoder = f64_decoder(&codes.0)?;
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                    *value = decoder.value(usize::from(code_at(bytes)));
                }
                Ok(())
            }
            Stored::Other => Err(Error::refused(
                Some(self.source.path()),
                Some(&tensor.info.name),
                format!("dtype {} has no numbers to compare", tensor.info.dtype),
            )),
        }
    }
}

/// Values as `f64`; the few formats beyond its range are rounded to it.
pub(crate) fn f64_decoder(format: &Format) -> Result<Decoder<f64>> {
    let nearest = f64::FORMAT.default_projection();
    Decoder::new(format, None)
        .or_else(|_| Decoder::new(format, Some(&nearest)))
        .map_err(|e| Error::refused(None, None, e.to_string()))
}

fn plain(info: &TensorInfo) -> Stored {
    if info.dtype.is_wide_float() { Stored::Wide } else { Stored::Other }
}

/// The format of a tensor's codes, with the bias that stands beside them.
fn codes_format(source: &Source, info: &TensorInfo, entry: &Entry) -> Result<Format> {
    let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
    let spec = entry.spec().map_err(|e| refused(e.to_string()))?;
    if entry.granularity != GRANULARITY {
        return Err(refused(format!(
            "its granularity `{}` is not known, this program reads `{GRANULARITY}`",
            entry.granularity
        )));
    }
    let format = if spec.has_free_bias() {
        let name = bias_name(&info.name);
        let Some(bias) = source.tensor(&name) else {
            return Err(refused(format!("its bias `{name}` is missing")));
        };
        if bias.dtype != Dtype::U8 || !bias.shape.is_empty() {
            return Err(refused(format!(
                "its bias `{name}` is {} of shape {:?}, a tensor's bias is a U8 of shape []",
                bias.dtype, bias.shape
            )));
        }
        let value = source.read_all(bias)?.first().copied().unwrap_or_default();
        spec.with_bias(i32::from(value)).map_err(|e| refused(e.to_string()))?
    } else {
        spec.format().map_err(|e| refused(e.to_string()))?
    };
    if format.is_wide() {
        return Err(refused(format!("{format} is no small format: codes have at most 16 bits")));
    }
    if format.subnormals().name() != entry.subnormals {
        return Err(refused(format!(
            "the subnormals of {format} are `{}`, the metadata says `{}`",
            format.subnormals().name(),
            entry.subnormals
        )));
    }
    let expected = code_dtype(&format);
    if info.dtype != expected {
        return Err(refused(format!("codes of {format} are {expected}, the file has {}", info.dtype)));
    }
    Ok(format)
}
