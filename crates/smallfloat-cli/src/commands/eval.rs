//! `smallfloat eval`: one operation on codes or values, rounded once, in the P3109 draft's spelling.

use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use smallfloat::RandomBits;
use smallfloat::ops::{Answer, Function, Specialization};

use super::convert::{operand, parse_hex};
use crate::input::{self, Datum};
use crate::output::Output;
use crate::{json as js, words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat eval 'Add<e4m3fn, e5m2, binary32>' 1.5 -0.25
  smallfloat eval 'Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, shp:bias=15>' 480 480
  smallfloat eval 'FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se, (TowardZero, SatFinite)>' \\
      --hex 1e 7e 01
  printf '01 38\\n08 30\\n' | smallfloat eval 'Multiply<e4m3fn, e4m3fn, e4m3fn>' --hex
  smallfloat eval 'Add<uhp, uhp, uhp, (StochasticA<8>)>' 1 0.0001 R=0x7f

Formats are the operands', then the result's; the projection (rounding, saturation) may be left
out for the result's default. After it may follow semantics=ieee or p3109, scale=L (the exact
result times 2^L) and clamp=operands (Tesla's literal reading for infinite and NaN operands).

Operands are values of their formats, or with --hex codes in hexadecimal, separated by blanks,
a call a line of standard input if none are given. A stochastic rounding takes its word R last,
as R=… in hexadecimal. With --hex the output is the result's code, or true, false or a class.

Operations: Convert Negate Abs CopySign Add Subtract Multiply Divide Remainder Fmod FMA FAA Sqrt
Recip Clamp Minimum Maximum (also …Number, …Magnitude, …MagnitudeNumber, …Finite) CompareLess
CompareLessEqual CompareEqual CompareGreater CompareGreaterEqual TotalOrder IsZero IsOne IsNaN
IsInfinite IsFinite IsSignMinus IsNormal IsSubnormal Class NextGreaterThan NextLessThan.";

/// Evaluate an operation on operands of any formats.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The operation: `Name<formats…, (rounding, saturation)>`
    #[arg(value_name = "OPERATION")]
    operation: String,

    /// The operands of one call; none or `-`: a call a line of standard input
    #[arg(value_name = "OPERAND", allow_hyphen_values = true)]
    operands: Vec<String>,

    /// Operands and result are codes in hexadecimal
    #[arg(long)]
    hex: bool,

    /// Print a JSON array with an object a call
    #[arg(long, conflicts_with = "hex")]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    // Hyphens may start operands, so options after the operation arrive among them.
    let (mut hex, mut json) = (args.hex, args.json);
    let mut operands = Vec::new();
    for operand in &args.operands {
        match operand.as_str() {
            "--hex" => hex = true,
            "--json" => json = true,
            other => operands.push(other),
        }
    }
    let operation: Specialization =
        args.operation.parse().with_context(|| format!("`{}`", args.operation))?;
    let mut eval = Eval { operation, hex, random: None, codes: Vec::new() };
    eval.random = eval.operation.projection().and_then(|how| how.rounding.random_bits());
    let calls = match operands[..] {
        [] | ["-"] => Vec::new(),
        _ => vec![operands.join(" ")],
    };
    let mut start = "[\n  ";
    input::for_each(&calls, out, |call, out| {
        let answer = eval.call(&call)?;
        if json {
            write!(out, "{start}{}", eval.json(&call, &answer))?;
            start = ",\n  ";
        } else {
            eval.print(&answer, out)?;
        }
        Ok(())
    })?;
    if json {
        writeln!(out, "{}", if start.starts_with('[') { "[]" } else { "\n]" })?;
    }
    Ok(())
}

struct Eval {
    operation: Specialization,
    hex: bool,
    /// The random bits of a stochastic rounding, to be given with each call.
    random: Option<RandomBits>,
    codes: Vec<u64>,
}

impl Eval {
    fn call(&mut self, call: &Datum<'_>) -> Result<Answer> {
        let formats = self.operation.operands().len();
        self.codes.clear();
        let mut word = None;
        for token in call.text.split_ascii_whitespace() {
            if let Some(text) = token.strip_prefix("R=").or_else(|| token.strip_prefix("r=")) {
                word = Some(parse_hex(text).ok_or_else(|| {
                    anyhow!("{}: `{token}` is not a random word in hexadecimal", call.place)
                })?);
                continue;
            }
            let Some(format) = self.operation.operands().get(self.codes.len()) else {
                bail!("{}: `{}`: {} takes {formats} operands", call.place, call.text, self.name());
            };
            let datum = Datum { index: call.index, place: call.place, text: token };
            self.codes.push(operand(&datum, format, self.hex)?);
        }
        match (self.random, word) {
            (Some(bits), Some(word)) => {
                let bits = RandomBits::new(bits.count(), word).with_context(|| call.place.to_string())?;
                self.operation.set_random_bits(bits);
            }
            (Some(bits), None) => bail!(
                "{}: `{}`: the random word is missing: add R=… with {} bits in hexadecimal",
                call.place,
                call.text,
                bits.count()
            ),
            (None, Some(_)) => {
                bail!("{}: `{}`: a deterministic rounding takes no R=…", call.place, call.text)
            }
            (None, None) => {}
        }
        self.operation.call(&self.codes).with_context(|| format!("{}: `{}`", call.place, call.text))
    }

    fn name(&self) -> &'static str {
        Function::name(self.operation.function())
    }

    fn print(&self, answer: &Answer, out: &mut Output) -> Result<()> {
        match (answer, self.operation.result()) {
            (Answer::Code(result), Some(format)) if self.hex => {
                writeln!(out, "{:0digits$x}", result.value, digits = format.hex_digits())?;
            }
            (Answer::Code(result), Some(format)) => {
                let (hex, value) = (words::code(format, result.value), words::value(format, result.value));
                writeln!(out, "{hex} {value} {}", result.flags)?;
            }
            (Answer::Code(result), None) => writeln!(out, "{:x}", result.value)?,
            (Answer::Truth(result), _) => writeln!(out, "{}", result.value)?,
            (Answer::Class(name), _) => writeln!(out, "{name}")?,
        }
        Ok(())
    }

    fn json(&self, call: &Datum<'_>, answer: &Answer) -> serde_json::Value {
        match (answer, self.operation.result()) {
            (Answer::Code(result), Some(format)) => {
                let mut object = json!({ "operands": call.text });
                if let (Some(object), Some(code)) =
                    (object.as_object_mut(), js::code(format, result.value).as_object())
                {
                    object.extend(code.clone());
                    object.insert("flags".into(), result.flags.to_string().into());
                }
                object
            }
            (Answer::Code(result), None) => json!({ "operands": call.text, "code": result.value }),
            (Answer::Truth(result), _) => {
                json!({ "operands": call.text, "result": result.value, "flags": result.flags.to_string() })
            }
            (Answer::Class(name), _) => json!({ "operands": call.text, "result": name }),
        }
    }
}
