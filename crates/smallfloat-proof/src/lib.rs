//! Tests and runners that hold smallfloat against its oracles.
//!
//! What the tests share: the same format, policy and number in the core's words and in the
//! oracle's. Nothing here computes a value; a translation that went wrong would make every test
//! fail.

pub mod calls;
pub mod located;
pub mod sweep;
pub mod truth;

use std::panic::Location;
use std::sync::LazyLock;
use std::time::Instant;

use rayon::prelude::*;
use smallfloat::{
    Datum, Domain, Exact, Flags, Format, MissingNan, MissingZero, NanRule, NegativeRule, NegativeZero,
    Parameters, Projection, RandomBits, Rounding, Saturation, Signedness, Specials, Subnormals, formats,
};
use smallfloat_oracle as oracle;

/// The format of a name that the library knows.
///
/// # Panics
/// If it knows no such name.
pub fn format(name: &str) -> Format {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The format of the same parameters in the oracle.
///
/// # Panics
/// If the oracle has none of its specials or subnormals.
pub fn oracle_format(format: &Format) -> oracle::OracleFormat {
    oracle::OracleFormat {
        k: format.width(),
        p: format.precision(),
        bias: format.bias().into(),
        signed: format.is_signed(),
        specials: match format.specials() {
            Specials::Finite => oracle::Specials::Finite,
            Specials::Ieee => oracle::Specials::Ieee,
            Specials::NanAllOnes => oracle::Specials::NanAllOnes,
            Specials::NanNegativeZero => oracle::Specials::NanNegZero,
            Specials::P3109Extended => oracle::Specials::P3109Extended,
            Specials::P3109Finite => oracle::Specials::P3109Finite,
            Specials::E8m0 => oracle::Specials::E8m0,
            other => panic!("no oracle for {other:?}"),
        },
        subnormals: match format.subnormals() {
            // The scale format has no field of zero to read in one way or the other.
            _ if format.specials() == Specials::E8m0 => oracle::Subnormals::Gradual,
            Subnormals::Gradual => oracle::Subnormals::Gradual,
            Subnormals::Tesla => oracle::Subnormals::Tesla,
            Subnormals::Flush => oracle::Subnormals::Flush,
            Subnormals::None => oracle::Subnormals::None,
            other => panic!("no oracle for {other:?}"),
        },
    }
}

/// What the oracle says of a format that it knows by name, from published parameters and not from
/// the core's.
pub fn oracle_by_name(name: &str) -> Option<oracle::OracleFormat> {
    use oracle::formats as known;
    Some(match name {
        "cfloat8_1_4_3" => known::cfloat8_1_4_3(7),
        "cfloat8_1_5_2" => known::cfloat8_1_5_2(15),
        "shp" => known::shp(15),
        "uhp" => known::UHP,
        "binary16" => known::BINARY16,
        "bfloat16" => known::BFLOAT16,
        "tf32" => known::TF32,
        "fp24" => known::FP24,
        "binary32" => known::BINARY32,
        "binary64" => known::BINARY64,
        "e4m3fn" => known::E4M3FN,
        "e4m3fnuz" => known::E4M3FNUZ,
        "e4m3b11fnuz" => known::E4M3B11FNUZ,
        "e5m2" => known::E5M2,
        "e5m2fnuz" => known::E5M2FNUZ,
        "e4m3" => known::E4M3,
        "e3m4" => known::E3M4,
        "e3m2fn" => known::E3M2FN,
        "e2m3fn" => known::E2M3FN,
        "e2m1fn" => known::E2M1FN,
        "e8m0fnu" => known::E8M0FNU,
        "e3m0fn" => known::E3M0FN,
        "ue4m3" => known::UE4M3,
        "ue5m3" => known::UE5M3,
        _ => return None,
    })
}

/// Returns the rounding mode in the oracle, random bits included.
///
/// # Panics
/// For a mode that this crate does not know yet.
pub fn oracle_rounding(rounding: Rounding) -> oracle::Rounding {
    let (n, r) = rounding.random_bits().map_or((0, 0), |bits| (bits.count(), bits.word()));
    match rounding {
        Rounding::NearestEven => oracle::Rounding::NearestEven,
        Rounding::NearestAway => oracle::Rounding::NearestAway,
        Rounding::TowardPositive => oracle::Rounding::TowardPositive,
        Rounding::TowardNegative => oracle::Rounding::TowardNegative,
        Rounding::TowardZero => oracle::Rounding::TowardZero,
        Rounding::ToOdd => oracle::Rounding::ToOdd,
        Rounding::StochasticA(_) => oracle::Rounding::StochasticA { n, r },
        Rounding::StochasticB(_) => oracle::Rounding::StochasticB { n, r },
        Rounding::StochasticC(_) => oracle::Rounding::StochasticC { n, r },
        other => panic!("no oracle for {other:?}"),
    }
}

/// Returns the policy in the oracle, part by part.
///
/// # Panics
/// For a saturation mode that this crate does not know yet.
pub fn oracle_policy(projection: &Projection) -> oracle::Policy {
    let rules = projection.unrepresentable;
    oracle::Policy {
        rounding: oracle_rounding(projection.rounding),
        saturation: match projection.saturation {
            Saturation::SatFinite => oracle::Saturation::SatFinite,
            Saturation::SatPropagate => oracle::Saturation::SatPropagate,
            Saturation::SatNone => oracle::Saturation::SatNone,
            Saturation::SatNoneV40 => oracle::Saturation::SatNoneV40,
            other => panic!("no oracle for {other:?}"),
        },
        nan: match rules.nan {
            NanRule::Quiet => oracle::NanCode::Canonical,
            NanRule::QuietSigned => oracle::NanCode::SignedQuiet,
            NanRule::AllOnes => oracle::NanCode::AllOnes,
            other => panic!("no oracle for {other:?}"),
        },
        no_nan: match rules.missing_nan {
            MissingNan::Max => oracle::NoNanRule::Max,
            MissingNan::SignMax => oracle::NoNanRule::SignMax,
            MissingNan::Zero => oracle::NoNanRule::Zero,
            MissingNan::OppositeZero => oracle::NoNanRule::MlDtypes,
            other => panic!("no oracle for {other:?}"),
        },
        negative: match rules.negative {
            NegativeRule::BySaturation => oracle::NegativeRule::BySaturation,
            NegativeRule::Nan => oracle::NegativeRule::Nan,
            NegativeRule::Zero => oracle::NegativeRule::Zero,
            NegativeRule::Magnitude => oracle::NegativeRule::Magnitude,
            other => panic!("no oracle for {other:?}"),
        },
        zero: match rules.missing_zero {
            MissingZero::Nan => oracle::ZeroRule::Nan,
            MissingZero::Min => oracle::ZeroRule::Min,
            other => panic!("no oracle for {other:?}"),
        },
        negative_zero: match rules.negative_zero {
            NegativeZero::Keep => oracle::NegativeZero::Keep,
            NegativeZero::Positive => oracle::NegativeZero::Zero,
        },
    }
}

/// The oracle's flags as the core's.
pub fn core_flags(flags: oracle::Flags) -> Flags {
    static SETS: LazyLock<[Flags; 256]> = LazyLock::new(|| {
        std::array::from_fn(|bits| translated(oracle::Flags(u8::try_from(bits).expect("eight bits"))))
    });
    SETS[usize::from(flags.0)]
}

fn translated(flags: oracle::Flags) -> Flags {
    [
        (oracle::Flags::INVALID, Flags::INVALID),
        (oracle::Flags::DENORMAL, Flags::DENORMAL),
        (oracle::Flags::OVERFLOW, Flags::OVERFLOW),
        (oracle::Flags::UNDERFLOW, Flags::UNDERFLOW),
        (oracle::Flags::INEXACT, Flags::INEXACT),
        (oracle::Flags::DIVIDE_BY_ZERO, Flags::DIVISION_BY_ZERO),
    ]
    .into_iter()
    .filter(|&(theirs, _)| flags.contains(theirs))
    .fold(Flags::NONE, |all, (_, ours)| all | ours)
}

/// A core number in the oracle's words. What `sticky` stands for is taken as `2^-below` of the last
/// place.
///
/// # Panics
/// For a sum that cancelled, whose zero has no sign yet.
pub fn oracle_exact(x: Exact, below: i64) -> oracle::Exact {
    match x {
        Exact::Nan { negative } => oracle::Exact::Nan { negative },
        Exact::Infinite { negative } => oracle::Exact::Inf { negative },
        // The oracle decides the sign of a difference of zero in its `add`, where it knows the
        // rounding mode.
        Exact::Cancelled => panic!("a cancelled sum belongs to arithmetic"),
        Exact::Finite { negative, significand, exponent, sticky } => {
            let cut = oracle::Dyadic::new(i32::from(sticky), i64::from(exponent) - below);
            let magnitude = &oracle::Dyadic::new(significand, exponent.into()) + &cut;
            oracle::Exact::Finite {
                negative,
                magnitude: oracle::Real::Rational(oracle::Rational::from(&magnitude)),
            }
        }
    }
}

/// An oracle number as a core number.
///
/// # Panics
/// If the number has more than 128 bits or an exponent beyond `i32`.
pub fn core_exact(x: &oracle::Dyadic) -> Exact {
    let significand = x.mantissa().magnitude().try_into().expect("at most 128 bits");
    let exponent = i32::try_from(x.exponent()).expect("a moderate exponent");
    Exact::finite(x.is_negative(), significand, exponent)
}

/// Returns whether a datum equals an oracle value, signs of zeros and NaNs included.
pub fn same_value(datum: Datum, value: &oracle::Value) -> bool {
    match (datum, value) {
        (Datum::Nan { negative: a }, oracle::Value::Nan { negative: b })
        | (Datum::Infinite { negative: a }, oracle::Value::Inf { negative: b }) => a == *b,
        (Datum::Finite { negative, significand, exponent }, oracle::Value::Finite(x, negative_zero)) => {
            u64::try_from(x.mantissa().magnitude()) == Ok(significand)
                && x.exponent() == i64::from(exponent)
                && negative == (x.is_negative() || *negative_zero)
        }
        _ => false,
    }
}

/// Every format of the catalogue that is at most `width` bits wide.
pub fn catalogue(width: u32) -> Vec<Format> {
    formats::CATALOGUE.iter().map(|row| row.format).filter(|f| f.width() <= width).collect()
}

/// Tesla's configurable formats with these biases, in both readings of the denormal formula.
///
/// # Panics
/// If a bias is outside 0..=63.
pub fn tesla(biases: impl IntoIterator<Item = i32>) -> Vec<Format> {
    let constructors = [Format::cfloat8_1_4_3, Format::cfloat8_1_5_2, Format::shp];
    let mut list = Vec::new();
    for bias in biases {
        for constructor in constructors {
            let format = constructor(bias).expect("a legal bias");
            list.push(format);
            list.push(format.with_subnormals(Subnormals::Gradual).expect("both readings are legal"));
        }
    }
    list
}

/// All formats of the P3109 draft with widths K in a range.
///
/// # Panics
/// If a width is outside 3..=16, those with every P.
pub fn p3109(widths: std::ops::RangeInclusive<u32>) -> Vec<Format> {
    let mut list = Vec::new();
    for k in widths {
        for (signedness, widest) in [(Signedness::Signed, k - 1), (Signedness::Unsigned, k)] {
            for p in 1..=widest {
                for domain in [Domain::Finite, Domain::Extended] {
                    list.push(Format::p3109(k, p, signedness, domain).expect("a legal format"));
                }
            }
        }
    }
    list
}

/// Formats of 17 to 32 bits: the narrowest and the widest, few and many exponent bits, every kind
/// of special code and every reading of the subnormal ones.
///
/// # Panics
/// Never: a test parses every name.
pub fn wide() -> Vec<Format> {
    const NAMES: [&str; 25] = [
        "tf32",
        "fp24",
        "ieee:k=17,p=6",
        "ieee:k=24,p=16",
        "ieee:k=32,p=21",
        "ieee:k=32,p=30",
        "binary17p6se",
        "binary17p17uf",
        "binary20p10ue",
        "binary24p17sf",
        "binary32p21se",
        "binary32p21sf",
        "binary32p22ue",
        "binary32p31se",
        "binary32p32ue",
        "binary32p32uf",
        "minifloat:k=32,p=24,bias=127,specials=finite,subnormals=tesla",
        "minifloat:k=32,p=24,bias=127,specials=nan-allones,subnormals=none",
        "minifloat:k=32,p=22,bias=-700,specials=nan-negzero",
        "minifloat:k=31,p=31,bias=5,signed=false,specials=finite",
        "minifloat:k=24,p=16,bias=63,signed=false,specials=ieee,subnormals=flush",
        "minifloat:k=19,p=11,bias=127,specials=p3109-extended,subnormals=flush",
        "minifloat:k=18,p=18,bias=3,signed=false,specials=p3109-finite,subnormals=none",
        "minifloat:k=27,p=17,bias=30000,signed=false,specials=nan-allones,subnormals=tesla",
        "minifloat:k=32,p=22,bias=-32768,specials=ieee,subnormals=none",
    ];
    NAMES.iter().map(|name| name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

/// Every legal minifloat of a width, for these biases.
pub fn minifloats(width: u32, biases: &[i32]) -> Vec<Format> {
    let mut list = Vec::new();
    for precision in 1..=width {
        for signedness in [Signedness::Signed, Signedness::Unsigned] {
            for &(_, specials) in Specials::NAMED {
                for &(_, subnormals) in Subnormals::NAMED {
                    for &bias in biases {
                        let parameters =
                            Parameters { width, precision, bias, signedness, specials, subnormals };
                        list.extend(Format::minifloat(parameters));
                    }
                }
            }
        }
    }
    list
}

/// Returns whether this is the run that sweeps more than the gate has time for
/// (`SMALLFLOAT_EXTENSIVE=1`).
pub fn extensive() -> bool {
    std::env::var("SMALLFLOAT_EXTENSIVE").is_ok_and(|v| v == "1")
}

/// Tells what a test has compared, how much and in how many seconds, after the caller's file below
/// `tests/all/`; `verification/extensive` makes rows of evidence of such lines.
#[track_caller]
pub fn tell(what: &str, compared: u64, start: Instant) {
    let file = Location::caller().file();
    let test = file.rsplit("tests/all/").next().unwrap_or(file).trim_end_matches(".rs");
    println!("{test}: {what}: {compared} compared, {:.1} s", start.elapsed().as_secs_f64());
}

/// Reproducible random numbers for tests (splitmix64).
#[derive(Clone, Debug)]
pub struct Scramble(pub u64);

impl Scramble {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// One of a list.
    ///
    /// # Panics
    /// For an empty list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).expect("below a length")]
    }

    /// Random bits for a stochastic rounding.
    ///
    /// # Panics
    /// If the count is outside 1..=60.
    pub fn random_bits(&mut self, count: u32) -> RandomBits {
        RandomBits::new(count, self.bits() >> (64 - count)).expect("a legal count")
    }
}

/// Runs a check over many cases on all cores and panics with the number of mismatches and the first
/// of them.
///
/// A check returns how many things it compared and the mismatches it found. Returns the total
/// compared.
///
/// # Panics
/// If anything differs.
#[track_caller]
pub fn check_all<T: Sync>(
    what: &str,
    cases: &[T],
    check: impl Fn(&T) -> (u64, Vec<String>) + Sync + Send,
) -> u64 {
    const SHOWN: usize = 12;
    let start = Instant::now();
    let results: Vec<_> = cases.par_iter().map(check).collect();
    let compared = results.iter().map(|(n, _)| n).sum();
    let wrong: Vec<&String> = results.iter().flat_map(|(_, wrong)| wrong).collect();
    tell(&format!("{what}, {} cases", cases.len()), compared, start);
    let shown: Vec<String> = wrong.iter().take(SHOWN).map(|line| format!("  {line}")).collect();
    assert!(
        wrong.is_empty(),
        "{what}: {} mismatches (of {compared}), the first:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    compared
}

/// README's Rust example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
