//! Lines of vectors, read back in any layout.

use smallfloat::{FlagOrder, Flags};

use crate::vectors::any_unit::VectorUnit;
use crate::vectors::header;
use crate::vectors::header::{FlagSet, VectorHeader};
use crate::vectors::layout::LineLayout;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::unit::Field;

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VectorLine {
    /// Blank, a comment, an address, the titles of columns or a header.
    Nothing,
    /// A vector; without a result where the unit gave unknown digits (x or z in Verilog).
    Vector { operands: Vec<u64>, given: Option<CallOutcome> },
}

/// Reads lines of one unit in one layout.
#[derive(Clone, Debug)]
pub(super) struct LineReader {
    operands: Vec<Field>,
    results: Vec<Field>,
    layout: LineLayout,
    flags: FlagSet,
    order: FlagOrder,
}

/// One number as it is written.
enum Number {
    Known(u64),
    Unknown,
}

/// The first 80 characters of a line, for a message; what could disturb a terminal is escaped.
pub(super) fn excerpt(text: &str) -> String {
    let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() { shown + "…" } else { shown }
}

/// The `key: value` of a header's comment.
fn key_and_value(comment: &str) -> Option<(&str, &str)> {
    let (key, value) = comment.trim().split_once(": ")?;
    Some((key.trim(), value.trim()))
}

/// The comment of a line that is nothing else.
pub(super) fn comment(line: &str) -> Option<&str> {
    ["#", "//"].iter().find_map(|mark| line.strip_prefix(mark))
}

/// Refuses the title of a version that this one does not read.
fn check_title(title: &str) -> Result<(), String> {
    let (name, _) = header::TITLE.rsplit_once(' ').expect("a title ends with its version");
    let version = title.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
    let is_other = version.is_some_and(|version| version.parse::<u64>().is_ok()) && title != header::TITLE;
    if is_other {
        Err(format!("another version of the layout: only `{}` is read", header::TITLE))
    } else {
        Ok(())
    }
}

/// Takes what a line says of the file, if it is a header's; `false` where vectors begin.
pub(super) fn take_header(line: &str, header: &mut VectorHeader) -> Result<bool, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(true);
    }
    if let Some(comment) = comment(line) {
        if header.layout.is_none() && line.starts_with("//") {
            header.layout = Some(LineLayout::ReadMemH);
        }
        check_title(comment.trim())?;
        if let Some((key, value)) = key_and_value(comment) {
            header.take(key, value)?;
        }
        return Ok(true);
    }
    if !line.starts_with('{') {
        return Ok(false);
    }
    header.layout = Some(LineLayout::JsonLines);
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(line) else {
        return Ok(false);
    };
    let Some(title) = object.get("title").and_then(serde_json::Value::as_str) else { return Ok(false) };
    check_title(title)?;
    if title != header::TITLE {
        return Ok(false);
    }
    for (key, value) in &object {
        if let Some(value) = value.as_str() {
            header.take(key, value)?;
        }
    }
    Ok(true)
}

/// The digest of the lines before, if this is the line that has it.
pub(super) fn digest_in(line: &str) -> Result<Option<String>, String> {
    let mut header = VectorHeader::default();
    if line.contains("sha256") {
        take_header(line, &mut header)?;
    }
    Ok(header.sha256)
}

/// Returns whether a line is one of our headers' that says something, not just any comment.
pub(super) fn is_header(line: &str) -> bool {
    let mut header = VectorHeader::default();
    match comment(line.trim()).map(key_and_value) {
        Some(row) => {
            row.is_some_and(|(key, value)| header.take(key, value).is_ok())
                && header != VectorHeader::default()
        }
        None => line.starts_with('{') && take_header(line, &mut header) == Ok(true),
    }
}

/// The layout of a file without a header, by its first vector.
pub(super) fn guess_layout(line: &str) -> LineLayout {
    let line = line.trim();
    match () {
        () if line.starts_with('{') => LineLayout::JsonLines,
        () if line.contains(',') => LineLayout::Csv,
        () if line.contains(char::is_whitespace) => LineLayout::TestFloat,
        () => LineLayout::ReadMemH,
    }
}

impl LineReader {
    pub(super) fn new(unit: &VectorUnit, layout: LineLayout, flags: FlagSet, order: FlagOrder) -> Self {
        let (operands, results) = (unit.operands().to_vec(), unit.results().to_vec());
        Self { operands, results, layout, flags, order }
    }

    /// Reads a line; `ends` where a line feed followed. The error says what is wrong and what would
    /// be right.
    pub(super) fn read(&self, line: &str, ends: bool) -> Result<VectorLine, String> {
        let text = line.trim();
        let mark = self.layout.comment();
        if text.is_empty() || comment(text).is_some() {
            return Ok(VectorLine::Nothing);
        }
        let result = if self.layout == LineLayout::JsonLines {
            self.json(text)
        } else {
            // Simulators append comments of their own.
            self.fields(text.split_once(mark).map_or(text, |(vector, _)| vector).trim(), ends)
        };
        result.map_err(|problem| {
            if ends { problem } else { format!("{problem} (the input ends within this line: truncated?)") }
        })
    }

    fn fields(&self, text: &str, ends: bool) -> Result<VectorLine, String> {
        let words: Vec<&str> = match self.layout {
            LineLayout::Csv => text.split(',').map(str::trim).collect(),
            LineLayout::ReadMemH => {
                // The address of the next word; simulators write one.
                if text.starts_with('@') {
                    return Ok(VectorLine::Nothing);
                }
                return self.word(text);
            }
            _ => text.split_ascii_whitespace().collect(),
        };
        if self.layout == LineLayout::Csv
            && words.first() == self.operands.first().map(|f| f.name.as_str()).as_ref()
        {
            return Ok(VectorLine::Nothing);
        }
        if !ends && words.last().is_some_and(|last| strip_prefix(last).len() < self.last_digits()) {
            return Err(format!("the last number has fewer than {} digits", self.last_digits()));
        }
        self.numbers(&words)
    }

    fn last_digits(&self) -> usize {
        match self.flags {
            FlagSet::None => self.results.last().map_or(1, Field::digits),
            _ => 2,
        }
    }

    /// One Verilog word, cut into its fields.
    fn word(&self, text: &str) -> Result<VectorLine, String> {
        let digits: String = text.chars().filter(|c| *c != '_').collect();
        let widths = self.operands.iter().chain(&self.results).map(Field::digits).chain([2]);
        let widths: Vec<usize> = widths.collect();
        let expected: usize = widths.iter().sum();
        if digits.len() != expected || !digits.is_ascii() {
            let given = digits.chars().count();
            return Err(format!("a word of {given} digits, {expected} expected: {}", self.shape()));
        }
        let mut rest = digits.as_str();
        let words: Vec<&str> = widths
            .into_iter()
            .map(|width| {
                let (word, after) = rest.split_at(width);
                rest = after;
                word
            })
            .collect();
        self.numbers(&words)
    }

    fn json(&self, text: &str) -> Result<VectorLine, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
        if value.get("title").is_some() {
            return Ok(VectorLine::Nothing);
        }
        let list = |key: &str| -> Result<Vec<&str>, String> {
            let wrong = || format!("`{key}` is not a list of strings: {}", self.shape());
            let list = value.get(key).and_then(|list| list.as_array()).ok_or_else(wrong)?;
            list.iter().map(|code| code.as_str().ok_or_else(wrong)).collect()
        };
        let (operands, results) = (list("operands")?, list("results")?);
        for (what, given, expected) in [
            ("operands", operands.len(), self.operands.len()),
            ("results", results.len(), self.results.len()),
        ] {
            if given != expected {
                return Err(format!("{given} {what}, {expected} expected"));
            }
        }
        let flags = match value.get("flags") {
            Some(flags) => Some(flags.as_str().ok_or("`flags` is not a string of two digits")?),
            None => None,
        };
        self.numbers(&operands.into_iter().chain(results).chain(flags).collect::<Vec<_>>())
    }

    /// How a line is written, for messages.
    fn shape(&self) -> String {
        let all = self.operands.iter().chain(&self.results).map(|field| field.name.as_str());
        let names: Vec<_> = all.chain(["flags"]).collect();
        match self.layout {
            LineLayout::TestFloat => format!("write `{}`", names.join(" ")),
            LineLayout::ReadMemH => {
                let digits = self.operands.iter().chain(&self.results).map(Field::digits).chain([2]);
                let parts: Vec<_> =
                    names.iter().zip(digits).map(|(name, digits)| format!("{name} {digits}")).collect();
                format!("digits are {}", parts.join(", "))
            }
            LineLayout::Csv => format!("write `{}`", names.join(",")),
            LineLayout::JsonLines => {
                r#"write {"operands":["…"],"results":["…"],"flags":"…"}, codes in hexadecimal"#.into()
            }
        }
    }

    fn numbers(&self, words: &[&str]) -> Result<VectorLine, String> {
        let fields: Vec<&Field> = self.operands.iter().chain(&self.results).collect();
        // A unit without flags may leave them out.
        let may_lack_flags = self.flags == FlagSet::None;
        let has_flags = match words.len() {
            n if n == fields.len() + 1 => true,
            n if n == fields.len() && may_lack_flags => false,
            n => {
                let expected = fields.len() + 1;
                return Err(format!("{n} numbers, {expected} expected: {}", self.shape()));
            }
        };
        let mut operands = Vec::with_capacity(self.operands.len());
        let mut results = Some(Vec::with_capacity(self.results.len()));
        for (i, (word, field)) in words.iter().zip(&fields).enumerate() {
            match (number(word, field.max(), &field.name)?, i < self.operands.len()) {
                (Number::Known(code), true) => operands.push(code),
                (Number::Unknown, true) => {
                    return Err(format!(
                        "{}: `{}` is unknown, an operand is a number",
                        field.name,
                        excerpt(word)
                    ));
                }
                (Number::Known(code), false) => {
                    if let Some(results) = &mut results {
                        results.push(code);
                    }
                }
                (Number::Unknown, false) => results = None,
            }
        }
        let mut flags = Flags::NONE;
        if let Some(word) = words.last().filter(|_| has_flags) {
            match number(word, u64::from(Flags::ALL.bits_in(self.order)), "flags")? {
                Number::Known(bits) => {
                    flags = Flags::from_bits_in(u8::try_from(bits).expect("a byte"), self.order);
                }
                Number::Unknown if self.flags == FlagSet::None => {}
                Number::Unknown => results = None,
            }
        }
        Ok(VectorLine::Vector { operands, given: results.map(|results| CallOutcome::many(results, flags)) })
    }
}

fn strip_prefix(word: &str) -> &str {
    word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word)
}

fn number(word: &str, max: u64, name: &str) -> Result<Number, String> {
    let digits = strip_prefix(word);
    let is_unknown = |c: u8| matches!(c, b'x' | b'X' | b'z' | b'Z');
    if digits.bytes().any(is_unknown) && digits.bytes().all(|c| is_unknown(c) || c.is_ascii_hexdigit()) {
        return Ok(Number::Unknown);
    }
    let known = digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16).ok());
    match known.flatten() {
        Some(number) if number <= max => Ok(Number::Known(number)),
        Some(_) => Err(format!("{name}: `{}` is too large, 0..={max:x} in hexadecimal", excerpt(word))),
        None => Err(format!("{name}: `{}` is not a hexadecimal number", excerpt(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::unit::UnitUnderTest;

    fn reader(operation: &str, layout: LineLayout, flags: FlagSet) -> LineReader {
        let unit = UnitUnderTest::new(operation.parse().expect("an operation"), None).expect("a unit");
        LineReader::new(&unit.into(), layout, flags, FlagOrder::Fflags)
    }

    const ADD: &str = "Add<e4m3fn, e2m1fn, bfloat16>";

    fn vector(operands: &[u64], result: u64, flags: Flags) -> VectorLine {
        VectorLine::Vector { operands: operands.to_vec(), given: Some(CallOutcome::one(result, flags)) }
    }

    #[test]
    fn all_layouts_say_the_same() {
        for (layout, line) in [
            (LineLayout::TestFloat, "38 2 4000 21"),
            (LineLayout::TestFloat, "  0x38 0X2\t4000 21  # a comment"),
            (LineLayout::ReadMemH, "382400021"),
            (LineLayout::ReadMemH, "38_2_4000_21 // a comment"),
            (LineLayout::Csv, "0x38,0x2,0x4000,0x21"),
            (LineLayout::Csv, "38, 2, 4000, 21"),
            (LineLayout::JsonLines, r#"{"operands":["38","2"],"results":["4000"],"flags":"21"}"#),
        ] {
            let expected = vector(&[0x38, 2], 0x4000, Flags::DENORMAL | Flags::INEXACT);
            assert_eq!(reader(ADD, layout, FlagSet::All).read(line, true), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_vector_is_passed_over_and_what_is_unknown_is_kept() {
        let read = |layout, line: &str| reader(ADD, layout, FlagSet::All).read(line, true);
        for line in ["", "# flags: all", "// 0x00000000"] {
            assert_eq!(read(LineLayout::TestFloat, line), Ok(VectorLine::Nothing));
        }
        assert_eq!(read(LineLayout::ReadMemH, "@0010"), Ok(VectorLine::Nothing));
        assert_eq!(read(LineLayout::Csv, "x,y,result,flags"), Ok(VectorLine::Nothing));
        let unknown = Ok(VectorLine::Vector { operands: vec![0x38, 2], given: None });
        assert_eq!(read(LineLayout::ReadMemH, "382xxxx21"), unknown);
        assert_eq!(read(LineLayout::TestFloat, "38 2 4000 zz"), unknown);
    }

    #[test]
    fn mistakes_are_named() {
        let read =
            |layout, line: &str, ends| reader(ADD, layout, FlagSet::All).read(line, ends).expect_err(line);
        for (layout, line, words) in [
            (LineLayout::TestFloat, "38 2 4000", "3 numbers, 4 expected: write `x y result flags`"),
            (LineLayout::TestFloat, "38 12 4000 00", "y: `12` is too large, 0..=f"),
            (LineLayout::TestFloat, "38 2 40000 00", "result: `40000` is too large"),
            (LineLayout::TestFloat, "38 2 4000 40", "flags: `40` is too large, 0..=3f"),
            (LineLayout::TestFloat, "38 +2 4000 00", "`+2` is not a hexadecimal"),
            (LineLayout::TestFloat, "xx 2 4000 00", "x: `xx` is unknown"),
            (
                LineLayout::ReadMemH,
                "38240002",
                "8 digits, 9 expected: digits are x 2, y 1, result 4, flags 2",
            ),
            (LineLayout::Csv, "0x38,,0x4000,00", "y: `` is not"),
            (LineLayout::JsonLines, "{", "not a JSON object"),
            (LineLayout::JsonLines, r#"{"operands":["38"],"results":["0"]}"#, "1 operands, 2 expected"),
            (LineLayout::JsonLines, r#"{"operands":[38],"results":["0"]}"#, "list of strings"),
        ] {
            let problem = read(layout, line, true);
            assert!(problem.contains(words), "{line}: {problem}");
        }
        assert!(read(LineLayout::TestFloat, "38 2 4000 0", false).contains("truncated"));
        assert!(read(LineLayout::ReadMemH, "382400", false).contains("truncated"));
    }

    #[test]
    fn units_without_flags_may_leave_them_out() {
        let reader = reader(ADD, LineLayout::TestFloat, FlagSet::None);
        assert_eq!(reader.read("38 2 4000", true), Ok(vector(&[0x38, 2], 0x4000, Flags::NONE)));
        assert!(reader.read("38 2 4000 3f", true).is_ok());
    }
}
