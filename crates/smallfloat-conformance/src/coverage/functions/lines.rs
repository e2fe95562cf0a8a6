//! Operands that a search begins with: of each class and field, aligned, and solved for.

use std::collections::HashSet;

use smallfloat::ops::Operation;
use smallfloat::p3109::Parameter;
use smallfloat::{Datum, Exact, Format};

use crate::coverage::functions::blocks::BlockSolver;
use crate::coverage::functions::{Function, results};
use crate::coverage::model::codes::of_classes;
use crate::coverage::model::cross::Decided;
use crate::coverage::model::search::Search;
use crate::features::element_values;
use crate::vectors::generate::directed::{around, last_operand};
use crate::vectors::generate::pools::{of_fields, pool, sample};
use crate::vectors::{Field, UnitUnderTest};

impl Function {
    /// Lines whose exact result is one that a bin without operands wants.
    pub(super) fn solved(&self, search: &Search<'_>) -> Vec<u64> {
        let operation = self.unit.operation();
        let (Some(to), Some(limits)) = (operation.result(), results::Limits::of(operation)) else {
            return Vec::new();
        };
        let mut goals = Vec::new();
        let (mut wanted, mut values) = (HashSet::new(), Vec::new());
        for exact in results::representatives(&limits, to) {
            for rounded in results::rounded(exact, operation, to) {
                self.features.of_result(exact, rounded, &mut values);
                let crosses = self.crosses.iter().enumerate();
                for (at, cross) in crosses.filter(|(_, cross)| cross.decided == Decided::Result) {
                    let Some(bin) = cross.bin(&values) else { continue };
                    // Several values for a bin: not each of them has operands.
                    let again = (0..4).any(|n| wanted.insert((at, bin, n)));
                    if !search.has(at, bin) && again {
                        goals.push(exact.scaled(-operation.arithmetic().scale));
                    }
                }
            }
        }
        let solved = match (self.unit.numeric(), BlockSolver::new(operation)) {
            (Some(numeric), _) => solve(numeric, operation.operands(), &goals),
            (None, Some(solver)) => goals.iter().flat_map(|goal| solver.solve(*goal)).collect(),
            (None, None) => Vec::new(),
        };
        let (words, mut lines) = (self.words(), Vec::new());
        for line in solved {
            for words in &words {
                lines.extend_from_slice(&line);
                lines.extend_from_slice(words);
            }
        }
        lines
    }

    /// What stands in the fields of random words.
    fn words(&self) -> Vec<Vec<u64>> {
        let fields = self.unit.operands().iter().filter(|field| field.is_word());
        let fields: Vec<&Field> = fields.collect();
        let all = |word: fn(u64) -> u64| fields.iter().map(|field| word(field.max())).collect();
        if fields.is_empty() {
            vec![Vec::new()]
        } else {
            vec![all(|_| 0), all(|max| max), all(|max| max / 2 + 1)]
        }
    }
}

/// Blocks whose terms are any number of binades apart.
pub(super) fn aligned_blocks(unit: &UnitUnderTest) -> Vec<u64> {
    let Some(solver) = BlockSolver::new(unit.operation()) else { return Vec::new() };
    let words = unit.operands().len() - solver.width();
    let lines = solver.aligned().into_iter();
    lines.flat_map(|line| line.into_iter().chain((0..words).map(|_| 0))).collect()
}

/// Operands for which an operation is exactly at one of these values, or as near as their formats
/// allow.
fn solve(operation: Operation, formats: &[Format], goals: &[Exact]) -> Vec<Vec<u64>> {
    let datum = |exact: &Exact| match *exact {
        Exact::Finite { negative, significand, exponent, .. } => {
            let zeros = significand.trailing_zeros().min(127);
            let significand = u64::try_from(significand >> zeros).ok()?;
            Some(Datum::finite(negative, significand, exponent + i32::try_from(zeros).ok()?))
        }
        _ => None,
    };
    let numbers = |format: &Format, count: usize| -> Vec<(u64, Datum)> {
        let field = Field::code(String::new(), format);
        let all = pool(&field, 1 << 10).into_iter().map(|code| (code, format.decode(code)));
        sample(&all.filter(|(_, x)| x.is_finite() && !x.is_zero()).collect::<Vec<_>>(), count)
    };
    let nothing = vec![(0, Datum::ZERO)];
    let (xs, ys) = match formats {
        [_] => (nothing.clone(), nothing),
        [x, _] => (numbers(x, 200), nothing),
        [x, y, _] => (numbers(x, 16), numbers(y, 16)),
        _ => return Vec::new(),
    };
    let Some(last_format) = formats.last() else { return Vec::new() };
    let mut lines = Vec::new();
    for goal in goals.iter().filter_map(datum) {
        for (x_code, x) in &xs {
            for (y_code, y) in &ys {
                let last = match operation {
                    Operation::Convert => Some(Exact::from(goal)),
                    _ => last_operand(operation, *x, *y, goal),
                };
                let Some(last) = last else { return Vec::new() };
                for code in around(last_format, last, 1) {
                    let before = [*x_code, *y_code].into_iter().take(formats.len() - 1);
                    lines.push(before.chain([code]).collect());
                }
            }
        }
    }
    lines
}

/// Sums whose terms are any number of binades apart and cancel any number of bits.
pub(super) fn aligned(unit: &UnitUnderTest) -> Vec<u64> {
    let formats = unit.operation().operands();
    let is_scalar = unit.parameters().iter().all(|parameter| matches!(parameter, Parameter::Code(_)));
    let (true, 2 | 3, Some(_)) = (is_scalar, formats.len(), unit.numeric()) else { return Vec::new() };
    let (first, last) = (&formats[0], formats[formats.len() - 1]);
    let one = |format: &Format| {
        let code = format.encode(Datum::finite(false, 1, 0));
        code.unwrap_or_else(|| format.encode(format.min_normal()).expect("a value of the format"))
    };
    let tails = |format: &Format| -> Vec<u64> {
        let ones = (1_u64 << format.trailing_bits()) - 1;
        let mut tails: Vec<u64> =
            (0..format.trailing_bits()).flat_map(|bit| [1 << bit, ones >> bit, ones ^ 1 << bit]).collect();
        tails.extend([0, ones]);
        tails.sort_unstable();
        tails.dedup();
        sample(&tails, 24)
    };
    let fields = |format: &Format| -> Vec<u64> {
        let all: Vec<u64> = (0..1_u64 << format.exponent_bits()).collect();
        sample(&all, 512)
    };
    let sign = |format: &Format| if format.is_signed() { 1 << (format.width() - 1) } else { 0 };
    let words = unit.operands().len() - formats.len();
    let mut lines = Vec::new();
    let mut push = |x: u64, z: u64| {
        lines.push(x);
        lines.extend((formats.len() == 3).then(|| one(&formats[1])));
        lines.push(z);
        lines.extend((0..words).map(|_| 0));
    };
    let middle = (1_u64 << first.exponent_bits()) / 2;
    for x_field in [middle, 1, (1 << first.exponent_bits()) - 2] {
        for x_tail in sample(&tails(first), 8) {
            let x = (x_field << first.trailing_bits() | x_tail) & first.max_code();
            for field in fields(&last) {
                for tail in sample(&tails(&last), 4) {
                    for negative in [0, sign(&last)] {
                        push(x, (field << last.trailing_bits() | tail) & last.max_code() | negative);
                    }
                }
            }
        }
    }
    // As near as the formats allow, less one more bit each time.
    for x_tail in tails(first) {
        let x = (middle << first.trailing_bits() | x_tail) & first.max_code();
        let near = Exact::from(first.decode(x).negated());
        for code in around(&last, near, 2) {
            for bit in 0..last.trailing_bits() {
                push(x, (code ^ 1 << bit) & last.max_code());
            }
            push(x, code);
        }
    }
    lines
}

/// Every code of each operand that stands for a class, a sign, an exponent field or a pattern,
/// beside usual others; and classes with signs, each with each.
pub(super) fn codes(unit: &UnitUnderTest) -> Vec<u64> {
    let fields = unit.operands();
    let usual: Vec<u64> = fields
        .iter()
        .map(|field| field.format.map_or(0, |format| format.encode(format.min_normal()).expect("a value")))
        .collect();
    let mut lines = Vec::new();
    let (mut at, mut parts) = (0, Vec::new());
    let length = unit.operation().length().unwrap_or(1);
    for parameter in unit.parameters() {
        let (scale, element) = match parameter {
            Parameter::Code(format) => (Some(format), None),
            Parameter::Integer(_) => {
                parts.push((at, pool(&fields[at], 64).into_iter().map(|word| vec![word]).collect()));
                at += 1;
                continue;
            }
            Parameter::Sequence(element) => (None, Some(element)),
            Parameter::Block { scale, element } => (Some(scale), Some(element)),
        };
        if let Some(format) = scale {
            for code in of_fields(format) {
                let start = lines.len();
                lines.extend_from_slice(&usual);
                lines[start + at] = code;
            }
            let classes = of_classes(format).into_iter().map(|code| vec![code]);
            parts.push((at, classes.collect()));
            at += 1;
        }
        if let Some(format) = element {
            parts.push((at, of_elements(format, length)));
            at += length;
        }
    }
    product(&parts, &mut usual.clone(), &mut lines);
    lines.extend(uniform(unit, &usual));
    lines
}

/// Blocks whose elements are all one number.
fn uniform(unit: &UnitUnderTest, usual: &[u64]) -> Vec<u64> {
    let length = unit.operation().length().unwrap_or(1);
    let mut lines = Vec::new();
    for number in 0..3 {
        for signs in 0..4 {
            let (mut block, mut at) = (0, 0);
            let start = lines.len();
            lines.extend_from_slice(usual);
            for parameter in unit.parameters() {
                at += usize::from(!matches!(parameter, Parameter::Sequence(_)));
                let (Parameter::Sequence(format) | Parameter::Block { element: format, .. }) = parameter
                else {
                    continue;
                };
                let datum = [format.max_finite(), format.min_normal(), format.min_positive()][number];
                let negative = format.is_signed() && signs >> block & 1 == 1;
                let datum = if negative { datum.negated() } else { datum };
                let code = format.encode(datum).expect("a value of the format");
                lines[start + at..start + at + length].fill(code);
                (block, at) = (block + 1, at + length);
            }
        }
    }
    lines
}

/// All combinations of parts.
fn product(parts: &[(usize, Vec<Vec<u64>>)], line: &mut Vec<u64>, lines: &mut Vec<u64>) {
    let Some(((at, choices), rest)) = parts.split_first() else {
        lines.extend_from_slice(line);
        return;
    };
    for choice in choices {
        line[*at..*at + choice.len()].copy_from_slice(choice);
        product(rest, line, lines);
    }
}

/// Sequences of every kind that features tell apart: of up to three classes and signs, one after
/// the other.
fn of_elements(format: &Format, length: usize) -> Vec<Vec<u64>> {
    let classes = of_classes(format);
    let (mut seen, mut sequences) = (HashSet::new(), Vec::new());
    for x in &classes {
        for y in &classes {
            for z in &classes {
                let sequence: Vec<u64> = [*x, *y, *z].into_iter().cycle().take(length).collect();
                if seen.insert(element_values(format, &sequence)) {
                    sequences.push(sequence);
                }
            }
        }
    }
    sequences
}
