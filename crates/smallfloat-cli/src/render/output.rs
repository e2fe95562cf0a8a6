//! Standard output: buffered, locked, coloured only on a terminal.

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

/// Is colour wanted on this stream? `NO_COLOR` (<https://no-color.org>) turns it off.
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
        Styled { text, style: self.colour.then_some("\x1b[1m") }
    }

    /// The text dimmed, where colour is wanted.
    pub(crate) fn dim<T: fmt::Display>(&self, text: T) -> Styled<T> {
        Styled { text, style: self.colour.then_some("\x1b[2m") }
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
        self.writer.write(bytes).map_err(|e| named(&e))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).map_err(|e| named(&e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|e| named(&e))
    }
}

/// The error with the name of what could not be written.
fn named(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Text between an escape sequence and its end.
pub(crate) struct Styled<T> {
    text: T,
    style: Option<&'static str>,
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => write!(f, "{style}{}\x1b[0m", self.text),
            None => self.text.fmt(f),
        }
    }
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
