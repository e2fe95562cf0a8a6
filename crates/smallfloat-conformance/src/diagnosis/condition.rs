//! [`Condition`]: what vectors that differ have in common, and vectors that agree have not.
//!
//! A literal says something of one feature: that it has a value, one of a few, or lies within
//! bounds. Literals that hold for every vector that differs are collected first. Each vector that
//! agrees violates some of them, and a condition has to contain one of these: the cheapest set of
//! literals that meets all such sets is found by branch and bound.

use std::collections::BTreeMap;
use std::fmt;

use smallfloat_kernels::parallel_map;

use crate::diagnosis::ports::PortFeatures;
use crate::features::{ABSENT, Aspect, Feature, FeatureKind};
use crate::vectors::CallOutcome;

/// The place where vectors differ: a conjunction that holds for each of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// What has to hold, in words.
    pub literals: Vec<String>,
    /// Vectors that differ, for all of which it holds.
    pub differing: u64,
    /// Vectors that agree although it holds for them; 0 where it says exactly where the differences
    /// are.
    pub agreeing: u64,
}

/// The literals, with commas between them.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.literals.join(", "))
    }
}

/// What is said of one feature.
#[derive(Clone, Debug)]
enum Claim {
    OneOf(Vec<i32>),
    Not(i32),
    AtLeast(i32),
    AtMost(i32),
}

#[derive(Clone, Debug)]
struct Literal {
    feature: usize,
    claim: Claim,
    cost: u32,
}

impl Literal {
    fn holds(&self, values: &[i32]) -> bool {
        let value = values[self.feature];
        match &self.claim {
            Claim::OneOf(known) => known.contains(&value),
            Claim::Not(other) => value != *other && value != ABSENT,
            Claim::AtLeast(low) => value >= *low && value != ABSENT,
            Claim::AtMost(high) => value <= *high && value != ABSENT,
        }
    }

    fn describe(&self, features: &[Feature]) -> String {
        let feature = &features[self.feature];
        match &self.claim {
            Claim::OneOf(known) => {
                let words: Vec<_> = known.iter().map(|value| feature.describe(*value)).collect();
                words.join(" or ")
            }
            Claim::Not(other) => format!("not {}", feature.describe(*other)),
            Claim::AtLeast(low) => format!("{} ≥ {low}", feature.name),
            Claim::AtMost(high) => format!("{} ≤ {high}", feature.name),
        }
    }
}

/// A set of literals has a bit for each.
const LITERALS: usize = 128;
/// Words that a literal may offer.
const WORDS: usize = 3;
/// Steps of the search.
const STEPS: u32 = 200_000;

/// A vector as features see it: operands and the right outcome.
pub(super) type Seen<'a> = (&'a [u64], &'a CallOutcome);

/// Says where vectors differ; `None` where all vectors do, or nothing is common to those that do.
pub(super) fn condition(
    set: &PortFeatures<'_>,
    differing: &[Seen<'_>],
    agreeing: &[Seen<'_>],
) -> Option<Condition> {
    if differing.is_empty() || agreeing.is_empty() {
        return None;
    }
    let features = set.list();
    let values = |(operands, outcome): &Seen<'_>, values: &mut Vec<i32>| {
        set.values(operands, outcome, values);
    };
    let literals = literals(features, differing, &values);
    let violated = parallel_map(agreeing.len(), |at| {
        let mut of = Vec::new();
        values(&agreeing[at], &mut of);
        let violates = |(bit, literal): (usize, &Literal)| u128::from(!literal.holds(&of)) << bit;
        literals.iter().enumerate().map(violates).fold(0, |mask, bit| mask | bit)
    });
    let mut masks: BTreeMap<u128, u64> = BTreeMap::new();
    for mask in violated {
        *masks.entry(mask).or_default() += 1;
    }
    let costs: Vec<u32> = literals.iter().map(|literal| literal.cost).collect();
    let chosen = if masks.contains_key(&0) { greedy(&masks, &costs) } else { cheapest(&masks, &costs) };
    if chosen == 0 {
        return None;
    }
    let chosen_literals = literals.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1);
    Some(Condition {
        literals: chosen_literals.map(|(_, literal)| literal.describe(features)).collect(),
        differing: differing.len() as u64,
        agreeing: masks.iter().filter(|(mask, _)| *mask & chosen == 0).map(|(_, count)| count).sum(),
    })
}

/// The literals that hold for all vectors that differ.
fn literals(
    features: &[Feature],
    differing: &[Seen<'_>],
    values: &(impl Fn(&Seen<'_>, &mut Vec<i32>) + Sync),
) -> Vec<Literal> {
    // What each feature is among these vectors.
    let mut found: Vec<Vec<i32>> = vec![Vec::new(); features.len()];
    let mut scratch = Vec::new();
    for seen in differing {
        values(seen, &mut scratch);
        for (found, value) in found.iter_mut().zip(&scratch) {
            if !found.contains(value) {
                found.push(*value);
            }
        }
    }
    let mut literals = Vec::new();
    for (feature, (of, mut known)) in features.iter().zip(found).enumerate() {
        known.sort_unstable();
        if known.contains(&ABSENT) {
            continue;
        }
        // Flags follow from the rest, the last bit of a code says little, and what is said of the
        // exact result is nearer to the cause than what is said of its code.
        let base = match of.aspect {
            Aspect::Order | Aspect::MagnitudeOrder => 15,
            Aspect::Flag(_) => 13,
            Aspect::LowBit(_) | Aspect::ResultLowBit => 12,
            Aspect::ResultField | Aspect::Away => 11,
            // What a port says is a word of the unit's own.
            Aspect::Port(_) => 8,
            _ => 10,
        };
        let mut add = |claim: Claim, cost: u32| literals.push(Literal { feature, claim, cost });
        match (of.kind, &known[..]) {
            (_, [_]) => add(Claim::OneOf(known), base),
            (FeatureKind::Number { low, high }, [first, .., last]) => {
                if *first > low {
                    add(Claim::AtLeast(*first), base + 4);
                }
                if *last < high {
                    add(Claim::AtMost(*last), base + 4);
                }
            }
            (FeatureKind::Named(words), several) => {
                if of.aspect == Aspect::Range {
                    let all = 0..=of.last();
                    let others = all.filter(|value| !several.contains(value));
                    others.for_each(|value| add(Claim::Not(value), base + 6));
                }
                if several.len() <= WORDS && several.len() < words.len() {
                    let more = 4 * u32::try_from(several.len() - 1).expect("few words");
                    add(Claim::OneOf(known), base + more);
                }
            }
            (FeatureKind::Number { .. }, []) => {}
        }
    }
    literals.truncate(LITERALS);
    literals
}

/// The cheapest set of literals that has one of each mask's.
fn cheapest(masks: &BTreeMap<u128, u64>, costs: &[u32]) -> u128 {
    // A mask that contains another is met where that one is.
    let mut minimal: Vec<u128> = Vec::new();
    let mut sorted: Vec<u128> = masks.keys().copied().collect();
    sorted.sort_by_key(|mask| mask.count_ones());
    for mask in sorted {
        if !minimal.iter().any(|known| known & mask == *known) {
            minimal.push(mask);
        }
    }
    let mut search = Search { masks: &minimal, costs, best: u128::MAX, best_cost: u32::MAX, steps: 0 };
    search.extend(0, 0);
    search.best
}

struct Search<'a> {
    masks: &'a [u128],
    costs: &'a [u32],
    best: u128,
    best_cost: u32,
    steps: u32,
}

impl Search<'_> {
    fn extend(&mut self, chosen: u128, cost: u32) {
        self.steps += 1;
        if cost >= self.best_cost || self.steps > STEPS && self.best_cost < u32::MAX {
            return;
        }
        // They are sorted by their number of literals: the first leaves the fewest choices.
        let Some(open) = self.masks.iter().find(|mask| *mask & chosen == 0) else {
            (self.best, self.best_cost) = (chosen, cost);
            return;
        };
        let mut bits: Vec<usize> = (0..self.costs.len()).filter(|bit| open >> bit & 1 == 1).collect();
        let met = |bit: usize| {
            self.masks.iter().filter(|mask| *mask >> bit & 1 == 1 && *mask & chosen == 0).count()
        };
        bits.sort_by_key(|bit| (self.costs[*bit], std::cmp::Reverse(met(*bit))));
        for bit in bits {
            self.extend(chosen | 1 << bit, cost + self.costs[bit]);
        }
    }
}

/// The part of a hundred that a further literal has to leave out.
const WORTH: u64 = 20;

/// A few literals that leave out most of what agrees, where something satisfies them all.
fn greedy(masks: &BTreeMap<u128, u64>, costs: &[u32]) -> u128 {
    let mut chosen = 0;
    let left = |chosen: u128| -> u64 {
        masks.iter().filter(|(mask, _)| *mask & chosen == 0).map(|(_, count)| count).sum()
    };
    loop {
        let now = left(chosen);
        let next = (0..costs.len()).map(|bit| chosen | 1 << bit).min_by_key(|set| left(*set));
        match next {
            Some(next) if (now - left(next)) * 100 > now * WORTH => chosen = next,
            _ => return chosen,
        }
    }
}
