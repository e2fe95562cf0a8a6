//! Comparisons and orders.

use core::cmp::Ordering;

use crate::format::Format;
use crate::format::datum::Datum;

/// The five comparisons; each is false if an operand is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the standards' own")]
pub enum Comparison {
    Less,
    LessEqual,
    Equal,
    Greater,
    GreaterEqual,
}

/// Compares two data as extended reals; −0 equals 0, NaN compares with nothing.
pub const fn compare(which: Comparison, x: Datum, y: Datum) -> bool {
    let Some(order) = x.compare(&y) else { return false };
    match which {
        Comparison::Less => matches!(order, Ordering::Less),
        Comparison::LessEqual => !matches!(order, Ordering::Greater),
        Comparison::Equal => matches!(order, Ordering::Equal),
        Comparison::Greater => matches!(order, Ordering::Greater),
        Comparison::GreaterEqual => !matches!(order, Ordering::Less),
    }
}

/// Returns P3109's TotalOrder(x, y): NaN is least, otherwise x ≤ y.
pub const fn is_total_ordered(x: Datum, y: Datum) -> bool {
    if x.is_nan() { true } else { !y.is_nan() && compare(Comparison::LessEqual, x, y) }
}

/// Returns IEEE 754's totalOrder of two codes of one format: −NaN < −∞ < … < −0 < +0 < … < +∞ <
/// +NaN, NaNs by their codes.
///
/// Where the format keeps its NaN on the code of −0 (FNUZ, P3109) that NaN is positive, above
/// everything.
pub const fn total_cmp(format: &Format, x: u64, y: u64) -> Ordering {
    let (x, y) = (total_key(format, x), total_key(format, y));
    if x < y {
        Ordering::Less
    } else if x > y {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

#[expect(clippy::cast_possible_wrap, reason = "magnitudes have at most 63 bits, unsigned codes at most 32")]
const fn total_key(format: &Format, code: u64) -> i64 {
    let code = code & format.max_code();
    let magnitude = (code & (format.max_code() >> format.is_signed() as u32)) as i64;
    match (format.decode(code), format.sign_bit(code)) {
        (Datum::Nan { negative: false }, true) => i64::MAX,
        (_, true) => -1 - magnitude,
        (_, false) => magnitude,
    }
}
