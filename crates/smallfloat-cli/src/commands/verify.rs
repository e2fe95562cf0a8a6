//! `smallfloat verify`: is a quantized file what it says?

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use smallfloat_tensor::verify;

use crate::files::Input;
use crate::output::Output;
use crate::words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat verify model.cf8.safetensors
  smallfloat verify model.cf8.safetensors --json
  smallfloat verify checkpoint-cf8/

The exit status is 1 at the first fault: a broken structure, a missing or illegal bias, codes
beyond the format, codes that are not those of the digest, or anything else about the tensors
(names, shapes, biases, scales, copies) that is not as the file's record says; of a folder also
a name in two files or one that is not where the index says. Codes that are legal but that no
encoder writes are warnings, and files from before there were records have none.";

/// Check a quantized file: structure, digests, every code legal.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The quantized file or checkpoint folder; `-` is standard input
    file: PathBuf,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let input = Input::open(&args.file)?;
    let verified = verify(input.path())?;
    if args.json {
        let object = json!({
            "tensors": verified.tensors,
            "codes": verified.codes,
            "digests": verified.digests,
            "scales": verified.scales,
            "copied": verified.copied,
            "files": verified.files,
            "records": verified.records,
            "warnings": verified.warnings,
        });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
        return Ok(());
    }
    for warning in &verified.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    let (tensors, codes) = (words::plural(verified.tensors, "tensor"), words::plural(verified.codes, "code"));
    writeln!(out, "{}: {}", args.file.display(), out.bold("verified"))?;
    writeln!(
        out,
        "  structure  {tensors} quantized, {} copied, each bias legal",
        words::count(verified.copied)
    )?;
    if verified.digests > 0 || verified.tensors == 0 {
        let digests = words::plural(verified.digests, "tensor");
        writeln!(out, "  digests    {digests}, SHA-256 as the metadata says")?;
    } else {
        writeln!(out, "  digests    none: the file is in a layout that has none")?;
    }
    if verified.records > 0 {
        let whole = "names, shapes, and data of all tensors are as they were written";
        let of = if verified.files > 1 { format!(" in {} files", verified.records) } else { String::new() };
        writeln!(out, "  record     {whole}{of}")?;
    }
    writeln!(out, "  codes      {codes}, each one of its format")?;
    if verified.scales > 0 {
        writeln!(
            out,
            "  scales     {}, as many as the shapes ask for",
            words::plural(verified.scales, "scale")
        )?;
    }
    Ok(())
}
