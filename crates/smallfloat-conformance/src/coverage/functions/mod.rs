//! [`Function`]: the coverage of functions of formats.
//!
//! Of units with too many operands to try all, bins that the operands' codes decide are combined
//! from representatives of each operand; for all others operands are searched: vectors of level 1,
//! operands solved for, and changes of operands that reached something new. Bins that can't be
//! reached are proved to be so by what results there may be ([`results`]).

mod blocks;
mod corners;
mod lines;
mod possible;
pub(crate) mod results;

use smallfloat::ops::Operation;
use smallfloat::p3109::{BlockFunction, Function as P3109Function};

use crate::coverage::model::cross::Cross;
use crate::coverage::model::crosses::Crosses;
use crate::coverage::model::reach::Witnesses;
use crate::coverage::model::search::Search;
use crate::coverage::model::subject::Subject;
use crate::error::Error;
use crate::features::FeatureSet;
use crate::vectors::{UnitUnderTest, VectorUnit};
use possible::Possible;

/// A function of formats.
#[derive(Debug)]
pub(super) struct Function {
    unit: UnitUnderTest,
    vector_unit: VectorUnit,
    features: FeatureSet,
    crosses: Vec<Cross>,
}

impl Function {
    /// # Errors
    /// A unit with ports: its bins are those of each setting.
    pub(super) fn new(unit: &UnitUnderTest) -> Result<Self, Error> {
        if unit.ports().is_some() {
            let problem = "bins are those of one setting: name the unit without ports".to_owned();
            return Err(Error::Ports { problem });
        }
        let has_poles = match unit.operation().function() {
            P3109Function::Numeric(operation)
            | P3109Function::Scaled(operation)
            | P3109Function::Block(BlockFunction::Elementwise(operation)) => {
                matches!(operation, Operation::Divide | Operation::Recip) || !operation.is_basic()
            }
            _ => false,
        };
        let features = unit.features();
        let mut crosses = Crosses::of(features.list());
        crosses.results();
        crosses.operands();
        crosses.both(has_poles);
        let crosses = crosses.into_all();
        Ok(Self { unit: unit.clone(), vector_unit: unit.into(), features, crosses })
    }
}

impl Subject for Function {
    fn unit(&self) -> &VectorUnit {
        &self.vector_unit
    }

    fn crosses(&self) -> &[Cross] {
        &self.crosses
    }

    fn values(&self, operands: &[u64], values: &mut Vec<i32>) -> bool {
        let Ok(outcome) = self.unit.evaluate(operands) else { return false };
        self.features.values(operands, outcome.results(), outcome.flags, values);
        true
    }

    fn search(&self, search: &mut Search<'_>) -> Result<(), Error> {
        search.take(&lines::codes(&self.unit));
        search.take_level_one()?;
        search.take(&lines::aligned(&self.unit));
        search.take(&lines::aligned_blocks(&self.unit));
        let solved = self.solved(search);
        search.take(&solved);
        search.changes();
        Ok(())
    }

    fn possible<'a>(&'a self, found: &Witnesses) -> Box<dyn Fn(usize, usize) -> bool + 'a> {
        let possible = Possible::new(self, found);
        Box::new(move |at, bin| possible.allows(at, bin))
    }
}
