//! Short ways to the same bits, for typed scalars: rounding to nearest even in 64-bit integers,
//! without flags.
//!
//! Each function gives the code that [`project`](crate::project) gives, or `None` where a policy
//! decides (overflow, infinities, NaN, negative values in unsigned formats) or the format's grid is
//! out of the ordinary. With a constant format most of it folds away. The tests hold them against
//! `project` over all inputs.

#![expect(clippy::inline_always, reason = "with a constant format everything folds, if it is inlined")]

use crate::cast::signed;
use crate::format::{Format, Specials, Subnormals, signed_code};
use crate::ops::operation::Operation;

/// Rounds a value of an IEEE format, given as its bits, to the nearest code of `to`, ties to even.
#[inline(always)]
pub(crate) const fn from_ieee(bits: u64, from: &Format, to: &Format) -> Option<u64> {
    let stored = from.trailing_bits();
    let sign = from.width() - 1;
    let magnitude = bits & ((1 << sign) - 1);
    let negative = bits >> sign == 1;
    let t = to.trailing_bits();
    // The exponent field, in the source, of the destination's lowest binade.
    let lowest_field = to.lowest_exponent() + from.bias();
    if lowest_field < 1 || t >= stored || odd_grid(to) || (negative && !to.is_signed()) {
        return None;
    }
    let lowest_field = lowest_field.unsigned_abs();
    #[expect(clippy::cast_possible_truncation, reason = "an exponent field")]
    let field = (magnitude >> stored) as u32;
    let shift = stored - t;
    if field >= lowest_field {
        // The parity of codes, which is not that of significands where P = 1.
        let offset = ((lowest_field as u64) << t) - to.lowest_binade_index();
        let odd = ((magnitude >> shift) ^ offset) & 1;
        let half = 1 << (shift - 1);
        let rounded = (magnitude + half - 1 + odd) >> shift;
        return signed_code(rounded - offset, negative, to);
    }
    // Below the lowest binade: an integer over a power of two, in the source's subnormals too.
    let hidden = (field > 0) as u64;
    let significand = (magnitude & ((1 << stored) - 1)) | hidden << stored;
    let shift = shift + lowest_field - if field > 0 { field } else { 1 };
    signed_code(below_normal(significand, shift, stored + 1, false, to), negative, to)
}

/// Rounds (significand + δ) · 2^exponent to the nearest code of `to`, ties to even; 0 < δ < 1 if
/// `sticky`.
#[inline(always)]
pub(crate) const fn from_parts(
    negative: bool,
    significand: u64,
    exponent: i32,
    sticky: bool,
    to: &Format,
) -> Option<u64> {
    if odd_grid(to) || significand == 0 || (negative && !to.is_signed()) {
        return None;
    }
    let t = to.trailing_bits();
    let zeros = significand.leading_zeros();
    let significand = significand << zeros;
    let leading = exponent + 63 - signed(zeros);
    let lowest = to.lowest_exponent();
    if leading < lowest {
        let below = (lowest - leading).unsigned_abs();
        return signed_code(below_normal(significand, 63 - t + below, 64, sticky, to), negative, to);
    }
    if leading > to.highest_exponent() {
        return None;
    }
    let whole = significand >> (63 - t);
    let rest = significand << (t + 1);
    let index = to.normal_index(leading, whole);
    signed_code(index + is_up(rest, sticky, index) as u64, negative, to)
}

/// An operation on codes of one format, rounded to that format; `None` also for operations without
/// a short way.
#[inline(always)]
pub(crate) const fn operate(operation: Operation, [x, y, z]: [u64; 3], format: &Format) -> Option<u64> {
    // Quotients and roots keep enough bits of significands as short as these.
    if format.precision() > 11 {
        return None;
    }
    let Some(x) = Parts::of(x, format) else { return None };
    match operation {
        Operation::Add | Operation::Subtract | Operation::Multiply | Operation::Divide | Operation::Fma => {
            let Some(y) = Parts::of(y, format) else { return None };
            match operation {
                Operation::Add => sum(x, y, format),
                Operation::Subtract => sum(x, Parts { negative: !y.negative, ..y }, format),
                Operation::Multiply => product(x, y).rounded(format),
                Operation::Divide => quotient(x, y, format),
                _ => match Parts::of(z, format) {
                    Some(z) => sum(product(x, y), z, format),
                    None => None,
                },
            }
        }
        Operation::Recip => quotient(Parts { negative: false, significand: 1, exponent: 0 }, x, format),
        Operation::Sqrt => root(x, format),
        _ => None,
    }
}

/// A finite value: (−1)^negative · significand · 2^exponent.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    significand: u64,
    exponent: i32,
}

impl Parts {
    /// The parts of a code that is a finite number.
    #[inline(always)]
    const fn of(code: u64, format: &Format) -> Option<Self> {
        let index = code & (format.max_code() >> format.is_signed() as u32);
        let negative = format.sign_bit(code);
        let is_nan = negative && index == 0 && !format.has_negative_zero();
        let flushed = matches!(format.subnormals(), Subnormals::Flush) && index < format.first_normal_index();
        if index > format.max_index() || is_nan || flushed {
            return None;
        }
        let (significand, exponent) = format.magnitude(index);
        Some(Self { negative, significand, exponent })
    }

    #[inline(always)]
    const fn rounded(self, format: &Format) -> Option<u64> {
        if self.significand == 0 && !odd_grid(format) && (format.is_signed() || !self.negative) {
            return signed_code(0, self.negative, format);
        }
        from_parts(self.negative, self.significand, self.exponent, false, format)
    }
}

#[inline(always)]
const fn product(x: Parts, y: Parts) -> Parts {
    let negative = x.negative != y.negative;
    Parts { negative, significand: x.significand * y.significand, exponent: x.exponent + y.exponent }
}

/// An exact sum in 64 bits, if the exponents lie near enough.
#[inline(always)]
const fn sum(x: Parts, y: Parts, format: &Format) -> Option<u64> {
    let unit = if x.exponent < y.exponent { x.exponent } else { y.exponent };
    let (up_x, up_y) = ((x.exponent - unit).unsigned_abs(), (y.exponent - unit).unsigned_abs());
    // Significands have at most 22 bits.
    if up_x > 40 || up_y > 40 {
        return None;
    }
    // Signed integers rather than branches on signs, which nothing predicts. A zero of opposite
    // terms is +0 to nearest.
    let total =
        signed_integer(x.negative, x.significand << up_x) + signed_integer(y.negative, y.significand << up_y);
    let negative = total < 0 || (total == 0 && x.negative && y.negative);
    Parts { negative, significand: total.unsigned_abs(), exponent: unit }.rounded(format)
}

/// ±x, for x below 2^63.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "the sum's terms have at most 62 bits")]
const fn signed_integer(negative: bool, x: u64) -> i64 {
    let sign = -(negative as i64);
    (x as i64 ^ sign) - sign
}

#[inline(always)]
const fn quotient(x: Parts, y: Parts, format: &Format) -> Option<u64> {
    const SHIFT: u32 = 48;
    if y.significand == 0 {
        return None;
    }
    let dividend = x.significand << SHIFT;
    let (whole, rest) = (dividend / y.significand, dividend % y.significand);
    let (negative, exponent) = (x.negative != y.negative, x.exponent - y.exponent - signed(SHIFT));
    if x.significand == 0 {
        return Parts { negative, ..x }.rounded(format);
    }
    from_parts(negative, whole, exponent, rest != 0, format)
}

#[inline(always)]
const fn root(x: Parts, format: &Format) -> Option<u64> {
    if x.negative || x.significand == 0 {
        return None;
    }
    // An even exponent, and a radicand of at least 41 bits.
    let shift = 40 + (x.exponent & 1).unsigned_abs();
    let radicand = x.significand << shift;
    let whole = radicand.isqrt();
    from_parts(false, whole, (x.exponent - signed(shift)) / 2, whole * whole != radicand, format)
}

/// The binary32 bits of a code, for finite values within its normal range.
#[inline(always)]
pub(crate) const fn to_binary32(code: u64, format: &Format) -> Option<u32> {
    let Some(Parts { negative, significand, exponent }) = Parts::of(code, format) else {
        return None;
    };
    let sign = (negative as u32) << 31;
    if significand == 0 {
        return Some(sign);
    }
    let last = significand.ilog2();
    let field = exponent + signed(last) + 127;
    if field < 1 || field > 254 || last > 23 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 24 bits")]
    let fraction = (significand << (23 - last)) as u32 & 0x7f_ffff;
    Some(sign | field.unsigned_abs() << 23 | fraction)
}

/// `rest` is what follows the last place, as a fraction of 2^64.
#[inline(always)]
const fn is_up(rest: u64, sticky: bool, index: u64) -> bool {
    const HALF: u64 = 1 << 63;
    rest > HALF || (rest == HALF && (sticky || index & 1 == 1))
}

/// Formats with values missing at zero, or with a binade at exponent field 0.
#[inline(always)]
const fn odd_grid(to: &Format) -> bool {
    matches!(to.specials(), Specials::E8m0) || matches!(to.subnormals(), Subnormals::None)
}

/// The index that (significand + δ) / 2^shift steps of the gradual grid round to, below the lowest
/// binade; the significand has at most `bits` bits, and δ > 0 only with 64.
#[inline(always)]
const fn below_normal(significand: u64, shift: u32, bits: u32, sticky: bool, to: &Format) -> u64 {
    let t = to.trailing_bits();
    if matches!(to.subnormals(), Subnormals::Tesla) {
        // Tesla's steps are half as wide, up to the hole.
        let shift = shift - 1;
        if shift > bits {
            return 0;
        }
        let last = (1 << t) - 1;
        let in_hole = (significand as u128) >> shift >= last as u128;
        if in_hole {
            // To the smallest normal from the midpoint on: the tie goes to its even code.
            let middle = (3_u128 << t) - 1;
            return last + ((2 * significand as u128) >= middle << shift) as u64;
        }
        return rounded_shift(significand, shift, sticky);
    }
    let index = if shift > bits { 0 } else { rounded_shift(significand, shift, sticky) };
    if matches!(to.subnormals(), Subnormals::Flush) && index < to.first_normal_index() { 0 } else { index }
}

/// (significand + δ) / 2^shift to the nearest integer, ties to even, for 1 ≤ shift ≤ 64.
#[inline(always)]
const fn rounded_shift(significand: u64, shift: u32, sticky: bool) -> u64 {
    let (whole, rest) =
        if shift == 64 { (0, significand) } else { (significand >> shift, significand << (64 - shift)) };
    whole + is_up(rest, sticky, whole) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::formats::{BINARY32, BINARY64, CATALOGUE};
    use crate::projection::convert::convert;
    use crate::projection::exact::Exact;
    use crate::projection::flags::Rounded;
    use crate::projection::preset::Preset;
    use crate::projection::project;

    fn targets() -> impl Iterator<Item = Format> {
        let named = CATALOGUE.iter().map(|row| row.format).filter(|format| format.width() <= 16);
        let more = [
            "cfloat8_1_4_3:bias=63",
            "cfloat8_1_4_3:bias=7,subnormals=gradual",
            "cfloat8_1_5_2:bias=0",
            "shp:bias=63",
            "binary8p1se",
            "binary8p3se",
            "binary8p8uf",
            "binary16p1se",
            "minifloat:k=6,p=1,bias=3",
            "minifloat:k=8,p=4,bias=7,subnormals=none",
            "minifloat:k=8,p=4,bias=7,subnormals=flush",
            "minifloat:k=8,p=3,bias=30,signed=false,subnormals=flush",
        ];
        named.chain(more.into_iter().map(|name| name.parse().unwrap()))
    }

    fn scramble(i: u64) -> u64 {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// The projection's answer, where the short way gives one.
    fn check(short: Option<u64>, exact: Rounded<u64>, what: &dyn core::fmt::Debug, to: &Format) {
        if let Some(code) = short {
            assert_eq!(code, exact.value, "{what:x?} to {to}");
        }
    }

    #[test]
    fn ieee_sources_round_as_projected() {
        for to in targets() {
            let projection = Preset::Ieee.projection(&to);
            for (from, shift) in [(BINARY32, 32), (BINARY64, 0)] {
                for i in 0..60_000 {
                    // Every exponent with few and with many bits set, so that ties occur.
                    let random = scramble(i);
                    let keep = u64::MAX << (random % 52);
                    let bits = (random & keep) >> shift;
                    let exact = convert(bits, &from, &to, &projection);
                    check(from_ieee(bits, &from, &to), exact, &bits, &to);
                }
            }
        }
    }

    #[test]
    fn parts_round_as_projected() {
        for to in targets() {
            let projection = Preset::Ieee.projection(&to);
            let (lowest, highest) = to.exponent_range();
            for i in 0..60_000_u64 {
                let random = scramble(i);
                let significand = (scramble(!i) & (u64::MAX << (random % 64))) >> ((random >> 8) % 64);
                let span = (highest - lowest + 150).unsigned_abs();
                let exponent = lowest - 140 + signed((random >> 32) as u32 % span);
                let (negative, sticky) = (random & 1 == 1, random & 2 == 2 && significand >> 40 != 0);
                let exact = Exact::Finite { negative, significand: significand.into(), exponent, sticky };
                let short = from_parts(negative, significand, exponent, sticky, &to);
                check(short, project(exact, &to, &projection), &exact, &to);
            }
        }
    }

    /// All pairs of short formats, strides of long ones, against the exact operations.
    #[test]
    fn operations_round_as_exact_ones() {
        use crate::ops::operation::{Operand, OperationOptions};
        for format in targets() {
            let projection = format.default_projection().with_rounding(crate::Rounding::NearestEven);
            let arithmetic = OperationOptions::default_for([&format]);
            let stride = usize::try_from(format.max_code() / 255).unwrap().max(1);
            let codes: std::vec::Vec<u64> = format.codes().step_by(stride).collect();
            for operation in [
                Operation::Add,
                Operation::Subtract,
                Operation::Multiply,
                Operation::Divide,
                Operation::Fma,
                Operation::Recip,
                Operation::Sqrt,
            ] {
                for (i, &x) in codes.iter().enumerate() {
                    for &y in &codes {
                        let codes = [x, y, codes[(i * 7) % codes.len()]];
                        if let Some(short) = operate(operation, codes, &format) {
                            let operands = codes.map(|code| Operand::new(code, &format));
                            let operands = &operands[..operation.arity()];
                            let exact = operation.evaluate(operands, &format, &projection, arithmetic).value;
                            assert_eq!(short, exact, "{operation:?} {codes:x?} in {format}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn binary32_of_codes_is_the_exact_one() {
        for format in targets() {
            for code in format.codes() {
                if let Some(bits) = to_binary32(code, &format) {
                    assert_eq!(
                        Some(u64::from(bits)),
                        BINARY32.encode(format.decode(code)),
                        "{format} {code:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_short_way_is_usual() {
        let to = crate::format::formats::E4M3FN;
        for x in [1.0_f32, 0.3, 1e-3, 448.0, -2.5, 0.0, -0.0] {
            assert!(from_ieee(x.to_bits().into(), &BINARY32, &to).is_some(), "{x} should need no policy");
        }
    }
}
