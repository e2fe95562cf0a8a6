//! [`verify`]: is a native container what it says?

use std::path::Path;

use sha2::{Digest, Sha256};
use smallfloat::{Class, Datum, Format, Specials, Subnormals};

use crate::stream::code_at;
use crate::view::{Stored, TensorView};
use crate::{CHUNK_BYTES, Error, Result, View};

/// What [`verify`] found to be right, and what is legal but odd.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Verified {
    /// Tensors of codes that were checked.
    pub tensors: u64,
    /// Codes that were checked.
    pub codes: u64,
    /// Tensors that are stored as they were.
    pub copied: u64,
    /// Legal codes that no encoder writes: flushed subnormals and NaNs that are not canonical.
    pub warnings: Vec<String>,
}

/// Checks a native container: structure, biases, the digest of every tensor, and that every code is one of its format.
///
/// # Errors
/// A file that is no container, or the first fault with tensor and element.
pub fn verify(path: &Path) -> Result<Verified> {
    verify_at(path, path)
}

/// Verifies the file at `path` and calls it `name` in errors.
pub(crate) fn verify_at(path: &Path, name: &Path) -> Result<Verified> {
    let view = View::open(path)?;
    if !view.is_container() {
        let what = "is no quantized file: its metadata has no `smallfloat.version`";
        return Err(Error::refused(Some(name), None, what));
    }
    let mut verified = Verified::default();
    for tensor in view.tensors() {
        match &tensor.stored {
            Stored::Codes(codes) => {
                check_codes(&view, tensor, &codes.0, &codes.1.sha256, name, &mut verified)?;
                verified.tensors += 1;
                verified.codes += tensor.info.elements();
            }
            Stored::Wide | Stored::Other => verified.copied += 1,
        }
    }
    Ok(verified)
}

fn check_codes(
    view: &View,
    tensor: &TensorView,
    format: &Format,
    sha256: &str,
    path: &Path,
    verified: &mut Verified,
) -> Result<()> {
    let refused = |what: String| Error::refused(Some(path), Some(&tensor.info.name), what);
    let odd = odd_codes(format);
    let size = usize::from(format.width() > 8) + 1;
    let mut digest = Sha256::new();
    let (mut odd_count, mut first_odd) = (0_u64, 0);
    let mut buffer = vec![0; CHUNK_BYTES];
    view.source().read_chunks(&tensor.info, &mut buffer, |first, bytes| {
        digest.update(bytes);
        for (i, bytes) in bytes.chunks_exact(size).enumerate() {
            let code = code_at(bytes);
            let Some(is_odd) = odd.get(usize::from(code)) else {
                let element = first + i as u64;
                let largest = format.max_code();
                return Err(refused(format!(
                    "element {element} has the code {code:#x}, the largest of {format} is {largest:#x}"
                )));
            };
            if *is_odd {
                if odd_count == 0 {
                    first_odd = first + i as u64;
                }
                odd_count += 1;
            }
        }
        Ok(())
    })?;
    let found = format!("{:x}", digest.finalize());
    if found != sha256 {
        return Err(refused(format!("its codes have the SHA-256 {found}, the metadata says {sha256}")));
    }
    if odd_count > 0 {
        verified.warnings.push(format!(
            "tensor `{}`: {odd_count} codes that no encoder writes (flushed subnormals or other NaNs), the first at \
             element {first_odd}",
            tensor.info.name
        ));
    }
    Ok(())
}

/// For each code: is it a flushed subnormal or a NaN that is not canonical?
fn odd_codes(format: &Format) -> Vec<bool> {
    let flushes = format.subnormals() == Subnormals::Flush;
    let one_nan = format.is_signed() || format.specials() != Specials::Ieee;
    let canonical = format.encode(Datum::Nan { negative: false });
    (0..=format.max_code())
        .map(|code| match format.classify(code) {
            Class::Subnormal => flushes,
            Class::Nan => !one_nan && Some(code) != canonical,
            _ => false,
        })
        .collect()
}
