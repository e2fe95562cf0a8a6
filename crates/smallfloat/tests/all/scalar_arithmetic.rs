//! Operators of typed scalars against a search in a sorted table, with `f64` sums and products that
//! are exact.
#![allow(clippy::float_cmp, reason = "values are exact")]

use smallfloat::{CFloat8_1_4_3, E4M3Fn, E5M2, E5M2Fnuz, F16, SmallFloat};

/// The finite magnitudes of a type, ascending, with what lies one step beyond: 2^`MAX_EXP` for
/// E5M2's binade is full, else the next multiple of the last step.
fn magnitudes<T: SmallFloat>() -> Vec<(f64, u64)> {
    let mut table: Vec<(f64, u64)> = (0..=T::FORMAT.max_code())
        .map(T::from_code)
        .filter(|x| x.is_finite() && (x.to_f64() > 0.0 || x.code() == 0))
        .map(|x| (x.to_f64(), x.code()))
        .collect();
    table.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [.., (below, _), (max, code)] = table[..] else { panic!("a format has several values") };
    table.push((max + (max - below), code + 1));
    table
}

/// The code of the nearest magnitude, ties to the even code; `None` beyond the largest.
fn nearest(table: &[(f64, u64)], x: f64) -> Option<u64> {
    let x = x.abs();
    let at = table.partition_point(|entry| entry.0 <= x);
    let (lo, lo_code) = table[at - 1];
    let &(hi, hi_code) = table.get(at)?;
    // Both distances are exact: the operands have few bits.
    let up = match (x - lo).total_cmp(&(hi - x)) {
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Greater => true,
        core::cmp::Ordering::Equal => lo_code % 2 == 1,
    };
    let code = if up { hi_code } else { lo_code };
    (code < table[table.len() - 1].1).then_some(code)
}

/// All pairs of codes: sums, differences and products of 8-bit values are exact in `f64`.
fn all_pairs<T: SmallFloat>(overflow: impl Fn(bool) -> T) {
    let table = magnitudes::<T>();
    let all: Vec<T> = (0..=T::FORMAT.max_code()).map(T::from_code).collect();
    let sign_bit = 1 << (T::FORMAT.width() - 1);
    let check = |given: T, exact: f64, what: &str, x: T, y: T| {
        if exact.is_nan() {
            assert!(given.is_nan(), "{x:?} {what} {y:?} = {given:?}, not NaN");
            return;
        }
        let expected = match nearest(&table, exact) {
            Some(0) if !T::FORMAT.has_negative_zero() => T::from_code(0),
            Some(code) if exact.is_sign_negative() => T::from_code(code | sign_bit),
            Some(code) => T::from_code(code),
            None => overflow(exact < 0.0),
        };
        let same = given.code() == expected.code() || (given.is_nan() && expected.is_nan());
        assert!(same, "{x:?} {what} {y:?} = {exact}: {given:?}, not {expected:?}");
    };
    for &x in &all {
        for &y in &all {
            let [a, b] = [x, y].map(T::to_f64);
            if !T::FORMAT.has_infinity() || (a.is_finite() && b.is_finite()) {
                check(x + y, a + b, "+", x, y);
                check(x - y, a - b, "-", x, y);
                check(x * y, a * b, "*", x, y);
                if b != 0.0 {
                    check(x % y, a % b, "%", x, y);
                }
            }
        }
    }
}

#[test]
fn e4m3fn_all_pairs_by_search() {
    all_pairs(|_| E4M3Fn::NAN);
}

#[test]
fn e5m2_all_pairs_by_search() {
    all_pairs(|negative| if negative { E5M2::NEG_INFINITY } else { E5M2::INFINITY });
}

#[test]
fn e5m2fnuz_all_pairs_by_search() {
    all_pairs(|_| E5M2Fnuz::NAN);
}

#[test]
fn cfloat8_all_pairs_by_search() {
    all_pairs(|negative| if negative { CFloat8_1_4_3::<7>::MIN } else { CFloat8_1_4_3::<7>::MAX });
}

/// Division is no exact operation in `f64`, but a quotient of 4-bit significands is no nearer to a
/// tie than 2^−9.
#[test]
fn e4m3fn_quotients_by_search() {
    let table = magnitudes::<E4M3Fn>();
    for x in (0..=0xff).map(E4M3Fn::from_bits).filter(|x| x.is_finite()) {
        for y in (0..=0xff).map(E4M3Fn::from_bits).filter(|y| y.is_finite() && *y != E4M3Fn::ZERO) {
            let exact = x.to_f64() / y.to_f64();
            let given = x / y;
            match nearest(&table, exact) {
                Some(code) => {
                    let sign = if exact.is_sign_negative() { 0x80 } else { 0 };
                    assert_eq!(u64::from(given.to_bits()), code | sign, "{x:?} / {y:?}");
                }
                None => assert!(given.is_nan(), "{x:?} / {y:?}"),
            }
        }
    }
}

#[test]
fn division_by_zero_is_the_families_own() {
    assert_eq!(E5M2::ONE / E5M2::ZERO, E5M2::INFINITY);
    assert!((E4M3Fn::ONE / E4M3Fn::ZERO).is_nan()); // an infinity it does not have
    assert_eq!(-CFloat8_1_4_3::<7>::ONE / CFloat8_1_4_3::ZERO, CFloat8_1_4_3::MIN); // clamped
    let one = smallfloat::Binary8p3se::ONE;
    assert!((one / smallfloat::Binary8p3se::ZERO).is_nan()); // P3109
}

#[test]
#[expect(clippy::op_ref, reason = "the references are what is tested")]
fn operators_take_values_and_references() {
    let [x, y] = [1.5, 2.0].map(F16::from_f32);
    let sums = [x + y, &x + y, x + &y, &x + &y];
    assert!(sums.iter().all(|sum| sum.to_f32() == 3.5));
    let mut z = x;
    z += y;
    z -= &x;
    z *= y;
    z /= &y;
    z %= F16::from_f32(1.25);
    assert_eq!(z.to_f32(), 0.75);
    assert_eq!((-x, -&x), (F16::from_f32(-1.5), F16::from_f32(-1.5)));
    assert_eq!([x, y].iter().sum::<F16>().to_f32(), 3.5);
    assert_eq!([x, y].into_iter().product::<F16>().to_f32(), 3.0);
}

#[test]
fn sums_round_once() {
    // 2048 + 1 + 1 is 2048 if every addition rounds, and 2050 exactly.
    let terms = [2048.0, 1.0, 1.0].map(F16::from_f32);
    assert_eq!(terms[0] + terms[1] + terms[2], F16::from_f32(2048.0));
    assert_eq!(terms.iter().sum::<F16>(), F16::from_f32(2050.0));
}

#[test]
fn everything_works_in_constants() {
    const X: E5M2 = E5M2::from_f32(1.5);
    const PRODUCT: E5M2 = X.mul_add(X, E5M2::ONE);
    const NEXT: E5M2 = E5M2::MAX.next_up();
    const BITS: u8 = E4M3Fn::from_f64(-448.0).abs().to_bits();
    const CLAMPED: E5M2 = E5M2::from_i128(1000).clamp(E5M2::ZERO, X);
    const _: () = assert!(!E5M2::NAN.is_finite());
    assert_eq!((PRODUCT.to_f32(), NEXT, BITS, CLAMPED), (3.0, E5M2::INFINITY, 0x7e, X));
}

#[test]
#[should_panic(expected = "clamp needs lo <= hi")]
fn clamp_refuses_bounds_out_of_order() {
    let _ = E5M2::ONE.clamp(E5M2::ONE, E5M2::ZERO);
}
