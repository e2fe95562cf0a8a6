//! `smallfloat shard finalize`: what goes with all shards of a plan.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use smallfloat_tensor::{Plan, finalize};

use crate::arguments::files::{check_outputs, note_leftovers};
use crate::arguments::quantize::{has_histograms, write_certificate};
use crate::arguments::results::ResultArgs;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::{report, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat shard finalize plan.json
  smallfloat shard finalize plan.json --report report.json
  smallfloat shard finalize plan.json --certificate certificate.json
  smallfloat shard finalize plan.json --plot report.svg    # if it was planned with --histograms

Every shard is read and held against the digest in its report; then the reports are merged,
and model.safetensors.index.json, config.json and the other files of the input folder are
written. The exit status is 1 if a shard is missing or not what it should be, and the message
has the numbers of all such shards. May be repeated.";

/// Check that all shards of a plan are there, merge their reports, write index and configuration.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The plan
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Check the lengths of shards and not their digests
    #[arg(long)]
    no_verify: bool,

    /// Write what became of every tensor: values that were rounded, errors, digests of both sides;
    /// the input must still be there
    #[arg(long, value_name = "FILE.json")]
    certificate: Option<PathBuf>,

    #[command(flatten)]
    results: ResultArgs,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let [report, plot] = args.results.outputs();
    let certificate = ("--certificate", args.certificate.as_deref());
    check_outputs(&[report, plot, certificate], [&*args.plan], args.results.overwrite)?;
    let plan = Plan::read(&args.plan)?;
    let options = plan.options()?;
    ensure!(
        !args.results.has_plot() || options.histograms || !has_histograms(&options),
        "--plot: the plan counts no exponents; make it with --histograms and apply it"
    );
    for shard in 0..plan.shards() {
        for path in [plan.shard_path(shard), plan.report_path(shard)].iter().flatten() {
            note_leftovers(path);
        }
    }
    let report = {
        let bar = Bar::new();
        finalize(&plan, !args.no_verify, &mut |progress| bar.update(progress))?
    };
    if let Some(path) = &args.certificate {
        write_certificate((&plan.source(), plan.output()), path, args.results.overwrite)?;
    }
    args.results.write(plan.output(), &options.format.to_string(), &options, &report)?;
    if args.results.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    let shards = words::plural(plan.shards() as u64, "shard");
    writeln!(out, "{}\n", out.bold(format!("{}: {shards}", plan.output().display())))?;
    report::tensors(&report, out)?;
    writeln!(out)?;
    let checked =
        if args.no_verify { "lengths of shards checked" } else { "every shard has the digest of its report" };
    report::totals(&report, checked, out)?;
    Ok(())
}
