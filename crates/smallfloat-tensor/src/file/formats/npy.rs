//! A strict reader and a writer of NumPy's `.npy` files.
//!
//! Source: NumPy, `numpy.lib.format`, versions 1.0, 2.0 and 3.0: the magic string `\x93NUMPY`, two
//! bytes of version, the header's length (16 bits, from version 2.0 on 32), a Python dictionary
//! literal with exactly the keys `descr`, `fortran_order` and `shape`, padded with spaces and ended
//! by a line break, then the data.
//!
//! Refused, with what to do instead: big-endian data, Fortran order, objects, structures and the
//! raw `V` types into which NumPy turns the small floats it does not know. Refused as malformed:
//! data shorter or longer than the shape.

use std::path::Path;

use crate::error::{Error, Result, quoted};
use crate::file::dtype::Dtype;
use crate::file::durable::DurableFile;
use crate::file::formats::npy_header;
use crate::file::formats::npy_header::Fault;
use crate::file::formats::safetensors::byte_len;
use crate::file::input::{Input, TensorInfo};

/// How every `.npy` file begins.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read. NumPy itself warns above 10,000 bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// An open, checked `.npy` file: one tensor, named after the file without its extension.
#[derive(Debug)]
pub struct Npy {
    input: Input,
    tensor: TensorInfo,
}

impl Npy {
    /// Opens a file and checks its header and size, without reading the data.
    ///
    /// # Errors
    ///
    /// If the file can't be read, breaks a rule of the format, or holds what this crate does not
    /// read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_input(Input::open(path.as_ref())?)
    }

    /// Where the header ends, by the first bytes of a file; `None` if they can't begin one.
    pub(crate) fn header_end(begin: &[u8]) -> Option<u64> {
        let length = |bytes: &[u8]| bytes.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
        let end = match begin.get(6)? {
            1 => 10 + length(begin.get(8..10)?),
            _ => 12 + length(begin.get(8..12)?),
        };
        (end <= 12 + MAX_HEADER_BYTES).then_some(end)
    }

    /// The length that the header promises for the whole file.
    pub(crate) fn promised_len(input: &Input) -> Result<u64> {
        let array = read_array(input)?;
        array.data_at.checked_add(array.len).ok_or_else(|| {
            Error::malformed(input.path(), None, format!("no file has {} bytes of data", array.len))
        })
    }

    pub(crate) fn from_input(input: Input) -> Result<Self> {
        let path = input.path();
        let Array { dtype, shape, data_at, len } = read_array(&input)?;
        let have = input.len() - data_at;
        if have != len {
            let trouble =
                if have < len { "the file is truncated" } else { "the file goes on after the array" };
            return Err(Error::malformed(
                path,
                Some(data_at),
                format!("{trouble}: {have} bytes of data where the shape takes {len}"),
            ));
        }
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let tensor = TensorInfo { name, dtype, shape, offset: data_at, len };
        Ok(Self { input, tensor })
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Returns the one tensor.
    pub fn tensor(&self) -> &TensorInfo {
        &self.tensor
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }
}

/// What the header says of the array, and where its data lies.
struct Array {
    dtype: Dtype,
    shape: Vec<u64>,
    data_at: u64,
    len: u64,
}

fn read_array(input: &Input) -> Result<Array> {
    let path = input.path();
    let malformed = |offset: u64, what: String| Error::malformed(path, Some(offset), what);
    if input.len() < 10 {
        let what = format!("an .npy file begins with at least 10 bytes, this one ends after {}", input.len());
        return Err(malformed(input.len(), what));
    }
    let mut start = [0; 10];
    input.read_exact_at(0, &mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(malformed(0, "an .npy file begins with `\\x93NUMPY`".into()));
    }
    let (header_at, header_len) = match (start[6], start[7]) {
        (1, 0) => (10, u64::from(u16::from_le_bytes([start[8], start[9]]))),
        (2 | 3, 0) => {
            let mut length = [0; 4];
            if input.len() < 12 {
                return Err(malformed(input.len(), "the file ends within the header length".into()));
            }
            input.read_exact_at(8, &mut length)?;
            (12, u64::from(u32::from_le_bytes(length)))
        }
        (major, minor) => {
            let what = format!(".npy version {major}.{minor} is unknown; 1.0, 2.0 and 3.0 are read");
            return Err(Error::unsupported(path, what));
        }
    };
    if header_len > MAX_HEADER_BYTES {
        let what = format!("the header length {header_len} is above the limit of {MAX_HEADER_BYTES} bytes");
        return Err(malformed(8, what));
    }
    let data_at = header_at + header_len;
    if data_at > input.len() {
        let rest = input.len() - header_at;
        return Err(malformed(
            8,
            format!("the header length {header_len} is more than the {rest} bytes that follow"),
        ));
    }
    let mut text = vec![0; usize::try_from(header_len).expect("headers are below their limit")];
    input.read_exact_at(header_at, &mut text)?;
    let header = npy_header::parse(&text).map_err(|fault| match fault {
        Fault::Malformed { offset, what } => {
            malformed(header_at + offset as u64, format!("bad header: {what}"))
        }
        Fault::Unsupported(what) => Error::unsupported(path, what),
    })?;
    let dtype = dtype_of(&header.descr).map_err(|what| Error::unsupported(path, what))?;
    if header.fortran_order {
        let what = "the array is in Fortran order; save it in C order with numpy.save(name, numpy.ascontiguousarray(a))";
        return Err(Error::unsupported(path, what));
    }
    let len = byte_len(dtype, &header.shape).map_err(|what| malformed(header_at, what))?;
    Ok(Array { dtype, shape: header.shape, data_at, len })
}

/// NumPy's types that have a name here, little-endian.
const DESCRIPTIONS: [(&str, Dtype); 14] = [
    ("<f8", Dtype::F64),
    ("<f4", Dtype::F32),
    ("<f2", Dtype::F16),
    ("|u1", Dtype::U8),
    ("<u2", Dtype::U16),
    ("<u4", Dtype::U32),
    ("<u8", Dtype::U64),
    ("|i1", Dtype::I8),
    ("<i2", Dtype::I16),
    ("<i4", Dtype::I32),
    ("<i8", Dtype::I64),
    ("|b1", Dtype::Bool),
    ("<c8", Dtype::C64),
    // A second spelling: byte order means nothing for a byte.
    ("<u1", Dtype::U8),
];

fn dtype_of(descr: &str) -> Result<Dtype, String> {
    if let Some(&(_, dtype)) = DESCRIPTIONS.iter().find(|(name, _)| *name == descr) {
        return Ok(dtype);
    }
    let shown = quoted(descr);
    if let Some(rest) = descr.strip_prefix('>') {
        return Err(format!(
            "big-endian data ({shown}); convert it with a.astype('<{}')",
            quoted(rest).to_string().trim_matches('`')
        ));
    }
    if descr.contains('V') {
        return Err(format!(
            "raw bytes of type {shown}, which is how NumPy saves small floats and bfloat16; \
             save them as a.view('uint8') or 'uint16', or as a.astype('float32')"
        ));
    }
    if descr.contains('O') {
        return Err(format!("Python objects ({shown}) can't be read; save an array of numbers"));
    }
    let known: Vec<_> = DESCRIPTIONS.iter().take(13).map(|(name, _)| *name).collect();
    Err(format!("data of type {shown}; known are {}", known.join(" ")))
}

/// Writes one array to an `.npy` file that appears whole or not at all.
#[derive(Debug)]
pub struct NpyWriter {
    file: DurableFile,
    data_at: u64,
    len: u64,
    written: u64,
}

impl NpyWriter {
    /// Begins a file in NumPy's version 1.0 (2.0 where the header is too long for it), C order.
    ///
    /// # Errors
    ///
    /// If NumPy has no such type, the shape overflows, or the output can't be begun; see
    /// [`DurableFile::create`].
    pub fn create(path: impl AsRef<Path>, dtype: Dtype, shape: &[u64], overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        let Some((descr, _)) = DESCRIPTIONS.iter().find(|(_, known)| *known == dtype) else {
            return Err(Error::unsupported(
                path,
                format!("an .npy file can't hold {dtype}; use safetensors"),
            ));
        };
        let len = byte_len(dtype, shape).map_err(|what| Error::refused(Some(path), None, what))?;
        let header = npy_header::text(*MAGIC, descr, shape);
        let mut file = DurableFile::create(path, overwrite)?;
        file.append(&header)?;
        Ok(Self { file, data_at: header.len() as u64, len, written: 0 })
    }

    /// Adds little-endian bytes.
    ///
    /// # Errors
    ///
    /// If they are more than the shape takes or can't be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 > self.len - self.written {
            let what = format!(
                "{} bytes were given where {} are left of the shape's {}",
                bytes.len(),
                self.len - self.written,
                self.len
            );
            return Err(Error::refused(Some(self.file.path()), None, what));
        }
        self.file.write_at(self.data_at + self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Makes the file appear under its name.
    ///
    /// # Errors
    ///
    /// If data are missing or the file can't be made durable; the old file then stays.
    pub fn finish(self) -> Result<()> {
        if self.written != self.len {
            let what = format!("{} bytes were given, the shape takes {}", self.written, self.len);
            return Err(Error::refused(Some(self.file.path()), None, what));
        }
        self.file.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn arrays_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        for (dtype, shape) in [
            (Dtype::F32, vec![2, 3]),
            (Dtype::U8, vec![]),
            (Dtype::U16, vec![5]),
            (Dtype::F32, vec![0, 4]),
            (Dtype::U8, vec![1; 64]),
        ] {
            let path = dir.path().join("a.b.npy");
            let bytes: Vec<u8> = (0..byte_len(dtype, &shape).unwrap()).map(|i| i.to_le_bytes()[0]).collect();
            let mut writer = NpyWriter::create(&path, dtype, &shape, true).unwrap();
            for part in bytes.chunks(5) {
                writer.append(part).unwrap();
            }
            writer.finish().unwrap();
            let npy = Npy::open(&path).unwrap();
            assert_eq!(
                (npy.tensor().name.as_str(), npy.tensor().dtype, &npy.tensor().shape),
                ("a.b", dtype, &shape)
            );
            assert_eq!(npy.tensor().offset % 64, 0);
            assert_eq!(npy.input().read_all(npy.tensor()).unwrap(), bytes);
        }
    }

    #[test]
    fn the_writer_refuses_too_much_too_little_and_unknown_types() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        assert!(NpyWriter::create(&path, Dtype::BF16, &[1], false).unwrap_err().is_unsupported());
        assert!(NpyWriter::create(&path, Dtype::F32, &[1 << 63, 4], false).unwrap_err().is_refused());
        let mut writer = NpyWriter::create(&path, Dtype::U8, &[3], false).unwrap();
        assert!(writer.append(&[0; 4]).unwrap_err().is_refused());
        writer.append(&[0; 2]).unwrap();
        assert!(writer.append(&[0; 2]).unwrap_err().to_string().contains("where 1 are left"));
        assert!(writer.finish().unwrap_err().to_string().contains("2 bytes were given, the shape takes 3"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_header_may_have_a_mebibyte_and_no_more() {
        let of = |length: u32| {
            let mut header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }".to_vec();
            header.resize(length as usize - 1, b' ');
            header.push(b'\n');
            let mut bytes = [&MAGIC[..], &[2, 0], &length.to_le_bytes()].concat();
            bytes.extend(header);
            bytes.extend([7, 8]);
            Npy::from_input(Input::from_bytes(Path::new("a.npy"), bytes))
        };
        assert_eq!(of(1 << 20).unwrap().tensor().shape, [2]);
        assert!(of((1 << 20) + 1).unwrap_err().to_string().contains("above the limit of 1048576 bytes"));
    }

    #[test]
    fn every_type_of_numpy_has_its_name() {
        for (descr, dtype) in DESCRIPTIONS {
            assert_eq!(dtype_of(descr), Ok(dtype));
        }
        for (descr, part) in [
            (">f4", "big-endian data (`>f4`); convert it with a.astype('<f4')"),
            ("|V1", "raw bytes"),
            ("<V2", "raw bytes"),
            ("|O", "Python objects"),
            ("=f4", "data of type `=f4`; known are"),
            ("<f16", "known are"),
            ("<U4", "known are"),
            ("", "known are"),
        ] {
            let what = dtype_of(descr).unwrap_err();
            assert!(what.contains(part), "{what}");
        }
    }
}
