//! `smallfloat rtl gen`: a unit as SystemVerilog, proved before it is written.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use smallfloat_rtl::{Generated, Proof, ProofOptions, Solver, Specification, Verdict, generate};
use smallfloat_tensor::write_file_durably;

use crate::arguments::files::check_outputs;
use crate::arguments::unit::UnitArgs;
use crate::commands::rtl::spec;
use crate::render::output::{Message, Output, message};
use crate::render::progress::ProofBar;

const AFTER_HELP: &str = "\
Examples:
  smallfloat rtl gen --op convert --from binary32 --to e4m3fn --saturation satfinite -o e4m3.sv
  smallfloat rtl gen --op convert --from binary32 --to cfloat8_1_4_3 -o cfloat8.sv
  smallfloat rtl gen --op Multiply --format e5m2 --flags riscv -o mul.sv --testbench bench.sv
  smallfloat rtl gen --op FMA --format e2m1fn -o fma.sv

The unit is combinational: operands x, y and z, result, flags by the policy of --flags, the word
`random` for --rounding stochastic-a, and `bias` where a format of Tesla's names no bias. It is
proved equal to the specification of `smallfloat rtl spec` for all inputs before it is written,
or, where no solver ends, simulated for each of them; the file's header says which. The test bench
reads what `smallfloat vectors gen --layout readmemh` writes.";

/// Write a converter, adder, multiplier or FMA as SystemVerilog, proved for all inputs.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    unit: UnitArgs,

    /// The module's name [default: from the operation and its formats]
    #[arg(long, value_name = "NAME", value_parser = spec::module)]
    name: Option<String>,

    /// The file to write; without it, or with `-`, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write a test bench too
    #[arg(long, value_name = "FILE")]
    testbench: Option<PathBuf>,

    /// How many seconds a solver may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,

    /// Write the unit without a proof; its header says so
    #[arg(long)]
    unproved: bool,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

/// The unit that the arguments name, and its specification.
fn unit(args: &UnitArgs, name: Option<&str>) -> Result<(Generated, Specification)> {
    let specification = spec::specification(args)?;
    let default = default_name(&specification);
    let name = name.unwrap_or(&default);
    Ok((generate(&specification, name)?, specification))
}

/// `binary32_to_e4m3fn`, `multiply_e5m2`, `add_e5m2_e4m3fn_to_binary16`.
fn default_name(specification: &Specification) -> String {
    let call = specification.unit().operation();
    let plain = |text: String| -> String {
        let text = text.split(':').next().unwrap_or_default().to_ascii_lowercase();
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    };
    let operands: Vec<String> = call.operands().iter().map(|format| plain(format.to_string())).collect();
    let result = call.result().map(|format| plain(format.to_string())).unwrap_or_default();
    let function = plain(call.function().name().to_owned());
    match operands.as_slice() {
        [from] if function == "convert" => format!("{from}_to_{result}"),
        _ if operands.iter().all(|operand| *operand == result) => format!("{function}_{result}"),
        _ => format!("{function}_{}_to_{result}", operands.join("_")),
    }
}

/// Proves the unit, or says why it is not written.
fn proved(args: &Args, unit: &Generated, specification: &Specification) -> Result<Option<Proof>> {
    if args.unproved {
        return Ok(None);
    }
    let timeout = Duration::from_secs(args.timeout);
    let bar = ProofBar::new(timeout);
    let progress = |inputs, of| bar.simulated(inputs, of);
    let progress = Some(&progress as &dyn Fn(u64, u64));
    let options = ProofOptions { solver: Solver::Auto, timeout, simulates: true, keep: None, progress };
    let proof = unit
        .prove(specification, &options)
        .context("nothing is written without a proof; --unproved writes it")?;
    match &proof.verdict {
        Verdict::Proved | Verdict::Simulated => Ok(Some(proof)),
        Verdict::Refuted(counterexample) => {
            bail!(
                "the generated unit is wrong, and not written; please report it:\n{}",
                counterexample.explanation
            )
        }
        Verdict::Undecided { reason } => bail!("not proved, and not written: {reason}; --unproved writes it"),
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    check_outputs(&[("-o", output), ("--testbench", args.testbench.as_deref())], [], args.overwrite)?;
    let (unit, specification) = unit(&args.unit, args.name.as_deref())?;
    let proof = proved(args, &unit, &specification)?;
    let text = unit.text(proof.as_ref());
    match output {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            write_file_durably(path, text.as_bytes(), args.overwrite)?;
            let took = proof.as_ref().map_or_else(
                || "not proved".to_owned(),
                |proof| {
                    let how = if matches!(proof.verdict, Verdict::Proved) { "proved" } else { "simulated" };
                    format!(
                        "{how} for all 2^{} inputs in {:.1} s",
                        proof.input_bits,
                        proof.took.as_secs_f64()
                    )
                },
            );
            message(Message::Plain, &format!("{}: module {}, {took}", path.display(), unit.name));
        }
    }
    if let Some(path) = &args.testbench {
        write_file_durably(path, unit.test_bench.as_bytes(), args.overwrite)?;
    }
    Ok(())
}
