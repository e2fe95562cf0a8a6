//! Every code of every row of the list: what each type says against its format.
#![expect(clippy::float_cmp, reason = "values are exact")]

use core::cmp::Ordering;
use core::num::FpCategory;
use std::fmt::{Binary, Display, LowerExp, LowerHex};
use std::format;
use std::str::FromStr;
use std::string::ToString;

use crate::format::datum::{Class, Datum};
use crate::format::error::Error;
use crate::format::{Family, Format, Parameters, Signedness, Specials, Subnormals, formats};
use crate::ops::extrema::Extremum;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::scalar::*;

/// What the tests take of a type beside the trait.
trait Scalar: SmallFloat + Display + LowerExp + LowerHex + Binary + FromStr<Err = Error> {
    const CONSTANTS: [Self; 3];
    const INTEGERS: [i32; 4];
    fn category(self) -> FpCategory;
    fn unary(self) -> [Self; 7];
    fn binary(self, y: Self) -> [Self; 6];
    fn bytes(self) -> [Self; 3];
}

/// A property of a type, tested for every row of the list.
trait Property {
    fn holds<T: Scalar>();
}

macro_rules! rows {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        impl $(<const $bias: $kind>)? Scalar for $name $(<$bias>)? {
            const CONSTANTS: [Self; 3] = [Self::MAX, Self::MIN, Self::MIN_POSITIVE];
            const INTEGERS: [i32; 4] = [Self::MIN_EXP, Self::MAX_EXP, Self::MIN_10_EXP, Self::MAX_10_EXP];
            fn category(self) -> FpCategory {
                self.classify()
            }
            fn unary(self) -> [Self; 7] {
                [
                    self.abs(),
                    self.sqrt(),
                    self.recip(),
                    self.next_up(),
                    self.next_down(),
                    self.signum(),
                    self.copysign(self),
                ]
            }
            fn binary(self, y: Self) -> [Self; 6] {
                [
                    self.min(y),
                    self.max(y),
                    self.minimum(y),
                    self.maximum(y),
                    self.remainder(y),
                    self.copysign(y),
                ]
            }
            fn bytes(self) -> [Self; 3] {
                [
                    Self::from_le_bytes(self.to_le_bytes()),
                    Self::from_be_bytes(self.to_be_bytes()),
                    Self::from_ne_bytes(self.to_ne_bytes()),
                ]
            }
        }
    };
}
for_each_scalar!(rows);

/// The key of a format that the catalogue does not have.
const fn key(width: u32, precision: u32, bias: i32, specials: Specials, subnormals: Subnormals) -> u64 {
    let signedness = if bias == 3 { Signedness::Unsigned } else { Signedness::Signed };
    match Format::minifloat(Parameters { width, precision, bias, signedness, specials, subnormals }) {
        Ok(format) => format.key(),
        Err(_) => panic!("a format"),
    }
}

const FLUSHING: u64 = key(7, 4, 3, Specials::Finite, Subnormals::Flush);
const UNSIGNED: u64 = key(6, 4, 3, Specials::NanAllOnes, Subnormals::Gradual);
const WIDE_RANGE: u64 = key(8, 2, 32, Specials::Ieee, Subnormals::Tesla);
const LONG: u64 = key(14, 10, 7, Specials::NanAllOnes, Subnormals::Gradual);

macro_rules! call {
    ($(#[$doc:meta])* $name:ident ($($row:tt)*) $($rest:tt)*) => {
        P::holds::<$name>();
    };
    ($(#[$doc:meta])* $name:ident<KEY: u64> ($($row:tt)*) $($rest:tt)*) => {
        P::holds::<$name<{ FLUSHING }>>();
        P::holds::<$name<{ UNSIGNED }>>();
        P::holds::<$name<{ WIDE_RANGE }>>();
        P::holds::<Custom16<{ LONG }>>();
    };
    ($(#[$doc:meta])* $name:ident<$bias:ident: $kind:ty> ($($row:tt)*) $($rest:tt)*) => {
        P::holds::<$name<0>>();
        P::holds::<$name<11>>();
        P::holds::<$name<63>>();
    };
}

fn for_each_type<P: Property>() {
    for_each_scalar!(call);
}

/// All codes of narrow formats; of wide ones every 37th and the ends.
fn values<T: Scalar>() -> impl Iterator<Item = T> {
    let last = T::FORMAT.max_code();
    let step = if last > 0xff { 37 } else { 1 };
    (0..=last).step_by(step).chain([last >> 1, (last >> 1) + 1, last]).map(T::from_code)
}

fn codes<T: Scalar>() -> impl Iterator<Item = T> {
    (0..=T::FORMAT.max_code()).map(T::from_code)
}

/// Returns whether two codes are equal, or both NaN.
fn same<T: Scalar>(x: T, y: T) -> bool {
    x.code() == y.code() || (x.is_nan() && y.is_nan())
}

#[test]
fn every_code_round_trips() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            assert!(T::FORMAT.fits_in(&formats::BINARY32), "{}", T::FORMAT);
            for x in values::<T>() {
                let (code, format) = (x.code(), T::FORMAT);
                assert_eq!(T::from_bits(x.to_bits()).code(), code);
                assert_eq!(x.bytes().map(T::code), [code; 3], "{format}");
                assert_eq!(x.to_datum(), format.decode(code));
                if let (Some(exact), false) = (x.to_datum().to_f32(), x.is_nan()) {
                    assert_eq!((x.to_f32().to_bits(), x.to_f64()), (exact.to_bits(), f64::from(exact)));
                } else {
                    assert!(x.to_f32().is_nan() && x.to_f64().is_nan());
                }
                // UHP's subnormal codes are zeros.
                let flushed = matches!(x.category(), FpCategory::Subnormal) && x == T::from_f32(0.0);
                let expected = if flushed { T::from_code(0) } else { x };
                let back = [
                    T::from_f32(x.to_f32()),
                    T::from_f64(x.to_f64()),
                    x.convert(),
                    x.convert::<Bf16>().convert(),
                ];
                let [a, b, c, d] = back;
                assert!(same(a, expected) && same(b, expected) && same(c, expected), "{format} {code:#x}");
                assert!(T::FORMAT.precision() > 8 || same(d, expected), "{format} {code:#x} by bfloat16");
                for text in
                    [x.to_string(), format!("{x:?}"), format!("{x:e}"), format!("{:e}", Dynamic::from(x))]
                {
                    let read: T = text.parse().expect("printed text parses");
                    assert!(same(read, expected), "{format} {code:#x} printed as {text}");
                }
                assert_eq!((format!("{x:x}"), format!("{x:b}")), (format!("{code:x}"), format!("{code:b}")));
                let category = match format.classify(code) {
                    Class::Nan => FpCategory::Nan,
                    Class::Infinite => FpCategory::Infinite,
                    Class::Zero => FpCategory::Zero,
                    Class::Subnormal => FpCategory::Subnormal,
                    Class::Normal => FpCategory::Normal,
                };
                assert_eq!(x.category(), category);
            }
        }
    }
    for_each_type::<P>();
}

#[test]
fn constants_are_the_descriptors() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            let [max, min, min_positive] = T::CONSTANTS.map(T::to_f64);
            let finite = || codes::<T>().filter(|x| x.is_finite()).map(T::to_f64);
            assert!(finite().all(|x| min <= x && x <= max), "{}", T::FORMAT);
            assert!(finite().any(|x| x == max) && finite().any(|x| x == min), "{}", T::FORMAT);
            let normal = codes::<T>().filter(|x| x.category() == FpCategory::Normal).map(T::to_f64);
            let smallest = normal.filter(|&x| x > 0.0).fold(f64::INFINITY, f64::min);
            assert!(min_positive == smallest, "{}", T::FORMAT);
            let [min_exp, max_exp, min_10, max_10] = T::INTEGERS;
            assert_eq!(min_positive, 2_f64.powi(min_exp - 1), "{}", T::FORMAT);
            assert!(2_f64.powi(max_exp - 1) <= max && max < 2_f64.powi(max_exp), "{}", T::FORMAT);
            assert!(10_f64.powi(max_10) <= max && max < 10_f64.powi(max_10 + 1), "{}", T::FORMAT);
            assert!(10_f64.powi(min_10) >= min_positive, "{}", T::FORMAT);
            assert!(10_f64.powi(min_10 - 1) < min_positive, "{}", T::FORMAT);
        }
    }
    for_each_type::<P>();
}

#[test]
fn operations_are_those_of_the_core() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            let format = T::FORMAT;
            let arithmetic = if format.family() == Family::P3109 {
                OperationOptions::P3109
            } else {
                OperationOptions::IEEE
            };
            let projection = format.default_projection();
            let expect = |operation: Operation, operands: &[T], given: T| {
                let mut codes = [Operand::new(0, &format); 3];
                for (code, x) in codes.iter_mut().zip(operands) {
                    *code = Operand::new(x.code(), &format);
                }
                let result = operation.evaluate(&codes[..operands.len()], &format, &projection, arithmetic);
                assert!(
                    given.code() == result.value,
                    "{format} {operation:?}{operands:?}: {given:?} for {:#x}",
                    result.value
                );
                assert_eq!(T::evaluate(operation, operands, &projection).map(T::code), result);
            };
            let step = match format.width() {
                ..8 => 1,
                8 => 7,
                _ => 211,
            };
            let ys = || values::<T>().step_by(step);
            for x in values::<T>().step_by(if format.width() > 8 { 97 } else { 1 }) {
                let [abs, sqrt, recip, up, down, signum, copied] = x.unary();
                expect(Operation::Sqrt, &[x], sqrt);
                expect(Operation::Recip, &[x], recip);
                if !x.is_nan() && x.category() != FpCategory::Subnormal {
                    expect(Operation::Abs, &[x], abs);
                    expect(Operation::CopySign, &[x, x], copied);
                    assert!(signum == T::from_f64(if x.to_datum().is_negative() { -1.0 } else { 1.0 }));
                }
                assert!(abs.is_nan() == x.is_nan() && !abs.to_datum().is_negative());
                assert!(x.is_nan() || (down <= x && x <= up) || up.is_nan() || down.is_nan());
                for y in ys() {
                    expect(Operation::Add, &[x, y], x + y);
                    expect(Operation::Subtract, &[x, y], x - y);
                    expect(Operation::Multiply, &[x, y], x * y);
                    expect(Operation::Divide, &[x, y], x / y);
                    expect(Operation::Fmod, &[x, y], x % y);
                    expect(Operation::Fma, &[x, y, x], x.mul_add(y, x));
                    let [min, max, minimum, maximum, remainder, _] = x.binary(y);
                    expect(Operation::Extremum(Extremum::MinimumNumber), &[x, y], min);
                    expect(Operation::Extremum(Extremum::MaximumNumber), &[x, y], max);
                    expect(Operation::Extremum(Extremum::Minimum), &[x, y], minimum);
                    expect(Operation::Extremum(Extremum::Maximum), &[x, y], maximum);
                    expect(Operation::Remainder, &[x, y], remainder);
                    let mut z = x;
                    z += y;
                    assert!(same(z, x + y));
                }
            }
        }
    }
    for_each_type::<P>();
}

#[test]
fn orders_are_those_of_values_and_codes() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            let step = if T::FORMAT.width() > 8 { 61 } else { 1 };
            for x in values::<T>().step_by(step) {
                for y in values::<T>().step_by(step) {
                    assert_eq!(x.partial_cmp(&y), x.to_f64().partial_cmp(&y.to_f64()), "{x:?} {y:?}");
                    assert_eq!(x == y, x.to_f64() == y.to_f64());
                    let total = Ordered(x).cmp(&Ordered(y));
                    assert_eq!(total.is_eq(), x.code() == y.code());
                    assert_eq!(total, Ordered(y).cmp(&Ordered(x)).reverse());
                    if let (Some(order), false) = (x.partial_cmp(&y), x == y) {
                        assert_eq!(total, order);
                    }
                    if x.is_nan() && !x.to_datum().is_negative() && !y.is_nan() {
                        assert_eq!(total, Ordering::Greater);
                    }
                }
            }
        }
    }
    for_each_type::<P>();
}

#[test]
fn sums_are_exact() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            let mut state = 1_u64;
            for _ in 0..50 {
                let mut exact = crate::ops::sum::Sum::new();
                let mut products = crate::ops::sum::Sum::new();
                let terms: std::vec::Vec<T> = core::iter::repeat_with(|| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    T::from_code(state >> 40)
                })
                .filter(|x| x.is_finite())
                .take(40)
                .collect();
                for x in &terms {
                    exact.add(x.to_datum());
                    products.add_product(x.to_datum(), terms[0].to_datum());
                }
                assert_eq!(terms.iter().copied().sum::<T>().code(), T::from_exact(exact.exact()).code());
                let dot = T::dot(terms.iter().map(|&x| (x, terms[0])));
                assert_eq!(dot.code(), T::from_exact(products.exact()).code());
            }
            for x in values::<T>() {
                // A canonical code, or NaN.
                assert!(same([x].into_iter().sum::<T>(), x.convert()), "{} {x:?}", T::FORMAT);
            }
            let empty = core::iter::empty::<T>().sum::<T>();
            assert_eq!(empty.code(), T::from_f32(0.0).code());
            if let Some(negative_zero) = T::from_datum(Datum::ZERO.negated()) {
                assert!([negative_zero; 3].into_iter().sum::<T>().to_datum().is_negative());
            }
        }
    }
    for_each_type::<P>();
}

#[test]
fn uniform_values_are_rounded_down() {
    struct P;
    impl Property for P {
        fn holds<T: Scalar>() {
            let [max, ..] = T::CONSTANTS;
            for word in [0, 1, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
                let x = T::from_code(super::code::uniform(&T::FORMAT, word));
                assert!(x.is_finite() && x.to_f64() < 1.0, "{} {word:#x}", T::FORMAT);
                let above = T::FORMAT.next_above(x.to_datum().into()).map(|code| T::from_code(code).to_f64());
                #[expect(clippy::cast_precision_loss, reason = "the bound is rounded the same way")]
                let exact = word as f64 / 2_f64.powi(64);
                assert!(x.to_f64() <= exact || !T::FORMAT.has_zero());
                assert!(x.to_f64() == max.to_f64() || above.is_some_and(|above| exact <= above));
            }
        }
    }
    for_each_type::<P>();
}
