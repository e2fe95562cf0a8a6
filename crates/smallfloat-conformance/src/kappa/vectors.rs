//! [`Vectors`]: results that an implementation has given, line by line.

use std::io::{BufRead, Read as _};

use crate::error::Error;
use crate::kappa::defined::Defined;
use crate::kappa::gauge::{Gauge, GaugeOptions};
use crate::kappa::operation::MeasuredOperation;

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// The share of the possible operands that vectors hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandCoverage {
    /// Different operands seen.
    pub seen: u64,
    /// Possible operands.
    pub possible: u64,
}

/// Results read from lines of text: the operands' codes and the result's, in hexadecimal with or
/// without `0x`, separated by blanks. `#` starts a comment, also behind the codes. Where a comment
/// line before the first vector has the word `flags`, as the header of the testfloat layout has, a
/// byte of flags may follow the result; it is checked to be hexadecimal, not used.
#[derive(Clone, Debug)]
pub struct Vectors {
    gauge: Gauge,
    seen: Option<SeenOperands>,
}

/// Operands are counted up to this many bits.
const COUNTED_BITS: u32 = 26;

#[derive(Clone, Debug)]
struct SeenOperands {
    possible: u64,
    bits: Vec<u64>,
    count: u64,
}

impl Vectors {
    /// Reads all lines and compares them with the operation's defined results.
    ///
    /// # Errors
    /// A line that is not understood, with its number; what [`Gauge::for_operation`] refuses.
    pub fn read(
        operation: impl Into<MeasuredOperation>,
        options: GaugeOptions,
        mut input: impl BufRead,
    ) -> Result<Self, Error> {
        let operation = &operation.into();
        let gauge = Gauge::for_operation(operation, options)?;
        let bits = operation.operand_bits();
        let seen = (bits <= COUNTED_BITS).then(|| SeenOperands {
            possible: 1 << bits,
            bits: vec![0; 1 << bits.saturating_sub(6)],
            count: 0,
        });
        let mut vectors = Self { gauge, seen };
        // Vectors may be few: then runs cost more than they save.
        let mut defined = Defined::one_by_one(operation);
        let (mut has_flags, mut count) = (false, 0_u64);
        let mut operands = Vec::new();
        let mut bytes = Vec::new();
        for line in 1_u64.. {
            bytes.clear();
            let read = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
            match read.map_err(|error| Error::Read { line, cause: error.to_string() })? as u64 {
                0 => break,
                count if count > LONGEST_LINE => {
                    return Err(Error::Read { line, cause: format!("longer than {LONGEST_LINE} bytes") });
                }
                _ => {}
            }
            let text = str::from_utf8(bytes.trim_ascii_end())
                .map_err(|_| Error::Read { line, cause: "not text".into() })?;
            let (codes, comment) = text.split_once('#').map_or((text, None), |(a, b)| (a, Some(b)));
            if codes.trim().is_empty() {
                let named = |comment: &str| comment.to_ascii_lowercase().contains("flags");
                has_flags |= count == 0 && comment.is_some_and(named);
                continue;
            }
            count += 1;
            if count == RUNS_FROM {
                defined = Defined::new(operation)?;
            }
            let given = parse(operation, codes, has_flags, &mut operands)
                .map_err(|problem| Error::Vector { line, text: excerpt(codes.trim()), problem })?;
            let expected = defined.code(&operands)?;
            vectors.gauge.compare(&operands, &[expected], &[given]);
            if let Some(seen) = &mut vectors.seen {
                seen.add(operation, &operands);
            }
        }
        Ok(vectors)
    }

    /// Returns what was found.
    pub fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// Returns how many of the possible operands there were, where these are at most 2^26.
    pub fn coverage(&self) -> Option<OperandCoverage> {
        self.seen.as_ref().map(|seen| OperandCoverage { seen: seen.count, possible: seen.possible })
    }
}

/// The first 80 characters of a line, for a message.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// From so many vectors on, runs of results are worth their price.
const RUNS_FROM: u64 = 4096;

impl SeenOperands {
    fn add(&mut self, operation: &MeasuredOperation, operands: &[u64]) {
        let index = operands
            .iter()
            .zip(operation.operands())
            .fold(0, |index, (code, format)| index << format.width() | (code & format.max_code()));
        let bit = 1 << (index % 64);
        let word = &mut self.bits[usize::try_from(index / 64).expect("at most 2^26 operands")];
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }
}

/// The operands' codes and the result's, or what is wrong with the line.
fn parse(
    operation: &MeasuredOperation,
    text: &str,
    has_flags: bool,
    operands: &mut Vec<u64>,
) -> Result<u64, String> {
    let formats = operation.operands();
    let shape = format!(
        "write {} and the result's{}",
        if formats.len() == 1 {
            "the operand's code".into()
        } else {
            format!("{} operands' codes", formats.len())
        },
        if has_flags { ", then a byte of flags or nothing" } else { "" },
    );
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let codes = formats.len() + 1;
    if fields.len() != codes && !(has_flags && fields.len() == codes + 1) {
        let hint = if !has_flags && fields.len() == codes + 1 {
            " (a byte of flags is taken where a `#` line above says `flags`)"
        } else {
            ""
        };
        return Err(format!("{} fields: {shape}{hint}", fields.len()));
    }
    operands.clear();
    let hex = |field: &str| {
        let digits = field.strip_prefix("0x").or_else(|| field.strip_prefix("0X")).unwrap_or(field);
        let parsed = if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() };
        parsed.ok_or_else(|| format!("`{}` is not hexadecimal: {shape}", excerpt(field)))
    };
    let result = operation.result();
    for (field, format) in fields.iter().zip(formats.iter().chain(result)) {
        let code = format.check_code(hex(field)?).map_err(|error| format!("{format}: {error}"))?;
        operands.push(code);
    }
    if let Some(flags) = fields.get(codes) {
        let flags = hex(flags)?;
        if flags > 0xff {
            return Err(format!("flags {flags:#x} do not fit in a byte"));
        }
    }
    Ok(operands.pop().expect("the result stands after the operands"))
}
