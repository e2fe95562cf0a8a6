//! Features of operands: classes and fields of codes, what elements a sequence has, random words.

use std::cmp::Ordering;
use std::ops::Range;

use smallfloat::ops::Integer;
use smallfloat::p3109::{Parameter, Specialization};
use smallfloat::{Class, Datum, Format};

use crate::features::{
    ABSENT, Aspect, CLASSES, ELEMENTS, Feature, LOW_BIT, MAGNITUDES, MIXED, ORDER, OperandField, PATTERNS,
    SIGNS, WORDS, orders,
};

/// What a run of fields is.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A code by itself.
    Code { at: usize, name: String, format: Format },
    /// The elements of a sequence.
    Elements { at: Range<usize>, name: String, format: Format },
    /// An integer.
    Integer { at: usize, name: String, integer: Integer },
    /// A random word.
    Word { at: usize, name: String, bits: u32 },
}

/// The operands of a unit in parts, blocks as a scale and its elements.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    parts: Vec<Part>,
    orders: bool,
}

impl Layout {
    pub(super) fn new(operation: &Specialization, fields: Vec<OperandField>) -> Self {
        let length = operation.length().unwrap_or(1);
        let (mut parts, mut at) = (Vec::new(), 0);
        let code =
            |at: usize, format: &Format| Part::Code { at, name: fields[at].name.clone(), format: *format };
        for parameter in operation.parameters() {
            let element = match parameter {
                Parameter::Code(format) => {
                    parts.push(code(at, format));
                    at += 1;
                    None
                }
                Parameter::Integer(integer) => {
                    parts.push(Part::Integer { at, name: fields[at].name.clone(), integer: *integer });
                    at += 1;
                    None
                }
                Parameter::Sequence(format) => Some(format),
                Parameter::Block { scale, element } => {
                    parts.push(code(at, scale));
                    at += 1;
                    Some(element)
                }
            };
            if let Some(format) = element {
                // The elements are called as the first is, without its number.
                let name = fields[at].name.trim_end_matches('0').to_owned();
                parts.push(Part::Elements { at: at..at + length, name, format: *format });
                at += length;
            }
        }
        let words = fields.into_iter().enumerate().skip(at);
        parts.extend(words.map(|(at, field)| Part::Word { at, name: field.name, bits: field.bits }));
        Self { parts, orders: orders(operation) }
    }

    /// The parts.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(super) fn features(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        if self.orders {
            features.push(Feature::named(Aspect::Order, "order", ORDER));
            features.push(Feature::named(Aspect::MagnitudeOrder, "order of magnitudes", MAGNITUDES));
        }
        for part in &self.parts {
            match part {
                Part::Code { at, name, format } => {
                    features.extend(of_operand(*at, name, format));
                }
                Part::Elements { at, name, .. } => {
                    let at = at.start;
                    features.push(Feature::named(Aspect::Elements(at), "elements", ELEMENTS).of(name));
                    features.push(Feature::named(Aspect::Signs(at), "signs", MIXED).of(name));
                }
                Part::Integer { at, name, integer } => {
                    if integer.is_signed() {
                        features.push(Feature::named(Aspect::Sign(*at), "sign", SIGNS).of(name));
                    }
                    let bits = integer.bits().cast_signed();
                    features.push(Feature::number(Aspect::Field(*at), "length", 0, bits).of(name));
                    features.push(Feature::named(Aspect::LowBit(*at), "last bit", LOW_BIT).of(name));
                }
                Part::Word { at, name, .. } => {
                    features.push(Feature::named(Aspect::Word(*at), "word", WORDS).of(name));
                }
            }
        }
        features
    }

    pub(super) fn values(&self, operands: &[u64], values: &mut Vec<i32>) {
        if self.orders {
            values.extend(order(&self.parts, operands));
        }
        for part in &self.parts {
            match part {
                Part::Code { at, format, .. } => code_values(format, operands[*at], values),
                Part::Elements { at, format, .. } => {
                    values.extend(element_values(format, &operands[at.clone()]));
                }
                Part::Integer { at, integer, .. } => {
                    let value = integer.value(operands[*at]);
                    if integer.is_signed() {
                        values.push(i32::from(value < 0));
                    }
                    let length = 128 - value.unsigned_abs().leading_zeros();
                    values.extend([length.cast_signed(), i32::from(operands[*at] & 1 == 1)]);
                }
                Part::Word { at, bits, .. } => values.push(word(operands[*at], *bits)),
            }
        }
    }
}

/// The features of an operand that is a code, by its place and its name.
pub(crate) fn of_operand(at: usize, name: &str, format: &Format) -> Vec<Feature> {
    of_code(at, format).into_iter().map(|feature| feature.of(name)).collect()
}

/// The features of a code.
fn of_code(at: usize, format: &Format) -> Vec<Feature> {
    let mut features = vec![Feature::named(Aspect::Class(at), "class", CLASSES)];
    if format.is_signed() {
        features.push(Feature::named(Aspect::Sign(at), "sign", SIGNS));
    }
    if format.exponent_bits() > 0 {
        features.push(Feature::number(Aspect::Field(at), "exponent field", 0, last_field(format)));
    }
    if format.trailing_bits() > 0 {
        features.push(Feature::named(Aspect::Pattern(at), "significand", PATTERNS));
        features.push(Feature::named(Aspect::LowBit(at), "last bit", LOW_BIT));
    }
    features
}

/// The values of [`of_operand`]'s features.
pub(crate) fn code_values(format: &Format, code: u64, values: &mut Vec<i32>) {
    values.push(class(format, code));
    if format.is_signed() {
        values.push(i32::from(format.sign_bit(code)));
    }
    if format.exponent_bits() > 0 {
        values.push(field(format, code));
    }
    if format.trailing_bits() > 0 {
        values.push(pattern(format, code));
        values.push(i32::from(code & 1 == 1));
    }
}

/// The place of a code's class in [`CLASSES`].
pub(super) fn class(format: &Format, code: u64) -> i32 {
    match format.classify(code) {
        Class::Nan => i32::from(format.is_signaling(code)),
        Class::Infinite => 2,
        Class::Zero => 3,
        Class::Subnormal => 4,
        Class::Normal => 5,
    }
}

/// The largest exponent field.
pub(super) fn last_field(format: &Format) -> i32 {
    i32::try_from((1_u64 << format.exponent_bits()) - 1).expect("an exponent field has at most 16 bits")
}

/// The exponent field of a code.
pub(super) fn field(format: &Format, code: u64) -> i32 {
    let magnitude = code & (format.max_code() >> u32::from(format.is_signed()));
    i32::try_from(magnitude >> format.trailing_bits()).expect("an exponent field has at most 16 bits")
}

/// The place of a trailing significand's pattern in [`PATTERNS`].
pub(super) fn pattern(format: &Format, code: u64) -> i32 {
    let ones = (1_u64 << format.trailing_bits()) - 1;
    match code & ones {
        0 => 0,
        trailing if trailing == ones => 1,
        1 => 2,
        trailing if trailing == ones / 2 + 1 => 3,
        _ => 4,
    }
}

/// Classes and signs of a sequence's elements.
pub(crate) fn element_values(format: &Format, codes: &[u64]) -> [i32; 2] {
    let has = |class: Class| codes.iter().any(|code| format.classify(*code) == class);
    let classes = match () {
        () if has(Class::Nan) => 0,
        () if has(Class::Infinite) => 1,
        () if !has(Class::Subnormal) && !has(Class::Normal) => 2,
        () if !has(Class::Normal) => 3,
        () if has(Class::Zero) => 4,
        () => 5,
    };
    let negative = codes.iter().filter(|code| format.sign_bit(**code)).count();
    let signs = match negative {
        0 => 0,
        n if n == codes.len() => 1,
        _ => 2,
    };
    [classes, signs]
}

fn word(word: u64, bits: u32) -> i32 {
    let ones = u64::MAX >> (64 - bits);
    match word {
        0 => 0,
        word if word == ones => 1,
        word if word <= ones / 2 => 2,
        _ => 3,
    }
}

/// The order of the two operands, and that of their magnitudes.
fn order(parts: &[Part], operands: &[u64]) -> [i32; 2] {
    let [Part::Code { at: x, format: of_x, .. }, Part::Code { at: y, format: of_y, .. }, ..] = parts else {
        return [ABSENT; 2];
    };
    let data = [of_x.decode(operands[*x]), of_y.decode(operands[*y])];
    let place = |[x, y]: [Datum; 2]| match x.compare(&y) {
        Some(Ordering::Less) => 0,
        Some(Ordering::Equal) => 1,
        Some(Ordering::Greater) => 2,
        None => 3,
    };
    let magnitude = |x: Datum| if x.is_negative() { x.negated() } else { x };
    [place(data), place(data.map(magnitude))]
}
