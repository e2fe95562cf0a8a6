//! Operands and results of units under test, as lines of text.

use smallfloat::{Class, Codebook};
use smallfloat_conformance::vectors::{CLASSES, Field};

use crate::render::text as words;

/// Operands with their names; neighbours among the elements of one block are one, `x2-x31`, where
/// they have one code.
pub(crate) fn alike<'a>(fields: &'a [Field], codes: &[u64]) -> Vec<(String, &'a Field, u64)> {
    let mut rows: Vec<(String, &Field, u64)> = Vec::new();
    for (field, &code) in fields.iter().zip(codes) {
        match rows.last_mut() {
            Some((name, first, same)) if stem(first) == stem(field) && *same == code => {
                *name = format!("{}-{}", first.name, field.name);
            }
            _ => rows.push((field.name.clone(), field, code)),
        }
    }
    rows
}

/// The name without a number: that of the side or block that an element belongs to.
fn stem(field: &Field) -> &str {
    field.name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Operands with their names and codes: as [`alike`], but those of one side are one row where there
/// would be more than so many.
pub(crate) fn at_most<'a>(
    most: usize,
    fields: &'a [Field],
    codes: &[u64],
) -> Vec<(String, &'a Field, Vec<u64>)> {
    let rows = alike(fields, codes);
    if rows.len() <= most {
        return rows.into_iter().map(|(name, field, code)| (name, field, vec![code])).collect();
    }
    let mut codes = codes.iter().copied();
    let sides = fields.chunk_by(|a, b| stem(a) == stem(b));
    let row = |side: &'a [Field]| {
        let name = match side {
            [first, .., last] => format!("{}-{}", first.name, last.name),
            _ => side[0].name.clone(),
        };
        (name, &side[0], codes.by_ref().take(side.len()).collect())
    };
    sides.map(row).collect()
}

/// A code with its fields and value.
pub(crate) fn number(field: &Field, code: u64) -> String {
    let Some(format) = &field.format else {
        if let Some(list) = field.list {
            return format!("{code:#0width$x}  {}", list_value(list, code), width = field.digits() + 2);
        }
        if let Some(integer) = field.integer {
            return format!("{code:#0width$x}  {}", integer.value(code), width = field.digits() + 2);
        }
        return match (field.name.as_str(), usize::try_from(code).ok().and_then(|i| CLASSES.get(i))) {
            ("class", Some(class)) => (*class).to_owned(),
            ("result", _) => (code != 0).to_string(),
            _ => format!("{code:#x} of {} bits", field.bits),
        };
    };
    let text = words::code(format, code);
    let value = words::value(format, code);
    let class = match format.classify(code) {
        Class::Nan => String::new(),
        class => format!(", {class}"),
    };
    format!("{text}  {}  {value}{class}", words::bits(format, code))
}

/// The value of a list's code: the shortest decimal that is read as the same binary32 number.
pub(crate) fn list_value(list: Codebook, code: u64) -> String {
    list.value(u32::try_from(code).expect("a code of the list")).to_string()
}
