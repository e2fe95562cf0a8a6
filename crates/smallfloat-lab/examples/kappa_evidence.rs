//! Writes `docs/evidence/kappa.md`: κ of exponentials as they are really computed. The argument is the date; `just kappa` runs it.

use std::time::Instant;

use smallfloat::ops::Specialization;
use smallfloat_lab::kappa::{Gauge, Options, sweep};
use smallfloat_lab::variant::{Recipe, Variant};

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

fn measure(operand: &str, result: &str, variant: &str) -> Result<Gauge, Box<dyn std::error::Error>> {
    let operation: Specialization =
        format!("Exp<{operand}, {result}, (NearestTiesToEven, SatFinite)>").parse()?;
    let recipe: Recipe = variant.parse()?;
    let variant = Variant::new(&recipe, &operation)?;
    Ok(sweep(&operation, |codes| variant.call(codes), Options::default(), &|_| ())?)
}

fn table(operand: &str, variants: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let header = RESULTS.map(|result| format!("`{result}`")).join(" | ");
    println!("| variant | {header} |\n|{}", " --- |".repeat(RESULTS.len() + 1));
    for variant in variants {
        let mut row = format!("| `{variant}` |");
        for result in RESULTS {
            let gauge = measure(operand, result, variant)?;
            let total = gauge.total();
            row += &format!(" {}; {} |", total.kappa(), total.differing());
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
        "the number of operands whose result is not the defined one. [How it is measured](../kappa.md).\n"
    );
    println!("{}\n", include_str!("kappa_evidence.txt").trim());
    println!("## All 65,536 bfloat16 operands\n");
    table("bfloat16", &VARIANTS)?;
    if all {
        println!("\n## All 4,294,967,296 binary32 operands\n");
        table("binary32", &["f32-libm"])?;
    } else {
        println!("\nBinary32 operands were left out; `just kappa --all` tries all 2^32.");
    }
    println!("\n{:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}
