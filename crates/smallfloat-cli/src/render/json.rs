//! JSON forms that several commands share.

use serde_json::{Value, json};
use smallfloat::{Datum, Format};

/// A code and what it means. `f64` is null where no finite `f64` equals the value; `value` is
/// what `text::Decimal` prints.
pub(crate) fn code(format: &Format, code: u64) -> Value {
    json!({
        "code": crate::render::text::code(format, code),
        "exact": format.decode(code).to_string(),
        "value": format.decode_text(code),
        "f64": f64(format.decode(code)),
        "class": format.classify(code).to_string(),
    })
}

/// A value of a format as exact text and, where possible, as a number.
pub(crate) fn datum(datum: Datum) -> Value {
    json!({ "exact": datum.to_string(), "f64": f64(datum) })
}

fn f64(datum: Datum) -> Option<f64> {
    datum.to_f64().filter(|x| x.is_finite())
}
