//! The loops over slices, the same for vectors of any width: a width brings its `STEP` and what happens to so many elements.
//!
//! They are macros, not generic functions, because a function's instructions are named in an attribute.

/// How much a loop finds out beside the codes.
pub(super) mod find {
    pub(in crate::x86_64) const CODES: u8 = 0;
    pub(in crate::x86_64) const COUNTS: u8 = 1;
    /// Counts, and whether a value came near the subnormals.
    pub(in crate::x86_64) const LOW: u8 = 2;
    /// All that, and whether any element is inexact.
    pub(in crate::x86_64) const EXACT: u8 = 3;
    /// All that, and whether one below the smallest normal value is.
    pub(in crate::x86_64) const FLAGS: u8 = 4;
    /// All that, where the rounding itself has found the places in Tesla's hole.
    pub(in crate::x86_64) const RANDOM: u8 = 5;
}

/// What a loop is specialised for.
pub(super) mod shape {
    pub(in crate::x86_64) const GRADUAL: u8 = 0;
    pub(in crate::x86_64) const HOLE: u8 = 1;
    /// Flushed subnormals or no sign: all choices at run time.
    pub(in crate::x86_64) const RARE: u8 = 2;
}

/// `encode` and `encode_only`, for a module that has `step`, `Constants`, `Sums` and the stores.
macro_rules! nearest_loops {
    ($proof:ty, $source:path, $features:literal) => {
        /// Elements between two looks at the flags: byte counters hold it, and flags that are settled need no more work.
        pub(super) const BLOCK: usize = 64 * STEP;
        /// The same while flags are not settled.
        const FIRST_BLOCK: usize = 16 * STEP;

        /// Encodes a slice and says what happened.
        pub(crate) fn encode<S: $source>(
            _: $proof,
            plan: &Plan,
            source: &[S],
            codes: &mut [u8],
            stream: bool,
        ) -> Tally {
            assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
            // SAFETY: the proof says that the machine has these instructions.
            unsafe { dispatch(plan, source, codes, stream) }
        }

        /// Encodes a slice and counts nothing.
        pub(crate) fn encode_only<S: $source>(
            _: $proof,
            plan: &Plan,
            source: &[S],
            codes: &mut [u8],
            stream: bool,
        ) {
            assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
            // SAFETY: the proof says that the machine has these instructions.
            unsafe { only_codes(plan, source, codes, stream) }
        }

        #[target_feature(enable = $features)]
        fn dispatch<S: $source>(plan: &Plan, source: &[S], codes: &mut [u8], stream: bool) -> Tally {
            match (plan.low, plan.signed) {
                (Low::Gradual, true) => all::<S, { shape::GRADUAL }>(plan, source, codes, stream),
                (Low::Hole, true) => all::<S, { shape::HOLE }>(plan, source, codes, stream),
                _ => all::<S, { shape::RARE }>(plan, source, codes, stream),
            }
        }

        #[target_feature(enable = $features)]
        fn only_codes<S: $source>(plan: &Plan, source: &[S], codes: &mut [u8], stream: bool) {
            let (k, mut tally) = (Constants::new::<S>(plan), Tally::default());
            match (plan.low, plan.signed) {
                (Low::Gradual, true) => {
                    run::<S, { shape::GRADUAL }, { find::CODES }>(&k, source, codes, stream, &mut tally);
                }
                (Low::Hole, true) => {
                    run::<S, { shape::HOLE }, { find::CODES }>(&k, source, codes, stream, &mut tally);
                }
                _ => run::<S, { shape::RARE }, { find::CODES }>(&k, source, codes, stream, &mut tally),
            }
        }

        /// Inexact and underflow are properties of a slice once any element has them. So blocks look for them only until they are
        /// found: first for anything inexact, then for underflow where a value came near the subnormals.
        #[target_feature(enable = $features)]
        fn all<S: $source, const SHAPE: u8>(
            plan: &Plan,
            source: &[S],
            codes: &mut [u8],
            stream: bool,
        ) -> Tally {
            let k = Constants::new::<S>(plan);
            let mut tally = Tally::default();
            // Small but exact values need the longest look again and again: do not look twice.
            let mut look = false;
            let (mut source, mut codes) = (source, codes);
            // Streamed stores need aligned addresses: elements before the first one are a block of their own.
            let mut head = if stream { elements_to_alignment(codes, STEP) } else { 0 };
            while !source.is_empty() {
                let settled = tally.is_underflow_settled();
                let block = if settled { BLOCK } else { FIRST_BLOCK };
                let length = if head > 0 { head } else { block }.min(source.len());
                head = 0;
                let (x, code);
                (x, source) = source.split_at(length);
                (code, codes) = codes.split_at_mut(length);
                if settled {
                    run::<S, SHAPE, { find::COUNTS }>(&k, x, code, stream, &mut tally);
                    continue;
                }
                let mut block = Tally::default();
                if look {
                    run::<S, SHAPE, { find::FLAGS }>(&k, x, code, stream, &mut block);
                } else if tally.inexact {
                    run::<S, SHAPE, { find::LOW }>(&k, x, code, stream, &mut block);
                } else {
                    run::<S, SHAPE, { find::EXACT }>(&k, x, code, stream, &mut block);
                }
                let may_underflow =
                    block.low && !block.is_underflow_settled() && (tally.inexact || block.inexact);
                if may_underflow && !look {
                    block = Tally::default();
                    run::<S, SHAPE, { find::FLAGS }>(&k, x, code, stream, &mut block);
                }
                look = may_underflow && !block.is_underflow_settled();
                tally.add(&block);
            }
            tally
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn run<S: $source, const SHAPE: u8, const FIND: u8>(
            k: &Constants,
            source: &[S],
            codes: &mut [u8],
            stream: bool,
            tally: &mut Tally,
        ) {
            let mut sums = Sums::new();
            let (steps, rest) = source.as_chunks::<STEP>();
            let (code_steps, code_rest) = codes.as_chunks_mut::<STEP>();
            let stream = stream && code_steps.as_ptr().addr().is_multiple_of(STEP);
            for (x, code) in steps.iter().zip(code_steps) {
                let y = step::<S, SHAPE, FIND>(x, k, &mut sums);
                if stream {
                    prefetch(x);
                    // SAFETY: streams have checked the alignment.
                    unsafe { store_past_caches(code, y) };
                } else {
                    store(code, y);
                }
            }
            let mut padding = 0;
            if !rest.is_empty() {
                // Zeros fill the last step; they raise nothing and are taken off the counts below.
                let (mut x, mut code) = ([S::default(); STEP], [0; STEP]);
                x[..rest.len()].copy_from_slice(rest);
                let y = step::<S, SHAPE, FIND>(&x, k, &mut sums);
                store(&mut code, y);
                code_rest.copy_from_slice(&code[..rest.len()]);
                padding = (STEP - rest.len()) as u64;
            }
            if stream {
                // Streamed stores are not ordered with later ones of this thread as others see them.
                _mm_sfence();
            }
            if FIND != find::CODES {
                sums.add_to(tally, padding, k);
            }
        }
    };
}

/// `encode_random`, for a module that has `step`, `Rounding` and the stores.
macro_rules! random_loop {
    ($proof:ty, $source:path, $features:literal) => {
        /// Encodes a slice with a word for each element, of which the upper bits that `mask` has are used.
        pub(crate) fn encode_random<S: $source>(
            _: $proof,
            plan: &Plan,
            source: &[S],
            codes: &mut [u8],
            random: &[u32],
            mask: u32,
        ) -> Tally {
            assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
            assert_eq!(source.len(), random.len(), "every element needs a word");
            // SAFETY: the proof says that the machine has these instructions.
            unsafe {
                match plan.low {
                    Low::Gradual => all::<S, { shape::GRADUAL }>(plan, source, codes, random, mask),
                    Low::Hole => all::<S, { shape::HOLE }>(plan, source, codes, random, mask),
                    Low::Flush => all::<S, { shape::RARE }>(plan, source, codes, random, mask),
                }
            }
        }

        #[target_feature(enable = $features)]
        fn all<S: $source, const SHAPE: u8>(
            plan: &Plan,
            source: &[S],
            codes: &mut [u8],
            random: &[u32],
            mask: u32,
        ) -> Tally {
            let k = Constants::new::<S>(plan);
            let r = Rounding::new(plan, mask);
            let mut tally = Tally::default();
            for ((x, codes), random) in
                source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).zip(random.chunks(BLOCK))
            {
                let mut sums = Sums::new();
                let (steps, rest) = x.as_chunks::<STEP>();
                let (code_steps, code_rest) = codes.as_chunks_mut::<STEP>();
                let (random_steps, random_rest) = random.as_chunks::<STEP>();
                for ((x, code), random) in steps.iter().zip(code_steps).zip(random_steps) {
                    let y = step::<S, SHAPE>(x, random, &k, &r, &mut sums);
                    store(code, y);
                }
                let mut padding = 0;
                if !rest.is_empty() {
                    // Zeros fill the last step; they raise nothing and are taken off the counts below.
                    let (mut x, mut code, mut random) = ([S::default(); STEP], [0; STEP], [0; STEP]);
                    x[..rest.len()].copy_from_slice(rest);
                    random[..rest.len()].copy_from_slice(random_rest);
                    let y = step::<S, SHAPE>(&x, &random, &k, &r, &mut sums);
                    store(&mut code, y);
                    code_rest.copy_from_slice(&code[..rest.len()]);
                    padding = (STEP - rest.len()) as u64;
                }
                sums.add_to(&mut tally, padding, &k);
            }
            tally
        }
    };
}

pub(super) use nearest_loops;
pub(super) use random_loop;
