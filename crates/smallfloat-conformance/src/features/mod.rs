//! Features of a vector: what its operands, its exact result and its rounding are, as small numbers
//! that a condition or a bin of a coverage model is stated in.
//!
//! A [`FeatureSet`] is made for an operation. All arithmetic is the core's and exact: where a
//! result lies on its format's grid comes from [`Format::grid_position`], and terms, products and
//! quotients are compared by the exponents of their exact values.

mod operands;
mod result;

use smallfloat::ops::Operation;
use smallfloat::p3109::{BlockFunction, Function, Parameter, Specialization};
use smallfloat::{Exact, Flags, Format, Rounded, Rounding};

use operands::Layout;
pub(crate) use operands::{code_values, element_values, of_operand};
use result::Arithmetic;
pub(crate) use result::RoundedResult;

/// The value of a feature that a vector does not have: the exponent of a NaN, the carry of a result
/// that is not rounded.
pub(crate) const ABSENT: i32 = i32::MIN;

/// What a feature is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Aspect {
    /// The class of the result, [`RESULT_CLASSES`].
    ResultClass,
    /// The sign bit of a result that is no NaN.
    ResultSign,
    /// The exponent field of a finite result's code.
    ResultField,
    /// The pattern of a finite result's trailing significand, [`PATTERNS`].
    ResultPattern,
    /// The last bit of a finite result's code.
    ResultLowBit,
    /// The truth value of a comparison or a predicate.
    Truth,
    /// The exponent of the exact result's leading bit.
    Exponent,
    /// What rounding cuts off: nothing, less than one half, one half, more.
    Remainder,
    /// The first bit that rounding cuts off.
    Guard,
    /// Whether anything after the first bit is cut off.
    Sticky,
    /// The parity of the value below, whose last bit rounding to even looks at.
    LastBit,
    /// Whether the magnitude is rounded up.
    Away,
    /// Whether rounding up carries out of the significand into the exponent.
    Carry,
    /// Where in the range of the format the result lies, [`RANGES`].
    Range,
    /// Whether terms of a sum have one sign or opposite ones.
    Effective,
    /// By how many binades the terms of a sum are apart: two terms first less second; of more, the
    /// largest less the smallest.
    Alignment,
    /// How many binades the sum lies below its largest term; below 0 where it is longer.
    Cancellation,
    /// Whether a product is 2 or more, a quotient less than 1, before normalization; whether the
    /// exponent of a root's operand is odd.
    Normalization,
    /// Which of two operands is larger.
    Order,
    /// Which of two magnitudes is larger.
    MagnitudeOrder,
    /// Whether a flag is raised.
    Flag(Flags),
    /// The class of an operand, by its place among the fields.
    Class(usize),
    /// The sign bit of an operand.
    Sign(usize),
    /// The exponent field of an operand.
    Field(usize),
    /// The pattern of an operand's trailing significand.
    Pattern(usize),
    /// The last bit of an operand's code.
    LowBit(usize),
    /// A random word.
    Word(usize),
    /// What a port says, by its place.
    Port(usize),
    /// What classes a sequence of elements has, by the place of the first.
    Elements(usize),
    /// What signs a sequence of elements has, by the place of the first.
    Signs(usize),
}

/// What values a feature has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FeatureKind {
    /// One of these words, by its place.
    Named(&'static [&'static str]),
    /// A number in a range, ends included. What lies beyond an end counts as the end.
    Number {
        /// The smallest.
        low: i32,
        /// The largest.
        high: i32,
    },
}

/// A feature of an operation's vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Feature {
    /// What it is of.
    pub(crate) aspect: Aspect,
    /// Its name, with the field's name where it is an operand's: `x class`, `exponent`.
    pub(crate) name: String,
    /// Its values.
    pub(crate) kind: FeatureKind,
    /// The operand's name, in front of the words.
    subject: Option<String>,
}

/// The classes of results.
pub(crate) const RESULT_CLASSES: &[&str] =
    &["result NaN", "result infinite", "result zero", "result subnormal", "result normal"];
/// The classes of operands; quiet NaNs are those of formats without signaling ones too.
pub(crate) const CLASSES: &[&str] = &["NaN", "signaling NaN", "infinite", "zero", "subnormal", "normal"];
/// Signs, by the sign bit.
pub(crate) const SIGNS: &[&str] = &["positive", "negative"];
/// What a trailing significand looks like; the first that fits.
pub(crate) const PATTERNS: &[&str] = &[
    "significand 1.0…0",
    "significand 1.1…1",
    "significand 1.0…01",
    "significand 1.10…0",
    "other significand",
];
/// What rounding cuts off.
pub(crate) const REMAINDERS: &[&str] = &["exact", "below half", "tie", "above half"];
/// Where in the range of its format a result other than an exact zero lies.
pub(crate) const RANGES: &[&str] = &[
    "rounds to zero",
    "rounds up to the smallest value",
    "subnormal",
    "rounds up to the smallest normal value, tiny after rounding too",
    "rounds up to the smallest normal value, not tiny after rounding",
    "smallest normal value",
    "normal",
    "largest value",
    "overflows by rounding",
    "beyond the range",
];
/// What classes the elements of a sequence have; the first that fits.
pub(crate) const ELEMENTS: &[&str] =
    &["a NaN element", "an infinite element", "all zero", "subnormals alone", "some zero", "no zero"];
/// What signs they have.
pub(crate) const MIXED: &[&str] = &["all positive", "all negative", "both signs"];
/// Random words; the first that fits.
pub(crate) const WORDS: &[&str] = &["all zeros", "all ones", "below one half", "one half or more"];

const GUARD: &[&str] = &["guard 0", "guard 1"];
const STICKY: &[&str] = &["sticky 0", "sticky 1"];
const LAST_BIT: &[&str] = &["even", "odd"];
const AWAY: &[&str] = &["not rounded up", "rounded up"];
const CARRY: &[&str] = &["no carry", "carry out of the significand"];
const EFFECTIVE: &[&str] = &["terms of one sign", "terms of opposite signs"];
const ORDER: &[&str] = &["x < y", "x = y", "x > y", "unordered"];
const MAGNITUDES: &[&str] = &["|x| < |y|", "|x| = |y|", "|x| > |y|", "unordered magnitudes"];
const TRUTH: &[&str] = &["false", "true"];
const LOW_BIT: &[&str] = &["last bit 0", "last bit 1"];

/// The words for a flag, by [`Flags::LETTERS`].
const FLAGS: [&[&str]; 6] = [
    &["not invalid", "invalid"],
    &["no denormal operand", "denormal operand"],
    &["no overflow", "overflow"],
    &["no underflow", "underflow"],
    &["not inexact", "inexact"],
    &["no division by zero", "division by zero"],
];

impl Feature {
    pub(crate) fn named(aspect: Aspect, name: &str, words: &'static [&'static str]) -> Self {
        Self { aspect, name: name.to_owned(), kind: FeatureKind::Named(words), subject: None }
    }

    pub(crate) fn number(aspect: Aspect, name: &str, low: i32, high: i32) -> Self {
        Self { aspect, name: name.to_owned(), kind: FeatureKind::Number { low, high }, subject: None }
    }

    fn of(self, subject: &str) -> Self {
        Self { name: format!("{subject} {}", self.name), subject: Some(subject.to_owned()), ..self }
    }

    /// The largest value.
    pub(crate) fn last(&self) -> i32 {
        match self.kind {
            FeatureKind::Named(words) => i32::try_from(words.len()).expect("few words") - 1,
            FeatureKind::Number { high, .. } => high,
        }
    }

    /// The smallest value.
    pub(crate) fn first(&self) -> i32 {
        match self.kind {
            FeatureKind::Named(_) => 0,
            FeatureKind::Number { low, .. } => low,
        }
    }

    /// A value in words: `negative`, `x subnormal`, `exponent 3`.
    pub(crate) fn describe(&self, value: i32) -> String {
        match self.kind {
            _ if value == ABSENT => format!("no {}", self.name),
            FeatureKind::Number { low, high } => match self.aspect {
                Aspect::Cancellation if value == high => "terms that cancel to zero".into(),
                Aspect::Exponent | Aspect::Alignment if value == low => format!("{} ≤ {value}", self.name),
                Aspect::Exponent | Aspect::Alignment if value == high => format!("{} ≥ {value}", self.name),
                _ => format!("{} {value}", self.name),
            },
            FeatureKind::Named(words) => {
                let word = usize::try_from(value).ok().and_then(|at| words.get(at));
                let word = word.expect("a named feature's values are places of its words");
                match &self.subject {
                    Some(subject) => format!("{subject} {word}"),
                    None => (*word).to_owned(),
                }
            }
        }
    }
}

/// A feature for each flag of a set, in the order of [`Flags::LETTERS`].
fn of_flags(set: Flags) -> impl Iterator<Item = Feature> {
    let flags = Flags::LETTERS.iter().zip(FLAGS).filter(move |((flag, _), _)| set.contains(*flag));
    flags.map(|((flag, _), words)| Feature::named(Aspect::Flag(*flag), words[1], words))
}

/// The place of a feature in a list.
pub(crate) fn find(features: &[Feature], aspect: Aspect) -> Option<usize> {
    features.iter().position(|feature| feature.aspect == aspect)
}

/// A field of a unit, as features see it.
#[derive(Clone, Debug)]
pub(crate) struct OperandField {
    /// Its name.
    pub(crate) name: String,
    /// Its width.
    pub(crate) bits: u32,
}

/// The features of an operation's vectors.
#[derive(Clone, Debug)]
pub(crate) struct FeatureSet {
    features: Vec<Feature>,
    layout: Layout,
    arithmetic: Option<Arithmetic>,
    /// The format of a single result, if it is a code.
    result: Option<Format>,
    flags: Vec<Flags>,
    is_truth: bool,
}

impl FeatureSet {
    /// The features of an operation whose operands, random words among them, are these fields.
    pub(crate) fn new(operation: &Specialization, fields: Vec<OperandField>) -> Self {
        let function = operation.function();
        let is_truth =
            matches!(function, Function::Compare(_) | Function::Predicate(_) | Function::TotalOrder);
        let is_single = match function {
            Function::Block(function) => !function.gives_sequence(),
            _ => true,
        };
        let result = operation.result().copied().filter(|_| is_single);
        let arithmetic = Arithmetic::of(operation);
        let mut features = Vec::new();
        if is_truth {
            features.push(Feature::named(Aspect::Truth, "truth", TRUTH));
        }
        if let Some(to) = &result {
            features.extend(result::of_code(to));
        }
        if let (Some(arithmetic), Some(to)) = (&arithmetic, &result) {
            features.extend(arithmetic.features(to));
        }
        let layout = Layout::new(operation, fields);
        features.extend(layout.features());
        let bits = operation.flag_policy().bits;
        let flags: Vec<Flags> =
            Flags::LETTERS.iter().map(|(flag, _)| *flag).filter(|flag| bits.contains(*flag)).collect();
        features.extend(of_flags(bits));
        Self { features, layout, arithmetic, result, flags, is_truth }
    }

    /// All features, in the order of their values.
    pub(crate) fn list(&self) -> &[Feature] {
        &self.features
    }

    /// The place of a feature in the list.
    pub(crate) fn find(&self, aspect: Aspect) -> Option<usize> {
        find(&self.features, aspect)
    }

    /// Computes the features of a vector, in the order of the list, from its operands and the right
    /// results and flags. A feature that the vector does not have is [`ABSENT`].
    pub(crate) fn values(&self, operands: &[u64], results: &[u64], flags: Flags, values: &mut Vec<i32>) {
        values.clear();
        if self.is_truth {
            values.push(i32::from(results[0] != 0));
        }
        if let Some(to) = &self.result {
            result::code_values(to, results[0], values);
            if let Some(arithmetic) = &self.arithmetic {
                arithmetic.values(&self.layout, operands, (to, results[0], flags), values);
            }
        }
        self.layout.values(operands, values);
        values.extend(self.flags.iter().map(|flag| i32::from(flags.contains(*flag))));
        debug_assert_eq!(values.len(), self.features.len(), "a value for each feature");
    }
}

impl FeatureSet {
    /// Computes those features that an exact result and what it is rounded to decide, whatever the
    /// operands; all others are [`ABSENT`].
    pub(crate) fn of_result(
        &self,
        exact: Exact,
        (rounded, rounding): (Rounded<u64>, Rounding),
        values: &mut Vec<i32>,
    ) {
        values.clear();
        if let Some(to) = &self.result {
            result::code_values(to, rounded.value, values);
            if self.arithmetic.is_some() {
                values.extend(result::rounding(exact, to, rounding, (rounded.value, rounded.flags)));
            }
        }
        values.resize(self.features.len() - self.flags.len(), ABSENT);
        values.extend(self.flags.iter().map(|flag| i32::from(rounded.flags.contains(*flag))));
    }
}

/// Which functions' results are rounded from one exact value that is known here.
fn exact_of(operation: &Specialization) -> Option<Exactly> {
    match operation.function() {
        Function::Numeric(operation) => Some(Exactly::Operation(operation)),
        Function::Block(BlockFunction::DotProduct) => Some(Exactly::Dot),
        Function::Block(BlockFunction::ReduceAdd) => Some(Exactly::Sum),
        _ => None,
    }
}

/// How the exact result is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exactly {
    Operation(Operation),
    Dot,
    Sum,
}

/// Returns whether two operands are compared with each other.
fn orders(operation: &Specialization) -> bool {
    let two_codes = matches!(operation.parameters(), [Parameter::Code(_), Parameter::Code(_)]);
    let function = operation.function();
    two_codes && matches!(function, Function::Compare(_) | Function::TotalOrder | Function::Numeric(_))
}

#[cfg(test)]
mod tests;
