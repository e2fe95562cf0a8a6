//! [`Specialization`]: an operation with its formats, in the P3109 draft's spelling.
//!
//! `Add<binary8p3se, e5m2, binary32, (NearestTiesToEven, SatFinite)>`: the operands' formats, the result's, and the
//! projection, which may be left out. Any format may stand anywhere. Inside the brackets a comma followed by `key=`
//! goes on with the name before it (`docs/semantics.md` S6). After the projection may follow `semantics=ieee` or `p3109`,
//! `scale=L`, and `clamp=operands`.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::error::{Error, ErrorKind, Snippet};
use crate::name::closest;
use crate::ops::{self, Arithmetic, Comparison, Operand, Operation, Predicate, Semantics};
use crate::{Flags, Format, Projection, RandomBits, Rounded, Rounding, Saturation};

/// What a [`Specialization`] computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Function {
    /// A number, rounded into the result's format.
    Numeric(Operation),
    /// A comparison of two codes.
    Compare(Comparison),
    /// A property of one code.
    Predicate(Predicate),
    /// P3109's total order of two codes.
    TotalOrder,
    /// The class of one code.
    Class,
    /// The least datum above.
    NextGreaterThan,
    /// The greatest datum below.
    NextLessThan,
}

/// The result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A code of the result's format, with flags.
    Code(Rounded<u64>),
    /// True or false, with flags.
    Truth(Rounded<bool>),
    /// The name of a class.
    Class(&'static str),
}

/// An operation with its formats and projection.
///
/// ```
/// use smallfloat::ops::{Answer, Specialization};
/// // The talk's example of double rounding: x·y + z is a little above a tie.
/// let fma: Specialization = "FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>".parse()?;
/// let Answer::Code(r) = fma.call(&[0x1e, 0x7e, 0x01])? else { unreachable!() };
/// assert_eq!(fma.result().unwrap().decode_text(r.value), "160");
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Specialization {
    function: Function,
    operands: Vec<Format>,
    result: Option<Format>,
    projection: Option<Projection>,
    arithmetic: Arithmetic,
}

impl Function {
    fn from_name(name: &str) -> Option<Self> {
        let find = |(known, _): &(&str, _)| known.eq_ignore_ascii_case(name);
        let simple = [
            ("TotalOrder", Self::TotalOrder),
            ("Class", Self::Class),
            ("NextGreaterThan", Self::NextGreaterThan),
            ("NextLessThan", Self::NextLessThan),
        ];
        Operation::from_name(name)
            .map(Self::Numeric)
            .or_else(|| {
                Comparison::NAMED
                    .iter()
                    .find(|(n, _)| n.eq_ignore_ascii_case(name))
                    .map(|r| Self::Compare(r.1))
            })
            .or_else(|| {
                Predicate::NAMED
                    .iter()
                    .find(|(n, _)| n.eq_ignore_ascii_case(name))
                    .map(|r| Self::Predicate(r.1))
            })
            .or_else(|| simple.iter().find(|row| find(row)).map(|row| row.1))
    }

    /// The names of all functions, in P3109's spelling where it has one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Operation::all()
            .map(Operation::name)
            .chain(Comparison::NAMED.iter().map(|row| row.0))
            .chain(Predicate::NAMED.iter().map(|row| row.0))
            .chain(["TotalOrder", "Class", "NextGreaterThan", "NextLessThan"])
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Numeric(operation) => operation.name(),
            Self::Compare(which) => {
                Comparison::NAMED.iter().find(|row| row.1 == which).map_or("", |row| row.0)
            }
            Self::Predicate(which) => {
                Predicate::NAMED.iter().find(|row| row.1 == which).map_or("", |row| row.0)
            }
            Self::TotalOrder => "TotalOrder",
            Self::Class => "Class",
            Self::NextGreaterThan => "NextGreaterThan",
            Self::NextLessThan => "NextLessThan",
        }
    }

    /// How many operands it takes.
    pub fn arity(self) -> usize {
        match self {
            Self::Numeric(operation) => operation.arity(),
            Self::Compare(_) | Self::TotalOrder => 2,
            _ => 1,
        }
    }
}

impl Specialization {
    /// What it computes.
    pub fn function(&self) -> Function {
        self.function
    }

    /// The operands' formats.
    pub fn operands(&self) -> &[Format] {
        &self.operands
    }

    /// The result's format, if the result is a code.
    pub fn result(&self) -> Option<&Format> {
        self.result.as_ref()
    }

    /// The projection, if the result is rounded.
    pub fn projection(&self) -> Option<&Projection> {
        self.projection.as_ref()
    }

    /// Semantics, scale and clamping.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// The same with other random bits for a stochastic rounding.
    #[must_use]
    pub fn with_random_bits(mut self, bits: RandomBits) -> Self {
        self.set_random_bits(bits);
        self
    }

    /// Replaces the random bits of a stochastic rounding.
    pub fn set_random_bits(&mut self, bits: RandomBits) {
        if let Some(how) = &mut self.projection {
            how.rounding = how.rounding.with_random_bits(bits);
        }
    }

    /// Computes one call from the operands' codes.
    ///
    /// # Errors
    /// Another number of codes than operands, and codes that their formats do not have.
    pub fn call(&self, codes: &[u64]) -> Result<Answer, Error> {
        if codes.len() != self.operands.len() {
            let (given, expected) = (codes.len(), self.operands.len());
            return Err(Error::new(ErrorKind::OperandCount { name: self.function.name(), given, expected }));
        }
        let mut operands = [Operand::new(0, &self.operands[0]); 3];
        for ((operand, &code), format) in operands.iter_mut().zip(codes).zip(&self.operands) {
            *operand = Operand::new(format.check_code(code)?, format);
        }
        let [x, y, _] = operands;
        let quiet = |value| Rounded { value, flags: Flags::NONE };
        Ok(match (self.function, &self.result, &self.projection) {
            (Function::Numeric(operation), Some(to), Some(how)) => {
                Answer::Code(operation.evaluate(&operands[..codes.len()], to, how, self.arithmetic))
            }
            (Function::Numeric(_), ..) => {
                return Err(Error::new(ErrorKind::MissingKey {
                    key: "result format",
                    example: "Add<e5m2, e5m2, e5m2>",
                }));
            }
            (Function::Compare(which), ..) => Answer::Truth(which.evaluate(x, y)),
            (Function::Predicate(which), ..) => {
                Answer::Truth(quiet_truth(which.holds(x.format, x.code, self.arithmetic.semantics)))
            }
            (Function::TotalOrder, ..) => {
                Answer::Truth(quiet_truth(ops::is_total_ordered(x.datum(), y.datum())))
            }
            (Function::Class, ..) => Answer::Class(ops::class_name(x.format, x.code)),
            (Function::NextGreaterThan, ..) => {
                Answer::Code(quiet(self.next(x, ops::next_greater_than, ops::next_up)))
            }
            (Function::NextLessThan, ..) => {
                Answer::Code(quiet(self.next(x, ops::next_less_than, ops::next_down)))
            }
        })
    }

    fn next(&self, x: Operand<'_>, p3109: fn(&Format, u64) -> u64, ieee: fn(&Format, u64) -> u64) -> u64 {
        match self.arithmetic.semantics {
            Semantics::P3109 => p3109(x.format, x.code),
            Semantics::Ieee => ieee(x.format, x.code),
        }
    }
}

fn quiet_truth(value: bool) -> Rounded<bool> {
    Rounded { value, flags: Flags::NONE }
}

impl FromStr for Specialization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const SHAPE: &str = "`Name<format, …, (rounding, saturation)>`";
        let text = text.trim();
        let wrong = |part: &str, expected| {
            Error::new(ErrorKind::Specialization { part: Snippet::new(part), expected })
        };
        let (name, rest) = text.split_once('<').ok_or_else(|| wrong(text, SHAPE))?;
        let inner = rest.strip_suffix('>').ok_or_else(|| wrong(text, SHAPE))?;
        let name = name.trim();
        let function = Function::from_name(name).ok_or_else(|| {
            let suggestion = closest(name, Function::names().map(|name| (name, name)));
            Error::new(ErrorKind::UnknownOperation { name: Snippet::new(name), suggestion })
        })?;

        let (mut formats, mut projection, mut options) = (Vec::new(), None, Vec::new());
        for part in split(inner) {
            if let Some(inside) = part.strip_prefix('(').and_then(|p| p.strip_suffix(')')) {
                if projection.replace(inside).is_some() {
                    return Err(wrong(part, "one projection"));
                }
            } else if let Some((key, value)) = option(part) {
                options.push((key, value));
            } else {
                formats.push(part.parse::<Format>()?);
            }
        }
        let gives_code = matches!(function, Function::Numeric(_));
        let expected = function.arity() + usize::from(gives_code);
        if formats.len() != expected {
            let given = formats.len();
            return Err(Error::new(ErrorKind::FormatCount { name: function.name(), given, expected }));
        }
        let mut arithmetic = Arithmetic::default_for(&formats);
        for (key, value) in options {
            match (key, value) {
                ("semantics", "ieee") => arithmetic.semantics = Semantics::Ieee,
                ("semantics", "p3109") => arithmetic.semantics = Semantics::P3109,
                ("scale", _) => {
                    arithmetic.scale =
                        value.parse().map_err(|_| wrong(value, "scale=L with an integer L"))?;
                }
                ("clamp", "operands") => arithmetic.operand_clamp = true,
                _ => return Err(wrong(value, "semantics=ieee, semantics=p3109, scale=L or clamp=operands")),
            }
        }
        let result = if gives_code { formats.pop() } else { None };
        let next = matches!(function, Function::NextGreaterThan | Function::NextLessThan);
        let projection = match (&result, projection) {
            (Some(to), None) => Some(to.default_projection()),
            (Some(to), Some(text)) => Some(parse_projection(text, to)?),
            (None, Some(text)) => return Err(wrong(text, "no projection: the result is not rounded")),
            (None, None) => None,
        };
        let result = if next { formats.first().copied() } else { result };
        Ok(Self { function, operands: formats, result, projection, arithmetic })
    }
}

/// An option of the call, told from a format's own keys.
fn option(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    ["semantics", "scale", "clamp"].contains(&key.trim()).then(|| (key.trim(), value.trim()))
}

/// The parts between commas outside of brackets, where `key=` goes on with the part before.
fn split(inner: &str) -> Vec<&str> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    let ends = inner.char_indices().filter_map(|(i, c)| {
        match c {
            '(' | '{' | '<' | '[' => depth += 1,
            ')' | '}' | '>' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return Some(i),
            _ => {}
        }
        None
    });
    for end in ends.chain([inner.len()]) {
        let part = inner[start..end].trim();
        let has_key = part.split_once('=').is_some_and(|(key, _)| !key.contains(':'));
        match parts.last_mut() {
            Some((_, last_end)) if has_key && option(part).is_none() => *last_end = end,
            _ => parts.push((start, end)),
        }
        start = end + 1;
    }
    parts.into_iter().map(|(start, end)| inner[start..end].trim()).collect()
}

/// `NearestTiesToEven, SatFinite`: a rounding mode, a saturation mode, or both.
fn parse_projection(text: &str, to: &Format) -> Result<Projection, Error> {
    let mut how = to.default_projection();
    for word in split(text) {
        if let Some(rounding) = parse_rounding(word)? {
            how.rounding = rounding;
        } else if let Ok(saturation) = word.parse::<Saturation>() {
            how.saturation = saturation;
        } else {
            return Err(Error::new(ErrorKind::Specialization {
                part: Snippet::new(word),
                expected: "a rounding mode (NearestTiesToEven, NearestTiesToAway, TowardPositive, TowardNegative, \
                           TowardZero, ToOdd, StochasticA<8>) or a saturation mode (SatFinite, SatPropagate, SatNone)",
            }));
        }
    }
    Ok(how)
}

/// A rounding mode in P3109's spelling; a stochastic one with its number of bits and the word 0.
fn parse_rounding(word: &str) -> Result<Option<Rounding>, Error> {
    let fixed = [
        ("NearestTiesToEven", Rounding::NearestEven),
        ("NearestTiesToAway", Rounding::NearestAway),
        ("TowardPositive", Rounding::TowardPositive),
        ("TowardNegative", Rounding::TowardNegative),
        ("TowardZero", Rounding::TowardZero),
        ("ToOdd", Rounding::ToOdd),
    ];
    if let Some((_, mode)) = fixed.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Ok(Some(*mode));
    }
    let Some((name, count)) = word.strip_suffix('>').and_then(|w| w.split_once('<')) else { return Ok(None) };
    let mode = match name.trim().to_ascii_lowercase().as_str() {
        "stochastica" => Rounding::StochasticA,
        "stochasticb" => Rounding::StochasticB,
        "stochasticc" => Rounding::StochasticC,
        _ => return Ok(None),
    };
    let count = count.trim().parse().map_err(|_| {
        let expected = "the number of random bits, 1..=60";
        Error::new(ErrorKind::Specialization { part: Snippet::new(count), expected })
    })?;
    RandomBits::new(count, 0).map(|bits| Some(mode(bits)))
}

/// P3109's spelling.
impl fmt::Display for Specialization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<", self.function.name())?;
        for (i, format) in self.operands.iter().enumerate() {
            write!(f, "{}{format}", if i == 0 { "" } else { ", " })?;
        }
        if let (Function::Numeric(_), Some(to), Some(how)) = (self.function, &self.result, &self.projection) {
            write!(f, ", {to}, ({}, {})", P3109Rounding(how.rounding), p3109_saturation(how.saturation))?;
        }
        let Arithmetic { semantics, scale, operand_clamp } = self.arithmetic;
        let result = if matches!(self.function, Function::Numeric(_)) { self.result.as_ref() } else { None };
        if semantics != Arithmetic::default_for(self.operands.iter().chain(result)).semantics {
            let name = if semantics == Semantics::Ieee { "ieee" } else { "p3109" };
            write!(f, ", semantics={name}")?;
        }
        if scale != 0 {
            write!(f, ", scale={scale}")?;
        }
        f.write_str(if operand_clamp { ", clamp=operands>" } else { ">" })
    }
}

struct P3109Rounding(Rounding);

impl fmt::Display for P3109Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Rounding::NearestEven => "NearestTiesToEven",
            Rounding::NearestAway => "NearestTiesToAway",
            Rounding::TowardPositive => "TowardPositive",
            Rounding::TowardNegative => "TowardNegative",
            Rounding::TowardZero => "TowardZero",
            Rounding::ToOdd => "ToOdd",
            Rounding::StochasticA(bits) => return write!(f, "StochasticA<{}>", bits.count()),
            Rounding::StochasticB(bits) => return write!(f, "StochasticB<{}>", bits.count()),
            Rounding::StochasticC(bits) => return write!(f, "StochasticC<{}>", bits.count()),
        })
    }
}

fn p3109_saturation(saturation: Saturation) -> &'static str {
    match saturation {
        Saturation::SatFinite => "SatFinite",
        Saturation::SatPropagate => "SatPropagate",
        Saturation::SatNone => "SatNone",
        Saturation::SatNoneV40 => "SatNone-V40",
    }
}
