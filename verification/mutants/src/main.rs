//! Meets thousands of mutants of the source with its tests after one build.
//!
//! cargo-mutants lists the mutants; here all of a list are built at once, each behind a switch of
//! the environment, and each runs the tests that come to its place, quickest first, until one
//! fails. What can't be had so (a mutant that matters only while the compiler evaluates constants,
//! or that the switches can't express) is listed for cargo-mutants itself, which builds each on its
//! own.

mod build;
mod list;
mod run;
mod switch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context, Result};
use clap::Parser;

use crate::run::Outcome;

/// Meets the mutants of lists with the tests of a tree.
#[derive(Parser)]
struct Arguments {
    /// The tree: a copy of the source, whose files are changed
    #[arg(long)]
    tree: PathBuf,
    /// A list of `cargo mutants --list --json`; several may be given
    #[arg(long, required = true)]
    list: Vec<PathBuf>,
    /// Only the mutants that a result names: `missed.txt` of an earlier run, for other tests
    #[arg(long)]
    only: Option<PathBuf>,
    /// Tests that take longer without a mutant are left out, in seconds
    #[arg(long, default_value_t = f64::INFINITY)]
    longest: f64,
    /// Only tests whose paths contain one of these
    #[arg(long)]
    tests: Vec<String>,
    /// The folder of the results: a file of names for each outcome
    #[arg(long)]
    results: PathBuf,
    /// Tests that run at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// What `cargo test` is given: packages, features, tests
    #[arg(last = true)]
    cargo: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    fs::create_dir_all(&arguments.results).with_context(|| arguments.results.display().to_string())?;
    let mut mutants = list::read(&arguments.list)?;
    if let Some(path) = &arguments.only {
        let names = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let names: BTreeSet<&str> =
            names.lines().map(|line| line.split('\t').next().unwrap_or(line)).collect();
        mutants.retain(|mutant| names.contains(mutant.name.as_str()));
    }
    let built = build::build(&arguments.tree, &mutants, &arguments.cargo)?;
    let mut tests = run::tests(&built.executables, &arguments.tests, &arguments.results, arguments.jobs)?;
    let all = tests.len();
    tests.retain(|test| test.seconds <= arguments.longest);
    let switched: Vec<_> = mutants
        .iter()
        .filter(|m| !built.refused.contains(&m.id) && !built.without_switch.contains(&m.id))
        .collect();
    let outcomes = run::outcomes(&switched, &tests, arguments.jobs, &arguments.results.join("outcomes.txt"))?;
    let mut files: BTreeMap<&str, Vec<String>> =
        ["caught", "hangs", "missed", "unmet", "unbuildable", "unswitched"]
            .map(|name| (name, Vec::new()))
            .into();
    let mut put = |file: &'static str, line: String| files.entry(file).or_default().push(line);
    for (mutant, outcome) in switched.iter().zip(outcomes) {
        let name = &mutant.name;
        match outcome {
            Outcome::Caught(test) => put("caught", format!("{name}\t{test}\n")),
            Outcome::Hangs(test) => put("hangs", format!("{name}\t{test}\n")),
            Outcome::Missed(tests) => put("missed", format!("{name}\t{tests}\n")),
            Outcome::Unmet => put("unmet", format!("{name}\n")),
        }
    }
    for mutant in &mutants {
        if built.refused.contains(&mutant.id) {
            put("unbuildable", format!("{}\n", mutant.name));
        } else if built.without_switch.contains(&mutant.id) {
            put("unswitched", format!("{}\n", mutant.name));
        }
    }
    println!("{} mutants, {} of {all} tests", mutants.len(), tests.len());
    for (name, lines) in &files {
        println!("{name:12} {:5}", lines.len());
        fs::write(arguments.results.join(format!("{name}.txt")), lines.concat())?;
    }
    Ok(())
}
