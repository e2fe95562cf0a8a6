//! `smallfloat vectors cover`: which bins of a unit vectors reach, and which are missing.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use smallfloat_conformance::coverage::{Bin, UnitCoverage};
use smallfloat_conformance::vectors::{CheckOptions, Field, LineLayout, VectorUnit};
use smallfloat_tensor::{DurableFile, open_regular};

use crate::arguments::files::check_outputs;
use crate::arguments::unit::PortedUnitArgs;
use crate::render::output::{Output, table};
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat vectors cover results.txt --goal 100
  smallfloat vectors cover directed.txt random.txt --json > coverage.json
  smallfloat vectors cover coverage.json more.txt
  smallfloat vectors gen --close results.txt > missing.txt
  smallfloat vectors cover results.hex --systemverilog coverage.sv --samples bins.hex

Counts in which bins the operands of vectors fall. A bin is a combination of features: of the
operands' classes, signs, exponents and significands, of the exact result, and of its rounding; of
a conversion into a list of values, the numbers next to each middle between two values and ties; of
a sum of products, what each lane has, where terms are aligned, what is cut, cancels and grows, and
scales. The results in the file do not matter; `vectors check` judges them.

What is unreachable is left out, so that 100 % is 100 %: of units whose operands have at most 24
bits together all are tried, of wider ones operands are searched for and proofs sought. Bins for
which there is neither are counted apart, as not known to be reachable.

Several files are counted together, those of earlier runs with --json too. Exit status 1 if less
than --goal is reached.";

/// Say which bins of a unit vectors reach, and which are missing.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Vectors, with results or as they were generated, and the JSON of earlier runs; `-` is
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    unit: PortedUnitArgs,

    /// testfloat, readmemh, csv or jsonl [default: as the header or the first line says]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LineLayout>,

    /// The percentage of the reachable bins that is enough
    #[arg(long, value_name = "PERCENT")]
    goal: Option<f64>,

    /// How many missing bins are listed
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,

    /// Print all counts as JSON
    #[arg(long)]
    json: bool,

    /// Write a SystemVerilog covergroup of the reachable bins
    #[arg(long, value_name = "FILE")]
    systemverilog: Option<PathBuf>,

    /// Write what the covergroup samples: for each vector of the one file its bins, for $readmemh
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<bool> {
    if args.goal.is_some_and(|goal| !(0.0..=100.0).contains(&goal)) {
        bail!("--goal: a percentage is from 0 to 100");
    }
    let outputs =
        [("--systemverilog", args.systemverilog.as_deref()), ("--samples", args.samples.as_deref())];
    let inputs = args.files.iter().map(PathBuf::as_path).filter(|path| *path != Path::new("-"));
    check_outputs(&outputs, inputs, args.overwrite)?;
    let coverage = count(&args.files, &args.unit, args.layout)?;
    if let Some(path) = &args.systemverilog {
        write(path, args.overwrite, |file| Ok(file.append(coverage.single()?.system_verilog().as_bytes())?))?;
    }
    if let Some(path) = &args.samples {
        let ([file], true) = (&args.files[..], args.files[0] != Path::new("-")) else {
            bail!("--samples: name one file of vectors; its bins are in the order of its vectors");
        };
        let options = options(&args.unit, args.layout);
        write(path, args.overwrite, |output| {
            let mut written = Ok(());
            coverage.single()?.samples(open_regular(file)?.0, &options, |words| {
                if written.is_ok() {
                    written = output.append(words.as_bytes());
                }
            })?;
            Ok(written?)
        })?;
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &coverage.to_json())?;
        writeln!(out)?;
    } else {
        print(&coverage, args, out)?;
    }
    Ok(args.goal.is_none_or(|goal| coverage.percent() >= goal))
}

fn write(path: &Path, overwrite: bool, fill: impl FnOnce(&mut DurableFile) -> Result<()>) -> Result<()> {
    let mut file = DurableFile::create(path, overwrite)?;
    fill(&mut file)?;
    Ok(file.commit()?)
}

fn options(unit: &PortedUnitArgs, layout: Option<LineLayout>) -> CheckOptions {
    let (flags, order) = (unit.unit.flags.set(), unit.unit.flags.flag_order);
    CheckOptions { layout, flags, order, ..CheckOptions::default() }
}

/// Counts files together: vectors, and what earlier runs counted.
pub(super) fn count(
    files: &[PathBuf],
    unit: &PortedUnitArgs,
    layout: Option<LineLayout>,
) -> Result<UnitCoverage> {
    let given = unit.unit()?;
    let options = options(unit, layout);
    let mut coverage = None;
    for path in files {
        let from_stdin = path == Path::new("-");
        let name = if from_stdin { "standard input".into() } else { format!("`{}`", path.display()) };
        let counted = if from_stdin {
            add(BufReader::new(io::stdin().lock()), coverage.take(), given.as_ref(), &options)
        } else {
            let file: File = open_regular(path)?.0;
            add(BufReader::with_capacity(1 << 16, file), coverage.take(), given.as_ref(), &options)
        };
        coverage = Some(counted.context(name)?);
    }
    coverage.context("no file is named")
}

/// Counts a file; the first one says what the unit is, if the arguments do not.
fn add(
    mut input: impl BufRead,
    coverage: Option<UnitCoverage>,
    given: Option<&VectorUnit>,
    options: &CheckOptions,
) -> Result<UnitCoverage> {
    let start = input.fill_buf()?;
    let is_coverage = start.first() == Some(&b'{') && contains(start, b"\"crosses\"");
    let coverage = match (coverage, given) {
        (None, Some(unit)) => Some(UnitCoverage::new(unit.clone())?),
        (coverage, _) => coverage,
    };
    if is_coverage {
        let mut text = String::new();
        input.read_to_string(&mut text)?;
        let json: Value = serde_json::from_str(&text)?;
        return Ok(match coverage {
            None => UnitCoverage::of_json(&json)?,
            Some(mut coverage) => {
                coverage.merge_json(&json)?;
                coverage
            }
        });
    }
    Ok(match coverage {
        None => UnitCoverage::of_vectors(input, options)?,
        Some(mut coverage) => {
            coverage.read(input, options)?;
            coverage
        }
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A percentage that says 100 where nothing is missing and nowhere else.
fn percent(percent: f64) -> String {
    if percent < 100.0 { format!("{:.1}", percent.min(99.9)) } else { "100".into() }
}

fn print(coverage: &UnitCoverage, args: &Args, out: &mut Output) -> Result<()> {
    writeln!(out, "{}", out.bold(coverage.unit()))?;
    if let Some(ports) = coverage.unit().ports() {
        writeln!(out, "ports: {ports}, {} settings", words::count(ports.settings() as u64))?;
    }
    let files = if let [file] = &args.files[..] {
        if file == Path::new("-") { "standard input".into() } else { file.display().to_string() }
    } else {
        words::plural(args.files.len() as u64, "file")
    };
    writeln!(out, "{files}: {}", words::plural(coverage.vectors(), "vector"))?;
    let mut rows = table(&["cross", "reached", "bins", "%", "of"], &[1, 2, 3]);
    for row in crosses(coverage) {
        let (hit, all) = (words::count(row.hit as u64), words::count(row.reachable as u64));
        rows.add_row([row.name.to_owned(), hit, all, percent(row.percent()), row.axes]);
    }
    let (hit, all) = coverage.total();
    let all_bins = [words::count(hit as u64), words::count(all as u64)];
    let [hit_text, all_text] = all_bins;
    rows.add_row(["all".to_owned(), hit_text, all_text, percent(coverage.percent()), String::new()]);
    out.rows(&rows)?;
    let each = || coverage.settings().flat_map(|(_, coverage)| coverage.crosses());
    let unreachable: usize = each().map(|cross| cross.unreachable()).sum();
    let unreachable = words::count(unreachable as u64);
    if coverage.is_exhaustive() {
        writeln!(out, "{unreachable} combinations are unreachable: all operands were tried.")?;
    } else {
        let unknown: usize = each().map(|cross| cross.unknown().count()).sum();
        let unknown = words::count(unknown as u64);
        writeln!(
            out,
            "{unreachable} combinations are proved unreachable, {unknown} not known to be reachable."
        )?;
    }
    let missing = all - hit;
    if missing == 0 {
        return Ok(());
    }
    writeln!(out, "\n{} missing, as these operands reach:", words::plural(missing as u64, "bin"))?;
    let bins = coverage.settings().flat_map(|(codes, of)| {
        let ports =
            coverage.unit().port_values(&codes).map(|(field, _, word)| format!("{} {word}, ", field.name));
        let ports: String = ports.collect();
        let bins = of.crosses().flat_map(|cross| cross.missing().map(move |bin| (cross.name(), bin)));
        bins.map(move |(name, bin)| (ports.clone(), of.unit(), name, bin))
    });
    for (ports, unit, name, bin) in bins.take(args.show) {
        writeln!(out, "  {name}: {ports}{}", bin.words.join(", "))?;
        if let Some(operands) = operands(unit, &bin) {
            writeln!(out, "    {operands}")?;
        }
    }
    if missing > args.show {
        writeln!(
            out,
            "{} more (--show N); `vectors gen --close FILE` makes vectors for all",
            words::count((missing - args.show) as u64)
        )?;
    }
    Ok(())
}

/// The counts of a cross at all settings.
struct CrossRow<'a> {
    name: &'a str,
    hit: usize,
    reachable: usize,
    axes: String,
}

impl CrossRow<'_> {
    #[expect(clippy::cast_precision_loss, reason = "bins are few")]
    fn percent(&self) -> f64 {
        if self.reachable == 0 { 100.0 } else { 100.0 * self.hit as f64 / self.reachable as f64 }
    }
}

fn crosses(coverage: &UnitCoverage) -> Vec<CrossRow<'_>> {
    let mut rows: Vec<CrossRow<'_>> = Vec::new();
    for cross in coverage.settings().flat_map(|(_, coverage)| coverage.crosses()) {
        let (hit, reachable) = (cross.hit(), cross.reachable());
        if let Some(row) = rows.iter_mut().find(|row| row.name == cross.name()) {
            (row.hit, row.reachable) = (row.hit + hit, row.reachable + reachable);
        } else {
            let axes = cross.axes().collect::<Vec<_>>().join(" × ");
            rows.push(CrossRow { name: cross.name(), hit, reachable, axes });
        }
    }
    rows
}

/// More operands than this have no names and values; of sums, those that are not zero.
const NAMED: usize = 4;
const NAMED_OF_MANY: usize = 6;
/// How many codes of a block are shown.
const SHOWN: usize = 16;

/// Operands that reach a bin: with names and values, of blocks the first codes.
fn operands(unit: &VectorUnit, bin: &Bin<'_>) -> Option<String> {
    let operands = bin.operands?;
    let fields = || unit.operands().iter().zip(operands);
    let named = |(field, code): (&Field, &u64)| match (&field.format, &field.list) {
        (Some(format), _) => {
            format!("{} {} ({})", field.name, words::code(format, *code), words::value(format, *code))
        }
        (None, Some(list)) => {
            let value = u32::try_from(*code).map_or(f32::NAN, |code| list.value(code));
            format!("{} {code:#x} ({value})", field.name)
        }
        (None, None) => format!("{} {code:#x}", field.name),
    };
    if operands.len() <= NAMED {
        return Some(fields().map(named).collect::<Vec<_>>().join(", "));
    }
    let others = || fields().filter(|(_, code)| **code != 0);
    if matches!(unit, VectorUnit::Fixed(_)) && others().count() <= NAMED_OF_MANY {
        let rest = if others().count() == 0 { "all 0" } else { "others 0" };
        return Some(others().map(named).chain([rest.into()]).collect::<Vec<_>>().join(", "));
    }
    let mut codes: Vec<String> = fields()
        .map(|(field, code)| format!("{code:0width$x}", width = field.digits()))
        .take(SHOWN)
        .collect();
    codes.extend((operands.len() > SHOWN).then(|| "…".into()));
    Some(codes.join(" "))
}
