//! JSON values as YAML 1.2 in block style.

use std::fmt::Write;

use serde_json::Value;

/// Returns the value as a YAML document that ends with a line feed.
pub(crate) fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    match inline(value) {
        Some(scalar) => text.push_str(&(scalar + "\n")),
        None => block(value, 0, &mut text).expect("text takes all that is written"),
    }
    text
}

/// What fits on the line of its key: scalars, and collections without elements.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(scalar(text)),
        Value::Array(list) => list.is_empty().then(|| "[]".into()),
        Value::Object(map) => map.is_empty().then(|| "{}".into()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
    }
}

/// Appends the lines of a collection that has elements, each after so many blanks.
fn block(value: &Value, indent: usize, text: &mut String) -> std::fmt::Result {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                write!(text, "{:indent$}{}:", "", scalar(key))?;
                if let Some(scalar) = inline(value) {
                    writeln!(text, " {scalar}")?;
                } else {
                    text.push('\n');
                    block(value, indent + 2, text)?;
                }
            }
        }
        Value::Array(list) => {
            for value in list {
                let start = text.len();
                match inline(value) {
                    Some(scalar) => writeln!(text, "{:indent$}  {scalar}", "")?,
                    None => block(value, indent + 2, text)?,
                }
                // The dash takes the place of a blank of the element's first line.
                text.replace_range(start + indent..=start + indent, "-");
            }
        }
        _ => unreachable!("scalars stand on the line of their key"),
    }
    Ok(())
}

/// Returns a string plain where no reader could take it for anything else, else quoted as in JSON,
/// which YAML 1.2 reads.
fn scalar(text: &str) -> String {
    // Words that YAML 1.1 or 1.2 reads as null, booleans or numbers.
    const WORDS: [&str; 12] =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];
    let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_legal = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() || "…−".contains(c);
    let has_mark = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']);
    if starts_plain && !is_word && !has_mark && text.chars().all(is_legal) {
        text.to_owned()
    } else {
        // What JSON does not escape and YAML does not print.
        let escaped = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
        Value::from(text).to_string().chars().map(escaped).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collections_are_nested_by_blanks() {
        let value = json!({
            "formats": ["binary32", { "name": "e5m2", "bits": [8, 2] }, [1, []]],
            "none": {},
            "count": 3,
        });
        let expected = "\
formats:
  - binary32
  - name: e5m2
    bits:
      - 8
      - 2
  - - 1
    - []
none: {}
count: 3
";
        assert_eq!(to_yaml(&value), expected);
    }

    /// Every text comes back from another's parser as it was.
    #[test]
    fn texts_come_back() {
        let texts = [
            "",
            " ",
            "a",
            "no",
            "NaN",
            "12",
            "1e5",
            "0x10",
            "~",
            "- a",
            "a: b",
            "a #b",
            "a:",
            "a ",
            "a, b [c] {d}",
            "2^-6..inf",
            "\"quoted\"",
            "it's",
            "line\nfeed",
            "tab\t",
            "\u{7f}\u{85}",
            "ieee:k=…,p=…",
            "−1",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "Exp<Binary8p3se, (NearestTiesToEven, SatFinite)>",
        ];
        let value = json!({ "list": texts, "map": texts.map(|text| json!({ text: text })) });
        let read: Value = serde_saphyr::from_str(&to_yaml(&value)).expect("YAML");
        assert_eq!(read, value);
    }
}
