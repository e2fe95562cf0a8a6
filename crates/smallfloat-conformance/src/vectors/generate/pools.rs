//! Interesting codes of one operand, by coverage model.

use smallfloat::ops::Integer;
use smallfloat::{Datum, Format};

use crate::vectors::any_unit::VectorUnit;
use crate::vectors::unit::Field;

/// The interesting numbers of a field for which the unit has results.
pub(super) fn of_unit(unit: &VectorUnit, field: &Field, cap: usize) -> Vec<u64> {
    let mut pool = pool(field, cap);
    pool.retain(|code| unit.takes(field, *code));
    pool
}

/// At most `cap` interesting numbers of a field, the most interesting first; all there are, if they
/// are no more.
pub(crate) fn pool(field: &Field, cap: usize) -> Vec<u64> {
    if field.bits < 32 && 1_usize << field.bits <= cap {
        return (0..=field.max()).collect();
    }
    if let Some(integer) = field.integer {
        return integers(integer, cap);
    }
    let Some(format) = &field.format else { return words(field, cap) };
    let mut pool = Distinct::default();
    pool.extend(extremes(format));
    let room = cap.saturating_sub(pool.codes.len());
    let binades = binades(format);
    // Where not all fit, binades come evenly spread, and significands share what is left.
    pool.extend(sample(&binades, room - room / 4));
    let room = cap.saturating_sub(pool.codes.len());
    pool.extend(sample(&significands(format), room));
    pool.codes.truncate(cap);
    pool.codes
}

/// Integers: the ends, 0, and powers of two with their neighbours, of both signs.
fn integers(integer: Integer, cap: usize) -> Vec<u64> {
    let powers = (0..=integer.bits()).map(|bit| 1_i128 << bit);
    let near = powers.flat_map(|power| [power, power - 1, power + 1, power + power / 2]);
    let mut pool = Distinct::default();
    pool.extend([0, integer.max_word(), 1 << (integer.bits() - 1), integer.max_word() >> 1]);
    pool.extend(near.flat_map(|value| [integer.word_of(value), integer.word_of(-value)]).flatten());
    sample(&pool.codes, cap)
}

/// Random words: both ends, and the middle where a fraction of one half decides.
fn words(field: &Field, cap: usize) -> Vec<u64> {
    let half = 1 << (field.bits - 1);
    let mut pool = Distinct::default();
    pool.extend(
        [0, field.max(), half, half - 1, half | 1, 1, field.max() - 1].map(|word| word & field.max()),
    );
    pool.codes.truncate(cap.max(1));
    pool.codes
}

/// Codes without repetition, in the order in which they came.
#[derive(Default)]
struct Distinct {
    codes: Vec<u64>,
    seen: std::collections::HashSet<u64>,
}

impl Distinct {
    fn extend(&mut self, codes: impl IntoIterator<Item = u64>) {
        for code in codes {
            if self.seen.insert(code) {
                self.codes.push(code);
            }
        }
    }
}

/// At most `count` elements, evenly spread from the first to the last.
pub(crate) fn sample<T: Copy>(all: &[T], count: usize) -> Vec<T> {
    match (all.len(), count) {
        (_, 0) => Vec::new(),
        (n, count) if n <= count => all.to_vec(),
        (_, 1) => vec![all[0]],
        (n, count) => (0..count).map(|i| all[i * (n - 1) / (count - 1)]).collect(),
    }
}

/// Both signs of magnitudes, negative ones where the format has them.
fn signed(format: &Format, magnitudes: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let sign = 1 << (format.width() - 1);
    let mut codes = Vec::new();
    for magnitude in magnitudes {
        codes.push(magnitude);
        if format.is_signed() {
            codes.push(magnitude | sign);
        }
    }
    codes
}

fn magnitude(format: &Format, datum: Datum) -> Option<u64> {
    format.encode(datum)
}

/// Model *extremes*: zeros, the ends of subnormals and normals with their neighbours, 1 with its
/// neighbours, infinities, and NaNs with the lowest, highest and all significand bits set.
fn extremes(format: &Format) -> Vec<u64> {
    let top = format.max_code() >> u32::from(format.is_signed());
    let trailing = format.trailing_bits();
    let data = [
        Some(Datum::ZERO),
        Some(Datum::finite(false, 1, 0)),
        Some(format.min_positive()),
        format.max_subnormal(),
        Some(format.min_normal()),
        Some(format.max_finite()),
        Some(Datum::Infinite { negative: false }),
    ];
    let codes = data.into_iter().flatten().filter_map(|datum| magnitude(format, datum));
    let around = codes.flat_map(|code| [code, code.saturating_sub(1), (code + 1).min(top)]);
    let quiet = top & !((1 << trailing.saturating_sub(1)) - 1);
    // The code of −0 is NaN in some formats; the sign bit alone is among the signed zeros.
    signed(format, around.chain([top, quiet, top >> 1]))
}

/// Model *binades*: the first two values and the last of every binade.
fn binades(format: &Format) -> Vec<u64> {
    let trailing = format.trailing_bits();
    let last = (1_u64 << trailing) - 1;
    let fields = 0..1_u64 << format.exponent_bits();
    let magnitudes = fields.flat_map(|field| [0, 1 & last, last].map(|low| field << trailing | low));
    let top = format.max_code() >> u32::from(format.is_signed());
    signed(format, magnitudes.filter(|code| *code <= top))
}

/// Model *special significands*: a single bit set or clear, runs of ones from either end,
/// alternating bits, in binades from end to end.
fn significands(format: &Format) -> Vec<u64> {
    let trailing = format.trailing_bits();
    if trailing == 0 {
        return Vec::new();
    }
    let ones = (1_u64 << trailing) - 1;
    let mut patterns = vec![ones / 3, ones - ones / 3];
    for bit in 0..trailing {
        patterns.extend([1 << bit, ones ^ 1 << bit, ones >> bit, ones << bit & ones]);
    }
    let last = (1_u64 << format.exponent_bits()) - 1;
    let fields = [last / 2, 0, 1, last.saturating_sub(1), last / 2 + 1, last / 4, last - last / 4];
    let magnitudes = patterns.iter().flat_map(|low| fields.map(|field| field << trailing | low));
    signed(format, magnitudes)
}

/// Codes of every exponent field with every pattern of a significand and every sign.
pub(crate) fn of_fields(format: &Format) -> Vec<u64> {
    if format.width() <= 10 {
        return (0..=format.max_code()).collect();
    }
    let ones = (1_u64 << format.trailing_bits()) - 1;
    let half = ones / 2 + 1;
    let mut tails = vec![0, ones, 1, half, 2, half | 1, 3, half >> 1];
    tails.retain(|tail| *tail <= ones);
    tails.sort_unstable();
    tails.dedup();
    let signs = if format.is_signed() { vec![0, 1 << (format.width() - 1)] } else { vec![0] };
    let all = 0..1_u64 << format.exponent_bits();
    all.flat_map(|field| tails.iter().map(move |tail| field << format.trailing_bits() | tail))
        .flat_map(|magnitude| signs.iter().map(move |sign| magnitude | sign))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{BINARY32, BINARY64, E4M3FN, E8M0FNU};

    fn field(format: &Format) -> Field {
        Field::code("x".into(), format)
    }

    #[test]
    fn small_formats_give_all_codes_and_wide_ones_their_limits() {
        assert_eq!(pool(&field(&E4M3FN), 256).len(), 256);
        let codes = pool(&field(&BINARY32), 4096);
        for (code, what) in [
            (0x0000_0000, "0"),
            (0x8000_0000, "-0"),
            (0x0000_0001, "the smallest subnormal"),
            (0x007f_ffff, "the largest subnormal"),
            (0x0080_0000, "the smallest normal"),
            (0x3f80_0000, "1"),
            (0x3f7f_ffff, "below 1"),
            (0x7f7f_ffff, "the largest"),
            (0xff80_0000, "-inf"),
            (0x7fc0_0000, "a quiet NaN"),
            (0x7f80_0001, "a signalling NaN"),
            (0x4000_0000, "2"),
        ] {
            assert!(codes.contains(&code), "{what} is not among them");
        }
        assert!(pool(&field(&E8M0FNU), 16).contains(&0xff));
        let codes = pool(&field(&BINARY64), 300);
        // Some of what is sampled is among the extremes already.
        assert!((250..=300).contains(&codes.len()) && codes.contains(&0x7fef_ffff_ffff_ffff));
    }

    #[test]
    fn samples_reach_from_end_to_end() {
        assert_eq!(sample(&[1, 2, 3, 4, 5], 3), [1, 3, 5]);
        assert_eq!(sample(&[1, 2], 3), [1, 2]);
        assert_eq!(sample(&[1, 2, 3], 1), [1]);
        assert!(sample(&[1, 2, 3], 0).is_empty());
    }
}
