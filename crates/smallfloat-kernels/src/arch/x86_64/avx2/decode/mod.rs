//! Codes of at most 8 bits → f32, bf16, f64 or f16, by `plan/decode.rs`: no floating-point
//! arithmetic, so neither subnormals nor the host's settings matter, and 32 codes cost about 30
//! instructions. f64 and f16 are conversions of the f32, which must not be subnormal then.

pub(in crate::arch) mod wide;

use std::arch::x86_64::*;
use std::marker::PhantomData;

use smallfloat::{Bf16, F16};

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::decode::wide::{put, widen};
use crate::arch::machine::avx2::lanes::{STEP, bytes};
use crate::arch::vectors::blocks::{self, Decoder, Step, for_steps, nothing};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::decode::DecodePlan;

/// A destination: how the 16-bit halves of 32 codes are stored.
pub(crate) trait Destination: Copy + Default {
    /// Which dword of the codes goes where, so that interleaving leaves the halves in the elements'
    /// order.
    const ORDER: [i32; 8];

    /// Stores the halves, past the caches if `stream`.
    ///
    /// # Safety
    /// The machine must have AVX2 and F16C; with `stream`, `values` must be aligned to 32 bytes.
    unsafe fn store(values: &mut [Self; STEP], halves: [__m256i; 2], stream: bool);
}

/// The words of 32 binary32 whose order is [`f32::ORDER`](Destination::ORDER).
#[inline]
#[target_feature(enable = "avx2")]
fn singles([low, high]: [__m256i; 2]) -> [__m256i; 4] {
    let zero = _mm256_setzero_si256();
    [
        _mm256_unpacklo_epi16(zero, low),
        _mm256_unpackhi_epi16(zero, low),
        _mm256_unpacklo_epi16(zero, high),
        _mm256_unpackhi_epi16(zero, high),
    ]
}

impl Destination for f32 {
    const ORDER: [i32; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(values: &mut [Self; STEP], halves: [__m256i; 2], stream: bool) {
        for (eight, vector) in values.as_chunks_mut::<8>().0.iter_mut().zip(singles(halves)) {
            // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
            unsafe { put(eight.as_mut_ptr().cast(), vector, stream) };
        }
    }
}

impl Destination for f64 {
    const ORDER: [i32; 8] = f32::ORDER;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(values: &mut [Self; STEP], halves: [__m256i; 2], stream: bool) {
        for (eight, vector) in values.as_chunks_mut::<8>().0.iter_mut().zip(singles(halves)) {
            for (four, vector) in eight.as_chunks_mut::<4>().0.iter_mut().zip(widen(vector)) {
                // SAFETY: the reference is to 32 writable bytes; the caller has checked the
                // alignment.
                unsafe { put(four.as_mut_ptr().cast(), vector, stream) };
            }
        }
    }
}

impl Destination for F16 {
    const ORDER: [i32; 8] = f32::ORDER;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(values: &mut [Self; STEP], halves: [__m256i; 2], stream: bool) {
        const EXACT: i32 = _MM_FROUND_TO_NEAREST_INT;
        let [a, b, c, d] = singles(halves);
        for (sixteen, [low, high]) in values.as_chunks_mut::<16>().0.iter_mut().zip([[a, b], [c, d]]) {
            let low = _mm256_cvtps_ph::<EXACT>(_mm256_castsi256_ps(low));
            let high = _mm256_cvtps_ph::<EXACT>(_mm256_castsi256_ps(high));
            // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
            unsafe { put(sixteen.as_mut_ptr().cast(), _mm256_set_m128i(high, low), stream) };
        }
    }
}

/// The values of 32 codes, by the constants of a decoder to f32.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn values(code: &[u8; STEP], k: &Constants) -> [__m256; 4] {
    let [a, b, c, d] = singles(step(code, k));
    [_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(c), _mm256_castsi256_ps(d)]
}

impl Destination for Bf16 {
    const ORDER: [i32; 8] = [0, 1, 4, 5, 2, 3, 6, 7];

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(values: &mut [Self; STEP], halves: [__m256i; 2], stream: bool) {
        for (sixteen, vector) in values.as_chunks_mut::<16>().0.iter_mut().zip(halves) {
            // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
            unsafe { put(sixteen.as_mut_ptr().cast(), vector, stream) };
        }
    }
}

/// Decodes a slice, past the caches if `stream`.
pub(crate) fn decode<D: Destination>(
    _: Avx2,
    plan: &DecodePlan,
    codes: &[u8],
    values: &mut [D],
    stream: bool,
) {
    let decoder = Bytes::<D> { plan, destination: PhantomData };
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { blocks::decode(&decoder, codes, values, stream) }
}

struct Bytes<'a, D> {
    plan: &'a DecodePlan,
    destination: PhantomData<D>,
}

impl<D: Destination> Decoder for Bytes<'_, D> {
    type From = u8;
    type To = D;
    const ALIGNMENT: usize = STEP;

    #[target_feature(enable = "avx2,f16c")]
    unsafe fn decode<const STREAM: bool>(&self, codes: &[u8], values: &mut [D]) {
        let k = Constants::new::<D>(self.plan);
        let kernel = Decoding::<D> { k: &k, destination: PhantomData };
        // SAFETY: this function has the level's instructions; the rest is the caller's promise.
        unsafe { for_steps(&kernel, codes, nothing(codes.len()), values, &mut (), STREAM) };
    }
}

struct Decoding<'a, D> {
    k: &'a Constants,
    destination: PhantomData<D>,
}

impl<D: Destination> Step<CodesOnly, STEP> for Decoding<'_, D> {
    type From = u8;
    type With = ();
    type To = D;
    type Sums = ();
    type Vectors = [__m256i; 2];

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn step(&self, codes: &[u8; STEP], _: &[(); STEP], (): &mut ()) -> [__m256i; 2] {
        step(codes, self.k)
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn store(values: &mut [D; STEP], halves: [__m256i; 2], stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { D::store(values, halves, stream) };
    }
}

/// The plan as vectors.
pub(super) struct Constants {
    order: __m256i,
    index_mask: __m256i,
    sign_mask: __m256i,
    sign: __m256i,
    flip: __m256i,
    /// Added to an index with saturation: those below 16 keep their low bits, all others get the
    /// bit that means "zero" to a byte shuffle.
    below_16: __m256i,
    shift: __m128i,
    offset: __m256i,
    /// Low and high bytes of the plan's tables.
    first: [__m256i; 2],
    last: [__m256i; 2],
    /// The table of last codes with a sign, what makes its index, and the bits of a code; where
    /// there is such a table.
    last_signed: Option<([__m256i; 2], __m256i, __m256i)>,
    negative_zero: Option<[__m256i; 2]>,
}

/// Low and high bytes of a table's half-words, each in both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn split_table(halves: &[u16; 16]) -> [__m256i; 2] {
    let (mut low, mut high) = ([0; 16], [0; 16]);
    for ((half, low), high) in halves.iter().zip(&mut low).zip(&mut high) {
        [*low, *high] = half.to_le_bytes();
    }
    [repeat(&low), repeat(&high)]
}

/// Returns a vector with these 16 bytes in both halves.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn repeat(table: &[u8; 16]) -> __m256i {
    // SAFETY: the reference is to 16 readable bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

/// Looks indices up in the tables of first and last magnitudes.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up(tables: [__m256i; 2], indices: [__m256i; 2]) -> __m256i {
    _mm256_xor_si256(_mm256_shuffle_epi8(tables[0], indices[0]), _mm256_shuffle_epi8(tables[1], indices[1]))
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new<D: Destination>(plan: &DecodePlan) -> Self {
        let [a, b, c, d, e, f, g, h] = D::ORDER;
        let [low, high] = plan.negative_zero.to_le_bytes();
        Self {
            order: _mm256_setr_epi32(a, b, c, d, e, f, g, h),
            index_mask: bytes(plan.index_mask),
            sign_mask: bytes(plan.sign_mask),
            sign: bytes(if plan.sign_mask == 0 { 0 } else { 0x80 }),
            flip: bytes(plan.flip()),
            below_16: bytes(0x70),
            shift: _mm_cvtsi32_si128(plan.shift.cast_signed()),
            offset: _mm256_set1_epi16(plan.offset.cast_signed()),
            first: split_table(&plan.first),
            last: split_table(&plan.last),
            last_signed: if plan.last_signed == [0; 16] {
                None
            } else {
                let code_bits = bytes(plan.index_mask | plan.sign_mask);
                Some((split_table(&plan.last_signed), bytes(plan.flip_signed()), code_bits))
            },
            negative_zero: if plan.negative_zero == 0 { None } else { Some([bytes(low), bytes(high)]) },
        }
    }
}

/// The halves of 32 codes.
#[inline]
#[target_feature(enable = "avx2")]
fn step(code: &[u8; STEP], k: &Constants) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    // SAFETY: the reference is to 32 readable bytes.
    let code = unsafe { _mm256_loadu_si256(code.as_ptr().cast()) };
    let code = _mm256_permutevar8x32_epi32(code, k.order);
    let index = _mm256_and_si256(code, k.index_mask);
    let first = _mm256_adds_epu8(index, k.below_16);
    let last = _mm256_adds_epu8(_mm256_xor_si256(index, k.flip), k.below_16);
    // No iterator calls a closure here: it would lack this function's instructions and stay a call.
    let mut low = look_up([k.first[0], k.last[0]], [first, last]);
    let mut high = look_up([k.first[1], k.last[1]], [first, last]);
    let signed = _mm256_and_si256(code, k.sign_mask);
    let sign = _mm256_and_si256(_mm256_cmpeq_epi8(signed, k.sign_mask), k.sign);
    high = _mm256_xor_si256(high, sign);
    if let Some((table, flip, code_bits)) = &k.last_signed {
        let code = _mm256_and_si256(code, *code_bits);
        let last = _mm256_adds_epu8(_mm256_xor_si256(code, *flip), k.below_16);
        low = _mm256_xor_si256(low, _mm256_shuffle_epi8(table[0], last));
        high = _mm256_xor_si256(high, _mm256_shuffle_epi8(table[1], last));
    }
    if let Some([flip_low, flip_high]) = k.negative_zero {
        let negative_zero =
            _mm256_andnot_si256(_mm256_cmpeq_epi8(sign, zero), _mm256_cmpeq_epi8(index, zero));
        low = _mm256_xor_si256(low, _mm256_and_si256(negative_zero, flip_low));
        high = _mm256_xor_si256(high, _mm256_and_si256(negative_zero, flip_high));
    }
    let half =
        |index, flips| _mm256_xor_si256(_mm256_add_epi16(_mm256_sll_epi16(index, k.shift), k.offset), flips);
    [
        half(_mm256_unpacklo_epi8(index, zero), _mm256_unpacklo_epi8(low, high)),
        half(_mm256_unpackhi_epi8(index, zero), _mm256_unpackhi_epi8(low, high)),
    ]
}
