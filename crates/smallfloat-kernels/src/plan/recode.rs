//! [`RecodeTable`]: the table by which bytes become bytes.

use smallfloat::Flags;

use crate::event_counts::{EventCounts, bit};

/// A table of a byte for each code.
#[derive(Clone, Debug)]
pub(crate) struct ByteTable {
    pub(crate) bytes: [u8; 256],
    /// The upper half of the codes of a row of 16, and the row. Rows of zeros are left out.
    pub(crate) rows: Vec<(u8, [u8; 16])>,
}

impl ByteTable {
    /// What `byte` makes of the entries; codes beyond the table are those with their upper bits
    /// left out.
    fn new(table: &[u32], byte: impl Fn(u32) -> u8) -> Self {
        let bytes: [u8; 256] = std::array::from_fn(|code| byte(table[code & (table.len() - 1)]));
        let (rows, _) = bytes.as_chunks::<16>();
        let rows = (0..16_u8).map(|high| (high << 4, rows[usize::from(high)]));
        Self { bytes, rows: rows.filter(|(_, row)| *row != [0; 16]).collect() }
    }
}

/// What is looked up of each code.
#[derive(Clone, Debug)]
pub(crate) struct RecodeTable {
    pub(crate) codes: ByteTable,
    pub(crate) flags: ByteTable,
    /// A bit for each of the events that [`Counted`] has.
    pub(crate) counted: ByteTable,
}

/// How often each counted event happened, by its bit.
pub(crate) type Counted = [u64; 5];

impl RecodeTable {
    /// From entries of a code, flags and events, as `events.rs` lays them out.
    pub(crate) fn new(table: &[u32]) -> Self {
        let byte = |entry: u32, from: u32| (entry >> from).to_le_bytes()[0];
        Self {
            codes: ByteTable::new(table, |entry| byte(entry, 0)),
            flags: ByteTable::new(table, |entry| byte(entry, bit::FLAGS) & Flags::ALL.bits()),
            counted: ByteTable::new(table, |entry| byte(entry, bit::COUNTED)),
        }
    }

    /// The counts of so many elements, from the bytes of flags in which each is raised.
    pub(crate) fn counts(elements: usize, flags: &[u8], counted: Counted) -> EventCounts {
        let of = |event: u32| counted[event as usize];
        EventCounts {
            flags: Flags::from_bits_truncate(flags.iter().fold(0, |all, flags| all | flags)),
            elements: elements as u64,
            overflowed: of(bit::OVERFLOWED),
            underflowed: of(bit::UNDERFLOWED),
            zeros: of(bit::ZERO),
            nans: of(bit::NAN),
            infinities: of(bit::INFINITE),
        }
    }
}
