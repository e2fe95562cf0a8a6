//! The operands of one call of `eval` in text: codes or values, blocks as `scale [x x x]`, random words as `R=…`.

use anyhow::{Context, Result, anyhow, bail};
use smallfloat::ops::{Answer, Argument, Block, Parameter, Specialization};
use smallfloat::{Format, RandomBits};

use super::convert::{operand, parse_hex};
use crate::input::Datum;

/// An operation that is called with operands in text.
pub(super) struct Caller {
    operation: Specialization,
    parameters: Vec<Parameter>,
    hex: bool,
    /// All operands' codes in order.
    codes: Vec<u64>,
    /// The random words of a sequence.
    words: Vec<u64>,
}

impl Caller {
    pub(super) fn new(operation: Specialization, hex: bool) -> Self {
        let parameters = operation.parameters();
        Self { operation, parameters, hex, codes: Vec::new(), words: Vec::new() }
    }

    pub(super) fn operation(&self) -> &Specialization {
        &self.operation
    }

    pub(super) fn is_hex(&self) -> bool {
        self.hex
    }

    /// Does a call need neither operands nor random words?
    pub(super) fn takes_nothing(&self) -> bool {
        self.parameters.is_empty()
    }

    pub(super) fn call(&mut self, call: &Datum<'_>) -> Result<Answer> {
        let mut tokens = Tokens { call, rest: call.text };
        self.codes.clear();
        self.words.clear();
        let mut ends = Vec::with_capacity(self.parameters.len());
        for i in 0..self.parameters.len() {
            match self.parameters[i] {
                Parameter::Code(format) => self.code(&mut tokens, &format)?,
                Parameter::Sequence(format) => self.sequence(&mut tokens, &format)?,
                Parameter::Block { scale, element } => {
                    self.code(&mut tokens, &scale)?;
                    self.sequence(&mut tokens, &element)?;
                }
            }
            ends.push(self.codes.len());
        }
        self.random_words(&mut tokens)?;
        if let Some(token) = tokens.next() {
            return Err(self.wrong(&tokens, &format!("`{token}` is too much")));
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
                    Parameter::Code(_) => Argument::Code(codes[0]),
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
                Parameter::Code(_) => "x".into(),
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
            [how, _] => how.rounding.random_bits(),
            // A query of a projection rounds nothing.
            [how] if self.operation.result().is_some() && self.operation.random_words() == 0 => {
                how.rounding.random_bits()
            }
            _ => None,
        }
    }

    /// The bits of the words that round a sequence.
    fn word_bits(&self) -> Option<RandomBits> {
        let how = self.operation.projection().filter(|_| self.operation.random_words() > 0)?;
        how.rounding.random_bits()
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

    fn code(&mut self, tokens: &mut Tokens<'_>, format: &Format) -> Result<()> {
        match tokens.next() {
            Some(token) if is_bracket(token) || token.ends_with('=') => {
                Err(self.wrong(tokens, &format!("`{token}` where a code or a value should be")))
            }
            Some(token) => {
                self.codes.push(tokens.operand(token, format, self.hex)?);
                Ok(())
            }
            None => Err(self.wrong(tokens, "an operand is missing")),
        }
    }

    fn sequence(&mut self, tokens: &mut Tokens<'_>, format: &Format) -> Result<()> {
        if tokens.next() != Some("[") {
            return Err(self.wrong(tokens, "`[` is missing before a sequence of elements"));
        }
        loop {
            match tokens.next() {
                Some("]") => return Ok(()),
                Some(token) if token != "[" => self.codes.push(tokens.operand(token, format, self.hex)?),
                _ => return Err(self.wrong(tokens, "`]` is missing after a sequence of elements")),
            }
        }
    }

    /// The words of stochastic roundings, in the order of the projections.
    fn random_words(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        if let Some(bits) = self.single_word() {
            let missing =
                format!("the random word is missing: add R=… with {} bits in hexadecimal", bits.count());
            let token = tokens.random().filter(|token| !is_bracket(token));
            let word = tokens.word(token.ok_or_else(|| self.wrong(tokens, &missing))?)?;
            let bits = RandomBits::new(bits.count(), word).with_context(|| tokens.place())?;
            match self.operation.projections() {
                [_, _] => self.operation.set_scale_random_bits(bits),
                _ => self.operation.set_random_bits(bits),
            }
        }
        if self.word_bits().is_some() {
            if tokens.random() != Some("[") {
                let missing = "the random words are missing: add R=[… …], a word an element in hexadecimal";
                return Err(self.wrong(tokens, missing));
            }
            loop {
                match tokens.next() {
                    Some("]") => break,
                    Some(token) if token != "[" => self.words.push(tokens.word(token)?),
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
    call: &'a Datum<'a>,
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
        format!("{}: `{}`", self.call.place, self.call.text)
    }

    fn operand(&self, token: &str, format: &Format, hex: bool) -> Result<u64> {
        let datum = Datum { index: self.call.index, place: self.call.place, text: token };
        operand(&datum, format, hex)
    }

    fn word(&self, token: &str) -> Result<u64> {
        parse_hex(token)
            .ok_or_else(|| anyhow!("{}: `{token}` is not a random word in hexadecimal", self.place()))
    }
}
