//! [`Possible`]: the bins of a function for which there is no proof that they are unreachable.

use std::collections::HashSet;

use smallfloat::ops::Comparison;
use smallfloat::p3109::{Function as P3109Function, Specialization};
use smallfloat::{Format, Rounding};

use crate::coverage::functions::corners::Corners;
use crate::coverage::functions::results::Terms;
use crate::coverage::functions::{Function, results};
use crate::coverage::model::cross::{Cross, Decided};
use crate::coverage::model::reach::Witnesses;
use crate::features::Aspect;

/// Bins for which there is no proof that they are unreachable.
pub(super) struct Possible<'a> {
    of: &'a Function,
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
    pub(super) fn new(of: &'a Function, found: &Witnesses) -> Self {
        let operation = of.unit.operation();
        let list = of.features.list();
        let crosses = of.crosses.iter().zip(&found.of);
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
            of,
            present,
            by_result: by_result(operation, of),
            terms: Terms::of(operation),
            corners: Corners::of(of),
            specials_decide: results::specials_decide(operation),
            comparison: match operation.function() {
                P3109Function::Compare(comparison) => Some(comparison),
                _ => None,
            },
            reduces_to: operation.result().copied().filter(|_| results::reduces(operation)),
            rounding: operation.projections().first().map(|projection| projection.rounding),
        }
    }

    pub(super) fn allows(&self, at: usize, bin: usize) -> bool {
        let cross = &self.of.crosses[at];
        match cross.decided {
            // All combinations of representatives were tried.
            Decided::Operands => false,
            Decided::Result => {
                self.by_result.as_ref().is_none_or(|possible| possible.bins[at].contains(&bin))
            }
            Decided::Both => {
                let roundings = self.by_result.as_ref().and_then(|possible| possible.roundings[at].as_ref());
                let rounding = rounding_of(cross, &cross.places(bin), self.of);
                let is_known = roundings.zip(rounding);
                is_known.is_none_or(|(roundings, rounding)| roundings.contains(&rounding))
                    && !self.is_excluded(cross, bin)
            }
        }
    }

    /// Returns whether a bin of operands and result together contradicts itself.
    fn is_excluded(&self, cross: &Cross, bin: usize) -> bool {
        let list = self.of.features.list();
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
        let complete = self.of.features.find(Aspect::Cancellation);
        let complete = complete.map(|at| self.of.features.list()[at].last());
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
fn rounding_of(cross: &Cross, places: &[usize], of: &Function) -> Option<Vec<i32>> {
    let values = cross.axes.iter().zip(places).filter_map(|(axis, place)| axis.feature_at(*place));
    let list = of.features.list();
    values.filter(|(at, _)| is_of_rounding(list[*at].aspect)).map(|(_, value)| value).collect()
}

/// What results there may be; `None` where nothing is known of them.
fn by_result(operation: &Specialization, of: &Function) -> Option<ByResult> {
    let to = operation.result()?;
    let limits = results::Limits::of(operation)?;
    let list = of.features.list();
    let of_rounding = |cross: &Cross| -> Vec<usize> {
        let features = cross.axes.iter().filter_map(|axis| axis.feature_at(0));
        features.map(|(at, _)| at).filter(|at| is_of_rounding(list[*at].aspect)).collect()
    };
    let roundings: Vec<Vec<usize>> = of.crosses.iter().map(of_rounding).collect();
    let mut possible = ByResult {
        bins: vec![HashSet::new(); of.crosses.len()],
        roundings: roundings.iter().map(|places| (!places.is_empty()).then(HashSet::new)).collect(),
    };
    let mut values = Vec::new();
    for exact in results::representatives(&limits, to) {
        for rounded in results::rounded(exact, operation, to) {
            of.features.of_result(exact, rounded, &mut values);
            for (at, cross) in of.crosses.iter().enumerate() {
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
