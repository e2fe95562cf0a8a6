//! Where an exact result lies between the values of its format.

use std::cmp::Ordering;

use smallfloat::{Datum, Exact, Format, Preset, Rounding, project};

use crate::vectors::unit::UnitUnderTest;

/// Which neighbour an exact result is nearer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearer {
    /// The one below.
    Below,
    /// Neither.
    Tie,
    /// The one above.
    Above,
}

/// The neighbours of an exact result that its format does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// The code of the largest value below; none below the smallest.
    pub below: Option<u64>,
    /// The code of the smallest value above; none above the largest.
    pub above: Option<u64>,
    /// Which one is nearer, where both are finite.
    pub nearer: Option<Nearer>,
}

impl UnitUnderTest {
    /// Returns where the exact result of a numeric operation lies; `None` where the format has it,
    /// and for special results.
    pub fn place(&self, operands: &[u64]) -> Option<Neighbours> {
        if self.ports().is_some() {
            let (unit, operands) = self.chosen(operands).ok()?;
            return unit.place(operands);
        }
        Neighbours::of(self.exact(operands)?, self.operation().result()?)
    }
}

impl Neighbours {
    /// Returns whether it lies in the middle.
    pub(crate) fn is_tie(&self) -> bool {
        self.nearer == Some(Nearer::Tie)
    }

    /// Says between which values the exact result lies, each code by its name; `None` where there
    /// is no value on either side.
    pub fn in_words(&self, name: impl Fn(u64) -> String) -> Option<String> {
        Some(match (self.below, self.above, self.nearer) {
            (Some(below), Some(above), Some(nearer)) => {
                let nearer = match nearer {
                    Nearer::Below => "nearer to the first",
                    Nearer::Tie => "in the middle: a tie",
                    Nearer::Above => "nearer to the second",
                };
                format!("between {} and {}, {nearer}", name(below), name(above))
            }
            (Some(below), _, _) => format!("beyond {}", name(below)),
            (None, above, _) => format!("below {}", name(above?)),
        })
    }

    /// Where an exact number lies between the values of a format.
    pub(super) fn of(exact: Exact, to: &Format) -> Option<Self> {
        let Exact::Finite { negative, significand, exponent, sticky } = exact else { return None };
        let has = u64::try_from(significand)
            .ok()
            .and_then(|significand| to.encode(Datum::finite(negative, significand, exponent)));
        if !sticky && has.is_some() {
            return None;
        }
        let (below, above) = (to.next_below(exact), to.next_above(exact));
        let projection = Preset::OcpSaturate.projection(to).with_rounding(Rounding::NearestAway);
        let [away, toward] =
            [exact, below_tie(exact, false)].map(|exact| project(exact, to, &projection).value);
        let is_finite = |code: Option<u64>| code.is_some_and(|code| to.decode(code).is_finite());
        let nearer = (is_finite(below) && is_finite(above)).then(|| {
            let same = |code: Option<u64>| {
                let order = code.and_then(|code| to.decode(code).compare(&to.decode(away)));
                order == Some(Ordering::Equal)
            };
            match () {
                () if away != toward => Nearer::Tie,
                () if same(below) => Nearer::Below,
                () => Nearer::Above,
            }
        });
        Some(Self { below, above, nearer })
    }
}

/// The exact result moved by less than any spacing, so that a tie is none: toward zero, or toward
/// +∞.
pub(crate) fn below_tie(exact: Exact, up: bool) -> Exact {
    match exact {
        Exact::Finite { negative, significand, exponent, sticky: false } if significand != 0 => {
            let spare = significand.leading_zeros();
            let (significand, exponent) = (significand << spare, exponent - spare.cast_signed());
            let outward = up && !negative;
            let significand = if outward { significand } else { significand - 1 };
            Exact::Finite { negative, significand, exponent, sticky: true }
        }
        other => other,
    }
}
