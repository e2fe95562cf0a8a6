//! From exact results to codes: roots and transcendental operations under every rounding and
//! saturation mode, against the oracle's own rounding of the exact results that `transcendental.rs`
//! holds against MPFR and Arb.
//!
//! Operands: all codes of all P3109 formats of at most 8 bits. Results: into the same format and
//! six others. The deterministic modes with three saturation modes go through `oracle::fast`; the
//! older SatNone and the stochastic modes (all words of 1 to 3 bits, some of 5 to 60) through the
//! slow `Table`, on a sample. `SMALLFLOAT_EXTENSIVE=1` takes a sample 16 times as large.

use std::sync::LazyLock;

use rayon::prelude::*;
use smallfloat::ops::{Operation, Semantics};
use smallfloat::{
    Datum, Exact, Format, NegativeZero, Preset, Projection, RandomBits, Rounding, Saturation, project,
};
use smallfloat_oracle::fast::Grid;
use smallfloat_oracle::{self as oracle, Policy, Table};
use smallfloat_proof::truth::{Course, UNARY, line, stand_in};
use smallfloat_proof::{check_all, extensive, oracle_format, oracle_policy, p3109};

const OTHERS: [&str; 6] =
    ["Binary8p3se", "Binary4p2sf", "Binary8p1uf", "binary16", "e4m3fn", "cfloat8_1_4_3:bias=7"];

fn operation(name: &str) -> Operation {
    name.parse::<Operation>().unwrap_or_else(|_| panic!("no operation {name}"))
}

fn exact(operation: Operation, x: Datum) -> Exact {
    operation.exact([x, Datum::ZERO, Datum::ZERO], Semantics::P3109).exact
}

/// The exact results of the operations over all codes of a format, in the order of `UNARY`.
struct Results {
    format: Format,
    of: Vec<Vec<Exact>>,
}

/// Computed once for all tests.
static RESULTS: LazyLock<Vec<Results>> = LazyLock::new(|| {
    let all = |name: &str, format: &Format| {
        format.codes().map(|code| exact(operation(name), format.decode(code))).collect()
    };
    p3109(3..=8)
        .into_par_iter()
        .map(|format| Results { format, of: UNARY.iter().map(|(name, _)| all(name, &format)).collect() })
        .collect()
});

impl Results {
    fn of(&self, name: &str) -> &[Exact] {
        let index =
            UNARY.iter().position(|&(n, _)| n == name).unwrap_or_else(|| panic!("no results of {name}"));
        &self.of[index]
    }

    /// Operation, code and result.
    fn each(&self) -> impl Iterator<Item = (&'static str, u64, Exact)> {
        UNARY
            .iter()
            .zip(&self.of)
            .flat_map(|(&(name, _), results)| (0..).zip(results).map(move |(code, &x)| (name, code, x)))
    }
}

/// A destination in the core's words and in both of the oracle's.
struct Target {
    format: Format,
    grid: Grid,
    table: Table,
    projection: Projection,
}

impl Target {
    fn new(format: Format) -> Self {
        let described = oracle_format(&format);
        let projection = Preset::P3109SatNone.projection(&format).with_negative_zero(NegativeZero::Positive);
        Self { format, grid: Grid::new(&described), table: Table::new(&described), projection }
    }

    fn policies(&self, roundings: &[Rounding], saturations: &[Saturation]) -> Vec<(Projection, Policy)> {
        let both = |projection: Projection| (projection, oracle_policy(&projection));
        roundings
            .iter()
            .flat_map(|&r| saturations.iter().map(move |&s| (r, s)))
            .map(|(r, s)| both(self.projection.with_rounding(r).with_saturation(s)))
            .collect()
    }
}

/// All words of few bits, and the ends, the middle and the decimals of many.
fn stochastic() -> Vec<Rounding> {
    let mut words: Vec<(u32, u64)> = (1..=3).flat_map(|n| (0..1 << n).map(move |r| (n, r))).collect();
    for n in [5, 8, 12, 32, 60] {
        let last = (1_u64 << n) - 1;
        words.extend([(n, 0), (n, last), (n, last / 2), (n, last / 2 + 1), (n, last / 10 * 3)]);
    }
    let modes = [Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC];
    words
        .into_iter()
        .map(|(n, r)| RandomBits::new(n, r).expect("legal"))
        .flat_map(|bits| modes.map(|mode| mode(bits)))
        .collect()
}

fn differs(
    what: impl FnOnce() -> String,
    x: &str,
    to: &Target,
    projection: &Projection,
    expected: u64,
    got: u64,
) -> Option<String> {
    (expected != got).then(|| {
        format!(
            "{} = {x} -> {} ({:?}, {:?}): got {got:x}, expected {expected:x}",
            what(),
            to.format,
            projection.rounding,
            projection.saturation
        )
    })
}

#[test]
fn deterministic_modes_of_every_result() {
    let others: Vec<Target> = OTHERS.map(|name| Target::new(name.parse().expect("a format"))).into();
    let saturations = [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone];
    check_all("deterministic modes", &RESULTS, |all| {
        let format = &all.format;
        let own = Target::new(*format);
        let targets: Vec<_> = others
            .iter()
            .chain([&own])
            .map(|target| (target, target.policies(Rounding::DETERMINISTIC, &saturations)))
            .collect();
        let (mut count, mut wrong) = (0, Vec::new());
        for (name, code, result) in all.each() {
            let text = line(result);
            let expected = stand_in(&text);
            for (target, policies) in &targets {
                let spot = target.grid.locate_exact(&expected);
                count += policies.len() as u64;
                wrong.extend(policies.iter().filter_map(|(projection, policy)| {
                    let (code_expected, _) = target.grid.project(spot, policy);
                    let got = project(result, &target.format, projection).value;
                    let what = || format!("{name} {format} {code:x}");
                    differs(what, &text, target, projection, code_expected, got)
                }));
            }
        }
        (count, wrong)
    });
}

#[test]
fn stochastic_modes_and_the_older_saturation() {
    const SAMPLE: u64 = 1021;
    let sample = if extensive() { SAMPLE / 16 } else { SAMPLE };
    println!("LEFT OUT: {} of {sample} results", sample - 1);
    let others: Vec<Target> = OTHERS.map(|name| Target::new(name.parse().expect("a format"))).into();
    let roundings: Vec<Rounding> = Rounding::DETERMINISTIC.iter().copied().chain(stochastic()).collect();
    check_all("all modes", &RESULTS, |all| {
        let format = &all.format;
        let own = Target::new(*format);
        let (mut count, mut wrong) = (0, Vec::new());
        // Each format, operation and code has its own place in the sequence from which every so
        // many is taken.
        let start: u64 = format.to_string().bytes().map(u64::from).fold(0, |all, byte| all * 31 + byte);
        for (index, (name, code, result)) in (0..).zip(all.each()) {
            if !start.wrapping_add(index).is_multiple_of(sample) {
                continue;
            }
            let text = line(result);
            let expected = stand_in(&text);
            for target in others.iter().chain([&own]) {
                for (projection, policy) in target.policies(&roundings, Saturation::ALL) {
                    count += 1;
                    let (code_expected, _) = target.table.round(&expected, &policy);
                    let got = project(result, &target.format, &projection).value;
                    let what = || format!("{name} {format} {code:x}");
                    wrong.extend(differs(what, &text, target, &projection, code_expected, got));
                }
            }
        }
        (count, wrong)
    });
}

/// Codes of a format in ascending order of their data, without NaN.
fn ascending(format: &Format) -> Vec<usize> {
    let datum = |code: usize| format.decode(code as u64);
    let mut codes: Vec<usize> = (0..1 << format.width()).filter(|&code| !datum(code).is_nan()).collect();
    codes.sort_by(|&a, &b| datum(a).compare(&datum(b)).expect("no NaN"));
    codes
}

#[test]
fn monotone_after_every_rounding() {
    let word = RandomBits::new(8, 77).expect("legal");
    let stochastic = [Rounding::StochasticA(word), Rounding::StochasticB(word), Rounding::StochasticC(word)];
    let modes: Vec<Rounding> = Rounding::DETERMINISTIC.iter().copied().chain(stochastic).collect();
    check_all("monotone operations", &RESULTS, |all| {
        let format = &all.format;
        let (mut count, mut wrong) = (0, Vec::new());
        let codes = ascending(format);
        for (name, course) in UNARY.into_iter().filter(|(_, course)| *course != Course::Turns) {
            let falls = course == Course::Falls;
            let of = all.of(name);
            let results: Vec<Exact> = codes.iter().map(|&code| of[code]).filter(|y| !y.is_nan()).collect();
            for &mode in &modes {
                let projection = Preset::P3109SatFinite.projection(format).with_rounding(mode);
                let rounded: Vec<Datum> =
                    results.iter().map(|&y| format.decode(project(y, format, &projection).value)).collect();
                for pair in rounded.windows(2) {
                    let (low, high) = if falls { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
                    count += 1;
                    if !low.compare(&high).is_some_and(std::cmp::Ordering::is_le) {
                        wrong.push(format!("{name} {format} {mode:?}: {} then {}", pair[0], pair[1]));
                    }
                }
            }
        }
        (count, wrong)
    });
}

#[test]
fn odd_and_even_functions() {
    let odd = [
        "Recip", "Sin", "Tan", "ArcSin", "ArcTan", "Sinh", "Tanh", "ArcSinh", "ArcTanh", "SinPi", "ArcSinPi",
        "ArcTanPi",
    ];
    let even = ["Cos", "Cosh", "CosPi"];
    check_all("odd and even functions", &RESULTS, |all| {
        let format = &all.format;
        let (mut count, mut wrong) = (0, Vec::new());
        for (name, is_odd) in odd.iter().map(|n| (n, true)).chain(even.iter().map(|n| (n, false))) {
            for (code, &y) in (0..).zip(all.of(name)) {
                let mirrored = exact(operation(name), format.decode(code).negated());
                let nothing = y.is_nan() || y.is_zero();
                let signs =
                    if nothing { true } else { (y.is_negative() != mirrored.is_negative()) == is_odd };
                count += 1;
                if y.magnitude() != mirrored.magnitude() || !signs {
                    wrong.push(format!("{name} {format} {code:x}: {y:?}, mirrored {mirrored:?}"));
                }
            }
        }
        (count, wrong)
    });
}

/// Bounds that no result passes: lower and upper, both attained or not.
#[test]
fn ranges() {
    let number = oracle::Exact::ratio;
    // 355/113 is a little above pi.
    let (pi, half_pi) = (number(355, 113), number(355, 226));
    let minus_half_pi = number(-355, 226);
    let rows = [
        ("Sin", number(-1, 1), number(1, 1)),
        ("Cos", number(-1, 1), number(1, 1)),
        ("SinPi", number(-1, 1), number(1, 1)),
        ("CosPi", number(-1, 1), number(1, 1)),
        ("Tanh", number(-1, 1), number(1, 1)),
        ("ArcSin", minus_half_pi.clone(), half_pi.clone()),
        ("ArcTan", minus_half_pi, half_pi),
        ("ArcCos", number(0, 1), pi),
        ("ArcSinPi", number(-1, 2), number(1, 2)),
        ("ArcTanPi", number(-1, 2), number(1, 2)),
        ("ArcCosPi", number(0, 1), number(1, 1)),
        ("ExpMinusOne", number(-1, 1), oracle::Exact::Inf { negative: false }),
        ("Exp", number(0, 1), oracle::Exact::Inf { negative: false }),
        ("Exp2", number(0, 1), oracle::Exact::Inf { negative: false }),
        ("Softplus", number(0, 1), oracle::Exact::Inf { negative: false }),
        ("Cosh", number(1, 1), oracle::Exact::Inf { negative: false }),
        ("ArcCosh", number(0, 1), oracle::Exact::Inf { negative: false }),
    ];
    check_all("ranges", &RESULTS, |all| {
        let format = &all.format;
        let (mut count, mut wrong) = (0, Vec::new());
        for (name, low, high) in &rows {
            for (code, &result) in all.of(name).iter().enumerate() {
                let text = line(result);
                let y = stand_in(&text);
                if y.is_nan() {
                    continue;
                }
                count += 1;
                let order = |a, b| oracle::selection::compare(a, b).expect("no NaN");
                if order(low, &y).is_gt() || order(&y, high).is_gt() {
                    wrong.push(format!("{name} {format} {code:x}: {text}"));
                }
            }
        }
        (count, wrong)
    });
}

/// f then g gives back the operand where both are exact.
#[test]
fn exact_inverses() {
    let datum = |x: Exact| match x {
        Exact::Finite { negative, significand, exponent, sticky: false } => {
            let zeros = significand.trailing_zeros();
            let short = u64::try_from(significand >> zeros.min(127)).expect("a short significand");
            Datum::finite(negative, short, exponent + zeros.min(127).cast_signed())
        }
        other => panic!("not an exact number: {other:?}"),
    };
    let apply = |name: &str, x: Datum| datum(exact(operation(name), x));
    let integer = |n: i64| Datum::finite(n < 0, n.unsigned_abs(), 0);
    let both = |f: &str, g: &str, x: Datum| assert_eq!(apply(g, apply(f, x)), x, "{g}({f}({x}))");
    for n in -1000..=1000 {
        both("Exp2", "Log2", integer(n));
        both("Recip", "Recip", apply("Exp2", integer(n)));
        let square =
            operation("Multiply").exact([integer(n), integer(n), Datum::ZERO], Semantics::P3109).exact;
        assert_eq!(apply("Sqrt", datum(square)), integer(n.abs()));
        let hypot = operation("Hypot")
            .exact([integer(20 * n), integer(-21 * n), Datum::ZERO], Semantics::P3109)
            .exact;
        if n != 0 {
            assert_eq!(datum(hypot), integer(29 * n.abs()), "{n}");
        }
    }
    for n in -2..=2 {
        let x = Datum::finite(n < 0, u64::from(i32::unsigned_abs(n)), -2);
        // Quarters: 1/4 has a tangent, 1/2 a sine.
        if n.abs() <= 1 {
            both("TanPi", "ArcTanPi", x);
        }
        if n % 2 == 0 {
            both("SinPi", "ArcSinPi", x);
        }
    }
    for n in 0..=2 {
        both("CosPi", "ArcCosPi", Datum::finite(false, n, -1));
    }
    for (f, g) in [("Exp", "Log"), ("Log", "Exp"), ("Cosh", "ArcCosh"), ("ExpMinusOne", "LogOnePlus")] {
        let start = if f == "Log" { integer(1) } else { integer(0) };
        both(f, g, start);
    }
}
