//! `smallfloat eval`: one operation on codes or values, rounded once, in the P3109 draft's
//! spelling.

use std::io::Write;

use anyhow::{Result, ensure};
use serde_json::{Map, Value};
use smallfloat::p3109::{Answer, Property, Sequence, Specialization};
use smallfloat::{Flags, Format, Projection, Rounding, Saturation};

use crate::arguments::flags::FlagArgs;
use crate::arguments::input::InputLine;
use crate::arguments::rounding::{deterministic, saturation};
use crate::arguments::{input, operands};
use crate::commands::numbers::call::{Caller, RoundedOperand};
use crate::render::output::{Message, Output, message};
use crate::render::{json as js, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat eval add --format e4m3fn 0.1 0.2
  smallfloat eval divide --format e5m2 1 3 --rounding toward-zero
  smallfloat eval 'Add<e4m3fn, e5m2, binary32>' 1.5 -0.25
  smallfloat eval 'Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, shp:bias=15>' 480 480
  smallfloat eval \\
      'FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se, (TowardZero, SatFinite)>' \\
      --hex 1e 7e 01
  printf '01 38\\n08 30\\n' | smallfloat eval 'Multiply<e4m3fn, e4m3fn, e4m3fn>' --hex
  smallfloat eval 'Add<uhp, uhp, uhp, (StochasticA<8>)>' 1 1p-12 R=0x7f
  smallfloat eval 'BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>' \\
      '2 [3 -1] 1 [4 0.5]'
  smallfloat eval 'MaxFiniteOf<Binary8p3se>'
  smallfloat eval multiply --format binary32 --hex --flags x86 3f7ffffe 00800001

Formats are the operands', then the result's; one alone, or --format, is that of all. The
projection (rounding, saturation) may be left out for the result's default, or be given by options.
After it may follow semantics=ieee or p3109, scale=L (the exact result times 2^L, -1048576 to
1048576) and clamp=operands (Tesla's literal reading for infinite and NaN operands).

Operands are values (1.1, 1/3, 0x1.8p-3, inf) or codes ('#39', code:0x39; with --hex all), separated
by blanks. A value that its format lacks is rounded, and a note says so; --exact refuses it. Without
operands each line of standard input is a call. A stochastic rounding takes its word R last, as R=…
in hexadecimal. With --hex the output is the result's code, or true, false or a class, and with
--flags or --flag-order the flags after it.

--flags x86 (or riscv, arm, ieee-after, …) raises flags and makes NaNs as such a unit does, with
ieee semantics unless semantics= says otherwise.

Blocks are written `scale [x x x]`, sequences `[x x x]`; operands stand in the order of the
signature, a result's scale last. A stochastic rounding to a sequence takes a word an element,
R=[… …]. Results are printed the same way.

Operations, in the P3109 draft's groups (`smallfloat supports` lists and counts them):
  A   Convert Negate Abs Add Subtract Multiply FMA FAA Clamp
      Minimum Maximum, also with Number, Magnitude, MagnitudeNumber or Finite appended
      CompareLess CompareLessEqual CompareEqual CompareGreater CompareGreaterEqual
      IsZero IsOne IsNaN IsInfinite IsFinite IsSignMinus IsNormal IsSubnormal
  B   Divide Sqrt Recip RSqrt Exp Exp2 ExpMinusOne Log Log2 LogOnePlus Softplus CopySign
      NextGreaterThan NextLessThan TotalOrder Class
  C   Hypot ArcTan2 ArcTan2Pi; Sin Cos Tan, also with Arc before, and h or Pi after
  M   BitwidthOf PrecisionOf SignednessOf DomainOf ExponentBitwidthOf ExponentBiasOf
      TrailingSignificandBitwidthOf MaxFiniteOf MinFiniteOf MinPositiveOf MaxSubnormalOf
      MinNormalOf; RoundOf and SatOf of a projection; all without operands
  K   Block… and the name of any numeric operation above: BlockAdd<8, (fs, f), (fs, f), fs, f>
      ConvertFromBlock ConvertToBlock ConvertToBlockMaxAbsFinite
  E   BlockReduceAdd BlockReduceMultiply BlockDotProduct
  S   Scaled… and the name of any numeric operation above: ScaledAdd<(fs, f), (fs, f), f>
IEEE 754's Remainder and Fmod are there too.";

/// Evaluate an operation on operands of any formats.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The operation: `Name<formats…, (rounding, saturation)>`
    #[arg(value_name = "OPERATION")]
    operation: String,

    /// The operands of one call; none or `-`: a call a line of standard input
    #[arg(value_name = "OPERAND")]
    operands: Vec<String>,

    /// The format of all operands and of the result of an operation named alone
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// The rounding mode of the result [default: its format's]; stochastic ones stand in (…)
    #[arg(long, value_name = "MODE", value_parser = deterministic(), ignore_case = true)]
    rounding: Option<Rounding>,

    /// What a finite result beyond the range becomes [default: as its format's preset says]
    #[arg(long, value_name = "MODE", value_parser = saturation(), ignore_case = true)]
    saturation: Option<Saturation>,

    /// Refuse operands that would have to be rounded to their formats
    #[arg(long)]
    exact: bool,

    /// Operands and result are codes in hexadecimal
    #[arg(long)]
    hex: bool,

    /// Print a JSON array with one object per call
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    flags: FlagArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let operation = operands::operation(&args.operation, args.format.as_deref())?;
    let operation = args.flags.apply(projected(operation, args)?, &args.operation);
    let json = args.json;
    let mut caller = Caller::new(operation, args.hex, args.exact);
    let calls = match &args.operands[..] {
        // A query is asked once.
        [] if caller.takes_nothing() => vec![String::new()],
        [] => Vec::new(),
        [only] if only == "-" => Vec::new(),
        all => vec![all.join(" ")],
    };
    let mut rounded = 0;
    let mut start = "[\n  ";
    let outcome = input::for_each(&calls, out, |call, out| {
        let answer = caller.call(&call)?;
        rounded = note(caller.rounded(), rounded);
        if json {
            write!(out, "{start}{}", to_json(&caller, &args.flags, &call, &answer))?;
            start = ",\n  ";
        } else {
            writeln!(out, "{}", to_text(&caller, &args.flags, &answer))?;
        }
        Ok(())
    });
    // The array is closed behind a call that is refused too. What was refused says more than a
    // second failure to write.
    let closed =
        if json { writeln!(out, "{}", if start.starts_with('[') { "[]" } else { "\n]" }) } else { Ok(()) };
    if rounded > NOTES {
        message(Message::Note, &format!("{} more operands were rounded", rounded - NOTES));
    }
    outcome?;
    Ok(closed?)
}

/// The operation with the rounding and saturation of the options.
fn projected(operation: Specialization, args: &Args) -> Result<Specialization> {
    if args.rounding.is_none() && args.saturation.is_none() {
        return Ok(operation);
    }
    let name = words::excerpt(&args.operation);
    ensure!(!args.operation.contains('('), "`{name}`: write rounding and saturation in its (…)");
    ensure!(
        !operation.projections().is_empty(),
        "`{name}` rounds nothing: leave out --rounding and --saturation"
    );
    let chosen = |projection: &Projection| {
        let projection = args.rounding.map_or(*projection, |rounding| projection.with_rounding(rounding));
        args.saturation.map_or(projection, |saturation| projection.with_saturation(saturation))
    };
    let projections: Vec<_> = operation.projections().iter().map(chosen).collect();
    Ok(operation.with_projections(&projections)?)
}

/// So many rounded operands are told one by one.
const NOTES: usize = 8;

/// Says on standard error which operands were rounded, after `before` others; returns how many
/// there are now.
fn note(rounded: &[RoundedOperand], before: usize) -> usize {
    for operand in rounded.iter().take(NOTES.saturating_sub(before)) {
        let RoundedOperand { place, text, format, code, .. } = operand;
        let (hex, value) = (words::code(format, *code), words::value(format, *code));
        let text = words::excerpt(text);
        message(Message::Note, &format!("{place}: {text} is rounded to {value} ({hex}) of {format}"));
    }
    before + rounded.len()
}

/// The answer in a line: with `--hex` the codes, and flags if these were asked for; else codes,
/// values and flags.
fn to_text(caller: &Caller, flag_args: &FlagArgs, answer: &Answer) -> String {
    let text = answer_text(caller, flag_args, answer);
    let flags = match answer {
        _ if !caller.is_hex() || !flag_args.are_given() => return text,
        Answer::Code(result) | Answer::Integer(result) => result.flags,
        Answer::Truth(result) => result.flags,
        Answer::Sequence(sequence) => union(&sequence.flags),
        Answer::Block(block) => union(&block.elements.flags) | block.scale.flags,
        // A class or a property is no computed result.
        _ => return text,
    };
    format!("{text} {}", flag_args.text(flags))
}

/// The answer without the flags that `--hex` adds.
fn answer_text(caller: &Caller, flag_args: &FlagArgs, answer: &Answer) -> String {
    let operation = caller.operation();
    let hex = |format: &Format, code: u64| format!("{code:0digits$x}", digits = format.hex_digits());
    let all = |show: &dyn Fn(u64) -> String, codes: &[u64]| {
        format!("[{}]", codes.iter().map(|&code| show(code)).collect::<Vec<_>>().join(" "))
    };
    match (answer, operation.result(), operation.result_scale()) {
        (Answer::Code(result), Some(to), _) if caller.is_hex() => hex(to, result.value),
        (Answer::Code(result), Some(to), _) => {
            format!(
                "{} {} {}",
                words::code(to, result.value),
                words::value(to, result.value),
                flag_args.text(result.flags)
            )
        }
        (Answer::Sequence(sequence), Some(to), _) if caller.is_hex() => {
            all(&|code| hex(to, code), &sequence.codes)
        }
        (Answer::Sequence(sequence), Some(to), _) => {
            let codes = all(&|code| words::code(to, code), &sequence.codes);
            let values = all(&|code| words::value(to, code), &sequence.codes);
            format!("{codes} {values} {}", flag_args.text(union(&sequence.flags)))
        }
        (Answer::Block(block), Some(to), Some(scale)) if caller.is_hex() => {
            format!("{} {}", hex(scale, block.scale.value), all(&|code| hex(to, code), &block.elements.codes))
        }
        (Answer::Block(block), Some(to), Some(scale)) => {
            let (s, elements) = (block.scale.value, &block.elements.codes);
            let codes = all(&|code| words::code(to, code), elements);
            let values = all(&|code| words::value(to, code), elements);
            let flags = flag_args.text(union(&block.elements.flags) | block.scale.flags);
            format!("{} {codes} {} {values} {flags}", words::code(scale, s), words::value(scale, s))
        }
        (Answer::Integer(result), ..) => {
            let integer = operation.integer().expect("an integer has a type");
            let width = integer.bits() as usize / 4 + 2;
            let hex = format!("{:#0width$x}", result.value);
            if caller.is_hex() {
                return hex.trim_start_matches("0x").to_owned();
            }
            format!("{hex} {} {}", integer.value(result.value), flag_args.text(result.flags))
        }
        (Answer::Truth(result), ..) => result.value.to_string(),
        (Answer::Class(name), ..) => (*name).into(),
        (Answer::Property(property), ..) => property.to_string(),
        // Answers with codes have a format for them.
        (other, ..) => format!("{other:?}"),
    }
}

fn union(flags: &[Flags]) -> Flags {
    flags.iter().fold(Flags::NONE, |all, flags| all | *flags)
}

fn to_json(caller: &Caller, flag_args: &FlagArgs, call: &InputLine<'_>, answer: &Answer) -> Value {
    let operation = caller.operation();
    let mut object = Map::new();
    if !call.text.is_empty() {
        object.insert("operands".into(), call.text.into());
    }
    if !caller.rounded().is_empty() {
        let one = |operand: &RoundedOperand| {
            let mut object = js::code(&operand.format, operand.code);
            object["operand"] = operand.part.as_str().into();
            object["input"] = operand.text.as_str().into();
            object
        };
        object.insert("rounded".into(), caller.rounded().iter().map(one).collect());
    }
    let result = |format: &Format, code: u64, flags: Flags| {
        let mut object = js::code(format, code);
        object["flags"] = flag_args.text(flags).into();
        object
    };
    let all = |format: &Format, sequence: &Sequence| -> Value {
        sequence
            .codes
            .iter()
            .zip(&sequence.flags)
            .map(|(&code, &flags)| result(format, code, flags))
            .collect()
    };
    match (answer, operation.result(), operation.result_scale()) {
        (Answer::Code(code), Some(to), _) => {
            if let Value::Object(fields) = result(to, code.value, code.flags) {
                object.extend(fields);
            }
        }
        (Answer::Sequence(sequence), Some(to), _) => {
            object.insert("elements".into(), all(to, sequence));
        }
        (Answer::Block(block), Some(to), Some(scale)) => {
            object.insert("scale".into(), result(scale, block.scale.value, block.scale.flags));
            object.insert("elements".into(), all(to, &block.elements));
        }
        (Answer::Integer(result), ..) => {
            let integer = operation.integer().expect("an integer has a type");
            let width = integer.bits() as usize / 4 + 2;
            object.insert("code".into(), format!("{:#0width$x}", result.value).into());
            object.insert("value".into(), integer.value(result.value).to_string().into());
            object.insert("flags".into(), flag_args.text(result.flags).into());
        }
        (Answer::Truth(truth), ..) => {
            object.insert("result".into(), truth.value.into());
            object.insert("flags".into(), flag_args.text(truth.flags).into());
        }
        (Answer::Property(Property::Integer(n)), ..) => {
            object.insert("result".into(), (*n).into());
        }
        _ => {
            object.insert("result".into(), answer_text(caller, flag_args, answer).into());
        }
    }
    object.into()
}
