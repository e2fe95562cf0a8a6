//! [`finalize`]: what goes with all shards of a [`Plan`], once they are there.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::file::folder::OutputFolder;
use crate::progress::Progress;
use crate::quantize::folder::Ending;
use crate::report::Report;
use crate::shard::apply::ShardReport;
use crate::shard::plan::Plan;

/// How many faulty shards a message describes; it numbers all of them.
const DESCRIBED: usize = 8;

/// Checks that every shard of a plan is there, merges their reports, and writes what makes the
/// folder a checkpoint, as [`quantize`](crate::quantize) does: copies of the input folder's other
/// files, `model.safetensors.index.json` and `config.json`. With `digests` every shard is read and
/// held against the digest of its report, otherwise only lengths are. May be repeated.
///
/// The report is that of [`quantize`](crate::quantize); its seconds are those of all shards
/// together.
///
/// # Errors
/// Shards that are missing, incomplete or of another plan, with their numbers; a `config.json` of
/// the input that changed since the plan was made; a disk that fills.
pub fn finalize(plan: &Plan, digests: bool, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report> {
    plan.check_config()?;
    let sizes = (0..plan.shards()).filter_map(|shard| plan.shard_path(shard)?.metadata().ok());
    progress(Progress::Start(sizes.map(|file| file.len()).sum()));
    let plan_sha256 = plan.sha256()?;
    let (mut reports, mut faults) = (Vec::new(), Vec::new());
    for shard in 0..plan.shards() {
        match ShardReport::read(plan, &plan_sha256, shard, digests, progress) {
            Ok(report) => reports.push(report),
            Err(error) => faults.push((shard, error)),
        }
    }
    if !faults.is_empty() {
        return Err(incomplete(plan, &faults));
    }
    let (mut seconds, mut bytes_out) = (0.0, 0);
    let mut tensors = Vec::new();
    for report in reports {
        seconds += report.seconds;
        bytes_out += report.bytes();
        tensors.push(report.into_tensors());
    }
    // In the input's order, so that sums do not depend on the partition.
    let (tensors, sums): (Vec<_>, Vec<_>) =
        plan.tensors.iter().filter_map(|tensor| tensors[tensor.shard].next()).unzip();
    let mut report = Report::of(tensors, &sums);
    report.seed = plan.recipe.seed;
    (report.seconds, report.bytes_in, report.bytes_out) = (seconds, plan.bytes_in(), bytes_out);
    report.quantization_config.clone_from(&plan.quantization_config);
    let files = plan.files();
    let folder = OutputFolder::create(&plan.output, &files, true)?;
    let ending = Ending {
        input: &plan.input,
        output: &plan.output,
        files: &files,
        others: &plan.copies,
        index: plan.writes_index,
        config: plan.writes_config,
        quantization_config: plan.quantization_config.as_ref(),
        overwrite: true,
    };
    ending.publish(folder, Vec::new())?;
    Ok(report)
}

fn incomplete(plan: &Plan, faults: &[(usize, Error)]) -> Error {
    let numbers: Vec<String> = faults.iter().map(|(shard, _)| shard.to_string()).collect();
    let mut what = format!(
        "{} of {} shards are missing or not what they should be; apply them (again): {}",
        faults.len(),
        plan.shards(),
        numbers.join(",")
    );
    for (shard, error) in &faults[..faults.len().min(DESCRIBED)] {
        // Writing to a string can't fail.
        let _ = write!(what, "; shard {shard}: {error}");
        if let Some(cause) = std::error::Error::source(error) {
            let _ = write!(what, ": {cause}");
        }
    }
    Error::refused(Some(&plan.output), None, what)
}
