//! Licences and sources of every crate that the lock file names, as `cargo metadata` tells them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than their text in copies.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The only place that crates of others come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

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

#[test]
fn every_crate_has_a_permissive_licence_and_comes_from_crates_io() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        if permits(licence) != Some(true) {
            wrong.push(format!("{name}: licence `{licence}`"));
        }
        // Our own crates have no source.
        let ours = name == "smallfloat" || name.starts_with("smallfloat-");
        if package["source"].as_str() != (!ours).then_some(REGISTRY) {
            wrong.push(format!("{name}: source {}", package["source"]));
        }
    }
    assert!(packages.len() > 50 && wrong.is_empty(), "{} crates; {}", packages.len(), wrong.join("; "));
}
