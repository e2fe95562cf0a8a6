//! [`Recode`]: codes of one format → codes of another, or of the same with another bias.

use smallfloat::{Class, Flags, Format, Projection, Rounded};

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::element::classes::BATCH;
use crate::element::{Code, check_code, check_lengths, check_operand};
use crate::encode::{CODE, entry};
use crate::error::Error;
use crate::event_counts::{Counter, EventCounts, bit};
use crate::parallel;
use crate::plan::recode::RecodeTable;

/// Converts slices of codes: a table of all codes that [`smallfloat::convert`] fills, so each
/// result is rounded once from the exact value. From bytes to bytes by vectors where the machine
/// has them.
///
/// ```
/// use smallfloat::Format;
/// use smallfloat_kernels::Recode;
///
/// let (from, to) = (Format::cfloat8_1_4_3(7)?, Format::cfloat8_1_4_3(10)?);
/// let recode = Recode::new(&from, &to, &to.default_projection())?;
/// let mut codes = [0_u8; 3];
/// // 1, 2^-5 and 480, which is beyond the largest value, 60.
/// let events = recode.recode(&[0x38_u8, 0x10, 0x7f], &mut codes);
/// assert_eq!(codes, [0x50, 0x28, 0x7f]);
/// assert_eq!(events.overflowed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recode {
    from: Format,
    to: Format,
    /// For each code: the result, and above it flags and counted events.
    table: Vec<u32>,
    level: Level,
    fast: Option<SimdRecoder>,
}

impl Recode {
    /// Returns a converter between formats of at most 16 bits.
    ///
    /// # Errors
    /// A wider format, or a stochastic rounding mode.
    pub fn new(from: &Format, to: &Format, projection: &Projection) -> Result<Self, Error> {
        if let Some(format) = [from, to].into_iter().find(|format| format.is_wide()) {
            return Err(Error::TooWide { format: *format });
        }
        if projection.rounding.is_stochastic() {
            return Err(Error::NoRandomWords { mode: projection.rounding.name() });
        }
        let with_denormal = |code: u64| {
            let denormal =
                if from.classify(code) == Class::Subnormal { Flags::DENORMAL } else { Flags::NONE };
            entry(code, from, to, projection) | u32::from(denormal.bits()) << bit::FLAGS
        };
        let table: Vec<u32> = from.codes().map(with_denormal).collect();
        let recode = Self { from: *from, to: *to, table, level: Level::Portable, fast: None };
        Ok(recode.with_level(Level::detected()))
    }

    /// Returns this with the kernels of another level; of a level that the machine can't run, with
    /// those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        let narrow = self.from.width() <= 8 && self.to.width() <= 8;
        self.fast = if narrow { SimdRecoder::new(self.level, &self.table) } else { None };
        self
    }

    /// Returns the level of the kernels in use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the formats of operands and results.
    pub fn formats(&self) -> [&Format; 2] {
        [&self.from, &self.to]
    }

    /// Converts a slice and counts what happened. Bits of a code above the format's width are
    /// ignored.
    ///
    /// # Panics
    /// If the slices differ in length, the results' type is narrower than their format, or scalars
    /// are of other formats.
    pub fn recode<X: Code, R: Code>(&self, codes: &[X], results: &mut [R]) -> EventCounts {
        check_lengths((codes.len(), "codes"), (results.len(), "results"));
        check_operand::<X>(&self.from);
        check_code::<R>(&self.to);
        parallel::zip(codes, results, &|_, codes, results| {
            let fast = self.fast.as_ref().and_then(|fast| fast.recode(codes, results));
            fast.unwrap_or_else(|| self.by_table(codes, results))
        })
    }

    fn by_table<X: Code, R: Code>(&self, codes: &[X], results: &mut [R]) -> EventCounts {
        let mask = self.table.len() - 1;
        let mut counter = Counter::default();
        for (codes, results) in codes.chunks(BATCH).zip(results.chunks_mut(BATCH)) {
            for (code, result) in codes.iter().zip(results) {
                let entry = self.table[code.code() & mask];
                counter.add(entry);
                *result = R::from_code(entry & CODE);
            }
            counter.empty_lanes();
        }
        counter.finish(codes.len(), false)
    }

    /// Returns the result of one code, with its flags.
    pub fn value(&self, code: usize) -> Rounded<u64> {
        let entry = self.table[code & (self.table.len() - 1)];
        let [flags, _, _, _] = (entry >> bit::FLAGS).to_le_bytes();
        Rounded { value: u64::from(entry & CODE), flags: Flags::from_bits_truncate(flags) }
    }
}

/// Bytes to bytes by kernels.
#[derive(Clone, Debug)]
pub(crate) struct SimdRecoder {
    table: RecodeTable,
    machine: Machine,
}

impl SimdRecoder {
    /// Returns the recoder for entries laid out as `event_counts.rs` says.
    pub(crate) fn new(level: Level, table: &[u32]) -> Option<Self> {
        Some(Self { machine: Machine::new(level)?, table: RecodeTable::new(table) })
    }

    pub(crate) fn recode<X: Code, R: Code>(&self, codes: &[X], results: &mut [R]) -> Option<EventCounts> {
        let (codes, results) = (X::as_codes(codes).bytes()?, R::as_codes_mut(results).bytes()?);
        self.machine.recode(&self.table, codes, results)
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY16, E4M3FN, E5M2};

    use super::{Format, Level, Recode};

    /// Vectors look up bytes by bytes.
    #[test]
    fn when_there_are_vectors() {
        let has_vectors = |from: &Format, to: &Format| {
            let recode = Recode::new(from, to, &to.default_projection()).expect("a converter");
            Level::with_kernels().is_some_and(|level| recode.with_level(level).fast.is_some())
        };
        assert_eq!(has_vectors(&E4M3FN, &E5M2), Level::with_kernels().is_some());
        assert!(!has_vectors(&BINARY16, &E5M2) && !has_vectors(&E5M2, &BINARY16));
    }
}
