//! `smallfloat compare`: the error of one file against another.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use smallfloat_tensor::{TensorComparison, View, compare};

use crate::arguments::files::Input;
use crate::render::output::Output;
use crate::render::{report, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat compare model.safetensors model.cf8.safetensors
  smallfloat compare a.safetensors b.safetensors --json

Either file may hold wide floats or be quantized. SQNR is 10·log10(Σa² / Σ(a − b)²) over the
elements that are finite in both; whatever the error, the exit status is 0.";

/// Compare two files tensor by tensor: the error of B against A.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The reference; `-` is standard input
    a: PathBuf,

    /// The file whose error is told
    b: PathBuf,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let (a, b) = (Input::open(&args.a)?, Input::open(&args.b)?);
    let (view_a, view_b) = (a.named(View::open(a.path()))?, b.named(View::open(b.path()))?);
    let tensors = a.named(compare(&view_a, &view_b))?;
    let totals = Totals::of(&tensors);
    if args.json {
        let object = json!({
            "tensors": tensors,
            "totals": {
                "tensors": tensors.len(),
                "equal": totals.equal,
                "mean_sqnr_db": totals.mean,
                "min_sqnr_db": totals.min,
                "max_error": totals.max_error,
                "not_finite": totals.not_finite,
            },
        });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{}\n", out.bold(format!("{} against {}", args.b.display(), args.a.display())))?;
    let rows: Vec<_> = tensors.iter().map(|tensor| (&*tensor.name, cells(tensor))).collect();
    let header = ["tensor", "shape", "SQNR dB", "amax", "max error", "not finite"];
    report::rows_of_names(&header, &[2, 3, 4, 5], &rows, out)?;
    let count = tensors.len() as u64;
    let (tensors, equal) = (words::plural(count, "tensor"), words::count(totals.equal));
    let (ratios, largest) = (words::ratios(totals.mean, totals.min), words::rough(totals.max_error));
    writeln!(out, "\n{tensors}, {equal} equal{ratios}; largest error {largest}")?;
    Ok(())
}

fn cells(tensor: &TensorComparison) -> Vec<String> {
    let sqnr = match (tensor.equal, tensor.sqnr_db) {
        (true, _) => "equal".into(),
        (false, Some(sqnr)) => format!("{sqnr:.2}"),
        (false, None) => "differs".into(),
    };
    vec![
        words::shape(&tensor.shape),
        sqnr,
        words::rough(tensor.amax),
        words::rough(tensor.max_error),
        words::count(tensor.not_finite),
    ]
}

struct Totals {
    equal: u64,
    mean: Option<f64>,
    min: Option<f64>,
    max_error: f64,
    not_finite: u64,
}

impl Totals {
    fn of(tensors: &[TensorComparison]) -> Self {
        let ratios: Vec<f64> = tensors.iter().filter_map(|tensor| tensor.sqnr_db).collect();
        #[expect(clippy::cast_precision_loss, reason = "a mean over tensors")]
        let mean = (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64);
        Self {
            equal: tensors.iter().filter(|tensor| tensor.equal).count() as u64,
            mean,
            min: ratios.iter().copied().reduce(f64::min),
            max_error: tensors.iter().map(|tensor| tensor.max_error).fold(0.0, f64::max),
            not_finite: tensors.iter().map(|tensor| tensor.not_finite).sum(),
        }
    }
}
