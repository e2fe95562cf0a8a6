//! Vectors with ports against the oracle: each line's first columns say which bias, rounding mode
//! and saturation mode hold for it.

use std::collections::{HashMap, HashSet};

use smallfloat::FlagOrder;
use smallfloat_conformance::vectors::{
    CoverageLevel, LineLayout, Selection, UnitUnderTest, VectorPlan, VectorSet,
};
use smallfloat_oracle::{self as oracle, Exact, OracleFormat, Rounding, Saturation, Table, formats, ops};
use smallfloat_proof::core_flags;

/// Modes by the numbers of RISC-V's `rm`, and of the ports of smallfloat beyond it.
const ROUNDINGS: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::TowardZero,
    Rounding::TowardNegative,
    Rounding::TowardPositive,
    Rounding::NearestAway,
    Rounding::ToOdd,
];
const SATURATIONS: [Saturation; 3] = [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone];

/// The lines of a unit with ports: the numbers of each.
fn lines(operation: &str, ports: &str, level: Option<CoverageLevel>, count: u64) -> Vec<Vec<u64>> {
    let unit = UnitUnderTest::new(operation.parse().expect(operation), None).expect(operation);
    let unit = unit.with_ports(&ports.parse().expect(ports)).expect(ports);
    let selection = Selection { count: Some(count), ..Selection::default() };
    let plan = VectorPlan::with_selection(&unit, level, 1, selection).expect("a plan");
    let mut text = Vec::new();
    VectorSet::new(unit, plan, None).write(LineLayout::TestFloat, &mut text).expect("memory takes all");
    let text = String::from_utf8(text).expect("text");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let number = |word| u64::from_str_radix(word, 16).expect("a hexadecimal number");
    lines.map(|line| line.split_ascii_whitespace().map(number).collect()).collect()
}

/// The bits of Tesla's flags in a line.
fn bits(flags: oracle::Flags) -> u64 {
    core_flags(flags.tesla()).bits_in(FlagOrder::Fflags).into()
}

fn policy(format: &OracleFormat, rounding: u64, saturation: u64) -> oracle::Policy {
    let at = |code: u64| usize::try_from(code).expect("a mode");
    let policy = oracle::preset("tesla", format);
    policy.with_rounding(ROUNDINGS[at(rounding)]).with_saturation(SATURATIONS[at(saturation)])
}

#[test]
fn conversions_at_every_setting() {
    let lines = lines(
        "Convert<binary16, cfloat8_1_4_3:bias=0, semantics=ieee>",
        "bias,rounding,saturation",
        Some(CoverageLevel::One),
        115_200,
    );
    let tables: Vec<Table> = (0..64).map(|bias| Table::new(&formats::cfloat8_1_4_3(bias))).collect();
    let mut settings = HashSet::new();
    for line in &lines {
        let [bias, rounding, saturation, x, result, flags] = line[..] else {
            panic!("six numbers: {line:x?}")
        };
        settings.insert([bias, rounding, saturation]);
        let table = &tables[usize::try_from(bias).expect("a bias")];
        let policy = policy(table.format(), rounding, saturation);
        let (code, raised) = oracle::convert(x, &formats::BINARY16, table, &policy);
        assert_eq!((result, flags), (code, bits(raised)), "{line:x?}");
    }
    assert_eq!((settings.len(), lines.len()), (64 * 6 * 3, 115_200));
}

/// Each operand and the result have a bias of their own.
#[test]
fn products_of_three_biases() {
    let format = "cfloat8_1_5_2:bias=0";
    let lines = lines(
        &format!("Multiply<{format}, {format}, {format}, semantics=ieee>"),
        "x_bias=0/15/16/63,rounding,result_bias=63/2/0,y_bias=31-33",
        Some(CoverageLevel::One),
        21_600,
    );
    let mut tables: HashMap<u64, Table> = HashMap::new();
    let mut settings = HashSet::new();
    for line in &lines {
        let [x_bias, rounding, result_bias, y_bias, x, y, result, flags] = line[..] else {
            panic!("eight numbers: {line:x?}");
        };
        settings.insert([x_bias, rounding, result_bias, y_bias]);
        let format = |bias: u64| formats::cfloat8_1_5_2(i64::try_from(bias).expect("a bias"));
        let table = tables.entry(result_bias).or_insert_with(|| Table::new(&format(result_bias)));
        let [x_format, y_format] = [format(x_bias), format(y_bias)];
        let exact = |format: &OracleFormat, code| Exact::from(format.value(code));
        let (exact, _) = ops::mul(&exact(&x_format, x), &exact(&y_format, y), ops::Semantics::Ieee);
        let (code, raised) = table.round(&exact, &policy(table.format(), rounding, 0));
        let denormal = x_format.is_subnormal(x) || y_format.is_subnormal(y);
        let raised = if denormal { raised | oracle::Flags::DENORMAL } else { raised };
        assert_eq!((result, flags), (code, bits(raised)), "{line:x?}");
    }
    assert_eq!(settings.len(), 4 * 6 * 3 * 3);
}
