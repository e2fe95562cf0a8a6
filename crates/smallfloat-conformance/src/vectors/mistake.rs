//! [`Mistake`]: what implementations get wrong, as units that get it wrong.
//!
//! Each is computed as the mistaken unit would compute it, so it can be compared with what was
//! given; the kinds are those that projects of the field have shipped.

use std::fmt;

use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{Class, Exact, Flags, Format, Preset, Projection, Rounded, project, project_with};

use crate::vectors::catalogue;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::unit::UnitUnderTest;

/// What counts as a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// The flags that are compared.
    pub(super) mask: Flags,
    /// Any NaN is as good as another.
    pub(super) any_nan: bool,
}

/// A way to be wrong.
#[derive(Clone, Debug)]
pub struct Mistake {
    name: String,
    kind: MistakeKind,
    preset: Option<Preset>,
}

#[derive(Clone, Debug)]
pub(super) enum MistakeKind {
    /// Everything is right, but for another operation, format or policy.
    UnitUnderTest(Box<UnitUnderTest>),
    /// The exact result is rounded to a format first.
    Through(Format),
    /// The product is rounded to the result's format before the sum.
    TwoSteps,
    /// The exact result is rounded as if what lies beyond the guard bit were not there.
    NoSticky,
    /// The result has more exponent bits, of which the highest are dropped; the format is the
    /// longer one.
    Wraps(Format),
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
pub(super) enum FlagMistake {
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

/// Says what is wrong, as a sentence without its full stop.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl Mistake {
    pub(super) fn new(name: impl Into<String>, kind: MistakeKind) -> Self {
        Self { name: name.into(), kind, preset: None }
    }

    pub(super) fn unit(name: impl Into<String>, unit: UnitUnderTest) -> Self {
        Self::new(name, MistakeKind::UnitUnderTest(Box::new(unit)))
    }

    /// Returns whether it only tells what is seen, not how it came about.
    pub fn is_symptom(&self) -> bool {
        matches!(self.kind, MistakeKind::Relation(_))
    }

    /// Taking a preset's policy for the unit's.
    pub(super) fn of_preset(preset: Preset, unit: UnitUnderTest) -> Self {
        let name = format!("treats NaN, infinities, zero and overflow as the preset {} does", preset.name());
        Self { preset: Some(preset), ..Self::unit(name, unit) }
    }

    /// The preset whose policy was taken for the unit's, if it is that.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Returns whether it is one of flags, with the right results.
    pub fn is_about_flags(&self) -> bool {
        matches!(self.kind, MistakeKind::Flags(_))
    }

    /// All mistakes that a unit can make, the likeliest first.
    pub fn all(unit: &UnitUnderTest) -> Vec<Self> {
        catalogue::all(unit)
    }

    /// Returns whether this mistake would have given `given` where `expected` is right. The
    /// compared flags count: those that the mistake raises, or the right ones, since flags are
    /// often computed apart.
    pub(super) fn explains(
        &self,
        unit: &UnitUnderTest,
        operands: &[u64],
        (expected, given): (&CallOutcome, &CallOutcome),
        Compared { mask, any_nan }: Compared,
    ) -> bool {
        let same_flags = |flags: Flags| flags & mask == given.flags & mask;
        match &self.kind {
            MistakeKind::Relation(relation) => {
                let fields = unit.results().iter().zip(expected.results().iter().zip(given.results()));
                let mut differing = fields
                    .filter(|(field, (expected, given))| !field.agrees(**expected, **given, any_nan))
                    .peekable();
                differing.peek().is_some()
                    && differing.all(|(field, (expected, given))| {
                        field.format.as_ref().is_some_and(|format| relation(format, *expected, *given))
                    })
            }
            MistakeKind::Flags(mistake) => {
                unit.agree(expected, given, any_nan)
                    && same_flags(mistake.flags(unit, expected))
                    && !(same_flags(expected.flags))
            }
            // Where only flags differ, they have to be those of the mistake.
            _ => self.predict(unit, operands, expected).is_some_and(|wrong| {
                let flags_alone = unit.agree(expected, given, any_nan);
                unit.agree(&wrong, given, any_nan)
                    && (same_flags(wrong.flags) || !flags_alone && same_flags(expected.flags))
            }),
        }
    }

    /// What the mistaken unit gives; `None` where that does not follow from the operands.
    pub(super) fn predict(
        &self,
        unit: &UnitUnderTest,
        operands: &[u64],
        expected: &CallOutcome,
    ) -> Option<CallOutcome> {
        match &self.kind {
            MistakeKind::UnitUnderTest(other) => other.evaluate(operands).ok(),
            MistakeKind::Through(format) => {
                let exact = unit.exact(operands)?;
                let first = project(exact, format, &nearest(format));
                finish(unit, operands, format.decode(first.value).into(), expected)
            }
            MistakeKind::Wraps(longer) => wrapped(unit, operands, longer, expected),
            MistakeKind::NoSticky => finish(unit, operands, without_sticky(unit, operands)?, expected),
            MistakeKind::Ties { up } => {
                finish(unit, operands, below_tie(unit.exact(operands)?, *up), expected)
            }
            MistakeKind::TwoSteps => two_steps(unit, operands),
            MistakeKind::Flush { operands: of_operands, results } => {
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
                Some(CallOutcome::many(codes.collect(), outcome.flags))
            }
            MistakeKind::Swapped => {
                let formats = unit.operation().operands();
                let mut swapped = operands.to_vec();
                swapped[..formats.len()].reverse();
                let fits = swapped.iter().zip(unit.operands()).all(|(code, field)| *code <= field.max());
                if fits { unit.evaluate(&swapped).ok() } else { None }
            }
            MistakeKind::Word(wrong) => {
                let mut operands = operands.to_vec();
                let count = unit.word_count();
                let first = operands.len() - count;
                for (word, field) in operands[first..].iter_mut().zip(&unit.operands()[first..]) {
                    *word = wrong(field.max(), *word);
                }
                unit.evaluate(&operands).ok()
            }
            MistakeKind::Relation(_) => None,
            MistakeKind::Flags(mistake) => Some(expected.clone().with_flags(mistake.flags(unit, expected))),
        }
    }
}

impl FlagMistake {
    fn flags(self, unit: &UnitUnderTest, expected: &CallOutcome) -> Flags {
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
fn finish(
    unit: &UnitUnderTest,
    operands: &[u64],
    exact: Exact,
    expected: &CallOutcome,
) -> Option<CallOutcome> {
    let Rounded { value, flags } =
        project_with(exact, unit.operation().result()?, &unit.projection(operands).ok()?, unit.flag_policy());
    let of_operands = Flags::DENORMAL | Flags::INVALID | Flags::DIVISION_BY_ZERO;
    Some(CallOutcome::one(value, flags | (expected.flags & of_operands)))
}

/// The result rounded in a format of more exponent bits, then cut to its own.
fn wrapped(
    unit: &UnitUnderTest,
    operands: &[u64],
    longer: &Format,
    expected: &CallOutcome,
) -> Option<CallOutcome> {
    let (exact, to) = (unit.exact(operands)?, unit.operation().result()?);
    if !matches!(exact, Exact::Finite { .. }) {
        return Some(expected.clone());
    }
    let code = project(exact, longer, &unit.projection(operands).ok()?).value;
    let sign = if longer.sign_bit(code) { 1 << (to.width() - 1) } else { 0 };
    let magnitude = code & (to.max_code() >> u32::from(to.is_signed()));
    Some(CallOutcome::one(magnitude | sign, expected.flags))
}

fn flushed(format: &Format, code: u64) -> u64 {
    if format.classify(code) != Class::Subnormal {
        return code;
    }
    let sign = format.sign_bit(code) && format.has_negative_zero();
    if sign { 1 << (format.width() - 1) } else { 0 }
}

/// The exact result without what lies beyond the bit after the destination's last place.
fn without_sticky(unit: &UnitUnderTest, operands: &[u64]) -> Option<Exact> {
    let to = unit.operation().result()?;
    let Exact::Finite { negative, significand, exponent, .. } = unit.exact(operands)? else {
        return None;
    };
    if significand == 0 {
        return None;
    }
    let leading = exponent + significand.ilog2().cast_signed();
    let smallest = to.min_positive().exponent_of_leading_bit();
    let last = (leading - to.precision().cast_signed()).max(smallest - 1);
    let cut = u32::try_from(last - exponent).ok().filter(|cut| *cut < 128)?;
    Some(Exact::finite(negative, significand >> cut << cut, exponent))
}

/// The exact result moved by less than any spacing, so that a tie is none: toward zero, or toward
/// +∞.
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
fn two_steps(unit: &UnitUnderTest, operands: &[u64]) -> Option<CallOutcome> {
    let to = unit.operation().result()?;
    let [x, y, z] = unit.operation().operands() else { return None };
    let projection = unit.projection(operands).ok()?;
    let arithmetic = OperationOptions { scale: 0, ..unit.operation().arithmetic() };
    let product = [Operand::new(operands[0], x), Operand::new(operands[1], y)];
    let product = Operation::Multiply.evaluate(&product, to, &projection, arithmetic);
    let terms = [Operand::new(product.value, to), Operand::new(operands[2], z)];
    let sum = Operation::Add.evaluate(&terms, to, &projection, arithmetic);
    Some(CallOutcome::one(sum.value, product.flags | sum.flags))
}
