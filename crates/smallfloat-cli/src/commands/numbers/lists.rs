//! Lists of values (`nf4`, `int8`) in `formats`, `table` and `convert`, where formats have more to
//! say.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use smallfloat::formats::BINARY32;
use smallfloat::text::Literal;
use smallfloat::{Codebook, Exact, Format};

use crate::arguments::input::InputLine;
use crate::arguments::{input, operands};
use crate::render::output;
use crate::render::output::Output;

/// The list of values of this name.
pub(super) fn find(name: &str) -> Option<Codebook> {
    name.parse().ok()
}

fn code(codebook: Codebook, code: u32) -> String {
    format!("{code:#0width$x}", width = if codebook.width() > 4 { 4 } else { 3 })
}

/// The shortest decimal that is read as the same binary32 number.
fn value(codebook: Codebook, code: u32) -> String {
    BINARY32.decode_text(codebook.value(code).to_bits().into())
}

/// The lists of the catalogue.
pub(super) fn catalogue(out: &mut Output) -> Result<()> {
    writeln!(out, "{}", out.bold("Lists of values, without exponent and precision"))?;
    for &codebook in Codebook::ALL {
        writeln!(out, "{:<28}{} bits, {}", codebook.name(), codebook.width(), codebook.source())?;
    }
    Ok(())
}

/// What there is to say of a list.
pub(super) fn describe(codebook: Codebook) -> Value {
    let values: Vec<_> = (0..=codebook.max_code()).map(|code| codebook.value(code)).collect();
    json!({
        "name": codebook.name(),
        "source": codebook.source(),
        "width": codebook.width(),
        "values": values,
        "largest": codebook.largest(),
        "ties": codebook.ties().name(),
    })
}

/// Tells about a list.
pub(super) fn card(codebook: Codebook, out: &mut Output) -> Result<()> {
    writeln!(out, "{} is a list of values", out.bold(codebook.name()))?;
    let ends = [0, codebook.len() - 1].map(|rank| value(codebook, codebook.code_at(rank)));
    for (what, text) in [
        ("bits", codebook.width().to_string()),
        ("values", format!("{} from {} to {}", codebook.len(), ends[0], ends[1])),
        ("rounding", format!("to the nearest value, ties {}", codebook.ties().name())),
        ("source", codebook.source().to_owned()),
        ("all of them", format!("smallfloat table {codebook}")),
    ] {
        writeln!(out, "  {what:<15}{text}")?;
    }
    Ok(())
}

/// All codes and their values.
pub(super) fn table(codebook: Codebook, csv: bool, json: bool, out: &mut Output) -> Result<()> {
    let codes = 0..=codebook.max_code();
    let cells =
        |number: u32| [code(codebook, number), codebook.decode(number).to_string(), value(codebook, number)];
    if json {
        let rows: Vec<Value> = codes
            .map(|number| {
                let [code, exact, value] = cells(number);
                json!({ "code": code, "exact": exact, "value": value, "f64": codebook.value(number) })
            })
            .collect();
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        writeln!(out)?;
    } else if csv {
        writeln!(out, "code,exact,value")?;
        for number in codes {
            writeln!(out, "{}", cells(number).join(","))?;
        }
    } else {
        let mut table = output::table(&["code", "exact", "value"], &[1, 2]);
        table.add_rows(codes.map(cells));
        out.rows(&table)?;
    }
    Ok(())
}

/// Converts values, or codes of a format, to the codes of a list.
pub(super) fn convert(
    codebook: Codebook,
    from: Option<&Format>,
    values: &[String],
    json: bool,
    out: &mut Output,
) -> Result<()> {
    let mut objects = Vec::new();
    input::for_each(values, out, |datum, out| {
        let x = exact(&datum, from)?;
        let Some(number) = codebook.encode(x) else {
            bail!("{}: `{}`: {codebook} has no NaN", datum.place, datum.text)
        };
        let is_exact =
            Exact::from_datum(codebook.decode(number)) == x || x.is_zero() && codebook.value(number) == 0.0;
        let (code, value) = (code(codebook, number), value(codebook, number));
        let flags = if is_exact { "-" } else { "X" };
        if json {
            objects.push(json!({ "input": datum.text, "code": code, "value": value, "flags": flags }));
        } else {
            writeln!(out, "{:<12} -> {code} {value:<12} {flags}", datum.text)?;
        }
        Ok(())
    })?;
    if json {
        serde_json::to_writer_pretty(&mut *out, &objects)?;
        writeln!(out)?;
    }
    Ok(())
}

fn exact(datum: &InputLine<'_>, from: Option<&Format>) -> Result<Exact> {
    match (operands::literal(datum.text, false).with_context(|| datum.place.to_string())?, from) {
        (Literal::Value(x), None) => Ok(x),
        (Literal::Value(x), Some(from)) => {
            let code = operands::exact_code(x, from, datum.text, &datum.place)?;
            Ok(Exact::from_datum(from.decode(code)))
        }
        (Literal::Code(code), Some(from)) => {
            let code = from.check_code(code).with_context(|| format!("{}: {from}", datum.place))?;
            Ok(Exact::from_datum(from.decode(code)))
        }
        (Literal::Code(_), None) => {
            bail!("{}: a code: say of which format with --from FORMAT", datum.place)
        }
    }
}
