//! Operations where exhaustion is out of reach, against big integers, code and flags.
//!
//! The 16-, 32- and 64-bit formats on operands near every boundary and at random, operands and
//! results of different formats drawn over the whole catalogue and the P3109 family, integer
//! scales, and the stochastic modes by counting over all random words.
//!
//! `SMALLFLOAT_EXTENSIVE=1` runs 64 times as many.

use rayon::prelude::*;
use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions, Semantics};
use smallfloat::{FlagPolicy, Format, Projection, RandomBits, Rounding, Saturation};
use smallfloat_oracle::selection::{self, Extremum};
use smallfloat_oracle::{self as oracle, Exact, Table, ops as slow};
use smallfloat_proof::located::oracle_semantics;
use smallfloat_proof::{
    Scramble, catalogue, core_flags, extensive, oracle_format, oracle_policy, p3109, tell, tesla, wide,
};

/// 2^20 by default, 2^26 in the extensive run, a sixteenth of that without optimization.
fn count() -> u64 {
    if extensive() {
        return 1 << 26;
    }
    println!("LEFT OUT: 63 of 64 random cases; SMALLFLOAT_EXTENSIVE=1 runs 2^26");
    if cfg!(debug_assertions) { 1 << 16 } else { 1 << 20 }
}

struct Sheet {
    format: Format,
    table: Table,
}

impl Sheet {
    fn new(format: Format) -> Self {
        Self { table: Table::new(&oracle_format(&format)), format }
    }
}

fn sheets(names: &[&str]) -> Vec<Sheet> {
    names.par_iter().map(|name| Sheet::new(name.parse().expect("a format's name"))).collect()
}

/// A code: random, or near the ends of the subnormals, of the range, of a binade, or 1.
fn draw(random: &mut Scramble, format: &Format) -> u64 {
    let f = oracle_format(format);
    let any = random.bits() & format.max_code();
    if random.below(2) == 0 {
        return any;
    }
    let magnitude = f.magnitude_mask();
    let hidden = 1_u64 << (f.p - 1);
    let one = if f.specials == oracle::Specials::E8m0 {
        f.bias.cast_unsigned()
    } else {
        (f.bias.max(0).cast_unsigned() << (f.p - 1)) & magnitude
    };
    let base = match random.below(6) {
        0 => 0,
        1 => f.min_normal_code(),
        2 => magnitude,
        3 => one,
        4 => any & magnitude & !(hidden - 1),
        // Few bits set: products and quotients that are exact or ties.
        _ => any & magnitude & !(hidden.div_ceil(8) - 1),
    };
    let near = base.wrapping_add(random.below(5)).wrapping_sub(2) & magnitude;
    near | if random.below(2) == 0 { f.sign_bit() } else { 0 }
}

/// Passes what it is given, or 0 for −0 where there is one zero.
fn operand(x: &Exact, semantics: slow::Semantics) -> Exact {
    if semantics == slow::Semantics::P3109 && x.is_zero() { Exact::zero(false) } else { x.clone() }
}

fn exact(
    operation: Operation,
    operands: &[Exact],
    rounding: oracle::Rounding,
    semantics: slow::Semantics,
) -> slow::Outcome {
    let quiet = |x: Exact| (x, oracle::Flags::NONE);
    let operands: Vec<Exact> = operands.iter().map(|x| operand(x, semantics)).collect();
    let at = |i: usize| &operands[i];
    if let Ok(kind) = operation.name().parse::<Extremum>() {
        return quiet(kind.choose(at(0), at(1)).clone());
    }
    match operation {
        Operation::Convert => quiet(at(0).clone()),
        Operation::Negate => quiet(slow::negate(at(0))),
        Operation::Abs => quiet(selection::absolute(at(0))),
        Operation::CopySign => quiet(selection::copy_sign(at(0), at(1), semantics)),
        Operation::Add => slow::add(at(0), at(1), rounding, semantics),
        Operation::Subtract => slow::sub(at(0), at(1), rounding, semantics),
        Operation::Multiply => slow::mul(at(0), at(1), semantics),
        Operation::Divide => slow::div(at(0), at(1), semantics),
        Operation::Remainder => slow::remainder(at(0), at(1), true, semantics),
        Operation::Fmod => slow::remainder(at(0), at(1), false, semantics),
        Operation::Fma => slow::fma(at(0), at(1), at(2), rounding, semantics),
        Operation::Faa => slow::faa(at(0), at(1), at(2), rounding, semantics),
        Operation::Sqrt => slow::sqrt(at(0), semantics),
        Operation::Recip => slow::div(&Exact::ratio(1, 1), at(0), semantics),
        Operation::Clamp => quiet(selection::clamp(at(0), at(1), at(2))),
        other => panic!("no oracle for {other:?}"),
    }
}

/// One case against the oracle; `None` if code and flags agree.
fn check(
    operation: Operation,
    operands: &[(u64, &Sheet)],
    to: &Sheet,
    projection: &Projection,
    arithmetic: OperationOptions,
) -> Option<String> {
    let semantics = oracle_semantics(arithmetic.semantics);
    let mut policy = oracle_policy(projection);
    if arithmetic.semantics == Semantics::P3109 {
        policy.negative_zero = oracle::NegativeZero::Zero;
    }
    let values: Vec<Exact> =
        operands.iter().map(|(code, sheet)| sheet.table.format().value(*code).into()).collect();
    let outcome = exact(operation, &values, policy.rounding, semantics);
    let (result, mut flags) = slow::scaled(outcome, arithmetic.scale.into());
    let (code, rounded) = to.table.round(&result, &policy);
    let quiet = matches!(operation, Operation::Negate | Operation::Abs | Operation::CopySign);
    // With IEEE's semantics the sign of a NaN changes and nothing else.
    let keeps = quiet && arithmetic.semantics == Semantics::Ieee && values[0].is_nan();
    let code = match operands[0] {
        (x, sheet) if keeps && sheet.table.format() == to.table.format() => {
            to.table.format().nan_with_sign(x, result.is_negative()).unwrap_or(code)
        }
        _ => code,
    };
    let mut nan = false;
    flags |= rounded;
    for ((code, sheet), value) in operands.iter().zip(&values) {
        nan |= value.is_nan();
        if !quiet && sheet.table.format().is_subnormal(*code) {
            flags |= oracle::Flags::DENORMAL;
        }
        if !quiet && value.is_nan() {
            flags |= oracle::Flags::INVALID;
        }
    }
    if quiet && result.is_nan() && to.format.has_nan() {
        flags = oracle::Flags::NONE;
    }
    let flags = core_flags(flags);
    let core: Vec<Operand<'_>> =
        operands.iter().map(|(code, sheet)| Operand::new(*code, &sheet.format)).collect();
    // The oracle's flags are Tesla's.
    let arithmetic = arithmetic.with_flags(FlagPolicy::TESLA);
    let got = operation.evaluate(&core, &to.format, projection, arithmetic);
    // IEEE 754 leaves the sign of a NaN open; without NaN it may decide what stands for it.
    let other = match result {
        Exact::Nan { negative } if nan => to.table.round(&Exact::Nan { negative: !negative }, &policy).0,
        _ => code,
    };
    let same = got.value == code || got.value == other;
    (!same || got.flags != flags).then(|| {
        let operands: Vec<String> =
            operands.iter().map(|(code, sheet)| format!("{} {code:x}", sheet.format)).collect();
        format!(
            "{}({}) -> {} ({:?}, {:?}) {:?} scale {}: got {:x} {}, expected {code:x} {flags}",
            operation.name(),
            operands.join(", "),
            to.format,
            projection.rounding,
            projection.saturation,
            arithmetic.semantics,
            arithmetic.scale,
            got.value,
            got.flags
        )
    })
}

/// Runs `count` random cases in blocks on all cores.
fn run(what: &str, count: u64, case: impl Fn(&mut Scramble) -> Option<String> + Sync) {
    const BLOCK: u64 = 1 << 10;
    let start = std::time::Instant::now();
    let wrong: Vec<String> = (0..count / BLOCK)
        .into_par_iter()
        .flat_map_iter(|block| {
            let mut random = Scramble(block ^ ((what.len() as u64) << 40));
            (0..BLOCK).filter_map(|_| case(&mut random)).collect::<Vec<_>>()
        })
        .collect();
    tell(what, count, start);
    let shown: Vec<&str> = wrong.iter().step_by(1 + wrong.len() / 24).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{what}: {} of {count} differ:\n{}", wrong.len(), shown.join("\n"));
}

/// One of the deterministic modes or a stochastic one with a few bits.
fn draw_projection(random: &mut Scramble, to: &Format) -> Projection {
    let bits = 1 + u32::try_from(random.below(12)).expect("small");
    let rounding = match random.below(12) {
        i @ 0..6 => Rounding::DETERMINISTIC[usize::try_from(i).expect("small")],
        6 => Rounding::StochasticA(random.random_bits(bits)),
        7 => Rounding::StochasticB(random.random_bits(bits)),
        8 => Rounding::StochasticC(random.random_bits(bits)),
        _ => return to.default_projection(),
    };
    let saturation = random.pick(Saturation::ALL);
    to.default_projection().with_rounding(rounding).with_saturation(saturation)
}

const ARITHMETIC: [Operation; 7] = [
    Operation::Add,
    Operation::Subtract,
    Operation::Multiply,
    Operation::Divide,
    Operation::Sqrt,
    Operation::Recip,
    Operation::Fma,
];

/// Operands and result of one format, or an operand near another: sums that cancel, remainders that
/// stay.
#[test]
fn wide_formats_of_one_kind() {
    let mut sheets = sheets(&[
        "shp:bias=15",
        "shp:bias=31,subnormals=gradual",
        "uhp",
        "binary16",
        "bfloat16",
        "binary32",
        "binary64",
    ]);
    sheets.extend(wide().into_iter().map(Sheet::new));
    run("16 to 64 bits", count(), |random| {
        let sheet = &sheets[usize::try_from(random.below(sheets.len() as u64)).expect("small")];
        let operation = random.pick(&ARITHMETIC);
        let mut codes = [0; 3].map(|_| draw(random, &sheet.format));
        if random.below(4) == 0 {
            codes[1] = (codes[0] ^ random.below(4) ^ random.below(2) << (sheet.format.width() - 1))
                & sheet.format.max_code();
        }
        let operands: Vec<(u64, &Sheet)> =
            codes.iter().take(operation.arity()).map(|&code| (code, sheet)).collect();
        let projection = draw_projection(random, &sheet.format);
        check(operation, &operands, sheet, &projection, OperationOptions::default_for([&sheet.format]))
    });
}

/// The catalogue, Tesla's formats at several biases, P3109, other minifloats, formats of 17 to 32
/// bits.
fn pool() -> Vec<Sheet> {
    let mut formats = catalogue(64);
    formats.extend(wide());
    formats.extend(tesla([0, 7, 31, 63]));
    // Every width, every precision of the small ones, and the extremes of the large ones.
    formats.extend(p3109(3..=16).into_iter().filter(|f| {
        let p = f.precision();
        extensive() || f.width() <= 8 || p <= 2 || p >= f.width() - 1 || (p + f.width()) % 5 == 0
    }));
    for name in [
        "ieee:k=6,p=3",
        "minifloat:k=5,p=2,bias=-3,specials=finite,subnormals=none",
        "minifloat:k=7,p=3,bias=9,signed=false,specials=ieee,subnormals=tesla",
        "minifloat:k=6,p=4,bias=40,specials=nan-negzero,subnormals=flush",
    ] {
        formats.push(name.parse().unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    formats.into_par_iter().map(Sheet::new).collect()
}

/// Every operation; operands and result all of different formats; either semantics; scales now and
/// then.
#[test]
fn mixed_formats() {
    let start = std::time::Instant::now();
    let pool = pool();
    println!("{} tables, {:.1} s", pool.len(), start.elapsed().as_secs_f64());
    let operations: Vec<Operation> = Operation::all().filter(|o| o.is_basic()).collect();
    run("mixed formats", count(), |random| {
        let mut sheet = || &pool[usize::try_from(random.below(pool.len() as u64)).expect("small")];
        let (sheets, to) = ([sheet(), sheet(), sheet()], sheet());
        let operation = random.pick(&operations);
        let operands: Vec<(u64, &Sheet)> =
            sheets.iter().take(operation.arity()).map(|&s| (draw(random, &s.format), s)).collect();
        let projection = draw_projection(random, &to.format);
        let formats = operands.iter().map(|(_, s)| &s.format).chain([&to.format]);
        let mut arithmetic = OperationOptions::default_for(formats);
        if random.below(3) == 0 {
            arithmetic.semantics = random.pick(&[Semantics::Ieee, Semantics::P3109]);
        }
        if random.below(4) == 0 {
            arithmetic.scale = i32::try_from(random.below(81)).expect("small") - 40;
        }
        check(operation, &operands, to, &projection, arithmetic)
    });
}

/// Exponents to ±2^15 and beyond them by scale.
#[test]
fn extreme_exponents() {
    let sheets = sheets(&[
        "binary16p1se",
        "binary16p1ue",
        "binary16p1uf",
        "binary16p2se",
        "binary16p3uf",
        "binary15p1sf",
        "binary12p1ue",
        "binary64",
        "binary8p4se",
        "e8m0fnu",
    ]);
    let operations: Vec<Operation> = Operation::all().filter(|o| o.is_basic()).collect();
    run("extreme exponents", count() >> 4, |random| {
        let mut sheet = || &sheets[usize::try_from(random.below(sheets.len() as u64)).expect("small")];
        let (from, to) = ([sheet(), sheet(), sheet()], sheet());
        let operation = random.pick(&operations);
        let operands: Vec<(u64, &Sheet)> =
            from.iter().take(operation.arity()).map(|&s| (draw(random, &s.format), s)).collect();
        let projection = draw_projection(random, &to.format);
        let mut arithmetic =
            OperationOptions::default_for(operands.iter().map(|(_, s)| &s.format).chain([&to.format]));
        arithmetic.scale = match random.below(3) {
            0 => i32::try_from(random.below(140_000)).expect("small") - 70_000,
            _ => 0,
        };
        check(operation, &operands, to, &projection, arithmetic)
    });
}

/// Add, multiply and fma with an integer scale (S9).
#[test]
fn scaled_operations() {
    let sheets = sheets(&["binary8p3se", "cfloat8_1_4_3:bias=7", "e5m2", "uhp", "binary16", "binary32"]);
    run("scaled operations", count() >> 2, |random| {
        let mut sheet = || &sheets[usize::try_from(random.below(sheets.len() as u64)).expect("small")];
        let (from, to) = ([sheet(), sheet(), sheet()], sheet());
        let operation = random.pick(&ARITHMETIC);
        let operands: Vec<(u64, &Sheet)> =
            from.iter().take(operation.arity()).map(|&s| (draw(random, &s.format), s)).collect();
        let projection = draw_projection(random, &to.format);
        let mut arithmetic =
            OperationOptions::default_for(operands.iter().map(|(_, s)| &s.format).chain([&to.format]));
        arithmetic.scale = i32::try_from(random.below(301)).expect("small") - 150;
        check(operation, &operands, to, &projection, arithmetic)
    });
    // Scales at the ends of their range saturate or vanish, and leave zeros and infinities alone.
    for scale in [i32::MIN, i32::MIN + 1, -70_000, 70_000, i32::MAX - 1, i32::MAX] {
        for code in 0..256_u64 {
            let sheet = &sheets[2];
            let arithmetic = OperationOptions { scale, ..OperationOptions::IEEE };
            // To the oracle an exponent of this size would be a very long number; this one is far
            // enough.
            let near = OperationOptions { scale: scale.clamp(-500, 500), ..OperationOptions::IEEE };
            let operand = [Operand::new(code, &sheet.format)];
            let projection = sheet.format.default_projection();
            let got = Operation::Convert.evaluate(&operand, &sheet.format, &projection, arithmetic);
            assert_eq!(
                got,
                Operation::Convert.evaluate(&operand, &sheet.format, &projection, near),
                "{code:x} {scale}"
            );
            assert_eq!(check(Operation::Convert, &[(code, sheet)], sheet, &projection, near), None);
        }
    }
}

/// All random words for 1 to 8 bits: each result against the oracle, and how many of them round
/// away from zero, which must be the first words to fail and the last to pass, symmetric in sign.
#[test]
fn stochastic_modes_over_all_words() {
    let sheets = sheets(&[
        "cfloat8_1_4_3:bias=7",
        "e4m3fn",
        "binary8p3se",
        "shp:bias=15",
        "binary16",
        "uhp",
        "binary4p2sf",
    ]);
    let samples = count() >> 10;
    run("stochastic modes", samples.max(1 << 10), |random| {
        let mut sheet = || &sheets[usize::try_from(random.below(sheets.len() as u64)).expect("small")];
        let (from, to) = ([sheet(), sheet(), sheet()], sheet());
        let operation = random.pick(&ARITHMETIC);
        let operands: Vec<(u64, &Sheet)> =
            from.iter().take(operation.arity()).map(|&s| (draw(random, &s.format), s)).collect();
        let arithmetic =
            OperationOptions::default_for(operands.iter().map(|(_, s)| &s.format).chain([&to.format]));
        let core: Vec<Operand<'_>> = operands.iter().map(|(c, s)| Operand::new(*c, &s.format)).collect();
        let bits = 1 + u32::try_from(random.below(8)).expect("small");
        for mode in [Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC] {
            let mut codes = Vec::new();
            for word in 0..1 << bits {
                let word = RandomBits::new(bits, word).expect("a legal word");
                let projection = to.format.default_projection().with_rounding(mode(word));
                let wrong = check(operation, &operands, to, &projection, arithmetic);
                if wrong.is_some() {
                    return wrong;
                }
                codes.push(operation.evaluate(&core, &to.format, &projection, arithmetic).value);
            }
            // Once away, always away: at most one step among the words.
            let steps = codes.windows(2).filter(|pair| pair[0] != pair[1]).count();
            if steps > 1 {
                return Some(format!(
                    "{} {mode:?} {bits} bits: {codes:x?}",
                    operation.name(),
                    mode = mode(RandomBits::new(bits, 0).expect("legal"))
                ));
            }
        }
        None
    });
}

/// Comparisons between different formats.
#[test]
fn mixed_comparisons() {
    let pool = pool();
    run("mixed comparisons", count() >> 2, |random| {
        let mut sheet = || &pool[usize::try_from(random.below(pool.len() as u64)).expect("small")];
        let (a, b) = (sheet(), sheet());
        let (x, y) = (draw(random, &a.format), draw(random, &b.format));
        let values = [(a, x), (b, y)].map(|(s, code)| Exact::from(s.table.format().value(code)));
        let order = selection::compare(&values[0], &values[1]);
        let mut flags = oracle::Flags::NONE;
        if order.is_none() {
            flags |= oracle::Flags::INVALID;
        }
        if a.table.format().is_subnormal(x) || b.table.format().is_subnormal(y) {
            flags |= oracle::Flags::DENORMAL;
        }
        for &(name, which) in Comparison::NAMED {
            let expected = order.is_some_and(|order| match which {
                Comparison::Less => order.is_lt(),
                Comparison::LessEqual => order.is_le(),
                Comparison::Equal => order.is_eq(),
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterEqual => order.is_ge(),
            });
            let (left, right) = (Operand::new(x, &a.format), Operand::new(y, &b.format));
            let got = which.evaluate_with(left, right, FlagPolicy::TESLA);
            if (got.value, got.flags) != (expected, core_flags(flags)) {
                return Some(format!(
                    "{name} {} {x:x}, {} {y:x}: got {got:?}, expected {expected} {flags}",
                    a.format, b.format
                ));
            }
        }
        None
    });
}
