//! [`SimdDecoder`]: the kernels' decoder for one format, or `None`.

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::element::{Code, Element};
use crate::plan::decode::DecodePlans;

/// A decoder by kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimdDecoder {
    plans: DecodePlans,
    machine: Machine,
}

impl SimdDecoder {
    /// Returns the decoder at a level that has one.
    pub(crate) fn new(level: Level, plans: &DecodePlans) -> Option<Self> {
        Some(Self { machine: Machine::new(level)?, plans: *plans })
    }

    /// Decodes, past the caches if `stream`; `None` if there is no kernel for these types.
    pub(crate) fn decode<T: Element, C: Code>(
        &self,
        codes: &[C],
        values: &mut [T],
        stream: bool,
    ) -> Option<()> {
        self.machine.decode(&self.plans, C::as_codes(codes), T::lanes_mut(values), stream)
    }
}
