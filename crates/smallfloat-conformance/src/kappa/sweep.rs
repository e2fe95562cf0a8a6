//! All operands of an operation, on all threads.

use smallfloat::p3109::Specialization;
use smallfloat_kernels::parallel_fold;

use crate::error::Error;
use crate::kappa::defined::Defined;
use crate::kappa::gauge::{Gauge, GaugeOptions};

/// The most bits of operands that [`sweep`] tries all of.
pub const MAX_OPERAND_BITS: u32 = 32;

/// Calls that a thread takes at once.
const BLOCK_BITS: u32 = 12;

/// Returns how many bits the operands of an operation have.
pub fn operand_bits(operation: &Specialization) -> u32 {
    operation.operands().iter().map(smallfloat::Format::width).sum()
}

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
    operation: &Specialization,
    given: impl Fn(&[u64]) -> u64 + Sync,
    options: GaugeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Gauge, Error> {
    let empty = Gauge::for_operation(operation, options)?;
    let bits = operand_bits(operation);
    if bits > MAX_OPERAND_BITS {
        let name = operation.function().name().to_owned();
        return Err(Error::TooManyOperands { name, bits, limit: MAX_OPERAND_BITS });
    }
    let defined = Defined::new(operation)?;
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
    let merge = |early: Result<Gauge, Error>, late: Result<Gauge, Error>| Ok(early?.merge(late?));
    parallel_fold(1 << (bits - block_bits), || Ok(empty.clone()), block, merge)
}
