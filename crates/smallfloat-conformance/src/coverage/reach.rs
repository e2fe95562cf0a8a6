//! Which bins can be reached, with operands that do.
//!
//! Units with operands of up to 24 bits together are tried with all of them. Of wider ones, bins
//! that the operands' codes decide are combined from representatives of each operand; for all
//! others operands are searched: vectors of level 1, operands solved for, and changes of operands
//! that reached something new. A bin that no search reached is unreachable if there is a proof
//! ([`results`](super::results)), else it is not known to be reachable.

use std::collections::HashSet;

use smallfloat::ops::Comparison;
use smallfloat::p3109::{Function, Specialization};
use smallfloat::{Format, Rounding};
use smallfloat_kernels::parallel_fold;

use crate::coverage::corners::Corners;
use crate::coverage::model::{Cross, Decided, Model};
use crate::coverage::results::Terms;
use crate::coverage::{results, search};
use crate::error::Error;
use crate::features::Aspect;
use crate::vectors::{CoverageLevel, UnitUnderTest, VectorPlan};

/// Operand bits that are tried exhaustively.
pub(super) const EXHAUSTIVE_BITS: u32 = 24;
/// Lines that a thread takes at once.
const CHUNK: u64 = 1 << 14;

/// What is known of a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Operands that reach it are known.
    Reachable,
    /// It is proved that none do.
    Unreachable,
    /// None are known, and no proof that there are none.
    Unknown,
}

/// Operands for each bin of each cross.
#[derive(Clone, Debug)]
pub(super) struct Witnesses {
    pub(super) of: Vec<Vec<Option<Box<[u64]>>>>,
}

impl Witnesses {
    pub(super) fn none(model: &Model) -> Self {
        Self { of: model.crosses.iter().map(|cross| vec![None; cross.size()]).collect() }
    }
}

/// Evaluates vectors of a unit.
pub(super) struct Probe<'a> {
    pub(super) unit: &'a UnitUnderTest,
    pub(super) model: &'a Model,
}

impl Probe<'_> {
    /// Calls with cross and bin of each bin that these operands reach. Operands that the unit
    /// refuses reach none.
    pub(super) fn bins(&self, operands: &[u64], values: &mut Vec<i32>, mut each: impl FnMut(usize, usize)) {
        let Ok(outcome) = self.unit.evaluate(operands) else { return };
        self.model.features.values(operands, outcome.results(), outcome.flags, values);
        for (at, cross) in self.model.crosses.iter().enumerate() {
            if let Some(bin) = cross.bin(values) {
                each(at, bin);
            }
        }
    }
}

/// What is known of all bins.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    pub(super) witnesses: Witnesses,
    pub(super) status: Vec<Vec<Reach>>,
    /// Whether all operands were tried.
    pub(super) is_exhaustive: bool,
}

impl Reached {
    pub(super) fn new(unit: &UnitUnderTest, model: &Model) -> Result<Self, Error> {
        let probe = Probe { unit, model };
        let bits = unit.operands().iter().fold(0_u32, |sum, field| sum.saturating_add(field.bits));
        let is_exhaustive = bits <= EXHAUSTIVE_BITS;
        let witnesses = if is_exhaustive { exhaustive(&probe)? } else { search::search(&probe)? };
        let supersets = (!is_exhaustive).then(|| Possible::new(unit, model, &witnesses));
        let status = model
            .crosses
            .iter()
            .zip(&witnesses.of)
            .enumerate()
            .map(|(at, (cross, witnesses))| {
                let reach = |(bin, witness): (usize, &Option<Box<[u64]>>)| match (&supersets, witness) {
                    (_, Some(_)) => Reach::Reachable,
                    (Some(possible), None) if possible.allows(at, cross, bin) => Reach::Unknown,
                    _ => Reach::Unreachable,
                };
                witnesses.iter().enumerate().map(reach).collect()
            })
            .collect();
        Ok(Self { witnesses, status, is_exhaustive })
    }
}

/// The first operands that reach each bin, of all operands.
fn exhaustive(probe: &Probe<'_>) -> Result<Witnesses, Error> {
    let plan = VectorPlan::new(probe.unit, Some(CoverageLevel::Exhaustive), 0, None)?;
    let width = probe.unit.operands().len();
    let none = || -> Vec<Vec<u64>> {
        probe.model.crosses.iter().map(|cross| vec![u64::MAX; cross.size()]).collect()
    };
    let chunk = |mut first: Vec<Vec<u64>>, chunk: u64| {
        let lines = chunk * CHUNK..plan.lines().min((chunk + 1) * CHUNK);
        let count = usize::try_from(lines.end - lines.start).expect("a chunk");
        let mut operands = vec![0; count * width];
        plan.fill(lines.clone(), &mut operands);
        let mut values = Vec::new();
        for (operands, line) in operands.chunks_exact(width).zip(lines) {
            probe.bins(operands, &mut values, |at, bin| first[at][bin] = first[at][bin].min(line));
        }
        first
    };
    let least = |mut a: Vec<Vec<u64>>, b: Vec<Vec<u64>>| {
        for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
            *a = (*a).min(*b);
        }
        a
    };
    let chunks = plan.lines().div_ceil(CHUNK);
    let first = parallel_fold(chunks, none, chunk, least);
    let operands = |line: u64| {
        let mut operands = vec![0; width];
        plan.fill(line..line + 1, &mut operands);
        operands.into_boxed_slice()
    };
    let witness = |line: &u64| (*line != u64::MAX).then(|| operands(*line));
    Ok(Witnesses { of: first.iter().map(|first| first.iter().map(witness).collect()).collect() })
}

/// Bins for which there is no proof that they are unreachable.
struct Possible<'a> {
    model: &'a Model,
    by_result: Option<ByResult>,
    /// The values of operands' features that codes have.
    present: HashSet<(Aspect, i32)>,
    terms: Option<Terms>,
    corners: Option<Corners>,
    /// Whether NaN operands decide the result by their class alone, and whether infinite ones do.
    specials_decide: (bool, bool),
    rounding: Option<Rounding>,
    comparison: Option<Comparison>,
    /// The format of the result of a reduction of blocks.
    reduces_to: Option<Format>,
}

/// A bin's values by feature.
struct Values(Vec<(Aspect, Option<i32>)>);

impl Values {
    /// A feature's value; `None` where the cross does not have it, or the vector has none.
    fn of(&self, aspect: Aspect) -> Option<i32> {
        self.0.iter().find(|(of, _)| *of == aspect).and_then(|(_, value)| *value)
    }
}

impl<'a> Possible<'a> {
    fn new(unit: &UnitUnderTest, model: &'a Model, witnesses: &Witnesses) -> Self {
        let operation = unit.operation();
        let list = model.features.list();
        let crosses = model.crosses.iter().zip(&witnesses.of);
        let mut present = HashSet::new();
        for (cross, witnesses) in crosses.filter(|(cross, _)| cross.decided == Decided::Operands) {
            let reached = witnesses.iter().enumerate().filter(|(_, witness)| witness.is_some());
            for (bin, _) in reached {
                let values = cross.axes.iter().zip(cross.places(bin));
                let values = values.filter_map(|(axis, place)| axis.feature_at(place));
                present.extend(values.filter_map(|(at, value)| Some((list[at].aspect, value?))));
            }
        }
        Self {
            model,
            present,
            by_result: by_result(operation, model),
            terms: Terms::of(operation),
            corners: Corners::of(unit, model),
            specials_decide: results::specials_decide(operation),
            comparison: match operation.function() {
                Function::Compare(comparison) => Some(comparison),
                _ => None,
            },
            reduces_to: operation.result().copied().filter(|_| results::reduces(operation)),
            rounding: operation.projections().first().map(|projection| projection.rounding),
        }
    }

    fn allows(&self, at: usize, cross: &Cross, bin: usize) -> bool {
        match cross.decided {
            // All combinations of representatives were tried.
            Decided::Operands => false,
            Decided::Result => {
                self.by_result.as_ref().is_none_or(|possible| possible.bins[at].contains(&bin))
            }
            Decided::Both => {
                let roundings = self.by_result.as_ref().and_then(|possible| possible.roundings[at].as_ref());
                let rounding = rounding_of(cross, &cross.places(bin), self.model);
                let is_known = roundings.zip(rounding);
                is_known.is_none_or(|(roundings, rounding)| roundings.contains(&rounding))
                    && !self.is_excluded(cross, bin)
            }
        }
    }

    /// Returns whether a bin of operands and result together contradicts itself.
    fn is_excluded(&self, cross: &Cross, bin: usize) -> bool {
        let list = self.model.features.list();
        let places = cross.places(bin);
        let axes = cross.axes.iter().zip(&places);
        let values = axes.filter_map(|(axis, place)| axis.feature_at(*place));
        let values = Values(values.map(|(at, value)| (list[at].aspect, value)).collect());
        let has_special = values.0.iter().any(|(of, value)| match (of, value) {
            (Aspect::Class(_), Some(0 | 1)) | (Aspect::Elements(_), Some(0)) => self.specials_decide.0,
            (Aspect::Class(_), Some(2)) => self.specials_decide.1,
            _ => false,
        });
        let flags =
            cross.axes.iter().zip(&places).find(|(axis, _)| axis.is_of_flags()).map(|(_, place)| *place);
        let is_absent = values.0.iter().any(|(of, value)| {
            let is_of_codes = matches!(of, Aspect::Class(_) | Aspect::Elements(_));
            is_of_codes && value.is_some_and(|value| !self.present.contains(&(*of, value)))
        });
        is_absent
            || has_special
            || self.corners.as_ref().is_some_and(|corners| corners.exclude(&values.0, flags))
            || self.contradicts_blocks(&values, flags)
            || self.contradicts_sum(&values)
            || contradicts_order(&values, self.comparison)
    }

    /// A reduction of finite numbers is never invalid; without a number other than 0 it is 0.
    fn contradicts_blocks(&self, values: &Values, flags: Option<usize>) -> bool {
        let Some(to) = self.reduces_to.filter(Format::is_signed) else { return false };
        let is_special = |(of, value): &(Aspect, Option<i32>)| match of {
            Aspect::Class(_) => matches!(value, Some(0..3)),
            Aspect::Elements(_) => matches!(value, Some(0..2)),
            _ => false,
        };
        if values.0.iter().any(is_special) {
            return false;
        }
        let is_zero =
            values.0.iter().any(|(of, value)| matches!(of, Aspect::Elements(_)) && *value == Some(2));
        let Some(class) = values.of(Aspect::ResultClass) else { return false };
        flags.is_some_and(|flags| flags != 0)
            || class == 0 && to.has_infinity()
            || is_zero && class != 2 && to.has_zero()
    }

    fn contradicts_sum(&self, values: &Values) -> bool {
        let effective = values.of(Aspect::Effective);
        if let (Some(terms), Some(alignment)) = (&self.terms, values.of(Aspect::Alignment)) {
            let sticky = values.of(Aspect::Sticky).map(|sticky| sticky == 1);
            if terms.exclude(alignment, effective == Some(1), sticky) {
                return true;
            }
        }
        let is_downward = self.rounding == Some(Rounding::TowardNegative);
        // The zero that is left has the sign that the rounding gives it.
        let has_zero_sign = values.of(Aspect::ResultSign) == Some(i32::from(is_downward));
        if effective == Some(1) && values.of(Aspect::MagnitudeOrder) == Some(1) {
            return !has_zero_sign;
        }
        let Some(depth) = values.of(Aspect::Cancellation) else {
            // Both terms are finite.
            return effective.is_some() && values.of(Aspect::MagnitudeOrder) == Some(3);
        };
        let complete = self.model.features.find(Aspect::Cancellation);
        let complete = complete.map(|at| self.model.features.list()[at].last());
        match effective {
            // Terms of one sign do not cancel, terms of opposite signs do not add up.
            Some(0) => depth > 0,
            _ if depth < 0 => true,
            _ if Some(depth) == complete => !has_zero_sign,
            _ => false,
        }
    }
}

/// Returns whether values are ordered otherwise than their magnitudes can be, or compared otherwise
/// than they are ordered.
fn contradicts_order(values: &Values, comparison: Option<Comparison>) -> bool {
    let Some(order) = values.of(Aspect::Order) else { return false };
    let holds = comparison.map(|comparison| match comparison {
        Comparison::Less => order == 0,
        Comparison::LessEqual => order == 0 || order == 1,
        Comparison::Equal => order == 1,
        Comparison::Greater => order == 2,
        Comparison::GreaterEqual => order == 1 || order == 2,
    });
    if holds.is_some_and(|holds| values.of(Aspect::Truth) == Some(i32::from(!holds))) {
        return true;
    }
    values
        .of(Aspect::MagnitudeOrder)
        .is_some_and(|magnitudes| (order == 3) != (magnitudes == 3) || order == 1 && magnitudes != 1)
}

/// What results there may be.
struct ByResult {
    /// Of each cross that the result decides, its bins.
    bins: Vec<HashSet<usize>>,
    /// Of each other cross that has the remainder, what it has of the rounding.
    roundings: Vec<Option<HashSet<Vec<i32>>>>,
}

/// Features that the exact result alone decides, where it is rounded.
fn is_of_rounding(aspect: Aspect) -> bool {
    matches!(aspect, Aspect::Remainder | Aspect::LastBit | Aspect::Carry | Aspect::Away)
}

/// What a bin has of the rounding; `None` where a part of it is absent.
fn rounding_of(cross: &Cross, places: &[usize], model: &Model) -> Option<Vec<i32>> {
    let values = cross.axes.iter().zip(places).filter_map(|(axis, place)| axis.feature_at(*place));
    let list = model.features.list();
    values.filter(|(at, _)| is_of_rounding(list[*at].aspect)).map(|(_, value)| value).collect()
}

/// What results there may be; `None` where nothing is known of them.
fn by_result(operation: &Specialization, model: &Model) -> Option<ByResult> {
    let to = operation.result()?;
    let limits = results::Limits::of(operation)?;
    let list = model.features.list();
    let of_rounding = |cross: &Cross| -> Vec<usize> {
        let features = cross.axes.iter().filter_map(|axis| axis.feature_at(0));
        features.map(|(at, _)| at).filter(|at| is_of_rounding(list[*at].aspect)).collect()
    };
    let roundings: Vec<Vec<usize>> = model.crosses.iter().map(of_rounding).collect();
    let mut possible = ByResult {
        bins: vec![HashSet::new(); model.crosses.len()],
        roundings: roundings.iter().map(|places| (!places.is_empty()).then(HashSet::new)).collect(),
    };
    let mut values = Vec::new();
    for exact in results::representatives(&limits, to) {
        for rounded in results::rounded(exact, operation, to) {
            model.features.of_result(exact, rounded, &mut values);
            for (at, cross) in model.crosses.iter().enumerate() {
                if cross.decided == Decided::Result {
                    possible.bins[at].extend(cross.bin(&values));
                } else if let Some(found) = &mut possible.roundings[at] {
                    found.insert(roundings[at].iter().map(|at| values[*at]).collect());
                }
            }
        }
    }
    Some(possible)
}
