//! [`Defined`]: defined results of many calls of one operation.
//!
//! A monotone function of one operand has few results of a small format; their runs are found with
//! some thousands of exact evaluations, also for 2^32 operands.

use smallfloat::p3109::Function;

use crate::error::Error;
use crate::kappa::operation::MeasuredOperation;
use crate::monotone::{Runs, is_monotone};

/// Defined results of an operation: computed call by call, or looked up in runs of operands.
#[derive(Clone, Debug)]
pub struct Defined {
    operation: MeasuredOperation,
    runs: Option<Runs>,
}

impl Defined {
    /// Returns the defined results of an operation; runs where the function is monotone, the
    /// operand wider than 8 bits, and the result not wider than 16.
    ///
    /// # Errors
    /// What the operation refuses.
    pub fn new(operation: impl Into<MeasuredOperation>) -> Result<Self, Error> {
        let operation = operation.into();
        let parts = operation.function().map(|f| (f.function(), f.operands(), f.result(), f.projection()));
        let runs = match parts {
            Some((Function::Numeric(numeric), [operand], Some(to), Some(projection)))
                if operand.width() > 8 && is_monotone(numeric, to, projection) =>
            {
                Some(Runs::new(operand, |code| operation.call(&[code]))?)
            }
            _ => None,
        };
        Ok(Self { operation, runs })
    }

    /// Returns the defined results, each computed by itself.
    pub fn one_by_one(operation: impl Into<MeasuredOperation>) -> Self {
        Self { operation: operation.into(), runs: None }
    }

    /// Returns the code of the defined result.
    ///
    /// # Errors
    /// What the operation refuses: another number of operands, codes that their formats do not
    /// have.
    pub fn code(&self, operands: &[u64]) -> Result<u64, Error> {
        match (&self.runs, operands) {
            (Some(runs), &[operand]) => Ok(runs.code(runs.operand().check_code(operand)?)),
            _ => self.operation.call(operands),
        }
    }

    /// Returns how many runs there are, if results are looked up.
    pub fn runs(&self) -> Option<usize> {
        self.runs.as_ref().map(Runs::count)
    }
}
