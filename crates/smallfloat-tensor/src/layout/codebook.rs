//! Codebooks as elements: their codes lie in bytes as those of a format with as many bits.

use std::sync::Arc;

use smallfloat::formats::{E2M1FN, E4M3FN};
use smallfloat::{Codebook, Format};

/// A format with as many bits as the codes of a codebook. Packing, dtypes and shapes depend on
/// nothing else of a format; what its codes stand for is never asked of it.
pub(crate) const fn carrier(codebook: Codebook) -> Format {
    if codebook.width() == 4 { E2M1FN } else { E4M3FN }
}

/// The values of codes.
pub(crate) fn values(codebook: Codebook) -> Arc<[f64]> {
    (0..=codebook.max_code()).map(|code| f64::from(codebook.value(code))).collect()
}
