//! [`Calibration`]: which errors matter, by a user's own activations.
//!
//! A linear layer computes y = W·x, so an error in column j of W reaches the output times x_j. Over
//! samples X whose channels are uncorrelated, Σ ‖(W − Q)·x‖² is Σ_j h_j · Σ_i (w_ij − q_ij)² with
//! h_j = Σ x_j²: each squared error weighs as much as its input channel. This is the diagonal of
//! the matrix 2·X·Xᵀ that Frantar et al. minimise with ("GPTQ", arXiv 2210.17323, section 3);
//! correlations between channels are left out.
//!
//! Second moments are summed exactly, then each is rounded to a multiple of 1/(2^32 − 1) of the
//! tensor's largest, to nearest, ties up, and to no less than one: a channel that the samples never
//! used still counts a little. From there on every sum is an integer, so that the choice depends on
//! nothing but the numbers.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashu_base::BitTest as _;
use dashu_int::UBig;
use sha2::{Digest, Sha256};
use smallfloat::Datum;
use smallfloat_kernels::Element;

use crate::error::{Error, Result, quoted};
use crate::file::formats::source::SourceKind;
use crate::layout::grid::index;
use crate::scale::bias::magnitudes::Long;
use crate::stored::view::{TensorView, View};

/// Activations at once.
const PIECE: usize = 1 << 16;
/// Every f64 is a multiple of 2^LOWEST.
const LOWEST: i32 = -1074;

/// Weights for the errors of input channels, from activations.
#[derive(Clone, Debug)]
pub struct Calibration {
    path: PathBuf,
    sha256: String,
    /// By the name of the tensor of activations.
    weights: HashMap<String, Arc<[u32]>>,
    /// Of an array without a name, for every tensor with as many columns.
    any: Option<Arc<[u32]>>,
}

impl Calibration {
    /// Reads activations from a `.safetensors` or `.npy` file.
    ///
    /// A tensor of activations is named as the tensor it is for, or as its module (`layers.0.fc`
    /// for `layers.0.fc.weight`). Its last dimension counts the input channels, all others together
    /// the samples; a tensor of one dimension is taken as the second moments Σx² themselves. An
    /// `.npy` file is for every tensor with as many columns.
    ///
    /// # Errors
    /// A file that is refused, values that are NaN or infinite, negative second moments.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_path(path.as_ref())
    }

    fn open_path(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
        let view = View::open(&path)?;
        let mut weights = HashMap::new();
        for tensor in view.tensors().iter().filter(|tensor| tensor.has_numbers()) {
            if let Some(columns @ 1..) = tensor.info.shape.last().copied() {
                weights.insert(tensor.info.name.clone(), moments(&view, tensor, columns)?.into());
            }
        }
        let npy = view.source().kind() == SourceKind::Npy;
        let any = if npy { weights.drain().map(|(_, weights)| weights).next() } else { None };
        let mut digest = Sha256::new();
        File::open(&path)
            .and_then(|mut file| io::copy(&mut file, &mut digest))
            .map_err(|e| Error::io("read", &path, e))?;
        Ok(Self { path, sha256: format!("{:x}", digest.finalize()), weights, any })
    }

    /// Returns the file, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// SHA-256 of the file.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The weights of a tensor's columns, its last dimension; `None` if there are no activations
    /// for it.
    pub(crate) fn weights(&self, name: &str, shape: &[u64]) -> Result<Option<Arc<[u32]>>> {
        let columns = usize::try_from(shape.last().copied().unwrap_or(1)).unwrap_or(usize::MAX);
        if let Some(any) = &self.any {
            return Ok((any.len() == columns).then(|| Arc::clone(any)));
        }
        let module = name.strip_suffix(".weight").and_then(|module| self.weights.get(module));
        let Some(weights) = self.weights.get(name).or(module) else { return Ok(None) };
        if weights.len() != columns {
            let what = format!(
                "has {columns} columns, its activations in {} have {} channels in their last dimension",
                quoted(&self.path.to_string_lossy()),
                weights.len()
            );
            return Err(Error::refused(None, Some(name), what));
        }
        Ok(Some(Arc::clone(weights)))
    }
}

/// Σx² of each channel, relative to the largest.
fn moments(view: &View, tensor: &TensorView, columns: u64) -> Result<Vec<u32>> {
    let reader = view.reader(tensor)?;
    let info = &tensor.info;
    let refused = |element: u64, x: f64, why: &str| {
        let what = format!("element {element} is {x}: {why}");
        Err(Error::refused(Some(view.source().path()), Some(&info.name), what))
    };
    let given = info.shape.len() == 1;
    // Σ of squared significands by exponent, for each channel.
    let mut sums: Vec<BTreeMap<i32, Long>> = vec![BTreeMap::new(); index(columns)];
    let mut values = vec![0.0; PIECE];
    let mut first = 0;
    while first < info.elements() {
        let count = index(info.elements() - first).min(PIECE);
        reader.read(first, &mut values[..count])?;
        for (element, &x) in (first..).zip(&values[..count]) {
            if !x.is_finite() {
                return refused(element, x, "activations must be finite");
            }
            if given && x < 0.0 {
                return refused(element, x, "a vector holds second moments, which are not negative");
            }
            if let Datum::Finite { significand: significand @ 1.., exponent, .. } =
                f64::FORMAT.decode(x.to_bits())
            {
                let significand = u128::from(significand);
                let (term, exponent) =
                    if given { (significand, exponent) } else { (significand * significand, 2 * exponent) };
                sums[index(element % columns)].entry(exponent).or_default().add(term);
            }
        }
        first += count as u64;
    }
    Ok(relative(&sums))
}

/// Each channel's sum in 32 bits, relative to the largest.
fn relative(sums: &[BTreeMap<i32, Long>]) -> Vec<u32> {
    let above = |exponent: i32| usize::try_from(exponent - 2 * LOWEST).expect("no square is lower");
    let total = |sums: &BTreeMap<i32, Long>| {
        sums.iter().map(|(&exponent, sum)| UBig::from(*sum) << above(exponent)).sum::<UBig>()
    };
    let totals: Vec<UBig> = sums.iter().map(total).collect();
    let Some(largest) = totals.iter().max().filter(|largest| largest.bit_len() > 0) else {
        return vec![u32::MAX; sums.len()];
    };
    let weight = |total: &UBig| {
        let nearest = (total * u32::MAX * 2_u32 + largest) / (largest * 2_u32);
        u32::try_from(nearest).expect("no total is above the largest").max(1)
    };
    totals.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::dtype::Dtype;
    use crate::file::formats::npy::NpyWriter;

    #[expect(clippy::cast_possible_truncation, reason = "the numbers of the tests are f32")]
    fn weights(shape: &[u64], values: &[f64]) -> Result<Arc<[u32]>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let mut writer = NpyWriter::create(&path, Dtype::F32, shape, true).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
        writer.append(&bytes).unwrap();
        writer.finish().unwrap();
        Calibration::open(&path).map(|calibration| calibration.any.unwrap())
    }

    #[test]
    fn moments_are_relative_to_the_largest() {
        // Σx²: 25, 0, 1, 12.5. The largest is 2^32 − 1; (2^32 − 1) / 25 = 171798691.8, half of the
        // largest ends in .5.
        let x = [3.0, 0.0, 1.0, 2.5, -4.0, 0.0, 0.0, -2.5];
        assert_eq!(weights(&[2, 4], &x).unwrap()[..], [u32::MAX, 1, 171_798_692, 1 << 31]);
        assert_eq!(weights(&[2, 1, 4], &x).unwrap(), weights(&[2, 4], &x).unwrap());
        assert_eq!(weights(&[4], &[25.0, 0.0, 1.0, 12.5]).unwrap()[..], [u32::MAX, 1, 171_798_692, 1 << 31]);
        assert_eq!(weights(&[2, 2], &[0.0; 4]).unwrap()[..], [u32::MAX; 2]);
        // Smaller than a f64 sum would notice, but exactly seen: 2^60 + 1 against 2^60 + 0.
        let tiny = [2.0_f64.powi(30), 2.0_f64.powi(30), 2.0_f64.powi(-30), 0.0];
        assert_eq!(weights(&[2, 2], &tiny).unwrap()[..], [u32::MAX, u32::MAX]);
    }

    #[test]
    fn activations_that_are_none() {
        let error = |shape: &[u64], values: &[f64]| weights(shape, values).unwrap_err().to_string();
        assert!(error(&[1, 3], &[1.0, f64::NAN, 2.0]).contains("element 1 is NaN"));
        assert!(error(&[2], &[1.0, -1.0]).contains("element 1 is -1: a vector holds second moments"));
    }
}
