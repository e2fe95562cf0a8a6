//! [`EventCounts`]: what happened while a slice was encoded.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use smallfloat::Flags;

/// Flags and counts of one or more encoded slices. They add up, in any order.
///
/// ```
/// use smallfloat::formats::E4M3FN;
/// use smallfloat_kernels::{EventCounts, encode};
///
/// let counts = |x: &[f32]| encode(x, &E4M3FN, &E4M3FN.default_projection()).map(|(_, counts)| counts);
/// let both: EventCounts = [counts(&[1.0, 1e9])?, counts(&[0.0, 1e-9, -1e-9])?].into_iter().sum();
/// assert_eq!(both.to_string(), "5 elements: 1 overflowed, 2 underflowed, 3 zero; flags OUX");
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct EventCounts {
    /// All flags that were raised.
    pub flags: Flags,
    /// How many elements were encoded.
    pub elements: u64,
    /// How many raised the overflow flag: values beyond the range, never NaNs; of infinities the
    /// flag policy decides.
    pub overflowed: u64,
    /// How many non-zero elements became zero.
    pub underflowed: u64,
    /// How many results are zero.
    pub zeros: u64,
    /// How many elements were NaN.
    pub nans: u64,
    /// How many elements were infinite.
    pub infinities: u64,
}

impl EventCounts {
    /// Returns the counts of so many elements, of which none raised a flag or was counted yet.
    pub fn new(elements: u64) -> Self {
        Self { elements, ..Self::default() }
    }

    /// Returns the counts of both together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            flags: self.flags | other.flags,
            elements: self.elements + other.elements,
            overflowed: self.overflowed + other.overflowed,
            underflowed: self.underflowed + other.underflowed,
            zeros: self.zeros + other.zeros,
            nans: self.nans + other.nans,
            infinities: self.infinities + other.infinities,
        }
    }
}

impl Add for EventCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.merge(other)
    }
}

impl AddAssign for EventCounts {
    fn add_assign(&mut self, other: Self) {
        *self = self.merge(other);
    }
}

impl Sum for EventCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Self::merge)
    }
}

/// Elements, the counts that are not zero, and the flags if any was raised.
impl fmt::Display for EventCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements", self.elements)?;
        let mut before = ": ";
        for (count, what) in [
            (self.overflowed, "overflowed"),
            (self.underflowed, "underflowed"),
            (self.zeros, "zero"),
            (self.nans, "NaN"),
            (self.infinities, "infinite"),
        ] {
            if count > 0 {
                write!(f, "{before}{count} {what}")?;
                before = ", ";
            }
        }
        if self.flags.is_empty() { Ok(()) } else { write!(f, "; flags {}", self.flags) }
    }
}

/// What one element did: six flags and four counted events, as bits above the code in a table
/// entry.
pub(crate) mod bit {
    pub(crate) const FLAGS: u32 = 16;
    pub(crate) const COUNTED: u32 = 22;
    pub(crate) const OVERFLOWED: u32 = 0;
    pub(crate) const UNDERFLOWED: u32 = 1;
    pub(crate) const ZERO: u32 = 2;
    pub(crate) const NAN: u32 = 3;
    pub(crate) const INFINITE: u32 = 4;
}

/// Counts events five at a time: each has a byte of a 64-bit sum, emptied before it can overflow.
#[derive(Default)]
pub(crate) struct Counter {
    seen: u32,
    lanes: u64,
    total: [u64; 5],
}

/// Event bits → one byte each.
static SPREAD: [u64; 32] = spread();

const fn spread() -> [u64; 32] {
    let mut table = [0; 32];
    let mut events = 0;
    while events < 32 {
        let mut bit = 0;
        while bit < 5 {
            table[events] |= ((events >> bit & 1) as u64) << (8 * bit);
            bit += 1;
        }
        events += 1;
    }
    table
}

impl Counter {
    #[inline(always)]
    pub(crate) fn add(&mut self, entry: u32) {
        self.seen |= entry;
        self.lanes += SPREAD[(entry >> bit::COUNTED & 31) as usize];
    }

    /// To be called after at most 255 entries.
    #[inline(always)]
    pub(crate) fn empty_lanes(&mut self) {
        for (lane, total) in self.total.iter_mut().enumerate() {
            *total += self.lanes >> (8 * lane) & 255;
        }
        self.lanes = 0;
    }

    pub(crate) fn finish(mut self, elements: usize, denormal: bool) -> EventCounts {
        self.empty_lanes();
        #[expect(clippy::cast_possible_truncation, reason = "six flag bits")]
        let flags = Flags::from_bits_truncate((self.seen >> bit::FLAGS) as u8);
        EventCounts {
            flags: if denormal { flags | Flags::DENORMAL } else { flags },
            elements: elements as u64,
            overflowed: self.total[bit::OVERFLOWED as usize],
            underflowed: self.total[bit::UNDERFLOWED as usize],
            zeros: self.total[bit::ZERO as usize],
            nans: self.total[bit::NAN as usize],
            infinities: self.total[bit::INFINITE as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SPREAD, spread};

    #[test]
    fn each_event_has_a_byte() {
        for (events, &spread) in spread().iter().enumerate() {
            let bytes = [1, 2, 4, 8, 16, 32, 64, 128].map(|bit| u8::from(events & bit != 0));
            assert_eq!(spread.to_le_bytes(), bytes, "{events:#b}");
        }
        assert_eq!(spread(), SPREAD);
    }
}
