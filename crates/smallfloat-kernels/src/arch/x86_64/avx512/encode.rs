//! f32, f16, bf16 or f64 → codes of 8 or 16 bits in every deterministic rounding, with flags and
//! counts, 64 at once.
//!
//! As with narrower vectors (`plan/encode.rs` says how the rounding works), but the anchor and the
//! sum are one fused operation: c·2^s + |x|, where c is the power of two below |x| or the grid's
//! lowest. |x| is lifted to the smallest normal value first, which rounds to zero like all below
//! it, because a subnormal operand would cost a hundred cycles. Overflow needs no cap: sums grow up
//! to ∞, and narrowing saturates them at the last byte.
//!
//! The other modes let the processor round the sum up, with a sign that says what up means: a
//! positive sum moves away from zero, a negative one toward it. So directed modes choose signs (of
//! the elements, their opposites, or all negative), and their values are capped first, as a sum
//! that is rounded toward zero never reaches ∞. To nearest with ties away is rounding toward zero
//! after adding half a place: the sum is taken on a grid of half places, and the half is part of
//! the base.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx2::lanes::Target;
use crate::arch::machine::avx512::lanes::{
    STEP, Source, above, add_where, at_least, at_most, blend, bytes, chosen, codes as splat, count, in_order,
    keep, lesser, narrow, narrow_words, none_set, put, signs, some_set, store, subtract, subtract_to_zero,
    words,
};
use crate::arch::vectors::blocks::{BlockEncoder, Step, encode_by_blocks, for_steps, nothing};
use crate::arch::vectors::choices::{
    CodesOnly, Detail, Directed, NearestEven, Rare, Rounds, Shape, ToOdd, fit, with_shape,
};
use crate::plan::encode::{EncodePlan, INFINITY, Mode, SubnormalGrid};
use crate::plan::tally::Tally;

/// Elements between two looks at the flags.
pub(super) const BLOCK: usize = 64 * STEP;

/// Encodes a slice to nearest even and says what happened.
pub(crate) fn encode<S: Source, T: Target>(
    _: Avx512,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { by_shape::<S, T, NearestEven>(plan, source, codes, stream) }
}

/// Encodes a slice in any deterministic mode and says what happened.
pub(crate) fn encode_f32<T: Target>(
    token: Avx512,
    plan: &EncodePlan,
    source: &[f32],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plan.mode {
            Mode::Even => encode(token, plan, source, codes, stream),
            Mode::Away | Mode::Directed(_) => by_shape::<f32, T, Directed>(plan, source, codes, stream),
            Mode::Odd => by_shape::<f32, T, ToOdd>(plan, source, codes, stream),
            Mode::Random => unreachable!("stochastic rounding has a kernel of its own"),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
fn by_shape<S: Source, T: Target, M: Rounds>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    with_shape!(
        fit(plan),
        [Gradual Hole Unsigned],
        |H| all::<S, T, H, M>(plan, source, codes, stream),
        all::<S, T, Rare, M>(plan, source, codes, stream)
    )
}

/// Encodes a slice to nearest even and counts nothing.
pub(crate) fn encode_only<S: Source, T: Target>(
    _: Avx512,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        with_shape!(
            fit(plan),
            [Gradual Hole Unsigned],
            |H| only_codes::<S, T, H>(plan, source, codes, stream),
            only_codes::<S, T, Rare>(plan, source, codes, stream)
        );
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
fn only_codes<S: Source, T: Target, H: Shape>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) {
    let encoder = Encoding::<S, T, H, NearestEven>::new(plan);
    // SAFETY: this function has the level's instructions.
    unsafe { encoder.encode::<CodesOnly>(source, codes, stream, &mut Tally::default()) };
}

// A function of its own, so that the cost of its loops can be looked up by its name.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
fn all<S: Source, T: Target, H: Shape, M: Rounds>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    let encoder = Encoding::<S, T, H, M>::new(plan);
    // SAFETY: this function has the level's instructions.
    unsafe { encode_by_blocks(&encoder, source, codes, stream) }
}

/// The encoding of blocks.
struct Encoding<S, T, H, M> {
    k: Constants,
    types: PhantomData<(S, T, H, M)>,
}

impl<S: Source, T: Target, H, M> Encoding<S, T, H, M> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(plan: &EncodePlan) -> Self {
        Self { k: Constants::new::<S, T>(plan), types: PhantomData }
    }
}

impl<S: Source, T: Target, H: Shape, M: Rounds> BlockEncoder for Encoding<S, T, H, M> {
    type From = S;
    type To = T;
    const ALIGNMENT: usize = STEP;
    const BLOCK: usize = BLOCK;
    const FIRST_BLOCK: usize = 8 * STEP;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
    unsafe fn encode<D: Detail>(&self, source: &[S], codes: &mut [T], stream: bool, tally: &mut Tally) {
        let stream = stream && codes.as_ptr().addr().is_multiple_of(STEP);
        let mut sums = Sums::new();
        // SAFETY: this function has the level's instructions, and streams have checked the
        // alignment.
        let padding =
            unsafe { for_steps::<D, _, _>(self, source, nothing(source.len()), codes, &mut sums, stream) };
        if D::COUNTS {
            sums.add_to(tally, padding, &self.k);
        }
    }
}

impl<S: Source, T: Target, H: Shape, M: Rounds, D: Detail> Step<D, STEP> for Encoding<S, T, H, M> {
    type From = S;
    type With = ();
    type To = T;
    type Sums = Sums;
    type Vectors = [__m512i; 2];
    const PREFETCH: bool = true;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
    unsafe fn step(&self, x: &[S; STEP], _: &[(); STEP], sums: &mut Sums) -> [__m512i; 2] {
        step::<S, T, H, M, D>(x, &self.k, sums)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store(codes: &mut [T; STEP], vectors: [__m512i; 2], stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { store(codes, vectors, stream) };
    }
}

/// Which operand has the larger magnitude, without its sign (Intel's manual, VRANGEPS: bits 1:0 and
/// 3:2 of the immediate).
const LARGER_MAGNITUDE: i32 = 0b1011;

/// Which operand has the larger or the smaller magnitude, with the sign of the first.
const LARGER_WITH_SIGN: i32 = 0b0011;
const SMALLER_WITH_SIGN: i32 = 0b0010;

/// The upper one of two neighbours, and no exceptions.
const UPWARD: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;

/// The plan as vectors.
pub(super) struct Constants {
    pub(super) magnitude: __m512i,
    pub(super) one: __m512i,
    pub(super) infinity: __m512i,
    /// The smallest normal binary32.
    tiny: __m512,
    lowest: __m512,
    exponent: __m512i,
    scale: __m512,
    weights: __m512i,
    base: __m512i,
    /// What makes a byte that is an index less 128 that index.
    middle: __m512i,
    /// By how much indices of 16 bits are shifted.
    shift: __m128i,
    pub(super) top: __m512i,
    pub(super) cap: __m512i,
    pub(super) sign: __m512i,
    /// All lanes if −0 has no code.
    pub(super) drops_zero_sign: __mmask64,
    pub(super) overflow: [__m512i; 2],
    pub(super) infinite: [__m512i; 2],
    pub(super) nan: [__m512i; 2],
    pub(super) min_normal: __m512i,
    first_normal: __m512i,
    pub(super) last_below: __m512i,
    half_hole: __m512i,
    /// In modes that are not to nearest even, for each sign: the last index of Tesla's hole that
    /// joins the largest subnormal.
    last_lower: [__m512i; 2],
    /// In these modes: (x & `kept`) ^ `flipped` is positive where a value moves away from zero.
    kept: __m512i,
    flipped: __m512i,
    /// The bits of a sum that are places of the grid.
    places: __m512i,
    /// `exponent` and the sign.
    signed_exponent: __m512i,
    pub(super) binade: __m512i,
    /// The bits of elements that are compared with the cap: in formats without a sign that too, so
    /// that negative elements are beyond, where they are refused or become zeros that are counted.
    looked_at: __m512i,
    /// All lanes of formats without a sign.
    unsigned: __mmask64,
    /// The bits below the last place of normal values.
    below: __m512i,
    /// All lanes of formats that flush subnormals, that have Tesla's hole.
    flush: __mmask64,
    hole: __mmask64,
    source_min_normal: u32,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn new<S: Source, T: Target>(plan: &EncodePlan) -> Self {
        let m = plan.trailing;
        let lift = 23 - m;
        let pair = |codes: [u16; 2]| [splat::<T>(codes[0]), splat::<T>(codes[1])];
        let float = |bits: u32| _mm512_set1_ps(f32::from_bits(bits));
        let binade = 1_u16 << m;
        // Ties away: a grid of half places, and half a place added.
        let away = plan.mode == Mode::Away;
        let finer = u32::from(away);
        let (trailing, field_of_zero) = (m + finer, plan.lowest_field + lift - finer);
        // A sum's high half-word holds the exponent field at bit 7, its low one the index's low
        // bits. Bytes: 256 times the index less 128, so that narrowing saturates where indices end.
        // Half-words: the index above as many bits as are shifted out.
        let (weights, base, shift) = if T::BITS == 8 {
            let base = (field_of_zero << (m + 8)) + (128 << 8) - (finer << 7);
            (1 << (m + 1 + 16) | 256 >> finer, base, 0)
        } else {
            let below = 7_u32.saturating_sub(trailing);
            let base = (field_of_zero << trailing.max(7)) - (finer << below);
            (1 << (trailing.saturating_sub(7) + 16) | 1 << below, base, below + finer)
        };
        let (kept, flipped) = match plan.mode {
            Mode::Directed([true, true]) => (0x7fff_ffff, 0),
            Mode::Directed([true, false]) => (u32::MAX, 0),
            Mode::Directed([false, true]) => (u32::MAX, 1 << 31),
            _ => (0x7fff_ffff, 1 << 31),
        };
        let last_lower = |moves_away| {
            let middle = if moves_away {
                0
            } else if away {
                binade / 2
            } else {
                binade
            };
            splat::<T>(binade - 1 + middle)
        };
        let last_lower = match plan.mode {
            Mode::Directed([positive, negative]) => [last_lower(positive), last_lower(negative)],
            _ => [last_lower(false); 2],
        };
        Self {
            magnitude: words(0x7fff_ffff),
            one: words(1),
            infinity: words(INFINITY),
            tiny: float(1 << 23),
            lowest: float(plan.lowest_field << 23),
            exponent: words(INFINITY),
            scale: float((127 + lift - finer) << 23),
            weights: words(weights),
            base: words(base.wrapping_neg()),
            middle: bytes(0x80),
            shift: _mm_cvtsi32_si128(shift.cast_signed()),
            top: splat::<T>(plan.top),
            cap: words(plan.cap),
            sign: splat::<T>(plan.sign_bit),
            drops_zero_sign: chosen(plan.negative_zero == 0),
            overflow: pair(plan.overflow.codes),
            infinite: pair(plan.infinity.codes),
            nan: pair(plan.nan.codes),
            min_normal: words(plan.min_normal),
            first_normal: splat::<T>(plan.first_normal),
            last_below: splat::<T>(binade - 1),
            half_hole: splat::<T>(binade + binade / 2),
            last_lower,
            kept: words(kept),
            flipped: words(flipped),
            places: words(if away { !1 } else { u32::MAX }),
            signed_exponent: words(INFINITY | 1 << 31),
            binade: splat::<T>(binade),
            looked_at: words(if plan.signed { 0x7fff_ffff } else { u32::MAX }),
            unsigned: chosen(!plan.signed),
            flush: chosen(plan.low == SubnormalGrid::Flush),
            hole: chosen(plan.low == SubnormalGrid::Hole),
            below: words((1 << lift) - 1),
            source_min_normal: <S as crate::arch::machine::avx2::lanes::Source>::MIN_NORMAL,
        }
    }

    /// The rounded sum of normal magnitudes, joined to 256 times the index on the grid less 128.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn sum(&self, magnitude: __m512i) -> __m512i {
        let power = _mm512_max_epi32(magnitude, _mm512_castps_si512(self.lowest));
        let power = _mm512_castsi512_ps(_mm512_and_si512(power, self.exponent));
        let rounded = _mm512_fmadd_ps(power, self.scale, _mm512_castsi512_ps(magnitude));
        _mm512_dpwssd_epi32(self.base, _mm512_castps_si512(rounded), self.weights)
    }
}

/// What the steps of a loop add up.
pub(super) struct Sums {
    /// The least |x| − 1, zeros last.
    pub(super) least: __m512i,
    pub(super) found: Tally,
    /// Elements, or steps, that are inexact, that are so below the smallest normal value, and whose
    /// results are small.
    pub(super) inexact: u64,
    pub(super) tiny: u64,
    low: u64,
    /// All bits of capped magnitudes.
    bits: __m512i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Self {
        Self {
            least: _mm512_set1_epi32(-1),
            found: Tally::default(),
            inexact: 0,
            tiny: 0,
            low: 0,
            bits: _mm512_setzero_si512(),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add_to(&self, tally: &mut Tally, padding: u64, k: &Constants) {
        let mut found = self.found;
        found.zero -= padding;
        found.exact_zero -= padding;
        found.inexact = self.inexact != 0 || _mm512_test_epi32_mask(self.bits, k.below) != 0;
        found.tiny = self.tiny != 0;
        found.low = self.low != 0;
        found.denormal = _mm512_reduce_min_epu32(self.least) < k.source_min_normal - 1;
        tally.add(&found);
    }
}

/// Indices on Tesla's grid → codes: to nearest, the lower half of the binade that is none joins the
/// largest subnormal, the upper half the smallest normal value. Ties of the grid and of the format
/// are the same, and both go to the even code. In directed modes all of it joins one of them, and
/// to odd the largest subnormal.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join_hole<T: Target, M: Rounds>(grid: __m512i, negative: __mmask64, k: &Constants) -> __m512i {
    let subnormal = lesser::<T>(grid, k.last_below);
    let upper_part = subtract_to_zero::<T>(subtract_to_zero::<T>(grid, k.binade), k.binade);
    let code = add_where::<T>(subnormal, u64::MAX, upper_part);
    let upper = if M::NEAREST_EVEN {
        at_least::<T>(grid, k.half_hole)
    } else {
        above::<T>(grid, blend::<T>(negative, k.last_lower))
    };
    // Nothing is added in place: 1 = 0 − (−1).
    subtract::<T>(code, upper, _mm512_set1_epi8(-1))
}

/// A rounded magnitude.
struct Rounded {
    /// The word of its sum with c.
    sum: __m512i,
    /// What was rounded to, as a magnitude of binary32.
    exact: __m512i,
}

/// Rounds |x| on the grid; NaN gives anything.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn round<M: Rounds>(x: __m512i, k: &Constants) -> Rounded {
    if M::NEAREST_EVEN {
        let wide = _mm512_castsi512_ps(x);
        let lifted = _mm512_range_ps::<LARGER_MAGNITUDE>(wide, k.tiny);
        let power = _mm512_castps_si512(_mm512_range_ps::<LARGER_MAGNITUDE>(wide, k.lowest));
        let power = _mm512_castsi512_ps(_mm512_and_si512(power, k.exponent));
        let sum = _mm512_fmadd_ps(power, k.scale, lifted);
        let exact = _mm512_castps_si512(_mm512_fnmadd_ps(power, k.scale, sum));
        return Rounded { sum: _mm512_castps_si512(sum), exact };
    }
    // (x & kept) ^ flipped.
    let x = _mm512_ternarylogic_epi32::<0b0110_1010>(x, k.kept, k.flipped);
    // Zero must not be lifted: its neighbour would be as near as that of all others.
    let not_zero = _mm512_test_epi32_mask(x, k.magnitude);
    let capped = _mm512_range_ps::<SMALLER_WITH_SIGN>(_mm512_castsi512_ps(x), _mm512_castsi512_ps(k.cap));
    let lifted = _mm512_maskz_range_ps::<LARGER_WITH_SIGN>(not_zero, capped, k.tiny);
    let power = _mm512_castps_si512(_mm512_range_ps::<LARGER_WITH_SIGN>(capped, k.lowest));
    let power = _mm512_castsi512_ps(_mm512_and_si512(power, k.signed_exponent));
    let upward = _mm512_fmadd_round_ps::<UPWARD>(power, k.scale, lifted);
    let places = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(upward), k.places));
    let back = _mm512_fnmadd_ps(power, k.scale, places);
    let mut sum = _mm512_and_si512(_mm512_castps_si512(upward), k.magnitude);
    if M::TO_ODD {
        let inexact = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(back, lifted);
        sum = _mm512_mask_or_epi32(sum, inexact, sum, k.one);
    }
    Rounded { sum, exact: _mm512_and_si512(_mm512_castps_si512(back), k.magnitude) }
}

/// Encodes 64 elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni,popcnt")]
fn step<S: Source, T: Target, H: Shape, M: Rounds, D: Detail>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> [__m512i; 2] {
    let zero = _mm512_setzero_si512();
    let (mut sources, mut below_infinity, mut less_one, mut sum) =
        ([zero; 4], [zero; 4], [zero; 4], [zero; 4]);
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { S::load_wide(x, i) };
        let magnitude = _mm512_and_si512(x, k.magnitude);
        sources[i] = x;
        below_infinity[i] = _mm512_sub_epi32(k.infinity, magnitude);
        if D::COUNTS {
            less_one[i] = _mm512_sub_epi32(magnitude, k.one);
            sums.least = _mm512_min_epu32(sums.least, less_one[i]);
        }
        let Rounded { sum: rounded, exact } = round::<M>(x, k);
        let finite = match H::UNSIGNED {
            Some(false) => magnitude,
            Some(true) => x,
            None => _mm512_and_si512(x, k.looked_at),
        };
        if D::NEARNESS && !D::EXACTNESS {
            sums.bits = _mm512_or_si512(sums.bits, _mm512_min_epu32(finite, k.cap));
        }
        if D::EXACTNESS {
            let in_range = _mm512_cmplt_epu32_mask(finite, k.cap);
            let differs = _mm512_mask_cmpneq_epi32_mask(in_range, exact, finite);
            sums.inexact |= u64::from(differs);
            let tiny = _mm512_mask_cmpgt_epi32_mask(differs, k.min_normal, finite);
            sums.tiny |= u64::from(tiny);
        }
        sum[i] = _mm512_dpwssd_epi32(k.base, rounded, k.weights);
    }
    let lanes = Lanes { x: sources, below_infinity, less_one };
    if T::BITS == 8 {
        return [finish::<T, H, M, D>(narrow_grid(sum, k), &lanes, 0, k, sums), zero];
    }
    let mut codes = [zero; 2];
    for (part, code) in codes.iter_mut().enumerate() {
        let low = _mm512_srl_epi32(sum[2 * part], k.shift);
        let high = _mm512_srl_epi32(sum[2 * part + 1], k.shift);
        *code = finish::<T, H, M, D>(_mm512_packus_epi32(low, high), &lanes, part, k, sums);
    }
    codes
}

/// [`Constants::sum`] of 64 elements → indices on the grid as bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn narrow_grid(sum: [__m512i; 4], k: &Constants) -> __m512i {
    let [low, high] = narrow_words(sum);
    let grid = _mm512_packs_epi16(_mm512_srai_epi16::<8>(low), _mm512_srai_epi16::<8>(high));
    _mm512_xor_si512(grid, k.middle)
}

/// What bytes are narrowed from, for 64 elements.
pub(super) struct Lanes {
    /// The elements, for their signs.
    pub(super) x: [__m512i; 4],
    /// ∞ − |x|: negative for NaN, zero for ∞.
    pub(super) below_infinity: [__m512i; 4],
    /// |x| − 1: negative for zero.
    pub(super) less_one: [__m512i; 4],
}

/// Indices on the grid → codes, with everything that is special about specials. The index of a NaN
/// may be anything.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,popcnt")]
pub(super) fn finish<T: Target, H: Shape, M: Rounds, D: Detail>(
    grid: __m512i,
    lanes: &Lanes,
    part: usize,
    k: &Constants,
    sums: &mut Sums,
) -> __m512i {
    let below_infinity = narrow::<T>(lanes.below_infinity, part);
    let is_nan = signs::<T>(below_infinity);
    let top = at_least::<T>(grid, k.top);
    let negative = signs::<T>(narrow::<T>(lanes.x, part));
    let mut index = grid;
    match H::HOLE {
        Some(false) => {}
        Some(true) => index = join_hole::<T, M>(grid, negative, k),
        None => index = put::<T>(grid, k.hole, join_hole::<T, M>(grid, negative, k)),
    }
    if H::FLUSH != Some(false) {
        let flushed = at_most::<T>(grid, k.last_below) & k.flush;
        index = keep::<T>(!flushed, index);
        if D::EXACTNESS {
            let lost = some_set::<T>(grid, grid) & flushed & !is_nan;
            sums.inexact |= lost;
            sums.tiny |= lost;
        }
    }

    let is_zero = none_set::<T>(index, index);
    let is_infinite = none_set::<T>(below_infinity, below_infinity);
    // Negative values that do not become zero.
    let refused = match H::UNSIGNED {
        Some(false) => 0,
        Some(true) => negative & !(is_zero | is_infinite | is_nan),
        None => negative & !(is_zero | is_infinite | is_nan) & k.unsigned,
    };
    if H::HOLE != Some(false) && D::PLACES_IN_HOLE {
        let place = subtract::<T>(grid, u64::MAX, k.binade);
        let mut hole = at_most::<T>(place, k.last_below) & !is_nan & !refused;
        if H::HOLE.is_none() {
            hole &= k.hole;
        }
        sums.inexact |= hole;
        sums.tiny |= hole;
    }
    let with_sign = negative & !(is_zero & k.drops_zero_sign);
    let mut code = index;
    if H::UNSIGNED == Some(true) {
        // Only positive values are kept.
        code = put::<T>(code, top, k.overflow[0]);
    } else {
        // The sign bit is clear in indices that are kept, so that adding it sets it.
        code = add_where::<T>(code, with_sign, k.sign);
        code = put::<T>(code, top, blend::<T>(negative, k.overflow));
    }
    if H::UNSIGNED != Some(false) {
        code = put::<T>(code, refused, k.overflow[1]);
    }
    code = put::<T>(code, is_infinite, blend::<T>(negative, k.infinite));
    code = put::<T>(code, is_nan, blend::<T>(negative, k.nan));
    if D::COUNTS {
        sums.found.infinite += count(is_infinite);
        sums.found.overflow += count(top & !(is_nan | is_infinite | refused));
        if H::INFINITY_BY_SIGN != Some(false) {
            sums.found.negative_infinite += count(is_infinite & negative);
        }
        if H::UNSIGNED != Some(false) {
            sums.found.refused += count(refused);
        }
        sums.found.nan += count(is_nan);
        sums.found.zero += count(is_zero & !is_nan);
        sums.found.exact_zero += count(signs::<T>(narrow::<T>(lanes.less_one, part)));
    }
    if D::NEARNESS {
        let low = at_most::<T>(grid, k.first_normal) & some_set::<T>(grid, grid);
        sums.low |= low & !(is_nan | refused);
    }
    in_order::<T>(code)
}
