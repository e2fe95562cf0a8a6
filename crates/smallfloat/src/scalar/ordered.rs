//! [`Ordered`]: a scalar with `Eq`, `Ord` and `Hash`.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::scalar::traits::SmallFloat;

/// A scalar ordered by IEEE 754's totalOrder: −NaN < −∞ < … < −0 < +0 < … < +∞ < NaN. Equal means
/// the same code, so −0 and 0 differ and a NaN equals itself.
///
/// ```
/// use smallfloat::{E5M2, Ordered};
/// use std::collections::BTreeSet;
/// let codes = [0x00, 0x80, 0x7e, 0x7e, 0x3c].map(|code| Ordered(E5M2::from_bits(code)));
/// let set = BTreeSet::from(codes);
/// assert_eq!(set.iter().map(|x| x.0.to_bits()).collect::<Vec<_>>(), [0x80, 0x00, 0x3c, 0x7e]);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Ordered<T>(pub T);

impl<T: SmallFloat> PartialEq for Ordered<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.code() == other.0.code()
    }
}

impl<T: SmallFloat> Eq for Ordered<T> {}

impl<T: SmallFloat> PartialOrd for Ordered<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: SmallFloat> Ord for Ordered<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<T: SmallFloat> Hash for Ordered<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.code().hash(state);
    }
}

impl<T> From<T> for Ordered<T> {
    fn from(x: T) -> Self {
        Self(x)
    }
}

impl<T: fmt::Debug> fmt::Debug for Ordered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Ordered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
