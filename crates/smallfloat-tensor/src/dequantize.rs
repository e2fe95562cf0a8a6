//! [`dequantize`]: quantized tensors, native or in a layout of other programs → wide floats.

use std::cell::Cell;
use std::path::Path;

use smallfloat::formats::{BINARY32, BINARY64};
use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Datum, Flags, Format, Projection, Rounding, convert, project};
use smallfloat_kernels::{Decoder, Element};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::folder::OutputFolder;
use crate::file::formats::npy::NpyWriter;
use crate::file::input::chunk_buffer;
use crate::file::stream::{StoredCode, with_element};
use crate::file::write::gguf::Pairs;
use crate::file::write::sink::{Sealed, Sink, SinkOptions, TensorSpec};
use crate::layout::container::foreign_metadata;
use crate::layout::grid::PIECE_ELEMENTS;
use crate::progress::{Progress, share_of};
use crate::scale::rule::Scale;
use crate::stored::open::Opened;
use crate::stored::scaled::Scaled;
use crate::stored::view::{Stored, TensorView, View, f64_decoder, nothing_quantized};

/// How many elements [`View::read_as`] reads before it rounds them: what fits into a cache.
const READ_AT_ONCE: usize = 1 << 14;

impl View {
    /// Fills `values` with all elements of a tensor, in row-major order: floats, or codes times
    /// their scales, each rounded once to the nearest value of `T`, ties to even.
    ///
    /// # Errors
    /// A slice of another length than the tensor has elements, a tensor that holds no numbers, and
    /// what reading meets.
    pub fn read_as<T: Element>(&self, tensor: &TensorView, values: &mut [T]) -> Result<()> {
        let elements = tensor.info.elements();
        if values.len() as u64 != elements {
            let what = format!("has {elements} elements, and there is room for {}", values.len());
            return Err(Error::refused(Some(self.source().path()), Some(&tensor.info.name), what));
        }
        let mut reader = self.reader(tensor)?;
        if T::FORMAT != BINARY64 {
            // What f64 does not hold is rounded to odd, so that rounding again is rounding once.
            reader = reader.rounding_to_odd();
        }
        let projection = T::FORMAT.default_projection();
        let mut wide = vec![0.0; values.len().min(READ_AT_ONCE)];
        let mut first = 0;
        for piece in values.chunks_mut(wide.len().max(1)) {
            let wide = &mut wide[..piece.len()];
            reader.read(first, wide)?;
            for (to, &value) in piece.iter_mut().zip(&*wide) {
                *to = narrow::<T>(value, &projection).0;
            }
            first += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns the elements of the tensor of this name as [`read_as`](Self::read_as) gives them.
    ///
    /// ```no_run
    /// use smallfloat_tensor::View;
    /// let weight = View::open("model.safetensors")?.values_as::<f32>("layer.weight")?;
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name that the file does not have, and as `read_as`.
    pub fn values_as<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let (tensor, length) = self.named(name)?;
        let mut values = vec![T::default(); length];
        self.read_as(tensor, &mut values)?;
        Ok(values)
    }
}

/// The counts of what [`dequantize`] wrote.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Dequantized {
    /// The bytes of the files with tensors.
    pub bytes: u64,
    /// How many values the dtype does not hold, so that they were rounded, each once.
    pub rounded: u64,
    /// What the input folder has and the output folder does not, as [`Report::not_copied`] says it.
    ///
    /// [`Report::not_copied`]: crate::Report::not_copied
    pub not_copied: Vec<String>,
}

/// Writes a quantized file's tensors as `dtype` (F64, F32, F16 or BF16) into a safetensors file, or
/// into an `.npy` file if the output's name ends so and there is one tensor. Tensors that were not
/// quantized are copied. A checkpoint folder becomes a new folder with the same files; its index is
/// written anew, and its `config.json` without what it says of the quantization.
///
/// Values must be exact in `dtype` unless a rounding is given. Where scales are no powers of two,
/// products have more bits than any dtype below F64, and where such scales are divided by a number
/// that is none (NVFP4 of NVIDIA's recipe) quotients have more bits than F64 too: they are rounded
/// to nearest even, once. [`Dequantized`] says how many were.
///
/// # Errors
/// A file or folder with nothing quantized, a dtype that can't hold the values, and what reading
/// and writing can meet.
pub fn dequantize(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Dequantized> {
    dequantize_path(input.as_ref(), output.as_ref(), dtype, rounding, overwrite, progress)
}

fn dequantize_path(
    input: &Path,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Dequantized> {
    if !dtype.is_wide_float() {
        let what = format!("can't dequantize to {dtype}: choose F64, F32, F16 or BF16");
        return Err(Error::option(what));
    }
    if !input.is_dir() {
        let view = View::open(input)?;
        // A file of another kind is worth writing even where nothing is quantized.
        if !is_named(output, "gguf") {
            check_quantized(std::slice::from_ref(&view), input)?;
        }
        start(std::slice::from_ref(&view), progress);
        if is_named(output, "npy") {
            return to_npy(&view, output, dtype, rounding, overwrite, progress);
        }
        let (dequantized, sealed) = sealed_file(&view, output, dtype, rounding, overwrite, progress)?;
        sealed.commit()?;
        return Ok(dequantized);
    }
    let opened = Opened::new(input)?;
    check_quantized(&opened.views, input)?;
    start(&opened.views, progress);
    opened.check_output(output)?;
    let folder = OutputFolder::create(output, &opened.files, overwrite)?;
    let (mut all, mut finished) = (Dequantized::default(), Vec::new());
    for (name, view) in opened.files.iter().zip(&opened.views) {
        let path = output.join(name);
        let (of_file, sealed) = sealed_file(view, &path, dtype, rounding, overwrite, progress)?;
        finished.push(sealed.into_file());
        all.bytes += of_file.bytes;
        all.rounded += of_file.rounded;
    }
    opened.ending(output, None, overwrite).publish(folder, finished)?;
    all.not_copied = opened.not_copied().to_vec();
    Ok(all)
}

/// Returns whether the name of a file ends in this extension.
fn is_named(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|given| given.eq_ignore_ascii_case(extension))
}

/// Refuses what has nothing quantized in it.
fn check_quantized(views: &[View], input: &Path) -> Result<()> {
    if views.iter().any(View::is_quantized) { Ok(()) } else { Err(nothing_quantized(input)) }
}

/// Tells how much is to be read.
fn start(views: &[View], progress: &mut dyn FnMut(Progress<'_>)) {
    let tensors = views.iter().flat_map(View::tensors);
    progress(Progress::Start(tensors.map(|tensor| tensor.info.len).sum()));
}

/// The file of a view, whole and not yet in place.
fn sealed_file(
    view: &View,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Dequantized, Sealed)> {
    let specs = view.tensors().iter().map(|tensor| {
        TensorSpec::new(&tensor.info.name, out_dtype(tensor, dtype), tensor.info.shape.clone())
    });
    let metadata = foreign_metadata(view.source());
    let sink_options = SinkOptions { overwrite, ..SinkOptions::default() };
    let sink = if is_named(output, "gguf") {
        let file_type = match dtype {
            Dtype::F16 => 1,
            Dtype::BF16 => 32,
            _ => 0,
        };
        let pairs = Pairs::for_output(&[view.source()], &metadata)?.with_file_type(file_type, false);
        Sink::gguf(output, specs.map(|spec| (spec, None)).collect(), &pairs, sink_options)?
    } else {
        Sink::create(output, specs.collect(), metadata, sink_options)?
    };
    let mut rounded = 0;
    for (slot, tensor) in view.tensors().iter().enumerate() {
        progress(Progress::Tensor(&tensor.info.name));
        rounded += write(view, tensor, dtype, rounding, progress, &mut |bytes| sink.append(slot, bytes))?;
    }
    let bytes = sink.file_len();
    Ok((Dequantized { bytes, rounded, ..Dequantized::default() }, sink.seal(None)?))
}

/// The dtype of a tensor's output: only codes change theirs.
fn out_dtype(tensor: &TensorView, dtype: Dtype) -> Dtype {
    match tensor.stored {
        Stored::Codes(_) | Stored::Scaled(_) => dtype,
        Stored::Wide | Stored::Other => tensor.info.dtype,
    }
}

fn to_npy(
    view: &View,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Dequantized> {
    let [tensor] = view.tensors() else {
        let what = format!("an .npy file holds one array, this container has {}", view.tensors().len());
        return Err(Error::refused(Some(output), None, what));
    };
    let mut writer = NpyWriter::create(output, out_dtype(tensor, dtype), &tensor.info.shape, overwrite)?;
    let mut bytes = 0;
    let rounded = write(view, tensor, dtype, rounding, progress, &mut |piece| {
        bytes += piece.len() as u64;
        writer.append(piece)
    })?;
    writer.finish()?;
    Ok(Dequantized { bytes, rounded, ..Dequantized::default() })
}

/// Streams one tensor's bytes in the output's dtype, and tells how many values were rounded.
fn write(
    view: &View,
    tensor: &TensorView,
    dtype: Dtype,
    rounding: Option<Rounding>,
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    if let Some(scaled) = tensor.scaled() {
        return with_element!(dtype, T => {
            products::<T>(view, tensor, scaled, rounding, progress, append)
        }, else Ok(0));
    }
    let Some(format) = tensor.format() else {
        let mut buffer = chunk_buffer(tensor.info.len);
        view.source().read_chunks(&tensor.info, &mut buffer, |_, bytes| {
            progress(Progress::Bytes(bytes.len() as u64));
            append(bytes)
        })?;
        return Ok(0);
    };
    with_element!(dtype, T => {
        let refused = |e: smallfloat_kernels::Error| {
            Error::refused(Some(view.source().path()), Some(&tensor.info.name), e.to_string())
        };
        let length = usize::try_from(tensor.info.elements()).unwrap_or(usize::MAX);
        let decoder = |projection| Decoder::<T>::for_length(format, projection, length);
        let (decoder, rounds) = match (decoder(None), rounding) {
            (Err(_), Some(rounding)) => {
                let projection = T::FORMAT.default_projection().with_rounding(rounding);
                let decoder = decoder(Some(&projection)).map_err(refused)?;
                let rounds = rounded_codes(format, &decoder)?;
                (decoder, rounds)
            }
            (decoder, _) => (decoder.map_err(refused)?, Vec::new()),
        };
        if format.width() <= 8 {
            decode::<T, u8>(view, tensor, (&decoder, &rounds), progress, append)
        } else {
            decode::<T, u16>(view, tensor, (&decoder, &rounds), progress, append)
        }
    }, else Ok(0))
}

/// Which codes have values that a decoder rounds.
fn rounded_codes<T: Element>(format: &Format, decoder: &Decoder<T>) -> Result<Vec<bool>> {
    let exact = f64_decoder(format, usize::MAX)?;
    let is_rounded = |code: usize| {
        let (exact, value) = (exact.value(code), decoder.value(code).to_f64());
        !exact.is_nan() && exact.to_bits() != value.to_bits()
    };
    Ok((0..1 << format.width()).map(is_rounded).collect())
}

/// Streams the values of codes; `rounds` says which of them are rounded, and is empty if none is.
fn decode<T: Element, C: StoredCode>(
    view: &View,
    tensor: &TensorView,
    (decoder, rounds): (&Decoder<T>, &[bool]),
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let (mut buffer, mut codes) = (chunk_buffer(tensor.info.len), Vec::new());
    let (mut values, mut bytes_out) = (Vec::new(), Vec::new());
    let mut rounded = 0;
    view.source().read_chunks(&tensor.info, &mut buffer, |_, bytes| {
        C::from_bytes(bytes, &mut codes);
        values.resize(codes.len(), T::default());
        decoder.decode(&codes, &mut values);
        let is_rounded = |code: &&C| rounds.get(code.code()).is_some_and(|rounds| *rounds);
        if !rounds.is_empty() {
            rounded += codes.iter().filter(is_rounded).count() as u64;
        }
        bytes_out.clear();
        for value in &values {
            value.push_le(&mut bytes_out);
        }
        progress(Progress::Bytes(bytes.len() as u64));
        append(&bytes_out)
    })?;
    Ok(rounded)
}

/// Streams the products of elements and scales.
fn products<T: Element>(
    view: &View,
    tensor: &TensorView,
    scaled: &Scaled,
    rounding: Option<Rounding>,
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let customary = (!scaled.has_power_of_two_scales()).then_some(Rounding::NearestEven);
    let rounding = rounding.or(customary);
    let projection = T::FORMAT.default_projection().with_rounding(rounding.unwrap_or(Rounding::NearestEven));
    // What f64 does not hold and is rounded once more is rounded to odd first.
    let reader = view.reader(tensor)?.rounding_to_odd();
    let to_f64 = T::FORMAT == BINARY64;
    let (mut values, mut bytes) = (Vec::new(), Vec::new());
    let rounded = Cell::new(0);
    let (mut first, elements) = (0, tensor.info.elements());
    while first < elements {
        let count = PIECE_ELEMENTS.min(elements - first);
        values.resize(usize::try_from(count).expect("a piece is held in memory"), 0.0);
        if to_f64 {
            reader.read_products(scaled, first, &mut values, &|scale, element| {
                let (value, inexact) = quotient(scale, element, &projection);
                rounded.set(rounded.get() + u64::from(inexact));
                value
            })?;
        } else {
            reader.read(first, &mut values)?;
        }
        bytes.clear();
        for (i, &value) in values.iter().enumerate() {
            let (value, inexact) = narrow::<T>(value, &projection);
            if inexact && rounding.is_none() {
                let what = format!(
                    "element {} is {:e}, which is not exact in {}: give a rounding or another type",
                    first + i as u64,
                    values[i],
                    T::FORMAT
                );
                return Err(Error::refused(Some(view.source().path()), Some(&tensor.info.name), what));
            }
            rounded.set(rounded.get() + u64::from(inexact));
            value.push_le(&mut bytes);
        }
        progress(Progress::Bytes(share_of(&tensor.info, count)));
        append(&bytes)?;
        first += count;
    }
    Ok(rounded.get())
}

/// The value of an element as F64, rounded once from the exact quotient, and whether it had to be.
fn quotient(scale: &Scale, element: f64, projection: &Projection) -> (f64, bool) {
    let nearest = scale.times(element, false);
    if scale.is_exact() || !nearest.is_finite() || nearest == 0.0 {
        return (nearest, false);
    }
    let product = element * scale.unit;
    let inexact = nearest.mul_add(scale.over, -product) != 0.0;
    if !inexact || projection.rounding == Rounding::NearestEven {
        return (nearest, inexact);
    }
    let datum = |x: f64| BINARY64.decode(x.to_bits());
    let exact =
        Operation::Divide.exact([datum(product), datum(scale.over), Datum::ZERO], Semantics::Ieee).exact;
    (f64::from_bits(project(exact, &BINARY64, projection).value), true)
}

/// A number in another type, and whether it had to be rounded.
fn narrow<T: Element>(value: f64, projection: &Projection) -> (T, bool) {
    // The hardware's conversion is the same for what is exact, and for everything to nearest.
    if T::FORMAT == BINARY32 && !value.is_nan() {
        #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest even, or exact")]
        let narrow = value as f32;
        let inexact = f64::from(narrow).to_bits() != value.to_bits();
        if !inexact || projection.rounding == Rounding::NearestEven {
            return (T::from_bits(u64::from(narrow.to_bits())), inexact);
        }
    }
    if T::FORMAT == BINARY64 && !value.is_nan() {
        return (T::from_bits(value.to_bits()), false);
    }
    let rounded = convert(value.to_bits(), &BINARY64, &T::FORMAT, projection);
    (T::from_bits(rounded.value), rounded.flags.contains(Flags::INEXACT))
}
