//! Writing safetensors and GGUF files: layout first, data in any order, text last, whole or not at
//! all.
//!
//! The names, types and shapes of all tensors are given when a [`Sink`] is created; where every
//! byte goes is known from then on, so tensors can be written in pieces, in any order and by
//! several threads, straight to their place.
//!
//! Free text may hold what only the data can tell, such as digests. So the text given at the
//! beginning is a draft: it fixes how much room the header has, and [`Sink::finish_with`] replaces
//! it by the final text, which must fit (the rest becomes the padding of spaces that the format
//! allows). A draft with digests of the right length, all zeros, reserves exactly what is needed;
//! [`SinkOptions::reserve`] adds to it where lengths are not known either. The header is written
//! last, so an unfinished file is no safetensors file.
//!
//! Tensors lie in the file by descending size of their elements, and among equals in the order
//! given, so that each is aligned (as the reference writer has it). Only the layout, the data and
//! the text decide the bytes of the file, not the order or the pieces in which they were written.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result, quoted};
use crate::file::dtype::Dtype;
use crate::file::durable::DurableFile;
use crate::file::formats::safetensors::{MAX_HEADER_BYTES, byte_len};
use crate::file::formats::safetensors_header::{HeaderText, METADATA};
use crate::file::stream::{ByteCount, TensorDigest};
use crate::file::write::gguf;
use crate::file::write::gguf::{GgufTensor, Pairs, Written};

/// A tensor to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// The name; any text but `__metadata__`.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// The dimensions, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
}

impl TensorSpec {
    /// Returns a tensor of this name, type and shape.
    pub fn new(name: impl Into<String>, dtype: Dtype, shape: impl Into<Vec<u64>>) -> Self {
        Self { name: name.into(), dtype, shape: shape.into() }
    }
}

/// Choices of a [`Sink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkOptions {
    /// Replace an output that exists.
    pub overwrite: bool,
    /// Bytes of header to keep free beyond the draft of the text.
    pub reserve: u64,
    /// Digest the data while it is written, so that [`Sink::sha256`] need not read it back.
    pub digests: bool,
}

/// A safetensors file being written.
///
/// ```
/// use smallfloat_tensor::{Dtype, Sink, SinkOptions, Source, TensorSpec};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("codes.safetensors");
/// let draft = vec![("sha256".to_owned(), "0".repeat(64))];
/// let sink = Sink::create(&path, vec![TensorSpec::new("w", Dtype::U8, [3])], draft,
/// SinkOptions::default())?; sink.append(0, &[1, 2])?;
/// sink.append(0, &[3])?;
/// let digest = sink.sha256(0)?;
/// sink.finish_with(&[("sha256".to_owned(), digest)])?;
///
/// let source = Source::open(&path)?;
/// assert_eq!(source.read_all(&source.tensors()[0])?, [1, 2, 3]);
/// assert_eq!(source.metadata()[0].1,
/// "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81");
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Sink {
    file: DurableFile,
    tensors: Vec<Slot>,
    header: Header,
    data_start: u64,
    file_len: u64,
    digests: bool,
}

#[derive(Debug)]
enum Header {
    /// Of a safetensors file.
    SafeTensors {
        /// Indices of the tensors in the order of their data.
        order: Vec<usize>,
        metadata: Vec<(String, String)>,
        /// Bytes of JSON and padding.
        len: u64,
    },
    /// Of a GGUF file, as it is written.
    Gguf(Vec<u8>),
}

#[derive(Debug)]
struct Slot {
    spec: TensorSpec,
    /// From the beginning of the data.
    begin: u64,
    len: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Written ranges, sorted, none touching another.
    written: Vec<(u64, u64)>,
    /// Where [`Sink::append`] goes on.
    appended: u64,
    /// The bytes that are digested.
    hashed: u64,
    digest: Progressing,
}

/// The digest of a tensor's bytes. Files may have very many tensors, so one that is complete or not
/// begun has no room for a hasher.
#[derive(Clone, Debug, Default)]
enum Progressing {
    #[default]
    NotBegun,
    Begun(Box<Sha256>),
    Complete(TensorDigest),
}

impl Slot {
    /// A panic elsewhere leaves the bookkeeping whole: each change is one step.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Begins a file that will stand at `path`, with a draft of its free text.
    ///
    /// # Errors
    ///
    /// If two tensors or two keys of the text have one name, a shape overflows or does not fill
    /// whole bytes, the header would be above the format's limit, or the output can't be begun (see
    /// [`DurableFile::create`]).
    pub fn create(
        path: impl AsRef<Path>,
        tensors: Vec<TensorSpec>,
        metadata: Vec<(String, String)>,
        options: SinkOptions,
    ) -> Result<Self> {
        let mut sink = Self::with_draft(path.as_ref(), tensors, &metadata, options)?;
        if let Header::SafeTensors { metadata: kept, .. } = &mut sink.header {
            *kept = metadata;
        }
        Ok(sink)
    }

    /// Begins a GGUF file.
    pub(crate) fn gguf(
        path: &Path,
        tensors: Vec<GgufTensor>,
        pairs: &Pairs,
        options: SinkOptions,
    ) -> Result<Self> {
        check_names(path, tensors.iter().map(|(spec, _)| spec))?;
        let length = |(spec, _): &GgufTensor| {
            byte_len(spec.dtype, &spec.shape)
                .map_err(|what| Error::refused(Some(path), Some(&spec.name), what))
        };
        let lengths = tensors.iter().map(length).collect::<Result<Vec<_>>>()?;
        let Written { header, begins, data_start, data_len } = gguf::header(pairs, &tensors, &lengths)?;
        let file_len = data_start.checked_add(data_len).filter(|&n| i64::try_from(n).is_ok());
        let file_len = file_len.ok_or_else(|| too_long(path))?;
        let slots = tensors.into_iter().zip(begins).zip(lengths);
        let slots = slots.map(|(((spec, _), begin), len)| Slot { spec, begin, len, state: Mutex::default() });
        let file = DurableFile::create(path, options.overwrite)?;
        file.set_len(file_len)?;
        let (tensors, header) = (slots.collect(), Header::Gguf(header));
        Ok(Self { file, tensors, header, data_start, file_len, digests: options.digests })
    }

    /// As [`create`](Self::create), for a text that is given again when the file is sealed: the
    /// draft is measured and not kept.
    pub(crate) fn with_draft(
        path: &Path,
        tensors: Vec<TensorSpec>,
        metadata: &[(String, String)],
        options: SinkOptions,
    ) -> Result<Self> {
        check_metadata(path, metadata)?;
        check_names(path, &tensors)?;
        let mut slots = Vec::with_capacity(tensors.len());
        for spec in tensors {
            let len = byte_len(spec.dtype, &spec.shape)
                .map_err(|what| Error::refused(Some(path), Some(&spec.name), what))?;
            slots.push(Slot { spec, begin: 0, len, state: Mutex::default() });
        }
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(slots[i].spec.dtype.bits()));
        let mut end = 0u64;
        for &i in &order {
            slots[i].begin = end;
            end = end.checked_add(slots[i].len).ok_or_else(|| {
                Error::refused(
                    Some(path),
                    Some(&slots[i].spec.name),
                    "the tensors together are above 64 bits",
                )
            })?;
        }
        let mut draft = ByteCount::default();
        write_header(&mut draft, &slots, &order, metadata)
            .map_err(|e| Error::io("write the header of", path, e))?;
        let ByteCount(draft) = draft;
        let header_len = draft.checked_add(options.reserve).and_then(|n| n.checked_next_multiple_of(8));
        let header_len = header_len.filter(|&n| n <= MAX_HEADER_BYTES).ok_or_else(|| {
            let what = format!(
                "the header would be above the limit of {MAX_HEADER_BYTES} bytes; write several files"
            );
            Error::refused(Some(path), None, what)
        })?;
        let data_start = 8 + header_len;
        let file_len = end.checked_add(data_start).filter(|&n| i64::try_from(n).is_ok());
        let file_len = file_len.ok_or_else(|| too_long(path))?;
        let file = DurableFile::create(path, options.overwrite)?;
        file.set_len(file_len)?;
        let header = Header::SafeTensors { order, metadata: Vec::new(), len: header_len };
        Ok(Self { file, tensors: slots, header, data_start, file_len, digests: options.digests })
    }

    /// Returns the path that the file will have.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns the length of the file when it is finished.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Writes little-endian bytes of a tensor, named by its place in the list given to
    /// [`create`](Self::create), at `offset` bytes from its beginning. Several threads may write at
    /// once.
    ///
    /// # Errors
    ///
    /// If the bytes reach beyond the tensor or were written before, or if writing fails.
    pub fn write_at(&self, tensor: usize, offset: u64, bytes: &[u8]) -> Result<()> {
        let slot = self.slot(tensor)?;
        let refused = |what| Error::refused(Some(self.path()), Some(&slot.spec.name), what);
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= slot.len).ok_or_else(|| {
            refused(format!(
                "{} bytes at {offset} reach beyond the {} bytes of the tensor",
                bytes.len(),
                slot.len
            ))
        })?;
        if bytes.is_empty() {
            return Ok(());
        }
        if !slot.state().insert(offset, end) {
            return Err(refused(format!("bytes {offset} to {end} were written before")));
        }
        if let Err(error) = self.file.write_at(self.data_start + slot.begin + offset, bytes) {
            // What failed counts as not written, so that the file can't be finished.
            slot.state().remove(offset, end);
            return Err(error);
        }
        if self.digests {
            slot.state().digest(offset, bytes, slot.len);
        }
        Ok(())
    }

    /// Writes the next bytes of a tensor: after those that were appended to it before.
    ///
    /// # Errors
    ///
    /// As [`write_at`](Self::write_at).
    pub fn append(&self, tensor: usize, bytes: &[u8]) -> Result<()> {
        let offset = self.slot(tensor)?.state().appended;
        self.write_at(tensor, offset, bytes)?;
        self.slot(tensor)?.state().appended = offset + bytes.len() as u64;
        Ok(())
    }

    /// Returns the SHA-256 of a tensor's bytes in hexadecimal. What was not digested while it was
    /// written (all of it without [`SinkOptions::digests`]; what came out of order with it) is read
    /// back.
    ///
    /// # Errors
    ///
    /// If the tensor is not complete, or reading back fails.
    pub fn sha256(&self, tensor: usize) -> Result<String> {
        Ok(self.digest(tensor)?.to_string())
    }

    /// [`sha256`](Self::sha256) as bytes.
    pub(crate) fn digest(&self, tensor: usize) -> Result<TensorDigest> {
        let slot = self.slot(tensor)?;
        self.check_complete(slot)?;
        let (mut hasher, mut done) = {
            let state = slot.state();
            match &state.digest {
                Progressing::Complete(digest) => return Ok(*digest),
                Progressing::Begun(hasher) => (hasher.as_ref().clone(), state.hashed),
                Progressing::NotBegun => (Sha256::new(), 0),
            }
        };
        let mut buf = vec![0; usize::try_from(slot.len - done).map_or(1 << 20, |left| left.min(1 << 20))];
        while done < slot.len {
            let part = usize::try_from(slot.len - done).map_or(buf.len(), |left| left.min(buf.len()));
            self.file.read_exact_at(self.data_start + slot.begin + done, &mut buf[..part])?;
            hasher.update(&buf[..part]);
            done += part as u64;
        }
        Ok(TensorDigest(hasher.finalize().into()))
    }

    /// The SHA-256 of every tensor, in the order of the list given to [`create`](Self::create).
    pub(crate) fn digests(&self) -> Result<Vec<TensorDigest>> {
        (0..self.len()).map(|tensor| self.digest(tensor)).collect()
    }

    /// A tensor, by its place in the list given to [`create`](Self::create).
    pub(crate) fn spec(&self, tensor: usize) -> &TensorSpec {
        &self.tensors[tensor].spec
    }

    /// Finishes the file with the text given at the beginning.
    ///
    /// # Errors
    ///
    /// If a tensor is not complete, or writing, flushing or renaming fails; the old output then is
    /// untouched.
    pub fn finish(self) -> Result<()> {
        self.seal(None)?.commit()
    }

    /// Finishes the file with this text instead of the draft.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish), and if the text does not fit the room that was reserved.
    pub fn finish_with(self, metadata: &[(String, String)]) -> Result<()> {
        self.seal(Some(metadata))?.commit()
    }

    /// Writes the header, with this text or the draft, and stops before the rename: the file is
    /// whole and can be verified at [`Sealed::temporary_path`] before it replaces the old one.
    ///
    /// # Errors
    ///
    /// If a tensor is not complete, the text does not fit the room that was reserved, or writing
    /// fails.
    ///
    /// # Panics
    ///
    /// Never: headers are below their limit, which [`create`](Self::create) checks.
    pub fn seal(self, metadata: Option<&[(String, String)]>) -> Result<Sealed> {
        for slot in &self.tensors {
            self.check_complete(slot)?;
        }
        let (order, draft, room) = match &self.header {
            Header::SafeTensors { order, metadata, len } => (order, metadata, *len),
            Header::Gguf(header) => {
                self.file.write_at(0, header)?;
                return Ok(Sealed { file: self.file });
            }
        };
        let metadata = metadata.unwrap_or(draft);
        check_metadata(self.path(), metadata)?;
        let io = |e| Error::io("write", self.path(), e);
        let mut json = ByteCount::default();
        write_header(&mut json, &self.tensors, order, metadata).map_err(io)?;
        let ByteCount(json) = json;
        let Some(padding) = room.checked_sub(json) else {
            let what = format!("the header takes {json} bytes where {room} were reserved; reserve more");
            return Err(Error::refused(Some(self.path()), None, what));
        };
        self.file.write_at(0, &room.to_le_bytes())?;
        let room = usize::try_from(room).expect("headers are below their limit");
        let mut file = io::BufWriter::with_capacity(room.min(1 << 20), self.file.writer_at(8));
        write_header(&mut file, &self.tensors, order, metadata).map_err(io)?;
        io::copy(&mut io::Read::take(io::repeat(b' '), padding), &mut file).map_err(io)?;
        file.flush().map_err(io)?;
        drop(file);
        Ok(Sealed { file: self.file })
    }

    fn slot(&self, tensor: usize) -> Result<&Slot> {
        self.tensors.get(tensor).ok_or_else(|| {
            let what = format!("there is no tensor {tensor}; the layout has {}", self.tensors.len());
            Error::refused(Some(self.path()), None, what)
        })
    }

    fn check_complete(&self, slot: &Slot) -> Result<()> {
        let written = &slot.state().written;
        if slot.len == 0 || *written == [(0, slot.len)] {
            return Ok(());
        }
        let missing = match written.first() {
            Some(&(0, end)) => end,
            _ => 0,
        };
        let what = format!("byte {missing} of its {} was never written", slot.len);
        Err(Error::refused(Some(self.path()), Some(&slot.spec.name), what))
    }
}

/// A complete file under its temporary name. Dropping it removes it.
#[derive(Debug)]
#[must_use = "a sealed file that is not committed is removed"]
pub struct Sealed {
    file: DurableFile,
}

impl Sealed {
    /// Returns where the file is now; it can be opened and verified there.
    pub fn temporary_path(&self) -> &Path {
        self.file.temporary_path()
    }

    /// Makes the file appear under its name.
    ///
    /// # Errors
    ///
    /// As [`DurableFile::commit`].
    pub fn commit(self) -> Result<()> {
        self.file.commit()
    }

    /// The file, to be committed with others.
    pub(crate) fn into_file(self) -> DurableFile {
        self.file
    }
}

impl State {
    /// Adds a range that is not empty; false if some of it is there already.
    fn insert(&mut self, begin: u64, end: u64) -> bool {
        let at = self.written.partition_point(|&(_, e)| e <= begin);
        if self.written.get(at).is_some_and(|&(b, _)| b < end) {
            return false;
        }
        let joins_left = at > 0 && self.written[at - 1].1 == begin;
        let joins_right = self.written.get(at).is_some_and(|&(b, _)| b == end);
        match (joins_left, joins_right) {
            (true, true) => {
                self.written[at - 1].1 = self.written[at].1;
                self.written.remove(at);
            }
            (true, false) => self.written[at - 1].1 = end,
            (false, true) => self.written[at].0 = begin,
            (false, false) => {
                // Most tensors are written in order, so that there is one range.
                self.written.reserve_exact(1);
                self.written.insert(at, (begin, end));
            }
        }
        true
    }

    /// Digests bytes that were written, if they are the next ones.
    fn digest(&mut self, offset: u64, bytes: &[u8], len: u64) {
        if self.hashed != offset {
            return;
        }
        self.hashed += bytes.len() as u64;
        if offset == 0 && self.hashed == len {
            self.digest = Progressing::Complete(TensorDigest(Sha256::digest(bytes).into()));
            return;
        }
        let mut hasher = match std::mem::take(&mut self.digest) {
            Progressing::Begun(hasher) => hasher,
            Progressing::NotBegun => Box::default(),
            Progressing::Complete(_) => unreachable!("a complete digest has no next bytes"),
        };
        hasher.update(bytes);
        self.digest = if self.hashed == len {
            Progressing::Complete(TensorDigest(hasher.finalize().into()))
        } else {
            Progressing::Begun(hasher)
        };
    }

    /// Takes out a range that was inserted.
    fn remove(&mut self, begin: u64, end: u64) {
        let Some(at) = self.written.iter().position(|&(b, e)| b <= begin && end <= e) else {
            return;
        };
        let (b, e) = self.written.remove(at);
        let rest = [(b, begin), (end, e)];
        self.written.splice(at..at, rest.into_iter().filter(|&(b, e)| b < e));
    }
}

fn too_long(path: &Path) -> Error {
    Error::refused(Some(path), None, "the tensors together are longer than any file can be")
}

fn check_names<'a>(path: &Path, tensors: impl IntoIterator<Item = &'a TensorSpec>) -> Result<()> {
    let mut names = HashSet::new();
    for TensorSpec { name, .. } in tensors {
        let refused = |what: &str| Err(Error::refused(Some(path), Some(name), what));
        if name == METADATA {
            return refused("the name is reserved for free text; rename the tensor");
        }
        if !names.insert(name) {
            return refused("two tensors would be written under this name; rename one");
        }
    }
    Ok(())
}

fn check_metadata(path: &Path, metadata: &[(String, String)]) -> Result<()> {
    let mut keys = HashSet::new();
    match metadata.iter().find(|(key, _)| !keys.insert(key)) {
        Some((key, _)) => {
            let what = format!("the key {} comes twice in the free text; keys must be unique", quoted(key));
            Err(Error::refused(Some(path), None, what))
        }
        None => Ok(()),
    }
}

fn write_header(
    out: impl io::Write,
    slots: &[Slot],
    order: &[usize],
    metadata: &[(String, String)],
) -> io::Result<()> {
    let tensors = order.iter().map(|&i| {
        let Slot { spec, begin, len, .. } = &slots[i];
        (spec.name.as_str(), spec.dtype, spec.shape.as_slice(), [*begin, begin + len])
    });
    serde_json::to_writer(out, &HeaderText { metadata, tensors }).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(ranges: &[(u64, u64)]) -> State {
        let mut state = State::default();
        for &(begin, end) in ranges {
            assert!(state.insert(begin, end));
        }
        state
    }

    #[test]
    fn ranges_join_and_never_overlap() {
        assert_eq!(state(&[(0, 2), (2, 4), (4, 5)]).written, [(0, 5)]);
        assert_eq!(state(&[(4, 5), (0, 2), (2, 4)]).written, [(0, 5)]);
        assert_eq!(state(&[(8, 9), (4, 5), (0, 1)]).written, [(0, 1), (4, 5), (8, 9)]);
        let mut held = state(&[(2, 4), (6, 8)]);
        for (begin, end) in [(0, 3), (2, 4), (3, 4), (3, 7), (5, 9), (0, 20), (7, 8)] {
            assert!(!held.insert(begin, end), "{begin}..{end}");
        }
        assert!(held.insert(4, 6));
        held.remove(5, 7);
        assert_eq!(held.written, [(2, 5), (7, 8)]);
    }
}
