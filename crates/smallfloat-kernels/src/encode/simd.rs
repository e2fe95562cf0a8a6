//! [`SimdEncoder`]: the kernels' encoder for one format, or `None`.
//!
//! `None` as the answer of a call means that the portable encoder must do the work: codes are wider
//! than half-words, or the host's floating-point environment is not the usual one.

use smallfloat::{Format, Projection};

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::element::{Code, Element};
use crate::event_counts::EventCounts;
use crate::plan::blocks::PowerScales;
use crate::plan::draw::Draw;
use crate::plan::encode::EncodePlan;
use crate::random::Generator;

/// Calls a kernel if the floating-point environment allows it.
fn usual<R>(call: impl FnOnce() -> Option<R>) -> Option<R> {
    if Machine::rounds_to_nearest() { call() } else { None }
}

/// An encoder by vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimdEncoder {
    plan: EncodePlan,
    machine: Machine,
    /// Of a stochastic rounding.
    draw: Option<Draw>,
}

impl SimdEncoder {
    pub(crate) fn new(level: Level, from: &Format, to: &Format, projection: &Projection) -> Option<Self> {
        let plan = EncodePlan::new(from, to, projection)?;
        Some(Self { machine: Machine::new(level)?, plan, draw: Draw::new(projection.rounding, from) })
    }

    /// Encodes in a deterministic mode, past the caches if `stream`.
    pub(crate) fn encode<T: Element, C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        stream: bool,
    ) -> Option<EventCounts> {
        let tally =
            usual(|| self.machine.encode(&self.plan, T::lanes(source), C::as_codes_mut(codes), stream))?;
        Some(tally.events(&self.plan, source.len()))
    }

    /// As [`encode`](Self::encode), codes only.
    pub(crate) fn encode_only<T: Element, C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        stream: bool,
    ) -> Option<()> {
        usual(|| self.machine.encode_only(&self.plan, T::lanes(source), C::as_codes_mut(codes), stream))
    }

    /// Encodes groups of a length, each with a scale that is a power of two; see
    /// [`Kernels::encode_blocks`].
    pub(crate) fn encode_blocks<C: Code>(
        &self,
        rule: PowerScales,
        length: usize,
        values: &[f32],
        scales: &mut [u8],
        codes: &mut [C],
    ) -> Option<bool> {
        let codes = C::as_codes_mut(codes).bytes()?;
        usual(|| self.machine.encode_blocks(&self.plan, rule, length, values, scales, codes))
    }
}

/// Elements whose words are made at once: they stay in the first cache.
const PIECE: usize = 2048;

impl SimdEncoder {
    /// Encodes by a stochastic rounding with the upper `bits` bits of each element's word, the
    /// first one that of element `first`.
    pub(crate) fn encode_random<T: Element, C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        (generator, level): (&Generator, Level),
        first: u64,
        bits: u32,
    ) -> Option<EventCounts> {
        let draw = self.draw?;
        let mut blocks = [[0; 4]; PIECE / 4 + 1];
        let mut events = EventCounts::default();
        let pieces = source.chunks(PIECE).zip(codes.chunks_mut(PIECE));
        for ((source, codes), first) in pieces.zip((0..).map(|i: u64| first.wrapping_add(i * PIECE as u64))) {
            let offset = (first % 4) as usize;
            let needed = (offset + source.len()).div_ceil(4);
            generator.fill_blocks(level, first / 4, &mut blocks[..needed]);
            let words = &mut blocks.as_flattened_mut()[offset..offset + source.len()];
            // The kernels' own mask is enough for StochasticA.
            let mask = if draw == Draw::A {
                u32::MAX << (32 - bits)
            } else {
                level.vectorize(
                    #[inline(always)]
                    || draw.decide(bits, words),
                );
                u32::MAX
            };
            let tally = self.machine.encode_random(
                &self.plan,
                T::lanes(source),
                C::as_codes_mut(codes),
                words,
                mask,
            )?;
            events = events.merge(tally.events(&self.plan, source.len()));
        }
        Some(events)
    }
}
