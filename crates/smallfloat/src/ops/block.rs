//! Blocks: sequences of elements with one scale, each element standing for scale × element.
//!
//! Source: the P3109 draft (D1 revised, September 2026), sections "Block operations", "Reductions" and "Scaled
//! operations". Every result is rounded once (`block_exact.rs`). A result scale is an operand that is copied, except that
//! ConvertToBlockMaxAbsFinite rounds its own. Flags of an element are those of all its operands and of its rounding.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::ops::block_exact::{Product, Read, element, largest_magnitude, reduce};
use crate::ops::specialization::check_operand;
use crate::ops::{Answer, BlockFunction, Function, Operation, Parameter, Semantics, Specialization};
use crate::projection::{NegativeZero, project};
use crate::{Exact, Flags, Format, Projection, RandomBits, Rounded};

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
    /// The result as an operand.
    pub fn block(&self) -> Block<'_> {
        Block { scale: self.scale.value, elements: &self.elements.codes }
    }
}

/// Where results go: a format, how they are rounded, and the semantics' rule for −0.
struct Target<'a> {
    format: &'a Format,
    how: Projection,
}

impl<'a> Target<'a> {
    fn new(format: &'a Format, how: &Projection, semantics: Semantics) -> Self {
        let how = match semantics {
            Semantics::P3109 => how.with_negative_zero(NegativeZero::Positive),
            Semantics::Ieee => *how,
        };
        Self { format, how }
    }

    fn project(&self, (x, raised): (Exact, Flags)) -> Rounded<u64> {
        let Rounded { value, flags } = project(x, self.format, &self.how);
        Rounded { value, flags: flags.union(raised) }
    }

    /// Each element with its own random word, if the rounding is stochastic.
    fn project_all(
        mut self,
        words: &[u64],
        elements: impl Iterator<Item = (Exact, Flags)>,
    ) -> Result<Sequence, Error> {
        let mut sequence = Sequence::default();
        let mut words = words.iter();
        for element in elements {
            if let (Some(bits), Some(&word)) = (self.how.rounding.random_bits(), words.next()) {
                self.how.rounding = self.how.rounding.with_random_bits(RandomBits::new(bits.count(), word)?);
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
    formats: &[Format],
    to: &Format,
    how: &Projection,
    semantics: Semantics,
) -> Rounded<u64> {
    let mut products = [Product::UNUSED; 3];
    let pairs = codes.chunks_exact(2).zip(formats.chunks_exact(2));
    for (product, (code, format)) in products.iter_mut().zip(pairs) {
        let (scale, element) = (Read::code(code[0], &format[0]), Read::code(code[1], &format[1]));
        *product = Product::new(scale, element, semantics);
    }
    Target::new(to, how, semantics).project(element(operation, products, Read::ONE, semantics))
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

/// A sequence or block operand that was checked.
#[derive(Clone, Copy)]
struct Operand<'a> {
    scale: Read,
    elements: &'a [u64],
    format: Format,
}

impl<'a> Operand<'a> {
    fn new(argument: &Argument<'a>, parameter: &Parameter) -> Option<Self> {
        match (*argument, *parameter) {
            (Argument::Sequence(elements), Parameter::Sequence(format)) => {
                Some(Self { scale: Read::ONE, elements, format })
            }
            (Argument::Block(block), Parameter::Block { scale, element }) => Some(Self {
                scale: Read::code(block.scale, &scale),
                elements: block.elements,
                format: element,
            }),
            _ => None,
        }
    }

    fn products(&self, semantics: Semantics) -> impl Iterator<Item = Product> {
        self.elements.iter().map(move |&x| Product::new(self.scale, Read::code(x, &self.format), semantics))
    }
}

impl Specialization {
    /// Computes one call from codes, sequences and blocks, in the order of [`parameters`](Self::parameters).
    ///
    /// `words` are the random words R of a stochastic rounding to a sequence, one an element (D1 of September 2026,
    /// section "Block operations"); it is empty for all others, whose word is set by
    /// [`set_random_bits`](Self::set_random_bits) and [`set_scale_random_bits`](Self::set_scale_random_bits).
    ///
    /// ```
    /// use smallfloat::ops::{Answer, Argument, Block, Specialization};
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
    /// Arguments of another number or kind than the parameters, a block whose length is not the specialization's, codes
    /// that their formats do not have, and random words that are too many, too few or too large.
    pub fn call_blocks(&self, arguments: &[Argument<'_>], words: &[u64]) -> Result<Answer, Error> {
        let name = || self.function().name();
        let parameters = self.parameters();
        if arguments.len() != parameters.len() {
            let (given, expected) = (arguments.len(), parameters.len());
            return Err(Error::new(ErrorKind::OperandCount { name: name(), given, expected }));
        }
        for (i, (argument, parameter)) in arguments.iter().zip(parameters).enumerate() {
            self.check(argument, parameter, i + 1)?;
        }
        let expected = self.random_words();
        if words.len() != expected {
            return Err(Error::new(ErrorKind::RandomWordCount {
                name: name(),
                given: words.len(),
                expected,
            }));
        }
        let mut codes = arguments.iter().zip(parameters).filter_map(|pair| match pair {
            (Argument::Code(code), Parameter::Code(format)) => Some((*code, *format)),
            _ => None,
        });
        let Function::Block(function) = self.function() else {
            return self.call(&codes.map(|(code, _)| code).collect::<Vec<_>>());
        };
        // No function has more than three sequences and blocks.
        let mut operands = [None; 3];
        let given = arguments.iter().zip(parameters).filter_map(|(x, kind)| Operand::new(x, kind));
        operands.iter_mut().zip(given).for_each(|(place, operand)| *place = Some(operand));
        self.compute(function, &operands, codes.next(), words)
    }

    /// How many random words a call takes: the block length where the result is a sequence and its rounding stochastic.
    pub fn random_words(&self) -> usize {
        let is_stochastic = self.projection().is_some_and(|how| how.rounding.is_stochastic());
        match (self.function(), self.length()) {
            (Function::Block(function), Some(length)) if is_stochastic && function.gives_sequence() => length,
            _ => 0,
        }
    }

    fn check(&self, argument: &Argument<'_>, parameter: &Parameter, operand: usize) -> Result<(), Error> {
        let name = || self.function().name();
        let sequence = |codes: &[u64], format: &Format| {
            let (given, expected) = (codes.len(), self.length().unwrap_or(1));
            if given != expected {
                return Err(Error::new(ErrorKind::BlockLength { name: name(), operand, given, expected }));
            }
            for (i, &code) in codes.iter().enumerate() {
                check_operand(code, format, operand, Some(i + 1))?;
            }
            Ok(())
        };
        let expected = match (*argument, parameter) {
            (Argument::Code(code), Parameter::Code(format)) => {
                return check_operand(code, format, operand, None);
            }
            (Argument::Sequence(codes), Parameter::Sequence(format)) => return sequence(codes, format),
            (Argument::Block(block), Parameter::Block { scale, element }) => {
                check_operand(block.scale, scale, operand, None)?;
                return sequence(block.elements, element);
            }
            (_, Parameter::Code(_)) => "a code",
            (_, Parameter::Sequence(_)) => "a sequence of elements",
            (_, Parameter::Block { .. }) => "a block, a scale with its elements",
        };
        Err(Error::new(ErrorKind::OperandKind { name: name(), operand, expected }))
    }

    fn compute(
        &self,
        function: BlockFunction,
        operands: &[Option<Operand<'_>>; 3],
        scale: Option<(u64, Format)>,
        words: &[u64],
    ) -> Result<Answer, Error> {
        let semantics = self.arithmetic().semantics;
        let (formats, projections) = (self.formats(), self.projections());
        let to = Target::new(&formats[formats.len() - 1], &projections[projections.len() - 1], semantics);
        let column = |i: usize| operands[i].iter().flat_map(|operand| operand.products(semantics));
        let operation = match function {
            BlockFunction::Elementwise(operation) => operation,
            BlockFunction::ConvertToBlock | BlockFunction::ConvertToBlockMaxAbsFinite => Operation::Convert,
            BlockFunction::ConvertFromBlock => {
                let elements = column(0).map(|product| (product.exact, product.flags));
                return to.project_all(words, elements).map(Answer::Sequence);
            }
            BlockFunction::ReduceAdd | BlockFunction::ReduceMultiply | BlockFunction::DotProduct => {
                return Ok(Answer::Code(to.project(reduce(function, column(0), column(1), semantics))));
            }
        };
        let columns: Vec<Vec<_>> =
            operands.iter().flatten().map(|operand| operand.products(semantics).collect()).collect();
        let (scale, divisor) = if let Some((code, format)) = scale {
            (Rounded { value: code, flags: Flags::NONE }, Read::code(code, &format))
        } else {
            let largest = largest_magnitude(columns[0].iter().map(|product| product.exact), semantics);
            let scale = Target::new(&formats[1], &projections[0], semantics).project((largest, Flags::NONE));
            (scale, Read::quiet(formats[1].decode(scale.value)))
        };
        let elements = (0..columns[0].len()).map(|i| {
            let mut products = [Product::UNUSED; 3];
            for (product, column) in products.iter_mut().zip(&columns) {
                *product = column[i];
            }
            element(operation, products, divisor, semantics)
        });
        Ok(Answer::Block(BlockResult { scale, elements: to.project_all(words, elements)? }))
    }
}
