//! [`Memo`]: results of an operation whose operands are few, remembered.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use smallfloat::Flags;

/// Results by the operands' codes, found one by one as they are asked for. Threads may find the same
/// result at the same time; it is the same.
pub(crate) struct Memo {
    shifts: [u32; 4],
    entries: usize,
    cells: OnceLock<Box<[AtomicU64]>>,
}

/// Operand bits that are worth a cell for each value: half a megabyte.
const MOST_BITS: u32 = 16;
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
        Some(Self { shifts, entries: 1 << bits, cells: OnceLock::new() })
    }

    /// The result for operands that fit their widths, computed if nobody has asked for it before.
    pub(crate) fn get<E>(
        &self,
        operands: &[u64],
        compute: impl FnOnce() -> Result<(u64, Flags), E>,
    ) -> Result<(u64, Flags), E> {
        let cells = self.cells.get_or_init(|| (0..self.entries).map(|_| AtomicU64::new(0)).collect());
        let index = operands.iter().zip(self.shifts).fold(0, |index, (code, shift)| index | code << shift);
        let cell = usize::try_from(index).ok().and_then(|index| cells.get(index));
        let cell = cell.expect("the caller has checked the operands");
        // One word has all of it, so no order between words matters.
        let known = cell.load(Ordering::Relaxed);
        if known & KNOWN != 0 {
            let [.., flags, _, _, _] = known.to_le_bytes();
            return Ok((known & ((1 << FLAGS_AT) - 1), Flags::from_bits_truncate(flags)));
        }
        let (code, flags) = compute()?;
        cell.store(code | u64::from(flags.bits()) << FLAGS_AT | KNOWN, Ordering::Relaxed);
        Ok((code, flags))
    }
}
