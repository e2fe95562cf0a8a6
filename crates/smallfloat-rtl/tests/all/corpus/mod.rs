//! Units of many styles, right and with mistakes: [`prove`] proves every right one and refutes
//! every mutant, with an input for which the core confirms the mistake.
//!
//! `SMALLFLOAT_EXTENSIVE=1` takes all of them (`just verification rtl-corpus`), else a handful.
//! With `SMALLFLOAT_ROWS=FILE` each verdict is kept beside the file at once, a second run begins
//! where the first ended, and the file has a row for each unit.

mod journal;
mod mutate;
mod units;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use smallfloat_rtl::{Counterexample, Design, Method, Proof, ProofOptions, Solver, Verdict, prove};

use crate::has;
use journal::{Journal, Judged};
use mutate::Mutant;
use units::Unit;

/// How long a solver may take.
const TIMEOUT: Duration = Duration::from_secs(900);

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
    let options = ProofOptions { solver, timeout: TIMEOUT, ..ProofOptions::default() };
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

/// The right unit's verdict, in a word for its row.
fn judge_unit(unit: &Unit, solver: Solver) -> Judged {
    let proof = judge(unit, &unit.text, &unit.parameters, solver);
    let verdict = match &proof.verdict {
        Verdict::Proved => format!("proved by {}", proof.method.name()),
        Verdict::Simulated => "simulated".to_owned(),
        Verdict::Undecided { .. } => "undecided".to_owned(),
        Verdict::Refuted(found) => panic!("{}: {}", unit.name, found.explanation),
    };
    Judged { verdict, seconds: proof.took.as_secs_f64() }
}

/// A mutant's verdict: `refuted by` what found it, `without effect` or `undecided`.
fn judge_mutant(unit: &Unit, mutant: &Mutant) -> Judged {
    let proof = judge(unit, &mutant.text, &mutant.parameters, Solver::Auto);
    let verdict = match &proof.verdict {
        Verdict::Refuted(found) => {
            confirm(unit, found, proof.compares_flags);
            format!("refuted by {}", proof.method.name())
        }
        Verdict::Undecided { .. } => "undecided".to_owned(),
        // A change without effect: the solver has to agree.
        Verdict::Proved | Verdict::Simulated if !mutant.must_differ => {
            if proof.method == Method::Evaluation {
                let again = judge(unit, &mutant.text, &mutant.parameters, Solver::Sat);
                assert!(matches!(again.verdict, Verdict::Proved), "{}: {}", unit.name, mutant.what);
            }
            "without effect".to_owned()
        }
        other => panic!("{}, {}: {other:?}", unit.name, mutant.what),
    };
    Judged { verdict, seconds: proof.took.as_secs_f64() }
}

/// A unit, its mutants, and the names of their verdicts in the journal.
struct Entry {
    unit: Unit,
    /// Of the unit's own verdict.
    key: String,
    /// Of the solver's, where evaluation alone gave that.
    solver_key: String,
    mutants: Vec<(String, Mutant)>,
}

fn entries(is_extensive: bool) -> Vec<Entry> {
    let entry = |unit: Unit| {
        let mutants = mutate::all(&unit, is_extensive);
        let mutants = mutants
            .into_iter()
            .map(|mutant| {
                let expected = if mutant.must_differ { "differs, auto" } else { "may differ, auto" };
                (journal::key(&unit, &mutant.text, &mutant.parameters, expected), mutant)
            })
            .collect();
        let key = |solver: Solver| journal::key(&unit, &unit.text, &unit.parameters, solver.name());
        Entry { key: key(Solver::Auto), solver_key: key(Solver::Sat), unit, mutants }
    };
    units::all(is_extensive).into_iter().map(entry).collect()
}

/// A row for each unit: its verdict, or `open`, and what has been found of its mutants.
fn rows(entries: &[Entry], journal: &Journal) -> String {
    let mut rows = "unit,style,operation,input_bits,verdict,method,seconds,solver_seconds,mutants,refuted,by_evaluation,without_effect,undecided,mutant_seconds,slowest\n"
        .to_owned();
    for Entry { unit, key, solver_key, mutants } in entries {
        let found: Vec<&Judged> = mutants.iter().filter_map(|(key, _)| journal.get(key)).collect();
        let count = |verdict: &str| found.iter().filter(|judged| judged.verdict.starts_with(verdict)).count();
        let seconds = found.iter().map(|judged| judged.seconds);
        let (verdict, own) = match journal.get(key) {
            Some(judged) => (judged.verdict.as_str(), judged.seconds),
            None => ("open", 0.0),
        };
        let (verdict, method) = verdict.split_once(" by ").unwrap_or((verdict, ""));
        // Where evaluation has decided, the solver need not end.
        let solver = journal.get(solver_key).filter(|judged| judged.verdict.starts_with("proved"));
        let solver = solver.map(|judged| format!("{:.1}", judged.seconds));
        let input_bits: u32 = unit.specification.inputs().iter().map(|port| port.bits).sum();
        // Writing to a string can't fail.
        let _ = writeln!(
            rows,
            "{},{},\"{}\",{input_bits},{verdict},{method},{own:.1},{},{},{},{},{},{},{:.1},{:.1}",
            unit.name,
            unit.style,
            unit.specification.unit().operation(),
            solver.unwrap_or_default(),
            mutants.len(),
            count("refuted"),
            count("refuted by evaluation"),
            count("without effect"),
            count("undecided"),
            seconds.clone().sum::<f64>(),
            seconds.fold(0.0, f64::max),
        );
    }
    rows
}

#[test]
fn right_units_are_proved_and_mutants_refuted() {
    if !has("yosys", "-V") {
        return;
    }
    let is_extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let entries = entries(is_extensive);
    let keys = entries.iter().flat_map(|entry| {
        [entry.key.as_str(), &entry.solver_key]
            .into_iter()
            .chain(entry.mutants.iter().map(|(key, _)| key.as_str()))
    });
    let file = std::env::var_os("SMALLFLOAT_ROWS");
    let file = file.as_deref().map(Path::new);
    let mut journal = Journal::open(file, keys);
    let all = entries.iter().map(|entry| 2 + entry.mutants.len()).sum::<usize>();
    eprintln!("{} of {all} verdicts are there", journal.len());
    for entry in &entries {
        let Entry { unit, key, solver_key, mutants } = entry;
        journal.find(key, &format!("of {all}: {}", unit.name), || judge_unit(unit, Solver::Auto));
        let own = journal.get(key).expect("it was just judged");
        if own.verdict == "proved by sat" {
            let same = Judged { verdict: own.verdict.clone(), seconds: own.seconds };
            journal.find(solver_key, &format!("of {all}: the same"), || same);
        } else {
            let what = format!("of {all}: {}, solver", unit.name);
            journal.find(solver_key, &what, || judge_unit(unit, Solver::Sat));
        }
        for (key, mutant) in mutants {
            let what = format!("of {all}: {}, {}", unit.name, mutant.what);
            journal.find(key, &what, || judge_mutant(unit, mutant));
        }
        if let Some(file) = file {
            fs::write(file, rows(&entries, &journal)).expect("the file of rows");
        }
    }
    let of = |verdict: &str, counts: &dyn Fn(&Mutant) -> bool| {
        let mutants = entries.iter().flat_map(|entry| &entry.mutants);
        mutants
            .filter(|(key, m)| counts(m) && journal.get(key).is_some_and(|j| j.verdict.starts_with(verdict)))
            .count()
    };
    let (refuted, single) = (of("refuted", &|_| true), of("refuted", &|mutant| mutant.is_single));
    assert!(refuted >= if is_extensive { 100 } else { 8 }, "{refuted} mutants");
    assert!(single >= if is_extensive { 20 } else { 2 }, "{single} mutants that are wrong for one input");
    let undecided = of("undecided", &|_| true);
    let open =
        entries.iter().filter(|entry| journal.get(&entry.key).is_some_and(|j| j.verdict == "undecided"));
    assert_eq!((open.count(), undecided), (0, 0), "units and mutants for which no solver ended");
}
