//! Formats side by side: cards, how many values each binade has, and where one number falls in
//! each.

use serde::{Deserialize, Serialize};
use smallfloat::{Exact, FlagPolicy, Flags, Format, project_with};

use crate::explorer::card::Card;
use crate::explorer::choice::{Reading, Typed};
use crate::explorer::error::ExplorerError;
use crate::explorer::rounding::RoundingOutcome;
use crate::explorer::{card, format, rounding};

/// The most formats at once.
pub const MOST_FORMATS: usize = 4;

/// Formats to compare.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// One to four names.
    pub formats: Vec<String>,
    /// A number to be rounded into each; a code is one of the first format.
    #[serde(default)]
    pub text: Option<String>,
}

/// Formats side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FormatComparison {
    /// The number as it was read.
    pub reading: Option<Reading>,
    /// The formats in the order they were given.
    pub formats: Vec<ComparedFormat>,
}

/// One of the formats.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedFormat {
    /// Everything that follows from it.
    pub card: Card,
    /// How densely its positive values lie, from the lowest binade to the highest.
    pub density: Vec<Run>,
    /// Where the number falls under the format's default preset.
    pub outcome: Option<RoundingOutcome>,
}

/// Binades 2^e ≤ x < 2^(e+1) with the same number of values.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Run {
    /// The first e.
    pub first: i32,
    /// The last e.
    pub last: i32,
    /// log2 of the number of values in each.
    pub bits: f64,
}

/// Formats side by side.
pub(super) fn compare(request: &CompareRequest) -> Result<FormatComparison, ExplorerError> {
    let formats = some_formats(&request.formats)?;
    let text = request.text.as_deref().filter(|text| !text.trim().is_empty());
    let typed = text.map(|text| Typed::parse(text, &formats[0])).transpose()?;
    let x = typed.map(|typed| typed.exact(&formats[0]));
    Ok(FormatComparison {
        reading: typed.map(|typed| typed.reading(&formats[0])),
        formats: formats
            .iter()
            .map(|format| ComparedFormat {
                card: card::card(format),
                density: density(format),
                outcome: x.map(|x| outcome(x, format)),
            })
            .collect(),
    })
}

/// One to four formats by name.
pub(super) fn some_formats(names: &[String]) -> Result<Vec<Format>, ExplorerError> {
    if names.is_empty() || names.len() > MOST_FORMATS {
        return Err(ExplorerError::Count {
            what: "formats",
            given: names.len(),
            least: 1,
            most: MOST_FORMATS,
        });
    }
    names.iter().map(|name| format(name)).collect()
}

fn outcome(x: Exact, format: &Format) -> RoundingOutcome {
    let projection = format.default_projection();
    let result = project_with(x, format, &projection, FlagPolicy::default_for([format]));
    rounding::ExactOperand { x, flags: Flags::NONE }.became(format, &projection, result)
}

/// How many values each binade has.
fn density(format: &Format) -> Vec<Run> {
    let counts = if format.is_wide() { by_binade(format) } else { by_enumeration(format) };
    let mut runs: Vec<Run> = Vec::new();
    for (exponent, bits) in counts {
        match runs.last_mut() {
            Some(run) if run.last + 1 == exponent && run.bits.total_cmp(&bits).is_eq() => run.last = exponent,
            _ => runs.push(Run { first: exponent, last: exponent, bits }),
        }
    }
    runs
}

/// Counts the positive values of each binade.
fn by_enumeration(format: &Format) -> Vec<(i32, f64)> {
    let top = format.max_code() >> u32::from(format.is_signed());
    let mut counts: Vec<(i32, u32)> = Vec::new();
    for datum in (0..=top).map(|code| format.decode(code)) {
        if !datum.is_finite() || datum.is_zero() {
            continue;
        }
        let exponent = datum.exponent_of_leading_bit();
        match counts.last_mut() {
            Some((last, count)) if *last == exponent => *count += 1,
            _ => counts.push((exponent, 1)),
        }
    }
    counts.into_iter().map(|(exponent, count)| (exponent, f64::from(count).log2())).collect()
}

/// Counts the positive values of each binade of a format with too many codes to decode: those of a
/// binade follow each other from a power of two on.
#[expect(clippy::cast_precision_loss, reason = "a picture needs less")]
fn by_binade(format: &Format) -> Vec<(i32, f64)> {
    let normal = 1 << format.trailing_bits();
    let last = format.encode(format.max_finite()).expect("the largest value has a code");
    let mut counts: Vec<(i32, u64)> = Vec::new();
    let mut low = 1;
    while low <= last {
        let above = if low < normal { 2 * low } else { low + normal };
        let (datum, codes) = (format.decode(low), above.min(last + 1) - low);
        let exponent = datum.exponent_of_leading_bit();
        match counts.last_mut() {
            _ if datum.is_zero() => {}
            Some((previous, count)) if *previous == exponent => *count += codes,
            _ => counts.push((exponent, codes)),
        }
        low = above;
    }
    counts.into_iter().map(|(exponent, count)| (exponent, (count as f64).log2())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats of few codes, of which the lowest binade is short or missing, some of them flushed.
    #[test]
    fn binades_count_what_enumeration_counts() {
        for name in [
            "e4m3fn",
            "e5m2",
            "cfloat8_1_4_3:bias=7",
            "uhp",
            "binary8p1ue",
            "binary8p8uf",
            "minifloat:k=8,p=4,bias=7,subnormals=none",
            "minifloat:k=8,p=1,bias=7,subnormals=none",
        ] {
            let format: Format = name.parse().expect("a format");
            assert_eq!(by_binade(&format), by_enumeration(&format), "{name}");
        }
    }
}
