//! `smallfloat vectors check`: what differs, and which mistake would explain it.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use smallfloat::formats::BINARY64;
use smallfloat::{Datum, Exact, Flags, project};
use smallfloat_conformance::diagnosis::{
    Condition, Diagnosis, Finding, Hypothesis, Mistake, Rules, diagnose,
};
use smallfloat_conformance::vectors::{
    CallOutcome, CheckOptions, CheckReport, Field, LineLayout, Mismatch, VectorUnit, check,
};
use smallfloat_tensor::open_regular;

use crate::arguments::unit::PortedUnitArgs;
use crate::render::fields::{alike, list_value, number};
use crate::render::output::Output;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat vectors check results.txt
  my-simulator | smallfloat vectors check - --show 20
  my-simulator | smallfloat vectors check - --prefix 'RESULT '
  smallfloat vectors check dump.hex --op convert --from binary32 --to e4m3fn --flags none

Reads operands and the results that an implementation gave, in any layout of `vectors gen`, and
computes the right results itself. The header says what is tested and whose rules flags follow (an
older file's are Tesla's); without one, or for another policy, name it as for `gen`. Digits that a
simulator does not know (x, z) count as wrong. With --prefix TEXT, lines with results begin with
TEXT, which is removed; of other lines only those of a header count.

Every vector that differs is tried against a catalogue of mistakes: other rounding modes, rounding
twice, no sticky bit, flushing, a bias off by one, another reading of subnormals, another policy for
overflow, infinities and NaN, signs, flags; alone, and two together. A mistake is named as the cause
only if it explains every vector that differs and changes none that agrees; other rules for flags,
and other presets, are named as such.

Exit status 1 if a vector differs, if there are fewer or more than the header says, or if their
operands are not the ones that were generated (--partial allows the last two).";

/// Check what an implementation gave for test vectors.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The vectors with the results to check; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    unit: PortedUnitArgs,

    /// testfloat, readmemh, csv or jsonl [default: as the header or the first line says]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LineLayout>,

    /// How lines with results begin; other lines, such as a simulator's own, are passed over
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// How many differing vectors are explained
    #[arg(long, value_name = "N", default_value_t = 5)]
    show: usize,

    /// Accept any NaN where a NaN is right
    #[arg(long)]
    any_nan: bool,

    /// Accept a part of the vectors, in any order
    #[arg(long)]
    partial: bool,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<bool> {
    let options = CheckOptions {
        unit: args.unit.unit()?,
        layout: args.layout,
        flags: args.unit.unit.flags.set(),
        policy: args.unit.unit.flags.policy(),
        order: args.unit.unit.flags.flag_order,
        any_nan: args.any_nan,
        prefix: args.prefix.clone(),
        show: args.show,
    };
    let from_stdin = args.file == Path::new("-");
    let name = if from_stdin { "standard input".into() } else { args.file.display().to_string() };
    let report = if from_stdin {
        check(io::stdin().lock(), &options)
    } else {
        check(open_regular(&args.file)?.0, &options)
    };
    let report = report.with_context(|| if from_stdin { name.clone() } else { format!("`{name}`") })?;
    let passes = report.mismatches == 0 && (args.partial || report.passes());
    let diagnosis = diagnose(&report);
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &to_json(&report, &diagnosis, passes))?;
        writeln!(out)?;
    } else {
        print(&name, &report, &diagnosis, args.partial, out)?;
    }
    Ok(passes)
}

/// What is missing or foreign, in words.
fn faults(report: &CheckReport) -> Option<String> {
    match report.header.lines {
        Some(lines) if lines != report.vectors => {
            let found = words::plural(report.vectors, "vector");
            Some(format!("{found} of {} that the header promises", words::count(lines)))
        }
        _ if report.lacks_trailer() => {
            Some("the digest that the header promises in the last line is missing".into())
        }
        _ if report.digest_matches() == Some(false) => {
            Some("the operands are not the ones that were generated, or in another order".into())
        }
        _ => None,
    }
}

fn print(
    name: &str,
    report: &CheckReport,
    diagnosis: &Diagnosis,
    is_partial: bool,
    out: &mut Output,
) -> Result<()> {
    writeln!(out, "{}", out.bold(&report.unit))?;
    if let Some(ports) = report.header.ports.as_ref().or(report.unit.ports()) {
        writeln!(out, "ports: {ports}")?;
    }
    let agree = words::count(report.vectors - report.mismatches);
    let differ = words::count(report.mismatches);
    let found = words::plural(report.vectors, "vector");
    write!(out, "{name}: {found}: {agree} agree, {differ} differ")?;
    if report.flags_only > 0 {
        write!(out, ", {} of these in flags alone", words::count(report.flags_only))?;
    }
    if report.unknown > 0 {
        write!(out, ", {} with unknown digits", words::count(report.unknown))?;
    }
    if report.other_nan > 0 {
        write!(out, "; {} by another NaN (--any-nan)", words::count(report.other_nan))?;
    }
    writeln!(out)?;
    if let Some(fault) = faults(report) {
        let allowed = if is_partial { " (allowed by --partial)" } else { " (--partial allows it)" };
        writeln!(out, "incomplete: {fault}{allowed}")?;
    }
    if report.mismatches == 0 {
        return Ok(());
    }
    writeln!(out)?;
    print_diagnosis(report, diagnosis, out)?;
    for mismatch in &report.first {
        writeln!(out)?;
        print_mismatch(report, diagnosis, mismatch, out)?;
    }
    let more = report.mismatches - report.first.len() as u64;
    if more > 0 {
        writeln!(out, "\n{} more (--show N)", words::count(more))?;
    }
    Ok(())
}

/// Hypotheses and symptoms worth a line where there is no cause.
const HYPOTHESES: usize = 5;
const SYMPTOMS: usize = 3;

fn print_diagnosis(report: &CheckReport, diagnosis: &Diagnosis, out: &mut Output) -> Result<()> {
    let all = match (report.mismatches, report.unknown) {
        (1, 0) => "the mismatch",
        (_, 0) => "all mismatches",
        _ => "all mismatches with known digits",
    };
    if !diagnosis.rules.is_empty() {
        let rules = diagnosis.rules.iter().map(|rules| rules_name(&rules.mistake));
        let rules: Vec<_> = rules.collect();
        writeln!(out, "Everything agrees by other rules: {}", out.bold(rules.join(", ")))?;
        writeln!(out, "  so the unit may be right, and the vectors another unit's (--flags, --preset)")?;
    }
    // Mistakes beside rules are worth a line, the same rules again are not.
    let is_known = |cause: &Hypothesis| cause.mistake.rules().is_some() && !diagnosis.rules.is_empty();
    if diagnosis.cause().is_some_and(is_known) {
        return Ok(());
    }
    match (diagnosis.cause(), &diagnosis.values, &diagnosis.flags) {
        (Some(cause), values, flags) => {
            let finding = values.as_ref().or(flags.as_ref()).expect("a cause is of one of them");
            print_cause(&format!("explains {all}"), &cause.mistake, finding, out)?;
        }
        (None, values, flags) => {
            let findings = [("results", values), ("flags", flags)];
            let has_both = values.is_some() && flags.is_some();
            for (what, finding) in
                findings.iter().filter_map(|(what, finding)| Some((what, finding.as_ref()?)))
            {
                let is_all = !has_both && *what == "results";
                let wrong = if is_all { all.to_owned() } else { format!("all wrong {what}") };
                match finding.causes.first() {
                    Some(cause) => print_cause(&format!("explains {wrong}"), &cause.mistake, finding, out)?,
                    None => print_hypotheses(&wrong, finding, out)?,
                }
            }
        }
    }
    if report.unknown > 0 {
        let unknown = words::plural(report.unknown, "vector");
        writeln!(out, "{unknown} with unknown digits are not explained.")?;
    }
    Ok(())
}

fn rules_name(rules: &Mistake) -> String {
    match rules.rules() {
        Some(Rules::Preset(preset)) => format!("the preset {}", preset.name()),
        _ => rules.to_string(),
    }
}

fn print_cause(explains: &str, cause: &Mistake, finding: &Finding, out: &mut Output) -> Result<()> {
    let count = match cause.count() {
        1 if cause.rules().is_some() => "Another rule",
        1 => "One mistake",
        _ => "Two mistakes together",
    };
    let name = cause.to_string();
    let explains =
        if cause.count() > 1 { explains.replacen("explains", "explain", 1) } else { explains.into() };
    writeln!(out, "{count} {explains}: {}", out.bold(&name))?;
    let others = finding.causes.iter().filter(|other| other.mistake.to_string() != name);
    let (presets, others): (Vec<_>, Vec<_>) =
        others.partition(|other| matches!(other.mistake.rules(), Some(Rules::Preset(_))));
    for other in others.iter().take(HYPOTHESES) {
        writeln!(out, "  as well: {}", other.mistake)?;
    }
    if !presets.is_empty() {
        let presets: Vec<_> = presets.iter().map(|preset| rules_name(&preset.mistake)).collect();
        writeln!(out, "  as well: {}", presets.join(", "))?;
    }
    let agreeing = words::plural(finding.agreeing, "vector");
    writeln!(out, "  nothing speaks against it in the {agreeing} that agree")?;
    Ok(())
}

fn print_hypotheses(all: &str, finding: &Finding, out: &mut Output) -> Result<()> {
    writeln!(out, "No known mistake explains {all}.")?;
    if !finding.hypotheses.is_empty() {
        writeln!(
            out,
            "Nearest, of {} that differ and {} that agree:",
            words::count(finding.differing),
            words::count(finding.agreeing)
        )?;
    }
    for hypothesis in finding.hypotheses.iter().take(HYPOTHESES) {
        let (explained, mistake) = (words::count(hypothesis.explained), &hypothesis.mistake);
        let against = match hypothesis.contradicted {
            0 => String::new(),
            count => format!("; would change {} that agree", words::count(count)),
        };
        writeln!(out, "  explains {explained}: {mistake}{against}")?;
        if let Some(condition) = &hypothesis.condition {
            writeln!(out, "    where: {}", condition_text(condition))?;
        }
    }
    if let Some(condition) = &finding.condition {
        let differing = words::count(condition.differing);
        writeln!(out, "All {differing} are where: {}", out.bold(condition_text(condition)))?;
    }
    for symptom in finding.symptoms.iter().take(SYMPTOMS) {
        writeln!(out, "Symptom of {}: {}", words::count(symptom.count), symptom.name)?;
    }
    Ok(())
}

/// A condition, and how many vectors that agree meet it too.
fn condition_text(condition: &Condition) -> String {
    match condition.agreeing {
        0 => condition.to_string(),
        1 => format!("{condition} (1 that agrees is there too)"),
        count => format!("{condition} ({} that agree are there too)", words::count(count)),
    }
}

fn print_mismatch(
    report: &CheckReport,
    diagnosis: &Diagnosis,
    mismatch: &Mismatch,
    out: &mut Output,
) -> Result<()> {
    writeln!(out, "{}", out.bold(format!("line {}", mismatch.line)))?;
    for (field, _, word) in report.unit.port_values(&mismatch.operands) {
        writeln!(out, "  {:<8} {word}", field.name)?;
    }
    let (unit, operands) = report.unit.chosen(&mismatch.operands)?;
    for (name, field, code) in alike(unit.operands(), operands) {
        writeln!(out, "  {name:<9}{}", number(field, code))?;
    }
    if let Some(exact) = unit.exact(operands) {
        writeln!(out, "  {:<9}{}", "exact", exact_text(&exact))?;
        if let Some(text) = place(&unit, operands) {
            writeln!(out, "  {:<9}{text}", "")?;
        }
    }
    outcome("right", &unit, &mismatch.expected, Some(&mismatch.expected), report.flags.mask(), out)?;
    match &mismatch.given {
        Some(given) => outcome("given", &unit, given, Some(&mismatch.expected), report.flags.mask(), out)?,
        None => writeln!(out, "  {:<9}unknown digits (x or z)", "given")?,
    }
    // With one cause for all, that one; else what explains most of the others too comes first.
    let shown = if diagnosis.cause().is_some() { 1 } else { 3 };
    for mistake in diagnosis.explanations(report, mismatch).into_iter().take(shown) {
        writeln!(out, "  {:<9}{mistake}", "as if")?;
    }
    Ok(())
}

/// Results and flags; of many results those that differ from the right ones.
fn outcome(
    title: &str,
    unit: &VectorUnit,
    outcome: &CallOutcome,
    right: Option<&CallOutcome>,
    mask: Flags,
    out: &mut Output,
) -> Result<()> {
    let is_single = unit.results().len() == 1;
    for (i, (field, code)) in unit.results().iter().zip(outcome.results()).enumerate() {
        let same = right.is_some_and(|right| right.results()[i] == *code);
        if is_single {
            writeln!(out, "  {title:<9}{}", number(field, *code))?;
        } else if title == "right" || !same {
            writeln!(out, "  {title:<9}{}: {}", field.name, number(field, *code))?;
        }
    }
    if !mask.is_empty() {
        writeln!(out, "  {:<9}flags {} ({})", "", outcome.flags & mask, words::flags(outcome.flags & mask))?;
    }
    Ok(())
}

fn exact_text(exact: &Exact) -> String {
    let approximate = |exact: &Exact| {
        let code = project(*exact, &BINARY64, &BINARY64.default_projection()).value;
        words::value(&BINARY64, code)
    };
    match *exact {
        Exact::Finite { negative, significand, exponent, sticky: false } => {
            match u64::try_from(significand) {
                Ok(significand) => {
                    let datum = Datum::finite(negative, significand, exponent);
                    match datum.to_f64() {
                        Some(x) => format!("{} = {datum}", words::number(x)),
                        None => datum.to_string(),
                    }
                }
                Err(_) => format!("≈ {}", approximate(exact)),
            }
        }
        Exact::Finite { .. } => format!("≈ {}", approximate(exact)),
        Exact::Nan { .. } => "NaN".into(),
        Exact::Infinite { negative } => if negative { "-Inf" } else { "Inf" }.into(),
        Exact::Cancelled => "0, from terms that cancel".into(),
    }
}

/// Between which values the exact result lies.
fn place(unit: &VectorUnit, operands: &[u64]) -> Option<String> {
    let to = &unit.results()[0];
    unit.place(operands)?.in_words(|code| {
        let value = match (&to.format, to.list) {
            (Some(format), _) => words::value(format, code),
            (None, Some(list)) => list_value(list, code),
            (None, None) => return format!("{code:#x}"),
        };
        format!("{value} ({code:#0width$x})", width = to.digits() + 2)
    })
}

fn to_json(report: &CheckReport, diagnosis: &Diagnosis, passes: bool) -> Value {
    let condition = |condition: &Option<Condition>| {
        condition.as_ref().map(|condition| {
            json!({
                "literals": condition.literals,
                "differing": condition.differing,
                "agreeing": condition.agreeing,
            })
        })
    };
    let hypothesis = |hypothesis: &Hypothesis| {
        json!({
            "mistake": hypothesis.mistake.to_string(),
            "count": hypothesis.mistake.count(),
            "rules": hypothesis.mistake.rules().map(|rules| match rules {
                Rules::Preset(preset) => format!("preset {}", preset.name()),
                Rules::Flags(policy) => format!("flags {policy}"),
            }),
            "explained": hypothesis.explained,
            "contradicted": hypothesis.contradicted,
            "condition": condition(&hypothesis.condition),
        })
    };
    let finding = |finding: &Finding| {
        let symptoms = finding.symptoms.iter().map(|s| json!({ "name": s.name, "count": s.count }));
        json!({
            "differing": finding.differing,
            "agreeing": finding.agreeing,
            "causes": finding.causes.iter().map(hypothesis).collect::<Vec<_>>(),
            "hypotheses": finding.hypotheses.iter().map(hypothesis).collect::<Vec<_>>(),
            "symptoms": symptoms.collect::<Vec<_>>(),
            "condition": condition(&finding.condition),
        })
    };
    let unit = &report.unit;
    let codes = |fields: &[Field], codes: &[u64]| -> Vec<Value> {
        let digits = |field: &Field, code: u64| format!("0x{code:0width$x}", width = field.digits());
        fields
            .iter()
            .zip(codes)
            .map(|(field, code)| {
                let value = match (field.integer, field.list) {
                    (Some(integer), _) => Some(integer.value(*code).to_string()),
                    (None, Some(list)) => Some(list_value(list, *code)),
                    (None, None) => field.format.map(|format| words::value(&format, *code)),
                };
                json!({ "name": field.name, "code": digits(field, *code), "value": value })
            })
            .collect()
    };
    let outcome = |unit: &VectorUnit, outcome: &CallOutcome| {
        let flags = (outcome.flags & report.flags.mask()).to_string();
        json!({ "results": codes(unit.results(), outcome.results()), "flags": flags })
    };
    let mismatch = |mismatch: &Mismatch| {
        let mistakes = diagnosis.explanations(report, mismatch).into_iter().map(Mistake::to_string);
        let chosen = unit.chosen(&mismatch.operands);
        let (chosen, operands) = chosen.expect("the vector was evaluated");
        let mut found = json!({
            "line": mismatch.line,
            "operands": codes(chosen.operands(), operands),
            "exact": chosen.exact(operands).map(|exact| exact_text(&exact)),
            "place": place(&chosen, operands),
            "right": outcome(&chosen, &mismatch.expected),
            "given": mismatch.given.as_ref().map(|given| outcome(&chosen, given)),
            "mistakes": mistakes.collect::<Vec<_>>(),
        });
        let ports = unit.port_values(&mismatch.operands);
        let ports: Vec<_> = ports
            .map(|(field, code, word)| json!({ "name": field.name, "code": format!("{code:#x}"), "value": word }))
            .collect();
        if !ports.is_empty() {
            found["ports"] = ports.into();
        }
        found
    };
    let mut found = json!({
        "operation": unit.to_string(),
        "flag_policy": unit.flag_policy().map(|policy| policy.to_string()),
        "passes": passes,
        "vectors": report.vectors,
        "mismatches": report.mismatches,
        "flags_only": report.flags_only,
        "unknown": report.unknown,
        "other_nan": report.other_nan,
        "complete": report.is_complete(),
        "digest_matches": report.digest_matches(),
        "sha256": report.sha256,
        "cause": diagnosis.cause().map(hypothesis),
        "rules": diagnosis.rules.iter().map(hypothesis).collect::<Vec<_>>(),
        "values": diagnosis.values.as_ref().map(finding),
        "flags": diagnosis.flags.as_ref().map(finding),
        "flags_follow": diagnosis.flags_follow,
        "first": report.first.iter().map(mismatch).collect::<Vec<_>>(),
    });
    if let Some(ports) = report.header.ports.as_ref().or(unit.ports()) {
        found["ports"] = ports.to_string().into();
    }
    found
}
