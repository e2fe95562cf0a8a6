//! Next up and next down, by code.

use crate::{Datum, Format};

/// The code of the least value above a code's (IEEE 754's nextUp). NaN and +∞ stay; above the largest value of a format
/// without infinity lies its NaN, or nothing: then the code stays. Between the largest negative value and 0 lies −0,
/// if the format has it; what follows either zero is the smallest positive value.
pub const fn next_up(format: &Format, code: u64) -> u64 {
    next(format, code, true)
}

/// The code of the greatest value below a code's (IEEE 754's nextDown), the mirror of [`next_up`].
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
    let next = if up {
        format.next_above(crate::Exact::from_datum(datum))
    } else {
        format.next_below(crate::Exact::from_datum(datum))
    };
    match (next, format.encode(Datum::Nan { negative: false })) {
        (Some(next), _) => next,
        (None, Some(nan)) => nan,
        (None, None) => code,
    }
}
