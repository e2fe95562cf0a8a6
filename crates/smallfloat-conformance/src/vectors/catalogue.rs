//! Which mistakes a unit can make: the ones that projects of the field have shipped, the likeliest
//! first.

use std::cmp::Ordering;
use std::ops::Range;

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, CATALOGUE};
use smallfloat::ops::Operation;
use smallfloat::{
    Datum, Flags, Format, MissingNan, MissingZero, NegativeRule, Parameters, Preset, Projection, RandomBits,
    Rounding, Saturation, Specials, Subnormals,
};

use crate::vectors::mistake::{FlagMistake, Mistake, MistakeKind};
use crate::vectors::unit::UnitUnderTest;

/// Relations by name.
const RELATIONS: [Relation; 8] = [
    ("a zero has the wrong sign", wrong_zero),
    ("a NaN has another code", wrong_nan),
    ("the result has the wrong sign", wrong_sign),
    ("NaN became a number", lost_nan),
    ("the largest value became NaN or infinity: overflow is not clamped", unclamped),
    ("a carry out of the significand did not reach the exponent", lost_carry),
    ("the magnitude is one step too small", |_, expected, given| expected.checked_sub(given) == Some(1)),
    ("the magnitude is one step too large", |_, expected, given| given.checked_sub(expected) == Some(1)),
];
/// The first ones, in which the value is right.
const CODES: usize = 2;
type Relation = (&'static str, fn(&Format, u64, u64) -> bool);

/// A name, and of the largest random word and the right one the wrong one.
type WrongWord = (&'static str, fn(u64, u64) -> u64);

/// Random words by name.
const WORDS: [WrongWord; 5] = [
    ("truncates: the random word is ignored", |_, _| 0),
    ("always rounds away: the random word is ignored", |max, _| max),
    ("the random word is subtracted, not added", |max, word| max - word),
    ("the random word's bits are in reverse order", |max, word| word.reverse_bits() >> max.leading_zeros()),
    ("the random word is one too large", |max, word| max.min(word + 1)),
];

fn wrong_sign(format: &Format, expected: u64, given: u64) -> bool {
    format.is_signed()
        && expected ^ given == 1 << (format.width() - 1)
        && !format.decode(expected).is_zero()
        && !format.decode(expected).is_nan()
}

fn wrong_zero(format: &Format, expected: u64, given: u64) -> bool {
    format.decode(expected).is_zero() && format.decode(given).is_zero()
}

fn wrong_nan(format: &Format, expected: u64, given: u64) -> bool {
    format.decode(expected).is_nan() && format.decode(given).is_nan()
}

fn lost_nan(format: &Format, expected: u64, given: u64) -> bool {
    format.decode(expected).is_nan() && !format.decode(given).is_nan()
}

fn unclamped(format: &Format, expected: u64, given: u64) -> bool {
    let (right, wrong) = (format.decode(expected), format.decode(given));
    let is_largest = right.compare(&format.max_finite()).is_some_and(Ordering::is_eq)
        || right.negated().compare(&format.max_finite()).is_some_and(Ordering::is_eq);
    is_largest && !wrong.is_finite()
}

fn lost_carry(format: &Format, expected: u64, given: u64) -> bool {
    let step = 1 << format.trailing_bits();
    expected.is_multiple_of(step) && expected.checked_sub(given) == Some(step) && format.trailing_bits() > 0
}

/// All mistakes that a unit can make, the likeliest first.
pub(super) fn all(unit: &UnitUnderTest) -> Vec<Mistake> {
    // What says exactly what is seen comes before what would also give it.
    let relations = RELATIONS.map(|(name, relation)| Mistake::new(name, MistakeKind::Relation(relation)));
    let (codes, values) = relations.split_at(CODES);
    let mut all = codes.to_vec();
    all.extend(roundings(unit));
    all.extend(words(unit));
    all.extend(paths(unit));
    all.extend(saturations(unit));
    all.extend(formats(unit));
    all.extend(missing(unit));
    all.extend(policies(unit));
    if unit.operation().operands().len() > 1 && unit.numeric().is_some() {
        all.push(Mistake::new("the operands are in reverse order", MistakeKind::Swapped));
    }
    all.extend_from_slice(values);
    all.extend(flags());
    all
}

/// The unit under another projection.
fn under(unit: &UnitUnderTest, change: impl Fn(Projection) -> Projection) -> Option<UnitUnderTest> {
    under_in(unit, &(0..unit.operation().projections().len()), change)
}

/// The unit with the projections of a range changed.
fn under_in(
    unit: &UnitUnderTest,
    range: &Range<usize>,
    change: impl Fn(Projection) -> Projection,
) -> Option<UnitUnderTest> {
    let mut projections = unit.operation().projections().to_vec();
    for projection in &mut projections[range.clone()] {
        *projection = change(*projection);
    }
    let operation = unit.operation().with_projections(&projections).ok()?;
    Some(UnitUnderTest::from_operation(operation, unit.preset()))
}

/// What is rounded, and by which projections: a block's scale and its elements are two things.
fn parts(unit: &UnitUnderTest) -> Vec<(&'static str, Range<usize>)> {
    match unit.operation().projections().len() {
        2 => vec![("scale: ", 0..1), ("elements: ", 1..2), ("scale and elements: ", 0..2)],
        count => vec![("", 0..count)],
    }
}

/// Other rounding modes. A unit whose rounding takes a word keeps it as an operand that is then
/// ignored.
fn roundings(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let mut all = Vec::new();
    let names = |rounding| match rounding {
        Rounding::NearestEven => "rounds to nearest, ties to even",
        Rounding::NearestAway => "ties go away from zero",
        Rounding::TowardPositive => "rounds toward +∞",
        Rounding::TowardNegative => "rounds toward −∞",
        Rounding::TowardZero => "truncates: rounds toward zero",
        _ => "rounds to odd",
    };
    let order = [
        Rounding::TowardZero,
        Rounding::NearestAway,
        Rounding::NearestEven,
        Rounding::TowardPositive,
        Rounding::TowardNegative,
        Rounding::ToOdd,
    ];
    for (part, range) in parts(unit).into_iter().filter(|_| unit.word_count() == 0) {
        let right: Vec<_> = unit.operation().projections()[range.clone()]
            .iter()
            .map(|projection| projection.rounding)
            .collect();
        for rounding in order.into_iter().filter(|rounding| !right.contains(rounding)) {
            let other = under_in(unit, &range, |projection| projection.with_rounding(rounding));
            all.extend(other.map(|other| Mistake::unit(format!("{part}{}", names(rounding)), other)));
        }
    }
    if let Some(bits) = projection.rounding.random_bits() {
        type Mode = (&'static str, fn(RandomBits) -> Rounding);
        let modes: [Mode; 3] =
            [("A", Rounding::StochasticA), ("B", Rounding::StochasticB), ("C", Rounding::StochasticC)];
        for (name, mode) in modes.into_iter().filter(|(_, mode)| mode(bits) != projection.rounding) {
            let changed = under(unit, |projection| match projection.rounding.random_bits() {
                Some(bits) => projection.with_rounding(mode(bits)),
                None => projection,
            });
            all.extend(
                changed.map(|other| Mistake::unit(format!("is StochasticRounding mode {name}"), other)),
            );
        }
    } else if unit.numeric().is_some() && projection.rounding == Rounding::NearestEven {
        all.push(Mistake::new("ties go toward zero", MistakeKind::Ties { up: false }));
        all.push(Mistake::new("ties go toward +∞", MistakeKind::Ties { up: true }));
    }
    all
}

fn words(unit: &UnitUnderTest) -> Vec<Mistake> {
    if unit.word_count() == 0 {
        return Vec::new();
    }
    WORDS.into_iter().map(|(name, word)| Mistake::new(name, MistakeKind::Word(word))).collect()
}

/// Ways of computing that lose bits.
fn paths(unit: &UnitUnderTest) -> Vec<Mistake> {
    let mut all = Vec::new();
    let has_subnormals = |format: &Format| format.has_subnormals();
    let flush = |operands, results| MistakeKind::Flush { operands, results };
    if unit.operation().result().is_some_and(has_subnormals) {
        all.push(Mistake::new("flushes subnormal results to zero", flush(false, true)));
    }
    if unit.operation().operands().iter().any(has_subnormals) {
        all.push(Mistake::new("takes subnormal operands for zero", flush(true, false)));
        all.push(Mistake::new("takes subnormal operands for zero and flushes results", flush(true, true)));
    }
    let (Some(operation), Some(to)) = (unit.numeric(), unit.operation().result()) else {
        return all;
    };
    let longer = Parameters { width: 16, specials: Specials::Finite, ..parameters(to) };
    if let Some(longer) = Format::minifloat(longer).ok().filter(|longer| longer.width() > to.width()) {
        let name = "overflow wraps around: the exponent's highest bits are lost";
        all.push(Mistake::new(name, MistakeKind::Wraps(longer)));
    }
    for (name, format) in [("binary32", BINARY32), ("binary16", BINARY16), ("bfloat16", BFLOAT16)] {
        if format != *to {
            all.push(Mistake::new(format!("rounds twice: first to {name}"), MistakeKind::Through(format)));
        }
    }
    if operation == Operation::Fma {
        all.push(Mistake::new("rounds the product before the sum", MistakeKind::TwoSteps));
    }
    all.push(Mistake::new("ignores the bits beyond the guard bit (no sticky bit)", MistakeKind::NoSticky));
    all
}

fn saturations(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let names = |saturation| match saturation {
        Saturation::SatFinite => "overflow and infinities clamp to the largest value",
        Saturation::SatPropagate => "overflow clamps to the largest value, infinities stay",
        Saturation::SatNone => "overflow gives infinity, or NaN where there is none, and does not clamp",
        _ => "overflow is that of P3109 version 4.0's SatNone",
    };
    let others = Saturation::ALL.iter().copied().filter(|saturation| *saturation != projection.saturation);
    others
        .filter_map(|saturation| {
            let other = under(unit, |projection| projection.with_saturation(saturation))?;
            Some(Mistake::unit(names(saturation), other))
        })
        .collect()
}

/// What NaN may become in a format without NaN.
const NANS: [(MissingNan, &str); 4] = [
    (MissingNan::Max, "NaN becomes the largest value"),
    (MissingNan::SignMax, "NaN becomes the largest value with the NaN's sign"),
    (MissingNan::Zero, "NaN becomes 0"),
    (MissingNan::OppositeZero, "NaN becomes a zero of the opposite sign"),
];
/// What negative values may become in a format without sign.
const NEGATIVES: [(NegativeRule, &str); 3] = [
    (NegativeRule::Nan, "negative values become NaN"),
    (NegativeRule::Zero, "negative values become 0"),
    (NegativeRule::Magnitude, "negative values lose their sign"),
];
/// What zero may become in a format without zero.
const ZEROS: [(MissingZero, &str); 2] =
    [(MissingZero::Nan, "zero becomes NaN"), (MissingZero::Min, "zero becomes the smallest value")];

/// Other rules for what the result's format does not have.
fn missing(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(to) = unit.operation().result() else { return Vec::new() };
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let right = projection.unrepresentable;
    let rules = |projection: Projection, name: String| (projection.unrepresentable, name);
    let nans = NANS.map(|(rule, name)| rules(projection.with_missing_nan(rule), name.to_owned()));
    let negatives = NEGATIVES.map(|(rule, name)| rules(projection.with_negative(rule), name.to_owned()));
    let zeros = ZEROS.map(|(rule, name)| rules(projection.with_missing_zero(rule), name.to_owned()));
    let both = NEGATIVES.into_iter().flat_map(|(negative, name)| {
        ZEROS.map(|(missing_zero, zero)| {
            let projection = projection.with_negative(negative).with_missing_zero(missing_zero);
            rules(projection, format!("{zero}, and {name}"))
        })
    });
    let both = both.filter(|(rules, _)| {
        let differ = (rules.negative != right.negative, rules.missing_zero != right.missing_zero);
        differ == (true, true) && !to.is_signed() && !to.has_zero()
    });
    let rules = nans.into_iter().filter(|_| !to.has_nan());
    let rules = rules.chain(negatives.into_iter().filter(|_| !to.is_signed()));
    let rules = rules.chain(zeros.into_iter().filter(|_| !to.has_zero())).chain(both);
    rules
        .filter(|(unrepresentable, _)| *unrepresentable != right)
        .filter_map(|(unrepresentable, name)| {
            let other = under(unit, |projection| projection.with_unrepresentable(unrepresentable))?;
            Some(Mistake::unit(name, other))
        })
        .collect()
}

/// Presets that differ in more than saturation.
fn policies(unit: &UnitUnderTest) -> Vec<Mistake> {
    let Some(to) = unit.operation().result() else { return Vec::new() };
    let Some(projection) = unit.operation().projection() else { return Vec::new() };
    let mut seen = vec![*projection];
    let mut all = Vec::new();
    for &preset in Preset::ALL {
        let theirs = preset.projection(to).with_rounding(projection.rounding);
        if seen.contains(&theirs) {
            continue;
        }
        seen.push(theirs);
        let other = under(unit, |projection| preset.projection(to).with_rounding(projection.rounding));
        all.extend(other.map(|other| Mistake::of_preset(preset, other)));
    }
    all
}

/// Codes taken for those of another format: a bias off by one, another reading of subnormals,
/// another format of the same fields.
fn formats(unit: &UnitUnderTest) -> Vec<Mistake> {
    let formats = unit.operation().formats();
    let operands = unit.operation().operands().len();
    let mut all = Vec::new();
    let places = [("the result's", operands..formats.len()), ("the operands'", 0..operands)];
    for (whose, places) in places {
        let mut seen: Vec<Format> = Vec::new();
        for format in &formats[places.clone()] {
            if [BINARY32, BINARY64].contains(format) || seen.contains(format) {
                continue;
            }
            seen.push(*format);
            for (what, wrong) in readings(format) {
                let mut changed = formats.to_vec();
                for place in changed[places.clone()].iter_mut().filter(|place| *place == format) {
                    *place = wrong;
                }
                let Ok(operation) = unit.operation().with_formats(&changed) else { continue };
                let name = format!("{whose} format has {what}");
                all.push(Mistake::unit(name, UnitUnderTest::from_operation(operation, unit.preset())));
            }
        }
    }
    all
}

fn parameters(format: &Format) -> Parameters {
    Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias(),
        signedness: format.signedness(),
        specials: format.specials(),
        subnormals: format.subnormals(),
    }
}

fn readings(format: &Format) -> Vec<(String, Format)> {
    let parameters = parameters(format);
    let biases = [1, -1].map(|by| {
        let bias = format.bias() + by;
        let direction = if by > 0 { "too large" } else { "too small" };
        (format!("a bias one {direction} ({bias})"), Parameters { bias, ..parameters })
    });
    let has_field_0 = format.precision() > 1 && !matches!(format.min_positive(), Datum::Nan { .. });
    // Flushing is a way of computing, among `paths`.
    let others = [format.subnormals(), Subnormals::Flush];
    let subnormals =
        Subnormals::NAMED.iter().copied().filter(|row| !others.contains(&row.1) && has_field_0).map(
            |(name, subnormals)| {
                let (name, formula) = match subnormals {
                    Subnormals::Gradual => (name, "2^(1−bias) × 0.m"),
                    Subnormals::Tesla => (name, "2^−bias × 0.m"),
                    _ => ("no", "2^−bias × 1.m"),
                };
                (format!("{name} subnormals ({formula})"), Parameters { subnormals, ..parameters })
            },
        );
    let readings = biases.into_iter().chain(subnormals);
    let mut all: Vec<_> = readings.filter_map(|(what, p)| Some((what, Format::minifloat(p).ok()?))).collect();
    let same_shape = |other: &Format| {
        (other.width(), other.precision(), other.is_signed())
            == (format.width(), format.precision(), format.is_signed())
            && (other.specials(), other.bias()) != (format.specials(), format.bias())
    };
    let relatives = CATALOGUE.iter().filter(|row| same_shape(&row.format));
    all.extend(relatives.map(|row| (format!("the codes of {}", row.name), row.format)));
    all
}

fn flags() -> Vec<Mistake> {
    let never = Flags::LETTERS.iter().copied().map(|(flag, _)| {
        let name = match flag {
            Flags::INVALID => "the invalid flag is never raised",
            Flags::DENORMAL => "the denormal flag is never raised",
            Flags::OVERFLOW => "the overflow flag is never raised",
            Flags::UNDERFLOW => "the underflow flag is never raised",
            Flags::INEXACT => "the inexact flag is never raised",
            _ => "the division-by-zero flag is never raised",
        };
        (name, FlagMistake::Never(flag))
    });
    let more = [
        ("no flag is ever raised", FlagMistake::Never(Flags::ALL)),
        ("underflow is detected after rounding", FlagMistake::TinyAfterRounding),
        ("underflow is raised for exact subnormal results too", FlagMistake::TinyWhenExact),
        ("inexact is not raised with overflow", FlagMistake::OverflowIsExact),
        ("inexact is raised with invalid", FlagMistake::InvalidIsInexact),
    ];
    never
        .into_iter()
        .chain(more)
        .map(|(name, mistake)| Mistake::new(name, MistakeKind::Flags(mistake)))
        .collect()
}
