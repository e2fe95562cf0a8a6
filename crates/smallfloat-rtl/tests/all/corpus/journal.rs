//! Verdicts that are kept as they are found, so that a corpus of hours can be judged in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::TIMEOUT;
use super::units::Unit;

/// A verdict, and how long the solver took.
pub(crate) struct Judged {
    pub(crate) verdict: String,
    pub(crate) seconds: f64,
}

/// Verdicts by their keys, and the file in which they are kept.
pub(crate) struct Journal {
    found: BTreeMap<String, Judged>,
    file: Option<File>,
}

/// A digest of everything that a verdict depends on: the design, its specification and the tool.
pub(crate) fn key(unit: &Unit, text: &str, parameters: &[(String, i64)], expected: &str) -> String {
    static YOSYS: OnceLock<Vec<u8>> = OnceLock::new();
    let version = YOSYS.get_or_init(|| Command::new("yosys").arg("-V").output().expect("yosys").stdout);
    let mut digest = Sha256::new();
    let specification = unit.specification.text("specification").expect("a specification");
    let bindings = format!("{} {parameters:?} {} {:?} {}", unit.top, unit.ports, unit.ties, unit.latency);
    for part in [text, specification.as_str(), &bindings, expected, &format!("{TIMEOUT:?}")] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.update(version);
    format!("{:x}", digest.finalize())
}

impl Journal {
    /// Reads the journal beside a file of rows, and drops what none of these keys names.
    pub(crate) fn open<'a>(rows: Option<&Path>, keys: impl Iterator<Item = &'a str>) -> Self {
        let Some(path) = rows.map(|rows| rows.with_extension("journal")) else {
            return Self { found: BTreeMap::new(), file: None };
        };
        let keys: BTreeSet<&str> = keys.collect();
        let mut found = BTreeMap::new();
        for line in fs::read_to_string(&path).unwrap_or_default().lines() {
            let fields: Vec<&str> = line.splitn(3, ',').collect();
            // The last line of a run that was killed may be cut off.
            let [key, seconds, verdict] = fields[..] else { continue };
            let Some(verdict) = verdict.strip_suffix(';') else { continue };
            if let (true, Ok(seconds)) = (keys.contains(key), seconds.parse()) {
                found.insert(key.to_owned(), Judged { verdict: verdict.to_owned(), seconds });
            }
        }
        let mut file = File::create(&path).expect("the journal");
        for (key, judged) in &found {
            write(&mut file, key, judged);
        }
        Self { found, file: Some(file) }
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Judged> {
        self.found.get(key)
    }

    /// Judges what has no verdict yet, keeps the verdict, and says it.
    pub(crate) fn find(&mut self, key: &str, what: &str, judge: impl FnOnce() -> Judged) {
        if self.found.contains_key(key) {
            return;
        }
        let judged = judge();
        if let Some(file) = &mut self.file {
            write(file, key, &judged);
        }
        eprintln!("{} {what}: {}, {:.1} s", self.found.len() + 1, judged.verdict, judged.seconds);
        self.found.insert(key.to_owned(), judged);
    }
}

fn write(file: &mut File, key: &str, judged: &Judged) {
    writeln!(file, "{key},{:.3},{};", judged.seconds, judged.verdict).expect("the journal takes a line");
}
