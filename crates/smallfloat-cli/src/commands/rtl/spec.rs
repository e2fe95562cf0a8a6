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
  smallfloat rtl spec --op Multiply --format e5m2 --flags riscv -o multiply.sv";

/// Write what a unit has to compute as readable SystemVerilog.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    unit: UnitArgs,

    /// The file to write; without it, or with `-`, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

/// The specification that the arguments name.
pub(super) fn specification(args: &UnitArgs) -> Result<Specification> {
    let Some(unit) = args.unit()? else {
        bail!("name what is specified: --op OPERATION, or --from FORMAT --to FORMAT");
    };
    let mut specification = Specification::new(unit)?;
    if let Some(set) = args.flags.set() {
        specification = specification.with_flags(set.mask());
    }
    if let Some(order) = args.flags.flag_order {
        specification = specification.with_order(order);
    }
    Ok(specification)
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let text = specification(&args.unit)?.unit().operation().to_string();
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            check_outputs(&[("-o", Some(path))], [], args.overwrite)?;
            write_file_durably(path, text.as_bytes(), args.overwrite)?;
        }
    }
    Ok(())
}
