//! [`Specialization`]: a function of the P3109 draft with its formats and projections, and how it
//! is called.
//!
//! `Add<binary8p3se, e5m2, binary32, (NearestTiesToEven, SatFinite)>`: any format may stand
//! anywhere. The grammar is in `grammar.rs`, the names are in `function.rs`.

use alloc::vec::Vec;

use crate::format::Format;
use crate::format::error::{Error, ErrorKind};
use crate::format::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use crate::ops;
use crate::ops::Semantics;
use crate::ops::integer::Integer;
use crate::ops::operation::{Operand, OperationOptions};
use crate::p3109::block;
use crate::p3109::function::Function;
use crate::p3109::query::{Found, Property};
use crate::p3109::reader::Reader;
use crate::projection::Projection;
use crate::projection::flag_policy::FlagPolicy;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::rounding::RandomBits;

/// The result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// A code of the result's format, with flags.
    Code(Rounded<u64>),
    /// An integer as a word of its type, with flags.
    Integer(Rounded<u64>),
    /// True or false, with flags.
    Truth(Rounded<bool>),
    /// The name of a class.
    Class(&'static str),
    /// What a query found.
    Property(Property),
    /// One code per element, with flags.
    Sequence(block::Sequence),
    /// A scale and one code per element, with flags.
    Block(block::BlockResult),
}

/// A function with its formats and projections.
///
/// Everything that parses is supplied: `"Exp<…>".parse::<Specialization>()` is the query that the
/// draft's section "Conformance" asks for, and the error says what is not supplied or not legal.
///
/// ```
/// use smallfloat::{p3109::{Answer, Specialization}};
/// // The talk's example of double rounding: x·y + z is a little above a tie.
/// let fma: Specialization = "FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>".parse()?;
/// let Answer::Code(r) = fma.call(&[0x1e, 0x7e, 0x01])? else { unreachable!() };
/// assert_eq!(fma.result().unwrap().decode_text(r.value), "160");
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Specialization {
    function: Function,
    length: Option<usize>,
    /// As spelled: pairs, then the others; operands' come first.
    formats: Vec<Format>,
    projections: Vec<Projection>,
    arithmetic: OperationOptions,
    /// What the operands are, as function and formats say.
    parameters: Vec<Parameter>,
    /// Of the operands' formats, for functions of scales; none for others.
    pub(super) readers: Vec<Reader>,
}

/// What a specialization is built from.
pub(super) struct Parts {
    pub(super) function: Function,
    pub(super) length: Option<usize>,
    pub(super) formats: Vec<Format>,
    pub(super) projections: Vec<Projection>,
    pub(super) arithmetic: OperationOptions,
}

/// The kind of one operand of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// A code of a format.
    Code(Format),
    /// A word of a type of integers.
    Integer(Integer),
    /// As many codes as the block length says.
    Sequence(Format),
    /// A scale, and as many elements as the block length says.
    Block {
        /// The scale's format.
        scale: Format,
        /// The elements' format.
        element: Format,
    },
}

impl Specialization {
    /// Returns a function with its block length (for functions of blocks), its formats in the order
    /// of its spelling, and its projections; without projections, those are the defaults of the
    /// formats that they round to.
    ///
    /// ```
    /// use smallfloat::{formats::{BINARY32, E4M3FN}, ops::Operation, p3109::{Function, Specialization}};
    /// let add = Function::Numeric(Operation::Add);
    /// let add = Specialization::new(add, None, &[E4M3FN, E4M3FN, BINARY32], &[])?;
    /// assert_eq!(add.to_string(), "Add<e4m3fn, e4m3fn, binary32, (NearestTiesToEven, SatNone)>");
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    ///
    /// # Errors
    /// A number of formats or projections that the function does not take, a block length that is
    /// missing, 0, or not the function's business, and combinations that the draft does not define.
    pub fn new(
        function: Function,
        length: Option<usize>,
        formats: &[Format],
        projections: &[Projection],
    ) -> Result<Self, Error> {
        let (name, shape) = (function.name(), function.shape());
        let expected = shape.formats + 2 * shape.pairs;
        if formats.len() != expected {
            return Err(Error::new(ErrorKind::FormatCount { name, given: formats.len(), expected }));
        }
        let projections = match projections.len() {
            0 if shape.projections <= formats.len() => {
                formats[expected - shape.projections..].iter().map(Format::default_projection).collect()
            }
            n if n == shape.projections => projections.to_vec(),
            given => {
                let expected = shape.projections;
                return Err(Error::new(ErrorKind::ProjectionCount { name, given, expected }));
            }
        };
        let arithmetic = OperationOptions::default_for_call(formats);
        Self::build(Parts { function, length, formats: formats.to_vec(), projections, arithmetic })
    }

    /// Checks what the counts of formats and projections do not.
    pub(super) fn build(parts: Parts) -> Result<Self, Error> {
        const MAX_LENGTH: i64 = u32::MAX as i64;
        let Parts { function, length, formats, projections, arithmetic } = parts;
        let name = function.name();
        match (function.shape().has_length, length) {
            (true, Some(length)) => {
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                if !(1..=MAX_LENGTH).contains(&length) {
                    return Err(Error::range("block length", length, 1, MAX_LENGTH));
                }
            }
            (false, None) => {}
            (true, None) => {
                return Err(Error::new(ErrorKind::MissingKey { key: "block length", example: "Some(8)" }));
            }
            (false, Some(_)) => {
                let reason = "it has no blocks, so it takes no block length";
                return Err(Error::new(ErrorKind::NotDefined { name, reason }));
            }
        }
        let is_external = |format: &Format| [BINARY16, BFLOAT16, BINARY32, BINARY64].contains(format);
        let reason = match function {
            Function::TotalOrder if formats.iter().any(is_external) => {
                "not with binary16, bfloat16, binary32 or binary64, whose NaNs have many codes"
            }
            Function::FormatQuery(query) if !query.is_defined(&formats[0]) => {
                "the format has neither subnormals nor a NaN to say so"
            }
            _ => {
                let operands = &formats[..function.shape().operands];
                let parameters = parameters(function, operands);
                let readers = match function {
                    Function::Scaled(_) | Function::Block(_) => Reader::of(operands),
                    _ => Vec::new(),
                };
                return Ok(Self { function, length, formats, projections, arithmetic, parameters, readers });
            }
        };
        Err(Error::new(ErrorKind::NotDefined { name, reason }))
    }

    /// Returns what it computes.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Returns the number of elements of each block; `None` for functions without blocks.
    pub fn length(&self) -> Option<usize> {
        self.length
    }

    /// Returns all formats, in the order of the spelling.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// Returns the operands' formats, a block's scale before its elements.
    pub fn operands(&self) -> &[Format] {
        &self.formats[..self.function.shape().operands]
    }

    /// Returns the result's format, if the result is a code or consists of elements.
    pub fn result(&self) -> Option<&Format> {
        match self.function {
            Function::FormatQuery(query) if !query.gives_code() => None,
            Function::Compare(_)
            | Function::Predicate(_)
            | Function::TotalOrder
            | Function::Class
            | Function::ToInteger(_) => None,
            _ => self.formats.last(),
        }
    }

    /// Returns the type of integers that it converts to or from, if it does.
    pub fn integer(&self) -> Option<Integer> {
        match self.function {
            Function::ToInteger(integer) | Function::FromInteger(integer) => Some(integer),
            _ => None,
        }
    }

    /// Returns the format of the result's scale, if the result is a block.
    pub fn result_scale(&self) -> Option<&Format> {
        use crate::p3109::function::BlockFunction as F;
        let Function::Block(function) = self.function else { return None };
        let is_block =
            matches!(function, F::Elementwise(_) | F::ConvertToBlock | F::ConvertToBlockMaxAbsFinite);
        if is_block { self.formats.get(self.formats.len() - 2) } else { None }
    }

    /// Returns the projection, if the result is rounded; of a block result that of the elements.
    pub fn projection(&self) -> Option<&Projection> {
        self.projections.last()
    }

    /// Returns all projections, in the order of the spelling: that of a rounded scale, then that of
    /// the result.
    pub fn projections(&self) -> &[Projection] {
        &self.projections
    }

    /// Returns semantics, scale, clamping and the policy for flags.
    pub fn arithmetic(&self) -> OperationOptions {
        self.arithmetic
    }

    /// Returns the policy that says when flags are raised.
    pub fn flag_policy(&self) -> FlagPolicy {
        self.arithmetic.flags.unwrap_or_else(|| FlagPolicy::default_for(&self.formats))
    }

    /// Returns the specialization with other semantics, scale, clamping and policy for flags. Its
    /// text has all of these but the policy.
    #[must_use]
    pub fn with_arithmetic(self, arithmetic: OperationOptions) -> Self {
        Self { arithmetic, ..self }
    }

    /// Returns what each operand is.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the specialization with other projections, in the order of the spelling: unlike a
    /// text, they also say what becomes of data that a format does not have.
    ///
    /// # Errors
    /// Another number of projections than the function has.
    pub fn with_projections(&self, projections: &[Projection]) -> Result<Self, Error> {
        let (given, expected) = (projections.len(), self.projections.len());
        if given != expected {
            let name = self.function.name();
            return Err(Error::new(ErrorKind::ProjectionCount { name, given, expected }));
        }
        Ok(Self { projections: projections.to_vec(), ..self.clone() })
    }

    /// Returns the specialization of other formats, in the order of the spelling; projections,
    /// semantics, scale and clamping stay.
    ///
    /// # Errors
    /// Another number of formats than the function has, and combinations that the draft does not
    /// define.
    pub fn with_formats(&self, formats: &[Format]) -> Result<Self, Error> {
        let (given, expected) = (formats.len(), self.formats.len());
        if given != expected {
            return Err(Error::new(ErrorKind::FormatCount { name: self.function.name(), given, expected }));
        }
        let Self { function, length, projections, arithmetic, .. } = self.clone();
        Self::build(Parts { function, length, formats: formats.to_vec(), projections, arithmetic })
    }

    /// Returns the specialization with other random bits for a stochastic rounding.
    #[must_use]
    pub fn with_random_bits(mut self, bits: RandomBits) -> Self {
        self.set_random_bits(bits);
        self
    }

    /// Replaces the random bits of a stochastic rounding of a single result. Sequences take theirs
    /// with each call.
    pub fn set_random_bits(&mut self, bits: RandomBits) {
        if let Some(projection) = self.projections.last_mut() {
            projection.rounding = projection.rounding.with_random_bits(bits);
        }
    }

    /// Replaces the random bits with which ConvertToBlockMaxAbsFinite rounds its scale; nothing for
    /// other functions.
    pub fn set_scale_random_bits(&mut self, bits: RandomBits) {
        if let [projection, _] = &mut self.projections[..] {
            projection.rounding = projection.rounding.with_random_bits(bits);
        }
    }

    /// Computes one call from the operands' codes; scaled operations take scale and element in
    /// turn.
    ///
    /// # Errors
    /// Another number of codes than operands, codes that their formats do not have, and functions
    /// of blocks, which `call_blocks` takes.
    pub fn call(&self, codes: &[u64]) -> Result<Answer, Error> {
        let (name, given, expected) = (self.function.name(), codes.len(), self.function.arity());
        if given != expected && self.length.is_none() {
            return Err(Error::new(ErrorKind::OperandCount { name, given, expected }));
        }
        for (i, (&code, format)) in codes.iter().zip(self.operands()).enumerate() {
            check_operand(code, format, i + 1, None)?;
        }
        // A query of a projection has no format, and no operand that would look at this one.
        let first = self.formats.first().unwrap_or(&BINARY32);
        let mut operands = [Operand::new(0, first); 3];
        for ((operand, &code), format) in operands.iter_mut().zip(codes).zip(&self.formats) {
            *operand = Operand::new(code, format);
        }
        let [x, y, _] = operands;
        let semantics = self.arithmetic.semantics;
        Ok(match self.function {
            Function::Numeric(operation) => Answer::Code(operation.evaluate(
                &operands[..codes.len()],
                &self.formats[codes.len()],
                &self.projections[0],
                self.arithmetic,
            )),
            Function::Compare(which) => Answer::Truth(which.evaluate_with(x, y, self.flag_policy())),
            Function::Predicate(which) => Answer::Truth(quiet(which.holds(x.format, x.code, semantics))),
            Function::TotalOrder => Answer::Truth(quiet(ops::is_total_ordered(x.datum(), y.datum()))),
            Function::Class => Answer::Class(ops::class_name(x.format, x.code)),
            Function::NextGreaterThan => Answer::Code(quiet(match semantics {
                Semantics::P3109 => ops::next_greater_than(x.format, x.code),
                Semantics::Ieee => ops::next_up(x.format, x.code),
            })),
            Function::NextLessThan => Answer::Code(quiet(match semantics {
                Semantics::P3109 => ops::next_less_than(x.format, x.code),
                Semantics::Ieee => ops::next_down(x.format, x.code),
            })),
            Function::FormatQuery(query) => match query.answer(first) {
                Found::Property(property) => Answer::Property(property),
                Found::Code(code) => Answer::Code(quiet(code)),
            },
            Function::ProjectionQuery(query) => Answer::Property(query.answer(&self.projections[0])),
            Function::ToInteger(integer) => {
                let rounding = self.projections[0].rounding;
                Answer::Integer(integer.from_code(x.code, x.format, rounding, self.flag_policy()))
            }
            Function::FromInteger(integer) => {
                check_word(codes[0], integer)?;
                let projection = &self.projections[0];
                Answer::Code(integer.to_code(codes[0], first, projection, self.flag_policy()))
            }
            Function::Scaled(operation) => {
                let to = &self.formats[codes.len()];
                Answer::Code(block::scaled(
                    operation,
                    codes,
                    &self.readers,
                    to,
                    &self.projections[0],
                    semantics,
                    self.flag_policy(),
                ))
            }
            Function::Block(_) => {
                let expected = "a sequence or a block, which `call_blocks` takes";
                return Err(Error::new(ErrorKind::OperandKind { name, operand: 1, expected }));
            }
        })
    }
}

/// Returns whether this is a code of the format. The error names the operand, and in a sequence the
/// element, both from 1.
pub(super) fn check_operand(
    code: u64,
    format: &Format,
    operand: usize,
    element: Option<usize>,
) -> Result<(), Error> {
    if code <= format.max_code() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::OperandCode { operand, element, code, width: format.width() }))
    }
}

/// Returns whether this is a word of the type.
pub(super) fn check_word(word: u64, integer: Integer) -> Result<(), Error> {
    if word <= integer.max_word() {
        Ok(())
    } else {
        let (operand, width) = (1, integer.bits());
        Err(Error::new(ErrorKind::OperandCode { operand, element: None, code: word, width }))
    }
}

/// What the operands are, from their formats in the order of the spelling.
fn parameters(function: Function, formats: &[Format]) -> Vec<Parameter> {
    if let Function::Block(function) = function {
        return block::parameters(function, formats);
    }
    if let Function::FromInteger(integer) = function {
        return alloc::vec![Parameter::Integer(integer)];
    }
    formats.iter().copied().map(Parameter::Code).collect()
}

fn quiet<T>(value: T) -> Rounded<T> {
    Rounded { value, flags: Flags::NONE }
}
