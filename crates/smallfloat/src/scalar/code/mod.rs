//! What all scalars share: functions of a format and its codes. The types add a name to each.

pub(super) mod accumulate;
pub(crate) mod fast_path;

use core::cmp::Ordering;
use core::num::FpCategory;

use crate::format::datum::{Class, Datum};
use crate::format::error::Error;
use crate::format::{Family, Format};
use crate::ops;
use crate::ops::Semantics;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::projection::exact::Exact;
use crate::projection::flags::Rounded;
use crate::projection::rounding::Rounding;
use crate::projection::{MissingZero, Projection, Saturation, Unrepresentable, project};
use crate::scalar::code::fast_path as fast;

/// A datum beyond the finite numbers that a row of the list says its format has.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the words of the list")]
pub(super) enum Has {
    zero,
    nonzero,
    negative_zero,
    subnormal,
    infinity,
    negative_infinity,
    nan,
}

/// The format of a row, after a check that the row's words are the descriptor's.
pub(super) const fn checked(format: Format, signed: bool, full: bool, bits: u32, has: &[Has]) -> Format {
    let mut listed = 0;
    let mut i = 0;
    while i < has.len() {
        listed |= 1 << has[i] as u32;
        i += 1;
    }
    let zero_word = if format.has_zero() { Has::zero } else { Has::nonzero };
    let mut expected = 1 << zero_word as u32;
    expected |= (format.has_negative_zero() as u32) << Has::negative_zero as u32;
    expected |= (format.max_subnormal().is_some() as u32) << Has::subnormal as u32;
    expected |= (format.has_infinity() as u32) << Has::infinity as u32;
    expected |= ((format.has_infinity() && format.is_signed()) as u32) << Has::negative_infinity as u32;
    expected |= (format.has_nan() as u32) << Has::nan as u32;
    assert!(listed == expected, "a row of the list of scalars names other data than its format has");
    assert!(signed == format.is_signed(), "a row of the list of scalars has the wrong sign");
    assert!(full == (format.width() == bits) && format.width() <= bits, "a row has the wrong width");
    format
}

/// A format from parameters that the type fixes.
pub(super) const fn unwrap(format: Result<Format, Error>) -> Format {
    match format {
        Ok(format) => format,
        Err(_) => panic!("no such format: the bias of Tesla's formats is 0..=63"),
    }
}

/// The integer types that hold codes, as casts that keep the value.
pub(super) mod narrow {
    #![expect(clippy::cast_possible_truncation, reason = "codes have at most the width of their type")]

    #[inline]
    pub(in super::super) const fn u8(code: u64) -> u8 {
        code as u8
    }

    #[inline]
    pub(in super::super) const fn u16(code: u64) -> u16 {
        code as u16
    }
}

/// The special cases of operations on one format ([semantics](crate::semantics) S1).
pub(super) const fn semantics(format: &Format) -> Semantics {
    match format.family() {
        Family::P3109 => Semantics::P3109,
        _ => Semantics::Ieee,
    }
}

/// A basic operation on codes of one format, with the format's default projection.
#[inline]
pub(super) const fn compute(operation: Operation, format: &Format, [x, y, z]: [u64; 3]) -> u64 {
    match fast::operate(operation, [x, y, z], format) {
        Some(code) => code,
        None => compute_exactly(operation, format, [x, y, z]),
    }
}

/// A wide float, given as its bits, by the format's default projection.
#[inline]
pub(crate) const fn from_ieee(bits: u64, from: &Format, format: &Format) -> u64 {
    match fast::from_ieee(bits, from, format) {
        Some(code) => code,
        None => convert_exactly(bits, from, format),
    }
}

/// The `f32` of a code, exactly.
#[inline]
pub(super) const fn to_f32(format: &Format, code: u64) -> f32 {
    match fast::to_binary32(code, format) {
        Some(bits) => f32::from_bits(bits),
        None => format.decode_f32(code).value,
    }
}

#[cold]
const fn convert_exactly(bits: u64, from: &Format, format: &Format) -> u64 {
    project(Exact::from_datum(from.decode(bits)), format, &format.default_projection()).value
}

/// The way of all basic operations, for what the short way leaves: specials, overflow, unusual
/// formats and operations.
#[cold]
const fn compute_exactly(operation: Operation, format: &Format, [x, y, z]: [u64; 3]) -> u64 {
    let data = [format.decode(x), format.decode(y), format.decode(z)];
    match operation.basic(data, semantics(format)) {
        Some(outcome) => round(format, outcome.exact),
        None => panic!("the operation is not a basic one"),
    }
}

/// A basic operation with any projection, and flags.
pub(super) const fn evaluate_basic(
    operation: Operation,
    format: &Format,
    [x, y, z]: [u64; 3],
    count: usize,
    projection: &Projection,
) -> Rounded<u64> {
    let operands = [Operand::new(x, format), Operand::new(y, format), Operand::new(z, format)];
    let (operands, _) = operands.split_at(count);
    match operation.evaluate_basic(operands, format, projection, arithmetic(format)) {
        Some(result) => result,
        None => panic!("the operation is not a basic one"),
    }
}

/// Refuses another number of operands than the operation's.
#[track_caller]
pub(super) fn check_arity(operation: Operation, given: usize) {
    let (name, arity) = (operation.name(), operation.arity());
    let operands = if arity == 1 { "operand" } else { "operands" };
    assert!(given == arity, "{name} takes {arity} {operands}, {given} given");
}

/// Any operation with any projection, and flags.
#[track_caller]
pub(super) fn evaluate(
    operation: Operation,
    format: &Format,
    [x, y, z]: [u64; 3],
    count: usize,
    projection: &Projection,
) -> Rounded<u64> {
    check_arity(operation, count);
    let operands = [Operand::new(x, format), Operand::new(y, format), Operand::new(z, format)];
    operation.evaluate(&operands[..count], format, projection, arithmetic(format))
}

/// The special cases of one format's own operations.
const fn arithmetic(format: &Format) -> OperationOptions {
    OperationOptions { semantics: semantics(format), ..OperationOptions::IEEE }
}

/// An exact value by the format's default projection.
#[inline]
pub(crate) const fn round(format: &Format, x: Exact) -> u64 {
    project(x, format, &format.default_projection()).value
}

/// The number of 8-bit codes.
pub(super) const TABLE: usize = 256;

/// The values of all codes of a format of at most 8 bits as `f32`.
pub(super) const fn f32_table(format: &Format) -> [f32; TABLE] {
    let mut table = [0.0; TABLE];
    let mut code = if format.width() <= 8 { 0 } else { TABLE };
    while code < TABLE && code as u64 <= format.max_code() {
        table[code] = format.decode_f32(code as u64).value;
        code += 1;
    }
    table
}

/// The code of a datum that the format has.
pub(super) const fn constant(format: &Format, datum: Datum) -> u64 {
    match format.encode(datum) {
        Some(code) => code,
        None => panic!("the format has no such value"),
    }
}

/// 2^(1 − P), the distance from 1 to the next larger value.
pub(super) const fn epsilon(format: &Format) -> Datum {
    Datum::finite(false, 1, 1 - count(format.precision()))
}

/// A small count as a signed number.
pub(super) const fn count(x: u32) -> i32 {
    crate::cast::signed(x)
}

/// ⌊(P − 1) · log10 2⌋: decimals of so many digits survive a round trip through the format.
pub(super) const fn decimal_digits(format: &Format) -> u32 {
    // log10 2 = 0.30103 to six places, enough for P ≤ 11.
    (format.precision() - 1) * 30_103 / 100_000
}

/// ⌈log10 of the smallest normal value⌉.
pub(super) const fn min_10_exponent(format: &Format) -> i32 {
    let (lowest, _) = format.exponent_range();
    let digits = count((1_u128 << lowest.unsigned_abs()).ilog10());
    if lowest > 0 { digits + 1 } else { -digits }
}

/// ⌊log10 of the largest value⌋.
pub(super) const fn max_10_exponent(format: &Format) -> i32 {
    let Datum::Finite { significand, exponent, .. } = format.max_finite() else { return 0 };
    let significand = significand as u128;
    if exponent >= 0 {
        return count((significand << exponent).ilog10());
    }
    let unit = 1_u128 << exponent.unsigned_abs();
    if significand >= unit {
        return count((significand / unit).ilog10());
    }
    let (mut scaled, mut power) = (significand, 0);
    while scaled < unit {
        scaled *= 10;
        power -= 1;
    }
    power
}

const fn sign_mask(format: &Format) -> u64 {
    1 << (format.width() - 1)
}

/// −x. Where a sign is a bit, also a NaN's changes (IEEE 754, section 5.5.1).
pub(super) const fn negate(format: &Format, x: u64) -> u64 {
    if format.sign_is_a_bit() { x ^ sign_mask(format) } else { compute(Operation::Negate, format, [x, 0, 0]) }
}

/// |x|.
pub(super) const fn abs(format: &Format, x: u64) -> u64 {
    if format.sign_is_a_bit() { x & !sign_mask(format) } else { compute(Operation::Abs, format, [x, 0, 0]) }
}

/// x with y's sign.
pub(super) const fn copy_sign(format: &Format, x: u64, y: u64) -> u64 {
    if format.sign_is_a_bit() {
        x & !sign_mask(format) | y & sign_mask(format)
    } else {
        compute(Operation::CopySign, format, [x, y, 0])
    }
}

/// NaN of NaN, else 1 with x's sign.
pub(super) const fn signum(format: &Format, x: u64) -> u64 {
    let datum = format.decode(x);
    if datum.is_nan() { x } else { round(format, Exact::finite(datum.is_negative(), 1, 0)) }
}

/// min(max(x, lo), hi).
pub(super) const fn clamp(format: &Format, x: u64, lo: u64, hi: u64) -> u64 {
    let in_order = matches!(compare(format, lo, hi), Some(Ordering::Less | Ordering::Equal));
    assert!(in_order, "clamp needs lo <= hi, neither of them NaN");
    compute(Operation::Clamp, format, [x, lo, hi])
}

/// The order of the values; `None` where a NaN is compared.
#[inline]
pub(super) const fn compare(format: &Format, x: u64, y: u64) -> Option<Ordering> {
    format.decode(x).compare(&format.decode(y))
}

/// The total order of the codes.
pub(super) const fn total_cmp(format: &Format, x: u64, y: u64) -> Ordering {
    ops::total_cmp(format, x, y)
}

/// The standard library's name of a code's class.
pub(super) const fn category(format: &Format, x: u64) -> FpCategory {
    match format.classify(x) {
        Class::Nan => FpCategory::Nan,
        Class::Infinite => FpCategory::Infinite,
        Class::Zero => FpCategory::Zero,
        Class::Subnormal => FpCategory::Subnormal,
        Class::Normal => FpCategory::Normal,
    }
}

/// word / 2^64, rounded down to a value of the format.
pub(super) const fn uniform(format: &Format, word: u64) -> u64 {
    let projection = format.default_projection();
    let projection = Projection {
        rounding: Rounding::TowardZero,
        saturation: Saturation::SatFinite,
        unrepresentable: Unrepresentable { missing_zero: MissingZero::Min, ..projection.unrepresentable },
    };
    project(Exact::finite(false, word as u128, -64), format, &projection).value
}
