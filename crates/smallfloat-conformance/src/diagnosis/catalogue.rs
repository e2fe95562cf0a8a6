//! Which mistakes a unit can make: the ones that projects of the field have shipped, the likeliest
//! first.

use std::ops::Range;

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32};
use smallfloat::ops::Operation;
use smallfloat::{Flags, Format, RandomBits, Rounding, Specials};

use crate::diagnosis::edit::UnitEdit;
use crate::diagnosis::mistake::Mistake;
use crate::diagnosis::readings::{formats, parameters};
use crate::diagnosis::rules::{missing, presets, saturations};
use crate::diagnosis::steps::{ExactStep, FlagStep, OperandStep, ResultStep, Special};
use crate::vectors::UnitUnderTest;

/// All mistakes that change results, the likeliest first, presets among them.
pub(super) fn of_values(unit: &UnitUnderTest) -> Vec<Mistake> {
    let mut all = roundings(unit);
    all.extend(words(unit));
    all.extend(paths(unit));
    all.extend(saturations(unit));
    all.extend(formats(unit));
    all.extend(missing(unit));
    all.extend(signs(unit));
    all.extend(operations(unit));
    all.extend(widths(unit));
    all.extend(presets(unit));
    all
}

/// What is rounded, and by which projections: a block's scale and its elements are two things.
fn parts(unit: &UnitUnderTest) -> Vec<(&'static str, Range<usize>)> {
    match unit.operation().projections().len() {
        2 => vec![("scale: ", 0..1), ("elements: ", 1..2), ("scale and elements: ", 0..2)],
        count => vec![("", 0..count)],
    }
}

fn rounding_name(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::NearestEven => "rounds to nearest, ties to even",
        Rounding::NearestAway => "ties go away from zero",
        Rounding::TowardPositive => "rounds toward +∞",
        Rounding::TowardNegative => "rounds toward −∞",
        Rounding::TowardZero => "truncates: rounds toward zero",
        _ => "rounds to odd",
    }
}

/// A stochastic mode by its letter.
type Mode = (&'static str, fn(RandomBits) -> Rounding);

/// Other rounding modes. A unit whose rounding takes a word ignores it under a mode that takes
/// none.
fn roundings(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let mut all = Vec::new();
    let order = [
        Rounding::TowardZero,
        Rounding::NearestAway,
        Rounding::NearestEven,
        Rounding::TowardPositive,
        Rounding::TowardNegative,
        Rounding::ToOdd,
    ];
    let edit = |range: &Range<usize>, rounding| UnitEdit {
        rounding: Some((range.clone(), rounding)),
        ..UnitEdit::default()
    };
    for (part, range) in parts(unit) {
        let of_part = &unit.operation().projections()[range.clone()];
        for rounding in order {
            // Some part of it is right.
            if of_part.iter().any(|projection| projection.rounding == rounding) {
                continue;
            }
            let name = match (rounding_name(rounding), rounding, projection.rounding.random_bits()) {
                (_, Rounding::TowardZero, Some(_)) => "truncates: the random word is ignored",
                (_, Rounding::NearestAway, Some(_)) => {
                    "rounds to nearest, ties away from zero, without the random word"
                }
                (_, Rounding::NearestEven, Some(_)) => {
                    "rounds to nearest, ties to even, without the random word"
                }
                (name, ..) => name,
            };
            all.extend(Mistake::of_unit(format!("{part}{name}"), unit, edit(&range, rounding)));
        }
    }
    if let Some(bits) = projection.rounding.random_bits() {
        let whole = 0..unit.operation().projections().len();
        let modes: [Mode; 3] =
            [("A", Rounding::StochasticA), ("B", Rounding::StochasticB), ("C", Rounding::StochasticC)];
        for (name, mode) in modes {
            all.extend(Mistake::of_unit(
                format!("is StochasticRounding mode {name}"),
                unit,
                edit(&whole, mode(bits)),
            ));
        }
        for dropped in 1..bits.count() {
            let Ok(fewer) = RandomBits::new(bits.count() - dropped, 0) else { continue };
            let rounding = projection.rounding.with_random_bits(fewer);
            let count = fewer.count();
            for (which, step) in
                [("highest", OperandStep::TopOfWord(dropped)), ("lowest", OperandStep::LowOfWord(dropped))]
            {
                let name = format!("uses {count} random bits, the {which} of the word's {}", bits.count());
                let other = Mistake::of_unit(&*name, unit, edit(&whole, rounding));
                let word = Mistake::of_operands("", step);
                all.extend(other.and_then(|other| other.and(&word, unit)).map(|both| both.named(name)));
            }
        }
    } else if unit.numeric().is_some() && projection.rounding == Rounding::NearestEven {
        // A directed increment in front of logic for overflow that knows rounding to nearest alone.
        for rounding in [Rounding::TowardZero, Rounding::TowardPositive, Rounding::TowardNegative] {
            let name = format!("{}, overflow apart", rounding_name(rounding));
            all.push(Mistake::of_exact(name, ExactStep::Rounded(rounding)));
        }
        all.push(Mistake::of_exact("ties go toward zero", ExactStep::Ties { up: false }));
        all.push(Mistake::of_exact("ties go toward +∞", ExactStep::Ties { up: true }));
    }
    all
}

/// A name, and of the largest random word and the right one the wrong one.
type WrongWord = (&'static str, fn(u64, u64) -> u64);

/// Random words by name.
const WORDS: [WrongWord; 6] = [
    ("always rounds away: the random word is ignored", |max, _| max),
    ("the random word is subtracted, not added", |max, word| max - word),
    ("the random word's bits are in reverse order", |max, word| word.reverse_bits() >> max.leading_zeros()),
    ("the random word is one too large", |max, word| max.min(word + 1)),
    ("the random word lies one place too high", |max, word| word << 1 & max),
    ("the random word lies one place too low", |_, word| word >> 1),
];

fn words(unit: &UnitUnderTest) -> Vec<Mistake> {
    if unit.word_count() == 0 {
        return Vec::new();
    }
    let words = WORDS.into_iter();
    words.map(|(name, word)| Mistake::of_operands(name, OperandStep::Word(word))).collect()
}

/// Ways of computing that lose bits or values.
fn paths(unit: &UnitUnderTest) -> Vec<Mistake> {
    let mut all = Vec::new();
    let has_subnormals = |format: &Format| format.has_subnormals();
    let operands = unit.operation().operands();
    if unit.operation().result().is_some_and(has_subnormals) {
        all.push(Mistake::of_results("flushes subnormal results to zero", ResultStep::Flush));
    }
    if operands.iter().any(has_subnormals) {
        all.push(Mistake::of_operands("takes subnormal operands for zero", OperandStep::Flush(None)));
        if operands.len() > 1 && unit.numeric().is_some() {
            for (i, field) in unit.operands().iter().enumerate().take(operands.len()) {
                let name = format!("takes a subnormal {} for zero", field.name);
                all.push(Mistake::of_operands(name, OperandStep::Flush(Some(i))));
            }
        }
    }
    let (Some(operation), Some(to)) = (unit.numeric(), unit.operation().result()) else {
        return all;
    };
    for (name, format) in [("binary32", BINARY32), ("binary16", BINARY16), ("bfloat16", BFLOAT16)] {
        if format != *to {
            let name = format!("rounds twice: first to {name}");
            all.push(Mistake::of_exact(name, ExactStep::Through(format)));
        }
    }
    if operation == Operation::Fma {
        all.push(Mistake::of_exact("rounds the product before the sum", ExactStep::ProductRounded));
    }
    all.push(Mistake::of_exact(
        "ignores the bits beyond the guard bit (no sticky bit)",
        ExactStep::KeepBelow(1),
    ));
    if to.has_subnormals() {
        let name = "rounds subnormal results twice: first to the precision of normal ones";
        all.push(Mistake::of_exact(name, ExactStep::TwiceBelowNormal));
        let name = "flushes results below the normal ones, before they are rounded";
        all.push(Mistake::of_exact(name, ExactStep::FlushBelowNormal));
    }
    let longer = smallfloat::Parameters { width: 16, specials: Specials::Finite, ..parameters(to) };
    if let Some(longer) = Format::minifloat(longer).ok().filter(|longer| longer.width() > to.width()) {
        let name = "overflow wraps around: the exponent's highest bits are lost";
        all.push(Mistake::of_results(name, ResultStep::Wraps(longer)));
    }
    if to.trailing_bits() > 0 {
        let lost = ResultStep::LostCarry { is_made: true };
        all.push(Mistake::of_results("the carry of a rounded significand does not reach the exponent", lost));
        let stays = ResultStep::LostCarry { is_made: false };
        all.push(Mistake::of_results("a significand of all ones is not rounded up", stays));
    }
    let early = "overflows above the largest value, before it is rounded";
    all.push(Mistake::of_exact(early, ExactStep::EarlyOverflow));
    if to.has_zero() {
        let name = "what rounds to zero becomes the smallest value";
        all.push(Mistake::of_results(name, ResultStep::NeverZero));
    }
    if matches!(operation, Operation::Add | Operation::Subtract) {
        for bits in 0..=3 {
            let cut = ExactStep::Aligned { bits, jams: false };
            let name = match bits {
                0 => "aligns the smaller term without guard bits".into(),
                1 => "aligns the smaller term with 1 guard bit and no sticky bit".into(),
                bits => format!("aligns the smaller term with {bits} guard bits and no sticky bit"),
            };
            all.push(Mistake::of_exact(name, cut));
        }
        let jams = ExactStep::Aligned { bits: 1, jams: true };
        all.push(Mistake::of_exact(
            "aligns the smaller term with a sticky bit in the guard bit's place",
            jams,
        ));
    }
    all
}

/// Datapaths that keep fewer bits than the exact result has.
fn widths(unit: &UnitUnderTest) -> Vec<Mistake> {
    let mut all = Vec::new();
    let Some(to) = unit.operation().result() else { return all };
    let widest = unit.operation().operands().iter().map(Format::precision).max().unwrap_or(0);
    if unit.numeric() == Some(Operation::Convert) {
        for bits in to.precision()..widest {
            let name = format!("keeps {bits} bits of the operand's significand");
            all.push(Mistake::of_operands(name, OperandStep::Keep(bits)));
        }
    } else if unit.numeric().is_some() {
        for bits in to.precision()..(2 * widest).min(to.precision() + 24) {
            let name = format!("keeps {bits} bits of the exact significand");
            all.push(Mistake::of_exact(name, ExactStep::Keep(bits)));
        }
        for bits in 2..8 {
            let name = format!("ignores what lies more than {bits} bits below the last place");
            all.push(Mistake::of_exact(name, ExactStep::KeepBelow(bits)));
        }
    }
    all
}

/// Signs of numbers, by those of the operands.
type SignRule = (&'static str, fn(&[bool]) -> bool);

const SIGNS: [SignRule; 6] = [
    ("the sign is that of x", |signs| signs[0]),
    ("the sign is that of y", |signs| signs[1]),
    ("the result is negative if an operand is", |signs| signs.contains(&true)),
    ("the result is negative if all operands are", |signs| !signs.contains(&false)),
    ("the sign is lost: all results are positive", |_| false),
    ("the sign is that of the product of all operands", |signs| {
        signs.iter().filter(|negative| **negative).count() % 2 == 1
    }),
];

fn signs(unit: &UnitUnderTest) -> Vec<Mistake> {
    let mut all = Vec::new();
    let (Some(operation), Some(to)) = (unit.numeric(), unit.operation().result()) else { return all };
    if !to.is_signed() {
        return all;
    }
    let count = unit.operation().operands().len();
    let rules =
        SIGNS.into_iter().filter(|(name, _)| count > 1 || !name.contains('y') && !name.contains("operand"));
    let is_sum = matches!(operation, Operation::Add | Operation::Subtract | Operation::Fma | Operation::Faa);
    for (name, rule) in rules {
        all.push(Mistake::of_results(name, ResultStep::Sign { rule, of_infinities: true }));
        if is_sum {
            let name = format!("{name}, but for infinite operands");
            all.push(Mistake::of_results(name, ResultStep::Sign { rule, of_infinities: false }));
        }
    }
    if to.has_negative_zero() {
        let lost = ResultStep::SignOfZero(false);
        all.push(Mistake::of_results("zeros have no sign: −0 becomes +0", lost));
        all.push(Mistake::of_results("all zeros are negative", ResultStep::SignOfZero(true)));
        if matches!(operation, Operation::Add | Operation::Subtract | Operation::Fma) {
            let name = "terms that cancel give −0";
            all.push(Mistake::of_exact(name, ExactStep::NegativeCancelled));
        }
    }
    all.push(Mistake::of_results("NaNs have the opposite sign", ResultStep::OtherNan));
    let zero = ExactStep::Invalid(Special::Zero);
    all.push(Mistake::of_exact("an operation without a defined result gives 0", zero));
    let infinity = ExactStep::Invalid(Special::Infinity);
    all.push(Mistake::of_exact("an operation without a defined result gives infinity", infinity));
    all
}

/// Other operations of the same operands, and operands exchanged.
fn operations(unit: &UnitUnderTest) -> Vec<Mistake> {
    let others: &[&'static str] = match unit.numeric() {
        Some(Operation::Add) => &["Subtract", "Multiply"],
        Some(Operation::Subtract) => &["Add"],
        Some(Operation::Multiply) => &["Add", "Divide"],
        Some(Operation::Divide) => &["Multiply"],
        Some(Operation::Fma) => &["FAA"],
        _ => &[],
    };
    let edit = |function| UnitEdit { function: Some(function), ..UnitEdit::default() };
    let named =
        |function: &&'static str| Mistake::of_unit(format!("computes {function}"), unit, edit(function));
    let mut all: Vec<_> = others.iter().filter_map(named).collect();
    if unit.operation().operands().len() > 1 && unit.numeric().is_some() {
        all.push(Mistake::of_operands("the operands are in reverse order", OperandStep::Swapped));
    }
    all
}

/// All mistakes that change flags alone.
pub(super) fn of_flags() -> Vec<Mistake> {
    let never = Flags::LETTERS.iter().copied().map(|(flag, _)| {
        let name = match flag {
            Flags::INVALID => "the invalid flag is never raised",
            Flags::DENORMAL => "the denormal flag is never raised",
            Flags::OVERFLOW => "the overflow flag is never raised",
            Flags::UNDERFLOW => "the underflow flag is never raised",
            Flags::INEXACT => "the inexact flag is never raised",
            _ => "the division-by-zero flag is never raised",
        };
        (name, FlagStep::Never(flag))
    });
    let (invalid, overflow, underflow) = (Flags::INVALID, Flags::OVERFLOW, Flags::UNDERFLOW);
    let more = [
        ("no flag is ever raised", FlagStep::Never(Flags::ALL)),
        ("underflow is raised for exact subnormal results too", FlagStep::TinyWhenExact),
        ("inexact is not raised with overflow", FlagStep::NotBeside(Flags::INEXACT, overflow)),
        ("inexact is not raised with underflow", FlagStep::NotBeside(Flags::INEXACT, underflow)),
        (
            "underflow is not raised for subnormal operands (D without U)",
            FlagStep::NotBeside(underflow, Flags::DENORMAL),
        ),
        ("inexact is raised with invalid", FlagStep::Beside(Flags::INEXACT, invalid)),
        ("overflow is raised with invalid", FlagStep::Beside(overflow, invalid)),
        ("overflow is raised with division by zero", FlagStep::Beside(overflow, Flags::DIVISION_BY_ZERO)),
        ("underflow is raised with every inexact result", FlagStep::Beside(underflow, Flags::INEXACT)),
    ];
    never.chain(more).map(|(name, step)| Mistake::of_flags(name, step)).collect()
}
