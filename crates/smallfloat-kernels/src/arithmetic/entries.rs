//! [`Entries`]: tables of results with their flags.

use smallfloat::Flags;

use crate::element::Code;
use crate::event_counts::bit;

/// Codes with their flags above them, in the narrowest cells that hold both.
#[derive(Clone, Debug)]
pub(super) enum Entries {
    /// Codes of up to 8 bits without flags.
    Bare(Vec<u8>),
    /// Codes of up to 8 bits.
    Short(Vec<u16>),
    /// Codes of up to 16 bits.
    Medium(Vec<u32>),
    /// Codes of up to 32 bits.
    Long(Vec<u64>),
}

impl Entries {
    /// Returns the entries of bytes as those of a table by which bytes become bytes.
    pub(super) fn of_bytes(&self) -> Option<Vec<u32>> {
        let of_short = |&entry: &u16| {
            let [code, flags] = entry.to_le_bytes();
            u32::from(code) | u32::from(flags) << bit::FLAGS
        };
        match self {
            Self::Bare(entries) if entries.len() <= 256 => {
                Some(entries.iter().copied().map(u32::from).collect())
            }
            Self::Short(entries) if entries.len() <= 256 => Some(entries.iter().map(of_short).collect()),
            _ => None,
        }
    }

    /// Fills the results with the entries' codes, the flags of each element where they are asked
    /// for, and joins the flags.
    #[inline(always)]
    pub(super) fn look_up<R: Code>(
        &self,
        results: &mut [R],
        flags: Option<&mut [Flags]>,
        at: impl Iterator<Item = usize>,
    ) -> Flags {
        match flags {
            None => self.all(results, at),
            Some(flags) => self.each(results, flags, at),
        }
    }

    #[inline(always)]
    fn all<R: Code>(&self, results: &mut [R], at: impl Iterator<Item = usize>) -> Flags {
        // The usual lengths are known to the compiler, which then needs no check of bounds.
        macro_rules! look_up {
            ($entries:expr, $bits:literal) => {
                match ($entries.first_chunk::<{ 1 << 8 }>(), $entries.first_chunk::<{ 1 << 16 }>()) {
                    (Some(entries), _) if $entries.len() == entries.len() => {
                        look_up!(@loop |i| entries[i % (1 << 8)], $bits)
                    }
                    (_, Some(entries)) if $entries.len() == entries.len() => {
                        look_up!(@loop |i| entries[i % (1 << 16)], $bits)
                    }
                    _ => look_up!(@loop |i| $entries[i], $bits),
                }
            };
            (@loop |$i:ident| $entry:expr, $bits:literal) => {{
                let mut flags = 0;
                for (result, $i) in results.iter_mut().zip(at) {
                    let entry = $entry;
                    flags |= entry;
                    *result = R::truncate(u64::from(entry) & ((1 << $bits) - 1));
                }
                u64::from(flags) >> $bits
            }};
        }
        let flags = match self {
            Self::Bare(entries) => look_up!(entries, 8),
            Self::Short(entries) => look_up!(entries, 8),
            Self::Medium(entries) => look_up!(entries, 16),
            Self::Long(entries) => look_up!(entries, 32),
        };
        #[expect(clippy::cast_possible_truncation, reason = "flags have eight bits")]
        Flags::from_bits_truncate(flags as u8)
    }

    #[inline(always)]
    fn each<R: Code>(
        &self,
        results: &mut [R],
        flags: &mut [Flags],
        at: impl Iterator<Item = usize>,
    ) -> Flags {
        let mut all = Flags::NONE;
        for ((result, flags), i) in results.iter_mut().zip(flags).zip(at) {
            let (entry, bits) = match self {
                Self::Bare(entries) => (u64::from(entries[i]), 8),
                Self::Short(entries) => (u64::from(entries[i]), 8),
                Self::Medium(entries) => (u64::from(entries[i]), 16),
                Self::Long(entries) => (entries[i], 32),
            };
            #[expect(clippy::cast_possible_truncation, reason = "flags have eight bits")]
            let raised = Flags::from_bits_truncate((entry >> bits) as u8);
            *result = R::truncate(entry & ((1 << bits) - 1));
            all = all.union(raised);
            *flags = raised;
        }
        all
    }
}
