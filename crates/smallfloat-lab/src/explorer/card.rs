//! The catalogue, and everything that follows from a format.

use serde::Serialize;
use smallfloat::formats::CATALOGUE;
use smallfloat::{Codebook, Datum, Format, FormatSpec, Preset, Rounding, Saturation, Subnormals};

use crate::describe;
use crate::explorer::dyadic::Dyadic;
use crate::explorer::number::Value;

/// The formats, roundings and policies to choose from.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Catalogue {
    /// The named formats, Tesla's configurable ones at the bias of IEEE 754's.
    pub formats: Vec<CatalogueEntry>,
    /// The names of the lists of values, which are no formats.
    pub lists: Vec<&'static str>,
    /// The presets' names.
    pub presets: Vec<&'static str>,
    /// The saturation modes' names.
    pub saturations: Vec<&'static str>,
    /// The names of the rounding modes that need no random bits.
    pub roundings: Vec<&'static str>,
}

/// A named format.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CatalogueEntry {
    /// The full name.
    pub name: String,
    /// The family: `tesla`, `ml-dtypes`, `ieee`, `p3109`, `minifloat`.
    pub family: &'static str,
    /// The document that defines it.
    pub source: &'static str,
}

/// Everything that follows from a format.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Card {
    /// The name that parses back to it.
    pub name: String,
    /// The name without parameters, for formats of the catalogue.
    pub row: Option<&'static str>,
    /// The family of standards.
    pub family: &'static str,
    /// The document that defines it.
    pub source: &'static str,
    /// K.
    pub width: u32,
    /// P, hidden bit included.
    pub precision: u32,
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// The bias.
    pub bias: i32,
    /// The biases that it may have; none where the standard fixes it.
    pub bias_range: Option<(i32, i32)>,
    /// Whether it has a sign bit.
    pub signed: bool,
    /// Which codes are not numbers, by name.
    pub specials: &'static str,
    /// Which codes are not numbers, in words.
    pub specials_rule: &'static str,
    /// The reading of exponent field 0, by name.
    pub subnormals: &'static str,
    /// The reading of exponent field 0, in words.
    pub subnormals_rule: String,
    /// The readings that may be chosen.
    pub subnormals_choice: Vec<&'static str>,
    /// The largest finite value.
    pub max: Value,
    /// The smallest normal value.
    pub min_normal: Value,
    /// The smallest positive value.
    pub min_positive: Value,
    /// The largest subnormal value.
    pub max_subnormal: Option<Value>,
    /// ⌊log2⌋ of the smallest positive and of the largest value.
    pub binades: (i32, i32),
    /// log2 of largest / smallest positive value.
    pub range: f64,
    /// How many codes are finite numbers.
    pub finite_codes: u64,
    /// How many codes are NaN.
    pub nan_codes: u64,
    /// How many codes are infinities.
    pub infinite_codes: u64,
    /// What it has besides numbers and +0, in words.
    pub besides: String,
    /// The preset that holds where none is named.
    pub preset: &'static str,
    /// What was added to the name that was asked for.
    pub note: Option<String>,
}

/// What there is to choose from.
pub(super) fn catalogue() -> Catalogue {
    Catalogue {
        formats: CATALOGUE
            .iter()
            .map(|row| CatalogueEntry {
                name: row.format.to_string(),
                family: row.format.family().name(),
                source: row.source,
            })
            .collect(),
        lists: Codebook::ALL.iter().map(Codebook::name).collect(),
        presets: Preset::ALL.iter().copied().map(Preset::name).collect(),
        saturations: Saturation::ALL.iter().copied().map(Saturation::name).collect(),
        roundings: Rounding::DETERMINISTIC.iter().copied().map(Rounding::name).collect(),
    }
}

/// log2 of a positive value, as a picture needs it.
#[expect(clippy::cast_precision_loss, reason = "a picture needs less")]
pub(super) fn log2(datum: Datum) -> f64 {
    match datum {
        Datum::Finite { significand, exponent, .. } => (significand as f64).log2() + f64::from(exponent),
        _ => f64::NAN,
    }
}

/// Everything that follows from a format.
pub(super) fn card(format: &Format) -> Card {
    let (max, least) = (format.max_finite(), format.min_positive());
    let ratio = || Dyadic::of_datum(max)?.ratio(&Dyadic::of_datum(least)?);
    let name = format.to_string();
    let infinite_codes = if format.has_infinity() { 1 + u64::from(format.is_signed()) } else { 0 };
    Card {
        row: CATALOGUE.iter().find(|row| name.split(':').next() == Some(row.name)).map(|row| row.name),
        name,
        family: format.family().name(),
        source: describe::source(format),
        width: format.width(),
        precision: format.precision(),
        exponent_bits: format.exponent_bits(),
        bias: format.bias(),
        bias_range: format.bias_range(),
        signed: format.is_signed(),
        specials: format.specials().name(),
        specials_rule: describe::specials_rule(format),
        subnormals: format.subnormals().name(),
        subnormals_rule: describe::subnormals_rule(format),
        subnormals_choice: Subnormals::NAMED
            .iter()
            .filter(|(_, reading)| format.with_subnormals(*reading).is_ok())
            .map(|(name, _)| *name)
            .collect(),
        max: Value::of_datum(max),
        min_normal: Value::of_datum(format.min_normal()),
        min_positive: Value::of_datum(least),
        max_subnormal: format.max_subnormal().map(Value::of_datum),
        binades: (least.exponent_of_leading_bit(), max.exponent_of_leading_bit()),
        range: ratio().map_or_else(|| log2(max) - log2(least), f64::log2),
        finite_codes: format.finite_codes(),
        nan_codes: format.nan_codes(),
        infinite_codes,
        besides: describe::specials(format),
        preset: Preset::default_for(format).name(),
        note: None,
    }
}

/// Everything that follows from a format, with a note where its name has no bias.
pub(super) fn named(spec: &FormatSpec) -> Card {
    let format = spec.or_default_bias();
    let note = spec.bias().is_none().then(|| describe::default_bias(&format));
    Card { note, ..card(&format) }
}
