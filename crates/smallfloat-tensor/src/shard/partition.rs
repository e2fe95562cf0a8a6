//! [`Sharding`]: which tensors go into which shard.
//!
//! Shards are runs of the input's order. Tensors that share a scale are one unit, which stays whole
//! where tensors are parted by count or size; where the input's files are kept, members in other
//! files are read for the common scale. No tensor is cut, so a shard may be larger than asked for
//! by as much as its only unit is.

use std::num::NonZeroU64;

/// The division of a checkpoint into shards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Sharding {
    /// A shard for each file of the input, under its name.
    #[default]
    Files,
    /// This many shards, or as many as there are tensors if that is less; about equal in bytes to
    /// be read.
    Count(NonZeroU64),
    /// Output files of at most this many bytes of tensors, but for single tensors (and groups with
    /// one scale) above it.
    Bytes(NonZeroU64),
}

/// What is not parted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// Bytes to be read.
    pub(crate) work: u64,
    /// Bytes of the output.
    pub(crate) size: u64,
}

/// The shard of each unit, from 0 on without gaps.
pub(crate) fn by_count(units: &[Unit], count: u64) -> Vec<usize> {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(units.len());
    let total: u128 = units.iter().map(|unit| u128::from(unit.work)).sum();
    let (mut before, mut shard) = (0_u128, 0);
    let mut shards = Vec::with_capacity(units.len());
    for (i, unit) in units.iter().enumerate() {
        // Where the middle of the unit's work lies; the next shard at most, and enough units left
        // for the others.
        let middle = 2 * before + u128::from(unit.work);
        let ideal = (middle * count as u128).checked_div(2 * total).unwrap_or(0);
        let ideal = usize::try_from(ideal).unwrap_or(usize::MAX);
        let next = if i == 0 { 0 } else { shard + 1 };
        let least = (count + i).saturating_sub(units.len()).max(shard);
        shard = ideal.clamp(least, next.min(count.saturating_sub(1)).max(least));
        shards.push(shard);
        before += u128::from(unit.work);
    }
    shards
}

/// Parts units by a limit on the size of shards.
pub(crate) fn by_size(units: &[Unit], limit: u64) -> Vec<usize> {
    let (mut shard, mut size) = (0, 0_u64);
    let mut shards = Vec::with_capacity(units.len());
    for (i, unit) in units.iter().enumerate() {
        match size.checked_add(unit.size) {
            Some(joined) if i == 0 || joined <= limit => size = joined,
            _ => (shard, size) = (shard + 1, unit.size),
        }
        shards.push(shard);
    }
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(sizes: &[u64]) -> Vec<Unit> {
        sizes.iter().map(|&size| Unit { work: size, size }).collect()
    }

    #[test]
    fn by_count_gives_the_count_in_order() {
        let count = |sizes: &[u64], count| by_count(&units(sizes), count);
        assert_eq!(count(&[5, 5, 5, 5], 2), [0, 0, 1, 1]);
        assert_eq!(count(&[5, 5, 5], 7), [0, 1, 2]);
        assert_eq!(count(&[5, 5, 5], 1), [0, 0, 0]);
        assert_eq!(count(&[0, 0, 0], 2), [0, 0, 1]);
        assert_eq!(count(&[90, 1, 1, 1], 3), [0, 1, 2, 2]);
        assert_eq!(count(&[1, 1, 1, 90], 3), [0, 0, 1, 2]);
        assert_eq!(count(&[u64::MAX, u64::MAX], 2), [0, 1]);
        assert!(count(&[], 3).is_empty());
    }

    #[test]
    fn no_partition_has_gaps() {
        for n in 1..20_u64 {
            let sizes: Vec<u64> = (0..n).map(|i| i * i * 7919 % 101).collect();
            for count in 1..25 {
                let shards = by_count(&units(&sizes), count);
                assert!(shards.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
                assert_eq!((shards[0] as u64, shards[shards.len() - 1] as u64 + 1), (0, n.min(count)));
            }
        }
    }

    #[test]
    fn by_size_cuts_before_the_limit() {
        let size = |sizes: &[u64], limit| by_size(&units(sizes), limit);
        assert_eq!(size(&[3, 3, 4, 1], 6), [0, 0, 1, 1]);
        assert_eq!(size(&[9, 1, 9, 1, 1], 5), [0, 1, 2, 3, 3]);
        assert_eq!(size(&[u64::MAX, u64::MAX], u64::MAX), [0, 1]);
    }
}
