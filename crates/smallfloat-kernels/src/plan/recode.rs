//! [`RecodeTable`]: the table by which bytes become bytes.

use smallfloat::Flags;

use crate::event_counts::bit;

/// A table of 256 bytes by rows of 16: the upper half of the codes of a row, and the row. Rows of
/// zeros are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(pub(crate) Vec<(u8, [u8; 16])>);

impl Rows {
    /// The rows of what `byte` makes of the entries; codes beyond the table are those with their
    /// upper bits left out.
    fn new(table: &[u32], byte: impl Fn(u32) -> u8) -> Self {
        let row = |high: usize| -> [u8; 16] {
            std::array::from_fn(|low| byte(table[(16 * high + low) & (table.len() - 1)]))
        };
        let rows = (0..16_u8).map(|high| (high << 4, row(usize::from(high))));
        Self(rows.filter(|(_, row)| *row != [0; 16]).collect())
    }
}

/// What is looked up of each code.
#[derive(Clone, Debug)]
pub(crate) struct RecodeTable {
    pub(crate) codes: Rows,
    pub(crate) flags: Rows,
    pub(crate) counted: Rows,
}

impl RecodeTable {
    /// From entries of a code, flags and events, as `events.rs` lays them out.
    pub(crate) fn new(table: &[u32]) -> Self {
        let byte = |entry: u32, from: u32| (entry >> from).to_le_bytes()[0];
        Self {
            codes: Rows::new(table, |entry| byte(entry, 0)),
            flags: Rows::new(table, |entry| byte(entry, bit::FLAGS) & Flags::ALL.bits()),
            counted: Rows::new(table, |entry| byte(entry, bit::COUNTED)),
        }
    }
}
