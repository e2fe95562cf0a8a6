//! The bits of a binary32 → a code.

use smallfloat::{Rounding, Subnormals};

use crate::portable::KernelConstants;

/// Bits of binary32's significand, the hidden one with them.
const BITS: i32 = 24;
const HIDDEN: u32 = 1 << (BITS - 1);
const INFINITY: u32 = 0x7f80_0000;

/// Where a magnitude lies on the grid: `rest` of an `interval` above the index `lo`. The last place
/// of the binary32 is 2^−`places` of a step of the grid.
struct Located {
    lo: u32,
    rest: u32,
    interval: u32,
    places: u32,
    in_gap: bool,
}

impl KernelConstants {
    /// Returns the code of a binary32, given by its bits, times 2^`shift`.
    ///
    /// `word` is the element's random word; other roundings than the stochastic one ignore it.
    /// `shift` has a magnitude of at most 2^20.
    pub fn encode(&self, bits: u32, shift: i32, word: u32) -> u32 {
        let negative = bits >> 31 == 1;
        let sign = usize::from(negative);
        let magnitude = bits & !(1 << 31);
        if magnitude == 0 {
            return self.zero[sign];
        }
        if magnitude >= INFINITY {
            return if magnitude == INFINITY { self.infinity[sign] } else { self.nan[sign] };
        }
        let (leading, significand) = normalized(magnitude);
        let leading = leading + shift;
        let located = self.locate(leading, significand);
        // Below the smallest value of a format without zero `lo` is one less than the index 0.
        let mut index = located.lo.wrapping_add(u32::from(self.moves_away(&located, negative, word)));
        if self.subnormals == Subnormals::Flush && index < self.first_normal
            || !self.has_zero && leading < self.lowest
        {
            index = 0;
        }
        if !self.signed && negative && (index > 0 || !self.has_zero) {
            self.overflow[1]
        } else if index > self.largest {
            self.overflow[sign]
        } else if index == 0 && self.has_zero {
            self.zero[sign]
        } else {
            index | if self.signed { u32::from(negative) << (self.width - 1) } else { 0 }
        }
    }

    fn locate(&self, leading: i32, significand: u32) -> Located {
        let t = self.trailing;
        let distance = (self.lowest - leading).max(0).unsigned_abs();
        let is_below = distance > 0;
        let has_hole = self.subnormals == Subnormals::Tesla;
        // Tesla's subnormals have half the spacing.
        let places = (BITS - 1).unsigned_abs() - t + distance - u32::from(has_hole && is_below);
        let cut = places.min(BITS.unsigned_abs() + 1);
        let whole = significand >> cut;
        let binade = (leading.min(self.highest + 2) - self.lowest).max(0).unsigned_abs();
        let lo = ((binade << t) + whole + self.lowest_index).wrapping_sub(1 << t);
        let gap_lo = if has_hole { (1 << t) - 1 } else { 0 };
        let in_gap = self.has_gap && if has_hole { is_below && whole >= gap_lo } else { is_below || lo == 0 };
        if !in_gap {
            return Located { lo, rest: significand - (whole << cut), interval: 1 << cut, places, in_gap };
        }
        // So far below the gap's upper end that no more places matter, an interval is at least four
        // times as wide as the significand.
        let narrow = cut.min(BITS.unsigned_abs() + 1 - t);
        let rest = significand - (gap_lo << cut);
        Located { lo: gap_lo, rest, interval: self.steps << narrow, places, in_gap }
    }

    /// Returns whether the next index is the result.
    fn moves_away(&self, at: &Located, negative: bool, word: u32) -> bool {
        let is_odd = at.lo & 1;
        match self.rounding {
            Rounding::NearestEven => 2 * at.rest + is_odd > at.interval,
            Rounding::NearestAway => 2 * at.rest >= at.interval,
            Rounding::TowardPositive => at.rest != 0 && !negative,
            Rounding::TowardNegative => at.rest != 0 && negative,
            Rounding::ToOdd => at.rest != 0 && is_odd == 0,
            Rounding::StochasticA(_) if at.in_gap => self.is_chosen_in_gap(at, word),
            Rounding::StochasticA(_) => {
                // The fraction of a step, in units of 2^-32, is the upper part of `rest` shifted.
                let kept = at.places.min(32);
                let fraction = (at.rest << (32 - kept)) >> (at.places - kept).min(31);
                fraction >> (32 - self.random_bits) > !word >> (32 - self.random_bits)
            }
            _ => false,
        }
    }

    /// Returns whether the upper neighbour is chosen in a gap of several steps:
    /// ⌊2^N · rest / interval⌋ > c, multiplied out.
    fn is_chosen_in_gap(&self, at: &Located, word: u32) -> bool {
        let beyond = at.places - at.places.min(BITS.unsigned_abs() + 1 - self.trailing);
        let least = (!word >> (32 - self.random_bits)).wrapping_add(1);
        // least · 2^(32 − N + beyond) must be below 2^32, for no quotient reaches it.
        let room = self.random_bits.saturating_sub(beyond);
        if least == 0 || room == 0 || least >> (room - 1) >> 1 != 0 {
            return false;
        }
        let product = u64::from(least << (32 - room)) * u64::from(at.interval);
        u64::from(at.rest) << 32 >= product
    }
}

/// The exponent of a magnitude's leading bit, and its bits with that one at the top of 24.
fn normalized(magnitude: u32) -> (i32, u32) {
    let field = magnitude >> (BITS - 1);
    if field == 0 {
        let places = magnitude.leading_zeros() - HIDDEN.leading_zeros();
        return (-126 - places.cast_signed(), magnitude << places);
    }
    (field.cast_signed() - 127, magnitude & (HIDDEN - 1) | HIDDEN)
}
