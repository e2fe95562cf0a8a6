//! `smallfloat prove`: whether a design in SystemVerilog computes what its format says.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use smallfloat_conformance::vectors::CallOutcome;
use smallfloat_rtl::{
    Counterexample, Design, Method, PortMap, Proof, ProofOptions, Solver, Specification, Verdict,
};

use crate::arguments::rounding::integer;
use crate::arguments::unit::UnitArgs;
use crate::commands::rtl::spec;
use crate::render::output::Output;
use crate::render::progress::ProofBar;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat prove --dut converter.sv --top converter --op convert --from binary32 \\
      --to cfloat8_1_4_3:bias=7
  smallfloat prove --dut mul.sv --top mul --op Multiply --format e4m3fn --ports result=product \\
      --flags none
  smallfloat prove --dut fma.sv --top fma --param STAGES=3 --latency 3 --op FMA --format e5m2 \\
      --flags riscv
  smallfloat prove --dut sr.sv --top sr --op convert --from bfloat16 --to e4m3fn \\
      --rounding stochastic-a --random-bits 8 --solver z3 --keep proof/

First the design is evaluated, as gates that Yosys makes of it, and held against the library: for
all inputs if they have at most 24 bits together, else for those of test vectors. Where that
leaves it open, a specification in SystemVerilog (`smallfloat rtl spec` shows it) is put beside
the design, and Yosys proves that both agree for all inputs. A counterexample is confirmed by the
library and explained. Unknown values (x) count as wrong.

Ports are x, y and z, random, bias, result and flags, for --latency clock, or as --ports maps
them. A format of Tesla's without a bias (--to cfloat8_1_4_3) means all 64, by the port bias; with
one, a port bias of the design has that constant. Without a port flags results alone are compared.
Other inputs have constants by --tie.

Where the solver does not end, up to 2^32 inputs are simulated with Verilator, and the answer says
so.

Exit status: 0 proved or simulated for all inputs; 1 refuted; 2 wrong usage; 3 no answer: an input
or a tool failed, or nothing was decided.";

/// The exit status where there is no answer.
pub(crate) const NO_ANSWER: u8 = 3;

/// Prove that a SystemVerilog design computes an operation.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The design's files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    dut: Vec<PathBuf>,

    /// The design's module
    #[arg(long, value_name = "MODULE", value_parser = spec::module)]
    top: String,

    /// A parameter of this module
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    param: Vec<(String, i64)>,

    /// A folder for included files
    #[arg(long, value_name = "FOLDER")]
    include: Vec<PathBuf>,

    /// The design's names of ports, as in result=code,x=f32
    #[arg(long, value_name = "PORT=NAME,…")]
    ports: Option<PortMap>,

    /// A constant for another input
    #[arg(long, value_name = "INPUT=VALUE", value_parser = tie)]
    tie: Vec<(String, u64)>,

    /// After how many clock edges the result is there
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=64))]
    latency: u32,

    /// What decides: auto (evaluation, then sat), sat (Yosys), z3, or simulation (all inputs)
    #[arg(long, value_name = "SOLVER", default_value = "auto")]
    solver: Solver,

    /// How many seconds the solver may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    timeout: u64,

    /// Don't simulate where the solver does not end
    #[arg(long)]
    no_simulation: bool,

    /// A folder in which the specification, the miter and the scripts are kept
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    #[command(flatten)]
    unit: UnitArgs,

    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

fn assignment(text: &str) -> Result<(&str, &str), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim(), value.trim()))
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = assignment(text)?;
    let value = value.parse().map_err(|_| "write NAME=VALUE with a whole number")?;
    Ok((spec::module(name)?, value))
}

fn tie(text: &str) -> Result<(String, u64), String> {
    let (name, value) = assignment(text)?;
    Ok((spec::module(name)?, integer(value)?))
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<bool> {
    let specification = spec::specification(&args.unit)?;
    let design = Design {
        files: args.dut.clone(),
        top: args.top.clone(),
        parameters: args.param.clone(),
        includes: args.include.clone(),
        ports: args.ports.clone().unwrap_or_default(),
        ties: args.tie.clone(),
        latency: args.latency,
    };
    let timeout = Duration::from_secs(args.timeout);
    let bar = ProofBar::new(timeout);
    let progress = |inputs, of| bar.simulated(inputs, of);
    let options = ProofOptions {
        solver: args.solver,
        timeout,
        simulates: !args.no_simulation,
        keep: args.keep.clone(),
        progress: Some(&progress),
    };
    let proof = smallfloat_rtl::prove(&design, &specification, &options)?;
    drop(bar);
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &to_json(args, &specification, &proof))?;
        writeln!(out)?;
    } else {
        print(args, &specification, &proof, out)?;
    }
    match &proof.verdict {
        Verdict::Proved | Verdict::Simulated => Ok(true),
        Verdict::Refuted(_) => Ok(false),
        Verdict::Undecided { reason } => bail!("nothing is decided: {reason}"),
    }
}

/// How many inputs there are.
fn inputs(proof: &Proof) -> String {
    match proof.input_bits {
        bits @ 0..64 => words::count(1 << bits),
        bits => format!("2^{bits}"),
    }
}

fn print(args: &Args, specification: &Specification, proof: &Proof, out: &mut Output) -> Result<()> {
    let operation = specification.unit().operation();
    let bias = if specification.has_bias_port() { ", bias 0 to 63 by its port" } else { "" };
    let flags = match (specification.flags().is_empty(), proof.compares_flags) {
        (true, _) => "results alone (--flags none)",
        (false, true) => "results and flags",
        (false, false) => "results alone (the module has no port for flags)",
    };
    let (inputs, seconds) = (inputs(proof), proof.took.as_secs_f64());
    let answer = match &proof.verdict {
        Verdict::Proved => format!("proved for all {inputs} inputs"),
        Verdict::Simulated => format!("equal for all {inputs} inputs, each simulated"),
        Verdict::Refuted(_) => "refuted".to_owned(),
        Verdict::Undecided { .. } => return Ok(()),
    };
    let by = match (proof.method, &proof.verdict) {
        (Method::Evaluation, Verdict::Proved) => "each evaluated",
        (Method::Evaluation, _) => "by evaluation",
        (Method::Solver(Solver::Z3), _) => "Z3",
        (Method::Solver(_), _) => "Yosys",
        (Method::Simulation, _) => "Verilator",
    };
    writeln!(out, "{}", out.bold(answer))?;
    writeln!(out, "  {}: {operation}{bias}", args.top)?;
    writeln!(out, "  {flags}, by the rules of {}; {by}, {seconds:.1} s", specification.unit().flag_policy())?;
    if let Verdict::Refuted(found) = &proof.verdict {
        writeln!(out)?;
        if let Some(bias) = found.bias {
            writeln!(out, "bias {bias}")?;
        }
        write!(out, "{}", found.explanation)?;
    }
    Ok(())
}

fn to_json(args: &Args, specification: &Specification, proof: &Proof) -> Value {
    let mut json = json!({
        "verdict": match &proof.verdict {
            Verdict::Proved => "proved",
            Verdict::Simulated => "simulated",
            Verdict::Refuted(_) => "refuted",
            Verdict::Undecided { .. } => "undecided",
        },
        "module": args.top,
        "operation": specification.unit().operation().to_string(),
        "bias": if specification.has_bias_port() { "port" } else { "constant" },
        "input_bits": proof.input_bits,
        "flags": proof.compares_flags && !specification.flags().is_empty(),
        "method": proof.method.name(),
        "seconds": proof.took.as_secs_f64(),
    });
    match &proof.verdict {
        Verdict::Refuted(found) => json["counterexample"] = counterexample(specification, found),
        Verdict::Undecided { reason } => json["reason"] = json!(reason),
        Verdict::Proved | Verdict::Simulated => {}
    }
    json
}

fn counterexample(specification: &Specification, found: &Counterexample) -> Value {
    let ports = specification.inputs();
    let hex = |code: u64, bits: u32| format!("0x{code:0width$x}", width = bits.div_ceil(4) as usize);
    let operands: serde_json::Map<String, Value> = ports
        .iter()
        .zip(&found.operands)
        .map(|(port, code)| (port.name.clone(), json!(hex(*code, port.bits))))
        .collect();
    let bits = specification.outputs()[0].bits;
    let outcome = |outcome: &CallOutcome| json!({ "result": hex(outcome.results()[0], bits), "flags": outcome.flags.to_string() });
    json!({
        "operands": operands,
        "bias": found.bias,
        "expected": outcome(&found.expected),
        "given": outcome(&found.given),
        "explanation": found.explanation,
    })
}
