//! [`Images`]: grey images with labels, and the IDX files that MNIST and its likes come in.

use std::path::Path;

use crate::data::file::MOST_BYTES;
use crate::data::idx::Idx;
use crate::data::{Batch, Dataset, Digest, Input};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::random::RandomSequence;

/// Images of a batch of an evaluation.
const VALIDATION: usize = 500;

/// Grey images of one size, to learn from and to be judged by.
#[derive(Clone, Debug)]
pub struct Images {
    name: String,
    size: [usize; 2],
    classes: usize,
    /// What a full pixel holds: 255, or less where no image goes that far.
    full: f32,
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
    /// A size without pixels, parts without images, or with another number of pixels or labels than
    /// the size says.
    pub fn new(
        name: impl Into<String>,
        size: [usize; 2],
        [train, test]: [(Vec<u8>, Vec<u8>); 2],
    ) -> Result<Self> {
        let Some(pixels) = size[0].checked_mul(size[1]).filter(|pixels| *pixels > 0) else {
            let [height, width] = size;
            return Err(Error::config(format!("images of {height} × {width} pixels: one is the least")));
        };
        for (part, (bytes, labels)) in [("training", &train), ("test", &test)] {
            if labels.is_empty() || labels.len().checked_mul(pixels) != Some(bytes.len()) {
                let what = format!(
                    "{} labels and {} pixels in the {part} part: each label needs {pixels}",
                    labels.len(),
                    bytes.len()
                );
                return Err(Error::config(what));
            }
        }
        let largest = train.1.iter().chain(&test.1).fold(0, |most, label| most.max(*label));
        let classes = usize::from(largest) + 1;
        let full = train.0.iter().fold(1, |most: u8, pixel| most.max(*pixel));
        let part = |(pixels, labels)| Part { pixels, labels };
        Ok(Self { name: name.into(), size, classes, full: full.into(), train: part(train), test: part(test) })
    }

    /// Returns height and width, in pixels.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Returns how many images there are to learn from.
    pub fn len(&self) -> usize {
        self.train.labels.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.train.labels.is_empty()
    }
}

impl Dataset for Images {
    fn batch(&self, seed: u64, step: u64, size: usize) -> Batch {
        let sequence = RandomSequence::new(seed, "batches");
        let images = (0..size as u64).map(|i| sequence.below(step * size as u64 + i, self.len()));
        self.train.batch(images, self.size[0] * self.size[1], self.full)
    }

    fn validation(&self) -> Box<dyn Iterator<Item = Batch> + '_> {
        let (count, pixels, full) = (self.test.labels.len(), self.size[0] * self.size[1], self.full);
        Box::new(
            (0..count)
                .step_by(VALIDATION)
                .map(move |first| self.test.batch(first..(first + VALIDATION).min(count), pixels, full)),
        )
    }

    fn examples(&self) -> usize {
        self.len()
    }

    fn validation_batch(&self) -> usize {
        VALIDATION.min(self.test.labels.len())
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

/// Reads the IDX files `{train,t10k}-images-idx3-ubyte` and `{train,t10k}-labels-idx1-ubyte`, plain
/// or `.gz`, from a folder.
///
/// # Errors
/// Files that are missing, no IDX files of unsigned bytes, do not fit together, or hold more than 1
/// GiB together.
pub fn read_idx_folder(folder: impl AsRef<Path>) -> Result<Images> {
    read_folder(folder.as_ref())
}

fn read_folder(folder: &Path) -> Result<Images> {
    let mut budget = MOST_BYTES;
    let mut part = |name: &str| {
        let images: Idx<3> = Idx::read(folder, &format!("{name}-images-idx3-ubyte"), &mut budget)?;
        let labels: Idx<1> = Idx::read(folder, &format!("{name}-labels-idx1-ubyte"), &mut budget)?;
        let ([count, height, width], [wanted]) = (images.shape, labels.shape);
        if count != wanted {
            let what = format!("{wanted} labels, but {} has {count} images", images.path.display());
            return Err(Error::data(labels.path, what));
        }
        Ok(([height, width], (images.data, labels.data)))
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::data::idx::tests::idx;

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
        let [batch] = &images.validation().collect::<Vec<_>>()[..] else { panic!("one batch") };
        assert_eq!(batch.labels, [2]);
        assert_eq!(batch.input, Input::Rows(Matrix { columns: 3, values: vec![1.0, 0.0, 0.0] }));

        write("t10k-labels-idx1-ubyte", &idx(&[2], &[2]));
        let error = read_idx_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("dimensions [2] promise 2 bytes, but 1 follow"), "{error}");
        write("t10k-labels-idx1-ubyte", &idx(&[2], &[2, 3]));
        let error = read_idx_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("2 labels, but") && error.contains("has 1 images"), "{error}");
    }

    #[test]
    fn sizes_without_pixels_are_refused() {
        for size in [[0, 0], [0, 3], [3, 0], [usize::MAX, 2]] {
            let parts = [(Vec::new(), vec![1]), (Vec::new(), vec![1])];
            let error = Images::new("none", size, parts).unwrap_err().to_string();
            assert!(error.contains("one is the least"), "{error}");
        }
    }
}
