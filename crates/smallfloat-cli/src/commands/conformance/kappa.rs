//! `smallfloat kappa`: how far an implementation of an operation is from the defined results.

use std::io;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use smallfloat::Format;
use smallfloat_conformance::implementation::{NAMED, Variant};
use smallfloat_conformance::kappa::{
    Cover, Gauge, GaugeOptions, Interval, Kappa, MeasuredOperation, Measurement, OperandCoverage, Vectors,
    measure,
};
use smallfloat_conformance::vectors::{CoverageLevel, FixedUnit, VectorPlan};
use smallfloat_tensor::{open_regular, write_file_durably};

use crate::arguments::files::check_outputs;
use crate::arguments::operands;
use crate::charts::kappa::KappaPicture;
use crate::render::fields::at_most;
use crate::render::output::Output;
use crate::render::progress::Counter;
use crate::render::{json as js, output, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat kappa
  smallfloat kappa 'Exp<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>' \\
      --variant f32-libm,flush=zero --interval ..0 --interval 0..
  smallfloat kappa 'Sqrt<bfloat16, e4m3fn>' --variant table,entries=16,in=bfloat16 --per-binade
  smallfloat kappa Exp --format e4m3fn --variant f32-libm
  my-unit-under-test | smallfloat kappa 'Add<e5m2, e5m2, e5m2>' --vectors -
  smallfloat kappa 'Dot<32, e4m3fn, e4m3fn, exact>' --variant hopper

κ is the largest number of steps from value to value between the defined result and the given
one: 0 for an exact implementation; inf if an infinity does not match, NaN if a NaN does not
(P3109 draft, section on κ-approximate implementations). -0 and 0 are one value.

With --variant all operands are tried, up to 2^32; of more, those of `vectors gen` at level 1, or
at the --level that is given. With --vectors a line has the operands' codes and the result's in
hexadecimal, separated by blanks; # starts a comment; a byte of flags may follow where a comment
above says `flags`.

A variant is a list of words and KEY=VALUE parts; `smallfloat kappa` lists the words. The keys:
operands=FORMAT round the operands first; via=exact, f32-libm, f64-libm, taylor or table;
degree=N, entries=N, in=FORMAT for the last two; then=FORMAT round the result to a format first;
flush=zero, normal or nearest for subnormal results.

Of a sum of products, Dot<N, X, Y, ACCUMULATOR>, a variant is another accumulator: exact, f32, a
GPU's matrix unit (hopper), its parameters (fused:k=32,fraction=13) or a format. `exact` adds all
operands, c and block scales too, and rounds once.

Intervals are LO..HI (HI excluded) or LO..=HI of the first operand, or of --operand N; an end
left out is the infinity. They may not overlap.";

/// Measure κ of an approximate operation.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The operation: `Name<formats…, (rounding, saturation)>`
    #[arg(value_name = "OPERATION")]
    operation: Option<String>,

    /// The format of all operands and of the result of an operation named alone
    #[arg(long, value_name = "FORMAT", requires = "operation")]
    format: Option<String>,

    /// How the implementation computes: `f32-libm,flush=zero`
    #[arg(long, value_name = "PARTS", group = "source", requires = "operation")]
    variant: Option<String>,

    /// What the implementation gave, a call a line; `-` is standard input
    #[arg(long, value_name = "FILE", group = "source", requires = "operation")]
    vectors: Option<PathBuf>,

    /// A set of operands that gets a κ of its own; may be given several times
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, conflicts_with = "per_binade")]
    interval: Vec<String>,

    /// How much --variant tries: exhaustive, 1 or 2 [default: exhaustive up to 2^32, else 1]
    #[arg(long, value_name = "LEVEL", requires = "variant")]
    level: Option<CoverageLevel>,

    /// How many random operands at level 1 or 2 [default: 10,000 or 1,000,000]
    #[arg(long, value_name = "N", requires = "variant")]
    random: Option<u64>,

    /// The seed of the random operands
    #[arg(long, value_name = "N", requires = "variant", default_value_t = 0)]
    seed: u64,

    /// κ for each binade of the operand
    #[arg(long)]
    per_binade: bool,

    /// Which operand intervals, binades and plot are about
    #[arg(long, value_name = "N", default_value_t = 1)]
    operand: usize,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,

    /// Draw steps against the operand
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let Some(text) = &args.operation else { return list(args.json, out) };
    let operation = operation(text, args.format.as_deref())?;
    let options = options(args, &operation)?;
    check_outputs(&[("--plot", args.plot.as_deref())], args.vectors.as_deref(), args.overwrite)?;
    let findings = match (&args.variant, &args.vectors) {
        (Some(variant), _) => Findings::of_variant(operation, variant, args, options)?,
        (None, Some(path)) => Findings::of_vectors(operation, path, options)?,
        (None, None) => bail!("give --variant or --vectors; `smallfloat kappa` lists the variants"),
    };
    if let (Some(path), Some(profile)) = (&args.plot, findings.gauge.profile()) {
        let fields = findings.operation.fields();
        let operand = fields.map_or("operand", |fields| &fields[findings.gauge.covered_operand()].name);
        let title = findings.operation.to_string();
        let picture = KappaPicture::new(title, findings.summary(), operand, profile);
        write_file_durably(path, picture.svg()?.as_bytes(), args.overwrite)?;
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &findings.json())?;
        writeln!(out)?;
        return Ok(());
    }
    findings.print(out)
}

/// A sum of products, or a function of formats.
fn operation(text: &str, format: Option<&str>) -> Result<MeasuredOperation> {
    let sum = if format.is_none() { FixedUnit::named(text) } else { None };
    if text.trim().eq_ignore_ascii_case("dot") {
        bail!(
            "`{}`: of what? Write `Dot<32, e4m3fn, e4m3fn, exact>`: how many products, their formats, and the \
               accumulator",
            text.trim()
        );
    }
    match sum {
        Some(unit) => Ok(unit.with_context(|| format!("`{}`", words::excerpt(text)))?.into()),
        None => Ok(operands::operation(text, format)?.into()),
    }
}

/// The words that variants are made of.
fn list(json: bool, out: &mut Output) -> Result<()> {
    if json {
        let rows: Vec<_> =
            NAMED.iter().map(|v| json!({ "name": v.name, "parts": v.parts, "about": v.about })).collect();
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        writeln!(out)?;
        return Ok(());
    }
    let mut table = output::table(&["variant", "what it is"], &[]);
    for variant in NAMED {
        table.add_row([variant.name, variant.about]);
    }
    out.rows(&table)?;
    writeln!(out, "\nThey can be combined, with each other and with KEY=VALUE parts:")?;
    writeln!(out, "smallfloat kappa 'Sqrt<bfloat16, e4m3fn>' --variant f32-libm,then=binary16,flush=zero")?;
    writeln!(out, "`smallfloat kappa --help` has the keys, and the variants of sums of products.")?;
    Ok(())
}

fn options(args: &Args, operation: &MeasuredOperation) -> Result<GaugeOptions> {
    let count = operation.operands().len();
    ensure!(count > 0, "{} takes no operands, so there is no κ to measure", operation.name());
    ensure!(
        (1..=count).contains(&args.operand),
        "--operand {}: {} has operands 1..={count}",
        args.operand,
        operation.name()
    );
    let index = args.operand - 1;
    let format = &operation.operands()[index];
    let cover = if args.per_binade {
        Cover::per_binade(index, format)
    } else {
        let intervals: Result<Vec<_>, _> =
            args.interval.iter().map(|text| Interval::parse(text, format)).collect();
        Cover::new(index, intervals?)?
    };
    Ok(GaugeOptions { cover, runs: if args.plot.is_some() { RUNS } else { 0 } })
}

/// How finely a plot's operand is divided before the picture chooses what to show.
const RUNS: usize = 1 << 16;

/// Operands of a sum that have a row each, and codes on a line of those that share one.
const OPERANDS: usize = 12;
const CODES: usize = 8;

struct Findings {
    operation: MeasuredOperation,
    gauge: Gauge,
    /// Where the given results come from, as in `--variant` or `--vectors`.
    source: (&'static str, String),
    coverage: Option<OperandCoverage>,
}

impl Findings {
    fn of_variant(
        operation: MeasuredOperation,
        variant: &str,
        args: &Args,
        options: GaugeOptions,
    ) -> Result<Self> {
        let variant = Variant::new(variant, &operation).context("--variant")?;
        let plan = operation.plan(args.level, args.seed, args.random)?;
        let all = 1_u64.checked_shl(operation.operand_bits()).unwrap_or(u64::MAX);
        let counter = Counter::new(plan.as_ref().map_or(all, VectorPlan::lines));
        let given = |codes: &[u64]| variant.call(codes);
        let gauge = measure(&operation, plan.as_ref(), given, options, &|calls| counter.add(calls))?;
        let compared = gauge.total().compared();
        let coverage = plan.is_none().then_some(OperandCoverage { seen: compared, possible: compared });
        Ok(Self { operation, gauge, source: ("variant", variant.to_string()), coverage })
    }

    fn of_vectors(operation: MeasuredOperation, path: &Path, options: GaugeOptions) -> Result<Self> {
        let from_stdin = path == Path::new("-");
        let name = if from_stdin { "standard input".into() } else { path.display().to_string() };
        let vectors = if from_stdin {
            Vectors::read(&operation, options, io::stdin().lock())
        } else {
            let (file, _) = open_regular(path)?;
            Vectors::read(&operation, options, BufReader::with_capacity(1 << 16, file))
        };
        let place = if from_stdin { name.clone() } else { format!("`{name}`") };
        let vectors = vectors.with_context(|| place.clone())?;
        ensure!(
            vectors.gauge().total().compared() > 0,
            "{place}: no vector was found; a line has the operands' codes and the result's"
        );
        let coverage = vectors.coverage();
        Ok(Self { operation, gauge: vectors.gauge().clone(), source: ("vectors", name), coverage })
    }

    fn result(&self) -> &Format {
        // An operation without a result is refused before anything is measured.
        self.operation.result().unwrap_or(&self.operation.operands()[0])
    }

    fn is_exhaustive(&self) -> bool {
        self.coverage.is_some_and(|coverage| coverage.seen == coverage.possible)
    }

    /// `all 65,536 operands: 65,500 agree, 36 differ`
    fn counts(&self) -> String {
        let total = self.gauge.total();
        let agree = words::count(total.compared() - total.differing());
        let differ = words::count(total.differing());
        let what = match self.coverage {
            Some(c) if c.seen == c.possible && c.seen == total.compared() => {
                format!("all {} operands", words::count(c.possible))
            }
            Some(c) => format!(
                "{} with {} of {} operands",
                words::plural(total.compared(), "call"),
                words::count(c.seen),
                words::count(c.possible)
            ),
            None => words::plural(total.compared(), "call"),
        };
        format!("{what}: {agree} agree, {differ} differ")
    }

    fn summary(&self) -> String {
        format!("{} {}: κ = {}; {}", self.source.0, self.source.1, self.gauge.total().kappa(), self.counts())
    }

    fn print(&self, out: &mut Output) -> Result<()> {
        let total = self.gauge.total();
        writeln!(out, "{}", out.bold(&self.operation))?;
        writeln!(out, "{} {}\n", self.source.0, self.source.1)?;
        writeln!(out, "{}", out.bold(format!("κ = {}", total.kappa())))?;
        writeln!(out, "{}", self.counts())?;
        if !self.is_exhaustive() {
            writeln!(out, "κ holds for these operands; the operation's own κ may be larger")?;
        }
        if total.differing() > 0 {
            self.print_histogram(out)?;
            writeln!(out)?;
            self.print_worst(out)?;
        }
        if self.gauge.parts().next().is_some() {
            writeln!(out)?;
            self.print_parts(out)?;
        }
        Ok(())
    }

    fn print_histogram(&self, out: &mut Output) -> Result<()> {
        let total = self.gauge.total();
        writeln!(out)?;
        let mut table = output::table(&["off by", "calls", "share"], &[1, 2]);
        let mut row = |what: String, count: u64| {
            if count > 0 {
                table.add_row([what, words::count(count), share(count, total.compared())]);
            }
        };
        for bar in total.histogram() {
            let steps = match bar.from {
                1 => "1 step".to_owned(),
                from if from == bar.to => format!("{from} steps"),
                from => format!("{from} to {} steps", bar.to),
            };
            row(steps, bar.count);
        }
        row("an infinity".into(), total.infinity_mismatches());
        row("NaN".into(), total.nan_mismatches());
        Ok(out.rows(&table)?)
    }

    fn print_worst(&self, out: &mut Output) -> Result<()> {
        let Some(case) = self.gauge.total().worst() else { return Ok(()) };
        let mut table = output::table(&["first of the worst", "code", "value"], &[]);
        if let Some(fields) = self.operation.fields() {
            for (name, field, codes) in at_most(OPERANDS, fields, &case.operands) {
                let format = field.format.expect("a sum's operands are codes of formats");
                let shown: Vec<_> = codes.iter().map(|code| words::code(&format, *code)).collect();
                let lines: Vec<_> = shown.chunks(CODES).map(|codes| codes.join(" ")).collect();
                let value = match &codes[..] {
                    [code] => words::value(&format, *code),
                    _ => String::new(),
                };
                table.add_row([name, lines.join("\n"), value]);
            }
        } else {
            let formats = self.operation.operands();
            for (i, (code, format)) in case.operands.iter().zip(formats).enumerate() {
                let name = if formats.len() == 1 { "operand".into() } else { format!("operand {}", i + 1) };
                table.add_row([name, words::code(format, *code), words::value(format, *code)]);
            }
        }
        let result = self.result();
        for (name, codes) in [("defined result", &case.defined), ("given result", &case.given)] {
            for &code in codes {
                table.add_row([name.to_owned(), words::code(result, code), words::value(result, code)]);
            }
        }
        Ok(out.rows(&table)?)
    }

    fn print_parts(&self, out: &mut Output) -> Result<()> {
        let header = ["operand in", "κ", "operands", "differ", "worst at", "defined", "given"];
        let mut table = output::table(&header, &[1, 2, 3]);
        let elsewhere = self.gauge.elsewhere();
        let parts: Vec<_> = self.gauge.parts().filter(|(_, part)| part.compared() > 0).collect();
        // Binades that agree are many and say little: runs of them share a line.
        for run in parts.chunk_by(|(_, a), (_, b)| a.differing() == 0 && b.differing() == 0) {
            let [(first, part), .., (last, _)] = run else {
                let [(text, part)] = run else { continue };
                table.add_row(self.part_row(text, part, part.compared()));
                continue;
            };
            let compared = run.iter().map(|(_, part)| part.compared()).sum();
            table.add_row(self.part_row(&format!("{first} to {last}"), part, compared));
        }
        if elsewhere.compared() > 0 {
            table.add_row(self.part_row("elsewhere", elsewhere, elsewhere.compared()));
        }
        Ok(out.rows(&table)?)
    }

    fn part_row(&self, text: &str, part: &Measurement, compared: u64) -> Vec<String> {
        let mut row = vec![
            text.to_owned(),
            part.kappa().to_string(),
            words::count(compared),
            words::count(part.differing()),
        ];
        if let Some(case) = part.worst() {
            let covered = self.gauge.covered_operand();
            let operand = &self.operation.operands()[covered];
            row.push(words::brief(operand, case.operands[covered]));
            row.extend([&case.defined, &case.given].map(|codes| words::brief(self.result(), codes[0])));
        }
        row
    }

    fn json(&self) -> Value {
        let parts: Vec<_> = self
            .gauge
            .parts()
            .map(|(text, part)| {
                let mut object = json!({ "interval": text });
                self.extend(&mut object, part);
                object
            })
            .collect();
        let mut object = json!({ "operation": self.operation.to_string(), self.source.0: self.source.1 });
        object["exhaustive"] = self.is_exhaustive().into();
        self.extend(&mut object, self.gauge.total());
        if !parts.is_empty() {
            object["intervals"] = parts.into();
            let mut elsewhere = json!({});
            self.extend(&mut elsewhere, self.gauge.elsewhere());
            object["elsewhere"] = elsewhere;
        }
        object
    }

    fn extend(&self, object: &mut Value, found: &Measurement) {
        object["kappa"] = match found.kappa() {
            Kappa::Steps(steps) => steps.into(),
            other => other.to_string().into(),
        };
        object["largest_steps"] = found.largest_steps().into();
        object["compared"] = found.compared().into();
        object["differing"] = found.differing().into();
        object["nan_mismatches"] = found.nan_mismatches().into();
        object["infinity_mismatches"] = found.infinity_mismatches().into();
        let bars = found.histogram().map(|bar| json!({ "from": bar.from, "to": bar.to, "count": bar.count }));
        object["histogram"] = bars.collect::<Vec<_>>().into();
        object["worst"] = found.worst().map_or(Value::Null, |case| {
            let codes = |codes: &[u64], formats: &[Format]| -> Vec<_> {
                codes.iter().zip(formats).map(|(code, format)| js::code(format, *code)).collect()
            };
            let result = &[*self.result()];
            json!({
                "operands": codes(&case.operands, self.operation.operands()),
                "defined": codes(&case.defined, result)[0],
                "given": codes(&case.given, result)[0],
            })
        });
    }
}

/// Per cent, in three digits.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn share(count: u64, all: u64) -> String {
    let percent = 100.0 * count as f64 / all.max(1) as f64;
    format!("{} %", words::rough(percent))
}
