//! [`Memo`]: results of an operation whose operands are few, remembered.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use smallfloat::ops::{Operation, Semantics};
use smallfloat::{Class, Exact, Flags, Format};

/// Results by the operands' codes, found one by one as they are asked for. Threads may find the
/// same result at the same time; it is the same.
pub(crate) struct Memo {
    shifts: [u32; 4],
    entries: usize,
    /// Of an FMA: the first two operands are numbered by their product.
    products: Option<Products>,
    cells: OnceLock<Box<[AtomicU64]>>,
}

/// Operand bits that are worth a cell for each value: half a megabyte.
const MOST_BITS: u32 = 16;
/// Cells that are worth their memory where an FMA's operands are more: 32 megabytes, which the
/// system gives as they are touched.
const MOST_CELLS: usize = 1 << 22;
const KNOWN: u64 = 1 << 63;
const FLAGS_AT: u32 = 32;

impl Memo {
    /// For operands of so many bits and a result of so many; `None` where they are too many.
    pub(crate) fn new(operands: &[u32], result: u32) -> Option<Self> {
        let bits: u32 = operands.iter().sum();
        if bits > MOST_BITS || result > FLAGS_AT || operands.len() > 4 {
            return None;
        }
        let mut shifts = [0; 4];
        for i in 1..operands.len() {
            shifts[i] = shifts[i - 1] + operands[i - 1];
        }
        Some(Self { shifts, entries: 1 << bits, products: None, cells: OnceLock::new() })
    }

    /// For an FMA of two operands of at most 16 bits together and a short third one.
    pub(crate) fn for_fma([x, y, z]: [Format; 3], to: &Format, semantics: Semantics) -> Option<Self> {
        if x.width() + y.width() > MOST_BITS || z.width() > MOST_BITS / 2 || to.width() > FLAGS_AT {
            return None;
        }
        let products = Products { x, y, semantics, calls: AtomicU32::new(0), numbers: OnceLock::new() };
        Some(Self {
            shifts: [0, z.width(), 0, 0],
            entries: 0,
            products: Some(products),
            cells: OnceLock::new(),
        })
    }

    /// The result for operands that fit their widths, computed if nobody has asked for it before.
    pub(crate) fn get<E>(
        &self,
        operands: &[u64],
        compute: impl FnOnce() -> Result<(u64, Flags), E>,
    ) -> Result<(u64, Flags), E> {
        let (index, entries) = match &self.products {
            None => (
                operands.iter().zip(self.shifts).fold(0, |index, (code, at)| index | code << at),
                self.entries,
            ),
            Some(products) => match products.number(operands[0], operands[1]) {
                Some((number, count)) => (number << self.shifts[1] | operands[2], count << self.shifts[1]),
                None => return compute(),
            },
        };
        if entries > MOST_CELLS {
            return compute();
        }
        let cells = self.cells.get_or_init(|| {
            let mut cells = Vec::with_capacity(entries);
            cells.resize_with(entries, || AtomicU64::new(0));
            cells.into()
        });
        let cell = usize::try_from(index).ok().and_then(|index| cells.get(index));
        let cell = cell.expect("the caller has checked the operands");
        // One word has all of it, so no order between words matters.
        let known = cell.load(Ordering::Relaxed);
        if known & KNOWN != 0 {
            let [_, _, _, _, flags, ..] = known.to_le_bytes();
            return Ok((known & ((1 << FLAGS_AT) - 1), Flags::from_bits_truncate(flags)));
        }
        let (code, flags) = compute()?;
        cell.store(code | u64::from(flags.bits()) << FLAGS_AT | KNOWN, Ordering::Relaxed);
        Ok((code, flags))
    }
}

/// Numbers for pairs of codes, equal where the products are and where as many operands are
/// subnormal or none is: that is all that the third operand and the flags see of two finite ones.
struct Products {
    x: Format,
    y: Format,
    semantics: Semantics,
    calls: AtomicU32,
    numbers: OnceLock<(Box<[u16]>, usize)>,
}

/// Calls before the pairs are numbered, which takes as long as some thousand calls.
const PATIENCE: u32 = 1 << 14;
/// A pair with a special value, or beyond the numbers that there are.
const NONE: u16 = u16::MAX;

impl Products {
    /// The number of a pair and how many there are; `None` for pairs that the core is for.
    fn number(&self, x: u64, y: u64) -> Option<(u64, usize)> {
        let (numbers, count) = match self.numbers.get() {
            Some(ready) => ready,
            None if self.calls.fetch_add(1, Ordering::Relaxed) < PATIENCE => return None,
            None => self.numbers.get_or_init(|| self.count()),
        };
        let number = numbers[usize::try_from(x | y << self.x.width()).ok()?];
        (number != NONE).then_some((number.into(), *count))
    }

    fn count(&self) -> (Box<[u16]>, usize) {
        let mut known = HashMap::new();
        let is_subnormal = |format: &Format, code| format.classify(code) == Class::Subnormal;
        let number = |pair: u64| {
            let (x, y) = (pair & self.x.max_code(), pair >> self.x.width());
            let data = [self.x.decode(x), self.y.decode(y)];
            if !data.iter().all(smallfloat::Datum::is_finite) {
                return NONE;
            }
            let exact = Operation::Multiply.exact([data[0], data[1], data[0]], self.semantics).exact;
            let Exact::Finite { negative, significand, exponent, sticky: false } = exact else { return NONE };
            // An odd significand, so that equal values are equal.
            let zeros = if significand == 0 { 0 } else { significand.trailing_zeros() };
            let exponent = if significand == 0 { 0 } else { exponent + zeros.cast_signed() };
            let subnormals = is_subnormal(&self.x, x) || is_subnormal(&self.y, y);
            let key = (negative, significand >> zeros, exponent, subnormals);
            let next = u16::try_from(known.len()).unwrap_or(NONE);
            *known.entry(key).or_insert(next)
        };
        let numbers = (0..1_u64 << (self.x.width() + self.y.width())).map(number).collect();
        (numbers, known.len())
    }
}
