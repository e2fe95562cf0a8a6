//! Data lines: arguments, or the lines of standard input without blank lines and `#` comments.

use std::io::{BufRead, BufReader, Read, StdinLock, Write};
use std::{fmt, io};

use anyhow::{Context, Result, bail};
use smallfloat::text::Literal;

/// Where a datum stands, for messages.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// The n-th argument, from 1.
    Argument(u64),
    /// The n-th line of standard input, from 1; comments and blank lines count.
    Line(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(n) => write!(f, "value {n}"),
            Self::Line(n) => write!(f, "standard input, line {n}"),
        }
    }
}

/// One datum: its 0-based index, its place and its text.
pub(crate) struct InputLine<'a> {
    pub(crate) index: u64,
    pub(crate) place: Place,
    pub(crate) text: &'a str,
}

/// Calls `each` for every value given, or for every data line of standard input if there are none
/// or the only one is `-`. Output is flushed before waiting for input, so that a process at the
/// other end gets its answers.
pub(crate) fn for_each<W: Write>(
    values: &[String],
    out: &mut W,
    mut each: impl FnMut(InputLine<'_>, &mut W) -> Result<()>,
) -> Result<()> {
    let from_stdin = values.is_empty() || values == ["-"];
    if !from_stdin {
        for (index, text) in (0..).zip(values) {
            each(InputLine { index, place: Place::Argument(index + 1), text: text.trim() }, out)?;
        }
        return Ok(());
    }
    let mut lines = Lines::new(io::stdin().lock());
    let mut index = 0;
    while let Some((line, text)) = lines.next(out)? {
        each(InputLine { index, place: Place::Line(line), text }, out)?;
        index += 1;
    }
    Ok(())
}

/// `#39` is a code; `#` before anything else starts a comment.
fn is_comment(line: &[u8]) -> bool {
    line[0] == b'#' && !str::from_utf8(line).is_ok_and(Literal::starts_with_code)
}

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Lines read into one buffer.
struct Lines<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines<StdinLock<'static>> {
    fn new(stdin: StdinLock<'static>) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, stdin), buffer: Vec::new(), number: 0 }
    }
}

impl<R: Read> Lines<R> {
    /// The next data line, trimmed, and its number.
    fn next(&mut self, out: &mut impl Write) -> Result<Option<(u64, &str)>> {
        loop {
            if self.reader.buffer().is_empty() {
                out.flush()?;
            }
            self.buffer.clear();
            let mut limited = self.reader.by_ref().take(LONGEST_LINE + 1);
            let count = limited.read_until(b'\n', &mut self.buffer).context("standard input")?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            if count as u64 > LONGEST_LINE {
                bail!("{}: longer than {LONGEST_LINE} bytes", Place::Line(self.number));
            }
            let line = self.buffer.trim_ascii();
            if !line.is_empty() && !is_comment(line) {
                break;
            }
        }
        let number = self.number;
        let text = str::from_utf8(self.buffer.trim_ascii())
            .with_context(|| format!("{}: not text", Place::Line(number)))?;
        Ok(Some((number, text)))
    }
}
