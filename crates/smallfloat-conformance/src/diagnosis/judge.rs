//! Which mistakes explain what differs and agree with what agrees.

use smallfloat_kernels::parallel_map;

use crate::diagnosis::condition::condition;
use crate::diagnosis::mistake::{Mistake, Vector};
use crate::diagnosis::ports::{PortFeatures, at_settings, of_ports};
use crate::diagnosis::symptoms::symptoms;
use crate::diagnosis::{Diagnosis, Finding, Hypothesis, catalogue, rules};
use crate::vectors::{CallOutcome, CheckReport, UnitUnderTest};

/// Vectors that differ and vectors that agree by which mistakes are ranked.
const DIFFERING: usize = 1 << 10;
const AGREEING: usize = 1 << 12;
/// Hypotheses whose vectors are all counted.
const COUNTED: usize = 12;
/// The best mistakes, each of which is tried together with every other one.
const PAIRED: usize = 12;
/// Pairs that are named, at most.
const PAIRS: usize = 6;

/// Hypotheses that explain all that differs and are located.
const LOCATED: usize = 3;

/// A vector with the right outcome and the given one.
struct Case<'a> {
    operands: &'a [u64],
    expected: CallOutcome,
    given: CallOutcome,
}

/// What is compared: results, flags, or both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Values,
    Flags,
    Both,
}

/// The vectors of a report, sorted.
pub(super) struct Judge<'a> {
    report: &'a CheckReport,
    unit: &'a UnitUnderTest,
    /// All vectors whose outcome is known; those that differ first.
    cases: Vec<Case<'a>>,
    /// Flags alone differ.
    values_agree: bool,
}

/// The vectors on which hypotheses about one aspect are judged.
struct Court<'a> {
    judge: &'a Judge<'a>,
    aspect: Aspect,
    /// Vectors that differ and that agree, as places among the cases, and samples of them.
    differing: Vec<u32>,
    agreeing: Vec<u32>,
    few_differing: Vec<u32>,
    few_agreeing: Vec<u32>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(report: &'a CheckReport, unit: &'a UnitUnderTest) -> Self {
        let failing = report.kept.failing().iter().map(|vector| (&*vector.operands, Some(&vector.given)));
        let agreeing = report.kept.agreeing().map(|operands| (operands, None));
        let kept: Vec<_> = failing.chain(agreeing).collect();
        let case = |at: usize| {
            let (operands, given) = kept[at];
            let expected = report.unit.evaluate(operands).ok()?;
            let given = match given {
                Some(given) => given.clone()?,
                None => expected.clone(),
            };
            Some(Case { operands, expected, given })
        };
        let cases = parallel_map(kept.len(), case).into_iter().flatten().collect();
        let mut judge = Self { report, unit, cases, values_agree: false };
        judge.values_agree =
            judge.cases.iter().all(|case| judge.agrees(Aspect::Values, &case.expected, &case.given));
        judge
    }

    fn agrees(&self, aspect: Aspect, these: &CallOutcome, those: &CallOutcome) -> bool {
        let compared = self.report.compared;
        let values = aspect == Aspect::Flags || self.report.unit.agree(these, those, compared.any_nan);
        let flags = aspect == Aspect::Values || these.flags & compared.mask == those.flags & compared.mask;
        values && flags
    }

    /// The vectors that differ in an aspect; `None` where none does.
    fn court(&self, aspect: Aspect) -> Option<Court<'_>> {
        let places = 0..u32::try_from(self.cases.len()).expect("some hundred thousand vectors are kept");
        let (agreeing, differing): (Vec<u32>, Vec<u32>) = places.partition(|at| {
            let case = &self.cases[*at as usize];
            self.agrees(aspect, &case.expected, &case.given)
        });
        (!differing.is_empty()).then(|| Court {
            judge: self,
            aspect,
            few_differing: sample(&differing, DIFFERING),
            few_agreeing: sample(&agreeing, AGREEING),
            differing,
            agreeing,
        })
    }

    pub(super) fn diagnosis(&self) -> Diagnosis {
        let unit = self.unit;
        let operands = || self.cases.iter().map(|case| case.operands);
        let policies = at_settings(unit, operands(), rules::flag_policies);
        let presets = at_settings(unit, operands(), rules::presets);
        let both = self.court(Aspect::Both);
        let of_rules = both.iter().flat_map(|court| {
            let rules = policies.iter().chain(&presets);
            rules.filter_map(|rules| court.cause(rules)).collect::<Vec<_>>()
        });
        let of_rules: Vec<_> = of_rules.collect();

        let values = self.court(Aspect::Values).map(|court| {
            let mut mistakes = of_ports(unit);
            mistakes.extend(at_settings(unit, operands(), catalogue::of_values));
            mistakes.extend(policies.iter().cloned());
            court.finding(&mistakes)
        });
        let cause = values.as_ref().map(|finding| finding.causes.as_slice());
        let (flags, follower) = match self.court(Aspect::Flags) {
            None => (None, None),
            Some(court) => court.flags(&policies, cause.unwrap_or_default()),
        };
        let mut diagnosis = Diagnosis { rules: of_rules, values, flags, flags_follow: follower.is_some() };
        // The cause that explains the flags too comes first.
        if let (Some(values), Some(at)) = (&mut diagnosis.values, follower) {
            values.causes[..=at].rotate_right(1);
        }
        diagnosis
    }
}

/// Some of the places, the same for the same number of them; all if there are few.
fn sample(places: &[u32], count: usize) -> Vec<u32> {
    if places.len() <= count {
        return places.to_vec();
    }
    // Neighbours have operands in common, so every n-th vector would be a bad sample.
    let draw = |i: usize| {
        let lot = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (lot ^ lot >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
    };
    (0..count).map(|i| places[usize::try_from(draw(i)).expect("32 bits") % places.len()]).collect()
}

impl Court<'_> {
    fn case(&self, at: u32) -> &Case<'_> {
        &self.judge.cases[at as usize]
    }

    /// Returns whether a mistake gives what was given: it explains a vector that differs, and does
    /// not contradict one that agrees.
    fn gives(&self, mistake: &Mistake, at: u32) -> bool {
        let case = self.case(at);
        let vector = Vector { operands: case.operands, expected: &case.expected };
        // Rules of others are about NaN results too, and results that all agree speak against them.
        let is_whole = mistake.rules().is_some() && self.judge.values_agree;
        let aspect = if is_whole { Aspect::Both } else { self.aspect };
        let predicted = mistake.predict(self.judge.unit, vector);
        predicted.is_some_and(|predicted| self.judge.agrees(aspect, &predicted, &case.given))
    }

    /// A cause, if it explains all and contradicts nothing.
    fn cause(&self, mistake: &Mistake) -> Option<Hypothesis> {
        let all = |places: &[u32]| places.iter().all(|at| self.gives(mistake, *at));
        // Most that are none show it on a few.
        let is_cause = [&self.few_differing, &self.few_agreeing, &self.differing, &self.agreeing]
            .iter()
            .all(|of| all(of));
        is_cause.then(|| Hypothesis {
            mistake: mistake.clone(),
            explained: self.differing.len() as u64,
            contradicted: 0,
            condition: None,
        })
    }

    /// How many vectors a mistake explains and contradicts, of those given.
    fn count(&self, mistake: &Mistake, differing: &[u32], agreeing: &[u32]) -> Hypothesis {
        let explained = differing.iter().filter(|at| self.gives(mistake, **at)).count();
        let contradicted = match explained {
            0 => 0,
            _ => agreeing.iter().filter(|at| !self.gives(mistake, **at)).count(),
        };
        Hypothesis {
            mistake: mistake.clone(),
            explained: explained as u64,
            contradicted: contradicted as u64,
            condition: None,
        }
    }

    /// Mistakes that explain something, with the difference of what they explain and contradict:
    /// the best first, and of equals the one that the catalogue has first.
    fn ranked<'m>(&self, mistakes: &'m [Mistake]) -> Vec<&'m Mistake> {
        let share = |count: u64, few: &[u32], all: &[u32]| {
            u128::from(count) * all.len() as u128 * 1000 / few.len().max(1) as u128
        };
        let rank = |mistake| {
            let found = self.count(mistake, &self.few_differing, &self.few_agreeing);
            let explained = share(found.explained, &self.few_differing, &self.differing);
            let contradicted = share(found.contradicted, &self.few_agreeing, &self.agreeing);
            (found.explained > 0).then(|| (explained.cast_signed() - contradicted.cast_signed(), mistake))
        };
        let mut ranks: Vec<_> =
            parallel_map(mistakes.len(), |at| rank(&mistakes[at])).into_iter().flatten().collect();
        ranks.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        ranks.into_iter().map(|(_, mistake)| mistake).collect()
    }

    /// What may have caused the differences in this aspect.
    fn finding(&self, mistakes: &[Mistake]) -> Finding {
        let unit = self.judge.unit;
        let causes: Vec<_> =
            parallel_map(mistakes.len(), |at| self.cause(&mistakes[at])).into_iter().flatten().collect();
        let ranked = if causes.is_empty() { self.ranked(mistakes) } else { Vec::new() };
        let causes = if causes.is_empty() {
            let pairs: Vec<_> = ranked
                .iter()
                .take(PAIRED)
                .enumerate()
                .flat_map(|(i, first)| {
                    let before = &ranked[..i];
                    let is_new = |other: &&Mistake| {
                        !std::ptr::eq(*first, *other)
                            && !before.iter().any(|known| std::ptr::eq(*known, *other))
                    };
                    mistakes.iter().filter(is_new).map(|other| (*first, other)).collect::<Vec<_>>()
                })
                .collect();
            let cause = |at: usize| self.cause(&pairs[at].0.and(pairs[at].1, unit)?);
            parallel_map(pairs.len(), cause).into_iter().flatten().take(PAIRS).collect()
        } else {
            causes
        };
        let mut hypotheses = Vec::new();
        if causes.is_empty() {
            let count = |at: usize| self.count(ranked[at], &self.differing, &self.agreeing);
            hypotheses = parallel_map(ranked.len().min(COUNTED), count);
            let rank = |h: &Hypothesis| h.explained.cast_signed() - h.contradicted.cast_signed();
            hypotheses.sort_by_key(|hypothesis| std::cmp::Reverse(rank(hypothesis)));
        }
        let mut place = None;
        if causes.is_empty() {
            let features = PortFeatures::new(unit);
            let seen = |at: &u32| (self.case(*at).operands, &self.case(*at).expected);
            let differing: Vec<_> = self.differing.iter().map(seen).collect();
            let agreeing: Vec<_> = self.agreeing.iter().map(seen).collect();
            place = condition(&features, &differing, &agreeing);
            let is_local = |hypothesis: &&mut Hypothesis| hypothesis.explained == differing.len() as u64;
            for hypothesis in hypotheses.iter_mut().filter(is_local).take(LOCATED) {
                let shows = self.agreeing.iter().filter(|at| !self.gives(&hypothesis.mistake, **at));
                let agreeing: Vec<_> = shows.map(seen).collect();
                hypothesis.condition = condition(&features, &differing, &agreeing);
            }
        }
        let pairs = self.differing.iter().map(|at| (&self.case(*at).expected, &self.case(*at).given));
        let symptoms = match self.aspect {
            Aspect::Values => symptoms(unit.results(), pairs, self.judge.report.compared.any_nan),
            _ => Vec::new(),
        };
        Finding {
            differing: self.differing.len() as u64,
            agreeing: self.agreeing.len() as u64,
            causes,
            hypotheses,
            symptoms,
            condition: place,
        }
    }

    /// What may have caused differences of flags, and the place of the cause of the values that
    /// causes them too.
    fn flags(&self, policies: &[Mistake], causes: &[Hypothesis]) -> (Option<Finding>, Option<usize>) {
        let unit = self.judge.unit;
        if let Some(at) = causes.iter().position(|cause| self.cause(&cause.mistake).is_some()) {
            let (differing, agreeing) = (self.differing.len() as u64, self.agreeing.len() as u64);
            let finding = Finding { differing, agreeing, ..Finding::default() };
            return (Some(finding), Some(at));
        }
        // Flags of a unit that computes as the cause of the values says come second.
        let own = catalogue::of_flags();
        let mut mistakes: Vec<Mistake> = own.iter().chain(policies).cloned().collect();
        if let Some(cause) = causes.first() {
            let alone: Vec<_> = mistakes.clone();
            mistakes.extend(alone.iter().filter_map(|mistake| cause.mistake.and(mistake, unit)));
        }
        (Some(self.finding(&mistakes)), None)
    }
}
