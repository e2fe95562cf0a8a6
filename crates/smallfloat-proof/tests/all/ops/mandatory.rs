//! The 549 specializations that the P3109 draft demands of an implementation against binary64
//! hardware arithmetic rounded to odd.
//!
//! The list (D1, section "Conformance", 4.5) is made here from the draft's table for all three
//! external formats, each must be supplied under its own name, and its results must be those of
//! `smallfloat_oracle::hardware`.
//!
//! Operand spaces of up to 2^24 tuples are exhausted; of larger ones special values, every
//! alignment, cancellation, ties, and random tuples are drawn. `SMALLFLOAT_EXTENSIVE=1` takes all
//! of the former (a sixteenth by default above 2^20) and 2^20 tuples of each of the latter (2^17 by
//! default).

#![expect(clippy::float_cmp, reason = "comparisons of codes are exact")]

use rayon::prelude::*;
use smallfloat::Rounded;
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32};
use smallfloat::p3109::{Answer, Specialization, mandatory_minimum};
use smallfloat_oracle::hardware::{Hardware, product, reciprocal, sum};
use smallfloat_oracle::selection::Extremum;
use smallfloat_oracle::{Exact, OracleFormat, formats as known};
use smallfloat_proof::{Scramble, extensive, tell};

const PROJECTION: &str = "(NearestTiesToEven, SatNone)";
const SCALE: usize = 0;
const F4: [usize; 1] = [1];
const F8: [usize; 2] = [2, 3];
const FX: [usize; 3] = [4, 5, 6];
const SMALL: [usize; 3] = [1, 2, 3];
const RESULTS: [usize; 5] = [2, 3, 4, 5, 6];
const ALL: [usize; 6] = [1, 2, 3, 4, 5, 6];

struct Sheet {
    name: &'static str,
    format: OracleFormat,
    hardware: Hardware,
}

/// The scale format, F4, F8 and FX in the order of the constants above.
fn sheets() -> Vec<Sheet> {
    [
        ("Binary8p1uf", known::p3109(8, 1, false, false)),
        ("Binary4p2sf", known::p3109(4, 2, true, false)),
        ("Binary8p4se", known::p3109(8, 4, true, true)),
        ("Binary8p3se", known::p3109(8, 3, true, true)),
        ("binary32", known::BINARY32),
        ("binary16", known::BINARY16),
        ("BFloat16", known::BFLOAT16),
    ]
    .into_iter()
    .map(|(name, format)| Sheet { name, format, hardware: Hardware::new(&format) })
    .collect()
}

type Named<T> = (&'static str, T);
type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;
type Ternary = fn(f64, f64, f64) -> f64;
type Relation = fn(f64, f64) -> bool;
type Trait = fn(f64, &OracleFormat) -> bool;
type Question = fn(&OracleFormat) -> Property;

/// What a specialization computes, on the numbers of its operands.
#[derive(Clone, Copy)]
enum Law {
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    /// s₁·x₁ with s₂·x₂.
    Scaled(Binary),
    Extremum(Extremum),
    Compare(Relation),
    Predicate(Trait),
    Next {
        up: bool,
    },
    Query(Question),
}

enum Property {
    Integer(i64),
    Word(&'static str),
    Code(u64),
}

struct Case {
    text: String,
    law: Law,
    /// Indices of the operands' sheets.
    operands: Vec<usize>,
    /// Index of the result's.
    result: usize,
}

fn negate(x: f64) -> f64 {
    -x
}

fn difference(x: f64, y: f64) -> f64 {
    sum(x, -y)
}

const EXTREMA: [&str; 10] = [
    "Minimum",
    "Maximum",
    "MinimumNumber",
    "MaximumNumber",
    "MinimumMagnitude",
    "MaximumMagnitude",
    "MinimumMagnitudeNumber",
    "MaximumMagnitudeNumber",
    "MinimumFinite",
    "MaximumFinite",
];

const COMPARISONS: [Named<Relation>; 5] = [
    ("CompareLess", |x, y| x < y),
    ("CompareLessEqual", |x, y| x <= y),
    ("CompareEqual", |x, y| x == y),
    ("CompareGreater", |x, y| x > y),
    ("CompareGreaterEqual", |x, y| x >= y),
];

fn is_normal(x: f64, format: &OracleFormat) -> bool {
    let bias = i32::try_from(format.bias).expect("a small bias");
    x.is_finite() && x != 0.0 && x.abs() >= f64::from(1 - bias).exp2()
}

const PREDICATES: [Named<Trait>; 8] = [
    ("IsZero", |x, _| x == 0.0),
    ("IsOne", |x, _| x == 1.0),
    ("IsNaN", |x, _| x.is_nan()),
    ("IsInfinite", |x, _| x.is_infinite()),
    ("IsFinite", |x, _| x.is_finite()),
    ("IsSignMinus", |x, _| x < 0.0),
    ("IsNormal", is_normal),
    ("IsSubnormal", |x, format| x.is_finite() && x != 0.0 && !is_normal(x, format)),
];

fn is_external(f: &OracleFormat) -> bool {
    f.specials == smallfloat_oracle::Specials::Ieee
}

/// The code of the largest finite number, by the draft's tables of code points.
fn max_finite(f: &OracleFormat) -> u64 {
    let half = 1_u64 << (f.k - 1);
    match f.specials {
        // Below the infinity, whose exponent field is ones.
        smallfloat_oracle::Specials::Ieee => half - (1 << (f.p - 1)) - 1,
        smallfloat_oracle::Specials::P3109Extended => half - 2,
        _ => half - 1,
    }
}

const QUERIES: [Named<Question>; 12] = [
    ("BitwidthOf", |f| Property::Integer(f.k.into())),
    ("PrecisionOf", |f| Property::Integer(f.p.into())),
    ("SignednessOf", |_| Property::Word("Signed")),
    ("DomainOf", |f| {
        Property::Word(if f.specials == smallfloat_oracle::Specials::P3109Finite {
            "Finite"
        } else {
            "Extended"
        })
    }),
    ("ExponentBitwidthOf", |f| Property::Integer((f.k - f.p).into())),
    ("TrailingSignificandBitwidthOf", |f| Property::Integer((f.p - 1).into())),
    // P3109's own formats: 2^(K−P−1); IEEE 754's: one less.
    ("ExponentBiasOf", |f| Property::Integer((1_i64 << (f.k - f.p - 1)) - i64::from(is_external(f)))),
    ("MaxFiniteOf", |f| Property::Code(max_finite(f))),
    ("MinFiniteOf", |f| Property::Code(max_finite(f) | 1 << (f.k - 1))),
    ("MinPositiveOf", |_| Property::Code(1)),
    ("MaxSubnormalOf", |f| Property::Code((1 << (f.p - 1)) - 1)),
    ("MinNormalOf", |f| Property::Code(1 << (f.p - 1))),
];

/// The draft's list.
fn minimum(sheets: &[Sheet]) -> Vec<Case> {
    let mut list = Vec::new();
    let name = |i: usize| sheets[i].name;
    let mut add = |operation: &str, law, operands: &[usize], formats: String, result: Option<usize>| {
        let external = operands.iter().chain(&result).all(|i| FX.contains(i));
        let text = match result {
            // Among IEEE 754's formats alone the other semantics are the default
            // (`docs/semantics.md` S1).
            Some(to) if external => {
                format!("{operation}<{formats}, {}, {PROJECTION}, semantics=p3109>", name(to))
            }
            Some(to) => format!("{operation}<{formats}, {}, {PROJECTION}>", name(to)),
            None => format!("{operation}<{formats}>"),
        };
        list.push(Case { text, law, operands: operands.to_vec(), result: result.unwrap_or(operands[0]) });
    };
    let plain = |operands: &[usize]| operands.iter().map(|&i| name(i)).collect::<Vec<_>>().join(", ");
    let unary: [Named<Unary>; 2] = [("Convert", |x| x), ("Recip", reciprocal)];
    for (operation, law) in unary {
        for from in ALL {
            for to in ALL {
                add(operation, Law::Unary(law), &[from], plain(&[from]), Some(to));
            }
        }
    }
    let binary: [Named<Binary>; 3] = [("Add", sum), ("Subtract", difference), ("Multiply", product)];
    let ternary: [Named<Ternary>; 2] =
        [("FMA", |x, y, z| sum(product(x, y), z)), ("FAA", |x, y, z| sum(x + y, z))];
    for f in SMALL {
        let unary: [Named<Unary>; 2] = [("Negate", negate), ("Abs", f64::abs)];
        for (operation, law) in unary {
            add(operation, Law::Unary(law), &[f], plain(&[f]), Some(f));
        }
        for operation in EXTREMA {
            let law = operation.parse().expect("a name of the ten");
            add(operation, Law::Extremum(law), &[f, f], plain(&[f, f]), Some(f));
        }
        for (operation, law) in COMPARISONS {
            add(operation, Law::Compare(law), &[f, f], plain(&[f, f]), None);
        }
        for (operation, law) in PREDICATES {
            add(operation, Law::Predicate(law), &[f], plain(&[f]), None);
        }
        for (operation, up) in [("NextGreaterThan", true), ("NextLessThan", false)] {
            add(operation, Law::Next { up }, &[f], plain(&[f]), None);
        }
        for g in SMALL {
            for to in RESULTS {
                for (operation, law) in binary {
                    add(operation, Law::Binary(law), &[f, g], plain(&[f, g]), Some(to));
                    let (scale, scaled) = (name(SCALE), format!("Scaled{operation}"));
                    let formats = format!("({scale}, {}), ({scale}, {})", name(f), name(g));
                    add(&scaled, Law::Scaled(law), &[SCALE, f, SCALE, g], formats, Some(to));
                }
            }
            for to in FX {
                for (operation, law) in ternary {
                    add(operation, Law::Ternary(law), &[f, g, to], plain(&[f, g, to]), Some(to));
                }
            }
        }
    }
    for f in ALL {
        for (operation, law) in QUERIES {
            add(operation, Law::Query(law), &[f], plain(&[f]), None);
        }
    }
    list
}

#[test]
fn the_list_has_549_specializations_and_each_is_supplied() {
    let sheets = sheets();
    assert_eq!([&F4[..], &F8].concat(), SMALL);
    assert_eq!([&F8[..], &FX].concat(), RESULTS);
    let list = minimum(&sheets);
    let mut names: Vec<&str> = list.iter().map(|case| case.text.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 549);
    let missing: Vec<String> = names
        .iter()
        .filter_map(|name| name.parse::<Specialization>().err().map(|error| format!("{name}: {error}")))
        .collect();
    assert!(missing.is_empty(), "{} of 549 are not supplied:\n{}", missing.len(), missing.join("\n"));
}

/// The library's own list is the same.
#[test]
fn the_library_s_list() {
    let own = mandatory_minimum(&[BINARY32, BINARY16, BFLOAT16]).expect("the three external formats");
    let mut own: Vec<String> = own.iter().map(Specialization::to_string).collect();
    let mut list: Vec<String> = minimum(&sheets())
        .iter()
        .map(|case| {
            case.text.parse::<Specialization>().unwrap_or_else(|error| panic!("{}: {error}", case.text))
        })
        .map(|call| call.to_string())
        .collect();
    own.sort_unstable();
    list.sort_unstable();
    assert_eq!(own, list);
}

/// The twelve queries of each of the six formats.
#[test]
fn queries() {
    let sheets = sheets();
    let list = minimum(&sheets);
    let mut count = 0;
    for case in &list {
        let Law::Query(law) = case.law else { continue };
        let call: Specialization = case.text.parse().unwrap_or_else(|error| panic!("{}: {error}", case.text));
        let got = match call.call(&[]).unwrap_or_else(|error| panic!("{}: {error}", case.text)) {
            Answer::Property(found) => found.to_string(),
            Answer::Code(code) => format!("{:#x}", code.value),
            other => panic!("{}: {other:?}", case.text),
        };
        let expected = match law(&sheets[case.operands[0]].format) {
            Property::Integer(n) => n.to_string(),
            Property::Word(word) => word.to_string(),
            Property::Code(code) => format!("{code:#x}"),
        };
        assert_eq!(got, expected, "{}", case.text);
        count += 1;
    }
    assert_eq!(count, 72);
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Expected {
    Code(u64),
    Truth(bool),
}

impl Case {
    fn bits(&self, sheets: &[Sheet]) -> u32 {
        self.operands.iter().map(|&i| sheets[i].format.k).sum()
    }

    /// The codes of a tuple by its number, the first operand in the highest bits.
    fn tuple(&self, sheets: &[Sheet], mut index: u64) -> [u64; 4] {
        let mut codes = [0; 4];
        for (code, &i) in codes.iter_mut().zip(&self.operands).rev() {
            let k = sheets[i].format.k;
            *code = index & ((1 << k) - 1);
            index >>= k;
        }
        codes
    }

    fn expected(&self, sheets: &[Sheet], codes: &[u64]) -> Expected {
        let at = |i: usize| sheets[self.operands[i]].hardware.value(codes[i]);
        let (to, f) = (&sheets[self.result].hardware, &sheets[self.operands[0]].format);
        Expected::Code(match self.law {
            Law::Unary(law) => to.nearest(law(at(0))),
            Law::Binary(law) => to.nearest(law(at(0), at(1))),
            Law::Ternary(law) => to.nearest(law(at(0), at(1), at(2))),
            Law::Scaled(law) => to.nearest(law(product(at(0), at(1)), product(at(2), at(3)))),
            Law::Extremum(which) => {
                let (x, y) = (Exact::from_f64(at(0)), Exact::from_f64(at(1)));
                let second = std::ptr::eq(which.choose(&x, &y), &raw const y);
                to.nearest(at(usize::from(second)))
            }
            Law::Compare(law) => return Expected::Truth(law(at(0), at(1))),
            Law::Predicate(law) => return Expected::Truth(law(at(0), f)),
            Law::Next { up } => next(&sheets[self.operands[0]], codes[0], up),
            Law::Query(_) => unreachable!("queries take no operands"),
        })
    }

    /// Checks one tuple.
    fn check(&self, sheets: &[Sheet], call: &Specialization, codes: &[u64; 4]) -> Option<String> {
        let codes = &codes[..self.operands.len()];
        let expected = self.expected(sheets, codes);
        let got = match call.call(codes) {
            Ok(Answer::Code(Rounded { value, .. })) => Ok(Expected::Code(value)),
            Ok(Answer::Truth(Rounded { value, .. })) => Ok(Expected::Truth(value)),
            other => Err(format!("{other:?}")),
        };
        (got != Ok(expected))
            .then(|| format!("{}({codes:x?}): got {got:x?}, expected {expected:x?}", self.text))
    }
}

/// The neighbour by looking through all numbers of the format; NaN where there is none.
fn next(sheet: &Sheet, code: u64, up: bool) -> u64 {
    let x = sheet.hardware.value(code);
    let nan = sheet.format.nan_code().expect("P3109's formats have a NaN");
    let farther = |y: f64| if up { y > x } else { y < x };
    (0..sheet.format.code_count())
        .map(|c| (c, sheet.hardware.value(c)))
        .filter(|&(_, y)| farther(y))
        .min_by(|a, b| if up { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) })
        .map_or(nan, |(c, _)| c)
}

/// Checks numbered tuples of a case, in parallel.
fn sweep(
    case: &Case,
    sheets: &[Sheet],
    count: u64,
    tuple: impl Fn(u64) -> [u64; 4] + Sync,
) -> (u64, Vec<String>) {
    let call: Specialization = case.text.parse().unwrap_or_else(|error| panic!("{}: {error}", case.text));
    let wrong: Vec<String> =
        (0..count).into_par_iter().filter_map(|i| case.check(sheets, &call, &tuple(i))).collect();
    (count, wrong)
}

fn report(what: &str, cases: usize, start: std::time::Instant, results: Vec<(u64, Vec<String>)>) {
    let compared: u64 = results.iter().map(|r| r.0).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.1).collect();
    tell(&format!("{what}, {cases} specializations"), compared, start);
    let shown: Vec<&str> = wrong.iter().step_by(1 + wrong.len() / 24).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{what}: {} differ:\n{}", wrong.len(), shown.join("\n"));
}

fn is_query(case: &Case) -> bool {
    matches!(case.law, Law::Query(_))
}

#[test]
fn exhausted_up_to_24_bits() {
    let (sheets, start) = (sheets(), std::time::Instant::now());
    let list = minimum(&sheets);
    let taken: Vec<&Case> = list.iter().filter(|c| !is_query(c) && c.bits(&sheets) <= 24).collect();
    let mut left = 0;
    let results = taken
        .iter()
        .map(|case| {
            let bits = case.bits(&sheets);
            // An odd stride meets every code of every operand.
            let stride = if bits > 20 && !extensive() { 17 } else { 1 };
            left += usize::from(stride > 1);
            sweep(case, &sheets, (1_u64 << bits).div_ceil(stride), |i| case.tuple(&sheets, i * stride))
        })
        .collect();
    if left > 0 {
        println!(
            "LEFT OUT: 16 of 17 tuples of {left} specializations; SMALLFLOAT_EXTENSIVE=1 takes all 2^24"
        );
    }
    report("up to 24 bits", taken.len(), start, results);
}

/// A sign and exponent field with a significand of few ones, or with few zeros, or any.
fn pattern(random: &mut Scramble, f: &OracleFormat, field: i64) -> u64 {
    let ones = (1_i64 << (f.k - f.p)) - 1;
    let trailing = (1_u64 << (f.p - 1)) - 1;
    let t = match random.below(6) {
        0 => 0,
        1 => 1,
        2 => trailing,
        3 => trailing - 1,
        4 => 1 << random.below(u64::from(f.p - 1)),
        _ => random.bits() & trailing,
    };
    (random.below(2) << (f.k - 1)) | field.clamp(0, ones).cast_unsigned() << (f.p - 1) | t
}

/// The exponent of the leading bit; 0 for what has none.
fn exponent(x: f64) -> i64 {
    if x == 0.0 || !x.is_finite() { 0 } else { (x.abs().to_bits() >> 52).cast_signed() - 1023 }
}

/// Zeros, infinities, NaNs, ones, and the ends of the subnormals and of the range, of an external
/// format.
fn corner(random: &mut Scramble, f: &OracleFormat) -> u64 {
    let hidden = 1_u64 << (f.p - 1);
    let infinity = f.inf_code(false).expect("an external format");
    let corners = [
        0,
        1,
        hidden - 1,
        hidden,
        infinity / 2 + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        2 * infinity - hidden,
    ];
    let any = random.bits() & (hidden - 1);
    let code = [random.pick(&corners), infinity | any][usize::from(random.below(8) == 0)];
    code & f.magnitude_mask() | random.below(2) << (f.k - 1)
}

/// An addend in the result's format: every pair of the other operands, in turn with an addend that
/// is special, cancels, stands at any alignment, or is random.
fn ternary(case: &Case, sheets: &[Sheet], index: u64) -> [u64; 4] {
    let [x, y, z] = [0, 1, 2].map(|i| &sheets[case.operands[i]]);
    let (pairs, mut random) = (x.format.k + y.format.k, Scramble(index));
    let (a, b) = (index & ((1 << x.format.k) - 1), index >> x.format.k & ((1 << y.format.k) - 1));
    let (p, f) = (x.hardware.value(a), &z.format);
    let q = y.hardware.value(b);
    let partner = if case.text.starts_with("FMA") { p * q } else { p + q };
    let turn = index >> pairs;
    let addend = match (index + turn) % 8 {
        0 => corner(&mut random, f),
        1 => {
            let near = z.hardware.nearest(-partner);
            near.wrapping_add(random.below(5)).wrapping_sub(2) & (f.magnitude_mask() | f.sign_bit())
        }
        2..7 => {
            // From far above the partner to far below it.
            let reach = i64::from(f.p) + 14;
            let offset = random.below(2 * reach.cast_unsigned() + 1).cast_signed() - reach;
            pattern(&mut random, f, exponent(partner) + offset + f.bias)
        }
        _ => random.bits() & (f.magnitude_mask() | f.sign_bit()),
    };
    [a, b, addend, 0]
}

/// Scales for every pair of elements: special, or such that the terms meet at any alignment and the
/// result lies about the range of its format.
fn scaled(case: &Case, sheets: &[Sheet], index: u64) -> [u64; 4] {
    let (x, y) = (&sheets[case.operands[1]], &sheets[case.operands[3]]);
    let mut random = Scramble(index ^ 1 << 60);
    let (a, b) = (index & ((1 << x.format.k) - 1), index >> x.format.k & ((1 << y.format.k) - 1));
    let (e, g) = (exponent(x.hardware.value(a)), exponent(y.hardware.value(b)));
    let to = &sheets[case.result].format;
    // Binary8p1uf: code c is 2^(c − 128), 0 is zero and 255 is NaN.
    let reach = (1_u64 << (to.k - to.p - 1)) + u64::from(to.p) + 4;
    let target = random.below(2 * reach).cast_signed() - reach.cast_signed();
    let scale = |e: i64| (e + 128).clamp(1, 254).cast_unsigned();
    let turn = index >> (x.format.k + y.format.k);
    let (s, t) = match (index + turn) % 8 {
        0 => {
            let corners = [0, 1, 127, 128, 129, 254, 255];
            (random.pick(&corners), random.pick(&corners))
        }
        1 => (random.below(256), random.below(256)),
        kind if case.text.starts_with("ScaledMultiply") => {
            let first = random.below(200).cast_signed() - 100;
            (scale(first), scale(target - first - e - g + kind.cast_signed() - 4))
        }
        2 => (scale(target - e), scale(target - g)),
        _ => {
            let offset = random.below(65).cast_signed() - 32;
            (scale(target - e), scale(target - g + offset))
        }
    };
    [s, a, t, b]
}

/// Operands of binary32 at and beside every place where the result changes, special ones, and
/// random ones.
fn unary32(case: &Case, sheets: &[Sheet]) -> Vec<u64> {
    let to = &sheets[case.result].format;
    let f = &sheets[case.operands[0]].format;
    let hardware = &sheets[case.result].hardware;
    let mut random = Scramble(549);
    let mut list: Vec<u64> = (0..512).map(|_| corner(&mut random, f)).collect();
    if to.k <= 16 {
        let mut points: Vec<f64> =
            (0..1_u64 << (to.k - 1)).map(|c| hardware.value(c)).filter(|x| x.is_finite()).collect();
        points.sort_by(f64::total_cmp);
        let middles: Vec<f64> = points.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        for x in points.into_iter().chain(middles) {
            let x = if case.text.starts_with("Recip") { 1.0 / x } else { x };
            #[expect(clippy::cast_possible_truncation, reason = "only a place to look around")]
            let code = u64::from((x as f32).to_bits());
            for near in code.saturating_sub(3)..=code + 3 {
                list.extend([near & f.magnitude_mask(), near & f.magnitude_mask() | f.sign_bit()]);
            }
        }
    }
    list
}

#[test]
fn drawn_beyond_24_bits() {
    let (sheets, start) = (sheets(), std::time::Instant::now());
    let list = minimum(&sheets);
    let taken: Vec<&Case> = list.iter().filter(|c| !is_query(c) && c.bits(&sheets) > 24).collect();
    let count = if extensive() { 1 << 20 } else { 1 << 17 };
    println!("LEFT OUT of {} spaces of more than 24 bits: all but {count} tuples each", taken.len());
    let results = taken
        .iter()
        .map(|case| match case.law {
            Law::Ternary(_) => sweep(case, &sheets, count, |i| ternary(case, &sheets, i)),
            Law::Scaled(_) => sweep(case, &sheets, count, |i| scaled(case, &sheets, i)),
            _ => {
                let directed = unary32(case, &sheets);
                let size = directed.len() as u64;
                sweep(case, &sheets, size + count, |i| {
                    let drawn = || Scramble(i).bits() & u64::from(u32::MAX);
                    let code = usize::try_from(i).ok().and_then(|i| directed.get(i).copied());
                    [code.unwrap_or_else(drawn), 0, 0, 0]
                })
            }
        })
        .collect();
    report("beyond 24 bits", taken.len(), start, results);
}
