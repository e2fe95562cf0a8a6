//! The P3109 draft's special cases for roots, exponentials, logarithms, trigonometric and
//! hyperbolic functions, row by row (D1 revised, September 2026, section "Numeric operations"), and
//! the golden vectors of calls, blocks and scaled operations. Expected results are the draft's, or
//! follow from 3.1415 < π < 3.1416 by hand.

use smallfloat::p3109::{Answer, Argument, Block, Specialization};

fn parse(text: &str) -> Specialization {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn code(text: &str, codes: &[u64]) -> u64 {
    match parse(text).call(codes) {
        Ok(Answer::Code(r)) => r.value,
        other => panic!("{text} {codes:x?}: {other:?}"),
    }
}

/// Words for data, with their codes in Binary8p4se and in binary16.
const WORDS: [(&str, u64, u64); 28] = [
    ("nan", 0x80, 0x7e00),
    ("inf", 0x7f, 0x7c00),
    ("-inf", 0xff, 0xfc00),
    ("0", 0x00, 0x0000),
    ("-0", 0x00, 0x8000),
    ("1", 0x40, 0x3c00),
    ("-1", 0xc0, 0xbc00),
    ("2", 0x48, 0x4000),
    ("-2", 0xc8, 0xc000),
    ("3", 0x4c, 0x4200),
    ("4", 0x50, 0x4400),
    ("5", 0x52, 0x4500),
    ("1/2", 0x38, 0x3800),
    ("-1/2", 0xb8, 0xb800),
    ("3/2", 0x44, 0x3e00),
    ("-3/2", 0xc4, 0xbe00),
    ("1/4", 0x30, 0x3400),
    ("-1/4", 0xb0, 0xb400),
    ("3/4", 0x3c, 0x3a00),
    ("-3/4", 0xbc, 0xba00),
    ("max", 0x7e, 0x7bff),
    ("-max", 0xfe, 0xfbff),
    ("min", 0x01, 0x0001),
    ("-min", 0x81, 0x8001),
    // 3.25 and 1.625 with 4 bits, 3.140625 and 1.5703125 with 11.
    ("pi", 0x4d, 0x4248),
    ("-pi", 0xcd, 0xc248),
    ("pi/2", 0x45, 0x3e48),
    ("-pi/2", 0xc5, 0xbe48),
];

/// Formats of operands and of the result, in the order of `WORDS`' columns, and what makes the
/// semantics P3109's.
const WAYS: [(usize, usize, &str); 4] = [(0, 0, ""), (1, 0, ""), (0, 1, ""), (1, 1, ", semantics=p3109")];
const FORMATS: [&str; 2] = ["Binary8p4se", "binary16"];

fn word(text: &str, format: usize) -> u64 {
    let (_, p4, half) = WORDS.iter().find(|row| row.0 == text).unwrap_or_else(|| panic!("no word {text}"));
    [*p4, *half][format]
}

/// Operation, operands and result, each row in all ways. The ends of a format's range are the same
/// datum only where operands and result have one format.
const ROWS: &str = "
    Sqrt -inf nan; Sqrt -1 nan; Sqrt -min nan; Sqrt 0 0; Sqrt -0 0; Sqrt inf inf; Sqrt 1 1; Sqrt 4 2; Sqrt 1/4 1/2
    Recip -inf 0; Recip inf 0; Recip 0 nan; Recip -0 nan; Recip -1 -1; Recip 2 1/2; Recip -1/2 -2
    RSqrt -inf nan; RSqrt -1 nan; RSqrt -max nan; RSqrt 0 nan; RSqrt -0 nan; RSqrt inf 0; RSqrt 4 1/2; RSqrt 1/4 2
    Exp -inf 0; Exp 0 1; Exp -0 1; Exp inf inf; Exp max inf; Exp -max 0; Exp min 1; Exp -min 1
    Exp2 -inf 0; Exp2 0 1; Exp2 -0 1; Exp2 1 2; Exp2 -1 1/2; Exp2 -2 1/4; Exp2 inf inf; Exp2 max inf; Exp2 -max 0
    ExpMinusOne -inf -1; ExpMinusOne 0 0; ExpMinusOne -0 0; ExpMinusOne inf inf; ExpMinusOne max inf; ExpMinusOne -max -1
    ExpMinusOne min min; ExpMinusOne -min -min
    Log -inf nan; Log -1 nan; Log -min nan; Log 0 -inf; Log -0 -inf; Log 1 0; Log inf inf
    Log2 -inf nan; Log2 -1 nan; Log2 -min nan; Log2 0 -inf; Log2 -0 -inf; Log2 1 0; Log2 2 1; Log2 1/4 -2; Log2 inf inf
    LogOnePlus -inf nan; LogOnePlus -2 nan; LogOnePlus -max nan; LogOnePlus -1 -inf; LogOnePlus 0 0; LogOnePlus -0 0
    LogOnePlus inf inf; LogOnePlus min min; LogOnePlus -min -min
    Softplus -inf 0; Softplus inf inf; Softplus max max; Softplus -max 0
    Sin -inf nan; Sin inf nan; Sin 0 0; Sin -0 0; Sin min min; Sin -min -min
    Cos -inf nan; Cos inf nan; Cos 0 1; Cos -0 1; Cos min 1; Cos -min 1
    Tan -inf nan; Tan inf nan; Tan 0 0; Tan -0 0; Tan min min; Tan -min -min
    SinPi -inf nan; SinPi inf nan; SinPi 0 0; SinPi -0 0; SinPi 1/2 1; SinPi -1/2 -1; SinPi 1 0; SinPi -1 0; SinPi 3/2 -1
    SinPi 2 0; SinPi max 0; SinPi -max 0
    CosPi -inf nan; CosPi inf nan; CosPi 0 1; CosPi -0 1; CosPi 1/2 0; CosPi -1/2 0; CosPi 1 -1; CosPi -1 -1; CosPi 3/2 0
    CosPi 2 1; CosPi max 1; CosPi -max 1; CosPi min 1
    TanPi -inf nan; TanPi inf nan; TanPi 0 0; TanPi -0 0; TanPi 1/2 inf; TanPi -1/2 -inf; TanPi 3/2 -inf; TanPi -3/2 inf
    TanPi 1 0; TanPi -1 0; TanPi 1/4 1; TanPi -1/4 -1; TanPi 3/4 -1; TanPi -3/4 1; TanPi max 0
    ArcSin -inf nan; ArcSin inf nan; ArcSin 2 nan; ArcSin -2 nan; ArcSin max nan; ArcSin 1 pi/2; ArcSin -1 -pi/2; ArcSin 0 0
    ArcSin -0 0; ArcSin min min; ArcSin -min -min
    ArcCos -inf nan; ArcCos inf nan; ArcCos 2 nan; ArcCos -2 nan; ArcCos 1 0; ArcCos -1 pi; ArcCos 0 pi/2; ArcCos -0 pi/2
    ArcTan -inf -pi/2; ArcTan inf pi/2; ArcTan 0 0; ArcTan -0 0; ArcTan max pi/2; ArcTan -max -pi/2; ArcTan min min
    ArcSinPi -inf nan; ArcSinPi inf nan; ArcSinPi 2 nan; ArcSinPi -2 nan; ArcSinPi 1 1/2; ArcSinPi -1 -1/2; ArcSinPi 0 0
    ArcCosPi -inf nan; ArcCosPi inf nan; ArcCosPi 2 nan; ArcCosPi -2 nan; ArcCosPi 1 0; ArcCosPi -1 1; ArcCosPi 0 1/2
    ArcTanPi -inf -1/2; ArcTanPi inf 1/2; ArcTanPi 0 0; ArcTanPi 1 1/4; ArcTanPi -1 -1/4; ArcTanPi max 1/2
    Sinh -inf -inf; Sinh inf inf; Sinh 0 0; Sinh -0 0; Sinh max inf; Sinh -max -inf; Sinh min min; Sinh -min -min
    Cosh -inf inf; Cosh inf inf; Cosh 0 1; Cosh -0 1; Cosh max inf; Cosh -max inf; Cosh min 1
    Tanh -inf -1; Tanh inf 1; Tanh 0 0; Tanh -0 0; Tanh max 1; Tanh -max -1; Tanh min min; Tanh -min -min
    ArcSinh -inf -inf; ArcSinh inf inf; ArcSinh 0 0; ArcSinh -0 0; ArcSinh min min; ArcSinh -min -min
    ArcCosh -inf nan; ArcCosh inf inf; ArcCosh 1 0; ArcCosh 1/2 nan; ArcCosh 0 nan; ArcCosh -0 nan; ArcCosh -1 nan
    ArcTanh -inf nan; ArcTanh inf nan; ArcTanh 1 inf; ArcTanh -1 -inf; ArcTanh 2 nan; ArcTanh -2 nan; ArcTanh max nan
    ArcTanh 0 0; ArcTanh -0 0; ArcTanh min min; ArcTanh -min -min
    Hypot inf nan nan; Hypot nan inf nan; Hypot nan -inf nan; Hypot 1 nan nan; Hypot inf -inf inf; Hypot -inf 0 inf
    Hypot 1 -inf inf; Hypot 0 0 0; Hypot -0 -0 0; Hypot 3 4 5; Hypot 0 -1 1; Hypot max max inf; Hypot min 0 min
    ArcTan2 nan 1 nan; ArcTan2 1 nan nan; ArcTan2 nan inf nan; ArcTan2 inf nan nan; ArcTan2 0 0 nan; ArcTan2 -0 -0 nan
    ArcTan2 inf inf nan; ArcTan2 inf -inf nan; ArcTan2 -inf inf nan; ArcTan2 -inf -inf nan
    ArcTan2 1 inf 0; ArcTan2 -1 inf 0; ArcTan2 0 inf 0; ArcTan2 0 1 0; ArcTan2 -0 1 0
    ArcTan2 inf 1 pi/2; ArcTan2 inf 0 pi/2; ArcTan2 inf -1 pi/2; ArcTan2 1 0 pi/2; ArcTan2 1 -0 pi/2
    ArcTan2 1 -inf pi; ArcTan2 0 -inf pi; ArcTan2 -0 -inf pi; ArcTan2 -1 -inf -pi; ArcTan2 0 -1 pi; ArcTan2 -0 -1 pi
    ArcTan2 -inf 1 -pi/2; ArcTan2 -inf 0 -pi/2; ArcTan2 -inf -1 -pi/2; ArcTan2 -1 0 -pi/2; ArcTan2 -1 -0 -pi/2
    ArcTan2 max min pi/2; ArcTan2 max -min pi/2; ArcTan2 -max -min -pi/2; ArcTan2 min -max pi; ArcTan2 -min -max -pi
    ArcTan2Pi nan 1 nan; ArcTan2Pi 0 0 nan; ArcTan2Pi inf inf nan; ArcTan2Pi -inf inf nan; ArcTan2Pi 1 inf 0
    ArcTan2Pi 0 1 0; ArcTan2Pi inf -1 1/2; ArcTan2Pi 1 0 1/2; ArcTan2Pi 1 -inf 1; ArcTan2Pi 0 -inf 1; ArcTan2Pi -1 -inf -1
    ArcTan2Pi 0 -1 1; ArcTan2Pi -inf 1 -1/2; ArcTan2Pi -1 0 -1/2
    ArcTan2Pi 1 1 1/4; ArcTan2Pi 1 -1 3/4; ArcTan2Pi -1 -1 -3/4; ArcTan2Pi -1 1 -1/4; ArcTan2Pi max -max 3/4; ArcTan2Pi -min -min -3/4
";

#[test]
fn special_rows() {
    let (mut checks, mut wrong) = (0, Vec::new());
    let rows: Vec<Vec<&str>> = ROWS
        .split([';', '\n'])
        .map(|row| row.split_whitespace().collect::<Vec<_>>())
        .filter(|cells| !cells.is_empty())
        .collect();
    let mut names: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    names.dedup();
    // Every operation of one operand gives NaN for NaN.
    let nans = names
        .iter()
        .filter(|name| !["Hypot", "ArcTan2", "ArcTan2Pi"].contains(name))
        .map(|name| vec![*name, "nan", "nan"]);
    for cells in rows.iter().cloned().chain(nans) {
        let [name, operands @ .., result] = &cells[..] else { panic!("a row: {cells:?}") };
        let has_ends = cells.iter().any(|cell| cell.contains("max") || cell.contains("min"));
        for (from, to, semantics) in WAYS {
            let no_minus_zero = from == 0 && operands.contains(&"-0");
            if (has_ends && from != to) || no_minus_zero {
                continue;
            }
            let text = format!(
                "{name}<{}, {}{semantics}>",
                vec![FORMATS[from]; operands.len()].join(", "),
                FORMATS[to]
            );
            let codes: Vec<u64> = operands.iter().map(|operand| word(operand, from)).collect();
            let (got, expected) = (code(&text, &codes), word(result, to));
            checks += 1;
            if got != expected {
                wrong.push(format!("{text} {operands:?}: got {got:x}, expected {expected:x} ({result})"));
            }
        }
    }
    assert_eq!(names.len(), 31);
    assert!(checks > 700, "{checks}");
    assert!(wrong.is_empty(), "{} of {checks} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// An infinite result is not a finite one beyond the range; results that round to 1 or 0 are not 1
/// or 0.
#[test]
fn infinite_and_nearly_exact_results() {
    let rows = [
        // Log(0) = −∞ where there is no −∞, or no sign.
        ("Log<Binary8p4se, Binary8p4sf, (NearestTiesToEven, SatNone)>", 0x00, 0x80),
        ("Log<Binary8p4se, Binary8p4sf, (NearestTiesToEven, SatPropagate)>", 0x00, 0xff),
        ("Log<Binary8p4se, Binary8p4ue, (NearestTiesToEven, SatNone)>", 0x00, 0xff),
        ("Log<Binary8p4se, Binary8p4ue, (TowardZero, SatNone)>", 0x00, 0xff),
        ("Log<Binary8p4se, Binary8p4ue, (NearestTiesToEven, SatPropagate)>", 0x00, 0x00),
        ("Log<Binary8p4se, Binary8p4se, (NearestTiesToEven, SatFinite)>", 0x00, 0xfe),
        ("TanPi<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x38, 0x7f),
        ("TanPi<Binary8p4se, Binary8p4sf, (NearestTiesToEven, SatNone)>", 0x38, 0x80),
        ("ArcTanh<Binary8p4se, Binary8p4se, (NearestTiesToEven, SatPropagate)>", 0xc0, 0xff),
        // e^224 is finite, e^∞ is not.
        ("Exp<Binary8p4se, Binary8p4se, (NearestTiesToEven, SatPropagate)>", 0x7e, 0x7e),
        ("Exp<Binary8p4se, Binary8p4se, (NearestTiesToEven, SatPropagate)>", 0x7f, 0x7f),
        ("Exp<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x7e, 0x7e),
        ("Exp<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x7f, 0x7f),
        ("Exp<Binary8p4se, Binary8p4sf, (NearestTiesToEven, SatNone)>", 0x7e, 0x80),
        ("Sinh<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0xfe, 0xfe),
        // e^−224 is above 0 and below half the smallest number.
        ("Exp<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0xfe, 0x01),
        ("Exp<Binary8p4se, Binary8p4se, (ToOdd, SatNone)>", 0xfe, 0x01),
        ("Exp<Binary8p4se, Binary8p4se, (NearestTiesToAway, SatNone)>", 0xfe, 0x00),
        ("Softplus<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0xfe, 0x01),
        // The neighbours of 1 are 0x3f and 0x41.
        ("ExpMinusOne<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0xfe, 0xbf),
        ("ExpMinusOne<Binary8p4se, Binary8p4se, (TowardNegative, SatNone)>", 0xfe, 0xc0),
        ("Cosh<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x01, 0x41),
        ("Cosh<Binary8p4se, Binary8p4se, (ToOdd, SatNone)>", 0x01, 0x41),
        ("Cos<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x01, 0x3f),
        ("Cos<Binary8p4se, Binary8p4se, (ToOdd, SatNone)>", 0x01, 0x3f),
        ("CosPi<Binary8p4se, Binary8p4se, (TowardNegative, SatNone)>", 0x01, 0x3f),
        ("Tanh<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x7e, 0x3f),
        ("Tanh<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x7e, 0x40),
        ("Exp<Binary8p4se, Binary8p4se, (TowardNegative, SatNone)>", 0x81, 0x3f),
        ("Exp2<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x01, 0x41),
        // ln(1 + e^224) is a little above 224, the largest number.
        ("Softplus<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x7e, 0x7e),
        ("Softplus<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x7e, 0x7f),
        // sin x < x < tan x.
        ("Sin<Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", 0x01, 0x00),
        ("Tan<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x01, 0x02),
        ("Sin<Binary8p4se, Binary8p4se, (TowardPositive, SatNone)>", 0x81, 0x00),
    ];
    for (text, operand, expected) in rows {
        let got = code(text, &[operand]);
        assert_eq!(got, expected, "{text} {operand:x}: got {got:x}, expected {expected:x}");
    }
}

/// The golden vectors of scalar calls and scaled operations.
#[test]
fn golden_calls() {
    let rows: [(&str, &[u64], u64); 9] = [
        ("Add<Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatNone)>", &[0x7e, 0x7e], 0x7f),
        ("Add<Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatFinite)>", &[0x7e, 0x7e], 0x7e),
        ("Add<Binary8p4se, Binary8p4se, Binary8p4se, (TowardZero, SatNone)>", &[0x7e, 0x7e], 0x7e),
        ("Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatNone)>", &[0x48], 0x06),
        ("Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatNone)>", &[0x7e], 0x08),
        ("Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatFinite)>", &[0x7e], 0x07),
        ("Convert<Binary8p4se, Binary4p2sf, (TowardZero, SatNone)>", &[0x7e], 0x07),
        // 8 · 1.5 + 0.5 · 3 = 13.5: a tie in Binary8p4se.
        (
            "ScaledAdd<(Binary8p1uf, Binary4p2sf), (Binary8p1uf, Binary4p2sf), Binary8p4se, (NearestTiesToEven, SatNone)>",
            &[0x83, 0x05, 0x7f, 0x07],
            0x5e,
        ),
        (
            "ScaledAdd<(Binary8p1uf, Binary4p2sf), (Binary8p1uf, Binary4p2sf), Binary8p3se, (NearestTiesToEven, SatNone)>",
            &[0x83, 0x05, 0x7f, 0x07],
            0x4f,
        ),
    ];
    for (text, codes, expected) in rows {
        let got = code(text, codes);
        assert_eq!(got, expected, "{text} {codes:x?}: got {got:x}, expected {expected:x}");
    }
}

/// The scale's format, its projection and that of the elements, the operand, the scale and the
/// elements.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [u64], u64, &'a [u64]);

/// The golden vectors of ConvertToBlockMaxAbsFinite. Binary8p4se: 3 is 4C, −1 is C0.
#[test]
fn golden_blocks() {
    let none = "(NearestTiesToEven, SatNone)";
    let rows: [Row<'_>; 6] = [
        ("Binary8p1uf", "(TowardPositive, SatNone)", none, &[0x4c, 0xc0], 0x82, &[0x03, 0x09]),
        ("Binary8p1uf", "(TowardPositive, SatNone)", none, &[0x4c, 0x7f, 0x80], 0x82, &[0x03, 0x08, 0x08]),
        (
            "Binary8p1uf",
            "(TowardPositive, SatNone)",
            "(NearestTiesToEven, SatFinite)",
            &[0x4c, 0x7f, 0xff, 0x80],
            0x82,
            &[0x03, 0x07, 0x0f, 0x08],
        ),
        ("Binary8p1uf", none, none, &[0x7f, 0xff], 0xff, &[0x08, 0x08]),
        ("Binary8p1ue", none, none, &[0x7f, 0xff], 0xfe, &[0x04, 0x0c]),
        ("Binary8p1uf", none, none, &[0x00, 0x80], 0x00, &[0x00, 0x08]),
    ];
    let all_nan: Row<'_> = ("Binary8p1uf", none, none, &[0x80, 0x80], 0xff, &[0x08, 0x08]);
    for (scale_format, rho_s, rho, operand, scale, elements) in rows.into_iter().chain([all_nan]) {
        let text = format!(
            "ConvertToBlockMaxAbsFinite<{}, Binary8p4se, {scale_format}, Binary4p2sf, {rho_s}, {rho}>",
            operand.len()
        );
        match parse(&text).call_blocks(&[Argument::Sequence(operand)], &[]) {
            Ok(Answer::Block(r)) => {
                assert_eq!(r.block(), Block { scale, elements }, "{text} {operand:x?}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    // The formulas against the draft's informative note: with one ∞ and SatFinite the scale is 224
    // and the element stays ∞.
    let text = "ConvertToBlockMaxAbsFinite<1, Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatFinite), \
                (NearestTiesToEven, SatNone)>";
    match parse(text).call_blocks(&[Argument::Sequence(&[0x7f])], &[]) {
        Ok(Answer::Block(r)) => assert_eq!(r.block(), Block { scale: 0x7e, elements: &[0x7f] }),
        other => panic!("{text}: {other:?}"),
    }
}

/// The stochastic golden vectors of X = 21/16 as a sequence, the elements' words in ascending
/// order.
#[test]
fn golden_stochastic_sequences() {
    let rows = [
        ("StochasticA<2>", [0x04, 0x04, 0x05, 0x05]),
        ("StochasticB<2>", [0x04, 0x05, 0x05, 0x05]),
        ("StochasticC<2>", [0x04, 0x04, 0x05, 0x05]),
    ];
    for (mode, expected) in rows {
        // Binary8p6se: 21/16 = 1.3125 has five bits: code 0x40 is 1, and 2^−5 a step.
        let text = format!("ConvertToBlock<4, Binary8p6se, Binary8p1uf, Binary4p2sf, ({mode}, SatNone)>");
        let arguments = [Argument::Sequence(&[0x4a; 4]), Argument::Code(0x80)];
        match parse(&text).call_blocks(&arguments, &[0, 1, 2, 3]) {
            Ok(Answer::Block(r)) => assert_eq!(r.elements.codes, expected, "{mode}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}
