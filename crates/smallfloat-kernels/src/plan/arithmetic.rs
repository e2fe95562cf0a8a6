//! [`ArithmeticPlan`] and [`OrderPlan`]: how vectors compute an operation on codes of at most 8
//! bits.
//!
//! Sums, products and fused products are computed in binary32, where codes have values with 8 bits
//! at most. A product has 16 bits, so it is exact. A sum is exact where the operands' span fits
//! into 24 bits; elsewhere it is *rounded to odd*: the neighbour with an odd last bit stands for
//! all values between two of binary32's. What that can't land on are the places where a small
//! format's rounding changes (they have 9 bits at most), so the encoder's one rounding is that of
//! the exact result. All that has to be known beforehand is that no result leaves binary32's normal
//! range, and that is decided here.
//!
//! A minimum or maximum whose operands and result share a format is one of two codes: bytes in the
//! order of the values.

use smallfloat::Subnormals::Gradual;
use smallfloat::formats::BINARY32;
use smallfloat::ops::{Extremum, Operand, Operation, OperationOptions, Semantics};
use smallfloat::{Class, Datum, FlagPolicy, Flags, Format, convert};

use crate::plan::decode::DecodePlan;
use crate::target::Target;

/// What is computed of two or three values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compute {
    /// x + y; the plan of a difference has the values of −y.
    Sum,
    /// x · y.
    Product,
    /// x · y + z.
    Fma,
}

/// A computation in binary32 on the values of codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArithmeticPlan {
    pub(crate) compute: Compute,
    /// Sums may need more than 24 bits and are rounded to odd.
    pub(crate) odd: bool,
    /// The result's code of a NaN depends on its sign: that of the first NaN operand, + where there
    /// is none.
    pub(crate) nan_has_sign: bool,
    /// What may happen to a result beside rounding.
    pub(crate) possible: Flags,
    /// Results of these magnitudes, as bits of binary32, and zeros raise nothing but "inexact".
    pub(crate) quiet: [u32; 2],
    /// An operation of two operands has its second one twice.
    pub(crate) operands: [DecodePlan; 3],
    pub(crate) subnormals: [Subnormals; 3],
}

/// The subnormal codes of a format: those whose magnitude is 1 to `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Subnormals {
    pub(crate) magnitude: u8,
    pub(crate) last: u8,
}

/// What of binary32 a sum may use: exponents of normal values, one of them left for a carry.
const LOWEST: i32 = -126;
const HIGHEST: i32 = 126;
/// Significant bits of binary32.
const PRECISION: i32 = 24;

impl ArithmeticPlan {
    /// The plan, or `None` where the operation is another one, or binary32 too narrow.
    pub(crate) fn new(
        operation: Operation,
        operands: &[Format],
        target: Target<'_>,
        arithmetic: OperationOptions,
    ) -> Option<Self> {
        let Target { format: to, projection } = target;
        let compute = match operation {
            Operation::Add | Operation::Subtract => Compute::Sum,
            Operation::Multiply => Compute::Product,
            Operation::Fma => Compute::Fma,
            _ => return None,
        };
        let is_narrow = to.width() <= 8 && operands.iter().all(|format| format.width() <= 8);
        if !is_narrow || arithmetic.operand_clamp || arithmetic.scale != 0 {
            return None;
        }
        let (x, y, z) = (operands[0], operands[1], operands[operands.len() - 1]);
        let [x_span, y_span, z_span] = [span(&x)?, span(&y)?, span(&z)?];
        let product = Span { unit: x_span.unit + y_span.unit, top: x_span.top + y_span.top + 1 };
        let (result, wide) = match compute {
            Compute::Product => (product, false),
            Compute::Sum => x_span.plus(y_span),
            Compute::Fma => product.plus(z_span),
        };
        let spans = [x_span, y_span, z_span, result, if compute == Compute::Sum { x_span } else { product }];
        if spans.iter().any(|span| span.unit < LOWEST || span.top > HIGHEST) {
            return None;
        }
        // A sum of multiples of the destination's smallest step is exact below its smallest normal
        // value.
        let step = to.min_positive().exponent_of_leading_bit();
        let underflows = compute != Compute::Sum || to.subnormals() != Gradual || result.unit < step;
        let has_specials = |format: &Format| format.codes().any(|code| !format.decode(code).is_finite());
        let mut possible = Flags::OVERFLOW | Flags::INEXACT;
        // Unsigned formats refuse negative results, whatever their magnitude.
        let refuses = !to.is_signed();
        if refuses || operands.iter().any(has_specials) {
            possible |= Flags::INVALID;
        }
        if underflows {
            possible |= Flags::UNDERFLOW;
        }
        let magnitude = |datum: Datum| u32::try_from(BINARY32.encode(datum)?).ok();
        let lowest = if underflows { magnitude(to.min_normal())? } else { 1 };
        let quiet = if refuses { [1, 0] } else { [lowest, magnitude(to.max_finite())?] };
        let nan_code = |sign: u64| convert(0x7fc0_0000 | sign << 31, &BINARY32, to, projection).value;
        let minus = operation == Operation::Subtract;
        let decode = |format: &Format, minus: bool| {
            DecodePlan::new(format, &halves(format, arithmetic.semantics, minus))
        };
        Some(Self {
            compute,
            odd: wide,
            nan_has_sign: nan_code(0) != nan_code(1),
            possible,
            quiet,
            operands: [decode(&x, false)?, decode(&y, minus)?, decode(&z, false)?],
            subnormals: [subnormals(&x)?, subnormals(&y)?, subnormals(&z)?],
        })
    }
}

/// The exponents of the last place of a format's smallest values and of the leading bit of its
/// largest.
#[derive(Clone, Copy)]
struct Span {
    unit: i32,
    top: i32,
}

impl Span {
    /// The span of sums, and whether they may need more bits than binary32 has.
    fn plus(self, other: Self) -> (Self, bool) {
        let sum = Self { unit: self.unit.min(other.unit), top: self.top.max(other.top) + 1 };
        (sum, sum.top - sum.unit >= PRECISION)
    }
}

fn span(format: &Format) -> Option<Span> {
    let finite = |code: u64| match format.decode(code) {
        Datum::Finite { significand: 0, .. } => None,
        datum @ Datum::Finite { exponent, .. } => Some((exponent, datum.exponent_of_leading_bit())),
        _ => None,
    };
    let values = || format.codes().filter_map(finite);
    Some(Span { unit: values().map(|value| value.0).min()?, top: values().map(|value| value.1).max()? })
}

/// The upper halves of all values as binary32, NaN with its sign; of the values of −x if `minus`,
/// which leaves NaN alone.
fn halves(format: &Format, semantics: Semantics, minus: bool) -> Vec<u16> {
    let exact = BINARY32.default_projection();
    let half = |code: u64| {
        let datum = format.decode(code);
        let flip = if minus { 0x8000 } else { 0 };
        match datum {
            Datum::Nan { negative } => 0x7fc0 | u16::from(negative) << 15,
            _ if datum.is_zero() && semantics == Semantics::P3109 => flip,
            _ => {
                let bits = convert(code, format, &BINARY32, &exact).value.to_le_bytes();
                u16::from_le_bytes([bits[2], bits[3]]) ^ flip
            }
        }
    };
    format.codes().map(half).collect()
}

/// The format's subnormal codes, if they are the first ones after zero.
fn subnormals(format: &Format) -> Option<Subnormals> {
    let codes = u8::try_from(format.max_code()).ok()?;
    let magnitude = if format.is_signed() { codes >> 1 } else { codes };
    let is_subnormal = |code: u8| format.classify(u64::from(code)) == Class::Subnormal;
    let last = (1..=magnitude).take_while(|code| is_subnormal(*code)).last().unwrap_or(0);
    let first = |code: u8| (1..=last).contains(&(code & magnitude));
    (0..=codes).all(|code| is_subnormal(code) == first(code)).then_some(Subnormals { magnitude, last })
}

/// A minimum or maximum of codes of one format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderPlan {
    pub(crate) minimum: bool,
    /// Compare magnitudes, and of equal ones the values.
    pub(crate) magnitudes: bool,
    /// One NaN gives way to the other operand.
    pub(crate) passes_nan_over: bool,
    pub(crate) codes: u8,
    /// The sign bit of a code, or 0.
    pub(crate) sign: u8,
    /// The bits of a magnitude.
    pub(crate) magnitude: u8,
    pub(crate) nan: Option<NanCodes>,
    pub(crate) subnormals: Subnormals,
}

/// The codes c with 0 ≤ (c & mask) − first ≤ last, and what NaN of either sign becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NanCodes {
    pub(crate) mask: u8,
    pub(crate) first: u8,
    pub(crate) last: u8,
    pub(crate) results: [u8; 2],
}

impl OrderPlan {
    /// The plan, or `None` where the formats differ, or a code that is no NaN does not stay what it
    /// is.
    pub(crate) fn new(
        which: Extremum,
        operands: &[Format],
        target: Target<'_>,
        arithmetic: OperationOptions,
    ) -> Option<Self> {
        let to = target.format;
        let (minimum, magnitudes, passes_nan_over) = match which {
            Extremum::Minimum => (true, false, false),
            Extremum::Maximum => (false, false, false),
            Extremum::MinimumNumber => (true, false, true),
            Extremum::MaximumNumber => (false, false, true),
            Extremum::MinimumMagnitude => (true, true, false),
            Extremum::MaximumMagnitude => (false, true, false),
            Extremum::MinimumMagnitudeNumber => (true, true, true),
            Extremum::MaximumMagnitudeNumber => (false, true, true),
            Extremum::MinimumFinite | Extremum::MaximumFinite => return None,
        };
        if operands.iter().any(|format| format != to) || arithmetic.operand_clamp || arithmetic.scale != 0 {
            return None;
        }
        let codes = u8::try_from(to.max_code()).ok()?;
        let (sign, magnitude) = if to.is_signed() { (codes ^ codes >> 1, codes >> 1) } else { (0, codes) };
        let is_nan = |code: u8| to.decode(u64::from(code)).is_nan();
        let result = |code: u8| {
            let answer = Operation::Convert.evaluate(
                &[Operand::new(u64::from(code), to)],
                to,
                target.projection,
                arithmetic.with_flags(FlagPolicy::TESLA),
            );
            Some((u8::try_from(answer.value).ok()?, answer.flags.without(Flags::DENORMAL)))
        };
        let mut results = [None; 2];
        for code in 0..=codes {
            let (value, flags) = result(code)?;
            let slot = &mut results[usize::from(code & sign != 0)];
            let expected = if is_nan(code) { *slot.get_or_insert(value) } else { code };
            let raised = if is_nan(code) { Flags::INVALID } else { Flags::NONE };
            if value != expected || flags != raised {
                return None;
            }
        }
        let has_nan = results.iter().any(Option::is_some);
        let nan =
            if has_nan { Some(NanCodes::new([magnitude, codes], codes, is_nan, results)?) } else { None };
        let magnitudes = magnitudes && to.is_signed();
        let subnormals = subnormals(to)?;
        Some(Self { minimum, magnitudes, passes_nan_over, codes, sign, magnitude, nan, subnormals })
    }
}

impl NanCodes {
    fn new(
        masks: [u8; 2],
        codes: u8,
        is_nan: impl Fn(u8) -> bool + Copy,
        results: [Option<u8>; 2],
    ) -> Option<Self> {
        let results = results.map(|result| result.or(results[0]).or(results[1]).unwrap_or(0));
        masks.into_iter().find_map(|mask| {
            let first = (0..=codes).find(|code| is_nan(*code))? & mask;
            let last = (first..=mask).take_while(|code| is_nan(*code)).last()? - first;
            let is_within = |code: u8| (code & mask).wrapping_sub(first) <= last;
            let describes = (0..=codes).all(|code| is_within(code) == is_nan(code));
            describes.then_some(Self { mask, first, last, results })
        })
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{E4M3FN, E5M2};

    use super::{Format, Semantics, Span, halves, span};

    #[test]
    fn spans_of_formats_and_sums() {
        let of = |format: &Format| span(format).map(|span| (span.unit, span.top));
        assert_eq!(of(&E5M2), Some((-16, 15)));
        // Zero has no place, not even where all other values lie above 1.
        let high = "minifloat:k=8,p=4,bias=-30,specials=finite".parse().expect("a format");
        assert_eq!(of(&high), Some((28, 45)));
        let sum = |a: (i32, i32), b: (i32, i32)| {
            let of = |(unit, top)| Span { unit, top };
            let (span, wide) = of(a).plus(of(b));
            (span.unit, span.top, wide)
        };
        // From 2^0 to below 2^24 there are 24 bits, which a carry makes 25.
        assert_eq!(sum((0, 22), (3, 9)), (0, 23, false));
        assert_eq!(sum((3, 9), (0, 23)), (0, 24, true));
        assert_eq!(sum((5, 28), (4, 30)), (4, 31, true));
    }

    #[test]
    fn halves_of_nan_and_zeros() {
        let both = |halves: Vec<u16>, code: usize| [halves[code], halves[code + 0x80]];
        for minus in [false, true] {
            for semantics in [Semantics::Ieee, Semantics::P3109] {
                assert_eq!(both(halves(&E5M2, semantics, minus), 0x7f), [0x7fc0, 0xffc0]);
                let one = if minus { [0xbf80, 0x3f80] } else { [0x3f80, 0xbf80] };
                assert_eq!(both(halves(&E4M3FN, semantics, minus), 0x38), one);
            }
        }
        assert_eq!(both(halves(&E5M2, Semantics::Ieee, false), 0), [0, 0x8000]);
        assert_eq!(both(halves(&E5M2, Semantics::Ieee, true), 0), [0x8000, 0]);
        assert_eq!(both(halves(&E5M2, Semantics::P3109, false), 0), [0, 0]);
        assert_eq!(both(halves(&E5M2, Semantics::P3109, true), 0), [0x8000, 0x8000]);
    }
}
