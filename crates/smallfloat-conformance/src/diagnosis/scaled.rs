//! Mistakes of sums of products with block scales: scales that are lost, read wrongly or taken for
//! those of other blocks, and sums that are aligned or rounded otherwise.

use smallfloat::formats::{BINARY32, E4M3FN, E8M0FNU};
use smallfloat::ops::{Semantics, Sum, multiply};
use smallfloat::{Datum, Exact, Format, Rounding, Saturation, project};
use smallfloat_kernels::{Accumulate, Gpu, MatrixUnit, Output};

use crate::diagnosis::fixed::of_unit;
use crate::diagnosis::mistake::Mistake;
use crate::diagnosis::sums::{changed, flushed, of_lanes, of_operands};
use crate::terms::{Cut, Term};
use crate::vectors::{BlockScales, CallOutcome, DotProduct, FixedUnit, ScaledSums, scale, times};

/// The mistakes of a sum with block scales, the likelier first.
pub(super) fn of_scaled_sums(unit: &FixedUnit, dot: &DotProduct) -> Vec<Mistake> {
    let (Some(scales), Some(sums)) = (dot.scales(), dot.scaled_sums()) else { return Vec::new() };
    let mut all = of_places(unit, dot, scales, sums);
    all.extend(of_codes(dot, scales));
    all.extend(of_units(dot, scales, sums));
    all.extend(of_blocks_rounded(dot, sums));
    all.extend(of_operands(unit, dot));
    all.extend(of_lanes(unit, dot, sums.k));
    all
}

/// The sides of a mistake in scales, with their name.
const SIDES: [(&str, [bool; 2]); 3] = [("", [true; 2]), (" of x", [true, false]), (" of y", [false, true])];

/// A change of the scales of one side.
type Change = dyn Fn(&mut [u64]) + Send + Sync;

/// Scales that are ignored, or taken for those of other blocks.
fn of_places(unit: &FixedUnit, dot: &DotProduct, scales: BlockScales, sums: ScaledSums) -> Vec<Mistake> {
    let one = scales.format.encode(Datum::finite(false, 1, 0)).expect("scales have a one");
    let mut all = Vec::new();
    let mut add = |name: String, sides: [bool; 2], change: Box<Change>| {
        all.push(changed(unit, dot, name, move |dot, operands| {
            let [_, _, s, t, _] = dot.parts_mut(operands);
            for (codes, _) in [s, t].into_iter().zip(sides).filter(|(_, is_wrong)| *is_wrong) {
                change(codes);
            }
        }));
    };
    let per_group = sums.k / scales.block;
    let moved = |from: fn(usize, usize) -> usize| {
        move |codes: &mut [u64]| {
            let own = codes.to_vec();
            codes.iter_mut().enumerate().for_each(|(at, code)| *code = own[from(at, own.len() - 1)]);
        }
    };
    for (of, sides) in SIDES {
        add(format!("ignores the scales{of}"), sides, Box::new(move |codes| codes.fill(one)));
        if dot.blocks() == 1 {
            continue;
        }
        let all_alike = moved(|_, _| 0);
        add(format!("takes the first scale{of} for all blocks"), sides, Box::new(all_alike));
        let late = moved(|at, _| at.saturating_sub(1));
        add(format!("takes the scales{of} one block late"), sides, Box::new(late));
        let around = moved(|at, last| at.checked_sub(1).unwrap_or(last));
        add(format!("takes the scales{of} one block late, the last one first"), sides, Box::new(around));
        let early = moved(|at, last| (at + 1).min(last));
        add(format!("takes the scales{of} one block early"), sides, Box::new(early));
        add(format!("takes the scales{of} from the last to the first"), sides, Box::new(<[u64]>::reverse));
        let exchanged = moved(|at, last| (at ^ 1).min(last));
        add(format!("exchanges the scales{of} of neighbouring blocks"), sides, Box::new(exchanged));
        if scales.block == 16 {
            let pairs = moved(|at, _| at & !1);
            let name = format!("takes blocks of 32, with the first of two scales{of}");
            add(name, sides, Box::new(pairs));
            let halves = moved(|at, _| at / 2);
            add(format!("takes blocks of 32, and half of the scales{of}"), sides, Box::new(halves));
        }
        if per_group > 1 {
            let alike = move |codes: &mut [u64]| {
                codes.chunks_mut(per_group).for_each(|codes| codes.fill(codes[0]));
            };
            let name = format!("takes the first scale{of} of every {per_group} for all of them");
            add(name, sides, Box::new(alike));
            let backward = move |codes: &mut [u64]| codes.chunks_mut(per_group).for_each(<[u64]>::reverse);
            let name = format!("takes every {per_group} scales{of} from the last to the first");
            add(name, sides, Box::new(backward));
        }
    }
    // Of groups with one scale that is to ignore all of them.
    for at in (0..per_group.min(dot.blocks())).filter(|_| per_group > 1) {
        for (side, sides) in [("s", [true, false]), ("t", [false, true])] {
            let groups =
                if dot.blocks() > per_group { format!(" of every {per_group}") } else { String::new() };
            let stuck = move |codes: &mut [u64]| {
                codes.iter_mut().skip(at).step_by(per_group).for_each(|code| *code = one);
            };
            add(format!("takes {side}{at}{groups} for one"), sides, Box::new(stuck));
        }
    }
    all
}

/// What a code of a scale is taken for; `None` for a NaN.
type Reading = fn(&Format, u64) -> Option<Term>;

/// Readings of scales with what is wrong, in which `{}` names the side.
const OF_BIAS: [(&str, Reading); 2] = [
    ("has a bias one too large for the scales{}", |format, code| moved(format, code, -1)),
    ("has a bias one too small for the scales{}", |format, code| moved(format, code, 1)),
];
const OF_E8M0: [(&str, Reading); 2] = [
    ("takes the scale{} 2^-127 for zero", |format, code| {
        Term::new(format, if code == 0 { Datum::ZERO } else { scale(format, code) })
    }),
    ("takes NaN among the scales{} for 2^128", |format, code| {
        Term::new(format, number_for_nan(scale(format, code), Datum::finite(false, 1, 128)))
    }),
];
const OF_UE4M3: [(&str, Reading); 4] = [
    ("takes the sign of the scales{}", |format, code| Term::new(format, format.decode(code))),
    ("ignores the significand of the scales{}", |format, code| {
        let is_nan = format.decode(code).is_nan();
        Term::new(
            format,
            scale(format, if is_nan { code } else { code & !((1 << format.trailing_bits()) - 1) }),
        )
    }),
    ("takes NaN among the scales{} for 480", |format, code| {
        Term::new(format, number_for_nan(scale(format, code), Datum::finite(false, 480, 0)))
    }),
    ("takes subnormal scales{} for zeros", |format, code| {
        Term::new(format, scale(format, flushed(format, code)))
    }),
];

/// The scale times 2^by.
fn moved(format: &Format, code: u64, by: i32) -> Option<Term> {
    let term = Term::new(format, scale(format, code))?;
    let by = if term.significand == 0 { 0 } else { by };
    Some(Term { unit: term.unit + by, exponent: term.exponent + by, ..term })
}

fn number_for_nan(datum: Datum, number: Datum) -> Datum {
    if datum.is_nan() { number } else { datum }
}

/// Scales whose codes are read wrongly.
fn of_codes(dot: &DotProduct, scales: BlockScales) -> Vec<Mistake> {
    let own = scales.format;
    let mut all = Vec::new();
    let of_format = if own == E8M0FNU { &OF_E8M0[..] } else { &OF_UE4M3 };
    // A factor has no side.
    let of_bias =
        OF_BIAS.iter().map(|reading| (reading, [SIDES[0], (" of one side", [true, false])].to_vec()));
    let of_format = of_format.iter().map(|reading| (reading, SIDES.to_vec()));
    for ((name, reading), sides) in of_bias.chain(of_format) {
        for (of, sides) in sides {
            let way = Way { reading: Some((*reading, sides)), ..Way::right(dot) };
            all.push(way.mistake(name.replace("{}", of), dot));
        }
    }
    // The other format of scales, where the unit has both.
    for format in [E8M0FNU, E4M3FN].into_iter().filter(|format| *format != own) {
        let [x, y] = dot.formats();
        let (accumulate, scales) = (dot.accumulate(), BlockScales { format, ..scales });
        let other = FixedUnit::scaled_dot(dot.length(), x, y, accumulate, scales).ok();
        all.extend(other.map(|other| of_unit(format!("takes the scales for codes of {format}"), other)));
    }
    if scales.block == 32 && dot.scaled_sums().is_some_and(|sums| sums.exact == 16) {
        let way = Way { blocks_of_16: true, ..Way::right(dot) };
        all.push(way.mistake("takes blocks of 16, and the scales of a group twice".into(), dot));
    }
    all
}

/// Other numbers of products, other alignments, other roundings.
fn of_units(dot: &DotProduct, scales: BlockScales, sums: ScaledSums) -> Vec<Mistake> {
    let right = Way::right(dot);
    let mut all = Vec::new();
    let mut add = |name: String, way: Way| all.push(way.mistake(name, dot));
    for fraction_bits in (1..=48).filter(|bits| *bits != sums.fraction_bits) {
        let name = format!("keeps {fraction_bits} fraction bits of aligned terms");
        add(name, Way { sums: ScaledSums { fraction_bits, ..sums }, ..right });
    }
    for k in (0..=8).map(|power| 1 << power).filter(|k| *k != sums.k) {
        add(format!("adds {k} products at a time"), Way { sums: ScaledSums { k, ..sums }, ..right });
    }
    let exact = [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|exact| *exact != sums.exact);
    for exact in exact.filter(|exact| *exact <= scales.block) {
        let name = match exact {
            1 => "aligns every product".to_owned(),
            _ => format!("adds {exact} products exactly before they are aligned"),
        };
        let way = Way { sums: ScaledSums { exact, ..sums }, ..right };
        // Exact sums of wide formats can't be aligned by their scales alone.
        if sums.exact > 1 {
            add(name.clone(), way);
        }
        add(format!("{name} by the leading bits"), Way { aligned: Aligned::ByLeadingBits, ..way });
        if exact == 1 {
            let narrow = ScaledSums { k: 32, exact, fraction_bits: 25 };
            add(format!("{name}, 32 at a time with 25 fraction bits"), Way { sums: narrow, ..right });
        }
    }
    add("rounds sums nearest-even".into(), Way { rounding: Rounding::NearestEven, ..right });
    add("keeps sums in e8m13".into(), Way { output: Output::E8M13, ..right });
    add("cuts aligned terms toward −∞".into(), Way { cut: Cut::Down, ..right });
    add("rounds aligned terms to nearest".into(), Way { cut: Cut::Nearest, ..right });
    add("leaves zeros out of the alignment".into(), Way { aligned: Aligned::WithoutZeros, ..right });
    add("aligns terms by their leading bits".into(), Way { aligned: Aligned::ByLeadingBits, ..right });
    add(
        "leaves the accumulator out of the alignment".into(),
        Way { aligned: Aligned::WithoutAccumulator, ..right },
    );
    add("saturates".into(), Way { saturates: true, ..right });
    // What the GPU adds without scales.
    let [x, y] = dot.formats();
    let plain = Accumulate::Unit(MatrixUnit::new(Gpu::Blackwell));
    all.extend(FixedUnit::dot(dot.length(), x, y, plain).ok().map(|plain| {
        let dot = dot.clone();
        Mistake::of_fixed("ignores all scales, and adds as blackwell does without".into(), move |operands| {
            let [x, y, .., c] = dot.parts(operands);
            plain.evaluate(&[x, y, c].concat()).ok()
        })
    }));
    all
}

/// What terms are aligned by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aligned {
    /// The exponents of their operands, those of zeros included.
    ByOperands,
    ByLeadingBits,
    WithoutZeros,
    WithoutAccumulator,
}

/// A way to add products with block scales, right or wrong.
#[derive(Clone, Copy)]
struct Way {
    sums: ScaledSums,
    rounding: Rounding,
    output: Output,
    cut: Cut,
    aligned: Aligned,
    saturates: bool,
    /// How scales of these sides are read.
    reading: Option<(Reading, [bool; 2])>,
    /// Sixteen elements share a scale; the scales of a group are used again after the last one.
    blocks_of_16: bool,
}

/// Binades above all products from which on an accumulator that aligns nothing is left alone.
const FAR: i32 = 60;

impl Way {
    /// The right one.
    fn right(dot: &DotProduct) -> Self {
        Self {
            sums: dot.scaled_sums().expect("the sum has scales"),
            rounding: Rounding::TowardZero,
            output: Output::Binary32,
            cut: Cut::TowardZero,
            aligned: Aligned::ByOperands,
            saturates: false,
            reading: None,
            blocks_of_16: false,
        }
    }

    fn mistake(self, name: String, dot: &DotProduct) -> Mistake {
        let dot = dot.clone();
        Mistake::of_fixed(name, move |operands| Some(self.evaluate(&dot, operands)))
    }

    fn evaluate(&self, dot: &DotProduct, operands: &[u64]) -> CallOutcome {
        let [x, y, s, t, c] = dot.parts(operands);
        let mut c = c[0];
        for first in (0..dot.length()).step_by(self.sums.k) {
            let end = (first + self.sums.k).min(dot.length());
            c = self.group(dot, [x, y], [s, t], first..end, c);
        }
        CallOutcome::one(c, smallfloat::Flags::NONE)
    }

    /// The scale of the element at a place; `None` for a NaN.
    fn scale(&self, dot: &DotProduct, side: usize, codes: &[u64], place: usize) -> Option<Term> {
        let BlockScales { format, block } = dot.scales().expect("the sum has scales");
        let at = if self.blocks_of_16 {
            let per_group = self.sums.k / block;
            let group = place / self.sums.k * per_group;
            (group + place % self.sums.k / 16 % per_group).min(codes.len() - 1)
        } else {
            place / block
        };
        match self.reading {
            Some((reading, sides)) if sides[side] => reading(&format, codes[at]),
            _ => Term::new(&format, scale(&format, codes[at])),
        }
    }

    /// The accumulator after a group of products.
    fn group(
        &self,
        dot: &DotProduct,
        [x, y]: [&[u64]; 2],
        scales: [&[u64]; 2],
        places: std::ops::Range<usize>,
        c: u64,
    ) -> u64 {
        let [x_format, y_format] = dot.formats();
        let (mut terms, mut special) = (Vec::new(), Sum::new());
        let mut is_special = false;
        for first in places.clone().step_by(self.sums.exact) {
            let of = |side: usize| self.scale(dot, side, scales[side], first);
            let (Some(s), Some(t)) = (of(0), of(1)) else { return nan() };
            let end = (first + self.sums.exact).min(places.end);
            let mut sum: Option<Term> = None;
            for place in first..end {
                let data = (x_format.decode(x[place]), y_format.decode(y[place]));
                let (Some(x), Some(y)) = (Term::new(x_format, data.0), Term::new(y_format, data.1)) else {
                    special.add_product(data.0, data.1);
                    is_special = true;
                    continue;
                };
                let product = x.times(y);
                sum = Some(sum.map_or(product, |sum| sum.plus(product)));
            }
            let Some(sum) = sum else { continue };
            // An exact sum is aligned by its scales alone.
            let sum = if self.sums.exact == 1 { sum } else { Term { exponent: 0, ..sum } };
            terms.push(sum.times(s).times(t));
        }
        let c = BINARY32.decode(c);
        let Some(own) = Term::new(&BINARY32, c).filter(|_| !is_special) else {
            special.add(c);
            return project(special.exact(), &BINARY32, &BINARY32.default_projection()).value;
        };
        terms.push(own);
        let last = terms.len() - 1;
        let exponents = terms.iter().enumerate().filter_map(|(at, term)| match self.aligned {
            Aligned::ByOperands => Some(term.exponent),
            Aligned::ByLeadingBits => Some(term.leading_exponent()),
            Aligned::WithoutZeros => (term.significand != 0).then_some(term.exponent),
            Aligned::WithoutAccumulator => (at < last).then_some(term.exponent),
        });
        let largest = exponents.max().unwrap_or(-126);
        if own.exponent - largest > FAR {
            // The accumulator is aligned to nothing, and far above all products.
            return in_binary32(c);
        }
        let low = largest - self.sums.fraction_bits.cast_signed();
        self.rounded(terms.iter().map(|term| term.cut(low, self.cut)).sum(), low)
    }

    /// The sum times 2^unit as a code.
    fn rounded(&self, sum: i128, unit: i32) -> u64 {
        let format = self.output.format();
        let saturation = if self.saturates { Saturation::SatFinite } else { Saturation::SatNone };
        let projection = format.default_projection().with_rounding(self.rounding).with_saturation(saturation);
        let (_, top) = format.exponent_range();
        let leading = sum.unsigned_abs().checked_ilog2().map(|bit| unit + bit.cast_signed());
        if leading.is_some_and(|leading| leading > top) && !self.saturates {
            let infinite = Datum::Infinite { negative: sum < 0 };
            return BINARY32.encode(infinite).expect("binary32 has infinities");
        }
        let code = project(Exact::from_i128(sum).scaled(unit), &format, &projection).value;
        in_binary32(format.decode(code))
    }
}

/// A value that binary32 has as its code; no zero is negative.
fn in_binary32(datum: Datum) -> u64 {
    if datum.is_zero() { 0 } else { BINARY32.encode(datum).unwrap_or_else(nan) }
}

fn nan() -> u64 {
    BINARY32.encode(Datum::Nan { negative: false }).expect("binary32 has a NaN")
}

/// The rounding of a block's sum before it is scaled.
#[derive(Clone, Copy)]
enum BlockSum {
    Rounded(Rounding),
    /// As the GPU adds without scales.
    Unit,
}

/// Sums of blocks that are numbers of binary32 before they meet their scales.
fn of_blocks_rounded(dot: &DotProduct, sums: ScaledSums) -> Vec<Mistake> {
    let block = dot.scales().map_or(1, |scales| scales.block);
    let [x, y] = dot.formats();
    let gpu = Accumulate::Unit(MatrixUnit::new(Gpu::Blackwell));
    let plain = FixedUnit::dot(block, x, y, gpu).ok();
    let nearest = BlockSum::Rounded(Rounding::NearestEven);
    let ways = [
        (nearest, "nearest-even"),
        (BlockSum::Rounded(Rounding::TowardZero), "toward-zero"),
        (BlockSum::Unit, "as blackwell does"),
    ];
    // Sums of few bits are not rounded.
    let ways = if sums.exact == 1 { &ways[..] } else { &ways[..1] };
    let mut all = Vec::new();
    for (way, name) in ways {
        for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
            let how = if sums.exact == 1 {
                format!("rounds a block's sum {name} before it is scaled")
            } else {
                "scales a block's sum".to_owned()
            };
            let name = format!("{how}, and adds it to the accumulator, rounded {}", rounding.name());
            let (dot, plain, way) = (dot.clone(), plain.clone(), *way);
            all.push(Mistake::of_fixed(name, move |operands| {
                block_by_block(&dot, plain.as_ref(), way, rounding, operands)
            }));
        }
    }
    all
}

/// c + round(Σ x·y) · s·t for one block after the other.
fn block_by_block(
    dot: &DotProduct,
    plain: Option<&FixedUnit>,
    way: BlockSum,
    rounding: Rounding,
    operands: &[u64],
) -> Option<CallOutcome> {
    let BlockScales { format, block } = dot.scales()?;
    let [x, y, s, t, c] = dot.parts(operands);
    let (mut c, [x_format, y_format]) = (c[0], dot.formats());
    let projection = |rounding| BINARY32.default_projection().with_rounding(rounding);
    for (at, (x, y)) in x.chunks(block).zip(y.chunks(block)).enumerate() {
        let code = match way {
            BlockSum::Rounded(rounding) => {
                let mut sum = Sum::new();
                for (x, y) in x.iter().zip(y) {
                    sum.add_product(x_format.decode(*x), y_format.decode(*y));
                }
                project(sum.exact(), &BINARY32, &projection(rounding)).value
            }
            BlockSum::Unit => {
                let filled = |codes: &[u64]| {
                    let mut codes = codes.to_vec();
                    codes.resize(block, 0);
                    codes
                };
                plain?.evaluate(&[filled(x), filled(y), vec![0]].concat()).ok()?[0]
            }
        };
        let scales = times(scale(&format, s[at]), scale(&format, t[at]));
        let mut sum = Sum::new();
        sum.add_exact(multiply(BINARY32.decode(code), scales, Semantics::Ieee).exact);
        sum.add(BINARY32.decode(c));
        let code = project(sum.exact(), &BINARY32, &projection(rounding)).value;
        c = in_binary32(BINARY32.decode(code));
    }
    Some(CallOutcome::one(c, smallfloat::Flags::NONE))
}

#[cfg(test)]
mod tests {
    use super::{FixedUnit, Way};
    use crate::vectors::{CoverageLevel, VectorPlan};

    /// The right way gives what the unit gives.
    #[test]
    fn the_right_way_is_the_units() {
        for name in [
            "Dot<64, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>",
            "Dot<160, e2m1fn, e2m1fn, blackwell, e8m0fnu, 32>",
            "Dot<40, e2m1fn, e2m1fn, blackwell, e8m0fnu, 16>",
            "Dot<72, e4m3fn, e5m2, rtx-blackwell, e8m0fnu, 32>",
        ] {
            let unit: FixedUnit = name.parse().expect(name);
            let dot = unit.dot_product().expect("a sum");
            let plan = VectorPlan::new(unit.clone(), Some(CoverageLevel::One), 3, Some(500)).expect("a plan");
            let mut operands = vec![0; unit.operands().len()];
            for line in 0..plan.lines() {
                plan.fill(line..line + 1, &mut operands);
                let right = unit.evaluate(&operands).expect("a result");
                let ours = Way::right(dot).evaluate(dot, &operands);
                assert_eq!(ours.results(), right.results(), "{name}, line {line}: {operands:x?}");
            }
        }
    }
}
