//! Specifications as they are written, simulated and held against the core; proofs and refutations
//! of designs. Tests that need a tool say loudly that they were left out where it is missing, and
//! fail with `CI=true` or `CI_STRICT=1`.

mod corpus;
mod proofs;
mod simulated;

use std::env;
use std::process::{Command, Stdio};

/// Returns whether a tool can be run.
fn has(tool: &str, version: &str) -> bool {
    let run = Command::new(tool).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if run.is_ok() {
        return true;
    }
    println!("LEFT OUT: no {tool}");
    let is_strict = |name: &str, value: &str| env::var(name).is_ok_and(|given| given == value);
    assert!(!is_strict("CI", "true") && !is_strict("CI_STRICT", "1"), "{tool} is missing");
    false
}
