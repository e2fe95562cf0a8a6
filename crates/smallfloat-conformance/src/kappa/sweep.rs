//! All operands of an operation, or those of a plan, on all threads.

use smallfloat_kernels::parallel_fold;

use crate::error::Error;
use crate::kappa::defined::Defined;
use crate::kappa::gauge::{Gauge, GaugeOptions};
use crate::kappa::operation::MeasuredOperation;
use crate::vectors::VectorPlan;

/// The most bits of operands that [`sweep`] tries all of.
pub const MAX_OPERAND_BITS: u32 = 32;

/// Calls that a thread takes at once: all operands of the last so many bits, and lines of a plan.
const BLOCK_BITS: u32 = 12;
const BLOCK_LINES: u64 = 256;

/// Compares the results of an implementation with the defined ones for all operands, in ascending
/// order of their codes with the first operand as the leading one. `given` gets the operands' codes
/// and gives the result's; `progress` gets numbers of calls as they are done, from any thread. The
/// findings do not depend on the number of threads.
///
/// Defined results come from [`Defined`].
///
/// # Errors
/// More than 2^[`MAX_OPERAND_BITS`] operands, and what [`Gauge::for_operation`] refuses.
pub fn sweep(
    operation: impl Into<MeasuredOperation>,
    given: impl Fn(&[u64]) -> u64 + Sync,
    options: GaugeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Gauge, Error> {
    let operation = operation.into();
    let empty = Gauge::for_operation(&operation, options)?;
    let bits = operation.operand_bits();
    if bits > MAX_OPERAND_BITS {
        let name = operation.name().to_owned();
        return Err(Error::TooManyOperands { name, bits, limit: MAX_OPERAND_BITS });
    }
    let defined = Defined::new(&operation)?;
    let formats = operation.operands();
    let block_bits = bits.min(BLOCK_BITS);
    let block = |gauge: Result<Gauge, Error>, block: u64| {
        let mut gauge = gauge?;
        let mut operands = vec![0; formats.len()];
        let operands = &mut operands[..];
        for i in 0..1_u64 << block_bits {
            let mut rest = (block << block_bits) + i;
            for (operand, format) in operands.iter_mut().zip(formats).rev() {
                *operand = rest & format.max_code();
                rest = rest.checked_shr(format.width()).unwrap_or(0);
            }
            gauge.compare(operands, &[defined.code(operands)?], &[given(operands)]);
        }
        progress(1 << block_bits);
        Ok(gauge)
    };
    parallel_fold(1 << (bits - block_bits), || Ok(empty.clone()), block, merge)
}

/// Compares as [`sweep`] does, for the operands of a plan, in its order; without a plan, for all of
/// them. κ over a plan's operands is a lower bound. [`MeasuredOperation::plan`] makes plans.
///
/// # Errors
/// A plan for another number of operands, and what [`sweep`] refuses.
pub fn measure(
    operation: impl Into<MeasuredOperation>,
    plan: Option<&VectorPlan>,
    given: impl Fn(&[u64]) -> u64 + Sync,
    options: GaugeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Gauge, Error> {
    let Some(plan) = plan else { return sweep(operation, given, options, progress) };
    let operation = operation.into();
    let empty = Gauge::for_operation(&operation, options)?;
    let (width, expected) = (plan.width(), operation.operands().len());
    if width != expected {
        return Err(Error::Count { what: "operands", given: width, expected });
    }
    let defined = Defined::one_by_one(&operation);
    let block = |gauge: Result<Gauge, Error>, block: u64| {
        let mut gauge = gauge?;
        let operands = operands_of(plan, block);
        for operands in operands.chunks_exact(width) {
            gauge.compare(operands, &[defined.code(operands)?], &[given(operands)]);
        }
        progress((operands.len() / width) as u64);
        Ok(gauge)
    };
    parallel_fold(plan.lines().div_ceil(BLOCK_LINES), || Ok(empty.clone()), block, merge)
}

/// The operands of a block of lines.
fn operands_of(plan: &VectorPlan, block: u64) -> Vec<u64> {
    let lines = block * BLOCK_LINES..plan.lines().min((block + 1) * BLOCK_LINES);
    let count = usize::try_from(lines.end - lines.start).expect("a block has few lines");
    let mut operands = vec![0; plan.width() * count];
    plan.fill(lines, &mut operands);
    operands
}

fn merge(early: Result<Gauge, Error>, late: Result<Gauge, Error>) -> Result<Gauge, Error> {
    Ok(early?.merge(late?))
}
