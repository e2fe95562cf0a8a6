//! [`VectorPlan`]: which operands a unit is given, each line from its number alone.

use std::fmt;
use std::ops::Range;

use crate::error::Error;
use crate::vectors::level::CoverageLevel;
use crate::vectors::random::Weighted;
use crate::vectors::unit::{Field, UnitUnderTest};
use crate::vectors::{directed, pools};

/// Operand bits, random words included, that are tried exhaustively unless a level is given.
const EXHAUSTIVE_BITS: u32 = 24;
/// Operand bits that can be tried exhaustively.
const MAX_BITS: u32 = 32;

/// Lines that one coverage model contributes.
#[derive(Clone, Debug)]
pub struct Section {
    /// The model's name.
    pub model: &'static str,
    /// How many lines it has.
    pub lines: u64,
    kind: SectionKind,
}

#[derive(Clone, Debug)]
enum SectionKind {
    /// All combinations of all numbers of fields of so many bits, the last field fastest.
    All(Vec<u32>),
    /// All combinations of chosen numbers, the last field fastest.
    Product(Vec<Vec<u64>>),
    /// Lines one after the other.
    List(Vec<u64>),
    Random(Weighted),
}

/// The operands of a vector file, by line.
#[derive(Clone, Debug)]
pub struct VectorPlan {
    level: Option<CoverageLevel>,
    seed: u64,
    width: usize,
    sections: Vec<Section>,
}

impl VectorPlan {
    /// The plan for a unit. Without a level all operands are tried if they have at most 24 bits
    /// together, else level 1; `random` replaces the level's number of random lines.
    ///
    /// # Errors
    /// All operands where there are more than 2^32.
    pub fn new(
        unit: &UnitUnderTest,
        level: Option<CoverageLevel>,
        seed: u64,
        random: Option<u64>,
    ) -> Result<Self, Error> {
        let fields = unit.operands();
        let bits = fields.iter().fold(0_u32, |sum, field| sum.saturating_add(field.bits));
        let level = level.unwrap_or(if bits <= EXHAUSTIVE_BITS {
            CoverageLevel::Exhaustive
        } else {
            CoverageLevel::One
        });
        let mut sections = Vec::new();
        if level == CoverageLevel::Exhaustive {
            if bits > MAX_BITS {
                let name = unit.operation().function().name().to_owned();
                return Err(Error::TooManyVectors { name, bits, limit: MAX_BITS });
            }
            let kind = SectionKind::All(fields.iter().map(|field| field.bits).collect());
            sections.push(Section { model: "all operands", lines: 1 << bits, kind });
        } else {
            sections.extend(product(fields, level));
            for model in directed::models(unit, level)? {
                let lines = (model.operands.len() / fields.len()) as u64;
                sections.push(Section { model: model.name, lines, kind: SectionKind::List(model.operands) });
            }
        }
        let random = random.unwrap_or(match level {
            CoverageLevel::Exhaustive => 0,
            CoverageLevel::One => 10_000,
            CoverageLevel::Two => 1_000_000,
        });
        if random > 0 {
            let kind = SectionKind::Random(Weighted::new(fields, seed));
            sections.push(Section { model: "weighted random", lines: random, kind });
        }
        Ok(Self { level: Some(level), seed, width: fields.len(), sections })
    }

    /// The plan of operands that are given, line after line.
    pub(crate) fn of_lines(model: &'static str, lines: &[Vec<u64>], width: usize) -> Self {
        let kind = SectionKind::List(lines.concat());
        Self {
            level: None,
            seed: 0,
            width,
            sections: vec![Section { model, lines: lines.len() as u64, kind }],
        }
    }

    /// The level; `None` where the operands were chosen otherwise.
    pub fn level(&self) -> Option<CoverageLevel> {
        self.level
    }

    /// The seed of the random lines.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        self.sections.iter().map(|section| section.lines).sum()
    }

    /// The models with their lines.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// How many operands a line has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The operands of these lines, counted from 0, line by line. What one line has does not depend
    /// on the others.
    pub fn fill(&self, lines: Range<u64>, mut operands: &mut [u64]) {
        let mut start = 0;
        for section in &self.sections {
            let [first, end] =
                [lines.start, lines.end].map(|line| line.clamp(start, start + section.lines) - start);
            let (of_section, rest) = operands.split_at_mut(place(end - first) * self.width);
            section.fill(first, of_section, self.width);
            (operands, start) = (rest, start + section.lines);
        }
    }
}

impl Section {
    /// The operands of as many lines as there is room for, `width` a line.
    fn fill(&self, first: u64, operands: &mut [u64], width: usize) {
        let lines = operands.chunks_exact_mut(width).zip(first..);
        match &self.kind {
            SectionKind::All(bits) => lines.for_each(|(operands, mut i)| {
                for (operand, bits) in operands.iter_mut().zip(bits).rev() {
                    *operand = i & (u64::MAX >> (64 - bits));
                    i = i.checked_shr(*bits).unwrap_or(0);
                }
            }),
            SectionKind::Product(pools) => lines.for_each(|(operands, mut i)| {
                for (operand, pool) in operands.iter_mut().zip(pools).rev() {
                    let count = pool.len() as u64;
                    *operand = pool[place(i % count)];
                    i /= count;
                }
            }),
            SectionKind::List(list) => {
                let start = place(first) * width;
                operands.copy_from_slice(&list[start..start + operands.len()]);
            }
            SectionKind::Random(weighted) => weighted.fill(first, operands),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a place in memory")]
fn place(i: u64) -> usize {
    i as usize
}

/// Interesting operands, each with each. With many fields no more than two numbers each would fit:
/// then none.
fn product(fields: &[Field], level: CoverageLevel) -> Option<Section> {
    let limit: f64 = if level == CoverageLevel::One { 65_536.0 } else { 1_048_576.0 };
    let count = u32::try_from(fields.len()).ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 2^20")]
    let cap = limit.powf(1.0 / f64::from(count)) as usize;
    if cap < 8 {
        return None;
    }
    let pools: Vec<_> = fields.iter().map(|field| pools::pool(field, cap)).collect();
    let lines = pools.iter().map(|pool| pool.len() as u64).product();
    Some(Section {
        model: "extremes, binades, special significands",
        lines,
        kind: SectionKind::Product(pools),
    })
}

/// `all operands 65536`, models separated by semicolons.
impl fmt::Display for VectorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, section) in self.sections.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", section.model, section.lines)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CoverageLevel, UnitUnderTest, VectorPlan};

    /// What a line has depends on its number alone: lines together, in pieces across sections, and
    /// one by one.
    #[test]
    fn lines_by_their_numbers() {
        let unit = |text: &str| UnitUnderTest::new(text.parse().expect(text), None).expect(text);
        for (unit, level) in [
            (unit("Add<e2m1fn, e2m3fn, e4m3fn>"), CoverageLevel::Exhaustive),
            (unit("FMA<e4m3fn, e4m3fn, binary32, e4m3fn>"), CoverageLevel::One),
            (unit("BlockDotProduct<3, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>"), CoverageLevel::One),
        ] {
            let plan = VectorPlan::new(&unit, Some(level), 3, Some(1000)).expect("a plan");
            assert!(plan.sections().len() > 1, "of more than one kind");
            let (lines, width) = (plan.lines(), plan.width());
            let fill = |lines: std::ops::Range<u64>| {
                let count = usize::try_from(lines.end - lines.start).expect("in memory");
                let mut operands = vec![0; count * width];
                plan.fill(lines, &mut operands);
                operands
            };
            let all = fill(0..lines);
            for piece in [1, 257, 300, 1001] {
                let starts = (0..lines).step_by(usize::try_from(piece).expect("small"));
                let pieces: Vec<u64> = starts.flat_map(|i| fill(i..lines.min(i + piece))).collect();
                assert!(pieces == all, "{unit:?} in pieces of {piece}");
            }
            assert!(fill(lines..lines).is_empty());
        }
    }
}
