//! [`Candidate`]: the values of a format at one bias, and how far a magnitude is from them, in
//! `f64` without error.

use smallfloat::{Datum, Format};

use crate::scale::rule::{magnitude, power};

/// The values of a format at one bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bias: i32,
    pub(super) max: f64,
    pub(super) min_normal: f64,
    /// The distance of subnormal values and its inverse. All values are multiples of it.
    step: f64,
    inverse: f64,
    /// The largest subnormal value; Tesla's formats have a hole between it and the smallest normal
    /// one.
    top: f64,
    /// Bits of an f64 below the format's precision.
    shift: u32,
}

/// A difference of errors, and how far the roundings in it may reach.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Excess {
    pub(super) sum: f64,
    pub(super) terms: f64,
}

impl Candidate {
    pub(super) fn new(format: &Format) -> Self {
        let value = |datum: Datum| datum.to_f64().unwrap_or(0.0);
        let (lowest, _) = format.exponent_range();
        let subnormals = format.max_subnormal().map_or(0.0, value);
        let step = if subnormals > 0.0 { value(format.min_positive()) } else { power(lowest) };
        Self {
            bias: format.bias(),
            max: magnitude(format),
            min_normal: value(format.min_normal()),
            step,
            inverse: 1.0 / step,
            top: subnormals,
            shift: 52 - format.trailing_bits(),
        }
    }

    /// The largest magnitude that a format without a largest exponent would round to `max`, or as
    /// well to the value above.
    pub(super) fn reach(&self) -> f64 {
        f64::from_bits(self.max.to_bits() + (1 << (self.shift - 1)))
    }

    /// A positive x to the nearest multiple of the smallest step. Adding and taking off 1.5 · 2^52
    /// rounds to an integer.
    #[inline]
    fn to_steps(self, x: f64) -> f64 {
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        ((x * self.inverse + MAGIC) - MAGIC) * self.step
    }

    /// |x − q| of a positive x.
    #[inline]
    pub(super) fn distance(&self, x: f64) -> f64 {
        let half = 1 << (self.shift - 1);
        let normal = f64::from_bits((x.to_bits() + half) >> self.shift << self.shift);
        let normal = if normal > self.max { self.max } else { normal };
        let subnormal = self.to_steps(x);
        let subnormal = if subnormal > self.top { self.top } else { subnormal };
        // In the hole, or between the largest subnormal and the smallest normal value, the nearer
        // one.
        let (below, above) = ((x - subnormal).abs(), self.min_normal - x);
        let below = if above < below { above } else { below };
        if x < self.min_normal { below } else { (x - normal).abs() }
    }

    /// Σ (x − q)².
    pub(super) fn error(&self, magnitudes: &[f64]) -> f64 {
        magnitudes.iter().map(|&x| self.distance(x)).map(|distance| distance * distance).sum()
    }

    /// Not more than Σ (x − q)² at this or any lower bias, whose values are all multiples of this
    /// one's smallest step. Magnitudes must be below 2^51 of these steps.
    pub(super) fn least_error_below(&self, magnitudes: &[f64]) -> f64 {
        let distances = magnitudes.iter().map(|&x| x - self.to_steps(x));
        distances.map(|distance| distance * distance).sum()
    }

    /// What the error is more than that of another bias: Σ (x − q)² − Σ (x − r)², and the sum of
    /// the terms' magnitudes; `None` if its own error is beyond a limit. Distances are exact, so
    /// that a term (a − b)(a + b) is off by a few parts in 2^53.
    pub(super) fn excess<'a>(
        &self,
        other: &Self,
        magnitudes: impl Iterator<Item = &'a f64>,
        limit: f64,
    ) -> Option<Excess> {
        let (mut excess, mut own) = (Excess::default(), 0.0);
        for &x in magnitudes {
            let (a, b) = (self.distance(x), other.distance(x));
            own += a * a;
            if own > limit {
                return None;
            }
            let term: f64 = (a - b) * (a + b);
            excess.sum += term;
            excess.terms += term.abs();
        }
        Some(excess)
    }
}
