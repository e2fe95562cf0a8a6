//! `smallfloat compare`: the errors of files and folders against the first.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};
use smallfloat_tensor::{TensorComparison, compare_checkpoints, open_checkpoint};

use crate::arguments::files::Input;
use crate::render::output::Output;
use crate::render::{report, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat compare model.safetensors model.cf8.safetensors
  smallfloat compare a.safetensors b.safetensors --json
  smallfloat compare model.safetensors e4m3.safetensors mxfp4.safetensors nvfp4.safetensors
  smallfloat compare model/ model-mxfp4/ model-q8.gguf

With several files a table has a column for the SQNR of each. Any may hold wide floats or be
quantized, and be a file or a checkpoint folder, whose tensors are found by name. SQNR is
10·log10(Σa² / Σ(a − b)²) over the elements that are finite in both; whatever the error, the exit
status is 0.";

/// Compare files or folders tensor by tensor: each against the first.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The reference, a file or a checkpoint folder; `-` is standard input
    a: PathBuf,

    /// The files or folders whose errors are told
    #[arg(required = true, value_name = "B")]
    b: Vec<PathBuf>,

    /// Print a JSON object; of several files an array of objects, each with its `file`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let a = Input::open(&args.a)?;
    let views_a = a.named(open_checkpoint(a.path()))?;
    let mut found = Vec::new();
    for path in &args.b {
        let b = Input::open(path)?;
        let views_b = b.named(open_checkpoint(b.path()))?;
        found.push((path.as_path(), a.named(compare_checkpoints(&views_a, &views_b))?));
    }
    if args.json {
        match &*found {
            [(_, tensors)] => serde_json::to_writer_pretty(&mut *out, &object(tensors))?,
            several => {
                let objects = several.iter().map(|(path, tensors)| {
                    let mut object = object(tensors);
                    object["file"] = path.to_string_lossy().into();
                    object
                });
                serde_json::to_writer_pretty(&mut *out, &objects.collect::<Vec<_>>())?;
            }
        }
        writeln!(out)?;
        return Ok(());
    }
    match &*found {
        [(path, tensors)] => one(&args.a, path, tensors, out),
        several => table(&args.a, several, out),
    }
}

/// What --json says of one file.
fn object(tensors: &[TensorComparison]) -> Value {
    let totals = Totals::of(tensors);
    json!({
        "tensors": tensors,
        "totals": {
            "tensors": tensors.len(),
            "equal": totals.equal,
            "mean_sqnr_db": totals.mean,
            "min_sqnr_db": totals.min,
            "max_error": totals.max_error,
            "not_finite": totals.not_finite,
        },
    })
}

fn one(a: &Path, b: &Path, tensors: &[TensorComparison], out: &mut Output) -> Result<()> {
    writeln!(out, "{}\n", out.bold(format!("{} against {}", b.display(), a.display())))?;
    let rows: Vec<_> = tensors.iter().map(|tensor| (&*tensor.name, cells(tensor))).collect();
    let header = ["tensor", "shape", "SQNR dB", "amax", "max error", "not finite"];
    report::rows_of_names(&header, &[2, 3, 4, 5], &rows, out)?;
    writeln!(out, "\n{}", in_words(tensors))?;
    Ok(())
}

/// A column of ratios a file, numbered as the lines below that name the files.
fn table(a: &Path, found: &[(&Path, Vec<TensorComparison>)], out: &mut Output) -> Result<()> {
    writeln!(out, "{}\n", out.bold(format!("SQNR in dB against {}", a.display())))?;
    let numbers: Vec<String> = (1..=found.len()).map(|i| format!("[{i}]")).collect();
    let header: Vec<&str> = ["tensor", "shape"].into_iter().chain(numbers.iter().map(|n| &**n)).collect();
    let columns: Vec<usize> = (2..header.len()).collect();
    // All files have the tensors of the first, in its order.
    let rows: Vec<_> = (found[0].1.iter().enumerate())
        .map(|(i, tensor)| {
            let ratios = found.iter().map(|(_, tensors)| ratio(&tensors[i]));
            (&*tensor.name, std::iter::once(words::shape(&tensor.shape)).chain(ratios).collect())
        })
        .collect();
    report::rows_of_names(&header, &columns, &rows, out)?;
    writeln!(out)?;
    for (number, (path, tensors)) in numbers.iter().zip(found) {
        writeln!(out, "{number} {}: {}", path.display(), in_words(tensors))?;
    }
    Ok(())
}

/// `104 tensors, 2 equal; SQNR mean 31.49 dB, worst 28.37 dB; largest error 0.2354`
fn in_words(tensors: &[TensorComparison]) -> String {
    let totals = Totals::of(tensors);
    let (count, equal) = (words::plural(tensors.len() as u64, "tensor"), words::count(totals.equal));
    let (ratios, largest) = (words::ratios(totals.mean, totals.min), words::rough(totals.max_error));
    format!("{count}, {equal} equal{ratios}; largest error {largest}")
}

fn ratio(tensor: &TensorComparison) -> String {
    match (tensor.equal, tensor.sqnr_db) {
        (true, _) => "equal".into(),
        (false, Some(sqnr)) => format!("{sqnr:.2}"),
        (false, None) => "differs".into(),
    }
}

fn cells(tensor: &TensorComparison) -> Vec<String> {
    vec![
        words::shape(&tensor.shape),
        ratio(tensor),
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
