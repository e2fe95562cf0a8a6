//! Operands for dot products by what their terms are: each class in each lane, one product alone,
//! signs, what is left of terms that cancel, how sums grow, and which groups have products.

use smallfloat::Datum;

use crate::vectors::dots::DotProduct;
use crate::vectors::generate::directed::Model;
use crate::vectors::generate::dots::{Codes, Maker, Pair};
use crate::vectors::generate::pools;

/// The distances, in binades, at which a term is put below others: more than a sum keeps of what is
/// aligned.
const GAPS: i32 = 56;

impl Codes {
    /// A code of each class, the largest numbers apart.
    fn classes(&self) -> Vec<u64> {
        let mut codes = vec![self.zero, self.tiny, self.one, self.max];
        codes.extend(self.infinity.into_iter().chain(self.nan));
        codes.dedup();
        codes
    }

    /// The specials: NaN, infinities of both signs.
    fn specials(&self) -> Vec<u64> {
        let infinite = self.infinity.into_iter().flat_map(|code| [code, self.negated(code)]);
        self.nan.into_iter().chain(infinite).collect()
    }

    fn is_finite(&self, code: u64) -> bool {
        self.format.decode(code).is_finite()
    }
}

impl Maker {
    /// All models of terms.
    pub(super) fn of_terms(&self, dot: &DotProduct) -> Vec<Model> {
        let lanes = (0..self.length).flat_map(|lane| self.in_lane(lane)).collect();
        let blocks = (0..dot.blocks()).flat_map(|block| self.in_block(block)).collect();
        vec![
            Model { name: "operand classes", operands: self.classes() },
            Model { name: "lanes", operands: lanes },
            Model { name: "signs", operands: self.signs() },
            Model { name: "left over", operands: self.left_over() },
            Model { name: "growth", operands: self.growth() },
            Model { name: "accumulators", operands: self.accumulators() },
            Model { name: "rounding boundaries", operands: self.boundaries(dot) },
            Model { name: "groups", operands: self.groups(dot) },
            Model { name: "scale classes", operands: blocks },
        ]
    }

    /// Accumulators of both signs beside zero.
    fn signed_c(&self) -> Vec<Option<u64>> {
        let signed = self.c.as_ref().map(|c| [c.one, c.negated(c.one)].map(Some));
        std::iter::once(None).chain(signed.into_iter().flatten()).collect()
    }

    /// All accumulators that are special, and one that is not.
    fn special_c(&self) -> Vec<Option<u64>> {
        let specials = self.c.as_ref().map(Codes::specials).unwrap_or_default();
        std::iter::once(None).chain(specials.into_iter().map(Some)).collect()
    }

    /// Each class of x with each of y, in all lanes.
    fn classes(&self) -> Vec<u64> {
        let mut lines = Vec::new();
        for x in self.x.classes() {
            for y in self.y.classes() {
                for c in self.signed_c() {
                    self.push(&mut lines, |_| (x, y), c);
                    self.push(&mut lines, |at| self.negated(at % 2 == 1, (x, y)), c);
                }
            }
        }
        lines
    }

    /// One product alone: of normal, subnormal, largest, infinite operands and NaN, of both signs.
    pub(super) fn in_lane(&self, lane: usize) -> Vec<u64> {
        let mut lines = Vec::new();
        let mut products = vec![
            (self.x.one, self.y.one),
            (self.x.one, self.y.tiny),
            (self.x.tiny, self.y.one),
            (self.x.max, self.y.one),
            (self.x.one, self.y.max),
        ];
        products.extend(self.x.infinity.into_iter().chain(self.x.nan).map(|x| (x, self.y.one)));
        products.extend(self.y.infinity.into_iter().chain(self.y.nan).map(|y| (self.x.one, y)));
        for product in products {
            for negative in [false, true] {
                let product = self.negated(negative, product);
                self.push(&mut lines, |at| if at == lane { product } else { self.nothing() }, None);
            }
        }
        lines
    }

    /// None, one, some and all products, of one sign and of both; infinities and NaNs likewise,
    /// beside accumulators of each kind; zeros of all signs.
    fn signs(&self) -> Vec<u64> {
        let (mut lines, last) = (Vec::new(), self.length - 1);
        let one = (self.x.one, self.y.one);
        let shapes: [fn(usize, usize) -> Option<bool>; 9] = [
            |_, _| None,
            |at, _| (at == 0).then_some(false),
            |at, _| (at == 0).then_some(true),
            |at, _| (at < 2).then_some(false),
            |at, _| (at < 2).then_some(true),
            |at, _| (at < 2).then_some(at == 1),
            |_, _| Some(false),
            |_, _| Some(true),
            |at, last| Some(at == last),
        ];
        for shape in shapes {
            let pairs = |pair: Pair| {
                move |at: usize| match shape(at, last) {
                    Some(negative) => self.negated(negative, pair),
                    None => self.nothing(),
                }
            };
            for c in self.signed_c() {
                self.push(&mut lines, pairs(one), c);
                // A term more on one side, so that the sum is not zero.
                let more = |at: usize| if at == 0 { (self.x.max, self.y.one) } else { pairs(one)(at) };
                self.push(&mut lines, more, c);
            }
            let specials = self.x.specials().into_iter().map(|x| (x, self.y.one));
            let specials = specials.chain(self.y.specials().into_iter().map(|y| (self.x.one, y)));
            let invalid = self.x.infinity.map(|x| (x, self.y.zero));
            for special in specials.chain(invalid) {
                for c in self.special_c() {
                    self.push(&mut lines, pairs(special), c);
                }
            }
        }
        let zero = self.nothing();
        for c in self.special_c().into_iter().chain(self.c.as_ref().map(|c| Some(c.negated(c.zero)))) {
            self.push(&mut lines, |_| zero, c);
            self.push(&mut lines, |_| self.negated_zero(), c);
            self.push(&mut lines, |at| if at == 0 { self.negated_zero() } else { zero }, c);
        }
        lines
    }

    /// A product that is −0, if there is one.
    fn negated_zero(&self) -> Pair {
        let other = self.x.format.encode(Datum::Finite { negative: true, significand: 0, exponent: 0 });
        match other.filter(|code| self.x.is_finite(*code)) {
            Some(zero) => (zero, self.y.one),
            None => (self.x.zero, self.y.negated(self.y.one)),
        }
    }

    /// Terms that cancel, and another one any number of binades below them; the largest terms may
    /// be products, c, or both.
    fn left_over(&self) -> Vec<u64> {
        let Some((lowest, highest)) = self.product_range() else { return Vec::new() };
        let mut lines = Vec::new();
        let tops = [highest, 0.clamp(lowest, highest), highest.min(lowest + 30)];
        let ones = (self.x.ones, self.y.ones);
        for (turn, top) in tops.into_iter().enumerate() {
            let Some(large) = self.power(top) else { continue };
            for gap in -2..GAPS {
                let small = self.power(top - gap);
                for (negative, of_small) in [(false, false), (false, true), (true, false), (true, true)] {
                    let c_small = self.c_power(of_small, top - gap);
                    let rest = small.map(|small| self.negated(of_small, small));
                    for pair in [Some(large), Some(ones).filter(|_| turn == 1)].into_iter().flatten() {
                        let [plus, minus] = [negative, !negative].map(|sign| self.negated(sign, pair));
                        let at = |places: [Option<Pair>; 3]| {
                            move |at: usize| places.get(at).copied().flatten().unwrap_or(self.nothing())
                        };
                        // p − p + small, as a product and as c.
                        self.push(&mut lines, at([Some(plus), Some(minus), rest]), None);
                        if c_small.is_some() {
                            self.push(&mut lines, at([Some(plus), Some(minus), None]), c_small);
                            self.push(&mut lines, at([Some(plus), None, None]), c_small);
                        }
                        // c, a product as large, and small.
                        let c = self.opposite(plus, 0);
                        if c.is_some() {
                            self.push(&mut lines, at([Some(plus), rest, None]), c);
                            self.push(&mut lines, at([Some(minus), rest, None]), c);
                        }
                        self.push(&mut lines, at([Some(plus), rest, None]), None);
                    }
                }
            }
        }
        lines
    }

    /// So many equal products, and so many with the significands that add up to most.
    fn growth(&self) -> Vec<u64> {
        let mut lines = Vec::new();
        let most = self.largest_significands();
        for pair in [(self.x.one, self.y.one), (self.x.ones, self.y.ones), most] {
            for negative in [false, true] {
                let pair = self.negated(negative, pair);
                let counts = (0..).map(|power| 1_usize << power).take_while(|count| *count < self.length);
                for count in counts.flat_map(|count| [count, count + 1]).chain([self.length]) {
                    let pairs = |at| if at < count { pair } else { self.nothing() };
                    self.push(&mut lines, pairs, None);
                    let Some(codes) = &self.c else { continue };
                    for code in [codes.one, codes.ones] {
                        self.push(&mut lines, pairs, Some(codes.signed(negative, code)));
                        let doubled = codes.format.encode(times_two(codes.format.decode(code)));
                        self.push(&mut lines, pairs, doubled.map(|code| codes.signed(negative, code)));
                    }
                }
            }
        }
        lines
    }

    /// Operands between 1 and 2 whose product, as a number between 1 and 2, is largest.
    fn largest_significands(&self) -> Pair {
        let codes = |codes: &Codes| -> Vec<(u64, f64)> {
            let low = codes.one ^ codes.ones;
            let all = pools::sample(&(0..=low).collect::<Vec<_>>(), 256).into_iter();
            let values = all.map(|low| (codes.one | low, codes.format.decode(codes.one | low).to_f64()));
            values
                .filter_map(|(code, value)| Some((code, value.filter(|x| (1.0..2.0).contains(x))?)))
                .collect()
        };
        let ys = codes(&self.y);
        let products = codes(&self.x).into_iter().flat_map(|(x, of_x)| {
            ys.iter().map(move |(y, of_y)| {
                let product = of_x * of_y;
                ((x, *y), if product >= 2.0 { product / 2.0 } else { product })
            })
        });
        let largest = products.reduce(|a, b| if b.1 > a.1 { b } else { a });
        largest.map_or((self.x.one, self.y.one), |(pair, _)| pair)
    }

    /// Accumulators of every exponent alone, beside the smallest or the largest products, and
    /// beside two.
    fn accumulators(&self) -> Vec<u64> {
        let Some(c) = &self.c else { return Vec::new() };
        let mut lines = Vec::new();
        let smallest = self.scales.as_ref().map_or((0, 0), |scales| (scales.codes.zero, scales.codes.zero));
        for (turn, code) in pools::of_fields(&c.format).into_iter().enumerate() {
            // Scales move the exponents of zero products too.
            self.push_scaled(&mut lines, |_| self.nothing(), |_| smallest, Some(code));
            let pair = [(self.x.tiny, self.y.tiny), (self.x.max, self.y.max)][turn % 2];
            let other = self.negated(turn / 2 % 2 == 1, (self.x.ones, self.y.tiny));
            let pairs = |at: usize| match at {
                0 => pair,
                1 if turn % 3 == 0 => other,
                _ => self.nothing(),
            };
            self.push(&mut lines, pairs, Some(code));
        }
        lines
    }

    /// Accumulators of every exponent that products come near to, with a half, a quarter, three
    /// quarters and the whole of the last place of the sum, of either sign.
    fn boundaries(&self, dot: &DotProduct) -> Vec<u64> {
        let Some(c) = &self.c else { return Vec::new() };
        let to = dot.matrix_unit().map_or(c.format, |unit| unit.fused().output.format());
        let (lowest, trailing) =
            (to.min_normal().exponent_of_leading_bit(), to.trailing_bits().cast_signed());
        let ones = (1_u64 << c.format.trailing_bits()) - 1;
        let mut lines = Vec::new();
        for (exponent, code) in &c.powers {
            let place = exponent.max(&lowest) - trailing;
            let [half, quarter, whole] = [place - 1, place - 2, place].map(|exponent| self.power(exponent));
            // A sum that is a bit longer has a half of its last place even where no more is kept.
            let same = self.power(*exponent);
            for parts in [[half, None], [quarter, None], [half, quarter], [whole, None], [same, whole]] {
                let [Some(first), rest] = parts else { continue };
                // Below the smallest normal number there are fewer bits behind the first.
                let tails = [0, ones, ones / 2 + 1, 1]
                    .map(|tail| tail & (code & code.wrapping_neg()).wrapping_sub(1));
                for (turn, tail) in tails.into_iter().enumerate() {
                    for (negative, opposite) in [(false, false), (false, true), (true, false), (true, true)] {
                        let of = |pair| self.negated(negative ^ opposite, pair);
                        let pairs = |at: usize| match (at, rest) {
                            (0, _) => of(first),
                            (1, Some(rest)) => self.negated(turn == 3, of(rest)),
                            _ => self.nothing(),
                        };
                        self.push(&mut lines, pairs, Some(c.signed(negative, code | tail)));
                    }
                }
            }
        }
        lines
    }

    /// Products in some groups alone, beside sums that were zero, finite or infinite before.
    fn groups(&self, dot: &DotProduct) -> Vec<u64> {
        let Some(k) = dot.group().filter(|k| *k < self.length) else { return Vec::new() };
        let (mut lines, last) = (Vec::new(), (self.length - 1) / k);
        let places = [vec![0], vec![last], vec![last / 2], vec![0, last], (0..=last).collect()];
        let mut cs = self.special_c();
        cs.extend(self.signed_c());
        cs.extend(self.c.as_ref().map(|c| Some(c.max)));
        for groups in places.iter().chain([&Vec::new()]) {
            for pair in [(self.x.one, self.y.one), (self.x.max, self.y.max)] {
                for &c in &cs {
                    let pairs = |at: usize| if groups.contains(&(at / k)) { pair } else { self.nothing() };
                    self.push(&mut lines, pairs, c);
                }
            }
        }
        lines
    }

    /// Each class of the scales of a block, with each of the other side's.
    pub(super) fn in_block(&self, block: usize) -> Vec<u64> {
        let Some(scales) = &self.scales else { return Vec::new() };
        let (mut lines, one) = (Vec::new(), scales.codes.one);
        let mut classes = scales.codes.classes();
        classes.extend([scales.codes.max_subnormal, scales.codes.ones]);
        for s in &classes {
            for t in &classes {
                let [s, t] = [s, t].map(|code| scales.codes.signed(block % 3 == 1, *code));
                let of_block = |at| if at == block { (s, t) } else { (one, one) };
                self.push_scaled(&mut lines, |_| (self.x.one, self.y.one), of_block, None);
            }
        }
        for (s, t) in [(false, false), (false, true), (true, false), (true, true)] {
            let signed = |negative| scales.codes.signed(negative, one);
            let of_block = |at| if at == block { (signed(s), signed(t)) } else { (one, one) };
            self.push_scaled(&mut lines, |_| (self.x.one, self.y.one), of_block, None);
        }
        lines
    }
}

/// Lines that have each class in a lane, or in a block of scales.
pub(crate) fn in_each(dot: &DotProduct) -> impl Iterator<Item = Vec<u64>> {
    let maker = Maker::new(dot);
    let blocks = dot.blocks();
    (0..dot.length() + blocks).map(move |at| match at.checked_sub(maker.length) {
        None => maker.in_lane(at),
        Some(block) => maker.in_block(block),
    })
}

fn times_two(x: Datum) -> Datum {
    match x {
        Datum::Finite { negative, significand, exponent } => {
            Datum::Finite { negative, significand, exponent: exponent + 1 }
        }
        other => other,
    }
}
