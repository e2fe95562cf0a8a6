//! `smallfloat shard apply`: one shard of a plan.

use std::env;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use smallfloat_tensor::{Applied, Plan, apply};

use crate::arguments::files::note_leftovers;
use crate::arguments::quantize::ThreadArgs;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::{report, text as words};

/// Where SLURM tells a task of an array its number (sbatch manual, "Output environment variables").
const TASK: &str = "SLURM_ARRAY_TASK_ID";

const AFTER_HELP: &str = "\
Examples:
  smallfloat shard apply plan.json --shard 0
  seq 0 15 | xargs -P 4 -I{} smallfloat shard apply plan.json --shard {} --threads 2
  sbatch --array=0-15 --wrap 'smallfloat shard apply plan.json'

The shard's file and its report, *.report.json, appear in the plan's output folder when they
are whole. A run that was killed is repeated; a shard that is complete, by the digest in its
report, is left as it is. The bytes do not depend on machine, order, or threads.

The run fails with exit status 1 if an input has changed since the plan was made: its size,
its header, or config.json. A change of data under the same header is not seen.";

/// Quantize one shard of a plan.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The plan
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Which shard, from 0 on [default: the environment variable SLURM_ARRAY_TASK_ID]
    #[arg(long, value_name = "I")]
    shard: Option<usize>,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Don't read the output back
    #[arg(long)]
    no_verify: bool,

    /// Print the shard's report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let shard = match args.shard {
        Some(shard) => shard,
        None => task()?,
    };
    let plan = Plan::read(&args.plan)?;
    args.threads.take()?;
    for path in [plan.shard_path(shard), plan.report_path(shard)].iter().flatten() {
        note_leftovers(path);
    }
    let Applied { report, was_complete, .. } = {
        let bar = Bar::new();
        apply(&plan, shard, !args.no_verify, &mut |progress| bar.update(progress))?
    };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    let name = plan.shard_path(shard).expect("a shard that was applied is in the plan");
    let name = words::tensor_name(&name.display().to_string(), 1000);
    if was_complete {
        writeln!(out, "shard {shard}: {name} was complete")?;
        return Ok(());
    }
    writeln!(out, "{}\n", out.bold(format!("shard {shard}: {name}")))?;
    report::tensors(&report, out)?;
    writeln!(out)?;
    let checked = report::checked(!args.no_verify, plan.container(), &plan.layout());
    report::totals(&report, checked, out)?;
    Ok(())
}

/// The number of this task of an array.
fn task() -> Result<usize> {
    let Some(text) = env::var_os(TASK) else {
        bail!("which shard? Give --shard I, or run as a task of an array, which has {TASK}")
    };
    let text = text.to_string_lossy();
    text.parse().with_context(|| format!("{TASK} is `{text}`, which is no number of a shard"))
}
