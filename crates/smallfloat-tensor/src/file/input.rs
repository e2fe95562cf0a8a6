//! Files open for reading: checked when opened, read at positions, streamed in bounded memory.
//!
//! Reads name their position and share no cursor, so that one open file serves several threads. The
//! open file stays the file that it was: an output renamed over the same path does not disturb it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::file::dtype;
use crate::file::dtype::Dtype;
use crate::file::side::open_regular;

/// A good size for the buffer of a streaming read: large enough to be fast, small enough to hold
/// one for each thread.
pub const CHUNK_BYTES: usize = 2 << 20;

/// A buffer to stream so many bytes: of [`CHUNK_BYTES`], or smaller where they are fewer. Files may
/// have very many small tensors.
pub(crate) fn chunk_buffer(len: u64) -> Vec<u8> {
    vec![0; usize::try_from(len).map_or(CHUNK_BYTES, |len| len.min(CHUNK_BYTES))]
}

/// A tensor in a file: what it is and where its bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// The name, exactly as in the file. It is data, never a path.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// The dimensions, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
    /// The first byte, counted from the beginning of the file.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

impl TensorInfo {
    /// Returns the number of elements.
    ///
    /// # Panics
    /// For a shape of more than 2^64 elements, which no file that is open has.
    pub fn elements(&self) -> u64 {
        dtype::elements(&self.shape).expect("shapes are checked when a file is opened")
    }
}

/// Finds things by name; the order of names is made when it is first asked for. Names are unique.
#[derive(Debug, Default)]
pub(crate) struct NameIndex(OnceLock<Vec<usize>>);

impl NameIndex {
    pub(crate) fn find<'a, T>(
        &self,
        things: &'a [T],
        name: &str,
        name_of: impl Fn(&T) -> &str,
    ) -> Option<&'a T> {
        things.get(self.position(things, name, name_of)?)
    }

    pub(crate) fn position<T>(
        &self,
        things: &[T],
        name: &str,
        name_of: impl Fn(&T) -> &str,
    ) -> Option<usize> {
        let order = self.order(things, &name_of);
        let place = order.binary_search_by(|&i| name_of(&things[i]).cmp(name)).ok()?;
        Some(order[place])
    }

    /// The places of things, in the order of their names.
    pub(crate) fn order<T>(&self, things: &[T], name_of: impl Fn(&T) -> &str) -> &[usize] {
        self.0.get_or_init(|| {
            let mut order: Vec<usize> = (0..things.len()).collect();
            order.sort_by(|&a, &b| name_of(&things[a]).cmp(name_of(&things[b])));
            order
        })
    }
}

/// An open file of known length, or bytes that stand for one.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    data: Data,
    len: u64,
}

#[derive(Debug)]
enum Data {
    File(File),
    Bytes(Vec<u8>),
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (file, len) = open_regular(path)?;
        Ok(Self { path: path.to_path_buf(), data: Data::File(file), len })
    }

    /// Bytes in memory; `path` is what errors call them.
    pub(crate) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Self {
        Self { path: path.to_path_buf(), len: bytes.len() as u64, data: Data::Bytes(bytes) }
    }

    /// The beginning of a file of unknown length, of which no more than these bytes can be read.
    pub(crate) fn beginning(path: &Path, bytes: Vec<u8>) -> Self {
        Self { path: path.to_path_buf(), len: u64::MAX, data: Data::Bytes(bytes) }
    }

    /// The bytes of an input in memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::File(_) => &[],
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buf` from `offset` on.
    pub(crate) fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let read = match &self.data {
            Data::File(file) => read_exact_at(file, buf, offset),
            Data::Bytes(bytes) => copy_exact_at(bytes, buf, offset),
        };
        read.map_err(|e| {
            if e.kind() == io::ErrorKind::UnexpectedEof {
                let what = format!(
                    "the file ended early: {} bytes were to be read here and it had {} bytes when opened; \
                     don't change it while it is read",
                    buf.len(),
                    self.len
                );
                Error::malformed(&self.path, Some(offset), what)
            } else {
                Error::io("read from", &self.path, e)
            }
        })
    }

    /// See [`crate::Source::read_chunks`].
    pub(crate) fn read_chunks(
        &self,
        tensor: &TensorInfo,
        buf: &mut [u8],
        mut each: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let group = tensor.dtype.group_bytes();
        let chunk = buf.len() - buf.len() % group;
        if chunk == 0 && tensor.len != 0 {
            let what = format!("a buffer of {} bytes can't hold an element of {}", buf.len(), tensor.dtype);
            return Err(Error::refused(Some(&self.path), Some(&tensor.name), what));
        }
        let mut done = 0;
        let mut element = 0;
        while done < tensor.len {
            let part = usize::try_from(tensor.len - done).map_or(chunk, |left| left.min(chunk));
            let bytes = &mut buf[..part];
            self.read_exact_at(tensor.offset.saturating_add(done), bytes)?;
            each(element, bytes)?;
            done += part as u64;
            element += (part / group * tensor.dtype.group_elements()) as u64;
        }
        Ok(())
    }

    /// See [`crate::Source::read_range`].
    pub(crate) fn read_range(&self, tensor: &TensorInfo, first: u64, out: &mut [u8]) -> Result<()> {
        let refused = |what: String| Error::refused(Some(&self.path), Some(&tensor.name), what);
        let begin = tensor
            .dtype
            .byte_len(first)
            .ok_or_else(|| refused(format!("element {first} of {} does not begin a byte", tensor.dtype)))?;
        let fits = begin.checked_add(out.len() as u64).is_some_and(|end| end <= tensor.len);
        if !fits {
            return Err(refused(format!(
                "{} bytes from element {first} on were asked for, but the tensor has {} elements",
                out.len(),
                tensor.elements()
            )));
        }
        self.read_exact_at(tensor.offset.saturating_add(begin), out)
    }

    /// Fills `out` from byte `begin` of a tensor on.
    pub(crate) fn read_bytes(&self, tensor: &TensorInfo, begin: u64, out: &mut [u8]) -> Result<()> {
        let fits = begin.checked_add(out.len() as u64).is_some_and(|end| end <= tensor.len);
        if !fits {
            let what = format!(
                "{} bytes from byte {begin} on were asked for, but the tensor has {}",
                out.len(),
                tensor.len
            );
            return Err(Error::refused(Some(&self.path), Some(&tensor.name), what));
        }
        self.read_exact_at(tensor.offset.saturating_add(begin), out)
    }

    /// See [`crate::Source::read_all`].
    pub(crate) fn read_all(&self, tensor: &TensorInfo) -> Result<Vec<u8>> {
        // The file's own size bounds what we allocate, whatever the caller's description says.
        let len = usize::try_from(tensor.len).ok().filter(|_| tensor.len <= self.len).ok_or_else(|| {
            let what = format!("{} bytes were asked for, but the file has {}", tensor.len, self.len);
            Error::refused(Some(&self.path), Some(&tensor.name), what)
        })?;
        let mut bytes = vec![0; len];
        self.read_exact_at(tensor.offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// Reads a range of an input from its beginning on.
#[derive(Debug)]
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    range: Range<u64>,
    /// Why a read failed, in our words.
    pub(crate) failed: Option<Error>,
}

impl<'a> InputReader<'a> {
    pub(crate) fn new(input: &'a Input, range: Range<u64>) -> Self {
        Self { input, range, failed: None }
    }
}

impl io::Read for InputReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end - self.range.start;
        let part = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        if let Err(error) = self.input.read_exact_at(self.range.start, &mut buf[..part]) {
            self.failed = Some(error);
            return Err(io::Error::other("see `failed`"));
        }
        self.range.start += part as u64;
        Ok(part)
    }
}

fn copy_exact_at(bytes: &[u8], buf: &mut [u8], offset: u64) -> io::Result<()> {
    if buf.is_empty() {
        // As in a file, where nothing is read from any place.
        return Ok(());
    }
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    let part = rest.and_then(|rest| rest.get(..buf.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
    buf.copy_from_slice(part);
    Ok(())
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buf, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buf = &mut buf[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = &bytes[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Systems without files, such as a page's: tensors are in memory there.
#[cfg(not(any(unix, windows)))]
pub(crate) fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn write_all_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn input(bytes: &[u8]) -> (tempfile::TempDir, Input) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, bytes).unwrap();
        let input = Input::open(&path).unwrap();
        (dir, input)
    }

    fn tensor(dtype: Dtype, elements: u64) -> TensorInfo {
        let len = dtype.byte_len(elements).unwrap();
        TensorInfo { name: "t".into(), dtype, shape: vec![elements], offset: 1, len }
    }

    #[test]
    fn chunks_hold_whole_elements_and_say_where_they_begin() {
        let bytes: Vec<u8> = (0..=255).collect();
        let (_dir, input) = input(&bytes);
        for (dtype, elements) in [(Dtype::F32, 11), (Dtype::U8, 47), (Dtype::F6E3M2, 20), (Dtype::F4, 46)] {
            let info = tensor(dtype, elements);
            for size in [8, 13, 300] {
                let mut seen = Vec::new();
                let mut buf = vec![0; size];
                input
                    .read_chunks(&info, &mut buf, |first, bytes| {
                        assert_eq!(dtype.byte_len(first), Some(seen.len() as u64));
                        assert_eq!(bytes.len() % dtype.group_bytes(), 0);
                        seen.extend_from_slice(bytes);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(seen, bytes[1..=seen.len()]);
                assert_eq!(seen.len() as u64, info.len);
                assert_eq!(input.read_all(&info).unwrap(), seen);
            }
        }
    }

    #[test]
    fn a_buffer_below_one_element_is_refused_unless_nothing_is_read() {
        let (_dir, input) = input(&[0; 64]);
        let error = input.read_chunks(&tensor(Dtype::F64, 2), &mut [0; 7], |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("a buffer of 7 bytes can't hold an element of F64"), "{error}");
        input.read_chunks(&tensor(Dtype::F64, 0), &mut [], |_, _| Ok(())).unwrap();
    }

    #[test]
    fn ranges_stay_inside_the_tensor() {
        let (_dir, input) = input(&[7; 64]);
        let info = tensor(Dtype::F32, 4);
        let mut out = [0; 8];
        input.read_range(&info, 2, &mut out).unwrap();
        assert_eq!(out, [7; 8]);
        for first in [3, 4, u64::MAX, u64::MAX / 4] {
            assert!(input.read_range(&info, first, &mut out).unwrap_err().is_refused());
        }
        assert!(input.read_range(&tensor(Dtype::F4, 8), 1, &mut [0]).unwrap_err().is_refused());
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_not_zeros() {
        let (_dir, input) = input(&[7; 64]);
        fs::OpenOptions::new().write(true).open(input.path()).unwrap().set_len(10).unwrap();
        let error = input.read_all(&tensor(Dtype::U8, 20)).unwrap_err();
        assert!(error.to_string().contains("the file ended early"), "{error}");
    }

    #[test]
    fn descriptions_that_lie_allocate_nothing() {
        let (_dir, input) = input(&[7; 64]);
        assert!(input.read_all(&tensor(Dtype::U8, 1 << 60)).unwrap_err().is_refused());
    }

    #[test]
    fn bytes_in_memory_read_as_a_file_does() {
        let input = Input::from_bytes(Path::new("name"), (0..64).collect());
        assert_eq!((input.path(), input.len()), (Path::new("name"), 64));
        let info = tensor(Dtype::F32, 4);
        assert_eq!(input.read_all(&info).unwrap(), (1..17).collect::<Vec<u8>>());
        for (offset, len) in [(64, 1), (60, 5), (u64::MAX, 1)] {
            let error = input.read_exact_at(offset, &mut vec![0; len]).unwrap_err();
            assert!(error.to_string().contains("the file ended early"), "{error}");
        }
        input.read_exact_at(64, &mut []).unwrap();
    }

    #[test]
    fn folders_and_devices_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Input::open(dir.path()).unwrap_err().to_string().contains("this is a folder"));
        let missing = Input::open(&dir.path().join("missing")).unwrap_err();
        assert!(missing.is_io() && missing.to_string().starts_with("cannot open"));
        #[cfg(unix)]
        assert!(Input::open(Path::new("/dev/null")).unwrap_err().to_string().contains("not a regular file"));
    }
}
