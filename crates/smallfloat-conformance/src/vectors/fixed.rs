//! [`FixedUnit`]: units that compute in one way.

use std::cmp::Ordering;
use std::fmt;
use std::iter;
use std::ops::Range;
use std::str::FromStr;

use smallfloat::{Codebook, Datum, Exact, FlagPolicy, Flags, Format, Rounded, project_with};
use smallfloat_kernels::Accumulate;

use crate::error::Error;
use crate::vectors::dots::{BlockScales, DotProduct};
use crate::vectors::explain::{Nearer, Neighbours};
use crate::vectors::header::FlagSet;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::unit::Field;

/// A unit that takes no rounding mode, saturation mode, preset or ports: a conversion into a list
/// of values, `Convert<binary32, nf4>`, or out of one, `Convert<nf4, bfloat16>`; or a sum of
/// products as an accumulator adds them, `Dot<32, e4m3fn, e4m3fn, hopper>`, where a matrix unit
/// takes block scales with these, `Dot<64, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>`.
///
/// A number becomes the nearest value of a list, ties by the list's rule; "inexact" is the only
/// flag, and a NaN has no result. A value of a list is rounded as its destination does by default.
///
/// The operands of a sum are all x, all y, all scales of x and all of y if it has some, and with a
/// matrix unit the accumulator c that it begins with; c and the result are codes of binary32, or of
/// binary16 where the unit has that. Units raise no flags, sums that are `exact` or rounded in a
/// format do. A sum that is not a matrix unit's becomes binary32, rounded to nearest even, unless a
/// format accumulates it.
///
/// ```
/// use smallfloat_conformance::vectors::FixedUnit;
/// let unit: FixedUnit = "Convert<binary32, nf4>".parse()?;
/// // 0.04 is nearer to 0.0796 than to 0.
/// assert_eq!(unit.evaluate(&[0x3d23_d70a])?.results(), [8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FixedUnit {
    function: FixedFunction,
    operands: Vec<Field>,
    result: [Field; 1],
}

/// What is computed.
#[derive(Clone, Debug)]
enum FixedFunction {
    ToList(Codebook),
    FromList(Format),
    Dot(Box<DotProduct>),
}

/// What a conversion has on one of its sides.
enum Side {
    List(Codebook),
    Format(Format),
}

impl Side {
    fn parse(name: &str) -> Result<Self, Error> {
        Ok(match name.parse() {
            Ok(codebook) => Self::List(codebook),
            Err(_) => Self::Format(name.parse()?),
        })
    }

    fn field(&self, name: &str) -> Field {
        match self {
            Self::List(codebook) => Field::list(name, *codebook),
            Self::Format(format) => Field::code(name.into(), format),
        }
    }
}

const CONVERT: &str = "Convert";
const DOT: &str = "Dot";

impl FixedUnit {
    /// Returns the conversion into a list or out of one; `None` where neither is one's name.
    ///
    /// # Errors
    /// A name on the other side that is not understood.
    pub fn convert(from: &str, to: &str) -> Option<Result<Self, Error>> {
        let is_list = |name: &str| name.parse::<Codebook>().is_ok();
        (is_list(from) || is_list(to)).then(|| {
            let (from, to) = (Side::parse(from)?, Side::parse(to)?);
            let (operands, result) = (vec![from.field("x")], [to.field("result")]);
            let function = match (from, to) {
                (_, Side::List(codebook)) => FixedFunction::ToList(codebook),
                (Side::List(_), Side::Format(format)) => FixedFunction::FromList(format),
                (Side::Format(_), Side::Format(_)) => unreachable!("one side is a list"),
            };
            Ok(Self { function, operands, result })
        })
    }

    /// Returns the sum of so many products of two formats.
    ///
    /// # Errors
    /// A length out of 1 to 1024; formats that the accumulator does not add.
    pub fn dot(length: usize, x: &Format, y: &Format, accumulate: Accumulate) -> Result<Self, Error> {
        Ok(Self::of_dot(DotProduct::new(length, [*x, *y], accumulate)?))
    }

    /// Returns the sum of so many products of two formats whose blocks have scales.
    ///
    /// # Errors
    /// A length out of 1 to 1024; formats, blocks or an accumulator that no unit with scales has.
    pub fn scaled_dot(
        length: usize,
        x: &Format,
        y: &Format,
        accumulate: Accumulate,
        scales: BlockScales,
    ) -> Result<Self, Error> {
        Ok(Self::of_dot(DotProduct::scaled(length, [*x, *y], accumulate, scales)?))
    }

    fn of_dot(dot: DotProduct) -> Self {
        let result = [Field::code("result".into(), &dot.register())];
        Self { operands: dot.operands(), result, function: FixedFunction::Dot(Box::new(dot)) }
    }

    /// The sum of `Dot<…>`.
    fn parse_dot(parameters: &[&str]) -> Result<Self, Error> {
        let shape = || Error::DotShape { text: format!("{DOT}<{}>", parameters.join(", ")) };
        let [length, x, y, accumulate, scales @ ..] = parameters else { return Err(shape()) };
        let length = length.parse().map_err(|_| shape())?;
        let (x, y, accumulate) = (x.parse()?, y.parse()?, accumulate.replace(' ', "").parse()?);
        let scales = match scales {
            [] => return Self::dot(length, &x, &y, accumulate),
            [format] => BlockScales::new(&format.parse()?),
            [format, block] => {
                BlockScales { format: format.parse()?, block: block.parse().map_err(|_| shape())? }
            }
            _ => return Err(shape()),
        };
        Self::scaled_dot(length, &x, &y, accumulate, scales)
    }

    /// Returns the unit of this name; `None` where it is the name of a function of formats, if of
    /// any.
    ///
    /// # Errors
    /// A name of such a unit with parameters that it does not have.
    pub fn named(text: &str) -> Option<Result<Self, Error>> {
        let (name, parameters) = text.trim().strip_suffix('>')?.split_once('<')?;
        let parameters = split(parameters);
        match parameters[..] {
            _ if name.eq_ignore_ascii_case(DOT) => Some(Self::parse_dot(&parameters)),
            [from, to] if name.eq_ignore_ascii_case(CONVERT) => Self::convert(from, to),
            [from, to, ..] if name.eq_ignore_ascii_case(CONVERT) => {
                let unit = Self::convert(from, to)?;
                Some(unit.and_then(|unit| {
                    Err(Error::NoChoice { unit: unit.to_string(), what: "preset or options" })
                }))
            }
            _ => None,
        }
    }

    /// The operation's name without its formats.
    pub(crate) fn short_name(&self) -> &'static str {
        match self.function {
            FixedFunction::ToList(_) | FixedFunction::FromList(_) => CONVERT,
            FixedFunction::Dot(_) => DOT,
        }
    }

    /// The sum of products, if it is one.
    pub(crate) fn dot_product(&self) -> Option<&DotProduct> {
        match &self.function {
            FixedFunction::Dot(dot) => Some(&**dot),
            FixedFunction::ToList(_) | FixedFunction::FromList(_) => None,
        }
    }

    /// Returns the operands.
    pub fn operands(&self) -> &[Field] {
        &self.operands
    }

    /// Returns the results.
    pub fn results(&self) -> &[Field] {
        &self.result
    }

    /// Returns the flags that lines have where nothing else is said.
    pub fn flags(&self) -> FlagSet {
        match self.dot_product() {
            Some(dot) => dot.policy().map_or(FlagSet::None, FlagSet::of),
            None => FlagSet::of(self.policy()),
        }
    }

    /// The policy of flags, the default of its formats.
    pub(crate) fn policy(&self) -> FlagPolicy {
        FlagPolicy::default_for(self.fields().filter_map(|field| field.format.as_ref()))
    }

    /// Operands and results.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.operands.iter().chain(&self.result)
    }

    /// The lists that it converts between.
    pub(crate) fn lists(&self) -> Vec<Codebook> {
        self.fields().filter_map(|field| field.list).collect()
    }

    /// The conversion with another list in the place of its only one.
    pub(crate) fn with_list(&self, list: Codebook) -> Option<Self> {
        let name = |field: &Field| match (&field.list, &field.format) {
            (Some(_), _) => Some(list.to_string()),
            (None, format) => format.map(|format| format.to_string()),
        };
        let [own] = self.lists()[..] else { return None };
        (own != list).then(|| Self::convert(&name(&self.operands[0])?, &name(&self.result[0])?)?.ok())?
    }

    /// The list that numbers are converted into.
    pub(crate) fn destination(&self) -> Option<Codebook> {
        match self.function {
            FixedFunction::ToList(codebook) => Some(codebook),
            FixedFunction::FromList(_) | FixedFunction::Dot(_) => None,
        }
    }

    /// All operands of a unit that takes not every code: those that are not NaN.
    pub(super) fn codes(&self) -> Option<Vec<Range<u64>>> {
        self.destination()?;
        let format = self.operands[0].format?;
        // Magnitudes ascend, and NaNs come after all others; some formats have one where −0 would
        // be.
        let datum =
            if format.has_infinity() { Datum::Infinite { negative: false } } else { format.max_finite() };
        let end = format.encode(datum).expect("the format has it") + 1;
        let sign = 1 << (format.width() - 1);
        let negative = format.is_signed().then(|| {
            let first = if format.decode(sign).is_nan() { sign + 1 } else { sign };
            let infinite = Datum::Infinite { negative: true };
            let last = format.encode(if format.has_infinity() { infinite } else { format.min_finite() });
            first..last.expect("the format has it") + 1
        });
        Some(iter::once(0..end).chain(negative).collect())
    }

    /// Returns whether there is a result for an operand with this code.
    pub(super) fn takes(&self, field: &Field, code: u64) -> bool {
        self.destination().is_none() || !field.datum(code).is_some_and(|datum| datum.is_nan())
    }

    /// The number that is converted.
    pub(crate) fn source(&self, operands: &[u64]) -> Datum {
        self.operands[0].datum(operands[0]).expect("operands are codes of formats or of lists")
    }

    /// Returns the exact result before rounding.
    pub fn exact(&self, operands: &[u64]) -> Option<Exact> {
        Some(match self.dot_product() {
            Some(dot) => dot.exact(operands),
            None => Exact::from_datum(self.source(operands)),
        })
    }

    /// Returns where the exact result lies; `None` where the result is it, and for special results.
    pub fn place(&self, operands: &[u64]) -> Option<Neighbours> {
        if let Some(format) = &self.result[0].format {
            return Neighbours::of(self.exact(operands)?, format);
        }
        let (codebook, x) = (self.destination()?, self.source(operands));
        let code = codebook.encode(Exact::from_datum(x))?;
        let order = codebook.decode(code).compare(&x);
        if order == Some(Ordering::Equal) {
            return None;
        }
        let rank = codebook.ascending().position(|other| other == code)?;
        let is_below = order == Some(Ordering::Less);
        let at = |rank: usize| (rank < codebook.len()).then(|| u64::from(codebook.code_at(rank)));
        let below = if is_below { at(rank) } else { rank.checked_sub(1).and_then(at) };
        let above = if is_below { at(rank + 1) } else { at(rank) };
        let nearer = below.and(above).map(|_| {
            let middle = codebook.midpoint(if is_below { rank } else { rank - 1 });
            match middle.compare(&x) {
                Some(Ordering::Equal) => Nearer::Tie,
                _ if is_below => Nearer::Below,
                _ => Nearer::Above,
            }
        });
        Some(Neighbours { below, above, nearer })
    }

    /// Computes the results for operands that fit their fields.
    ///
    /// # Errors
    /// Operands of another number; a NaN for a list.
    pub fn evaluate(&self, operands: &[u64]) -> Result<CallOutcome, Error> {
        let (given, expected) = (operands.len(), self.operands.len());
        if given != expected {
            return Err(Error::Count { what: "operands", given, expected });
        }
        let x = || self.source(operands);
        match &self.function {
            FixedFunction::ToList(codebook) => {
                let code = codebook.encode(Exact::from_datum(x()));
                let code = code.ok_or(Error::NoNan { list: codebook.name() })?;
                let is_exact = codebook.decode(code).compare(&x()) == Some(Ordering::Equal);
                let flags = if is_exact { Flags::NONE } else { Flags::INEXACT };
                Ok(CallOutcome::one(code.into(), flags))
            }
            FixedFunction::FromList(to) => {
                let Rounded { value, flags } =
                    project_with(Exact::from_datum(x()), to, &to.default_projection(), self.policy());
                Ok(CallOutcome::one(value, flags))
            }
            FixedFunction::Dot(dot) => Ok(dot.evaluate(operands)),
        }
    }
}

/// The parts between commas; `key=value`, and the parameter `flush` of trees, go on with the part
/// before them, unless they are options of an operation.
fn split(text: &str) -> Vec<&str> {
    let is_option = |part: &str| OPTIONS.iter().any(|option| part.starts_with(option));
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for piece in text.split(',') {
        let (end, part) = (start + piece.len(), piece.trim());
        let goes_on = part.contains('=') && !part.contains(':') && !is_option(part) || part == "flush";
        match parts.last_mut().filter(|_| goes_on) {
            Some(last) => last.end = end,
            None => parts.push(start..end),
        }
        start = end + 1;
    }
    parts.into_iter().map(|part| text[part].trim()).collect()
}

/// What may follow the formats of other operations.
const OPTIONS: [&str; 3] = ["semantics=", "scale=", "clamp="];

impl fmt::Display for FixedUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dot) = self.dot_product() {
            return dot.fmt(f);
        }
        let name = |field: &Field| match (&field.list, &field.format) {
            (Some(list), _) => list.to_string(),
            (None, Some(format)) => format.to_string(),
            (None, None) => unreachable!("sides are formats or lists"),
        };
        write!(f, "{CONVERT}<{}, {}>", name(&self.operands[0]), name(&self.result[0]))
    }
}

impl FromStr for FixedUnit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::named(text).unwrap_or_else(|| Err(Error::NoFixedUnit { text: text.to_owned() }))
    }
}
