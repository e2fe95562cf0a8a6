//! [`Reader`]: what the codes of an operand's format mean, looked up where there are few.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::projection::flags::Flags;

/// What a code means, with its facts as an operand, of which a policy makes flags.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) datum: Datum,
    pub(super) flags: Flags,
}

impl Read {
    pub(super) const ONE: Self = Self::quiet(Datum::finite(false, 1, 0));

    pub(super) const fn quiet(datum: Datum) -> Self {
        Self { datum, flags: Flags::NONE }
    }

    pub(super) fn code(code: u64, format: &Format) -> Self {
        let datum = format.decode(code);
        Self { datum, flags: format.facts(code, &datum) }
    }
}

/// A format whose codes are read often: those of at most a byte are read once, at the start.
#[derive(Clone)]
pub(super) struct Reader {
    format: Format,
    table: Option<Arc<[Read]>>,
}

impl Reader {
    /// Readers of formats, in their order.
    pub(super) fn of(formats: &[Format]) -> Vec<Self> {
        let mut readers = Vec::<Self>::with_capacity(formats.len());
        for &format in formats {
            let known = readers.iter().find(|reader| reader.format == format);
            readers.push(known.cloned().unwrap_or_else(|| Self::new(format)));
        }
        readers
    }

    fn new(format: Format) -> Self {
        let read = |code| Read::code(code, &format);
        let table = (format.width() <= 8).then(|| format.codes().map(read).collect());
        Self { format, table }
    }

    pub(super) fn format(&self) -> &Format {
        &self.format
    }

    /// What a code of the format means.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a code of at most eight bits")]
    pub(super) fn read(&self, code: u64) -> Read {
        match &self.table {
            Some(table) => table[code as usize],
            None => Read::code(code, &self.format),
        }
    }
}

/// The format says all.
impl PartialEq for Reader {
    fn eq(&self, other: &Self) -> bool {
        self.format == other.format
    }
}

impl Eq for Reader {}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format.fmt(f)
    }
}
