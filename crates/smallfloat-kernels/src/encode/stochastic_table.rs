//! [`StochasticTable`]: the stochastic roundings by rounding classes, for every source and format,
//! without vectors.
//!
//! All values of a class lie between the same two neighbours lo and hi, so they become one of two
//! codes, and a value that lies `t` last places above the class's first one has ν = (d + t) / (W ·
//! 2^s), where the first has d places above lo and the neighbours are W · 2^s places apart: W is 1
//! but in the hole of Tesla's denormals. StochasticA moves away from zero if ⌊ν · 2^N⌋ + R ≥ 2^N,
//! StochasticB if ⌊ν · 2^(N+1)⌋ + 2R + 1 ≥ 2^(N+1); StochasticC rounds half of that floor, and what
//! is below it, to the nearest integer instead. The two codes come from the core, which rounds a
//! value of the class with the smallest and the largest R.

use smallfloat::{Datum, Format, Projection, RandomBits, Rounding, Subnormals};

use crate::element::classes::{BATCH, RoundingClasses};
use crate::element::{Code, Element};
use crate::encode::{CODE, entry};
use crate::event_counts::{Counter, EventCounts};

/// A class's two codes and how likely the second is.
#[derive(Clone, Copy, Debug)]
struct Chance {
    /// Entries of the neighbour toward zero and of the one away from it.
    entries: [u32; 2],
    /// Last places above lo.
    first: u64,
    /// ⌊ν · 2^N⌋ = (places << left >> right) · reciprocal / 2^63, with one more bit than N but for
    /// StochasticA.
    left: u8,
    right: u8,
    /// 2^63 / W, and W.
    reciprocal: u64,
    width: u16,
}

/// Two codes and a chance for every class.
#[derive(Clone, Debug)]
pub(crate) struct StochasticTable {
    rounding_classes: RoundingClasses,
    /// Whether ν · 2^N is rounded to the nearest integer.
    is_c: bool,
    /// N, and how many bits of ν decide.
    bits: u32,
    looked_at: u32,
    table: Vec<Chance>,
}

/// Tables of more classes would not stay in a cache.
const MAX_CLASSES: usize = 1 << 16;

impl StochasticTable {
    /// The classes for about `length` elements, or `None` for other modes, formats without a grid
    /// below their smallest normal value, and where there would be too many classes.
    pub(crate) fn new(from: &Format, to: &Format, projection: &Projection, length: usize) -> Option<Self> {
        let bits = projection.rounding.random_bits()?;
        let has_grid = to.subnormals() != Subnormals::None && to.precision() > 1;
        if !has_grid || from.precision() <= to.precision() || !(1..=u32::BITS).contains(&bits.count()) {
            return None;
        }
        let (lowest, highest) = to.exponent_range();
        let lowest = lowest - i32::from(to.subnormals() == Subnormals::Tesla);
        let smallest = lowest - to.trailing_bits().cast_signed();
        // Below 2^-N of the smallest step ν · 2^N is zero, below half of that all are.
        let looked_at = looked_at(projection.rounding, bits.count());
        let low = smallest - looked_at.cast_signed() - 1;
        let rounding_classes = RoundingClasses::covering(from, to.trailing_bits(), lowest, low, highest + 2);
        if 2 * rounding_classes.magnitudes() > MAX_CLASSES.min(length) {
            return None;
        }
        let chance = |class| chance(&rounding_classes, class, lowest, from, to, (projection, bits.count()));
        Some(Self {
            rounding_classes,
            is_c: matches!(projection.rounding, Rounding::StochasticC(_)),
            looked_at,
            bits: bits.count(),
            table: (0..2 * rounding_classes.magnitudes()).map(chance).collect(),
        })
    }

    /// Encodes with the upper N bits of a word for each element; `seen` gets the entry of each.
    pub(crate) fn encode<T: Element, C: Code>(
        &self,
        source: &[T],
        codes: &mut [C],
        mut words: impl FnMut() -> u32,
        mut seen: impl FnMut(u32),
    ) -> EventCounts {
        let (mut classes, mut trailing) = ([0; BATCH], [0; BATCH]);
        let (mut counter, mut denormal) = (Counter::default(), false);
        for (source, codes) in source.chunks(BATCH).zip(codes.chunks_mut(BATCH)) {
            denormal |=
                T::classify(source, &self.rounding_classes, &mut classes, Some(&mut trailing)).denormal;
            for ((class, trailing), code) in classes.iter().zip(&trailing).zip(codes) {
                let chance = &self.table[*class as usize];
                let random = u64::from(words() >> (u32::BITS - self.bits));
                let is_away = self.moves_away(chance, chance.first + trailing, random);
                let entry = chance.entries[usize::from(is_away)];
                counter.add(entry);
                seen(entry);
                *code = C::from_code(entry & CODE);
            }
            counter.empty_lanes();
        }
        counter.finish(source.len(), denormal)
    }
}

/// How many bits of ν decide.
fn looked_at(rounding: Rounding, count: u32) -> u32 {
    if matches!(rounding, Rounding::StochasticA(_)) { count } else { count + 1 }
}

impl StochasticTable {
    /// Returns whether a value of a class moves away, so many places above lo.
    #[inline]
    fn moves_away(&self, chance: &Chance, places: u64, random: u64) -> bool {
        let shifted = places << chance.left;
        let steps = shifted >> chance.right;
        #[expect(clippy::cast_possible_truncation, reason = "at most as many as steps")]
        let floor = ((u128::from(steps) * u128::from(chance.reciprocal)) >> 63) as u64;
        if !self.is_c {
            // With one more bit than N the word is 2R + 1.
            let extra = self.looked_at - self.bits;
            return (floor + (random << extra) + u64::from(extra)) >> self.looked_at != 0;
        }
        let is_exact = steps << chance.right == shifted && floor * u64::from(chance.width) == steps;
        let (whole, is_half) = (floor >> 1, floor & 1 == 1);
        let is_up = is_half && !(is_exact && whole & 1 == 0);
        (whole + u64::from(is_up) + random) >> self.bits != 0
    }
}

/// One class, by the core and exact integers.
fn chance(
    rounding_classes: &RoundingClasses,
    class: usize,
    lowest: i32,
    from: &Format,
    to: &Format,
    (projection, count): (&Projection, u32),
) -> Chance {
    let code = rounding_classes.representative(class);
    let bits = looked_at(projection.rounding, count);
    // StochasticA with R = 0 never moves away, and with the largest R whenever any of the three
    // does.
    let rounded = |code: u64, word: u64| {
        let random = RandomBits::new(bits, word).expect("at most 33 bits");
        entry(code, from, to, &projection.with_rounding(Rounding::StochasticA(random)))
    };
    let mut chance =
        Chance { entries: [rounded(code, 0); 2], first: 0, left: 0, right: 0, reciprocal: 0, width: 1 };
    // Zero, ∞ and NaN have no neighbours.
    let datum = from.decode(code);
    let Datum::Finite { significand: 1.., .. } = datum else { return chance };
    // What follows is in last places of the source at this exponent.
    let leading = datum.exponent_of_leading_bit();
    let place = leading.max(from.exponent_range().0) - from.trailing_bits().cast_signed();
    let first = match from.decode(code - rounding_classes.trailing(code)) {
        Datum::Finite { significand: significand @ 1.., exponent, .. } => {
            u128::from(significand) << (exponent - place).max(0).unsigned_abs()
        }
        _ => 0,
    };
    let trailing = to.trailing_bits();
    let step = leading.max(lowest) - trailing.cast_signed() - place;
    // Where the source has no places as fine as a step, a step is the unit: classes are single
    // values.
    let first = first << (-step).max(0).unsigned_abs();
    let step = step.max(0).unsigned_abs();
    let index = first.checked_shr(step).unwrap_or(0);
    let denormals = 1_u128 << trailing;
    let is_hole = to.subnormals() == Subnormals::Tesla && (denormals - 1..2 * denormals).contains(&index);
    let (below, width) =
        if is_hole && leading <= lowest { (denormals - 1, denormals + 1) } else { (index, 1) };
    let places = first - below.checked_shl(step).unwrap_or(0);
    chance.first = u64::try_from(places).expect("a wide float has at most 53 bits");
    let narrow = |shift: u32| u8::try_from(shift.min(u64::BITS - 1)).expect("at most 63");
    (chance.left, chance.right) = (narrow(bits.saturating_sub(step)), narrow(step.saturating_sub(bits)));
    chance.width = u16::try_from(width).expect("at most 2^15 places");
    chance.reciprocal = u64::try_from((1_u128 << 63).div_ceil(width)).expect("at most 2^63");
    // The value of the class with the largest ν moves away if any does.
    let is_exact = rounding_classes.trailing(code) == 0;
    let farthest = if is_exact {
        code
    } else {
        code - rounding_classes.trailing(code) + rounding_classes.trailing(u64::MAX)
    };
    chance.entries[1] = rounded(farthest, (1 << bits) - 1);
    chance
}
