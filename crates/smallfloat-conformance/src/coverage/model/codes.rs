//! Codes of a format that stand for all that features of operands tell apart.

use std::collections::HashSet;

use smallfloat::Format;

use crate::vectors::generate::pools::of_fields;

/// A code of every class, signaling NaNs apart, with every sign.
pub(crate) fn of_classes(format: &Format) -> Vec<u64> {
    let mut seen = HashSet::new();
    let mut codes = of_fields(format);
    codes.retain(|code| {
        seen.insert((format.classify(*code), format.is_signaling(*code), format.sign_bit(*code)))
    });
    codes
}
