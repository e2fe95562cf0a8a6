//! `smallfloat rtl spec`: what a unit has to compute, as SystemVerilog.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use smallfloat_rtl::Specification;
use smallfloat_tensor::write_file_durably;

use crate::arguments::files::check_outputs;
use crate::arguments::unit::UnitArgs;
use crate::render::output::Output;

const AFTER_HELP: &str = "\
Examples:
  smallfloat rtl spec --op convert --from binary32 --to e4m3fn --saturation satfinite
  smallfloat rtl spec --op convert --from binary32 --to cfloat8_1_4_3 -o spec.sv
  smallfloat rtl spec --op Multiply --format e5m2 --flags riscv --module multiply

Results of up to 8 bits are a staircase: a line for each threshold, with the values beside it.
Wider results, and those that a random word rounds, are positions between two codes. Ports are
x, y and z, random, result and flags; bias too where a format of Tesla's names none.";

/// Write what a unit has to compute as readable SystemVerilog.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    unit: UnitArgs,

    /// The module's name
    #[arg(long, value_name = "NAME", default_value = "specification", value_parser = module)]
    module: String,

    /// The file to write; without it, or with `-`, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

/// A name that SystemVerilog takes.
pub(super) fn module(text: &str) -> Result<String, String> {
    smallfloat_rtl::check_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// The specification that the arguments name.
pub(super) fn specification(args: &UnitArgs) -> Result<Specification> {
    let Some((unit, has_bias_port)) = args.unit_with_bias_port()? else {
        bail!("name what is specified: --op OPERATION, or --from FORMAT --to FORMAT");
    };
    let mut specification = Specification::new(unit)?;
    if has_bias_port {
        specification = specification.with_bias_port()?;
    }
    if let Some(set) = args.flags.set() {
        specification = specification.with_flags(set.mask());
    }
    if let Some(order) = args.flags.flag_order {
        specification = specification.with_order(order);
    }
    Ok(specification)
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    if path.is_some() {
        check_outputs(&[("-o", path)], [], args.overwrite)?;
    }
    let specification = specification(&args.unit)?;
    let text = specification.text(&args.module)?;
    let Some(path) = path else {
        out.write_all(text.as_bytes())?;
        return Ok(());
    };
    write_file_durably(path, text.as_bytes(), args.overwrite)?;
    writeln!(out, "{}: {}", path.display(), specification.unit().operation())?;
    Ok(())
}
