//! [`Symptom`]: how a wrong result relates to the right one, whatever caused it.

use std::cmp::Ordering;

use smallfloat::Format;

use crate::vectors::{CallOutcome, Field};

/// A property of the vectors that differ. It tells nothing of how it came about, and so it is never
/// a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symptom {
    /// What is seen.
    pub name: &'static str,
    /// In how many vectors.
    pub count: u64,
}

/// Of the right code and the wrong one.
type Relation = fn(&Format, u64, u64) -> bool;

const RELATIONS: [(&str, Relation); 10] = [
    ("a zero has the wrong sign", |format, expected, given| {
        format.decode(expected).is_zero() && format.decode(given).is_zero()
    }),
    ("a NaN has another code", |format, expected, given| {
        format.decode(expected).is_nan() && format.decode(given).is_nan()
    }),
    ("the result has the wrong sign", |format, expected, given| {
        let (right, wrong) = (format.decode(expected), format.decode(given));
        !right.is_zero() && right.negated().compare(&wrong) == Some(Ordering::Equal)
    }),
    ("a NaN became a number", |format, expected, given| {
        format.decode(expected).is_nan() && !format.decode(given).is_nan()
    }),
    ("the largest value became NaN or infinity: overflow is not clamped", |format, expected, given| {
        is_largest(format, expected) && !format.decode(given).is_finite()
    }),
    ("infinity or NaN became the largest value: overflow is clamped", |format, expected, given| {
        is_largest(format, given) && !format.decode(expected).is_finite()
    }),
    ("a number became NaN", |format, expected, given| {
        format.decode(expected).is_finite() && format.decode(given).is_nan()
    }),
    ("a carry out of the significand did not reach the exponent", |format, expected, given| {
        let step = 1 << format.trailing_bits();
        expected.is_multiple_of(step) && expected.checked_sub(given) == Some(step) && step > 1
    }),
    ("the magnitude is one step too small", |format, expected, given| {
        is_number_pair(format, expected, given) && expected.checked_sub(given) == Some(1)
    }),
    ("the magnitude is one step too large", |format, expected, given| {
        is_number_pair(format, expected, given) && given.checked_sub(expected) == Some(1)
    }),
];

fn is_number_pair(format: &Format, expected: u64, given: u64) -> bool {
    format.decode(expected).is_finite() && format.decode(given).is_finite()
}

fn is_largest(format: &Format, code: u64) -> bool {
    let datum = format.decode(code);
    let equals = |other: &smallfloat::Datum| datum.compare(other) == Some(Ordering::Equal);
    equals(&format.max_finite()) || equals(&format.max_finite().negated())
}

/// The symptoms of vectors with their right and wrong outcomes, the most frequent first.
pub(super) fn symptoms<'a>(
    results: &[Field],
    vectors: impl Iterator<Item = (&'a CallOutcome, &'a CallOutcome)>,
    any_nan: bool,
) -> Vec<Symptom> {
    let mut counts = [0; RELATIONS.len()];
    for (expected, given) in vectors {
        let fields = results.iter().zip(expected.results().iter().zip(given.results()));
        let differing: Vec<_> =
            fields.filter(|(field, (right, wrong))| !field.agrees(**right, **wrong, any_nan)).collect();
        for (count, (_, relation)) in counts.iter_mut().zip(RELATIONS) {
            let holds = differing.iter().all(|(field, (right, wrong))| {
                field.format.as_ref().is_some_and(|format| relation(format, **right, **wrong))
            });
            *count += u64::from(holds && !differing.is_empty());
        }
    }
    let named = RELATIONS.iter().zip(counts).filter(|(_, count)| *count > 0);
    let mut symptoms: Vec<_> = named.map(|((name, _), count)| Symptom { name, count }).collect();
    symptoms.sort_by_key(|symptom| std::cmp::Reverse(symptom.count));
    symptoms
}
