//! [`Fast`] and [`FastDecode`]: vector kernels chosen for one format, or the news that there are none.
//!
//! Whoever holds one may call it; `None` as an answer means that the twin must do the work: the codes are wider than bytes,
//! the other side is no binary32 inside, or the host's floating-point environment is not the usual one.

use smallfloat::{Format, Projection};

use crate::decode_plan::DecodePlan;
#[cfg(target_arch = "x86_64")]
use crate::plan::Plan;
use crate::{Code, Element, Events, Generator, Level};

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{Code, DecodePlan, Element, Events, Format, Generator, Level, Plan, Projection};
    use crate::element::{Halves, Lanes};
    use crate::tally::Tally;
    use crate::x86_64;

    /// An encoder by vectors.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Fast {
        plan: Plan,
        vectors: x86_64::Vectors,
    }

    /// Calls a kernel with the source as the type it has.
    macro_rules! with_lanes {
        ($source:expr, |$x:ident| $call:expr) => {
            match $source {
                Lanes::F32($x) => Some($call),
                Lanes::F16($x) => Some($call),
                Lanes::Bf16($x) => Some($call),
                Lanes::Other => None,
            }
        };
    }

    impl Fast {
        pub(crate) fn new(level: Level, format: &Format, how: &Projection) -> Option<Self> {
            Some(Self { vectors: x86_64::Vectors::new(level)?, plan: Plan::new(format, how)? })
        }

        /// Encodes to nearest even, past the caches if `stream`.
        pub(crate) fn encode<T: Element, C: Code>(
            &self,
            source: &[T],
            codes: &mut [C],
            stream: bool,
        ) -> Option<Events> {
            let codes = C::as_bytes_mut(codes).filter(|_| x86_64::rounds_to_nearest())?;
            Some(self.nearest(T::lanes(source), codes, stream)?.events(&self.plan, source.len()))
        }

        /// As [`encode`](Self::encode), codes only.
        pub(crate) fn encode_only<T: Element, C: Code>(
            &self,
            source: &[T],
            codes: &mut [C],
            stream: bool,
        ) -> Option<()> {
            let codes = C::as_bytes_mut(codes).filter(|_| x86_64::rounds_to_nearest())?;
            self.nearest_only(T::lanes(source), codes, stream)
        }
    }

    /// The kernels by source. Not generic, so that they are compiled in this crate and nowhere else.
    impl Fast {
        fn nearest(&self, source: Lanes<'_>, codes: &mut [u8], stream: bool) -> Option<Tally> {
            with_lanes!(source, |x| x86_64::encode(self.vectors, &self.plan, x, codes, stream))
        }

        fn nearest_only(&self, source: Lanes<'_>, codes: &mut [u8], stream: bool) -> Option<()> {
            with_lanes!(source, |x| x86_64::encode_only(self.vectors, &self.plan, x, codes, stream))
        }

        fn stochastic(&self, source: Lanes<'_>, codes: &mut [u8], words: &[u32], mask: u32) -> Option<Tally> {
            with_lanes!(source, |x| x86_64::encode_random(self.vectors, &self.plan, x, codes, words, mask))
        }
    }

    /// Elements whose words are made at once: they stay in the first cache.
    const PIECE: usize = 2048;

    impl Fast {
        /// Encodes by StochasticA with the upper `bits` bits of each element's word, the first one that of element `first`.
        pub(crate) fn encode_random<T: Element, C: Code>(
            &self,
            source: &[T],
            codes: &mut [C],
            (generator, level): (&Generator, Level),
            first: u64,
            bits: u32,
        ) -> Option<Events> {
            let mask = u32::MAX << (32 - bits);
            let mut blocks = [[0; 4]; PIECE / 4 + 1];
            let mut events = Events::default();
            let pieces = source.chunks(PIECE).zip(codes.chunks_mut(PIECE));
            for ((source, codes), first) in
                pieces.zip((0..).map(|i: u64| first.wrapping_add(i * PIECE as u64)))
            {
                let codes = C::as_bytes_mut(codes)?;
                let offset = (first % 4) as usize;
                let needed = (offset + source.len()).div_ceil(4);
                generator.fill_blocks(level, first / 4, &mut blocks[..needed]);
                let words = &blocks.as_flattened()[offset..offset + source.len()];
                let tally = self.stochastic(T::lanes(source), codes, words, mask)?;
                events = events.merge(tally.events(&self.plan, source.len()));
            }
            Some(events)
        }
    }

    /// A decoder by vectors.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct FastDecode {
        plan: DecodePlan,
        vectors: x86_64::Vectors,
    }

    impl FastDecode {
        pub(crate) fn new(level: Level, plan: &DecodePlan) -> Option<Self> {
            Some(Self { vectors: x86_64::Vectors::new(level)?, plan: *plan })
        }

        /// Decodes, past the caches if `stream`.
        pub(crate) fn decode<T: Element, C: Code>(
            &self,
            codes: &[C],
            values: &mut [T],
            stream: bool,
        ) -> Option<()> {
            let codes = C::as_bytes(codes)?;
            self.halves(codes, T::halves(values), stream)
        }

        /// Not generic, so that the kernels are compiled in this crate and nowhere else.
        fn halves(&self, codes: &[u8], values: Halves<'_>, stream: bool) -> Option<()> {
            match values {
                Halves::F32(values) => x86_64::decode(self.vectors, &self.plan, codes, values, stream),
                Halves::Bf16(values) => x86_64::decode(self.vectors, &self.plan, codes, values, stream),
                Halves::Other => return None,
            }
            Some(())
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod vector {
    use super::{Code, DecodePlan, Element, Events, Format, Generator, Level, Projection};

    /// No vector kernels: a type without values.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Fast {}

    impl Fast {
        pub(crate) fn new(_: Level, _: &Format, _: &Projection) -> Option<Self> {
            None
        }

        pub(crate) fn encode<T: Element, C: Code>(&self, _: &[T], _: &mut [C], _: bool) -> Option<Events> {
            match *self {}
        }

        pub(crate) fn encode_only<T: Element, C: Code>(&self, _: &[T], _: &mut [C], _: bool) -> Option<()> {
            match *self {}
        }

        pub(crate) fn encode_random<T: Element, C: Code>(
            &self,
            _: &[T],
            _: &mut [C],
            _: (&Generator, Level),
            _: u64,
            _: u32,
        ) -> Option<Events> {
            match *self {}
        }
    }

    /// No vector kernels: a type without values.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum FastDecode {}

    impl FastDecode {
        pub(crate) fn new(_: Level, _: &DecodePlan) -> Option<Self> {
            None
        }

        pub(crate) fn decode<T: Element, C: Code>(&self, _: &[C], _: &mut [T], _: bool) -> Option<()> {
            match *self {}
        }
    }
}

pub(crate) use vector::{Fast, FastDecode};
