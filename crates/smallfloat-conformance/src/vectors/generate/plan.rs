//! [`VectorPlan`]: which operands a unit is given, each line from its number alone.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use smallfloat_kernels::parallel_map;

use crate::error::Error;
use crate::named::by_name;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::generate::random::Weighted;
use crate::vectors::generate::{directed, dots, lists, pools};
use crate::vectors::level::CoverageLevel;
use crate::vectors::unit::UnitUnderTest;

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
    /// How many the model has; the section's are evenly spread among them.
    pub of: u64,
    kind: SectionKind,
    /// The ports' values, the first numbers of each line.
    ports: Vec<u64>,
}

/// Which part of a level's lines a plan has.
#[derive(Clone, Copy, Default, Debug)]
pub struct Selection {
    /// How many random lines; the level's number if left out.
    pub random: Option<u64>,
    /// Lines of one kind only.
    pub only: Option<LineKind>,
    /// How many lines: of more directed ones some evenly spread, of fewer these and random ones.
    /// All operands, and directed lines alone, are not filled up.
    pub count: Option<u64>,
}

/// The choice of a line's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// For what they reach.
    Directed,
    /// By weighted chance.
    Random,
}

impl LineKind {
    /// Both kinds with their names.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("directed", Self::Directed), ("random", Self::Random)];
}

by_name!(LineKind, LineKind);

/// One of so many parts of a plan, which are pieces of about equal length in the order of its
/// lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// The lines of this part, of a plan with so many.
    fn lines(self, all: u64) -> Range<u64> {
        let cut = |number: u64| share(all, number, self.of);
        cut(self.number - 1)..cut(self.number)
    }
}

/// ⌊all · part / of⌋.
fn share(all: u64, part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(all) * u128::from(part) / u128::from(of)).expect("part ≤ of")
}

/// `2/4`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(Error::Shard { text: text.to_owned() }),
        }
    }
}

#[derive(Clone, Debug)]
enum SectionKind {
    /// All combinations of all numbers of fields of so many bits, the last field fastest.
    All(Vec<u32>),
    /// All numbers of these ranges, of the only field.
    Ranges(Vec<Range<u64>>),
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
    shard: Option<Shard>,
}

impl VectorPlan {
    /// Returns the plan for a unit. Without a level all operands are tried if they have at most 24
    /// bits together, else level 1; `random` replaces the level's number of random lines.
    ///
    /// # Errors
    /// All operands where there are more than 2^32.
    pub fn new(
        unit: impl Into<VectorUnit>,
        level: Option<CoverageLevel>,
        seed: u64,
        random: Option<u64>,
    ) -> Result<Self, Error> {
        Self::with_selection(unit, level, seed, Selection { random, ..Selection::default() })
    }

    /// The plan of a part of a level's lines. Where one kind of lines is asked for, the level is 1
    /// unless it is given.
    ///
    /// # Errors
    /// All operands where there are more than 2^32, or where one kind of lines is asked for; a
    /// selection without lines.
    pub fn with_selection(
        unit: impl Into<VectorUnit>,
        level: Option<CoverageLevel>,
        seed: u64,
        Selection { random, only, count }: Selection,
    ) -> Result<Self, Error> {
        let unit = unit.into();
        let settings: Vec<(Vec<u64>, VectorUnit)> = match unit.function().and_then(UnitUnderTest::settings) {
            None => vec![(Vec::new(), unit.clone())],
            Some(settings) => {
                let units = settings.units().iter().enumerate();
                units.map(|(setting, unit)| (settings.codes(setting), unit.into())).collect()
            }
        };
        let bits = settings[0].1.operands().iter().fold(0_u32, |sum, field| sum.saturating_add(field.bits));
        let bits = bits.saturating_add(settings.len().next_power_of_two().ilog2());
        if let (Some(CoverageLevel::Exhaustive), Some(kind)) = (level, only) {
            return Err(Error::NoKinds { kind: kind.to_string() });
        }
        let level = level.unwrap_or(if bits <= EXHAUSTIVE_BITS && only.is_none() {
            CoverageLevel::Exhaustive
        } else {
            CoverageLevel::One
        });
        if level == CoverageLevel::Exhaustive && bits > MAX_BITS {
            let name = unit.short_name().to_owned();
            return Err(Error::TooManyVectors { name, bits, limit: MAX_BITS });
        }
        let parts = settings.len() as u64;
        let of_setting = |at: usize| {
            let ((ports, unit), part) = (&settings[at], at as u64);
            let of_part = |count| share(count, part + 1, parts) - share(count, part, parts);
            let selection = Selection { random, only, count: count.map(of_part) };
            // Each setting has random words of its own.
            let random = Weighted::new(unit, seed, part << 32);
            let mut sections = sections(unit, level, random, selection)?;
            for section in &mut sections {
                section.ports.clone_from(ports);
            }
            Ok(sections)
        };
        let sections: Result<Vec<_>, Error> = parallel_map(settings.len(), of_setting).into_iter().collect();
        let sections: Vec<_> = sections?.into_iter().flatten().collect();
        if sections.is_empty() {
            return Err(Error::NoLines);
        }
        Ok(Self { level: Some(level), seed, width: unit.operands().len(), sections, shard: None })
    }

    /// Returns one part of the plan; all parts of one number are together exactly the plan, in its
    /// order.
    #[must_use]
    pub fn with_shard(self, shard: Shard) -> Self {
        Self { shard: Some(shard), ..self }
    }

    /// The plan of operands that are given, line after line.
    pub(crate) fn of_lines(model: &'static str, lines: &[Vec<u64>], width: usize) -> Self {
        let kind = SectionKind::List(lines.concat());
        Self {
            level: None,
            seed: 0,
            width,
            sections: vec![Section::whole(model, lines.len() as u64, kind)],
            shard: None,
        }
    }

    /// Returns the level; `None` where the operands were chosen otherwise.
    pub fn level(&self) -> Option<CoverageLevel> {
        self.level
    }

    /// Returns the seed of the random lines.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns how many lines there are.
    pub fn lines(&self) -> u64 {
        let range = self.range();
        range.end - range.start
    }

    /// Returns the part of all lines that this is, if it is one.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Returns the lines among those of all parts.
    pub fn range(&self) -> Range<u64> {
        let all = self.all_lines();
        self.shard.map_or(0..all, |shard| shard.lines(all))
    }

    /// Returns the lines of all parts.
    pub fn all_lines(&self) -> u64 {
        self.sections.iter().map(|section| section.lines).sum()
    }

    /// Returns the models with their lines, those of other parts included.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// How many operands a line has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The operands of these lines, counted from 0, line by line. What one line has does not depend
    /// on the others.
    pub fn fill(&self, lines: Range<u64>, mut operands: &mut [u64]) {
        let before = self.range().start;
        let lines = before + lines.start..before + lines.end;
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

/// The lines of a unit without ports.
fn sections(
    unit: &VectorUnit,
    level: CoverageLevel,
    weighted: Weighted,
    Selection { random, only, count }: Selection,
) -> Result<Vec<Section>, Error> {
    let fields = unit.operands();
    let mut sections = Vec::new();
    if level == CoverageLevel::Exhaustive {
        let (lines, kind) = if let Some(ranges) = unit.codes() {
            (ranges.iter().map(|range| range.end - range.start).sum(), SectionKind::Ranges(ranges))
        } else {
            let bits = fields.iter().map(|field| field.bits);
            (1 << bits.clone().sum::<u32>(), SectionKind::All(bits.collect()))
        };
        sections.push(Section::whole("all operands", lines, kind));
    } else if only != Some(LineKind::Random) {
        sections.extend(product(unit, level));
        let models = match unit {
            VectorUnit::Function(unit) => directed::models(unit, level)?,
            VectorUnit::Fixed(unit) => match unit.dot_product() {
                Some(dot) => dots::models(dot, level),
                None => lists::models(unit),
            },
        };
        for model in models {
            let lines = (model.operands.len() / fields.len()) as u64;
            sections.push(Section::whole(model.name, lines, SectionKind::List(model.operands)));
        }
    }
    let directed: u64 = sections.iter().map(|section| section.lines).sum();
    let random = match (only, level, count) {
        (Some(LineKind::Directed), ..) => 0,
        (None, CoverageLevel::Exhaustive, _) => random.unwrap_or(0),
        (.., Some(count)) => count.saturating_sub(directed),
        (_, CoverageLevel::Two, None) => random.unwrap_or(1_000_000),
        _ => random.unwrap_or(10_000),
    };
    if let Some(count) = count.filter(|count| *count < directed) {
        sections = thinned(sections, directed, count);
    }
    if random > 0 {
        sections.push(Section::whole("weighted random", random, SectionKind::Random(weighted)));
    }
    Ok(sections)
}

/// So many of all directed lines, each section's share of them; sections without any are left out.
fn thinned(sections: Vec<Section>, directed: u64, count: u64) -> Vec<Section> {
    let mut before = 0;
    let mut kept = Vec::new();
    for section in sections {
        let cut = |line: u64| share(line, count, directed);
        let lines = cut(before + section.lines) - cut(before);
        before += section.lines;
        kept.extend((lines > 0).then_some(Section { lines, ..section }));
    }
    kept
}

impl Section {
    /// All lines of a model.
    fn whole(model: &'static str, lines: u64, kind: SectionKind) -> Self {
        Self { model, lines, of: lines, kind, ports: Vec::new() }
    }

    /// The numbers of as many lines as there is room for, `width` a line, the ports' first.
    fn fill(&self, first: u64, numbers: &mut [u64], width: usize) {
        if self.ports.is_empty() {
            return self.fill_operands(first, numbers, width);
        }
        let rest = width - self.ports.len();
        let mut operands = vec![0; numbers.len() / width * rest];
        self.fill_operands(first, &mut operands, rest);
        for (line, operands) in numbers.chunks_exact_mut(width).zip(operands.chunks_exact(rest)) {
            let (ports, of_line) = line.split_at_mut(self.ports.len());
            ports.copy_from_slice(&self.ports);
            of_line.copy_from_slice(operands);
        }
    }

    /// The operands of as many lines as there is room for, `width` a line.
    fn fill_operands(&self, first: u64, operands: &mut [u64], width: usize) {
        if self.lines == self.of {
            return self.fill_from(first, operands, width);
        }
        for (operands, line) in operands.chunks_exact_mut(width).zip(first..) {
            self.fill_from(share(self.of, line, self.lines), operands, width);
        }
    }

    /// The operands of neighbouring lines of the model.
    fn fill_from(&self, first: u64, operands: &mut [u64], width: usize) {
        let lines = operands.chunks_exact_mut(width).zip(first..);
        match &self.kind {
            SectionKind::All(bits) => lines.for_each(|(operands, mut i)| {
                for (operand, bits) in operands.iter_mut().zip(bits).rev() {
                    *operand = i & (u64::MAX >> (64 - bits));
                    i = i.checked_shr(*bits).unwrap_or(0);
                }
            }),
            SectionKind::Ranges(ranges) => lines.for_each(|(operands, mut i)| {
                for range in ranges {
                    operands[0] = range.start + i;
                    if operands[0] < range.end {
                        break;
                    }
                    i -= range.end - range.start;
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
fn product(unit: &VectorUnit, level: CoverageLevel) -> Option<Section> {
    let fields = unit.operands();
    let limit: f64 = if level == CoverageLevel::One { 65_536.0 } else { 1_048_576.0 };
    let count = u32::try_from(fields.len()).ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 2^20")]
    let cap = limit.powf(1.0 / f64::from(count)) as usize;
    if cap < 8 {
        return None;
    }
    let pools: Vec<_> = fields.iter().map(|field| pools::of_unit(unit, field, cap)).collect();
    let lines = pools.iter().map(|pool| pool.len() as u64).product();
    Some(Section::whole("extremes, binades, special significands", lines, SectionKind::Product(pools)))
}

/// `all operands 65536`, models separated by semicolons; `1000 of 65536` where lines are left out.
/// The lines of a model at all settings of ports are counted together.
impl fmt::Display for VectorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut models: Vec<(&str, u64, u64)> = Vec::new();
        for section in &self.sections {
            let known = models.iter_mut().find(|(model, ..)| *model == section.model);
            match known.filter(|_| !section.ports.is_empty()) {
                Some((_, lines, of)) => (*lines, *of) = (*lines + section.lines, *of + section.of),
                None => models.push((section.model, section.lines, section.of)),
            }
        }
        for (i, (model, lines, of)) in models.into_iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{model} {lines}")?;
            if lines < of {
                write!(f, " of {of}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CoverageLevel, LineKind, Selection, Shard, UnitUnderTest, VectorPlan};

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

    fn lines(plan: &VectorPlan) -> Vec<Vec<u64>> {
        let mut operands = vec![0; usize::try_from(plan.lines()).expect("few") * plan.width()];
        plan.fill(0..plan.lines(), &mut operands);
        operands.chunks(plan.width()).map(<[u64]>::to_vec).collect()
    }

    #[test]
    fn shards_are_the_whole() {
        let unit = UnitUnderTest::new("Add<e4m3fn, e2m1fn, e4m3fn>".parse().expect("text"), None);
        let plan =
            VectorPlan::new(unit.expect("a unit"), Some(CoverageLevel::One), 3, Some(100)).expect("a plan");
        for of in [1, 2, 7, 1000] {
            let shard = |i: u64| plan.clone().with_shard(format!("{i}/{of}").parse().expect("a shard"));
            let parts: Vec<_> = (1..=of).flat_map(|i| lines(&shard(i))).collect();
            assert!(parts == lines(&plan), "{of} parts");
        }
        for wrong in ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    /// Lines of one kind, and so many of them, are lines of the whole in its order.
    #[test]
    fn selections_are_parts_of_the_whole() {
        let unit = UnitUnderTest::new("Add<e4m3fn, e2m1fn, e4m3fn>".parse().expect("text"), None);
        let unit = unit.expect("a unit");
        let plan = |level, random, only, count| {
            VectorPlan::with_selection(&unit, level, 3, Selection { random, only, count }).expect("a plan")
        };
        let (one, directed, random) =
            (Some(CoverageLevel::One), Some(LineKind::Directed), Some(LineKind::Random));
        let whole = lines(&plan(one, None, None, None));
        let of_directed = lines(&plan(None, None, directed, None));
        assert_eq!([of_directed.clone(), lines(&plan(None, None, random, None))].concat(), whole);
        assert_eq!(whole.len() - of_directed.len(), 10_000);
        assert_eq!(lines(&plan(None, None, random, Some(77))), whole[of_directed.len()..][..77]);
        let filled = of_directed.len() as u64 + 5;
        assert_eq!(lines(&plan(one, None, None, Some(filled))), whole[..of_directed.len() + 5]);
        for count in [1, 10, 999] {
            let some = plan(one, None, None, Some(count));
            assert_eq!(some.lines(), count);
            let mut rest = whole.iter();
            assert!(lines(&some).iter().all(|line| rest.any(|other| other == line)), "{count} lines");
        }
        // Every fourth of 2^12.
        let all = plan(None, None, None, Some(1024));
        assert_eq!(all.to_string(), "all operands 1024 of 4096");
        assert!(lines(&all).iter().zip((0..).step_by(4)).all(|(line, i)| *line == [i >> 4, i & 15]));
        let none = Selection { count: Some(0), ..Selection::default() };
        assert!(VectorPlan::with_selection(&unit, one, 3, none).is_err());
    }
}
