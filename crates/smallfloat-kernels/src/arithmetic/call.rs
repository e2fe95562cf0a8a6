//! [`Call`]: an operation on codes as the core computes it; [`Path`]: tables of its results.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{Class, Exact, FlagPolicy, Format, Projection, Rounded};

use crate::arithmetic::entries::Entries;
use crate::parallel::parallel_map;

/// Operation, formats and projection: what the core needs for one element.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) operation: Operation,
    pub(super) operands: Vec<Format>,
    pub(super) to: Format,
    pub(super) projection: Projection,
    pub(super) arithmetic: OperationOptions,
    pub(super) flags: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Path {
    /// All results: the operands' codes side by side, the first one lowest, are the index.
    Table(Entries),
    /// A class for each pair of the first two operands, and a row of all third operands for each
    /// class.
    Classes { classes: Box<[u16; 1 << TABLE_BITS]>, rows: Entries },
    /// The core, element by element.
    Core,
}

/// Operand bits that a table of all results may have.
const TABLE_BITS: u32 = 16;
/// Rows × third operands that are worth their memory: 8 MiB of 8-bit codes.
const MAX_ROW_ENTRIES: usize = 1 << 22;

impl Call {
    /// Returns whether flags and NaN results are those that vectors and classes of pairs know.
    pub(super) fn is_tesla(&self) -> bool {
        self.arithmetic.flags == Some(FlagPolicy::TESLA)
    }

    pub(super) fn evaluate(&self, codes: [u64; 3], projection: &Projection) -> Rounded<u64> {
        let first = &self.operands[0];
        let mut operands = [Operand::new(0, first); 3];
        for ((operand, format), code) in operands.iter_mut().zip(&self.operands).zip(codes) {
            *operand = Operand::new(code, format);
        }
        self.operation.evaluate(&operands[..self.operands.len()], &self.to, projection, self.arithmetic)
    }

    fn width(&self, operand: usize) -> u32 {
        self.operands.get(operand).map_or(0, Format::width)
    }

    /// Where the second and third operand stand in a table's index, if there is one.
    pub(super) fn shifts(&self) -> [u32; 2] {
        [self.width(0), self.width(0) + self.width(1)]
    }

    pub(super) fn masks(&self) -> [u64; 3] {
        [0, 1, 2].map(|i| self.operands.get(i).map_or(0, Format::max_code))
    }

    pub(super) fn path(&self, length: usize) -> Path {
        if self.projection.rounding.is_stochastic() || self.to.width() > u32::BITS {
            return Path::Core;
        }
        let [pair_bits, bits] =
            [self.width(0) + self.width(1), self.operands.iter().map(Format::width).sum()];
        if bits <= TABLE_BITS && 1 << bits <= length {
            let [first, second] = self.shifts();
            let mask = self.masks();
            let codes = |i: u64| [i & mask[0], i >> first & mask[1], i >> second & mask[2]];
            return Path::Table(self.entries(1 << bits, |i| codes(i as u64)));
        }
        let inner = match self.operation {
            Operation::Fma => Operation::Multiply,
            Operation::Faa => Operation::Add,
            _ => return Path::Core,
        };
        // Clamping operands is the core's: what an infinity becomes depends on the exact result.
        let worth = pair_bits <= TABLE_BITS
            && 1 << pair_bits <= length
            && !self.arithmetic.operand_clamp
            && self.is_tesla();
        if !worth {
            return Path::Core;
        }
        let Some((classes, pairs)) = self.classes(inner, pair_bits) else { return Path::Core };
        let third = self.width(2);
        let entries = pairs.len() << third;
        if entries > MAX_ROW_ENTRIES.min(length) {
            return Path::Core;
        }
        let mask = self.masks()[2];
        let rows = self.entries(entries, |i| {
            let [x, y] = pairs[i >> third];
            [x, y, i as u64 & mask]
        });
        Path::Classes { classes: whole(classes), rows }
    }

    /// Numbers the pairs of the first two operands by what the third one meets: the exact inner
    /// result, a NaN for NaN operands, and whether one was subnormal. With a pair of each class;
    /// `None` if there are too many.
    fn classes(&self, inner: Operation, bits: u32) -> Option<(Vec<u16>, Vec<[u64; 2]>)> {
        let [x_format, y_format] = [self.operands[0], self.operands[1]];
        let (mut numbers, mut pairs) = (HashMap::new(), Vec::new());
        let mut classes = Vec::with_capacity(1 << bits);
        for i in 0..1_u64 << bits {
            let (x, y) = (i & x_format.max_code(), i >> x_format.width());
            let (datum, other) = (x_format.decode(x), y_format.decode(y));
            let exact = inner.exact([datum, other, datum], self.arithmetic.semantics).exact;
            if let Exact::Finite { sticky: true, .. } = exact {
                // What was cut off may be all that the third operand leaves.
                return None;
            }
            let denormal =
                x_format.classify(x) == Class::Subnormal || y_format.classify(y) == Class::Subnormal;
            let key = (canonical(exact), self.flags && denormal);
            let next = u16::try_from(pairs.len()).ok();
            let class = match numbers.entry(key) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    pairs.push([x, y]);
                    *entry.insert(next?)
                }
            };
            classes.push(class);
        }
        Some((classes, pairs))
    }

    fn entries(&self, count: usize, codes: impl Fn(usize) -> [u64; 3] + Sync) -> Entries {
        let entry = |i: usize, bits: u32| {
            let answer = self.evaluate(codes(i), &self.projection);
            let flags = if self.flags { answer.flags.bits() } else { 0 };
            answer.value | u64::from(flags) << bits
        };
        #[expect(clippy::cast_possible_truncation, reason = "the code and eight bits of flags fit")]
        match self.to.width() {
            ..=8 if !self.flags => Entries::Bare(parallel_map(count, |i| entry(i, 8) as u8)),
            ..=8 => Entries::Short(parallel_map(count, |i| entry(i, 8) as u16)),
            9..=16 => Entries::Medium(parallel_map(count, |i| entry(i, 16) as u32)),
            _ => Entries::Long(parallel_map(count, |i| entry(i, 32))),
        }
    }
}

/// Returns the classes in a table that every index of a pair lies in, which needs no check of
/// bounds.
fn whole(mut classes: Vec<u16>) -> Box<[u16; 1 << TABLE_BITS]> {
    classes.resize(1 << TABLE_BITS, 0);
    classes.into_boxed_slice().try_into().expect("as many as the table has")
}

/// Returns the value with an odd significand, so that equal values are equal in every field.
fn canonical(exact: Exact) -> Exact {
    match exact {
        Exact::Finite { negative, significand, exponent, sticky: false } if significand != 0 => {
            let zeros = significand.trailing_zeros();
            Exact::finite(negative, significand >> zeros, exponent + zeros.cast_signed())
        }
        Exact::Finite { negative, significand: 0, .. } => Exact::finite(negative, 0, 0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Exact, canonical};

    #[test]
    fn one_way_to_write_a_value() {
        assert_eq!(canonical(Exact::finite(true, 12, 3)), Exact::finite(true, 3, 5));
        assert_eq!(canonical(Exact::finite(false, 12, -7)), Exact::finite(false, 3, -5));
        assert_eq!(canonical(Exact::finite(true, 0, 7)), Exact::finite(true, 0, 0));
        assert_eq!(canonical(Exact::Infinite { negative: true }), Exact::Infinite { negative: true });
    }
}
