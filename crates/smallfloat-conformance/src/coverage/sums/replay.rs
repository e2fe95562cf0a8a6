//! [`Replay`]: the steps by which an accumulator adds, each with its terms and what is lost.
//!
//! Matrix units align the terms of a group and round once; trees and chains round every sum of two
//! terms; an exact sum is one step. The steps' last result is that of the unit.

use smallfloat::formats::BINARY32;
use smallfloat::ops::{Semantics, Sum, add, fma, multiply};
use smallfloat::{Datum, Exact, Flags, Format, Projection, Rounding, Saturation, project};
use smallfloat_kernels::{Accumulate, Fused, GroupSum, Output};

use crate::terms::{Cut, Term};
use crate::vectors::{BlockScales, DotProduct, scale};

/// What rounding or alignment loses of the terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lost {
    Nothing,
    Bits,
    Term,
}

/// Which terms have the largest exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Largest {
    Accumulator,
    Product,
    Both,
}

/// Where the accumulator is beside the products of its step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    Zero,
    Alone,
    Above,
    Equal,
    BelowWhole,
    BelowCut,
    BelowLost,
}

/// One rounding of a sum, or the sum of special terms, of which only the result is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// By how many binades the largest and the smallest term other than zero are apart, and which
    /// one is the largest; where there are two.
    pub(super) apart: Option<(i32, Largest)>,
    pub(super) lost: Lost,
    /// How many binades the sum lies below its largest term: [`COMPLETE`] where it is zero.
    pub(super) depth: Option<i32>,
    pub(super) position: Option<Position>,
    /// What is rounded.
    pub(super) exact: Option<Exact>,
    pub(super) flags: Flags,
    pub(super) result: Datum,
}

/// The depth of terms that cancel to zero.
pub(super) const COMPLETE: i32 = i32::MAX;

/// How an accumulator adds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accumulation {
    /// A matrix unit, and the formats whose smallest exponents its operands have.
    Fused(Fused, [Format; 2]),
    /// Sums of so many scaled products are exact, so many of which are aligned with a number of
    /// fraction bits.
    Scaled {
        k: usize,
        exact: usize,
        fraction_bits: i32,
    },
    Exact,
    Chain(Format, Projection),
    /// Thirty-two partial sums, then these in halves.
    Partial,
}

/// The steps of a sum.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    dot: &'a DotProduct,
    way: Accumulation,
    /// In their order.
    pub(super) steps: Vec<Step>,
    /// The accumulator that the last group of several begins with.
    pub(super) carried: Option<Datum>,
}

impl Accumulation {
    pub(super) fn of(dot: &DotProduct) -> Self {
        if let Some(unit) = dot.matrix_unit() {
            return Self::Fused(*unit.fused(), *unit.types());
        }
        if let Some(sums) = dot.scaled_sums() {
            let fraction_bits = sums.fraction_bits.cast_signed();
            return Self::Scaled { k: sums.k, exact: sums.exact, fraction_bits };
        }
        match dot.accumulate() {
            Accumulate::F32 => Self::Partial,
            Accumulate::Rounded(format, projection) => Self::Chain(format, projection),
            _ => Self::Exact,
        }
    }

    /// The fraction bits of terms that are aligned together.
    pub(super) fn fraction_bits(self) -> Option<i32> {
        match self {
            Self::Scaled { fraction_bits, .. } => Some(fraction_bits),
            Self::Fused(fused, _) => match fused.sum {
                GroupSum::Aligned { fraction_bits }
                | GroupSum::Down { fraction_bits }
                | GroupSum::DownInHalves { fraction_bits } => Some(fraction_bits.cast_signed()),
                GroupSum::Pairwise | GroupSum::Sequential => None,
            },
            Self::Exact | Self::Chain(..) | Self::Partial => None,
        }
    }

    /// Returns whether the sum of products is cut toward −∞.
    pub(super) fn is_cut_down(self) -> bool {
        let Self::Fused(fused, _) = self else { return false };
        matches!(fused.sum, GroupSum::Down { .. } | GroupSum::DownInHalves { .. })
    }

    /// What the last step makes of a sum.
    pub(super) fn round(self, sum: Exact) -> (Datum, Flags) {
        match self {
            Self::Chain(format, projection) => rounded(sum, &format, &projection),
            Self::Fused(fused, _) if fused.promote.is_none() => of_accumulator(sum, &fused),
            Self::Scaled { k, fraction_bits, .. } => {
                of_accumulator(sum, &Fused::aligned(k, fraction_bits.unsigned_abs(), Output::Binary32))
            }
            Self::Fused(..) | Self::Exact | Self::Partial => nearest(sum),
        }
    }

    /// The format that the last step rounds to, and how.
    pub(super) fn target(self) -> (Format, Rounding) {
        match self {
            Self::Fused(Fused { promote: Some(_), .. }, _) | Self::Exact | Self::Partial => {
                (BINARY32, Rounding::NearestEven)
            }
            Self::Fused(fused, _) => (fused.output.format(), fused.rounding),
            Self::Scaled { .. } => (BINARY32, Rounding::TowardZero),
            Self::Chain(format, projection) => (format, projection.rounding),
        }
    }
}

/// The exponent of the leading bit of a finite value other than 0.
pub(super) fn leading(x: Exact) -> Option<i32> {
    match x {
        Exact::Finite { significand: significand @ 1.., exponent, .. } => {
            Some(exponent + significand.ilog2().cast_signed())
        }
        _ => None,
    }
}

fn nearest(exact: Exact) -> (Datum, Flags) {
    rounded(exact, &BINARY32, &BINARY32.default_projection())
}

fn rounded(exact: Exact, to: &Format, projection: &Projection) -> (Datum, Flags) {
    let result = project(exact, to, projection);
    (to.decode(result.value), result.flags)
}

fn is_equal(x: Exact, y: Datum) -> bool {
    let mut sum = Sum::new();
    if let Exact::Finite { sticky: true, .. } = x {
        return false;
    }
    sum.add_exact(x);
    sum.add(y.negated());
    sum.exact().is_zero()
}

/// How many binades a sum lies below the largest of its terms; `None` without terms.
fn depth(sum: Exact, largest: Option<i32>) -> Option<i32> {
    largest.map(|largest| leading(sum).map_or(COMPLETE, |exponent| largest - exponent))
}

impl Step {
    /// The sum of special terms.
    fn special(result: Datum) -> Self {
        Self {
            apart: None,
            lost: Lost::Nothing,
            depth: None,
            position: None,
            exact: None,
            flags: Flags::NONE,
            result,
        }
    }

    /// The rounded sum of two terms, the first of which is the accumulator.
    fn of_two(c: Exact, product: Exact, exact: Exact, (result, flags): (Datum, Flags)) -> Self {
        if !matches!(exact, Exact::Finite { .. } | Exact::Cancelled) {
            return Self::special(result);
        }
        let (of_c, of_product) = (leading(c), leading(product));
        let apart = of_c.zip(of_product).map(|(c, product)| {
            let largest = match c.cmp(&product) {
                std::cmp::Ordering::Less => Largest::Product,
                std::cmp::Ordering::Equal => Largest::Both,
                std::cmp::Ordering::Greater => Largest::Accumulator,
            };
            ((c - product).abs(), largest)
        });
        let lost = match () {
            () if is_equal(exact, result) => Lost::Nothing,
            () if apart.is_some() && (is_equal(c, result) || is_equal(product, result)) => Lost::Term,
            () => Lost::Bits,
        };
        let position = position(of_c, of_product, lost);
        Self {
            apart,
            lost,
            depth: depth(exact, of_c.max(of_product)),
            position: Some(position),
            exact: Some(exact),
            flags,
            result,
        }
    }
}

/// The place of the accumulator, where it loses so much if it lies below.
fn position(c: Option<i32>, products: Option<i32>, lost: Lost) -> Position {
    match (c, products) {
        (None, _) => Position::Zero,
        (_, None) => Position::Alone,
        (Some(c), Some(products)) if c > products => Position::Above,
        (Some(c), Some(products)) if c == products => Position::Equal,
        _ => match lost {
            Lost::Nothing => Position::BelowWhole,
            Lost::Bits => Position::BelowCut,
            Lost::Term => Position::BelowLost,
        },
    }
}

/// Terms that are aligned: products, and the accumulator.
struct Group {
    products: Vec<Term>,
    c: Term,
}

impl Group {
    /// What is known of the terms before they are added; `lost` says what a term loses.
    fn step(&self, lost: impl Fn(&Term, bool) -> Lost, exact: Exact, result: Datum, flags: Flags) -> Step {
        let is_number = |term: &&Term| term.significand != 0;
        let products = || self.products.iter().filter(is_number);
        let of_c = (self.c.significand != 0).then_some(self.c.exponent);
        let of_products = products().map(|term| term.exponent).max();
        let all = || products().chain(Some(&self.c).filter(is_number));
        let smallest = all().map(|term| term.exponent).min();
        let apart = smallest.filter(|_| all().count() > 1).map(|smallest| {
            let largest = match of_c.cmp(&of_products) {
                std::cmp::Ordering::Less => Largest::Product,
                std::cmp::Ordering::Equal => Largest::Both,
                std::cmp::Ordering::Greater => Largest::Accumulator,
            };
            (of_c.max(of_products).unwrap_or(smallest) - smallest, largest)
        });
        let of_c_lost = if of_c.is_some() { lost(&self.c, true) } else { Lost::Nothing };
        Step {
            apart,
            lost: products().map(|term| lost(term, false)).max().unwrap_or(Lost::Nothing).max(of_c_lost),
            depth: depth(exact, all().map(Term::leading_exponent).max()),
            position: Some(position(of_c, of_products, of_c_lost)),
            exact: Some(exact),
            flags,
            result,
        }
    }
}

/// What a term loses that is cut to a multiple of 2^low.
fn lost_below(term: &Term, low: i32) -> Lost {
    let bits = term.significand.unsigned_abs();
    let zeros = bits.trailing_zeros().cast_signed();
    match () {
        () if bits == 0 || term.unit + zeros >= low => Lost::Nothing,
        () if term.leading_exponent() < low => Lost::Term,
        () => Lost::Bits,
    }
}

impl<'a> Replay<'a> {
    /// The steps of a vector.
    pub(super) fn new(dot: &'a DotProduct, way: Accumulation, operands: &[u64]) -> Self {
        let mut replay = Self { dot, way, steps: Vec::new(), carried: None };
        replay.run(operands);
        replay
    }

    fn run(&mut self, operands: &[u64]) {
        let [x, y, s, t, c] = self.dot.parts(operands);
        let data = |side: usize, codes: &[u64]| -> Vec<Datum> {
            codes.iter().map(|code| self.dot.formats()[side].decode(*code)).collect()
        };
        let (x, y) = (data(0, x), data(1, y));
        let c = c.first().map(|c| self.dot.register().decode(*c));
        match self.way {
            Accumulation::Exact => self.exactly(operands, &x, &y),
            Accumulation::Chain(to, projection) => {
                let mut sum = to.decode(0);
                for (x, y) in x.iter().zip(&y) {
                    sum = self.fma(*x, *y, sum, &to, &projection);
                }
            }
            Accumulation::Partial => self.partial(&x, &y),
            Accumulation::Scaled { k, .. } => {
                let block = self.dot.scales().map_or(k, |scales| scales.block);
                let scales = s.chunks(k / block).zip(t.chunks(k / block));
                let mut c = c.unwrap_or(Datum::ZERO);
                for ((x, y), scales) in x.chunks(k).zip(y.chunks(k)).zip(scales) {
                    self.carried = Some(c).filter(|_| !self.steps.is_empty());
                    c = self.scaled(x, y, scales, c);
                }
            }
            Accumulation::Fused(fused, types) => self.fused(&fused, &types, &x, &y, c.unwrap_or(Datum::ZERO)),
        }
    }

    fn push(&mut self, step: Step) -> Datum {
        self.steps.push(step);
        step.result
    }

    /// x·y + c, rounded.
    fn fma(&mut self, x: Datum, y: Datum, c: Datum, to: &Format, projection: &Projection) -> Datum {
        let exact = fma(x, y, c, Semantics::Ieee).exact;
        let product = multiply(x, y, Semantics::Ieee).exact;
        self.push(Step::of_two(Exact::from_datum(c), product, exact, rounded(exact, to, projection)))
    }

    /// x + y in binary32.
    fn add(&mut self, x: Datum, y: Datum) -> Datum {
        let exact = add(x, y, Semantics::Ieee).exact;
        self.push(Step::of_two(Exact::from_datum(x), Exact::from_datum(y), exact, nearest(exact)))
    }

    /// One sum of all products, rounded once.
    fn exactly(&mut self, operands: &[u64], x: &[Datum], y: &[Datum]) {
        let exact = self.dot.exact(operands);
        let (result, flags) = nearest(exact);
        if !matches!(exact, Exact::Finite { .. } | Exact::Cancelled) {
            self.push(Step::special(result));
            return;
        }
        let products = x.iter().zip(y).map(|(x, y)| term_of_product(*x, *y)).collect();
        let group = Group { products, c: ZERO };
        let step = group.step(|_, _| Lost::Nothing, exact, result, flags);
        self.push(Step { position: None, ..step });
    }

    fn partial(&mut self, x: &[Datum], y: &[Datum]) {
        const LANES: usize = 32;
        let mut sums = [Datum::ZERO; LANES];
        let nearest = BINARY32.default_projection();
        for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                *sum = self.fma(*x, *y, *sum, &BINARY32, &nearest);
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for j in 0..half {
                sums[j] = self.add(sums[j], sums[j + half]);
            }
            half /= 2;
        }
    }

    fn fused(&mut self, fused: &Fused, types: &[Format; 2], x: &[Datum], y: &[Datum], c: Datum) {
        let groups = |this: &mut Self, c: Datum, x: &[Datum], y: &[Datum]| {
            x.chunks(fused.k).zip(y.chunks(fused.k)).fold(c, |c, (x, y)| {
                this.carried = Some(c).filter(|_| !this.steps.is_empty());
                this.group(fused, types, x, y, c)
            })
        };
        let Some(promote) = fused.promote else {
            let c = flushed(c, fused, &BINARY32, Datum::ZERO);
            groups(self, c, x, y);
            return;
        };
        let mut total = c;
        for (x, y) in x.chunks(promote).zip(y.chunks(promote)) {
            let sum = groups(self, Datum::ZERO, x, y);
            total = self.add(total, sum);
        }
    }

    /// One group of a matrix unit.
    fn group(&mut self, fused: &Fused, types: &[Format; 2], x: &[Datum], y: &[Datum], c: Datum) -> Datum {
        let nearest = BINARY32.default_projection();
        match fused.sum {
            GroupSum::Sequential => {
                return x.iter().zip(y).fold(c, |c, (x, y)| self.fma(*x, *y, c, &BINARY32, &nearest));
            }
            GroupSum::Pairwise => {
                let sum = self.tree(fused, types, x, y);
                let sum = self.add(c, sum);
                return self.flush_last(fused, sum);
            }
            GroupSum::Aligned { .. } | GroupSum::Down { .. } | GroupSum::DownInHalves { .. } => {}
        }
        if let Some(result) = special(fused, x, y, c) {
            return self.push(Step::special(result));
        }
        let product = |(x, y): (&Datum, &Datum)| {
            let [x, y] = [(x, &types[0]), (y, &types[1])].map(|(x, of)| Term::new(of, *x).expect("finite"));
            x.times(y)
        };
        let products: Vec<Term> = x.iter().zip(y).map(product).collect();
        let c = Term::new(&fused.output.format(), c).expect("finite");
        let group = Group { products, c };
        let step = match fused.sum {
            GroupSum::Aligned { fraction_bits } => aligned(&group, fused, fraction_bits.cast_signed()),
            GroupSum::Down { fraction_bits } => down(&group, fused, fraction_bits.cast_signed(), false),
            GroupSum::DownInHalves { fraction_bits } => {
                down(&group, fused, fraction_bits.cast_signed(), true)
            }
            GroupSum::Pairwise | GroupSum::Sequential => unreachable!("these returned above"),
        };
        self.push(step)
    }

    /// The last result, flushed where the unit does so.
    fn flush_last(&mut self, fused: &Fused, sum: Datum) -> Datum {
        let zero = Datum::Finite { negative: sum.is_negative(), significand: 0, exponent: 0 };
        let sum = flushed(sum, fused, &BINARY32, zero);
        if let Some(last) = self.steps.last_mut() {
            last.result = sum;
        }
        sum
    }

    /// Products rounded to binary32 that add up in pairs.
    fn tree(&mut self, fused: &Fused, types: &[Format; 2], x: &[Datum], y: &[Datum]) -> Datum {
        let mut sums = Vec::new();
        for (x, y) in x.iter().zip(y) {
            let [x, y] = [(x, &types[0]), (y, &types[1])].map(|(x, of)| flushed(*x, fused, of, Datum::ZERO));
            let exact = fma(x, y, Datum::ZERO, Semantics::Ieee).exact;
            let (product, _) = nearest(exact);
            let zero = Datum::Finite { negative: product.is_negative(), significand: 0, exponent: 0 };
            sums.push(flushed(product, fused, &BINARY32, zero));
        }
        sums.resize(x.len().next_power_of_two().max(fused.k), Datum::ZERO);
        while sums.len() > 1 {
            let pairs: Vec<[Datum; 2]> = sums.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
            sums = pairs
                .into_iter()
                .map(|[x, y]| {
                    let sum = self.add(x, y);
                    self.flush_last(fused, sum)
                })
                .collect();
        }
        sums[0]
    }

    /// One group with block scales.
    fn scaled(&mut self, x: &[Datum], y: &[Datum], (s, t): (&[u64], &[u64]), c: Datum) -> Datum {
        let (Accumulation::Scaled { k, exact, fraction_bits }, Some(BlockScales { format, block })) =
            (self.way, self.dot.scales())
        else {
            unreachable!("the unit takes scales")
        };
        let terms = |codes: &[u64]| -> Option<Vec<Term>> {
            codes.iter().map(|code| Term::new(&format, scale(&format, *code))).collect()
        };
        let (Some(s), Some(t)) = (terms(s), terms(t)) else {
            return self.push(Step::special(Datum::Nan { negative: false }));
        };
        let unit = Fused::aligned(k, fraction_bits.unsigned_abs(), Output::Binary32);
        if let Some(result) = special(&unit, x, y, c) {
            return self.push(Step::special(result));
        }
        let mut products = Vec::new();
        for (first, (x, y)) in x.chunks(exact).zip(y.chunks(exact)).enumerate() {
            let [of_x, of_y] = self.dot.formats();
            let pairs = x.iter().zip(y).map(|(x, y)| {
                Term::new(of_x, *x).expect("finite").times(Term::new(of_y, *y).expect("finite"))
            });
            let sum = pairs.reduce(Term::plus).expect("a group has products");
            // An exact sum is aligned by its scales alone.
            let sum = if exact == 1 { sum } else { Term { exponent: 0, ..sum } };
            let at = first * exact / block;
            products.push(sum.times(s[at]).times(t[at]));
        }
        let group = Group { products, c: Term::new(&BINARY32, c).expect("finite") };
        self.push(aligned(&group, &unit, fraction_bits))
    }
}

const ZERO: Term = Term { significand: 0, unit: -126, exponent: -126 };

/// An exact product, aligned by its leading bit.
fn term_of_product(x: Datum, y: Datum) -> Term {
    match multiply(x, y, Semantics::Ieee).exact {
        Exact::Finite { negative, significand: significand @ 1.., exponent, .. } => {
            let magnitude = significand.cast_signed();
            let significand = if negative { -magnitude } else { magnitude };
            let term = Term { significand, unit: exponent, exponent };
            Term { exponent: term.leading_exponent(), ..term }
        }
        _ => ZERO,
    }
}

/// A number, or zero in its place where the unit takes subnormal numbers of a format for that.
fn flushed(x: Datum, fused: &Fused, of: &Format, zero: Datum) -> Datum {
    let is_small = x.is_finite()
        && !x.is_zero()
        && x.exponent_of_leading_bit() < of.min_normal().exponent_of_leading_bit();
    if fused.flush && (is_small || x.is_zero()) { zero } else { x }
}

/// The sum of terms with a NaN or an infinity among them; AMD's units take products from 2^128 on
/// for infinities where there is none.
fn special(fused: &Fused, x: &[Datum], y: &[Datum], c: Datum) -> Option<Datum> {
    let overflows = matches!(fused.sum, GroupSum::Down { .. } | GroupSum::DownInHalves { .. });
    let (mut specials, mut beyond) = (Sum::new(), Sum::new());
    specials.add(c);
    let (mut is_special, mut is_beyond) = (!c.is_finite(), false);
    for (x, y) in x.iter().zip(y) {
        let product = multiply(*x, *y, Semantics::Ieee).exact;
        if let Exact::Finite { negative, .. } = product {
            if overflows && leading(product).is_some_and(|exponent| exponent >= 128) {
                beyond.add(Datum::Infinite { negative });
                is_beyond = true;
            }
        } else {
            specials.add_product(*x, *y);
            is_special = true;
        }
    }
    let sum = if is_special { specials } else { beyond };
    (is_special || is_beyond).then(|| match sum.exact() {
        Exact::Infinite { negative } => Datum::Infinite { negative },
        _ => Datum::Nan { negative: false },
    })
}

/// Terms aligned to their largest exponent, cut toward zero.
fn aligned(group: &Group, fused: &Fused, fraction_bits: i32) -> Step {
    let terms = || group.products.iter().chain([&group.c]);
    let low = terms().map(|term| term.exponent).max().expect("there are terms") - fraction_bits;
    let sum = terms().map(|term| term.cut(low, Cut::TowardZero)).sum();
    let (exact, result, flags) = into_accumulator(sum, low, fused);
    group.step(|term, _| lost_below(term, low), exact, result, flags)
}

/// The fraction bits that a sum that is cut down has more than the accumulator.
const MORE: i32 = 7;

/// Products aligned among themselves, together or at even and odd places apart; then their sum and
/// the accumulator, cut toward −∞.
fn down(group: &Group, fused: &Fused, fraction_bits: i32, in_halves: bool) -> Step {
    let zero = Term { significand: 0, unit: -252, exponent: -252 };
    let halves = if in_halves { 2 } else { 1 };
    let half = |first: usize| -> (i128, i32) {
        let terms = || group.products.iter().skip(first).step_by(halves).chain(in_halves.then_some(&zero));
        let largest = terms().map(|term| term.exponent).max().expect("a group has products");
        (terms().map(|term| term.cut(largest - fraction_bits, Cut::TowardZero)).sum(), largest)
    };
    let sums: Vec<(i128, i32)> = (0..halves).map(half).collect();
    let of_products = sums.iter().map(|(_, exponent)| *exponent).max().expect("there is a sum");
    let sum: i128 = sums.iter().map(|(sum, exponent)| shifted(*sum, exponent - of_products)).sum();
    let drops = in_halves && group.c.exponent < of_products.max(group.c.exponent) - fraction_bits - 1;
    let c = (!drops).then_some(group.c);
    let largest = c.map_or(of_products, |c| of_products.max(c.exponent));
    let sum = shifted(sum, of_products - largest + MORE);
    let low = largest - fraction_bits;
    let c = c.map_or(0, |c| c.cut(low, Cut::Down));
    let (exact, result, flags) = into_accumulator(sum + (c << MORE), low - MORE, fused);
    let lost = |term: &Term, is_c: bool| match is_c {
        true if drops => Lost::Term,
        true => lost_below(term, low),
        false => lost_below(term, (of_products - fraction_bits).max(low - MORE)),
    };
    group.step(lost, exact, result, flags)
}

/// x · 2^shift, cut toward −∞.
fn shifted(x: i128, shift: i32) -> i128 {
    if shift >= 0 { x << shift } else { x >> shift.unsigned_abs().min(127) }
}

/// A sum of multiples of 2^low, and what the accumulator makes of it.
fn into_accumulator(sum: i128, low: i32, fused: &Fused) -> (Exact, Datum, Flags) {
    let exact = Exact::from_i128(sum).scaled(low);
    let (result, flags) = of_accumulator(exact, fused);
    (exact, result, flags)
}

/// A sum rounded into the accumulator.
fn of_accumulator(exact: Exact, fused: &Fused) -> (Datum, Flags) {
    let format = fused.output.format();
    if leading(exact).is_some_and(|exponent| exponent > format.exponent_range().1) {
        return (Datum::Infinite { negative: exact.is_negative() }, Flags::OVERFLOW);
    }
    let projection = format.default_projection().with_rounding(fused.rounding);
    let (value, flags) = rounded(exact, &format, &projection.with_saturation(Saturation::SatNone));
    // NVIDIA's units have no negative zeros.
    let has_one_zero = value.is_zero() && matches!(fused.sum, GroupSum::Aligned { .. });
    (if has_one_zero { Datum::ZERO } else { value }, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{CoverageLevel, FixedUnit, VectorPlan};

    /// The last step has what the unit gives.
    #[test]
    fn the_last_result_is_the_units() {
        for name in [
            "Dot<8, e4m3fn, e5m2, exact>",
            "Dot<5, e2m1fn, e4m3fn, bfloat16>",
            "Dot<5, e5m2, e5m2, e4m3fn>",
            "Dot<40, e4m3fn, e4m3fn, f32>",
            "Dot<40, e4m3fn, e4m3fn, hopper>",
            "Dot<40, e4m3fn, e5m2, hopper:output=f16>",
            "Dot<300, e5m2, e5m2, hopper:promote=128>",
            "Dot<6, bfloat16, bfloat16, blackwell>",
            "Dot<9, binary16, binary16, volta>",
            "Dot<12, bfloat16, bfloat16, cdna1>",
            "Dot<12, bfloat16, bfloat16, cdna2>",
            "Dot<12, bfloat16, bfloat16, cdna3>",
            "Dot<12, binary16, binary16, cdna3>",
            "Dot<40, e4m3fnuz, e5m2fnuz, cdna3>",
            "Dot<4, binary32, binary32, cdna3>",
            "Dot<4, tf32, tf32, ampere>",
            "Dot<160, e2m1fn, e2m1fn, blackwell, e8m0fnu, 32>",
            "Dot<40, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>",
            "Dot<72, e4m3fn, e5m2, rtx-blackwell, e8m0fnu, 32>",
        ] {
            let unit: FixedUnit = name.parse().expect(name);
            let dot = unit.dot_product().expect("a sum");
            let (way, register) = (Accumulation::of(dot), dot.register());
            let plan = VectorPlan::new(unit.clone(), Some(CoverageLevel::One), 3, Some(500)).expect("a plan");
            let mut operands = vec![0; unit.operands().len()];
            for line in 0..plan.lines() {
                plan.fill(line..line + 1, &mut operands);
                let right = unit.evaluate(&operands).expect("a result")[0];
                let steps = Replay::new(dot, way, &operands).steps;
                let last = Exact::from_datum(steps.last().expect("a step").result);
                let ours = project(last, &register, &register.default_projection()).value;
                assert_eq!(ours, right, "{name}, line {line}: {operands:x?}: {steps:?}");
            }
        }
    }
}
