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

The exit status is 1 at the first fault: a broken structure, a missing or illegal bias, codes
beyond the format, or codes that are not those of the digest. Codes that are legal but that
no encoder writes are warnings.";

/// Check a quantized file: structure, digests, every code legal.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The quantized file; `-` is standard input
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
