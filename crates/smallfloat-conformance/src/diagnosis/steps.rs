//! The steps of a unit, from operands to flags, as mistakes change them.

use std::cmp::Ordering;

use smallfloat::ops::Operation;
use smallfloat::{Class, Datum, Exact, Flags, Format, Preset, Rounding, Saturation, project};

use crate::vectors::{CallOutcome, UnitUnderTest, below_tie};

/// Other operands than those given.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandStep {
    /// Subnormal codes count as zero: those of one operand, or of all.
    Flush(Option<usize>),
    /// All but the highest bits of the significand are ignored, the implicit one counted.
    Keep(u32),
    /// The operands in reverse order.
    Swapped,
    /// Another random word, of the largest one and the right one.
    Word(fn(u64, u64) -> u64),
    /// The random word without its lowest bits.
    TopOfWord(u32),
    /// The random word without its highest bits.
    LowOfWord(u32),
}

impl OperandStep {
    /// In which order steps follow each other.
    pub(super) fn stage(&self) -> u8 {
        match self {
            Self::Swapped => 0,
            Self::Flush(_) => 1,
            Self::Keep(_) => 2,
            _ => 3,
        }
    }

    /// Changes the operands of a unit; `None` where they don't fit their fields any more.
    pub(super) fn apply(self, unit: &UnitUnderTest, operands: &mut [u64]) -> Option<()> {
        match self {
            Self::Flush(place) => {
                let is_meant = |i: usize| place.is_none_or(|place| place == i);
                for (i, (code, field)) in operands.iter_mut().zip(unit.operands()).enumerate() {
                    if is_meant(i) {
                        *code = field.format.map_or(*code, |format| flushed(&format, *code));
                    }
                }
            }
            Self::Keep(bits) => {
                for (code, field) in operands.iter_mut().zip(unit.operands()) {
                    let Some(format) = field.format else { continue };
                    let dropped = format.precision().saturating_sub(bits);
                    if format.decode(*code).is_finite() {
                        *code = *code >> dropped << dropped;
                    }
                }
            }
            Self::Swapped => {
                let count = unit.operation().operands().len();
                operands[..count].reverse();
                let mut fits = operands.iter().zip(unit.operands());
                return fits.all(|(code, field)| *code <= field.max()).then_some(());
            }
            Self::Word(_) | Self::TopOfWord(_) | Self::LowOfWord(_) => {
                let first = operands.len() - unit.word_count();
                for (word, field) in operands[first..].iter_mut().zip(&unit.operands()[first..]) {
                    *word = match self {
                        Self::Word(wrong) => wrong(field.max(), *word),
                        Self::TopOfWord(dropped) => *word >> dropped,
                        Self::LowOfWord(dropped) => *word & field.max() >> dropped,
                        _ => *word,
                    };
                }
            }
        }
        Some(())
    }
}

/// Another exact result of a numeric operation than the right one.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExactStep {
    /// An operation without a defined result gives an infinity or zero.
    Invalid(Special),
    /// Of a sum's terms the smaller one is cut to so many bits below the last place of the larger.
    Aligned { bits: u32, jams: bool },
    /// The product of a fused operation is rounded before the sum.
    ProductRounded,
    /// Only so many bits of the significand are kept.
    Keep(u32),
    /// Only so many bits below the destination's last place are kept.
    KeepBelow(u32),
    /// Rounded to a format first.
    Through(Format),
    /// A result below the normal values is first rounded to the full precision.
    TwiceBelowNormal,
    /// What is below the normal values becomes zero.
    FlushBelowNormal,
    /// What is above the largest value counts as overflow before it is rounded.
    EarlyOverflow,
    /// Terms that cancel leave −0.
    NegativeCancelled,
    /// Ties go toward zero, or toward +∞.
    Ties { up: bool },
    /// Brought to the destination's grid by another rounding, as if it had no largest value.
    Rounded(Rounding),
}

/// What takes the place of a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    Zero,
    Infinity,
}

impl ExactStep {
    /// In which order steps follow each other.
    pub(super) fn stage(&self) -> u8 {
        match self {
            Self::Invalid(_) => 0,
            Self::Aligned { .. } => 1,
            Self::ProductRounded => 2,
            Self::Keep(_) => 3,
            Self::KeepBelow(_) => 4,
            Self::Through(_) => 5,
            Self::TwiceBelowNormal => 6,
            Self::NegativeCancelled => 7,
            Self::Ties { .. } | Self::Rounded(_) => 8,
            Self::EarlyOverflow => 9,
            Self::FlushBelowNormal => 10,
        }
    }

    /// What takes the place of an exact result; `None` where that does not follow.
    pub(super) fn apply(self, unit: &UnitUnderTest, operands: &[u64], exact: Exact) -> Option<Exact> {
        let to = unit.operation().result()?;
        Some(match self {
            Self::Invalid(special) => {
                let mut data = unit.operation().operands().iter().zip(operands);
                if !exact.is_nan() || data.any(|(format, code)| format.decode(*code).is_nan()) {
                    return Some(exact);
                }
                let signs = unit.operation().operands().iter().zip(operands);
                let negative = signs.filter(|(format, code)| format.sign_bit(**code)).count() % 2 == 1;
                match special {
                    Special::Zero => Exact::finite(negative, 0, 0),
                    Special::Infinity => Exact::Infinite { negative },
                }
            }
            Self::Aligned { bits, jams } => aligned(unit, operands, exact, bits, jams)?,
            Self::ProductRounded => product_rounded(unit, operands)?,
            Self::Keep(bits) => match exact {
                Exact::Finite { negative, significand, exponent, .. } if significand != 0 => {
                    let cut = (significand.ilog2() + 1).saturating_sub(bits);
                    Exact::finite(negative, significand >> cut << cut, exponent)
                }
                other => other,
            },
            Self::KeepBelow(bits) => kept_below(to, exact, bits),
            Self::Through(format) => match exact {
                Exact::Finite { significand, .. } if significand != 0 => {
                    let first = project(exact, &format, &Preset::Ieee.projection(&format));
                    format.decode(first.value).into()
                }
                other => other,
            },
            Self::TwiceBelowNormal => twice_below_normal(unit, operands, to, exact)?,
            Self::FlushBelowNormal => match exact {
                Exact::Finite { negative, significand: significand @ 1.., exponent, .. }
                    if exponent + significand.ilog2().cast_signed()
                        < to.min_normal().exponent_of_leading_bit() =>
                {
                    Exact::finite(negative, 0, 0)
                }
                other => other,
            },
            Self::EarlyOverflow => match exact {
                Exact::Finite { .. } if is_beyond(to, exact) => exact.scaled(8),
                other => other,
            },
            Self::NegativeCancelled => match exact {
                Exact::Cancelled => Exact::finite(true, 0, 0),
                other => other,
            },
            Self::Ties { up } => below_tie(exact, up),
            Self::Rounded(rounding) => on_grid(to, exact, rounding),
        })
    }
}

/// Returns whether a magnitude is above the largest one of a format.
fn is_beyond(to: &Format, exact: Exact) -> bool {
    let projection = Preset::OcpSaturate
        .projection(to)
        .with_rounding(Rounding::TowardZero)
        .with_saturation(Saturation::SatFinite);
    let below = project(exact.magnitude(), to, &projection);
    to.decode(below.value) == to.max_finite() && below.flags.contains(Flags::INEXACT)
}

/// The exponent of the last place of a format in which a magnitude lies.
fn last_place(format: &Format, leading: i32) -> i32 {
    let smallest = format.min_positive().exponent_of_leading_bit();
    (leading - format.trailing_bits().cast_signed()).max(smallest)
}

/// The exact result without what lies more than so many bits below the destination's last place.
fn kept_below(to: &Format, exact: Exact, bits: u32) -> Exact {
    let Exact::Finite { negative, significand, exponent, .. } = exact else { return exact };
    if significand == 0 {
        return exact;
    }
    let leading = exponent + significand.ilog2().cast_signed();
    let last = last_place(to, leading) - bits.cast_signed();
    if last <= exponent {
        return Exact::finite(negative, significand, exponent);
    }
    let cut = (last - exponent).cast_unsigned();
    let kept = if cut < 128 { significand >> cut << cut } else { 0 };
    Exact::finite(negative, kept, exponent)
}

/// An exact result brought to the destination's grid in a directed rounding, with a little more
/// that rounding to nearest drops again, so that it stays inexact.
fn on_grid(to: &Format, exact: Exact, rounding: Rounding) -> Exact {
    let Exact::Finite { negative, significand: significand @ 1.., exponent, sticky } = exact else {
        return exact;
    };
    let last = last_place(to, exponent + significand.ilog2().cast_signed());
    let (kept, is_inexact) = match u32::try_from(last - exponent) {
        // What is on the grid has no bits below that a rounding could look at, or those of
        // `sticky`.
        Err(_) => (significand << (exponent - last).cast_unsigned(), sticky),
        Ok(cut @ 0..128) => (significand >> cut, sticky || significand >> cut << cut != significand),
        Ok(_) => (0, true),
    };
    if !is_inexact {
        return exact;
    }
    let away = match rounding {
        Rounding::TowardPositive => !negative,
        Rounding::TowardNegative => negative,
        _ => false,
    };
    Exact::finite(negative, (kept + u128::from(away)) << 2 | 1, last - 2)
}

/// A sum whose smaller term lost what lies more than so many bits below the larger one's last
/// place, or kept one bit that says that something was there.
fn aligned(unit: &UnitUnderTest, operands: &[u64], exact: Exact, bits: u32, jams: bool) -> Option<Exact> {
    let [x_format, y_format] = unit.operation().operands() else { return None };
    let subtracts = unit.numeric()? == Operation::Subtract;
    let term = |datum: Datum| match datum {
        Datum::Finite { negative, significand, exponent } => Some((negative, significand, exponent)),
        _ => None,
    };
    let (Some(x), Some((sign, significand, exponent))) =
        (term(x_format.decode(operands[0])), term(y_format.decode(operands[1])))
    else {
        return Some(exact);
    };
    let y = (sign != subtracts, significand, exponent);
    if x.1 == 0 || y.1 == 0 || unit.operation().arithmetic().scale != 0 {
        return Some(exact);
    }
    let lsb = |format: &Format, (_, significand, exponent): (bool, u64, i32)| {
        last_place(format, exponent + significand.ilog2().cast_signed())
    };
    let (x_last, y_last) = (lsb(x_format, x), lsb(y_format, y));
    let ((large, last), (small, _)) =
        if x_last >= y_last { ((x, x_last), (y, y_last)) } else { ((y, y_last), (x, x_last)) };
    // Both in units of the last bit that is kept.
    let unit_exponent = last - bits.cast_signed();
    let shift = u32::try_from(large.2 - unit_exponent).ok()?;
    let large_units = if shift < 100 { i128::from(large.1) << shift } else { return None };
    let down = unit_exponent - small.2;
    let small_units = if down <= 0 {
        i128::from(small.1) << (-down).cast_unsigned().min(100)
    } else {
        let cut = down.cast_unsigned();
        let kept = if cut < 64 { small.1 >> cut } else { 0 };
        let lost = cut >= 64 || kept << cut != small.1;
        i128::from(kept | u64::from(jams && lost))
    };
    let signed = |negative: bool, units: i128| if negative { -units } else { units };
    let sum = signed(large.0, large_units) + signed(small.0, small_units);
    if sum == 0 {
        return Some(Exact::Cancelled);
    }
    Some(Exact::finite(sum < 0, sum.unsigned_abs(), unit_exponent))
}

/// x·y rounded to the result's format, plus z.
fn product_rounded(unit: &UnitUnderTest, operands: &[u64]) -> Option<Exact> {
    let to = unit.operation().result()?;
    let [x, y, z] = unit.operation().operands() else { return None };
    let semantics = unit.operation().arithmetic().semantics;
    let data = [x.decode(operands[0]), y.decode(operands[1]), Datum::ZERO];
    let product = Operation::Multiply.exact(data, semantics).exact;
    let rounded = project(product, to, &unit.projection(operands).ok()?).value;
    let terms = [to.decode(rounded), z.decode(operands[2]), Datum::ZERO];
    Some(Operation::Add.exact(terms, semantics).exact)
}

/// A result below the normal values, rounded to the precision of normal ones.
fn twice_below_normal(unit: &UnitUnderTest, operands: &[u64], to: &Format, exact: Exact) -> Option<Exact> {
    let Exact::Finite { significand, exponent, .. } = exact else { return Some(exact) };
    let normal = to.min_normal().exponent_of_leading_bit();
    if significand == 0 {
        return Some(exact);
    }
    let leading = exponent + significand.ilog2().cast_signed();
    if leading >= normal {
        return Some(exact);
    }
    // In the second binade of normal values every format has its full precision.
    let up = normal + 1 - leading;
    let code = project(exact.scaled(up), to, &unit.projection(operands).ok()?).value;
    Some(Exact::from(to.decode(code)).scaled(-up))
}

/// Other codes than the rounded ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResultStep {
    /// Subnormal codes become zero.
    Flush,
    /// The result has more exponent bits, of which the highest are dropped; the format is the
    /// longer one.
    Wraps(Format),
    /// A carry out of the significand does not reach the exponent, or is not made.
    LostCarry { is_made: bool },
    /// What would round to zero is the smallest value.
    NeverZero,
    /// The sign of numbers, from those of the operands; that of infinite operands may stay.
    Sign { rule: fn(&[bool]) -> bool, of_infinities: bool },
    /// Zeros have this sign.
    SignOfZero(bool),
    /// NaNs have the other sign.
    OtherNan,
}

impl ResultStep {
    /// In which order steps follow each other.
    pub(super) fn stage(&self) -> u8 {
        match self {
            Self::Wraps(_) => 0,
            Self::LostCarry { .. } => 1,
            Self::NeverZero => 2,
            Self::Flush => 3,
            Self::Sign { .. } => 4,
            Self::SignOfZero(_) => 5,
            Self::OtherNan => 6,
        }
    }

    /// What takes the place of an outcome; `None` where that does not follow.
    pub(super) fn apply(
        self,
        unit: &UnitUnderTest,
        operands: &[u64],
        exact: Option<Exact>,
        outcome: CallOutcome,
    ) -> Option<CallOutcome> {
        let each = |outcome: &CallOutcome, change: &dyn Fn(&Format, u64) -> u64| {
            let pairs = outcome.results().iter().zip(unit.results());
            let codes = pairs.map(|(&code, field)| field.format.map_or(code, |format| change(&format, code)));
            CallOutcome::many(codes.collect(), outcome.flags)
        };
        Some(match self {
            Self::Flush => each(&outcome, &flushed),
            Self::Wraps(longer) => {
                if !matches!(exact?, Exact::Finite { .. } | Exact::Cancelled) {
                    return Some(outcome);
                }
                let to = unit.operation().result()?;
                let code = project(exact?, &longer, &unit.projection(operands).ok()?).value;
                let sign = if longer.sign_bit(code) { 1 << (to.width() - 1) } else { 0 };
                let magnitude = code & (to.max_code() >> u32::from(to.is_signed()));
                CallOutcome::one(magnitude | sign, outcome.flags)
            }
            Self::LostCarry { is_made } => {
                let to = unit.operation().result()?;
                let code = outcome.results()[0];
                let step = 1 << to.trailing_bits();
                let right = unit.projection(operands).ok()?;
                let toward_zero = right.with_rounding(Rounding::TowardZero);
                let toward_zero = toward_zero.with_saturation(Saturation::SatFinite);
                let below = project(exact?, to, &toward_zero).value;
                let Exact::Finite { significand: significand @ 1.., exponent, .. } = exact? else {
                    return Some(outcome);
                };
                // What the result is as if the format had one binade more: of the highest one,
                // which may carry into an overflow, the index follows from the binade below.
                let leading = exponent + significand.ilog2().cast_signed();
                let reached = match leading.cmp(&to.max_finite().exponent_of_leading_bit()) {
                    Ordering::Less => code,
                    Ordering::Equal => project(exact?.scaled(-1), to, &right).value + step,
                    Ordering::Greater => return Some(outcome),
                };
                let carries = to.trailing_bits() > 0 && below % step == step - 1 && below != reached;
                match (carries, is_made) {
                    (true, true) => CallOutcome::one(below - (step - 1), outcome.flags),
                    (true, false) => CallOutcome::one(below, outcome.flags),
                    (false, _) => outcome,
                }
            }
            Self::NeverZero => {
                let is_number = matches!(exact?, Exact::Finite { significand: 1.., .. });
                each(&outcome, &|format, code| {
                    let is_lost = is_number && format.decode(code).is_zero();
                    if is_lost { code + 1 } else { code }
                })
            }
            Self::Sign { of_infinities: false, .. } if matches!(exact?, Exact::Infinite { .. }) => outcome,
            Self::Sign { rule, .. } => {
                let formats = unit.operation().operands();
                let signs: Vec<bool> =
                    formats.iter().zip(operands).map(|(format, code)| format.sign_bit(*code)).collect();
                each(&outcome, &|format, code| signed(format, code, rule(&signs)))
            }
            Self::SignOfZero(negative) => each(&outcome, &|format, code| {
                if format.decode(code).is_zero() { signed(format, code, negative) } else { code }
            }),
            Self::OtherNan => each(&outcome, &|format, code| {
                let other = code ^ 1 << (format.width() - 1);
                let are_nans = format.decode(code).is_nan() && format.decode(other).is_nan();
                if are_nans { other } else { code }
            }),
        })
    }
}

/// A number with a sign, where its format has one and does not mean something else by it.
fn signed(format: &Format, code: u64, negative: bool) -> u64 {
    let bit = 1 << (format.width() - 1);
    let other = if negative { code | bit } else { code & !bit };
    let is_number = |code: u64| !format.decode(code).is_nan();
    if format.is_signed() && is_number(code) && is_number(other) { other } else { code }
}

fn flushed(format: &Format, code: u64) -> u64 {
    if format.classify(code) != Class::Subnormal {
        return code;
    }
    let sign = format.sign_bit(code) && format.has_negative_zero();
    if sign { 1 << (format.width() - 1) } else { 0 }
}

/// Other flags with the same results.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlagStep {
    /// These are never raised.
    Never(Flags),
    /// Underflow is raised for every subnormal result, exact ones too.
    TinyWhenExact,
    /// One is not raised together with another: the first flags are missing where the second are
    /// raised.
    NotBeside(Flags, Flags),
    /// One is raised together with another: the first flags are there where the second are raised.
    Beside(Flags, Flags),
}

impl FlagStep {
    /// The flags of an outcome as the mistake raises them.
    pub(super) fn apply(self, unit: &UnitUnderTest, outcome: &CallOutcome) -> Flags {
        let flags = outcome.flags;
        let has = |class: Class| {
            let mut fields = unit.results().iter().zip(outcome.results());
            fields.any(|(field, code)| field.format.is_some_and(|format| format.classify(*code) == class))
        };
        match self {
            Self::Never(never) => flags.without(never),
            Self::TinyWhenExact if has(Class::Subnormal) => flags | Flags::UNDERFLOW,
            Self::NotBeside(missing, raised) if flags.contains(raised) => flags.without(missing),
            Self::Beside(extra, raised) if flags.contains(raised) => flags | extra,
            _ => flags,
        }
    }
}
