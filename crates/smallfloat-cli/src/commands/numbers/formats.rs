//! `smallfloat formats`: the catalogue, or everything about the formats named.

use std::io::Write as _;

use anyhow::Result;
use comfy_table::ColumnConstraint;
use serde_json::{Value, json};
use smallfloat::formats::{CATALOGUE, Named};
use smallfloat::{Datum, Family, Format, Preset};

use crate::arguments::operands;
use crate::render::output::Output;
use crate::render::{json as js, output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat formats                             the catalogue
  smallfloat formats e5m2 cfloat8_1_4_3:bias=11  everything about two formats
  smallfloat formats binary8p3se --json          the same for programs";

/// List the formats, or tell everything about the ones named.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Formats to tell everything about, with or without a bias
    #[arg(value_name = "FORMAT")]
    formats: Vec<String>,

    /// Print a JSON array with everything that follows from each format
    #[arg(long)]
    json: bool,
}

/// The groups of the catalogue, in the order in which they are shown.
const GROUPS: [(&str, Family); 3] = [
    ("Tesla's configurable formats, at the bias that equals IEEE 754's", Family::Tesla),
    ("OCP, LLVM, XLA", Family::MlDtypes),
    ("IEEE 754 and bfloat16", Family::Ieee),
];

/// The families that are built from parameters: spelling, meaning, example.
const FAMILIES: [(&str, &str, &str); 3] = [
    (
        "binary<K>p<P><s|u><e|f>",
        "P3109: K = 3..16, signed or unsigned, extended or finite",
        "binary8p3se, or Binary{8, 3, Signed, Extended}",
    ),
    ("ieee:k=<K>,p=<P>", "after IEEE 754's model: K = 4..16, P = 2..K−2", "ieee:k=6,p=3"),
    (
        "minifloat:<key>=<value>,…",
        "any: k, p, bias; if wanted signed, specials, subnormals",
        "minifloat:k=8,p=4,bias=7,specials=nan-allones",
    ),
];

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    if args.formats.is_empty() {
        return if args.json { catalogue_json(out) } else { catalogue(out) };
    }
    let formats = args.formats.iter().map(|name| Ok(operands::format(name)?)).collect::<Result<Vec<_>>>()?;
    if args.json {
        return print_json(out, formats.iter().map(|format| describe(format, words::source(format))));
    }
    for (at, format) in formats.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        card(format, out)?;
    }
    Ok(())
}

fn catalogue(out: &mut Output) -> Result<()> {
    let header =
        ["name", "K", "P", "E", "bias", "max", "min\nnormal", "min\npositive", "besides\nnumbers", "source"];
    let mut table = output::table(&header, &[1, 2, 3, 4, 5, 6, 7]);
    let source = header.len() - 1;
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if at == 8 { (1, 1) } else { (0, 0) });
        if at != source {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    // One table, so that the columns of all groups line up; the group's title stands above its
    // first row.
    let mut titles = Vec::new();
    for (title, family) in GROUPS {
        for (at, row) in CATALOGUE.iter().filter(|row| row.format.family() == family).enumerate() {
            titles.push((at == 0).then_some(title));
            table.add_row(cells(row));
        }
    }
    out.grouped_rows(&table, &titles)?;
    writeln!(out)?;
    writeln!(out, "{}", out.bold("Families, built from parameters"))?;
    for (name, meaning, example) in FAMILIES {
        writeln!(out, "{name:<28}{meaning}")?;
        writeln!(out, "{:<28}for example {example}", "")?;
    }
    writeln!(out)?;
    out.write_all(FOOTNOTES.as_bytes())?;
    Ok(())
}

const FOOTNOTES: &str = "\
K is the width, P the precision with the hidden bit, E the width of the exponent field.
Tesla's formats read subnormals as 2^−bias × 0.m (uhp flushes them); for IEEE 754's reading write
cfloat8_1_4_3:bias=7,subnormals=gradual. `smallfloat formats NAME` tells everything about a format.
";

fn cells(row: &Named) -> Vec<String> {
    let format = &row.format;
    vec![
        row.name.into(),
        format.width().to_string(),
        format.precision().to_string(),
        format.exponent_bits().to_string(),
        words::bias(format),
        brief(format, format.max_finite()),
        words::power(format.min_normal()),
        words::power(format.min_positive()),
        words::specials(format),
        row.source.into(),
    ]
}

fn brief(format: &Format, datum: Datum) -> String {
    format.encode(datum).map_or_else(|| datum.to_string(), |code| words::brief(format, code))
}

fn catalogue_json(out: &mut Output) -> Result<()> {
    print_json(out, CATALOGUE.iter().map(|row| describe(&row.format, row.source)))
}

fn print_json(out: &mut Output, formats: impl Iterator<Item = Value>) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &formats.collect::<Value>())?;
    writeln!(out)?;
    Ok(())
}

/// Everything that follows from a format.
fn describe(format: &Format, source: &str) -> Value {
    let row = CATALOGUE.iter().find(|row| row.format == *format);
    let (lowest, highest) = format.exponent_range();
    json!({
        "name": format.to_string(),
        "aliases": row.map_or(&[] as &[&str], |row| row.aliases),
        "source": source,
        "width": format.width(),
        "precision": format.precision(),
        "exponent_bits": format.exponent_bits(),
        "signed": format.is_signed(),
        "bias": format.bias(),
        "bias_range": format.bias_range().map(|(lo, hi)| [lo, hi]),
        "specials": format.specials().name(),
        "subnormals": format.subnormals().name(),
        "max": js::datum(format.max_finite()),
        "min": js::datum(format.min_finite()),
        "min_normal": js::datum(format.min_normal()),
        "max_subnormal": format.max_subnormal().map(js::datum),
        "min_positive": js::datum(format.min_positive()),
        "exponent_range": [lowest, highest],
        "finite_codes": format.finite_codes(),
        "finite_values": format.finite_values(),
        "nan_codes": format.nan_codes(),
        "has_zero": format.has_zero(),
        "has_negative_zero": format.has_negative_zero(),
        "has_infinity": format.has_infinity(),
        "has_nan": format.has_nan(),
        "has_subnormals": format.has_subnormals(),
        "default_preset": Preset::default_for(format).name(),
    })
}

/// Everything about one format, for people.
fn card(format: &Format, out: &mut Output) -> Result<()> {
    let (lowest, highest) = format.exponent_range();
    let count = |yes: bool, text: &str| if yes { text.to_owned() } else { format!("no {text}") };
    let layout = match (format.is_signed(), format.exponent_bits(), format.trailing_bits()) {
        (true, e, t) => {
            format!("1 sign, {e} exponent, {t} significand bits; precision {}", format.precision())
        }
        (false, e, t) => {
            format!("no sign, {e} exponent, {t} significand bits; precision {}", format.precision())
        }
    };
    let bias = match format.bias_range() {
        Some((lo, hi)) => format!("{} of {lo}..{hi}", format.bias()),
        None => format.bias().to_string(),
    };
    let lines = [
        ("width", format!("{} bits, {}", format.width(), words::signedness(format))),
        ("layout", layout),
        ("bias", bias),
        ("specials", words::specials_rule(format).into()),
        ("subnormals", words::subnormals_rule(format)),
        ("largest", both(format, format.max_finite())),
        ("smallest", both(format, format.min_finite())),
        ("min normal", both(format, format.min_normal())),
        ("max subnormal", format.max_subnormal().map_or_else(|| "none".into(), |datum| both(format, datum))),
        ("min positive", both(format, format.min_positive())),
        ("exponents", format!("{lowest} to {highest}")),
        (
            "counts",
            format!(
                "{} finite values in {} codes; NaN codes: {}",
                format.finite_values(),
                format.finite_codes(),
                format.nan_codes()
            ),
        ),
        (
            "has",
            [
                count(format.has_negative_zero(), "−0"),
                count(format.has_infinity(), "infinity"),
                count(format.has_nan(), "NaN"),
                count(format.has_subnormals(), "subnormals"),
            ]
            .join(", "),
        ),
        ("preset", Preset::default_for(format).name().into()),
        ("source", words::source(format).into()),
    ];
    writeln!(out, "{}", out.bold(format))?;
    for (name, text) in lines {
        writeln!(out, "  {name:<15}{text}")?;
    }
    Ok(())
}

/// A value exactly and in decimal.
fn both(format: &Format, datum: Datum) -> String {
    match format.encode(datum) {
        Some(code) if datum.is_zero() => words::value(format, code),
        Some(code) => {
            let value = words::value(format, code);
            format!("{value:<25}{:<24}code {}", datum.to_string(), words::code(format, code))
        }
        None => datum.to_string(),
    }
}
