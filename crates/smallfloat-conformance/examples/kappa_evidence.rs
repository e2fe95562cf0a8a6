//! Prints a section of `docs/evidence/correctness.md`: κ of exponentials as they are really
//! computed, and of accumulators against the exact sum. The argument is the date; `just kappa` runs
//! it.

use std::fmt::Write as _;
use std::time::Instant;

use smallfloat_conformance::implementation::Variant;
use smallfloat_conformance::kappa::{Gauge, GaugeOptions, MeasuredOperation, Measurement, measure};

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

/// Sums, and the accumulators that add them.
const SUMS: [(&str, &[&str]); 4] = [
    ("Dot<2, e2m1fn, e2m1fn, exact>", &["f32", "fused:k=2,fraction=4", "fused:k=2,fraction=2"]),
    ("Dot<32, e4m3fn, e4m3fn, exact>", &["f32", "hopper", "ada", "blackwell", "binary16"]),
    (
        "Dot<512, e4m3fn, e4m3fn, exact>",
        &["f32", "hopper", "hopper:promote=128", "ada", "blackwell", "binary16"],
    ),
    ("Dot<32, e4m3fnuz, e4m3fnuz, exact>", &["f32", "cdna3", "binary16"]),
];

fn measured(operation: &str, variant: &str) -> Result<Gauge, Box<dyn std::error::Error>> {
    let operation: MeasuredOperation = operation.parse()?;
    let variant = Variant::new(variant, &operation)?;
    let plan = operation.plan(None, 0, None)?;
    let given = |codes: &[u64]| variant.call(codes);
    Ok(measure(&operation, plan.as_ref(), given, GaugeOptions::default(), &|_| ())?)
}

fn exponentials(operand: &str, variants: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let header = RESULTS.map(|result| format!("`{result}`")).join(" | ");
    println!("| variant | {header} |\n|{}", " --- |".repeat(RESULTS.len() + 1));
    for variant in variants {
        let mut row = format!("| `{variant}` |");
        for result in RESULTS {
            let operation = format!("Exp<{operand}, {result}, (NearestTiesToEven, SatFinite)>");
            let gauge = measured(&operation, variant)?;
            let total = gauge.total();
            write!(row, " {}; {} |", total.kappa(), total.differing())?;
        }
        println!("{row}");
    }
    Ok(())
}

/// The steps that half of all calls are not above.
fn median(total: &Measurement) -> u64 {
    let mut calls = total.compared() - total.differing();
    let mut steps = 0;
    for bar in total.histogram() {
        if 2 * calls >= total.compared() {
            break;
        }
        calls += bar.count;
        steps = bar.to;
    }
    steps
}

fn sums() -> Result<(), Box<dyn std::error::Error>> {
    println!("| sum | accumulator | κ | calls | differ | half are within |\n|{}", " --- |".repeat(6));
    for (sum, accumulators) in SUMS {
        for accumulator in accumulators {
            let gauge = measured(sum, accumulator)?;
            let total = gauge.total();
            let (kappa, compared, differing) = (total.kappa(), total.compared(), total.differing());
            let half = median(total);
            println!("| `{sum}` | `{accumulator}` | {kappa} | {compared} | {differing} | {half} |");
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let date = std::env::args().nth(1).ok_or("give the date: kappa_evidence 2026-01-31 [--all]")?;
    let all = std::env::args().any(|argument| argument == "--all");
    let start = Instant::now();
    println!("`Exp<operand, result, (NearestTiesToEven, SatFinite)>` of all 65,536 bfloat16 operands:\n");
    exponentials("bfloat16", &VARIANTS)?;
    if all {
        println!("\nOf all 4,294,967,296 binary32 operands:\n");
        exponentials("binary32", &["f32-libm"])?;
    }
    println!(
        "\nSums of products against the exact sum, rounded once: all operands of two E2M1 products, and\n\
         else test vectors of level 1, many of which cancel.\n"
    );
    sums()?;
    println!("\n`just kappa`, {date}, {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}
