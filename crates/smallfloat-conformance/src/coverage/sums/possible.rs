//! [`Possible`]: the bins of a sum for which there is no proof that they are unreachable.
//!
//! What a result may be follows from numbers that stand for all sums, as it does for functions; a
//! sum that a matrix unit rounds has a product that is not cut off, and so is not far from those.
//! All else contradicts itself: a sign of a NaN, an infinity of a format without, a term that is
//! lost though it is near.

use std::collections::HashSet;

use smallfloat::{Datum, Exact, Format, Remainder};
use smallfloat_kernels::{Fused, GroupSum};

use crate::coverage::functions::results::{Limits, representatives};
use crate::coverage::model::cross::{Cross, Decided};
use crate::coverage::sums::replay::{Accumulation, leading};
use crate::coverage::sums::{Slot, SumOfProducts, exponents, signed};
use crate::features::{ABSENT, Aspect, RANGES, find};

/// What is known of a sum's bins.
pub(super) struct Possible<'a> {
    of: &'a SumOfProducts,
    /// Of each cross that the result decides, its bins.
    by_result: Vec<HashSet<usize>>,
    /// Whether a sum other than zero may become zero.
    rounds_to_zero: bool,
}

/// The values of a bin.
struct Values<'a> {
    of: &'a SumOfProducts,
    all: Vec<(usize, Option<i32>)>,
}

impl Values<'_> {
    fn of(&self, slot: Slot) -> Option<i32> {
        let place = self.of.features.len() + slot as usize;
        self.all.iter().find(|(at, _)| *at == place).and_then(|(_, value)| *value)
    }

    /// Whether the result is negative, where that is among them.
    fn is_negative(&self) -> Option<bool> {
        let place = find(&self.of.features, Aspect::ResultSign)?;
        let value = self.all.iter().find(|(at, _)| *at == place)?.1;
        value.map(|sign| sign == 1)
    }
}

impl<'a> Possible<'a> {
    pub(super) fn new(of: &'a SumOfProducts) -> Self {
        let mut by_result = vec![HashSet::new(); of.crosses.len()];
        let range = find(&of.features, Aspect::Range).expect("results have a range");
        let (mut values, mut rounds_to_zero) = (Vec::new(), false);
        for exact in sums(of) {
            let (result, flags) = of.way.round(exact);
            values.clear();
            of.result.values(Some(exact), (of.result.encode(result), flags), &mut values);
            rounds_to_zero |= usize::try_from(values[range]).is_ok_and(|at| RANGES[at] == "rounds to zero");
            values.resize(of.features.len() + Slot::COUNT + 1, ABSENT);
            for (cross, bins) in of.crosses.iter().zip(&mut by_result) {
                if cross.decided == Decided::Result {
                    bins.extend(cross.bin(&values));
                }
            }
        }
        Self { of, by_result, rounds_to_zero }
    }

    pub(super) fn allows(&self, at: usize, bin: usize) -> bool {
        let cross: &Cross = &self.of.crosses[at];
        let axes = cross.axes.iter().zip(cross.places(bin));
        let all = axes.filter_map(|(axis, place)| axis.feature_at(place)).collect();
        let values = Values { of: self.of, all };
        match cross.decided {
            Decided::Result => self.by_result[at].contains(&bin),
            // All codes of c that features tell apart were tried.
            Decided::Operands if cross.name == "operands" || cross.name == "c fields" => false,
            Decided::Operands => !self.contradicts_operands(&values),
            Decided::Both => !self.contradicts_sum(&values),
        }
    }

    /// Returns whether one of the formats of x and y has something.
    fn has(&self, test: fn(&Format) -> bool) -> bool {
        self.of.dot.formats().iter().any(test)
    }

    fn contradicts_operands(&self, values: &Values<'_>) -> bool {
        let length = self.of.dot.length();
        let lacks = |test: fn(&Format) -> bool| !self.has(test);
        let (is_unsigned, lacks_infinity) = (lacks(Format::is_signed), lacks(Format::has_infinity));
        let lacks_nan = lacks(|format| format.encode(Datum::Nan { negative: false }).is_some());
        let [x, y] = self.of.dot.formats();
        let is_invalid = |x: &Format, y: &Format| x.has_infinity() && y.has_zero();
        let lacks_invalid = !is_invalid(x, y) && !is_invalid(y, x);
        let lacks_special = match values.of(Slot::Special) {
            Some(1) => lacks_nan,
            Some(2) => lacks_invalid,
            Some(3) => lacks_infinity,
            Some(4) => lacks_infinity || is_unsigned,
            Some(5) => lacks_infinity || is_unsigned || length < 2,
            Some(6) => self.of.dot.scales().is_none(),
            _ => false,
        };
        let is_negative = values.of(Slot::Sign) == Some(1);
        let lacks_kind = match values.of(Slot::Kind) {
            Some(1) => lacks(|format| format.max_subnormal().is_some()),
            Some(3) => lacks_infinity,
            // A NaN has no sign.
            Some(4) => is_negative || lacks_nan && lacks_invalid,
            _ => false,
        };
        let lacks_terms = match values.of(Slot::Terms) {
            Some(2) => is_unsigned,
            Some(3) => length < 3,
            Some(4 | 5) => length < 3 || is_unsigned,
            Some(6) => length < 2,
            Some(7 | 8) => length < 2 || is_unsigned,
            _ => false,
        };
        lacks_special || lacks_kind || lacks_terms || is_negative && is_unsigned
    }

    fn contradicts_sum(&self, values: &Values<'_>) -> bool {
        self.contradicts_alignment(values)
            || self.contradicts_zero(values)
            || self.contradicts_groups(values)
            || values
                .of(Slot::Position)
                .is_some_and(|position| (position == 0) != (values.of(Slot::CSign) == Some(0)))
            || self.contradicts_scales(values)
    }

    fn contradicts_alignment(&self, values: &Values<'_>) -> bool {
        let (Some(apart), Some(largest), Some(lost)) =
            (values.of(Slot::Alignment), values.of(Slot::Largest), values.of(Slot::Lost))
        else {
            return false;
        };
        let (nothing, term) = (lost == 0, lost == 2);
        let [x, y] = self.of.dot.formats();
        // The accumulator alone is the largest only of terms that differ.
        if apart == 0 && largest == 0 {
            return true;
        }
        if let Some(fraction_bits) = self.of.way.fraction_bits().filter(|_| !self.of.way.is_cut_down()) {
            if apart > fraction_bits + self.of.range.above {
                return !term;
            }
            // The lowest bit of a product, and how far a subnormal one's leading bit may lie below
            // the exponent that it is aligned by.
            let bits = signed(x.precision() + y.precision()) - 2;
            let is_plain = self.of.range.above == 1 && !self.meets_zeros();
            return is_plain && term && apart <= fraction_bits - bits;
        }
        if self.of.way.fraction_bits().is_some() {
            return false;
        }
        // Of two terms, each sum rounded to nearest.
        let precision = signed(self.of.way.target().0.precision());
        (apart == 0) != (largest == 2)
            || term && apart < precision
            || nothing && apart > precision
            || !term && apart >= precision + 2
    }

    /// Returns whether the exponent of a zero product, −126 and that of the other operand, may be
    /// above those of others.
    fn meets_zeros(&self) -> bool {
        let [x, y] = self.of.dot.formats().map(|format| format.min_normal().exponent_of_leading_bit());
        let highest = self.of.dot.formats().iter().map(|format| exponents(format).1).max();
        let (lowest, _) = self.of.scale_exponents();
        x + y + lowest <= highest.unwrap_or(0) - 126
    }

    /// Most sums that are zero are positive.
    fn contradicts_zero(&self, values: &Values<'_>) -> bool {
        let is_complete = values.of(Slot::Depth) == Some(self.of.range.complete);
        let cause = values.of(Slot::Zeros).or(is_complete.then_some(3));
        let (Some(cause), Some(is_negative)) = (cause, values.is_negative()) else { return false };
        let keeps_sign = match self.of.way {
            Accumulation::Exact => true,
            Accumulation::Fused(fused, _) => fused.sum == GroupSum::Sequential,
            _ => false,
        };
        let is_aligned = self.of.way.fraction_bits().is_some() && !self.of.way.is_cut_down();
        match cause {
            1 => is_negative != keeps_sign,
            4 => is_negative || matches!(self.of.way, Accumulation::Exact),
            5 => !self.rounds_to_zero || is_negative && is_aligned,
            _ => is_negative,
        }
    }

    fn contradicts_groups(&self, values: &Values<'_>) -> bool {
        let Some(k) = self.of.dot.group() else { return false };
        let groups = self.of.dot.length().div_ceil(k);
        groups < 3 && matches!(values.of(Slot::Groups), Some(3 | 4))
    }

    fn contradicts_scales(&self, values: &Values<'_>) -> bool {
        let (lowest, highest) = self.of.scale_exponents();
        values.of(Slot::ScalesApart).is_some_and(|apart| apart > highest - lowest)
    }
}

/// Numbers that stand for all sums that are rounded.
fn sums(of: &SumOfProducts) -> Vec<Exact> {
    let (to, _) = of.way.target();
    let limits = match of.way {
        Accumulation::Exact | Accumulation::Chain(..) | Accumulation::Partial => {
            Limits::of_products(of.dot.formats(), of.dot.length())
        }
        Accumulation::Fused(..) | Accumulation::Scaled { .. } => Limits::none(),
    };
    let near = of.rounded_exponents();
    let is_rounded = |exact: Exact| to.grid_position(exact).is_none_or(|at| at.remainder != Remainder::Exact);
    let mut all = representatives(&limits, &to);
    all.retain(|exact| {
        let is_near = |exponent: i32| near.is_none_or(|(low, high)| (low..=high).contains(&exponent));
        !is_rounded(*exact) || leading(*exact).is_some_and(is_near)
    });
    all
}

impl SumOfProducts {
    /// The exponents of the smallest and the largest product of two scales.
    fn scale_exponents(&self) -> (i32, i32) {
        let Some(scales) = self.dot.scales() else { return (0, 0) };
        let (low, high) = exponents(&scales.format);
        (2 * low, 2 * high)
    }

    /// The exponents of sums that a matrix unit may round, if those of c alone are exact: there is
    /// a product of which something is left.
    fn rounded_exponents(&self) -> Option<(i32, i32)> {
        let fraction_bits = self.way.fraction_bits().filter(|_| !self.way.is_cut_down())?;
        if let Accumulation::Fused(Fused { promote: Some(_), .. }, _) = self.way {
            return None;
        }
        let (to, register) = (self.way.target().0, self.dot.register());
        if to != register && fraction_bits >= signed(to.precision()) {
            return None;
        }
        let [x, y] = self.dot.formats();
        let (low, high) = (x.min_normal(), y.min_normal());
        let lowest = low.exponent_of_leading_bit() + high.exponent_of_leading_bit();
        let highest = exponents(x).1 + exponents(y).1;
        let scales = self.scale_exponents();
        let low = lowest + scales.0 - fraction_bits - self.range.above;
        Some((low, highest + scales.1 + fraction_bits + self.range.growth + 2 * self.range.above + 2))
    }
}
