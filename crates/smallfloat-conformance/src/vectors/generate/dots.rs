//! Operands for dot products: where an accumulator cuts, cancels, overflows, and meets infinities.

use smallfloat::ops::{Semantics, multiply};
use smallfloat::{Datum, Format, project};

use crate::vectors::dots::DotProduct;
use crate::vectors::generate::directed::Model;
use crate::vectors::generate::pools;
use crate::vectors::generate::scales::ScaleMaker;
use crate::vectors::level::CoverageLevel;
use crate::vectors::unit::Field;

/// The distances, in binades, at which a term is put below another: more than a register has bits.
const GAPS: i32 = 48;

/// Numbers of a model, at most: of long sums some of its lines, evenly spread.
const NUMBERS: usize = 1 << 22;

/// All models that aim at a result.
pub(super) fn models(dot: &DotProduct, level: CoverageLevel) -> Vec<Model> {
    let effort = if level == CoverageLevel::One { 1 } else { 4 };
    let maker = Maker::new(dot);
    let mut models = vec![
        Model { name: "single products", operands: maker.single(8 * effort) },
        Model { name: "alignment", operands: maker.alignment() },
        Model { name: "cancelling", operands: maker.cancelling(8 * effort) },
        Model { name: "subnormal", operands: maker.subnormal() },
        Model { name: "saturating", operands: maker.saturating() },
        Model { name: "special", operands: maker.special() },
    ];
    models.extend(maker.of_scales(8 * effort));
    models.extend(maker.of_terms(dot));
    for model in &mut models {
        let lines: Vec<&[u64]> = model.operands.chunks_exact(maker.width()).collect();
        if model.operands.len() > NUMBERS {
            model.operands = pools::sample(&lines, NUMBERS / maker.width()).concat();
        }
    }
    models.retain(|model| !model.operands.is_empty());
    models
}

/// The code of a finite operand; of others a finite one.
pub(super) fn finite(field: &Field, code: u64) -> u64 {
    let Some(format) = &field.format else { return code };
    // Without the highest bit of the exponent, or of a NaN where −0 would be, zero.
    let top = format.width() - 1 - u32::from(format.is_signed());
    let codes = [code, code & !(1 << top), 0];
    codes.into_iter().find(|code| format.decode(*code).is_finite()).unwrap_or(code)
}

/// A code of a scale in the middle of its format, so that products of several blocks meet.
pub(super) fn middle(field: &Field, [a, _, _, d]: [u32; 4]) -> u64 {
    match &field.format {
        Some(format) if format.trailing_bits() == 0 => {
            let one = format.encode(Datum::finite(false, 1, 0)).expect("scales have powers of two");
            one + u64::from(d % 27) - 13
        }
        _ => u64::from(a) & field.max(),
    }
}

/// The codes of a format that have a part in the models.
pub(super) struct Codes {
    pub(super) format: Format,
    pub(super) zero: u64,
    pub(super) one: u64,
    /// The largest value below 2: a significand of ones.
    pub(super) ones: u64,
    pub(super) max: u64,
    pub(super) tiny: u64,
    pub(super) min_normal: u64,
    pub(super) max_subnormal: u64,
    pub(super) infinity: Option<u64>,
    pub(super) nan: Option<u64>,
    /// Powers of two with their exponents, ascending.
    pub(super) powers: Vec<(i32, u64)>,
}

impl Codes {
    pub(super) fn new(format: Format) -> Self {
        let code = |datum: Datum| format.encode(datum);
        let tiny = code(format.min_positive()).expect("it is a value");
        let one = code(Datum::finite(false, 1, 0)).unwrap_or(tiny);
        let ones = (1 << format.precision()) - 1;
        let ones = code(Datum::finite(false, ones, 1 - format.precision().cast_signed())).unwrap_or(one);
        let exponents =
            format.min_positive().exponent_of_leading_bit()..=format.max_finite().exponent_of_leading_bit();
        let powers = exponents.filter_map(|e| Some((e, code(Datum::finite(false, 1, e))?)));
        Self {
            zero: code(Datum::ZERO).unwrap_or(tiny),
            one,
            ones,
            max: code(format.max_finite()).expect("it is a value"),
            tiny,
            min_normal: code(format.min_normal()).expect("it is a value"),
            max_subnormal: format.max_subnormal().and_then(code).unwrap_or(tiny),
            infinity: code(Datum::Infinite { negative: false }),
            nan: code(Datum::Nan { negative: false }),
            powers: powers.collect(),
            format,
        }
    }

    /// The code with the other sign, if the format has it.
    pub(super) fn negated(&self, code: u64) -> u64 {
        self.format.encode(self.format.decode(code).negated()).unwrap_or(code)
    }

    pub(super) fn signed(&self, negative: bool, code: u64) -> u64 {
        if negative { self.negated(code) } else { code }
    }

    /// Interesting finite codes that are not zero.
    pub(super) fn numbers(&self, count: usize) -> Vec<u64> {
        let field = Field::code(String::new(), &self.format);
        let mut pool = pools::pool(&field, 256);
        pool.retain(|code| {
            let datum = self.format.decode(*code);
            datum.is_finite() && !datum.is_zero()
        });
        pools::sample(&pool, count)
    }
}

/// Powers of two whose product is 2^exponent.
pub(super) fn power(x: &Codes, y: &Codes, exponent: i32) -> Option<Pair> {
    // From the middle outward, so that neither is at the end of its range if it need not be.
    let mut powers: Vec<_> = x.powers.iter().collect();
    powers.sort_by_key(|(e, _)| (2 * e - exponent).abs());
    powers.into_iter().find_map(|(e, x)| {
        let (_, y) = y.powers.iter().find(|(other, _)| e + other == exponent)?;
        Some((*x, *y))
    })
}

/// Makes lines: all x, all y, scales and c if the unit has them.
pub(super) struct Maker {
    pub(super) length: usize,
    pub(super) x: Codes,
    pub(super) y: Codes,
    pub(super) scales: Option<ScaleMaker>,
    pub(super) c: Option<Codes>,
}

/// The operands of a product, or the scales of x and of y in a block.
pub(super) type Pair = (u64, u64);

impl Maker {
    pub(super) fn new(dot: &DotProduct) -> Self {
        let [x, y] = dot.formats();
        let c = dot.has_accumulator().then(|| Codes::new(dot.register()));
        let scales = dot.scales().map(|scales| ScaleMaker::new(scales, dot.blocks()));
        Self { length: dot.length(), x: Codes::new(*x), y: Codes::new(*y), scales, c }
    }

    /// Adds a line with these products, from the first place on; zeros fill the others. Scales, if
    /// there are some, change no product.
    pub(super) fn push(&self, lines: &mut Vec<u64>, pairs: impl Fn(usize) -> Pair, c: Option<u64>) {
        let turn = lines.len() / self.width();
        let scales = self.scales.as_ref().map_or((0, 0), |scales| scales.balanced(turn));
        self.push_scaled(lines, pairs, |_| scales, c);
    }

    /// Adds a line with these products, and scales by the number of the block.
    pub(super) fn push_scaled(
        &self,
        lines: &mut Vec<u64>,
        pairs: impl Fn(usize) -> Pair,
        scales: impl Fn(usize) -> Pair,
        c: Option<u64>,
    ) {
        lines.extend((0..self.length).map(|i| pairs(i).0));
        lines.extend((0..self.length).map(|i| pairs(i).1));
        let blocks = self.scales.as_ref().map_or(0, |scales| scales.blocks);
        lines.extend((0..blocks).map(|i| scales(i).0));
        lines.extend((0..blocks).map(|i| scales(i).1));
        if let Some(codes) = &self.c {
            lines.push(c.unwrap_or(codes.zero));
        }
    }

    /// How many operands a line has.
    fn width(&self) -> usize {
        let scales = self.scales.as_ref().map_or(0, |scales| 2 * scales.blocks);
        2 * self.length + scales + usize::from(self.c.is_some())
    }

    pub(super) fn nothing(&self) -> Pair {
        (self.x.zero, self.y.zero)
    }

    pub(super) fn negated(&self, negative: bool, (x, y): Pair) -> Pair {
        if !negative {
            return (x, y);
        }
        // Of unsigned formats the other one has the sign.
        let other = self.x.negated(x);
        if other == x { (x, self.y.negated(y)) } else { (other, y) }
    }

    /// The accumulator nearest to −x·y·2^scale.
    pub(super) fn opposite(&self, (x, y): Pair, scale: i32) -> Option<u64> {
        let codes = self.c.as_ref()?;
        let (x, y) = (self.x.format.decode(x), self.y.format.decode(y));
        let product = multiply(x, y, Semantics::Ieee).exact.scaled(scale);
        let c = project(product, &codes.format, &codes.format.default_projection()).value;
        Some(codes.negated(c))
    }

    /// The code of ±2^exponent in the register.
    pub(super) fn c_power(&self, negative: bool, exponent: i32) -> Option<u64> {
        self.c.as_ref()?.format.encode(Datum::finite(negative, 1, exponent))
    }

    /// Powers of two whose product is 2^exponent.
    pub(super) fn power(&self, exponent: i32) -> Option<Pair> {
        power(&self.x, &self.y, exponent)
    }

    /// The exponents of the smallest and the largest product of powers.
    pub(super) fn product_range(&self) -> Option<(i32, i32)> {
        let ((first, _), (last, _)) = (self.x.powers.first()?, self.x.powers.last()?);
        let ((other_first, _), (other_last, _)) = (self.y.powers.first()?, self.y.powers.last()?);
        Some((first + other_first, last + other_last))
    }

    /// One product in each place, all others zero.
    fn single(&self, count: usize) -> Vec<u64> {
        let (xs, ys) = (self.x.numbers(count), self.y.numbers(count));
        let places: Vec<usize> = pools::sample(&(0..self.length).collect::<Vec<_>>(), 32);
        let mut lines = Vec::new();
        for (i, x) in xs.iter().enumerate() {
            for (j, y) in ys.iter().enumerate() {
                // Every place comes with some of the products.
                let places = places.iter().skip((i + j) % 4).step_by(4.min(places.len()));
                for &place in places {
                    let c = self.c.as_ref().filter(|_| (i + j) % 3 == 0).map(|c| c.one);
                    self.push(&mut lines, |at| if at == place { (*x, *y) } else { self.nothing() }, c);
                }
            }
        }
        lines
    }

    /// A large term, and others so many binades below it: where each is cut, and how.
    fn alignment(&self) -> Vec<u64> {
        let Some((lowest, highest)) = self.product_range() else { return Vec::new() };
        let mut lines = Vec::new();
        let both = [false, true];
        let signs = both.iter().flat_map(|large| both.map(|small| (*large, small)));
        let ones = (self.x.ones, self.y.ones);
        for (large, small) in signs {
            for gap in -2..GAPS {
                // c above or below equal products, and above one.
                for (pair, exponent) in [((self.x.one, self.y.one), 0), (ones, 1)] {
                    let pair = self.negated(small, pair);
                    let Some(c) = self.c_power(large, exponent + gap) else { continue };
                    self.push(&mut lines, |_| pair, Some(c));
                    self.push(&mut lines, |at| if at == 0 { pair } else { self.nothing() }, Some(c));
                }
                // A product above others, at either end, with and without c.
                let top = highest.min(lowest + gap.max(0) + 8);
                let (Some(first), Some(rest)) = (self.power(top), self.power(top - gap)) else { continue };
                let (first, rest) = (self.negated(large, first), self.negated(small, rest));
                let c = self.c_power(small, top - gap);
                for place in [0, self.length - 1] {
                    let pairs = |at| if at == place { first } else { rest };
                    self.push(&mut lines, pairs, None);
                    if c.is_some() {
                        self.push(&mut lines, pairs, c);
                    }
                }
            }
        }
        // c with low bits, above and below one product.
        if let Some(codes) = &self.c {
            let trailing = codes.format.trailing_bits();
            for negative in both {
                for bit in 0..trailing {
                    let c = codes.signed(negative, codes.one | 1 << bit | 1);
                    for pair in [(self.x.one, self.y.one), ones, (self.x.tiny, self.y.one)] {
                        self.push(&mut lines, |at| if at == 0 { pair } else { self.nothing() }, Some(c));
                    }
                }
            }
        }
        lines
    }

    /// Products that cancel: neighbours, halves, with c; and one that is left over.
    fn cancelling(&self, count: usize) -> Vec<u64> {
        let (xs, ys) = (self.x.numbers(count), self.y.numbers(count));
        let half = self.length / 2;
        let left_over = [self.nothing(), (self.x.tiny, self.y.tiny), (self.x.tiny, self.y.one)];
        let mut lines = Vec::new();
        for &x in &xs {
            for &y in &ys {
                for rest in left_over {
                    let last = |at: usize, pair| if at + 1 == self.length { rest } else { pair };
                    self.push(&mut lines, |at| last(at, self.negated(at % 2 == 1, (x, y))), None);
                    self.push(&mut lines, |at| last(at, self.negated(at >= half, (x, y))), None);
                }
                self.push(&mut lines, |at| self.negated(at % 2 == 1, (x, y)), None);
                let Some(c) = self.opposite((x, y), 0) else { continue };
                for rest in left_over {
                    let pairs = |at: usize| match at {
                        0 => (x, y),
                        1 => rest,
                        _ => self.nothing(),
                    };
                    self.push(&mut lines, pairs, Some(c));
                }
            }
        }
        lines
    }

    /// The smallest operands, products and accumulators.
    fn subnormal(&self) -> Vec<u64> {
        let of = |codes: &Codes| [codes.tiny, codes.max_subnormal, codes.min_normal, codes.one];
        let mut cs = vec![None];
        if let Some(c) = &self.c {
            cs.extend([c.tiny, c.max_subnormal, c.min_normal].map(Some));
            cs.extend([c.tiny, c.max_subnormal, c.min_normal].map(|code| Some(c.negated(code))));
        }
        let mut lines = Vec::new();
        for x in of(&self.x) {
            for y in of(&self.y) {
                for &c in &cs {
                    self.push(&mut lines, |_| (x, y), c);
                    self.push(&mut lines, |at| self.negated(at % 2 == 1, (x, y)), c);
                    self.push(&mut lines, |at| if at == 0 { (x, y) } else { self.nothing() }, c);
                    self.push(&mut lines, |at| self.negated(at != 0, (x, y)), c);
                }
            }
        }
        lines
    }

    /// The largest products and accumulators, and steps around the end of the register's range.
    fn saturating(&self) -> Vec<u64> {
        let largest = (self.x.max, self.y.max);
        let mut lines = Vec::new();
        for negative in [false, true] {
            let pair = self.negated(negative, largest);
            for count in [1, 2, 3, self.length / 2, self.length - 1, self.length] {
                let pairs = |at| if at < count { pair } else { self.nothing() };
                self.push(&mut lines, pairs, None);
                let Some(codes) = &self.c else { continue };
                for c in [codes.max, codes.negated(codes.max), codes.max ^ 1] {
                    self.push(&mut lines, pairs, Some(c));
                }
            }
            let (Some(codes), Some((lowest, highest))) = (&self.c, self.product_range()) else { continue };
            let last = codes.format.max_finite().exponent_of_leading_bit()
                - codes.format.trailing_bits().cast_signed();
            for exponent in (last - 3).max(lowest)..=(last + 16).min(highest) {
                let Some(pair) = self.power(exponent).map(|pair| self.negated(negative, pair)) else {
                    continue;
                };
                for count in [1, 2, 3, self.length] {
                    for c in [codes.max, codes.max - 1] {
                        let pairs = |at| if at < count { pair } else { self.nothing() };
                        self.push(&mut lines, pairs, Some(codes.signed(negative, c)));
                    }
                }
            }
        }
        lines
    }

    /// NaNs and infinities in all operands, zeros of both signs.
    fn special(&self) -> Vec<u64> {
        let mut lines = Vec::new();
        let specials = |codes: &Codes| {
            let infinite = codes.infinity.into_iter().flat_map(|code| [code, codes.negated(code)]);
            codes.nan.into_iter().chain(infinite).collect::<Vec<_>>()
        };
        let partners = |codes: &Codes| {
            let mut all = vec![codes.one, codes.negated(codes.one), codes.zero, codes.tiny];
            all.extend(codes.infinity);
            all
        };
        let mut cs = vec![None];
        if let Some(c) = &self.c {
            cs.extend([Some(c.one), Some(c.max)]);
            cs.extend(specials(c).into_iter().map(Some));
        }
        let in_x =
            specials(&self.x).into_iter().flat_map(|x| partners(&self.y).into_iter().map(move |y| (x, y)));
        let in_y =
            specials(&self.y).into_iter().flat_map(|y| partners(&self.x).into_iter().map(move |x| (x, y)));
        let products: Vec<Pair> = in_x.chain(in_y).collect();
        let plain = [self.nothing(), (self.x.one, self.y.one), (self.x.max, self.y.max)];
        for &product in &products {
            for (at, rest) in plain.iter().enumerate() {
                let place = [0, self.length - 1, self.length / 2][at];
                for &c in &cs {
                    self.push(&mut lines, |at| if at == place { product } else { *rest }, c);
                }
            }
            // Two of them.
            for &other in products.iter().step_by(3) {
                let pairs = |at: usize| match at {
                    0 => product,
                    1 => other,
                    _ => self.nothing(),
                };
                self.push(&mut lines, pairs, None);
            }
        }
        // Zeros of both signs, beside each c.
        if let Some(c) = &self.c {
            cs.push(Some(c.negated(c.zero)));
        }
        for c in cs {
            for zero in [self.nothing(), (self.x.negated(self.x.zero), self.y.one)] {
                self.push(&mut lines, |_| zero, c);
                self.push(&mut lines, |at| if at == 0 { (self.x.one, self.y.one) } else { zero }, c);
            }
        }
        lines
    }
}
