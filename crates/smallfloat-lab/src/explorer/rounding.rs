//! A value on its way into a format: between which neighbours it lies, and where every mode takes
//! it.

use serde::{Deserialize, Serialize};
use smallfloat::{Exact, FlagPolicy, Flags, Format, Projection, RandomBits, Rounding, project, project_with};

use crate::describe;
use crate::explorer::choice::{EffectivePolicy, PolicyChoice, Reading, Typed};
use crate::explorer::dyadic::Dyadic;
use crate::explorer::error::ExplorerError;
use crate::explorer::number::{DecodedCode, Value};
use crate::explorer::{format, number};

/// A value, and how it shall be rounded.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundRequest {
    /// The format's name.
    pub format: String,
    /// The value: decimal, hexadecimal float, `9p-3`, `1/3`, or a code `#39`.
    pub text: String,
    /// Range policy; its rounding mode is the one to start from.
    #[serde(default)]
    pub policy: PolicyChoice,
    /// Random bits of the stochastic modes, 1..=32.
    pub random_bits: u32,
}

/// A value rounded in every mode.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoundedInModes {
    /// The format's name.
    pub format: String,
    /// What was typed.
    pub reading: Reading,
    /// The policy that holds.
    pub held: EffectivePolicy,
    /// The neighbours.
    pub place: ValuePosition,
    /// The result of each mode that needs no random bits.
    pub modes: Vec<RoundingOutcome>,
    /// The results of the stochastic modes.
    pub stochastic: Vec<StochasticOutcomes>,
}

/// A value between its neighbours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValuePosition {
    /// The next lower value; the value itself if the format has it.
    pub below: Option<DecodedCode>,
    /// The next higher value; the value itself if the format has it.
    pub above: Option<DecodedCode>,
    /// Whether it is one of the format's values.
    pub exact: bool,
    /// How far the value lies from the lower neighbour to the higher one, from 0 to 1.
    pub share: Option<f64>,
    /// Whether it lies halfway.
    pub tie: bool,
    /// The distance of the neighbours.
    pub gap: Option<Value>,
    /// n where that is 2^n.
    pub gap_power: Option<i64>,
}

/// The result of one rounding mode.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoundingOutcome {
    /// The mode's name.
    pub mode: &'static str,
    /// The result.
    pub code: DecodedCode,
    /// The letters of the flags, `-` for none.
    pub flags: String,
    /// The flags in words.
    pub flags_in_words: String,
    /// Result − value.
    pub error: Option<Value>,
    /// |error| / |value|.
    pub relative: Option<f64>,
}

/// The results of a stochastic mode.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StochasticOutcomes {
    /// The mode's name.
    pub mode: &'static str,
    /// N: there are 2^N random words.
    pub bits: u32,
    /// The results in the order of the words that give them, at most two.
    pub results: Vec<Chance>,
}

/// A result of a stochastic mode.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Chance {
    /// How many of the 2^N words give it.
    pub words: u64,
    /// The first of these words.
    pub first: u64,
    /// The result.
    pub outcome: RoundingOutcome,
}

/// Where a value falls in a format.
pub(super) fn round(request: &RoundRequest) -> Result<RoundedInModes, ExplorerError> {
    let to = format(&request.format)?;
    let (projection, held) = request.policy.projection(&to)?;
    if !(1..=32).contains(&request.random_bits) {
        let given = u64::from(request.random_bits);
        return Err(ExplorerError::Range { what: "the number of random bits", given, least: 1, most: 32 });
    }
    let typed = Typed::parse(&request.text, &to)?;
    let x = typed.exact(&to);
    let operand = ExactOperand { x, flags: operand_flags(typed, &to) };
    let modes = Rounding::DETERMINISTIC
        .iter()
        .map(|&mode| operand.outcome(&to, &projection.with_rounding(mode)))
        .collect();
    let stochastic = [Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC]
        .iter()
        .map(|mode| operand.stochastic(&to, &projection, mode, request.random_bits))
        .collect::<Result<_, _>>()?;
    Ok(RoundedInModes {
        format: to.to_string(),
        reading: typed.reading(&to),
        held,
        place: place(x, &to),
        modes,
        stochastic,
    })
}

/// What an operand raises by itself: a subnormal code is one.
fn operand_flags(typed: Typed, format: &Format) -> Flags {
    match typed {
        Typed::Code(code) => smallfloat::convert(code, format, format, &format.default_projection()).flags,
        Typed::Value(_) => Flags::NONE,
    }
}

/// The neighbours of a value.
pub(super) fn place(x: Exact, format: &Format) -> ValuePosition {
    let itself = has(x, format);
    let (below, above) = match itself {
        Some(code) => (Some(code), Some(code)),
        None => (format.next_below(x), format.next_above(x)),
    };
    let number = |code: Option<u64>| Dyadic::of_datum(format.decode(code?));
    let (lo, hi) = (number(below), number(above));
    let gap = || hi.as_ref()?.minus(lo.as_ref()?);
    let gap = gap().filter(|gap| !gap.is_zero());
    let offset = || Dyadic::of(x)?.minus(lo.as_ref()?);
    let share = || offset()?.ratio(gap.as_ref()?);
    let tie = || {
        let twice = offset()?.minus(&gap.as_ref()?.minus(&offset()?)?)?;
        let cut = matches!(x, Exact::Finite { sticky: true, .. });
        Some(twice.is_zero() && !cut)
    };
    ValuePosition {
        below: below.map(|code| number::code(format, code)),
        above: above.map(|code| number::code(format, code)),
        exact: itself.is_some(),
        share: share(),
        tie: tie().unwrap_or(false),
        gap: gap.as_ref().map(Value::of_dyadic),
        gap_power: gap.as_ref().and_then(Dyadic::power_of_two),
    }
}

/// The code of a value that the format has.
fn has(x: Exact, format: &Format) -> Option<u64> {
    if x.is_nan() {
        return None;
    }
    let result = project(x, format, &format.default_projection());
    let off = Flags::INEXACT | Flags::INVALID;
    (result.flags & off).is_empty().then_some(result.value)
}

/// An exact value and what it raises by itself.
pub(super) struct ExactOperand {
    pub(super) x: Exact,
    pub(super) flags: Flags,
}

impl ExactOperand {
    /// Rounds.
    fn outcome(&self, to: &Format, projection: &Projection) -> RoundingOutcome {
        let result = project_with(self.x, to, projection, FlagPolicy::default_for([to]));
        self.became(to, projection, smallfloat::Rounded { flags: result.flags | self.flags, ..result })
    }

    /// What it was rounded to.
    pub(super) fn became(
        &self,
        to: &Format,
        projection: &Projection,
        result: smallfloat::Rounded<u64>,
    ) -> RoundingOutcome {
        let datum = to.decode(result.value);
        let difference = || Dyadic::of_datum(datum)?.minus(&Dyadic::of(self.x)?);
        let error = difference();
        let relative = || error.as_ref()?.magnitude().ratio(&Dyadic::of(self.x)?.magnitude());
        // Of a value that was cut off, the error is known to 128 bits and no more.
        let cut = matches!(self.x, Exact::Finite { sticky: true, .. });
        let shown = error.as_ref().map(|error| {
            let value = Value::of_dyadic(error);
            if cut { rough(value) } else { value }
        });
        RoundingOutcome {
            mode: projection.rounding.name(),
            code: number::code(to, result.value),
            flags: result.flags.to_string(),
            flags_in_words: describe::flags(result.flags),
            error: shown,
            relative: relative(),
        }
    }

    /// The results for all words of N bits: they grow with the word, so that one bisection finds
    /// where they change.
    fn stochastic(
        &self,
        to: &Format,
        projection: &Projection,
        mode: &impl Fn(RandomBits) -> Rounding,
        bits: u32,
    ) -> Result<StochasticOutcomes, ExplorerError> {
        let with =
            |word| Ok::<_, ExplorerError>(projection.with_rounding(mode(RandomBits::new(bits, word)?)));
        let code = |word| Ok::<_, ExplorerError>(project(self.x, to, &with(word)?).value);
        let last = (1_u64 << bits) - 1;
        let lowest = code(0)?;
        // The first word whose result is another one.
        let (mut same, mut other) = (0, last + 1);
        if code(last)? != lowest {
            other = last;
            while other - same > 1 {
                let middle = same + (other - same) / 2;
                if code(middle)? == lowest { same = middle } else { other = middle }
            }
        }
        let mut results = vec![Chance { words: other, first: 0, outcome: self.outcome(to, &with(0)?) }];
        if other <= last {
            let outcome = self.outcome(to, &with(other)?);
            results.push(Chance { words: last + 1 - other, first: other, outcome });
        }
        Ok(StochasticOutcomes { mode: with(0)?.rounding.name(), bits, results })
    }
}

/// A value that is not known to its last bit.
pub(super) fn rough(value: Value) -> Value {
    let marked = value.decimal.starts_with('≈') || value.decimal == "0";
    let decimal = if marked { value.decimal } else { format!("≈{}", value.decimal) };
    Value { exact: None, decimal }
}
