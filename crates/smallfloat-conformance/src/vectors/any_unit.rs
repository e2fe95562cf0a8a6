//! [`VectorUnit`]: what a file of vectors is of.

use std::fmt;
use std::ops::Range;

use smallfloat::{Exact, FlagPolicy, Format, Preset};

use crate::error::Error;
use crate::vectors::dots::DotProduct;
use crate::vectors::explain::Neighbours;
use crate::vectors::fixed::FixedUnit;
use crate::vectors::header::FlagSet;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::ports::Ports;
use crate::vectors::unit::{Field, UnitUnderTest};

/// What vectors are of: a function of formats with its roundings, or a unit that computes in one
/// way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VectorUnit {
    /// A function of formats, which may have ports.
    Function(UnitUnderTest),
    /// A conversion of a list of values, or a sum of products in an accumulator.
    Fixed(FixedUnit),
}

impl From<UnitUnderTest> for VectorUnit {
    fn from(unit: UnitUnderTest) -> Self {
        Self::Function(unit)
    }
}

impl From<&UnitUnderTest> for VectorUnit {
    fn from(unit: &UnitUnderTest) -> Self {
        Self::Function(unit.clone())
    }
}

impl From<FixedUnit> for VectorUnit {
    fn from(unit: FixedUnit) -> Self {
        Self::Fixed(unit)
    }
}

impl From<&Self> for VectorUnit {
    fn from(unit: &Self) -> Self {
        unit.clone()
    }
}

/// The operation, as a header names it.
impl fmt::Display for VectorUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(unit) => unit.operation().fmt(f),
            Self::Fixed(unit) => unit.fmt(f),
        }
    }
}

impl VectorUnit {
    /// Returns the unit that a header names.
    ///
    /// # Errors
    /// An operation that is not understood; ports or a preset that it does not have.
    pub(super) fn parse(
        operation: &str,
        policy: FlagPolicy,
        preset: Option<Preset>,
        ports: Option<&Ports>,
    ) -> Result<Self, Error> {
        if let Some(unit) = FixedUnit::named(operation) {
            let unit = unit?;
            return match (preset, ports) {
                (None, None) => Ok(Self::Fixed(unit)),
                _ => Err(Error::NoChoice { unit: unit.to_string(), what: "preset or ports" }),
            };
        }
        let unit = UnitUnderTest::new(operation.parse()?, preset)?;
        let unit = unit.with_flag_policy(policy, operation.contains("semantics="));
        Ok(Self::Function(match ports {
            Some(ports) => unit.with_ports(ports)?,
            None => unit,
        }))
    }

    /// Returns the function of formats, if it is one.
    pub fn function(&self) -> Option<&UnitUnderTest> {
        match self {
            Self::Function(unit) => Some(unit),
            Self::Fixed(_) => None,
        }
    }

    /// The operation's name without its formats.
    pub(super) fn short_name(&self) -> &'static str {
        match self {
            Self::Function(unit) => unit.operation().function().name(),
            Self::Fixed(unit) => unit.short_name(),
        }
    }

    /// Returns the operands, random words among them.
    pub fn operands(&self) -> &[Field] {
        match self {
            Self::Function(unit) => unit.operands(),
            Self::Fixed(unit) => unit.operands(),
        }
    }

    /// Returns the results.
    pub fn results(&self) -> &[Field] {
        match self {
            Self::Function(unit) => unit.results(),
            Self::Fixed(unit) => unit.results(),
        }
    }

    /// The formats of operands and results, of blocks also those of scales.
    pub(super) fn formats(&self) -> Vec<Format> {
        match self {
            Self::Function(unit) => unit.operation().formats().to_vec(),
            Self::Fixed(unit) => unit.fields().filter_map(|field| field.format).collect(),
        }
    }

    /// What a header says of a matrix unit.
    pub(super) fn described(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Function(_) => Vec::new(),
            Self::Fixed(unit) => unit.dot_product().map(DotProduct::described).unwrap_or_default(),
        }
    }

    /// All operands, of a unit that takes not every code of its only one.
    pub(super) fn codes(&self) -> Option<Vec<Range<u64>>> {
        match self {
            Self::Function(_) => None,
            Self::Fixed(unit) => unit.codes(),
        }
    }

    /// Returns whether there is a result for an operand with this code.
    pub(super) fn takes(&self, field: &Field, code: u64) -> bool {
        match self {
            Self::Function(_) => true,
            Self::Fixed(unit) => unit.takes(field, code),
        }
    }

    /// Returns the ports, if it has any.
    pub fn ports(&self) -> Option<&Ports> {
        self.function().and_then(UnitUnderTest::ports)
    }

    /// Returns the preset that decides what the operation's text does not say.
    pub fn preset(&self) -> Option<Preset> {
        self.function().and_then(UnitUnderTest::preset)
    }

    /// Returns the policy that says when flags are raised, where there is more than one.
    pub fn flag_policy(&self) -> Option<FlagPolicy> {
        self.function().map(UnitUnderTest::flag_policy)
    }

    /// The unit under another policy for flags, if it has one.
    pub(super) fn with_flag_policy(self, policy: FlagPolicy, keeps_semantics: bool) -> Self {
        match self {
            Self::Function(unit) => Self::Function(unit.with_flag_policy(policy, keeps_semantics)),
            Self::Fixed(unit) => Self::Fixed(unit),
        }
    }

    /// The unit whose ports have all the values that they may have.
    pub(super) fn widened(self) -> Result<Self, Error> {
        match self {
            Self::Function(unit) => unit.widened().map(Self::Function),
            Self::Fixed(unit) => Ok(Self::Fixed(unit)),
        }
    }

    /// Returns the flags that lines have where nothing else is said.
    pub fn flags(&self) -> FlagSet {
        match self {
            Self::Function(unit) => FlagSet::of(unit.flag_policy()),
            Self::Fixed(unit) => unit.flags(),
        }
    }

    /// Returns the unit that the ports choose on a line, and the operands that are left for it.
    ///
    /// # Errors
    /// A port's value that is none of those that it has.
    pub fn chosen<'a>(&'a self, operands: &'a [u64]) -> Result<(Self, &'a [u64]), Error> {
        Ok(match self {
            Self::Function(unit) => {
                let (unit, operands) = unit.chosen(operands)?;
                (unit.into(), operands)
            }
            Self::Fixed(_) => (self.clone(), operands),
        })
    }

    /// Returns the ports' names on a line, with their fields, codes and what these mean.
    pub fn port_values<'a>(
        &'a self,
        operands: &'a [u64],
    ) -> impl Iterator<Item = (&'a Field, u64, String)> + use<'a> {
        self.function().into_iter().flat_map(|unit| unit.port_values(operands))
    }

    /// Returns whether these results are the same. `any_nan` takes one NaN for another.
    pub(crate) fn agree(&self, these: &CallOutcome, those: &CallOutcome, any_nan: bool) -> bool {
        let fields = self.results().iter().zip(these.results().iter().zip(those.results()));
        fields.into_iter().all(|(field, (&this, &that))| field.agrees(this, that, any_nan))
    }

    /// Returns the exact result before rounding, where it is one number.
    pub fn exact(&self, operands: &[u64]) -> Option<Exact> {
        match self {
            Self::Function(unit) => unit.exact(operands),
            Self::Fixed(unit) => unit.exact(operands),
        }
    }

    /// Returns where the exact result lies; `None` where the result is it, and for special results.
    pub fn place(&self, operands: &[u64]) -> Option<Neighbours> {
        match self {
            Self::Function(unit) => unit.place(operands),
            Self::Fixed(unit) => unit.place(operands),
        }
    }

    /// Computes the results for operands that fit their fields.
    ///
    /// # Errors
    /// Operands of another number, or too wide for their fields; a value that a port does not have;
    /// an operand for which no result is defined.
    pub fn evaluate(&self, operands: &[u64]) -> Result<CallOutcome, Error> {
        match self {
            Self::Function(unit) => unit.evaluate(operands),
            Self::Fixed(unit) => unit.evaluate(operands),
        }
    }
}
