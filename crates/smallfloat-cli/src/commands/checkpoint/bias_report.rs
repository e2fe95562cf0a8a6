//! `smallfloat inspect --bias-report`: what each choice of a bias would cost, tensor by tensor.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use smallfloat::FormatSpec;
use smallfloat_tensor::{
    BiasPolicy, BiasReport, Calibration, TensorView, View, bias_costs, write_file_durably,
};

use crate::arguments::files::check_outputs;
use crate::charts::bias_costs::CostPicture;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::{report, text as words};

/// What `inspect` takes for a report of biases.
#[derive(clap::Args)]
#[command(next_help_heading = "What biases would cost")]
pub(crate) struct BiasReportArgs {
    /// Read the data, and tell for each float tensor what each choice of a bias would cost
    #[arg(long)]
    pub(crate) bias_report: bool,

    /// The format, one whose bias is free
    #[arg(long, default_value = "cfloat8_1_4_3", requires = "bias_report")]
    format: FormatSpec,

    /// A choice to tell of; may be given several times [default: auto, amax, percentile:99.9, and
    /// the bias of IEEE 754's formats with as many exponent bits]
    #[arg(long, value_name = "BIAS", allow_hyphen_values = true, requires = "bias_report")]
    bias: Vec<BiasPolicy>,

    /// Activations by which errors weigh, as for `quantize`
    #[arg(long, visible_alias = "calibrate", value_name = "FILE", requires = "bias_report")]
    calibration: Option<PathBuf>,

    /// Draw error against bias, and exponents with the range of the format, for up to 40 tensors
    #[arg(long, value_name = "FILE.svg", requires = "bias_report")]
    plot: Option<PathBuf>,

    /// Replace a picture that exists
    #[arg(long, visible_alias = "force", requires = "plot")]
    overwrite: bool,
}

impl BiasReportArgs {
    fn policies(&self) -> Result<Vec<BiasPolicy>> {
        if !self.bias.is_empty() {
            return Ok(self.bias.clone());
        }
        let policies = vec![
            BiasPolicy::LeastError,
            BiasPolicy::Amax { margin: 0 },
            BiasPolicy::Percentile(99.9),
            BiasPolicy::Fixed((1 << (self.format.with_bias(0).context("--format")?.exponent_bits() - 1)) - 1),
        ];
        Ok(policies)
    }
}

pub(crate) fn run(
    args: &BiasReportArgs,
    file: &Path,
    views: &[View],
    as_json: bool,
    out: &mut Output,
) -> Result<()> {
    let inputs = views.iter().map(|view| view.source().path()).chain(args.calibration.as_deref());
    check_outputs(&[("--plot", args.plot.as_deref())], inputs, args.overwrite)?;
    ensure!(
        args.format.has_free_bias(),
        "--format {}: it has no bias to choose; take a CFloat8 format or SHP",
        args.format
    );
    let policies = args.policies()?;
    let calibration = args.calibration.as_deref().map(Calibration::open).transpose();
    let calibration = calibration.context("--calibration")?;
    let costs = {
        let bar = Bar::new();
        let all = |_: &TensorView| true;
        let mut update = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
        bias_costs(views, &args.format, &policies, calibration.as_ref(), &all, &mut update)?
    };
    if let Some(path) = &args.plot {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let title = format!("{} as {}, bias by bias", words::tensor_name(&name, 60), args.format);
        let svg = CostPicture::new(title, &costs, &args.format)?.svg()?;
        write_file_durably(path, svg.as_bytes(), args.overwrite).context("--plot")?;
    }
    if as_json {
        let object = json!({
            "file": file.to_string_lossy(),
            "format": args.format.to_string(),
            "calibration": args.calibration,
            "tensors": costs,
            "totals": policies.iter().enumerate().map(|(i, policy)| total(policy, i, &costs)).collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
        return Ok(());
    }
    let weighed = if calibration.is_some() { ", errors weighed by activations" } else { "" };
    let heading = format!("{} as {}: what each bias would cost{weighed}", file.display(), args.format);
    writeln!(out, "{}\n", out.bold(heading))?;
    table(&policies, &costs, out)
}

/// Bias and error of each choice.
fn table(policies: &[BiasPolicy], costs: &[BiasReport], out: &mut Output) -> Result<()> {
    let names: Vec<String> = policies.iter().map(|policy| name(*policy)).collect();
    let header: Vec<&str> = ["tensor", "amax"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let numbers: Vec<usize> = (1..header.len()).collect();
    let cells = |tensor: &BiasReport| {
        let choices = tensor
            .choices
            .iter()
            .map(|choice| format!("{}: {}", choice.cost.bias, words::decibels(choice.cost.sqnr_db)));
        std::iter::once(words::rough(tensor.amax)).chain(choices).collect::<Vec<_>>()
    };
    let rows: Vec<_> = costs.iter().map(|tensor| (&*tensor.name, cells(tensor))).collect();
    report::rows_of_names(&header, &numbers, &rows, out)?;
    writeln!(
        out,
        "\nEach choice as bias: SQNR in dB. Over {}:",
        words::plural(costs.len() as u64, "tensor")
    )?;
    for (i, (policy, name)) in policies.iter().zip(&names).enumerate() {
        let total = total(policy, i, costs);
        let number = |key: &str| words::decibels(total[key].as_f64());
        let (mean, worst) = (number("mean_sqnr_db"), number("min_sqnr_db"));
        writeln!(out, "  {name:<16} mean {mean}, worst {worst}; different biases: {}", total["biases"])?;
    }
    let (mut elements, mut tensors) = (0, 0);
    for tensor in costs.iter().filter(|tensor| tensor.not_finite > 0) {
        (elements, tensors) = (elements + tensor.not_finite, tensors + 1);
    }
    if elements > 0 {
        let (elements, tensors) = (words::plural(elements, "element"), words::plural(tensors, "tensor"));
        writeln!(out, "\nNaN and infinities count nowhere above: {elements} of {tensors}.")?;
    }
    Ok(())
}

fn name(policy: BiasPolicy) -> String {
    match policy {
        BiasPolicy::Fixed(bias) => format!("always {bias}"),
        policy => policy.to_string(),
    }
}

/// What a choice costs over all tensors.
fn total(policy: &BiasPolicy, choice: usize, costs: &[BiasReport]) -> serde_json::Value {
    let of_all = || costs.iter().map(|tensor| &tensor.choices[choice].cost);
    let ratios: Vec<f64> = of_all().filter_map(|cost| cost.sqnr_db).collect();
    #[expect(clippy::cast_precision_loss, reason = "a mean over tensors")]
    let mean = (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64);
    let biases: std::collections::BTreeSet<i32> = of_all().map(|cost| cost.bias).collect();
    json!({
        "policy": policy,
        "mean_sqnr_db": mean,
        "min_sqnr_db": ratios.iter().copied().reduce(f64::min),
        "biases": biases.len(),
    })
}
