//! Random operands that depend on seed, place and field alone, weighted toward what rounding finds
//! hard.

use smallfloat::random::Philox;
use smallfloat::{Datum, Format};
use smallfloat_kernels::{Generator, Level};

use crate::vectors::any_unit::VectorUnit;
use crate::vectors::dots::DotProduct;
use crate::vectors::generate::LINES;
use crate::vectors::generate::{dots, lists, pools};
use crate::vectors::unit::Field;

/// Random operands of one unit.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
    seed: u64,
    /// The stream of the first field.
    stream: u64,
    fields: Vec<Field>,
    /// Interesting codes of each field.
    pools: Vec<Vec<u64>>,
    kind: Kind,
}

/// What is drawn besides any code.
#[derive(Clone, Debug)]
enum Kind {
    Any,
    /// The result is a value of a list: the operand may be near one of these codes, and is no NaN.
    Beside(Vec<u64>),
    /// The operands of a sum, which one infinity or NaN decides: of eight lines one may have them.
    Sum(Box<DotProduct>),
}

/// Interesting codes that random draws choose from.
const POOL: usize = 256;

impl Weighted {
    pub(super) fn new(unit: &VectorUnit, seed: u64, stream: u64) -> Self {
        let fields = unit.operands().to_vec();
        let pools = fields.iter().map(|field| pools::of_unit(unit, field, POOL)).collect();
        let kind = match unit {
            VectorUnit::Fixed(unit) => {
                let places = lists::places(unit);
                match unit.dot_product() {
                    Some(dot) => Kind::Sum(Box::new(dot.clone())),
                    None if places.is_empty() => Kind::Any,
                    None => Kind::Beside(places),
                }
            }
            VectorUnit::Function(_) => Kind::Any,
        };
        Self { seed, stream, fields, pools, kind }
    }

    /// The operands of as many lines as there is room for, from line `first` on. A field's words
    /// are its number's stream of Philox, one block per line.
    ///
    /// A quarter each: any code; any exponent with a significand of long runs of equal bits
    /// (TestFloat's weighting); an interesting code; a value whose exponent is near the first
    /// operand's, so that sums align and cancel, or near a value or middle of the list that the
    /// result is of.
    pub(super) fn fill(&self, first: u64, operands: &mut [u64]) {
        let (width, level) = (self.fields.len(), Level::detected());
        let mut blocks = [[0; 4]; LINES];
        for (operands, first) in operands.chunks_mut(LINES * width).zip((first..).step_by(LINES)) {
            let blocks = &mut blocks[..operands.len() / width];
            for at in 0..width {
                let generator =
                    Generator::Philox(Philox { seed: self.seed, stream: self.stream + at as u64 });
                generator.fill_blocks(level, first, blocks);
                for ((operands, words), line) in operands.chunks_exact_mut(width).zip(&*blocks).zip(first..) {
                    operands[at] = self.code(at, operands, *words, line);
                }
            }
        }
    }

    /// The code of a field on a line, after those of the fields before it.
    fn code(&self, at: usize, operands: &[u64], words: [u32; 4], line: u64) -> u64 {
        let (field, pool, [a, b, c, d]) = (&self.fields[at], &self.pools[at], words);
        // All but the first field may look at the first.
        let aim = self.fields[0].format.filter(|_| at > 0).map(|format| format.decode(operands[0]));
        match &self.kind {
            Kind::Any => draw(field, pool, aim, words),
            Kind::Beside(places) => {
                let near = places[c as usize / 4 % places.len()];
                let code =
                    if c % 4 == 2 { beside(field, near, words) } else { draw(field, pool, aim, words) };
                if field.datum(code).is_some_and(|datum| datum.is_nan()) { near } else { code }
            }
            Kind::Sum(dot) => {
                let is_last = dot.has_accumulator() && at + 1 == self.fields.len();
                // An accumulator of any exponent would decide most sums, and so would scales.
                let code = if is_last {
                    let aim = Some(dot.first_term(operands));
                    draw(field, pool, aim, if c % 4 == 1 { words } else { [a, b, 2, d] })
                } else if at >= 2 * dot.length() && !line.is_multiple_of(4) {
                    dots::middle(field, words)
                } else {
                    draw(field, pool, aim, words)
                };
                if line.is_multiple_of(8) { code } else { dots::finite(field, code) }
            }
        }
    }
}

/// A code with any of the low bits of its significand.
fn beside(field: &Field, code: u64, [a, b, _, d]: [u32; 4]) -> u64 {
    let trailing = field.format.map_or(0, |format| format.trailing_bits());
    let low = (1 << (d % (trailing + 1))) - 1;
    code & !low | (u64::from(a) << 32 | u64::from(b)) & low
}

/// A code of a field; `aim` is the first operand, or a term of a sum.
fn draw(field: &Field, pool: &[u64], aim: Option<Datum>, [a, b, c, d]: [u32; 4]) -> u64 {
    let word = u64::from(a) << 32 | u64::from(b);
    let code = match (c % 4, &field.format) {
        (0, Some(format)) => runs_of_bits(format, word, d),
        (1, _) => pool[c as usize / 4 % pool.len()],
        (2, Some(format)) => near(format, aim, word, d).unwrap_or(word),
        // Integers of all lengths.
        (0, None) if field.integer.is_some() => (word.cast_signed() >> (d % 64)).cast_unsigned(),
        _ => word,
    };
    code & field.max()
}

/// Any sign and exponent, and a significand of two runs of equal bits with one bit turned over now
/// and then.
fn runs_of_bits(format: &Format, word: u64, choice: u32) -> u64 {
    let trailing = format.trailing_bits();
    if trailing == 0 {
        return word;
    }
    let ones = (1_u64 << trailing) - 1;
    let (from, to) = (choice % (trailing + 1), (choice >> 8) % (trailing + 1));
    let run = (ones >> from) & !(ones >> to);
    let turned = if choice >> 30 == 0 { 1 << ((choice >> 16) % trailing) } else { 0 };
    let significand = if choice & 1 << 29 == 0 { run ^ turned } else { !run ^ turned } & ones;
    (word & !ones) | significand
}

/// A value whose exponent differs from that of `first` by at most a little more than the precision.
fn near(format: &Format, first: Option<Datum>, word: u64, choice: u32) -> Option<u64> {
    let first = first.filter(|x| x.is_finite() && !x.is_zero())?;
    let spread = 2 * format.precision() + 5;
    let offset = (choice % spread).cast_signed() - (spread / 2).cast_signed();
    let trailing = format.trailing_bits();
    let significand = 1 << trailing | (word & ((1 << trailing) - 1));
    let exponent = first.exponent_of_leading_bit() + offset - trailing.cast_signed();
    format.encode(Datum::finite(word >> 63 == 1 && format.is_signed(), significand, exponent))
}
