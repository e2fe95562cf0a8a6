//! Distributions, and the expected squared error of rounding to a grid of values, by quadrature.

use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};
use std::fmt;

/// Nodes and weights of the Gauss–Legendre rule of ten points on [−1, 1], positive half (NIST
/// Digital Library of Mathematical Functions, §3.5).
const RULE: [(f64, f64); 5] = [
    (0.148_874_338_981_631_22, 0.295_524_224_714_752_87),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// A symmetric distribution that is clipped: what lies beyond the limit, lies on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Distribution {
    /// Uniform on [−1, 1].
    Uniform,
    /// Standard normal, clipped at ±10.
    Normal,
    /// Student's t with 8 degrees of freedom, clipped at ±100.
    StudentT,
}

impl Distribution {
    #[cfg(test)]
    const ALL: [Self; 3] = [Self::Uniform, Self::Normal, Self::StudentT];

    pub(super) const fn limit(self) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Normal => 10.0,
            Self::StudentT => 100.0,
        }
    }

    /// The density for 0 ≤ x ≤ limit.
    fn density(self, x: f64) -> f64 {
        match self {
            Self::Uniform => 0.5,
            Self::Normal => libm::exp(-0.5 * x * x) / TAU.sqrt(),
            Self::StudentT => {
                let scale = libm::tgamma(4.5) / ((8.0 * PI).sqrt() * libm::tgamma(4.0));
                scale * libm::pow(1.0 + x * x / 8.0, -4.5)
            }
        }
    }

    /// The probability of what lies above the limit.
    fn beyond(self) -> f64 {
        match self {
            Self::Uniform => 0.0,
            Self::Normal => 0.5 * libm::erfc(self.limit() * FRAC_1_SQRT_2),
            // x = 1/u turns the tail into a smooth function on [0, 1/limit].
            Self::StudentT => {
                let limit = self.limit();
                integral(0.0, 1.0 / limit, &|u| if u > 0.0 { self.density(1.0 / u) / (u * u) } else { 0.0 })
            }
        }
    }

    /// E (x − q(x))², where q rounds to the nearest of the values, which ascend from 0 on the
    /// positive side, and mirror those of the negative side on the other.
    pub(super) fn squared_error(self, positive: &[f64], negative: &[f64]) -> f64 {
        self.one_side(positive)
            + if positive == negative { self.one_side(positive) } else { self.one_side(negative) }
    }

    fn one_side(self, values: &[f64]) -> f64 {
        let limit = self.limit();
        let midpoint = |i: usize| values.get(i + 1).map_or(limit, |next| (values[i] + next) / 2.0);
        let mut from = 0.0;
        let mut sum = 0.0;
        let mut last = values[0];
        for (i, &value) in values.iter().enumerate() {
            if from >= limit {
                break;
            }
            let to = midpoint(i).min(limit);
            let mut at: f64 = from;
            while at < to {
                // Densities change over about one, and the tail of t over its own distance.
                let end = (at + 0.5 * at.max(1.0)).min(to);
                sum += integral(at, end, &|x| (x - value) * (x - value) * self.density(x));
                at = end;
            }
            (from, last) = (to, value);
        }
        sum + self.beyond() * (limit - last) * (limit - last)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::StudentT => "Student's t",
        })
    }
}

/// The integral of a smooth function, by ten points.
fn integral(from: f64, to: f64, function: &impl Fn(f64) -> f64) -> f64 {
    let (centre, half) = (f64::midpoint(from, to), (to - from) / 2.0);
    let pair = |&(node, weight): &(f64, f64)| {
        weight * (function(centre + half * node) + function(centre - half * node))
    };
    half * RULE.iter().map(pair).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ of densities is 1/2 on each side, and that of polynomials of degree 19 is exact.
    #[test]
    fn rules_and_densities() {
        let power = integral(0.0, 1.0, &|x| 20.0 * libm::pow(x, 19.0));
        assert!((power - 1.0).abs() < 1e-13, "{power}");
        for distribution in Distribution::ALL {
            let (mut at, mut sum) = (0.0, distribution.beyond());
            while at < distribution.limit() {
                let end = (at + 0.5 * f64::max(at, 1.0)).min(distribution.limit());
                sum += integral(at, end, &|x| distribution.density(x));
                at = end;
            }
            assert!((sum - 0.5).abs() < 1e-11, "{distribution}: {sum}");
        }
    }

    /// Rounding to {0} leaves the variance: 1/3, 1 and ν/(ν − 2) = 4/3, whose tail beyond 100 is
    /// clipped. Uniform numbers to multiples of h have h²/12.
    #[test]
    fn errors_that_are_known() {
        let variance = Distribution::ALL.map(|distribution| distribution.squared_error(&[0.0], &[0.0]));
        for (found, expected) in variance.into_iter().zip([1.0 / 3.0, 1.0, 4.0 / 3.0]) {
            assert!((found - expected).abs() < 1e-6, "{found}");
        }
        let grid: Vec<f64> = (0..=16).map(|i| f64::from(i) / 16.0).collect();
        let found = Distribution::Uniform.squared_error(&grid, &grid);
        assert!((found - 1.0 / (12.0 * 256.0)).abs() < 1e-16, "{found}");
    }
}
