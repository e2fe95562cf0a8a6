//! Sums of groups in integers of 128 bits.

use smallfloat::formats::BINARY32;
use smallfloat::ops::{self, Semantics};
use smallfloat::{Datum, Exact, project};

use super::{FusedDot, GroupSum};

/// An exact term: significand · 2^unit, and the exponent by which it is aligned.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) significand: i64,
    pub(super) unit: i32,
    pub(super) exponent: i32,
}

impl Term {
    /// A finite number whose format has normal numbers from 2^lowest on.
    pub(super) fn new(x: f32, lowest: i32) -> Self {
        match BINARY32.decode(u64::from(x.to_bits())) {
            Datum::Finite { significand: 0, .. } => Self { significand: 0, unit: -126, exponent: -126 },
            datum @ Datum::Finite { negative, significand, exponent } => {
                let significand = significand.cast_signed();
                Self {
                    significand: if negative { -significand } else { significand },
                    unit: exponent,
                    exponent: datum.exponent_of_leading_bit().max(lowest),
                }
            }
            _ => unreachable!("sums with NaN or infinities never come here"),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            unit: self.unit + other.unit,
            exponent: self.exponent + other.exponent,
        }
    }

    /// As a multiple of 2^low, cut toward zero.
    fn cut(self, low: i32) -> i128 {
        let magnitude = i128::from(self.significand.unsigned_abs());
        let cut = shifted(magnitude, self.unit - low);
        if self.significand < 0 { -cut } else { cut }
    }
}

/// x · 2^shift, cut toward −∞.
fn shifted(x: i128, shift: i32) -> i128 {
    if shift >= 0 { x << shift } else { x >> shift.unsigned_abs().min(127) }
}

/// Terms aligned to their largest exponent with so many fraction bits, cut toward zero; their sum
/// and that exponent.
pub(super) fn aligned(terms: impl Iterator<Item = Term> + Clone, fraction_bits: i32) -> (i128, i32) {
    let largest = terms.clone().map(|term| term.exponent).max().expect("a group has products");
    (terms.map(|term| term.cut(largest - fraction_bits)).sum(), largest)
}

/// c + Σ x·y·2^scale for one group.
pub(super) fn group(dot: &FusedDot, c: f32, x: &[f32], y: &[f32], scale: i32) -> f32 {
    let pairs = || x.iter().zip(y).map(|(x, y)| (dot.operand(0, *x), dot.operand(1, *y)));
    let lowest = dot.lowest();
    match dot.fused.sum {
        GroupSum::Pairwise => {
            let padded = x.len().next_power_of_two().max(dot.fused.k);
            let mut products: Vec<f32> =
                pairs().map(|(x, y)| product(dot.flushed_operand(0, x), dot.flushed_operand(1, y))).collect();
            products.resize(padded, 0.0);
            return dot.flushed(add(c, tree(dot, &products)));
        }
        GroupSum::Sequential => return pairs().fold(c, |c, (x, y)| fma(x, y, c)),
        _ => {}
    }
    if let Some(result) = dot.without_value(c, pairs().map(|(x, y)| (f64::from(x), f64::from(y)))) {
        return result;
    }
    let products = pairs().map(|(x, y)| {
        let product = Term::new(x, lowest[0]).times(Term::new(y, lowest[1]));
        Term { unit: product.unit + scale, exponent: product.exponent + scale, ..product }
    });
    let accumulator = Term::new(c, dot.fused.output.format().min_normal().exponent_of_leading_bit());
    match dot.fused.sum {
        GroupSum::Aligned { fraction_bits } => {
            let fraction_bits = fraction_bits.cast_signed();
            let (sum, largest) = aligned(products.chain([accumulator]), fraction_bits);
            dot.rounded(sum, largest - fraction_bits)
        }
        GroupSum::Down { fraction_bits } => {
            let fraction_bits = fraction_bits.cast_signed();
            let (sum, largest) = aligned(products, fraction_bits);
            down(dot, (sum, largest), Some(accumulator), fraction_bits)
        }
        GroupSum::DownInHalves { fraction_bits } => {
            let fraction_bits = fraction_bits.cast_signed();
            // The other half of a group of one product: zeros.
            let zero = [Term { significand: 0, unit: -252, exponent: -252 }];
            let half = |first| aligned(products.clone().skip(first).step_by(2).chain(zero), fraction_bits);
            let ((even, m), (odd, n)) = (half(0), half(1));
            let largest = m.max(n);
            let sum = shifted(even, m - largest) + shifted(odd, n - largest);
            let drops = accumulator.exponent < largest.max(accumulator.exponent) - fraction_bits - 1;
            down(dot, (sum, largest), (!drops).then_some(accumulator), fraction_bits)
        }
        GroupSum::Pairwise | GroupSum::Sequential => unreachable!("these returned above"),
    }
}

/// Fraction bits that a sum that is cut down has more than the accumulator.
const MORE: i32 = 7;

/// A sum of products and an accumulator, aligned to the larger exponent and cut toward −∞.
fn down(dot: &FusedDot, (sum, exponent): (i128, i32), c: Option<Term>, fraction_bits: i32) -> f32 {
    let largest = c.map_or(exponent, |c| exponent.max(c.exponent));
    let sum = shifted(sum, exponent - largest + MORE);
    let c = c.map_or(0, |c| shifted(i128::from(c.significand), c.unit - (largest - fraction_bits)));
    dot.rounded(sum + (c << MORE), largest - fraction_bits - MORE)
}

impl FusedDot {
    /// An operand that is flushed where the unit does so.
    pub(super) fn flushed_operand(&self, side: usize, x: f32) -> f32 {
        let normal = self.types[side].min_normal().to_f32().expect("binary32 holds the format");
        if self.fused.flush && x.abs() < normal { 0.0 } else { x }
    }

    /// A product or a sum in binary32, flushed to a zero of its sign where the unit does so.
    #[inline(always)]
    pub(super) fn flushed(&self, x: f32) -> f32 {
        if self.fused.flush && x.abs() < f32::MIN_POSITIVE { x * 0.0 } else { x }
    }
}

fn tree(dot: &FusedDot, products: &[f32]) -> f32 {
    if let [one] = products {
        return dot.flushed(*one);
    }
    let (left, right) = products.split_at(products.len() / 2);
    dot.flushed(add(tree(dot, left), tree(dot, right)))
}

fn datum(x: f32) -> Datum {
    BINARY32.decode(u64::from(x.to_bits()))
}

fn nearest(exact: Exact) -> f32 {
    let code = project(exact, &BINARY32, &BINARY32.default_projection()).value;
    BINARY32.decode(code).to_f32().unwrap_or(f32::NAN)
}

fn fma(x: f32, y: f32, c: f32) -> f32 {
    nearest(ops::fma(datum(x), datum(y), datum(c), Semantics::Ieee).exact)
}

/// A product as an FMA with +0 has it: no exact product is −0.
fn product(x: f32, y: f32) -> f32 {
    fma(x, y, 0.0)
}

fn add(x: f32, y: f32) -> f32 {
    nearest(ops::add(datum(x), datum(y), Semantics::Ieee).exact)
}
