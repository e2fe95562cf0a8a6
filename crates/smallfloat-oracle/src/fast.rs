//! Rounding for exhaustive tests: an exact result is located once on a format's grid, and every
//! rounding and saturation mode follows from that one place.
//!
//! Numbers are integers in steps of the format's smallest spacing where they fit 128 bits, and big
//! integers where they do not. This is a second, separate writing of what [`Table::round`] does for
//! the deterministic modes.

use std::cmp::Ordering;

use crate::{
    Dyadic, Exact, Flags, NanCode, NegativeRule, NegativeZero, NoNanRule, OracleFormat, Policy, Real,
    Rounding, Saturation, Specials, Subnormals, Table, Value, ZeroRule,
};

/// A format's non-negative numbers in order, as exact numbers and as integers.
#[derive(Clone, Debug)]
pub struct Grid {
    format: OracleFormat,
    /// Numbers and codes from below; one more without a code continues the grid above the largest.
    points: Vec<Dyadic>,
    codes: Vec<u64>,
    /// The points in steps of 2^unit, below 2^40; empty where they do not fit.
    steps: Vec<u64>,
    unit: i64,
    /// The index of the smallest normal number.
    first_normal: usize,
    min_normal: Dyadic,
}

/// Where in the interval between two neighbours a magnitude lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// On the lower neighbour.
    Exact,
    /// Above it, below the middle.
    Below,
    /// In the middle.
    Half,
    /// Above the middle.
    Above,
}

/// A located result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Not a number.
    Nan {
        /// The sign.
        negative: bool,
    },
    /// An infinity.
    Inf {
        /// The sign.
        negative: bool,
    },
    /// A zero, whose sign the rounding mode decides where it is `None`.
    Zero {
        /// The sign.
        negative: Option<bool>,
    },
    /// A number: at or above point `lo` (`None`: below them all), before the next.
    Number {
        /// The sign.
        negative: bool,
        /// The index of the lower neighbour; that of the continued grid's point where nothing is
        /// above.
        lo: Option<usize>,
        /// Where between the neighbours.
        part: Part,
        /// Below the smallest normal number.
        tiny: bool,
    },
}

impl Spot {
    /// Returns the spot with this sign.
    #[must_use]
    pub fn with_sign(self, negative: bool) -> Self {
        match self {
            Self::Nan { .. } => Self::Nan { negative },
            Self::Inf { .. } => Self::Inf { negative },
            Self::Zero { .. } => Self::Zero { negative: Some(negative) },
            Self::Number { lo, part, tiny, .. } => Self::Number { negative, lo, part, tiny },
        }
    }
}

impl Grid {
    /// The grid of a format of at most 16 bits.
    ///
    /// # Panics
    /// For a wider format.
    pub fn new(format: &OracleFormat) -> Self {
        assert!(format.k <= 16, "grids are lists");
        let table = Table::new(format);
        let (mut points, codes): (Vec<_>, Vec<_>) = (0..table.len()).map(|i| table.point(i)).unzip();
        points.push(table.next().clone());
        let unit = points.iter().filter(|p| !p.is_zero()).map(Dyadic::exponent).min().expect("numbers");
        let steps = points
            .iter()
            .map(|p| u64::try_from(p.mantissa_at(unit)).ok().filter(|&s| s >> 40 == 0))
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default();
        let normal = format.min_normal_code();
        let first_normal = codes.iter().position(|&c| c == normal).expect("every format has a normal number");
        let min_normal = table.min_normal().clone();
        Self { format: *format, points, codes, steps, unit, first_normal, min_normal }
    }

    /// The format.
    pub fn format(&self) -> &OracleFormat {
        &self.format
    }

    /// Whether numbers are small integers in steps of `2^unit`, so that [`Self::locate_steps`] may
    /// be used.
    pub fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The exponent of the smallest step.
    pub fn unit(&self) -> i64 {
        self.unit
    }

    /// A number in steps.
    ///
    /// # Panics
    /// If it is not a multiple of the step below 2^127.
    pub fn in_steps(&self, x: &Dyadic) -> i128 {
        i128::try_from(x.mantissa_at(self.unit)).expect("a number of the format")
    }

    /// Locates numerator / denominator steps, not zero.
    pub fn locate_steps(&self, numerator: i128, denominator: u128) -> Spot {
        let magnitude = numerator.unsigned_abs();
        // n·d ≤ m where n ≤ ⌊m/d⌋, for integers n.
        let whole = match denominator {
            power if power.is_power_of_two() => magnitude >> power.trailing_zeros(),
            _ => magnitude / denominator,
        };
        let whole = u64::try_from(whole).unwrap_or(u64::MAX);
        let at_or_below = self.steps.partition_point(|&step| step <= whole);
        let times = |steps: u64| u128::from(steps) * denominator;
        self.spot(
            numerator < 0,
            at_or_below,
            |i| magnitude == times(self.steps[i]),
            |i| (2 * magnitude).cmp(&times(self.steps[i] + self.steps[i + 1])),
            whole < self.steps[self.first_normal],
        )
    }

    /// Locates any exact result.
    pub fn locate_exact(&self, x: &Exact) -> Spot {
        match x {
            Exact::Nan { negative } => Spot::Nan { negative: *negative },
            Exact::Inf { negative } => Spot::Inf { negative: *negative },
            Exact::Finite { negative, .. } if x.is_zero() => Spot::Zero { negative: Some(*negative) },
            Exact::Finite { negative, magnitude } => self.locate_real(*negative, magnitude),
        }
    }

    fn locate_real(&self, negative: bool, x: &Real) -> Spot {
        let at_or_below = self.points.partition_point(|point| x.compare_dyadic(point) != Ordering::Less);
        self.spot(
            negative,
            at_or_below,
            |i| x.compare_dyadic(&self.points[i]) == Ordering::Equal,
            |i| x.compare_dyadic(&(&self.points[i] + &self.points[i + 1]).scale(-1)),
            x.compare_dyadic(&self.min_normal) == Ordering::Less,
        )
    }

    /// The spot of a number with so many points at or below it.
    fn spot(
        &self,
        negative: bool,
        at_or_below: usize,
        is_point: impl Fn(usize) -> bool,
        middle: impl Fn(usize) -> Ordering,
        tiny: bool,
    ) -> Spot {
        let lo = at_or_below.checked_sub(1);
        let part = match lo {
            None => Part::Below,
            Some(i) if is_point(i) => Part::Exact,
            // Past the continued grid's point: nothing depends on how far.
            Some(i) if i == self.codes.len() => Part::Above,
            Some(i) => match middle(i) {
                Ordering::Less => Part::Below,
                Ordering::Equal => Part::Half,
                Ordering::Greater => Part::Above,
            },
        };
        Spot::Number { negative, lo, part, tiny }
    }

    /// The code and flags of a located result under a policy with a deterministic rounding mode.
    ///
    /// # Panics
    /// For stochastic modes and policies that drop the sign of negative numbers.
    pub fn project(&self, spot: Spot, policy: &Policy) -> (u64, Flags) {
        match spot {
            Spot::Nan { negative } => (self.nan(negative, policy), Flags::INVALID),
            Spot::Inf { negative: true } if !self.format.signed => {
                (self.below_zero(false, policy), Flags::INVALID)
            }
            Spot::Inf { negative } => match (self.format.inf_code(negative), policy.saturation) {
                (Some(code), saturation) if saturation != Saturation::SatFinite => (code, Flags::NONE),
                (None, Saturation::SatNone) if self.format.nan_code().is_some() => {
                    (self.nan(negative, policy), Flags::OVERFLOW | Flags::INEXACT)
                }
                _ => (self.largest(negative), Flags::OVERFLOW | Flags::INEXACT),
            },
            Spot::Zero { negative } => {
                let negative = negative.unwrap_or(policy.rounding == Rounding::TowardNegative);
                match (self.format.has_zero(), policy.zero) {
                    (true, _) => (self.zero(negative, policy), Flags::NONE),
                    (false, ZeroRule::Nan) => (self.nan(false, policy), Flags::INVALID),
                    (false, ZeroRule::Min) => (self.codes[0], Flags::INEXACT),
                }
            }
            Spot::Number { negative, lo, part, tiny } => self.number(negative, lo, part, tiny, policy),
        }
    }

    fn number(
        &self,
        negative: bool,
        lo: Option<usize>,
        part: Part,
        tiny: bool,
        policy: &Policy,
    ) -> (u64, Flags) {
        let index = lo.map_or(0, |lo| lo + usize::from(self.moves_away(negative, lo, part, policy.rounding)));
        let mut inexact = part != Part::Exact;
        let mut code = self.codes.get(index).copied();
        let flushes = self.format.subnormals == Subnormals::Flush;
        if flushes && code.is_some_and(|found| self.format.is_subnormal(found)) {
            (code, inexact) = (Some(0), true);
        }
        let is_zero = code == Some(0) && self.format.has_zero();
        if negative && !self.format.signed && !is_zero {
            let inward = matches!(policy.rounding, Rounding::TowardZero | Rounding::TowardPositive);
            return (self.below_zero(inward, policy), Flags::INVALID);
        }
        let Some(code) = code else {
            return (self.overflow(negative, policy), Flags::OVERFLOW | Flags::INEXACT);
        };
        let flags = match (inexact, tiny) {
            (false, _) => Flags::NONE,
            (true, false) => Flags::INEXACT,
            (true, true) => Flags::INEXACT | Flags::UNDERFLOW,
        };
        let sign = if negative { self.format.sign_bit() } else { 0 };
        (if is_zero { self.zero(negative, policy) } else { code | sign }, flags)
    }

    fn moves_away(&self, negative: bool, lo: usize, part: Part, rounding: Rounding) -> bool {
        // The continued grid's point would have the code after the largest one.
        let code = self.codes.get(lo).copied().unwrap_or_else(|| self.codes[lo - 1] + 1);
        let (even, inexact) = (code % 2 == 0, part != Part::Exact);
        match rounding {
            Rounding::NearestEven => part == Part::Above || (part == Part::Half && !even),
            Rounding::NearestAway => part >= Part::Half,
            Rounding::TowardPositive => inexact && !negative,
            Rounding::TowardNegative => inexact && negative,
            Rounding::TowardZero => false,
            Rounding::ToOdd => inexact && even,
            _ => panic!("a deterministic mode"),
        }
    }

    fn largest(&self, negative: bool) -> u64 {
        let sign = if negative { self.format.sign_bit() } else { 0 };
        sign | self.codes[self.codes.len() - 1]
    }

    fn overflow(&self, negative: bool, policy: &Policy) -> u64 {
        let inward = match policy.rounding {
            Rounding::TowardZero => true,
            Rounding::TowardNegative => !negative,
            Rounding::TowardPositive => negative,
            _ => false,
        };
        match (policy.saturation, inward) {
            (Saturation::SatNone, false) => match self.format.inf_code(negative) {
                Some(infinity) => infinity,
                None if self.format.nan_code().is_some() => self.nan(negative, policy),
                None => self.largest(negative),
            },
            (Saturation::SatNoneV40, _) => panic!("the report 4.0 is the slow oracle's"),
            _ => self.largest(negative),
        }
    }

    // A negative number or −∞ where there is no sign.
    fn below_zero(&self, inward: bool, policy: &Policy) -> u64 {
        let is_nan = match policy.negative {
            NegativeRule::Nan => true,
            NegativeRule::Zero => false,
            NegativeRule::BySaturation => policy.saturation == Saturation::SatNone && !inward,
            NegativeRule::Magnitude => panic!("dropped signs are the slow oracle's"),
        };
        if is_nan && self.format.nan_code().is_some() { self.nan(false, policy) } else { self.codes[0] }
    }

    fn zero(&self, negative: bool, policy: &Policy) -> u64 {
        let kept = self.format.has_negative_zero() && policy.negative_zero == NegativeZero::Keep;
        if negative && kept { self.format.sign_bit() } else { 0 }
    }

    fn nan(&self, negative: bool, policy: &Policy) -> u64 {
        let sign = if negative { self.format.sign_bit() } else { 0 };
        match (self.format.nan_code(), policy.nan) {
            (Some(code), NanCode::SignedQuiet) if self.format.has_signed_nan() => code | sign,
            (Some(_), NanCode::AllOnes) if self.format.specials == Specials::Ieee => {
                self.format.magnitude_mask()
            }
            (Some(code), _) => code,
            (None, _) => match policy.no_nan {
                NoNanRule::Max => self.largest(false),
                NoNanRule::SignMax => self.largest(negative),
                NoNanRule::Zero => 0,
                NoNanRule::MlDtypes => self.zero(!negative, policy),
            },
        }
    }
}

/// The codes and flags of every place of a grid under some policies.
#[derive(Clone, Debug)]
pub struct Projected {
    policies: usize,
    results: Vec<(u64, Flags)>,
}

impl Projected {
    /// Projects every place once.
    ///
    /// # Panics
    /// For policies that [`Grid::project`] does not know.
    pub fn new(grid: &Grid, policies: &[Policy]) -> Self {
        let signs = [false, true];
        let mut spots: Vec<Spot> = Vec::new();
        spots.extend(signs.map(|negative| Spot::Nan { negative }));
        spots.extend(signs.map(|negative| Spot::Inf { negative }));
        spots.extend([Some(false), Some(true), None].map(|negative| Spot::Zero { negative }));
        for lo in std::iter::once(None).chain((0..grid.points.len()).map(Some)) {
            for part in [Part::Exact, Part::Below, Part::Half, Part::Above] {
                for tiny in signs {
                    spots.extend(signs.map(|negative| Spot::Number { negative, lo, part, tiny }));
                }
            }
        }
        assert!((0..).zip(&spots).all(|(i, &spot)| Self::index(spot) == i));
        let of = |&spot: &Spot| policies.iter().map(move |policy| grid.project(spot, policy));
        Self { policies: policies.len(), results: spots.iter().flat_map(of).collect() }
    }

    fn index(spot: Spot) -> usize {
        match spot {
            Spot::Nan { negative } => usize::from(negative),
            Spot::Inf { negative } => 2 + usize::from(negative),
            Spot::Zero { negative } => 4 + negative.map_or(2, usize::from),
            Spot::Number { negative, lo, part, tiny } => {
                let place = 4 * lo.map_or(0, |lo| lo + 1) + part as usize;
                7 + 4 * place + 2 * usize::from(tiny) + usize::from(negative)
            }
        }
    }

    /// The codes and flags of a place, in the order of the policies.
    pub fn of(&self, spot: Spot) -> &[(u64, Flags)] {
        let first = Self::index(spot) * self.policies;
        &self.results[first..][..self.policies]
    }
}

/// A code with its number in the form that the integer operations take.
#[derive(Clone, Debug)]
pub struct Item {
    /// The code.
    pub code: u64,
    /// The number for the slow operations.
    pub exact: Exact,
    /// The number in steps; `None` for zeros, infinities, NaN, and where steps do not fit.
    pub steps: Option<i128>,
    /// D as an operand.
    pub subnormal: bool,
    /// The place of the number itself.
    pub spot: Spot,
}

impl Grid {
    /// All codes of the format.
    pub fn items(&self) -> Vec<Item> {
        (0..self.format.code_count())
            .map(|code| {
                let value = self.format.value(code);
                let steps = match &value {
                    Value::Finite(x, _) if self.has_steps() && !x.is_zero() => Some(self.in_steps(x)),
                    _ => None,
                };
                let exact = Exact::from(value);
                let spot = self.locate_exact(&exact);
                Item { code, exact, steps, subnormal: self.format.is_subnormal(code), spot }
            })
            .collect()
    }

    /// The place of a sum, in steps.
    pub fn sum(&self, x: i128) -> Spot {
        if x == 0 { Spot::Zero { negative: None } } else { self.locate_steps(x, 1) }
    }

    /// The place of a number in steps of 2^(2·unit), as products have them.
    ///
    /// # Panics
    /// If the unit is above 2^0.
    pub fn product(&self, x: i128) -> Spot {
        assert!(self.unit <= 0, "fine steps");
        if x == 0 { Spot::Zero { negative: None } } else { self.locate_steps(x, self.one()) }
    }

    /// 1 in steps: what a term must be multiplied by to stand beside a product.
    ///
    /// # Panics
    /// If the unit is above 2^0.
    pub fn one(&self) -> u128 {
        1 << u32::try_from(-self.unit).expect("fine steps")
    }

    /// The place of x / y for numbers in steps, none of them zero.
    ///
    /// # Panics
    /// If the unit is above 2^0.
    pub fn quotient(&self, x: i128, y: i128) -> Spot {
        let numerator = (x * y.signum()) * i128::try_from(self.one()).expect("small");
        self.locate_steps(numerator, y.unsigned_abs())
    }

    /// The place of x − n·y for numbers in steps, n nearest to x / y (ties to even) or truncated.
    pub fn remainder(&self, x: i128, y: i128, nearest: bool) -> Spot {
        let (n, rest) = (x / y, x % y);
        let twice = 2 * rest.abs();
        let next = nearest && (twice > y.abs() || (twice == y.abs() && n % 2 != 0));
        // One divisor further in x's direction.
        let rest = if next { rest - y.abs() * x.signum() } else { rest };
        if rest == 0 { Spot::Zero { negative: Some(x < 0) } } else { self.locate_steps(rest, 1) }
    }
}
