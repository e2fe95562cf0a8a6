//! `smallfloat clean`: removes what killed runs left.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use smallfloat_tensor::leftovers;

use crate::render::output::Output;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat clean model.cf8.safetensors
  smallfloat clean checkpoint-cf8/ --dry-run

A run that is interrupted removes its temporary files; one that is killed, or whose machine
stops, leaves them as .NAME.smallfloat-RANDOM.tmp beside its output. Files that a running
process works on are locked and stay. On file systems without locks, such as some of NFS,
nothing tells them apart: be sure there that no run is at work.";

/// Remove the temporary files that killed runs left beside an output.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The outputs of the runs: files or folders
    #[arg(value_name = "OUT", required = true)]
    outputs: Vec<PathBuf>,

    /// Only list the files
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let (mut count, mut bytes) = (0, 0);
    for output in &args.outputs {
        for path in leftovers(output)? {
            let len = fs::symlink_metadata(&path).map_or(0, |file| file.len());
            if !args.dry_run {
                fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
            }
            (count, bytes) = (count + 1, bytes + len);
            let done = if args.dry_run { "left over" } else { "removed" };
            let name = words::tensor_name(&path.display().to_string(), 1000);
            writeln!(out, "{done}: {name}, {}", words::bytes(len))?;
        }
    }
    let files = words::plural(count, "file");
    let done = if args.dry_run { "that killed runs left" } else { "removed" };
    writeln!(out, "{files} {done}, {}", words::bytes(bytes))?;
    Ok(())
}
