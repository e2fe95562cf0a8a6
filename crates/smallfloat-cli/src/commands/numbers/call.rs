//! The operands of one call of `eval` in text: codes or values, blocks as `scale [x x x]`, random
//! words as `R=…`.

use std::fmt;
use std::fmt::Display;

use anyhow::{Context, Result, anyhow, bail};
use smallfloat::ops::Integer;
use smallfloat::p3109::{Answer, Argument, Block, Parameter, Specialization};
use smallfloat::text::Literal;
use smallfloat::{Format, RandomBits};

use crate::arguments::input::{InputLine, Place};
use crate::arguments::operands;
use crate::commands::numbers::convert::parse_hex;
use crate::render::text as words;

/// A value that its format lacks.
pub(super) struct RoundedOperand {
    /// The call and the part of it, for messages.
    pub(super) place: String,
    /// The part of the call.
    pub(super) part: String,
    /// What was typed.
    pub(super) text: String,
    pub(super) format: Format,
    /// What it was rounded to.
    pub(super) code: u64,
}

/// An operation that is called with operands in text.
pub(super) struct Caller {
    operation: Specialization,
    parameters: Vec<Parameter>,
    hex: bool,
    exact: bool,
    /// The operands of the last call that had to be rounded.
    rounded: Vec<RoundedOperand>,
    /// All operands' codes in order.
    codes: Vec<u64>,
    /// The random words of a sequence.
    words: Vec<u64>,
}

impl Caller {
    pub(super) fn new(operation: Specialization, hex: bool, exact: bool) -> Self {
        let parameters = operation.parameters().to_vec();
        Self { operation, parameters, hex, exact, rounded: Vec::new(), codes: Vec::new(), words: Vec::new() }
    }

    pub(super) fn operation(&self) -> &Specialization {
        &self.operation
    }

    /// The operands of the last call that had to be rounded to their formats.
    pub(super) fn rounded(&self) -> &[RoundedOperand] {
        &self.rounded
    }

    pub(super) fn is_hex(&self) -> bool {
        self.hex
    }

    /// Returns whether a call needs neither operands nor random words.
    pub(super) fn takes_nothing(&self) -> bool {
        self.parameters.is_empty()
    }

    pub(super) fn call(&mut self, call: &InputLine<'_>) -> Result<Answer> {
        let mut tokens = Tokens { call, rest: call.text };
        self.codes.clear();
        self.rounded.clear();
        self.words.clear();
        let mut ends = Vec::with_capacity(self.parameters.len());
        for i in 0..self.parameters.len() {
            let operand = i + 1;
            match self.parameters[i] {
                Parameter::Code(format) => self.code(&mut tokens, &format, &Part::Whole(operand))?,
                Parameter::Integer(integer) => self.integer(&mut tokens, integer, operand)?,
                Parameter::Sequence(format) => self.sequence(&mut tokens, &format, operand)?,
                Parameter::Block { scale, element } => {
                    self.code(&mut tokens, &scale, &Part::Scale(operand))?;
                    self.sequence(&mut tokens, &element, operand)?;
                }
            }
            ends.push(self.codes.len());
        }
        self.random_words(&mut tokens)?;
        if let Some(token) = tokens.next() {
            return Err(self.wrong(&tokens, &format!("`{}` is too much", words::excerpt(token))));
        }
        let mut start = 0;
        let arguments: Vec<_> = self
            .parameters
            .iter()
            .zip(ends)
            .map(|(parameter, end)| {
                let codes = &self.codes[start..end];
                start = end;
                match parameter {
                    Parameter::Code(_) | Parameter::Integer(_) => Argument::Code(codes[0]),
                    Parameter::Sequence(_) => Argument::Sequence(codes),
                    Parameter::Block { .. } => {
                        Argument::Block(Block { scale: codes[0], elements: &codes[1..] })
                    }
                }
            })
            .collect();
        self.operation.call_blocks(&arguments, &self.words).with_context(|| tokens.place())
    }

    /// How a call is written: `scale [x …] scale [x …] scale`.
    fn shape(&self) -> String {
        let mut words: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Code(_) | Parameter::Integer(_) => "x".into(),
                Parameter::Sequence(_) => "[x …]".into(),
                Parameter::Block { .. } => "scale [x …]".into(),
            })
            .collect();
        words.extend(self.single_word().map(|bits| format!("R=<{} bits>", bits.count())));
        words.extend(self.word_bits().map(|bits| format!("R=[<{} bits> …]", bits.count())));
        words.join(" ")
    }

    /// The bits of a word that rounds a single result, or the scale of one.
    fn single_word(&self) -> Option<RandomBits> {
        match self.operation.projections() {
            [projection, _] => projection.rounding.random_bits(),
            // A query of a projection rounds nothing.
            [projection] if self.operation.result().is_some() && self.operation.random_words() == 0 => {
                projection.rounding.random_bits()
            }
            _ => None,
        }
    }

    /// The bits of the words that round a sequence.
    fn word_bits(&self) -> Option<RandomBits> {
        let projection = self.operation.projection().filter(|_| self.operation.random_words() > 0)?;
        projection.rounding.random_bits()
    }

    fn wrong(&self, tokens: &Tokens<'_>, what: &str) -> anyhow::Error {
        let name = self.operation.function().name();
        match self.parameters.len() {
            0 => anyhow!("{}: {what}; {name} takes no operands", tokens.place()),
            n => {
                let s = if n == 1 { "" } else { "s" };
                anyhow!("{}: {what}; {name} takes {n} operand{s}: write `{}`", tokens.place(), self.shape())
            }
        }
    }

    fn code(&mut self, tokens: &mut Tokens<'_>, format: &Format, part: &Part) -> Result<()> {
        match tokens.next() {
            Some(token) if is_bracket(token) || token.ends_with('=') => Err(self.wrong(
                tokens,
                &format!("{part}: `{}` where a code or a value should be", words::excerpt(token)),
            )),
            Some(token) => self.operand(tokens, token, format, part),
            None => Err(self.wrong(tokens, "an operand is missing")),
        }
    }

    /// Reads one code or value.
    fn operand(&mut self, tokens: &Tokens<'_>, token: &str, format: &Format, part: &Part) -> Result<()> {
        let place = format!("{}{part}", tokens.line());
        let code = match operands::literal(token, self.hex).with_context(|| place.clone())? {
            Literal::Code(code) if code <= format.max_code() => code,
            Literal::Code(_) => {
                let (max, token) = (format.max_code(), words::excerpt(token));
                bail!("{place}: `{token}` is not a code of {format}, 0x0..={max:#x} in hexadecimal")
            }
            Literal::Value(x) if self.exact => operands::exact_code(x, format, token, &place)?,
            Literal::Value(x) => {
                let (code, is_rounded) = operands::rounded_code(x, format, token, &place)?;
                if is_rounded {
                    let (part, text) = (part.to_string(), token.to_owned());
                    self.rounded.push(RoundedOperand { place, part, text, format: *format, code });
                }
                code
            }
        };
        self.codes.push(code);
        Ok(())
    }

    /// Reads an integer, or its word.
    fn integer(&mut self, tokens: &mut Tokens<'_>, integer: Integer, operand: usize) -> Result<()> {
        let Some(token) = tokens.next() else { return Err(self.wrong(tokens, "an operand is missing")) };
        let place = format!("{}{}", tokens.line(), Part::Whole(operand));
        let word = match operands::literal(token, self.hex).with_context(|| place.clone())? {
            Literal::Code(word) => Some(word).filter(|word| *word <= integer.max_word()),
            Literal::Value(x) => integer.word_of_exact(x),
        };
        let token = words::excerpt(token);
        self.codes.push(word.with_context(|| format!("{place}: `{token}` is no {integer}"))?);
        Ok(())
    }

    fn sequence(&mut self, tokens: &mut Tokens<'_>, format: &Format, operand: usize) -> Result<()> {
        if tokens.next() != Some("[") {
            return Err(self.wrong(tokens, "`[` is missing before a sequence of elements"));
        }
        for element in 1.. {
            match tokens.next() {
                Some("]") => break,
                Some(token) if token != "[" => {
                    let part = Part::Element(operand, element);
                    self.operand(tokens, token, format, &part)?;
                }
                _ => return Err(self.wrong(tokens, "`]` is missing after a sequence of elements")),
            }
        }
        Ok(())
    }

    /// The words of stochastic roundings, in the order of the projections.
    fn random_words(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        if let Some(bits) = self.single_word() {
            let count = bits.count();
            let word = match tokens.random() {
                Some("[") => {
                    let what =
                        format!("one random word, not a sequence: R=… with {count} bits in hexadecimal");
                    return Err(self.wrong(tokens, &what));
                }
                Some(token) if token != "]" => tokens.word(token, count, &"R")?,
                _ => {
                    let what =
                        format!("the random word is missing: add R=… with {count} bits in hexadecimal");
                    return Err(self.wrong(tokens, &what));
                }
            };
            let bits = RandomBits::new(count, word)?;
            match self.operation.projections() {
                [_, _] => self.operation.set_scale_random_bits(bits),
                _ => self.operation.set_random_bits(bits),
            }
        }
        if let Some(bits) = self.word_bits() {
            if tokens.random() != Some("[") {
                let missing = "the random words are missing: add R=[… …], a word an element in hexadecimal";
                return Err(self.wrong(tokens, missing));
            }
            for i in 1.. {
                match tokens.next() {
                    Some("]") => break,
                    Some(token) if token != "[" => {
                        self.words.push(tokens.word(
                            token,
                            bits.count(),
                            &format_args!("R=[…], word {i}"),
                        )?);
                    }
                    _ => return Err(self.wrong(tokens, "`]` is missing after the random words")),
                }
            }
        }
        if tokens.peek().is_some_and(is_random) {
            let takes = self.single_word().is_some() || self.word_bits().is_some();
            let what = if takes { "one `R=` too many" } else { "a deterministic rounding takes no R=…" };
            bail!("{}: {what}", tokens.place());
        }
        Ok(())
    }
}

fn is_bracket(token: &str) -> bool {
    matches!(token, "[" | "]")
}

fn is_random(token: &str) -> bool {
    token.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("R="))
}

/// The tokens of a call: brackets, and what blanks and commas separate. `R=[` is two tokens.
struct Tokens<'a> {
    call: &'a InputLine<'a>,
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = match rest
            .char_indices()
            .find(|(_, c)| c.is_ascii_whitespace() || matches!(c, ',' | '[' | ']'))
        {
            Some((0, bracket)) => bracket.len_utf8(),
            Some((at, _)) => at,
            None => rest.len(),
        };
        let (token, rest) = rest.split_at(end);
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }

    /// What follows `R=`, if that is next.
    fn random(&mut self) -> Option<&'a str> {
        let token = self.peek().filter(|token| is_random(token))?;
        self.next();
        match &token[2..] {
            "" => self.next(),
            word => Some(word),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        Tokens { call: self.call, rest: self.rest }.next()
    }

    fn place(&self) -> String {
        format!("{}`{}`", self.line(), words::excerpt(self.call.text))
    }

    /// The line of standard input that the call stands in; arguments are one call and need none.
    fn line(&self) -> String {
        match self.call.place {
            Place::Argument(_) => String::new(),
            Place::Line(_) => format!("{}: ", self.call.place),
        }
    }

    /// A random word of so many bits.
    fn word(&self, token: &str, count: u32, which: &dyn Display) -> Result<u64> {
        let max = u64::MAX >> (64 - count);
        parse_hex(token).filter(|word| *word <= max).ok_or_else(|| {
            let (line, token) = (self.line(), words::excerpt(token));
            anyhow!(
                "{line}{which}: `{token}` is not a random word of {count} bits, 0x0..={max:#x} in hexadecimal"
            )
        })
    }
}

/// A part of a call, each number from 1.
enum Part {
    /// An operand that is a single code.
    Whole(usize),
    /// An operand's scale.
    Scale(usize),
    /// An operand and one of its elements.
    Element(usize, u64),
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(operand) => write!(f, "operand {operand}"),
            Self::Scale(operand) => write!(f, "operand {operand}, scale"),
            Self::Element(operand, element) => write!(f, "operand {operand}, element {element}"),
        }
    }
}
