//! [`apply`]: one shard of a [`Plan`], on whatever machine.
//!
//! A shard is pure: the plan and the inputs decide its bytes, not who writes it, when, or with how
//! many threads. The file and then its report appear whole under their names, so that a run that
//! was killed is simply repeated; a shard that is complete already is left as it is.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use smallfloat_kernels::ErrorSums;

use crate::error::{Error, Result, quoted};
use crate::file::durable::write_file_durably;
use crate::file::folder::OutputFolder;
use crate::file::input::CHUNK_BYTES;
use crate::file::side::{SIDE_FILE_BYTES, open_regular, read_limited};
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::checkpoint::{Checkpoint, TensorPosition};
use crate::quantize::folder::json_text;
use crate::report::{Report, TensorReport};
use crate::shard::plan::Plan;
use crate::stored::together::open_files;

/// The report of [`apply`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// The report of the shard's tensors.
    pub report: Report,
    /// The shard was complete before; nothing was written.
    pub was_complete: bool,
}

/// A shard's report, which is what says that the shard is complete.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardReport {
    /// The digest of the plan.
    plan_sha256: String,
    shard: usize,
    output: String,
    bytes: u64,
    sha256: String,
    pub(crate) seconds: f64,
    tensors: Vec<TensorReport>,
    sums: Vec<Sums>,
}

/// [`ErrorSums`] whose floats are written as their bits: they are added up again, and may be
/// infinite.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sums {
    elements: u64,
    not_finite: u64,
    signal_bits: u64,
    noise_bits: u64,
    amax_bits: u64,
    max_error_bits: u64,
}

impl Sums {
    fn of(sums: &ErrorSums) -> Self {
        Self {
            elements: sums.elements,
            not_finite: sums.not_finite,
            signal_bits: sums.signal.to_bits(),
            noise_bits: sums.noise.to_bits(),
            amax_bits: sums.amax.to_bits(),
            max_error_bits: sums.max_error.to_bits(),
        }
    }

    fn sums(&self) -> ErrorSums {
        ErrorSums {
            elements: self.elements,
            not_finite: self.not_finite,
            signal: f64::from_bits(self.signal_bits),
            noise: f64::from_bits(self.noise_bits),
            amax: f64::from_bits(self.amax_bits),
            max_error: f64::from_bits(self.max_error_bits),
        }
    }
}

/// Quantizes one shard of a plan into the plan's output folder, with a report beside it. With
/// `verify` the file is read back and checked before it appears under its name. A shard that is
/// there already, with the digest of its report, is left as it is.
///
/// # Errors
/// A shard that the plan does not have; inputs that changed since the plan was made, by their
/// sizes, the digests of their headers, or `config.json` (a change of data alone is not seen); and
/// what [`quantize`](crate::quantize) refuses.
pub fn apply(
    plan: &Plan,
    shard: usize,
    verify: bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Applied> {
    let start = Instant::now();
    let (Some(output), Some(report_path), Some(planned)) =
        (plan.shard_path(shard), plan.report_path(shard), plan.shards.get(shard))
    else {
        let count = plan.shards();
        let what =
            format!("there is no shard {shard}: the plan has {count}, 0 to {}", count.saturating_sub(1));
        return Err(Error::option(what));
    };
    let options = Options { verify, overwrite: true, ..plan.recipe.options()? };
    let views = open_files(plan.inputs.iter().map(|input| plan.input.join(&input.name)))?;
    plan.check_inputs(&views)?;
    let plan_sha256 = plan.sha256()?;
    if let Ok(report) = ShardReport::read(plan, &plan_sha256, shard, true, &mut |_| ()) {
        return Ok(Applied { report: report.into_report(plan, shard), was_complete: true });
    }
    let chosen: HashSet<&str> =
        plan.tensors.iter().filter(|tensor| tensor.quantized).map(|tensor| &*tensor.name).collect();
    let select = |name: &str| chosen.contains(name);
    let mut checkpoint = Checkpoint::new(&views, &options, &select)?;
    let places = places(plan, &checkpoint, shard)?;
    let mut folder = OutputFolder::create(&plan.output, &plan.files(), true)?;
    folder.mark_incomplete()?;
    progress(Progress::Start(checkpoint.bytes(&places)));
    let (part, sealed) = checkpoint.write(&planned.inputs, &places, &output, progress)?;
    let sha256 = file_sha256(sealed.temporary_path(), &mut |_| ())?;
    sealed.commit()?;
    let report = ShardReport {
        plan_sha256,
        shard,
        output: planned.output.clone(),
        bytes: part.bytes_out,
        sha256,
        seconds: start.elapsed().as_secs_f64(),
        sums: part.sums.iter().map(Sums::of).collect(),
        tensors: part.reports,
    };
    write_file_durably(report_path, &json_text(&report)?, true)?;
    Ok(Applied { report: report.into_report(plan, shard), was_complete: false })
}

/// The tensors of a shard, once the plan is known to have those of the input.
fn places(plan: &Plan, checkpoint: &Checkpoint<'_>, shard: usize) -> Result<Vec<TensorPosition>> {
    let all = checkpoint.places();
    let differs = |name: &str| {
        let what = "is not in the plan as it is in the input; make a new plan";
        Err(Error::refused(None, Some(name), what))
    };
    if plan.tensors.len() != all.len() {
        let what =
            format!("the plan has {} tensors, the input {}; make a new plan", plan.tensors.len(), all.len());
        return Err(Error::refused(None, None, what));
    }
    for (tensor, &place) in plan.tensors.iter().zip(&all) {
        let name = &checkpoint.tensor(place).info.name;
        if tensor.name != *name || tensor.input != place.0 || tensor.quantized != checkpoint.is_chosen(place)
        {
            return differs(name);
        }
    }
    let of_shard = plan.tensors.iter().zip(all).filter(|(tensor, _)| tensor.shard == shard);
    Ok(of_shard.map(|(_, place)| place).collect())
}

impl ShardReport {
    /// Reads the report of a shard and checks that the shard is what it says: its length, and with
    /// `digest` its bytes.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(crate) fn read(
        plan: &Plan,
        plan_sha256: &str,
        shard: usize,
        digest: bool,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self> {
        let (Some(output), Some(path), Some(planned)) =
            (plan.shard_path(shard), plan.report_path(shard), plan.shards.get(shard))
        else {
            return Err(Error::option(format!("there is no shard {shard}")));
        };
        let text = read_limited(&path, SIDE_FILE_BYTES)?;
        let report: Self = serde_json::from_slice(&text)
            .map_err(|e| Error::malformed(&path, None, format!("is no report of a shard: {e}")))?;
        let names = plan.tensors.iter().filter(|tensor| tensor.shard == shard).map(|tensor| &tensor.name);
        let is_ours = report.plan_sha256 == plan_sha256
            && report.shard == shard
            && report.output == planned.output
            && report.sums.len() == report.tensors.len()
            && names.eq(report.tensors.iter().map(|tensor| &tensor.name));
        if !is_ours {
            return Err(Error::refused(Some(&path), None, "is the report of another plan or shard"));
        }
        let bytes = fs::metadata(&output).map_err(|e| Error::io("open", &output, e))?.len();
        if bytes != report.bytes {
            let what =
                format!("has {bytes} bytes, its report {} says {}", quoted(&planned.report()), report.bytes);
            return Err(Error::refused(Some(&output), None, what));
        }
        if digest {
            let found = file_sha256(&output, progress)?;
            if found != report.sha256 {
                let what = format!("has the SHA-256 {found}, its report says {}", report.sha256);
                return Err(Error::refused(Some(&output), None, what));
            }
        }
        Ok(report)
    }

    /// The length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The tensors with their errors.
    pub(crate) fn into_tensors(self) -> impl Iterator<Item = (TensorReport, ErrorSums)> {
        self.tensors.into_iter().zip(self.sums).map(|(mut tensor, sums)| {
            let sums = sums.sums();
            if tensor.format.is_some() {
                // JSON has no infinities.
                (tensor.amax, tensor.sqnr_db) = (Some(sums.amax), sums.sqnr_db());
            }
            (tensor, sums)
        })
    }

    fn into_report(self, plan: &Plan, shard: usize) -> Report {
        let (seconds, bytes_out) = (self.seconds, self.bytes);
        let (tensors, sums): (Vec<_>, Vec<_>) = self.into_tensors().unzip();
        let inputs = plan.shards.get(shard).map_or(0, |shard| shard.bytes_in);
        let mut report = Report::of(tensors, &sums);
        report.seed = plan.recipe.seed;
        (report.seconds, report.bytes_in, report.bytes_out) = (seconds, inputs, bytes_out);
        report
    }
}

fn file_sha256(path: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<String> {
    let (mut file, _) = open_regular(path)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        match file.read(&mut buffer).map_err(|e| Error::io("read from", path, e))? {
            0 => return Ok(format!("{:x}", digest.finalize())),
            count => {
                digest.update(&buffer[..count]);
                progress(Progress::Bytes(count as u64));
            }
        }
    }
}
