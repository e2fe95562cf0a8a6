//! Units of many styles, right and with mistakes: [`prove`] proves every right one and refutes every
//! mutant, with an input for which the core confirms the mistake.
//!
//! `SMALLFLOAT_EXTENSIVE=1` takes all of them (`just verification rtl-corpus`), else a handful. Without
//! Yosys nothing is checked, and the test says so.
#![expect(clippy::format_push_string, clippy::assigning_clones, reason = "texts of tests are short")]

mod mutate;
mod units;

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Duration;

use smallfloat_rtl::{Counterexample, Design, Proof, ProofOptions, Solver, Verdict, prove};

use units::Unit;

/// A text of a unit beside its specification.
fn judge(unit: &Unit, text: &str, parameters: &[(String, i64)], solver: Solver) -> Proof {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join("unit.sv");
    fs::write(&file, text).expect("a temporary file");
    let design = Design {
        files: vec![file],
        top: unit.top.clone(),
        parameters: parameters.to_vec(),
        ports: unit.ports.parse().unwrap_or_default(),
        ties: unit.ties.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        latency: unit.latency,
        ..Design::default()
    };
    let options = ProofOptions { solver, timeout: Duration::from_secs(900), ..ProofOptions::default() };
    prove(&design, &unit.specification, &options).unwrap_or_else(|error| panic!("{}: {error}", unit.name))
}

/// The core's own answer to the counterexample is what was expected, and another than was given.
fn confirm(unit: &Unit, found: &Counterexample, compares_flags: bool) {
    let of_bias = unit.specification.unit_with(found.bias).expect("a bias of the port");
    let core = of_bias.evaluate(&found.operands).expect("operands of the port");
    assert_eq!(core.results(), found.expected.results(), "{}: {found:?}", unit.name);
    let mask = unit.specification.flags();
    let same_flags = !compares_flags || core.flags & mask == found.given.flags & mask;
    assert!(core.results() != found.given.results() || !same_flags, "{}: {found:?}", unit.name);
    assert!(!found.explanation.is_empty());
}

fn has_yosys() -> bool {
    let found = Command::new("yosys").arg("-V").output().is_ok();
    if !found {
        eprintln!("SKIPPED: no yosys, so nothing is proved");
    }
    found
}

#[test]
fn right_units_are_proved_and_mutants_refuted() {
    if !has_yosys() {
        return;
    }
    let is_extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let mut rows = String::new();
    let (mut refuted, mut single) = (0, 0);
    for unit in units::all(is_extensive) {
        let proof = judge(&unit, &unit.text, &unit.parameters, Solver::Sat);
        let how = match &proof.verdict {
            Verdict::Proved => "proved",
            Verdict::Simulated => "simulated",
            Verdict::Refuted(found) => panic!("{}: {}", unit.name, found.explanation),
            Verdict::Undecided { reason } => panic!("{}: {reason}", unit.name),
        };
        let (mut mutants, mut equal, mut slowest, mut total) = (0, 0, 0.0_f64, 0.0_f64);
        for mutant in mutate::all(&unit, is_extensive) {
            let judged = judge(&unit, &mutant.text, &mutant.parameters, Solver::Sat);
            let seconds = judged.took.as_secs_f64();
            match judged.verdict {
                Verdict::Refuted(found) => {
                    confirm(&unit, &found, judged.compares_flags);
                    mutants += 1;
                    single += u32::from(mutant.is_single);
                    slowest = slowest.max(seconds);
                    total += seconds;
                }
                // A change without effect: all inputs are simulated to see that it has none.
                Verdict::Proved if !mutant.must_differ => {
                    if unit.latency == 0 && proof.input_bits <= 24 {
                        let again = judge(&unit, &mutant.text, &mutant.parameters, Solver::Simulation);
                        assert!(
                            matches!(again.verdict, Verdict::Simulated),
                            "{}: {}",
                            unit.name,
                            mutant.what
                        );
                    }
                    equal += 1;
                }
                other => panic!("{}, {}: {other:?}", unit.name, mutant.what),
            }
        }
        refuted += mutants;
        // Writing to a string can't fail.
        let _ = writeln!(
            rows,
            "{},{},\"{}\",{},{how},{:.1},{mutants},{equal},{total:.1},{slowest:.1}",
            unit.name,
            unit.style,
            unit.specification.unit().operation(),
            proof.input_bits,
            proof.took.as_secs_f64(),
        );
        eprintln!(
            "{}: {how} in {:.1} s; {mutants} mutants refuted, {equal} without effect",
            unit.name,
            proof.took.as_secs_f64()
        );
    }
    assert!(refuted >= if is_extensive { 100 } else { 8 }, "{refuted} mutants");
    assert!(single >= if is_extensive { 20 } else { 2 }, "{single} mutants that are wrong for one input");
    if let Some(path) = std::env::var_os("SMALLFLOAT_ROWS") {
        let header =
            "unit,style,operation,input_bits,verdict,seconds,mutants,without_effect,mutant_seconds,slowest";
        fs::write(path, format!("{header}\n{rows}")).expect("the file of rows");
    }
}
