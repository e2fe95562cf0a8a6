//! Specifications in SystemVerilog as `smallfloat-rtl` writes them, compiled by Verilator and held
//! against exact arithmetic, code and flags: neither the core nor what writes them is asked.
//!
//! Without `SMALLFLOAT_EXTENSIVE=1` a few formats, and of binary32 operands the ends of all
//! intervals with one result; with it all formats, and all 2^32 operands of binary32. Without
//! Verilator nothing is compared, which fails with `CI=true` or `CI_STRICT=1`.

mod machine;

use std::env;
use std::process::{Command, Stdio};
use std::time::Instant;

use rayon::prelude::*;
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32};
use smallfloat::ops::{Operation, OperationOptions, Semantics};
use smallfloat::p3109::Specialization;
use smallfloat::{FlagOrder, FlagPolicy, Flags, Format, Projection, RandomBits, Rounding};
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_oracle::fast::{Grid, Item, Spot};
use smallfloat_oracle::{self as oracle, Exact, OracleFormat, Table, Value, f32_runs};
use smallfloat_proof::located::{
    Located, ProjectionPair, oracle_semantics, pair, projections, small_formats, triple, unary,
};
use smallfloat_proof::{core_flags, extensive, format, oracle_format, tell};
use smallfloat_rtl::Specification;

use machine::{Case, Extent, Run, compare};

/// As many specifications are compiled into one program.
const AT_ONCE: usize = 24;

/// Returns whether Verilator is there.
fn has_verilator() -> bool {
    let run = Command::new("verilator").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if run.is_ok() {
        return true;
    }
    println!("LEFT OUT: no verilator");
    let is_strict = |name: &str, value: &str| env::var(name).is_ok_and(|given| given == value);
    assert!(!is_strict("CI", "true") && !is_strict("CI_STRICT", "1"), "verilator is missing");
    false
}

/// Compares cases, those that have the same inputs in one program.
fn hold(what: &str, mut cases: Vec<Case>, extent: Extent) {
    let start = Instant::now();
    cases.sort_by_key(Case::widths);
    let alike: Vec<&[Case]> =
        cases.chunk_by(|a, b| a.widths() == b.widths()).flat_map(|cases| cases.chunks(AT_ONCE)).collect();
    let answers: Vec<_> = alike.par_iter().map(|cases| compare(cases, extent)).collect();
    let wrong: Vec<&str> =
        answers.iter().filter_map(|answer| answer.as_ref().err()).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
    let compared = answers.into_iter().flatten().sum();
    tell(&format!("{what}, {} specifications", cases.len()), compared, start);
}

/// The specification of an operation, with all six flags by Tesla's rules, which are the oracle's.
fn specification(operation: &str, projection: Projection) -> Specification {
    let operation: Specialization = operation.parse().unwrap_or_else(|e| panic!("{operation}: {e}"));
    let operation = operation.with_projections(&[projection]).expect("a projection");
    let arithmetic = operation.arithmetic().with_flags(FlagPolicy::TESLA);
    let unit = UnitUnderTest::new(operation.with_arithmetic(arithmetic), None).expect("a unit");
    Specification::new(unit).expect("a specification").with_flags(Flags::ALL)
}

fn conversion(from: &Format, to: &Format, projection: Projection) -> Specification {
    specification(&format!("Convert<{from}, {to}, semantics=ieee>"), projection)
}

/// The semantics that operations on a format have.
fn semantics(format: &Format) -> Semantics {
    OperationOptions::default_for([format]).semantics
}

fn run(last: u64, (result, flags): (u64, oracle::Flags)) -> Run {
    Run { last, result, flags: core_flags(flags).bits_in(FlagOrder::Fflags).into(), open: 0 }
}

/// What a conversion of a code has to round, and the flag that the code raises.
fn operand(format: &OracleFormat, code: u64) -> (Exact, oracle::Flags) {
    let raised = if format.is_subnormal(code) { oracle::Flags::DENORMAL } else { oracle::Flags::NONE };
    (Exact::from(format.value(code)), raised)
}

/// A conversion under some projections, for every code.
fn conversions(from: &Format, to: &Format, projections: &[ProjectionPair]) -> Vec<Case> {
    let source = oracle_format(from);
    let operands: Vec<_> = (0..source.code_count()).map(|code| operand(&source, code)).collect();
    let table = (to.width() > 16).then(|| Table::new(&oracle_format(to)));
    let grid = table.is_none().then(|| Grid::new(&oracle_format(to)));
    let spots: Vec<Spot> =
        grid.iter().flat_map(|grid| operands.iter().map(|(exact, _)| grid.locate_exact(exact))).collect();
    let case = |projection: &ProjectionPair| {
        let answers = (0_u64..).zip(&operands).enumerate().map(|(i, (code, (exact, raised)))| {
            let (result, flags) = match (&grid, &table) {
                (Some(grid), _) => grid.project(spots[i], &projection.oracle),
                (_, Some(table)) => table.round(exact, &projection.oracle),
                _ => unreachable!("one of both"),
            };
            run(code, (result, flags | *raised))
        });
        Case::new(conversion(from, to, projection.core), answers)
    };
    projections.iter().map(case).collect()
}

/// An operation on codes of one format, for all of them.
struct Sheet {
    format: Format,
    grid: Grid,
    items: Vec<Item>,
    semantics: oracle::ops::Semantics,
}

impl Sheet {
    fn new(format: &Format) -> Self {
        let grid = Grid::new(&oracle_format(format));
        let items = grid.items();
        Self { format: *format, grid, items, semantics: oracle_semantics(semantics(format)) }
    }

    /// The projections of its format, all or some.
    fn projections(&self) -> Vec<ProjectionPair> {
        some(&projections(&self.format, semantics(&self.format)))
    }

    fn case<'a>(
        &'a self,
        operation: Operation,
        projection: &ProjectionPair,
        results: impl Iterator<Item = (Located<'a>, bool)>,
    ) -> Case {
        let format = self.grid.format();
        let answers = (0_u64..).zip(results).map(|(input, (located, has_nan))| {
            let answer = located.project(&self.grid, self.semantics, &projection.oracle);
            // IEEE 754 leaves the sign of a NaN open where an operand was one.
            let is_open = has_nan
                && located.passed.is_none()
                && format.has_signed_nan()
                && matches!(format.value(answer.0), Value::Nan { .. });
            Run { open: if is_open { format.sign_bit() } else { 0 }, ..run(input, answer) }
        });
        Case::new(specification(&format!("{}<{}>", operation.name(), self.format), projection.core), answers)
    }

    fn unary(&self, operation: Operation) -> Vec<Case> {
        let located = |x| unary(operation, &self.grid, x, self.semantics);
        let results: Vec<_> = self.items.iter().map(|x| (located(x), x.exact.is_nan())).collect();
        self.projections()
            .iter()
            .map(|projection| self.case(operation, projection, results.iter().copied()))
            .collect()
    }

    fn pairs(&self, operation: Operation) -> Vec<Case> {
        let pairs = self.items.iter().flat_map(|x| self.items.iter().map(move |y| [x, y]));
        let located = |operands| pair(operation, &self.grid, operands, self.semantics);
        let results: Vec<_> = pairs.map(|operands| (located(operands), has_nan(&operands))).collect();
        self.projections()
            .iter()
            .map(|projection| self.case(operation, projection, results.iter().copied()))
            .collect()
    }

    fn triples(&self, operation: Operation, projection: &ProjectionPair) -> Case {
        let pairs = self.items.iter().flat_map(|x| self.items.iter().map(move |y| [x, y]));
        let triples = pairs.flat_map(|[x, y]| self.items.iter().map(move |z| [x, y, z]));
        let located = |operands| triple(operation, &self.grid, operands, self.semantics);
        self.case(operation, projection, triples.map(|operands| (located(operands), has_nan(&operands))))
    }
}

fn has_nan(items: &[&Item]) -> bool {
    items.iter().any(|item| item.exact.is_nan())
}

/// All of a format's 18 projections, or one of each rounding, with another saturation each.
fn some(projections: &[ProjectionPair]) -> Vec<ProjectionPair> {
    if extensive() {
        return projections.to_vec();
    }
    projections.chunks(3).enumerate().map(|(i, saturations)| saturations[i % 3]).collect()
}

/// All formats of at most 8 bits, or these.
fn formats(few: &[&str]) -> Vec<Format> {
    if extensive() {
        return small_formats();
    }
    println!("LEFT OUT without SMALLFLOAT_EXTENSIVE=1: all formats but {}", few.join(", "));
    few.iter().map(|name| format(name)).collect()
}

#[test]
fn conversions_of_16_bits() {
    if !has_verilator() {
        return;
    }
    let few = ["e4m3fn", "cfloat8_1_4_3:bias=7", "binary8p3se", "e8m0fnu"];
    let formats = formats(&few);
    for from in if extensive() { &[BINARY16, BFLOAT16][..] } else { &[BFLOAT16] } {
        let cases = formats
            .par_iter()
            .flat_map(|to| conversions(from, to, &some(&projections(to, Semantics::Ieee))))
            .collect();
        hold(&format!("conversions from {from}"), cases, Extent::All);
    }
}

/// Results of 16 and of 32 bits, which are no staircases.
#[test]
fn conversions_to_wide_formats() {
    if !has_verilator() {
        return;
    }
    let mut cases = Vec::new();
    let mut add = |from: &str, to: &str| {
        let (from, to) = (format(from), format(to));
        cases.extend(conversions(&from, &to, &some(&projections(&to, Semantics::Ieee))));
    };
    add("bfloat16", "binary16");
    if extensive() {
        add("binary16", "bfloat16");
        add("binary16", "shp:bias=31");
        add("binary16", "uhp");
    }
    for from in formats(&["e5m2", "cfloat8_1_5_2:bias=15", "binary8p3se"]) {
        add(&from.to_string(), "binary32");
        add(&from.to_string(), "bfloat16");
    }
    hold("conversions to 16 and 32 bits", cases, Extent::All);
}

/// A conversion from binary32 by the oracle's intervals that have one result.
fn conversion_of_binary32(to: &Format, projection: &ProjectionPair) -> Case {
    let runs = f32_runs(&oracle_format(to), &projection.oracle);
    let answers = runs.iter().map(|r| run(r.end_inclusive.into(), (r.code, oracle::Flags(r.flags))));
    Case::new(conversion(&BINARY32, to, projection.core), answers)
}

#[test]
fn conversions_of_binary32_at_the_ends_of_intervals() {
    if !has_verilator() {
        return;
    }
    let mut formats = formats(&["e4m3fn", "e5m2", "cfloat8_1_4_3:bias=7", "binary8p3se"]);
    if extensive() {
        formats.extend(["binary16", "bfloat16"].map(format));
    }
    let cases = formats
        .par_iter()
        .flat_map(|to| {
            let projections = some(&projections(to, Semantics::Ieee));
            projections.iter().map(|projection| conversion_of_binary32(to, projection)).collect::<Vec<Case>>()
        })
        .collect();
    hold("conversions of binary32", cases, Extent::Ends);
}

#[test]
fn conversions_of_all_binary32() {
    if !has_verilator() {
        return;
    }
    if !extensive() {
        println!("LEFT OUT without SMALLFLOAT_EXTENSIVE=1: conversions of all 2^32 binary32 operands");
        return;
    }
    for (i, name) in ["e4m3fn", "e5m2", "cfloat8_1_4_3:bias=7", "binary8p3se"].into_iter().enumerate() {
        let to = format(name);
        // To nearest even for two of them, toward zero and to odd for the others.
        let projection = &projections(&to, Semantics::Ieee)[[0, 12, 0, 15][i]];
        let case = conversion_of_binary32(&to, projection);
        hold(&format!("binary32 to {name}"), vec![case], Extent::All);
    }
}

#[test]
fn operations_on_one_code() {
    if !has_verilator() {
        return;
    }
    let mut formats = formats(&["e4m3fn", "cfloat8_1_4_3:bias=7", "binary8p3se"]);
    if extensive() {
        formats.extend(["binary16", "bfloat16"].map(format));
    }
    let operations = Operation::all().filter(|o| o.is_basic() && o.arity() == 1);
    let operations: Vec<Operation> = operations.collect();
    let cases = formats
        .par_iter()
        .map(Sheet::new)
        .flat_map(|sheet| {
            operations.iter().flat_map(|operation| sheet.unary(*operation)).collect::<Vec<Case>>()
        })
        .collect();
    hold("operations on one code", cases, Extent::All);
}

#[test]
fn arithmetic_on_two_codes() {
    if !has_verilator() {
        return;
    }
    for operation in [Operation::Add, Operation::Subtract, Operation::Multiply] {
        let few = ["e4m3fn", "cfloat8_1_4_3:bias=7", "binary8p3se", "e3m2fn"];
        // Of the others all operations would be much the same.
        let few = if operation == Operation::Add { &few[..] } else { &few[..2] };
        let cases = formats(few).par_iter().flat_map(|format| Sheet::new(format).pairs(operation)).collect();
        hold(operation.name(), cases, Extent::All);
    }
}

#[test]
fn arithmetic_on_three_codes() {
    if !has_verilator() {
        return;
    }
    let narrow = ["e2m1fn", "e2m3fn", "e3m2fn", "binary5p3se"].map(|name| Sheet::new(&format(name)));
    let mut cases = Vec::new();
    for operation in [Operation::Fma, Operation::Faa] {
        for sheet in &narrow {
            cases.extend(sheet.projections().iter().map(|projection| sheet.triples(operation, projection)));
        }
    }
    hold("FMA and FAA of at most 6 bits", cases, Extent::All);
    if !extensive() {
        println!("LEFT OUT without SMALLFLOAT_EXTENSIVE=1: FMA and FAA of 8 bits");
        return;
    }
    for (i, name) in ["e4m3fn", "e5m2", "cfloat8_1_4_3:bias=7", "binary8p3se"].into_iter().enumerate() {
        let sheet = Sheet::new(&format(name));
        let projection = &sheet.projections()[i % 3 * 3];
        // The sign of a NaN sum of three operands has no specification.
        let has_faa = !sheet.grid.format().has_signed_nan();
        for operation in [Operation::Fma, Operation::Faa].into_iter().take(1 + usize::from(has_faa)) {
            hold(
                &format!("{} of {name}", operation.name()),
                vec![sheet.triples(operation, projection)],
                Extent::All,
            );
        }
    }
}

/// The word is the last operand.
#[test]
fn random_words() {
    if !has_verilator() {
        return;
    }
    let bits = if extensive() { 8 } else { 3 };
    let mut cases = Vec::new();
    let modes = [Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC];
    let few = ["e4m3fn", "cfloat8_1_4_3:bias=7"];
    let more = ["e5m2", "binary8p3se", "cfloat8_1_5_2:bias=15,subnormals=gradual"];
    let names: Vec<&str> =
        few.into_iter().chain(if extensive() { &more[..] } else { &[] }.iter().copied()).collect();
    for (name, (i, mode)) in
        names.iter().flat_map(|name| modes.iter().enumerate().map(move |mode| (name, mode)))
    {
        let to = format(name);
        // In the hole of Tesla's denormals StochasticC has no specification.
        let has_hole = i == 2 && matches!(to.subnormals(), smallfloat::Subnormals::Tesla);
        if has_hole || i > 0 && !extensive() {
            continue;
        }
        let table = Table::new(&oracle_format(&to));
        let with_word = |word| {
            let rounding = mode(RandomBits::new(bits, word).expect("a word"));
            ProjectionPair::new(to.default_projection().with_rounding(rounding), Semantics::Ieee)
        };
        let projections: Vec<ProjectionPair> = (0..1 << bits).map(with_word).collect();
        let source = oracle_format(&BFLOAT16);
        let answers: Vec<Run> = (0..source.code_count())
            .into_par_iter()
            .flat_map_iter(|code| {
                let (exact, raised) = operand(&source, code);
                let of = |(word, projection): (u64, &ProjectionPair)| {
                    let (result, flags) = table.round(&exact, &projection.oracle);
                    run(code << bits | word, (result, flags | raised))
                };
                (0..).zip(&projections).map(of).collect::<Vec<Run>>()
            })
            .collect();
        cases.push(Case::new(conversion(&BFLOAT16, &to, projections[0].core), answers));
    }
    hold(&format!("random words of {bits} bits"), cases, Extent::All);
}

/// The bias is the last input.
#[test]
fn a_bias_port_is_every_bias() {
    if !has_verilator() {
        return;
    }
    let mut cases = Vec::new();
    for (from, to, rounding) in [
        ("bfloat16", "cfloat8_1_4_3", Rounding::NearestEven),
        ("e5m2", "cfloat8_1_4_3", Rounding::NearestEven),
        ("e4m3fn", "cfloat8_1_5_2", Rounding::TowardNegative),
        ("cfloat8_1_4_3", "e5m2", Rounding::NearestAway),
        ("cfloat8_1_5_2", "binary32", Rounding::NearestEven),
    ] {
        if from == "bfloat16" && !extensive() {
            continue;
        }
        let at = |name: &str, bias: u32| {
            let is_free = name.starts_with("cfloat8");
            format(&if is_free { format!("{name}:bias={bias}") } else { name.to_owned() })
        };
        let biases: Vec<Vec<Run>> = (0..64)
            .into_par_iter()
            .map(|bias| {
                let (source, to) = (oracle_format(&at(from, bias)), at(to, bias));
                let table = Table::new(&oracle_format(&to));
                let projection = to.default_projection().with_rounding(rounding);
                let policy = ProjectionPair::new(projection, Semantics::Ieee).oracle;
                let convert = |code| oracle::convert(code, &source, &table, &policy);
                (0..source.code_count()).map(|code| run(code << 6 | u64::from(bias), convert(code))).collect()
            })
            .collect();
        let codes = biases[0].len();
        let answers = (0..codes).flat_map(|code| biases.iter().map(move |of_bias| of_bias[code]));
        let (from, to) = (at(from, 0), at(to, 0));
        let projection = to.default_projection().with_rounding(rounding);
        let specification = conversion(&from, &to, projection).with_bias_port().expect("a bias");
        cases.push(Case::new(specification, answers));
    }
    hold("every bias by its port", cases, Extent::All);
}
