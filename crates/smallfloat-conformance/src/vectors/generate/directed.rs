//! Operands made for the result: on rounding boundaries and beside them, near zero after
//! cancellation, and random words where they turn a result.

use smallfloat::ops::{Integer, Operation};
use smallfloat::p3109::{Function, Parameter};
use smallfloat::{Datum, Exact, FlagPolicy, Format, Preset, Projection, Rounding, project};

use crate::error::Error;
use crate::monotone::{Runs, is_monotone};
use crate::vectors::generate::pools;
use crate::vectors::level::CoverageLevel;
use crate::vectors::unit::{Field, UnitUnderTest};

/// The operands of one model: whole lines one after the other.
pub(super) struct Model {
    pub(super) name: &'static str,
    pub(super) operands: Vec<u64>,
}

/// All models that aim at a result.
pub(super) fn models(unit: &UnitUnderTest, level: CoverageLevel) -> Result<Vec<Model>, Error> {
    let effort = if level == CoverageLevel::One { 1 } else { 4 };
    let mut models = Vec::new();
    if let (Some(operation), Some(to)) = (unit.numeric(), unit.operation().result()) {
        let formats = unit.operation().operands();
        let goals = goals(to, 64 * effort);
        let mut lines = if operation == Operation::Convert {
            conversions(&formats[0], to, level)
        } else if formats.len() == 1 && to.width() <= 8 && is_monotone(operation, to, &nearest(to)) {
            boundaries_of_runs(unit, operation, to)?
        } else {
            solved(operation, formats, &goals, 8 * effort)
        };
        if let Some(bits) = unit.word_bits() {
            lines = turning_words(unit, bits, &lines, 4096 * effort)?;
        }
        models.push(Model { name: "rounding boundaries", operands: lines });
    }
    let is_block = |p: &Parameter| !matches!(p, Parameter::Code(_) | Parameter::Integer(_));
    let integers = match unit.operation().function() {
        Function::ToInteger(to) => to_integers(&unit.operation().formats()[0], to),
        Function::FromInteger(from) => from_integers(from, &unit.operation().formats()[0]),
        _ => Vec::new(),
    };
    let integers = match unit.word_bits() {
        Some(bits) => turning_words(unit, bits, &integers, 4096 * effort)?,
        None => integers,
    };
    models.push(Model { name: "rounding boundaries", operands: integers });
    if unit.parameters().iter().any(is_block) {
        models.push(Model { name: "blocks", operands: blocks(unit, effort) });
    }
    models.retain(|model| !model.operands.is_empty());
    Ok(models)
}

fn nearest(format: &Format) -> Projection {
    Preset::Ieee.projection(format).with_rounding(Rounding::NearestEven)
}

/// The code nearest to a value and its neighbours up to `reach` codes away, in both directions.
pub(crate) fn around(format: &Format, x: Exact, reach: u64) -> impl Iterator<Item = u64> + use<> {
    let sign_bit = if format.is_signed() { 1 << (format.width() - 1) } else { 0 };
    let code = project(x, format, &nearest(format)).value;
    let (sign, magnitude) = (code & sign_bit, code & !sign_bit);
    let top = format.max_code() & !sign_bit;
    (magnitude.saturating_sub(reach)..=magnitude.saturating_add(reach).min(top)).map(move |m| m | sign)
}

/// A line's first operands are `x` and `y`; `t` is a value where the destination's rounding may
/// change: `operation` of them and the last operand should come out at `t`. `None` where nothing
/// solves it.
pub(crate) fn last_operand(operation: Operation, x: Datum, y: Datum, t: Datum) -> Option<Exact> {
    let exact = |operation: Operation, data| operation.exact(data, smallfloat::ops::Semantics::Ieee).exact;
    let none = Datum::ZERO;
    Some(match operation {
        Operation::Add => exact(Operation::Subtract, [t, x, none]),
        Operation::Subtract => exact(Operation::Subtract, [x, t, none]),
        Operation::Multiply => exact(Operation::Divide, [t, x, none]),
        Operation::Divide => exact(Operation::Divide, [x, t, none]),
        Operation::Fma => exact(Operation::Fma, [x.negated(), y, t]),
        Operation::Faa => exact(Operation::Faa, [t, x.negated(), y.negated()]),
        Operation::Sqrt => exact(Operation::Multiply, [t, t, none]),
        Operation::Recip => exact(Operation::Divide, [Datum::finite(false, 1, 0), t, none]),
        Operation::Negate => Exact::from(t.negated()),
        Operation::Abs => Exact::from(t),
        _ => return None,
    })
}

/// The places of the destination's grid: values, midpoints, and the first two beyond the largest
/// value.
fn places(to: &Format, cap: usize) -> Vec<Datum> {
    let top = to.encode(to.max_finite()).expect("every format has its largest value");
    let codes: Vec<u64> = if to.width() <= 8 {
        (0..top).collect()
    } else {
        let trailing = to.trailing_bits();
        let starts = (0..=top >> trailing).map(|field| field << trailing);
        let mut codes: Vec<_> = starts
            .flat_map(|start| [start, start + 1, start.saturating_sub(1)])
            .filter(|c| *c < top)
            .collect();
        codes.dedup();
        codes
    };
    let mut places = Vec::new();
    for code in pools::sample(&codes, cap) {
        let (low, high) = (to.decode(code), to.decode(code + 1));
        places.push(low);
        places.extend(combine(low, high, |low, high| low + high));
    }
    let (max, before) = (to.decode(top), to.decode(top.saturating_sub(1)));
    places.push(max);
    // Beyond the largest value the grid goes on: half a step, where nearest rounding overflows, and
    // a whole one.
    places.extend(combine(before, max, |before, max| 2 * max + (max - before)));
    places.extend(combine(before, max, |before, max| 2 * max + 2 * (max - before)));
    places.dedup();
    places
}

/// Half of an integer combination of two neighbouring magnitudes; `None` where one is no number.
fn combine(a: Datum, b: Datum, f: impl Fn(i128, i128) -> i128) -> Option<Datum> {
    let (
        Datum::Finite { significand: a, exponent: ea, .. },
        Datum::Finite { significand: b, exponent: eb, .. },
    ) = (a, b)
    else {
        return None;
    };
    // Zero has no exponent of its own.
    let least = match (a, b) {
        (0, _) => eb,
        (_, 0) => ea,
        _ => ea.min(eb),
    };
    let at = |significand: u64, exponent: i32| -> Option<i128> {
        if significand == 0 {
            return Some(0);
        }
        let shift = u32::try_from(exponent - least).ok().filter(|shift| *shift < 63)?;
        Some(i128::from(significand) << shift)
    };
    let sum = f(at(a, ea)?, at(b, eb)?);
    Some(Datum::finite(false, u64::try_from(sum).ok()?, least - 1))
}

/// Places of both signs where the destination has them, and both zeros: around those terms cancel.
fn goals(to: &Format, cap: usize) -> Vec<Datum> {
    let positive = pools::sample(&places(to, cap), cap);
    let negative = positive.iter().map(|x| x.negated()).filter(|_| to.is_signed());
    [Datum::ZERO].into_iter().chain(negative).chain(positive.iter().copied()).collect()
}

/// Conversions: every place (of wide destinations those at the ends of binades), the source's codes
/// around it, and with one far bit set that nothing but a sticky bit sees.
fn conversions(from: &Format, to: &Format, level: CoverageLevel) -> Vec<u64> {
    let cap = if level == CoverageLevel::One { 1 << 11 } else { 1 << 14 };
    let mut codes = Vec::new();
    for place in places(to, cap) {
        for t in [place, place.negated()].into_iter().take(if from.is_signed() { 2 } else { 1 }) {
            codes.extend(around(from, t.into(), 2));
            if level == CoverageLevel::Two || to.width() <= 8 {
                let middle = project(t.into(), from, &nearest(from)).value;
                let free = from.precision().saturating_sub(to.precision() + 1);
                codes.extend((1..free).map(|bit| (middle ^ 1 << bit) & from.max_code()));
            }
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Codes beside integers and halves: all small ones, those beside powers of two, and the ends of
/// the range.
fn to_integers(from: &Format, to: Integer) -> Vec<u64> {
    let near_powers = (0..=to.bits().cast_signed()).flat_map(|e| {
        // In quarters, up to two units away.
        (-8..=8).filter_map(move |quarters: i64| u64::try_from((4_i128 << e) + i128::from(quarters)).ok())
    });
    let mut codes = Vec::new();
    for quarters in (0..256).chain(near_powers) {
        for negative in [false, true].into_iter().take(if from.is_signed() { 2 } else { 1 }) {
            codes.extend(around(from, Datum::finite(negative, quarters, -2).into(), 2));
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Integers beside the places of the destination's grid.
fn from_integers(from: Integer, to: &Format) -> Vec<u64> {
    let mut words = Vec::new();
    for place in places(to, 1 << 11) {
        let Datum::Finite { significand, exponent, .. } = place else { continue };
        let magnitude = match exponent {
            ..0 => i128::from(significand.checked_shr(exponent.unsigned_abs()).unwrap_or(0)),
            _ if exponent.cast_unsigned() + (64 - significand.leading_zeros()) > 65 => continue,
            _ => i128::from(significand) << exponent,
        };
        for signed in [magnitude, -magnitude] {
            let near = (-2..=2).map(|offset| from.word_of(signed + offset));
            words.extend(near.flatten());
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Functions without an inverse here: the ends of the runs of operands that have one result.
fn boundaries_of_runs(unit: &UnitUnderTest, operation: Operation, to: &Format) -> Result<Vec<u64>, Error> {
    let from = unit.operation().operands()[0];
    // Of NaNs that keep their payloads every code would be a run.
    let arithmetic = unit.operation().arithmetic().with_flags(FlagPolicy::TESLA);
    let mut codes = Vec::new();
    for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
        let projection = nearest(to).with_rounding(rounding);
        let result = |code| {
            let operand = [smallfloat::ops::Operand::new(code, &from)];
            Ok(operation.evaluate(&operand, to, &projection, arithmetic).value)
        };
        codes.extend(Runs::new(&from, result)?.edges());
    }
    codes.sort_unstable();
    codes.dedup();
    Ok(codes)
}

/// Lines whose last operand is solved for, so that the exact result lies at a goal or beside it.
fn solved(operation: Operation, formats: &[Format], goals: &[Datum], effort: usize) -> Vec<u64> {
    let field = |format: &Format| Field::code(String::new(), format);
    let numbers = |format: &Format, count: usize| -> Vec<(u64, Datum)> {
        let all = pools::pool(&field(format), 1 << 10);
        let all: Vec<_> = all.into_iter().map(|code| (code, format.decode(code))).collect();
        let all: Vec<_> = all.into_iter().filter(|(_, x)| x.is_finite() && !x.is_zero()).collect();
        pools::sample(&all, count)
    };
    let nothing = vec![(0, Datum::ZERO)];
    let (xs, ys) = match formats {
        [_] => (nothing.clone(), nothing),
        [x, _] => (numbers(x, 4 * effort), nothing),
        [x, y, _] => (numbers(x, effort), numbers(y, effort)),
        _ => return Vec::new(),
    };
    let mut lines = Vec::new();
    for &(x_code, x) in &xs {
        for &(y_code, y) in &ys {
            for &goal in goals {
                let Some(last) = last_operand(operation, x, y, goal) else { return Vec::new() };
                let Some(format) = formats.last() else { return Vec::new() };
                for code in around(format, last, 1) {
                    lines.extend([x_code, y_code].into_iter().take(formats.len() - 1));
                    lines.push(code);
                }
            }
        }
    }
    lines
}

/// Each line with the random words of so many bits between which its result turns. Results are
/// monotone in the word, so the place is found by bisection.
fn turning_words(unit: &UnitUnderTest, bits: u32, lines: &[u64], cap: usize) -> Result<Vec<u64>, Error> {
    let width = unit.operation().operands().len();
    let max = u64::MAX >> (64 - bits);
    let all: Vec<&[u64]> = lines.chunks_exact(width).collect();
    let mut with_words = Vec::new();
    for line in pools::sample(&all, cap) {
        let mut operands = line.to_vec();
        operands.push(0);
        let mut result = |word| -> Result<u64, Error> {
            operands[width] = word;
            Ok(unit.evaluate(&operands)?[0])
        };
        let (at_low, at_high) = (result(0)?, result(max)?);
        let (mut low, mut high) = (0, max);
        while high - low > 1 && at_low != at_high {
            let middle = low + (high - low) / 2;
            if result(middle)? == at_low { low = middle } else { high = middle }
        }
        for word in [low, high] {
            with_words.extend_from_slice(line);
            with_words.push(word);
        }
    }
    Ok(with_words)
}

/// Blocks whose elements are equal, cancel, hold one large or one special among zeros, or rise;
/// with extreme scales.
fn blocks(unit: &UnitUnderTest, effort: usize) -> Vec<u64> {
    const PATTERNS: usize = 6;
    let pools: Vec<Vec<u64>> = unit.operands().iter().map(|field| pools::pool(field, 16 * effort)).collect();
    let rounds = pools.iter().map(Vec::len).max().expect("a unit has operands");
    let pick = |field: usize, i: usize| pools[field][i % pools[field].len()];
    let mut lines = Vec::new();
    for pattern in 0..PATTERNS * PATTERNS {
        for round in 0..rounds {
            let mut seen = 0;
            for parameter in unit.parameters() {
                let (scale, element) = match parameter {
                    Parameter::Code(format) => (Some(format), None),
                    Parameter::Integer(_) => unreachable!("no function of blocks takes an integer"),
                    Parameter::Sequence(element) => (None, Some(element)),
                    Parameter::Block { scale, element } => (Some(scale), Some(element)),
                };
                if scale.is_some() {
                    lines.push(pick(seen, round * 7 + seen));
                    seen += 1;
                }
                let Some(element) = element else { continue };
                let length = unit.operation().length().expect("sequences and blocks have a length");
                // The first operand's pattern varies slowest.
                let which = if seen <= 1 { pattern / PATTERNS } else { pattern % PATTERNS };
                let negative = if element.is_signed() { 1 << (element.width() - 1) } else { 0 };
                let chosen = pick(seen, round);
                // Zero, in formats without zero the smallest value.
                let zero = 0;
                for i in 0..length {
                    lines.push(match which {
                        1 if i % 2 == 1 => chosen ^ negative,
                        0 | 1 => chosen,
                        2 if i == 0 => chosen,
                        3 if i + 1 == length => chosen,
                        2 | 3 => zero,
                        4 => pick(seen, round + i),
                        _ => (chosen + i as u64) & element.max_code(),
                    });
                }
                seen += length;
            }
            lines.extend((0..unit.word_count()).map(|i| pick(seen + i, round + i)));
        }
    }
    lines
}
