//! `smallfloat inspect`: what is in a file, from its metadata alone.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};
use smallfloat::Format;
use smallfloat_tensor::{Encoding, Scaled, SourceKind, TensorView, View, open_checkpoint};

use crate::arguments::files::Input;
use crate::commands::checkpoint::bias_report;
use crate::commands::checkpoint::bias_report::BiasReportArgs;
use crate::render::output::Output;
use crate::render::{json as js, report, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat inspect model.safetensors
  smallfloat inspect model.cf8.safetensors --json
  smallfloat inspect checkpoint/
  smallfloat inspect model.safetensors --bias-report --plot biases.svg
  smallfloat inspect model.safetensors --bias-report --format cfloat8_1_5_2 --bias auto --bias 15

Without --bias-report data is not read, so this takes no longer for large files. The range of a
quantized tensor is from the smallest to the largest positive value of its format at its bias.";

/// Tell what a file holds: tensors, formats, biases, ranges.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A .safetensors, .npy or .gguf file or a checkpoint folder, quantized or not; `-` is standard
    /// input
    file: PathBuf,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    bias_report: BiasReportArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let input = Input::open(&args.file)?;
    let views = input.named(open_checkpoint(input.path()))?;
    let is_folder = input.path().is_dir();
    if args.bias_report.bias_report {
        return bias_report::run(&args.bias_report, &args.file, &views, args.json, out);
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &Inspected { args, views: &views, is_folder })?;
        writeln!(out)?;
        return Ok(());
    }
    let kinds: BTreeSet<&str> = views.iter().map(kind).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join("; ");
    let of =
        if is_folder { format!("{}, {kinds}", words::plural(views.len() as u64, "file")) } else { kinds };
    writeln!(out, "{}\n", out.bold(format!("{}: {of}", args.file.display())))?;
    let tensors: Vec<&TensorView> = views.iter().flat_map(View::tensors).collect();
    let rows: Vec<_> = tensors.iter().map(|tensor| (&*tensor.info.name, cells(tensor))).collect();
    let header = ["tensor", "format", "bias", "shape", "size", "range"];
    report::rows_of_names(&header, &[2, 4], &rows, out)?;
    let totals = Totals::of(&tensors);
    writeln!(
        out,
        "\n{}, {} of them quantized; {}, {} of data",
        words::plural(tensors.len() as u64, "tensor"),
        words::count(totals.quantized),
        words::plural(totals.elements, "element"),
        words::bytes(totals.bytes)
    )?;
    let encodings = || tensors.iter().filter_map(|tensor| Some(&*tensor.entry()?.encoding));
    if encodings().next().is_some() {
        let distinct = |field: &dyn Fn(&Encoding) -> String| {
            let shown = |encoding: &Encoding| words::tensor_name(&field(encoding), 60);
            let all: BTreeSet<String> = encodings().map(shown).collect();
            all.into_iter().collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "from         {}", distinct(&|encoding| encoding.source_dtype.clone()))?;
        writeln!(out, "rounding     {}", distinct(&rounding))?;
        writeln!(out, "subnormals   {}", distinct(&|encoding| encoding.subnormals.clone()))?;
        writeln!(
            out,
            "granularity  one bias or scale a {}",
            distinct(&|encoding| encoding.granularity.clone())
        )?;
    }
    let scales: BTreeSet<String> = tensors.iter().filter_map(|tensor| tensor.scaled().map(scales)).collect();
    for scales in scales {
        writeln!(out, "scales       {scales}")?;
    }
    Ok(())
}

/// How a tensor's scales are stored, in words.
fn scales(scaled: &Scaled) -> String {
    let (packing, granularity) = (scaled.packing.name(), scaled.granularity);
    let layout = scaled.layout().map_or_else(String::new, |layout| format!(" ({layout})"));
    match &scaled.scale {
        _ if !scaled.has_scales() => format!("none; codes as {packing}{layout}"),
        None => format!("biases, one per {granularity}; codes as {packing}"),
        Some(scale) => {
            let global = match scale.global {
                Some(_) if scaled.multiplies() => ", times one F32 per tensor",
                Some(_) => ", divided by one F32 per tensor",
                None => "",
            };
            format!("{}, one per {granularity}{global}; codes as {packing}{layout}", scale.format)
        }
    }
}

fn kind(view: &View) -> &'static str {
    match (view.is_container(), view.source().kind()) {
        (true, _) => "quantized tensors in safetensors",
        (false, SourceKind::Gguf) => "GGUF",
        (false, _) if view.is_quantized() => "scaled tensors of another program's layout in safetensors",
        (false, SourceKind::Npy) => "NumPy array",
        (false, _) => "safetensors",
    }
}

fn rounding(encoding: &Encoding) -> String {
    let rounding = &encoding.rounding;
    match (encoding.random_bits, encoding.seed, &encoding.generator) {
        (Some(bits), Some(seed), Some(generator)) => {
            format!("{rounding}, {bits} random bits of {generator}, seed {seed}")
        }
        _ => rounding.clone(),
    }
}

fn cells(tensor: &TensorView) -> Vec<String> {
    let info = &tensor.info;
    let (format, bias, range) = match (tensor.format(), tensor.entry()) {
        (Some(_), Some(entry)) if tensor.scaled().is_some() => {
            (words::tensor_name(&entry.encoding.format, 20), String::new(), String::new())
        }
        (Some(format), Some(entry)) => {
            let [smallest, largest] = ends(format);
            let bias = if format.has_free_bias() { format.bias().to_string() } else { String::new() };
            (words::tensor_name(&entry.encoding.format, 20), bias, format!("{smallest}…{largest}"))
        }
        (Some(_), None) => {
            let name = tensor.format_name().unwrap_or_default();
            (words::tensor_name(&name, 20), String::new(), String::new())
        }
        (None, _) => (info.dtype.name().to_owned(), String::new(), String::new()),
    };
    vec![format, bias, words::shape(&info.shape), words::bytes(info.len), range]
}

/// The smallest and the largest positive value, in a few characters.
fn ends(format: &Format) -> [String; 2] {
    [format.min_positive(), format.max_finite()]
        .map(|datum| datum.to_f64().map_or_else(|| datum.to_string(), words::rough))
}

struct Totals {
    quantized: u64,
    elements: u64,
    bytes: u64,
}

impl Totals {
    fn of(tensors: &[&TensorView]) -> Self {
        Self {
            quantized: tensors.iter().filter(|tensor| tensor.format().is_some()).count() as u64,
            elements: tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.info.elements())),
            bytes: tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.info.len)),
        }
    }
}

/// What `--json` prints. Tensors become JSON one after the other: a header may name very many.
struct Inspected<'a> {
    args: &'a Args,
    views: &'a [View],
    is_folder: bool,
}

impl Serialize for Inspected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all: Vec<&TensorView> = self.views.iter().flat_map(View::tensors).collect();
        let totals = Totals::of(&all);
        let kind = match self.views {
            [view] if view.source().kind() == SourceKind::Npy => "npy",
            [view] if view.source().kind() == SourceKind::Gguf => "gguf",
            _ => "safetensors",
        };
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("file", &self.args.file.to_string_lossy())?;
        object.serialize_entry("kind", kind)?;
        object.serialize_entry("quantized", &self.views.iter().any(View::is_quantized))?;
        object.serialize_entry("tensors", &Tensors(self))?;
        object.serialize_entry(
            "totals",
            &json!({
                "tensors": all.len(),
                "quantized": totals.quantized,
                "elements": totals.elements,
                "bytes": totals.bytes,
            }),
        )?;
        let bytes = self.views.iter().map(|view| view.source().file_len());
        object.serialize_entry("bytes", &bytes.sum::<u64>())?;
        if self.is_folder {
            let file = |view: &View| json!({ "file": name(view), "bytes": view.source().file_len() });
            object.serialize_entry("files", &self.views.iter().map(file).collect::<Value>())?;
        }
        object.end()
    }
}

/// The tensors of all files, as they are printed.
struct Tensors<'a>(&'a Inspected<'a>);

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Inspected { views, is_folder, .. } = self.0;
        let tensors = views.iter().flat_map(|view| view.tensors().iter().map(move |tensor| (view, tensor)));
        serializer.collect_seq(tensors.map(|(view, tensor)| {
            let mut object = tensor_object(tensor);
            if *is_folder {
                object["file"] = json!(name(view));
            }
            object
        }))
    }
}

fn name(view: &View) -> Option<String> {
    view.source().path().file_name().map(|name| name.to_string_lossy().into_owned())
}

fn tensor_object(tensor: &TensorView) -> Value {
    let info = &tensor.info;
    // The range is a format's at one bias; groups have many.
    let format = tensor.format().filter(|_| tensor.scaled().is_none());
    json!({
        "name": info.name,
        "dtype": info.dtype.name(),
        "shape": info.shape,
        "elements": info.elements(),
        "bytes": info.len,
        "format": tensor.format_name(),
        "layout": tensor.scaled().and_then(Scaled::layout),
        "bias": format.map(Format::bias),
        "min_positive": format.map(|format| js::datum(format.min_positive())),
        "max": format.map(|format| js::datum(format.max_finite())),
        "scales": tensor.scaled().map(|scaled| json!({
            "format": scaled.scale.filter(|_| scaled.has_scales()).map(|scale| scale.format.to_string()),
            "granularity": scaled.granularity.to_string(),
            "shape": scaled.granularity.scale_shape(&info.shape),
            "global": scaled.scale.is_some_and(|scale| scale.global.is_some()),
            "multiplies": scaled.multiplies(),
            "packing": scaled.packing.name(),
        })),
        "container": tensor.entry(),
    })
}
