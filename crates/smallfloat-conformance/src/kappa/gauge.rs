//! [`Gauge`]: compares results, in all and by interval of an operand.

use smallfloat::Format;

use crate::error::Error;
use crate::kappa::Kappa;
use crate::kappa::cover::Cover;
use crate::kappa::line::ValueLine;
use crate::kappa::measurement::Measurement;
use crate::kappa::operation::MeasuredOperation;
use crate::kappa::profile::Profile;

/// Further measurements beside κ over all operands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GaugeOptions {
    /// Sets of operands that get a κ of their own.
    pub cover: Cover,
    /// How many runs of the cover's operand get a κ, for a picture; 0 for none.
    pub runs: usize,
}

/// Compares defined with given results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gauge {
    operands: Vec<ValueLine>,
    results: Vec<ValueLine>,
    cover: Cover,
    total: Measurement,
    parts: Vec<Measurement>,
    elsewhere: Measurement,
    profile: Option<Profile>,
}

impl Gauge {
    /// Returns a gauge for calls with operands and results of these formats. A block is as many
    /// results as it has codes.
    ///
    /// # Errors
    /// A cover of an operand that there is not.
    pub fn new(operands: &[Format], results: &[Format], options: GaugeOptions) -> Result<Self, Error> {
        let GaugeOptions { cover, runs } = options;
        let Some(covered) = operands.get(cover.operand()) else {
            let (given, count) = (cover.operand() + 1, operands.len());
            return Err(Error::NoSuchOperand { name: "the operation".into(), given, count });
        };
        let profile = (runs > 0).then(|| Profile::new(covered, runs));
        let lines = |formats: &[Format]| formats.iter().map(ValueLine::new).collect::<Vec<_>>();
        Ok(Self {
            operands: lines(operands),
            results: lines(results),
            total: Measurement::default(),
            parts: vec![Measurement::default(); cover.intervals().len()],
            elsewhere: Measurement::default(),
            cover,
            profile,
        })
    }

    /// Returns a gauge for an operation: scalar, scaled (scale and element of each operand in
    /// turn), NextGreaterThan, NextLessThan or a sum of products.
    ///
    /// # Errors
    /// An operation whose result is no number or more than one, a conversion with a list of values,
    /// and a stochastic rounding mode.
    pub fn for_operation(
        operation: impl Into<MeasuredOperation>,
        options: GaugeOptions,
    ) -> Result<Self, Error> {
        let operation = operation.into();
        let result = *operation.one_result()?;
        Self::new(operation.operands(), &[result], options).map_err(|error| match error {
            Error::NoSuchOperand { given, count, .. } => {
                Error::NoSuchOperand { name: operation.name().to_owned(), given, count }
            }
            other => other,
        })
    }

    /// Compares one call. Bits above the formats' widths are ignored.
    ///
    /// # Errors
    /// Another number of operands or results than the gauge has formats for.
    pub fn add(&mut self, operands: &[u64], defined: &[u64], given: &[u64]) -> Result<Kappa, Error> {
        let counts = [
            ("operands", operands.len(), self.operands.len()),
            ("defined results", defined.len(), self.results.len()),
            ("results", given.len(), self.results.len()),
        ];
        match counts.into_iter().find(|(_, given, expected)| given != expected) {
            Some((what, given, expected)) => Err(Error::Count { what, given, expected }),
            None => Ok(self.compare(operands, defined, given)),
        }
    }

    /// [`add`](Self::add) with the right numbers of codes.
    pub(super) fn compare(&mut self, operands: &[u64], defined: &[u64], given: &[u64]) -> Kappa {
        let results = self.results.iter().zip(defined).zip(given);
        let kappa = results.map(|((line, &a), &b)| line.steps(a, b)).max().unwrap_or(Kappa::Steps(0));
        let differs = kappa > Kappa::Steps(0);
        let rank = if differs || !self.parts.is_empty() {
            let covered = self.cover.operand();
            self.operands[covered].rank(operands[covered])
        } else {
            None
        };
        if differs && let Some(profile) = &mut self.profile {
            profile.add(rank, kappa);
        }
        let part = if self.parts.is_empty() {
            None
        } else {
            Some(match self.cover.locate(rank) {
                Some(at) => &mut self.parts[at],
                None => &mut self.elsewhere,
            })
        };
        for measurement in [Some(&mut self.total), part].into_iter().flatten() {
            if differs {
                measurement.differ(kappa, operands, defined, given);
            } else {
                measurement.agree();
            }
        }
        kappa
    }

    /// Joins the findings of a gauge of the same formats and cover that compared later calls.
    pub(super) fn merge(mut self, later: Self) -> Self {
        self.total.merge(later.total);
        self.parts.iter_mut().zip(later.parts).for_each(|(part, other)| part.merge(other));
        self.elsewhere.merge(later.elsewhere);
        if let (Some(mine), Some(theirs)) = (&mut self.profile, &later.profile) {
            mine.merge(theirs);
        }
        self
    }

    /// Returns what was found over all calls.
    pub fn total(&self) -> &Measurement {
        &self.total
    }

    /// Returns the intervals of the cover and what was found in each.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &Measurement)> {
        self.cover.intervals().iter().map(super::Interval::text).zip(&self.parts)
    }

    /// Returns what was found outside of the cover's intervals; nothing where there is no cover.
    pub fn elsewhere(&self) -> &Measurement {
        &self.elsewhere
    }

    /// Returns the worst κ along the cover's operand, if the options ask for it.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Returns the index of the operand that cover and profile look at.
    pub fn covered_operand(&self) -> usize {
        self.cover.operand()
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{E2M1FN, E4M3FN, E8M0FNU};

    use super::*;

    /// A block of one scale and two elements: the worst of three results counts (P3109 draft, κ of
    /// several results).
    #[test]
    fn a_block_has_the_worst_kappa_of_its_results() -> Result<(), Error> {
        let mut gauge = Gauge::new(&[E4M3FN], &[E8M0FNU, E2M1FN, E2M1FN], GaugeOptions::default())?;
        assert_eq!(gauge.add(&[0x38], &[0x7f, 1, 0x9], &[0x7e, 1, 0x2])?, Kappa::Steps(3));
        assert_eq!(gauge.add(&[0x39], &[0x7f, 1, 8], &[0x7f, 1, 0])?, Kappa::Steps(0));
        assert_eq!(gauge.total().kappa(), Kappa::Steps(3));
        assert_eq!(gauge.add(&[0x7f], &[0xff, 0, 0], &[0x00, 0, 0])?, Kappa::Nan);
        let total = gauge.total();
        assert_eq!((total.kappa(), total.differing(), total.nan_mismatches()), (Kappa::Nan, 2, 1));
        assert_eq!((total.largest_steps(), total.compared()), (3, 3));
        assert!(matches!(gauge.add(&[0x7f], &[0xff, 0], &[0, 0, 0]), Err(Error::Count { given: 2, .. })));
        Ok(())
    }

    #[test]
    fn parts_add_up() -> Result<(), Error> {
        let cover = Cover::new(0, vec![super::super::Interval::parse("0..1", &E4M3FN)?])?;
        let mut gauge = Gauge::new(&[E4M3FN], &[E4M3FN], GaugeOptions { cover, runs: 4 })?;
        for code in 0..=255 {
            gauge.add(
                &[code],
                &[code],
                &[if code == 0x01 { 0x04 } else { code ^ u64::from(code == 0x7e) }],
            )?;
        }
        let parts: Vec<_> = gauge.parts().map(|(text, part)| (text, part.kappa(), part.compared())).collect();
        // 0x00..=0x37 and −0 lie in 0..1; 0x7e became NaN.
        assert_eq!(parts, [("0..1", Kappa::Steps(3), 57)]);
        assert_eq!((gauge.elsewhere().kappa(), gauge.elsewhere().compared()), (Kappa::Nan, 199));
        assert_eq!(gauge.profile().map(|p| p.worst()[2..].to_vec()), Some(vec![Kappa::Steps(3), Kappa::Nan]));
        Ok(())
    }
}
