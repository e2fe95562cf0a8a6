//! Codes of signed formats → binary32 by their nibbles (`plan/nibbles.rs`), in an
//! order that needs nothing to cross the halves of a vector: even elements are the low halves of
//! words and odd ones the high halves, so that a shift and a mask make binary32 of them.

use std::arch::x86_64::*;

use crate::arch::machine::avx2::decode::repeat;
use crate::arch::machine::avx2::lanes::{bytes, words};
use crate::plan::nibbles::NibblePlan;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn low_halves(halves: __m256i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn high_halves(halves: __m256i, k: &Constants) -> __m256 {
    _mm256_castsi256_ps(_mm256_and_si256(halves, k.upper))
}

/// Calls a function with two plans' constants as the type that both need.
macro_rules! with_nibbles {
    ($plans:expr, |$tables:ident| $call:expr) => {{
        let plans: [&$crate::plan::nibbles::NibblePlan; 2] = $plans;
        let [x, y] = [
            $crate::arch::machine::avx2::nibbles::Constants::new(plans[0]),
            $crate::arch::machine::avx2::nibbles::Constants::new(plans[1]),
        ];
        let has_nan = plans[0].nan.is_some() || plans[1].nan.is_some();
        let has_last = plans[0].has_last() || plans[1].has_last();
        match (has_nan, has_last, plans[0].crosses() || plans[1].crosses()) {
            (false, false, false) => {
                let $tables = [ByNibbles::<false, false, false>(x), ByNibbles(y)];
                $call
            }
            (true, false, false) => {
                let $tables = [ByNibbles::<true, false, false>(x), ByNibbles(y)];
                $call
            }
            (_, _, false) => {
                let $tables = [ByNibbles::<true, true, false>(x), ByNibbles(y)];
                $call
            }
            _ => {
                let $tables = [ByNibbles::<true, true, true>(x), ByNibbles(y)];
                $call
            }
        }
    }};
}
pub(super) use with_nibbles;

/// Constants, for plans that have a NaN, last magnitudes that need their table, and nibbles that
/// touch each other's bytes.
pub(super) struct ByNibbles<const NAN: bool, const LAST: bool, const CROSSES: bool>(pub(super) Constants);

/// The values of 32 codes. The v-th vector has those that [`place`] gives.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn values<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    codes: &[u8; 32],
    ByNibbles(k): &ByNibbles<NAN, LAST, CROSSES>,
) -> [__m256; 4] {
    // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
    let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
    let [first, second] = halves::<NAN, LAST, CROSSES>(codes, k);
    [low_halves(first), high_halves(first, k), low_halves(second), high_halves(second, k)]
}

/// Which element of a step the i-th lane of the v-th vector of [`values`] holds.
pub(super) fn place(v: usize, i: usize) -> usize {
    i / 4 * 16 + v / 2 * 8 + i % 4 * 2 + v % 2
}

/// The plan as vectors: low and high bytes of tables, each in both halves.
pub(super) struct Constants {
    magnitude: __m256i,
    below_16: __m256i,
    flip: __m256i,
    upper: __m256i,
    nan_mask: __m256i,
    nan: __m256i,
    lower_nibble: [__m256i; 2],
    upper_nibble: [__m256i; 2],
    first: [__m256i; 2],
    last: [__m256i; 2],
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new(plan: &NibblePlan) -> Self {
        // Nothing is 1 under no mask.
        let [nan_mask, nan] = plan.nan.unwrap_or([0, 1]);
        Self {
            magnitude: bytes(plan.magnitude),
            below_16: bytes(0x70),
            flip: bytes(plan.flip()),
            upper: words(0xffff_0000),
            nan_mask: bytes(nan_mask),
            nan: bytes(nan),
            lower_nibble: [repeat(&plan.lower_nibble[0]), repeat(&plan.lower_nibble[1])],
            upper_nibble: [repeat(&plan.upper_nibble[0]), repeat(&plan.upper_nibble[1])],
            first: [repeat(&plan.first[0]), repeat(&plan.first[1])],
            last: [repeat(&plan.last[0]), repeat(&plan.last[1])],
        }
    }
}

/// The upper halves of the binary32 of 32 codes: of the first and of the last eight in each half.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn halves<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    code: __m256i,
    k: &Constants,
) -> [__m256i; 2] {
    let magnitude = _mm256_and_si256(code, k.magnitude);
    // A byte shuffle looks at the lower nibble, and at the topmost bit, which a magnitude does not
    // have and a sum with 0x70 has from 16 on.
    let upper_nibble = _mm256_and_si256(_mm256_srli_epi16::<4>(code), k.magnitude);
    let first = _mm256_add_epi8(magnitude, k.below_16);
    let low = _mm256_shuffle_epi8(k.lower_nibble[0], magnitude);
    let high = _mm256_shuffle_epi8(k.upper_nibble[1], upper_nibble);
    let mut low = _mm256_xor_si256(low, _mm256_shuffle_epi8(k.first[0], first));
    let mut high = _mm256_xor_si256(high, _mm256_shuffle_epi8(k.first[1], first));
    if CROSSES {
        low = _mm256_xor_si256(low, _mm256_shuffle_epi8(k.upper_nibble[0], upper_nibble));
        high = _mm256_xor_si256(high, _mm256_shuffle_epi8(k.lower_nibble[1], magnitude));
    }
    if LAST {
        let last = _mm256_add_epi8(_mm256_xor_si256(magnitude, k.flip), k.below_16);
        low = _mm256_xor_si256(low, _mm256_shuffle_epi8(k.last[0], last));
        high = _mm256_xor_si256(high, _mm256_shuffle_epi8(k.last[1], last));
    }
    if NAN {
        let nan = _mm256_cmpeq_epi8(_mm256_and_si256(code, k.nan_mask), k.nan);
        low = _mm256_or_si256(low, nan);
        high = _mm256_or_si256(high, nan);
    }
    [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)]
}
