//! [`SimdElementwise`]: an elementwise operation by kernels, or `None`.

use smallfloat::formats::BINARY32;
use smallfloat::ops::{Operation, OperationOptions, Semantics};
use smallfloat::{Flags, Format, NegativeZero, Rounding};

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::encode::simd::SimdEncoder;
use crate::plan::arithmetic::{ArithmeticPlan, OrderPlan};
use crate::plan::byte_lanes::BytePlan;
use crate::target::Target;

/// Kernels for one operation on formats of at most 8 bits.
#[derive(Clone, Debug)]
pub(crate) struct SimdElementwise {
    machine: Machine,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    /// In lanes of a byte.
    Bytes(BytePlan),
    /// In binary32, then encoded.
    Rounded(Box<(ArithmeticPlan, SimdEncoder)>),
    /// One of the operands' codes.
    Chosen(OrderPlan),
}

/// Results in binary32 at once: they stay in the first cache.
const PIECE: usize = 2048;

impl SimdElementwise {
    pub(crate) fn new(
        level: Level,
        operation: Operation,
        operands: &[Format],
        target: Target<'_>,
        arithmetic: OperationOptions,
    ) -> Option<Self> {
        let machine = Machine::new(level)?;
        if let Operation::Extremum(which) = operation {
            let plan = OrderPlan::new(which, operands, target, arithmetic)?;
            return Some(Self { machine, way: Way::Chosen(plan) });
        }
        let projection = match arithmetic.semantics {
            Semantics::P3109 => target.projection.with_negative_zero(NegativeZero::Positive),
            Semantics::Ieee => *target.projection,
        };
        // The host's sum of opposite terms is +0; toward negative it has to be −0.
        let sign_of_zero =
            arithmetic.semantics == Semantics::Ieee && projection.rounding == Rounding::TowardNegative;
        if projection.rounding.is_stochastic() || sign_of_zero {
            return None;
        }
        let target = Target { projection: &projection, ..target };
        if machine.combines_in_bytes()
            && let Some(plan) = BytePlan::new(operation, operands, target, arithmetic)
        {
            return Some(Self { machine, way: Way::Bytes(plan) });
        }
        let plan = ArithmeticPlan::new(operation, operands, target, arithmetic)?;
        let encoder = SimdEncoder::new(level, &BINARY32, target.format, &projection)?;
        Some(Self { machine, way: Way::Rounded(Box::new((plan, encoder))) })
    }

    /// Returns whether the calling thread's floating-point environment allows it.
    pub(crate) fn is_usable() -> bool {
        Machine::rounds_to_nearest()
    }

    /// Fills the results, and gives the flags if wanted; `None` if this thread can't.
    pub(crate) fn run(&self, operands: [&[u8]; 3], results: &mut [u8], wants_flags: bool) -> Option<Flags> {
        let [x, y, _] = operands;
        let (mut flags, subnormals) = match &self.way {
            Way::Bytes(plan) => return self.machine.combine(plan, [x, y], results, wants_flags),
            Way::Rounded(way) => {
                (self.rounded(&way.0, &way.1, operands, results, wants_flags)?, way.0.subnormals)
            }
            Way::Chosen(plan) => {
                let nan = self.machine.choose(plan, [x, y], results)?;
                let flags = if nan && wants_flags { Flags::INVALID } else { Flags::NONE };
                (flags, [plan.subnormals; 3])
            }
        };
        for (codes, subnormals) in operands.into_iter().zip(subnormals) {
            if wants_flags && self.machine.has_subnormal(subnormals, codes)? {
                flags |= Flags::DENORMAL;
                break;
            }
        }
        Some(flags)
    }

    fn rounded(
        &self,
        plan: &ArithmeticPlan,
        encoder: &SimdEncoder,
        operands: [&[u8]; 3],
        results: &mut [u8],
        wants_flags: bool,
    ) -> Option<Flags> {
        let (mut exact, mut flags) = ([0_f32; PIECE], Flags::NONE);
        for (i, results) in results.chunks_mut(PIECE).enumerate() {
            let exact = &mut exact[..results.len()];
            let piece =
                operands.map(|codes| codes.get(i * PIECE..i * PIECE + results.len()).unwrap_or_default());
            self.machine.compute(plan, piece, exact)?;
            // Flags are properties of a slice: what is raised already needs no second look.
            let settled = !wants_flags
                || flags.contains(plan.possible)
                || (flags.contains(Flags::INEXACT) && self.machine.stays_within(plan.quiet, exact)?);
            if settled {
                encoder.encode_only::<f32, u8>(exact, results, false)?;
            } else {
                flags |= encoder.encode::<f32, u8>(exact, results, false)?.flags;
            }
        }
        Some(flags.without(Flags::DENORMAL))
    }
}
