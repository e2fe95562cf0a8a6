//! `smallfloat doctor`: does a file keep the convention that its names promise?

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::json;
use smallfloat_tensor::{FINDING_KINDS, Sure, examine};

use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat doctor model.safetensors
  smallfloat doctor checkpoint-nvfp4/ --source checkpoint/
  smallfloat doctor model.gguf --json

Readers of checkpoints go by names and shapes; a file that breaks their convention loads
without a word and is wrong. This finds, from the file alone: an F32 number of a tensor that
is inverted, missing or named as in another convention; exponents (E8M0) stored as numbers;
transposed scales; codes stored as numbers, or without scales; blocks of another length;
elements divided by a scale that was rounded afterwards; NaN among codes and scales; an
index, a config.json or shards that contradict the tensors. With --source also codes in
another order (swapped halves of bytes or blocks) and scales of other blocks.

Of each tensor at most 1,048,576 elements are looked at. The exit status is 1 if anything is
found.";

/// Look for a wrong convention in quantized files.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Files or checkpoint folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What they were made from
    #[arg(long, value_name = "SRC")]
    source: Option<PathBuf>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let findings = {
        let bar = Bar::new();
        examine(&args.files, args.source.as_deref(), &mut |progress| bar.update(progress))?
    };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &json!({ "findings": findings }))?;
        writeln!(out)?;
    } else {
        for finding in &findings {
            let tensor = finding.tensor.as_ref();
            let tensor =
                tensor.map_or_else(String::new, |name| format!(" `{}`", words::tensor_name(name, 60)));
            let said =
                FINDING_KINDS.iter().find(|(kind, _)| *kind == finding.kind).map_or("", |(_, said)| said);
            let sure = if finding.sure == Sure::Certain { "certain" } else { "likely" };
            writeln!(out, "{}{tensor}: {} ({sure})", finding.file.display(), out.bold(finding.kind))?;
            writeln!(out, "  {said}")?;
            writeln!(out, "  found  {}", words::tensor_name(&finding.what, 1000))?;
            writeln!(out, "  mend   {}", words::tensor_name(&finding.mend, 1000))?;
        }
        if findings.is_empty() {
            let files = words::plural(args.files.len() as u64, "file");
            writeln!(out, "{files}: {}", out.bold("nothing found"))?;
        }
    }
    if !findings.is_empty() {
        bail!("{}", words::plural(findings.len() as u64, "finding"));
    }
    Ok(())
}
