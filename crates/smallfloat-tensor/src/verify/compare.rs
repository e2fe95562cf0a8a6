//! [`compare`]: how far the tensors of a file or folder are from another's.

use std::cmp::Ordering;
use std::path::Path;
use std::slice;

use serde::Serialize;
use smallfloat_kernels::ErrorSums;

use crate::error::{Error, Result, quoted_path};
use crate::file::input::chunk_buffer;
use crate::stored::view::{TensorView, View};

/// One tensor of a comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct TensorComparison {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// 10·log10(Σa² / Σ(a − b)²) over elements finite in both; `None` if they are equal.
    pub sqnr_db: Option<f64>,
    /// max |a|.
    pub amax: f64,
    /// max |a − b|.
    pub max_error: f64,
    /// Whether all elements are equal (for tensors without numbers: all bytes).
    pub equal: bool,
    /// Elements that are NaN or infinite in either file.
    pub not_finite: u64,
}

/// Returns how far the tensors of `b` are from those of the reference `a`, in the order of `a`:
/// what is stored as floats or as codes is compared as numbers, everything else as bytes.
///
/// # Errors
/// Tensors that only one file has, or with other shapes; files that can't be read.
pub fn compare(a: &View, b: &View) -> Result<Vec<TensorComparison>> {
    compare_checkpoints(slice::from_ref(a), slice::from_ref(b))
}

/// Like [`compare`], of the files that [`open_checkpoint`](crate::open_checkpoint) opened: each
/// tensor is compared with the one of its name, whichever files they are in.
///
/// ```no_run
/// use smallfloat_tensor::{compare_checkpoints, open_checkpoint};
/// let (model, small) = (open_checkpoint("model")?, open_checkpoint("small.safetensors")?);
/// for tensor in compare_checkpoints(&model, &small)? {
///     println!("{}: {:?} dB", tensor.name, tensor.sqnr_db);
/// }
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`compare`].
pub fn compare_checkpoints(a: &[View], b: &[View]) -> Result<Vec<TensorComparison>> {
    for (one, other) in [(a, b), (b, a)] {
        for view in one {
            let mut tensors = view.tensors().iter();
            if let Some(only) = tensors.find(|tensor| find(other, &tensor.info.name).is_none()) {
                let what = format!("is not in {}", quoted_path(place(other)));
                return Err(Error::refused(Some(view.source().path()), Some(&only.info.name), what));
            }
        }
    }
    let tensors = a.iter().flat_map(|view| view.tensors().iter().map(move |tensor| (view, tensor)));
    tensors
        .filter_map(|(view, x)| Some((view, x, find(b, &x.info.name)?)))
        .map(|(view, x, (other, y))| tensor(view, x, other, y))
        .collect()
}

/// The tensor of a name, with its file.
fn find<'a>(views: &'a [View], name: &str) -> Option<(&'a View, &'a TensorView)> {
    views.iter().find_map(|view| Some((view, view.tensor(name)?)))
}

/// The file, or the folder of several.
fn place(views: &[View]) -> &Path {
    match views {
        [] => Path::new(""),
        [view] => view.source().path(),
        [view, ..] => view.source().path().parent().unwrap_or(Path::new("")),
    }
}

fn tensor(a: &View, x: &TensorView, b: &View, y: &TensorView) -> Result<TensorComparison> {
    let refused = |what: String| Error::refused(Some(b.source().path()), Some(&x.info.name), what);
    if x.info.shape != y.info.shape {
        return Err(refused(format!(
            "has the shape {:?}, the reference has {:?}",
            y.info.shape, x.info.shape
        )));
    }
    let mut comparison = TensorComparison {
        name: x.info.name.clone(),
        shape: x.info.shape.clone(),
        sqnr_db: None,
        amax: 0.0,
        max_error: 0.0,
        equal: true,
        not_finite: 0,
    };
    if x.has_numbers() && y.has_numbers() {
        let (p_reader, q_reader) = (a.reader(x)?, b.reader(y)?);
        let (mut sums, mut equal) = (ErrorSums::default(), true);
        let mut first = 0;
        let step = 4 * ErrorSums::BLOCK as u64;
        while first < x.info.elements() {
            let count =
                usize::try_from(step.min(x.info.elements() - first)).map_err(|e| refused(e.to_string()))?;
            let (mut p, mut q) = (vec![0.0; count], vec![0.0; count]);
            p_reader.read(first, &mut p)?;
            q_reader.read(first, &mut q)?;
            equal &= p
                .iter()
                .zip(&q)
                .all(|(p, q)| p.partial_cmp(q) == Some(Ordering::Equal) || (p.is_nan() && q.is_nan()));
            sums = sums.then(ErrorSums::of(&p, &q));
            first += step;
        }
        comparison.sqnr_db = sums.sqnr_db();
        comparison.amax = sums.amax;
        comparison.max_error = sums.max_error;
        comparison.not_finite = sums.not_finite;
        comparison.equal = equal;
        return Ok(comparison);
    }
    if x.info.dtype != y.info.dtype {
        return Err(refused(format!("is {}, the reference is {}", y.info.dtype, x.info.dtype)));
    }
    let mut buffer = chunk_buffer(x.info.len);
    a.source().read_chunks(&x.info, &mut buffer, |first, bytes| {
        let mut other = vec![0; bytes.len()];
        b.source().read_range(&y.info, first, &mut other)?;
        comparison.equal &= bytes == other;
        Ok(())
    })?;
    Ok(comparison)
}
