//! Sums of groups in binary64, several results side by side.
//!
//! Every step is exact there. Products of two operands of at most 24 bits have 48; aligned terms
//! are integers whose sums stay below 2^53; scales are powers of two far from the ends of the
//! range. Exponents are powers of two as well, so the exponent of a product is a product. Loops run
//! over arrays of results, of which compilers make vectors.

use super::{Fused, FusedDot, GroupSum};
use crate::parallel;

/// Results side by side in matrix products.
const LANES: usize = 8;
/// Rows of A that are multiplied by the same decoded rows of B.
const ROWS: usize = 64;

/// 2^7: the fraction bits that a sum that is cut down has more than the accumulator.
const MORE: f64 = 128.0;

/// The bits of the exponent field: of a number's bits, those of the power of two below it.
const EXPONENT: u64 = 0x7ff << 52;
/// The exponent that zeros have.
const ZERO: f64 = power(-126);

const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as i64).cast_unsigned() << 52)
}

/// Operands by place, each of `W` rows side by side: values, and powers of two by which they are
/// aligned.
#[derive(Default)]
struct Operands<const W: usize> {
    values: Vec<[f64; W]>,
    powers: Vec<[f64; W]>,
    /// A NaN or an infinity is among them.
    special: bool,
}

impl<const W: usize> Operands<W> {
    /// Operands of the rows of one side, with zeros after the last place and the last row.
    #[inline(always)]
    fn fill(&mut self, dot: &FusedDot, side: usize, rows: [&[f32]; W], lowest: f64) {
        let length = rows[0].len().next_multiple_of(dot.fused.k);
        self.values.clear();
        self.values.resize(length, [0.0; W]);
        self.powers.clear();
        self.powers.resize(length, [ZERO; W]);
        let mut special = false;
        for (lane, row) in rows.iter().enumerate() {
            for ((value, power), x) in self.values.iter_mut().zip(&mut self.powers).zip(*row) {
                let x = f64::from(dot.operand(side, *x));
                let x = if dot.fused.flush && x.abs() < lowest { 0.0 } else { x };
                special |= !x.is_finite();
                value[lane] = x;
                power[lane] = power_of(x, lowest);
            }
        }
        self.special = special;
    }

    /// Multiplies the operands of each block by its scale. Their powers as well, or where sums of
    /// products are exact before they are aligned, the powers are those of the scales alone.
    #[inline(always)]
    fn scale(&mut self, plan: &Plan, block: usize, scales: [&[f64]; W]) {
        let places = self.values.chunks_mut(block).zip(self.powers.chunks_mut(block));
        let mut special = false;
        for (number, (values, powers)) in places.take(scales[0].len()).enumerate() {
            for lane in 0..W {
                let scale = scales[lane][number];
                let power = power_of(scale, plan.lowest_scale);
                special |= !scale.is_finite();
                for (value, to) in values.iter_mut().zip(powers.iter_mut()) {
                    value[lane] *= scale;
                    to[lane] = if plan.exact == 1 { to[lane] * power } else { power };
                }
            }
        }
        self.special |= special;
    }
}

/// The scales of the blocks of all rows, in order.
#[derive(Clone, Copy)]
pub(super) struct BlockScales<'a> {
    pub(super) block: usize,
    /// The smallest normal number of their format.
    pub(super) lowest: f64,
    /// Products whose sum is exact before it is aligned, or 1.
    pub(super) exact: usize,
    pub(super) of: [&'a [f64]; 2],
}

impl<'a> BlockScales<'a> {
    /// The scales of the blocks of one row.
    fn row(&self, side: usize, row: usize, length: usize) -> &'a [f64] {
        let blocks = length.div_ceil(self.block);
        &self.of[side][row * blocks..][..blocks]
    }
}

/// The power of two by which a number is aligned.
#[inline(always)]
fn power_of(x: f64, lowest: f64) -> f64 {
    let power = larger(f64::from_bits(x.to_bits() & EXPONENT), lowest);
    // Masks, since compilers make branches of a choice here.
    let is_zero = u64::from(x == 0.0).wrapping_neg();
    f64::from_bits(power.to_bits() & !is_zero | ZERO.to_bits() & is_zero)
}

/// 1 / x for powers of two far from the ends of the range, without a division. Of an infinite
/// accumulator it has no meaning, nor has the sum before it is repaired.
#[inline(always)]
fn reciprocal(power: f64) -> f64 {
    f64::from_bits((2046_u64 << 52).wrapping_sub(power.to_bits()))
}

#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

/// What a sum's loops need of its parameters, as numbers.
struct Plan {
    /// The smallest normal numbers of the operands and of the accumulator.
    lowest: [f64; 2],
    accumulator: f64,
    /// 2^f for f fraction bits, of the aligned terms and of the accumulator.
    fraction: f64,
    precision: f64,
    /// Where infinity begins.
    limit: f64,
    nearest: bool,
    /// Of [`BlockScales`].
    lowest_scale: f64,
    exact: usize,
}

impl Plan {
    fn new(dot: &FusedDot, scales: Option<&BlockScales<'_>>) -> Self {
        let Fused { sum, output, rounding, .. } = dot.fused;
        let format = output.format();
        let (low, top) = format.exponent_range();
        let fraction = match sum {
            GroupSum::Aligned { fraction_bits }
            | GroupSum::Down { fraction_bits }
            | GroupSum::DownInHalves { fraction_bits } => fraction_bits.cast_signed(),
            GroupSum::Pairwise | GroupSum::Sequential => 0,
        };
        Self {
            lowest: dot.lowest().map(power),
            accumulator: power(low),
            fraction: power(fraction),
            precision: power(format.trailing_bits().cast_signed()),
            limit: power(top + 1),
            nearest: rounding == smallfloat::Rounding::NearestEven,
            lowest_scale: scales.map_or(1.0, |scales| scales.lowest),
            exact: scales.map_or(1, |scales| scales.exact),
        }
    }

    /// Rounds a sum into the accumulator.
    #[inline(always)]
    fn rounded(&self, sum: f64) -> f64 {
        let step = larger(f64::from_bits(sum.to_bits() & EXPONENT), self.accumulator) / self.precision;
        let steps = sum * reciprocal(step);
        let rounded = if self.nearest { steps.round_ties_even() } else { steps.trunc() } * step;
        if rounded.abs() >= self.limit { f64::INFINITY.copysign(rounded) } else { rounded }
    }
}

/// A group's places in operands of W lanes, of x the same for all lanes or not.
struct Group<'a, const X: usize, const W: usize> {
    x: &'a [[f64; X]],
    x_powers: &'a [[f64; X]],
    y: &'a [[f64; W]],
    y_powers: &'a [[f64; W]],
}

impl<const X: usize, const W: usize> Group<'_, X, W> {
    /// The largest powers of two of products at every `step`-th place from `first` on.
    #[inline(always)]
    fn largest(&self, first: usize, step: usize) -> [f64; W] {
        let mut largest = [0.0; W];
        let (x, y) = (self.x_powers, &self.y_powers[..self.x_powers.len()]);
        // `step_by` is a call for each place.
        let mut place = first;
        while place < x.len() {
            for lane in 0..W {
                largest[lane] = larger(largest[lane], x[place][lane % X] * y[place][lane]);
            }
            place += step;
        }
        largest
    }

    /// The sums of these products, each cut to a multiple of 1 / scale; as such multiples.
    #[inline(always)]
    fn sum(&self, scales: [f64; W], first: usize, step: usize) -> [f64; W] {
        let mut sums = [0.0; W];
        let (x, y) = (self.x, &self.y[..self.x.len()]);
        let mut place = first;
        while place < x.len() {
            for lane in 0..W {
                sums[lane] += (x[place][lane % X] * y[place][lane] * scales[lane]).trunc();
            }
            place += step;
        }
        sums
    }

    /// The sums of so many products each, which are exact, cut as those of [`sum`](Self::sum) are.
    #[inline(always)]
    fn sum_of_sums(&self, scales: [f64; W], count: usize) -> [f64; W] {
        let mut sums = [0.0; W];
        for (x, y) in self.x.chunks_exact(count).zip(self.y.chunks_exact(count)) {
            let mut exact = [0.0; W];
            for (x, y) in x.iter().zip(y) {
                for lane in 0..W {
                    exact[lane] += x[lane % X] * y[lane];
                }
            }
            for lane in 0..W {
                sums[lane] += (exact[lane] * scales[lane]).trunc();
            }
        }
        sums
    }

    #[inline(always)]
    fn aligned(&self, plan: &Plan, c: &mut [f64; W]) {
        // Constants, so that the loops of most units have no steps.
        let mut largest = if plan.exact == 1 { self.largest(0, 1) } else { self.largest(0, plan.exact) };
        for lane in 0..W {
            largest[lane] = larger(largest[lane], power_of(c[lane], plan.accumulator));
        }
        let scales = largest.map(|largest| plan.fraction * reciprocal(largest));
        let sums =
            if plan.exact == 1 { self.sum(scales, 0, 1) } else { self.sum_of_sums(scales, plan.exact) };
        for lane in 0..W {
            let sum = sums[lane] + (c[lane] * scales[lane]).trunc();
            // Adding zero leaves no −0.
            c[lane] = plan.rounded(sum * reciprocal(scales[lane])) + 0.0;
        }
    }

    /// Returns whether a product may be from 2^128 on in some lane; then nothing was written.
    #[inline(always)]
    fn down(&self, plan: &Plan, c: &mut [f64; W], halves: bool) -> bool {
        let step = if halves { 2 } else { 1 };
        let even = self.largest(0, step);
        let odd = if halves { larger_each(self.largest(1, step), power(-252)) } else { even };
        let mut largest = [0.0; W];
        for lane in 0..W {
            largest[lane] = larger(even[lane], odd[lane]);
        }
        if largest.iter().any(|largest| *largest >= power(127)) {
            return true;
        }
        let scales = |largest: [f64; W]| largest.map(|largest| plan.fraction * reciprocal(largest));
        let mut sums = self.sum(scales(even), 0, step);
        if halves {
            let odd_sums = self.sum(scales(odd), 1, step);
            for lane in 0..W {
                let down = reciprocal(largest[lane]);
                sums[lane] = (sums[lane] * (even[lane] * down)).floor()
                    + (odd_sums[lane] * (odd[lane] * down)).floor();
            }
        }
        for lane in 0..W {
            let exponent = power_of(c[lane], plan.accumulator);
            let all = larger(largest[lane], exponent);
            let down = reciprocal(all);
            let scale = plan.fraction * down;
            let sum = (sums[lane] * (largest[lane] * down) * MORE).floor() / MORE;
            let drops = halves && exponent * plan.fraction * 2.0 < all;
            let kept = if drops { 0.0 } else { (c[lane] * scale).floor() };
            c[lane] = plan.rounded((sum + kept) * reciprocal(scale));
        }
        false
    }

    /// A tree of products and sums in binary32.
    #[inline(always)]
    fn pairwise(&self, flush: bool, c: &mut [f64; W]) {
        let flushed = |x: f32| if flush && x.abs() < f32::MIN_POSITIVE { x * 0.0 } else { x };
        // The sums of 1, 2, 4, … products that wait for as many more; the groups are powers of two.
        let mut waiting = [[0.0_f32; W]; 9];
        let mut sums = [0.0_f32; W];
        for (place, (x, y)) in self.x.iter().zip(self.y).enumerate() {
            for lane in 0..W {
                // Exact before it is rounded to binary32; adding zero leaves no exact −0.
                #[expect(clippy::cast_possible_truncation, reason = "this is the rounding")]
                let product = (x[lane % X] * y[lane] + 0.0) as f32;
                sums[lane] = flushed(product);
            }
            let complete = place.trailing_ones() as usize;
            for left in &waiting[..complete] {
                for (sum, left) in sums.iter_mut().zip(left) {
                    *sum = flushed(left + *sum);
                }
            }
            waiting[complete] = sums;
        }
        for lane in 0..W {
            #[expect(clippy::cast_possible_truncation, reason = "accumulators are values of binary32")]
            let c_lane = c[lane] as f32;
            c[lane] = f64::from(flushed(c_lane + sums[lane]));
        }
    }

    #[inline(always)]
    fn sequential(&self, c: &mut [f64; W]) {
        for (x, y) in self.x.iter().zip(self.y) {
            for lane in 0..W {
                #[expect(clippy::cast_possible_truncation, reason = "all are values of binary32")]
                let (x, y, sum) = (x[lane % X] as f32, y[lane] as f32, c[lane] as f32);
                c[lane] = f64::from(x.mul_add(y, sum));
            }
        }
    }
}

fn larger_each<const W: usize>(powers: [f64; W], least: f64) -> [f64; W] {
    powers.map(|power| larger(power, least))
}

/// c + Σ x·y for W lanes.
#[inline(always)]
fn accumulate<const X: usize, const W: usize>(
    dot: &FusedDot,
    plan: &Plan,
    x: &Operands<X>,
    y: &Operands<W>,
    c: &mut [f64; W],
) {
    let Fused { k, sum, flush, promote, .. } = dot.fused;
    let mut totals = *c;
    if promote.is_some() {
        *c = [0.0; W];
    } else {
        c.iter_mut().filter(|c| flush && c.abs() < plan.accumulator).for_each(|c| *c = 0.0);
    }
    let promote = promote.unwrap_or(usize::MAX);
    let mut since = 0;
    let groups = x.values.chunks_exact(k).zip(x.powers.chunks_exact(k));
    for ((xs, x_powers), (ys, y_powers)) in groups.zip(y.values.chunks_exact(k).zip(y.powers.chunks_exact(k)))
    {
        if since == promote {
            promoted(&mut totals, c);
            since = 0;
        }
        since += k;
        let group = Group { x: xs, x_powers, y: ys, y_powers };
        let is_special = c.iter().fold(x.special | y.special, |special, c| special | !c.is_finite());
        let before = *c;
        let overflows = match sum {
            GroupSum::Aligned { .. } => {
                group.aligned(plan, c);
                false
            }
            GroupSum::Down { .. } => group.down(plan, c, false),
            GroupSum::DownInHalves { .. } => group.down(plan, c, true),
            GroupSum::Pairwise => {
                group.pairwise(flush, c);
                continue;
            }
            GroupSum::Sequential => {
                group.sequential(c);
                continue;
            }
        };
        if is_special || overflows {
            repair(dot, &group, &before, c, overflows);
        }
    }
    if promote != usize::MAX {
        promoted(&mut totals, c);
        *c = totals;
    }
}

/// Adds accumulators to the sums in binary32, and begins again.
#[inline(always)]
fn promoted<const W: usize>(totals: &mut [f64; W], c: &mut [f64; W]) {
    for (total, c) in totals.iter_mut().zip(c) {
        #[expect(clippy::cast_possible_truncation, reason = "both are values of binary32")]
        let sum = *total as f32 + *c as f32;
        (*total, *c) = (f64::from(sum), 0.0);
    }
}

/// Lanes with a NaN or an infinity, or all of them if none were computed.
#[cold]
#[inline(never)]
fn repair<const X: usize, const W: usize>(
    dot: &FusedDot,
    group: &Group<'_, X, W>,
    before: &[f64; W],
    c: &mut [f64; W],
    all: bool,
) {
    #[expect(clippy::cast_possible_truncation, reason = "without scales all are values of binary32")]
    for lane in 0..W {
        let pairs = group.x.iter().zip(group.y).map(|(x, y)| (x[lane % X], y[lane]));
        let old = before[lane] as f32;
        if let Some(result) = dot.without_value(old, pairs.clone()) {
            c[lane] = f64::from(result);
        } else if all {
            let (x, y): (Vec<f32>, Vec<f32>) = pairs.map(|(x, y)| (x as f32, y as f32)).unzip();
            c[lane] = f64::from(super::integers::group(dot, old, &x, &y, 0));
        }
    }
}

/// c + Σ x·y.
pub(super) fn sum(dot: &FusedDot, c: f32, [x, y]: [&[f32]; 2], scales: Option<&BlockScales<'_>>) -> f32 {
    let plan = Plan::new(dot, scales);
    let (mut a, mut b) = (Operands::<1>::default(), Operands::<1>::default());
    let mut sums = [f64::from(c)];
    dot.level.vectorize(
        #[inline(always)]
        || {
            a.fill(dot, 0, [x], plan.lowest[0]);
            b.fill(dot, 1, [y], plan.lowest[1]);
            if let Some(scales) = scales {
                a.scale(&plan, scales.block, [scales.row(0, 0, x.len())]);
                b.scale(&plan, scales.block, [scales.row(1, 0, y.len())]);
            }
            accumulate(dot, &plan, &a, &b, &mut sums);
        },
    );
    narrowed(sums[0])
}

/// An accumulator as binary32.
#[expect(clippy::cast_possible_truncation, reason = "accumulators are values of binary32")]
fn narrowed(c: f64) -> f32 {
    if c.is_nan() { f32::NAN } else { c as f32 }
}

/// Adds A·Bᵀ to the sums.
pub(super) fn matmul(
    dot: &FusedDot,
    [a, b]: [&[f32]; 2],
    length: usize,
    scales: Option<&BlockScales<'_>>,
    sums: &mut [f32],
) {
    let plan = Plan::new(dot, scales);
    let columns = b.len() / length;
    if sums.is_empty() {
        return;
    }
    let rows = (a.len() / length).div_ceil(parallel::threads()).clamp(1, ROWS);
    parallel::chunks(sums, rows * columns, &|block, sums| {
        let a = &a[block * rows * length..][..sums.len() / columns * length];
        let mut left: Vec<Operands<1>> = Vec::new();
        left.resize_with(a.len() / length, Operands::default);
        dot.level.vectorize(
            #[inline(always)]
            || {
                for (number, (operands, row)) in left.iter_mut().zip(a.chunks(length)).enumerate() {
                    operands.fill(dot, 0, [row], plan.lowest[0]);
                    if let Some(scales) = scales {
                        operands.scale(&plan, scales.block, [scales.row(0, block * rows + number, length)]);
                    }
                }
            },
        );
        let mut right = Operands::<LANES>::default();
        for first in (0..columns).step_by(LANES) {
            let width = LANES.min(columns - first);
            let number = |lane: usize| first + lane.min(width - 1);
            let row = |lane: usize| &b[number(lane) * length..][..length];
            dot.level.vectorize(
                #[inline(always)]
                || {
                    right.fill(dot, 1, std::array::from_fn(row), plan.lowest[1]);
                    if let Some(scales) = scales {
                        let rows = std::array::from_fn(|lane| scales.row(1, number(lane), length));
                        right.scale(&plan, scales.block, rows);
                    }
                    for (x, sums) in left.iter().zip(sums.chunks_mut(columns)) {
                        let sums = &mut sums[first..first + width];
                        let mut c = std::array::from_fn(|lane| f64::from(sums[lane.min(width - 1)]));
                        accumulate(dot, &plan, x, &right, &mut c);
                        for (sum, c) in sums.iter_mut().zip(c) {
                            *sum = narrowed(c);
                        }
                    }
                },
            );
        }
    });
}
