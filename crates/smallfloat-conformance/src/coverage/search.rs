//! Operands for the bins of units that have too many to try all.

use std::collections::HashSet;

use smallfloat::ops::Operation;
use smallfloat::p3109::Parameter;
use smallfloat::{Datum, Exact, Format};
use smallfloat_kernels::parallel_map;

use crate::coverage::blocks::BlockSolver;
use crate::coverage::model::Decided;
use crate::coverage::reach::{Probe, Witnesses};
use crate::coverage::results;
use crate::error::Error;
use crate::features::element_values;
use crate::vectors::generate::directed::{around, last_operand};
use crate::vectors::generate::pools::{pool, sample};
use crate::vectors::{CoverageLevel, Field, VectorPlan};

/// Lines that are tried before what they reached is taken in.
const BATCH: usize = 1 << 15;
/// Lines that a thread takes at once.
const CHUNK: usize = 1 << 10;
/// Changes of one witness in a round.
const CHANGES: usize = 24;
/// Rounds of changes, and after how many without anything new the search ends.
const ROUNDS: usize = 60;
const PATIENCE: usize = 4;
/// Numbers that are evaluated in the rounds at most, counted in operands.
const EFFORT: usize = 8_000_000;
/// Witnesses that are changed in a round.
const CHANGED: usize = 2048;

/// Finds operands for as many bins as it can; always the same ones.
pub(super) fn search(probe: &Probe<'_>) -> Result<Witnesses, Error> {
    let mut search = Search { probe, found: Witnesses::none(probe.model), news: Vec::new() };
    let width = probe.unit.operands().len();
    search.take(&codes(probe));
    let plan = VectorPlan::new(probe.unit, Some(CoverageLevel::One), 0, None)?;
    let (lines, at_once) = (plan.lines(), BATCH as u64);
    for first in (0..lines).step_by(BATCH) {
        let range = first..lines.min(first + at_once);
        let mut operands = vec![0; usize::try_from(range.end - range.start).expect("a batch") * width];
        plan.fill(range, &mut operands);
        search.take(&operands);
    }
    search.take(&aligned(probe));
    if let Some(solver) = BlockSolver::new(probe.unit.operation()) {
        let words = width - solver.width();
        let lines =
            solver.aligned().into_iter().flat_map(|line| line.into_iter().chain((0..words).map(|_| 0)));
        search.take(&lines.collect::<Vec<u64>>());
    }
    let solved = search.solved();
    search.take(&solved);
    search.changes();
    Ok(search.found)
}

struct Search<'a> {
    probe: &'a Probe<'a>,
    found: Witnesses,
    /// Lines that reached something new since they were last changed.
    news: Vec<Box<[u64]>>,
}

impl Search<'_> {
    /// Tries lines; returns whether one reached a bin that none had reached.
    fn take(&mut self, lines: &[u64]) -> bool {
        let width = self.probe.unit.operands().len();
        let mut is_new = false;
        for batch in lines.chunks(BATCH * width) {
            let (probe, found) = (self.probe, &self.found);
            let chunks: Vec<&[u64]> = batch.chunks(CHUNK * width).collect();
            let news = parallel_map(chunks.len(), |chunk| {
                let (mut news, mut seen, mut values) = (Vec::new(), HashSet::new(), Vec::new());
                for operands in chunks[chunk].chunks_exact(width) {
                    probe.bins(operands, &mut values, |at, bin| {
                        if found.of[at][bin].is_none() && seen.insert((at, bin)) {
                            news.push((at, bin, operands));
                        }
                    });
                }
                news
            });
            for (at, bin, operands) in news.into_iter().flatten() {
                let witness = &mut self.found.of[at][bin];
                if witness.is_none() {
                    *witness = Some(operands.into());
                    is_new = true;
                    if self.news.last().is_none_or(|last| **last != *operands) {
                        self.news.push(operands.into());
                    }
                }
            }
        }
        is_new
    }

    /// Changes what reached something new, until nothing new comes.
    fn changes(&mut self) {
        let fields = self.probe.unit.operands();
        let width = fields.len();
        let (mut random, mut effort, mut patience) = (Random(0x736d_616c_6c66_6c6f), EFFORT, PATIENCE);
        for _ in 0..ROUNDS {
            let mut witnesses = std::mem::take(&mut self.news);
            if witnesses.is_empty() {
                // All of them once more, changed otherwise.
                let all: HashSet<&[u64]> =
                    self.found.of.iter().flatten().flatten().map(AsRef::as_ref).collect();
                let mut all: Vec<&[u64]> = all.into_iter().collect();
                all.sort_unstable();
                witnesses = sample(&all, CHANGED).into_iter().map(Into::into).collect();
            }
            witnesses.truncate(CHANGED);
            let mut lines = Vec::with_capacity(witnesses.len() * CHANGES * width);
            for witness in &witnesses {
                for _ in 0..CHANGES {
                    let start = lines.len();
                    lines.extend_from_slice(witness);
                    for _ in 0..=random.below(2) {
                        change(fields, &mut lines[start..], &mut random);
                    }
                }
            }
            patience = if self.take(&lines) { PATIENCE } else { patience - 1 };
            effort = effort.saturating_sub(lines.len());
            if patience == 0 || effort == 0 {
                return;
            }
        }
    }

    /// Lines whose exact result is one that a bin without operands wants.
    fn solved(&self) -> Vec<u64> {
        let operation = self.probe.unit.operation();
        let (Some(to), Some(limits)) = (operation.result(), results::Limits::of(operation)) else {
            return Vec::new();
        };
        let mut goals = Vec::new();
        let (mut wanted, mut values) = (HashSet::new(), Vec::new());
        for exact in results::representatives(&limits, to) {
            for rounded in results::rounded(exact, operation, to) {
                self.probe.model.features.of_result(exact, rounded, &mut values);
                let crosses = self.probe.model.crosses.iter().enumerate();
                for (at, cross) in crosses.filter(|(_, cross)| cross.decided == Decided::Result) {
                    let Some(bin) = cross.bin(&values) else { continue };
                    // Several values for a bin: not each of them has operands.
                    let again = (0..4).any(|n| wanted.insert((at, bin, n)));
                    if self.found.of[at][bin].is_none() && again {
                        goals.push(exact.scaled(-operation.arithmetic().scale));
                    }
                }
            }
        }
        let solved = match (self.probe.unit.numeric(), BlockSolver::new(operation)) {
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
        let fields = self.probe.unit.operands().iter().filter(|field| field.is_word());
        let fields: Vec<&Field> = fields.collect();
        let all = |word: fn(u64) -> u64| fields.iter().map(|field| word(field.max())).collect();
        if fields.is_empty() {
            vec![Vec::new()]
        } else {
            vec![all(|_| 0), all(|max| max), all(|max| max / 2 + 1)]
        }
    }
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
fn aligned(probe: &Probe<'_>) -> Vec<u64> {
    let unit = probe.unit;
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
    let words = probe.unit.operands().len() - formats.len();
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
fn codes(probe: &Probe<'_>) -> Vec<u64> {
    let unit = probe.unit;
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
    lines.extend(uniform(probe, &usual));
    lines
}

/// Blocks whose elements are all one number.
fn uniform(probe: &Probe<'_>, usual: &[u64]) -> Vec<u64> {
    let length = probe.unit.operation().length().unwrap_or(1);
    let mut lines = Vec::new();
    for number in 0..3 {
        for signs in 0..4 {
            let (mut block, mut at) = (0, 0);
            let start = lines.len();
            lines.extend_from_slice(usual);
            for parameter in probe.unit.parameters() {
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

/// A code of every class, signaling NaNs apart, with every sign.
fn of_classes(format: &Format) -> Vec<u64> {
    let mut seen = HashSet::new();
    let mut codes = of_fields(format);
    codes.retain(|code| {
        seen.insert((format.classify(*code), format.is_signaling(*code), format.sign_bit(*code)))
    });
    codes
}

/// Codes of every exponent field with every pattern of a significand and every sign.
fn of_fields(format: &Format) -> Vec<u64> {
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
    let fields = 0..1_u64 << format.exponent_bits();
    fields
        .flat_map(|field| tails.iter().map(move |tail| field << format.trailing_bits() | tail))
        .flat_map(|magnitude| signs.iter().map(move |sign| magnitude | sign))
        .collect()
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

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).expect("below a usize")
    }
}

/// Changes one field of a line.
fn change(fields: &[Field], line: &mut [u64], random: &mut Random) {
    let at = random.below(fields.len());
    let (field, other) = (&fields[at], random.below(fields.len()));
    let max = field.max();
    let code = line[at];
    let trailing = field.format.map_or(0, |format| format.trailing_bits());
    let low = (1_u64 << trailing) - 1;
    line[at] = max
        & match random.below(9) {
            0 => code.wrapping_add(1),
            1 => code.wrapping_sub(1),
            2 => code ^ 1 << (field.bits - 1),
            3 => code ^ 1 << random.below(field.bits as usize),
            // Another exponent: a few binades away, or any.
            4 => code.wrapping_add((random.next() % 9).wrapping_sub(4) << trailing),
            5 => code & !(max >> 1 ^ low) | random.next() & (max >> 1 ^ low),
            // Another significand: ones, zeros, or any.
            6 => match random.below(3) {
                0 => code | low,
                1 => code & !low,
                _ => code & !low | random.next() & low,
            },
            // What stands elsewhere, with either sign.
            7 => line[other] ^ (random.next() & 1) << (field.bits - 1),
            _ => random.next(),
        };
}
