//! Sums and products of codes in lanes of a byte, 64 at a time: [`crate::plan::byte_lanes`] tells
//! how.

use std::arch::x86_64::*;

use smallfloat::Flags;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::lanes::{STEP, Table128, Table256, bytes, chosen, load_bytes, store_bytes};
use crate::plan::byte_lanes::{
    BytePlan, INEXACT, INFINITE_PLACE, NAN, NAN_PLACE, Outcomes, ProductPlan, SUBNORMAL, SumPlan, UNDERFLOW,
};

/// Fills the results, and gives their flags and those of the operands if they are wanted.
pub(crate) fn combine(
    _: Avx512,
    plan: &BytePlan,
    [x, y]: [&[u8]; 2],
    results: &mut [u8],
    wants_flags: bool,
) -> Flags {
    assert!(x.len() == results.len() && y.len() == results.len(), "slices must have the same length");
    let operands = [x, y];
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plan {
            BytePlan::Sum(plan) => by_kind::<Sum>(plan, operands, results, wants_flags),
            BytePlan::Product(plan) => by_kind::<Product>(plan, operands, results, wants_flags),
        }
    }
}

/// An operation with its tables in registers.
trait Operation: Sized {
    type Plan;

    fn outcomes(plan: &Self::Plan) -> &Outcomes;

    /// # Safety
    /// The machine must have the level's instructions, as in the others.
    unsafe fn new(plan: &Self::Plan) -> Self;

    /// Returns 64 results. Operands may have infinities or NaN among their magnitudes if
    /// `SPECIALS`. Results may be a NaN without a sign if `UNSIGNED_NAN`, also of an operand that
    /// is a NaN in the place of −0. Results are looked at if `FLAGS`.
    ///
    /// # Safety
    /// As above.
    unsafe fn step<const SPECIALS: bool, const UNSIGNED_NAN: bool, const FLAGS: bool>(
        &self,
        common: &Common,
        codes: [__m512i; 2],
        seen: &mut Seen,
    ) -> __m512i;

    /// Returns the flags of what the steps have seen in their vectors.
    ///
    /// # Safety
    /// As above.
    unsafe fn flags(plan: &Self::Plan, seen: &Seen) -> Flags;
}

/// Operations on bits of three vectors a, b and c: b where a has bits and c elsewhere, …
const SELECT: i32 = 0xca;
/// … a | b & !c, …
const OR_AND_NOT: i32 = 0xf4;
/// … and a & !b & !c.
const AND_NOT_OR: i32 = 0x10;

/// What all steps of a slice have met, in some lane.
struct Seen {
    nan: __mmask64,
    infinity: __mmask64,
    overflow: __mmask64,
    /// An operation's own.
    results: [__m512i; 2],
    operands: [__m512i; 2],
}

/// [`Outcomes`] in registers.
struct Common {
    sign: __m512i,
    /// Bits of a code.
    codes: __m512i,
    nan: __m512i,
    nan_at_zero: [__mmask64; 2],
    infinity: __m512i,
    overflow_is_nan: __mmask64,
    keeps_sign_of_zero: __mmask64,
}

impl Common {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(outcomes: &Outcomes) -> Self {
        Self {
            sign: bytes(outcomes.sign),
            codes: bytes(outcomes.sign | (outcomes.sign - 1)),
            nan: bytes(outcomes.nan),
            nan_at_zero: outcomes.nan_at_zero.map(chosen),
            infinity: bytes(outcomes.infinity),
            overflow_is_nan: chosen(outcomes.overflow_is_nan),
            keeps_sign_of_zero: chosen(outcomes.keeps_sign_of_zero),
        }
    }

    /// Lanes in which one of the operands is a NaN in the place of −0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn nan_at_zero(&self, [x, y]: [__m512i; 2]) -> __mmask64 {
        let is_minus_zero = |codes| _mm512_cmpeq_epi8_mask(_mm512_and_si512(codes, self.codes), self.sign);
        is_minus_zero(x) & self.nan_at_zero[0] | is_minus_zero(y) & self.nan_at_zero[1]
    }

    /// Results with their signs, and a NaN without one in the lanes that have one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn finish<const UNSIGNED_NAN: bool>(
        &self,
        magnitudes: __m512i,
        signs: __m512i,
        nan: __mmask64,
    ) -> __m512i {
        let results = _mm512_ternarylogic_epi64::<SELECT>(self.sign, signs, magnitudes);
        if UNSIGNED_NAN { _mm512_mask_mov_epi8(results, nan, self.nan) } else { results }
    }
}

/// # Safety
/// The machine must have the level's instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn by_kind<O: Operation>(
    plan: &O::Plan,
    operands: [&[u8]; 2],
    results: &mut [u8],
    wants_flags: bool,
) -> Flags {
    let outcomes = O::outcomes(plan);
    let has_nan = outcomes.has_specials || outcomes.nan_at_zero != [false; 2] || outcomes.overflow_is_nan;
    let unsigned_nan = has_nan && !outcomes.nan_has_sign;
    // SAFETY: the caller's promise.
    unsafe {
        match (outcomes.has_specials, unsigned_nan, wants_flags) {
            (false, false, false) => run::<O, false, false, false>(plan, operands, results),
            (false, false, true) => run::<O, false, false, true>(plan, operands, results),
            (false, true, false) => run::<O, false, true, false>(plan, operands, results),
            (false, true, true) => run::<O, false, true, true>(plan, operands, results),
            (true, false, false) => run::<O, true, false, false>(plan, operands, results),
            (true, false, true) => run::<O, true, false, true>(plan, operands, results),
            (true, true, false) => run::<O, true, true, false>(plan, operands, results),
            (true, true, true) => run::<O, true, true, true>(plan, operands, results),
        }
    }
}

/// Takes all steps; zeros, which raise nothing, fill the last one.
///
/// # Safety
/// The machine must have the level's instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn run<O: Operation, const SPECIALS: bool, const UNSIGNED_NAN: bool, const FLAGS: bool>(
    plan: &O::Plan,
    [x, y]: [&[u8]; 2],
    results: &mut [u8],
) -> Flags {
    // SAFETY: the caller's promise.
    let operation = unsafe { O::new(plan) };
    let outcomes = O::outcomes(plan);
    let (common, zero) = (Common::new(outcomes), _mm512_setzero_si512());
    let mut seen =
        Seen { nan: 0, infinity: 0, overflow: 0, results: [zero; 2], operands: [bytes(u8::MAX); 2] };
    let mut take = |x: &[[u8; STEP]], y: &[[u8; STEP]], results: &mut [[u8; STEP]]| {
        // SAFETY: the caller's promise.
        unsafe {
            steps::<O, SPECIALS, UNSIGNED_NAN, FLAGS>(&operation, &common, [x, y], results, &mut seen);
        }
    };
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<STEP>(), y.as_chunks::<STEP>());
    let (whole, rest) = results.as_chunks_mut::<STEP>();
    take(x, y, whole);
    if !rest.is_empty() {
        let padded = |rest: &[u8]| {
            let mut codes = [[0; STEP]];
            codes[0][..rest.len()].copy_from_slice(rest);
            codes
        };
        let mut result = [[0; STEP]];
        take(&padded(x_rest), &padded(y_rest), &mut result);
        rest.copy_from_slice(&result[0][..rest.len()]);
    }
    if !FLAGS {
        return Flags::NONE;
    }
    // SAFETY: the caller's promise.
    let mut flags = unsafe { O::flags(plan, &seen) };
    for (lanes, raised) in [
        (seen.nan, outcomes.nan_flags),
        (seen.infinity, outcomes.infinity_flags),
        (seen.overflow, outcomes.overflow_flags),
    ] {
        if lanes != 0 {
            flags |= raised;
        }
    }
    flags
}

/// Takes whole steps, in one loop for those of the slices and the one that is filled up.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn steps<O: Operation, const SPECIALS: bool, const UNSIGNED_NAN: bool, const FLAGS: bool>(
    operation: &O,
    common: &Common,
    [x, y]: [&[[u8; STEP]]; 2],
    results: &mut [[u8; STEP]],
    seen: &mut Seen,
) {
    for ((x, y), result) in x.iter().zip(y).zip(results) {
        let codes = [load_bytes(x), load_bytes(y)];
        // SAFETY: the caller's promise.
        let codes = unsafe { operation.step::<SPECIALS, UNSIGNED_NAN, FLAGS>(common, codes, seen) };
        store_bytes(result, codes);
    }
}

struct Sum {
    places: [Table128; 2],
    flip: __m512i,
    binade: __m512i,
    larger: __m512i,
    smaller: __m512i,
    most_distant: __m512i,
    rounded: Table256,
    codes: Table256,
    largest: __m512i,
}

impl Operation for Sum {
    type Plan = SumPlan;

    fn outcomes(plan: &SumPlan) -> &Outcomes {
        &plan.outcomes
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn new(plan: &SumPlan) -> Self {
        let [x, y] = &plan.places;
        Self {
            places: [Table128::new(x), Table128::new(y)],
            flip: bytes(if plan.subtracts { plan.outcomes.sign } else { 0 }),
            binade: bytes(plan.binade),
            larger: load_bytes(&plan.larger),
            smaller: load_bytes(&plan.smaller),
            most_distant: bytes(plan.binade & 63),
            rounded: Table256::new(&plan.rounded),
            codes: Table256::new(&plan.codes),
            largest: bytes(plan.largest),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn step<const SPECIALS: bool, const UNSIGNED_NAN: bool, const FLAGS: bool>(
        &self,
        common: &Common,
        [x, y]: [__m512i; 2],
        seen: &mut Seen,
    ) -> __m512i {
        let (x_places, y_places) = (self.places[0].at(x), self.places[1].at(y));
        let high = _mm512_max_epu8(x_places, y_places);
        let low = _mm512_min_epu8(x_places, y_places);
        // A NaN keeps its sign.
        let term = if SPECIALS {
            let is_number = _mm512_cmpneq_epi8_mask(y_places, bytes(NAN_PLACE));
            _mm512_xor_si512(y, _mm512_maskz_mov_epi8(is_number, self.flip))
        } else {
            _mm512_xor_si512(y, self.flip)
        };
        let differs = _mm512_test_epi8_mask(_mm512_xor_si512(x, term), common.sign);
        let y_is_larger = _mm512_cmplt_epu8_mask(x_places, y_places);

        let (mut is_special, mut opposite, mut nan) = (0, 0, 0);
        if SPECIALS {
            is_special = _mm512_cmpge_epu8_mask(high, bytes(INFINITE_PLACE));
            let is_nan = _mm512_cmpeq_epi8_mask(high, bytes(NAN_PLACE));
            opposite = _mm512_mask_cmpeq_epi8_mask(differs & !is_nan, low, bytes(INFINITE_PLACE));
            nan = is_nan | opposite;
        }
        if UNSIGNED_NAN {
            nan |= common.nan_at_zero([x, y]);
        }

        // Significands; those of zeros, and of what has a place but no value, are zero.
        let high_binade = _mm512_and_si512(high, self.binade);
        let distance = _mm512_sub_epi8(high_binade, _mm512_and_si512(low, self.binade));
        let distance = _mm512_min_epu8(distance, self.most_distant);
        let at = _mm512_ternarylogic_epi64::<OR_AND_NOT>(distance, low, self.binade);
        let (is_high, is_low) = (_mm512_test_epi8_mask(high, high), _mm512_test_epi8_mask(low, low));
        let larger = _mm512_maskz_permutexvar_epi8(is_high & !is_special, high, self.larger);
        let smaller = _mm512_maskz_permutexvar_epi8(is_low & !is_special, at, self.smaller);
        let sum = _mm512_add_epi8(larger, smaller);
        let sum = _mm512_mask_sub_epi8(sum, differs, larger, smaller);

        let rounded = self.rounded.at(sum);
        let above = _mm512_andnot_si512(bytes(INEXACT), rounded);
        let not_zero = _mm512_test_epi8_mask(sum, sum);
        let entries = _mm512_maskz_add_epi8(not_zero, high_binade, above);
        let codes = self.codes.at(entries);
        let mut magnitudes = codes;
        let overflow = _mm512_cmpgt_epu8_mask(entries, self.largest);
        if SPECIALS {
            magnitudes = _mm512_mask_mov_epi8(magnitudes, is_special, common.infinity);
            if !UNSIGNED_NAN {
                magnitudes = _mm512_mask_mov_epi8(magnitudes, nan, common.nan);
            }
        }
        let signs = _mm512_mask_blend_epi8(y_is_larger, x, term);
        let keeps_sign = not_zero | is_special & !opposite | !differs & common.keeps_sign_of_zero;
        let signs = _mm512_maskz_mov_epi8(keeps_sign, signs);
        if FLAGS {
            let one = bytes(1);
            seen.results[0] = _mm512_or_si512(seen.results[0], rounded);
            seen.results[1] = _mm512_or_si512(seen.results[1], codes);
            seen.overflow |= overflow;
            seen.infinity |= is_special & !nan;
            seen.nan |= nan;
            // Zeros become the largest of all bytes.
            seen.operands[0] = _mm512_min_epu8(seen.operands[0], _mm512_sub_epi8(x_places, one));
            seen.operands[1] = _mm512_min_epu8(seen.operands[1], _mm512_sub_epi8(y_places, one));
        }
        let nan = nan | overflow & common.overflow_is_nan;
        common.finish::<UNSIGNED_NAN>(magnitudes, signs, nan)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn flags(plan: &SumPlan, seen: &Seen) -> Flags {
        let mut flags = Flags::NONE;
        for (results, raised) in seen.results.into_iter().zip([Flags::INEXACT, plan.flags]) {
            if _mm512_test_epi8_mask(results, bytes(INEXACT)) != 0 {
                flags |= raised;
            }
        }
        for (smallest, normal) in seen.operands.into_iter().zip(plan.first_normal) {
            if _mm512_cmplt_epu8_mask(smallest, bytes(normal - 1)) != 0 {
                flags |= Flags::DENORMAL;
            }
        }
        flags
    }
}

struct Product {
    binades: [Table128; 2],
    significands: [Table128; 2],
    products: __m512i,
    carries: __m512i,
    lowest: __m512i,
    normal: __m512i,
    most: __m512i,
    trailing: __m128i,
    rounded: Table256,
    specials: __m512i,
    overflow: __m512i,
    largest: __m512i,
}

impl Operation for Product {
    type Plan = ProductPlan;

    fn outcomes(plan: &ProductPlan) -> &Outcomes {
        &plan.outcomes
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn new(plan: &ProductPlan) -> Self {
        // By the upper halves of classes and trailing bits.
        let specials = [0, 0, plan.outcomes.infinity, plan.outcomes.nan];
        let mut by_class = [0; STEP];
        for (i, special) in by_class.iter_mut().enumerate() {
            *special = specials[i / 4 % 4];
        }
        let [x, y] = &plan.binades;
        let [x_significands, y_significands] = &plan.significands;
        Self {
            binades: [Table128::new(x), Table128::new(y)],
            significands: [Table128::new(x_significands), Table128::new(y_significands)],
            products: load_bytes(&plan.products),
            carries: load_bytes(&plan.carries),
            lowest: bytes(plan.lowest),
            normal: bytes(plan.normal),
            most: bytes(u8::MAX >> plan.trailing),
            trailing: _mm_cvtsi32_si128(i32::from(plan.trailing)),
            rounded: Table256::new(&plan.rounded),
            specials: load_bytes(&by_class),
            overflow: bytes(plan.outcomes.overflow),
            largest: bytes(plan.largest),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn step<const SPECIALS: bool, const UNSIGNED_NAN: bool, const FLAGS: bool>(
        &self,
        common: &Common,
        [x, y]: [__m512i; 2],
        seen: &mut Seen,
    ) -> __m512i {
        let (x_binades, y_binades) = (self.binades[0].at(x), self.binades[1].at(y));
        let (x_parts, y_parts) = (self.significands[0].at(x), self.significands[1].at(y));
        let parts = _mm512_or_si512(x_parts, y_parts);
        let is_special = _mm512_test_epi8_mask(parts, bytes(NAN));

        // That of specials is exact.
        let product = _mm512_maskz_permutexvar_epi8(!is_special, parts, self.products);
        let carry = _mm512_permutexvar_epi8(parts, self.carries);
        let binade = _mm512_andnot_si512(bytes(SUBNORMAL), _mm512_add_epi8(x_binades, y_binades));
        let binade = _mm512_add_epi8(binade, carry);
        let binade = _mm512_subs_epu8(binade, self.lowest);
        let row = _mm512_slli_epi16::<5>(_mm512_min_epu8(binade, self.normal));
        let rounded = self.rounded.at(_mm512_add_epi8(row, product));
        let above = _mm512_min_epu8(_mm512_subs_epu8(binade, self.normal), self.most);
        let above = _mm512_sll_epi16(above, self.trailing);
        let codes = _mm512_andnot_si512(bytes(INEXACT | UNDERFLOW), rounded);
        let mut magnitudes = _mm512_adds_epu8(above, codes);
        let overflow = _mm512_mask_cmpgt_epu8_mask(!is_special, magnitudes, self.largest);
        magnitudes = _mm512_mask_mov_epi8(magnitudes, overflow, self.overflow);
        let class = _mm512_srli_epi16::<4>(parts);
        magnitudes = _mm512_mask_permutexvar_epi8(magnitudes, is_special, class, self.specials);

        let mut nan = 0;
        if SPECIALS {
            nan = _mm512_cmpge_epu8_mask(parts, bytes(NAN));
        }
        let keeps_sign = _mm512_test_epi8_mask(magnitudes, magnitudes) | common.keeps_sign_of_zero;
        let mut signs = _mm512_maskz_mov_epi8(keeps_sign & !nan, _mm512_xor_si512(x, y));
        if UNSIGNED_NAN {
            nan |= common.nan_at_zero([x, y]);
        } else if SPECIALS {
            let is_nan = |parts| _mm512_cmpge_epu8_mask(parts, bytes(NAN));
            signs = _mm512_mask_mov_epi8(signs, is_nan(y_parts), y);
            signs = _mm512_mask_mov_epi8(signs, is_nan(x_parts), x);
        }
        if FLAGS {
            seen.results[0] = _mm512_or_si512(seen.results[0], rounded);
            seen.overflow |= overflow;
            if SPECIALS {
                seen.infinity |= _mm512_movepi8_mask(parts) & !nan;
            }
            seen.nan |= nan;
            seen.operands[0] =
                _mm512_ternarylogic_epi64::<AND_NOT_OR>(seen.operands[0], x_binades, y_binades);
        }
        let nan = nan | overflow & common.overflow_is_nan;
        common.finish::<UNSIGNED_NAN>(magnitudes, signs, nan)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn flags(_: &ProductPlan, seen: &Seen) -> Flags {
        let mut flags = Flags::NONE;
        for (bit, flag) in [(INEXACT, Flags::INEXACT), (UNDERFLOW, Flags::UNDERFLOW)] {
            if _mm512_test_epi8_mask(seen.results[0], bytes(bit)) != 0 {
                flags |= flag;
            }
        }
        if _mm512_movepi8_mask(seen.operands[0]) != u64::MAX {
            flags |= Flags::DENORMAL;
        }
        flags
    }
}
