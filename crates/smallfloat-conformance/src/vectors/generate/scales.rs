//! Operands for dot products with block scales: which scale a block has, where terms of blocks
//! align, and the ends of the scales' range.

use crate::vectors::BlockScales;
use crate::vectors::generate::directed::Model;
use crate::vectors::generate::dots::{Codes, Maker, Pair, power};
use crate::vectors::generate::pools;

/// The distances, in binades, at which a block is put below another or below c: more than a sum
/// keeps of what is aligned.
const GAPS: i32 = 44;
/// Blocks that have a line of their own, at most.
const BLOCKS: usize = 16;

/// The scales' part of lines.
pub(super) struct ScaleMaker {
    pub(super) codes: Codes,
    pub(super) blocks: usize,
    block: usize,
    /// Scales whose product is one.
    balanced: Vec<Pair>,
}

impl ScaleMaker {
    pub(super) fn new(scales: BlockScales, blocks: usize) -> Self {
        let codes = Codes::new(scales.format);
        let code = |exponent: i32| codes.powers.iter().find(|(e, _)| *e == exponent).map(|(_, code)| *code);
        let lowest = scales.format.min_normal().exponent_of_leading_bit();
        let exponents = [0, 1, -1, 3, -3, 6, -6, 40, -40, 126, -126];
        let exponents = exponents.into_iter().filter(|e| *e >= lowest && -*e >= lowest);
        let pairs = exponents.enumerate().filter_map(|(i, e)| {
            // A sign means nothing.
            Some((codes.signed(i % 3 == 1, code(e)?), codes.signed(i % 3 == 2, code(-e)?)))
        });
        Self { balanced: pairs.collect(), codes, blocks, block: scales.block }
    }

    /// Scales whose product is one.
    pub(super) fn balanced(&self, turn: usize) -> Pair {
        self.balanced[turn % self.balanced.len()]
    }

    /// The exponents of the smallest and the largest product of two powers.
    fn range(&self) -> (i32, i32) {
        let exponent = |power: Option<&(i32, u64)>| 2 * power.expect("scales have powers of two").0;
        (exponent(self.codes.powers.first()), exponent(self.codes.powers.last()))
    }

    /// Scales whose product is 2^exponent, or the nearest that there is.
    fn power(&self, exponent: i32) -> Pair {
        let (first, last) = self.range();
        power(&self.codes, &self.codes, exponent.clamp(first, last)).expect("powers of two without a gap")
    }

    fn one(&self) -> Pair {
        (self.codes.one, self.codes.one)
    }

    /// Scales of the same exponents whose significands are all ones, where they have some.
    fn ones(&self, (s, t): Pair) -> Pair {
        let low = self.codes.one ^ self.codes.ones;
        let ones = |code: u64| {
            // The last of the highest binade may be a NaN.
            let all = [code | low, code | low & !1];
            all.into_iter().find(|code| self.codes.format.decode(*code).is_finite()).unwrap_or(code)
        };
        (ones(s), ones(t))
    }

    /// Some of the blocks, from end to end.
    fn some_blocks(&self) -> Vec<usize> {
        pools::sample(&(0..self.blocks).collect::<Vec<_>>(), BLOCKS)
    }
}

impl Maker {
    /// All models of scales, if the unit takes some.
    pub(super) fn of_scales(&self, count: usize) -> Vec<Model> {
        let Some(scales) = &self.scales else { return Vec::new() };
        vec![
            Model { name: "scales", operands: self.every_scale(scales) },
            Model { name: "scales by block", operands: self.by_block(scales) },
            Model { name: "scaled alignment", operands: self.scaled_alignment(scales) },
            Model { name: "scaled cancelling", operands: self.scaled_cancelling(scales, count) },
            Model { name: "extreme scales", operands: self.extreme_scales(scales) },
            Model { name: "special scales", operands: self.special_scales(scales) },
        ]
    }

    /// Every code of a scale on either side, in all blocks and in one.
    fn every_scale(&self, scales: &ScaleMaker) -> Vec<u64> {
        let (one, ones) = (scales.codes.one, (self.x.ones, self.y.one));
        let c = self.c.as_ref().map(|c| c.negated(c.one));
        let mut lines = Vec::new();
        for code in 0..=scales.codes.format.max_code() {
            let place = usize::try_from(code).expect("a byte") % scales.blocks;
            for pair in [(code, one), (one, code), (code, code ^ 0x15)] {
                self.push_scaled(&mut lines, |at| self.negated(at % 5 == 4, ones), |_| pair, c);
                let of_block = |block| if block == place { pair } else { (one, one) };
                self.push_scaled(&mut lines, |_| ones, of_block, None);
            }
        }
        lines
    }

    /// Another scale for each block, and products in one place alone: which scale goes with which
    /// elements.
    fn by_block(&self, scales: &ScaleMaker) -> Vec<u64> {
        let number = |block: usize| i32::try_from(block).expect("few");
        let unit = (self.x.one, self.y.one);
        let mut lines = Vec::new();
        for turn in 0..8 {
            // Products of two are as far apart as they come, of neighbours always.
            let different = |block: usize| {
                let s = (5 * number(block) + 3 * turn).rem_euclid(7) - 3;
                let t = (3 * number(block) + turn).rem_euclid(5) - 2;
                (scales.power(2 * s).0, scales.power(2 * t).1)
            };
            let left = |block| (different(block).0, scales.codes.one);
            let right = |block| (scales.codes.one, different(block).1);
            let signs = |at: usize| self.negated((at / scales.block + at).is_multiple_of(3), unit);
            self.push_scaled(&mut lines, |_| unit, different, None);
            self.push_scaled(&mut lines, signs, different, None);
            self.push_scaled(&mut lines, signs, left, None);
            self.push_scaled(&mut lines, signs, right, None);
            for block in scales.some_blocks() {
                let first = block * scales.block;
                let last = (first + scales.block).min(self.length) - 1;
                let half = first + (last - first).div_ceil(2);
                for place in [first, half, last] {
                    let pairs = |at| if at == place { unit } else { self.nothing() };
                    self.push_scaled(&mut lines, pairs, different, None);
                }
                let pairs = |at| if (first..=last).contains(&at) { unit } else { self.nothing() };
                self.push_scaled(&mut lines, pairs, different, None);
            }
        }
        lines
    }

    /// A block above others, and c above and below all of them: where each is cut.
    fn scaled_alignment(&self, scales: &ScaleMaker) -> Vec<u64> {
        let (first, last) = scales.range();
        let totals = [-140, -100, -40, -12, 0, 6, 12, 40, 100];
        let totals = totals.map(|total: i32| total.clamp(first, last));
        let totals = totals.iter().enumerate().filter(|(at, total)| !totals[..*at].contains(total));
        let totals: Vec<i32> = totals.map(|(_, total)| *total).collect();
        let (unit, ones) = ((self.x.one, self.y.one), (self.x.ones, self.y.ones));
        let both = [false, true];
        let mut lines = Vec::new();
        for (large, small) in both.iter().flat_map(|large| both.map(|small| (*large, small))) {
            for gap in -4..GAPS {
                for &total in &totals {
                    let pair = scales.power(total);
                    for (product, pair) in
                        [(unit, pair), (ones, scales.ones(pair)), ((self.x.tiny, self.y.tiny), pair)]
                    {
                        let product = self.negated(small, product);
                        let Some(c) = self.c_power(large, total + gap) else { continue };
                        self.push_scaled(&mut lines, |_| product, |_| pair, Some(c | 1));
                        let single = |at| if at == 0 { product } else { self.nothing() };
                        self.push_scaled(&mut lines, single, |_| pair, Some(c));
                    }
                }
                // A block above all others, at either end, with and without c below it.
                let top = gap / 2;
                let (first, rest) = (scales.power(top), scales.power(top - gap));
                for (place, product) in [(0, unit), (scales.blocks - 1, unit), (0, ones)] {
                    let pairs = |at: usize| {
                        self.negated(if at / scales.block == place { large } else { small }, product)
                    };
                    let of_block = |block| if block == place { first } else { rest };
                    let last_bits = |block| scales.ones(of_block(block));
                    let single =
                        |at: usize| if at.is_multiple_of(scales.block) { pairs(at) } else { self.nothing() };
                    let zeros_above =
                        |at: usize| if at / scales.block == place { self.nothing() } else { pairs(at) };
                    let c = self.c_power(small, top - gap);
                    self.push_scaled(&mut lines, pairs, of_block, None);
                    self.push_scaled(&mut lines, single, last_bits, c);
                    self.push_scaled(&mut lines, single, of_block, c.map(|c| c | 0x55_5555));
                    // Zeros have the exponents of their scales.
                    self.push_scaled(&mut lines, zeros_above, of_block, c.map(|c| c | 1));
                }
            }
        }
        lines
    }

    /// Blocks that cancel one another or c, by scales that share their product otherwise, and one
    /// that is left over.
    fn scaled_cancelling(&self, scales: &ScaleMaker, count: usize) -> Vec<u64> {
        let half = scales.blocks / 2 * scales.block;
        let (xs, ys) = (self.x.numbers(count), self.y.numbers(count));
        let mut lines = Vec::new();
        for (i, &x) in xs.iter().enumerate() {
            for (j, &y) in ys.iter().enumerate() {
                let total = [0, 3, -4, 9, -11, 40, -60, 110][(i + j) % 8];
                let (s, t) = scales.ones(scales.power(total));
                // Both halves have equal products.
                let shared = |block: usize| if block * scales.block < half { (s, t) } else { (t, s) };
                let opposite =
                    |at: usize| self.negated(at >= half && half > 0 || half == 0 && at % 2 == 1, (x, y));
                self.push_scaled(&mut lines, opposite, shared, None);
                let rest = (self.x.tiny, self.y.one);
                let left = |at: usize| if at + 1 == self.length { rest } else { opposite(at) };
                self.push_scaled(&mut lines, left, shared, None);
                // c is the opposite of the first product.
                let pair = scales.power(total);
                let exponent = |code| scales.codes.format.decode(code).exponent_of_leading_bit();
                let c = self.opposite((x, y), exponent(pair.0) + exponent(pair.1));
                for other in [self.nothing(), rest] {
                    let pairs = |at: usize| match at {
                        0 => (x, y),
                        _ if at + 1 == self.length => other,
                        _ => self.nothing(),
                    };
                    self.push_scaled(&mut lines, pairs, |_| pair, c);
                }
            }
        }
        lines
    }

    /// The largest and the smallest scales, and sums at both ends of the register's range.
    fn extreme_scales(&self, scales: &ScaleMaker) -> Vec<u64> {
        let Some(c) = &self.c else { return Vec::new() };
        let codes = &scales.codes;
        let extremes = [codes.tiny, codes.tiny + 1, codes.min_normal, codes.one, codes.max - 1, codes.max];
        let pairs = |at: usize| {
            [(self.x.one, self.y.one), (self.x.max, self.y.max), (self.x.tiny, self.y.tiny), self.nothing()]
                [at]
        };
        let powers = [-110, -60, 60, 110].map(|e| self.c_power(false, e).unwrap_or(c.one));
        let mut cs = vec![c.zero, c.one, c.tiny, c.max_subnormal, c.min_normal, c.max, c.negated(c.max)];
        cs.extend(powers.map(|code| code | 1));
        let mut lines = Vec::new();
        for s in extremes {
            for t in extremes {
                for (at, &c) in cs.iter().enumerate() {
                    for which in 0..4 {
                        let product = self.negated((at + which) % 3 == 1, pairs(which));
                        let alone = (at + which) % 2 == 0;
                        let line = |at| if alone && at > 0 { self.nothing() } else { product };
                        self.push_scaled(&mut lines, line, |_| (s, t), Some(c));
                    }
                }
            }
        }
        for negative in [false, true] {
            for total in (118..=130).chain(-152..=-120) {
                let pair = scales.power(total);
                for (which, count) in (0..3).flat_map(|which| [1, 2, 3, self.length].map(|n| (which, n))) {
                    let product = self.negated(negative, pairs(which));
                    let line = |at| if at < count { product } else { self.nothing() };
                    let end = if total > 0 { c.max } else { c.tiny };
                    for c in [None, Some(c.signed(negative, end)), Some(c.signed(!negative, end))] {
                        self.push_scaled(&mut lines, line, |_| pair, c);
                    }
                }
            }
        }
        lines
    }

    /// NaN and zero among scales, infinities and NaNs among the elements under scales.
    fn special_scales(&self, scales: &ScaleMaker) -> Vec<u64> {
        let Some(c) = &self.c else { return Vec::new() };
        let codes = &scales.codes;
        let one = scales.one();
        let zero = codes.format.has_zero().then_some(codes.zero);
        let specials = codes.nan.into_iter().chain(zero);
        let specials: Vec<u64> = specials.flat_map(|code| [code, code | sign(codes)]).collect();
        let elements = [self.nothing(), (self.x.one, self.y.one), (self.x.max, self.y.max)];
        let mut cs = vec![c.zero, c.negated(c.zero), c.one, c.tiny];
        cs.extend(c.infinity.iter().flat_map(|code| [*code, c.negated(*code)]).chain(c.nan));
        let mut lines = Vec::new();
        for &special in &specials {
            for &c in &cs {
                for pair in elements {
                    for scale in
                        [(special, codes.one), (codes.one, special), (special, special), (special, codes.max)]
                    {
                        self.push_scaled(&mut lines, |_| pair, |_| scale, Some(c));
                    }
                    for block in scales.some_blocks() {
                        for scale in [(special, codes.max), (codes.max, special)] {
                            let of_block = |at| if at == block { scale } else { one };
                            self.push_scaled(&mut lines, |_| pair, of_block, Some(c));
                        }
                    }
                }
            }
        }
        // An accumulator that is no number beside products that are.
        for &c in &cs {
            for pair in elements {
                self.push_scaled(
                    &mut lines,
                    |at| self.negated(at % 2 == 1, pair),
                    |_| (codes.max, codes.one),
                    Some(c),
                );
            }
        }
        let of = |codes: &Codes| {
            let infinite = codes.infinity.into_iter().flat_map(|code| [code, codes.negated(code)]);
            codes.nan.into_iter().chain(infinite).collect::<Vec<u64>>()
        };
        let of_x = of(&self.x).into_iter().flat_map(|x| [(x, self.y.one), (x, self.y.zero)]);
        let of_y = of(&self.y).into_iter().flat_map(|y| [(self.x.one, y), (self.x.zero, y)]);
        for product in of_x.chain(of_y) {
            for scale in [
                one,
                (codes.tiny, codes.tiny),
                (codes.max, codes.max),
                (codes.nan.unwrap_or(codes.max), codes.one),
            ] {
                for block in scales.some_blocks() {
                    let pairs = |at: usize| {
                        if at == block * scales.block { product } else { (self.x.one, self.y.one) }
                    };
                    self.push_scaled(&mut lines, pairs, |_| scale, None);
                    for &c in &cs[4..] {
                        self.push_scaled(&mut lines, pairs, |_| scale, Some(c));
                    }
                }
            }
        }
        lines
    }
}

/// The bit of the sign, if the format has one.
fn sign(codes: &Codes) -> u64 {
    if codes.format.is_signed() { 1 << (codes.format.width() - 1) } else { 0 }
}
