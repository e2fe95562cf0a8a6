//! Codes of at most 8 bits → f32, bf16, f64 or f16: byte tables of all magnitudes (VPERMI2B), the
//! sign where a code keeps it. f64 and f16 are conversions of the f32, which must not be subnormal
//! then.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use smallfloat::{Bf16, F16};

use crate::arch::machine::Avx512;
use crate::arch::machine::avx2::decode::Destination as NarrowClasses;
use crate::arch::machine::avx512::lanes::{STEP, bytes, words};
use crate::arch::vectors::blocks::{self, Decoder, Step, for_steps, nothing};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::decode::DecodePlan;

/// A destination: how the 16-bit halves of 64 codes are stored.
pub(crate) trait Destination: NarrowClasses {
    /// Which code each byte of the reordered codes is, so that interleaving leaves the halves where
    /// stores want them.
    const PLACES: [u8; STEP];

    /// Stores the halves, past the caches if `stream`.
    ///
    /// # Safety
    /// The machine must have AVX-512 F and BW; with `stream`, `values` must be aligned to 64 bytes.
    unsafe fn store_wide(values: &mut [Self; STEP], halves: [__m512i; 2], stream: bool);
}

/// # Safety
/// The machine must have AVX-512 F; `to` must be writable and, with `stream`, aligned.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put(to: *mut __m512i, vector: __m512i, stream: bool) {
    // SAFETY: the caller's promise.
    unsafe { if stream { _mm512_stream_si512(to, vector) } else { _mm512_storeu_si512(to, vector) } }
}

/// The words of 64 binary32 whose places are [`f32::PLACES`](Destination::PLACES).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn singles([low, high]: [__m512i; 2]) -> [__m512i; 4] {
    let upper = words(0xffff_0000);
    [
        _mm512_slli_epi32::<16>(low),
        _mm512_and_si512(low, upper),
        _mm512_slli_epi32::<16>(high),
        _mm512_and_si512(high, upper),
    ]
}

impl Destination for f32 {
    /// Halves at even places of a 128-bit lane's lower half are shifted into the first vector,
    /// those at odd places masked into the second; its upper half makes the other two vectors.
    const PLACES: [u8; STEP] = {
        let mut places = [0; STEP];
        let mut i = 0;
        while i < STEP {
            let (lane, byte) = (i / 16, i % 16);
            let vector = 2 * (byte / 8) + byte % 2;
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let code = (16 * vector + 4 * lane + byte % 8 / 2) as u8;
            places[i] = code;
            i += 1;
        }
        places
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide(values: &mut [Self; STEP], halves: [__m512i; 2], stream: bool) {
        for (sixteen, vector) in values.as_chunks_mut::<16>().0.iter_mut().zip(singles(halves)) {
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put(sixteen.as_mut_ptr().cast(), vector, stream) };
        }
    }
}

impl Destination for f64 {
    const PLACES: [u8; STEP] = f32::PLACES;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide(values: &mut [Self; STEP], halves: [__m512i; 2], stream: bool) {
        for (sixteen, vector) in values.as_chunks_mut::<16>().0.iter_mut().zip(singles(halves)) {
            let eights = [_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector)];
            for (eight, singles) in sixteen.as_chunks_mut::<8>().0.iter_mut().zip(eights) {
                let vector = _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(singles)));
                // SAFETY: the reference is to 64 writable bytes; the caller has checked the
                // alignment.
                unsafe { put(eight.as_mut_ptr().cast(), vector, stream) };
            }
        }
    }
}

impl Destination for F16 {
    const PLACES: [u8; STEP] = f32::PLACES;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide(values: &mut [Self; STEP], halves: [__m512i; 2], stream: bool) {
        const EXACT: i32 = _MM_FROUND_TO_NEAREST_INT;
        let [a, b, c, d] = singles(halves);
        for (many, [low, high]) in values.as_chunks_mut::<32>().0.iter_mut().zip([[a, b], [c, d]]) {
            let low = _mm512_cvtps_ph::<EXACT>(_mm512_castsi512_ps(low));
            let high = _mm512_cvtps_ph::<EXACT>(_mm512_castsi512_ps(high));
            let vector = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put(many.as_mut_ptr().cast(), vector, stream) };
        }
    }
}

impl Destination for Bf16 {
    /// The lower halves of 128-bit lanes make the first vector, the upper ones the second.
    const PLACES: [u8; STEP] = {
        let mut places = [0; STEP];
        let mut i = 0;
        while i < STEP {
            let (lane, byte) = (i / 16, i % 16);
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let code = (32 * (byte / 8) + 8 * lane + byte % 8) as u8;
            places[i] = code;
            i += 1;
        }
        places
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide(values: &mut [Self; STEP], halves: [__m512i; 2], stream: bool) {
        for (many, vector) in values.as_chunks_mut::<32>().0.iter_mut().zip(halves) {
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put(many.as_mut_ptr().cast(), vector, stream) };
        }
    }
}

/// Decodes a slice, past the caches if `stream`.
pub(crate) fn decode<D: Destination>(
    _: Avx512,
    plan: &DecodePlan,
    codes: &[u8],
    values: &mut [D],
    stream: bool,
) {
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plan.signs {
            Some(_) => {
                blocks::decode(&Bytes::<D, _>::new(Halved::new(plan)), codes, values, stream);
            }
            None => blocks::decode(&Bytes::<D, _>::new(Whole::new(plan)), codes, values, stream),
        }
    }
}

struct Bytes<D, T> {
    table: T,
    destination: PhantomData<D>,
}

impl<D, T> Bytes<D, T> {
    fn new(table: T) -> Self {
        Self { table, destination: PhantomData }
    }
}

impl<D: Destination, T: Table> Decoder for Bytes<D, T> {
    type From = u8;
    type To = D;
    const ALIGNMENT: usize = STEP;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn decode<const STREAM: bool>(&self, codes: &[u8], values: &mut [D]) {
        let kernel =
            Decoding::<D, T> { table: &self.table, places: load(&D::PLACES), destination: PhantomData };
        // SAFETY: this function has the level's instructions; the rest is the caller's promise.
        unsafe { for_steps(&kernel, codes, nothing(codes.len()), values, &mut (), STREAM) };
    }
}

struct Decoding<'a, D, T> {
    table: &'a T,
    places: __m512i,
    destination: PhantomData<D>,
}

impl<D: Destination, T: Table> Step<CodesOnly, STEP> for Decoding<'_, D, T> {
    type From = u8;
    type With = ();
    type To = D;
    type Sums = ();
    type Vectors = [__m512i; 2];

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn step(&self, codes: &[u8; STEP], _: &[(); STEP], (): &mut ()) -> [__m512i; 2] {
        let code = _mm512_permutexvar_epi8(self.places, load(codes));
        // SAFETY: this function has the features that tables need.
        let [low, high] = unsafe { self.table.look_up(code) };
        interleave(low, high)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn store(values: &mut [D; STEP], halves: [__m512i; 2], stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { D::store_wide(values, halves, stream) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(codes: &[u8; STEP]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave(low: __m512i, high: __m512i) -> [__m512i; 2] {
    [_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)]
}

/// The values of 64 codes, by the table of a decoder.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VBMI.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn values<T: Table>(code: &[u8; STEP], table: &T) -> [__m512; 4] {
    // SAFETY: this function has the features that tables need.
    unsafe { reordered(_mm512_permutexvar_epi8(load(&f32::PLACES), load(code)), table) }
}

/// The values of codes in the order of which interleaving makes their own.
///
/// # Safety
/// As for [`values`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn reordered<T: Table>(codes: __m512i, table: &T) -> [__m512; 4] {
    // SAFETY: this function has the features that tables need.
    let [low, high] = unsafe { table.look_up(codes) };
    let [a, b, c, d] = singles(interleave(low, high));
    [_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _mm512_castsi512_ps(c), _mm512_castsi512_ps(d)]
}

/// Codes of each row of a pair.
pub(super) const PAIR: usize = STEP / 2;

/// Which code each byte is of the reordered codes of two rows, so that vectors have eight values of
/// the first and the same eight of the second.
const PLACES_OF_PAIR: [u8; STEP] = {
    let mut places = <f32 as Destination>::PLACES;
    let mut i = 0;
    while i < STEP {
        let (vector, row, element) = (places[i] / 16, places[i] / 8 % 2, places[i] % 8);
        places[i] = 32 * row + 8 * vector + element;
        i += 1;
    }
    places
};

/// The values of codes of two rows, eight of the first and eight of the second in each vector.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VBMI.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn values_of_pair<T: Table>(rows: [&[u8; PAIR]; 2], table: &T) -> [__m512; 4] {
    // SAFETY: the references are to 32 readable bytes each; the loads need no alignment.
    let (first, second) =
        unsafe { (_mm256_loadu_si256(rows[0].as_ptr().cast()), _mm256_loadu_si256(rows[1].as_ptr().cast())) };
    let codes = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
    // SAFETY: this function has the features that tables need.
    unsafe { reordered(_mm512_permutexvar_epi8(load(&PLACES_OF_PAIR), codes), table) }
}

/// How codes become the low and the high bytes of their halves.
pub(super) trait Table: Sized {
    /// Makes the tables of a plan.
    ///
    /// # Safety
    /// The machine must have AVX-512 F and BW.
    unsafe fn new(plan: &DecodePlan) -> Self;

    /// # Safety
    /// The machine must have AVX-512 F, BW and VBMI.
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2];
}

/// The bytes of 128 halves: two vectors for low bytes, two for high ones.
type Half = [[__m512i; 2]; 2];

#[inline]
#[target_feature(enable = "avx512f")]
fn half(plan: &DecodePlan, upper: bool) -> Half {
    let load = |table: &[u8; 256]| {
        let quarters: &[[u8; STEP]] = table.as_chunks().0;
        let quarters = if upper { &quarters[2..] } else { quarters };
        [load(&quarters[0]), load(&quarters[1])]
    };
    [load(&plan.bytes[0]), load(&plan.bytes[1])]
}

/// Tables of 128 codes, and signs for the others.
pub(super) struct Halved {
    tables: Half,
    first: __m512i,
    span: __m512i,
    sign: __m512i,
}

impl Table for Halved {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn new(plan: &DecodePlan) -> Self {
        let signs = plan.signs.expect("the caller takes all codes apart where there are no signs");
        let (first, span, sign) = (bytes(signs.first), bytes(signs.span), bytes(signs.sign));
        Self { tables: half(plan, false), first, span, sign }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2] {
        // Only the seven low bits of an index count.
        let [low, high] = self.tables;
        let low = _mm512_permutex2var_epi8(low[0], code, low[1]);
        let high = _mm512_permutex2var_epi8(high[0], code, high[1]);
        let turned = _mm512_cmple_epu8_mask(_mm512_sub_epi8(code, self.first), self.span);
        // Adding a byte's highest bit turns it.
        [low, _mm512_mask_add_epi8(high, turned, high, self.sign)]
    }
}

/// Tables of all codes, for formats without a sign or with another value in the place of −0.
pub(super) struct Whole {
    lower: Half,
    upper: Half,
}

impl Table for Whole {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn new(plan: &DecodePlan) -> Self {
        Self { lower: half(plan, false), upper: half(plan, true) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2] {
        let upper = _mm512_movepi8_mask(code);
        let mut bytes = [code; 2];
        for ((bytes, lower_table), upper_table) in bytes.iter_mut().zip(&self.lower).zip(&self.upper) {
            let lower = _mm512_permutex2var_epi8(lower_table[0], code, lower_table[1]);
            let high = _mm512_permutex2var_epi8(upper_table[0], code, upper_table[1]);
            *bytes = _mm512_mask_mov_epi8(lower, upper, high);
        }
        bytes
    }
}
