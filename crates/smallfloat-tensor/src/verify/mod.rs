//! [`verify`]: is a quantized file what it says?

pub(crate) mod certificate;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod expected;
pub(crate) mod folder;
pub(crate) mod intervals;
pub(crate) mod parts;
pub(crate) mod source;
pub(crate) mod split;

use std::path::Path;

use sha2::{Digest, Sha256};
use smallfloat::{Class, Datum, Format, Specials, Subnormals};

use crate::error::{Error, Result, quoted};
use crate::file::input::{CHUNK_BYTES, chunk_buffer};
use crate::file::stream::{TensorDigest, code_at};
use crate::layout::container::{Entry, check_record};
use crate::layout::grid::{Granularity, Tile, index};
use crate::progress::Progress;
use crate::scale::rule::{Scale, ScaleSpec};
use crate::stored::open::open_checkpoint;
use crate::stored::scaled::{Scaled, is_odd_scale};
use crate::stored::view::{Stored, TensorView, View, nothing_quantized};

/// The counts of what [`verify`] found to be right, and of what is legal but odd.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// Tensors of codes that were checked.
    pub tensors: u64,
    /// Codes that were checked.
    pub codes: u64,
    /// Tensors whose digest was checked.
    pub digests: u64,
    /// Scales that were checked, biases of whole tensors not counted.
    pub scales: u64,
    /// Tensors that are stored as they were.
    pub copied: u64,
    /// Files that were checked.
    pub files: u64,
    /// Files whose record was checked: names, dtypes, shapes and data of all tensors, biases,
    /// scales and copies included.
    pub records: u64,
    /// Native files without a record, so that of copies, biases and names only the structure was
    /// checked.
    pub without_record: u64,
    /// Legal codes that no encoder writes: flushed subnormals and NaNs that are not canonical.
    pub warnings: Vec<String>,
}

/// Checks a quantized file, or all files of a checkpoint folder: structure, biases and scales, the
/// digest of every tensor that has one, that every code is one of its format, and the record of the
/// whole file. Files of other programs have no digests, and files from before there were records
/// have none. In a folder, names are unique and where the index says, no shard is missing or left
/// over, `config.json` says of the quantization what the files say, and some files may have nothing
/// quantized in them. A folder of GGUF files has all parts of one.
///
/// # Errors
/// A file or folder with nothing quantized, one part of a GGUF file that was split, or the first
/// fault with tensor and element.
pub fn verify(path: impl AsRef<Path>) -> Result<Verified> {
    verify_with(path, &mut |_| ())
}

/// Like [`verify`], and tells how far it is: the bytes of codes, and where there is a
/// record those of all other tensors.
///
/// # Errors
/// As for [`verify`].
pub fn verify_with(path: impl AsRef<Path>, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Verified> {
    let path = path.as_ref();
    let views = open_checkpoint(path)?;
    if !views.iter().any(View::is_quantized) {
        return Err(nothing_quantized(path));
    }
    match &views[..] {
        [view] if !path.is_dir() => split::check_alone(view)?,
        views => folder::check(path, views)?,
    }
    check_all(&views, progress)
}

/// Verifies the file at `path`, perhaps of a known granularity, and calls it `name` in errors.
pub(crate) fn verify_at(path: &Path, name: &Path, known: Option<Granularity>) -> Result<Verified> {
    let view = View::open_as(path, known)?;
    if !view.is_quantized() {
        return Err(nothing_quantized(name));
    }
    let mut verified = Verified::default();
    check(&view, name, &mut verified, &mut |_| ())?;
    Ok(verified)
}

fn check_all(views: &[View], progress: &mut dyn FnMut(Progress<'_>)) -> Result<Verified> {
    progress(Progress::Start(views.iter().map(bytes_of).fold(0, u64::saturating_add)));
    let mut verified = Verified::default();
    for view in views {
        check(view, view.source().path(), &mut verified, progress)?;
    }
    Ok(verified)
}

/// How many bytes of a file are told of while it is checked.
fn bytes_of(view: &View) -> u64 {
    if view.has_record() {
        return view.source().tensors().iter().map(|info| info.len).fold(0, u64::saturating_add);
    }
    let codes = view.tensors().iter().map(|tensor| match &tensor.stored {
        Stored::Codes(_) => tensor.info.len,
        Stored::Scaled(scaled) => scaled.codes.len,
        Stored::Wide | Stored::Other => 0,
    });
    codes.fold(0, u64::saturating_add)
}

/// The digests of tensors by their places in the file.
type Digests = Vec<Option<TensorDigest>>;

fn check(
    view: &View,
    name: &Path,
    verified: &mut Verified,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    let source = view.source();
    parts::check(view, name)?;
    let mut digests: Digests = vec![None; if view.has_record() { source.tensors().len() } else { 0 }];
    let mut keep = |name: &str, digest| {
        if let Some(place) = source.position(name).and_then(|place| digests.get_mut(place)) {
            *place = Some(digest);
        }
    };
    for tensor in view.tensors() {
        progress(Progress::Tensor(&tensor.info.name));
        match &tensor.stored {
            Stored::Codes(codes) => {
                let digest = check_codes(view, tensor, codes, name, verified, progress)?;
                keep(&tensor.info.name, digest);
                verified.tensors += 1;
                verified.codes += tensor.info.elements();
            }
            Stored::Scaled(scaled) => {
                let digest = check_scaled(view, tensor, scaled, name, verified, progress)?;
                keep(&scaled.codes.name, digest);
                verified.tensors += 1;
                verified.codes += tensor.info.elements();
            }
            Stored::Wide | Stored::Other => verified.copied += 1,
        }
    }
    verified.files += 1;
    if view.has_record() {
        verified.records += u64::from(check_tensors(view, digests, name, progress)?);
    } else if view.is_container() {
        verified.without_record += 1;
    }
    Ok(())
}

/// Holds all tensors against the record.
fn check_tensors(
    view: &View,
    mut digests: Digests,
    path: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<bool> {
    let source = view.source();
    let longest = source.tensors().iter().map(|info| info.len).max().unwrap_or(0);
    let mut buffer = chunk_buffer(longest);
    for (info, place) in source.tensors().iter().zip(&mut digests) {
        if place.is_none() {
            let mut digest = Sha256::new();
            source.read_chunks(info, &mut buffer, |_, bytes| {
                digest.update(bytes);
                progress(Progress::Bytes(bytes.len() as u64));
                Ok(())
            })?;
            *place = Some(TensorDigest(digest.finalize().into()));
        }
    }
    let tensors = source.sorted().map(|(place, info)| {
        let digest = digests[place].expect("each tensor was digested");
        (&*info.name, info.dtype, &*info.shape, digest)
    });
    check_record(source, tensors).map_err(|what| Error::refused(Some(path), None, what))
}

fn check_codes(
    view: &View,
    tensor: &TensorView,
    (format, entry): &(Format, Entry),
    path: &Path,
    verified: &mut Verified,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<TensorDigest> {
    let refused = |what: String| Error::refused(Some(path), Some(&tensor.info.name), what);
    let odd = OddCodes::new(format, tensor.info.elements());
    let size = usize::from(format.width() > 8) + 1;
    let mut digest = Sha256::new();
    let (mut odd_count, mut first_odd) = (0_u64, 0);
    let mut buffer = chunk_buffer(tensor.info.len);
    view.source().read_chunks(&tensor.info, &mut buffer, |first, bytes| {
        digest.update(bytes);
        progress(Progress::Bytes(bytes.len() as u64));
        if size == 1 && odd.are_usual(bytes.iter().map(|&byte| byte.into())) {
            return Ok(());
        }
        for (i, bytes) in bytes.chunks_exact(size).enumerate() {
            let code = code_at(bytes);
            let Some(is_odd) = odd.get(code) else {
                let element = first + i as u64;
                let largest = format.max_code();
                return Err(refused(format!(
                    "element {element} has the code {code:#x}, the largest of {format} is {largest:#x}"
                )));
            };
            if is_odd {
                if odd_count == 0 {
                    first_odd = first + i as u64;
                }
                odd_count += 1;
            }
        }
        Ok(())
    })?;
    let found = TensorDigest(digest.finalize().into());
    check_digest(Some(entry), found, verified).map_err(refused)?;
    if odd_count > 0 {
        verified.warnings.push(format!(
            "tensor {}: {odd_count} codes that no encoder writes (flushed subnormals or other NaNs), the first at \
             element {first_odd}",
            quoted(&tensor.info.name)
        ));
    }
    Ok(found)
}

/// Bytes that are whole units of every packing.
const WHOLE_UNITS: u64 = CHUNK_BYTES as u64 / 12 * 12;

const SCALES_AT_ONCE: usize = 1 << 16;

fn check_scaled(
    view: &View,
    tensor: &TensorView,
    scaled: &Scaled,
    path: &Path,
    verified: &mut Verified,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<TensorDigest> {
    let refused = |what: String| Error::refused(Some(path), Some(&tensor.info.name), what);
    let (element, grid) = (&scaled.element, &scaled.grid);
    // Lists of other programs have a value for every code that their packing can hold, and their
    // filling is anything.
    if !scaled.is_in_rows() || scaled.codebook.is_some() && scaled.entry.is_none() {
        return check_unordered(view, tensor, scaled, path, verified, progress);
    }
    let (unit, unit_bytes) = scaled.packing.unit(element);
    let row_bytes = scaled.packing.row_bytes(element, grid.columns).max(1);
    // Codes of a row, those that fill it up included. Where there are no rows, this may be more
    // than can be counted, and is not used.
    let width = (row_bytes / unit_bytes).saturating_mul(unit);
    // A list has as many values as its carrier has codes, all of which are written.
    let odd = match &scaled.codebook {
        Some(list) => OddCodes::Known(vec![false; list.values.len()]),
        None => OddCodes::new(element, tensor.info.elements()),
    };
    let (mut digest, mut odd_count, mut first_odd) = (Sha256::new(), 0_u64, 0);
    let (mut buffer, mut codes) = (chunk_buffer(scaled.codes.len.min(WHOLE_UNITS)), Vec::new());
    // Codes are bytes to the file, so that any chunk of whole units will do; rows are made of whole
    // units.
    let mut at = 0;
    while at < scaled.codes.len {
        let count =
            usize::try_from(scaled.codes.len - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let bytes = &mut buffer[..count];
        view.source().read_bytes(&scaled.codes, at, bytes)?;
        digest.update(&*bytes);
        progress(Progress::Bytes(count as u64));
        codes.clear();
        scaled.packing.unpack(element, bytes, &mut codes);
        let first = at / unit_bytes * unit;
        at += count as u64;
        if width == grid.columns && odd.are_usual(codes.iter().copied()) {
            continue;
        }
        for (i, &code) in codes.iter().enumerate() {
            let position = first + i as u64;
            let (row, column) = (position / width, position % width);
            if column >= grid.columns {
                if code != 0 {
                    return Err(refused(format!(
                        "row {row} is filled up with the code {code:#x}, not with zeros"
                    )));
                }
                continue;
            }
            let place = row * grid.columns + column;
            match odd.get(code) {
                None => {
                    let largest = element.max_code();
                    return Err(refused(format!(
                        "element {place} has the code {code:#x}, the largest of {} is {largest:#x}",
                        scaled.element_name()
                    )));
                }
                Some(true) => {
                    first_odd = if odd_count == 0 { place } else { first_odd };
                    odd_count += 1;
                }
                Some(false) => {}
            }
        }
    }
    let found = TensorDigest(digest.finalize().into());
    check_digest(scaled.entry.as_ref(), found, verified).map_err(refused)?;
    let odd_scales = check_scales(view, scaled, verified)?;
    let mut warn = |count: u64, what: String| {
        if count > 0 {
            verified.warnings.push(format!("tensor {}: {count} {what}", quoted(&tensor.info.name)));
        }
    };
    warn(
        odd_count,
        format!(
            "codes that no encoder writes (flushed subnormals or other NaNs), the first at element {first_odd}"
        ),
    );
    warn(odd_scales, "scales that are NaN, infinite, zero or negative".to_owned());
    Ok(found)
}

/// Holds the digest of codes against that of the metadata, if there is one, and counts it.
fn check_digest(entry: Option<&Entry>, found: TensorDigest, verified: &mut Verified) -> Result<(), String> {
    match entry.and_then(|entry| entry.sha256) {
        Some(said) if said != found => {
            Err(format!("its codes have the SHA-256 {found}, the metadata says {said}"))
        }
        Some(_) => {
            verified.digests += 1;
            Ok(())
        }
        None => Ok(()),
    }
}

/// Reads all scales of a tensor, and counts those that are no positive numbers.
fn check_scales(view: &View, scaled: &Scaled, verified: &mut Verified) -> Result<u64> {
    let grid = &scaled.grid;
    let mut odd_scales = 0_u64;
    // Very many rows may have no scale at all.
    if !scaled.has_scales() || grid.group_columns == 0 {
        return Ok(0);
    }
    // Blocks of zeros have a scale of 0 in some layouts.
    let is_odd = |spec: &ScaleSpec, code: u64| {
        is_odd_scale(spec, code) && !(scaled.has_zero_scales() && spec.format.classify(code) == Class::Zero)
    };
    // What bytes stand for is found out once.
    let known = scaled.scales_of_bytes();
    let odd_codes: Vec<bool> = match &scaled.scale {
        Some(spec) if spec.format.width() <= 8 => {
            spec.format.codes().map(|code| is_odd(spec, code)).collect()
        }
        _ => Vec::new(),
    };
    let rows_at_once = (SCALES_AT_ONCE as u64 / grid.group_columns).max(1);
    let mut row = 0;
    while row < grid.group_rows {
        let rows = rows_at_once.min(grid.group_rows - row);
        for column in (0..grid.group_columns).step_by(SCALES_AT_ONCE) {
            let columns = (SCALES_AT_ONCE as u64).min(grid.group_columns - column);
            let scales = scaled.read_scales_by(
                &known,
                |scale| scale,
                view.source(),
                Tile { row, rows, column, columns },
            )?;
            verified.scales += scales.len() as u64;
            if let Some(spec) = &scaled.scale {
                let is_odd = |scale: &&Scale| match odd_codes.get(index(scale.code)) {
                    Some(&is_odd) => is_odd,
                    None => is_odd(spec, scale.code),
                };
                odd_scales += scales.iter().filter(is_odd).count() as u64;
            }
        }
        row += rows;
    }
    Ok(odd_scales)
}

/// Checks a tensor of which every byte is a legal code: its scales, and that all of it can be read.
fn check_unordered(
    view: &View,
    tensor: &TensorView,
    scaled: &Scaled,
    path: &Path,
    verified: &mut Verified,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<TensorDigest> {
    let (mut digest, mut buffer) = (Sha256::new(), chunk_buffer(scaled.codes.len));
    view.source().read_chunks(&scaled.codes, &mut buffer, |_, bytes| {
        digest.update(bytes);
        progress(Progress::Bytes(bytes.len() as u64));
        Ok(())
    })?;
    let found = TensorDigest(digest.finalize().into());
    check_digest(scaled.entry.as_ref(), found, verified)
        .map_err(|what| Error::refused(Some(path), Some(&tensor.info.name), what))?;
    let odd_scales = check_scales(view, scaled, verified)?;
    let mut warn = |what: String| {
        verified.warnings.push(format!("tensor {}: {what}", quoted(&scaled.codes.name)));
    };
    if odd_scales > 0 {
        let zero = if scaled.has_zero_scales() { "" } else { "zero " };
        warn(format!("{odd_scales} scales that are NaN, infinite, {zero}or negative"));
    }
    if let Some(list) = scaled.codebook.as_ref().filter(|list| list.codebook.is_none()) {
        warn(format!("its list of values is not that of {}", list.name));
    }
    Ok(found)
}

/// Which codes are flushed subnormals, or NaNs that are not canonical.
enum OddCodes {
    Known(Vec<bool>),
    /// Fewer codes are looked at than the format has.
    Few(Format),
}

impl OddCodes {
    fn new(format: &Format, elements: u64) -> Self {
        if elements <= format.max_code() {
            return Self::Few(*format);
        }
        Self::Known(format.codes().map(|code| Self::is_odd(format, code)).collect())
    }

    /// Returns whether all codes are known to be the format's and none is odd.
    fn are_usual(&self, codes: impl Iterator<Item = u16>) -> bool {
        match self {
            // Formats without odd codes are most, and a largest code is found by vectors.
            Self::Known(odd) if odd.iter().all(|is_odd| !is_odd) => {
                usize::from(codes.fold(0, u16::max)) < odd.len()
            }
            Self::Known(odd) => {
                !codes.fold(false, |any, code| any | *odd.get(usize::from(code)).unwrap_or(&true))
            }
            Self::Few(_) => false,
        }
    }

    /// Whether a code is one; nothing for what is no code of the format.
    fn get(&self, code: u16) -> Option<bool> {
        match self {
            Self::Known(odd) => odd.get(usize::from(code)).copied(),
            Self::Few(format) => {
                (u64::from(code) <= format.max_code()).then(|| Self::is_odd(format, code.into()))
            }
        }
    }

    fn is_odd(format: &Format, code: u64) -> bool {
        match format.classify(code) {
            Class::Subnormal => format.subnormals() == Subnormals::Flush,
            Class::Nan => {
                let one_nan = format.is_signed() || format.specials() != Specials::Ieee;
                !one_nan && Some(code) != format.encode(Datum::Nan { negative: false })
            }
            _ => false,
        }
    }
}
