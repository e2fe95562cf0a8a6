//! [`ExactTable`]: all results of a function over a small format, computed once and rounded as
//! often as one likes.

use alloc::boxed::Box;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::format::error::{Error, ErrorKind};
use crate::ops::Outcome;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::projection::Projection;
use crate::projection::flags::Rounded;

/// The exact results of an operation of one operand for every code of a format of at most 8 bits.
///
/// It takes a few milliseconds to build for the slowest function, and serves every result format
/// and projection.
///
/// ```
/// use smallfloat::{Format, formats::{BFLOAT16, E4M3FN}, ExactTable, math::Elementary, ops::{OperationOptions, Operation}};
/// let exp = ExactTable::new(Operation::Elementary(Elementary::Exp), E4M3FN, OperationOptions::IEEE)?;
/// let one = 0x38;
/// let e = exp.evaluate(one, &BFLOAT16, &BFLOAT16.default_projection());
/// assert_eq!(BFLOAT16.decode(e.value).to_f32(), Some(2.71875));
/// let e = exp.evaluate(one, &E4M3FN, &E4M3FN.default_projection());
/// assert_eq!(E4M3FN.decode(e.value).to_f32(), Some(2.75));
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactTable {
    operation: Operation,
    format: Format,
    arithmetic: OperationOptions,
    outcomes: Box<[Outcome]>,
}

impl ExactTable {
    /// Computes the table.
    ///
    /// # Errors
    /// An operation of more than one operand, and a format of more than 8 bits.
    pub fn new(operation: Operation, format: Format, arithmetic: OperationOptions) -> Result<Self, Error> {
        if operation.arity() != 1 {
            let (name, expected) = (operation.name(), operation.arity());
            return Err(Error::new(ErrorKind::OperandCount { name, given: 1, expected }));
        }
        if format.width() > 8 {
            return Err(Error::range("k", i64::from(format.width()), 2, 8));
        }
        let outcome =
            |code| operation.exact([format.decode(code), Datum::ZERO, Datum::ZERO], arithmetic.semantics);
        let outcomes = format.codes().map(outcome).collect();
        Ok(Self { operation, format, arithmetic, outcomes })
    }

    /// Returns the operation.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns the operands' format.
    pub const fn format(&self) -> &Format {
        &self.format
    }

    /// Returns the exact results by code.
    pub const fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Returns what [`Operation::evaluate`] gives for a code, whose bits above the format's width
    /// are ignored.
    pub fn evaluate(&self, code: u64, to: &Format, projection: &Projection) -> Rounded<u64> {
        let code = code & self.format.max_code();
        let operands = [Operand::new(code, &self.format)];
        self.operation.evaluate_with(&operands, to, projection, self.arithmetic, |_| self.outcome(code))
    }

    /// The exact result of a code of the format.
    fn outcome(&self, code: u64) -> Outcome {
        self.outcomes[usize::try_from(code).expect("a code of at most 8 bits")]
    }
}
