//! IDX files, which MNIST and its likes come in, plain or packed by gzip.
//!
//! The IDX format: two zero bytes, 8 for unsigned bytes, the number of dimensions, each dimension
//! as a big-endian 32-bit integer, the data (LeCun, Cortes and Burges, "The MNIST database",
//! section "File formats").

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::data::file::{DataFile, MOST_BYTES};
use crate::error::{Error, Result};

/// What an IDX file holds.
#[derive(Debug)]
pub(crate) struct Idx<const N: usize> {
    /// The file that was read.
    pub(crate) path: PathBuf,
    /// The dimensions, none of them zero.
    pub(crate) shape: [usize; N],
    /// As many bytes as the dimensions promise.
    pub(crate) data: Vec<u8>,
}

impl<const N: usize> Idx<N> {
    /// Reads `name`, or `name.gz` where that is missing, from a folder. What the file holds must
    /// fit into `budget` bytes, which are then fewer.
    ///
    /// # Errors
    /// A file that can't be read, is no IDX file of unsigned bytes in N dimensions, has a dimension
    /// of zero, or has more or fewer bytes than its dimensions promise or the budget allows.
    pub(crate) fn read(folder: &Path, name: &str, budget: &mut u64) -> Result<Self> {
        let (plain, packed) = (folder.join(name), folder.join(format!("{name}.gz")));
        let is_packed = !plain.exists();
        if is_packed && !packed.exists() {
            let what =
                format!("the folder has neither `{name}` nor `{name}.gz`, an IDX file of images or labels");
            return Err(Error::data(folder, what));
        }
        let path = if is_packed { packed } else { plain };
        let file = DataFile::open(&path, MOST_BYTES)?;
        if is_packed {
            return Self::from_reader(path, GzDecoder::new(file.reader), None, budget);
        }
        Self::from_reader(path, file.reader, Some(file.length), budget)
    }

    /// Reads the header, and then the bytes that it promises. `length` is that of the whole, where
    /// it is known.
    fn from_reader(
        path: PathBuf,
        mut reader: impl Read,
        length: Option<u64>,
        budget: &mut u64,
    ) -> Result<Self> {
        let refuse = |what: String| Error::data(&path, what);
        let failed = |e: std::io::Error| match e.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                Error::data(&path, format!("damaged: {e}"))
            }
            _ => Error::read(&path, e),
        };
        let mut header = Vec::new();
        let header_bytes = 4 + 4 * N;
        reader.by_ref().take(header_bytes as u64).read_to_end(&mut header).map_err(failed)?;
        let dimensions = u8::try_from(N).expect("few dimensions");
        let magic = [0, 0, 8, dimensions];
        let begins = &header[..header.len().min(4)];
        if begins != &magic[..begins.len()] {
            return Err(refuse(format!(
                "no IDX file of unsigned bytes in {N} dimensions: it begins with {}, not with {}",
                hexadecimal(begins),
                hexadecimal(&magic)
            )));
        }
        if header.len() < header_bytes {
            return Err(refuse(format!("ends after {} of the header's {header_bytes} bytes", header.len())));
        }
        let sizes = header[4..].as_chunks::<4>().0;
        let shape: [u32; N] = std::array::from_fn(|i| u32::from_be_bytes(sizes[i]));
        if shape.contains(&0) {
            return Err(refuse(format!("dimensions {shape:?}: each must be one at least")));
        }
        let promised = shape.iter().try_fold(1_u64, |product, n| product.checked_mul(u64::from(*n)));
        let Some(promised) = promised.filter(|promised| promised <= budget) else {
            return Err(refuse(format!(
                "dimensions {shape:?}: {budget} bytes are the most that are read of it, and {MOST_BYTES} of \
                 a whole folder"
            )));
        };
        if let Some(found) =
            length.and_then(|length| length.checked_sub(header_bytes as u64)).filter(|n| *n != promised)
        {
            return Err(refuse(format!("dimensions {shape:?} promise {promised} bytes, but {found} follow")));
        }
        let mut data = Vec::new();
        reader.by_ref().take(promised).read_to_end(&mut data).map_err(failed)?;
        if (data.len() as u64) < promised {
            let found = data.len();
            return Err(refuse(format!("dimensions {shape:?} promise {promised} bytes, but {found} follow")));
        }
        // The end, where gzip has its checksum too.
        if reader.read(&mut [0]).map_err(failed)? != 0 {
            return Err(refuse(format!("dimensions {shape:?} promise {promised} bytes, but more follow")));
        }
        *budget -= promised;
        let shape = shape.map(|n| usize::try_from(n).expect("addresses have 32 bits at least"));
        Ok(Self { path, shape, data })
    }
}

/// Bytes in pairs of digits.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// A file with these dimensions and data, whether they fit or not.
    pub(crate) fn idx(shape: &[u32], data: &[u8]) -> Vec<u8> {
        let dimensions = u8::try_from(shape.len()).unwrap();
        let head = [0, 0, 8, dimensions].into_iter();
        head.chain(shape.iter().flat_map(|n| n.to_be_bytes())).chain(data.iter().copied()).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn read(name: &str, bytes: &[u8], mut budget: u64) -> Result<Idx<3>> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
        Idx::read(folder.path(), "images", &mut budget)
    }

    #[test]
    fn odd_headers_are_named() {
        let whole = idx(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]);
        let mut signed = whole.clone();
        signed[2] = 9;
        for (bytes, expected) in [
            (&whole[..0], "ends after 0 of the header's 16 bytes"),
            (&whole[..3], "ends after 3 of the header's 16 bytes"),
            (&whole[..15], "ends after 15 of the header's 16 bytes"),
            (&whole[..21], "dimensions [2, 1, 3] promise 6 bytes, but 5 follow"),
            (&signed, "begins with 00 00 09 03, not with 00 00 08 03"),
            (&idx(&[6], &[0; 6]), "begins with 00 00 08 01, not with 00 00 08 03"),
            (&idx(&[0, 1, 3], &[]), "dimensions [0, 1, 3]: each must be one at least"),
            (&idx(&[2, 0, 0], &[]), "dimensions [2, 0, 0]: each must be one at least"),
            (&idx(&[u32::MAX; 3], &[]), "100 bytes are the most"),
            (&idx(&[1 << 31, 1 << 31, 4], &[]), "100 bytes are the most"),
            (&idx(&[2, 1, 51], &[0; 102]), "100 bytes are the most"),
        ] {
            for (name, bytes) in [("images", bytes.to_vec()), ("images.gz", packed(bytes))] {
                let error = read(name, &bytes, 100).unwrap_err().to_string();
                assert!(error.contains(expected) && error.contains(name), "{error}, not {expected}");
            }
        }
        let long = idx(&[2, 1, 3], &[0; 7]);
        assert!(read("images", &long, 100).unwrap_err().to_string().ends_with("but 7 follow"));
        assert!(read("images.gz", &packed(&long), 100).unwrap_err().to_string().ends_with("but more follow"));
        for name in ["images", "images.gz"] {
            let bytes = if name == "images" { whole.clone() } else { packed(&whole) };
            let found = read(name, &bytes, 6).unwrap();
            assert_eq!((found.shape, &found.data[..]), ([2, 1, 3], &[1, 2, 3, 4, 5, 6][..]));
        }
    }

    #[test]
    fn packed_files_are_read_no_further_than_they_promise() {
        // 64 MiB of zeros in 64 KiB, behind a header that promises six bytes.
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        bomb.write_all(&idx(&[2, 1, 3], &[])).unwrap();
        bomb.write_all(&vec![0; 64 << 20]).unwrap();
        let bomb = bomb.finish().unwrap();
        let mut taken = 0;
        let counted = Counted(&bomb, &mut taken);
        let error =
            Idx::<3>::from_reader("bomb".into(), GzDecoder::new(counted), None, &mut 100).unwrap_err();
        assert!(error.to_string().ends_with("promise 6 bytes, but more follow"), "{error}");
        assert!(taken <= bomb.len() / 2, "{taken} of {} bytes", bomb.len());
        // What is damaged is told.
        let mut damaged = packed(&idx(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]));
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        assert!(read("images.gz", &damaged, 100).unwrap_err().to_string().contains("damaged"));
        assert!(read("images.gz", b"no gzip", 100).unwrap_err().to_string().contains("damaged"));
    }

    /// A reader that counts what is taken from it.
    struct Counted<'a>(&'a [u8], &'a mut usize);

    impl Read for Counted<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let taken = self.0.read(buf)?;
            *self.1 += taken;
            Ok(taken)
        }
    }
}
