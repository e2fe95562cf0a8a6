//! Lists of values (`nf4`, `int8`) in `formats`, `show`, `table` and `convert`, where formats have
//! more to say.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use smallfloat::formats::BINARY32;
use smallfloat::text::Literal;
use smallfloat::{Codebook, Datum, Exact, project};

use crate::arguments::input::InputLine;
use crate::arguments::rounding::ProjectionArgs;
use crate::arguments::{input, operands};
use crate::commands::numbers::convert::Origin;
use crate::render::output::{self, Output};
use crate::render::text as words;

/// The list of values of this name.
pub(super) fn find(name: &str) -> Option<Codebook> {
    name.parse().ok()
}

/// Refuses options of rounding, which lists do not have.
pub(super) fn check_rounding(codebook: Codebook, args: &ProjectionArgs) -> Result<()> {
    ensure!(
        args.rounding.is_none() && args.saturation.is_none() && args.preset.is_none() && args.seed.is_none(),
        "{codebook}: there is one way to round to a list of values, to the nearest one"
    );
    Ok(())
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

/// Refuses codes that the list's codes have no bits for.
pub(super) fn check_code(codebook: Codebook, code: u64) -> Result<u32> {
    match u32::try_from(code) {
        Ok(code) if code <= codebook.max_code() => Ok(code),
        _ => bail!("{codebook}: the code {code:#x} has more than {} bits", codebook.width()),
    }
}

/// Returns the code of an exact value, if the list has the value or prints it so.
pub(super) fn code_of(codebook: Codebook, x: Exact) -> Option<u32> {
    let code = codebook.encode(x)?;
    let as_binary32 = project(x, &BINARY32, &BINARY32.default_projection()).value;
    let is_value = as_binary32 == u64::from(codebook.value(code).to_bits());
    (is_value || is_exact(codebook, code, x)).then_some(code)
}

fn is_exact(codebook: Codebook, code: u32, x: Exact) -> bool {
    Exact::from_datum(codebook.decode(code)) == x || x.is_zero() && codebook.value(code) == 0.0
}

/// Converts values, or codes of a format or another list, to the codes of a list.
pub(super) fn convert(
    codebook: Codebook,
    from: Option<&Origin>,
    values: &[String],
    json: bool,
    out: &mut Output,
) -> Result<()> {
    let mut objects = Vec::new();
    input::for_each(values, out, |datum, out| {
        let x = exact(&datum, from)?;
        let number = encode(codebook, x, &datum)?;
        let flags = if is_exact(codebook, number, x) { "-" } else { "X" };
        let (code, value) = (code(codebook, number), value(codebook, number));
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

fn encode(codebook: Codebook, x: Exact, datum: &InputLine<'_>) -> Result<u32> {
    codebook
        .encode(x)
        .with_context(|| format!("{}: `{}`: {codebook} has no NaN", datum.place, words::excerpt(datum.text)))
}

fn exact(datum: &InputLine<'_>, from: Option<&Origin>) -> Result<Exact> {
    let place = || datum.place.to_string();
    match (operands::literal(datum.text, false).with_context(place)?, from) {
        (Literal::Value(x), None) => Ok(x),
        (Literal::Value(x), Some(from)) => {
            Ok(Exact::from_datum(from.format().decode(from.exact_code(x, datum)?)))
        }
        (Literal::Code(code), Some(from)) => {
            Ok(Exact::from_datum(from.format().decode(from.code(code).with_context(place)?)))
        }
        (Literal::Code(_), None) => {
            bail!("{}: a code: say of which format with --from FORMAT", datum.place)
        }
    }
}

/// Where a code stands among those that rounding gives.
struct Place {
    rank: usize,
    /// The next lower and the next higher code, and the number in the middle to each.
    around: [Option<(u32, Datum)>; 2],
}

impl Place {
    /// `None` for a code that rounding never gives.
    fn of(codebook: Codebook, code: u32) -> Option<Self> {
        let rank = codebook.ascending().position(|other| other == code)?;
        let step = |to: usize| (codebook.code_at(to), codebook.midpoint(rank.min(to)));
        let below = rank.checked_sub(1).map(step);
        let above = (rank + 1 < codebook.len()).then(|| step(rank + 1));
        Some(Self { rank, around: [below, above] })
    }
}

/// The sides of a value, in the order of [`Place::around`].
const SIDES: [&str; 2] = ["below", "above"];

/// A code, and the value that fell on it.
struct Shown {
    code: u32,
    fell: Option<Exact>,
    place: Option<Place>,
}

/// Explains codes of a list, or where values fall.
pub(super) fn show(
    codebook: Codebook,
    items: &[String],
    hex: bool,
    json: bool,
    out: &mut Output,
) -> Result<()> {
    let mut objects = Vec::new();
    input::for_each(items, out, |datum, out| {
        let place = || datum.place.to_string();
        let (code, fell) = match operands::literal(datum.text, hex).with_context(place)? {
            Literal::Code(code) => (check_code(codebook, code).with_context(place)?, None),
            Literal::Value(x) => (encode(codebook, x, &datum)?, Some(x)),
        };
        let shown = Shown { code, fell, place: Place::of(codebook, code) };
        if json {
            objects.push(shown.object(codebook, datum.text));
            return Ok(());
        }
        if datum.index > 0 {
            writeln!(out)?;
        }
        shown.print(codebook, datum.text, out)
    })?;
    if json {
        serde_json::to_writer_pretty(&mut *out, &objects)?;
        writeln!(out)?;
    }
    Ok(())
}

impl Shown {
    fn is_exact(&self, codebook: Codebook) -> bool {
        self.fell.is_none_or(|x| is_exact(codebook, self.code, x))
    }

    fn print(&self, codebook: Codebook, text: &str, out: &mut Output) -> Result<()> {
        let (name, hex) = (codebook.name(), code(codebook, self.code));
        match self.fell {
            Some(_) => writeln!(out, "{} -> {} {}", out.bold(text), out.bold(name), out.bold(hex))?,
            None => writeln!(out, "{} {}", out.bold(name), out.bold(hex))?,
        }
        let mut lines =
            vec![("exact", codebook.decode(self.code).to_string()), ("value", value(codebook, self.code))];
        if self.fell.is_some() {
            lines.insert(0, ("rounding", format!("to the nearest value, ties {}", codebook.ties().name())));
            let fell =
                if self.is_exact(codebook) { "exactly on this value" } else { "nearest to this value" };
            lines.push(("fell", fell.to_owned()));
        }
        match &self.place {
            Some(Place { rank, around }) => {
                lines.push(("place", format!("{} of {}, from the lowest", rank + 1, codebook.len())));
                for (side, other) in SIDES.into_iter().zip(around) {
                    let text = other.map_or_else(
                        || "nothing".to_owned(),
                        |(other, middle)| {
                            let middle = middle.to_f64().map_or_else(|| middle.to_string(), words::number);
                            format!(
                                "{}   {:<22} beyond {middle}",
                                code(codebook, other),
                                value(codebook, other)
                            )
                        },
                    );
                    lines.push((side, text));
                }
            }
            None => lines.push(("place", "none: rounding never gives this code".to_owned())),
        }
        for (name, text) in lines {
            writeln!(out, "  {name:<10}{text}")?;
        }
        Ok(())
    }

    fn object(&self, codebook: Codebook, text: &str) -> Value {
        let members = |number: u32| {
            json!({
                "code": code(codebook, number),
                "exact": codebook.decode(number).to_string(),
                "value": value(codebook, number),
                "f64": codebook.value(number),
            })
        };
        let mut object = json!({ "input": text, "format": codebook.name() });
        let own = members(self.code);
        let object_members = object.as_object_mut().expect("it is an object");
        object_members.extend(own.as_object().expect("it is an object").clone());
        if self.fell.is_some() {
            object_members.insert("exactly".into(), self.is_exact(codebook).into());
        }
        object_members.insert("rank".into(), self.place.as_ref().map(|place| place.rank).into());
        let around = self.place.as_ref().map(|place| place.around).unwrap_or_default();
        for (side, other) in SIDES.into_iter().zip(around) {
            let other = other.map_or(Value::Null, |(other, middle)| {
                let mut other = members(other);
                other["middle"] = middle.to_string().into();
                other
            });
            object_members.insert(side.into(), other);
        }
        object
    }
}
