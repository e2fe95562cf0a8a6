//! Properties of every small format that the parameters can express, sensible or not.

use smallfloat_oracle::{
    Exact, Flags, NegativeRule, OracleFormat, Policy, Rounding, Specials, Subnormals, Table, Value, convert,
    preset,
};

fn small_formats() -> Vec<OracleFormat> {
    let mut list = Vec::new();
    for k in 2..=7u32 {
        for (signed, widest) in [(true, k - 1), (false, k)] {
            for p in 1..=widest {
                for specials in [
                    Specials::Finite,
                    Specials::Ieee,
                    Specials::NanAllOnes,
                    Specials::NanNegZero,
                    Specials::P3109Extended,
                    Specials::P3109Finite,
                ] {
                    for subnormals in
                        [Subnormals::Gradual, Subnormals::Tesla, Subnormals::Flush, Subnormals::None]
                    {
                        let format = OracleFormat { k, p, bias: 3, signed, specials, subnormals };
                        if specials == Specials::NanNegZero && !signed {
                            continue;
                        }
                        list.push(format);
                    }
                }
            }
        }
    }
    list
}

#[test]
fn numbers_round_to_themselves() {
    for format in small_formats() {
        let table = Table::new(&format);
        let policy = preset("ieee", &format);
        for code in 0..format.code_count() {
            let (got, flags) = convert(code, &format, &table, &policy);
            let denormal = if format.is_subnormal(code) { Flags::DENORMAL } else { Flags::NONE };
            match format.value(code) {
                Value::Nan { .. } => {
                    assert_eq!(flags, Flags::INVALID);
                    assert!(format.nan_code().is_none_or(|nan| nan == got));
                }
                Value::Inf { negative } => {
                    assert_eq!((Some(got), flags), (format.inf_code(negative), Flags::NONE));
                }
                // A flushed code is zero from here on.
                Value::Finite(x, _) if x.is_zero() => {
                    assert_eq!(format.value(got), format.value(code), "{format:?} {code:x}");
                    assert_eq!(flags, denormal);
                }
                Value::Finite(..) => {
                    assert_eq!((got, flags), (code, denormal), "{format:?} {code:x}");
                }
            }
        }
    }
}

#[test]
fn results_are_in_order_of_the_operands() {
    // In steps of 1/256, past the ends of the smaller formats.
    let operands: Vec<Exact> = (0..2000).map(|i| Exact::ratio(i, 256)).collect();
    for format in small_formats().into_iter().filter(|format| format.k <= 5) {
        let table = Table::new(&format);
        let policy = preset("p3109-satfinite", &format);
        for rounding in [Rounding::NearestEven, Rounding::ToOdd, Rounding::StochasticA { n: 3, r: 5 }] {
            let policy = policy.with_rounding(rounding);
            let codes: Vec<u64> = operands.iter().map(|x| table.round(x, &policy).0).collect();
            assert!(codes.is_sorted(), "{format:?} {rounding:?}");
        }
    }
}

#[test]
fn a_place_is_found_from_everywhere() {
    let operands: Vec<Exact> = (0..500).map(|i| Exact::ratio(i, 64)).collect();
    for format in small_formats().into_iter().filter(|format| format.k <= 5) {
        let table = Table::new(&format);
        let policy = preset("ieee", &format);
        for x in &operands {
            let expected = table.round(x, &policy);
            for mut near in 0..=table.len() {
                let found = table.seek_near(x, &mut near).round(&policy);
                assert_eq!(found, expected, "{format:?} {x:?} {near}");
            }
        }
    }
}

#[test]
fn a_place_keeps_what_was_asked_of_it_for_all_roundings() {
    use Rounding::{NearestAway, NearestEven, StochasticA, StochasticB, StochasticC};
    use Rounding::{ToOdd, TowardNegative, TowardPositive, TowardZero};
    let roundings = [
        StochasticC { n: 3, r: 5 },
        TowardPositive,
        NearestEven,
        StochasticA { n: 3, r: 5 },
        ToOdd,
        TowardNegative,
        StochasticB { n: 3, r: 5 },
        TowardZero,
        NearestAway,
        StochasticA { n: 3, r: 2 },
    ];
    let operands: Vec<Exact> = (-60..60).map(|i| Exact::ratio(i, 12)).collect();
    for format in small_formats().into_iter().filter(|format| format.k <= 4) {
        let table = Table::new(&format);
        let (ieee, p3109) = (preset("ieee", &format), preset("p3109-satfinite", &format));
        let magnitude = Policy { negative: NegativeRule::Magnitude, ..ieee };
        for x in &operands {
            let place = table.seek(x);
            for policy in [magnitude, ieee, p3109] {
                for policy in roundings.map(|rounding| policy.with_rounding(rounding)) {
                    assert_eq!(place.round(&policy), table.round(x, &policy), "{format:?} {x:?} {policy:?}");
                }
            }
        }
    }
}
