//! Stochastic rounding counted exactly: over all random words, as many round away from zero as the
//! true distance ratio says.
//!
//! Over all 2^N words that is t, which follows from ν = (|x| − lo) / (hi − lo) by the rational
//! arithmetic of this file.

use std::ops::RangeInclusive;
use std::time::Instant;

use smallfloat::formats::{BFLOAT16, UHP};
use smallfloat::{Flags, Format, RandomBits, Rounding, convert};
use smallfloat_proof::{extensive, tell};

/// A bfloat16 magnitude as significand and exponent; none for infinity and NaN.
fn bf16(bits: u64) -> Option<(i128, i32)> {
    let (field, trailing) = (bits >> 7 & 0xFF, i128::from(bits & 0x7F));
    match i32::try_from(field).unwrap() {
        255 => None,
        0 => Some((trailing, -133)),
        e => Some((128 + trailing, e - 134)),
    }
}

struct Target {
    name: &'static str,
    /// Significand bits below the leading one, bias, exponent of the step at field 0, the largest
    /// magnitude's index.
    trailing: u32,
    bias: i32,
    field_0: i32,
    max: u64,
}

impl Target {
    /// The magnitude of an index, above the largest one on the grid continued.
    fn magnitude(&self, index: u64) -> (i128, i32) {
        let trailing = i128::from(index & ((1 << self.trailing) - 1));
        match i32::try_from(index >> self.trailing).unwrap() {
            0 => (trailing, self.field_0),
            e => ((1 << self.trailing) + trailing, e - self.bias - self.trailing.cast_signed()),
        }
    }

    /// Two magnitudes over one exponent; they are near each other or one is 0.
    fn compare(a: (i128, i32), b: (i128, i32)) -> std::cmp::Ordering {
        let leading = |(s, e): (i128, i32)| if s == 0 { i32::MIN } else { s.ilog2().cast_signed() + e };
        leading(a).cmp(&leading(b)).then_with(|| {
            let low = a.1.min(b.1);
            (a.0 << (a.1 - low)).cmp(&(b.0 << (b.1 - low)))
        })
    }

    /// lo's index and ν as a fraction, for a magnitude not above the largest one plus a step.
    fn locate(&self, x: (i128, i32)) -> (u64, i128, i128) {
        // The first index above x.
        let (mut low, mut high) = (0, self.max + 2);
        while low < high {
            let middle = low.midpoint(high);
            if Self::compare(self.magnitude(middle), x).is_le() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (lo, hi) = (self.magnitude(low - 1), self.magnitude(low));
        // Next to 0 an operand may lie far below every threshold: 2^−60 of a step decides as it
        // does (N ≤ 16).
        let base = lo.1.min(hi.1).min(x.1).max(hi.1 - 60);
        let at = |(s, e): (i128, i32)| {
            if e >= base { s << (e - base) } else { (s >> (base - e).min(100)).max(i128::from(s != 0)) }
        };
        (low - 1, at(x) - at(lo), at(hi) - at(lo))
    }
}

/// Of the 2^N words, how many round away: A truncates ν·2^N, B rounds it half up, C half to even.
fn away(mode: char, numerator: i128, denominator: i128, n: u32) -> i128 {
    let scaled = numerator << n;
    let (whole, rest) = (scaled / denominator, scaled % denominator);
    match mode {
        'A' => whole,
        'B' => whole + i128::from(2 * rest >= denominator),
        _ => whole + i128::from(2 * rest > denominator || (2 * rest == denominator && whole % 2 == 1)),
    }
}

fn rounding(mode: char, n: u32, word: u64) -> Rounding {
    let bits = RandomBits::new(n, word).expect("a legal word");
    match mode {
        'A' => Rounding::StochasticA(bits),
        'B' => Rounding::StochasticB(bits),
        _ => Rounding::StochasticC(bits),
    }
}

/// All bfloat16 inputs (both signs for N ≤ 4), all words of N bits for each such N, all three
/// modes.
fn count(target: &Target, bits: RangeInclusive<u32>) -> u64 {
    let start = Instant::now();
    let compared = bits.clone().map(|n| count_inputs(target, n, 0..=0xFFFF)).sum();
    tell(&format!("{}, {} to {} random bits", target.name, bits.start(), bits.end()), compared, start);
    compared
}

/// These bfloat16 inputs, all words of N bits, all three modes. Returns how many results were
/// checked.
fn count_inputs(target: &Target, n: u32, inputs: impl Iterator<Item = u64>) -> u64 {
    let f: Format = target.name.parse().expect("a format");
    let projection = f.default_projection();
    let sign = if f.is_signed() { 1 << (f.width() - 1) } else { 0 };
    let top = target.magnitude(target.max + 1);
    let flushed = |index: u64| if f == UHP && index < 1 << target.trailing { 0 } else { index };
    let mut checks = 0;
    for bits in inputs {
        let Some(x) = bf16(bits & 0x7FFF) else { continue };
        if Target::compare(x, top).is_gt() || (bits >= 0x8000 && (n > 4 || !f.is_signed())) {
            continue; // beyond the grid's next step, or its mirror image is enough
        }
        let sign = if bits >= 0x8000 { sign } else { 0 };
        let (lo, numerator, denominator) = target.locate(x);
        // Below 2^−(N + 2) of the smallest step no word moves anything: there the two extreme words
        // will do.
        let tiny = lo == 0 && numerator << (n + 2) < denominator;
        let step = if tiny { (1 << n) - 1 } else { 1 };
        for mode in ['A', 'B', 'C'] {
            let t = away(mode, numerator, denominator, n);
            assert!(!tiny || t == 0);
            for word in (0..1_u64 << n).step_by(step) {
                let index = lo + u64::from(i128::from(word) >= (1 << n) - t);
                let r = convert(bits, &BFLOAT16, &f, &projection.with_rounding(rounding(mode, n, word)));
                if index <= target.max {
                    let has_sign = index > 0 || f.has_negative_zero();
                    let expected = flushed(index) | if has_sign { sign } else { 0 };
                    assert!(
                        r.value == expected,
                        "{f} {bits:#06x} {mode}{n} R={word}: {r:?}, want {expected:#x}"
                    );
                } else {
                    let overflow = r.flags.contains(Flags::OVERFLOW);
                    assert!(overflow, "{f} {bits:#06x} {mode}{n} R={word}: {r:?}, want an overflow");
                }
                checks += 1;
            }
        }
    }
    checks
}

/// The bfloat16 words about the places where rounding changes its ways: zero, the smallest number,
/// the largest subnormal and the hole above it, the ends of binades, the largest number and the one
/// past it; and about the middles above each.
fn boundaries(target: &Target) -> Vec<u64> {
    let t = target.trailing;
    let mut words: Vec<u64> = (0..4).collect();
    for index in
        [0, 1, (1 << t) - 1, 1 << t, (2 << t) - 1, 2 << t, target.max - 1, target.max, target.max + 1]
    {
        let (s, e) = target.magnitude(index);
        let (next, f) = target.magnitude(index + 1);
        let low = e.min(f);
        // Both ends and the middle, as multiples of half a step of the finer end.
        let ends = ((2 * s) << (e - low), (2 * next) << (f - low));
        for place in [ends.0, i128::midpoint(ends.0, ends.1)] {
            if place > 0 {
                words.extend(truncated(place, low - 1).saturating_sub(1)..=truncated(place, low - 1) + 2);
            }
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// The largest bfloat16 word, of a normal number, whose value is at most s · 2^e.
fn truncated(s: i128, e: i32) -> u64 {
    let leading = s.ilog2().cast_signed();
    let seven = if leading >= 7 { s >> (leading - 7) } else { s << (7 - leading) };
    let field = u64::from((leading + e + 127).unsigned_abs());
    field << 7 | u64::try_from(seven & 0x7F).unwrap()
}

const PAPER: Target = Target { name: "cfloat8_1_4_3:bias=7", trailing: 3, bias: 7, field_0: -10, max: 0x7F };
const GRADUAL: Target =
    Target { name: "cfloat8_1_4_3:bias=7,subnormals=gradual", trailing: 3, bias: 7, field_0: -9, max: 0x7F };
const FN: Target = Target { name: "e4m3fn", trailing: 3, bias: 7, field_0: -9, max: 0x7E };
const P3: Target = Target { name: "binary8p3se", trailing: 2, bias: 16, field_0: -17, max: 0x7E };
const UHP_GRID: Target = Target { name: "uhp", trailing: 10, bias: 31, field_0: -40, max: 0xFBFF };

#[test]
fn the_grids_are_the_formats() {
    for target in [PAPER, GRADUAL, FN, P3, UHP_GRID] {
        let f: Format = target.name.parse().expect("a format");
        for index in (1 << target.trailing)..=target.max {
            let (significand, exponent) = target.magnitude(index);
            let zeros = significand.trailing_zeros();
            let odd = u64::try_from(significand >> zeros).unwrap();
            let expected = format!("{odd}p{}", exponent + zeros.cast_signed());
            assert_eq!(f.decode(index).to_string(), expected, "{f} {index:#x}");
        }
    }
}

#[test]
fn cfloat8_with_the_paper_s_denormals() {
    assert!(count(&PAPER, 1..=8) > 3_000_000);
}

#[test]
fn cfloat8_with_gradual_denormals() {
    assert!(count(&GRADUAL, 1..=8) > 3_000_000);
}

#[test]
fn e4m3fn() {
    assert!(count(&FN, 1..=8) > 3_000_000);
}

#[test]
fn binary8p3se() {
    assert!(count(&P3, 1..=8) > 3_000_000);
}

#[test]
fn uhp_with_few_bits() {
    assert!(count(&UHP_GRID, 1..=4) > 1_000_000);
}

/// Sixteen random bits, all words, on the boundaries; every number of bits from 9 on where there is
/// time.
#[test]
fn many_bits_on_every_boundary() {
    for target in [PAPER, GRADUAL, FN, P3] {
        let start = Instant::now();
        let inputs = boundaries(&target);
        let least = if extensive() { 9 } else { 16 };
        let step = if extensive() { 1 } else { 3 };
        let compared: u64 =
            (least..=16).map(|n| count_inputs(&target, n, inputs.iter().copied().step_by(step))).sum();
        tell(
            &format!("{}, {} boundaries, {least} to 16 random bits", target.name, inputs.len()),
            compared,
            start,
        );
        assert!(inputs.len() > 30 && compared > 1_000_000, "{}: {compared}", target.name);
    }
}

/// In the hole of Tesla's denormals ν has the denominator 9 (steps of 2^−10 between 07 and 08 at
/// bias 7).
#[test]
fn the_hole_has_its_true_distance() {
    let (lo, numerator, denominator) = PAPER.locate((1, -7));
    assert_eq!((lo, 9 * numerator), (7, denominator));
    let f: Format = PAPER.name.parse().expect("a format");
    for (mode, t) in [('A', 28), ('B', 28), ('C', 28)] {
        // 256 / 9 = 28.4…
        let ups = (0..256)
            .filter(|&word| {
                let projection = f.default_projection().with_rounding(rounding(mode, 8, word));
                convert(0x3C00, &BFLOAT16, &f, &projection).value == 0x08
            })
            .count();
        assert_eq!(ups, t, "{mode}");
    }
}
