//! [`dequantize`]: quantized tensors, native or in a layout of other programs → wide floats.

use std::path::Path;

use smallfloat::formats::{BINARY32, BINARY64};
use smallfloat::{Flags, Projection, Rounding, convert};
use smallfloat_kernels::{Decoder, Element};

use crate::container::foreign_metadata;
use crate::folder::{Ending, Opened, check_empty, make_folder};
use crate::granularity::PIECE_ELEMENTS;
use crate::loader::share_of;
use crate::scaled::Scaled;
use crate::stream::{StoredCode, with_element};
use crate::view::{Stored, TensorView, nothing_quantized};
use crate::{CHUNK_BYTES, Dtype, Error, NpyWriter, Progress, Result, Sink, SinkOptions, TensorSpec, View};

/// Writes a quantized file's tensors as `dtype` (F64, F32, F16 or BF16) into a safetensors file, or into an `.npy` file if the
/// output's name ends so and there is one tensor. Tensors that were not quantized are copied. A checkpoint folder
/// becomes a new folder with the same files; its index is written anew, and its `config.json` without what it says of
/// the quantization. Gives the bytes of the tensors' files.
///
/// Values must be exact in `dtype` unless a rounding is given. Where scales are no powers of two, products have more
/// bits than any dtype below F64, and are rounded to nearest even, once, as the readers of such files do.
///
/// # Errors
/// A file or folder with nothing quantized, a dtype that can't hold the values, and what reading and writing can meet.
pub fn dequantize(
    input: &Path,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<u64> {
    if !dtype.is_wide_float() {
        let what = format!("can't dequantize to {dtype}: choose F64, F32, F16 or BF16");
        return Err(Error::refused(None, None, what));
    }
    if !input.is_dir() {
        let view = View::open(input)?;
        start(std::slice::from_ref(&view), input, progress)?;
        if output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
            return to_npy(&view, output, dtype, rounding, overwrite, progress);
        }
        return to_file(&view, output, dtype, rounding, overwrite, progress);
    }
    let opened = Opened::new(input)?;
    start(&opened.views, input, progress)?;
    let beside = opened.beside.as_ref();
    opened.check_output(output)?;
    check_empty(output, overwrite)?;
    make_folder(output)?;
    let mut bytes = 0;
    for (name, view) in opened.files.iter().zip(&opened.views) {
        bytes += to_file(view, &output.join(name), dtype, rounding, overwrite, progress)?;
    }
    let ending = Ending {
        input,
        output,
        files: &opened.files,
        others: beside.map_or(&[], |beside| &beside.others),
        index: beside.is_some_and(|beside| beside.has_index),
        config: true,
        quantization_config: None,
        overwrite,
    };
    ending.write()?;
    Ok(bytes)
}

/// Refuses what has nothing quantized in it, and tells how much is to be read.
fn start(views: &[View], input: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<()> {
    if !views.iter().any(View::is_quantized) {
        return Err(nothing_quantized(input));
    }
    let tensors = views.iter().flat_map(View::tensors);
    progress(Progress::Start(tensors.map(|tensor| tensor.info.len).sum()));
    Ok(())
}

fn to_file(
    view: &View,
    output: &Path,
    dtype: Dtype,
    rounding: Option<Rounding>,
    overwrite: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<u64> {
    let specs = view.tensors().iter().map(|tensor| {
        TensorSpec::new(&tensor.info.name, out_dtype(tensor, dtype), tensor.info.shape.clone())
    });
    let metadata = foreign_metadata(view.source());
    let sink_options = SinkOptions { overwrite, ..SinkOptions::default() };
    let sink = Sink::create(output, specs.collect(), metadata, sink_options)?;
    for (slot, tensor) in view.tensors().iter().enumerate() {
        progress(Progress::Tensor(&tensor.info.name));
        write(view, tensor, dtype, rounding, progress, &mut |bytes| sink.append(slot, bytes))?;
    }
    let bytes = sink.file_len();
    sink.finish()?;
    Ok(bytes)
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
) -> Result<u64> {
    let [tensor] = view.tensors() else {
        let what = format!("an .npy file holds one array, this container has {}", view.tensors().len());
        return Err(Error::refused(Some(output), None, what));
    };
    let mut writer = NpyWriter::create(output, out_dtype(tensor, dtype), &tensor.info.shape, overwrite)?;
    let mut bytes_out = 0;
    write(view, tensor, dtype, rounding, progress, &mut |bytes| {
        bytes_out += bytes.len() as u64;
        writer.append(bytes)
    })?;
    writer.finish()?;
    Ok(bytes_out)
}

/// Streams one tensor's bytes in the output's dtype.
fn write(
    view: &View,
    tensor: &TensorView,
    dtype: Dtype,
    rounding: Option<Rounding>,
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if let Some(scaled) = tensor.scaled() {
        return with_element!(dtype, T => {
            products::<T>(view, tensor, scaled, rounding, progress, append)
        }, else Ok(()));
    }
    let Some(format) = tensor.format() else {
        let mut buffer = vec![0; CHUNK_BYTES];
        return view.source().read_chunks(&tensor.info, &mut buffer, |_, bytes| {
            progress(Progress::Bytes(bytes.len() as u64));
            append(bytes)
        });
    };
    with_element!(dtype, T => {
        let how: Option<Projection> = rounding.map(|rounding| T::FORMAT.default_projection().with_rounding(rounding));
        let decoder = Decoder::<T>::new(format, how.as_ref())
            .map_err(|e| Error::refused(Some(view.source().path()), Some(&tensor.info.name), e.to_string()))?;
        if format.width() <= 8 {
            decode::<T, u8>(view, tensor, &decoder, progress, append)
        } else {
            decode::<T, u16>(view, tensor, &decoder, progress, append)
        }
    }, else Ok(()))
}

fn decode<T: Element, C: StoredCode>(
    view: &View,
    tensor: &TensorView,
    decoder: &Decoder<T>,
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut buffer, mut codes) = (vec![0; CHUNK_BYTES], Vec::new());
    let (mut values, mut bytes_out) = (Vec::new(), Vec::new());
    view.source().read_chunks(&tensor.info, &mut buffer, |_, bytes| {
        C::from_bytes(bytes, &mut codes);
        values.resize(codes.len(), T::default());
        decoder.decode(&codes, &mut values);
        bytes_out.clear();
        for value in &values {
            value.push_le(&mut bytes_out);
        }
        progress(Progress::Bytes(bytes.len() as u64));
        append(&bytes_out)
    })
}

/// Streams the products of elements and scales.
fn products<T: Element>(
    view: &View,
    tensor: &TensorView,
    scaled: &Scaled,
    rounding: Option<Rounding>,
    progress: &mut dyn FnMut(Progress<'_>),
    append: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let customary = (!scaled.has_power_of_two_scales()).then_some(Rounding::NearestEven);
    let rounding = rounding.or(customary);
    let how = T::FORMAT.default_projection().with_rounding(rounding.unwrap_or(Rounding::NearestEven));
    let reader = view.reader(tensor)?;
    let (mut values, mut bytes) = (Vec::new(), Vec::new());
    let (mut first, elements) = (0, tensor.info.elements());
    while first < elements {
        let count = PIECE_ELEMENTS.min(elements - first);
        values.resize(usize::try_from(count).unwrap_or(usize::MAX), 0.0);
        reader.read(first, &mut values)?;
        bytes.clear();
        for (i, &value) in values.iter().enumerate() {
            let Some(value) = narrow::<T>(value, &how, rounding.is_some()) else {
                let what = format!(
                    "element {} is {value:e}, which is not exact in {}: give a rounding (--rounding) or another dtype",
                    first + i as u64,
                    T::FORMAT
                );
                return Err(Error::refused(Some(view.source().path()), Some(&tensor.info.name), what));
            };
            value.push_le(&mut bytes);
        }
        progress(Progress::Bytes(share_of(&tensor.info, count)));
        append(&bytes)?;
        first += count;
    }
    Ok(())
}

/// A number in another type; `None` if it would have to be rounded and must not.
fn narrow<T: Element>(value: f64, how: &Projection, may_round: bool) -> Option<T> {
    // The hardware's conversion is the same for what is exact, and for everything to nearest.
    if T::FORMAT == BINARY32 && !value.is_nan() {
        #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest even, or exact")]
        let narrow = value as f32;
        if f64::from(narrow).to_bits() == value.to_bits()
            || (may_round && how.rounding == Rounding::NearestEven)
        {
            return Some(T::from_bits(u64::from(narrow.to_bits())));
        }
    }
    let rounded = convert(value.to_bits(), &BINARY64, &T::FORMAT, how);
    (may_round || !rounded.flags.contains(Flags::INEXACT)).then(|| T::from_bits(rounded.value))
}
