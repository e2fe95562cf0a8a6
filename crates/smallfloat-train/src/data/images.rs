//! [`Images`]: grey images with labels, and the IDX files that MNIST and its likes come in.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::data::{Batch, Data, Digest, Input};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::random::Sequence;

/// The most bytes that a file may hold when it is decompressed.
const MOST_BYTES: u64 = 1 << 30;
/// Images of a batch of an evaluation.
const VALIDATION: usize = 500;

/// Grey images of one size, to learn from and to be judged by.
#[derive(Clone, Debug)]
pub struct Images {
    name: String,
    size: [usize; 2],
    classes: usize,
    train: Part,
    test: Part,
}

#[derive(Clone, Debug)]
struct Part {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Part {
    fn batch(&self, images: impl Iterator<Item = usize>, pixels: usize, full: f32) -> Batch {
        let (mut x, mut labels) = (Matrix { columns: pixels, values: Vec::new() }, Vec::new());
        for image in images {
            let bytes = &self.pixels[image * pixels..][..pixels];
            x.values.extend(bytes.iter().map(|byte| f32::from(*byte) / full));
            labels.push(u16::from(self.labels[image]));
        }
        Batch { input: Input::Rows(x), labels }
    }
}

impl Images {
    /// Images as bytes, row by row; each part is pixels and labels.
    ///
    /// # Errors
    /// Parts without images, or with another number of pixels or labels than the size says.
    pub fn new(
        name: impl Into<String>,
        size: [usize; 2],
        [train, test]: [(Vec<u8>, Vec<u8>); 2],
    ) -> Result<Self> {
        let pixels = size[0] * size[1];
        for (part, (bytes, labels)) in [("training", &train), ("test", &test)] {
            if labels.is_empty() || bytes.len() != labels.len() * pixels {
                let what = format!(
                    "{} labels and {} pixels in the {part} part: each label needs {pixels}",
                    labels.len(),
                    bytes.len()
                );
                return Err(Error::config(what));
            }
        }
        let classes = train.1.iter().chain(&test.1).max().map_or(0, |label| usize::from(*label) + 1);
        let part = |(pixels, labels)| Part { pixels, labels };
        Ok(Self { name: name.into(), size, classes, train: part(train), test: part(test) })
    }

    /// Height and width.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// How many images there are to learn from.
    pub fn len(&self) -> usize {
        self.train.labels.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.train.labels.is_empty()
    }

    /// What a full pixel holds: 255, or less where no image goes that far.
    fn full(&self) -> f32 {
        f32::from(self.train.pixels.iter().copied().max().unwrap_or(255).max(1))
    }
}

impl Data for Images {
    fn batch(&self, seed: u64, step: u64, size: usize) -> Batch {
        let sequence = Sequence::new(seed, "batches");
        let images = (0..size as u64).map(|i| sequence.below(step * size as u64 + i, self.len()));
        self.train.batch(images, self.size[0] * self.size[1], self.full())
    }

    fn validation(&self) -> Vec<Batch> {
        let count = self.test.labels.len();
        let batch = |first: usize| {
            self.test.batch(first..(first + VALIDATION).min(count), self.size[0] * self.size[1], self.full())
        };
        (0..count).step_by(VALIDATION).map(batch).collect()
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for part in [&self.train, &self.test] {
            digest.add(&part.pixels);
            digest.add(&part.labels);
        }
        digest.0
    }
}

/// Reads `{train,t10k}-images-idx3-ubyte` and `{train,t10k}-labels-idx1-ubyte`, plain or `.gz`,
/// from a folder.
///
/// The IDX format: two zero bytes, 8 for unsigned bytes, the number of dimensions, each dimension
/// as a big-endian 32-bit integer, the data (LeCun, Cortes and Burges, "The MNIST database",
/// section "File formats").
///
/// # Errors
/// Files that are missing, no IDX of unsigned bytes, or do not fit together.
pub fn read_idx_folder(folder: &Path) -> Result<Images> {
    let part = |name: &str| {
        let (shape, pixels) = read_idx(folder, &format!("{name}-images-idx3-ubyte"), 3)?;
        let (_, labels) = read_idx(folder, &format!("{name}-labels-idx1-ubyte"), 1)?;
        Ok::<_, Error>(([shape[1], shape[2]], (pixels, labels)))
    };
    let (size, train) = part("train")?;
    let (other, test) = part("t10k")?;
    if size != other {
        return Err(Error::data(
            folder,
            format!("images to learn from are {size:?} pixels, those of the test {other:?}"),
        ));
    }
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Images::new(name, size, [train, test]).map_err(|e| Error::data(folder, e.to_string()))
}

/// The dimensions and data of a file.
fn read_idx(folder: &Path, name: &str, dimensions: usize) -> Result<(Vec<usize>, Vec<u8>)> {
    let (plain, packed) = (folder.join(name), folder.join(format!("{name}.gz")));
    let mut bytes = Vec::new();
    let path = if plain.exists() { plain } else { packed };
    let file = File::open(&path).map_err(|e| Error::read(&path, e))?;
    let limited: &mut dyn Read = if path.extension().is_some_and(|e| e == "gz") {
        &mut GzDecoder::new(file).take(MOST_BYTES)
    } else {
        &mut file.take(MOST_BYTES)
    };
    limited.read_to_end(&mut bytes).map_err(|e| Error::read(&path, e))?;
    let header = 4 + 4 * dimensions;
    if bytes.len() < header || bytes[..3] != [0, 0, 8] || usize::from(bytes[3]) != dimensions {
        let what = format!(
            "no IDX file of unsigned bytes in {dimensions} dimensions (it begins with 00 00 08 {dimensions:02x})"
        );
        return Err(Error::data(path, what));
    }
    let (shape, rest) = bytes[4..].split_at(4 * dimensions);
    let shape: Vec<usize> = shape
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| usize::try_from(u32::from_be_bytes(*b)).unwrap_or(usize::MAX))
        .collect();
    let wanted = shape.iter().try_fold(1_usize, |product, n| product.checked_mul(*n));
    if wanted != Some(rest.len()) {
        let what = format!("dimensions {shape:?}, but {} bytes of data", rest.len());
        return Err(Error::data(path, what));
    }
    Ok((shape, rest.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn idx(shape: &[u32], data: &[u8]) -> Vec<u8> {
        let dimensions = u8::try_from(shape.len()).unwrap();
        let head = [0, 0, 8, dimensions].into_iter();
        head.chain(shape.iter().flat_map(|n| n.to_be_bytes())).chain(data.iter().copied()).collect()
    }

    #[test]
    fn folders_plain_and_packed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("train-images-idx3-ubyte", &idx(&[2, 1, 3], &[0, 51, 255, 1, 2, 3]));
        write("train-labels-idx1-ubyte", &idx(&[2], &[4, 0]));
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&idx(&[1, 1, 3], &[255, 0, 0])).unwrap();
        write("t10k-images-idx3-ubyte.gz", &packed.finish().unwrap());
        write("t10k-labels-idx1-ubyte", &idx(&[1], &[2]));
        let images = read_idx_folder(folder.path()).unwrap();
        assert_eq!((images.size(), images.len(), images.classes()), ([1, 3], 2, 5));
        let [batch] = &images.validation()[..] else { panic!("one batch") };
        assert_eq!(batch.labels, [2]);
        assert_eq!(batch.input, Input::Rows(Matrix { columns: 3, values: vec![1.0, 0.0, 0.0] }));

        write("t10k-labels-idx1-ubyte", &idx(&[2], &[2]));
        let error = read_idx_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("dimensions [2], but 1 bytes"), "{error}");
        write("t10k-labels-idx1-ubyte", b"\x00\x00\x09\x01");
        assert!(read_idx_folder(folder.path()).is_err());
    }
}
