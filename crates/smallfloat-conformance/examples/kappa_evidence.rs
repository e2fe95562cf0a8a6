//! Prints a section of `docs/evidence/correctness.md`: κ of exponentials as they are really
//! computed. The argument is the date; `just kappa` runs it.

use std::fmt::Write as _;
use std::time::Instant;

use smallfloat::p3109::Specialization;
use smallfloat_conformance::implementation::{Implementation, ImplementationSpec};
use smallfloat_conformance::kappa::{Gauge, GaugeOptions, sweep};

const RESULTS: [&str; 4] = ["Binary8p3se", "Binary8p4se", "e4m3fn", "cfloat8_1_4_3:bias=7"];
const VARIANTS: [&str; 12] = [
    "f64-libm",
    "f32-libm",
    "f32-libm,then=bfloat16",
    "bfloat16",
    "f32-libm,flush=zero",
    "f32-libm,flush=nearest",
    "taylor,degree=2",
    "taylor,degree=5",
    "taylor,degree=5,in=binary16",
    "taylor,degree=5,in=bfloat16",
    "table,entries=16",
    "table,entries=64",
];

const MEANING: &str = "\
κ is the largest number of steps from value to value between the defined result, which is rounded once from the exact one, and
the given result. κ = 0 says that for these operands the implementation *is* the operation and may bear its name. κ = 1 says
that every result is the defined one or a neighbour of it: what rounding twice does (through bfloat16), and what a polynomial or a
table of too few bits does. Which of two neighbours is given differs for the share of operands whose exact result lies near a tie,
so the second number of a cell tells good implementations apart where κ does not.

A flush shows as the number of subnormal values: three in Binary8p3se, seven in formats of four bits of precision, and about half
of that where the nearer of 0 and the smallest normal value is given, P3109's example. In Tesla's CFloat8 the largest
subnormal value is 7/16 of the smallest normal one, so the nearer is always 0. A flush hides whatever else an implementation does,
unless κ is stated apart for the operands whose results are normal (`--interval`).";

fn measure(operand: &str, result: &str, variant: &str) -> Result<Gauge, Box<dyn std::error::Error>> {
    let operation: Specialization =
        format!("Exp<{operand}, {result}, (NearestTiesToEven, SatFinite)>").parse()?;
    let recipe: ImplementationSpec = variant.parse()?;
    let variant = Implementation::new(&recipe, &operation)?;
    Ok(sweep(&operation, |codes| variant.call(codes), GaugeOptions::default(), &|_| ())?)
}

fn table(operand: &str, variants: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let header = RESULTS.map(|result| format!("`{result}`")).join(" | ");
    println!("| variant | {header} |\n|{}", " --- |".repeat(RESULTS.len() + 1));
    for variant in variants {
        let mut row = format!("| `{variant}` |");
        for result in RESULTS {
            let gauge = measure(operand, result, variant)?;
            let total = gauge.total();
            write!(row, " {}; {} |", total.kappa(), total.differing())?;
        }
        println!("{row}");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let date = std::env::args().nth(1).ok_or("give the date: kappa_evidence 2026-01-31 [--all]")?;
    let all = std::env::args().any(|argument| argument == "--all");
    let start = Instant::now();
    println!("# Evidence: κ of exponentials\n");
    println!(
        "`just kappa`, {date}: `Exp<operand, result, (NearestTiesToEven, SatFinite)>` as others compute it. A cell has κ and"
    );
    println!(
        "the number of operands whose result is not the defined one. [How it is measured](../p3109.md).\n"
    );
    println!("{MEANING}\n");
    println!("## All 65,536 bfloat16 operands\n");
    table("bfloat16", &VARIANTS)?;
    if all {
        println!("\n## All 4,294,967,296 binary32 operands\n");
        table("binary32", &["f32-libm"])?;
    } else {
        println!("\nBinary32 operands were left out; `just kappa --all` tries all 2^32.");
    }
    println!("\nMeasured in {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}
