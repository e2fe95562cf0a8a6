//! Next up and next down, by code.

use crate::format::Format;
use crate::format::datum::Datum;
use crate::projection::exact::Exact;

/// Returns the code of the least value above a code's (IEEE 754's nextUp). NaN and +∞ stay; above
/// the largest value of a format without infinity lies its NaN, or nothing: then the code stays.
/// Between the largest negative value and 0 lies −0, if the format has it; what follows either zero
/// is the smallest positive value.
pub const fn next_up(format: &Format, code: u64) -> u64 {
    next(format, code, true)
}

/// Returns the code of the greatest value below a code's (IEEE 754's nextDown), the mirror of
/// [`next_up`].
pub const fn next_down(format: &Format, code: u64) -> u64 {
    next(format, code, false)
}

const fn next(format: &Format, code: u64, up: bool) -> u64 {
    let code = code & format.max_code();
    let datum = format.decode(code);
    match datum {
        Datum::Nan { .. } => return code,
        Datum::Infinite { negative } if negative != up => return code,
        _ => {}
    }
    let x = Exact::from_datum(datum);
    let next = if up { format.next_above(x) } else { format.next_below(x) };
    match (next, format.encode(Datum::Nan { negative: false })) {
        (Some(next), _) => next,
        (None, Some(nan)) => nan,
        (None, None) => code,
    }
}

/// Returns P3109's NextGreaterThan: the code of the least datum above, NaN where there is none. NaN
/// codes stay as they are; the result is never −0.
pub const fn next_greater_than(format: &Format, code: u64) -> u64 {
    strict(format, code, true)
}

/// Returns P3109's NextLessThan, the mirror of [`next_greater_than`].
pub const fn next_less_than(format: &Format, code: u64) -> u64 {
    strict(format, code, false)
}

const fn strict(format: &Format, code: u64, up: bool) -> u64 {
    let code = code & format.max_code();
    let datum = format.decode(code);
    if datum.is_nan() {
        return code;
    }
    let x = Exact::from_datum(datum);
    let next = if up { format.next_above(x) } else { format.next_below(x) };
    match (next, format.encode(Datum::Nan { negative: false })) {
        (Some(next), _) if format.decode(next).is_zero() => 0,
        (Some(next), _) => next,
        (None, Some(nan)) => nan,
        (None, None) => code,
    }
}
