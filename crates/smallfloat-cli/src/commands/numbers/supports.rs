//! `smallfloat supports`: which specializations of the P3109 draft are supplied, in a word, in a
//! table, or as files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use smallfloat::Format;
use smallfloat::p3109::{Function, Group};
use smallfloat_tensor::write_file_durably;

use crate::arguments::files::check_outputs;
use crate::arguments::operands;
use crate::render::output::{Output, table};
use crate::render::{declaration, text as words};

const AFTER_HELP: &str = "\
Examples:
  smallfloat supports
  smallfloat supports 'Exp<Binary8p3se, Binary8p4se, (NearestTiesToEven, SatFinite)>'
  smallfloat supports 'BlockDotProduct<8, Binary8p1uf, Binary8p4se, Binary8p1uf, Binary8p4se,
      binary32, (NearestTiesToEven, SatNone)>' --json
  smallfloat supports --declaration p3109/

Prints yes, or no with the reason; the exit status is 0 or 1. Without an operation: the groups
of operations with their counts, and which formats may stand where.

--declaration writes Metadata.yaml, StandardOperations.yaml, Configurations.yaml, Profiles.yaml,
Constraints.yaml and Kappas.yaml into a folder, made if need be. Each file appears whole or not
at all; files that exist are replaced only with --overwrite. The same version writes the same bytes.";

/// Say whether an operation with its formats and rounding is supplied.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The operation: `Name<formats…, (rounding, saturation)>`
    #[arg(value_name = "OPERATION")]
    operation: Option<String>,

    /// Print JSON
    #[arg(long, conflicts_with = "declaration")]
    json: bool,

    /// Write what is supplied as YAML files into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "operation")]
    declaration: Option<PathBuf>,

    /// Replace files of a declaration that exist
    #[arg(long, requires = "declaration")]
    overwrite: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<bool> {
    if let Some(folder) = &args.declaration {
        write(folder, args.overwrite, out)?;
        return Ok(true);
    }
    match &args.operation {
        Some(operation) => answer(operation, args.json, out),
        None if args.json => {
            writeln!(out, "{:#}", inventory())?;
            Ok(true)
        }
        None => {
            groups(out)?;
            Ok(true)
        }
    }
}

fn answer(operation: &str, json: bool, out: &mut Output) -> Result<bool> {
    let parsed = operands::specialization(operation);
    match (&parsed, json) {
        (Ok(_), false) => {
            writeln!(out, "yes")?;
            if let Some(note) = suffix_note(operation) {
                writeln!(out, "note: {note}")?;
            }
        }
        (Err(reason), false) => writeln!(out, "no: {reason}")?,
        (Ok(spec), true) => {
            let mut answer = json!({ "operation": spec.to_string(), "supplied": true });
            if let Some(note) = suffix_note(operation) {
                answer["note"] = note.into();
            }
            writeln!(out, "{answer:#}")?;
        }
        (Err(reason), true) => {
            let reason = reason.to_string();
            writeln!(
                out,
                "{:#}",
                json!({ "operation": words::excerpt(operation), "supplied": false, "reason": reason })
            )?;
        }
    }
    Ok(parsed.is_ok())
}

/// D1 names every format with its suffix, `Binary8p3se`; shorter names are understood here.
fn suffix_note(operation: &str) -> Option<String> {
    let is_short = |word: &&str| {
        let parameters =
            word.get(..6).filter(|start| start.eq_ignore_ascii_case("binary")).map(|_| &word[6..]);
        parameters
            .is_some_and(|text| text.contains(['p', 'P']) && text.ends_with(|c: char| c.is_ascii_digit()))
    };
    let word = operation.split(|c: char| !c.is_ascii_alphanumeric()).find(is_short)?;
    let format: Format = word.parse().ok()?;
    Some(format!("D1 spells the suffix of `{word}` out, `{format}`"))
}

/// Functions that stand in no group of the draft.
fn loose() -> Vec<&'static str> {
    Function::all().filter(|function| function.group().is_none()).map(Function::name).collect()
}

fn names(group: Group) -> Vec<&'static str> {
    group.functions().map(Function::name).collect()
}

fn inventory() -> Value {
    let groups: Vec<_> = Group::ALL
        .iter()
        .map(|group| {
            let functions = names(*group);
            json!({ "name": group.name(), "title": group.title(), "count": functions.len(), "functions": functions })
        })
        .collect();
    json!({ "groups": groups, "others": loose(), "formats": declaration::formats() })
}

fn groups(out: &mut Output) -> Result<()> {
    let mut rows = table(&["group", "", "count", "functions"], &[2]);
    for group in Group::ALL {
        let functions = names(*group);
        rows.add_row([
            group.name().into(),
            group.title().into(),
            functions.len().to_string(),
            functions.join(" "),
        ]);
    }
    rows.add_row([String::new(), "in no group".into(), loose().len().to_string(), loose().join(" ")]);
    out.rows(&rows)?;
    let count = |letters: &[&str]| -> usize {
        Group::ALL
            .iter()
            .filter(|group| letters.contains(&group.name()))
            .map(|group| names(*group).len())
            .sum()
    };
    writeln!(
        out,
        "\nIn all {} scalar, {} format-level, {} block and {} scaled operations.\n",
        count(&["A", "B", "C"]),
        count(&["M"]),
        count(&["KA", "KB", "KC", "E"]),
        count(&["SA", "SB", "SC"])
    )?;
    out.write_all(WHERE.as_bytes())?;
    Ok(())
}

const WHERE: &str = "\
Any format stands anywhere, as operand, scale, element or result: the P3109 formats of 3 to 16
bits, and to 32 with at most 11 exponent bits, binary16, bfloat16, binary32, binary64, and all
others that `smallfloat formats` lists.
Only TotalOrder takes none of binary16, bfloat16, binary32 and binary64, and MaxSubnormalOf no
format that has neither subnormals nor a NaN. Every rounding mode goes with every saturation
mode; stochastic ones take 1 to 60 random bits, given with each call. SatNone-V40 is version
4.0's and outside D1. Blocks have 1 to 4294967295 elements. With formats that are neither
P3109's nor external, IEEE 754's special cases hold unless semantics=p3109 is given.
";

fn write(folder: &Path, overwrite: bool, out: &mut Output) -> Result<()> {
    let files: Vec<_> =
        declaration::files()?.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    if folder.exists() && !folder.is_dir() {
        bail!("--declaration: `{}` is not a folder", folder.display());
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("--declaration: make the folder `{}`", folder.display()))?;
    let outputs: Vec<_> = files.iter().map(|(path, _)| ("--declaration", Some(path.as_path()))).collect();
    check_outputs(&outputs, [], overwrite)?;
    for (path, text) in &files {
        write_file_durably(path, text.as_bytes(), overwrite)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}
