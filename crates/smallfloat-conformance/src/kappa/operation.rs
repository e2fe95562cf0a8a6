//! [`MeasuredOperation`]: what κ is measured of.

use std::fmt;
use std::str::FromStr;

use smallfloat::p3109::{Answer, Function, Specialization};
use smallfloat::{Format, Projection};

use crate::error::Error;
use crate::kappa::sweep::MAX_OPERAND_BITS;
use crate::vectors::{CoverageLevel, Field, FixedUnit, LineKind, UnitUnderTest, VectorPlan, VectorUnit};

/// An operation whose results are compared: a function of formats with its rounding,
/// `Exp<bfloat16, Binary8p4se>`, or a sum of products as an accumulator adds them,
/// `Dot<32, e4m3fn, e4m3fn, hopper>`.
#[derive(Clone, Debug)]
pub struct MeasuredOperation {
    definition: Definition,
    operands: Vec<Format>,
    result: Option<Format>,
}

/// What gives the defined results.
#[derive(Clone, Debug)]
pub(crate) enum Definition {
    Function(Box<Specialization>),
    Fixed(Box<FixedUnit>),
}

impl MeasuredOperation {
    /// Returns the formats of the operands.
    pub fn operands(&self) -> &[Format] {
        &self.operands
    }

    /// Returns the format of the result, if there is one.
    pub fn result(&self) -> Option<&Format> {
        self.result.as_ref()
    }

    /// Returns the name without formats.
    pub fn name(&self) -> &'static str {
        match &self.definition {
            Definition::Function(function) => function.function().name(),
            Definition::Fixed(unit) => unit.short_name(),
        }
    }

    /// Returns the function of formats, if it is one.
    pub fn function(&self) -> Option<&Specialization> {
        match &self.definition {
            Definition::Function(function) => Some(function),
            Definition::Fixed(_) => None,
        }
    }

    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the operands of a sum with their names: x0, x1, …, y0, y1, …, scales and c.
    pub fn fields(&self) -> Option<&[Field]> {
        match &self.definition {
            Definition::Function(_) => None,
            Definition::Fixed(unit) => Some(unit.operands()),
        }
    }

    /// Returns how many bits the operands have together.
    pub fn operand_bits(&self) -> u32 {
        self.operands.iter().map(Format::width).sum()
    }

    /// Returns the operands that an implementation is tried on: `None` for all of them, where they
    /// have at most [`MAX_OPERAND_BITS`] bits; of more, and where a level or a number of random
    /// ones is given, those of test vectors, at level 1 unless it is given.
    ///
    /// # Errors
    /// All operands of more bits, or beside a number of random ones; a function for which there are
    /// no vectors.
    pub fn plan(
        &self,
        level: Option<CoverageLevel>,
        seed: u64,
        random: Option<u64>,
    ) -> Result<Option<VectorPlan>, Error> {
        let bits = self.operand_bits();
        let level = match (level, random) {
            (Some(CoverageLevel::Exhaustive), Some(_)) => {
                return Err(Error::NoKinds { kind: LineKind::Random.to_string() });
            }
            (Some(level), _) => level,
            (None, None) if bits <= MAX_OPERAND_BITS => CoverageLevel::Exhaustive,
            (None, _) => CoverageLevel::One,
        };
        if level == CoverageLevel::Exhaustive {
            if bits > MAX_OPERAND_BITS {
                let name = self.name().to_owned();
                return Err(Error::TooManyOperands { name, bits, limit: MAX_OPERAND_BITS });
            }
            return Ok(None);
        }
        let unit: VectorUnit = match &self.definition {
            Definition::Function(function) => UnitUnderTest::new((**function).clone(), None)?.into(),
            Definition::Fixed(unit) => (**unit).clone().into(),
        };
        VectorPlan::new(unit, Some(level), seed, random).map(Some)
    }

    /// The format of the result, where κ is defined.
    ///
    /// # Errors
    /// A result that is no number of a format or more than one; a list of values; a stochastic
    /// rounding mode.
    pub(super) fn one_result(&self) -> Result<&Format, Error> {
        let gives_number = match &self.definition {
            Definition::Function(function) => matches!(
                function.function(),
                Function::Numeric(_)
                    | Function::Scaled(_)
                    | Function::NextGreaterThan
                    | Function::NextLessThan
            ),
            Definition::Fixed(unit) if unit.dot_product().is_none() => {
                return Err(Error::ListSteps { unit: unit.to_string() });
            }
            Definition::Fixed(_) => true,
        };
        let Some(result) = self.result.as_ref().filter(|_| gives_number) else {
            return Err(Error::NotNumeric { name: self.name().to_owned() });
        };
        let projection = self.function().and_then(Specialization::projection);
        if projection.is_some_and(|Projection { rounding, .. }| rounding.is_stochastic()) {
            return Err(Error::Stochastic);
        }
        Ok(result)
    }

    /// The code of the defined result.
    ///
    /// # Errors
    /// What the operation refuses: another number of operands, codes that their formats do not
    /// have.
    pub(super) fn call(&self, operands: &[u64]) -> Result<u64, Error> {
        match &self.definition {
            Definition::Function(function) => match function.call(operands)? {
                Answer::Code(result) => Ok(result.value),
                _ => Err(Error::NotNumeric { name: self.name().to_owned() }),
            },
            Definition::Fixed(unit) => {
                for (code, format) in operands.iter().zip(&self.operands) {
                    format.check_code(*code)?;
                }
                Ok(unit.evaluate(operands)?.results()[0])
            }
        }
    }
}

impl From<Specialization> for MeasuredOperation {
    fn from(function: Specialization) -> Self {
        Self {
            operands: function.operands().to_vec(),
            result: function.result().copied(),
            definition: Definition::Function(Box::new(function)),
        }
    }
}

impl From<&Specialization> for MeasuredOperation {
    fn from(function: &Specialization) -> Self {
        function.clone().into()
    }
}

impl From<FixedUnit> for MeasuredOperation {
    fn from(unit: FixedUnit) -> Self {
        let formats = |fields: &[Field]| fields.iter().filter_map(|field| field.format).collect::<Vec<_>>();
        Self {
            operands: formats(unit.operands()),
            result: formats(unit.results()).first().copied(),
            definition: Definition::Fixed(Box::new(unit)),
        }
    }
}

impl From<&FixedUnit> for MeasuredOperation {
    fn from(unit: &FixedUnit) -> Self {
        unit.clone().into()
    }
}

impl From<&Self> for MeasuredOperation {
    fn from(operation: &Self) -> Self {
        operation.clone()
    }
}

/// With all formats, as it is read.
impl fmt::Display for MeasuredOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.definition {
            Definition::Function(function) => function.fmt(f),
            Definition::Fixed(unit) => unit.fmt(f),
        }
    }
}

impl FromStr for MeasuredOperation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match FixedUnit::named(text) {
            Some(unit) => unit.map(Self::from),
            None => Ok(text.parse::<Specialization>()?.into()),
        }
    }
}
