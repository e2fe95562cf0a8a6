//! What quantizing did, for people: a table of tensors and the totals.

use std::io;
use std::io::Write as _;

use comfy_table::Table;
use smallfloat_tensor::{Container, Layout, Report, TensorReport};

use crate::render::output::{Output, WIDTH};
use crate::render::{output, text as words};

/// Longer lists are cut down to the worst tensors.
const MAX_ROWS: usize = 30;
const WORST: usize = 12;

/// Shorter runs have no figure of speed, in seconds.
const SHORTEST: f64 = 0.1;

/// Rows of one table at most.
const MOST_ROWS: usize = 5000;

/// Prints rows whose first column is a tensor's name, with as much of the names as fits; of more
/// than [`MOST_ROWS`] the first, and how many there are more.
pub(crate) fn rows_of_names(
    header: &[&str],
    numbers: &[usize],
    rows: &[(&str, Vec<String>)],
    out: &mut Output,
) -> io::Result<()> {
    let (rows, rest) = rows.split_at(rows.len().min(MOST_ROWS));
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(header[column + 1].chars().count())
    };
    // Between columns there are three blanks.
    let others: usize = (0..header.len() - 1).map(|column| width(column) + 3).sum();
    let room = usize::from(WIDTH).saturating_sub(others + 2).max(12);
    let mut table: Table = output::table(header, numbers);
    for (name, cells) in rows {
        let name = words::tensor_name(name, room);
        table.add_row(std::iter::once(&name).chain(cells));
    }
    out.rows(&table)?;
    if !rest.is_empty() {
        writeln!(out, "and {} (--json has all)", words::plural(rest.len() as u64, "more tensor"))?;
    }
    Ok(())
}

/// Prints the table: all tensors, or the worst of many.
pub(crate) fn tensors(report: &Report, out: &mut Output) -> io::Result<()> {
    // Without saturation what overflows becomes infinity or NaN.
    let overflow =
        if report.totals.saturated == report.totals.overflowed { "saturated" } else { "overflowed" };
    let has_scales = report.tensors.iter().any(|tensor| tensor.scales.is_some());
    let second = if has_scales { "scales" } else { "bias" };
    let header = ["tensor", "shape", second, "amax", "SQNR dB", overflow, "underflowed"];
    let mut shown: Vec<&TensorReport> = report.tensors.iter().collect();
    let all = shown.len();
    if all > MAX_ROWS {
        // Exact tensors have no ratio; they and those that were copied are the best.
        let key = |tensor: &TensorReport| tensor.sqnr_db.unwrap_or(f64::INFINITY);
        shown.sort_by(|a, b| key(a).total_cmp(&key(b)));
        shown.truncate(WORST);
        let text =
            format!("The {WORST} of {all} tensors with the largest error (--json and --report have all):");
        writeln!(out, "{text}")?;
    }
    let rows: Vec<_> = shown.into_iter().map(|tensor| (tensor.name.as_str(), cells(tensor))).collect();
    rows_of_names(&header, &[2, 3, 4, 5, 6], &rows, out)
}

fn cells(tensor: &TensorReport) -> Vec<String> {
    let shape = words::shape(&tensor.shape);
    if tensor.format.is_none() {
        return [&shape, "", "", "copied", "", ""].map(str::to_owned).to_vec();
    }
    vec![
        shape,
        biases(tensor),
        tensor.amax.map_or_else(String::new, words::rough),
        words::decibels(tensor.sqnr_db),
        words::count(tensor.overflowed),
        words::count(tensor.underflowed),
    ]
}

/// One bias, the range of several, or the number of scales.
fn biases(tensor: &TensorReport) -> String {
    if let Some(scales) = &tensor.scales {
        return words::plural(scales.count, "scale");
    }
    match tensor.bias_range {
        Some(range) if range.min != range.max => format!("{}…{}", range.min, range.max),
        Some(range) => range.min.to_string(),
        None => String::new(),
    }
}

/// What was checked, of an output that was read back or not: layouts of other programs have no
/// digests, and values as bfloat16 no codes.
pub(crate) fn checked(verify: bool, container: Container, layout: &Layout) -> &'static str {
    match container {
        _ if !verify => "not verified",
        Container::Bf16 => "not verified: values as bfloat16 have no codes (`compare` tells the errors)",
        Container::Native if layout.is_native() => "verified: every code and every digest",
        _ => "verified: every code",
    }
}

/// Prints the totals, and what was checked.
pub(crate) fn totals(report: &Report, checked: &str, out: &mut Output) -> io::Result<()> {
    let totals = &report.totals;
    let copied = match totals.copied {
        0 => String::new(),
        copied => format!(", {} copied", words::count(copied)),
    };
    let quantized = words::plural(totals.quantized, "tensor");
    writeln!(out, "{} in {quantized}{copied}", words::plural(totals.elements, "element"))?;
    let ratios = words::ratios(totals.mean_sqnr_db, totals.min_sqnr_db);
    writeln!(out, "{}{ratios}", sizes(report))?;
    let special: Vec<_> = [
        (totals.saturated, "saturated"),
        (totals.overflowed - totals.saturated, "beyond the range"),
        (totals.underflowed, "underflowed"),
        (totals.zeros, "zero"),
        (totals.nans, "NaN"),
        (totals.infinities, "infinite"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", words::count(n)))
    .collect();
    if !special.is_empty() {
        writeln!(out, "elements: {}", special.join(", "))?;
    }
    let rate = per_second(report.bytes_in, report.seconds);
    // So short a time, and so small a file, say nothing of the speed.
    let speed =
        if report.seconds < SHORTEST || rate < 0.01 { String::new() } else { format!(", {rate:.2} GB/s") };
    writeln!(out, "{:.2} s{speed}; {}", report.seconds, out.bold(checked))
}

/// `90.9 MB -> 22.8 MB, a factor of 3.99`.
pub(crate) fn sizes(report: &Report) -> String {
    let ratio = ratio(report.bytes_in, report.bytes_out);
    format!("{} -> {}, a factor of {ratio:.2}", words::bytes(report.bytes_in), words::bytes(report.bytes_out))
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn ratio(bytes_in: u64, bytes_out: u64) -> f64 {
    bytes_in as f64 / bytes_out.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn per_second(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1e9 / seconds.max(1e-9)
}
