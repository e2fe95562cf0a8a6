//! Every code of every small format: value, class and the queries that follow from them, against
//! the oracle.

use smallfloat::{Class, Datum, FlagPolicy, Flags, Format, convert_with, formats};
use smallfloat_oracle::{self as oracle, Dyadic, OracleFormat, Value};
use smallfloat_proof::{
    catalogue, check_all, minifloats, oracle_by_name, oracle_format, p3109, same_value, tesla,
};

/// What a format has, counted from the oracle's values.
#[derive(Default)]
struct Counted {
    finite: u64,
    nan: u64,
    infinite: u64,
    subnormal: u64,
    negative_zeros: u64,
    zeros: u64,
    /// Sign, exponent and mantissa: equal for equal numbers.
    distinct: Vec<(bool, i64, u64)>,
    min: Option<Dyadic>,
    max: Option<Dyadic>,
    min_positive: Option<Dyadic>,
    min_normal: Option<Dyadic>,
    max_subnormal: Option<Dyadic>,
}

fn keep(slot: &mut Option<Dyadic>, x: &Dyadic, better: impl Fn(&Dyadic, &Dyadic) -> bool) {
    if slot.as_ref().is_none_or(|old| better(x, old)) {
        *slot = Some(x.clone());
    }
}

impl Counted {
    fn add(&mut self, code: u64, value: &Value, format: &OracleFormat) {
        let subnormal = format.is_subnormal(code) && matches!(value, Value::Finite(..));
        self.subnormal += u64::from(subnormal);
        match value {
            Value::Nan { .. } => self.nan += 1,
            Value::Inf { .. } => self.infinite += 1,
            Value::Finite(x, negative_zero) => {
                self.finite += 1;
                self.negative_zeros += u64::from(*negative_zero);
                self.zeros += u64::from(x.is_zero());
                let mantissa = u64::try_from(x.mantissa().magnitude()).expect("small");
                self.distinct.push((x.is_negative(), x.exponent(), mantissa));
                keep(&mut self.min, x, |new, old| new < old);
                keep(&mut self.max, x, |new, old| new > old);
                if !x.is_zero() && !x.is_negative() {
                    keep(&mut self.min_positive, x, |new, old| new < old);
                    if subnormal {
                        keep(&mut self.max_subnormal, x, |new, old| new > old);
                    } else {
                        keep(&mut self.min_normal, x, |new, old| new < old);
                    }
                }
            }
        }
    }

    fn distinct_values(&mut self) -> u64 {
        self.distinct.sort_unstable();
        self.distinct.dedup();
        self.distinct.len() as u64
    }
}

fn same(datum: Datum, expected: Option<&Dyadic>) -> bool {
    expected.is_some_and(|x| same_value(datum, &Value::Finite(x.clone(), false)))
}

fn exponent(x: Option<&Dyadic>) -> i32 {
    x.and_then(Dyadic::floor_log2).map_or(0, |e| i32::try_from(e).expect("small"))
}

/// Compares everything about one format.
fn check(format: &Format, oracle: &OracleFormat) -> (u64, Vec<String>) {
    let mut wrong = Vec::new();
    let mut counted = Counted::default();
    for code in 0..oracle.code_count() {
        let (datum, value) = (format.decode(code), oracle.value(code));
        counted.add(code, &value, oracle);
        if !same_value(datum, &value) {
            wrong.push(format!("{format} {code:#x}: decode gave {datum}, expected {value}"));
        }
        let class = match &value {
            Value::Nan { .. } => Class::Nan,
            Value::Inf { .. } => Class::Infinite,
            Value::Finite(..) if oracle.is_subnormal(code) => Class::Subnormal,
            Value::Finite(x, _) if x.is_zero() => Class::Zero,
            Value::Finite(..) => Class::Normal,
        };
        if format.classify(code) != class {
            wrong.push(format!("{format} {code:#x}: class {}, expected {class}", format.classify(code)));
        }
        // A flushed code means zero, and zero has its own code; NaN comes back as the canonical
        // one.
        let back = match &value {
            Value::Nan { .. } => oracle.nan_code(),
            Value::Finite(x, negative_zero) if x.is_zero() && oracle.is_subnormal(code) => {
                Some(if *negative_zero { oracle.sign_bit() } else { 0 })
            }
            _ => Some(code),
        };
        if format.encode(datum) != back {
            wrong.push(format!("{format} {code:#x}: encode(decode) gave {:x?}", format.encode(datum)));
        }
        let denormal = if oracle.is_subnormal(code) { Flags::DENORMAL } else { Flags::NONE };
        let binary64 = formats::BINARY64;
        let projection = binary64.default_projection();
        let decoded = convert_with(code, format, &binary64, &projection, FlagPolicy::TESLA);
        if decoded.flags & Flags::DENORMAL != denormal {
            wrong.push(format!("{format} {code:#x}: D is wrong"));
        }
    }

    let mut expect = |what: &str, right: bool| {
        if !right {
            wrong.push(format!("{format}: {what}"));
        }
    };
    let values = counted.distinct_values();
    let c = &counted;
    expect("max_finite", same(format.max_finite(), c.max.as_ref()));
    expect("min_finite", same(format.min_finite(), c.min.as_ref()));
    expect("min_positive", same(format.min_positive(), c.min_positive.as_ref()));
    expect("min_normal", same(format.min_normal(), c.min_normal.as_ref()));
    expect(
        "max_subnormal",
        match format.max_subnormal() {
            Some(datum) => same(datum, c.max_subnormal.as_ref()),
            None => c.max_subnormal.is_none(),
        },
    );
    expect("finite_codes", format.finite_codes() == c.finite);
    expect("finite_values", format.finite_values() == values);
    expect("nan_codes", format.nan_codes() == c.nan);
    expect("all codes", c.finite + c.nan + c.infinite == format.max_code() + 1);
    expect(
        "exponent_range",
        format.exponent_range() == (exponent(c.min_normal.as_ref()), exponent(c.max.as_ref())),
    );
    expect("has_zero", format.has_zero() == (c.zeros > 0));
    expect("has_negative_zero", format.has_negative_zero() == (c.negative_zeros > 0));
    expect("has_infinity", format.has_infinity() == (c.infinite > 0));
    expect("has_nan", format.has_nan() == (c.nan > 0));
    expect("has_subnormals", format.has_subnormals() == (c.subnormal > 0));
    expect("max_code", format.max_code() + 1 == oracle.code_count());
    (oracle.code_count(), wrong)
}

fn check_formats(what: &str, list: &[Format]) {
    check_all(what, list, |format| check(format, &oracle_format(format)));
}

#[test]
fn the_catalogue_s_parameters_are_the_oracle_s() {
    for &row in formats::CATALOGUE {
        let known = oracle_by_name(row.name).unwrap_or_else(|| panic!("{} has no oracle", row.name));
        assert_eq!(oracle_format(&row.format), known, "{}", row.name);
        assert_eq!(
            row.name.parse::<smallfloat::FormatSpec>().unwrap().with_bias(row.format.bias()),
            Ok(row.format)
        );
    }
    for bias in 0..=63 {
        let b = i64::from(bias);
        assert_eq!(oracle_format(&Format::cfloat8_1_4_3(bias).unwrap()), oracle::formats::cfloat8_1_4_3(b));
        assert_eq!(oracle_format(&Format::cfloat8_1_5_2(bias).unwrap()), oracle::formats::cfloat8_1_5_2(b));
        assert_eq!(oracle_format(&Format::shp(bias).unwrap()), oracle::formats::shp(b));
    }
}

#[test]
fn p3109_names_give_the_draft_s_parameters() {
    let mut count = 0;
    for k in 3..=16 {
        for (letter, signed, widest) in [('s', true, k - 1), ('u', false, k)] {
            for p in 1..=widest {
                for (domain, extended) in [('f', false), ('e', true)] {
                    let name = format!("binary{k}p{p}{letter}{domain}");
                    let format: Format = name.parse().unwrap();
                    assert_eq!(
                        oracle_format(&format),
                        oracle::formats::p3109(k, p, signed, extended),
                        "{name}"
                    );
                    assert_eq!(format.to_string().to_lowercase(), name);
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 504);
    assert_eq!(p3109(3..=16).len(), 504);
}

#[test]
fn catalogue_values() {
    check_formats("catalogue", &catalogue(16));
}

#[test]
fn tf32_at_every_code() {
    check_formats("tf32", &[formats::TF32]);
}

/// The draft's parameters of the formats of 17 to 32 bits that have at most 11 exponent bits.
#[test]
fn wide_p3109_names_give_the_draft_s_parameters() {
    let mut count = 0;
    for k in 17..=32 {
        for p in 1..=k {
            for (letter, signed, domain, extended) in [
                ('s', true, 'f', false),
                ('s', true, 'e', true),
                ('u', false, 'f', false),
                ('u', false, 'e', true),
            ] {
                let name = format!("binary{k}p{p}{letter}{domain}");
                let exponent_bits = k - p + u32::from(!signed);
                let found = name.parse::<Format>();
                let is_legal = (1..=11).contains(&exponent_bits);
                assert_eq!(found.is_ok(), is_legal, "{name}");
                if let Ok(format) = found {
                    assert_eq!(
                        oracle_format(&format),
                        oracle::formats::p3109(k, p, signed, extended),
                        "{name}"
                    );
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 16 * 44);
}

#[test]
fn tesla_values_at_every_bias() {
    check_formats("Tesla, 64 biases, both readings", &tesla(0..=63));
}

#[test]
fn p3109_values() {
    check_formats("P3109, K = 3..=16", &p3109(3..=16));
}

#[test]
fn minifloat_values() {
    let mut list = Vec::new();
    for width in 2..=8 {
        list.extend(minifloats(width, &[-5, 0, 7]));
    }
    check_formats("minifloats, K = 2..=8", &list);
}
