//! The one door to files of data: regular files alone, and no more bytes than a limit.

use std::fs::File;
use std::io::{Read as _, Take};
use std::path::Path;

use smallfloat_tensor::open_regular;

use crate::error::{Error, Result};

/// The most bytes that data may have in memory, decompressed.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// An open file of data that gives no more bytes than its limit.
#[derive(Debug)]
pub(crate) struct DataFile {
    /// What is left to read of it.
    pub(crate) reader: Take<File>,
    /// Its length in bytes.
    pub(crate) length: u64,
}

impl DataFile {
    /// Opens a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// A file that can't be opened, one that is longer, and what is no regular file: folders,
    /// devices and pipes, which may never end.
    pub(crate) fn open(path: &Path, limit: u64) -> Result<Self> {
        let (file, length) = open_regular(path)?;
        if length > limit {
            let what = format!("{length} bytes: {limit} are the most that is read");
            return Err(Error::data(path, what));
        }
        Ok(Self { reader: file.take(limit), length })
    }

    /// Reads a whole file of at most `limit` bytes as UTF-8.
    ///
    /// # Errors
    /// As [`open`](Self::open), and bytes that are no UTF-8.
    pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String> {
        let mut bytes = Vec::new();
        Self::open(path, limit)?.reader.read_to_end(&mut bytes).map_err(|e| Error::read(path, e))?;
        String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            Error::data(path, format!("byte {at} is no UTF-8; convert the text first"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_regular_files_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "abcde").unwrap();
        assert_eq!(DataFile::read_text(&path, 5).unwrap(), "abcde");
        let refused = |path: &Path, limit| DataFile::read_text(path, limit).unwrap_err().to_string();
        assert!(refused(&path, 4).ends_with("5 bytes: 4 are the most that is read"));
        assert!(refused(folder.path(), 4).contains("this is a folder"));
        fs::write(&path, b"ab\xff").unwrap();
        assert!(refused(&path, 5).ends_with("byte 2 is no UTF-8; convert the text first"));
        assert!(refused(&folder.path().join("none"), 4).starts_with("cannot open"));
        #[cfg(unix)]
        assert!(refused(Path::new("/dev/zero"), 4).contains("not a regular file"));
    }
}
