//! Standard output, buffered and locked, and messages on standard error. Both are coloured only on
//! a terminal, and neither lets control characters through.
//!
//! Names, metadata and lines come from files that anybody may have made, and reach the terminal in
//! many ways: in tables, in JSON, in messages of libraries. So what a terminal would act on instead
//! of showing it is escaped here, where everything passes: `\u001b` for ESC, which in JSON is the
//! same character.

use std::fmt::Write as _;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::{env, fmt, io};

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// No table is wider.
pub(crate) const WIDTH: u16 = 100;

/// Standard output as a buffered writer. Write errors reach `main`, which takes a closed pipe for
/// success.
pub(crate) struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    colour: bool,
}

/// Returns whether colour is wanted on this stream. `NO_COLOR` (<https://no-color.org>) turns it
/// off.
pub(crate) fn wants_colour(is_terminal: bool) -> bool {
    is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl Output {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let colour = wants_colour(stdout.is_terminal());
        Self { writer: BufWriter::with_capacity(1 << 16, stdout.lock()), colour }
    }

    /// Writes out what is still buffered.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    /// The text in bold, where colour is wanted.
    pub(crate) fn bold<T: fmt::Display>(&self, text: T) -> Styled<T> {
        Styled { text, style: self.colour.then_some(BOLD) }
    }

    /// The text dimmed, where colour is wanted.
    pub(crate) fn dim<T: fmt::Display>(&self, text: T) -> Styled<T> {
        Styled { text, style: self.colour.then_some(DIM) }
    }

    /// Prints a table without rules between its rows, its header in bold.
    pub(crate) fn rows(&mut self, table: &Table) -> io::Result<()> {
        self.grouped_rows(table, &[])
    }

    /// Prints a table without rules between its rows; `titles` has, for each row, the title that
    /// stands above it.
    pub(crate) fn grouped_rows(&mut self, table: &Table, titles: &[Option<&str>]) -> io::Result<()> {
        let mut titles = titles.iter();
        let mut rules = 0;
        let mut at_row_start = false;
        for line in table.lines() {
            let line = line.trim_end();
            let is_rule = line.starts_with(['─', '═']);
            match (is_rule, rules) {
                // Of the rules, only the one below the header stays.
                (true, 1) => writeln!(self, "{}", "─".repeat(line.chars().count()))?,
                (true, _) => {}
                (false, 1) => {
                    let bold = self.bold(line);
                    writeln!(self, "{bold}")?;
                }
                (false, _) => {
                    if at_row_start && let Some(Some(title)) = titles.next() {
                        let title = self.dim(title);
                        writeln!(self, "{}{title}", if rules > 2 { "\n" } else { "" })?;
                    }
                    writeln!(self, "{line}")?;
                }
            }
            at_row_start = is_rule;
            rules += u32::from(is_rule);
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_plain = |&byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        let written = if bytes.iter().all(is_plain) {
            self.writer.write_all(bytes)
        } else {
            self.writer.write_all(shown(bytes, self.colour).as_bytes())
        };
        written.map_err(|e| named(&e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|e| named(&e))
    }
}

/// The error with the name of what could not be written.
fn named(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Text between two marks, which become escape sequences on their way out.
pub(crate) struct Styled<T> {
    text: T,
    style: Option<char>,
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => write!(f, "{style}{}{PLAIN}", self.text),
            None => self.text.fmt(f),
        }
    }
}

/// The marks of styled text are noncharacters of Unicode, which no text should have.
const BOLD: char = '\u{fdd0}';
const DIM: char = '\u{fdd1}';
const PLAIN: char = '\u{fdd2}';

/// Text as a terminal may have it: marks as escape sequences, everything else that a terminal would
/// act on escaped, but for line ends.
fn shown(bytes: &[u8], colour: bool) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                BOLD if colour => text.push_str("\x1b[1m"),
                DIM if colour => text.push_str("\x1b[2m"),
                PLAIN if colour => text.push_str("\x1b[0m"),
                '\n' => text.push(c),
                c => push_shown(&mut text, c),
            }
        }
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

/// Appends a character, or its escape where a terminal would act on it or show nothing.
pub(crate) fn push_shown(text: &mut String, c: char) {
    let hides = matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    if !hides && !c.is_control() {
        return text.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a string can't fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// Prints a message on standard error: `smallfloat: ` and one paragraph, further lines indented.
pub(crate) fn message(kind: Message, text: &str) {
    let (red, plain) = if kind == Message::Error && wants_colour(io::stderr().is_terminal()) {
        ("\x1b[1;31m", "\x1b[0m")
    } else {
        ("", "")
    };
    let kind = match kind {
        Message::Error => "error: ",
        Message::Note => "note: ",
        Message::Plain => "",
    };
    let text = shown(text.trim_end().as_bytes(), false).replace('\n', "\n  ");
    // Where nobody listens there is nobody to tell.
    let _ = writeln!(io::stderr(), "smallfloat: {red}{kind}{plain}{text}");
}

/// The kinds of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Error,
    Note,
    Plain,
}

/// An empty table in the house style; columns whose index is in `numbers` are aligned to the right.
pub(crate) fn table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header.to_vec());
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let hostile = "a\x1b[2J\u{7}\r\u{7f}\u{9b}1m\u{202e}\u{2066}b\tc\u{e0041}\nnext é×✓";
        let escaped =
            "a\\u001b[2J\\u0007\\u000d\\u007f\\u009b1m\\u202e\\u2066b\\u0009c\\udb40\\udc41\nnext é×✓";
        assert_eq!(shown(hostile.as_bytes(), true), escaped);
        assert_eq!(shown(b"a\xffb", false), "a\u{fffd}b");
        // In JSON the escape is the same text.
        let json = shown(serde_json::to_string("\u{202e}\u{9b}").unwrap().as_bytes(), false);
        assert!(json.is_ascii());
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "\u{202e}\u{9b}");
    }

    #[test]
    fn styles_are_marks_until_they_are_written() {
        let styled = Styled { text: "x", style: Some(BOLD) }.to_string();
        assert_eq!(shown(styled.as_bytes(), true), "\x1b[1mx\x1b[0m");
        assert_eq!(shown(styled.as_bytes(), false), "\\ufdd0x\\ufdd2");
    }
}
