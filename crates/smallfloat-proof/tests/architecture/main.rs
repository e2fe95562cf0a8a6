//! What holds the house: the order of the crates, no import circle between the folders of a crate,
//! where `unsafe` may stand, and how long a file may be (`DESIGN.md`).

mod evidence;
mod rooms;
mod source;
mod supply;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use source::{code_only, files};

/// The crates in their order: each may use those before it, and none of its own rank or after it.
const RANKS: [(&str, u32); 11] = [
    ("smallfloat", 0),
    ("smallfloat-kernels", 1),
    ("smallfloat-conformance", 2),
    ("smallfloat-tensor", 2),
    ("smallfloat-c", 3),
    ("smallfloat-rtl", 3),
    ("smallfloat-train", 3),
    ("smallfloat-lab", 4),
    ("smallfloat-cli", 5),
    ("smallfloat-explorer", 5),
    ("smallfloat-python", 6),
];
const ORACLE: &str = "smallfloat-oracle";
const PROOF: &str = "smallfloat-proof";

/// Crates that may contain `unsafe`.
const UNSAFE_ALLOWED: [&str; 4] =
    ["smallfloat-kernels", "smallfloat-python", "smallfloat-explorer", "smallfloat-c"];

const LONGEST_FILE: usize = 800;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/smallfloat-proof").to_path_buf()
}

struct Package {
    name: String,
    folder: PathBuf,
    /// Name and kind (`normal`, `dev` or `build`) of each dependency.
    dependencies: Vec<(String, String)>,
    optional: Vec<String>,
    /// The commands that it builds.
    commands: Vec<String>,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The manifests, as cargo reads them.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let list = metadata["packages"].as_array().expect("packages");
    list.iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let kind = |d: &Value| d["kind"].as_str().unwrap_or("normal").to_string();
            Package {
                name: text(package, "name").to_string(),
                folder: Path::new(text(package, "manifest_path")).parent().expect("a folder").to_path_buf(),
                dependencies: dependencies.iter().map(|d| (text(d, "name").to_string(), kind(d))).collect(),
                optional: dependencies
                    .iter()
                    .filter(|d| d["optional"] == true)
                    .map(|d| text(d, "name").to_string())
                    .collect(),
                commands: package["targets"]
                    .as_array()
                    .expect("targets")
                    .iter()
                    .filter(|target| target["kind"][0] == "bin")
                    .map(|target| text(target, "name").to_string())
                    .collect(),
            }
        })
        .collect()
}

fn is_ours(name: &str) -> bool {
    name == "smallfloat" || name.starts_with("smallfloat-")
}

fn rank(name: &str) -> Option<u32> {
    RANKS.iter().find(|(known, _)| *known == name).map(|&(_, rank)| rank)
}

/// Returns whether a crate may depend on another.
fn allowed(from: &str, to: &str, kind: &str) -> bool {
    match (from, to) {
        (_, PROOF) | (ORACLE, _) => false,
        (PROOF, _) => true,
        // Tests may ask the oracle; programs may not.
        (_, ORACLE) => kind == "dev",
        _ => matches!((rank(from), rank(to)), (Some(from), Some(to)) if to < from),
    }
}

#[test]
fn every_arrow_points_down() {
    let packages = packages();
    assert!(packages.len() >= 6, "found only {} packages", packages.len());
    for package in &packages {
        let known = rank(&package.name).is_some() || [ORACLE, PROOF].contains(&package.name.as_str());
        assert!(known, "{} has no place in the order: add it to DESIGN.md and to this test", package.name);
        for (dependency, kind) in package.dependencies.iter().filter(|(name, _)| is_ours(name)) {
            assert!(
                allowed(&package.name, dependency, kind),
                "{} must not depend on {dependency} ({kind})",
                package.name
            );
        }
    }
}

/// `cargo run` has to know what to run.
#[test]
fn there_is_one_command() {
    let commands: Vec<String> = packages().into_iter().flat_map(|package| package.commands).collect();
    assert_eq!(commands, ["smallfloat"]);
}

#[test]
fn the_rule_itself() {
    assert!(allowed("smallfloat-cli", "smallfloat", "normal"));
    assert!(allowed("smallfloat-cli", "smallfloat-train", "normal"));
    assert!(!allowed("smallfloat-train", "smallfloat-lab", "normal"));
    assert!(!allowed("smallfloat", "smallfloat-kernels", "dev"));
    assert!(!allowed("smallfloat-tensor", "smallfloat-cli", "build"));
    assert!(!allowed("smallfloat-kernels", "smallfloat-oracle", "normal"));
    assert!(!allowed("smallfloat-oracle", "smallfloat", "dev"));
    assert!(!allowed("smallfloat-cli", "smallfloat-proof", "dev"));
}

#[test]
fn the_core_has_no_dependency() {
    let packages = packages();
    let core = packages.iter().find(|p| p.name == "smallfloat").expect("the core");
    let needed: Vec<_> = core
        .dependencies
        .iter()
        .filter(|(name, kind)| kind != "dev" && !core.optional.contains(name))
        .collect();
    assert!(needed.is_empty(), "the core depends on {needed:?}");
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|token| token == word)
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let mut scanned = 0;
    for package in packages() {
        let mut sources = Vec::new();
        files(&package.folder, "rs", &mut sources);
        scanned += sources.len();
        if UNSAFE_ALLOWED.contains(&package.name.as_str()) {
            continue;
        }
        for path in sources {
            let code = code_only(&fs::read_to_string(&path).expect("a source file"));
            assert!(!has_word(&code, "unsafe"), "{} contains unsafe code", path.display());
        }
    }
    assert!(scanned > 60, "scanned only {scanned} files");
    let core = fs::read_to_string(workspace().join("crates/smallfloat/src/lib.rs")).expect("the core");
    assert!(code_only(&core).contains("#![forbid(unsafe_code)]"), "the core forbids unsafe code");
}

/// Errors of a library say what is accepted in its own terms: who reads them may have no command.
#[test]
fn libraries_name_no_command_and_no_option() {
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_lowercase());
    let names_one =
        |line: &str| ["`smallfloat ", "`--", "\"--"].iter().any(|mark| line.split(mark).skip(1).any(is_word));
    let mut scanned = 0;
    for library in ["smallfloat", "smallfloat-kernels", "smallfloat-tensor", "smallfloat-train"] {
        let mut sources = Vec::new();
        files(&workspace().join("crates").join(library).join("src"), "rs", &mut sources);
        scanned += sources.len();
        for path in sources {
            let text = fs::read_to_string(&path).expect("a source file");
            // Documentation may name them.
            let found = text.lines().find(|line| !line.trim_start().starts_with("//") && names_one(line));
            assert_eq!(found, None, "{}", path.display());
        }
    }
    assert!(scanned > 150, "scanned only {scanned} files");
}

/// A closure that is called and not inlined is compiled for the portable level.
#[test]
fn loops_for_a_level_are_inlined() {
    let mut seen = 0;
    for package in packages() {
        let mut sources = Vec::new();
        files(&package.folder.join("src"), "rs", &mut sources);
        for path in sources {
            let code = code_only(&fs::read_to_string(&path).expect("a source file"));
            for call in code.split(".vectorize(").skip(1) {
                let passed_on = call.starts_with("run)");
                seen += usize::from(!passed_on);
                let is_inlined = call.trim_start().starts_with("#[inline(always)]");
                assert!(passed_on || is_inlined, "{}: {:.60}", path.display(), call.trim_start());
            }
        }
    }
    assert!(seen > 20, "saw only {seen} loops");
}

#[test]
fn the_scan_sees_code_and_nothing_else() {
    let word = |source: &str| has_word(&code_only(source), "unsafe");
    assert!(word("unsafe { f() }"));
    assert!(word("fn a<'a>(x: &'a u8) {} unsafe fn b() {}"));
    assert!(word("let c = '\"'; unsafe { f() } let d = '\"';"));
    assert!(word("let s = \"\\\"\"; unsafe {}"));
    assert!(word("/* one /* two */ three */ unsafe {}"));
    assert!(word("let s = r#\"a \" b\"#; unsafe {}"));
    assert!(!word("// unsafe\nlet x = \"unsafe\"; /* unsafe */ r#\"unsafe\"#;"));
    assert!(!word("#![forbid(unsafe_code)]"));
}

#[test]
fn no_import_circle_between_folders() {
    let mut seen = 0;
    let folders = packages().into_iter().map(|package| package.folder.join("src"));
    for folder in folders.chain([workspace().join("candle/src")]) {
        let rooms = rooms::Rooms::read(&folder);
        seen += rooms.imports();
        let circles = rooms.circles();
        assert!(circles.is_empty(), "{}: {}", folder.display(), circles.join("\n"));
    }
    assert!(seen > 250, "saw only {seen} imports between folders");
}

#[test]
fn files_are_short_enough_to_read() {
    let mut sources = Vec::new();
    files(&workspace(), "rs", &mut sources);
    for path in sources {
        let lines = fs::read_to_string(&path).expect("a source file").lines().count();
        assert!(lines <= LONGEST_FILE, "{} has {lines} lines, more than {LONGEST_FILE}", path.display());
    }
}
