//! Codes of at most 16 bits → f32, bf16, f64 or f16, by `plan/decode.rs`. Bytes need no
//! floating-point arithmetic, so neither subnormals nor the host's settings matter; f64 and f16 are
//! conversions of the f32, which must not be subnormal then.

use std::arch::aarch64::*;
use std::arch::asm;
use std::marker::PhantomData;

use smallfloat::{Bf16, F16};

use crate::arch::machine::Neon;
use crate::arch::machine::lanes::{STEP, Vector, load, places, words};
use crate::arch::vectors::blocks::{self, Decoder, Step, for_steps, nothing};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::decode::{DecodePlan, INFINITY, NAN, WidePlan};

/// A destination: how the upper halves of 16 values are stored.
pub(crate) trait Destination: Copy + Default {
    /// Stores the halves.
    ///
    /// # Safety
    /// The machine must have NEON.
    unsafe fn store(values: &mut [Self; STEP], halves: [uint16x8_t; 2]);
}

/// A destination for words of binary32.
pub(crate) trait WideDestination: Copy + Default {
    /// Stores four values.
    ///
    /// # Safety
    /// The machine must have NEON.
    unsafe fn store_words(values: &mut [Self; 4], words: uint32x4_t);
}

/// The words of 16 binary32.
#[inline]
#[target_feature(enable = "neon")]
fn singles([low, high]: [uint16x8_t; 2]) -> [uint32x4_t; 4] {
    let zero = vdupq_n_u16(0);
    [
        vreinterpretq_u32_u16(vzip1q_u16(zero, low)),
        vreinterpretq_u32_u16(vzip2q_u16(zero, low)),
        vreinterpretq_u32_u16(vzip1q_u16(zero, high)),
        vreinterpretq_u32_u16(vzip2q_u16(zero, high)),
    ]
}

impl WideDestination for f32 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store_words(values: &mut [Self; 4], words: uint32x4_t) {
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u32(values.as_mut_ptr().cast(), words) };
    }
}

impl WideDestination for f64 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store_words(values: &mut [Self; 4], words: uint32x4_t) {
        let singles = vreinterpretq_f32_u32(words);
        let pairs = [vcvt_f64_f32(vget_low_f32(singles)), vcvt_high_f64_f32(singles)];
        for (two, pair) in values.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { vst1q_f64(two.as_mut_ptr(), pair) };
        }
    }
}

impl WideDestination for F16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store_words(values: &mut [Self; 4], words: uint32x4_t) {
        // SAFETY: the reference is to 8 writable bytes. The instruction, whose intrinsic is younger
        // than the oldest supported Rust, converts four binary32 to binary16.
        unsafe {
            let halves: uint16x4_t;
            asm!("fcvtn {0:v}.4h, {1:v}.4s", out(vreg) halves, in(vreg) words,
                options(pure, nomem, nostack, preserves_flags));
            vst1_u16(values.as_mut_ptr().cast(), halves);
        }
    }
}

macro_rules! by_words {
    ($($type:ty),*) => {
        $(
            impl Destination for $type {
                #[inline]
                #[target_feature(enable = "neon")]
                unsafe fn store(values: &mut [Self; STEP], halves: [uint16x8_t; 2]) {
                    for (four, words) in values.as_chunks_mut::<4>().0.iter_mut().zip(singles(halves)) {
                        // SAFETY: this function has the level's instructions.
                        unsafe { Self::store_words(four, words) };
                    }
                }
            }
        )*
    };
}

by_words!(f32, f64, F16);

impl Destination for Bf16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(values: &mut [Self; STEP], halves: [uint16x8_t; 2]) {
        for (eight, vector) in values.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { vst1q_u16(eight.as_mut_ptr().cast(), vector) };
        }
    }
}

/// The values of 16 codes.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn values(code: &[u8; STEP], k: &Constants) -> [float32x4_t; 4] {
    let [a, b, c, d] = singles(halves(code, k));
    [vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b), vreinterpretq_f32_u32(c), vreinterpretq_f32_u32(d)]
}

/// Decodes a slice of bytes.
pub(crate) fn decode<D: Destination>(_: Neon, plan: &DecodePlan, codes: &[u8], values: &mut [D]) {
    let decoder = Bytes::<D> { plan, destination: PhantomData };
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { blocks::decode(&decoder, codes, values, false) }
}

struct Bytes<'a, D> {
    plan: &'a DecodePlan,
    destination: PhantomData<D>,
}

impl<D: Destination> Decoder for Bytes<'_, D> {
    type From = u8;
    type To = D;
    const ALIGNMENT: usize = STEP;

    #[inline(never)]
    #[target_feature(enable = "neon")]
    unsafe fn decode<const STREAM: bool>(&self, codes: &[u8], values: &mut [D]) {
        let kernel = Decoding::<D> { k: Constants::new(self.plan), destination: PhantomData };
        // SAFETY: this function has the level's instructions.
        unsafe { for_steps(&kernel, codes, nothing(codes.len()), values, &mut (), false) };
    }
}

struct Decoding<D> {
    k: Constants,
    destination: PhantomData<D>,
}

impl<D: Destination> Step<CodesOnly, STEP> for Decoding<D> {
    type From = u8;
    type With = ();
    type To = D;
    type Sums = ();
    type Vectors = [uint16x8_t; 2];

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, codes: &[u8; STEP], _: &[(); STEP], (): &mut ()) -> [uint16x8_t; 2] {
        halves(codes, &self.k)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(values: &mut [D; STEP], halves: [uint16x8_t; 2], _: bool) {
        // SAFETY: the caller's promise.
        unsafe { D::store(values, halves) };
    }
}

/// The plan as vectors.
pub(super) struct Constants {
    index_mask: Vector,
    sign_mask: Vector,
    sign: Vector,
    flip: Vector,
    shift: int16x8_t,
    offset: uint16x8_t,
    /// Low and high bytes of the plan's tables.
    first: [Vector; 2],
    last: [Vector; 2],
    /// The table of last codes with a sign, what makes its index, and the bits of a code; where
    /// there is such a table.
    last_signed: Option<([Vector; 2], Vector, Vector)>,
    negative_zero: Option<[Vector; 2]>,
}

/// Low and high bytes of a table's half-words.
#[inline]
#[target_feature(enable = "neon")]
fn split_table(halves: &[u16; 16]) -> [Vector; 2] {
    let (mut low, mut high) = ([0; 16], [0; 16]);
    for ((half, low), high) in halves.iter().zip(&mut low).zip(&mut high) {
        [*low, *high] = half.to_le_bytes();
    }
    [load(&low), load(&high)]
}

impl Constants {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new(plan: &DecodePlan) -> Self {
        let [low, high] = plan.negative_zero.to_le_bytes();
        Self {
            index_mask: vdupq_n_u8(plan.index_mask),
            sign_mask: vdupq_n_u8(plan.sign_mask),
            sign: vdupq_n_u8(if plan.sign_mask == 0 { 0 } else { 0x80 }),
            flip: vdupq_n_u8(plan.flip()),
            shift: vdupq_n_s16(i16::try_from(plan.shift).expect("a shift of at most 7 places")),
            offset: vdupq_n_u16(plan.offset),
            first: split_table(&plan.first),
            last: split_table(&plan.last),
            last_signed: if plan.last_signed == [0; 16] {
                None
            } else {
                let code_bits = vdupq_n_u8(plan.index_mask | plan.sign_mask);
                Some((split_table(&plan.last_signed), vdupq_n_u8(plan.flip_signed()), code_bits))
            },
            negative_zero: if plan.negative_zero == 0 {
                None
            } else {
                Some([vdupq_n_u8(low), vdupq_n_u8(high)])
            },
        }
    }
}

/// The upper halves of the values of 16 codes. Indices beyond a table of 16 give zero.
#[inline]
#[target_feature(enable = "neon")]
fn halves(code: &[u8; STEP], k: &Constants) -> [uint16x8_t; 2] {
    let code = load(code);
    let index = vandq_u8(code, k.index_mask);
    let last = veorq_u8(index, k.flip);
    let mut low = veorq_u8(vqtbl1q_u8(k.first[0], index), vqtbl1q_u8(k.last[0], last));
    let mut high = veorq_u8(vqtbl1q_u8(k.first[1], index), vqtbl1q_u8(k.last[1], last));
    let sign = vandq_u8(vtstq_u8(code, k.sign_mask), k.sign);
    high = veorq_u8(high, sign);
    if let Some((table, flip, code_bits)) = &k.last_signed {
        let last = veorq_u8(vandq_u8(code, *code_bits), *flip);
        low = veorq_u8(low, vqtbl1q_u8(table[0], last));
        high = veorq_u8(high, vqtbl1q_u8(table[1], last));
    }
    if let Some([flip_low, flip_high]) = k.negative_zero {
        let negative_zero = vbicq_u8(vceqzq_u8(index), vceqzq_u8(sign));
        low = veorq_u8(low, vandq_u8(negative_zero, flip_low));
        high = veorq_u8(high, vandq_u8(negative_zero, flip_high));
    }
    let linear = [vmovl_u8(vget_low_u8(index)), vmovl_high_u8(index)];
    let flips = [vreinterpretq_u16_u8(vzip1q_u8(low, high)), vreinterpretq_u16_u8(vzip2q_u8(low, high))];
    [
        veorq_u16(vaddq_u16(vshlq_u16(linear[0], k.shift), k.offset), flips[0]),
        veorq_u16(vaddq_u16(vshlq_u16(linear[1], k.shift), k.offset), flips[1]),
    ]
}

/// Codes of a step of [`decode_wide`].
const FOUR: usize = 4;

/// Decodes a slice of half-words.
pub(crate) fn decode_wide<D: WideDestination>(_: Neon, plan: &WidePlan, codes: &[u16], values: &mut [D]) {
    let decoder = Halves::<D> { plan, destination: PhantomData };
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { blocks::decode(&decoder, codes, values, false) }
}

struct Halves<'a, D> {
    plan: &'a WidePlan,
    destination: PhantomData<D>,
}

impl<D: WideDestination> Decoder for Halves<'_, D> {
    type From = u16;
    type To = D;
    const ALIGNMENT: usize = STEP;

    #[inline(never)]
    #[target_feature(enable = "neon")]
    unsafe fn decode<const STREAM: bool>(&self, codes: &[u16], values: &mut [D]) {
        let kernel = WideDecoding::<D> { k: WideConstants::new(self.plan), destination: PhantomData };
        // SAFETY: this function has the level's instructions.
        unsafe { for_steps(&kernel, codes, nothing(codes.len()), values, &mut (), false) };
    }
}

struct WideDecoding<D> {
    k: WideConstants,
    destination: PhantomData<D>,
}

impl<D: WideDestination> Step<CodesOnly, FOUR> for WideDecoding<D> {
    type From = u16;
    type With = ();
    type To = D;
    type Sums = ();
    type Vectors = uint32x4_t;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, codes: &[u16; FOUR], _: &[(); FOUR], (): &mut ()) -> uint32x4_t {
        wide_words(codes, &self.k)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(values: &mut [D; FOUR], words: uint32x4_t, _: bool) {
        // SAFETY: this function has the level's instructions.
        unsafe { D::store_words(values, words) };
    }
}

/// The plan as vectors.
struct WideConstants {
    code_mask: uint32x4_t,
    index_mask: uint32x4_t,
    shift: int32x4_t,
    offset: uint32x4_t,
    first_linear: uint32x4_t,
    smallest: float32x4_t,
    last_finite: uint32x4_t,
    last_number: uint32x4_t,
    nan_code: uint32x4_t,
    /// What brings a code's highest bit to that of a word, and the sign there.
    to_top: int32x4_t,
    sign: uint32x4_t,
}

impl WideConstants {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(plan: &WidePlan) -> Self {
        Self {
            code_mask: words(plan.index_mask | plan.sign_mask),
            index_mask: words(plan.index_mask),
            shift: places(plan.shift, 0),
            offset: words(plan.offset),
            first_linear: words(plan.first_linear),
            smallest: vreinterpretq_f32_u32(words(plan.smallest)),
            last_finite: words(plan.last_finite),
            last_number: words(plan.last_number),
            nan_code: words(plan.nan_code),
            to_top: places(32 - plan.width, 0),
            sign: words(if plan.sign_mask == 0 { 0 } else { 1 << 31 }),
        }
    }
}

/// The words of four codes.
#[inline]
#[target_feature(enable = "neon")]
fn wide_words(code: &[u16; FOUR], k: &WideConstants) -> uint32x4_t {
    // SAFETY: the reference is to 8 readable bytes.
    let code = vmovl_u16(unsafe { vld1_u16(code.as_ptr()) });
    let index = vandq_u32(code, k.index_mask);
    let mut word = vaddq_u32(vshlq_u32(index, k.shift), k.offset);
    let subnormal = vreinterpretq_u32_f32(vmulq_f32(vcvtq_f32_u32(index), k.smallest));
    word = vbslq_u32(vcltq_u32(index, k.first_linear), subnormal, word);
    word = vbslq_u32(vcgtq_u32(index, k.last_finite), words(INFINITY), word);
    word = vorrq_u32(word, vandq_u32(vshlq_u32(code, k.to_top), k.sign));
    let on_zero = vceqq_u32(vandq_u32(code, k.code_mask), k.nan_code);
    vbslq_u32(vorrq_u32(vcgtq_u32(index, k.last_number), on_zero), words(NAN), word)
}
