//! [`Fast`] and [`FastDecode`]: vector kernels chosen for one format, or the news that there are none.
//!
//! Whoever holds one may call it; `None` as an answer means that the twin must do the work: the codes are wider than half-words,
//! the other side has no kernel, or the host's floating-point environment is not the usual one.

use smallfloat::{Format, Projection};

use crate::decode_plan::DecodePlans;
#[cfg(target_arch = "x86_64")]
use crate::plan::Plan;
use crate::{Code, Element, EventCounts, Generator, Level};

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{Code, DecodePlans, Element, EventCounts, Format, Generator, Level, Plan, Projection};
    use crate::element::{Codes, CodesMut, Lanes, LanesMut};
    use crate::tally::Tally;
    use crate::x86_64;

    /// An encoder by vectors.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Fast {
        plan: Plan,
        vectors: x86_64::Vectors,
    }

    /// Calls a kernel with source and codes as the types they have.
    macro_rules! with_types {
        ($source:expr, $codes:expr, |$x:ident, $code:ident| $call:expr) => {
            match ($source, $codes) {
                (Lanes::F32($x), CodesMut::Bytes($code)) => Some($call),
                (Lanes::F16($x), CodesMut::Bytes($code)) => Some($call),
                (Lanes::Bf16($x), CodesMut::Bytes($code)) => Some($call),
                (Lanes::F64($x), CodesMut::Bytes($code)) => Some($call),
                (Lanes::F32($x), CodesMut::Halves($code)) => Some($call),
                (Lanes::F16($x), CodesMut::Halves($code)) => Some($call),
                (Lanes::Bf16($x), CodesMut::Halves($code)) => Some($call),
                (Lanes::F64($x), CodesMut::Halves($code)) => Some($call),
                (_, CodesMut::Other) => None,
            }
        };
    }

    impl Fast {
        pub(crate) fn new(level: Level, from: &Format, to: &Format, projection: &Projection) -> Option<Self> {
            Some(Self { vectors: x86_64::Vectors::new(level)?, plan: Plan::new(from, to, projection)? })
        }

        /// Encodes in a deterministic mode, past the caches if `stream`.
        pub(crate) fn encode<T: Element, C: Code>(
            &self,
            source: &[T],
            codes: &mut [C],
            stream: bool,
        ) -> Option<EventCounts> {
            let tally = self.tally(T::lanes(source), C::as_codes_mut(codes), stream)?;
            Some(tally.events(&self.plan, source.len()))
        }

        /// As [`encode`](Self::encode), codes only.
        pub(crate) fn encode_only<T: Element, C: Code>(
            &self,
            source: &[T],
            codes: &mut [C],
            stream: bool,
        ) -> Option<()> {
            self.codes(T::lanes(source), C::as_codes_mut(codes), stream)
        }
    }

    /// The kernels by types. Not generic, so that they are compiled in this crate and nowhere else.
    impl Fast {
        fn tally(&self, source: Lanes<'_>, codes: CodesMut<'_>, stream: bool) -> Option<Tally> {
            if !x86_64::rounds_to_nearest() {
                return None;
            }
            with_types!(source, codes, |x, code| x86_64::encode(self.vectors, &self.plan, x, code, stream))
        }

        fn codes(&self, source: Lanes<'_>, codes: CodesMut<'_>, stream: bool) -> Option<()> {
            if !x86_64::rounds_to_nearest() {
                return None;
            }
            with_types!(source, codes, |x, code| x86_64::encode_only(
                self.vectors,
                &self.plan,
                x,
                code,
                stream
            ))
        }

        fn stochastic(
            &self,
            source: Lanes<'_>,
            codes: CodesMut<'_>,
            words: &[u32],
            mask: u32,
        ) -> Option<Tally> {
            with_types!(source, codes, |x, code| {
                x86_64::encode_random(self.vectors, &self.plan, x, code, words, mask)
            })
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
        ) -> Option<EventCounts> {
            let mask = u32::MAX << (32 - bits);
            let mut blocks = [[0; 4]; PIECE / 4 + 1];
            let mut events = EventCounts::default();
            let pieces = source.chunks(PIECE).zip(codes.chunks_mut(PIECE));
            for ((source, codes), first) in
                pieces.zip((0..).map(|i: u64| first.wrapping_add(i * PIECE as u64)))
            {
                let offset = (first % 4) as usize;
                let needed = (offset + source.len()).div_ceil(4);
                generator.fill_blocks(level, first / 4, &mut blocks[..needed]);
                let words = &blocks.as_flattened()[offset..offset + source.len()];
                let tally = self.stochastic(T::lanes(source), C::as_codes_mut(codes), words, mask)?;
                events = events.merge(tally.events(&self.plan, source.len()));
            }
            Some(events)
        }
    }

    /// A decoder by vectors.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct FastDecode {
        plans: DecodePlans,
        vectors: x86_64::Vectors,
    }

    impl FastDecode {
        pub(crate) fn new(level: Level, plans: &DecodePlans) -> Option<Self> {
            Some(Self { vectors: x86_64::Vectors::new(level)?, plans: *plans })
        }

        /// Decodes, past the caches if `stream`.
        pub(crate) fn decode<T: Element, C: Code>(
            &self,
            codes: &[C],
            values: &mut [T],
            stream: bool,
        ) -> Option<()> {
            self.lanes(C::as_codes(codes), T::lanes_mut(values), stream)
        }

        /// Not generic, so that the kernels are compiled in this crate and nowhere else.
        fn lanes(&self, codes: Codes<'_>, values: LanesMut<'_>, stream: bool) -> Option<()> {
            let (vectors, plans) = (self.vectors, &self.plans);
            match (codes, values) {
                (Codes::Bytes(codes), values) => {
                    let plan = plans.bytes.as_ref()?;
                    match values {
                        LanesMut::F32(values) => x86_64::decode(vectors, plan, codes, values, stream),
                        LanesMut::F16(values) => x86_64::decode(vectors, plan, codes, values, stream),
                        LanesMut::Bf16(values) => x86_64::decode(vectors, plan, codes, values, stream),
                        LanesMut::F64(values) => x86_64::decode(vectors, plan, codes, values, stream),
                    }
                }
                (Codes::Halves(codes), LanesMut::F32(values)) => {
                    x86_64::decode_wide(vectors.narrow, plans.half_words.as_ref()?, codes, values, stream);
                }
                (Codes::Halves(codes), LanesMut::F64(values)) => {
                    x86_64::decode_wide(vectors.narrow, plans.half_words.as_ref()?, codes, values, stream);
                }
                _ => return None,
            }
            Some(())
        }
    }

    /// Codes to codes by vectors.
    #[derive(Clone, Debug)]
    pub(crate) struct FastRecode {
        table: x86_64::RecodeTable,
        proof: x86_64::Avx2,
    }

    impl FastRecode {
        /// From entries that are laid out as `events.rs` says.
        pub(crate) fn new(level: Level, table: &[u32]) -> Option<Self> {
            Some(Self { proof: x86_64::Avx2::new(level)?, table: x86_64::RecodeTable::new(table) })
        }

        pub(crate) fn recode<X: Code, R: Code>(&self, codes: &[X], results: &mut [R]) -> Option<EventCounts> {
            match (X::as_codes(codes), R::as_codes_mut(results)) {
                (Codes::Bytes(codes), CodesMut::Bytes(results)) => {
                    Some(x86_64::recode(self.proof, &self.table, codes, results))
                }
                _ => None,
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod vector {
    use super::{Code, DecodePlans, Element, EventCounts, Format, Generator, Level, Projection};

    /// No vector kernels: a type without values.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Fast {}

    impl Fast {
        pub(crate) fn new(_: Level, _: &Format, _: &Format, _: &Projection) -> Option<Self> {
            None
        }

        pub(crate) fn encode<T: Element, C: Code>(
            &self,
            _: &[T],
            _: &mut [C],
            _: bool,
        ) -> Option<EventCounts> {
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
        ) -> Option<EventCounts> {
            match *self {}
        }
    }

    /// No vector kernels: a type without values.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum FastDecode {}

    impl FastDecode {
        pub(crate) fn new(_: Level, _: &DecodePlans) -> Option<Self> {
            None
        }

        pub(crate) fn decode<T: Element, C: Code>(&self, _: &[C], _: &mut [T], _: bool) -> Option<()> {
            match *self {}
        }
    }

    /// No vector kernels: a type without values.
    #[derive(Clone, Debug)]
    pub(crate) enum FastRecode {}

    impl FastRecode {
        pub(crate) fn new(_: Level, _: &[u32]) -> Option<Self> {
            None
        }

        pub(crate) fn recode<X: Code, R: Code>(&self, _: &[X], _: &mut [R]) -> Option<EventCounts> {
            match *self {}
        }
    }
}

pub(crate) use vector::{Fast, FastDecode, FastRecode};
