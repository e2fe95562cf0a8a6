//! Which kernel an operation on arrays has.

use std::sync::OnceLock;

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use smallfloat::ops::{Operation, OperationOptions};
use smallfloat::p3109::Function;
use smallfloat::{Bf16, DenormalRule, F16, FlagPolicy};
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_kernels::{Decoder, Elementwise, Encoder, Recode};

use crate::status::Failure;

/// Operations on arrays that are ready to be used, each made when it is first needed.
#[derive(Default)]
pub(crate) struct Kernels {
    /// For results alone: of few elements, of many.
    pub(crate) bare: [OnceLock<Kernel>; 2],
    /// For results and flags.
    pub(crate) flagged: [OnceLock<Kernel>; 2],
}

/// So few elements go through the core; more are worth a table.
pub(crate) const SHORT: usize = 1 << 12;

/// A kernel, by what it converts or computes.
pub(crate) enum Kernel {
    FromBinary32(Encoder<f32>),
    FromBinary64(Encoder<f64>),
    FromBinary16(Encoder<F16>),
    FromBfloat16(Encoder<Bf16>),
    ToBinary32(Decoder<f32>),
    ToBinary64(Decoder<f64>),
    ToBinary16(Decoder<F16>),
    ToBfloat16(Decoder<Bf16>),
    Recode(Recode),
    Elementwise(Elementwise),
    /// Call by call: comparisons, predicates, classes.
    Calls,
}

impl Kernel {
    pub(crate) fn new(unit: &UnitUnderTest, length: usize, has_flags: bool) -> Result<Self, Failure> {
        let operation = unit.operation();
        let (Function::Numeric(numeric), Some(to), Some(projection)) =
            (operation.function(), operation.result(), operation.projection())
        else {
            return Ok(Self::Calls);
        };
        let policy = unit.flag_policy();
        let is_plain = OperationOptions { flags: None, ..operation.arithmetic() } == OperationOptions::IEEE;
        // No kernel has NaNs that a policy chooses. Encoders have Tesla's flags, from which those
        // that differ in NaN and subnormal operands alone follow.
        if numeric == Operation::Convert && is_plain && !policy.is_of_hardware() {
            let from = &operation.operands()[0];
            let tesla = FlagPolicy::TESLA.with_invalid(policy.invalid).with_denormal(policy.denormal);
            let follows = policy.with_bits(tesla.bits) == tesla
                && policy.denormal != DenormalRule::X86
                && !projection.rounding.is_stochastic();
            if !to.is_wide() && (!has_flags || follows) {
                match *from {
                    BINARY32 => return Ok(Self::FromBinary32(Encoder::for_length(to, projection, length)?)),
                    BINARY64 => return Ok(Self::FromBinary64(Encoder::for_length(to, projection, length)?)),
                    BINARY16 => return Ok(Self::FromBinary16(Encoder::for_length(to, projection, length)?)),
                    BFLOAT16 => return Ok(Self::FromBfloat16(Encoder::for_length(to, projection, length)?)),
                    _ => {}
                }
            }
            let is_exact =
                !has_flags && from.fits_in(to) && !from.is_wide() && *projection == to.default_projection();
            match *to {
                BINARY32 if is_exact => return Ok(Self::ToBinary32(Decoder::new(from, None)?)),
                BINARY64 if is_exact => return Ok(Self::ToBinary64(Decoder::new(from, None)?)),
                BINARY16 if is_exact => return Ok(Self::ToBinary16(Decoder::new(from, None)?)),
                BFLOAT16 if is_exact => return Ok(Self::ToBfloat16(Decoder::new(from, None)?)),
                _ if !has_flags
                    && [from, to].iter().all(|format| format.width() <= 8)
                    && !projection.rounding.is_stochastic() =>
                {
                    return Ok(Self::Recode(Recode::new(from, to, projection)?));
                }
                _ => {}
            }
        }
        let kernel = Elementwise::for_length(operation, length)?;
        // Without flags the policies that leave NaN to the projection give the same codes.
        let keeps_vectors = !has_flags && !policy.is_of_hardware() || policy == FlagPolicy::TESLA;
        Ok(Self::Elementwise(if keeps_vectors { kernel } else { kernel.with_policy(policy) }))
    }
}
