//! All pairs of codes of the catalogue's formats of 8 bits or fewer, Tesla's at several biases and
//! P3109's of 8 bits, for every operation of two operands, every deterministic rounding mode and
//! three saturation modes, code and flags, against exact integers.
//!
//! The exact result of a pair is located once on the format's grid; the 18 projections follow from
//! that place. Without optimization every sixteenth row is checked, unless
//! `SMALLFLOAT_EXTENSIVE=1`.

use std::cmp::Ordering;

use rayon::prelude::*;
use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions};
use smallfloat::{FlagPolicy, Format, Projection};
use smallfloat_oracle::fast::{Grid, Item, Projected, Spot};
use smallfloat_oracle::selection::{self, Extremum};
use smallfloat_oracle::{self as oracle, Policy, ops as slow};
use smallfloat_proof::located::{
    Located, ProjectionPair, operand_flags, oracle_semantics, pair, projections, small_formats, unary,
};
use smallfloat_proof::{core_flags, extensive, oracle_format, tell};

/// The stride over the first operand.
fn stride() -> usize {
    if extensive() || !cfg!(debug_assertions) {
        return 1;
    }
    println!("LEFT OUT: 15 of 16 rows; a release build or SMALLFLOAT_EXTENSIVE=1 runs them all");
    16
}

/// Everything of one format that the pairs need.
struct Sheet {
    format: Format,
    grid: Grid,
    items: Vec<Item>,
    arithmetic: OperationOptions,
    projections: Vec<ProjectionPair>,
    /// What the projections make of every place.
    projected: Projected,
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
        let projections = projections(&format, arithmetic.semantics);
        let policies: Vec<Policy> = projections.iter().map(|projection| projection.oracle).collect();
        let projected = Projected::new(&grid, &policies);
        Self { format, grid, items, arithmetic, projections, projected, values, magnitudes }
    }

    /// Returns whether a code is the expected one. IEEE 754 leaves the sign of a NaN open where an
    /// operand was one.
    fn agrees(&self, got: u64, expected: u64, nan_operand: bool) -> bool {
        let free = self.grid.format().has_signed_nan() && self.format.decode(expected).is_nan();
        got == expected || (nan_operand && free && (got ^ expected) == self.grid.format().sign_bit())
    }

    fn text(&self, what: &str, x: u64, y: u64, projection: &Projection, got: &str, expected: &str) -> String {
        format!(
            "{} {what} {x:02x} {y:02x} ({:?}, {:?}) {:?}: got {got}, expected {expected}",
            self.format, projection.rounding, projection.saturation, self.arithmetic.semantics
        )
    }

    /// All pairs with x's code in one row.
    fn row(&self, operation: Operation, x: &Item, wrong: &mut Vec<String>) -> u64 {
        let semantics = oracle_semantics(self.arithmetic.semantics);
        let extremum = operation.name().parse::<Extremum>().ok();
        for y in &self.items {
            let nan = x.exact.is_nan() || y.exact.is_nan();
            let located = if let Some(kind) = extremum {
                let (a, b) = (index(x), index(y));
                let values = self.values[a].cmp(&self.values[b]);
                let magnitudes = self.magnitudes[a].cmp(&self.magnitudes[b]);
                let second = kind.takes_second(&x.exact, &y.exact, values, magnitudes);
                let spot = if second { y.spot } else { x.spot };
                Located { spot, raised: operand_flags(&[x, y]), passed: None }
            } else if operation == Operation::CopySign {
                let exact = selection::copy_sign(&x.exact, &y.exact, semantics);
                let negative = exact.is_negative();
                let is_nan = exact.is_nan();
                Located::passed(if is_nan { Spot::Nan { negative } } else { x.spot.with_sign(negative) }, x)
            } else {
                pair(operation, &self.grid, [x, y], semantics)
            };
            let operands = [Operand::new(x.code, &self.format), Operand::new(y.code, &self.format)];
            for (projection, &rounded) in self.projections.iter().zip(self.projected.of(located.spot)) {
                let (code, flags) = located.projected(&self.grid, semantics, rounded);
                let flags = core_flags(flags);
                let got = operation.evaluate(&operands, &self.format, &projection.core, self.arithmetic);
                if got.flags != flags || !self.agrees(got.value, code, nan && located.passed.is_none()) {
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
        (self.items.len() * self.projections.len()) as u64
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
    small_formats().into_par_iter().map(Sheet::new).collect()
}

fn check_operations(what: &str, operations: &[Operation]) {
    let sheets = sheets();
    let mut compared = 0;
    for &operation in operations {
        compared += check(operation.name(), &sheets, |sheet, x, wrong| sheet.row(operation, x, wrong));
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
            let located = unary(operation, &sheet.grid, x, semantics);
            for (projection, &rounded) in sheet.projections.iter().zip(sheet.projected.of(located.spot)) {
                let (code, flags) = located.projected(&sheet.grid, semantics, rounded);
                let flags = core_flags(flags);
                let operand = [Operand::new(x.code, &sheet.format)];
                let got = operation.evaluate(&operand, &sheet.format, &projection.core, sheet.arithmetic);
                if got.flags != flags
                    || !sheet.agrees(got.value, code, x.exact.is_nan() && located.passed.is_none())
                {
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
            sheet.projections.len() as u64
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
        for (i, x) in sheet.items.iter().enumerate().step_by(7) {
            for (j, y) in sheet.items.iter().enumerate().skip(i % 5).step_by(5) {
                let chosen = (i + j) % sheet.projections.len();
                let projection = &sheet.projections[chosen];
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
                    let located = pair(operation, &sheet.grid, [x, y], s);
                    assert_eq!(located.raised, flags | operand_flags(&[x, y]));
                    let (fast, expected) =
                        (sheet.projected.of(located.spot)[chosen], table.round(&exact, &projection.oracle));
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
