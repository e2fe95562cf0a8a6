//! All pairs of codes of the catalogue's formats of 8 bits or fewer, Tesla's at several biases and
//! P3109's of 8 bits, for every operation of two operands, every deterministic rounding mode and
//! three saturation modes, code and flags, against exact integers.
//!
//! The exact result of a pair is located once on the format's grid; the 18 projections follow from
//! that place. Without optimization every sixteenth row is checked, unless
//! `SMALLFLOAT_EXTENSIVE=1`.

use std::cmp::Ordering;

use rayon::prelude::*;
use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions, Semantics};
use smallfloat::{FlagPolicy, Format, Projection, Rounding, Saturation};
use smallfloat_oracle::fast::{Grid, Item, Spot};
use smallfloat_oracle::ops as slow;
use smallfloat_oracle::selection::{self, Extremum};
use smallfloat_oracle::{self as oracle, Policy};
use smallfloat_proof::{catalogue, core_flags, extensive, oracle_format, oracle_policy, p3109, tell, tesla};

/// The stride over the first operand.
fn stride() -> usize {
    if extensive() || !cfg!(debug_assertions) {
        return 1;
    }
    println!("LEFT OUT: 15 of 16 rows; a release build or SMALLFLOAT_EXTENSIVE=1 runs them all");
    16
}

/// The catalogue's formats, Tesla's at two biases in both readings, and four of the P3109 draft's;
/// in extensive runs all of the draft's with 8 bits, and Tesla's at both ends of the biases.
fn formats() -> Vec<Format> {
    let mut list = catalogue(8);
    for name in ["cfloat8_1_4_3", "cfloat8_1_5_2"] {
        for bias in [7, 15] {
            for subnormals in ["tesla", "gradual"] {
                list.push(format!("{name}:bias={bias},subnormals={subnormals}").parse().expect("a format"));
            }
        }
    }
    for name in ["binary8p3se", "binary8p4se", "binary8p3sf", "binary8p1uf"] {
        list.push(name.parse().expect("a format"));
    }
    if extensive() {
        list.extend(tesla([0, 63]).into_iter().filter(|format| format.width() == 8));
        list.extend(p3109(8..=8));
    }
    let mut distinct: Vec<Format> = Vec::new();
    for format in list {
        if !distinct.contains(&format) {
            distinct.push(format);
        }
    }
    distinct
}

/// A projection in both vocabularies.
struct How {
    core: Projection,
    oracle: Policy,
}

/// Roundings × SatFinite, SatPropagate, SatNone.
fn projections(format: &Format, semantics: Semantics) -> Vec<How> {
    let mut list = Vec::new();
    for &rounding in Rounding::DETERMINISTIC {
        for saturation in [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone] {
            let core = format.default_projection().with_rounding(rounding).with_saturation(saturation);
            list.push(How { core, oracle: policy(&core, semantics) });
        }
    }
    list
}

/// No result of P3109's semantics is −0, whatever the preset.
fn policy(projection: &Projection, semantics: Semantics) -> Policy {
    let policy = oracle_policy(projection);
    match semantics {
        Semantics::P3109 => Policy { negative_zero: oracle::NegativeZero::Zero, ..policy },
        Semantics::Ieee => policy,
    }
}

fn oracle_semantics(semantics: Semantics) -> slow::Semantics {
    match semantics {
        Semantics::Ieee => slow::Semantics::Ieee,
        Semantics::P3109 => slow::Semantics::P3109,
    }
}

/// The place of an outcome of the slow operations, which are asked where an operand is special or a
/// zero and for formats too wide for integers. The sign of a zero that the rounding mode decides
/// shows by asking for two modes.
fn slow_spot(grid: &Grid, outcome: impl Fn(oracle::Rounding) -> slow::Outcome) -> (Spot, oracle::Flags) {
    let (exact, flags) = outcome(oracle::Rounding::NearestEven);
    let spot = grid.locate_exact(&exact);
    if let Spot::Zero { negative: Some(negative) } = spot {
        let down = outcome(oracle::Rounding::TowardNegative).0.is_negative();
        return (Spot::Zero { negative: (negative == down).then_some(negative) }, flags);
    }
    (spot, flags)
}

/// The exact result of one pair.
fn arithmetic(
    operation: Operation,
    grid: &Grid,
    x: &Item,
    y: &Item,
    semantics: slow::Semantics,
) -> (Spot, oracle::Flags) {
    if let (Some(a), Some(b)) = (x.steps, y.steps) {
        let spot = match operation {
            Operation::Add => grid.sum(a + b),
            Operation::Subtract => grid.sum(a - b),
            Operation::Multiply => grid.product(a * b),
            Operation::Divide => grid.quotient(a, b),
            Operation::Remainder => grid.remainder(a, b, true),
            Operation::Fmod => grid.remainder(a, b, false),
            other => panic!("{other:?} is no arithmetic of two operands"),
        };
        return (spot, oracle::Flags::NONE);
    }
    let (a, b) = (&x.exact, &y.exact);
    slow_spot(grid, |rounding| match operation {
        Operation::Add => slow::add(a, b, rounding, semantics),
        Operation::Subtract => slow::sub(a, b, rounding, semantics),
        Operation::Multiply => slow::mul(a, b, semantics),
        Operation::Divide => slow::div(a, b, semantics),
        Operation::Remainder => slow::remainder(a, b, true, semantics),
        Operation::Fmod => slow::remainder(a, b, false, semantics),
        other => panic!("{other:?} is no arithmetic of two operands"),
    })
}

/// Operand flags: D and I.
fn operand_flags(items: &[&Item]) -> oracle::Flags {
    let mut flags = oracle::Flags::NONE;
    for item in items {
        if item.subnormal {
            flags |= oracle::Flags::DENORMAL;
        }
        if item.exact.is_nan() {
            flags |= oracle::Flags::INVALID;
        }
    }
    flags
}

/// Everything of one format that the pairs need.
struct Sheet {
    format: Format,
    grid: Grid,
    items: Vec<Item>,
    arithmetic: OperationOptions,
    /// The order of values, −0 below +0, and of magnitudes; meaningless for NaN.
    values: Vec<usize>,
    magnitudes: Vec<usize>,
}

impl Sheet {
    fn new(format: Format) -> Self {
        let grid = Grid::new(&oracle_format(&format));
        let items = grid.items();
        let rank = |order: &dyn Fn(&Item, &Item) -> Ordering| -> Vec<usize> {
            items
                .iter()
                .map(|x| {
                    let below =
                        |y: &&Item| !x.exact.is_nan() && !y.exact.is_nan() && order(y, x) == Ordering::Less;
                    items.iter().filter(below).count()
                })
                .collect()
        };
        let values = rank(&|x, y| selection::signed_order(&x.exact, &y.exact));
        let magnitudes = rank(&|x, y| {
            selection::compare(&selection::absolute(&x.exact), &selection::absolute(&y.exact))
                .expect("no NaN")
        });
        // The oracle's flags are Tesla's.
        let arithmetic = OperationOptions::default_for([&format]).with_flags(FlagPolicy::TESLA);
        Self { format, grid, items, arithmetic, values, magnitudes }
    }

    /// Returns whether a code is the expected one. IEEE 754 leaves the sign of a NaN open where an
    /// operand was one.
    fn agrees(&self, got: u64, expected: u64, nan_operand: bool) -> bool {
        let free = self.grid.format().has_signed_nan() && self.format.decode(expected).is_nan();
        got == expected || (nan_operand && free && (got ^ expected) == self.grid.format().sign_bit())
    }

    /// The code of a NaN operand with the sign of the result: with IEEE's semantics nothing else
    /// changes.
    fn nan_with_sign(&self, x: &Item, result: Spot) -> Option<u64> {
        match result {
            Spot::Nan { negative } if x.exact.is_nan() && self.arithmetic.semantics == Semantics::Ieee => {
                self.grid.format().nan_with_sign(x.code, negative)
            }
            _ => None,
        }
    }

    fn text(&self, what: &str, x: u64, y: u64, projection: &Projection, got: &str, expected: &str) -> String {
        format!(
            "{} {what} {x:02x} {y:02x} ({:?}, {:?}) {:?}: got {got}, expected {expected}",
            self.format, projection.rounding, projection.saturation, self.arithmetic.semantics
        )
    }

    /// All pairs with x's code in one row.
    fn row(&self, operation: Operation, x: &Item, hows: &[How], wrong: &mut Vec<String>) -> u64 {
        let semantics = oracle_semantics(self.arithmetic.semantics);
        let extremum = operation.name().parse::<Extremum>().ok();
        for y in &self.items {
            let nan = x.exact.is_nan() || y.exact.is_nan();
            let mut quiet = false;
            let (spot, raised) = if let Some(kind) = extremum {
                let (a, b) = (index(x), index(y));
                let values = self.values[a].cmp(&self.values[b]);
                let magnitudes = self.magnitudes[a].cmp(&self.magnitudes[b]);
                let second = kind.takes_second(&x.exact, &y.exact, values, magnitudes);
                (if second { y.spot } else { x.spot }, operand_flags(&[x, y]))
            } else if operation == Operation::CopySign {
                quiet = true;
                let exact = selection::copy_sign(&x.exact, &y.exact, semantics);
                let spot = if exact.is_nan() {
                    Spot::Nan { negative: exact.is_negative() }
                } else {
                    x.spot.with_sign(exact.is_negative())
                };
                (spot, oracle::Flags::NONE)
            } else {
                let (spot, raised) = arithmetic(operation, &self.grid, x, y, semantics);
                (spot, raised | operand_flags(&[x, y]))
            };
            for projection in hows {
                let (code, rounded) = self.grid.project(spot, &projection.oracle);
                let code = if quiet { self.nan_with_sign(x, spot).unwrap_or(code) } else { code };
                // A sign operation says nothing of a NaN that it passes on.
                let silent = quiet && matches!(spot, Spot::Nan { .. }) && self.format.has_nan();
                let flags = core_flags(if silent { oracle::Flags::NONE } else { rounded | raised });
                let operands = [Operand::new(x.code, &self.format), Operand::new(y.code, &self.format)];
                let got = operation.evaluate(&operands, &self.format, &projection.core, self.arithmetic);
                if got.flags != flags || !self.agrees(got.value, code, nan && !quiet) {
                    let got = format!("{:02x} {}", got.value, got.flags);
                    let expected = format!("{code:02x} {flags}");
                    wrong.push(self.text(
                        operation.name(),
                        x.code,
                        y.code,
                        &projection.core,
                        &got,
                        &expected,
                    ));
                }
            }
        }
        (self.items.len() * hows.len()) as u64
    }

    fn compare_row(&self, x: &Item, wrong: &mut Vec<String>) -> u64 {
        for y in &self.items {
            let flags = core_flags(operand_flags(&[x, y]));
            let order = selection::compare(&x.exact, &y.exact);
            for &(name, which) in Comparison::NAMED {
                let expected = match order {
                    None => false,
                    Some(order) => match name {
                        "CompareLess" => order == Ordering::Less,
                        "CompareLessEqual" => order != Ordering::Greater,
                        "CompareEqual" => order == Ordering::Equal,
                        "CompareGreater" => order == Ordering::Greater,
                        "CompareGreaterEqual" => order != Ordering::Less,
                        other => panic!("no oracle for {other}"),
                    },
                };
                let (left, right) = (Operand::new(x.code, &self.format), Operand::new(y.code, &self.format));
                let got = which.evaluate_with(left, right, FlagPolicy::TESLA);
                if (got.value, got.flags) != (expected, flags) {
                    wrong.push(format!(
                        "{} {name} {:02x} {:02x}: got {} {}, expected {expected} {flags}",
                        self.format, x.code, y.code, got.value, got.flags
                    ));
                }
            }
        }
        (self.items.len() * Comparison::NAMED.len()) as u64
    }
}

fn index(item: &Item) -> usize {
    usize::try_from(item.code).expect("a small code")
}

fn check(what: &str, sheets: &[Sheet], row: impl Fn(&Sheet, &Item, &mut Vec<String>) -> u64 + Sync) -> u64 {
    let start = std::time::Instant::now();
    let rows: Vec<(&Sheet, &Item)> = sheets
        .iter()
        .flat_map(|sheet| sheet.items.iter().map(move |item| (sheet, item)))
        .step_by(stride())
        .collect();
    let results: Vec<(u64, Vec<String>)> = rows
        .par_iter()
        .map(|(sheet, item)| {
            let mut wrong = Vec::new();
            (row(sheet, item, &mut wrong), wrong)
        })
        .collect();
    let compared: u64 = results.iter().map(|r| r.0).sum();
    let wrong: Vec<&String> = results.iter().flat_map(|r| &r.1).collect();
    tell(what, compared, start);
    let shown: Vec<&str> = wrong.iter().step_by(1 + wrong.len() / 24).map(|s| s.as_str()).collect();
    assert!(
        wrong.is_empty(),
        "{what}: {} of {compared} differ, among them:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    compared
}

fn sheets() -> Vec<Sheet> {
    formats().into_par_iter().map(Sheet::new).collect()
}

fn check_operations(what: &str, operations: &[Operation]) {
    let sheets = sheets();
    let hows: Vec<Vec<How>> =
        sheets.iter().map(|sheet| projections(&sheet.format, sheet.arithmetic.semantics)).collect();
    let position = |sheet: &Sheet| sheets.iter().position(|s| s.format == sheet.format).expect("its own");
    let mut compared = 0;
    for &operation in operations {
        compared += check(operation.name(), &sheets, |sheet, x, wrong| {
            sheet.row(operation, x, &hows[position(sheet)], wrong)
        });
    }
    println!("{what}: {} formats, {compared} results", sheets.len());
}

#[test]
fn arithmetic_of_all_pairs() {
    let operations = [
        Operation::Add,
        Operation::Subtract,
        Operation::Multiply,
        Operation::Divide,
        Operation::Remainder,
        Operation::Fmod,
    ];
    check_operations("arithmetic", &operations);
}

#[test]
fn selections_of_all_pairs() {
    let operations: Vec<Operation> = Operation::all()
        .filter(|o| *o == Operation::CopySign || o.name().parse::<Extremum>().is_ok())
        .collect();
    assert_eq!(operations.len(), 11);
    check_operations("selections", &operations);
}

#[test]
fn comparisons_of_all_pairs() {
    check("comparisons", &sheets(), Sheet::compare_row);
}

/// Operations of one operand, over all codes; roots against big integers.
#[test]
fn unary_operations_of_all_codes() {
    let operations: Vec<Operation> = Operation::all().filter(|o| o.is_basic() && o.arity() == 1).collect();
    let sheets = sheets();
    for operation in operations {
        check(operation.name(), &sheets, |sheet, x, wrong| {
            let semantics = oracle_semantics(sheet.arithmetic.semantics);
            let one = oracle::Exact::ratio(1, 1);
            let (exact, raised) = match operation {
                Operation::Convert => (x.exact.clone(), oracle::Flags::NONE),
                Operation::Negate => (slow::negate(&x.exact), oracle::Flags::NONE),
                Operation::Abs => (selection::absolute(&x.exact), oracle::Flags::NONE),
                Operation::Sqrt => slow::sqrt(&x.exact, semantics),
                Operation::Recip => slow::div(&one, &x.exact, semantics),
                other => panic!("no oracle for {other:?}"),
            };
            let quiet = matches!(operation, Operation::Negate | Operation::Abs);
            let spot = sheet.grid.locate_exact(&exact);
            let hows = projections(&sheet.format, sheet.arithmetic.semantics);
            for projection in &hows {
                let (code, rounded) = sheet.grid.project(spot, &projection.oracle);
                let code = if quiet { sheet.nan_with_sign(x, spot).unwrap_or(code) } else { code };
                let silent = quiet && exact.is_nan() && sheet.format.has_nan();
                let flags = match (silent, quiet) {
                    (true, _) => oracle::Flags::NONE,
                    (false, true) => rounded,
                    (false, false) => rounded | raised | operand_flags(&[x]),
                };
                let flags = core_flags(flags);
                let operand = [Operand::new(x.code, &sheet.format)];
                let got = operation.evaluate(&operand, &sheet.format, &projection.core, sheet.arithmetic);
                if got.flags != flags || !sheet.agrees(got.value, code, x.exact.is_nan() && !quiet) {
                    let got = format!("{:02x} {}", got.value, got.flags);
                    wrong.push(sheet.text(
                        operation.name(),
                        x.code,
                        0,
                        &projection.core,
                        &got,
                        &format!("{code:02x} {flags}"),
                    ));
                }
            }
            hows.len() as u64
        });
    }
}

/// The two writings of the oracle agree: places and their projection against the table of the slow
/// one.
#[test]
fn the_fast_oracle_agrees_with_the_slow_one() {
    let start = std::time::Instant::now();
    let mut compared = 0_u64;
    for sheet in sheets() {
        let semantics = sheet.arithmetic.semantics;
        let table = oracle::Table::new(sheet.grid.format());
        let hows = projections(&sheet.format, semantics);
        for (i, x) in sheet.items.iter().enumerate().step_by(7) {
            for (j, y) in sheet.items.iter().enumerate().skip(i % 5).step_by(5) {
                let projection = &hows[(i + j) % hows.len()];
                let (a, b, s) = (&x.exact, &y.exact, oracle_semantics(semantics));
                let slow = [
                    (Operation::Add, slow::add(a, b, projection.oracle.rounding, s)),
                    (Operation::Subtract, slow::sub(a, b, projection.oracle.rounding, s)),
                    (Operation::Multiply, slow::mul(a, b, s)),
                    (Operation::Divide, slow::div(a, b, s)),
                    (Operation::Remainder, slow::remainder(a, b, true, s)),
                    (Operation::Fmod, slow::remainder(a, b, false, s)),
                ];
                for (operation, (exact, flags)) in slow {
                    let (spot, fast_flags) = arithmetic(operation, &sheet.grid, x, y, s);
                    assert_eq!(fast_flags, flags);
                    let (fast, expected) = (
                        sheet.grid.project(spot, &projection.oracle),
                        table.round(&exact, &projection.oracle),
                    );
                    assert_eq!(
                        fast, expected,
                        "{} {operation:?} {i:02x} {j:02x} {:?}",
                        sheet.format, projection.oracle
                    );
                    compared += 1;
                }
            }
        }
    }
    tell("fast against slow", compared, start);
}
