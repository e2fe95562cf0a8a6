//! Builds the tests of a tree with switches, and leaves out what the compiler refuses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    list::Mutant,
    switch::{FEATURES, Region, module, switched},
};

/// What was built.
pub(crate) struct Built {
    /// The tests' executables, each with the folder that it runs in.
    pub(crate) executables: Vec<(PathBuf, PathBuf)>,
    /// Mutants that can't be built.
    pub(crate) refused: BTreeSet<u32>,
    /// Mutants that can't be had behind a switch.
    pub(crate) without_switch: BTreeSet<u32>,
}

/// Builds `tree` with all of `mutants`; `arguments` are those of `cargo test`.
pub(crate) fn build(tree: &Path, mutants: &[Mutant], arguments: &[String]) -> Result<Built> {
    let mut sources: BTreeMap<&str, (String, Vec<&Mutant>)> = BTreeMap::new();
    for mutant in mutants {
        if !sources.contains_key(mutant.file.as_str()) {
            let text = fs::read_to_string(tree.join(&mutant.file))
                .with_context(|| format!("reading {}", mutant.file))?;
            sources.insert(&mutant.file, (text, Vec::new()));
        }
        sources.get_mut(mutant.file.as_str()).context("just put there")?.1.push(mutant);
    }
    let count = mutants.iter().map(|m| m.id).max().unwrap_or(0);
    let roots: BTreeSet<String> = sources.keys().map(|file| root(file)).collect::<Result<_>>()?;
    for root in &roots {
        let path = tree.join(root);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, [FEATURES, &text, &module(count)].concat())?;
    }
    let mut refused = BTreeSet::new();
    let mut without_switch = BTreeSet::new();
    loop {
        let mut regions: BTreeMap<&str, Vec<Region>> = BTreeMap::new();
        let mut held = BTreeSet::new();
        for (&file, (source, all)) in &sources {
            let wanted: Vec<&Mutant> = all
                .iter()
                .filter(|m| !refused.contains(&m.id) && !without_switch.contains(&m.id))
                .copied()
                .collect();
            let switched = switched(source, &wanted).with_context(|| file.to_owned())?;
            let path = tree.join(file);
            // A root has more than its own text: it holds no code that is changed.
            if roots.contains(file) {
                bail!("{file} is the first file of its crate, which holds the switches");
            }
            if fs::read_to_string(&path)? != switched.text {
                fs::write(&path, &switched.text)?;
            }
            held.extend(switched.held);
            regions.insert(file, switched.regions);
        }
        without_switch
            .extend(mutants.iter().map(|m| m.id).filter(|id| !refused.contains(id) && !held.contains(id)));
        eprintln!(
            "{} mutants behind switches, {} can't be built, {} can't be switched",
            held.len(),
            refused.len(),
            without_switch.len()
        );
        let (built, messages) = cargo(tree, arguments)?;
        let errors: Vec<&Value> =
            messages.iter().filter(|m| m["message"]["level"] == "error").map(|m| &m["message"]).collect();
        if built {
            return Ok(Built { executables: executables(&messages)?, refused, without_switch });
        }
        let before = refused.len() + without_switch.len();
        for error in &errors {
            if let Some(region) = blamed(error, &regions) {
                (if region.alternative { &mut refused } else { &mut without_switch }).extend(&region.ids);
            }
        }
        if refused.len() + without_switch.len() == before {
            let texts: Vec<&str> = errors.iter().filter_map(|e| e["rendered"].as_str()).collect();
            bail!("the tests can't be built:\n{}", texts.join("\n"));
        }
    }
}

/// The first file of the crate that a file belongs to.
fn root(file: &str) -> Result<String> {
    let (package, _) = file.split_once("/src/").with_context(|| format!("{file} stands in no folder src"))?;
    Ok(format!("{package}/src/lib.rs"))
}

/// The innermost stretch that an error is about.
fn blamed<'a>(error: &Value, regions: &'a BTreeMap<&str, Vec<Region>>) -> Option<&'a Region> {
    let spans = error["spans"].as_array()?;
    let mut spans: Vec<&Value> = spans.iter().collect();
    spans.sort_by_key(|span| span["is_primary"] != true);
    spans.iter().find_map(|span| {
        let start = usize::try_from(span["byte_start"].as_u64()?).ok()?;
        let around = regions.get(span["file_name"].as_str()?)?.iter().filter(|r| r.range.contains(&start));
        around.min_by_key(|r| r.range.len())
    })
}

/// Whether cargo can build the tests, and what it says.
fn cargo(tree: &Path, arguments: &[String]) -> Result<(bool, Vec<Value>)> {
    let output = Command::new("cargo")
        .current_dir(tree)
        .args(["test", "--no-run", "--message-format=json"])
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "--cap-lints=allow")
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    let lines = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let messages = lines
        .map(|line| serde_json::from_slice(line).context("a message of cargo's"))
        .collect::<Result<_>>()?;
    Ok((output.status.success(), messages))
}

fn executables(messages: &[Value]) -> Result<Vec<(PathBuf, PathBuf)>> {
    let tests = messages.iter().filter(|m| m["profile"]["test"] == true);
    let found = tests.filter_map(|m| Some((m["executable"].as_str()?, m["manifest_path"].as_str()?)));
    let mut all = Vec::new();
    for (executable, manifest) in found {
        let folder = Path::new(manifest).parent().context("a manifest stands in a folder")?;
        all.push((executable.into(), folder.into()));
    }
    Ok(all)
}
