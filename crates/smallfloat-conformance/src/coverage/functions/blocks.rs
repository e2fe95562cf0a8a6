//! Blocks whose dot product, or sum, is a value that is wanted.

use std::cmp::Ordering;

use smallfloat::ops::{Semantics, multiply};
use smallfloat::p3109::{BlockFunction, Function, Parameter, Specialization};
use smallfloat::{Datum, Exact, Format};

/// The products of two elements, or one element alone, in the order of their magnitudes.
pub(super) struct BlockSolver {
    length: usize,
    scales: Vec<Format>,
    elements: Vec<Format>,
    products: Vec<(Datum, Vec<u64>)>,
}

fn magnitude(x: Datum) -> Datum {
    if x.is_negative() { x.negated() } else { x }
}

fn narrow(x: Exact) -> Option<Datum> {
    match x {
        Exact::Finite { negative, significand, exponent, sticky: false } => {
            let zeros = significand.trailing_zeros().min(127);
            let exponent = exponent + i32::try_from(zeros).expect("below 128");
            Some(Datum::finite(negative, u64::try_from(significand >> zeros).ok()?, exponent))
        }
        _ => None,
    }
}

impl BlockSolver {
    /// A solver for a reduction whose elements have at most 8 bits; `None` for other operations.
    pub(super) fn new(operation: &Specialization) -> Option<Self> {
        let Function::Block(BlockFunction::DotProduct | BlockFunction::ReduceAdd) = operation.function()
        else {
            return None;
        };
        let (mut scales, mut elements) = (Vec::new(), Vec::new());
        for parameter in operation.parameters() {
            let Parameter::Block { scale, element } = parameter else { return None };
            scales.push(*scale);
            elements.push(*element);
        }
        if elements.iter().any(|element| element.width() > 8) {
            return None;
        }
        let numbers = |format: &Format| -> Vec<(Datum, u64)> {
            let codes = format.codes().map(|code| (format.decode(code), code));
            codes.filter(|(x, _)| x.is_finite() && !x.is_zero() && !x.is_negative()).collect()
        };
        let mut products: Vec<(Datum, Vec<u64>)> =
            numbers(&elements[0]).into_iter().map(|(x, code)| (x, vec![code])).collect();
        if let Some(second) = elements.get(1) {
            let seconds = numbers(second);
            let pairs = products
                .iter()
                .flat_map(|(x, of_x)| seconds.iter().map(move |(y, of_y)| (*x, of_x[0], *y, *of_y)));
            let product = |x, y| narrow(multiply(x, y, Semantics::Ieee).exact);
            products =
                pairs.filter_map(|(x, of_x, y, of_y)| Some((product(x, y)?, vec![of_x, of_y]))).collect();
        }
        products.sort_by(|a, b| a.0.compare(&b.0).unwrap_or(Ordering::Equal));
        products.dedup_by(|a, b| a.0 == b.0);
        Some(Self { length: operation.length()?, scales, elements, products })
    }

    /// How many operands a line has, random words left out.
    pub(super) fn width(&self) -> usize {
        self.scales.len() * (1 + self.length)
    }

    /// Operands whose exact result is a value, with a few choices of scales.
    pub(super) fn solve(&self, goal: Exact) -> Vec<Vec<u64>> {
        let Some(goal) = narrow(goal) else { return Vec::new() };
        let Some((largest, _)) = self.products.last() else { return Vec::new() };
        let top = goal.exponent_of_leading_bit() - largest.exponent_of_leading_bit();
        let choices = (-2..=16).filter_map(|lower| self.solve_at(goal, top + lower));
        choices.take(2).collect()
    }

    /// Operands whose terms are any number of binades apart, of one sign and of opposite ones, the
    /// smaller one alone and so often that it adds up to a power of two more.
    pub(super) fn aligned(&self) -> Vec<Vec<u64>> {
        let mut leading = Vec::new();
        for (x, codes) in &self.products {
            if leading.last().is_none_or(|(last, _): &(i32, &[u64])| *last != x.exponent_of_leading_bit()) {
                leading.push((x.exponent_of_leading_bit(), codes));
            }
        }
        let (Some((_, largest)), Some(scales)) = (leading.last(), self.scales(0)) else { return Vec::new() };
        let mut lines = Vec::new();
        for (_, codes) in &leading {
            for often in [1, 2, 4, 8, 16].into_iter().filter(|often| *often < self.length) {
                for negative in [false, true] {
                    let mut terms = vec![(false, *largest)];
                    terms.extend((0..often).map(|_| (negative, *codes)));
                    lines.push(self.operands(&scales, &terms));
                }
            }
        }
        lines
    }

    /// Operands with scales whose product is 2^scale.
    fn solve_at(&self, goal: Datum, scale: i32) -> Option<Vec<u64>> {
        let scales = self.scales(scale)?;
        let mut rest = narrow(Exact::from(goal).scaled(-scale))?;
        let mut terms: Vec<(bool, &[u64])> = Vec::new();
        while !rest.is_zero() {
            if terms.len() == self.length {
                return None;
            }
            // The largest product that is not larger than what is left.
            let target = magnitude(rest);
            let above = self.products.partition_point(|(x, _)| x.compare(&target) != Some(Ordering::Greater));
            let (product, codes) = self.products.get(above.checked_sub(1)?)?;
            let signed = if rest.is_negative() { product.negated() } else { *product };
            terms.push((rest.is_negative(), codes));
            rest =
                narrow(smallfloat::ops::subtract(rest, signed, Semantics::Ieee).exact).unwrap_or(Datum::ZERO);
        }
        Some(self.operands(&scales, &terms))
    }

    /// Scales and elements: these terms, then zeros.
    fn operands(&self, scales: &[u64], terms: &[(bool, &[u64])]) -> Vec<u64> {
        let mut operands = Vec::new();
        for (at, (scale, format)) in scales.iter().zip(&self.elements).enumerate() {
            operands.push(*scale);
            let sign = if format.is_signed() { 1 << (format.width() - 1) } else { 0 };
            for i in 0..self.length {
                let code = terms.get(i).map_or(0, |(negative, codes)| {
                    // The first factor has the sign.
                    codes[at] | if *negative && at == 0 { sign } else { 0 }
                });
                operands.push(code);
            }
        }
        operands
    }

    /// Codes of scales whose product is 2^exponent.
    fn scales(&self, exponent: i32) -> Option<Vec<u64>> {
        let power = |format: &Format, exponent: i32| format.encode(Datum::finite(false, 1, exponent));
        match &self.scales[..] {
            [one] => Some(vec![power(one, exponent)?]),
            [x, y] => {
                let (least, most) = x.exponent_range();
                let of_x = (exponent.div_euclid(2)).clamp(least, most);
                Some(vec![power(x, of_x)?, power(y, exponent - of_x)?])
            }
            _ => None,
        }
    }
}
