//! `smallfloat convert`: values or codes into a format, each with one rounding.

use std::io::Write;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::json;
use smallfloat::formats::BINARY32;
use smallfloat::random::Philox;
use smallfloat::text::Literal;
use smallfloat::{
    Codebook, Exact, FlagPolicy, Format, Projection, RandomBits, Rounded, convert_with, project_with,
};

use crate::arguments::flags::FlagArgs;
use crate::arguments::input::InputLine;
use crate::arguments::rounding::ProjectionArgs;
use crate::arguments::{input, operands};
use crate::commands::numbers::lists;
use crate::render::output::{Message, Output, message};
use crate::render::{json as js, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat convert --to e4m3fn 1.1 -3p-4 0x1.8p-3 inf
  seq 1 20 | smallfloat convert --to e2m1fn --saturation satfinite
  smallfloat table e4m3fn --csv | tail -n +2 | cut -c3-4 |
      smallfloat convert --from e4m3fn --to cfloat8_1_4_3:bias=7 --hex
  smallfloat convert --to e5m2 --rounding stochastic-a --seed 1 1.1 1.1 1.1 1.1

Values are decimals, hexadecimal floats (0x1.8p-3), fractions (1/3), integers times powers of two
(3p-4), inf or nan. They are rounded once, straight from the text; so with --from they have to be
values of that format, or its codes: code:0x39, '#39' in a shell. A line tells the value, the
code, what the code means, and the flags that were raised: I invalid, D denormal, O overflow, U
underflow, X inexact, or `-`.

With --hex, input is codes of --from in hexadecimal, one a line, and a line of output is
`<code> <flags>`, the flags those of I D O U, or those that --flags names. A stochastic rounding
takes its random word from --seed (0 by default); with --hex and no seed, in hexadecimal from a
second column.

Blank lines and lines that start with # are passed over, but for codes as #39.";

/// Convert values, or codes of one format, to codes of another.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The format of the input, or its list of values (nf4, int8)
    #[arg(long, value_name = "FORMAT", required_if_eq("hex", "true"))]
    from: Option<String>,

    /// The format of the output, or its list of values
    #[arg(long, value_name = "FORMAT")]
    to: String,

    /// Values (codes with --hex); none or `-`: the lines of standard input
    #[arg(value_name = "VALUE")]
    values: Vec<String>,

    /// Read codes in hexadecimal and print `<code> <flags>` per line
    #[arg(long)]
    hex: bool,

    /// Print a JSON array with one object per value
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    flags: FlagArgs,

    #[command(flatten)]
    projection: ProjectionArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    if let Some(codebook) = lists::find(&args.to) {
        ensure!(!args.hex, "--hex is for formats; {codebook} is a list of values");
        lists::check_rounding(codebook, &args.projection)?;
        let from = args.from.as_deref().map(Origin::parse).transpose()?;
        return lists::convert(codebook, from.as_ref(), &args.values, args.json, out);
    }
    let to = operands::format(&args.to).context("--to")?;
    args.projection.check_seed()?;
    let from = args.from.as_deref().map(Origin::parse).transpose()?;
    let projection = args.projection.projection(&to);
    let words = Words::new(&args.projection, args.hex)?;
    let formats = from.as_ref().map(Origin::format).into_iter().chain([&to]);
    let policy = args.flags.policy().unwrap_or_else(|| FlagPolicy::default_for(formats));
    let (to, projection) = (Target { format: to, policy }, projection);
    if args.json {
        return json(args, from.as_ref(), &to, &projection, &words, out);
    }
    if let (Some(seed), None) = (words.seed(), args.projection.seed) {
        message(Message::Note, &format!("random words are those of --seed {seed}"));
    }
    match from {
        Some(from) if args.hex => hex(args, &from, &to, &projection, &words, out),
        _ => input::for_each(&args.values, out, |datum, out| {
            let x = Source::text(&datum, from.as_ref())?;
            let Rounded { value: code, flags } = x.into(&to, &words.fill(&projection, &datum, None)?);
            let (hex, value) = (words::code(&to.format, code), words::value(&to.format, code));
            let flags = args.flags.text(flags);
            writeln!(out, "{:<12} -> {hex} {value:<12} {flags}", datum.text)?;
            Ok(())
        }),
    }
}

/// What the input's codes are of.
pub(super) enum Origin {
    Format(Format),
    List(Codebook),
}

impl Origin {
    fn parse(name: &str) -> Result<Self> {
        match lists::find(name) {
            Some(codebook) => Ok(Self::List(codebook)),
            None => operands::format(name).map(Self::Format).context("--from"),
        }
    }

    /// Returns the format that a code is converted from: binary32, which holds the values of lists.
    pub(super) fn format(&self) -> &Format {
        match self {
            Self::Format(format) => format,
            Self::List(_) => &BINARY32,
        }
    }

    /// Returns the code, of [`format`](Self::format), of a value that has to be one of the
    /// origin's.
    pub(super) fn exact_code(&self, x: Exact, datum: &InputLine<'_>) -> Result<u64> {
        match self {
            Self::Format(format) => operands::exact_code(x, format, datum.text, &datum.place),
            Self::List(codebook) => {
                let code = lists::code_of(*codebook, x).ok_or_else(|| {
                    anyhow!("{}: `{}` is no value of {codebook}", datum.place, words::excerpt(datum.text))
                })?;
                Ok(codebook.value(code).to_bits().into())
            }
        }
    }

    /// Returns a code that is read, as a code of [`format`](Self::format).
    pub(super) fn code(&self, code: u64) -> Result<u64> {
        match self {
            Self::Format(format) => format.check_code(code).with_context(|| format.to_string()),
            Self::List(codebook) => {
                lists::check_code(*codebook, code).map(|code| codebook.value(code).to_bits().into())
            }
        }
    }
}

/// What is converted into.
struct Target {
    format: Format,
    policy: FlagPolicy,
}

/// Where the random words of a stochastic rounding come from.
enum Words<'a> {
    /// The rounding is deterministic.
    None,
    /// A generator, one word a datum.
    Seeded(Philox, &'a ProjectionArgs),
    /// The second column, N bits.
    Column(u32),
}

impl<'a> Words<'a> {
    fn new(args: &'a ProjectionArgs, hex: bool) -> Result<Self> {
        if !args.is_stochastic() {
            return Ok(Self::None);
        }
        if hex && args.seed.is_none() {
            return Ok(Self::Column(args.random_bits));
        }
        args.bits_of(args.generator(), 0).context("--random-bits with --seed")?;
        Ok(Self::Seeded(args.generator(), args))
    }

    /// The seed of a generator.
    fn seed(&self) -> Option<u64> {
        match self {
            Self::Seeded(generator, _) => Some(generator.seed),
            Self::None | Self::Column(_) => None,
        }
    }

    /// The projection with the random bits of one datum.
    fn fill(
        &self,
        projection: &Projection,
        datum: &InputLine<'_>,
        column: Option<&str>,
    ) -> Result<Projection> {
        let bits = match (self, column) {
            (Self::None | Self::Seeded(..), Some(extra)) => {
                bail!("{}: `{}`: unexpected `{extra}` after the code", datum.place, datum.text)
            }
            (Self::None, None) => return Ok(*projection),
            (Self::Seeded(generator, args), None) => args.bits_of(*generator, datum.index)?,
            (Self::Column(count), Some(word)) => parse_hex(word)
                .ok_or_else(|| anyhow!("`{word}` is not a random word in hexadecimal"))
                .and_then(|word| Ok(RandomBits::new(*count, word)?))
                .with_context(|| datum.place.to_string())?,
            (Self::Column(count), None) => bail!(
                "{}: `{}`: the random word is missing: write `<code> <word>`, the word of {count} bits in \
                 hexadecimal, or give --seed S",
                datum.place,
                datum.text
            ),
        };
        Ok(projection.with_rounding(projection.rounding.with_random_bits(bits)))
    }
}

/// What is converted: a code of a format, or an exact value.
enum Source<'a> {
    Code(u64, &'a Format),
    Value(Exact),
}

impl<'a> Source<'a> {
    /// A value, or a code of the source format. With a source format a value has to be one of its
    /// values, so that nothing is rounded twice.
    fn text(datum: &InputLine<'_>, from: Option<&'a Origin>) -> Result<Self> {
        let literal = operands::literal(datum.text, false).with_context(|| datum.place.to_string())?;
        match (literal, from) {
            (Literal::Value(x), None) => Ok(Self::Value(x)),
            (Literal::Value(x), Some(from)) => {
                let code = from.exact_code(x, datum).map_err(|error| {
                    anyhow!("{error}; leave --from out to round it once, straight to the destination")
                })?;
                Ok(Self::Code(code, from.format()))
            }
            (Literal::Code(code), Some(from)) => {
                let code = from.code(code).with_context(|| datum.place.to_string())?;
                Ok(Self::Code(code, from.format()))
            }
            (Literal::Code(_), None) => bail!(
                "{}: `{}` is a code: say of which format with --from FORMAT",
                datum.place,
                words::excerpt(datum.text)
            ),
        }
    }

    /// A code in hexadecimal, and the second column if there is one.
    fn hex<'b>(datum: &InputLine<'b>, from: &'a Origin) -> Result<(Self, Option<&'b str>)> {
        let mut columns = datum.text.split_ascii_whitespace();
        let (code, second, third) = (columns.next().unwrap_or_default(), columns.next(), columns.next());
        let place = || datum.place.to_string();
        let parsed = match operands::literal(code, true).with_context(place)? {
            Literal::Code(code) => from.code(code).with_context(place)?,
            Literal::Value(_) => unreachable!("all are codes"),
        };
        ensure!(third.is_none(), "{}: `{}`: more than two columns", datum.place, datum.text);
        Ok((Self::Code(parsed, from.format()), second))
    }

    fn into(self, Target { format, policy }: &Target, projection: &Projection) -> Rounded<u64> {
        match self {
            Self::Code(code, from) => convert_with(code, from, format, projection, *policy),
            Self::Value(x) => project_with(x, format, projection, *policy),
        }
    }
}

/// Hexadecimal digits with or without `0x`.
pub(super) fn parse_hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
}

/// `--hex`: as fast as lines can be read. A deterministic conversion from at most 16 bits is looked
/// up.
fn hex(
    args: &Args,
    from: &Origin,
    to: &Target,
    projection: &Projection,
    words: &Words<'_>,
    out: &mut Output,
) -> Result<()> {
    let digits = to.format.hex_digits();
    let format = from.format();
    let cached = matches!(words, Words::None) && !format.is_wide();
    let mut lines = if cached { vec![Line::EMPTY; 1 << format.width()] } else { vec![Line::EMPTY] };
    input::for_each(&args.values, out, |datum, out| {
        let (x, column) = Source::hex(&datum, from)?;
        let projection = words.fill(projection, &datum, column)?;
        let slot = match &x {
            Source::Code(code, _) if cached => usize::try_from(*code)?,
            _ => 0,
        };
        let line = &mut lines[slot];
        if !cached || line.length == 0 {
            *line = Line::new(x.into(to, &projection), digits, &args.flags);
        }
        out.write_all(line.as_bytes())?;
        Ok(())
    })
}

/// `<code> <flags>` and a line feed: at most 16 digits, a blank, six letters.
#[derive(Clone, Copy)]
struct Line {
    bytes: [u8; 25],
    length: u8,
}

impl Line {
    const EMPTY: Self = Self { bytes: [0; 25], length: 0 };

    /// The flags are Tesla's four unless others are asked for.
    fn new(result: Rounded<u64>, digits: usize, flag_args: &FlagArgs) -> Self {
        let flags = if flag_args.set().is_some() { result.flags } else { result.flags.tesla() };
        let flags = flag_args.text(flags);
        let mut line = Self::EMPTY;
        let mut rest = &mut line.bytes[..];
        writeln!(rest, "{:0digits$x} {flags}", result.value).expect("a line has room for all");
        let free = rest.len();
        line.length = u8::try_from(line.bytes.len() - free).expect("a line is short");
        line
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

fn json(
    args: &Args,
    from: Option<&Origin>,
    to: &Target,
    projection: &Projection,
    words: &Words<'_>,
    out: &mut Output,
) -> Result<()> {
    let mut start = "[\n  ";
    input::for_each(&args.values, out, |datum, out| {
        let (x, column) = match from {
            Some(from) if args.hex => Source::hex(&datum, from)?,
            _ => (Source::text(&datum, from)?, None),
        };
        let result = x.into(to, &words.fill(projection, &datum, column)?);
        let mut object = json!({ "input": datum.text });
        if let (Some(object), Some(code)) =
            (object.as_object_mut(), js::code(&to.format, result.value).as_object())
        {
            object.extend(code.clone());
            object.insert("flags".into(), args.flags.text(result.flags).into());
            if let Some(seed) = words.seed() {
                object.insert("seed".into(), seed.into());
            }
        }
        write!(out, "{start}{object}")?;
        start = ",\n  ";
        Ok(())
    })?;
    writeln!(out, "{}", if start.starts_with('[') { "[]" } else { "\n]" })?;
    Ok(())
}
