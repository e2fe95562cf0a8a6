//! An operation step by step: operands, exact result, its place among the format's values,
//! rounding, range, code.

use serde::{Deserialize, Serialize};
use smallfloat::ops::{Operand, Operation, OperationOptions, Semantics};
use smallfloat::{Datum, Exact, Flags, Format, Projection, Rounding, project};

use crate::explorer::choice::{EffectivePolicy, PolicyChoice, Reading, Typed};
use crate::explorer::digits::DigitPicture;
use crate::explorer::error::{ExplorerError, named};
use crate::explorer::number::{DecodedCode, Value};
use crate::explorer::rounding::{RoundingOutcome, ValuePosition};
use crate::explorer::{digits, listed, number, rounding};

/// An operation to be shown.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithmeticRequest {
    /// `add`, `subtract`, `multiply` or `fma`.
    pub operation: String,
    /// The operands' format.
    pub format: String,
    /// The result's format; the operands' if left out.
    #[serde(default)]
    pub to: Option<String>,
    /// The operands as numbers or codes; numbers that the format lacks are rounded by its default
    /// first.
    pub operands: Vec<String>,
    /// How the result becomes a code.
    #[serde(default)]
    pub policy: PolicyChoice,
}

/// An operand.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shown {
    /// What was typed.
    pub reading: Reading,
    /// The code that takes part.
    pub code: DecodedCode,
    /// Had the typed number to be rounded?
    pub rounded: bool,
}

/// A sentence about a step.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OperationStep {
    /// The step's name.
    pub title: &'static str,
    /// What happens.
    pub text: String,
}

/// A fused operation computed with a rounding of its own for the product.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Separate {
    /// The rounded product.
    pub product: RoundingOutcome,
    /// The rounded sum of it.
    pub sum: RoundingOutcome,
    /// Whether the result is the same code.
    pub same: bool,
}

/// An operation step by step.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OperationSteps {
    /// The operation as a formula: `x × y + z`.
    pub formula: &'static str,
    /// The operands' format.
    pub from: String,
    /// The result's format.
    pub to: String,
    /// Whose special cases hold: `ieee` or `p3109`.
    pub semantics: &'static str,
    /// The policy that holds.
    pub held: EffectivePolicy,
    /// The operands.
    pub operands: Vec<Shown>,
    /// The exact result.
    pub exact: Value,
    /// The digits of operands, product and result under one another.
    pub picture: Option<DigitPicture>,
    /// Where the exact result lies.
    pub place: ValuePosition,
    /// The result.
    pub outcome: RoundingOutcome,
    /// What happens, in sentences.
    pub steps: Vec<OperationStep>,
    /// For a fused operation: multiplying and adding one after the other.
    pub separate: Option<Separate>,
}

/// The operations that are shown: name, formula, the letters of their operands.
const OPERATIONS: [(&str, &str, Operation); 4] = [
    ("add", "x + y", Operation::Add),
    ("subtract", "x − y", Operation::Subtract),
    ("multiply", "x × y", Operation::Multiply),
    ("fma", "x × y + z", Operation::Fma),
];

/// An operation step by step.
pub(super) fn steps(request: &ArithmeticRequest) -> Result<OperationSteps, ExplorerError> {
    let (_, formula, operation) = named("operation", &request.operation, &OPERATIONS, |(name, ..)| name)?;
    let arity = operation.arity();
    if request.operands.len() != arity {
        let given = request.operands.len();
        return Err(ExplorerError::Count { what: "operands", given, least: arity, most: arity });
    }
    let from = listed(&request.format)?;
    let to = match request.to.as_deref().filter(|name| !name.is_empty()) {
        None => from,
        Some(name) => listed(name)?,
    };
    let (projection, held) = request.policy.projection(&to)?;
    let shown = request.operands.iter().map(|text| operand(text, &from)).collect::<Result<Vec<_>, _>>()?;
    let arithmetic = OperationOptions::default_for([&from, &to]);
    let codes: Vec<_> = shown.iter().map(|operand| Operand::new(operand.code.code, &from)).collect();
    let mut data = [Datum::ZERO; 3];
    for (datum, operand) in data.iter_mut().zip(&codes) {
        *datum = operand.datum();
    }
    let exact = operation.exact(data, arithmetic.semantics).exact;
    let result = operation.evaluate(&codes, &to, &projection, arithmetic);
    let place = rounding::place(exact, &to);
    let outcome = rounding::ExactOperand { x: exact, flags: Flags::NONE }.became(&to, &projection, result);
    let product =
        (operation == Operation::Fma).then(|| Operation::Multiply.exact(data, arithmetic.semantics).exact);
    let steps = sentences(&Told {
        formula,
        shown: &shown,
        product,
        exact,
        to: &to,
        projection: &projection,
        place: &place,
        result,
    });
    Ok(OperationSteps {
        formula,
        from: from.to_string(),
        to: to.to_string(),
        semantics: if arithmetic.semantics == Semantics::P3109 { "p3109" } else { "ieee" },
        held,
        picture: picture(operation, &data, product, exact, &to, result.value, &place),
        exact: Value::of(exact),
        place,
        separate: product
            .map(|product| separate(product, &codes, &to, &projection, arithmetic, result.value)),
        outcome,
        steps,
        operands: shown,
    })
}

/// An operand as it takes part.
fn operand(text: &str, from: &Format) -> Result<Shown, ExplorerError> {
    let typed = Typed::parse(text, from)?;
    let (code, rounded) = match typed {
        Typed::Code(code) => (code, false),
        Typed::Value(exact) => {
            let result = project(exact, from, &from.default_projection());
            (result.value, result.flags.contains(Flags::INEXACT))
        }
    };
    Ok(Shown { reading: typed.reading(from), code: number::code(from, code), rounded })
}

/// The digits of what takes part.
fn picture(
    operation: Operation,
    [x, y, z]: &[Datum; 3],
    product: Option<Exact>,
    exact: Exact,
    to: &Format,
    code: u64,
    place: &ValuePosition,
) -> Option<DigitPicture> {
    let mut values: Vec<(&str, Exact)> = match (operation, product) {
        (_, Some(product)) => vec![("x × y", product), ("z", (*z).into())],
        _ => vec![("x", (*x).into()), ("y", (*y).into())],
    };
    values.push(("exact", exact));
    // Where the values around are not evenly spaced, no place is the last.
    let even = place.gap.is_none() || place.gap_power.is_some();
    let last_kept = digits::last_kept(exact, to).filter(|_| even);
    values.push(("result", to.decode(code).into()));
    digits::picture(&values, last_kept)
}

/// Product and sum with a rounding each.
fn separate(
    product: Exact,
    codes: &[Operand<'_>],
    to: &Format,
    projection: &Projection,
    arithmetic: OperationOptions,
    fused: u64,
) -> Separate {
    let first = Operation::Multiply.evaluate(codes, to, projection, arithmetic);
    let mut terms = [Operand::new(first.value, to); 2];
    if let Some(z) = codes.get(2) {
        terms[1] = *z;
    }
    let second = Operation::Add.evaluate(&terms, to, projection, arithmetic);
    let data = [terms[0].datum(), terms[1].datum(), Datum::ZERO];
    let sum = Operation::Add.exact(data, arithmetic.semantics).exact;
    let became = |x, result| rounding::ExactOperand { x, flags: Flags::NONE }.became(to, projection, result);
    Separate { product: became(product, first), sum: became(sum, second), same: second.value == fused }
}

/// What the sentences are about.
struct Told<'a> {
    formula: &'static str,
    shown: &'a [Shown],
    product: Option<Exact>,
    exact: Exact,
    to: &'a Format,
    projection: &'a Projection,
    place: &'a ValuePosition,
    result: smallfloat::Rounded<u64>,
}

fn sentences(told: &Told<'_>) -> Vec<OperationStep> {
    let letters = ["x", "y", "z"];
    let operands: Vec<String> = letters
        .iter()
        .zip(told.shown)
        .map(|(letter, operand)| {
            let rounded = if operand.rounded { " (rounded to the format first)" } else { "" };
            format!("{letter} = {} {}{rounded}", operand.code.hex, operand.code.equals())
        })
        .collect();
    let mut steps = vec![OperationStep { title: "Decode", text: operands.join(", ") }];
    if let Some(product) = told.product {
        let text = format!("x × y = {}, with all its digits", both(product));
        steps.push(OperationStep { title: "Multiply", text });
    }
    let text = format!("{} = {}", told.formula, both(told.exact));
    steps.push(OperationStep { title: "Exact result", text });
    steps.push(OperationStep { title: "Place", text: lies(told.place) });
    steps.push(OperationStep { title: "Round", text: decision(told) });
    if let Some(text) = range(told) {
        steps.push(OperationStep { title: "Range", text });
    }
    let code = number::code(told.to, told.result.value);
    let text = format!("{} = {} {}", code.hex, code.bits, code.equals());
    steps.push(OperationStep { title: "Encode", text });
    steps
}

/// A value exactly and in decimal.
fn both(x: Exact) -> String {
    let value = Value::of(x);
    match (value.exact, value.decimal.strip_prefix('≈')) {
        (Some(exact), Some(decimal)) => format!("{exact} ≈ {decimal}"),
        (Some(exact), None) if exact != value.decimal => format!("{} = {exact}", value.decimal),
        _ => value.decimal,
    }
}

/// Where the exact result lies.
fn lies(place: &ValuePosition) -> String {
    let named = |code: &DecodedCode| format!("{} ({})", code.decimal, code.hex);
    match (&place.below, &place.above) {
        (Some(code), _) if place.exact => format!("it is a value of the format: {}", named(code)),
        (Some(below), Some(above)) => {
            let between = format!("between {} and {}", named(below), named(above));
            match (place.tie, place.share) {
                (true, _) => format!("{between}, exactly halfway"),
                (false, Some(share)) if share < 5e-5 => format!("{between}, just above the lower"),
                (false, Some(share)) if share > 1.0 - 5e-5 => {
                    format!("{between}, just below the upper")
                }
                (false, Some(share)) => format!("{between}, at {share:.4} of the way up"),
                (false, None) => between,
            }
        }
        (Some(below), None) => format!("above {}, the largest", named(below)),
        (None, Some(above)) => format!("below {}, the smallest", named(above)),
        (None, None) => "nowhere: it is not a number".into(),
    }
}

/// What the rounding mode does.
fn decision(told: &Told<'_>) -> String {
    if told.exact.is_nan() {
        return "nothing to round: the result is not a number".into();
    }
    if told.place.exact || matches!(told.exact, Exact::Infinite { .. }) || told.exact.is_zero() {
        return "nothing to round".into();
    }
    let mode = told.projection.rounding.name();
    let why = match told.projection.rounding {
        Rounding::NearestEven if told.place.tie => "halfway: to the neighbour with the even code",
        Rounding::NearestAway if told.place.tie => "halfway: to the neighbour farther from zero",
        Rounding::NearestEven | Rounding::NearestAway => "to the nearer neighbour",
        Rounding::TowardPositive => "to the neighbour above",
        Rounding::TowardNegative => "to the neighbour below",
        Rounding::TowardZero => "to the neighbour closer to zero",
        _ => "not exact: to the neighbour with the odd code",
    };
    if told.result.flags.contains(Flags::OVERFLOW) {
        return format!("{mode}: on the grid continued beyond the range, {why}");
    }
    let code = told.result.value;
    format!("{mode}: {why}, {}", number::code(told.to, code).decimal)
}

/// What the range policy does, if it has something to do.
fn range(told: &Told<'_>) -> Option<String> {
    let to = told.to;
    let datum = to.decode(told.result.value);
    let became = match datum {
        Datum::Nan { .. } => "NaN",
        Datum::Infinite { .. } => "infinity",
        Datum::Finite { .. } => "the largest finite value",
    };
    let largest = Value::of_datum(to.max_finite()).decimal;
    if told.result.flags.contains(Flags::OVERFLOW) {
        let saturation = told.projection.saturation.name();
        return Some(format!(
            "beyond the largest finite value, {largest}: under {saturation} it becomes {became}"
        ));
    }
    if told.exact.is_nan() && !to.has_nan() {
        let value = number::code(to, told.result.value).decimal;
        return Some(format!("the format has no NaN: it becomes {value}, with the flag “invalid”"));
    }
    let tiny = told.result.flags.contains(Flags::UNDERFLOW);
    tiny.then(|| "below the smallest normal value and not exact: underflow".into())
}
