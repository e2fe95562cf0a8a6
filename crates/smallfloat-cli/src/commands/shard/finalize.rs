//! `smallfloat finalize`: what goes with all shards of a plan.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use smallfloat_tensor::{Plan, finalize, write_file_durably};

use crate::arguments::files::{check_outputs, note_leftovers};
use crate::arguments::quantize::bias_in_words;
use crate::charts::checkpoint::CheckpointPicture;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::{report, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat finalize plan.json
  smallfloat finalize plan.json --report report.json
  smallfloat finalize plan.json --plot report.svg    # if it was planned with --histograms

Every shard is read and held against the digest in its report; then the reports are merged,
and model.safetensors.index.json, config.json and the other files of the input folder are
written. The exit status is 1 if a shard is missing or not what it should be, and the message
has the numbers of all such shards. May be repeated.";

/// Check that all shards of a plan are there, merge their reports, write index and configuration.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The plan
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Write the report of all shards as JSON
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,

    /// Draw error and exponents of every tensor; the plan must have been made with --histograms
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Check the lengths of shards and not their digests
    #[arg(long)]
    no_verify: bool,

    /// Replace a report or a picture that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let outputs = [("--report", args.report.as_deref()), ("--plot", args.plot.as_deref())];
    check_outputs(&outputs, [&*args.plan], args.overwrite)?;
    let plan = Plan::read(&args.plan)?;
    let options = plan.options()?;
    ensure!(
        args.plot.is_none() || options.histograms,
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
    if let Some(path) = &args.report {
        let mut text = serde_json::to_vec_pretty(&report)?;
        text.push(b'\n');
        write_file_durably(path, &text, args.overwrite).context("--report")?;
    }
    if let Some(path) = &args.plot {
        let name = plan.output().file_name().unwrap_or(plan.output().as_os_str()).to_string_lossy();
        let title =
            format!("{} as {}{}", words::tensor_name(&name, 60), options.format, bias_in_words(&options));
        let svg = CheckpointPicture::new(title, &report, &options.format)?.svg()?;
        write_file_durably(path, svg.as_bytes(), args.overwrite).context("--plot")?;
    }
    if args.json {
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
