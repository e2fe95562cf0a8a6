//! The catalogue: parameters of every named format as its source states them, names, aliases and
//! error messages.

use smallfloat::formats::CATALOGUE;
use smallfloat::{Datum, Domain, Family, Format, FormatSpec, Parameters, Signedness, Specials, Subnormals};
use smallfloat_proof::format;

fn error(name: &str) -> String {
    name.parse::<Format>().expect_err(name).to_string()
}

/// significand · 2^exponent, made odd here.
fn number((significand, exponent): (u64, i32)) -> Datum {
    let zeros = significand.trailing_zeros();
    Datum::Finite {
        negative: false,
        significand: significand >> zeros,
        exponent: exponent + zeros.cast_signed(),
    }
}

struct Row {
    name: &'static str,
    aliases: &'static [&'static str],
    /// K, P, exponent bits, bias, signed.
    layout: (u32, u32, u32, i32, bool),
    max: (u64, i32),
    min_normal: (u64, i32),
    min_positive: (u64, i32),
    /// Infinities, NaN codes, −0.
    specials: (bool, u64, bool),
    subnormals: Subnormals,
}

use Subnormals::{Flush, Gradual, Tesla};

#[rustfmt::skip]
const ROWS: [Row; 36] = [
    Row { name: "cfloat8_1_4_3:bias=7", aliases: &["CFloat8_1_4_3:bias=7", "cfloat_1_4_3:bias=7"], layout: (8, 4, 4, 7, true), max: (15, 5), min_normal: (1, -6), min_positive: (1, -10), specials: (false, 0, true), subnormals: Tesla },
    Row { name: "cfloat8_1_4_3:bias=0", aliases: &[], layout: (8, 4, 4, 0, true), max: (61440, 0), min_normal: (1, 1), min_positive: (1, -3), specials: (false, 0, true), subnormals: Tesla },
    Row { name: "cfloat8_1_4_3:bias=63,subnormals=gradual", aliases: &["cfloat8_1_4_3:subnormals=gradual,bias=63"], layout: (8, 4, 4, 63, true), max: (15, -51), min_normal: (1, -62), min_positive: (1, -65), specials: (false, 0, true), subnormals: Gradual },
    Row { name: "cfloat8_1_5_2:bias=15", aliases: &["CFloat8_1_5_2:bias=15"], layout: (8, 3, 5, 15, true), max: (114688, 0), min_normal: (1, -14), min_positive: (1, -17), specials: (false, 0, true), subnormals: Tesla },
    Row { name: "shp:bias=15", aliases: &["SHP:bias=15"], layout: (16, 11, 5, 15, true), max: (131008, 0), min_normal: (1, -14), min_positive: (1, -25), specials: (false, 0, true), subnormals: Tesla },
    Row { name: "uhp", aliases: &["UHP", "uhp:bias=31"], layout: (16, 11, 6, 31, false), max: (4292870144, 0), min_normal: (1, -30), min_positive: (1, -30), specials: (true, 1023, false), subnormals: Flush },
    Row { name: "binary16", aliases: &["f16"], layout: (16, 11, 5, 15, true), max: (65504, 0), min_normal: (1, -14), min_positive: (1, -24), specials: (true, 2046, true), subnormals: Gradual },
    Row { name: "bfloat16", aliases: &["bf16", "BFloat16"], layout: (16, 8, 8, 127, true), max: (255, 120), min_normal: (1, -126), min_positive: (1, -133), specials: (true, 254, true), subnormals: Gradual },
    Row { name: "binary32", aliases: &["f32"], layout: (32, 24, 8, 127, true), max: (0xFFFFFF, 104), min_normal: (1, -126), min_positive: (1, -149), specials: (true, 0xFFFFFE, true), subnormals: Gradual },
    Row { name: "binary64", aliases: &["f64"], layout: (64, 53, 11, 1023, true), max: (0x1FFFFFFFFFFFFF, 971), min_normal: (1, -1022), min_positive: (1, -1074), specials: (true, 0x1FFFFFFFFFFFFE, true), subnormals: Gradual },
    Row { name: "tf32", aliases: &["TensorFloat-32", "ieee:k=19,p=11"], layout: (19, 11, 8, 127, true), max: (2047, 117), min_normal: (1, -126), min_positive: (1, -136), specials: (true, 2046, true), subnormals: Gradual },
    Row { name: "fp24", aliases: &["FP24", "ieee:k=24,p=17"], layout: (24, 17, 7, 63, true), max: (131071, 47), min_normal: (1, -62), min_positive: (1, -78), specials: (true, 131070, true), subnormals: Gradual },
    Row { name: "ieee:k=32,p=21", aliases: &[], layout: (32, 21, 11, 1023, true), max: (0x1FFFFF, 1003), min_normal: (1, -1022), min_positive: (1, -1042), specials: (true, 0x1FFFFE, true), subnormals: Gradual },
    Row { name: "binary32p21se", aliases: &["binary32p21", "Binary{32, 21, Signed, Extended}"], layout: (32, 21, 11, 1024, true), max: (0x1FFFFE, 1003), min_normal: (1, -1023), min_positive: (1, -1043), specials: (true, 1, false), subnormals: Gradual },
    Row { name: "binary32p32uf", aliases: &["Binary{32, 32, Unsigned, Finite}"], layout: (32, 32, 1, 1, false), max: (0xFFFFFFFE, -31), min_normal: (1, 0), min_positive: (1, -31), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "e4m3fn", aliases: &["ocp-e4m3"], layout: (8, 4, 4, 7, true), max: (448, 0), min_normal: (1, -6), min_positive: (1, -9), specials: (false, 2, true), subnormals: Gradual },
    Row { name: "e4m3fnuz", aliases: &[], layout: (8, 4, 4, 8, true), max: (240, 0), min_normal: (1, -7), min_positive: (1, -10), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "e4m3b11fnuz", aliases: &[], layout: (8, 4, 4, 11, true), max: (30, 0), min_normal: (1, -10), min_positive: (1, -13), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "e5m2", aliases: &["ocp-e5m2"], layout: (8, 3, 5, 15, true), max: (57344, 0), min_normal: (1, -14), min_positive: (1, -16), specials: (true, 6, true), subnormals: Gradual },
    Row { name: "e5m2fnuz", aliases: &[], layout: (8, 3, 5, 16, true), max: (57344, 0), min_normal: (1, -15), min_positive: (1, -17), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "binary8p4se", aliases: &["binary8p4", "Binary8p4se", "Binary{8, 4, Signed, Extended}"], layout: (8, 4, 4, 8, true), max: (224, 0), min_normal: (1, -7), min_positive: (1, -10), specials: (true, 1, false), subnormals: Gradual },
    Row { name: "binary4p2sf", aliases: &["binary4p2f", "Binary{4,2,Signed,Finite}"], layout: (4, 2, 2, 2, true), max: (3, 0), min_normal: (1, -1), min_positive: (1, -2), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "binary8p1uf", aliases: &["Binary8p1uf", "Binary{8, 1, Unsigned, Finite}"], layout: (8, 1, 8, 128, false), max: (1, 126), min_normal: (1, -127), min_positive: (1, -127), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "ieee:k=6,p=3", aliases: &["IEEE:p=3,k=6"], layout: (6, 3, 3, 3, true), max: (14, 0), min_normal: (1, -2), min_positive: (1, -4), specials: (true, 6, true), subnormals: Gradual },
    Row { name: "e4m3", aliases: &[], layout: (8, 4, 4, 7, true), max: (240, 0), min_normal: (1, -6), min_positive: (1, -9), specials: (true, 14, true), subnormals: Gradual },
    Row { name: "e3m4", aliases: &[], layout: (8, 5, 3, 3, true), max: (31, -1), min_normal: (1, -2), min_positive: (1, -6), specials: (true, 30, true), subnormals: Gradual },
    Row { name: "e3m2fn", aliases: &[], layout: (6, 3, 3, 3, true), max: (28, 0), min_normal: (1, -2), min_positive: (1, -4), specials: (false, 0, true), subnormals: Gradual },
    Row { name: "e2m3fn", aliases: &[], layout: (6, 4, 2, 1, true), max: (15, -1), min_normal: (1, 0), min_positive: (1, -3), specials: (false, 0, true), subnormals: Gradual },
    Row { name: "e2m1fn", aliases: &[], layout: (4, 2, 2, 1, true), max: (6, 0), min_normal: (1, 0), min_positive: (1, -1), specials: (false, 0, true), subnormals: Gradual },
    Row { name: "e8m0fnu", aliases: &["e8m0"], layout: (8, 1, 8, 127, false), max: (1, 127), min_normal: (1, -127), min_positive: (1, -127), specials: (false, 1, false), subnormals: Subnormals::None },
    Row { name: "e3m0fn", aliases: &["f4_e3m0", "minifloat:k=4,p=1,bias=3"], layout: (4, 1, 3, 3, true), max: (16, 0), min_normal: (1, -2), min_positive: (1, -2), specials: (false, 0, true), subnormals: Gradual },
    Row { name: "ue4m3", aliases: &["minifloat:k=7,p=4,bias=7,signed=false,specials=nan-allones"], layout: (7, 4, 4, 7, false), max: (448, 0), min_normal: (1, -6), min_positive: (1, -9), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "ue5m3", aliases: &["fp8_ue5m3", "minifloat:k=8,p=4,bias=15,signed=false,specials=nan-allones"], layout: (8, 4, 5, 15, false), max: (114688, 0), min_normal: (1, -14), min_positive: (1, -17), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "minifloat:k=8,p=4,bias=8,signed=true,specials=nan-negzero,subnormals=gradual", aliases: &["minifloat:k=8,p=4,bias=8,specials=nan-negzero"], layout: (8, 4, 4, 8, true), max: (240, 0), min_normal: (1, -7), min_positive: (1, -10), specials: (false, 1, false), subnormals: Gradual },
    Row { name: "minifloat:k=5,p=5,bias=2,signed=false,specials=finite,subnormals=gradual", aliases: &["minifloat:k=5,p=5,bias=2,signed=false"], layout: (5, 5, 1, 2, false), max: (31, -5), min_normal: (1, -1), min_positive: (1, -5), specials: (false, 0, false), subnormals: Gradual },
    Row { name: "minifloat:k=6,p=3,bias=-4,signed=true,specials=nan-allones,subnormals=tesla", aliases: &[], layout: (6, 3, 3, -4, true), max: (6, 9), min_normal: (1, 5), min_positive: (1, 2), specials: (false, 2, true), subnormals: Tesla },
];

#[test]
fn every_row_of_the_catalogue() {
    for row in &ROWS {
        let f = format(row.name);
        let layout = (f.width(), f.precision(), f.exponent_bits(), f.bias(), f.is_signed());
        assert_eq!(layout, row.layout, "{f}");
        assert_eq!(f.max_finite(), number(row.max), "{f}");
        assert_eq!(f.min_normal(), number(row.min_normal), "{f}");
        assert_eq!(f.min_positive(), number(row.min_positive), "{f}");
        let specials = (f.has_infinity(), f.nan_codes(), f.has_negative_zero());
        assert_eq!((specials, f.subnormals()), (row.specials, row.subnormals), "{f}");
        assert_eq!(f.has_nan(), row.specials.1 > 0, "{f}");
        let min = if row.layout.4 {
            f.max_finite().negated()
        } else if row.name == "e8m0fnu" {
            number((1, -127))
        } else {
            Datum::ZERO
        };
        assert_eq!(f.min_finite(), min, "{f}");
        // The name is the one it prints, in any case and with space around it; the aliases mean the
        // same.
        assert_eq!(f.to_string(), row.name);
        for name in
            row.aliases.iter().copied().chain([&*row.name.to_uppercase(), &*format!(" {} ", row.name)])
        {
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
