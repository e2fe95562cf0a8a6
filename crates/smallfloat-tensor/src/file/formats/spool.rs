//! [`Spool`]: a stream of bytes kept in a temporary file, because tensors are read at positions.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::{io, mem};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::file::formats::gguf;
use crate::file::formats::npy::{MAGIC, Npy};
use crate::file::formats::safetensors::SafeTensors;
use crate::file::formats::source::Source;
use crate::file::input::{CHUNK_BYTES, Input};
use crate::file::temporaries;
use crate::file::temporaries::Registered;

/// A safetensors or `.npy` file that came as a stream. Its temporary file is removed with it.
#[derive(Debug)]
pub struct Spool {
    _folder: TempDir,
    _registered: Registered,
    path: PathBuf,
}

impl Spool {
    /// Reads a stream to its end. The header is judged first, and then exactly the bytes are kept
    /// that it promises: a stream that is no file of tensors, or that never ends, fills no disk.
    /// Errors call the file `name`; its file name without extension names the tensor of an `.npy`
    /// file.
    ///
    /// # Errors
    /// A header that is refused, a stream that is shorter or longer than its header says, and a
    /// temporary file that can't be written.
    pub fn read(stream: &mut dyn Read, name: impl AsRef<Path>) -> Result<Self> {
        Self::of(stream, name.as_ref())
    }

    fn of(stream: &mut dyn Read, name: &Path) -> Result<Self> {
        let reading = |e| Error::io("read", name, e);
        let mut head = Vec::new();
        stream.take(12).read_to_end(&mut head).map_err(reading)?;
        let is_npy = head.starts_with(MAGIC);
        let wanted = if is_npy { Npy::header_end(&head) } else { SafeTensors::header_end(&head) };
        if let Some(wanted) = wanted {
            stream.take(wanted.saturating_sub(head.len() as u64)).read_to_end(&mut head).map_err(reading)?;
        }
        if wanted.is_none_or(|wanted| (head.len() as u64) < wanted) {
            if head.starts_with(gguf::MAGIC) {
                let what = "this is a GGUF file, which is read from a disk and not from a stream";
                return Err(Error::unsupported(name, what));
            }
            // Too short, or of another kind: this says how.
            return Err(match Source::from_bytes(name, head) {
                Err(error) => error,
                Ok(_) => Error::malformed(name, None, "the stream has no header of a file of tensors"),
            });
        }
        let input = Input::beginning(name, mem::take(&mut head));
        let len = if is_npy { Npy::promised_len(&input)? } else { SafeTensors::promised_len(&input)? };
        let spool = Self::create()?;
        let mut file = File::create(&spool.path).map_err(|e| Error::io("make", &spool.path, e))?;
        let mut left = len - input.bytes().len() as u64;
        let write = |file: &mut File, bytes: &[u8]| {
            file.write_all(bytes).map_err(|e| Error::io("keep standard input in", &spool.path, e))
        };
        write(&mut file, input.bytes())?;
        let mut buffer = vec![0; CHUNK_BYTES];
        while left > 0 {
            let room = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            let count = read_some(stream, &mut buffer[..room]).map_err(reading)?;
            if count == 0 {
                let what = format!("it ends after {} bytes, its header promises {len}", len - left);
                return Err(Error::malformed(name, Some(len - left), what));
            }
            write(&mut file, &buffer[..count])?;
            left -= count as u64;
        }
        if read_some(stream, &mut buffer[..1]).map_err(reading)? > 0 {
            let what = format!("it goes on after the {len} bytes that its header promises");
            return Err(Error::malformed(name, Some(len), what));
        }
        Ok(spool)
    }

    fn create() -> Result<Self> {
        let make = || tempfile::Builder::new().prefix("smallfloat-").tempdir();
        let (folder, registered) = temporaries::make(make, |folder| folder.path().to_path_buf())
            .map_err(|e| Error::io("make a temporary folder in", &std::env::temp_dir(), e))?;
        let path = folder.path().join("stdin");
        Ok(Self { _folder: folder, _registered: registered, path })
    }

    /// Returns the temporary file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read_some(stream: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some bytes, then zeros without end; counts what is taken.
    struct Endless<'a> {
        begin: &'a [u8],
        taken: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count =
                if self.begin.is_empty() { io::repeat(0).read(buffer)? } else { self.begin.read(buffer)? };
            self.taken += count;
            Ok(count)
        }
    }

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    const HEADER: &str = r#"{"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#;

    fn npy(data: &[u8]) -> Vec<u8> {
        let mut bytes = crate::file::formats::npy_header::text(*b"\x93NUMPY", "|u1", &[3]);
        bytes.extend(data);
        bytes
    }

    #[test]
    fn whole_streams_are_kept_and_removed_with_the_spool() {
        for bytes in [file(HEADER, &[1, 2, 3]), npy(&[1, 2, 3]), file("{}", &[])] {
            let spool = Spool::read(&mut &*bytes, "standard input").unwrap();
            assert_eq!(std::fs::read(spool.path()).unwrap(), bytes);
            let source = Source::open(spool.path()).unwrap();
            assert!(source.tensors().iter().all(|tensor| source.read_all(tensor).unwrap() == [1, 2, 3]));
            let path = spool.path().to_path_buf();
            drop(spool);
            assert!(!path.parent().unwrap().exists());
        }
    }

    #[test]
    fn streams_that_never_end_are_refused_by_their_headers() {
        let long = file(HEADER, &[1, 2, 3]);
        let array = npy(&[1, 2, 3]);
        let mut huge = (1_u64 << 40).to_le_bytes().to_vec();
        huge.extend([0; 8]);
        for (begin, most, part) in [
            (&b""[..], 100, "too short"),
            (b"PK\x03\x04\x14\0\0\0\x08\0", 100, "zip archive"),
            (&huge, 100, "above the limit"),
            (&long, 100, "goes on after the"),
            (&array, 200, "goes on after the"),
            (b"\x93NUMPY\x01\0\xff\xff", 1 << 17, "bad header"),
        ] {
            let mut stream = Endless { begin, taken: 0 };
            let error = Spool::read(&mut stream, "standard input").unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.to_string().starts_with("`standard input`"), "{error}");
            assert!(stream.taken <= most, "{} bytes", stream.taken);
        }
    }

    #[test]
    fn streams_that_end_early_are_refused() {
        for bytes in [file(HEADER, &[1, 2, 3]), npy(&[1, 2, 3])] {
            for len in 0..bytes.len() {
                let error = Spool::read(&mut &bytes[..len], "standard input").unwrap_err();
                assert!(error.is_malformed() || error.is_unsupported(), "{error}");
            }
        }
    }
}
