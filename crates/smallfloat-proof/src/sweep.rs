//! Sweeps: every value of a wide float into one format under one projection, on one level of the
//! kernels, against the oracle.
//!
//! The oracle gives an f32 sweep as runs: intervals of bit patterns with one code and one set of
//! flags. Every code that the kernels give is compared with its run's, so that a sweep costs little
//! more than encoding. Of 16-bit sources each value has a place of its own on the
//! oracle's grid, from which every rounding and saturation follows.

use std::ops::Range;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use smallfloat::{FlagPolicy, Flags, Format, Projection, convert_with, formats};
use smallfloat_kernels::{Code, Element, Encoder, EventCounts, Level};
use smallfloat_oracle::fast::{Grid, Spot};
use smallfloat_oracle::{self as oracle, Run, Value};

use crate::{core_flags, oracle_format, oracle_policy};

/// Values at a time: with their codes they fit a first cache.
const SLICE: usize = 1 << 12;
const INFINITY: u32 = 0x7f80_0000;

/// What a sweep found.
#[derive(Clone, Debug)]
pub struct Swept {
    /// How many inputs were compared.
    pub inputs: u64,
    /// How many codes differed, and how many slices' counts and flags.
    pub mismatches: u64,
    /// The first difference.
    pub first: Option<String>,
    /// Everything that the kernels counted.
    pub events: EventCounts,
    /// The time of the sweep alone.
    pub time: Duration,
}

/// What a slice should have counted, from the runs.
#[derive(Default)]
struct Expected {
    flags: Flags,
    saturated: u64,
    zeros: u64,
    underflowed: u64,
}

fn overlap(run: Range<u64>, with: Range<u64>) -> u64 {
    run.end.min(with.end).saturating_sub(run.start.max(with.start))
}

fn patterns(run: &Run) -> Range<u64> {
    u64::from(run.start)..u64::from(run.end_inclusive) + 1
}

impl Expected {
    fn add(&mut self, run: &Run, zero: bool, within: Range<u64>) {
        let part = patterns(run).start.max(within.start)..patterns(run).end.min(within.end);
        let flags = core_flags(oracle::Flags(run.flags));
        self.flags |= flags;
        let length = overlap(part.clone(), 0..1 << 32);
        self.saturated += if flags.contains(Flags::OVERFLOW) { length } else { 0 };
        if zero {
            self.zeros += length;
            for sign in [0, 1_u64 << 31] {
                self.underflowed += overlap(part.clone(), sign + 1..sign + u64::from(INFINITY));
            }
        }
    }
}

/// SHA-256 of runs, each as first and last pattern (4 bytes, little-endian), code (2) and flags
/// (1), the first 16 digits.
///
/// # Panics
/// For codes of more than 16 bits.
pub fn digest(runs: &[Run]) -> String {
    let mut hash = Sha256::new();
    for run in runs {
        hash.update(run.start.to_le_bytes());
        hash.update(run.end_inclusive.to_le_bytes());
        hash.update(u16::try_from(run.code).expect("at most 16 bits").to_le_bytes());
        hash.update([run.flags]);
    }
    short(hash)
}

/// The first 16 hexadecimal digits of a digest.
///
/// # Panics
/// Never: a digest of SHA-256 has more bytes.
pub fn short(hash: Sha256) -> String {
    let digest = hash.finalize();
    let first: [u8; 8] = digest[..8].try_into().expect("32 bytes");
    format!("{:016x}", u64::from_be_bytes(first))
}

/// All 2^32 f32 values: every code, and for each 2^12 of them the flags and counts. `runs` are
/// those of [`oracle::f32_runs`] for the same format and projection; `C` has at least the format's
/// bits.
///
/// # Panics
/// If the kernels refuse the format.
pub fn all_f32<C: Code + PartialEq>(
    format: &Format,
    projection: &Projection,
    level: Level,
    runs: &[Run],
) -> Swept {
    let start = Instant::now();
    let oracle = oracle_format(format);
    let is_zero = |run: &Run| matches!(oracle.value(run.code), Value::Finite(x, _) if x.is_zero());
    let encoder = Encoder::<f32>::new(format, projection).expect("a small format").with_level(level);
    let piece = |piece: &[u32]| sweep_piece::<C>(&encoder, runs, &is_zero, piece);
    let slices: Vec<u32> = (0..=u32::MAX).step_by(SLICE).collect();
    let pieces: Vec<Swept> = slices.par_chunks(1 << 14).map(piece).collect();
    let mut all = pieces.into_iter().fold(Swept::default(), Swept::merge);
    all.time = start.elapsed();
    all
}

impl Default for Swept {
    fn default() -> Self {
        Self { inputs: 0, mismatches: 0, first: None, events: EventCounts::default(), time: Duration::ZERO }
    }
}

impl Swept {
    /// Both together, in this order.
    #[must_use]
    pub fn merge(self, next: Self) -> Self {
        Self {
            inputs: self.inputs + next.inputs,
            mismatches: self.mismatches + next.mismatches,
            first: self.first.or(next.first),
            events: self.events.merge(next.events),
            time: self.time + next.time,
        }
    }

    fn differs(&mut self, count: u64, first: impl FnOnce() -> String) {
        self.mismatches += count;
        if count > 0 && self.first.is_none() {
            self.first = Some(first());
        }
    }
}

/// How many codes are not this one, counted in bytes, of which a vector has many.
fn count_of_others<C: PartialEq + Copy>(codes: &[C], wanted: C) -> u64 {
    let few = |codes: &[C]| codes.iter().map(|&code| u8::from(code != wanted)).sum::<u8>();
    codes.chunks(128).map(|codes| u64::from(few(codes))).sum()
}

fn sweep_piece<C: Code + PartialEq>(
    encoder: &Encoder<f32>,
    runs: &[Run],
    is_zero: &impl Fn(&Run) -> bool,
    piece: &[u32],
) -> Swept {
    let format = encoder.format();
    // One set of buffers for a piece of the work, not for each slice.
    let lows: Vec<u32> = (0..).take(SLICE).collect();
    let mut source = vec![0_f32; SLICE];
    let mut codes = vec![C::from_code(0); SLICE];
    let mut found = Swept::default();
    for &first in piece {
        for (x, low) in source.iter_mut().zip(&lows) {
            *x = f32::from_bits(first | low);
        }
        let events = encoder.encode(&source, &mut codes);
        found.inputs += SLICE as u64;
        let within = u64::from(first)..u64::from(first) + SLICE as u64;
        let mut counts = Expected::default();
        let mut compared = 0;
        let from = runs.partition_point(|run| u64::from(run.end_inclusive) < within.start);
        for run in runs[from..].iter().take_while(|run| u64::from(run.start) < within.end) {
            let at = |bits: u64| usize::try_from(bits - within.start).expect("within the slice");
            let part = at(patterns(run).start.max(within.start))..at(patterns(run).end.min(within.end));
            let wanted = C::truncate(run.code);
            compared += part.len();
            counts.add(run, is_zero(run), within.clone());
            let wrong = count_of_others(&codes[part.clone()], wanted);
            found.differs(wrong, || {
                let at = part.clone().find(|&at| codes[at] != wanted).expect("one differs");
                let (bits, got, wanted) = (source[at].to_bits(), codes[at].widen(), wanted.widen());
                format!("{format} {bits:#010x}: got {got:#x}, expected {wanted:#x}")
            });
        }
        assert_eq!(compared, SLICE, "the runs have no gap");
        let seen = (events.flags, events.overflowed, events.zeros, events.underflowed);
        let wanted = (counts.flags, counts.saturated, counts.zeros, counts.underflowed);
        found.differs(u64::from(seen != wanted), || {
            format!("{format} slice {first:#010x}: events {seen:?}, expected {wanted:?}")
        });
        found.events = found.events.merge(events);
    }
    let classified = found.events.nans + found.events.infinities;
    let inputs = found.inputs;
    let wanted = piece.iter().filter(|&&first| first & INFINITY == INFINITY).count() as u64 * SLICE as u64;
    // The upper halves 0x7f80 and 0x7fff hold all special values and nothing else.
    found.differs(u64::from((classified, inputs) != (wanted, found.events.elements)), || {
        format!("{format}: {classified} NaN and infinite, expected {wanted}")
    });
    found
}

/// All 2^16 values of binary16 or bfloat16, located once on a format's grid: every projection
/// follows.
#[derive(Clone, Debug)]
pub struct LocatedValues<T> {
    format: Format,
    grid: Grid,
    values: Vec<T>,
    spots: Vec<Spot>,
}

impl<T: Element> LocatedValues<T> {
    /// Locates every code of `T` on the grid of a format of at most 16 bits.
    ///
    /// # Panics
    /// For a `T` of more than 16 bits, or a wider format.
    pub fn new(format: &Format) -> Self {
        let source = oracle_format(&T::FORMAT);
        let count = T::FORMAT.max_code() + 1;
        assert!(count == 1 << 16, "sources of 16 bits");
        let grid = Grid::new(&oracle_format(format));
        let positive: Vec<Spot> =
            (0..count / 2).map(|code| grid.locate_exact(&oracle::Exact::from(source.value(code)))).collect();
        let negative = positive.iter().map(|spot| spot.with_sign(true));
        let spots = positive.iter().copied().chain(negative).collect();
        Self { format: *format, grid, values: (0..count).map(T::from_bits).collect(), spots }
    }

    /// Every code under one projection with a deterministic rounding, and the union of flags; the
    /// digest is of all codes (2 bytes each).
    ///
    /// # Panics
    /// For projections that the grid does not know: stochastic ones, signs dropped, the report 4.0.
    pub fn sweep(&self, projection: &Projection, levels: &[Level]) -> (Swept, String) {
        let start = Instant::now();
        let policy = oracle_policy(projection);
        let source = oracle_format(&T::FORMAT);
        let mut flags = Flags::NONE;
        let mut hash = Sha256::new();
        let expected: Vec<u16> = (0_u64..)
            .zip(&self.spots)
            .map(|(bits, &spot)| {
                let (code, raised) = self.grid.project(spot, &policy);
                flags |= core_flags(raised);
                if source.is_subnormal(bits) {
                    flags |= Flags::DENORMAL;
                }
                let code = u16::try_from(code).expect("at most 16 bits");
                hash.update(code.to_le_bytes());
                code
            })
            .collect();
        let encoder = Encoder::<T>::new(&self.format, projection).expect("a small format");
        let mut found = Swept::default();
        let mut codes = vec![0_u16; expected.len()];
        for &level in levels {
            let events = encoder.clone().with_level(level).encode(&self.values, &mut codes);
            let different = codes.iter().zip(&expected).filter(|(a, b)| a != b).count();
            found.differs(different as u64, || {
                let at = codes.iter().zip(&expected).position(|(a, b)| a != b).expect("they differ");
                let (got, wanted) = (codes[at], expected[at]);
                format!(
                    "{} {projection:?} {}: {at:#06x} gave {got:#x}, not {wanted:#x}",
                    self.format,
                    level.name()
                )
            });
            found.differs(u64::from(events.flags != flags), || {
                format!(
                    "{} {projection:?} {}: flags {}, not {flags}",
                    self.format,
                    level.name(),
                    events.flags
                )
            });
            found.inputs += expected.len() as u64;
            found.events = found.events.merge(events);
        }
        found.time = start.elapsed();
        (found, short(hash))
    }
}

/// What a format's f32 runs say about the core's scalar conversion: code and flags at both ends of
/// every run and beside them. Returns how many conversions were compared and the first that
/// differs.
pub fn run_ends(format: &Format, projection: &Projection, runs: &[Run]) -> (u64, Option<String>) {
    let (mut compared, mut wrong) = (0, None);
    for run in runs {
        let flags = core_flags(oracle::Flags(run.flags));
        for bits in
            [run.start, run.start.saturating_add(1), run.end_inclusive.saturating_sub(1), run.end_inclusive]
        {
            if (run.start..=run.end_inclusive).contains(&bits) {
                let got =
                    convert_with(bits.into(), &formats::BINARY32, format, projection, FlagPolicy::TESLA);
                compared += 1;
                if (got.value, got.flags) != (run.code, flags) && wrong.is_none() {
                    wrong = Some(format!(
                        "{format} {projection:?} {bits:#010x}: {got:?}, not {:#x} {flags}",
                        run.code
                    ));
                }
            }
        }
    }
    (compared, wrong)
}
