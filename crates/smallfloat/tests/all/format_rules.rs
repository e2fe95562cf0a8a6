//! Which formats there are, what may be changed of one, and which fits into which: all parameters
//! in small ranges, against rules written down again and against sets of values.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use smallfloat::formats::{BINARY16, BINARY32, BINARY64, CATALOGUE};
use smallfloat::{Datum, Domain, Format, Parameters, Signedness, Specials, Subnormals};

const SIDES: [Signedness; 2] = [Signedness::Signed, Signedness::Unsigned];
const FURTHEST: i32 = 1 << 15;

/// Every way to read the codes of K bits, with P significant ones, legal or not.
fn readings(width: u32, precision: u32, bias: i32) -> impl Iterator<Item = Parameters> {
    SIDES.into_iter().flat_map(move |signedness| {
        Specials::NAMED.iter().copied().flat_map(move |(_, specials)| {
            Subnormals::NAMED.iter().copied().map(move |(_, subnormals)| Parameters {
                width,
                precision,
                bias,
                signedness,
                specials,
                subnormals,
            })
        })
    })
}

/// Returns whether a format leaves a normal value, and has what its specials need.
fn is_legal(p: Parameters) -> bool {
    let signed = matches!(p.signedness, Signedness::Signed);
    let magnitude_bits = p.width - u32::from(signed);
    if p.precision == 0 || p.precision > magnitude_bits {
        return false;
    }
    let binade = 1_u64 << (p.precision - 1);
    let exponent_bits = magnitude_bits - (p.precision - 1);
    if p.width > 16 && exponent_bits > 11 {
        return false;
    }
    let (possible, taken) = match p.specials {
        Specials::Finite => (true, 0),
        Specials::Ieee => (p.precision >= 2 && exponent_bits >= 2, binade),
        Specials::NanAllOnes => (true, 1),
        Specials::NanNegativeZero => (signed, 0),
        Specials::E8m0 => (!signed && p.precision == 1, 1),
        Specials::P3109Extended => (true, if signed { 1 } else { 2 }),
        Specials::P3109Finite => (true, u64::from(!signed)),
        other => panic!("{other:?} has no rule here"),
    };
    let below_normals = match (p.specials, p.subnormals) {
        (Specials::E8m0, _) => 0,
        (_, Subnormals::None) => 1,
        _ => binade,
    };
    possible && (1 << magnitude_bits) - taken > below_normals
}

#[test]
fn minifloats_are_those_with_a_normal_value() {
    let mut legal = 0;
    for width in 0..=34 {
        for precision in 0..=34 {
            for p in readings(width, precision, 1) {
                let expected = (2..=32).contains(&width) && is_legal(p);
                legal += u32::from(expected);
                assert_eq!(Format::minifloat(p).is_ok(), expected, "{p:?}");
            }
        }
    }
    assert!(legal > 5000, "{legal}");
    for (bias, expected) in
        [(-FURTHEST - 1, false), (-FURTHEST, true), (0, true), (FURTHEST, true), (FURTHEST + 1, false)]
    {
        let p = readings(6, 3, bias).next().expect("the first");
        let found = Format::minifloat(p);
        assert_eq!(found.map(|f| f.bias()).ok(), expected.then_some(bias));
    }
    let message = |width, precision| {
        let p = readings(width, precision, 0).next().expect("the first");
        Format::minifloat(p).expect_err("out of range").to_string()
    };
    assert_eq!(message(33, 23), "k = 33 is out of range, k must be 2..=32");
    assert_eq!(
        message(17, 3),
        "k = 17, p = 3 gives 14 exponent bits, formats of 17 to 32 bits have at most 11: p must be at least 6"
    );
    assert_eq!(message(8, 8), "p = 8 is out of range, p must be 1..=7");
}

#[test]
fn ieee_formats_are_those_of_its_model() {
    for k in 0..=130 {
        for p in 0..=130 {
            let fields = p >= 2 && p + 2 <= k;
            let small = (4..=16).contains(&k) && fields;
            let wide = (17..=32).contains(&k) && fields && k - p <= 11;
            let expected = small || wide || (k, p) == (64, 53);
            let found = Format::ieee(k, p);
            assert_eq!(found.is_ok(), expected, "k = {k}, p = {p}");
            if let Ok(f) = found {
                let bias = (1_i32 << (k - p - 1)) - 1;
                assert_eq!((f.width(), f.precision(), f.bias(), f.is_wide()), (k, p, bias, k > 16));
            }
        }
    }
    assert_eq!(Format::ieee(32, 24), Ok(BINARY32));
    let message = |k, p| Format::ieee(k, p).expect_err("out of range").to_string();
    assert_eq!(message(33, 24), "k = 33 is out of range, k must be 4..=32");
    assert!(message(32, 20).ends_with("at most 11: p must be at least 21"), "{}", message(32, 20));
    assert_eq!(message(8, 7), "p = 7 is out of range, p must be 2..=6");
}

#[test]
fn p3109_formats_are_those_of_its_section() {
    for k in 0..=34 {
        for p in 0..=34 {
            for side in SIDES {
                let unsigned = u32::from(matches!(side, Signedness::Unsigned));
                let expected = (3..=32).contains(&k)
                    && p >= 1
                    && p < k + unsigned
                    && (k <= 16 || k - p + unsigned <= 11);
                let found = Format::p3109(k, p, side, Domain::Finite);
                assert_eq!(found.is_ok(), expected, "K = {k}, P = {p}, {side:?}");
            }
        }
    }
}

/// (name, biases it takes, which of gradual, Tesla's, flushed and no subnormals).
type Freedom = (&'static str, Option<(i32, i32)>, [bool; 4]);

#[test]
fn standards_fix_biases_and_subnormals() {
    let tesla = [true, true, false, false];
    let rows: [Freedom; 7] = [
        ("cfloat8_1_4_3:bias=7", Some((0, 63)), tesla),
        ("shp:bias=20", Some((0, 63)), tesla),
        ("uhp", None, [false; 4]),
        ("e4m3fn", None, [false; 4]),
        ("binary8p3se", None, [false; 4]),
        ("ieee:k=6,p=3", None, [false; 4]),
        ("minifloat:k=6,p=3,bias=3", Some((-FURTHEST, FURTHEST)), [true; 4]),
    ];
    for (name, range, subnormals) in rows {
        let f: Format = name.parse().expect("a format");
        assert_eq!(f.bias_range(), range, "{name}");
        assert_eq!(f.with_bias(f.bias()), Ok(f), "{name}");
        for bias in [-FURTHEST - 1, -FURTHEST, -1, 0, 5, 63, 64, FURTHEST, FURTHEST + 1] {
            let fits = range.is_some_and(|(lo, hi)| (lo..=hi).contains(&bias));
            assert_eq!(f.with_bias(bias).map(|g| g.bias()).ok(), fits.then_some(bias), "{name} {bias}");
        }
        for ((word, reading), free) in Subnormals::NAMED.iter().copied().zip(subnormals) {
            let found = f.with_subnormals(reading);
            assert_eq!(found.map(|g| g.subnormals()).ok(), free.then_some(reading), "{name} {word}");
        }
    }
    for bias in -65..=64 {
        let makers = [Format::cfloat8_1_4_3, Format::cfloat8_1_5_2, Format::shp];
        assert!(makers.iter().all(|make| make(bias).is_ok() == (0..64).contains(&bias)), "{bias}");
    }
}

#[test]
fn words_of_parameters() {
    for &(word, specials) in Specials::NAMED {
        assert_eq!(specials.name(), word);
    }
    for &(word, subnormals) in Subnormals::NAMED {
        assert_eq!(subnormals.name(), word);
    }
    let f: Format =
        "minifloat:k=5,p=2,bias=2,signed=false,specials=nan-allones,subnormals=flush".parse().expect("one");
    assert_eq!((f.specials(), f.subnormals()), (Specials::NanAllOnes, Subnormals::Flush));
}

/// The finite values of a format, with −0 apart from 0.
fn values(f: &Format) -> BTreeSet<(bool, u64, i32)> {
    let codes = f.codes();
    let finite = codes.filter_map(|code| match f.decode(code) {
        Datum::Finite { negative, significand, exponent } => Some((negative, significand, exponent)),
        _ => None,
    });
    finite.collect()
}

#[test]
fn formats_fit_where_their_values_are() {
    let mut formats: Vec<Format> =
        CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= 8).collect();
    for (width, precision) in [(3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 2), (5, 3), (6, 4)] {
        for bias in [0, 1, 4] {
            formats.extend(readings(width, precision, bias).filter_map(|p| Format::minifloat(p).ok()));
        }
    }
    let sets: Vec<_> = formats.iter().map(values).collect();
    let mut fits = 0;
    for (narrow, few) in formats.iter().zip(&sets) {
        assert_eq!(narrow.finite_values(), {
            let both = few.contains(&(false, 0, 0)) && few.contains(&(true, 0, 0));
            few.len() as u64 - u64::from(both)
        });
        for (wide, many) in formats.iter().zip(&sets) {
            let expected = few.is_subset(many);
            fits += u32::from(expected);
            assert_eq!(narrow.fits_in(wide), expected, "{narrow} in {wide}");
        }
    }
    assert!(fits > 20_000, "{fits}");
    for f in &formats {
        assert!(f.fits_in(&BINARY64) || values(f).iter().any(|&(_, _, e)| e < -1074));
    }
    assert!(BINARY16.fits_in(&BINARY32) && BINARY32.fits_in(&BINARY64) && !BINARY64.fits_in(&BINARY32));
    assert!(BINARY64.fits_in(&BINARY64) && !BINARY32.fits_in(&BINARY16));
}

/// Formats of more than 16 bits and odd grids, where the answer follows from the formulas of
/// values: 2^−bias · 1.m where there are no subnormals, whose first value is the second after the
/// power of two; 2^−bias · 0.m below Tesla's hole.
#[test]
fn wide_formats_fit_where_their_values_are() {
    let f = |name: &str| name.parse::<Format>().unwrap_or_else(|error| panic!("{name}: {error}"));
    let rows = [
        ("tf32", "binary32", true),
        ("binary32", "tf32", false),
        ("fp24", "binary32", true),
        ("tf32", "fp24", false),
        ("binary16", "tf32", true),
        ("binary16", "fp24", true),
        ("bfloat16", "tf32", true),
        ("binary32p21se", "binary64", true),
        // The lowest binade has no 2^−bias: that code is zero.
        ("fp24", "minifloat:k=25,p=17,bias=79,subnormals=none", true),
        ("fp24", "minifloat:k=25,p=17,bias=78,subnormals=none", false),
        (
            "minifloat:k=24,p=17,bias=63,subnormals=none",
            "minifloat:k=25,p=18,bias=63,subnormals=tesla",
            false,
        ),
        // Below the hole Tesla's steps are half of what the smallest normal binade has.
        ("minifloat:k=20,p=13,bias=10", "minifloat:k=28,p=20,bias=30,subnormals=tesla", true),
        ("minifloat:k=20,p=13,bias=30", "minifloat:k=28,p=20,bias=30,subnormals=tesla", false),
        ("minifloat:k=28,p=20,bias=30,subnormals=tesla", "binary64", true),
        ("minifloat:k=28,p=20,bias=30,subnormals=tesla", "minifloat:k=28,p=20,bias=30", false),
        ("minifloat:k=28,p=20,bias=30,subnormals=flush", "minifloat:k=28,p=20,bias=30", true),
        ("minifloat:k=28,p=20,bias=30", "minifloat:k=28,p=20,bias=30,subnormals=flush", false),
    ];
    for (narrow, wide, expected) in rows {
        assert_eq!(f(narrow).fits_in(&f(wide)), expected, "{narrow} in {wide}");
    }
}

/// Every code decoded, in a set by value: what `values` has to give, for every legal format of up
/// to 6 bits and for the catalogue's of up to 16.
#[test]
fn values_are_the_codes_sorted() {
    let small =
        (2..=6).flat_map(|width| (1..=width).flat_map(move |precision| readings(width, precision, 1)));
    let legal = small.filter_map(|p| Format::minifloat(p).ok());
    let named = CATALOGUE.iter().map(|row| row.format).filter(|format| format.width() <= 16);
    let mut checked = 0;
    for format in legal.chain(named) {
        let number = |x: Datum| x.to_f64().expect("binary64 has it");
        let mut expected: Vec<f64> = format
            .codes()
            .map(|code| format.decode(code))
            .filter(Datum::is_finite)
            // −0 becomes 0.
            .map(|value| number(value) + 0.0)
            .collect();
        expected.sort_by(f64::total_cmp);
        expected.dedup();
        let values: Vec<f64> = format.values().map(number).collect();
        assert_eq!(values, expected, "{format}");
        assert_eq!(values.len() as u64, format.finite_values(), "{format}");
        let backwards: Vec<f64> = format.values().rev().map(number).collect();
        assert!(backwards.iter().rev().eq(&values), "{format}");
        checked += 1;
    }
    assert!(checked > 200, "{checked}");
}

/// Data of no format: their order is that of values, and no format has them.
#[test]
fn exponents_at_the_ends_of_their_type() {
    let [one, tiny] = [Datum::finite(false, 1, 0), Datum::finite(false, 3, i32::MIN)];
    for exponent in [i32::MAX, i32::MAX - 70] {
        let huge = Datum::Finite { negative: false, significand: u64::MAX, exponent };
        assert_eq!([one, tiny].map(|x| huge.compare(&x)), [Some(Ordering::Greater); 2]);
        assert_eq!(
            (huge.to_f64(), BINARY32.encode(huge), huge.compare(&huge)),
            (None, None, Some(Ordering::Equal))
        );
        let even = Datum::finite(false, 1 << 63, exponent);
        assert_eq!((even.compare(&one), BINARY64.encode(even)), (Some(Ordering::Greater), None));
    }
    assert_eq!((tiny.compare(&one), tiny.to_f64()), (Some(Ordering::Less), None));
}
