//! [`Defined`]: defined results of many calls of one operation.
//!
//! A monotone function of one operand has few results of a small format; their runs are found with
//! some thousands of exact evaluations, also for 2^32 operands.

use smallfloat::p3109::{Answer, Function, Specialization};

use crate::error::Error;
use crate::monotone::{Runs, is_monotone};

/// Defined results of an operation: computed call by call, or looked up in runs of operands.
#[derive(Clone, Debug)]
pub struct Defined<'a> {
    operation: &'a Specialization,
    runs: Option<Runs>,
}

impl<'a> Defined<'a> {
    /// Returns the defined results of an operation; runs where the function is monotone, the
    /// operand wider than 8 bits, and the result not wider than 16.
    ///
    /// # Errors
    /// What the operation refuses.
    pub fn new(operation: &'a Specialization) -> Result<Self, Error> {
        let parts = (operation.function(), operation.operands(), operation.result(), operation.projection());
        let runs = match parts {
            (Function::Numeric(numeric), [operand], Some(to), Some(projection))
                if operand.width() > 8 && is_monotone(numeric, to, projection) =>
            {
                Some(Runs::new(operand, |code| call(operation, &[code]))?)
            }
            _ => None,
        };
        Ok(Self { operation, runs })
    }

    /// Returns the defined results, each computed by itself.
    pub fn one_by_one(operation: &'a Specialization) -> Self {
        Self { operation, runs: None }
    }

    /// Returns the code of the defined result.
    ///
    /// # Errors
    /// What the operation refuses: another number of operands, codes that their formats do not
    /// have.
    pub fn code(&self, operands: &[u64]) -> Result<u64, Error> {
        match (&self.runs, operands) {
            (Some(runs), &[operand]) => Ok(runs.code(runs.operand().check_code(operand)?)),
            _ => call(self.operation, operands),
        }
    }

    /// Returns how many runs there are, if results are looked up.
    pub fn runs(&self) -> Option<usize> {
        self.runs.as_ref().map(Runs::count)
    }
}

fn call(operation: &Specialization, operands: &[u64]) -> Result<u64, Error> {
    match operation.call(operands)? {
        Answer::Code(result) => Ok(result.value),
        _ => Err(Error::NotNumeric { name: operation.function().name().to_owned() }),
    }
}
