//! The table in which kernels add up rounding classes.

/// A class's sums: the count above the lowest [`COUNT`] bits, which hold Σt; then Σt². Two of them
/// a class.
pub(crate) type Pair = [u64; 2];

/// Where the count begins.
pub(crate) const COUNT: u32 = 42;
/// Elements that the sums hold without overflow where t has at most 22 bits.
pub(crate) const CAPACITY: usize = 1 << 20;
/// Tables of sums.
pub(crate) const TABLES: usize = 2;
