//! Mistakes made in a multiplier, adders and converters of bits are named, or where they show is
//! said; and units of every policy for flags agree with their own vectors and are told from others.

mod bundles;
mod cases;
mod datapath;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs;

use bundles::{Bundle, Row};
use cases::{Base, CASES, Case, Truth};
use datapath::{Datapath, FlagRules, NanKind};
use rayon::prelude::*;
use smallfloat::FlagPolicy;
use smallfloat::p3109::Function;
use smallfloat_conformance::diagnosis::{Diagnosis, Finding, Rules, diagnose};
use smallfloat_conformance::vectors::{
    CheckOptions, CheckReport, CoverageLevel, LineLayout, UnitUnderTest, VectorPlan, VectorSet, check,
};

/// Vectors of a unit as text.
fn vectors(base: Base, policy: &str) -> String {
    let (operation, preset, _) = base.unit();
    let preset = preset.map(|name| name.parse().expect(name));
    let unit = UnitUnderTest::new(operation.parse().expect(operation), preset).expect(operation);
    let unit = unit.with_flag_policy(policy.parse().expect(policy), true);
    let bits: u32 = unit.operands().iter().map(|field| field.bits).sum();
    let level = if bits <= 16 { CoverageLevel::Exhaustive } else { CoverageLevel::One };
    let plan = VectorPlan::new(&unit, Some(level), 1, None).expect(operation);
    let mut text = Vec::new();
    VectorSet::new(unit, plan, None)
        .write(LineLayout::TestFloat, &mut text)
        .expect("memory takes everything");
    String::from_utf8(text).expect("text")
}

/// The lines with what a datapath gives.
fn simulated(vectors: &str, unit: &Datapath, mask: u32) -> String {
    let lines: Vec<&str> = vectors.lines().collect();
    let line = |line: &&str| {
        if line.starts_with('#') {
            return format!("{line}\n");
        }
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal digits");
        let (operands, results) = words.split_at(words.len() - 2);
        let x = number(operands[0]);
        let second = operands.get(1).map_or(0, |text| number(text));
        let (code, flags) = unit.run(x, second, second);
        let digits = results[0].len();
        format!("{} {code:0digits$x} {:02x}\n", operands.join(" "), flags & mask)
    };
    lines.par_iter().map(line).collect()
}

fn judged(text: &str) -> (CheckReport, Diagnosis) {
    let report =
        check(text.as_bytes(), &CheckOptions { show: 3, ..CheckOptions::default() }).expect("vectors");
    let diagnosis = diagnose(&report);
    (report, diagnosis)
}

/// The flags that are compared for a policy, in RISC-V's order.
fn mask(policy: &str) -> u32 {
    FlagPolicy::NAMED.iter().find(|(name, _)| *name == policy).expect(policy).1.bits.bits().into()
}

/// The first finding: that of results, or of flags.
fn finding(diagnosis: &Diagnosis) -> Option<&Finding> {
    diagnosis.values.as_ref().or(diagnosis.flags.as_ref())
}

/// What the diagnosis said of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// The true mistake is named.
    True,
    /// Another is named, and the true one is not.
    False,
    /// None is named, and where it differs is said exactly.
    Exact,
    /// None is named, and where it differs is not said, or in other words.
    Elsewhere,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::True => "named",
            Self::False => "wrong",
            Self::Exact => "located",
            Self::Elsewhere => "elsewhere",
        })
    }
}

struct Judged {
    base: Base,
    case: &'static Case,
    verdict: Verdict,
    differing: u64,
    said: String,
}

fn judge(base: Base, case: &'static Case, vectors: &str) -> Judged {
    let unit = Datapath { bugs: case.bugs.to_vec(), ..base.datapath() };
    let text = simulated(vectors, &unit, mask(base.unit().2));
    let (report, diagnosis) = judged(&text);
    assert!(report.mismatches > 0, "{}: no vector shows it", case.name);
    let finding = finding(&diagnosis).expect("something differs");
    let named: Vec<String> = finding.causes.iter().map(|cause| cause.mistake.to_string()).collect();
    let is_true = |name: &String| match case.truth {
        Truth::Mistakes(parts) => {
            let known: BTreeSet<&str> = name.split("; and ").collect();
            known == parts.iter().copied().collect()
        }
        Truth::Where(_) => false,
    };
    let condition = finding.condition.as_ref();
    let is_exact = condition.is_some_and(|condition| {
        let said: BTreeSet<&str> = condition.literals.iter().map(String::as_str).collect();
        let is_said = match case.truth {
            Truth::Where([]) | Truth::Mistakes(_) => true,
            Truth::Where(literals) => said == literals.iter().copied().collect(),
        };
        is_said && condition.agreeing == 0
    });
    let verdict = match () {
        () if named.iter().any(is_true) => Verdict::True,
        () if !named.is_empty() => Verdict::False,
        () if is_exact => Verdict::Exact,
        () => Verdict::Elsewhere,
    };
    let said = match (named.is_empty(), condition) {
        (false, _) => named.join(" | "),
        (true, Some(condition)) => {
            let nearest = finding.hypotheses.first().map(|h| h.mistake.to_string()).unwrap_or_default();
            format!("where: {condition} ({} agree); nearest: {nearest}", condition.agreeing)
        }
        (true, None) => "nothing".into(),
    };
    Judged { base, case, verdict, differing: report.mismatches, said }
}

/// The rates are those that the evidence gives.
#[test]
fn mistakes_are_named_or_located() {
    let only = std::env::var("SMALLFLOAT_CASE").ok();
    let is_meant = |case: &&Case| only.as_ref().is_none_or(|name| case.name.contains(name));
    let judge_all = |&(base, cases): &(Base, &'static [Case])| {
        let vectors = vectors(base, base.unit().2);
        let (report, _) = judged(&simulated(&vectors, &base.datapath(), mask(base.unit().2)));
        assert_eq!(report.mismatches, 0, "{base:?} as it should be: {:#?}", report.first);
        let found: Vec<Judged> =
            cases.par_iter().filter(is_meant).map(|case| judge(base, case, &vectors)).collect();
        found
    };
    let found: Vec<Judged> = CASES.par_iter().flat_map(judge_all).collect();
    let count = |verdict: Verdict| found.iter().filter(|judged| judged.verdict == verdict).count();
    let mut rows = String::from("unit,mistake,verdict,differing,said\n");
    for Judged { base, case, verdict, differing, said } in &found {
        writeln!(rows, "{:?},\"{}\",{verdict},{differing},\"{said}\"", base, case.name)
            .expect("a string takes everything");
    }
    print!("{rows}");
    let known = found.iter().filter(|judged| matches!(judged.case.truth, Truth::Mistakes(_))).count();
    let (named, wrong, exact) = (count(Verdict::True), count(Verdict::False), count(Verdict::Exact));
    let rest = found.len() - named - wrong;
    println!("mistakes {} known {known} named {named} false {wrong} rest {rest} exact {exact}", found.len());
    if let Ok(path) = std::env::var("SMALLFLOAT_ROWS") {
        fs::write(&path, rows).expect(&path);
    }
    if only.is_some() {
        return;
    }
    assert!(found.len() >= 60, "{} mistakes", found.len());
    assert_eq!(wrong, 0, "wrong mistakes are named");
    assert!(named * 10 >= known * 9, "{named} of {known} are named");
    assert!(exact * 5 >= rest * 4, "{exact} of {rest} are located");
}

/// The rules of a bundle, as the datapath has them.
fn rules(policy: &str) -> (FlagRules, NanKind) {
    match policy {
        "tesla" => (cases::TESLA, NanKind::Canonical),
        "ieee-before" => (cases::BEFORE, NanKind::Canonical),
        "ieee-after" => (cases::AFTER, NanKind::Canonical),
        "riscv" => (cases::RISCV, NanKind::Canonical),
        "arm" => (cases::BEFORE, NanKind::Arm),
        _ => (cases::X86, NanKind::X86),
    }
}

/// A correct unit of each bundle agrees with vectors of its own; with vectors of another one it
/// agrees too, or is told whose rules it follows.
#[test]
fn units_of_other_policies_are_told_which() {
    for base in [Base::Multiply8, Base::Add8, Base::Convert32] {
        for (asked, _) in FlagPolicy::NAMED {
            let vectors = vectors(base, asked);
            for (policy, _) in FlagPolicy::NAMED {
                let (rules, nan) = rules(policy);
                let unit = Datapath { nan, rules, ..base.datapath() };
                // A unit gives the flags that it has; the file's others are 0.
                let text = simulated(&vectors, &unit, mask(policy) & mask(asked));
                let (report, diagnosis) = judged(&text);
                if asked == policy {
                    assert_eq!(report.mismatches, 0, "{base:?} {policy}: {:#?}", report.first);
                }
                if report.mismatches == 0 {
                    continue;
                }
                let named: Vec<_> =
                    diagnosis.rules.iter().filter_map(|rules| rules.mistake.rules()).collect();
                let own: FlagPolicy = policy.parse().expect(policy);
                assert!(
                    named.contains(&Rules::Flags(own)),
                    "{base:?}: vectors of {asked}, a unit of {policy}: {named:?}"
                );
            }
        }
    }
}

/// All combinations are tried, and all operations; else a part.
fn is_extensive() -> bool {
    std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some()
}

/// What `vectors check` finds in the results of one bundle's unit, asked for another's.
fn checked(row: &Row, operands: &[Vec<u64>], asked: &str, policy: &str) -> CheckReport {
    let (rules, nan) = rules(policy);
    let bundle = Bundle::new(rules, nan);
    let call = format!("{}<ieee:k=8,p=4, semantics=ieee>", row.name);
    let unit = UnitUnderTest::new(call.parse().expect(&call), None).expect(&call);
    let unit = unit.with_flag_policy(asked.parse().expect(asked), true);
    // A unit gives the flags that it has; others are 0.
    let mask = mask(policy) & mask(asked);
    let digits = unit.results()[0].digits();
    let line = |codes: &Vec<u64>| {
        let (code, flags) = bundle.run(row, codes);
        let words: Vec<String> = codes.iter().map(|code| format!("{code:02x}")).collect();
        format!("{} {code:0digits$x} {:02x}\n", words.join(" "), flags & mask)
    };
    let text: String = operands.par_iter().map(line).collect();
    let options = CheckOptions { unit: Some(unit.into()), show: 1, ..CheckOptions::default() };
    check(text.as_bytes(), &options).expect("vectors")
}

#[test]
fn every_scalar_operation_has_a_unit() {
    let is_scalar = |function: &Function| {
        !matches!(function, Function::Block(_) | Function::Scaled(_))
            && !matches!(function, Function::FormatQuery(_) | Function::ProjectionQuery(_))
            // `integers.rs` has these.
            && !matches!(function, Function::ToInteger(_) | Function::FromInteger(_))
    };
    let names: BTreeSet<_> = Function::all().filter(is_scalar).map(Function::name).collect();
    assert_eq!(names, bundles::ROWS.iter().map(|row| row.name).collect());
}

/// Units of every bundle give what vectors say, for every scalar operation.
#[test]
fn units_of_every_policy_agree_for_every_operation() {
    for row in bundles::ROWS {
        let operands = row.vectors(is_extensive());
        for (policy, _) in FlagPolicy::NAMED {
            let report = checked(row, &operands, policy, policy);
            assert_eq!(report.vectors, operands.len() as u64);
            assert_eq!(report.mismatches, 0, "{} of {policy}: {:#?}", row.name, report.first);
        }
    }
}

/// Operations whose units differ in all that policies decide.
const TOLD: [&str; 5] = ["Convert", "Multiply", "FMA", "Sqrt", "CompareEqual"];

/// A unit of one bundle that is asked for another's rules agrees, or is told whose rules it
/// follows.
#[test]
fn units_of_other_policies_are_told_which_for_every_operation() {
    let mut told = 0;
    for row in bundles::ROWS.iter().filter(|row| is_extensive() || TOLD.contains(&row.name)) {
        let operands = row.vectors(false);
        for (asked, _) in FlagPolicy::NAMED {
            for (policy, own) in FlagPolicy::NAMED {
                let report = checked(row, &operands, asked, policy);
                if report.mismatches == 0 {
                    continue;
                }
                let diagnosis = diagnose(&report);
                let mut named = diagnosis.rules.iter().filter_map(|rules| rules.mistake.rules());
                let is_told = named.any(|rules| rules == Rules::Flags(*own));
                assert!(is_told, "{}, a unit of {policy} asked for {asked}", row.name);
                told += 1;
            }
        }
    }
    println!("{told} units were told whose rules they follow");
    assert!(told >= 100, "{told}");
}
