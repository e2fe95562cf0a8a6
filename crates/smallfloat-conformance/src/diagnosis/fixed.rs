//! Mistakes of units that compute in one way: those of sums, other lists, other ties.

use smallfloat::{Codebook, Datum, Flags};
use smallfloat_kernels::parallel_map;

use crate::diagnosis::mistake::Mistake;
use crate::diagnosis::sums::of_sums;
use crate::diagnosis::symptoms::symptoms;
use crate::diagnosis::{Diagnosis, Finding, Hypothesis};
use crate::vectors::{CallOutcome, CheckReport, FixedUnit, Neighbours};

/// Vectors that differ and that agree by which mistakes are ranked that are no cause, at most, and
/// numbers of either: those of sums have many.
const DIFFERING: usize = 1 << 10;
const AGREEING: usize = 1 << 12;
const NUMBERS: usize = 1 << 17;
/// Mistakes that are named where none is a cause.
const NAMED: usize = 5;

/// A vector: its operands, what is right, and what was given.
struct Case<'a> {
    operands: &'a [u64],
    right: CallOutcome,
    given: Option<&'a CallOutcome>,
}

/// What may have caused the differences of a report on this unit.
pub(super) fn diagnosis(report: &CheckReport, unit: &FixedUnit) -> Diagnosis {
    let right = |operands| unit.evaluate(operands).ok();
    let failing = report.kept.failing().iter().filter_map(|vector| {
        let (operands, given) = (&*vector.operands, vector.given.as_ref()?);
        Some(Case { operands, right: right(operands)?, given: Some(given) })
    });
    let agreeing = report.kept.agreeing();
    let agreeing =
        agreeing.filter_map(|operands| Some(Case { operands, right: right(operands)?, given: None }));
    let cases: Vec<Case<'_>> = failing.chain(agreeing).collect();
    let same_results =
        |these: &CallOutcome, those: &CallOutcome| report.unit.agree(these, those, report.compared.any_nan);
    let mask = report.compared.mask;
    let same_flags = |these: &CallOutcome, those: &CallOutcome| these.flags & mask == those.flags & mask;
    let values = finding(&cases, &of_values(unit), same_results).map(|finding| {
        let pairs = cases.iter().filter_map(|case| Some((&case.right, case.given?)));
        Finding { symptoms: symptoms(unit.results(), pairs, report.compared.any_nan), ..finding }
    });
    let flags = finding(&cases, &of_flags(unit), same_flags);
    Diagnosis { values, flags, ..Diagnosis::default() }
}

/// What explains the differences in one aspect; `None` where there are none.
fn finding(
    cases: &[Case<'_>],
    mistakes: &[Mistake],
    same: impl Fn(&CallOutcome, &CallOutcome) -> bool + Sync,
) -> Option<Finding> {
    let differs = |case: &&Case<'_>| case.given.is_some_and(|given| !same(given, &case.right));
    let (differing, agreeing): (Vec<_>, Vec<_>) = cases.iter().partition(differs);
    if differing.is_empty() {
        return None;
    }
    let gives = |mistake: &Mistake, case: &Case<'_>| {
        let given = case.given.unwrap_or(&case.right);
        mistake.predict_fixed(case.operands).is_some_and(|predicted| same(&predicted, given))
    };
    let cause = |mistake: &Mistake| {
        let is_cause = differing.iter().chain(&agreeing).all(|case| gives(mistake, case));
        is_cause.then(|| Hypothesis {
            mistake: mistake.clone(),
            explained: differing.len() as u64,
            contradicted: 0,
            condition: None,
        })
    };
    let causes: Vec<_> =
        parallel_map(mistakes.len(), |at| cause(&mistakes[at])).into_iter().flatten().collect();
    if !causes.is_empty() {
        let (differing, agreeing) = (differing.len() as u64, agreeing.len() as u64);
        return Some(Finding { differing, agreeing, causes, ..Finding::default() });
    }
    let some = |cases: &[&'_ Case<'_>], count: usize| {
        let count = count.min(NUMBERS / differing[0].operands.len());
        (0..cases.len()).step_by(cases.len().div_ceil(count).max(1)).collect::<Vec<_>>()
    };
    let (few_differing, few_agreeing) = (some(&differing, DIFFERING), some(&agreeing, AGREEING));
    let count = |mistake: &Mistake| Hypothesis {
        mistake: mistake.clone(),
        explained: few_differing.iter().filter(|at| gives(mistake, differing[**at])).count() as u64,
        contradicted: few_agreeing.iter().filter(|at| !gives(mistake, agreeing[**at])).count() as u64,
        condition: None,
    };
    let mut hypotheses = parallel_map(mistakes.len(), |at| count(&mistakes[at]));
    hypotheses.retain(|hypothesis| hypothesis.explained > 0);
    let rank = |h: &Hypothesis| h.explained.cast_signed() - h.contradicted.cast_signed();
    hypotheses.sort_by_key(|hypothesis| std::cmp::Reverse(rank(hypothesis)));
    hypotheses.truncate(NAMED);
    let (differing, agreeing) = (few_differing.len() as u64, few_agreeing.len() as u64);
    Some(Finding { differing, agreeing, hypotheses, ..Finding::default() })
}

/// The mistakes that change results, the likelier first.
fn of_values(unit: &FixedUnit) -> Vec<Mistake> {
    match (unit.dot_product(), unit.destination()) {
        (Some(dot), _) => of_sums(unit, dot),
        (None, Some(codebook)) => of_lists(unit, codebook),
        (None, None) => other_lists(unit),
    }
}

/// Another unit in the place of the right one.
pub(super) fn of_unit(name: String, unit: FixedUnit) -> Mistake {
    Mistake::of_fixed(name, move |operands| unit.evaluate(operands).ok())
}

/// Another of the two values between which a number lies.
type Choice = fn(&Neighbours, Datum) -> Option<bool>;

/// Whether the value above is taken; `None` where the choice is the right one.
const CHOICES: [(&str, Choice); 8] = [
    ("ties go to the higher value", |place, _| place.is_tie().then_some(true)),
    ("ties go to the lower value", |place, _| place.is_tie().then_some(false)),
    ("ties go away from zero", |place, x| place.is_tie().then_some(!x.is_negative())),
    ("ties go toward zero", |place, x| place.is_tie().then_some(x.is_negative())),
    ("truncates: rounds toward zero", |_, x| Some(x.is_negative())),
    ("rounds away from zero", |_, x| Some(!x.is_negative())),
    ("rounds toward −∞", |_, _| Some(false)),
    ("rounds toward +∞", |_, _| Some(true)),
];

fn of_lists(unit: &FixedUnit, codebook: Codebook) -> Vec<Mistake> {
    let chosen = |(name, choice): &(&str, Choice)| {
        let (unit, choice) = (unit.clone(), *choice);
        Mistake::of_fixed((*name).into(), move |operands| {
            let right = unit.evaluate(operands).ok()?;
            let x = unit.source(operands);
            let other = unit.place(operands).and_then(|place| {
                let code = if choice(&place, x)? { place.above? } else { place.below? };
                Some(CallOutcome::one(code, right.flags))
            });
            Some(other.unwrap_or(right))
        })
    };
    let mut all: Vec<Mistake> = CHOICES.iter().map(chosen).collect();
    let right = unit.clone();
    all.push(Mistake::of_fixed("numbers the values from the lowest on".into(), move |operands| {
        let right = right.evaluate(operands).ok()?;
        let rank = codebook.ascending().position(|code| u64::from(code) == right[0])?;
        Some(CallOutcome::one(rank as u64, right.flags))
    }));
    all.extend(other_lists(unit));
    all
}

/// The values of another list of as many bits.
fn other_lists(unit: &FixedUnit) -> Vec<Mistake> {
    let own = unit.lists();
    let others = Codebook::ALL.iter().filter(|other| own.iter().any(|list| list.width() == other.width()));
    let others = others.filter(|other| !own.contains(other));
    others
        .filter_map(|other| Some(of_unit(format!("has the values of {other}"), unit.with_list(*other)?)))
        .collect()
}

/// The mistakes that change flags: "inexact" is the only one of lists.
fn of_flags(unit: &FixedUnit) -> Vec<Mistake> {
    let flags = |name: &str, change: fn(Flags) -> Flags| {
        let unit = unit.clone();
        Mistake::of_fixed(name.into(), move |operands| {
            let right = unit.evaluate(operands).ok()?;
            let changed = change(right.flags);
            Some(right.with_flags(changed))
        })
    };
    vec![
        flags("the inexact flag is never raised", |flags| flags.without(Flags::INEXACT)),
        flags("the inexact flag is always raised", |flags| flags | Flags::INEXACT),
    ]
}
