//! The catalogue: parameters of every named format as its source states them, names, aliases and
//! error messages.

use smallfloat::formats::CATALOGUE;
use smallfloat::{Datum, Domain, Family, Format, FormatSpec, Parameters, Signedness, Specials, Subnormals};
use smallfloat_proof::format;

fn error(name: &str) -> String {
    name.parse::<Format>().expect_err(name).to_string()
}

/// `3p-1` is 3 · 2^−1, made odd here.
fn number(text: &str) -> Datum {
    let (significand, exponent) = text.split_once('p').expect(text);
    let (significand, exponent): (u64, i32) =
        (significand.parse().expect(text), exponent.parse().expect(text));
    let zeros = significand.trailing_zeros();
    let (significand, exponent) = (significand >> zeros, exponent + zeros.cast_signed());
    Datum::Finite { negative: false, significand, exponent }
}

/// Formats as their sources state them.
const ROWS: &str = include_str!("../../../data/formats.txt");

#[test]
fn every_row_of_the_catalogue() {
    let rows: Vec<&str> = ROWS.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 36);
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [name, layout, ends, specials, subnormals, aliases] = cells[..] else {
            panic!("six cells: {row}")
        };
        let f = format(name);
        let sign = if f.is_signed() { "signed" } else { "unsigned" };
        let found = format!("{} {} {} {} {sign}", f.width(), f.precision(), f.exponent_bits(), f.bias());
        assert_eq!(found, layout, "{f}");
        let ends: Vec<Datum> = ends.split(' ').map(number).collect();
        assert_eq!([f.max_finite(), f.min_normal(), f.min_positive()], ends[..], "{f}");
        let yes = |has: bool| if has { "yes" } else { "no" };
        let found = format!("{} {} {}", yes(f.has_infinity()), f.nan_codes(), yes(f.has_negative_zero()));
        assert_eq!((found.as_str(), f.subnormals().name()), (specials, subnormals), "{f}");
        assert_eq!(f.has_nan(), f.nan_codes() > 0, "{f}");
        let min = if f.is_signed() {
            ends[0].negated()
        } else if name == "e8m0fnu" {
            number("1p-127")
        } else {
            Datum::ZERO
        };
        assert_eq!(f.min_finite(), min, "{f}");
        // The name is the one it prints, in any case and with space around it; the aliases mean the
        // same.
        assert_eq!(f.to_string(), name);
        let others = aliases.split("; ").filter(|alias| *alias != "-");
        for name in others.chain([&*name.to_uppercase(), &*format!(" {name} ")]) {
            assert_eq!(name.parse::<Format>(), Ok(f), "{name}");
            assert_eq!(name.parse::<FormatSpec>().and_then(|spec| spec.format()), Ok(f), "{name}");
        }
    }
}

#[test]
fn every_name_and_alias_prints_and_parses_back() {
    for &row in CATALOGUE {
        for name in row.aliases.iter().chain([&row.name]) {
            let spec: FormatSpec = name.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(spec.to_string(), row.name, "{name}");
            let bias = row.format.bias();
            assert_eq!(spec.with_bias(bias), Ok(row.format), "{name}");
            if !spec.has_free_bias() {
                assert_eq!((spec.format(), spec.bias()), (Ok(row.format), Some(bias)), "{name}");
            }
        }
        assert_eq!(format(&row.format.to_string()), row.format);
    }
    // Names are not given twice.
    let mut names: Vec<String> = CATALOGUE
        .iter()
        .flat_map(|row| row.aliases.iter().chain([&row.name]))
        .map(|n| n.to_lowercase())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn all_504_p3109_formats_by_name() {
    let mut count = 0;
    for k in 3..=16 {
        for (s, sign, top) in [('s', Signedness::Signed, k - 1), ('u', Signedness::Unsigned, k)] {
            for p in 1..=top {
                for (d, domain) in [('e', Domain::Extended), ('f', Domain::Finite)] {
                    let f = Format::p3109(k, p, sign, domain).expect("a legal format");
                    let name = format!("binary{k}p{p}{s}{d}");
                    assert_eq!(f.to_string(), name);
                    let long = format!("Binary{{{k}, {p}, {sign:?}, {domain:?}}}");
                    for text in [name.clone(), name.replace('b', "B"), long] {
                        assert_eq!(text.parse::<Format>(), Ok(f), "{text}");
                    }
                    assert_eq!(f.family(), Family::P3109, "{f}");
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 504);
}

#[test]
fn errors_state_the_legal_range() {
    for (name, fragments) in [
        ("cfloat8_1_4_3:bias=64", &["bias", "64", "0..=63"][..]),
        ("cfloat8_1_5_2:bias=-1", &["bias", "-1", "0..=63"]),
        ("shp:bias=100", &["bias", "100", "0..=63"]),
        ("cfloat8_1_4_3", &["bias", "0..=63", "cfloat8_1_4_3:bias="]),
        ("shp", &["bias", "0..=63", "shp:bias="]),
        ("uhp:bias=30", &["bias", "31"]),
        ("e4m3fn:bias=8", &["bias", "7"]),
        ("cfloat8_1_4_3:bias=seven", &["bias", "seven", "integer"]),
        ("cfloat8_1_4_3:bais=7", &["bais", "bias"]),
        ("cfloat8_1_4_3:bias=7,bias=8", &["bias", "once"]),
        ("cfloat8_1_4_3:bias=7,subnormals=flush", &["subnormals", "tesla", "gradual"]),
        ("cfloat8_1_4_3:bias=7,subnormals=ieee", &["subnormals", "gradual, tesla, flush or none"]),
        ("binary2p1se", &["K", "2", "3..=32"]),
        ("binary33p23se", &["K", "33", "3..=32"]),
        ("binary17p3se", &["k = 17, p = 3", "14 exponent bits", "at most 11", "p must be at least 6"]),
        ("binary17p6ue", &["12 exponent bits", "p must be at least 7"]),
        ("binary8p8se", &["P", "8", "1..=7"]),
        ("binary8p0ue", &["P", "0", "1..=8"]),
        ("binary8p9uf", &["P", "9", "1..=8"]),
        ("Binary{8, 8, Signed, Extended}", &["P", "8", "1..=7"]),
        ("Binary{8, 3, Maybe, Extended}", &["Maybe", "Signed or Unsigned"]),
        ("ieee:k=33,p=24", &["k", "33", "4..=32"]),
        ("ieee:k=32,p=20", &["12 exponent bits", "p must be at least 21"]),
        ("ieee:k=8,p=7", &["p", "7", "2..=6"]),
        ("ieee:k=8", &["p", "missing", "ieee:k=6,p=3"]),
        ("minifloat:k=1,p=1,bias=0", &["k", "1", "2..=32"]),
        ("minifloat:k=33,p=24,bias=0", &["k", "33", "2..=32"]),
        ("minifloat:k=17,p=4,bias=0", &["13 exponent bits", "p must be at least 6"]),
        ("minifloat:k=8,p=8,bias=0", &["p", "8", "1..=7"]),
        ("minifloat:k=8,p=9,bias=0,signed=false", &["p", "9", "1..=8"]),
        ("minifloat:k=8,p=4,bias=40000", &["bias", "40000", "-32768..=32768"]),
        ("minifloat:k=8,p=4", &["bias", "missing"]),
        ("minifloat:k=8,p=4,bias=7,specials=some", &["specials", "some", "finite, ieee, nan-allones"]),
        ("minifloat:k=8,p=4,bias=7,specials=e8m0", &["e8m0", "p=1"]),
        ("minifloat:k=8,p=1,bias=7,specials=ieee", &["ieee", "p >= 2"]),
        ("minifloat:k=8,p=4,bias=7,signed=no", &["signed", "true or false"]),
    ] {
        let message = error(name);
        for fragment in fragments {
            assert!(message.contains(fragment), "{name}: `{message}` lacks `{fragment}`");
        }
    }
    let parameters = Parameters {
        width: 8,
        precision: 0,
        bias: 7,
        signedness: Signedness::Signed,
        specials: Specials::Finite,
        subnormals: Subnormals::Gradual,
    };
    let message = Format::minifloat(parameters).expect_err("precision 0").to_string();
    assert!(message.contains("1..=7"), "{message}");
}

#[test]
fn unknown_names_get_a_suggestion() {
    for (name, suggestion) in [
        ("e4m3fnuzz", "e4m3fnuz"),
        ("e5m2x", "e5m2"),
        ("cfloat8_14_3", "cfloat8_1_4_3"),
        ("cfloat8_15_2:bias=7", "cfloat8_1_5_2"),
        ("bflaot16", "bfloat16"),
        ("uhpp", "uhp"),
        ("e8m0fnuu", "e8m0fnu"),
        ("minfloat:k=8,p=4,bias=7", "minifloat"),
    ] {
        let message = error(name);
        assert!(message.contains(&format!("did you mean `{suggestion}")), "{name}: {message}");
    }
    let message = error("posit16");
    assert!(message.contains("posit16") && !message.contains("did you mean"), "{message}");
}

#[test]
fn ambiguous_names_are_refused_and_both_meanings_named() {
    for (name, ocp, max, ieee, ieee_max) in [
        ("e3m2", "e3m2fn", "28", "ieee:k=6,p=3", "14"),
        ("e2m3", "e2m3fn", "7.5", "ieee:k=6,p=4", "3.75"),
        ("e2m1", "e2m1fn", "6", "ieee:k=4,p=2", "3"),
    ] {
        let message = error(name);
        for fragment in ["ambiguous", ocp, max, ieee, ieee_max] {
            assert!(message.contains(fragment), "{name}: {message}");
        }
        // The maxima that the message names are those of the formats it names.
        for (name, max) in [(ocp, max), (ieee, ieee_max)] {
            let f = format(name);
            assert_eq!(
                f.max_finite().to_f64().map(f64::to_bits),
                Some(max.parse::<f64>().unwrap().to_bits())
            );
        }
    }
}

#[test]
fn bad_text_is_an_error_and_never_a_panic() {
    let rubbish = [
        "",
        " ",
        ":",
        "::",
        ":bias=7",
        "binary",
        "binary8",
        "binary8p",
        "binaryp3",
        "binary8p3xx",
        "binary{",
        "binary{}",
        "Binary{8,3}",
        "Binary{8,3,Signed,Extended,1}",
        "binary99999999999p3se",
        "ieee",
        "ieee:",
        "ieee:k,p",
        "minifloat",
        "minifloat:,,,",
        "é4m3fn",
        "e4m3fn\u{0}",
        "cfloat8_1_4_3:bias=99999999999999999999",
        "cfloat8_1_4_3:bias=",
        "cfloat8_1_4_3:=7",
        "e4m3fn:subnormals=tesla",
    ];
    for text in rubbish {
        assert!(!error(text).is_empty(), "{text:?}");
    }
    assert!(!error(&"x".repeat(10_000)).is_empty());
}
