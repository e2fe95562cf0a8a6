//! The grid of a format: its non-negative finite numbers in order, with their codes.

use std::cmp::Ordering;

use crate::{Dyadic, OracleFormat, Real, Specials, Value};

/// The sorted non-negative finite numbers of a format, and the one past the largest.
///
/// Up to 16 bits the list is made by decoding every code and sorting the exact values, so nothing
/// relies on codes being in the order of their values. Wider formats would not fit in memory: there
/// the i-th number is simply that of code i.
#[derive(Clone, Debug)]
pub struct Table {
    format: OracleFormat,
    points: Points,
    next: Dyadic,
    min_normal: Dyadic,
}

#[derive(Clone, Debug)]
enum Points {
    Sorted(Vec<(Dyadic, u64)>),
    Codes { count: u64 },
}

/// Where a magnitude lies on the grid.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The largest grid number at or below it, with its code; `None` if it is below them all.
    pub(crate) lo: Option<(Dyadic, u64)>,
    /// The next grid number above `lo`; its code is `None` past the largest finite number.
    pub(crate) hi: (Dyadic, Option<u64>),
    /// Whether the magnitude is at or past the first number beyond the largest finite one.
    pub(crate) beyond: bool,
}

/// How many codes of a wide format, from 0 on, are numbers that are not negative.
fn finite_codes(format: &OracleFormat) -> u64 {
    if format.specials == Specials::Ieee {
        return format.inf_code(false).expect("IEEE formats have an infinity");
    }
    // The others have at most two codes above the largest number.
    let top = format.magnitude_mask();
    let is_number = |code: &u64| matches!(format.value(*code), Value::Finite(..));
    1 + (top - 2..=top).rev().find(is_number).expect("a number among the last three codes")
}

impl Table {
    /// Enumerates and sorts the numbers of a format.
    ///
    /// # Panics
    /// If two codes have the same number.
    pub fn new(format: &OracleFormat) -> Self {
        let points = if format.k <= 16 {
            let mut sorted: Vec<(Dyadic, u64)> = (0..format.code_count())
                .filter(|code| code & format.sign_bit() == 0)
                .filter(|&code| matches!(format.value(code), Value::Finite(..)))
                // Not the value: a flushed code is on the grid with the number it would be if
                // gradual.
                .map(|code| (format.grid(code), code))
                .collect();
            sorted.sort();
            assert!(sorted.windows(2).all(|pair| pair[0].0 < pair[1].0), "a number with two codes");
            Points::Sorted(sorted)
        } else {
            Points::Codes { count: finite_codes(format) }
        };
        let mut table = Self {
            format: *format,
            points,
            next: Dyadic::zero(),
            min_normal: format.grid(format.min_normal_code()),
        };
        // The grid goes on past the largest number as if the next code were an ordinary one.
        table.next = format.grid(table.max().1 + 1);
        assert!(table.next > table.max().0, "the code after the largest number continues the grid");
        table
    }

    /// The format.
    pub fn format(&self) -> &OracleFormat {
        &self.format
    }

    /// How many non-negative finite numbers there are.
    ///
    /// # Panics
    /// If a wide format has more numbers than this machine's addresses.
    pub fn len(&self) -> usize {
        match &self.points {
            Points::Sorted(sorted) => sorted.len(),
            Points::Codes { count } => usize::try_from(*count).expect("a 64-bit address"),
        }
    }

    /// Whether there is no number at all (never, for a format of the catalogue).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at an index from below, and its code.
    ///
    /// # Panics
    /// If the index is not below [`Self::len`].
    pub fn point(&self, index: usize) -> (Dyadic, u64) {
        match &self.points {
            Points::Sorted(sorted) => sorted[index].clone(),
            Points::Codes { count } => {
                let code = index as u64;
                assert!(code < *count, "index within the table");
                (self.format.grid(code), code)
            }
        }
    }

    /// The largest finite number and its code.
    ///
    /// # Panics
    /// If the table is empty.
    pub fn max(&self) -> (Dyadic, u64) {
        self.point(self.len() - 1)
    }

    /// The smallest number (zero, in all formats that have it) and its code.
    ///
    /// # Panics
    /// If the table is empty.
    pub fn min(&self) -> (Dyadic, u64) {
        self.point(0)
    }

    /// The first number past the largest, on the grid continued with unbounded exponent.
    pub fn next(&self) -> &Dyadic {
        &self.next
    }

    /// The smallest normal number.
    pub fn min_normal(&self) -> &Dyadic {
        &self.min_normal
    }

    /// Finds the neighbours of a magnitude, looking first so far around an index. This becomes the
    /// upper one's.
    pub(crate) fn place(&self, x: &Real, near: &mut usize, mut step: usize) -> Place {
        let reaches = |point: &Dyadic| x.compare_dyadic(point) != Ordering::Less;
        let reaches_at = |index: usize| match &self.points {
            Points::Sorted(sorted) => reaches(&sorted[index].0),
            Points::Codes { .. } => reaches(&self.point(index).0),
        };
        // The first index whose number is above x lies from `low` to `high`: within twice as many
        // each time.
        let (mut low, mut high) = (*near, *near);
        while low > 0 && !reaches_at(low - 1) {
            (low, high) = (low.saturating_sub(step), low - 1);
            step = step.saturating_mul(2);
        }
        while high < self.len() && reaches_at(high) {
            (low, high) = (high + 1, self.len().min(high.saturating_add(step)));
            step = step.saturating_mul(2);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if reaches_at(middle) { low = middle + 1 } else { high = middle }
        }
        *near = low;
        let lo = low.checked_sub(1).map(|index| self.point(index));
        let hi = if low < self.len() {
            let (number, code) = self.point(low);
            (number, Some(code))
        } else {
            (self.next.clone(), None)
        };
        let beyond = hi.1.is_none() && reaches(&self.next);
        Place { lo, hi, beyond }
    }
}
