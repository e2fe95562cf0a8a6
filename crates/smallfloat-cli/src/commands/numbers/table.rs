//! `smallfloat table`: all codes of a format and what they mean.

use std::io::Write as _;

use anyhow::{Result, bail};
use smallfloat::Format;

use crate::arguments::operands;
use crate::commands::numbers::lists;
use crate::render::output::Output;
use crate::render::{json, output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat table e4m3fn
  smallfloat table 'Binary{8, 3, Signed, Extended}' --csv
  smallfloat table cfloat8_1_4_3:bias=7 --json

The columns of --csv are code,exact,value,class: `exact` is NaN, Inf, -Inf, 0, -0 or
[-]<odd integer>p<exponent of two>; `value` the shortest decimal that reads back as the
same f64, 448 for the largest of e4m3fn, and as in `exact` where f64 has no such value;
`class` one of nan infinite zero subnormal normal.";

/// List all codes of a format with their exact values.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The format, of at most 16 bits, or a list of values such as nf4
    format: String,

    /// Print lines of comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Print a JSON array with one object per code
    #[arg(long)]
    json: bool,
}

/// Formats up to this width get a table with rules; wider ones are printed as they come.
const MAX_RULED_WIDTH: u32 = 10;

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    if let Some(codebook) = lists::find(&args.format) {
        return lists::table(codebook, args.csv, args.json, out);
    }
    let format = operands::format(&args.format)?;
    if format.is_wide() {
        bail!(
            "{format} has 2^{} codes, `table` lists formats of at most 16 bits; `smallfloat show {format} code:0x1` \
             explains one code",
            format.width()
        );
    }
    if args.csv {
        csv(&format, out)
    } else if args.json {
        json(&format, out)
    } else if format.width() <= MAX_RULED_WIDTH {
        ruled(&format, out)
    } else {
        streamed(&format, out)
    }
}

fn csv(format: &Format, out: &mut Output) -> Result<()> {
    writeln!(out, "code,exact,value,class")?;
    for code in 0..=format.max_code() {
        let (hex, exact) = (words::code(format, code), format.decode(code));
        writeln!(out, "{hex},{exact},{},{}", format.decode_text(code), format.classify(code))?;
    }
    Ok(())
}

fn json(format: &Format, out: &mut Output) -> Result<()> {
    let mut start = "[\n  ";
    for code in 0..=format.max_code() {
        write!(out, "{start}{}", json::code(format, code))?;
        start = ",\n  ";
    }
    writeln!(out, "\n]")?;
    Ok(())
}

const HEADER: [&str; 5] = ["code", "bits", "exact", "value", "class"];

fn row(format: &Format, code: u64) -> [String; 5] {
    [
        words::code(format, code),
        words::bits(format, code),
        format.decode(code).to_string(),
        words::value(format, code),
        format.classify(code).to_string(),
    ]
}

fn ruled(format: &Format, out: &mut Output) -> Result<()> {
    let mut table = output::table(&HEADER, &[2, 3]);
    table.add_rows((0..=format.max_code()).map(|code| row(format, code)));
    out.rows(&table)?;
    Ok(())
}

fn streamed(format: &Format, out: &mut Output) -> Result<()> {
    let bits = format.width() as usize + 2;
    let line = |[code, bits_of, exact, value, class]: [&str; 5]| {
        format!("{code:<7} {bits_of:<bits$}  {exact:>16}  {value:>26}  {class}")
    };
    writeln!(out, "{}", out.bold(line(HEADER)))?;
    for code in 0..=format.max_code() {
        let row = row(format, code);
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}
