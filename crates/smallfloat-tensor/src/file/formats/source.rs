//! One way into every kind of file that holds tensors.
//!
//! The kind is told by content, never by name: a renamed file is read as what it is, and a file of
//! a kind that other tools write (a PyTorch checkpoint, HDF5) is named in the message.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::file::formats::gguf::{self, Gguf};
use crate::file::formats::npy::{MAGIC, Npy};
use crate::file::formats::safetensors::SafeTensors;
use crate::file::input::{Input, NameIndex, TensorInfo, chunk_buffer};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceKind {
    /// A safetensors file: any number of tensors and free text.
    SafeTensors,
    /// A NumPy array: one tensor, named after the file without its extension (`layer.0.npy` holds
    /// `layer.0`).
    Npy,
    /// A GGUF file: any number of tensors, some of them in blocks, and keys with values.
    Gguf,
}

/// An open file of tensors.
///
/// ```no_run
/// use smallfloat_tensor::{CHUNK_BYTES, Source};
///
/// # fn main() -> smallfloat_tensor::Result<()> {
/// let source = Source::open("model.safetensors")?;
/// let mut buf = vec![0; CHUNK_BYTES];
/// for tensor in source.tensors() {
///     source.read_chunks(tensor, &mut buf, |first, bytes| {
///         println!("{}: {} bytes from element {first} on", tensor.name, bytes.len());
///         Ok(())
///     })?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Source {
    inner: Inner,
    by_name: NameIndex,
}

#[derive(Debug)]
enum Inner {
    SafeTensors(SafeTensors),
    Npy(Npy),
    Gguf(Gguf),
}

impl Source {
    /// Opens a file of any of these kinds and checks its header, without reading the data.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is of no known kind, or breaks a rule of its format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_input(Input::open(path.as_ref())?)
    }

    /// Opens bytes in memory, such as a downloaded file; `name` stands for the path in
    /// errors and, without its extension, for the name of an `.npy` file's tensor.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), without those of the file system.
    ///
    /// ```
    /// use smallfloat_tensor::Source;
    ///
    /// let header = br#"{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
    /// let mut file = (header.len() as u64).to_le_bytes().to_vec();
    /// file.extend(header);
    /// file.extend([7, 8]);
    /// let source = Source::from_bytes("download", file)?;
    /// assert_eq!(source.read_all(&source.tensors()[0])?, [7, 8]);
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    pub fn from_bytes(name: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self> {
        Self::from_input(Input::from_bytes(name.as_ref(), bytes))
    }

    fn from_input(input: Input) -> Result<Self> {
        let mut start = [0; 12];
        let have = usize::try_from(input.len()).map_or(start.len(), |len| len.min(start.len()));
        let start = &mut start[..have];
        input.read_exact_at(0, start)?;
        if start.starts_with(MAGIC) {
            return Npy::from_input(input).map(Inner::Npy).map(Self::new);
        }
        // No header is as long as this would be as a length.
        if start.starts_with(gguf::MAGIC) && start.get(4..8) != Some(&[0; 4]) {
            return Gguf::from_input(input).map(Inner::Gguf).map(Self::new);
        }
        // A length may begin with any bytes, but no legal one reaches into its upper half.
        if start.get(4..8) != Some(&[0; 4])
            && let Some(kind) = foreign_kind(start)
        {
            let what = format!("this is {kind}; .safetensors, .npy and .gguf files are read");
            return Err(Error::unsupported(input.path(), what));
        }
        SafeTensors::from_input(input).map(Inner::SafeTensors).map(Self::new)
    }

    fn new(inner: Inner) -> Self {
        Self { inner, by_name: NameIndex::default() }
    }

    /// Returns the kind of the file.
    pub fn kind(&self) -> SourceKind {
        match self.inner {
            Inner::SafeTensors(_) => SourceKind::SafeTensors,
            Inner::Npy(_) => SourceKind::Npy,
            Inner::Gguf(_) => SourceKind::Gguf,
        }
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        self.input().path()
    }

    /// Returns the length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.input().len()
    }

    /// Returns the tensors, in the order of the file's header.
    pub fn tensors(&self) -> &[TensorInfo] {
        match &self.inner {
            Inner::SafeTensors(file) => file.tensors(),
            Inner::Npy(file) => std::slice::from_ref(file.tensor()),
            Inner::Gguf(file) => file.tensors(),
        }
    }

    /// Returns the tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.find(self.tensors(), name, |tensor| &tensor.name)
    }

    /// The place of the tensor of this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.position(self.tensors(), name, |tensor| &tensor.name)
    }

    /// The tensors and their places, in the order of their names.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (usize, &TensorInfo)> {
        let tensors = self.tensors();
        self.by_name.order(tensors, |tensor| &tensor.name).iter().map(|&i| (i, &tensors[i]))
    }

    /// Returns the file's free text in its order; an `.npy` file has none.
    pub fn metadata(&self) -> &[(String, String)] {
        match &self.inner {
            Inner::SafeTensors(file) => file.metadata(),
            Inner::Npy(_) => &[],
            Inner::Gguf(file) => file.metadata(),
        }
    }

    /// The file, if it is a GGUF file.
    pub(crate) fn gguf(&self) -> Option<&Gguf> {
        match &self.inner {
            Inner::Gguf(file) => Some(file),
            Inner::SafeTensors(_) | Inner::Npy(_) => None,
        }
    }

    /// Streams a tensor: `each` gets the index of the first element and the little-endian bytes of
    /// whole elements, in order. No more memory is used than `buf`;
    /// [`CHUNK_BYTES`](crate::CHUNK_BYTES) is a good size. Where the buffer is not a multiple of
    /// the element, its tail is not used.
    ///
    /// # Errors
    ///
    /// If reading fails, the buffer is smaller than an element, or `each` returns an error, which
    /// ends the stream.
    pub fn read_chunks(
        &self,
        tensor: &TensorInfo,
        buf: &mut [u8],
        each: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.input().read_chunks(tensor, buf, each)
    }

    /// Fills `out` with the little-endian bytes from element `first` on. Shares no state with other
    /// reads, so several threads may read at once.
    ///
    /// # Errors
    ///
    /// If the range reaches beyond the tensor, does not begin at a whole byte, or reading fails.
    pub fn read_range(&self, tensor: &TensorInfo, first: u64, out: &mut [u8]) -> Result<()> {
        self.input().read_range(tensor, first, out)
    }

    /// Fills `out` from byte `begin` of a tensor on: for codes that are packed.
    pub(crate) fn read_bytes(&self, tensor: &TensorInfo, begin: u64, out: &mut [u8]) -> Result<()> {
        self.input().read_bytes(tensor, begin, out)
    }

    /// Reads a whole tensor into memory: for the small ones, such as biases.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn read_all(&self, tensor: &TensorInfo) -> Result<Vec<u8>> {
        self.input().read_all(tensor)
    }

    /// Returns the SHA-256, in hexadecimal, of everything before the data: names, types, shapes,
    /// places and free text.
    ///
    /// # Errors
    ///
    /// If reading fails.
    pub fn header_sha256(&self) -> Result<String> {
        // Neither other format has holes or trailing bytes, so the data ends with the file.
        let data = self.tensors().iter().map(|tensor| tensor.len).fold(0, u64::saturating_add);
        let data_start = self.gguf().map_or(self.file_len().saturating_sub(data), Gguf::data_start);
        let (mut done, end) = (0, data_start.min(self.file_len()));
        let mut digest = Sha256::new();
        let mut buffer = chunk_buffer(end);
        while done < end {
            let part = usize::try_from(end - done).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.input().read_exact_at(done, &mut buffer[..part])?;
            digest.update(&buffer[..part]);
            done += part as u64;
        }
        Ok(format!("{:x}", digest.finalize()))
    }

    fn input(&self) -> &Input {
        match &self.inner {
            Inner::SafeTensors(file) => file.input(),
            Inner::Npy(file) => file.input(),
            Inner::Gguf(file) => file.input(),
        }
    }
}

/// The name of a well-known kind of file that is not read.
fn foreign_kind(start: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 6] = [
        (b"PK\x03\x04", "a zip archive (.npz, or a PyTorch checkpoint)"),
        (b"\x80\x02", "a Python pickle (an old PyTorch checkpoint)"),
        (b"\x80\x04", "a Python pickle"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"version http", "a Git LFS pointer, not the file itself (fetch it with git lfs pull)"),
    ];
    if start.first() == Some(&b'{') {
        return Some("JSON text (for a sharded checkpoint's index, name its shards)");
    }
    KINDS.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::dtype::Dtype;
    use crate::file::formats::npy::NpyWriter;
    use std::fs;

    fn write(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.bin");
        fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    #[test]
    fn the_kind_is_told_by_content() {
        let (_dir, path) = write(b"\x02\0\0\0\0\0\0\0{}");
        let source = Source::open(&path).unwrap();
        assert_eq!((source.kind(), source.tensors().len()), (SourceKind::SafeTensors, 0));
        let mut writer = NpyWriter::create(&path, Dtype::U8, &[2], true).unwrap();
        writer.append(&[7, 8]).unwrap();
        writer.finish().unwrap();
        let source = Source::open(&path).unwrap();
        assert_eq!(source.kind(), SourceKind::Npy);
        let tensor = source.tensor("w").unwrap();
        assert_eq!(source.read_all(tensor).unwrap(), [7, 8]);
        let mut one = [0];
        source.read_range(tensor, 1, &mut one).unwrap();
        assert_eq!((one, source.metadata().len()), ([8], 0));
    }

    #[test]
    fn a_header_length_that_looks_like_a_zip_file_is_still_a_header_length() {
        let length = u64::from(u32::from_le_bytes(*b"PK\x03\x04"));
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(b"{}");
        let (_dir, path) = write(&bytes);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8 + length).unwrap();
        let error = Source::open(&path).unwrap_err();
        assert!(error.to_string().contains("padded with spaces only"), "{error}");
    }

    #[test]
    fn foreign_files_are_named() {
        for (bytes, part) in [
            (&b"PK\x03\x04\x14\0\0\0\x08\x08"[..], "a zip archive"),
            (b"\x80\x02\x8a\x0a", "a Python pickle"),
            (b"{\"metadata\": {}}", "JSON text"),
            (b"version https://git-lfs", "a Git LFS pointer"),
        ] {
            let (_dir, path) = write(bytes);
            let error = Source::open(&path).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(part), "{error}");
        }
        let (_dir, path) = write(b"");
        assert!(Source::open(&path).unwrap_err().to_string().contains("ends after 0"));
    }
}
