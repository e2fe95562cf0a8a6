//! [`certify`]: what a conversion did to every value, and the digests by which that can be checked
//! again; [`check_certificate`] does.
//!
//! Values are compared as binary64 numbers: products of codes and scales, exact unless a scale is
//! divided by a number that is no power of two (NVFP4), where they are rounded to nearest. A digest
//! is the SHA-256 of all values of a tensor in row-major order, eight little-endian bytes each, NaN
//! as 0x7ff8000000000000; of tensors without numbers it is that of their bytes.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, quoted_path};
use crate::file::dtype;
use crate::file::input::chunk_buffer;
use crate::layout::grid::{PIECE_ELEMENTS, index};
use crate::progress::{Progress, share_of};
use crate::stored::open::open_checkpoint;
use crate::stored::scaled::Scaled;
use crate::stored::view::{TensorView, View};

/// A certificate of what a conversion did to the tensors of a file or a checkpoint folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Certificate {
    /// The version of what is said here: 1.
    pub version: u32,
    /// Tensors of which no value changed.
    pub exact: u64,
    /// Values that changed, in all tensors.
    pub rounded: u64,
    /// The tensors, by name.
    pub tensors: Vec<CertifiedTensor>,
}

/// The outcome of one tensor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CertifiedTensor {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// How it was stored: a dtype, or a format with its layout.
    pub from: String,
    /// How it is stored.
    pub to: String,
    /// Values that changed; 0 says that the tensor is exact. Zeros are equal whatever their sign,
    /// and so are all NaNs.
    pub rounded: u64,
    /// The largest difference of finite values.
    pub max_error: f64,
    /// The mean difference of finite values.
    pub mean_error: f64,
    /// The digest of the values before.
    pub source_sha256: String,
    /// The digest of the values after.
    pub output_sha256: String,
}

/// 2^−64. The sum of so small a part of each error is finite even where the sum of errors is beyond
/// binary64.
const PART: f64 = f64::from_bits((1023 - 64) << 52);

/// The version of certificates.
const VERSION: u32 = 1;

/// A value that changed: its place, what it was and what it is.
pub(crate) type Changed = Option<(u64, f64, f64)>;

/// Compares a file or folder with what was made of it, value by value.
///
/// # Errors
/// Tensors that only one of them has, or with other shapes; files that can't be read.
pub fn certify(
    source: impl AsRef<Path>,
    output: impl AsRef<Path>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Certificate> {
    certify_path(source.as_ref(), output.as_ref(), progress)
}

fn certify_path(source: &Path, output: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Certificate> {
    let (sources, outputs) = (open_checkpoint(source)?, open_checkpoint(output)?);
    let all = outputs.iter().flat_map(View::tensors).map(|tensor| tensor.info.len);
    progress(Progress::Start(all.fold(0, u64::saturating_add)));
    let mut tensors = Vec::new();
    for view in &outputs {
        for tensor in view.tensors() {
            let name = &tensor.info.name;
            let Some((of, original)) = find(&sources, name) else {
                let what = format!("is not in {}", quoted_path(source));
                return Err(Error::refused(Some(view.source().path()), Some(name), what));
            };
            progress(Progress::Tensor(name));
            tensors.push(compare((of, original), (view, tensor), progress)?.0);
        }
    }
    for view in &sources {
        if let Some(lost) = view.tensors().iter().find(|tensor| find(&outputs, &tensor.info.name).is_none()) {
            let what = format!("is not in {}", quoted_path(output));
            return Err(Error::refused(Some(view.source().path()), Some(&lost.info.name), what));
        }
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    let (exact, rounded) = totals(&tensors);
    Ok(Certificate { version: VERSION, exact, rounded, tensors })
}

/// How many tensors are exact, and how many values of all are not.
fn totals(tensors: &[CertifiedTensor]) -> (u64, u64) {
    let exact = tensors.iter().filter(|tensor| tensor.rounded == 0).count() as u64;
    (exact, tensors.iter().map(|tensor| tensor.rounded).fold(0, u64::saturating_add))
}

impl Certificate {
    /// What a certificate says must be possible, whatever it is of. Values that differ have
    /// different digests; the reverse is not so, since zeros are equal whatever their sign.
    fn check(&self) -> Result<(), (Option<&str>, String)> {
        if self.version != VERSION {
            return Err((
                None,
                format!("the certificate is of version {}, {VERSION} is known", self.version),
            ));
        }
        let mut names = HashSet::new();
        for tensor in &self.tensors {
            // A tensor that is there twice would stand for one that is not.
            if !names.insert(&*tensor.name) {
                return Err((Some(&tensor.name), "is in the certificate twice".to_owned()));
            }
            let differs = tensor.source_sha256 != tensor.output_sha256;
            let elements = dtype::elements(&tensor.shape).unwrap_or(0).max(1);
            let (max, mean) = (tensor.max_error, tensor.mean_error);
            // A mean of equal errors may be rounded up.
            let are_errors = 0.0 <= mean && mean <= max * (1.0 + 1e-9);
            let what = match tensor.rounded {
                n if n > elements => "more values changed than it has",
                0 if max > 0.0 || mean > 0.0 => "no value changed and that there are errors",
                n if n > 0 && !differs => "values changed and that their digests did not",
                _ if !are_errors => "errors that no values have",
                _ => continue,
            };
            return Err((Some(&tensor.name), format!("the certificate contradicts itself: it says {what}")));
        }
        let (exact, rounded) = totals(&self.tensors);
        if (exact, rounded) != (self.exact, self.rounded) {
            let what = format!(
                "the certificate contradicts itself: it says {} exact tensors and {} rounded values, those of its \
                 tensors are {exact} and {rounded}",
                self.exact, self.rounded
            );
            return Err((None, what));
        }
        Ok(())
    }
}

/// Checks a certificate against what it is of, and against its source where that is at hand; tells
/// how many tensors were checked.
///
/// # Errors
/// The first tensor that is not what the certificate says, or that only one of them has; a
/// certificate of another version.
pub fn check_certificate(
    certificate: &Certificate,
    output: impl AsRef<Path>,
    source: Option<&Path>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<u64> {
    check_path(certificate, output.as_ref(), source, progress)
}

fn check_path(
    certificate: &Certificate,
    output: &Path,
    source: Option<&Path>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<u64> {
    let refused = |name: Option<&str>, what: String| Err(Error::refused(Some(output), name, what));
    if let Err((name, what)) = certificate.check() {
        return refused(name, what);
    }
    if let Some(source) = source {
        let anew = certify(source, output, progress)?;
        let all = certificate.tensors.iter().zip(&anew.tensors);
        if let Some((said, found)) = all.clone().find(|(said, found)| said != found) {
            let what = format!(
                "is not what the certificate says of `{}`: {} values changed, the largest error is {:e}",
                said.name, found.rounded, found.max_error
            );
            return refused(Some(&found.name), what);
        }
        if *certificate != anew {
            return refused(None, "the certificate is of other tensors".to_owned());
        }
        return Ok(anew.tensors.len() as u64);
    }
    let views = open_checkpoint(output)?;
    let count: usize = views.iter().map(|view| view.tensors().len()).sum();
    if count != certificate.tensors.len() {
        let what = format!("has {count} tensors, the certificate is of {}", certificate.tensors.len());
        return refused(None, what);
    }
    progress(Progress::Start(
        views.iter().flat_map(View::tensors).map(|tensor| tensor.info.len).fold(0, u64::saturating_add),
    ));
    for said in &certificate.tensors {
        let Some((view, tensor)) = find(&views, &said.name) else {
            return refused(Some(&said.name), "is in the certificate and not here".to_owned());
        };
        progress(Progress::Tensor(&said.name));
        let found = compare((view, tensor), (view, tensor), progress)?.0;
        if (&found.shape, &found.to, &found.output_sha256) != (&said.shape, &said.to, &said.output_sha256) {
            let what = format!(
                "is {} of shape {:?} whose values have the digest {}, the certificate says {} of {:?} with {}",
                found.to, found.shape, found.output_sha256, said.to, said.shape, said.output_sha256
            );
            return refused(Some(&said.name), what);
        }
    }
    Ok(certificate.tensors.len() as u64)
}

fn find<'a>(views: &'a [View], name: &str) -> Option<(&'a View, &'a TensorView)> {
    views.iter().find_map(|view| Some((view, view.tensor(name)?)))
}

/// How a tensor is stored, in words.
fn stored(tensor: &TensorView) -> String {
    match (tensor.format_name(), tensor.scaled().and_then(Scaled::layout)) {
        (Some(format), Some(layout)) => format!("{format} ({layout})"),
        (Some(format), None) => format,
        (None, _) => tensor.info.dtype.name().to_owned(),
    }
}

/// Compares a tensor with what was made of it; tells the first value that changed, too.
pub(crate) fn compare(
    (of, original): (&View, &TensorView),
    (view, tensor): (&View, &TensorView),
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(CertifiedTensor, Changed)> {
    let info = &tensor.info;
    if info.shape != original.info.shape {
        let what = format!("has the shape {:?}, in the source {:?}", info.shape, original.info.shape);
        return Err(Error::refused(Some(view.source().path()), Some(&info.name), what));
    }
    let mut certified = CertifiedTensor {
        name: info.name.clone(),
        shape: info.shape.clone(),
        from: stored(original),
        to: stored(tensor),
        rounded: 0,
        max_error: 0.0,
        mean_error: 0.0,
        source_sha256: String::new(),
        output_sha256: String::new(),
    };
    let (mut before, mut after, mut first_changed) = (Sha256::new(), Sha256::new(), None);
    if !tensor.has_numbers() || !original.has_numbers() {
        let mut buffer = chunk_buffer(info.len.max(original.info.len));
        view.source().read_chunks(info, &mut buffer, |_, bytes| {
            after.update(bytes);
            progress(Progress::Bytes(bytes.len() as u64));
            Ok(())
        })?;
        of.source().read_chunks(&original.info, &mut buffer, |_, bytes| {
            before.update(bytes);
            Ok(())
        })?;
        certified.source_sha256 = format!("{:x}", before.finalize());
        certified.output_sha256 = format!("{:x}", after.finalize());
        certified.rounded = u64::from(certified.source_sha256 != certified.output_sha256);
        return Ok((certified, None));
    }
    let (reader, result) = (of.reader(original)?, view.reader(tensor)?);
    let (mut p, mut q) = (Vec::new(), Vec::new());
    let (mut first, mut sum, mut sum_of_parts, mut finite) = (0, 0.0, 0.0, 0_u64);
    while first < info.elements() {
        let count = PIECE_ELEMENTS.min(info.elements() - first);
        p.resize(index(count), 0.0);
        q.resize(index(count), 0.0);
        reader.read(first, &mut p)?;
        result.read(first, &mut q)?;
        for (i, (&a, &b)) in (first..).zip(p.iter().zip(&q)) {
            #[expect(clippy::float_cmp, reason = "equal numbers are asked for")]
            let equal = a == b || a.is_nan() && b.is_nan();
            if !equal {
                certified.rounded += 1;
                first_changed = first_changed.or(Some((i, a, b)));
            }
            if a.is_finite() && b.is_finite() {
                certified.max_error = certified.max_error.max((a - b).abs());
                sum += (a - b).abs();
                sum_of_parts += (a - b).abs() * PART;
                finite += 1;
            }
            for (digest, x) in [(&mut before, a), (&mut after, b)] {
                digest.update(if x.is_nan() { f64::NAN } else { x }.to_le_bytes());
            }
        }
        progress(Progress::Bytes(share_of(info, count)));
        first += count;
    }
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    if finite > 0 {
        let mean = sum / finite as f64;
        let of_parts = || (sum_of_parts / finite as f64 / PART).min(certified.max_error);
        certified.mean_error = if mean.is_finite() { mean } else { of_parts() };
    }
    certified.source_sha256 = format!("{:x}", before.finalize());
    certified.output_sha256 = format!("{:x}", after.finalize());
    Ok((certified, first_changed))
}
