//! Codes of a format that stand for all that features of operands tell apart.

use std::collections::HashSet;

use smallfloat::Format;

/// A code of every class, signaling NaNs apart, with every sign.
pub(crate) fn of_classes(format: &Format) -> Vec<u64> {
    let mut seen = HashSet::new();
    let mut codes = of_fields(format);
    codes.retain(|code| {
        seen.insert((format.classify(*code), format.is_signaling(*code), format.sign_bit(*code)))
    });
    codes
}

/// Codes of every exponent field with every pattern of a significand and every sign.
pub(crate) fn of_fields(format: &Format) -> Vec<u64> {
    if format.width() <= 10 {
        return (0..=format.max_code()).collect();
    }
    let ones = (1_u64 << format.trailing_bits()) - 1;
    let half = ones / 2 + 1;
    let mut tails = vec![0, ones, 1, half, 2, half | 1, 3, half >> 1];
    tails.retain(|tail| *tail <= ones);
    tails.sort_unstable();
    tails.dedup();
    let signs = if format.is_signed() { vec![0, 1 << (format.width() - 1)] } else { vec![0] };
    let fields = 0..1_u64 << format.exponent_bits();
    fields
        .flat_map(|field| tails.iter().map(move |tail| field << format.trailing_bits() | tail))
        .flat_map(|magnitude| signs.iter().map(move |sign| magnitude | sign))
        .collect()
}
