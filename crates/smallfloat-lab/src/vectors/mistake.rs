//! [`Mistake`]: what implementations get wrong, as units that get it wrong.
//!
//! Each is computed as the mistaken unit would compute it, so it can be compared with what was given; the kinds are
//! those that projects of the field have shipped.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, CATALOGUE};
use smallfloat::ops::{Arithmetic, Operand, Operation};
use smallfloat::{
    Class, Datum, Exact, Flags, Format, Parameters, Preset, Projection, RandomBits, Rounded, Rounding,
    Saturation, Subnormals, project,
};

use super::{Outcome, Unit};

/// A way to be wrong.
#[derive(Clone, Debug)]
pub struct Mistake {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Everything is right, but for another operation, format or policy.
    Unit(Box<Unit>),
    /// The exact result is rounded to a format first.
    Through(Format),
    /// The product is rounded to the result's format before the sum.
    TwoSteps,
    /// The exact result is rounded as if what lies beyond the guard bit were not there.
    NoSticky,
    /// Ties go toward zero, or toward +∞.
    Ties { up: bool },
    /// Subnormal operands count as zero, subnormal results become zero.
    Flush { operands: bool, results: bool },
    /// The operands in reverse order.
    Swapped,
    /// Another random word.
    Word(fn(u64, u64) -> u64),
    /// A relation between the right result and the given one, each a code of the same format.
    Relation(fn(&Format, u64, u64) -> bool),
    /// Results are right, flags are not.
    Flags(FlagMistake),
}

#[derive(Clone, Copy, Debug)]
enum FlagMistake {
    /// These are never raised.
    Never(Flags),
    /// Underflow is detected after rounding.
    TinyAfterRounding,
    /// Underflow is raised for every subnormal result, exact ones too.
    TinyWhenExact,
    /// Inexact is not raised together with overflow.
    OverflowIsExact,
    /// Inexact is raised together with invalid.
    InvalidIsInexact,
}

/// Relations by name.
const RELATIONS: [Relation; 7] = [
    ("a zero has the wrong sign", wrong_zero),
    ("a NaN has another code", wrong_nan),
    ("the result has the wrong sign", wrong_sign),
    ("NaN became a number", lost_nan),
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

fn lost_carry(format: &Format, expected: u64, given: u64) -> bool {
    let step = 1 << format.trailing_bits();
    expected.is_multiple_of(step) && expected.checked_sub(given) == Some(step) && format.trailing_bits() > 0
}

impl Mistake {
    fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }

    fn unit(name: impl Into<String>, unit: Unit) -> Self {
        Self::new(name, Kind::Unit(Box::new(unit)))
    }

    /// What is wrong, as a sentence without its full stop.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Is it one of flags, with the right results?
    pub fn is_about_flags(&self) -> bool {
        matches!(self.kind, Kind::Flags(_))
    }

    /// All mistakes that a unit can make, the likeliest first.
    pub fn all(unit: &Unit) -> Vec<Self> {
        // What says exactly what is seen comes before what would also give it.
        let relations = RELATIONS.map(|(name, relation)| Self::new(name, Kind::Relation(relation)));
        let (codes, values) = relations.split_at(CODES);
        let mut all = codes.to_vec();
        all.extend(roundings(unit));
        all.extend(words(unit));
        all.extend(paths(unit));
        all.extend(saturations(unit));
        all.extend(formats(unit));
        all.extend(policies(unit));
        if unit.operation().operands().len() > 1 && unit.numeric().is_some() {
            all.push(Self::new("the operands are in reverse order", Kind::Swapped));
        }
        all.extend_from_slice(values);
        all.extend(flags());
        all
    }

    /// Would this mistake have given `given` where `expected` is right? Flags count, in `mask`: those that the mistake
    /// raises, or the right ones, since flags are often computed apart.
    pub fn explains(
        &self,
        unit: &Unit,
        operands: &[u64],
        (expected, given): (&Outcome, &Outcome),
        mask: Flags,
    ) -> bool {
        let same_flags = |flags: Flags| flags & mask == given.flags & mask;
        match &self.kind {
            Kind::Relation(relation) => {
                let fields = unit.results().iter().zip(expected.results().iter().zip(given.results()));
                let mut differing = fields.filter(|(_, (expected, given))| expected != given).peekable();
                differing.peek().is_some()
                    && differing.all(|(field, (expected, given))| {
                        field.format.as_ref().is_some_and(|format| relation(format, *expected, *given))
                    })
            }
            Kind::Flags(mistake) => {
                expected.results() == given.results()
                    && same_flags(mistake.flags(unit, expected))
                    && !(same_flags(expected.flags))
            }
            // Where only flags differ, they have to be those of the mistake.
            _ => self.predict(unit, operands, expected).is_some_and(|wrong| {
                let flags_alone = expected.results() == given.results();
                wrong.results() == given.results()
                    && (same_flags(wrong.flags) || !flags_alone && same_flags(expected.flags))
            }),
        }
    }

    /// What the mistaken unit gives; `None` where that does not follow from the operands.
    pub(super) fn predict(&self, unit: &Unit, operands: &[u64], expected: &Outcome) -> Option<Outcome> {
        match &self.kind {
            Kind::Unit(other) => other.evaluate(operands).ok(),
            Kind::Through(format) => {
                let exact = unit.exact(operands)?;
                let first = project(exact, format, &nearest(format));
                finish(unit, operands, format.decode(first.value).into(), expected)
            }
            Kind::NoSticky => finish(unit, operands, without_sticky(unit, operands)?, expected),
            Kind::Ties { up } => finish(unit, operands, below_tie(unit.exact(operands)?, *up), expected),
            Kind::TwoSteps => two_steps(unit, operands),
            Kind::Flush { operands: of_operands, results } => {
                let mut operands = operands.to_vec();
                if *of_operands {
                    for (code, field) in operands.iter_mut().zip(unit.operands()) {
                        *code = field.format.map_or(*code, |format| flushed(&format, *code));
                    }
                }
                let outcome = unit.evaluate(&operands).ok()?;
                if !results {
                    return Some(outcome);
                }
                let pairs = outcome.results().iter().zip(unit.results());
                let codes = pairs.map(|(&code, field)| field.format.map_or(code, |f| flushed(&f, code)));
                Some(Outcome::many(codes.collect(), outcome.flags))
            }
            Kind::Swapped => {
                let formats = unit.operation().operands();
                let mut swapped = operands.to_vec();
                swapped[..formats.len()].reverse();
                let fits = swapped.iter().zip(unit.operands()).all(|(code, field)| *code <= field.max());
                if fits { unit.evaluate(&swapped).ok() } else { None }
            }
            Kind::Word(wrong) => {
                let mut operands = operands.to_vec();
                let count = unit.word_count();
                let first = operands.len() - count;
                for (word, field) in operands[first..].iter_mut().zip(&unit.operands()[first..]) {
                    *word = wrong(field.max(), *word);
                }
                unit.evaluate(&operands).ok()
            }
            Kind::Relation(_) => None,
            Kind::Flags(mistake) => Some(expected.clone().with_flags(mistake.flags(unit, expected))),
        }
    }
}

impl FlagMistake {
    fn flags(self, unit: &Unit, expected: &Outcome) -> Flags {
        let flags = expected.flags;
        let class = |class: Class| {
            let mut fields = unit.results().iter().zip(expected.results());
            fields.any(|(field, code)| field.format.is_some_and(|format| format.classify(*code) == class))
        };
        match self {
            Self::Never(never) => flags.without(never),
            Self::TinyAfterRounding if class(Class::Normal) => flags.without(Flags::UNDERFLOW),
            Self::TinyWhenExact if class(Class::Subnormal) => flags | Flags::UNDERFLOW,
            Self::OverflowIsExact if flags.contains(Flags::OVERFLOW) => flags.without(Flags::INEXACT),
            Self::InvalidIsInexact if flags.contains(Flags::INVALID) => flags | Flags::INEXACT,
            _ => flags,
        }
    }
}

fn nearest(format: &Format) -> Projection {
    Preset::Ieee.projection(format)
}

/// Rounds an exact value as the unit rounds; what operands raise is taken from the right flags.
fn finish(unit: &Unit, operands: &[u64], exact: Exact, expected: &Outcome) -> Option<Outcome> {
    let Rounded { value, flags } = project(exact, unit.operation().result()?, &unit.how(operands).ok()?);
    let of_operands = Flags::DENORMAL | Flags::INVALID | Flags::DIVISION_BY_ZERO;
    Some(Outcome::one(value, flags | (expected.flags & of_operands)))
}

fn flushed(format: &Format, code: u64) -> u64 {
    if format.classify(code) != Class::Subnormal {
        return code;
    }
    let sign = format.sign_bit(code) && format.has_negative_zero();
    if sign { 1 << (format.width() - 1) } else { 0 }
}

/// The exact result without what lies beyond the bit after the destination's last place.
fn without_sticky(unit: &Unit, operands: &[u64]) -> Option<Exact> {
    let to = unit.operation().result()?;
    let Exact::Finite { negative, significand, exponent, .. } = unit.exact(operands)? else { return None };
    if significand == 0 {
        return None;
    }
    let leading = exponent + significand.ilog2().cast_signed();
    let smallest = to.min_positive().exponent_of_leading_bit();
    let last = (leading - to.precision().cast_signed()).max(smallest - 1);
    let cut = u32::try_from(last - exponent).ok().filter(|cut| *cut < 128)?;
    Some(Exact::finite(negative, significand >> cut << cut, exponent))
}

/// The exact result moved by less than any spacing, so that a tie is none: toward zero, or toward +∞.
pub(super) fn below_tie(exact: Exact, up: bool) -> Exact {
    match exact {
        Exact::Finite { negative, significand, exponent, sticky: false } if significand != 0 => {
            let spare = significand.leading_zeros();
            let (significand, exponent) = (significand << spare, exponent - spare.cast_signed());
            let outward = up && !negative;
            let significand = if outward { significand } else { significand - 1 };
            Exact::Finite { negative, significand, exponent, sticky: true }
        }
        other => other,
    }
}

/// x·y rounded to the result's format, then the sum rounded.
fn two_steps(unit: &Unit, operands: &[u64]) -> Option<Outcome> {
    let to = unit.operation().result()?;
    let [x, y, z] = unit.operation().operands() else { return None };
    let how = unit.how(operands).ok()?;
    let arithmetic = Arithmetic { scale: 0, ..unit.operation().arithmetic() };
    let product = [Operand::new(operands[0], x), Operand::new(operands[1], y)];
    let product = Operation::Multiply.evaluate(&product, to, &how, arithmetic);
    let terms = [Operand::new(product.value, to), Operand::new(operands[2], z)];
    let sum = Operation::Add.evaluate(&terms, to, &how, arithmetic);
    Some(Outcome::one(sum.value, product.flags | sum.flags))
}

/// The unit under another projection.
fn under(unit: &Unit, change: impl Fn(Projection) -> Projection) -> Option<Unit> {
    let projections: Vec<_> = unit.operation().projections().iter().map(|how| change(*how)).collect();
    let operation = unit.operation().with_projections(&projections).ok()?;
    Some(Unit::from_operation(operation, unit.preset()))
}

/// Other rounding modes. A unit whose rounding takes a word keeps it as an operand that is then ignored.
fn roundings(unit: &Unit) -> Vec<Mistake> {
    let Some(how) = unit.operation().projection() else { return Vec::new() };
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
    for rounding in order.into_iter().filter(|rounding| *rounding != how.rounding) {
        if unit.word_count() == 0 {
            all.extend(
                under(unit, |how| how.with_rounding(rounding))
                    .map(|other| Mistake::unit(names(rounding), other)),
            );
        }
    }
    if let Some(bits) = how.rounding.random_bits() {
        type Mode = (&'static str, fn(RandomBits) -> Rounding);
        let modes: [Mode; 3] =
            [("A", Rounding::StochasticA), ("B", Rounding::StochasticB), ("C", Rounding::StochasticC)];
        for (name, mode) in modes.into_iter().filter(|(_, mode)| mode(bits) != how.rounding) {
            let changed = under(unit, |how| match how.rounding.random_bits() {
                Some(bits) => how.with_rounding(mode(bits)),
                None => how,
            });
            all.extend(
                changed.map(|other| Mistake::unit(format!("is StochasticRounding mode {name}"), other)),
            );
        }
    } else if unit.numeric().is_some() && how.rounding == Rounding::NearestEven {
        all.push(Mistake::new("ties go toward zero", Kind::Ties { up: false }));
        all.push(Mistake::new("ties go toward +∞", Kind::Ties { up: true }));
    }
    all
}

fn words(unit: &Unit) -> Vec<Mistake> {
    if unit.word_count() == 0 {
        return Vec::new();
    }
    WORDS.into_iter().map(|(name, word)| Mistake::new(name, Kind::Word(word))).collect()
}

/// Ways of computing that lose bits.
fn paths(unit: &Unit) -> Vec<Mistake> {
    let mut all = Vec::new();
    let has_subnormals = |format: &Format| format.has_subnormals();
    let flush = |operands, results| Kind::Flush { operands, results };
    if unit.operation().result().is_some_and(has_subnormals) {
        all.push(Mistake::new("flushes subnormal results to zero", flush(false, true)));
    }
    if unit.operation().operands().iter().any(has_subnormals) {
        all.push(Mistake::new("takes subnormal operands for zero", flush(true, false)));
        all.push(Mistake::new("takes subnormal operands for zero and flushes results", flush(true, true)));
    }
    let (Some(operation), Some(to)) = (unit.numeric(), unit.operation().result()) else { return all };
    for (name, format) in [("binary32", BINARY32), ("binary16", BINARY16), ("bfloat16", BFLOAT16)] {
        if format != *to {
            all.push(Mistake::new(format!("rounds twice: first to {name}"), Kind::Through(format)));
        }
    }
    if operation == Operation::Fma {
        all.push(Mistake::new("rounds the product before the sum", Kind::TwoSteps));
    }
    all.push(Mistake::new("ignores the bits beyond the guard bit (no sticky bit)", Kind::NoSticky));
    all
}

fn saturations(unit: &Unit) -> Vec<Mistake> {
    let Some(how) = unit.operation().projection() else { return Vec::new() };
    let names = |saturation| match saturation {
        Saturation::SatFinite => "overflow and infinities clamp to the largest value",
        Saturation::SatPropagate => "overflow clamps to the largest value, infinities stay",
        Saturation::SatNone => "overflow gives infinity, or NaN where there is none, and does not clamp",
        _ => "overflow is that of P3109 version 4.0's SatNone",
    };
    let others = Saturation::ALL.into_iter().filter(|saturation| *saturation != how.saturation);
    others
        .filter_map(|saturation| {
            let other = under(unit, |how| how.with_saturation(saturation))?;
            Some(Mistake::unit(names(saturation), other))
        })
        .collect()
}

/// Presets that differ in more than saturation.
fn policies(unit: &Unit) -> Vec<Mistake> {
    let formats = unit.operation().formats();
    let Some(to) = unit.operation().result() else { return Vec::new() };
    let Some(how) = unit.operation().projection() else { return Vec::new() };
    let mut seen = vec![*how];
    let mut all = Vec::new();
    for preset in Preset::ALL {
        let theirs = preset.projection(to).with_rounding(how.rounding);
        if seen.contains(&theirs) {
            continue;
        }
        seen.push(theirs);
        let other = under(unit, |how| preset.projection(to).with_rounding(how.rounding));
        let name = format!("treats NaN, infinities, zero and overflow as the preset {} does", preset.name());
        all.extend(other.filter(|_| !formats.is_empty()).map(|other| Mistake::unit(name, other)));
    }
    all
}

/// Codes taken for those of another format: a bias off by one, another reading of subnormals, another format of the
/// same fields.
fn formats(unit: &Unit) -> Vec<Mistake> {
    let formats = unit.operation().formats();
    let operands = unit.operation().operands().len();
    let mut all = Vec::new();
    let places = [("the result's", operands..formats.len()), ("the operands'", 0..operands)];
    for (whose, places) in places {
        let mut seen: Vec<Format> = Vec::new();
        for format in &formats[places.clone()] {
            if format.is_wide() || seen.contains(format) {
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
                all.push(Mistake::unit(name, Unit::from_operation(operation, unit.preset())));
            }
        }
    }
    all
}

fn readings(format: &Format) -> Vec<(String, Format)> {
    let parameters = Parameters {
        width: format.width(),
        precision: format.precision(),
        bias: format.bias(),
        signedness: format.signedness(),
        specials: format.specials(),
        subnormals: format.subnormals(),
    };
    let biases = [1, -1].map(|by| {
        let bias = format.bias() + by;
        let how = if by > 0 { "too large" } else { "too small" };
        (format!("a bias one {how} ({bias})"), Parameters { bias, ..parameters })
    });
    let has_field_0 = format.precision() > 1 && !matches!(format.min_positive(), Datum::Nan { .. });
    let subnormals = Subnormals::NAMED
        .into_iter()
        .filter(|row| row.1 != format.subnormals() && has_field_0)
        .map(|(name, subnormals)| {
            let formula = match subnormals {
                Subnormals::Gradual => "2^(1−bias) × 0.m",
                Subnormals::Tesla => "2^−bias × 0.m",
                Subnormals::Flush => "zero",
                Subnormals::None => "2^−bias × 1.m",
            };
            (format!("{name} subnormals ({formula})"), Parameters { subnormals, ..parameters })
        });
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
    let never = Flags::LETTERS.map(|(flag, _)| {
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
    never.into_iter().chain(more).map(|(name, mistake)| Mistake::new(name, Kind::Flags(mistake))).collect()
}
