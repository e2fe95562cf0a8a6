//! Licences and sources of every crate that the lock file names, as `cargo metadata` tells them;
//! how many of them each published crate takes; and the licences' texts in what is published.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than their text in copies.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    // Of the built-in data, not of code.
    "CC-BY-4.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Tools that only tests run, and their licence: no published crate depends on them.
const TEST_TOOLS: [(&str, &str); 1] = [
    // Writes the C header that the test compares.
    ("cbindgen", "MPL-2.0"),
];

/// How many crates of others each published crate, and the command, takes at run time and to be
/// built, with its default features on 64-bit Linux.
const RUN_TIME_CRATES: [(&str, usize); 9] = [
    ("smallfloat", 0),
    ("smallfloat-kernels", 17),
    ("smallfloat-conformance", 36),
    ("smallfloat-tensor", 42),
    ("smallfloat-c", 36),
    // As `smallfloat-train`, whose models it trains.
    ("smallfloat-lab", 55),
    ("smallfloat-rtl", 42),
    ("smallfloat-train", 55),
    ("smallfloat-cli", 99),
];

/// The texts of our own licences.
const LICENCE_TEXTS: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The notices of others, in the command and in the wheel.
const NOTICES: &str = "THIRD-PARTY.txt";

/// The words of an SPDX expression; a name with its exception is one word, and the older `/` means
/// OR.
fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words: Vec<String> = Vec::new();
    let mut parts = spaced.split_whitespace();
    while let Some(part) = parts.next() {
        match (part, words.last_mut()) {
            ("WITH", Some(name)) => *name = format!("{name} WITH {}", parts.next().unwrap_or_default()),
            _ => words.push(part.to_string()),
        }
    }
    words
}

/// Returns whether a license expression lets us choose allowed licences only. `None` where it is no
/// expression.
fn permits(expression: &str) -> Option<bool> {
    let words = words(expression);
    let mut rest = words.iter().map(String::as_str).peekable();
    let answer = any(&mut rest)?;
    rest.next().is_none().then_some(answer)
}

type Words<'a, I> = std::iter::Peekable<I>;

fn any<'a, I: Iterator<Item = &'a str>>(rest: &mut Words<'a, I>) -> Option<bool> {
    let mut answer = all(rest)?;
    while rest.next_if_eq(&"OR").is_some() {
        answer |= all(rest)?;
    }
    Some(answer)
}

fn all<'a, I: Iterator<Item = &'a str>>(rest: &mut Words<'a, I>) -> Option<bool> {
    let mut answer = one(rest)?;
    while rest.next_if_eq(&"AND").is_some() {
        answer &= one(rest)?;
    }
    Some(answer)
}

fn one<'a, I: Iterator<Item = &'a str>>(rest: &mut Words<'a, I>) -> Option<bool> {
    match rest.next()? {
        "(" => {
            let inside = any(rest)?;
            (rest.next()? == ")").then_some(inside)
        }
        ")" | "AND" | "OR" | "WITH" => None,
        name => Some(ALLOWED.contains(&name)),
    }
}

#[test]
fn expressions() {
    for (expression, expected) in [
        ("MIT", Some(true)),
        ("MIT OR GPL-3.0-only", Some(true)),
        ("MIT AND GPL-3.0-only", Some(false)),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
        ("GPL-2.0-only WITH Classpath-exception-2.0", Some(false)),
        ("Apache-2.0 WITH LLVM-exception", Some(true)),
        ("MIT/Apache-2.0", Some(true)),
        // AND binds closer than OR.
        ("MIT OR MIT AND GPL-3.0-only", Some(true)),
        ("GPL-3.0-only AND MIT OR LGPL-2.1-only", Some(false)),
        ("MIT OR", None),
        ("(MIT", None),
        ("MIT MIT", None),
        ("", None),
    ] {
        assert_eq!(permits(expression), expected, "{expression}");
    }
}

fn cargo(arguments: &[&str]) -> Result<Vec<u8>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output =
        Command::new(env!("CARGO")).args(arguments).current_dir(folder).output().expect("cargo runs");
    output.status.success().then_some(output.stdout).ok_or(String::from_utf8_lossy(&output.stderr).into())
}

/// All crates of the lock file. Those for other platforms may have to be fetched for this; where
/// that can't be done, those that were built here are left.
fn metadata() -> Value {
    let all = ["metadata", "--locked", "--format-version", "1"];
    let text = cargo(&all).unwrap_or_else(|error| {
        let version = cargo(&["-vV"]).expect("cargo tells its version");
        let version = String::from_utf8_lossy(&version);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
        println!("CRATES FOR OTHER PLATFORMS THAN {host} NOT CHECKED: {error}");
        let built = [&all[..], &["--offline", "--filter-platform", host]].concat();
        cargo(&built).unwrap_or_else(|error| panic!("cargo metadata: {error}"))
    });
    serde_json::from_slice(&text).expect("cargo prints JSON")
}

/// The registry that all crates of others come from, by the lock file: the only `source` in it.
fn registry() -> String {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = fs::read_to_string(&lock).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
    let sources: BTreeSet<&str> = lock.lines().filter_map(|line| line.strip_prefix("source = ")).collect();
    let [source] = sources.iter().collect::<Vec<_>>()[..] else { panic!("not one source: {sources:?}") };
    source.trim_matches('"').to_owned()
}

/// Our own crates.
fn is_ours(name: &str) -> bool {
    name == "smallfloat" || name.starts_with("smallfloat-")
}

#[test]
fn every_crate_has_a_permissive_licence_and_comes_from_one_registry() {
    let (metadata, registry) = (metadata(), registry());
    assert!(registry.starts_with("registry+"), "{registry}");
    let packages = metadata["packages"].as_array().expect("packages");
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        if permits(licence) != Some(true) && !TEST_TOOLS.contains(&(name, licence)) {
            wrong.push(format!("{name}: licence `{licence}`"));
        }
        // Our own crates have no source.
        if package["source"].as_str() != (!is_ours(name)).then_some(&*registry) {
            wrong.push(format!("{name}: source {}", package["source"]));
        }
    }
    assert!(packages.len() > 50 && wrong.is_empty(), "{} crates; {}", packages.len(), wrong.join("; "));
}

/// Crates that a crate needs at run time or to be built, those of others, as `cargo tree` prints
/// them.
fn run_time_crates(name: &str) -> BTreeSet<String> {
    crates_of_others(name, "normal")
}

fn crates_of_others(name: &str, edges: &str) -> BTreeSet<String> {
    let target = "x86_64-unknown-linux-gnu";
    let arguments =
        ["tree", "--locked", "-p", name, "-e", edges, "--prefix", "none", "--target", target, "-f", "{p}"];
    let text = cargo(&arguments).unwrap_or_else(|error| panic!("cargo tree: {error}"));
    let text = String::from_utf8(text).expect("names are UTF-8");
    let crates = text.lines().filter_map(|line| line.split(" (").next()).map(str::trim);
    crates.filter(|line| !is_ours(line.split(' ').next().expect("a name"))).map(str::to_owned).collect()
}

#[test]
fn crates_of_others_become_fewer() {
    let mut wrong = Vec::new();
    for (name, recorded) in RUN_TIME_CRATES {
        let crates = run_time_crates(name);
        for (tool, _) in TEST_TOOLS {
            let is_tool = |line: &String| line.split(' ').next() == Some(tool);
            assert!(!crates.iter().any(is_tool), "{name} depends on {tool}, which is for tests alone");
        }
        let advice = match crates.len() {
            count if count > recorded => "do without the new ones",
            count if count < recorded => "record the smaller number in RUN_TIME_CRATES",
            _ => continue,
        };
        wrong.push(format!(
            "{name}: {} crates of others, {recorded} recorded: {advice}; {crates:?}",
            crates.len()
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_published_has_the_texts_of_its_licences() {
    for (name, _) in RUN_TIME_CRATES {
        let list = cargo(&["package", "--list", "--locked", "--allow-dirty", "-p", name])
            .unwrap_or_else(|error| panic!("cargo package: {error}"));
        let list = String::from_utf8(list).expect("names are UTF-8");
        for text in LICENCE_TEXTS {
            assert!(list.lines().any(|file| file == text), "{name} is packaged without {text}");
        }
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| {
        fs::read_to_string(workspace.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let [ours, apache] = LICENCE_TEXTS;
    let wheel = format!("license-files = {:?}", [ours, apache, NOTICES]);
    assert!(read("python/pyproject.toml").lines().any(|line| line == wheel), "the wheel needs {wheel}");
    let notices = read(&format!("crates/smallfloat-cli/{NOTICES}"));
    assert_eq!(read(&format!("python/{NOTICES}")), notices, "python/{NOTICES}");
    for name in crates_of_others("smallfloat-cli", "normal,no-proc-macro") {
        let row = format!("  {} ", name.replacen(" v", " ", 1));
        assert!(notices.contains(&row), "no notice of {name}: run scripts/notices");
    }
    for text in LICENCE_TEXTS {
        assert_eq!(read(&format!("python/{text}")), read(text), "python/{text}");
    }
}
