//! A strict reader of safetensors files.
//!
//! Source: safetensors format, section Format. A file is an 8-byte little-endian length N, N bytes
//! of JSON, and the tensors' bytes. The reference reader accepts more than that text allows
//! (duplicate names, a header that begins with white space or ends with line breaks, `null`
//! metadata, tensors written as arrays); this one refuses it, since a file that two readers
//! understand differently is a trap. Beyond the text it asks only that the product of a shape's
//! non-zero dimensions fits 64 bits, also where another dimension is zero.
//!
//! Nothing is allocated that the file's size does not justify: the header is bounded by the file
//! and by [`MAX_HEADER_BYTES`], tensors are streamed.

use std::io;
use std::path::Path;

use crate::error::{Error, Result, quoted};
use crate::file::dtype;
use crate::file::dtype::{Dtype, MAX_DIMENSIONS};
use crate::file::formats::safetensors_header;
use crate::file::formats::safetensors_header::RawHeader;
use crate::file::input::{Input, InputReader, TensorInfo};

/// The longest header that is read or written, as in the reference implementation.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The header is read in parts of this length.
const READ_BYTES: usize = 16 << 10;

/// An open, checked safetensors file.
#[derive(Debug)]
pub struct SafeTensors {
    input: Input,
    metadata: Vec<(String, String)>,
    tensors: Vec<TensorInfo>,
}

impl SafeTensors {
    /// Opens a file and checks its header and layout, without reading the data.
    ///
    /// # Errors
    ///
    /// If the file can't be read or breaks a rule of the format; the message names the tensor and
    /// the byte.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_input(Input::open(path.as_ref())?)
    }

    /// Where the header ends, by the first bytes of a file; `None` if they can't begin one.
    pub(crate) fn header_end(begin: &[u8]) -> Option<u64> {
        let length = u64::from_le_bytes(*begin.first_chunk()?);
        (2..=MAX_HEADER_BYTES).contains(&length).then_some(8 + length)
    }

    /// The length that the header promises for the whole file.
    pub(crate) fn promised_len(input: &Input) -> Result<u64> {
        let (header, data_start) = parse_header(input)?;
        let end = header.tensors.iter().map(|tensor| tensor.len).max().unwrap_or(0);
        data_start.checked_add(end).ok_or_else(|| {
            Error::malformed(input.path(), None, format!("bad header: no file has {end} bytes of data"))
        })
    }

    pub(crate) fn from_input(input: Input) -> Result<Self> {
        let (RawHeader { metadata, mut tensors }, data_start) = parse_header(&input)?;
        let data_len = input.len() - data_start;
        for tensor in &mut tensors {
            let (begin, len) = check_tensor(input.path(), tensor, data_start, data_len)?;
            (tensor.offset, tensor.len) = (data_start + begin, len);
        }
        check_layout(&input, &tensors, data_start)?;
        Ok(Self { input, metadata, tensors })
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Returns the free text under `__metadata__`, in the order of the file.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Returns the tensors, in the order of the header.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }
}

/// The header, its numbers not yet held against each other, and where the data begins.
fn parse_header(input: &Input) -> Result<(RawHeader, u64)> {
    let data_start = 8 + header_len(input)?;
    let text_end = text_end(input, data_start)?;
    let length = usize::try_from(text_end - 8).expect("it is shorter than the longest header");
    // A text that needs no second part is parsed where it lies, several times as fast.
    if length > READ_BYTES {
        let mut reader = InputReader::new(input, 8..text_end);
        let part = io::BufReader::with_capacity(READ_BYTES, &mut reader);
        let header = safetensors_header::parse_reader(part);
        if let Some(error) = reader.failed {
            return Err(error);
        }
        if let Some(header) = header {
            return Ok((header, data_start));
        }
    }
    let mut json = vec![0; length];
    input.read_exact_at(8, &mut json)?;
    let header = safetensors_header::parse(&json).map_err(|fault| {
        let offset = fault.offset.map(|offset| 8 + offset as u64);
        let what = format!("bad header: {}", fault.what);
        Error::malformed_tensor(input.path(), fault.tensor.as_deref(), offset, what)
    })?;
    Ok((header, data_start))
}

/// The length of the header, padding included.
fn header_len(input: &Input) -> Result<u64> {
    let (path, file_len) = (input.path(), input.len());
    let malformed = |offset, what| Error::malformed(path, Some(offset), what);
    if file_len < 8 {
        let what = format!(
            "a safetensors file begins with 8 bytes of header length, this one ends after {file_len}"
        );
        return Err(malformed(file_len, what));
    }
    let mut length = [0; 8];
    input.read_exact_at(0, &mut length)?;
    let header_len = u64::from_le_bytes(length);
    if header_len > MAX_HEADER_BYTES {
        let what = format!(
            "the header length {header_len} is above the limit of {MAX_HEADER_BYTES} bytes: is this a safetensors file?"
        );
        return Err(malformed(0, what));
    }
    if header_len > file_len - 8 {
        let what =
            format!("the header length {header_len} is more than the {} bytes that follow it", file_len - 8);
        return Err(malformed(0, what));
    }
    if header_len < 2 {
        return Err(malformed(
            0,
            format!("the header length {header_len} is too short; the least header is `{{}}`"),
        ));
    }
    Ok(header_len)
}

/// Where the JSON text ends and its padding begins, counted from the beginning of the file.
fn text_end(input: &Input, data_start: u64) -> Result<u64> {
    let malformed = |offset, what| Error::malformed(input.path(), Some(offset), what);
    let mut first = [0];
    input.read_exact_at(8, &mut first)?;
    if first != *b"{" {
        let what = format!("the header begins with byte {:#04x}; it must begin with `{{`", first[0]);
        return Err(malformed(8, what));
    }
    let (mut buffer, mut end) = ([0; READ_BYTES], data_start);
    while end > 8 {
        let part = usize::try_from(end - 8).map_or(READ_BYTES, |left| left.min(READ_BYTES));
        let bytes = &mut buffer[..part];
        input.read_exact_at(end - part as u64, bytes)?;
        let Some(last) = bytes.iter().rposition(|&b| b != b' ') else {
            end -= part as u64;
            continue;
        };
        end -= (part - 1 - last) as u64;
        if bytes[last] == b'}' {
            break;
        }
        let what = format!(
            "the header ends with byte {:#04x}; it must end with `}}` and may be padded with spaces only",
            bytes[last]
        );
        return Err(malformed(end - 1, what));
    }
    Ok(end)
}

/// Holds one tensor's numbers against each other and the file; gives its beginning and length.
fn check_tensor(path: &Path, tensor: &TensorInfo, data_start: u64, data_len: u64) -> Result<(u64, u64)> {
    let TensorInfo { ref name, dtype, ref shape, offset: begin, len: end } = *tensor;
    let fault = |offset: u64, what: String| {
        Err(Error::malformed_tensor(path, Some(name), Some(data_start + offset.min(data_len)), what))
    };
    if begin > end {
        return fault(begin, format!("`data_offsets` end before they begin: [{begin}, {end}]"));
    }
    let len = match byte_len(dtype, shape) {
        Ok(len) => len,
        Err(what) => return fault(begin, what),
    };
    if end - begin != len {
        let what =
            format!("{} bytes of data, but shape {} of {dtype} takes {len}", end - begin, shape_text(shape));
        return fault(begin, what);
    }
    if end > data_len {
        let what = format!(
            "`data_offsets` [{begin}, {end}] reach beyond the {data_len} bytes of data: \
             the file is truncated or the header wrong"
        );
        return fault(begin, what);
    }
    Ok((begin, len))
}

/// The bytes that a shape takes, or why it can't have any.
pub(crate) fn byte_len(dtype: Dtype, shape: &[u64]) -> Result<u64, String> {
    if shape.len() > MAX_DIMENSIONS {
        return Err(format!(
            "its shape has {} dimensions, at most {MAX_DIMENSIONS} are read and written",
            shape.len()
        ));
    }
    let elements = dtype::elements(shape)
        .ok_or_else(|| format!("shape {} has more elements than 64 bits can count", shape_text(shape)))?;
    dtype.byte_len(elements).ok_or_else(|| {
        if elements.checked_mul(u64::from(dtype.bits())).is_some() {
            format!("shape {} of {dtype} does not fill whole bytes", shape_text(shape))
        } else {
            format!("shape {} of {dtype} has more bits than 64 bits can count", shape_text(shape))
        }
    })
}

/// A shape for a message, cut where it is absurdly long.
fn shape_text(shape: &[u64]) -> String {
    const SHOWN: usize = 8;
    let mut items: Vec<_> = shape.iter().take(SHOWN).map(u64::to_string).collect();
    if shape.len() > SHOWN {
        items.push("…".into());
    }
    format!("[{}]", items.join(", "))
}

/// The data must be covered exactly: no overlap, no hole, nothing after the last tensor.
fn check_layout(input: &Input, tensors: &[TensorInfo], data_start: u64) -> Result<()> {
    let path = input.path();
    let mut order: Vec<&TensorInfo> = tensors.iter().collect();
    order.sort_by_key(|tensor| (tensor.offset, tensor.len));
    let mut covered = data_start;
    let mut previous: Option<&TensorInfo> = None;
    for tensor in order {
        let fault = |what| Err(Error::malformed_tensor(path, Some(&tensor.name), Some(tensor.offset), what));
        if tensor.offset < covered {
            let other = previous.map_or("", |p| &p.name);
            return fault(format!(
                "its data overlaps tensor {}, which ends at byte {covered}",
                quoted(other)
            ));
        }
        if tensor.offset > covered {
            let hole = tensor.offset - covered;
            return fault(format!(
                "a hole of {hole} bytes lies before its data; data must follow each other"
            ));
        }
        covered = tensor.offset + tensor.len;
        previous = Some(tensor);
    }
    if covered != input.len() {
        let what = format!(
            "{} bytes follow the last tensor; the file must end with it at byte {covered}",
            input.len() - covered
        );
        return Err(Error::malformed(path, Some(covered), what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn open(header: &str, data: usize) -> Result<SafeTensors> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.safetensors");
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        fs::write(&path, bytes).unwrap();
        SafeTensors::open(path)
    }

    #[test]
    fn legal_corners_are_read() {
        assert!(open("{}", 0).unwrap().tensors().is_empty());
        assert!(open("{}      ", 0).unwrap().tensors().is_empty());
        let file = open(r#"{"__metadata__":{"z":"","a":"b"}}"#, 0).unwrap();
        assert_eq!(file.metadata().len(), 2);
        let file = open(r#"{"e":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}}"#, 0).unwrap();
        assert_eq!((file.tensors()[0].elements(), file.tensors()[0].len), (0, 0));
        let file = open(r#"{"":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}}"#, 3).unwrap();
        assert_eq!((file.tensors()[0].elements(), file.tensors()[0].offset), (6, 8 + 54));
    }

    #[test]
    fn tensors_keep_the_order_of_the_header_whatever_their_offsets() {
        let header = r#"{"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
        let file = open(header, 3).unwrap();
        assert_eq!(file.tensors().iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn a_length_of_a_hundred_megabytes_in_a_short_file_allocates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        for length in [99_999_999u64, MAX_HEADER_BYTES + 1, u64::MAX] {
            fs::write(&path, length.to_le_bytes()).unwrap();
            assert!(SafeTensors::open(&path).unwrap_err().is_malformed());
        }
    }
}
