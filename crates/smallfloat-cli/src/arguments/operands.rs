//! Operands, formats and operations as every command reads them. What an operand looks like is
//! [`Literal`]'s business alone.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail};
use smallfloat::ops::Integer;
use smallfloat::p3109::{Function, Specialization};
use smallfloat::text::Literal;
use smallfloat::{
    Error, ErrorKind, Exact, Flags, Format, FormatSpec, NanRule, Preset, Rounded, project, text,
};

use crate::render::output::{Message, message};
use crate::render::text as words;

/// Reads an operand; with `--hex` all are codes.
pub(crate) fn literal(text: &str, hex: bool) -> Result<Literal> {
    if hex {
        return Ok(Literal::parse_code(text)?);
    }
    Literal::parse(text).map_err(|error| match error.kind() {
        ErrorKind::ValueOrCode { .. } => anyhow!("{error}, or --hex where all are codes"),
        _ => error.into(),
    })
}

/// A format by name. One whose bias is missing has the default, and a note says so once: this is
/// the rule of all commands that cannot choose a bias.
pub(crate) fn format(name: &str) -> Result<Format, Error> {
    Ok(complete(&name.parse()?))
}

/// A format, with the default bias and a note where it has none.
pub(crate) fn complete(spec: &FormatSpec) -> Format {
    static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let format = spec.or_default_bias();
    if spec.bias().is_none() {
        let mut noted = NOTED.lock().expect("nobody panics with the names");
        if noted.insert(format.to_string()) {
            message(Message::Note, &words::default_bias(&format));
        }
    }
    format
}

/// An operation with its formats, `Name<formats…>`.
pub(crate) fn specialization(text: &str) -> Result<Specialization, Error> {
    Specialization::parse_with(text, &mut |spec| Ok(complete(spec)))
}

/// The conversion of `--from` and `--to`, one of which is a type of integers.
pub(crate) fn integers(from: &str, to: &str) -> Result<Specialization> {
    let (function, format) = match (from.parse::<Integer>(), to.parse::<Integer>()) {
        (Ok(integer), Err(_)) => (Function::FromInteger(integer), format(to).context("--to")?),
        (Err(_), Ok(integer)) => (Function::ToInteger(integer), format(from).context("--from")?),
        _ => bail!("--from and --to: one has to be a format; nothing is rounded between integers"),
    };
    Ok(Specialization::new(function, None, &[format], &[])?)
}

/// An operation: `Name<formats…>`, or a scalar one's name with the format of everything.
pub(crate) fn operation(text: &str, all: Option<&str>) -> Result<Specialization> {
    let quoted = || format!("`{}`", words::excerpt(text));
    // Many errors name the part that is wrong, which may be all of it.
    let within = |error: Error| match error.to_string() {
        message if message.contains(&quoted()) => anyhow::Error::new(error),
        _ => anyhow::Error::new(error).context(quoted()),
    };
    match all {
        Some(_) if text.contains('<') => bail!("{}: formats in <…> and --format; give one of them", quoted()),
        Some(all) => {
            let all = format(all).context("--format")?;
            specialization(&format!("{}<{all}>", text.trim())).map_err(within)
        }
        None if text.parse::<Function>().is_ok() => {
            let name = text.trim();
            bail!("{}: which formats? Write `{name}<e4m3fn>` or give --format e4m3fn", quoted())
        }
        None => specialization(text).map_err(within),
    }
}

/// The code of a value that the format has; `place` is for the message.
pub(crate) fn exact_code(x: Exact, format: &Format, text: &str, place: &dyn Display) -> Result<u64> {
    code_of(x, format).ok_or_else(|| missing(x, format, text, place))
}

/// The code of an operand, and whether a value had to be rounded to it, by the format's default
/// projection. No rounding makes an infinity or a NaN a value of a format that has none.
pub(crate) fn rounded_code(
    x: Exact,
    format: &Format,
    text: &str,
    place: &dyn Display,
) -> Result<(u64, bool)> {
    match code_of(x, format) {
        Some(code) => Ok((code, false)),
        None if matches!(x, Exact::Nan { .. } | Exact::Infinite { .. }) => {
            Err(missing(x, format, text, place))
        }
        None => Ok((project(x, format, &format.default_projection()).value, true)),
    }
}

/// The code of an exact value, if the format has it or prints one of its values so: what one call
/// prints, the next one takes.
fn code_of(x: Exact, format: &Format) -> Option<u64> {
    let mut projection = Preset::Ieee.projection(format);
    projection.unrepresentable.nan = NanRule::QuietSigned;
    let Rounded { value, flags } = project(x, format, &projection);
    let has = match x {
        Exact::Nan { .. } => format.has_nan(),
        _ => {
            (flags & (Flags::INEXACT | Flags::INVALID)).is_empty()
                || text::parse(&words::value(format, value)).is_ok_and(|printed| printed == x)
        }
    };
    has.then_some(value)
}

/// A value that the source format does not have, with the values around it.
fn missing(x: Exact, from: &Format, text: &str, place: &dyn Display) -> anyhow::Error {
    let side = |code: Option<u64>| code.map(|code| words::value(from, code));
    let around = match (side(from.next_below(x)), side(from.next_above(x))) {
        (Some(below), Some(above)) => format!(", its neighbours are {below} and {above}"),
        (Some(nearest), None) | (None, Some(nearest)) => format!(", the nearest is {nearest}"),
        (None, None) => String::new(),
    };
    anyhow!("{place}: `{}` is not a value of {from}{around}", words::excerpt(text))
}
