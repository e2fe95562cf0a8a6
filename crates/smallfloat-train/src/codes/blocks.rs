//! [`Blocks`]: matrices whose blocks share scales, along the sums that they are operands of.

use smallfloat::Rounding;
use smallfloat_tensor::{Nonfinite, Quantized, Quantizer, ScaleRule};

use crate::codes::quantizer::Tally;
use crate::config::scheme::BlockScheme;
use crate::config::{OnNonfinite, Round};
use crate::error::Result;

/// A matrix twice: with blocks along its rows, and along its columns. A product takes the one whose
/// blocks lie along its sums, so that each block's scale can be taken out of a part of a sum.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// Blocks of a row; left out where no product wants it any more.
    pub(crate) rows: Option<Quantized<'static>>,
    /// Blocks of a column: the transpose's rows.
    pub(crate) columns: Quantized<'static>,
}

impl Blocks {
    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.columns.codes().len()
    }

    /// Returns the blocks along rows.
    pub(crate) fn rows(&self) -> &Quantized<'static> {
        self.rows.as_ref().expect("only backward passes do without rows")
    }

    /// Returns the bytes of memory that codes and scales take.
    pub(crate) fn bytes(&self) -> usize {
        let of = |tensor: &Quantized<'_>| tensor.codes().len() + tensor.scales().len();
        self.rows.as_ref().map_or(0, of) + of(&self.columns)
    }
}

/// Makes [`Blocks`] of matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockEncoder {
    pub(crate) scheme: BlockScheme,
    pub(crate) rule: Option<ScaleRule>,
    pub(crate) round: Round,
}

impl BlockEncoder {
    /// Returns a matrix with rows of this length twice, and what happened to the first. Random
    /// words are those of the seed and of the stream with the name `name:step:rows`, or `columns`.
    pub(crate) fn encode(
        &self,
        values: &[f32],
        columns: usize,
        (name, step, seed): (&str, u64, u64),
        nonfinite: OnNonfinite,
    ) -> Result<(Blocks, Tally)> {
        let rounding = match self.round {
            Round::NearestEven => None,
            Round::StochasticA => Some(Rounding::stochastic_a(32)?),
        };
        let mut options = self.scheme.options(rounding, self.rule);
        options.seed = rounding.map(|_| seed);
        options.nonfinite = match nonfinite {
            OnNonfinite::Refuse => Nonfinite::Refuse,
            OnNonfinite::Preset => Nonfinite::Preset,
        };
        let quantizer = Quantizer::new(options)?;
        let rows = values.len() / columns.max(1);
        let across = transposed(values, columns);
        let shape = [rows as u64, columns as u64];
        let across =
            quantizer.quantize(&format!("{name}:{step}:columns"), &[shape[1], shape[0]], &across[..])?;
        let along = quantizer.with_report().quantize(&format!("{name}:{step}:rows"), &shape, values)?;
        let report = along.report().expect("the quantizer makes reports");
        let tally = Tally {
            elements: values.len() as u64,
            overflowed: report.overflowed,
            nans: report.nans,
            underflowed: report.underflowed,
        };
        Ok((Blocks { rows: Some(along), columns: across }, tally))
    }
}

/// The columns one after the other.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    let rows = values.len() / columns.max(1);
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}
