//! `smallfloat man`: a manual page for each command.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_mangen::Man;
use smallfloat_tensor::write_file_durably;

use crate::render::output::Output;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat man ~/.local/share/man/man1
  man smallfloat-quantize";

/// What the head of a page says.
const MANUAL: &str = "smallfloat";

/// What the foot of a page says.
const SOURCE: &str = concat!("smallfloat ", env!("CARGO_PKG_VERSION"));

/// Write manual pages, one for each command.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The folder of the pages; it is made where there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Replace pages that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

/// Writes the pages of a command line.
pub(crate) fn run(args: &Args, command: Command, out: &mut Output) -> Result<()> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    push_pages(&command, &mut pages)?;
    let paths: Vec<_> = pages.iter().map(|(name, _)| folder.join(name)).collect();
    if !args.overwrite
        && let Some(path) = paths.iter().find(|path| path.exists())
    {
        bail!("`{}` exists already; choose another folder or add --overwrite", path.display());
    }
    for (path, (_, page)) in paths.iter().zip(&pages) {
        write_file_durably(path, page, args.overwrite)?;
    }
    let count = words::plural(pages.len() as u64, "page");
    writeln!(out, "{count} in {}", words::tensor_name(&folder.display().to_string(), 1000))?;
    Ok(())
}

/// The page of a command, and those of the commands below it.
fn push_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let man = Man::new(command.clone()).manual(MANUAL).source(SOURCE);
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        push_pages(below, pages)?;
    }
    Ok(())
}
