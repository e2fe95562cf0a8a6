//! [`explain`]: one result that is wrong, in words.

use std::fmt::Write;

use smallfloat::formats::BINARY64;
use smallfloat::{Exact, Flags, project};

use crate::diagnosis::diagnose;
use crate::error::Error;
use crate::vectors::{CLASSES, CallOutcome, CheckOptions, Field, FlagSet, LineLayout, UnitUnderTest, check};

/// Says what a unit should have given for these operands, between which values the exact result
/// lies, and which mistakes would give what it gave; `None` if that is right. The flags of `mask`
/// are compared.
///
/// ```
/// use smallfloat::Flags;
/// use smallfloat_conformance::explain::explain;
/// use smallfloat_conformance::vectors::{CallOutcome, UnitUnderTest};
/// let unit = UnitUnderTest::new("Multiply<e4m3fn>".parse()?, None)?;
/// // 1.125 · 1.125 is 1.265625; 1.25 is the nearest value, 1.375 the one above.
/// let given = CallOutcome::one(0x3b, Flags::NONE);
/// let text = explain(&unit, &[0x39, 0x39], &given, Flags::NONE)?.expect("it is wrong");
/// assert!(text.contains("right    0x3a  1.25"));
/// assert!(explain(&unit, &[0x39, 0x39], &CallOutcome::one(0x3a, Flags::NONE), Flags::NONE)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Operands that the unit does not have.
pub fn explain(
    unit: &UnitUnderTest,
    operands: &[u64],
    given: &CallOutcome,
    mask: Flags,
) -> Result<Option<String>, Error> {
    let right = unit.evaluate(operands)?;
    if right.results() == given.results() && right.flags & mask == given.flags & mask {
        return Ok(None);
    }
    let mut text = format!("{}\n", unit.operation());
    let mut line =
        |title: &str, what: &str| writeln!(text, "  {title:<9}{what}").expect("a string takes all");
    for (field, _, word) in unit.port_values(operands) {
        line(&field.name, &word);
    }
    let (chosen, rest) = unit.chosen(operands)?;
    for (field, code) in chosen.operands().iter().zip(rest) {
        line(&field.name, &number(field, *code));
    }
    if let Some(exact) = unit.exact(operands) {
        line("exact", &approximate(&exact));
        let place = unit.place(operands).zip(chosen.operation().result());
        if let Some(place) = place.and_then(|(place, to)| place.in_words(|code| to.decode_text(code))) {
            line("", &place);
        }
    }
    for (title, outcome) in [("right", &right), ("given", given)] {
        for (field, code) in chosen.results().iter().zip(outcome.results()) {
            line(title, &number(field, *code));
        }
        if !mask.is_empty() {
            line("", &format!("flags {}", outcome.flags & mask));
        }
    }
    for mistake in mistakes(unit, operands, given, mask)? {
        line("as if", &mistake);
    }
    Ok(Some(text))
}

/// How many mistakes are named: one vector does not tell many apart.
const SHOWN: usize = 3;

/// The mistakes that would give this, the likeliest first.
fn mistakes(
    unit: &UnitUnderTest,
    operands: &[u64],
    given: &CallOutcome,
    mask: Flags,
) -> Result<Vec<String>, Error> {
    if unit.results().iter().zip(given.results()).any(|(field, code)| *code > field.max()) {
        return Ok(Vec::new());
    }
    // The smallest set with the mask; what it has besides is right.
    let sets = [FlagSet::None, FlagSet::Idou, FlagSet::Iouxz, FlagSet::All];
    let set = sets.into_iter().find(|set| set.mask().contains(mask)).unwrap_or(FlagSet::All);
    let right = unit.evaluate(operands)?.flags.without(mask);
    let flags = (given.flags & mask) | (right & set.mask());
    let fields = unit.operands().iter().zip(operands).chain(unit.results().iter().zip(given.results()));
    let mut vector = String::new();
    for (field, code) in fields {
        write!(vector, "{code:0width$x} ", width = field.digits()).expect("a string takes all");
    }
    if set != FlagSet::None {
        write!(vector, "{:02x}", flags.bits_in(smallfloat::FlagOrder::Fflags)).expect("a string takes all");
    }
    vector.push('\n');
    let options = CheckOptions {
        unit: Some(unit.into()),
        layout: Some(LineLayout::TestFloat),
        flags: Some(set),
        show: 1,
        ..CheckOptions::default()
    };
    let report = check(vector.as_bytes(), &options)?;
    let diagnosis = diagnose(&report);
    let mut found: Vec<String> = diagnosis.rules.iter().map(|rule| rule.mistake.to_string()).collect();
    for mismatch in &report.first {
        found.extend(diagnosis.explanations(&report, mismatch).iter().map(ToString::to_string));
    }
    found.dedup();
    found.truncate(SHOWN);
    Ok(found)
}

/// A code with its value.
fn number(field: &Field, code: u64) -> String {
    let digits = field.digits();
    match &field.format {
        Some(format) if code <= format.max_code() => {
            format!("0x{code:0digits$x}  {}", format.decode_text(code))
        }
        Some(format) => format!("0x{code:x}, which has more than {} bits", format.width()),
        None if field.name == "class" => {
            let name = usize::try_from(code).ok().and_then(|i| CLASSES.get(i));
            name.map_or_else(|| format!("{code}, no class"), |name| (*name).to_owned())
        }
        None => match field.integer {
            Some(integer) => format!("0x{code:0digits$x}  {}", integer.value(code)),
            None => format!("0x{code:0digits$x}"),
        },
    }
}

fn approximate(exact: &Exact) -> String {
    let rounded = project(*exact, &BINARY64, &BINARY64.default_projection());
    let sign = if rounded.flags.contains(Flags::INEXACT) { "≈ " } else { "" };
    format!("{sign}{}", BINARY64.decode_text(rounded.value))
}
