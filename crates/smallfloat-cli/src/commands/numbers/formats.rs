//! `smallfloat formats`: the catalogue, everything about a format, several side by side, families.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use comfy_table::ColumnConstraint;
use serde_json::{Value, json};
use smallfloat::formats::CATALOGUE;
use smallfloat::{Codebook, Datum, Family, Format, Preset, Subnormals, formats};

use crate::arguments::operands;
use crate::commands::numbers::lists;
use crate::render::families::{FAMILIES, FormatFamily};
use crate::render::output::Output;
use crate::render::{json as js, output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat formats                             the catalogue
  smallfloat formats e5m2                        everything about a format
  smallfloat formats e4m3fn e5m2 binary8p3se     formats side by side
  smallfloat formats P3109                       a family: its names and members
  smallfloat formats P3109 --csv                 all of its members
  smallfloat formats binary8p3se --json          everything for programs

In --csv what a format lacks is empty; fields are quoted as RFC 4180 has it.";

/// List formats, tell everything about one, or compare several.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Formats to tell about, with or without a bias, or families: P3109, ieee, minifloat
    #[arg(value_name = "FORMAT")]
    formats: Vec<String>,

    /// Print a JSON array with everything that follows from each format
    #[arg(long)]
    json: bool,

    /// Print lines of comma-separated values, a header first
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The groups of the catalogue, in the order in which they are shown.
const GROUPS: [(&str, Family); 4] = [
    ("Tesla's configurable formats, at the bias that equals IEEE 754's", Family::Tesla),
    ("OCP, LLVM, XLA", Family::MlDtypes),
    ("NVIDIA, oneDNN", Family::Minifloat),
    ("IEEE 754 and bfloat16", Family::Ieee),
];

/// What a name stands for.
enum Named {
    One(Box<Format>),
    List(Codebook),
    Family(&'static FormatFamily),
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    if args.formats.is_empty() && !args.json && !args.csv {
        return catalogue(out);
    }
    let named = args.formats.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?;
    if args.json || args.csv {
        if let (true, Some(Named::List(codebook))) =
            (args.csv, named.iter().find(|named| matches!(named, Named::List(_))))
        {
            bail!("{codebook} is a list of values: `smallfloat table {codebook} --csv` has them");
        }
        let rows = described(&named)?;
        return if args.json { json(&rows, out) } else { csv(&rows, out) };
    }
    let mut formats = Vec::new();
    for name in &named {
        match name {
            Named::Family(family) => {
                tell(family, out)?;
                writeln!(out)?;
            }
            Named::One(format) => formats.push(**format),
            Named::List(codebook) => lists::card(*codebook, out)?,
        }
    }
    match formats.as_slice() {
        [] => Ok(()),
        [format] => card(format, out),
        many => side_by_side(many, out),
    }
}

fn find(name: &str) -> Result<Named> {
    Ok(match (FormatFamily::find(name), lists::find(name)) {
        (Some(family), _) => Named::Family(family),
        (None, Some(codebook)) => Named::List(codebook),
        (None, None) => Named::One(Box::new(operands::format(name)?)),
    })
}

/// Everything about the formats named, a family's members included; of none, about the catalogue's.
fn described(named: &[Named]) -> Result<Vec<Value>> {
    if named.is_empty() {
        return Ok(CATALOGUE.iter().map(|row| describe(&row.format, row.source)).collect());
    }
    let (mut formats, mut lists) = (Vec::new(), Vec::new());
    for name in named {
        match name {
            Named::List(codebook) => lists.push(lists::describe(*codebook)),
            Named::One(format) => formats.push(**format),
            Named::Family(family) => formats.extend(family.members().with_context(|| {
                let (name, example) = (family.name(), family.first_example());
                format!("{name} has too many formats to list; name some, such as {example}")
            })?),
        }
    }
    let described = formats.iter().map(|format| describe(format, words::source(format)));
    Ok(described.chain(lists).collect())
}

/// What a family is, and how to see its members.
fn tell(family: &FormatFamily, out: &mut Output) -> Result<()> {
    let name = family.name();
    let (count, list) = match family.members() {
        Some(members) => (
            format!(" with {} formats of up to 16 bits", members.len()),
            format!("smallfloat formats {name} --csv, or --json"),
        ),
        None => (String::new(), "any parameters make one, too many to list".into()),
    };
    writeln!(out, "{} is a family{count}", out.bold(name))?;
    for (what, text) in [
        ("members", family.meaning),
        ("spelling", family.spelling),
        ("example", family.example),
        ("one of them", &format!("smallfloat formats {}", family.first_example())),
        ("all of them", &list),
    ] {
        writeln!(out, "  {what:<15}{text}")?;
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
    for family in FAMILIES {
        writeln!(out, "{:<28}{}", family.spelling, family.meaning)?;
        writeln!(out, "{:<28}for example {}", "", family.example)?;
    }
    writeln!(out)?;
    lists::catalogue(out)?;
    writeln!(out)?;
    out.write_all(FOOTNOTES.as_bytes())?;
    Ok(())
}

const FOOTNOTES: &str = "\
K is the width, P the precision with the hidden bit, E the width of the exponent field.
Tesla's formats read subnormals as 2^−bias × 0.m (uhp flushes them); for IEEE 754's reading write
cfloat8_1_4_3:bias=7,subnormals=gradual. `smallfloat formats NAME` tells everything about a format.
";

fn cells(row: &formats::Named) -> Vec<String> {
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

fn json(rows: &[Value], out: &mut Output) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, rows)?;
    writeln!(out)?;
    Ok(())
}

/// The columns of `--csv`, and where they stand in [`describe`]'s object.
const COLUMNS: [(&str, &str); 30] = [
    ("name", "/name"),
    ("source", "/source"),
    ("width", "/width"),
    ("precision", "/precision"),
    ("exponent_bits", "/exponent_bits"),
    ("signed", "/signed"),
    ("bias", "/bias"),
    ("least_bias", "/bias_range/0"),
    ("largest_bias", "/bias_range/1"),
    ("specials", "/specials"),
    ("subnormals", "/subnormals"),
    ("max", "/max/f64"),
    ("max_exact", "/max/exact"),
    ("min_normal", "/min_normal/f64"),
    ("min_normal_exact", "/min_normal/exact"),
    ("max_subnormal", "/max_subnormal/f64"),
    ("max_subnormal_exact", "/max_subnormal/exact"),
    ("min_positive", "/min_positive/f64"),
    ("min_positive_exact", "/min_positive/exact"),
    ("least_exponent", "/exponent_range/0"),
    ("largest_exponent", "/exponent_range/1"),
    ("finite_codes", "/finite_codes"),
    ("finite_values", "/finite_values"),
    ("nan_codes", "/nan_codes"),
    ("has_zero", "/has_zero"),
    ("has_negative_zero", "/has_negative_zero"),
    ("has_infinity", "/has_infinity"),
    ("has_nan", "/has_nan"),
    ("has_subnormals", "/has_subnormals"),
    ("default_preset", "/default_preset"),
];

/// Lines of comma-separated values, quoted as RFC 4180 has it; what a format lacks is empty.
fn csv(rows: &[Value], out: &mut Output) -> Result<()> {
    writeln!(out, "{}", COLUMNS.map(|(name, _)| name).join(","))?;
    for row in rows {
        let line = COLUMNS.map(|(_, at)| match row.pointer(at) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => quoted(text),
            Some(other) => other.to_string(),
        });
        writeln!(out, "{}", line.join(","))?;
    }
    Ok(())
}

/// A field of RFC 4180.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
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

/// So many formats stand beside each other in one table.
const COLUMNS_OF_FORMATS: usize = 4;

/// Formats beside each other, a column each.
fn side_by_side(formats: &[Format], out: &mut Output) -> Result<()> {
    for (at, some) in formats.chunks(COLUMNS_OF_FORMATS).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let names: Vec<String> = some.iter().map(heading).collect();
        let header: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
        let mut table = output::table(&header, &[]);
        if let Some(names) = table.column_mut(0) {
            names.set_constraint(ColumnConstraint::ContentWidth);
        }
        let columns: Vec<_> = some.iter().map(beside).collect();
        for (row, (name, _)) in columns[0].iter().enumerate() {
            let cells = columns.iter().map(|column| column[row].1.clone());
            table.add_row([(*name).to_owned()].into_iter().chain(cells));
        }
        out.rows(&table)?;
    }
    Ok(())
}

/// A name in lines that a column holds.
fn heading(format: &Format) -> String {
    let name = format.to_string();
    if name.len() <= 17 { name } else { name.replace(':', ":\n").replace(',', ",\n") }
}

/// A format's column in a table of several.
fn beside(format: &Format) -> [(&'static str, String); 13] {
    let value = |datum: Datum| match (words::exact_decimal(datum), words::power(datum)) {
        (Some(digits), exact) => format!("{digits} = {exact}"),
        (None, exact) if datum.to_f64().is_none() => exact,
        (None, exact) => format!("{exact} ≈ {}", brief(format, datum).replace('≈', "")),
    };
    let projection = format.default_projection();
    let (rounding, saturation) = (projection.rounding.name(), projection.saturation.name());
    [
        ("bits", format!("{}, {}", format.width(), words::signedness(format))),
        (
            "sign + exp. + sig.",
            format!(
                "{} + {} + {}",
                u32::from(format.is_signed()),
                format.exponent_bits(),
                format.trailing_bits()
            ),
        ),
        ("bias", format.bias().to_string()),
        ("largest", value(format.max_finite())),
        ("least normal", value(format.min_normal())),
        ("least positive", value(format.min_positive())),
        ("precision", words::plural(format.precision().into(), "bit")),
        ("specials", words::specials(format)),
        ("NaN codes", format.nan_codes().to_string()),
        ("finite codes", format.finite_codes().to_string()),
        ("preset", Preset::default_for(format).name().into()),
        ("default projection", format!("{rounding}, {saturation}")),
        ("source", words::source(format).into()),
    ]
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
                count(format.has_subnormals() && format.subnormals() != Subnormals::Flush, "subnormals"),
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
