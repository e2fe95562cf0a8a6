//! The P3109 draft's special cases for roots, exponentials, logarithms, trigonometric and
//! hyperbolic functions, row by row (D1 revised, September 2026, section "Numeric operations"), and
//! the golden vectors of blocks. Expected results are the draft's, or
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
const ROWS: &str = include_str!("../../../data/p3109-rows.txt");

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
