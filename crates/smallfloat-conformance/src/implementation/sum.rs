//! [`SumImplementation`]: sums of products as another accumulator adds them.

use smallfloat::{convert, project};

use crate::error::Error;
use crate::vectors::{Accumulate, DotProduct, FixedUnit};

/// A sum of products as another accumulator adds it.
///
/// The accumulator c that a sum begins with, and the result, are rounded to nearest even between
/// the registers of the two, where these differ. A matrix unit begins at zero where the sum does;
/// `exact` also adds c and block scales exactly, and rounds once.
#[derive(Clone, Debug)]
pub struct SumImplementation {
    sum: DotProduct,
    /// Another way to add; without one, exactly.
    other: Option<DotProduct>,
}

impl SumImplementation {
    /// Returns the sum as another accumulator adds it.
    ///
    /// # Errors
    /// A conversion; an accumulator that does not add these formats, does not take block scales, or
    /// begins at zero where the sum has an accumulator to begin with.
    pub fn new(accumulate: Accumulate, unit: &FixedUnit) -> Result<Self, Error> {
        let Some(sum) = unit.dot_product() else {
            return Err(Error::ListSteps { unit: unit.to_string() });
        };
        let other = match (accumulate, sum.scales()) {
            (Accumulate::Exact, _) => None,
            (_, Some(scales)) => Some(DotProduct::scaled(sum.length(), *sum.formats(), accumulate, scales)?),
            (_, None) => Some(DotProduct::new(sum.length(), *sum.formats(), accumulate)?),
        };
        if sum.has_accumulator() && other.as_ref().is_some_and(|other| !other.has_accumulator()) {
            return Err(Error::NoBeginning { accumulate: accumulate.to_string(), unit: unit.to_string() });
        }
        Ok(Self { sum: sum.clone(), other })
    }

    /// Returns the code of the result, in the sum's register.
    ///
    /// # Panics
    /// For another number of codes than the sum has operands.
    pub fn call(&self, codes: &[u64]) -> u64 {
        let register = self.sum.register();
        let nearest = register.default_projection();
        let Some(other) = &self.other else {
            return project(self.sum.exact(codes), &register, &nearest).value;
        };
        let (from, [.., c]) = (other.register(), self.sum.parts(codes));
        let mut operands = codes[..codes.len() - c.len()].to_vec();
        operands.extend(other.has_accumulator().then(|| match c {
            [c] => convert(*c, &register, &from, &from.default_projection()).value,
            _ => 0,
        }));
        let result = other.evaluate(&operands).results()[0];
        convert(result, &from, &register, &nearest).value
    }
}
