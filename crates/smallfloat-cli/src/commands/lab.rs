//! `smallfloat lab`: experiments with the numerics of small formats.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use comfy_table::{ColumnConstraint, Width};
use serde_json::json;
use smallfloat::{Format, FormatSpec};
use smallfloat_lab::experiments::{
    Cell, EXPERIMENTS, Experiment, ExperimentOptions, Findings, FindingsTable, Order, Tree, special,
};
use smallfloat_tensor::write_file_durably;

use crate::arguments::files::{Input, check_outputs};
use crate::arguments::operands;
use crate::arguments::rounding::integer;
use crate::charts::lab as lab_picture;
use crate::render::output::Output;
use crate::render::{output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat lab
  smallfloat lab dot-saturation
  smallfloat lab dot-saturation --format e5m2 --accumulator bfloat16 --tree chunks:16 --plot dot.svg
  smallfloat lab attention-mask --format binary8p4sf --temperature 0.1
  smallfloat lab underflow --input model.safetensors --json
  smallfloat lab accumulate --format bfloat16 --update 0.001 --length 1000

`smallfloat lab` lists the experiments and the options that each takes; docs/lab/ has a page for
each. Formats are signed and of at most 16 bits. Random numbers come from Philox4x32-10 with
--seed as key, so the same options give the same numbers everywhere.

Trees: sequential, pairwise, chunks:N (runs of N, then their sums in order). Orders: forward,
reverse, increasing, decreasing.";

/// Run an experiment: saturation, masks, norms, double rounding, …
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The experiment; without it they are listed
    #[arg(value_name = "NAME")]
    experiment: Option<String>,

    /// A format to examine; may be given several times where formats are compared
    #[arg(long, value_name = "FORMAT")]
    format: Vec<FormatSpec>,

    /// The format that sums are held in, or that results pass through
    #[arg(long, value_name = "FORMAT", value_parser = operands::format)]
    accumulator: Option<Format>,

    /// A .safetensors or .npy file of real tensors; `-` is standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// The key of all random numbers [default: 0]
    #[arg(long, value_name = "S", value_parser = integer)]
    seed: Option<u64>,

    /// The length of vectors, or the number of steps, up to 2^20
    #[arg(long, value_name = "N")]
    length: Option<usize>,

    /// How often a random experiment is repeated, up to 1000000
    #[arg(long, value_name = "N")]
    trials: Option<u64>,

    /// How terms are added up: sequential, pairwise, chunks:N
    #[arg(long, value_name = "TREE")]
    tree: Option<Tree>,

    /// In which order: forward, reverse, increasing, decreasing
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,

    /// A factor of the scores of a softmax; may be given several times
    #[arg(long, value_name = "X")]
    temperature: Vec<f64>,

    /// What is added at every step
    #[arg(long, value_name = "X")]
    update: Option<f64>,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,

    /// Write the findings as JSON
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,

    /// Draw the findings
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

impl Args {
    /// Returns whether an option was given that a list of experiments has no use for.
    fn asks_for_a_run(&self) -> bool {
        let values = [
            !self.format.is_empty(),
            !self.temperature.is_empty(),
            self.accumulator.is_some(),
            self.input.is_some(),
            self.seed.is_some(),
            self.length.is_some(),
            self.trials.is_some(),
            self.tree.is_some(),
            self.order.is_some(),
            self.update.is_some(),
            self.report.is_some(),
            self.plot.is_some(),
            self.overwrite,
        ];
        values.contains(&true)
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let Some(name) = &args.experiment else {
        ensure!(!args.asks_for_a_run(), "which experiment? Name one of those that `smallfloat lab` lists");
        return list(args.json, out);
    };
    let experiment = words::excerpt(name).parse::<&Experiment>()?;
    let outputs = [("--report", args.report.as_deref()), ("--plot", args.plot.as_deref())];
    check_outputs(&outputs, args.input.as_deref(), args.overwrite)?;
    let input = args.input.as_deref().map(Input::open).transpose()?;
    let findings = experiment.run(&ExperimentOptions {
        formats: formats(args, experiment),
        accumulator: args.accumulator,
        input: input.as_ref().map(|input| input.path().to_path_buf()),
        seed: args.seed,
        length: args.length,
        trials: args.trials,
        tree: args.tree,
        order: args.order,
        temperatures: args.temperature.clone(),
        update: args.update,
    })?;
    if let Some(path) = &args.report {
        let mut text = serde_json::to_vec_pretty(&findings)?;
        text.push(b'\n');
        write(path, &text, args.overwrite).context("--report")?;
    }
    if let Some(path) = &args.plot {
        let svg = lab_picture::svg(&findings)?;
        write(path, svg.as_bytes(), args.overwrite).context("--plot")?;
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &findings)?;
        writeln!(out)?;
        return Ok(());
    }
    print(&findings, out)
}

/// The formats given; those that need a bias and have none get the default one.
fn formats(args: &Args, experiment: &Experiment) -> Vec<FormatSpec> {
    if experiment.chooses_biases() {
        return args.format.clone();
    }
    args.format.iter().map(|spec| operands::complete(spec).into()).collect()
}

fn write(path: &Path, bytes: &[u8], overwrite: bool) -> Result<()> {
    Ok(write_file_durably(path, bytes, overwrite)?)
}

fn list(json: bool, out: &mut Output) -> Result<()> {
    let options =
        |experiment: &Experiment| experiment.knobs.iter().map(ToString::to_string).collect::<Vec<_>>();
    if json {
        let row = |e: &Experiment| json!({ "name": e.name, "about": e.about, "options": options(e) });
        serde_json::to_writer_pretty(&mut *out, &EXPERIMENTS.iter().map(row).collect::<Vec<_>>())?;
        writeln!(out)?;
        return Ok(());
    }
    let mut table = output::table(&["experiment", "what it shows", "options"], &[]);
    for experiment in EXPERIMENTS {
        table.add_row([experiment.name, experiment.about, &options(experiment).join(" ")]);
    }
    out.rows(&table)?;
    writeln!(out, "\nEach also takes --json, --report FILE.json, --plot FILE.svg and --overwrite.")?;
    Ok(())
}

fn print(findings: &Findings, out: &mut Output) -> Result<()> {
    writeln!(out, "{}", out.bold(findings.experiment))?;
    let settings: Vec<_> =
        findings.settings.iter().map(|(option, value)| format!("{option} {value}")).collect();
    // Values may come from file names.
    for line in wrapped("", &words::tensor_name(&settings.join("  "), 1000), usize::from(output::WIDTH)) {
        writeln!(out, "{}", out.dim(line))?;
    }
    for table in &findings.tables {
        writeln!(out, "\n{}", words::tensor_name(&table.title, 200))?;
        print_table(table, out)?;
    }
    writeln!(out)?;
    for note in &findings.notes {
        for line in wrapped("- ", note, usize::from(output::WIDTH)) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Columns of numbers are aligned to the right; numbers and short words are never broken.
fn print_table(table: &FindingsTable, out: &mut Output) -> Result<()> {
    let is_number = |column: &usize| table.rows.iter().all(|row| row[*column].text().is_none());
    let numbers: Vec<usize> = (0..table.columns.len()).filter(is_number).collect();
    let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let mut printed = output::table(&header, &numbers);
    for row in &table.rows {
        printed.add_row(row.iter().map(cell));
    }
    for (i, column) in printed.column_iter_mut().enumerate() {
        let words = header[i].split(' ').map(|word| word.chars().count());
        let cells = table.rows.iter().map(|row| cell(&row[i]).chars().count());
        let longest = words.chain(cells).max().unwrap_or(0).min(LONGEST_UNBROKEN);
        let width = Width::Fixed(u16::try_from(longest + 2)?);
        column.set_constraint(ColumnConstraint::LowerBoundary(width));
    }
    out.rows(&printed)?;
    Ok(())
}

/// Longer cells may be broken where a table is too wide.
const LONGEST_UNBROKEN: usize = 22;

fn cell(cell: &Cell) -> String {
    match cell {
        // Names of tensors come from files.
        Cell::Text(text) => words::tensor_name(text, 60),
        Cell::Count(n) => words::count(*n),
        Cell::Value(x) | Cell::Measured(x) | Cell::Share(x) if !x.is_finite() => special(*x).to_owned(),
        Cell::Value(x) => words::number(*x),
        Cell::Measured(x) => words::rough(*x),
        Cell::Share(x) => format!("{} %", words::rough(100.0 * x)),
        Cell::Empty => String::new(),
    }
}

/// Text in lines of at most `width` characters: the first after a mark, the others below its end.
fn wrapped(mark: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{:1$}{word}", "", mark.chars().count())),
            None => lines.push(format!("{mark}{word}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_wrapped() {
        assert_eq!(wrapped("- ", "one two three", 9), ["- one two", "  three"]);
        assert!(wrapped("", " ", 9).is_empty());
    }

    #[test]
    fn cells_show_what_matters() {
        let shown = |c: Cell| cell(&c);
        assert_eq!(shown(Cell::Count(16_581_375)), "16,581,375");
        assert_eq!(shown(Cell::Value(-100_352.0)), "-100352");
        assert_eq!(shown(Cell::Value(f64::NEG_INFINITY)), "-Inf");
        assert_eq!(shown(Cell::Share(0.5)), "50.00 %");
        assert_eq!(shown(Cell::Measured(15.491_933)), "15.49");
        assert_eq!(shown(Cell::Empty), "");
    }
}
