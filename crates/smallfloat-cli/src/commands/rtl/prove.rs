//! `smallfloat prove`: whether a design in SystemVerilog computes what its format says.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use smallfloat_rtl::{Design, PortMap, ProofOptions, Solver, Verdict};

use crate::arguments::unit::UnitArgs;
use crate::commands::rtl::spec;
use crate::render::output::Output;

const AFTER_HELP: &str = "\
Examples:
  smallfloat prove --dut converter.sv --top converter --op convert --from binary32 --to cfloat8_1_4_3:bias=7
  smallfloat prove --dut mul.sv --top mul --op Multiply --format e4m3fn --ports result=product";

/// Prove that a design in SystemVerilog computes an operation, for all inputs.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The design's files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    dut: Vec<PathBuf>,

    /// The design's module
    #[arg(long, value_name = "MODULE")]
    top: String,

    /// The design's names of ports, as in result=code,x=f32
    #[arg(long, value_name = "PORT=NAME,…")]
    ports: Option<PortMap>,

    #[command(flatten)]
    unit: UnitArgs,
}

pub(crate) fn run(args: &Args, _out: &mut Output) -> Result<bool> {
    let specification = spec::specification(&args.unit)?;
    let design = Design {
        files: args.dut.clone(),
        top: args.top.clone(),
        ports: args.ports.clone().unwrap_or_default(),
        ..Design::default()
    };
    let options =
        ProofOptions { solver: Solver::Sat, timeout: Duration::from_secs(600), simulates: true, keep: None };
    let proof = smallfloat_rtl::prove(&design, &specification, &options)?;
    Ok(matches!(proof.verdict, Verdict::Proved | Verdict::Simulated))
}
