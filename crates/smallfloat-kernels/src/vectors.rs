//! [`Vectors`]: an elementwise operation by vector kernels, where there are any for it.

use smallfloat::formats::BINARY32;
use smallfloat::ops::{Operation, OperationOptions, Semantics};
use smallfloat::{Flags, Format, NegativeZero, Projection, Rounding};

use crate::Level;

#[cfg(target_arch = "x86_64")]
mod kernels {
    use super::{
        BINARY32, Flags, Format, Level, NegativeZero, Operation, OperationOptions, Projection, Rounding,
        Semantics,
    };
    use crate::arithmetic::{ArithmeticPlan, OrderPlan, Subnormals};
    use crate::fast::Fast;
    use crate::x86_64;

    /// Kernels for one operation on formats of at most 8 bits.
    #[derive(Clone, Debug)]
    pub(crate) struct Vectors {
        proof: x86_64::Avx2,
        way: Way,
        subnormals: [Subnormals; 3],
    }

    #[derive(Clone, Debug)]
    enum Way {
        /// In binary32, then encoded.
        Rounded(Box<(ArithmeticPlan, Fast)>),
        /// One of the operands' codes.
        Chosen(OrderPlan),
    }

    /// Results in binary32 at once: they stay in the first cache.
    const PIECE: usize = 2048;

    impl Vectors {
        pub(crate) fn new(
            level: Level,
            operation: Operation,
            operands: &[Format],
            (to, projection): (&Format, &Projection),
            arithmetic: OperationOptions,
        ) -> Option<Self> {
            let proof = x86_64::Avx2::new(level)?;
            if let Operation::Extremum(which) = operation {
                let plan = OrderPlan::new(which, operands, (to, projection), arithmetic)?;
                return Some(Self { proof, way: Way::Chosen(plan), subnormals: [plan.subnormals; 3] });
            }
            let projection = match arithmetic.semantics {
                Semantics::P3109 => projection.with_negative_zero(NegativeZero::Positive),
                Semantics::Ieee => *projection,
            };
            // The host's sum of opposite terms is +0; toward negative it has to be −0.
            let sign_of_zero =
                arithmetic.semantics == Semantics::Ieee && projection.rounding == Rounding::TowardNegative;
            if projection.rounding.is_stochastic() || sign_of_zero {
                return None;
            }
            let plan = ArithmeticPlan::new(operation, operands, (to, &projection), arithmetic)?;
            let fast = Fast::new(level, &BINARY32, to, &projection)?;
            Some(Self { proof, way: Way::Rounded(Box::new((plan, fast))), subnormals: plan.subnormals })
        }

        /// Does the calling thread's floating-point environment allow it?
        pub(crate) fn is_usable() -> bool {
            x86_64::rounds_to_nearest()
        }

        /// Fills the results, and gives the flags if wanted; `None` if this thread can't.
        pub(crate) fn run(
            &self,
            operands: [&[u8]; 3],
            results: &mut [u8],
            wants_flags: bool,
        ) -> Option<Flags> {
            let mut flags = match &self.way {
                Way::Rounded(way) => self.rounded(&way.0, &way.1, operands, results, wants_flags)?,
                Way::Chosen(plan) => {
                    let [x, y, _] = operands;
                    let nan = x86_64::choose(self.proof, plan, [x, y], results);
                    if nan && wants_flags { Flags::INVALID } else { Flags::NONE }
                }
            };
            let is_subnormal = |(codes, subnormals): (&[u8], &Subnormals)| {
                x86_64::has_subnormal(self.proof, *subnormals, codes)
            };
            if wants_flags && operands.into_iter().zip(&self.subnormals).any(is_subnormal) {
                flags |= Flags::DENORMAL;
            }
            Some(flags)
        }

        fn rounded(
            &self,
            plan: &ArithmeticPlan,
            fast: &Fast,
            operands: [&[u8]; 3],
            results: &mut [u8],
            wants_flags: bool,
        ) -> Option<Flags> {
            let (mut exact, mut flags) = ([0_f32; PIECE], Flags::NONE);
            for (i, results) in results.chunks_mut(PIECE).enumerate() {
                let exact = &mut exact[..results.len()];
                let piece =
                    operands.map(|codes| codes.get(i * PIECE..i * PIECE + results.len()).unwrap_or_default());
                x86_64::compute(self.proof, plan, piece, exact);
                // Flags are properties of a slice: what is raised already needs no second look.
                let settled = !wants_flags
                    || flags.contains(plan.possible)
                    || (flags.contains(Flags::INEXACT)
                        && x86_64::stays_within(self.proof, plan.quiet, exact));
                if settled {
                    fast.encode_only::<f32, u8>(exact, results, false)?;
                } else {
                    flags |= fast.encode::<f32, u8>(exact, results, false)?.flags;
                }
            }
            Some(flags.without(Flags::DENORMAL))
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kernels {
    use super::{Flags, Format, Level, Operation, OperationOptions, Projection};

    /// No vector kernels: a type without values.
    #[derive(Clone, Debug)]
    pub(crate) enum Vectors {}

    impl Vectors {
        pub(crate) fn new(
            _: Level,
            _: Operation,
            _: &[Format],
            _: (&Format, &Projection),
            _: OperationOptions,
        ) -> Option<Self> {
            None
        }

        pub(crate) fn is_usable() -> bool {
            false
        }

        pub(crate) fn run(&self, _: [&[u8]; 3], _: &mut [u8], _: bool) -> Option<Flags> {
            match *self {}
        }
    }
}

pub(crate) use kernels::Vectors;
