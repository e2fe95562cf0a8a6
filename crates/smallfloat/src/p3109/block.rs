//! Blocks: sequences of elements with one scale, each element standing for scale × element.
//!
//! Source: the P3109 draft (D1 revised, September 2026), sections "Block operations", "Reductions"
//! and "Scaled operations". Every result is rounded once (`block_exact.rs`). A result scale is an
//! operand that is copied, except that ConvertToBlockMaxAbsFinite rounds its own. Flags of an
//! element are those of all its operands and of its rounding.

use alloc::vec::Vec;

use crate::format::Format;
use crate::format::error::{Error, ErrorKind};
use crate::ops::Semantics;
use crate::ops::operation::Operation;
use crate::p3109::block_exact::{Product, dot, element, largest_magnitude, product, sum};
use crate::p3109::block_fixed::fixed_sum;
use crate::p3109::function::{BlockFunction, Function};
use crate::p3109::reader::{Read, Reader};
use crate::p3109::specialization::{Answer, Parameter, Specialization, check_operand};
use crate::projection::exact::Exact;
use crate::projection::flag_policy::FlagPolicy;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::rounding::RandomBits;
use crate::projection::{NegativeZero, Projection, project};

/// A block operand: the codes of its scale and of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    /// The scale's code.
    pub scale: u64,
    /// The elements' codes, as many as the block length says.
    pub elements: &'a [u64],
}

/// An operand of [`Specialization::call_blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument<'a> {
    /// A code.
    Code(u64),
    /// Codes without a scale.
    Sequence(&'a [u64]),
    /// Codes with a scale.
    Block(Block<'a>),
}

/// A result of several elements.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sequence {
    /// The elements' codes.
    pub codes: Vec<u64>,
    /// The elements' flags, as many as there are codes.
    pub flags: Vec<Flags>,
}

/// A block as a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockResult {
    /// The scale, with the flags of its rounding where it was rounded.
    pub scale: Rounded<u64>,
    /// The elements.
    pub elements: Sequence,
}

impl BlockResult {
    /// Returns the result as an operand.
    pub fn block(&self) -> Block<'_> {
        Block { scale: self.scale.value, elements: &self.elements.codes }
    }
}

/// Where results go: a format, how they are rounded, the semantics' rule for −0, and when flags are
/// raised.
struct Target<'a> {
    format: &'a Format,
    projection: Projection,
    policy: FlagPolicy,
}

impl<'a> Target<'a> {
    fn new(format: &'a Format, projection: &Projection, semantics: Semantics, policy: FlagPolicy) -> Self {
        let projection = match semantics {
            Semantics::P3109 => projection.with_negative_zero(NegativeZero::Positive),
            Semantics::Ieee => *projection,
        };
        Self { format, projection, policy }
    }

    fn project(&self, (x, raised): (Exact, Flags)) -> Rounded<u64> {
        let Rounded { value, flags } = project(x, self.format, &self.projection);
        let rounding = self.projection.rounding;
        Rounded { value, flags: self.policy.raise(raised, &x, flags, self.format, rounding) }
    }

    /// Each element with its own random word, if the rounding is stochastic.
    fn project_all(
        mut self,
        length: usize,
        words: &[u64],
        elements: impl Iterator<Item = (Exact, Flags)>,
    ) -> Result<Sequence, Error> {
        let mut sequence = Sequence { codes: Vec::with_capacity(length), flags: Vec::with_capacity(length) };
        let mut words = words.iter();
        for element in elements {
            if let (Some(bits), Some(&word)) = (self.projection.rounding.random_bits(), words.next()) {
                self.projection.rounding =
                    self.projection.rounding.with_random_bits(RandomBits::new(bits.count(), word)?);
            }
            let Rounded { value, flags } = self.project(element);
            sequence.codes.push(value);
            sequence.flags.push(flags);
        }
        Ok(sequence)
    }
}

/// A scaled operation on codes that were checked, scale and element in turn.
pub(super) fn scaled(
    operation: Operation,
    codes: &[u64],
    readers: &[Reader],
    to: &Format,
    projection: &Projection,
    semantics: Semantics,
    policy: FlagPolicy,
) -> Rounded<u64> {
    let mut products = [Product::UNUSED; 3];
    let pairs = codes.chunks_exact(2).zip(readers.chunks_exact(2));
    for (product, (code, of)) in products.iter_mut().zip(pairs) {
        *product = Product::new(of[0].read(code[0]), of[1].read(code[1]), semantics);
    }
    Target::new(to, projection, semantics, policy).project(element(operation, products, Read::ONE, semantics))
}

/// What a function of blocks takes, from its operands' formats.
pub(super) fn parameters(function: BlockFunction, formats: &[Format]) -> Vec<Parameter> {
    let pairs = formats.chunks_exact(2);
    let scale = pairs.remainder().first().copied();
    match function {
        BlockFunction::ConvertToBlock | BlockFunction::ConvertToBlockMaxAbsFinite => {
            let codes = formats.iter().skip(1).copied().map(Parameter::Code);
            formats.iter().take(1).copied().map(Parameter::Sequence).chain(codes).collect()
        }
        _ => pairs
            .map(|pair| Parameter::Block { scale: pair[0], element: pair[1] })
            .chain(scale.map(Parameter::Code))
            .collect(),
    }
}

/// A sequence or block operand that was checked: codes with their readers, since what codes mean is
/// many words.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    /// A sequence has none.
    pub(super) scale: Option<(u64, &'a Reader)>,
    pub(super) elements: &'a [u64],
    pub(super) reader: &'a Reader,
}

impl Column<'_> {
    #[inline]
    pub(super) fn scale(&self) -> Read {
        self.scale.map_or(Read::ONE, |(code, reader)| reader.read(code))
    }

    /// Inlined, since what is made of several words and of one byte a flag stalls where it goes
    /// through memory.
    #[expect(clippy::inline_always, reason = "twice as fast as a call")]
    #[inline(always)]
    fn product(&self, at: usize, semantics: Semantics) -> Product {
        Product::new(self.scale(), self.reader.read(self.elements[at]), semantics)
    }
}

/// The operands of a function of blocks: no function has more than three sequences and blocks, and
/// a scale for its result.
struct Operands<'a> {
    columns: [Column<'a>; 3],
    count: usize,
    scale: Option<(u64, &'a Reader)>,
}

impl Specialization {
    /// Computes one call from codes, sequences and blocks, in the order of
    /// [`parameters`](Self::parameters).
    ///
    /// `words` are the random words R of a stochastic rounding to a sequence, one an element (D1 of
    /// September 2026, section "Block operations"); it is empty for all others, whose word is set
    /// by [`set_random_bits`](Self::set_random_bits) and
    /// [`set_scale_random_bits`](Self::set_scale_random_bits).
    ///
    /// ```
    /// use smallfloat::{p3109::{Answer, Argument, Block, Specialization}};
    /// let to_block: Specialization = "ConvertToBlockMaxAbsFinite<2, Binary8p4se, Binary8p1uf, Binary4p2sf, \
    ///     (TowardPositive, SatNone), (NearestTiesToEven, SatNone)>".parse()?;
    /// // [3, −1] is about 4 · [3/4, −1/4].
    /// let Answer::Block(r) = to_block.call_blocks(&[Argument::Sequence(&[0x4c, 0xc0])], &[])? else {
    ///     unreachable!()
    /// };
    /// assert_eq!(r.block(), Block { scale: 0x82, elements: &[0x03, 0x09] });
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    ///
    /// # Errors
    /// Arguments of another number or kind than the parameters, a block whose length is not the
    /// specialization's, codes that their formats do not have, and random words that are too many,
    /// too few or too large.
    pub fn call_blocks(&self, arguments: &[Argument<'_>], words: &[u64]) -> Result<Answer, Error> {
        let name = || self.function().name();
        let (given, expected) = (arguments.len(), self.parameters().len());
        if given != expected {
            return Err(Error::new(ErrorKind::OperandCount { name: name(), given, expected }));
        }
        let Function::Block(function) = self.function() else {
            return self.call_codes(arguments, words);
        };
        let operands = self.operands_of(arguments)?;
        self.check_words(words)?;
        self.compute(function, &operands, words)
    }

    /// A call of a function without blocks.
    fn call_codes(&self, arguments: &[Argument<'_>], words: &[u64]) -> Result<Answer, Error> {
        // No function takes more codes: a scaled one three with a scale each.
        let mut codes = [0; 6];
        for (i, (code, argument)) in codes.iter_mut().zip(arguments).enumerate() {
            let Argument::Code(given) = argument else {
                return Err(self.wrong_kind(i + 1, "a code"));
            };
            *code = *given;
        }
        self.check_words(words)?;
        self.call(&codes[..arguments.len()])
    }

    fn check_words(&self, words: &[u64]) -> Result<(), Error> {
        let (given, expected) = (words.len(), self.random_words());
        if given == expected {
            return Ok(());
        }
        Err(Error::new(ErrorKind::RandomWordCount { name: self.function().name(), given, expected }))
    }

    fn wrong_kind(&self, operand: usize, expected: &'static str) -> Error {
        Error::new(ErrorKind::OperandKind { name: self.function().name(), operand, expected })
    }

    /// Returns how many random words a call takes: the block length where the result is a sequence
    /// and its rounding stochastic.
    pub fn random_words(&self) -> usize {
        let is_stochastic = self.projection().is_some_and(|projection| projection.rounding.is_stochastic());
        match (self.function(), self.length()) {
            (Function::Block(function), Some(length)) if is_stochastic && function.gives_sequence() => length,
            _ => 0,
        }
    }

    /// The arguments of a function of blocks, of which there are as many as parameters.
    fn operands_of<'a>(&'a self, arguments: &[Argument<'a>]) -> Result<Operands<'a>, Error> {
        let mut readers = &self.readers[..];
        let unused = Column { scale: None, elements: &[], reader: &readers[0] };
        let mut operands = Operands { columns: [unused; 3], count: 0, scale: None };
        for (i, (argument, parameter)) in arguments.iter().zip(self.parameters()).enumerate() {
            let (scale, elements, reader) = match (*argument, parameter, readers) {
                (Argument::Code(code), Parameter::Code(_), [reader, rest @ ..]) => {
                    check_operand(code, reader.format(), i + 1, None)?;
                    operands.scale = Some((code, reader));
                    readers = rest;
                    continue;
                }
                (Argument::Sequence(elements), Parameter::Sequence(_), [reader, rest @ ..]) => {
                    readers = rest;
                    (None, elements, reader)
                }
                (Argument::Block(block), Parameter::Block { .. }, [scale, reader, rest @ ..]) => {
                    check_operand(block.scale, scale.format(), i + 1, None)?;
                    readers = rest;
                    (Some((block.scale, scale)), block.elements, reader)
                }
                (_, Parameter::Code(_) | Parameter::Integer(_), _) => {
                    return Err(self.wrong_kind(i + 1, "a code"));
                }
                (_, Parameter::Sequence(_), _) => {
                    return Err(self.wrong_kind(i + 1, "a sequence of elements"));
                }
                (_, Parameter::Block { .. }, _) => {
                    return Err(self.wrong_kind(i + 1, "a block, a scale with its elements"));
                }
            };
            self.check_elements(elements, reader.format(), i + 1)?;
            operands.columns[operands.count] = Column { scale, elements, reader };
            operands.count += 1;
        }
        Ok(operands)
    }

    fn check_elements(&self, codes: &[u64], format: &Format, operand: usize) -> Result<(), Error> {
        let expected = self.length().expect("functions of blocks have a length");
        let given = codes.len();
        if given != expected {
            let name = self.function().name();
            return Err(Error::new(ErrorKind::BlockLength { name, operand, given, expected }));
        }
        for (i, &code) in codes.iter().enumerate() {
            check_operand(code, format, operand, Some(i + 1))?;
        }
        Ok(())
    }

    fn compute(
        &self,
        function: BlockFunction,
        Operands { columns, count, scale }: &Operands<'_>,
        words: &[u64],
    ) -> Result<Answer, Error> {
        let semantics = self.arithmetic().semantics;
        let (formats, projections) = (self.formats(), self.projections());
        let policy = self.flag_policy();
        let target = |format: usize, projection: usize| {
            Target::new(&formats[format], &projections[projection], semantics, policy)
        };
        let to = target(formats.len() - 1, projections.len() - 1);
        let [x, y, _] = columns;
        let length = x.elements.len();
        let operation = match function {
            BlockFunction::Elementwise(operation) => operation,
            BlockFunction::ConvertToBlock | BlockFunction::ConvertToBlockMaxAbsFinite => Operation::Convert,
            BlockFunction::ConvertFromBlock => {
                let elements = (0..length).map(|at| {
                    let product = x.product(at, semantics);
                    (product.exact, product.flags)
                });
                return to.project_all(length, words, elements).map(Answer::Sequence);
            }
            BlockFunction::ReduceAdd => {
                let sum =
                    fixed_sum(&[*x]).unwrap_or_else(|| sum((0..length).map(|at| x.product(at, semantics))));
                return Ok(Answer::Code(to.project(sum)));
            }
            BlockFunction::ReduceMultiply => {
                let factors = (0..length).map(|at| x.product(at, semantics));
                return Ok(Answer::Code(to.project(product(factors))));
            }
            BlockFunction::DotProduct => {
                let pairs = (0..length).map(|at| (x.product(at, semantics), y.product(at, semantics)));
                let dot = fixed_sum(&[*x, *y]).unwrap_or_else(|| dot(pairs, semantics));
                return Ok(Answer::Code(to.project(dot)));
            }
        };
        let (scale, divisor) = if let Some((code, reader)) = *scale {
            (Rounded { value: code, flags: Flags::NONE }, reader.read(code))
        } else {
            let elements = (0..length).map(|at| x.product(at, semantics).exact);
            let largest = largest_magnitude(elements, semantics);
            let scale = target(1, 0).project((largest, Flags::NONE));
            (scale, Read::quiet(formats[1].decode(scale.value)))
        };
        let elements = (0..length).map(|at| {
            let mut products = [Product::UNUSED; 3];
            for (product, column) in products.iter_mut().zip(&columns[..*count]) {
                *product = column.product(at, semantics);
            }
            element(operation, products, divisor, semantics)
        });
        Ok(Answer::Block(BlockResult { scale, elements: to.project_all(length, words, elements)? }))
    }
}
