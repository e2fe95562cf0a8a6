//! [`View`]: a file's tensors as numbers, whether they are stored as wide floats or as codes with
//! biases or scales.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use smallfloat::{Format, FormatSpec};
use smallfloat_kernels::{Decoder, Element};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::formats::source::Source;
use crate::file::input::{NameIndex, TensorInfo};
use crate::layout::configured::ConfiguredEntries;
use crate::layout::container::{Entry, RECORD_KEY, bias_name, code_dtype, each_entry};
use crate::layout::convention::Order;
use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;
use crate::layout::scheme::NATIVE;
use crate::layout::stored_shape::StoredShape;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
use crate::stored::foreign;
use crate::stored::reader::Reader;
use crate::stored::scaled::{Placement, Scaled, ValueList, f32_at};
use crate::stored::together::Neighbours;

/// The storage of a tensor.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Stored {
    /// As wide floats.
    Wide,
    /// As codes of a small format, bias included.
    Codes(Box<(Format, Entry)>),
    /// As codes with biases or scales for groups of elements.
    Scaled(Box<Scaled>),
    /// As something else, which is left alone.
    Other,
}

impl Stored {
    fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Codes(codes) => Some(&codes.1),
            Self::Scaled(scaled) => scaled.entry.as_ref(),
            Self::Wide | Self::Other => None,
        }
    }
}

/// One tensor of a [`View`].
#[derive(Clone, Debug)]
pub struct TensorView {
    /// Name, shape and place in the file. Of packed codes these are the name and shape of the
    /// tensor they stand for.
    pub info: TensorInfo,
    /// How it is stored.
    pub stored: Stored,
}

impl TensorView {
    /// Returns the sizes of its dimensions; none for a single number.
    pub fn shape(&self) -> &[u64] {
        &self.info.shape
    }

    /// Returns the format of the codes, if there are codes. Where groups have biases of their own,
    /// at bias 0.
    pub fn format(&self) -> Option<&Format> {
        match &self.stored {
            Stored::Codes(codes) => Some(&codes.0),
            Stored::Scaled(scaled) => Some(&scaled.element),
            Stored::Wide | Stored::Other => None,
        }
    }

    /// Returns the name of the codes' format, or of the list of values that they stand for.
    pub fn format_name(&self) -> Option<String> {
        match (self.scaled(), self.entry()) {
            (Some(scaled), None) => Some(scaled.element_name()),
            (_, Some(entry)) => Some(entry.encoding.format.clone()),
            _ => self.format().map(Format::to_string),
        }
    }

    /// Returns the container's entry, if there are codes that have one.
    pub fn entry(&self) -> Option<&Entry> {
        self.stored.entry()
    }

    /// Returns the biases or scales for groups of elements.
    pub fn scaled(&self) -> Option<&Scaled> {
        match &self.stored {
            Stored::Scaled(scaled) => Some(scaled),
            _ => None,
        }
    }

    /// The dtype of the numbers before anything was quantized.
    pub(crate) fn source_dtype(&self) -> &str {
        match self.entry() {
            Some(entry) => &entry.encoding.source_dtype,
            None if self.info.dtype.is_wide_float() => self.info.dtype.name(),
            // Values of codes and scales of other programs are F32 to their readers.
            None => Dtype::F32.name(),
        }
    }

    /// Returns whether the tensor holds numbers, which [`View::read`] reads: floats, or codes of a
    /// format or a list of values.
    pub fn has_numbers(&self) -> bool {
        !matches!(self.stored, Stored::Other)
    }
}

/// An opened file with the meaning of its tensors; biases are read, data is not.
#[derive(Debug)]
pub struct View {
    source: Arc<Source>,
    tensors: Vec<TensorView>,
    by_name: NameIndex,
    is_container: bool,
    elsewhere: Vec<String>,
}

impl View {
    /// Opens a file and checks the structure of what is quantized in it: every tensor has its codes
    /// and its scales.
    ///
    /// # Errors
    /// What [`Source::open`] refuses, and entries or scales that do not fit the tensors.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), None)
    }

    /// Views a file that is open, or that lies in memory ([`Source::from_bytes`]).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_source(source: Source) -> Result<Self> {
        Self::of(Arc::new(source), None, None)
    }

    /// Opens a file whose granularity is known, where shapes alone do not tell it.
    pub(crate) fn open_as(path: &Path, known: Option<Granularity>) -> Result<Self> {
        Self::of(Arc::new(Source::open(path)?), known, None)
    }

    /// Views a file whose codes may have their scales in one of its neighbours.
    pub(crate) fn with_neighbours(source: &Arc<Source>, neighbours: &Neighbours<'_>) -> Result<Self> {
        Self::of(Arc::clone(source), None, Some(neighbours))
    }

    fn of(
        source: Arc<Source>,
        known: Option<Granularity>,
        neighbours: Option<&Neighbours<'_>>,
    ) -> Result<Self> {
        let count = source.tensors().len();
        let (mut found, mut is_companion) = (vec![None; count], vec![false; count]);
        let mut place = |name: String, entry: Entry| {
            let refused = |what: String| Error::refused(Some(source.path()), Some(&name), what);
            let place = source.position(&name);
            let place = place
                .ok_or_else(|| refused("is in the container's metadata and not in the file".to_owned()))?;
            for companion in companions(&name, &entry) {
                source.position(&companion).into_iter().for_each(|place| is_companion[place] = true);
            }
            let info = &source.tensors()[place];
            // The codes' own shape is that of a tensor whose entry names none.
            let own = entry.shape.is_none();
            let shape = entry.shape.clone();
            let tensor = shape.as_ref().unwrap_or(&info.shape);
            let stored = codes(&source, info, tensor, entry)?;
            check_shape(&info.shape, &stored, tensor, !own).map_err(refused)?;
            match found[place].replace(stored) {
                Some(_) => Err(refused("comes twice in the container's metadata".to_owned())),
                None => Ok(()),
            }
        };
        let mut is_container = each_entry(&source, &mut place)?;
        if !is_container {
            let configured = match neighbours {
                Some(neighbours) => neighbours.configured.of(&source)?,
                None => ConfiguredEntries::default().of(&source)?,
            };
            is_container = !configured.is_empty();
            configured.into_iter().try_for_each(|(name, entry)| place(name, entry))?;
        }
        if !is_container {
            let (tensors, elsewhere) = Self::of_other_programs(&source, known, neighbours)?;
            return Ok(Self { tensors, source, by_name: NameIndex::default(), is_container, elsewhere });
        }
        let mut tensors = Vec::new();
        for ((info, found), is_companion) in source.tensors().iter().zip(found).zip(is_companion) {
            let stored = match found {
                Some(stored) => stored,
                None if is_companion => continue,
                None => plain(info),
            };
            let shape = stored.entry().and_then(|entry| entry.shape.as_ref()).unwrap_or(&info.shape).clone();
            let (name, &TensorInfo { dtype, offset, len, .. }) = (info.name.clone(), info);
            tensors.push(TensorView { info: TensorInfo { name, dtype, shape, offset, len }, stored });
        }
        let elsewhere = Vec::new();
        Ok(Self { tensors, source, by_name: NameIndex::default(), is_container, elsewhere })
    }

    /// The tensors of a file that is no native container, and the names of those in other files
    /// that belong to them.
    fn of_other_programs(
        source: &Source,
        known: Option<Granularity>,
        neighbours: Option<&Neighbours<'_>>,
    ) -> Result<(Vec<TensorView>, Vec<String>)> {
        let mut found = foreign::find(source, known, neighbours)?;
        let mut tensors = Vec::new();
        for info in source.tensors() {
            match found.remove(&info.name) {
                Some(None) => {}
                Some(Some(of_layout)) => {
                    let (name, shape, scaled) = *of_layout;
                    tensors.push(TensorView {
                        info: TensorInfo { name, shape, ..info.clone() },
                        stored: Stored::Scaled(Box::new(scaled)),
                    });
                }
                None => tensors.push(TensorView { info: info.clone(), stored: plain(info) }),
            }
        }
        check_names(source, &tensors)?;
        Ok((tensors, found.into_keys().collect()))
    }

    /// The names of tensors in other files that belong to those of this one.
    pub(crate) fn elsewhere(&self) -> &[String] {
        &self.elsewhere
    }

    /// Leaves out tensors that belong to those of other files.
    pub(crate) fn hide(&mut self, names: &HashSet<String>) {
        self.tensors.retain(|tensor| !names.contains(&tensor.info.name));
    }

    /// Returns the file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the tensors; biases and scales are part of what they belong to.
    pub fn tensors(&self) -> &[TensorView] {
        &self.tensors
    }

    /// Returns the tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorView> {
        self.by_name.find(&self.tensors, name, |tensor| &tensor.info.name)
    }

    /// Returns whether the file is a native container: its metadata, or else `config.json` beside
    /// it, has entries of its tensors.
    pub fn is_container(&self) -> bool {
        self.is_container
    }

    /// Returns whether the file is a native container or has scaled tensors in a layout of other
    /// programs.
    pub fn is_quantized(&self) -> bool {
        self.is_container || self.tensors.iter().any(|tensor| tensor.scaled().is_some())
    }

    /// Returns whether there is a digest of the whole file in its metadata.
    pub(crate) fn has_record(&self) -> bool {
        self.is_container && self.source.metadata().iter().any(|(key, _)| key == RECORD_KEY)
    }

    /// Fills `values` with the elements of a tensor from element `first` on, in row-major order: of
    /// codes the products with their scales, rounded once where `f64` can't hold one.
    ///
    /// # Errors
    /// A range that reaches beyond the tensor, a tensor that holds no numbers, and what reading
    /// meets.
    pub fn read(&self, tensor: &TensorView, first: u64, values: &mut [f64]) -> Result<()> {
        Reader::for_length(&self.source, tensor, values.len())?.read(first, values)
    }

    /// Returns the elements of the tensor of this name, in row-major order, as [`read`](Self::read)
    /// gives them; [`values_as`](Self::values_as) gives them in other types.
    ///
    /// ```no_run
    /// use smallfloat_tensor::View;
    /// let weight: Vec<f64> = View::open("model.safetensors")?.values("layer.weight")?;
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name that the file does not have, and as `read`.
    pub fn values(&self, name: &str) -> Result<Vec<f64>> {
        let (tensor, length) = self.named(name)?;
        let mut values = vec![0.0; length];
        self.read(tensor, 0, &mut values)?;
        Ok(values)
    }

    /// The tensor of a name that must be there, and how many elements it has.
    pub(crate) fn named(&self, name: &str) -> Result<(&TensorView, usize)> {
        let refused = |what| Error::refused(Some(self.source.path()), Some(name), what);
        let tensor = self.tensor(name).ok_or_else(|| refused("is not in the file"))?;
        let length = usize::try_from(tensor.info.elements())
            .map_err(|_| refused("has more elements than this machine can hold"))?;
        Ok((tensor, length))
    }

    /// A reader of a tensor's elements.
    pub(crate) fn reader<'a>(&'a self, tensor: &'a TensorView) -> Result<Reader<'a>> {
        Reader::new(&self.source, tensor)
    }
}

/// Why a file or folder is refused where something quantized is wanted.
pub(crate) fn nothing_quantized(path: &Path) -> Error {
    let what = if path.is_dir() {
        "no file of this folder has anything quantized in it: neither `smallfloat.version` in its metadata nor codes with scales"
    } else {
        "is no quantized file: it has no `smallfloat.version` in its metadata and no codes with scales"
    };
    Error::refused(Some(path), None, what)
}

/// About so many values as `f64`; the few formats beyond its range are rounded to it.
pub(crate) fn f64_decoder(format: &Format, length: usize) -> Result<Decoder<f64>> {
    let nearest = f64::FORMAT.default_projection();
    Decoder::for_length(format, None, length)
        .or_else(|_| Decoder::for_length(format, Some(&nearest), length))
        .map_err(|e| Error::refused(None, None, e.to_string()))
}

/// Codes may be called otherwise than the tensor that they stand for, which is in the file only
/// once.
fn check_names(source: &Source, tensors: &[TensorView]) -> Result<()> {
    let mut names = HashSet::new();
    match tensors.iter().find(|tensor| !names.insert(&*tensor.info.name)) {
        Some(tensor) => {
            let what = "is in the file twice: codes of two layouts, or codes and numbers, stand for it";
            Err(Error::refused(Some(source.path()), Some(&tensor.info.name), what))
        }
        None => Ok(()),
    }
}

fn plain(info: &TensorInfo) -> Stored {
    if info.dtype.is_wide_float() { Stored::Wide } else { Stored::Other }
}

/// The tensors that belong to an entry.
fn companions(name: &str, entry: &Entry) -> Vec<String> {
    if entry.encoding.scale.is_none() {
        return entry
            .encoding
            .spec()
            .is_ok_and(|spec| spec.has_free_bias())
            .then(|| bias_name(name))
            .into_iter()
            .collect();
    }
    let mut names = vec![NATIVE.scale.of(name)];
    names.extend(entry.encoding.global_scale.then(|| NATIVE.global.of(name)));
    names
}

/// How the tensor of an entry is stored.
fn codes(source: &Source, info: &TensorInfo, shape: &[u64], entry: Entry) -> Result<Stored> {
    let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
    let encoding = Arc::clone(&entry.encoding);
    let spec = encoding.spec().map_err(|e| refused(e.to_string()))?;
    let granularity: Granularity = encoding.granularity.parse().map_err(|e: Error| refused(e.to_string()))?;
    let codebook = encoding.codebook();
    if codebook.is_some() && encoding.scale.is_none() {
        return Err(refused(format!("its codes of {} have no scales", encoding.format)));
    }
    if encoding.scale.is_none() && granularity == Granularity::Tensor && encoding.packing.is_none() {
        let format = codes_format(source, info, &entry, &spec)?;
        return Ok(Stored::Codes(Box::new((format, entry))));
    }
    let packing = match encoding.packing.as_deref() {
        None => Packing::Bytes,
        Some(name) => name.parse().map_err(|_| refused(format!("its packing `{name}` is not known")))?,
    };
    let scale = match encoding.scale.as_deref() {
        None => None,
        Some(name) => {
            let format: Format = name.parse().map_err(|e: smallfloat::Error| refused(e.to_string()))?;
            let rule = encoding.scale_rule.as_deref().unwrap_or("amax");
            let rule: ScaleRule = rule.parse().map_err(|e: Error| refused(e.to_string()))?;
            let scale =
                ScaleSpec { format, rule, global: encoding.global_scale.then_some(GlobalScale::PowerOfTwo) };
            scale.check().map_err(|e| refused(e.to_string()))?;
            Some(scale)
        }
    };
    let element = spec.with_bias(spec.bias().unwrap_or(0)).map_err(|e| refused(e.to_string()))?;
    check_format(&element, &entry).map_err(refused)?;
    if scale.is_none() && !spec.has_free_bias() {
        return Err(refused(format!("{element} has no bias to share; the metadata names no scale either")));
    }
    if !packing.suits(&element) {
        return Err(refused(format!("codes of {element} can't be packed as {}", packing.name())));
    }
    let companion = |name: String| {
        source.tensor(&name).ok_or_else(|| refused(format!("its scales `{name}` are missing")))
    };
    let scales = match &scale {
        None => companion(bias_name(&info.name))?,
        Some(_) => companion(NATIVE.scale.of(&info.name))?,
    };
    let expected = scale.map_or(Dtype::U8, |scale| NATIVE.scale_dtype(&scale.format));
    if scales.dtype != expected || !holds_codes(info.dtype, NATIVE.code_dtype(&element, packing)) {
        return Err(refused(format!(
            "its codes and scales are {} and {}, expected are {} and {expected}",
            info.dtype,
            scales.dtype,
            NATIVE.code_dtype(&element, packing)
        )));
    }
    let global = if encoding.global_scale {
        let global = companion(NATIVE.global.of(&info.name))?;
        let value = if global.dtype == Dtype::F32 && global.elements() == 1 {
            f32_at(&source.read_all(global)?)
        } else {
            None
        };
        value
            .filter(|value| value.is_finite() && *value > 0.0)
            .ok_or_else(|| refused(format!("its `{}` is not one positive F32", global.name)))?
    } else {
        1.0
    };
    // A shape whose elements overflow 64 bits has no grid.
    if crate::file::dtype::elements(shape).is_none() {
        return Err(refused(format!("its shape {shape:?} has more elements than 64 bits can count")));
    }
    let grid = Grid::new(shape, granularity);
    let (codes, scales) = (info.clone(), scales.clone());
    let scaled = Scaled {
        element,
        scale,
        granularity,
        packing,
        entry: Some(entry),
        grid,
        codes,
        scales,
        global,
        factor: 1.0,
        place: Placement::Ordered(Order::Rows),
        elsewhere: None,
        codebook: codebook.map(ValueList::of),
        layout: None,
    };
    scaled.check(shape).map_err(refused)?;
    if scaled.scale.is_none() {
        let bytes = source.read_all(&scaled.scales)?;
        if let Some(bias) = bytes.iter().find(|&&bias| spec.with_bias(i32::from(bias)).is_err()) {
            return Err(refused(format!(
                "its biases `{}` have a {bias}, legal are 0 to 63",
                scaled.scales.name
            )));
        }
    }
    Ok(Stored::Scaled(Box::new(scaled)))
}

/// Returns whether codes may have this dtype. In models of PyTorch those of 16 bits are I16.
fn holds_codes(found: Dtype, expected: Dtype) -> bool {
    found == expected || (found, expected) == (Dtype::I16, Dtype::U16)
}

/// Holds the shape of codes in the file against that of the tensor that they stand for.
fn check_shape(codes: &[u64], stored: &Stored, tensor: &[u64], is_named: bool) -> Result<(), String> {
    let (element, packing, granularity) = match stored {
        Stored::Codes(codes) => (&codes.0, Packing::Bytes, Granularity::Tensor),
        Stored::Scaled(scaled) => (&scaled.element, scaled.packing, scaled.granularity),
        Stored::Wide | Stored::Other => return Ok(()),
    };
    StoredShape { element, packing, granularity, tensor }.check(codes, is_named)
}

fn check_format(format: &Format, entry: &Entry) -> Result<(), String> {
    if format.is_wide() {
        return Err(format!("{format} has {} bits, codes in tensors have at most 16", format.width()));
    }
    if format.subnormals().name() != entry.encoding.subnormals {
        return Err(format!(
            "the subnormals of {format} are `{}`, the metadata says `{}`",
            format.subnormals().name(),
            entry.encoding.subnormals
        ));
    }
    Ok(())
}

/// The format of a tensor's codes, with the bias that stands beside them.
fn codes_format(source: &Source, info: &TensorInfo, entry: &Entry, spec: &FormatSpec) -> Result<Format> {
    let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
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
        let value = *source.read_all(bias)?.first().expect("a U8 of shape [] is one byte");
        spec.with_bias(i32::from(value)).map_err(|e| refused(e.to_string()))?
    } else {
        spec.format().map_err(|e| refused(e.to_string()))?
    };
    check_format(&format, entry).map_err(refused)?;
    let expected = code_dtype(&format);
    if !holds_codes(info.dtype, expected) {
        return Err(refused(format!("codes of {format} are {expected}, the file has {}", info.dtype)));
    }
    Ok(format)
}
