//! `smallfloat show`: codes explained, and values on their way to a code.

use std::io::Write as _;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use smallfloat::text::Literal;
use smallfloat::{Exact, FlagPolicy, Flags, Format, Projection, Rounded, project_with};

use crate::arguments::input::InputLine;
use crate::arguments::rounding::ProjectionArgs;
use crate::arguments::{input, operands};
use crate::commands::numbers::lists;
use crate::render::output::Output;
use crate::render::{json as js, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat show cfloat8_1_4_3:bias=7 1.1 -1/3 1e9 nan
  smallfloat show e4m3fn code:0x39 '#39' code:0b0_1111_110
  smallfloat show e4m3fn --hex 39 7e
  smallfloat show binary8p3se 0.3 --rounding toward-zero
  smallfloat show e5m2 1.1 --rounding stochastic-a --seed 1
  smallfloat show nf4 0.3 '#7'

A value is rounded under the format's default preset, or as the options say, and it is told
where it fell. A code is # and hexadecimal digits (quoted: shells take # for a comment), or
code: and 0x… or 0b…, with _ between digits if you like.";

/// Explain codes, or where values fall: exact value, neighbours.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The format, or list of values (nf4, int8)
    format: String,

    /// Values (1.1, -3p-4, 1/3, inf) and codes (code:0x39, '#39'); `-` reads them from standard
    /// input
    #[arg(value_name = "OPERAND", required = true)]
    items: Vec<String>,

    /// All operands are codes in hexadecimal
    #[arg(long)]
    hex: bool,

    /// Print a JSON array with one object per item
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    projection: ProjectionArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    if let Some(codebook) = lists::find(&args.format) {
        lists::check_rounding(codebook, &args.projection)?;
        return lists::show(codebook, &args.items, args.hex, args.json, out);
    }
    let format = operands::format(&args.format)?;
    args.projection.check_seed()?;
    let mut objects = Vec::new();
    input::for_each(&args.items, out, |datum, out| {
        let item = Item::parse(&datum, args, &format).with_context(|| datum.place.to_string())?;
        if args.json {
            objects.push(object(args, &format, datum.text, &item));
            return Ok(());
        }
        if datum.index > 0 {
            writeln!(out)?;
        }
        match item {
            Item::Code(code) => explain_code(&format, code, out),
            Item::Value(fall) => explain_value(args, &format, datum.text, &fall, out),
        }
    })?;
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &Value::Array(objects))?;
        writeln!(out)?;
    }
    Ok(())
}

enum Item {
    Code(u64),
    Value(Fall),
}

/// How a value fell.
struct Fall {
    x: Exact,
    projection: Projection,
    result: Rounded<u64>,
}

impl Fall {
    fn is_exact(&self) -> bool {
        (self.result.flags & (Flags::INEXACT | Flags::INVALID)).is_empty()
    }
}

impl Item {
    fn parse(datum: &InputLine<'_>, args: &Args, format: &Format) -> Result<Self> {
        Ok(match operands::literal(datum.text, args.hex)? {
            Literal::Code(code) => Self::Code(format.check_code(code)?),
            Literal::Value(x) => {
                let projection = projection(args, format, datum.index)?;
                Self::Value(Fall {
                    x,
                    projection,
                    result: project_with(x, format, &projection, FlagPolicy::default_for([format])),
                })
            }
        })
    }
}

fn projection(args: &Args, format: &Format, element: u64) -> Result<Projection> {
    let projection = args.projection.projection(format);
    if !args.projection.is_stochastic() {
        return Ok(projection);
    }
    let bits =
        args.projection.bits_of(args.projection.generator(), element).context("--random-bits with --seed")?;
    Ok(projection.with_rounding(projection.rounding.with_random_bits(bits)))
}

fn neighbours(format: &Format, x: Exact) -> [(&'static str, Option<u64>); 2] {
    [("below", format.next_below(x)), ("above", format.next_above(x))]
}

fn line(out: &mut Output, name: &str, text: &str) -> Result<()> {
    writeln!(out, "  {name:<10}{text}")?;
    Ok(())
}

fn explain_code(format: &Format, code: u64, out: &mut Output) -> Result<()> {
    writeln!(out, "{} {}", out.bold(format), out.bold(words::code(format, code)))?;
    details(format, code, out)?;
    around(format, format.decode(code).into(), None, out)
}

/// Fields, class and value of a code.
fn details(format: &Format, code: u64, out: &mut Output) -> Result<()> {
    let (exponent, significand) = words::fields(format, code);
    let sign = match (format.is_signed(), format.sign_bit(code)) {
        (false, _) => "no sign",
        (true, false) => "sign +",
        (true, true) => "sign −",
    };
    let significand = match format.trailing_bits() {
        0 => String::new(),
        _ => format!(", significand field {significand}"),
    };
    let fields = format!("{}   {sign}, exponent field {exponent}{significand}", words::bits(format, code));
    line(out, "fields", &fields)?;
    line(out, "class", &format.classify(code).to_string())?;
    let datum = format.decode(code);
    let formula = words::formula(format, code).map(|formula| format!(" = {formula}")).unwrap_or_default();
    line(out, "exact", &format!("{datum}{formula}"))?;
    if !datum.is_finite() || datum.is_zero() {
        return Ok(());
    }
    let (f64, shortest) = (datum.to_f64().map(words::number), format.shortest(code).to_string());
    line(out, "f64", f64.as_deref().unwrap_or("has no such value"))?;
    if f64.as_deref() != Some(&*shortest) {
        line(out, "shortest", &format!("{shortest} rounds to this code"))?;
    }
    Ok(())
}

/// The neighbours of a value; an arrow marks the one that was `chosen`.
fn around(format: &Format, x: Exact, chosen: Option<u64>, out: &mut Output) -> Result<()> {
    if matches!(x, Exact::Nan { .. }) {
        return Ok(());
    }
    for (side, code) in neighbours(format, x) {
        let text = match code {
            Some(code) => {
                let mark = if chosen == Some(code) { "   <- chosen" } else { "" };
                let (hex, exact) = (words::code(format, code), format.decode(code).to_string());
                format!("{hex}   {exact:<12} {}{mark}", words::value(format, code))
            }
            None => "nothing".into(),
        };
        line(out, side, text.trim_end())?;
    }
    Ok(())
}

fn explain_value(args: &Args, format: &Format, text: &str, fall: &Fall, out: &mut Output) -> Result<()> {
    let Rounded { value: code, flags } = fall.result;
    let preset = args.projection.preset_for(format).name();
    let (rounding, saturation) = (fall.projection.rounding.name(), fall.projection.saturation.name());
    writeln!(
        out,
        "{} {} {} {}",
        out.bold(text),
        out.bold("->"),
        out.bold(format),
        out.bold(words::code(format, code))
    )?;
    line(out, "rounding", &format!("{rounding}, {saturation}, preset {preset}"))?;
    if let Some(bits) = fall.projection.rounding.random_bits() {
        let seed = args.projection.generator().seed;
        line(out, "word", &format!("{:#x} of {} bits, from seed {seed}", bits.word(), bits.count()))?;
    }
    line(out, "flags", &format!("{flags} ({})", words::flags(flags)))?;
    details(format, code, out)?;
    if fall.is_exact() {
        line(out, "fell", "exactly on this value")?;
        around(format, fall.x, None, out)
    } else {
        around(format, fall.x, Some(code), out)
    }
}

fn object(args: &Args, format: &Format, input: &str, item: &Item) -> Value {
    let (code, x, fall) = match item {
        Item::Code(code) => (*code, Exact::from(format.decode(*code)), None),
        Item::Value(fall) => (fall.result.value, fall.x, Some(fall)),
    };
    let (exponent, significand) = words::fields(format, code);
    let [(_, below), (_, above)] = neighbours(format, x);
    let mut object = json!({
        "input": input,
        "format": format.to_string(),
        "bits": words::bits(format, code),
        "sign": format.is_signed().then(|| u8::from(format.sign_bit(code))),
        "exponent_field": exponent,
        "significand_field": significand,
    });
    let Some(members) = object.as_object_mut() else { return object };
    if let Some(code) = js::code(format, code).as_object() {
        members.extend(code.clone());
    }
    if let Some(fall) = fall {
        members.insert("rounding".into(), fall.projection.rounding.name().into());
        if let Some(bits) = fall.projection.rounding.random_bits() {
            members.insert("seed".into(), args.projection.generator().seed.into());
            members.insert("random_bits".into(), bits.count().into());
        }
        members.insert("saturation".into(), fall.projection.saturation.name().into());
        members.insert("flags".into(), fall.result.flags.to_string().into());
        members.insert("exactly".into(), fall.is_exact().into());
    }
    members.insert("below".into(), below.map_or(Value::Null, |code| js::code(format, code)));
    members.insert("above".into(), above.map_or(Value::Null, |code| js::code(format, code)));
    object
}
